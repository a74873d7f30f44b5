/* SPDX-License-Identifier: BSD-3-Clause */
/* A matrix as an object: creation and destruction, checks, diagonal, questions, view. */
#include "mat/order/arrange.h"
#include "mat/storage/blocks.h"
#include "mat/assembly/triplets.h"
#include "mat/csr/adopt.h"
#include "mat/csr/entries.h"
#include "mat/multiply/multiply.h"
#include "mat/product/pcsr.h"
#include "mat_type.h"

/* ---- creation and destruction ---------------------------------------------------------------- */

static PoiseErr Allocate(PoiseContext ctx, const MatType *type, PoiseMat *A)
{
  TRY(poiseObjectCreate(ctx, sizeof **A, KIND_MAT, "matrix", A));
  (*A)->refs = 1;
  (*A)->block_size = 1;
  (*A)->version = (Version){.pattern = 1, .values = 1};
  (*A)->version.matrix = poiseContextHome(ctx)->memory.calls; /* of which it was one */
  poiseMatUse(*A, type, 0);
  if (type->size) TRY(poiseAlloc(ctx, type->size, type->name, &(*A)->data));
  return poiseMatProductsInit(*A);
}

PoiseErr poiseMatCreateTyped(PoiseContext ctx, const MatType *type, PoiseInt m, PoiseInt n, PoiseInt M,
                             PoiseInt N, PoiseMat *A)
{
  *A = NULL;
  PoiseErr e = PoiseAgree(ctx, Allocate(ctx, type, A));
  if (!e) e = poiseLayoutCreate(ctx, m, M, "rows of the matrix", &(*A)->rows);
  if (!e) e = poiseLayoutCreate(ctx, n, N, "columns of the matrix", &(*A)->cols);
  if (e) PoiseMatDestroy(A);
  return e;
}

PoiseErr poiseMatCreateLocal(const MatType *type, Layout *rows, Layout *cols, PoiseMat *A)
{
  *A = NULL;
  TRY(Allocate(rows->ctx, type, A));
  (*A)->rows = poiseLayoutShare(rows);
  if (cols) (*A)->cols = poiseLayoutShare(cols);
  return POISE_OK;
}

PoiseErr PoiseMatCreate(PoiseContext ctx, PoiseInt m, PoiseInt n, PoiseInt M, PoiseInt N, PoiseMat *A)
{
  CALLED(OBJECT(ctx), GIVEN(A));
  TRY(poiseMatCreateTyped(ctx, &poiseMatType_auto, m, n, M, N, A));
  (*A)->assembly.entries = true;
  return POISE_OK;
}

PoiseErr poiseMatCreateArrays(PoiseContext ctx, const MatType *type, bool by_columns, PoiseInt m, PoiseInt n,
                              PoiseInt M, PoiseInt N, const PoiseCSR *csr, PoiseOwn own, bool device,
                              PoiseMat *A)
{
  TRY(poiseMatCreateTyped(ctx, type, m, n, M, N, A));
  (*A)->csr.by_columns = by_columns;
  poiseLogBegin(ctx, EVENT_MatAssemble);
  PoiseErr e = device ? poiseCsrBuildDevice(*A, csr, own) : poiseCsrBuild(*A, csr, own);
  poiseLogEnd(ctx, EVENT_MatAssemble, 0, 0);
  if (e)
    PoiseMatDestroy(A);
  else
    (*A)->assembled = true;
  return e;
}

PoiseErr PoiseMatCreateCSR(PoiseContext ctx, PoiseInt m, PoiseInt n, PoiseInt M, PoiseInt N,
                           const PoiseCSR *csr, PoiseOwn own, PoiseMat *A)
{
  CALLED(OBJECT(ctx), WORD(own, POISE_BORROW + 1), GIVEN(A));
  return poiseMatCreateArrays(ctx, &poiseMatType_auto, false, m, n, M, N, csr, own, false, A);
}

PoiseErr PoiseMatCreateDeviceCSR(PoiseContext ctx, PoiseInt m, PoiseInt n, PoiseInt M, PoiseInt N,
                                 const PoiseCSR *csr, PoiseOwn own, PoiseMat *A)
{
  CALLED(OBJECT(ctx), WORD(own, POISE_BORROW + 1), GIVEN(A));
  return poiseMatCreateArrays(ctx, &poiseMatType_auto, false, m, n, M, N, csr, own, true, A);
}

