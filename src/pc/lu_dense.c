/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Dense factors with partial pivoting (lu.h), for small systems: a coarse problem, a block, a test.

  On several ranks every rank holds and factors the whole matrix. An application is then one exchange of r,
  and no rank waits for another one to solve. The factorisation goes by panels of columns and strips of rows
  that stay in cache. The updates of an entry have the same order for all panel sizes and numbers of threads.
*/
#include "mat/csr/entries.h"
#include "vec/columns_host.h"
#include "lu.h"
#include "lu_kernels.h"

enum { REFUSED_ROW, REFUSED_PIVOT, RESULTS };

/* ---- set-up ---------------------------------------------------------------------------------- */

static DenseLU *Of(PoisePC pc)
{
  return &((LU *)pc->data)->dense;
}

static void Release(DenseLU *lu)
{
  poiseBufferDestroy(&lu->factors);
  poiseBufferDestroy(&lu->pivot);
  poiseBufferDestroy(&lu->full);
  poiseBufferDestroy(&lu->work);
  poiseBufferDestroy(&lu->result);
  poiseHaloDestroy(&lu->halo);
  poiseLayoutDestroy(&lu->layout);
}

static PoiseErr Check(PoisePC pc)
{
  const LU *of = pc->data;
  PoiseInt N = pc->P->rows->N;
  if (N > of->max_size)
    FAIL(POISE_ERR_SIZE,
         "preconditioner lu is dense: %lld rows take %.0f bytes on every rank, allowed are %lld rows (%s)",
         (long long)N, 8.0 * (double)N * (double)N, (long long)of->max_size,
         poiseOptionsName(pc->ctx, pc->prefix, "pc_lu_max_size"));
  return POISE_OK;
}

static PoiseErr Allocate(PoisePC pc)
{
  DenseLU *lu = Of(pc);
  Device *dev = pc->ctx->device;
  size_t n = (size_t)pc->P->rows->N;
  double *work;
  pc->generation++;
  lu->n = pc->P->rows->N;
  lu->room = 1;
  lu->layout = poiseLayoutShare(pc->P->rows);
  TRY(poiseBufferCreate(dev, n * n * sizeof(double), "dense factors", &lu->factors));
  TRY(poiseBufferCreate(dev, n * sizeof(int32_t), "row exchanges", &lu->pivot));
  TRY(poiseBufferCreate(dev, n * sizeof(double), "solution of dense factors", &lu->work));
  TRY(poiseBufferWrite(&lu->work, DEVICE, &work)); /* allocated now, as a captured loop needs it */
  TRY(poiseBufferCreate(dev, RESULTS * sizeof(double), "refused pivot", &lu->result));
  return PoiseSize(pc->ctx) > 1
             ? poiseBufferCreate(dev, n * sizeof(double), "right-hand side of all ranks", &lu->full)
             : POISE_OK;
}

static PoiseErr CreateHalo(PoisePC pc)
{
  DenseLU *lu = Of(pc);
  PoiseInt *ghost, own = lu->layout->n, begin = lu->layout->begin;
  PoiseErr e = PoiseAgree(
      pc->ctx, poiseAllocArray(pc->ctx, lu->n - own, sizeof *ghost, "rows of other ranks", &ghost));
  for (PoiseInt i = 0; !e && i < lu->n - own; i++) ghost[i] = i < begin ? i : i + own;
  if (!e) e = poiseHaloCreate(lu->layout, lu->n - own, ghost, &lu->halo);
  poiseFree(pc->ctx, &ghost);
  return e;
}

/* Collective; agrees. */
static PoiseErr Prepare(PoisePC pc)
{
  DenseLU *lu = Of(pc);
  int64_t fresh = !lu->layout || !poiseLayoutSame(lu->layout, pc->P->rows);
  PoiseErr e = PoiseAgree(pc->ctx, Check(pc));
  if (!e) e = poiseCommMaxInt(pc->ctx->comm, &fresh, 1);
  if (e || !fresh) return e;
  Release(lu);
  e = PoiseAgree(pc->ctx, Allocate(pc));
  if (!e && PoiseSize(pc->ctx) > 1) e = CreateHalo(pc);
  if (e) Release(lu);
  return e;
}

