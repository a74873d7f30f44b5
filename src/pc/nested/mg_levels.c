/* SPDX-License-Identifier: BSD-3-Clause */
/*
  What the levels of mg have: checks of what the application gave, operators, and vectors. From the finest
  level down, an operator that was not given is R A P of the one above it, by PoiseMatPtAP where R = P^T. Its
  pattern and memory stay for new values.
*/
#include "mat/csr/transpose.h"
#include "mat/object/mat.h"
#include "mg.h"
#include "poise/mat_multiply.h"

/* ---- release --------------------------------------------------------------------------------- */

void poiseMgReleaseTransfer(PoiseContext ctx, MgLevel *l)
{
  PoiseMatDestroy(&l->P);
  PoiseMatDestroy(&l->R);
  PoiseMatDestroy(&l->pick);
  PoiseMatDestroy(&l->spread);
  PoiseMatDestroy(&l->picked);
  poiseBufferDestroy(&l->index);
  poiseFree(ctx, &l->row);
  l->injects = false;
  l->seen_picked = (Version){0};
}

static void ReleaseMade(MgLevel *l)
{
  PoiseMatDestroy(&l->made);
  PoiseMatDestroy(&l->middle);
  for (int k = 0; k < 3; k++) l->made_of[k] = (Version){0};
}

static void ReleaseVectors(MgLevel *l)
{
  PoiseVecDestroy(&l->b);
  PoiseVecDestroy(&l->x);
  PoiseVecDestroy(&l->t);
  PoiseVecDestroy(&l->e);
}

void poiseMgRelease(PoisePC pc)
{
  Mg *mg = pc->data;
  for (int k = 0; k < mg->count; k++) {
    MgLevel *l = &mg->level[k];
    poiseKSPDestroy(&l->ksp);
    poiseMgReleaseTransfer(pc->ctx, l);
    ReleaseMade(l);
    ReleaseVectors(l);
    PoiseMatDestroy(&l->given);
    PoiseMatDestroy(&l->A);
  }
  poiseFree(pc->ctx, &mg->level);
  mg->count = 0;
  mg->configured = 0;
}

/* ---- checks of a level and what leads to the one beneath; local ------------------------------ */

static PoiseErr CheckSizes(PoisePC pc, int k, const char *what, PoiseMat M, const char *side,
                           const Layout *has, const char *wants, const Layout *wanted)
{
  if (poiseLayoutSame(has, wanted)) return POISE_OK;
  FAIL(
      POISE_ERR_SIZE,
      "the %s of level %d is %lld x %lld, and %s has %lld rows (on rank %d it has %lld %s, and %s %lld rows)",
      what, k, (long long)M->rows->N, (long long)M->cols->N, wants, (long long)wanted->N, PoiseRank(pc->ctx),
      (long long)has->n, side, wants, (long long)wanted->n);
}

static PoiseErr CheckInterpolation(PoisePC pc, int k)
{
  const MgLevel *l = &((Mg *)pc->data)->level[k];
  TRY(poiseMatCheckUsable(l->P));
  TRY(CheckSizes(pc, k, "interpolation", l->P, "rows", l->P->rows, "the level", l->A->rows));
  if (!l->R) return POISE_OK;
  TRY(poiseMatCheckUsable(l->R));
  TRY(CheckSizes(pc, k, "restriction", l->R, "columns", l->R->cols, "the level", l->A->rows));
  if (poiseLayoutSame(l->R->rows, l->P->cols)) return POISE_OK;
  FAIL(POISE_ERR_SIZE,
       "the restriction of level %d is %lld x %lld, its interpolation %lld x %lld (on rank %d they lead to "
       "%lld "
       "and come from %lld rows)",
       k, (long long)l->R->rows->N, (long long)l->R->cols->N, (long long)l->P->rows->N,
       (long long)l->P->cols->N, PoiseRank(pc->ctx), (long long)l->R->rows->n, (long long)l->P->cols->n);
}

/* entry: of each row of the level, one more than the number of the entry that is this row */
static PoiseErr CheckRows(PoisePC pc, int k, PoiseInt *entry)
{
  const MgLevel *l = &((Mg *)pc->data)->level[k];
  PoiseInt n = l->A->rows->n;
  for (PoiseInt i = 0; i < l->injected; i++) {
    PoiseInt row = l->row[i];
    if (row < 0 || row >= n)
      FAIL(POISE_ERR_ARG, "the injection of level %d: entry %lld is row %lld, and rank %d has %lld rows", k,
           (long long)i, (long long)row, PoiseRank(pc->ctx), (long long)n);
    if (entry[row])
      FAIL(POISE_ERR_ARG, "the injection of level %d: entries %lld and %lld are both row %lld of rank %d", k,
           (long long)entry[row] - 1, (long long)i, (long long)row, PoiseRank(pc->ctx));
    entry[row] = i + 1;
  }
  return POISE_OK;
}

