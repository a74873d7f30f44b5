/* SPDX-License-Identifier: BSD-3-Clause */
/* New values for a matrix whose pattern stays: in the order of its entries, or zeros. */
#include "assemble.h"
#include "mat/csr/replace_values.h"
#include "mat/object/mat_type.h"
#include "mat/storage/blocks.h"

static PoiseErr SetValuesCSR(PoiseMat A, const double *val)
{
  if (A->asked.type->blocked)
    FAIL(POISE_ERR_ARG, "the matrix is of type bcsr, whose values PoiseMatSetValuesBCSR takes");
  return poiseMatSetEntries(A, HOST, val);
}

PoiseErr PoiseMatSetValuesCSR(PoiseMat A, const double *val)
{
  CALLED(OBJECT(A));
  TRY(PoiseAgree(A->ctx, SetValuesCSR(A, val)));
  A->version.values++;
  return POISE_OK;
}

static PoiseErr SetValuesBCSR(PoiseMat A, int row_major, const double *val)
{
  double *own;
  int64_t b = A->block_size;
  TRY(poiseMatCheckHolds(A, "PoiseMatSetValuesBCSR"));
  if (!A->asked.type->blocked)
    FAIL(POISE_ERR_ARG, "the matrix is of type %s, whose values PoiseMatSetValuesCSR takes", PoiseMatType(A));
  if (!row_major || b == 1) return poiseMatSetEntries(A, HOST, val);
  TRY(poiseMatCheckUsable(A));
  if (!val && A->csr.nz) FAIL(POISE_ERR_ARG, "no values were given for %lld blocks", (long long)A->csr.nz);
  if (A->csr.nz && (val == A->csr.val.host || val == A->csr.val.device))
    FAIL(POISE_ERR_ARG, "blocks are kept column-major, so those in the borrowed array cannot be row-major");
  TRY(poiseDeviceCheckHost(A->ctx->device, val, "val"));
  TRY(poiseBufferWrite(&A->csr.val, HOST, &own));
  for (int64_t k = 0; k < A->csr.nz; k++) poiseTransposeBlock(b, val + k * b * b, own + k * b * b);
  return poiseBufferSyncBorrowed(&A->csr.val);
}

PoiseErr PoiseMatSetValuesBCSR(PoiseMat A, int row_major, const double *val)
{
  CALLED(OBJECT(A));
  TRY(PoiseAgree(A->ctx, SetValuesBCSR(A, row_major, val)));
  A->version.values++;
  return POISE_OK;
}

static PoiseErr ZeroEntries(PoiseMat A)
{
  TRY(poiseMatCheckHolds(A, "PoiseMatZeroEntries"));
  poiseMatDropPending(A);
  A->version.values++;
  if (!A->assembled) return POISE_OK;
  poiseBufferZero(&A->csr.val);
  return poiseBufferSyncBorrowed(&A->csr.val);
}

PoiseErr PoiseMatZeroEntries(PoiseMat A)
{
  CALLED(OBJECT(A));
  return PoiseAgree(A->ctx, ZeroEntries(A));
}
