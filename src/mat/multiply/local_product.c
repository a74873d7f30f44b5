/* SPDX-License-Identifier: BSD-3-Clause */
/*
  A product of what one rank has. The pattern takes passes over the products of columns: their number in each
  row, which decides its class; the number of different columns, and these where there is room to keep them;
  the columns of the other rows. Then numbers alone are made, as often as there are new ones. Waits twice for
  counts, while the pattern is made.

  Beside C it holds while it makes the pattern 12 bytes per row, columns that are kept (2 bytes per product,
  at most 256 per row or 64 MB), and the tables of rows too long for a GPU's shared memory, or of threads of
  the host.
*/
#include "local_product.h"
#include "mat/csr/keys_kernels.h"
#include "sys/sys.h"

/* Integers of a GPU's tables, unless one is larger. Columns that are kept of a row at most, where rows are
   few, and of all rows then. */
enum { TABLE_INTEGERS = 1 << 26, MOST_KEPT = 64, MORE_KEPT = 512, KEPT = 1 << 24 };

typedef struct Scratch {
  Buffer work, length, counts, table, at, kept;
} Scratch;

static void Release(Scratch *s)
{
  poiseBufferDestroy(&s->work);
  poiseBufferDestroy(&s->length);
  poiseBufferDestroy(&s->counts);
  poiseBufferDestroy(&s->table);
  poiseBufferDestroy(&s->at);
  poiseBufferDestroy(&s->kept);
}

static PoiseErr Make(Device *dev, int64_t n, size_t size, const char *what, Buffer *b, void *p)
{
  if (n > (int64_t)(PTRDIFF_MAX / size)) FAIL(POISE_ERR_MEMORY, "%lld %s", (long long)n, what);
  TRY(poiseBufferCreate(dev, (size_t)n * size, what, b));
  return poiseBufferWrite(b, DEVICE, p);
}

static PoiseErr Offsets(Buffer *ptr, bool wide, CsrView *v)
{
  v->ptr32 = NULL, v->ptr64 = NULL;
  return poiseBufferRead(ptr, DEVICE, wide ? (void *)&v->ptr64 : (void *)&v->ptr32);
}

/* Has each column of B a place in a table of each thread of the host? Where all of these are no more than A's
   entries. */
static bool IsDirect(const Device *dev, const SpgemmArgs *a)
{
  const int64_t few = 4096;
  return !dev->model.multiprocessors && a->columns <= (a->A.nz + few) / dev->threads &&
         a->columns <= INT32_MAX / 2;
}

/* Patterns of the factors on the device, and numbers of C's columns. */
static PoiseErr Open(const Device *dev, LocalProduct *p, SpgemmArgs *a)
{
  LocalFactor *A = &p->A, *B = &p->B;
  *a = (SpgemmArgs){
      .p = p->p, .q = p->q, .s = p->s, .columns = p->columns, .below = p->below, .any_order = p->any_order};
  TRY(poiseCsrPattern(A->csr, &a->A));
  TRY(poiseCsrPattern(B->csr, &a->B));
  if (A->turned) {
    TRY(Offsets(&A->turned->ptr, A->turned->wide, &a->A));
    TRY(poiseBufferRead(&A->turned->row, DEVICE, &a->A.col));
  }
  if (B->ptr) {
    TRY(Offsets(B->ptr, B->wide, &a->B));
    TRY(poiseBufferRead(B->col, DEVICE, &a->B.col));
  }
  a->A.m = p->m;
  a->C.nloc = p->nloc;
  a->direct = IsDirect(dev, a);
  return POISE_OK;
}

/* Count the rows of each class, of a->work. */
static PoiseErr Classify(Device *dev, SpgemmArgs *a, Scratch *s, int64_t counts[SPGEMM_COUNTS])
{
  size_t bytes = SPGEMM_COUNTS * sizeof *counts;
  TRY(poiseBufferCreate(dev, bytes, "counts of rows", &s->counts));
  TRY(poiseBufferWrite(&s->counts, DEVICE, &a->counts));
  TRY(LAUNCH(dev, spgemm_classes, a));
  TRY(poiseDeviceFetch(dev, a->counts, bytes, counts));
  if (counts[SPGEMM_LONGEST] > INT32_MAX / 2)
    FAIL(POISE_ERR_UNSUPPORTED, "a row of the product has up to %lld columns, more than 2^30",
         (long long)counts[SPGEMM_LONGEST]);
  return POISE_OK;
}

/* Room for a row's columns is behind the places, or behind a hash for the longest row. */
static int64_t HostTable(const SpgemmArgs *a, int64_t longest)
{
  int64_t row = INT64_C(1) << poiseSpgemmBits(longest);
  return a->direct ? a->columns + row : 4 * row;
}

