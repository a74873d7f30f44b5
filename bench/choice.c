/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Which product is fastest for which matrix: every type of the library beside others, in turns, on a set of
  matrices with rows of many distributions of lengths (common/matrices.h), on stand-ins for the matrices of
  segSpMV's Table I, and on files:

    choice -device cuda -folder matrices -out choice.csv      everything
    choice -device cuda -only "table1 rmat" -out some.csv     matrices whose names begin so, and groups:
    table1, files, set
    bench/choice.py choice.csv                                tables and a picture

  -types lists the library's contenders, each a type, with options behind colons:
  csr,csri,seg:mat_seg_length=8. Types that do not exist are left out, and told. The others are loops in C on
  a CPU; on a GPU cuSPARSE with CSR (both algorithms, preprocessed) and COO, and for Table I the textbook's
  kernels.

  The CSV file has a line per matrix, contender and mode, and is complete after each matrix, so that a run
  that is stopped loses nothing. Modes as of poise_bench: memory (larger than caches, back to back); for
  smaller matrices cold (caches emptied before each call), warm (back to back) and on GPUs replayed (the same
  from a graph, as solvers do it). setup: microseconds that a contender needs before its first product beside
  its CSR arrays; ours: the first product after a type is set, less a second one, the least of two tries.
  error: |y - A x| over |A| |x|, the largest of a row.
*/
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/library.h"
#include "common/matrices.h"
#include "common/contest.h"

#define TRY POISE_TRY

enum { MAX_TYPES = 16, COMMON_LINES = 4 /* of the view of any matrix */ };

typedef struct Options {
  char only[POISE_OPTION_LENGTH], types[POISE_OPTION_LENGTH], more[POISE_OPTION_LENGTH],
      folder[POISE_OPTION_LENGTH], out[POISE_OPTION_LENGTH];
  double cache, shrink, seconds;
  PoiseInt numbers, repeats;
  int peers, warm;
} Options;

static const PoiseOption table[] = {
    {"only", POISE_OPTION_STRING, offsetof(Options, only), "", 0, 0, NULL,
     "matrices or groups (table1, files, set) whose names begin with one of these words"},
    {"types", POISE_OPTION_STRING, offsetof(Options, types), "csr,csri,seg,auto", 0, 0, NULL,
     "matrix types, separated by commas, each with its options behind colons"},
    {"more", POISE_OPTION_STRING, offsetof(Options, more), "", 0, 0, NULL,
     "the same for Table I, beside -types"},
    {"folder", POISE_OPTION_STRING, offsetof(Options, folder), "", 0, 0, NULL, "of files *.mtx and *.mtx.gz"},
    {"out", POISE_OPTION_STRING, offsetof(Options, out), "", 0, 0, NULL,
     "CSV file, which grows as results come"},
    {"repeats", POISE_OPTION_INT, offsetof(Options, repeats), "15", 1, MAX_REPEATS, NULL,
     "measurements of each time"},
    {"seconds", POISE_OPTION_REAL, offsetof(Options, seconds), "0.5", 0, 1e9, NULL,
     "of a matrix in a mode, after which 3 repeats are enough"},
    {"numbers", POISE_OPTION_INT, offsetof(Options, numbers), "33554432", 1024, 1000000000, NULL,
     "length of the arrays that bandwidth is measured with"},
    {"peers", POISE_OPTION_BOOL, offsetof(Options, peers), "yes", 0, 0, NULL, "the others take part"},
    {"warm", POISE_OPTION_BOOL, offsetof(Options, warm), "yes", 0, 0, NULL,
     "smaller matrices are measured back to back, too"},
    {"shrink", POISE_OPTION_REAL, offsetof(Options, shrink), "1", 1, 1e9, NULL,
     "rows of the set are divided by it"},
    {"cache", POISE_OPTION_REAL, offsetof(Options, cache), "0", 0, 1e12, NULL,
     "bytes of the largest cache; 0: as the machine says"},
    {0},
};