static PoiseErr CheckInjection(PoisePC pc, int k)
{
  const MgLevel *l = &((Mg *)pc->data)->level[k];
  PoiseInt *entry;
  TRY(poiseAllocArray(pc->ctx, l->A->rows->n, sizeof *entry, "rows of an injection", &entry));
  PoiseErr e = CheckRows(pc, k, entry);
  poiseFree(pc->ctx, &entry);
  return e;
}

/* One that was made for rows that the level no longer has. */
static PoiseErr CheckPick(PoisePC pc, int k)
{
  const MgLevel *l = &((Mg *)pc->data)->level[k];
  const Layout *had = l->pick->cols, *has = l->A->rows;
  if (poiseLayoutSame(had, has)) return POISE_OK;
  FAIL(POISE_ERR_SIZE,
       "the injection of level %d is of %lld rows (%lld of rank %d), and the level now has %lld (%lld): call "
       "PoisePCMGSetInjection again",
       k, (long long)had->N, (long long)had->n, PoiseRank(pc->ctx), (long long)has->N, (long long)has->n);
}

static PoiseErr CheckTransfer(PoisePC pc, int k)
{
  const Mg *mg = pc->data;
  const MgLevel *l = &mg->level[k];
  if (l->injects) return l->pick ? CheckPick(pc, k) : CheckInjection(pc, k);
  if (l->P) return CheckInterpolation(pc, k);
  FAIL(POISE_ERR_STATE,
       "level %d of levels 0 to %d has no interpolation: call PoisePCMGSetInterpolation or "
       "PoisePCMGSetInjection",
       k, mg->count - 1);
}

static PoiseErr CheckCoarse(PoisePC pc, int k)
{
  const Mg *mg = pc->data;
  const MgLevel *l = &mg->level[k];
  PoiseMat A = mg->level[k - 1].given;
  if (A) {
    TRY(poiseMatCheckUsable(A));
    TRY(poiseMatCheckSquare(A));
    return CheckSizes(pc, k - 1, "operator", A, "rows", A->rows, "what leads to it",
                      l->injects ? l->pick->rows : l->P->cols);
  }
  if (!mg->galerkin)
    FAIL(POISE_ERR_STATE,
         "level %d of levels 0 to %d has no operator: call PoisePCMGSetOperator, or PoisePCMGSetGalerkin(pc, "
         "1)",
         k - 1, mg->count - 1);
  if (!poiseMatHolds(l->A))
    FAIL(POISE_ERR_UNSUPPORTED,
         "level %d has no operator, and none can be made, as that of level %d is of type %s: call "
         "PoisePCMGSetOperator",
         k - 1, k, l->A->type->name);
  return POISE_OK;
}

/* ---- injection ------------------------------------------------------------------------------- */

/* It as a matrix, whose row i has one entry, 1 at column row[i]. Collective; agrees. */
static PoiseErr MakePick(PoisePC pc, MgLevel *l)
{
  PoiseInt n = l->injected;
  const Layout *rows = l->A->rows;
  int64_t *ptr = NULL, *col = NULL;
  double *val = NULL;
  PoiseErr e = poiseAllocArray(pc->ctx, n + 1, sizeof *ptr, "injection", &ptr);
  if (!e) e = poiseAllocArray(pc->ctx, n, sizeof *col, "injection", &col);
  if (!e) e = poiseAllocArray(pc->ctx, n, sizeof *val, "injection", &val);
  for (PoiseInt i = 0; !e && i < n; i++) ptr[i + 1] = i + 1, col[i] = rows->begin + l->row[i], val[i] = 1;
  e = PoiseAgree(pc->ctx, e);
  const PoiseCSR csr = {.ptr64 = ptr, .col64 = col, .val = val};
  if (!e) e = PoiseMatCreateCSR(pc->ctx, n, rows->n, POISE_DECIDE, rows->N, &csr, POISE_COPY, &l->pick);
  poiseFree(pc->ctx, &ptr);
  poiseFree(pc->ctx, &col);
  poiseFree(pc->ctx, &val);
  return e;
}

