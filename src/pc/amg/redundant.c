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
#include "mat/multiply/global_entries.h"
#include "vec/vec_kernels.h"
#include "amg.h"
#include "redundant_kernels.h"

void poiseAmgRedundantDestroy(AmgRedundant *r)
{
  PoiseVecDestroy(&r->b);
  PoiseVecDestroy(&r->x);
  poiseHaloDestroy(&r->halo);
  PoiseMatDestroy(&r->A);
  *r = (AmgRedundant){0};
}

/* data: rows [start[r], start[r + 1]) of rank r, `bytes` bytes each. All ranks get all rows. */
static PoiseErr ShareRows(PoiseContext ctx, const int64_t *start, size_t bytes, char *data)
{
  Comm *comm = ctx->comm;
  for (int r = 0; r < comm->size; r++)
    if (start[r + 1] > start[r])
      TRY(comm->ops->bcast(comm, data + (size_t)start[r] * bytes, (size_t)(start[r + 1] - start[r]) * bytes,
                           r));
  return POISE_OK;
}

/* The rows of this rank to the host, or all others from there. Waits. */
static PoiseErr CopyRows(PoiseContext ctx, const int64_t *start, size_t bytes, char *there, char *here,
                         bool own)
{
  Device *dev = ctx->device;
  const int64_t *mine = start + PoiseRank(ctx);
  size_t begin = (size_t)mine[0] * bytes, end = (size_t)mine[1] * bytes,
         all = (size_t)start[PoiseSize(ctx)] * bytes;
  if (own) {
    TRY(poiseDeviceCopyArray(dev, here + begin, there + begin, end - begin, COPY_TO_HOST));
  } else {
    TRY(poiseDeviceCopyArray(dev, there, here, begin, COPY_TO_DEVICE));
    TRY(poiseDeviceCopyArray(dev, there + end, here + end, all - end, COPY_TO_DEVICE));
  }
  return poiseDeviceSync(dev);
}

/* The same of data on the devices, through the hosts. mine: this rank's error so far. Collective; agrees. */
static PoiseErr ShareThere(PoiseContext ctx, PoiseErr mine, const int64_t *start, size_t bytes, void *data)
{
  bool away = !ctx->device->ops->is_host;
  char *here = NULL;
  if (!mine && away) mine = poiseAllocArray(ctx, start[PoiseSize(ctx)], bytes, "rows of all ranks", &here);
  if (!mine && away) mine = CopyRows(ctx, start, bytes, data, here, true);
  PoiseErr e = PoiseAgree(ctx, mine);
  if (!e) e = ShareRows(ctx, start, bytes, away ? here : data);
  if (!e && away) e = CopyRows(ctx, start, bytes, data, here, false);
  poiseFree(ctx, &here);
  return PoiseAgree(ctx, e);
}

/* ---- the matrix ------------------------------------------------------------------------------ */

typedef struct Whole {   /* a matrix in the making; rows, columns and entries may be blocks */
  int64_t *rows, *first; /* [ranks + 1]: rows and entries before those of each rank */
  Buffer ghost;          /* this rank's */
  Csr csr;
} Whole;

static void Release(PoiseContext ctx, Whole *w)
{
  poiseFree(ctx, &w->rows);
  poiseFree(ctx, &w->first);
  poiseBufferDestroy(&w->ghost);
  poiseCsrDestroy(ctx, &w->csr);
}

/* Entries before those of each rank. Collective. */
static PoiseErr CountEntries(PoiseMat A, int64_t *first)
{
  Comm *comm = A->ctx->comm;
  TRY(comm->ops->allgather(comm, &A->csr.nz, sizeof A->csr.nz, first + 1));
  for (int r = 0; r < comm->size; r++) first[r + 1] += first[r];
  return POISE_OK;
}

/* Arrays for all rows, with this rank's offsets and columns in their places. Local. */
static PoiseErr PutPattern(PoiseMat A, Whole *w, AmgPartArgs *a, char **ptr, int32_t **col)
{
  Csr *c = &w->csr;
  Device *dev = A->ctx->device;
  int size = PoiseSize(A->ctx), rank = PoiseRank(A->ctx);
  int64_t row = w->rows[rank];
  c->b = A->csr.b;
  c->nz = w->first[size];
  c->wide = c->nz > poiseContextHome(A->ctx)->hooks.most_narrow;
  TRY(poiseCsrPattern(&A->csr, &a->A));
  a->columns = (GlobalColumns){.nloc = A->csr.nloc, .column = A->csr.column, .ghost = A->csr.ghost};
  TRY(poiseGhostsToDevice(dev, A->csr.nghost, &w->ghost, &a->columns));
  TRY(poiseAmgMake(dev, w->rows[size] + 1, c->wide ? 8 : 4, "row offsets", &c->ptr, ptr));
  TRY(poiseAmgMake(dev, c->nz, sizeof **col, "columns", &c->col, col));
  TRY(poiseBufferCreate(dev, (size_t)poiseCsrScalars(c) * sizeof(double), "values", &c->val));
  a->n = A->csr.nz > A->csr.m + 1 ? A->csr.nz : A->csr.m + 1;
  a->before = w->first[rank], a->end = w->rows[size] - row, a->total = c->nz;
  a->ptr64 = c->wide ? (int64_t *)(void *)*ptr + row : NULL;
  a->ptr32 = c->wide ? NULL : (int32_t *)(void *)*ptr + row;
  a->col = *col + w->first[rank];
  return LAUNCH(dev, amg_part_pattern, a);
}

