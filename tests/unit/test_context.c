/* SPDX-License-Identifier: BSD-3-Clause */
/* Contexts beside the one of the harness; thread ranks that succeed and fail. */
#define _POSIX_C_SOURCE 200809L
#include <stdatomic.h>
#include <unistd.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "files.h"
#include "sys/sys.h"

/* A context from command-line words, on the ranks of ctx: over MPI if it is MPI's, else of the calling thread
   alone. */
static PoiseErr Open(PoiseContext ctx, const char *prefix, const char *words, PoiseContext *own)
{
  PoiseInit init = {.prefix = prefix, .serial = strcmp(ctx->comm->ops->name, "mpi") != 0};
  return TestInitialize(init, words, own);
}

static size_t Length(FILE *f)
{
  return (size_t)ftell(f);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void TestRepeat(PoiseContext ctx)
{
  PoiseContext own, other;
  for (int i = 0; i < 20; i++) {
    if (!CHECK_OK(Open(ctx, NULL, i % 2 ? "-device mock" : "-device host", &own))) return;
    CHECK(!strcmp(own->device->ops->name, i % 2 ? "mock" : "host"));
    double one = 1;
    CHECK_OK(PoiseSum(own, 1, &one));
    CHECK(one == PoiseSize(own));
    if (i % 3 == 0) { /* two at once, not nested */
      CHECK_OK(Open(ctx, NULL, "", &other));
      CHECK_OK(PoiseFinalize(&own));
      own = other;
    }
    CHECK_OK(PoiseFinalize(&own));
    CHECK(!own);
    CHECK_OK(PoiseFinalize(&own)); /* NULL is legal */
  }
  CHECK_ERR(PoiseFinalize(NULL), POISE_ERR_ARG, "NULL");
  CHECK_ERR(PoiseInitialize(NULL, NULL, NULL, NULL), POISE_ERR_ARG, "NULL");
}

static void TestNoArguments(PoiseContext ctx)
{
  PoiseContext own;
  PoiseInit init = {.serial = 1};
  (void)ctx;
  if (!CHECK_OK(PoiseInitialize(NULL, NULL, &init, &own))) return;
  CHECK_INT(PoiseSize(own), 1);
  CHECK_INT(PoiseRank(own), 0);
  CHECK_OK(PoiseFinalize(&own));
}

static void TestPrefix(PoiseContext ctx)
{
  PoiseContext own;
  if (!CHECK_OK(Open(ctx, "ours_", "-device nowhere -ours_device mock -options_left no -ours_host_threads 3",
                     &own)))
    return;
  CHECK(!strcmp(own->device->ops->name, "mock"));
  CHECK_INT(own->device->threads, 3);
  CHECK_OK(PoiseFinalize(&own));
}

static void TestBadOptions(PoiseContext ctx)
{
  static const char *const bad[][2] = {
      {"-ranks 0", "ranks"},
      {"-ranks two", "two"},
      {"-ranks -3", "ranks"},
      {"-device nowhere", "nowhere"},
      {"-host_threads -1", "host_threads"},
  };
  const bool mpi =
      !strcmp(ctx->comm->ops->name, "mpi"); /* whose ranks open one together: one says what is wrong */
  const PoiseErr code = mpi && PoiseRank(ctx) ? POISE_ERR_REMOTE : POISE_ERR_OPTION;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    PoiseContext own = ctx;
    CHECK_ERR(Open(ctx, NULL, bad[i][0], &own), code, bad[i][1]);
    CHECK(!own);
  }
}

static void TestThreads(PoiseContext ctx)
{
  PoiseContext own;
  CHECK(ctx->device->threads >= 1);
  if (!CHECK_OK(Open(ctx, NULL, "-host_threads 5", &own))) return;
  CHECK_INT(own->device->threads, 5);
  CHECK_INT(PoiseThreads(own), 5);
  CHECK_OK(PoiseFinalize(&own));
}

/* Ranks share 40 threads, those that are processes where they are on the same cores; beside a device with
   memory of its own they share 16. The environment may say otherwise. */
