/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The levels: made, or given new values. With new values and the same pattern the aggregates, the strong
  connections and all patterns are kept. The near null space, D, lambda and the values of P and of the
  Galerkin products are computed again by the same stages.
*/
#include "mat/csr/find.h"
#include "mat/order/arrange.h"
#include "mat/product/ranks_plan.h"
#include "poise/mat_multiply.h"
#include "sys/options/options.h"
#include "aggregate.h"
#include "amg.h"
#include "blocks.h"
#include "bottom.h"
#include "diagonal.h"
#include "hierarchy.h"
#include "interpolation.h"
#include "inverses.h"
#include "lambda.h"
#include "mat/multiply/multiply.h"
#include "narrow.h"
#include "opposite.h"
#include "ranks.h"
#include "redundant.h"
#include "rows.h"
#include "scaling.h"
#include "stages.h"
#include "steps.h"
#include "strength.h"
#include "sweeps.h"
#include "tentative.h"
#include "transfer.h"
#include "vectors.h"

/* Rows of a bottom that must not be made smaller, and of one that could not be, and is still solved. */
enum { DENSE_STALLED = 1000, DENSE_ASKED = 20000 };
enum { HUB = 3 }; /* the row of a hub is so many times as long as the mean of its level */

/* ---- release --------------------------------------------------------------------------------- */

static void DestroyLevel(PoiseContext ctx, AmgLevel *l)
{
  poiseAmgVectorsDestroy(l);
  poiseAmgSingleDestroy(l);
  PoiseMatDestroy(&l->A);
  poiseAmgStepsRelease(ctx, l, true);
  PoiseMatDestroy(&l->P);
  PoiseMatDestroy(&l->R);
  PoiseMatDestroy(&l->away);
  PoiseMatDestroy(&l->lower);
  PoiseMatDestroy(&l->upper);
  poiseAmgSweepsDestroy(ctx, &l->sweeps);
  poiseBufferDestroy(&l->inverse);
  poiseBufferDestroy(&l->aggregate);
  poiseAmgMembersDestroy(&l->lists);
  poiseAmgGraphDestroy(ctx, &l->graph);
  poiseAmgGhostsDestroy(ctx, &l->ghosts);
  poiseAmgPlacesDestroy(ctx, &l->places);
  *l = (AmgLevel){0};
}

void poiseAmgDestroy(PoisePC pc)
{
  Amg *amg = pc->data;
  for (int k = 0; k < AMG_LEVELS; k++) DestroyLevel(pc->ctx, &amg->level[k]);
  poiseAmgRedundantDestroy(&amg->redundant);
  poiseAmgBottomDestroy(&amg->bottom);
  poiseBufferDestroy(&amg->range);
  poiseBufferDestroy(&amg->wide_range);
  amg->count = 0, amg->single = false;
  amg->most_columns = 0;
  amg->seen = (Version){0};
  amg->best = amg->latest = (AmgPace){0};
}

/* ---- one level's stages ---------------------------------------------------------------------- */

typedef struct Scratch {       /* of a level's set-up */
  Buffer bad, q, own, inverse; /* a flag of D^-1; T; D^-1 beside the smoother's; of what b is in aggregates */
  AmgModes near, coarse;       /* near null space with ghosts; of the next level */
  Buffer opposite, mean;       /* A^T in A's pattern; the symmetric part. Where A is not symmetric */
  PoiseMat Q;                  /* R^T, if it is not P */
  AmgScaled scaled;
  AmgMatrix like;  /* what lambda and strong connections are of, A or S A S; */
  const double *d; /* its D^-1 */
} Scratch;

/* All but the coarse near null space. */
static void ReleaseArrays(Scratch *w)
{
  Buffer *all[] = {&w->bad, &w->q, &w->own, &w->inverse, &w->near.b, &w->opposite, &w->mean};
  for (size_t b = 0; b < sizeof all / sizeof *all; b++) poiseBufferDestroy(all[b]);
  poiseAmgScaledDestroy(&w->scaled);
}

typedef struct Building {
  PoisePC pc;
  PoiseContext ctx; /* of the present level */
  Amg *amg;
  bool fresh;           /* not only new values */
  bool outgrown;        /* for these the smoother is not enough, as it was */
  bool looked;          /* constants were looked at */
  AmgModes modes, size; /* of the present level; size: of its diagonal entries, see OpenSizes */
  AmgStages stages;
} Building;

/* The end of a stage. mine: this rank's error so far. Agrees. */
static PoiseErr Took(Building *s, int stage, PoiseErr mine)
{
  return PoiseAgree(s->ctx, mine ? mine : poiseAmgStageEnds(s->ctx->device, &s->stages, stage));
}

static PoiseErr Read(PoiseMat A, int node, AmgGhosts *ghosts, AmgMatrix *m)
{
  *m = (AmgMatrix){.node = node, .nodes = A->rows->n / node, .row = A->rows->begin, .ghosts = ghosts};
  if (ghosts) {
    m->below = ghosts->below;
    ghosts->halo = ghosts->own ? ghosts->own : A->csr.halo;
  }
  TRY(poiseCsrView(&A->csr, &m->A));
  if (!ghosts) return POISE_OK;
  return ghosts->col.dev ? poiseBufferRead(&ghosts->col, DEVICE, &m->A.col) : POISE_OK;
}

