/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Matrices between levels: P from its pattern and values, and R = P^T.

  On several ranks a smoothed P reads rows of T at ghost nodes, so it has columns of other ranks. R's rows get
  entries from these: they are triplets, whose plan new values use again.
*/
#include "mat/assembly/assemble.h"
#include "mat/assembly/shared_rows.h"
#include "mat/assembly/triplets.h"
#include "mat/csr/entries.h"
#include "mat/mat_type.h"
#include "mat/multiply/global_entries.h"
#include "mat/multiply/multiply.h"
#include "mat/types/bcsr_kernels.h"
#include "vec/vec_kernels.h"
#include "amg.h"
#include "interpolation_kernels.h"

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

/* On meshes few aggregates meet at a node, for many connections: 1/2 to 3 pairs of them for a connection, in
   four dimensions and with cells of high order too. In graphs with hubs, or without dimension, nearly all
   meet, and the next level is full after one step. */
static PoiseErr Fills(PoiseContext ctx, PoiseErr mine, int64_t connections, int64_t pairs, bool *fills)
{
  const int most = 4;
  double sum[] = {(double)pairs, (double)connections};
  TRY(poiseAgreeSum(ctx, mine, sum, 2));
  *fills = sum[0] > most * sum[1];
  return POISE_OK;
}

