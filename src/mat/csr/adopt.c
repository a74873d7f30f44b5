/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Users' arrays become a matrix's CSR. They are checked; then adopted or borrowed as they are, or converted
  where the library has other types. Arrays on a device are used there, or come through the host.
*/
#include "adopt.h"
#include "check_arrays.h"
#include "complete.h"
#include "convert.h"
#include "find.h"
#include "ghosts_there.h"
#include "numbering.h"

/* Wraps a user's array, on the host or on the device. */
typedef PoiseErr (*Wrap)(Device *, size_t, const char *, void *, PoiseOwn, Buffer *);

/* Adopt or borrow the arrays as they are. */
static PoiseErr WrapOffsets(PoiseMat A, Wrap wrap, const PoiseCSR *in, PoiseOwn own)
{
  Csr *c = &A->csr;
  c->wide = in->ptr64 != NULL;
  void *ptr = c->wide ? (void *)(uintptr_t)in->ptr64 : (void *)(uintptr_t)in->ptr32;
  return wrap(A->ctx->device, (size_t)(c->m + 1) * (c->wide ? 8 : 4), "row offsets", ptr, own, &c->ptr);
}

static PoiseErr WrapColumns(PoiseMat A, Wrap wrap, const PoiseCSR *in, PoiseOwn own)
{
  return wrap(A->ctx->device, (size_t)A->csr.nz * sizeof(int32_t), "columns", (void *)(uintptr_t)in->col32,
              own, &A->csr.col);
}

static PoiseErr WrapIndices(PoiseMat A, Wrap wrap, const PoiseCSR *in, PoiseOwn own)
{
  TRY(WrapOffsets(A, wrap, in, own));
  return WrapColumns(A, wrap, in, own);
}

static PoiseErr WrapValues(PoiseMat A, Wrap wrap, const PoiseCSR *in, PoiseOwn own)
{
  return wrap(A->ctx->device, (size_t)poiseCsrScalars(&A->csr) * sizeof(double), "values",
              (void *)(uintptr_t)in->val, own, &A->csr.val);
}

/* Several ranks: adopted columns are renumbered in place. */
static PoiseErr WrapAndRenumber(PoiseMat A, const PoiseCSR *in)
{
  TRY(WrapIndices(A, poiseBufferWrap, in, POISE_ADOPT));
  return poiseCsrRenumber(A, in);
}

/* device: the arrays on the device, with copies of offsets and columns on the host in `in`. NULL: `in` is
   the user's. */
static PoiseErr BuildLocal(PoiseMat A, const PoiseCSR *in, const PoiseCSR *device, PoiseOwn own)
{
  Wrap wrap = device ? poiseBufferWrapDevice : poiseBufferWrap;
  const PoiseCSR *given = device ? device : in;
  Csr *c = &A->csr;
  bool sorted;
  int64_t row = 0;
  poiseCsrMeasure(A);
  if (!device) TRY(poiseArraysCheckHost(A, in));
  TRY(poiseArraysCheckOffsets(A, in));
  TRY(poiseArraysCheckColumns(A, in, &sorted, &row));
  c->nz = poiseGivenOffset(in, c->m);
  if (!sorted && (own == POISE_BORROW || device))
    return poiseArraysUnsorted(A, in, row, device ? "on the device" : "borrowed");
  if (!sorted) {
    c->converted = "offsets, columns and values (rows sorted)";
    TRY(poiseCsrConvertOffsets(A, in));
    return poiseCsrConvertSorted(A, in);
  }
  TRY(WrapValues(A, wrap, given, own));
  bool fits = in->base == 0 && !in->col64;
  bool as_own = in->ptr32 && c->nz <= poiseContextHome(A->ctx)->hooks.most_narrow;
  /* arrays of the host; BuildThere takes the others */
  if (fits && PoiseSize(A->ctx) == 1 && (own != POISE_COPY || as_own)) return WrapIndices(A, wrap, in, own);
  if (fits && own == POISE_ADOPT && !device) return WrapAndRenumber(A, in);
  if (own != POISE_COPY) c->converted = "offsets and columns";
  TRY(poiseCsrConvertOffsets(A, in));
  return poiseCsrNumberColumns(A, in);
}

