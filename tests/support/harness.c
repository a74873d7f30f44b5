/* SPDX-License-Identifier: BSD-3-Clause */
/*
  CUnit's asserts are not thread safe, and know one process. So checks are recorded here. The main thread
  passes them to CUnit once all ranks have finished. Under MPI every rank passes the failures of all ranks, so
  that counts agree; rank 0 prints.
*/
#define _GNU_SOURCE /* sched_setaffinity */
#include "harness.h"

#include <CUnit/Basic.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>

#include "sys/link/link_parts.h"
#include "sys/sys.h"

enum { MAX_LIST = 8, MAX_CONFIGS = 64, MAX_FAILURES = 40, MAX_ALLOCATIONS = 5000, MAX_WORDS = 64 };

static const int thread_ranks[] = {1, 2, 4, 7};

static const char *const devices[] = {
#define DEVICE(name) #name,
#include "sys/device/devices.def"
#undef DEVICE
};

#define LENGTH(a) ((int)(sizeof(a) / sizeof *(a)))

typedef struct Failure {
  int line;
  char file[64], text[1600];
} Failure;

typedef struct Config {
  const char *device;
  int ranks;
  bool wide; /* row offsets are int64 */
  char name[96];
} Config;

static struct { /* CUnit calls tests without an argument */
  const Test *tests;
  Config config[MAX_CONFIGS];
  int nconfig;
  PoiseContext control; /* lives through the run: what the MPI ranks agree over */
  bool mpi;
  pthread_mutex_t lock;
  Failure failure[MAX_FAILURES];
  int nfailure; /* all of them; those that fit are stored */
  atomic_llong checks;
  char skipped[256];
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local int this_rank;

#ifdef __SANITIZE_THREAD__
enum { SANITIZES_THREADS = 1 };
#else
enum { SANITIZES_THREADS = 0 };
#endif

/* ---- checks ---------------------------------------------------------------------------------- */

static void Record(const char *file, int line, const char *format, ...) POISE_PRINTF(3, 4);
static void Record(const char *file, int line, const char *format, ...)
{
  va_list args;
  const char *slash = strrchr(file, '/');
  pthread_mutex_lock(&state.lock);
  if (state.nfailure < MAX_FAILURES) {
    Failure *f = &state.failure[state.nfailure];
    f->line = line;
    snprintf(f->file, sizeof f->file, "%s", slash ? slash + 1 : file);
    int n = snprintf(f->text, sizeof f->text, "rank %d: ", this_rank);
    va_start(args, format);
    vsnprintf(f->text + n, sizeof f->text - (size_t)n, format, args);
    va_end(args);
  }
  state.nfailure++;
  pthread_mutex_unlock(&state.lock);
}

int TestCheck(int holds, const char *file, int line, const char *text)
{
  atomic_fetch_add_explicit(&state.checks, 1, memory_order_relaxed);
  if (!holds) Record(file, line, "%s", text);
  return holds;
}

int TestCheckOk(PoiseErr e, const char *file, int line, const char *text)
{
  atomic_fetch_add_explicit(&state.checks, 1, memory_order_relaxed);
  if (e) Record(file, line, "%s\n%s", text, PoiseErrorText());
  return !e;
}

int TestCheckErr(PoiseErr e, PoiseErr code, const char *words, const char *file, int line, const char *text)
{
  atomic_fetch_add_explicit(&state.checks, 1, memory_order_relaxed);
  const char *message = PoiseErrorMessage();
  int holds = e == code && strstr(message, words);
  if (!holds)
    Record(file, line, "%s gave '%s' (\"%s\") instead of '%s' with \"%s\"", text, PoiseErrorString(e),
           e ? message : "", PoiseErrorString(code), words);
  PoiseErrorClear();
  return holds;
}

int TestCheckNear(double a, double b, double tol, const char *file, int line, const char *text)
{
  atomic_fetch_add_explicit(&state.checks, 1, memory_order_relaxed);
  int holds = fabs(a - b) <= tol;
  if (!holds) Record(file, line, "%s: %.17g and %.17g differ by %g > %g", text, a, b, fabs(a - b), tol);
  return holds;
}

int TestCheckInt(int64_t a, int64_t b, const char *file, int line, const char *text)
{
  atomic_fetch_add_explicit(&state.checks, 1, memory_order_relaxed);
  if (a != b) Record(file, line, "%s: %lld and %lld", text, (long long)a, (long long)b);
  return a == b;
}

void TestSkip(const char *reason)
{
  pthread_mutex_lock(&state.lock);
  snprintf(state.skipped, sizeof state.skipped, "%s", reason);
  pthread_mutex_unlock(&state.lock);
}

void SetOptions(PoiseContext ctx, const char *options)
{
  CHECK_OK(PoiseOptionsSetString(ctx, options));
  CHECK_OK(PoiseBarrier(ctx));
}

PoiseErr TestInitialize(PoiseInit init, const char *words, PoiseContext *own)
{
  char text[512], *argv[MAX_WORDS] = {"test"}, **list = argv, *rest = text;
  int argc = 1;
  if (strlen(words) >= sizeof text) POISE_FAIL(POISE_ERR_ARG, "more words than the test has room for");
  strcpy(text, words);
  for (char *w = strtok_r(text, " ", &rest); w; w = strtok_r(NULL, " ", &rest)) {
    if (argc == MAX_WORDS) POISE_FAIL(POISE_ERR_ARG, "more words than the test has room for");
    argv[argc++] = w;
  }
  init.keep_running = 1; /* -help ends no test */
  return PoiseInitialize(&argc, &list, &init, own);
}

FILE *TestPrintBegin(PoiseContext ctx)
{
  FILE *file = tmpfile();
  CHECK(file != NULL);
  PoiseSetOutput(ctx, file);
  return file;
}

void TestPrintEnd(PoiseContext ctx, FILE *file, char *text, size_t size)
{
  PoiseSetOutput(ctx, NULL);
  text[0] = 0;
  if (!file) return;
  rewind(file);
  text[fread(text, 1, size - 1, file)] = 0;
  fclose(file);
  CHECK(!PoiseRank(ctx) || !text[0]);
}

double TestRandom(uint64_t seed, uint64_t i)
{
  uint64_t z = (seed + 1) * UINT64_C(0xd1342543de82ef95) + (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  z ^= z >> 31;
  return (double)(z >> 11) * 0x1p-52 - 1;
}

/* ---- allocation failures --------------------------------------------------------------------- */

void TestFreeIdle(PoiseContext ctx)
{
  if (ctx->link && !poiseLinkIsLibrary(ctx->link)) CHECK_OK(poiseShareFreeIdle(&ctx->link->sharing));
}

/* Is there an n-th allocation on that rank? */
static bool FailOne(PoiseContext ctx, int rank, int n, PoiseErr (*body)(PoiseContext, void *), void *arg)
{
  TestFreeIdle(ctx);
  int64_t live = ctx->memory.live, objects = ctx->objects;
  bool fails = PoiseRank(ctx) == rank;
  if (fails) poiseAllocFailAt(ctx, n);
  PoiseErr e = body(ctx, arg);
  double fired = fails && !ctx->memory.fail_at;
  poiseAllocFailAt(ctx, 0);
  if (e) {
    CHECK(fired || !fails);
    CHECK_ERR(e, fails ? POISE_ERR_MEMORY : POISE_ERR_REMOTE,
              fails ? "" : PoiseErrorString(POISE_ERR_MEMORY));
  }
  if (!CHECK_OK(PoiseMax(ctx, 1, &fired))) return false;
  TestFreeIdle(ctx);
  bool good = CHECK(!fired || e) && CHECK_INT(live, ctx->memory.live) && CHECK_INT(objects, ctx->objects) &&
              CHECK_INT(0, ctx->self ? ctx->self->objects : 0);
  double bad = !good;
  if (!good) Record(__FILE__, __LINE__, "when allocation %d of rank %d failed", n, rank);
  return CHECK_OK(PoiseMax(ctx, 1, &bad)) && fired && !bad;
}

/* Leaks are what a failed allocation is about. The sanitizer of threads, which is slow, sees a part. */
enum { STEP_OF_FAILURES = SANITIZES_THREADS ? 5 : 1 };

void TestAllocationFailures(PoiseContext ctx, PoiseErr (*body)(PoiseContext, void *), void *arg)
{
  int size = PoiseSize(ctx), first = size > 2 ? size / 2 : 0, last = size > 2 ? first : size - 1;
  if (!CHECK_OK(body(ctx, arg))) return; /* what grows once and is kept is no leak */
  for (int r = first; r <= last; r++) {
    int n = 1;
    while (n < MAX_ALLOCATIONS && FailOne(ctx, r, n, body, arg)) n += STEP_OF_FAILURES;
    CHECK(n < MAX_ALLOCATIONS);
  }
}

/* ---- one test in one configuration ----------------------------------------------------------- */

static PoiseErr Body(PoiseContext ctx, void *arg)
{
  this_rank = PoiseRank(ctx);
  /* For tools that know no other graphs, and no memory that is freed in the order of a stream. */
  if (getenv("POISE_TEST_PLAIN_GRAPHS")) ctx->device->loops = false;
  if (getenv("POISE_TEST_PLAIN_MEMORY")) ctx->device->pools = false;
  ((const Test *)arg)->run(ctx);
  PoiseErrorClear();
  return POISE_OK;
}

static void RunTest(const Test *test, const Config *config)
{
  PoiseContext ctx;
  char ranks[16];
  const char *options[] = {"test", "-device", config->device, "-ranks", ranks};
  int argc = state.mpi ? 3 : 5;
  char **argv = (char **)options;
  snprintf(ranks, sizeof ranks, "%d", config->ranks);
  if (!CHECK_OK(PoiseInitialize(&argc, &argv, &(PoiseInit){.serial = !state.mpi}, &ctx))) return;
  if (config->wide) ctx->hooks.most_narrow = -1;
  CHECK_OK(PoiseRun(ctx, Body, (void *)test));
  CHECK_OK(PoiseFinalize(&ctx));
}

/* Give CUnit the failures and checks of one rank. */
static void Report(int rank)
{
  Comm *comm = state.control->comm;
  int64_t count[2] = {state.nfailure, atomic_load(&state.checks)};
  comm->ops->bcast(comm, count, sizeof count, rank);
  for (int64_t i = 0; i < count[0] && i < MAX_FAILURES; i++) {
    Failure f = state.failure[i];
    comm->ops->bcast(comm, &f, sizeof f, rank);
    CU_assertImplementation(CU_FALSE, (unsigned)f.line, f.text, f.file, "", CU_FALSE);
  }
  if (count[0] > MAX_FAILURES) CU_FAIL("and more failures");
  for (int64_t i = count[0]; i < count[1]; i++) CU_assertImplementation(CU_TRUE, 0, "", "", "", CU_FALSE);
}

static void RunCurrent(void)
{
  const char *name = CU_get_current_test()->pName, *suite = CU_get_current_suite()->pName;
  const Test *test = state.tests;
  const Config *config = state.config;
  while (strcmp(test->name, name)) test++;
  while (strcmp(config->name, suite)) config++;
  this_rank = PoiseRank(state.control);
  state.nfailure = 0;
  atomic_store(&state.checks, 0);
  state.skipped[0] = 0;
  long long own_checks = 3; /* of RunTest */
  RunTest(test, config);
  if (atomic_load(&state.checks) <= own_checks && !state.nfailure && !state.skipped[0])
    Record(__FILE__, __LINE__, "test %s checks nothing", name);
  for (int r = 0; r < PoiseSize(state.control); r++) Report(r);
  if (state.skipped[0] && PoiseRank(state.control) == 0)
    printf("\n%s %s: skipped: %s\n", suite, name, state.skipped);
}

/* ---- all tests in all configurations --------------------------------------------------------- */

typedef struct Selection {
  const char *device[MAX_LIST], *test;
  int ndevice, ranks[MAX_LIST], nranks;
  int mock_from; /* with so many ranks or more, what runs on mock does not run on the host; 0: it does */
} Selection;

static int Usage(const char *program)
{
  fprintf(stderr, "usage: %s [--devices host,mock] [--ranks 1,2,4,7] [--mock-from 3] [--test name]\n",
          program);
  return 2;
}

/* Splits the commas of the argument in place. */
static bool Parse(int argc, char **argv, Selection *s)
{
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 == argc) return false;
    if (!strcmp(argv[i], "--test")) {
      s->test = argv[i + 1];
      continue;
    }
    if (!strcmp(argv[i], "--mock-from")) {
      s->mock_from = atoi(argv[i + 1]);
      continue;
    }
    bool ranks = !strcmp(argv[i], "--ranks");
    if (!ranks && strcmp(argv[i], "--devices")) return false;
    for (char *word = strtok(argv[i + 1], ","); word; word = strtok(NULL, ",")) {
      if ((ranks ? s->nranks : s->ndevice) == MAX_LIST) return false;
      if (ranks)
        s->ranks[s->nranks++] = atoi(word);
      else
        s->device[s->ndevice++] = word;
    }
  }
  return true;
}

