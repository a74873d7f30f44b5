/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Method auto: a ladder of methods and preconditioners (ladder.c), which it takes by what it sees of A. A
  solver inside works for each rung. It goes on while its pace promises an end that costs less than what is
  surer. A rung that has failed leaves its x to the next one, if that helps. Only b - A x tells whether a
  solve has succeeded. What did is tried first in the next solve.
*/
#include <float.h>

#include "mat/order/arrange.h"
#include "divided.h"
#include "inside.h"
#include "ladder.h"
#include "methods.h"
#include "monitor.h"
#include "setup.h"
#include "solve.h"

/* ---- the solver inside ----------------------------------------------------------------------- */

enum { AUTO_TEXT = 240 };

typedef struct Tried { /* what became of a rung in the latest solve */
  bool tried;
  PoiseKSPReason reason; /* or the error */
  PoiseErr error;
  PoiseInt its;
  double norm;          /* |b - A x| afterwards */
  char text[AUTO_TEXT]; /* of the error */
} Tried;

enum { ITERATIVE, DIRECT, SOLVERS }; /* factors that are foreseen keep what that took */

typedef struct Auto {
  PoiseKSP solver[SOLVERS], inner; /* inner: that of the latest rung */
  int rung[SOLVERS], won;          /* of these; that has succeeded; RUNGS: none */
  bool looked;
  Version seen; /* of A when it was looked at */
  Facts facts;
  char verdict[AUTO_TEXT]; /* what who foresees factors says of A; "": nothing */
  Tried tried[RUNGS];
} Auto;

static PoiseErr Open(PoiseKSP ksp)
{
  Auto *a = ksp->data;
  char prefix[POISE_OPTION_LENGTH];
  if (a->inner) return POISE_OK;
  snprintf(prefix, sizeof prefix, "%sauto_", ksp->prefix ? ksp->prefix : "");
  for (int k = 0; k < SOLVERS; k++) {
    a->rung[k] = a->won = RUNGS;
    if (!a->solver[k]) TRY(PoiseKSPCreate(ksp->ctx, &a->solver[k]));
    TRY(PoiseKSPSetOptionsPrefix(a->solver[k], prefix));
  }
  a->inner = a->solver[ITERATIVE];
  return POISE_OK;
}

static bool IsDirect(int rung)
{
  return poiseLadder[rung].pc && !strcmp(poiseLadder[rung].pc, "lu");
}

/* Does it match unknowns with equations? */
static bool IsMatched(int rung)
{
  const Word *words = poiseLadder[rung].words;
  for (int k = 0; k < WORDS && words[k].key; k++)
    if (!strcmp(words[k].key, "mat_order")) return true;
  return false;
}

/* Is it known what a rung costs, if that ever is? Factors tell whether a matching is worth its time. */
static bool IsForeseen(const Auto *a, int rung)
{
  const Rung *r = &poiseLadder[rung];
  return IsMatched(rung) ? a->facts.direct > 0 : !r->cost || r->cost(&a->facts) > 0;
}

/* What a rung has cost after these iterations, in products. */
static double Cost(const Auto *a, int rung, PoiseInt its)
{
  return poiseLadder[rung].work * (double)its + (IsMatched(rung) ? a->facts.match : 0);
}

/* Has the application named a preconditioner? Then methods alone are chosen. */
static bool HasNamed(PoiseKSP ksp)
{
  return ksp->pc->named && strcmp(poisePCAsked(ksp->pc)->name, "auto") != 0;
}

static bool Fits(PoiseKSP ksp, int rung)
{
  const Auto *a = ksp->data;
  return HasNamed(ksp) == !poiseLadder[rung].pc && poiseLadder[rung].fits(&a->facts);
}

static PoiseErr TakePreconditioner(PoiseKSP ksp, PoiseKSP inner, const Rung *r)
{
  if (!r->pc) return poiseKSPTakePC(ksp->pc, inner->pc);
  TRY(PoisePCSetOptionsPrefix(inner->pc, inner->prefix));
  return PoisePCSetType(inner->pc, r->pc);
}

