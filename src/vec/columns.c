/* SPDX-License-Identifier: BSD-3-Clause */
/* Wide vectors: several columns, rows interleaved. Their columns, sums of each column; and the host kernels
   of BLAS-1 with scalars of each column. */
#include "columns_host.h"
#include "vec_kernels.h"

PoiseErr poiseVecCheckOrdinary(PoiseVec x, const char *what)
{
  if (poiseVecColumns(x) == 1) return POISE_OK;
  FAIL(POISE_ERR_ARG, "%s of a vector with %d columns: it takes vectors of one", what, poiseVecColumns(x));
}

int PoiseVecColumns(PoiseVec x)
{
  CALLED_OR(0, OBJECT(x));
  return poiseVecColumns(x);
}

/* ---- columns --------------------------------------------------------------------------------- */

static PoiseErr Move(PoiseVec from, PoiseVec to, ColumnsArgs a)
{
  a.n = from->layout->n;
  TRY(poiseVecRead(from, &a.from));
  TRY(poiseVecWrite(to, &a.to));
  return LAUNCH(from->ctx->device, columns, &a);
}

PoiseErr poiseVecTakeColumn(PoiseVec wide, int j, PoiseVec to)
{
  ColumnsArgs a = {
      .k = 1, .from_row = poiseVecColumns(wide), .from_column = 1, .to_row = 1, .list = {(uint8_t)j}};
  return Move(wide, to, a);
}

PoiseErr poiseVecPutColumn(PoiseVec from, int j, PoiseVec wide)
{
  return poiseVecPutColumnOf(from, j, poiseVecColumns(wide), wide);
}

PoiseErr poiseVecPutColumnOf(PoiseVec from, int j, int k, PoiseVec wide)
{
  ColumnsArgs a = {.k = 1, .from_row = 1, .to_row = k};
  double *p;
  TRY(poiseVecUpdate(wide, &p));
  a.n = from->layout->n;
  TRY(poiseVecRead(from, &a.from));
  a.to = p ? p + j : p;
  return LAUNCH(wide->ctx->device, columns, &a);
}

PoiseErr poiseVecPickColumns(PoiseVec from, const int *list, PoiseVec to)
{
  int k = poiseVecColumns(to);
  ColumnsArgs a = {.k = k, .from_row = poiseVecColumns(from), .from_column = 1, .to_row = k, .to_column = 1};
  for (int c = 0; c < k; c++) a.list[c] = (uint8_t)list[c];
  return Move(from, to, a);
}

/* Column j of wide, and an ordinary vector of its rows. */
static PoiseErr CheckColumn(PoiseVec wide, int j, PoiseVec x)
{
  if (j < 0 || j >= poiseVecColumns(wide))
    FAIL(POISE_ERR_ARG, "there is no column %d of a vector with %d columns", j, poiseVecColumns(wide));
  TRY(poiseVecCheckOrdinary(x, "a column"));
  if (wide->ctx != x->ctx || wide->layout->N != x->layout->N || wide->layout->n != x->layout->n)
    FAIL(POISE_ERR_SIZE, "X has %lld rows (%lld on rank %d), x has %lld entries (%lld)",
         (long long)wide->layout->N, (long long)wide->layout->n, PoiseRank(wide->ctx),
         (long long)x->layout->N, (long long)x->layout->n);
  return POISE_OK;
}

PoiseErr PoiseVecGetColumn(PoiseVec wide, int j, PoiseVec x)
{
  CALLED(OBJECT(wide), OBJECT(x));
  TRY(CheckColumn(wide, j, x));
  TRY(poiseVecTakeColumn(wide, j, x));
  return poiseBufferSyncBorrowed(&x->data);
}

PoiseErr PoiseVecSetColumn(PoiseVec wide, int j, PoiseVec x)
{
  CALLED(OBJECT(wide), OBJECT(x));
  TRY(CheckColumn(wide, j, x));
  TRY(poiseVecPutColumn(x, j, wide));
  return poiseBufferSyncBorrowed(&wide->data);
}