typedef struct Variant { /* one of the library's contenders */
  char how[48], type[32], prefix[16];
  bool table1; /* for Table I only */
} Variant;

typedef struct Ours {
  PoiseMat A;
  PoiseVec x, y; /* lent */
} Ours;

typedef struct Choice {
  PoiseContext ctx;
  Options o;
  const Peer *peer;
  void *peer_data;
  Library library;
  List limits;
  FILE *out;
  Variant variant[MAX_TYPES];
  int nvariant, failed, measured;

  const char *group;
  char name[MATRIX_NAME];
  Rows matrix, there; /* there: its arrays in a GPU's memory, or NULL */
  RowStatistics of;
  double *xs; /* what is multiplied */
  PoiseVec x, y;
  Ours ours[MAX_TYPES];
  List list;
  double error[MAX_CONTENDERS];
} Choice;

/* ---- the library's contenders ---------------------------------------------------------------- */

/* A word of -types: the type, and options behind colons, which get a prefix of their own. */
static PoiseErr AddVariant(Choice *c, const char *word, bool table1)
{
  char text[POISE_OPTION_LENGTH], key[POISE_OPTION_LENGTH + 20], *rest = text;
  Variant *v = &c->variant[c->nvariant];
  if (c->nvariant == MAX_TYPES) POISE_FAIL(POISE_ERR_OPTION, "more than %d types", MAX_TYPES);
  snprintf(text, sizeof text, "%s", word);
  *v = (Variant){.table1 = table1};
  PlainField(word, v->how, sizeof v->how);
  char *at = strtok_r(text, ":", &rest);
  if (!at) POISE_FAIL(POISE_ERR_OPTION, "no type in '%s'", word);
  snprintf(v->type, sizeof v->type, "%.*s", (int)sizeof v->type - 1, at);
  while ((at = strtok_r(NULL, ":", &rest))) {
    char *value = strchr(at, '=');
    if (!value)
      POISE_FAIL(POISE_ERR_OPTION, "'%s' in '%s': an option and its value have a = between them", at, word);
    *value++ = 0;
    snprintf(v->prefix, sizeof v->prefix, "choice%d_", c->nvariant);
    snprintf(key, sizeof key, "-%s%s", v->prefix, at);
    TRY(PoiseOptionsSet(c->ctx, key, value));
  }
  c->nvariant++;
  return POISE_OK;
}

/* Is there such a type? */
static bool TypeExists(Choice *c, const char *type)
{
  PoiseMat A = NULL;
  PoiseErr e = PoiseMatCreate(c->ctx, 1, 1, 1, 1, &A);
  if (!e) e = PoiseMatSetType(A, type);
  PoiseMatDestroy(&A);
  if (!e) return true;
  printf("left out: %s\n", PoiseErrorMessage());
  if (c->out) fprintf(c->out, "# left out: %s\n", PoiseErrorMessage());
  PoiseErrorClear();
  return false;
}

