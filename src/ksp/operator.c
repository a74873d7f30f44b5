/* SPDX-License-Identifier: BSD-3-Clause */
/* A and M, as methods enqueue them: products, the preconditioner, residuals, corrections. */
#include "dots.h"
#include "methods.h"
#include "operator.h"
#include "scale.h"
#include "solve.h"

/* The word that skips work behind the end of the loop, or work ahead. */
static const double *Done(PoiseKSP ksp)
{
  if (ksp->systems.n) return ksp->solve.finishing ? NULL : poiseKSPSlot(ksp, SLOT_SEEN);
  return ksp->solve.finishing ? ksp->solve.unless : poiseKSPSlot(ksp, ksp->solve.skip);
}

/* Count the partials of a product: one per thread block and dot. */
static void CountPartials(PoiseKSP ksp, const Fuse *f)
{
  int64_t count =
      ksp->mixed.on ? poiseProductPartials(&ksp->mixed.A) : poiseMatPartialsColumns(ksp->A, ksp->systems.n);
  for (int k = 0; k < f->ndot; k++)
    for (int p = 0; p < ksp->dots.npending; p++)
      if (ksp->dots.pending[p].partial == f->partial[k]) ksp->dots.pending[p].count = count;
}

/* Phases work on the device through pointers, of which a vector knows nothing; a user's function may work on
   the host. So the host's copy of what it reads is stale, and what it wrote is fetched from there. */
static void OnDevice(PoiseKSP ksp, PoiseVec v)
{
  double *p;
  poiseKSPFailed(ksp, poiseVecUpdate(v, &p));
}

/* What a product of A reads, and which partials it leaves. */
static Operands BeforeProduct(PoiseKSP ksp, PoiseVec x, PoiseVec y, const Fuse *f)
{
  if (f) CountPartials(ksp, f);
  OnDevice(ksp, x);
  return (Operands){.x = x, .y = y};
}

void poiseKSPProduct(PoiseKSP ksp, double a, PoiseVec x, double b, PoiseVec y, const double *scale,
                     const Fuse *f)
{
  ProductArgs args = {.a.value = a, .b.value = b, .skip = Done(ksp), .scale = scale, .fuse = f};
  if (ksp->mixed.on) {
    if (f) CountPartials(ksp, f);
    poiseKSPMixedProduct(ksp, x, y, &args);
    return;
  }
  if (poiseKSPMixedMultiplies(ksp, x, y, &args)) return;
  Operands v = BeforeProduct(ksp, x, y, f);
  poiseKSPFailed(ksp, poiseProductMult(&ksp->A->product, POISE_OK, &v, &args));
  OnDevice(ksp, y);
}

void poiseKSPProductScaled(PoiseKSP ksp, ScalarRef a, PoiseVec x, ScalarRef b, PoiseVec y, const Fuse *f)
{
  ProductArgs args = {.a = a, .b = b, .skip = Done(ksp), .fuse = f};
  Operands v = BeforeProduct(ksp, x, y, f);
  poiseKSPFailed(ksp, poiseProductMult(&ksp->A->product, POISE_OK, &v, &args));
  OnDevice(ksp, y);
}

void poiseKSPRemoveNullSpace(PoiseKSP ksp, PoiseVec z, const Fuse *f)
{
  double *p = NULL, *c = ksp->scalars.array + ksp->scalars.array_size;
  poiseKSPFailed(ksp, poiseVecUpdate(z, &p));
  poiseKSPMdot(ksp, ksp->A->null.n, ksp->M.null, p, c, NULL, Done(ksp));
  poiseKSPMaxpy(ksp, ksp->A->null.n, ksp->M.null, -1, c, p, Done(ksp), f);
}

/* Must the null space be removed after the preconditioner? */
static bool RemovesNullSpace(PoiseKSP ksp)
{
  return ksp->A->null.n && ksp->side == POISE_PC_LEFT;
}

PoiseErr poiseKSPPreparePC(PoiseKSP ksp)
{
  PhasePC *M = &ksp->M;
  const PCType *type = ksp->pc->type;
  bool more = RemovesNullSpace(ksp); /* z = M^-1 r is then more than a diagonal, or blocks */
  for (int k = 0; k < ksp->A->null.n; k++) TRY(poiseVecUpdate(ksp->A->null.v[k], &M->null[k]));
  M->pointwise = type->pointwise && !more;
  M->diagonal = NULL;
  if (M->pointwise) TRY(type->pointwise(ksp->pc, &M->diagonal));
  M->blocks = (BlockEpilogue){.b = M->diagonal != NULL, .d = M->diagonal};
  return type->blocks && !more ? type->blocks(ksp->pc, &M->blocks.d, &M->blocks.b) : POISE_OK;
}