/* ---- arrays by columns ----------------------------------------------------------------------- */

static PoiseErr CheckArray(PoiseVec x, PoiseInt ld, const double *array)
{
  if (ld < x->layout->n)
    FAIL(POISE_ERR_ARG, "columns of %lld entries lie %lld apart", (long long)x->layout->n, (long long)ld);
  if (!array && x->layout->n > 0) FAIL(POISE_ERR_ARG, "the array is NULL");
  return POISE_OK;
}

static bool IsThere(PoiseVec x, const double *array)
{
  Device *dev = x->ctx->device;
  return !dev->ops->is_host && dev->ops->owns && dev->ops->owns(dev, array, sizeof *array);
}

static void CopyRows(PoiseVec x, const ColumnsArgs *a)
{
  int64_t nblock = POISE_NBLOCKS(a->n);
  HOST_PARALLEL_FOR(x->ctx->device, nblock)
  for (int64_t b = 0; b < nblock; b++)
    for (int64_t i = b * POISE_BLOCK; i < (b + 1) * POISE_BLOCK && i < a->n; i++)
      for (int c = 0; c < a->k; c++)
        a->to[i * a->to_row + c * a->to_column] = a->from[i * a->from_row + c * a->from_column];
}

static ColumnsArgs All(PoiseVec x)
{
  ColumnsArgs a = {.n = x->layout->n, .k = poiseVecColumns(x)};
  for (int c = 0; c < a.k; c++) a.list[c] = (uint8_t)c;
  return a;
}

PoiseErr PoiseVecGetColumns(PoiseVec x, PoiseInt ld, double *array)
{
  CALLED(OBJECT(x));
  ColumnsArgs a = All(x);
  TRY(CheckArray(x, ld, array));
  a.from_row = a.k, a.from_column = 1, a.to_row = 1, a.to_column = ld, a.to = array;
  if (IsThere(x, array)) {
    TRY(poiseVecRead(x, &a.from));
    return LAUNCH(x->ctx->device, columns, &a);
  }
  TRY(poiseDeviceCheckHost(x->ctx->device, array, "array"));
  TRY(PoiseVecGetRead(x, &a.from));
  CopyRows(x, &a);
  return POISE_OK;
}

PoiseErr PoiseVecSetColumns(PoiseVec x, PoiseInt ld, const double *array)
{
  CALLED(OBJECT(x));
  ColumnsArgs a = All(x);
  TRY(CheckArray(x, ld, array));
  a.from_row = 1, a.from_column = ld, a.to_row = a.k, a.to_column = 1, a.from = array;
  if (IsThere(x, array)) {
    TRY(poiseVecWrite(x, &a.to));
    TRY(LAUNCH(x->ctx->device, columns, &a));
  } else {
    TRY(poiseDeviceCheckHost(x->ctx->device, array, "array"));
    TRY(PoiseVecGetWrite(x, &a.to));
    CopyRows(x, &a);
  }
  return poiseBufferSyncBorrowed(&x->data);
}

/* ---- sums of each column --------------------------------------------------------------------- */

static PoiseErr LaunchDots(PoiseVec x, PoiseVec y)
{
  PoiseContext ctx = x->ctx;
  MdotArgs m = {.n = x->layout->n, .k = 1, .stride = POISE_NBLOCKS(x->layout->n)};
  m.systems = (Systems){.n = poiseVecColumns(x), .partials = m.stride};
  TRY(poiseVecCheckSame(x, "x", y, "y"));
  TRY(poiseVecRead(x, &m.x[0]));
  TRY(poiseVecRead(y, &m.y));
  TRY(poiseBufferWrite(&ctx->reduce_partial, DEVICE, &m.partial));
  return LAUNCH(ctx->device, mdot_columns, &m);
}

