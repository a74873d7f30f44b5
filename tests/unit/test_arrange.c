/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrices in another layout and numbering, compared with the entries they came from; solves, compared
   with solves without it. */
#include <stdio.h>

#include "files.h"
#include "ksp/reordered.h"
#include "mat/order/arrange.h"
#include "mat/order/graph.h"
#include "problem.h"

/* ---- matrices that are functions of the global row and column -------------------------------- */

enum { BAND, LATTICE, ARROW, PARTS, ONE_SIDED, DIAGONAL, EMPTY, NKINDS };
enum { N = 78 }; /* a multiple of 2, 3 and 6 */

#ifdef POISE_HAVE_METIS
enum { NPARTITIONS = POISE_PARTITION_GRAPH + 1 };
#else
enum { NPARTITIONS = POISE_PARTITION_GRAPH };
#endif

/* Where row i of a well-ordered matrix stands in a shuffled one: prime to 78 and 80. */
static PoiseInt Shuffled(PoiseInt i, PoiseInt n)
{
  return (37 * i + 11) % n;
}

static PoiseInt Unshuffled(PoiseInt i, PoiseInt n)
{
  PoiseInt k = 0;
  while (Shuffled(k, n) != i) k++;
  return k;
}

static bool Stored(int kind, PoiseInt n, PoiseInt i, PoiseInt j)
{
  PoiseInt p, q, wide = 13;
  switch (kind) {
  case BAND: /* of half width 2, shuffled */
    return llabs((long long)(Unshuffled(i, n) - Unshuffled(j, n))) <= 2;
  case LATTICE: /* 13 wide, five points, shuffled */
    p = Unshuffled(i, n), q = Unshuffled(j, n);
    if (p > q) return Stored(kind, n, j, i);
    return p == q || q == p + wide || (q == p + 1 && q % wide);
  case ARROW: /* a dense row and column, larger than any share */
    return i == j || i == 40 || j == 40;
  case PARTS: /* rings of 6, but the last 18 nodes stand alone */
    return i == j || (i / 6 == j / 6 && i < n - 18 && ((i + 1) % 6 == j % 6 || (j + 1) % 6 == i % 6));
  case ONE_SIDED:
    return i == j || TestRandom(3, (uint64_t)(i * n + j)) > 0.85;
  case DIAGONAL:
    return i == j;
  default:
    return false;
  }
}

static double Value(int kind, PoiseInt n, PoiseInt i, PoiseInt j)
{
  double v = TestRandom(5, (uint64_t)(i < j ? i * n + j : j * n + i)); /* symmetric where the pattern is */
  if (kind == ONE_SIDED) v = TestRandom(6, (uint64_t)(i * n + j));
  return i == j ? 8 + v : kind == ARROW ? 0.05 * v : v;
}

static PoiseInt Local(PoiseContext ctx, int layout, PoiseInt nodes)
{
  PoiseInt begin, n = SampleLocal(ctx, layout, nodes);
  if (n == POISE_DECIDE) PoiseSplit(ctx, nodes, &begin, &n);
  return n;
}

static void Fill(PoiseMat A, int kind)
{
  PoiseInt n, begin = A->rows->begin, end = begin + A->rows->n;
  PoiseMatSizes(A, &n, NULL);
  for (PoiseInt i = begin; i < end; i++)
    for (PoiseInt j = 0; j < n; j++) {
      double v = Value(kind, n, i, j);
      if (Stored(kind, n, i, j)) CHECK_OK(PoiseMatSetEntries(A, 1, &i, &j, &v));
    }
  CHECK_OK(PoiseMatAssemble(A));
}

static PoiseMat Matrix(PoiseContext ctx, int kind, PoiseInt n, int layout, int b)
{
  PoiseMat A;
  PoiseInt m = Local(ctx, layout, n / b) * b;
  if (!CHECK_OK(PoiseMatCreate(ctx, m, m, n, n, &A))) return NULL;
  CHECK_OK(PoiseMatSetBlockSize(A, b));
  Fill(A, kind);
  return A;
}

static void Ask(PoiseMat A, int partition, int order)
{
  CHECK_OK(PoiseMatSetPartition(A, (PoisePartition)partition));
  CHECK_OK(PoiseMatSetOrder(A, (PoiseOrder)order));
}

/* ---- rearranged matrices --------------------------------------------------------------------- */

/* old[k]: the number that row k of B had, as P says, on all ranks: each once. */
static int Numbers(PoiseMat P, PoiseInt *old, PoiseInt n)
{
  double v[N + 2] = {0}, times[N + 2] = {0};
  const PoiseInt *cols;
  const double *ones;
  PoiseInt count;
  for (PoiseInt i = P->rows->begin; i < P->rows->begin + P->rows->n; i++) {
    if (!CHECK_OK(PoiseMatGetRow(P, i, &count, &cols, &ones)) || !CHECK_INT(count, 1)) return 0;
    CHECK(ones[0] == 1);
    v[i] = (double)cols[0];
    times[cols[0]]++;
  }
  CHECK_OK(PoiseSum(P->ctx, (int)n, v));
  CHECK_OK(PoiseSum(P->ctx, (int)n, times));
  for (PoiseInt i = 0; i < n; i++) {
    old[i] = (PoiseInt)v[i];
    if (!CHECK(times[i] == 1)) return 0;
  }
  return 1;
}

/* B's entries are those of the kind, and no others, bit for bit. */
static void CheckEntries(PoiseMat B, int kind, PoiseInt n, const PoiseInt *old)
{
  const PoiseInt *cols;
  const double *v;
  PoiseInt count;
  for (PoiseInt i = B->rows->begin; i < B->rows->begin + B->rows->n; i++) {
    PoiseInt expected = 0;
    if (!CHECK_OK(PoiseMatGetRow(B, i, &count, &cols, &v))) return;
    for (PoiseInt j = 0; j < n; j++) expected += Stored(kind, n, old[i], old[j]);
    CHECK_INT(count, expected);
    for (PoiseInt k = 0; k < count; k++)
      if (!CHECK(Stored(kind, n, old[i], old[cols[k]])) ||
          !CHECK(SampleBits(v[k]) == SampleBits(Value(kind, n, old[i], old[cols[k]]))))
        return;
  }
}

/* Each rank is within the heaviest node of an equal share. */
static void CheckShares(PoiseMat A, PoiseMat B, int bytes)
{
  double nonzero = bytes ? 12 : 1, row = bytes ? 20 : 0, heaviest = 0, total, mine;
  const PoiseInt *cols;
  PoiseInt count, begin = A->rows->begin;
  int b = PoiseMatBlockSize(A);
  for (PoiseInt i = 0; i < A->rows->n; i += b) {
    double w = 0;
    for (PoiseInt k = i; k < i + b; k++) {
      CHECK_OK(PoiseMatGetRow(A, begin + k, &count, &cols, NULL));
      w += nonzero * (double)count + row;
    }
    heaviest = fmax(heaviest, w);
  }
  CHECK_OK(PoiseMax(A->ctx, 1, &heaviest));
  total = mine = nonzero * (double)B->csr.nz + row * (double)B->csr.m;
  CHECK_OK(PoiseSum(A->ctx, 1, &total));
  CHECK(fabs(mine - total / PoiseSize(A->ctx)) <= heaviest);
}

static void CheckVectorsMove(PoiseMat A, PoiseMat P, PoiseMat B, const PoiseInt *old)
{
  PoiseVec x, y, back;
  const double *p;
  CHECK_OK(PoiseMatCreateVecs(A, &x, &back));
  CHECK_OK(PoiseMatCreateVecs(B, &y, NULL));
  SampleFill(x, 9);
  CHECK_OK(PoiseMatMult(P, x, y));
  CHECK_OK(PoiseVecGetRead(y, &p));
  for (PoiseInt i = 0; i < PoiseVecLocalSize(y); i++)
    CHECK(SampleBits(p[i]) == SampleBits(TestRandom(9, (uint64_t)old[B->rows->begin + i])));
  CHECK_OK(PoiseVecRestore(y, &p));
  CHECK_OK(PoiseMatMultTranspose(P, y, back));
  CHECK(SampleDigest(x) == SampleDigest(back));
  CHECK_OK(PoiseVecDestroy(&x));
  CHECK_OK(PoiseVecDestroy(&y));
  CHECK_OK(PoiseVecDestroy(&back));
}

static void Rearranging(PoiseContext ctx, int kind, PoiseInt n, int layout, int b, int partition, int order)
{
  PoiseMat A = Matrix(ctx, kind, n, layout, b), B, P;
  PoiseInt old[N + 2];
  if (!A) return;
  Ask(A, partition, order);
  if (CHECK_OK(PoiseMatRearrange(A, &B, &P)) && Numbers(P, old, n)) {
    CheckEntries(B, kind, n, old);
    CHECK_INT(PoiseMatBlockSize(B), b);
    for (PoiseInt i = 0; i < n; i++) CHECK_INT(old[i], old[i - i % b] + i % b);
    for (PoiseInt i = B->rows->begin; order == POISE_ORDER_NATURAL && i < B->rows->begin + B->rows->n; i++) {
      if (partition != POISE_PARTITION_GRAPH) CHECK_INT(old[i], i);
      CHECK(i == B->rows->begin || old[i] > old[i - 1]);
    }
    if (partition == POISE_PARTITION_ROWS) CHECK(poiseLayoutSame(A->rows, B->rows));
    if (partition == POISE_PARTITION_NONZEROS || partition == POISE_PARTITION_BYTES)
      CheckShares(A, B, partition == POISE_PARTITION_BYTES);
    CheckVectorsMove(A, P, B, old);
  }
  CHECK_OK(PoiseMatDestroy(&B));
  CHECK_OK(PoiseMatDestroy(&P));
  CHECK_OK(PoiseMatDestroy(&A));
}

