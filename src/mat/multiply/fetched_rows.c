/* SPDX-License-Identifier: BSD-3-Clause */
/*
  A product A B on several ranks needs the rows of B at A's ghost columns. Their columns travel once, their
  numbers by a plan, as often as there are new ones. Columns of all rows, own and fetched, are numbered anew,
  by the order of their global numbers: [ghosts of lower ranks | owned | ghosts of higher ones]. All of it is
  the device's work. The host sees numbers of entries, and the list of ghosts.

  Beside what it receives a rank holds a copy of its own rows' offsets and columns, and the places of the
  entries that it sends. Until all is numbered it also holds 16 bytes per row and 8 per entry that travels,
  and 24 per entry received.
*/
#include "fetched_rows.h"
#include "fetched_rows_kernels.h"
#include "mat/csr/ghosts_there.h"
#include "mat/csr/keys.h"
#include "mat/csr/keys_kernels.h"
#include "sys/device/host_loop.h"
#include "vec/vec_kernels.h"

typedef struct Wishes {
  int64_t *sent, *got; /* bytes per rank */
  int64_t *end;        /* entries up to the last one of each message of rows, and where the device has them */
  const void **at;
  Exchange rows;       /* one number of each */
  Exchange columns;    /* one of each entry */
  Buffer first, begin; /* of rows that others want, and of those that come: lengths, then first entries */
  Buffer column;       /* global columns of the former */
  Buffer taken;        /* global columns of those that come; behind them the ghosts of B */
  Buffer list, place;  /* these ghosts; their new numbers */
  Buffer ghost;        /* all ghosts */
  int64_t n, more;     /* entries, and rows, that come */
  int64_t nsend;       /* entries that are wanted */
  Keys keys;
} Wishes;

static void Forget(PoiseContext ctx, Wishes *w)
{
  Buffer *there[] = {&w->first, &w->begin, &w->column, &w->taken, &w->list, &w->place, &w->ghost};
  for (size_t k = 0; k < sizeof there / sizeof *there; k++) poiseBufferDestroy(there[k]);
  poiseKeysDestroy(&w->keys);
  poiseExchangeDestroy(ctx, &w->rows, true);
  poiseExchangeDestroy(ctx, &w->columns, true);
  poiseFree(ctx, &w->sent);
  poiseFree(ctx, &w->got);
  poiseFree(ctx, &w->end);
  poiseFree(ctx, &w->at);
}

static PoiseErr Make(Device *dev, int64_t n, size_t width, const char *what, Buffer *b, void *p)
{
  TRY(poiseBufferCreate(dev, (size_t)n * width, what, b));
  return poiseBufferWrite(b, DEVICE, p);
}

/* ---- what travels ---------------------------------------------------------------------------- */

static PoiseErr AllocateBytes(PoiseContext ctx, Wishes *w)
{
  TRY(poiseAllocArray(ctx, PoiseSize(ctx), sizeof *w->sent, "bytes of rows", &w->sent));
  TRY(poiseAllocArray(ctx, PoiseSize(ctx), sizeof *w->got, "bytes of rows", &w->got));
  TRY(poiseAllocArray(ctx, 2 * (int64_t)PoiseSize(ctx), sizeof *w->end, "entries of messages", &w->end));
  return poiseAllocArray(ctx, 2 * (int64_t)PoiseSize(ctx), sizeof *w->at, "entries of messages", &w->at);
}

/* The rows that a rank wants are A's ghosts. So A's halo knows who wants which ones. */
static PoiseErr OpenRows(PoiseMat A, Wishes *w)
{
  const Exchange *ex = &A->csr.halo->ex;
  int64_t side = poiseCsrAcross(&A->csr), item = sizeof(int64_t);
  PoiseErr e = AllocateBytes(A->ctx, w);
  for (int k = 0; k < ex->nsend && !e; k++)
    w->sent[ex->send_rank[k]] = (ex->send_start[k + 1] - ex->send_start[k]) / side * item;
  for (int k = 0; k < ex->nrecv && !e; k++)
    w->got[ex->recv_rank[k]] = (ex->recv_start[k + 1] - ex->recv_start[k]) / side * item;
  return poiseAlltoallOpen(A->ctx, e, w->sent, w->got, &w->rows);
}

/* Lengths of the rows that others want. */
static PoiseErr Measure(PoiseMat A, PoiseMat B, Wishes *w, WantedRowsArgs *a, int64_t **begin)
{
  Device *dev = B->ctx->device;
  a->side = poiseCsrAcross(&A->csr);
  a->n = A->csr.halo->nsend / a->side;
  w->more = A->csr.nghost;
  TRY(poiseBufferRead(&A->csr.halo->index, DEVICE, &a->scalar));
  TRY(poiseCsrPattern(&B->csr, &a->B));
  TRY(Make(dev, a->n + 1, sizeof *a->length, "lengths of rows", &w->first, &a->length));
  TRY(Make(dev, w->more + 1, sizeof **begin, "lengths of rows fetched", &w->begin, begin));
  return LAUNCH(dev, fetched_lengths, a);
}