PoiseErr PoiseMatDestroy(PoiseMat *A)
{
  DESTROYS(A);
  PoiseMat mat = *A;
  *A = NULL;
  if (!mat || --mat->refs) return POISE_OK;
  PoiseContext ctx = mat->ctx;
  poisePartsDestroy(mat);
  poiseMultipliedDestroy(ctx, &mat->multiplied);
  if (mat->type->destroy && mat->data) mat->type->destroy(mat);
  poiseFree(ctx, &mat->data);
  poiseMatProductsDestroy(mat);
  poiseCsrDestroy(ctx, &mat->csr);
  poiseStashDestroy(ctx, &mat->assembly.stash);
  poiseRowsDestroy(ctx, &mat->assembly.added);
  poiseTripletsDestroy(ctx, &mat->assembly.triplets);
  poiseNullSpaceDestroy(&mat->null);
  poiseNullSpaceDestroy(&mat->left);
  poiseNullSpaceDestroy(&mat->near);
  poiseFree(ctx, &mat->lent.cols);
  poiseFree(ctx, &mat->lent.vals);
  poiseFree(ctx, &mat->fills);
  poiseMapDestroy(ctx, &mat->assembly.row_map);
  poiseMapDestroy(ctx, &mat->assembly.col_map);
  poisePermutationDestroy(&mat->origin.moves);
  poiseLayoutDestroy(&mat->rows);
  poiseLayoutDestroy(&mat->cols);
  poiseFree(ctx, &mat->asked.prefix);
  poiseFree(ctx, &mat->asked.bound);
  poiseObjectFree(ctx, &mat);
  return POISE_OK;
}

PoiseErr poiseMatShare(PoiseMat A, PoiseMat *B)
{
  A->refs++;
  *B = A;
  return POISE_OK;
}

/* ---- checks ---------------------------------------------------------------------------------- */

PoiseErr poiseMatCheckHolds(PoiseMat A, const char *what)
{
  if (poiseMatHolds(A)) return POISE_OK;
  if (A->type->eager) FAIL(POISE_ERR_UNSUPPORTED, "a matrix of type %s has no entries", A->type->name);
  FAIL(POISE_ERR_UNSUPPORTED, "a matrix of type %s stays as the application holds it, and does not offer %s",
       A->type->name, what);
}

PoiseErr poiseMatCheckStored(PoiseMat A)
{
  if (A->asked.type->blocked)
    FAIL(POISE_ERR_UNSUPPORTED,
         "the matrix is of blocks already, type %s: make it csr first (PoiseMatSetType)", PoiseMatType(A));
  return poiseMatCheckHolds(A, "its rows");
}

PoiseErr poiseMatCheckUsable(PoiseMat A)
{
  bool waits = poiseMatWaits(A);
  if (poiseMatHolds(A) && (!A->assembled || A->assembly.changed || waits))
    FAIL(POISE_ERR_STATE, "the matrix has %s: call PoiseMatAssemble",
         A->assembled && !waits ? "entries added since it was assembled" : "not been assembled");
  return POISE_OK;
}

PoiseErr poiseMatCheckSquare(PoiseMat A)
{
  if (!poiseLayoutSame(A->rows, A->cols))
    FAIL(
        POISE_ERR_SIZE,
        "the matrix is %lld x %lld (%lld x %lld on rank %d), not square with rows and columns laid out alike",
        (long long)A->rows->N, (long long)A->cols->N, (long long)A->rows->n, (long long)A->cols->n,
        PoiseRank(A->ctx));
  return POISE_OK;
}

/* ---- diagonal -------------------------------------------------------------------------------- */

static PoiseErr CheckDiagonal(PoiseMat A)
{
  TRY(poiseMatCheckUsable(A));
  TRY(poiseMatCheckSquare(A));
  if (!A->type->diagonal)
    FAIL(POISE_ERR_UNSUPPORTED, "matrix type %s cannot give its diagonal", A->type->name);
  return POISE_OK;
}

PoiseErr poiseMatDiagonalBlocks(PoiseMat A, PoiseErr mine, int b, double *d)
{
  if (!mine) mine = CheckDiagonal(A);
  TRY(PoiseAgree(A->ctx, mine)); /* a user's function may be collective */
  return A->type->diagonal(A, b, d);
}

static PoiseErr OpenDiagonal(PoiseMat A, PoiseVec d, double **p)
{
  if (d->ctx != A->ctx || !poiseLayoutSame(A->rows, d->layout))
    FAIL(POISE_ERR_SIZE, "A has %lld rows, the vector for its diagonal %lld", (long long)A->rows->N,
         (long long)d->layout->N);
  return poiseVecWrite(d, p);
}

PoiseErr PoiseMatGetDiagonal(PoiseMat A, PoiseVec d)
{
  CALLED(OBJECT(A), OBJECT(d));
  double *p = NULL;
  PoiseErr e = OpenDiagonal(A, d, &p);
  e = poiseMatDiagonalBlocks(A, e, 1, p);
  if (!e) e = poiseBufferSyncBorrowed(&d->data);
  return PoiseAgree(A->ctx, e);
}

/* ---- questions ------------------------------------------------------------------------------- */

void PoiseMatSizes(PoiseMat A, PoiseInt *M, PoiseInt *N)
{
  CALLED_OR(, OBJECT(A));
  if (M) *M = A->rows->N;
  if (N) *N = A->cols->N;
}

void PoiseMatLocalSizes(PoiseMat A, PoiseInt *m, PoiseInt *n)
{
  CALLED_OR(, OBJECT(A));
  if (m) *m = A->rows->n;
  if (n) *n = A->cols->n;
}

PoiseErr PoiseMatNonzeros(PoiseMat A, PoiseInt *nz)
{
  CALLED(OBJECT(A), GIVEN(nz));
  int64_t before;
  TRY(PoiseAgree(A->ctx, poiseMatCheckUsable(A)));
  return poiseCommScan(A->ctx->comm, poiseCsrScalars(&A->csr), &before, nz);
}

