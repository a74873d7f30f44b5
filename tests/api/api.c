/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs the tables as suites, <table>.<device>.t<ranks>, or np<ranks> under mpiexec. Checks may come from
   any thread. CUnit gets them once all ranks have finished. Under MPI each rank reports its own checks,
   and its exit status counts. */
#include "api.h"

#include <CUnit/Basic.h>
#include <pthread.h>
#include <stdarg.h>

enum { MOST_TEXT = 700, MOST_KEPT = 4000, MOST_FAILURES = 12, MOST_SUITES = 256 };

typedef struct Kept {
  char key[96];
  int n;
  double *v;
} Kept;

typedef struct Suite {
  const Test *tests;
  const char *device;
  int ranks;
  char name[64];
} Suite;

static struct {
  pthread_mutex_t lock;
  long checks;
  int failures, nkept, nsuite, mpi_rank;
  bool mpi;
  char text[MOST_FAILURES][MOST_TEXT];
  Kept kept[MOST_KEPT];
  Suite suite[MOST_SUITES];
  const char *device; /* of the test that runs */
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local char this_case[160];
static _Thread_local int this_rank;

/* ---- checks ---------------------------------------------------------------------------------- */

static int Record(int holds, const char *file, int line, const char *format, ...) POISE_PRINTF(4, 5);
static int Record(int holds, const char *file, int line, const char *format, ...)
{
  va_list args;
  pthread_mutex_lock(&state.lock);
  state.checks++;
  if (!holds && state.failures++ < MOST_FAILURES) {
    char *text = state.text[state.failures - 1];
    const char *slash = strrchr(file, '/');
    int n = snprintf(text, MOST_TEXT, "%s:%d: rank %d, %s: ", slash ? slash + 1 : file, line, this_rank,
                     this_case);
    va_start(args, format);
    if (n < MOST_TEXT) vsnprintf(text + n, (size_t)(MOST_TEXT - n), format, args);
    va_end(args);
  }
  pthread_mutex_unlock(&state.lock);
  return holds;
}

int ApiCheck(int holds, const char *file, int line, const char *text)
{
  return Record(holds, file, line, "%s", text);
}

int ApiCheckOk(PoiseErr e, const char *file, int line, const char *text)
{
  return Record(!e, file, line, "%s\n%s", text, e ? PoiseErrorText() : "");
}

int ApiCheckErr(PoiseErr e, PoiseErr code, const char *words, const char *file, int line, const char *text)
{
  char message[400];
  snprintf(message, sizeof message, "%s", e ? PoiseErrorMessage() : "");
  /* by another rank */
  bool told = e == code || (e == POISE_ERR_REMOTE && strstr(message, PoiseErrorString(code)));
  int holds = told && message[0] && strstr(message, words);
  PoiseErrorClear();
  return Record(holds, file, line, "%s gave '%s' (\"%s\"), and not '%s' with \"%s\"", text,
                PoiseErrorString(e), message, PoiseErrorString(code), words);
}

int ApiCheckNear(double a, double b, double tol, const char *file, int line, const char *text)
{
  return Record(fabs(a - b) <= tol || a == b, file, line, "%s: %.17g and %.17g, apart by more than %g", text,
                a, b, tol);
}

int ApiCheckInt(long long a, long long b, const char *file, int line, const char *text)
{
  return Record(a == b, file, line, "%s: %lld and %lld", text, a, b);
}

void ApiCase(const char *format, ...)
{
  va_list args;
  va_start(args, format);
  vsnprintf(this_case, sizeof this_case, format, args);
  va_end(args);
}

const char *ApiDevice(PoiseContext ctx)
{
  (void)ctx;
  return state.device;
}

static Kept *Find(const char *key, int n, const double *v)
{
  int k = 0;
  while (k < state.nkept && strcmp(state.kept[k].key, key)) k++;
  if (k == MOST_KEPT) return NULL;
  Kept *kept = &state.kept[k];
  if (k == state.nkept) {
    state.nkept++;
    snprintf(kept->key, sizeof kept->key, "%s", key);
    kept->n = n;
    kept->v = malloc((size_t)n * sizeof *v);
    memcpy(kept->v, v, (size_t)n * sizeof *v);
  }
  return kept;
}

void ApiSame(PoiseContext ctx, const char *key, int n, const double *v, double tol)
{
  if (PoiseRank(ctx)) return;
  const Kept *kept = Find(key, n, v);
  if (!CHECK(kept && kept->n == n)) return;
  for (int i = 0; i < n; i++)
    if (!CHECK_NEAR(v[i], kept->v[i], tol)) return;
}

const char *ApiPath(PoiseContext ctx, const char *name, char path[256])
{
  snprintf(path, 256, "api_%s%d_%s_%s", state.mpi ? "np" : "t", PoiseSize(ctx), state.device, name);
  return path;
}

void ApiWrite(PoiseContext ctx, const char *path, const void *bytes, size_t n)
{
  if (!PoiseRank(ctx)) {
    FILE *f = fopen(path, "wb");
    if (CHECK(f != NULL)) {
      CHECK(fwrite(bytes, 1, n, f) == n);
      fclose(f);
    }
  }
  CHECK_OK(PoiseBarrier(ctx));
}

FILE *ApiPrintBegin(PoiseContext ctx)
{
  FILE *out = tmpfile();
  CHECK(out != NULL);
  PoiseSetOutput(ctx, out);
  return out;
}

void ApiPrintEnd(PoiseContext ctx, FILE *out, char *text, size_t size)
{
  PoiseSetOutput(ctx, NULL);
  text[0] = 0;
  if (!out) return;
  rewind(out);
  text[fread(text, 1, size - 1, out)] = 0;
  fclose(out);
  CHECK(!PoiseRank(ctx) == !!text[0]); /* rank 0 alone prints */
}

/* ---- running --------------------------------------------------------------------------------- */

static PoiseErr Body(PoiseContext ctx, void *arg)
{
  this_rank = PoiseRank(ctx);
  ApiCase("-");
  ((const Test *)arg)->run(ctx);
  PoiseErrorClear();
  return POISE_OK;
}

static PoiseErr Open(const char *device, int ranks, PoiseContext *ctx)
{
  char number[16];
  snprintf(number, sizeof number, "%d", ranks);
  const char *words[] = {"api", "-device", device, "-ranks", number, NULL};
  char **argv = (char **)words;
  int argc = state.mpi ? 3 : 5;
  return PoiseInitialize(&argc, &argv, &(PoiseInit){.serial = !state.mpi}, ctx);
}

static void RunCurrent(void)
{
  const char *name = CU_get_current_test()->pName, *suite = CU_get_current_suite()->pName;
  const Suite *s = state.suite;
  PoiseContext ctx;
  while (strcmp(s->name, suite)) s++;
  const Test *t = s->tests;
  while (strcmp(t->name, name)) t++;
  state.failures = 0;
  state.checks = 0;
  state.device = s->device;
  ApiCase("-");
  if (CHECK_OK(Open(s->device, s->ranks, &ctx))) {
    CHECK_OK(PoiseRun(ctx, Body, (void *)t));
    CHECK_OK(PoiseFinalize(&ctx)); /* finds what was not destroyed */
  }
  CHECK(state.checks > 3);
  for (int i = 0; i < state.failures && i < MOST_FAILURES; i++) {
    if (state.mpi_rank) fprintf(stderr, "%s %s %s\n", suite, name, state.text[i]);
    CU_assertImplementation(CU_FALSE, 0, state.text[i], "", "", CU_FALSE);
  }
  if (!state.failures) CU_PASS("");
}

/* A device that cannot be had is told of, and left out. */
static bool Present(const char *device)
{
  PoiseContext ctx;
  PoiseErr e = Open(device, 1, &ctx);
  if (!e) e = PoiseFinalize(&ctx);
  if (e && !state.mpi_rank) printf("device %s: skipped: %s\n", device, PoiseErrorMessage());
  PoiseErrorClear();
  return !e;
}

static const struct {
  const char *name;
  const Test *tests;
} tables[] = {
    {"vectors", vector_tests},
    {"products", product_tests},
    {"assembly", assembly_tests},
    {"changes", change_tests},
    {"methods", method_tests},
    {"solvers", solver_tests},
    {"pcs", pc_tests},
    {"nested", nested_tests},
    {"files", file_tests},
    {"options", option_tests},
    {"errors", error_tests},
    {"ranks", rank_tests},
    {"arrangement", arrange_tests},
    {"reports", report_tests},
};

static bool AddSuite(int table, const char *device, int ranks)
{
  Suite *s = &state.suite[state.nsuite++];
  *s = (Suite){.tests = tables[table].tests, .device = device, .ranks = ranks};
  snprintf(s->name, sizeof s->name, "%s.%s.%s%d", tables[table].name, device, state.mpi ? "np" : "t", ranks);
  CU_pSuite suite = CU_add_suite(s->name, NULL, NULL);
  for (const Test *t = s->tests; suite && t->name; t++)
    if (!CU_add_test(suite, t->name, RunCurrent)) return false;
  return suite != NULL;
}

static bool Launched(void)
{
  return getenv("OMPI_COMM_WORLD_SIZE") || getenv("PMI_SIZE") || getenv("PMI_RANK") || getenv("PMIX_RANK");
}

/* Arguments: numbers of ranks as threads ("1,2"), then, if wanted, the name of one table. */
int main(int argc, char **argv)
{
  static const char *const devices[] = {"host", "mock", "cuda"};
  PoiseContext whole;
  const char *ranks = argc > 1 ? argv[1] : "1,2,3,4", *only = argc > 2 ? argv[2] : NULL;
  bool added = true;
  setvbuf(stdout, NULL, _IOLBF, 0);
  state.mpi = Launched();
  int words = 4;
  const char *start[] = {"api", "-error_trace", "-device", "host", NULL};
  char **control = (char **)start;
  if (PoiseInitialize(&words, &control, &(PoiseInit){.serial = !state.mpi}, &whole) ||
      CU_initialize_registry()) {
    fprintf(stderr, "%s", PoiseErrorText());
    return 1;
  }
  state.mpi_rank = PoiseRank(whole);
  for (int d = 0; d < 3 && added; d++) {
    if (!Present(devices[d])) continue;
    for (const char *r = state.mpi ? "1" : ranks; r && added; r = strchr(r, ',') ? strchr(r, ',') + 1 : NULL)
      for (size_t t = 0; t < sizeof tables / sizeof *tables && added; t++)
        if (!only || !strcmp(only, tables[t].name))
          added = AddSuite((int)t, devices[d], state.mpi ? PoiseSize(whole) : atoi(r));
  }
  added = added && state.nsuite;
  if (!added) fprintf(stderr, "there is no table %s\n", only ? only : "at all");
  if (added && !state.mpi_rank) CU_basic_set_mode(CU_BRM_NORMAL), CU_basic_run_tests();
  if (added && state.mpi_rank) CU_run_all_tests();
  bool failed = !added || CU_get_number_of_failures() || CU_get_number_of_failure_records();
  CU_cleanup_registry();
  for (int i = 0; i < state.nkept; i++) free(state.kept[i].v);
  return PoiseFinalize(&whole) || failed;
}
