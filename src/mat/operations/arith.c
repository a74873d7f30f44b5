/* SPDX-License-Identifier: BSD-3-Clause */
/* Arithmetic with values: scaling, diagonals, norms, sums of matrices. It runs on the device, where the
   values stay. Only sums of matrices with different patterns run on the host. */
#include "operations.h"
#include "vec/vec_phases.h"
#include "mat/storage/blocks.h"
#include "mat/csr/columns.h"
#include "mat/csr/replace.h"
#include "mat/csr/csr_values_kernels.h"
#include "mat/csr/entries.h"
#include "mat/object/mat.h"

/* ---- scaling --------------------------------------------------------------------------------- */

static PoiseErr CheckValues(PoiseMat A, const char *what)
{
  TRY(poiseMatCheckHolds(A, what));
  return poiseMatCheckUsable(A);
}

/* A state grows first: what follows may fail on one rank, and whether a solver is ready is decided alike. */

static PoiseErr Scale(PoiseMat A, double a)
{
  PhaseArgs p = {.id = PHASE_vec_axpby, .n = poiseCsrScalars(&A->csr), .c[0].value = a};
  A->version.values++;
  TRY(poiseBufferUpdate(&A->csr.val, DEVICE, &p.out[VEC_W]));
  p.in[VEC_X] = p.out[VEC_W];
  TRY(LAUNCH(A->ctx->device, phase, &p));
  return poiseBufferSyncBorrowed(&A->csr.val);
}

PoiseErr PoiseMatScale(PoiseMat A, double a)
{
  CALLED(OBJECT(A));
  TRY(PoiseAgree(A->ctx, CheckValues(A, "PoiseMatScale")));
  return PoiseAgree(A->ctx, Scale(A, a));
}

static PoiseErr CheckFactors(PoiseMat A, PoiseVec l, PoiseVec r)
{
  TRY(CheckValues(A, "PoiseMatDiagonalScale"));
  if (l && !poiseLayoutSame(A->rows, l->layout))
    FAIL(POISE_ERR_SIZE, "A has %lld rows, l has %lld entries", (long long)A->rows->N,
         (long long)l->layout->N);
  if (r && !poiseLayoutSame(A->cols, r->layout))
    FAIL(POISE_ERR_SIZE, "A has %lld columns, r has %lld entries", (long long)A->cols->N,
         (long long)r->layout->N);
  return POISE_OK;
}

static PoiseErr Multiply(PoiseMat A, PoiseVec l, const double *right, const double *ghost)
{
  CsrScaleArgs s = {.right = right, .ghost = ghost};
  A->version.values++;
  if (l) TRY(poiseVecRead(l, &s.left));
  TRY(poiseCsrUpdate(&A->csr, &s.A, &s.val));
  TRY(LAUNCH(A->ctx->device, csr_scale, &s));
  return poiseBufferSyncBorrowed(&A->csr.val);
}

PoiseErr PoiseMatDiagonalScale(PoiseMat A, PoiseVec l, PoiseVec r)
{
  CALLED(OBJECT(A), OBJECT_OR_NO(l), OBJECT_OR_NO(r));
  const double *right = NULL, *ghost = NULL;
  TRY(PoiseAgree(A->ctx, CheckFactors(A, l, r)));
  PoiseErr e = r ? poiseVecRead(r, &right) : POISE_OK;
  if (r) e = poiseMatGhosts(A, e, right, &ghost);
  TRY(PoiseAgree(A->ctx, e));
  return PoiseAgree(A->ctx, Multiply(A, l, right, ghost));
}

/* ---- the diagonal ---------------------------------------------------------------------------- */

static PoiseErr CheckDiagonal(PoiseMat A, PoiseVec d)
{
  TRY(CheckValues(A, "changes of its diagonal"));
  TRY(poiseMatCheckSquare(A));
  if (d && (d->ctx != A->ctx || !poiseLayoutSame(A->rows, d->layout)))
    FAIL(POISE_ERR_SIZE, "A has %lld rows, the vector for its diagonal %lld", (long long)A->rows->N,
         (long long)d->layout->N);
  return POISE_OK;
}

/* Change the stored entries. The number of entries that are not stored stays in the context's scratch, as
   partial sums. */
static PoiseErr ChangeStored(PoiseMat A, int mode, PoiseVec d, double a)
{
  CsrSetDiagonalArgs s = {.add = mode == ADDING, .value = a};
  A->version.values++;
  if (d) TRY(poiseVecRead(d, &s.d));
  TRY(poiseReduceReserve(A->ctx, POISE_NBLOCKS(A->rows->n)));
  TRY(poiseBufferWrite(&A->ctx->reduce_partial, DEVICE, &s.lacking));
  TRY(poiseCsrUpdate(&A->csr, &s.A, &s.val));
  TRY(LAUNCH(A->ctx->device, csr_set_diagonal, &s));
  return poiseBufferSyncBorrowed(&A->csr.val);
}

