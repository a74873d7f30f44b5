/* SPDX-License-Identifier: BSD-3-Clause */
/* What has changed of a matrix, and that nothing else is made anew: set-ups are counted. */
#include "mat/mat_device.h"
#include "pc/pc.h"
#include "problem.h"

enum { NX = 12, NY = 10 };

/* ---- the versions themselves ----------------------------------------------------------------- */

static void TestBits(PoiseContext ctx)
{
  const Version a = {1, 2, 3, 4, 5, 6}, none = {0};
  (void)ctx;
  CHECK_INT(poiseVersionChanged(&a, &a), 0);
  CHECK(!(~poiseVersionChanged(&none, &a)));
  for (int k = 0; k < 6; k++) {
    Version b = a;
    int64_t *counter[] = {&b.matrix, &b.pattern, &b.values, &b.near, &b.spaces, &b.product};
    const unsigned bit[] = {~0u,          CHANGED_PATTERN, CHANGED_VALUES,
                            CHANGED_NEAR, CHANGED_SPACES,  CHANGED_PRODUCT};
    ++*counter[k];
    CHECK_INT(poiseVersionChanged(&a, &b), bit[k]);
  }
}

/* ---- changes --------------------------------------------------------------------------------- */

static PoiseErr Nothing(PoiseMat A)
{
  (void)A;
  return POISE_OK;
}

static PoiseErr NoNull(PoiseMat A)
{
  return PoiseMatSetNullSpace(A, 0, 0, NULL);
}

static PoiseErr ConstantNull(PoiseMat A)
{
  return PoiseMatSetNullSpace(A, 1, 0, NULL);
}

static PoiseErr ConstantLeft(PoiseMat A)
{
  return PoiseMatSetTransposeNullSpace(A, 1, 0, NULL);
}

static PoiseErr NoLeft(PoiseMat A)
{
  return PoiseMatSetTransposeNullSpace(A, 0, 0, NULL);
}

static PoiseErr NoNear(PoiseMat A)
{
  return PoiseMatSetNearNullSpace(A, 0, 0, NULL);
}

static PoiseErr ConstantNear(PoiseMat A)
{
  return PoiseMatSetNearNullSpace(A, 1, 0, NULL);
}

static PoiseErr ToCsri(PoiseMat A)
{
  return PoiseMatSetType(A, "csri");
}

static PoiseErr ToSeg(PoiseMat A)
{
  return PoiseMatSetType(A, "seg");
}

static PoiseErr ToCsr(PoiseMat A)
{
  return PoiseMatSetType(A, "csr");
}

static PoiseErr ToPcsr(PoiseMat A)
{
  return PoiseMatSetType(A, "pcsr");
}

/* A library's, if it takes this matrix: not with offsets of 64 bits. */
static PoiseErr Kernel(PoiseMat A)
{
  const char *const *names = poiseCsrLibraries(PoiseMatContext(A)->device);
  return names && !A->csr.wide ? PoiseMatSetCSRKernel(A, names[0]) : POISE_OK;
}

static PoiseErr OwnKernel(PoiseMat A)
{
  return PoiseMatSetCSRKernel(A, "own");
}

static PoiseErr Weights(PoiseMat A)
{
  double w[8] = {3, 1, 1, 2, 1, 1, 1, 1};
  return PoiseMatSetPartitionWeights(A, PoiseSize(PoiseMatContext(A)), w);
}

static PoiseErr NoWeights(PoiseMat A)
{
  return PoiseMatSetPartitionWeights(A, 0, NULL);
}

static PoiseErr Values(PoiseMat A)
{
  return PoiseMatScale(A, 2);
}

/* An entry between unknowns that had none. */
static PoiseErr Pattern(PoiseMat A)
{
  PoiseInt row = 0, col = NX * NY / 2;
  double v = PoiseRank(PoiseMatContext(A)) ? 0 : 0.1;
  POISE_TRY(PoiseMatAddEntries(A, 1, &row, &col, &v));
  return PoiseMatAssemble(A);
}

