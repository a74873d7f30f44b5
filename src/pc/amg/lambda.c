/* SPDX-License-Identifier: BSD-3-Clause */
/*
  A bound of the spectrum of D^-1 A: power steps from a hashed vector, times 1.1. Where nodes have one row,
  the largest sum of a row of |D^-1 A| is a bound too, and the smaller one is taken. If that is at most 2, as
  of an M-matrix, it is close, and saves the other steps.

  On one rank it waits twice at most; on several ranks for each sum. It holds two vectors, and a third where
  nodes have several rows.
*/
#include "amg.h"
#include "lambda_kernels.h"

enum { STEPS = 12 };

typedef struct Scratch {
  Buffer vector[2], y, squares, sizes, sum[3], all;
  double *sums[3]; /* of partial sums, two, and of the sum and 1 over its root */
  int present;     /* the vector that a step reads; it writes the other one */
} Scratch;

PoiseErr poiseAmgAdd(Device *dev, int64_t n, const double *x, bool largest, double *const scratch[2],
                     double *to)
{
  AmgSumArgs a = {.n = n, .x = x, .largest = largest};
  for (int pass = 0; pass == 0 || a.count > AMG_SUM; pass++) {
    a.count = a.n, a.n = a.count > AMG_SUM ? (a.count + AMG_SUM - 1) / AMG_SUM : 1;
    a.sum = a.n == 1 ? to : scratch[pass % 2];
    a.scale = a.n == 1 && !largest;
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

/* |z| of all ranks: p->scale becomes the place of 1 / |z|. *here: |z|^2, on several ranks. mine: this rank's
   error so far. Agrees, with the sum. */
static PoiseErr Squares(PoiseContext ctx, PoiseErr mine, AmgPowerArgs *p, Scratch *s, double *here)
{
  double *all;
  bool alone = PoiseSize(ctx) == 1;
  PoiseErr e = mine;
  if (!e && p->n) e = poiseAmgAdd(ctx->device, Trees(p), p->squares, false, s->sums, s->sums[2]);
  if (alone) {
    p->scale = s->sums[2] + 1;
    return e;
  }
  *here = 0;
  if (!e && p->n) e = poiseDeviceFetch(ctx->device, s->sums[2], sizeof *here, here);
  TRY(poiseAgreeSum(ctx, e, here, 1));
  TRY(poiseBufferWrite(&s->all, HOST, &all));
  *all = poiseAmgUnit(*here);
  return poiseBufferRead(&s->all, DEVICE, &p->scale);
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
    TRY(poiseAmgMake(dev, k < 2 ? trees / AMG_SUM + 1 : 2, sizeof *there, "sums", &s->sum[k], &s->sums[k]));
  TRY(poiseAmgMake(dev, trees, sizeof *p->squares, "sums of squares", &s->squares, &p->squares));
  if (p->m.node > 1)
    TRY(poiseAmgMake(dev, p->n, sizeof *p->y, "product", &s->y, &p->y));
  else
    TRY(poiseAmgMake(dev, trees, sizeof *p->sizes, "sums of rows", &s->sizes, &p->sizes));
  TRY(poiseBufferCreate(dev, sizeof(double), "scale of all ranks", &s->all));
  TRY(poiseBufferWrite(&s->all, HOST, &there)); /* here, as ranks agree on what fails */
  TRY(poiseBufferWrite(&s->all, DEVICE, &there));
  return LAUNCH(dev, amg_power_start, &a);
}

static PoiseErr Run(PoiseContext ctx, PoiseErr mine, AmgPowerArgs *p, Scratch *s, double *lambda)
{
  const double close = 2 * (1 + 1e-12);
  double bound = 0, squares;
  Device *dev = ctx->device;
  bool alone = PoiseSize(ctx) == 1;
  *lambda = 0;
  if (alone && (mine || !p->n)) return mine;
  PoiseErr e = Step(ctx, mine ? mine : Open(dev, p, s), p, s);
  if (!e) e = RowBound(dev, p, s, &bound);
  TRY(poiseAgreeMax(ctx, e, &bound));
  *lambda = bound;
  if (bound <= close || (p->m.node == 1 && !poiseFinite(bound))) return POISE_OK;
  TRY(Squares(ctx, POISE_OK, p, s, &squares));
  p->sizes = NULL;
  for (int k = 1; k < STEPS; k++) TRY(Squares(ctx, Step(ctx, POISE_OK, p, s), p, s, &squares));
  if (alone) TRY(poiseDeviceFetch(dev, s->sums[2], sizeof squares, &squares));
  double norm = sqrt(squares);
  *lambda = bound < 1.1 * norm ? bound : 1.1 * norm;
  return POISE_OK;
}

PoiseErr poiseAmgLambda(PoiseContext ctx, PoiseErr mine, const AmgMatrix *m, const double *d, double *lambda)
{
  Scratch s = {0};
  AmgPowerArgs p = {.n = m->nodes * m->node, .m = *m, .d = d};
  PoiseErr e = Run(ctx, mine, &p, &s, lambda);
  Buffer *all[] = {&s.vector[0], &s.vector[1], &s.y,      &s.squares, &s.sizes,
                   &s.sum[0],    &s.sum[1],    &s.sum[2], &s.all};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) poiseBufferDestroy(all[k]);
  return e;
}