/* Write this rank's rows of P to the dense matrix. It is row-major, so the rows of one rank are
   contiguous. */
static PoiseErr FillRows(PoisePC pc, double **a)
{
  DenseLU *lu = Of(pc);
  Csr *c = &pc->P->csr;
  HostCsr h;
  const double *val;
  int64_t b = poiseCsrSide(c);
  TRY(poiseMatPattern(pc->P, &h));
  TRY(poiseBufferRead(&c->val, HOST, &val));
  TRY(poiseBufferWrite(&lu->factors, HOST, a));
  double *row = *a + lu->layout->begin * lu->n;
  if (c->m) memset(row, 0, (size_t)(c->m * b * lu->n) * sizeof *row);
  for (int64_t i = 0; i < c->m; i++, row += b * lu->n)
    for (int64_t k = poiseCsrPtr(c, h.ptr, i); k < poiseCsrPtr(c, h.ptr, i + 1); k++)
      for (int64_t q = 0, col = poiseCsrGlobal(pc->P, h.col[k]) * b; q < b * b; q++)
        row[q % b * lu->n + col + q / b] = val[k * b * b + q];
  return POISE_OK;
}

static PoiseErr Gather(PoisePC pc, double *a)
{
  DenseLU *lu = Of(pc);
  Comm *comm = pc->ctx->comm;
  const PoiseInt *start = lu->layout->start;
  for (int r = 0; r < comm->size && comm->size > 1; r++)
    if (start[r + 1] > start[r])
      TRY(comm->ops->bcast(comm, a + start[r] * lu->n,
                           (size_t)((start[r + 1] - start[r]) * lu->n) * sizeof *a, r));
  return POISE_OK;
}

/* Of all of it, which every rank has. */
static PoiseErr CheckSymmetric(PoisePC pc, const double *a)
{
  int64_t n = Of(pc)->n;
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < i; j++)
      if (fabs(a[i * n + j] - a[j * n + i]) > LU_ROUNDING * fabs(a[i * n + j]))
        FAIL(POISE_ERR_UNSUPPORTED, "cholesky: the matrix is not symmetric: use lu");
  return POISE_OK;
}

/* All ranks have refused the row. Collective. */
static PoiseErr Refuse(PoisePC pc, const double *result)
{
  const LU *of = pc->data;
  int64_t name;
  TRY(poiseLURowName(pc, (int64_t)result[REFUSED_ROW], &name));
  if (poiseLUIsDefinite(pc))
    FAIL(POISE_ERR_NUMERIC, "cholesky: the pivot of row %lld is %g: the matrix is not positive definite",
         (long long)name, result[REFUSED_PIVOT]);
  FAIL(POISE_ERR_NUMERIC,
       "lu: the largest pivot that is left for row %lld is %g: the matrix is singular, or not finite "
       "(%s %g)",
       (long long)name, result[REFUSED_PIVOT], poiseOptionsName(pc->ctx, pc->prefix, "pc_factor_zeropivot"),
       of->zero_pivot);
}

static PoiseErr Factorise(PoisePC pc, const double **result)
{
  DenseLU *lu = Of(pc);
  LuFactorArgs a = {
      .n = lu->n, .definite = poiseLUIsDefinite(pc), .zero = ((const LU *)pc->data)->zero_pivot};
  TRY(poiseBufferUpdate(&lu->factors, DEVICE, &a.a));
  TRY(poiseBufferWrite(&lu->pivot, DEVICE, &a.pivot));
  TRY(poiseBufferWrite(&lu->result, DEVICE, &a.refused));
  TRY(LAUNCH(pc->ctx->device, lu_factor, &a));
  return poiseBufferRead(&lu->result, HOST, result);
}

static PoiseErr SetUp_Dense(PoisePC pc)
{
  double *a = NULL;
  const double *result;
  TRY(Prepare(pc));
  TRY(PoiseAgree(pc->ctx, FillRows(pc, &a)));
  TRY(Gather(pc, a));
  if (poiseLUIsDefinite(pc)) TRY(CheckSymmetric(pc, a));
  TRY(PoiseAgree(pc->ctx, Factorise(pc, &result)));
  return result[REFUSED_ROW] < 0 ? POISE_OK : Refuse(pc, result);
}

