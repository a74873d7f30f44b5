/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Solves in a context of one rank that workers do (-gpus, -solve_ranks). Each worker has rows of A and of P,
  and a solver with the settings of the application's, on the communicator of the workers. A and P stay where
  they are: on the host the workers use their values in place. A solve hands out b, and a guess, and collects
  x.

    application      A, b, x, settings       monitors and tests that see numbers
                     |  rows of A, b    ^  x, reason, norms
    worker r         A_r, b_r, solver --> x_r

  Rows are cut by nonzeros, as -mat_partition nonzeros cuts them (mat/order/partition.c). A new pattern makes
  all parts anew. New values, null spaces and a new way to multiply are passed on, each alone. What workers
  read of the application's objects is found by the calling thread before each job, and does not change
  during it.
*/
#include "mat/csr/replace_values.h"
#include "mat/csr/entries.h"
#include "mat/csr/shares.h"
#include "mat/object/mat_type.h"
#include "mat/order/arrange.h"
#include "divided.h"
#include "methods.h"
#include "reordered.h"

enum { SPACES = 3 }; /* null space, that of the transpose, near null space */

typedef struct Source { /* numbers of an object of the application's */
  const double *p;
  Side side;
} Source;

typedef struct Original { /* one of the application's matrices */
  Moved seen;             /* as the parts were made from it; seen.mat is not used */
  bool parted;            /* then; by pcsr workers rearrange rows among them */
  unsigned changed;       /* since then, for the present job: CHANGED_...; with the pattern all has changed */
  HostCsr h;              /* its pattern, while parts are made */
  Source val;
  bool fetched; /* its values were on the device alone until parts were made from a copy on the host */
  Source space[SPACES][POISE_MAX_BATCH];
} Original;

typedef struct PartOf { /* a worker's rows of a matrix */
  PoiseMat mat;
  int64_t first, numbers; /* of its values, in the values of the whole matrix */
} PartOf;

typedef struct Part { /* what a worker has. Its thread alone changes it */
  PartOf A, P;        /* P is empty if they are one */
  PoiseKSP ksp;
  PoiseVec b, x;
} Part;

struct Divided {
  PoiseContext ctx;
  Original A, P;
  PoiseInt *start; /* the first row of each part, and the number of rows; valid if A has been seen */
  Part *part;
  Source b, x;          /* of the present solve */
  double *to;           /* x of the application's, on the side x.side */
  int64_t moved_values; /* bytes, when values were last new; 0: they are in place */
  int64_t moved_vectors;
  WorkersTask destruction;
};

/* ---- checks ---------------------------------------------------------------------------------- */

bool poiseKSPDivides(PoiseKSP ksp)
{
  return ksp->ctx->most_workers > 1 && !ksp->inside;
}

static PoiseErr CheckMatrix(PoiseMat A)
{
  if (!poiseMatHolds(A))
    FAIL(POISE_ERR_UNSUPPORTED, "a matrix of type %s has no rows that could be divided (%s)", A->type->name,
         poiseWorkersWord(A->ctx));
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
    FAIL(POISE_ERR_UNSUPPORTED, "preconditioner %s takes whole vectors, and the solve is divided (%s)",
         ksp->pc->type->name, poiseWorkersWord(ksp->ctx));
  return POISE_OK;
}

PoiseErr poiseKSPCheckWhole(PoiseKSP ksp, const char *what)
{
  if (poiseKSPDivides(ksp))
    FAIL(POISE_ERR_UNSUPPORTED,
         "%s of a solver that is divided (%s): its vectors and preconditioner are in parts", what,
         poiseWorkersWord(ksp->ctx));
  return POISE_OK;
}

/* ---- where the application's numbers are ----------------------------------------------------- */

/* The valid side; nothing travels, unless both are new. */
static PoiseErr Locate(Buffer *b, Source *s)
{
  s->side = poiseBufferIsCurrent(b, DEVICE) ? DEVICE : HOST;
  TRY(poiseBufferRead(b, s->side, &s->p));
  return s->side == DEVICE ? poiseDeviceSync(b->dev) : POISE_OK;
}

