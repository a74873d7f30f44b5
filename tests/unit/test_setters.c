/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The later call wins, whether it is a setter or reads options. Every setter that has an option is tried
  before and after reading options. Results are judged by what the objects then do or hold, not by what they
  report.
*/
#include "ksp/gmres.h"
#include "pc/nested/mg.h"
#include "shapes.h"

typedef struct Objects {
  PoiseMat A;
  PoiseKSP ksp;
  PoisePC pc;
  char prefix[16];
} Objects;

typedef struct Setter {
  const char *name;
  const char *before; /* the types of solver and preconditioner that it belongs to; NULL: any */
  const char *pc;
  const char *option; /* without the prefix */
  PoiseErr (*set)(Objects *o);
  double (*get)(Objects *o);
  bool library; /* only where a device has one to multiply with */
} Setter;

/* ---- what is set, and found ------------------------------------------------------------------ */

#define KSP_OPTION(name, call, found)   \
  static PoiseErr Set##name(Objects *o) \
  {                                     \
    return call;                        \
  }                                     \
  static double Get##name(Objects *o)   \
  {                                     \
    return (double)(found);             \
  }

KSP_OPTION(Type, PoiseKSPSetType(o->ksp, "cg"), PoiseKSPType(o->ksp)[0])
KSP_OPTION(Rtol, PoiseKSPSetTolerances(o->ksp, 0.125, -1, -1, -1), o->ksp->options.rtol)
KSP_OPTION(Atol, PoiseKSPSetTolerances(o->ksp, -1, 0.125, -1, -1), o->ksp->options.atol)
KSP_OPTION(Dtol, PoiseKSPSetTolerances(o->ksp, -1, -1, 8, -1), o->ksp->options.dtol)
KSP_OPTION(Maxits, PoiseKSPSetTolerances(o->ksp, -1, -1, -1, 8), o->ksp->options.maxits)
KSP_OPTION(Guess, PoiseKSPSetInitialGuessNonzero(o->ksp, 1), o->ksp->options.guess_nonzero)
KSP_OPTION(Error, PoiseKSPSetErrorIfNotConverged(o->ksp, 1), o->ksp->options.error_if_not_converged)
KSP_OPTION(Restart, PoiseKSPGMRESSetRestart(o->ksp, 5), poiseGMRESRestart(o->ksp))
KSP_OPTION(RestartGCR, PoiseKSPGCRSetRestart(o->ksp, 5), o->ksp->type->cycle(o->ksp))
KSP_OPTION(AugDim, PoiseKSPLGMRESSetAugDim(o->ksp, 5), o->ksp->type->vectors(o->ksp))
KSP_OPTION(Mmax, PoiseKSPFCGSetMmax(o->ksp, 5), o->ksp->type->cycle(o->ksp))
KSP_OPTION(PCType, PoisePCSetType(o->pc, "sor"), PoisePCType(o->pc)[0])
KSP_OPTION(MatType, PoiseMatSetType(o->A, "csri"), PoiseMatType(o->A)[3])
KSP_OPTION(BlockSize, PoiseMatSetBlockSize(o->A, 3), PoiseMatBlockSize(o->A))
KSP_OPTION(Partition, PoiseMatSetPartition(o->A, POISE_PARTITION_NONZEROS), o->A->asked.partition)
KSP_OPTION(Order, PoiseMatSetOrder(o->A, POISE_ORDER_RCM), o->A->asked.order)
KSP_OPTION(LocalType, PoiseMatSetLocalType(o->A, "csri"), o->A->asked.local ? o->A->asked.local->name[3] : -1)
KSP_OPTION(Library, PoiseMatSetCSRKernel(o->A, "mock"), o->A->product.options.library != 0)

/* The solution after some iterations. */
static double Norm(Objects *o)
{
  PoiseVec b, x;
  double norm = NAN;
  if (!CHECK_OK(PoiseMatCreateVecs(o->A, &x, &b))) return norm;
  SampleFill(b, 3);
  CHECK_OK(PoiseKSPSolve(o->ksp, b, x));
  CHECK_OK(PoiseVecNorm(x, POISE_NORM_2, &norm));
  PoiseVecDestroy(&b);
  PoiseVecDestroy(&x);
  return norm;
}

static PoiseErr SetScale(Objects *o)
{
  return PoiseKSPRichardsonSetScale(o->ksp, 0.25);
}

static PoiseErr SetBounds(Objects *o)
{
  return PoiseKSPChebyshevSetEigenvalues(o->ksp, 2, 0.5);
}

