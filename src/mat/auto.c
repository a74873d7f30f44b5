/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Type auto: uses the type that is likely to have the fastest SpMV for this pattern on this device. CSR-I
  (Flegar & Quintana-Orti 2017) uses balanced kernels where the lengths of rows deviate much from their mean.
  Here that rule is a predicted time for each type; or a measurement decides, whose winners are remembered.
  All ranks take the same type: the one whose slowest rank is fastest.
*/
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>

#include "mat.h"

/* ---- the rule ------------------------------------------------------------------------------------------------------------ */

typedef struct Rows {      /* what the time of a product with this rank's rows depends on */
  double m, nz, bytes;     /* bytes: that any type moves */
  double longest;          /* entries of a row */
  double deviation;        /* standard deviation of row lengths over their mean */
  bool even, even_but_cut; /* a GPU is fastest with tiles of all rows; with tiles of the rows that csri
                              does not split */
  bool dense;              /* all rows are split and of one length, and their neighbouring columns are
                              neighbours in x */
  bool alone;              /* so few blocks of rows that one thread of the host does all */
  double share, busiest;   /* bytes of each of HOST_SHARES threads that divide the rows: mean and largest */
  double windows;          /* row blocks of csri, counting a partial last one as a fraction */
} Rows;

/* Predicted times are in units of the time that the bytes take: 1 is a product at the speed of memory.
   These are fitted. */
static const struct {
  double host_csri;     /* row blocks instead of rows on a CPU. Two threads, uniform rows: 1.0 to 1.1 */
  double gpu_csri_even; /* csri if the rows that are not split are uniform. H200: as csr if no row is
                           split, as csri then runs csr */
  /* csri if they are not uniform. H200, forced on uniform rows of 7 and 50: 1.33 and 1.1; scattered
     columns: 0.8 to 1.0 */
  double gpu_csri_windows;
  double gpu_lanes; /* several lanes of a warp per row, for rows of one length. H200, rows of 5 to 79: 1.1
                       to 1.3 */
  double gpu_dense; /* seg for dense rows. H200, rows of 1000 and 3000: 0.8 and 0.87 times csri */
  double seg;       /* seg over csri. H200: 1.2 in the mean of 235 matrices; below 0.95 only if a product
                       takes 10 us */
  /* Bytes that memory delivers while a lane waits for an entry: 0.4 us at 4.2 TB/s. H200: from 0.2 us if x
     is read in order (arrow, 205 ms) to 0.57 us if not (R-MAT, 8.8 ms). */
  double gpu_wait;
  double blocks; /* time of bcsr over csr for the same bytes. H200: 0.8 to 1.0 for full blocks; on CPUs 1.0 to 1.1 */
} fit = {.blocks = 1.1,
         .host_csri = 1.1,
         .gpu_csri_even = 1.01,
         .gpu_csri_windows = 1.15,
         .seg = 1.2,
         .gpu_lanes = 1.2,
         .gpu_dense = 0.9,
         .gpu_wait = 1.7e6};

/* The busiest of HOST_SHARES assumed threads decides. That a few blocks of rows cannot be divided evenly does
   not count. */
static double CsrOnHost(const Rows *r)
{
  return r->alone ? HOST_SHARES : r->busiest / r->share;
}

static double CsriOnHost(const Rows *r)
{
  return r->windows <= HOST_FEW_BLOCKS ? fit.host_csri * HOST_SHARES : fit.host_csri;
}

/* Rows that are not uniform count as if a few lanes summed each. A warp waits for its longest row, and the
   whole product for the longest row. csr also uses tiles for such rows if that beats lanes. It is then
   faster than predicted here. */
static double CsrOnGpu(const Rows *r)
{
  double lanes = 1 << poiseCsrLanes((int64_t)r->m, (int64_t)r->nz);
  if (r->even) return 1;
  return fmax(fit.gpu_lanes * (1 + r->deviation), r->longest / lanes * fit.gpu_wait / r->bytes);
}

static double CsriOnGpu(const Rows *r)
{
  return r->even_but_cut ? fit.gpu_csri_even : fit.gpu_csri_windows;
}

