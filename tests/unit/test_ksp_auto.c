/* SPDX-License-Identifier: BSD-3-Clause */
/* Method auto: what it sees, which rung solves, what it keeps, and what it says where none does. */
#include "pc/facts.h"
#include "pc/lu.h"
#include "problem.h"

/* ---- matrices that are a function of (i, j) -------------------------------------------------- */

typedef struct Kind {
  const char *name;
  PoiseInt side; /* of a grid of the plane */
  double wind;   /* upwind differences */
  int hollow;    /* so many rows and columns behind those of the grid: each the sum of some of its values */
} Kind;

static double ValueAt(const Kind *k, PoiseInt i, PoiseInt j)
{
  PoiseInt n = k->side * k->side, x = i % k->side, y = i / k->side;
  if (i >= n || j >= n) {
    PoiseInt low = i < j ? i : j, high = i < j ? j : i;
    return low < n && low % k->hollow == high - n ? 1 : 0;
  }
  if (i == j) return 4 + k->wind;
  if (j == i - 1 && x > 0) return -1 - k->wind;
  return (j == i + 1 && x + 1 < k->side) || (j == i - k->side && y > 0) ||
                 (j == i + k->side && y + 1 < k->side)
             ? -1
             : 0;
}

static PoiseErr Create(PoiseContext ctx, const Kind *k, double factor, PoiseMat *A)
{
  PoiseInt n = k->side * k->side, N = n + k->hollow, begin, m;
  PoiseSplit(ctx, N, &begin, &m);
  POISE_TRY(PoiseMatCreate(ctx, m, m, N, N, A));
  for (PoiseInt i = begin; i < begin + m; i++)
    for (PoiseInt j = 0; j < N; j++) {
      bool near = i >= n || j >= n || (j >= i - k->side && j <= i + k->side);
      double v = near ? factor * ValueAt(k, i, j) : 0;
      if (v != 0) POISE_TRY(PoiseMatAddBlock(*A, 1, &i, 1, &j, &v));
      if (i < n && j < n && j < i - k->side) j = i - k->side - 1; /* nothing is between */
      if (i < n && j < n && j > i + k->side) j = n - 1;
    }
  return PoiseMatAssemble(*A);
}

static bool Open(PoiseContext ctx, const Kind *k, Problem *p)
{
  PoiseMat A = NULL;
  return CHECK_OK(Create(ctx, k, 1, &A)) && ProblemOpen(A, p) && CHECK_OK(PoiseVecSetRandom(p->b, 7)) &&
         CHECK_OK(PoiseKSPSetType(p->ksp, "auto")) &&
         CHECK_OK(PoiseKSPSetTolerances(p->ksp, 1e-9, -1, -1, -1));
}

/* |b - A x| / |b| */
static double Left(const Problem *p)
{
  double norm = NAN, size = NAN;
  CHECK_OK(PoiseKSPTrueResidual(p->ksp, p->b, p->x, &norm));
  CHECK_OK(PoiseVecNorm(p->b, POISE_NORM_2, &size));
  return norm / size;
}

/* How often words are in the view. */
static int Count(const Problem *p, const char *words)
{
  char text[16000];
  int n = 0;
  PoiseContext ctx = PoiseKSPContext(p->ksp);
  FILE *out = TestPrintBegin(ctx);
  CHECK_OK(PoiseKSPView(p->ksp));
  TestPrintEnd(ctx, out, text, sizeof text);
  for (const char *at = strstr(text, words); at; at = strstr(at + 1, words)) n++;
  return n;
}

static void CheckSolved(const Problem *p, const char *by)
{
  CHECK(PoiseKSPConvergedReason(p->ksp) > 0);
  CHECK(Left(p) <= 1e-9 * (1 + 1e-12));
  CHECK(strstr(PoiseKSPReasonDetail(p->ksp), by) != NULL);
}