/* A row of A that has no diagonal entry, or a NaN in it; of coarse levels such a row takes no part. */
static PoiseErr RefuseNode(const Building *s, int side, int64_t node)
{
  long long first = poiseMatRowName(s->pc->P, node * side);
  if (side == 1)
    FAIL(POISE_ERR_NUMERIC,
         "the diagonal entry of row %lld is zero, missing or not finite; if A is a saddle point, amg needs "
         "another matrix P, see docs/solvers.md#saddle-points",
         first);
  FAIL(POISE_ERR_NUMERIC, "the diagonal block of rows %lld to %lld is singular or not finite", first,
       first + side - 1);
}

static PoiseErr RefuseLevel(int k)
{
  FAIL(POISE_ERR_NUMERIC, "pc amg: the products of level %d are not finite: scale the matrix", k);
}

static PoiseErr OpenInverse(Building *s, AmgLevel *l, int side, double **d)
{
  size_t bytes = (size_t)l->A->rows->n * (size_t)side * sizeof **d;
  if (!l->inverse.dev || l->inverse.bytes != bytes) {
    poiseBufferDestroy(&l->inverse);
    TRY(poiseBufferCreate(s->pc->ctx->device, bytes, "inverse diagonal of a level", &l->inverse));
  }
  l->side = side;
  return poiseBufferWrite(&l->inverse, DEVICE, d);
}

/* An entry of A's rows here is not finite. */
static PoiseErr CheckEntries(const Building *s)
{
  PoiseMat A = s->pc->P;
  int64_t row = A->rows->n;
  TRY(poiseMatFindNan(A, &row));
  if (row == A->rows->n) return POISE_OK;
  FAIL(POISE_ERR_NUMERIC, "row %lld has an entry that is not finite", (long long)poiseMatRowName(A, row));
}

/* The same on all ranks of the level. */
static PoiseErr CheckLambda(const Building *s, int k, double lambda)
{
  if (poiseFinite(lambda)) return POISE_OK;
  if (k == 0) TRY(PoiseAgree(s->ctx, CheckEntries(s)));
  return RefuseLevel(k);
}

/* Of level 0, where nodes have one row, D^-1 has them. */
static PoiseErr OpenSizes(Building *s, int k, const AmgMatrix *m, double **size)
{
  AmgModes *of = &s->size;
  *size = NULL;
  if (k == 0 && m->node == 1) return POISE_OK;
  if (of->b.dev) return poiseBufferUpdate(&of->b, DEVICE, size);
  of->count = 1, of->n = m->nodes * m->node;
  return poiseAmgMake(s->ctx->device, of->n, sizeof **size, "sizes of diagonal entries", &of->b, size);
}

/* D^-1 of A's nodes. With l1-jacobi the smoother has a D of its own. Local. */
static PoiseErr Diagonal(Building *s, int k, const AmgMatrix *m, Scratch *w, double **d)
{
  AmgLevel *l = &s->amg->level[k];
  bool l1 = poiseAmgIsL1(&s->amg->way);
  double *smoother, *size;
  TRY(OpenInverse(s, l, l1 ? 1 : l->node, &smoother));
  TRY(OpenSizes(s, k, m, &size));
  *d = smoother;
  if (l1)
    TRY(poiseAmgMake(s->ctx->device, m->nodes * m->node * m->node, sizeof **d, "inverse diagonal of a level",
                     &w->own, d));
  TRY(poiseAmgDiagonal(s->ctx, m, k == 0, *d, size, &w->bad));
  return l1 ? poiseAmgRowSums(s->ctx, m, smoother, size) : POISE_OK;
}

static PoiseErr CheckDiagonal(Building *s, int k, const AmgMatrix *m, Scratch *w, const double *d)
{
  int64_t bad;
  TRY(poiseAmgDiagonalBad(s->ctx, m, d, &w->bad, &bad));
  if (bad < 0) return POISE_OK;
  return k == 0 ? RefuseNode(s, s->amg->level[k].node, bad) : RefuseLevel(k);
}

/* D^-1 of l1-jacobi by sums of rows of S A S. Local. */
static PoiseErr SumScaledRows(Building *s, AmgLevel *l, const AmgMatrix *m, const double *d, Scratch *w)
{
  double *smoother;
  if (!poiseAmgIsL1(&s->amg->way)) return POISE_OK;
  TRY(poiseBufferUpdate(&l->inverse, DEVICE, &smoother));
  TRY(poiseAmgRowSums(s->ctx, &w->like, smoother, NULL));
  for (int side = 0; side < 2; side++) TRY(poiseAmgScaleVector(s->ctx->device, m, d, &l->inverse));
  return POISE_OK;
}

/* lambda, and what it is of: A, or S A S. mine: this rank's error so far. The caller agrees. */
static PoiseErr Measure(Building *s, int k, PoiseErr mine, const AmgMatrix *m, const double *d, Scratch *w)
{
  AmgLevel *l = &s->amg->level[k];
  PoiseErr e = mine;
  w->like = *m, w->d = d;
  if (s->amg->scaled) {
    e = poiseAmgScale(s->ctx, e, m, d, &w->scaled);
    if (!e) e = poiseBufferRead(&w->scaled.val, DEVICE, &w->like.A.val);
    if (!e) e = poiseBufferRead(&w->scaled.inverse, DEVICE, &w->d);
    if (!e) e = SumScaledRows(s, l, m, d, w);
  }
  return poiseAmgLambda(s->ctx, e, &w->like, w->d, &l->lambda, &l->sums);
}