/* A solver inside becomes that of a rung. */
static PoiseErr Climb(PoiseKSP ksp, int rung)
{
  Auto *a = ksp->data;
  const Rung *r = &poiseLadder[rung];
  int which = IsDirect(rung) ? DIRECT : ITERATIVE;
  PoiseKSP inner = a->inner = a->solver[which];
  bool mine[WORDS];
  TRY(PoiseKSPSetOperators(inner, ksp->given_A, ksp->given_P));
  if (a->rung[which] == rung) return r->pc ? POISE_OK : TakePreconditioner(ksp, inner, r);
  a->rung[which] = RUNGS;
  inner->options.side = 0; /* the method's own, unless a word says which */
  inner->order = POISE_ORDER_NATURAL;
  TRY(PoiseKSPSetType(inner, r->method));
  TRY(TakePreconditioner(ksp, inner, r));
  TRY(poiseWordsSet(ksp->ctx, inner->prefix, r->words, mine));
  PoiseErr e = PoiseKSPSetFromOptions(inner);
  if (!e) e = PoiseAgree(ksp->ctx, poiseMatReadOrder(ksp->ctx, inner->prefix, &inner->order));
  PoiseErr cleared = poiseWordsClear(ksp->ctx, inner->prefix, r->words, mine);
  TRY(e ? e : cleared);
  a->rung[which] = rung;
  return POISE_OK;
}

/* What the application has asked of the solver around it. */
static PoiseErr TakeSettings(PoiseKSP ksp, PoiseKSP inner)
{
  const KSPOptions *from = &ksp->options;
  KSPOptions *to = &inner->options;
  to->rtol = from->rtol, to->atol = from->atol, to->dtol = from->dtol;
  to->monitor = from->monitor, to->every = from->every, to->lines = from->lines;
  to->true_residual = from->true_residual, to->progress = from->progress;
  to->norm = POISE_KSP_NORM_DEFAULT;
  to->verify = 1;
  inner->user = ksp->user;
  inner->history.keep = true; /* for its pace */
  for (unsigned norms = inner->type->left | inner->type->right; norms & NORM(UNPRECONDITIONED); norms = 0)
    to->norm = POISE_KSP_NORM_UNPRECONDITIONED;
  return PoiseKSPSetReusePreconditioner(inner, from->reuse);
}

/* ---- a rung ---------------------------------------------------------------------------------- */

typedef struct Climbing { /* a solve */
  PoiseKSP ksp;
  PoiseVec b, x, kept;
  double begun, goal,
      best;   /* |b - A x| at first; that is asked for; of the kept x, which is x between rungs */
  bool given; /* the application has a guess */
  PoiseInt its, left;
  int rung;
  double spent;  /* products of rungs that did not solve */
  PoiseInt next; /* iteration in which the rung's pace is looked at */
  bool last;     /* no rung is left: this one has all iterations that are */
} Climbing;

/* The error of a rung that cannot work for this A, on some rank, is no error of the solve. Collective. */
static PoiseErr Forgive(PoiseContext ctx, PoiseErr e, char text[AUTO_TEXT])
{
  ErrorState error;
  bool can = e == POISE_ERR_NUMERIC || e == POISE_ERR_UNSUPPORTED || e == POISE_ERR_SIZE ||
             e == POISE_ERR_MEMORY || e == POISE_ERR_REMOTE;
  int64_t stays = e && !can;
  if (e) poiseErrorSave(&error);
  TRY(poiseCommMaxInt(ctx->comm, &stays, 1));
  if (e) poiseErrorRestore(&error);
  if (stays) return PoiseAgree(ctx, e);
  if (e) snprintf(text, AUTO_TEXT, "%s", PoiseErrorMessage());
  PoiseErrorClear();
  return POISE_OK;
}

/* What factors of this size cost, in products. */
static double Factors(PoiseKSP ksp, double entries, double flops)
{
  const Facts *f = &((Auto *)ksp->data)->facts;
  return poiseCostOfFactors(f, &ksp->ctx->device->model, PoiseSize(ksp->ctx), entries, flops);
}

static PoiseErr ForeseeFactors(PoiseKSP ksp, double *entries, double *flops)
{
  const Auto *a = ksp->data;
  int rung = 0;
  while (!IsDirect(rung)) rung++;
  TRY(Climb(ksp, rung));
  return poisePCForesee(a->inner->pc, entries, flops);
}

/* What sparse factors cost is foreseen once a rung has not solved at once, as to order their columns takes as
   long as many iterations. Collective; agrees. */
