/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The cycle of mg (W. Briggs, V. Henson, S. McCormick, A multigrid tutorial, 2000): z = M r from a zero guess.
  A smoother begins from zero before the correction, so that its first residual is b, and from x behind it. So
  k steps before and behind take 2 k products with A, one of them for the residual that is restricted. Of that
  an injection needs some rows alone, which are multiplied as a matrix of their own.

  On several ranks a failure of one is kept, and it goes on: the others wait for what it sends in products.
*/
#include "mat/object/mat.h"
#include "mg.h"
#include "vec/vec_kernels.h"
#include "vec/vec_phases.h"

typedef struct Run { /* an application */
  const Mg *mg;
  const double *skip;
  KeptError kept;
} Run;

/* y = a x + b y */
static PoiseErr Axpby(double a, PoiseVec x, double b, PoiseVec y, const double *skip)
{
  AxpbyArgs args = {.n = y->layout->n, .a.value = a, .b.value = b, .skip = skip};
  TRY(poiseVecRead(x, &args.x));
  TRY(poiseVecUpdate(y, &args.y));
  return LAUNCH(y->ctx->device, axpby, &args);
}

static void Add(Run *run, double a, PoiseVec x, double b, PoiseVec y)
{
  poiseKeep(&run->kept, Axpby(a, x, b, y, run->skip));
}

static PoiseErr Zero(PoiseVec x, const double *skip)
{
  PhaseArgs a = {.id = PHASE_vec_set, .n = x->layout->n, .skip = skip};
  TRY(poiseVecUpdate(x, &a.out[VEC_W]));
  return LAUNCH(x->ctx->device, phase, &a);
}

/* y = a A x + b y */
static void Multiply(Run *run, PoiseMat A, double a, PoiseVec x, double b, PoiseVec y)
{
  poiseKeep(&run->kept,
            poiseMatMultFuse(A, (ScalarRef){NULL, a}, x, (ScalarRef){NULL, b}, y, run->skip, NULL, NULL));
}

/* t = b - A x */
static void Residual(Run *run, PoiseMat A, PoiseVec b, PoiseVec x, PoiseVec t)
{
  Add(run, 1, b, 0, t);
  Multiply(run, A, -1, x, 1, t);
}

/* ---- between levels -------------------------------------------------------------------------- */

/* to = the entries of x at the rows that are injected */
static PoiseErr Pick(MgLevel *l, PoiseVec x, PoiseVec to)
{
  GatherArgs g = {.n = to->layout->n};
  TRY(poiseBufferRead(&l->index, DEVICE, &g.idx));
  TRY(poiseVecRead(x, &g.x));
  TRY(poiseVecWrite(to, &g.out));
  return LAUNCH(to->ctx->device, gather, &g);
}

/* x += from at these rows */
static PoiseErr Spread(MgLevel *l, PoiseVec from, PoiseVec x, const double *skip)
{
  ScatterAddArgs s = {.n = from->layout->n, .skip = skip};
  TRY(poiseBufferRead(&l->index, DEVICE, &s.idx));
  TRY(poiseVecRead(from, &s.in));
  TRY(poiseVecUpdate(x, &s.y));
  return LAUNCH(x->ctx->device, scatter_add, &s);
}

static void Restrict(Run *run, MgLevel *l, PoiseVec t, PoiseVec to)
{
  if (l->R)
    Multiply(run, l->R, 1, t, 0, to);
  else
    poiseKeep(&run->kept, l->injects ? Pick(l, t, to) : l->P->type->mult_transpose(l->P, t, to));
}

/* to = R (b - A x) */
static void RestrictResidual(Run *run, MgLevel *l, PoiseVec b, PoiseVec x, PoiseVec to)
{
  if (l->picked) {
    poiseKeep(&run->kept, Pick(l, b, to));
    Multiply(run, l->picked, -1, x, 1, to);
  } else {
    Residual(run, l->A, b, x, l->t);
    Restrict(run, l, l->t, to);
  }
}

/* x += P from, or with `fresh` x = P from */
static void Prolong(Run *run, MgLevel *l, PoiseVec from, PoiseVec x, bool fresh)
{
  if (l->P) {
    Multiply(run, l->P, 1, from, !fresh, x);
    return;
  }
  if (fresh) poiseKeep(&run->kept, Zero(x, run->skip));
  poiseKeep(&run->kept, Spread(l, from, x, run->skip));
}

/* ---- on a level ------------------------------------------------------------------------------ */

