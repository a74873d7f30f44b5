/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The system layer, for the rest of the library. Internal functions are named poiseVerb, so that a static
  library also has no unprefixed names.
*/
#ifndef POISE_SYS_IMPL_H
#define POISE_SYS_IMPL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "device_model.h"
#include "kernels.h"
#include "objects.h"
#include "poise/sys.h"

#define TRY  POISE_TRY
#define FAIL POISE_FAIL

/* ---- errors (error.c): a thread's, which may be handed to the thread that waits for it ------- */

enum { POISE_ERROR_MESSAGE = 1024, POISE_ERROR_TRACE = 6144, POISE_ERROR_DROPPED = 64 };

typedef struct ErrorState {
  PoiseErr code;
  char message[POISE_ERROR_MESSAGE];
  /* the last bytes are reserved for the count of dropped frames */
  char text[POISE_ERROR_TRACE + POISE_ERROR_DROPPED];
  size_t used; /* of text */
  int frames, dropped;
} ErrorState;

void poiseErrorSave(ErrorState *state);
void poiseErrorRestore(const ErrorState *state);
/* The error of a user's function ("a monitor"), called after PoiseErrorClear. If the function has set this
   error, add the function to the trace. Otherwise return POISE_ERR_USER naming the function; it may have
   set and handled another error. */
PoiseErr poiseErrorOfUser(PoiseErr e, const char *function);

/* ---- memory (memory.c): counted, and made to fail by tests ----------------------------------- */

typedef struct Memory {
  int64_t live, calls; /* blocks now allocated; allocations ever made, on host and devices */
  int64_t bytes;       /* bytes of the live blocks on the host */
  int64_t fail_at;     /* > 0: after that many allocations one fails; 0: never */
} Memory;

/* *p = bytes of zeroed memory aligned to 64; NULL and success for 0 bytes. POISE_ERR_MEMORY names bytes and
   purpose. */
PoiseErr poiseAlloc(PoiseContext ctx, size_t bytes, const char *what, void *p);
/* n items of size, the product checked. */
PoiseErr poiseAllocArray(PoiseContext ctx, int64_t n, size_t size, const char *what, void *p);
/* *p grows to bytes. The first `used` bytes are kept, the rest is undefined. */
PoiseErr poiseRealloc(PoiseContext ctx, size_t bytes, size_t used, const char *what, void *p);
/* *p grows or shrinks to bytes, and keeps its content. Added bytes are undefined. Large blocks keep their
   pages, so there are never two copies. */
PoiseErr poiseResize(PoiseContext ctx, size_t bytes, const char *what, void *p);
PoiseErr poiseStringCopy(PoiseContext ctx, const char *s, char **copy); /* NULL gives NULL */
/* p: address of the pointer, which is nulled */
void poiseFree(PoiseContext ctx, void *p);
/* bytes that were asked for; 0 for NULL */
int64_t poiseAllocated(const void *block);
void poiseHostMemory(int64_t *left, int64_t *total);
/* Count one allocation made elsewhere (a device's); the test hook may refuse it. */
PoiseErr poiseAllocCount(PoiseContext ctx, size_t bytes, const char *what);
void poiseFreeCount(PoiseContext ctx);
/* The n-th allocation from now fails (once); 0: none. For tests. */
void poiseAllocFailAt(PoiseContext ctx, int64_t n);

/* ---- communicators (comm.c, comm_self.c, comm_threads.c, comm_mpi.c) ------------------------- */

typedef struct Comm Comm;

/* The purpose of a collective. Ranks that meet with different purposes are in different calls. */
typedef enum CommPurpose {
  COMM_GATHER,
  COMM_SUM,
  COMM_MAX,
  COMM_MAX_INT,
  COMM_SCAN,
  COMM_AGREE,
  COMM_SHARE, /* one rank's data */
  COMM_TRADE, /* all to all */
  COMM_END,   /* end of PoiseRun's body */
  COMM_PURPOSES
} CommPurpose;

