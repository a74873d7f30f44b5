/* SPDX-License-Identifier: BSD-3-Clause */
/* New values for the entries of a CSR, from arrays of the host or of the device. */
#include "replace_values.h"

/* A borrowed array must be current on the host, so values given on the host go there first. */
PoiseErr poiseMatReplaceValues(PoiseMat A, Side where, const double *val)
{
  Device *dev = A->ctx->device;
  size_t bytes = (size_t)poiseCsrScalars(&A->csr) * sizeof(double);
  double *own;
  if (!val && A->csr.nz) FAIL(POISE_ERR_ARG, "no values were given for %lld entries", (long long)A->csr.nz);
  if (A->csr.val.own_device == POISE_BORROW && val == A->csr.val.device)
    return poiseBufferWrite(&A->csr.val, DEVICE, &own);
  if (where == HOST) TRY(poiseDeviceCheckHost(dev, val, "val"));
  if (dev->ops->is_host || (where == HOST && A->csr.val.own == POISE_BORROW)) {
    TRY(poiseBufferWrite(&A->csr.val, HOST, &own));
    if (bytes && own != val) memcpy(own, val, bytes);
    return POISE_OK;
  }
  TRY(poiseBufferWrite(&A->csr.val, DEVICE, &own));
  TRY(poiseDeviceCopyArray(dev, own, val, bytes, where == HOST ? COPY_TO_DEVICE : COPY_ON_DEVICE));
  if (where == HOST) TRY(poiseDeviceSync(dev)); /* the caller may write to val again */
  return poiseBufferSyncBorrowed(&A->csr.val);
}

PoiseErr poiseMatSetEntries(PoiseMat A, Side where, const double *val)
{
  if (A->type->set_values) return A->type->set_values(A, where, val);
  TRY(poiseMatCheckHolds(A, "PoiseMatSetValuesCSR"));
  TRY(poiseMatCheckUsable(A));
  return poiseMatReplaceValues(A, where, val);
}
