/* SPDX-License-Identifier: BSD-3-Clause */
/*
  A bound of the spectrum of D^-1 A: 1.1 |D^-1 A x|, of a unit vector x with large parts at the upper end.
  Power steps from a hashed vector x find about where that is. Then the polynomial of Chebyshev that is least
  below it makes the rest of x small: in 4 steps, what takes 10 power steps.

  Where nodes have one row, the largest sum of a row of |D^-1 A| is a bound too, and the smaller one is taken.
  If that is at most 2, as of an M-matrix, it is close, and saves the other steps.

  On one rank it waits twice at most; on several ranks for each sum. It holds two vectors, and a third where
  nodes have several rows.
*/
#include "lambda.h"
#include "ranks.h"
#include "rows.h"
#include "lambda_kernels.h"

enum { PROBE = 12 };            /* steps of a smoother that is tried, */
static const double LOW = 0.05; /* from this part of lambda on */
enum {
  EDGE = 1,
  STEPS = 7,
  SUMS = EDGE + 1 + PROBE,
  NORM = 3 /* numbers of a step: a sum, and what poiseAmgNorm says */
};

/* Of the steps behind EDGE: zeros of the polynomial between 0 and 1, and none in the last step. */
static const double zeros[STEPS] = {
    0, 0, 0.96193976625564337, 0.69134171618254489, 0.30865828381745511, 0.038060233744356631, 0};

typedef struct Scratch {
  Buffer vector[2], y, squares, sizes, sum[3], all;
  double *sums[3]; /* of partial sums, two, and of NORM numbers for each step */
  int present;     /* the vector that a step reads; it writes the other one */
} Scratch;

PoiseErr poiseAmgAdd(Device *dev, int64_t n, const double *x, bool largest, double *const scratch[2],
                     double *to)
{
  AmgSumArgs a = {.n = n, .x = x, .largest = largest};
  for (int pass = 0; pass == 0 || a.count > AMG_SUM; pass++) {
    a.count = a.n, a.n = a.count > AMG_SUM ? (a.count + AMG_SUM - 1) / AMG_SUM : 1;
    a.sum = a.n == 1 ? to : scratch[pass % 2];
    a.norm = a.n == 1 && !largest;
    TRY(LAUNCH(dev, amg_sum, &a));
    a.x = a.sum;
  }
  return POISE_OK;
}

/* Sums of AMG_TREE rows each. */
static int64_t Trees(const AmgPowerArgs *p)
{
  return (p->n + AMG_TREE - 1) / AMG_TREE;
}

/* z = D^-1 A x, with x's ghosts. mine: this rank's error so far. It becomes the x of the next step. */
static PoiseErr Step(PoiseContext ctx, PoiseErr mine, AmgPowerArgs *p, Scratch *s)
{
  Buffer *x = &s->vector[s->present], *z = &s->vector[!s->present];
  PoiseErr e = poiseAmgFillGhosts(ctx, &p->m, mine, p->m.node, x);
  s->present = !s->present;
  if (!e) e = poiseBufferRead(x, DEVICE, &p->x);
  if (!e) e = poiseBufferWrite(z, DEVICE, &p->z);
  if (e || p->m.node == 1) return e ? e : LAUNCH(ctx->device, amg_power_scalar, p);
  TRY(LAUNCH(ctx->device, amg_power_product, p));
  return LAUNCH(ctx->device, amg_power_divide, p);
}

/* The bound by rows of this rank; not finite, or infinity, if there is none. */
static PoiseErr RowBound(Device *dev, const AmgPowerArgs *p, Scratch *s, double *bound)
{
  *bound = p->m.node > 1 ? INFINITY : 0;
  if (p->m.node > 1 || !p->n) return POISE_OK;
  TRY(poiseAmgAdd(dev, Trees(p), p->sizes, true, s->sums, s->sums[2]));
  return poiseDeviceFetch(dev, s->sums[2], sizeof *bound, bound);
}

/* |z| of all ranks after step k: p->scale becomes the place of 1 / |z|, and p->edge that of |z| once. *here:
   |z|^2, on several ranks. mine: this rank's error so far. Agrees, with the sum. */