/* D^-1, and lambda. With l1-jacobi the smoother's is 1. mine: this rank's error so far. */
static PoiseErr Spectrum(Building *s, int k, PoiseErr mine, const AmgMatrix *m, Scratch *w, double **d)
{
  AmgLevel *l = &s->amg->level[k];
  PoiseErr e = mine ? mine : Diagonal(s, k, m, w, d);
  e = Measure(s, k, e, m, *d, w);
  TRY(Took(s, STAGE_LAMBDA, e ? e : CheckDiagonal(s, k, m, w, *d)));
  return CheckLambda(s, k, l->lambda);
}

/* Strong connections and aggregates. Too few: *ended says so. */
static PoiseErr Coarsen(Building *s, int k, const AmgMatrix *m, AmgEnd *ended)
{
  AmgLevel *l = &s->amg->level[k];
  PoiseContext ctx = s->ctx;
  PoiseErr e = poiseAmgStrength(ctx, m, s->pc->P->block_size, s->amg->options.threshold, &l->graph);
  TRY(Took(s, STAGE_STRENGTH, e));
  e = poiseAmgAggregate(ctx, &l->graph, s->amg->options.aggregate_min, &l->aggregate, &l->aggregates,
                        &l->members);
  poiseBufferDestroy(&l->graph.weight);
  poiseBufferDestroy(&l->graph.leaf);
  l->connections = l->graph.csr.nz;
  double all[] = {(double)l->aggregates, (double)l->graph.dropped, (double)m->A.nz, (double)m->nodes};
  TRY(poiseAgreeSum(ctx, e, all, 4));
  l->hub = (int64_t)(HUB * all[2] / all[3]);
  l->weak = all[1] > 0 && s->amg->options.type == AMG_SMOOTHED;
  if (!l->weak) poiseAmgGraphDestroy(ctx, &l->graph);
  if (poiseAmgMarks(m)) poiseCsrDestroy(ctx, &l->graph.csr);
  *ended = END_NONE;
  if (all[0] == 0)
    *ended = END_APART;
  else if (all[0] * s->modes.count > 0.8 * (double)l->A->rows->N)
    *ended = END_STALLS;
  if (!*ended && m->ghosts && s->amg->options.type == AMG_SMOOTHED)
    e = poiseAmgPlacesCreate(ctx, m, &l->aggregate, l->aggregates, &l->places);
  return Took(s, STAGE_AGGREGATE, e);
}

/* ---- interpolation --------------------------------------------------------------------------- */

/* Does interpolation stay where new values come? Not where R is made of A^T. */
static bool MayKeepP(const Amg *amg)
{
  return amg->options.refresh == AMG_INTERPOLATION && !amg->way.odd;
}

/* Rows of A that their diagonal holds. A coarse function that is one vector alone mixes nothing with them. */
static PoiseErr Hold(Building *s, const AmgMatrix *m, Scratch *w)
{
  AmgLevel *l = s->amg->level;
  bool inverse = !s->size.b.dev;
  if (m->node == 1 && s->modes.count == 1) return POISE_OK;
  return poiseAmgHold(s->ctx, m,
                      !inverse     ? &s->size.b
                      : w->own.dev ? &w->own
                                   : &l->inverse,
                      inverse, &s->modes);
}

/* T, also of ghost nodes, and the coarse near null space. */
static PoiseErr Tentative(Building *s, AmgLevel *l, const AmgMatrix *m, Scratch *w)
{
  PoiseErr e = l == s->amg->level ? Hold(s, m, w) : POISE_OK;
  TRY(PoiseAgree(s->ctx, e));
  e = poiseAmgTentative(s->ctx, &s->modes, m, l->aggregates, &l->aggregate, &l->lists, &w->q, &w->coarse);
  if (s->amg->options.refresh == AMG_REFRESH_ALL || MayKeepP(s->amg)) poiseAmgMembersDestroy(&l->lists);
  if (l->smoothed) e = poiseAmgFillGhosts(s->ctx, m, e, (int64_t)m->node * s->modes.count, &w->q);
  return Took(s, STAGE_TENTATIVE, e);
}

/* The near null space with ghosts. The caller agrees. */
static PoiseErr FillModes(Building *s, const AmgMatrix *m, Scratch *w)
{
  int64_t width = (int64_t)m->node * s->modes.count;
  const double *own;
  double *all;
  w->near.count = s->modes.count, w->near.n = poiseAmgAllNodes(m) * m->node;
  PoiseErr e = poiseBufferRead(&s->modes.b, DEVICE, &own);
  if (!e)
    e = poiseAmgMake(s->ctx->device, poiseAmgAllNodes(m) * width, sizeof *all, "near null space with ghosts",
                     &w->near.b, &all);
  if (!e)
    e = poiseDeviceCopy(s->ctx->device, all, own, (size_t)(m->nodes * width) * sizeof *all, COPY_ON_DEVICE);
  return poiseAmgFillGhosts(s->ctx, m, e, width, &w->near.b);
}

/* What smooths T. Local. */
static PoiseErr ReadSmoothing(Building *s, AmgLevel *l, const AmgMatrix *m, const double *d, Scratch *w,
                              AmgInterpolation *p)
{
  p->smooth = 1;
  p->A = *m;
  p->d = d;
  p->omega = l->lambda > 0 ? 4 / (3 * l->lambda) : 0;
  if (!l->weak) return POISE_OK;
  p->hub = l->hub;
  if (l->graph.csr.ptr.dev) TRY(poiseCsrPattern(&l->graph.csr, &p->strong));
  if (l->graph.kept.dev) TRY(poiseBufferRead(&l->graph.kept, DEVICE, &p->kept));
  TRY(poiseBufferRead(m->ghosts ? &w->near.b : &s->modes.b, DEVICE, &p->b));
  return poiseAmgExtend(s->ctx, l->aggregates, &w->coarse, &w->inverse, &p->x);
}

