/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The system layer as the rest of the library sees it. Internal functions are named poiseVerb, so that nothing unprefixed
  stands in a static library either.
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

/* ---- errors (error.c): a thread's, which may be handed to the thread that waits for it ------------------------------ */

enum { POISE_ERROR_MESSAGE = 1024, POISE_ERROR_TRACE = 6144, POISE_ERROR_DROPPED = 64 };

typedef struct ErrorState {
  PoiseErr code;
  char message[POISE_ERROR_MESSAGE];
  char text[POISE_ERROR_TRACE + POISE_ERROR_DROPPED]; /* the last bytes are kept for the count of dropped frames */
  size_t used;                                        /* of text */
  int frames, dropped;
} ErrorState;

void poiseErrorSave(ErrorState *state);
void poiseErrorRestore(const ErrorState *state);
/* What a user's function ("a monitor") returned, called after PoiseErrorClear: its own error with the function in the trace, or
   when that has not been set (another may have been, and been dealt with) POISE_ERR_USER naming the function. */
PoiseErr poiseErrorOfUser(PoiseErr e, const char *function);

/* ---- memory (memory.c): counted, and made to fail by tests --------------------------------------------------------- */

typedef struct Memory {
  int64_t live, calls; /* blocks now allocated; allocations ever made, on host and devices */
  int64_t bytes;       /* of the blocks on the host */
  int64_t fail_at;     /* > 0: that many allocations from now, one fails; 0: never */
} Memory;

/* *p = bytes of zeroed memory aligned to 64; NULL and success for 0 bytes. POISE_ERR_MEMORY names bytes and purpose. */
PoiseErr poiseAlloc(PoiseContext ctx, size_t bytes, const char *what, void *p);
/* n items of size, the product checked. */
PoiseErr poiseAllocArray(PoiseContext ctx, int64_t n, size_t size, const char *what, void *p);
/* *p grows to bytes, the first `used` bytes kept, the rest undefined. */
PoiseErr poiseRealloc(PoiseContext ctx, size_t bytes, size_t used, const char *what, void *p);
/* *p grows or shrinks to bytes and keeps what it held; added bytes are undefined. Large blocks keep their pages, so that there are
   never two of them. */
PoiseErr poiseResize(PoiseContext ctx, size_t bytes, const char *what, void *p);
PoiseErr poiseStringCopy(PoiseContext ctx, const char *s, char **copy); /* NULL gives NULL */
void poiseFree(PoiseContext ctx, void *p);                              /* p: address of the pointer, which is nulled */
int64_t poiseAllocated(const void *block);                              /* bytes that were asked for; 0 for NULL */
void poiseHostMemory(int64_t *left, int64_t *total);
/* Count one allocation made elsewhere (a device's); the test hook may refuse it. */
PoiseErr poiseAllocCount(PoiseContext ctx, size_t bytes, const char *what);
void poiseFreeCount(PoiseContext ctx);
/* The n-th allocation from now fails (once); 0: none. For tests. */
void poiseAllocFailAt(PoiseContext ctx, int64_t n);

/* ---- communicators (comm.c, comm_self.c, comm_threads.c, comm_mpi.c) ----------------------------------------------- */

typedef struct Comm Comm;

/* What a collective is for: ranks that meet in different ones are in different calls. */
typedef enum CommPurpose {
  COMM_GATHER,
  COMM_SUM,
  COMM_MAX,
  COMM_MAX_INT,
  COMM_SCAN,
  COMM_AGREE,
  COMM_SHARE, /* one rank's data */
  COMM_TRADE, /* all to all */
  COMM_END,   /* of PoiseRun's body */
  COMM_PURPOSES
} CommPurpose;

typedef struct Exchange { /* a neighbour exchange: segments of doubles, fixed at set-up. Ranks ascending, never self */
  int nsend, nrecv;
  int *send_rank, *recv_rank;
  int64_t *send_start, *recv_start; /* nsend + 1 and nrecv + 1 offsets into the buffers */
  double *send, *recv;              /* host buffers, owned by whoever owns the exchange */
  void *priv;                       /* the communicator's */
} Exchange;

