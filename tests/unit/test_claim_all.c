/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Claims of convergence must be true. Every method with every norm, side, preconditioner and type of matrix
  solves every system of systems.h. No method is made for most of these. The tested norm is then computed
  again from x in long double. Where mathematics says how a solve must end, that is checked too.

  A configuration takes every method with every system and preconditioner, each in one type and manner, which
  change between configurations. With several ranks or sanitizers each configuration takes a random part.
*/
#include "ksp/methods.h"
#include "systems.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 10 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
enum { SANITIZED = 10 };
#else
enum { SANITIZED = 1 };
#endif
#else
enum { SANITIZED = 1 };
#endif

enum { MOST_ITS = 60 };
static const long double slack = 10;
static const double rtol = 1e-8, dtol = 1e5;

#define LENGTH(a) ((int)(sizeof(a) / sizeof *(a)))

static const KSPType *const methods[] = {
#define KSP_TYPE(name) &poiseKSPType_##name,
#include "ksp/types.def"
#undef KSP_TYPE
};

static const char *const mat_types[] = {"csr", "csri", "seg", "bcsr", "auto"};

/* What a shell applies; DIAGONAL of all others. */
typedef enum { OTHER, POSITIVE, MINUS, INDEFINITE, TURN, NIL } Shell;
typedef struct Preconditioner {
  const char *name, *type;
  Shell shell;
} Preconditioner;

static const Preconditioner pcs[] = {
#define PC_TYPE(name) {#name, #name, OTHER},
#include "pc/types.def"
#undef PC_TYPE
    {"-I", "shell", MINUS},
    {"diag(1, -1)", "shell", INDEFINITE},
    {"turned by 90", "shell", TURN},
    {"0", "shell", NIL},
};

/* Options beside the method: how its loop runs, how GMRES orthogonalises and restarts. */
static const char *const manners[] = {
    "", "-m1_ksp_replay 0", "-m2_ksp_gmres_cgs_refinement_type refine_ifneeded",
    "-m3_ksp_replay 0 -m3_ksp_gmres_cgs_refinement_type refine_always -m3_ksp_gmres_restart 4"};

typedef struct Case { /* one solve */
  const System *s;
  const KSPType *method;
  const Preconditioner *pc;
  const char *mat;
  PoiseNormType norm;
  PoisePCSide side;
  int manner;
} Case;

typedef struct Ended { /* how it ended, the same on every rank */
  PoiseErr error;
  PoiseKSPReason reason;
  PoiseInt its;
  double claimed, x[MOST];
  char detail[160];
} Ended;

typedef struct Stage { /* what solves of one system and type share */
  PoiseContext ctx;
  const System *s;
  PoiseMat A;
  PoiseVec b, x, r, z;
} Stage;

typedef struct Norms {                                   /* of b - A x */
  long double plain, natural, preconditioned, rz, sizes; /* sizes: |r| |z| */
} Norms;

/* ---- preconditioners ------------------------------------------------------------------------- */

/* z = S r; TURN: (r, z) = 0, by pairs of rows */
static double ShellEntry(Shell shell, const double *r, int64_t n, int64_t i)
{
  switch (shell) {
  case MINUS:
    return -r[i];
  case INDEFINITE:
    return i % 2 ? -r[i] : r[i];
  case TURN:
    return i % 2 ? -r[i - 1] : i + 1 < n ? r[i + 1] : 0 * r[i];
  case NIL:
    return 0 * r[i];
  default:
    return r[i] * (1 + (double)(i % 3));
  }
}

static PoiseErr ApplyShell(void *arg, PoiseVec r, PoiseVec z)
{
  const Preconditioner *pc = arg;
  const double *from;
  double *to;
  int64_t n = PoiseVecLocalSize(r);
  TRY(PoiseVecGetRead(r, &from));
  TRY(PoiseVecGetWrite(z, &to));
  for (int64_t i = 0; i < n; i++) to[i] = ShellEntry(pc->shell, from, n, i);
  TRY(PoiseVecRestore(z, &to));
  return PoiseVecRestore(r, &from);
}

/* The solver inside is one application, or where that is allowed steps of GMRES. */
static PoiseErr SetInside(PoisePC pc, bool flexible)
{
  PoiseKSP inside;
  TRY(PoisePCKSPGetKSP(pc, &inside));
  TRY(PoiseKSPSetType(inside, flexible ? "gmres" : "preonly"));
  return PoiseKSPSetTolerances(inside, -1, -1, -1, 3);
}