PoiseErr PoiseVecColumnDots(PoiseVec x, PoiseVec y, double *dots)
{
  CALLED(OBJECT(x), OBJECT(y), GIVEN(dots));
  int k = poiseVecColumns(x);
  double n = (double)poiseVecLength(x);
  poiseLogBegin(x->ctx, EVENT_VecDot);
  PoiseErr e = LaunchDots(x, y);
  e = poiseReduceFinish(x->ctx, e, k, POISE_NBLOCKS(x->layout->n), false, dots);
  poiseLogEnd(x->ctx, EVENT_VecDot, 2 * n, 8 * (1 + (x != y)) * n);
  return e;
}

/* Where squares under- or overflow. */
static PoiseErr NormOfColumn(PoiseVec x, int j, double *norm)
{
  Layout *rows;
  PoiseVec column = NULL;
  PoiseErr e = poiseLayoutColumns(x->layout, 1, &rows);
  if (!e) e = poiseVecCreateLocal(rows, &column);
  if (!e) e = poiseVecTakeColumn(x, j, column);
  e = PoiseAgree(x->ctx, e);
  if (!e) e = PoiseVecNorm(column, POISE_NORM_2, norm);
  PoiseVecDestroy(&column);
  poiseLayoutDestroy(&rows);
  return e;
}

PoiseErr PoiseVecColumnNorms(PoiseVec x, double *norms)
{
  CALLED(OBJECT(x), GIVEN(norms));
  TRY(PoiseVecColumnDots(x, x, norms));
  for (int j = 0; j < poiseVecColumns(x); j++)
    if (poiseSquaresHold(norms[j]))
      norms[j] = sqrt(norms[j]);
    else
      TRY(NormOfColumn(x, j, &norms[j]));
  return POISE_OK;
}

/* ---- host kernels ---------------------------------------------------------------------------- */

static void CopyBlock(const ColumnsArgs *a, int64_t begin, int64_t end)
{
  for (int64_t i = begin; i < end; i++)
    for (int c = 0; c < a->k; c++)
      a->to[i * a->to_row + c * a->to_column] = a->from[i * a->from_row + a->list[c] * a->from_column];
}

static int64_t EndOf(int64_t block, int64_t n)
{
  return (block + 1) * POISE_BLOCK < n ? (block + 1) * POISE_BLOCK : n;
}

PoiseErr poiseHost_columns(Device *dev, const void *args)
{
  const ColumnsArgs *a = args;
  int64_t nblock = POISE_NBLOCKS(a->n);
  (void)dev;
  HOST_BLOCKS(dev, nblock, 1, b, CopyBlock(a, b * POISE_BLOCK, EndOf(b, a->n)));
  return POISE_OK;
}

static bool Skips(const Systems *s, const double *skip, int column)
{
  return skip && skip[poiseScalarsOf(s, column)] != 0;
}

/* The partials of block b. */
static void DotBlock(const MdotArgs *a, int64_t b)
{
  HostColumns sum;
  for (int j = 0; j < a->k; j++) {
    poiseHostColumnDots(a->systems.n, NULL, a->x[j], a->y, b * POISE_BLOCK, EndOf(b, a->n), sum);
    for (int c = 0; c < a->systems.n; c++) a->partial[j * a->stride + b + c * a->systems.partials] = sum[c];
  }
}

PoiseErr poiseHost_mdot_columns(Device *dev, const void *args)
{
  const MdotArgs *a = args;
  int64_t nblock = POISE_NBLOCKS(a->n);
  (void)dev; /* of systems that are skipped nobody takes the sums */
  HOST_BLOCKS(dev, nblock, 1, b, DotBlock(a, b));
  return POISE_OK;
}

typedef struct Coefficients { /* of each x_j and column */
  HostColumns of[POISE_MAX_BATCH];
  int terms[POISE_MAX_COLUMNS], least; /* how many x_j each adds, and all */
} Coefficients;

/* y_i += c_j x_i, in the order of an ordinary one. Of a system that does not add x_j y stays. */
static void AddRow(const Coefficients *f, int k, int j, const double *x, double *y)
{
  if (j >= f->least) {
    for (int c = 0; c < k; c++)
      if (j < f->terms[c]) y[c] += f->of[j][c] * x[c];
    return;
  }
  HOST_SIMD
  for (int c = 0; c < k; c++) y[c] += f->of[j][c] * x[c];
}

