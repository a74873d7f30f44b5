/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The cycle: z = M r from a zero guess, with the same smoother before and after the correction, so that M is
  symmetric, and positive definite, where A is.

  The smoother is the Chebyshev iteration of the fourth kind with optimal weights (J. Lottes, Optimal
  polynomial smoothers for multigrid V-cycles, Numer. Linear Algebra Appl. 30, 2023, equations 5.9 to 5.11),
  which needs no lower bound of the spectrum; or l1-jacobi (A. Baker, R. Falgout, T. Kolev, U. Yang,
  Multigrid smoothers for ultraparallel computing, SIAM J. Sci. Comput. 33, 2011). Approximate inverses
  (inverses.c) take the place of D^-1, or sweeps do (sweeps.c), which are forward before the correction and
  backward behind it.

  A level of degree k takes 2 k products by A, one each by the restriction R and the prolongation P, and 2 k
  passes of the smoother. The residual goes on from one product to the next, and the last pass of the
  smoother makes it new from b.

  On several ranks a failure of one is kept, and it goes on: the others wait for what it sends in products.

  In fp32 (AmgSingle) the dense inverse stays in fp64: where A is nearly singular an eigenvalue of it is far
  above the others, which rounding it would hide, and M would not be definite. What fp32 rounds off vectors
  is in proportion to them, so it does no such harm to a V cycle. The cycle reads r and writes z in fp64 on
  the finest level, in passes that it makes anyway. The largest entry of r is looked for first, so that r may
  be of any size. Several ranks take the sum of their largest entries, which is the same on all.
*/
#include "amg.h"
#include "bottom.h"
#include "cycle.h"
#include "cycle_vec.h"
#include "redundant.h"
#include "sweeps.h"
#include "vec/vec_kernels.h"
#include "vec/vec_phases.h"
#include "amg_kernels.h"

/* Weights of degrees 1 to 4: Lottes, table 1. */
static const double weights[][AMG_DEGREES] = {
    {1.125},
    {1.02387287570313, 1.26408905371085},
    {1.00842544782028, 1.0886783920873, 1.33753125909618},
    {1.00391310427285, 1.04035811188593, 1.14863498546254, 1.3826886924100},
};

/* Over-correction of plain aggregation, whose coarse functions have too much energy (D. Braess, Towards
   algebraic multigrid for elliptic problems of second order, Computing 55, 1995). M stays positive. */
static const double over = 1.8;

/* The first failure stays. */
static void Keep(PoiseErr *e, PoiseErr next)
{
  if (!*e) *e = next;
}

/* ---- the smoother ---------------------------------------------------------------------------- */

typedef struct Coefs {
  double c1, c2, beta;
} Coefs;

/* The same of the Chebyshev iteration of the first kind, on [low, 1] (Y. Saad, Iterative methods for sparse
   linear systems, 2003, algorithm 12.1). Its numbers rho are here quotients of Chebyshev polynomials. */
static Coefs CoefficientsOn(double low, int w)
{
  double centre = 0.5 * (1 + low), half = 0.5 * (1 - low), angle = acosh(centre / half);
  double rho = cosh(w * angle) / cosh((w + 1) * angle),
         before = w ? cosh((w - 1) * angle) / cosh(w * angle) : 0;
  return (Coefs){.c1 = rho * before, .c2 = w ? 2 * rho / half : 1 / centre, .beta = 1};
}

/* Coefficients of step w = 0, 1, ... of `degree`, where 1 over lambda is in D^-1 (poiseAmgDamping). */
static Coefs Coefficients(const Amg *amg, const AmgLevel *l, int degree, bool bottom, int w)
{
  if (poiseAmgIsL1(&amg->way) || l->sweeps.made) return (Coefs){0, 1, 1};
  if (bottom && amg->low > 0) return CoefficientsOn(amg->low, w);
  return (Coefs){.c1 = w ? (2.0 * w - 1) / (2.0 * w + 3) : 0,
                 .c2 = (8.0 * w + 4) / (2.0 * w + 3),
                 .beta = weights[degree - 1][w]};
}

typedef struct Step { /* which vectors a step of the smoother has; NULL: not */
  AmgVec *r, *x, *was, *d, *add, *from, *to;
  PoiseVec z;        /* the result in fp64, of a cycle in fp32 */
  bool fresh, plain; /* plain: with D^-1 = 1 */
  bool backward;     /* of sweeps */
} Step;

