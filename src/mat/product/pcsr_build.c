/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Parts of type pcsr: where the nonzeros of all ranks are cut, and what follows for each rank. A boundary that
  falls into a node (the rows of a block) moves to its nearer end if the node has at most one per cent of a
  share. Else the boundary stays, and cuts the row that it is in. Nothing is cut where no rank exceeds its
  share by more than one per cent.
*/
#include "mat/csr/replace.h"
#include "mat/csr/boundaries.h"
#include "mat/csr/entries.h"
#include "mat/csr/ghosts.h"
#include "mat/object/mat_type.h"
#include "pcsr.h"

typedef struct Cuts {
  Shares shares;
  double *bound;        /* of these, where ranks are on several machines */
  int64_t *start, *cut; /* the entries of rank q's rows, and of its part, are start[q] .. start[q + 1] - 1,
                           cut[q] .. cut[q + 1] - 1 of the entries of all ranks */
  int64_t *moved;       /* 1 + where boundary q has moved to; 0: it stays */
} Cuts;

typedef struct
    Pieces {           /* entries on their way from rows' owners: what is given or taken, in order of ranks */
  int64_t n, *bytes;   /* bytes of 8 for each entry, by rank */
  PoiseInt *row, *col; /* global, in units of entries */
} Pieces;

typedef struct Build {
  Cuts cuts;
  Pieces give, take;
  int64_t nz;           /* entries of this rank's part */
  PoiseInt *owned_rows; /* global rows, as scalars, that entries are taken of; each once */
  Csr kept, taken;
} Build;

static void Release(PoiseContext ctx, Build *b)
{
  poiseFree(ctx, &b->cuts.start);
  poiseFree(ctx, &b->cuts.cut);
  poiseFree(ctx, &b->cuts.moved);
  poiseFree(ctx, &b->cuts.bound);
  for (int k = 0; k < 2; k++) {
    Pieces *p = k ? &b->take : &b->give;
    poiseFree(ctx, &p->bytes);
    poiseFree(ctx, &p->row);
    poiseFree(ctx, &p->col);
  }
  poiseFree(ctx, &b->owned_rows);
  poiseCsrDestroy(ctx, &b->kept);
  poiseCsrDestroy(ctx, &b->taken);
}

/* ---- boundaries ------------------------------------------------------------------------------ */

static int64_t Total(const Cuts *c)
{
  return c->start[c->shares.parts];
}

static PoiseErr ReserveCuts(PoiseMat A, Cuts *c)
{
  PoiseContext ctx = A->ctx;
  int size = PoiseSize(ctx);
  TRY(poiseAllocArray(ctx, size + 1, sizeof(int64_t), "parts of pcsr", &c->start));
  TRY(poiseAllocArray(ctx, size + 1, sizeof(int64_t), "parts of pcsr", &c->cut));
  return poiseAllocArray(ctx, size + 1, sizeof(int64_t), "parts of pcsr", &c->moved);
}

/* Two values at once are loaded where the first that is kept is at an even place. So the boundary before this
   rank's part moves by an entry, if it cuts a row anyway. */
static void AlignKept(PoiseMat A, const void *ptr, Cuts *c)
{
  int me = PoiseRank(A->ctx);
  int64_t k = c->cut[me] - c->start[me];
  if (c->moved[me] || k <= 0 || k >= A->csr.nz || k % 2 == 0) return;
  int64_t begin = poiseCsrPtr(&A->csr, ptr, poiseRowOfEntry(&A->csr, ptr, k));
  if (begin < k - 1) c->moved[me] = c->cut[me]; /* 1 + one entry less */
}

static PoiseErr Cut(PoiseMat A, Cuts *c)
{
  Comm *comm = A->ctx->comm;
  int size = comm->size;
  int64_t nz = A->csr.nz;
  HostCsr h;
  TRY(poiseSharesByMachine(A, &c->shares, &c->bound, &A->parts->machines));
  PoiseErr e = ReserveCuts(A, c);
  if (!e) e = poiseMatPattern(A, &h);
  TRY(PoiseAgree(A->ctx, e));
  TRY(comm->ops->allgather(comm, &nz, sizeof nz, c->start + 1));
  for (int q = 0; q < size; q++) c->start[q + 1] += c->start[q];
  for (int q = 0; q <= size; q++) c->cut[q] = poiseShareBegin(&c->shares, q, Total(c));
  const Entries all = {c->start[comm->rank], Total(c)};
  double least = poiseShareLeast(&c->shares, all.total);
  for (int q = 1; q < size; q++) c->moved[q] = poiseBoundaryMove(A, h.ptr, &c->shares, all, q, least);
  AlignKept(A, h.ptr, c);
  TRY(poiseCommMaxInt(comm, c->moved, size + 1));
  for (int q = 0; q <= size; q++)
    if (c->moved[q]) c->cut[q] = c->moved[q] - 1;
  return POISE_OK;
}

