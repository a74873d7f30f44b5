/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The log: the cost of events and of the application's sections on this rank. log_view.c writes the table of
  it over all ranks.

  Begin notes the counters, and End adds their growth. So an event includes what is nested in it. An event
  nested in itself is counted once: what the inner call has added is subtracted from the outer one. An error
  may skip the End of a Begin. The End of an event around it then closes it, and a full stack drops its oldest
  entry.
*/
#include "log_counters.h"
#include "sys/sys.h"

static const struct {
  const char *name, *words;
} events[] = {
#define EVENT(name, words) {#name, words},
#include "events.def"
#undef EVENT
};

void poiseLogNow(const Log *log, double now[COUNTERS])
{
  const Comm *comm = log->ctx->comm;
  const Device *device = log->ctx->device;
  now[TIME] = PoiseTime();
  now[FLOPS] = log->flops;
  now[BYTES] = log->bytes;
  now[MESSAGES] = comm ? (double)comm->messages : 0;
  now[MESSAGE_BYTES] = comm ? (double)comm->message_bytes : 0;
  now[ALLOCATIONS] = (double)log->ctx->memory.calls;
  now[LAUNCHES] = device ? (double)device->launches : 0;
  now[COPIES] = device ? (double)device->copies : 0;
  now[TO_DEVICE] = device ? (double)device->copied[COPY_TO_DEVICE] : 0;
  now[TO_HOST] = device ? (double)device->copied[COPY_TO_HOST] : 0;
  now[WAITS] = device ? (double)device->waits : 0;
}

PoiseErr poiseLogCreate(PoiseContext ctx, Log **log)
{
  TRY(poiseAlloc(ctx, sizeof **log, "log", log));
  (*log)->ctx = ctx;
  poiseLogNow(*log, (*log)->begin);
  return POISE_OK;
}

void poiseLogDestroy(Log **log)
{
  if (!*log) return;
  PoiseContext ctx = (*log)->ctx;
  poiseFree(ctx, &(*log)->section);
  poiseFree(ctx, log);
}

/* ---- events: numbers below EVENT_COUNT are the library's, then come the sections ------------- */

/* -log_device_time: wait, so that no work is queued when an event begins or ends, and its time is that of
   its work. */
static void Drain(const Log *log)
{
  Device *dev = log->ctx->device;
  if (!log->ctx->log_device_time || !dev || !dev->busy) return;
  PoiseErr e = dev->ops->sync(dev);
  if (e && !dev->failed) dev->failed = e; /* the next wait reports it */
  dev->busy = false;
}

bool poiseLogIsLate(const Log *log)
{
  const Device *dev = log->ctx->device;
  return dev && dev->busy;
}

const char *poiseLogName(const Log *log, int event)
{
  return event < EVENT_COUNT ? events[event].name : log->section[event - EVENT_COUNT].name;
}

const char *poiseLogWords(int event)
{
  return event < EVENT_COUNT ? events[event].words : "";
}

static void Range(const Log *log, const char *name)
{
  const Device *dev = log->ctx->device;
  if (dev && dev->ops->range) dev->ops->range(name);
}

void poiseLogBegin(PoiseContext ctx, int event)
{
  Log *log = ctx->log;
  Drain(log);
  Range(log, poiseLogName(log, event));
  if (log->depth == DEPTH) memmove(log->frame, log->frame + 1, (size_t)--log->depth * sizeof *log->frame);
  Frame *f = &log->frame[log->depth++];
  f->event = event;
  memset(f->inner, 0, sizeof f->inner);
  f->nested = 0;
  poiseLogNow(log, f->at);
}

/* The innermost frame of an event among the lowest `depth` ones; -1 if it has not begun. */
static int FindFrame(const Log *log, int event, int depth)
{
  while (--depth >= 0 && log->frame[depth].event != event) continue;
  return depth;
}

/* Add the seconds of the frame at this depth, which took `spent`, to its event. Frames above it have lost
   their ends: what they took is this one's, but for what ended inside them. */
static void AddOwn(Log *log, int depth, Event *e, double spent)
{
  double own = spent;
  for (int k = depth; k < log->depth; k++) own -= log->frame[k].nested;
  e->own += own;
  if (depth > 0) log->frame[depth - 1].nested += spent;
}

