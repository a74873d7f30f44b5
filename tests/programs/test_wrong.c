/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Wrong calls. Each must return an error with a message, neither crash nor hang, and leave all objects so that
  they can be destroyed. Only poise.h is used. Each call runs in a process of its own, so one run reports all
  failures. wrong_calls.def lists the calls, and a line there is the number of a call.
    test_wrong [--device host] [--line 123]      --line: this call alone, in this process, for a debugger
*/
#define _POSIX_C_SOURCE 200809L
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "poise.h"

enum { N = 4, SECONDS = 20 };

/* ---- what calls are given -------------------------------------------------------------------- */

static FILE *nowhere;
static PoiseContext ctx, other; /* two that live, */
static PoiseVec x, y, z;        /* and objects of the first, all of N rows */
static PoiseMat A, B, S, U, R;  /* csr; bcsr; shell; not assembled; N x (N - 1) */
static PoisePC pc, raw_pc;      /* raw: without a matrix */
static PoiseKSP ksp, raw_ksp;   /* ksp has solved */
static PoiseVec small;          /* N - 1 rows */
static PoiseVec pending;        /* entries were added and not assembled */
static PoiseVec far_x;          /* objects of the other context */
static PoiseMat far_A;

/* No objects: destroyed ones, objects of another kind, memory that is none, an address that nothing has. */
static PoiseContext dead_ctx, fake_ctx, wild_ctx;
static PoiseVec dead_x, fake_x, wild_x, odd_x;
static PoiseMat dead_A, fake_A, wild_A;
static PoisePC dead_pc, fake_pc, wild_pc;
static PoiseKSP dead_ksp, fake_ksp, wild_ksp;
static double memory[512];

/* Where a call that goes right by mistake may write. */
static PoiseVec new_x, new_y;
static PoiseMat new_A;
static PoisePC new_pc;
static PoiseKSP new_ksp;
static PoiseInt i0, i1;
static int k0;
static double d0, d1, many[64];
static const double *lent;
static double *lent_too;
static PoiseBytes bytes;
static PoisePrediction prediction;
static const PoiseInt rows[4] = {0, 1, 2, 3}, beyond[2] = {0, 99};
static const double v[64] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
static const PoiseMatCounts negative = {.nonzeros = -1}, counts = {.nonzeros = 10};
static PoiseBlockFill fill[POISE_BLOCK_FILLS];
static int64_t *ptr64, *col64;
static double *val64;

static int32_t ptr[N + 1] = {0, 2, 5, 8, 10}, col[10] = {0, 1, 0, 1, 2, 1, 2, 3, 2, 3};
static double val[10] = {2, -1, -1, 2, -1, -1, 2, -1, -1, 2};
static int32_t falling[N + 1] = {0, 5, 2, 8, 10}, late[N + 1] = {1, 2, 5, 8, 10};
static int32_t wide[10] = {0, 1, 0, 1, 2, 1, 2, 7, 2, 3};
static int32_t twice[10] = {0, 0, 0, 1, 2, 1, 2, 3, 2, 3}, minus[10] = {0, -1, 0, 1, 2, 1, 2, 3, 2, 3};
static int32_t block_ptr[3] = {0, 1, 2}, block_col[2] = {0, 1}, block_beyond[2] = {0, 2};
static double block_val[8] = {2, 0, 0, 2, 2, 0, 0, 2};
static const int64_t ptr_64[N + 1] = {0, 2, 5, 8, 10};
static int64_t least[N + 1] = {INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN,
                               INT64_MIN}; /* and counted from 1 */
static int32_t full[N + 1] = {1, 2, 3, 4, 5};