static bool IsWhole(const Cuts *c) /* is the part of every rank its own rows? */
{
  for (int q = 0; q < c->shares.parts; q++)
    if (c->start[q] != c->cut[q]) return false;
  return true;
}

/* ---- what travels ---------------------------------------------------------------------------- */

typedef struct Range {
  int64_t first, n;
} Range;

/* The entries of the rows of rank `owner` that are in the part of rank `part`. */
static Range Common(const Cuts *c, int owner, int part)
{
  int64_t first = c->start[owner] > c->cut[part] ? c->start[owner] : c->cut[part];
  int64_t end = c->start[owner + 1] < c->cut[part + 1] ? c->start[owner + 1] : c->cut[part + 1];
  return (Range){first, end > first ? end - first : 0};
}

static PoiseErr ReservePieces(PoiseMat A, const Cuts *c, bool give, Pieces *p)
{
  PoiseContext ctx = A->ctx;
  int me = PoiseRank(ctx);
  TRY(poiseAllocArray(ctx, c->shares.parts, sizeof(int64_t), "entries of parts", &p->bytes));
  for (int q = 0; q < c->shares.parts; q++) {
    int64_t n = q == me ? 0 : give ? Common(c, me, q).n : Common(c, q, me).n;
    p->bytes[q] = n * (int64_t)sizeof(PoiseInt);
    p->n += n;
  }
  TRY(poiseAllocArray(ctx, p->n, sizeof(PoiseInt), "rows of entries", &p->row));
  return poiseAllocArray(ctx, p->n, sizeof(PoiseInt), "columns of entries", &p->col);
}

static PoiseErr Reserve(PoiseMat A, Build *b, HostCsr *h)
{
  PoiseContext ctx = A->ctx;
  Parts *t = A->parts;
  const Cuts *c = &b->cuts;
  int64_t size = PoiseSize(ctx), number = poiseCsrSide(&A->csr) * poiseCsrSide(&A->csr);
  TRY(ReservePieces(A, c, true, &b->give));
  TRY(ReservePieces(A, c, false, &b->take));
  TRY(poiseAllocArray(ctx, size, sizeof(int64_t), "values of parts", &t->give));
  TRY(poiseAllocArray(ctx, size, sizeof(int64_t), "values of parts", &t->take));
  TRY(poiseAllocArray(ctx, size, sizeof(int64_t), "values of parts", &t->place));
  TRY(poiseAllocArray(ctx, b->give.n * number, sizeof(double), "values of parts", &t->out));
  for (int q = 0; q < size; q++) {
    t->give[q] = b->give.bytes[q] * number, t->take[q] = b->take.bytes[q] * number;
    t->place[q] = Common(c, PoiseRank(ctx), q).first - c->start[PoiseRank(ctx)];
  }
  return poiseMatPattern(A, h);
}

/* List the entries that are given away. */
static void List(PoiseMat A, const HostCsr *h, const Parts *t, Pieces *p)
{
  const Csr *c = &A->csr;
  int64_t out = 0;
  for (int q = 0; q < PoiseSize(A->ctx); q++) {
    int64_t k = t->place[q], end = k + p->bytes[q] / (int64_t)sizeof(PoiseInt);
    for (int64_t row = k < end ? poiseRowOfEntry(c, h->ptr, k) : 0; k < end; k++, out++) {
      while (poiseCsrPtr(c, h->ptr, row + 1) <= k) row++;
      p->row[out] = c->row + row;
      p->col[out] = poiseCsrGlobal(A, h->col[k]);
    }
  }
}

/* Rows of this rank that are cut: a boundary lies within, which may be several for one row. */
static int64_t CountCut(PoiseMat A, const void *ptr, const Cuts *c)
{
  int64_t mine = c->start[PoiseRank(A->ctx)], last = -1, n = 0;
  for (int q = 1; q < c->shares.parts; q++) {
    int64_t k = c->cut[q] - mine;
    if (k <= 0 || k >= A->csr.nz) continue;
    int64_t row = poiseRowOfEntry(&A->csr, ptr, k);
    if (row != last && poiseCsrPtr(&A->csr, ptr, row) < k) n++, last = row;
  }
  return n * poiseCsrSide(&A->csr);
}