static PoiseErr Foresee(PoiseKSP ksp)
{
  Auto *a = ksp->data;
  Facts *f = &a->facts;
  PoiseKSP current = a->inner;
  double entries, flops;
  if (f->direct) return POISE_OK;
  a->verdict[0] = 0;
  f->direct = INFINITY;
  if (!f->stored) return POISE_OK;
  TRY(poiseLookAtSmall(poiseKSPGiven(ksp), f));
  PoiseErr e = ForeseeFactors(ksp, &entries, &flops);
  a->inner = current;
  if (!e) f->direct = Factors(ksp, entries, flops);
  int64_t singular = e == POISE_ERR_NUMERIC;
  TRY(Forgive(ksp->ctx, e, a->verdict));
  TRY(poiseCommMaxInt(ksp->ctx->comm, &singular, 1));
  f->singular = singular;
  return POISE_OK;
}

/* The least cost that is known of those behind a rung that solve for sure, in products; INFINITY: of none. */
static double Known(PoiseKSP ksp, int rung)
{
  const Facts *f = &((Auto *)ksp->data)->facts;
  double least = INFINITY;
  for (int k = rung + 1; k < RUNGS; k++)
    if (poiseLadder[k].cost && Fits(ksp, k) && IsForeseen(ksp->data, k))
      least = fmin(least, poiseLadder[k].cost(f));
  return least;
}

/* What sparse factors cost at least: an order of the columns takes as long as five times A's entries in
   factors. */
static double Least(PoiseKSP ksp)
{
  return Factors(ksp, 6 * ((Auto *)ksp->data)->facts.entries, 0);
}

/* Could they cost less than what is known to be surer than a rung? */
static bool IsUnknown(PoiseKSP ksp, int rung)
{
  return poiseLadder[rung].pc && ((Auto *)ksp->data)->facts.direct == 0 && Known(ksp, rung) > Least(ksp);
}

/* What the cheapest of those behind a rung that solve for sure costs, in products. Where factors are not
   foreseen, what they cost at least. Collective; agrees. */
static PoiseErr Limit(PoiseKSP ksp, int rung, bool foresee, double *products)
{
  const Facts *f = &((Auto *)ksp->data)->facts;
  if (foresee && IsUnknown(ksp, rung)) TRY(Foresee(ksp));
  double cost = IsUnknown(ksp, rung) ? Least(ksp) : Known(ksp, rung);
  /* Where none is, those that cg takes on a grid, which grow with its side, and most in a plane. */
  *products = cost < INFINITY ? cost : (200 + 4 * sqrt(f->rows)) * poiseLadder[rung].work;
  return POISE_OK;
}

/* Norms of a rung come behind those of others. */
static PoiseErr Append(PoiseKSP ksp, const KSPHistory *from)
{
  KSPHistory *to = &ksp->history;
  const size_t one = sizeof *to->norms, used = (size_t)to->size * one, more = (size_t)from->size * one;
  if (!more) return POISE_OK;
  if (to->size + from->size > to->capacity) {
    TRY(poiseRealloc(ksp->ctx, used + more, used, "residual history", &to->norms));
    to->capacity = to->size + from->size;
  }
  memcpy(to->norms + to->size, from->norms, more);
  to->size += from->size;
  return POISE_OK;
}

/* Iterations to the tolerance at the pace of the latest half of those that there were. */
static double Missing(PoiseKSP inner)
{
  const KSPHistory *h = &inner->history;
  int64_t half = h->size / 2;
  double before = INFINITY, least;
  for (int64_t k = 0; k < half; k++) before = fmin(before, h->norms[k]);
  least = before;
  for (int64_t k = half; k < h->size; k++) least = fmin(least, h->norms[k]);
  double missing = log(least / poiseKSPTarget(inner)), pace = log(before / least) / (double)(h->size - half);
  return missing <= 0 ? 0 : missing / pace;
}

/* Has a rung had its share? It goes on if its pace promises an end that costs less than what is surer; a pace
   mostly rises. Without a promise all rungs together have a quarter of that cost, and each a half of what is
   left. It is foreseen once iterations have cost as much as that does: an order of A. Collective; agrees. */
static PoiseErr Judge(Climbing *c, PoiseKSP inner, bool *enough)
{
  const double rise = 1.5;
  const Rung *r = &poiseLadder[c->rung];
  const double order = Factors(c->ksp, ((const Auto *)c->ksp->data)->facts.entries, 0);
  bool unknown = !r->most && IsUnknown(c->ksp, c->rung);
  double had = Cost(c->ksp->data, c->rung, inner->result.its);
  double all = had + r->work * Missing(inner) / rise, limit;
  *enough = !unknown || had > order;
  for (int foresee = 0; foresee <= unknown && *enough; foresee++) {
    TRY(Limit(c->ksp, c->rung, foresee, &limit));
    if (r->most) limit = fmin(limit, r->most);
    *enough = !(all <= limit) && had > (limit / 4 - c->spent) / 2;
  }
  return POISE_OK;
}