/* Rungs are others on a GPU. */
static bool IsGpu(PoiseContext ctx)
{
  return poiseModelIsGpu(&ctx->device->model);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void TestFacts(PoiseContext ctx)
{
  static const Kind kinds[] = {{"plane", 9, 0, 0}, {"wind", 9, 3, 0}, {"hollow", 9, 0, 5}};
  for (int k = 0; k < 3; k++) {
    PoiseMat A = NULL;
    Facts f;
    if (!CHECK_OK(Create(ctx, &kinds[k], 1e-12, &A)) || !CHECK_OK(poiseLookAt(A, &f))) return;
    CHECK(f.stored && f.symmetric == (k != 1));
    CHECK(f.rows == 81 + (k == 2 ? 5 : 0) && f.positive == 81 && f.negative == 0);
    CHECK(f.zero == f.rows - 81);
    PoiseMatDestroy(&A);
  }
}

/* By which rung, of those that the library has. */
static void TestRungs(PoiseContext ctx)
{
  static const struct {
    Kind kind;
    const char *by, *without; /* with and without SuperLU; NULL: not at all */
  } cases[] = {{{"easy", 20, 0, 0}, "-pc_type jacobi", "-pc_type jacobi"},
               {{"small", 20, 0, 0}, "-pc_type icc", "-pc_type icc"},
               {{"plane", 46, 0, 0}, "-pc_type icc", "-pc_type icc"},
               {{"large", 300, 0, 0}, "-pc_type amg", "-pc_type amg"},
               {{"wind", 46, 5, 0}, "-pc_type ilu", "-pc_type ilu"},
               {{"hollow", 46, 0, 7}, "-ksp_type ", "-ksp_type minres"},
               {{"hollow wind", 20, 5, 7}, "-ksp_type gmres", "-mat_order match"}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    const char *by = IsGpu(ctx) ? "-ksp_type" : poiseSuperLUIsThere() ? cases[k].by : cases[k].without;
    Problem p;
    if (!by || !Open(ctx, &cases[k].kind, &p)) continue;
    if (k == 0) CHECK_OK(PoiseMatShift(p.A, 50)); /* a dominant diagonal */
    CHECK_OK(PoiseKSPKeepHistory(p.ksp, 1));
    if (CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x))) CheckSolved(&p, by);
    PoiseInt n;
    const double *norms;
    CHECK_OK(PoiseKSPHistory(p.ksp, &n, &norms));
    CHECK(n > PoiseKSPIterations(p.ksp));
    ProblemClose(&p);
  }
}

/* What has solved comes first with new values; a new pattern is looked at. */
static void TestAgain(PoiseContext ctx)
{
  static const Kind large = {"large", 300, 0, 0}, wind = {"wind", 46, 5, 0};
  Problem p;
  PoiseMat B = NULL;
  if (!Open(ctx, &large, &p)) return;
  bool first = PoiseRank(ctx) == 0;
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  if (!IsGpu(ctx)) CHECK_INT(Count(&p, "|b - A x|"), first ? 3 : 0); /* jacobi, icc, then amg */
  CHECK_OK(PoiseMatScale(p.A, 2));
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  CheckSolved(&p, IsGpu(ctx) ? "-ksp_type cg" : "-pc_type amg");
  CHECK_INT(Count(&p, "|b - A x|"), first);
  CHECK_OK(Create(ctx, &wind, 1, &B));
  CHECK_OK(PoiseKSPSetOperators(p.ksp, B, NULL));
  PoiseVecDestroy(&p.x), PoiseVecDestroy(&p.b);
  CHECK_OK(PoiseMatCreateVecs(B, &p.x, &p.b));
  CHECK_OK(PoiseVecSetRandom(p.b, 9));
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  CheckSolved(&p, IsGpu(ctx) ? "-ksp_type bicgstab" : "-pc_type ilu");
  PoiseMatDestroy(&B);
  ProblemClose(&p);
}

/* Values that are far from symmetric. */
static void SetWind(Problem *p, const Kind *kind)
{
  PoiseInt begin, end, n = kind->side * kind->side;
  PoiseVecRange(p->b, &begin, &end);
  for (PoiseInt i = begin; i < end; i++)
    for (PoiseInt j = i - 1; j <= i + 1; j += 2) {
      double v = j < i ? -30 : 29;
      if (j >= 0 && j < n && ValueAt(kind, i, j) != 0) CHECK_OK(PoiseMatSetEntries(p->A, 1, &i, &j, &v));
    }
  CHECK_OK(PoiseMatAssemble(p->A));
}

/* New values of another kind: not symmetric, where what solved before needs that; and b that is NaN. */
static void TestOtherValues(PoiseContext ctx)
{
  static const Kind plane = {"plane", 46, 0, 0};
  Problem p;
  if (!Open(ctx, &plane, &p)) return;
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  CheckSolved(&p, "-ksp_type cg");
  SetWind(&p, &plane);
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  CHECK(PoiseKSPConvergedReason(p.ksp) > 0 && Left(&p) <= 1e-9 * (1 + 1e-12));
  CHECK_INT(Count(&p, "not symmetric"), PoiseRank(ctx) == 0);
  CHECK_OK(PoiseVecSet(p.b, INFINITY));
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  CHECK_INT(PoiseKSPConvergedReason(p.ksp), POISE_DIVERGED_NANORINF);
  CHECK(!strcmp(PoiseKSPReasonDetail(p.ksp), "the norm of b is inf"));
  CHECK_OK(PoiseVecSet(p.b, NAN));
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  CHECK_INT(PoiseKSPConvergedReason(p.ksp), POISE_DIVERGED_NANORINF);
  ProblemClose(&p);
}

