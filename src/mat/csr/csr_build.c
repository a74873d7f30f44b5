/* SPDX-License-Identifier: BSD-3-Clause */
/* Build the local CSR from a user's CSR arrays: checks, conversion if needed, ghosts, halo, interior blocks
   of rows first. */
#include "mat/types/bcsr_kernels.h"
#include "csr_build.h"
#include "mat/types/csri_kernels.h"
#include "entries.h"
#include "find.h"
#include "ghosts.h"
#include "mat/mat.h"

void poiseCsrDestroy(PoiseContext ctx, Csr *c)
{
  poiseBufferDestroy(&c->ptr);
  poiseBufferDestroy(&c->col);
  poiseBufferDestroy(&c->val);
  poiseBufferDestroy(&c->order);
  poiseHaloDestroy(&c->halo);
  poiseFree(ctx, &c->ghost);
  *c = (Csr){0};
}

/* Set rows and columns in units of the entries, which are scalars or blocks. */
static void Measure(PoiseMat A)
{
  Csr *c = &A->csr;
  int64_t b = poiseCsrSide(c);
  c->m = A->rows->n / b;
  c->nloc = A->cols->n / b;
  c->row = A->rows->begin / b;
  c->column = A->cols->begin / b;
  c->columns = A->cols->N / b;
}

static const char *RowWord(const PoiseMat A)
{
  return A->csr.b ? "block row" : "row";
}

/* The name of a caller's array, of a bcsr or a csr. */
static const char *Argument(const PoiseMat A, const char *of_bcsr)
{
  return of_bcsr + (A->csr.b ? 0 : 1);
}

PoiseErr poiseCsrPattern(Csr *c, CsrView *v)
{
  *v = (CsrView){.b = c->b, .m = c->m, .nloc = c->nloc, .nz = c->nz};
  if (c->wide)
    TRY(poiseBufferRead(&c->ptr, DEVICE, &v->ptr64));
  else
    TRY(poiseBufferRead(&c->ptr, DEVICE, &v->ptr32));
  return poiseBufferRead(&c->col, DEVICE, &v->col);
}

/* The device gets all of a matrix or nothing. A part that no product can use would take memory that others
   need. */
PoiseErr poiseCsrView(Csr *c, CsrView *v)
{
  PoiseErr e = poiseCsrPattern(c, v);
  if (!e) e = poiseBufferRead(&c->val, DEVICE, &v->val);
  if (e != POISE_ERR_MEMORY) return e;
  poiseBufferLeave(&c->ptr);
  poiseBufferLeave(&c->col);
  poiseBufferLeave(&c->val);
  TRY(e);
  return POISE_OK;
}

PoiseErr poiseCsrUpdate(Csr *c, CsrView *v, double **val)
{
  TRY(poiseCsrView(c, v));
  return poiseBufferUpdate(&c->val, DEVICE, val);
}

PoiseErr poiseMatFindNan(PoiseMat A, int64_t *row)
{
  CsrView v;
  FindArgs f = {.what = FIND_NAN_IN_ROW, .n = A->rows->n};
  TRY(poiseCsrView(&A->csr, &v));
  f.b = v.b, f.ptr32 = v.ptr32, f.ptr64 = v.ptr64, f.val = v.val;
  return poiseFind(A->ctx, f, row);
}

int64_t poiseCsrFind(const PoiseMat A, const void *ptr, const int32_t *col, int64_t row, PoiseInt column)
{
  int64_t low = poiseCsrPtr(&A->csr, ptr, row), high = poiseCsrPtr(&A->csr, ptr, row + 1);
  while (low < high) {
    int64_t mid = low + (high - low) / 2;
    PoiseInt g = poiseCsrGlobal(A, col[mid]);
    if (g == column) return mid;
    if (g < column)
      low = mid + 1;
    else
      high = mid;
  }
  return -1;
}

int64_t poiseMatPlace(const PoiseMat A, const HostCsr *h, int64_t row, PoiseInt column)
{
  int64_t b = A->csr.b;
  if (!b) return poiseCsrFind(A, h->ptr, h->col, row, column);
  int64_t k = poiseCsrFind(A, h->ptr, h->col, row / b, column / b);
  return k < 0 ? k : (k * b + column % b) * b + row % b;
}

/* ---- the user's arrays ----------------------------------------------------------------------- */

static int64_t InPtr(const PoiseCSR *in, int64_t i)
{
  return (in->ptr32 ? in->ptr32[i] : in->ptr64[i]) - in->base;
}

static PoiseInt InCol(const PoiseCSR *in, int64_t k)
{
  return (in->col32 ? in->col32[k] : in->col64[k]) - in->base;
}

static PoiseErr CheckGiven(const PoiseCSR *in)
{
  if (!in) FAIL(POISE_ERR_ARG, "the CSR arrays are NULL");
  if (in->base != 0 && in->base != 1)
    FAIL(POISE_ERR_ARG, "base %d of the indices is neither 0 nor 1", in->base);
  if (!in->ptr32 == !in->ptr64) FAIL(POISE_ERR_ARG, "give exactly one of ptr32 and ptr64");
  return POISE_OK;
}

