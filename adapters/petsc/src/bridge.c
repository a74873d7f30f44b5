/* SPDX-License-Identifier: BSD-3-Clause */
/* What passes between the libraries: vectors, calls, errors, reasons, norms, and the text of views. */
#include "plugin.h"

/* ---- words ----------------------------------------------------------------------------------- */

PetscErrorCode ErrorOf(PoiseErr e)
{
  switch (e) {
  case POISE_ERR_ARG:
    return PETSC_ERR_ARG_WRONG;
  case POISE_ERR_SIZE:
    return PETSC_ERR_ARG_SIZ;
  case POISE_ERR_MEMORY:
    return PETSC_ERR_MEM;
  case POISE_ERR_STATE:
    return PETSC_ERR_ORDER;
  case POISE_ERR_UNSUPPORTED:
    return PETSC_ERR_SUP;
  case POISE_ERR_OPTION:
    return PETSC_ERR_USER_INPUT;
  case POISE_ERR_NOT_CONVERGED:
    return PETSC_ERR_NOT_CONVERGED;
  case POISE_ERR_USER:
    return PETSC_ERR_USER;
  default:
    return PETSC_ERR_LIB;
  }
}

/* By names: the numbers of some reasons mean other things in PETSc. A reason of a test (user) is the test's
   own, which the caller has. */
KSPConvergedReason ReasonOf(PoiseKSPReason reason)
{
  switch (reason) {
  case POISE_ITERATING:
    return KSP_CONVERGED_ITERATING;
  case POISE_CONVERGED_RTOL:
    return KSP_CONVERGED_RTOL;
  case POISE_CONVERGED_ATOL:
    return KSP_CONVERGED_ATOL;
  case POISE_CONVERGED_RTOL_NORMAL:
    return (KSPConvergedReason)1; /* ..._NORMAL, or, since 3.24, ..._NORMAL_EQUATIONS */
  case POISE_CONVERGED_ATOL_NORMAL:
    return (KSPConvergedReason)9;
  case POISE_CONVERGED_ITS:
    return KSP_CONVERGED_ITS;
  case POISE_CONVERGED_HAPPY_BREAKDOWN:
    return KSP_CONVERGED_HAPPY_BREAKDOWN;
  case POISE_CONVERGED_USER:
    return KSP_CONVERGED_ITS;
  case POISE_DIVERGED_NULL:
    return KSP_DIVERGED_NULL;
  case POISE_DIVERGED_ITS:
    return KSP_DIVERGED_ITS;
  case POISE_DIVERGED_DTOL:
    return KSP_DIVERGED_DTOL;
  case POISE_DIVERGED_INDEFINITE_PC:
    return KSP_DIVERGED_INDEFINITE_PC;
  case POISE_DIVERGED_NANORINF:
    return KSP_DIVERGED_NANORINF;
  case POISE_DIVERGED_INDEFINITE_MAT:
    return KSP_DIVERGED_INDEFINITE_MAT;
  case POISE_DIVERGED_BREAKDOWN:
  case POISE_DIVERGED_USER:
  case POISE_DIVERGED_ERROR:
    break;
  }
  return KSP_DIVERGED_BREAKDOWN;
}

PoiseNormType NormOf(const char *method, KSPNormType norm)
{
  switch (NormMeant(method, norm)) {
  case KSP_NORM_NONE:
    return POISE_KSP_NORM_NONE;
  case KSP_NORM_PRECONDITIONED:
    return POISE_KSP_NORM_PRECONDITIONED;
  case KSP_NORM_UNPRECONDITIONED:
    return POISE_KSP_NORM_UNPRECONDITIONED;
  case KSP_NORM_NATURAL:
    return POISE_KSP_NORM_NATURAL;
  default:
    return POISE_KSP_NORM_DEFAULT;
  }
}

/* ---- vectors --------------------------------------------------------------------------------- */