typedef struct CommOps {
  const char *name;
  /* out = every rank's `bytes` bytes in rank order: what sums and agreements are made of */
  PoiseErr (*allgather)(Comm *, const void *in, size_t bytes, void *out);
  PoiseErr (*bcast)(Comm *, void *data, size_t bytes, int root);
  /* counts in bytes, per rank; send and recv are packed in rank order; any count may be 0 and exceed 2^31 */
  PoiseErr (*alltoallv)(Comm *, const void *send, const int64_t *send_bytes, void *recv, const int64_t *recv_bytes);
  PoiseErr (*exchange_setup)(Comm *, Exchange *); /* fills priv; collective */
  void (*exchange_free)(Comm *, Exchange *);
  PoiseErr (*exchange_begin)(Comm *, Exchange *); /* send[] is full; returns without waiting for others if it can */
  PoiseErr (*exchange_end)(Comm *, Exchange *);   /* recv[] is full, send[] may be written again */
  bool (*has_ended)(void);                        /* has the application ended what ranks communicate by? NULL: it cannot */
  void (*destroy)(Comm *);
} CommOps;

struct Comm {
  const CommOps *ops;
  PoiseContext ctx;
  int rank, size;
  void *data;
  CommPurpose purpose;             /* of gathers: comm.c sets it for its own */
  bool checks;                     /* do all ranks meet in the same collective? (threads always ask) */
  int64_t messages, message_bytes; /* sent so far, for the log */
  double *scratch;                 /* size * POISE_COMM_WIDTH doubles: sums allocate nothing */
};
enum { POISE_COMM_WIDTH = 64 };

PoiseErr poiseCommCreateSelf(PoiseContext ctx, Comm **comm);
#ifdef POISE_HAVE_MPI
PoiseErr poiseCommCreateMPI(PoiseContext ctx, const void *mpi_comm, Comm **comm);
#endif
void poiseCommDestroy(Comm **comm);
/* An empty communicator of these sizes, for the files that implement one. */
PoiseErr poiseCommAlloc(PoiseContext ctx, const CommOps *ops, int rank, int size, Comm **comm);

/* Ranks that are threads of one process. Whoever starts them makes the team, with all that it needs, in its own ctx. */
typedef struct Team Team;
PoiseErr poiseTeamCreate(PoiseContext ctx, int size, Team **team);
void poiseTeamDestroy(Team **team);                               /* after all threads have ended */
Comm *poiseTeamComm(Team *team, int rank, PoiseContext rank_ctx); /* lent to one rank's context */
/* This rank leaves with an error: ranks that wait for it, now or later, get POISE_ERR_REMOTE instead of hanging. */
void poiseTeamAbort(Team *team, int rank);

/* What a rank is in when it meets others in a collective. */
typedef struct CommMeeting {
  int64_t purpose, bytes, root;
  const char *call; /* the public function, or NULL */
} CommMeeting;
CommMeeting poiseCommMeeting(Comm *comm, CommPurpose purpose, size_t bytes, int root);
/* POISE_ERR_COMM, with both calls, if ranks are in different collectives. */
PoiseErr poiseCommSame(const CommMeeting *mine, int rank, const CommMeeting *other, int other_rank);
/* This rank has left PoiseRun's body. Collective. */
PoiseErr poiseCommEnd(Comm *comm);

/* v[0..n) = sums over ranks in rank order: same bits everywhere. Any n; never allocates. */
PoiseErr poiseCommSum(Comm *comm, double *v, int n);
PoiseErr poiseCommMax(Comm *comm, double *v, int n);
PoiseErr poiseCommMaxInt(Comm *comm, int64_t *v, int n);
/* *before = sum of v over lower ranks, *total = over all. */
PoiseErr poiseCommScan(Comm *comm, int64_t v, int64_t *before, int64_t *total);

/* ---- devices (device.c, device_host.c, device_mock.c) --------------------------------------------------------------- */

typedef struct Device Device;
typedef struct Graph Graph;
enum { POISE_BUS = 32 };
typedef PoiseErr (*KernelFn)(Device *, const void *args);
typedef enum { COPY_TO_DEVICE, COPY_TO_HOST, COPY_ON_DEVICE } CopyKind;