/* a neighbour exchange: segments of doubles, fixed at set-up. Ranks ascending, never self */
typedef struct Exchange {
  int nsend, nrecv;
  int *send_rank, *recv_rank;
  int64_t *send_start, *recv_start; /* nsend + 1 and nrecv + 1 offsets into the buffers */
  double *send, *recv;              /* host buffers, owned by whoever owns the exchange */
  void *priv;                       /* the communicator's */
} Exchange;

typedef struct CommOps {
  const char *name;
  /* out = every rank's `bytes` bytes in rank order; sums and agreements use it */
  PoiseErr (*allgather)(Comm *, const void *in, size_t bytes, void *out);
  PoiseErr (*bcast)(Comm *, void *data, size_t bytes, int root);
  /* counts are bytes per rank; send and recv are packed in rank order. Any count may be 0, or exceed 2^31 */
  PoiseErr (*alltoallv)(Comm *, const void *send, const int64_t *send_bytes, void *recv,
                        const int64_t *recv_bytes);
  PoiseErr (*exchange_setup)(Comm *, Exchange *); /* fills priv; collective */
  void (*exchange_free)(Comm *, Exchange *);
  /* send[] is full; returns without waiting for others if it can */
  PoiseErr (*exchange_begin)(Comm *, Exchange *);
  PoiseErr (*exchange_end)(Comm *, Exchange *); /* recv[] is full, send[] may be written again */
  bool (*has_ended)(void);                      /* has the application ended the communication of ranks
                                                     (MPI_Finalize)? NULL: it cannot */
  void (*destroy)(Comm *);
} CommOps;

struct Comm {
  const CommOps *ops;
  PoiseContext ctx;
  int rank, size;
  void *data;
  CommPurpose purpose;             /* purpose of gathers; comm.c sets it for its own */
  bool checks;                     /* check that all ranks meet in the same collective (threads always do) */
  int64_t messages, message_bytes; /* sent so far, for the log */
  double *scratch;                 /* size * POISE_COMM_WIDTH doubles, so that sums allocate nothing */
};
enum { POISE_COMM_WIDTH = 64 };

PoiseErr poiseCommCreateSelf(PoiseContext ctx, Comm **comm);
#ifdef POISE_HAVE_MPI
PoiseErr poiseCommCreateMPI(PoiseContext ctx, const void *mpi_comm, Comm **comm);
#endif
void poiseCommDestroy(Comm **comm);
/* An empty communicator of these sizes, for the files that implement one. */
PoiseErr poiseCommAlloc(PoiseContext ctx, const CommOps *ops, int rank, int size, Comm **comm);

/* Ranks that are threads of one process. The starter makes the team, with all that it needs, in its own
   ctx. */
typedef struct Team Team;
PoiseErr poiseTeamCreate(PoiseContext ctx, int size, Team **team);
void poiseTeamDestroy(Team **team);                               /* after all threads have ended */
Comm *poiseTeamComm(Team *team, int rank, PoiseContext rank_ctx); /* lent to one rank's context */
/* This rank leaves with an error. Ranks that wait for it, then or later, get POISE_ERR_REMOTE instead of
   hanging. */
void poiseTeamAbort(Team *team, int rank);

/* The collective that a rank is in when it meets others. */
typedef struct CommMeeting {
  int64_t purpose, bytes, root;
  const char *call; /* the public function, or NULL */
} CommMeeting;
CommMeeting poiseCommMeeting(Comm *comm, CommPurpose purpose, size_t bytes, int root);
/* POISE_ERR_COMM, with both calls, if ranks are in different collectives. */
PoiseErr poiseCommSame(const CommMeeting *mine, int rank, const CommMeeting *other, int other_rank);
/* This rank has left PoiseRun's body. Collective. */
PoiseErr poiseCommEnd(Comm *comm);

/* v[0..n) = sums over ranks in rank order, with the same bits everywhere. Any n; never allocates. */
PoiseErr poiseCommSum(Comm *comm, double *v, int n);
PoiseErr poiseCommMax(Comm *comm, double *v, int n);
PoiseErr poiseCommMaxInt(Comm *comm, int64_t *v, int n);
/* *before = sum of v over lower ranks, *total = over all. */
PoiseErr poiseCommScan(Comm *comm, int64_t v, int64_t *before, int64_t *total);

