/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The first level that every rank holds as a whole. It and all beneath it are those of one rank, in the
  context of each rank alone, and have the same bits on all of them. A cycle then costs one exchange of the
  residual for these levels, and no rank waits for another one to solve.

  Where the matrix is made each rank holds it and its part of it.
*/
#include "mat/assembly/assemble.h"
#include "mat/csr/entries.h"
#include "mat/mat_type.h"
#include "vec/vec_kernels.h"
#include "amg.h"

void poiseAmgRedundantDestroy(AmgRedundant *r)
{
  PoiseVecDestroy(&r->b);
  PoiseVecDestroy(&r->x);
  poiseHaloDestroy(&r->halo);
  PoiseMatDestroy(&r->A);
  *r = (AmgRedundant){0};
}

/* data: rows [start[r], start[r + 1]) of rank r, `bytes` bytes each. All ranks get all rows. */
static PoiseErr ShareRows(PoiseContext ctx, const int64_t *start, size_t bytes, void *data)
{
  Comm *comm = ctx->comm;
  for (int r = 0; r < comm->size; r++)
    if (start[r + 1] > start[r])
      TRY(comm->ops->bcast(comm, (char *)data + (size_t)start[r] * bytes,
                           (size_t)(start[r + 1] - start[r]) * bytes, r));
  return POISE_OK;
}

/* ---- the matrix ------------------------------------------------------------------------------ */

typedef struct Whole {   /* a matrix in the making; rows, columns and entries may be blocks */
  int64_t *rows, *first; /* [ranks + 1]: rows and entries before those of each rank */
  int64_t *length;       /* of all rows */
  PoiseInt *col;         /* of all entries */
  RowArrays arrays;
} Whole;

static void Release(PoiseContext ctx, Whole *w)
{
  poiseFree(ctx, &w->rows);
  poiseFree(ctx, &w->first);
  poiseFree(ctx, &w->length);
  poiseFree(ctx, &w->col);
  poiseRowArraysDestroy(ctx, &w->arrays);
}

/* Entries before those of each rank. Collective. */
static PoiseErr CountEntries(PoiseMat A, int64_t *first)
{
  Comm *comm = A->ctx->comm;
  TRY(comm->ops->allgather(comm, &A->csr.nz, sizeof A->csr.nz, first + 1));
  for (int r = 0; r < comm->size; r++) first[r + 1] += first[r];
  return POISE_OK;
}

/* This rank's lengths and columns in their places. */
static PoiseErr PutPattern(PoiseMat A, Whole *w)
{
  const Csr *c = &A->csr;
  int size = PoiseSize(A->ctx), rank = PoiseRank(A->ctx);
  HostCsr h;
  TRY(poiseAllocArray(A->ctx, w->rows[size], sizeof *w->length, "lengths of all rows", &w->length));
  TRY(poiseAllocArray(A->ctx, w->first[size], sizeof *w->col, "columns of all rows", &w->col));
  TRY(poiseMatPattern(A, &h));
  for (int64_t i = 0; i < c->m; i++)
    w->length[w->rows[rank] + i] = poiseCsrPtr(c, h.ptr, i + 1) - poiseCsrPtr(c, h.ptr, i);
  for (int64_t k = 0; k < c->nz; k++) w->col[w->first[rank] + k] = poiseCsrGlobal(A, h.col[k]);
  return POISE_OK;
}

/* The arrays of all rows, without values, for the matrix B of this rank alone. */
static PoiseErr Fill(PoiseMat A, const Whole *w, PoiseMat B, RowArrays *to)
{
  int size = PoiseSize(A->ctx);
  int64_t n = w->rows[size];
  TRY(poiseRowArraysCreateBlocks(B, A->csr.b, w->first[size], to));
  for (int64_t i = 0; i < n; i++) to->ptr[i + 1] = to->ptr[i] + w->length[i];
  for (int64_t k = 0; k < w->first[size]; k++) poiseRowArraysPutColumn(to, k, w->col[k]);
  return POISE_OK;
}

static PoiseErr CreateWhole(PoiseMat A, PoiseMat *B)
{
  PoiseInt n = A->rows->N;
  TRY(poiseMatCreateTyped(poiseContextSelf(A->ctx), &poiseMatType_auto, n, n, n, n, B));
  if (A->csr.b) (*B)->block_size = A->csr.b;
  return POISE_OK;
}

static PoiseErr Collect(PoiseMat A, Whole *w, PoiseMat *B)
{
  PoiseContext ctx = A->ctx;
  int size = PoiseSize(ctx);
  int64_t side = poiseCsrSide(&A->csr);
  PoiseErr e = poiseAllocArray(ctx, size + 1, sizeof *w->rows, "rows of ranks", &w->rows);
  if (!e) e = poiseAllocArray(ctx, size + 1, sizeof *w->first, "entries of ranks", &w->first);
  TRY(PoiseAgree(ctx, e));
  for (int r = 0; r <= size; r++) w->rows[r] = A->rows->start[r] / side;
  TRY(CountEntries(A, w->first));
  TRY(PoiseAgree(ctx, PutPattern(A, w)));
  TRY(ShareRows(ctx, w->rows, sizeof *w->length, w->length));
  TRY(ShareRows(ctx, w->first, sizeof *w->col, w->col));
  e = CreateWhole(A, B);
  if (!e) e = Fill(A, w, *B, &w->arrays);
  if (!e) e = poiseMatReplace(*B, POISE_OK, &w->arrays); /* of this rank alone */
  return PoiseAgree(ctx, e);
}