static PoiseErr SetPC(PoisePC pc, const Case *c)
{
  const PoiseShellPC functions = {.apply = ApplyShell};
  TRY(PoisePCSetType(pc, c->pc->type));
  if (!strcmp(c->pc->type, "shell")) return PoisePCSetShell(pc, &functions, (void *)(uintptr_t)c->pc);
  return strcmp(c->pc->type, "ksp") ? POISE_OK : SetInside(pc, !strcmp(c->method->name, "fgmres"));
}

/* ---- the norm, again ------------------------------------------------------------------------- */

/* v without its part in the constants */
static void WithoutMean(int n, long double *v)
{
  long double mean = 0;
  for (int i = 0; i < n; i++) mean += v[i] / n;
  for (int i = 0; i < n; i++) v[i] -= mean;
}

static void DenseResidual(const System *s, const double *x, long double *r)
{
  for (int i = 0; i < s->n; i++) r[i] = s->b[i];
  if (s->line->nulls == OF_BOTH) WithoutMean(s->n, r);
  for (int i = 0; i < s->n; i++)
    for (int j = 0; j < s->n; j++)
      if (s->a[i][j] != 0) r[i] -= (long double)s->a[i][j] * x[j];
}

/* z = M^-1 r, of r rounded to doubles and scaled into the middle of their range, and back: M is linear. */
static PoiseErr Precondition(Stage *t, PoisePC pc, long double *r, long double *z)
{
  double v[MOST];
  long double most = 0;
  int power = 0;
  for (int i = 0; i < t->s->n; i++) most = fmaxl(most, fabsl(r[i]));
  if (most > 0 && isfinite(most)) (void)frexpl(most, &power);
  for (int i = 0; i < t->s->n; i++) v[i] = (double)ldexpl(r[i], -power), r[i] = ldexpl(v[i], power);
  TRY(SampleToVec(v, t->r));
  TRY(PoisePCApply(pc, t->r, t->z));
  TRY(SampleFromVec(t->z, v));
  for (int i = 0; i < t->s->n; i++) z[i] = ldexpl(v[i], power);
  if (t->s->line->nulls != UNTOLD) WithoutMean(t->s->n, z);
  return POISE_OK;
}

static long double Dot(int n, const long double *u, const long double *v)
{
  long double sum = 0;
  for (int i = 0; i < n; i++) sum += u[i] * v[i];
  return sum;
}

/* Of a residual, which is rounded. */
static PoiseErr NormsOf(Stage *t, PoisePC pc, const Case *c, long double *r, Norms *of)
{
  long double z[MOST];
  int n = t->s->n;
  *of = (Norms){.plain = sqrtl(Dot(n, r, r))};
  if (c->side == POISE_PC_RIGHT) return POISE_OK; /* M may be another one in each application */
  TRY(Precondition(t, pc, r, z));
  of->rz = Dot(n, r, z);
  of->natural = sqrtl(fabsl(of->rz));
  of->preconditioned = sqrtl(Dot(n, z, z));
  of->sizes = of->plain * of->preconditioned;
  return POISE_OK;
}

static PoiseErr NormsAt(Stage *t, PoisePC pc, const Case *c, const double *x, Norms *of)
{
  long double r[MOST];
  DenseResidual(t->s, x, r);
  return NormsOf(t, pc, c, r, of);
}

/* Of minres and symmlq the preconditioned norm is |M^-1 r0| times the decrease of the natural one
   (src/ksp/minres.c).
   */
static long double Tested(const Case *c, const Norms *first, const Norms *of)
{
  if (c->norm == POISE_KSP_NORM_UNPRECONDITIONED) return of->plain;
  if (c->norm == POISE_KSP_NORM_NATURAL) return of->natural;
  if (!c->method->factor || first->natural == 0) return of->preconditioned;
  return first->preconditioned * (of->natural / first->natural);
}

/* The effect of rounding on the norm of b - A x in doubles. It has no bound as |x| grows, and M may
   enlarge it. Three vectors of errors with several signs estimate it. */
static PoiseErr Noise(Stage *t, PoisePC pc, const Case *c, const double *x, const Norms *first,
                      const Norms *last, long double *noise)
{
  *noise = 0;
  for (int probe = 0; probe < 3; probe++) {
    long double r[MOST];
    Norms of;
    for (int i = 0; i < t->s->n; i++) {
      r[i] = fabs(t->s->b[i]);
      for (int j = 0; j < t->s->n; j++) r[i] += fabsl((long double)t->s->a[i][j] * x[j]);
      r[i] *= 16 * DBL_EPSILON *
              (probe == 0   ? 1
               : probe == 1 ? 1 - 2 * (i % 2)
                            : TestRandom(31, (uint64_t)i));
    }
    TRY(NormsOf(t, pc, c, r, &of));
    of.natural += sqrtl(16 * DBL_EPSILON * last->sizes);
    *noise += Tested(c, first, &of);
  }
  return POISE_OK;
}

