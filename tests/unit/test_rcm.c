/* SPDX-License-Identifier: BSD-3-Clause */
/* Reverse Cuthill-McKee on graphs with wide levels, hubs and many parts: an order is judged by what defines
   it, and is the same for any number of threads. Matrices in that order, with rows of any length. */
#include "mat/order/graph.h"
#include "problem.h"

enum { NODES = 20000, DRAWS = 3, HUBS = 2, THREADS = 4, TIMES = 10 /* that threads race */ };
enum { RANDOM, TWO_HUBS, FOREST, ONE_WAY, TWICE, CONTESTED, MANY_KINDS, KINDS };
static const int threads[THREADS] = {1, 2, 3, 7};

static int32_t Draw(uint64_t seed, int64_t k, int32_t n)
{
  return (int32_t)((0.5 + 0.5 * TestRandom(seed, (uint64_t)k)) * 0.999999 * n);
}

/* A chain: tail, P and p, H and 5000 c, 5000 d, and the mirror image of all before d. H comes before any c,
   and takes long for its neighbours, which are all d. So threads that begin with the c find each d first. */
static int32_t Contested(int32_t i, int k)
{
  enum { WIDE = 5000, C = 100, D = C + 2 * WIDE, TAILS = D + WIDE, TAIL = 40 };
  int32_t half = i < C + WIDE ? 0 : 1, wide = C + half * WIDE, tail = TAILS + half * TAIL;
  if (i < 6) { /* P, p, H of both halves */
    half = i % 2, tail = TAILS + half * TAIL;
    return i < 4 ? (k == 0 ? tail : k == 1 && i < 2 ? 4 + half : i) : i;
  }
  if (i >= C && i < D) return k == 0 ? 2 + half : k == 1 ? D + i - wide : i;
  if (i >= D && i < TAILS) return k < 2 ? 4 + k : i;
  if (i >= TAILS && i < TAILS + 2 * TAIL) return (i + 1 - TAILS) % TAIL && k == 0 ? i + 1 : i;
  return i;
}

/* Neighbour k of node i, as the pattern of a matrix may have it; -1: none. Some stand there twice, or are i
   itself. */
static int32_t Neighbour(int kind, int32_t i, int k)
{
  int32_t any = Draw(11, (int64_t)i * DRAWS + k, NODES);
  switch (kind) {
  case RANDOM: /* few wide levels */
    return any;
  case TWO_HUBS: /* that know every second and every third node */
    return k < HUBS && i % (k + 2) == 0 ? k * (NODES - 1) : any % 97 ? i : any;
  case FOREST: /* small trees, and nodes that stand alone */
    return i % 50 ? i - 1 - Draw(12, i, i % 50) : i;
  case ONE_WAY: /* a strip 2000 wide, ascending: levels of 2000 nodes, from its left end to its right */
    return k == 0 ? (i % 2000 ? i - 1 : -1) : k == 1 ? i : i + 2000 < NODES ? i + 2000 : -1;
  case TWICE: /* a ring; (i, j) stands there twice where (j, i) does */
    return k < 2 ? (i + NODES + 1 - 2 * k) % NODES : i ^ 1;
  case CONTESTED:
    return Contested(i, k);
  default: /* a part of each of the first four */
    return any % 4 == 0 ? i : (i / 5000) * 5000 + abs(Neighbour((i / 5000) % 4, i, k)) % 5000;
  }
}

static int Make(PoiseContext ctx, int kind, Adjacency *g)
{
  *g = (Adjacency){.n = NODES};
  if (!CHECK_OK(poiseAllocArray(ctx, NODES + 1, sizeof *g->start, "test", &g->start))) return 0;
  if (!CHECK_OK(poiseAllocArray(ctx, NODES * DRAWS, sizeof *g->adj, "test", &g->adj))) return 0;
  for (int32_t i = 0; i < NODES; i++) {
    g->start[i + 1] = g->start[i];
    for (int k = 0; k < DRAWS; k++)
      if (Neighbour(kind, i, k) >= 0) g->adj[g->start[i + 1]++] = Neighbour(kind, i, k);
  }
  return 1;
}

