/* SPDX-License-Identifier: BSD-3-Clause */
/*
  P = (I - omega D_F^-1 F) T. T has one block of a node in each row of blocks, so F T needs no general
  product: the columns of a row are the aggregates of its neighbours.

  Where nodes have one row and there is one vector b, weak connections are left out of F, and their sum,
  weighted so that F b = A b, is added to the diagonal. Otherwise F = A.
*/
#include "amg.h"

/* ---- F --------------------------------------------------------------------------------------- */

typedef struct Filtering {
  const AmgMatrix *m;
  const AmgGraph *g;
  const double *b;
  double *val;
} Filtering;

/* A diagonal entry that lumping would make small is left as it is. */
static void Lump(const void *args, int64_t begin, int64_t end)
{
  const double least = 0.1;
  const Filtering *f = args;
  const CsrView *A = &f->m->A;
  for (int64_t i = begin; i < end; i++) {
    int64_t at = f->g->ptr[i], diagonal = -1;
    double lump = 0;
    for (int64_t k = poiseCsrOffset(A, i); k < poiseCsrOffset(A, i + 1); k++) {
      int32_t j = A->col[k];
      bool strong = at < f->g->ptr[i + 1] && f->g->col[at] == j;
      if (!strong) {
        lump += A->val[k] * f->b[j];
        continue;
      }
      if (j == i) diagonal = at;
      f->val[at++] = A->val[k];
    }
    if (diagonal < 0 || f->b[i] == 0) continue;
    double a = f->val[diagonal], sum = a + lump / f->b[i];
    if (sum / a > least) f->val[diagonal] = sum;
  }
}

PoiseErr poiseAmgFilter(PoiseContext ctx, const AmgMatrix *m, const AmgGraph *g, const AmgModes *modes,
                        AmgFilter *f)
{
  *f = (AmgFilter){.m = *m};
  if (m->node > 1 || modes->count > 1 || !g->col) return POISE_OK;
  TRY(poiseAllocArray(ctx, g->nz, sizeof *f->val, "strong entries", &f->val));
  poiseAmgForRows(ctx->device, m->nodes, Lump, &(Filtering){m, g, modes->b, f->val});
  f->m.A =
      (CsrView){.m = m->A.m, .nloc = m->A.nloc, .nz = g->nz, .ptr64 = g->ptr, .col = g->col, .val = f->val};
  return POISE_OK;
}

/* ---- the pattern of P ------------------------------------------------------------------------ */

typedef struct Making {
  const AmgInterpolation *p;
  const AmgMatrix *F; /* NULL: P = T */
  const double *d;
  double omega;
  const CsrView *pattern;
  double *val;
  const int64_t *first; /* of a node's aggregates in `found` */
  int32_t *found, *count, *col;
  const int64_t *ptr;
} Making;

/* Ascending, each once. Rows are short, and nearly sorted. Returns their number. */
static int32_t SortOnce(int32_t *a, int64_t n)
{
  int32_t count = 0;
  for (int64_t i = 0; i < n; i++) {
    int32_t v = a[i], at = count;
    while (at > 0 && a[at - 1] > v) at--;
    if (at > 0 && a[at - 1] == v) continue;
    memmove(a + at + 1, a + at, (size_t)(count - at) * sizeof *a);
    a[at] = v;
    count++;
  }
  return count;
}

/* The blocks that node i has in its rows, for the room that they need. */
static int64_t Entries(const AmgMatrix *F, int64_t i)
{
  int64_t per = F->node / (F->A.b ? F->A.b : 1);
  return poiseCsrOffset(&F->A, (i + 1) * per) - poiseCsrOffset(&F->A, i * per);
}

static void FindAggregates(const void *args, int64_t begin, int64_t end)
{
  const Making *m = args;
  for (int64_t i = begin; i < end; i++) {
    int32_t *found = m->found + m->first[i];
    int64_t n = 0, per = m->F ? m->F->node / (m->F->A.b ? m->F->A.b : 1) : 0;
    if (m->p->aggregate[i] >= 0) found[n++] = m->p->aggregate[i];
    for (int64_t k = m->F ? poiseCsrOffset(&m->F->A, i * per) : 0,
                 last = m->F ? poiseCsrOffset(&m->F->A, (i + 1) * per) : 0;
         k < last; k++) {
      int32_t a = m->p->aggregate[m->F->A.col[k] / per];
      if (a >= 0 && (!n || found[n - 1] != a)) found[n++] = a;
    }
    m->count[i] = SortOnce(found, n);
  }
}