static PoiseErr SetNorm(Objects *o)
{
  return PoiseKSPSetNormType(o->ksp, POISE_KSP_NORM_UNPRECONDITIONED);
}

static double GetNorm(Objects *o)
{
  CHECK_OK(PoiseKSPSetUp(o->ksp));
  return (double)PoiseKSPNormUsed(o->ksp);
}

static PoiseErr SetSide(Objects *o)
{
  return PoiseKSPSetPCSide(o->ksp, POISE_PC_RIGHT);
}

static double GetSide(Objects *o)
{
  CHECK_OK(PoiseKSPSetUp(o->ksp));
  return (double)o->ksp->side;
}

static PoiseErr SetReuse(Objects *o)
{
  return PoiseKSPSetReusePreconditioner(o->ksp, 1);
}

/* Is M built anew for other values? */
static double GetReuse(Objects *o)
{
  CHECK_OK(PoiseKSPSetUp(o->ksp));
  int64_t builds = o->pc->builds;
  CHECK_OK(PoiseMatScale(o->A, 2));
  CHECK_OK(PoiseKSPSetUp(o->ksp));
  return (double)(o->pc->builds - builds);
}

/* How many blocks there are on all ranks, and how long this one's first is; -1: no solvers in them. */
static double GetBlocks(Objects *o)
{
  PoiseInt count, first;
  PoiseKSP *ksp;
  PoiseErr e = PoisePCBJacobiGetSubKSP(o->pc, &count, &first, &ksp);
  if (e == POISE_ERR_STATE) return -1;
  if (!CHECK_OK(e) || !CHECK_OK(PoisePCSetUp(o->pc))) return NAN;
  double sum = (double)count;
  CHECK_OK(PoiseSum(PoiseMatContext(o->A), 1, &sum));
  return sum + (double)ksp[0]->A->rows->n / 100;
}

static PoiseErr SetTotal(Objects *o)
{
  return PoisePCBJacobiSetTotalBlocks(o->pc, 2 * PoiseSize(PoiseMatContext(o->A)));
}

static PoiseErr SetLocal(Objects *o)
{
  return PoisePCBJacobiSetLocalBlocks(o->pc, 3, NULL);
}

static PoiseErr SetLengths(Objects *o)
{
  return PoisePCBJacobiSetLocalBlocks(o->pc, 3, (PoiseInt[]){2, 4, 6});
}

static PoiseErr SetInside(Objects *o)
{
  PoiseKSP inner;
  POISE_TRY(PoisePCKSPGetKSP(o->pc, &inner));
  return PoiseKSPSetTolerances(inner, 0.5, -1, -1, -1);
}

static double GetInside(Objects *o)
{
  PoiseKSP inner = NULL;
  CHECK_OK(PoiseKSPSetUp(o->ksp));
  return CHECK_OK(PoisePCKSPGetKSP(o->pc, &inner)) ? inner->options.rtol : NAN;
}

static PoiseErr SetSub(Objects *o)
{
  PoiseKSP *ksp;
  POISE_TRY(PoisePCBJacobiGetSubKSP(o->pc, NULL, NULL, &ksp));
  return PoiseKSPSetTolerances(ksp[0], 0.5, -1, -1, -1);
}

static double GetSub(Objects *o)
{
  PoiseKSP *ksp = NULL;
  CHECK_OK(PoiseKSPSetUp(o->ksp));
  return CHECK_OK(PoisePCBJacobiGetSubKSP(o->pc, NULL, NULL, &ksp)) ? ksp[0]->options.rtol : NAN;
}

static PoiseErr SetCoarse(Objects *o)
{
  PoiseKSP coarse;
  POISE_TRY(PoisePCMGGetCoarseSolve(o->pc, &coarse));
  return PoiseKSPSetTolerances(coarse, 0.5, -1, -1, -1);
}

static double GetCoarse(Objects *o)
{
  PoiseKSP coarse = NULL;
  CHECK_OK(PoiseKSPSetUp(o->ksp));
  return CHECK_OK(PoisePCMGGetCoarseSolve(o->pc, &coarse)) ? coarse->options.rtol : NAN;
}

static PoiseErr SetMgCycles(Objects *o)
{
  return PoisePCMGMultiplicativeSetCycles(o->pc, 3);
}

static double GetMgCycles(Objects *o)
{
  return (double)((const Mg *)o->pc->data)->cycles;
}