/* g is what a pattern stands for: (i, j) and (j, i) once each, ascending. */
static void CheckGraph(const Adjacency *g, int kind)
{
  int64_t edges = 0, known = 0;
  for (int32_t i = 0; i < NODES; i++)
    for (int64_t e = g->start[i]; e < g->start[i + 1]; e++) {
      int32_t j = g->adj[e], known_here = 0;
      CHECK(j != i && (e == g->start[i] || g->adj[e - 1] < j));
      for (int k = 0; k < DRAWS; k++) known_here += Neighbour(kind, i, k) == j || Neighbour(kind, j, k) == i;
      known += known_here > 0;
      edges++;
    }
  CHECK_INT(known, edges); /* nothing else */
  for (int32_t i = 0; i < NODES; i++)
    for (int k = 0; k < DRAWS; k++) {
      int32_t j = Neighbour(kind, i, k);
      if (j < 0) continue;
      int64_t here = g->start[i], there = g->start[j];
      while (here < g->start[i + 1] && g->adj[here] != j) here++;
      while (there < g->start[j + 1] && g->adj[there] != i) there++;
      CHECK(i == j || (here < g->start[i + 1] && there < g->start[j + 1]));
    }
}

/* Every node but the first of a part was reached from its first neighbour in the order, nodes that were
   reached from one node have ascending degrees, and of equal degrees ascending numbers. */
static void CheckOrder(const Adjacency *g, const int32_t *order)
{
  int32_t *at = malloc(NODES * sizeof *at);
  int64_t before = -1;
  for (int32_t i = 0; i < NODES; i++) at[i] = -1;
  for (int32_t k = 0; k < NODES; k++) at[order[NODES - 1 - k]] = k; /* as it was walked */
  for (int32_t i = 0; i < NODES; i++)
    if (!CHECK(at[i] >= 0)) goto end;
  for (int32_t k = 0; k < NODES; k++) {
    int32_t i = order[NODES - 1 - k], left = k ? order[NODES - k] : -1;
    int64_t parent = NODES, degree = g->start[i + 1] - g->start[i];
    for (int64_t e = g->start[i]; e < g->start[i + 1]; e++)
      if (at[g->adj[e]] < parent) parent = at[g->adj[e]];
    if (parent >= k) { /* the first of a part, which nothing before it knows */
      before = k - 1;
      continue;
    }
    if (!CHECK(parent >= before)) break;
    if (parent == before && left >= 0 && k - 1 > parent) {
      int64_t other = g->start[left + 1] - g->start[left];
      CHECK(other < degree || (other == degree && left < i));
    }
    before = parent;
  }
end:
  free(at);
}

static void TestOrders(PoiseContext ctx)
{
  int mine = ctx->device->threads;
  int32_t *order[THREADS];
  for (int t = 0; t < THREADS; t++) order[t] = malloc(NODES * sizeof *order[t]);
  for (int kind = 0; kind < KINDS; kind++) {
    Adjacency g = {0}, pattern = {0};
    for (int t = 0; t < THREADS; t++) {
      ctx->device->threads = threads[t];
      if (!Make(ctx, kind, &pattern)) break;
      if (t == 1 && CHECK_OK(poiseGraphForOrder(ctx, &pattern, &g))) CheckGraph(&g, kind);
      if (t == 1 && !Make(ctx, kind, &pattern)) break;
      CHECK_OK(poiseReverseCuthillMcKee(ctx, &pattern, order[t]));
      CHECK(!pattern.start && !pattern.adj);
      CHECK(!memcmp(order[t], order[0], NODES * sizeof *order[t]));
    }
    for (int k = 0; k < TIMES && kind == CONTESTED && Make(ctx, kind, &pattern); k++) {
      CHECK_OK(poiseReverseCuthillMcKee(ctx, &pattern, order[1]));
      CHECK(!memcmp(order[1], order[0], NODES * sizeof *order[1]));
    }
    if (g.n) CheckOrder(&g, order[0]);
    /* the graph itself has the same order */
    CHECK_OK(poiseReverseCuthillMcKee(ctx, &g, order[1]));
    CHECK(!memcmp(order[1], order[0], NODES * sizeof *order[1]));
  }
  for (int t = 0; t < THREADS; t++) free(order[t]);
  ctx->device->threads = mine;
}

/* ---- matrices -------------------------------------------------------------------------------- */

enum { ROWS = 9000, FULL = 4500 /* a row longer than threads sort by themselves */ };

