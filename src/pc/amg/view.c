/* SPDX-License-Identifier: BSD-3-Clause */
/* What the hierarchy is, holds and moves. */
#include "mat/object/mat.h"
#include "sys/options/options.h"
#include "amg.h"
#include "bottom.h"
#include "explain.h"
#include "redundant.h"
#include "sweeps.h"
#include "vectors.h"
#include "view.h"

/* Of a number in the cycle. */
static double Size(const Amg *amg)
{
  return amg->single ? sizeof(float) : sizeof(double);
}

/* The same of sweeps, whose vectors in products count there (sweeps.c), with places. Down: to them, y, D t;
   up: to them, g, x; and one more g, y each for degrees above. On several ranks: in each step to them, to
   rows, and those of a step of polynomials, two of which have nothing to add to. */
static double SweepsBytes(const Amg *amg, const AmgLevel *l)
{
  double n = (double)l->A->rows->n, b = (double)poiseCsrSide(&l->A->csr), degree = amg->way.degree;
  if (l->sweeps.alone) return n * (Size(amg) * (2 * b + 12 + 6 * (degree - 1)) + 16 / b);
  return n * (Size(amg) * (2 * degree * (b + 4) + 7 + 11 * (degree - 1)) + 16 * degree / b);
}

/* Vectors that the passes of the smoother read and write on a level (amg_step_kernels.h), and b numbers of
   D^-1 a row: before the correction b, x, t; then after it t, x twice, add. Each degree more: r, d twice, x
   twice before, and after. */
static double SmootherBytes(const Amg *amg, const AmgLevel *l)
{
  double n = (double)l->A->rows->n, more = (double)amg->way.degree - 1;
  if (l->sweeps.made) return SweepsBytes(amg, l);
  return Size(amg) * n * (2 * (more + 1) * (l->lower ? 0 : l->side) + 7 + 11 * more);
}

/* The same of a bottom that is smoothed: b, x, d and r; then r, d twice, x twice. */
static double BottomBytes(const Amg *amg)
{
  const AmgLevel *l = &amg->level[amg->count - 1];
  return Size(amg) * (double)l->A->rows->n * (AMG_DEGREES * l->side + 4 + 5 * (AMG_DEGREES - 1));
}

/* Beside products, as these are counted by events of their own. In fp32 r is read for its largest entry; r,
   twice if the degree is more than 1, and z are fp64. */
static double OwnBytes(const Amg *amg)
{
  double bytes = 0, n = (double)amg->bottom.n;
  for (int k = 0; k + 1 < amg->count; k++) bytes += SmootherBytes(amg, &amg->level[k]);
  if (amg->single) bytes += (amg->way.degree > 1 ? 20 : 16) * (double)amg->level[0].A->rows->n;
  if (amg->bottom.sparse) return bytes; /* it has an event of its own */
  return bytes + (amg->dense ? n * (8 * n + 2 * Size(amg)) : BottomBytes(amg));
}

void poiseAmgCost(PoisePC pc, double *flops, double *bytes)
{
  const Amg *amg = pc->data;
  *bytes = OwnBytes(amg);
  *flops = *bytes / 8; /* about one for each number that is moved */
}

/* On each level steps of the smoother, products with A between them, and with P and R; on several ranks also
   one by other ranks' rows of R, and the sum of what comes of these. A W cycle comes twice to each level for
   once on the one above, but for the last. */
int64_t poiseAmgKernels(PoisePC pc)
{
  const Amg *amg = pc->data;
  int64_t degree = amg->way.degree, times = 1, kernels = amg->single ? 2 : 0;
  for (int k = 0; k + 1 < amg->count; k++) {
    const AmgLevel *l = &amg->level[k];
    int64_t half = l->sweeps.copy.colours.count + 2; /* with two passes */
    int64_t smoother = l->sweeps.alone ? 2 * degree * half : l->sweeps.made ? 2 * degree * (half + 1) : 0;
    kernels += times * ((l->sweeps.made ? smoother + 5 : (l->lower ? 8 : 4) * degree) + (l->away ? 4 : 2));
    if (amg->way.w_cycle && k + 2 < amg->count) times *= 2;
  }
  return kernels + times * (amg->dense ? 1 : 2 * AMG_DEGREES);
}

