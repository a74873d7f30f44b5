/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Columns get local numbers, [owned | ghosts]. Ghosts are the columns of other ranks that this rank's rows
  refer to, in ascending order. The halo brings their values.
*/
#include "check_arrays.h"
#include "entries.h"
#include "numbering.h"

void poiseCsrMeasure(PoiseMat A)
{
  Csr *c = &A->csr;
  int64_t b = poiseCsrSide(c), across = poiseCsrAcross(c);
  c->m = A->rows->n / b;
  c->nloc = A->cols->n / across;
  c->row = A->rows->begin / b;
  c->column = A->cols->begin / across;
  c->columns = A->cols->N / across;
}

PoiseErr poiseCsrCollectGhosts(PoiseMat A, const PoiseCSR *in, Ghosts *ghosts)
{
  Csr *c = &A->csr;
  if (PoiseSize(A->ctx) == 1) return POISE_OK;
  TRY(poiseGhostsCreate(A->ctx, c->columns, ghosts));
  for (int64_t k = 0; k < c->nz; k++)
    if (!poiseIsOwned(A, poiseGivenColumn(in, k))) TRY(poiseGhostsAdd(ghosts, poiseGivenColumn(in, k)));
  return poiseGhostsNumber(ghosts, INT32_MAX - c->nloc, &c->nghost, &c->ghost);
}

static PoiseErr NumberColumns(PoiseMat A, const PoiseCSR *in, Ghosts *ghosts)
{
  Csr *c = &A->csr;
  Device *dev = A->ctx->device;
  int64_t nblock = POISE_NBLOCKS(c->nz);
  int32_t *col;
  (void)dev;
  TRY(poiseCsrCollectGhosts(A, in, ghosts));
  if (c->col.dev) { /* adopted: in place */
    TRY(poiseBufferUpdate(&c->col, HOST, &col));
  } else {
    TRY(poiseBufferCreate(A->ctx->device, (size_t)c->nz * sizeof(int32_t), "columns", &c->col));
    TRY(poiseBufferWrite(&c->col, HOST, &col));
  }
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t b = 0; b < nblock; b++)
    for (int64_t k = b * POISE_BLOCK; k < (b + 1) * POISE_BLOCK && k < c->nz; k++)
      col[k] = poiseLocalColumn(A, ghosts, poiseGivenColumn(in, k));
  return POISE_OK;
}

PoiseErr poiseCsrNumberColumns(PoiseMat A, const PoiseCSR *in)
{
  Ghosts ghosts = {0};
  PoiseErr e = NumberColumns(A, in, &ghosts);
  poiseGhostsDestroy(&ghosts);
  return e;
}

/* The mark of adopted columns that were renumbered in place. */
static const char renumbered[] = "columns (in place)";

PoiseErr poiseCsrRenumber(PoiseMat A, const PoiseCSR *in)
{
  TRY(poiseCsrNumberColumns(A, in));
  A->csr.converted = renumbered;
  return POISE_OK;
}

void poiseCsrUndoRenumber(PoiseMat A)
{
  if (A->csr.converted != renumbered) return;
  int32_t *col = A->csr.col.host;
  for (int64_t k = 0; k < A->csr.nz; k++) col[k] = (int32_t)poiseCsrGlobal(A, col[k]);
}

/* Ghosts of blocks are the scalars in them. */
PoiseErr poiseCsrCreateHalo(PoiseMat A)
{
  Csr *c = &A->csr;
  PoiseInt *ghost = NULL;
  int64_t b = poiseCsrAcross(c);
  if (b == 1) return poiseHaloCreate(A->cols, c->nghost, c->ghost, &c->halo);
  PoiseErr e = poiseAllocArray(A->ctx, c->nghost * b, sizeof *ghost, "ghosts", &ghost);
  for (int64_t k = 0; !e && k < c->nghost * b; k++) ghost[k] = c->ghost[k / b] * b + k % b;
  e = PoiseAgree(A->ctx, e);
  if (!e) e = poiseHaloCreate(A->cols, c->nghost * b, ghost, &c->halo);
  poiseFree(A->ctx, &ghost);
  return e;
}