static void TestEntries(PoiseContext ctx)
{
  for (int kind = 0; kind < NKINDS; kind++)
    for (int partition = 0; partition < NPARTITIONS; partition++)
      for (int order = 0; order < 2; order++) {
        Rearranging(ctx, kind, N, (kind + partition) % NLAYOUTS, 1, partition, order);
        Rearranging(ctx, kind, N, (kind + order) % NLAYOUTS, kind % 2 ? 3 : 2, partition, order);
        if (kind < 2) Rearranging(ctx, kind, kind, UNEVEN, 1, partition, order); /* 0 x 0 and 1 x 1 */
        if (kind < 2) Rearranging(ctx, kind, 4, EVEN, 1, partition, order);      /* fewer rows than ranks */
      }
}

/* A matrix of nothing but empty rows, and one whose only row takes more than any share. */
static void TestShares(PoiseContext ctx)
{
  int size = PoiseSize(ctx);
  PoiseMat A = Matrix(ctx, EMPTY, N, LAST, 1), B;
  PoiseInt most, n;
  Ask(A, POISE_PARTITION_NONZEROS, 0);
  if (CHECK_OK(PoiseMatRearrange(A, &B, NULL))) {
    PoiseMatLocalSizes(B, &n, NULL);
    most = N / size + 1;
    CHECK(n >= N / size - 1 && n <= most + 1);
    CHECK_OK(PoiseMatDestroy(&B));
  }
  CHECK_OK(PoiseMatDestroy(&A));
  A = Matrix(ctx, ARROW, N, UNEVEN, 1); /* 3 N - 2 nonzeros, N of them in row 40 */
  Ask(A, POISE_PARTITION_NONZEROS, 0);
  if (CHECK_OK(PoiseMatRearrange(A, &B, NULL))) {
    double nz = (double)B->csr.nz;
    CHECK_OK(PoiseMax(ctx, 1, &nz));
    CHECK(nz <= (3.0 * N - 2) / size + N);
    CHECK_OK(PoiseMatDestroy(&B));
  }
  CHECK_OK(PoiseMatDestroy(&A));
}

/* ---- order ----------------------------------------------------------------------------------- */

static double WidthInOrder(PoiseContext ctx, int kind, PoiseInt n, double *before)
{
  PoiseMat A = Matrix(ctx, kind, n, EVEN, 1), B;
  MatShape shape = {0};
  Ask(A, POISE_PARTITION_ROWS, POISE_ORDER_RCM);
  CHECK_OK(poiseMatShape(A, &shape));
  *before = shape.bandwidth;
  if (CHECK_OK(PoiseMatRearrange(A, &B, NULL))) {
    CHECK_OK(poiseMatShape(B, &shape));
    CHECK_OK(PoiseMatDestroy(&B));
  }
  CHECK_OK(PoiseMatDestroy(&A));
  return shape.bandwidth;
}

static void TestBandwidth(PoiseContext ctx)
{
  double before, width = WidthInOrder(ctx, BAND, N, &before);
  CHECK(width <= before);
  if (PoiseSize(ctx) == 1) {
    CHECK(before > 30);
    CHECK(width <= 4);                              /* levels of two nodes each */
    width = WidthInOrder(ctx, LATTICE, N, &before); /* 13 x 6 */
    CHECK(before > 30);
    CHECK(width <= 7);
    CHECK(WidthInOrder(ctx, PARTS, N, &before) <= 2); /* a ring folds */
  }
  CHECK(WidthInOrder(ctx, DIAGONAL, N, &before) == 0);
  CHECK(WidthInOrder(ctx, EMPTY, N, &before) == 0);
  CHECK(WidthInOrder(ctx, ONE_SIDED, N, &before) <= before);
}

/* A shuffled path becomes a path; the pattern has each edge on one side only. */
static void TestPath(PoiseContext ctx)
{
  enum { NODES = 1001 };
  Adjacency g = {.n = NODES};
  int32_t order[NODES], at[NODES];
  if (!CHECK_OK(poiseAllocArray(ctx, NODES + 1, sizeof(int64_t), "test", &g.start)) ||
      !CHECK_OK(poiseAllocArray(ctx, NODES, sizeof(int32_t), "test", &g.adj)))
    return;
  for (int i = 0; i < NODES; i++) { /* node 10 k follows node 10 (k - 1), all mod 1001, from 0 on */
    g.start[i + 1] = g.start[i] + 1;
    g.adj[i] = (i + 10) % NODES == 0 ? i : (i + 10) % NODES; /* the last has a loop */
  }
  if (!CHECK_OK(poiseReverseCuthillMcKee(ctx, &g, order))) return;
  CHECK(!g.start && !g.adj);
  for (int k = 0; k < NODES; k++) at[k] = -1;
  for (int k = 0; k < NODES; k++) at[order[k]] = k;
  for (int i = 0; i < NODES; i++) {
    CHECK(at[i] >= 0);
    if ((i + 10) % NODES) CHECK_INT(abs(at[i] - at[(i + 10) % NODES]), 1);
  }
}

/* A star is walked leaf, centre, other leaves; and the reverse of that is wanted, which fills in nothing when
   factored. */
static void TestStar(PoiseContext ctx)
{
  enum { LEAVES = 6, CENTRE = 2 };
  Adjacency g = {.n = LEAVES + 1};
  int32_t order[LEAVES + 1];
  if (!CHECK_OK(poiseAllocArray(ctx, LEAVES + 2, sizeof(int64_t), "test", &g.start)) ||
      !CHECK_OK(poiseAllocArray(ctx, LEAVES + 1, sizeof(int32_t), "test", &g.adj)))
    return;
  for (int i = 0; i <= LEAVES; i++) g.start[i + 1] = i + 1, g.adj[i] = CENTRE;
  if (CHECK_OK(poiseReverseCuthillMcKee(ctx, &g, order))) CHECK_INT(order[LEAVES - 1], CENTRE);
}

/* ---- solves ---------------------------------------------------------------------------------- */

static int OpenLaid(PoiseContext ctx, int kind, int layout, int b, const char *type, const char *pc,
                    Problem *s)
{
  if (!ProblemOpen(Matrix(ctx, kind, N, layout, b), s)) return 0;
  SampleFill(s->exact, 2);
  CHECK_OK(PoiseMatMult(s->A, s->exact, s->b));
  CHECK_OK(PoiseKSPSetType(s->ksp, type));
  CHECK_OK(PoiseKSPGetPC(s->ksp, &s->pc));
  CHECK_OK(PoisePCSetType(s->pc, pc));
  CHECK_OK(PoiseKSPKeepHistory(s->ksp, 1));
  return CHECK_OK(PoiseKSPSetTolerances(s->ksp, 1e-11, -1, -1, 500));
}

static int Open(PoiseContext ctx, int kind, int b, const char *type, const char *pc, Problem *s)
{
  return OpenLaid(ctx, kind, UNEVEN, b, type, pc, s);
}

/* x = factor times what it was made from */
static void Solve(Problem *s, double factor)
{
  if (!CHECK_OK(PoiseKSPSolve(s->ksp, s->b, s->x))) return;
  CHECK(PoiseKSPConvergedReason(s->ksp) > 0);
  CHECK_NEAR(ProblemError(s, factor), 0, 1e-8 * NormOf(s->exact));
  CHECK_NEAR(ProblemResidual(s), 0, 1e-9 * NormOf(s->b));
}

static int64_t Allocations(PoiseContext ctx)
{
  return ctx->memory.calls;
}

/* A preconditioner of points makes the same iteration in any arrangement, so the same history to rounding. */
static void Solving(PoiseContext ctx, int kind, int b, const char *type, const char *pc, int partition,
                    int order)
{
  Problem s;
  double first[4] = {0};
  const double *norms;
  PoiseInt count;
  if (!Open(ctx, kind, b, type, pc, &s)) return;
  Solve(&s, 1);
  CHECK_OK(PoiseKSPHistory(s.ksp, &count, &norms));
  for (int k = 0; k < 4 && k < count; k++) first[k] = norms[k];
  Ask(s.A, partition, order);
  SampleConstant(s.x, NAN);
  Solve(&s, 1);
  CHECK_OK(PoiseKSPHistory(s.ksp, &count, &norms));
  for (int k = 0; strcmp(pc, "jacobi") == 0 && k < 4 && k < count; k++)
    CHECK_NEAR(norms[k], first[k], 1e-8 * first[0]);
  CHECK_OK(PoiseKSPSetInitialGuessNonzero(s.ksp, 1));
  CHECK_OK(PoiseVecScale(s.b, 2));
  CHECK_OK(PoiseVecAXPBY(s.x, 2, 0, s.exact));
  Solve(&s, 2);
  CHECK_INT(PoiseKSPIterations(s.ksp), 0); /* the guess was moved */
  CHECK_OK(PoiseVecScale(s.b, 0.5));
  CHECK_OK(PoiseKSPSetInitialGuessNonzero(s.ksp, 0));
  int64_t calls = Allocations(ctx);
  CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
  CHECK_INT(Allocations(ctx), calls);
  Ask(s.A, POISE_PARTITION_ROWS, POISE_ORDER_NATURAL);
  Solve(&s, 1);
  CHECK(s.ksp->A == s.A && !s.ksp->arranged);
  ProblemClose(&s);
}

