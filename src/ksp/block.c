/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Several systems with one matrix at once: A X = B for the columns of B. An iteration is that of the method,
  with wide vectors: the matrix and M are read once for all columns, and each column has its own scalars, norm
  and end. A system that has ended stays as it is. When half of them have ended, the others go on in a solver
  of half as many columns, with their vectors and scalars as they are.

  Solvers of fewer columns make a chain of levels, level 0 having all. They borrow the settings, the method's
  data and the preconditioner of the application's solver, the owner. What such an iteration cannot do is done
  by the owner, one system after the other: methods and matrices that have no such iteration, and systems
  whose claim of convergence is refuted, whose norm is out of range, or whose method has broken down.
*/
#include "block.h"
#include "claim.h"
#include "divided.h"
#include "inside.h"
#include "loop.h"
#include "methods.h"
#include "operator.h"
#include "monitor.h"
#include "setup.h"
#include "solve.h"
#include "vec/vec_kernels.h"

enum { LEVELS = 6 }; /* 32 columns, 16, ... 1 */

typedef struct Column { /* one of the systems */
  KSPResult result;
  KSPHistory history;
  bool alone; /* the owner has to solve it */
} Column;

typedef struct Level {
  PoiseKSP ksp;                /* of that many columns; NULL: not made yet */
  int list[POISE_MAX_COLUMNS]; /* which columns of the level before its columns are */
} Level;

struct Block {
  int n; /* columns of the latest solve */
  Column column[POISE_MAX_COLUMNS];
  Level level[LEVELS];
  PoiseVec b, x; /* of one column */
  Buffer work[LEVELS];
  const char *why; /* the systems were solved one after the other; NULL: they were not */
};

/* ---- life ------------------------------------------------------------------------------------ */

/* What a level borrows goes back. */
static void DestroyLevel(PoiseKSP *level)
{
  PoiseKSP ksp = *level;
  if (!ksp) return;
  PoiseContext ctx = ksp->ctx;
  poiseKSPRelease(ksp);
  poiseFree(ctx, &ksp->history.norms);
  poiseFree(ctx, level);
}

void poiseKSPDropLevels(PoiseKSP ksp)
{
  Block *b = ksp->block;
  if (!b || ksp->borrows) return; /* a level has the block of its owner */
  for (int l = 0; l < LEVELS; l++) {
    DestroyLevel(&b->level[l].ksp);
    poiseBufferDestroy(&b->work[l]);
  }
}

void poiseKSPDropBlock(PoiseKSP ksp)
{
  Block *b = ksp->block;
  if (!b) return;
  poiseKSPDropLevels(ksp);
  PoiseVecDestroy(&b->b);
  PoiseVecDestroy(&b->x);
  for (int j = 0; j < POISE_MAX_COLUMNS; j++) poiseFree(ksp->ctx, &b->column[j].history.norms);
  poiseFree(ksp->ctx, &ksp->block);
}

void poiseKSPAddBlockBytes(PoiseKSP ksp, PoiseBytes *sum)
{
  const Block *b = ksp->block;
  for (int l = 0; b && l < LEVELS; l++) {
    if (b->level[l].ksp) poiseKSPAddVectors(b->level[l].ksp, sum);
    poiseBufferAdd(&b->work[l], sum);
  }
  if (b && b->b) poiseBufferAdd(&b->b->data, sum);
  if (b && b->x) poiseBufferAdd(&b->x->data, sum);
}

/* Columns of a level, where level 0 has n. */
static int ColumnsOf(int n, int level)
{
  for (; level > 0; level--) n = (n + 1) / 2;
  return n;
}

/* What a level takes from the owner before each solve. */
static void Borrow(PoiseKSP owner, PoiseKSP ksp)
{
  ksp->type = owner->type, ksp->data = owner->data, ksp->prefix = owner->prefix;
  ksp->options = owner->options;
  ksp->given_A = owner->given_A, ksp->given_P = owner->given_P;
  ksp->A = owner->A, ksp->pc = owner->pc;
  ksp->norm = owner->norm, ksp->side = owner->side;
  ksp->block = owner->block;
  ksp->borrows = true;
}