/* ---- one solve ------------------------------------------------------------------------------- */

static PoiseErr Prepare(Stage *t, const Case *c, PoiseKSP ksp)
{
  PoisePC pc;
  char prefix[8];
  snprintf(prefix, sizeof prefix, "m%d_", c->manner);
  TRY(PoiseKSPSetType(ksp, c->method->name));
  TRY(PoiseKSPSetOptionsPrefix(ksp, prefix));
  TRY(PoiseKSPSetFromOptions(ksp));
  TRY(PoiseKSPSetOperators(ksp, t->A, NULL));
  TRY(PoiseKSPGetPC(ksp, &pc));
  TRY(SetPC(pc, c));
  TRY(PoiseKSPSetNormType(ksp, c->norm));
  TRY(PoiseKSPSetPCSide(ksp, c->side));
  TRY(PoiseKSPSetInitialGuessNonzero(ksp, t->s->line->guess != NO_GUESS));
  return PoiseKSPSetUp(ksp);
}

static bool SameEntries(int n, const double *u, const double *v)
{
  for (int i = 0; i < n; i++)
    if (u[i] != v[i] && !(isnan(u[i]) && isnan(v[i]))) return false;
  return true;
}

/* b, x0 and atol are multiplied by 2^power; and what the solver does to b shows. */
static PoiseErr Solve(Stage *t, PoiseKSP ksp, int power, Ended *e)
{
  double b[MOST], x0[MOST], after[MOST];
  for (int i = 0; i < t->s->n; i++) b[i] = ldexp(t->s->b[i], power), x0[i] = ldexp(t->s->x0[i], power);
  TRY(PoiseKSPSetTolerances(ksp, rtol, ldexp(t->s->line->atol, power), dtol, MOST_ITS));
  TRY(SampleToVec(b, t->b));
  TRY(SampleToVec(x0, t->x));
  TRY(PoiseKSPSolve(ksp, t->b, t->x));
  TRY(SampleFromVec(t->x, e->x));
  TRY(SampleFromVec(t->b, after));
  CHECK(SameEntries(t->s->n, after, b));
  e->reason = PoiseKSPConvergedReason(ksp);
  e->its = PoiseKSPIterations(ksp);
  e->claimed = PoiseKSPResidualNorm(ksp);
  snprintf(e->detail, sizeof e->detail, "%s", PoiseKSPReasonDetail(ksp));
  return POISE_OK;
}

/* What may be refused: a preconditioner that cannot be built, a method that does not take it, preonly with
   a guess. */
static bool MayRefuse(PoiseErr e, const Case *c)
{
  bool guess = !strcmp(c->method->name, "preonly") && c->s->line->guess != NO_GUESS;
  return e == POISE_ERR_NUMERIC || e == POISE_ERR_UNSUPPORTED || e == POISE_ERR_REMOTE ||
         (e == POISE_ERR_ARG && guess);
}

/* A failure is told by the first rank, with all that is needed to repeat it. */
static void Fail(Stage *t, const Case *c, const Ended *e, const char *what, long double is, long double limit)
{
  char text[600];
  if (PoiseRank(t->ctx)) return;
  snprintf(text, sizeof text,
           "%s: %.3Lg beside %.3Lg: %s on '%s' (%s), pc %s, %s norm, %s, manner '%s': %s after %lld, claimed "
           "%.3g%s%s",
           what, is, limit, c->method->name, c->s->line->name, c->mat, c->pc->name,
           PoiseKSPNormString(c->norm), c->side == POISE_PC_LEFT ? "left" : "right", manners[c->manner],
           PoiseKSPReasonString(e->reason), (long long)e->its, e->claimed, *e->detail ? ": " : "", e->detail);
#ifdef HONEST_LOG
  fprintf(stderr, "@%s\n", text);
#endif
  TestCheck(0, __FILE__, __LINE__, text);
}

static void Expect(Stage *t, const Case *c, const Ended *e, bool holds, const char *what)
{
  if (!holds) Fail(t, c, e, what, 0, 0);
}

static bool Finite(int n, const double *x)
{
  for (int i = 0; i < n; i++)
    if (!isfinite(x[i])) return false;
  return true;
}

static bool Is(const Case *c, const char *names)
{
  return strstr(names, c->method->name) != NULL;
}

static bool Usual(const Case *c, const char *names)
{
  return c->pc->shell == OTHER && strstr(names, c->pc->type) != NULL;
}

/* ---- what mathematics says ------------------------------------------------------------------- */

