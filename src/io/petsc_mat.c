/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Matrices in PETSc's binary files. Every rank reads its own rows: first their lengths, then columns and
  values, chunk by chunk, directly to their final place. The only large extra memory is for the longest row
  that must be sorted.
*/
#define _POSIX_C_SOURCE 200809L
#include <sys/stat.h>

#include "petsc.h"
#include "sections.h"
#include "mat/csr/replace.h"
#include "mat/csr/entries.h"
#include "mat/storage/blocks.h"
#include "load.h"
#include "mat/object/mat.h"
#include "sys/base/files.h"

enum { DENSE_CHUNK = 1 << 15 }; /* values */

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct Reader {
  PoiseContext ctx;
  const ByteSource *s;
  PetscItem item;
  int64_t block, unit; /* block size; rows that stay together */
  Layout *rows;
  int64_t before; /* entries of lower ranks */
  RowArrays csr;
} Reader;

static int64_t Ptr(const Reader *r, int64_t i)
{
  return r->csr.ptr[i];
}

static PoiseInt Col(const Reader *r, int64_t k)
{
  return r->csr.col32 ? r->csr.col32[k] : r->csr.col[k];
}

static void PutCol(Reader *r, int64_t k, PoiseInt col)
{
  if (r->csr.col32)
    r->csr.col32[k] = (int32_t)col;
  else
    r->csr.col[k] = col;
}

/* The offset in the file of this rank's k-th column. */
static int64_t ColumnByte(const Reader *r, int64_t k)
{
  return r->item.data + r->item.width * (r->item.M + r->before + k);
}

static PoiseErr ReadLengths(Reader *r)
{
  const PetscItem *item = &r->item;
  int64_t m = r->rows->n, at = item->data + item->width * r->rows->begin, *ptr = r->csr.ptr;
  int64_t most = item->open ? INT64_MAX / 64 : item->nz;
  TRY(poisePetscInts(r->s, item->width, at, m, "lengths of rows", ptr + 1));
  for (int64_t i = 0; i < m; at += item->width, i++) {
    if (ptr[i + 1] < 0 || ptr[i + 1] > item->N)
      FAIL(POISE_ERR_FORMAT, "%s, byte %lld: row %lld has %lld entries, legal are 0 to %lld", r->s->name,
           (long long)at, (long long)(r->rows->begin + i), (long long)ptr[i + 1], (long long)item->N);
    ptr[i + 1] += ptr[i];
    if (ptr[i + 1] > most)
      FAIL(POISE_ERR_FORMAT,
           "%s, byte %lld: up to row %lld there are more than the %lld entries announced at byte %lld",
           r->s->name, (long long)at, (long long)(r->rows->begin + i), (long long)most,
           (long long)(item->at + 3 * item->width));
  }
  return POISE_OK;
}

/* Take the nonzero values of dense rows; without `fill` they are only counted. */
static PoiseErr ScanDense(Reader *r, double *chunk, bool fill)
{
  PoiseInt N = r->item.N, j = 0;
  int64_t total = r->rows->n * N, at = r->item.data + 8 * r->rows->begin * N, i = 0, k = 0;
  for (int64_t e = 0; e < total; e += DENSE_CHUNK) {
    int64_t n = total - e < DENSE_CHUNK ? total - e : DENSE_CHUNK;
    TRY(poisePetscDoubles(r->s, at + 8 * e, n, "values of a dense matrix", chunk));
    for (int64_t l = 0; l < n; l++) {
      if (chunk[l] != 0) {
        if (fill) PutCol(r, k, j), r->csr.val[k] = chunk[l];
        k++;
      }
      if (++j == N) j = 0, i++;
      if (!j && !fill) r->csr.ptr[i] = k;
    }
  }
  return POISE_OK;
}

static PoiseErr ReadDense(Reader *r, bool fill)
{
  double *chunk;
  TRY(poiseAllocArray(r->ctx, DENSE_CHUNK, sizeof *chunk, "chunk of a dense matrix", &chunk));
  PoiseErr e = ScanDense(r, chunk, fill);
  poiseFree(r->ctx, &chunk);
  return e;
}

static PoiseErr ReadOffsets(Reader *r)
{
  TRY(poiseAllocArray(r->ctx, r->rows->n + 1, sizeof(int64_t), "row offsets", &r->csr.ptr));
  return r->item.nz < 0 ? ReadDense(r, false) : ReadLengths(r);
}

