/* SPDX-License-Identifier: BSD-3-Clause */
#include "matrices.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TRY POISE_TRY

/* ---- the set ---------------------------------------------------------------------------------------------------------- */

const char *const matrix_lines[] = {
    /* meshes, and the problems with goals of their own */
    "5.small mesh 5 4.16e6", "5.middle mesh 5 1e8", "5.large mesh 5 1.073e9", "7.small mesh 7 2.8e6", "7.middle mesh 7 1e8",
    "7.large mesh 7 1.471e9", "27.small mesh 27 1e7", "27.middle mesh 27 2e8", "27.large mesh 27 1.2e9",
    "elasticity.small mesh 81 1e7", "elasticity.middle mesh 81 2e8", "elasticity.large mesh 81 1.2e9",
    "arrow.small arrow 1e6", "arrow.middle arrow 2e7", "arrow.large arrow 2.24e8", "tail.small tail 1e6",
    "tail.middle tail 4e7", "tail.large tail 4e8",
    /* recursive */
    "rmat.12.16 rmat 12 16", "rmat.15.16 rmat 15 16", "rmat.18.4 rmat 18 4", "rmat.18.32 rmat 18 32", "rmat.20.8 rmat 20 8",
    "rmat.21.16 rmat 21 16", "scrambled.12.16 scrambled 12 16", "scrambled.15.16 scrambled 15 16",
    "scrambled.18.4 scrambled 18 4", "scrambled.18.32 scrambled 18 32", "scrambled.20.8 scrambled 20 8",
    "scrambled.21.16 scrambled 21 16",
    /* even rows, short to long, small to large */
    "constant.1 rows 4e6 constant 1 near 1000", "constant.2 rows 4e6 constant 2 near 1000",
    "constant.3 rows 2e6 constant 3 near 1000", "constant.5 rows 2e6 constant 5 any",
    "constant.8 rows 1e6 constant 8 near 100", "constant.10.tiny rows 1e3 constant 10 near 100",
    "constant.10.small rows 1e4 constant 10 near 100", "constant.10.middle rows 1e5 constant 10 near 1000",
    "constant.10 rows 1e6 constant 10 near 1000", "constant.10.large rows 1e7 constant 10 near 1000",
    "constant.10.any rows 1e6 constant 10 any", "constant.14 rows 1e6 constant 14 near 1000",
    "constant.20 rows 5e5 constant 20 near 1000", "constant.32 rows 5e5 constant 32 half 1000",
    "constant.50 rows 3e5 constant 50 near 1000", "constant.60.runs rows 3e5 constant 60 near 3000 runs 3",
    "constant.100 rows 1e5 constant 100 near 3000", "constant.100.large rows 1e6 constant 100 near 3000",
    "constant.300 rows 5e4 constant 300 any", "constant.1000 rows 2e4 constant 1000 near 5000",
    "dense.1000 rows 1000 constant 1000 any", "dense.3000 rows 3000 constant 3000 any",
    /* somewhat uneven */
    "uniform.1.7 rows 2e6 uniform 1 7 near 1000", "uniform.0.3.large rows 1e7 uniform 0 3 near 1000",
    "uniform.1.15 rows 1e6 uniform 1 15 near 1000", "uniform.1.15.small rows 2e4 uniform 1 15 near 1000",
    "uniform.1.31 rows 1e6 uniform 1 31 half 1000", "uniform.1.63 rows 3e5 uniform 1 63 near 1000",
    "uniform.0.20 rows 1e6 uniform 0 20 any", "uniform.10.20 rows 1e6 uniform 10 20 near 1000",
    "uniform.50.150 rows 1e5 uniform 50 150 near 3000", "uniform.1.500 rows 4e4 uniform 1 500 near 5000",
    "normal.8.1 rows 1e6 normal 8 1 1 16 near 30", "normal.20.5 rows 5e5 normal 20 5 1 60 near 30",
    "normal.27.8 rows 4e5 normal 27 8 1 64 near 200", "normal.80.20 rows 1e5 normal 80 20 4 200 near 1000 runs 3",
    "normal.80.20.large rows 1e6 normal 80 20 4 200 near 1000 runs 3", "geometric.3 rows 2e6 geometric 3 near 1000",
    "geometric.5 rows 2e6 geometric 5 half 1000", "geometric.10 rows 1e6 geometric 10 near 1000",
    "geometric.10.small rows 2e4 geometric 10 near 1000", "geometric.30 rows 3e5 geometric 30 near 1000",
    "geometric.100 rows 1e5 geometric 100 near 3000", "lognormal.10.5 rows 1e6 lognormal 10 5 1 1000 near 1000",
    "lognormal.10.10 rows 1e6 lognormal 10 10 1 5000 near 1000",
    "lognormal.10.40 rows 1e6 lognormal 10 40 1 20000 half 1000",
    "lognormal.50.200 rows 2e5 lognormal 50 200 1 50000 half 3000",
    /* power laws */
    "power.1.2.100 rows 1e6 power 1.2 100 near 1000", "power.1.2.5000 rows 1e6 power 1.2 5000 half 1000",
    "power.1.2.1e5 rows 1e6 power 1.2 1e5 half 1000", "power.1.4.100 rows 1e6 power 1.4 100 any",
    "power.1.4.1e5.small rows 1e5 power 1.4 1e5 half 1000", "power.1.4.1e5 rows 4e6 power 1.4 1e5 half 1000",
    "power.1.7.1e4 rows 2e6 power 1.7 1e4 near 1000", "power.2.1e4 rows 2e6 power 2 1e4 half 1000",
    "power.2.5.1e3 rows 2e6 power 2.5 1000 near 1000", "power.1.1e5 rows 5e5 power 1 1e5 half 1000",
    "power.0.8.1e4 rows 2e5 power .8 1e4 half 1000", "sorted.1.4 rows 1e6 sorted 1.4 5000 half 1000",
    "sorted.2 rows 1e6 sorted 2 1e4 near 1000", "sorted.1 rows 5e5 sorted 1 1e5 any",
    /* two populations, few long rows */
    "two.4.64.half rows 3e5 two 4 64 .5 near 1000", "two.4.64.tenth rows 1e6 two 4 64 .1 near 1000",
    "two.4.64.hundredth rows 2e6 two 4 64 .01 near 1000", "two.4.1000.hundredth rows 5e5 two 4 1000 .01 half 1000",
    "two.8.5000.thousandth rows 1e6 two 8 5000 .001 half 1000", "two.2.500.small rows 1e4 two 2 500 .01 any",
    "two.20.400.twentieth rows 3e5 two 20 400 .05 near 2000", "two.30.2000.rare rows 5e5 two 30 2000 .0002 near 5000",
    "full.5.1 rows 1e6 full 5 1 near 1000", "full.5.16 rows 1e6 full 5 16 near 1000",
    "full.5.4.small rows 2e4 full 5 4 near 1000", "full.27.2 rows 5e5 full 27 2 near 1000",
    "full.80.4 rows 2e5 full 80 4 near 1000 runs 3", "full.5.100 rows 1e5 full 5 100 near 1000",
    /* not evenly spread */
    "first.90.50 rows 2e6 first .9 .5 8 near 1000", "first.90.50.large rows 8e6 first .9 .5 10 near 1000",
    "first.90.50.long rows 2e6 first .9 .5 30 near 1000", "first.90.10 rows 1e6 first .9 .1 8 near 1000",
    "first.99.1 rows 1e6 first .99 .01 8 half 1000", "first.70.50 rows 5e5 first .7 .5 27 near 1000",
    "empty.10.5 rows 2e6 empty .1 5 near 1000", "empty.50.5 rows 2e6 empty .5 5 near 1000",
    "empty.50.20 rows 1e6 empty .5 20 near 1000", "empty.80.10 rows 2e6 empty .8 10 near 1000",
    "empty.95.20 rows 4e6 empty .95 20 half 1000", "empty.95.3 rows 1e7 empty .95 3 any",
    "empty.90.200 rows 5e5 empty .9 200 near 3000", "gap.50.5 rows 2e6 gap .5 5 near 1000",
    "gap.90.20 rows 4e6 gap .9 20 near 1000", "blocks.1.8 rows 2e6 blocks 1 8", "blocks.3.60 rows 4e5 blocks 3 60",
    "blocks.3.60.small rows 6e3 blocks 3 60", "blocks.1.300 rows 1e5 blocks 1 300",
    "blocks.100.1000 rows 2e4 blocks 100 1000", NULL};

