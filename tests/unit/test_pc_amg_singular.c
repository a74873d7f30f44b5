/* SPDX-License-Identifier: BSD-3-Clause */
/*
  amg of matrices that are singular, or nearly so, in many ways at once: parts that float, each with a null
  space of its own; what is shifted by little; and rows that hold a component, with a diagonal of any size.
*/
#include "multigrid.h"

/* ---- parts that float ------------------------------------------------------------------------- */

typedef struct Parts { /* `count` parts of `size` points: a ring of springs, and one more from each point */
  int count, size, dim;
  const char *type;
  bool pinned; /* the first point of each part is held by springs: the part can but turn */
} Parts;

/* Where a point is; dim = 1 has no places, and a spring is a weight. */
static void Where(PoiseInt i, double x[3])
{
  for (int c = 0; c < 3; c++) x[c] = TestRandom(11 + (uint64_t)c, (uint64_t)i);
}

/* The spring between points i and j, dim x dim. */
static void Stiffness(int dim, PoiseInt i, PoiseInt j, double *k)
{
  double x[3], y[3], weight = 0.6 + 0.5 * TestRandom(3, (uint64_t)(i + j)), size = 0;
  Where(i, x);
  Where(j, y);
  for (int c = 0; c < dim; c++) size += (x[c] - y[c]) * (x[c] - y[c]);
  for (int c = 0; c < dim * dim; c++)
    k[c] = dim == 1 ? weight : weight * (x[c / dim] - y[c / dim]) * (x[c % dim] - y[c % dim]) / size;
}

/* Springs of point i with the points before and behind it in its ring, and across; of two points both are
   given. In more than one dimension all points of a part are connected, so that it is stiff. */
static PoiseErr AddPoints(const Parts *g, PoiseMat A, PoiseInt i)
{
  int dim = g->dim;
  PoiseInt first = i - i % g->size, rows[3], cols[3];
  PoiseErr e = POISE_OK;
  for (PoiseInt c = i * dim; c < (i + 1) * dim && g->pinned && i == first; c++)
    e = PoiseMatAddBlock(A, 1, &c, 1, &c, &(double){1});
  for (PoiseInt j = first; j < first + g->size && !e; j++) {
    PoiseInt ahead = (j - i + g->size) % g->size, apart = ahead < g->size - ahead ? ahead : g->size - ahead;
    double k[9], minus[9];
    if (j == i || (dim == 1 && apart != 1 && apart != g->size / 2)) continue;
    Stiffness(dim, i < j ? i : j, i < j ? j : i, k);
    for (int c = 0; c < dim * dim; c++) minus[c] = -k[c];
    for (int c = 0; c < dim; c++) rows[c] = i * dim + c, cols[c] = j * dim + c;
    e = PoiseMatAddBlock(A, dim, rows, dim, rows, k);
    if (!e) e = PoiseMatAddBlock(A, dim, rows, dim, cols, minus);
  }
  return e;
}

static PoiseErr AttachPlaces(PoiseMat A, int dim)
{
  PoiseInt begin = A->rows->begin / dim, n = A->rows->n / dim;
  double *x = calloc((size_t)(n * dim + 1), sizeof *x), all[3];
  PoiseErr e = x ? POISE_OK : POISE_ERR_MEMORY;
  for (PoiseInt i = 0; i < n && !e; i++) {
    Where(begin + i, all);
    for (int c = 0; c < dim; c++) x[i * dim + c] = all[c];
  }
  if (!e) e = PoiseMatSetCoordinates(A, dim, n, x);
  free(x);
  return e;
}

static PoiseMat PartsOf(PoiseContext ctx, Parts g)
{
  PoiseMat A = NULL;
  PoiseInt points = g.count * g.size, n = points * g.dim, begin, m;
  PoiseSplit(ctx, points, &begin, &m);
  PoiseErr e = PoiseMatCreate(ctx, m * g.dim, m * g.dim, n, n, &A);
  if (!e && g.type) e = PoiseMatSetType(A, g.type);
  if (!e) e = PoiseMatSetBlockSize(A, g.dim);
  for (PoiseInt i = begin; i < begin + m && !e; i++) e = AddPoints(&g, A, i);
  if (!e) e = PoiseMatAssemble(A);
  if (!e && g.dim > 1) e = AttachPlaces(A, g.dim);
  CHECK_OK(e);
  return A;
}