static const Setter setters[] = {
    {"KSPSetType", NULL, NULL, "ksp_type minres", SetType, GetType, false},
    {"KSPSetTolerances, relative", NULL, NULL, "ksp_rtol 0.25", SetRtol, GetRtol, false},
    {"KSPSetTolerances, absolute", NULL, NULL, "ksp_atol 0.25", SetAtol, GetAtol, false},
    {"KSPSetTolerances, divergence", NULL, NULL, "ksp_divtol 4", SetDtol, GetDtol, false},
    {"KSPSetTolerances, iterations", NULL, NULL, "ksp_max_it 4", SetMaxits, GetMaxits, false},
    {"KSPSetNormType", "richardson", NULL, "ksp_norm_type none", SetNorm, GetNorm, false},
    {"KSPSetPCSide", "gmres", NULL, "ksp_pc_side left", SetSide, GetSide, false},
    {"KSPSetInitialGuessNonzero", NULL, NULL, "ksp_initial_guess_nonzero no", SetGuess, GetGuess, false},
    {"KSPSetErrorIfNotConverged", NULL, NULL, "ksp_error_if_not_converged no", SetError, GetError, false},
    {"KSPSetReusePreconditioner", NULL, "ilu", "ksp_reuse_preconditioner no", SetReuse, GetReuse, false},
    {"KSPSetReusePreconditioner", "fgmres", "ksp", "ksp_reuse_preconditioner no", SetReuse, GetReuse, false},
    {"KSPGMRESSetRestart", "gmres", NULL, "ksp_gmres_restart 9", SetRestart, GetRestart, false},
    {"KSPGMRESSetRestart", "fgmres", NULL, "ksp_gmres_restart 9", SetRestart, GetRestart, false},
    {"KSPGMRESSetRestart", "lgmres", NULL, "ksp_gmres_restart 9", SetRestart, GetRestart, false},
    {"KSPLGMRESSetAugDim", "lgmres", NULL, "ksp_lgmres_augment 9", SetAugDim, GetAugDim, false},
    {"KSPGCRSetRestart", "gcr", NULL, "ksp_gcr_restart 9", SetRestartGCR, GetRestartGCR, false},
    {"KSPFCGSetMmax", "fcg", NULL, "ksp_fcg_mmax 9", SetMmax, GetMmax, false},
    {"KSPRichardsonSetScale", "richardson", "jacobi", "ksp_richardson_scale 0.5", SetScale, Norm, false},
    {"KSPChebyshevSetEigenvalues", "chebyshev", "jacobi", "ksp_chebyshev_eigenvalues 0.1,1.5", SetBounds,
     Norm, false},
    {"PCSetType", NULL, NULL, "pc_type jacobi", SetPCType, GetPCType, false},
    {"PCBJacobiSetTotalBlocks", NULL, "bjacobi", "pc_bjacobi_blocks 0", SetTotal, GetBlocks, false},
    {"PCBJacobiSetTotalBlocks", NULL, "bjacobi", "pc_bjacobi_local_blocks 4", SetTotal, GetBlocks, false},
    {"PCBJacobiSetTotalBlocks", NULL, "bjacobi", "pc_bjacobi_supervariables 4", SetTotal, GetBlocks, false},
    {"PCBJacobiSetLocalBlocks", NULL, "bjacobi", "pc_bjacobi_blocks 0", SetLocal, GetBlocks, false},
    {"PCBJacobiSetLocalBlocks", NULL, "bjacobi", "pc_bjacobi_blocks 7", SetLocal, GetBlocks, false},
    {"PCBJacobiSetLocalBlocks", NULL, "bjacobi", "pc_bjacobi_local_blocks 4", SetLocal, GetBlocks, false},
    {"PCBJacobiSetLocalBlocks, lengths", NULL, "bjacobi", "pc_bjacobi_local_blocks 3", SetLengths, GetBlocks,
     false},
    {"PCBJacobiSetLocalBlocks, lengths", NULL, "bjacobi", "pc_bjacobi_supervariables 4", SetLengths,
     GetBlocks, false},
    {"the coarse solver of mg", NULL, "mg", "mg_coarse_ksp_rtol 0.25", SetCoarse, GetCoarse, false},
    {"PCMGMultiplicativeSetCycles", NULL, "mg", "pc_mg_multiplicative_cycles 2", SetMgCycles, GetMgCycles,
     false},
    {"a solver inside", "fgmres", "ksp", "ksp_ksp_rtol 0.25", SetInside, GetInside, false},
    {"a solver of a block", NULL, "bjacobi", "sub_ksp_rtol 0.25", SetSub, GetSub, false},
    {"MatSetType", NULL, NULL, "mat_type seg", SetMatType, GetMatType, false},
    {"MatSetBlockSize", NULL, NULL, "mat_block_size 2", SetBlockSize, GetBlockSize, false},
    {"MatSetPartition", NULL, NULL, "mat_partition bytes", SetPartition, GetPartition, false},
    {"MatSetLocalType", NULL, NULL, "mat_local_type seg", SetLocalType, GetLocalType, false},
    {"MatSetOrder", NULL, NULL, "mat_order natural", SetOrder, GetOrder, false},
    {"MatSetCSRKernel", NULL, NULL, "mat_csr_kernel own", SetLibrary, GetLibrary, true},
};
enum { NSETTERS = sizeof setters / sizeof *setters };