/* Systems whose iterations may be packed: that is simple where each iteration is like the others. In a space
   that all share there is none to be left out. */
static bool Packs(PoiseKSP ksp)
{
  return !ksp->type->shared && !ksp->type->finish && poiseKSPCycle(ksp) == 1 && !poiseKSPForm(ksp)->restart;
}

/* Rows of a phase's blocks on a GPU: some thousand numbers, so that small problems have blocks enough. On the
   host as for one system, for the same bits. */
static int RowsOfBlocks(const Device *dev, int columns)
{
  int rows = POISE_BLOCK;
  if (!poiseModelIsGpu(&dev->model) || !dev->ops->owns) return 0;
  while (rows * columns > 2 * POISE_BLOCK && rows > 64) rows /= 2;
  return rows;
}

/* Of systems.work: what phases need, then what systems share, with the sums of such numbers. */
static int64_t WorkOf(PoiseKSP ksp, int n)
{
  int64_t sums = GRAM_PAIRS * (int64_t)n * n;
  if (!ksp->type->shared) return POISE_SYSTEMS_WORK;
  return POISE_SYSTEMS_WORK + ksp->type->shared(n) + sums * (1 + GRAM_BLOCKS);
}

static PoiseErr MakeLevel(PoiseKSP owner, int level, int n)
{
  Block *b = owner->block;
  PoiseContext ctx = owner->ctx;
  PoiseKSP ksp;
  double *work = NULL;
  TRY(poiseAlloc(ctx, sizeof *ksp, "solver of several systems", &b->level[level].ksp));
  ksp = b->level[level].ksp;
  ksp->ctx = ctx;
  Borrow(owner, ksp);
  TRY(poiseLayoutColumns(owner->A->cols, n, &ksp->layout));
  TRY(poiseBufferCreate(ctx->device, (size_t)WorkOf(ksp, n) * sizeof(double), "coefficients of systems",
                        &b->work[level]));
  poiseBufferZero(&b->work[level]); /* it has a counter */
  TRY(poiseBufferUpdate(&b->work[level], DEVICE, &work));
  ksp->systems = (Systems){.n = n, .rows = RowsOfBlocks(ctx->device, n), .work = work};
  if (Packs(ksp)) ksp->systems.enough = n / 2;
  return POISE_OK;
}

/* A and M work on so many columns now: halos of ranks are for one number of them. Collective; agrees. */
static PoiseErr TakeColumns(PoiseKSP owner, int level)
{
  int n = ColumnsOf(owner->block->n, level);
  TRY(PoiseAgree(owner->ctx, poiseMatReadyColumns(owner->A, n)));
  return PoiseAgree(owner->ctx, poisePCReadyColumns(owner->pc, n));
}

/* Make a level, or take it as it is. Collective; agrees. */
static PoiseErr OpenLevel(PoiseKSP owner, int level)
{
  Block *b = owner->block;
  int n = ColumnsOf(b->n, level);
  PoiseKSP *ksp = &b->level[level].ksp;
  PoiseErr e;
  TRY(TakeColumns(owner, level));
  if (!*ksp) {
    e = PoiseAgree(owner->ctx, MakeLevel(owner, level, n));
    if (!e) e = poiseKSPAllocate(*ksp);
    if (e) DestroyLevel(ksp);
    TRY(e);
  }
  Borrow(owner, *ksp);
  (*ksp)->loop.eager = poiseKSPWhyEager(*ksp);
  TRY(PoiseAgree(owner->ctx, poiseKSPPrepare(*ksp)));
  poiseKSPReset(*ksp);
  return (*ksp)->loop.eager ? POISE_OK : poiseKSPChooseStep(*ksp);
}

/* ---- what happens to each system ------------------------------------------------------------- */

static const double *SlotsOf(PoiseKSP ksp, const double *status, int j)
{
  return status + poiseScalarsOf(&ksp->systems, j);
}

static PoiseInt IterationsOf(const double *slots)
{
  return (PoiseInt)(slots[SLOT_DONE] != 0 ? slots[SLOT_ITS_FINAL]
                                          : fmax(slots[SLOT_ITS], slots[SLOT_ITS_ODD]));
}

