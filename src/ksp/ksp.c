/* SPDX-License-Identifier: BSD-3-Clause */
/* The solver interface: creation, settings, questions, view. */
#include "mat/order/arrange.h"
#include "mat/product/product_model.h"
#include "mat/product/ranks_plan.h"
#include "mat/object/bytes.h"
#include "between.h"
#include "block.h"
#include "divided.h"
#include "inside.h"
#include "loop.h"
#include "methods.h"
#include "monitor.h"
#include "normal.h"
#include "reordered.h"
#include "setup.h"
#include "sweeps.h"
#include "transposed.h"

static const KSPType *const types[] = {
#define KSP_TYPE(name) &poiseKSPType_##name,
#include "types.def"
#undef KSP_TYPE
    &poiseKSPType_auto,
};
enum { NTYPES = sizeof types / sizeof *types };

/* Phases have their own names for reasons and norms, as they do not include the interface. The values must
   agree. */
#define SAME(name, value) _Static_assert((int)(name) == (int)(value), #name " differs from " #value)
SAME(REASON_RTOL, POISE_CONVERGED_RTOL);
SAME(REASON_RTOL_NORMAL, POISE_CONVERGED_RTOL_NORMAL);
SAME(REASON_ATOL_NORMAL, POISE_CONVERGED_ATOL_NORMAL);
SAME(REASON_ATOL, POISE_CONVERGED_ATOL);
SAME(REASON_ITS, POISE_CONVERGED_ITS);
SAME(REASON_HAPPY, POISE_CONVERGED_HAPPY_BREAKDOWN);
SAME(REASON_MAXITS, POISE_DIVERGED_ITS);
SAME(REASON_DTOL, POISE_DIVERGED_DTOL);
SAME(REASON_BREAKDOWN, POISE_DIVERGED_BREAKDOWN);
SAME(REASON_INDEFINITE_PC, POISE_DIVERGED_INDEFINITE_PC);
SAME(REASON_NANORINF, POISE_DIVERGED_NANORINF);
SAME(REASON_INDEFINITE_MAT, POISE_DIVERGED_INDEFINITE_MAT);
SAME(NORM_NONE, POISE_KSP_NORM_NONE);
SAME(NORM_PRECONDITIONED, POISE_KSP_NORM_PRECONDITIONED);
SAME(NORM_UNPRECONDITIONED, POISE_KSP_NORM_UNPRECONDITIONED);
SAME(NORM_NATURAL, POISE_KSP_NORM_NATURAL);

#define KSP_TYPE(name) " " #name
static const char type_help[] = "method:"
#include "types.def"
                                " auto";
#undef KSP_TYPE

