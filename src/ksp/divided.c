/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Solves that others do for the ranks which have the application's objects. These others are workers,
  threads of a context of one rank (-gpus, -solve_ranks), or leaders of groups of ranks that share a GPU
  (-comm_gather). Each of these solvers has rows of A and of P, and settings of the application's, on the
  communicator of solvers. A and P stay where they are: on the host workers use their values in place. A
  solve hands out b, and a guess, and collects x.

    application      A, b, x, settings       monitors and tests that see numbers
                     |  rows of A, b    ^  x, reason, norms
    solver r         A_r, b_r, solver --> x_r

  Workers' rows are cut by nonzeros, as -mat_partition nonzeros cuts them (mat/order/partition.c). A leader
  has those of its group. A new pattern makes all parts anew. New values, null spaces and a new way to
  multiply are passed on, each alone. What solvers read of the application's objects goes in parcels
  (parcels.h). These are made before each job, and do not change during it.
*/
#include "mat/csr/joined.h"
#include "mat/csr/replace_values.h"
#include "mat/csr/shares.h"
#include "mat/object/mat_type.h"
#include "mat/order/arrange.h"
#include "divided.h"
#include "methods.h"
#include "normal.h"
#include "parcels.h"
#include "reordered.h"
#include "setup.h"

enum { SPACES = 3 }; /* null space, that of the transpose, near null space */

typedef struct Original { /* one of the application's matrices */
  Moved seen;             /* as the parts were made from it; seen.mat is not used */
  bool parted;            /* then; by pcsr ranks rearrange rows among them */
  unsigned changed;       /* since then, for the present job: CHANGED_...; with the pattern all has changed */
  int ptr, col, ghost, val; /* numbers of parcels, of what has changed */
  int space[SPACES][POISE_MAX_BATCH];
} Original;

typedef struct PartOf { /* a solver's rows of a matrix */
  PoiseMat mat;
  CsrPiece *piece; /* of each owner */
  int64_t numbers; /* of its values */
} PartOf;

typedef struct Part { /* what a solver has. Its thread alone changes it */
  PartOf A, P;        /* P is empty if they are one */
  PoiseKSP ksp;
  PoiseVec b, x;
} Part;

struct Divided {
  PoiseContext ctx;
  PoiseKSP outer;
  Crew crew;
  Original A, P;
  PoiseInt *start;      /* the first row of each part, and the number of rows; valid if A has been seen */
  Part *part;           /* by solver; in a group its leader has its own alone */
  bool built;           /* the solvers have been set up */
  bool outlived;        /* `start` belongs to an earlier pattern, for a preconditioner that is kept */
  int b, guess, x;      /* parcels of the present solve, */
  PoiseVec solution;    /* whose x is the application's, */
  Side side;            /* on that side */
  int64_t moved_values; /* bytes, when values were last new; 0: they are in place */
  int64_t moved_vectors;
  WorkersTask destruction;
};

/* ---- checks ---------------------------------------------------------------------------------- */

bool poiseKSPDivides(PoiseKSP ksp)
{
  PoiseContext ctx = ksp->ctx;
  bool gathers = ctx->group && !*ksp->alone && !poiseGroupBusy(ctx->group);
  return (ctx->most_workers > 1 || gathers) && !ksp->inside && !ksp->borrows && !ksp->type->squares;
}

static PoiseErr CheckMatrix(PoiseMat A)
{
  if (!poiseMatHolds(A))
    FAIL(POISE_ERR_UNSUPPORTED, "a matrix of type %s has no rows that others could solve with (%s)",
         A->type->name, poiseCrewWord(A->ctx));
  return POISE_OK;
}

static PoiseErr Check(PoiseKSP ksp)
{
  PoiseMat A = ksp->given_A, P = ksp->given_P;
  TRY(poiseWorkersCheckIdle(ksp->ctx->workers, "PoiseKSPSetUp"));
  TRY(CheckMatrix(A));
  TRY(CheckMatrix(P));
  TRY(poiseMatCheckUsable(P));
  if (ksp->pc->type->outside)
    FAIL(POISE_ERR_UNSUPPORTED,
         "preconditioner %s takes vectors of the application, and others solve for it (%s)",
         ksp->pc->type->name, poiseCrewWord(ksp->ctx));
  if (poiseKSPKeepsSpectrum(ksp))
    FAIL(POISE_ERR_UNSUPPORTED, "eigenvalues and singular values are asked for, and others solve (%s)",
         poiseCrewWord(ksp->ctx));
  return POISE_OK;
}

PoiseErr poiseKSPCheckWhole(PoiseKSP ksp, const char *what)
{
  if (poiseKSPDivides(ksp))
    FAIL(POISE_ERR_UNSUPPORTED,
         "%s of a solver that others work for (%s): its vectors and preconditioner are theirs", what,
         poiseCrewWord(ksp->ctx));
  return POISE_OK;
}

/* ---- what goes to the solvers ---------------------------------------------------------------- */