static PoiseErr MakeIndex(PoisePC pc, MgLevel *l)
{
  int32_t *index;
  poiseBufferDestroy(&l->index);
  TRY(poiseBufferCreate(pc->ctx->device, (size_t)l->injected * sizeof *index, "rows of an injection",
                        &l->index));
  TRY(poiseBufferWrite(&l->index, HOST, &index));
  for (PoiseInt i = 0; i < l->injected; i++) index[i] = (int32_t)l->row[i];
  return POISE_OK;
}

static PoiseErr MakeInjection(PoisePC pc, MgLevel *l)
{
  if (l->pick) return POISE_OK;
  TRY(PoiseAgree(pc->ctx, MakeIndex(pc, l)));
  return MakePick(pc, l);
}

/* The rows of A that are injected. */
static PoiseErr PickRows(MgLevel *l)
{
  unsigned changed = poiseMatChanged(&l->seen_picked, l->A);
  bool can = l->injects && poiseMatHolds(l->A) && !l->A->csr.b;
  if (!can) PoiseMatDestroy(&l->picked);
  if (!can) return POISE_OK;
  if (l->picked && !(changed & (CHANGED_PATTERN | CHANGED_VALUES))) return POISE_OK;
  l->seen_picked = (Version){0};
  if (changed & CHANGED_PATTERN) PoiseMatDestroy(&l->picked);
  TRY(PoiseMatMatMult(l->pick, l->A, &l->picked));
  l->seen_picked = l->A->version;
  return POISE_OK;
}

/* ---- R A P ----------------------------------------------------------------------------------- */

/* *to = R A P. Where A is in blocks and P is not, by a copy of A in numbers. */
static PoiseErr Multiply(MgLevel *c, PoiseMat A, PoiseMat P, PoiseMat R)
{
  PoiseMat copy = NULL;
  PoiseErr e = POISE_OK;
  bool apart = A->csr.b && !P->csr.b;
  if (apart) e = PoiseMatDuplicate(A, 1, &copy);
  if (!e && apart) e = PoiseMatSetType(copy, "csr");
  if (!e && !R) e = PoiseMatPtAP(apart ? copy : A, P, &c->made);
  if (!e && R) e = PoiseMatMatMult(apart ? copy : A, P, &c->middle);
  if (!e && R) e = PoiseMatMatMult(R, c->middle, &c->made);
  PoiseMatDestroy(&copy);
  return e;
}

static PoiseErr Galerkin(MgLevel *l)
{
  MgLevel *c = l - 1;
  const Version none = {0};
  if (l->injects && !l->spread) TRY(PoiseMatTranspose(l->pick, &l->spread));
  PoiseMat P = l->injects ? l->spread : l->P, R = l->injects ? NULL : l->R;
  const Version now[] = {l->A->version, P->version, R ? R->version : none};
  unsigned changed = 0;
  for (int k = 0; k < 3; k++) changed |= poiseVersionChanged(&c->made_of[k], &now[k]);
  if (c->made && !(changed & (CHANGED_PATTERN | CHANGED_VALUES))) return POISE_OK;
  if (changed & CHANGED_PATTERN) ReleaseMade(c);
  for (int k = 0; k < 3; k++) c->made_of[k] = none;
  TRY(Multiply(c, l->A, P, R));
  c->made->asked.settled = true; /* options are not its */
  for (int k = 0; k < 3; k++) c->made_of[k] = now[k];
  return POISE_OK;
}

/* ---- operators ------------------------------------------------------------------------------- */

PoiseErr poiseMgUse(MgLevel *l, PoiseMat A)
{
  PoiseMat keep;
  if (l->A == A) return POISE_OK;
  TRY(poiseMatShare(A, &keep));
  PoiseMatDestroy(&l->A);
  l->A = keep;
  return POISE_OK;
}

PoiseErr poiseMgMakeOperators(PoisePC pc)
{
  Mg *mg = pc->data;
  TRY(poiseMgUse(poiseMgFinest(mg), poisePCSource(pc)));
  for (int k = mg->count - 1; k > 0; k--) {
    MgLevel *l = &mg->level[k], *c = l - 1;
    TRY(PoiseAgree(pc->ctx, CheckTransfer(pc, k)));
    if (l->injects) TRY(MakeInjection(pc, l));
    TRY(PoiseAgree(pc->ctx, CheckCoarse(pc, k)));
    TRY(PickRows(l));
    if (c->given)
      ReleaseMade(c);
    else
      TRY(Galerkin(l));
    TRY(poiseMgUse(c, c->given ? c->given : c->made));
  }
  return POISE_OK;
}