static const PoiseOption options[] = {
    {"ksp_type", POISE_OPTION_STRING, offsetof(KSPOptions, type), "gmres", 0, 0, NULL, type_help},
    {"ksp_rtol", POISE_OPTION_REAL, offsetof(KSPOptions, rtol), "1e-5", 0, 1, NULL, "relative tolerance"},
    {"ksp_atol", POISE_OPTION_REAL, offsetof(KSPOptions, atol), "1e-50", 0, 1e300, NULL,
     "absolute tolerance"},
    {"ksp_divtol", POISE_OPTION_REAL, offsetof(KSPOptions, dtol), "1e4", 0, 1e300, NULL,
     "growth of the norm that counts as divergence"},
    {"ksp_max_it", POISE_OPTION_INT, offsetof(KSPOptions, maxits), "10000", 0, 1e15, NULL, "iteration limit"},
    {"ksp_norm_type", POISE_OPTION_CHOICE, offsetof(KSPOptions, norm), "default", 0, 0,
     "default|none|preconditioned|unpreconditioned|natural", "norm in which convergence is measured"},
    {"ksp_pc_side", POISE_OPTION_CHOICE, offsetof(KSPOptions, side), "default", 0, 0, "default|left|right",
     "side of the preconditioner"},
    {"ksp_initial_guess_nonzero", POISE_OPTION_BOOL, offsetof(KSPOptions, guess_nonzero), "no", 0, 0, NULL,
     "x holds a guess on entry"},
    {"ksp_error_if_not_converged", POISE_OPTION_BOOL, offsetof(KSPOptions, error_if_not_converged), "no", 0,
     0, NULL, "a solve that did not converge is an error"},
    {"ksp_verify", POISE_OPTION_BOOL, offsetof(KSPOptions, verify), "yes", 0, 0, NULL,
     "check every convergence with b - A x; inside preconditioners the default is no"},
    {"ksp_error_if_inaccurate", POISE_OPTION_BOOL, offsetof(KSPOptions, error_if_inaccurate), "no", 0, 0,
     NULL, "make it an error if a solve converged in another norm with |b - A x| above 0.01 |b|"},
    {"ksp_precision", POISE_OPTION_CHOICE, offsetof(KSPOptions, precision), "fp64", 0, 0, "fp64|mixed",
     "of the iteration: mixed has A and a recurrence in fp32, x and true residuals in fp64, for cg "
     "and bicgstab, or a basis and products in fp32, for gmres, fgmres and lgmres"},
    {"ksp_reuse_preconditioner", POISE_OPTION_BOOL, offsetof(KSPOptions, reuse), "no", 0, 0, NULL,
     "keep the preconditioner once it is built, even if its matrix changes"},
    {"ksp_monitor", POISE_OPTION_STRING, offsetof(KSPOptions, monitor_words), "no", 0, 0, "yes",
     "print the norm of every iteration: yes, no, or to a file, :file or :file:text|csv (csv also by the "
     "ending .csv); lines appear as they come"},
    {"ksp_monitor_every", POISE_OPTION_INT, offsetof(KSPOptions, every), "1", 1, 1e15, NULL,
     "of -ksp_monitor and -ksp_monitor_true_residual: lines of each so many iterations, and of the last"},
    {"ksp_monitor_true_residual", POISE_OPTION_BOOL, offsetof(KSPOptions, true_residual), "no", 0, 0, NULL,
     "print the norm of every iteration and that of b - A x"},
    {"ksp_converged_reason", POISE_OPTION_BOOL, offsetof(KSPOptions, converged_reason), "no", 0, 0, NULL,
     "print why the solve ended"},
    {"ksp_progress", POISE_OPTION_BOOL, offsetof(KSPOptions, progress), "no", 0, 0, NULL,
     "after 2 seconds of a solve show iteration, residual, digits per second and the time that is left in a "
     "line on standard error, if that is a terminal; the drivers' default is yes"},
    {"ksp_view_eigenvalues", POISE_OPTION_BOOL, offsetof(KSPOptions, view_eigenvalues), "no", 0, 0, NULL,
     "print after a solve the eigenvalues of the matrix that cg, gmres or fgmres has made of K"},
    {"ksp_view_singularvalues", POISE_OPTION_BOOL, offsetof(KSPOptions, view_singular_values), "no", 0, 0,
     NULL, "print after a solve the largest and the least singular value of that matrix"},
    {"ksp_view", POISE_OPTION_BOOL, offsetof(KSPOptions, view), "no", 0, 0, NULL,
     "print the solver after a solve"},
    {"ksp_replay", POISE_OPTION_INT, offsetof(KSPOptions, replay), "-1", -1, 10000, NULL,
     "iterations between two looks of a device at whether the solve is over; 0: the host enqueues every "
     "iteration, -1: two where iterations take long, else up to 8"},
    {0},
};

PoiseErr poiseRegister_ksp(PoiseContext ctx)
{
  TRY(poiseOptionsRegister(ctx, "KSP", options));
  for (int i = 0; i < NTYPES; i++)
    if (types[i]->options) TRY(poiseOptionsRegister(ctx, types[i]->name, types[i]->options));
  return POISE_OK;
}

PoiseErr poiseKSPCheckIdle(PoiseKSP ksp, const char *what)
{
  if (ksp->solve.running)
    FAIL(POISE_ERR_STATE,
         "%s of a solver in the middle of its solve: a function called from there must leave it as it is",
         what);
  return POISE_OK;
}

/* ---- creation -------------------------------------------------------------------------------- */