typedef struct Places { /* where they are */
  const void *inverse, *r, *was, *add, *from;
  const double *rhs, *range;
  void *d, *x, *to;
  double *z;
} Places;

/* A vector that is read, which is the right-hand side if it is in fp64 and the cycle is not. */
static PoiseErr ReadOrRhs(Amg *amg, AmgVec *v, const void **p, const double **rhs)
{
  return amg->single && v && v->wide ? poiseVecRead(v->wide, rhs) : poiseAmgVecRead(v, p);
}

static PoiseErr Find(Amg *amg, AmgLevel *l, const Step *v, const double *skip, Places *p)
{
  if (!v->plain) TRY(poiseBufferRead(amg->single ? &l->single.inverse : &l->inverse, DEVICE, &p->inverse));
  TRY(ReadOrRhs(amg, v->r, &p->r, &p->rhs));
  TRY(ReadOrRhs(amg, v->from, &p->from, &p->rhs));
  TRY(poiseAmgVecRead(v->add, &p->add));
  TRY(poiseAmgVecRead(v->was, &p->was));
  TRY(poiseAmgVecUpdate(v->to, &p->to));
  TRY(poiseAmgVecUpdate(v->d, &p->d));
  if (p->rhs || v->z) TRY(poiseBufferRead(amg->columns ? &amg->wide_range : &amg->range, DEVICE, &p->range));
  if (v->z) TRY(skip ? poiseVecUpdate(v->z, &p->z) : poiseVecWrite(v->z, &p->z));
  return v->fresh && !skip ? poiseAmgVecWrite(v->x, &p->x) : poiseAmgVecUpdate(v->x, &p->x);
}

static PoiseErr Launch(PoisePC pc, AmgLevel *l, const Coefs *c, const Step *v, const double *skip,
                       const Fuse *fuse)
{
  static const Fuse none = {0};
  Amg *amg = pc->data;
  Places p = {0};
  TRY(Find(amg, l, v, skip, &p));
#define FIELDS                  \
  {.n = l->A->rows->n,          \
   .b = v->plain ? 1 : l->side, \
   .fresh = v->fresh,           \
   .columns = amg->columns,     \
   .c1 = c->c1,                 \
   .c2 = c->c2,                 \
   .beta = c->beta,             \
   .out = l->single.scale,      \
   .inverse = p.inverse,        \
   .r = p.r,                    \
   .was = p.was,                \
   .add = p.add,                \
   .from = p.from,              \
   .rhs = p.rhs,                \
   .range = p.range,            \
   .skip = skip,                \
   .d = p.d,                    \
   .x = p.x,                    \
   .to = p.to,                  \
   .z = p.z,                    \
   .fuse = fuse ? *fuse : none}
  AmgSmoothArgs wide = FIELDS;
  AmgSmoothArgs_f32 single = FIELDS;
#undef FIELDS
  Device *dev = pc->ctx->device;
  if (amg->single)
    return amg->columns ? LAUNCH(dev, amg_smooth_columns_f32, &single) : LAUNCH(dev, amg_smooth_f32, &single);
  return amg->columns ? LAUNCH(dev, amg_smooth_columns, &wide) : LAUNCH(dev, amg_smooth, &wide);
}

/* ---- products -------------------------------------------------------------------------------- */

typedef enum Which { OF_A, OF_P, OF_R, OF_AWAY, OF_LOWER, OF_UPPER } Which;

/* y = a A x + b y, of one of the level's matrices. */
static PoiseErr Multiply(const Amg *amg, AmgLevel *l, Which which, double a, AmgVec *x, double b, AmgVec *y,
                         const double *skip)
{
  AmgSingle *s = &l->single;
  PoiseMat const of[] = {l->A, l->P, l->R, l->away, l->lower, l->upper};
  Product *const single[] = {&s->A, &s->P, &s->R, &s->away, &s->lower, &s->upper};
  if (amg->single) return poiseMatMultSingle(single[which], amg->columns, a, &x->single, b, &y->single, skip);
  return poiseMatMultFuse(of[which], (ScalarRef){NULL, a}, x->wide, (ScalarRef){NULL, b}, y->wide, skip, NULL,
                          NULL);
}