static PoiseErr CheckEntries(const PoiseCSR *in, int64_t nz)
{
  if (!nz) return POISE_OK;
  if (!in->col32 == !in->col64) FAIL(POISE_ERR_ARG, "give exactly one of col32 and col64");
  if (!in->val) FAIL(POISE_ERR_ARG, "val is NULL and there are %lld entries", (long long)nz);
  return POISE_OK;
}

/* Check the first offset; then those of local row i and of the next. */
static PoiseErr CheckFirst(const PoiseCSR *in, int64_t first)
{
  if (first)
    FAIL(POISE_ERR_ARG, "the first row offset is %lld, not the base %d", (long long)first + in->base,
         in->base);
  return POISE_OK;
}

static PoiseErr CheckOffsets(const PoiseMat A, const PoiseCSR *in, int64_t i, int64_t begin, int64_t end)
{
  if (end < begin)
    FAIL(POISE_ERR_ARG, "row offsets decrease at %s %lld: %lld, then %lld", RowWord(A),
         (long long)(A->csr.row + i) + in->base, (long long)begin + in->base, (long long)end + in->base);
  return POISE_OK;
}

static PoiseErr CheckHere(Device *dev, const PoiseCSR *in)
{
  if (!in) return POISE_OK; /* see CheckGiven */
  TRY(poiseDeviceCheckHost(dev, in->ptr32 ? (const void *)in->ptr32 : in->ptr64, "ptr"));
  TRY(poiseDeviceCheckHost(dev, in->col32 ? (const void *)in->col32 : in->col64, "col"));
  return poiseDeviceCheckHost(dev, in->val, "val");
}

static PoiseErr CheckPointers(const PoiseMat A, const PoiseCSR *in)
{
  int64_t m = A->csr.m;
  TRY(CheckGiven(in));
  TRY(CheckFirst(in, InPtr(in, 0)));
  for (int64_t i = 0; i < m; i++) TRY(CheckOffsets(A, in, i, InPtr(in, i), InPtr(in, i + 1)));
  return CheckEntries(in, InPtr(in, m));
}

static bool RowAscends(const PoiseCSR *in, int64_t i, PoiseInt N)
{
  int64_t begin = InPtr(in, i), end = InPtr(in, i + 1);
  bool ascends = begin == end || (InCol(in, begin) >= 0 && InCol(in, end - 1) < N);
  for (int64_t k = begin + 1; k < end; k++) ascends &= InCol(in, k - 1) < InCol(in, k);
  return ascends;
}

static bool AllAscend(const PoiseMat A, const PoiseCSR *in)
{
  Device *dev = A->ctx->device;
  int64_t m = A->csr.m, nblock = POISE_NBLOCKS(m);
  bool all = true;
  (void)dev;
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t b = 0; b < nblock; b++)
    for (int64_t i = b * POISE_BLOCK; i < (b + 1) * POISE_BLOCK && i < m; i++)
      if (!RowAscends(in, i, A->csr.columns)) __atomic_store_n(&all, false, __ATOMIC_RELAXED);
  return all;
}

/* Entries [k, end) are local row i. */
static PoiseErr CheckRow(const PoiseMat A, const PoiseCSR *in, int64_t i, int64_t k, int64_t end,
                         bool *ascending)
{
  PoiseInt last = -1, N = A->csr.columns;
  *ascending = true;
  for (; k < end; k++) {
    PoiseInt c = InCol(in, k);
    if (c < 0 || c >= N)
      FAIL(POISE_ERR_ARG, "%s %lld has column %lld, legal are %d to %lld", RowWord(A),
           (long long)(A->csr.row + i) + in->base, (long long)c + in->base, in->base,
           (long long)N - 1 + in->base);
    if (*ascending && c == last)
      FAIL(POISE_ERR_ARG, "%s %lld has column %lld twice", RowWord(A), (long long)(A->csr.row + i) + in->base,
           (long long)c + in->base);
    *ascending = *ascending && c > last;
    last = c;
  }
  return POISE_OK;
}

/* *sorted: the columns of every row ascend. A column that occurs twice is found here in sorted rows, else
   after sorting. */
static PoiseErr CheckColumns(const PoiseMat A, const PoiseCSR *in, bool *sorted, int64_t *unsorted_row)
{
  bool ascending;
  *sorted = true;
  if (AllAscend(A, in)) return POISE_OK;
  for (int64_t i = 0; i < A->csr.m; i++) {
    TRY(CheckRow(A, in, i, InPtr(in, i), InPtr(in, i + 1), &ascending));
    if (!ascending && *sorted) *sorted = false, *unsorted_row = i;
  }
  return POISE_OK;
}

static PoiseErr Unsorted(const PoiseMat A, const PoiseCSR *in, int64_t i, const char *what)
{
  FAIL(POISE_ERR_ARG, "the columns of %s %lld are not sorted, so the arrays cannot be %s", RowWord(A),
       (long long)(A->csr.row + i) + in->base, what);
}

typedef struct Pair {
  PoiseInt col;
  int64_t from; /* the entry's place */
} Pair;

static int ComparePairs(const void *a, const void *b)
{
  PoiseInt x = ((const Pair *)a)->col, y = ((const Pair *)b)->col;
  return (x > y) - (x < y);
}