/* Collective. After a failure all ranks have the old type. */
static PoiseErr SetType(PoiseKSP ksp, const KSPType *type)
{
  void *data = NULL;
  if (ksp->type == type) return POISE_OK;
  TRY(poiseKSPCheckIdle(ksp, "PoiseKSPSetType"));
  PoiseErr e = PoiseAgree(ksp->ctx, poiseAlloc(ksp->ctx, type->size, type->name, &data));
  if (e) {
    poiseFree(ksp->ctx, &data);
    return e;
  }
  poiseKSPRelease(ksp);
  if (ksp->type && ksp->type->destroy) ksp->type->destroy(ksp);
  poiseFree(ksp->ctx, &ksp->data);
  ksp->type = type;
  ksp->data = data;
  return type->options ? PoiseOptionsDefaults(type->options, ksp->data) : POISE_OK;
}

static PoiseErr Create(PoiseContext ctx, PoiseKSP *ksp)
{
  TRY(poiseObjectCreate(ctx, sizeof **ksp, KIND_KSP, "solver", ksp));
  return PoiseOptionsDefaults(options, &(*ksp)->options);
}

PoiseErr PoiseKSPCreate(PoiseContext ctx, PoiseKSP *ksp)
{
  CALLED(OBJECT(ctx), GIVEN(ksp));
  *ksp = NULL;
  PoiseErr e = PoiseAgree(ctx, Create(ctx, ksp));
  if (!e) e = SetType(*ksp, &poiseKSPType_gmres);
  if (!e) e = PoisePCCreate(ctx, &(*ksp)->pc);
  if (!e) (*ksp)->pc->owner = &poiseKSPOwner, (*ksp)->pc->solver = *ksp;
  if (e) poiseKSPDestroy(ksp);
  return e;
}

void poiseKSPDestroy(PoiseKSP *ksp)
{
  PoiseKSP k = *ksp;
  if (!k) return;
  PoiseContext ctx = k->ctx;
  poiseKSPRelease(k);
  if (k->type && k->type->destroy) k->type->destroy(k);
  poiseFree(ctx, &k->data);
  poiseFree(ctx, &k->prefix);
  poiseFree(ctx, &k->history.norms);
  poiseKSPDropBlock(k);
  poiseKSPDropReordered(k);
  poiseKSPDropBetween(k);
  poiseKSPDropNormal(k);
  poiseKSPDropTransposed(k);
  poiseKSPUndivide(k);
  PoiseMatDestroy(&k->A);
  PoiseMatDestroy(&k->given_A);
  PoiseMatDestroy(&k->given_P);
  poisePCDestroy(&k->pc);
  poiseObjectFree(ctx, ksp);
}

PoiseErr PoiseKSPDestroy(PoiseKSP *ksp)
{
  DESTROYS(ksp);
  TRY(poiseKSPCheckIdle(*ksp, "PoiseKSPDestroy"));
  if ((*ksp)->inside)
    FAIL(POISE_ERR_STATE, "PoiseKSPDestroy of a solver that a preconditioner lends (PoisePCKSPGetKSP, "
                          "PoisePCBJacobiGetSubKSP), which destroys it");
  poiseKSPDestroy(ksp);
  return POISE_OK;
}

/* ---- settings -------------------------------------------------------------------------------- */

PoiseErr PoiseKSPSetType(PoiseKSP ksp, const char *type)
{
  CALLED(OBJECT(ksp), GIVEN(type));
  const char *names[2 * NTYPES];
  int n = 0;
  for (int i = 0; i < NTYPES; i++) {
    names[n++] = types[i]->name;
    if (types[i]->alias) names[n++] = types[i]->alias;
    if (!strcmp(type, types[i]->name) || (types[i]->alias && !strcmp(type, types[i]->alias)))
      return SetType(ksp, types[i]);
  }
  return poiseUnknownWord("method", type, n, names);
}

const char *PoiseKSPType(PoiseKSP ksp)
{
  CALLED_OR("", OBJECT(ksp));
  return ksp->type->name;
}