static PoiseErr SendSpaces(Divided *d, PoiseMat A, Original *o)
{
  const NullSpace *const space[SPACES] = {&A->null, &A->left, &A->near};
  for (int s = 0; s < SPACES; s++)
    for (int k = 0; k < space[s]->n; k++)
      TRY(poiseCrewSendBuffer(&d->crew, &space[s]->v[k]->data, &o->space[s][k]));
  return POISE_OK;
}

/* New arrays. Values stay where they are valid. */
static PoiseErr Send(Divided *d, PoiseMat A, Original *o)
{
  Csr *c = &A->csr;
  if (o->changed & CHANGED_PATTERN) {
    Parcel ghosts = {.p = c->ghost, .bytes = (size_t)c->nghost * sizeof *c->ghost, .side = HOST};
    TRY(poiseCrewSendBuffer(&d->crew, &c->ptr, &o->ptr));
    TRY(poiseCrewSendBuffer(&d->crew, &c->col, &o->col));
    TRY(poiseCrewSend(&d->crew, ghosts, &o->ghost));
  }
  if (o->changed & CHANGED_VALUES) TRY(poiseCrewSendBuffer(&d->crew, &c->val, &o->val));
  return o->changed & (CHANGED_SPACES | CHANGED_NEAR) ? SendSpaces(d, A, o) : POISE_OK;
}

/* ---- cuts ------------------------------------------------------------------------------------ */

typedef struct Weights { /* of nodes, whose nonzeros are between two offsets; without nonzeros all weigh 1 */
  PoiseMat A;
  const char *ptr; /* on that side */
  Side side;
  PoiseErr error;            /* the first */
  int64_t nodes, per, total; /* per: rows of the CSR of a node */
} Weights;

static int64_t Before(Weights *w, int64_t node)
{
  const Csr *c = &w->A->csr;
  int64_t at = node * w->per;
  union {
    int32_t narrow;
    int64_t wide;
  } v = {0};
  if (!w->total) return node;
  if (w->side == HOST) return poiseCsrPtr(c, w->ptr, at);
  const size_t width = c->wide ? sizeof v.wide : sizeof v.narrow;
  PoiseErr e = poiseDeviceFetch(w->A->ctx->device, w->ptr + (size_t)at * width, width, &v);
  if (e && !w->error) w->error = e;
  return c->wide ? v.wide : v.narrow;
}

/* The part in whose equal share of the weight the middle of the node's weight lies. */
static int32_t PartOfNode(Weights *w, int64_t node, int parts)
{
  const Shares shares = {parts, NULL};
  int64_t side = poiseCsrSide(&w->A->csr), numbers = w->total ? side * side : 1;
  int64_t before = numbers * Before(w, node), weight = numbers * Before(w, node + 1) - before;
  return poiseShareAt(&shares, before, weight, numbers * (w->total ? w->total : w->nodes));
}

/* The parts of nodes ascend, so each part's first node is found by bisection. */
static PoiseErr CutForWorkers(PoiseMat A, int parts, PoiseInt *start)
{
  Weights w = {.A = A, .nodes = A->rows->n / A->block_size, .total = A->csr.nz};
  w.per = w.nodes ? A->csr.m / w.nodes : 1;
  w.side = poiseBufferIsCurrent(&A->csr.ptr, HOST) ? HOST : DEVICE;
  TRY(poiseBufferRead(&A->csr.ptr, w.side, &w.ptr));
  start[0] = 0;
  for (int r = 1; r <= parts; r++) {
    int64_t low = start[r - 1] / A->block_size, high = w.nodes;
    while (low < high && r < parts) {
      int64_t node = low + (high - low) / 2;
      if (PartOfNode(&w, node, parts) < r)
        low = node + 1;
      else
        high = node;
    }
    start[r] = high * A->block_size;
  }
  return w.error;
}

static PoiseErr Cut(Divided *d, PoiseMat A)
{
  const RankGroup *g = d->ctx->group;
  if (!g) return CutForWorkers(A, d->crew.solvers, d->start);
  for (int r = 0; r <= d->crew.solvers; r++) d->start[r] = A->rows->start[poiseGroupFirst(g, r)];
  return POISE_OK;
}

/* A preconditioner that is kept keeps its rows. */
static bool KeepsRows(PoiseKSP ksp)
{
  const Divided *d = ksp->divided;
  return ksp->options.reuse && d->built && d->start[d->crew.solvers] == ksp->given_A->rows->N;
}

/* ---- the solvers' matrices ------------------------------------------------------------------- */

static PoiseErr FetchVec(const Divided *d, PoiseVec x, const Layout *rows, int k)
{
  double *to;
  TRY(poiseVecWrite(x, &to));
  TRY(poiseCrewFetch(&d->crew, x->ctx, rows, k, x->layout->begin, x->layout->n, to));
  return poiseDeviceSync(x->ctx->device);
}

typedef PoiseErr (*SetSpace)(PoiseMat, int constant, int n, const PoiseVec *);

