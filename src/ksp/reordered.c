/* SPDX-License-Identifier: BSD-3-Clause */
/*
  A solver whose matrix asks for another layout or numbering (-mat_partition, -mat_order) works with
  rearranged copies of its matrices. The copies follow the application's matrices: new values in one pass, a
  new pattern with a new permutation.
*/
#include "mat/order/arrange.h"
#include "mat/product/pcsr.h"
#include "divided.h"
#include "normal.h"
#include "reordered.h"
#include "setup.h"
#include "solve.h"

static PoiseOrder OrderOf(PoiseKSP ksp)
{
  return ksp->order != POISE_ORDER_NATURAL ? ksp->order : ksp->given_A->asked.order;
}

bool poiseKSPReorders(PoiseKSP ksp)
{
  return ksp->arranged || (!ksp->inside && ksp->given_A && poiseMatReorders(ksp->given_A, OrderOf(ksp)));
}

/* A rearranged matrix, or A itself if it has that arrangement already. */
static PoiseErr MakeMoved(PoiseMat A, const Permutation *p, PoiseMat *mat)
{
  if (!p->from) return poiseMatShare(A, mat);
  TRY(poiseMatReordered(A, p, mat));
  (*mat)->origin.mat = A;
  return poisePermutationShare(p, &(*mat)->origin.moves);
}

/* Drop the reference to the original, which the application may destroy. The copy will be made anew. */
static void LetGo(Moved *m)
{
  if (m->mat) m->mat->origin.mat = NULL;
  m->of = NULL;
}

void poiseKSPLetGo(PoiseKSP ksp, bool other_A, bool other_P)
{
  if (ksp->arranged && other_A) LetGo(&ksp->arranged->A);
  if (ksp->arranged && other_P) LetGo(&ksp->arranged->P);
}

static void Drop(Moved *m)
{
  LetGo(m);
  PoiseMatDestroy(&m->mat);
}

int64_t poiseMovedStale(const Moved *m, PoiseMat A)
{
  unsigned changed = poiseMatChanged(&m->seen, A);
  if (!m->of || changed & CHANGED_PATTERN || m->block_size != A->block_size) return MOVED_PATTERN;
  return changed ? MOVED_VALUES : MOVED_CURRENT;
}

/* stale: what is out of date on any rank. */
static PoiseErr Follow(Moved *m, PoiseMat A, const Permutation *p, int64_t stale)
{
  Moved now = {A, m->mat, A->version, A->block_size};
  unsigned changed = poiseMatChanged(&m->seen, A);
  if (stale == MOVED_CURRENT) return POISE_OK;
  m->of = NULL; /* until all is done */
  if (stale == MOVED_PATTERN) {
    Drop(m); /* here, as the old one may be in use until now */
    TRY(MakeMoved(A, p, &now.mat));
  } else if (m->mat != A) {
    TRY(poiseMatMoveRest(A, p, changed, m->mat));
    if (changed & CHANGED_VALUES) TRY(poiseMatMoveValues(A, p, m->mat));
  }
  *m = now;
  return POISE_OK;
}

static void Clear(Arranged *a)
{
  Drop(&a->A);
  Drop(&a->P);
  PoiseVecDestroy(&a->b);
  PoiseVecDestroy(&a->x);
  poisePermutationDestroy(&a->moves);
  poiseLayoutDestroy(&a->rows);
}

void poiseKSPDropReordered(PoiseKSP ksp)
{
  if (ksp->arranged && ksp->arranged->moves.from) ksp->pc->built = false;
  if (ksp->arranged) Clear(ksp->arranged);
  poiseFree(ksp->ctx, &ksp->arranged);
}

static PoiseErr Renumber(PoiseKSP ksp, Arranged *a)
{
  PoiseMat A = ksp->given_A;
  bool moved = a->moves.from;
  Clear(a);
  TRY(poisePermutationCreate(A, OrderOf(ksp), &a->moves));
  if (moved || a->moves.from) ksp->pc->built = false; /* a kept preconditioner has the old numbers */
  if (a->moves.from) TRY(PoiseMatCreateVecs(a->moves.to, NULL, &a->b));
  if (a->moves.from) TRY(PoiseMatCreateVecs(a->moves.to, NULL, &a->x));
  a->partition = poiseMatPartitionOf(A);
  a->bounds_set = A->asked.bounds_set;
  a->order = OrderOf(ksp);
  a->rows = poiseLayoutShare(A->rows);
  a->outlived = false;
  a->matched = (MatchShape){0};
  if (!a->moves.from) return POISE_OK;
  TRY(poisePermutationShape(&a->moves, &a->matched));
  PoiseErr e = poiseMatReady(a->moves.from); /* here, so that a solve copies nothing */
  if (!e) e = poiseMatReady(a->moves.to);
  return PoiseAgree(ksp->ctx, e);
}