/* Copy global columns and values of the rows, each row sorted. */
static PoiseErr CopySorted(const PoiseMat A, const PoiseCSR *in, PoiseInt *col, double *val)
{
  PoiseContext ctx = A->ctx;
  int64_t longest = 0, numbers = poiseCsrSide(&A->csr) * poiseCsrSide(&A->csr);
  Pair *row;
  for (int64_t i = 0; i < A->csr.m; i++)
    if (InPtr(in, i + 1) - InPtr(in, i) > longest) longest = InPtr(in, i + 1) - InPtr(in, i);
  TRY(poiseAllocArray(ctx, longest, sizeof(Pair), "a row to sort", &row));
  PoiseErr e = POISE_OK;
  for (int64_t i = 0; !e && i < A->csr.m; i++) {
    int64_t begin = InPtr(in, i), n = InPtr(in, i + 1) - begin;
    for (int64_t k = 0; k < n; k++) row[k] = (Pair){InCol(in, begin + k), begin + k};
    if (n) qsort(row, (size_t)n, sizeof *row, ComparePairs);
    for (int64_t k = 0; k < n; k++) {
      if (!e && k && row[k].col == row[k - 1].col)
        e = PoiseErrorSet(POISE_ERR_ARG, __func__, __FILE__, __LINE__, "%s %lld has column %lld twice",
                          RowWord(A), (long long)(A->csr.row + i) + in->base,
                          (long long)row[k].col + in->base);
      col[begin + k] = row[k].col;
      memcpy(val + (begin + k) * numbers, in->val + row[k].from * numbers, (size_t)numbers * sizeof *val);
    }
  }
  poiseFree(ctx, &row);
  return e;
}

/* ---- local numbering ------------------------------------------------------------------------- */

static bool IsOwned(const PoiseMat A, PoiseInt g)
{
  return g >= A->csr.column && g < A->csr.column + A->csr.nloc;
}

/* Set c->ghost: the columns of other ranks, each once, ascending. */
static PoiseErr CollectGhosts(PoiseMat A, const PoiseCSR *in, Ghosts *ghosts)
{
  Csr *c = &A->csr;
  if (PoiseSize(A->ctx) == 1) return POISE_OK;
  TRY(poiseGhostsCreate(A->ctx, c->columns, ghosts));
  for (int64_t k = 0; k < c->nz; k++)
    if (!IsOwned(A, InCol(in, k))) TRY(poiseGhostsAdd(ghosts, InCol(in, k)));
  return poiseGhostsNumber(ghosts, INT32_MAX - c->nloc, &c->nghost, &c->ghost);
}

static int32_t LocalColumn(const PoiseMat A, const Ghosts *ghosts, PoiseInt g)
{
  if (IsOwned(A, g)) return (int32_t)(g - A->csr.column);
  return (int32_t)A->csr.nloc + poiseGhostsFind(ghosts, g);
}

static PoiseErr ConvertPointers(PoiseMat A, const PoiseCSR *in)
{
  Csr *c = &A->csr;
  void *p;
  c->wide = c->nz > poiseContextHome(A->ctx)->hooks.most_narrow;
  TRY(poiseBufferCreate(A->ctx->device, (size_t)(c->m + 1) * (c->wide ? 8 : 4), "row offsets", &c->ptr));
  TRY(poiseBufferWrite(&c->ptr, HOST, &p));
  for (int64_t i = 0; i <= c->m; i++) {
    if (c->wide)
      ((int64_t *)p)[i] = InPtr(in, i);
    else
      ((int32_t *)p)[i] = (int32_t)InPtr(in, i);
  }
  return POISE_OK;
}

static PoiseErr NumberColumns(PoiseMat A, const PoiseCSR *in, Ghosts *ghosts)
{
  Csr *c = &A->csr;
  int32_t *col;
  TRY(CollectGhosts(A, in, ghosts));
  if (c->col.dev) { /* adopted: in place */
    TRY(poiseBufferUpdate(&c->col, HOST, &col));
  } else {
    TRY(poiseBufferCreate(A->ctx->device, (size_t)c->nz * sizeof(int32_t), "columns", &c->col));
    TRY(poiseBufferWrite(&c->col, HOST, &col));
  }
  for (int64_t k = 0; k < c->nz; k++) col[k] = LocalColumn(A, ghosts, InCol(in, k));
  return POISE_OK;
}

static PoiseErr ConvertColumns(PoiseMat A, const PoiseCSR *in)
{
  Ghosts ghosts = {0};
  PoiseErr e = NumberColumns(A, in, &ghosts);
  poiseGhostsDestroy(&ghosts);
  return e;
}

/* Wraps a user's array, on the host or on the device. */
typedef PoiseErr (*Wrap)(Device *, size_t, const char *, void *, PoiseOwn, Buffer *);