/* b = 0, and a guess that is the solution, or near it. */
static void TestGuess(PoiseContext ctx)
{
  static const Kind plane = {"plane", 46, 0, 0};
  Problem p;
  double norm;
  if (!Open(ctx, &plane, &p)) return;
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  CHECK_OK(PoiseKSPSetInitialGuessNonzero(p.ksp, 1));
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  CHECK_INT(PoiseKSPIterations(p.ksp), 0);
  CHECK(PoiseKSPConvergedReason(p.ksp) > 0 && Left(&p) <= 1e-9 * (1 + 1e-12));
  CHECK_OK(PoiseVecScale(p.x, 1 + 1e-6));
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  CheckSolved(&p, "cg");
  CHECK_OK(PoiseKSPSetInitialGuessNonzero(p.ksp, 0));
  CHECK_OK(PoiseVecSet(p.b, 0));
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  CHECK_OK(PoiseVecNorm(p.x, POISE_NORM_2, &norm));
  CHECK(norm == 0 && PoiseKSPConvergedReason(p.ksp) > 0);
  ProblemClose(&p);
}

/* A row of zeros: x is none, which is said, and no worse than 0. Entries that are not finite are an error. */
static void TestHopeless(PoiseContext ctx)
{
  static const Kind plane = {"plane", 12, 0, 0};
  Problem p;
  PoiseInt row = 3, begin, end;
  if (!Open(ctx, &plane, &p)) return;
  PoiseVecRange(p.b, &begin, &end);
  for (int k = 0; k < 2; k++) {
    double v = k ? NAN : 0;
    for (PoiseInt j = 0; row >= begin && row < end && j < 144; j++)
      if (ValueAt(&plane, row, j) != 0) CHECK_OK(PoiseMatSetEntries(p.A, 1, &row, &j, &v));
    CHECK_OK(PoiseMatAssemble(p.A));
    if (k) {
      PoiseMat B = NULL;
      CHECK_OK(PoiseMatDuplicate(p.A, 1, &B));
      CHECK_OK(PoiseKSPSetOperators(p.ksp, B, NULL)); /* looked at */
      CHECK_ERR(PoiseKSPSolve(p.ksp, p.b, p.x), POISE_ERR_NUMERIC, "not finite");
      CHECK_OK(PoiseKSPSetOperators(p.ksp, p.A, NULL));
      PoiseMatDestroy(&B);
      break;
    }
    CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
    CHECK_INT(PoiseKSPConvergedReason(p.ksp), POISE_DIVERGED_ITS);
    CHECK(strstr(PoiseKSPReasonDetail(p.ksp), "no method reached") != NULL);
    CHECK(strstr(PoiseKSPReasonDetail(p.ksp), "structurally singular: rows 3 ") != NULL);
    CHECK(Left(&p) <= 1);
  }
  ProblemClose(&p);
}

/* A rung has its method's own side, whatever the one before had: no rung of a symmetric matrix without an
   inverse is refused for it. */
static void TestSides(PoiseContext ctx)
{
  static const Kind plane = {"plane", 12, 0, 0};
  enum { ZERO = 3, ROWS = 144 };
  Problem p;
  PoiseInt begin, end;
  double nothing = 0;
  if (!Open(ctx, &plane, &p)) return;
  PoiseVecRange(p.b, &begin, &end);
  for (PoiseInt i = begin; i < end; i++)
    for (PoiseInt j = 0; j < ROWS; j++)
      if ((i == ZERO || j == ZERO) && ValueAt(&plane, i, j) != 0)
        CHECK_OK(PoiseMatSetEntries(p.A, 1, &i, &j, &nothing));
  CHECK_OK(PoiseMatAssemble(p.A));
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  CHECK_INT(PoiseKSPConvergedReason(p.ksp), POISE_DIVERGED_ITS);
  CHECK_INT(Count(&p, "-ksp_type minres -pc_type jacobi"), PoiseRank(ctx) == 0);
  CHECK_INT(Count(&p, "is not offered"), 0);
  ProblemClose(&p);
}

/* ---- no incomplete factors ------------------------------------------------------------------- */

enum { SIDE = 18, CUBE = SIDE * SIDE * SIDE };