static PoiseErr Squares(PoiseContext ctx, PoiseErr mine, int k, AmgPowerArgs *p, Scratch *s, double *here)
{
  double *sum = s->sums[2] + (int64_t)k * NORM, *all, norm[2];
  PoiseErr e = mine;
  if (!e && p->n) e = poiseAmgAdd(ctx->device, Trees(p), p->squares, false, s->sums, sum);
  if (PoiseSize(ctx) == 1) {
    p->scale = sum + 2;
    if (k <= EDGE) p->edge = sum + 1;
    return e;
  }
  *here = 0;
  if (!e && p->n) e = poiseDeviceFetch(ctx->device, sum, sizeof *here, here);
  TRY(poiseAgreeSum(ctx, e, here, 1));
  poiseAmgNorm(*here, norm);
  TRY(poiseBufferUpdate(&s->all, HOST, &all));
  all[0] = norm[1];
  if (k <= EDGE) all[1] = norm[0];
  TRY(poiseBufferRead(&s->all, DEVICE, &p->scale));
  p->edge = p->scale + 1;
  return POISE_OK;
}

static PoiseErr Open(Device *dev, AmgPowerArgs *p, Scratch *s)
{
  int64_t trees = Trees(p);
  AmgStartArgs a = {.n = p->n, .row = p->m.row};
  double *there;
  for (int k = 0; k < 2; k++) {
    TRY(poiseAmgMake(dev, poiseAmgAllNodes(&p->m) * p->m.node, sizeof *there, "eigenvector", &s->vector[k],
                     &there));
    if (k == 0) a.x = there;
  }
  for (int k = 0; k < 3; k++)
    TRY(poiseAmgMake(dev, k < 2 ? trees / AMG_SUM + 1 : SUMS * NORM, sizeof *there, "sums", &s->sum[k],
                     &s->sums[k]));
  TRY(poiseAmgMake(dev, trees, sizeof *p->squares, "sums of squares", &s->squares, &p->squares));
  if (p->m.node > 1)
    TRY(poiseAmgMake(dev, p->n, sizeof *p->y, "product", &s->y, &p->y));
  else
    TRY(poiseAmgMake(dev, trees, sizeof *p->sizes, "sums of rows", &s->sizes, &p->sizes));
  TRY(poiseBufferCreate(dev, 2 * sizeof(double), "scale and edge of all ranks", &s->all));
  TRY(poiseBufferWrite(&s->all, HOST, &there)); /* here, as ranks agree on what fails */
  TRY(poiseBufferWrite(&s->all, DEVICE, &there));
  return LAUNCH(dev, amg_power_start, &a);
}

static PoiseErr Run(PoiseContext ctx, PoiseErr mine, AmgPowerArgs *p, Scratch *s, double *lambda,
                    double *sums)
{
  const double close = 2 * (1 + 1e-12);
  double bound = 0, squares;
  Device *dev = ctx->device;
  bool alone = PoiseSize(ctx) == 1;
  *lambda = *sums = 0;
  if (alone && (mine || !p->n)) return mine;
  PoiseErr e = Step(ctx, mine ? mine : Open(dev, p, s), p, s);
  if (!e) e = RowBound(dev, p, s, &bound);
  TRY(poiseAgreeMax(ctx, e, &bound));
  *lambda = *sums = bound;
  if (bound <= close || (p->m.node == 1 && !poiseFinite(bound))) return POISE_OK;
  for (int k = 0; k < STEPS; k++) {
    p->zero = zeros[k];
    TRY(Squares(ctx, k ? Step(ctx, POISE_OK, p, s) : POISE_OK, k, p, s, &squares));
    p->sizes = NULL;
  }
  if (alone) TRY(poiseDeviceFetch(dev, s->sums[2] + (STEPS - 1) * NORM, sizeof squares, &squares));
  double norm = sqrt(squares);
  *lambda = bound < 1.1 * norm ? bound : 1.1 * norm;
  return POISE_OK;
}

static void Close(Scratch *s)
{
  Buffer *all[] = {&s->vector[0], &s->vector[1], &s->y,      &s->squares, &s->sizes,
                   &s->sum[0],    &s->sum[1],    &s->sum[2], &s->all};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) poiseBufferDestroy(all[k]);
}

PoiseErr poiseAmgLambda(PoiseContext ctx, PoiseErr mine, const AmgMatrix *m, const double *d, double *lambda,
                        double *sums)
{
  Scratch s = {0};
  AmgPowerArgs p = {.n = m->nodes * m->node, .m = *m, .d = d};
  PoiseErr e = Run(ctx, mine, &p, &s, lambda, sums);
  Close(&s);
  return e;
}

/* ---- what smoothing leaves of a vector ---------------------------------------------------------- */