/* Not more iterations than with jacobi, or blocks of it, which know nothing of null spaces. */
static void CheckParts(PoiseContext ctx, Parts g)
{
  static const struct {
    const char *options;
    bool blocks; /* its smoother works on blocks */
  } ways[] = {{"-x_pc_amg_precision single", true},
              {"-x_pc_amg_precision double", true},
              {"-x_pc_amg_coarse_size 10", true},
              {"-x_pc_amg_coarse_size 600 -x_pc_amg_smoother jacobi", false}};
  PoiseMat A = PartsOf(ctx, g);
  int simple[] = {Iterations(A, "cg", "jacobi"), Iterations(A, "cg", g.dim > 1 ? "pbjacobi" : "jacobi")};
  SetOptions(ctx, "-x_pc_amg_smoother chebyshev -x_pc_amg_coarse_size 600");
  for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
    SetOptions(ctx, ways[w].options);
    int its = Iterations(A, "cg", "amg");
    CHECK(its > 0 && its <= simple[ways[w].blocks]);
  }
  PoiseMatDestroy(&A);
}

static void TestParts(PoiseContext ctx)
{
  static const int sizes[][2] = {{300, 5}, {1000, 5}, {700, 3}, {30, 100}, {1, 2000}};
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
    CheckParts(ctx, (Parts){.count = sizes[k][0], .size = sizes[k][1], .dim = 1});
}

static void TestBodies(PoiseContext ctx)
{
  CheckParts(ctx, (Parts){.count = 150, .size = 6, .dim = 2, .type = "bcsr"});
  CheckParts(ctx, (Parts){.count = 150, .size = 6, .dim = 2, .type = "bcsr", .pinned = true});
  CheckParts(ctx, (Parts){.count = 60, .size = 8, .dim = 3, .type = "bcsr"});
  CheckParts(ctx, (Parts){.count = 60, .size = 8, .dim = 3, .type = "csr", .pinned = true});
}

static PoiseMat MadeOf(PoiseContext ctx, int which)
{
  static const Parts of[] = {{.count = 300, .size = 5, .dim = 1},
                             {.count = 40, .size = 6, .dim = 2, .type = "bcsr", .pinned = true},
                             {.count = 20, .size = 8, .dim = 3, .type = "csr"}};
  return PartsOf(ctx, of[which]);
}

/* The hierarchy has the same bits on all devices, at first and with new values. */
static void TestBits(PoiseContext ctx)
{
  static const char *const ways[] = {"-x_pc_amg_precision double -x_pc_amg_coarse_size 20",
                                     "-x_pc_amg_precision double -x_pc_amg_smoother jacobi"};
  PoiseContext own;
  if (!CHECK_OK(TestInitialize((PoiseInit){.serial = 1}, SampleIsAway(ctx) ? "-device host" : "-device mock",
                               &own)))
    return;
  for (int which = 0; which < 3; which++)
    for (int w = 0; w < 2; w++) {
      PoiseMat A = MadeOf(ctx, which), B = MadeOf(own, which);
      PoisePC a = AmgOf(A, ways[w]), b = AmgOf(B, ways[w]);
      CHECK(Digest(a) == Digest(b));
      CHECK_OK(PoiseMatScale(A, 0.7));
      CHECK_OK(PoiseMatScale(B, 0.7));
      uint64_t refreshed = Digest(a);
      CHECK(refreshed == Digest(b) && refreshed == Afresh(A, ways[w]));
      PoisePCDestroy(&a);
      PoisePCDestroy(&b);
      PoiseMatDestroy(&A);
      PoiseMatDestroy(&B);
    }
  CHECK_OK(PoiseFinalize(&own));
}

/* ---- nearly singular -------------------------------------------------------------------------- */

