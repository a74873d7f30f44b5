/* SPDX-License-Identifier: BSD-3-Clause */
/* gmres and fgmres with a basis in fp32: what is solved, where cycles end, the Arnoldi relation, what it
   holds and moves, and what it says. */
#include "ksp/gmres.h"
#include "problem.h"

enum { NX = 24, NY = 20, N = NX * NY, MOST = 3000 };

typedef struct Way {
  const char *method, *pc, *refine;
  PoisePCSide side;
  int restart;
} Way;

static const Way ways[] = {
    {"gmres", "none", "never", POISE_PC_LEFT, 30},     {"gmres", "jacobi", "never", POISE_PC_RIGHT, 30},
    {"gmres", "jacobi", "ifneeded", POISE_PC_LEFT, 5}, {"gmres", "jacobi", "always", POISE_PC_LEFT, 100},
    {"gmres", "ilu", "never", POISE_PC_LEFT, 40},      {"gmres", "sor", "ifneeded", POISE_PC_RIGHT, 40},
    {"fgmres", "jacobi", "never", POISE_PC_RIGHT, 30}, {"fgmres", "none", "ifneeded", POISE_PC_RIGHT, 10},
    {"gmres", "jacobi", "never", POISE_PC_RIGHT, 200}, {"fgmres", "ilu", "never", POISE_PC_RIGHT, 200},
};
enum { NWAYS = sizeof ways / sizeof *ways };

static const char *const bases[] = {"fp64", "fp32"};

static bool Open(PoiseContext ctx, bool single, const Way *w, double rtol, Problem *p)
{
  char options[200];
  snprintf(options, sizeof options,
           "-ksp_gmres_basis %s -ksp_gmres_restart %d -ksp_gmres_cgs_refinement_type refine_%s",
           bases[single], w->restart, w->refine);
  SetOptions(ctx, options);
  return ProblemOpenGrid(ctx, NX, NY, 1, w->method, w->pc, p) && CHECK_OK(PoiseKSPSetFromOptions(p->ksp)) &&
         CHECK_OK(PoiseKSPSetPCSide(p->ksp, w->side)) && CHECK_OK(PoiseKSPKeepHistory(p->ksp, 1)) &&
         CHECK_OK(PoiseKSPSetTolerances(p->ksp, rtol, 0, 1e30, MOST));
}

/* Solve, and the norms; *its is one less than their number. */
static const double *Norms(Problem *p, PoiseInt *its)
{
  const double *h = NULL;
  PoiseInt count = 0;
  CHECK_OK(PoiseKSPSolve(p->ksp, p->b, p->x));
  CHECK_OK(PoiseKSPHistory(p->ksp, &count, &h));
  *its = PoiseKSPIterations(p->ksp);
  CHECK_INT(count, *its + 1);
  return h;
}

/* The first norm that has fallen so far. */
static PoiseInt Fallen(const double *h, PoiseInt its)
{
  PoiseInt k = 0;
  while (k < its && !(h[k] < 1e-5 * h[0])) k++;
  return k;
}

static void TestConverges(PoiseContext ctx)
{
  for (int k = 0; k < NWAYS; k++) {
    PoiseInt its[2] = {0};
    for (int single = 0; single < 2; single++) {
      Problem p;
      if (!Open(ctx, single, &ways[k], 1e-10, &p)) return;
      const double *h = Norms(&p, &its[single]);
      CHECK_INT(PoiseKSPConvergedReason(p.ksp), POISE_CONVERGED_RTOL);
      CHECK_INT(p.ksp->solve.claim.refuted, 0);
      CHECK(h && h[its[single]] <= 1e-10 * h[0]);
      CHECK(ProblemResidual(&p) <= (ways[k].side == POISE_PC_RIGHT ? 1.1e-10 : 1e-9) * NormOf(p.b));
      ProblemClose(&p);
    }
    if (!CHECK((double)its[1] >= 0.9 * (double)its[0] && (double)its[1] <= 1.5 * (double)its[0] + 10))
      printf("%s, %s: %lld iterations in fp64, %lld in fp32\n", ways[k].method, ways[k].pc, (long long)its[0],
             (long long)its[1]);
  }
}

