/* SPDX-License-Identifier: BSD-3-Clause */
/*
  An array with a copy on the host and one on the device. Only this file knows which copy is valid. Each side
  is allocated on first need. A device that checks (mock) poisons a side that becomes stale, in stream order,
  so that its use shows. It also compares copies that should be equal. A user's own array is never poisoned.
*/
#include "sys/sys.h"

static PoiseErr AllocHost(Buffer *b)
{
  if (b->host || !b->bytes) return POISE_OK;
  return poiseAlloc(b->dev->ctx, b->bytes, b->what, &b->host);
}

static PoiseErr AllocDevice(Buffer *b)
{
  if (b->device || !b->bytes) return POISE_OK;
  return poiseDeviceAlloc(b->dev, b->bytes, b->what, &b->device);
}

PoiseErr poiseBufferCreate(Device *dev, size_t bytes, const char *what, Buffer *b)
{
  *b = (Buffer){.dev = dev, .what = what, .bytes = bytes, .own = POISE_COPY};
  return dev->ops->is_host ? AllocHost(b) : POISE_OK; /* on other devices zeros are made at the first read */
}

/* Of an array that the user may release then. */
static PoiseErr SendUsers(const Buffer *b, void *to, const void *array)
{
  TRY(poiseDeviceCopyArray(b->dev, to, array, b->bytes, COPY_TO_DEVICE));
  return poiseDeviceSync(b->dev);
}

PoiseErr poiseBufferWrap(Device *dev, size_t bytes, const char *what, void *array, PoiseOwn own, Buffer *b)
{
  if (own == POISE_COPY) {
    void *p = NULL;
    TRY(poiseBufferCreate(dev, bytes, what, b));
    TRY(poiseBufferWrite(b, DEVICE, &p));
    if (dev->ops->is_host && bytes) memcpy(p, array, bytes);
    return dev->ops->is_host ? POISE_OK : SendUsers(b, p, array);
  }
  *b = (Buffer){.dev = dev, .what = what, .bytes = bytes, .own = own, .host = array, .host_valid = true};
  return POISE_OK;
}

PoiseErr poiseBufferWrapDevice(Device *dev, size_t bytes, const char *what, void *array, PoiseOwn own,
                               Buffer *b)
{
  void *p;
  if (dev->ops->is_host) return poiseBufferWrap(dev, bytes, what, array, own, b);
  if (own == POISE_COPY) {
    TRY(poiseBufferCreate(dev, bytes, what, b));
    TRY(poiseBufferWrite(b, DEVICE, &p));
    TRY(poiseDeviceCopy(dev, p, array, bytes, COPY_ON_DEVICE));
    return poiseDeviceSync(dev); /* the user may release it */
  }
  if (own == POISE_ADOPT && array) {
    TRY(poiseAllocCount(dev->ctx, bytes, what));
    dev->bytes += (int64_t)bytes;
  }
  *b = (Buffer){
      .dev = dev, .what = what, .bytes = bytes, .own_device = own, .device = array, .device_valid = true};
  return POISE_OK;
}

/* Stop counting an adopted array on the device, which is the library's no more. */
static void ReleaseCount(const Buffer *b)
{
  poiseFreeCount(b->dev->ctx);
  b->dev->bytes -= (int64_t)b->bytes;
}

void poiseBufferDisown(Buffer *b)
{
  if (b->own_device == POISE_ADOPT && b->device) ReleaseCount(b);
  if (b->own_device == POISE_ADOPT) b->own_device = POISE_BORROW;
  if (b->own == POISE_ADOPT) b->own = POISE_BORROW;
}

void poiseBufferSlice(Device *dev, size_t bytes, const char *what, Buffer *b)
{
  PoiseOwn own = dev->ops->is_host ? POISE_BORROW : POISE_COPY;
  *b = (Buffer){.dev = dev, .what = what, .bytes = bytes, .own = own, .slice = true};
}

void poiseBufferPoint(Buffer *b, void *device)
{
  bool is_host = b->dev->ops->is_host;
  *(is_host ? &b->host : &b->device) = device;
  b->host_valid = is_host;
  b->device_valid = !is_host;
  b->quiet = false;
}

void poiseBufferDestroy(Buffer *b)
{
  if (!b->dev) return;
  if (b->host && b->device && !b->quiet && !b->dev->ops->is_host)
    (void)b->dev->ops->sync(b->dev); /* a copy from the host's array may still be running; the next wait
                                        reports failures */
  if (b->own_device == POISE_ADOPT && b->device) {
    ReleaseCount(b);
    poiseDeviceFreeAdopted(b->dev, b->device);
  } else if (!b->slice && b->own_device == POISE_COPY) {
    poiseDeviceFree(b->dev, b->bytes, &b->device);
  }
  if (b->own == POISE_COPY) poiseFree(b->dev->ctx, &b->host);
  if (b->own == POISE_ADOPT) free(b->host);
  *b = (Buffer){0};
}