PoiseErr poiseAmgCreateP(PoiseContext ctx, AmgLevel *l, const AmgInterpolation *p, bool *fills)
{
  Csr c = {0};
  int64_t pairs = 0;
  *fills = false;
  PoiseErr e = MakeP(ctx, &l->places, p, &c, &pairs);
  if (!e)
    e = poiseMatCreateLocal(p->side > 1 ? &poiseMatType_bcsr : &poiseMatType_csr, l->A->rows, NULL, &l->P);
  e = p->smooth ? Fills(ctx, e, l->connections, pairs, fills) : PoiseAgree(ctx, e);
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
static PoiseErr Places(AmgLevel *l, int64_t per, Buffer *places)
{
  Csr *c = &l->P->csr;
  Device *dev = l->P->ctx->device;
  AmgPlaceArgs a = {.n = c->nz, .below = l->places.below * per, .nloc = c->nloc};
  TRY(poiseBufferRead(&c->col, DEVICE, &a.from));
  TRY(poiseAmgMake(dev, c->nz, sizeof *a.to, "places of columns", places, &a.to));
  return LAUNCH(dev, amg_to_places, &a);
}

PoiseErr poiseAmgFillP(PoiseContext ctx, AmgLevel *l, const AmgInterpolation *p)
{
  Buffer places = {0};
  bool apart = l->P->csr.nghost > 0;
  PoiseErr e = apart ? Places(l, p->modes / p->side, &places) : POISE_OK;
  if (!e) e = poiseAmgInterpolate(ctx, p, &l->P->csr, apart ? &places : NULL);
  l->P->state++;
  poiseBufferDestroy(&places);
  return e;
}

/* ---- R on one rank --------------------------------------------------------------------------- */

/* A view of what the product keeps. */
static PoiseErr Lend(Buffer *from, Buffer *view)
{
  void *there;
  TRY(poiseBufferRead(from, DEVICE, &there));
  if (!view->dev) poiseBufferSlice(from->dev, from->bytes, from->what, view);
  poiseBufferPoint(view, there);
  return POISE_OK;
}

static PoiseErr CreateR(AmgLevel *l, Transposed *t)
{
  PoiseMat P = l->P;
  Csr c = {.b = P->csr.b, .m = P->csr.nloc, .nloc = P->csr.m, .nz = P->csr.nz, .wide = t->wide};
  PoiseErr e = Lend(&t->ptr, &c.ptr);
  if (!e) e = Lend(&t->row, &c.col);
  if (!e)
    e = poiseBufferCreate(P->ctx->device, (size_t)poiseCsrScalars(&P->csr) * sizeof(double), "restriction",
                          &c.val);
  if (!e) e = poiseMatCreateLocal(P->type, P->cols, P->rows, &l->R);
  if (e) {
    PoiseMatDestroy(&l->R);
    poiseCsrDestroy(P->ctx, &c);
    return e;
  }
  l->R->block_size = P->block_size;
  return poiseMatReplaceCsr(l->R, POISE_OK, &c);
}

/* R's values from P's. */
static PoiseErr GatherR(AmgLevel *l, Transposed *t)
{
  Device *dev = l->P->ctx->device;
  GatherArgs g = {.n = l->P->csr.nz};
  BcsrTransposeBlocksArgs b = {.n = l->P->csr.nz, .b = l->P->csr.b};
  TRY(poiseBufferRead(&l->P->csr.val, DEVICE, &g.x));
  TRY(poiseBufferRead(&t->from, DEVICE, t->wide ? (void *)&g.idx64 : (void *)&g.idx));
  TRY(poiseBufferWrite(&l->R->csr.val, DEVICE, &g.out));
  l->R->state++;
  if (!b.b) return LAUNCH(dev, gather, &g);
  b.x = g.x, b.out = g.out, b.from32 = g.idx, b.from64 = g.idx64;
  return LAUNCH(dev, bcsr_transpose_blocks, &b);
}

/* R has no offsets and columns of its own: the product C keeps P by columns, and a product that was made anew
   has them elsewhere. */
static PoiseErr Restrict(PoisePC pc, AmgLevel *l, PoiseMat C, bool keeps)
{
  Transposed *t = poiseMultipliedByColumns(C->made.multiplied);
  const void *col, *now;
  if (!l->R) TRY(CreateR(l, t));
  TRY(poiseBufferRead(&l->R->csr.col, DEVICE, &col));
  TRY(Lend(&t->ptr, &l->R->csr.ptr));
  TRY(Lend(&t->row, &l->R->csr.col));
  TRY(poiseBufferRead(&l->R->csr.col, DEVICE, &now));
  if (now != col) ((Amg *)pc->data)->moved = 1;
  return keeps ? POISE_OK : GatherR(l, t);
}

/* ---- R on several ranks ---------------------------------------------------------------------- */

static PoiseErr ListEntries(PoiseMat P, GlobalEntries *g)
{
  Csr *c = &P->csr;
  GlobalColumns rows = {.nloc = c->m, .column = c->row},
                columns = {.nloc = c->nloc, .column = c->column, .ghost = c->ghost};
  return poiseGlobalEntries(P->ctx->device, c, rows, 0, columns, c->nghost, g);
}

/* Of P's entries as triplets: R has rows and columns the other way round. */
static PoiseErr ListR(PoiseMat P, PoiseMat R)
{
  GlobalEntries g = {0};
  PoiseErr e = PoiseAgree(P->ctx, ListEntries(P, &g));
  if (!e && P->csr.b) e = PoiseMatSetBlockPatternDeviceCOO(R, P->csr.nz, g.cols, g.rows);
  if (!e && !P->csr.b) e = PoiseMatSetPatternDeviceCOO(R, P->csr.nz, g.cols, g.rows);
  poiseGlobalEntriesDestroy(&g);
  return e;
}

/* Of P by columns, which the product keeps: its owned columns are R's rows, its ghosts those of others. */
static PoiseErr ShareR(PoiseMat P, Transposed *t, PoiseMat R)
{
  Csr *c = &P->csr;
  SharedRows s = {.C = {.b = c->b, .m = c->nloc + c->nghost, .nz = c->nz},
                  .wide = t->wide,
                  .rows = {.nloc = c->nloc, .column = c->column, .ghost = c->ghost},
                  .columns = {.nloc = c->m, .column = c->row},
                  .nghost = {c->nghost, 0}};
  PoiseErr e = poiseBufferRead(&t->ptr, DEVICE, t->wide ? (void *)&s.C.ptr64 : (void *)&s.C.ptr32);
  if (!e) e = poiseBufferRead(&t->row, DEVICE, &s.C.col);
  if (!e) e = poiseBufferRead(&t->from, DEVICE, &s.from);
  return poiseMatSetSharedRows(R, e, &s);
}

static PoiseErr CreateRanksR(PoiseMat P, Transposed *t, Buffer *turned, PoiseMat *R)
{
  PoiseContext ctx = P->ctx;
  int b = P->csr.b;
  PoiseErr e = poiseMatCreateLocal(b ? &poiseMatType_auto : P->type, P->cols, P->rows, R);
  if (!e && b)
    e = poiseBufferCreate(ctx->device, (size_t)poiseCsrScalars(&P->csr) * sizeof(double),
                          "interpolation in turned blocks", turned);
  e = PoiseAgree(ctx, e);
  if (e) PoiseMatDestroy(R);
  TRY(e);
  if (b) TRY(PoiseMatSetBlockSize(*R, b));
  if (b) TRY(PoiseMatSetType(*R, "bcsr"));
  return poiseSharedRowsStay(*R) ? ShareR(P, t, *R) : ListR(P, *R);
}

static PoiseErr Turn(PoiseMat P, Buffer *turned, Side side, const double **val)
{
  BcsrTransposeBlocksArgs a = {.n = P->csr.nz, .b = P->csr.b};
  if (!a.b) return poiseBufferRead(&P->csr.val, side, val);
  TRY(poiseBufferRead(&P->csr.val, DEVICE, &a.x));
  TRY(poiseBufferWrite(turned, DEVICE, &a.out));
  TRY(LAUNCH(P->ctx->device, bcsr_transpose_blocks, &a));
  return poiseBufferRead(turned, side, val);
}

static PoiseErr SendR(PoiseMat P, Buffer *turned, PoiseMat R)
{
  const double *val = NULL;
  Side side = P->ctx->device->ops->is_host ? HOST : DEVICE;
  PoiseErr e = Turn(P, turned, side, &val);
  return poiseMatTakeCOO(R, e, side, val, false);
}

/* ---- R --------------------------------------------------------------------------------------- */

PoiseErr poiseAmgMakeR(PoisePC pc, AmgLevel *l, PoiseMat C, bool keeps)
{
  if (PoiseSize(l->P->ctx) == 1) return Restrict(pc, l, C, keeps);
  if (!l->R) TRY(CreateRanksR(l->P, poiseMultipliedByColumns(C->made.multiplied), &l->turned, &l->R));
  return keeps ? POISE_OK : SendR(l->P, &l->turned, l->R);
}
