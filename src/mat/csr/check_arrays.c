/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Checks of users' CSR arrays, which may hold anything. Nothing of an array is believed before it is checked:
  first offsets, then the columns that they lead to. Messages name the row in the user's counting.
*/
#include "check_arrays.h"
#include "find.h"

const char *poiseArraysRow(const PoiseMat A)
{
  return A->csr.b ? "block row" : A->csr.by_columns ? "column" : "row";
}

static const char *Column(const PoiseMat A) /* what messages call a column of entries */
{
  return A->csr.by_columns ? "row" : "column";
}

const char *poiseArraysName(const PoiseMat A, GivenArray array)
{
  static const char *const names[][3] = {[ARRAY_PTR32] = {"csr->ptr32", "bcsr->ptr32", "csc->ptr32"},
                                         [ARRAY_PTR64] = {"csr->ptr64", "bcsr->ptr64", "csc->ptr64"},
                                         [ARRAY_COL32] = {"csr->col32", "bcsr->col32", "csc->row32"},
                                         [ARRAY_COL64] = {"csr->col64", "bcsr->col64", "csc->row64"},
                                         [ARRAY_VAL] = {"csr->val", "bcsr->val", "csc->val"}};
  return names[array][A->csr.by_columns ? 2 : A->csr.b ? 1 : 0];
}

PoiseErr poiseArraysCheckGiven(const PoiseCSR *in)
{
  if (!in) FAIL(POISE_ERR_ARG, "the CSR arrays are NULL");
  if (in->base != 0 && in->base != 1)
    FAIL(POISE_ERR_ARG, "base %d of the indices is neither 0 nor 1", in->base);
  if (!in->ptr32 == !in->ptr64) FAIL(POISE_ERR_ARG, "give exactly one of ptr32 and ptr64");
  return POISE_OK;
}

static PoiseErr CheckEntries(const PoiseMat A, const PoiseCSR *in, int64_t nz)
{
  const char *index = A->csr.by_columns ? "row" : "col";
  if (!nz) return POISE_OK;
  if (!in->col32 == !in->col64) FAIL(POISE_ERR_ARG, "give exactly one of %s32 and %s64", index, index);
  if (!in->val) FAIL(POISE_ERR_ARG, "val is NULL and there are %lld entries", (long long)nz);
  return POISE_OK;
}

/* Check the first offset; then those of local row i and of the next. */
static PoiseErr CheckFirst(const PoiseMat A, const PoiseCSR *in, int64_t first)
{
  if (first)
    FAIL(POISE_ERR_ARG, "the first %s offset is %lld, not the base %d", A->csr.by_columns ? "column" : "row",
         (long long)first + in->base, in->base);
  return POISE_OK;
}

static PoiseErr CheckOffsets(const PoiseMat A, const PoiseCSR *in, int64_t i, int64_t begin, int64_t end)
{
  if (end < begin)
    FAIL(POISE_ERR_ARG, "%s offsets decrease at %s %lld: %lld, then %lld",
         A->csr.by_columns ? "column" : "row", poiseArraysRow(A), (long long)(A->csr.row + i) + in->base,
         (long long)begin + in->base, (long long)end + in->base);
  return POISE_OK;
}

/* ---- on the host ----------------------------------------------------------------------------- */

PoiseErr poiseArraysCheckHost(const PoiseMat A, const PoiseCSR *in)
{
  Device *dev = A->ctx->device;
  if (!in) return POISE_OK; /* see poiseArraysCheckGiven */
  TRY(poiseDeviceCheckHost(dev, in->ptr32 ? (const void *)in->ptr32 : in->ptr64, "ptr"));
  TRY(poiseDeviceCheckHost(dev, in->col32 ? (const void *)in->col32 : in->col64,
                           A->csr.by_columns ? "row" : "col"));
  return poiseDeviceCheckHost(dev, in->val, "val");
}

