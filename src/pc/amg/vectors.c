/* SPDX-License-Identifier: BSD-3-Clause */
/* What a cycle works on, made when the levels are: its vectors, and its matrices ready for products. */
#include "mat/object/mat_type.h"
#include "mat/object/mat.h"
#include "vec/vec_kernels.h"
#include "amg.h"
#include "cycle_vec.h"
#include "narrow.h"
#include "sweeps.h"
#include "vectors.h"

enum { VECTORS = 10, MATRICES = 6 };

static void List(AmgVectors *of, AmgVec *v[VECTORS])
{
  AmgVec *const all[VECTORS] = {&of->b,  &of->x,  &of->d,    &of->r,    &of->t,
                                &of->r2, &of->x2, &of->sent, &of->half, &of->whole};
  memcpy(v, all, sizeof all);
}

static void ListSingle(AmgLevel *level, Product *of[MATRICES])
{
  AmgSingle *l = &level->single;
  Product *const all[MATRICES] = {&l->A, &l->P, &l->R, &l->away, &l->lower, &l->upper};
  memcpy(of, all, sizeof all);
}

void poiseAmgVectorsDestroy(AmgLevel *l)
{
  AmgVec *v[2][VECTORS];
  List(&l->v, v[0]);
  List(&l->wide, v[1]);
  for (int k = 0; k < VECTORS; k++) poiseAmgVecDestroy(v[0][k]), poiseAmgVecDestroy(v[1][k]);
}

void poiseAmgLevelBytes(const AmgLevel *level, PoiseBytes *sum)
{
  AmgLevel l = *level;
  AmgVec *v[2][VECTORS];
  List(&l.v, v[0]);
  List(&l.wide, v[1]);
  for (int k = 0; k < VECTORS; k++) poiseAmgVecBytes(v[0][k], sum), poiseAmgVecBytes(v[1][k], sum);
  Product *single[MATRICES];
  ListSingle(&l, single);
  for (int k = 0; k < MATRICES; k++) poiseBufferAdd(&single[k]->val, sum);
  poiseBufferAdd(&l.single.inverse, sum);
}

/* ---- vectors --------------------------------------------------------------------------------- */

/* In fp64, with room for the most columns that there were. */
static PoiseErr MakeDouble(Layout *rows, AmgVec *v)
{
  double *there;
  size_t bytes = (size_t)(rows->n * rows->columns) * sizeof *there;
  if (v->wide && v->wide->data.bytes < bytes) PoiseVecDestroy(&v->wide);
  if (!v->wide) TRY(poiseVecCreateLocal(rows, &v->wide));
  poiseVecReshape(v->wide, rows);
  return poiseVecWrite(v->wide, &there);
}

static PoiseErr MakeSingle(const Layout *rows, AmgVec *v)
{
  float *there;
  size_t bytes = (size_t)(rows->n * rows->columns) * sizeof *there;
  if (v->single.dev && v->single.bytes < bytes) poiseBufferDestroy(&v->single);
  if (!v->single.dev) TRY(poiseBufferCreate(rows->ctx->device, bytes, "vector of a cycle", &v->single));
  return poiseBufferWrite(&v->single, DEVICE, &there);
}

typedef struct Needed {
  AmgVec *v;
  bool needed, wide; /* wide: in fp64, whatever the cycle is in */
} Needed;

/* Vectors of A's rows, of so many columns. */
static PoiseErr MakeAll(const Amg *amg, PoiseMat A, int columns, const Needed *of, int count)
{
  Layout *rows;
  TRY(poiseLayoutColumns(A->rows, columns, &rows));
  PoiseErr e = POISE_OK;
  for (int j = 0; j < count; j++) {
    if (!e && of[j].needed) e = amg->single ? MakeSingle(rows, of[j].v) : MakeDouble(rows, of[j].v);
    if (!e && of[j].wide) e = MakeDouble(rows, of[j].v);
  }
  poiseLayoutDestroy(&rows);
  return e;
}