static PoiseErr AddVariants(Choice *c, const char *words, bool table1)
{
  char text[POISE_OPTION_LENGTH], *rest = text;
  snprintf(text, sizeof text, "%s", words);
  for (char *word = strtok_r(text, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
    TRY(AddVariant(c, word, table1));
    if (!TypeExists(c, c->variant[c->nvariant - 1].type)) c->nvariant--;
  }
  return POISE_OK;
}

static PoiseErr Call(void *arg, int op, int64_t count)
{
  Ours *p = arg;
  (void)op;
  for (int64_t k = 0; k < count; k++) TRY(PoiseMatMult(p->A, p->x, p->y));
  return POISE_OK;
}

static PoiseErr Result(void *arg, int op, double *y)
{
  Ours *p = arg;
  const double *from;
  (void)op;
  TRY(PoiseVecGetRead(p->y, &from));
  memcpy(y, from, (size_t)PoiseVecLocalSize(p->y) * sizeof *y);
  return PoiseVecRestore(p->y, &from);
}

static PoiseErr TimedProduct(Choice *c, Ours *p, double *end)
{
  TRY(Call(p, OP_MULT, 1));
  TRY(c->library.lane.wait(c->library.lane.arg));
  *end = PoiseTime();
  return POISE_OK;
}

/* The arrays are borrowed, where the device is. *setup: seconds. */
static PoiseErr CreateOurs(Choice *c, const Variant *v, Ours *p, double *setup)
{
  const Rows *r = c->there.ptr ? &c->there : &c->matrix;
  PoiseCSR csr = {.ptr32 = r->ptr, .col32 = r->col, .val = r->val};
  double start, first, second;
  *p = (Ours){.x = c->x, .y = c->y};
  TRY((c->there.ptr ? PoiseMatCreateDeviceCSR : PoiseMatCreateCSR)(
      c->ctx, c->matrix.n, c->matrix.n, c->matrix.N, c->matrix.N, &csr, POISE_BORROW, &p->A));
  if (*v->prefix) TRY(PoiseMatSetOptionsPrefix(p->A, v->prefix));
  TRY(c->library.lane.wait(c->library.lane.arg));
  start = PoiseTime();
  TRY(PoiseMatSetBlockSize(p->A, c->matrix.block));
  TRY(PoiseMatSetType(p->A, v->type));
  TRY(PoiseMatSetFromOptions(p->A));
  TRY(TimedProduct(c, p, &first));
  TRY(TimedProduct(c, p, &second));
  *setup = fmax(0, first - start - (second - first));
  return POISE_OK;
}

/* What a type says of itself in the view: of one that chooses, what and why. */
static PoiseErr Remark(Choice *c, const Variant *v, PoiseMat A)
{
  char *text, *rest;
  int at = 0;
  PoiseErr e = ViewText(c->ctx, ViewMat, A, &text);
  for (char *line = e ? NULL : strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest), at++)
    if (c->out && at >= COMMON_LINES) fprintf(c->out, "# view of %s by %s:%s\n", c->name, v->how, line);
  free(text);
  return e;
}

static PoiseErr EnterVariant(Choice *c, const Variant *v, Ours *p)
{
  double setup, again;
  TRY(CreateOurs(c, v, p, &setup));
  PoiseMatDestroy(&p->A);
  TRY(CreateOurs(c, v, p, &again));
  TRY(Remark(c, v, p->A));
  Enter(&c->list, "poise", v->how, &c->library.lane, p, OP_MULT, Call, Result)->setup = fmin(setup, again);
  return POISE_OK;
}

/* A type that does not do this matrix says so and is left out. */
static PoiseErr EnterOurs(Choice *c)
{
  for (int k = 0; k < c->nvariant; k++) {
    const Variant *v = &c->variant[k];
    if (v->table1 && strcmp(c->group, "table1")) continue;
    PoiseErr e = EnterVariant(c, v, &c->ours[k]);
    if (e == POISE_ERR_UNSUPPORTED) {
      printf("%-24s %s: not supported: %s\n", c->name, v->how, PoiseErrorMessage());
      PoiseErrorClear();
      continue;
    }
    TRY(e);
  }
  return POISE_OK;
}

/* ---- a matrix -------------------------------------------------------------------------------- */

static PoiseErr Fill(Choice *c)
{
  const Rows *r = &c->matrix;
  size_t nz = (size_t)r->ptr[r->n];
  double *x;
  c->of = StatisticsOf(r);
  c->xs = malloc((size_t)(r->N + 1) * sizeof *c->xs);
  if (!c->xs) POISE_FAIL(POISE_ERR_MEMORY, "a vector of %lld entries", (long long)r->N);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < r->N; i++) c->xs[i] = 2 * RandomAt(i, 0) - 1;
  TRY(PoiseVecCreate(c->ctx, r->n, POISE_DECIDE, &c->x));
  TRY(PoiseVecDuplicate(c->x, &c->y));
  TRY(PoiseVecGetWrite(c->x, &x));
  memcpy(x, c->xs, (size_t)r->n * sizeof *x);
  TRY(PoiseVecRestore(c->x, &x));
  if (!c->peer->lend) return POISE_OK;
  TRY(c->peer->lend(r->col, nz * sizeof *r->col, (void **)&c->there.col));
  TRY(c->peer->lend(r->val, nz * sizeof *r->val, (void **)&c->there.val));
  return c->peer->lend(r->ptr, (size_t)(r->n + 1) * sizeof *r->ptr, (void **)&c->there.ptr);
}

