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
