/* SPDX-License-Identifier: BSD-3-Clause */
/* The log: what events cost. events.def lists them. */
#ifndef POISE_LOG_H
#define POISE_LOG_H

#include "sys/base/error.h"

typedef struct Log Log;

enum {
#define EVENT(name, words) EVENT_##name,
#include "events.def"
#undef EVENT
  EVENT_COUNT
};

PoiseErr poiseLogCreate(PoiseContext ctx, Log **log);
void poiseLogDestroy(Log **log);
/* Each rank has its own log, also if ranks are threads. PoiseLogView of a rank's context views it. */
void poiseLogBegin(PoiseContext ctx, int event);
/* flops and bytes of this call on this rank (compulsory traffic, see docs), without those that nested
   events have counted. The table adds these, as it does with time. */
void poiseLogEnd(PoiseContext ctx, int event, double flops, double bytes);
/* The innermost event or section that is open, for messages. */
const char *poiseLogWhere(PoiseContext ctx);

/* Counts at one place. A captured loop keeps them at several places, so that a replay can count like what
   was captured. */
typedef struct LogCounts {
  double flops, bytes, launches; /* in all */
  struct {
    double calls, flops, bytes, launches;
  } event[EVENT_COUNT];
} LogCounts;

void poiseLogCounts(PoiseContext ctx, LogCounts *now);
/* Add `times` times what was counted between two places: its launches, or all else. */
void poiseLogAddLaunches(PoiseContext ctx, double times, const LogCounts *from, const LogCounts *to);
void poiseLogAddWork(PoiseContext ctx, double times, const LogCounts *from, const LogCounts *to);
/* PoiseLogView as -log_view says: "" for text to the context's output, or ":file", ":file:format",
   "::format". A file is written whole or not at all. Collective. */
PoiseErr poiseLogViewOption(PoiseContext ctx, const char *value);
/* check that the file can be written; rank 0 tries. Local */
PoiseErr poiseLogCheckOption(PoiseContext ctx, const char *value);

#endif
