/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Smoothing by sweeps of Gauss-Seidel by colours: M = D + L before the correction and M^T = D + U behind it,
  so that the cycle is symmetric where A is, and positive definite where M + M^T - A is. That is D on one
  rank.

  A rank that has all rows goes on from the sweeps themselves. With L and U of D^-1 A and s = D^-1 b, behind a
  forward sweep from 0 is y = s - L y, so D^-1 (b - A y) = -U y. A further one is y = g - L y with g = s - U
  y, and then D^-1 (b - A y) = s - g - U y. Backward ones start from the guess with g = s - L y. So sweeps and
  residual together read the two triangles once for each sweep, as a polynomial reads A.

  On several ranks a sweep is over the rank's own block, for the residual of the whole matrix. So other ranks'
  values are new before each sweep, and old in it. There A is D + L + U + F, with F between ranks, and M + M^T
  - A = D - F need not be definite. So D has half the sum of |F| of each row more (A. Baker, R. Falgout, T.
  Kolev, U. Yang, Multigrid smoothers for ultraparallel computing, SIAM J. Sci. Comput. 33, 2011, who add all
  of it). Then M + M^T - A = D + |F| 1 - F, which is D or more, as the diagonal |F| 1 dominates F.
*/
#include "mat/object/mat.h"
#include "mat/object/bytes.h"
#include "mat/product/product_model.h"
#include "pc/by_colour.h"
#include "pc/colours_kernels.h"
#include "rows.h"
#include "sweeps.h"
#include "sweeps_kernels.h"

/* ---- set-up ---------------------------------------------------------------------------------- */

/* Room for n numbers of that size, 0 at first, which stays where it is. */
static PoiseErr Room(Device *dev, int64_t n, size_t size, const char *what, Buffer *b, void *p)
{
  size_t bytes = (size_t)n * size;
  if (b->dev && b->bytes == bytes) return poiseBufferWrite(b, DEVICE, p);
  poiseBufferDestroy(b);
  TRY(poiseBufferCreate(dev, bytes, what, b));
  poiseBufferZero(b);
  return poiseBufferUpdate(b, DEVICE, p);
}

static PoiseErr MakeDiagonal(AmgLevel *l, const double **d)
{
  static const char what[] = "diagonal of a level";
  PoiseMat A = l->A;
  Device *dev = A->ctx->device;
  AmgSweeps *s = &l->sweeps;
  AmgSweepDiagonalArgs a = {.n = A->csr.m, .node = l->node};
  int64_t numbers = A->rows->n * poiseCsrSide(&A->csr);
  TRY(Room(dev, numbers, sizeof *a.d, what, &s->d, &a.d));
  if (s->alone) TRY(Room(dev, numbers, sizeof *a.blocks, what, &s->blocks, &a.blocks));
  TRY(poiseBufferRead(&l->inverse, DEVICE, &a.inverse));
  TRY(poiseCsrView(&A->csr, &a.A));
  *d = a.d;
  return LAUNCH(dev, amg_sweep_diagonal, &a);
}

/* of: it has l->A. */
static PoiseErr MakeCopy(PoisePC of, AmgLevel *l)
{
  const double *d = NULL;
  bool anew;
  TRY(MakeDiagonal(l, &d));
  return poiseColourCopySetup(of, &(ColourScales){.left = d}, &l->sweeps.copy, &anew);
}

/* Would a GPU take longer to launch so many colours than to pass over their entries? */
static bool IsLaunched(const AmgLevel *l, int colours)
{
  const DeviceModel *model = &l->A->ctx->device->model;
  int64_t b = poiseCsrSide(&l->A->csr), each = (int64_t)COLOUR_EACH * model->threads * model->multiprocessors;
  return poiseModelIsGpu(model) && l->A->csr.nz * b * b < each * colours;
}

/* The error of this rank, but that it had better not: *refused, of any rank. Collective; agrees. */
static PoiseErr AgreeRefused(PoiseContext ctx, PoiseErr e, int64_t *refused)
{
  *refused |= e == POISE_ERR_UNSUPPORTED; /* too many colours */
  if (*refused) PoiseErrorClear();
  TRY(PoiseAgree(ctx, *refused ? POISE_OK : e));
  return poiseCommMaxInt(ctx->comm, refused, 1);
}