/* ---- in either order ------------------------------------------------------------------------- */

enum { CODE = 1, OPTION = 2 };

static PoiseErr Open(PoiseContext ctx, int k, Objects *o)
{
  const Setter *s = &setters[k];
  Shape shape = ShapeOf(ctx, SYMMETRIC, EVEN, 12 * PoiseSize(ctx));
  char text[100];
  shape.diagonal = 40;
  *o = (Objects){.A = Matrix(ctx, &shape)};
  snprintf(o->prefix, sizeof o->prefix, "o%d_", k);
  snprintf(text, sizeof text, "-%s%s", o->prefix, s->option);
  POISE_TRY(PoiseOptionsSetString(ctx, text));
  POISE_TRY(PoiseMatSetType(o->A, "csr"));
  POISE_TRY(PoiseMatSetOptionsPrefix(o->A, o->prefix));
  POISE_TRY(PoiseKSPCreate(ctx, &o->ksp));
  POISE_TRY(PoiseKSPSetOptionsPrefix(o->ksp, o->prefix));
  POISE_TRY(PoiseKSPSetTolerances(o->ksp, 1e-30, -1, -1, 3));
  POISE_TRY(PoiseKSPSetOperators(o->ksp, o->A, NULL));
  POISE_TRY(PoiseKSPGetPC(o->ksp, &o->pc));
  if (s->before) POISE_TRY(PoiseKSPSetType(o->ksp, s->before));
  return s->pc ? PoisePCSetType(o->pc, s->pc) : POISE_OK;
}

static PoiseErr Say(Objects *o, const Setter *s, int what)
{
  if (what == CODE) return s->set(o);
  POISE_TRY(PoiseMatSetFromOptions(o->A));
  return PoiseKSPSetFromOptions(o->ksp);
}

/* What is found after `first` and `second`, which may be 0; `built`: the solver is set up before and between.
   */
static double Found(PoiseContext ctx, int k, int first, int second, bool built)
{
  Objects o;
  double found = NAN;
  if (!CHECK_OK(Open(ctx, k, &o))) return found;
  if (built) CHECK_OK(PoiseKSPSetUp(o.ksp));
  if (first) CHECK_OK(Say(&o, &setters[k], first));
  if (built && !setters[k].library) CHECK_OK(PoiseKSPSetUp(o.ksp));
  if (second) CHECK_OK(Say(&o, &setters[k], second));
  found = setters[k].get(&o);
  PoiseKSPDestroy(&o.ksp);
  PoiseMatDestroy(&o.A);
  return found;
}

static void TestSetters(PoiseContext ctx)
{
  CHECK_OK(PoiseOptionsSet(ctx, "options_left", "no"));
  for (int k = 0; k < NSETTERS; k++)
    for (int built = 0; built < 2; built++) {
      if (setters[k].library && strcmp(ctx->device->ops->name, "mock")) continue;
      double code = Found(ctx, k, CODE, 0, built), option = Found(ctx, k, OPTION, 0, built);
      double later[] = {Found(ctx, k, OPTION, CODE, built), Found(ctx, k, CODE, OPTION, built)};
      bool good = CHECK(code != option) && CHECK(later[0] == code) && CHECK(later[1] == option);
      if (!good)
        printf("%s, -%s: %g and %g, then %g and %g\n", setters[k].name, setters[k].option, code, option,
               later[0], later[1]);
    }
}

/* ---- the options of a solver's matrices ------------------------------------------------------ */

enum { NOTHING, TYPED, READ, SHELL }; /* what a program does with a matrix before it goes into a solver */