static PoiseErr CreateWhole(PoiseMat A, Whole *w, PoiseMat *B)
{
  PoiseInt n = A->rows->N;
  TRY(poiseMatCreateTyped(poiseContextSelf(A->ctx), &poiseMatType_auto, n, n, n, n, B));
  if (A->csr.b) (*B)->block_size = A->csr.b;
  return poiseMatReplaceCsr(*B, POISE_OK, &w->csr); /* of this rank alone */
}

static PoiseErr Collect(PoiseMat A, Whole *w, PoiseMat *B)
{
  PoiseContext ctx = A->ctx;
  int size = PoiseSize(ctx);
  int64_t side = poiseCsrSide(&A->csr);
  AmgPartArgs a = {.n = 0};
  char *ptr = NULL;
  int32_t *col = NULL;
  PoiseErr e = poiseAllocArray(ctx, size + 1, sizeof *w->rows, "rows of ranks", &w->rows);
  if (!e) e = poiseAllocArray(ctx, size + 1, sizeof *w->first, "entries of ranks", &w->first);
  TRY(PoiseAgree(ctx, e));
  for (int r = 0; r <= size; r++) w->rows[r] = A->rows->start[r] / side;
  TRY(CountEntries(A, w->first));
  e = PutPattern(A, w, &a, &ptr, &col);
  TRY(ShareThere(ctx, e, w->rows, w->csr.wide ? 8 : 4, ptr));
  TRY(ShareThere(ctx, POISE_OK, w->first, sizeof *col, col));
  return PoiseAgree(ctx, CreateWhole(A, w, B));
}

/* Where the values of all rows go, with this rank's there. */
static PoiseErr PutValues(PoiseMat A, PoiseMat B, int64_t begin, double **all)
{
  const double *val;
  TRY(poiseBufferRead(&A->csr.val, DEVICE, &val));
  TRY(poiseBufferWrite(&B->csr.val, DEVICE, all));
  return poiseDeviceCopy(A->ctx->device, *all + begin, val, (size_t)poiseCsrScalars(&A->csr) * sizeof *val,
                         COPY_ON_DEVICE);
}

PoiseErr poiseAmgRedundantValues(const AmgRedundant *r, PoiseMat B)
{
  PoiseMat A = r->A;
  PoiseContext ctx = A->ctx;
  int64_t *first = NULL, size = PoiseSize(ctx), entry = poiseCsrEntry(&A->csr);
  double *all = NULL;
  PoiseErr e = PoiseAgree(ctx, poiseAllocArray(ctx, size + 1, sizeof *first, "entries of ranks", &first));
  if (!e) e = CountEntries(A, first);
  if (!e) {
    e = PutValues(A, B, first[PoiseRank(ctx)] * entry, &all);
    e = ShareThere(ctx, e, first, (size_t)entry * sizeof *all, all);
  }
  B->state++;
  poiseFree(ctx, &first);
  return e;
}

PoiseErr poiseAmgRedundantModes(const AmgRedundant *r, AmgModes *modes)
{
  PoiseMat A = r->A;
  Device *dev = A->ctx->device;
  AmgModes all = {.count = modes->count, .n = A->rows->N};
  size_t width = (size_t)modes->count * sizeof(double);
  const char *part;
  char *whole = NULL;
  PoiseErr e = poiseBufferRead(&modes->b, DEVICE, &part);
  if (!e) e = poiseAmgMake(dev, all.n, width, "near null space", &all.b, &whole);
  if (!e)
    e = poiseDeviceCopy(dev, whole + (size_t)A->rows->begin * width, part, (size_t)modes->n * width,
                        COPY_ON_DEVICE);
  e = ShareThere(A->ctx, e, A->rows->start, width, whole);
  poiseBufferDestroy(&modes->b);
  *modes = all;
  return e;
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