PoiseErr poiseAmgSweepsMake(PoiseContext ctx, AmgLevel *l, bool always)
{
  PoisePC of = NULL;
  int64_t refused = !always && IsLaunched(l, 2);
  l->sweeps.alone = PoiseSize(ctx) == 1;
  PoiseErr e = PoisePCCreate(ctx, &of);
  if (!e) e = PoisePCSetOperator(of, l->A);
  e = PoiseAgree(ctx, e);
  PoiseErr mine = e || refused ? POISE_OK : MakeCopy(of, l);
  if (!mine) refused = refused || (!always && IsLaunched(l, l->sweeps.copy.colours.count));
  if (!e) e = AgreeRefused(ctx, mine, &refused);
  PoisePCDestroy(&of);
  TRY(e);
  if (refused) poiseAmgSweepsDestroy(ctx, &l->sweeps);
  l->sweeps.made = !refused;
  if (!refused) poiseBufferDestroy(&l->inverse);
  return POISE_OK;
}

PoiseErr poiseAmgSweepsReady(AmgLevel *l, bool single)
{
  AmgSweeps *s = &l->sweeps;
  Device *dev = l->A->ctx->device;
  Buffer *const vectors[] = {&s->y, &s->rhs, &s->g};
  int64_t n = poiseColourCopyNumbers(&s->copy);
  void *there;
  for (int k = 0; k < (s->alone ? 3 : 1); k++)
    TRY(Room(dev, n, single ? sizeof(float) : sizeof(double), "sweeps by colours", vectors[k], &there));
  for (int k = 0; k < 2 && single; k++) TRY(poiseProductReady(&s->single[k]));
  return POISE_OK;
}

/* ---- steps, in fp64 or fp32 ------------------------------------------------------------------ */

typedef struct Steps { /* of a level: where its arrays are */
  Device *dev;
  bool single;
  const Colours *of;
  Product *part[2];
  int64_t rows, places, b; /* numbers of a vector */
  const int32_t *place;
  const void *d, *blocks;
  void *y, *rhs, *g;
  const double *skip;
} Steps;

static PoiseErr Open(AmgLevel *l, bool single, const double *skip, Steps *s)
{
  AmgSweeps *from = &l->sweeps;
  Colours *of = &from->copy.colours;
  *s = (Steps){.dev = l->A->ctx->device, .single = single, .of = of, .rows = l->A->rows->n, .skip = skip};
  s->places = poiseColourCopyNumbers(&from->copy), s->b = poiseCsrSide(&l->A->csr);
  for (int k = 0; k < 2; k++) s->part[k] = single ? &from->single[k] : &from->copy.part[k]->product;
  TRY(poiseBufferRead(&of->place, DEVICE, &s->place));
  TRY(poiseBufferRead(single ? &l->single.inverse : &from->d, DEVICE, &s->d));
  TRY(poiseBufferUpdate(&from->y, DEVICE, &s->y));
  if (!from->alone) return POISE_OK;
  TRY(poiseBufferRead(single ? &from->blocks_f32 : &from->blocks, DEVICE, &s->blocks));
  TRY(poiseBufferUpdate(&from->rhs, DEVICE, &s->rhs));
  return poiseBufferUpdate(&from->g, DEVICE, &s->g);
}

