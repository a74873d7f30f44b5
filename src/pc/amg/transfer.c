/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Matrices between levels: the prolongation P from its pattern and values, and the restriction R = P^T.

  On several ranks a smoothed P reads rows of T at ghost nodes, so it has columns of other ranks. P^T of this
  rank's rows of P has a row for each of its columns. Those of own columns are R. The others are the off-rank
  restriction (here: away), whose products go to the owners of these rows and are added there (cycle.c).
*/
#include "mat/csr/replace.h"
#include "mat/csr/entries.h"
#include "mat/object/mat_type.h"
#include "mat/multiply/multiply.h"
#include "mat/product/bcsr_kernels.h"
#include "vec/vec_kernels.h"
#include "interpolation.h"
#include "rows.h"
#include "transfer.h"
#include "interpolation_kernels.h"
#include "ranks_kernels.h"

/* ---- P --------------------------------------------------------------------------------------- */

/* Columns of P of other ranks, in blocks. */
static PoiseErr ListGhosts(PoiseContext ctx, const AmgPlaces *places, int64_t per, Csr *c)
{
  c->nghost = places->nghost * per;
  TRY(poiseAllocArray(ctx, c->nghost, sizeof *c->ghost, "ghost columns", &c->ghost));
  for (int64_t k = 0; k < c->nghost; k++) c->ghost[k] = places->ghost[k / per] * per + k % per;
  return POISE_OK;
}

/* P's pattern, in local numbers. Local. */
static PoiseErr MakeP(PoiseContext ctx, const AmgPlaces *places, const AmgInterpolation *p, Csr *c,
                      int64_t *pairs)
{
  int64_t per = p->modes / p->side;
  AmgPlaceArgs a = {.below = places->below * per};
  TRY(poiseAmgPattern(ctx, p, c, pairs));
  if (!places->nghost) return POISE_OK;
  TRY(ListGhosts(ctx, places, per, c));
  a.n = c->nz, a.nloc = c->nloc;
  TRY(poiseBufferUpdate(&c->col, DEVICE, &a.to));
  a.from = a.to;
  return LAUNCH(ctx->device, amg_from_places, &a);
}

PoiseErr poiseAmgFills(PoiseContext ctx, PoiseErr mine, int most, int64_t connections, int64_t pairs,
                       bool *fills)
{
  double sum[] = {(double)pairs, (double)connections};
  TRY(poiseAgreeSum(ctx, mine, sum, 2));
  *fills = sum[0] > most * sum[1];
  return POISE_OK;
}

/* On meshes few aggregates meet at a node, for many connections: 1/2 to 3 pairs of them for a connection, in
   four dimensions and with cells of high order too. In graphs with hubs, or without dimension, nearly all
   meet, and the next level is full after one step. */
PoiseErr poiseAmgCreateP(PoiseContext ctx, AmgLevel *l, const AmgInterpolation *p, bool *fills)
{
  const int most = 4;
  Csr c = {0};
  int64_t pairs = 0;
  *fills = false;
  PoiseErr e = MakeP(ctx, &l->places, p, &c, &pairs);
  if (!e)
    e = poiseMatCreateLocal(p->side > 1 ? &poiseMatType_bcsr : &poiseMatType_csr, l->A->rows, NULL, &l->P);
  e = p->smooth ? poiseAmgFills(ctx, e, most, l->connections, pairs, fills) : PoiseAgree(ctx, e);
  if (!e && !*fills)
    e = poiseLayoutCreate(ctx, p->aggregates * p->modes, POISE_DECIDE, "columns of the matrix", &l->P->cols);
  if (!e && !*fills) {
    l->P->block_size = p->side;
    return poiseMatReplaceCsr(l->P, POISE_OK, &c);
  }
  PoiseMatDestroy(&l->P);
  poiseCsrDestroy(ctx, &c);
  return e;
}