const char *const table1_lines[] = {"webbase-1M rows 1000005 nonzeros 3105536 power 1.4 4700 half 1000",
                                    "mc2depi rows 525825 nonzeros 2100225 normal 3.994 .076 2 4 near 1000",
                                    "scircuit rows 170998 nonzeros 958936 lognormal 5.61 4.39 1 353 half 1000",
                                    "mac_econ_fwd500 rows 206500 nonzeros 1273389 lognormal 6.17 4.44 1 44 half 1000",
                                    "cop20k_A rows 121192 nonzeros 1362087 normal 11.24 7.5 0 41 half 5000",
                                    "pwtk rows 217918 nonzeros 5926171 normal 27.2 5 1 90 near 600 runs 6",
                                    "shipsec1 rows 140874 nonzeros 3977139 normal 28.2 8 1 54 near 3000 runs 6",
                                    "cant rows 62451 nonzeros 2034917 normal 32.6 8 1 40 near 300 runs 3",
                                    "consph rows 83334 nonzeros 3046907 normal 36.6 12 1 66 near 3000 runs 3",
                                    "qcd5_4 rows 49152 nonzeros 1916928 constant 39 half 1500 runs 3",
                                    "rma10 rows 46835 nonzeros 2374001 normal 50.7 27.8 4 145 near 1500 runs 5",
                                    "pdb1HYS rows 36417 nonzeros 2190591 normal 60.2 20 1 120 near 2000 runs 3",
                                    NULL};

