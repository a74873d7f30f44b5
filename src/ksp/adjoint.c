/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The transposes of A and of M. A^T multiplies by an index of A's entries, so it has no values of its own. M^T
  is M where that is symmetric. Else it is the M of P^T, a second preconditioner of the same settings, where
  the type says that this is M^T: incomplete factors of P^T are those of P, transposed.
*/
#include "adjoint.h"
#include "divided.h"
#include "loop.h"
#include "methods.h"
#include "solve.h"

void poiseKSPMultTransposed(PoiseKSP ksp, PoiseVec x, PoiseVec y)
{
  double *p;
  PoiseMat A = ksp->A;
  if (x != ksp->solve.b) poiseKSPFailed(ksp, poiseVecUpdate(x, &p)); /* phases write on the device */
  poiseLogBegin(ksp->ctx, EVENT_MatMultTranspose);
  poiseKSPFailed(ksp, A->type->mult_transpose(A, x, y));
  poiseLogEnd(ksp->ctx, EVENT_MatMultTranspose, 2.0 * (double)poiseCsrScalars(&A->csr), poiseMatTraffic(A));
  poiseKSPFailed(ksp, poiseVecUpdate(y, &p));
}

void poiseKSPPreconditionTransposed(PoiseKSP ksp, PoiseVec r, PoiseVec z)
{
  PoisePC pc = ksp->transposes.pc ? ksp->transposes.pc : ksp->pc;
  const double *skip = ksp->solve.finishing ? ksp->solve.unless : poiseKSPSlot(ksp, SLOT_DONE);
  poiseKSPFailed(ksp, poisePCApplyFuse(pc, r, z, skip, NULL));
}

static void DropPC(Transposes *t)
{
  poisePCDestroy(&t->pc);
  PoiseMatDestroy(&t->P);
  t->seen = (Version){0};
}

void poiseKSPDropTransposes(PoiseKSP ksp)
{
  DropPC(&ksp->transposes);
}

static PoiseErr Check(PoiseKSP ksp)
{
  const char *method = ksp->type->name;
  PoiseMat A = ksp->A;
  if (!A->type->mult_transpose)
    FAIL(POISE_ERR_UNSUPPORTED, "method %s multiplies with A^T, and matrix type %s has no transpose product",
         method, A->type->name);
  const PCType *pc = ksp->pc->type;
  bool has = pc->transpose != PC_HAS_NO_TRANSPOSE && !(pc->directed && pc->directed(ksp->pc));
  if (!(ksp->type->transposes & PC_TRANSPOSED) || has) return POISE_OK;
  FAIL(
      POISE_ERR_UNSUPPORTED,
      "method %s applies the transpose of the preconditioner, which %s does not offer. These do: none jacobi "
      "pbjacobi ilu icc ict lu cholesky, and sor with sweeps both ways",
      method, pc->name);
}

/* Of P^T, which follows P. */
static PoiseErr Follow(PoiseKSP ksp, Transposes *t)
{
  PoisePC pc = ksp->pc;
  unsigned changed = poiseMatChanged(&t->seen, pc->P);
  if (t->pc && t->builds == pc->builds && !changed) return poisePCPrepare(t->pc);
  if (t->pc && t->builds == pc->builds && ksp->options.reuse) return poisePCPrepare(t->pc);
  PoiseMatDestroy(&t->P);
  if (!t->pc) TRY(PoisePCCreate(ksp->ctx, &t->pc));
  TRY(PoiseMatTranspose(pc->P, &t->P));
  TRY(poiseKSPTakePC(pc, t->pc));
  TRY(poisePCUse(t->pc, t->P));
  poisePCExact(t->pc, pc->exact);
  TRY(poisePCPrepare(t->pc));
  t->seen = pc->P->version;
  t->builds = pc->builds;
  return POISE_OK;
}

/* What the first product by A^T makes, where it is not by an index of entries. Users' functions are not
   called before there is a solve. */
static PoiseErr Warm(PoiseKSP ksp)
{
  PoiseMat A = ksp->A;
  if (poiseMatHolds(A) && A->csr.halo) TRY(poiseHaloReady(A->csr.halo));
  if (poiseMatHolds(A)) return poiseTransposedReady(A);
  return A->type->eager ? POISE_OK
                        : A->type->mult_transpose(A, ksp->work[poiseKSPRowsVector(ksp)], ksp->work[0]);
}

PoiseErr poiseKSPPrepareTransposes(PoiseKSP ksp)
{
  Transposes *t = &ksp->transposes;
  PoiseErr e = Check(ksp);
  if (!e) e = Warm(ksp);
  TRY(PoiseAgree(ksp->ctx, e));
  if (!(ksp->type->transposes & PC_TRANSPOSED) || ksp->pc->type->transpose != PC_OF_TRANSPOSE) {
    DropPC(t);
    return POISE_OK;
  }
  int64_t generation = t->pc ? t->pc->generation : 0;
  e = Follow(ksp, t);
  if (e) DropPC(t);
  if (e || t->pc->generation != generation) poiseKSPForget(ksp); /* arrays of a captured loop have moved */
  return e;
}

void poiseKSPAddTransposesBytes(PoiseKSP ksp, PoiseBytes *sum)
{
  PoiseBytes part[2] = {{0}};
  if (!ksp->transposes.pc) return;
  (void)PoisePCBytes(ksp->transposes.pc, &part[0]);
  (void)PoiseMatBytes(ksp->transposes.P, &part[1], NULL);
  for (int k = 0; k < 2; k++) sum->host += part[k].host, sum->device += part[k].device;
}
