/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank's CSR: as a device sees it, copied, released. */
#include "mat/object/mat.h"

void poiseCsrDestroy(PoiseContext ctx, Csr *c)
{
  poiseBufferDestroy(&c->ptr);
  poiseBufferDestroy(&c->col);
  poiseBufferDestroy(&c->val);
  poiseHaloDestroy(&c->halo);
  poiseFree(ctx, &c->ghost);
  *c = (Csr){0};
}

PoiseErr poiseCsrPattern(Csr *c, CsrView *v)
{
  *v = (CsrView){.b = c->b, .m = c->m, .nloc = c->nloc, .nz = c->nz};
  if (c->wide)
    TRY(poiseBufferRead(&c->ptr, DEVICE, &v->ptr64));
  else
    TRY(poiseBufferRead(&c->ptr, DEVICE, &v->ptr32));
  return poiseBufferRead(&c->col, DEVICE, &v->col);
}

/* The device gets all of a matrix or nothing. A part that no product can use would take memory that others
   need. */
PoiseErr poiseCsrView(Csr *c, CsrView *v)
{
  PoiseErr e = poiseCsrPattern(c, v);
  if (!e) e = poiseBufferRead(&c->val, DEVICE, &v->val);
  if (e != POISE_ERR_MEMORY) return e;
  poiseBufferLeave(&c->ptr);
  poiseBufferLeave(&c->col);
  poiseBufferLeave(&c->val);
  TRY(e);
  return POISE_OK;
}

PoiseErr poiseCsrUpdate(Csr *c, CsrView *v, double **val)
{
  TRY(poiseCsrView(c, v));
  return poiseBufferUpdate(&c->val, DEVICE, val);
}

PoiseErr poiseCsrCopy(PoiseMat A, bool values, Csr *copy)
{
  const Csr *c = &A->csr;
  *copy = *c;
  copy->ghost = NULL, copy->halo = NULL, copy->converted = NULL;
  copy->ptr = copy->col = copy->val = (Buffer){0};
  TRY(poiseBufferDuplicate(&c->ptr, &copy->ptr));
  TRY(poiseBufferDuplicate(&c->col, &copy->col));
  TRY(values ? poiseBufferDuplicate(&c->val, &copy->val)
             : poiseBufferCreate(A->ctx->device, c->val.bytes, "values", &copy->val));
  if (!c->halo) return POISE_OK;
  TRY(poiseAllocArray(A->ctx, c->nghost, sizeof *c->ghost, "ghosts", &copy->ghost));
  if (c->nghost) memcpy(copy->ghost, c->ghost, (size_t)c->nghost * sizeof *c->ghost);
  return POISE_OK;
}