/* Adopt or borrow the arrays as they are. */
static PoiseErr WrapIndices(PoiseMat A, Wrap wrap, const PoiseCSR *in, PoiseOwn own)
{
  Csr *c = &A->csr;
  Device *dev = A->ctx->device;
  c->wide = in->ptr64 != NULL;
  void *ptr = c->wide ? (void *)(uintptr_t)in->ptr64 : (void *)(uintptr_t)in->ptr32;
  TRY(wrap(dev, (size_t)(c->m + 1) * (c->wide ? 8 : 4), "row offsets", ptr, own, &c->ptr));
  return wrap(dev, (size_t)c->nz * sizeof(int32_t), "columns", (void *)(uintptr_t)in->col32, own, &c->col);
}

/* Several ranks: adopted columns are renumbered in place. */
static const char renumbered[] = "columns (in place)";

static PoiseErr Renumber(PoiseMat A, const PoiseCSR *in)
{
  TRY(WrapIndices(A, poiseBufferWrap, in, POISE_ADOPT));
  TRY(ConvertColumns(A, in));
  A->csr.converted = renumbered;
  return POISE_OK;
}

static void UndoRenumber(PoiseMat A)
{
  int32_t *col = A->csr.col.host;
  for (int64_t k = 0; k < A->csr.nz; k++) col[k] = (int32_t)poiseCsrGlobal(A, col[k]);
}

static PoiseErr WrapValues(PoiseMat A, Wrap wrap, const PoiseCSR *in, PoiseOwn own)
{
  return wrap(A->ctx->device, (size_t)poiseCsrScalars(&A->csr) * sizeof(double), "values",
              (void *)(uintptr_t)in->val, own, &A->csr.val);
}

/* Sort unsorted rows into arrays of our own, then continue as with arrays to copy. */
static PoiseErr BuildSorted(PoiseMat A, const PoiseCSR *in)
{
  PoiseContext ctx = A->ctx;
  Csr *c = &A->csr;
  PoiseInt *col;
  double *val;
  PoiseCSR sorted = *in;
  TRY(poiseBufferCreate(ctx->device, (size_t)poiseCsrScalars(c) * sizeof(double), "values", &c->val));
  TRY(poiseBufferWrite(&c->val, HOST, &val));
  TRY(poiseAllocArray(ctx, c->nz, sizeof(PoiseInt), "sorted columns", &col));
  PoiseErr e = CopySorted(A, in, col, val);
  for (int64_t k = 0; k < c->nz; k++) col[k] += in->base;
  sorted.col32 = NULL;
  sorted.col64 = col;
  if (!e) e = ConvertColumns(A, &sorted);
  poiseFree(ctx, &col);
  return e;
}

/* device: the arrays on the device, with copies of offsets and columns on the host in `in`. NULL: `in` is
   the user's. */
static PoiseErr BuildLocal(PoiseMat A, const PoiseCSR *in, const PoiseCSR *device, PoiseOwn own)
{
  Wrap wrap = device ? poiseBufferWrapDevice : poiseBufferWrap;
  const PoiseCSR *given = device ? device : in;
  Csr *c = &A->csr;
  bool sorted;
  int64_t row = 0;
  Measure(A);
  if (!device) TRY(CheckHere(A->ctx->device, in));
  TRY(CheckPointers(A, in));
  TRY(CheckColumns(A, in, &sorted, &row));
  c->nz = InPtr(in, c->m);
  if (!sorted && (own == POISE_BORROW || device))
    return Unsorted(A, in, row, device ? "on the device" : "borrowed");
  if (!sorted) {
    c->converted = "offsets, columns and values (rows sorted)";
    TRY(ConvertPointers(A, in));
    return BuildSorted(A, in);
  }
  TRY(WrapValues(A, wrap, given, own));
  bool fits = own != POISE_COPY && in->base == 0 && !in->col64;
  /* arrays of the host; BuildThere takes the others */
  if (fits && PoiseSize(A->ctx) == 1) return WrapIndices(A, wrap, in, own);
  if (fits && own == POISE_ADOPT && !device) return Renumber(A, in);
  if (own != POISE_COPY) c->converted = "offsets and columns";
  TRY(ConvertPointers(A, in));
  return ConvertColumns(A, in);
}

/* ---- the library's own arrays ---------------------------------------------------------------- */

/* Narrow integers of 8 bytes to 4 bytes in place. It uses memcpy, as the same bytes change their type. */
static void NarrowOffsets(char *v, int64_t n)
{
  for (int64_t k = 0; k < n; k++) {
    int64_t offset;
    memcpy(&offset, v + 8 * k, sizeof offset);
    memcpy(v + 4 * k, &(int32_t){(int32_t)offset}, sizeof(int32_t));
  }
}

static void NarrowColumns(const PoiseMat A, const Ghosts *ghosts, char *v, int64_t n)
{
  for (int64_t k = 0; k < n; k++) {
    PoiseInt g;
    memcpy(&g, v + 8 * k, sizeof g);
    memcpy(v + 4 * k, &(int32_t){LocalColumn(A, ghosts, g)}, sizeof(int32_t));
  }
}

/* Give the first bytes of *array to the buffer, and release the rest. */
static PoiseErr HandOver(PoiseMat A, size_t bytes, const char *what, void *array, Buffer *b)
{
  void *p;
  TRY(poiseResize(A->ctx, bytes, what, array));
  memcpy(&p, array, sizeof p);
  memset(array, 0, sizeof p);
  TRY(poiseBufferWrap(A->ctx->device, bytes, what, p, POISE_BORROW, b));
  b->own = POISE_COPY; /* the library's own memory, so nothing is borrowed */
  return POISE_OK;
}

