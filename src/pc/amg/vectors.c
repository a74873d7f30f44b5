/* SPDX-License-Identifier: BSD-3-Clause */
/* What a cycle works on, made when the levels are: its vectors, and its matrices ready for products. */
#include "mat/object/mat_type.h"
#include "mat/object/mat.h"
#include "vec/vec_kernels.h"
#include "amg.h"
#include "cycle_vec.h"
#include "narrow.h"
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

/* The same of wide vectors, in fp64. */
static PoiseErr WideOf(PoiseMat A, int columns, AmgVec *v)
{
  Layout *rows;
  double *there;
  PoiseVecDestroy(&v->wide);
  TRY(poiseLayoutColumns(A->rows, columns, &rows));
  PoiseErr e = poiseVecCreateLocal(rows, &v->wide);
  poiseLayoutDestroy(&rows);
  return e ? e : poiseVecWrite(v->wide, &there);
}

static PoiseErr Wide(PoiseMat A, AmgVec *v)
{
  double *there;
  if (!v->wide) TRY(poiseVecCreateLocal(A->rows, &v->wide));
  return poiseVecWrite(v->wide, &there);
}

static PoiseErr MakeSingle(PoiseMat A, int columns, AmgVec *v)
{
  float *there;
  size_t bytes = (size_t)(A->rows->n * columns) * sizeof *there;
  if (v->single.dev && v->single.bytes < bytes) poiseBufferDestroy(&v->single);
  if (!v->single.dev) TRY(poiseBufferCreate(A->ctx->device, bytes, "vector of a cycle", &v->single));
  return poiseBufferWrite(&v->single, DEVICE, &there);
}

static PoiseErr Make(const Amg *amg, PoiseMat A, AmgVec *v)
{
  return amg->single ? MakeSingle(A, 1, v) : Wide(A, v);
}

/* A level is smoothed, or is the bottom, solved by an inverse or by factors. Factors take r and t in fp64. Of
   several columns all are in fp32. */