/* ---- devices (device.c, device_host.c, device_mock.c) ---------------------------------------- */

typedef struct Device Device;
typedef struct Graph Graph;
enum { POISE_BUS = 32 };
typedef PoiseErr (*KernelFn)(Device *, const void *args);
typedef enum { COPY_TO_DEVICE, COPY_TO_HOST, COPY_ON_DEVICE } CopyKind;

typedef struct LibraryPlan { /* a library's preparation for one matrix; zero-initialise it */
  void *device;              /* data of the device; NULL: no plan */
  int64_t bytes;             /* bytes of device memory that it holds */
} LibraryPlan;

typedef struct DeviceOps {
  const char *name;
  bool is_host;           /* device memory is host memory: a Buffer keeps one copy */
  const KernelFn *kernel; /* by KERNEL_...; NULL entries are missing */
  /* What layers above ask of a device beside kernels, and declare; NULL: it has nothing of the kind */
  const struct MatDevice *mat; /* mat/mat_device.h */
  const struct PCDevice *pc;   /* pc/pc_device.h */
  PoiseErr (*create)(Device *);
  void (*destroy)(Device *);
  PoiseErr (*alloc)(Device *, size_t bytes, const char *what, void **p); /* not zeroed */
  /* work enqueued before may still use it */
  void (*free)(Device *, void *p);
  void (*free_adopted)(Device *, void *p); /* free an array of the application's; NULL: with free() */
  PoiseErr (*alloc_pinned)(Device *, size_t bytes, const char *what, void **p); /* seen by host and device */
  void (*free_pinned)(Device *, void *p);
  PoiseErr (*copy)(Device *, void *dst, const void *src, size_t bytes, CopyKind); /* enqueued */
  PoiseErr (*launch)(Device *, int kernel, const void *args, size_t bytes);       /* enqueued */
  /* wait for all enqueued work */
  PoiseErr (*sync)(Device *);
  PoiseErr (*poison)(Device *, void *p, size_t bytes); /* enqueue: fill with NaN; NULL: nothing is checked */
  /* events and graphs; NULL where work runs at once */
  PoiseErr (*record)(Device *, int64_t *event);
  PoiseErr (*wait)(Device *, int64_t event);
  /* done: NULL, or of the loop of a solver, which changes no matrix. A device with `loops` repeats what is
     captured, as long as *done, on the device, is 0 */
  PoiseErr (*capture_begin)(Device *, const double *done);
  /* in such a loop: what follows is left out of a turn in which *done is set by then */
  PoiseErr (*capture_step)(Device *);
  /* *graph is NULL on failure; the capture ends either way */
  PoiseErr (*capture_end)(Device *, Graph **graph);
  PoiseErr (*replay)(Device *, Graph *graph, int turns); /* turns: at most so many, of a loop */
  void (*graph_free)(Device *, Graph **graph);
  /* are these bytes memory of the device? NULL: all memory is */
  bool (*owns)(Device *, const void *p, size_t bytes);
  /* can the host not read there? NULL: it can read all */
  bool (*hides)(Device *, const void *p);
  PoiseErr (*memory)(Device *, int64_t *left, int64_t *total); /* NULL: it is the host's */
  void (*range)(const char *name); /* tells a profiler that an event begins; name = NULL: the innermost one
                                      ends. May be NULL */
  /* For GPUs; else NULL. They are called before a device is made, and create no context. */
  bool automatic;                                    /* taken if no device is asked for and there is one */
  PoiseErr (*count)(int *count);                     /* POISE_ERR_DEVICE if there is none, saying why */
  PoiseErr (*bus)(int id, char text[POISE_BUS]);     /* "0000:17:00.0"; NULL: not known */
  void (*describe)(int id, char *text, size_t size); /* "NVIDIA H200"; may be NULL */
} DeviceOps;