/* ---- what a line says -------------------------------------------------------------------------------------------------- */

enum { MOST_NUMBERS = 4 };

typedef enum Lengths {
  NO_LENGTHS,
  CONSTANT,
  UNIFORM,
  GEOMETRIC,
  NORMAL,
  LOGNORMAL,
  POWER,
  SORTED,
  TWO,
  FULL_ROWS,
  FIRST,
  EMPTY,
  GAP,
  BLOCKS
} Lengths;

typedef struct Recipe {
  const char *line;
  Lengths lengths;
  double p[MOST_NUMBERS]; /* of the lengths */
  int64_t N, nonzeros;    /* nonzeros 0: as they come */
  double near;            /* share of the entries that are near the diagonal */
  int64_t reach, run;
  int problem, levels; /* problem PROBLEMS: none of them; levels 0: not recursive */
  double bytes, draws;
  bool scrambled;
} Recipe;

typedef enum Kind { ROWS_WORD, NONZEROS, LENGTHS, NEAR, HALF, ANY, RUNS, MESH, PROBLEM, RECURSIVE } Kind;

static const struct {
  const char *word;
  int numbers;
  Kind kind;
  int which; /* lengths, or problem */
} words[] = {
    {"rows", 1, ROWS_WORD, 0},
    {"nonzeros", 1, NONZEROS, 0},
    {"constant", 1, LENGTHS, CONSTANT},
    {"uniform", 2, LENGTHS, UNIFORM},
    {"geometric", 1, LENGTHS, GEOMETRIC},
    {"normal", 4, LENGTHS, NORMAL},
    {"lognormal", 4, LENGTHS, LOGNORMAL},
    {"power", 2, LENGTHS, POWER},
    {"sorted", 2, LENGTHS, SORTED},
    {"two", 3, LENGTHS, TWO},
    {"full", 2, LENGTHS, FULL_ROWS},
    {"first", 3, LENGTHS, FIRST},
    {"empty", 2, LENGTHS, EMPTY},
    {"gap", 2, LENGTHS, GAP},
    {"blocks", 2, LENGTHS, BLOCKS},
    {"near", 1, NEAR, 0},
    {"half", 1, HALF, 0},
    {"any", 0, ANY, 0},
    {"runs", 1, RUNS, 0},
    {"mesh", 2, MESH, 0},
    {"arrow", 1, PROBLEM, ARROW},
    {"tail", 1, PROBLEM, TAIL},
    {"rmat", 2, RECURSIVE, false},
    {"scrambled", 2, RECURSIVE, true},
};