static void ReleaseAdopted(const PoiseMat A, const PoiseCSR *in)
{
  const Csr *c = &A->csr;
  if (c->ptr.own != POISE_ADOPT)
    free((void *)(uintptr_t)(in->ptr32 ? (const void *)in->ptr32 : (const void *)in->ptr64));
  if (c->col.own != POISE_ADOPT)
    free((void *)(uintptr_t)(in->col32 ? (const void *)in->col32 : (const void *)in->col64));
  if (c->val.own != POISE_ADOPT) free((void *)(uintptr_t)in->val);
}

/* A copy on the device of n items of the user's array. */
static PoiseErr Upload(Device *dev, int64_t n, size_t size, const char *what, const void *array, Buffer *b)
{
  void *there;
  TRY(poiseBufferCreate(dev, (size_t)n * size, what, b));
  TRY(poiseBufferWrite(b, DEVICE, &there));
  return poiseDeviceCopyArray(dev, there, array, (size_t)n * size, COPY_TO_DEVICE);
}

/* Several ranks of a device number their columns there, as of arrays that are there. Adopted arrays, which
   stay in place, and rows that do not ascend are the host's: *done is false. */
static PoiseErr BuildByUpload(PoiseMat A, const PoiseCSR *in, PoiseOwn own, bool *done)
{
  Csr *c = &A->csr;
  Device *dev = A->ctx->device;
  CsrView v;
  int64_t row;
  *done = false;
  if (dev->ops->is_host || PoiseSize(A->ctx) == 1 || own == POISE_ADOPT) return POISE_OK;
  if (in->base || in->col64) return POISE_OK;
  poiseCsrMeasure(A);
  TRY(poiseArraysCheckHost(A, in));
  TRY(poiseArraysCheckOffsets(A, in));
  c->wide = in->ptr64 != NULL;
  c->nz = poiseGivenOffset(in, c->m);
  TRY(Upload(dev, c->m + 1, c->wide ? 8 : 4, "row offsets",
             c->wide ? (const void *)in->ptr64 : (const void *)in->ptr32, &c->ptr));
  TRY(Upload(dev, c->nz, sizeof *in->col32, "columns", in->col32, &c->col));
  TRY(poiseCsrPattern(c, &v));
  TRY(poiseFind(A->ctx,
                (FindArgs){.what = FIND_UNSORTED,
                           .n = c->m,
                           .nz = c->nz,
                           .limit = c->columns,
                           .ptr32 = v.ptr32,
                           .ptr64 = v.ptr64,
                           .col32 = v.col},
                &row));
  *done = row == c->m;
  if (!*done) poiseBufferDestroy(&c->ptr), poiseBufferDestroy(&c->col);
  if (!*done) return POISE_OK;
  if (own != POISE_COPY) c->converted = "offsets and columns";
  TRY(WrapValues(A, poiseBufferWrap, in, own));
  return poiseGhostsNumberThere(A, c);
}

/* What was copied is on the device alone. */
static PoiseErr BuildHere(PoiseMat A, const PoiseCSR *in, PoiseOwn own)
{
  Buffer *all[] = {&A->csr.ptr, &A->csr.col, &A->csr.val};
  bool done;
  TRY(poiseArraysCheckGiven(in));
  TRY(BuildByUpload(A, in, own, &done));
  if (!done) TRY(BuildLocal(A, in, NULL, own));
  for (int k = 0; k < 3; k++)
    if (own == POISE_COPY) TRY(poiseBufferToDevice(all[k]));
  return POISE_OK;
}

PoiseErr poiseCsrBuild(PoiseMat A, const PoiseCSR *in, PoiseOwn own)
{
  PoiseErr e = poiseCsrComplete(A, BuildHere(A, in, own));
  if (!e && own == POISE_ADOPT) ReleaseAdopted(A, in);
  return e;
}

/* ---- arrays on the device, used there -------------------------------------------------------- */

/* Use the arrays in place, where indices have the library's types. On several ranks columns get other
   numbers, so they are a copy, and the caller's are as they were if anything fails. */