typedef enum { NEVER, NEAR, MOVES, ALWAYS } Builds; /* MOVES: if rows go to other ranks */

static const struct {
  const char *name;
  PoiseErr (*make)(PoiseMat);
  Builds builds;
  bool singular; /* of the null space, so the system is not solved */
} changes[] = {
    {"nothing", Nothing, NEVER, false},
    {"no null space", NoNull, NEVER, false},
    {"constant null space", ConstantNull, NEVER, true},
    {"constant left", ConstantLeft, NEVER, true},
    {"no null space again", NoNull, NEVER, true},
    {"no left", NoLeft, NEVER, false},
    {"no near null space", NoNear, NEVER, false},
    {"constant near null space", ConstantNear, NEAR, false},
    {"nothing again", Nothing, NEVER, false},
    {"csri", ToCsri, NEVER, false},
    {"seg", ToSeg, NEVER, false},
    {"csr", ToCsr, NEVER, false},
    {"library", Kernel, NEVER, false},
    {"own kernel", OwnKernel, NEVER, false},
    {"weights", Weights, MOVES, false},
    {"no weights", NoWeights, MOVES, false},
    {"pcsr", ToPcsr, MOVES, false},
    {"csr after pcsr", ToCsr, MOVES, false},
    {"values", Values, ALWAYS, false},
    {"pattern", Pattern, ALWAYS, false},
    {"no near null space again", NoNear, NEAR, false},
};

enum { CHANGES = sizeof changes / sizeof *changes };

/* ---- preconditioners ------------------------------------------------------------------------- */

/* |b - A x| / |b| */
static double Residual(const Problem *p)
{
  double norm = NAN, size = NAN;
  CHECK_OK(PoiseKSPTrueResidual(p->ksp, p->b, p->x, &norm));
  CHECK_OK(PoiseVecNorm(p->b, POISE_NORM_2, &size));
  return norm / size;
}

static void Walk(PoiseContext ctx, const char *method, const char *pc)
{
  Problem p;
  if (!ProblemOpenGrid(ctx, NX, NY, 2, method, pc, &p)) return;
  CHECK_OK(PoiseMatSetType(p.A, "csr"));
  CHECK_OK(PoiseKSPSetTolerances(p.ksp, 1e-9, -1, -1, -1));
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  for (int k = 0; k < CHANGES; k++) {
    int64_t before = p.pc->builds;
    bool builds = changes[k].builds == ALWAYS || (changes[k].builds == NEAR && p.pc->type->near);
    int64_t matrix = p.pc->P->version.matrix;
    CHECK_OK(changes[k].make(p.A));
    CHECK_OK(PoiseKSPSetUp(p.ksp));
    bool moved = p.pc->P->version.matrix != matrix; /* to a copy with other rows, or back */
    CHECK(!moved || (changes[k].builds == MOVES && PoiseSize(ctx) > 1));
    builds = builds || moved;
    if ((p.pc->builds > before) != builds) printf("%s, %s: %s\n", method, pc, changes[k].name);
    CHECK((p.pc->builds > before) == builds);
    if (changes[k].singular) continue;
    CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
    CHECK(PoiseKSPConvergedReason(p.ksp) > 0 && Residual(&p) < 1e-6);
  }
  ProblemClose(&p);
}

static void TestPCs(PoiseContext ctx)
{
  static const char *const pcs[] = {"none", "jacobi", "pbjacobi", "ilu", "sor", "bjacobi", "amg"};
  for (size_t k = 0; k < sizeof pcs / sizeof *pcs; k++) Walk(ctx, "gmres", pcs[k]);
  Walk(ctx, "fgmres", "ksp");
  if (PoiseSize(ctx) == 1) Walk(ctx, "gmres", "lu");
}

/* ---- products -------------------------------------------------------------------------------- */

