/* SPDX-License-Identifier: BSD-3-Clause */
/*
  A bound of the spectrum of D^-1 A: power steps from a hashed vector, times 1.1. Where nodes have one row,
  the largest sum of a row of |D^-1 A| is a bound too, and the smaller one is taken. If that is at most 2, as
  of an M-matrix, it is close, and saves the other steps.
*/
#include "vec/vec_host.h"
#include "amg.h"

enum { STEPS = 12 };

typedef struct Power {
  const AmgMatrix *m;
  const double *d;
  double *x, *y, *z; /* y = A x, z = D^-1 y */
  double *sum, *row; /* of each block of nodes: squares of z; the largest sum of a row */
  double scale;
} Power;

static void Start(const void *args, int64_t begin, int64_t end)
{
  const Power *p = args;
  for (int64_t i = begin * p->m->node; i < end * p->m->node; i++)
    p->x[i] = (double)(poiseAmgHash((uint64_t)i) >> 11) * 0x1p-53 - 0.5;
}

static void OfScalars(const Power *p, int64_t begin, int64_t end)
{
  const CsrView *A = &p->m->A;
  double largest = 0;
  for (int64_t i = begin; i < end; i++) {
    double s = 0, size = 0;
    for (int64_t k = poiseCsrOffset(A, i); k < poiseCsrOffset(A, i + 1); k++)
      s += A->val[k] * p->x[A->col[k]], size += fabs(A->val[k]);
    p->z[i] = p->d[i] * s;
    largest = poiseLarger(largest, fabs(p->d[i]) * size);
  }
  p->row[begin / POISE_BLOCK] = largest;
}

static void OfBlocks(const Power *p, int64_t begin, int64_t end)
{
  const CsrView *A = &p->m->A;
  int64_t b = A->b ? A->b : 1, node = p->m->node, per = node / b;
  for (int64_t i = begin * per; i < end * per; i++) {
    double *y = p->y + i * b;
    for (int64_t r = 0; r < b; r++) y[r] = 0;
    for (int64_t k = poiseCsrOffset(A, i); k < poiseCsrOffset(A, i + 1); k++)
      for (int64_t c = 0; c < b; c++)
        for (int64_t r = 0; r < b; r++) y[r] += A->val[(k * b + c) * b + r] * p->x[A->col[k] * b + c];
  }
  for (int64_t i = begin; i < end; i++)
    for (int64_t r = 0; r < node; r++) {
      double s = 0;
      for (int64_t c = 0; c < node; c++) s += p->d[(i * node + c) * node + r] * p->y[i * node + c];
      p->z[i * node + r] = s;
    }
}

static void Step(const void *args, int64_t begin, int64_t end)
{
  const Power *p = args;
  int64_t node = p->m->node;
  if (node == 1)
    OfScalars(p, begin, end);
  else
    OfBlocks(p, begin, end);
  p->sum[begin / POISE_BLOCK] = poiseHostDot(p->z, p->z, begin * node, end * node);
}

static void Scale(const void *args, int64_t begin, int64_t end)
{
  const Power *p = args;
  for (int64_t i = begin * p->m->node; i < end * p->m->node; i++) p->x[i] = p->scale * p->z[i];
}

static double Norm(const Power *p)
{
  double s = 0;
  for (int64_t k = 0; k < POISE_NBLOCKS(p->m->nodes); k++) s += p->sum[k];
  return sqrt(s);
}

/* The bound by rows; not finite, or infinity, if there is none. */
static double RowBound(const Power *p)
{
  double bound = 0;
  if (p->m->node > 1) return INFINITY;
  for (int64_t k = 0; k < POISE_NBLOCKS(p->m->nodes); k++) bound = poiseLarger(bound, p->row[k]);
  return bound;
}

static PoiseErr Run(PoiseContext ctx, Power *p, double *lambda)
{
  const double close = 2 * (1 + 1e-12);
  int64_t n = p->m->nodes * p->m->node, nblock = POISE_NBLOCKS(p->m->nodes);
  TRY(poiseAllocArray(ctx, n, sizeof *p->x, "eigenvector", &p->x));
  TRY(poiseAllocArray(ctx, n, sizeof *p->z, "new eigenvector", &p->z));
  if (p->m->node > 1) TRY(poiseAllocArray(ctx, n, sizeof *p->y, "product", &p->y));
  TRY(poiseAllocArray(ctx, nblock, sizeof *p->sum, "partial sums", &p->sum));
  TRY(poiseAllocArray(ctx, nblock, sizeof *p->row, "sums of rows", &p->row));
  poiseAmgForRows(ctx->device, p->m->nodes, Start, p);
  for (int k = 0; k < STEPS; k++) { /* x has norm 1 after the first */
    poiseAmgForRows(ctx->device, p->m->nodes, Step, p);
    double norm = Norm(p), bound = RowBound(p);
    *lambda = bound < 1.1 * norm || (k == 0 && poiseFinite(bound)) ? bound : 1.1 * norm;
    if (bound <= close || !(norm > 0) || !poiseFinite(norm)) break;
    p->scale = 1 / norm;
    poiseAmgForRows(ctx->device, p->m->nodes, Scale, p);
  }
  return POISE_OK;
}

PoiseErr poiseAmgLambda(PoiseContext ctx, const AmgMatrix *m, const double *d, double *lambda)
{
  Power p = {.m = m, .d = d};
  PoiseErr e = Run(ctx, &p, lambda);
  poiseFree(ctx, &p.x);
  poiseFree(ctx, &p.y);
  poiseFree(ctx, &p.z);
  poiseFree(ctx, &p.sum);
  poiseFree(ctx, &p.row);
  return e;
}