#define CSR_OF(...)     (&(PoiseCSR){__VA_ARGS__})
#define BCSR_OF(...)    (&(PoiseBCSR){__VA_ARGS__})
#define CSC_OF(...)     (&(PoiseCSC){__VA_ARGS__})
#define COO_OF(...)     (&(PoiseTriplets){.n = 10, __VA_ARGS__})
#define FALLING         .ptr32 = falling, .col32 = col, .val = val
#define LEAST_OFFSET    .base = 1, .ptr64 = least, .col64 = least, .val = val
#define LEAST_COLUMN    .base = 1, .ptr32 = full, .col64 = least, .val = val
#define LEAST_COO       .base = 1, .n = N, .row64 = least, .col64 = least, .val = val
#define TWICE           .ptr32 = ptr, .col32 = twice, .val = val
#define MINUS           .ptr32 = ptr, .col32 = minus, .val = val
#define GOOD            .ptr32 = ptr, .col32 = col, .val = val
#define GOOD_COLUMNS    .ptr32 = ptr, .row32 = col, .val = val
#define FALLING_COLUMNS .ptr32 = falling, .row32 = col, .val = val
#define TWICE_A_ROW     .ptr32 = ptr, .row32 = twice, .val = val
#define BEYOND_COO      .row32 = wide, .col32 = col, .val = val
#define MINUS_COO       .row32 = col, .col32 = minus, .val = val
#define GOOD_COO        .row32 = col, .col32 = col, .val = val
#define GOOD_BLOCKS     .ptr32 = block_ptr, .col32 = block_col, .val = block_val
#define BLOCKS_BEYOND   .ptr32 = block_ptr, .col32 = block_beyond, .val = block_val

typedef struct Fields {
  PoiseInt n;
} Fields;
static Fields fields;
static const PoiseOption table[] = {
    {"n", POISE_OPTION_INT, offsetof(Fields, n), "1", 0, 9, NULL, "a number"},
    {0},
};
static const PoiseOption bad_table[] = {
    {"n", POISE_OPTION_INT, offsetof(Fields, n), "ten", 0, 9, NULL, "none"},
    {0},
};
static const PoiseOption odd_table[] = {
    {"n", (PoiseOptionType)77, offsetof(Fields, n), "1", 0, 9, NULL, "of no type"},
    {0},
};

static PoiseErr Copy(void *arg, PoiseVec in, PoiseVec out)
{
  (void)arg;
  return PoiseVecCopy(in, out);
}

static PoiseErr Fails(void *arg, PoiseVec in, PoiseVec out)
{
  (void)arg, (void)in, (void)out;
  return POISE_ERR_USER;
}

static PoiseErr Body(PoiseContext c, void *arg)
{
  (void)c, (void)arg;
  return POISE_OK;
}

static PoiseErr Monitor(PoiseKSP solver, PoiseInt iteration, double norm, void *arg)
{
  (void)solver, (void)iteration, (void)norm, (void)arg;
  return POISE_OK;
}

static PoiseErr Enter(PoiseKSP solver, PoiseInt iteration, double norm, void *arg)
{
  (void)iteration, (void)norm, (void)arg;
  return PoiseKSPSolve(solver, x, y);
}

static PoiseErr Reset(PoiseKSP solver, PoiseInt iteration, double norm, void *arg)
{
  (void)iteration, (void)norm, (void)arg;
  return PoiseKSPSetOperators(solver, A, NULL);
}

static PoiseErr Judge(PoiseKSP solver, PoiseInt iteration, double norm, PoiseKSPReason *reason, void *arg)
{
  (void)solver, (void)iteration, (void)norm, (void)arg;
  *reason = (PoiseKSPReason)77;
  return POISE_OK;
}

static const PoiseShell copies = {.mult = Copy}, fails = {.mult = Fails}, no_shell = {.mult = NULL};
static const PoiseShellPC copies_pc = {.apply = Copy}, fails_pc = {.apply = Fails};
static const PoiseShellPC no_shell_pc = {.apply = NULL};

static PoiseErr OpenContext(const char *device, PoiseContext *c)
{
  char *words[] = {(char *)"wrong", (char *)"-device", (char *)device, (char *)"-host_threads", (char *)"1"},
       **argv = words;
  int argc = sizeof words / sizeof *words;
  POISE_TRY(PoiseInitialize(&argc, &argv, &(PoiseInit){.serial = 1}, c));
  PoiseSetOutput(*c, nowhere);
  return POISE_OK;
}

static PoiseErr OpenMatrices(void)
{
  POISE_TRY(PoiseMatCreateCSR(ctx, N, N, N, N, CSR_OF(GOOD), POISE_COPY, &A));
  POISE_TRY(PoiseMatCreateBCSR(ctx, 2, N, N, N, N, BCSR_OF(GOOD_BLOCKS), POISE_COPY, &B));
  POISE_TRY(PoiseMatCreateShell(ctx, N, N, N, N, &copies, NULL, &S));
  POISE_TRY(PoiseMatCreate(ctx, N, N, N, N, &U));
  POISE_TRY(PoiseMatAddEntries(U, N, rows, rows, v));
  POISE_TRY(PoiseMatCreate(ctx, N, N - 1, N, N - 1, &R));
  POISE_TRY(PoiseMatAddEntries(R, N - 1, rows, rows, v));
  POISE_TRY(PoiseMatAssemble(R));
  return PoiseMatCreateCSR(other, N, N, N, N, CSR_OF(GOOD), POISE_COPY, &far_A);
}