/* ---- cycles ---------------------------------------------------------------------------------- */

static void Limit(Problem *p, PoiseInt most, PoiseKSPReason reason, PoiseInt base)
{
  PoiseInt its;
  CHECK_OK(PoiseKSPSetTolerances(p->ksp, 1e-8, 0, 1e30, most));
  Norms(p, &its);
  CHECK_INT(its, most);
  CHECK_INT(PoiseKSPConvergedReason(p->ksp), reason);
  CHECK_INT(p->ksp->solve.base, base);
}

/* It ends where the recurrence has fallen by 1e-5, unless that is behind its last column. No iteration is
   lost or told twice, and the limit counts all of them. */
static void TestCycles(PoiseContext ctx)
{
  for (int side = 0; side < 2; side++) {
    Way w = {"gmres", "jacobi", "never", side ? POISE_PC_RIGHT : POISE_PC_LEFT, 200};
    Problem p;
    PoiseInt its, fallen;
    if (!Open(ctx, true, &w, 1e-8, &p)) return;
    const double *h = Norms(&p, &its);
    fallen = Fallen(h, its);
    CHECK(fallen > 5 && fallen < its);
    CHECK_INT(p.ksp->solve.base, fallen);
    CHECK_INT(PoiseKSPConvergedReason(p.ksp), POISE_CONVERGED_RTOL);
    for (PoiseInt k = 1; k <= its; k++) CHECK(h[k] <= h[k - 1] * (1 + 1e-6));
    Limit(&p, fallen, POISE_DIVERGED_ITS, 0); /* the limit comes first */
    Limit(&p, fallen + 1, POISE_DIVERGED_ITS, fallen);
    CHECK_OK(PoiseKSPGMRESSetRestart(p.ksp, (int)fallen));
    Limit(&p, fallen + 1, POISE_DIVERGED_ITS, 0);
    CHECK_OK(PoiseKSPGMRESSetRestart(p.ksp, 200));
    CHECK_OK(PoiseKSPSetNormType(p.ksp, POISE_KSP_NORM_NONE));
    CHECK_OK(PoiseKSPKeepHistory(p.ksp, 0));
    for (PoiseInt most = fallen + 1; most <= 300; most = most < 300 ? 300 : 301) { /* far beyond rounding */
      CHECK_OK(PoiseKSPSetTolerances(p.ksp, 1e-8, 0, 1e30, most));
      CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
      CHECK_INT(PoiseKSPIterations(p.ksp), most);
      CHECK_INT(PoiseKSPConvergedReason(p.ksp), POISE_CONVERGED_ITS);
      CHECK(p.ksp->solve.base >= fallen);
    }
    CHECK(ProblemResidual(&p) <= 1e-13 * NormOf(p.b));
    ProblemClose(&p);
    if (!Open(ctx, false, &w, 1e-8, &p)) return;
    h = Norms(&p, &its);
    CHECK_INT(p.ksp->solve.base, 0);
    CHECK(llabs(Fallen(h, its) - fallen) <= 1);
    ProblemClose(&p);
  }
}

/* However often the host looks, and whether or not graphs are loops: the same bits and norms. */
static void TestLoops(PoiseContext ctx)
{
  static const PoiseInt replays[] = {0, 1, 3, -1};
  Device *dev = ctx->device;
  bool loops = dev->loops;
  for (int k = 0; k < NWAYS; k += 2) {
    double norms[MOST + 1];
    uint64_t bits = 0;
    PoiseInt its = 0, first = 0;
    Problem p;
    if (!Open(ctx, true, &ways[k], 1e-10, &p)) return;
    for (int r = 0; r < 8; r++) {
      dev->loops = loops && r < 4;
      if (r == 4) CHECK_OK(PoiseKSPSetFromOptions(p.ksp)); /* forgets what was captured */
      p.ksp->options.replay = replays[r % 4];
      const double *h = Norms(&p, &its);
      if (r == 0) {
        memcpy(norms, h, (size_t)(its + 1) * sizeof *h);
        bits = SampleDigest(p.x), first = its;
      }
      CHECK(SampleDigest(p.x) == bits);
      if (CHECK_INT(its, first)) CHECK(!memcmp(norms, h, (size_t)(its + 1) * sizeof *h));
    }
    dev->loops = loops;
    ProblemClose(&p);
  }
}