static PoiseErr FetchSpace(const Divided *d, const Layout *rows, PoiseMat B, int n, const int *space,
                           SetSpace set)
{
  PoiseVec v[POISE_MAX_BATCH] = {NULL};
  PoiseErr e = POISE_OK;
  for (int k = 0; !e && k < n; k++) {
    e = PoiseMatCreateVecs(B, &v[k], NULL);
    if (!e) e = PoiseAgree(B->ctx, FetchVec(d, v[k], rows, space[k]));
  }
  if (!e) e = set(B, 0, n, v);
  for (int k = 0; k < n; k++) PoiseVecDestroy(&v[k]);
  return e;
}

static PoiseErr TakeSpaces(const Divided *d, PoiseMat A, const Original *o, PoiseMat B)
{
  if (o->changed & CHANGED_NEAR)
    TRY(FetchSpace(d, A->cols, B, A->near.n, o->space[2], PoiseMatSetNearNullSpace));
  if (!(o->changed & CHANGED_SPACES)) return POISE_OK;
  TRY(FetchSpace(d, A->cols, B, A->null.n, o->space[0], PoiseMatSetNullSpace));
  return FetchSpace(d, A->rows, B, A->left.n, o->space[1], PoiseMatSetTransposeNullSpace);
}

/* What rows [start, start + n) are of each owner's. */
static PoiseErr FindPieces(const Divided *d, PoiseContext ctx, PoiseMat A, const Original *o, PoiseInt start,
                           PoiseInt n, PartOf *p)
{
  const int owners = poiseCrewOwners(&d->crew);
  const int64_t side = poiseCsrSide(&A->csr);
  if (!p->piece) TRY(poiseAllocArray(ctx, owners, sizeof *p->piece, "pieces of a matrix", &p->piece));
  for (int i = 0; i < owners; i++) {
    const Parcel *ptr = poiseCrewParcel(&d->crew, i, o->ptr), *col = poiseCrewParcel(&d->crew, i, o->col),
                 *ghost = poiseCrewParcel(&d->crew, i, o->ghost);
    PoiseInt first = poiseCrewFirst(&d->crew, A->rows, i), end = poiseCrewFirst(&d->crew, A->rows, i + 1),
             low = first > start ? first : start, high = end < start + n ? end : start + n,
             column = poiseCrewFirst(&d->crew, A->cols, i),
             columns = poiseCrewFirst(&d->crew, A->cols, i + 1) - column;
    p->piece[i] = (CsrPiece){.first = (low - first) / side,
                             .rows = high > low ? (high - low) / side : 0,
                             .wide = ptr->bytes == (size_t)((end - first) / side + 1) * sizeof(int64_t),
                             .ptr = ptr->p,
                             .col = col->p,
                             .ptr_side = ptr->side,
                             .col_side = col->side,
                             .columns = {.nloc = columns / side, .column = column / side, .ghost = ghost->p},
                             .nghost = (int64_t)(ghost->bytes / sizeof(PoiseInt))};
  }
  return POISE_OK;
}

/* Offsets of rows [first, first + m) that begin at 0. */
static PoiseErr CopyOffsets(PoiseContext ctx, const Csr *c, const void *ptr, int64_t first, int64_t m,
                            int64_t **copy)
{
  int64_t begin = poiseCsrPtr(c, ptr, first);
  TRY(poiseAllocArray(ctx, m + 1, sizeof **copy, "row offsets", copy));
  for (int64_t i = 0; i <= m; i++) (*copy)[i] = poiseCsrPtr(c, ptr, first + i) - begin;
  return POISE_OK;
}

/* Numbers of the values before a piece's first. */
static int64_t FirstNumber(const Csr *c, const CsrPiece *piece)
{
  return piece->begin * poiseCsrEntry(c);
}

/* On the host: the rows of the only piece, with its values in place. */
static PoiseErr CreateInPlace(const Divided *d, PoiseContext ctx, PoiseMat A, const Original *o, PoiseInt n,
                              PartOf *p)
{
  const Csr *c = &A->csr;
  CsrPiece *piece = &p->piece[0];
  PoiseInt N = A->rows->N;
  int64_t *ptr = NULL;
  piece->begin = poiseCsrPtr(c, piece->ptr, piece->first);
  piece->nz = poiseCsrPtr(c, piece->ptr, piece->first + piece->rows) - piece->begin;
  const int32_t *col = c->nz ? piece->col + piece->begin : NULL;
  const double *all = poiseCrewParcel(&d->crew, 0, o->val)->p,
               *val = c->nz ? all + FirstNumber(c, piece) : NULL;
  PoiseErr e = PoiseAgree(ctx, CopyOffsets(ctx, c, piece->ptr, piece->first, piece->rows, &ptr));
  if (!e && c->b)
    e = PoiseMatCreateBCSR(ctx, c->b, n, n, N, N, &(PoiseBCSR){.ptr64 = ptr, .col32 = col, .val = val},
                           POISE_BORROW, &p->mat);
  else if (!e)
    e = poiseMatCreateArrays(ctx, A->asked.type, false, n, n, N, N,
                             &(PoiseCSR){.ptr64 = ptr, .col32 = col, .val = val}, POISE_BORROW, false,
                             &p->mat);
  poiseFree(ctx, &ptr);
  return e;
}

