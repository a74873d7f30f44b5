/* SPDX-License-Identifier: BSD-3-Clause */
/* What a cycle works on, made when the levels are: its vectors, and its matrices ready for products. */
#include "mat/mat_type.h"
#include "mat/types/auto.h"
#include "amg.h"

enum { VECTORS = 7 };

static void List(AmgLevel *l, AmgVec *v[VECTORS])
{
  AmgVec *const all[VECTORS] = {&l->b, &l->x, &l->d, &l->r, &l->t, &l->r2, &l->x2};
  memcpy(v, all, sizeof all);
}

void poiseAmgVectorsDestroy(AmgLevel *l)
{
  AmgVec *v[VECTORS];
  List(l, v);
  for (int k = 0; k < VECTORS; k++) PoiseVecDestroy(&v[k]->wide), poiseBufferDestroy(&v[k]->single);
}

void poiseAmgLevelBytes(const AmgLevel *level, PoiseBytes *sum)
{
  AmgLevel l = *level;
  AmgVec *v[VECTORS];
  List(&l, v);
  for (int k = 0; k < VECTORS; k++) {
    if (v[k]->wide) poiseBufferAdd(&v[k]->wide->data, sum);
    poiseBufferAdd(&v[k]->single, sum);
  }
  poiseBufferAdd(&l.single.A, sum);
  poiseBufferAdd(&l.single.P, sum);
  poiseBufferAdd(&l.single.R, sum);
  poiseBufferAdd(&l.single.inverse, sum);
}

/* ---- vectors --------------------------------------------------------------------------------- */

static PoiseErr Wide(PoiseMat A, AmgVec *v)
{
  double *there;
  if (!v->wide) TRY(poiseVecCreateLocal(A->rows, &v->wide));
  return poiseVecWrite(v->wide, &there);
}

static PoiseErr Make(const Amg *amg, PoiseMat A, AmgVec *v)
{
  float *there;
  if (!amg->single) return Wide(A, v);
  if (!v->single.dev)
    TRY(poiseBufferCreate(A->ctx->device, (size_t)A->rows->n * sizeof *there, "vector of a cycle",
                          &v->single));
  return poiseBufferWrite(&v->single, DEVICE, &there);
}

static PoiseErr MakeVectors(Amg *amg, int k)
{
  const AmgOptions *o = &amg->options;
  AmgLevel *l = &amg->level[k];
  bool bottom = k + 1 == amg->count, smooths = !bottom || !amg->dense,
       has = k > 0 || poiseAmgIsRedundant(amg, 0);
  AmgVec *const coarse[] = {&l->b, &l->x}, *const twice[] = {&l->r2, &l->x2},
                *const smoothed[] = {&l->d, &l->r}, *const factors[] = {&l->r, &l->t};
  for (int j = 0; j < 2 && has; j++) TRY(Make(amg, l->A, coarse[j]));
  for (int j = 0; j < 2 && k && !bottom && o->w_cycle; j++) TRY(Make(amg, l->A, twice[j]));
  for (int j = o->degree > 1 || bottom ? 0 : 1; j < 2 && smooths; j++) TRY(Make(amg, l->A, smoothed[j]));
  for (int j = 0; j < 2 && amg->single && !smooths && amg->bottom.lu; j++) TRY(Wide(l->A, factors[j]));
  if (amg->single && k == 0) TRY(Make(amg, l->A, &l->x));
  return bottom ? POISE_OK : Make(amg, l->A, &l->t);
}

/* Matrices of a level of a cycle in fp64. Collective where they are; agrees. */
static PoiseErr ReadyMatrices(PoiseContext ctx, AmgLevel *l)
{
  PoiseMat const all[] = {l->A, l->P, l->R};
  for (int j = 0; j < 3; j++)
    if (all[j]) TRY(PoiseAgree(ctx, poiseMatReady(all[j])));
  return POISE_OK;
}

/* A place for the largest entry of r, and its partial maxima. */
static PoiseErr MakeRange(PoisePC pc)
{
  Amg *amg = pc->data;
  double *there;
  size_t bytes = (size_t)(POISE_NBLOCKS(amg->level[0].A->rows->n) + 1) * sizeof *there;
  if (!amg->range.dev) TRY(poiseBufferCreate(pc->ctx->device, bytes, "largest entry of r", &amg->range));
  return poiseBufferWrite(&amg->range, DEVICE, &there);
}

/* Local. */
static PoiseErr PrepareLevel(Amg *amg, int k, bool was)
{
  AmgLevel *l = &amg->level[k];
  const double *inverse;
  if (amg->single != was) poiseAmgVectorsDestroy(l);
  if (!amg->single) poiseAmgSingleDestroy(l);
  TRY(MakeVectors(amg, k));
  if (amg->single || (k + 1 == amg->count && amg->dense)) return POISE_OK;
  return poiseBufferRead(&l->inverse, DEVICE, &inverse);
}

PoiseErr poiseAmgVectors(PoisePC pc)
{
  Amg *amg = pc->data;
  bool was = amg->single;
  PoiseErr e = PoiseAgree(pc->ctx, poiseAmgNarrow(pc));
  amg->moved |= amg->single != was;
  for (int k = 0; k < amg->count && !e; k++) {
    PoiseContext ctx = poiseAmgContext(pc, k);
    if (!amg->single) e = ReadyMatrices(ctx, &amg->level[k]);
    if (!e) e = PoiseAgree(ctx, PrepareLevel(amg, k, was));
  }
  if (!e && amg->redundant.A) e = poiseAmgRedundantReady(&amg->redundant);
  if (!e && amg->single) e = MakeRange(pc);
  if (!amg->single) poiseBufferDestroy(&amg->range), poiseBufferDestroy(&amg->narrow);
  return PoiseAgree(pc->ctx, e);
}
