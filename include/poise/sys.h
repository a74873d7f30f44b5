/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Context, errors, options, log, and ranks.

  Conventions of the whole interface
  - Every function returns a PoiseErr; 0 (POISE_OK) is success. Wrap calls in POISE_TRY to build the error
    trace.
  - "Collective" means that all ranks of the context must call, in the same order. A collective call that
    fails on one rank fails on all. The others get POISE_ERR_REMOTE with the message of the first failing
    rank.
  - Ranks that are in different collectives get POISE_ERR_COMM with both calls. Threads always do; MPI ranks
    do in debug builds and with -comm_check yes. Exchanges between neighbours are not checked.
  - A pointer to an object is looked up in a table of live objects before it is followed. NULL, a destroyed
    object, one of another kind, and objects of several contexts are POISE_ERR_ARG, which names the parameter.
    A function that returns no PoiseErr then returns 0, NULL or "", and PoiseErrorMessage tells why.
  - Create gives one reference. Destroy drops it and nulls the pointer; NULL is legal. A setter that keeps an
    object takes a reference. A getter lends: do not destroy what it returns. To destroy a solver's
    preconditioner, or a solver inside a preconditioner, is POISE_ERR_STATE.
  - The library never aborts. It writes to a stream only if a call or an option asked for output
    (PoiseSetOutput). The one exception: it names unknown and unused options on standard error
    (-options_left).
*/
#ifndef POISE_SYS_H
#define POISE_SYS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#if defined(__GNUC__)
#define POISE_API          __attribute__((visibility("default")))
#define POISE_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define POISE_API
#define POISE_PRINTF(f, a)
#endif

#define POISE_VERSION_MAJOR 0
#define POISE_VERSION_MINOR 1
#define POISE_VERSION_PATCH 0
#define POISE_VERSION       (POISE_VERSION_MAJOR * 10000 + POISE_VERSION_MINOR * 100 + POISE_VERSION_PATCH)