static double SegOnHost(const Rows *r)
{
  return fit.seg * CsriOnHost(r);
}

static double SegOnGpu(const Rows *r)
{
  return r->dense ? fit.gpu_dense : fit.seg * CsriOnGpu(r);
}

/* The candidates; of equally fast ones the first is chosen. */
enum { CSR, CSRI, SEG, CANDIDATES, WORDS = 256 };
static const struct {
  const MatType *type;
  double (*host)(const Rows *), (*gpu)(const Rows *);
} candidates[] = {
    [CSR] = {&poiseMatType_csr, CsrOnHost, CsrOnGpu},
    [CSRI] = {&poiseMatType_csri, CsriOnHost, CsriOnGpu},
    [SEG] = {&poiseMatType_seg, SegOnHost, SegOnGpu},
};

typedef struct Choice {
  bool named;  /* the user chose auto by name; otherwise A never becomes blocks */
  int measure; /* options */
  char file[POISE_OPTION_LENGTH];
  void *settings[CANDIDATES]; /* data of each type before its set-up: its options */
  int64_t built;              /* A->csr.built at the choice; 0: none was made */
  double cut;                 /* nonzeros of this rank's rows with at least csri's limit of entries */
  char why[WORDS];
} Choice;

static const PoiseOption options[] = {
    {"mat_auto_measure", POISE_OPTION_BOOL, offsetof(Choice, measure), "no", 0, 0, NULL,
     "time the types once on the matrix, instead of predicting; the winner is remembered for its pattern"},
    {"mat_auto_file", POISE_OPTION_STRING, offsetof(Choice, file), "", 0, 0, NULL,
     "file of winners: used in place of predictions and measurements, and extended by measurements"},
    {0},
};

const MatType poiseMatType_auto = {.name = "auto", .stored = true, .size = sizeof(Choice), .options = options};

static double BytesOf(double rows, double nonzeros)
{
  return 12 * nonzeros + 20 * rows + 4; /* values and columns; offsets, x and y */
}

static PoiseErr Look(PoiseMat A, Rows *r)
{
  Choice *c = A->choice;
  Device *dev = A->ctx->device;
  CsrStatistics s = A->csr.statistics, uncut = s;
  int64_t limit = poiseCsriLimit(dev, s.m + s.nz, c->settings[CSRI]);
  if (s.longest >= limit) TRY(poiseCsrStatistics(A, limit, &uncut));
  uncut.nz -= uncut.cut;
  c->cut = (double)uncut.cut;
  *r = (Rows){.m = (double)s.m, .nz = (double)s.nz, .longest = (double)s.longest};
  double mean = s.m ? r->nz / r->m : 0;
  r->bytes = BytesOf(r->m, r->nz);
  r->deviation = s.nz ? sqrt(fmax(0, (double)s.squares / r->m - mean * mean)) / mean : 0;
  r->dense = uncut.cut == s.nz && r->deviation < 0.1 && s.spread > 0 && s.spread <= 100 / POISE_LINE + 1;
  /* only csr has 16-bit columns; so scattered columns do not favour row blocks */
  if (poiseCsrAsksIndex16(c->settings[CSR])) s.spread = 0;
  r->even = !s.m || poiseCsrRows(A->ctx, &s, true) < POISE_BLOCK;
  r->even_but_cut = poiseCsrRows(A->ctx, &uncut, true) < POISE_BLOCK;
  double rows = (double)poiseCsrShareOfRows(&A->csr);
  r->alone = POISE_NBLOCKS(s.m) <= HOST_FEW_BLOCKS;
  r->share = BytesOf(rows, rows * mean), r->busiest = BytesOf(rows, (double)s.busiest);
  r->windows = (r->m + r->nz) / (double)limit;
  return POISE_OK;
}

static int Least(const double *v)
{
  int least = 0;
  for (int k = 1; k < CANDIDATES; k++)
    if (v[k] < v[least]) least = k;
  return least;
}

