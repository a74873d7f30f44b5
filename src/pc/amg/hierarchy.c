/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The levels: made, or given new values. With new values and the same pattern the aggregates, the strong
  connections and all patterns are kept. The near null space, D, lambda, F and the values of P and of the
  Galerkin products are computed again by the same stages.
*/
#include "mat/assembly/assemble.h"
#include "mat/csr/entries.h"
#include "mat/csr/transpose.h"
#include "mat/mat_type.h"
#include "mat/multiply/multiply.h"
#include "mat/order/arrange.h"
#include "mat/types/bcsr_kernels.h"
#include "mat/types/csr_product.h"
#include "vec/vec_kernels.h"
#include "amg.h"

enum { DENSE_MOST = 4096 }; /* rows of a bottom that could not be made smaller, and is still solved */

/* ---- release --------------------------------------------------------------------------------- */

static void DestroyLevel(PoiseContext ctx, AmgLevel *l)
{
  PoiseVec *vectors[] = {&l->b, &l->x, &l->d, &l->r, &l->t, &l->r2, &l->x2};
  for (int k = 0; k < 7; k++) PoiseVecDestroy(vectors[k]);
  PoiseMatDestroy(&l->A);
  PoiseMatDestroy(&l->P);
  PoiseMatDestroy(&l->R);
  poiseBufferDestroy(&l->inverse);
  poiseBufferDestroy(&l->aggregate);
  poiseAmgGraphDestroy(ctx, &l->graph);
  *l = (AmgLevel){0};
}

void poiseAmgDestroy(PoisePC pc)
{
  Amg *amg = pc->data;
  for (int k = 0; k < AMG_LEVELS; k++) DestroyLevel(pc->ctx, &amg->level[k]);
  poiseAmgBottomDestroy(&amg->bottom);
  amg->count = 0;
  amg->given = amg->pattern = 0;
}

/* ---- one level's stages ---------------------------------------------------------------------- */

typedef struct Building {
  PoisePC pc;
  Amg *amg;
  bool fresh;     /* not only new values */
  AmgModes modes; /* of the present level */
  double theta, since;
} Building;

/* The stage ends when the device has done it. */
static PoiseErr Took(Building *s, int stage)
{
  TRY(poiseDeviceSync(s->pc->ctx->device));
  double now = PoiseTime();
  s->amg->seconds[stage] += now - s->since;
  s->since = now;
  return POISE_OK;
}

static PoiseErr Read(AmgLevel *l, AmgMatrix *m)
{
  *m = (AmgMatrix){.node = l->node, .nodes = l->A->rows->n / l->node};
  return poiseCsrView(&l->A->csr, &m->A);
}