static void TestSolves(PoiseContext ctx)
{
  for (int partition = 0; partition < NPARTITIONS; partition++)
    for (int order = 0; order < 2; order++) {
      Solving(ctx, LATTICE, 1, "cg", "jacobi", partition, order);
      Solving(ctx, BAND, 3, "cg", "pbjacobi", partition, order);
      Solving(ctx, LATTICE, 1, "cg", "icc", partition, order);
      Solving(ctx, ONE_SIDED, 1, "gmres", "ilu", partition, order);
      Solving(ctx, ARROW, 1, "bicgstab", "jacobi", partition, order);
      Solving(ctx, PARTS, 1, "minres", "jacobi", partition, order);
      Solving(ctx, BAND, 1, "chebyshev", "sor", partition, order);
    }
}

/* On a device that replays, one rank's loop is captured once, and kept when only values change. */
static void TestReplay(PoiseContext ctx)
{
  Problem s;
  if (!Open(ctx, BAND, 1, "cg", "jacobi", &s)) return;
  Ask(s.A, POISE_PARTITION_ROWS, POISE_ORDER_RCM);
  Solve(&s, 1);
  CHECK(s.ksp->A != s.A);
  CHECK(!ctx->device->ops->replay || !s.ksp->loop.eager);
  Graph *graph = s.ksp->loop.graph;
  CHECK(!ctx->device->ops->replay || graph);
  CHECK_OK(PoiseMatScale(s.A, 2));
  int64_t calls = Allocations(ctx);
  CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
  CHECK_INT(Allocations(ctx), calls);
  CHECK(s.ksp->loop.graph == graph);
  Solve(&s, 0.5);
  ProblemClose(&s);
}

/* ---- changes of the matrix ------------------------------------------------------------------- */

static void TestValues(PoiseContext ctx)
{
  Problem s;
  if (!Open(ctx, LATTICE, 3, "gmres", "ilu", &s)) return;
  Ask(s.A, NPARTITIONS - 1, POISE_ORDER_RCM);
  Solve(&s, 1);
  PoiseMat from = s.ksp->arranged->moves.from, B = s.ksp->A;
  CHECK_OK(PoiseMatScale(s.A, 4));
  CHECK_OK(PoiseKSPSetOperators(s.ksp, s.A, s.A)); /* as every time step does */
  Solve(&s, 0.25);
  CHECK(s.ksp->arranged->moves.from == from && s.ksp->A == B);
  PoiseInt row = 0, col = N / 2;
  double v = 0.5;
  CHECK_OK(PoiseMatAddEntries(s.A, 1, &row, &col, PoiseRank(ctx) ? &(double){0} : &v));
  CHECK_OK(PoiseMatAddEntries(s.A, 1, &col, &row, PoiseRank(ctx) ? &(double){0} : &v));
  CHECK_ERR(PoiseKSPSolve(s.ksp, s.b, s.x), POISE_ERR_STATE, "PoiseMatAssemble");
  CHECK_OK(PoiseMatAssemble(s.A));
  CHECK_OK(PoiseMatMult(s.A, s.exact, s.b));
  Solve(&s, 1);
  CHECK_INT(s.ksp->arranged->A.seen.pattern, s.A->version.pattern);
  CHECK_OK(PoiseMatSetBlockSize(s.A, 1)); /* other nodes */
  Solve(&s, 1);
  CHECK_INT(PoiseMatBlockSize(s.ksp->A), 1);
  ProblemClose(&s);
}

/* A matrix set later has its own options; the kept preconditioner keeps the numbers that it knows. */
static void TestOtherMatrices(PoiseContext ctx)
{
  Problem s;
  if (!Open(ctx, LATTICE, 1, "cg", "icc", &s)) return;
  PoiseMat other = Matrix(ctx, BAND, N, EVEN, 1), like;
  PoiseVec b, x;
  Ask(s.A, POISE_PARTITION_BYTES, POISE_ORDER_RCM);
  Ask(other, POISE_PARTITION_NONZEROS, POISE_ORDER_RCM);
  Solve(&s, 1);
  CHECK_OK(PoiseKSPSetReusePreconditioner(s.ksp, 1));
  CHECK_OK(PoiseMatDuplicate(s.A, 1, &like));
  Ask(like, POISE_PARTITION_BYTES, POISE_ORDER_RCM);
  CHECK_OK(PoiseMatShift(like, 0.25));
  CHECK_OK(PoiseMatMult(like, s.exact, s.b));
  CHECK_OK(PoiseKSPSetOperators(s.ksp, like, NULL));
  int64_t builds = s.pc->builds;
  PoiseMat from = s.ksp->arranged->moves.from;
  Solve(&s, 1);
  CHECK_INT(s.pc->builds, builds);
  CHECK(s.ksp->arranged->moves.from == from);
  CHECK_OK(PoiseMatCreateVecs(other, &x, &b));
  CHECK_OK(PoiseVecSet(b, 1));
  CHECK_OK(PoiseKSPSetOperators(s.ksp, other, NULL));
  CHECK_OK(PoiseKSPSolve(s.ksp, b, x));
  CHECK(PoiseKSPConvergedReason(s.ksp) > 0);
  CHECK(s.pc->builds > builds || poiseLayoutSame(other->rows, s.A->rows));
  CHECK_OK(PoiseVecDestroy(&b));
  CHECK_OK(PoiseVecDestroy(&x));
  CHECK_OK(PoiseMatDestroy(&other));
  CHECK_OK(PoiseMatDestroy(&like));
  ProblemClose(&s);
}

/* New pattern: the numbers that a kept preconditioner knows last as long as it does. */
static void KeptNumbers(PoiseContext ctx, bool other_type)
{
  Problem s;
  PoiseKSP fresh;
  PoisePC pc;
  PoiseVec x;
  PoiseInt row = 0, col = N / 2;
  double v = 0.5;
  if (!Open(ctx, LATTICE, 1, "gmres", "ilu", &s)) return;
  Ask(s.A, POISE_PARTITION_BYTES, POISE_ORDER_RCM);
  Solve(&s, 1);
  CHECK_OK(PoiseKSPSetReusePreconditioner(s.ksp, 1));
  CHECK_OK(PoiseMatAddEntries(s.A, 1, &row, &col, PoiseRank(ctx) ? &(double){0} : &v));
  CHECK_OK(PoiseMatAssemble(s.A));
  CHECK_OK(PoiseMatMult(s.A, s.exact, s.b));
  PoiseMat from = s.ksp->arranged->moves.from;
  int64_t builds = s.pc->builds;
  Solve(&s, 1);
  Solve(&s, 1);
  CHECK(s.ksp->arranged->moves.from == from);
  CHECK_INT(s.pc->builds, builds);
  if (other_type)
    CHECK_OK(PoisePCSetType(s.pc, "jacobi"));
  else
    CHECK_OK(PoiseKSPSetReusePreconditioner(s.ksp, 0));
  Solve(&s, 1);
  CHECK_INT(s.pc->builds, builds + 1);
  CHECK_OK(PoiseVecDuplicate(s.x, &x));
  CHECK_OK(PoiseKSPCreate(ctx, &fresh));
  CHECK_OK(PoiseKSPSetFromOptions(fresh));
  CHECK_OK(PoiseKSPSetType(fresh, "gmres"));
  CHECK_OK(PoiseKSPGetPC(fresh, &pc));
  CHECK_OK(PoisePCSetType(pc, PoisePCType(s.pc)));
  CHECK_OK(PoiseKSPSetTolerances(fresh, s.ksp->options.rtol, -1, -1, -1));
  CHECK_OK(PoiseKSPSetOperators(fresh, s.A, NULL));
  CHECK_OK(PoiseKSPSolve(fresh, s.b, x));
  CHECK(SampleDigest(x) == SampleDigest(s.x));
  PoiseKSPDestroy(&fresh);
  PoiseVecDestroy(&x);
  ProblemClose(&s);
}

static void TestKeptNumbers(PoiseContext ctx)
{
  KeptNumbers(ctx, false);
  KeptNumbers(ctx, true);
}

/* Another matrix for the preconditioner is rearranged alike, and followed. */
static void TestPreconditionerMatrix(PoiseContext ctx)
{
  Problem s;
  double norm;
  if (!Open(ctx, ONE_SIDED, 1, "gmres", "ilu", &s)) return;
  PoiseMat P = Matrix(ctx, DIAGONAL, N, UNEVEN, 1);
  Ask(s.A, NPARTITIONS - 1, POISE_ORDER_RCM);
  CHECK_OK(PoiseKSPSetOperators(s.ksp, s.A, P));
  Solve(&s, 1);
  CHECK_INT(s.ksp->pc->P->rows->n, s.ksp->A->rows->n);
  CHECK(s.ksp->pc->P->csr.nz == s.ksp->pc->P->csr.m); /* P's entries, in A's arrangement */
  CHECK_OK(PoiseMatZeroEntries(P));
  CHECK_OK(PoiseMatShift(P, 11));
  Solve(&s, 1);
  CHECK_OK(PoiseMatNorm(s.ksp->pc->P, POISE_NORM_INF, &norm));
  CHECK_NEAR(norm, 11, 0);
  CHECK_OK(PoiseMatDestroy(&P));
  ProblemClose(&s);
}

/* A solver inside a preconditioner gets vectors of its matrix's layout: it arranges nothing, though that
   matrix asks for it. */
