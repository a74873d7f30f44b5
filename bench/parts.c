/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The setting of section 5 of Chen and others (2020): one matrix and one vector in the memory of the host, a
  product on all GPUs, the result in the memory of the host.

    parts -device cuda -ranks 2 [-only com-Orkut] [-shrink 10]

  The matrices are generated: rows, nonzeros and exponents of their Table 2, lengths by the power law, in no
  order. As CSR the arrays are rows, as CSC columns, as COO triplets sorted by row. Ranks are threads that see
  the same arrays.

  blocks  the same number of rows (columns) for each; one thread cuts, and counts the offsets of all parts
  parts   equal nonzeros (pcsr cuts rows, pcsc and pcoo at their ends); each rank's thread cuts its own
  device  the same; raw arrays go to the GPU first, which makes the offsets of its part from them

  A row, in milliseconds, of the slowest rank: cut, with the offsets (the partitioning of the paper); set-up:
  all that the library does from arrays to the first product, beyond the next and a copy; copy: of the part's
  arrays and x to the GPU, alone, by cudaMemcpy (0 on the host); product; merge: y to the host, and to its
  place; their sum. The library copies through pinned memory: a set-up of 0 has taken less than that copy.
  Then in per cent of the sum cut and set-up, and merge; nonzeros of the largest part over the mean; the
  largest error of y, over |A| |x| of its row. Results of rows that were cut travel in the product. Medians of
  -repeats, each from new objects.
*/
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <math.h>
#include <poise.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/matrices.h"
#include "common/measure.h"
#include "parts.h"

#define TRY POISE_TRY

/* Of Table 2. The least length is such that the mean is the table's. */
static const char *const stand_ins[] = {
    "mouse_gene rows 45101 law 1.03 0.1484 8032 any",
    "wb-edu rows 9845725 law 2.13 0.9083 25000 half 1000",
    "com-LiveJournal rows 3997962 law 2.40 5.170 15000 any",
    "hollywood-2009 rows 1139905 law 1.92 11.82 11468 half 1000",
    "com-Orkut rows 3072441 law 2.13 13.78 33313 any",
    "HV15R rows 2017169 law 3.09 83.26 500 near 2000",
};

enum { MATRICES = sizeof stand_ins / sizeof *stand_ins };

typedef enum Format { CSR, CSC, COO, FORMATS } Format;
typedef enum Version { BLOCKS, PARTS, DEVICE, VERSIONS } Version;
typedef enum Stage { CUT, SETUP, UPLOAD, PRODUCT, MERGE, TOTAL, STAGES } Stage;

static const char *const format_words[FORMATS] = {"csr", "csc", "coo"};
static const char *const version_words[VERSIONS] = {"blocks", "parts", "device"};

typedef struct Options {
  double shrink;
  PoiseInt repeats;
  char only[POISE_OPTION_LENGTH];
} Options;

static const PoiseOption table[] = {
    {"shrink", POISE_OPTION_REAL, offsetof(Options, shrink), "1", 1, 1e6, NULL, "rows, divided by this"},
    {"repeats", POISE_OPTION_INT, offsetof(Options, repeats), "3", 1, MAX_REPEATS, NULL, "of each"},
    {"only", POISE_OPTION_STRING, offsetof(Options, only), "", 0, 0, NULL, "one matrix"},
    {0},
};

typedef struct Problem { /* what all ranks see */
  Options o;
  char name[MATRIX_NAME];
  Rows all;
  int32_t *row;              /* of each triplet */
  double *x, *y;             /* the host's */
  double *expected, *weight; /* A x and |A| |x|, of rows or of columns */
  int32_t **offsets;         /* of each part */
} Problem;

typedef struct Arrays { /* of a part */
  int32_t *ptr, *row, *col;
  double *val;
} Arrays;

typedef struct Part {
  PoiseContext ctx;
  Problem *p;
  void *stream;
  Format format;
  Version version;
  int64_t begin, end, first, nz; /* rows, or columns; the first entry, and how many */
  Arrays there;                  /* on the GPU */
  double *there_x;
  PoiseMat A;
  PoiseVec x, y;
} Part;

static PoiseErr Word(const char *words)
{
  if (words) POISE_FAIL(POISE_ERR_DEVICE, "%s", words);
  return POISE_OK;
}

#ifdef POISE_HAVE_CUDA
static const Gpu *const gpu = &parts_gpu;
#else
static const Gpu *const gpu = NULL; /* there is no stream then */
#endif