/* The first of n bytes that differs, or n. This is not memcmp, as the thread sanitizer tracks every byte
   of that. Entries added one by one are searched in the same arrays, which are compared each time. */
__attribute__((no_sanitize("thread", "address", "undefined"))) static size_t FirstDifference(
    const unsigned char *h, const unsigned char *d, size_t n)
{
  enum { BLOCK = 512 };
  unsigned char differ = 0;
  size_t i = 0;
  for (; i + BLOCK <= n && !differ; i += BLOCK) {
#pragma omp simd reduction(| : differ)
    for (int k = 0; k < BLOCK; k++) differ |= h[i + k] ^ d[i + k];
  }
  if (differ) i -= BLOCK;
  while (i < n && h[i] == d[i]) i++;
  return i;
}

static PoiseErr CheckEqual(const Buffer *b)
{
  if (!b->dev->ops->poison || !b->host_valid || !b->device_valid) return POISE_OK;
  size_t i = FirstDifference(b->host, b->device, b->bytes);
  if (i == b->bytes) return POISE_OK;
  FAIL(POISE_ERR_INTERNAL,
       "the host and device copies of %s (%zu bytes), said to be equal, differ at byte %zu", b->what,
       b->bytes, i);
}

/* Poison the other side, which has become stale. */
static PoiseErr PoisonStale(Buffer *b, Side side)
{
  void *stale = side == DEVICE ? b->host : b->device;
  bool users = side == DEVICE ? b->own != POISE_COPY : b->own_device == POISE_BORROW;
  if (!b->dev->ops->poison || !stale || users) return POISE_OK;
  return b->dev->ops->poison(b->dev, stale, b->bytes);
}

static PoiseErr ReadHost(Buffer *b)
{
  if (b->host_valid && b->quiet) return CheckEqual(b); /* a copy that still runs shows, too */
  TRY(AllocHost(b));
  if (b->dev->ops->is_host) return POISE_OK;
  bool fetch = !b->host_valid && b->device_valid; /* otherwise it is valid, or new and zero */
  if (fetch) TRY(poiseDeviceCopyArray(b->dev, b->host, b->device, b->bytes, COPY_TO_HOST));
  TRY(poiseDeviceSync(b->dev));
  if (!fetch) TRY(CheckEqual(b));
  if (!fetch && !b->host_valid && b->bytes) memset(b->host, 0, b->bytes);
  b->host_valid = b->quiet = true;
  return POISE_OK;
}

/* Fill the device's side with the content of the host's, or with zeros. */
static PoiseErr FillDevice(Buffer *b)
{
  bool zero = !b->host_valid;
  if (zero && b->bytes % sizeof(double) == 0) {
    PhaseArgs a = {.id = PHASE_vec_set, .n = (int64_t)(b->bytes / sizeof(double)), .out = {b->device}};
    TRY(LAUNCH(b->dev, phase, &a));
  } else {
    if (zero) TRY(ReadHost(b));
    TRY(poiseDeviceCopyArray(b->dev, b->device, b->host, b->bytes, COPY_TO_DEVICE));
  }
  return POISE_OK;
}

static PoiseErr ReadDevice(Buffer *b)
{
  bool had = b->device;
  b->quiet = false;
  TRY(AllocDevice(b));
  if (b->device_valid) return POISE_OK;
  PoiseErr e = FillDevice(b);
  b->quiet = false; /* the copy reads the host's side */
  if (e && !had) poiseDeviceFree(b->dev, b->bytes, &b->device);
  TRY(e);
  b->device_valid = true;
  return POISE_OK;
}

static void StorePointer(void *out, void *value)
{
  memcpy(out, &value, sizeof value); /* out is the address of any kind of pointer */
}

PoiseErr poiseBufferRead(Buffer *b, Side side, void *p)
{
  if (b->forgotten) FAIL(POISE_ERR_INTERNAL, "%s, read after their release", b->what);
  if (side == HOST || b->dev->ops->is_host) {
    TRY(ReadHost(b));
    StorePointer(p, b->host);
  } else {
    TRY(ReadDevice(b));
    StorePointer(p, b->device);
  }
  return POISE_OK;
}

PoiseErr poiseBufferUpdate(Buffer *b, Side side, void *p)
{
  TRY(poiseBufferRead(b, side, p));
  if (b->dev->ops->is_host) return POISE_OK;
  bool both = b->host_valid && b->device_valid;
  b->host_valid = side == HOST;
  b->device_valid = side == DEVICE;
  return both ? PoisonStale(b, side) : POISE_OK;
}

