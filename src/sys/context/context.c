/* SPDX-License-Identifier: BSD-3-Clause */
/* The context, from PoiseInitialize to PoiseFinalize: communicator, options, log and device of a rank. And
   what an application asks it for. */
#include <stdio.h>

#include "context.h"
#include "sys/base/files.h"
#include "sys/base/fork.h"
#include "sys/device/host_threads.h"
#include "sys/device/nodes.h"
#include "sys/device/place.h"
#include "sys/device/staging.h"

#ifdef _OPENMP
#define OPENMP_WORD "with OpenMP"
#else
#define OPENMP_WORD "without OpenMP"
#endif

#ifdef POISE_HAVE_METIS
#define METIS_WORD "with METIS"
#else
#define METIS_WORD "without METIS"
#endif
#ifdef POISE_HAVE_SUPERLU
#define SUPERLU_WORD "with SuperLU"
#else
#define SUPERLU_WORD "without SuperLU"
#endif
#ifdef POISE_HAVE_AMD
#define AMD_WORD "with AMD"
#else
#define AMD_WORD "without AMD"
#endif

#ifdef POISE_HAVE_CUDA
#define CUDA_WORD "with CUDA"
#else
#define CUDA_WORD "without CUDA"
#endif

#ifdef POISE_HAVE_MPI
#define MPI_WORD "with MPI"
static PoiseErr CreateComm(PoiseContext ctx, const PoiseInit *init)
{
  if (init && init->serial) return poiseCommCreateSelf(ctx, &ctx->comm);
  return poiseCommCreateMPI(ctx, init ? init->mpi_comm : NULL, &ctx->comm);
}
#else
#define MPI_WORD "without MPI"
static PoiseErr CreateComm(PoiseContext ctx, const PoiseInit *init)
{
  if (init && init->mpi_comm && !init->serial)
    FAIL(POISE_ERR_UNSUPPORTED, "this build of Poise has no MPI: it cannot use PoiseInit.mpi_comm");
  return poiseCommCreateSelf(ctx, &ctx->comm);
}
#endif

/* ---- options of the system layer ------------------------------------------------------------- */

typedef struct System {
  int help, version, left, error_trace, view, device, load_progress, forbid_copies, device_time, comm_check,
      exchange, fuse, gather, bind;
  PoiseInt ranks, solve_ranks, host_threads, device_id;
  double patience;
  char options_file[POISE_OPTION_LENGTH], log_view[POISE_OPTION_LENGTH], gpus[POISE_OPTION_LENGTH];
} System;

#define DEVICE(name) "|" #name
static const char device_words[] = "auto"
#include "sys/device/devices.def"
    ;
#undef DEVICE

enum { LEFT_NO, LEFT_WARN, LEFT_ERROR };
static const char left_words[] = "no|false=no|0=no|warn|=warn|yes=warn|true=warn|1=warn|error";

