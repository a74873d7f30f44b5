/* SPDX-License-Identifier: BSD-3-Clause */
/* Arithmetic with values: scaling, diagonals, norms, sums of matrices. Scale runs on the device, the rest on the host. */
#include "mat.h"

/* ---- scaling -------------------------------------------------------------------------------------------------------- */

static PoiseErr CheckValues(PoiseMat A)
{
  TRY(poiseMatCheckStored(A));
  return poiseMatCheckUsable(A);
}

static PoiseErr Scale(PoiseMat A, double a)
{
  PhaseArgs p = {.id = PHASE_vec_axpby, .n = A->csr.nz, .c[0].value = a};
  TRY(poiseBufferUpdate(&A->csr.val, DEVICE, &p.out[0]));
  p.in[0] = p.out[0];
  A->state++;
  TRY(poiseLaunch(A->ctx->device, KERNEL_phase, &p, sizeof p));
  return poiseBufferSettle(&A->csr.val);
}

PoiseErr PoiseMatScale(PoiseMat A, double a)
{
  TRY(PoiseAgree(A->ctx, CheckValues(A)));
  return PoiseAgree(A->ctx, Scale(A, a));
}

static PoiseErr CheckFactors(PoiseMat A, PoiseVec l, PoiseVec r)
{
  TRY(CheckValues(A));
  if (l && !poiseLayoutSame(A->rows, l->layout))
    FAIL(POISE_ERR_SIZE, "A has %lld rows, l has %lld entries", (long long)A->rows->N, (long long)l->layout->N);
  if (r && !poiseLayoutSame(A->cols, r->layout))
    FAIL(POISE_ERR_SIZE, "A has %lld columns, r has %lld entries", (long long)A->cols->N, (long long)r->layout->N);
  return POISE_OK;
}

static PoiseErr OwnFactors(PoiseMat A, PoiseVec r, double **right)
{
  const double *p;
  TRY(poiseColumnsCreate(A, right));
  TRY(PoiseVecGetRead(r, &p));
  if (A->cols->n) memcpy(*right, p, (size_t)A->cols->n * sizeof *p);
  return POISE_OK;
}

static PoiseErr Multiply(PoiseMat A, PoiseVec l, const double *right)
{
  const double *left = NULL;
  HostCsr h;
  if (l) TRY(PoiseVecGetRead(l, &left));
  TRY(poiseMatUpdate(A, &h));
  A->state++;
  for (int64_t i = 0; i < A->rows->n; i++)
    for (int64_t k = poiseCsrPtr(&A->csr, h.ptr, i); k < poiseCsrPtr(&A->csr, h.ptr, i + 1); k++) {
      if (left) h.val[k] *= left[i];
      if (right) h.val[k] *= right[h.col[k]];
    }
  return POISE_OK;
}

PoiseErr PoiseMatDiagonalScale(PoiseMat A, PoiseVec l, PoiseVec r)
{
  double *right = NULL;
  TRY(PoiseAgree(A->ctx, CheckFactors(A, l, r)));
  PoiseErr e = POISE_OK;
  if (r) {
    e = OwnFactors(A, r, &right);
    e = poiseColumnsSpread(A, e, right);
  }
  e = PoiseAgree(A->ctx, e);
  if (!e) e = PoiseAgree(A->ctx, Multiply(A, l, right));
  poiseFree(A->ctx, &right);
  return e;
}

/* ---- the diagonal --------------------------------------------------------------------------------------------------- */

static PoiseErr CheckDiagonal(PoiseMat A, PoiseVec d, const double **p)
{
  TRY(CheckValues(A));
  TRY(poiseMatCheckSquare(A));
  if (d && (d->ctx != A->ctx || !poiseLayoutSame(A->rows, d->layout)))
    FAIL(POISE_ERR_SIZE, "A has %lld rows, the vector for its diagonal %lld", (long long)A->rows->N,
         (long long)d->layout->N);
  return d ? PoiseVecGetRead(d, p) : POISE_OK;
}