/* Rows of other ranks first: they travel while this rank makes its own. */
PoiseErr poiseAmgRestrict(const Amg *amg, AmgLevel *l, double a, AmgVec *x, AmgVec *y, const double *skip)
{
  Halo *halo = poiseHaloOf(l->P->csr.halo, amg->columns);
  const void *sent = NULL;
  void *to = NULL;
  if (!halo) return Multiply(amg, l, OF_R, a, x, 0, y, skip);
  PoiseErr e = Multiply(amg, l, OF_AWAY, a, x, 0, &l->v.sent, skip);
  Keep(&e, poiseAmgVecRead(&l->v.sent, &sent));
  Keep(&e, amg->single ? poiseHaloReverseBeginSingle(halo, e, sent) : poiseHaloReverseBegin(halo, e, sent));
  Keep(&e, Multiply(amg, l, OF_R, a, x, 0, y, skip));
  Keep(&e, poiseAmgVecUpdate(y, &to));
  Keep(&e, amg->single ? poiseHaloReverseEndSingle(halo, to) : poiseHaloReverseEnd(halo, to));
  return e;
}

/* ---- smoothing ------------------------------------------------------------------------------- */

static const Coefs as_it_is = {0, 1, 1}; /* of a step that is plain and fresh: x = r */

/* A step of the smoother. With approximate inverses, or sweeps, M^-1 r goes before it. For that r in fp64, of
   a cycle in fp32, is copied to x. */
static PoiseErr Smooth(PoisePC pc, AmgLevel *l, const Coefs *c, Step v, const double *skip, const Fuse *fuse)
{
  Amg *amg = pc->data;
  Step copy = {.r = v.r, .x = v.x, .fresh = true, .plain = true};
  PoiseErr e = POISE_OK;
  if (!l->lower && !l->sweeps.made) return Launch(pc, l, c, &v, skip, fuse);
  if (amg->single && v.r->wide) Keep(&e, Launch(pc, l, &as_it_is, &copy, skip, NULL)), v.r = v.x;
  if (l->sweeps.made) {
    Keep(&e, poiseAmgSweep(l, v.backward, v.r, &l->v.whole, skip));
  } else {
    Keep(&e, Multiply(amg, l, OF_LOWER, 1, v.r, 0, &l->v.half, skip));
    Keep(&e, Multiply(amg, l, OF_UPPER, 1, &l->v.half, 0, &l->v.whole, skip));
  }
  v.r = &l->v.whole, v.plain = true;
  Keep(&e, Launch(pc, l, c, &v, skip, fuse));
  return e;
}

/* x = the smoother's result for b from 0; t = b - A x. Or, of the bottom, x alone. */
static PoiseErr Before(PoisePC pc, AmgLevel *l, int degree, bool bottom, AmgVec *b, AmgVec *x,
                       const double *skip)
{
  PoiseErr e = POISE_OK;
  for (int w = 0; w < degree; w++) {
    bool last = w + 1 == degree, copies = !last || !bottom;
    Coefs c = Coefficients(pc->data, l, degree, bottom, w);
    Step v = {
        .r = w ? &l->v.r : b, .x = x, .was = w ? &l->v.d : NULL, .d = last ? NULL : &l->v.d, .fresh = !w};
    if (copies && (last || !w)) v.from = b, v.to = last ? &l->v.t : &l->v.r;
    Keep(&e, Smooth(pc, l, &c, v, skip, NULL));
    if (!last) Keep(&e, Multiply(pc->data, l, OF_A, -1, &l->v.d, 1, &l->v.r, skip));
  }
  if (!bottom) Keep(&e, Multiply(pc->data, l, OF_A, -1, x, 1, &l->v.t, skip));
  return e;
}

/* x += add + the smoother's result for the residual t, which belongs to x + add. z, if there is one, becomes
   what x should. */
static PoiseErr After(PoisePC pc, AmgLevel *l, int degree, AmgVec *add, AmgVec *x, PoiseVec z,
                      const double *skip, const Fuse *fuse)
{
  PoiseErr e = POISE_OK;
  for (int w = 0; w < degree; w++) {
    bool last = w + 1 == degree;
    Coefs c = Coefficients(pc->data, l, degree, false, w);
    Step v = {.r = &l->v.t,
              .backward = true,
              .x = x,
              .was = w ? &l->v.d : NULL,
              .d = last ? NULL : &l->v.d,
              .add = w ? NULL : add};
    if (last) v.z = z;
    Keep(&e, Smooth(pc, l, &c, v, skip, last ? fuse : NULL));
    if (!last) Keep(&e, Multiply(pc->data, l, OF_A, -1, &l->v.d, 1, &l->v.t, skip));
  }
  return e;
}

/* ---- sweeps of a rank that has all rows ------------------------------------------------------ */