#define FIELD(type, field) POISE_OPTION_##type, offsetof(System, field)
static const PoiseOption table[] = {
    {"help", FIELD(BOOL, help), "no", 0, 0, NULL, "print all options, and end"},
    {"version", FIELD(BOOL, version), "no", 0, 0, NULL, "print the version, and end"},
    {"options_file", FIELD(STRING, options_file), "", 0, 0, NULL, "read more options from this file"},
    {"options_left", FIELD(CHOICE, left), "warn", 0, 0, left_words,
     "name options on standard error: unknown ones before the first solve, unused ones at the end; "
     "error: unused ones are an error"},
    {"error_trace", FIELD(BOOL, error_trace), "no", 0, 0, NULL,
     "the text of an error has the calls that it came through, with source lines; in the whole process"},
    {"log_view", FIELD(STRING, log_view), "", 0, 0, "",
     "print the table of events at the end, or write it to a file: :file or :file:text|csv|json; without a "
     "format that of the ending, .csv or .json, else text"},
    {"poise_view", FIELD(BOOL, view), "no", 0, 0, NULL, "print version, build, device, ranks and threads"},
    {"ranks", FIELD(INT, ranks), "1", 1, 4096, NULL, "ranks that PoiseRun starts as threads"},
    {"ranks_bind", FIELD(BOOL, bind), "yes", 0, 0, NULL,
     "where the host has several NUMA nodes, let ranks that are threads, and their threads, stay on one "
     "each, "
     "neighbours on the same"},
    {"gpus", FIELD(STRING, gpus), "", 0, 0, NULL,
     "GPUs that solvers of a context of one rank work on, by threads of their own: a number, or all"},
    {"solve_ranks", FIELD(INT, solve_ranks), "1", 1, 4096, NULL,
     "the same with so many ranks on any device, as -ranks of PoiseRun places them"},
    {"device", FIELD(CHOICE, device), "auto", 0, 0, device_words,
     "where arrays live; auto: cuda if all ranks see a GPU, else host"},
    {"device_id", FIELD(INT, device_id), "-1", -1, 63, NULL,
     "number of the GPU; -1: one near the rank's cores; where ranks share GPUs, neighbours share one"},
    {"device_forbid_copies", FIELD(BOOL, forbid_copies), "no", 0, 0, NULL,
     "make it an error if a solve copies between host and device, or waits, beyond its scalars once per "
     "replay"},
    {"log_device_time", FIELD(BOOL, device_time), "no", 0, 0, NULL,
     "wait for the device before and after each event, so that its time is the device's; loops are then "
     "not replayed"},
    {"host_threads", FIELD(INT, host_threads), "0", 0, 4096, NULL,
     "threads of host loops per rank; 0: divide the cores evenly, beside GPUs at most 16 of them"},
    {"comm_check", FIELD(CHOICE, comm_check), "auto", 0, 0, "auto|yes|no",
     "under MPI, check before each collective that all ranks are in the same call; auto: in debug builds"},
    {"comm_exchange", FIELD(CHOICE, exchange), "auto", 0, 0, "auto|peer|nccl|host",
     "how devices of ranks exchange numbers inside replayed loops: peer: through each other's memory; nccl: "
     "by "
     "NCCL; host: through the hosts, so that no loop is replayed; auto: the first of these that may be and "
     "works, see -poise_view"},
    {"comm_fuse", FIELD(BOOL, fuse), "yes", 0, 0, NULL,
     "by peer access, where products are short, let vector kernels of a loop add sums over ranks and "
     "exchange entries by themselves; no, and where ranks share a GPU: by kernels of their own"},
    {"comm_gather", FIELD(CHOICE, gather), "auto", 0, 0, "auto|yes|no",
     "ranks that share a device solve as one, whose rows are those of all, while the others sleep; auto: MPI "
     "ranks "
     "on GPUs; yes: any, as far as a solve can; see -ksp_view"},
    {"comm_patience", FIELD(REAL, patience), "10", 1e-3, 1e6, NULL,
     "seconds that a device waits for that of another rank, before the solve is an error; with nccl, that "
     "the "
     "host waits for its device"},
    {"load_progress", FIELD(BOOL, load_progress), "yes", 0, 0, NULL,
     "show the progress of long reads of files in a line on standard error, if that is a terminal"},
    {0}};

enum { CHECK_AUTO, CHECK_YES, CHECK_NO };
#ifdef NDEBUG
static const bool checks_collectives = false;
#else
static const bool checks_collectives = true;
#endif

static PoiseErr ReadSystem(PoiseContext ctx, System *system)
{
  TRY(PoiseOptionsDefaults(table, system));
  return PoiseOptionsRead(ctx, NULL, table, system);
}

static PoiseErr Register(PoiseContext ctx)
{
  System system;
  TRY(poiseOptionsRegister(ctx, "Poise", table));
  if (!ReadSystem(ctx, &system) && system.error_trace) poiseErrorShowTrace(true);
  TRY(poiseRegister_mat(ctx));
  TRY(poiseRegister_io(ctx));
  TRY(poiseRegister_pc(ctx));
  return poiseRegister_ksp(ctx);
}