/* P's pattern: not smoothed where that would fill the next level. */
static PoiseErr CreateP(Building *s, AmgLevel *l, AmgInterpolation *p)
{
  bool fills;
  TRY(poiseAmgCreateP(s->ctx, l, p, &fills));
  if (!fills) return POISE_OK;
  l->smoothed = l->weak = false;
  poiseAmgGraphDestroy(s->ctx, &l->graph);
  poiseAmgPlacesDestroy(s->ctx, &l->places);
  p->smooth = 0, p->below = 0;
  p->A = (AmgMatrix){0};
  p->strong = (CsrView){0};
  p->kept = NULL;
  p->hub = 0;
  TRY(PoiseAgree(s->ctx, poiseBufferRead(&l->aggregate, DEVICE, &p->aggregate)));
  return poiseAmgCreateP(s->ctx, l, p, &fills);
}

/* R^T, by the entries of A^T: it has P's pattern. */
static PoiseErr InterpolateOpposite(Building *s, AmgLevel *l, AmgInterpolation p, Scratch *w)
{
  p.turned = 1;
  PoiseErr e = poiseBufferRead(&w->opposite, DEVICE, &p.A.A.val);
  TRY(PoiseAgree(s->ctx, e));
  TRY(PoiseMatDuplicate(l->P, 0, &w->Q));
  return poiseAmgFillP(s->ctx, l, w->Q, &p);
}

/* What more steps than one make of P. Collective; agrees. */
static PoiseErr Steps(Building *s, AmgLevel *l, const AmgInterpolation *p)
{
  const AmgOptions *o = &s->amg->options;
  TRY(s->fresh ? poiseAmgSteps(s->ctx, l, p, (int)o->interpolation_degree)
               : poiseAmgStepsAgain(s->ctx, l, p));
  poiseAmgStepsRelease(s->ctx, l, o->refresh == AMG_REFRESH_ALL || MayKeepP(s->amg));
  return POISE_OK;
}

static PoiseErr Interpolate(Building *s, AmgLevel *l, const AmgMatrix *m, const double *d, Scratch *w)
{
  int b = m->A.b ? (int)m->A.b : 1;
  AmgInterpolation p = {.side = s->modes.count % b ? 1 : b,
                        .node = l->node,
                        .modes = s->modes.count,
                        .nodes = m->nodes,
                        .aggregates = l->aggregates,
                        .below = l->places.below};
  if (s->fresh) l->smoothed = s->amg->options.type == AMG_SMOOTHED;
  TRY(Tentative(s, l, m, w));
  Buffer *places = l->places.place.dev ? &l->places.place : &l->aggregate;
  PoiseErr e = l->smoothed && l->weak && m->ghosts ? FillModes(s, m, w) : POISE_OK;
  if (!e) e = poiseBufferRead(places, DEVICE, &p.aggregate);
  if (!e) e = poiseBufferRead(&w->q, DEVICE, &p.q);
  if (!e && l->smoothed) e = ReadSmoothing(s, l, m, d, w, &p);
  TRY(PoiseAgree(s->ctx, e));
  if (s->fresh) TRY(CreateP(s, l, &p));
  e = poiseAmgFillP(s->ctx, l, poiseAmgFirst(l), &p);
  if (l->smoothed && (s->amg->way.odd || s->amg->options.interpolation_degree > 1)) {
    TRY(PoiseAgree(s->ctx, e));
    e = s->amg->way.odd ? InterpolateOpposite(s, l, p, w) : Steps(s, l, &p);
  }
  return Took(s, STAGE_INTERPOLATION, e);
}

/* ---- the Galerkin product -------------------------------------------------------------------- */

/* Where the coarse matrix of level k is, with rows on all its ranks. */
static PoiseMat *Coarse(const Building *s, int k)
{
  Amg *amg = s->amg;
  return poiseAmgIsRedundant(amg, k + 1) ? &amg->redundant.A : &amg->level[k + 1].A;
}

/* Q^T A P. Where A is in blocks and P cannot be, by a copy of A in numbers. */
static PoiseErr Galerkin(Building *s, int k, PoiseMat Q)
{
  AmgLevel *l = &s->amg->level[k];
  PoiseMat copy = NULL;
  PoiseErr e = POISE_OK;
  bool apart = l->A->csr.b && !l->P->csr.b;
  if (apart) e = PoiseMatDuplicate(l->A, 1, &copy);
  if (!e && apart) e = PoiseMatSetType(copy, "csr");
  if (!e) e = poiseMatQtAP(apart ? copy : l->A, l->P, Q, Coarse(s, k));
  PoiseMatDestroy(&copy);
  TRY(e);
  l[1].node = s->modes.count;
  return Took(s, STAGE_GALERKIN, POISE_OK);
}

/* ---- all levels ------------------------------------------------------------------------------ */

/* Is interpolation kept, and with it near null spaces? */
static bool KeepsP(const Building *s)
{
  return !s->fresh && MayKeepP(s->amg);
}

/* Rows of a bottom that is solved, if it must be as large as that. */
static int64_t DenseMost(const Amg *amg)
{
  return poiseAmgSolved(&amg->options) > AMG_DENSE_MOST ? poiseAmgSolved(&amg->options) : AMG_DENSE_MOST;
}