/* ---- what the cycle needs -------------------------------------------------------------------- */

/* A vector of the layout, if it is needed. Before it is written it is read where work is skipped. */
static PoiseErr MakeVector(Mg *mg, bool needed, Layout *rows, PoiseVec *v)
{
  double *p;
  if (needed ? *v && poiseLayoutSame((*v)->layout, rows) : !*v) return POISE_OK;
  mg->generation++;
  PoiseVecDestroy(v);
  if (!needed) return POISE_OK;
  TRY(poiseVecCreateLocal(rows, v));
  TRY(PoiseVecSet(*v, 0));
  return poiseVecWrite(*v, &p);
}

static PoiseErr MakeVectors(Mg *mg, int k)
{
  MgLevel *l = &mg->level[k];
  bool finest = k + 1 == mg->count, improves = poiseMgImproves(mg, k), sweeps = poiseKSPSweeps(l->ksp);
  TRY(MakeVector(mg, !finest, l->A->rows, &l->b));
  TRY(MakeVector(mg, !finest, l->A->rows, &l->x));
  TRY(MakeVector(mg, improves && !(sweeps && (l->picked || k == 0)), l->A->rows, &l->t));
  return MakeVector(mg, improves && !sweeps, l->A->rows, &l->e);
}

/* For products with P^T. */
static PoiseErr ReadyTransposed(MgLevel *l)
{
  PoiseMat P = l->P;
  if (!P || l->R || !poiseMatHolds(P)) return POISE_OK;
  TRY(poiseTransposedReady(P));
  return P->csr.halo ? poiseHaloReady(P->csr.halo) : POISE_OK;
}

/* A type without arrays may make what it needs in its first product with P^T. Collective. */
static PoiseErr WarmTransposed(MgLevel *l)
{
  PoiseMat P = l->P;
  if (!P || l->R || poiseMatHolds(P) || P->type->eager || !l->t) return POISE_OK;
  return P->type->mult_transpose(P, l->t, l[-1].b);
}

static PoiseErr ReadyMatrix(Mg *mg, PoiseMat M, Version *seen)
{
  if (!M) {
    mg->generation += seen->matrix != 0;
    *seen = (Version){0};
    return POISE_OK;
  }
  PoiseErr e = poiseMatReady(M);
  mg->generation += (poiseMatChanged(seen, M) & (CHANGED_PATTERN | CHANGED_SPACES | CHANGED_PRODUCT)) != 0;
  *seen = M->version;
  return e;
}

PoiseErr poiseMgReady(PoisePC pc)
{
  Mg *mg = pc->data;
  const int32_t *index;
  PoiseErr e = POISE_OK;
  for (int k = 0; k < mg->count; k++) {
    MgLevel *l = &mg->level[k];
    PoiseMat const used[] = {k > 0 || poiseMgImproves(mg, k) ? l->A : NULL, l->P, l->R, l->picked};
    for (int j = 0; j < 4; j++) {
      PoiseErr ready = ReadyMatrix(mg, used[j], &l->seen[j]);
      if (!e) e = ready;
    }
    if (!e) e = MakeVectors(mg, k);
    if (!e && l->injects) e = poiseBufferRead(&l->index, DEVICE, &index);
    if (!e) e = ReadyTransposed(l);
  }
  TRY(PoiseAgree(pc->ctx, e));
  for (int k = 1; k < mg->count; k++) TRY(WarmTransposed(&mg->level[k]));
  return POISE_OK;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static void AddMatrix(PoiseMat M, PoiseBytes *sum)
{
  PoiseBytes held = {0};
  if (M) (void)PoiseMatBytes(M, &held, NULL);
  sum->host += held.host, sum->device += held.device;
}

void poiseMgBytes(PoisePC pc, PoiseBytes *sum)
{
  const Mg *mg = pc->data;
  for (int k = 0; k < mg->count; k++) {
    const MgLevel *l = &mg->level[k];
    PoiseMat const mats[] = {l->pick, l->spread, l->picked, l->made, l->middle};
    PoiseVec const vecs[] = {l->b, l->x, l->t, l->e};
    for (int j = 0; j < 5; j++) AddMatrix(mats[j], sum);
    for (int j = 0; j < 4; j++)
      if (vecs[j]) poiseBufferAdd(&vecs[j]->data, sum);
    poiseBufferAdd(&l->index, sum);
    poiseKSPAddBytes(l->ksp, NULL, sum);
  }
}