static void TestShares(PoiseContext ctx)
{
#ifdef _OPENMP
  PoiseContext own;
  const int before = omp_get_max_threads(), n = strcmp(ctx->comm->ops->name, "mpi") ? 1 : PoiseSize(ctx);
  const bool told = getenv("OMP_NUM_THREADS");
  omp_set_num_threads(40);
  if (CHECK_OK(Open(ctx, NULL, "-device host", &own))) {
    CHECK(PoiseThreads(own) == 40 / n || (PoiseThreads(own) == 40 && (told || n > 1)));
    CHECK_OK(PoiseFinalize(&own));
  }
  if (CHECK_OK(Open(ctx, NULL, "-device mock", &own))) {
    CHECK_INT(PoiseThreads(own), told ? 40 : 16 / n);
    CHECK_OK(PoiseFinalize(&own));
  }
  omp_set_num_threads(before);
#else
  (void)ctx;
  TEST_SKIP("a build without OpenMP has one thread");
#endif
}

/* Every allocation of PoiseInitialize in turn, on the last rank. */
static void TestInitializeMemory(PoiseContext ctx)
{
  bool mpi = !strcmp(ctx->comm->ops->name, "mpi"), fails = !mpi || PoiseRank(ctx) == PoiseSize(ctx) - 1,
       fired = true;
  PoiseInit init = {.serial = !mpi};
  char *argv[] = {"test", "-device", "mock"};
  for (int n = 1; fired && n < 1000; n++) {
    PoiseContext own = calloc(1, sizeof *own);
    own->memory.fail_at = fails ? n : 0;
    PoiseErr e = poiseContextFill(own, 3, argv, &init);
    double any = fails && own->memory.fail_at == 0;
    own->memory.fail_at = 0;
    if (mpi) CHECK_OK(PoiseMax(ctx, 1, &any));
    fired = any > 0;
    if (fired) {
      CHECK_ERR(e, fails ? POISE_ERR_MEMORY : POISE_ERR_REMOTE, "memory");
      CHECK_INT(own->memory.live, 0);
      free(own);
    } else if (CHECK_OK(e)) {
      CHECK(n > 5);
      CHECK_OK(PoiseFinalize(&own));
    }
  }
  CHECK(!fired);
}

static void TestFinalizeChecks(PoiseContext ctx)
{
  PoiseContext own;
  if (!CHECK_OK(Open(ctx, NULL, "", &own))) return;
  own->objects = 2;
  CHECK_ERR(PoiseFinalize(&own), POISE_ERR_STATE, "2 objects");
  if (!CHECK(own)) return;
  own->objects = 0;
  own->memory.live += 3;
  CHECK_ERR(PoiseFinalize(&own), POISE_ERR_INTERNAL, "3 blocks");
  CHECK(!own);
}

/* ---- output ---------------------------------------------------------------------------------- */

static void TestOutput(PoiseContext ctx)
{
  char text[4096];
  FILE *f = tmpfile(), *old = ctx->out;
  PoiseSetOutput(ctx, f);
  CHECK_OK(PoisePrintf(ctx, "%d and %s\n", 42, "words"));
  CHECK(!strcmp(Content(f, text, sizeof text), PoiseRank(ctx) ? "" : "42 and words\n"));
  rewind(f);
  CHECK_OK(PoiseView(ctx));
  CHECK(PoiseRank(ctx) ? !*Content(f, text, sizeof text)
                       : strstr(Content(f, text, sizeof text), ctx->device->ops->name) != NULL);
  PoiseSetOutput(ctx, NULL);
  CHECK(ctx->out == stdout);
  PoiseSetOutput(ctx, old);
  fclose(f);
  CHECK(PoiseTime() <= PoiseTime());
}

static void TestOutputFails(PoiseContext ctx)
{
  FILE *full = fopen("/dev/full", "w"), *old = ctx->out;
  if (!full) TEST_SKIP("there is no /dev/full");
  setvbuf(full, NULL, _IONBF, 0);
  PoiseSetOutput(ctx, full);
  PoiseErr e = PoiseView(ctx);
  CHECK_ERR(e, PoiseRank(ctx) ? POISE_ERR_REMOTE : POISE_ERR_FILE, "output");
  PoiseSetOutput(ctx, old);
  fclose(full);
}

/* What PoiseFinalize writes for these options. */
static void AtEnd(PoiseContext ctx, const char *options, const char *words)
{
  PoiseContext own;
  char text[4096];
  FILE *f = tmpfile();
  if (CHECK_OK(Open(ctx, NULL, options, &own))) {
    bool writes = PoiseRank(own) == 0 && *words;
    PoiseSetOutput(own, f);
    CHECK_OK(PoiseFinalize(&own));
    CHECK(writes == (Length(f) > 0));
    if (writes) CHECK(strstr(Content(f, text, sizeof text), words) != NULL);
  }
  fclose(f);
}