PoiseErr poiseKSPUse(PoiseKSP ksp, PoiseMat A, PoiseMat P)
{
  PoiseMat keep;
  int64_t differs =
      !ksp->A || !poiseLayoutSame(ksp->A->rows, A->rows) || !poiseLayoutSame(ksp->A->cols, A->cols);
  TRY(poisePCUse(ksp->pc, P));
  TRY(poiseCommMaxInt(ksp->ctx->comm, &differs, 1)); /* if it differs on any rank, as allocating is
                                                        collective */
  TRY(poiseMatShare(A, &keep));
  if (differs) poiseKSPRelease(ksp);
  /* Here, as another matrix may later have the address of this one, and as a shell may have changed. */
  if (A != ksp->A || !poiseMatHolds(A)) poiseKSPForget(ksp);
  if (A != ksp->A) ksp->normal.seen = (Version){0};
  if (!poiseMatHolds(A)) A->version.values++;
  PoiseMatDestroy(&ksp->A);
  ksp->A = keep;
  return POISE_OK;
}

PoiseMat poiseKSPGiven(PoiseKSP ksp)
{
  return ksp->given_A ? ksp->given_A : ksp->A;
}

/* Offer matrices. Inside a preconditioner these are the outer solver's, or parts of those. */
static PoiseErr OfferMatrices(PoiseKSP ksp, PoiseMat A, PoiseMat P)
{
  if (ksp->inside || !A) return POISE_OK;
  TRY(poiseMatOffer(A));
  return poiseMatOffer(P);
}

PoiseErr PoiseKSPSetOperators(PoiseKSP ksp, PoiseMat A, PoiseMat P)
{
  CALLED(OBJECT(ksp), OBJECT(A), OBJECT_OR_NO(P));
  PoiseMat keep_A, keep_P;
  TRY(poiseKSPCheckIdle(ksp, "PoiseKSPSetOperators"));
  TRY(poiseMatShare(A, &keep_A));
  TRY(poiseMatShare(P ? P : A, &keep_P));
  PoiseErr e = ksp->configured ? OfferMatrices(ksp, keep_A, keep_P) : POISE_OK;
  if (e) {
    PoiseMatDestroy(&keep_A);
    PoiseMatDestroy(&keep_P);
    return e;
  }
  bool other_A = A != ksp->given_A, other_P = keep_P != ksp->given_P;
  poiseKSPLetGo(ksp, other_A, other_P);
  poiseKSPLetGoParts(ksp, other_A, other_P);
  PoiseMatDestroy(&ksp->given_A);
  PoiseMatDestroy(&ksp->given_P);
  ksp->given_A = keep_A;
  ksp->given_P = keep_P;
  return poiseKSPReplaced(ksp, other_A, other_P);
}

PoiseErr PoiseKSPGetPC(PoiseKSP ksp, PoisePC *pc)
{
  CALLED(OBJECT(ksp), GIVEN(pc));
  *pc = ksp->pc;
  return POISE_OK;
}

PoiseErr PoiseKSPSetTolerances(PoiseKSP ksp, double rtol, double atol, double dtol, PoiseInt maxits)
{
  CALLED(OBJECT(ksp));
  if (rtol >= 1) FAIL(POISE_ERR_ARG, "a relative tolerance of %g is not below 1", rtol);
  if (isnan(rtol) || isnan(atol) || isnan(dtol))
    FAIL(POISE_ERR_ARG, "a tolerance is NaN (%g, %g, %g)", rtol, atol, dtol);
  if (rtol >= 0) ksp->options.rtol = rtol;
  if (atol >= 0) ksp->options.atol = atol;
  if (dtol >= 0) ksp->options.dtol = dtol;
  if (maxits >= 0) ksp->options.maxits = maxits;
  return POISE_OK;
}

PoiseErr PoiseKSPSetNormType(PoiseKSP ksp, PoiseNormType norm)
{
  CALLED(OBJECT(ksp));
  if ((int)norm < 0 || norm > POISE_KSP_NORM_NATURAL) FAIL(POISE_ERR_ARG, "there is no norm %d", (int)norm);
  ksp->options.norm = (int)norm;
  return POISE_OK;
}