struct Device { /* one stream of work, of one rank */
  const DeviceOps *ops;
  PoiseContext ctx;
  DeviceModel model; /* a host's, unless the device's create says otherwise */
  int id;            /* which GPU */
  void *stream;      /* for PoiseStream; may be NULL */
  int threads;       /* of host kernels */
  void *data;
  bool loops;                  /* its graphs may be loops */
  PoiseErr failed;             /* first failure of queued work, reported by the next sync */
  bool busy;                   /* something was enqueued since the last sync */
  bool forbid_copies, forbids; /* the option is given; inside a solve: copies and waits are errors */
  int64_t bytes, limit;        /* bytes held by buffers; more than limit is refused (0: as much as there
                                  is) */
  int64_t launches, copies, waits;
  int64_t copied[COPY_ON_DEVICE]; /* bytes, by CopyKind */
};

/* Host loops: the device's threads divide the blocks. A few blocks do not justify waking threads. */
#define HOST_PRAGMA(x) _Pragma(#x)
#ifdef POISE_HAVE_OPENMP
#define HOST_SHARED_OUT(dev, nblock) ((dev)->threads > 1 && (nblock) > HOST_FEW_BLOCKS)
#define HOST_PARALLEL_FOR(dev, nblock)                                      \
  HOST_PRAGMA(omp parallel for schedule(static) num_threads((dev)->threads) \
                  if (HOST_SHARED_OUT(dev, nblock)))
/* For a few items of uneven work. */
#define HOST_PARALLEL_ITEMS(threads, worth) \
  HOST_PRAGMA(omp parallel for schedule(dynamic, 1) num_threads(threads) if (worth))
#define HOST_CRITICAL HOST_PRAGMA(omp critical)
#define HOST_ATOMIC   HOST_PRAGMA(omp atomic)
#else
#define HOST_CRITICAL
#define HOST_ATOMIC
#define HOST_PARALLEL_FOR(dev, nblock)      (void)(dev), (void)(nblock);
#define HOST_PARALLEL_ITEMS(threads, worth) (void)(threads), (void)(worth);
#endif

/* The device of this name. For "auto" the GPU if all ranks see one, else the host. Collective; agrees. */
PoiseErr poiseDeviceFind(PoiseContext ctx, const char *name, const DeviceOps **ops);
/* *id: the GPU that is asked for. -1 becomes the one for this rank (place.c). Collective; agrees. */
PoiseErr poiseDevicePlace(PoiseContext ctx, const DeviceOps *ops, int *id);
PoiseErr poiseDeviceOpen(PoiseContext ctx, const DeviceOps *ops, int id, Device **dev);
/* device number 0; for tests. Collective */
PoiseErr poiseDeviceCreate(PoiseContext ctx, const char *name, Device **dev);
void poiseDeviceDestroy(Device **dev);
PoiseErr poiseDeviceAlloc(Device *dev, size_t bytes, const char *what, void **p);
void poiseDeviceFree(Device *dev, size_t bytes, void **p);
/* Free an adopted array that is not counted. */
void poiseDeviceFreeAdopted(Device *dev, void *p);
/* POISE_ERR_ARG unless a user's argument points to so many bytes of the device. */
PoiseErr poiseDeviceCheckPointer(Device *dev, const void *p, size_t bytes, const char *argument);
/* POISE_ERR_ARG if a user's argument, which may be NULL, points to where the host cannot read. */
PoiseErr poiseDeviceCheckHost(Device *dev, const void *p, const char *argument);
/* Launch a kernel, with the address of its arguments, whose type the compiler checks:
     LAUNCH(dev, gather, &a) or LAUNCH(dev, gather, &(GatherArgs){.n = n, ...}) */
#define LAUNCH(dev, name, ...) poiseLaunch_##name(dev, __VA_ARGS__, sizeof *(__VA_ARGS__))
/* The same for a kernel that is chosen at run time. Nothing checks that the arguments are its own. */
PoiseErr poiseLaunch(Device *dev, int kernel, const void *args, size_t bytes);
PoiseErr poiseDeviceSync(Device *dev);
PoiseErr poiseDeviceWait(Device *dev, int64_t event);
/* Set whether copies between host and device, and waits, are errors, if -device_forbid_copies is given.
   Returns the old setting. */