/* Which system column j of a level is. */
static int SystemOf(const Block *b, int level, int j)
{
  for (; level > 0; level--) j = b->level[level].list[j];
  return j;
}

static int LevelOf(PoiseKSP ksp)
{
  int level = 0;
  while (ksp->block->level[level].ksp != ksp) level++;
  return level;
}

static PoiseErr KeepNorms(PoiseContext ctx, KSPHistory *h, const double *ring, int64_t mask, PoiseInt its)
{
  for (PoiseInt it = h->size; it <= its; it++) {
    if (it >= h->capacity) {
      int64_t capacity = 2 * (it + 1) + 64;
      TRY(poiseRealloc(ctx, (size_t)capacity * sizeof(double), (size_t)h->size * sizeof(double),
                       "residual history", &h->norms));
      h->capacity = capacity;
    }
    h->norms[it] = ring[it & mask];
    h->size = it + 1;
  }
  return POISE_OK;
}

void poiseKSPKeepColumns(PoiseKSP ksp, const double *status)
{
  Block *b = ksp->block;
  int level = LevelOf(ksp);
  for (int j = 0; j < ksp->systems.n; j++) {
    const double *slots = SlotsOf(ksp, status, j);
    Column *c = &b->column[SystemOf(b, level, j)];
    if (c->history.keep)
      poiseKSPFailed(
          ksp, KeepNorms(ksp->ctx, &c->history, slots + RING_AT, ksp->loop.ring - 1, IterationsOf(slots)));
  }
}

/* How the iterations of column j of a level have ended. */
static void TakeResult(PoiseKSP ksp, int level, int j)
{
  Block *b = ksp->block;
  const double *slots = SlotsOf(ksp, ksp->loop.status[0], j);
  KSPResult *r = &b->column[SystemOf(b, level, j)].result;
  memcpy(r->slots, slots, sizeof r->slots);
  r->its = IterationsOf(slots);
  r->rnorm = slots[SLOT_NORM];
  r->reason = slots[SLOT_DONE] != 0 ? (PoiseKSPReason)(int)slots[SLOT_REASON] : POISE_ITERATING;
}

/* ---- from level to level --------------------------------------------------------------------- */

/* Which columns the next level has: those that go on, and some of the others to fill it. Returns how many go
   on. */
static int ChooseColumns(PoiseKSP ksp, int n, int *list)
{
  int running = 0, k = 0;
  for (int ended = 0; ended < 2; ended++)
    for (int j = 0; j < ksp->systems.n && k < n; j++)
      if ((SlotsOf(ksp, ksp->loop.status[0], j)[SLOT_DONE] != 0) == ended) list[k++] = j, running += !ended;
  return running;
}

/* Vectors and scalars of the columns in the list, as they are. */
static PoiseErr Pack(PoiseKSP from, PoiseKSP to, const int *list)
{
  Device *dev = from->ctx->device;
  size_t bytes = (size_t)from->systems.scalars * sizeof(double),
         array = (size_t)from->systems.arrays * sizeof(double);
  for (int k = 0; k < from->nwork; k++) TRY(poiseVecPickColumns(from->work[k], list, to->work[k]));
  for (int c = 0; c < to->systems.n; c++) {
    int64_t at = poiseScalarsOf(&from->systems, list[c]), place = poiseScalarsOf(&to->systems, c);
    TRY(poiseDeviceCopy(dev, to->scalars.slots + place, from->scalars.slots + at, bytes, COPY_ON_DEVICE));
    at = poiseArrayOf(&from->systems, list[c]), place = poiseArrayOf(&to->systems, c);
    TRY(poiseDeviceCopy(dev, to->scalars.array + place, from->scalars.array + at, array, COPY_ON_DEVICE));
  }
  return POISE_OK;
}

/* Columns of work[0] of a level, back to where they came from. */
static PoiseErr Unpack(PoiseKSP from, PoiseKSP to, const int *list, PoiseVec column)
{
  for (int c = 0; c < from->systems.n; c++) {
    TRY(poiseVecTakeColumn(from->work[0], c, column));
    TRY(poiseVecPutColumn(column, list[c], to->work[0]));
  }
  return POISE_OK;
}