static double ProductBytes(const Amg *amg, PoiseMat A)
{
  const Product in_fp32 = {.A = A, .single = true};
  return amg->single ? poiseProductTraffic(&in_fp32) : poiseMatTraffic(A);
}

/* A sweep reads each part once, and on several ranks one of them. */
static double SweepProducts(const Amg *amg, const AmgLevel *l)
{
  double degree = amg->way.degree, vector = Size(amg) * (double)l->A->rows->n;
  if (!l->sweeps.made) return 0;
  double parts = ProductBytes(amg, l->sweeps.copy.part[0]) + ProductBytes(amg, l->sweeps.copy.part[1]);
  return (l->sweeps.alone ? 2 : 1) * degree * (parts + 2 * vector);
}

/* Bytes that a cycle reads and writes, with its products. */
static double Traffic(const Amg *amg)
{
  double bytes = OwnBytes(amg);
  for (int k = 0; k + 1 < amg->count; k++) {
    const AmgLevel *l = &amg->level[k];
    double n = Size(amg) * (double)l->A->rows->n; /* a product in place reads y too */
    if (!l->sweeps.alone) bytes += 2 * (double)amg->way.degree * (ProductBytes(amg, l->A) + n);
    bytes += SweepProducts(amg, l);
    bytes += ProductBytes(amg, l->P) + ProductBytes(amg, l->R);
    if (l->away) bytes += ProductBytes(amg, l->away);
    if (l->lower)
      bytes += 2 * (double)amg->way.degree * (ProductBytes(amg, l->lower) + ProductBytes(amg, l->upper));
  }
  const AmgLevel *bottom = &amg->level[amg->count - 1];
  if (amg->dense) return bytes;
  return bytes + (AMG_DEGREES - 1) * (ProductBytes(amg, bottom->A) + Size(amg) * (double)bottom->A->rows->n);
}

static void AddMatrix(PoiseMat A, PoiseBytes *sum)
{
  PoiseBytes held;
  if (!A || PoiseMatBytes(A, &held, NULL)) return;
  sum->host += held.host;
  sum->device += held.device;
}

/* given: A is the matrix that the preconditioner is of. */
static void AddLevel(const AmgLevel *l, bool given, PoiseBytes *sum)
{
  poiseAmgLevelBytes(l, sum);
  if (!given) AddMatrix(l->A, sum);
  AddMatrix(l->P, sum);
  AddMatrix(l->R, sum);
  AddMatrix(l->away, sum);
  AddMatrix(l->lower, sum);
  AddMatrix(l->upper, sum);
  poiseAmgSweepsBytes(&l->sweeps, sum);
  AddMatrix(l->step, sum);
  for (int k = 0; k < l->steps; k++) AddMatrix(l->fewer[k], sum);
  poiseBufferAdd(&l->inverse, sum);
  poiseBufferAdd(&l->aggregate, sum);
  poiseBufferAdd(&l->lists.start, sum);
  poiseBufferAdd(&l->lists.node, sum);
  poiseBufferAdd(&l->graph.csr.ptr, sum);
  poiseBufferAdd(&l->graph.csr.col, sum);
  poiseBufferAdd(&l->graph.kept, sum);
  poiseBufferAdd(&l->places.place, sum);
  sum->host += poiseAllocated(l->places.ghost);
  if (!l->ghosts) return;
  poiseHaloBytes(l->ghosts->own, sum);
  poiseBufferAdd(&l->ghosts->col, sum);
}

void poiseAmgBytes(PoisePC pc, PoiseBytes *sum)
{
  const Amg *amg = pc->data;
  for (int k = 0; k < AMG_LEVELS; k++) AddLevel(&amg->level[k], amg->level[k].A == pc->P, sum);
  if (amg->redundant.A != pc->P) AddMatrix(amg->redundant.A, sum);
  poiseAmgRedundantBytes(&amg->redundant, sum);
  poiseAmgBottomBytes(&amg->bottom, sum);
  poiseBufferAdd(&amg->range, sum);
  poiseBufferAdd(&amg->wide_range, sum);
}