typedef struct LibraryPlan { /* a matrix made ready for a library of the device; zero-initialise it */
  void *device;              /* the device's own; NULL: there is none */
  int64_t bytes;             /* of device memory that it holds */
} LibraryPlan;

typedef struct DeviceOps {
  const char *name;
  bool is_host;           /* device memory is host memory: a Buffer keeps one copy */
  const KernelFn *kernel; /* by KERNEL_...; NULL entries are missing */
  /* Products by libraries, beside the device's own: names, ending with NULL, and plans for kernel csr_library, of A with so many
     columns whose arrays stay where they are, while its values may change. May wait. NULL where there are none */
  const char *const *csr_libraries;
  PoiseErr (*csr_plan)(Device *, int library, const CsrView *A, int64_t columns, LibraryPlan *plan);
  void (*csr_plan_free)(Device *, LibraryPlan *plan);
  /* The same for triangular solves, and kernel factor_library. A plan that is there already was made for these arrays, and takes their
     new values; after a failure there is none */
  const char *const *factor_libraries;
  PoiseErr (*factor_plan)(Device *, int library, const FactorView *f, LibraryPlan *plan);
  void (*factor_plan_free)(Device *, LibraryPlan *plan);
  size_t (*sort_scratch)(Device *,
                         const SortKeysArgs *); /* bytes that sort_keys needs for n keys of so many bits; NULL: 0 */
  bool single_rows; /* groups of Levels are to be single rows, which wait for each other, and `work` is needed */
  PoiseErr (*create)(Device *);
  void (*destroy)(Device *);
  PoiseErr (*alloc)(Device *, size_t bytes, const char *what, void **p); /* not zeroed */
  void (*free)(Device *, void *p);                                       /* what was enqueued before may still use it */
  void (*free_adopted)(Device *, void *p); /* an array of the application's; NULL where that is for free() */
  PoiseErr (*alloc_pinned)(Device *, size_t bytes, const char *what, void **p); /* seen by host and device */
  void (*free_pinned)(Device *, void *p);
  PoiseErr (*copy)(Device *, void *dst, const void *src, size_t bytes, CopyKind); /* enqueued */
  PoiseErr (*launch)(Device *, int kernel, const void *args, size_t bytes);       /* enqueued */
  PoiseErr (*sync)(Device *);                                                     /* all that was enqueued is done */
  PoiseErr (*poison)(Device *, void *p, size_t bytes); /* enqueued: fill with NaN; NULL where nothing is checked */
  /* events and graphs; NULL where work runs at once */
  PoiseErr (*record)(Device *, int64_t *event);
  PoiseErr (*wait)(Device *, int64_t event);
  PoiseErr (*capture_begin)(Device *, bool loop);   /* loop: of a solver, which changes no matrix */
  PoiseErr (*capture_end)(Device *, Graph **graph); /* *graph is NULL on failure; capture is over either way */
  PoiseErr (*replay)(Device *, Graph *graph);
  void (*graph_free)(Device *, Graph **graph);
  bool (*owns)(Device *, const void *p, size_t bytes);         /* are these bytes its memory? NULL: all memory is */
  bool (*hides)(Device *, const void *p);                      /* can the host not read there? NULL: it can read all */
  PoiseErr (*memory)(Device *, int64_t *left, int64_t *total); /* NULL: it is the host's */
  void (*range)(const char *name); /* tells a profiler that an event begins; NULL: the innermost one ends. May be NULL */
  /* GPUs; without them NULL. These are asked before a device is made, and create no context. */
  bool automatic;                                    /* taken where nothing else is asked for and there is one */
  PoiseErr (*count)(int *count);                     /* POISE_ERR_DEVICE where there is none, saying why */
  PoiseErr (*bus)(int id, char text[POISE_BUS]);     /* "0000:17:00.0"; NULL: not known */
  void (*describe)(int id, char *text, size_t size); /* "NVIDIA H200"; may be NULL */
} DeviceOps;