static void TestAtEnd(PoiseContext ctx)
{
  AtEnd(ctx, "", "");
  AtEnd(ctx, "-nonsense 3 -options_left no", "");
  AtEnd(ctx, "-log_view", "Total");
}

static void TestLogFile(PoiseContext ctx)
{
  PoiseContext own;
  char path[] = "test_context_XXXXXX", options[128], text[4096];
  int fd = mkstemp(path);
  if (!CHECK(fd >= 0)) return;
  close(fd);
  snprintf(options, sizeof options, "-log_view :%s:csv -ranks 2", path);
  CHECK_OK(Open(ctx, NULL, options, &own));
  CHECK_OK(PoiseFinalize(&own));
  FILE *f = fopen(path, "r");
  if (CHECK(f)) {
    CHECK(strstr(Content(f, text, sizeof text), "Total") != NULL);
    fclose(f);
  }
  remove(path);
}

static void TestLogFileFails(PoiseContext ctx)
{
  PoiseContext ours = ctx;
  CHECK_ERR(Open(ctx, "ours_", "-ours_log_view elsewhere", &ours), POISE_ERR_OPTION,
            "-ours_log_view elsewhere: expected");
  static const char *const bad[] = {":no/such/folder/log:json", ":.", "elsewhere", ":log:jsn"};
  bool remote = PoiseRank(ctx) && PoiseSize(ctx) > 1 && !strcmp(ctx->comm->ops->name, "mpi");
  char option[64];
  for (int i = 0; i < 4; i++) { /* told before the program works for it */
    PoiseContext own = ctx;
    PoiseErr file = remote ? POISE_ERR_REMOTE : POISE_ERR_FILE;
    snprintf(option, sizeof option, "-log_view %s", bad[i]);
    CHECK_ERR(Open(ctx, NULL, option, &own), i < 2 ? file : POISE_ERR_OPTION, i < 2 ? "cannot" : bad[i]);
    CHECK(!own);
    if (!CHECK_OK(Open(ctx, NULL, "", &own))) return;
    CHECK_OK(PoiseOptionsSet(own, "log_view", bad[i])); /* later */
    CHECK_ERR(PoiseFinalize(&own), i < 2 ? file : POISE_ERR_OPTION, i < 2 ? "cannot" : bad[i]);
    CHECK(!own); /* released all the same */
  }
}

/* Nothing is left in the file's place by a program that never comes to its end. */
static void TestLogFileEarly(PoiseContext ctx)
{
  char folder[] = "test_context_XXXXXX", option[64];
  PoiseContext own;
  (void)ctx;
  if (!CHECK(mkdtemp(folder))) return;
  snprintf(option, sizeof option, "-log_view :%s/log.txt", folder);
  if (CHECK_OK(Open(ctx, NULL, option, &own))) {
    CHECK(!rmdir(folder)); /* it is empty */
    CHECK_ERR(PoiseFinalize(&own), POISE_ERR_FILE, folder);
  }
}

static PoiseErr Called(PoiseContext ctx, void *arg)
{
  (void)ctx;
  atomic_fetch_add((atomic_int *)arg, 1);
  return POISE_OK;
}

/* What a program prints that is started with these words, and how often its body runs. */
static int Start(PoiseInit init, const char *words, char text[4096])
{
  atomic_int calls = 0;
  PoiseContext own;
  FILE *f = tmpfile();
  init.serial = 1;
  fflush(stdout);
  fflush(stderr);
  int saved[] = {dup(STDOUT_FILENO), dup(STDERR_FILENO)};
  dup2(fileno(f), STDOUT_FILENO); /* a new context writes to stdout */
  dup2(fileno(f), STDERR_FILENO);
  PoiseErr e = TestInitialize(init, words, &own);
  if (!e) e = PoiseRun(own, Called, &calls);
  bool answered = !e && PoiseAnswered(own);
  if (!e) e = PoiseFinalize(&own);
  fflush(stdout);
  fflush(stderr);
  dup2(saved[0], STDOUT_FILENO);
  dup2(saved[1], STDERR_FILENO);
  close(saved[0]);
  close(saved[1]);
  CHECK_OK(e);
  CHECK(answered == (calls == 0));
  Content(f, text, 4096);
  fclose(f);
  return calls;
}