PoiseErr PoiseKSPSetPCSide(PoiseKSP ksp, PoisePCSide side)
{
  CALLED(OBJECT(ksp));
  if (side != POISE_PC_LEFT && side != POISE_PC_RIGHT) FAIL(POISE_ERR_ARG, "there is no side %d", (int)side);
  ksp->options.side = side == POISE_PC_LEFT ? 1 : 2;
  return POISE_OK;
}

PoiseErr PoiseKSPSetInitialGuessNonzero(PoiseKSP ksp, int nonzero)
{
  CALLED(OBJECT(ksp));
  ksp->options.guess_nonzero = nonzero;
  return POISE_OK;
}

PoiseErr PoiseKSPSetErrorIfNotConverged(PoiseKSP ksp, int on)
{
  CALLED(OBJECT(ksp));
  ksp->options.error_if_not_converged = on;
  return POISE_OK;
}

PoiseErr PoiseKSPSetVerify(PoiseKSP ksp, int on)
{
  CALLED(OBJECT(ksp));
  ksp->options.verify = on != 0;
  return POISE_OK;
}

PoiseErr PoiseKSPSetErrorIfInaccurate(PoiseKSP ksp, int on)
{
  CALLED(OBJECT(ksp));
  ksp->options.error_if_inaccurate = on != 0;
  return POISE_OK;
}

PoiseErr PoiseKSPSetProgress(PoiseKSP ksp, int on)
{
  CALLED(OBJECT(ksp));
  ksp->options.progress = on != 0;
  return POISE_OK;
}

PoiseErr PoiseKSPSetReusePreconditioner(PoiseKSP ksp, int on)
{
  CALLED(OBJECT(ksp));
  TRY(poiseKSPCheckIdle(ksp, "PoiseKSPSetReusePreconditioner"));
  ksp->options.reuse = on != 0;
  TRY(poisePCKeep(ksp->pc, on != 0, ksp->held));
  return poiseKSPKeepParts(ksp);
}

PoiseErr PoiseKSPSetOptionsPrefix(PoiseKSP ksp, const char *prefix)
{
  CALLED(OBJECT(ksp));
  char *copy = NULL;
  PoiseErr e = PoiseAgree(ksp->ctx, poiseStringCopy(ksp->ctx, prefix, &copy));
  poiseFree(ksp->ctx, e ? &copy : &ksp->prefix);
  if (e) return e;
  ksp->prefix = copy;
  return PoisePCSetOptionsPrefix(ksp->pc, prefix);
}

PoiseErr PoiseKSPSetFromOptions(PoiseKSP ksp)
{
  CALLED(OBJECT(ksp));
  TRY(poiseKSPCheckIdle(ksp, "PoiseKSPSetFromOptions"));
  TRY(PoiseOptionsRead(ksp->ctx, ksp->prefix, options, &ksp->options));
  TRY(PoiseAgree(ksp->ctx, poiseKSPReadMonitor(ksp)));
  TRY(PoiseKSPSetReusePreconditioner(ksp, ksp->options.reuse));
  if (PoiseOptionsHas(ksp->ctx, ksp->prefix, "ksp_type", NULL))
    TRY(poiseOptionsRefuse(ksp->ctx, ksp->prefix, "ksp_type", PoiseKSPSetType(ksp, ksp->options.type)));
  if (ksp->type->options) {
    poiseKSPRelease(ksp); /* as the method's own options may change its sizes */
    TRY(ksp->type->read ? ksp->type->read(ksp)
                        : PoiseOptionsRead(ksp->ctx, ksp->prefix, ksp->type->options, ksp->data));
  }
  ksp->configured = true;
  TRY(OfferMatrices(ksp, ksp->given_A, ksp->given_P));
  return PoisePCSetFromOptions(ksp->pc);
}

PoiseErr PoiseKSPAddMonitor(PoiseKSP ksp, PoiseMonitor monitor, void *arg)
{
  CALLED(OBJECT(ksp));
  if (!monitor) FAIL(POISE_ERR_ARG, "PoiseKSPAddMonitor: monitor is NULL");
  if (ksp->user.nmonitors == MAX_MONITORS) FAIL(POISE_ERR_ARG, "there are %d monitors already", MAX_MONITORS);
  ksp->user.monitor[ksp->user.nmonitors] = monitor;
  ksp->user.monitor_arg[ksp->user.nmonitors++] = arg;
  return POISE_OK;
}