/* Tables for these rows: of each thread of the host; of some thread blocks of a GPU, for its last class, as
   many as keep it busy and fit in a quarter of a GB, or one. */
static PoiseErr MakeTables(Device *dev, SpgemmArgs *a, Scratch *s, const int64_t counts[SPGEMM_COUNTS])
{
  int64_t most = 2 * (int64_t)dev->model.multiprocessors, rows = counts[SPGEMM_CLASSES - 1];
  memcpy(a->rows_of, counts, sizeof a->rows_of);
  a->table_size = 1 + (INT64_C(2) << poiseSpgemmBits(counts[SPGEMM_LONGEST]));
  a->tables = dev->threads;
  if (most) {
    int64_t fit = TABLE_INTEGERS / a->table_size;
    a->tables = rows < most ? rows : most;
    if (a->tables > fit && rows) a->tables = fit > 1 ? fit : 1;
  } else {
    a->table_size = HostTable(a, counts[SPGEMM_LONGEST]);
  }
  poiseBufferDestroy(&s->table);
  return Make(dev, a->tables * a->table_size, sizeof(int32_t), "tables of columns", &s->table, &a->table);
}

/* found[0]: the sum of the lengths. classes: it brings counts of classes behind that; else NULL. Waits. */
static PoiseErr SumLengths(Device *dev, RowOffsetsArgs *o, SpgemmArgs *classes, Buffer *count, int64_t *found)
{
  int64_t nblock = POISE_NBLOCKS(o->m), n = classes ? 1 + SPGEMM_COUNTS : 1;
  TRY(Make(dev, nblock + n, sizeof *o->count, "entries of blocks of rows", count, &o->count));
  TRY(LAUNCH(dev, row_sums, o));
  TRY(LAUNCH(dev, scan, &(ScanArgs){.n = nblock, .count = o->count}));
  if (classes) classes->counts = o->count + nblock + 1;
  if (classes) TRY(LAUNCH(dev, spgemm_classes, classes));
  return poiseDeviceFetch(dev, o->count + nblock, (size_t)n * sizeof *found, found);
}

static PoiseErr MakeOffsets(Device *dev, RowOffsetsArgs *o, int64_t nz, Csr *C)
{
  C->m = o->m, C->nz = nz;
  C->wide = nz > poiseContextHome(dev->ctx)->hooks.most_narrow;
  TRY(Make(dev, C->m + 1, C->wide ? 8 : 4, "row offsets", &C->ptr,
           C->wide ? (void *)&o->ptr64 : (void *)&o->ptr32));
  return LAUNCH(dev, row_offsets, o);
}

/* The same with the counts of classes by these lengths, where they are asked for. */
static PoiseErr OffsetsAndClasses(Device *dev, int64_t m, const int32_t *length, Csr *C, SpgemmArgs *classes,
                                  int64_t counts[SPGEMM_COUNTS])
{
  RowOffsetsArgs o = {.m = m, .length = length};
  int64_t found[1 + SPGEMM_COUNTS];
  Buffer count = {0};
  PoiseErr e = SumLengths(dev, &o, classes, &count, found);
  if (!e) e = MakeOffsets(dev, &o, found[0], C);
  if (!e && classes) memcpy(counts, found + 1, SPGEMM_COUNTS * sizeof *counts);
  if (classes) classes->counts = NULL;
  poiseBufferDestroy(&count);
  return e;
}

PoiseErr poiseRowOffsets(Device *dev, int64_t m, const int32_t *length, Csr *C)
{
  return OffsetsAndClasses(dev, m, length, C, NULL, NULL);
}

PoiseErr poiseRowSum(Device *dev, int64_t m, const int32_t *length, int64_t *sum)
{
  Buffer count = {0};
  PoiseErr e = SumLengths(dev, &(RowOffsetsArgs){.m = m, .length = length}, NULL, &count, sum);
  poiseBufferDestroy(&count);
  return e;
}

/* Columns that are kept of a row: KEPT of all rows, or more. */
static int64_t MostKept(int64_t m)
{
  int64_t most = m ? KEPT / m : MORE_KEPT;
  return most < MOST_KEPT ? MOST_KEPT : most < MORE_KEPT ? most : MORE_KEPT;
}

/* Products of rows, which bound their lengths. */
static PoiseErr CountProducts(Device *dev, LocalProduct *p, SpgemmArgs *a, Scratch *s)
{
  TRY(Make(dev, p->m, sizeof *a->work, "products of rows", &s->work, &a->work));
  TRY(LAUNCH(dev, spgemm_work, a));
  a->most_kept = MostKept(p->m);
  return Classify(dev, a, s, p->counts);
}

