/* SPDX-License-Identifier: BSD-3-Clause */
/*
  A product A B on several ranks needs the rows of B at A's ghost columns. Their columns travel once, through
  the host; their numbers by a plan, as often as there are new ones. Columns of all rows, own and fetched, are
  numbered anew, by the order of their global numbers: [ghosts of lower ranks | owned | ghosts of higher
  ones]. The device does what is proportional to B. The host sees rows that travel, and lists of ghosts.

  Beside what it receives a rank holds a copy of its own rows' offsets and columns, and the places of the
  entries that it sends: on the device alone. Until all is numbered it also holds, on both sides, 24 bytes per
  row and 8 per entry that others want.
*/
#include "fetched_rows.h"
#include "fetched_rows_kernels.h"
#include "mat/csr/ghosts.h"
#include "vec/vec_kernels.h"

typedef struct Wishes {         /* bytes per rank, and what is in them, in the order of ranks */
  int64_t *sent[3], *got_of[3]; /* of lengths, columns, values: sent, received */
  /* what others want: rows; their lengths and columns, and where each row's begin */
  Buffer length, first, column;
  const int64_t *lengths;
  const PoiseInt *columns;
  WantedRowsArgs wanted; /* the same on the device */
  Buffer list;           /* of the ghosts of B */
  /* what this rank gets: lengths and columns; the rows' ends, and places of columns, as they are numbered */
  int64_t *got;
  PoiseInt *taken;
  void *ends;
  int32_t *places;
  Buffer ghost; /* B's ghosts, so numbered */
} Wishes;
enum { LENGTHS, COLUMNS, VALUES };

static void Forget(PoiseContext ctx, Wishes *w)
{
  Buffer *there[] = {&w->length, &w->first, &w->column, &w->list, &w->ghost};
  for (size_t k = 0; k < sizeof there / sizeof *there; k++) poiseBufferDestroy(there[k]);
  for (int k = 0; k < 3; k++) poiseFree(ctx, &w->sent[k]), poiseFree(ctx, &w->got_of[k]);
  poiseFree(ctx, &w->got);
  poiseFree(ctx, &w->taken);
  poiseFree(ctx, &w->ends);
  poiseFree(ctx, &w->places);
}

/* The rows that a rank wants are A's ghosts. So A's halo knows who wants which ones. */
static PoiseErr Begin(PoiseMat A, Wishes *w)
{
  PoiseContext ctx = A->ctx;
  const Exchange *ex = &A->csr.halo->ex;
  int64_t side = poiseCsrAcross(&A->csr), item = sizeof(int64_t);
  for (int k = 0; k < 3; k++) {
    TRY(poiseAllocArray(ctx, PoiseSize(ctx), sizeof(int64_t), "counts of rows", &w->sent[k]));
    TRY(poiseAllocArray(ctx, PoiseSize(ctx), sizeof(int64_t), "counts of rows", &w->got_of[k]));
  }
  for (int k = 0; k < ex->nsend; k++)
    w->sent[LENGTHS][ex->send_rank[k]] = (ex->send_start[k + 1] - ex->send_start[k]) / side * item;
  for (int k = 0; k < ex->nrecv; k++)
    w->got_of[LENGTHS][ex->recv_rank[k]] = (ex->recv_start[k + 1] - ex->recv_start[k]) / side * item;
  w->wanted.n = A->csr.halo->nsend / side;
  w->wanted.side = side;
  return poiseBufferRead(&A->csr.halo->index, DEVICE, &w->wanted.scalar);
}

/* All to all: *to = what others send. mine: this rank's error so far. */
static PoiseErr Trade(PoiseContext ctx, PoiseErr mine, const Wishes *w, int k, const void *from, void *to)
{
  int64_t total = 0;
  void *room;
  for (int r = 0; r < PoiseSize(ctx) && !mine; r++) total += w->got_of[k][r];
  TRY(PoiseAgree(ctx, mine ? mine : poiseAlloc(ctx, (size_t)total, "rows of other ranks", to)));
  memcpy(&room, to, sizeof room);
  return ctx->comm->ops->alltoallv(ctx->comm, from, w->sent[k], room, w->got_of[k]);
}

/* Bytes of columns and values of the rows, of which there are so many bytes of lengths. */
static void Weigh(PoiseContext ctx, int64_t tile, const int64_t *length, int64_t *const bytes[3])
{
  const int64_t item = sizeof(int64_t);
  for (int64_t r = 0, k = 0; r < PoiseSize(ctx); r++) {
    for (int64_t end = k + bytes[LENGTHS][r] / item; k < end; k++) bytes[COLUMNS][r] += length[k] * item;
    bytes[VALUES][r] = bytes[COLUMNS][r] * tile;
  }
}