PoiseErr PoiseKSPSetConvergenceTest(PoiseKSP ksp, PoiseConvergenceTest test, void *arg)
{
  CALLED(OBJECT(ksp));
  ksp->user.test = test;
  ksp->user.test_arg = arg;
  return POISE_OK;
}

PoiseErr PoiseKSPKeepHistory(PoiseKSP ksp, int on)
{
  CALLED(OBJECT(ksp));
  ksp->history.keep = on != 0;
  return POISE_OK;
}

/* ---- questions ------------------------------------------------------------------------------- */

PoiseKSPReason PoiseKSPConvergedReason(PoiseKSP ksp)
{
  CALLED_OR(POISE_ITERATING, OBJECT(ksp));
  return (int)ksp->result.reason == REASON_FALLEN ? POISE_ITERATING : ksp->result.reason; /* it goes on */
}

const char *PoiseKSPReasonDetail(PoiseKSP ksp)
{
  CALLED_OR("", OBJECT(ksp));
  return ksp->result.detail;
}

PoiseInt PoiseKSPIterations(PoiseKSP ksp)
{
  CALLED_OR(0, OBJECT(ksp));
  return ksp->result.its;
}

double PoiseKSPInconsistency(PoiseKSP ksp)
{
  CALLED_OR(0, OBJECT(ksp));
  return ksp->result.inconsistency;
}

double PoiseKSPResidualNorm(PoiseKSP ksp)
{
  CALLED_OR(0, OBJECT(ksp));
  return ksp->result.rnorm;
}

PoiseNormType PoiseKSPNormUsed(PoiseKSP ksp)
{
  CALLED_OR(POISE_KSP_NORM_DEFAULT, OBJECT(ksp));
  return ksp->norm;
}

PoiseContext PoiseKSPContext(PoiseKSP ksp)
{
  CALLED_OR(NULL, OBJECT(ksp));
  return ksp->ctx;
}

PoiseErr PoiseKSPHistory(PoiseKSP ksp, PoiseInt *count, const double **norms)
{
  CALLED(OBJECT(ksp), GIVEN(count), GIVEN(norms));
  *count = ksp->history.size;
  *norms = ksp->history.norms;
  return POISE_OK;
}

PoiseErr PoiseKSPTrueResidual(PoiseKSP ksp, PoiseVec b, PoiseVec x, double *norm)
{
  CALLED(OBJECT(ksp), OBJECT(b), OBJECT(x), GIVEN(norm));
  PoiseVec r;
  if (!poiseKSPGiven(ksp)) FAIL(POISE_ERR_STATE, "the solver has no matrix: call PoiseKSPSetOperators");
  TRY(poiseKSPCheckOutside(ksp, "PoiseKSPTrueResidual"));
  TRY(PoiseVecDuplicate(b, &r));
  PoiseErr e = PoiseMatResidual(poiseKSPGiven(ksp), b, x, r);
  if (!e) e = PoiseVecNorm(r, POISE_NORM_2, norm);
  PoiseVecDestroy(&r);
  return e;
}

/* ---- view ------------------------------------------------------------------------------------ */

/* Who starts iterations, and why not the device. */
static PoiseErr ViewLoop(PoiseKSP ksp)
{
  const Device *dev = ksp->ctx->device;
  if (dev->ops->is_host) return poisePrint(ksp->ctx, "  iterations run on the host\n");
  if (ksp->inside && poiseKSPSweeps(ksp))
    return poisePrint(ksp->ctx, "  its steps are part of the loop around it\n");
  if (ksp->loop.eager) return poisePrint(ksp->ctx, "  the host starts each iteration: %s\n", ksp->loop.eager);
  return poisePrint(ksp->ctx, dev->loops ? "  the device repeats iterations by itself\n"
                                         : "  the host starts several iterations at once\n");
}