static PoiseErr MakeVectors(Amg *amg, int k, AmgVectors *of, int columns)
{
  AmgLevel *l = &amg->level[k];
  bool bottom = k + 1 == amg->count, smooths = !bottom || !amg->dense, coarse = k > 0;
  bool twice = coarse && !bottom && amg->way.w_cycle;
  bool steps = smooths && (bottom || amg->way.degree > 1); /* of the smoother: more than one */
  bool factors = amg->single && !smooths && amg->bottom.lu;
  const struct {
    AmgVec *v;
    bool needed, wide;
  } vectors[] = {
      {&of->b, coarse, false}, /* of the level above, restricted */
      {&of->x, coarse || amg->single, false},
      {&of->r2, twice, false}, /* of the second visit of a W cycle */
      {&of->x2, twice, false},
      {&of->d, steps, false},
      {&of->r, smooths, factors}, /* residual before the correction; right-hand side of factors */
      {&of->t, !bottom, factors}, /* the same after it; solution */
      {&of->half, l->lower, false},
      {&of->whole, l->lower, false},
  };
  for (size_t j = 0; j < sizeof vectors / sizeof *vectors; j++) {
    if (vectors[j].needed)
      TRY(columns > 1 ? MakeSingle(l->A, columns, vectors[j].v) : Make(amg, l->A, vectors[j].v));
    if (vectors[j].wide && columns == 1) TRY(Wide(l->A, vectors[j].v));
  }
  if (!l->away) return POISE_OK;
  return columns > 1 ? MakeSingle(l->away, columns, &of->sent) : Make(amg, l->away, &of->sent);
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

/* Where a level begins that every rank holds. */
static PoiseErr MakeParts(Amg *amg)
{
  AmgRedundant *r = &amg->redundant;
  AmgVec *const parts[] = {&r->b, &r->x};
  for (int k = 0; k < 2; k++) TRY(r->level ? Make(amg, r->A, parts[k]) : Wide(amg->level[0].A, parts[k]));
  return poiseHaloReady(r->halo);
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
  if (amg->single) return ReadyMatricesSingle(l);
  if ((k + 1 == amg->count && amg->dense) || l->lower) return POISE_OK;
  return Damp(amg, l);
}

PoiseErr poiseAmgVectors(PoisePC pc)
{
  Amg *amg = pc->data;
  bool was = amg->single;
  PoiseErr e = PoiseAgree(pc->ctx, poiseAmgNarrow(pc));
  amg->moved |= amg->single != was;
  if (amg->single != was) poiseAmgVecDestroy(&amg->redundant.b), poiseAmgVecDestroy(&amg->redundant.x);
  for (int k = 0; k < amg->count && !e; k++) {
    PoiseContext ctx = poiseAmgContext(pc, k);
    if (!amg->single) e = ReadyMatrices(ctx, &amg->level[k]);
    if (!e) e = PoiseAgree(ctx, PrepareLevel(amg, k, was));
  }
  if (!e && amg->redundant.A) e = MakeParts(amg);
  if (!e && amg->single) e = MakeRange(pc);
  if (!amg->single) poiseBufferDestroy(&amg->range);
  return PoiseAgree(pc->ctx, e);
}

/* ---- several columns ------------------------------------------------------------------------- */

/* As this rank sees it. */
static bool MayTakeColumns(const Amg *amg)
{
  Product *of[MATRICES];
  if (!amg->single || (amg->dense && amg->bottom.lu)) return false;
  for (int k = 0; k < amg->count; k++) {
    AmgLevel l = amg->level[k];
    ListSingle(&l, of);
    for (int j = 0; j < MATRICES; j++)
      if (of[j]->A && !poiseProductTakesColumns(of[j])) return false;
  }
  return true;
}

bool poiseAmgTakesColumns(PoisePC pc)
{
  return ((const Amg *)pc->data)->takes_columns;
}

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

/* Where a level begins that every rank holds. Those of level 0 are in fp64, of all rows; of others this
   rank's in fp32. */
static PoiseErr MakeWideParts(Amg *amg, int columns)
{
  AmgRedundant *r = &amg->redundant;
  AmgVec *const parts[] = {&r->wide_b, &r->wide_x};
  for (int k = 0; k < 2; k++)
    TRY(r->level ? MakeSingle(r->A, columns, parts[k]) : WideOf(amg->level[0].A, columns, parts[k]));
  return POISE_OK;
}

/* Local. */
static PoiseErr MakeWide(PoisePC pc, int columns)
{
  Amg *amg = pc->data;
  Product *of[MATRICES];
  for (int k = 0; k < amg->count; k++) {
    TRY(MakeVectors(amg, k, &amg->level[k].wide, columns));
    TRY(ReadyMatricesSingle(&amg->level[k]));
    ListSingle(&amg->level[k], of);
    for (int j = 0; j < MATRICES; j++)
      if (of[j]->A) TRY(poiseSeveralReadySingle(of[j]));
  }
  if (amg->redundant.A) TRY(MakeWideParts(amg, columns));
  return MakeRanges(pc, columns);
}

/* Halos for so many columns, with room for the most there were. Collective; agrees. */
static PoiseErr ReadyHalo(Halo *halo, int most, int columns)
{
  TRY(poiseHaloReadyColumns(halo, most));
  return poiseHaloReadyColumns(halo, columns);
}

static PoiseErr ReadyHalos(Amg *amg, int columns)
{
  int most = amg->most_columns;
  Product *of[MATRICES];
  for (int k = 0; k < amg->count; k++) {
    ListSingle(&amg->level[k], of);
    for (int j = 0; j < MATRICES; j++)
      if (of[j]->A) TRY(ReadyHalo(of[j]->A->csr.halo, most, columns));
  }
  return ReadyHalo(amg->redundant.halo, most, columns);
}

PoiseErr poiseAmgReadyColumns(PoisePC pc, int columns)
{
  Amg *amg = pc->data;
  int64_t lacks = !MayTakeColumns(amg);
  TRY(poiseCommMaxInt(pc->ctx->comm, &lacks, 1));
  amg->takes_columns = !lacks;
  if (lacks || columns == 1) return POISE_OK;
  if (columns > amg->most_columns) {
    TRY(PoiseAgree(pc->ctx, MakeWide(pc, columns)));
    pc->generation++; /* loops hold places of the smaller ones */
    amg->most_columns = columns;
  }
  return ReadyHalos(amg, columns);
}