/* Programs that are asked what they are answer, and do nothing else. */
static void TestHelp(PoiseContext ctx)
{
  static const char *const asked[] = {"-help",    "--help", "-h", "-h -zzz 3", "-help -ranks 3 -log_view",
                                      "-help yes"};
  static const char *const other[] = {"", "-help no", "-h 3 -options_left no", "-- --help", "word"};
  static const PoiseOption height[] = {{"h", POISE_OPTION_REAL, 0, "1", 0, 0, NULL, "mesh size"}, {0}};
  static const PoiseOption version[] = {{"version", POISE_OPTION_INT, 0, "1", 0, 0, NULL, "of the input"},
                                        {0}};
  char text[4096], words[64];
  (void)ctx;
  for (int i = 0; i < 6; i++) {
    CHECK_INT(Start((PoiseInit){.help = "Solves a puzzle."}, asked[i], text), 0);
    CHECK(!strncmp(text, "Solves a puzzle.\n", 17) && strstr(text, "-ranks <") && !strstr(text, "Total"));
  }
  for (int i = 0; i < 5; i++) {
    CHECK_INT(Start((PoiseInit){.help = "Solves a puzzle."}, other[i], text), 1);
    CHECK(!*text);
  }
  CHECK_INT(Start((PoiseInit){.options = height}, "-h", text), 1); /* its own */
  CHECK_INT(Start((PoiseInit){.options = height}, "--help", text), 0);
  CHECK_INT(Start((PoiseInit){.prefix = "ours_"}, "--help -h -help -version", text), 1); /* somebody else's */
  CHECK(!*text);
  CHECK_INT(Start((PoiseInit){.prefix = "ours_"}, "-ours_help", text), 0);
  snprintf(words, sizeof words, "Poise %d.%d.%d\n", POISE_VERSION_MAJOR, POISE_VERSION_MINOR,
           POISE_VERSION_PATCH);
  for (int i = 0; i < 2; i++) {
    CHECK_INT(Start((PoiseInit){0}, i ? "-version" : "--version", text), 0);
    CHECK(!strcmp(text, words));
  }
  CHECK_INT(Start((PoiseInit){.options = version}, "-version 1", text), 1);
}

/* ---- ranks ----------------------------------------------------------------------------------- */

static void TestSplit(PoiseContext ctx)
{
  PoiseInt size = PoiseSize(ctx), totals[] = {0, 1, size - 1, size, size + 1, 1000003, (PoiseInt)1 << 40};
  for (size_t i = 0; i < sizeof totals / sizeof *totals; i++) {
    PoiseInt N = totals[i], begin, n, before, total;
    PoiseSplit(ctx, N, &begin, &n);
    CHECK_OK(poiseCommScan(ctx->comm, n, &before, &total));
    CHECK_INT(begin, before);
    CHECK_INT(total, N);
    CHECK_INT(n, N / size + (PoiseRank(ctx) < N % size));
  }
}

typedef struct Story { /* what a body is to do */
  int ranks;
  unsigned failing, hanging; /* bits of ranks: return an error; wait for the others */
  atomic_int *calls;
} Story;

static PoiseErr Act(PoiseContext ctx, void *arg)
{
  Story *s = arg;
  int rank = PoiseRank(ctx);
  atomic_fetch_add(s->calls, 1);
  CHECK_INT(PoiseSize(ctx), s->ranks);
  double sum = rank;
  CHECK_OK(PoiseSum(ctx, 1, &sum));
  CHECK_INT(sum, s->ranks * (s->ranks - 1) / 2);
  if (s->failing >> rank & 1) FAIL(POISE_ERR_USER, "rank %d does not like it", rank);
  if (s->hanging >> rank & 1) TRY(PoiseBarrier(ctx));
  return POISE_OK;
}

static void RunStory(PoiseContext ctx, int ranks, unsigned failing, unsigned hanging, const char *words)
{
  PoiseContext own;
  char options[32];
  atomic_int calls = 0;
  Story s = {ranks, failing, hanging, &calls};
  snprintf(options, sizeof options, "-ranks %d", ranks);
  if (!CHECK_OK(Open(ctx, NULL, options, &own))) return;
  PoiseErr e = PoiseRun(own, Act, &s);
  if (failing) {
    CHECK(strstr(PoiseErrorText(), "Act") != NULL); /* the trace came along */
    CHECK_ERR(e, POISE_ERR_USER, words);
  } else {
    CHECK_OK(e);
  }
  CHECK_INT(calls, ranks);
  CHECK_OK(PoiseFinalize(&own));
}