/* bytes: of columns, of n messages to or from rank[k], of which message k ends with entry end[k]. All
   entries. */
static int64_t Bytes(int n, const int *rank, const int64_t *end, int64_t *bytes)
{
  for (int k = 0; k < n; k++) bytes[rank[k]] = (end[k] - (k ? end[k - 1] : 0)) * (int64_t)sizeof *end;
  return n ? end[n - 1] : 0;
}

/* Lengths of rows become their first entries. */
static PoiseErr Weigh(Device *dev, Wishes *w, int64_t *first, int64_t *begin)
{
  const Exchange *ex = &w->rows;
  TRY(LAUNCH(dev, scan, &(ScanArgs){.n = ex->send_start[ex->nsend], .count = first}));
  TRY(LAUNCH(dev, scan, &(ScanArgs){.n = ex->recv_start[ex->nrecv], .count = begin}));
  for (int k = 0; k < ex->nsend; k++) w->at[k] = first + ex->send_start[k + 1];
  for (int k = 0; k < ex->nrecv; k++) w->at[ex->nsend + k] = begin + ex->recv_start[k + 1];
  TRY(poiseDeviceFetchEach(dev, ex->nsend + ex->nrecv, sizeof *w->end, w->at, w->end));
  w->nsend = Bytes(ex->nsend, ex->send_rank, w->end, w->sent);
  w->n = Bytes(ex->nrecv, ex->recv_rank, w->end + ex->nsend, w->got);
  return POISE_OK;
}

/* The columns of these rows, and the places of their numbers. */
static PoiseErr List(PoiseMat B, Wishes *w, WantedRowsArgs *a, FetchedRows *f)
{
  Device *dev = B->ctx->device;
  Csr *b = &B->csr;
  f->wide_send = b->nz > poiseContextHome(B->ctx)->hooks.most_narrow;
  a->first = a->length;
  a->columns = (GlobalColumns){.nloc = b->nloc, .column = b->column, .ghost = b->ghost};
  TRY(poiseGhostsToDevice(dev, b->nghost, &w->list, &a->columns));
  TRY(Make(dev, w->nsend, sizeof *a->col, "columns of rows", &w->column, &a->col));
  TRY(Make(dev, w->nsend, f->wide_send ? 8 : 4, "values to send", &f->send,
           f->wide_send ? (void *)&a->place64 : (void *)&a->place32));
  return LAUNCH(dev, fetched_columns, a);
}

/* ---- numbering ------------------------------------------------------------------------------- */

/* All columns of other ranks, once: those of rows that come, and B's ghosts. */
static PoiseErr Collect(PoiseMat B, Wishes *w, ColumnPlacesArgs *c, FetchedRows *f)
{
  Device *dev = B->ctx->device;
  const Csr *b = &B->csr;
  Keys *k = &w->keys;
  int64_t *place64;
  *k = (Keys){.n = c->n, .m = 1, .bits = c->bits};
  TRY(poiseKeysCreate(dev, k, &c->key, &place64, &c->at));
  TRY(LAUNCH(dev, fetched_keys, c));
  TRY(poiseGhostsOfKeys(B->ctx, k, INT32_MAX - b->nloc, &w->ghost, &c->columns.ghost, &f->nghost, &f->ghost));
  c->key = NULL, c->at = NULL; /* gone */
  c->nghost = f->nghost;
  while (f->below < f->nghost && f->ghost[f->below] < b->column) f->below++;
  c->columns.below = f->below;
  return POISE_OK;
}

/* B's own rows, and behind them those fetched. */
static PoiseErr Place(PoiseMat B, Wishes *w, ColumnPlacesArgs *c, FetchedRows *f, OwnRowsArgs *a)
{
  Device *dev = B->ctx->device;
  int64_t m = B->csr.m, nz = B->csr.nz, rows = m + 1 + w->more;
  f->wide = nz + w->n > poiseContextHome(B->ctx)->hooks.most_narrow;
  TRY(poiseCsrPattern(&B->csr, &a->B));
  TRY(Make(dev, rows, f->wide ? 8 : 4, "offsets of rows", &f->ptr,
           f->wide ? (void *)&a->ptr64 : (void *)&a->ptr32));
  TRY(Make(dev, nz + w->n, sizeof *a->col, "columns of rows", &f->col, &a->col));
  TRY(Make(dev, B->csr.nghost, sizeof *c->place, "numbers of ghosts", &w->place, &c->place));
  a->ghost = c->place;
  c->n = B->csr.nghost, c->global += w->n;
  TRY(LAUNCH(dev, fetched_places, c));
  c->n = w->n, c->global -= w->n, c->place = a->col + nz;
  TRY(LAUNCH(dev, fetched_places, c));
  a->below = f->below, a->more = w->more, a->n = nz > rows ? nz : rows;
  return LAUNCH(dev, fetched_own, a);
}