static PoiseErr OpenVectors(void)
{
  PoiseVec *const all[] = {&x, &y, &z, &pending};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) POISE_TRY(PoiseVecCreate(ctx, N, N, all[i]));
  POISE_TRY(PoiseVecCreate(ctx, N - 1, N - 1, &small));
  POISE_TRY(PoiseVecCreate(other, N, N, &far_x));
  POISE_TRY(PoiseVecAddValues(pending, 1, rows, v));
  return PoiseVecSet(x, 1);
}

static PoiseErr OpenSolvers(void)
{
  POISE_TRY(PoisePCCreate(ctx, &pc));
  POISE_TRY(PoisePCSetType(pc, "jacobi"));
  POISE_TRY(PoisePCSetOperator(pc, A));
  POISE_TRY(PoisePCCreate(ctx, &raw_pc));
  POISE_TRY(PoiseKSPCreate(ctx, &raw_ksp));
  POISE_TRY(PoiseKSPCreate(ctx, &ksp));
  POISE_TRY(PoiseKSPSetOperators(ksp, A, NULL));
  return PoiseKSPSolve(ksp, x, y);
}

/* Last, so that nothing else gets their addresses. */
static PoiseErr OpenDead(const char *device)
{
  PoiseVec dx;
  PoiseMat dA;
  PoisePC dpc;
  PoiseKSP dksp;
  PoiseContext dctx;
  POISE_TRY(OpenContext(device, &dctx));
  POISE_TRY(PoiseVecCreate(ctx, N, N, &dx));
  POISE_TRY(PoiseMatCreateCSR(ctx, N, N, N, N, CSR_OF(GOOD), POISE_COPY, &dA));
  POISE_TRY(PoisePCCreate(ctx, &dpc));
  POISE_TRY(PoiseKSPCreate(ctx, &dksp));
  dead_ctx = dctx;
  dead_x = dx;
  dead_A = dA;
  dead_pc = dpc;
  dead_ksp = dksp;
  POISE_TRY(PoiseKSPDestroy(&dksp));
  POISE_TRY(PoisePCDestroy(&dpc));
  POISE_TRY(PoiseMatDestroy(&dA));
  POISE_TRY(PoiseVecDestroy(&dx));
  return PoiseFinalize(&dctx);
}

static PoiseErr Open(const char *device)
{
  POISE_TRY(OpenContext(device, &ctx));
  POISE_TRY(OpenContext(device, &other));
  POISE_TRY(OpenVectors());
  POISE_TRY(OpenMatrices());
  POISE_TRY(OpenSolvers());
  POISE_TRY(OpenDead(device));
  fake_ctx = (PoiseContext)x;
  fake_x = (PoiseVec)A;
  fake_A = (PoiseMat)x;
  fake_pc = (PoisePC)ksp;
  fake_ksp = (PoiseKSP)pc;
  wild_ctx = (PoiseContext)memory;
  wild_x = (PoiseVec)memory;
  wild_A = (PoiseMat)memory;
  wild_pc = (PoisePC)memory;
  wild_ksp = (PoiseKSP)memory;
  odd_x = (PoiseVec)(uintptr_t)1;
  return POISE_OK;
}

static PoiseErr Close(void)
{
  PoiseVec *const vectors[] = {&x, &y, &z, &pending, &small, &far_x};
  PoiseMat *const matrices[] = {&A, &B, &S, &U, &R, &far_A, &new_A}; /* some are made to be used wrongly */
  POISE_TRY(PoiseKSPDestroy(&ksp));
  POISE_TRY(PoiseKSPDestroy(&raw_ksp));
  POISE_TRY(PoisePCDestroy(&pc));
  POISE_TRY(PoisePCDestroy(&raw_pc));
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) POISE_TRY(PoiseVecDestroy(vectors[i]));
  for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++) POISE_TRY(PoiseMatDestroy(matrices[i]));
  POISE_TRY(PoiseFinalize(&other));
  return PoiseFinalize(&ctx);
}

/* ---- the calls ------------------------------------------------------------------------------- */

