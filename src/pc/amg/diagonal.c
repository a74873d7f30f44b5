/* SPDX-License-Identifier: BSD-3-Clause */
/* Inverse diagonal blocks of nodes, and of rows by their sums. */
#include "pc/block_inverse.h"
#include "amg.h"

enum { LARGEST = 32 }; /* rows of a node */

typedef struct Diagonal {
  const AmgMatrix *m;
  bool strict;
  double *d;
  int8_t *bad;
} Diagonal;

/* The diagonal block of node i, column-major. */
static void Fetch(const AmgMatrix *m, int64_t i, double *d)
{
  int64_t side = m->A.b ? m->A.b : 1, per = m->node / side;
  for (int64_t k = 0; k < (int64_t)m->node * m->node; k++) d[k] = 0;
  for (int64_t q = 0; q < per; q++)
    for (int64_t k = poiseCsrOffset(&m->A, i * per + q); k < poiseCsrOffset(&m->A, i * per + q + 1); k++) {
      int64_t p = m->A.col[k] - i * per;
      for (int64_t e = 0; p >= 0 && p < per && e < side * side; e++)
        d[(p * side + e / side) * m->node + q * side + e % side] = m->A.val[k * side * side + e];
    }
}

/* Rows of d that are not 0. */
static int Rows(const double *d, int n, int *row)
{
  int count = 0;
  for (int i = 0; i < n; i++) {
    bool any = false;
    for (int j = 0; j < n; j++) any = any || d[j * n + i] != 0; /* a NaN too */
    if (any) row[count++] = i;
  }
  return count;
}

/* Invert the rows of d that are not 0; the others, of a coarse vector that is 0 in its aggregate, stay. */
static bool Invert(double *d, int n, const int *row, int count)
{
  double a[LARGEST * LARGEST];
  for (int i = 0; i < count; i++)
    for (int j = 0; j < count; j++) a[j * count + i] = d[row[j] * n + row[i]];
  if (!poiseInvertBlock(a, count)) return false;
  for (int i = 0; i < count; i++)
    for (int j = 0; j < count; j++) d[row[j] * n + row[i]] = a[j * count + i];
  return true;
}

/* The inverse of its diagonal alone, where that is not 0. */
static bool InvertDiagonal(double *d, int n)
{
  bool finite = true;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      double *v = &d[j * n + i];
      *v = i == j && *v != 0 ? 1 / *v : 0;
      finite = finite && poiseFinite(*v);
    }
  return finite;
}

static void Nodes(const void *args, int64_t begin, int64_t end)
{
  const Diagonal *g = args;
  int n = g->m->node, row[LARGEST];
  for (int64_t i = begin; i < end; i++) {
    double *d = g->d + i * n * n;
    Fetch(g->m, i, d);
    int count = Rows(d, n, row);
    if (g->strict)
      g->bad[i] = count < n || !Invert(d, n, row, n);
    else
      g->bad[i] = n == 1 || !Invert(d, n, row, count) ? !InvertDiagonal(d, n) : 0;
  }
}

PoiseErr poiseAmgDiagonal(PoiseContext ctx, const AmgMatrix *m, bool strict, double *d, int64_t *bad)
{
  Diagonal g = {.m = m, .strict = strict, .d = d};
  *bad = -1;
  TRY(poiseAllocArray(ctx, m->nodes, sizeof *g.bad, "singular blocks", &g.bad));
  poiseAmgForRows(ctx->device, m->nodes, Nodes, &g);
  for (int64_t i = 0; i < m->nodes && *bad < 0; i++)
    if (g.bad[i]) *bad = i;
  poiseFree(ctx, &g.bad);
  return POISE_OK;
}

static void RowSums(const void *args, int64_t begin, int64_t end)
{
  const Diagonal *g = args;
  for (int64_t i = begin * g->m->node; i < end * g->m->node; i++) {
    ScalarRow row = poiseNumberRow(&g->m->A, i);
    double sum = 0, diagonal = 0;
    for (int64_t k = 0; k < row.n; k++) {
      double a = g->m->A.val[poiseNumberPlace(&row, k)];
      sum += fabs(a);
      if (poiseNumberColumn(&g->m->A, &row, k) == i) diagonal = a;
    }
    g->d[i] = sum > 0 ? copysign(1 / sum, diagonal) : sum;
  }
}

void poiseAmgRowSums(PoiseContext ctx, const AmgMatrix *m, double *d)
{
  poiseAmgForRows(ctx->device, m->nodes, RowSums, &(Diagonal){.m = m, .d = d});
}