/* A level is smoothed, or is the bottom, solved by an inverse or by factors. Factors take r and t in fp64. */
static PoiseErr MakeVectors(Amg *amg, int k, AmgVectors *of, int columns)
{
  AmgLevel *l = &amg->level[k];
  bool bottom = k + 1 == amg->count, smooths = !bottom || !amg->dense, coarse = k > 0;
  bool twice = coarse && !bottom && amg->way.w_cycle;
  bool steps =
      smooths && (bottom || (amg->way.degree > 1 && !l->sweeps.alone)); /* of the smoother: more than one */
  bool factors = amg->single && !smooths && amg->bottom.lu;
  /* sweeps by a rank that has all rows end in z, which is fp64 */
  bool rows = l->sweeps.alone ? k == 0 && amg->single : l->sweeps.made;
  const Needed vectors[] = {
      {&of->b, coarse, false}, /* of the level above, restricted */
      {&of->x, coarse || amg->single, false},
      {&of->r2, twice, false}, /* of the second visit of a W cycle */
      {&of->x2, twice, false},
      {&of->d, steps, false},
      {&of->r, smooths, factors}, /* residual before the correction; right-hand side of factors */
      {&of->t, !bottom, factors}, /* the same after it; solution */
      {&of->half, l->lower, false},
      {&of->whole, l->lower || rows, false},
  };
  const Needed sent = {&of->sent, true, false};
  TRY(MakeAll(amg, l->A, columns, vectors, sizeof vectors / sizeof *vectors));
  return l->away ? MakeAll(amg, l->away, columns, &sent, 1) : POISE_OK;
}

/* Where a level begins that every rank holds. Those of level 0 are of all rows, in fp64. */
static PoiseErr MakeParts(Amg *amg, AmgVec *b, AmgVec *x, int columns)
{
  const AmgRedundant *r = &amg->redundant;
  const Needed parts[] = {{b, r->level > 0, r->level == 0}, {x, r->level > 0, r->level == 0}};
  if (!r->A) return POISE_OK;
  return MakeAll(amg, r->level ? r->A : amg->level[0].A, columns, parts, 2);
}

/* Matrices of a level of a cycle in fp64. Collective where they are; agrees. */
static PoiseErr ReadyMatrices(PoiseContext ctx, AmgLevel *l)
{
  PoiseMat const all[MATRICES] = {l->A, l->P, l->R, l->away, l->lower, l->upper};
  for (int j = 0; j < MATRICES; j++)
    if (all[j]) TRY(PoiseAgree(ctx, poiseMatReady(all[j])));
  return POISE_OK;
}

/* The same in fp32. Local. */
static PoiseErr ReadyMatricesSingle(AmgLevel *l)
{
  Product *all[MATRICES];
  ListSingle(l, all);
  for (int j = 0; j < MATRICES; j++) {
    if (!all[j]->A) continue;
    TRY(poiseProductReady(all[j]));
    if (all[j]->A->csr.halo) TRY(poiseHaloReady(all[j]->A->csr.halo));
  }
  return POISE_OK;
}

static PoiseErr MakeRange(PoisePC pc)
{
  Amg *amg = pc->data;
  double *there;
  size_t bytes = (size_t)(AMG_RANGE_PARTIALS + POISE_NBLOCKS(amg->level[0].A->rows->n)) * sizeof *there;
  if (!amg->range.dev) TRY(poiseBufferCreate(pc->ctx->device, bytes, "size of r", &amg->range));
  return poiseBufferWrite(&amg->range, DEVICE, &there);
}

/* In fp64; in fp32 it is done in the same pass as narrowing. */
static PoiseErr Damp(const Amg *amg, AmgLevel *l)
{
  AxpbyArgs a = {.n = l->A->rows->n * l->side, .a.value = poiseAmgDamping(amg, l)};
  TRY(poiseBufferUpdate(&l->inverse, DEVICE, &a.y));
  a.x = a.y;
  return LAUNCH(l->A->ctx->device, axpby, &a);
}

/* Local. */
static PoiseErr PrepareLevel(Amg *amg, int k, bool was)
{
  AmgLevel *l = &amg->level[k];
  if (amg->single != was) poiseAmgVectorsDestroy(l);
  if (!amg->single) poiseAmgSingleDestroy(l);
  TRY(MakeVectors(amg, k, &l->v, 1));
  if (l->sweeps.made) TRY(poiseAmgSweepsReady(l, amg->single));
  if (amg->single) return ReadyMatricesSingle(l);
  if ((k + 1 == amg->count && amg->dense) || l->lower || l->sweeps.made) return POISE_OK;
  return Damp(amg, l);
}