/* To a residual of 1e-8, as the method's own norm is in proportion to M. */
static int ShiftedIterations(PoiseMat A, const char *options)
{
  Problem p;
  int its = -1;
  SetOptions(PoiseMatContext(A), options);
  if (!ProblemOpen(A, &p)) return -1;
  CHECK_OK(PoiseKSPSetType(p.ksp, "cg"));
  CHECK_OK(PoiseKSPSetNormType(p.ksp, POISE_KSP_NORM_UNPRECONDITIONED));
  CHECK_OK(PoiseKSPGetPC(p.ksp, &p.pc));
  CHECK_OK(PoisePCSetType(p.pc, "amg"));
  CHECK_OK(PoisePCSetOptionsPrefix(p.pc, "x_"));
  CHECK_OK(PoisePCSetFromOptions(p.pc));
  CHECK_OK(PoiseKSPSetTolerances(p.ksp, 1e-8, -1, -1, 100));
  SampleFill(p.x, 50);
  CHECK_OK(PoiseMatMult(A, p.x, p.b));
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  CHECK(ProblemResidual(&p) <= 1.01e-8 * NormOf(p.b));
  if (PoiseKSPConvergedReason(p.ksp) > 0) its = (int)PoiseKSPIterations(p.ksp);
  p.A = NULL; /* the caller's */
  ProblemClose(&p);
  return its;
}

/* Constants are an eigenvector of a small eigenvalue. fp32 needs no more than an iteration more; nor does any
   shift. W cycles solve for what their first half left, which needs fp64. */
static void TestShifts(PoiseContext ctx)
{
  const double shifts[] = {1e-6, 1e-9, 1e-10, 1e-11, 1e-12};
  SetOptions(ctx, "-x_pc_amg_coarse_size 300");
  for (int w = 0; w < 2; w++) {
    int first = 0;
    SetOptions(ctx, w ? "-x_pc_amg_cycle w -x_pc_amg_coarse_size 20" : "-x_pc_amg_cycle v");
    for (size_t k = 0; k < sizeof shifts / sizeof *shifts; k++) {
      PoiseMat A = GridOf(ctx, (Grid){.dim = 2, .k = 60, .neumann = true});
      CHECK_OK(PoiseMatShift(A, shifts[k]));
      int single = ShiftedIterations(A, "-x_pc_amg_precision single"),
          wide = ShiftedIterations(A, "-x_pc_amg_precision double");
      if (k == 0) first = wide;
      CHECK(first > 0 && wide > 0 && wide <= first + 1 && single > 0 && single <= wide + 1);
      if (w) CHECK(!IsSingle(A, "-x_pc_amg_precision single", "fp64, as a W cycle needs it\n"));
      PoiseMatDestroy(&A);
    }
  }
}

/* ---- rows that hold --------------------------------------------------------------------------- */

enum { HOLDERS = 400 }; /* rows, at most */

/* Sliding supports on three faces of a block of 10 x 5 x 5 points, and in the middle. */
static int ListHeld(PoiseInt *rows)
{
  int count = 0;
  for (int i = 0; i < 250; i++) {
    if (i % 10 == 0) rows[count++] = 3 * i;
    if (i / 10 % 5 == 0) rows[count++] = 3 * i + 1;
    if (i / 50 == 0 || (i % 10 > 6 && i / 50 == 3)) rows[count++] = 3 * i + 2;
  }
  return count;
}

/* Springs of this stiffness, to a point that does not move. */
static void AddSupports(PoiseMat A, int count, const PoiseInt *rows, double stiffness)
{
  PoiseInt begin = A->rows->begin, n = A->rows->n;
  PoiseVec d;
  double *p;
  if (!CHECK_OK(PoiseMatCreateVecs(A, &d, NULL))) return;
  CHECK_OK(PoiseMatGetDiagonal(A, d));
  if (!CHECK_OK(PoiseVecGetUpdate(d, &p))) return;
  for (int k = 0; k < count; k++)
    if (rows[k] >= begin && rows[k] < begin + n) p[rows[k] - begin] += stiffness;
  CHECK_OK(PoiseVecRestore(d, &p));
  CHECK_OK(PoiseMatSetDiagonal(A, d));
  PoiseVecDestroy(&d);
}

