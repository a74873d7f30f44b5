/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Where A is given by scalars with a block size, as in assemblies of elasticity, level 0 is a copy of it in
  blocks. Stages then find a place for each block, not for each of its numbers: set-up of a beam of 44 100
  rows takes a third of the time. A cycle reads blocks too. The copy takes as much memory as A, until the
  cycle is in fp32: its numbers are released then. It is made where blocks take fewer bytes than scalars.
*/
#include "mat/csr/replace.h"
#include "mat/csr/replace_values.h"
#include "mat/object/mat_type.h"
#include "mat/storage/blocks.h"
#include "blocks.h"

/* Collective; agrees. */
static PoiseErr Pays(PoiseMat P, int modes, bool *yes)
{
  double share;
  *yes = false;
  if (P->block_size == 1 || P->csr.b || modes % P->block_size) return POISE_OK;
  TRY(poiseMatBlockShare(P, &share));
  *yes = share < 1;
  return POISE_OK;
}

PoiseErr poiseAmgBlocksCreate(PoiseMat P, int modes, bool numbers, PoiseMat *A)
{
  Csr made = {.b = P->block_size};
  bool pays = false;
  if (!numbers) TRY(Pays(P, modes, &pays));
  if (!pays) return PoiseAgree(P->ctx, poiseMatShare(P, A));
  PoiseErr e = poiseMatCreateLocal(&poiseMatType_bcsr, P->rows, P->cols, A);
  TRY(PoiseAgree(P->ctx, e));
  (*A)->block_size = P->block_size;
  e = poiseMatMakeBlocks(P, P->block_size, &made);
  return poiseMatReplaceCsr(*A, e, &made);
}

PoiseErr poiseAmgBlocksNumbers(PoiseMat P, PoiseMat A)
{
  Csr made = {.b = A->block_size};
  const double *val;
  if (A == P) return POISE_OK;
  PoiseErr e = P->csr.b ? POISE_OK : poiseMatMakeBlocks(P, A->block_size, &made);
  if (!e) e = poiseBufferRead(P->csr.b ? &P->csr.val : &made.val, DEVICE, &val);
  if (!e) e = poiseMatReplaceValues(A, DEVICE, val);
  poiseCsrDestroy(P->ctx, &made);
  return e;
}