PoiseErr poiseAmgVectors(PoisePC pc)
{
  Amg *amg = pc->data;
  bool was = amg->single;
  PoiseErr e = PoiseAgree(pc->ctx, poiseAmgNarrow(pc));
  amg->moved |= amg->single != was;
  amg->has_room = false;
  if (amg->single != was) {
    poiseAmgRedundantRelease(&amg->redundant);
    amg->most_columns = 0;
  }
  for (int k = 0; k < amg->count && !e; k++) {
    PoiseContext ctx = poiseAmgContext(pc, k);
    if (!amg->single) e = ReadyMatrices(ctx, &amg->level[k]);
    if (!e) e = PoiseAgree(ctx, PrepareLevel(amg, k, was));
  }
  if (!e) e = MakeParts(amg, &amg->redundant.b, &amg->redundant.x, 1);
  if (!e && amg->redundant.A) e = poiseHaloReady(amg->redundant.halo);
  if (!e && amg->single) e = MakeRange(pc);
  if (!amg->single) poiseBufferDestroy(&amg->range);
  return PoiseAgree(pc->ctx, e);
}

/* ---- several columns ------------------------------------------------------------------------- */

static PoiseErr MakeRanges(PoisePC pc, int columns)
{
  Amg *amg = pc->data;
  double *there;
  int64_t blocks = POISE_NBLOCKS(amg->redundant.A && amg->redundant.level == 0 ? amg->redundant.A->rows->N
                                                                               : pc->P->rows->n);
  size_t bytes = (size_t)(AMG_RANGES_PARTIALS + columns * blocks) * sizeof *there;
  if (amg->wide_range.dev && amg->wide_range.bytes < bytes) poiseBufferDestroy(&amg->wide_range);
  if (!amg->wide_range.dev) TRY(poiseBufferCreate(pc->ctx->device, bytes, "sizes of r", &amg->wide_range));
  poiseBufferZero(&amg->wide_range); /* its work has a counter */
  return poiseBufferUpdate(&amg->wide_range, DEVICE, &there);
}

/* Local. */
static PoiseErr MakeWide(PoisePC pc, int columns)
{
  Amg *amg = pc->data;
  Product *of[MATRICES];
  for (int k = 0; k < amg->count; k++) {
    TRY(MakeVectors(amg, k, &amg->level[k].wide, columns));
    if (!amg->single) continue;
    TRY(ReadyMatricesSingle(&amg->level[k]));
    ListSingle(&amg->level[k], of);
    for (int j = 0; j < MATRICES; j++)
      if (of[j]->A) TRY(poiseSeveralReadySingle(of[j]));
  }
  TRY(MakeParts(amg, &amg->redundant.wide_b, &amg->redundant.wide_x, columns));
  return amg->single ? MakeRanges(pc, columns) : POISE_OK;
}

/* The products of a level. A bottom that is solved has none. All are made ready, as some are of this rank
   alone. Collective where the level is; agrees. */
static PoiseErr ReadyProducts(PoiseContext ctx, Amg *amg, int k, int columns)
{
  AmgLevel *l = &amg->level[k];
  PoiseMat const all[MATRICES] = {l->A, l->P, l->R, l->away, l->lower, l->upper};
  PoiseErr e = POISE_OK;
  if (k + 1 == amg->count && amg->dense) return POISE_OK;
  for (int j = 0; j < MATRICES; j++) {
    if (!all[j]) continue;
    PoiseErr one = amg->single ? poiseHaloReadyColumns(all[j]->csr.halo, columns)
                               : poiseMatReadyColumns(all[j], columns);
    if (!e) e = one;
  }
  return PoiseAgree(ctx, e);
}

/* All that a cycle of so many columns needs. Collective; agrees. */
static PoiseErr Ready(PoisePC pc, int columns)
{
  Amg *amg = pc->data;
  PoiseErr e = PoiseAgree(pc->ctx, MakeWide(pc, columns));
  for (int k = 0; k < amg->count && !e; k++) e = ReadyProducts(poiseAmgContext(pc, k), amg, k, columns);
  if (!e && amg->dense) e = poiseAmgBottomReadyColumns(&amg->bottom, columns);
  TRY(PoiseAgree(pc->ctx, e));
  return poiseHaloReadyColumns(amg->redundant.halo, columns);
}

/* Behind a set-up first for the most that there were: what has room for them does not move. */
PoiseErr poiseAmgReadyColumns(PoisePC pc, int columns)
{
  Amg *amg = pc->data;
  PoiseErr e = POISE_OK;
  if (columns == 1) return POISE_OK;
  if (!amg->has_room && columns < amg->most_columns) e = Ready(pc, amg->most_columns);
  if (!e) e = Ready(pc, columns);
  if (e) amg->most_columns = 0;
  TRY(e);
  bool more = columns > amg->most_columns, moved = amg->moved_product != pc->P->product.moved;
  if (more || moved) pc->generation++; /* loops hold places of what has grown */
  if (more) amg->most_columns = columns;
  amg->has_room = true, amg->moved_product = pc->P->product.moved;
  return POISE_OK;
}