/* words += "csr 1.00, csri 1.03" */
static void List(char *words, const char *format, double factor, const double *v)
{
  for (int k = 0; k < CANDIDATES; k++) {
    size_t n = strlen(words);
    n += (size_t)snprintf(words + n, WORDS - n, "%s%s ", k ? ", " : "", candidates[k].type->name);
    if (n < WORDS) snprintf(words + n, WORDS - n, format, factor * v[k]);
  }
}

/* Ranks with more bytes weigh more. */
static PoiseErr Predict(PoiseMat A, int *best)
{
  Choice *c = A->choice;
  bool gpu = A->ctx->device->ops->csr_rows;
  Rows r;
  double cost[CANDIDATES + 1] = {0}; /* the last one: of the bytes alone */
  PoiseErr e = Look(A, &r);
  for (int k = 0; !e && k < CANDIDATES; k++) cost[k] = r.bytes * (gpu ? candidates[k].gpu : candidates[k].host)(&r);
  for (int k = 0; k < CANDIDATES; k++)
    if (k != CSR && r.m > INT32_MAX) cost[k] = HUGE_VAL; /* the others count them in 32 bits */
  if (!e) cost[CANDIDATES] = r.bytes;
  TRY(PoiseAgree(A->ctx, e));
  TRY(PoiseMax(A->ctx, CANDIDATES + 1, cost));
  *best = A->library ? CSR : Least(cost);
  if (A->library) snprintf(c->why, WORDS, "as -mat_csr_kernel %s was asked for", PoiseMatCSRKernel(A));
  if (A->library) return POISE_OK;
  if (gpu)
    snprintf(c->why, WORDS, "predicted, in times of its bytes: ");
  else
    snprintf(c->why, WORDS, "predicted for %d threads, in times of its bytes: ", HOST_SHARES);
  List(c->why, "%.2f", 1 / cost[CANDIDATES], cost);
  return POISE_OK;
}

/* ---- measurements --------------------------------------------------------------------------------------------------------- */

enum { ROUNDS = 5, MOST_PRODUCTS = 64, SLOW = 4 };

typedef struct Timed { /* a type that is timed */
  Graph *graph;        /* graph of its products; NULL: they are enqueued each time */
  int64_t launches;    /* of the graph */
  double round[ROUNDS];
} Timed;

/* Data of type k, with its options. */
static PoiseErr MakeData(PoiseMat A, int k, void **data)
{
  TRY(poiseAlloc(A->ctx, candidates[k].type->size, candidates[k].type->name, data));
  memcpy(*data, A->choice->settings[k], candidates[k].type->size);
  return POISE_OK;
}

static void Switch(PoiseMat A, const MatType *type, void *data)
{
  A->type = type;
  A->data = data;
}

/* Multiply n times. Every rank does so, whatever fails. */
static void Multiply(PoiseMat A, PoiseVec x, PoiseVec y, int n, PoiseErr *e)
{
  for (int i = 0; i < n; i++) {
    PoiseErr mine = A->type->mult(A, (ScalarRef){NULL, 1}, x, (ScalarRef){NULL, 0}, y, NULL, NULL);
    if (!*e) *e = mine;
  }
}

/* Record products as a graph, as solvers replay them if the device can: enqueuing a small product takes
   the host longer than the product. The graph is not recorded as a solver's loop. Without vectors between
   them, products would then prefetch each other's matrix. */
static PoiseErr Record(PoiseMat A, PoiseVec x, PoiseVec y, int n, Timed *t)
{
  Device *dev = A->ctx->device;
  int64_t before = dev->launches;
  PoiseErr e = POISE_OK;
  if (!dev->ops->replay || PoiseSize(A->ctx) > 1) return POISE_OK;
  TRY(dev->ops->capture_begin(dev, false));
  Multiply(A, x, y, n, &e);
  PoiseErr ended = dev->ops->capture_end(dev, &t->graph);
  t->launches = dev->launches - before;
  dev->launches = before;
  return e ? e : ended;
}

static PoiseErr Replay(Device *dev, const Timed *t)
{
  dev->launches += t->launches;
  dev->busy = true;
  return dev->ops->replay(dev, t->graph);
}