static void WritePattern(const void *args, int64_t begin, int64_t end)
{
  const Making *m = args;
  int64_t rows = m->p->node / m->p->side, per = m->p->modes / m->p->side;
  for (int64_t i = begin; i < end; i++)
    for (int64_t q = 0; q < rows; q++) {
      int32_t *col = m->col + m->ptr[i * rows + q];
      for (int64_t k = 0; k < m->count[i] * per; k++)
        col[k] = (int32_t)(m->found[m->first[i] + k / per] * per + k % per);
    }
}

static PoiseErr MakePattern(PoiseContext ctx, Making *m, int64_t *first, int64_t *ptr)
{
  const AmgInterpolation *p = m->p;
  int64_t n = p->nodes, rows = p->node / p->side, per = p->modes / p->side;
  for (int64_t i = 0; i < n; i++) first[i + 1] = first[i] + (m->F ? Entries(m->F, i) : 0) + 1;
  TRY(poiseAllocArray(ctx, first[n], sizeof *m->found, "aggregates of neighbours", &m->found));
  TRY(poiseAllocArray(ctx, n, sizeof *m->count, "numbers of aggregates", &m->count));
  poiseAmgForRows(ctx->device, n, FindAggregates, m);
  ptr[0] = 0;
  for (int64_t i = 0; i < n * rows; i++) ptr[i + 1] = ptr[i] + m->count[i / rows] * per;
  TRY(poiseAllocArray(ctx, ptr[n * rows], sizeof *m->col, "columns of interpolation", &m->col));
  poiseAmgForRows(ctx->device, n, WritePattern, m);
  return POISE_OK;
}

PoiseErr poiseAmgPattern(PoiseContext ctx, const AmgInterpolation *p, const AmgMatrix *F, int64_t *ptr,
                         int32_t **col)
{
  int64_t *first = NULL;
  Making m = {.p = p, .F = F, .ptr = ptr};
  PoiseErr e = poiseAllocArray(ctx, p->nodes + 1, sizeof *first, "rows of interpolation", &first);
  m.first = first;
  if (!e) e = MakePattern(ctx, &m, first, ptr);
  poiseFree(ctx, &first);
  poiseFree(ctx, &m.found);
  poiseFree(ctx, &m.count);
  if (e) poiseFree(ctx, &m.col);
  *col = m.col;
  return e;
}

/* ---- its values ------------------------------------------------------------------------------ */

/* The place of aggregate a among the blocks of a row of blocks; it is there. */
POISE_INLINE int64_t Find(const CsrView *pattern, int64_t first, int64_t n, int64_t per, int32_t a)
{
  int64_t low = 0;
  for (int64_t high = n; high - low > 1;) {
    int64_t mid = (low + high) / 2;
    if (pattern->col[first + mid * per] <= a * per)
      low = mid;
    else
      high = mid;
  }
  return low;
}

/* Nodes of one row, one vector: p_i = t_i - omega / d_i sum of f_ij t_j. */
static void SmoothScalars(const Making *m, int64_t begin, int64_t end)
{
  const CsrView *P = m->pattern;
  for (int64_t i = begin; i < end; i++) {
    int64_t first = poiseCsrOffset(P, i), n = poiseCsrOffset(P, i + 1) - first;
    int32_t own = m->p->aggregate[i];
    for (int64_t k = first; k < first + n; k++) m->val[k] = 0;
    for (int64_t k = m->F ? poiseCsrOffset(&m->F->A, i) : 0,
                 last = m->F ? poiseCsrOffset(&m->F->A, i + 1) : 0;
         k < last; k++) {
      int32_t j = m->F->A.col[k], a = m->p->aggregate[j];
      if (a >= 0) m->val[first + Find(P, first, n, 1, a)] += m->F->A.val[k] * m->p->q[j];
    }
    for (int64_t k = first; m->F && k < first + n; k++) m->val[k] *= -m->omega * m->d[i];
    if (own >= 0) m->val[first + Find(P, first, n, 1, own)] += m->p->q[i];
  }
}