/* ---- the matrix ------------------------------------------------------------------------------ */

static void Expect(Problem *p, bool columns)
{
  const Rows *r = &p->all;
  for (int64_t i = 0; i < r->n; i++) p->expected[i] = p->weight[i] = 0;
  if (columns) {
    for (int64_t j = 0; j < r->n; j++)
      for (int32_t k = r->ptr[j]; k < r->ptr[j + 1]; k++) {
        p->expected[r->col[k]] += r->val[k] * p->x[j];
        p->weight[r->col[k]] += fabs(r->val[k] * p->x[j]);
      }
    return;
  }
#pragma omp parallel for schedule(dynamic, 4096)
  for (int64_t i = 0; i < r->n; i++)
    for (int32_t k = r->ptr[i]; k < r->ptr[i + 1]; k++) {
      p->expected[i] += r->val[k] * p->x[r->col[k]];
      p->weight[i] += fabs(r->val[k] * p->x[r->col[k]]);
    }
}

static PoiseErr Open(PoiseContext ctx, const char *line, Problem *p)
{
  TRY(CreateFromLine(ctx, line, p->o.shrink, p->name, &p->all));
  int64_t n = p->all.n, nz = p->all.ptr[n];
  p->row = LargePages((size_t)nz * sizeof *p->row);
  p->x = LargePages((size_t)n * sizeof *p->x);
  p->y = LargePages((size_t)n * sizeof *p->y);
  p->expected = malloc((size_t)n * sizeof *p->expected);
  p->weight = malloc((size_t)n * sizeof *p->weight);
  if (!p->row || !p->x || !p->y || !p->expected || !p->weight)
    POISE_FAIL(POISE_ERR_MEMORY, "%" PRId64 " triplets, five vectors of %" PRId64 " entries", nz, n);
#pragma omp parallel for schedule(dynamic, 4096)
  for (int64_t i = 0; i < n; i++) {
    p->x[i] = 0.5 + RandomAt(i, 1);
    for (int32_t k = p->all.ptr[i]; k < p->all.ptr[i + 1]; k++) p->row[k] = (int32_t)i;
  }
  return POISE_OK;
}

static void Close(Problem *p)
{
  DestroyRows(&p->all);
  free(p->row);
  free(p->x);
  free(p->y);
  free(p->expected);
  free(p->weight);
}

/* ---- cuts ------------------------------------------------------------------------------------ */

/* The first row that begins at entry `at` or later, or the one before it if that is nearer. */
static int64_t RowAt(const Rows *r, int64_t at)
{
  int64_t low = 0, high = r->n;
  while (low < high) {
    int64_t middle = (low + high) / 2;
    if (r->ptr[middle] < at)
      low = middle + 1;
    else
      high = middle;
  }
  return low > 0 && at - r->ptr[low - 1] < r->ptr[low] - at ? low - 1 : low;
}

static int64_t Boundary(const Part *w, int rank)
{
  const Rows *r = &w->p->all;
  int64_t size = PoiseSize(w->ctx);
  return w->version == BLOCKS ? r->n * rank / size : RowAt(r, (int64_t)r->ptr[r->n] * rank / size);
}

static void Count(const Rows *r, int64_t begin, int64_t end, int32_t *ptr)
{
  for (int64_t i = begin; i <= end; i++) ptr[i - begin] = r->ptr[i] - r->ptr[begin];
}

/* Where parts are, and the offsets of this rank's; `blocks`: of all ranks, by one of them. */
static PoiseErr Cut(Part *w)
{
  const Rows *r = &w->p->all;
  int32_t **offsets = w->p->offsets;
  int rank = PoiseRank(w->ctx), size = PoiseSize(w->ctx);
  w->begin = Boundary(w, rank), w->end = Boundary(w, rank + 1);
  w->first = r->ptr[w->begin], w->nz = r->ptr[w->end] - w->first;
  if (w->format == COO || w->version == DEVICE) return POISE_OK; /* triplets have no offsets */
  if (w->version == PARTS) Count(r, w->begin, w->end, offsets[rank]);
  for (int k = 0; w->version == BLOCKS && rank == 0 && k < size; k++)
    Count(r, Boundary(w, k), Boundary(w, k + 1), offsets[k]);
  return PoiseBarrier(w->ctx);
}

/* ---- one product from the host's memory ------------------------------------------------------ */