/* As with a product, the preconditioner may work on the host. b is no work vector, so no phase writes it. */
void poiseKSPPrecondition(PoiseKSP ksp, PoiseVec r, PoiseVec z, const Fuse *f)
{
  bool remove = RemovesNullSpace(ksp), eager = poisePCEager(ksp->pc) != NULL;
  if (ksp->mixed.on) {
    poiseKSPMixedPrecondition(ksp, r, z, Done(ksp), f);
    return;
  }
  if (eager && r != ksp->solve.b) OnDevice(ksp, r);
  poiseKSPFailed(ksp, poisePCApplyFuse(ksp->pc, r, z, Done(ksp), remove ? NULL : f));
  if (eager) OnDevice(ksp, z);
  if (remove) poiseKSPRemoveNullSpace(ksp, z, f);
}

void poiseKSPRelax(PoiseKSP ksp, PoiseVec b, PoiseVec x)
{
  poiseKSPFailed(ksp, poisePCRelax(ksp->pc, b, x, Done(ksp)));
}

void poiseKSPOperator(PoiseKSP ksp, PoiseVec x, PoiseVec t, PoiseVec y, const Fuse *f)
{
  if (poiseKSPIsIdentity(ksp)) {
    poiseKSPMult(ksp, x, y, f);
  } else if (ksp->side == POISE_PC_LEFT && ksp->M.blocks.b == 1) {
    poiseKSPProduct(ksp, 1, x, 0, y, ksp->M.blocks.d, f);
  } else if (ksp->side == POISE_PC_LEFT) {
    poiseKSPMult(ksp, x, t, NULL);
    poiseKSPPrecondition(ksp, t, y, f);
  } else {
    poiseKSPPrecondition(ksp, x, t, NULL);
    poiseKSPMult(ksp, t, y, f);
  }
}

void poiseKSPOperatorUnless(PoiseKSP ksp, PoiseVec x, PoiseVec t, PoiseVec y, int slot)
{
  ksp->solve.skip = slot;
  poiseKSPOperator(ksp, x, t, y, NULL);
  ksp->solve.skip = SLOT_DONE;
}

/* Without a guess: r = b and x = 0, and dots of r and M^-1 r, which need a diagonal M. */
static void StartFromZero(PoiseKSP ksp, PoiseVec b, PoiseVec r, int rz, int zz, int rr)
{
  const double *p = NULL;
  double *q = NULL;
  PoiseErr e = poiseVecRead(b, &p);
  if (!e) e = poiseVecWrite(r, &q);
  poiseKSPFailed(ksp, e);
  poiseKSPFirstPhase(ksp, e ? ksp->v[0] : p, e ? ksp->v[0] : q, rz, zz, rr);
}

void poiseKSPResidual(PoiseKSP ksp, PoiseVec b, PoiseVec r)
{
  bool guess = poiseKSPHasGuess(ksp);
  if (!guess && !ksp->type->squares) {
    StartFromZero(ksp, b, r, NO_SLOT, NO_SLOT, NO_SLOT);
    return;
  }
  poiseKSPCopy(ksp, b, r);
  if (!guess) poiseKSPZero(ksp, ksp->work[0]);
  if (guess) poiseKSPSubtractProduct(ksp, ksp->work[0], r, NULL);
}

void poiseKSPFirstResidual(PoiseKSP ksp, PoiseVec b, Application m, int rr)
{
  bool guess = poiseKSPHasGuess(ksp), pointwise = ksp->M.pointwise;
  int rz = pointwise ? m.rz : NO_SLOT, zz = pointwise ? m.zz : NO_SLOT;
  Fuse f = {0};
  if (guess) poiseKSPResidual(ksp, b, ksp->work[m.r]);
  if (!guess)
    StartFromZero(ksp, b, ksp->work[m.r], rz, zz, rr);
  else if (pointwise || rr != NO_SLOT)
    poiseKSPFirstPhase(ksp, ksp->v[m.r], NULL, rz, zz, rr);
  if (pointwise) return;
  if (m.rz != NO_SLOT) poiseKSPAddDot(ksp, &f, ksp->v[m.r], m.rz);
  if (m.zz != NO_SLOT) poiseKSPAddDot(ksp, &f, NULL, m.zz);
  poiseKSPPrecondition(ksp, ksp->work[m.r], ksp->work[m.z], &f);
}