/* A grid of space, with springs of two strengths. An entry that is as good as 0 has none across. */
static PoiseErr CreateLopsided(PoiseContext ctx, PoiseMat *A)
{
  static const PoiseInt step[] = {1, SIDE, SIDE * SIDE};
  PoiseInt begin, m, zero = 0, far = SIDE + 1;
  double little = 1e-30;
  PoiseSplit(ctx, CUBE, &begin, &m);
  POISE_TRY(PoiseMatCreate(ctx, m, m, CUBE, CUBE, A));
  for (PoiseInt i = begin; i < begin + m; i++)
    for (int d = 0; d < 3; d++) {
      PoiseInt ends[] = {i, i + step[d]};
      double k = (i + d) % 3 ? 1 : 200, spring[] = {k, -k, -k, k}, wall = 1e-3;
      POISE_TRY(PoiseMatAddBlock(*A, 1, &i, 1, &i, &wall));
      if (i / step[d] % SIDE + 1 < SIDE) POISE_TRY(PoiseMatAddBlock(*A, 2, ends, 2, ends, spring));
    }
  if (PoiseRank(ctx) == 0) POISE_TRY(PoiseMatAddBlock(*A, 1, &zero, 1, &far, &little));
  return PoiseMatAssemble(*A);
}

/* Where icc refuses the pattern, and factors are dear, cg goes on with jacobi. */
static void TestLopsided(PoiseContext ctx)
{
  PoiseMat A = NULL;
  Problem p;
  if (!CHECK_OK(CreateLopsided(ctx, &A)) || !ProblemOpen(A, &p)) return;
  CHECK_OK(PoiseVecSetRandom(p.b, 7));
  CHECK_OK(PoiseKSPSetType(p.ksp, "auto"));
  CHECK_OK(PoiseKSPSetTolerances(p.ksp, 1e-9, -1, -1, -1));
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  if (poiseSuperLUIsThere()) { /* else what is dear is not known */
    CheckSolved(&p, "-ksp_type cg -pc_type jacobi");
    CHECK_INT(Count(&p, "-pc_type ilut"), 0);
  }
  if (!IsGpu(ctx)) CHECK_INT(Count(&p, "icc needs a symmetric pattern"), PoiseRank(ctx) == 0);
  ProblemClose(&p);
}

/* ---- unknowns in other rows ------------------------------------------------------------------ */

enum { TURNED = 1510, NEAR = 5 };

/* A dominant matrix of random neighbours, whose factors are full. Its unknowns are numbered anew, so that the
   diagonal is 0, or `diagonal`. */
static PoiseErr CreateTurned(PoiseContext ctx, double diagonal, PoiseMat *A)
{
  PoiseInt begin, m;
  PoiseSplit(ctx, TURNED / 2, &begin, &m);
  begin *= 2, m *= 2; /* whole blocks of 2 rows */
  POISE_TRY(PoiseMatCreate(ctx, m, m, TURNED, TURNED, A));
  for (PoiseInt i = begin; i < begin + m; i++) {
    PoiseInt own = (7 * i + 3) % TURNED;
    unsigned long long state = 977 * (unsigned long long)i + 1;
    double v = 8;
    POISE_TRY(PoiseMatAddBlock(*A, 1, &i, 1, &own, &v));
    for (int k = 0; k < NEAR; k++) {
      state = 6364136223846793005ull * state + 1442695040888963407ull;
      PoiseInt j = (PoiseInt)(state >> 33) % TURNED;
      v = 1.0 - (double)(state >> 20 & 0xff) / 128;
      if (j != i) POISE_TRY(PoiseMatAddBlock(*A, 1, &i, 1, &j, &v));
    }
    if (diagonal != 0) POISE_TRY(PoiseMatAddBlock(*A, 1, &i, 1, &i, &diagonal));
  }
  return PoiseMatAssemble(*A);
}

static bool OpenTurned(PoiseContext ctx, double diagonal, Problem *p)
{
  PoiseMat A = NULL;
  return CHECK_OK(CreateTurned(ctx, diagonal, &A)) && ProblemOpen(A, p) &&
         CHECK_OK(PoiseVecSetRandom(p->b, 7)) && CHECK_OK(PoiseKSPSetType(p->ksp, "auto")) &&
         CHECK_OK(PoiseKSPSetTolerances(p->ksp, 1e-9, -1, -1, -1));
}