/* What there is to know of a solve without looking at norms. */
static void JudgeReason(Stage *t, const Case *c, const Ended *e)
{
  const System *s = c->s;
  bool none = c->norm == POISE_KSP_NORM_NONE, given = s->line->guess != NO_GUESS;
  Expect(t, c, e, e->reason != POISE_ITERATING, "no reason");
  Expect(t, c, e, e->its >= 0 && e->its <= MOST_ITS, "iterations beyond the most");
  Expect(t, c, e, e->reason < 0 || Finite(s->n, e->x), "x is not finite");
  Expect(t, c, e, e->reason != POISE_DIVERGED_ITS || e->its == MOST_ITS, "ITS before the most");
  Expect(t, c, e, e->reason != POISE_CONVERGED_ITS || none, "CONVERGED_ITS with a norm");
  if (s->line->b == NAN_B || s->line->b == INF_B || (given && s->line->guess == NAN_X))
    Expect(t, c, e,
           e->reason == POISE_DIVERGED_NANORINF || (none && e->reason == POISE_DIVERGED_INDEFINITE_MAT),
           "NaN or Inf: not NANORINF");
  if (s->line->b == NOTHING && !given && !none)
    Expect(t, c, e,
           e->its == 0 && (e->reason == POISE_CONVERGED_ATOL ||
                           (s->line->atol == 0 && e->reason == POISE_CONVERGED_RTOL)),
           "b = 0: not converged at once");
  if (s->line->b == NOTHING && !given && e->reason > 0)
    for (int i = 0; i < s->n; i++) Expect(t, c, e, e->x[i] == 0, "b = 0: x is not 0");
}

/* SPD systems without difficulty are solved, and by CG negative ones: the test sees solves that converge.
   */
static void JudgeEasy(Stage *t, const Case *c, const Ended *e)
{
  unsigned flags = c->s->line->flags;
  if (c->norm == POISE_KSP_NORM_NONE || !(flags & EASY)) return;
  if (flags & SPD &&
      Is(c, "cg bcg prcg bicgstab gmres fgmres minres cgs tfqmr idr bicgstabl fcg gcr symmlq qmrcgs bicg "
            "lgmres qmr") &&
      Usual(c, "none jacobi pbjacobi ilu icc sor bjacobi lu ksp"))
    Expect(t, c, e, e->reason > 0, "SPD: not converged");
  if (flags & NEGATIVE && Is(c, "cg bcg prcg") && Usual(c, "none jacobi pbjacobi ilu sor bjacobi lu"))
    Expect(t, c, e, e->reason > 0, "negative definite: not converged");
}

/* (r, M^-1 r) of the first residual, where methods are for a definite M and do not stop there. */
static void JudgeFirst(Stage *t, const Case *c, const Ended *e, const Norms *first, long double limit)
{
  bool exact = c->s->line->flags & INTEGER && c->s->line->guess == NO_GUESS && c->s->line->nulls == UNTOLD;
  bool stops =
      c->norm != POISE_KSP_NORM_NATURAL && c->norm != POISE_KSP_NORM_NONE && Tested(c, first, first) <= limit;
  if (!Is(c, "cg bcg prcg minres fcg symmlq") || !isfinite(first->plain) || !(first->plain > 0) || stops)
    return;
  if (first->rz == 0 && exact && (c->pc->shell != OTHER || Usual(c, "none jacobi")))
    Expect(t, c, e, e->reason == POISE_DIVERGED_INDEFINITE_PC && e->its == 0,
           "(r, z) = 0: not INDEFINITE_PC");
  bool applied = !Usual(c, "eisenstat"); /* else the method works between its sweeps */
  if (applied && Is(c, "minres symmlq") && first->rz < -1e-8L * first->sizes && first->natural > limit)
    Expect(t, c, e,
           e->its == 0 && (e->reason == POISE_DIVERGED_INDEFINITE_PC || e->reason == POISE_DIVERGED_DTOL ||
                           e->reason == POISE_DIVERGED_NANORINF),
           "(r, z) < 0: not INDEFINITE_PC");
}

/* What rtol is relative to: the first norm, that of b if there is a guess and b is not 0. */
static long double BaseOf(const Case *c, const Norms *first, const Norms *of_b)
{
  long double norm_b =
      c->norm == POISE_KSP_NORM_PRECONDITIONED ? of_b->preconditioned : Tested(c, first, of_b);
  return c->s->line->guess != NO_GUESS && norm_b > 0 ? norm_b : Tested(c, first, first);
}

/* (r, z) that vanishes where r does not is no norm, be it by rounding; but where a null space is left out
   of z. */