static double Value(PoiseInt i, PoiseInt j)
{
  return TestRandom(7, (uint64_t)(i * ROWS + j));
}

/* This rank's rows: three full ones, some of 100 entries, and others of three. */
static PoiseMat Wide(PoiseContext ctx)
{
  PoiseInt begin, n, nz = 0;
  PoiseMat A = NULL;
  PoiseSplit(ctx, ROWS, &begin, &n);
  int64_t *ptr = calloc((size_t)n + 1, sizeof *ptr), *col = malloc((size_t)(n * 16 + 3 * ROWS) * sizeof *col);
  double *val = malloc((size_t)(n * 16 + 3 * ROWS) * sizeof *val);
  for (PoiseInt i = begin; i < begin + n; i++) {
    PoiseInt step = i % FULL == 7 || i == 100 ? 1 : i % 13 ? 2971 : 89;
    for (PoiseInt j = step == 1 ? 0 : i % step; j < ROWS && nz < n * 16 + 3 * ROWS; j += step) {
      col[nz] = j;
      val[nz++] = Value(i, j);
    }
    ptr[i - begin + 1] = nz;
  }
  PoiseCSR csr = {.ptr64 = ptr, .col64 = col, .val = val};
  CHECK_OK(PoiseMatCreateCSR(ctx, n, n, ROWS, ROWS, &csr, POISE_COPY, &A));
  free(ptr);
  free(col);
  free(val);
  return A;
}

/* B's entries are A's, bit for bit; old: numbers that B's rows have in A. */
static void CheckEntries(PoiseMat A, PoiseMat B, const double *old)
{
  const PoiseInt *cols;
  const double *v;
  PoiseInt n, count, expected;
  for (PoiseInt i = B->rows->begin; i < B->rows->begin + B->rows->n; i++) {
    PoiseInt row = (PoiseInt)old[i];
    CHECK_OK(PoiseMatGetRow(A, row, &expected, &cols, &v));
    if (!CHECK_OK(PoiseMatGetRow(B, i, &count, &cols, &v)) || !CHECK_INT(count, expected)) return;
    for (n = 0; n < count; n++) {
      if (n && !CHECK(cols[n] > cols[n - 1])) return;
      if (!CHECK(SampleBits(v[n]) == SampleBits(Value(row, (PoiseInt)old[cols[n]])))) return;
    }
  }
}

static void TestLongRows(PoiseContext ctx)
{
  int mine = ctx->device->threads;
  double *old = malloc(ROWS * sizeof *old);
  uint64_t digest = 0;
  PoiseMat A = Wide(ctx);
  CHECK_OK(PoiseMatSetOrder(A, POISE_ORDER_RCM));
  for (int t = 0; A && t < THREADS; t += THREADS - 1) {
    const PoiseInt *cols;
    const double *v;
    PoiseInt count;
    PoiseMat B = NULL, P = NULL;
    PoiseVec x, y;
    ctx->device->threads = threads[t];
    if (!CHECK_OK(PoiseMatRearrange(A, &B, &P))) break;
    for (PoiseInt i = 0; i < ROWS; i++) old[i] = 0;
    for (PoiseInt i = B->rows->begin; i < B->rows->begin + B->rows->n; i++)
      if (CHECK_OK(PoiseMatGetRow(P, i, &count, &cols, &v))) old[i] = (double)cols[0];
    CHECK_OK(PoiseSum(ctx, ROWS, old));
    CheckEntries(A, B, old);
    CHECK_OK(PoiseMatCreateVecs(B, &x, &y));
    SampleFill(x, 3);
    CHECK_OK(PoiseMatMult(B, x, y));
    CHECK(!t || SampleDigest(y) == digest);
    digest = SampleDigest(y);
    CHECK_OK(PoiseVecDestroy(&x));
    CHECK_OK(PoiseVecDestroy(&y));
    CHECK_OK(PoiseMatDestroy(&B));
    CHECK_OK(PoiseMatDestroy(&P));
  }
  CHECK_OK(PoiseMatDestroy(&A));
  ctx->device->threads = mine;
  free(old);
}

static const Test tests[] = {
    {"orders", TestOrders, TEST_SERIAL | TEST_HOST_ONLY},
    {"long_rows", TestLongRows, 0},
    {NULL, NULL, 0},
};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "rcm", tests);
}