/* Do the numbers belong to an earlier pattern, or to earlier values where they follow from these? */
static bool Outlives(const Arranged *a, PoiseMat A, int64_t stale)
{
  if (stale == MOVED_PATTERN) return true;
  return poiseOrderMatches(a->order) && poiseMatChanged(&a->A.seen, A) & CHANGED_VALUES;
}

/* What must be done, on any rank: for A, for P, and whether new numbers are needed. A kept preconditioner
   needs the old numbers, even those of another pattern. They last as long as it does. */
static PoiseErr Compare(PoiseKSP ksp, Arranged *a, int64_t stale[3])
{
  PoiseMat A = ksp->given_A;
  bool kept = ksp->options.reuse && ksp->pc->built;
  stale[0] = poiseMovedStale(&a->A, A);
  stale[1] = ksp->given_P == A ? MOVED_CURRENT : poiseMovedStale(&a->P, ksp->given_P);
  a->outlived = a->outlived || Outlives(a, A, stale[0]);
  stale[2] = !a->rows || a->partition != poiseMatPartitionOf(A) || a->order != OrderOf(ksp) ||
             a->bounds_set != A->asked.bounds_set || !poiseLayoutSame(a->rows, A->rows) ||
             (a->outlived && !kept);
  TRY(poiseCommMaxInt(ksp->ctx->comm, stale, 3));
  if (stale[2]) stale[0] = MOVED_PATTERN;
  if (stale[2] && ksp->given_P != A) stale[1] = MOVED_PATTERN;
  return POISE_OK;
}

static PoiseErr Update(PoiseKSP ksp, Arranged *a)
{
  PoiseMat A = ksp->given_A, P = ksp->given_P;
  int64_t stale[3];
  double start = PoiseTime();
  TRY(Compare(ksp, a, stale));
  if (stale[2]) TRY(Renumber(ksp, a));
  TRY(Follow(&a->A, A, &a->moves, stale[0]));
  if (P == A)
    Drop(&a->P);
  else
    TRY(Follow(&a->P, P, &a->moves, stale[1]));
  if (stale[0] != MOVED_PATTERN) return POISE_OK;
  a->seconds = PoiseTime() - start;
  TRY(poiseMatShape(A, &a->before));
  return poiseMatShape(a->A.mat, &a->after);
}

static PoiseErr UseIfOther(PoiseKSP ksp, PoiseMat A, PoiseMat P)
{
  return ksp->A == A && ksp->pc->P == P ? POISE_OK : poiseKSPUse(ksp, A, P);
}

PoiseErr poiseKSPReorder(PoiseKSP ksp)
{
  PoiseContext ctx = ksp->ctx;
  PoiseMat A = ksp->given_A, P = ksp->given_P;
  if (!poiseMatReorders(A, OrderOf(ksp))) { /* no longer */
    poiseKSPDropReordered(ksp);
    return UseIfOther(ksp, A, P);
  }
  PoiseErr e = poiseMatCheckReorder(A, A, OrderOf(ksp));
  if (!e) e = poiseMatCheckReorder(P, A, OrderOf(ksp));
  if (!e && !ksp->arranged) e = poiseAlloc(ctx, sizeof *ksp->arranged, "arrangement", &ksp->arranged);
  TRY(PoiseAgree(ctx, e));
  TRY(Update(ksp, ksp->arranged));
  return UseIfOther(ksp, ksp->arranged->A.mat, P == A ? ksp->arranged->A.mat : ksp->arranged->P.mat);
}

/* Note a replaced matrix. A built M may be kept, and needs the old numbers: set-up decides on these. */
PoiseErr poiseKSPReplaced(PoiseKSP ksp, bool other_A, bool other_P)
{
  if (ksp->arranged && (ksp->pc->built || !(other_A || other_P))) return POISE_OK;
  if (ksp->arranged && !other_A) return poisePCUse(ksp->pc, ksp->given_P);
  poiseKSPDropReordered(ksp);
  return poiseKSPUse(ksp, ksp->given_A, ksp->given_P);
}