static PoiseErr Reserve(Part *w)
{
  size_t nz = (size_t)w->nz, n = (size_t)(w->end - w->begin);
  if (!w->stream) return POISE_OK;
  TRY(Word(gpu->alloc(w->stream, (n + 1) * sizeof(int32_t), &w->there.ptr)));
  TRY(Word(gpu->alloc(w->stream, nz * sizeof(int32_t), &w->there.col)));
  if (w->format == COO) TRY(Word(gpu->alloc(w->stream, nz * sizeof(int32_t), &w->there.row)));
  TRY(Word(gpu->alloc(w->stream, nz * sizeof(double), &w->there.val)));
  return Word(gpu->alloc(w->stream, n * sizeof(double), &w->there_x));
}

static void Release(Part *w)
{
  PoiseVecDestroy(&w->x);
  PoiseVecDestroy(&w->y);
  PoiseMatDestroy(&w->A);
  if (!w->stream) return;
  if (w->there.ptr) (void)gpu->release(w->stream, w->there.ptr);
  if (w->there.col) (void)gpu->release(w->stream, w->there.col);
  if (w->there.row) (void)gpu->release(w->stream, w->there.row);
  if (w->there.val) (void)gpu->release(w->stream, w->there.val);
  if (w->there_x) (void)gpu->release(w->stream, w->there_x);
  w->there = (Arrays){0}, w->there_x = NULL;
}

static PoiseErr Upload(Part *w)
{
  const Rows *r = &w->p->all;
  size_t nz = (size_t)w->nz, n = (size_t)(w->end - w->begin);
  if (!w->stream) return POISE_OK;
  if (w->format == COO)
    TRY(Word(gpu->copy(w->stream, w->there.row, w->p->row + w->first, nz * sizeof(int32_t))));
  else
    TRY(Word(gpu->copy(w->stream, w->there.ptr, r->ptr + w->begin, (n + 1) * sizeof(int32_t))));
  TRY(Word(gpu->copy(w->stream, w->there.col, r->col + w->first, nz * sizeof(int32_t))));
  TRY(Word(gpu->copy(w->stream, w->there.val, r->val + w->first, nz * sizeof(double))));
  TRY(Word(gpu->copy(w->stream, w->there_x, w->p->x + w->begin, n * sizeof(double))));
  return Word(gpu->wait(w->stream));
}

static PoiseErr Create(Part *w)
{
  const Rows *r = &w->p->all;
  PoiseInt n = w->end - w->begin, N = r->N;
  bool device = w->version == DEVICE && w->stream;
  const int32_t *ptr = device ? w->there.ptr : w->p->offsets[PoiseRank(w->ctx)],
                *col = device ? w->there.col : r->col + w->first;
  const double *val = device ? w->there.val : r->val + w->first;
  PoiseContext ctx = w->ctx;
  if (w->format == CSR) {
    PoiseCSR csr = {.ptr32 = ptr, .col32 = col, .val = val};
    TRY(device ? PoiseMatCreateDeviceCSR(ctx, n, n, N, N, &csr, POISE_BORROW, &w->A)
               : PoiseMatCreateCSR(ctx, n, n, N, N, &csr, POISE_BORROW, &w->A));
    return PoiseMatSetType(w->A, w->version == BLOCKS ? "auto" : "pcsr");
  }
  if (w->format == CSC) {
    PoiseCSC csc = {.ptr32 = ptr, .row32 = col, .val = val};
    return device ? PoiseMatCreateDeviceCSC(ctx, n, n, N, N, &csc, POISE_BORROW, &w->A)
                  : PoiseMatCreateCSC(ctx, n, n, N, N, &csc, POISE_BORROW, &w->A);
  }
  PoiseTriplets coo = {
      .n = w->nz, .row32 = device ? w->there.row : w->p->row + w->first, .col32 = col, .val = val};
  return device ? PoiseMatCreateDeviceTriplets(ctx, n, n, N, N, &coo, POISE_BORROW, &w->A)
                : PoiseMatCreateTriplets(ctx, n, n, N, N, &coo, POISE_BORROW, &w->A);
}

/* Offsets of the part on the GPU. */
static PoiseErr Shift(Part *w)
{
  if (w->version != DEVICE || !w->stream || w->format == COO) return POISE_OK;
  TRY(Word(gpu->shift(w->stream, w->end - w->begin + 1, w->there.ptr, (int32_t)w->first)));
  return Word(gpu->wait(w->stream));
}