static PoiseErr LocateSpaces(PoiseMat A, Original *o)
{
  const NullSpace *const space[SPACES] = {&A->null, &A->left, &A->near};
  for (int s = 0; s < SPACES; s++)
    for (int k = 0; k < space[s]->n; k++) TRY(Locate(&space[s]->v[k]->data, &o->space[s][k]));
  return POISE_OK;
}

/* What the parts must take from A. New values and null spaces may stay on the device; parts are made from the
   host's arrays. */
static PoiseErr LookAt(PoiseMat A, Original *o)
{
  bool anew = poiseMovedStale(&o->seen, A) == MOVED_PATTERN || o->parted != A->asked.parted;
  o->changed = anew ? ~0u : poiseMatChanged(&o->seen.seen, A);
  if (o->changed & (CHANGED_SPACES | CHANGED_NEAR)) TRY(LocateSpaces(A, o));
  if (o->changed & CHANGED_VALUES) TRY(Locate(&A->csr.val, &o->val));
  if (!anew) return POISE_OK;
  o->fetched = o->val.side == DEVICE && !poiseBufferIsCurrent(&A->csr.val, HOST);
  TRY(poiseMatReadEntries(A, &o->h));
  o->val = (Source){o->h.val, HOST};
  return POISE_OK;
}

/* ---- cuts ------------------------------------------------------------------------------------ */

typedef struct Weights { /* of nodes, whose nonzeros are between two offsets; without nonzeros all weigh 1 */
  const Csr *c;
  const void *ptr;
  int64_t nodes, per, total; /* per: rows of the CSR of a node */
} Weights;

static int64_t Before(const Weights *w, int64_t node)
{
  return w->total ? poiseCsrPtr(w->c, w->ptr, node * w->per) : node;
}

/* The part in whose equal share of the weight the middle of the node's weight lies. */
static int32_t PartOfNode(const Weights *w, int64_t node, int parts)
{
  const Shares shares = {parts, NULL};
  int64_t side = poiseCsrSide(w->c), numbers = w->total ? side * side : 1;
  int64_t before = numbers * Before(w, node), weight = numbers * Before(w, node + 1) - before;
  return poiseShareAt(&shares, before, weight, numbers * Before(w, w->nodes));
}

/* The parts of nodes ascend, so each part's first node is found by bisection. */
static void Cut(PoiseMat A, const void *ptr, int parts, PoiseInt *start)
{
  Weights w = {.c = &A->csr, .ptr = ptr, .nodes = A->rows->n / A->block_size};
  w.per = w.nodes ? A->csr.m / w.nodes : 1;
  w.total = A->csr.nz;
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
}

/* A preconditioner that is kept keeps its rows. */
static bool KeepsRows(PoiseKSP ksp)
{
  const Divided *d = ksp->divided;
  PoiseKSP first = d->part[0].ksp;
  int parts = poiseWorkersCount(d->ctx->workers);
  return ksp->options.reuse && first && first->pc->built && d->start[parts] == ksp->given_A->rows->n;
}

/* ---- the workers' matrices ------------------------------------------------------------------- */

/* Enqueue n numbers of the application's from number `first` on. */
static PoiseErr Fetch(PoiseContext ctx, Source s, int64_t first, int64_t n, double *to)
{
  return poiseDeviceCopyArray(ctx->device, to, s.p + first, (size_t)n * sizeof(double),
                              s.side == HOST ? COPY_TO_DEVICE : COPY_ON_DEVICE);
}

static PoiseErr FetchVec(PoiseVec x, Source s)
{
  double *to;
  TRY(poiseVecWrite(x, &to));
  TRY(Fetch(x->ctx, s, x->layout->begin, x->layout->n, to));
  return poiseDeviceSync(x->ctx->device);
}

typedef PoiseErr (*SetSpace)(PoiseMat, int constant, int n, const PoiseVec *);