/* t = b - A x, for x that sweeps keep. */
static PoiseErr Down(PoisePC pc, AmgLevel *l, AmgVec *b, AmgVec *x, const double *skip)
{
  Amg *amg = pc->data;
  PoiseErr e = POISE_OK;
  Step copy = {.r = b, .x = x, .fresh = true, .plain = true};
  if (amg->single && b->wide) Keep(&e, Launch(pc, l, &as_it_is, &copy, skip, NULL)), b = x;
  Keep(&e, poiseAmgSweepsDown(l, amg->way.degree, b, &l->v.t, skip));
  return e;
}

/* x, or z, as After has it. */
static PoiseErr Up(PoisePC pc, AmgLevel *l, AmgVec *add, AmgVec *x, PoiseVec z, const double *skip,
                   const Fuse *fuse)
{
  int degree = ((Amg *)pc->data)->way.degree;
  Step copy = {.r = &l->v.whole, .x = x, .z = z, .fresh = true, .plain = true};
  if (!z) return poiseAmgSweepsUp(l, degree, add, x, skip, fuse);
  PoiseErr e = poiseAmgSweepsUp(l, degree, add, &l->v.whole, skip, NULL);
  Keep(&e, Launch(pc, l, &as_it_is, &copy, skip, fuse));
  return e;
}

/* ---- levels ---------------------------------------------------------------------------------- */

static PoiseErr Correct(PoisePC pc, int k, AmgVec *b, AmgVec *x, const double *skip, const Fuse *fuse);

/* Of a vector of the level on this rank. */
static int64_t Numbers(const Amg *amg, const AmgLevel *l)
{
  return l->A->rows->n * (amg->columns ? amg->columns : 1);
}

/* y = x + b y */
static PoiseErr Add(PoisePC pc, AmgLevel *l, AmgVec *x, double b, AmgVec *y, const double *skip)
{
  AxpbyArgs a = {.n = Numbers(pc->data, l), .a.value = 1, .b.value = b, .skip = skip};
  TRY(poiseVecRead(x->wide, &a.x));
  TRY(poiseVecUpdate(y->wide, &a.y));
  return LAUNCH(pc->ctx->device, axpby, &a);
}

/* A second time, for what the first left of the coarse problem: x2 = M (b - A x), x += x2. In fp64, as what
   fp32 rounds off A x would be multiplied by M, which is as large as A is near to singular. */
static PoiseErr Again(PoisePC pc, int k, const double *skip)
{
  AmgLevel *l = &((Amg *)pc->data)->level[k];
  PoiseErr e = Add(pc, l, &l->v.b, 0, &l->v.r2, skip);
  Keep(&e, Multiply(pc->data, l, OF_A, -1, &l->v.x, 1, &l->v.r2, skip));
  Keep(&e, Correct(pc, k, &l->v.r2, &l->v.x2, skip, NULL));
  Keep(&e, Add(pc, l, &l->v.x2, 1, &l->v.x, skip));
  return e;
}

/* Factors stay in fp64. */
static PoiseErr Factors(PoisePC pc, AmgLevel *l, AmgVec *b, AmgVec *x, const double *skip)
{
  Amg *amg = pc->data;
  Device *dev = pc->ctx->device;
  WidenArgs w = {.n = Numbers(amg, l), .a.value = 1 / l->single.scale, .skip = skip};
  NarrowArgs n = {.n = Numbers(amg, l), .a.value = 1, .skip = skip};
  TRY(poiseBufferRead(&b->single, DEVICE, &w.x));
  TRY(poiseVecUpdate(l->v.r.wide, &w.y));
  TRY(LAUNCH(dev, widen, &w));
  TRY(poiseAmgBottomApply(dev, &amg->bottom, l->v.r.wide, l->v.t.wide, skip));
  TRY(poiseVecRead(l->v.t.wide, &n.x));
  TRY(poiseBufferUpdate(&x->single, DEVICE, &n.y));
  return LAUNCH(dev, narrow, &n);
}

static PoiseErr Dense(PoisePC pc, AmgLevel *l, AmgVec *b, AmgVec *x, const double *skip)
{
  Amg *amg = pc->data;
  AmgDenseArgs_f32 a = {.n = amg->bottom.n, .scale = 1 / l->single.scale, .skip = skip};
  if (!amg->single) return poiseAmgBottomApply(pc->ctx->device, &amg->bottom, b->wide, x->wide, skip);
  if (amg->bottom.lu) return Factors(pc, l, b, x, skip);
  TRY(poiseBufferRead(&amg->bottom.dense, DEVICE, &a.a));
  TRY(poiseBufferRead(&b->single, DEVICE, &a.x));
  TRY(skip ? poiseBufferUpdate(&x->single, DEVICE, &a.y) : poiseBufferWrite(&x->single, DEVICE, &a.y));
  a.columns = amg->columns;
  if (a.columns) return LAUNCH(pc->ctx->device, amg_dense_columns_f32, &a);
  return LAUNCH(pc->ctx->device, amg_dense_f32, &a);
}