/* Of a level of all ranks together; what every rank holds counts once. */
typedef struct LevelSums {
  double entries, aggregates, members, bytes;
} LevelSums;

static PoiseErr SumLevel(PoisePC pc, int k, LevelSums *s)
{
  const Amg *amg = pc->data;
  const AmgLevel *l = &amg->level[k];
  PoiseBytes held = {0};
  AddLevel(l, l->A == pc->P, &held);
  if (k + 1 == amg->count) poiseAmgBottomBytes(&amg->bottom, &held);
  double v[] = {(double)poiseCsrScalars(&l->A->csr), (double)l->aggregates, (double)l->members,
                (double)(held.host + held.device)};
  TRY(poiseCommSum(poiseAmgContext(pc, k)->comm, v, 4));
  *s = (LevelSums){v[0], v[1], v[2], v[3]};
  return POISE_OK;
}

PoiseErr PoisePCAMGGetSizes(PoisePC pc, int room, PoiseInt *rows, PoiseInt *entries, int *levels)
{
  CALLED(OBJECT(pc), ARRAY_OF(room, rows), ARRAY_OF(room, entries), GIVEN(levels));
  if (pc->type != &poisePCType_amg)
    FAIL(POISE_ERR_STATE, "the preconditioner is of type %s, not amg", pc->type->name);
  const Amg *amg = pc->data;
  if (!amg->count) FAIL(POISE_ERR_STATE, "there are no levels before PoisePCSetUp");
  *levels = amg->count;
  for (int k = 0; k < amg->count && k < room; k++) {
    LevelSums s;
    TRY(SumLevel(pc, k, &s));
    rows[k] = amg->level[k].A->rows->N;
    entries[k] = (PoiseInt)s.entries;
  }
  return POISE_OK;
}

static PoiseErr ViewLevel(PoisePC pc, int k)
{
  const Amg *amg = pc->data;
  const AmgLevel *l = &amg->level[k];
  double n = (double)l->A->rows->N;
  LevelSums s;
  TRY(SumLevel(pc, k, &s));
  TRY(poisePrint(pc->ctx, "  %5d %11.0f %12.0f %8.1f ", k, n, s.entries, n > 0 ? s.entries / n : 0));
  if (s.aggregates > 0 && k + 1 < amg->count)
    TRY(poisePrint(pc->ctx, "%9.1f", s.members / s.aggregates));
  else
    TRY(poisePrint(pc->ctx, "%9s", "-"));
  return poisePrint(pc->ctx, " %7.3f %10.2f\n", l->lambda, s.bytes / 1e6);
}

/* Rows and entries of all levels over those of A. */
static PoiseErr ViewComplexity(PoisePC pc)
{
  const Amg *amg = pc->data;
  double rows = 0, entries = 0, first = 0;
  for (int k = 0; k < amg->count; k++) {
    LevelSums s;
    TRY(SumLevel(pc, k, &s));
    if (k == 0) first = s.entries;
    rows += (double)amg->level[k].A->rows->N;
    entries += s.entries;
  }
  if (first == 0) return POISE_OK;
  return poisePrint(pc->ctx, "  operator complexity %.3f, grid complexity %.3f\n", entries / first,
                    rows / (double)pc->P->rows->N);
}

static PoiseErr ViewCopy(PoisePC pc)
{
  const Amg *amg = pc->data;
  PoiseMat A = poiseAmgIsRedundant(amg, 0) ? amg->redundant.A : amg->level[0].A;
  if (A == pc->P) return POISE_OK;
  return poisePrint(pc->ctx, "  level 0 is a copy of the matrix in blocks of %d x %d\n", A->block_size,
                    A->block_size);
}

/* Where only the fill of a level keeps interpolation from being smoothed. */
static PoiseErr ViewPlain(PoisePC pc)
{
  const Amg *amg = pc->data;
  if (amg->options.type != AMG_SMOOTHED) return POISE_OK;
  for (int k = 0; k + 1 < amg->count; k++)
    if (!amg->level[k].smoothed)
      TRY(poisePrint(
          pc->ctx,
          "  interpolation from level %d is not smoothed, which would connect nearly all rows of it\n",
          k + 1));
  return POISE_OK;
}