PoiseErr poiseContextThreads(PoiseContext ctx, int *ranks)
{
  System system;
  TRY(ReadSystem(ctx, &system));
  *ranks = (int)system.ranks;
  return POISE_OK;
}

/* ---- workers --------------------------------------------------------------------------------- */

/* *n = the number of GPUs that -gpus says. */
static PoiseErr CountGpus(PoiseContext ctx, const char *words, int *n)
{
  const DeviceOps *ops = ctx->device->ops;
  const char *option = poiseOptionsName(ctx, NULL, "gpus");
  int there = 0;
  char *end;
  if (ops->count) TRY(ops->count(&there));
  long asked = strtol(words, &end, 10);
  bool all = !strcmp(words, "all");
  if (!all && (end == words || *end || asked < 1))
    FAIL(POISE_ERR_OPTION, "%s '%s': neither a number of GPUs nor all", option, words);
  if (!there)
    FAIL(POISE_ERR_OPTION, "%s %s: device %s has no GPUs (%s divides a solve over ranks of any device)",
         option, words, ops->name, poiseOptionsName(ctx, NULL, "solve_ranks"));
  if (asked > there)
    FAIL(POISE_ERR_OPTION, "%s %ld: there %s %d GPU%s of device %s here", option, asked,
         there == 1 ? "is" : "are", there, there == 1 ? "" : "s", ops->name);
  *n = all ? there : (int)asked;
  return POISE_OK;
}

static PoiseErr ReadWorkers(PoiseContext ctx)
{
  System system;
  TRY(ReadSystem(ctx, &system));
  ctx->most_workers = (int)system.solve_ranks;
  ctx->worker_gpus = *system.gpus;
  if (ctx->worker_gpus && ctx->most_workers > 1)
    FAIL(POISE_ERR_OPTION, "%s and %s: give one of them", poiseOptionsName(ctx, NULL, "gpus"),
         poiseOptionsName(ctx, NULL, "solve_ranks"));
  if (ctx->worker_gpus) TRY(CountGpus(ctx, system.gpus, &ctx->most_workers));
  if (ctx->most_workers == 1) return POISE_OK;
  if (ctx->parent)
    FAIL(POISE_ERR_UNSUPPORTED, "%s inside PoiseRun: a solve is divided in a context of one rank",
         poiseWorkersWord(ctx));
  if (ctx->comm->size > 1)
    FAIL(POISE_ERR_UNSUPPORTED, "%s (threads) inside %d MPI ranks", poiseWorkersWord(ctx), ctx->comm->size);
  if (ctx->stream)
    FAIL(POISE_ERR_UNSUPPORTED, "%s (threads) with PoiseInit.stream, which serves one rank",
         poiseWorkersWord(ctx));
  return POISE_OK;
}

/* Set how many workers a solve has. */
static PoiseErr CountWorkers(PoiseContext ctx)
{
  PoiseErr e = ReadWorkers(ctx);
  if (e) ctx->most_workers = 1;
  return e;
}

static bool LogsToFile(PoiseContext ctx)
{
  const char *log;
  return PoiseOptionsHas(ctx, NULL, "log_view", &log) && log && log[0] == ':' && log[1] != ':';
}

/* Their log comes before that of the calling thread. In a file it stands instead. */
static PoiseErr CloseWorkers(PoiseContext ctx)
{
  if (!ctx->workers) return POISE_OK;
  ctx->log_viewed = ctx->log_viewed || LogsToFile(ctx);
  return poiseWorkersClose(ctx);
}

PoiseErr poiseContextCheck(PoiseContext ctx)
{
  System system;
  if (ctx->options_checked) return POISE_OK;
  PoiseErr e = ReadSystem(ctx, &system);
  if (!e && !ctx->home && !ctx->workers) e = CountWorkers(ctx); /* the program may have set the options */
  if (!e) e = poiseOptionsCheck(ctx, system.left == LEFT_NO ? NULL : stderr);
  TRY(PoiseAgree(ctx, e));
  ctx->options_checked = true;
  return POISE_OK;
}