static void TestRun(PoiseContext ctx)
{
  static const int ranks[] = {1, 2, 3, 5, 16};
  for (int i = 0; i < 5; i++) RunStory(ctx, ranks[i], 0, ~0u, "");
}

static void TestRunFails(PoiseContext ctx)
{
  for (int again = 0; again < 5; again++) {
    RunStory(ctx, 1, 1, 0, "rank 0 does not like it");
    RunStory(ctx, 4, 4, 0, "rank 2 does not like it");
    RunStory(ctx, 4, 10, 0, "rank 1 does not like it");
    RunStory(ctx, 4, 15, 0, "rank 0 does not like it");
    RunStory(ctx, 4, 8, 7, "rank 3 does not like it"); /* the others wait for it, and are told */
  }
}

/* One rank leaves while the others exchange with each other and with it. */
static PoiseErr Desert(PoiseContext ctx, void *arg)
{
  Comm *comm = ctx->comm;
  int next = (comm->rank + 1) % comm->size, previous = (comm->rank + comm->size - 1) % comm->size;
  int64_t start[2] = {0, 1};
  double *send = malloc(sizeof *send), *recv = malloc(sizeof *recv); /* on the heap: a late reader is seen */
  Exchange ex = {1, 1, &next, &previous, start, start, send, recv, NULL};
  (void)arg;
  PoiseErr e = comm->ops->exchange_setup(comm, &ex);
  for (int turn = 0; turn < 1000 && !e; turn++) {
    if (comm->rank == 1 && turn == 20)
      e = PoiseErrorSet(POISE_ERR_USER, __func__, __FILE__, __LINE__, "I am off");
    else if (!(e = comm->ops->exchange_begin(comm, &ex)))
      e = comm->ops->exchange_end(comm, &ex);
  }
  comm->ops->exchange_free(comm, &ex);
  free(send);
  free(recv);
  CHECK(e == (comm->rank == 1 ? POISE_ERR_USER : POISE_ERR_REMOTE));
  return e;
}

static void TestRunDesertion(PoiseContext ctx)
{
  PoiseContext own;
  if (!CHECK_OK(Open(ctx, NULL, "-ranks 5", &own))) return;
  for (int again = 0; again < 5; again++) CHECK_ERR(PoiseRun(own, Desert, NULL), POISE_ERR_USER, "I am off");
  CHECK_OK(PoiseFinalize(&own));
}

static PoiseErr Leave(PoiseContext ctx, void *arg)
{
  if (PoiseRank(ctx) == 1 && arg) ctx->objects = 1;
  if (PoiseRank(ctx) == 2 && !arg) ctx->memory.live += 1;
  return POISE_OK;
}

static PoiseErr FinalizeInside(PoiseContext ctx, void *arg)
{
  (void)arg;
  return PoiseFinalize(&ctx);
}

static PoiseErr Nested(PoiseContext ctx, void *arg)
{
  atomic_int calls = 0;
  Story s = {PoiseSize(ctx), 0, ~0u, &calls};
  (void)arg;
  TRY(PoiseRun(ctx, Act, &s)); /* here: a plain call */
  CHECK_INT(calls, 1);
  return POISE_OK;
}

static void TestRunRules(PoiseContext ctx)
{
  PoiseContext own;
  if (!CHECK_OK(Open(ctx, NULL, "-ranks 3", &own))) return;
  CHECK_ERR(PoiseRun(own, Leave, own), POISE_ERR_STATE, "1 objects");
  CHECK_ERR(PoiseRun(own, Leave, NULL), POISE_ERR_INTERNAL, "1 blocks");
  CHECK_ERR(PoiseRun(own, FinalizeInside, NULL), POISE_ERR_STATE, "PoiseRun");
  CHECK_ERR(PoiseRun(own, NULL, NULL), POISE_ERR_ARG, "body");
  CHECK_OK(PoiseRun(own, Nested, NULL));
  CHECK_OK(PoiseOptionsSet(own, "ranks", "1")); /* the command line is stronger */
  CHECK_OK(PoiseRun(own, Nested, NULL));
  CHECK_OK(PoiseFinalize(&own));
}

static PoiseErr RunAllocating(PoiseContext ctx, void *arg)
{
  atomic_int calls = 0;
  (void)arg;
  return PoiseRun(ctx, Act, &(Story){3, 0, ~0u, &calls});
}

