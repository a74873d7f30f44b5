/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The system layer, for the rest of the library: the context, and the headers that nearly all files need.
  Others are included by who needs them: files.h, numbers.h, place.h, progress.h.

  Folders, each of which calls those before it: base, ranks, options, device, link, log, context.

  Internal functions are named poiseVerb, so that a static library also has no unprefixed names.
*/
#ifndef POISE_SYS_IMPL_H
#define POISE_SYS_IMPL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sys/base/error.h"
#include "sys/base/interrupt.h"
#include "sys/base/memory.h"
#include "sys/base/objects.h"
#include "sys/base/words.h"
#include "sys/ranks/comm.h"
#include "sys/ranks/output.h"
#include "sys/options/options.h"
#include "sys/device/buffer.h"
#include "sys/device/device.h"
#include "sys/device/host_loop.h"
#include "sys/device/kernels.h"
#include "sys/device/predict.h"
#include "sys/link/link.h"
#include "sys/log/log.h"
#include "sys/context/group.h"
#include "sys/context/workers.h"

/* What tests replace, so that small problems reach what else needs large ones, and choices by time are the
   same on every run. Users have the values of poiseContextFill. */
typedef struct ContextHooks {
  int64_t most_narrow;           /* offsets up to this are int32, larger ones int64; INT32_MAX */
  size_t staging;                /* bytes of a pinned buffer of large copies; STAGING_BYTES */
  double (*clock)(void);         /* of the measurements by type auto, and of interrupts; PoiseTime */
  uint64_t (*machine)(int rank); /* a number for the machine of a rank; NULL: poiseMachine */
  const char *nodes;             /* the folder of NUMA nodes; NULL: the system's */
} ContextHooks;

struct PoiseContext_s {
  Memory memory;
  Comm *comm;
  Options *options; /* shared by the ranks of PoiseRun (locked inside) */
  Log *log;
  Device *device;
  Link *link;         /* how devices of ranks exchange; NULL: through the host */
  char exchange[600]; /* the same in words, with reasons why not by the transports before it */
  FILE *out;
  bool unwritten;      /* a line of a view could not be written */
  struct Lines *lines; /* files of poiseFileLines */
  void *stream;        /* PoiseInit.stream */
  int64_t objects;     /* Vec, Mat, PC, KSP that live */
  const char *call;    /* the latest public function that this rank was in */
  Interrupt interrupt;
  ContextHooks hooks;
  struct PoiseContext_s *parent; /* context that started a thread rank; else NULL */
  struct PoiseContext_s *self;   /* context of this rank alone, see poiseContextSelf; NULL: the context
                                    itself */
  struct PoiseContext_s *home;   /* the context that this one is the `self` of; else NULL */
  RankGroup *group;              /* ranks that share this rank's GPU; NULL: each solves for itself */
  char gathering[200];           /* the same in words, or why not */
  WorkerThreads *workers;        /* NULL: they were not needed yet */
  int most_workers;              /* by -gpus or -solve_ranks; 1: a solve works on this rank alone */
  bool worker_gpus;              /* -gpus: worker r takes GPU r */
  bool bind;                     /* option: ranks that are threads stay on NUMA nodes */
  bool load_progress;            /* option */
  bool log_device_time;          /* option */
  bool answered;                 /* -help or -version: see PoiseAnswered */
  bool options_checked;          /* all options are known (poiseContextCheck) */
  bool log_viewed;               /* PoiseRun has written the log of its ranks, so PoiseFinalize does not */
  /* scratch of eager reductions on this device: partials, slots, and a host-visible copy (device.c) */
  Buffer reduce_partial, reduce_slots;
};

/* The context of this rank alone, for objects inside one rank, e.g. the solvers of blocks. It shares
   device, options, log, output and the count of memory with ctx, which owns it. It has a communicator of
   one rank, objects and scratch of its own. */
static inline PoiseContext poiseContextSelf(PoiseContext ctx)
{
  return ctx->self ? ctx->self : ctx;
}

/* The context that ctx belongs to: where memory is counted, and whose rank 0 prints. */
static inline PoiseContext poiseContextHome(PoiseContext ctx)
{
  return ctx->home ? ctx->home : ctx;
}

/* PoiseInitialize for a zeroed context, whose memory may be set to fail. Releases everything if it fails. */
PoiseErr poiseContextFill(PoiseContext ctx, int argc, char **argv, const PoiseInit *init);
/* Check before a solve that all options are known, until they are. Collective; agrees. */
PoiseErr poiseContextCheck(PoiseContext ctx);
/* The option tables of the upper layers, each defined in its layer. */
PoiseErr poiseRegister_mat(PoiseContext ctx);
PoiseErr poiseRegister_io(PoiseContext ctx);
PoiseErr poiseRegister_pc(PoiseContext ctx);
PoiseErr poiseRegister_ksp(PoiseContext ctx);

#endif
