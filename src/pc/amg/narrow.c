/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The numbers of a cycle in fp32.

  fp32 has 24 bits and the range of 1e-38 to 3e38. Each level is multiplied by a power of 2, which is exact,
  and so is the right-hand side of each cycle. An entry of A, D^-1, P or a dense inverse above `most` may take
  a cycle out of that range; A D^-1 r does not. Then, and with blocks or types that have no products in fp32,
  it works in fp64. So does a W cycle, as cycle.c says why, the dense inverse of any, and what must be linear
  (poisePCExact).
*/
#include "mat/object/mat.h"
#include "vec/vec_phases.h"
#include "amg.h"
#include "lambda.h"
#include "narrow.h"
#include "rows.h"

static const double most = 0x1p60; /* its square is in range */

void poiseAmgSingleDestroy(AmgLevel *l)
{
  poiseProductDestroy(&l->single.A);
  poiseProductDestroy(&l->single.P);
  poiseProductDestroy(&l->single.R);
  poiseProductDestroy(&l->single.away);
  poiseProductDestroy(&l->single.lower);
  poiseProductDestroy(&l->single.upper);
  for (int q = 0; q < 2; q++) poiseProductDestroy(&l->sweeps.single[q]);
  poiseBufferDestroy(&l->sweeps.blocks_f32);
  poiseBufferDestroy(&l->single.inverse);
  l->single.scale = 1;
}

/* The power of 2 that brings x > 0 to 1 to 2. */
static double PowerOf(double x)
{
  int exponent;
  (void)frexp(x, &exponent);
  return ldexp(1, 1 - exponent);
}

/* An array of level `level`, and its copy in fp32, NULL: none, times the level's scale to the power of
   `power`. */
typedef struct Array {
  int level, power;
  int64_t n;
  Buffer *from, *to;
  const char *what;
  bool stays; /* in fp64: it is the application's, or new values do not make it again, or fp64 is needed */
  bool known; /* it has the numbers of the array before it, so its largest is known */
} Array;

enum { ARRAYS = 8 * AMG_LEVELS };

static void ListMatrix(int level, int power, PoiseMat A, bool stays, const char *what, Product *to,
                       Array *array)
{
  if (to && !to->A) poiseProductInitSingle(A, to);
  *array =
      (Array){level, power, poiseCsrScalars(&A->csr), &A->csr.val, to ? &to->val : NULL, what, stays, false};
}

/* Of a bottom that is solved the dense inverse is kept, or factors. */
static int List(PoisePC pc, Array *array)
{
  Amg *amg = pc->data;
  Array *a = array;
  bool stays = amg->options.refresh == AMG_INTERPOLATION;
  for (int k = 0; k < amg->count; k++) {
    AmgLevel *l = &amg->level[k];
    int64_t n = l->A->rows->n;
    bool bottom = k + 1 == amg->count, dense = bottom && amg->dense;
    bool products = !dense && !l->sweeps.alone;
    ListMatrix(k, 1, l->A, l->A == pc->P, "values of a level", products ? &l->single.A : NULL, a++);
    if (l->lower)
      ListMatrix(k, -1, l->lower, false, "approximate inverse", &l->single.lower, a++);
    else if (!dense)
      *a++ = (Array){k,
                     -1,
                     n * (l->sweeps.made ? poiseCsrSide(&l->A->csr) : l->side),
                     l->sweeps.made ? &l->sweeps.d : &l->inverse,
                     &l->single.inverse,
                     "inverse diagonal of a level",
                     false,
                     false};
    else if (!amg->bottom.lu)
      *a++ = (Array){k, -1, n * n, &amg->bottom.dense, NULL, "coarsest level", true, false};
    if (l->sweeps.alone)
      *a++ = (Array){k,
                     1,
                     n * poiseCsrSide(&l->A->csr),
                     &l->sweeps.blocks,
                     &l->sweeps.blocks_f32,
                     "diagonal of a level",
                     false,
                     false};
    for (int q = 0; q < 2 && l->sweeps.made; q++)
      ListMatrix(k, 0, l->sweeps.copy.part[q], false, "matrix by colours", &l->sweeps.single[q], a++);
    if (l->upper) ListMatrix(k, 0, l->upper, false, "approximate inverse", &l->single.upper, a++);
    if (bottom) continue;
    ListMatrix(k, 0, l->P, stays, "interpolation", &l->single.P, a++);
    ListMatrix(k, 0, l->R, stays, "restriction", &l->single.R, a);
    a++->known = true;
    if (!l->away) continue;
    ListMatrix(k, 0, l->away, stays, "restriction", &l->single.away, a);
    a++->known = true;
  }
  return (int)(a - array);
}

/* The largest entries of arrays, with one wait for all. */
static PoiseErr FindLargest(PoiseContext ctx, const Array *array, int count, Buffer *scratch, double *largest)
{
  int64_t blocks = 0;
  double *partial;
  for (int j = 0; j < count; j++) blocks = array[j].n > blocks ? array[j].n : blocks;
  blocks = POISE_NBLOCKS(blocks);
  TRY(poiseAmgMake(ctx->device, 3 * blocks + 2 + count, sizeof *partial, "largest entries", scratch,
                   &partial));
  double *const sums[] = {partial + blocks, partial + 2 * blocks + 1}, *found = sums[1] + blocks + 1;
  for (int j = 0; j < count; j++) {
    PhaseArgs p = {.id = PHASE_vec_norm_inf, .n = array[j].n, .partial[0] = partial};
    if (array[j].known) continue;
    TRY(poiseBufferRead(array[j].from, DEVICE, &p.in[VEC_X]));
    TRY(LAUNCH(ctx->device, phase, &p));
    TRY(poiseAmgAdd(ctx->device, POISE_NBLOCKS(p.n), partial, true, sums, found + j));
  }
  TRY(poiseDeviceFetch(ctx->device, found, (size_t)count * sizeof *largest, largest));
  for (int j = 1; j < count; j++)
    if (array[j].known) largest[j] = largest[j - 1];
  return POISE_OK;
}