static void RenumberColumns(const PoiseMat A, const Ghosts *ghosts, int32_t *col, int64_t n)
{
  if (PoiseSize(A->ctx) == 1) return;
  for (int64_t k = 0; k < n; k++) col[k] = LocalColumn(A, ghosts, col[k]);
}

static PoiseErr TakeLocal(PoiseMat A, Ghosts *ghosts, RowArrays *r)
{
  const PoiseCSR in = {.ptr64 = r->ptr, .col32 = r->col32, .col64 = r->col, .val = r->val};
  Csr *c = &A->csr;
  bool sorted;
  int64_t row = 0;
  Measure(A);
  TRY(CheckPointers(A, &in));
  TRY(CheckColumns(A, &in, &sorted, &row));
  if (!sorted)
    FAIL(POISE_ERR_INTERNAL, "the columns of %s %lld are not sorted", RowWord(A), (long long)(c->row + row));
  c->nz = r->ptr[c->m];
  c->wide = c->nz > poiseContextHome(A->ctx)->hooks.most_narrow;
  TRY(CollectGhosts(A, &in, ghosts));
  if (!c->wide) NarrowOffsets((char *)r->ptr, c->m + 1);
  if (r->col32)
    RenumberColumns(A, ghosts, r->col32, c->nz);
  else
    NarrowColumns(A, ghosts, (char *)r->col, c->nz);
  TRY(HandOver(A, (size_t)(c->m + 1) * (c->wide ? 8 : 4), "row offsets", &r->ptr, &c->ptr));
  TRY(HandOver(A, (size_t)c->nz * sizeof(int32_t), "columns", r->col32 ? (void *)&r->col32 : (void *)&r->col,
               &c->col));
  return HandOver(A, (size_t)poiseCsrScalars(c) * sizeof(double), "values", &r->val, &c->val);
}

/* ---- row blocks, as the device wants them ---------------------------------------------------- */

/* Row statistics, computed on the side that has the offsets. From a device only the statistics are copied. */
PoiseErr poiseCsrStatistics(PoiseMat A, int64_t limit, CsrStatistics *s)
{
  Csr *c = &A->csr;
  Device *dev = A->ctx->device;
  Side side = poiseBufferIsCurrent(&c->ptr, HOST) ? HOST : DEVICE;
  Buffer there = {0};
  const void *ptr, *result;
  int64_t x_lines = c->statistics.x_lines;
  *s = (CsrStatistics){.m = c->m, .nz = c->nz, .x_lines = x_lines};
  TRY(poiseBufferRead(&c->ptr, side, &ptr));
  CsrStatisticsArgs a = {.A = {.m = c->m, .nz = c->nz}, .limit = limit, .out = s};
  a.share = poiseRowsShare(&dev->model, c->b, c->m), a.bound = poiseRowsBound(&dev->model, c->m, c->nz);
  *(c->wide ? (const void **)&a.A.ptr64 : (const void **)&a.A.ptr32) = ptr;
  s->bound = a.bound;
  if (side == HOST) return poiseHost_csr_statistics(dev, &a);
  PoiseErr e = poiseBufferCreate(dev, sizeof *s, "statistics of rows", &there);
  if (!e) e = poiseBufferUpdate(&there, DEVICE, &a.out);
  if (!e) e = LAUNCH(dev, csr_statistics, &a);
  if (!e) e = poiseBufferRead(&there, HOST, &result);
  if (!e) memcpy(s, result, sizeof *s);
  s->m = c->m, s->nz = c->nz, s->bound = a.bound, s->x_lines = x_lines;
  poiseBufferDestroy(&there);
  return e;
}

PoiseErr poiseCsrCutStatistics(PoiseMat A, const ProductRequest *request, CsrStatistics *s)
{
  const Csr *c = &A->csr;
  int64_t limit = poiseSplitLimit(&A->ctx->device->model, request, c->m + c->nz);
  *s = c->statistics;
  return s->longest >= limit ? poiseCsrStatistics(A, limit, s) : POISE_OK;
}

/* Measure how scattered the columns are, on the side that has them. */
static PoiseErr FindSpread(PoiseMat A)
{
  Csr *c = &A->csr;
  Device *dev = A->ctx->device;
  Side side = poiseBufferIsCurrent(&c->col, HOST) ? HOST : DEVICE;
  CsrSpreadArgs a = {.A = {.m = c->m, .nz = c->nz}};
  Buffer there = {0};
  const int64_t *lines;
  PoiseErr e = POISE_OK;
  c->statistics.x_lines = 0;
  if (!poiseWantsXLines(&dev->model, c->b, c->nloc + c->nghost, c->nz)) return POISE_OK;
  TRY(poiseBufferRead(&c->col, side, &a.A.col));
  TRY(poiseBufferCreate(dev, sizeof *lines, "lines of columns", &there));
  e = poiseBufferUpdate(&there, side, &a.lines);
  if (!e) e = side == HOST ? poiseHost_csr_x_lines(dev, &a) : LAUNCH(dev, csr_x_lines, &a);
  if (!e) e = poiseBufferRead(&there, HOST, &lines);
  if (!e) c->statistics.x_lines = 100 * *lines / (POISE_SAMPLE * POISE_SAMPLES);
  poiseBufferDestroy(&there);
  return e;
}