static PoiseErr Bottom(PoisePC pc, AmgLevel *l, AmgVec *b, AmgVec *x, const double *skip, const Fuse *fuse)
{
  Amg *amg = pc->data;
  TRY(amg->dense ? Dense(pc, l, b, x, skip) : Before(pc, l, AMG_DEGREES, true, b, x, skip));
  return fuse ? poiseVecFuse(x->wide, skip, fuse) : POISE_OK;
}

/* x = M_k b, with the level's own vectors; of the first level that every rank holds, from and to the parts of
   ranks. */
static PoiseErr Below(PoisePC pc, int k, const double *skip)
{
  Amg *amg = pc->data;
  AmgLevel *l = &amg->level[k];
  bool parts = poiseAmgIsRedundant(amg, k);
  PoiseErr e = parts ? poiseAmgCollect(&amg->redundant, amg->columns, &amg->redundant.b, &l->v.b) : POISE_OK;
  Keep(&e, Correct(pc, k, &l->v.b, &l->v.x, skip, NULL));
  if (amg->way.w_cycle && k + 1 < amg->count) Keep(&e, Again(pc, k, skip));
  if (parts)
    Keep(&e, poiseAmgTakePart(&amg->redundant, amg->columns, &l->v.x, &amg->redundant.x, skip, NULL));
  return e;
}

/* x = M_k b. In fp32 the b and x of level 0 are fp64. */
static PoiseErr Correct(PoisePC pc, int k, AmgVec *b, AmgVec *x, const double *skip, const Fuse *fuse)
{
  Amg *amg = pc->data;
  const int degree = amg->way.degree;
  AmgLevel *l = &amg->level[k], *next = l + 1;
  AmgVec *own = amg->single && k == 0 ? &l->v.x : x;
  double scale = l->smoothed ? 1 : over;
  if (k + 1 == amg->count) return Bottom(pc, l, b, x, skip, fuse);
  bool parts = poiseAmgIsRedundant(amg, k + 1);
  bool sweeps = l->sweeps.alone;
  PoiseErr e = sweeps ? Down(pc, l, b, own, skip) : Before(pc, l, degree, false, b, own, skip);
  Keep(&e, poiseAmgRestrict(amg, l, next->single.scale / l->single.scale, &l->v.t,
                            parts ? &amg->redundant.b : &next->v.b, skip));
  Keep(&e, Below(pc, k + 1, skip));
  Keep(&e, Multiply(pc->data, l, OF_P, scale, parts ? &amg->redundant.x : &next->v.x, 0, &l->v.r, skip));
  PoiseVec z = own == x ? NULL : x->wide;
  if (sweeps) {
    Keep(&e, Up(pc, l, &l->v.r, own, z, skip, fuse));
    return e;
  }
  Keep(&e, Multiply(pc->data, l, OF_A, -1, &l->v.r, 1, &l->v.t, skip));
  Keep(&e, After(pc, l, degree, &l->v.r, own, z, skip, fuse));
  return e;
}

/* ---- the size of r, for a cycle in fp32 ------------------------------------------------------- */

typedef struct Ranges { /* of the columns of r, or of one r: where they are */
  double *range, *own, *work, *partial;
  int columns; /* 0: r is an ordinary vector */
  double *host;
} Ranges;

static PoiseErr FindPlaces(Amg *amg, Ranges *s)
{
  double *there = NULL;
  *s = (Ranges){.columns = amg->columns, .host = amg->range_of_ranks};
  TRY(poiseBufferUpdate(amg->columns ? &amg->wide_range : &amg->range, DEVICE, &there));
  s->range = there + (amg->columns ? AMG_RANGES : AMG_RANGE);
  s->own = there + (amg->columns ? AMG_RANGES_OWN : AMG_RANGE_OWN);
  s->work = there + AMG_RANGES_WORK;
  s->partial = there + (amg->columns ? AMG_RANGES_PARTIALS : AMG_RANGE_PARTIALS);
  return POISE_OK;
}

static int Count(const Ranges *s)
{
  return s->columns ? s->columns : 1;
}