static PoiseErr Foresee_Dense(PoisePC pc, double *entries, double *flops)
{
  double n = (double)pc->P->rows->N;
  *entries = n * n;
  *flops = 2.0 / 3 * n * n * n;
  return POISE_OK;
}

/* ---- application ----------------------------------------------------------------------------- */

/* *b = a buffer of so many bytes, if that can be had. */
static PoiseErr Enlarge(Device *dev, size_t bytes, const char *what, Buffer *b)
{
  Buffer larger = {0};
  double *p;
  PoiseErr e = poiseBufferCreate(dev, bytes, what, &larger);
  if (!e) e = poiseBufferWrite(&larger, DEVICE, &p);
  poiseBufferDestroy(e ? &larger : b);
  if (!e) *b = larger;
  return e;
}

static PoiseErr MakeRoom(PoisePC pc, int columns)
{
  DenseLU *lu = Of(pc);
  Device *dev = pc->ctx->device;
  size_t bytes = (size_t)(lu->n * columns) * sizeof(double);
  TRY(Enlarge(dev, bytes, "solutions of dense factors", &lu->work));
  return lu->halo ? Enlarge(dev, bytes, "right-hand sides of all ranks", &lu->full) : POISE_OK;
}

static PoiseErr ReadyColumns_Dense(PoisePC pc, int columns)
{
  DenseLU *lu = Of(pc);
  if (columns > lu->room) {
    pc->generation++; /* loops hold places of the smaller ones */
    TRY(PoiseAgree(pc->ctx, MakeRoom(pc, columns)));
    lu->room = columns;
  }
  return poiseHaloReadyColumns(lu->halo, columns);
}

static PoiseErr Collect(PoisePC pc, int columns, const double *own, const double *ghost, const double **full)
{
  DenseLU *lu = Of(pc);
  Device *dev = pc->ctx->device;
  size_t begin = (size_t)lu->layout->begin, n = (size_t)lu->layout->n, all = (size_t)lu->n,
         word = (size_t)columns * sizeof *own;
  char *x;
  TRY(poiseBufferWrite(&lu->full, DEVICE, &x));
  TRY(poiseDeviceCopy(dev, x, ghost, begin * word, COPY_ON_DEVICE));
  TRY(poiseDeviceCopy(dev, x + begin * word, own, n * word, COPY_ON_DEVICE));
  TRY(poiseDeviceCopy(dev, x + (begin + n) * word, ghost + begin * (size_t)columns, (all - begin - n) * word,
                      COPY_ON_DEVICE));
  *full = (const double *)(void *)x;
  return POISE_OK;
}

/* *full = r of all ranks. The exchange takes place whatever fails. */
static PoiseErr Right(PoisePC pc, PoiseVec r, const double **full)
{
  int columns = poiseVecColumns(r);
  Halo *halo = poiseHaloOf(Of(pc)->halo, columns);
  const double *ghost, *own = NULL;
  PoiseErr e = poiseVecRead(r, &own);
  *full = own;
  if (!halo) return e;
  TRY(poiseHaloBegin(halo, e, own));
  TRY(poiseHaloEnd(halo, &ghost));
  return Collect(pc, columns, own, ghost, full);
}

/* Of any number of columns. */
static PoiseErr Apply_Dense(PoisePC pc, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse)
{
  DenseLU *lu = Of(pc);
  LuSolveArgs a = {.n = lu->n, .begin = lu->layout->begin, .m = lu->layout->n, .skip = skip};
  a.columns = poiseVecColumns(r);
  if (fuse) a.fuse = *fuse;
  TRY(Right(pc, r, &a.x));
  TRY(poiseBufferRead(&lu->factors, DEVICE, &a.lu));
  TRY(poiseBufferRead(&lu->pivot, DEVICE, &a.pivot));
  TRY(poiseBufferWrite(&lu->work, DEVICE, &a.work));
  TRY(skip ? poiseVecUpdate(z, &a.y) : poiseVecWrite(z, &a.y)); /* skipped, z keeps its content */
  return LAUNCH(pc->ctx->device, lu_solve, &a);
}