/* Behind an iteration of the solver inside. The first ones cost little beside any set-up. */
static bool IsEnough(PoiseKSP inner, void *arg)
{
  enum { FIRST = 10 };
  Climbing *c = arg;
  bool enough = false;
  PoiseInt its = inner->result.its;
  if (c->last || its < FIRST || its < c->next) return false;
  c->next = its + its / 8 + 1;
  poiseKSPFailed(inner,
                 poiseKSPAgree(inner)); /* a rank that has failed has other norms, and does not judge */
  if (!inner->solve.failed) poiseKSPFailed(inner, Judge(c, inner, &enough));
  return enough;
}

/* An x that has half of the digits asked for saves iterations. With fewer it does not, as what is left of
   b is then what the next method is slow at too. */
static bool IsGuess(const Climbing *c)
{
  return c->given || c->best <= sqrt(c->begun * c->goal);
}

/* Solve, from x if it is a guess. *e: an error that is forgiven. Collective; agrees. */
static PoiseErr Run(PoiseKSP ksp, Climbing *c, int rung, PoiseErr *e)
{
  Auto *a = ksp->data;
  PoiseKSP inner = a->inner;
  Tried *t = &a->tried[rung];
  inner->options.guess_nonzero = IsGuess(c);
  inner->options.maxits = c->left;
  inner->watch = (KSPWatch){IsEnough, c};
  *e = poiseKSPSolve(inner, c->b, c->x);
  inner->watch = (KSPWatch){NULL, NULL};
  TRY(Forgive(ksp->ctx, *e, t->text));
  t->reason = *e ? POISE_DIVERGED_ERROR : inner->result.reason;
  t->its += *e ? 0 : inner->result.its;
  c->its += *e ? 0 : inner->result.its;
  c->left -= *e ? 0 : inner->result.its;
  if (*e) return POISE_OK;
  if (ksp->history.keep) TRY(PoiseAgree(ksp->ctx, Append(ksp, &inner->history)));
  return PoiseKSPTrueResidual(inner, c->b, c->x, &t->norm);
}

/* Keep x if it is the best yet, or else go back to what is. */
static PoiseErr Keep(Climbing *c, double norm)
{
  bool better = norm < c->best;
  if (better) c->best = norm;
  return better ? PoiseVecCopy(c->x, c->kept) : PoiseVecCopy(c->kept, c->x);
}

/* One rung. *done: x is the solution. */
static PoiseErr Try(PoiseKSP ksp, Climbing *c, int rung, bool *done)
{
  const int most = 3; /* claims that b - A x refutes by little */
  Auto *a = ksp->data;
  Tried *t = &a->tried[rung];
  *t = (Tried){.tried = true, .norm = INFINITY};
  PoiseErr failed = Climb(ksp, rung);
  TRY(Forgive(ksp->ctx, failed, t->text));
  t->error = failed;
  if (failed) return POISE_OK;
  TRY(TakeSettings(ksp, a->inner));
  c->rung = rung;
  for (int round = 0, again = 1; again && c->left > 0; round++) {
    double before = c->best;
    c->next = 0;
    TRY(Run(ksp, c, rung, &t->error));
    if (t->error) return Keep(c, INFINITY);
    bool claims = t->reason > 0, right = t->norm <= c->goal || (claims && a->inner->solve.claim.rounding);
    TRY(Keep(c, t->norm));
    *done = right && poiseFinite(t->norm);
    again = !*done && claims && round < most && t->norm < before;
  }
  c->spent += Cost(a, rung, t->its);
  return POISE_OK;
}

/* ---- a solve --------------------------------------------------------------------------------- */

static PoiseErr Look(PoiseKSP ksp)
{
  Auto *a = ksp->data;
  PoiseMat A = poiseKSPGiven(ksp);
  int64_t stale = !a->looked || poiseMatChanged(&a->seen, A) & CHANGED_PATTERN || !poiseMatHolds(A);
  TRY(poiseCommMaxInt(ksp->ctx->comm, &stale, 1));
  if (!stale) return POISE_OK;
  a->looked = false;
  a->won = RUNGS;
  TRY(poiseLookAt(A, &a->facts));
  a->facts.match = Factors(ksp, 2 * a->facts.entries, 0); /* entries are looked for, and moved */
  a->seen = A->version;
  a->looked = true;
  return POISE_OK;
}

