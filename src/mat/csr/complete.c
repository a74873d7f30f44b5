/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The end of every new CSR, whoever made its arrays. All ranks do it together: sizes and halo. After a failure
  on any rank, none has a CSR.
*/
#include "complete.h"
#include "numbering.h"

PoiseErr poiseCsrComplete(PoiseMat A, PoiseErr e)
{
  PoiseContext ctx = A->ctx;
  Csr *c = &A->csr;
  poiseCsrMeasure(A);
  e = PoiseAgree(ctx, e);
  if (!e && PoiseSize(ctx) > 1) e = poiseCsrCreateHalo(A);
  if (e) { /* the arrays stay the user's */
    poiseCsrUndoRenumber(A);
    poiseBufferDisown(&c->ptr);
    poiseBufferDisown(&c->col);
    poiseBufferDisown(&c->val);
    poiseCsrDestroy(ctx, c);
    return e;
  }
  A->version.pattern++;
  A->version.values++;
  return POISE_OK;
}

PoiseErr poiseCsrAccept(PoiseMat A, const Csr *made)
{
  A->csr = *made;
  return poiseCsrComplete(A, POISE_OK);
}