/* Another product of A x: of other options, another type, or a library's. */
static const struct {
  const char *options;
  PoiseErr (*make)(PoiseMat);
} products[] = {{"-v_mat_csri_chunk 16", PoiseMatSetFromOptions},
                {"-v_mat_csri_hubs 8", PoiseMatSetFromOptions},
                {"-v_mat_combine atomic", PoiseMatSetFromOptions},
                {"", ToSeg},
                {"-v_mat_seg_length 4", PoiseMatSetFromOptions},
                {"", ToCsr},
                {"-v_mat_index16 yes", PoiseMatSetFromOptions},
                {"", Kernel},
                {"", OwnKernel}};

typedef struct Columns { /* what A^T x has made, and its result */
  Version made;
  const void *array[3];
  uint64_t digest;
} Columns;

static Columns ColumnsOf(PoiseMat A, PoiseVec x, PoiseVec y)
{
  Columns c = {{0}, {NULL}, 0};
  Transposed *t = &A->transposed.index;
  CHECK_OK(PoiseMatMultTranspose(A, x, y));
  c.digest = SampleDigest(y);
  c.made = A->transposed.made;
  CHECK_OK(poiseBufferRead(&t->ptr, DEVICE, &c.array[0]));
  CHECK_OK(poiseBufferRead(&t->row, DEVICE, &c.array[1]));
  CHECK_OK(poiseBufferRead(&t->from, DEVICE, &c.array[2]));
  return c;
}

static int64_t Made(PoiseContext ctx)
{
  LogCounts log;
  poiseLogCounts(ctx, &log);
  return (int64_t)log.event[EVENT_MatChoose].calls;
}

/* A x is made anew once for each of these, and A^T x is not; a new pattern is one for both. */
static void TestProducts(PoiseContext ctx)
{
  PoiseMat A;
  PoiseVec x, y, z;
  if (!CHECK_OK(ScaledLaplacian(ctx, NX, NY, 1, &A)) || !CHECK_OK(PoiseMatSetType(A, "csri")) ||
      !CHECK_OK(PoiseMatSetOptionsPrefix(A, "v_")) || !CHECK_OK(PoiseMatCreateVecs(A, &x, &y)) ||
      !CHECK_OK(PoiseVecDuplicate(y, &z)))
    return;
  SampleFill(x, 3);
  CHECK_OK(PoiseMatMult(A, x, z));
  const Columns before = ColumnsOf(A, x, y);
  CHECK(before.made.matrix == A->version.matrix && before.array[2]);
  for (int k = 0; k < (int)(sizeof products / sizeof *products); k++) {
    int64_t product = A->version.product, made = Made(ctx);
    SetOptions(ctx, products[k].options);
    CHECK_OK(products[k].make(A));
    CHECK_OK(PoiseMatMult(A, x, y));
    CHECK_INT(Made(ctx) - made, A->version.product > product);
    CHECK(A->version.product > product || products[k].make == Kernel || products[k].make == OwnKernel);
    CHECK_OK(PoiseVecAXPY(y, -1, z));
    double error = NAN, size = NAN;
    CHECK_OK(PoiseVecNorm(y, POISE_NORM_INF, &error));
    CHECK_OK(PoiseVecNorm(z, POISE_NORM_INF, &size));
    CHECK_NEAR(error, 0, 1e-14 * size);
    const Columns now = ColumnsOf(A, x, y);
    CHECK(!memcmp(&now, &before, sizeof now));
  }
  int64_t made = Made(ctx);
  CHECK_OK(Pattern(A));
  CHECK_OK(PoiseMatMult(A, x, z));
  CHECK(ColumnsOf(A, x, y).made.pattern > before.made.pattern);
  CHECK_INT(Made(ctx) - made, 2);
  SetOptions(ctx, "-v_mat_csri_chunk 0 -v_mat_csri_hubs -1 -v_mat_combine ordered -v_mat_seg_length 0");
  SetOptions(ctx, "-v_mat_index16 auto");
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
  PoiseVecDestroy(&z);
  PoiseMatDestroy(&A);
}