/* New values may be of another kind than those that were looked at. */
static PoiseErr LookAnew(PoiseKSP ksp)
{
  Auto *a = ksp->data;
  a->looked = false;
  return Look(ksp);
}

static PoiseErr SetUp_Auto(PoiseKSP ksp)
{
  if (!strcmp(ksp->pc->type->name, "shell"))
    FAIL(POISE_ERR_UNSUPPORTED, "method auto does not take a preconditioner of the application's: name a "
                                "method, e.g. -ksp_type fgmres");
  TRY(Open(ksp));
  return Look(ksp);
}

static PoiseErr Begin(PoiseKSP ksp, Climbing *c)
{
  double norm;
  TRY(PoiseVecNorm(c->b, POISE_NORM_2, &norm));
  c->goal = fmax(ksp->options.rtol * norm, ksp->options.atol);
  c->best = norm;
  c->given = ksp->options.guess_nonzero != 0;
  c->left = ksp->options.maxits;
  if (c->given) TRY(PoiseKSPTrueResidual(((Auto *)ksp->data)->inner, c->b, c->x, &c->best));
  if (!c->given) TRY(PoiseVecSet(c->x, 0));
  c->begun = c->best;
  return PoiseVecCopy(c->x, c->kept);
}

/* Of the rungs that had their share the one that came nearest. RUNGS: there is none, or factors were tried,
   which are surer than more iterations. */
static int Nearest(const Auto *a)
{
  int nearest = RUNGS;
  for (int k = 0; k < RUNGS; k++) {
    const Tried *t = &a->tried[k];
    if (t->tried && IsDirect(k)) return RUNGS;
    if (!t->tried || t->error || t->reason != POISE_DIVERGED_ITS) continue;
    if (nearest == RUNGS || t->norm < a->tried[nearest].norm) nearest = k;
  }
  return nearest;
}

static PoiseErr TryAll(PoiseKSP ksp, Climbing *c, bool *done)
{
  Auto *a = ksp->data;
  int first = a->won < RUNGS && HasNamed(ksp) == !poiseLadder[a->won].pc ? a->won : RUNGS;
  for (int k = 0; k < RUNGS; k++) a->tried[k] = (Tried){0};
  if (first < RUNGS) TRY(Try(ksp, c, first, done));
  if (first < RUNGS && !*done) TRY(LookAnew(ksp));
  for (int k = 0; k < RUNGS && !*done; k++)
    if (k != first) {
      if (Fits(ksp, k) && !IsForeseen(a, k)) TRY(Foresee(ksp));
      if (Fits(ksp, k)) TRY(Try(ksp, c, k, done));
      if (*done) a->won = k;
    }
  int nearest = *done || c->left <= 0 ? RUNGS : Nearest(a);
  if (nearest == RUNGS) return POISE_OK;
  c->last = true;
  TRY(Try(ksp, c, nearest, done));
  if (*done) a->won = nearest;
  return POISE_OK;
}

/* A rung in words. */
static void Name(PoiseKSP ksp, int rung, char *text, size_t size)
{
  const Rung *r = &poiseLadder[rung];
  const char *pc = r->pc ? r->pc : poisePCAsked(ksp->pc)->name;
  int n = snprintf(text, size, "-ksp_type %s -pc_type %s", r->method, pc);
  for (int k = 0; k < WORDS && r->words[k].key && n < (int)size; k++)
    n += snprintf(text + n, size - (size_t)n, " -%s %s", r->words[k].key, r->words[k].value);
}

/* What factors said of A; "": nothing. */
static const char *Verdict(const Auto *a)
{
  for (int k = 0; k < RUNGS; k++)
    if (IsDirect(k) && a->tried[k].error) return a->tried[k].text;
  return a->verdict;
}