static void Empty(Choice *c)
{
  for (int k = 0; k < MAX_TYPES; k++) PoiseMatDestroy(&c->ours[k].A);
  c->peer->leave(c->peer_data);
  PoiseVecDestroy(&c->x);
  PoiseVecDestroy(&c->y);
  free(c->xs);
  c->xs = NULL;
  if (c->there.ptr) c->peer->take_back(c->there.ptr);
  if (c->there.col) c->peer->take_back(c->there.col);
  if (c->there.val) c->peer->take_back(c->there.val);
  c->there = (Rows){0};
  DestroyRows(&c->matrix);
  c->list.n = 0;
}

static void Report(Choice *c, const char *mode)
{
  const Rows *r = &c->matrix;
  double bytes = 12.0 * r->ptr[r->n] + 4.0 * (double)(r->n + 1) + 16.0 * (double)r->n, limit[2];
  for (int k = READ; k <= COPY; k++) limit[k] = GBs(c->limits.c[k].bytes, Seconds(&c->limits.c[k], Median));
  double most = GBs(c->limits.c[READ].bytes, Seconds(&c->limits.c[READ], Least)); /* beside the least times */
  printf("%-24s %-6s %9lld rows, %9d nonzeros, mean %.4g, longest %.0f, deviation %.3g\n", c->name, mode,
         (long long)r->n, r->ptr[r->n], c->of.mean, c->of.longest, c->of.deviation);
  for (int k = 0; k < c->list.n; k++) {
    Contender *o = &c->list.c[k];
    char how[64];
    double median = Seconds(o, Median), least = Seconds(o, Least);
    if (!o->full.n) continue;
    PlainField(o->how, how, sizeof how);
    printf(
        "  %-9s %-30s us %9.2f (min %.2f) | GB/s %7.1f, of read %.3f | set-up %.1f products | error %.1e\n",
        o->who, how, 1e6 * median, 1e6 * least, GBs(bytes, median), GBs(bytes, median) / limit[READ],
        o->setup / median, c->error[k]);
    if (c->out)
      fprintf(c->out, "%s,%s,%s,%s,%s,%lld,%d,%.6g,%.6g,%.6g,%.6g,%d,%lld,", c->name, c->group, o->who, how,
              mode, (long long)r->n, r->ptr[r->n], c->of.mean, c->of.longest, c->of.deviation, c->of.empty,
              o->full.n, (long long)o->units);
    if (c->out)
      fprintf(c->out, "%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.3g\n", 1e6 * median, 1e6 * least, 1e6 * o->setup,
              GBs(bytes, median), limit[COPY], limit[READ], most, c->error[k]);
  }
  fflush(stdout);
  if (c->out) fflush(c->out);
}

static PoiseErr CheckAll(Choice *c, const Task *task)
{
  for (int k = 0; k < c->list.n; k++) {
    Contender *o = &c->list.c[k];
    double early;
    TRY(PoiseVecSet(c->y, NAN)); /* ours share it: nobody shall leave what another computed */
    TRY(Check(task, o, &c->error[k], &early));
    if (!Wrong(task, early, 0)) continue;
    printf("%-24s %s %s is WRONG: %g\n", c->name, o->who, o->how, early);
    if (c->out) fprintf(c->out, "# wrong: %s %s %s: %g\n", c->name, o->who, o->how, early);
    c->failed++;
  }
  return POISE_OK;
}

/* Samples of so many seconds: of warm calls long against waiting for the device, of cold ones short, as
   emptying caches takes longer. */