/* Can the device be had on this machine? */
static bool Present(const char *device)
{
  PoiseContext ctx;
  const char *argv[] = {"test", "-device", device, NULL}, **words = argv;
  int argc = 3;
  PoiseErr e = PoiseInitialize(&argc, (char ***)&words, &(PoiseInit){.serial = 1}, &ctx);
  if (!e) e = PoiseFinalize(&ctx);
  if (e == POISE_ERR_DEVICE && PoiseRank(state.control) == 0)
    printf("device %s: skipped: %s\n", device, PoiseErrorMessage());
  PoiseErrorClear();
  return e != POISE_ERR_DEVICE;
}

/* A device that was asked for by name has to be there. */
static void Defaults(Selection *s)
{
  if (!s->ndevice)
    for (int i = 0; i < LENGTH(devices); i++)
      if (Present(devices[i])) s->device[s->ndevice++] = devices[i];
  if (state.mpi)
    s->ranks[0] = PoiseSize(state.control), s->nranks = 1;
  else if (!s->nranks)
    for (int i = 0; i < LENGTH(thread_ranks); i++) s->ranks[s->nranks++] = thread_ranks[i];
}

static bool Wanted(const Test *t, const Selection *s, const char *device, int ranks)
{
  if (s->test && strcmp(s->test, t->name)) return false;
  if ((t->flags & TEST_SERIAL) && ranks > 1) return false;
  if ((t->flags & TEST_LONG) && SANITIZES_THREADS) return false;
  bool host = !strcmp(device, "host"), host_only = t->flags & TEST_HOST_ONLY;
  return host_only ? host : !host || !s->mock_from || ranks < s->mock_from;
}