static void TestInside(PoiseContext ctx)
{
  static const char *const types[] = {"ilu", "bjacobi", "ksp"};
  Problem s;
  PoisePC pc;
  PoiseVec z[3];
  double norm;
  if (!Open(ctx, LATTICE, 1, "cg", "none", &s)) return;
  Ask(s.A, NPARTITIONS - 1, POISE_ORDER_RCM);
  CHECK_OK(PoiseOptionsSetString(ctx, "-ksp_ksp_type preonly -ksp_pc_type ilu"));
  for (int k = 0; k < 3; k++) {
    if (!CHECK_OK(PoiseVecDuplicate(s.b, &z[k])) || !CHECK_OK(PoisePCCreate(ctx, &pc))) return;
    CHECK_OK(PoisePCSetType(pc, types[k]));
    CHECK_OK(PoisePCSetOperator(pc, s.A));
    CHECK_OK(PoisePCSetFromOptions(pc));
    CHECK_OK(PoisePCApply(pc, s.b, z[k]));
    CHECK_OK(PoisePCDestroy(&pc));
  }
  for (int k = 1; k < 3; k++) {
    CHECK_OK(PoiseVecAXPY(z[k], -1, z[0]));
    CHECK_OK(PoiseVecNorm(z[k], POISE_NORM_INF, &norm));
    CHECK_NEAR(norm, 0, 0);
  }
  for (int k = 0; k < 3; k++) CHECK_OK(PoiseVecDestroy(&z[k]));
  ProblemClose(&s);
}

/* Nothing is copied where the matrix is so already. */
static void TestAlready(PoiseContext ctx)
{
  Problem s;
  if (!Open(ctx, LATTICE, 1, "cg", "jacobi", &s)) return;
  Ask(s.A, POISE_PARTITION_NONZEROS, POISE_ORDER_NATURAL);
  Solve(&s, 1);
  CHECK(s.ksp->arranged != NULL);
  CHECK((s.ksp->A == s.A) == (PoiseSize(ctx) == 1));
  CHECK_OK(PoiseMatScale(s.A, 2));
  Solve(&s, 0.5);
  ProblemClose(&s);
}

/* ---- null spaces ----------------------------------------------------------------------------- */

static void TestNullSpace(PoiseContext ctx)
{
  for (int partition = 0; partition < NPARTITIONS; partition++) {
    Problem s;
    PoiseVec v;
    double *p, dot;
    if (!Open(ctx, BAND, 1, "cg", "jacobi", &s)) return;
    CHECK_OK(PoiseVecDuplicate(
        s.x, &v)); /* A = the lattice's graph with weights s_i s_j: v_i = 1 / s_i is its null space */
    CHECK_OK(PoiseVecGetWrite(v, &p));
    for (PoiseInt i = 0; i < PoiseVecLocalSize(v); i++)
      p[i] = 1 / (1.5 + TestRandom(8, (uint64_t)(s.A->rows->begin + i)));
    CHECK_OK(PoiseVecRestore(v, &p));
    for (PoiseInt i = s.A->rows->begin; i < s.A->rows->begin + s.A->rows->n; i++) {
      double degree = 0, si = 1.5 + TestRandom(8, (uint64_t)i);
      for (PoiseInt j = 0; j < N; j++) {
        double w = i == j || !Stored(BAND, N, i, j) ? 0 : -si * (1.5 + TestRandom(8, (uint64_t)j));
        degree += w != 0;
        if (w != 0) CHECK_OK(PoiseMatSetEntries(s.A, 1, &i, &j, &w));
      }
      CHECK_OK(PoiseMatSetEntries(s.A, 1, &i, &i, &(double){degree * si * si}));
    }
    CHECK_OK(PoiseMatAssemble(s.A));
    CHECK_OK(PoiseVecNorm(v, POISE_NORM_2, &dot));
    CHECK_OK(PoiseVecScale(v, 1 / dot));
    CHECK_OK(PoiseVecDot(s.exact, v, &dot));
    CHECK_OK(PoiseVecAXPY(s.exact, -dot, v));
    CHECK_OK(PoiseMatMult(s.A, s.exact, s.b));
    CHECK_OK(PoiseMatSetNullSpace(s.A, 0, 1, &v));
    Ask(s.A, partition, POISE_ORDER_RCM);
    Solve(&s, 1);
    CHECK(PoiseKSPInconsistency(s.ksp) < 1e-12);
    CHECK_OK(PoiseVecAXPY(s.b, 1, v));
    CHECK_OK(PoiseVecNorm(s.b, POISE_NORM_2, &dot));
    CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
    CHECK_NEAR(PoiseKSPInconsistency(s.ksp), 1 / dot, 1e-10);
    CHECK_OK(PoiseMatSetNullSpace(s.A, 0, 0, NULL)); /* taken back: the copy follows */
    CHECK_OK(PoiseKSPSetUp(s.ksp));
    CHECK_INT(s.ksp->A->null.n, 0);
    CHECK_OK(PoiseVecDestroy(&v));
    ProblemClose(&s);
  }
}

/* ---- what a solve tells ---------------------------------------------------------------------- */

static PoiseErr Count(PoiseKSP ksp, PoiseInt iteration, double norm, void *arg)
{
  (void)ksp, (void)iteration, (void)norm;
  ++*(int *)arg;
  return POISE_OK;
}

/* Text that rank 0 printed, to all of which checks are made there. */
static void CheckPrinted(PoiseContext ctx, FILE *out, const char *words)
{
  static _Thread_local char text[20000];
  if (PoiseRank(ctx)) return;
  Content(out, text, sizeof text);
  CHECK(strstr(text, words) != NULL);
}

static void TestReports(PoiseContext ctx)
{
  Problem s;
  FILE *out = tmpfile();
  int told = 0;
  if (!CHECK(out != NULL) || !Open(ctx, LATTICE, 1, "cg", "jacobi", &s)) return;
  PoiseSetOutput(ctx, out);
  CHECK_OK(PoiseOptionsSetString(
      ctx, "-q_ksp_monitor_true_residual -q_ksp_view -q_mat_partition nonzeros -q_mat_order rcm"));
  CHECK_OK(PoiseMatSetOptionsPrefix(s.A, "q_"));
  CHECK_OK(PoiseKSPSetOptionsPrefix(s.ksp, "q_"));
  CHECK_OK(PoiseMatSetFromOptions(s.A));
  CHECK_OK(PoiseKSPSetFromOptions(s.ksp));
  CHECK_OK(PoiseKSPAddMonitor(s.ksp, Count, &told));
  Solve(&s, 1);
  CHECK_INT(told, PoiseKSPIterations(s.ksp) + 1);
  CheckPrinted(ctx, out, "-q_mat_partition nonzeros -q_mat_order rcm: works with a rearranged copy");
  CheckPrinted(ctx, out, "ghost columns over all ranks:");
  CheckPrinted(ctx, out, "true resid norm");
  CHECK_OK(PoiseKSPSetConvergenceTest(s.ksp, SampleStopAt3, NULL));
  CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
  CHECK(PoiseKSPConvergedReason(s.ksp) == POISE_CONVERGED_USER);
  CHECK_INT(PoiseKSPIterations(s.ksp), 3);
  PoiseSetOutput(ctx, NULL);
  ProblemClose(&s);
  fclose(out);
}

/* Rows are named by the application's numbers. */
static void TestRowNames(PoiseContext ctx)
{
  PoiseInt row = 5;
  double zero = 0;
  char words[64];
  Problem s;
  if (!Open(ctx, LATTICE, 1, "cg", "jacobi", &s)) return;
  Ask(s.A, NPARTITIONS - 1, POISE_ORDER_RCM);
  CHECK_OK(PoiseMatSetEntries(s.A, 1, &row, &row, &zero));
  CHECK_OK(PoiseMatAssemble(s.A));
  snprintf(words, sizeof words, "of row %d is zero", (int)row);
  PoiseErr e = PoiseKSPSetUp(s.ksp);
  CHECK_ERR(e, e == POISE_ERR_REMOTE ? e : POISE_ERR_NUMERIC, words);
  ProblemClose(&s);
}

/* Is this number among those that follow the words in the text? */
static bool Lists(const char *text, const char *words, long number)
{
  const char *at = strstr(text, words);
  char *end = NULL;
  if (!at) return false;
  for (at += strlen(words); strtol(at, &end, 10) != number; at = end + 1)
    if (*end != ',') return false;
  return true;
}

/* Also those of other ranks, by those who factor all rows; and the rows of a block one by one. */
static void TestSingular(PoiseContext ctx)
{
  enum { ROW = 5 };
  char words[64];
  Problem s;
  if (!Open(ctx, LATTICE, 1, "preonly", "lu", &s)) return;
  Ask(s.A, NPARTITIONS - 1, POISE_ORDER_RCM);
  for (PoiseInt i = s.A->rows->begin; i < s.A->rows->begin + s.A->rows->n; i++) /* row and column are zeros */
    for (PoiseInt j = 0; j < N; j++)
      if (Stored(LATTICE, N, i, j) && (i == ROW || j == ROW))
        CHECK_OK(PoiseMatSetEntries(s.A, 1, &i, &j, &(double){0}));
  CHECK_OK(PoiseMatAssemble(s.A));
  snprintf(words, sizeof words, "left for row %d is 0", ROW);
  CHECK_ERR(PoiseKSPSetUp(s.ksp), POISE_ERR_NUMERIC, words);
  CHECK_OK(PoiseOptionsSetString(ctx, "-pc_type bjacobi -pc_bjacobi_supervariables 8"));
  CHECK_OK(PoiseKSPSetFromOptions(s.ksp));
  PoiseErr e = PoiseKSPSetUp(s.ksp);
  CHECK(e == POISE_ERR_REMOTE || e == POISE_ERR_NUMERIC);
  CHECK(Lists(PoiseErrorMessage(), "block of rows", ROW));
  PoiseErrorClear();
  ProblemClose(&s);
}