/* Would fewer GPUs be faster? By the bytes of an iteration of cg. Collective. */
static PoiseErr ViewRanks(PoiseKSP ksp)
{
  PoiseContext ctx = ksp->ctx;
  const DeviceModel *model = &ctx->device->model;
  const double others = 10; /* vectors of an iteration, beside those of the product */
  int ranks = PoiseSize(ctx);
  if (ranks == 1 || ksp->inside || !ksp->A) return POISE_OK;
  double bytes = poiseMatTraffic(ksp->A) + 8 * others * (double)ksp->A->rows->n;
  TRY(PoiseSum(ctx, 1, &bytes));
  bool linked = ctx->link != NULL;
  int best = poiseRanksThatPay(model, bytes, ranks, linked);
  double seconds = poiseIterationSeconds(model, bytes, ranks, linked),
         fewer = poiseIterationSeconds(model, bytes, best, linked);
  if (!(fewer < RANKS_PAY * seconds)) return POISE_OK;
  return poisePrint(
      ctx, "  fewer GPUs would be faster: by size an iteration of cg takes %.0f us on %d, %.0f on %d\n",
      1e6 * fewer, best, 1e6 * seconds, ranks);
}

static PoiseErr ViewSetUp(PoiseKSP ksp)
{
  int singles = ksp->type->singles ? ksp->type->singles(ksp) : 0;
  PoiseBytes held;
  TRY(poisePrint(ksp->ctx, "  preconditioned from the %s, converges in the %s norm, %d work vectors",
                 ksp->side == POISE_PC_LEFT ? "left" : "right", PoiseKSPNormString(ksp->norm), ksp->nwork));
  TRY(singles ? poisePrint(ksp->ctx, " and %d in fp32\n", singles) : poisePrint(ksp->ctx, "\n"));
  TRY(ViewLoop(ksp));
  TRY(ViewRanks(ksp));
  TRY(PoiseKSPBytes(ksp, &held));
  return poiseBytesPrint(ksp->ctx, &held);
}

static PoiseErr ViewResult(PoiseKSP ksp)
{
  const KSPResult *r = &ksp->result;
  if (r->reason == POISE_ITERATING) return POISE_OK;
  return poisePrint(ksp->ctx, "  latest solve: %s after %lld iterations%s%s\n",
                    PoiseKSPReasonString(r->reason), (long long)r->its, *r->detail ? "; " : "", r->detail);
}

static PoiseErr View(PoiseKSP ksp)
{
  if (poiseKSPDivides(ksp) && !ksp->type->solve) return poiseKSPViewDivided(ksp);
  TRY(poisePrint(ksp->ctx, "KSP%s%s: type %s\n", ksp->prefix ? " " : "", ksp->prefix ? ksp->prefix : "",
                 ksp->type->name));
  TRY(poisePrint(ksp->ctx, "  tolerances: relative %g, absolute %g, divergence %g; most iterations %lld\n",
                 ksp->options.rtol, ksp->options.atol, ksp->options.dtol, (long long)ksp->options.maxits));
  if (ksp->type->view) TRY(ksp->type->view(ksp));
  if (ksp->layout) TRY(poiseKSPMixedView(ksp));
  if (*ksp->alone) TRY(poisePrint(ksp->ctx, "  not gathered, though ranks share a GPU: %s\n", ksp->alone));
  if (ksp->layout) TRY(ViewSetUp(ksp));
  TRY(poiseKSPViewBetween(ksp));
  if (ksp->A && (ksp->A->null.n || ksp->A->left.n))
    TRY(poisePrint(ksp->ctx, "  null space of %d vectors, of the transpose %d\n", ksp->A->null.n,
                   ksp->A->left.n));
  TRY(ViewResult(ksp));
  if (ksp->type->solve) return POISE_OK; /* the solvers of its own show theirs */
  TRY(PoisePCView(ksp->pc));
  if (ksp->arranged) TRY(poiseKSPViewReordered(ksp));
  PoiseMat A = poiseKSPGiven(ksp), P = ksp->arranged ? ksp->given_P : ksp->pc->P;
  if (A) TRY(PoiseMatView(A));
  return P && P != A ? PoiseMatView(P) : POISE_OK;
}

PoiseErr PoiseKSPView(PoiseKSP ksp)
{
  CALLED(OBJECT(ksp));
  return poisePrinted(ksp->ctx, View(ksp));
}
