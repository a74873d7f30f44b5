/* SPDX-License-Identifier: BSD-3-Clause */
/*
  A bound of the spectrum of D^-1 A: power steps from a hashed vector, times 1.1. Where nodes have one row,
  the largest sum of a row of |D^-1 A| is a bound too, and the smaller one is taken. If that is at most 2, as
  of an M-matrix, it is close, and saves the other steps.

  On one rank it waits twice at most; on several ranks for each sum. It holds three vectors.
*/
#include "amg.h"
#include "lambda_kernels.h"

enum { STEPS = 12, LANES = 32, FEW = 128 };

typedef struct Scratch {
  Buffer x, y, z, row, sum[2], all;
} Scratch;

/* The sum of squares, or the largest, of n numbers: its place on the device. */
static PoiseErr Add(Device *dev, Scratch *s, int64_t n, const double *x, bool square, bool largest,
                    const double **sum)
{
  AmgSumArgs a = {.count = n, .x = x, .square = square, .largest = largest};
  for (int pass = 0;; pass++) {
    a.lanes = a.count > FEW ? LANES : 1;
    a.n = POISE_NBLOCKS(a.count) * a.lanes;
    TRY(poiseBufferWrite(&s->sum[pass % 2], DEVICE, &a.sum));
    TRY(LAUNCH(dev, amg_sum, &a));
    *sum = a.sum;
    if (a.n <= 1) return POISE_OK;
    a.count = a.n, a.x = a.sum, a.square = false;
  }
}

static PoiseErr Product(Device *dev, const AmgPowerArgs *p)
{
  if (p->m.node == 1) return LAUNCH(dev, amg_power_scalar, p);
  TRY(LAUNCH(dev, amg_power_product, p));
  return LAUNCH(dev, amg_power_divide, p);
}

/* The bound by rows of this rank; not finite, or infinity, if there is none. */
static PoiseErr RowBound(Device *dev, const AmgPowerArgs *p, Scratch *s, double *bound)
{
  const double *there;
  *bound = p->m.node > 1 ? INFINITY : 0;
  if (p->m.node > 1 || !p->n) return POISE_OK;
  TRY(Add(dev, s, p->n, p->row, false, true, &there));
  return poiseAmgFetch(dev, there, sizeof *bound, bound);
}

/* (z, z) of all ranks: its place on the device, and on several ranks *here. mine: this rank's error so far.
   Agrees, with the sum. */
static PoiseErr Squares(PoiseContext ctx, PoiseErr mine, AmgPowerArgs *p, Scratch *s, double *here)
{
  double *all;
  bool alone = PoiseSize(ctx) == 1;
  PoiseErr e = mine;
  *here = 0;
  if (!e && (p->n || alone)) e = Add(ctx->device, s, p->n, p->z, true, false, &p->squares);
  if (alone) return e;
  if (!e && p->n) e = poiseAmgFetch(ctx->device, p->squares, sizeof *here, here);
  TRY(poiseAgreeSum(ctx, e, here, 1));
  TRY(poiseBufferWrite(&s->all, HOST, &all));
  *all = *here;
  return poiseBufferRead(&s->all, DEVICE, &p->squares);
}

static PoiseErr Open(Device *dev, AmgPowerArgs *p, Scratch *s)
{
  int64_t sums = POISE_NBLOCKS(p->n) * LANES;
  double *there;
  TRY(poiseAmgMake(dev, poiseAmgAllNodes(&p->m) * p->m.node, sizeof *p->x, "eigenvector", &s->x, &p->x));
  TRY(poiseAmgMake(dev, p->n, sizeof *p->z, "new eigenvector", &s->z, &p->z));
  if (p->m.node > 1)
    TRY(poiseAmgMake(dev, p->n, sizeof *p->y, "product", &s->y, &p->y));
  else
    TRY(poiseAmgMake(dev, p->n, sizeof *p->row, "sums of rows", &s->row, &p->row));
  for (int k = 0; k < 2; k++) TRY(poiseAmgMake(dev, sums, sizeof *there, "partial sums", &s->sum[k], &there));
  TRY(poiseBufferCreate(dev, sizeof(double), "sum of all ranks", &s->all));
  TRY(poiseBufferWrite(&s->all, HOST, &there)); /* here, as ranks agree on what fails */
  TRY(poiseBufferWrite(&s->all, DEVICE, &there));
  return LAUNCH(dev, amg_power_start, p);
}

static PoiseErr Run(PoiseContext ctx, PoiseErr mine, AmgPowerArgs *p, Scratch *s, double *lambda)
{
  const double close = 2 * (1 + 1e-12);
  double bound = 0, squares;
  Device *dev = ctx->device;
  *lambda = 0;
  if (PoiseSize(ctx) == 1 && (mine || !p->n)) return mine;
  PoiseErr e = poiseAmgFillGhosts(ctx, &p->m, mine ? mine : Open(dev, p, s), p->m.node, &s->x);
  if (!e) e = Product(dev, p);
  if (!e) e = RowBound(dev, p, s, &bound);
  TRY(poiseAgreeMax(ctx, e, &bound));
  *lambda = bound;
  if (bound <= close || (p->m.node == 1 && !poiseFinite(bound))) return POISE_OK;
  TRY(Squares(ctx, POISE_OK, p, s, &squares));
  p->row = NULL;
  for (int k = 1; k < STEPS; k++) {
    e = poiseAmgFillGhosts(ctx, &p->m, LAUNCH(dev, amg_power_scale, p), p->m.node, &s->x);
    if (!e) e = Product(dev, p);
    TRY(Squares(ctx, e, p, s, &squares));
  }
  if (PoiseSize(ctx) == 1) TRY(poiseAmgFetch(dev, p->squares, sizeof squares, &squares));
  double norm = sqrt(squares);
  *lambda = bound < 1.1 * norm ? bound : 1.1 * norm;
  return POISE_OK;
}

PoiseErr poiseAmgLambda(PoiseContext ctx, PoiseErr mine, const AmgMatrix *m, const double *d, double *lambda)
{
  Scratch s = {0};
  AmgPowerArgs p = {.n = m->nodes * m->node, .m = *m, .d = d};
  PoiseErr e = Run(ctx, mine, &p, &s, lambda);
  Buffer *all[] = {&s.x, &s.y, &s.z, &s.row, &s.sum[0], &s.sum[1], &s.all};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) poiseBufferDestroy(all[k]);
  return e;
}