/* Is level k the last one? */
static bool IsLast(const Building *s, int k)
{
  const AmgOptions *o = &s->amg->options;
  if (!s->fresh) return k + 1 == s->amg->count;
  int64_t most = k == 0 ? poiseAmgSolved(o) : s->amg->solved;
  return s->amg->level[k].A->rows->N <= most || k + 1 == (int)o->levels || k + 1 == AMG_LEVELS;
}

/* Do the other entries of each row add up to at most 0.9 of its diagonal entry? Then all eigenvalues of
   D^-1 A are from 0.1 to 1.9, and the smoother costs less than levels. */
static bool IsDominated(const AmgLevel *l)
{
  return l->sums <= 1.9;
}

/* Is there one level, as the smoother alone is enough? */
static bool IsAlone(const Amg *amg)
{
  return amg->ended == END_DOMINATED || amg->ended == END_MASS;
}

/* Are constants, without another near null space, far from that of A? Where sums of rows are 2, as of
   M-matrices, they are not; nor where most rows cancel, but for boundaries: a row of the 7-point Laplacian
   keeps 1/11 beside one. If so, is A badly scaled? */
static PoiseErr AreFar(Building *s, const AmgMatrix *m, const double *d, bool *far)
{
  const double close = 2 * (1 + 1e-12), boundary = 0.1, nearer = 0.9;
  Amg *amg = s->amg;
  const AmgLevel *l = &amg->level[0];
  const double *b;
  AmgConstants are;
  *far = m->node == 1 && s->pc->P->near.n == 0 && l->sums > close && !KeepsP(s);
  if (!*far) return POISE_OK;
  TRY(PoiseAgree(s->ctx, poiseBufferRead(&s->modes.b, DEVICE, &b)));
  TRY(poiseAmgIsFar(s->ctx, m, d, b, (double)l->A->rows->N, l->lambda, far));
  if (!*far) return POISE_OK;
  TRY(poiseAmgConstants(s->ctx, m, d, &are));
  *far = are.one > boundary;
  amg->scaled = *far && !amg->way.odd && are.scaled < nearer * are.one;
  return POISE_OK;
}

/* Where A is badly scaled, lambda again. */
static PoiseErr MeasureScaled(Building *s, const AmgMatrix *m, const double *d, Scratch *w)
{
  if (!s->amg->scaled) return POISE_OK;
  TRY(PoiseAgree(s->ctx, Measure(s, 0, POISE_OK, m, d, w)));
  return CheckLambda(s, 0, s->amg->level[0].lambda);
}

/* The near null space: the smoother's steps for A b = 0. *left: see poiseAmgRelax. */
static PoiseErr Relax(Building *s, const AmgMatrix *m, const double *d, Scratch *w, double *left)
{
  Amg *amg = s->amg;
  const AmgLevel *l = &amg->level[0];
  double rows = (double)l->A->rows->N;
  TRY(poiseAmgRelax(s->ctx, &w->like, w->d, &s->modes.b, rows, l->lambda, !amg->way.odd, left));
  if (!amg->scaled) return POISE_OK;
  return PoiseAgree(s->ctx, poiseAmgScaleVector(s->ctx->device, m, d, &s->modes.b));
}

/* Is the smoother of level 0 enough, and why? Coarse levels are for errors like constants. If it does not
   remove these, it makes them a near null space. */
static PoiseErr FindAlone(Building *s, const AmgMatrix *m, const double *d, Scratch *w, AmgEnd *why)
{
  const double enough = 0.05;
  const AmgLevel *l = &s->amg->level[0];
  double left;
  bool far;
  *why = IsDominated(l) ? END_DOMINATED : END_NONE;
  if (*why) return POISE_OK;
  TRY(AreFar(s, m, d, &far));
  if (!far) return POISE_OK;
  TRY(MeasureScaled(s, m, d, w));
  if (IsDominated(l)) *why = END_DOMINATED;
  if (*why) return POISE_OK;
  TRY(Relax(s, m, d, w, &left));
  s->amg->relaxed = left <= 1 && !s->amg->way.odd;
  if (left <= enough) *why = END_MASS;
  return POISE_OK;
}

/* Before levels are made. With new values nothing is chosen again but whether the smoother is enough. */
static PoiseErr LookAtConstants(Building *s, const AmgMatrix *m, const double *d, Scratch *w, bool last,
                                AmgEnd *why)
{
  Amg *amg = s->amg;
  double left;
  *why = END_NONE;
  if (s->looked) return POISE_OK;
  s->looked = true;
  if (s->fresh ? !last : IsAlone(amg)) return FindAlone(s, m, d, w, why);
  return (amg->relaxed || amg->scaled) && !KeepsP(s) ? Relax(s, m, d, w, &left) : POISE_OK;
}

/* What interpolation was made of, before the product takes the most memory. */
static void ReleaseUsed(Building *s, Scratch *w)
{
  ReleaseArrays(w);
  poiseBufferDestroy(&s->modes.b);
}

/* Of an A that is not symmetric: A^T for R, and the symmetric part, by which nodes are connected. */
static PoiseErr Halves(Building *s, const AmgLevel *l, Scratch *w, AmgMatrix *symmetric)
{
  *symmetric = w->like;
  if (!s->amg->way.odd || !(s->fresh || l->smoothed)) return POISE_OK;
  PoiseErr e = poiseAmgOpposite(s->ctx, &w->like, &w->opposite, &w->mean);
  if (!e) e = poiseBufferRead(&w->mean, DEVICE, &symmetric->A.val);
  return PoiseAgree(s->ctx, e);
}