/* ---- what crosses to the application --------------------------------------------------------- */

/* Two like solvers of one system: the second one's matrix is to be arranged. */
static int OpenBoth(PoiseContext ctx, int kind, const char *type, const char *pc, int partition, int order,
                    Problem s[2])
{
  for (int k = 0; k < 2; k++)
    if (!Open(ctx, kind, 1, type, pc, &s[k])) return 0;
  Ask(s[1].A, partition, order);
  return 1;
}

static bool IsMoved(const Problem *s)
{
  return s->ksp->arranged && s->ksp->arranged->moves.from;
}

/* |x - y| <= tol |y| */
static void CheckLike(PoiseVec x, PoiseVec y, double tol)
{
  PoiseVec r;
  double norm, size;
  if (!CHECK_OK(PoiseVecDuplicate(x, &r))) return;
  CHECK_OK(PoiseVecWAXPY(r, -1, x, y));
  CHECK_OK(PoiseVecNorm(r, POISE_NORM_2, &norm));
  CHECK_OK(PoiseVecNorm(y, POISE_NORM_2, &size));
  CHECK_NEAR(norm, 0, tol * size);
  CHECK_OK(PoiseVecDestroy(&r));
}

/* Both solve, in as many iterations to one and with like norms. */
static void SolveBoth(Problem s[2])
{
  const double *norms[2];
  PoiseInt count[2];
  for (int k = 0; k < 2; k++) {
    SampleConstant(s[k].x, NAN);
    Solve(&s[k], 1);
    CHECK_OK(PoiseKSPHistory(s[k].ksp, &count[k], &norms[k]));
  }
  CHECK(llabs((long long)(count[0] - count[1])) <= 1);
  for (int k = 0; k < 4 && k < count[0] && k < count[1]; k++)
    CHECK_NEAR(norms[1][k], norms[0][k], 1e-8 * norms[0][0]);
}

static void CloseBoth(Problem s[2])
{
  ProblemClose(&s[0]);
  ProblemClose(&s[1]);
}

typedef struct Users { /* a diagonal M, each entry of which depends on the row's number */
  PoiseMat P;          /* that setup is to get */
  PoiseVec inverse;
  int setups, fails; /* fails: as from application number `fails` on, on the last rank */
  int applied;
} Users;

static PoiseErr Setup_Users(void *arg, PoiseMat P)
{
  Users *u = arg;
  double *d;
  PoiseInt begin, end;
  CHECK(P == u->P);
  u->setups++;
  POISE_TRY(PoiseMatGetDiagonal(P, u->inverse));
  POISE_TRY(PoiseVecReciprocal(u->inverse));
  PoiseVecRange(u->inverse, &begin, &end);
  POISE_TRY(PoiseVecGetUpdate(u->inverse, &d));
  for (PoiseInt i = begin; i < end; i++) d[i - begin] *= 1.2 + TestRandom(12, (uint64_t)i);
  return PoiseVecRestore(u->inverse, &d);
}

static PoiseErr Apply_Users(void *arg, PoiseVec r, PoiseVec z)
{
  Users *u = arg;
  PoiseContext ctx = PoiseVecContext(r);
  CHECK(poiseLayoutSame(r->layout, u->P->rows) && poiseLayoutSame(z->layout, u->P->rows));
  u->applied++;
  if (u->fails && u->applied >= u->fails && PoiseRank(ctx) == PoiseSize(ctx) - 1) return POISE_ERR_USER;
  return PoiseVecPointwiseMult(z, u->inverse, r);
}

static const PoiseShellPC users = {.apply = Apply_Users, .setup = Setup_Users};

static void OpenUsers(Problem *s, Users *u)
{
  *u = (Users){.P = s->A};
  CHECK_OK(PoiseVecDuplicate(s->x, &u->inverse));
}

static void ShellSolves(PoiseContext ctx, const char *type, int partition, int order)
{
  Problem s[2];
  Users u[2];
  if (!OpenBoth(ctx, LATTICE, type, "shell", partition, order, s)) return;
  for (int k = 0; k < 2; k++) {
    OpenUsers(&s[k], &u[k]);
    CHECK_OK(PoisePCSetShell(s[k].pc, &users, &u[k]));
  }
  SolveBoth(s);
  int64_t calls = Allocations(ctx);
  CHECK_OK(PoiseKSPSolve(s[1].ksp, s[1].b, s[1].x));
  CHECK_INT(Allocations(ctx), calls);
  for (int k = 0; k < 2; k++) { /* M follows A, whose last row is another */
    CHECK_OK(PoiseMatScale(s[k].A, 2));
    CHECK_OK(PoiseMatMult(s[k].A, s[k].exact, s[k].b));
  }
  SolveBoth(s);
  CHECK_INT(u[1].setups, 2);
  for (int k = 0; k < 2; k++) { /* and is kept */
    CHECK_OK(PoiseKSPSetReusePreconditioner(s[k].ksp, 1));
    CHECK_OK(PoiseMatShift(s[k].A, 1));
    CHECK_OK(PoiseMatMult(s[k].A, s[k].exact, s[k].b));
  }
  SolveBoth(s);
  CHECK_INT(u[1].setups, 2);
  CHECK_OK(PoisePCApply(s[0].pc, s[0].exact, s[0].x));
  CHECK_OK(PoisePCApply(s[1].pc, s[1].exact, s[1].x));
  CHECK(SampleDigest(s[0].x) == SampleDigest(s[1].x));
  u[1].fails = u[1].applied + 3; /* in a solve */
  CHECK_ERR_OF(PoiseKSPSolve(s[1].ksp, s[1].b, s[1].x), PoiseRank(ctx) == PoiseSize(ctx) - 1, POISE_ERR_USER,
               "the shell's apply");
  u[1].fails = 0;
  Solve(&s[1], 1);
  CloseBoth(s);
  for (int k = 0; k < 2; k++) CHECK_OK(PoiseVecDestroy(&u[k].inverse));
}

/* A user's preconditioner gets r, z and P as the application has them. */
static void TestShell(PoiseContext ctx)
{
  for (int partition = 0; partition < NPARTITIONS; partition++) { /* every pair of these three */
    ShellSolves(ctx, "cg", partition, partition % 2);
    ShellSolves(ctx, "gmres", partition, 1 - partition % 2);
  }
}

/* So does one inside PC ksp; in a block there is nothing to give it. */
static void TestShellInside(PoiseContext ctx)
{
  Problem s[2];
  Users u[2];
  PoiseKSP inner, *sub;
  PoisePC pc;
  if (!OpenBoth(ctx, LATTICE, "cg", "ksp", NPARTITIONS - 1, POISE_ORDER_RCM, s)) return;
  for (int k = 0; k < 2; k++) {
    OpenUsers(&s[k], &u[k]);
    if (!CHECK_OK(PoisePCKSPGetKSP(s[k].pc, &inner)) || !CHECK_OK(PoiseKSPGetPC(inner, &pc))) return;
    CHECK_OK(PoiseKSPSetType(inner, "preonly"));
    CHECK_OK(PoisePCSetShell(pc, &users, &u[k]));
  }
  SolveBoth(s);
  CHECK_OK(PoisePCApply(pc, s[1].exact, s[1].x)); /* the inner one by itself */
  CHECK_OK(PoiseVecPointwiseMult(s[0].x, u[1].inverse, s[1].exact));
  CHECK(SampleDigest(s[0].x) == SampleDigest(s[1].x));
  CHECK_OK(PoisePCSetType(s[1].pc, "bjacobi"));
  CHECK_OK(PoisePCBJacobiGetSubKSP(s[1].pc, NULL, NULL, &sub));
  CHECK_OK(PoiseKSPGetPC(sub[0], &pc));
  CHECK_OK(PoisePCSetShell(pc, &users, &u[1]));
  if (PoiseSize(ctx) == 1) /* the block is all */
    SolveBoth(s);
  else
    CHECK_ERR(PoiseKSPSetUp(s[1].ksp), POISE_ERR_UNSUPPORTED,
              "preconditioner shell in a block of a matrix that a solver");
  CloseBoth(s);
  for (int k = 0; k < 2; k++) CHECK_OK(PoiseVecDestroy(&u[k].inverse));
}

typedef struct Seen { /* in a monitor or a convergence test */
  PoiseVec x, z;      /* the iterate and M^-1 x, of iteration 3 */
  PoiseVec other;     /* of another layout on some ranks, or NULL */
} Seen;

static PoiseErr Look(PoiseKSP ksp, PoiseInt iteration, double norm, void *arg)
{
  Seen *seen = arg;
  PoisePC pc;
  (void)norm;
  if (iteration != 3) return POISE_OK;
  POISE_TRY(PoiseKSPGetPC(ksp, &pc));
  POISE_TRY(PoiseKSPBuildSolution(ksp, seen->x));
  if (seen->z) POISE_TRY(PoisePCApply(pc, seen->x, seen->z));
  if (!seen->other) return POISE_OK;
  PoiseErr e = PoiseKSPBuildSolution(ksp, seen->other);
  CHECK_ERR(e, e == POISE_ERR_REMOTE ? e : POISE_ERR_SIZE, "the solution has 78 entries, x has 78");
  return POISE_OK;
}