/* Contexts of thread ranks: what the last one allocates fails in turn. */
static void TestRunMemory(PoiseContext ctx)
{
  PoiseContext own;
  for (int log = 0; log < 2; log++) {
    FILE *f = tmpfile();
    if (!CHECK_OK(Open(ctx, NULL, log ? "-ranks 3 -device mock -log_view" : "-ranks 3 -device mock", &own)))
      return;
    PoiseSetOutput(own, f);
    TestAllocationFailures(own, RunAllocating, NULL);
    CHECK_OK(PoiseFinalize(&own));
    fclose(f);
  }
}

static void TestRunUnderMPI(PoiseContext ctx)
{
  PoiseContext own;
  atomic_int calls = 0;
  char words[64];
  if (strcmp(ctx->comm->ops->name, "mpi") || PoiseSize(ctx) == 1) TEST_SKIP("not several MPI ranks");
  if (!CHECK_OK(Open(ctx, NULL, "-ranks 2", &own))) return;
  snprintf(words, sizeof words, "-ranks 2 (threads) inside %d MPI ranks", PoiseSize(ctx));
  CHECK_ERR(PoiseRun(own, Act, &(Story){2, 0, 0, &calls}), POISE_ERR_UNSUPPORTED, words);
  CHECK_INT(calls, 0);
  CHECK_OK(PoiseFinalize(&own));
}

static void TestRunLog(PoiseContext ctx)
{
  PoiseContext own;
  char text[4096];
  atomic_int calls = 0;
  FILE *f = tmpfile();
  if (CHECK_OK(Open(ctx, NULL, "-ranks 2 -log_view", &own))) {
    PoiseSetOutput(own, f);
    CHECK_OK(PoiseRun(own, Act, &(Story){2, 0, 0, &calls}));
    const char *first = strstr(Content(f, text, sizeof text), "Total");
    size_t length = strlen(text);
    CHECK(first && !strstr(first + 1, "Total")); /* once: by rank 0 */
    CHECK_OK(PoiseFinalize(&own));
    CHECK(strlen(Content(f, text, sizeof text)) == length); /* and not again */
  }
  fclose(f);
}

/* The log of ranks that fail, all or some, some of them waiting for the others: what they did is counted. */
static void TestRunLogFails(PoiseContext ctx)
{
  static const unsigned failing[] = {15, 1, 4, 8}, hanging[] = {0, 14, 11, 0};
  PoiseContext own;
  char text[4096];
  for (int i = 0; i < 4; i++) {
    atomic_int calls = 0;
    FILE *f = tmpfile();
    if (CHECK_OK(Open(ctx, NULL, "-ranks 4 -log_view ::csv", &own))) {
      PoiseSetOutput(own, f);
      CHECK_ERR(PoiseRun(own, Act, &(Story){4, failing[i], hanging[i], &calls}), POISE_ERR_USER,
                "does not like it");
      const char *total = strstr(Content(f, text, sizeof text), "\"Total\",1,1,");
      CHECK(total && !strstr(total + 8, "Total")); /* once */
      CHECK_OK(PoiseFinalize(&own));
    }
    fclose(f);
  }
}

static const Test tests[] = {
    {"repeat", TestRepeat, 0},
    {"no_arguments", TestNoArguments, 0},
    {"prefix", TestPrefix, 0},
    {"bad_options", TestBadOptions, 0},
    {"threads", TestThreads, 0},
    {"shares", TestShares, 0},
    {"initialize_memory", TestInitializeMemory, 0},
    {"finalize_checks", TestFinalizeChecks, 0},
    {"output", TestOutput, 0},
    {"output_fails", TestOutputFails, 0},
    {"at_end", TestAtEnd, 0},
    {"log_file", TestLogFile, TEST_SERIAL | TEST_HOST_ONLY},
    {"log_file_fails", TestLogFileFails, 0},
    {"log_file_early", TestLogFileEarly, TEST_SERIAL | TEST_HOST_ONLY},
    {"help", TestHelp, TEST_SERIAL},
    {"split", TestSplit, 0},
    {"run", TestRun, TEST_SERIAL},
    {"run_fails", TestRunFails, TEST_SERIAL},
    {"run_desertion", TestRunDesertion, TEST_SERIAL},
    {"run_rules", TestRunRules, TEST_SERIAL},
    {"run_memory", TestRunMemory, TEST_SERIAL},
    {"run_under_mpi", TestRunUnderMPI, 0},
    {"run_log", TestRunLog, TEST_SERIAL},
    {"run_log_fails", TestRunLogFails, TEST_SERIAL},
    {NULL, NULL, 0},
};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "context", tests);
}