static void Tell(PoiseKSP ksp, const Climbing *c, bool done)
{
  Auto *a = ksp->data;
  char name[POISE_OPTION_LENGTH];
  const char *verdict = Verdict(a);
  KSPResult *r = &ksp->result;
  r->its = c->its;
  r->rnorm = c->best;
  r->reason = done                   ? POISE_CONVERGED_RTOL
              : poiseFinite(c->best) ? POISE_DIVERGED_ITS
                                     : POISE_DIVERGED_NANORINF;
  r->inconsistency = a->inner->result.inconsistency;
  ksp->norm = POISE_KSP_NORM_UNPRECONDITIONED;
  if (done && a->won == RUNGS) return; /* the guess was right, or b is 0 */
  if (done) Name(ksp, a->won, name, sizeof name);
  if (done)
    poiseKSPSay(ksp, "solved by %s", name);
  else if (!poiseFinite(c->best))
    poiseKSPSay(ksp, "the norm of b%s is %g", c->given ? ", or of b - A x of the guess," : "", c->best);
  else
    poiseKSPSay(ksp, "no method reached |b - A x| = %.3g, the best has %.3g%s%s; -ksp_view tells of all",
                c->goal, c->best, *verdict ? "; " : "", verdict);
}

static PoiseErr Solve_Auto(PoiseKSP ksp, PoiseVec b, PoiseVec x)
{
  Climbing c = {.ksp = ksp, .b = b, .x = x};
  bool done = false;
  ksp->result.its = ksp->history.size = 0;
  ksp->result.reason = POISE_ITERATING;
  PoiseErr e = PoiseVecDuplicate(x, &c.kept);
  if (!e) e = PoiseKSPSetOperators(((Auto *)ksp->data)->inner, ksp->given_A, ksp->given_P);
  if (!e) e = Begin(ksp, &c);
  bool finite = poiseFinite(c.best); /* b and the guess are */
  if (!e && finite) done = c.best <= c.goal;
  if (!e && finite && !done) e = TryAll(ksp, &c, &done);
  PoiseVecDestroy(&c.kept);
  if (!e) Tell(ksp, &c, done);
  return e;
}

/* ---- view ------------------------------------------------------------------------------------ */

static PoiseErr ViewFacts(PoiseKSP ksp)
{
  const Facts *f = &((Auto *)ksp->data)->facts;
  TRY(poisePrint(ksp->ctx, "  seen: %.0f rows, %s", f->rows, f->symmetric ? "symmetric" : "not symmetric"));
  if (!f->stored) return poisePrint(ksp->ctx, ", a shell\n");
  TRY(poisePrint(ksp->ctx, ", %.0f entries; of the diagonal %.0f positive, %.0f negative, %.0f zero",
                 f->entries, f->positive, f->negative, f->zero));
  if (f->small > 0) TRY(poisePrint(ksp->ctx, ", %.0f small", f->small));
  return poisePrint(ksp->ctx, "\n");
}

static PoiseErr ViewRung(PoiseKSP ksp, int k)
{
  const Tried *t = &((Auto *)ksp->data)->tried[k];
  char name[POISE_OPTION_LENGTH];
  Name(ksp, k, name, sizeof name);
  TRY(poisePrint(ksp->ctx, "  %s (%s): ", name, poiseLadder[k].why));
  if (t->error) return poisePrint(ksp->ctx, "%s\n", t->text);
  return poisePrint(ksp->ctx, "%s after %lld iterations, |b - A x| %.3g\n", PoiseKSPReasonString(t->reason),
                    (long long)t->its, t->norm);
}

static PoiseErr View_Auto(PoiseKSP ksp)
{
  const Auto *a = ksp->data;
  if (!a->looked) return POISE_OK;
  TRY(ViewFacts(ksp));
  if (a->verdict[0]) TRY(poisePrint(ksp->ctx, "  of factors: %s\n", a->verdict));
  for (int k = 0; k < RUNGS; k++)
    if (a->tried[k].tried) TRY(ViewRung(ksp, k));
  return a->rung[a->inner == a->solver[DIRECT]] < RUNGS ? PoiseKSPView(a->inner) : POISE_OK;
}

static void Bytes_Auto(PoiseKSP ksp, PoiseBytes *sum)
{
  const Auto *a = ksp->data;
  for (int k = 0; k < SOLVERS; k++) poiseKSPAddBytes(a->solver[k], NULL, sum);
}

static void Destroy_Auto(PoiseKSP ksp)
{
  Auto *a = ksp->data;
  for (int k = 0; k < SOLVERS; k++) poiseKSPDestroy(&a->solver[k]);
}

const KSPType poiseKSPType_auto = {
    .name = "auto",
    .size = sizeof(Auto),
    .flexible = true,
    .right = NORM(UNPRECONDITIONED),
    .setup = SetUp_Auto,
    .solve = Solve_Auto,
    .bytes = Bytes_Auto,
    .view = View_Auto,
    .destroy = Destroy_Auto,
};