/*
  wrong_calls.def lists them:
    WRONG(call)         a call that returns a code
    VALUE(call)         one that returns something else, and leaves its words all the same
    AFTER(first, call)  one that is wrong after `first`, which is right
  The line there is the number of a call.
*/
typedef struct Wrong {
  int line;
  const char *text;
} Wrong;
static const Wrong calls[] = {
#define WRONG(call)        {__LINE__, #call},
#define VALUE(call)        {__LINE__, #call},
#define AFTER(first, call) {__LINE__, #first ", then " #call},
#include "wrong_calls.def"
#undef WRONG
#undef VALUE
#undef AFTER
};
enum { CALLS = sizeof calls / sizeof *calls };

/* A call that should have been right was not: this is no error of the wrong one. */
static PoiseErr Reported(void)
{
  fprintf(stderr, "a call that is right failed: %s", PoiseErrorText());
  return POISE_OK;
}

static PoiseErr Call(int line)
{
  switch (line) {
#define WRONG(call) \
  case __LINE__:    \
    return (call);
#define VALUE(call) \
  case __LINE__:    \
    (void)(call);   \
    return *PoiseErrorMessage() ? POISE_ERR_ARG : POISE_OK;
#define AFTER(first, call)          \
  case __LINE__:                    \
    if ((first)) return Reported(); \
    return (call);
#include "wrong_calls.def"
#undef WRONG
#undef VALUE
#undef AFTER
  default:
    return POISE_OK;
  }
}

/* ---- one process for each -------------------------------------------------------------------- */

typedef enum Verdict { GOOD_ERROR, NO_ERROR, NO_WORDS, HARM, NO_START, CRASH, HANG, VERDICTS } Verdict;
static const char *const verdicts[VERDICTS] = {[GOOD_ERROR] = "gave an error with words",
                                               [NO_ERROR] = "gave no error",
                                               [NO_WORDS] = "gave an error without words",
                                               [HARM] = "left objects that cannot be destroyed",
                                               [NO_START] = "could not be tried",
                                               [CRASH] = "crashed",
                                               [HANG] = "hung"};

static Verdict Try(const char *device, int line)
{
  if (Open(device)) return NO_START;
  PoiseErrorClear();
  PoiseErr e = Call(line);
  if (!e) return NO_ERROR;
  if (!*PoiseErrorMessage()) return NO_WORDS;
  return Close() ? HARM : GOOD_ERROR;
}

static Verdict TryInChild(const char *device, int line)
{
  int status = 0;
  fflush(NULL);
  pid_t child = fork();
  if (child < 0) return NO_START;
  if (!child) {
    alarm(SECONDS);
    _exit((int)Try(device, line));
  }
  if (waitpid(child, &status, 0) != child) return NO_START;
  if (WIFSIGNALED(status)) return WTERMSIG(status) == SIGALRM ? HANG : CRASH;
  return WEXITSTATUS(status) <= NO_START ? (Verdict)WEXITSTATUS(status) : CRASH; /* a sanitizer's exit */
}

static int RunAll(const char *device)
{
  int number[VERDICTS] = {0};
  for (const Wrong *c = calls; c < calls + CALLS; c++) {
    Verdict verdict = TryInChild(device, c->line);
    number[verdict]++;
    if (verdict != GOOD_ERROR) printf("%s, line %d: %s %s\n", device, c->line, c->text, verdicts[verdict]);
  }
  printf("%s: %d wrong calls", device, (int)CALLS);
  for (int k = 0; k < VERDICTS; k++)
    if (number[k]) printf("; %d %s", number[k], verdicts[k]);
  printf("\n");
  return CALLS - number[GOOD_ERROR];
}

int main(int argc, char **argv)
{
  const char *devices[] = {"host", "mock"};
  int count = 2, line = 0, failed = 0;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (!strcmp(argv[i], "--line")) line = atoi(argv[i + 1]);
    if (!strcmp(argv[i], "--device")) devices[0] = argv[i + 1], count = 1;
  }
  nowhere = fopen("/dev/null", "w");
  if (!nowhere) return 1;
  if (line) {
    Verdict verdict = Try(devices[0], line);
    printf("line %d %s\n%s", line, verdicts[verdict], PoiseErrorText());
    return verdict != GOOD_ERROR;
  }
  for (int d = 0; d < count; d++) failed += RunAll(devices[d]);
  fclose(nowhere);
  return failed != 0;
}