static void Smooth(Run *run, MgLevel *l, PoiseVec b, PoiseVec x, bool fresh)
{
  if (fresh) {
    poiseKeep(&run->kept, poiseKSPApply(l->ksp, b, x, run->skip, NULL));
  } else if (poiseKSPSweeps(l->ksp)) {
    poiseKeep(&run->kept, poiseKSPSweep(l->ksp, b, x, false, run->skip));
  } else {
    Residual(run, l->A, b, x, l->t);
    poiseKeep(&run->kept, poiseKSPApply(l->ksp, l->t, l->e, run->skip, NULL));
    Add(run, 1, l->e, 1, x);
  }
}

bool poiseMgImproves(const Mg *mg, int k)
{
  return mg->type != MG_ADDITIVE && (k > 0 || (mg->count == 1 && mg->cycles > 1));
}

/* From x, or with `fresh` from 0. */
static void Cycle(Run *run, int k, PoiseVec b, PoiseVec x, bool fresh)
{
  const Mg *mg = run->mg;
  MgLevel *l = &mg->level[k], *below = l - 1;
  Smooth(run, l, b, x, fresh);
  if (k == 0) return;
  int visits = mg->cycle == 1 && k > 1 ? 2 : 1; /* the coarsest level is solved */
  RestrictResidual(run, l, b, x, below->b);
  for (int v = 0; v < visits; v++) Cycle(run, k - 1, below->b, below->x, v == 0);
  Prolong(run, l, below->x, x, false);
  Smooth(run, l, b, x, false);
}

/* ---- forms ----------------------------------------------------------------------------------- */

static PoiseVec Of(const Mg *mg, int k, PoiseVec finest, PoiseVec coarse)
{
  return k + 1 == mg->count ? finest : coarse;
}

/* b_k = R b_(k+1) on all levels beneath. */
static void RestrictAll(Run *run, PoiseVec r)
{
  for (int k = run->mg->count - 1; k > 0; k--) {
    MgLevel *l = &run->mg->level[k];
    Restrict(run, l, Of(run->mg, k, r, l->b), l[-1].b);
  }
}

static void Multiplicative(Run *run, PoiseVec r, PoiseVec z)
{
  for (PoiseInt k = 0; k < run->mg->cycles; k++) Cycle(run, run->mg->count - 1, r, z, k == 0);
}

/* z = S r + P (S_c R r + P (... + P M_0 R ... R r)) */
static void Additive(Run *run, PoiseVec r, PoiseVec z)
{
  RestrictAll(run, r);
  for (int k = 0; k < run->mg->count; k++) {
    MgLevel *l = &run->mg->level[k];
    PoiseVec x = Of(run->mg, k, z, l->x);
    Smooth(run, l, Of(run->mg, k, r, l->b), x, true);
    if (k > 0) Prolong(run, l, l[-1].x, x, false);
  }
}

/* From the coarsest level upwards, each from what the one beneath has found: by a cycle (full), or by
   smoothing alone (kaskade). */
static void Upwards(Run *run, PoiseVec r, PoiseVec z)
{
  RestrictAll(run, r);
  for (int k = 0; k < run->mg->count; k++) {
    MgLevel *l = &run->mg->level[k];
    PoiseVec b = Of(run->mg, k, r, l->b), x = Of(run->mg, k, z, l->x);
    if (k > 0) Prolong(run, l, l[-1].x, x, true);
    if (run->mg->type == MG_FULL)
      Cycle(run, k, b, x, k == 0);
    else
      Smooth(run, l, b, x, k == 0);
  }
}

PoiseErr poiseMgApply(PoisePC pc, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse)
{
  static void (*const forms[])(Run *, PoiseVec, PoiseVec) = {Multiplicative, Additive, Upwards, Upwards};
  Run run;
  run.mg = pc->data, run.skip = skip, run.kept.code = POISE_OK;
  forms[run.mg->type](&run, r, z);
  poiseKeep(&run.kept, poiseVecFuse(z, skip, fuse));
  return poiseKept(&run.kept);
}

/* Of a visit of each level: three for each step of a smoother, and those between levels. */
int64_t poiseMgKernels(PoisePC pc)
{
  const Mg *mg = pc->data;
  int64_t sum = 0;
  for (int k = 0; k < mg->count; k++) {
    PoiseKSP ksp = mg->level[k].ksp;
    sum += 6 + (ksp && poiseKSPSweeps(ksp) ? 6 * poiseKSPSteps(ksp) : 0);
  }
  return sum;
}