/* ---- life ------------------------------------------------------------------------------------ */

static void DestroySelf(PoiseContext ctx)
{
  if (!ctx->self) return;
  poiseObjectRemove(ctx->self);
  poiseReduceDestroy(ctx->self);
  poiseCommDestroy(&ctx->self->comm);
  poiseFree(ctx, &ctx->self);
}

/* Made with the context, not on first need, so that asking for it later cannot fail on some ranks only. */
static PoiseErr CreateSelf(PoiseContext ctx)
{
  if (ctx->comm->size == 1) return POISE_OK;
  TRY(poiseAlloc(ctx, sizeof *ctx->self, "context of one rank", &ctx->self));
  *ctx->self = (struct PoiseContext_s){
      .options = ctx->options, .log = ctx->log, .device = ctx->device, .out = ctx->out, .home = ctx};
  TRY(poiseObjectAdd(ctx->self, KIND_CONTEXT));
  TRY(poiseCommCreateSelf(ctx->self, &ctx->self->comm));
  return poiseReduceCreate(ctx->self);
}

static PoiseErr CreateLog(PoiseContext ctx, System *system)
{
  TRY(ReadSystem(ctx, system));
  return poiseLogCreate(ctx, &ctx->log);
}

static PoiseErr CreateDevice(PoiseContext ctx, const System *options, const DeviceOps *ops, int id,
                             int threads)
{
  System system = *options;
  ctx->load_progress = system.load_progress;
  ctx->bind = system.bind;
  ctx->log_device_time = system.device_time;
  TRY(poiseDeviceOpen(ctx, ops, id, &ctx->device));
  ctx->device->threads = system.host_threads ? (int)system.host_threads : threads;
  ctx->device->forbid_copies = system.forbid_copies;
  TRY(poiseReduceCreate(ctx));
  return CreateSelf(ctx);
}

/* Ranks replay alike: loops on all of their devices, or on none. */
static PoiseErr AgreeOnLoops(PoiseContext ctx)
{
  int64_t without = !ctx->device->loops;
  TRY(poiseCommMaxInt(ctx->comm, &without, 1));
  ctx->device->loops = !without;
  return POISE_OK;
}

PoiseErr poiseRankFill(PoiseContext ctx)
{
  System system = {0};
  const DeviceOps *ops = NULL;
  /* All ranks have the options of rank 0, so only rank 0 reports errors in them. */
  TRY(PoiseAgree(ctx, ctx->comm->rank ? POISE_OK : ReadSystem(ctx, &system)));
  TRY(PoiseAgree(ctx, CreateLog(ctx, &system)));
  ctx->comm->checks =
      system.comm_check == CHECK_YES || (system.comm_check == CHECK_AUTO && checks_collectives);
  int id = (int)system.device_id, threads;
  if (ctx->parent && ctx->parent->group) id = ctx->parent->device->id;
  if (ctx->parent && ctx->parent->worker_gpus) id = ctx->comm->rank;
  TRY(poiseDeviceFind(ctx, poiseOptionsChoice(table, "device", system.device), &ops));
  TRY(poiseDevicePlace(ctx, ops, &id));
  TRY(poiseHostThreads(ctx, ops, &threads));
  TRY(PoiseAgree(ctx, CreateDevice(ctx, &system, ops, id, threads)));
  TRY(AgreeOnLoops(ctx));
  TRY(poiseLinkOpen(ctx, (LinkWish)system.exchange));
  poiseLinkSetPatience(ctx, system.patience);
  poiseLinkSetFused(ctx, system.fuse);
  return poiseGroupPlan(ctx, (GatherWish)system.gather);
}