/* Seconds of one of n products. */
static double TimeProducts(PoiseMat A, PoiseVec x, PoiseVec y, int n, const Timed *t, PoiseErr *e)
{
  Device *dev = A->ctx->device;
  double (*clock)(void) = poiseContextHome(A->ctx)->clock;
  if (!*e) *e = poiseDeviceSync(dev);
  double start = clock();
  if (!t->graph)
    Multiply(A, x, y, n, e);
  else if (!*e)
    *e = Replay(dev, t);
  if (!*e) *e = poiseDeviceSync(dev);
  return (clock() - start) / n;
}

static int Compare(const void *a, const void *b)
{
  double u = *(const double *)a, v = *(const double *)b;
  return (u > v) - (u < v);
}

/* Take medians of rounds, in which types alternate. A round takes about a millisecond for the best type. A
   type that is SLOW times slower gets a single product. */
static PoiseErr TimeRounds(PoiseMat A, void *const *data, PoiseVec x, PoiseVec y, Timed *t, double *seconds)
{
  PoiseErr e = POISE_OK;
  double best = seconds[Least(seconds)], most = SLOW * best;
  int n = (int)fmin(fmax(1e-3 / best, 1), MOST_PRODUCTS);
  for (int k = 0; k < CANDIDATES && n > 1 && !e; k++) {
    Switch(A, candidates[k].type, data[k]);
    if (seconds[k] <= most) e = Record(A, x, y, n, &t[k]);
  }
  for (int r = 0; r < ROUNDS; r++)
    for (int k = 0; k < CANDIDATES; k++) {
      if (seconds[k] > most) continue;
      Switch(A, candidates[k].type, data[k]);
      t[k].round[r] = TimeProducts(A, x, y, n, &t[k], &e);
    }
  for (int k = 0; k < CANDIDATES; k++) {
    if (seconds[k] > most) continue;
    qsort(t[k].round, ROUNDS, sizeof(double), Compare);
    seconds[k] = t[k].round[ROUNDS / 2];
  }
  return e;
}

/* Measure seconds of one product on the slowest rank. */
static PoiseErr TimeTypes(PoiseMat A, void *const *data, PoiseVec x, PoiseVec y, double *seconds)
{
  Timed t[CANDIDATES] = {0};
  Device *dev = A->ctx->device;
  PoiseErr e = POISE_OK;
  for (int k = 0; k < CANDIDATES; k++) {
    Switch(A, candidates[k].type, data[k]);
    (void)TimeProducts(A, x, y, 1, &t[k], &e); /* the first product, which is not counted */
    seconds[k] = TimeProducts(A, x, y, 1, &t[k], &e);
  }
  TRY(PoiseMax(A->ctx, CANDIDATES, seconds));
  TRY(PoiseAgree(A->ctx, e));
  e = TimeRounds(A, data, x, y, t, seconds);
  for (int k = 0; k < CANDIDATES; k++)
    if (t[k].graph) dev->ops->graph_free(dev, &t[k].graph);
  TRY(PoiseMax(A->ctx, CANDIDATES, seconds));
  return PoiseAgree(A->ctx, e);
}

static PoiseErr Prepare(PoiseMat A, void **data)
{
  for (int k = 0; k < CANDIDATES; k++) {
    TRY(MakeData(A, k, &data[k]));
    Switch(A, candidates[k].type, data[k]);
    if (A->type->setup) TRY(A->type->setup(A));
  }
  return POISE_OK;
}

/* Measure with vectors of zeros, and with data beside those in use. */
static PoiseErr Time(PoiseMat A, double *seconds)
{
  const MatType *type = A->type;
  void *kept = A->data, *data[CANDIDATES] = {NULL};
  PoiseVec x, y = NULL;
  TRY(PoiseMatCreateVecs(A, &x, &y));
  PoiseErr e = PoiseAgree(A->ctx, Prepare(A, data));
  if (!e) e = TimeTypes(A, data, x, y, seconds);
  for (int k = 0; k < CANDIDATES; k++) {
    Switch(A, candidates[k].type, data[k]);
    if (data[k] && A->type->destroy) A->type->destroy(A);
    poiseFree(A->ctx, &A->data);
  }
  Switch(A, type, kept);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
  return e;
}

