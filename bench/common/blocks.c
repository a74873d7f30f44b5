/* SPDX-License-Identifier: BSD-3-Clause */
#include "blocks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"

/* ---- made matrices --------------------------------------------------------------------------- */

enum { NEIGHBOURS = 27, FEWEST_NODES = 64, WINDOW = 2048, SPREAD = 4 };

const BlockMatrix block_matrices[] = {
    {"skewed", 4, POWER, 837e3, 11.72e6},    {"even", 4, EQUAL, 837e3, 11.72e6},
    {"raefsky4", 3, UNEVEN, 6593, 111.4e3},  {"bmw7st_1", 6, UNEVEN, 23.6e3, 229.1e3},
    {"pwtk", 6, UNEVEN, 36.3e3, 289.3e3},    {"RM07R", 7, UNEVEN, 54.5e3, 1.504e6},
    {"audikw_1", 3, UNEVEN, 314e3, 4.471e6}, {0},
};

typedef struct Shape {
  int b, lengths;
  int64_t N, edge; /* rows of blocks; nodes along an edge of the cube */
  int64_t *ptr;    /* of all of them */
} Shape;

static int64_t Neighbour(const Shape *s, int64_t i, int number) /* ascending */
{
  int64_t k = s->edge;
  return i + (number / 9 - 1) * k * k + (number / 3 % 3 - 1) * k + number % 3 - 1;
}

static double Length(const Shape *s, int64_t i)
{
  double length = 0, u = RandomAt(i, -1);
  switch (s->lengths) {
  case CUBE:
    for (int l = 0; l < NEIGHBOURS; l++) length += Neighbour(s, i, l) >= 0 && Neighbour(s, i, l) < s->N;
    return length;
  case EQUAL:
    return 1;
  case UNEVEN:
    return 0.5 + u;
  default:
    return fmin(pow(1 - u, -1 / 1.4), (double)s->N / 32);
  }
}

/* Offsets of all rows of blocks; lengths are scaled so that there are so many blocks, or kept if that is
   0. */
static PoiseErr CreateOffsets(Shape *s, double blocks)
{
  double sum = 0, at = 0;
  s->ptr = malloc((size_t)(s->N + 1) * sizeof *s->ptr);
  if (!s->ptr) POISE_FAIL(POISE_ERR_MEMORY, "offsets of %lld rows of blocks", (long long)s->N);
  for (int64_t i = 0; i < s->N && blocks > 0; i++) sum += Length(s, i);
  double scale = blocks > 0 ? blocks / sum : 1;
  s->ptr[0] = 0;
  for (int64_t i = 0; i < s->N; i++) s->ptr[i + 1] = (int64_t)round(at += scale * Length(s, i));
  return POISE_OK;
}

/* Column of the l-th of the blocks of row i: one in each equal part of its window. */
static int64_t Column(const Shape *s, int64_t i, int64_t l)
{
  if (s->lengths == CUBE) {
    int first = 0;
    while (Neighbour(s, i, first) < 0) first++;
    return Neighbour(s, i, first + (int)l);
  }
  int64_t n = s->ptr[i + 1] - s->ptr[i], width = n * SPREAD > WINDOW ? n * SPREAD : WINDOW;
  if (width > s->N) width = s->N;
  int64_t start = i - width / 2, part = l * width / n, size = (l + 1) * width / n - part;
  if (start < 0) start = 0;
  if (start > s->N - width) start = s->N - width;
  return start + part + (int64_t)(RandomAt(i, l) * (double)size);
}

static void PutBlock(const Shape *s, int64_t row, int64_t J, int32_t *col, double *val)
{
  for (int64_t j = J * s->b; j < (J + 1) * s->b; j++, col++, val++) {
    *col = (int32_t)j;
    *val = j == row ? NEIGHBOURS * s->b : RandomAt(row < j ? row : j, row < j ? j : row) - 0.5;
  }
}

/* This rank's rows of numbers. */
static PoiseErr Expand(PoiseContext ctx, const Shape *s, Rows *r)
{
  int64_t b = s->b, begin, n;
  PoiseSplit(ctx, s->N, &begin, &n);
  *r = (Rows){.n = n * b, .N = s->N * b, .begin = begin * b, .block = s->b};
  POISE_TRY(CountRows(r));
  for (int64_t i = 0; i < r->n; i++)
    r->ptr[i + 1] = (int32_t)(b * (s->ptr[begin + i / b + 1] - s->ptr[begin + i / b]));
  POISE_TRY(OffsetRows(r));
  POISE_TRY(ReserveRows(r));
#pragma omp parallel for schedule(dynamic, 1024)
  for (int64_t i = 0; i < r->n; i++) {
    int64_t I = begin + i / b;
    for (int64_t l = 0, out = r->ptr[i]; l < s->ptr[I + 1] - s->ptr[I]; l++, out += b)
      PutBlock(s, r->begin + i, Column(s, I, l), r->col + out, r->val + out);
  }
  return POISE_OK;
}