/* The array of v, and where it is: on the GPU if Poise works there and v has it there. */
static PetscErrorCode TakeArray(PoiseContext ctx, Lent *lent)
{
  PetscFunctionBegin;
  lent->place = PETSC_MEMTYPE_HOST;
  if (PoiseStream(ctx) && lent->writes)
    PetscCall(VecGetArrayAndMemType(lent->vec, &lent->array, &lent->place));
  else if (PoiseStream(ctx))
    PetscCall(VecGetArrayReadAndMemType(lent->vec, (const PetscScalar **)&lent->array, &lent->place));
  else if (lent->writes)
    PetscCall(VecGetArray(lent->vec, &lent->array));
  else
    PetscCall(VecGetArrayRead(lent->vec, (const PetscScalar **)&lent->array));
  PetscFunctionReturn(0);
}

/* Even if this rank has no entries: its object state must rise as that of others does. */
static PetscErrorCode GiveBackArray(PoiseContext ctx, Lent *lent)
{
  PetscFunctionBegin;
  if (PoiseStream(ctx) && lent->writes)
    PetscCall(VecRestoreArrayAndMemType(lent->vec, &lent->array));
  else if (PoiseStream(ctx))
    PetscCall(VecRestoreArrayReadAndMemType(lent->vec, (const PetscScalar **)&lent->array));
  else if (lent->writes)
    PetscCall(VecRestoreArray(lent->vec, &lent->array));
  else
    PetscCall(VecRestoreArrayRead(lent->vec, (const PetscScalar **)&lent->array));
  PetscFunctionReturn(0);
}

PetscErrorCode LendVec(PoiseContext ctx, Vec v, PetscBool writes, Lent *lent)
{
  PetscInt n, N;
  PetscFunctionBegin;
  *lent = (Lent){.vec = v, .writes = writes};
  PetscCall(VecGetLocalSize(v, &n));
  PetscCall(VecGetSize(v, &N));
  PetscCall(TakeArray(ctx, lent));
  if (PetscMemTypeDevice(lent->place)) {
    PetscCall(WaitForPetsc());
    POISE_CALL(PoiseVecCreateDeviceArray(ctx, n, N, lent->array, POISE_BORROW, &lent->poise));
  } else {
    POISE_CALL(PoiseVecCreateArray(ctx, n, N, lent->array, POISE_BORROW, &lent->poise));
  }
  PetscFunctionReturn(0);
}

PetscErrorCode EndLend(Lent *lent)
{
  const PoiseContext ctx = PoiseVecContext(lent->poise);
  PetscFunctionBegin;
  POISE_CALL(PoiseVecDestroy(&lent->poise));
  if (PetscMemTypeDevice(lent->place)) POISE_CALL(PoiseWait(ctx));
  PetscCall(GiveBackArray(ctx, lent));
  PetscFunctionReturn(0);
}

/* Vecs of one array take Poise's array in place. Of others, such as nested ones, entries are copied. */
static PetscErrorCode CallOn(const double *from, double *to, Vec in, Vec out, OnVecs f, void *arg)
{
  PetscBool plain, too;
  PetscInt n;
  PetscScalar *p;
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)in, &plain, VECSEQ, VECMPI, ""));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)out, &too, VECSEQ, VECMPI, ""));
  if (plain && too) {
    PetscCall(VecPlaceArray(in, from));
    PetscCall(VecPlaceArray(out, to));
    PetscErrorCode e = f(arg, in, out);
    PetscCall(VecResetArray(in));
    PetscCall(VecResetArray(out));
    PetscFunctionReturn(e);
  }
  PetscCall(VecGetLocalSize(in, &n));
  PetscCall(VecGetArray(in, &p));
  PetscCall(PetscArraycpy(p, from, n));
  PetscCall(VecRestoreArray(in, &p));
  PetscCall(f(arg, in, out));
  PetscCall(VecGetLocalSize(out, &n));
  PetscCall(VecGetArrayRead(out, (const PetscScalar **)&p));
  PetscCall(PetscArraycpy(to, p, n));
  PetscCall(VecRestoreArrayRead(out, (const PetscScalar **)&p));
  PetscFunctionReturn(0);
}