/* The parity, and where norms stand, of a level that goes on behind `its` iterations. */
static void Continue(PoiseKSP from, PoiseKSP to, PoiseInt its)
{
  to->loop.parity = (int)(its % 2);
  to->loop.cycle_at = 0;
  to->solve.reported = from->solve.reported, to->solve.printed = from->solve.printed;
  to->solve.first = from->solve.first, to->solve.pace = from->solve.pace;
  to->result.rnorm = from->result.rnorm;
  to->solve.b = NULL;
}

/* Iterate the systems of a level that go on, until all have ended. */
static PoiseErr Iterate(PoiseKSP owner, int level, PoiseVec x)
{
  Block *b = owner->block;
  PoiseKSP ksp = b->level[level].ksp;
  poiseKSPAllHaveBegun(ksp);
  if (ksp->loop.eager || ksp->type->once)
    poiseKSPEager(ksp);
  else if (poiseKSPAllAreThere(ksp, poiseKSPCapture(ksp)))
    poiseKSPReplay(ksp, x);
  poiseKSPFailed(ksp, poiseKSPFetchSlots(ksp)); /* a device may have gone on behind the last look */
  TRY(poiseKSPAgree(ksp));
  poiseKSPKeepColumns(ksp, ksp->loop.status[0]);
  for (int j = 0; j < ksp->systems.n; j++) TakeResult(ksp, level, j);
  if (level + 1 >= LEVELS || !ksp->systems.enough) return poiseKSPAgree(ksp);
  Level *next = &b->level[level + 1];
  int running = ChooseColumns(ksp, ColumnsOf(b->n, level + 1), next->list);
  PoiseInt its = IterationsOf(SlotsOf(ksp, ksp->loop.status[0], next->list[0]));
  if (!running) return poiseKSPAgree(ksp);
  bool forbids = poiseDeviceForbid(owner->ctx->device, false); /* a few times a solve */
  PoiseErr e = OpenLevel(owner, level + 1);
  if (!e) e = PoiseAgree(owner->ctx, Pack(ksp, next->ksp, next->list));
  if (!e) Continue(ksp, next->ksp, its);
  poiseDeviceForbid(owner->ctx->device, forbids);
  if (!e) e = Iterate(owner, level + 1, x);
  if (!e) e = PoiseAgree(owner->ctx, Unpack(next->ksp, ksp, next->list, b->x));
  if (!e) e = TakeColumns(owner, level);
  return e ? e : poiseKSPAgree(ksp);
}

/* ---- a solve of all -------------------------------------------------------------------------- */

/* Does what was delivered of system j do? What does not is left to the owner. */
static void Judge(PoiseKSP ksp, int j, bool checks)
{
  Column *c = &ksp->block->column[j];
  KSPResult *r = &c->result;
  const double *slots = SlotsOf(ksp, ksp->loop.status[0], j);
  ksp->result = *r; /* as the norms' functions look there */
  ksp->solve.claim = (Claim){.best = INFINITY, .best_square = INFINITY};
  if (r->reason > 0 && slots[SLOT_RESULT] != 0) r->reason = POISE_DIVERGED_NANORINF;
  bool first = r->its == 0 && ksp->norm != POISE_KSP_NORM_NATURAL && !ksp->type->factor;
  bool refuted = checks && r->reason > 0 && !first && !poiseKSPHolds(ksp, slots);
  c->alone = refuted || (int)r->reason == REASON_RANGE || r->reason == POISE_DIVERGED_BREAKDOWN ||
             r->reason == POISE_ITERATING;
}

/* x of all systems, and b - A x where claims are checked. */
static PoiseErr Conclude(PoiseKSP ksp, PoiseVec x)
{
  bool checks;
  ksp->result.reason = POISE_CONVERGED_RTOL; /* of some */
  ksp->result.its = 1;
  checks = poiseKSPChecks(ksp);
  ksp->solve.finishing = true;
  poiseKSPEnqueueEnd(ksp, x, checks);
  poiseKSPFailed(ksp, poiseKSPFetchSlots(ksp));
  ksp->solve.finishing = false;
  TRY(poiseKSPAgree(ksp));
  for (int j = 0; j < ksp->systems.n; j++) Judge(ksp, j, checks);
  return POISE_OK;
}