/* Offsets as those of parts with more than 2^31 entries: in half of the configurations, of each device and
   each number of ranks. */
static bool Wide(const char *device, int ranks)
{
  return (ranks / 2 + !strcmp(device, "mock")) % 2;
}

static int AddSuite(const char *suite, const Selection *s, const char *device, int ranks)
{
  Config *c = &state.config[state.nconfig];
  int added = 0;
  *c = (Config){.device = device, .ranks = ranks, .wide = Wide(device, ranks)};
  snprintf(c->name, sizeof c->name, "%s.%s.%s%d", suite, device, state.mpi ? "np" : "t", ranks);
  CU_pSuite cu = NULL;
  for (const Test *t = state.tests; t->name; t++) {
    if (!Wanted(t, s, device, ranks)) continue;
    if (!cu) cu = CU_add_suite(c->name, NULL, NULL);
    added += CU_add_test(cu, t->name, RunCurrent) != NULL;
  }
  state.nconfig += cu != NULL;
  return added;
}

static bool Known(const char *name)
{
  const Test *t = state.tests;
  while (name && t->name && strcmp(t->name, name)) t++;
  return t->name;
}

/* Without a launcher, MPI stays out of it: thread ranks are what is tested. */
static bool LaunchedByMPI(void)
{
  static const char *const variables[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMI_RANK", "PMIX_RANK"};
  for (int i = 0; i < LENGTH(variables); i++)
    if (getenv(variables[i])) return true;
  return false;
}

static void RunAll(void)
{
  if (PoiseRank(state.control)) {
    CU_run_all_tests(); /* silently */
    return;
  }
  CU_basic_set_mode(CU_BRM_NORMAL);
  CU_basic_run_tests();
}

/* Ranks that hand over from processor to processor take up to twice the time. The suite of communicators goes
   without. Suites that ctest starts side by side begin on different ones. */
static void StayHere(void)
{
#ifdef __linux__
  cpu_set_t here;
  CPU_ZERO(&here);
  CPU_SET((size_t)sched_getcpu(), &here);
  (void)sched_setaffinity(0, sizeof here, &here); /* or else it takes longer */
#endif
}

int TestMain(int argc, char **argv, const char *suite, const Test *tests)
{
  Selection s = {0};
  int added = 0;
  setvbuf(stdout, NULL, _IOLBF, 0); /* what was done before a crash is seen */
  state.tests = tests;
  if (!Parse(argc, argv, &s) || !Known(s.test)) return Usage(argv[0]);
  state.mpi = LaunchedByMPI();
  if (getenv("POISE_TEST_HERE")) StayHere();
  char *words[] = {argv[0], (char *)"-error_trace", (char *)"-device", (char *)"host"}; /* no GPU */
  char **control = words;
  if (PoiseInitialize(&(int){4}, &control, &(PoiseInit){.serial = !state.mpi}, &state.control) ||
      CU_initialize_registry()) {
    fprintf(stderr, "%s cannot start\n%s", argv[0], PoiseErrorText());
    return 1;
  }
  Defaults(&s);
  for (int d = 0; d < s.ndevice; d++)
    for (int r = 0; r < s.nranks; r++) added += AddSuite(suite, &s, s.device[d], s.ranks[r]);
  if (added) RunAll();
  bool failed = CU_get_number_of_failures() || CU_get_number_of_failure_records();
  CU_cleanup_registry();
  if (PoiseFinalize(&state.control)) {
    fprintf(stderr, "%s", PoiseErrorText());
    failed = true;
  }
  if (!added) printf("%s: no test runs in this configuration\n", suite);
  return failed;
}
