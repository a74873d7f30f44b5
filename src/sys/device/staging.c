/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Double buffering. The host's threads copy a chunk of the user's array to a pinned buffer, while the chunk
  before is on the bus; or from it, on the way back.

    threads   fill 0 | fill 1 | wait, fill 0 | wait, fill 1 | ...
    bus              | send 0 | send 1       | send 0       | ...

  Buffers stay in the CPU's cache, so memory is read once. The user's pages are not registered: that takes
  longer than to copy them once, and what is registered must not be released.
*/
#include "staging.h"
#include "sys/sys.h"

enum {
  STAGES = 2,
  MOST_THREADS = 16, /* that copy: a few fill the bus */
  SMALL_SHARE = 32,  /* of a buffer: smaller copies are left to the device */
  WORTH = 4          /* buffers full, after which they are made: to pin memory takes time, too */
};

typedef struct Stage {
  void *pinned;
  bool used; /* the device may still work on it, until the event */
  int64_t event;
} Stage;

struct Staging {
  size_t bytes; /* of a buffer */
  Stage stage[STAGES];
  int next; /* buffer */
};

/* ---- life ------------------------------------------------------------------------------------ */

static size_t BufferBytes(const Device *dev)
{
  return poiseContextHome(dev->ctx)->hooks.staging;
}

static PoiseErr Create(Device *dev)
{
  TRY(poiseAlloc(dev->ctx, sizeof *dev->staging, "staging", &dev->staging));
  dev->staging->bytes = BufferBytes(dev);
  for (int k = 0; k < STAGES; k++)
    TRY(dev->ops->alloc_pinned(dev, dev->staging->bytes, "staging", &dev->staging->stage[k].pinned));
  return POISE_OK;
}

void poiseStagingDestroy(Device *dev)
{
  if (!dev->staging) return;
  for (int k = 0; k < STAGES; k++)
    if (dev->staging->stage[k].pinned) dev->ops->free_pinned(dev, dev->staging->stage[k].pinned);
  poiseFree(dev->ctx, &dev->staging);
}

bool poiseStagingTakes(Device *dev, const void *host, size_t bytes)
{
  size_t room = BufferBytes(dev);
  if (dev->ops->is_host || !bytes || bytes < room / SMALL_SHARE) return false;
  if (dev->ops->pinned && dev->ops->pinned(dev, host)) return false; /* it goes at the speed of the bus */
  if (dev->staging) return true;
  dev->unstaged += bytes;
  if (dev->unstaged < WORTH * room) return false;
  dev->unstaged = 0;
  if (!Create(dev)) return true;
  PoiseErrorClear();
  poiseStagingDestroy(dev);
  return false;
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* How many threads copy an array. Those that sleep may wake late: few bytes are copied by one before that. */
static int Threads(const Device *dev, size_t bytes)
{
  enum { FEW = 1 << 20 };
  if (bytes < FEW) return 1;
  return dev->threads < MOST_THREADS ? dev->threads : MOST_THREADS;
}

/* Each thread copies a part of whole cache lines. */
static void CopyByThreads(int parts, void *to, const void *from, size_t bytes)
{
  enum { LINE = 64 };
  size_t each = (bytes / (size_t)parts + LINE) / LINE * LINE;
  HOST_PARALLEL_ITEMS(parts, parts > 1)
  for (int p = 0; p < parts; p++) {
    size_t begin = (size_t)p * each, end = begin + each < bytes ? begin + each : bytes;
    if (begin < end) memcpy((char *)to + begin, (const char *)from + begin, end - begin);
  }
}

/* The next buffer, which the device no longer uses. */
static PoiseErr Next(Device *dev, Stage **stage)
{
  Stage *s = *stage = &dev->staging->stage[dev->staging->next];
  dev->staging->next = (dev->staging->next + 1) % STAGES;
  if (s->used) TRY(dev->ops->wait(dev, s->event));
  s->used = false;
  return POISE_OK;
}

static PoiseErr Enqueue(Device *dev, Stage *s, void *to, const void *from, size_t bytes, CopyKind kind)
{
  TRY(dev->ops->copy(dev, to, from, bytes, kind));
  s->used = true;
  return dev->ops->record(dev, &s->event);
}

static PoiseErr CopyToDevice(Device *dev, char *to, const char *from, size_t bytes, size_t chunk)
{
  int threads = Threads(dev, bytes);
  for (size_t at = 0; at < bytes; at += chunk) {
    size_t n = bytes - at < chunk ? bytes - at : chunk;
    Stage *s;
    TRY(Next(dev, &s));
    CopyByThreads(threads, s->pinned, from + at, n);
    TRY(Enqueue(dev, s, to + at, s->pinned, n, COPY_TO_DEVICE));
  }
  return POISE_OK;
}

/* Copy a chunk that is under way to the host's array. */
static PoiseErr Receive(Device *dev, int threads, Stage *s, char *to, size_t bytes)
{
  TRY(dev->ops->wait(dev, s->event));
  s->used = false;
  CopyByThreads(threads, to, s->pinned, bytes);
  return POISE_OK;
}

static PoiseErr CopyToHost(Device *dev, char *to, const char *from, size_t bytes, size_t chunk)
{
  Stage *before = NULL;
  int threads = Threads(dev, bytes);
  for (size_t at = 0; at < bytes; at += chunk) {
    size_t n = bytes - at < chunk ? bytes - at : chunk;
    Stage *s;
    TRY(Next(dev, &s));
    TRY(Enqueue(dev, s, s->pinned, from + at, n, COPY_TO_HOST));
    if (before) TRY(Receive(dev, threads, before, to + at - chunk, chunk));
    before = s;
  }
  size_t last = (bytes - 1) / chunk * chunk;
  return Receive(dev, threads, before, to + last, bytes - last);
}

/* Short copies are cut, too, so that both sides work at once; not where that saves less than calls take. */
static size_t Chunk(const Staging *s, size_t bytes)
{
  enum { PIECES = 4, ROUND = 64, LEAST_SHARE = 16 };
  size_t chunk = (bytes / PIECES + ROUND) / ROUND * ROUND;
  if (chunk < s->bytes / LEAST_SHARE) chunk = s->bytes / LEAST_SHARE;
  return chunk < s->bytes ? chunk : s->bytes;
}

PoiseErr poiseStagingCopy(Device *dev, void *to, const void *from, size_t bytes, CopyKind kind)
{
  size_t chunk = Chunk(dev->staging, bytes);
  return kind == COPY_TO_HOST ? CopyToHost(dev, to, from, bytes, chunk)
                              : CopyToDevice(dev, to, from, bytes, chunk);
}
