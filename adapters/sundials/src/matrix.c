/* SPDX-License-Identifier: BSD-3-Clause */
/* SUNMatrix_Poise: a matrix of Poise, on any number of ranks, with the operations of a SUNMatrix. */
#include "adapter.h"

static void Destroy_Poise(SUNMatrix A);

/* The table of operations is what tells this kind from others. */
PoiseMat SUNMatrix_Poise_Mat(SUNMatrix A)
{
  return A && A->ops && A->ops->destroy == Destroy_Poise ? A->content : NULL;
}

static int FlagOf(PoiseErr e)
{
  switch (e) {
  case POISE_OK:
    return SUNMAT_SUCCESS;
  case POISE_ERR_ARG:
  case POISE_ERR_SIZE:
  case POISE_ERR_STATE:
    return SUNMAT_ILL_INPUT;
  case POISE_ERR_MEMORY:
    return SUNMAT_MEM_FAIL;
  default:
    return SUNMAT_OPERATION_FAIL;
  }
}

static SUNMatrix_ID GetID_Poise(SUNMatrix A)
{
  (void)A;
  return SUNMATRIX_CUSTOM;
}

static void Destroy_Poise(SUNMatrix A)
{
  PoiseMat mat = A->content;
  PoiseMatDestroy(&mat);
  A->content = NULL;
  SUNMatFreeEmpty(A);
}

static SUNMatrix Clone_Poise(SUNMatrix A)
{
  PoiseMat copy = NULL;
  if (PoiseMatDuplicate(A->content, 0, &copy)) return NULL;
  SUNMatrix B = SUNMatrix_Poise(copy, A->sunctx);
  if (!B) PoiseMatDestroy(&copy);
  return B;
}

static int Zero_Poise(SUNMatrix A)
{
  return FlagOf(PoiseMatZeroEntries(A->content));
}

/* Is the other matrix of this kind too? */
static PoiseErr CheckOther(SUNMatrix B)
{
  if (!SUNMatrix_Poise_Mat(B))
    POISE_FAIL(POISE_ERR_ARG, "one matrix is a SUNMatrix_Poise, the other of kind %s", MatrixWords(B));
  return POISE_OK;
}

/* B = A, zeros where only B has entries. */
static PoiseErr Copy(PoiseMat A, PoiseMat B)
{
  if (A == B) return POISE_OK;
  POISE_TRY(PoiseMatZeroEntries(B));
  POISE_TRY(PoiseMatAXPY(B, 1, A));
  return POISE_OK;
}

static int Copy_Poise(SUNMatrix A, SUNMatrix B)
{
  PoiseErr e = CheckOther(B);
  if (!e) e = Copy(A->content, B->content);
  return FlagOf(e);
}

/* A = c A + B */
static PoiseErr ScaleAdd(double c, PoiseMat A, PoiseMat B)
{
  if (A == B) return PoiseMatScale(A, c + 1);
  POISE_TRY(PoiseMatScale(A, c));
  POISE_TRY(PoiseMatAXPY(A, 1, B));
  return POISE_OK;
}

static int ScaleAdd_Poise(realtype c, SUNMatrix A, SUNMatrix B)
{
  PoiseErr e = CheckOther(B);
  if (!e) e = ScaleAdd(c, A->content, B->content);
  return FlagOf(e);
}

/* A = c A + I */
static PoiseErr ScaleAddI(double c, PoiseMat A)
{
  POISE_TRY(PoiseMatScale(A, c));
  POISE_TRY(PoiseMatShift(A, 1));
  return POISE_OK;
}

static int ScaleAddI_Poise(realtype c, SUNMatrix A)
{
  return FlagOf(ScaleAddI(c, A->content));
}

/* y = A x */
static PoiseErr Matvec(PoiseMat A, N_Vector x, N_Vector y)
{
  PoiseContext ctx = PoiseMatContext(A);
  PoiseVec vx = NULL, vy = NULL;
  PoiseInt n, N;
  PoiseMatLocalSizes(A, &n, NULL);
  PoiseMatSizes(A, &N, NULL);
  PoiseErr e = LendVector(ctx, x, n, N, &vx);
  if (!e) e = LendVector(ctx, y, n, N, &vy);
  if (!e) e = PoiseMatMult(A, vx, vy);
  PoiseVecDestroy(&vx);
  PoiseVecDestroy(&vy);
  return e;
}

static int Matvec_Poise(SUNMatrix A, N_Vector x, N_Vector y)
{
  return FlagOf(Matvec(A->content, x, y));
}

/* All bytes of this rank, as if they were reals. */
static int Space_Poise(SUNMatrix A, long int *reals, long int *integers)
{
  PoiseBytes bytes = {0};
  const PoiseErr e = PoiseMatBytes(A->content, &bytes, NULL);
  *reals = (long)((bytes.host + bytes.device) / (int64_t)sizeof(realtype));
  *integers = 0;
  return FlagOf(e);
}

static PoiseErr CheckMatrix(PoiseMat A)
{
  PoiseInt M, N, m, n, nonzeros;
  POISE_TRY(PoiseMatNonzeros(A, &nonzeros)); /* of an assembled matrix */
  PoiseMatSizes(A, &M, &N);
  PoiseMatLocalSizes(A, &m, &n);
  if (M != N || m != n)
    POISE_FAIL(POISE_ERR_SIZE, "A is %lld x %lld (here %lld x %lld), and not square", (long long)M,
               (long long)N, (long long)m, (long long)n);
  return POISE_OK;
}

static PoiseErr NewMatrix(PoiseMat A, SUNContext sunctx, SUNMatrix *made)
{
  POISE_TRY(CheckMatrix(A));
  *made = SUNMatNewEmpty(sunctx);
  if (!*made) POISE_FAIL(POISE_ERR_MEMORY, "SUNMatNewEmpty gave no matrix: no memory, or no SUNContext");
  return POISE_OK;
}

SUNMatrix SUNMatrix_Poise(PoiseMat A, SUNContext sunctx)
{
  SUNMatrix S = NULL;
  PoiseErr e = NewMatrix(A, sunctx, &S);
  if (PoiseMatContext(A)) e = PoiseAgree(PoiseMatContext(A), e);
  if (e) {
    if (S) SUNMatFreeEmpty(S);
    return NULL;
  }
  S->content = A;
  S->ops->getid = GetID_Poise;
  S->ops->clone = Clone_Poise;
  S->ops->destroy = Destroy_Poise;
  S->ops->zero = Zero_Poise;
  S->ops->copy = Copy_Poise;
  S->ops->scaleadd = ScaleAdd_Poise;
  S->ops->scaleaddi = ScaleAddI_Poise;
  S->ops->matvec = Matvec_Poise;
  S->ops->space = Space_Poise;
  return S;
}