struct Device { /* one stream of work, of one rank */
  const DeviceOps *ops;
  PoiseContext ctx;
  DeviceModel model; /* a host's, unless the device's create says otherwise */
  int id;            /* which GPU */
  void *stream; /* for PoiseStream; may be NULL */
  int threads;  /* of host kernels */
  void *data;
  PoiseErr failed;             /* first failure of queued work, reported by the next sync */
  bool busy;                   /* something was enqueued since the last sync */
  bool forbid_copies, forbids; /* the option; and inside a solve: copies and waits are errors */
  int64_t bytes, limit;        /* held by buffers; more than limit is refused (0: as much as there is) */
  int64_t launches, copies, waits;
  int64_t copied[COPY_ON_DEVICE]; /* bytes, by CopyKind */
};

/* Host loops: blocks over the device's threads; few blocks are not worth waking threads up for. */
#define HOST_PRAGMA(x) _Pragma(#x)
#ifdef POISE_HAVE_OPENMP
#define HOST_PARALLEL_FOR(dev, nblock) \
  HOST_PRAGMA(omp parallel for schedule(static) num_threads((dev)->threads) if ((dev)->threads > 1 && (nblock) > HOST_FEW_BLOCKS))
/* Few items of uneven work. */
#define HOST_PARALLEL_ITEMS(threads, worth) HOST_PRAGMA(omp parallel for schedule(dynamic, 1) num_threads(threads) if (worth))
#define HOST_CRITICAL HOST_PRAGMA(omp critical)
#define HOST_ATOMIC   HOST_PRAGMA(omp atomic)
#else
#define HOST_CRITICAL
#define HOST_ATOMIC
#define HOST_PARALLEL_FOR(dev, nblock)      (void)(dev), (void)(nblock);
#define HOST_PARALLEL_ITEMS(threads, worth) (void)(threads), (void)(worth);
#endif

/* The device of this name, or for "auto" the GPU where all ranks see one, else the host. Collective; agrees. */
PoiseErr poiseDeviceFind(PoiseContext ctx, const char *name, const DeviceOps **ops);
/* *id: the GPU that is asked for, or -1, which becomes the one for this rank (place.c). Collective; agrees. */
PoiseErr poiseDevicePlace(PoiseContext ctx, const DeviceOps *ops, int *id);
PoiseErr poiseDeviceOpen(PoiseContext ctx, const DeviceOps *ops, int id, Device **dev);
PoiseErr poiseDeviceCreate(PoiseContext ctx, const char *name, Device **dev); /* number 0 of one; for tests. Collective */
void poiseDeviceDestroy(Device **dev);
PoiseErr poiseDeviceAlloc(Device *dev, size_t bytes, const char *what, void **p);
void poiseDeviceFree(Device *dev, size_t bytes, void **p);
/* Free an adopted array that nobody has counted. */
void poiseDeviceFreeAdopted(Device *dev, void *p);
/* POISE_ERR_ARG when an argument of a user's does not point to so many bytes of the device. */
PoiseErr poiseDeviceCheckPointer(Device *dev, const void *p, size_t bytes, const char *argument);
/* And when one, which may be NULL, points to where the host cannot read. */
PoiseErr poiseDeviceCheckHost(Device *dev, const void *p, const char *argument);
PoiseErr poiseLaunch(Device *dev, int kernel, const void *args, size_t bytes);
/* Launch a kernel by name with a compound literal of its argument type: LAUNCH(dev, gather, GatherArgs, .n = n, ...) */
#define LAUNCH(dev, name, Args, ...) poiseLaunch(dev, KERNEL_##name, &(Args){__VA_ARGS__}, sizeof(Args))
PoiseErr poiseDeviceSync(Device *dev);
PoiseErr poiseDeviceWait(Device *dev, int64_t event);
/* Whether from now on copies between host and device, and waits, are to be errors, where -device_forbid_copies is given. Returns
   what was. */
bool poiseDeviceForbid(Device *dev, bool on);
/* *library: 0 for "own", else k where `name` is libraries[k - 1] (the device's for that purpose; NULL: none). POISE_ERR_UNSUPPORTED names all. */
PoiseErr poiseDeviceLibrary(const Device *dev, const char *const *libraries, const char *name, const char *purpose,
                            int *library);
