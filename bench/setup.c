/* SPDX-License-Identifier: BSD-3-Clause */
/*
  What comes before the first iteration, beside plain copies of the same bytes in the same run:

    setup -device cuda -problem elasticity -bytes 2.9e9
    setup -device cuda -problem 7 -bytes 1.5e9 -rounds 9 -long 2000000

  A row: what, bytes that cross the bus, median and least of the rounds in milliseconds, GB/s of the median.
  The plain copies are one cudaMemcpy from pageable and one from pinned memory. "first upload" is a first
  product less a second one, with borrowed arrays. "csr to blocks": bcsr of a csr that is on the device. "long
  rows": the creation from arrays on the device with 4 rows of so many entries, which take long to check.
  Each round makes its objects anew. The exit status is 1 where a product with blocks differs from that with
  csr.
*/
#include <inttypes.h>
#include <math.h>
#include <poise.h>
#include <stdlib.h>
#include <string.h>

#include "common/library.h"

#define TRY POISE_TRY

enum { FULL = 4 /* long rows */ };

typedef struct Options {
  int problem, order;
  double bytes;
  PoiseInt rounds, entries;
} Options;

static const PoiseOption table[] = {
    {"problem", POISE_OPTION_CHOICE, offsetof(Options, problem), "elasticity", 0, 0, PROBLEM_WORDS,
     "which matrix"},
    {"bytes", POISE_OPTION_REAL, offsetof(Options, bytes), "3e6", 1, 2.5e10, NULL, "bytes of the matrix"},
    {"rounds", POISE_OPTION_INT, offsetof(Options, rounds), "5", 1, MAX_REPEATS, NULL, "of each row"},
    {"long", POISE_OPTION_INT, offsetof(Options, entries), "20000", 0, 100000000, NULL,
     "entries of a long row; 0: none"},
    {"order", POISE_OPTION_BOOL, offsetof(Options, order), "no", 0, 0, NULL,
     "also the time of a copy in the order of -mat_order rcm"},
    {0},
};

typedef struct Bench {
  PoiseContext ctx;
  const Options *o;
  const Peer *peer;
  Library library; /* waits */
  Rows rows;
  size_t nz, bytes; /* of rows: entries; offsets, columns and values */
  PoiseVec x, y, z;
  Times times, other;
} Bench;

static PoiseErr Wait(Bench *b)
{
  return b->library.lane.wait(b->library.lane.arg);
}

static PoiseErr Row(Bench *b, const char *what, double bytes, Times *t)
{
  double median = Median(t);
  PoiseErr e = PoisePrintf(b->ctx, "%-28s %14.0f %12.3f %12.3f %9.2f\n", what, bytes, 1e3 * median,
                           1e3 * Least(t), 1e-9 * bytes / median);
  t->n = 0;
  return e;
}

static PoiseErr Create(Bench *b, PoiseOwn own, PoiseMat *A)
{
  const Rows *r = &b->rows;
  PoiseCSR csr = {.ptr32 = r->ptr, .col32 = r->col, .val = r->val};
  return PoiseMatCreateCSR(b->ctx, r->n, r->n, r->N, r->N, &csr, own, A);
}

static PoiseErr Plain(Bench *b)
{
  size_t bytes = b->nz * sizeof(double);
  if (!b->peer->send) return POISE_OK;
  for (int pinned = 0; pinned < 2; pinned++) {
    for (PoiseInt k = 0; k < b->o->rounds; k++)
      TRY(b->peer->send(b->rows.val, bytes, pinned, &b->times.t[b->times.n++]));
    TRY(Row(b, pinned ? "plain copy, pinned" : "plain copy, pageable", (double)bytes, &b->times));
  }
  return POISE_OK;
}

/* Seconds of A x with all that it waits for. */
static PoiseErr Product(Bench *b, PoiseMat A, PoiseVec y, double *seconds)
{
  double start = PoiseTime();
  TRY(PoiseMatMult(A, b->x, y));
  TRY(Wait(b));
  *seconds = PoiseTime() - start;
  return POISE_OK;
}

static PoiseErr BorrowOnce(Bench *b, PoiseMat *A)
{
  double start = PoiseTime(), first = 0, second = 0;
  TRY(Create(b, POISE_BORROW, A));
  b->other.t[b->other.n++] = PoiseTime() - start;
  TRY(Product(b, *A, b->y, &first));
  TRY(Product(b, *A, b->y, &second));
  b->times.t[b->times.n++] = first - second;
  return POISE_OK;
}