/* ---- the two matrices of a part -------------------------------------------------------------- */

static PoiseErr MakeOffsets(PoiseContext ctx, Csr *c, void **ptr)
{
  c->wide = c->nz > poiseContextHome(ctx)->hooks.most_narrow;
  TRY(poiseBufferCreate(ctx->device, (size_t)(c->m + 1) * (c->wide ? 8 : 4), "row offsets", &c->ptr));
  return poiseBufferWrite(&c->ptr, HOST, ptr);
}

static void PutOffset(const Csr *c, void *ptr, int64_t i, int64_t offset)
{
  if (c->wide)
    ((int64_t *)ptr)[i] = offset;
  else
    ((int32_t *)ptr)[i] = (int32_t)offset;
}

/* Offsets of the own rows, for entries t->first .. t->first + nz - 1. */
static PoiseErr KeepRows(PoiseMat A, const HostCsr *h, Csr *c)
{
  int64_t first = A->parts->first;
  void *ptr;
  TRY(MakeOffsets(A->ctx, c, &ptr));
  for (int64_t i = 0; i <= c->m; i++) {
    int64_t k = poiseCsrPtr(&A->csr, h->ptr, i) - first;
    PutOffset(c, ptr, i, k < 0 ? 0 : k < c->nz ? k : c->nz);
  }
  return POISE_OK;
}

/* A row for each row of other ranks of which there are entries. */
static PoiseErr TakeRows(PoiseMat A, Build *b)
{
  Csr *c = &b->taken;
  const PoiseInt *row = b->take.row;
  int64_t side = poiseCsrSide(&A->csr);
  void *ptr;
  for (int64_t k = 0; k < c->nz; k++) c->m += !k || row[k] != row[k - 1];
  TRY(MakeOffsets(A->ctx, c, &ptr));
  TRY(poiseAllocArray(A->ctx, c->m * side, sizeof(PoiseInt), "rows of other ranks", &b->owned_rows));
  PutOffset(c, ptr, 0, 0);
  for (int64_t k = 0, i = 0; k < c->nz; k++) {
    if (k && row[k] == row[k - 1]) continue;
    PutOffset(c, ptr, i, k);
    for (int64_t j = 0; j < side; j++) b->owned_rows[i * side + j] = row[k] * side + j;
    i++;
  }
  PutOffset(c, ptr, c->m, c->nz);
  return POISE_OK;
}

static bool IsOwned(const Csr *c, PoiseInt col)
{
  return col >= c->column && col < c->column + c->nloc;
}

static PoiseErr MakeColumns(PoiseContext ctx, Csr *c, int32_t **col)
{
  TRY(poiseBufferCreate(ctx->device, (size_t)c->nz * sizeof **col, "columns", &c->col));
  return poiseBufferWrite(&c->col, HOST, col);
}

/* Both matrices number their columns alike, so that one exchange serves both. */
static PoiseErr Number(PoiseMat A, const HostCsr *h, Build *b, Ghosts *g)
{
  const Csr *c = &A->csr;
  Csr *kept = &b->kept, *taken = &b->taken;
  const int32_t *from = h->col + A->parts->first;
  const PoiseInt *taken_col = b->take.col;
  int32_t *col;
  TRY(poiseGhostsCreate(A->ctx, c->columns, g));
  for (int64_t k = 0; k < kept->nz; k++)
    if (from[k] >= c->nloc) TRY(poiseGhostsAdd(g, poiseCsrGlobal(A, from[k])));
  for (int64_t k = 0; k < taken->nz; k++)
    if (!IsOwned(c, taken_col[k])) TRY(poiseGhostsAdd(g, taken_col[k]));
  TRY(poiseGhostsNumber(g, INT32_MAX - c->nloc, &kept->nghost, &kept->ghost));
  taken->nghost = kept->nghost;
  TRY(poiseAllocArray(A->ctx, taken->nghost, sizeof *taken->ghost, "ghosts", &taken->ghost));
  if (taken->nghost) memcpy(taken->ghost, kept->ghost, (size_t)taken->nghost * sizeof *taken->ghost);
  TRY(MakeColumns(A->ctx, kept, &col));
  for (int64_t k = 0; k < kept->nz; k++)
    col[k] = from[k] < c->nloc ? from[k] : (int32_t)c->nloc + poiseGhostsFind(g, poiseCsrGlobal(A, from[k]));
  TRY(MakeColumns(A->ctx, taken, &col));
  for (int64_t k = 0; k < taken->nz; k++)
    col[k] = IsOwned(c, taken_col[k]) ? (int32_t)(taken_col[k] - c->column)
                                      : (int32_t)c->nloc + poiseGhostsFind(g, taken_col[k]);
  return POISE_OK;
}