static PoiseErr ChooseRows(PoiseMat A)
{
  Csr *c = &A->csr;
  CsrStatistics *s = &c->statistics;
  const ProductRequest request = {.type = c->b ? PRODUCT_BCSR : PRODUCT_CSR, .b = c->b, .form = BCSR_EVEN};
  ProductPlan plan;
  TRY(FindSpread(A));
  TRY(poiseCsrStatistics(A, 0, s));
  poiseProductPlan(&A->ctx->device->model, &request, s, s, &plan);
  c->vary = poiseRowsVary(s, c->nloc + c->nghost);
  c->rows = plan.rows, c->tile = plan.tile;
  c->nblock = (c->m + c->rows - 1) / c->rows;
  return POISE_OK;
}

/* ---- several ranks: interior blocks first ---------------------------------------------------- */

PoiseErr poiseCsrOrder(PoiseMat A, int64_t n, int rows, const RowBlock *row_block, Buffer *order,
                       int64_t *ninterior)
{
  Csr *c = &A->csr;
  const void *ptr;
  const int32_t *col;
  int32_t *to;
  int64_t boundary = 0;
  TRY(poiseBufferCreate(A->ctx->device, (size_t)n * sizeof *to, "block order", order));
  TRY(poiseBufferWrite(order, HOST, &to));
  TRY(poiseBufferRead(&c->ptr, HOST, &ptr));
  TRY(poiseBufferRead(&c->col, HOST, &col));
  *ninterior = 0;
  for (int64_t b = 0; b < n; b++) {
    int64_t first = b * rows, last = first + rows,
            k = row_block ? row_block[b].first : poiseCsrPtr(c, ptr, first);
    int64_t end = row_block ? k + row_block[b].nz : poiseCsrPtr(c, ptr, last < c->m ? last : c->m);
    while (k < end && col[k] < c->nloc) k++;
    bool inside = k >= end;
    to[inside ? (*ninterior)++ : n - ++boundary] = (int32_t)b;
  }
  return POISE_OK;
}

static void ReleaseAdopted(const PoiseMat A, const PoiseCSR *in)
{
  const Csr *c = &A->csr;
  if (c->ptr.own != POISE_ADOPT)
    free((void *)(uintptr_t)(in->ptr32 ? (const void *)in->ptr32 : (const void *)in->ptr64));
  if (c->col.own != POISE_ADOPT)
    free((void *)(uintptr_t)(in->col32 ? (const void *)in->col32 : (const void *)in->col64));
  if (c->val.own != POISE_ADOPT) free((void *)(uintptr_t)in->val);
}

/* Ghosts of blocks are the scalars in them. */
static PoiseErr CreateHalo(PoiseMat A)
{
  Csr *c = &A->csr;
  PoiseInt *ghost = NULL;
  if (c->b <= 1) return poiseHaloCreate(A->cols, c->nghost, c->ghost, &c->halo);
  PoiseErr e = poiseAllocArray(A->ctx, c->nghost * c->b, sizeof *ghost, "ghosts", &ghost);
  for (int64_t k = 0; !e && k < c->nghost * c->b; k++) ghost[k] = c->ghost[k / c->b] * c->b + k % c->b;
  e = PoiseAgree(A->ctx, e);
  if (!e) e = poiseHaloCreate(A->cols, c->nghost * c->b, ghost, &c->halo);
  poiseFree(A->ctx, &ghost);
  return e;
}

/* The part that all ranks do together, once each has its arrays, or an error e. */
static PoiseErr Complete(PoiseMat A, PoiseErr e)
{
  PoiseContext ctx = A->ctx;
  Csr *c = &A->csr;
  Measure(A);
  if (!e && !c->rows) e = ChooseRows(A); /* a copy has them */
  e = PoiseAgree(ctx, e);
  if (!e && PoiseSize(ctx) > 1) {
    e = CreateHalo(A);
    if (!e)
      e = PoiseAgree(ctx, c->order.dev
                              ? POISE_OK
                              : poiseCsrOrder(A, c->nblock, c->rows, NULL, &c->order, &c->ninterior));
  }
  if (e) { /* the arrays stay the user's */
    if (c->converted == renumbered) UndoRenumber(A);
    poiseBufferDisown(&c->ptr);
    poiseBufferDisown(&c->col);
    poiseBufferDisown(&c->val);
    poiseCsrDestroy(ctx, c);
    return e;
  }
  c->built = ++A->pattern;
  A->state++;
  return POISE_OK;
}

PoiseErr poiseCsrBuild(PoiseMat A, const PoiseCSR *in, PoiseOwn own)
{
  PoiseErr e = Complete(A, BuildLocal(A, in, NULL, own));
  if (!e && own == POISE_ADOPT) ReleaseAdopted(A, in);
  return e;
}