static PoiseErr OpenMissing(PoiseMat A, PoiseVec d, HostCsr *h, const double **p)
{
  TRY(poiseMatPattern(A, h));
  return d ? PoiseVecGetRead(d, p) : POISE_OK;
}

/* Add the entries that are not stored to the pattern. Assemble reports a call that fails. */
static PoiseErr AddMissing(PoiseMat A, int mode, PoiseVec d, double a)
{
  const double *p = NULL;
  HostCsr h;
  PoiseErr e = POISE_OK;
  TRY(PoiseAgree(A->ctx, OpenMissing(A, d, &h, &p)));
  for (int64_t i = 0; !e && i < A->rows->n; i++) {
    PoiseInt row = A->rows->begin + i;
    double v = p ? p[i] : a;
    if (poiseMatPlace(A, &h, i, row) >= 0) continue;
    e = mode == ADDING ? PoiseMatAddEntries(A, 1, &row, &row, &v) : PoiseMatSetEntries(A, 1, &row, &row, &v);
  }
  return PoiseMatAssemble(A);
}

PoiseErr poiseMatStoreDiagonal(PoiseMat A)
{
  return AddMissing(A, ADDING, NULL, 0);
}

/* A_ii = or += d_i, or a. */
static PoiseErr ChangeDiagonal(PoiseMat A, int mode, PoiseVec d, double a)
{
  double lacking;
  TRY(PoiseAgree(A->ctx, CheckDiagonal(A, d)));
  PoiseErr e = ChangeStored(A, mode, d, a);
  TRY(poiseReduceFinish(A->ctx, e, 1, POISE_NBLOCKS(A->rows->n), false, &lacking));
  return lacking > 0 ? AddMissing(A, mode, d, a) : POISE_OK;
}

PoiseErr PoiseMatShift(PoiseMat A, double a)
{
  CALLED(OBJECT(A));
  return ChangeDiagonal(A, ADDING, NULL, a);
}

PoiseErr PoiseMatSetDiagonal(PoiseMat A, PoiseVec d)
{
  CALLED(OBJECT(A), OBJECT(d));
  return ChangeDiagonal(A, SETTING, d, 0);
}

PoiseErr PoiseMatAddDiagonal(PoiseMat A, PoiseVec d)
{
  CALLED(OBJECT(A), OBJECT(d));
  return ChangeDiagonal(A, ADDING, d, 0);
}

/* ---- norms ----------------------------------------------------------------------------------- */

/* The largest row sums, or the sums of squares, as partial results in the context's scratch. */
static PoiseErr SumRows(PoiseMat A, bool largest, const double scale[2])
{
  CsrNormArgs n = {.largest = largest, .scale = {scale[0], scale[1]}};
  TRY(poiseReduceReserve(A->ctx, POISE_NBLOCKS(A->rows->n)));
  TRY(poiseBufferWrite(&A->ctx->reduce_partial, DEVICE, &n.partial));
  TRY(poiseCsrView(&A->csr, &n.A));
  return LAUNCH(A->ctx->device, csr_norm, &n);
}

static PoiseErr SumColumns(PoiseMat A, double **column)
{
  HostCsr h;
  TRY(poiseMatRead(A, &h));
  TRY(poiseColumnsCreate(A, column));
  for (int64_t k = 0; k < A->csr.nz; k++) (*column)[h.col[k]] += fabs(h.val[k]);
  return POISE_OK;
}

/* The norm of columns, on the host, which needs no index of the entries by column. */
static PoiseErr NormOfColumns(PoiseMat A, double *norm)
{
  double *column = NULL;
  PoiseErr e = SumColumns(A, &column);
  e = poiseColumnsCollect(A, e, column);
  *norm = 0;
  for (int64_t j = 0; !e && j < A->csr.nloc; j++) *norm = poiseLarger(*norm, column[j]);
  poiseFree(A->ctx, &column);
  TRY(PoiseAgree(A->ctx, e));
  return PoiseMax(A->ctx, 1, norm);
}

static PoiseErr NormOfColumnsThere(PoiseMat A, double *norm)
{
  PoiseVec sums;
  TRY(poiseVecCreateLayout(A->cols, &sums));
  PoiseErr e = PoiseAgree(A->ctx, A->type->mult_transpose(A, NULL, sums));
  if (!e) e = PoiseVecNorm(sums, POISE_NORM_INF, norm);
  PoiseVecDestroy(&sums);
  return e;
}