PoiseErr poiseDeviceCopy(Device *dev, void *dst, const void *src, size_t bytes, CopyKind kind); /* enqueued, counted */
/* Scratch for eager reductions: made with the device, grown by whoever makes longer vectors. */
PoiseErr poiseReduceCreate(PoiseContext ctx);
PoiseErr poiseReduceReserve(PoiseContext ctx, int64_t partials);
void poiseReduceDestroy(PoiseContext ctx);
const char *poiseKernelName(int kernel);

#define KERNEL(name, Args) PoiseErr poiseHost_##name(Device *, const void *args);
#include "kernels.def"
#undef KERNEL

typedef struct GpuPlace {
  uint64_t machine, near; /* near: a bit for each GPU */
} GpuPlace;

int poisePickGpu(int rank, const GpuPlace *all, int count); /* the GPU of this rank, by the places of all */
bool poiseMayRunOn(const char *list);                       /* on one of these cores, "0-31,64-95" */

/* ---- buffers (buffer.c): the only file that knows which copy of an array is valid ----------------------------------- */

typedef enum { HOST, DEVICE } Side;

typedef struct Buffer {
  Device *dev;
  const char *what; /* static text, for messages */
  size_t bytes;
  void *host, *device; /* the same address on a host device; device is allocated on first need */
  bool host_valid, device_valid;
  PoiseOwn own, own_device; /* of host, of device: POISE_COPY means the library's own block */
  bool window;              /* device is a part of another buffer's */
} Buffer;

/* A buffer of zeroed bytes (both sides valid when there is one copy, else the host side). */
PoiseErr poiseBufferCreate(Device *dev, size_t bytes, const char *what, Buffer *b);
/* Over the user's host array. */
PoiseErr poiseBufferWrap(Device *dev, size_t bytes, const char *what, void *array, PoiseOwn own, Buffer *b);
/* Over the user's array on the device, in its memory (poiseDeviceCheckPointer). */
PoiseErr poiseBufferWrapDevice(Device *dev, size_t bytes, const char *what, void *array, PoiseOwn own, Buffer *b);
/* A call that was to adopt arrays fails: they stay the user's. */
void poiseBufferDisown(Buffer *b);
/* A window on device memory that somebody else holds, of which a host copy is made where one is asked for. To be pointed at
   memory that is current there, before anything else; what was written on the host is there after a poiseBufferRead of DEVICE. */
void poiseBufferWindow(Device *dev, size_t bytes, const char *what, Buffer *b);
void poiseBufferPoint(Buffer *b, void *device);
void poiseBufferDestroy(Buffer *b);
PoiseErr poiseBufferRead(Buffer *b, Side side, void *p);  /* p: address of a pointer to (const) elements */
PoiseErr poiseBufferWrite(Buffer *b, Side side, void *p); /* old content not needed */
PoiseErr poiseBufferUpdate(Buffer *b, Side side, void *p);
/* A new buffer, of the library's own memory, with what b holds, on the side where that is: nothing travels. */
PoiseErr poiseBufferDuplicate(const Buffer *b, Buffer *copy);
/* All bytes are 0 from now on. Nothing travels: a side becomes so when it is next asked for. */
void poiseBufferZero(Buffer *b);
/* Bring it to the device, and release the host's copy if that is the library's own. */
PoiseErr poiseBufferToDevice(Buffer *b);
/* Give back the device's side, where the host's holds the same. */
void poiseBufferLeave(Buffer *b);
/* Make a borrowed array current, on the side where it is; does nothing for others. */
PoiseErr poiseBufferSettle(Buffer *b);
bool poiseBufferIsCurrent(const Buffer *b, Side side); /* so that reading it there copies nothing */
int64_t poiseBufferBytes(const Buffer *b, Side side);  /* held on that side */
void poiseBufferAdd(const Buffer *b, PoiseBytes *sum); /* sum += what is held */

/* ---- predictions (predict.c): p += what will be held ------------------------------------------------------------------ */

typedef enum { ON_DEVICE, ON_BOTH } Used; /* the same on a host device */