/* The scale of a level with these largest entries of A and D^-1, by which A's becomes 1 to 2. Where diagonals
   are so far apart that D^-1 is then out of range, the two become about equal. */
static double ScaleOf(double a, double inverse)
{
  if (!(a > 0) || !poiseFinite(a)) return 1;
  return PowerOf(inverse > most / a ? sqrt(a) / sqrt(inverse) : a);
}

/* Scales of levels. Are those of neighbours near? Behind A in the list is its D^-1, or what
   has it as a factor. */
static bool FindScales(Amg *amg, const Array *array, int count, const double *largest)
{
  bool fits = true;
  for (int j = 0; j < count; j++) {
    AmgLevel *l = &amg->level[array[j].level];
    if (array[j].from != &l->A->csr.val) continue;
    l->single.scale = ScaleOf(largest[j], array[j].to || l->sweeps.alone ? largest[j + 1] : 0);
    double scale = l->single.scale, grows = array[j].level ? scale / l[-1].single.scale : 1;
    fits = fits && scale > 0 && poiseFinite(1 / scale) && grows <= most && 1 / grows <= most;
  }
  return fits;
}

static double Factor(const Amg *amg, const Array *a)
{
  const AmgLevel *l = &amg->level[a->level];
  if (a->power < 0) return (a->to ? poiseAmgDamping(amg, l) : 1) / l->single.scale;
  return a->power > 0 ? l->single.scale : 1;
}

/* The array in fp32, and no longer in fp64, which the cycle does not need. */
static PoiseErr Narrow(PoiseContext ctx, const Array *a, double factor)
{
  if (a->to) TRY(poiseMakeSingle(ctx, a->from, a->n, factor, a->what, a->to));
  if (a->stays) return POISE_OK;
  poiseBufferForget(a->from);
  return POISE_OK;
}

/* Why levels of this rank cannot be in fp32; *why = NULL: they may be. */
static PoiseErr Lacks(const Amg *amg, const char **why)
{
  int count = amg->dense ? amg->count - 1 : amg->count;
  *why = NULL;
  for (int k = 0; k < count && !*why; k++) TRY(poiseMatLacksSingle(amg->level[k].A, why));
  return POISE_OK;
}

typedef struct Found { /* on a rank: the largest entries of its arrays, unless it lacks products */
  double largest[ARRAYS];
  int64_t lacks;
} Found;

/* What is found on all ranks. mine: this rank's error so far. Collective; agrees. */
static PoiseErr Join(PoiseContext ctx, PoiseErr mine, int count, Found *f)
{
  int size = PoiseSize(ctx);
  Found *all = NULL;
  if (size == 1) return mine;
  if (!mine) mine = poiseAllocArray(ctx, size, sizeof *all, "largest entries of ranks", &all);
  mine = poiseAgreeGather(ctx, mine, f, sizeof *f, all);
  for (int r = 0; r < size && !mine; r++) {
    f->lacks |= all[r].lacks;
    for (int j = 0; j < count; j++) f->largest[j] = poiseLarger(f->largest[j], all[r].largest[j]);
  }
  poiseFree(ctx, &all);
  return mine;
}

/* Are all arrays in range? */
static bool Fit(Amg *amg, const Array *array, int count, const double *largest)
{
  bool fits = FindScales(amg, array, count, largest);
  for (int j = 0; j < count; j++)
    if (array[j].to || array[j].power < 0) fits = fits && largest[j] * Factor(amg, &array[j]) <= most;
  return fits;
}

/* Last those arrays that stay, as they release nothing. */
static PoiseErr NarrowAll(PoiseContext ctx, const Amg *amg, const Array *array, int count)
{
  for (int stays = 0; stays < 2; stays++)
    for (int j = 0; j < count; j++)
      if (array[j].stays == stays) TRY(Narrow(ctx, &array[j], Factor(amg, &array[j])));
  return POISE_OK;
}

PoiseErr poiseAmgNarrow(PoisePC pc)
{
  Amg *amg = pc->data;
  Array array[ARRAYS];
  Buffer scratch = {0};
  const char *why = NULL;
  amg->doubled = NULL, amg->single = false;
  if (amg->options.precision == AMG_DOUBLE || amg->count < 2) return POISE_OK;
  if (amg->way.w_cycle || pc->exact) {
    amg->doubled = amg->way.w_cycle ? "a W cycle needs it" : "the method needs M (u + v) = M u + M v";
    return POISE_OK;
  }
  PoiseErr e = Lacks(amg, &why);
  int count = List(pc, array);
  Found found = {.lacks = why != NULL};
  if (!e && !why) e = FindLargest(pc->ctx, array, count, &scratch, found.largest);
  poiseBufferDestroy(&scratch);
  TRY(Join(pc->ctx, e, count, &found));
  if (found.lacks)
    amg->doubled = why ? why : "rows of another rank are too uneven for products in fp32";
  else if (!Fit(amg, array, count, found.largest))
    amg->doubled = "values are too far apart for fp32";
  amg->single = !amg->doubled;
  return amg->single ? NarrowAll(pc->ctx, amg, array, count) : POISE_OK;
}