void poiseLogEnd(PoiseContext ctx, int event, double flops, double bytes)
{
  Log *log = ctx->log;
  Drain(log);
  log->flops += flops;
  log->bytes += bytes;
  int depth = FindFrame(log, event, log->depth);
  if (depth < 0) return;
  int outer = FindFrame(log, event, depth);
  const Frame *f = &log->frame[depth];
  Event *e = event < EVENT_COUNT ? &log->event[event] : &log->section[event - EVENT_COUNT];
  double now[COUNTERS];
  poiseLogNow(log, now);
  e->calls++;
  e->late = e->late || poiseLogIsLate(log);
  for (int c = 0; c < COUNTERS; c++) {
    double spent = now[c] - f->at[c];
    e->total[c] += spent - f->inner[c];
    if (outer >= 0) log->frame[outer].inner[c] += spent;
  }
  AddOwn(log, depth, e, now[TIME] - f->at[TIME]);
  for (; log->depth > depth; log->depth--) Range(log, NULL); /* errors have skipped ends */
}

/* ---- captured loops -------------------------------------------------------------------------- */

void poiseLogCounts(PoiseContext ctx, LogCounts *now)
{
  const Log *log = ctx->log;
  *now = (LogCounts){.flops = log->flops, .bytes = log->bytes, .launches = (double)ctx->device->launches};
  for (int i = 0; i < EVENT_COUNT; i++) {
    const double *t = log->event[i].total;
    now->event[i].calls = log->event[i].calls;
    now->event[i].flops = t[FLOPS];
    now->event[i].bytes = t[BYTES];
    now->event[i].launches = t[LAUNCHES];
  }
}

void poiseLogAddLaunches(PoiseContext ctx, double times, const LogCounts *from, const LogCounts *to)
{
  Log *log = ctx->log;
  ctx->device->launches += (int64_t)(times * (to->launches - from->launches));
  for (int i = 0; i < EVENT_COUNT; i++)
    log->event[i].total[LAUNCHES] += times * (to->event[i].launches - from->event[i].launches);
}

void poiseLogAddWork(PoiseContext ctx, double times, const LogCounts *from, const LogCounts *to)
{
  Log *log = ctx->log;
  log->flops += times * (to->flops - from->flops);
  log->bytes += times * (to->bytes - from->bytes);
  for (int i = 0; i < EVENT_COUNT; i++) {
    Event *e = &log->event[i];
    e->calls += times * (to->event[i].calls - from->event[i].calls);
    e->total[FLOPS] += times * (to->event[i].flops - from->event[i].flops);
    e->total[BYTES] += times * (to->event[i].bytes - from->event[i].bytes);
  }
}

/* ---- sections -------------------------------------------------------------------------------- */

int poiseLogFindSection(const Log *log, const char *name)
{
  for (int i = 0; i < log->nsection; i++)
    if (!strcmp(log->section[i].name, name)) return i;
  return -1;
}

const char *poiseLogWhere(PoiseContext ctx)
{
  const Log *log = ctx->log;
  if (!log || !log->depth) return "the application";
  return poiseLogName(log, log->frame[log->depth - 1].event);
}

static PoiseErr CheckName(const char *name)
{
  size_t n = strlen(name);
  if (!n || n >= NAME_LENGTH)
    FAIL(POISE_ERR_ARG, "the name of a section has %zu characters, not 1 .. %d", n, NAME_LENGTH - 1);
  for (const char *c = name; *c; c++)
    if ((unsigned char)*c < ' ' || *c == 127)
      FAIL(POISE_ERR_ARG, "the name of a section has a control character");
  return POISE_OK;
}

static PoiseErr AddSection(Log *log, const char *name, int *section)
{
  if (log->nsection == log->sections) {
    int more = log->sections ? 2 * log->sections : 8;
    TRY(poiseRealloc(log->ctx, (size_t)more * sizeof(Event), (size_t)log->nsection * sizeof(Event),
                     "sections of the log", &log->section));
    log->sections = more;
  }
  *section = log->nsection++;
  log->section[*section] = (Event){.calls = 0};
  memcpy(log->section[*section].name, name, strlen(name));
  return POISE_OK;
}

PoiseErr PoiseLogBegin(PoiseContext ctx, const char *name)
{
  CALLED(OBJECT(ctx), GIVEN(name));
  TRY(CheckName(name));
  int section = poiseLogFindSection(ctx->log, name);
  if (section < 0) TRY(AddSection(ctx->log, name, &section));
  poiseLogBegin(ctx, EVENT_COUNT + section);
  return POISE_OK;
}

PoiseErr PoiseLogEnd(PoiseContext ctx, const char *name)
{
  CALLED(OBJECT(ctx), GIVEN(name));
  TRY(CheckName(name));
  int section = poiseLogFindSection(ctx->log, name);
  if (section < 0 || FindFrame(ctx->log, EVENT_COUNT + section, ctx->log->depth) < 0)
    FAIL(POISE_ERR_STATE, "PoiseLogEnd(\"%s\") without PoiseLogBegin", name);
  poiseLogEnd(ctx, EVENT_COUNT + section, 0, 0);
  return POISE_OK;
}