/* Is a property true of all rows? If not, what is wrong is then looked for row by row. */
static bool All(const PoiseMat A, const PoiseCSR *in,
                bool (*property)(const PoiseCSR *in, int64_t i, PoiseInt N))
{
  Device *dev = A->ctx->device;
  int64_t m = A->csr.m, nblock = POISE_NBLOCKS(m);
  bool all = true;
  (void)dev;
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t b = 0; b < nblock; b++)
    for (int64_t i = b * POISE_BLOCK; i < (b + 1) * POISE_BLOCK && i < m; i++)
      if (!property(in, i, A->csr.columns)) __atomic_store_n(&all, false, __ATOMIC_RELAXED);
  return all;
}

static bool OffsetAscends(const PoiseCSR *in, int64_t i, PoiseInt N)
{
  (void)N;
  return poiseGivenOffset(in, i) <= poiseGivenOffset(in, i + 1);
}

PoiseErr poiseArraysCheckOffsets(const PoiseMat A, const PoiseCSR *in)
{
  int64_t m = A->csr.m;
  TRY(poiseArraysCheckGiven(in));
  TRY(CheckFirst(A, in, poiseGivenOffset(in, 0)));
  for (int64_t i = All(A, in, OffsetAscends) ? m : 0; i < m; i++)
    TRY(CheckOffsets(A, in, i, poiseGivenOffset(in, i), poiseGivenOffset(in, i + 1)));
  return CheckEntries(A, in, poiseGivenOffset(in, m));
}

static bool RowAscends(const PoiseCSR *in, int64_t i, PoiseInt N)
{
  int64_t begin = poiseGivenOffset(in, i), end = poiseGivenOffset(in, i + 1);
  bool ascends = begin == end || (poiseGivenColumn(in, begin) >= 0 && poiseGivenColumn(in, end - 1) < N);
  for (int64_t k = begin + 1; k < end; k++) ascends &= poiseGivenColumn(in, k - 1) < poiseGivenColumn(in, k);
  return ascends;
}

PoiseErr poiseArraysTwice(const PoiseMat A, const PoiseCSR *in, int64_t i, PoiseInt c)
{
  FAIL(POISE_ERR_ARG, "%s %lld has %s %lld twice", poiseArraysRow(A), (long long)(A->csr.row + i) + in->base,
       Column(A), (long long)c + in->base);
}

/* Entries [k, end) are local row i. */
static PoiseErr CheckRow(const PoiseMat A, const PoiseCSR *in, int64_t i, int64_t k, int64_t end,
                         bool *ascending)
{
  PoiseInt last = -1, N = A->csr.columns;
  *ascending = true;
  for (; k < end; k++) {
    PoiseInt c = poiseGivenColumn(in, k);
    if (c < 0 || c >= N)
      FAIL(POISE_ERR_ARG, "%s %lld has %s %lld, legal are %d to %lld", poiseArraysRow(A),
           (long long)(A->csr.row + i) + in->base, Column(A), (long long)c + in->base, in->base,
           (long long)N - 1 + in->base);
    if (*ascending && c == last) TRY(poiseArraysTwice(A, in, i, c));
    *ascending = *ascending && c > last;
    last = c;
  }
  return POISE_OK;
}

PoiseErr poiseArraysCheckColumns(const PoiseMat A, const PoiseCSR *in, bool *sorted, int64_t *unsorted_row)
{
  bool ascending;
  *sorted = true;
  if (All(A, in, RowAscends)) return POISE_OK;
  for (int64_t i = 0; i < A->csr.m; i++) {
    TRY(CheckRow(A, in, i, poiseGivenOffset(in, i), poiseGivenOffset(in, i + 1), &ascending));
    if (!ascending && *sorted) *sorted = false, *unsorted_row = i;
  }
  return POISE_OK;
}