/* tridiag(-1, 4, -1) from CSR arrays, as in the first example. */
static PoiseMat Arrays(PoiseContext ctx, const char *prefix, int what)
{
  enum { M = 9 };
  int32_t ptr[M + 1] = {0}, col[3 * M];
  double val[3 * M];
  PoiseMat A = NULL;
  PoiseInt N = M * PoiseSize(ctx), begin = M * PoiseRank(ctx);
  if (what == SHELL) {
    CHECK_OK(PoiseMatCreateShell(ctx, M, M, N, N, &(PoiseShell){.mult = SampleTwice}, NULL, &A));
  } else {
    int nz = 0;
    for (int i = 0; i < M; ptr[++i] = nz)
      for (PoiseInt j = begin + i - 1; j <= begin + i + 1; j++) {
        if (j < 0 || j >= N) continue;
        col[nz] = (int32_t)j;
        val[nz++] = j == begin + i ? 4 : -1;
      }
    const PoiseCSR csr = {.ptr32 = ptr, .col32 = col, .val = val};
    CHECK_OK(PoiseMatCreateCSR(ctx, M, M, N, N, &csr, POISE_COPY, &A));
  }
  if (A) CHECK_OK(PoiseMatSetOptionsPrefix(A, prefix));
  if (A && what == TYPED) CHECK_OK(PoiseMatSetType(A, "csr"));
  if (A && what == READ) CHECK_OK(PoiseMatSetFromOptions(A));
  return A;
}

static double Answer(PoiseKSP ksp, PoiseMat A)
{
  Objects o = {.A = A, .ksp = ksp};
  CHECK_OK(PoiseKSPSetTolerances(ksp, 1e-12, -1, -1, -1));
  return Norm(&o);
}

/* -mat_type reaches A and P behind their own prefixes, whether options are read before they are set or
   after. */
static void TestReach(PoiseContext ctx)
{
  static const struct {
    int a, p;
    const char *of_A, *of_P;
  } cases[] = {{NOTHING, NOTHING, "csri", "seg"},
               {TYPED, NOTHING, "csr", "seg"},
               {NOTHING, TYPED, "csri", "csr"},
               {READ, NOTHING, "auto", "seg"},
               {SHELL, NOTHING, "shell", "seg"}};
  char text[100], of_A[16], of_P[16];
  CHECK_OK(PoiseOptionsSet(ctx, "options_left", "no"));
  for (int k = 0; k < 20; k++) {
    int c = k / 4, late = k / 2 % 2, one = k % 2; /* one: P is A */
    PoiseKSP ksp;
    snprintf(of_A, sizeof of_A, "a%d_", k);
    snprintf(of_P, sizeof of_P, "p%d_", k);
    PoiseMat A = Arrays(ctx, of_A, cases[c].a), P = Arrays(ctx, of_P, cases[c].p);
    if (!A || !P || !CHECK_OK(PoiseKSPCreate(ctx, &ksp))) return;
    snprintf(text, sizeof text, "-%smat_type csri -%smat_type seg -mat_type bcsr", of_A, of_P);
    CHECK_OK(PoiseOptionsSetString(ctx, text));
    CHECK_OK(PoiseKSPSetOptionsPrefix(ksp, "reach_"));
    if (!late) CHECK_OK(PoiseKSPSetOperators(ksp, A, one ? NULL : P));
    CHECK(!late || !strcmp(PoiseMatType(P), cases[c].p == TYPED ? "csr" : "auto"));
    CHECK_OK(PoiseKSPSetFromOptions(ksp));
    if (late) CHECK_OK(PoiseKSPSetOperators(ksp, A, one ? NULL : P));
    CHECK(!strcmp(PoiseMatType(A), cases[c].of_A));
    if (!one) CHECK(!strcmp(PoiseMatType(P), cases[c].of_P));
    double norm = Answer(ksp, A);
    CHECK_OK(PoiseMatSetType(P, "csr")); /* code after options */
    CHECK_OK(PoiseKSPSetFromOptions(ksp));
    CHECK(!strcmp(PoiseMatType(P), "csr"));
    CHECK_NEAR(Answer(ksp, A), norm, 1e-10 * norm);
    PoiseKSPDestroy(&ksp);
    PoiseMatDestroy(&A);
    PoiseMatDestroy(&P);
  }
}

static const Test tests[] = {{"setters", TestSetters, 0}, {"reach", TestReach, 0}, {NULL, NULL, 0}};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "setters", tests);
}