static bool IsNoNorm(const Case *c, const Norms *last, long double limit)
{
  bool simple = c->s->line->scaling == PLAIN && (c->pc->shell != OTHER || Usual(c, "none jacobi"));
  return c->norm == POISE_KSP_NORM_NATURAL && simple && c->s->line->nulls == UNTOLD &&
         last->natural * last->natural < 1e-13L * last->sizes && last->sizes > slack * slack * limit * limit;
}

/* Does the solver say that its last norm is that of the x it returns? */
static bool TellsNorm(const Ended *e)
{
  return strstr(e->detail, "that of b - A x is") || strstr(e->detail, "x is the best");
}

/* lsqr claims that |b - A x| is small, or that A^T (b - A x) is beside |A| |b - A x|; cgls that the latter is
   beside A^T b. Without M, as others have norms of their own. */
static void JudgeSquares(Stage *t, const Case *c, const Ended *e, long double limit, long double tested)
{
  const System *s = t->s;
  long double r[MOST], size = 0, normal = 0, base = 0, xx = 0, rr = 0;
  bool residual = e->reason == POISE_CONVERGED_RTOL || e->reason == POISE_CONVERGED_ATOL;
  for (int i = 0; i < s->n; i++) {
    r[i] = s->b[i];
    xx += (long double)e->x[i] * e->x[i];
    for (int j = 0; j < s->n; j++) {
      r[i] -= (long double)s->a[i][j] * e->x[j];
      size += (long double)s->a[i][j] * s->a[i][j];
    }
  }
  for (int j = 0; j < s->n; j++) {
    long double v = 0, w = 0;
    for (int i = 0; i < s->n; i++) v += s->a[i][j] * r[i], w += (long double)s->a[i][j] * s->b[i];
    normal += v * v;
    base += w * w;
    rr += r[j] * r[j];
  }
  long double rounding =
      1e-14L * (size * sqrtl(xx) + sqrtl(size) * sqrtl(base)) + slack * s->line->atol + DBL_MIN;
  if (!Usual(c, "none") || s->line->guess != NO_GUESS) return;
  if (!strcmp(c->method->name, "cgls"))
    limit = slack * rtol * sqrtl(base) + rounding, tested = sqrtl(normal);
  else if (!residual)
    limit = slack * rtol * sqrtl(size * rr) + rounding, tested = sqrtl(normal);
  else
    limit = slack * limit + rounding / fmaxl(sqrtl(size), 1e-300L);
  if (!(tested <= limit)) Fail(t, c, e, "FALSE CLAIM", tested, limit);
}

static void JudgeNorms(Stage *t, const Case *c, const Ended *e, PoisePC pc)
{
  static const double nothing[MOST];
  bool claims = e->reason > 0, told = e->reason == POISE_DIVERGED_BREAKDOWN && TellsNorm(e);
  Norms first, of_b, last;
  if (!CHECK_OK(NormsAt(t, pc, c, c->s->x0, &first)) || !CHECK_OK(NormsAt(t, pc, c, nothing, &of_b)) ||
      !CHECK_OK(NormsAt(t, pc, c, e->x, &last)))
    return;
  long double base = BaseOf(c, &first, &of_b), limit = fmaxl(rtol * base, c->s->line->atol),
              tested = Tested(c, &first, &last);
  JudgeFirst(t, c, e, &first, limit);
  if (c->norm == POISE_KSP_NORM_NONE || (c->pc->shell == NIL && c->norm != POISE_KSP_NORM_UNPRECONDITIONED))
    return; /* all norms are 0 */
  if (claims && IsNoNorm(c, &last, limit))
    Fail(t, c, e, "(r, z) = 0, but r is not", sqrtl(last.sizes), limit);
  if (claims && Is(c, "lsqr cgls")) {
    JudgeSquares(t, c, e, limit, tested);
    return;
  }
  long double told_norm = told ? e->claimed : limit, bound = slack * fmaxl(told_norm, DBL_MIN * told),
              noise = 0;
  bool above = (claims || told) && !(tested <= bound);
  if (above) CHECK_OK(Noise(t, pc, c, e->x, &first, &last, &noise));
  if (above && !(tested <= bound + noise))
    Fail(t, c, e, told ? "not the norm that is told" : "FALSE CLAIM", tested, told_norm);
  if (e->reason == POISE_DIVERGED_DTOL && !*e->detail && base > DBL_MIN &&
      !(e->claimed >= 0.99L * dtol * base))
    Fail(t, c, e, "DTOL without growth", e->claimed, base);
}