/* ---- vectors --------------------------------------------------------------------------------- */

/* v_j in fp64 */
static PoiseErr BasisVector(PoiseKSP ksp, int j, PoiseVec v)
{
  float single[N];
  double *p;
  PoiseInt n = PoiseVecLocalSize(v);
  TRY(poiseDeviceCopy(ksp->ctx->device, single, ksp->v32[j], (size_t)n * sizeof *single, COPY_TO_HOST));
  TRY(poiseDeviceSync(ksp->ctx->device));
  TRY(PoiseVecGetWrite(v, &p));
  for (PoiseInt i = 0; i < n; i++) p[i] = single[i];
  return PoiseVecRestore(v, &p);
}

/* A v_j is the combination of the basis that H says, but for the rounding of v_j+1: the product was of the
   rounded v_j. The basis is as good as orthonormal. */
static void TestRelation(PoiseContext ctx)
{
  enum { M = 12 };
  Way w = {"gmres", "none", "always", POISE_PC_LEFT, 2 * M};
  PoiseVec v[M + 1], r;
  double h[(2 * M + 1) * M], dots[M + 1];
  Problem p;
  if (!Open(ctx, true, &w, 1e-10, &p) || !CHECK_OK(PoiseVecDuplicate(p.x, &r))) return;
  Limit(&p, M, POISE_DIVERGED_ITS, 0);
  CHECK_OK(poiseDeviceCopy(ctx->device, h, p.ksp->scalars.array, sizeof h, COPY_TO_HOST));
  CHECK_OK(poiseDeviceSync(ctx->device));
  for (int j = 0; j < M; j++) { /* the last one was not made: the solve was over */
    if (!CHECK_OK(PoiseVecDuplicate(p.x, &v[j]))) return;
    CHECK_OK(BasisVector(p.ksp, j, v[j]));
    CHECK_OK(PoiseVecMDot(v[j], j + 1, v, dots));
    for (int i = 0; i <= j; i++) CHECK_NEAR(dots[i], i == j, 2e-7);
  }
  for (int j = 0; j + 1 < M; j++) {
    double column[M], left, below;
    CHECK_OK(PoiseMatMult(p.A, v[j], r));
    for (int i = 0; i <= j; i++) column[i] = -poiseGMRESColumn(h, 2 * M, j)[i];
    CHECK_OK(PoiseVecMAXPY(r, j + 1, column, v));
    below = NormOf(r);
    column[0] = -below;
    CHECK_OK(PoiseVecMAXPY(r, 1, column, &v[j + 1]));
    left = NormOf(r);
    CHECK(left <= 0x1p-24 * below && left > 1e-9 * below);
  }
  for (int j = 0; j < M; j++) CHECK_OK(PoiseVecDestroy(&v[j]));
  CHECK_OK(PoiseVecDestroy(&r));
  ProblemClose(&p);
}

typedef struct Seen {
  Problem *p;
  PoiseInt asked;
} Seen;

/* The iterate has the residual that the recurrence says. */
static PoiseErr Ask(PoiseKSP ksp, PoiseInt it, double norm, PoiseKSPReason *reason, void *arg)
{
  Seen *s = arg;
  double computed;
  CHECK_INT(it, s->asked++);
  TRY(PoiseKSPBuildSolution(ksp, s->p->exact));
  TRY(PoiseMatMult(s->p->A, s->p->exact, s->p->r));
  TRY(PoiseVecAYPX(s->p->r, -1, s->p->b));
  TRY(PoiseVecNorm(s->p->r, POISE_NORM_2, &computed));
  CHECK_NEAR(computed, norm, 0.05 * norm);
  *reason = norm <= 1e-9 * NormOf(s->p->b) ? POISE_CONVERGED_RTOL : POISE_ITERATING;
  return POISE_OK;
}