static PoiseErr Fill(PoiseMat A, Build *b)
{
  Parts *t = A->parts;
  Device *dev = A->ctx->device;
  size_t number = (size_t)(poiseCsrSide(&A->csr) * poiseCsrSide(&A->csr)) * sizeof(double);
  HostCsr h;
  Ghosts ghosts = {0};
  const Range kept = Common(&b->cuts, PoiseRank(A->ctx), PoiseRank(A->ctx));
  t->first = kept.n ? kept.first - b->cuts.start[PoiseRank(A->ctx)] : 0;
  b->kept = (Csr){.b = A->csr.b, .m = A->csr.m, .nz = kept.n};
  b->taken = (Csr){.b = A->csr.b, .nz = b->take.n};
  b->nz = kept.n + b->take.n;
  TRY(poiseMatPattern(A, &h));
  t->rows = CountCut(A, h.ptr, &b->cuts);
  TRY(KeepRows(A, &h, &b->kept));
  TRY(TakeRows(A, b));
  PoiseErr e = Number(A, &h, b, &ghosts);
  poiseGhostsDestroy(&ghosts);
  TRY(e);
  poiseBufferSlice(dev, (size_t)b->kept.nz * number, "values", &b->kept.val);
  return poiseBufferCreate(dev, (size_t)b->taken.nz * number, "values", &b->taken.val);
}

/* A matrix of A's local type, with A's columns. csr is moved to it. */
static PoiseErr Wrap(PoiseMat A, PoiseInt m, Csr *csr, PoiseMat *part)
{
  TRY(poiseMatCreateTyped(A->ctx, A->asked.type, m, A->cols->n, POISE_DECIDE, A->cols->N, part));
  (*part)->block_size = A->csr.b ? A->csr.b : 1;
  poiseMatInherit(A, *part);
  return poiseMatReplaceCsr(*part, POISE_OK, csr);
}

static PoiseErr Trade(PoiseMat A, Build *b)
{
  Comm *comm = A->ctx->comm;
  HostCsr h;
  PoiseErr e = Reserve(A, b, &h);
  if (!e) List(A, &h, A->parts, &b->give);
  TRY(PoiseAgree(A->ctx, e));
  TRY(comm->ops->alltoallv(comm, b->give.row, b->give.bytes, b->take.row, b->take.bytes));
  return comm->ops->alltoallv(comm, b->give.col, b->give.bytes, b->take.col, b->take.bytes);
}

static PoiseErr Split(PoiseMat A, Build *b)
{
  Parts *t = A->parts;
  int64_t side = poiseCsrSide(&A->csr);
  TRY(Trade(A, b));
  TRY(PoiseAgree(A->ctx, Fill(A, b)));
  int64_t m = b->taken.m * side;
  TRY(poiseHaloCreate(A->rows, m, b->owned_rows, &t->owners));
  TRY(Wrap(A, A->rows->n, &b->kept, &t->kept));
  TRY(Wrap(A, m, &b->taken, &t->taken));
  poiseHaloDestroy(&t->taken->csr.halo);
  t->taken->csr.halo = t->kept->csr.halo;
  return POISE_OK;
}

static PoiseErr Make(PoiseMat A, Build *b)
{
  Parts *t = A->parts;
  TRY(poiseSharesOver(A, A->csr.nz, &t->over));
  if (t->over > 1 + 1.0 / PERCENT) TRY(Cut(A, &b->cuts));
  t->split = b->cuts.start && !IsWhole(&b->cuts);
  if (t->split) TRY(Split(A, b));
  if (t->split) TRY(poiseSharesOver(A, b->nz, &t->over));
  t->made = A->version, t->block_size = A->block_size;
  return POISE_OK;
}

PoiseErr poisePartsBuild(PoiseMat A)
{
  Build b = {0};
  TRY(PoiseAgree(A->ctx, poiseAlloc(A->ctx, sizeof *A->parts, "parts", &A->parts)));
  PoiseErr e = Make(A, &b);
  Release(A->ctx, &b);
  return e;
}