static PoiseErr NormOfRows(PoiseMat A, bool largest, const double scale[2], double *norm)
{
  return poiseReduceFinish(A->ctx, SumRows(A, largest, scale), 1, POISE_NBLOCKS(A->rows->n), largest, norm);
}

/* The Frobenius norm. Entries whose squares under- or overflow are scaled by the largest row sum, which
   may itself overflow. */
static PoiseErr Frobenius(PoiseMat A, double *norm)
{
  double largest, scale[2] = {1, 1};
  int e = 0;
  TRY(NormOfRows(A, false, scale, norm));
  if (!poiseSquaresHold(*norm)) {
    TRY(NormOfRows(A, true, scale, &largest));
    if (largest > 0) {
      e = poiseScaleSquares(largest, scale);
      TRY(NormOfRows(A, false, scale, norm));
    }
  }
  *norm = ldexp(sqrt(*norm), e);
  return POISE_OK;
}

PoiseErr PoiseMatNorm(PoiseMat A, PoiseNorm type, double *norm)
{
  CALLED(OBJECT(A), GIVEN(norm));
  if (type != POISE_NORM_1 && type != POISE_NORM_INF && type != POISE_NORM_FROBENIUS)
    FAIL(POISE_ERR_UNSUPPORTED, "matrices have the norms 1, infinity and Frobenius, not %s",
         type == POISE_NORM_2 ? "2" : "one that PoiseNorm lacks");
  if (A->type->norm) return A->type->norm(A, type, norm);
  TRY(PoiseAgree(A->ctx, CheckValues(A, "PoiseMatNorm")));
  bool here = A->ctx->device->ops->is_host && A->type->stored;
  if (type == POISE_NORM_1) return here ? NormOfColumns(A, norm) : NormOfColumnsThere(A, norm);
  return type == POISE_NORM_INF ? NormOfRows(A, true, (double[]){1, 1}, norm) : Frobenius(A, norm);
}

/* ---- sums of matrices ------------------------------------------------------------------------ */

static PoiseErr CheckSum(PoiseMat Y, PoiseMat X)
{
  TRY(poiseMatCheckHolds(X, "PoiseMatAXPY"));
  TRY(poiseMatCheckHolds(Y, "PoiseMatAXPY"));
  TRY(poiseMatCheckUsable(X));
  TRY(poiseMatCheckUsable(Y));
  if (!poiseLayoutSame(X->rows, Y->rows) || !poiseLayoutSame(X->cols, Y->cols))
    FAIL(POISE_ERR_SIZE, "X is %lld x %lld, Y is %lld x %lld, or the ranks have different rows of them",
         (long long)X->rows->N, (long long)X->cols->N, (long long)Y->rows->N, (long long)Y->cols->N);
  return POISE_OK;
}

/* May the patterns be equal, as far as the host knows? Columns of other ranks are numbered, so these lists
   must be equal. */
static bool MayBeAlike(const Csr *y, const Csr *x)
{
  return y->nz == x->nz && y->nghost == x->nghost &&
         (!y->nghost || !memcmp(y->ghost, x->ghost, (size_t)y->nghost * sizeof *y->ghost));
}

/* Count the row blocks whose patterns differ, as partial sums in the context's scratch. */
static PoiseErr Compare(PoiseMat Y, PoiseMat X)
{
  Device *dev = Y->ctx->device;
  int64_t nblock = POISE_NBLOCKS(Y->csr.m);
  CsrDifferArgs d;
  TRY(poiseReduceReserve(Y->ctx, nblock));
  TRY(poiseBufferWrite(&Y->ctx->reduce_partial, DEVICE, &d.partial));
  PhaseArgs ones = {.id = PHASE_vec_set, .n = nblock, .c = {{.value = 1}}, WRITES(VEC_W, d.partial)};
  if (!MayBeAlike(&Y->csr, &X->csr)) return LAUNCH(dev, phase, &ones);
  TRY(poiseCsrPattern(&Y->csr, &d.A));
  TRY(poiseCsrPattern(&X->csr, &d.B));
  return LAUNCH(dev, csr_differ, &d);
}

static PoiseErr AddValues(PoiseMat Y, double a, PoiseMat X)
{
  PhaseArgs p = {.id = PHASE_vec_axpby, .n = poiseCsrScalars(&Y->csr), .c = {{.value = a}, {.value = 1}}};
  Y->version.values++;
  TRY(poiseBufferRead(&X->csr.val, DEVICE, &p.in[VEC_X]));
  TRY(poiseBufferUpdate(&Y->csr.val, DEVICE, &p.out[VEC_W]));
  p.in[VEC_Y] = p.out[VEC_W];
  TRY(LAUNCH(Y->ctx->device, phase, &p));
  return poiseBufferSyncBorrowed(&Y->csr.val);
}

/* ---- sums of matrices with different patterns, on the host ----------------------------------- */

