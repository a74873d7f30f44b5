/* SPDX-License-Identifier: BSD-3-Clause */
/* New content for a matrix: a CSR in place of the one that it has, and the type that then works. */
#include "mat/csr/complete.h"
#include "mat/mat_type.h"
#include "replace.h"

/* Replace the CSR by arrays, or by a CSR made on the device. */
static PoiseErr Replace(PoiseMat A, RowArrays *r, Csr *made)
{
  Csr old = A->csr;
  A->csr = (Csr){.b = r ? r->b : 0};
  PoiseErr e = r ? poiseCsrTake(A, r) : poiseCsrAccept(A, made);
  if (made) *made = (Csr){0};
  if (e)
    A->csr = old;
  else
    poiseCsrDestroy(A->ctx, &old);
  return e;
}

PoiseErr poiseMatReplaceAs(PoiseMat A, PoiseErr mine, RowArrays *r, Csr *made)
{
  PoiseContext ctx = A->ctx;
  TypeChange c = {0};
  int b = r ? r->b : made->b;
  const MatType *asked = b ? &poiseMatType_bcsr : A->asked.type;
  PoiseErr e = PoiseAgree(ctx, mine ? mine : poiseTypeChangeCreate(A, asked, b, &c));
  if (!e) e = Replace(A, r, made);
  if (r) poiseRowArraysDestroy(ctx, r);
  if (made) poiseCsrDestroy(ctx, made);
  if (e) {
    poiseTypeChangeDestroy(ctx, &c);
    return e;
  }
  poiseTypeChangeApply(A, &c);
  A->assembled = true;
  return POISE_OK;
}

/* Set up after a replacement. Type auto waits for the first use, as its choice may fail, and the entries
   must be kept. */
static PoiseErr SetUpReplaced(PoiseMat A)
{
  return poiseMatIsAuto(A) ? POISE_OK : poiseMatSetUp(A);
}

PoiseErr poiseMatReplace(PoiseMat A, PoiseErr mine, RowArrays *r)
{
  TRY(poiseMatReplaceAs(A, mine, r, NULL));
  return SetUpReplaced(A);
}

PoiseErr poiseMatReplaceCsr(PoiseMat A, PoiseErr mine, Csr *made)
{
  TRY(poiseMatReplaceAs(A, mine, NULL, made));
  return SetUpReplaced(A);
}