/* From arrays to a first product, that is waited for. */
static PoiseErr First(Part *w)
{
  double *x, dot;
  TRY(Create(w));
  TRY(PoiseMatCreateVecs(w->A, &w->x, &w->y));
  TRY(PoiseVecGetWrite(w->x, &x));
  memcpy(x, w->p->x + w->begin, (size_t)(w->end - w->begin) * sizeof *x);
  TRY(PoiseVecRestore(w->x, &x));
  TRY(PoiseMatMult(w->A, w->x, w->y));
  return PoiseVecDot(w->y, w->y, &dot);
}

enum { PRODUCTS = 10 };

static PoiseErr Products(Part *w)
{
  double dot;
  for (int k = 0; k < PRODUCTS; k++) TRY(PoiseMatMult(w->A, w->x, w->y));
  return PoiseVecDot(w->y, w->y, &dot);
}

static PoiseErr Merge(Part *w)
{
  const double *y;
  TRY(PoiseVecGetRead(w->y, &y));
  memcpy(w->p->y + w->begin, y, (size_t)(w->end - w->begin) * sizeof *y);
  return PoiseVecRestore(w->y, &y);
}

/* Seconds since *start, of the slowest rank. */
static PoiseErr Since(Part *w, double *start, double *seconds)
{
  Times t = {0};
  TRY(End(w->ctx, *start, &t));
  *seconds = t.t[0];
  return Begin(w->ctx, start);
}

static PoiseErr Once(Part *w, double *t)
{
  double start, first = 0, offsets = 0;
  bool uploaded = w->version == DEVICE && w->stream;
  TRY(Begin(w->ctx, &start));
  TRY(Cut(w));
  TRY(Since(w, &start, &t[CUT]));
  TRY(PoiseAgree(w->ctx, Reserve(w)));
  TRY(Begin(w->ctx, &start));
  TRY(Upload(w)); /* alone */
  TRY(Since(w, &start, &t[UPLOAD]));
  TRY(Shift(w));
  TRY(Since(w, &start, &offsets));
  t[CUT] += offsets;
  TRY(First(w));
  TRY(Since(w, &start, &first));
  TRY(Products(w));
  TRY(Since(w, &start, &t[PRODUCT]));
  t[PRODUCT] /= PRODUCTS;
  TRY(Merge(w));
  TRY(Since(w, &start, &t[MERGE]));
  if (!w->stream) t[UPLOAD] = 0;
  t[SETUP] = fmax(0, first - (uploaded ? 0 : t[UPLOAD]) - t[PRODUCT]);
  return POISE_OK;
}

/* ---- rows of the table ----------------------------------------------------------------------- */

/* Of the largest part over the mean; where rows are cut the view says it. */
static PoiseErr Largest(Part *w, double *largest)
{
  char *view = NULL;
  size_t size = 0;
  const char *words = "nonzeros of a part at most ", *at;
  double nz = (double)w->nz;
  TRY(PoiseMax(w->ctx, 1, &nz));
  *largest = nz * PoiseSize(w->ctx) / fmax(w->p->all.ptr[w->p->all.n], 1);
  FILE *stream = open_memstream(&view, &size);
  if (!stream) POISE_FAIL(POISE_ERR_MEMORY, "the text of a view");
  PoiseSetOutput(w->ctx, stream);
  PoiseErr e = PoiseMatView(w->A);
  PoiseSetOutput(w->ctx, NULL);
  fclose(stream);
  if (!e && (at = strstr(view, words))) *largest = atof(at + strlen(words));
  free(view);
  return e;
}

static double WorstRow(const Problem *p)
{
  double worst = 0;
  for (int64_t i = 0; i < p->all.n; i++) {
    double error = fabs(p->y[i] - p->expected[i]) / fmax(p->weight[i], 1e-300);
    if (!(error <= worst)) worst = error;
  }
  return worst;
}