/* Places of P's columns, by which its values are found. */
static PoiseErr Places(const AmgLevel *l, PoiseMat P, int64_t per, Buffer *places)
{
  Csr *c = &P->csr;
  Device *dev = P->ctx->device;
  AmgPlaceArgs a = {.n = c->nz, .below = l->places.below * per, .nloc = c->nloc};
  TRY(poiseBufferRead(&c->col, DEVICE, &a.from));
  TRY(poiseAmgMake(dev, c->nz, sizeof *a.to, "places of columns", places, &a.to));
  return LAUNCH(dev, amg_to_places, &a);
}

PoiseErr poiseAmgFillP(PoiseContext ctx, AmgLevel *l, PoiseMat P, const AmgInterpolation *p)
{
  Buffer places = {0};
  bool apart = P->csr.nghost > 0;
  PoiseErr e = apart ? Places(l, P, p->modes / p->side, &places) : POISE_OK;
  if (!e) e = poiseAmgInterpolate(ctx, p, &P->csr, apart ? &places : NULL);
  P->version.values++;
  poiseBufferDestroy(&places);
  return e;
}

/* ---- R --------------------------------------------------------------------------------------- */

/* What `from` has of a view's bytes. */
static PoiseErr Lend(Buffer *from, size_t bytes, Buffer *view)
{
  void *there;
  TRY(poiseBufferRead(from, DEVICE, &there));
  if (!view->dev) poiseBufferSlice(from->dev, bytes, from->what, view);
  poiseBufferPoint(view, there);
  return POISE_OK;
}

static size_t Width(const Transposed *t)
{
  return t->wide ? sizeof(int64_t) : sizeof(int32_t);
}

/* Entries of P in own columns. Waits. */
static PoiseErr CountOwn(PoiseMat P, Transposed *t, int64_t *own)
{
  const char *ptr;
  int32_t narrow;
  *own = P->csr.nz;
  if (!P->csr.nghost) return POISE_OK;
  TRY(poiseBufferRead(&t->ptr, DEVICE, &ptr));
  ptr += (size_t)P->csr.nloc * Width(t);
  if (t->wide) return poiseDeviceFetch(P->ctx->device, ptr, sizeof *own, own);
  TRY(poiseDeviceFetch(P->ctx->device, ptr, sizeof narrow, &narrow));
  *own = narrow;
  return POISE_OK;
}

/* Offsets and columns of own rows. */
static PoiseErr LendOwn(Transposed *t, Csr *c)
{
  TRY(Lend(&t->ptr, (size_t)(c->m + 1) * Width(t), &c->ptr));
  return Lend(&t->row, (size_t)c->nz * sizeof(int32_t), &c->col);
}

/* The same of rows behind the first `own` entries. */
static PoiseErr CopyAway(PoiseMat P, Transposed *t, int64_t own, Csr *c)
{
  Device *dev = P->ctx->device;
  AmgOffsetsArgs a = {.n = c->m + 1};
  const char *ptr;
  const int32_t *from;
  int32_t *col;
  TRY(poiseBufferRead(&t->ptr, DEVICE, &ptr));
  TRY(poiseBufferRead(&t->row, DEVICE, &from));
  ptr += (size_t)P->csr.nloc * Width(t);
  *(t->wide ? (const void **)&a.from64 : (const void **)&a.from32) = ptr;
  TRY(poiseAmgMake(dev, a.n, Width(t), "row offsets", &c->ptr, t->wide ? (void *)&a.to64 : (void *)&a.to32));
  TRY(poiseAmgMake(dev, c->nz, sizeof *col, "columns", &c->col, &col));
  TRY(poiseDeviceCopy(dev, col, from + own, (size_t)c->nz * sizeof *col, COPY_ON_DEVICE));
  return LAUNCH(dev, amg_offsets, &a);
}