static PoiseErr Run(PoiseKSP owner, PoiseVec b, PoiseVec x)
{
  TRY(OpenLevel(owner, 0));
  PoiseKSP ksp = owner->block->level[0].ksp;
  ksp->solve.b = b;
  if (ksp->options.guess_nonzero) poiseKSPCopy(ksp, x, ksp->work[0]);
  ksp->type->start(ksp, b);
  TRY(Iterate(owner, 0, x));
  TRY(Conclude(ksp, x));
  return poiseKSPReportLast(ksp);
}

/* As the owner's solve has it around its iterations. */
static PoiseErr RunLinked(PoiseKSP owner, PoiseVec b, PoiseVec x)
{
  PoiseContext ctx = owner->ctx;
  owner->solve.running = true;
  poiseLogBegin(ctx, EVENT_KSPSolve);
  bool forbade = poiseDeviceForbid(ctx->device, true);
  bool linked = poiseLinkUse(ctx, !poiseKSPWhyEager(owner));
  PoiseErr e = Run(owner, b, x);
  bool used = poiseLinkUse(ctx, linked);
  if (e && used) {
    ErrorState error;
    poiseErrorSave(&error);
    if (!poiseLinkReset(ctx)) poiseErrorRestore(&error);
  }
  poiseDeviceForbid(ctx->device, forbade);
  poiseLogEnd(ctx, EVENT_KSPSolve, 0, 0);
  owner->solve.running = false;
  return e;
}

/* ---- one after the other --------------------------------------------------------------------- */

/* Solve system j by the owner. From the x of an iteration before, which was refuted: going: go on from it. */
static PoiseErr SolveAlone(PoiseKSP owner, int j, bool going, PoiseVec B, PoiseVec X)
{
  Block *b = owner->block;
  Column *c = &b->column[j];
  PoiseInt before = going ? c->result.its : 0;
  int guess = owner->options.guess_nonzero, reason = owner->options.converged_reason,
      fails = owner->options.error_if_not_converged, view = owner->options.view;
  PoiseErr e = poiseVecTakeColumn(B, j, b->b);
  if (!e) e = poiseVecTakeColumn(X, j, b->x);
  TRY(PoiseAgree(owner->ctx, e));
  owner->options.guess_nonzero = guess || going;
  owner->options.converged_reason = owner->options.error_if_not_converged = owner->options.view = 0;
  e = poiseKSPSolve(owner, b->b, b->x);
  owner->options.guess_nonzero = guess, owner->options.converged_reason = reason;
  owner->options.error_if_not_converged = fails, owner->options.view = view;
  TRY(e);
  c->result = owner->result;
  c->result.its += before;
  if (c->history.keep && !going) {
    c->history.size = 0;
    e = KeepNorms(owner->ctx, &c->history, owner->history.norms, INT64_MAX, owner->history.size - 1);
  }
  if (!e) e = poiseVecPutColumn(b->x, j, X);
  return PoiseAgree(owner->ctx, e);
}

/* ---- the call -------------------------------------------------------------------------------- */

/* Why systems are not solved at once; NULL: they are. The same on all ranks. */
static const char *WhyAlone(PoiseKSP ksp, bool calls_back)
{
  PoiseMat A = poiseKSPGiven(ksp);
  if (ksp->block->n == 1) return "there is one";
  if (!poiseKSPForm(ksp)->columns) return "the method has no such iteration";
  if (ksp->type->singles && ksp->type->singles(ksp)) return "the method has vectors in fp32";
  if (ksp->arranged || poiseKSPDivides(ksp)) return "the solver works with a rearranged matrix, or by others";
  if (ksp->between) return "the solver works between the sweeps of the preconditioner";
  if (A->null.n || A->left.n) return "the matrix has a null space";
  if (ksp->user.test || ksp->user.nmonitors) return "a monitor or a convergence test is the application's";
  if (ksp->options.true_residual) return "the true residual is monitored";
  if (poiseKSPKeepsSpectrum(ksp)) return "eigenvalues or singular values are asked for";
  if (calls_back) return "the preconditioner calls back to the host";
  if (A->type->eager) return "the matrix calls back to the host";
  return NULL;
}