PoiseErr poiseArraysUnsorted(const PoiseMat A, const PoiseCSR *in, int64_t i, const char *what)
{
  FAIL(POISE_ERR_ARG, "the %ss of %s %lld are not sorted, so the arrays cannot be %s", Column(A),
       poiseArraysRow(A), (long long)(A->csr.row + i) + in->base, what);
}

/* ---- on the device --------------------------------------------------------------------------- */

/* Read row offset i of arrays on the device, without the base. */
static PoiseErr OffsetThere(Device *dev, const PoiseCSR *in, int64_t i, int64_t *offset)
{
  int32_t narrow = 0;
  TRY(in->ptr32 ? poiseDeviceFetch(dev, in->ptr32 + i, sizeof narrow, &narrow)
                : poiseDeviceFetch(dev, in->ptr64 + i, sizeof *offset, offset));
  *offset = poiseFromBase(in->ptr32 ? narrow : *offset, in->base);
  return POISE_OK;
}

/* nz: entries; only columns are asked about. */
static PoiseErr FindThere(PoiseMat A, const PoiseCSR *in, int what, int64_t nz, int64_t *row)
{
  FindArgs f = {.what = what, .base = in->base, .n = A->csr.m, .nz = nz, .limit = A->csr.columns};
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
  PoiseErr e = poiseDeviceFetch(dev, there + (size_t)begin * width, (size_t)(end - begin) * width, col);
  if (in->col32)
    row.col32 = col;
  else
    row.col64 = col;
  if (!e) e = CheckRow(A, &row, i, 0, end - begin, &ascending);
  if (!e) e = poiseArraysUnsorted(A, in, i, "on the device");
  poiseFree(A->ctx, &col);
  return e;
}

PoiseErr poiseArraysCheckDeviceValues(PoiseMat A, const PoiseCSR *in, int64_t nz)
{
  size_t numbers = (size_t)(nz * poiseCsrSide(&A->csr) * poiseCsrSide(&A->csr));
  if (!in->val) return POISE_OK;
  return poiseDeviceCheckPointer(A->ctx->device, in->val, numbers * sizeof(double),
                                 poiseArraysName(A, ARRAY_VAL));
}

PoiseErr poiseArraysCheckDevice(PoiseMat A, const PoiseCSR *in, int64_t *nz)
{
  Device *dev = A->ctx->device;
  int64_t m = A->csr.m, first, row, begin, end;
  TRY(poiseArraysCheckGiven(in));
  if (in->ptr32)
    TRY(poiseDeviceCheckPointer(dev, in->ptr32, (size_t)(m + 1) * sizeof(int32_t),
                                poiseArraysName(A, ARRAY_PTR32)));
  if (in->ptr64)
    TRY(poiseDeviceCheckPointer(dev, in->ptr64, (size_t)(m + 1) * sizeof(int64_t),
                                poiseArraysName(A, ARRAY_PTR64)));
  TRY(OffsetThere(dev, in, 0, &first));
  TRY(CheckFirst(A, in, first));
  TRY(FindThere(A, in, FIND_DECREASING, 0, &row));
  if (row < m) {
    TRY(OffsetThere(dev, in, row, &begin));
    TRY(OffsetThere(dev, in, row + 1, &end));
    TRY(CheckOffsets(A, in, row, begin, end));
  }
  TRY(OffsetThere(dev, in, m, nz));
  TRY(CheckEntries(A, in, *nz));
  if (in->col32)
    TRY(poiseDeviceCheckPointer(dev, in->col32, (size_t)*nz * sizeof(int32_t),
                                poiseArraysName(A, ARRAY_COL32)));
  if (in->col64)
    TRY(poiseDeviceCheckPointer(dev, in->col64, (size_t)*nz * sizeof(int64_t),
                                poiseArraysName(A, ARRAY_COL64)));
  TRY(poiseArraysCheckDeviceValues(A, in, *nz));
  TRY(FindThere(A, in, FIND_UNSORTED, *nz, &row));
  return row < m ? CheckRowThere(A, in, row) : POISE_OK;
}