static void TestIterates(PoiseContext ctx)
{
  for (int k = 1; k < NWAYS; k++) {
    Problem p;
    if (ways[k].side == POISE_PC_LEFT || !Open(ctx, true, &ways[k], 1e-10, &p)) continue;
    Seen seen = {.p = &p};
    CHECK_OK(PoiseVecDuplicate(p.x, &p.exact));
    CHECK_OK(PoiseVecDuplicate(p.x, &p.r));
    CHECK_OK(PoiseKSPSetConvergenceTest(p.ksp, Ask, &seen));
    CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
    CHECK_INT(PoiseKSPConvergedReason(p.ksp), POISE_CONVERGED_RTOL);
    CHECK_INT(seen.asked, PoiseKSPIterations(p.ksp) + 1);
    CHECK(p.ksp->solve.base > 0 || ways[k].restart < 100); /* a cycle has fallen */
    ProblemClose(&p);
  }
}

/* ---- what it holds, moves and says ----------------------------------------------------------- */

static void TestBytes(PoiseContext ctx)
{
  enum { M = 9, ITS = 6 };
  Way w = {"gmres", "none", "never", POISE_PC_LEFT, M};
  PoiseBytes held[2];
  LogCounts counts[2];
  int64_t n = 0;
  for (int single = 0; single < 2; single++) {
    Problem p;
    if (!Open(ctx, single, &w, 1e-10, &p)) return;
    CHECK_OK(PoiseKSPSetTolerances(p.ksp, 1e-10, 0, 1e30, ITS));
    CHECK_OK(PoiseKSPSetUp(p.ksp));
    CHECK_OK(PoiseKSPBytes(p.ksp, &held[single]));
    counts[single] = ProblemCounts(&p);
    n = PoiseVecLocalSize(p.x);
    ProblemClose(&p);
  }
  int64_t padded = (n + 31) / 32 * 32, less = 8 * n * M - 4 * padded * (M + 1);
  CHECK_INT(held[0].host + held[0].device - held[1].host - held[1].device, less);
  double basis = 0; /* vectors of the basis that are read: twice by each iteration, once for x */
  for (int j = 0; j < ITS; j++) basis += 2 * (j + 1);
  basis += ITS;
  CHECK_NEAR(counts[0].event[EVENT_KSPBasis].bytes - counts[1].event[EVENT_KSPBasis].bytes,
             4 * basis * (double)n, 0);
  CHECK_NEAR(counts[1].event[EVENT_KSPVectors].bytes - counts[0].event[EVENT_KSPVectors].bytes,
             4.0 * (ITS + 1) * (double)n, 0);
}

static void TestView(PoiseContext ctx)
{
  char text[8192];
  for (int single = 0; single < 2; single++) {
    Problem p;
    if (!Open(ctx, single, &ways[0], 1e-10, &p)) return;
    CHECK_OK(PoiseKSPSetUp(p.ksp));
    TEST_PRINTED(ctx, text, sizeof text, PoiseKSPView(p.ksp));
    if (PoiseRank(ctx) == 0) {
      CHECK(strstr(text, single ? "restart 30, basis in fp32, classical" : "restart 30, basis in fp64,"));
      CHECK(strstr(text, single ? " norm, 5 work vectors and 31 in fp32\n" : " norm, 35 work vectors\n"));
    }
    ProblemClose(&p);
  }
}

/* ---- what goes wrong ------------------------------------------------------------------------- */

/* A restart whose norm has left the recurrence ends the solve in fp64; in fp32 only if it has not fallen. */
static void TestLeft(PoiseContext ctx)
{
  static const struct {
    double norm;
    int single, goes_on;
  } cases[] = {{0.5, 0, 0}, {0.5, 1, 1}, {1.2, 1, 0}, {0.15, 0, 1}, {0.15, 1, 1}};
  double array[32] = {0}, in[POISE_SLOTS] = {0}, out[POISE_SLOTS], c[POISE_MAX_COEFS], ring;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    PhaseArgs a = {.flags = 1, .array = array, .c[0].value = cases[k].single};
    a.conv = (Convergence){.history = &ring, .test = 1};
    memset(out, 0, sizeof out);
    poiseGMRESGamma(array, 1)[1] = 0.1;
    in[GM_RR] = cases[k].norm * cases[k].norm, in[GM_FIRST] = 1, in[GM_TOLERANCE] = 0.1;
    in[SLOT_MAXITS] = 100, in[SLOT_NORM0] = 1, in[SLOT_DTOL] = 1e5;
    CHECK_INT(gmres_restart_f32_begin(in, out, &a, c), cases[k].goes_on);
    CHECK_NEAR(out[SLOT_REASON], cases[k].goes_on ? 0 : REASON_BREAKDOWN, 0);
  }
  CHECK_OK(PoiseBarrier(ctx));
}