/* Where the values of all rows go, with this rank's there. */
static PoiseErr PutValues(PoiseMat A, PoiseMat B, int64_t begin, double **all)
{
  const double *val;
  TRY(poiseBufferRead(&A->csr.val, HOST, &val));
  TRY(poiseBufferWrite(&B->csr.val, HOST, all));
  if (A->csr.nz) memcpy(*all + begin, val, (size_t)poiseCsrScalars(&A->csr) * sizeof *val);
  return POISE_OK;
}

PoiseErr poiseAmgRedundantValues(const AmgRedundant *r, PoiseMat B)
{
  PoiseMat A = r->A;
  PoiseContext ctx = A->ctx;
  int64_t *first = NULL, size = PoiseSize(ctx);
  double *all = NULL;
  PoiseErr e = PoiseAgree(ctx, poiseAllocArray(ctx, size + 1, sizeof *first, "entries of ranks", &first));
  if (!e) e = CountEntries(A, first);
  if (!e) e = PoiseAgree(ctx, PutValues(A, B, first[PoiseRank(ctx)] * poiseCsrEntry(&A->csr), &all));
  if (!e) e = ShareRows(ctx, first, (size_t)poiseCsrEntry(&A->csr) * sizeof *all, all);
  B->state++;
  poiseFree(ctx, &first);
  return e;
}

PoiseErr poiseAmgRedundantModes(const AmgRedundant *r, AmgModes *modes)
{
  PoiseMat A = r->A;
  PoiseContext ctx = A->ctx;
  AmgModes all = {.count = modes->count, .n = A->rows->N};
  size_t width = (size_t)modes->count * sizeof(double);
  const char *part;
  char *whole = NULL;
  PoiseErr e = poiseBufferRead(&modes->b, HOST, &part);
  if (!e) e = poiseBufferCreate(ctx->device, (size_t)all.n * width, "near null space", &all.b);
  if (!e) e = poiseBufferWrite(&all.b, HOST, &whole);
  if (!e && modes->n) memcpy(whole + (size_t)A->rows->begin * width, part, (size_t)modes->n * width);
  poiseBufferDestroy(&modes->b);
  *modes = all;
  TRY(PoiseAgree(ctx, e));
  return ShareRows(ctx, A->rows->start, width, whole);
}

/* ---- vectors --------------------------------------------------------------------------------- */

static PoiseErr CreateHalo(PoiseMat A, Halo **halo)
{
  PoiseContext ctx = A->ctx;
  PoiseInt *other, own = A->rows->n, begin = A->rows->begin, n = A->rows->N - own;
  PoiseErr e = PoiseAgree(ctx, poiseAllocArray(ctx, n, sizeof *other, "rows of other ranks", &other));
  for (PoiseInt i = 0; !e && i < n; i++) other[i] = i < begin ? i : i + own;
  if (!e) e = poiseHaloCreate(A->rows, n, other, halo);
  poiseFree(ctx, &other);
  return e;
}

PoiseErr poiseAmgRedundantCreate(AmgRedundant *r, PoiseMat *B)
{
  Whole w = {0};
  PoiseErr e = Collect(r->A, &w, B);
  Release(r->A->ctx, &w);
  return e ? e : CreateHalo(r->A, &r->halo);
}

PoiseErr poiseAmgRedundantReady(AmgRedundant *r)
{
  double *there;
  PoiseVec *const parts[] = {&r->b, &r->x};
  for (int k = 0; k < 2 && r->level > 0; k++) {
    if (!*parts[k]) TRY(poiseVecCreateLocal(r->A->rows, parts[k]));
    TRY(poiseVecWrite(*parts[k], &there));
  }
  return poiseHaloReady(r->halo);
}

/* The exchange takes place whatever fails. */
PoiseErr poiseAmgCollect(AmgRedundant *r, PoiseVec part, PoiseVec all)
{
  Device *dev = r->A->ctx->device;
  size_t begin = (size_t)r->A->rows->begin, n = (size_t)r->A->rows->n, word = sizeof(double),
         behind = (size_t)r->A->rows->N - begin - n;
  const double *own = NULL, *other;
  double *x;
  PoiseErr e = poiseVecRead(part, &own);
  TRY(poiseHaloBegin(r->halo, e, own));
  TRY(poiseHaloEnd(r->halo, &other));
  TRY(poiseVecWrite(all, &x));
  TRY(poiseDeviceCopy(dev, x, other, begin * word, COPY_ON_DEVICE));
  TRY(poiseDeviceCopy(dev, x + begin, own, n * word, COPY_ON_DEVICE));
  return poiseDeviceCopy(dev, x + begin + n, other + begin, behind * word, COPY_ON_DEVICE);
}

PoiseErr poiseAmgTakePart(AmgRedundant *r, PoiseVec all, PoiseVec part, const double *skip, const Fuse *fuse)
{
  AxpbyArgs a = {.n = r->A->rows->n, .a = {NULL, 1}, .b = {NULL, 0}, .skip = skip};
  if (fuse) a.fuse = *fuse;
  TRY(poiseVecRead(all, &a.x));
  TRY(skip ? poiseVecUpdate(part, &a.y) : poiseVecWrite(part, &a.y)); /* skipped, it keeps its content */
  a.x += r->A->rows->begin;
  return LAUNCH(r->A->ctx->device, axpby, &a);
}

void poiseAmgRedundantBytes(const AmgRedundant *r, PoiseBytes *sum)
{
  if (r->b) poiseBufferAdd(&r->b->data, sum);
  if (r->x) poiseBufferAdd(&r->x->data, sum);
  poiseHaloBytes(r->halo, sum);
}