static PoiseErr CheckTotal(Reader *r, int64_t total)
{
  const PetscItem *item = &r->item;
  if (item->nz < 0) return POISE_OK;
  if (item->open ? total < item->nz : total != item->nz)
    FAIL(POISE_ERR_FORMAT,
         "%s, byte %lld: the lengths of the rows add up to %lld, but %lld entries are announced at byte %lld",
         r->s->name, (long long)item->data, (long long)total, (long long)item->nz,
         (long long)(item->at + 3 * item->width));
  return item->open ? poisePetscClose(r->s, &r->item, total) : POISE_OK;
}

static PoiseErr FailColumn(const Reader *r, int64_t i, int64_t k)
{
  int64_t column = -1;
  TRY(poisePetscInts(r->s, r->item.width, ColumnByte(r, k), 1, "columns",
                     &column)); /* as it stands in the file */
  FAIL(POISE_ERR_FORMAT, "%s, byte %lld: row %lld has column %lld, legal are 0 to %lld", r->s->name,
       (long long)ColumnByte(r, k), (long long)(r->rows->begin + i), (long long)column,
       (long long)r->item.N - 1);
}

typedef struct Pair {
  PoiseInt col;
  double val;
} Pair;

static int ComparePairs(const void *a, const void *b)
{
  PoiseInt x = ((const Pair *)a)->col, y = ((const Pair *)b)->col;
  return (x > y) - (x < y);
}

static PoiseErr SortRow(Reader *r, int64_t i, Pair *row)
{
  int64_t first = Ptr(r, i), n = Ptr(r, i + 1) - first;
  for (int64_t k = 0; k < n; k++) row[k] = (Pair){Col(r, first + k), r->csr.val[first + k]};
  qsort(row, (size_t)n, sizeof *row, ComparePairs);
  for (int64_t k = 0; k < n; k++) {
    if (k && row[k].col == row[k - 1].col)
      FAIL(POISE_ERR_FORMAT, "%s: row %lld, whose columns begin at byte %lld, has column %lld twice",
           r->s->name, (long long)(r->rows->begin + i), (long long)ColumnByte(r, first),
           (long long)row[k].col);
    PutCol(r, first + k, row[k].col);
    r->csr.val[first + k] = row[k].val;
  }
  return POISE_OK;
}

/* Check that columns are in range. *longest: the longest row whose columns do not ascend. */
static PoiseErr CheckColumns(const Reader *r, int64_t *longest)
{
  *longest = 0;
  for (int64_t i = 0; i < r->rows->n; i++) {
    PoiseInt last = -1;
    bool ascending = true;
    int64_t first = Ptr(r, i), end = Ptr(r, i + 1);
    for (int64_t k = first; k < end; k++) {
      PoiseInt c = Col(r, k);
      if (c < 0 || c >= r->item.N) return FailColumn(r, i, k);
      ascending = ascending && c > last;
      last = c;
    }
    if (!ascending && end - first > *longest) *longest = end - first;
  }
  return POISE_OK;
}

static bool Ascends(const Reader *r, int64_t i)
{
  for (int64_t k = Ptr(r, i) + 1; k < Ptr(r, i + 1); k++)
    if (Col(r, k) <= Col(r, k - 1)) return false;
  return true;
}

static PoiseErr SortRows(Reader *r, int64_t longest)
{
  Pair *row;
  PoiseErr e = POISE_OK;
  if (!longest) return POISE_OK; /* as in most files */
  TRY(poiseAllocArray(r->ctx, longest, sizeof *row, "a row to sort", &row));
  for (int64_t i = 0; !e && i < r->rows->n; i++)
    if (!Ascends(r, i)) e = SortRow(r, i, row);
  poiseFree(r->ctx, &row);
  return e;
}

/* Allocate without zeroing. The memory is filled at once, and zeroing takes longer than filling. */
static PoiseErr Reserve(PoiseContext ctx, int64_t n, size_t size, const char *what, void *p)
{
  return n ? poiseRealloc(ctx, (size_t)n * size, 0, what, p) : POISE_OK;
}