static PoiseErr CheckVectors(PoiseKSP ksp, PoiseVec B, PoiseVec X)
{
  PoiseMat A = poiseKSPGiven(ksp);
  if (B == X) FAIL(POISE_ERR_ARG, "B and X are the same vector");
  if (poiseVecColumns(B) != poiseVecColumns(X))
    FAIL(POISE_ERR_SIZE, "B has %d columns, X has %d", poiseVecColumns(B), poiseVecColumns(X));
  if (B->layout->N != A->rows->N || B->layout->n != A->rows->n || X->layout->N != A->cols->N ||
      X->layout->n != A->cols->n)
    FAIL(POISE_ERR_SIZE, "A is %lld x %lld, B has %lld rows and X %lld", (long long)A->rows->N,
         (long long)A->cols->N, (long long)B->layout->N, (long long)X->layout->N);
  return POISE_OK;
}

static PoiseErr OneColumn(const Layout *rows, PoiseVec *x)
{
  if (*x && (*x)->layout->N == rows->N && (*x)->layout->n == rows->n) return POISE_OK;
  PoiseVecDestroy(x);
  Layout *layout;
  TRY(poiseLayoutColumns(rows, 1, &layout));
  PoiseErr e = poiseVecCreateLocal(layout, x);
  poiseLayoutDestroy(&layout);
  return e;
}

/* Levels depend on the number of columns, on the method's vectors, and on A's layout. */
static PoiseErr Open(PoiseKSP ksp, PoiseVec B, PoiseVec X)
{
  if (!ksp->block) TRY(poiseAlloc(ksp->ctx, sizeof *ksp->block, "solves of several systems", &ksp->block));
  Block *b = ksp->block;
  TRY(OneColumn(B->layout, &b->b));
  TRY(OneColumn(X->layout, &b->x));
  b->n = poiseVecColumns(B);
  for (int j = 0; j < b->n; j++) {
    b->column[j].history.keep = ksp->history.keep && ksp->norm != POISE_KSP_NORM_NONE;
    b->column[j].history.size = 0;
    b->column[j].result = (KSPResult){0}, b->column[j].alone = false;
  }
  return POISE_OK;
}

static bool Fits(PoiseKSP ksp, int n)
{
  PoiseKSP first = ksp->block->level[0].ksp;
  return first && first->systems.n == n && first->type == ksp->type && first->A == ksp->A &&
         first->side == ksp->side && first->nwork == ksp->type->vectors(ksp) &&
         poiseMatPartialsColumns(ksp->A, n) <= first->dots.stride &&
         poiseLayoutSame(first->rows, ksp->A->rows);
}

/* Levels are dropped on all ranks or on none. */
static PoiseErr KeepLevels(PoiseKSP ksp, int n)
{
  TRY(poiseMatReadyColumns(ksp->A, n)); /* this decides how many partials a product leaves */
  int64_t differs = !Fits(ksp, n);
  TRY(poiseCommMaxInt(ksp->ctx->comm, &differs, 1));
  if (differs) poiseKSPDropLevels(ksp);
  return POISE_OK;
}

/* The least reason, the most iterations and the largest norm of all. */
static void Summarise(PoiseKSP ksp)
{
  const Block *b = ksp->block;
  ksp->result = b->column[0].result;
  for (int j = 1; j < b->n; j++) {
    const KSPResult *r = &b->column[j].result;
    PoiseInt its = ksp->result.its > r->its ? ksp->result.its : r->its;
    double norm = poiseLarger(ksp->result.rnorm, r->rnorm);
    if (r->reason < ksp->result.reason) ksp->result = *r;
    ksp->result.its = its, ksp->result.rnorm = norm;
  }
}