/* Set, or clear, the options of a text such as "-pc_type ilu -mat_order match". */
static void SetOrClear(PoiseContext ctx, const char *text, bool set)
{
  char key[POISE_OPTION_LENGTH], value[POISE_OPTION_LENGTH];
  for (int n = 0; sscanf(text, " -%255s %255s%n", key, value, &n) == 2; text += n)
    CHECK_OK(set ? PoiseOptionsSet(ctx, key, value) : PoiseOptionsClear(ctx, key));
}

/* What the view tells repeats the solve. */
static void CheckRepeats(PoiseContext ctx, const Problem *p)
{
  PoiseKSP ksp = NULL;
  const char *said = strstr(PoiseKSPReasonDetail(p->ksp), "-ksp_type");
  if (!CHECK(said != NULL)) return;
  SetOrClear(ctx, said, true);
  CHECK_OK(PoiseMatSetFromOptions(p->A));
  CHECK_OK(PoiseKSPCreate(ctx, &ksp));
  CHECK_OK(PoiseKSPSetOperators(ksp, p->A, NULL));
  CHECK_OK(PoiseKSPSetTolerances(ksp, 1e-9, -1, -1, -1));
  CHECK_OK(PoiseKSPSetFromOptions(ksp));
  CHECK_OK(PoiseVecSet(p->x, 0));
  CHECK_OK(PoiseKSPSolve(ksp, p->b, p->x));
  CHECK(PoiseKSPConvergedReason(ksp) > 0 && Left(p) <= 1e-9 * (1 + 1e-12));
  CHECK_INT(PoiseKSPIterations(ksp), PoiseKSPIterations(p->ksp));
  SetOrClear(ctx, said, false);
  PoiseKSPDestroy(&ksp);
}

/* Where factors are dear, unknowns are matched with equations; with new values again. Where that cannot be,
   the view says so. */
static void TestMatched(PoiseContext ctx)
{
  static const double diagonals[] = {0, 1e-7};
  const char *by = IsGpu(ctx) ? "-pc_type jacobi -ksp_pc_side right -mat_order match"
                              : "-pc_type ilu -ksp_pc_side right -mat_order match,rcm";
  for (int k = 0; k < 2; k++) {
    Problem p;
    if (!OpenTurned(ctx, diagonals[k], &p)) return;
    CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
    CheckSolved(&p, by);
    CHECK_INT(Count(&p, "works with a rearranged copy"), PoiseRank(ctx) == 0);
    CHECK_OK(PoiseMatScale(p.A, 2));
    CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
    CheckSolved(&p, by);
    CHECK_INT(Count(&p, "|b - A x|"), PoiseRank(ctx) == 0);
    CheckRepeats(ctx, &p);
    ProblemClose(&p);
  }
}

/* The order is a setting that workers take. */
static void TestWorkers(PoiseContext ctx)
{
  char words[POISE_OPTION_LENGTH];
  PoiseContext own;
  Problem p;
  snprintf(words, sizeof words, "-device %s -host_threads 1 -solve_ranks 2", ctx->device->ops->name);
  if (!CHECK_OK(TestInitialize((PoiseInit){.serial = 1}, words, &own))) return;
  if (OpenTurned(own, 0, &p)) {
    CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
    CheckSolved(&p, "-mat_order match");
    CHECK_INT(Count(&p, "works with a rearranged copy"), 1);
    ProblemClose(&p);
  }
  CHECK_OK(PoiseFinalize(&own));
}

static void TestUnmatched(PoiseContext ctx)
{
  Problem p;
  if (!OpenTurned(ctx, 0, &p)) return;
  CHECK_OK(PoiseMatSetBlockSize(p.A, 2));
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  if (poiseSuperLUIsThere()) CHECK(PoiseKSPConvergedReason(p.ksp) > 0 && Left(&p) <= 1e-9 * (1 + 1e-12));
  CHECK(!strstr(PoiseKSPReasonDetail(p.ksp), "-mat_order"));
  CHECK((Count(&p, "exchanges columns one by one") > 0) == (PoiseRank(ctx) == 0));
  ProblemClose(&p);
}

/* ---- preconditioners ------------------------------------------------------------------------- */

static double Decades(PoiseInt i)
{
  return pow(10, 1.5 * TestRandom(5, (uint64_t)i));
}