enum { WORDS = sizeof words / sizeof *words };

static int MeshOf(double entries)
{
  return entries == 5 ? FIVE : entries == 7 ? SEVEN : entries == 27 ? TWENTY_SEVEN : entries == 81 ? ELASTICITY : PROBLEMS;
}

static void Take(Recipe *c, int word, const double *p)
{
  switch (words[word].kind) {
  case ROWS_WORD:
    c->N = (int64_t)p[0];
    break;
  case NONZEROS:
    c->nonzeros = (int64_t)p[0];
    break;
  case LENGTHS:
    c->lengths = (Lengths)words[word].which;
    memcpy(c->p, p, sizeof c->p);
    break;
  case NEAR:
  case HALF:
    c->near = words[word].kind == NEAR ? 1 : .5;
    c->reach = (int64_t)p[0];
    break;
  case ANY:
    c->near = 0;
    break;
  case RUNS:
    c->run = (int64_t)p[0];
    break;
  case MESH:
    c->problem = MeshOf(p[0]);
    c->bytes = p[1];
    break;
  case PROBLEM:
    c->problem = words[word].which;
    c->bytes = p[0];
    break;
  case RECURSIVE:
    c->levels = (int)p[0], c->draws = p[1], c->scrambled = words[word].which;
    break;
  }
}

static PoiseErr Parse(const char *line, char name[MATRIX_NAME], Recipe *c)
{
  char text[256], *rest = text, *end;
  *c = (Recipe){.line = line, .run = 1, .problem = PROBLEMS};
  snprintf(text, sizeof text, "%s", line);
  char *at = strtok_r(text, " ", &rest);
  snprintf(name, MATRIX_NAME, "%.*s", MATRIX_NAME - 1, at ? at : "");
  for (at = strtok_r(NULL, " ", &rest); at;) {
    double p[MOST_NUMBERS] = {0};
    int word = 0, n = 0;
    while (word < WORDS && strcmp(words[word].word, at)) word++;
    if (word == WORDS) POISE_FAIL(POISE_ERR_ARG, "'%s' in the line of a matrix: %s", at, line);
    while ((at = strtok_r(NULL, " ", &rest)) && n < MOST_NUMBERS) {
      p[n] = strtod(at, &end);
      if (*end) break;
      n++;
    }
    if (n != words[word].numbers)
      POISE_FAIL(POISE_ERR_ARG, "%d numbers after '%s', not %d, in the line of a matrix: %s", n, words[word].word,
                 words[word].numbers, line);
    Take(c, word, p);
  }
  if (c->levels || c->problem != PROBLEMS || (c->N > 0 && c->lengths)) return POISE_OK;
  POISE_FAIL(POISE_ERR_ARG, "no size or no lengths in the line of a matrix: %s", line);
}

/* ---- lengths of rows ----------------------------------------------------------------------------------------------------- */

enum { LENGTH = -1, ANOTHER = -2, EXTRA = -3, BLOCK = -4, RIGHT = -5 }; /* second numbers for RandomAt beside entries */

static double Normal(int64_t i)
{
  return sqrt(-2 * log(1 - RandomAt(i, LENGTH))) * cos(2 * 3.14159265358979323846 * RandomAt(i, ANOTHER));
}

static double LogNormal(const double *p, int64_t i)
{
  double variance = log(1 + p[1] * p[1] / (p[0] * p[0]));
  return p[0] * exp(sqrt(variance) * Normal(i) - variance / 2);
}

/* A number with this mean, next to it. */
static double Rounded(double mean, double u)
{
  return floor(mean) + (u < mean - floor(mean));
}