/* A vector laid out as x is, but on the last two ranks, which have each other's shares; NULL on one rank. */
static PoiseVec Swapped(PoiseVec x)
{
  PoiseContext ctx = PoiseVecContext(x);
  int rank = PoiseRank(ctx), size = PoiseSize(ctx);
  double n[7] = {0};
  PoiseVec other = NULL;
  n[rank] = (double)PoiseVecLocalSize(x);
  CHECK_OK(PoiseSum(ctx, size, n));
  int from = rank < size - 2 ? rank : 2 * size - 3 - rank;
  if (size > 1) CHECK_OK(PoiseVecCreate(ctx, (PoiseInt)n[from], N, &other));
  return other;
}

static PoiseErr LookAndGoOn(PoiseKSP ksp, PoiseInt iteration, double norm, PoiseKSPReason *reason, void *arg)
{
  if (norm < 1e-10) *reason = POISE_CONVERGED_USER;
  return Look(ksp, iteration, norm, arg);
}

static void Iterates(PoiseContext ctx, const char *type, int kind, int partition)
{
  Problem s[2];
  Seen seen[2] = {{NULL}};
  if (!OpenBoth(ctx, kind, type, "jacobi", partition, POISE_ORDER_RCM, s)) return;
  for (int test = 0; test < 2; test++) {
    for (int k = 0; k < 2; k++) {
      PoiseKSP ksp = s[k].ksp;
      if (!test) CHECK_OK(PoiseVecDuplicate(s[k].x, &seen[k].x));
      if (!test) CHECK_OK(PoiseVecDuplicate(s[k].x, &seen[k].z));
      if (!test) seen[k].other = Swapped(s[k].x);
      CHECK_OK(PoiseOptionsSetString(ctx, "-z_ksp_replay 0"));
      CHECK_OK(PoiseKSPSetOptionsPrefix(ksp, "z_"));
      CHECK_OK(PoiseKSPSetFromOptions(ksp));
      CHECK_OK(test ? PoiseKSPSetConvergenceTest(ksp, LookAndGoOn, &seen[k])
                    : PoiseKSPAddMonitor(ksp, Look, &seen[k]));
      SampleConstant(seen[k].x, NAN);
      SampleConstant(seen[k].z, NAN);
      Solve(&s[k], 1);
    }
    CheckLike(seen[1].x, seen[0].x, 1e-8);
    CheckLike(seen[1].z, seen[0].z, 1e-8);
  }
  for (int k = 0; k < 2; k++) {
    CHECK_OK(PoiseVecDestroy(&seen[k].x));
    CHECK_OK(PoiseVecDestroy(&seen[k].z));
    CHECK_OK(PoiseVecDestroy(&seen[k].other));
  }
  CloseBoth(s);
}

/* Iterates are the application's, of whatever a method makes them; so is M in the middle of a solve. */
static void TestIterates(PoiseContext ctx)
{
  for (int partition = 0; partition < NPARTITIONS; partition++) {
    Iterates(ctx, "cg", LATTICE, partition);
    Iterates(ctx, "gmres", ONE_SIDED, partition);
    Iterates(ctx, "fgmres", ONE_SIDED, partition);
    Iterates(ctx, "bicgstab", LATTICE, partition);
    Iterates(ctx, "minres", LATTICE, partition);
    Iterates(ctx, "richardson", LATTICE, partition);
  }
}

/* Of the rearranged matrix itself: the same M, built and applied by hand. */
static void ApplyByHand(Problem *s, const char *pc, PoiseVec z)
{
  PoiseContext ctx = s->A->ctx;
  PoiseMat B, P;
  PoisePC own;
  PoiseVec r, y;
  if (!CHECK_OK(PoiseMatRearrange(s->A, &B, &P)) || !CHECK_OK(PoiseMatCreateVecs(B, &y, &r))) return;
  CHECK_OK(PoisePCCreate(ctx, &own));
  CHECK_OK(PoisePCSetType(own, pc));
  CHECK_OK(PoisePCSetOptionsPrefix(own, "h_"));
  CHECK_OK(PoisePCSetOperator(own, B));
  CHECK_OK(PoisePCSetFromOptions(own));
  CHECK_OK(PoiseMatMult(P, s->exact, r));
  CHECK_OK(PoisePCApply(own, r, y));
  CHECK_OK(PoiseMatMultTranspose(P, y, z));
  CHECK_OK(PoisePCDestroy(&own));
  CHECK_OK(PoiseVecDestroy(&r));
  CHECK_OK(PoiseVecDestroy(&y));
  CHECK_OK(PoiseMatDestroy(&B));
  CHECK_OK(PoiseMatDestroy(&P));
}

static void Applying(PoiseContext ctx, const char *pc, int partition, int order)
{
  Problem s;
  PoiseVec z, other;
  if (!Open(ctx, LATTICE, 3, "gmres", pc, &s) || !CHECK_OK(PoiseVecDuplicate(s.x, &z))) return;
  Ask(s.A, partition, order);
  CHECK_OK(PoisePCSetOptionsPrefix(s.pc, "h_"));
  CHECK_OK(PoisePCSetFromOptions(s.pc));
  for (int k = 0; k < 3; k++) { /* before any set-up, between solves, and after values have changed */
    SampleConstant(s.x, NAN);
    CHECK_OK(PoisePCApply(s.pc, s.exact, s.x));
    ApplyByHand(&s, pc, z);
    CHECK(SampleDigest(s.x) == SampleDigest(z));
    if (k == 0) CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
    if (k == 1) CHECK_OK(PoiseMatShift(s.A, 2));
  }
  CHECK_OK(PoisePCSetUp(s.pc));
  CHECK_ERR(PoisePCApply(s.pc, s.x, s.x), POISE_ERR_ARG, "the same vector");
  CHECK_OK(PoiseVecCreate(ctx, POISE_DECIDE, N + 1, &other));
  CHECK_ERR(PoisePCApply(s.pc, other, other), POISE_ERR_ARG, "");
  CHECK_OK(PoiseVecDestroy(&other));
  CHECK_OK(PoiseVecDestroy(&z));
  ProblemClose(&s);
}

static PoiseErr CopyIt(void *arg, PoiseVec r, PoiseVec z)
{
  (void)arg;
  return PoiseVecCopy(r, z);
}

/* M by itself takes the application's vectors. */
static void TestApply(PoiseContext ctx)
{
  static const char *const types[] = {"none", "jacobi", "pbjacobi", "ilu", "icc",
                                      "sor",  "lu",     "bjacobi",  "ksp"};
  CHECK_OK(PoiseOptionsSetString(ctx,
                                 "-h_ksp_ksp_type richardson -h_ksp_ksp_max_it 3 -h_ksp_ksp_norm_type none "
                                 "-h_ksp_pc_type jacobi"));
  for (int partition = 0; partition < NPARTITIONS; partition++) /* every pair of these three */
    for (size_t k = 0; k < sizeof types / sizeof *types; k++)
      Applying(ctx, types[k], partition, (partition + (int)k) % 2);
  CHECK_OK(PoiseOptionsSetString(ctx, "-h_pc_bjacobi_local_blocks 2"));
  Applying(ctx, "bjacobi", NPARTITIONS - 1, POISE_ORDER_RCM);
  CHECK_OK(PoiseOptionsSetString(ctx, "-h_pc_bjacobi_supervariables 4 -h_pc_bjacobi_local_blocks 0"));
  Applying(ctx, "bjacobi", NPARTITIONS - 1, POISE_ORDER_RCM);
}

static PoiseErr BuildInBlock(PoiseKSP ksp, PoiseInt iteration, double norm, void *arg)
{
  PoiseVec x;
  (void)norm, (void)arg;
  if (iteration != 3) return POISE_OK;
  POISE_TRY(PoiseMatCreateVecs(ksp->A, &x, NULL));
  PoiseErr e = PoiseKSPBuildSolution(ksp, x);
  if (ksp->loop.eager) CHECK_ERR(e, POISE_ERR_UNSUPPORTED, "PoiseKSPBuildSolution of a solver in a block");
  return PoiseVecDestroy(&x);
}