/* Lengths of the rows that others want. */
static PoiseErr Measure(PoiseMat B, int64_t tile, Wishes *w)
{
  Device *dev = B->ctx->device;
  WantedRowsArgs *a = &w->wanted;
  TRY(poiseCsrPattern(&B->csr, &a->B));
  TRY(poiseBufferCreate(dev, (size_t)a->n * sizeof *a->length, "lengths of rows", &w->length));
  TRY(poiseBufferWrite(&w->length, DEVICE, &a->length));
  TRY(LAUNCH(dev, fetched_lengths, a));
  TRY(poiseBufferRead(&w->length, HOST, &w->lengths));
  Weigh(B->ctx, tile, w->lengths, w->sent);
  return POISE_OK;
}

/* The columns of these rows, and the places of their scalars. */
static PoiseErr List(PoiseMat B, int64_t tile, Wishes *w, FetchedRows *f)
{
  Device *dev = B->ctx->device;
  Csr *b = &B->csr;
  WantedRowsArgs *a = &w->wanted;
  int64_t n = 0, *first;
  f->tile = tile;
  f->wide_send = b->nz > poiseContextHome(B->ctx)->hooks.most_narrow;
  a->columns = (GlobalColumns){.nloc = b->nloc, .column = b->column, .ghost = b->ghost};
  TRY(poiseGhostsToDevice(dev, b->nghost, &w->list, &a->columns));
  TRY(poiseBufferCreate(dev, (size_t)a->n * sizeof *first, "columns of rows", &w->first));
  TRY(poiseBufferWrite(&w->first, HOST, &first));
  for (int64_t k = 0; k < a->n; k++) first[k] = n, n += w->lengths[k];
  TRY(poiseBufferRead(&w->first, DEVICE, &a->first));
  TRY(poiseBufferCreate(dev, (size_t)n * sizeof *a->col, "columns of rows", &w->column));
  TRY(poiseBufferCreate(dev, (size_t)n * (f->wide_send ? 8 : 4), "values to send", &f->send));
  TRY(poiseBufferCreate(dev, (size_t)(n * tile) * sizeof(double), "values to send", &f->packed));
  TRY(poiseBufferWrite(&w->column, DEVICE, &a->col));
  TRY(poiseBufferWrite(&f->send, DEVICE, f->wide_send ? (void *)&a->place64 : (void *)&a->place32));
  TRY(LAUNCH(dev, fetched_columns, a));
  return poiseBufferRead(&w->column, HOST, &w->columns);
}

static int32_t Place(const FetchedRows *f, const Csr *b, const Ghosts *ghosts, PoiseInt column)
{
  if (column >= b->column && column < b->column + b->nloc) return (int32_t)(column - b->column + f->below);
  int32_t k = poiseGhostsFind(ghosts, column);
  return k < f->below ? k : (int32_t)(k + b->nloc);
}

static void PlaceAll(const Device *dev, int64_t n, const FetchedRows *f, const Csr *b, const Ghosts *ghosts,
                     Wishes *w)
{
  const int64_t nblock = POISE_NBLOCKS(n);
  (void)dev;
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t block = 0; block < nblock; block++)
    for (int64_t k = block * POISE_BLOCK; k < (block + 1) * POISE_BLOCK && k < n; k++)
      w->places[k] = Place(f, b, ghosts, w->taken[k]);
}

/* All columns of other ranks, once. */
static PoiseErr Collect(PoiseMat B, const Wishes *w, int64_t n, FetchedRows *f, Ghosts *ghosts)
{
  const Csr *b = &B->csr;
  TRY(poiseGhostsCreate(B->ctx, b->columns, ghosts));
  for (int64_t k = 0; k < b->nghost; k++) TRY(poiseGhostsAdd(ghosts, b->ghost[k]));
  for (int64_t k = 0; k < n; k++)
    if (w->taken[k] < b->column || w->taken[k] >= b->column + b->nloc)
      TRY(poiseGhostsAdd(ghosts, w->taken[k]));
  TRY(poiseGhostsNumber(ghosts, INT32_MAX - b->nloc, &f->nghost, &f->ghost));
  f->nloc = b->nloc;
  while (f->below < f->nghost && f->ghost[f->below] < b->column) f->below++;
  return POISE_OK;
}