PoiseErr poiseCsrCopy(PoiseMat A, bool values, Csr *copy)
{
  const Csr *c = &A->csr;
  *copy = *c;
  copy->ghost = NULL, copy->halo = NULL, copy->converted = NULL;
  copy->ptr = copy->col = copy->val = copy->order = (Buffer){0};
  TRY(poiseBufferDuplicate(&c->ptr, &copy->ptr));
  TRY(poiseBufferDuplicate(&c->col, &copy->col));
  TRY(values ? poiseBufferDuplicate(&c->val, &copy->val)
             : poiseBufferCreate(A->ctx->device, c->val.bytes, "values", &copy->val));
  if (!c->halo) return POISE_OK;
  TRY(poiseBufferDuplicate(&c->order, &copy->order));
  TRY(poiseAllocArray(A->ctx, c->nghost, sizeof *c->ghost, "ghosts", &copy->ghost));
  if (c->nghost) memcpy(copy->ghost, c->ghost, (size_t)c->nghost * sizeof *c->ghost);
  return POISE_OK;
}

PoiseErr poiseCsrAccept(PoiseMat A, const Csr *made)
{
  A->csr = *made;
  return Complete(A, POISE_OK);
}

/* ---- the user's arrays on the device, used there --------------------------------------------- */

static PoiseErr CopyToHost(Device *dev, const void *from, size_t bytes, void *to)
{
  TRY(poiseDeviceCopy(dev, to, from, bytes, COPY_TO_HOST));
  return poiseDeviceSync(dev);
}

/* Read row offset i of arrays on the device, without the base. */
static PoiseErr OffsetThere(Device *dev, const PoiseCSR *in, int64_t i, int64_t *offset)
{
  int32_t narrow = 0;
  TRY(in->ptr32 ? CopyToHost(dev, in->ptr32 + i, sizeof narrow, &narrow)
                : CopyToHost(dev, in->ptr64 + i, sizeof *offset, offset));
  *offset = (in->ptr32 ? narrow : *offset) - in->base;
  return POISE_OK;
}

static PoiseErr FindThere(PoiseMat A, const PoiseCSR *in, int what, int64_t *row)
{
  FindArgs f = {.what = what, .base = in->base, .n = A->csr.m, .limit = A->csr.columns};
  f.ptr32 = in->ptr32, f.ptr64 = in->ptr64, f.col32 = in->col32, f.col64 = in->col64;
  return poiseFind(A->ctx, f, row);
}

/* Report what is wrong in row i, which is checked again on the host. */
static PoiseErr CheckRowThere(PoiseMat A, const PoiseCSR *in, int64_t i)
{
  Device *dev = A->ctx->device;
  PoiseCSR row = {.base = in->base};
  int64_t begin, end;
  bool ascending = false;
  void *col;
  TRY(OffsetThere(dev, in, i, &begin));
  TRY(OffsetThere(dev, in, i + 1, &end));
  size_t width = in->col32 ? sizeof(int32_t) : sizeof(int64_t);
  const char *there = in->col32 ? (const char *)in->col32 : (const char *)in->col64;
  TRY(poiseAllocArray(A->ctx, end - begin, width, "columns of a row", &col));
  PoiseErr e = CopyToHost(dev, there + (size_t)begin * width, (size_t)(end - begin) * width, col);
  if (in->col32)
    row.col32 = col;
  else
    row.col64 = col;
  if (!e) e = CheckRow(A, &row, i, 0, end - begin, &ascending);
  if (!e) e = Unsorted(A, in, i, "on the device");
  poiseFree(A->ctx, &col);
  return e;
}

static PoiseErr CheckValues(PoiseMat A, const PoiseCSR *in, int64_t nz)
{
  size_t numbers = (size_t)(nz * poiseCsrSide(&A->csr) * poiseCsrSide(&A->csr));
  if (!in->val) return POISE_OK;
  return poiseDeviceCheckPointer(A->ctx->device, in->val, numbers * sizeof(double), Argument(A, "bcsr->val"));
}

/* The same checks as for arrays on the host: first offsets, then the columns that they lead to. *nz:
   number of columns. */
static PoiseErr CheckThere(PoiseMat A, const PoiseCSR *in, int64_t *nz)
{
  Device *dev = A->ctx->device;
  int64_t m = A->csr.m, first, row, begin, end;
  TRY(CheckGiven(in));
  if (in->ptr32)
    TRY(poiseDeviceCheckPointer(dev, in->ptr32, (size_t)(m + 1) * sizeof(int32_t),
                                Argument(A, "bcsr->ptr32")));
  if (in->ptr64)
    TRY(poiseDeviceCheckPointer(dev, in->ptr64, (size_t)(m + 1) * sizeof(int64_t),
                                Argument(A, "bcsr->ptr64")));
  TRY(OffsetThere(dev, in, 0, &first));
  TRY(CheckFirst(in, first));
  TRY(FindThere(A, in, FIND_DECREASING, &row));
  if (row < m) {
    TRY(OffsetThere(dev, in, row, &begin));
    TRY(OffsetThere(dev, in, row + 1, &end));
    TRY(CheckOffsets(A, in, row, begin, end));
  }
  TRY(OffsetThere(dev, in, m, nz));
  TRY(CheckEntries(in, *nz));
  if (in->col32)
    TRY(poiseDeviceCheckPointer(dev, in->col32, (size_t)*nz * sizeof(int32_t), Argument(A, "bcsr->col32")));
  if (in->col64)
    TRY(poiseDeviceCheckPointer(dev, in->col64, (size_t)*nz * sizeof(int64_t), Argument(A, "bcsr->col64")));
  TRY(CheckValues(A, in, *nz));
  TRY(FindThere(A, in, FIND_UNSORTED, &row));
  return row < m ? CheckRowThere(A, in, row) : POISE_OK;
}