/* x = the vector that is tried. */
static PoiseErr Begin(Device *dev, AmgPowerArgs *p, Scratch *s, const double *b)
{
  double *x;
  p->scale = NULL, s->present = 0;
  TRY(poiseBufferWrite(&s->vector[0], DEVICE, &x));
  return poiseDeviceCopy(dev, x, b, (size_t)p->n * sizeof *x, COPY_ON_DEVICE);
}

/* Step k, with this zero as a part of p->edge: *norm of its z on all ranks, which one rank only knows when it
   is asked for. */
static PoiseErr Try(PoiseContext ctx, PoiseErr mine, int k, double zero, AmgPowerArgs *p, Scratch *s,
                    double *squares)
{
  p->zero = zero;
  return Squares(ctx, Step(ctx, mine, p, s), k, p, s, squares);
}

/* A zero of the Chebyshev polynomial on [low, 1], those of both ends in turn, so that no product grows. */
static double Zero(int k, double low)
{
  int at = k % 2 ? PROBE - 1 - k / 2 : k / 2;
  return 0.5 * (1 + low) + 0.5 * (1 - low) * cos(acos(-1) * (2 * at + 1) / (2 * PROBE));
}

/* *squares: of D^-1 A b on all ranks. */
static PoiseErr First(PoiseContext ctx, AmgPowerArgs *p, Scratch *s, const double *b, double *squares)
{
  PoiseErr e = Open(ctx->device, p, s);
  p->sizes = NULL;
  TRY(Try(ctx, e ? e : Begin(ctx->device, p, s, b), 0, 0, p, s, squares));
  if (PoiseSize(ctx) > 1) return POISE_OK;
  return poiseDeviceFetch(ctx->device, s->sums[2], sizeof *squares, squares);
}

/* The steps from b on, the norm of each in `found`. */
static PoiseErr Steps(PoiseContext ctx, AmgPowerArgs *p, Scratch *s, const double *b, double lambda,
                      double *found)
{
  double first;
  TRY(First(ctx, p, s, b, &first));
  PoiseErr e = Begin(ctx->device, p, s, b);
  for (int k = 0; k < PROBE; k++, e = POISE_OK)
    TRY(Try(ctx, e, EDGE + 1 + k, Zero(k, LOW) * lambda / sqrt(first), p, s, &found[(EDGE + 1 + k) * NORM]));
  if (PoiseSize(ctx) > 1) return POISE_OK;
  return poiseDeviceFetch(ctx->device, s->sums[2], SUMS * NORM * sizeof *found, found);
}

PoiseErr poiseAmgRelax(PoiseContext ctx, const AmgMatrix *m, const double *d, Buffer *b, double rows,
                       double lambda, bool change, double *left)
{
  Scratch s = {0};
  AmgPowerArgs p = {.n = m->nodes, .m = *m, .d = d};
  double found[SUMS * NORM], *there;
  PoiseErr e = PoiseAgree(ctx, poiseBufferUpdate(b, DEVICE, &there));
  if (!e) e = Steps(ctx, &p, &s, there, lambda, found);
  *left = 1 / sqrt(rows);
  for (int k = 0; !e && k < PROBE; k++) *left *= sqrt(found[(EDGE + 1 + k) * NORM]) / (Zero(k, LOW) * lambda);
  if (!e && change && *left <= 1)
    e = poiseDeviceCopy(ctx->device, there, p.z, (size_t)p.n * sizeof *there, COPY_ON_DEVICE);
  Close(&s);
  return PoiseAgree(ctx, e);
}

PoiseErr poiseAmgIsFar(PoiseContext ctx, const AmgMatrix *m, const double *d, const double *b, double rows,
                       double lambda, bool *far)
{
  const double near = 0.1;
  double squares = 0;
  Scratch s = {0};
  AmgPowerArgs p = {.n = m->nodes, .m = *m, .d = d};
  PoiseErr e = First(ctx, &p, &s, b, &squares);
  *far = squares > near * near * lambda * lambda * rows;
  Close(&s);
  return e;
}

PoiseErr poiseAmgIsNull(PoiseContext ctx, const AmgMatrix *m, const double *d, const double *b, double rows,
                        bool *null)
{
  const double rounding =
      1e-11; /* of b, whose numbers are 1 or more: the square roots of aggregates' sizes */
  double squares = 0;
  Scratch s = {0};
  AmgPowerArgs p = {.n = m->nodes, .m = *m, .d = d};
  PoiseErr e = First(ctx, &p, &s, b, &squares);
  *null = squares <= rounding * rounding * rows;
  Close(&s);
  return e;
}