static PoiseErr Join(PoiseMat B, Wishes *w, int64_t *taken, const int64_t *begin, FetchedRows *f)
{
  Device *dev = B->ctx->device;
  Csr *b = &B->csr;
  const int64_t *ghost;
  OwnRowsArgs a = {.first = begin};
  ColumnPlacesArgs c = {.n = w->n + b->nghost,
                        .columns = {.nloc = b->nloc, .column = b->column},
                        .bits = poiseBitsOf(b->columns),
                        .global = taken};
  TRY(poiseBufferRead(&w->list, DEVICE, &ghost));
  TRY(poiseDeviceCopy(dev, taken + w->n, ghost, (size_t)b->nghost * sizeof *taken, COPY_ON_DEVICE));
  TRY(Collect(B, w, &c, f));
  f->nloc = b->nloc;
  TRY(Place(B, w, &c, f, &a));
  TRY(poiseBufferCreate(dev, (size_t)(w->nsend * f->tile) * sizeof(double), "values to send", &f->packed));
  return poiseBufferCreate(dev, (size_t)(w->n * f->tile) * sizeof(double), "values of rows of other ranks",
                           &f->received);
}

/* ---- both ------------------------------------------------------------------------------------ */

static PoiseErr Ask(PoiseMat A, PoiseMat B, Wishes *w, FetchedRows *f)
{
  PoiseContext ctx = A->ctx;
  Device *dev = ctx->device;
  WantedRowsArgs a = {.n = 0};
  int64_t *begin = NULL, *taken = NULL;
  f->tile = poiseCsrEntry(&B->csr);
  PoiseErr e = OpenRows(A, w);
  if (!e) e = Measure(A, B, w, &a, &begin);
  e = poiseAlltoall(ctx, e, &w->rows, a.length, begin);
  if (!e) e = Weigh(dev, w, a.length, begin);
  e = poiseAlltoallOpen(ctx, e, w->sent, w->got, &w->columns);
  if (!e) e = List(B, w, &a, f);
  if (!e) e = Make(dev, w->n + B->csr.nghost, sizeof *taken, "columns of rows fetched", &w->taken, &taken);
  e = poiseAlltoall(ctx, e, &w->columns, a.col, taken);
  if (!e) e = Join(B, w, taken, begin, f);
  for (int r = 0; r < PoiseSize(ctx) && !e; r++) w->sent[r] *= f->tile, w->got[r] *= f->tile;
  return poiseAlltoallOpen(ctx, e, w->sent, w->got, &f->ex);
}

PoiseErr poiseFetchPattern(PoiseMat A, PoiseMat B, FetchedRows *f)
{
  Wishes w = {0};
  f->ctx = A->ctx;
  PoiseErr e = Ask(A, B, &w, f);
  Forget(A->ctx, &w);
  return e;
}

static PoiseErr Pack(FetchedRows *f, Csr *B, GatherArgs *g)
{
  g->n = f->ex.send_start[f->ex.nsend] / f->tile, g->size = f->tile;
  TRY(poiseBufferRead(&f->send, DEVICE, f->wide_send ? (void *)&g->idx64 : (void *)&g->idx));
  TRY(poiseBufferRead(&B->val, DEVICE, &g->x));
  TRY(poiseBufferWrite(&f->packed, DEVICE, &g->out));
  return LAUNCH(f->ctx->device, gather, g);
}

PoiseErr poiseFetchNumbers(FetchedRows *f, Csr *B)
{
  GatherArgs g = {.n = 0};
  double *received = NULL;
  if (!f->ctx) return POISE_OK;
  PoiseErr e = Pack(f, B, &g); /* the exchange takes place all the same */
  if (!e) e = poiseBufferWrite(&f->received, DEVICE, &received);
  return poiseAlltoall(f->ctx, e, &f->ex, g.out, received);
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
HOST_ITEMS(fetched_keys, ColumnPlacesArgs, fetched_keys_item(a, i))
HOST_ITEMS(fetched_places, ColumnPlacesArgs, fetched_places_item(a, i))
HOST_ITEMS(fetched_own, OwnRowsArgs, fetched_own_item(a, i))