static PoiseErr Contest(Choice *c)
{
  const Rows *r = &c->matrix;
  Rules warm = {.sample = 2e-3, .seconds = c->o.seconds, .repeats = c->o.repeats}, cold = warm;
  cold.sample = 3e-4;
  bool fits = 12.0 * r->ptr[r->n] + 20.0 * (double)r->n < CACHES * c->o.cache;
  if (fits) {
    TRY(Race(&cold, &c->limits, &c->list, COLD));
    Report(c, "cold");
  }
  if (c->o.warm || !fits) {
    TRY(Race(&warm, &c->limits, &c->list, BACK_TO_BACK));
    Report(c, fits ? "warm" : "memory");
  }
  if (!fits || !c->library.lane.recorder) return POISE_OK;
  TRY(Race(&warm, &c->limits, &c->list, REPLAYED));
  Report(c, "replayed");
  return POISE_OK;
}

static PoiseErr Measure(Choice *c)
{
  Task task = {.op = OP_MULT, .n = c->matrix.n, .rows = &c->matrix};
  task.formats = strcmp(c->group, "table1") ? PLAIN_FORMATS : TEXTBOOK_KERNELS;
  TRY(Fill(c));
  task.x = c->xs;
  TRY(EnterOurs(c));
  if (c->o.peers) TRY(c->peer->enter(c->peer_data, &task, &c->list));
  TRY(CheckAll(c, &task));
  return Contest(c);
}