/* Number (r, c) of block `at` of node i, r < node, c < modes, in P's blocks. */
POISE_INLINE double *Number(const Making *m, int64_t i, int64_t at, int64_t r, int64_t c)
{
  int64_t side = m->p->side, rows = m->p->node / side, per = m->p->modes / side;
  int64_t entry = poiseCsrOffset(m->pattern, i * rows + r / side) + at * per + c / side;
  return m->val + (entry * side + c % side) * side + r % side;
}

/* Block `at` of node i += F's block (blocks of `b` rows: row q of the node, entry k) times T of node j. */
static void AddBlock(const Making *m, int64_t i, int64_t at, int64_t q, int64_t k)
{
  int64_t b = m->F->A.b ? m->F->A.b : 1, modes = m->p->modes;
  const double *f = m->F->A.val + k * b * b, *t = m->p->q + (int64_t)m->F->A.col[k] * b * modes;
  for (int64_t c = 0; c < modes; c++)
    for (int64_t r = 0; r < b; r++) {
      double s = 0;
      for (int64_t j = 0; j < b; j++) s += f[j * b + r] * t[j * modes + c];
      *Number(m, i, at, q * b + r, c) += s;
    }
}

/* A column of block `at` of node i becomes -omega D^-1 times it. */
static void ScaleColumn(const Making *m, int64_t i, int64_t at, int64_t c)
{
  int64_t node = m->p->node;
  const double *d = m->d + i * node * node;
  double v[32], s;
  for (int64_t r = 0; r < node; r++) v[r] = *Number(m, i, at, r, c);
  for (int64_t r = 0; r < node; r++) {
    s = 0;
    for (int64_t j = 0; j < node; j++) s += d[j * node + r] * v[j];
    *Number(m, i, at, r, c) = -m->omega * s;
  }
}

static void SmoothNode(const Making *m, int64_t i)
{
  int64_t side = m->p->side, rows = m->p->node / side, per = m->p->modes / side, modes = m->p->modes;
  int64_t first = poiseCsrOffset(m->pattern, i * rows),
          n = (poiseCsrOffset(m->pattern, i * rows + 1) - first) / per;
  int64_t b = m->F && m->F->A.b ? m->F->A.b : 1, blocks = m->F ? m->F->node / b : 0;
  memset(m->val + first * side * side, 0, (size_t)(rows * n * per * side * side) * sizeof *m->val);
  for (int64_t q = 0; q < blocks; q++)
    for (int64_t k = poiseCsrOffset(&m->F->A, i * blocks + q);
         k < poiseCsrOffset(&m->F->A, i * blocks + q + 1); k++) {
      int32_t a = m->p->aggregate[m->F->A.col[k] / blocks];
      if (a >= 0) AddBlock(m, i, Find(m->pattern, first, n, per, a), q, k);
    }
  for (int64_t e = 0; m->F && e < n * modes; e++) ScaleColumn(m, i, e / modes, e % modes);
  if (m->p->aggregate[i] < 0) return;
  int64_t own = Find(m->pattern, first, n, per, m->p->aggregate[i]);
  for (int64_t e = 0; e < m->p->node * modes; e++)
    *Number(m, i, own, e / modes, e % modes) += m->p->q[i * m->p->node * modes + e];
}

static void Smooth(const void *args, int64_t begin, int64_t end)
{
  const Making *m = args;
  if (m->p->node == 1 && m->p->modes == 1)
    SmoothScalars(m, begin, end);
  else
    for (int64_t i = begin; i < end; i++) SmoothNode(m, i);
}

void poiseAmgSmooth(PoiseContext ctx, const AmgInterpolation *p, const AmgMatrix *F, const double *d,
                    double omega, const CsrView *pattern, double *val)
{
  Making m = {.p = p, .F = F, .d = d, .omega = omega, .pattern = pattern, .val = val};
  poiseAmgForRows(ctx->device, p->nodes, Smooth, &m);
}