void poiseRankEmpty(PoiseContext ctx)
{
  poiseGroupClose(ctx, false);
  DestroySelf(ctx);
  poiseReduceDestroy(ctx);
  poiseLinkClose(ctx);
  if (ctx->device) poiseDeviceDestroy(&ctx->device);
  if (ctx->log) poiseLogDestroy(&ctx->log);
  poiseFileLinesClose(ctx);
}

static void Empty(PoiseContext ctx)
{
  (void)poiseWorkersClose(ctx);
  poiseRankEmpty(ctx);
  if (ctx->options) poiseOptionsDestroy(&ctx->options);
  poiseCommDestroy(&ctx->comm);
  poiseObjectRemove(ctx);
}

int PoiseVersion(void)
{
  return POISE_VERSION;
}

static PoiseErr AnswerQuestions(PoiseContext ctx)
{
  System system;
  const char *log;
  TRY(ReadSystem(ctx, &system));
  bool version = system.version && !poiseOptionsApplicationHas(ctx->options, "version");
  ctx->answered = system.help || version;
  PoiseErr e = POISE_OK;
  if (!ctx->answered && !ctx->comm->rank)
    e = poiseOptionsCheckListed(ctx, system.left == LEFT_NO ? NULL : stderr);
  TRY(PoiseAgree(ctx, e));
  if (version)
    TRY(poisePrint(ctx, "Poise %d.%d.%d\n", POISE_VERSION_MAJOR, POISE_VERSION_MINOR, POISE_VERSION_PATCH));
  TRY(poisePrinted(ctx, system.help ? PoiseOptionsHelp(ctx) : POISE_OK));
  if (!ctx->answered && PoiseOptionsHas(ctx, NULL, "log_view", &log))
    TRY(PoiseAgree(ctx, poiseLogCheckOption(ctx, log)));
  return system.view ? PoiseView(ctx) : POISE_OK;
}

PoiseErr poiseContextFill(PoiseContext ctx, int argc, char **argv, const PoiseInit *init)
{
  ctx->out = init && init->out ? init->out : stdout;
  ctx->hooks = (ContextHooks){.most_narrow = INT32_MAX, .staging = STAGING_BYTES, .clock = PoiseTime};
  ctx->stream = init ? init->stream : NULL;
  TRY(poiseObjectAdd(ctx, KIND_CONTEXT));
  PoiseErr e = CreateComm(ctx, init);
  if (!e) e = PoiseAgree(ctx, poiseOptionsCreate(ctx, init, argc, argv, &ctx->options));
  if (!e) e = PoiseAgree(ctx, Register(ctx));
  if (!e) e = poiseRankFill(ctx);
  if (!e) e = PoiseAgree(ctx, CountWorkers(ctx));
  if (!e) e = PoiseAgree(ctx, AnswerQuestions(ctx));
  if (e) Empty(ctx);
  return e;
}

/* End a program that was asked what it is. MPI is finalised only if the context has all of its processes, as
   others might never come to that. */
static void EndProgram(PoiseContext ctx)
{
  const CommOps *ops = ctx->comm->ops;
  const int size = ctx->comm->size;
  Empty(ctx);
  free(ctx);
  if (ops->end_program) ops->end_program(size);
  exit(EXIT_SUCCESS);
}

PoiseErr PoiseInitialize(int *argc, char ***argv, const PoiseInit *init, PoiseContext *ctx)
{
  if (!ctx) FAIL(POISE_ERR_ARG, "the context's address is NULL");
  *ctx = NULL;
  TRY(poiseForkCheck(__func__));
  poiseForkWatch();
  PoiseContext c = calloc(1, sizeof *c); /* not counted, as it holds the counts */
  if (!c) FAIL(POISE_ERR_MEMORY, "no memory for a context");
  PoiseErr e = poiseContextFill(c, argc && argv ? *argc : 0, argc && argv ? *argv : NULL, init);
  if (e)
    free(c);
  else
    *ctx = c;
  TRY(e);
  if (c->answered && argc && argv && !(init && init->keep_running)) EndProgram(c);
  return POISE_OK;
}

