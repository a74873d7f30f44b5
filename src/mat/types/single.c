/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Products in fp32. They have the pattern of A's CSR, whatever type works, its row blocks, and columns of 16
  bits where it has them; only values are another array. Reads 8 or 6 bytes per entry, or 4 + 4 / b^2 per
  number of blocks.
*/
#include "vec/vec_kernels.h"
#include "vec/vec_phases.h"
#include "csr_product.h"
#include "mat/mat_type.h"
#include "pcsr.h"
#include "single.h"

/* Their kernels are those of csr, and of groups of rows of bcsr. Where A works by another one, and these
   would lose by uneven rows what fewer bytes gain, fp64 is as fast. */
static bool IsUneven(PoiseMat A)
{
  const double gain = 1.5; /* 12 bytes of an entry over 8 */
  const CsrStatistics *s = &A->csr.statistics;
  int b = A->csr.b;
  ProductRequest request = {.type = b > 1 ? PRODUCT_BCSR : PRODUCT_CSR, .b = b};
  ProductPlan alike, uneven;
  if (A->type == &poiseMatType_csr) return false;
  poiseProductPlan(&A->ctx->device->model, &request, s, s, &alike);
  if (b > 1) return alike.form == FORM_BALANCED;
  request.type = PRODUCT_CSRI;
  poiseProductPlan(&A->ctx->device->model, &request, s, s, &uneven);
  return alike.times > gain * uneven.times;
}

const char *poiseMatLacksSingle(PoiseMat A)
{
  if (!poiseMatHolds(A) || poiseMatSplits(A)) return "the type of the matrix has no products in fp32";
  if (IsUneven(A)) return "its rows are too uneven for products in fp32";
  return A->csr.b > MAX_SINGLE_BLOCK ? "its blocks are too large for products in fp32" : NULL;
}

static PoiseErr Maxima(PoiseContext ctx, Buffer *x, int64_t n)
{
  PhaseArgs p = {.id = PHASE_vec_norm_inf, .n = n};
  TRY(poiseReduceReserve(ctx, POISE_NBLOCKS(n)));
  TRY(poiseBufferWrite(&ctx->reduce_partial, DEVICE, &p.partial[0]));
  TRY(poiseBufferRead(x, DEVICE, &p.in[VEC_X]));
  return LAUNCH(ctx->device, phase, &p);
}

PoiseErr poiseLargest(PoiseContext ctx, Buffer *x, int64_t n, double *largest)
{
  return poiseReduceFinish(ctx, Maxima(ctx, x, n), 1, POISE_NBLOCKS(n), true, largest);
}

PoiseErr poiseMakeSingle(PoiseContext ctx, Buffer *x, int64_t n, double scale, const char *what, Buffer *y)
{
  NarrowArgs a = {.n = n, .a.value = scale};
  if (!y->dev) TRY(poiseBufferCreate(ctx->device, (size_t)n * sizeof(float), what, y));
  TRY(poiseBufferRead(x, DEVICE, &a.x));
  TRY(poiseBufferWrite(y, DEVICE, &a.y));
  return LAUNCH(ctx->device, narrow, &a);
}

PoiseErr poiseMatReadySingle(PoiseMat A)
{
  const int32_t *order;
  if (!A->csr.halo) return POISE_OK;
  TRY(poiseHaloReady(A->csr.halo));
  return poiseBufferRead(&A->csr.order, DEVICE, &order);
}

/* All arguments but x, ghosts and rows. */
static PoiseErr Arguments(PoiseMat A, Buffer *val, Buffer *y, CsrMultArgs_f32 *m)
{
  CsrView pattern;
  TRY(poiseCsrPattern(&A->csr, &pattern));
  m->A = (CsrView_f32){.b = pattern.b,
                       .m = pattern.m,
                       .nloc = pattern.nloc,
                       .nz = pattern.nz,
                       .ptr64 = pattern.ptr64,
                       .ptr32 = pattern.ptr32,
                       .col = pattern.col};
  TRY(poiseCsrIndex16(A, &m->index16));
  TRY(poiseBufferRead(val, DEVICE, &m->A.val));
  return m->b.value == 0 && !m->skip ? poiseBufferWrite(y, DEVICE, &m->y)
                                     : poiseBufferUpdate(y, DEVICE, &m->y);
}

static PoiseErr LaunchPart(PoiseMat A, ProductPart part, CsrMultArgs_f32 *m)
{
  CsrMultArgs rows = {0};
  TRY(poiseCsrBlocks(A, part, &rows));
  m->rows = rows.rows, m->tile = rows.tile, m->vary = rows.vary, m->x_lines = rows.x_lines;
  m->first = rows.first, m->nblock = rows.nblock, m->order = rows.order;
  return A->csr.b > 1 ? LAUNCH(A->ctx->device, bcsr_mult_f32, m) : LAUNCH(A->ctx->device, csr_mult_f32, m);
}

/* Rows without ghosts first, and the exchange whatever fails, as in mat_product.c. */
static PoiseErr Launch(PoiseMat A, Buffer *val, Buffer *x, Buffer *y, CsrMultArgs_f32 *m)
{
  Halo *halo = A->csr.halo;
  PoiseErr exchanged = POISE_OK, e = poiseBufferRead(x, DEVICE, &m->x);
  if (halo) TRY(poiseHaloBeginSingle(halo, e, m->x));
  if (!e) e = Arguments(A, val, y, m);
  if (!e && halo) e = LaunchPart(A, INTERIOR, m);
  if (halo) exchanged = poiseHaloEndSingle(halo, &m->ghost);
  TRY(e);
  TRY(exchanged);
  return LaunchPart(A, halo ? REST : WHOLE, m);
}

PoiseErr poiseMatMultSingle(PoiseMat A, Buffer *val, double a, Buffer *x, double b, Buffer *y,
                            const double *skip)
{
  CsrMultArgs_f32 m = {.a.value = a, .b.value = b, .skip = skip};
  poiseLogBegin(A->ctx, EVENT_MatMult);
  PoiseErr e = Launch(A, val, x, y, &m);
  poiseLogEnd(A->ctx, EVENT_MatMult, 2.0 * (double)poiseCsrScalars(&A->csr), poiseMatTrafficSingle(A));
  return e;
}

double poiseMatTrafficSingle(PoiseMat A)
{
  const Csr *c = &A->csr;
  return 4.0 * (double)poiseCsrScalars(c) + 4.0 * (double)c->nz + (c->wide ? 8.0 : 4.0) * (double)(c->m + 1) +
         4.0 * (double)((c->m + c->nloc + c->nghost) * poiseCsrSide(c));
}