/* ---- workers --------------------------------------------------------------------------------- */

enum { WORKERS = 3 };

typedef struct Counts { /* of all workers */
  double matrices, builds;
} Counts;

static Counts CountsOf(PoiseContext ctx)
{
  Counts sum = {0, 0};
  for (int r = 0; r < WORKERS; r++) {
    LogCounts log;
    poiseLogCounts(poiseWorkersContext(ctx->workers, r), &log);
    sum.matrices += log.event[EVENT_MatAssemble].calls;
    sum.builds += log.event[EVENT_PCSetUp].calls;
  }
  return sum;
}

/* The parts multiply as A does. */
static void CheckType(const Problem *p)
{
  char text[8000], type[64];
  snprintf(type, sizeof type, "type %s", PoiseMatType(p->A));
  TEST_PRINTED(PoiseMatContext(p->A), text, sizeof text, PoiseKSPView(p->ksp));
  CHECK(strstr(text, type) != NULL);
}

/* x keeps out of the null space exactly while A has one. */
static void CheckNullSpace(const Problem *p)
{
  double sum, norm;
  CHECK_OK(PoiseKSPSolve(p->ksp, p->b, p->x));
  CHECK_OK(PoiseVecSumEntries(p->x, &sum));
  CHECK_OK(PoiseVecNorm(p->x, POISE_NORM_1, &norm));
  CHECK((fabs(sum) < 1e-10 * norm) == (p->A->null.n > 0));
}

static void WalkWorkers(PoiseContext ctx, const char *method, const char *pc)
{
  Problem p;
  if (!ProblemOpenGrid(ctx, NX, NY, 2, method, pc, &p)) return;
  CHECK_OK(PoiseMatSetType(p.A, "csr"));
  CHECK_OK(PoiseKSPSetTolerances(p.ksp, 1e-9, -1, -1, 300));
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  for (int k = 0; k < CHANGES; k++) {
    const Counts before = CountsOf(ctx);
    bool builds = changes[k].builds == ALWAYS || (changes[k].builds == NEAR && p.pc->type->near);
    CHECK_OK(changes[k].make(p.A));
    CHECK_OK(PoiseKSPSetUp(p.ksp));
    const Counts now = CountsOf(ctx);
    bool moves = changes[k].make == ToPcsr || changes[k].make == ToCsr; /* the shares may be uneven */
    if (!moves && (now.builds > before.builds) != builds) printf("%s, %s: %s\n", method, pc, changes[k].name);
    CHECK(moves || (now.builds > before.builds) == builds);
    CHECK(moves || builds || now.matrices == before.matrices);
    CheckType(&p);
    CheckNullSpace(&p);
    if (changes[k].singular) continue;
    CHECK(PoiseKSPConvergedReason(p.ksp) > 0 && Residual(&p) < 1e-6);
  }
  ProblemClose(&p);
}

static void TestWorkers(PoiseContext ctx)
{
  static const char *const pcs[] = {"none", "jacobi", "pbjacobi", "ilu", "sor", "bjacobi", "amg"};
  PoiseContext own;
  char words[128];
  snprintf(words, sizeof words, "-device %s -host_threads 1 -solve_ranks %d", ctx->device->ops->name,
           WORKERS);
  if (!CHECK_OK(TestInitialize((PoiseInit){.serial = 1}, words, &own))) return;
  for (size_t k = 0; k < sizeof pcs / sizeof *pcs; k++) WalkWorkers(own, "gmres", pcs[k]);
  WalkWorkers(own, "fgmres", "ksp");
  CHECK_OK(PoiseFinalize(&own));
}

static const Test tests[] = {{"bits", TestBits, TEST_HOST_ONLY},
                             {"pcs", TestPCs, 0},
                             {"products", TestProducts, 0},
                             {"workers", TestWorkers, TEST_SERIAL},
                             {NULL, NULL, 0}};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "version", tests);
}