static PoiseErr ReadEntries(Reader *r)
{
  const PetscItem *item = &r->item;
  RowArrays *csr = &r->csr;
  int64_t nz = Ptr(r, r->rows->n), longest;
  if (item->N <= INT32_MAX)
    TRY(Reserve(r->ctx, nz, sizeof(int32_t), "columns", &csr->col32));
  else
    TRY(Reserve(r->ctx, nz, sizeof(int64_t), "columns", &csr->col));
  TRY(Reserve(r->ctx, nz, sizeof(double), "values", &csr->val));
  if (item->nz < 0) return ReadDense(r, true);
  if (csr->col32)
    TRY(poisePetscInts32(r->s, item->width, ColumnByte(r, 0), nz, "columns", csr->col32));
  else
    TRY(poisePetscInts(r->s, item->width, ColumnByte(r, 0), nz, "columns", csr->col));
  TRY(CheckColumns(r, &longest));
  TRY(poisePetscDoubles(r->s, item->end - 8 * (item->nz - r->before), nz, "values", csr->val));
  return SortRows(r, longest);
}

enum { PATH = 4096 };

/* x.info, for x and for x.gz; false: the name is too long. */
static bool NameBeside(const char *name, char info[PATH])
{
  size_t length = strlen(name);
  if (length > 3 && !strcmp(name + length - 3, ".gz")) length -= 3;
  if (length + sizeof ".info" > PATH) return false;
  snprintf(info, PATH, "%.*s.info", (int)length, name);
  return true;
}

/* The block size that PETSc wrote beside the file: a line "-matload_block_size n" in x.info. 1 if there is
   no line, or a size that cannot be used. */
static int64_t BlockSizeBeside(const Reader *r)
{
  char path[PATH], line[256], more;
  int b = 1;
  if (r->s->memory || !NameBeside(r->s->name, path)) return 1;
  FILE *f = fopen(path, "r");
  if (!f) return 1;
  while (fgets(line, sizeof line, f))
    if (sscanf(line, " -matload_block_size %9d %c", &b, &more) == 2) b = 1;
  fclose(f);
  return b >= 1 && b <= MAX_BLOCK_SIZE && r->item.M % b == 0 && r->item.N % b == 0 ? b : 1;
}

/* The option's, or that. */
static PoiseErr FindBlockSize(Reader *r)
{
  TRY(poiseMatLoadBlockSize(r->ctx, r->item.M, r->item.N, &r->block, &r->unit));
  if (r->block == 1 && PoiseRank(r->ctx) == 0) r->block = BlockSizeBeside(r);
  return POISE_OK;
}

static PoiseErr Load(Reader *r, PoiseErr mine, PoiseMat *A)
{
  PoiseContext ctx = r->ctx;
  int64_t total;
  TRY(poisePetscShare(ctx, mine, r->s, PETSC_MAT, &r->item));
  TRY(PoiseAgree(ctx, FindBlockSize(r)));
  TRY(poiseCommMaxInt(ctx->comm, &r->block, 1));
  if (r->block > 1) r->unit = r->block;
  /* refuses more rows than a matrix may have */
  TRY(poiseLayoutCreate(ctx, poiseMatLoadShare(ctx, r->unit, r->item.M), r->item.M, r->s->name, &r->rows));
  TRY(PoiseAgree(ctx, ReadOffsets(r)));
  TRY(poiseCommScan(ctx->comm, Ptr(r, r->rows->n), &r->before, &total));
  TRY(PoiseAgree(ctx, CheckTotal(r, total)));
  TRY(PoiseAgree(ctx, ReadEntries(r)));
  TRY(PoiseMatCreate(ctx, r->rows->n, poiseMatLoadShare(ctx, r->unit, r->item.N), r->item.M, r->item.N, A));
  TRY(PoiseMatSetBlockSize(*A, (int)r->block));
  return poiseMatReplace(*A, POISE_OK, &r->csr);
}

PoiseErr poisePetscLoadMat(PoiseContext ctx, PoiseErr mine, const ByteSource *s, PoiseMat *A)
{
  Reader r = {.ctx = ctx, .s = s};
  *A = NULL;
  PoiseErr e = Load(&r, mine, A);
  poiseLayoutDestroy(&r.rows);
  poiseRowArraysDestroy(ctx, &r.csr);
  if (e) PoiseMatDestroy(A);
  return e;
}