/* Into the pattern that p has. */
static PoiseErr CopyValues(const Divided *d, const Original *o, const PartOf *p)
{
  Device *dev = p->mat->ctx->device;
  const Csr *c = &p->mat->csr;
  double *to;
  if (dev->ops->is_host) {
    const double *all = poiseCrewParcel(&d->crew, 0, o->val)->p;
    return poiseMatSetEntries(p->mat, HOST, c->nz ? all + FirstNumber(c, &p->piece[0]) : NULL);
  }
  TRY(poiseBufferWrite(&p->mat->csr.val, DEVICE, &to));
  for (int i = 0; i < poiseCrewOwners(&d->crew); i++) {
    const Parcel *val = poiseCrewParcel(&d->crew, i, o->val);
    const CsrPiece *piece = &p->piece[i];
    int64_t n = piece->nz * poiseCsrEntry(c);
    if (n)
      TRY(poiseDeviceCopyArray(dev, to, (const double *)val->p + FirstNumber(c, piece),
                               (size_t)n * sizeof *to, val->side == HOST ? COPY_TO_DEVICE : COPY_ON_DEVICE));
    to += n;
  }
  return poiseDeviceSync(dev); /* the application may then change them */
}

static PoiseErr TakeValues(const Divided *d, const Original *o, const PartOf *p)
{
  TRY(PoiseAgree(p->mat->ctx, CopyValues(d, o, p)));
  p->mat->version.values++;
  return POISE_OK;
}

static PoiseErr CreatePart(const Divided *d, PoiseContext ctx, PoiseMat A, const Original *o, PartOf *p)
{
  int r = ctx->comm->rank;
  PoiseInt n = d->start[r + 1] - d->start[r];
  PoiseMatDestroy(&p->mat);
  PoiseErr e = FindPieces(d, ctx, A, o, d->start[r], n, p);
  if (ctx->device->ops->is_host) {
    TRY(PoiseAgree(ctx, e));
    TRY(CreateInPlace(d, ctx, A, o, n, p));
  } else {
    TRY(poiseMatJoined(ctx, e, A->asked.type, A->csr.b, n, A->rows->N, poiseCrewOwners(&d->crew), p->piece,
                       &p->mat));
    TRY(PoiseAgree(ctx, CopyValues(d, o, p)));
  }
  p->numbers = poiseCsrScalars(&p->mat->csr);
  p->mat->block_size = A->block_size;
  return PoiseMatSetOptionsPrefix(p->mat, A->asked.prefix);
}

/* How A is multiplied: type, options, library. Nothing that was made of B's entries is void. */
static PoiseErr TakeProduct(PoiseMat A, PoiseMat B)
{
  TRY(poiseMatChangeType(B, A->asked.type));
  poiseMatInherit(A, B);
  B->asked.parted = A->asked.parted, B->asked.local = A->asked.local; /* pcsr */
  B->version.product++;                                               /* for copies that follow B */
  return poiseMatSetUp(B);
}

static PoiseErr Follow(const Divided *d, PoiseContext ctx, PoiseMat A, const Original *o, PartOf *p)
{
  bool anew = o->changed & CHANGED_PATTERN;
  if (anew) TRY(CreatePart(d, ctx, A, o, p));
  if (o->changed & CHANGED_PRODUCT) TRY(TakeProduct(A, p->mat));
  TRY(TakeSpaces(d, A, o, p->mat));
  p->mat->asked.partition = A->asked.partition; /* no change of A itself */
  p->mat->asked.partition_given = A->asked.partition_given;
  p->mat->asked.order = A->asked.order;
  return o->changed & CHANGED_VALUES && !anew ? TakeValues(d, o, p) : POISE_OK;
}

/* ---- set-up ---------------------------------------------------------------------------------- */

static void DestroyPartOf(PoiseContext ctx, PartOf *p)
{
  PoiseMatDestroy(&p->mat);
  poiseFree(ctx, &p->piece);
}

static PoiseErr MakeVectors(Part *p)
{
  PoiseVecDestroy(&p->b);
  PoiseVecDestroy(&p->x);
  return PoiseMatCreateVecs(p->A.mat, &p->x, &p->b);
}

/* The job of a set-up. */
static PoiseErr SetUpPart(PoiseContext ctx, void *divided)
{
  const Divided *d = divided;
  PoiseKSP ksp = d->outer;
  Part *p = &d->part[ctx->comm->rank];
  TRY(Follow(d, ctx, ksp->given_A, &d->A, &p->A));
  if (ksp->given_P != ksp->given_A)
    TRY(Follow(d, ctx, ksp->given_P, &d->P, &p->P));
  else
    DestroyPartOf(ctx, &p->P);
  if (d->A.changed & CHANGED_PATTERN) TRY(MakeVectors(p));
  if (!p->ksp) TRY(PoiseKSPCreate(ctx, &p->ksp));
  PoiseMat P = p->P.mat ? p->P.mat : p->A.mat;
  if (p->ksp->given_A != p->A.mat || p->ksp->given_P != P) TRY(PoiseKSPSetOperators(p->ksp, p->A.mat, P));
  TRY(poiseKSPTakeDivided(ksp, p->ksp));
  return PoiseKSPSetUp(p->ksp);
}