/* to = the largest entries of n rows of r on this rank. */
static PoiseErr FindLargest(PoiseContext ctx, PoiseVec r, const Ranges *s, const double *skip, double *to)
{
  int64_t n = r->layout->n, nblock = POISE_NBLOCKS(n);
  PhaseArgs p = {.id = PHASE_vec_norm_inf, .n = n, .skip = skip, .partial[0] = s->partial};
  ReduceArgs m = {.nsum = Count(s), .max = 1, .stride = nblock, .count = nblock, .partial = s->partial};
  m.dst = to, m.skip = skip;
  if (s->columns) p.systems = (Systems){.n = s->columns, .partials = nblock, .work = s->work};
  TRY(poiseVecRead(r, &p.in[VEC_X]));
  TRY(s->columns ? LAUNCH(ctx->device, phase_columns, &p) : LAUNCH(ctx->device, phase, &p));
  return LAUNCH(ctx->device, reduce, &m);
}

/* The sums of those of ranks, by hosts. A rank that has failed adds nothing. */
static PoiseErr SumByHosts(PoiseContext ctx, PoiseErr mine, const Ranges *s)
{
  size_t bytes = (size_t)Count(s) * sizeof(double);
  double own[POISE_MAX_COLUMNS] = {0};
  if (!mine) mine = poiseDeviceFetch(ctx->device, s->own, bytes, own);
  memcpy(s->host, own, bytes); /* the last ones have left it: Fetch has waited */
  TRY(poiseCommSum(ctx->comm, s->host, Count(s)));
  TRY(mine);
  return poiseDeviceCopy(ctx->device, s->range, s->host, bytes, COPY_TO_DEVICE);
}

/* Of r that each rank has as a whole, or its part of (divided). All ranks take part whatever fails. */
static PoiseErr FindRange(PoisePC pc, PoiseVec r, bool divided, const double *skip)
{
  PoiseContext ctx = pc->ctx;
  Ranges s;
  PoiseErr e = FindPlaces(pc->data, &s);
  bool there = !e;
  if (!e) e = FindLargest(ctx, r, &s, skip, divided ? s.own : s.range);
  if (!divided) return e;
  if (!poiseLinkIsUsed(ctx)) return SumByHosts(ctx, e, &s);
  LinkSumArgs a = {.n = Count(&s), .stride = 1, .count = 1, .partial = s.own, .dst = s.range};
  Keep(&e, poiseLinkSum(ctx->link, there ? a : (LinkSumArgs){.n = 0}));
  return e;
}

PoiseErr poiseAmgCycle(PoisePC pc, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse)
{
  Amg *amg = pc->data;
  AmgRedundant *all = &amg->redundant;
  AmgVec b = {.wide = r}, x = {.wide = z};
  PoiseErr e = POISE_OK;
  if (!poiseAmgIsRedundant(amg, 0)) {
    if (amg->single) e = FindRange(pc, r, PoiseSize(pc->ctx) > 1, skip);
    Keep(&e, Correct(pc, 0, &b, &x, skip, fuse));
    return e;
  }
  e = poiseAmgCollect(all, amg->columns, &b, &all->b);
  if (amg->single) Keep(&e, FindRange(pc, all->b.wide, false, skip));
  Keep(&e, Correct(pc, 0, &all->b, &all->x, skip, NULL));
  Keep(&e, poiseAmgTakePart(all, amg->columns, &all->x, &x, skip, fuse));
  return e;
}

/* ---- several columns ------------------------------------------------------------------------- */

static void Swap(AmgVec *v, AmgVec *wide)
{
  AmgVec t = *v;
  *v = *wide, *wide = t;
}

/* The vectors of such cycles in place of the others, and back. */
static void SwapVectors(Amg *amg)
{
  for (int k = 0; k < amg->count; k++) {
    AmgVectors v = amg->level[k].v;
    amg->level[k].v = amg->level[k].wide;
    amg->level[k].wide = v;
  }
  Swap(&amg->redundant.b, &amg->redundant.wide_b);
  Swap(&amg->redundant.x, &amg->redundant.wide_x);
}

PoiseErr poiseAmgCycleColumns(PoisePC pc, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse)
{
  Amg *amg = pc->data;
  amg->columns = poiseVecColumns(r);
  SwapVectors(amg);
  PoiseErr e = poiseAmgCycle(pc, r, z, skip, fuse);
  SwapVectors(amg);
  amg->columns = 0;
  return e;
}