PoiseErr poiseRankNoObjects(PoiseContext ctx, const char *when)
{
  int64_t objects = ctx->objects + (ctx->self ? ctx->self->objects : 0);
  if (objects)
    FAIL(POISE_ERR_STATE, "%lld objects of the context are not destroyed %s", (long long)objects, when);
  return POISE_OK;
}

PoiseErr poiseRankNoMemory(int64_t live)
{
  if (live)
    FAIL(POISE_ERR_INTERNAL, "%lld blocks of memory were not released with their context", (long long)live);
  return POISE_OK;
}

/* That of the leaders of groups comes first. In a file it stands instead. */
PoiseErr poiseRankViewLog(PoiseContext ctx)
{
  const char *value;
  bool worked = ctx->group && poiseGroupWorked(ctx->group);
  PoiseContext leader = worked ? poiseGroupLeader(ctx->group) : NULL;
  PoiseErr e = leader ? poiseRankViewLog(leader) : POISE_OK;
  if (worked) {
    TRY(PoiseAgree(ctx, e));
    if (LogsToFile(ctx)) return POISE_OK;
  }
  return PoiseOptionsHas(ctx, NULL, "log_view", &value) ? poiseLogViewOption(ctx, value) : POISE_OK;
}

static PoiseErr CheckLeft(PoiseContext ctx)
{
  System system;
  TRY(ReadSystem(ctx, &system));
  int count = system.left == LEFT_NO ? 0 : poiseOptionsLeft(ctx, stderr);
  if (count && system.left == LEFT_ERROR)
    FAIL(POISE_ERR_OPTION, "%d option%s not used (%s error)", count, count == 1 ? " was" : "s were",
         poiseOptionsName(ctx, NULL, "options_left"));
  return POISE_OK;
}

static PoiseErr Report(PoiseContext ctx)
{
  if (ctx->answered) return POISE_OK;
  if (!ctx->log_viewed) TRY(poiseRankViewLog(ctx));
  return PoiseAgree(ctx, CheckLeft(ctx));
}

static PoiseErr Release(PoiseContext *ctx)
{
  PoiseContext c = *ctx;
  Empty(c);
  int64_t live = c->memory.live;
  free(c);
  *ctx = NULL;
  return poiseRankNoMemory(live);
}

/* Release the context without the other ranks. */
static PoiseErr FinalizeAlone(PoiseContext *ctx)
{
  TRY(poiseRankNoObjects(*ctx, "at PoiseFinalize"));
  TRY(Release(ctx));
  FAIL(POISE_ERR_STATE,
       "MPI was finalised before PoiseFinalize: the context is released, but nothing was printed");
}

PoiseErr PoiseFinalize(PoiseContext *ctx)
{
  DESTROYS(ctx);
  PoiseContext c = *ctx;
  if (c->parent) FAIL(POISE_ERR_STATE, "PoiseRun finalises the contexts that it makes");
  if (c->home) FAIL(POISE_ERR_STATE, "this context of one rank is released with the context that owns it");
  if (c->comm->ops->has_ended && c->comm->ops->has_ended()) return FinalizeAlone(ctx);
  TRY(PoiseAgree(c, poiseRankNoObjects(c, "at PoiseFinalize")));
  PoiseErr closed = CloseWorkers(c), e = Report(c);
  poiseGroupClose(c, true);
  PoiseErr released = Release(ctx);
  return closed ? closed : e ? e : released;
}

/* ---- for applications ------------------------------------------------------------------------ */

int PoiseAnswered(PoiseContext ctx)
{
  CALLED_OR(0, OBJECT(ctx));
  return ctx->answered;
}

void *PoiseStream(PoiseContext ctx)
{
  CALLED_OR(NULL, OBJECT(ctx));
  return ctx->device->stream;
}

int PoiseThreads(PoiseContext ctx)
{
  CALLED_OR(1, OBJECT(ctx));
  return ctx->device->threads;
}