#ifdef __cplusplus
extern "C" {
#endif

typedef int64_t PoiseInt; /* global sizes and indices */

/* The version of the library that this program runs with: 100 for 0.1.0. POISE_VERSION is that of the headers
   that it was compiled with. Any thread may call at any time. */
POISE_API int PoiseVersion(void);

/* ---- errors ---------------------------------------------------------------------------------- */

/* The one list of error codes and their texts: X(code, text). */
#define POISE_ERROR_LIST(X)                                   \
  X(POISE_OK, "success")                                      \
  X(POISE_ERR_ARG, "invalid argument")                        \
  X(POISE_ERR_SIZE, "sizes do not match")                     \
  X(POISE_ERR_MEMORY, "out of memory")                        \
  X(POISE_ERR_STATE, "call out of order")                     \
  X(POISE_ERR_OPTION, "invalid option")                       \
  X(POISE_ERR_UNSUPPORTED, "not supported")                   \
  X(POISE_ERR_FILE, "file cannot be opened, read or written") \
  X(POISE_ERR_FORMAT, "malformed file")                       \
  X(POISE_ERR_NUMERIC, "numerically impossible")              \
  X(POISE_ERR_NOT_CONVERGED, "solve did not converge")        \
  X(POISE_ERR_COMM, "communication failed")                   \
  X(POISE_ERR_DEVICE, "device failed")                        \
  X(POISE_ERR_USER, "user callback failed")                   \
  X(POISE_ERR_REMOTE, "another rank failed")                  \
  X(POISE_ERR_INTERNAL, "internal check failed")

typedef enum PoiseErr {
#define POISE_ERROR_CODE(code, text) code,
  POISE_ERROR_LIST(POISE_ERROR_CODE)
#undef POISE_ERROR_CODE
} PoiseErr;

/* The fixed text of a code ("out of memory"). Never NULL. */
POISE_API const char *PoiseErrorString(PoiseErr code);
/* The message of this thread's latest error, with its values ("A is 50 x 50, x has 51 entries"); "" when
   none. */
POISE_API const char *PoiseErrorMessage(void);
/* Code and message of this thread's latest error, for a program to print: a line with a newline at its end.
   With -error_trace, and of an internal error, lines with the calls that it came through follow. Valid until
   the next error or PoiseErrorClear of this thread. */
POISE_API const char *PoiseErrorText(void);
/* Forget this thread's error. */
POISE_API void PoiseErrorClear(void);
/* Start an error (drops an older trace) and return `code`. Used through POISE_FAIL. */
POISE_API PoiseErr PoiseErrorSet(PoiseErr code, const char *function, const char *file, int line,
                                 const char *format, ...) POISE_PRINTF(5, 6);
/* Add a frame to the trace and return `code`. Used through POISE_TRY. */
POISE_API PoiseErr PoiseErrorTrace(PoiseErr code, const char *function, const char *file, int line);

/* Return an error of this code and printf-style message from the calling function. */
#define POISE_FAIL(code, ...) return PoiseErrorSet(code, __func__, __FILE__, __LINE__, __VA_ARGS__)
/* Call. On failure add this place to the trace, and return the code from the calling function. */
#define POISE_TRY(call)                                                                           \
  do {                                                                                            \
    PoiseErr poise_err_ = (call);                                                                 \
    if (poise_err_ != POISE_OK) return PoiseErrorTrace(poise_err_, __func__, __FILE__, __LINE__); \
  } while (0)

/* ---- context and ranks ----------------------------------------------------------------------- */

/* One rank's view of the process: its communicator, options, log and devices. Four things belong to the
   process or thread instead: the table of live objects, a thread's latest error, whether Poise initialised
   MPI, and whether the process was forked from one that uses Poise. There, calls are POISE_ERR_STATE, as it
   lacks the threads. */
typedef struct PoiseContext_s *PoiseContext;

struct PoiseOption;

/* Arguments of PoiseInitialize. Zero-initialise it, and set what is needed. */
typedef struct PoiseInit {
  const char *prefix;                /* only options "-<prefix>key" belong to Poise; NULL: all ("-key") */
  const void *mpi_comm;              /* address of an MPI_Comm, which is duplicated. MPI_COMM_NULL is
                                        POISE_ERR_ARG. NULL: MPI_COMM_WORLD */
  int serial;                        /* nonzero: one rank; MPI is neither initialised nor used */
  const char *help;                  /* what the program does: the first lines of -help */
  const struct PoiseOption *options; /* the application's own options, ended by a NULL key; may be NULL.
                                        -help lists them. They are never reported as unknown or unused.
                                        Then it must have all that the application reads */
  void *stream;                      /* a cudaStream_t for device cuda (see PoiseStream). NULL: one of its
                                        own */
  FILE *out;                         /* as PoiseSetOutput, from the first line on. NULL: stdout. Borrowed */
  int keep_running;                  /* nonzero: after -help or -version PoiseInitialize returns as ever, and
                                        PoiseAnswered tells. 0: the program ends there */
} PoiseInit;

/*
  Create a context. Collective over the communicator. It may be called before or after the application's
  MPI_Init. If MPI is not initialised, Poise initialises it (MPI_THREAD_FUNNELED). Poise then finalises MPI at
  process exit, after all contexts are finalised. So PoiseInitialize and PoiseFinalize may be repeated in one
  process. argc and argv may be NULL; they are not modified. init may be NULL. *ctx is NULL after a failure.

  Options come from these sources; later ones override earlier ones: code (PoiseOptionsSet), environment
  POISE_OPTIONS, -options_file, command line. All ranks use the options of rank 0.

  The environment and the files belong to Poise alone, so an option prefix may be left out there. A key that
  begins with the prefix is also an option of that whole name. On the command line these are left alone: words
  that are neither an option nor its value, words with two dashes, and all words behind "--". "-1" is a value,
  not an option.

  Without an option prefix, --help means -help and --version means -version. So does -h without a value,
  unless the application's table has an h. These print. Then PoiseInitialize ends the program, as
  exit(EXIT_SUCCESS) does, on all ranks. MPI is finalised before, if the context has all of its processes. So
  call it before work begins. It returns if argc or argv is NULL, or with PoiseInit.keep_running.

  If the application has a table, an unknown key that resembles a known one is POISE_ERR_OPTION at once, and
  one that resembles none is named on standard error. Other unknown keys are reported before the first solve
  (PoiseKSPSetUp). A key that nobody knows or has asked for is POISE_ERR_OPTION under three conditions. It
  stands behind a prefix with which an object has read options. It begins with ksp_, pc_, mat_, vec_, device_
  or log_. It resembles a known key. All other unknown keys are named on standard error. So the application
  should ask for keys that are not in its table before the first solve.
*/
POISE_API PoiseErr PoiseInitialize(int *argc, char ***argv, const PoiseInit *init, PoiseContext *ctx);
/*
  Finalise the context, and null the pointer. Collective. Print what options asked for (-log_view), and name
  unused options on standard error (-options_left). With -options_left error, unused options are also
  POISE_ERR_OPTION; the context is released all the same.

  All objects of the context must have been destroyed. Otherwise POISE_ERR_STATE says how many were not, and
  the context is kept. Call it before the application's MPI_Finalize. After that it is not collective, prints
  nothing, releases this rank's context, and returns POISE_ERR_STATE.
*/
POISE_API PoiseErr PoiseFinalize(PoiseContext *ctx);
/*
  Run body(ctx, arg) on all ranks. Option -ranks <n> (or n > 1 set by PoiseOptionsSet) on a one-rank context
  runs it on n threads of this process. Each thread then has a context of its own, which is valid inside body
  only. Otherwise body is called with ctx. body must not keep objects. Returns the first failing rank's code;
  its trace becomes this thread's. After -help or -version body is not called, and the code is POISE_OK.
*/
POISE_API PoiseErr PoiseRun(PoiseContext ctx, PoiseErr (*body)(PoiseContext ctx, void *arg), void *arg);

/*
  Option -gpus <n> or -gpus all, or -solve_ranks <n>, in a context of one rank: its solvers work on n ranks,
  which are threads of their own, the workers. With -gpus each has a GPU of its own. The program has one rank
  as before: matrices, vectors and calls are whole, and stay on the calling thread and its device. Workers
  start at the first PoiseKSPSetUp and end in PoiseFinalize. POISE_ERR_UNSUPPORTED, by name: on several ranks,
  with PoiseInit.stream, and for what needs whole vectors in the middle of a solve. POISE_ERR_OPTION: more
  GPUs than there are.
*/

/* Nonzero if -help or -version was given, and PoiseInitialize has answered it and returned (keep_running).
   The program then finalises and ends. */
POISE_API int PoiseAnswered(PoiseContext ctx);
/* this rank: 0 .. PoiseSize - 1 */
POISE_API int PoiseRank(PoiseContext ctx);
POISE_API int PoiseSize(PoiseContext ctx); /* number of ranks */
/* Threads of the host that this rank's loops take: -host_threads, OMP_NUM_THREADS, or a share of the cores
   that ranks have in common; beside GPUs of at most 16 of them. For the program's own parallel loops. */
POISE_API int PoiseThreads(PoiseContext ctx);
/* Wait for all ranks. Collective. */
POISE_API PoiseErr PoiseBarrier(PoiseContext ctx);
/* Agree on an error. Every rank passes its own code. If any has failed, all fail (see "Collective" above).
   Collective. */
POISE_API PoiseErr PoiseAgree(PoiseContext ctx, PoiseErr mine);
/* v[0..n) = sum over ranks, added in rank order, so that all ranks have the same bits. Collective. */
POISE_API PoiseErr PoiseSum(PoiseContext ctx, int n, double *v);
/* v[0..n) = maximum over ranks. Collective. */
POISE_API PoiseErr PoiseMax(PoiseContext ctx, int n, double *v);
/* Rows [*begin, *begin + *n) of N that this rank owns in the default layout. The first N mod size ranks
   own one more. */
POISE_API void PoiseSplit(PoiseContext ctx, PoiseInt N, PoiseInt *begin, PoiseInt *n);

/* Asked during long calls whether to go on. Any code but POISE_OK ends the call with it. */
typedef PoiseErr (*PoiseInterrupt)(void *arg);
/*
  Have long calls of this context ask `look`, up to twenty times a second, whether to go on: Ctrl-C, a button,
  a deadline. It is called in the thread that is in the call, between iterations and between stages of
  set-ups; on a GPU between replays. Of ranks that are threads each calls it, in its thread. It must not call
  the library.

  If it returns an error, the call ends with that on this rank, and with POISE_ERR_REMOTE on others; all ranks
  stop in the same iteration. x is then undefined, and all objects can be used again or destroyed. It should
  go on returning an error until the call has returned. Results do not depend on when it is asked.

  look: NULL for none. Ranks of PoiseRun begin with that of their context. Workers (-gpus) are ended by the
  calling thread, which asks. Collective: all ranks give a function, or none, else POISE_ERR_ARG.
*/
POISE_API PoiseErr PoiseSetInterrupt(PoiseContext ctx, PoiseInterrupt look, void *arg);

/* The stream for views, monitors and reports; NULL: stdout. Only rank 0 writes. Borrowed. */
POISE_API void PoiseSetOutput(PoiseContext ctx, FILE *out);
/* Print to the context's output on rank 0. Other ranks do nothing. Not collective. */
POISE_API PoiseErr PoisePrintf(PoiseContext ctx, const char *format, ...) POISE_PRINTF(2, 3);
/* Seconds of a monotonic clock. */
POISE_API double PoiseTime(void);
/* Print version, build, device, ranks and threads to the context's output (option -poise_view).
   Collective. */
POISE_API PoiseErr PoiseView(PoiseContext ctx);

/* ---- memory ---------------------------------------------------------------------------------- */

/* Bytes of arrays of this rank, on the host and on the device. PoiseVecBytes, PoiseMatBytes, PoisePCBytes
   and PoiseKSPBytes give those of an object. User's arrays that are used in place count. Some hundred
   bytes of fixed size per object do not. With -device host all bytes are on the host. */
typedef struct PoiseBytes {
  int64_t host, device;
} PoiseBytes;

/*
  Bytes that an object will hold on this rank, asked before they are allocated: PoiseVecPredictBytes,
  PoiseMatPredictBytes, PoisePCPredictBytes, PoiseKSPPredictBytes. `least` and `most` are bounds on each side.
  They are equal where sizes alone decide, and differ where a pattern does. Memory that is only held during a
  set-up is not included; the functions say how much that is.
*/
typedef struct PoisePrediction {
  PoiseBytes least, most;
  const char *beyond; /* NULL, or what may come on top and cannot be known ("what cuSPARSE asks for");
                         static text */
} PoisePrediction;

/*
  Bytes of the memory of this rank's device: *left are free, *total are all. They count all ranks' use. Either
  may be NULL. On cuda a rank keeps released memory for reuse, up to an eighth of the GPU's memory; here that
  counts as free. Waits for the device. Not collective.

  An allocation that does not fit is POISE_ERR_MEMORY, with the bytes asked for and the bytes free. The
  program may release something and go on.
*/
POISE_API PoiseErr PoiseDeviceMemory(PoiseContext ctx, int64_t *left, int64_t *total);

/*
  The stream on which the device works. On cuda it is a cudaStream_t, in which an application's own kernels
  find results without a wait; else NULL. Not collective.

  It is PoiseInit.stream if that is given. That stream must be of this rank's current GPU, outlive the
  context, and not be the legacy default stream. Otherwise it is a stream that waits for no other. An
  application that writes to a lent array in its own stream must then have finished before it calls the
  library.

  Calls work on the context's GPU from any thread, whichever GPU is current there, and leave the current GPU
  as it was. Only PoiseInitialize makes its GPU current, in a thread that has used none. An application that
  has chosen another GPU makes the context's GPU current before it starts kernels in this stream.

  Program and library may use one CUDA runtime (a static library). A CUDA error that the program has not read
  is then dropped when the library next starts a kernel. It is not taken for the kernel's error.
*/
POISE_API void *PoiseStream(PoiseContext ctx);

/* Wait until this rank's device has done all that it has been given: arrays that the application has lent on
   the device have their entries. A failure of that work is the error. Not collective. */
POISE_API PoiseErr PoiseWait(PoiseContext ctx);

/* Who owns a user's array after the call. */
typedef enum PoiseOwn {
  POISE_COPY,  /* copied; the user's array is not needed after the call */
  POISE_ADOPT, /* owned by the library, which frees it with free() (on a device with cudaFree) */
  POISE_BORROW /* used in place. It must outlive the object, and is current whenever a library call has
                  returned */
} PoiseOwn;

/* ---- options --------------------------------------------------------------------------------- */

typedef enum PoiseOptionType {
  POISE_OPTION_BOOL,   /* int: yes/no, true/false, on/off, 1/0, or no value (= true) */
  POISE_OPTION_INT,    /* PoiseInt */
  POISE_OPTION_REAL,   /* double */
  POISE_OPTION_STRING, /* char[POISE_OPTION_LENGTH]; needs a value, unless `choices` is the value of a key
                          that stands alone */
  POISE_OPTION_CHOICE  /* int: index into `choices`, words separated by '|', in small letters or capitals.
                         "a=b" after a word makes a an alias of b. "=b" means b if the key stands alone */
} PoiseOptionType;

#define POISE_OPTION_LENGTH 256

/* One row of an option table, from which come the parser, -help, the views and the reference page. A table
   ends with a NULL key. */
typedef struct PoiseOption {
  const char *key; /* without the leading '-', e.g. "ksp_rtol" */
  PoiseOptionType type;
  size_t offset;       /* of the field in the struct that PoiseOptionsRead fills */
  const char *initial; /* default value, as text */
  double min, max;     /* legal range of INT and REAL (both 0: any) */
  const char *choices; /* words of a CHOICE; value of a STRING that stands alone; else NULL */
  const char *help;    /* one line */
} PoiseOption;

/* Set an option from code. Every other source overrides it. key has or lacks its '-'; value may be NULL.
   Not collective, but all ranks must do the same. In the body of PoiseRun the value holds for this thread
   rank, until the body ends. */
POISE_API PoiseErr PoiseOptionsSet(PoiseContext ctx, const char *key, const char *value);
/* Set options from code by "-key value" pairs of one text, e.g. "-ksp_type cg -ksp_rtol 1e-8 # comment". A
   value stands on the line of its key; '...' or "..." protects blanks. POISE_OPTIONS and options files are
   read the same way. */
POISE_API PoiseErr PoiseOptionsSetString(PoiseContext ctx, const char *text);
/* Remove an option that PoiseOptionsSet has set, by the same key. One of another source stays, as does what
   objects have read. Not collective, but all ranks must do the same. In the body of PoiseRun it is the option
   of this thread rank. */
POISE_API PoiseErr PoiseOptionsClear(PoiseContext ctx, const char *key);
/* Set every field of `fields` to its table's default. */
POISE_API PoiseErr PoiseOptionsDefaults(const PoiseOption *table, void *fields);
/* Set the fields whose option "-<prefix><key>" was given, and leave the others. prefix may be NULL. A
   malformed or out-of-range value is POISE_ERR_OPTION naming key, value, range, and source. */
POISE_API PoiseErr PoiseOptionsRead(PoiseContext ctx, const char *prefix, const PoiseOption *table,
                                    void *fields);
/* 1 if "-<prefix><key>" was given, and marks the option as used. *value is lent until the option is set
   again or removed; it is "" without a value. value may be NULL. */
POISE_API int PoiseOptionsHas(PoiseContext ctx, const char *prefix, const char *key, const char **value);
/* 1 if the option was given by this key, and has been asked for. Unlike PoiseOptionsHas it marks nothing. */
POISE_API int PoiseOptionsUsed(PoiseContext ctx, const char *key);
/* Print -help: every option of the library and of the application. Rank 0 writes. */
POISE_API PoiseErr PoiseOptionsHelp(PoiseContext ctx);
/* Write the options that nobody asked for to out, each with the closest known key, on rank 0. *count is
   their number. out and count may be NULL. */
POISE_API PoiseErr PoiseOptionsUnused(PoiseContext ctx, FILE *out, int *count);

/* ---- log ------------------------------------------------------------------------------------- */

typedef enum PoiseLogFormat { POISE_LOG_TEXT, POISE_LOG_CSV, POISE_LOG_JSON } PoiseLogFormat;

/* Time an application's own section by Begin/End pairs of the same name (at most 63 printable characters),
   nested as wanted. All ranks should use the same names. A name that rank 0 does not have is missing in
   the table. */
POISE_API PoiseErr PoiseLogBegin(PoiseContext ctx, const char *name);
POISE_API PoiseErr PoiseLogEnd(PoiseContext ctx, const char *name);
/* Write the table of events that happened; rank 0 writes. Collective. Option -log_view
   [:file[:text|csv|json]] does the same at PoiseFinalize, or at the end of PoiseRun on threads, even if
   ranks have failed. PoiseInitialize tries whether the file can be written. */
POISE_API PoiseErr PoiseLogView(PoiseContext ctx, FILE *out, PoiseLogFormat format);

#ifdef __cplusplus
}
#endif

#endif