static PoiseErr CopyOnce(Bench *b, PoiseMat *A)
{
  double start = PoiseTime();
  TRY(Create(b, POISE_COPY, A));
  TRY(Wait(b));
  b->times.t[b->times.n++] = PoiseTime() - start;
  start = PoiseTime();
  TRY(PoiseMatSetValuesCSR(*A, b->rows.val));
  TRY(Wait(b));
  b->other.t[b->other.n++] = PoiseTime() - start;
  return POISE_OK;
}

static PoiseErr BlocksOnce(Bench *b, PoiseMat *A)
{
  double seconds, difference = 0, norm = 0;
  TRY(Create(b, POISE_COPY, A));
  TRY(Product(b, *A, b->y, &seconds));
  TRY(PoiseMatSetBlockSize(*A, b->rows.block));
  double start = PoiseTime();
  TRY(PoiseMatSetType(*A, "bcsr"));
  TRY(Wait(b));
  b->times.t[b->times.n++] = PoiseTime() - start;
  TRY(Product(b, *A, b->z, &seconds));
  TRY(PoiseVecNorm(b->y, POISE_NORM_INF, &norm));
  TRY(PoiseVecAXPY(b->z, -1, b->y));
  TRY(PoiseVecNorm(b->z, POISE_NORM_INF, &difference));
  if (difference <= 1e-12 * norm) return POISE_OK;
  POISE_FAIL(POISE_ERR_NUMERIC, "a product with blocks is off by %g of %g", difference, norm);
}

static PoiseErr OrderOnce(Bench *b, PoiseMat *A)
{
  PoiseMat B = NULL, P = NULL;
  TRY(Create(b, POISE_COPY, A));
  TRY(PoiseMatSetOrder(*A, POISE_ORDER_RCM));
  double start = PoiseTime();
  PoiseErr e = PoiseMatRearrange(*A, &B, &P);
  if (!e) e = Wait(b);
  b->times.t[b->times.n++] = PoiseTime() - start;
  PoiseMatDestroy(&B);
  PoiseMatDestroy(&P);
  return e;
}

static PoiseErr Rounds(Bench *b, PoiseErr (*once)(Bench *, PoiseMat *))
{
  PoiseErr e = POISE_OK;
  for (PoiseInt k = 0; !e && k <= b->o->rounds; k++) {
    PoiseMat A = NULL;
    if (k == 1) b->times.n = b->other.n = 0; /* the first one rehearses */
    e = once(b, &A);
    PoiseMatDestroy(&A);
  }
  return e;
}

/* ---- long rows ------------------------------------------------------------------------------- */

/* Some full rows, and then a diagonal. */
static PoiseErr CreateLong(PoiseInt n, Rows *r)
{
  *r = (Rows){.n = n, .N = n, .block = 1};
  TRY(CountRows(r));
  for (PoiseInt i = 0; i < n; i++) r->ptr[i + 1] = i < FULL ? (int32_t)n : 1;
  TRY(OffsetRows(r));
  TRY(ReserveRows(r));
  for (PoiseInt i = 0; i < n; i++)
    for (int32_t k = r->ptr[i]; k < r->ptr[i + 1]; k++)
      r->col[k] = i < FULL ? k - r->ptr[i] : (int32_t)i, r->val[k] = 1;
  return POISE_OK;
}

static PoiseErr LongOnce(Bench *b, const Rows *r, PoiseMat *A)
{
  PoiseCSR csr = {.ptr32 = r->ptr, .col32 = r->col, .val = r->val};
  double start = PoiseTime();
  TRY(b->peer->lend ? PoiseMatCreateDeviceCSR(b->ctx, r->n, r->n, r->N, r->N, &csr, POISE_BORROW, A)
                    : PoiseMatCreateCSR(b->ctx, r->n, r->n, r->N, r->N, &csr, POISE_BORROW, A));
  TRY(Wait(b));
  b->times.t[b->times.n++] = PoiseTime() - start;
  return POISE_OK;
}

static PoiseErr Long(Bench *b, const Rows *host, Rows *there)
{
  size_t nz = (size_t)host->ptr[host->n];
  PoiseErr e = POISE_OK;
  *there = *host;
  if (b->peer->lend) {
    there->ptr = there->col = NULL, there->val = NULL;
    TRY(b->peer->lend(host->ptr, (size_t)(host->n + 1) * sizeof *host->ptr, (void **)&there->ptr));
    TRY(b->peer->lend(host->col, nz * sizeof *host->col, (void **)&there->col));
    TRY(b->peer->lend(host->val, nz * sizeof *host->val, (void **)&there->val));
  }
  for (PoiseInt k = 0; !e && k <= b->o->rounds; k++) {
    PoiseMat A = NULL;
    if (k == 1) b->times.n = 0;
    e = LongOnce(b, there, &A);
    PoiseMatDestroy(&A);
  }
  return e;
}