/* What belongs to a block is of no rows of the application's. */
static void TestBlocks(PoiseContext ctx)
{
  Problem s;
  PoiseInt count, lengths[2], n, again;
  PoiseKSP *sub, *later;
  PoisePC pc;
  PoiseVec r, z;
  double norm;
  if (!OpenLaid(ctx, LATTICE, EVEN, 1, "gmres", "bjacobi", &s)) return;
  Ask(s.A, NPARTITIONS - 1, POISE_ORDER_RCM);
  PoiseMatLocalSizes(s.A, &n, NULL);
  lengths[0] = n / 2, lengths[1] = n - n / 2;
  CHECK_OK(PoisePCBJacobiSetLocalBlocks(s.pc, 2, lengths));
  CHECK_ERR(PoiseKSPSetUp(s.ksp), POISE_ERR_UNSUPPORTED, "lengths of blocks are of the application's rows");
  CHECK_OK(PoisePCBJacobiSetLocalBlocks(s.pc, 2, NULL));
  CHECK_OK(PoisePCBJacobiGetSubKSP(s.pc, &count, NULL, &sub)); /* before any set-up: they stay */
  CHECK_INT(count, 2);
  for (int k = 0; k < 2; k++) CHECK_OK(PoiseKSPGetPC(sub[k], &pc)), CHECK_OK(PoisePCSetType(pc, "lu"));
  Solve(&s, 1);
  CHECK_OK(PoisePCBJacobiGetSubKSP(s.pc, &again, NULL, &later));
  CHECK(again == 2 && later == sub);
  CHECK_OK(PoiseKSPGetPC(sub[0], &pc));
  CHECK(!strcmp(PoisePCType(pc), "lu"));
  CHECK_OK(PoiseMatCreateVecs(sub[0]->A, &z, &r));
  CHECK_OK(PoiseVecSet(r, 1));
  CHECK_ERR(PoiseKSPSolve(sub[0], r, z), POISE_ERR_UNSUPPORTED, "PoiseKSPSolve of a solver inside");
  CHECK_ERR(PoiseKSPTrueResidual(sub[0], r, z, &norm), POISE_ERR_UNSUPPORTED,
            "PoiseKSPTrueResidual of a solver inside");
  CHECK_ERR(PoisePCApply(pc, r, z), POISE_ERR_UNSUPPORTED, "PoisePCApply of a preconditioner in a block");
  CHECK_OK(PoiseVecDestroy(&r));
  CHECK_OK(PoiseVecDestroy(&z));
  for (PoiseInt k = 0; k < count; k++) { /* an iterate is of no rows either */
    CHECK_OK(PoiseKSPSetType(sub[k], "richardson"));
    CHECK_OK(PoiseKSPSetTolerances(sub[k], -1, -1, -1, 4));
    CHECK_OK(PoiseKSPAddMonitor(sub[k], BuildInBlock, NULL));
  }
  CHECK_OK(PoisePCApply(s.pc, s.exact, s.x));
  Ask(s.A, POISE_PARTITION_ROWS, POISE_ORDER_NATURAL); /* then they are */
  CHECK_OK(PoisePCBJacobiSetLocalBlocks(s.pc, 2, lengths));
  Solve(&s, 1);
  ProblemClose(&s);
}

/* A solver inside shows iterates of the application's rows, and works with the matrices around it alone. */
static void TestInnerSolver(PoiseContext ctx)
{
  Problem s[2];
  Seen seen[2] = {{NULL}};
  PoiseKSP inner;
  PoisePC pc;
  double norm;
  if (!OpenBoth(ctx, LATTICE, "fgmres", "ksp", NPARTITIONS - 1, POISE_ORDER_RCM, s)) return;
  CHECK_OK(PoiseOptionsSetString(
      ctx, "-y_ksp_ksp_type cg -y_ksp_pc_type jacobi -y_ksp_ksp_max_it 4 -y_ksp_ksp_replay 0"));
  for (int k = 0; k < 2; k++) {
    CHECK_OK(PoiseVecDuplicate(s[k].x, &seen[k].x));
    CHECK_OK(PoiseKSPSetOptionsPrefix(s[k].ksp, "y_"));
    CHECK_OK(PoiseKSPSetFromOptions(s[k].ksp));
    if (!CHECK_OK(PoisePCKSPGetKSP(s[k].pc, &inner)) || !CHECK_OK(PoiseKSPAddMonitor(inner, Look, &seen[k])))
      return;
    CHECK_OK(PoisePCApply(s[k].pc, s[k].b, s[k].x));
  }
  CheckLike(seen[1].x, seen[0].x, 1e-8);
  SolveBoth(s);
  CHECK_ERR(PoiseKSPSolve(inner, s[1].b, s[1].x), POISE_ERR_UNSUPPORTED, "PoiseKSPSolve of a solver inside");
  CHECK_ERR(PoiseKSPTrueResidual(inner, s[1].b, s[1].x, &norm), POISE_ERR_UNSUPPORTED,
            "PoiseKSPTrueResidual of a solver");
  CHECK_OK(PoiseKSPGetPC(inner, &pc));
  CHECK_OK(PoisePCApply(pc, s[1].exact, s[1].x));
  CHECK_OK(PoiseMatGetDiagonal(s[1].A, s[0].x));
  CHECK_OK(PoiseVecPointwiseDivide(s[0].x, s[1].exact, s[0].x));
  CheckLike(s[1].x, s[0].x, 1e-14);
  CHECK_OK(PoisePCSetOperator(pc, s[1].A));
  CHECK_ERR(PoiseKSPSolve(s[1].ksp, s[1].b, s[1].x), POISE_ERR_UNSUPPORTED, "was given another");
  CHECK_OK(PoiseKSPSetOperators(inner, s[1].A, NULL));
  CHECK_ERR(PoiseKSPSolve(s[1].ksp, s[1].b, s[1].x), POISE_ERR_UNSUPPORTED, "was given another");
  CHECK_OK(PoiseMatScale(s[1].A, 2)); /* M is new, and with it what is inside */
  Solve(&s[1], 0.5);
  CHECK_OK(PoiseVecDestroy(&seen[0].x));
  CHECK_OK(PoiseVecDestroy(&seen[1].x));
  CloseBoth(s);
}

/* Set through the preconditioner P is the solver's: before a set-up, between solves, when a wish comes or
   goes. */
static void TestSetOperator(PoiseContext ctx)
{
  Problem s[2];
  double value = 9;
  if (!OpenBoth(ctx, LATTICE, "cg", "jacobi", NPARTITIONS - 1, POISE_ORDER_RCM, s)) return;
  PoiseMat P = Matrix(ctx, DIAGONAL, N, UNEVEN, 1), D = Matrix(ctx, DIAGONAL, N, UNEVEN, 1);
  CHECK_OK(PoiseMatScale(P, 3));
  CHECK_OK(PoiseMatZeroEntries(D));
  for (PoiseInt i = D->rows->begin; i < D->rows->begin + D->rows->n; i++, value += 1)
    CHECK_OK(PoiseMatSetEntries(D, 1, &i, &i, &value));
  CHECK_OK(PoiseMatAssemble(D));
  for (int k = 0; k < 2; k++) CHECK_OK(PoisePCSetOperator(s[k].pc, P));
  SolveBoth(s);
  CHECK(!IsMoved(&s[1]) || s[1].pc->P->origin.mat == P);
  for (int k = 0; k < 2; k++) CHECK_OK(PoisePCSetOperator(s[k].pc, D));
  SolveBoth(s);
  CHECK(!IsMoved(&s[1]) || s[1].pc->P->origin.mat == D);
  Ask(s[1].A, POISE_PARTITION_ROWS, POISE_ORDER_NATURAL);
  SolveBoth(s);
  CHECK(s[1].pc->P == D);
  Ask(s[1].A, POISE_PARTITION_BYTES, POISE_ORDER_RCM);
  SolveBoth(s);
  CHECK(!IsMoved(&s[1]) || s[1].pc->P->origin.mat == D);
  for (int k = 0; k < 2; k++) CHECK_OK(PoiseKSPSetOperators(s[k].ksp, s[k].A, NULL)); /* A again */
  SolveBoth(s);
  CHECK(s[1].pc->P == s[1].ksp->A);
  CHECK_OK(PoiseMatDestroy(&P));
  CHECK_OK(PoiseMatDestroy(&D));
  CloseBoth(s);
}

static PoiseMat Diagonal(PoiseContext ctx, double unit, int order)
{
  PoiseMat A;
  if (!CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, 3, 3, &A))) return NULL;
  for (PoiseInt i = A->rows->begin; i < A->rows->begin + A->rows->n; i++)
    CHECK_OK(PoiseMatSetEntries(A, 1, &i, &i, &(double){unit * (double)(i + 1)}));
  CHECK_OK(PoiseMatAssemble(A));
  Ask(A, POISE_PARTITION_ROWS, order);
  return A;
}

/* x = 1 / (unit (i + 1)) */
static void CheckInverse(PoiseKSP ksp, PoiseVec b, PoiseVec x, double unit)
{
  const double *p;
  PoiseInt begin, end;
  PoiseVecRange(x, &begin, &end);
  if (!CHECK_OK(PoiseKSPSolve(ksp, b, x)) || !CHECK_OK(PoiseVecGetRead(x, &p))) return;
  for (PoiseInt i = begin; i < end; i++) CHECK_NEAR(p[i - begin], 1 / (unit * (double)(i + 1)), 1e-12);
  CHECK_OK(PoiseVecRestore(x, &p));
}

/* The wish for an order comes and goes between setting a matrix and the solve: that matrix is solved with. */
static void TestTakenBack(PoiseContext ctx)
{
  for (int k = 0; k < 16; k++) { /* A's order when set, before it is solved with; B's likewise */
    PoiseMat A = Diagonal(ctx, 1, k & 1), B = Diagonal(ctx, 10, k >> 2 & 1);
    PoiseKSP ksp;
    PoiseVec b, x;
    if (!A || !B || !CHECK_OK(PoiseMatCreateVecs(A, &x, &b)) || !CHECK_OK(PoiseKSPCreate(ctx, &ksp))) return;
    CHECK_OK(PoiseVecSet(b, 1));
    CHECK_OK(PoiseKSPSetTolerances(ksp, 1e-14, -1, -1, -1));
    CHECK_OK(PoiseKSPSetOperators(ksp, A, NULL));
    CHECK_OK(PoiseMatSetOrder(A, (PoiseOrder)(k >> 1 & 1)));
    CheckInverse(ksp, b, x, 1);
    CHECK_OK(PoiseKSPSetOperators(ksp, B, NULL));
    CHECK_OK(PoiseMatDestroy(&A)); /* which the solver has let go */
    CHECK_OK(PoiseMatSetOrder(B, (PoiseOrder)(k >> 3 & 1)));
    CheckInverse(ksp, b, x, 10);
    CHECK_OK(PoiseKSPDestroy(&ksp));
    CHECK_OK(PoiseMatDestroy(&B));
    CHECK_OK(PoiseVecDestroy(&b));
    CHECK_OK(PoiseVecDestroy(&x));
  }
}

