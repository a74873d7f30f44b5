/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Arrays of PETSc's CUDA types, which Poise uses where they are. Both libraries have streams of their own, so
  each waits for the other's results before it takes them.
*/
#include "plugin.h"

#if defined(PETSC_HAVE_CUDA)

#include <petscdevice.h>

PetscErrorCode GpuOfPetsc(PetscInt *id)
{
  PetscDeviceContext context;
  PetscDevice device;
  PetscDeviceType type;
  PetscFunctionBegin;
  *id = -1;
  if (!PetscDeviceInitialized(PETSC_DEVICE_CUDA)) PetscFunctionReturn(0);
  PetscCall(PetscDeviceContextGetCurrentContext(&context));
  PetscCall(PetscDeviceContextGetDevice(context, &device));
  PetscCall(PetscDeviceGetType(device, &type));
  if (type == PETSC_DEVICE_CUDA) PetscCall(PetscDeviceGetDeviceId(device, id));
  PetscFunctionReturn(0);
}

PetscErrorCode WaitForPetsc(void)
{
  PetscDeviceContext context;
  PetscFunctionBegin;
  PetscCall(PetscDeviceContextGetCurrentContext(&context));
  PetscCall(PetscDeviceContextSynchronize(context));
  PetscFunctionReturn(0);
}

PetscBool IsOnGpu(Mat mat)
{
  const char *type = ((PetscObject)mat)->type_name;
  return !mat->boundtocpu && (!strcmp(type, MATSEQAIJCUSPARSE) || !strcmp(type, MATMPIAIJCUSPARSE))
             ? PETSC_TRUE
             : PETSC_FALSE;
}

PetscErrorCode ArraysOnGpu(Mat mat, const int32_t **offsets, const int32_t **columns, const double **values)
{
  const PetscInt *i, *j;
  const PetscScalar *a;
  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUSPARSEGetIJ(mat, PETSC_FALSE, &i, &j));
  PetscCall(MatSeqAIJCUSPARSEGetArrayRead(mat, &a));
  *offsets = i;
  *columns = j;
  *values = a;
  PetscCall(MatSeqAIJCUSPARSERestoreArrayRead(mat, &a)); /* which nulls a */
  PetscCall(MatSeqAIJCUSPARSERestoreIJ(mat, PETSC_FALSE, &i, &j));
  PetscFunctionReturn(0);
}

/* to[0 .. n) = from[0 .. n) */
static PetscErrorCode CopyOnGpu(PetscInt n, const double *from, double *to)
{
  Vec x, y;
  PetscFunctionBegin;
  if (!n) PetscFunctionReturn(0);
  PetscCall(VecCreateSeqCUDAWithArray(PETSC_COMM_SELF, 1, n, from, &x));
  PetscCall(VecCreateSeqCUDAWithArray(PETSC_COMM_SELF, 1, n, to, &y));
  PetscCall(VecCopy(x, y));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(0);
}

PetscErrorCode JoinOnGpu(int n, const PetscInt entries[], const double *const values[], Vec *joined)
{
  PetscInt all = 0;
  double *to;
  PetscFunctionBegin;
  for (int k = 0; k < n; k++) all += entries[k];
  if (!*joined) PetscCall(VecCreateSeqCUDA(PETSC_COMM_SELF, all, joined));
  PetscCall(VecCUDAGetArrayWrite(*joined, &to));
  for (int k = 0; k < n; to += entries[k++]) PetscCall(CopyOnGpu(entries[k], values[k], to));
  to -= all;
  PetscCall(VecCUDARestoreArrayWrite(*joined, &to));
  PetscCall(WaitForPetsc());
  PetscFunctionReturn(0);
}

PetscErrorCode BothOnGpu(Vec in, Vec out, PetscBool *both)
{
  PetscBool first, second, bound[2];
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)in, &first, VECSEQCUDA, VECMPICUDA, ""));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)out, &second, VECSEQCUDA, VECMPICUDA, ""));
  PetscCall(VecBoundToCPU(in, &bound[0]));
  PetscCall(VecBoundToCPU(out, &bound[1]));
  *both = first && second && !bound[0] && !bound[1] ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(0);
}

PetscErrorCode CallOnGpu(const double *from, double *to, Vec in, Vec out, OnVecs f, void *arg)
{
  PetscFunctionBegin;
  PetscCall(VecCUDAPlaceArray(in, from));
  PetscCall(VecCUDAPlaceArray(out, to));
  const PetscErrorCode e = f(arg, in, out);
  if (!e) { /* f may have written on the host */
    const PetscScalar *p;
    PetscCall(VecCUDAGetArrayRead(out, &p));
    PetscCall(VecCUDARestoreArrayRead(out, &p));
  }
  PetscCall(VecCUDAResetArray(in));
  PetscCall(VecCUDAResetArray(out));
  PetscCall(WaitForPetsc());
  PetscFunctionReturn(e);
}

#else

PetscErrorCode GpuOfPetsc(PetscInt *id)
{
  *id = -1;
  return 0;
}

PetscErrorCode WaitForPetsc(void)
{
  return 0;
}

PetscBool IsOnGpu(Mat mat)
{
  (void)mat;
  return PETSC_FALSE;
}

static PetscErrorCode Never(void)
{
  PetscFunctionBegin;
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_PLIB, "this PETSc is built without CUDA");
}

PetscErrorCode ArraysOnGpu(Mat mat, const int32_t **offsets, const int32_t **columns, const double **values)
{
  (void)mat, (void)offsets, (void)columns, (void)values;
  return Never();
}

PetscErrorCode JoinOnGpu(int n, const PetscInt entries[], const double *const values[], Vec *joined)
{
  (void)n, (void)entries, (void)values, (void)joined;
  return Never();
}

PetscErrorCode BothOnGpu(Vec in, Vec out, PetscBool *both)
{
  (void)in, (void)out;
  *both = PETSC_FALSE;
  return 0;
}

PetscErrorCode CallOnGpu(const double *from, double *to, Vec in, Vec out, OnVecs f, void *arg)
{
  (void)from, (void)to, (void)in, (void)out, (void)f, (void)arg;
  return Never();
}

#endif
