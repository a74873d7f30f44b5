/* SPDX-License-Identifier: BSD-3-Clause */
/*
  A prolongation that more than one step of Jacobi smooths: P = S^(k-1) P_1, where P_1 has one step, and
  S = I - omega D^-1 A_F. With each step a row gets the aggregates of the next strong neighbours. So P follows
  directions between those of the grid, which the neighbours of one row do not have, and has less energy where
  A is of fourth order.

  S is a matrix with the strong connections and the diagonal, and each step a product of matrices, so that
  rows of other ranks come as they do for others. Of each step the matrix is kept for new values.
*/
#include "mat/multiply/local_product.h"
#include "mat/csr/replace.h"
#include "mat/object/mat_type.h"
#include "mat/multiply/multiply.h"
#include "rows.h"
#include "steps.h"
#include "steps_kernels.h"
#include "transfer.h"

/* ---- S --------------------------------------------------------------------------------------- */

/* The pattern, and room for the values. Local. */
static PoiseErr MakePattern(PoiseMat A, AmgStepsArgs *s, Buffer *length, Csr *c)
{
  Device *dev = A->ctx->device;
  TRY(poiseAmgMake(dev, s->n, sizeof *s->length, "rows of a step", length, &s->length));
  TRY(LAUNCH(dev, amg_steps_count, s));
  TRY(poiseRowOffsets(dev, s->n, s->length, c));
  c->nloc = A->csr.nloc, c->nghost = A->csr.nghost;
  TRY(poiseAmgMake(dev, c->nz, sizeof *s->col, "columns of a step", &c->col, &s->col));
  TRY(poiseAmgMake(dev, c->nz, sizeof *s->val, "values of a step", &c->val, &s->val));
  if (!c->nghost) return POISE_OK;
  TRY(poiseAllocArray(A->ctx, c->nghost, sizeof *c->ghost, "ghost columns", &c->ghost));
  memcpy(c->ghost, A->csr.ghost, (size_t)c->nghost * sizeof *c->ghost);
  return POISE_OK;
}

static PoiseErr Write(Device *dev, Csr *c, AmgStepsArgs *s)
{
  TRY(poiseCsrPattern(c, &s->S));
  TRY(poiseBufferWrite(&c->val, DEVICE, &s->val));
  return LAUNCH(dev, amg_steps_write, s);
}

static PoiseErr CreateS(PoiseContext ctx, PoiseMat A, const AmgInterpolation *p, PoiseMat *S)
{
  AmgStepsArgs s = {.n = p->nodes, .p = *p};
  Buffer length = {0};
  Csr c = {0};
  PoiseErr e = MakePattern(A, &s, &length, &c);
  if (!e) e = Write(ctx->device, &c, &s);
  poiseBufferDestroy(&length);
  if (!e) e = poiseMatCreateLocal(&poiseMatType_csr, A->rows, A->cols, S);
  e = PoiseAgree(ctx, e);
  if (!e) return poiseMatReplaceCsr(*S, POISE_OK, &c);
  poiseCsrDestroy(ctx, &c);
  PoiseMatDestroy(S);
  return e;
}

/* New values. Local. */
static PoiseErr FillS(PoiseMat S, const AmgInterpolation *p)
{
  AmgStepsArgs s = {.n = p->nodes, .p = *p};
  S->version.values++;
  return Write(S->ctx->device, &S->csr, &s);
}

/* ---- steps ----------------------------------------------------------------------------------- */

static PoiseErr CountPairs(PoiseMat P, int64_t *pairs)
{
  Buffer b = {0};
  AmgMeetArgs m = {.n = P->csr.m};
  Device *dev = P->ctx->device;
  PoiseErr e = poiseCsrPattern(&P->csr, &m.P);
  if (!e) e = poiseAmgMake(dev, m.n, sizeof *m.pairs, "pairs of aggregates", &b, &m.pairs);
  if (!e) e = LAUNCH(dev, amg_meet, &m);
  if (!e) e = poiseRowSum(dev, m.n, m.pairs, pairs);
  poiseBufferDestroy(&b);
  return e;
}

/* One more step, unless that would fill the next level. On meshes of the plane each step adds 2 to 5 pairs
   for an entry of A. On 7 points in space it adds 9, and is of no use; in graphs without dimension it adds
   more from step to step. */
static PoiseErr Add(PoiseContext ctx, AmgLevel *l, bool *fills)
{
  const int most = 6;
  PoiseMat next = NULL;
  int64_t pairs = 0;
  TRY(PoiseMatMatMult(l->step, l->P, &next));
  PoiseErr e = CountPairs(next, &pairs);
  e = poiseAmgFills(ctx, e, (l->steps + 1) * most, l->A->csr.nz, pairs, fills);
  if (e || *fills) {
    PoiseMatDestroy(&next);
    return e;
  }
  l->fewer[l->steps++] = l->P;
  l->P = next;
  return POISE_OK;
}

/* P after k more steps, as it is kept. */
static PoiseMat *After(AmgLevel *l, int k)
{
  return k < l->steps ? &l->fewer[k] : &l->P;
}

PoiseErr poiseAmgSteps(PoiseContext ctx, AmgLevel *l, const AmgInterpolation *p, int degree)
{
  bool fills = false;
  if (degree > 1) TRY(CreateS(ctx, l->A, p, &l->step));
  while (l->steps + 1 < degree && !fills) TRY(Add(ctx, l, &fills));
  return POISE_OK;
}

PoiseErr poiseAmgStepsAgain(PoiseContext ctx, AmgLevel *l, const AmgInterpolation *p)
{
  if (!l->steps) return POISE_OK;
  TRY(PoiseAgree(ctx, FillS(l->step, p)));
  for (int k = 0; k < l->steps; k++) TRY(PoiseMatMatMult(l->step, *After(l, k), After(l, k + 1)));
  return POISE_OK;
}

void poiseAmgStepsRelease(PoiseContext ctx, AmgLevel *l, bool all)
{
  for (int k = 0; k < AMG_DEGREES; k++) {
    if (all) PoiseMatDestroy(&l->fewer[k]);
    if (l->fewer[k]) poiseBufferForget(&l->fewer[k]->csr.val);
  }
  if (all && l->P) poiseMultipliedDestroy(ctx, &l->P->multiplied);
  if (all || !l->steps) PoiseMatDestroy(&l->step);
  if (l->step) poiseBufferForget(&l->step->csr.val);
}
