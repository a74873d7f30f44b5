/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Method auto: a ladder of methods and preconditioners (ladder.c), which it takes by what it sees of A. A
  solver inside works for each rung, within a budget of iterations. It goes on while its pace promises an
  end. A rung that has failed leaves its x to the next one, if that is better than what there was. Only
  b - A x tells whether a solve has succeeded. What did is tried first in the next solve.
*/
#include <float.h>

#include "divided.h"
#include "inside.h"
#include "ladder.h"
#include "methods.h"
#include "setup.h"
#include "solve.h"

/* ---- the solver inside ----------------------------------------------------------------------- */

enum { AUTO_TEXT = 160 };

typedef struct Tried { /* what became of a rung in the latest solve */
  bool tried;
  PoiseKSPReason reason; /* or the error */
  PoiseErr error;
  PoiseInt its;
  double norm;          /* |b - A x| afterwards */
  char text[AUTO_TEXT]; /* of the error */
} Tried;

typedef struct Auto {
  PoiseKSP inner;
  int rung, won; /* of the solver inside; that has succeeded; RUNGS: none */
  bool looked;
  Version seen; /* of A when it was looked at */
  Facts facts;
  Tried tried[RUNGS];
} Auto;

static PoiseErr Open(PoiseKSP ksp)
{
  Auto *a = ksp->data;
  char prefix[POISE_OPTION_LENGTH];
  if (a->inner) return POISE_OK;
  snprintf(prefix, sizeof prefix, "%sauto_", ksp->prefix ? ksp->prefix : "");
  TRY(PoiseKSPCreate(ksp->ctx, &a->inner));
  a->rung = a->won = RUNGS;
  return PoiseKSPSetOptionsPrefix(a->inner, prefix);
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

static PoiseErr TakePreconditioner(PoiseKSP ksp, const Rung *r)
{
  PoiseKSP inner = ((Auto *)ksp->data)->inner;
  if (!r->pc) return poiseKSPTakePC(ksp->pc, inner->pc);
  TRY(PoisePCSetOptionsPrefix(inner->pc, inner->prefix));
  return PoisePCSetType(inner->pc, r->pc);
}

/* The solver inside becomes that of a rung. */
static PoiseErr Climb(PoiseKSP ksp, int rung)
{
  Auto *a = ksp->data;
  const Rung *r = &poiseLadder[rung];
  bool mine[WORDS];
  if (a->rung == rung) return r->pc ? POISE_OK : TakePreconditioner(ksp, r);
  a->rung = RUNGS;
  a->inner->options.side = 0; /* the method's own, unless a word says which */
  TRY(PoiseKSPSetType(a->inner, r->method));
  TRY(TakePreconditioner(ksp, r));
  TRY(poiseWordsSet(ksp->ctx, a->inner->prefix, r->words, mine));
  PoiseErr e = PoiseKSPSetFromOptions(a->inner);
  PoiseErr cleared = poiseWordsClear(ksp->ctx, a->inner->prefix, r->words, mine);
  TRY(e ? e : cleared);
  a->rung = rung;
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
  inner->history.keep = ksp->history.keep;
  for (unsigned norms = inner->type->left | inner->type->right; norms & NORM(UNPRECONDITIONED); norms = 0)
    to->norm = POISE_KSP_NORM_UNPRECONDITIONED;
  return PoiseKSPSetReusePreconditioner(inner, from->reuse);
}

/* ---- a rung ---------------------------------------------------------------------------------- */

typedef struct Climbing { /* a solve */
  PoiseVec b, x, kept;
  double goal, best; /* |b - A x| that is asked for; of the kept x, which is x between rungs */
  bool guess;        /* x is one */
  PoiseInt its, left;
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

/* Iterations that are given at first. Those of cg grow with the side of a grid, which a plane has most of. A
   hundred products cost about what sparse factors of a grid do. So a brief rung has so many that it wastes no
   more than these take. */
static PoiseInt Budget(const Facts *f, int rung)
{
  return poiseLadder[rung].brief ? 40 : (PoiseInt)(200 + 4 * sqrt(f->rows));
}

/* Norms of a rung come behind those of others. */
static PoiseErr Append(PoiseKSP ksp, const KSPHistory *from)
{
  KSPHistory *to = &ksp->history;
  const size_t one = sizeof *to->norms, used = (size_t)to->size * one, more = (size_t)from->size * one;
  if (!to->keep || !more) return POISE_OK;
  if (to->size + from->size > to->capacity) {
    TRY(poiseRealloc(ksp->ctx, used + more, used, "residual history", &to->norms));
    to->capacity = to->size + from->size;
  }
  memcpy(to->norms + to->size, from->norms, more);
  to->size += from->size;
  return POISE_OK;
}

/* Solve, from x if there is a guess. *e: an error that is forgiven. Collective; agrees. */
static PoiseErr Run(PoiseKSP ksp, Climbing *c, PoiseInt most, PoiseErr *e)
{
  Auto *a = ksp->data;
  PoiseKSP inner = a->inner;
  Tried *t = &a->tried[a->rung];
  inner->options.guess_nonzero = c->guess;
  inner->options.maxits = most < c->left ? most : c->left;
  *e = PoiseKSPSetOperators(inner, ksp->given_A, ksp->given_P);
  if (!*e) *e = poiseKSPSolve(inner, c->b, c->x);
  TRY(Forgive(ksp->ctx, *e, t->text));
  t->reason = *e ? POISE_DIVERGED_ERROR : inner->result.reason;
  t->its += *e ? 0 : inner->result.its;
  c->its += *e ? 0 : inner->result.its;
  c->left -= *e ? 0 : inner->result.its;
  if (*e) return POISE_OK;
  TRY(PoiseAgree(ksp->ctx, Append(ksp, &inner->history)));
  return PoiseKSPTrueResidual(inner, c->b, c->x, &t->norm);
}

/* Keep x if it is the best yet, or else go back to what is. */
static PoiseErr Keep(Climbing *c, double norm)
{
  bool better = norm < c->best;
  if (better) c->best = norm, c->guess = true;
  return better ? PoiseVecCopy(c->x, c->kept) : PoiseVecCopy(c->kept, c->x);
}

/* Iterations that a solve needs besides its budget to end, by its pace; 0: too many. */
static PoiseInt More(double before, double now, double goal, PoiseInt its)
{
  const double most = 3;
  double gained = log(before / now), missing = log(now / goal);
  if (!(gained > 0) || !(missing < most * gained)) return 0;
  return (PoiseInt)(1.5 * missing / gained * (double)its) + 10;
}

/* One rung. *done: x is the solution. */
static PoiseErr Try(PoiseKSP ksp, Climbing *c, int rung, bool *done)
{
  const int again = 3; /* times: a claim that b - A x refutes by little, a solve that has used its budget */
  Auto *a = ksp->data;
  Tried *t = &a->tried[rung];
  PoiseErr failed;
  PoiseInt most = Budget(&a->facts, rung);
  *t = (Tried){.tried = true, .norm = INFINITY};
  failed = Climb(ksp, rung);
  TRY(Forgive(ksp->ctx, failed, t->text));
  t->error = failed;
  if (failed) return POISE_OK;
  TRY(TakeSettings(ksp, a->inner));
  for (int round = 0; most > 0 && c->left > 0; round++) {
    double before = c->best;
    TRY(Run(ksp, c, most, &t->error));
    if (t->error) return Keep(c, INFINITY);
    bool claims = t->reason > 0, right = t->norm <= c->goal || (claims && a->inner->solve.claim.rounding);
    TRY(Keep(c, t->norm));
    *done = right && poiseFinite(t->norm);
    if (*done) return POISE_OK;
    bool may = round < (poiseLadder[rung].brief ? 1 : again) && t->norm < before;
    if (may && !claims) may = t->reason == POISE_DIVERGED_ITS;
    most = !may ? 0 : claims ? most : More(before, t->norm, c->goal, most);
  }
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
  c->guess = ksp->options.guess_nonzero != 0;
  c->left = ksp->options.maxits;
  if (c->guess) TRY(PoiseKSPTrueResidual(((Auto *)ksp->data)->inner, c->b, c->x, &c->best));
  if (!c->guess) TRY(PoiseVecSet(c->x, 0));
  return PoiseVecCopy(c->x, c->kept);
}

static PoiseErr TryAll(PoiseKSP ksp, Climbing *c, bool *done)
{
  Auto *a = ksp->data;
  int first = a->won < RUNGS && HasNamed(ksp) == !poiseLadder[a->won].pc ? a->won : RUNGS;
  for (int k = 0; k < RUNGS; k++) a->tried[k] = (Tried){0};
  if (first < RUNGS) TRY(Try(ksp, c, first, done));
  if (first < RUNGS && !*done) TRY(LookAnew(ksp));
  for (int k = 0; k < RUNGS && !*done; k++)
    if (k != first && Fits(ksp, k)) {
      TRY(Try(ksp, c, k, done));
      if (*done) a->won = k;
    }
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
    if (poiseLadder[k].pc && !strcmp(poiseLadder[k].pc, "lu") && a->tried[k].error) return a->tried[k].text;
  return "";
}

static void Tell(PoiseKSP ksp, const Climbing *c, bool done)
{
  Auto *a = ksp->data;
  char name[POISE_OPTION_LENGTH];
  const char *verdict = Verdict(a);
  KSPResult *r = &ksp->result;
  r->its = c->its;
  r->rnorm = c->best;
  r->reason = done ? POISE_CONVERGED_RTOL : POISE_DIVERGED_ITS;
  r->inconsistency = a->inner->result.inconsistency;
  ksp->norm = POISE_KSP_NORM_UNPRECONDITIONED;
  if (done && a->won == RUNGS) return; /* the guess was right, or b is 0 */
  if (done) Name(ksp, a->won, name, sizeof name);
  if (done)
    poiseKSPSay(ksp, "solved by %s", name);
  else
    poiseKSPSay(ksp, "no method reached |b - A x| = %.3g, the best has %.3g%s%s; -ksp_view tells of all",
                c->goal, c->best, *verdict ? "; " : "", verdict);
}

static PoiseErr Solve_Auto(PoiseKSP ksp, PoiseVec b, PoiseVec x)
{
  Climbing c = {.b = b, .x = x};
  bool done = false;
  ksp->result.its = ksp->history.size = 0;
  ksp->result.reason = POISE_ITERATING;
  PoiseErr e = PoiseVecDuplicate(x, &c.kept);
  if (!e) e = PoiseKSPSetOperators(((Auto *)ksp->data)->inner, ksp->given_A, ksp->given_P);
  if (!e) e = Begin(ksp, &c);
  if (!e && c.best <= c.goal)
    done = true;
  else if (!e && !isnan(c.best))
    e = TryAll(ksp, &c, &done);
  PoiseVecDestroy(&c.kept);
  if (!e) Tell(ksp, &c, done);
  if (!e && isnan(c.best)) ksp->result.reason = POISE_DIVERGED_NANORINF; /* b or the guess */
  return e;
}

/* ---- view ------------------------------------------------------------------------------------ */

static PoiseErr ViewFacts(PoiseKSP ksp)
{
  const Facts *f = &((Auto *)ksp->data)->facts;
  TRY(poisePrint(ksp->ctx, "  seen: %.0f rows, %s", f->rows, f->symmetric ? "symmetric" : "not symmetric"));
  if (!f->stored) return poisePrint(ksp->ctx, ", a shell\n");
  return poisePrint(ksp->ctx, ", %.0f entries; of the diagonal %.0f positive, %.0f negative, %.0f zero\n",
                    f->entries, f->positive, f->negative, f->zero);
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
  for (int k = 0; k < RUNGS; k++)
    if (a->tried[k].tried) TRY(ViewRung(ksp, k));
  return a->rung < RUNGS ? PoiseKSPView(a->inner) : POISE_OK;
}

static PoiseKSP Inner_Auto(PoiseKSP ksp)
{
  return ((Auto *)ksp->data)->inner;
}

static void Destroy_Auto(PoiseKSP ksp)
{
  poiseKSPDestroy(&((Auto *)ksp->data)->inner);
}

const KSPType poiseKSPType_auto = {
    .name = "auto",
    .size = sizeof(Auto),
    .flexible = true,
    .right = NORM(UNPRECONDITIONED),
    .setup = SetUp_Auto,
    .solve = Solve_Auto,
    .inner = Inner_Auto,
    .view = View_Auto,
    .destroy = Destroy_Auto,
};