/* Level k, and the matrix of the next one. *ended: there is none, and why, if it could be smaller. */
static PoiseErr MakeLevel(Building *s, int k, Scratch *w, bool *last, AmgEnd *ended)
{
  AmgLevel *l = &s->amg->level[k];
  AmgMatrix m, symmetric;
  double *d = NULL;
  bool keeps = KeepsP(s);
  AmgEnd alone = END_NONE;
  if (s->fresh && PoiseSize(s->ctx) > 1 && !l->ghosts) TRY(poiseAmgGhostsCreate(l->A, l->node, &l->ghosts));
  PoiseErr e = Read(l->A, l->node, l->ghosts, &m);
  TRY(Spectrum(s, k, e, &m, w, &d));
  *last = IsLast(s, k);
  *ended = *last && l->A->rows->N > poiseAmgSolved(&s->amg->options) ? END_LEVELS : END_NONE;
  if (k == 0) TRY(LookAtConstants(s, &m, d, w, *last, &alone));
  if (alone) *ended = s->amg->ended = alone;
  s->outgrown = !s->fresh && k == 0 && IsAlone(s->amg) && !alone;
  if (!*last && !*ended) TRY(Halves(s, l, w, &symmetric));
  if (s->fresh && !*last && !*ended) TRY(Coarsen(s, k, &symmetric, ended));
  *last = *last || *ended;
  if (*last) return POISE_OK;
  if (!keeps) TRY(Interpolate(s, l, &m, d, w));
  ReleaseUsed(s, w);
  TRY(Galerkin(s, k, w->Q));
  e = poiseAmgMakeR(s->pc, l, w->Q ? w->Q : l->P, *Coarse(s, k), keeps);
  PoiseMatDestroy(&w->Q);
  if (!e) e = poiseAmgCoarseSizes(l, &s->size);
  TRY(Took(s, STAGE_INTERPOLATION, e));
  if (keeps) return POISE_OK;
  s->modes = w->coarse;
  w->coarse.b = (Buffer){0};
  return POISE_OK;
}

/* ---- levels that every rank holds ------------------------------------------------------------ */

/* What names single rows is looked at while these are on their ranks. */
static PoiseErr CheckRows(Building *s, PoiseMat A, int node)
{
  AmgMatrix m;
  Buffer inverse = {0}, flag = {0};
  double *d;
  int64_t bad = -1;
  TRY(Read(A, node, NULL, &m));
  PoiseErr e = poiseAmgMake(s->ctx->device, m.nodes * node * node, sizeof *d, "inverse diagonal of a level",
                            &inverse, &d);
  if (!e) e = poiseAmgDiagonal(s->ctx, &m, true, d, NULL, &flag);
  if (!e) e = poiseAmgDiagonalBad(s->ctx, &m, d, &flag, &bad);
  poiseBufferDestroy(&inverse);
  poiseBufferDestroy(&flag);
  if (!e && bad >= 0) e = RefuseNode(s, node, bad);
  return e ? e : CheckEntries(s);
}

/* Do exchanges for level k take longer than the other ranks save? Set-up moves about as many bytes as the
   cycles of a solve do. On all ranks alike; collective. */
static PoiseErr IsRepeated(const Building *s, int k, bool *yes)
{
  PoiseMat A = s->amg->level[k].A;
  const double others = 10; /* vectors, beside those of the product */
  int ranks = PoiseSize(s->ctx);
  double bytes = ranks * (poiseMatTraffic(A) + 8 * others * (double)A->rows->n);
  int64_t no = !poiseRanksRepeat(&s->ctx->device->model, 2 * bytes, ranks, s->ctx->link != NULL);
  TRY(poiseCommMaxInt(s->ctx->comm, &no, 1));
  *yes = !no;
  return POISE_OK;
}

/* Does every rank hold level k, and it is the first? Collective */
static PoiseErr IsRedundant(const Building *s, int k, bool *yes)
{
  *yes = false;
  if (PoiseSize(s->ctx) == 1) return POISE_OK;
  *yes = poiseAmgIsRedundant(s->amg, k);
  if (!s->fresh) return POISE_OK;
  int64_t n = s->amg->level[k].A->rows->N;
  *yes = n <= poiseAmgRedundantMost(&s->amg->options) || (IsLast(s, k) && n <= DenseMost(s->amg));
  return *yes || k == 0 || s->amg->options.redundant_size >= 0 ? POISE_OK : IsRepeated(s, k, yes);
}

/* From level k on each rank goes on alone. */
static PoiseErr MakeRedundant(Building *s, int k)
{
  AmgRedundant *r = &s->amg->redundant;
  AmgLevel *l = &s->amg->level[k];
  int node = l->node;
  if (k == 0) TRY(PoiseAgree(s->ctx, CheckRows(s, s->pc->P, node)));
  if (s->fresh) {
    r->A = l->A;
    r->level = k;
    l->A = NULL;
    DestroyLevel(s->ctx, l);
    l->node = node;
    TRY(poiseAmgRedundantCreate(r, &l->A));
  }
  AmgModes *const of[AMG_OF_ROWS] = {KeepsP(s) ? NULL : &s->modes, s->size.b.dev ? &s->size : NULL};
  TRY(Took(s, STAGE_GATHER, poiseAmgRedundantNumbers(r, l->A, of)));
  s->ctx = poiseContextSelf(s->pc->ctx);
  return POISE_OK;
}

/* ---- all levels ------------------------------------------------------------------------------ */