static double Clip(double x, double least, double most)
{
  return x < least ? least : x > most ? most : x;
}

/* The block of row i: rows [*begin, *end). Every so many rows blocks begin anew, so that this takes few steps. */
static void BlockOf(const Recipe *c, int64_t i, int64_t *begin, int64_t *end)
{
  int64_t anew = (int64_t)fmax(256, 4 * c->p[1]), start = i - i % anew, stop = start + anew < c->N ? start + anew : c->N;
  for (*begin = start;; *begin = *end) {
    *end = *begin + (int64_t)(c->p[0] + RandomAt(*begin, BLOCK) * (c->p[1] - c->p[0] + 1));
    if (*end > stop) *end = stop;
    if (i < *end) return;
  }
}

static int64_t Length(const Recipe *c, int64_t i)
{
  const double *p = c->p, N = (double)c->N;
  double u = RandomAt(i, LENGTH), length = 0;
  int64_t begin, end;
  switch (c->lengths) {
  case CONSTANT:
  case NO_LENGTHS:
    length = p[0];
    break;
  case UNIFORM:
    length = p[0] + floor(u * (p[1] - p[0] + 1));
    break;
  case GEOMETRIC:
    length = 1 + floor(log(1 - u) / log(1 - 1 / p[0]));
    break;
  case NORMAL:
    length = Clip(round(p[0] + p[1] * Normal(i)), p[2], p[3]);
    break;
  case LOGNORMAL:
    length = Clip(round(LogNormal(p, i)), p[2], p[3]);
    break;
  case POWER:
    length = fmin(p[1], floor(pow(1 - u, -1 / p[0])));
    break;
  case SORTED:
    length = fmin(p[1], floor(pow(((double)i + .5) / N, -1 / p[0])));
    break;
  case TWO:
    length = u < p[2] ? p[1] : p[0];
    break;
  case FULL_ROWS: /* row (k + 1/2) N / n, k = 0, 1, ... */
    length = floor((double)i / N * p[1] + .5) < floor((double)(i + 1) / N * p[1] + .5) ? N : p[0];
    break;
  case FIRST:
    length = Rounded((double)i < p[1] * N ? p[2] * p[0] / p[1] : p[2] * (1 - p[0]) / (1 - p[1]), u);
    break;
  case EMPTY:
    length = u < p[0] ? 0 : p[1];
    break;
  case GAP:
    length = (double)i < p[0] * N ? 0 : p[1];
    break;
  case BLOCKS:
    BlockOf(c, i, &begin, &end);
    length = (double)(end - begin);
    break;
  }
  return (int64_t)Clip(length, 0, N);
}

/* Rows picked at random get one more or one less until the nonzeros are as many as they should be. */
static PoiseErr Adjust(const Recipe *c, int32_t *length)
{
  int64_t excess = -c->nonzeros, tries = 0;
  bool bounded = c->lengths == NORMAL || c->lengths == LOGNORMAL;
  int32_t least = bounded ? (int32_t)c->p[2] : 1, most = (int32_t)fmin((double)c->N, bounded ? c->p[3] : c->p[1]);
  if (c->lengths == CONSTANT) most = (int32_t)c->p[0] + 1;
  for (int64_t i = 0; i < c->N; i++) excess += length[i];
  for (; excess && tries < 100 * c->N; tries++) {
    int32_t *l = length + (int64_t)(RandomAt(tries, EXTRA) * (double)c->N);
    if (excess > 0 && *l > least) --*l, excess--;
    if (excess < 0 && *l < most) ++*l, excess++;
  }
  if (excess) POISE_FAIL(POISE_ERR_ARG, "lengths do not add up to the nonzeros in the line of a matrix: %s", c->line);
  return POISE_OK;
}

/* ---- columns -------------------------------------------------------------------------------------------------------------- */

/* n columns of [begin, end), ascending, as many as there are or fewer: an equal part of the range for each run of columns, in which
   it stands anywhere. */
