/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Type auto: uses the type that is likely to have the fastest SpMV for this pattern on this device. CSR-I
  (Flegar & Quintana-Orti 2017) uses balanced kernels where the lengths of rows deviate much from their mean.
  Here that rule is a predicted time for each type; or a measurement decides, whose winners are remembered.
  All ranks take the same type: the one whose slowest rank is fastest.
*/
#include "auto.h"
#include "blocks.h"
#include "mat/bytes.h"
#include "mat/csr/statistics.h"
#include "csr_product.h"
#include "mat/mat_type.h"
#include "mat/csr/transpose.h"
#include "mat/plan/winners.h"
#include "sys/device/place.h"

/* ---- the prediction -------------------------------------------------------------------------- */

/* The candidates; of equally fast ones the first is chosen. */
enum { CSR, CSRI, SEG, CANDIDATES, WORDS = 256 };
static const struct {
  const MatType *type;
  ProductType product;
  void (*request)(const void *data, ProductRequest *);
} candidates[] = {
    [CSR] = {&poiseMatType_csr, PRODUCT_CSR, poiseCsrRequest},
    [CSRI] = {&poiseMatType_csri, PRODUCT_CSRI, poiseCsriRequest},
    [SEG] = {&poiseMatType_seg, PRODUCT_SEG, poiseSegRequest},
};

typedef struct Choice {
  bool named;  /* the user chose auto by name; otherwise A never becomes blocks */
  int measure; /* options */
  char file[POISE_OPTION_LENGTH];
  void *settings[CANDIDATES]; /* data of each type before its set-up: its options */
  void *blocks;               /* the same of bcsr, which A may become; NULL: its options were not read */
  int64_t built;              /* A->version.pattern at the choice; 0: none was made */
  double cut;                 /* nonzeros of this rank's rows with at least csri's limit of entries */
  ProductPlan plan[CANDIDATES];
  char why[WORDS];
} Choice;

static const PoiseOption options[] = {
    {"mat_auto_measure", POISE_OPTION_BOOL, offsetof(Choice, measure), "no", 0, 0, NULL,
     "time the types once on the matrix, instead of predicting; the winner is remembered for its pattern"},
    {"mat_auto_file", POISE_OPTION_STRING, offsetof(Choice, file), "", 0, 0, NULL,
     "file of winners: used in place of predictions and measurements, and extended by measurements"},
    {0},
};

static void Inherit_AUTO(const void *from, void *to);

const MatType poiseMatType_auto = {
    .name = "auto", .stored = true, .size = sizeof(Choice), .options = options, .inherit = Inherit_AUTO};