bool poiseDeviceForbid(Device *dev, bool on);
/* *library = 0 for "own", else k with `name` = libraries[k - 1]. libraries is the device's list for that
   purpose; NULL: none. POISE_ERR_UNSUPPORTED names all. */
PoiseErr poiseDeviceLibrary(const Device *dev, const char *const *libraries, const char *name,
                            const char *purpose, int *library);
/* enqueued, counted */
PoiseErr poiseDeviceCopy(Device *dev, void *dst, const void *src, size_t bytes, CopyKind kind);
/* Scratch for eager reductions. It is made with the device, and grown for longer vectors. */
PoiseErr poiseReduceCreate(PoiseContext ctx);
PoiseErr poiseReduceReserve(PoiseContext ctx, int64_t partials);
void poiseReduceDestroy(PoiseContext ctx);
const char *poiseKernelName(int kernel);

/* The argument structs are of the layers above: here they are names, and their sizes come with the launch. */
#define KERNEL(name, Args)                                                               \
  typedef struct Args Args;                                                              \
  PoiseErr poiseHost_##name(Device *, const void *args);                                 \
  static inline PoiseErr poiseLaunch_##name(Device *dev, const Args *args, size_t bytes) \
  {                                                                                      \
    return poiseLaunch(dev, KERNEL_##name, args, bytes);                                 \
  }
#include "kernels.def"
#undef KERNEL

typedef struct GpuPlace {
  uint64_t machine, near; /* near: a bit for each GPU */
} GpuPlace;

/* the GPU of this rank, from the places of all ranks */
int poisePickGpu(int rank, const GpuPlace *all, int count);
/* may this process run on one of these cores, "0-31,64-95"? */
bool poiseMayRunOn(const char *list);

/* ---- buffers (buffer.c): the only file that knows which copy of an array is valid ------------ */

typedef enum { HOST, DEVICE } Side;

typedef struct Buffer {
  Device *dev;
  const char *what; /* static text, for messages */
  size_t bytes;
  void *host, *device; /* equal on a host device; device is allocated on first need */
  bool host_valid, device_valid;
  PoiseOwn own, own_device; /* owners of host and device; POISE_COPY means the library's own block */
  bool slice;               /* device is a part of another buffer's */
} Buffer;

/* A buffer of zeroed bytes. Both sides are valid if there is one copy, else the host side is. */
PoiseErr poiseBufferCreate(Device *dev, size_t bytes, const char *what, Buffer *b);
/* Over the user's host array. */
PoiseErr poiseBufferWrap(Device *dev, size_t bytes, const char *what, void *array, PoiseOwn own, Buffer *b);
/* A buffer over the user's array, which is in the memory of the device (poiseDeviceCheckPointer). */
PoiseErr poiseBufferWrapDevice(Device *dev, size_t bytes, const char *what, void *array, PoiseOwn own,
                               Buffer *b);
/* Return an adopted array to the user, after a call that was to adopt it has failed. */
void poiseBufferDisown(Buffer *b);
/* A view of device memory that another object holds. A host copy is made when asked for. Point the view at
   current memory before any other use. What was written on the host is in that memory after a
   poiseBufferRead of DEVICE. */
void poiseBufferSlice(Device *dev, size_t bytes, const char *what, Buffer *b);
void poiseBufferPoint(Buffer *b, void *device);
void poiseBufferDestroy(Buffer *b);
PoiseErr poiseBufferRead(Buffer *b, Side side, void *p);  /* p: address of a pointer to (const) elements */
PoiseErr poiseBufferWrite(Buffer *b, Side side, void *p); /* old content not needed */
PoiseErr poiseBufferUpdate(Buffer *b, Side side, void *p);
/* A new buffer of the library's own memory with the content of b, on the side where b is valid: nothing
   travels. */
PoiseErr poiseBufferDuplicate(const Buffer *b, Buffer *copy);
/* Set all bytes to 0. Nothing travels: each side becomes 0 when it is next asked for. */
void poiseBufferZero(Buffer *b);
/* Bring the content to the device, and release the host's copy if it is the library's own. */
PoiseErr poiseBufferToDevice(Buffer *b);
/* Release the device's side if the host's holds the same. */
void poiseBufferLeave(Buffer *b);
/* Make a borrowed array current on its side. Does nothing for other buffers. */
PoiseErr poiseBufferSyncBorrowed(Buffer *b);
bool poiseBufferIsCurrent(const Buffer *b, Side side); /* true if reading it there copies nothing */
int64_t poiseBufferBytes(const Buffer *b, Side side);  /* held on that side */
void poiseBufferAdd(const Buffer *b, PoiseBytes *sum); /* sum += bytes that it holds */

/* ---- predictions (predict.c): p += what will be held ----------------------------------------- */

typedef enum { ON_DEVICE, ON_BOTH } Used; /* the same on a host device */

/* Add a buffer of `least` to `most` bytes, which is used on these sides. */
void poisePredictBetween(const Device *dev, int64_t least, int64_t most, Used sides, PoisePrediction *p);
void poisePredict(const Device *dev, int64_t bytes, Used sides, PoisePrediction *p);
void poisePredictHost(int64_t bytes, PoisePrediction *p); /* by a block that is no buffer */
void poisePredictSum(const PoisePrediction *part, PoisePrediction *p);
void poisePredictEither(const PoisePrediction *one, PoisePrediction *p); /* p = bounds of either `one` or p */

/* ---- files (file.c) -------------------------------------------------------------------------- */

typedef struct OutFile { /* zero-initialise it */
  FILE *stream;          /* to write to */
  char *path, *temp;     /* temp is NULL if path is a device or a pipe, which is written directly */
} OutFile;

/* A file that appears under its path whole or not at all, as it is written under another name beside it.
   POISE_ERR_FILE names the path and the system's reason. f is empty after a failure, also of Commit. Not
   collective. */
PoiseErr poiseFileBegin(PoiseContext ctx, const char *path, OutFile *f);
/* the old file stays if the new one could not be written completely */
PoiseErr poiseFileCommit(PoiseContext ctx, OutFile *f);
void poiseFileAbort(PoiseContext ctx, OutFile *f); /* nothing has happened; an empty f is legal */
/* Check by trying whether the file could be written. Devices and pipes are not tried, as their readers
   would see an end. Not collective. */
PoiseErr poiseFileCheck(PoiseContext ctx, const char *path);
/* A file that takes lines as they come. It is closed with the context; the same path gives the same file.
   *fresh: it was made by this call. *stream is NULL on ranks other than 0. Not collective. */
PoiseErr poiseFileLines(PoiseContext ctx, const char *path, FILE **stream, bool *fresh);
void poiseFileLinesClose(PoiseContext ctx);
/* Lock a file that is read and rewritten. Waits at most two seconds for other programs, as far as the file
   system can. Not collective. */
int poiseFileLock(PoiseContext ctx, const char *path);
void poiseFileUnlock(int lock);

/* ---- progress (progress.c) ------------------------------------------------------------------- */

typedef struct Progress {
  const char *what; /* borrowed */
  bool on;
  double begun, shown; /* times of begin and of the latest line; shown = 0: no line yet */
} Progress;

/* Show a line "what: 120 of 1800 MB, 240 MB/s" on rank 0's standard error, if that is a terminal and the
   task takes long. Option -load_progress. Each step rewrites it, the end erases it. Not collective. */
void poiseProgressBegin(PoiseContext ctx, const char *what, Progress *p);
void poiseProgressStep(Progress *p, int64_t done, int64_t total); /* bytes; total = 0: unknown */
void poiseProgressEnd(Progress *p);

typedef struct NumberLocale {
  void *old, *plain;
} NumberLocale;

/* Between the two calls this thread reads and writes numbers with a decimal point, whatever the
   application's locale. */
NumberLocale poiseScalarsBegin(void);
void poiseScalarsEnd(NumberLocale numbers);

/* ---- options (options.c) --------------------------------------------------------------------- */

typedef struct Options Options;

PoiseErr poiseOptionsCreate(PoiseContext ctx, const PoiseInit *init, int argc, char **argv,
                            Options **options);
void poiseOptionsDestroy(Options **options);
/* Register a table, which -help lists and with which unknown keys are compared. `heading` is e.g. "KSP:
   gmres". Static storage. */
PoiseErr poiseOptionsRegister(PoiseContext ctx, const char *heading, const PoiseOption *table);
/* The word of a CHOICE value ("preconditioned"). */
const char *poiseOptionsChoice(const PoiseOption *table, const char *key, int value);
/* Write the reference of all registered options as Markdown. Rank 0 writes. */
PoiseErr poiseOptionsMarkdown(PoiseContext ctx, FILE *out);
/* Drop the options that a thread rank has set from code, when it ends. */
void poiseOptionsLeave(PoiseContext ctx);
bool poiseOptionsApplicationHas(PoiseContext ctx, const char *key); /* is it in the application's table? */
/* prefix of every option of the context; "": none */
const char *poiseOptionsPrefix(PoiseContext ctx);
/* Return e, the error of a call caused by the value of an option. POISE_ERR_OPTION and
   POISE_ERR_UNSUPPORTED then also name the option and its source. */
PoiseErr poiseOptionsRefuse(PoiseContext ctx, const char *prefix, const char *key, PoiseErr e);
/* POISE_ERR_OPTION if an unknown key is clearly a misspelt one of the library's. Rank 0 names other
   unknown ones to out, which may be NULL. */
PoiseErr poiseOptionsCheck(PoiseContext ctx, FILE *out);
/* The number of options that nobody has asked for. Rank 0 names those that it has not warned of to out,
   which may be NULL. */
int poiseOptionsLeft(PoiseContext ctx, FILE *out);
/* "-ksp_type" with the prefixes of context and object (may be NULL), for messages. A message may use up to
   4. */
const char *poiseOptionsName(PoiseContext ctx, const char *prefix, const char *key);
bool poiseOptionsYesNo(const char *text, int *value); /* parse as a BOOL; false: neither yes nor no */
/* For "did you mean": the closest of `count` words to s, or NULL if none is near. */
const char *poiseClosest(const char *s, int count, const char *const *words);
/* POISE_ERR_OPTION: "there is no <what> '<word>'", with the words that exist, and the closest one if it is
   near. */
PoiseErr poiseUnknownWord(const char *what, const char *word, int count, const char *const *words);

/* ---- log (log.c) ----------------------------------------------------------------------------- */

typedef struct Log Log;

enum {
#define EVENT(name) EVENT_##name,
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

/* ---- context (context.c) --------------------------------------------------------------------- */

struct PoiseContext_s {
  Memory memory;
  Comm *comm;
  Options *options; /* shared by the ranks of PoiseRun (locked inside) */
  Log *log;
  Device *device;
  FILE *out;
  struct Lines *lines;           /* files of poiseFileLines */
  void *stream;                  /* PoiseInit.stream */
  int64_t objects;               /* Vec, Mat, PC, KSP that live */
  const char *call;              /* the latest public function that this rank was in */
  int64_t most_narrow;           /* offsets up to this are int32, larger ones int64. INT32_MAX, or less in
                                    tests */
  double (*clock)(void);         /* clock of the measurements by type auto: PoiseTime, or a test's */
  struct PoiseContext_s *parent; /* context that started a thread rank; else NULL */
  bool load_progress;            /* option */
  bool answered;                 /* -help or -version: see PoiseAnswered */
  bool options_checked;          /* all options are known (poiseContextCheck) */
  struct PoiseContext_s *self;   /* context of this rank alone, see poiseContextSelf; NULL: the context
                                    itself */
  struct PoiseContext_s *home;   /* the context that this one is the `self` of; else NULL */
  bool log_device_time;          /* option */
  struct Winners *winners;       /* of measurements by type auto of Mat (winners.c) */
  bool log_viewed;               /* PoiseRun has written the log of its ranks, so PoiseFinalize does not */
  /* scratch of eager reductions on this device: partials, slots, and a host-visible copy (device.c) */
  Buffer reduce_partial, reduce_slots;
  double *reduce_pinned;
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
/* ctx->winners, with the context, so that nothing fails later (mat/plan/winners.c) */
PoiseErr poiseWinnersCreate(PoiseContext ctx);

#endif