/* Memory of M is predicted before it is set up, and told of what will be. */
static void TestPredicted(PoiseContext ctx)
{
  Problem s;
  PoisePrediction p;
  PoiseBytes held;
  if (!Open(ctx, LATTICE, 1, "cg", "jacobi", &s)) return;
  PoiseMat other = Matrix(ctx, BAND, N, UNEVEN, 1);
  Ask(s.A, NPARTITIONS - 1, POISE_ORDER_RCM);
  CHECK_OK(PoisePCPredictBytes(s.pc, NULL, &p));
  CHECK(p.beyond && strstr(p.beyond, "-mat_order"));
  Solve(&s, 1);
  CHECK_OK(PoisePCPredictBytes(s.pc, NULL, &p));
  CHECK_OK(PoisePCBytes(s.pc, &held));
  CHECK(!p.beyond);
  CHECK(p.least.device <= held.device && held.device <= p.most.device);
  CHECK(p.least.host <= held.host && held.host <= p.most.host);
  CHECK_OK(PoiseKSPSetOperators(s.ksp, other, NULL));
  CHECK_ERR(PoisePCPredictBytes(s.pc, NULL, &p), POISE_ERR_STATE, "not yet rearranged");
  CHECK_OK(PoiseKSPSetUp(s.ksp));
  CHECK_OK(PoisePCPredictBytes(s.pc, NULL, &p));
  CHECK_OK(PoiseMatDestroy(&other));
  ProblemClose(&s);
}

/* ---- bad input ------------------------------------------------------------------------------- */

static void TestErrors(PoiseContext ctx)
{
  PoiseMat A, B, P;
  PoiseKSP ksp;
  PoiseShell shell = {.mult = SampleTwice};
  if (!CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, 6, 8, &A))) return;
  CHECK_ERR(PoiseMatSetPartition(A, (PoisePartition)4), POISE_ERR_ARG, "no partition 4");
  CHECK_ERR(PoiseMatSetOrder(A, (PoiseOrder)6), POISE_ERR_ARG, "no order 6");
#ifndef POISE_HAVE_METIS
  CHECK_ERR(PoiseMatSetPartition(A, POISE_PARTITION_GRAPH), POISE_ERR_UNSUPPORTED, "POISE_METIS");
#endif
  CHECK_OK(PoiseOptionsSetString(ctx, "-w_mat_partition nonzero"));
  CHECK_OK(PoiseMatSetOptionsPrefix(A, "w_"));
  CHECK_ERR(PoiseMatSetFromOptions(A), POISE_ERR_OPTION, "nonzero");
  Ask(A, POISE_PARTITION_NONZEROS, POISE_ORDER_RCM);
  CHECK_ERR(PoiseMatRearrange(A, &B, &P), POISE_ERR_STATE, "PoiseMatAssemble");
  CHECK(!B && !P);
  CHECK_OK(PoiseMatAssemble(A));
  CHECK_ERR(PoiseMatRearrange(A, &B, &P), POISE_ERR_SIZE, "6 x 8");
  CHECK_OK(PoiseMatDestroy(&A));

  CHECK_OK(PoiseMatCreateShell(ctx, POISE_DECIDE, POISE_DECIDE, N, N, &shell, NULL, &A));
  CHECK_OK(PoiseKSPCreate(ctx, &ksp));
  CHECK_OK(PoiseMatSetOrder(A, POISE_ORDER_RCM));
  CHECK_OK(PoiseKSPSetOperators(ksp, A, NULL));
  CHECK_ERR(PoiseKSPSetUp(ksp), POISE_ERR_UNSUPPORTED,
            "type shell cannot be rearranged (-mat_partition rows -mat_order rcm)");
  P = Matrix(ctx, LATTICE, N, EVEN, 1);
  CHECK_OK(PoiseKSPSetOperators(ksp, P, A)); /* P's options count: it is the operator now */
  CHECK_OK(PoiseKSPSetUp(ksp));
  CHECK_OK(PoiseMatSetPartition(P, POISE_PARTITION_BYTES));
  CHECK_ERR(PoiseKSPSetUp(ksp), POISE_ERR_UNSUPPORTED,
            "type shell cannot be rearranged (-mat_partition bytes");
  CHECK_OK(PoiseMatSetPartition(P, POISE_PARTITION_ROWS));
  CHECK_OK(PoiseKSPSetUp(ksp));
  CHECK_OK(PoiseKSPDestroy(&ksp));
  CHECK_OK(PoiseMatDestroy(&A));
  CHECK_OK(PoiseMatDestroy(&P));
}

/* ---- the same in every run, and without memory ----------------------------------------------- */

static PoiseErr Run(PoiseContext ctx, void *arg)
{
  for (int partition = 0; partition < NPARTITIONS; partition++) {
    Problem s;
    if (!Open(ctx, LATTICE, 1, "cg", "jacobi", &s)) return POISE_OK;
    Ask(s.A, partition, POISE_ORDER_RCM);
    Solve(&s, 1);
    SampleKeep(ctx, arg, SampleDigest(s.x));
    ProblemClose(&s);
  }
  return POISE_OK;
}

static void TestRepeats(PoiseContext ctx)
{
  SampleRun first, again, threads, mock;
  (void)ctx;
  SampleRunOn("host", 3, 1, Run, &first);
  SampleRunOn("host", 3, 1, Run, &again);
  SampleRunOn("host", 3, 2, Run, &threads);
  SampleRunOn("mock", 3, 1, Run, &mock);
  CHECK(SampleSame(&first, &again));
  CHECK(SampleSame(&first, &threads));
  CHECK(SampleSame(&first, &mock));
}

static PoiseErr ArrangeAndSolve(PoiseContext ctx, void *arg)
{
  Problem *s = arg;
  PoiseKSP ksp = NULL;
  POISE_TRY(PoiseKSPCreate(ctx, &ksp));
  PoiseErr e = PoiseKSPSetType(ksp, "preonly");
  if (!e) e = PoiseKSPSetOperators(ksp, s->A, NULL);
  if (!e) e = PoiseKSPSolve(ksp, s->b, s->x);
  PoiseKSPDestroy(&ksp);
  return e;
}

/* M by itself, on rows that are moved. */
static PoiseErr ArrangeAndApply(PoiseContext ctx, void *arg)
{
  Problem *s = arg;
  PoiseKSP ksp = NULL;
  PoisePC pc;
  POISE_TRY(PoiseKSPCreate(ctx, &ksp));
  PoiseErr e = PoiseKSPSetOperators(ksp, s->A, NULL);
  if (!e) e = PoiseKSPGetPC(ksp, &pc);
  if (!e) e = PoisePCSetType(pc, "jacobi");
  if (!e) e = PoisePCApply(pc, s->b, s->x);
  if (!e) e = PoisePCSetShell(pc, &(PoiseShellPC){.apply = CopyIt}, NULL);
  if (!e) e = PoisePCSetUp(pc);
  PoiseKSPDestroy(&ksp);
  return e;
}

static PoiseErr Rearrange(PoiseContext ctx, void *arg)
{
  PoiseMat B, P;
  (void)ctx;
  POISE_TRY(PoiseMatRearrange(((Problem *)arg)->A, &B, &P));
  PoiseMatDestroy(&B);
  return PoiseMatDestroy(&P);
}

static void TestMemory(PoiseContext ctx)
{
  Problem s;
  if (!Open(ctx, BAND, 3, "cg", "none", &s)) return;
  Ask(s.A, NPARTITIONS - 1, POISE_ORDER_RCM);
  TestAllocationFailures(ctx, Rearrange, &s);
  CHECK_OK(PoiseMatSetNullSpace(s.A, 1, 0, NULL));
  Ask(s.A, POISE_PARTITION_ROWS, POISE_ORDER_RCM);
  TestAllocationFailures(ctx, ArrangeAndSolve, &s);
  TestAllocationFailures(ctx, ArrangeAndApply, &s);
  ProblemClose(&s);
}

static const Test tests[] = {
    {"entries", TestEntries, 0},
    {"shares", TestShares, 0},
    {"bandwidth", TestBandwidth, 0},
    {"path", TestPath, TEST_SERIAL},
    {"star", TestStar, TEST_SERIAL},
    {"solves", TestSolves, 0},
    {"replay", TestReplay, TEST_SERIAL},
    {"values", TestValues, 0},
    {"kept_numbers", TestKeptNumbers, 0},
    {"other_matrices", TestOtherMatrices, 0},
    {"preconditioner_matrix", TestPreconditionerMatrix, 0},
    {"inside", TestInside, 0},
    {"already", TestAlready, 0},
    {"null_space", TestNullSpace, 0},
    {"reports", TestReports, 0},
    {"row_names", TestRowNames, 0},
    {"singular", TestSingular, 0},
    {"shell", TestShell, 0},
    {"shell_inside", TestShellInside, 0},
    {"iterates", TestIterates, 0},
    {"apply", TestApply, 0},
    {"blocks", TestBlocks, 0},
    {"inner_solver", TestInnerSolver, 0},
    {"set_operator", TestSetOperator, 0},
    {"taken_back", TestTakenBack, 0},
    {"predicted", TestPredicted, 0},
    {"errors", TestErrors, 0},
    {"repeats", TestRepeats, TEST_SERIAL | TEST_HOST_ONLY},
    {"memory", TestMemory, 0},
    {NULL, NULL, 0},
};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "arrange", tests);
}