/* ---- what the application asks of the preconditioner ----------------------------------------- */

static PoiseErr SetP(void *solver, PoiseMat P)
{
  PoiseKSP ksp = solver;
  TRY(poiseKSPCheckIdle(ksp, "PoisePCSetOperator"));
  return ksp->given_A ? PoiseKSPSetOperators(ksp, ksp->given_A, P) : poisePCUse(ksp->pc, P);
}

/* In the middle of a solve the matrices stay as they are. */
static PoiseErr Follow_KSP(void *solver)
{
  PoiseKSP ksp = solver;
  if (ksp->solve.running || !ksp->A) return POISE_OK;
  if (!poiseKSPReorders(ksp)) return poiseKSPFollowNormal(ksp);
  TRY(PoiseAgree(ksp->ctx, poiseKSPCheckMatrices(ksp)));
  TRY(poiseKSPReorder(ksp));
  return poiseKSPFollowNormal(ksp);
}

static PoiseErr Plan(void *solver, const char **beyond)
{
  PoiseKSP ksp = solver;
  const Arranged *a = ksp->arranged;
  TRY(poiseKSPCheckWhole(ksp, "the memory of the preconditioner"));
  if (!poiseKSPReorders(ksp)) return POISE_OK;
  if (!a) *beyond = "rows that -mat_partition or -mat_order moves";
  if (a && (poiseMovedStale(&a->A, ksp->given_A) == MOVED_PATTERN ||
            (ksp->given_P != ksp->given_A && poiseMovedStale(&a->P, ksp->given_P) == MOVED_PATTERN)))
    FAIL(POISE_ERR_STATE,
         "the solver's matrices are not yet rearranged (-mat_partition, -mat_order): call PoiseKSPSetUp");
  return POISE_OK;
}

static bool Divides(void *solver)
{
  return poiseKSPDivides(solver);
}

static PoiseErr SetUp(void *solver)
{
  return PoiseKSPSetUp(solver);
}

static PoiseErr Apply(void *solver, PoiseVec r, PoiseVec z)
{
  return poiseKSPApplyDivided(solver, r, z);
}

const PCOwner poiseKSPOwner = {
    .set = SetP, .follow = Follow_KSP, .elsewhere = Divides, .setup = SetUp, .apply = Apply, .plan = Plan};

/* ---- solves ---------------------------------------------------------------------------------- */

PoiseErr poiseKSPRunReordered(PoiseKSP ksp, PoiseVec b, PoiseVec x)
{
  const Arranged *a = ksp->arranged;
  if (!a->moves.from) return poiseKSPRun(ksp, b, x);
  TRY(poiseVecMove(a->moves.to, b, a->b));
  if (ksp->options.guess_nonzero) TRY(poiseVecMove(a->moves.into, x, a->x));
  TRY(poiseKSPRun(ksp, a->b, a->x));
  return poiseVecMove(a->moves.out, a->x, x);
}

PoiseErr poiseKSPViewReordered(PoiseKSP ksp)
{
  PoiseContext ctx = ksp->ctx;
  const Arranged *a = ksp->arranged;
  const MatShape *old = &a->before, *now = &a->after;
  double share = old->nonzeros > 0 ? old->nonzeros / PoiseSize(ctx) : 1;
  char words[POISE_OPTION_LENGTH];
  TRY(poisePrint(ctx, "  %s: %s\n", poiseMatReorderWords(ksp->given_A, a->order, words, sizeof words),
                 a->moves.from ? "works with a rearranged copy of the matrix" : "the matrix is so already"));
  TRY(poisePrint(ctx, "    to arrange it took %.3g s, on the host\n", a->seconds));
  TRY(poisePrint(ctx, "    largest share of nonzeros over the mean: %.3f before, %.3f now\n",
                 old->most / share, now->most / share));
  TRY(poisePrint(
      ctx,
      "    ghost columns over all ranks: %.0f before, %.0f now; bandwidth on a rank: %.0f before, %.0f now\n",
      old->ghosts, now->ghosts, old->bandwidth, now->bandwidth));
  if (poiseOrderMatches(a->order))
    TRY(poisePrint(ctx, "    %.0f unknowns have changed places; columns are multiplied by 2^%.0f to 2^%.0f\n",
                   a->matched.exchanged, a->matched.least, a->matched.most));
  return a->moves.from ? poisePartsView(a->A.mat) : POISE_OK;
}