static void CombineBlock(const MaxpyArgs *a, const Coefficients *f, int64_t b)
{
  int k = a->systems.n;
  int64_t begin = b * POISE_BLOCK, end = EndOf(b, a->n);
  for (int j = 0; j < a->k; j++)
    for (int64_t i = begin; i < end; i++) AddRow(f, k, j, a->x[j] + i * k, a->y + i * k);
  if (a->again) {
    MdotArgs m = {.n = a->n, .stride = a->stride, .k = a->k, .y = a->y, .partial = a->again};
    m.systems = a->systems;
    memcpy(m.x, a->x, sizeof m.x);
    DotBlock(&m, b);
  }
  poiseHostFuseColumns(&a->fuse, a->y, begin, end, b);
}

PoiseErr poiseHost_maxpy_columns(Device *dev, const void *args)
{
  const MaxpyArgs *a = args;
  int64_t nblock = POISE_NBLOCKS(a->n);
  Coefficients f = {.least = a->k};
  (void)dev;
  for (int c = 0; c < a->systems.n; c++) {
    const double *coefficient = a->a ? a->a + poiseArrayOf(&a->systems, c) : a->value;
    f.terms[c] = Skips(&a->systems, a->skip, c) ? 0 : poiseTermsOf(a, c);
    if (f.terms[c] < f.least) f.least = f.terms[c];
    for (int j = 0; j < a->k; j++) f.of[j][c] = a->sign * coefficient[j];
  }
  HOST_BLOCKS(dev, nblock, 1, b, CombineBlock(a, &f, b));
  return POISE_OK;
}

typedef struct Factors { /* of the columns */
  double alpha[POISE_MAX_COLUMNS], beta[POISE_MAX_COLUMNS];
  bool skips[POISE_MAX_COLUMNS];
} Factors;

static void UpdateBlock(const AxpbyArgs *a, const Factors *f, int64_t b)
{
  int k = a->systems.n;
  for (int64_t i = b * POISE_BLOCK; i < EndOf(b, a->n); i++)
    for (int c = 0; c < k; c++) {
      double *y = a->y + i * k + c, v = f->alpha[c] * a->x[i * k + c];
      if (f->skips[c]) continue;
      if (f->beta[c] != 0) v += f->beta[c] * *y;
      *y = a->scale ? v * a->scale[i] : v;
    }
  poiseHostFuseColumns(&a->fuse, a->y, b * POISE_BLOCK, EndOf(b, a->n), b);
}

static double FactorOf(const Systems *s, ScalarRef f, int column)
{
  return f.slot ? f.slot[poiseScalarsOf(s, column)] : f.value;
}

PoiseErr poiseHost_axpby_columns(Device *dev, const void *args)
{
  const AxpbyArgs *a = args;
  int64_t nblock = POISE_NBLOCKS(a->n);
  Factors f;
  (void)dev;
  for (int c = 0; c < a->systems.n; c++) {
    f.skips[c] = Skips(&a->systems, a->skip, c);
    f.alpha[c] = FactorOf(&a->systems, a->a, c), f.beta[c] = FactorOf(&a->systems, a->b, c);
  }
  HOST_BLOCKS(dev, nblock, 1, b, UpdateBlock(a, &f, b));
  return POISE_OK;
}

PoiseErr poiseHost_reduce_columns(Device *dev, const void *args)
{
  const ReduceArgs *a = args;
  (void)dev;
  for (int c = 0; c < a->systems.n; c++) {
    const double *partial = a->partial + c * a->systems.partials;
    double *dst = a->dst + poiseArrayOf(&a->systems, c);
    if (Skips(&a->systems, a->skip, c)) continue;
    for (int k = 0; k < a->nsum; k++) {
      double s = a->add ? dst[k] : 0;
      for (int64_t b = 0; b < a->count; b++) s += partial[k * a->stride + b];
      dst[k] = s;
    }
  }
  return POISE_OK;
}