/* " 0, NVIDIA H200"; with several ranks those of all, as far as they fit. */
static PoiseErr DescribeDevice(PoiseContext ctx, char *text, size_t size)
{
  const Device *dev = ctx->device;
  Comm *comm = ctx->comm;
  char name[128] = "", *all = NULL;
  text[0] = 0;
  if (!dev->ops->count) return POISE_OK;
  if (dev->ops->describe) dev->ops->describe(dev->id, name, sizeof name);
  size_t n = (size_t)snprintf(text, size, " %d%s%s", dev->id, *name ? ", " : "", name);
  if (comm->size == 1) return POISE_OK;
  PoiseErr e = PoiseAgree(ctx, poiseAlloc(ctx, (size_t)comm->size, "GPUs of ranks", &all));
  if (!e) e = comm->ops->allgather(comm, &(char){(char)dev->id}, 1, all);
  if (!e) n += (size_t)snprintf(text + n, size - n, "; by rank:");
  for (int r = 0; !e && r < comm->size && n + 8 < size; r++)
    n += (size_t)snprintf(text + n, size - n, " %d", all[r]);
  poiseFree(ctx, &all);
  return e;
}

/* Where there are several. */
static PoiseErr ViewNodes(PoiseContext ctx)
{
  Comm *comm = ctx->comm;
  uint64_t *all = NULL;
  char text[512] = "";
  size_t n = 0;
  int count;
  uint64_t mine = poiseNodesHere(ctx->hooks.nodes, &count);
  PoiseErr e = poiseAllocArray(ctx, comm->size, sizeof *all, "NUMA nodes of ranks", &all);
  e = poiseAgreeGather(ctx, e, &mine, sizeof mine, all);
  for (int r = 0; !e && r < comm->size && n + 8 < sizeof text; r++) {
    bool one = all[r] && !(all[r] & (all[r] - 1));
    n += (size_t)(one ? snprintf(text + n, sizeof text - n, " %d", __builtin_ctzll(all[r]))
                      : snprintf(text + n, sizeof text - n, " any"));
  }
  poiseFree(ctx, &all);
  TRY(e);
  return count > 1 ? poisePrint(ctx, "  NUMA nodes: %d; by rank:%s\n", count, text) : POISE_OK;
}

PoiseErr PoiseView(PoiseContext ctx)
{
  CALLED(OBJECT(ctx));
  System system;
  char device[512];
  TRY(PoiseAgree(ctx, ReadSystem(ctx, &system)));
  TRY(PoiseAgree(ctx, DescribeDevice(ctx, device, sizeof device)));
  TRY(poisePrint(ctx,
                 "Poise %d.%d.%d\n"
                 "  build: " MPI_WORD ", " OPENMP_WORD ", " METIS_WORD ", " SUPERLU_WORD ", " AMD_WORD
                 ", " CUDA_WORD ", compiler " __VERSION__ "\n"
                 "  device: %s%s\n"
                 "  ranks: %d (%s)\n"
                 "  exchange between devices: %s\n"
                 "  host threads per rank: %d\n",
                 POISE_VERSION_MAJOR, POISE_VERSION_MINOR, POISE_VERSION_PATCH, ctx->device->ops->name,
                 device, ctx->comm->size, ctx->comm->ops->name, poiseLinkWords(ctx), ctx->device->threads));
  TRY(ViewNodes(ctx));
  if (!ctx->parent && system.ranks > 1)
    TRY(poisePrint(ctx, "  thread ranks of PoiseRun: %d\n", (int)system.ranks));
  if (*ctx->gathering)
    TRY(poisePrint(ctx, "  solves by ranks that share a GPU: %s%s (%s)\n",
                   ctx->group ? "gathered, " : "by each, ", ctx->gathering,
                   poiseOptionsName(ctx, NULL, "comm_gather")));
  if (ctx->most_workers > 1)
    TRY(poisePrint(ctx, "  workers of solves: %d (%s)\n", ctx->most_workers, poiseWorkersWord(ctx)));
  return poisePrinted(ctx, POISE_OK);
}