/* A matrix that fails is reported, and the others go on. */
static void Matrix(Choice *c, PoiseErr e)
{
  if (!e) e = Measure(c);
  if (e) {
    printf("%-24s FAILED: %s: %s\n", c->name, PoiseErrorString(e), PoiseErrorMessage());
    fputs(PoiseErrorText(), stderr);
    if (c->out) fprintf(c->out, "# failed: %s: %s\n", c->name, PoiseErrorMessage());
    PoiseErrorClear();
    c->failed++;
  }
  Empty(c);
  c->measured++;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void Lines(Choice *c, const char *group, const char *const *lines)
{
  c->group = group;
  for (; *lines; lines++) {
    snprintf(c->name, sizeof c->name, "%.*s", (int)fmin(MATRIX_NAME - 1, (double)strcspn(*lines, " ")),
             *lines);
    if (!Asked(c->o.only, c->name) && !Asked(c->o.only, group)) continue;
    if (c->out) fprintf(c->out, "# matrix %s\n", *lines);
    Matrix(c, CreateFromLine(c->ctx, *lines, c->o.shrink, c->name, &c->matrix));
  }
}

static bool EndsWith(const char *text, const char *end)
{
  size_t n = strlen(text), m = strlen(end);
  return n >= m && !strcmp(text + n - m, end);
}

static int IsFile(const struct dirent *d)
{
  return EndsWith(d->d_name, ".mtx") || EndsWith(d->d_name, ".mtx.gz");
}

/* Those that are no square matrices are left out, and told. */
static void File(Choice *c, const char *file)
{
  char path[2 * POISE_OPTION_LENGTH];
  snprintf(c->name, sizeof c->name, "%.*s", (int)fmin(MATRIX_NAME - 1, (double)(strstr(file, ".mtx") - file)),
           file);
  if (!Asked(c->o.only, c->name) && !Asked(c->o.only, "files")) return;
  snprintf(path, sizeof path, "%s/%s", c->o.folder, file);
  PoiseErr e = LoadRows(c->ctx, path, &c->matrix);
  if (!e) {
    Matrix(c, e);
    return;
  }
  printf("%-24s left out: %s\n", c->name, PoiseErrorMessage());
  if (c->out) fprintf(c->out, "# left out: %s: %s\n", c->name, PoiseErrorMessage());
  PoiseErrorClear();
  DestroyRows(&c->matrix);
}

static PoiseErr Files(Choice *c)
{
  struct dirent **entry;
  if (!*c->o.folder) return POISE_OK;
  int n = scandir(c->o.folder, &entry, IsFile, alphasort);
  if (n < 0) POISE_FAIL(POISE_ERR_FILE, "cannot read the folder '%s': %s", c->o.folder, strerror(errno));
  c->group = "files";
  for (int k = 0; k < n; k++) {
    File(c, entry[k]->d_name);
    free(entry[k]);
  }
  free(entry);
  return POISE_OK;
}

/* Kernels are loaded when they are first used: once before anything is measured. */
static PoiseErr WarmUp(Choice *c)
{
  FILE *out = c->out;
  c->out = NULL;
  c->group = "table1";
  snprintf(c->name, sizeof c->name, "warm-up");
  Rules rules = {.sample = 1e-4, .repeats = 1};
  PoiseErr e = CreateFromLine(c->ctx, "warm-up rows 3000 uniform 1 31 near 100", 1, c->name, &c->matrix);
  Task task = {.op = OP_MULT, .n = c->matrix.n, .rows = &c->matrix, .formats = TEXTBOOK_KERNELS};
  if (!e) e = Fill(c);
  task.x = c->xs;
  if (!e) e = EnterOurs(c);
  if (!e && c->o.peers) e = c->peer->enter(c->peer_data, &task, &c->list);
  if (!e) e = Race(&rules, &c->limits, &c->list, BACK_TO_BACK);
  Empty(c);
  c->out = out;
  return e;
}

static PoiseErr Open(Choice *c, int argc, char **argv)
{
  c->peer = PeerOn(DeviceOf(c->ctx));
  if (PoiseSize(c->ctx) > 1) POISE_FAIL(POISE_ERR_UNSUPPORTED, "one rank is measured here");
  if (*c->o.out && !(c->out = fopen(c->o.out, "w")))
    POISE_FAIL(POISE_ERR_FILE, "cannot write '%s': %s", c->o.out, strerror(errno));
  TRY(c->peer->open(c->o.numbers, &c->o.cache, &c->peer_data));
  TRY(OpenLibrary(c->ctx, c->o.cache, &c->library));
  TRY(DescribeRun(c->ctx, c->peer, c->peer_data, argc, argv, c->out));
  TRY(AddVariants(c, c->o.types, false));
  TRY(AddVariants(c, c->o.more, true));
  TRY(c->peer->limits(c->peer_data, &c->limits));
  Rules rules = {.sample = 1e-3};
  for (int k = READ; k <= COPY; k++) TRY(Calibrate(&rules, &c->limits.c[k], BACK_TO_BACK));
  if (c->out)
    fputs("matrix,group,who,how,mode,rows,nonzeros,mean,longest,deviation,empty,repeats,units,median_us,min_"
          "us,setup_us,gbs,copy_gbs,read_gbs,read_most_gbs,error\n",
          c->out);
  return WarmUp(c);
}

static PoiseErr Body(Choice *c, int argc, char **argv)
{
  TRY(Open(c, argc, argv));
  Lines(c, "table1", table1_lines);
  TRY(Files(c));
  Lines(c, "set", matrix_lines);
  if (!c->measured) POISE_FAIL(POISE_ERR_OPTION, "no matrix's name begins with '%s'", c->o.only);
  printf("%d matrices\n", c->measured);
  return POISE_OK;
}

int main(int argc, char **argv)
{
  const PoiseInit init = {.help = "Which product is fastest for which matrix.", .options = table};
  Choice c = {0};
  PoiseErr e = PoiseInitialize(&argc, &argv, &init, &c.ctx);
  if (!e) e = PoiseOptionsDefaults(table, &c.o);
  if (!e) e = PoiseOptionsRead(c.ctx, NULL, table, &c.o);
  if (!e) e = Body(&c, argc, argv);
  if (e) fputs(PoiseErrorText(), stderr);
  CloseLibrary(&c.library);
  if (c.peer) c.peer->close(c.peer_data);
  if (c.out && fclose(c.out) && !e)
    fprintf(stderr, "cannot write '%s': %s\n", c.o.out, strerror(errno)), c.failed++;
  if (c.ctx && PoiseFinalize(&c.ctx)) fputs(PoiseErrorText(), stderr);
  if (c.failed) printf("%d FAILED or are WRONG\n", c.failed);
  return e != POISE_OK || c.failed;
}