/* SLOT_NORM0 = |b| or |A^T b|, as is tested. */
static void NormOfSquares(PoiseKSP ksp, PoiseVec b, PoiseVec t, int slot)
{
  const double *p = NULL;
  bool normal = ksp->type->squares == TESTS_NORMAL;
  if (normal) poiseKSPMultTransposed(ksp, b, t);
  poiseKSPFailed(ksp, poiseVecRead(normal ? t : b, &p));
  PhaseArgs a = {READS(VEC_X, p), READS(VEC_Y, p)};
  if (normal)
    poiseKSPPhase(ksp, PHASE_vec_dot, a, slot, NO_SLOT);
  else
    poiseKSPRowsPhase(ksp, PHASE_vec_dot, a, slot, NO_SLOT);
  poiseKSPScalars(ksp, PHASE_ksp_norm0, (PhaseArgs){.k = slot, .c = {{.value = poiseKSPTinyB(ksp)}}});
}

int poiseKSPNormOfB(PoiseKSP ksp, PoiseVec b, PoiseVec t, int slot)
{
  const double *p = NULL;
  double *q = NULL;
  Fuse f = {0};
  if (!poiseKSPHasGuess(ksp) || ksp->norm == POISE_KSP_NORM_NONE) return 0;
  if (ksp->solve.again) return 1; /* it is there */
  poiseKSPFailed(ksp, poiseVecRead(b, &p));
  if (ksp->type->squares) {
    NormOfSquares(ksp, b, t, slot);
    return 1;
  }
  poiseKSPAddDot(ksp, &f, ksp->norm == POISE_KSP_NORM_NATURAL ? p : NULL, slot);
  if (ksp->norm == POISE_KSP_NORM_UNPRECONDITIONED) {
    poiseKSPCopy(ksp, b, t);
    poiseKSPFailed(ksp, poiseVecUpdate(t, &q));
    poiseKSPMaxpy(ksp, 0, NULL, 1, NULL, q, NULL, &f);
  } else {
    poiseKSPPrecondition(ksp, b, t, &f);
  }
  poiseKSPScalars(ksp, PHASE_ksp_norm0, (PhaseArgs){.k = slot, .c = {{.value = poiseKSPTinyB(ksp)}}});
  return 1;
}

int poiseKSPStartResidual(PoiseKSP ksp, PoiseVec b, int r, int t, int slot)
{
  bool left = ksp->side == POISE_PC_LEFT;
  int relative_to_b = poiseKSPNormOfB(ksp, b, ksp->work[t], slot);
  Fuse f = {0};
  poiseKSPResidual(ksp, b, ksp->work[left ? t : r]);
  poiseKSPAddDot(ksp, &f, NULL, slot);
  if (left)
    poiseKSPPrecondition(ksp, ksp->work[t], ksp->work[r], &f);
  else
    poiseKSPMaxpy(ksp, 0, NULL, 1, NULL, ksp->v[r], NULL, &f);
  return relative_to_b;
}

void poiseKSPUnwind(PoiseKSP ksp, PoiseVec u, PoiseVec t)
{
  bool identity = poiseKSPIsIdentity(ksp);
  double *p = NULL;
  if (!identity) poiseKSPPrecondition(ksp, u, t, NULL);
  poiseKSPFailed(ksp, poiseVecUpdate(identity ? u : t, &p));
  poiseKSPMaxpy(ksp, 1, &p, 1, NULL, ksp->v[0], Done(ksp), NULL);
}

PoiseVec poiseKSPUnwound(PoiseKSP ksp, PoiseVec u, PoiseVec t)
{
  double *p = NULL;
  poiseKSPPrecondition(ksp, u, t, NULL);
  poiseKSPFailed(ksp, poiseVecUpdate(t, &p));
  poiseKSPMaxpy(ksp, 1, &ksp->v[0], 1, NULL, p, NULL, NULL);
  return t;
}

void poiseKSPCopy(PoiseKSP ksp, PoiseVec x, PoiseVec y)
{
  poiseKSPFailed(ksp, PoiseVecCopy(x, y));
}

void poiseKSPZero(PoiseKSP ksp, PoiseVec x)
{
  poiseKSPFailed(ksp, PoiseVecSet(x, 0));
}

void poiseKSPRandom(PoiseKSP ksp, PoiseVec x, uint64_t seed)
{
  poiseKSPFailed(ksp, PoiseVecSetRandom(x, seed));
}