PoiseErr PoiseMatCreateVecs(PoiseMat A, PoiseVec *x, PoiseVec *y)
{
  CALLED(OBJECT(A));
  if (y) *y = NULL;
  if (x) TRY(poiseVecCreateLayout(A->cols, x));
  if (!y) return POISE_OK;
  PoiseErr e = poiseVecCreateLayout(A->rows, y);
  if (e && x) PoiseVecDestroy(x);
  return e;
}

PoiseContext PoiseMatContext(PoiseMat A)
{
  CALLED_OR(NULL, OBJECT(A));
  return A->ctx;
}

/* ---- view ------------------------------------------------------------------------------------ */

/* An application's arrays may begin anywhere. */
static PoiseErr ViewAddresses(PoiseMat A)
{
  const Csr *c = &A->csr;
  bool bulk = A->ctx->device->model.bulk; /* GPUs of ranks may differ */
  double odd[2] = {bulk && (uintptr_t)c->val.device % 16 != 0, bulk && (uintptr_t)c->col.device % 16 != 0};
  TRY(PoiseMax(A->ctx, 2, odd));
  if (odd[0] + odd[1] == 0) return POISE_OK;
  return poisePrint(A->ctx,
                    "  %s%s%s do not begin at a multiple of 16 bytes: products copy them one by one, and may "
                    "take half as long again\n    to avoid this, align the arrays, or create the matrix with "
                    "POISE_COPY\n",
                    odd[0] > 0 ? "values" : "", odd[0] + odd[1] > 1 ? " and " : "",
                    odd[1] > 0 ? "columns" : "");
}

static PoiseErr ViewStored(PoiseMat A)
{
  Csr *c = &A->csr;
  bool is_host = A->ctx->device->ops->is_host;
  PoiseBytes held, csr = {0};
  int64_t plain;
  double sum[5] = {(double)c->nz, (double)A->blocks.statistics.squares, (double)c->nghost},
         longest = (double)A->blocks.statistics.longest;
  const char *what = c->b ? "BCSR" : "CSR";
  char entries[40] = "nonzeros", alone[24], beyond[24];
  TRY(PoiseMatBytes(A, &held, &plain));
  poiseBufferAdd(&c->ptr, &csr);
  poiseBufferAdd(&c->col, &csr);
  poiseBufferAdd(&c->val, &csr); /* the values may not be on the device yet */
  sum[3] = (double)plain;
  sum[4] = (double)(is_host ? held.host - csr.host : held.device - csr.device);
  TRY(PoiseSum(A->ctx, 5, sum));
  TRY(PoiseMax(A->ctx, 1, &longest));
  double M = (double)(A->rows->N / poiseCsrSide(c)), mean = M > 0 ? sum[0] / M : 0;
  double deviation = M > 0 ? sqrt(fmax(0, sum[1] / M - mean * mean)) : 0;
  if (c->b) snprintf(entries, sizeof entries, "blocks of %d x %d", c->b, c->b);
  TRY(poisePrint(A->ctx, "  %.0f %s, row length mean %.2f, deviation %.2f, longest %.0f\n", sum[0], entries,
                 mean, deviation, longest));
  TRY(poiseBytesPrint(A->ctx, &held));
  TRY(poisePrint(A->ctx, "    the %s arrays alone: %s; what the type adds: %s\n", what,
                 poiseBytesText(sum[3], alone), poiseBytesText(sum[4], beyond)));
  if (PoiseSize(A->ctx) > 1)
    TRY(poisePrint(A->ctx, "  %.0f ghost columns%s over all ranks: entries of x that come from other ranks\n",
                   sum[2], c->b ? " of blocks" : ""));
  if (c->converted)
    TRY(poisePrint(A->ctx, "  converted into arrays of the library's own: %s\n", c->converted));
  return ViewAddresses(A);
}

static PoiseErr View(PoiseMat A)
{
  if (A->assembled) TRY(poiseMatSetUp(A));
  TRY(poisePrint(A->ctx, "Mat%s%s: type %s, %lld x %lld, block size %d, device %s, %d rank%s\n",
                 A->asked.prefix ? " " : "", A->asked.prefix ? A->asked.prefix : "", PoiseMatType(A),
                 (long long)A->rows->N, (long long)A->cols->N, A->block_size, A->ctx->device->ops->name,
                 PoiseSize(A->ctx), PoiseSize(A->ctx) > 1 ? "s" : ""));
  if (poiseMatHolds(A) && A->assembled) TRY(ViewStored(A));
  if (A->near.n) TRY(poisePrint(A->ctx, "  near-null space of %d vectors\n", A->near.n));
  if (A->fills) TRY(poiseMatViewFills(A));
  TRY(poisePartsView(A));
  return A->type->view ? A->type->view(A) : poiseProductView(A);
}

PoiseErr PoiseMatView(PoiseMat A)
{
  CALLED(OBJECT(A));
  return poisePrinted(A->ctx, View(A));
}