/* Systems of a method that chooses are solved one after the other. */
static void CheckSeveral(Problem *p)
{
  PoiseContext ctx = PoiseKSPContext(p->ksp);
  PoiseVec B = NULL, X = NULL;
  PoiseInt n = PoiseVecLocalSize(p->b), N = PoiseVecSize(p->b);
  CHECK_OK(PoiseVecCreateBlock(ctx, n, N, 3, &B));
  CHECK_OK(PoiseVecCreateBlock(ctx, n, N, 3, &X));
  for (int j = 0; j < 3; j++) CHECK_OK(PoiseVecSetColumn(B, j, p->b));
  CHECK_OK(PoiseKSPSolveBlock(p->ksp, B, X));
  for (int j = 0; j < 3; j++) {
    CHECK_OK(PoiseVecGetColumn(X, j, p->x));
    CHECK(PoiseKSPColumnReason(p->ksp, j) > 0 && Left(p) <= 1e-9 * (1 + 1e-12));
  }
  PoiseVecDestroy(&B);
  PoiseVecDestroy(&X);
}

/* A preconditioner that is named stays; its method is chosen. */
static void TestNamed(PoiseContext ctx)
{
  static const Kind kinds[] = {{"plane", 20, 0, 0}, {"wind", 20, 5, 0}};
  static const char *const by[][2] = {
      {"-ksp_type cg -pc_type jacobi", "-ksp_type cg -pc_type sor"},
      {"-ksp_type bicgstab -pc_type jacobi", "-ksp_type bicgstab -pc_type sor"}};
  for (int k = 0; k < 2; k++) {
    Problem p;
    PoisePC pc;
    if (!Open(ctx, &kinds[k], &p)) return;
    CHECK_OK(PoiseKSPGetPC(p.ksp, &pc));
    CHECK_OK(PoisePCSetType(pc, "jacobi"));
    CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
    CheckSolved(&p, by[k][0]);
    CHECK_OK(PoiseOptionsSet(ctx, "pc_type", "sor"));
    CHECK_OK(PoiseOptionsSet(ctx, "pc_sor_omega", "1.25"));
    CHECK_OK(PoiseKSPSetFromOptions(p.ksp));
    CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
    CheckSolved(&p, by[k][1]);
    CHECK_INT(Count(&p, "omega 1.25"), PoiseRank(ctx) == 0);
    CHECK_OK(PoiseOptionsClear(ctx, "pc_type"));
    CHECK_OK(PoiseOptionsClear(ctx, "pc_sor_omega"));
    CHECK_OK(PoisePCSetType(pc, "lu"));
    CheckSeveral(&p);
    CHECK_OK(PoisePCSetType(pc, "ksp")); /* of a solver that nobody has made before */
    CHECK_OK(PoiseOptionsSet(ctx, "ksp_ksp_type", "preonly"));
    CHECK_OK(PoiseOptionsSet(ctx, "ksp_pc_type", "sor"));
    CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
    CheckSolved(&p, "-pc_type ksp");
    CHECK(Count(&p, "PC: type sor") == (PoiseRank(ctx) == 0));
    CHECK_OK(PoiseOptionsClear(ctx, "ksp_ksp_type"));
    CHECK_OK(PoiseOptionsClear(ctx, "ksp_pc_type"));
    CHECK_OK(PoisePCSetType(pc, "auto"));
    CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
    CHECK(PoiseKSPConvergedReason(p.ksp) > 0 && !strstr(PoiseKSPReasonDetail(p.ksp), "-pc_type sor"));
    CHECK_OK(PoisePCSetType(pc, "shell"));
    CHECK_ERR(PoiseKSPSolve(p.ksp, p.b, p.x), POISE_ERR_UNSUPPORTED, "name a method");
    ProblemClose(&p);
  }
}

/* Where nothing surer is behind, iterations go on: without a preconditioner the equations of a badly scaled A
   take more than the share of a rung. */
static void TestNoneLeft(PoiseContext ctx)
{
  static const Kind plane = {"plane", 20, 0, 0};
  Problem p;
  PoisePC pc;
  if (!Open(ctx, &plane, &p)) return;
  SampleSet(p.x, Decades);
  CHECK_OK(PoiseMatDiagonalScale(p.A, p.x, p.x));
  CHECK_OK(PoiseKSPGetPC(p.ksp, &pc));
  CHECK_OK(PoisePCSetType(pc, "none"));
  CHECK_OK(PoiseKSPSetTolerances(p.ksp, 1e-9, -1, -1, 20000));
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  CheckSolved(&p, "-pc_type none");
  CHECK_OK(PoiseKSPSetTolerances(p.ksp, 1e-9, -1, -1, 200));
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  CHECK_INT(PoiseKSPConvergedReason(p.ksp), POISE_DIVERGED_ITS);
  CHECK_INT(PoiseKSPIterations(p.ksp), 200);
  ProblemClose(&p);
}