/* What a group's leader has; NULL on other ranks. */
static Part *Mine(const Divided *d)
{
  const RankGroup *g = d->ctx->group;
  return g && poiseGroupLeader(g) ? &d->part[poiseGroupNumber(g)] : NULL;
}

static PoiseErr KeepPart(PoiseContext ctx, void *divided)
{
  const Divided *d = divided;
  PoiseKSP inner = d->part[ctx->comm->rank].ksp;
  return inner ? PoiseKSPSetReusePreconditioner(inner, d->outer->options.reuse) : POISE_OK;
}

PoiseErr poiseKSPKeepParts(PoiseKSP ksp)
{
  Divided *d = ksp->divided;
  if (!d) return POISE_OK;
  if (!d->ctx->group) return poiseWorkersDo(d->ctx->workers, KeepPart, d);
  return Mine(d) ? KeepPart(poiseGroupLeader(d->ctx->group), d) : POISE_OK;
}

static PoiseErr Destroy(PoiseContext ctx, void *divided)
{
  Part *p = &((Divided *)divided)->part[ctx->comm->rank];
  PoiseKSPDestroy(&p->ksp);
  PoiseVecDestroy(&p->b);
  PoiseVecDestroy(&p->x);
  DestroyPartOf(ctx, &p->A);
  DestroyPartOf(ctx, &p->P);
  return POISE_OK;
}

static void Free(void *divided)
{
  Divided *d = divided;
  PoiseContext ctx = d->ctx;
  poiseCrewClose(&d->crew);
  poiseFree(ctx, &d->start);
  poiseFree(ctx, &d->part);
  poiseFree(ctx, &d);
}

void poiseKSPUndivide(PoiseKSP ksp)
{
  Divided *d = ksp->divided;
  if (!d) return;
  ksp->divided = NULL;
  d->destruction = (WorkersTask){.job = Destroy, .end = Free, .arg = d};
  if (!d->ctx->group) {
    poiseWorkersFinish(d->ctx->workers, &d->destruction);
    return;
  }
  if (Mine(d)) (void)Destroy(poiseGroupLeader(d->ctx->group), d);
  Free(d);
}

static PoiseErr Create(PoiseKSP ksp)
{
  PoiseContext ctx = ksp->ctx;
  Divided *d = NULL;
  TRY(poiseAlloc(ctx, sizeof *d, "divided solver", &d));
  d->ctx = ctx, d->outer = ksp;
  PoiseErr e = poiseCrewOpen(ctx, &d->crew);
  int parts = d->crew.solvers;
  if (!e) e = poiseAllocArray(ctx, parts + 1, sizeof *d->start, "first rows of parts", &d->start);
  if (!e) e = poiseAllocArray(ctx, parts, sizeof *d->part, "parts of a solver", &d->part);
  if (e)
    Free(d);
  else
    ksp->divided = d;
  return e;
}

/* The parts are as A is. */
static void Note(Divided *d, PoiseMat A, Original *o)
{
  o->seen = (Moved){A, NULL, A->version, A->block_size}, o->parted = A->asked.parted;
  if (o->changed & CHANGED_VALUES && !d->ctx->device->ops->is_host)
    d->moved_values += (int64_t)A->csr.val.bytes;
}

static unsigned Changed(PoiseMat A, const Original *o)
{
  bool anew = poiseMovedStale(&o->seen, A) == MOVED_PATTERN || o->parted != A->asked.parted;
  return anew ? ~0u : poiseMatChanged(&o->seen.seen, A);
}

/* What has changed for any owner. */
static PoiseErr Look(PoiseKSP ksp)
{
  enum { BITS = 5 };
  Divided *d = ksp->divided;
  PoiseMat A = ksp->given_A, P = ksp->given_P;
  unsigned mine[2] = {Changed(A, &d->A), P != A ? Changed(P, &d->P) : 0};
  int64_t any[2 * BITS];
  if (d->outlived && !KeepsRows(ksp)) mine[0] = ~0u;
  if (mine[0] & CHANGED_PATTERN && P != A && !KeepsRows(ksp)) mine[1] = ~0u; /* P is cut like A */
  for (int k = 0; k < 2 * BITS; k++) any[k] = mine[k / BITS] >> k % BITS & 1;
  TRY(poiseCommMaxInt(ksp->ctx->comm, any, 2 * BITS));
  d->A.changed = d->P.changed = 0;
  for (int k = 0; k < 2 * BITS; k++)
    *(k < BITS ? &d->A.changed : &d->P.changed) |= (unsigned)any[k] << k % BITS;
  if (d->A.changed & CHANGED_PATTERN) d->A.changed = ~0u, d->outlived = KeepsRows(ksp);
  if (d->P.changed & CHANGED_PATTERN) d->P.changed = ~0u;
  return POISE_OK;
}