static void Cost_Dense(PoisePC pc, double *flops, double *bytes)
{
  const DenseLU *lu = Of(pc);
  double n = (double)lu->n;
  *flops = 2 * n * n;
  *bytes = 8 * n * n + 24 * n;
}

static PoiseErr View_Dense(PoisePC pc)
{
  const DenseLU *lu = Of(pc);
  char bytes[24];
  poiseBytesText(8 * (double)lu->n * (double)lu->n, bytes);
  return poisePrint(pc->ctx, "  dense factors of %lld rows, %s on every rank\n", (long long)lu->n, bytes);
}

static void Bytes_Dense(PoisePC pc, PoiseBytes *sum)
{
  const DenseLU *lu = Of(pc);
  const Buffer *all[] = {&lu->factors, &lu->pivot, &lu->full, &lu->work, &lu->result};
  for (int k = 0; k < 5; k++) poiseBufferAdd(all[k], sum);
  poiseHaloBytes(lu->halo, sum);
}

static PoiseErr Predict_Dense(PoisePC pc, const MatPlan *plan, PoisePrediction *p)
{
  const Device *dev = pc->ctx->device;
  const Layout *rows = pc->P->rows;
  int64_t n = rows->N, ranks = PoiseSize(pc->ctx);
  (void)plan;
  TRY(Check(pc));
  poisePredict(dev, 8 * n * n + RESULTS * (int64_t)sizeof(double), ON_BOTH, p);
  poisePredict(dev, n * (int64_t)sizeof(int32_t) + 8 * n, ON_DEVICE, p);
  if (ranks == 1) return POISE_OK;
  poisePredict(dev, 8 * n, ON_DEVICE, p);
  poiseHaloPredict(dev, n - rows->n, rows->n * (ranks - 1), p); /* all of r to all */
  return POISE_OK;
}

static void Destroy_Dense(PoisePC pc)
{
  Release(Of(pc));
}

static const char *Eager_Dense(PoisePC pc)
{
  return PoiseSize(pc->ctx) > 1 ? "the right-hand side of dense factors travels through the host" : NULL;
}

const PCType poiseLU_dense = {
    .name = "dense",
    .eager = Eager_Dense,
    .setup = SetUp_Dense,
    .foresee = Foresee_Dense,
    .apply = Apply_Dense,
    .apply_columns = Apply_Dense,
    .ready_columns = ReadyColumns_Dense,
    .cost = Cost_Dense,
    .view = View_Dense,
    .bytes = Bytes_Dense,
    .predict = Predict_Dense,
    .destroy = Destroy_Dense,
};

/* ---- host kernels ---------------------------------------------------------------------------- */

enum { PANEL = 32, STRIP = 512 }; /* columns of a panel; rows of a panel that stay in cache */

static int64_t Smaller(int64_t a, int64_t b)
{
  return a < b ? a : b;
}

/* row i -= sum of l_ik times row k for k in [first, last), on the columns [begin, end) */
static void Eliminate(const LuFactorArgs *a, int64_t i, int64_t first, int64_t last, int64_t begin,
                      int64_t end)
{
  double *restrict y = a->a + i * a->n;
  for (int64_t k = first; k < last; k++) {
    const double *restrict x = a->a + k * a->n;
    double l = y[k];
    for (int64_t j = begin; j < end; j++) y[j] -= l * x[j];
  }
}

static void ExchangeRows(const LuFactorArgs *a, int64_t i, int64_t k)
{
  double *x = a->a + i * a->n, *y = a->a + k * a->n;
  for (int64_t j = 0; i != k && j < a->n; j++) {
    double t = x[j];
    x[j] = y[j];
    y[j] = t;
  }
}

/* Factor the columns [first, last) for all rows below. Returns the first column without a pivot, or
   `last`. */
