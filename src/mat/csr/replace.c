/* SPDX-License-Identifier: BSD-3-Clause */
/* New content for a matrix: a CSR in place of the one that it has, and the type that then works. */
#include "complete.h"
#include "mat/object/mat_type.h"
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
  int b = r ? r->b : made->b;
  PoiseErr e = PoiseAgree(A->ctx, mine);
  if (!e) e = Replace(A, r, made);
  if (r) poiseRowArraysDestroy(A->ctx, r);
  if (made) poiseCsrDestroy(A->ctx, made);
  TRY(e);
  poiseMatUse(A, b ? &poiseMatType_bcsr : A->asked.type, b);
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