/* A_ii = or += d_i, or a. A call that fails is reported by Assemble. */
static PoiseErr ChangeDiagonal(PoiseMat A, int mode, PoiseVec d, double a)
{
  const double *p = NULL;
  PoiseErr e = POISE_OK;
  TRY(PoiseAgree(A->ctx, CheckDiagonal(A, d, &p)));
  for (int64_t i = 0; !e && i < A->rows->n; i++) {
    PoiseInt row = A->rows->begin + i;
    double v = p ? p[i] : a;
    e = mode == ADDING ? PoiseMatAddValues(A, 1, &row, &row, &v) : PoiseMatSetValues(A, 1, &row, &row, &v);
  }
  return PoiseMatAssemble(A);
}

PoiseErr PoiseMatShift(PoiseMat A, double a)
{
  return ChangeDiagonal(A, ADDING, NULL, a);
}

PoiseErr PoiseMatSetDiagonal(PoiseMat A, PoiseVec d)
{
  return ChangeDiagonal(A, SETTING, d, 0);
}

PoiseErr PoiseMatAddDiagonal(PoiseMat A, PoiseVec d)
{
  return ChangeDiagonal(A, ADDING, d, 0);
}

/* ---- norms ---------------------------------------------------------------------------------------------------------- */

/* Sum of squares, or the largest sum of a row, of this rank. */
static PoiseErr NormOfRows(PoiseMat A, PoiseNorm type, double *norm)
{
  HostCsr h;
  TRY(poiseMatRead(A, &h));
  *norm = 0;
  for (int64_t i = 0; i < A->rows->n; i++) {
    double s = 0;
    for (int64_t k = poiseCsrPtr(&A->csr, h.ptr, i); k < poiseCsrPtr(&A->csr, h.ptr, i + 1); k++)
      s += type == POISE_NORM_INF ? fabs(h.val[k]) : h.val[k] * h.val[k];
    *norm = type == POISE_NORM_INF ? poiseLarger(*norm, s) : *norm + s;
  }
  return POISE_OK;
}

static PoiseErr SumColumns(PoiseMat A, double **column)
{
  HostCsr h;
  TRY(poiseMatRead(A, &h));
  TRY(poiseColumnsCreate(A, column));
  for (int64_t k = 0; k < A->csr.nz; k++) (*column)[h.col[k]] += fabs(h.val[k]);
  return POISE_OK;
}

/* The largest sum of a column that this rank owns. Collective. */
static PoiseErr NormOfColumns(PoiseMat A, double *norm)
{
  double *column = NULL;
  TRY(PoiseAgree(A->ctx, poiseMatCheckStored(A)));
  PoiseErr e = SumColumns(A, &column);
  e = poiseColumnsCollect(A, e, column);
  *norm = 0;
  for (int64_t j = 0; !e && j < A->csr.nloc; j++) *norm = poiseLarger(*norm, column[j]);
  poiseFree(A->ctx, &column);
  return e;
}

PoiseErr PoiseMatNorm(PoiseMat A, PoiseNorm type, double *norm)
{
  double v = 0;
  if (type != POISE_NORM_1 && type != POISE_NORM_INF && type != POISE_NORM_FROBENIUS)
    FAIL(POISE_ERR_UNSUPPORTED, "matrices have the norms 1, infinity and Frobenius, not %d", (int)type);
  TRY(PoiseAgree(A->ctx, type == POISE_NORM_1 ? NormOfColumns(A, &v) : NormOfRows(A, type, &v)));
  TRY(type == POISE_NORM_FROBENIUS ? PoiseSum(A->ctx, 1, &v) : PoiseMax(A->ctx, 1, &v));
  *norm = type == POISE_NORM_FROBENIUS ? sqrt(v) : v;
  return POISE_OK;
}

/* ---- sums of matrices ----------------------------------------------------------------------------------------------- */

typedef struct Walk { /* through the columns of one row of Y and of X */
  PoiseMat Y, X;
  HostCsr y, x;
  int64_t ky, kx, last_y, last_x;
} Walk;

