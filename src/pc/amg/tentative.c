/* SPDX-License-Identifier: BSD-3-Clause */
/* The near null space by aggregates: Gram and Schmidt's orthogonalisation, twice, in each of them. */
#include "amg.h"

typedef struct Tentative {
  const AmgModes *fine;
  int node;
  int64_t aggregates;
  const int32_t *aggregate;
  int64_t *start;  /* [aggregates + 2]: aggregate a is member[start[a]] to member[start[a + 1] - 1] */
  int32_t *member; /* nodes by aggregates */
  double *q, *r;   /* r: a matrix of modes x modes for each aggregate, row by row */
} Tentative;

/* start[a + 1] is first where aggregate a begins; when its nodes are placed, where it ends. */
static void ListMembers(Tentative *t, int64_t nodes)
{
  for (int64_t i = 0; i < nodes; i++)
    if (t->aggregate[i] >= 0) t->start[t->aggregate[i] + 2]++;
  for (int64_t a = 2; a < t->aggregates + 2; a++) t->start[a] += t->start[a - 1];
  for (int64_t i = 0; i < nodes; i++)
    if (t->aggregate[i] >= 0) t->member[t->start[t->aggregate[i] + 1]++] = (int32_t)i;
}

/* (q_j, q_k) over the rows of an aggregate. */
static double Dot(const Tentative *t, const int32_t *member, int64_t members, int j, int k)
{
  int64_t width = t->fine->count;
  double s = 0;
  for (int64_t m = 0; m < members; m++)
    for (int64_t row = (int64_t)member[m] * t->node, c = 0; c < t->node; c++)
      s += t->q[(row + c) * width + j] * t->q[(row + c) * width + k];
  return s;
}

/* q_j = scale q_j - by q_k */
static void Update(const Tentative *t, const int32_t *member, int64_t members, int j, double scale, int k,
                   double by)
{
  int64_t width = t->fine->count;
  for (int64_t m = 0; m < members; m++)
    for (int64_t row = (int64_t)member[m] * t->node, c = 0; c < t->node; c++) {
      double *v = t->q + (row + c) * width;
      v[j] = scale * v[j] - by * v[k];
    }
}

static void Orthonormalise(const Tentative *t, const int32_t *member, int64_t members, double *r)
{
  const double depends = 1e-10;
  int width = t->fine->count;
  for (int j = 0; j < width; j++) {
    double before = sqrt(Dot(t, member, members, j, j));
    for (int pass = 0; pass < 2; pass++)
      for (int k = 0; k < j; k++) {
        double by = Dot(t, member, members, j, k);
        Update(t, member, members, j, 1, k, by);
        r[k * width + j] += by;
      }
    double size = sqrt(Dot(t, member, members, j, j));
    bool zero = size <= depends * before;
    r[j * width + j] = zero ? 0 : size;
    Update(t, member, members, j, zero ? 0 : 1 / size, 0, 0);
  }
}

static void Aggregates(const void *args, int64_t begin, int64_t end)
{
  const Tentative *t = args;
  int64_t size = (int64_t)t->fine->count * t->fine->count;
  for (int64_t a = begin; a < end; a++)
    Orthonormalise(t, t->member + t->start[a], t->start[a + 1] - t->start[a], t->r + a * size);
}

static void CopyRows(const void *args, int64_t begin, int64_t end)
{
  const Tentative *t = args;
  int64_t width = (int64_t)t->node * t->fine->count;
  for (int64_t i = begin; i < end; i++)
    for (int64_t k = i * width; k < (i + 1) * width; k++) t->q[k] = t->aggregate[i] < 0 ? 0 : t->fine->b[k];
}

static PoiseErr Run(PoiseContext ctx, Tentative *t, AmgModes *coarse)
{
  int64_t nodes = t->fine->n / t->node, width = t->fine->count;
  TRY(poiseAllocArray(ctx, t->aggregates + 2, sizeof *t->start, "aggregates", &t->start));
  TRY(poiseAllocArray(ctx, nodes, sizeof *t->member, "nodes of aggregates", &t->member));
  TRY(poiseAllocArray(ctx, t->aggregates * width * width, sizeof *coarse->b, "coarse near null space",
                      &coarse->b));
  coarse->count = (int)width;
  coarse->n = t->aggregates * width;
  t->r = coarse->b;
  ListMembers(t, nodes);
  poiseAmgForRows(ctx->device, nodes, CopyRows, t);
  poiseAmgForRows(ctx->device, t->aggregates, Aggregates, t);
  return POISE_OK;
}

PoiseErr poiseAmgTentative(PoiseContext ctx, const AmgModes *fine, int node, int64_t aggregates,
                           const int32_t *aggregate, double *q, AmgModes *coarse)
{
  Tentative t = {.fine = fine, .node = node, .aggregates = aggregates, .aggregate = aggregate, .q = q};
  PoiseErr e = Run(ctx, &t, coarse);
  poiseFree(ctx, &t.start);
  poiseFree(ctx, &t.member);
  return e;
}
