/* SPDX-License-Identifier: BSD-3-Clause */
/* What the log counts, for log.c, which counts, and log_view.c, which writes. */
#ifndef POISE_LOG_COUNTERS_H
#define POISE_LOG_COUNTERS_H

#include "log.h"

enum {
  TIME,
  FLOPS,
  BYTES,
  MESSAGES,
  MESSAGE_BYTES,
  ALLOCATIONS,
  LAUNCHES,
  COPIES,
  TO_DEVICE,
  TO_HOST,
  WAITS,
  COUNTERS
};
enum { DEPTH = 64, NAME_LENGTH = 64 };

typedef struct Event {
  char name[NAME_LENGTH]; /* of a section */
  double calls, total[COUNTERS];
  double own; /* seconds without those of nested events */
  bool late;  /* ended while work was queued on the device, so its time is not that of the work */
} Event;

typedef struct Frame { /* an event that has begun */
  int event;
  double at[COUNTERS], inner[COUNTERS]; /* inner: already added by nested calls of the same event */
  double nested;                        /* seconds of all events inside that have ended */
} Frame;

struct Log {
  PoiseContext ctx;
  double begin[COUNTERS]; /* when the log was made */
  double flops, bytes;    /* of all events so far */
  Event event[EVENT_COUNT];
  Event *section; /* of the application */
  int nsection, sections;
  Frame frame[DEPTH];
  int depth;
};

/* The counters of this rank, now. */
void poiseLogNow(const Log *log, double now[COUNTERS]);
/* Is work queued on the device? */
bool poiseLogIsLate(const Log *log);
const char *poiseLogName(const Log *log, int event);
const char *poiseLogWords(int event); /* what it is; "" for sections */
/* The number of a section, or -1. */
int poiseLogFindSection(const Log *log, const char *name);

#endif