static void StartRow(Walk *w, int64_t i)
{
  w->ky = poiseCsrPtr(&w->Y->csr, w->y.ptr, i), w->last_y = poiseCsrPtr(&w->Y->csr, w->y.ptr, i + 1);
  w->kx = poiseCsrPtr(&w->X->csr, w->x.ptr, i), w->last_x = poiseCsrPtr(&w->X->csr, w->x.ptr, i + 1);
}

/* The next column and where Y and X have it, or -1. */
static bool Next(Walk *w, PoiseInt *col, int64_t *ky, int64_t *kx)
{
  if (w->ky == w->last_y && w->kx == w->last_x) return false;
  PoiseInt y = w->ky < w->last_y ? poiseCsrGlobal(w->Y, w->y.col[w->ky]) : INT64_MAX;
  PoiseInt x = w->kx < w->last_x ? poiseCsrGlobal(w->X, w->x.col[w->kx]) : INT64_MAX;
  *col = x < y ? x : y;
  *ky = y <= x ? w->ky++ : -1;
  *kx = x <= y ? w->kx++ : -1;
  return true;
}

/* *missing: entries of X that Y has no place for. */
static PoiseErr Compare(PoiseMat Y, PoiseMat X, Walk *w, int64_t *missing)
{
  PoiseInt col;
  int64_t ky, kx;
  *w = (Walk){.Y = Y, .X = X};
  *missing = 0;
  if (X->ctx != Y->ctx) FAIL(POISE_ERR_ARG, "X and Y belong to different contexts");
  TRY(poiseMatRead(X, &w->x));
  TRY(poiseMatRead(Y, &w->y));
  if (!poiseLayoutSame(X->rows, Y->rows) || !poiseLayoutSame(X->cols, Y->cols))
    FAIL(POISE_ERR_SIZE, "X is %lld x %lld, Y is %lld x %lld, or their ranks share the rows differently",
         (long long)X->rows->N, (long long)X->cols->N, (long long)Y->rows->N, (long long)Y->cols->N);
  for (int64_t i = 0; i < Y->rows->n; i++)
    for (StartRow(w, i); Next(w, &col, &ky, &kx);) *missing += ky < 0;
  return POISE_OK;
}

static PoiseErr AddInPlace(Walk *w, double a)
{
  PoiseInt col;
  int64_t ky, kx;
  TRY(poiseMatUpdate(w->Y, &w->y));
  w->Y->state++;
  for (int64_t i = 0; i < w->Y->rows->n; i++)
    for (StartRow(w, i); Next(w, &col, &ky, &kx);)
      if (kx >= 0) w->y.val[ky] += a * w->x.val[kx];
  return POISE_OK;
}

static PoiseErr AddRows(Walk *w, double a, int64_t missing, RowArrays *r)
{
  PoiseInt col;
  int64_t ky, kx, out = 0;
  TRY(poiseRowArraysCreate(w->Y, w->Y->csr.nz + missing, r));
  for (int64_t i = 0; i < w->Y->rows->n; i++) {
    for (StartRow(w, i); Next(w, &col, &ky, &kx); out++)
      poiseRowArraysPut(r, out, col, ky < 0 ? a * w->x.val[kx] : kx < 0 ? w->y.val[ky] : w->y.val[ky] + a * w->x.val[kx]);
    r->ptr[i + 1] = out;
  }
  return POISE_OK;
}

PoiseErr PoiseMatAXPY(PoiseMat Y, double a, PoiseMat X)
{
  PoiseContext ctx = Y->ctx;
  RowArrays r = {0};
  int64_t missing, fresh;
  Walk w;
  TRY(PoiseAgree(ctx, Compare(Y, X, &w, &missing)));
  fresh = missing > 0;
  TRY(poiseCommMaxInt(ctx->comm, &fresh, 1));
  if (!fresh) return PoiseAgree(ctx, AddInPlace(&w, a));
  return poiseMatReplace(Y, AddRows(&w, a, missing, &r), &r);
}