/* By a buffer of at least and at most so many bytes, which is used on these sides. */
void poisePredictBetween(const Device *dev, int64_t least, int64_t most, Used sides, PoisePrediction *p);
void poisePredict(const Device *dev, int64_t bytes, Used sides, PoisePrediction *p);
void poisePredictHost(int64_t bytes, PoisePrediction *p); /* by a block that is no buffer */
void poisePredictSum(const PoisePrediction *part, PoisePrediction *p);
void poisePredictEither(const PoisePrediction *one, PoisePrediction *p); /* p = that or what p is: the bounds of both */

/* ---- files (file.c) ---------------------------------------------------------------------------------------------------- */

typedef struct OutFile { /* zero-initialise it */
  FILE *stream;          /* to write to */
  char *path, *temp;     /* temp is NULL when path is a device or a pipe, which is written directly */
} OutFile;

/* A file that appears under its path whole or not at all: it is written under another name beside it. Not collective.
   POISE_ERR_FILE names the path and the system's reason; f is empty after a failure, of Commit too. */
PoiseErr poiseFileBegin(PoiseContext ctx, const char *path, OutFile *f);
PoiseErr poiseFileCommit(PoiseContext ctx, OutFile *f); /* the old file stays when anything could not be written */
void poiseFileAbort(PoiseContext ctx, OutFile *f);      /* nothing has happened; an empty f is legal */
/* Could it be written? Tried, but for devices and pipes, whose readers would see an end. Not collective. */
PoiseErr poiseFileCheck(PoiseContext ctx, const char *path);
/* A file that takes lines as they come, closed with the context; the same one for the same path. *fresh: it was made now. *stream is NULL on
   ranks but 0. Not collective. */
PoiseErr poiseFileLines(PoiseContext ctx, const char *path, FILE **stream, bool *fresh);
void poiseFileLinesClose(PoiseContext ctx);
/* Waits until no other program has it, two seconds at most, and as far as the file system can: for a file that is read and rewritten. Not
   collective. */
int poiseFileLock(PoiseContext ctx, const char *path);
void poiseFileUnlock(int lock);

/* ---- progress (progress.c) --------------------------------------------------------------------------------------------- */

typedef struct Progress {
  const char *what; /* borrowed */
  bool on;
  double begun, shown; /* when; shown = 0: never */
} Progress;

/* A line "what: 120 of 1800 MB, 240 MB/s" on rank 0's standard error, when that is a terminal and the task takes long; option
   -load_progress. Rewritten in each step, erased at the end. Not collective. */
void poiseProgressBegin(PoiseContext ctx, const char *what, Progress *p);
void poiseProgressStep(Progress *p, int64_t done, int64_t total); /* bytes; total = 0: unknown */
void poiseProgressEnd(Progress *p);

/* ---- all ranks' bytes to one file (sections.c) ------------------------------------------------------------------------ */

enum { POISE_PIECE = 1 << 20 }; /* bytes that travel at once */

typedef struct Section { /* what this rank has to say in one part of a file, a piece at a time */
  /* Puts at most POISE_PIECE bytes; *more: there are more to come. Called at least once. */
  PoiseErr (*next)(void *from, char *piece, int64_t *bytes, bool *more);
  void *from;
} Section;

/* Rank 0's header, then section by section what the ranks have to say, in their order; gzip when the name ends in ".gz".
   Rank 0 alone opens the file, which appears whole or not at all. mine: this rank's error so far. Collective; agrees. */
PoiseErr poiseFileSections(PoiseContext ctx, PoiseErr mine, const char *path, const void *header, size_t bytes, int n,
                           const Section *section);

/* ---- bytes that can be read at any place (source.c) -------------------------------------------------------------------- */

typedef struct ByteSource { /* zero-initialise it */
  PoiseErr (*read)(const struct ByteSource *, int64_t at, void *p, size_t bytes, size_t *got);
  const char *name; /* for messages; borrowed */
  int64_t size;     /* bytes there are; when compressed: more are impossible */
  bool compressed;
  int rank;    /* which reads, for messages */
  int threads; /* that may read at once; 0: one */
  int fd;
  void *gz;
  const unsigned char *memory;
} ByteSource;

