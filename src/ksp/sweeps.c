/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Richardson's and Chebyshev's iterations inside preconditioners: a fixed number of steps without a norm. The
  host knows their coefficients, so they need neither slots nor a look at them, and a loop around them can be
  replayed. Iterates are those of the method in a solve, but for rounding, and for parts in a null space of A:
  these change no residual, and the solver around removes them.

    z = M^-1 (b - A x),  p = c0 p + c1 z,  x += p        x = 0 at first: no product
  or, with an M that relaxes, x += z by M itself (Richardson's alone)

  Vectors read and written per step, beside the matrix: x, q (product); b, q, d, x, x with a diagonal M, and
  p, p of Chebyshev's. With another M: b, q (copy); x, q, q (product); M; z, x, x, and p, p.
*/
#include "methods.h"
#include "stationary.h"
#include "sweeps.h"
#include "sweeps_phases.h"
#include "vec/vec_kernels.h"

enum { MOST = 100 }; /* steps: each is a part of what a device replays */

static bool IsSilent(PoiseKSP ksp)
{
  const KSPOptions *o = &ksp->options;
  return !ksp->user.test && !ksp->user.nmonitors && !ksp->history.keep && !o->monitor && !o->true_residual &&
         !o->converged_reason && !o->view;
}

bool poiseKSPSweeps(PoiseKSP ksp)
{
  const KSPOptions *o = &ksp->options;
  double c[2];
  bool fixed = ksp->type->step && ksp->norm == POISE_KSP_NORM_NONE && o->maxits >= 1 && o->maxits <= MOST;
  return fixed && IsSilent(ksp) && ksp->layout && ksp->A && ksp->type->step(ksp, 0, c);
}

int poiseKSPSteps(PoiseKSP ksp)
{
  return (int)ksp->options.maxits;
}

/* Compared as bytes. The first two steps say what the others are. */
void poiseKSPFollowSweeps(PoiseKSP ksp)
{
  Sweeps now;
  memset(&now, 0, sizeof now);
  now.sweeps = poiseKSPSweeps(ksp);
  if (now.sweeps) {
    now.type = ksp->type, now.A = ksp->A, now.steps = poiseKSPSteps(ksp);
    now.version = ksp->A->version, now.version.values = 0, now.version.near = 0;
    for (int k = 0; k < 2; k++) (void)ksp->type->step(ksp, k, now.c[k]);
    for (int k = 0; k < ksp->nwork && k < SWEEP_VECTORS; k++) now.v[k] = ksp->v[k];
  }
  ksp->sweeps.generation += memcmp(&now, &ksp->sweeps.now, sizeof now) != 0;
  ksp->sweeps.now = now;
}

/* ---- a step ---------------------------------------------------------------------------------- */

/* q = A x, or with b: q = b - A x. */
static void Multiply(PoiseKSP ksp, PoiseVec b, PoiseVec x, PoiseVec q, const double *skip, KeptError *kept)
{
  AxpbyArgs copy = {.n = q->layout->n, .a.value = 1, .skip = skip};
  PoiseErr e = b ? poiseVecRead(b, &copy.x) : POISE_OK;
  if (!e && b) e = poiseVecUpdate(q, &copy.y);
  if (!e && b) e = LAUNCH(ksp->ctx->device, axpby, &copy);
  poiseKeep(kept, e);
  poiseKeep(kept, poiseMatMultFuse(ksp->A, (ScalarRef){NULL, b ? -1 : 1}, x, (ScalarRef){NULL, b ? 1 : 0}, q,
                                   skip, NULL, NULL));
}

typedef struct Step {
  double c0, c1;
  bool fresh;
  PoiseVec r, q, p, x; /* q, p: NULL, or see sweep_step */
  const double *d;
} Step;

static PoiseErr Launch(PoiseKSP ksp, const Step *s, const double *skip)
{
  PhaseArgs a = {.id = PHASE_sweep_step,
                 .n = s->x->layout->n,
                 .c = {{.value = s->c0}, {.value = s->c1}, {.value = !s->fresh}},
                 .skip = skip,
                 READS(SWEEP_D, s->d)};
  bool writes = s->fresh && !skip;
  TRY(poiseVecRead(s->r, &a.in[SWEEP_R]));
  if (s->q) TRY(poiseVecRead(s->q, &a.in[SWEEP_Q]));
  if (s->p) TRY(poiseVecUpdate(s->p, &a.out[SWEEP_P]));
  TRY(writes ? poiseVecWrite(s->x, &a.out[SWEEP_X]) : poiseVecUpdate(s->x, &a.out[SWEEP_X]));
  return LAUNCH(ksp->ctx->device, phase, &a);
}

/* M is a diagonal, or the identity. */
static void ByDiagonal(PoiseKSP ksp, PoiseVec b, Step s, const double *skip, KeptError *kept)
{
  poiseKeep(kept, ksp->pc->type->pointwise(ksp->pc, &s.d));
  s.r = b, s.q = s.fresh ? NULL : ksp->work[ST_R];
  if (s.q) Multiply(ksp, NULL, s.x, s.q, skip, kept);
  if (!kept->code) poiseKeep(kept, Launch(ksp, &s, skip));
}

static void ByPC(PoiseKSP ksp, PoiseVec b, Step s, const double *skip, KeptError *kept)
{
  PoiseVec r = s.fresh ? b : ksp->work[ST_R];
  bool direct = s.fresh && !s.p && s.c1 == 1; /* x = z */
  if (!s.fresh && ksp->pc->relaxes) {
    poiseKeep(kept, poisePCRelax(ksp->pc, b, s.x, skip));
    return;
  }
  if (!s.fresh) Multiply(ksp, b, s.x, r, skip, kept);
  s.r = direct ? s.x : ksp->work[ST_Z];
  poiseKeep(kept, poisePCApplyFuse(ksp->pc, r, s.r, skip, NULL));
  if (!direct && !kept->code) poiseKeep(kept, Launch(ksp, &s, skip));
}

PoiseErr poiseKSPSweep(PoiseKSP ksp, PoiseVec b, PoiseVec x, bool fresh, const double *skip)
{
  int steps = poiseKSPSteps(ksp);
  bool keeps = steps > 1 && ksp->nwork > ST_P;
  KeptError kept;
  kept.code = POISE_OK;
  for (int k = 0; k < steps; k++) {
    double c[2];
    (void)ksp->type->step(ksp, k, c);
    Step s = {.c0 = c[0], .c1 = c[1], .fresh = fresh && !k, .p = keeps ? ksp->work[ST_P] : NULL, .x = x};
    (ksp->pc->type->pointwise ? ByDiagonal : ByPC)(ksp, b, s, skip, &kept);
  }
  return poiseKept(&kept);
}