/* Iterations of cg with forces in the other rows, in fp32 or not. */
static int HeldIterations(PoiseMat A, int count, const PoiseInt *rows, bool single)
{
  const double rtol = 1e-9, zeros[HOLDERS] = {0};
  Problem p;
  int its = -1;
  if (!ProblemOpen(A, &p)) return -1;
  CHECK_OK(PoiseKSPSetType(p.ksp, "cg"));
  CHECK_OK(PoiseKSPSetNormType(p.ksp, POISE_KSP_NORM_UNPRECONDITIONED));
  CHECK_OK(PoiseKSPSetTolerances(p.ksp, rtol, -1, -1, 200));
  CHECK_OK(PoiseKSPGetPC(p.ksp, &p.pc));
  CHECK_OK(PoisePCSetType(p.pc, "amg"));
  CHECK_OK(PoisePCSetOptionsPrefix(p.pc, "x_"));
  CHECK_OK(PoisePCSetFromOptions(p.pc));
  SampleFill(p.b, 50);
  CHECK_OK(PoiseVecSetValues(p.b, PoiseRank(PoiseMatContext(A)) ? 0 : count, rows, zeros));
  CHECK_OK(PoiseVecAssemble(p.b));
  if (CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x))) {
    CHECK(PoiseKSPConvergedReason(p.ksp) > 0);
    CHECK(ProblemResidual(&p) <= 1.5 * rtol * NormOf(p.b));
    CHECK(Made(p.pc)->single == single);
    its = (int)PoiseKSPIterations(p.ksp);
  }
  p.A = NULL;
  ProblemClose(&p);
  return its;
}

typedef struct Support {
  const char *type;
  int block;
  bool springs; /* beside the other connections of a row, which else go */
} Support;

/* Iterations for supports of steel with this diagonal. */
static int SupportIterations(PoiseContext ctx, Support s, double diagonal, bool single)
{
  Beam g = {.dim = 3, .length = 10, .width = 5, .free = true, .type = s.type};
  PoiseMat A;
  PoiseInt rows[HOLDERS];
  int count = ListHeld(rows);
  if (!CHECK_OK(Springs(ctx, g, &A))) return -1;
  CHECK_OK(PoiseMatScale(A, 2.1e11));
  CHECK_OK(PoiseMatSetBlockSize(A, s.block));
  AttachMotions(A, g);
  if (s.springs)
    AddSupports(A, count, rows, diagonal);
  else
    CHECK_OK(PoiseMatZeroRowsColumns(A, PoiseRank(ctx) ? 0 : count, rows, diagonal, NULL, NULL));
  int its = HeldIterations(A, count, rows, single);
  PoiseMatDestroy(&A);
  return its;
}

/* The diagonal of such rows is nobody's business: the count is that of any other. Springs are supports from
   where they are much stiffer than the body. */
static void CheckSupports(PoiseContext ctx, Support s, bool single)
{
  const double diagonals[] = {1e11, 1, 1e-30, 1e30}, stiff[] = {1e16, 1e23, 1e38, 0};
  int first = 0;
  for (int k = 0; k < 4 && (!s.springs || stiff[k] > 0); k++) {
    double diagonal = s.springs ? stiff[k] : diagonals[k];
    int its = SupportIterations(ctx, s, diagonal, single && diagonal > 1e-20);
    if (k == 0) first = its;
    CHECK(its > 0 && its == first);
  }
}

static void TestHeld(PoiseContext ctx)
{
  const Support supports[] = {{"bcsr", 3, false}, {"csr", 3, false}, {"csr", 1, true}, {"bcsr", 3, true}};
  SetOptions(ctx, "-x_pc_amg_coarse_size 60");
  for (int precision = 0; precision < 2; precision++) {
    SetOptions(ctx, precision ? "-x_pc_amg_precision double" : "-x_pc_amg_precision single");
    for (int s = 0; s < 4; s++) CheckSupports(ctx, supports[s], !precision);
  }
  SetOptions(ctx, "-x_pc_amg_redundant_size 0");
  if (PoiseSize(ctx) > 1) CheckSupports(ctx, supports[3], false);
}

int main(int argc, char **argv)
{
  static const Test tests[] = {{"parts", TestParts, TEST_LONG}, {"bodies", TestBodies, TEST_LONG},
                               {"bits", TestBits, TEST_SERIAL}, {"shifts", TestShifts, 0},
                               {"held", TestHeld, TEST_LONG},   {NULL, NULL, 0}};
  return TestMain(argc, argv, "pc_amg_singular", tests);
}