/* B's own rows, numbered on the device; pointers to offsets and columns are there. */
static PoiseErr PlaceOwn(PoiseMat B, Wishes *w, FetchedRows *f, const Ghosts *ghosts, OwnRowsArgs *a)
{
  Csr *b = &B->csr;
  int32_t *ghost;
  a->n = b->nz > b->m + 1 ? b->nz : b->m + 1;
  a->below = f->below;
  TRY(poiseCsrPattern(b, &a->B));
  TRY(poiseBufferCreate(B->ctx->device, (size_t)b->nghost * sizeof *ghost, "numbers of ghosts", &w->ghost));
  TRY(poiseBufferWrite(&w->ghost, HOST, &ghost));
  for (int64_t k = 0; k < b->nghost; k++) ghost[k] = Place(f, b, ghosts, b->ghost[k]);
  TRY(poiseBufferRead(&w->ghost, DEVICE, &a->ghost));
  TRY(poiseBufferWrite(&f->ptr, DEVICE, f->wide ? (void *)&a->ptr64 : (void *)&a->ptr32));
  TRY(poiseBufferWrite(&f->col, DEVICE, &a->col));
  return LAUNCH(B->ctx->device, fetched_own, a);
}

/* Behind them the rows fetched, which have n entries. */
static PoiseErr PlaceFetched(PoiseMat B, Wishes *w, int64_t more, int64_t n, const FetchedRows *f,
                             const Ghosts *ghosts, const OwnRowsArgs *a)
{
  Device *dev = B->ctx->device;
  const Csr *b = &B->csr;
  size_t width = f->wide ? sizeof(int64_t) : sizeof(int32_t);
  char *ptr = f->wide ? (char *)a->ptr64 : (char *)a->ptr32;
  TRY(poiseAllocArray(B->ctx, more, width, "offsets of rows fetched", &w->ends));
  TRY(poiseAllocArray(B->ctx, n, sizeof *w->places, "columns of rows fetched", &w->places));
  for (int64_t k = 0, end = b->nz; k < more; k++) {
    end += w->got[k];
    (void)poiseAdvance(f->wide, w->ends, k, end);
  }
  PlaceAll(dev, n, f, b, ghosts, w);
  TRY(poiseDeviceCopyArray(dev, ptr + (size_t)(b->m + 1) * width, w->ends, (size_t)more * width,
                           COPY_TO_DEVICE));
  return poiseDeviceCopyArray(dev, a->col + b->nz, w->places, (size_t)n * sizeof *w->places, COPY_TO_DEVICE);
}

/* B's own rows and those fetched. */
static PoiseErr Join(PoiseMat A, PoiseMat B, Wishes *w, FetchedRows *f, Ghosts *ghosts)
{
  Device *dev = B->ctx->device;
  OwnRowsArgs a = {.n = 0};
  int64_t n = 0, m = B->csr.m, nz = B->csr.nz, more = A->csr.nghost;
  for (int64_t k = 0; k < more; k++) n += w->got[k];
  TRY(Collect(B, w, n, f, ghosts));
  f->wide = nz + n > poiseContextHome(B->ctx)->hooks.most_narrow;
  TRY(poiseBufferCreate(dev, (size_t)(m + more + 1) * (f->wide ? 8 : 4), "offsets of rows", &f->ptr));
  TRY(poiseBufferCreate(dev, (size_t)(nz + n) * sizeof *a.col, "columns of rows", &f->col));
  PoiseErr e = PlaceOwn(B, w, f, ghosts, &a);
  if (!e) e = PlaceFetched(B, w, more, n, f, ghosts, &a);
  PoiseErr waited = poiseDeviceSync(dev); /* as what is copied is freed */
  return e ? e : waited;
}

static PoiseErr Sides(PoiseMat B, const Wishes *w, FetchedRows *f)
{
  Exchange *ex = &f->ex;
  TRY(poiseExchangeSide(B->ctx, w->sent[VALUES], &ex->nsend, &ex->send_rank, &ex->send_start, &ex->send));
  TRY(poiseExchangeSide(B->ctx, w->got_of[VALUES], &ex->nrecv, &ex->recv_rank, &ex->recv_start, &ex->recv));
  return poiseBufferCreate(B->ctx->device, (size_t)ex->recv_start[ex->nrecv] * sizeof(double),
                           "values of rows of other ranks", &f->received);
}

static PoiseErr Ask(PoiseMat A, PoiseMat B, Wishes *w, FetchedRows *f, Ghosts *ghosts)
{
  PoiseContext ctx = A->ctx;
  int64_t tile = poiseCsrEntry(&B->csr);
  PoiseErr e = Begin(A, w);
  if (!e) e = Measure(B, tile, w);
  TRY(Trade(ctx, e, w, LENGTHS, w->lengths, &w->got));
  Weigh(ctx, tile, w->got, w->got_of);
  e = List(B, tile, w, f);
  TRY(Trade(ctx, e, w, COLUMNS, w->columns, &w->taken));
  e = Join(A, B, w, f, ghosts);
  TRY(PoiseAgree(ctx, e ? e : Sides(B, w, f)));
  return ctx->comm->ops->exchange_setup(ctx->comm, &f->ex);
}