static PoiseErr SendAll(PoiseKSP ksp)
{
  Divided *d = ksp->divided;
  Reads reads = READS_NOTHING;
  if (d->A.changed & CHANGED_PATTERN && !KeepsRows(ksp)) TRY(Cut(d, ksp->given_A));
  TRY(Send(d, ksp->given_A, &d->A));
  if (ksp->given_P != ksp->given_A) TRY(Send(d, ksp->given_P, &d->P));
  /* options of the solvers inside are read here, so that what the program sets later is not overridden */
  return ksp->pc->type->reads ? ksp->pc->type->reads(ksp->pc, &reads) : POISE_OK;
}

/* Of preconditioners by the solvers that this rank sees. */
static int64_t Builds(const Divided *d)
{
  int64_t n = 0;
  for (int k = 0; k < d->crew.solvers; k++) n += d->part[k].ksp ? d->part[k].ksp->pc->builds : 0;
  return n;
}

static PoiseErr Update(PoiseKSP ksp)
{
  Divided *d = ksp->divided;
  int64_t builds = Builds(d);
  TRY(Look(ksp));
  poiseCrewClear(&d->crew);
  bool values = (d->A.changed | d->P.changed) & CHANGED_VALUES;
  TRY(poiseCrewDo(&d->crew, SendAll(ksp), SetUpPart, NULL, d)); /* after a failure the same is out of date */
  d->built = true;
  if (values) d->moved_values = 0;
  Note(d, ksp->given_A, &d->A);
  if (ksp->given_P != ksp->given_A) Note(d, ksp->given_P, &d->P);
  if (!d->outlived) return POISE_OK;
  int64_t anew = Builds(d) != builds;
  TRY(poiseCommMaxInt(ksp->ctx->comm, &anew, 1));
  if (!anew) return POISE_OK;
  d->built = false; /* other settings have ended what was kept: rows are those of the new pattern */
  return Update(ksp);
}

PoiseErr poiseKSPDivide(PoiseKSP ksp, PoisePCSide side, PoiseNormType norm)
{
  PoiseErr e = Check(ksp);
  if (!e && !ksp->divided) e = Create(ksp);
  TRY(PoiseAgree(ksp->ctx, e));
  TRY(poiseKSPFollowNormal(ksp)); /* which no divided solve has, but one before may have had */
  ksp->side = side;
  ksp->norm = norm;
  return Update(ksp);
}

void poiseKSPLetGoParts(PoiseKSP ksp, bool other_A, bool other_P)
{
  if (ksp->divided && other_A) ksp->divided->A.seen.of = NULL;
  if (ksp->divided && other_P) ksp->divided->P.seen.of = NULL;
}

/* ---- solves ---------------------------------------------------------------------------------- */

/* x of the application's comes back on the side where it has memory. */
static PoiseErr SendX(Divided *d, PoiseVec x, bool guess)
{
  Parcel parcel = {.bytes = x->data.bytes,
                   .side = x->data.device && !d->ctx->device->ops->is_host ? DEVICE : HOST};
  TRY(guess ? poiseBufferUpdate(&x->data, parcel.side, &parcel.p)
            : poiseBufferWrite(&x->data, parcel.side, &parcel.p));
  TRY(poiseDeviceSync(d->ctx->device)); /* nothing queued writes there */
  d->side = parcel.side;
  d->guess = NO_PARCEL;
  if (guess) TRY(poiseCrewSend(&d->crew, parcel, &d->guess));
  parcel.returns = true;
  return poiseCrewSend(&d->crew, parcel, &d->x);
}

static PoiseErr SendVectors(Divided *d, PoiseVec b, PoiseVec x, bool guess)
{
  TRY(poiseCrewSendBuffer(&d->crew, &b->data, &d->b));
  return SendX(d, x, guess);
}

static PoiseErr FetchVectors(const Divided *d, Part *p)
{
  const Layout *rows = d->outer->given_A->rows;
  TRY(FetchVec(d, p->b, rows, d->b));
  return d->guess != NO_PARCEL ? FetchVec(d, p->x, rows, d->guess) : POISE_OK;
}

static PoiseErr DeliverPart(const Divided *d, PoiseVec x)
{
  const double *p;
  TRY(poiseVecRead(x, &p));
  TRY(poiseCrewDeliver(&d->crew, x->ctx, d->outer->given_A->rows, d->x, x->layout->begin, x->layout->n, p));
  return poiseDeviceSync(x->ctx->device);
}

static PoiseErr SolvePart(PoiseContext ctx, void *divided)
{
  const Divided *d = divided;
  Part *p = &d->part[ctx->comm->rank];
  TRY(PoiseAgree(ctx, FetchVectors(d, p)));
  TRY(PoiseKSPSolve(p->ksp, p->b, p->x));
  return PoiseAgree(ctx, DeliverPart(d, p->x));
}