/* Use the arrays in place: one rank, and indices of the library's types. */
static PoiseErr BuildThere(PoiseMat A, const PoiseCSR *in, PoiseOwn own)
{
  Csr *c = &A->csr;
  Measure(A);
  TRY(CheckThere(A, in, &c->nz));
  TRY(WrapValues(A, poiseBufferWrapDevice, in, own));
  return WrapIndices(A, poiseBufferWrapDevice, in, own);
}

/* ---- the user's arrays on the device, through the host --------------------------------------- */

/* Copy n items of the user's array on the device to memory that the caller frees. NULL stays NULL. */
static PoiseErr Fetch(PoiseContext ctx, int64_t n, size_t size, const void *array, const char *argument,
                      const void *host)
{
  Device *dev = ctx->device;
  void *p = NULL;
  if (!array) return POISE_OK;
  TRY(poiseDeviceCheckPointer(dev, array, (size_t)n * size, argument));
  TRY(poiseAllocArray(ctx, n, size, "indices to check", &p));
  memcpy((void *)(uintptr_t)host, &p, sizeof p);
  return CopyToHost(dev, array, (size_t)n * size, p);
}

/* Copy offsets and columns to the host; the values stay on the device. */
static PoiseErr FetchIndices(PoiseMat A, const PoiseCSR *in, PoiseCSR *host)
{
  PoiseContext ctx = A->ctx;
  Measure(A);
  int64_t m = A->csr.m;
  *host = (PoiseCSR){.base = in->base, .val = in->val};
  TRY(Fetch(ctx, m + 1, sizeof(int32_t), in->ptr32, Argument(A, "bcsr->ptr32"), &host->ptr32));
  TRY(Fetch(ctx, m + 1, sizeof(int64_t), in->ptr64, Argument(A, "bcsr->ptr64"), &host->ptr64));
  PoiseCSR offsets = *in; /* offsets are checked before as many columns are copied */
  offsets.ptr32 = host->ptr32, offsets.ptr64 = host->ptr64;
  TRY(CheckPointers(A, &offsets));
  int64_t nz = InPtr(host, m);
  TRY(Fetch(ctx, nz, sizeof(int32_t), in->col32, Argument(A, "bcsr->col32"), &host->col32));
  TRY(Fetch(ctx, nz, sizeof(int64_t), in->col64, Argument(A, "bcsr->col64"), &host->col64));
  return CheckValues(A, in, nz);
}

static void FreeIndices(PoiseContext ctx, PoiseCSR *host)
{
  poiseFree(ctx, &host->ptr32);
  poiseFree(ctx, &host->ptr64);
  poiseFree(ctx, &host->col32);
  poiseFree(ctx, &host->col64);
}

static void ReleaseAdoptedDevice(const PoiseMat A, const PoiseCSR *in)
{
  const Csr *c = &A->csr;
  const void *ptr = in->ptr32 ? (const void *)in->ptr32 : (const void *)in->ptr64;
  const void *col = in->col32 ? (const void *)in->col32 : (const void *)in->col64;
  Device *dev = A->ctx->device;
  if (c->ptr.device != ptr) poiseDeviceFreeAdopted(dev, (void *)(uintptr_t)ptr);
  if (c->col.device != col) poiseDeviceFreeAdopted(dev, (void *)(uintptr_t)col);
}

static PoiseErr BuildFetched(PoiseMat A, const PoiseCSR *in, PoiseCSR *host, PoiseOwn own)
{
  TRY(FetchIndices(A, in, host));
  return BuildLocal(A, host, in, own);
}

PoiseErr poiseCsrBuildDevice(PoiseMat A, const PoiseCSR *in, PoiseOwn own)
{
  PoiseCSR host = {0};
  if (A->ctx->device->ops->is_host) return poiseCsrBuild(A, in, own);
  PoiseErr e = CheckGiven(in);
  if (!e && PoiseSize(A->ctx) == 1 && in->base == 0 && !in->col64)
    e = BuildThere(A, in, own);
  else if (!e)
    e = BuildFetched(A, in, &host, own);
  e = Complete(A, e);
  FreeIndices(A->ctx, &host);
  if (!e && own == POISE_ADOPT) ReleaseAdoptedDevice(A, in);
  return e;
}

PoiseErr poiseCsrTake(PoiseMat A, RowArrays *r)
{
  Ghosts ghosts = {0};
  PoiseErr e = TakeLocal(A, &ghosts, r);
  poiseGhostsDestroy(&ghosts);
  return Complete(A, e);
}