static void Judge(Stage *t, const Case *c, const Ended *e, PoiseKSP ksp)
{
  PoisePC pc;
  JudgeReason(t, c, e);
  JudgeEasy(t, c, e);
  if (strcmp(c->method->name, "preonly") && CHECK_OK(PoiseKSPGetPC(ksp, &pc))) JudgeNorms(t, c, e, pc);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static int Open(PoiseContext ctx, const System *s, const char *mat, Stage *t)
{
  *t = (Stage){.ctx = ctx, .s = s};
  return CHECK_OK(SystemMat(ctx, s, mat, &t->A)) && CHECK_OK(PoiseMatCreateVecs(t->A, &t->x, &t->b)) &&
         CHECK_OK(PoiseVecDuplicate(t->b, &t->r)) && CHECK_OK(PoiseVecDuplicate(t->b, &t->z));
}

static void Close(Stage *t)
{
  PoiseVecDestroy(&t->z);
  PoiseVecDestroy(&t->r);
  PoiseVecDestroy(&t->x);
  PoiseVecDestroy(&t->b);
  PoiseMatDestroy(&t->A);
}

/* False when it was refused, or failed. */
static bool Try(Stage *t, const Case *c, int power, PoiseKSP *ksp, Ended *e)
{
  *e = (Ended){0};
  PoiseErr error = PoiseKSPCreate(t->ctx, ksp);
  if (!error) error = Prepare(t, c, *ksp);
  if (!error) error = Solve(t, *ksp, power, e);
  if (error && !MayRefuse(error, c)) Fail(t, c, e, PoiseErrorMessage(), error, 0);
  PoiseErrorClear();
  return !error;
}

static void Run(Stage *t, const Case *c)
{
  PoiseKSP ksp = NULL;
  Ended e;
  if (Try(t, c, 0, &ksp, &e)) Judge(t, c, &e, ksp);
  PoiseKSPDestroy(&ksp);
}

/* Options hold from here on in this context. */
static void SetManners(PoiseContext ctx)
{
  for (int k = 1; k < LENGTH(manners); k++) SetOptions(ctx, manners[k]);
}

/* A number that is the same for all ranks, and another one in another configuration. */
static uint64_t Configuration(PoiseContext ctx)
{
  uint64_t h = (uint64_t)PoiseSize(ctx);
  for (const char *p = ctx->device->ops->name; *p; p++) h = 31 * h + (uint64_t)*p;
  for (const char *p = ctx->comm->ops->name; *p; p++) h = 31 * h + (uint64_t)*p;
  return h;
}

static uint64_t Mix(uint64_t a, uint64_t b)
{
  uint64_t z = a * UINT64_C(0x9e3779b97f4a7c15) + b + 1;
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

/* One in so many solves is made: sums over ranks that share processors cost more than the rest, as does
   waiting for a GPU. */
static uint64_t Share(PoiseContext ctx)
{
  int ranks = PoiseSize(ctx);
  uint64_t share = ranks == 1 ? 1 : ranks < 4 ? 12 : 24;
  if (!strcmp(ctx->device->ops->name, "cuda")) share *= 6;
  return SANITIZED * share;
}

/* The solves of a system with one type of matrix; which type and manner a solve is made in goes round with
   configurations. */
static void RunSystem(PoiseContext ctx, const System *s, int line, int type)
{
  Stage t;
  uint64_t configuration = Configuration(ctx), share = Share(ctx), at = 0;
  int ways = LENGTH(mat_types) * LENGTH(manners);
  if (!Open(ctx, s, mat_types[type], &t)) return;
  for (int m = 0; m < LENGTH(methods); m++)
    for (int k = 0; k < LENGTH(pcs); k++)
      for (int norm = POISE_KSP_NORM_NONE; norm <= POISE_KSP_NORM_NATURAL; norm++)
        for (int side = 0; side < 2; side++) {
          unsigned offers = side == POISE_PC_LEFT ? methods[m]->left : methods[m]->right;
          uint64_t code = Mix((uint64_t)line, at++), way = (code + configuration) % (uint64_t)ways;
          if (!(offers >> norm & 1) || (int)(way % LENGTH(mat_types)) != type ||
              Mix(code, configuration) % share)
            continue;
          Run(&t,
              &(Case){s, methods[m], &pcs[k], mat_types[type], norm, side, (int)(way / LENGTH(mat_types))});
        }
  Close(&t);
}

static void TestClaims(PoiseContext ctx)
{
  static _Thread_local System s;
  SetManners(ctx);
  for (int k = 0; k < LENGTH(lines); k++) {
    SystemFill(&s, &lines[k]);
    for (int type = 0; type < LENGTH(mat_types); type++) RunSystem(ctx, &s, k, type);
  }
}

/* ---- CG from the text book ------------------------------------------------------------------- */

typedef struct Textbook {
  const System *s;
  PoiseNormType norm;
  long double m[MOST]; /* M^-1, a diagonal */
  long double x[MOST], r[MOST], z[MOST], p[MOST], q[MOST], base, limit;
  PoiseKSPReason reason; /* RTOL stands for both */
  int its;
  bool sure; /* no decision hung on rounding */
} Textbook;

static bool Diagonal(const System *s, const Preconditioner *pc, long double *m)
{
  double ones[MOST];
  bool jacobi = !strcmp(pc->name, "jacobi");
  for (int i = 0; i < s->n; i++) ones[i] = 1;
  for (int i = 0; i < s->n; i++)
    m[i] = jacobi               ? 1 / (long double)s->a[i][i]
           : pc->shell == OTHER ? 1
                                : ShellEntry(pc->shell, ones, s->n, i);
  return jacobi || pc->shell == MINUS || pc->shell == INDEFINITE || !strcmp(pc->name, "none");
}

static long double TextbookNorm(const Textbook *t)
{
  int n = t->s->n;
  if (t->norm == POISE_KSP_NORM_NATURAL) return sqrtl(fabsl(Dot(n, t->r, t->z)));
  return t->norm == POISE_KSP_NORM_PRECONDITIONED ? sqrtl(Dot(n, t->z, t->z)) : sqrtl(Dot(n, t->r, t->r));
}

static bool End(Textbook *t, PoiseKSPReason reason)
{
  t->reason = reason;
  return true;
}

static bool TextbookDecides(Textbook *t)
{
  long double norm = TextbookNorm(t);
  t->sure = t->sure && (norm < 0.7L * t->limit || norm > 1.4L * t->limit) && norm < 0.5L * dtol * t->base;
  if (norm <= t->limit) return End(t, POISE_CONVERGED_RTOL);
  return t->its >= MOST_ITS && End(t, POISE_DIVERGED_ITS);
}

/* Is d = (u, v) clear of 0, or exactly 0 before anything was rounded? */
static void BeSure(Textbook *t, long double d, const long double *u, const long double *v)
{
  long double sizes = sqrtl(Dot(t->s->n, u, u)) * sqrtl(Dot(t->s->n, v, v));
  bool exact = d == 0 && t->its == 0 && t->s->line->flags & INTEGER;
  t->sure = t->sure && (exact || fabsl(d) > 1e-6L * sizes);
}

/* One step: false while it goes on. */
static bool TextbookStep(Textbook *t, long double *rz, long double *old_pq)
{
  int n = t->s->n;
  for (int i = 0; i < n; i++) {
    t->q[i] = 0;
    for (int j = 0; j < n; j++) t->q[i] += (long double)t->s->a[i][j] * t->p[j];
  }
  long double pq = Dot(n, t->p, t->q), alpha = *rz / pq, old = *rz;
  BeSure(t, pq, t->p, t->q);
  if (pq == 0 || (t->its > 0 && (pq < 0) != (*old_pq < 0))) return End(t, POISE_DIVERGED_INDEFINITE_MAT);
  for (int i = 0; i < n; i++)
    t->x[i] += alpha * t->p[i], t->r[i] -= alpha * t->q[i], t->z[i] = t->m[i] * t->r[i];
  *rz = Dot(n, t->r, t->z), *old_pq = pq;
  t->its++;
  if (TextbookDecides(t)) return true;
  BeSure(t, *rz, t->r, t->z);
  if (*rz == 0 || (*rz < 0) != (old < 0)) return End(t, POISE_DIVERGED_INDEFINITE_PC);
  for (int i = 0; i < n; i++) t->p[i] = t->z[i] + *rz / old * t->p[i];
  return false;
}

static void TextbookCG(Textbook *t)
{
  const System *s = t->s;
  long double rz, pq = 0;
  t->sure = true;
  for (int i = 0; i < s->n; i++) t->x[i] = s->x0[i], t->r[i] = s->b[i], t->z[i] = t->m[i] * t->r[i];
  t->base = TextbookNorm(t);
  DenseResidual(s, s->x0, t->r);
  for (int i = 0; i < s->n; i++) t->p[i] = t->z[i] = t->m[i] * t->r[i];
  t->limit = fmaxl(rtol * t->base, s->line->atol);
  rz = Dot(s->n, t->r, t->z);
  if (rz != 0 && TextbookDecides(t)) return;
  BeSure(t, rz, t->r, t->z);
  if (rz == 0) {
    t->reason = POISE_DIVERGED_INDEFINITE_PC;
    return;
  }
  while (!TextbookStep(t, &rz, &pq)) continue;
}

static bool Agrees(const Textbook *t, const Ended *e)
{
  return e->its == t->its && (e->reason == t->reason || (e->reason > 0 && t->reason > 0));
}

/* cg, bcg and prcg end as the text book does, for the same reason in the same iteration. Returns how many
   were compared. */
static int CompareCG(Stage *t, const Preconditioner *pc, PoiseNormType norm, int manner)
{
  Textbook book = {.s = t->s, .norm = norm};
  int compared = 0;
  if (!Diagonal(t->s, pc, book.m)) return 0;
  TextbookCG(&book);
  for (int m = 0; book.sure && m < LENGTH(methods); m++) {
    Case c = {t->s, methods[m], pc, "csr", norm, POISE_PC_LEFT, manner};
    PoiseKSP ksp = NULL;
    Ended e;
    if (!Is(&c, "cg bcg prcg")) continue;
    if (Try(t, &c, 0, &ksp, &e)) {
      compared++;
      if (!Agrees(&book, &e)) Fail(t, &c, &e, PoiseKSPReasonString(book.reason), book.its, e.its);
    }
    PoiseKSPDestroy(&ksp);
  }
  return compared;
}

static void TestTextbook(PoiseContext ctx)
{
  static _Thread_local System s;
  uint64_t at = Configuration(ctx);
  int compared = 0;
  SetManners(ctx);
  for (int k = 0; k < LENGTH(lines); k++) {
    Stage t;
    if (!(lines[k].flags & EASY) || lines[k].nulls != UNTOLD) continue;
    SystemFill(&s, &lines[k]);
    if (!Open(ctx, &s, "csr", &t)) return;
    for (int p = 0; p < LENGTH(pcs); p++)
      for (int norm = POISE_KSP_NORM_PRECONDITIONED; norm <= POISE_KSP_NORM_NATURAL; norm++, at++)
        if (PoiseSize(ctx) == 1 || Mix(at, 1) % 4 == 0)
          compared += CompareCG(&t, &pcs[p], norm, (int)(at % 2));
    Close(&t);
  }
  CHECK(compared > 20);
}

/* ---- powers of two --------------------------------------------------------------------------- */

static bool ScaledBy(int n, const double *x, const double *y, int power)
{
  for (int i = 0; i < n; i++)
    if (ldexp(x[i], power) != y[i]) return false;
  return true;
}

/* b, x0 and atol by 2^power: the same iterations, and x by 2^power. */
static void CompareScaled(Stage *t, const Case *c, int power)
{
  PoiseKSP ksp = NULL, other = NULL;
  Ended e, f;
  if (Try(t, c, 0, &ksp, &e) && CHECK(Try(t, c, power, &other, &f))) {
    bool same = e.reason == f.reason && e.its == f.its;
    if (!same) Fail(t, c, &f, PoiseKSPReasonString(e.reason), e.its, power);
    if (same && !ScaledBy(t->s->n, e.x, f.x, power)) Fail(t, c, &f, "x is not scaled", e.its, power);
  }
  PoiseKSPDestroy(&ksp);
  PoiseKSPDestroy(&other);
}

static void ScaleMethods(Stage *t, uint64_t *at, int power)
{
  uint64_t share = Share(t->ctx);
  for (int m = 0; m < LENGTH(methods); m++)
    for (int k = 0; k < LENGTH(pcs); k++)
      for (int norm = POISE_KSP_NORM_PRECONDITIONED; norm <= POISE_KSP_NORM_NATURAL; norm++)
        for (int side = 0; side < 2; side++) {
          unsigned offers = side == POISE_PC_LEFT ? methods[m]->left : methods[m]->right;
          if (!(offers >> norm & 1) || Mix((*at)++, Configuration(t->ctx)) % (4 * share)) continue;
          CompareScaled(
              t, &(Case){t->s, methods[m], &pcs[k], "csr", norm, side, (int)(*at % LENGTH(manners))}, power);
        }
}

static void TestScaled(PoiseContext ctx)
{
  static const int powers[] = {-560, 500, -1000};
  static _Thread_local System s;
  uint64_t at = 0;
  SetManners(ctx);
  for (int k = 0; k < LENGTH(lines); k++) {
    Stage t;
    if (!(lines[k].flags & EASY) || lines[k].nulls != UNTOLD || lines[k].atol > 1e100) continue;
    SystemFill(&s, &lines[k]);
    if (!Open(ctx, &s, "csr", &t)) return;
    for (int p = 0; p < LENGTH(powers); p++)
      if (ldexp(ldexp(lines[k].atol, powers[p]), -powers[p]) == lines[k].atol)
        ScaleMethods(&t, &at, powers[p]);
    Close(&t);
  }
}

static const Test tests[] = {
    {"claims", TestClaims, 0}, {"textbook", TestTextbook, 0}, {"scaled", TestScaled, 0}, {NULL, NULL, 0}};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "claim_all", tests);
}