/* Poise's arrays, on its device or on the host; *e is an error of Poise, and the result one of PETSc. */
static PetscErrorCode CallBetween(PoiseVec in, PoiseVec out, PetscBool gpu, Vec petsc_in, Vec petsc_out,
                                  OnVecs f, void *arg, PoiseErr *e)
{
  const double *from = NULL;
  double *to = NULL;
  PetscErrorCode failed = 0;
  PoiseErr restored;
  *e = gpu ? PoiseVecGetDeviceRead(in, &from) : PoiseVecGetRead(in, &from);
  if (*e) return 0;
  *e = gpu ? PoiseVecGetDeviceWrite(out, &to) : PoiseVecGetWrite(out, &to);
  if (!*e && gpu) *e = PoiseWait(PoiseVecContext(in));
  if (!*e) failed = (gpu ? CallOnGpu : CallOn)(from, to, petsc_in, petsc_out, f, arg);
  if (to) {
    restored = PoiseVecRestore(out, &to);
    if (!*e) *e = restored;
  }
  restored = PoiseVecRestore(in, &from);
  if (!*e) *e = restored;
  return failed;
}

PoiseErr OnPetscVecs(PoiseVec in, PoiseVec out, Vec petsc_in, Vec petsc_out, OnVecs f, void *arg,
                     PetscErrorCode *kept)
{
  PetscBool gpu;
  PoiseErr e = POISE_OK;
  *kept = BothOnGpu(petsc_in, petsc_out, &gpu);
  if (!PoiseStream(PoiseVecContext(in))) gpu = PETSC_FALSE;
  if (!*kept) *kept = CallBetween(in, out, gpu, petsc_in, petsc_out, f, arg, &e);
  if (*kept) return PoiseErrorSet(POISE_ERR_USER, __func__, __FILE__, __LINE__, "PETSc says error %d", *kept);
  return e;
}

/* ---- preconditioners -------------------------------------------------------------------------- */

PetscErrorCode ApplyPC(PoiseContext ctx, PoisePC poise, Vec r, Vec z)
{
  Lent in, out;
  PetscFunctionBegin;
  PetscCall(LendVec(ctx, r, PETSC_FALSE, &in));
  PetscCall(LendVec(ctx, z, PETSC_TRUE, &out));
  POISE_CALL(PoisePCApply(poise, in.poise, out.poise));
  PetscCall(EndLend(&out));
  PetscCall(EndLend(&in));
  PetscFunctionReturn(0);
}

PetscErrorCode ApplyColumns(PC pc, PetscErrorCode (*apply)(PC, Vec, Vec), Mat R, Mat Z)
{
  Vec r, z;
  PetscInt n;
  PetscFunctionBegin;
  PetscCall(MatGetSize(R, NULL, &n));
  for (PetscInt j = 0; j < n; j++) {
    PetscCall(MatDenseGetColumnVecRead(R, j, &r));
    PetscCall(MatDenseGetColumnVecWrite(Z, j, &z));
    PetscCall(apply(pc, r, z));
    PetscCall(MatDenseRestoreColumnVecWrite(Z, j, &z));
    PetscCall(MatDenseRestoreColumnVecRead(R, j, &r));
  }
  PetscFunctionReturn(0);
}

/* ---- text ------------------------------------------------------------------------------------ */

PetscErrorCode PrintView(PoiseContext ctx, PetscErrorCode (*view)(void *arg), void *arg, PetscViewer viewer)
{
  char *text = NULL;
  size_t size = 0;
  FILE *f = open_memstream(&text, &size);
  PetscFunctionBegin;
  PetscCheck(f, PETSC_COMM_SELF, PETSC_ERR_MEM, "out of memory");
  PoiseSetOutput(ctx, f);
  PetscErrorCode e = view(arg);
  PoiseSetOutput(ctx, NULL);
  fclose(f);
  if (!e)
    for (char *line = text, *end; *line; line = end) {
      end = strchr(line, '\n');
      if (end)
        *end++ = 0;
      else
        end = line + strlen(line);
      PetscCall(PetscViewerASCIIPrintf(viewer, "%s\n", line));
    }
  free(text);
  PetscFunctionReturn(e);
}