/* `auto` becomes the type that suits P; with new values too. Settings of that type are options. */
static void TestChosen(PoiseContext ctx)
{
  static const struct {
    Kind kind;
    const char *method, *pc;
  } cases[] = {{{"plane", 46, 0, 0}, "cg", "icc"},
               {{"large", 142, 0, 0}, "cg", "amg"},
               {{"wind", 46, 5, 0}, "bicgstab", "ilu"},
               {{"hollow", 46, 0, 7}, "minres", "none"}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    Problem p;
    PoisePC pc;
    if (!Open(ctx, &cases[k].kind, &p)) return;
    CHECK_OK(PoiseKSPGetPC(p.ksp, &pc));
    CHECK_OK(PoiseKSPSetType(p.ksp, cases[k].method));
    CHECK_OK(PoisePCSetType(pc, "auto"));
    CHECK(!strcmp(PoisePCType(pc), "auto"));
    CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
    CHECK(PoiseKSPConvergedReason(p.ksp) > 0 && !strcmp(PoisePCType(pc), cases[k].pc));
    CHECK_INT(Count(&p, "auto chose it"), PoiseRank(ctx) == 0);
    CHECK_OK(PoisePCSetType(pc, cases[k].pc)); /* named, it stays */
    CHECK_INT(Count(&p, "auto chose it"), 0);
    ProblemClose(&p);
  }
}

static void TestChosenAnew(PoiseContext ctx)
{
  static const Kind plane = {"plane", 20, 0, 0};
  Problem p;
  PoisePC pc;
  if (!Open(ctx, &plane, &p)) return;
  CHECK_OK(PoiseKSPSetType(p.ksp, "fgmres"));
  CHECK_OK(PoiseKSPGetPC(p.ksp, &pc));
  CHECK_OK(PoiseOptionsSet(ctx, "pc_type", "auto"));
  CHECK_OK(PoiseOptionsSet(ctx, "pc_factor_levels", "1"));
  for (int k = 0; k < 2; k++) { /* options that are read again change nothing */
    CHECK_OK(PoiseKSPSetFromOptions(p.ksp));
    CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
    CHECK(!strcmp(PoisePCType(pc), "icc"));
    CHECK_INT(Count(&p, "fill of level 1"), PoiseRank(ctx) == 0);
  }
  SetWind(&p, &plane);
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  CHECK(!strcmp(PoisePCType(pc), "ilu") && PoiseKSPConvergedReason(p.ksp) > 0);
  CHECK_INT(Count(&p, "fill of level 1"), PoiseRank(ctx) == 0);
  CHECK_OK(PoiseOptionsClear(ctx, "pc_type"));
  CHECK_OK(PoiseOptionsClear(ctx, "pc_factor_levels"));
  ProblemClose(&p);
}

/* ---- shells ---------------------------------------------------------------------------------- */

static PoiseErr Mult(void *arg, PoiseVec x, PoiseVec y)
{
  return PoiseMatMult(arg, x, y);
}

static void TestShells(PoiseContext ctx)
{
  static const Kind kinds[] = {{"plane", 20, 0, 0}, {"wind", 20, 5, 0}};
  for (int k = 0; k < 2; k++) {
    Problem p;
    PoiseMat S = NULL;
    PoiseInt m;
    if (!Open(ctx, &kinds[k], &p)) return;
    PoiseMatLocalSizes(p.A, &m, NULL);
    CHECK_OK(
        PoiseMatCreateShell(ctx, m, m, POISE_DECIDE, POISE_DECIDE, &(PoiseShell){.mult = Mult}, p.A, &S));
    CHECK_OK(PoiseKSPSetOperators(p.ksp, S, NULL));
    CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
    CheckSolved(&p, k ? "gmres" : "minres");
    PoiseMatDestroy(&S);
    ProblemClose(&p);
  }
}

/* ---- memory, and others' settings ------------------------------------------------------------ */

static PoiseErr Body(PoiseContext ctx, void *arg)
{
  static const Kind plane = {"plane", 12, 2, 0};
  PoiseMat A = NULL;
  PoiseVec x = NULL, b = NULL;
  PoiseKSP ksp = NULL;
  (void)arg;
  PoiseErr e = Create(ctx, &plane, 1, &A);
  if (!e) e = PoiseMatCreateVecs(A, &x, &b);
  if (!e) e = PoiseVecSet(b, 1);
  if (!e) e = PoiseKSPCreate(ctx, &ksp);
  if (!e) e = PoiseKSPSetType(ksp, "auto");
  if (!e) e = PoiseKSPSetOperators(ksp, A, NULL);
  if (!e) e = PoiseKSPSolve(ksp, b, x);
  PoiseKSPDestroy(&ksp);
  PoiseVecDestroy(&b);
  PoiseVecDestroy(&x);
  PoiseMatDestroy(&A);
  return e;
}