/* The kernel of the steps' type, with FIELDS. */
#define EITHER(s, kernel, Args)                                                                       \
  do {                                                                                                \
    const Args##_f32 single_ = FIELDS;                                                                \
    const Args wide_ = FIELDS;                                                                        \
    return (s)->single ? LAUNCH((s)->dev, kernel##_f32, &single_) : LAUNCH((s)->dev, kernel, &wide_); \
  } while (0)

/* y = D^-1 x, and `to` the same (NULL: without) */
static PoiseErr Divide(const Steps *s, AmgVec *x, void *y, void *to)
{
  const void *from = NULL;
  TRY(poiseAmgVecRead(x, &from));
#define FIELDS        \
  {.n = s->rows,      \
   .b = s->b,         \
   .place = s->place, \
   .factor = 1,       \
   .d = s->d,         \
   .x = from,         \
   .skip = s->skip,   \
   .y = y,            \
   .to = to}
  EITHER(s, colour_to_places, ColourMoveArgs);
#undef FIELDS
}

/* y += x */
static PoiseErr AddTo(const Steps *s, AmgVec *x, void *y)
{
  const void *from = NULL;
  TRY(poiseAmgVecRead(x, &from));
#define FIELDS \
  {.n = s->rows, .b = s->b, .place = s->place, .factor = 1, .adds = true, .x = from, .skip = s->skip, .y = y}
  EITHER(s, colour_to_places, ColourMoveArgs);
#undef FIELDS
}

/* Skipped, y keeps its content. */
static PoiseErr Overwrite(const Steps *s, AmgVec *y, void **to)
{
  return s->skip ? poiseAmgVecUpdate(y, to) : poiseAmgVecWrite(y, to);
}

/* y = x, in the order of rows */
static PoiseErr ToRows(const Steps *s, const void *x, AmgVec *y, const Fuse *fuse)
{
  static const Fuse none = {0};
  void *to = NULL;
  TRY(Overwrite(s, y, &to));
#define FIELDS \
  {.n = s->rows, .b = s->b, .place = s->place, .x = x, .skip = s->skip, .y = to, .fuse = fuse ? *fuse : none}
  EITHER(s, colour_to_rows, ColourMoveArgs);
#undef FIELDS
}

/* y = D x */
static PoiseErr TimesDiagonal(const Steps *s, const void *x, AmgVec *y)
{
  void *to = NULL;
  TRY(Overwrite(s, y, &to));
#define FIELDS {.n = s->rows, .b = s->b, .place = s->place, .d = s->blocks, .x = x, .skip = s->skip, .y = to}
  EITHER(s, colour_rows_times, ColourMoveArgs);
#undef FIELDS
}

/* y = x - before */
static PoiseErr Subtract(const Steps *s, const void *x, const void *before, void *y)
{
#define FIELDS {.n = s->places, .s = x, .before = before, .skip = s->skip, .g = y}
  EITHER(s, colour_turn, ColourTurnArgs);
#undef FIELDS
}

/* g = b g - T y, T = L or U. */
static PoiseErr Times(const Steps *s, bool upper, const void *y, double b, void *g)
{
  ProductArgs a = {.a.value = -1, .b.value = b, .x = y, .y = g, .skip = s->skip};
  return poiseProductMultRows(s->part[upper], 0, s->of->start[s->of->count], &a);
}

/* y = y - T y, one colour after the other */
static PoiseErr Half(const Steps *s, bool backward, void *y)
{
  return poiseColourHalf(s->of, s->part[backward], backward, 1, 1, y, s->skip);
}

/* ---- sweeps ---------------------------------------------------------------------------------- */

PoiseErr poiseAmgSweep(AmgLevel *l, bool backward, AmgVec *r, AmgVec *z, const double *skip)
{
  Steps s;
  TRY(Open(l, !r->wide, skip, &s));
  TRY(Divide(&s, r, s.y, NULL));
  TRY(Half(&s, backward, s.y));
  return ToRows(&s, s.y, z, NULL);
}

PoiseErr poiseAmgSweepsDown(AmgLevel *l, int count, AmgVec *b, AmgVec *t, const double *skip)
{
  Steps s;
  TRY(Open(l, !b->wide, skip, &s));
  TRY(Divide(&s, b, s.rhs, s.y));
  TRY(Half(&s, false, s.y));
  for (int k = 1; k < count; k++) { /* g = rhs - U y; y = g - L y */
    TRY(Subtract(&s, s.rhs, NULL, s.g));
    TRY(Times(&s, true, s.y, 1, s.g));
    TRY(Subtract(&s, s.g, NULL, s.y));
    TRY(Half(&s, false, s.y));
  }
  if (count > 1) TRY(Subtract(&s, s.rhs, s.g, s.g)); /* with g = rhs in the first sweep */
  TRY(Times(&s, true, s.y, count > 1, s.g));
  return TimesDiagonal(&s, s.g, t);
}

PoiseErr poiseAmgSweepsUp(AmgLevel *l, int count, AmgVec *add, AmgVec *x, const double *skip,
                          const Fuse *fuse)
{
  Steps s;
  TRY(Open(l, !x->wide, skip, &s));
  TRY(AddTo(&s, add, s.y));
  for (int k = 0; k < count; k++) { /* g = rhs - L y; y = g - U y, in g's place */
    void *y = s.y;
    TRY(Subtract(&s, s.rhs, NULL, s.g));
    TRY(Times(&s, false, s.y, 1, s.g));
    TRY(Half(&s, true, s.g));
    s.y = s.g, s.g = y;
  }
  return ToRows(&s, s.y, x, fuse);
}

/* ---- memory ---------------------------------------------------------------------------------- */

void poiseAmgSweepsBytes(const AmgSweeps *s, PoiseBytes *sum)
{
  poiseColourCopyBytes(&s->copy, sum);
  for (int k = 0; k < 2; k++) poiseBufferAdd(&s->single[k].val, sum);
  const Buffer *const all[] = {&s->d, &s->blocks, &s->blocks_f32, &s->y, &s->rhs, &s->g};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) poiseBufferAdd(all[k], sum);
}

void poiseAmgSweepsDestroy(PoiseContext ctx, AmgSweeps *s)
{
  for (int k = 0; k < 2; k++) poiseProductDestroy(&s->single[k]);
  poiseColourCopyDestroy(ctx, &s->copy);
  Buffer *const all[] = {&s->d, &s->blocks, &s->blocks_f32, &s->y, &s->rhs, &s->g};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) poiseBufferDestroy(all[k]);
  *s = (AmgSweeps){0};
}