static PoiseErr Report(PoiseKSP ksp)
{
  const Block *b = ksp->block;
  for (int j = 0; j < b->n && ksp->options.converged_reason; j++) {
    ksp->result = b->column[j].result;
    TRY(poisePrinted(ksp->ctx, poisePrint(ksp->ctx, "System %d: ", j)));
    TRY(poisePrinted(ksp->ctx, poiseKSPPrintReason(ksp)));
  }
  Summarise(ksp);
  if (ksp->options.view) TRY(PoiseKSPView(ksp));
  if (ksp->options.error_if_not_converged)
    for (int j = 0; j < b->n; j++)
      if (b->column[j].result.reason < 0)
        FAIL(POISE_ERR_NOT_CONVERGED, "system %d: %s after %lld iterations, %s residual norm %g", j,
             PoiseKSPReasonString(b->column[j].result.reason), (long long)b->column[j].result.its,
             PoiseKSPNormString(ksp->norm), b->column[j].result.rnorm);
  return POISE_OK;
}

static PoiseErr SolveAll(PoiseKSP ksp, PoiseVec B, PoiseVec X)
{
  Block *b = ksp->block;
  bool iterates = poiseKSPForm(ksp)->columns; /* else its preconditioner may not be set up */
  int64_t calls_back =
      iterates && poisePCEager(ksp->pc) && !poisePCTakesColumns(ksp->pc); /* for each column */
  TRY(poiseCommMaxInt(ksp->ctx->comm, &calls_back, 1));
  b->why = WhyAlone(ksp, calls_back);
  if (!b->why) TRY(KeepLevels(ksp, b->n));
  if (!b->why) TRY(RunLinked(ksp, B, X));
  for (int j = 0; j < b->n; j++)
    if (b->why || b->column[j].alone)
      TRY(SolveAlone(ksp, j, !b->why && b->column[j].result.reason > 0, B, X));
  return PoiseAgree(ksp->ctx, poiseBufferSyncBorrowed(&X->data));
}

PoiseErr PoiseKSPSolveBlock(PoiseKSP ksp, PoiseVec B, PoiseVec X)
{
  CALLED(OBJECT(ksp), OBJECT(B), OBJECT(X));
  TRY(poiseKSPCheckOutside(ksp, "PoiseKSPSolveBlock"));
  TRY(poiseKSPCheckIdle(ksp, "PoiseKSPSolveBlock"));
  ksp->result.reason = POISE_DIVERGED_ERROR; /* until the solve has run */
  TRY(PoiseKSPSetUp(ksp));
  PoiseErr e = CheckVectors(ksp, B, X);
  if (!e) e = Open(ksp, B, X);
  TRY(PoiseAgree(ksp->ctx, e));
  TRY(SolveAll(ksp, B, X));
  return Report(ksp);
}

/* ---- questions ------------------------------------------------------------------------------- */

static const Column *Ask(PoiseKSP ksp, int j)
{
  return ksp->block && j >= 0 && j < ksp->block->n ? &ksp->block->column[j] : NULL;
}

PoiseKSPReason PoiseKSPColumnReason(PoiseKSP ksp, int j)
{
  CALLED_OR(POISE_ITERATING, OBJECT(ksp));
  const Column *c = Ask(ksp, j);
  return c ? c->result.reason : POISE_ITERATING;
}

PoiseInt PoiseKSPColumnIterations(PoiseKSP ksp, int j)
{
  CALLED_OR(0, OBJECT(ksp));
  const Column *c = Ask(ksp, j);
  return c ? c->result.its : 0;
}

double PoiseKSPColumnResidualNorm(PoiseKSP ksp, int j)
{
  CALLED_OR(0, OBJECT(ksp));
  const Column *c = Ask(ksp, j);
  return c ? c->result.rnorm : 0;
}

PoiseErr PoiseKSPColumnHistory(PoiseKSP ksp, int j, PoiseInt *count, const double **norms)
{
  CALLED(OBJECT(ksp), GIVEN(count), GIVEN(norms));
  const Column *c = Ask(ksp, j);
  if (!c) FAIL(POISE_ERR_ARG, "there is no system %d of a solve of several", j);
  *count = c->history.size;
  *norms = c->history.norms;
  return POISE_OK;
}