static int64_t FactorPanel(const LuFactorArgs *a, int64_t first, int64_t last)
{
  int64_t n = a->n;
  for (int64_t k = first; k < last; k++) {
    int64_t p = k;
    for (int64_t i = k + 1; i < n && !a->definite; i++)
      if (fabs(a->a[i * n + k]) > fabs(a->a[p * n + k])) p = i;
    double pivot = a->a[p * n + k];
    if (!((a->definite ? pivot : fabs(pivot)) > a->zero) || isinf(pivot)) {
      a->refused[REFUSED_ROW] = (double)k;
      a->refused[REFUSED_PIVOT] = pivot;
      return k;
    }
    a->pivot[k] = (int32_t)p;
    ExchangeRows(a, k, p);
    for (int64_t i = k + 1; i < n; i++) {
      a->a[i * n + k] /= pivot;
      Eliminate(a, i, k, k + 1, k + 1, last);
    }
  }
  return last;
}

PoiseErr poiseHost_lu_factor(Device *dev, const void *args)
{
  const LuFactorArgs *a = args;
  a->refused[REFUSED_ROW] = -1;
  a->refused[REFUSED_PIVOT] = 0;
  for (int64_t first = 0; first < a->n; first += PANEL) {
    int64_t last = Smaller(first + PANEL, a->n);
    if (FactorPanel(a, first, last) < last) return POISE_OK;
    for (int64_t i = first + 1; i < last; i++) Eliminate(a, i, first, i, last, a->n);
    for (int64_t begin = last; begin < a->n; begin += STRIP) {
      TRY(poiseLookInKernel(dev));
      HOST_PARALLEL_BYTES(dev, 8.0 * PANEL * (double)((a->n - last) * (Smaller(begin + STRIP, a->n) - begin)))
      for (int64_t i = last; i < a->n; i++) Eliminate(a, i, first, last, begin, Smaller(begin + STRIP, a->n));
    }
  }
  return POISE_OK;
}

/* sum[c] = entries [begin, end) of a row of the factors times those of column c of x */
static void RowTimes(const double *row, const double *x, int k, int64_t begin, int64_t end, double *sum)
{
  if (k > 1)
    poiseHostRowTimes(row, x, k, begin, end, sum);
  else
    *sum = poiseHostDot(row, x, begin, end);
}

/* x = A^-1 x, of k columns. All row exchanges come first, as L's rows have taken part in the later ones. */
static void SolveColumns(const LuSolveArgs *a, int k, double *x)
{
  int64_t n = a->n;
  HostColumns sum;
  for (int64_t i = 0; i < n; i++)
    for (int c = 0; c < k; c++) {
      double *y = x + i * k + c, *z = x + a->pivot[i] * k + c, t = *y;
      *y = *z;
      *z = t;
    }
  for (int64_t i = 0; i < n; i++) {
    RowTimes(a->lu + i * n, x, k, 0, i, sum);
    for (int c = 0; c < k; c++) x[i * k + c] -= sum[c];
  }
  for (int64_t i = n - 1; i >= 0; i--) {
    const double *row = a->lu + i * n;
    RowTimes(row, x, k, i + 1, n, sum);
    for (int c = 0; c < k; c++) x[i * k + c] = (x[i * k + c] - sum[c]) / row[i];
  }
}

PoiseErr poiseHost_lu_solve(Device *dev, const void *args)
{
  const LuSolveArgs *a = args;
  int k = a->columns > 1 ? a->columns : 1;
  double *x = a->work;
  (void)dev;
  if (a->skip && *a->skip != 0) return POISE_OK;
  for (int64_t e = 0; e < a->n * k; e++) x[e] = a->x[e];
  SolveColumns(a, k, x);
  for (int64_t begin = 0; begin < a->m; begin += POISE_BLOCK) {
    int64_t end = Smaller(begin + POISE_BLOCK, a->m), at = begin / POISE_BLOCK;
    memcpy(a->y + begin * k, x + (a->begin + begin) * k, (size_t)((end - begin) * k) * sizeof *x);
    if (k > 1)
      poiseHostFuseColumns(&a->fuse, a->y, begin, end, at);
    else
      poiseHostFuse(&a->fuse, a->y, begin, end, at);
  }
  return POISE_OK;
}