typedef struct Told { /* what the application asks of the latest solve */
  KSPResult result;
  Claim claim;
  int64_t size; /* of the history; -1: none is kept */
} Told;

static PoiseErr MakeRoom(PoiseKSP ksp, int64_t size)
{
  if (size <= ksp->history.capacity) return POISE_OK;
  TRY(poiseRealloc(ksp->ctx, (size_t)size * sizeof(double), 0, "residual history", &ksp->history.norms));
  ksp->history.capacity = size;
  return POISE_OK;
}

/* From the first solver, which rank 0 of the owners sees. */
static PoiseErr TakeResult(PoiseKSP ksp)
{
  Comm *comm = ksp->ctx->comm;
  const PoiseKSP inner = comm->rank ? NULL : ksp->divided->part[0].ksp;
  Told told;
  memset(&told, 0, sizeof told);
  if (inner) told = (Told){inner->result, inner->solve.claim, inner->history.keep ? inner->history.size : -1};
  if (comm->size > 1) TRY(comm->ops->bcast(comm, &told, sizeof told, 0));
  ksp->result = told.result;
  ksp->solve.claim = told.claim;
  ksp->history.size = 0;
  if (told.size <= 0) return POISE_OK;
  TRY(PoiseAgree(ksp->ctx, MakeRoom(ksp, told.size)));
  if (inner) memcpy(ksp->history.norms, inner->history.norms, (size_t)told.size * sizeof(double));
  if (comm->size > 1) TRY(comm->ops->bcast(comm, ksp->history.norms, (size_t)told.size * sizeof(double), 0));
  ksp->history.size = told.size;
  return POISE_OK;
}

/* Solvers write x on one side: what callbacks have read of it, on the other one, is old then. */
PoiseErr poiseKSPHandBack(const Divided *d)
{
  double *p;
  return d->solution ? poiseBufferUpdate(&d->solution->data, d->side, &p) : POISE_OK;
}

PoiseErr poiseKSPRunDivided(PoiseKSP ksp, PoiseVec b, PoiseVec x)
{
  Divided *d = ksp->divided;
  bool guess = ksp->options.guess_nonzero;
  d->solution = x;
  poiseCrewClear(&d->crew);
  d->moved_vectors = (int64_t)(b->data.bytes + x->data.bytes + (guess ? x->data.bytes : 0));
  PoiseErr e = poiseCrewDo(&d->crew, SendVectors(d, b, x, guess), SolvePart, poiseKSPAnswer, d);
  d->solution = NULL;
  TRY(e);
  return TakeResult(ksp);
}

static PoiseErr ApplyPart(PoiseContext ctx, void *divided)
{
  const Divided *d = divided;
  Part *p = &d->part[ctx->comm->rank];
  TRY(PoiseAgree(ctx, FetchVectors(d, p)));
  TRY(PoisePCApply(p->ksp->pc, p->b, p->x));
  return PoiseAgree(ctx, DeliverPart(d, p->x));
}

PoiseErr poiseKSPApplyDivided(PoiseKSP ksp, PoiseVec r, PoiseVec z)
{
  Divided *d = ksp->divided;
  poiseCrewClear(&d->crew);
  return poiseCrewDo(&d->crew, SendVectors(d, r, z, false), ApplyPart, NULL, d);
}

PoiseKSP poiseKSPOuter(const Divided *d)
{
  return d->outer;
}

static PoiseErr BuildPart(PoiseContext ctx, void *divided)
{
  const Divided *d = divided;
  Part *p = &d->part[ctx->comm->rank];
  PoiseVec x;
  TRY(PoiseVecDuplicate(p->x, &x));
  PoiseErr e = PoiseKSPBuildSolution(p->ksp, x);
  if (!e) e = PoiseAgree(ctx, DeliverPart(d, x));
  PoiseVecDestroy(&x);
  return e;
}

bool poiseKSPIsGathered(PoiseKSP ksp)
{
  const Divided *d = ksp->divided;
  return d && d->ctx->group && d->solution && poiseGroupBusy(d->ctx->group);
}

/* In a callback of a gathered solve: its x so far goes where the last one will. */
PoiseErr poiseKSPBuildGathered(PoiseKSP ksp, PoiseVec x)
{
  Divided *d = ksp->divided;
  TRY(PoiseAgree(ksp->ctx, poiseKSPHandBack(d)));
  TRY(PoiseAgree(ksp->ctx, poiseGroupWithin(ksp->ctx->group, BuildPart, d)));
  return PoiseAgree(ksp->ctx, x == d->solution ? POISE_OK : PoiseVecCopy(d->solution, x));
}

/* ---- questions ------------------------------------------------------------------------------- */

void poiseKSPAddParts(PoiseKSP ksp, PoiseBytes *sum)
{
  const Divided *d = ksp->divided;
  for (int r = 0; d && r < d->crew.solvers; r++) {
    PoiseBytes one = {0};
    if (d->part[r].ksp) (void)PoiseKSPBytes(d->part[r].ksp, &one);
    sum->host += one.host, sum->device += one.device;
  }
}

