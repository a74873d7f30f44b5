/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Products with approximate inverses instead of solves with triangles (Anzt, Huckle, Braeckle and Dongarra
  2018, "Incomplete sparse approximate inverses for parallel preconditioning"). With L = I + N and
  U = D (I + N'), the inverse of I + N is approximated by I - V, where V has the pattern of N and
    (I - V) (I + N) = I   at the places of I + N.
  A row of V is a triangular system, and needs no other row of V. For icc V' is the transpose of V, else it
  has its own systems with N'. So an application is that of one Jacobi sweep (jacobi_sweeps.c) with V and V'
  for N and N', and icc's M is symmetric, and positive definite if D is.
*/
#include "mat/multiply/local_product.h"
#include "factor.h"
#include "isai.h"
#include "pc_device.h"
#include "triangle_entries_kernels.h"

PoiseErr poiseIsaiCheck(PoisePC pc)
{
  const Incomplete *f = pc->data;
  if (f->triangles != TRIANGLES_ISAI || (!f->sweeps && !f->library)) return POISE_OK;
  FAIL(POISE_ERR_UNSUPPORTED, "%s: %s isai solves nothing, and %s does: choose one", pc->type->name,
       poiseOptionsName(pc->ctx, pc->prefix, "pc_factor_triangles"),
       poiseOptionsName(pc->ctx, pc->prefix, f->library ? "pc_factor_kernel" : "pc_factor_sweeps"));
}

PoiseErr poiseIsaiCheckEntries(PoisePC pc)
{
  const Incomplete *f = pc->data;
  int b = f->triangular.b;
  if (f->triangles != TRIANGLES_ISAI || !b) return POISE_OK;
  FAIL(POISE_ERR_UNSUPPORTED,
       "%s: %s isai takes numbers, and the matrix has blocks of %d x %d: use -mat_type csr", pc->type->name,
       poiseOptionsName(pc->ctx, pc->prefix, "pc_factor_triangles"), b, b);
}

PoiseErr poiseIsai(PoisePC pc, bool symmetric)
{
  Incomplete *f = pc->data;
  Device *dev = pc->ctx->device;
  FactorSweepArgs a = {.n = f->triangular.n, .f.symmetric = symmetric};
  const double *lu;
  if (f->triangles != TRIANGLES_ISAI) return POISE_OK;
  TRY(poiseTriangularView(pc, &f->triangular, DEVICE, &a.f.t));
  TRY(poiseBufferRead(&f->lu, DEVICE, &lu));
  TRY(poiseBufferWrite(&f->inverse, DEVICE, &a.next));
  a.f.lu = (double *)lu; /* read alone */
  TRY(LAUNCH(dev, factor_isai, &a));
  return symmetric ? LAUNCH(dev, factor_isai_mirror, &a) : POISE_OK;
}

/* ---- as matrices ----------------------------------------------------------------------------- */

static PoiseErr MakePattern(Device *dev, IsaiMatrixArgs *a, Csr *c)
{
  Buffer length = {0};
  PoiseErr e = poiseBufferCreate(dev, (size_t)a->n * sizeof *a->length, "lengths of rows", &length);
  if (!e) e = poiseBufferWrite(&length, DEVICE, &a->length);
  if (!e) e = LAUNCH(dev, isai_lengths, a);
  if (!e) e = poiseRowOffsets(dev, a->n, a->length, c);
  poiseBufferDestroy(&length);
  a->length = NULL;
  TRY(e);
  c->nloc = a->n;
  TRY(poiseBufferCreate(dev, (size_t)c->nz * sizeof *a->col, "columns", &c->col));
  TRY(poiseBufferCreate(dev, (size_t)c->nz * sizeof *a->val, "approximate inverse", &c->val));
  return poiseBufferWrite(&c->col, DEVICE, &a->col);
}

PoiseErr poiseIsaiMatrix(PoisePC pc, bool upper, Csr *c)
{
  Incomplete *f = pc->data;
  Device *dev = pc->ctx->device;
  IsaiMatrixArgs a = {.n = f->triangular.n, .upper = upper};
  TRY(poiseTriangularView(pc, &f->triangular, DEVICE, &a.t));
  TRY(poiseBufferRead(&f->inverse, DEVICE, &a.v));
  TRY(poiseBufferRead(&f->d, DEVICE, &a.d));
  if (!c->ptr.dev) TRY(MakePattern(dev, &a, c));
  TRY(poiseCsrPattern(c, &a.to));
  TRY(poiseBufferWrite(&c->val, DEVICE, &a.val));
  return LAUNCH(dev, isai_matrix, &a);
}