static PoiseErr FetchSpace(PoiseMat B, int n, const Source *space, SetSpace set)
{
  PoiseVec v[POISE_MAX_BATCH] = {NULL};
  PoiseErr e = POISE_OK;
  for (int k = 0; !e && k < n; k++) {
    e = PoiseMatCreateVecs(B, &v[k], NULL);
    if (!e) e = PoiseAgree(B->ctx, FetchVec(v[k], space[k]));
  }
  if (!e) e = set(B, 0, n, v);
  for (int k = 0; k < n; k++) PoiseVecDestroy(&v[k]);
  return e;
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

/* The rows [start, start + n) of A, whose values are used in place on the host. */
static PoiseErr CreateRows(PoiseContext ctx, PoiseMat A, const Original *o, PoiseInt start, PoiseInt n,
                           PartOf *p)
{
  const Csr *c = &A->csr;
  int64_t side = poiseCsrSide(c), first = start / side, m = n / side, N = A->rows->N;
  int64_t begin = poiseCsrPtr(c, o->h.ptr, first), *ptr = NULL;
  PoiseOwn own = ctx->device->ops->is_host ? POISE_BORROW : POISE_COPY;
  const int32_t *col = c->nz ? o->h.col + begin : NULL;
  p->first = begin * side * side;
  p->numbers = (poiseCsrPtr(c, o->h.ptr, first + m) - begin) * side * side;
  const double *val = c->nz ? o->h.val + p->first : NULL;
  PoiseErr e = PoiseAgree(ctx, CopyOffsets(ctx, c, o->h.ptr, first, m, &ptr));
  if (!e && c->b)
    e = PoiseMatCreateBCSR(ctx, c->b, n, n, N, N, &(PoiseBCSR){.ptr64 = ptr, .col32 = col, .val = val}, own,
                           &p->mat);
  else if (!e)
    e = poiseMatCreateArrays(ctx, A->asked.type, false, n, n, N, N,
                             &(PoiseCSR){.ptr64 = ptr, .col32 = col, .val = val}, own, false, &p->mat);
  poiseFree(ctx, &ptr);
  return e;
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

static PoiseErr TakeSpaces(PoiseMat A, const Original *o, PoiseMat B)
{
  if (o->changed & CHANGED_NEAR) TRY(FetchSpace(B, A->near.n, o->space[2], PoiseMatSetNearNullSpace));
  if (!(o->changed & CHANGED_SPACES)) return POISE_OK;
  TRY(FetchSpace(B, A->null.n, o->space[0], PoiseMatSetNullSpace));
  return FetchSpace(B, A->left.n, o->space[1], PoiseMatSetTransposeNullSpace);
}

/* Into the old pattern. */
static PoiseErr TakeValues(const Original *o, const PartOf *p)
{
  PoiseErr e = poiseMatSetEntries(p->mat, o->val.side, o->val.p + p->first);
  if (!e) e = poiseDeviceSync(p->mat->ctx->device); /* the application may then change them */
  TRY(PoiseAgree(p->mat->ctx, e));
  p->mat->version.values++;
  return POISE_OK;
}

static PoiseErr CreatePart(PoiseContext ctx, PoiseMat A, const Original *o, const PoiseInt *start, PartOf *p)
{
  int r = ctx->comm->rank;
  PoiseMatDestroy(&p->mat);
  TRY(CreateRows(ctx, A, o, start[r], start[r + 1] - start[r], p));
  p->mat->block_size = A->block_size;
  return PoiseMatSetOptionsPrefix(p->mat, A->asked.prefix);
}

static PoiseErr Follow(PoiseContext ctx, PoiseMat A, const Original *o, const PoiseInt *start, PartOf *p)
{
  bool anew = o->changed & CHANGED_PATTERN;
  if (anew) TRY(CreatePart(ctx, A, o, start, p));
  if (o->changed & CHANGED_PRODUCT) TRY(TakeProduct(A, p->mat));
  TRY(TakeSpaces(A, o, p->mat));
  p->mat->asked.partition = A->asked.partition; /* no change of A itself */
  p->mat->asked.partition_given = A->asked.partition_given;
  p->mat->asked.order = A->asked.order;
  if (anew) return PoiseAgree(ctx, poiseBufferToDevice(&p->mat->csr.val)); /* the host's copy has served */
  return o->changed & CHANGED_VALUES ? TakeValues(o, p) : POISE_OK;
}

/* ---- set-up ---------------------------------------------------------------------------------- */

static PoiseErr MakeVectors(Part *p)
{
  PoiseVecDestroy(&p->b);
  PoiseVecDestroy(&p->x);
  return PoiseMatCreateVecs(p->A.mat, &p->x, &p->b);
}

/* The job of a set-up. */
static PoiseErr SetUpPart(PoiseContext ctx, void *solver)
{
  PoiseKSP ksp = solver;
  const Divided *d = ksp->divided;
  Part *p = &d->part[ctx->comm->rank];
  TRY(Follow(ctx, ksp->given_A, &d->A, d->start, &p->A));
  if (ksp->given_P != ksp->given_A)
    TRY(Follow(ctx, ksp->given_P, &d->P, d->start, &p->P));
  else
    PoiseMatDestroy(&p->P.mat);
  if (d->A.changed & CHANGED_PATTERN) TRY(MakeVectors(p));
  if (!p->ksp) TRY(PoiseKSPCreate(ctx, &p->ksp));
  PoiseMat P = p->P.mat ? p->P.mat : p->A.mat;
  if (p->ksp->given_A != p->A.mat || p->ksp->given_P != P) TRY(PoiseKSPSetOperators(p->ksp, p->A.mat, P));
  TRY(poiseKSPTakeDivided(ksp, p->ksp));
  return PoiseKSPSetUp(p->ksp);
}

static PoiseErr KeepPart(PoiseContext ctx, void *solver)
{
  PoiseKSP ksp = solver, inner = ksp->divided->part[ctx->comm->rank].ksp;
  return inner ? PoiseKSPSetReusePreconditioner(inner, ksp->options.reuse) : POISE_OK;
}

PoiseErr poiseKSPKeepParts(PoiseKSP ksp)
{
  return ksp->divided ? poiseWorkersDo(ksp->ctx->workers, KeepPart, ksp) : POISE_OK;
}

static PoiseErr Destroy(PoiseContext ctx, void *divided)
{
  Part *p = &((Divided *)divided)->part[ctx->comm->rank];
  PoiseKSPDestroy(&p->ksp);
  PoiseVecDestroy(&p->b);
  PoiseVecDestroy(&p->x);
  PoiseMatDestroy(&p->A.mat);
  PoiseMatDestroy(&p->P.mat);
  return POISE_OK;
}

static void Free(void *divided)
{
  Divided *d = divided;
  PoiseContext ctx = d->ctx;
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
  poiseWorkersFinish(d->ctx->workers, &d->destruction);
}

static PoiseErr Create(PoiseContext ctx, Divided **divided)
{
  TRY(poiseWorkersOpen(ctx));
  int parts = poiseWorkersCount(ctx->workers);
  Divided *d = NULL;
  TRY(poiseAlloc(ctx, sizeof *d, "divided solver", &d));
  d->ctx = ctx;
  PoiseErr e = poiseAllocArray(ctx, parts + 1, sizeof *d->start, "first rows of parts", &d->start);
  if (!e) e = poiseAllocArray(ctx, parts, sizeof *d->part, "parts of a solver", &d->part);
  if (e)
    Free(d);
  else
    *divided = d;
  return e;
}

/* The parts are as A is. */
static PoiseErr Note(Divided *d, PoiseMat A, Original *o)
{
  bool is_host = d->ctx->device->ops->is_host;
  o->seen = (Moved){A, NULL, A->version, A->block_size}, o->parted = A->asked.parted;
  if (o->changed & CHANGED_VALUES && !is_host) d->moved_values += (int64_t)A->csr.val.bytes;
  if (o->fetched) TRY(poiseBufferToDevice(&A->csr.val));
  o->fetched = false;
  return POISE_OK;
}

static PoiseErr Look(PoiseKSP ksp)
{
  Divided *d = ksp->divided;
  PoiseMat A = ksp->given_A, P = ksp->given_P;
  TRY(LookAt(A, &d->A));
  d->P.changed = 0;
  if (P != A) TRY(LookAt(P, &d->P));
  if (!(d->A.changed & CHANGED_PATTERN) || KeepsRows(ksp)) return POISE_OK;
  Cut(A, d->A.h.ptr, poiseWorkersCount(d->ctx->workers), d->start);
  if (P == A || d->P.changed & CHANGED_PATTERN) return POISE_OK;
  d->P.seen.of = NULL; /* P is cut like A */
  return LookAt(P, &d->P);
}

static PoiseErr Update(PoiseKSP ksp)
{
  Divided *d = ksp->divided;
  Reads reads = READS_NOTHING;
  TRY(Look(ksp));
  /* options of the solvers inside are read here, so that what the program sets later is not overridden */
  if (ksp->pc->type->reads) TRY(ksp->pc->type->reads(ksp->pc, &reads));
  bool values = (d->A.changed | d->P.changed) & CHANGED_VALUES;
  TRY(poiseWorkersDo(d->ctx->workers, SetUpPart, ksp)); /* after a failure the same is out of date */
  if (values) d->moved_values = 0;
  TRY(Note(d, ksp->given_A, &d->A));
  return ksp->given_P != ksp->given_A ? Note(d, ksp->given_P, &d->P) : POISE_OK;
}

PoiseErr poiseKSPDivide(PoiseKSP ksp, PoisePCSide side, PoiseNormType norm)
{
  TRY(Check(ksp));
  if (!ksp->divided) TRY(Create(ksp->ctx, &ksp->divided));
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

static PoiseErr FetchVectors(const Divided *d, Part *p)
{
  TRY(FetchVec(p->b, d->b));
  return d->x.p ? FetchVec(p->x, d->x) : POISE_OK;
}

static PoiseErr SolvePart(PoiseContext ctx, void *divided)
{
  const Divided *d = divided;
  Part *p = &d->part[ctx->comm->rank];
  TRY(PoiseAgree(ctx, FetchVectors(d, p)));
  return PoiseKSPSolve(p->ksp, p->b, p->x);
}

static PoiseErr DeliverPart(PoiseContext ctx, void *divided)
{
  const Divided *d = divided;
  PoiseVec x = d->part[ctx->comm->rank].x;
  Device *dev = ctx->device;
  const double *p;
  PoiseErr e = poiseVecRead(x, &p);
  if (!e)
    e = poiseDeviceCopyArray(dev, d->to + x->layout->begin, p, (size_t)x->layout->n * sizeof(double),
                             d->x.side == HOST ? COPY_TO_HOST : COPY_ON_DEVICE);
  if (!e) e = poiseDeviceSync(dev);
  return PoiseAgree(ctx, e);
}

/* x of the workers to the application's, on the side where it has memory. */
static PoiseErr Deliver(Divided *d, PoiseVec x)
{
  d->x.side = x->data.device && !d->ctx->device->ops->is_host ? DEVICE : HOST;
  TRY(poiseBufferWrite(&x->data, d->x.side, &d->to));
  TRY(poiseDeviceSync(d->ctx->device)); /* nothing queued writes there */
  return poiseWorkersDo(d->ctx->workers, DeliverPart, d);
}

/* What the application asks of the latest solve. */
static PoiseErr TakeResult(PoiseKSP ksp, PoiseKSP inner)
{
  const KSPHistory *h = &inner->history;
  ksp->result = inner->result;
  ksp->solve.claim = inner->solve.claim;
  ksp->history.size = 0;
  if (!h->keep) return POISE_OK;
  if (h->size > ksp->history.capacity) {
    TRY(poiseRealloc(ksp->ctx, (size_t)h->capacity * sizeof(double), 0, "residual history",
                     &ksp->history.norms));
    ksp->history.capacity = h->capacity;
  }
  if (h->size) memcpy(ksp->history.norms, h->norms, (size_t)h->size * sizeof(double));
  ksp->history.size = h->size;
  return POISE_OK;
}

PoiseErr poiseKSPRunDivided(PoiseKSP ksp, PoiseVec b, PoiseVec x)
{
  Divided *d = ksp->divided;
  d->x.p = NULL;
  TRY(Locate(&b->data, &d->b));
  if (ksp->options.guess_nonzero) TRY(Locate(&x->data, &d->x));
  d->moved_vectors = (int64_t)(b->data.bytes + x->data.bytes + (d->x.p ? x->data.bytes : 0));
  TRY(poiseWorkersDo(d->ctx->workers, SolvePart, d));
  TRY(TakeResult(ksp, d->part[0].ksp));
  return Deliver(d, x);
}

static PoiseErr ApplyPart(PoiseContext ctx, void *divided)
{
  const Divided *d = divided;
  Part *p = &d->part[ctx->comm->rank];
  TRY(PoiseAgree(ctx, FetchVec(p->b, d->b)));
  return PoisePCApply(p->ksp->pc, p->b, p->x);
}

PoiseErr poiseKSPApplyDivided(PoiseKSP ksp, PoiseVec r, PoiseVec z)
{
  Divided *d = ksp->divided;
  TRY(Locate(&r->data, &d->b));
  TRY(poiseWorkersDo(d->ctx->workers, ApplyPart, d));
  return Deliver(d, z);
}

/* ---- questions ------------------------------------------------------------------------------- */

void poiseKSPAddParts(PoiseKSP ksp, PoiseBytes *sum)
{
  const Divided *d = ksp->divided;
  for (int r = 0; d && r < poiseWorkersCount(d->ctx->workers); r++) {
    PoiseBytes one = {0};
    if (d->part[r].ksp) (void)PoiseKSPBytes(d->part[r].ksp, &one);
    sum->host += one.host, sum->device += one.device;
  }
}

static PoiseErr ViewPart(PoiseContext ctx, void *divided)
{
  return PoiseKSPView(((const Divided *)divided)->part[ctx->comm->rank].ksp);
}

static PoiseErr ViewWorker(const Divided *d, int r)
{
  PoiseContext ctx = d->ctx, worker = poiseWorkersContext(ctx->workers, r);
  const Device *dev = worker->device;
  char id[16] = "";
  if (dev->ops->count) snprintf(id, sizeof id, " %d", dev->id);
  return poisePrint(
      ctx,
      "    worker %d: device %s%s, %d host threads, %lld rows, %lld nonzeros; holds %lld bytes on "
      "the host, %lld on the device\n",
      r, dev->ops->name, id, dev->threads, (long long)(d->start[r + 1] - d->start[r]),
      (long long)d->part[r].A.numbers, (long long)worker->memory.bytes, (long long)dev->bytes);
}

PoiseErr poiseKSPViewDivided(PoiseKSP ksp)
{
  enum { SHOWN = 16 };
  const Divided *d = ksp->divided;
  PoiseContext ctx = ksp->ctx;
  int parts = ctx->most_workers;
  int64_t most = 0, all = 0;
  if (!d || !d->A.seen.of)
    return poisePrint(ctx, "KSP%s%s: type %s, to be divided over %d workers (%s)\n", ksp->prefix ? " " : "",
                      ksp->prefix ? ksp->prefix : "", ksp->type->name, parts, poiseWorkersWord(ctx));
  TRY(poiseWorkersDo(ctx->workers, ViewPart, ksp->divided));
  for (int r = 0; r < parts; r++) {
    int64_t n = d->part[r].A.numbers;
    most = n > most ? n : most, all += n;
  }
  TRY(poisePrint(
      ctx,
      "  divided over %d workers (%s), threads of the context, which own the parts\n"
      "    largest share of nonzeros over the mean: %.3f\n"
      "    the application's matrix and vectors stay its own: values %s, %lld bytes when they were new; "
      "%lld bytes of vectors in the latest solve\n",
      parts, poiseWorkersWord(ctx), all ? (double)most * parts / (double)all : 1,
      ctx->device->ops->is_host ? "used in place" : "copied", (long long)d->moved_values,
      (long long)d->moved_vectors));
  for (int r = 0; r < parts && r < SHOWN; r++) TRY(ViewWorker(d, r));
  return parts > SHOWN ? poisePrint(ctx, "    and %d more\n", parts - SHOWN) : POISE_OK;
}