PoiseErr poiseAmgCreatePart(PoiseMat of, PoiseErr mine, const char *what, Csr *c, PoiseMat *part)
{
  PoiseContext self = poiseContextSelf(of->ctx);
  Layout *to = NULL, *from = NULL;
  PoiseErr e = mine;
  if (!e) e = poiseLayoutCreate(self, c->m * poiseCsrSide(c), POISE_DECIDE, what, &to);
  if (!e) e = poiseLayoutCreate(self, c->nloc * poiseCsrSide(c), POISE_DECIDE, what, &from);
  if (!e) e = poiseMatCreateLocal(of->type, to, from, part);
  poiseLayoutDestroy(&to);
  poiseLayoutDestroy(&from);
  if (e) {
    PoiseMatDestroy(part);
    poiseCsrDestroy(self, c);
    return e;
  }
  (*part)->block_size = of->block_size;
  return poiseMatReplaceCsr(*part, POISE_OK, c);
}

/* Some rows of P^T. c: their CSR, but for values. */
static PoiseErr CreateRows(PoiseMat P, PoiseErr mine, Csr *c, PoiseMat *part)
{
  static const char what[] = "restriction";
  PoiseErr e = mine;
  if (!e) e = poiseBufferCreate(P->ctx->device, (size_t)poiseCsrScalars(c) * sizeof(double), what, &c->val);
  return poiseAmgCreatePart(P, e, what, c, part);
}

static PoiseErr CreateR(AmgLevel *l, Transposed *t)
{
  PoiseMat P = l->P;
  int64_t own;
  TRY(CountOwn(P, t, &own));
  Csr c = {.b = P->csr.b, .m = P->csr.nloc, .nloc = P->csr.m, .nz = own, .wide = t->wide}, away = c;
  TRY(CreateRows(P, LendOwn(t, &c), &c, &l->R));
  if (PoiseSize(P->ctx) == 1) return POISE_OK;
  away.m = P->csr.nghost, away.nz = P->csr.nz - own;
  return CreateRows(P, CopyAway(P, t, own, &away), &away, &l->away);
}

/* Values of P from entry `first` of P^T on. */
static PoiseErr Gather(PoiseMat P, Transposed *t, int64_t first, PoiseMat part)
{
  Device *dev = P->ctx->device;
  GatherArgs g = {.n = part->csr.nz};
  BcsrTransposeBlocksArgs b = {.n = g.n, .b = P->csr.b};
  TRY(poiseBufferRead(&P->csr.val, DEVICE, &g.x));
  TRY(poiseBufferRead(&t->from, DEVICE, t->wide ? (void *)&g.idx64 : (void *)&g.idx));
  TRY(poiseBufferWrite(&part->csr.val, DEVICE, &g.out));
  if (t->wide)
    g.idx64 += first;
  else
    g.idx += first;
  part->version.values++;
  if (!b.b) return LAUNCH(dev, gather, &g);
  b.x = g.x, b.out = g.out, b.from32 = g.idx, b.from64 = g.idx64;
  return LAUNCH(dev, bcsr_transpose_blocks, &b);
}

/* R has no offsets and columns of its own: the product C keeps P by columns, and a product that was made anew
   has them elsewhere. */
PoiseErr poiseAmgMakeR(PoisePC pc, AmgLevel *l, PoiseMat Q, PoiseMat C, bool keeps)
{
  Transposed *t = poiseMultipliedByColumns(C->multiplied);
  const void *col, *now;
  if (!l->R) TRY(CreateR(l, t));
  TRY(poiseBufferRead(&l->R->csr.col, DEVICE, &col));
  TRY(LendOwn(t, &l->R->csr));
  TRY(poiseBufferRead(&l->R->csr.col, DEVICE, &now));
  if (now != col) ((Amg *)pc->data)->moved = 1;
  if (keeps) return POISE_OK;
  TRY(Gather(Q, t, 0, l->R));
  return l->away ? Gather(Q, t, l->R->csr.nz, l->away) : POISE_OK;
}