/* A file, plain or gzip (which is known by its content, and fast only when it is read forwards). Local, as all of these:
   each rank has a source of its own. POISE_ERR_FILE names path, reason and any rank but 0. */
PoiseErr poiseSourceOpen(PoiseContext ctx, const char *path, ByteSource *s);
/* Bytes in memory, which are borrowed. */
void poiseSourceMemory(const void *bytes, size_t n, const char *name, ByteSource *s);
/* *got: fewer than asked for only at the end. */
PoiseErr poiseSourceTry(const ByteSource *s, int64_t at, void *p, size_t bytes, size_t *got);
/* All of them, or POISE_ERR_FORMAT: the file ends inside `what`. */
PoiseErr poiseSourceRead(const ByteSource *s, int64_t at, void *p, size_t bytes, const char *what);
void poiseSourceClose(ByteSource *s);

typedef struct NumberLocale {
  void *old, *plain;
} NumberLocale;

/* Between the two, this thread reads and writes numbers with a decimal point, whatever the application's locale. */
NumberLocale poiseNumbersBegin(void);
void poiseNumbersEnd(NumberLocale numbers);

/* ---- options (options.c) --------------------------------------------------------------------------------------------- */

typedef struct Options Options;

PoiseErr poiseOptionsCreate(PoiseContext ctx, const PoiseInit *init, int argc, char **argv, Options **options);
void poiseOptionsDestroy(Options **options);
/* Tables that -help lists and unknown keys are compared with; `heading` e.g. "KSP: gmres". Static storage. */
PoiseErr poiseOptionsRegister(PoiseContext ctx, const char *heading, const PoiseOption *table);
/* The word of a CHOICE value ("preconditioned"). */
const char *poiseOptionsChoice(const PoiseOption *table, const char *key, int value);
/* The reference of all registered options, as Markdown. Rank 0 writes. */
PoiseErr poiseOptionsMarkdown(PoiseContext ctx, FILE *out);
/* A thread rank ends: forget what it set from code. */
void poiseOptionsLeave(PoiseContext ctx);
bool poiseOptionsApplicationHas(PoiseContext ctx, const char *key); /* is it in the application's table? */
const char *poiseOptionsPrefix(PoiseContext ctx);                   /* of every option of the context; "": none */
/* e, of a call to which an option's value led: what is POISE_ERR_OPTION or POISE_ERR_UNSUPPORTED names the option and its source, too. */
PoiseErr poiseOptionsRefuse(PoiseContext ctx, const char *prefix, const char *key, PoiseErr e);
/* POISE_ERR_OPTION where an unknown key is plainly a misspelt one of the library's; rank 0 names other unknown ones to out, which may be
   NULL. */
PoiseErr poiseOptionsCheck(PoiseContext ctx, FILE *out);
/* How many options nobody has asked for; rank 0 names those that it has not warned of to out, which may be NULL. */
int poiseOptionsLeft(PoiseContext ctx, FILE *out);
/* "-ksp_type" with the prefixes of context and object (may be NULL), for messages; as many as 4 in one. */
const char *poiseOptionsName(PoiseContext ctx, const char *prefix, const char *key);
bool poiseOptionsYesNo(const char *text, int *value); /* as of a BOOL; false: it is neither */
/* Distance for "did you mean": the closest of `count` words to s, or NULL when none is near. */
const char *poiseClosest(const char *s, int count, const char *const *words);
/* POISE_ERR_OPTION: "there is no <what> '<word>'", with the words that exist, and the closest of them, if one is near. */
PoiseErr poiseUnknownWord(const char *what, const char *word, int count, const char *const *words);

/* ---- log (log.c) ------------------------------------------------------------------------------------------------------ */

typedef struct Log Log;

enum {
#define EVENT(name) EVENT_##name,
#include "events.def"
#undef EVENT
  EVENT_COUNT
};