static PoiseErr Tell(Part *w, Times *times, double largest)
{
  double ms[STAGES], error = WorstRow(w->p);
  ms[TOTAL] = 0;
  for (int k = 0; k < TOTAL; k++) ms[k] = 1e3 * Median(&times[k]), ms[TOTAL] += ms[k];
  TRY(PoisePrintf(w->ctx,
                  "%-16s %10" PRId64 " %10d %2d %-4s %-7s %9.3f %9.3f %9.3f %9.3f %9.3f %10.3f %6.1f %6.1f "
                  "%6.3f %.1e\n",
                  w->p->name, w->p->all.n, w->p->all.ptr[w->p->all.n], PoiseSize(w->ctx),
                  format_words[w->format], version_words[w->version], ms[CUT], ms[SETUP], ms[UPLOAD],
                  ms[PRODUCT], ms[MERGE], ms[TOTAL], 100 * (ms[CUT] + ms[SETUP]) / ms[TOTAL],
                  100 * ms[MERGE] / ms[TOTAL], largest, error));
  if (!(error < 1e-12)) POISE_FAIL(POISE_ERR_NUMERIC, "y is WRONG by %g", error);
  return POISE_OK;
}

static PoiseErr Row(Part *w)
{
  Times times[STAGES] = {{0}};
  double largest = 0;
  PoiseErr e = POISE_OK;
  for (PoiseInt k = 0; k <= w->p->o.repeats && !e; k++) { /* the first one rehearses */
    double t[STAGES] = {0};
    e = Once(w, t);
    for (int s = 0; s < TOTAL && k > 0; s++) times[s].t[times[s].n++] = t[s];
    if (!e && k == w->p->o.repeats) e = Largest(w, &largest);
    Release(w);
  }
  TRY(PoiseAgree(w->ctx, e));
  return PoiseAgree(w->ctx, PoiseRank(w->ctx) ? POISE_OK : Tell(w, times, largest));
}

static PoiseErr Formats(PoiseContext ctx, Problem *p)
{
  void *stream = PoiseStream(ctx);
  PoiseErr e = POISE_OK;
  for (int format = 0; format < FORMATS && !e; format++) {
    if (!PoiseRank(ctx)) Expect(p, format == CSC);
    for (int version = 0; version < VERSIONS && !e; version++) {
      Part w = {.ctx = ctx, .p = p, .stream = stream, .format = (Format)format, .version = (Version)version};
      if (version != DEVICE || stream) e = Row(&w);
    }
  }
  return e;
}

/* The offsets of all parts are where all ranks see them. */
static PoiseErr OnRanks(PoiseContext ctx, void *arg)
{
  Problem *p = arg;
  int rank = PoiseRank(ctx), size = PoiseSize(ctx);
  if (!rank) p->offsets = calloc((size_t)size, sizeof *p->offsets);
  TRY(PoiseAgree(ctx, rank || p->offsets ? POISE_OK : POISE_ERR_MEMORY));
  p->offsets[rank] = malloc((size_t)(p->all.n + 1) * sizeof **p->offsets);
  PoiseErr e = PoiseAgree(ctx, p->offsets[rank] ? POISE_OK : POISE_ERR_MEMORY);
  if (!e) e = Formats(ctx, p);
  free(p->offsets[rank]);
  (void)PoiseAgree(ctx, e); /* all have freed theirs */
  if (!rank) free(p->offsets);
  return e;
}

static PoiseErr Each(PoiseContext ctx, Problem *p)
{
  TRY(PoisePrintf(ctx, "matrix                 rows   nonzeros ranks    ms: cut    set-up      copy   product"
                       "     merge        sum  part %% merge %% nz max/mean, error\n"));
  for (int k = 0; k < MATRICES; k++) {
    size_t length = strcspn(stand_ins[k], " ");
    if (*p->o.only && (strlen(p->o.only) != length || strncmp(p->o.only, stand_ins[k], length))) continue;
    PoiseErr e = Open(ctx, stand_ins[k], p);
    if (!e) e = PoiseRun(ctx, OnRanks, p);
    Close(p);
    TRY(e);
  }
  return POISE_OK;
}

int main(int argc, char **argv)
{
  Problem p = {.name = ""};
  PoiseContext ctx;
  const PoiseInit init = {.serial = 1, .help = "Partitioning and merging from host memory", .options = table};
  setvbuf(stdout, NULL, _IOLBF, 0); /* what was measured stays, if time runs out */
  PoiseErr e = PoiseInitialize(&argc, &argv, &init, &ctx);
  if (!e) e = PoiseOptionsDefaults(table, &p.o);
  if (!e) e = PoiseOptionsRead(ctx, NULL, table, &p.o);
  if (!e) e = Each(ctx, &p);
  if (!e) e = PoiseFinalize(&ctx);
  if (e) fputs(PoiseErrorText(), stderr);
  return e ? 1 : 0;
}