/* Steps that smooth interpolation, if not one for all levels. */
static PoiseErr ViewSteps(PoisePC pc)
{
  const Amg *amg = pc->data;
  int degree = (int)amg->options.interpolation_degree;
  if (degree == 1 || amg->options.type != AMG_SMOOTHED) return POISE_OK;
  TRY(poisePrint(pc->ctx, "  interpolation is of degree %d%s\n", amg->way.odd ? 1 : degree,
                 amg->way.odd ? ", as A is not symmetric" : ""));
  for (int k = 0; k + 1 < amg->count && !amg->way.odd; k++) {
    const AmgLevel *l = &amg->level[k];
    if (l->smoothed && l->steps + 1 < degree)
      TRY(poisePrint(pc->ctx,
                     "  interpolation from level %d is of degree %d, as more would fill that level\n", k + 1,
                     l->steps + 1));
  }
  return POISE_OK;
}

static PoiseErr ViewSlow(PoisePC pc)
{
  const AmgPace *p = &((const Amg *)pc->data)->latest;
  if (!poiseAmgIsSlow(pc)) return POISE_OK;
  return poisePrint(pc->ctx,
                    "  the latest solve took %.1f iterations a digit: where diffusion has directions between "
                    "those of the grid, or A is of fourth order, try %s 2\n",
                    (double)p->iterations / p->digits,
                    poiseOptionsName(pc->ctx, pc->prefix, "pc_amg_interpolation_degree"));
}

/* Of levels whose sweeps are by colours, how many; the most of all ranks. */
static PoiseErr ViewColours(PoisePC pc)
{
  const Amg *amg = pc->data;
  if (amg->way.smoother != AMG_SOR || amg->count == 1) return POISE_OK;
  TRY(poisePrint(pc->ctx, "  rows by colours, of each level:"));
  for (int k = 0; k + 1 < amg->count; k++) {
    int64_t count = amg->level[k].sweeps.copy.colours.count;
    TRY(poiseCommMaxInt(poiseAmgContext(pc, k)->comm, &count, 1));
    TRY(amg->level[k].sweeps.made ? poisePrint(pc->ctx, " %lld", (long long)count)
                                  : poisePrint(pc->ctx, " too many, so chebyshev"));
  }
  return poisePrint(pc->ctx, "\n");
}

static PoiseErr ViewRedundant(PoisePC pc)
{
  const AmgRedundant *r = &((const Amg *)pc->data)->redundant;
  if (!r->A) return POISE_OK;
  return poisePrint(pc->ctx, "  every rank holds and computes the levels from %d on\n", r->level);
}

/* An iteration of cg with jacobi reads and writes A, x and y of its product, and seven vectors more. On all
   ranks together. */
static PoiseErr ViewTraffic(PoisePC pc)
{
  double v[] = {Traffic(pc->data), poiseMatTraffic(pc->P) + 56 * (double)pc->P->rows->n};
  TRY(poiseCommSum(pc->ctx->comm, v, 2));
  return poisePrint(pc->ctx, "  a cycle moves %.2f megabytes, as %.2f iterations of cg with jacobi do\n",
                    v[0] / 1e6, v[1] > 0 ? v[0] / v[1] : 0);
}

static PoiseErr ViewBottom(PoisePC pc)
{
  const Amg *amg = pc->data;
  if (!amg->dense) return poisePrint(pc->ctx, "  the last level is smoothed, as %s\n", amg->fallback);
  return poisePrint(pc->ctx, "  the last level is solved by %s of %lld rows%s\n",
                    amg->bottom.sparse ? "sparse factors"
                    : amg->bottom.lu   ? "dense factors"
                                       : "a dense inverse",
                    (long long)amg->level[amg->count - 1].A->rows->N,
                    amg->bottom.skipped ? ", of which some depend on others" : "");
}