PoiseErr poiseFetchPattern(PoiseMat A, PoiseMat B, FetchedRows *f)
{
  Wishes w = {0};
  Ghosts ghosts = {0};
  f->ctx = A->ctx;
  PoiseErr e = Ask(A, B, &w, f, &ghosts);
  Forget(A->ctx, &w);
  poiseGhostsDestroy(&ghosts);
  return e;
}

static PoiseErr Pack(FetchedRows *f, Csr *B)
{
  int64_t scalars = f->ex.send_start[f->ex.nsend];
  GatherArgs g = {.n = scalars / f->tile, .size = f->tile};
  Device *dev = f->ctx->device;
  TRY(poiseBufferRead(&f->send, DEVICE, f->wide_send ? (void *)&g.idx64 : (void *)&g.idx));
  TRY(poiseBufferRead(&B->val, DEVICE, &g.x));
  TRY(poiseBufferWrite(&f->packed, DEVICE, &g.out));
  TRY(LAUNCH(dev, gather, &g));
  return poiseDeviceFetch(dev, g.out, (size_t)scalars * sizeof *g.out, f->ex.send);
}

PoiseErr poiseFetchNumbers(FetchedRows *f, Csr *B)
{
  double *received;
  if (!f->ctx) return POISE_OK;
  Comm *comm = f->ctx->comm;
  PoiseErr e = Pack(f, B);                                /* the exchange takes place all the same */
  if (e) (void)f->ctx->device->ops->sync(f->ctx->device); /* for the copy of what came last time */
  TRY(comm->ops->exchange_begin(comm, &f->ex));
  TRY(comm->ops->exchange_end(comm, &f->ex));
  TRY(e);
  TRY(poiseBufferWrite(&f->received, DEVICE, &received));
  return poiseDeviceCopyArray(f->ctx->device, received, f->ex.recv, f->received.bytes, COPY_TO_DEVICE);
}

LocalFactor poiseFetchedFactor(FetchedRows *f, Csr *B)
{
  LocalFactor factor = {.csr = B};
  if (f->ctx)
    factor.ptr = &f->ptr, factor.col = &f->col, factor.wide = f->wide, factor.received = &f->received;
  return factor;
}

void poiseFetchedColumns(const FetchedRows *f, const Csr *B, GlobalColumns *rows, GlobalColumns *columns)
{
  *rows = (GlobalColumns){.nloc = B->nloc, .column = B->column, .ghost = B->ghost};
  *columns = (GlobalColumns){.below = f->below, .nloc = B->nloc, .column = B->column, .ghost = f->ghost};
}

PoiseErr poiseFetchedEntries(FetchedRows *f, const Csr *B, Csr *C, GlobalEntries *g)
{
  GlobalColumns rows, columns;
  poiseFetchedColumns(f, B, &rows, &columns);
  return poiseGlobalEntries(f->ctx->device, C, rows, B->nghost, columns, f->nghost, g);
}

void poiseFetchedBytes(const FetchedRows *f, PoiseBytes *sum)
{
  const Buffer *all[] = {&f->ptr, &f->col, &f->send, &f->packed, &f->received};
  for (size_t k = 0; f->ctx && k < sizeof all / sizeof *all; k++) poiseBufferAdd(all[k], sum);
  sum->host += poiseAllocated(f->ghost) + poiseAllocated(f->ex.send) + poiseAllocated(f->ex.recv);
}

void poiseFetchedDestroy(FetchedRows *f)
{
  if (!f->ctx) return;
  (void)f->ctx->device->ops->sync(f->ctx->device); /* a copy of values received may still run */
  poiseExchangeDestroy(f->ctx, &f->ex, true);
  poiseFree(f->ctx, &f->ghost);
  poiseBufferDestroy(&f->ptr);
  poiseBufferDestroy(&f->col);
  poiseBufferDestroy(&f->send);
  poiseBufferDestroy(&f->packed);
  poiseBufferDestroy(&f->received);
  *f = (FetchedRows){0};
}

/* ---- host kernels ---------------------------------------------------------------------------- */

HOST_ITEMS(fetched_lengths, WantedRowsArgs, fetched_lengths_item(a, i))
HOST_ITEMS(fetched_columns, WantedRowsArgs, fetched_columns_row(a, i, 0, 1))
HOST_ITEMS(fetched_own, OwnRowsArgs, fetched_own_item(a, i))