/* ---- winners that are remembered ---------------------------------------------------------------------------------------------- */

static uint64_t HashBytes(uint64_t h, const void *bytes, size_t n)
{
  for (size_t k = 0; k < n; k += sizeof h) {
    uint64_t word = 0;
    memcpy(&word, (const char *)bytes + k, n - k < sizeof word ? n - k : sizeof word);
    h = poiseMix(h, word);
  }
  return h;
}

static uint64_t HashSettings(uint64_t h, const Choice *c)
{
  for (int k = 0; k < CANDIDATES; k++) h = HashBytes(h, c->settings[k], candidates[k].type->size);
  return h;
}

/* A hash of all that a measurement on this rank depends on. Two patterns with one hash would only cost
   speed. */
static PoiseErr HashLocal(PoiseMat A, uint64_t *h)
{
  Device *dev = A->ctx->device;
  Csr *c = &A->csr;
  const int64_t sizes[] = {c->m, c->nloc, c->nghost, c->nz, c->wide, A->library, dev->threads};
  char name[128] = "";
  const uint64_t *found;
  Buffer there = {0};
  CsrHashArgs a;
  TRY(poiseCsrPattern(c, &a.A));
  PoiseErr e = poiseBufferCreate(dev, sizeof *found, "hash of a pattern", &there);
  if (!e) e = poiseBufferUpdate(&there, DEVICE, &a.hash);
  if (!e) e = poiseLaunch(dev, KERNEL_csr_hash, &a, sizeof a);
  if (!e) e = poiseBufferRead(&there, HOST, &found);
  if (!e) *h = *found;
  poiseBufferDestroy(&there);
  if (dev->ops->describe) dev->ops->describe(dev->id, name, sizeof name);
  *h = HashBytes(*h, sizes, sizeof sizes);
  *h = HashBytes(*h, dev->ops->name, strlen(dev->ops->name));
  *h = HashBytes(*h, name, strlen(name));
  *h = HashSettings(*h, A->choice);
  return e;
}

/* The key of the memory of winners, equal on all ranks. */
static PoiseErr HashAll(PoiseMat A, uint64_t *key)
{
  uint64_t h = 0;
  TRY(PoiseAgree(A->ctx, HashLocal(A, &h)));
  h = poiseMix(h, (uint64_t)PoiseRank(A->ctx));
  double halves[] = {(double)(h >> 32), (double)(h & UINT32_MAX)}; /* their sums are exact */
  TRY(PoiseSum(A->ctx, 2, halves));
  *key = poiseMix(poiseMix((uint64_t)halves[0], (uint64_t)halves[1]), (uint64_t)PoiseSize(A->ctx));
  return POISE_OK;
}

static void Remember(PoiseContext ctx, uint64_t key, int winner)
{
  Winners *w = &poiseContextHome(ctx)->winners;
  int64_t at = 0;
  while (at < POISE_WINNERS && at < w->count && w->of[at].key != key) at++;
  if (at == POISE_WINNERS || at == w->count) at = w->count++ % POISE_WINNERS;
  w->of[at].key = key;
  w->of[at].winner = winner;
}

/* *winner as rank 0 remembers it, or -1 unless all ranks do. The memories may differ, as blocks inside
   ranks fill them differently. */
static PoiseErr Recall(PoiseContext ctx, uint64_t key, int *winner)
{
  const Winners *w = &poiseContextHome(ctx)->winners;
  int64_t unknown = 1;
  *winner = -1;
  for (int64_t k = 0; k < POISE_WINNERS && k < w->count; k++)
    if (w->of[k].key == key) *winner = w->of[k].winner, unknown = 0;
  TRY(poiseCommMaxInt(ctx->comm, &unknown, 1));
  if (unknown) *winner = -1;
  return ctx->comm->ops->bcast(ctx->comm, winner, sizeof *winner, 0);
}

static const char header[] = "poise auto 1\n";