/* What set-up took of the memory of the ranks' devices, A among it. */
static PoiseErr ViewPeak(PoisePC pc)
{
  const Csr *c = &pc->P->csr;
  double v[] = {(double)((const Amg *)pc->data)->peak,
                (double)c->ptr.bytes + (double)c->col.bytes + (double)c->val.bytes};
  TRY(poiseCommSum(pc->ctx->comm, v, 2));
  if (v[0] == 0 || v[1] == 0) return POISE_OK;
  return poisePrint(pc->ctx, "  %.2f megabytes at the peak, %.2f times A with A\n", v[0] / 1e6,
                    (v[0] + v[1]) / v[1]);
}

static PoiseErr ViewSeconds(PoisePC pc)
{
  static const char *const names[STAGES] = {
      "strength",          "aggregates",     "tentative",  "lambda",   "interpolation",
      "Galerkin products", "gathered level", "last level", "smoother", "cycle"};
  const Amg *amg = pc->data;
  TRY(poisePrint(pc->ctx, "  %s, in ms:", amg->refreshed ? "new values" : "set-up"));
  for (int k = 0; k < STAGES; k++)
    TRY(poisePrint(pc->ctx, "%s %s %.2f", k ? "," : "", names[k], 1e3 * amg->seconds[k]));
  return poisePrint(pc->ctx, "\n");
}

PoiseErr poiseAmgView(PoisePC pc)
{
  const Amg *amg = pc->data;
  const AmgOptions *o = &amg->options;
  const AmgWay way = amg->count ? amg->way : poiseAmgWay(o, false);
  static const char *const words[] = {[AMG_CHEBYSHEV] = "chebyshev",
                                      [AMG_JACOBI] = "l1-jacobi",
                                      [AMG_ISAI] = "approximate inverses of incomplete factors,",
                                      [AMG_SOR] = "sweeps by colours"};
  TRY(poisePrint(pc->ctx, "  %s aggregation, %s cycle, %s of degree %d\n",
                 o->type == AMG_SMOOTHED ? "smoothed" : "plain", way.w_cycle ? "W" : "V", words[way.smoother],
                 way.degree));
  if (!amg->count) return POISE_OK;
  if (way.odd) TRY(poisePrint(pc->ctx, "  A is not symmetric: the restriction is made of its transpose\n"));
  if (amg->scaled)
    TRY(poisePrint(pc->ctx, "  A is badly scaled: levels are made as of S A S, whose diagonal is 1\n"));
  if (amg->relaxed) TRY(poisePrint(pc->ctx, "  the near null space is constants, smoothed for A b = 0\n"));
  TRY(poisePrint(pc->ctx, "  %5s %11s %12s %8s %9s %7s %10s\n", "level", "rows", "entries", "per row",
                 "aggregate", "lambda", "megabytes"));
  for (int k = 0; k < amg->count; k++) TRY(ViewLevel(pc, k));
  TRY(ViewComplexity(pc));
  if (amg->ended)
    TRY(poisePrint(pc->ctx, "  there are no more levels, as %s\n", poiseAmgWhyEnded(amg->ended)));
  TRY(ViewCopy(pc));
  TRY(ViewPlain(pc));
  TRY(ViewSteps(pc));
  TRY(ViewColours(pc));
  TRY(ViewRedundant(pc));
  TRY(ViewBottom(pc));
  TRY(poisePrint(pc->ctx, "  the cycle works in %s%s%s\n", amg->single ? "fp32" : "fp64",
                 amg->doubled ? ", as " : "", amg->doubled ? amg->doubled : ""));
  TRY(ViewTraffic(pc));
  if (amg->refreshed)
    TRY(poisePrint(pc->ctx, "  aggregates and strong connections are those of earlier values\n"));
  if (poiseAmgIsStale(amg))
    TRY(poisePrint(
        pc->ctx,
        "  the next values make new ones: the latest solve took %lld iterations for %.1f digits, the "
        "best %lld for %.1f\n",
        (long long)amg->latest.iterations, amg->latest.digits, (long long)amg->best.iterations,
        amg->best.digits));
  TRY(ViewSlow(pc));
  TRY(ViewSeconds(pc));
  return ViewPeak(pc);
}