/* A row of A that has no diagonal entry, or a NaN in it; of coarse levels such a row takes no part. */
static PoiseErr RefuseNode(const Building *s, const AmgLevel *l, int64_t node)
{
  long long first = poiseMatRowName(s->pc->P, node * l->node);
  if (l->node == 1)
    FAIL(POISE_ERR_NUMERIC, "the diagonal entry of row %lld is zero, missing or not finite", first);
  FAIL(POISE_ERR_NUMERIC, "the diagonal block of rows %lld to %lld is singular or not finite", first,
       first + l->node - 1);
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

static PoiseErr CheckLambda(const Building *s, int k, double lambda)
{
  int64_t row = 0;
  if (poiseFinite(lambda)) return POISE_OK;
  TRY(poiseMatFindNan(s->pc->P, &row));
  if (row < s->pc->P->rows->n)
    FAIL(POISE_ERR_NUMERIC, "row %lld has an entry that is not finite",
         (long long)poiseMatRowName(s->pc->P, row));
  FAIL(POISE_ERR_NUMERIC, "pc amg: the products of level %d are not finite: scale the matrix", k);
}

/* D^-1 of A's nodes, and lambda. With l1-jacobi the smoother has a D of its own, with lambda 1. */
static PoiseErr Diagonal(Building *s, int k, const AmgMatrix *m, double *own, double **d)
{
  AmgLevel *l = &s->amg->level[k];
  PoiseContext ctx = s->pc->ctx;
  bool l1 = s->amg->options.smoother == AMG_JACOBI;
  double *smoother;
  int64_t bad;
  TRY(OpenInverse(s, l, l1 ? 1 : l->node, &smoother));
  *d = l1 ? own : smoother;
  TRY(poiseAmgDiagonal(ctx, m, k == 0, *d, &bad));
  if (bad >= 0) return RefuseNode(s, l, bad);
  TRY(poiseAmgLambda(ctx, m, *d, &l->lambda));
  TRY(CheckLambda(s, k, l->lambda));
  if (l1) TRY(poiseAmgRowSums(ctx, m, smoother));
  return Took(s, STAGE_LAMBDA);
}

/* Strong connections and aggregates. Too few: *stalls. */
static PoiseErr Coarsen(Building *s, AmgLevel *l, const AmgMatrix *m, bool *stalls)
{
  const AmgOptions *o = &s->amg->options;
  PoiseContext ctx = s->pc->ctx;
  *stalls = false;
  if (!s->fresh) return POISE_OK;
  TRY(poiseAmgStrength(ctx, m, s->theta, &l->graph));
  TRY(Took(s, STAGE_STRENGTH));
  TRY(poiseAmgAggregate(ctx, &l->graph, o->aggregate_min, &l->aggregate, &l->aggregates, &l->members));
  poiseBufferDestroy(&l->graph.weight);
  if (l->graph.dropped == 0 || m->node > 1 || s->modes.count > 1) poiseAmgGraphDestroy(ctx, &l->graph);
  TRY(Took(s, STAGE_AGGREGATE));
  *stalls = l->aggregates == 0 || (double)l->aggregates * s->modes.count > 0.8 * (double)(m->nodes * m->node);
  return POISE_OK;
}

/* ---- P and R --------------------------------------------------------------------------------- */

static PoiseErr CreateP(Building *s, AmgLevel *l, const AmgInterpolation *p, const AmgMatrix *F)
{
  PoiseContext ctx = s->pc->ctx;
  int64_t rows = p->nodes * p->node, columns = p->aggregates * p->modes;
  Csr c = {0};
  PoiseErr e = poiseAmgPattern(ctx, p, F, &c);
  if (!e)
    e = poiseMatCreateTyped(ctx, p->side > 1 ? &poiseMatType_bcsr : &poiseMatType_csr, rows, columns, rows,
                            columns, &l->P);
  if (!e) l->P->block_size = p->side;
  if (!e) return poiseMatReplaceCsr(l->P, POISE_OK, &c);
  poiseCsrDestroy(ctx, &c);
  return e;
}

/* omega D_F^-1 for F, where F is not A. */
static PoiseErr Damping(Building *s, AmgLevel *l, const AmgFilter *f, const double *d, double *of_f,
                        const double **inverse, double *omega)
{
  int64_t bad;
  *inverse = d;
  l->filtered = l->lambda;
  if (f->val.dev) {
    *inverse = of_f;
    TRY(poiseAmgDiagonal(s->pc->ctx, &f->m, false, of_f, &bad));
    TRY(poiseAmgLambda(s->pc->ctx, &f->m, of_f, &l->filtered));
  }
  *omega = l->filtered > 0 ? 4 / (3 * l->filtered) : 0;
  return Took(s, STAGE_LAMBDA);
}

typedef struct Scratch { /* of a level's set-up */
  Buffer q, own, of_f;   /* T; D^-1 beside the smoother's; D_F^-1 */
  AmgFilter filter;
  AmgModes coarse;
} Scratch;

static PoiseErr Interpolate(Building *s, AmgLevel *l, const AmgMatrix *m, const double *d, Scratch *w)
{
  PoiseContext ctx = s->pc->ctx;
  Device *dev = ctx->device;
  bool smooth = s->amg->options.type == AMG_SMOOTHED;
  const double *inverse = NULL;
  double omega = 0, *of_f = NULL;
  int b = m->A.b ? (int)m->A.b : 1;
  AmgInterpolation p = {.side = s->modes.count % b ? 1 : b,
                        .node = l->node,
                        .modes = s->modes.count,
                        .nodes = m->nodes,
                        .aggregates = l->aggregates};
  TRY(poiseAmgTentative(ctx, &s->modes, l->node, l->aggregates, &l->aggregate, &w->q, &w->coarse));
  TRY(poiseBufferRead(&l->aggregate, DEVICE, &p.aggregate));
  TRY(poiseBufferRead(&w->q, DEVICE, &p.q));
  TRY(Took(s, STAGE_TENTATIVE));
  if (smooth) {
    TRY(poiseAmgFilter(ctx, m, &l->graph, &s->modes, &w->filter));
    if (w->filter.val.dev)
      TRY(poiseAmgMake(dev, m->nodes, sizeof *of_f, "diagonal of strong entries", &w->of_f, &of_f));
    TRY(Damping(s, l, &w->filter, d, of_f, &inverse, &omega));
  }
  const AmgMatrix *F = smooth ? &w->filter.m : NULL;
  if (s->fresh) TRY(CreateP(s, l, &p, F));
  TRY(poiseAmgInterpolate(ctx, &p, F, inverse, omega, &l->P->csr));
  l->P->state++;
  return Took(s, STAGE_INTERPOLATION);
}

/* ---- the Galerkin product -------------------------------------------------------------------- */

/* P^T A P. Where A is in blocks and P cannot be, by a copy of A in numbers. */
static PoiseErr Galerkin(Building *s, AmgLevel *l, AmgLevel *coarse)
{
  PoiseMat copy = NULL;
  PoiseErr e = POISE_OK;
  bool apart = l->A->csr.b && !l->P->csr.b;
  if (apart) e = PoiseMatDuplicate(l->A, 1, &copy);
  if (!e && apart) e = PoiseMatSetType(copy, "csr");
  if (!e) e = PoiseMatPtAP(apart ? copy : l->A, l->P, &coarse->A);
  PoiseMatDestroy(&copy);
  TRY(e);
  coarse->node = s->modes.count;
  return Took(s, STAGE_GALERKIN);
}

/* ---- R = P^T --------------------------------------------------------------------------------- */

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
  if (!e) e = poiseMatCreateTyped(P->ctx, P->type, P->cols->n, P->rows->n, P->cols->N, P->rows->N, &l->R);
  if (e) {
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
static PoiseErr Restrict(Building *s, AmgLevel *l, PoiseMat C, bool keeps)
{
  Transposed *t = poiseMultipliedByColumns(C->made.multiplied);
  const void *col, *now;
  if (!l->R) TRY(CreateR(l, t));
  TRY(poiseBufferRead(&l->R->csr.col, DEVICE, &col));
  TRY(Lend(&t->ptr, &l->R->csr.ptr));
  TRY(Lend(&t->row, &l->R->csr.col));
  TRY(poiseBufferRead(&l->R->csr.col, DEVICE, &now));
  if (now != col) s->pc->generation++;
  if (!keeps) TRY(GatherR(l, t));
  return Took(s, STAGE_INTERPOLATION);
}

/* ---- all levels ------------------------------------------------------------------------------ */

/* Level k, and the matrix of the next one. *last: there is none. */
static PoiseErr MakeLevel(Building *s, int k, Scratch *w, bool *last)
{
  Amg *amg = s->amg;
  const AmgOptions *o = &amg->options;
  AmgLevel *l = &amg->level[k];
  AmgMatrix m;
  double *d = NULL, *own = NULL;
  bool stalls, keeps = !s->fresh && o->refresh == AMG_INTERPOLATION;
  TRY(Read(l, &m));
  int64_t n = m.nodes * m.node;
  if (o->smoother == AMG_JACOBI)
    TRY(poiseAmgMake(s->pc->ctx->device, n * m.node, sizeof *own, "inverse diagonal of a level", &w->own,
                     &own));
  TRY(Diagonal(s, k, &m, own, &d));
  *last =
      s->fresh ? n <= o->coarse_size || k + 1 == (int)o->levels || k + 1 == AMG_LEVELS : k + 1 == amg->count;
  if (*last) {
    if (s->fresh) amg->ended = n > o->coarse_size ? "no more levels are allowed" : NULL;
    return POISE_OK;
  }
  TRY(Coarsen(s, l, &m, &stalls));
  if (stalls) {
    *last = true;
    amg->ended = l->aggregates ? "coarsening stalls" : "no node has a strong neighbour";
    return POISE_OK;
  }
  if (!keeps) TRY(Interpolate(s, l, &m, d, w));
  poiseBufferDestroy(&w->q);
  poiseBufferDestroy(&w->filter.val);
  TRY(Galerkin(s, l, &amg->level[k + 1]));
  TRY(Restrict(s, l, amg->level[k + 1].A, keeps));
  if (keeps) return POISE_OK;
  poiseBufferDestroy(&s->modes.b);
  s->modes = w->coarse;
  w->coarse.b = (Buffer){0};
  return POISE_OK;
}

/* The bottom is solved unless it is large or its solution impossible. */
static PoiseErr MakeBottom(Building *s)
{
  Amg *amg = s->amg;
  AmgMatrix m;
  AmgLevel *l = &amg->level[amg->count - 1];
  int64_t n = l->A->rows->n,
          most = amg->options.coarse_size > DENSE_MOST ? amg->options.coarse_size : DENSE_MOST;
  amg->dense = n <= most;
  amg->fallback = amg->dense ? NULL : "it is too large to be solved";
  if (!amg->dense) return POISE_OK;
  TRY(Read(l, &m));
  TRY(poiseAmgBottomSetUp(s->pc->ctx, &m, &amg->bottom, &amg->fallback));
  amg->dense = !amg->fallback;
  return Took(s, STAGE_BOTTOM);
}

static PoiseErr Build(Building *s)
{
  Amg *amg = s->amg;
  bool last = false;
  if (s->fresh) {
    TRY(poiseMatShare(s->pc->P, &amg->level[0].A));
    amg->level[0].node = s->pc->P->block_size;
  }
  TRY(poiseAmgModes(s->pc->P, amg->level[0].node, &s->modes));
  int k = 0;
  for (; !last; k++) {
    Scratch w = {0};
    PoiseErr e = MakeLevel(s, k, &w, &last);
    Buffer *all[] = {&w.q, &w.own, &w.of_f, &w.filter.val, &w.coarse.b};
    for (size_t b = 0; b < sizeof all / sizeof *all; b++) poiseBufferDestroy(all[b]);
    TRY(e);
    s->theta *= 0.5;
  }
  amg->count = k;
  return MakeBottom(s);
}

PoiseErr poiseAmgBuild(PoisePC pc)
{
  Amg *amg = pc->data;
  Device *dev = pc->ctx->device;
  Building s = {.pc = pc, .amg = amg, .theta = amg->options.threshold, .since = PoiseTime()};
  s.fresh = !amg->count || amg->given != pc->given || amg->pattern != pc->P->pattern ||
            amg->options.refresh == AMG_REFRESH_ALL ||
            memcmp(&amg->made, &amg->options, sizeof amg->made) != 0;
  if (s.fresh) {
    poiseAmgDestroy(pc);
    pc->generation++;
  }
  memset(amg->seconds, 0, sizeof amg->seconds);
  int64_t held = dev->most = dev->bytes;
  PoiseErr e = Build(&s);
  poiseBufferDestroy(&s.modes.b);
  if (!e) e = poiseAmgVectors(pc);
  if (e) {
    poiseAmgDestroy(pc);
    return e;
  }
  amg->given = pc->given;
  amg->pattern = pc->P->pattern;
  amg->made = amg->options;
  amg->refreshed = !s.fresh;
  amg->peak = dev->most - held;
  return POISE_OK;
}