/* Parse line n: the header (*winner = -1), or "0123456789abcdef csri\n". The line is cut up. */
static PoiseErr ReadLine(const char *path, int64_t n, char *line, uint64_t *key, int *winner)
{
  char *end = line;
  size_t length = strlen(line);
  if (n == 1 && strcmp(line, header))
    FAIL(POISE_ERR_FORMAT, "%s, line 1: not a file of winners of type auto, which begins with '%.*s'", path,
         (int)sizeof header - 2, header);
  *winner = -1;
  if (n == 1) return POISE_OK;
  while (isxdigit((unsigned char)*end)) end++;
  if (end == line + 16 && *end == ' ' && line[length - 1] == '\n') {
    line[length - 1] = 0;
    *key = strtoull(line, NULL, 16);
    for (int k = 0; k < CANDIDATES; k++)
      if (!strcmp(end + 1, candidates[k].type->name)) *winner = k;
  }
  if (*winner < 0)
    FAIL(POISE_ERR_FORMAT, "%s, line %lld: '%.*s' is not 16 hexadecimal digits and a type to be chosen", path, (long long)n,
         (int)strcspn(line, "\n"), line);
  return POISE_OK;
}

/* The file's winner for the key, or -1. A file that does not exist has none. Lines with other keys go to
   out (may be NULL). */
static PoiseErr ReadFile(const char *path, uint64_t key, FILE *out, int *winner)
{
  char line[64];
  uint64_t found = 0;
  int k = -1;
  PoiseErr e = POISE_OK;
  FILE *f = fopen(path, "r");
  *winner = -1;
  if (!f && errno == ENOENT) return POISE_OK;
  if (!f) FAIL(POISE_ERR_FILE, "cannot open '%s', a file of winners of type auto: %s", path, strerror(errno));
  for (int64_t n = 1; !e && fgets(line, sizeof line, f); n++) {
    e = ReadLine(path, n, line, &found, &k);
    if (e || k < 0) continue;
    if (found == key)
      *winner = k;
    else if (out)
      fprintf(out, "%016" PRIx64 " %s\n", found, candidates[k].type->name);
  }
  bool failed = ferror(f);
  fclose(f);
  if (!e && failed) FAIL(POISE_ERR_FILE, "cannot read '%s', a file of winners of type auto", path);
  return e;
}

static PoiseErr Rewrite(PoiseContext ctx, const char *path, uint64_t key, int winner)
{
  OutFile f = {0};
  int old = -1;
  TRY(poiseFileBegin(ctx, path, &f));
  fputs(header, f.stream);
  PoiseErr e = ReadFile(path, key, f.stream, &old);
  if (e) {
    poiseFileAbort(ctx, &f);
    return e;
  }
  fprintf(f.stream, "%016" PRIx64 " %s\n", key, candidates[winner].type->name);
  return poiseFileCommit(ctx, &f);
}

/* Add a winner to the file, which other programs may be changing. */
static PoiseErr WriteFile(PoiseContext ctx, const char *path, uint64_t key, int winner)
{
  int lock = poiseFileLock(ctx, path);
  PoiseErr e = Rewrite(ctx, path, key, winner);
  poiseFileUnlock(lock);
  return e;
}

/* Blocks inside ranks have contexts of their own, in which each is rank 0: they do not write. */
static bool WritesFile(PoiseContext ctx)
{
  return !PoiseRank(poiseContextHome(ctx));
}

/* Rank 0 reads. */
static PoiseErr RecallFromFile(PoiseMat A, uint64_t key, int *winner)
{
  PoiseContext ctx = A->ctx;
  const char *path = A->choice->file;
  TRY(PoiseAgree(ctx, PoiseRank(ctx) ? POISE_OK : ReadFile(path, key, NULL, winner)));
  return ctx->comm->ops->bcast(ctx->comm, winner, sizeof *winner, 0);
}

/* ---- the choice ------------------------------------------------------------------------------------------------------------------ */