static void Spread(int64_t i, int64_t begin, int64_t end, int64_t n, int64_t run, int32_t *col)
{
  int64_t range = end - begin;
  if (n <= 0) return;
  int64_t runs = (n + run - 1) / run;
  if (range / runs < run) run = 1, runs = n;
  int64_t step = range / runs, more = range % runs, late = 0, k = 0;
  for (int64_t j = 0; j < runs; j++) {
    int64_t width = step;
    late += more;
    if (late >= runs) late -= runs, width++;
    int64_t at = begin + (int64_t)(RandomAt(i, begin) * (double)(width - run + 1));
    for (int64_t l = 0; l < run && k < n; l++) col[k++] = (int32_t)(at + l);
    begin += width;
  }
}

static void Columns(const Recipe *c, int64_t i, int64_t n, int32_t *col)
{
  int64_t begin, end, near = (int64_t)ceil(c->near * (double)n), width = 2 * c->reach + 1;
  if (c->lengths == BLOCKS) {
    BlockOf(c, i, &begin, &end);
    Spread(i, begin, end, n, 1, col);
    return;
  }
  if (width < near) width = near;
  if (width > c->N || !c->near) width = c->near > 0 ? c->N : 0;
  begin = (int64_t)Clip((double)(i - width / 2), 0, (double)(c->N - width)), end = begin + width;
  int64_t outside = c->N - width, far = n - near < outside ? n - near : outside;
  int64_t left = outside ? (int64_t)((double)far * (double)begin / (double)outside) : 0;
  near = n - far;
  Spread(i, 0, begin, left, c->run, col);
  Spread(i, begin, end, near, c->run, col + left);
  Spread(i, end, c->N, far - left, c->run, col + left + near);
}

/* ---- the matrix ------------------------------------------------------------------------------------------------------------- */

static PoiseErr Cook(const Recipe *c, Rows *r)
{
  *r = (Rows){.n = c->N, .N = c->N, .block = 1};
  TRY(CountRows(r));
#pragma omp parallel for schedule(dynamic, 4096)
  for (int64_t i = 0; i < r->n; i++) r->ptr[i + 1] = (int32_t)Length(c, i);
  if (c->nonzeros) TRY(Adjust(c, r->ptr + 1));
  TRY(OffsetRows(r));
  TRY(ReserveRows(r));
#pragma omp parallel for schedule(dynamic, 1024)
  for (int64_t i = 0; i < r->n; i++) {
    Columns(c, i, r->ptr[i + 1] - r->ptr[i], r->col + r->ptr[i]);
    for (int32_t k = r->ptr[i]; k < r->ptr[i + 1]; k++) r->val[k] = 2 * RandomAt(k, RIGHT) - 1;
  }
  return POISE_OK;
}

PoiseErr CreateFromLine(PoiseContext ctx, const char *line, double shrink, char name[MATRIX_NAME], Rows *r)
{
  Recipe c;
  TRY(Parse(line, name, &c));
  if (c.problem != PROBLEMS) return CreateRows(ctx, c.problem, false, c.bytes / shrink, r);
  if (c.levels) return CreateRecursive(ctx, (int)fmax(3, c.levels - log2(shrink)), (int)c.draws, c.scrambled, r);
  c.N = (int64_t)fmax(8, (double)c.N / shrink);
  if (shrink != 1) c.nonzeros = 0;
  return Cook(&c, r);
}

RowStatistics StatisticsOf(const Rows *r)
{
  double n = (double)r->n, mean = r->n ? (double)r->ptr[r->n] / n : 0, squares = 0, longest = 0, empty = 0;
#pragma omp parallel for schedule(static) reduction(+ : squares, empty) reduction(max : longest)
  for (int64_t i = 0; i < r->n; i++) {
    double length = r->ptr[i + 1] - r->ptr[i];
    squares += (length - mean) * (length - mean);
    empty += length == 0;
    if (length > longest) longest = length;
  }
  return (RowStatistics){.mean = mean,
                         .longest = longest,
                         .deviation = mean > 0 ? sqrt(squares / n) / mean : 0,
                         .empty = r->n ? empty / n : 0};
}