PoiseErr poiseFlagCreate(Device *dev, Buffer *b, int32_t **flag)
{
  TRY(poiseBufferCreate(dev, sizeof(double), "flag", b));
  return poiseBufferUpdate(b, DEVICE, flag);
}

PoiseErr poiseBufferWrite(Buffer *b, Side side, void *p)
{
  if (b->dev->ops->is_host) side = HOST;
  bool is_new = side == HOST && !b->host;
  TRY(side == HOST ? AllocHost(b) : AllocDevice(b));
  StorePointer(p, side == HOST ? b->host : b->device);
  b->forgotten = false;
  if (b->dev->ops->is_host) return POISE_OK;
  b->host_valid = side == HOST;
  b->device_valid = side == DEVICE;
  bool quiet = (b->quiet || is_new) && side == HOST && !b->dev->ops->poison;
  b->quiet = false;
  TRY(PoisonStale(b, side));
  bool users = side == HOST ? b->own != POISE_COPY : b->own_device == POISE_BORROW;
  if (b->dev->ops->poison && b->bytes && !users) /* "every entry will be written" */
    TRY(b->dev->ops->poison(b->dev, side == HOST ? b->host : b->device, b->bytes));
  if (side == DEVICE) return POISE_OK;
  if (is_new && !quiet)
    TRY(b->dev->ops->sync(b->dev)); /* the poison alone */
  else if (!quiet)
    TRY(poiseDeviceSync(b->dev)); /* a copy from this side may still be queued */
  b->quiet = true;
  return POISE_OK;
}

PoiseErr poiseBufferToDevice(Buffer *b)
{
  if (b->dev->ops->is_host) return POISE_OK;
  TRY(ReadDevice(b));
  TRY(poiseDeviceSync(b->dev));
  if (b->own != POISE_COPY) return POISE_OK;
  poiseFree(b->dev->ctx, &b->host);
  b->host_valid = b->quiet = false;
  return POISE_OK;
}

void poiseBufferLeave(Buffer *b)
{
  if (!b->device || !b->host_valid || b->slice || b->own_device != POISE_COPY || b->dev->ops->is_host) return;
  (void)b->dev->ops->sync(b->dev); /* queued work may use it; the next wait reports failures */
  poiseDeviceFree(b->dev, b->bytes, &b->device);
  b->device_valid = false;
}

void poiseBufferForget(Buffer *b)
{
  if (b->slice || b->own_device != POISE_COPY || b->dev->ops->is_host) return;
  poiseDeviceFree(b->dev, b->bytes, &b->device);
  b->device_valid = b->host_valid = b->quiet = false;
  b->forgotten = true;
}

PoiseErr poiseBufferDuplicate(const Buffer *b, Buffer *copy)
{
  void *p;
  TRY(poiseBufferCreate(b->dev, b->bytes, b->what, copy));
  if (b->device_valid) {
    TRY(poiseBufferWrite(copy, DEVICE, &p));
    return poiseDeviceCopy(b->dev, p, b->device, b->bytes, COPY_ON_DEVICE);
  }
  copy->forgotten = b->forgotten;
  if (!b->host_valid && !b->dev->ops->is_host) return POISE_OK; /* zeros */
  TRY(poiseBufferWrite(copy, HOST, &p));
  if (b->bytes) memcpy(p, b->host, b->bytes);
  return POISE_OK;
}

void poiseBufferZero(Buffer *b)
{
  bool is_host = b->dev->ops->is_host;
  if (is_host && b->bytes) memset(b->host, 0, b->bytes);
  b->host_valid = is_host;
  b->device_valid = b->quiet = b->forgotten = false;
  if (!is_host) (void)PoisonStale(b, HOST); /* a failure to queue it hides nothing */
}

PoiseErr poiseBufferSyncBorrowed(Buffer *b)
{
  if (b->dev->ops->is_host) return POISE_OK;
  if (b->own != POISE_COPY && !b->host_valid) return ReadHost(b);
  return b->own_device == POISE_BORROW && !b->device_valid ? ReadDevice(b) : POISE_OK;
}

void poiseBufferAdd(const Buffer *b, PoiseBytes *sum)
{
  sum->host += poiseBufferBytes(b, HOST);
  sum->device += poiseBufferBytes(b, DEVICE);
}

bool poiseBufferIsCurrent(const Buffer *b, Side side)
{
  return side == HOST ? b->host_valid : b->device_valid;
}

int64_t poiseBufferBytes(const Buffer *b, Side side)
{
  if (b->slice && (side == DEVICE || b->dev->ops->is_host)) return 0; /* somebody else's */
  return (side == HOST ? b->host : b->device) ? (int64_t)b->bytes : 0;
}