/* A solve that has ended with a cycle that fell goes on while the norms at the beginnings halve; without a
   norm it always does. */
static void TestStalls(PoiseContext ctx)
{
  Problem p;
  double norm = -1;
  if (!Open(ctx, true, &ways[0], 1e-10, &p)) return;
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  CHECK(!poiseGMRESStalls(p.ksp, &norm));
  p.ksp->result.reason = POISE_DIVERGED_BREAKDOWN;
  p.ksp->result.slots[GM_FIRST] = 3;
  p.ksp->result.slots[GM_ENDED] = GM_FALLEN;
  CHECK(poiseGMRESStalls(p.ksp, &norm) && norm == 3);
  poiseGMRESExplain(p.ksp);
  CHECK(strstr(PoiseKSPReasonDetail(p.ksp), "-ksp_gmres_basis fp64 may help") != NULL);
  p.ksp->norm = POISE_KSP_NORM_NONE;
  CHECK(poiseGMRESStalls(p.ksp, &norm) && norm == 0);
  ProblemClose(&p);
}

static void TestNumbers(PoiseContext ctx)
{
  Problem p;
  if (!Open(ctx, true, &ways[1], 1e-10, &p)) return;
  SampleConstant(p.b, NAN);
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  CHECK_INT(PoiseKSPConvergedReason(p.ksp), POISE_DIVERGED_NANORINF);
  SampleConstant(p.b, 0);
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  CHECK(PoiseKSPConvergedReason(p.ksp) > 0 && PoiseKSPIterations(p.ksp) == 0);
  for (int k = 0; k < 2; k++) { /* the squares of the norm leave the range of a double, and of fp32 */
    SampleConstant(p.b, k ? 1e200 : 1e-200);
    CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
    CHECK_INT(PoiseKSPConvergedReason(p.ksp), POISE_CONVERGED_RTOL);
    CHECK(ProblemResidual(&p) <= 1.1e-10 * NormOf(p.b));
  }
  ProblemClose(&p);
}

/* Host and mock: the same bits. */
static void TestDevices(PoiseContext ctx)
{
  static const char *const devices[] = {"-device host", "-device mock", "-device mock -ksp_replay 0"};
  uint64_t bits[3] = {0};
  PoiseInt its[3] = {0};
  (void)ctx;
  for (int k = 0; k < 3; k++) {
    PoiseContext own;
    Problem p;
    if (!CHECK_OK(TestInitialize((PoiseInit){.serial = 1}, devices[k], &own))) return;
    if (Open(own, true, &ways[1], 1e-10, &p)) {
      Norms(&p, &its[k]);
      bits[k] = SampleDigest(p.x);
    }
    ProblemClose(&p);
    CHECK_OK(PoiseFinalize(&own));
    CHECK(bits[k] == bits[0] && its[k] == its[0]);
  }
}

static const Test tests[] = {
    {"converges", TestConverges, 0},
    {"cycles", TestCycles, 0},
    {"loops", TestLoops, 0},
    {"relation", TestRelation, 0},
    {"iterates", TestIterates, 0},
    {"bytes", TestBytes, 0},
    {"view", TestView, 0},
    {"left", TestLeft, TEST_SERIAL},
    {"stalls", TestStalls, 0},
    {"numbers", TestNumbers, 0},
    {"devices", TestDevices, TEST_SERIAL | TEST_HOST_ONLY},
    {NULL, NULL, 0},
};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "basis", tests);
}