/* Where coarsening within ranks stalls, each rank tries by itself, if it could solve the level. */
static PoiseErr NextLevel(Building *s, int k, Scratch *w, bool *last)
{
  AmgEnd ended;
  bool redundant;
  TRY(IsRedundant(s, k, &redundant));
  if (redundant) TRY(MakeRedundant(s, k));
  TRY(MakeLevel(s, k, w, last, &ended));
  bool stalls = s->fresh && ended && ended != END_DOMINATED && ended != END_MASS;
  if (stalls && PoiseSize(s->ctx) > 1 && s->amg->level[k].A->rows->N <= DenseMost(s->amg)) {
    TRY(MakeRedundant(s, k));
    ReleaseArrays(w);
    TRY(MakeLevel(s, k, w, last, &ended));
  }
  bool small = k > 0 && s->amg->level[k].A->rows->N <= poiseAmgSolved(&s->amg->options);
  if (s->fresh) s->amg->ended = small ? END_NONE : ended;
  return POISE_OK;
}

/* Is the bottom to be solved? Where coarsening has ended by itself that soon costs more than it saves. */
static bool IsSmall(const Amg *amg, int64_t rows)
{
  if (rows <= poiseAmgSolved(&amg->options)) return rows <= DENSE_ASKED || poiseAmgBottomIsSparse(rows);
  if (IsAlone(amg)) return false;
  return rows <= (amg->ended == END_LEVELS ? AMG_DENSE_MOST : DENSE_STALLED);
}

/*
  Where no coarse level could help, the smoother does it alone: its polynomial is then the best one for the
  spectrum of D^-1 A. Sums of rows bound that from both sides. Where the entries of a row have one sign, as in
  a mass matrix, its lower end is not known, but seldom less than 1/6 of lambda.
*/
static double LowEnd(const Amg *amg, const AmgLevel *l)
{
  const double least = 0.05, usual = 1.0 / 6, most = 0.9;
  if (amg->dense || !(IsAlone(amg) || amg->ended == END_APART)) return 0;
  double bound = fmax((2 - l->sums) / l->sums, amg->ended == END_DOMINATED ? least : usual);
  return fmin(most, bound);
}

/* The bottom is solved unless it is large or its solution impossible. */
static PoiseErr MakeBottom(Building *s)
{
  Amg *amg = s->amg;
  AmgMatrix m;
  AmgLevel *l = &amg->level[amg->count - 1];
  amg->dense = IsSmall(amg, l->A->rows->N);
  amg->fallback = amg->dense ? NULL : "it is too large to be solved";
  amg->low = LowEnd(amg, l);
  if (!amg->dense) return POISE_OK;
  if (poiseAmgBottomIsSparse(l->A->rows->N)) {
    TRY(poiseAmgBottomFactor(l->A, &amg->bottom, &amg->fallback));
    amg->dense = !amg->fallback;
    return Took(s, STAGE_BOTTOM, POISE_OK);
  }
  AmgKnown known = {NULL, NULL, NULL};
  TRY(Read(l->A, l->node, NULL, &m));
  if (s->size.b.dev) TRY(poiseBufferRead(&s->size.b, DEVICE, &known.size));
  if (l->node == 1 && s->modes.count == 1 && !KeepsP(s) && !amg->scaled && !amg->relaxed) {
    TRY(poiseBufferRead(&l->inverse, DEVICE, &known.d));
    TRY(poiseBufferRead(&s->modes.b, DEVICE, &known.b));
  }
  TRY(poiseAmgBottomSetUp(s->ctx, &m, &known, &amg->bottom, &amg->fallback));
  amg->dense = !amg->fallback;
  amg->low = LowEnd(amg, l);
  return Took(s, STAGE_BOTTOM, POISE_OK);
}

/* What smooths in place of D^-1, on all levels but the last. */
static PoiseErr MakeInverses(Building *s)
{
  Amg *amg = s->amg;
  bool sweeps = amg->way.smoother == AMG_SOR;
  if (!sweeps && amg->way.smoother != AMG_ISAI) return POISE_OK;
  for (int k = 0; k + 1 < amg->count && sweeps; k++)
    TRY(poiseAmgSweepsMake(poiseAmgContext(s->pc, k), &amg->level[k], k == 0));
  for (int k = 0; k + 1 < amg->count && !sweeps; k++) {
    PoiseErr e = poiseAmgInverses(poiseAmgContext(s->pc, k), &amg->level[k], amg->way.odd);
    TRY(e ? e : poiseFinite(amg->level[k].largest) ? POISE_OK : RefuseLevel(k));
  }
  return Took(s, STAGE_INVERSES, POISE_OK);
}

/* More steps than one smooth by entries of A, each of a node. */
static PoiseErr CheckSteps(const Building *s)
{
  const AmgOptions *o = &s->amg->options;
  int degree = (int)o->interpolation_degree, node = s->amg->level[0].node;
  if (degree == 1 || o->type != AMG_SMOOTHED || (node == 1 && s->modes.count == 1)) return POISE_OK;
  FAIL(POISE_ERR_UNSUPPORTED,
       "%s %d: only 1 where A has %d rows a node and %d vectors as near null space, as steps of a higher one "
       "need nodes of one row and one vector",
       poiseOptionsName(s->pc->ctx, s->pc->prefix, "pc_amg_interpolation_degree"), degree, node,
       s->modes.count);
}

/* Rows of a coarse level that is solved. The inverse takes half their cube of multiply-adds, and set-up some
   hundreds for each number of A: 20 are small beside these. */