static PoiseErr BuildThere(PoiseMat A, const PoiseCSR *in, PoiseOwn own)
{
  Csr *c = &A->csr;
  bool alone = PoiseSize(A->ctx) == 1;
  poiseCsrMeasure(A);
  TRY(poiseArraysCheckDevice(A, in, &c->nz));
  TRY(WrapValues(A, poiseBufferWrapDevice, in, own));
  TRY(WrapOffsets(A, poiseBufferWrapDevice, in, own));
  TRY(WrapColumns(A, poiseBufferWrapDevice, in, alone ? own : POISE_COPY));
  if (!alone && own != POISE_COPY) c->converted = "columns";
  return alone ? POISE_OK : poiseGhostsNumberThere(A, c);
}

/* ---- arrays on the device, through the host -------------------------------------------------- */

/* Copy n items of the user's array on the device to memory that the caller frees. NULL stays NULL. */
static PoiseErr Fetch(PoiseContext ctx, int64_t n, size_t size, const void *array, const char *argument,
                      const void *host)
{
  Device *dev = ctx->device;
  void *p = NULL;
  if (!array) return POISE_OK;
  TRY(poiseDeviceCheckPointer(dev, array, (size_t)n * size, argument));
  TRY(poiseAllocArray(ctx, n, size, "indices to check", &p));
  memcpy((void *)(uintptr_t)host, &p, sizeof p);
  return poiseDeviceFetch(dev, array, (size_t)n * size, p);
}

/* Copy offsets and columns to the host; the values stay on the device. */
static PoiseErr FetchIndices(PoiseMat A, const PoiseCSR *in, PoiseCSR *host)
{
  PoiseContext ctx = A->ctx;
  poiseCsrMeasure(A);
  int64_t m = A->csr.m;
  *host = (PoiseCSR){.base = in->base, .val = in->val};
  TRY(Fetch(ctx, m + 1, sizeof(int32_t), in->ptr32, poiseArraysName(A, ARRAY_PTR32), &host->ptr32));
  TRY(Fetch(ctx, m + 1, sizeof(int64_t), in->ptr64, poiseArraysName(A, ARRAY_PTR64), &host->ptr64));
  PoiseCSR offsets = *in; /* offsets are checked before as many columns are copied */
  offsets.ptr32 = host->ptr32, offsets.ptr64 = host->ptr64;
  TRY(poiseArraysCheckOffsets(A, &offsets));
  int64_t nz = poiseGivenOffset(host, m);
  TRY(Fetch(ctx, nz, sizeof(int32_t), in->col32, poiseArraysName(A, ARRAY_COL32), &host->col32));
  TRY(Fetch(ctx, nz, sizeof(int64_t), in->col64, poiseArraysName(A, ARRAY_COL64), &host->col64));
  return poiseArraysCheckDeviceValues(A, in, nz);
}

static void FreeIndices(PoiseContext ctx, PoiseCSR *host)
{
  poiseFree(ctx, &host->ptr32);
  poiseFree(ctx, &host->ptr64);
  poiseFree(ctx, &host->col32);
  poiseFree(ctx, &host->col64);
}

static void ReleaseAdoptedDevice(const PoiseMat A, const PoiseCSR *in)
{
  const Csr *c = &A->csr;
  const void *ptr = in->ptr32 ? (const void *)in->ptr32 : (const void *)in->ptr64;
  const void *col = in->col32 ? (const void *)in->col32 : (const void *)in->col64;
  Device *dev = A->ctx->device;
  if (c->ptr.device != ptr) poiseDeviceFreeAdopted(dev, (void *)(uintptr_t)ptr);
  if (c->col.device != col) poiseDeviceFreeAdopted(dev, (void *)(uintptr_t)col);
}

static PoiseErr BuildFetched(PoiseMat A, const PoiseCSR *in, PoiseCSR *host, PoiseOwn own)
{
  TRY(FetchIndices(A, in, host));
  return BuildLocal(A, host, in, own);
}

PoiseErr poiseCsrBuildDevice(PoiseMat A, const PoiseCSR *in, PoiseOwn own)
{
  PoiseCSR host = {0};
  if (A->ctx->device->ops->is_host) return poiseCsrBuild(A, in, own);
  PoiseErr e = poiseArraysCheckGiven(in);
  if (!e && in->base == 0 && !in->col64)
    e = BuildThere(A, in, own);
  else if (!e)
    e = BuildFetched(A, in, &host, own);
  e = poiseCsrComplete(A, e);
  FreeIndices(A->ctx, &host);
  if (!e && own == POISE_ADOPT) ReleaseAdoptedDevice(A, in);
  return e;
}