PoiseErr poiseLogCreate(PoiseContext ctx, Log **log);
void poiseLogDestroy(Log **log);
/* Add a threads-rank's log to its parent's is not done: each rank's log is viewed by PoiseLogView of that rank's context. */
void poiseLogBegin(PoiseContext ctx, int event);
/* flops and bytes: what this call did on this rank (compulsory traffic, see docs) that no event nested in it has counted:
   the table adds those, as it does with time. */
void poiseLogEnd(PoiseContext ctx, int event, double flops, double bytes);
/* The innermost event or section that is open, for messages. */
const char *poiseLogWhere(PoiseContext ctx);

/* What has been counted so far; a captured loop keeps it at several places, so that a replay can count as what was captured. */
typedef struct LogCounts {
  double flops, bytes, launches; /* in all */
  struct {
    double calls, flops, bytes, launches;
  } event[EVENT_COUNT];
} LogCounts;

void poiseLogCounts(PoiseContext ctx, LogCounts *now);
/* Count `times` times what was counted between two places: its launches; or all else. */
void poiseLogAddLaunches(PoiseContext ctx, double times, const LogCounts *from, const LogCounts *to);
void poiseLogAddWork(PoiseContext ctx, double times, const LogCounts *from, const LogCounts *to);
/* PoiseLogView as -log_view says: "" for text to the context's output, or ":file", ":file:format", "::format". A file is
   written whole or not at all. Collective. */
PoiseErr poiseLogViewOption(PoiseContext ctx, const char *value);
PoiseErr poiseLogCheckOption(PoiseContext ctx, const char *value); /* will it be able to? Local: rank 0 tries the file */

/* ---- context (context.c) ----------------------------------------------------------------------------------------------- */

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
  int64_t most_narrow;           /* offsets up to this are int32, beyond it int64: INT32_MAX, or less in tests */
  double (*clock)(void);         /* what measurements by type auto are made with: PoiseTime, or a test's */
  struct PoiseContext_s *parent; /* of a thread rank; NULL else */
  bool load_progress;            /* option */
  bool answered;                 /* -help or -version: see PoiseAnswered */
  bool options_checked;          /* all are known (poiseContextCheck) */
  struct PoiseContext_s *self;   /* this rank alone: see poiseContextSelf; NULL where that is the context itself */
  struct PoiseContext_s *home;   /* the context whose rank this is alone; NULL else */
  bool log_device_time;          /* option */
  struct Winners *winners;       /* of measurements by type auto of Mat (winners.c) */
  bool log_viewed;               /* by PoiseRun, whose ranks did the work: PoiseFinalize does not repeat it */
  /* scratch of eager reductions on this device: partials, slots, and a host-visible copy (device.c) */
  Buffer reduce_partial, reduce_slots;
  double *reduce_pinned;
};

/* The context of this rank alone, for what is inside one rank, as the solvers of blocks. It shares device, options, log, output
   and the count of memory with ctx, which owns it, and has a communicator of one rank, objects and scratch of its own. */
static inline PoiseContext poiseContextSelf(PoiseContext ctx)
{
  return ctx->self ? ctx->self : ctx;
}

/* The context that ctx belongs to: where memory is counted, and whose rank 0 prints. */
static inline PoiseContext poiseContextHome(PoiseContext ctx)
{
  return ctx->home ? ctx->home : ctx;
}

/* PoiseInitialize for a zeroed context (whose memory may be set to fail); releases everything when it fails. */
PoiseErr poiseContextFill(PoiseContext ctx, int argc, char **argv, const PoiseInit *init);
/* Before a solve: are all options known? Looked at until they are. Collective; agrees. */
PoiseErr poiseContextCheck(PoiseContext ctx);
/* The option tables of the upper layers, each defined in its layer. */
PoiseErr poiseRegister_vec(PoiseContext ctx);
PoiseErr poiseRegister_mat(PoiseContext ctx);
PoiseErr poiseRegister_pc(PoiseContext ctx);
PoiseErr poiseRegister_ksp(PoiseContext ctx);
PoiseErr poiseWinnersCreate(
    PoiseContext ctx); /* ctx->winners, with the context, so that nothing fails later */

/* PoiseAgree for a constructor or set-up. */
#define poiseAgree PoiseAgree

#endif