static PoiseErr TimeNow(PoiseMat A, uint64_t key, int *best)
{
  Choice *c = A->choice;
  PoiseContext ctx = A->ctx;
  double seconds[CANDIDATES];
  int predicted = *best;
  TRY(Time(A, seconds));
  *best = Least(seconds);
  snprintf(c->why, WORDS, "measured, in ms: ");
  List(c->why, "%.4f", 1e3, seconds);
  if (*best != predicted && seconds[*best] > 0.98 * seconds[predicted]) {
    size_t n = strlen(c->why);
    snprintf(c->why + n, WORDS - n, "; predicted, and not 2 %% slower");
    *best = predicted;
  }
  Remember(ctx, key, *best);
  return *c->file ? PoiseAgree(ctx, WritesFile(ctx) ? WriteFile(ctx, c->file, key, *best) : POISE_OK) : POISE_OK;
}

/* The result of a measurement: a new one if asked for, or an earlier one. */
static PoiseErr Measure(PoiseMat A, int *best)
{
  Choice *c = A->choice;
  uint64_t key = 0;
  int winner = -1;
  TRY(HashAll(A, &key));
  TRY(Recall(A->ctx, key, &winner));
  bool known = winner >= 0;
  if (!known && *c->file) TRY(RecallFromFile(A, key, &winner));
  if (!known && winner >= 0) Remember(A->ctx, key, winner);
  if (winner >= 0) snprintf(c->why, WORDS, "measured before%s%.200s", known ? "" : ", in file ", known ? "" : c->file);
  if (winner >= 0) *best = winner;
  return winner < 0 && c->measure ? TimeNow(A, key, best) : POISE_OK;
}

/* Use another type. The columns that A^T x needs are the same for all types, and stay. */
static void UseInstead(PoiseMat A, const MatType *type, void *data)
{
  CsrData *old = A->data, *now = data;
  bool current = old->pattern == A->pattern;
  now->by_column = old->by_column, now->columns = old->columns;
  old->by_column = (Transposed){0}, old->columns = (Windows){0};
  poiseMatUse(A, type, data);
  now->pattern = current ? A->pattern : 0;
}

static PoiseErr Choose(PoiseMat A)
{
  Choice *c = A->choice;
  void *data = NULL;
  int best = 0;
  TRY(Predict(A, &best));
  if (c->measure || *c->file) TRY(Measure(A, &best));
  const MatType *type = candidates[best].type;
  if (A->type == type) { /* its options may differ */
    type->inherit(c->settings[best], A->data);
  } else {
    PoiseErr e = PoiseAgree(A->ctx, MakeData(A, best, &data));
    if (e) poiseFree(A->ctx, &data);
    TRY(e);
    UseInstead(A, type, data);
  }
  c->built = A->csr.built;
  return POISE_OK;
}

PoiseErr poiseChoicePredict(PoiseMat A, MatPlan *plan, PoisePrediction *p)
{
  const MatPlan before = *plan;
  const PoisePrediction start = *p;
  if (!plan->counts && A->choice->built == A->csr.built) return A->type->predict(A, A->data, plan, p);
  for (int k = 0; k < CANDIDATES; k++) {
    PoisePrediction mine = start;
    MatPlan cut = before;
    TRY(candidates[k].type->predict(A, A->choice->settings[k], &cut, &mine));
    if (!k)
      *p = mine, *plan = cut;
    else
      poisePredictEither(&mine, p), poisePlanEither(cut.partials, plan->partials);
  }
  plan->open = A->choice->named && A->entries && A->block_size > 1 && plan->counts;
  return POISE_OK;
}

PoiseErr poiseMatChoose(PoiseMat A)
{
  if (!A->choice || !A->assembled || A->choice->built == A->csr.built) return POISE_OK;
  poiseLogBegin(A->ctx, EVENT_MatChoose);
  PoiseErr e = Choose(A);
  poiseLogEnd(A->ctx, EVENT_MatChoose, 0, 0);
  return e;
}

PoiseErr poiseChoiceBlocks(PoiseMat A)
{
  double share;
  int64_t waits = A->changed;
  if (!A->choice->named || !A->entries || A->triplets || A->block_size == 1) return POISE_OK;
  TRY(poiseCommMaxInt(A->ctx->comm, &waits, 1));
  if (waits) return POISE_OK; /* the next PoiseMatAssemble of a new pattern asks again */
  TRY(poiseMatBlockShare(A, &share));
  if (fit.blocks * share >= 1) return POISE_OK;
  A->blocked = true;
  PoiseErr e = poiseMatToBlocks(A);
  if (e)
    A->blocked = false;
  else
    A->share = share;
  return e;
}