static PoiseErr LongRows(Bench *b)
{
  Rows host, there = {0};
  PoiseErr e = CreateLong(b->o->entries, &host);
  if (!e) e = Long(b, &host, &there);
  if (b->peer->take_back && there.ptr) b->peer->take_back(there.ptr);
  if (b->peer->take_back && there.col) b->peer->take_back(there.col);
  if (b->peer->take_back && there.val) b->peer->take_back(there.val);
  DestroyRows(&host);
  TRY(e);
  return Row(b, "create, long rows", 0, &b->times);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static PoiseErr Measure(Bench *b)
{
  double all = (double)b->bytes, values = (double)b->nz * sizeof(double);
  TRY(PoisePrintf(b->ctx, "%" PRId64 " rows, %zu entries\n%-28s %14s %12s %12s %9s\n", b->rows.N, b->nz,
                  "what", "bytes", "median ms", "least ms", "GB/s"));
  TRY(Plain(b));
  TRY(Rounds(b, BorrowOnce));
  TRY(Row(b, "borrow: create, checks", 0, &b->other));
  TRY(Row(b, "borrow: first upload", all, &b->times));
  TRY(Rounds(b, CopyOnce));
  TRY(Row(b, "copy: create", all, &b->times));
  TRY(Row(b, "new values", values, &b->other));
  if (b->rows.block > 1) TRY(Rounds(b, BlocksOnce));
  if (b->rows.block > 1) TRY(Row(b, "csr to blocks", 0, &b->times));
  if (b->o->order) TRY(Rounds(b, OrderOnce));
  if (b->o->order) TRY(Row(b, "copy in rcm order", 0, &b->times));
  return b->o->entries > 0 ? LongRows(b) : POISE_OK;
}

static PoiseErr Open(Bench *b, void **peer_data, int argc, char **argv)
{
  double cache = 1;
  if (PoiseSize(b->ctx) > 1) POISE_FAIL(POISE_ERR_UNSUPPORTED, "one rank is measured here");
  b->peer = PeerOn(DeviceOf(b->ctx));
  if (!b->peer) POISE_FAIL(POISE_ERR_UNSUPPORTED, "this build has no device %s", DeviceOf(b->ctx));
  TRY(b->peer->open(1024, &cache, peer_data));
  TRY(DescribeRun(b->ctx, b->peer, *peer_data, argc, argv, NULL));
  TRY(OpenLibrary(b->ctx, cache, &b->library));
  TRY(CreateRows(b->ctx, b->o->problem, true, b->o->bytes, &b->rows));
  b->nz = (size_t)b->rows.ptr[b->rows.n];
  b->bytes = (size_t)(b->rows.n + 1) * 4 + 12 * b->nz;
  TRY(PoiseVecCreate(b->ctx, b->rows.n, POISE_DECIDE, &b->x));
  TRY(PoiseVecDuplicate(b->x, &b->y));
  TRY(PoiseVecDuplicate(b->x, &b->z));
  TRY(PoiseVecSetRandom(b->x, 1));
  return PoiseVecToDevice(b->x);
}

static PoiseErr Run(PoiseContext ctx, const Options *o, double started, int argc, char **argv)
{
  Bench b = {.ctx = ctx, .o = o};
  void *peer_data = NULL;
  TRY(PoisePrintf(ctx, "PoiseInitialize: %.2f ms\n", 1e3 * started));
  PoiseErr e = Open(&b, &peer_data, argc, argv);
  if (!e) e = Measure(&b);
  PoiseVecDestroy(&b.x);
  PoiseVecDestroy(&b.y);
  PoiseVecDestroy(&b.z);
  DestroyRows(&b.rows);
  CloseLibrary(&b.library);
  if (peer_data) b.peer->close(peer_data);
  return e;
}

int main(int argc, char **argv)
{
  Options o;
  PoiseContext ctx;
  const PoiseInit init = {.help = "Times of what comes before the first iteration", .options = table};
  double start = PoiseTime();
  PoiseErr e = PoiseInitialize(&argc, &argv, &init, &ctx);
  start = PoiseTime() - start;
  if (!e) e = PoiseOptionsDefaults(table, &o);
  if (!e) e = PoiseOptionsRead(ctx, NULL, table, &o);
  if (!e) e = Run(ctx, &o, start, argc, argv);
  if (!e) e = PoiseFinalize(&ctx);
  if (e) fputs(PoiseErrorText(), stderr);
  return e ? 1 : 0;
}