static PoiseErr ChooseSolved(Building *s)
{
  const double each = 20;
  PoiseInt numbers;
  s->amg->solved = poiseAmgSolved(&s->amg->options);
  if (s->amg->options.coarse_size) return POISE_OK;
  TRY(PoiseMatNonzeros(s->pc->P, &numbers));
  s->amg->solved = (int64_t)fmin((double)s->amg->solved, cbrt(2 * each * (double)numbers));
  return POISE_OK;
}

/* What A is, and so how a cycle works. */
static PoiseErr Choose(Building *s)
{
  AmgMatrix m = {0};
  AmgLevel *l = &s->amg->level[0];
  bool odd;
  if (PoiseSize(s->ctx) > 1) TRY(poiseAmgGhostsCreate(l->A, l->node, &l->ghosts));
  TRY(poiseAmgIsOdd(s->ctx, Read(l->A, l->node, l->ghosts, &m), &m, &odd));
  s->amg->way = poiseAmgWay(&s->amg->options, odd);
  return POISE_OK;
}

static PoiseErr Build(Building *s)
{
  Amg *amg = s->amg;
  bool last = false;
  s->looked = false;
  if (s->fresh || IsAlone(amg)) amg->scaled = amg->relaxed = false;
  if (s->fresh) {
    int modes = s->pc->P->near.n ? s->pc->P->near.n : s->pc->P->block_size;
    TRY(poiseAmgBlocksCreate(s->pc->P, modes, amg->options.smoother == AMG_ISAI, &amg->level[0].A));
    amg->level[0].node = s->pc->P->block_size;
    TRY(Choose(s));
    TRY(ChooseSolved(s));
  } else {
    PoiseMat A = poiseAmgIsRedundant(amg, 0) ? amg->redundant.A : amg->level[0].A;
    TRY(PoiseAgree(s->ctx, poiseAmgBlocksNumbers(s->pc->P, A)));
  }
  TRY(PoiseAgree(s->ctx, poiseAmgModes(s->pc->P, amg->level[0].node, &s->modes)));
  TRY(CheckSteps(s));
  int k = 0;
  for (; !last; k++) {
    Scratch w = {0};
    PoiseErr e = NextLevel(s, k, &w, &last);
    ReleaseArrays(&w);
    poiseBufferDestroy(&w.coarse.b);
    PoiseMatDestroy(&w.Q);
    TRY(e);
  }
  amg->count = k;
  return MakeBottom(s);
}

static void Forget(Building *s)
{
  s->fresh = true;
  poiseAmgDestroy(s->pc);
  s->pc->generation++;
}

/* The levels. Where the smoother was enough, and is not for new values, they are made anew. */
static PoiseErr BuildLevels(Building *s)
{
  TRY(PoiseAgree(s->pc->ctx, Build(s)));
  if (s->outgrown) {
    Forget(s);
    s->ctx = s->pc->ctx;
    poiseBufferDestroy(&s->modes.b);
    poiseBufferDestroy(&s->size.b);
    TRY(PoiseAgree(s->pc->ctx, Build(s)));
  }
  return PoiseAgree(s->pc->ctx, MakeInverses(s)); /* once all ranks have all levels */
}

/* What launches of a cycle hold beside addresses. A loop that was recorded keeps it as it was then. */
typedef struct Recorded {
  double value[AMG_LEVELS + 3];
} Recorded;

static Recorded RecordedOf(const Amg *amg)
{
  Recorded r = {{amg->dense, amg->bottom.lu, amg->low}};
  for (int k = 0; k < amg->count; k++) r.value[k + 3] = amg->level[k].single.scale;
  return r;
}

PoiseErr poiseAmgBuild(PoisePC pc)
{
  Amg *amg = pc->data;
  Device *dev = pc->ctx->device;
  Building s = {.pc = pc, .ctx = pc->ctx, .amg = amg};
  bool fresh = !amg->count || poiseMatChanged(&amg->seen, pc->P) & (CHANGED_PATTERN | CHANGED_NEAR) ||
               amg->options.refresh == AMG_REFRESH_ALL || poiseAmgIsStale(amg) ||
               memcmp(&amg->made, &amg->options, sizeof amg->made) != 0;
  if (fresh) Forget(&s);
  int64_t held = dev->most = dev->bytes;
  const Recorded was = RecordedOf(amg);
  amg->moved = 0;
  PoiseErr e = PoiseAgree(pc->ctx, poiseAmgStagesBegin(dev, &s.stages));
  if (!e) e = BuildLevels(&s);
  poiseBufferDestroy(&s.modes.b);
  poiseBufferDestroy(&s.size.b);
  s.ctx = pc->ctx;
  if (!e) e = poiseAmgVectors(pc);
  if (!e) e = Took(&s, STAGE_READY, POISE_OK);
  if (!e) e = PoiseAgree(pc->ctx, poiseAmgStagesRead(dev, &s.stages, amg->seconds));
  poiseBufferDestroy(&s.stages.times);
  const Recorded now = RecordedOf(amg);
  amg->moved |= memcmp(&was, &now, sizeof now) != 0;
  if (!e) e = poiseCommMaxInt(pc->ctx->comm, &amg->moved, 1); /* ranks record their loops together */
  if (e) {
    poiseAmgDestroy(pc);
    return e;
  }
  pc->generation += amg->moved;
  amg->seen = pc->P->version;
  amg->made = amg->options;
  amg->refreshed = !s.fresh;
  amg->peak = dev->most - held;
  return POISE_OK;
}