bool poiseChoiceIsNamed(PoiseMat A)
{
  return A->choice && A->choice->named;
}

void poiseChoiceForget(PoiseMat A)
{
  if (A->choice) A->choice->built = 0;
}

PoiseErr poiseChoiceName(PoiseMat A)
{
  if (A->choice->named) return POISE_OK;
  A->choice->named = true;
  PoiseErr e = A->assembled && !A->blocked ? poiseChoiceBlocks(A) : POISE_OK;
  if (e && A->choice) A->choice->named = false;
  return e;
}

/* ---- life -------------------------------------------------------------------------------------------------------------------------- */

static PoiseErr Fill(PoiseContext ctx, Choice *c)
{
  TRY(PoiseOptionsDefaults(options, c));
  for (int k = 0; k < CANDIDATES; k++) TRY(poiseMatTypeData(ctx, candidates[k].type, &c->settings[k]));
  return POISE_OK;
}

PoiseErr poiseChoiceCreate(PoiseMat A)
{
  TRY(poiseAlloc(A->ctx, sizeof *A->choice, "type auto", &A->choice));
  PoiseErr e = Fill(A->ctx, A->choice);
  if (e) poiseChoiceDestroy(A);
  return e;
}

void poiseChoiceDestroy(PoiseMat A)
{
  for (int k = 0; A->choice && k < CANDIDATES; k++) poiseFree(A->ctx, &A->choice->settings[k]);
  poiseFree(A->ctx, &A->choice);
}

static uint64_t HashOptions(const Choice *c)
{
  uint64_t h = HashBytes((uint64_t)c->measure, c->file, strlen(c->file));
  return HashSettings(h, c);
}

PoiseErr poiseChoiceRead(PoiseMat A)
{
  Choice *c = A->choice;
  uint64_t before = HashOptions(c);
  if (c->named) TRY(PoiseAgree(A->ctx, poiseMatKeepWaiting(A))); /* in case blocks are chosen */
  PoiseErr e = PoiseOptionsRead(A->ctx, A->prefix, options, c);
  for (int k = 0; !e && k < CANDIDATES; k++)
    if (candidates[k].type->options) e = PoiseOptionsRead(A->ctx, A->prefix, candidates[k].type->options, c->settings[k]);
  if (!e && c->named) e = PoiseOptionsRead(A->ctx, A->prefix, poiseMatType_bcsr.options, A->waiting);
  /* copies that follow A see the change by `pattern` */
  if (HashOptions(c) != before) A->pattern++, c->built = 0;
  return e;
}

void poiseChoiceInherit(PoiseMat A, PoiseMat B)
{
  const Choice *from = A->choice;
  Choice *to = B->choice;
  uint64_t before = HashOptions(to);
  to->named = from->named;
  to->measure = from->measure;
  memcpy(to->file, from->file, sizeof to->file);
  for (int k = 0; k < CANDIDATES; k++) memcpy(to->settings[k], from->settings[k], candidates[k].type->size);
  if (HashOptions(to) != before) to->built = 0;
}

PoiseErr poiseChoiceView(PoiseMat A)
{
  const Choice *c = A->choice;
  const CsrStatistics *s = &A->csr.statistics;
  double sum[] = {(double)s->m, (double)s->nz, (double)s->squares, (double)s->empty, c->cut};
  if (!c->built) return POISE_OK;
  TRY(PoiseSum(A->ctx, 5, sum));
  double mean = sum[1] / fmax(sum[0], 1), deviation = sqrt(fmax(0, sum[2] / fmax(sum[0], 1) - mean * mean));
  TRY(PoisePrintf(A->ctx,
                  "    rows: deviation %.2f of the mean, %.0f empty, %.1f %% of the nonzeros in rows that csri would cut\n",
                  mean > 0 ? deviation / mean : 0, sum[3], 100 * sum[4] / fmax(sum[1], 1)));
  return PoisePrintf(A->ctx, "    auto: %s, %s\n", A->type->name, c->why);
}