/* Lengths of rows, and on a GPU their columns where there is room. */
static PoiseErr Count(Device *dev, LocalProduct *p, SpgemmArgs *a, Scratch *s)
{
  if (!a->direct) TRY(CountProducts(dev, p, a, s));
  TRY(MakeTables(dev, a, s, p->counts));
  p->products = a->products = p->counts[SPGEMM_PRODUCTS];
  TRY(Make(dev, p->m, sizeof *a->length, "lengths of rows", &s->length, &a->length));
  if (!dev->model.multiprocessors) return LAUNCH(dev, spgemm_count, a);
  a->room = p->counts[SPGEMM_ROOM] < INT32_MAX ? p->counts[SPGEMM_ROOM] : INT32_MAX;
  TRY(Make(dev, p->m, sizeof *a->at, "places of kept columns", &s->at, &a->at));
  TRY(Make(dev, a->room, sizeof *a->kept, "kept columns", &s->kept, &a->kept));
  return LAUNCH(dev, spgemm_count, a);
}

/* Numbers of the factors, and where those of C go. */
static PoiseErr OpenNumbers(LocalProduct *p, SpgemmArgs *a, Csr *C)
{
  TRY(poiseBufferRead(&p->A.csr->val, DEVICE, &a->A.val));
  TRY(poiseBufferRead(&p->B.csr->val, DEVICE, &a->B.val));
  a->ngiven = p->B.csr->nz;
  if (p->B.received) TRY(poiseBufferRead(p->B.received, DEVICE, &a->received));
  if (p->A.turned)
    TRY(poiseBufferRead(&p->A.turned->from, DEVICE,
                        p->A.turned->wide ? (void *)&a->from64 : (void *)&a->from32));
  return poiseBufferWrite(&C->val, DEVICE, &a->val);
}

static PoiseErr MakePattern(Device *dev, LocalProduct *p, Scratch *s, Csr *C)
{
  SpgemmArgs a;
  TRY(Open(dev, p, &a));
  TRY(Count(dev, p, &a, s));
  a.work = a.length; /* these decide about classes now */
  poiseBufferDestroy(&s->work);
  TRY(OffsetsAndClasses(dev, a.A.m, a.length, C, &a, p->counts));
  a.work = a.length = NULL;
  poiseBufferDestroy(&s->length);
  C->nloc = p->nloc;
  a.C.nz = C->nz;
  TRY(Offsets(&C->ptr, C->wide, &a.C));
  TRY(Make(dev, C->nz, sizeof *a.col, "columns", &C->col, &a.col));
  TRY(MakeTables(dev, &a, s, p->counts));
  int64_t tile = (int64_t)p->p * p->s;
  if (C->nz > PTRDIFF_MAX / (int64_t)sizeof(double) / tile)
    FAIL(POISE_ERR_MEMORY, "values of %lld entries of a product", (long long)C->nz);
  p->made = p->numbers && !dev->model.multiprocessors;
  if (p->made) {
    TRY(poiseBufferCreate(dev, (size_t)(C->nz * tile) * sizeof(double), "values", &C->val));
    TRY(OpenNumbers(p, &a, C));
  }
  TRY(LAUNCH(dev, spgemm_columns, &a));
  poiseBufferDestroy(&s->kept);
  if (p->made) return POISE_OK;
  return poiseBufferCreate(dev, (size_t)(C->nz * tile) * sizeof(double), "values", &C->val);
}

PoiseErr poiseLocalPattern(Device *dev, LocalProduct *p, Csr *C)
{
  Scratch s = {0};
  PoiseErr e = MakePattern(dev, p, &s, C);
  Release(&s);
  return e;
}

static PoiseErr MakeNumbers(Device *dev, LocalProduct *p, Scratch *s, Csr *C)
{
  SpgemmArgs a;
  TRY(Open(dev, p, &a));
  TRY(OpenNumbers(p, &a, C));
  TRY(Offsets(&C->ptr, C->wide, &a.C));
  TRY(poiseBufferRead(&C->col, DEVICE, &a.C.col));
  a.products = p->products;
  a.C.nz = C->nz;
  TRY(MakeTables(dev, &a, s, p->counts));
  return LAUNCH(dev, spgemm_numbers, &a);
}

PoiseErr poiseLocalNumbers(Device *dev, LocalProduct *p, Csr *C)
{
  Scratch s = {0};
  bool made = p->made;
  p->made = false;
  if (made) return POISE_OK;
  PoiseErr e = MakeNumbers(dev, p, &s, C);
  Release(&s);
  return e;
}