static PoiseErr Create(PoiseContext ctx, Shape *s, double blocks, Rows *r)
{
  PoiseErr e = CreateOffsets(s, blocks);
  if (!e) e = Expand(ctx, s, r);
  free(s->ptr);
  return e;
}

PoiseErr CreateBlocks(PoiseContext ctx, int b, double bytes, Rows *r)
{
  Shape s = {.b = b, .lengths = CUBE, .N = (int64_t)fmax(NEIGHBOURS, bytes / (12.0 * NEIGHBOURS * b * b))};
  s.edge = (int64_t)round(cbrt((double)s.N));
  return Create(ctx, &s, 0, r);
}

PoiseErr CreateBlockMatrix(PoiseContext ctx, const BlockMatrix *m, double bytes, Rows *r)
{
  double own = 12 * m->blocks * m->b * m->b, part = bytes > 0 ? fmin(1, bytes / own) : 1;
  Shape s = {.b = m->b, .lengths = m->lengths, .N = (int64_t)fmax(FEWEST_NODES, part * m->nodes)};
  return Create(ctx, &s, round(m->blocks / m->nodes * (double)s.N), r);
}

/* ---- cutting --------------------------------------------------------------------------------- */

enum { LARGEST = 32 };

/* The next column of blocks in rows [i, i + b), which have come to the entries at[0 .. b); N: there are no
   more. */
static int32_t NextColumn(const Rows *r, int64_t i, const int32_t *at)
{
  int32_t next = (int32_t)r->N;
  for (int row = 0; row < r->block; row++)
    if (at[row] < r->ptr[i + row + 1] && r->col[at[row]] / r->block < next) next = r->col[at[row]] / r->block;
  return next;
}

/* The blocks of rows [i, i + b), from number k on; with col NULL they are only counted. The number behind
   them. */
static int32_t CutRow(const Rows *r, int64_t i, int32_t k, int32_t *col, double *val)
{
  int32_t at[LARGEST], column, b = r->block;
  for (int row = 0; row < b; row++) at[row] = r->ptr[i + row];
  for (; (column = NextColumn(r, i, at)) < r->N; k++) {
    double *v = col ? val + (int64_t)k * b * b : NULL;
    if (col) col[k] = column, memset(v, 0, (size_t)(b * b) * sizeof *v);
    for (int row = 0; row < b; row++)
      for (; at[row] < r->ptr[i + row + 1] && r->col[at[row]] / b == column; at[row]++)
        if (col) v[r->col[at[row]] % b * b + row] = r->val[at[row]];
  }
  return k;
}

PoiseErr CutRows(const Rows *r, Blocks *k)
{
  int64_t b = r->block;
  *k = (Blocks){.n = r->n / b, .N = r->N / b, .b = r->block};
  if (b > LARGEST || r->n % b || r->N % b)
    POISE_FAIL(POISE_ERR_SIZE, "%lld of %lld rows in blocks of %lld", (long long)r->n, (long long)r->N,
               (long long)b);
  k->ptr = calloc((size_t)(k->n + 1), sizeof *k->ptr);
  if (!k->ptr) POISE_FAIL(POISE_ERR_MEMORY, "offsets of %lld rows of blocks", (long long)k->n);
#pragma omp parallel for schedule(dynamic, 256)
  for (int64_t i = 0; i < k->n; i++) k->ptr[i + 1] = CutRow(r, i * b, 0, NULL, NULL);
  for (int64_t i = 0; i < k->n; i++) k->ptr[i + 1] += k->ptr[i];
  k->col = LargePages((size_t)(k->ptr[k->n] + 1) * sizeof *k->col);
  k->val = LargePages((size_t)(k->ptr[k->n] * b * b + 1) * sizeof *k->val);
  if (!k->col || !k->val) POISE_FAIL(POISE_ERR_MEMORY, "%d blocks", k->ptr[k->n]);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < k->n; i++) (void)CutRow(r, i * b, k->ptr[i], k->col, k->val);
  return POISE_OK;
}

void DestroyBlocks(Blocks *k)
{
  free(k->ptr);
  free(k->col);
  free(k->val);
  *k = (Blocks){0};
}

PoiseErr PadRows(Rows *r, int b)
{
  int64_t n = (r->n + b - 1) / b * b;
  int32_t *ptr = realloc(r->ptr, (size_t)(n + 1) * sizeof *ptr);
  if (!ptr) POISE_FAIL(POISE_ERR_MEMORY, "offsets of %lld rows", (long long)n);
  r->ptr = ptr;
  for (int64_t i = r->n; i < n; i++) ptr[i + 1] = ptr[r->n];
  r->n = r->N = n;
  r->block = b;
  return POISE_OK;
}

double BlockBytes(const Blocks *k)
{
  double b = k->b, blocks = k->ptr[k->n];
  return (8 * b * b + 4) * blocks + 4 * (double)(k->n + 1);
}