/* Of all candidates, by the options of all of them. */
static PoiseErr Plan(PoiseMat A)
{
  Choice *c = A->asked.data;
  const Csr *csr = &A->csr;
  ProductRequest request = {.columns = csr->nloc + csr->nghost, .hub_bits = HUBS_UNKNOWN};
  CsrStatistics cut;
  for (int k = 0; k < CANDIDATES; k++) candidates[k].request(c->settings[k], &request);
  TRY(poiseCsrCutStatistics(A, &request, &cut));
  c->cut = (double)cut.cut;
  for (int k = 0; k < CANDIDATES; k++) {
    request.type = candidates[k].product;
    poiseProductPlan(&A->ctx->device->model, &request, &csr->statistics, &cut, &c->plan[k]);
  }
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

/* In microseconds where the device says how fast it is, else beside the chosen type. */
static void Explain(PoiseMat A, int best, const double *cost, const double *seconds)
{
  Choice *c = A->asked.data;
  const DeviceModel *model = &A->ctx->device->model;
  bool known = seconds[best] > 0;
  const double *v = known ? seconds : cost, factor = known ? 1e6 : 1 / cost[best];
  const char *format = known ? "%.1f us" : "%.2f times as long";
  size_t n = 0;
  if (known) n = (size_t)snprintf(c->why, WORDS, "%.1f us predicted", 1e6 * seconds[best]);
  if (!known) n = (size_t)snprintf(c->why, WORDS, "predicted to be the fastest");
  if (!poiseModelIsGpu(model))
    n += (size_t)snprintf(c->why + n, WORDS - n, " with %d threads", model->host_threads);
  for (int k = 0; k < CANDIDATES; k++) {
    if (k == best) continue;
    n += (size_t)snprintf(c->why + n, WORDS - n, ", %s ", candidates[k].type->name);
    n += (size_t)snprintf(c->why + n, WORDS - n, v[k] < HUGE_VAL ? format : "cannot", factor * v[k]);
  }
}

/* Ranks with more bytes weigh more. */
static PoiseErr Predict(PoiseMat A, int *best)
{
  Choice *c = A->asked.data;
  double cost[2 * CANDIDATES + 1] = {0},
                               *seconds = cost + CANDIDATES + 1; /* between them: of the bytes alone */
  PoiseErr e = Plan(A);
  double bytes = poiseProductBytes((double)A->csr.m, (double)A->csr.nz);
  for (int k = 0; !e && k < CANDIDATES; k++)
    cost[k] = bytes * c->plan[k].times, seconds[k] = c->plan[k].seconds;
  for (int k = 0; k < CANDIDATES; k++)
    if (k != CSR && A->csr.m > INT32_MAX) cost[k] = HUGE_VAL; /* the others count them in 32 bits */
  if (!e) cost[CANDIDATES] = bytes;
  TRY(PoiseAgree(A->ctx, e));
  TRY(PoiseMax(A->ctx, 2 * CANDIDATES + 1, cost));
  *best = A->asked.library ? CSR : Least(cost);
  if (A->asked.library) snprintf(c->why, WORDS, "as -mat_csr_kernel %s was asked for", PoiseMatCSRKernel(A));
  if (A->asked.library) return POISE_OK;
  Explain(A, *best, cost, seconds);
  return POISE_OK;
}

/* ---- measurements ---------------------------------------------------------------------------- */

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
  memcpy(*data, ((Choice *)A->asked.data)->settings[k], candidates[k].type->size);
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
    PoiseErr mine = poiseMatMultPlain(A, x, y);
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
  TRY(dev->ops->capture_begin(dev, NULL));
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
  return dev->ops->replay(dev, t->graph, 1);
}