/* ---- writing --------------------------------------------------------------------------------- */

typedef struct Writer {
  PoiseMat A;
  int width;
  int64_t row, column, value; /* to be written next */
  ScalarWalk columns, values;
} Writer;

/* How many of the m - *next items fit into a chunk. */
static int64_t Count(int64_t next, int64_t m, int width)
{
  return m - next < POISE_CHUNK / width ? m - next : POISE_CHUNK / width;
}

static PoiseErr NextLengths(void *from, char *chunk, int64_t *bytes, bool *more)
{
  Writer *w = from;
  const Csr *c = &w->A->csr;
  const void *ptr = w->columns.h.ptr;
  char *p = chunk;
  int64_t b = poiseCsrSide(c), m = w->A->rows->n;
  for (int64_t n = Count(w->row, m, w->width); n > 0; n--, w->row++)
    p = poisePetscPutInt(p, w->width,
                         (poiseCsrPtr(c, ptr, w->row / b + 1) - poiseCsrPtr(c, ptr, w->row / b)) * b);
  *bytes = p - chunk;
  *more = w->row < m;
  return POISE_OK;
}

static PoiseErr NextColumns(void *from, char *chunk, int64_t *bytes, bool *more)
{
  Writer *w = from;
  char *p = chunk;
  int64_t numbers = poiseCsrScalars(&w->A->csr);
  PoiseInt col;
  for (int64_t n = Count(w->column, numbers, w->width); n > 0; n--, w->column++) {
    (void)poiseWalkOn(&w->columns, &col);
    p = poisePetscPutInt(p, w->width, col);
  }
  *bytes = p - chunk;
  *more = w->column < numbers;
  return POISE_OK;
}

static PoiseErr NextValues(void *from, char *chunk, int64_t *bytes, bool *more)
{
  Writer *w = from;
  char *p = chunk;
  int64_t numbers = poiseCsrScalars(&w->A->csr), n = Count(w->value, numbers, 8);
  PoiseInt col;
  if (n && w->values.b == 1) p = poisePetscPutDoubles(p, w->values.h.val + w->value, n);
  for (int64_t k = 0; w->values.b > 1 && k < n; k++) {
    double v = poiseWalkOn(&w->values, &col);
    p = poisePetscPutDoubles(p, &v, 1);
  }
  w->value += n;
  *bytes = p - chunk;
  *more = w->value < numbers;
  return POISE_OK;
}

/* Write the block size as PETSc does, so that a reader lays out rows in whole blocks. A size of 1 is
   written only to replace another one. */
static PoiseErr WriteBlockSize(PoiseMat A, const char *path)
{
  char info[PATH];
  struct stat file;
  OutFile f;
  if (PoiseRank(A->ctx) != 0 || !NameBeside(path, info)) return POISE_OK;
  if (stat(path, &file) || !S_ISREG(file.st_mode) || (A->block_size == 1 && stat(info, &file)))
    return POISE_OK;
  TRY(poiseFileBegin(A->ctx, info, &f));
  fprintf(f.stream, "-matload_block_size %d\n", A->block_size);
  return poiseFileCommit(A->ctx, &f);
}

PoiseErr poisePetscSaveMat(PoiseMat A, const char *path)
{
  Writer w = {.A = A, .width = 4};
  const Section sections[] = {{NextLengths, &w}, {NextColumns, &w}, {NextValues, &w}};
  char header[32], *p = header;
  PoiseInt nz = 0, M = A->rows->N, N = A->cols->N;
  PoiseErr opened = poiseWalkBegin(A, &w.columns);
  w.values = w.columns;
  TRY(PoiseAgree(A->ctx, opened));
  TRY(PoiseMatNonzeros(A, &nz));
  PoiseErr e = poisePetscWidth(A->ctx, M, N, nz, &w.width);
  p = poisePetscPutInt(p, w.width, PETSC_MAT);
  p = poisePetscPutInt(p, w.width, M);
  p = poisePetscPutInt(p, w.width, N);
  p = poisePetscPutInt(p, w.width, w.width == 4 && nz > INT32_MAX ? INT32_MAX : nz);
  TRY(poiseFileSections(A->ctx, e, path, header, (size_t)(p - header), 3, sections));
  return PoiseAgree(A->ctx, WriteBlockSize(A, path));
}