typedef struct Walk { /* a walk through the columns of one row of Y and of X, of scalars or of blocks of
                         one size */
  PoiseMat Y, X;
  HostCsr y, x;
  int64_t ky, kx, last_y, last_x;
} Walk;

static void StartRow(Walk *w, int64_t i)
{
  w->ky = poiseCsrPtr(&w->Y->csr, w->y.ptr, i), w->last_y = poiseCsrPtr(&w->Y->csr, w->y.ptr, i + 1);
  w->kx = poiseCsrPtr(&w->X->csr, w->x.ptr, i), w->last_x = poiseCsrPtr(&w->X->csr, w->x.ptr, i + 1);
}

/* The next column, and its places in Y and X, or -1. */
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

/* *missing: the number of entries of X that Y lacks. */
static PoiseErr CountMissing(PoiseMat Y, PoiseMat X, Walk *w, int64_t *missing)
{
  PoiseInt col;
  int64_t ky, kx;
  *w = (Walk){.Y = Y, .X = X};
  *missing = 0;
  TRY(poiseMatReadEntries(X, &w->x));
  TRY(poiseMatReadEntries(Y, &w->y));
  for (int64_t i = 0; i < Y->csr.m; i++)
    for (StartRow(w, i); Next(w, &col, &ky, &kx);) *missing += ky < 0;
  return POISE_OK;
}

/* to = y + a x for the n scalars of an entry, with the same bits as on the device. NULL means zeros. */
static void Plus(int64_t n, const double *y, double a, const double *x, double *to)
{
  for (int64_t j = 0; j < n; j++) {
    double old = y ? y[j] : 0;
    to[j] = a == 0 || !x ? old : old + a * x[j];
  }
}

static PoiseErr AddInPlace(Walk *w, double a)
{
  PoiseInt col;
  int64_t ky, kx, n = poiseCsrSide(&w->Y->csr) * poiseCsrSide(&w->Y->csr);
  w->Y->version.values++;
  TRY(poiseMatUpdate(w->Y, &w->y));
  for (int64_t i = 0; i < w->Y->csr.m; i++)
    for (StartRow(w, i); Next(w, &col, &ky, &kx);)
      if (kx >= 0) Plus(n, w->y.val + n * ky, a, w->x.val + n * kx, w->y.val + n * ky);
  return poiseBufferSyncBorrowed(&w->Y->csr.val);
}

static PoiseErr AddRows(Walk *w, double a, int64_t missing, RowArrays *r)
{
  PoiseInt col;
  int64_t ky, kx, out = 0, n = poiseCsrSide(&w->Y->csr) * poiseCsrSide(&w->Y->csr);
  TRY(poiseRowArraysCreateBlocks(w->Y, w->Y->csr.b, w->Y->csr.nz + missing, r));
  for (int64_t i = 0; i < w->Y->csr.m; i++) {
    for (StartRow(w, i); Next(w, &col, &ky, &kx); out++) {
      poiseRowArraysPutColumn(r, out, col);
      Plus(n, ky < 0 ? NULL : w->y.val + n * ky, a, kx < 0 ? NULL : w->x.val + n * kx, r->val + n * out);
    }
    r->ptr[i + 1] = out;
  }
  return POISE_OK;
}

static PoiseErr AddDifferent(PoiseMat Y, double a, PoiseMat X)
{
  PoiseContext ctx = Y->ctx;
  RowArrays r = {0};
  int64_t missing, fresh;
  Walk w;
  TRY(PoiseAgree(ctx, CountMissing(Y, X, &w, &missing)));
  fresh = missing > 0;
  TRY(poiseCommMaxInt(ctx->comm, &fresh, 1));
  if (!fresh) return PoiseAgree(ctx, AddInPlace(&w, a));
  return poiseMatReplace(Y, AddRows(&w, a, missing, &r), &r);
}

static PoiseErr Add(PoiseMat Y, double a, PoiseMat X)
{
  double differ;
  TRY(poiseReduceFinish(Y->ctx, Compare(Y, X), 1, POISE_NBLOCKS(Y->csr.m), false, &differ));
  return differ > 0 ? AddDifferent(Y, a, X) : PoiseAgree(Y->ctx, AddValues(Y, a, X));
}

PoiseErr PoiseMatAXPY(PoiseMat Y, double a, PoiseMat X)
{
  CALLED(OBJECT(Y), OBJECT(X));
  PoiseMat copy;
  TRY(PoiseAgree(Y->ctx, CheckSum(Y, X)));
  if (X->csr.b == Y->csr.b) return Add(Y, a, X);
  TRY(poiseMatDuplicateLike(X, Y, &copy));
  PoiseErr e = Add(Y, a, copy);
  PoiseMatDestroy(&copy);
  return e;
}
