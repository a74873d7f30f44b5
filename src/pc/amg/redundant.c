/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The first level that every rank holds as a whole. It and all beneath it are those of one rank, in the
  context of each rank alone, and have the same bits on all of them. A cycle then costs one exchange of the
  residual for these levels, and no rank waits for another one to solve.

  Where the matrix is made each rank holds it and its part of it.
*/
#include "mat/csr/replace.h"
#include "mat/csr/entries.h"
#include "mat/csr/global_entries.h"
#include "mat/object/mat_type.h"
#include "vec/vec_kernels.h"
#include "cycle_vec.h"
#include "redundant.h"
#include "rows.h"
#include "redundant_kernels.h"

void poiseAmgRedundantRelease(AmgRedundant *r)
{
  poiseAmgVecDestroy(&r->b);
  poiseAmgVecDestroy(&r->x);
  poiseAmgVecDestroy(&r->wide_b);
  poiseAmgVecDestroy(&r->wide_x);
}

void poiseAmgRedundantDestroy(AmgRedundant *r)
{
  poiseAmgRedundantRelease(r);
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

typedef struct Rows {   /* an array of all ranks' rows, of which this rank's are there */
  const int64_t *start; /* as in ShareRows */
  size_t bytes;
  char *there, *here; /* on the device; on the host, made here */
} Rows;

/* Enqueue a copy of the rows of this rank to the host, or of all others from there. */
static PoiseErr CopyRows(PoiseContext ctx, const Rows *r, bool own)
{
  Device *dev = ctx->device;
  const int64_t *mine = r->start + PoiseRank(ctx);
  size_t begin = (size_t)mine[0] * r->bytes, end = (size_t)mine[1] * r->bytes,
         all = (size_t)r->start[PoiseSize(ctx)] * r->bytes;
  if (own) return poiseDeviceCopyArray(dev, r->here + begin, r->there + begin, end - begin, COPY_TO_HOST);
  TRY(poiseDeviceCopyArray(dev, r->there, r->here, begin, COPY_TO_DEVICE));
  return poiseDeviceCopyArray(dev, r->there + end, r->here + end, all - end, COPY_TO_DEVICE);
}

/* The same of arrays on devices, through the hosts. mine: this rank's error so far. Collective; agrees. */
static PoiseErr ShareByHosts(PoiseContext ctx, PoiseErr mine, int count, Rows *rows)
{
  Device *dev = ctx->device;
  bool away = !dev->ops->is_host;
  PoiseErr e = mine;
  for (int k = 0; k < count && !e && away; k++) {
    e = poiseAllocArray(ctx, rows[k].start[PoiseSize(ctx)], rows[k].bytes, "rows of all ranks",
                        &rows[k].here);
    if (!e) e = CopyRows(ctx, &rows[k], true);
  }
  e = PoiseAgree(ctx, e ? e : poiseDeviceSync(dev));
  for (int k = 0; k < count && !e; k++)
    e = ShareRows(ctx, rows[k].start, rows[k].bytes, away ? rows[k].here : rows[k].there);
  for (int k = 0; k < count && !e && away; k++) e = CopyRows(ctx, &rows[k], false);
  PoiseErr waited = poiseDeviceSync(dev); /* as the host's arrays are freed */
  for (int k = 0; k < count; k++) poiseFree(ctx, &rows[k].here);
  return PoiseAgree(ctx, e ? e : waited);
}

/* The same from device to device where they reach each other. The caller agrees. */
static PoiseErr ShareThere(PoiseContext ctx, PoiseErr mine, int count, Rows *rows)
{
  if (!poiseLinkHasAlltoall(ctx)) return ShareByHosts(ctx, mine, count, rows);
  for (int k = 0; k < count; k++)
    mine = poiseLinkAllgather(ctx->link, mine, rows[k].start, rows[k].bytes, rows[k].there);
  return mine;
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

/* *first: entries before those of each rank. mine: this rank's error so far. Collective; agrees. */
static PoiseErr CountEntries(PoiseMat A, PoiseErr mine, int64_t **first)
{
  PoiseContext ctx = A->ctx;
  if (!mine) mine = poiseAllocArray(ctx, PoiseSize(ctx) + 1, sizeof **first, "entries of ranks", first);
  TRY(poiseAgreeGather(ctx, mine, &A->csr.nz, sizeof A->csr.nz, mine ? NULL : *first + 1));
  for (int r = 0; r < PoiseSize(ctx); r++) (*first)[r + 1] += (*first)[r];
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
  TRY(CountEntries(A, e, &w->first));
  for (int r = 0; r <= size; r++) w->rows[r] = A->rows->start[r] / side;
  e = PutPattern(A, w, &a, &ptr, &col);
  Rows rows[] = {{.start = w->rows, .bytes = w->csr.wide ? 8 : 4, .there = ptr},
                 {.start = w->first, .bytes = sizeof *col, .there = (char *)(void *)col}};
  e = ShareThere(ctx, e, 2, rows);
  return PoiseAgree(ctx, e ? e : CreateWhole(A, w, B));
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

/* Where a near null space, or sizes, of all rows go, with this rank's there. */
static PoiseErr PutRows(PoiseMat A, AmgModes *part, AmgModes *all, char **whole)
{
  size_t width = (size_t)part->count * sizeof(double);
  const char *own;
  all->count = part->count, all->n = A->rows->N;
  TRY(poiseBufferRead(&part->b, DEVICE, &own));
  TRY(poiseAmgMake(A->ctx->device, all->n, width, "numbers of all rows", &all->b, whole));
  return poiseDeviceCopy(A->ctx->device, *whole + (size_t)A->rows->begin * width, own,
                         (size_t)part->n * width, COPY_ON_DEVICE);
}

static PoiseErr ShareNumbers(PoiseMat A, PoiseMat B, const int64_t *first, AmgModes *const of[AMG_OF_ROWS])
{
  double *val = NULL;
  int64_t entry = poiseCsrEntry(&A->csr);
  int count = 1;
  AmgModes all[AMG_OF_ROWS] = {{0}};
  Rows rows[1 + AMG_OF_ROWS] = {{.start = first, .bytes = (size_t)entry * sizeof *val}};
  PoiseErr e = PutValues(A, B, first[PoiseRank(A->ctx)] * entry, &val);
  rows[0].there = (char *)(void *)val;
  for (int k = 0; k < AMG_OF_ROWS; k++) {
    if (!of[k]) continue;
    rows[count] = (Rows){.start = A->rows->start, .bytes = (size_t)of[k]->count * sizeof(double)};
    if (!e) e = PutRows(A, of[k], &all[k], &rows[count].there);
    count++;
  }
  e = ShareThere(A->ctx, e, count, rows);
  for (int k = 0; k < AMG_OF_ROWS; k++) {
    if (!of[k]) continue;
    poiseBufferDestroy(&of[k]->b);
    *of[k] = all[k];
  }
  return e;
}

PoiseErr poiseAmgRedundantNumbers(const AmgRedundant *r, PoiseMat B, AmgModes *const of[AMG_OF_ROWS])
{
  PoiseMat A = r->A;
  PoiseContext ctx = A->ctx;
  int64_t *first = NULL;
  PoiseErr e = CountEntries(A, POISE_OK, &first);
  if (!e) e = ShareNumbers(A, B, first, of);
  B->version.values++;
  poiseFree(ctx, &first);
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

/* Exchange the rows of `part`, in fp64 or in fp32; *other: those of the other ranks. */
static PoiseErr Fetch(Halo *halo, PoiseErr mine, bool wide, const void *part, const char **other)
{
  const double *f64 = NULL;
  const float *f32 = NULL;
  TRY(wide ? poiseHaloBegin(halo, mine, part) : poiseHaloBeginSingle(halo, mine, part));
  TRY(wide ? poiseHaloEnd(halo, &f64) : poiseHaloEndSingle(halo, &f32));
  *other = wide ? (const char *)f64 : (const char *)f32;
  return POISE_OK;
}

/* The exchange takes place whatever fails. */
PoiseErr poiseAmgCollect(AmgRedundant *r, int columns, AmgVec *part, AmgVec *all)
{
  Device *dev = r->A->ctx->device;
  const Layout *rows = r->A->rows;
  size_t width = (part->wide ? sizeof(double) : sizeof(float)) * (size_t)(columns ? columns : 1),
         begin = (size_t)rows->begin * width, n = (size_t)rows->n * width,
         behind = (size_t)rows->N * width - begin - n;
  const void *own = NULL;
  const char *other = NULL;
  void *to;
  PoiseErr e = poiseAmgVecRead(part, &own);
  TRY(Fetch(poiseHaloOf(r->halo, columns), e, part->wide != NULL, own, &other));
  TRY(poiseAmgVecWrite(all, &to));
  char *x = to;
  TRY(poiseDeviceCopy(dev, x, other, begin, COPY_ON_DEVICE));
  TRY(poiseDeviceCopy(dev, x + begin, own, n, COPY_ON_DEVICE));
  return poiseDeviceCopy(dev, x + begin + n, other + begin, behind, COPY_ON_DEVICE);
}

PoiseErr poiseAmgTakePart(AmgRedundant *r, int columns, AmgVec *all, AmgVec *part, const double *skip,
                          const Fuse *fuse)
{
  Device *dev = r->A->ctx->device;
  int64_t k = columns ? columns : 1, begin = r->A->rows->begin * k;
  const void *from;
  void *to;
  TRY(poiseAmgVecRead(all, &from));
  TRY(skip ? poiseAmgVecUpdate(part, &to) : poiseAmgVecWrite(part, &to)); /* skipped, it keeps its content */
#define FIELDS(Real) \
  {.n = r->A->rows->n * k, .a.value = 1, .skip = skip, .x = (const Real *)from + begin, .y = to}
  AxpbyArgs wide = FIELDS(double);
  AxpbyArgs_f32 single = FIELDS(float);
#undef FIELDS
  if (!part->wide) return LAUNCH(dev, axpby_f32, &single);
  if (fuse && !columns) wide.fuse = *fuse;
  TRY(LAUNCH(dev, axpby, &wide));
  return columns ? poiseVecFuse(part->wide, skip, fuse) : POISE_OK;
}

void poiseAmgRedundantBytes(const AmgRedundant *r, PoiseBytes *sum)
{
  poiseAmgVecBytes(&r->b, sum);
  poiseAmgVecBytes(&r->x, sum);
  poiseAmgVecBytes(&r->wide_b, sum);
  poiseAmgVecBytes(&r->wide_x, sum);
  poiseHaloBytes(r->halo, sum);
}