static PoiseErr ViewPart(PoiseContext ctx, void *divided)
{
  return PoiseKSPView(((const Divided *)divided)->part[ctx->comm->rank].ksp);
}

typedef struct Holding { /* of a solver, for the view */
  int device, threads;
  int64_t numbers, host, there; /* values; bytes */
} Holding;

static Holding HoldingOf(const Divided *d, PoiseContext solver, int r)
{
  const Device *dev = solver->device;
  return (Holding){dev->id, dev->threads, d->part[r].A.numbers, solver->memory.bytes, dev->bytes};
}

/* Of solver r. On all ranks. */
static PoiseErr FindHolding(const Divided *d, int r, Holding *h)
{
  PoiseContext ctx = d->ctx;
  const RankGroup *g = ctx->group;
  memset(h, 0, sizeof *h);
  if (!g)
    *h = HoldingOf(d, poiseWorkersContext(ctx->workers, r), r);
  else if (poiseGroupNumber(g) == r && poiseGroupLeader(g))
    *h = HoldingOf(d, poiseGroupLeader(g), r);
  return g ? ctx->comm->ops->bcast(ctx->comm, h, sizeof *h, poiseGroupFirst(g, r)) : POISE_OK;
}

static PoiseErr ViewSolver(const Divided *d, int r, const Holding *h)
{
  PoiseContext ctx = d->ctx;
  const DeviceOps *ops = ctx->device->ops;
  const RankGroup *g = ctx->group;
  char id[16] = "", who[48];
  if (ops->count) snprintf(id, sizeof id, " %d", h->device);
  if (g)
    snprintf(who, sizeof who, "ranks %d to %d", poiseGroupFirst(g, r), poiseGroupFirst(g, r + 1) - 1);
  else
    snprintf(who, sizeof who, "worker %d", r);
  return poisePrint(ctx,
                    "    %s: device %s%s, %d host threads, %lld rows, %lld nonzeros; holds %lld bytes on "
                    "the host, %lld on the device\n",
                    who, ops->name, id, h->threads, (long long)(d->start[r + 1] - d->start[r]),
                    (long long)h->numbers, (long long)h->host, (long long)h->there);
}

static PoiseErr ViewSummary(const Divided *d, double largest)
{
  PoiseContext ctx = d->ctx;
  if (ctx->group)
    TRY(poisePrint(ctx, "  gathered: %d ranks solve as %d (%s), each on a GPU that some share\n",
                   PoiseSize(ctx), d->crew.solvers, poiseCrewWord(ctx)));
  else
    TRY(poisePrint(ctx, "  divided over %d workers (%s), threads of the context, which own the parts\n",
                   d->crew.solvers, poiseCrewWord(ctx)));
  return poisePrint(
      ctx,
      "    largest share of nonzeros over the mean: %.3f\n"
      "    the application's matrix and vectors stay its own: values %s, %lld bytes when they were new; "
      "%lld bytes of vectors in the latest solve\n",
      largest, ctx->device->ops->is_host ? "used in place" : "copied", (long long)d->moved_values,
      (long long)d->moved_vectors);
}

/* Before the first set-up. */
static PoiseErr ViewPlan(PoiseKSP ksp)
{
  PoiseContext ctx = ksp->ctx;
  bool gathers = ctx->group;
  return poisePrint(ctx, "KSP%s%s: type %s, to be %s %d %s (%s)\n", ksp->prefix ? " " : "",
                    ksp->prefix ? ksp->prefix : "", ksp->type->name, gathers ? "gathered on" : "divided over",
                    gathers ? poiseGroupCount(ctx->group) : ctx->most_workers, gathers ? "ranks" : "workers",
                    poiseCrewWord(ctx));
}

PoiseErr poiseKSPViewDivided(PoiseKSP ksp)
{
  enum { SHOWN = 16 };
  Divided *d = ksp->divided;
  PoiseContext ctx = ksp->ctx;
  Holding h[SHOWN], one;
  int64_t most = 0, all = 0;
  if (!d || !d->A.seen.of) return ViewPlan(ksp);
  poiseCrewClear(&d->crew);
  TRY(poiseCrewDo(&d->crew, POISE_OK, ViewPart, NULL, d));
  int parts = d->crew.solvers;
  for (int r = 0; r < parts; r++) {
    TRY(FindHolding(d, r, r < SHOWN ? &h[r] : &one));
    int64_t n = r < SHOWN ? h[r].numbers : one.numbers;
    most = n > most ? n : most, all += n;
  }
  TRY(ViewSummary(d, all ? (double)most * parts / (double)all : 1));
  for (int r = 0; r < parts && r < SHOWN; r++) TRY(ViewSolver(d, r, &h[r]));
  return parts > SHOWN ? poisePrint(ctx, "    and %d more\n", parts - SHOWN) : POISE_OK;
}