/* Memory that is missing fails a rung, which others may do without, or the solve; nothing is lost. */
static void TestMemory(PoiseContext ctx)
{
  PoiseBytes held;
  PoisePrediction will;
  static const Kind plane = {"plane", 12, 0, 0};
  Problem p;
  CHECK_OK(Body(ctx, NULL));
  if (!Open(ctx, &plane, &p)) return;
  CHECK_ERR(PoiseKSPPredictBytes(p.ksp, &(PoiseMatCounts){0}, &will), POISE_ERR_UNSUPPORTED, "looked at A");
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  CHECK_OK(PoiseKSPBytes(p.ksp, &held));
  CHECK(held.host + held.device > 0);
  CHECK_OK(PoiseKSPSetType(p.ksp, "cg")); /* its solvers go */
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  CHECK_OK(PoiseKSPSetNormType(p.ksp, POISE_KSP_NORM_NATURAL));
  CHECK_OK(PoiseKSPSetType(p.ksp, "auto"));
  CHECK_ERR(PoiseKSPSolve(p.ksp, p.b, p.x), POISE_ERR_UNSUPPORTED, "natural");
  ProblemClose(&p);
}

static PoiseErr Told(PoiseKSP ksp, PoiseInt k, double norm, void *arg)
{
  (void)ksp, (void)norm;
  *(PoiseInt *)arg += k >= 0;
  return POISE_OK;
}

/* Monitors hear of the solvers inside, and their options have the prefix of auto. */
static void TestSettings(PoiseContext ctx)
{
  static const Kind plane = {"small", 20, 0, 0};
  Problem p;
  PoiseInt told = 0;
  if (!Open(ctx, &plane, &p)) return;
  CHECK_OK(PoiseKSPSetOptionsPrefix(p.ksp, "x_"));
  CHECK_OK(PoiseOptionsSet(ctx, "x_auto_pc_factor_shift_type", "nonzero"));
  CHECK_OK(PoiseKSPAddMonitor(p.ksp, Told, &told));
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  CHECK(told > PoiseKSPIterations(p.ksp));
  if (!IsGpu(ctx)) CHECK_INT(Count(&p, "shift nonzero"), PoiseRank(ctx) == 0);
  CHECK_OK(PoiseKSPSetTolerances(p.ksp, 1e-9, -1, -1, 3)); /* of all rungs */
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  CHECK(PoiseKSPIterations(p.ksp) <= 3);
  CHECK_INT(PoiseKSPConvergedReason(p.ksp), POISE_DIVERGED_ITS);
  ProblemClose(&p);
}

static PoiseErr Lie(PoiseKSP ksp, PoiseInt k, double norm, PoiseKSPReason *reason, void *arg)
{
  (void)ksp, (void)norm, (void)arg;
  *reason = k > 0 ? POISE_CONVERGED_RTOL : POISE_ITERATING;
  return POISE_OK;
}

/* A claim counts only if b - A x agrees. Factors are right at once. */
static void TestLies(PoiseContext ctx)
{
  static const Kind wind = {"wind", 46, 5, 0};
  Problem p;
  if (!Open(ctx, &wind, &p)) return;
  CHECK_OK(PoiseKSPSetConvergenceTest(p.ksp, Lie, NULL));
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  if (poiseSuperLUIsThere())
    CheckSolved(&p, "-pc_type lu");
  else
    CHECK((PoiseKSPConvergedReason(p.ksp) > 0) == (Left(&p) <= 1e-9 * (1 + 1e-12)));
  ProblemClose(&p);
}

static const Test tests[] = {{"facts", TestFacts, 0},
                             {"named", TestNamed, 0},
                             {"none_left", TestNoneLeft, 0},
                             {"chosen", TestChosen, 0},
                             {"chosen_anew", TestChosenAnew, 0},
                             {"rungs", TestRungs, 0},
                             {"again", TestAgain, 0},
                             {"guess", TestGuess, 0},
                             {"other_values", TestOtherValues, 0},
                             {"hopeless", TestHopeless, 0},
                             {"sides", TestSides, 0},
                             {"lopsided", TestLopsided, 0},
                             {"matched", TestMatched, 0},
                             {"workers", TestWorkers, TEST_SERIAL},
                             {"unmatched", TestUnmatched, 0},
                             {"shells", TestShells, 0},
                             {"memory", TestMemory, 0},
                             {"settings", TestSettings, 0},
                             {"lies", TestLies, 0},
                             {NULL, NULL, 0}};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "ksp_auto", tests);
}