/* Seconds of one of n products. */
static double TimeProducts(PoiseMat A, PoiseVec x, PoiseVec y, int n, const Timed *t, PoiseErr *e)
{
  Device *dev = A->ctx->device;
  double (*clock)(void) = poiseContextHome(A->ctx)->hooks.clock;
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

/* ---- winners that are remembered ------------------------------------------------------------- */

static uint64_t HashSettings(uint64_t h, const Choice *c)
{
  for (int k = 0; k < CANDIDATES; k++) h = poiseHashBytes(h, c->settings[k], candidates[k].type->size);
  return h;
}

typedef struct Names { /* of the candidates */
  const char *of[CANDIDATES + 1];
} Names;

static Names NameCandidates(void)
{
  Names n = {{NULL}};
  for (int k = 0; k < CANDIDATES; k++) n.of[k] = candidates[k].type->name;
  return n;
}

static PoiseErr Key(PoiseMat A, uint64_t *key)
{
  uint64_t h = 0;
  PoiseErr e = poiseWinnersHash(A, &h);
  return poiseWinnersKey(A->ctx, e, HashSettings(h, A->asked.data), key);
}

/* ---- the choice ------------------------------------------------------------------------------ */

static PoiseErr TimeNow(PoiseMat A, uint64_t key, int *best)
{
  Choice *c = A->asked.data;
  PoiseContext ctx = A->ctx;
  double seconds[CANDIDATES];
  int predicted = *best;
  TRY(Time(A, seconds));
  *best = Least(seconds);
  snprintf(c->why, WORDS, "measured, in ms a product: ");
  List(c->why, "%.4f", 1e3, seconds);
  if (*best != predicted && seconds[*best] > 0.98 * seconds[predicted]) {
    size_t n = strlen(c->why);
    snprintf(c->why + n, WORDS - n, "; as predicted, since it is not 2 %% slower");
    *best = predicted;
  }
  poiseWinnersRemember(ctx, key, *best);
  return *c->file ? poiseWinnersWrite(ctx, c->file, NameCandidates().of, key, *best) : POISE_OK;
}

/* The result of a measurement: a new one if asked for, or an earlier one. */
static PoiseErr Measure(PoiseMat A, int *best)
{
  Choice *c = A->asked.data;
  uint64_t key = 0;
  int winner = -1;
  TRY(Key(A, &key));
  TRY(poiseWinnersRecall(A->ctx, key, &winner));
  bool known = winner >= 0;
  if (!known && *c->file) TRY(poiseWinnersRead(A->ctx, c->file, NameCandidates().of, key, &winner));
  if (!known && winner >= 0) poiseWinnersRemember(A->ctx, key, winner);
  if (winner >= 0)
    snprintf(c->why, WORDS, "measured before%s%.200s", known ? "" : ", in file ", known ? "" : c->file);
  if (winner >= 0) *best = winner;
  return winner < 0 && c->measure ? TimeNow(A, key, best) : POISE_OK;
}

/* Use another type. The columns that A^T x needs are the same for all types, and stay. */
static void UseInstead(PoiseMat A, const MatType *type, void *data)
{
  CsrData *old = poiseCsrData(A),
          kept = {.by_column = old->by_column, .columns = old->columns, .pattern = old->pattern};
  old->by_column = (Transposed){0}, old->columns = (RowBlocks){0};
  poiseMatUse(A, type, data);
  *poiseCsrData(A) = kept;
}

static PoiseErr Choose(PoiseMat A)
{
  Choice *c = A->asked.data;
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
  c->built = A->version.pattern;
  return POISE_OK;
}

PoiseErr poiseChoicePredict(PoiseMat A, MatPlan *plan, PoisePrediction *p)
{
  const Choice *c = A->asked.data;
  const MatPlan before = *plan;
  const PoisePrediction start = *p;
  if (!plan->counts && c->built == A->version.pattern) return A->type->predict(A, A->data, plan, p);
  for (int k = 0; k < CANDIDATES; k++) {
    PoisePrediction mine = start;
    MatPlan cut = before;
    TRY(candidates[k].type->predict(A, c->settings[k], &cut, &mine));
    if (!k)
      *p = mine, *plan = cut;
    else
      poisePredictEither(&mine, p), poisePlanEither(cut.partials, plan->partials);
  }
  plan->open = c->named && A->assembly.entries && A->block_size > 1 && plan->counts;
  return POISE_OK;
}

PoiseErr poiseMatChoose(PoiseMat A)
{
  if (!poiseMatIsAuto(A) || !A->assembled) return POISE_OK;
  const Choice *c = A->asked.data;
  if (c->built == A->version.pattern) return POISE_OK;
  poiseLogBegin(A->ctx, EVENT_MatChoose);
  PoiseErr e = Choose(A);
  poiseLogEnd(A->ctx, EVENT_MatChoose, 0, 0);
  return e;
}

PoiseErr poiseChoiceBlocks(PoiseMat A)
{
  const Choice *c = A->asked.data;
  const MatAssembly *m = &A->assembly;
  double share;
  int64_t waits = m->changed;
  if (!c->named || !m->entries || m->triplets || A->block_size == 1) return POISE_OK;
  TRY(poiseCommMaxInt(A->ctx->comm, &waits, 1));
  if (waits) return POISE_OK; /* the next PoiseMatAssemble of a new pattern asks again */
  TRY(poiseMatBlockShare(A, &share));
  if (AUTO_BLOCKS * share >= 1) return POISE_OK;
  TRY(poiseMatToBlocks(A));
  A->asked.share = share;
  return POISE_OK;
}

bool poiseChoiceIsNamed(PoiseMat A)
{
  return poiseMatIsAuto(A) && ((const Choice *)A->asked.data)->named;
}

void poiseChoiceForget(PoiseMat A)
{
  if (poiseMatIsAuto(A)) ((Choice *)A->asked.data)->built = 0;
}

PoiseErr poiseChoiceName(PoiseMat A)
{
  Choice *c = A->asked.data;
  if (c->named) return POISE_OK;
  c->named = true;
  PoiseErr e = A->assembled ? poiseChoiceBlocks(A) : POISE_OK;
  if (e) c->named = false; /* A is auto yet */
  return e;
}

const void *poiseChoiceBlockOptions(PoiseMat A)
{
  return ((const Choice *)A->asked.data)->blocks;
}

/* ---- life ------------------------------------------------------------------------------------ */

static PoiseErr Fill(PoiseContext ctx, Choice *c)
{
  TRY(PoiseOptionsDefaults(options, c));
  for (int k = 0; k < CANDIDATES; k++) TRY(poiseMatTypeData(ctx, candidates[k].type, &c->settings[k]));
  return POISE_OK;
}

PoiseErr poiseChoiceCreate(PoiseContext ctx, void **choice)
{
  TRY(poiseAlloc(ctx, sizeof(Choice), "type auto", choice));
  PoiseErr e = Fill(ctx, *choice);
  if (e) poiseChoiceDestroy(ctx, choice);
  return e;
}

void poiseChoiceDestroy(PoiseContext ctx, void **choice)
{
  Choice *c = *choice;
  if (!c) return;
  for (int k = 0; k < CANDIDATES; k++) poiseFree(ctx, &c->settings[k]);
  poiseFree(ctx, &c->blocks);
  poiseFree(ctx, choice);
}

static uint64_t HashOptions(const Choice *c)
{
  uint64_t h = poiseHashBytes((uint64_t)c->measure, c->file, strlen(c->file));
  return HashSettings(h, c);
}

PoiseErr poiseChoiceRead(PoiseMat A)
{
  Choice *c = A->asked.data;
  uint64_t before = HashOptions(c);
  PoiseErr e = POISE_OK;
  if (c->named && !c->blocks) e = poiseMatTypeData(A->ctx, &poiseMatType_bcsr, &c->blocks);
  if (c->named) TRY(PoiseAgree(A->ctx, e));
  e = PoiseOptionsRead(A->ctx, A->asked.prefix, options, c);
  for (int k = 0; !e && k < CANDIDATES; k++)
    if (candidates[k].type->options)
      e = PoiseOptionsRead(A->ctx, A->asked.prefix, candidates[k].type->options, c->settings[k]);
  if (!e && c->named) e = PoiseOptionsRead(A->ctx, A->asked.prefix, poiseMatType_bcsr.options, c->blocks);
  /* copies that follow A see that the product has changed */
  if (HashOptions(c) != before) A->version.product++, c->built = 0;
  return e;
}

/* A copy never becomes blocks by choice, so it does without their options. */
static void Inherit_AUTO(const void *choice, void *others)
{
  const Choice *from = choice;
  Choice *to = others;
  uint64_t before = HashOptions(to);
  to->named = from->named;
  to->measure = from->measure;
  memcpy(to->file, from->file, sizeof to->file);
  for (int k = 0; k < CANDIDATES; k++) memcpy(to->settings[k], from->settings[k], candidates[k].type->size);
  if (HashOptions(to) != before) to->built = 0;
}

PoiseErr poiseChoiceView(PoiseMat A)
{
  const Choice *c = A->asked.data;
  const CsrStatistics *s = &A->csr.statistics;
  double sum[] = {(double)s->m, (double)s->nz, (double)s->squares, (double)s->empty, c->cut};
  if (!c->built) return POISE_OK;
  TRY(PoiseSum(A->ctx, 5, sum));
  double mean = sum[1] / fmax(sum[0], 1), deviation = sqrt(fmax(0, sum[2] / fmax(sum[0], 1) - mean * mean));
  TRY(poisePrint(
      A->ctx,
      "    lengths of rows deviate by %.2f of their mean; %.0f rows are empty; csri would split rows "
      "with %.1f %% of the nonzeros\n",
      mean > 0 ? deviation / mean : 0, sum[3], 100 * sum[4] / fmax(sum[1], 1)));
  return poisePrint(A->ctx, "    auto chose %s: %s\n", A->type->name, c->why);
}
