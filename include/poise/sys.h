/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Context, errors, options, log, and ranks.

  Conventions of the whole interface
  - Every function returns a PoiseErr; 0 (POISE_OK) is success. Wrap calls in POISE_TRY to build the error
    trace.
  - "Collective" means that all ranks of the context must call, in the same order. A collective call that
    fails on one rank fails on all of them: the others get POISE_ERR_REMOTE with the first failing rank's
    words. Ranks that are in different collectives get POISE_ERR_COMM with both calls: threads always; MPI
    ranks in debug builds and with -comm_check yes, but for exchanges between neighbours.
  - A pointer that is to be an object is looked up in a table of those that live before it is followed.
    NULL, a destroyed object, one of another kind, and objects of several contexts are POISE_ERR_ARG, which
    names the parameter. A function that returns no PoiseErr then returns 0, NULL or "", and
    PoiseErrorMessage tells why.
  - Create gives one reference, Destroy drops it and nulls the pointer (NULL is legal), a setter that keeps an
    object takes
    a reference, a getter lends (do not destroy what it returns).
  - The library never aborts; it writes to a stream only where a call or an option asked for output
    (PoiseSetOutput), but names options that are unknown or unused on standard error (-options_left).
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

#ifdef __cplusplus
extern "C" {
#endif

typedef int64_t PoiseInt; /* global sizes and indices */

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
/* Code, message and the trace of calls of this thread's latest error, one line each, ending in a newline; for
   a program to print. Valid until the next error or PoiseErrorClear of this thread. */
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
/* Call; on failure add this place to the trace and return the code from the calling function. */
#define POISE_TRY(call)                                                                           \
  do {                                                                                            \
    PoiseErr poise_err_ = (call);                                                                 \
    if (poise_err_ != POISE_OK) return PoiseErrorTrace(poise_err_, __func__, __FILE__, __LINE__); \
  } while (0)

/* ---- context and ranks ----------------------------------------------------------------------- */

/* One rank's view of the process: its communicator, options, log and devices. What belongs to the process
   is the table of objects that live, a thread's latest error, and whether MPI was initialised here. */
typedef struct PoiseContext_s *PoiseContext;

struct PoiseOption;

/* What PoiseInitialize may be told; zero-initialise it and set what is needed. */
typedef struct PoiseInit {
  const char *prefix;   /* only options "-<prefix>key" belong to Poise; NULL: all ("-key") */
  const void *mpi_comm; /* address of an MPI_Comm, which is duplicated (MPI_COMM_NULL is
                                        POISE_ERR_ARG); NULL: MPI_COMM_WORLD */
  int serial;           /* nonzero: one rank, MPI is neither initialised nor used */
  const char *help;     /* what the program does; heads the text of -help */
  /* the application's own options (ends with a NULL key), listed by -help and never reported as unknown or
     unused; may be NULL */
  const struct PoiseOption *options;
  void *stream; /* a cudaStream_t for the device cuda to work on (see PoiseStream); NULL: one of its own */
} PoiseInit;

/*
  Create a context. Collective over the communicator. Before or after the application's MPI_Init: if MPI is
  not initialised, Poise initialises it (MPI_THREAD_FUNNELED) and finalises it at process exit once all
  contexts are finalised; so initialise and finalise may be repeated in one process. argc and argv may be
  NULL; they are not modified. Options: code (PoiseOptionsSet) < environment POISE_OPTIONS < -options_file <
  command line; those of rank 0, on all ranks. In the environment and in files, which are Poise's alone, an
  option prefix may be left out; a key that begins with it is also an option of that whole name. On the
  command line words that are no option or its value, words with two dashes, and all behind "--" are left
  alone. "-1" is a value, not an option. Without an option prefix --help, and -h without a value where the
  application's table has no h, mean -help, --version means -version: these print, and PoiseRun then does
  nothing (PoiseAnswered). Before the first solve (PoiseKSPSetUp) a key that nobody knows or has asked for is
  POISE_ERR_OPTION if, behind a prefix with which an object has read options, it begins with ksp_, pc_, mat_,
  vec_, device_ or log_ and is near a known key. Others are named on standard error: keys of the application's
  that are not in its table should be asked for before. init may be NULL. *ctx is NULL after a failure.
*/
POISE_API PoiseErr PoiseInitialize(int *argc, char ***argv, const PoiseInit *init, PoiseContext *ctx);
/* Print what options asked for (-log_view), name unused options on standard error (-options_left; "error":
   and it is POISE_ERR_OPTION, the context being released all the same), release the context, null the
   pointer. Collective. All objects of the context must have been destroyed: POISE_ERR_STATE names how many
   were not (and the context is kept). Before the application's MPI_Finalize: after it, this is not
   collective, prints nothing, releases this rank's context and is POISE_ERR_STATE. */
POISE_API PoiseErr PoiseFinalize(PoiseContext *ctx);
/*
  Run body(ctx, arg) on all ranks. With option -ranks <n> (or n > 1 set by PoiseOptionsSet) on a one-rank
  context: on n threads of this process, each with a context of its own that is valid inside body only;
  otherwise body is simply called with ctx. Returns the first failing rank's code; its trace becomes this
  thread's. body must not keep objects. After -help or -version body is not called, and the code is POISE_OK.
*/
POISE_API PoiseErr PoiseRun(PoiseContext ctx, PoiseErr (*body)(PoiseContext ctx, void *arg), void *arg);

/* Nonzero where -help or -version was given, which PoiseInitialize has answered: a program without PoiseRun
   finalises and ends. */
POISE_API int PoiseAnswered(PoiseContext ctx);
POISE_API int PoiseRank(PoiseContext ctx); /* 0 .. PoiseSize - 1 */
POISE_API int PoiseSize(PoiseContext ctx); /* number of ranks */
/* Wait for all ranks. Collective. */
POISE_API PoiseErr PoiseBarrier(PoiseContext ctx);
/* Agree on an error: every rank passes its own code; when any failed, all fail (see "Collective" above).
   Collective. */
POISE_API PoiseErr PoiseAgree(PoiseContext ctx, PoiseErr mine);
/* v[0..n) = sum over ranks, added in rank order: the same bits on every rank. Collective. */
POISE_API PoiseErr PoiseSum(PoiseContext ctx, int n, double *v);
/* v[0..n) = maximum over ranks. Collective. */
POISE_API PoiseErr PoiseMax(PoiseContext ctx, int n, double *v);
/* Rows [*begin, *begin + *n) of N that this rank owns in the default layout (the first N mod size ranks own
   one more). */
POISE_API void PoiseSplit(PoiseContext ctx, PoiseInt N, PoiseInt *begin, PoiseInt *n);

/* Where views, monitors and reports go; NULL: stdout. Only rank 0 writes. Borrowed. */
POISE_API void PoiseSetOutput(PoiseContext ctx, FILE *out);
/* Print on rank 0 to the context's output; other ranks do nothing. Not collective. */
POISE_API PoiseErr PoisePrintf(PoiseContext ctx, const char *format, ...) POISE_PRINTF(2, 3);
/* Seconds of a monotonic clock. */
POISE_API double PoiseTime(void);
/* Print version, build, device, ranks and threads to the context's output (option -poise_view).
   Collective. */
POISE_API PoiseErr PoiseView(PoiseContext ctx);

/* ---- memory ---------------------------------------------------------------------------------- */

/* Bytes of arrays on the host and on the device, of this rank: PoiseVecBytes, PoiseMatBytes, PoiseKSPBytes
   say what an object holds (the user's arrays that it uses in place among them). Some hundred bytes of fixed
   size per object are left out. With -device host all is on the host. */
typedef struct PoiseBytes {
  int64_t host, device;
} PoiseBytes;

/*
  What an object will hold on this rank, asked before it is allocated (PoiseVecPredictBytes,
  PoiseMatPredictBytes, PoisePCPredictBytes, PoiseKSPPredictBytes): from least to most bytes on each side. The
  two are equal where sizes alone decide, and bounds where a pattern does. What is allocated besides while an
  object is set up, and released, is not in it; the functions say how much that is.
*/
typedef struct PoisePrediction {
  PoiseBytes least, most;
  const char *
      beyond; /* NULL, or what else there may be of which nothing can be known ("what cuSPARSE asks for"); static text */
} PoisePrediction;

/* Memory of the device that this rank works on, all ranks' together: bytes that are free, and all. Either may
   be NULL. What does not fit is POISE_ERR_MEMORY, which states what was asked for and what was free; the
   program may release something and go on. On cuda a rank keeps what it released, up to an eighth of the
   GPU's memory, to use it again: here that is free. Waits for the device. Not collective. */
POISE_API PoiseErr PoiseDeviceMemory(PoiseContext ctx, int64_t *left, int64_t *total);

/*
  The stream on which the device works: on cuda a cudaStream_t, in which an application's own kernels find its
  results without a wait; else NULL. PoiseInit.stream, if given, which must be of this rank's current GPU and
  outlive the context, and may not be the legacy default stream; else one that waits for no other: what an
  application writes in a stream of its own to an array that it lends must be done before the library is
  called. Not collective. Calls work on the context's GPU from any thread, whichever is current there, and
  leave that as it was. Only PoiseInitialize makes its GPU current, in a thread that has used none. Who has
  chosen another one makes the context's current to start kernels in this stream. In a program with one CUDA
  runtime for both (a static library) an error that nobody asked for is dropped when the library next starts a
  kernel, and not taken for the kernel's.
*/
POISE_API void *PoiseStream(PoiseContext ctx);

/* Who owns a user's array afterwards. */
typedef enum PoiseOwn {
  POISE_COPY,  /* copied; the user's array is not needed after the call */
  POISE_ADOPT, /* the library takes it, and frees it with free() when done (on a device, with cudaFree) */
  /* used in place; it must outlive the object, and is current whenever a library call has returned */
  POISE_BORROW
} PoiseOwn;

/* ---- options --------------------------------------------------------------------------------- */

typedef enum PoiseOptionType {
  POISE_OPTION_BOOL, /* int: yes/no, true/false, on/off, 1/0, or no value (= true) */
  POISE_OPTION_INT,  /* PoiseInt */
  POISE_OPTION_REAL, /* double */
  /* char[POISE_OPTION_LENGTH]; needs a value, unless `choices` is the one of a key that stands alone */
  POISE_OPTION_STRING,
  POISE_OPTION_CHOICE /* int: index into `choices`, words separated by '|', given in small letters or capitals; "a=b" after a
                          word gives an alias a of b, "=b" means b where the key stands alone */
} PoiseOptionType;

#define POISE_OPTION_LENGTH 256

/* One row of an option table: gives the parser, -help, the views and the reference page. A table ends with a
   NULL key. */
typedef struct PoiseOption {
  const char *key; /* without the leading '-', e.g. "ksp_rtol" */
  PoiseOptionType type;
  size_t offset;       /* of the field in the struct that PoiseOptionsRead fills */
  const char *initial; /* default value, as text */
  double min, max;     /* legal range of INT and REAL (both 0: any) */
  const char *choices; /* of CHOICE; of a STRING that may stand alone; else NULL */
  const char *help;    /* one line */
} PoiseOption;

/* Give an option a value from code, which every other source overrides. key with or without '-'; value may be
   NULL. Not collective, but all ranks must do the same. In the body of PoiseRun it holds for this thread rank
   and ends with it. */
POISE_API PoiseErr PoiseOptionsSet(PoiseContext ctx, const char *key, const char *value);
/* Read "-key value" pairs of one text, e.g. "-ksp_type cg -ksp_rtol 1e-8 # comment", as from code. A value
   stands on the line of its key; '...' or "..." protects blanks. POISE_OPTIONS and options files are read the
   same way. */
POISE_API PoiseErr PoiseOptionsSetString(PoiseContext ctx, const char *text);
/* Set every field of `fields` to its table's default. */
POISE_API PoiseErr PoiseOptionsDefaults(const PoiseOption *table, void *fields);
/* Set those fields whose option was given: "-<prefix><key>". Leaves the others. prefix may be NULL. A
   malformed or out-of-range value is POISE_ERR_OPTION naming key, value, range, and where it was given. */
POISE_API PoiseErr PoiseOptionsRead(PoiseContext ctx, const char *prefix, const PoiseOption *table,
                                    void *fields);
/* Was "-<prefix><key>" given? *value (may be NULL) is lent until the option is set again; "" when it has
   none. Marks the option as used. */
POISE_API int PoiseOptionsHas(PoiseContext ctx, const char *prefix, const char *key, const char **value);
/* Print -help: every option of the library and of the application. Rank 0 writes. */
POISE_API PoiseErr PoiseOptionsHelp(PoiseContext ctx);
/* Write to out (may be NULL), rank 0, the options that nobody asked for, each with the closest known key;
   *count of them (may be NULL). */
POISE_API PoiseErr PoiseOptionsUnused(PoiseContext ctx, FILE *out, int *count);

/* ---- log ------------------------------------------------------------------------------------- */

typedef enum PoiseLogFormat { POISE_LOG_TEXT, POISE_LOG_CSV, POISE_LOG_JSON } PoiseLogFormat;

/* Time an application's own section: Begin/End pairs of the same name (at most 63 printable characters),
   nested as wanted. All ranks should use the same names: one that rank 0 does not have is missing in the
   table. */
POISE_API PoiseErr PoiseLogBegin(PoiseContext ctx, const char *name);
POISE_API PoiseErr PoiseLogEnd(PoiseContext ctx, const char *name);
/* Write the table of events that happened; rank 0 writes. Collective. Option: -log_view
   [:file[:text|csv|json]] at PoiseFinalize, or at the end of PoiseRun on threads, also where ranks have
   failed. PoiseInitialize tries whether the file can be written. */
POISE_API PoiseErr PoiseLogView(PoiseContext ctx, FILE *out, PoiseLogFormat format);

#ifdef __cplusplus
}
#endif

#endif
