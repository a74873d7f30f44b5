/* SPDX-License-Identifier: BSD-3-Clause */
#define _POSIX_C_SOURCE 200809L
#include "matrices.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TRY POISE_TRY

/* ---- the set --------------------------------------------------------------------------------- */

#define TABLE1(line)
#define MATRIX(line) line,
const char *const matrix_lines[] = {
#include "matrices.def"
    NULL};
#undef TABLE1
#undef MATRIX

#define TABLE1(line) line,
#define MATRIX(line)
const char *const table1_lines[] = {
#include "matrices.def"
    NULL};

/* ---- what a line says ------------------------------------------------------------------------ */

enum { MOST_NUMBERS = 4 };

typedef enum Lengths {
  NO_LENGTHS,
  CONSTANT,
  UNIFORM,
  LOG_UNIFORM,
  GEOMETRIC,
  NORMAL,
  LOGNORMAL,
  POWER,
  SORTED,
  LAW,
  TWO,
  FULL_ROWS,
  FIRST,
  EMPTY,
  GAP,
  BLOCKS,
  NEIGHBOURS_IN_SPACE
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

typedef enum Kind {
  ROWS_WORD,
  NONZEROS,
  LENGTHS,
  NEAR,
  HALF,
  ANY,
  RUNS,
  MESH,
  PROBLEM,
  RECURSIVE,
  POINTS
} Kind;

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
    {"loguniform", 2, LENGTHS, LOG_UNIFORM},
    {"geometric", 1, LENGTHS, GEOMETRIC},
    {"normal", 4, LENGTHS, NORMAL},
    {"lognormal", 4, LENGTHS, LOGNORMAL},
    {"power", 2, LENGTHS, POWER},
    {"sorted", 2, LENGTHS, SORTED},
    {"law", 3, LENGTHS, LAW},
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
    {"points", 2, POINTS, NEIGHBOURS_IN_SPACE},
};

enum { WORDS = sizeof words / sizeof *words };

static int MeshOf(double entries)
{
  return entries == 5    ? FIVE
         : entries == 7  ? SEVEN
         : entries == 27 ? TWENTY_SEVEN
         : entries == 81 ? ELASTICITY
                         : PROBLEMS;
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
  case POINTS:
    c->lengths = (Lengths)words[word].which;
    c->N = (int64_t)(p[0] * p[0] * p[0]), c->p[0] = p[1];
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
      POISE_FAIL(POISE_ERR_ARG, "%d numbers after '%s', not %d, in the line of a matrix: %s", n,
                 words[word].word, words[word].numbers, line);
    Take(c, word, p);
  }
  if (c->levels || c->problem != PROBLEMS || (c->N > 0 && c->lengths)) return POISE_OK;
  POISE_FAIL(POISE_ERR_ARG, "no size or no lengths in the line of a matrix: %s", line);
}

/* ---- lengths of rows ------------------------------------------------------------------------- */

/* second numbers for RandomAt beside entries */
enum { LENGTH = -1, ANOTHER = -2, EXTRA = -3, BLOCK = -4, RIGHT = -5, PLACE = -8 /* to -6 */ };

static double Normal(int64_t i)
{
  return sqrt(-2 * log(1 - RandomAt(i, LENGTH))) * cos(2 * 3.14159265358979323846 * RandomAt(i, ANOTHER));
}

static double LogNormal(const double *p, int64_t i)
{
  double variance = log(1 + p[1] * p[1] / (p[0] * p[0]));
  return p[0] * exp(sqrt(variance) * Normal(i) - variance / 2);
}

/* Density x^-r from a to m, by its inverse; r is not 1. */
static double Law(double r, double a, double m, double u)
{
  double low = pow(a, 1 - r), high = pow(m, 1 - r);
  return pow(low + u * (high - low), 1 / (1 - r));
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

/* The block of row i: rows [*begin, *end). Every so many rows blocks begin anew, so that this takes few
   steps. */
static void BlockOf(const Recipe *c, int64_t i, int64_t *begin, int64_t *end)
{
  int64_t anew = (int64_t)fmax(256, 4 * c->p[1]), start = i - i % anew,
          stop = start + anew < c->N ? start + anew : c->N;
  for (*begin = start;; *begin = *end) {
    *end = *begin + (int64_t)(c->p[0] + RandomAt(*begin, BLOCK) * (c->p[1] - c->p[0] + 1));
    if (*end > stop) *end = stop;
    if (i < *end) return;
  }
}

/* Points, one anywhere in each cell of a cube: those in the cells around within p[0] of point i, and itself.
   col NULL: they are only counted. */
static int64_t InSpace(const Recipe *c, int64_t i, int32_t *col)
{
  int64_t side = llround(cbrt((double)c->N)), n = 0, at[3] = {i % side, i / side % side, i / side / side};
  for (int k = 0; k < 27; k++) {
    const int64_t step[3] = {k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1};
    int64_t j = i + step[0] + side * (step[1] + side * step[2]);
    double square = 0;
    bool inside = true;
    for (int d = 0; d < 3; d++) {
      inside = inside && at[d] + step[d] >= 0 && at[d] + step[d] < side;
      double apart = (double)step[d] + RandomAt(j, PLACE + d) - RandomAt(i, PLACE + d);
      square += apart * apart;
    }
    if (!inside || square >= c->p[0] * c->p[0]) continue;
    if (col) col[n] = (int32_t)j;
    n++;
  }
  return n;
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
  case LOG_UNIFORM:
    length = floor(p[0] * pow((p[1] + 1) / p[0], u));
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
  case LAW:
    length = Rounded(Law(p[0], p[1], p[2], u), RandomAt(i, ANOTHER));
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
  case NEIGHBOURS_IN_SPACE:
    length = (double)InSpace(c, i, NULL);
    break;
  }
  return (int64_t)Clip(length, 0, N);
}

/* Rows picked at random get one more or one less until the nonzeros are as many as they should be. */
static PoiseErr Adjust(const Recipe *c, int32_t *length)
{
  int64_t excess = -c->nonzeros, tries = 0;
  bool bounded = c->lengths == NORMAL || c->lengths == LOGNORMAL;
  int32_t least = bounded ? (int32_t)c->p[2] : 1,
          most = (int32_t)fmin((double)c->N, bounded ? c->p[3] : c->p[1]);
  if (c->lengths == CONSTANT) most = (int32_t)c->p[0] + 1;
  for (int64_t i = 0; i < c->N; i++) excess += length[i];
  for (; excess && tries < 100 * c->N; tries++) {
    int32_t *l = length + (int64_t)(RandomAt(tries, EXTRA) * (double)c->N);
    if (excess > 0 && *l > least) --*l, excess--;
    if (excess < 0 && *l < most) ++*l, excess++;
  }
  if (excess)
    POISE_FAIL(POISE_ERR_ARG, "lengths do not add up to the nonzeros in the line of a matrix: %s", c->line);
  return POISE_OK;
}

/* ---- columns --------------------------------------------------------------------------------- */

/* n columns of [begin, end), ascending, as many as there are or fewer: an equal part of the range for each
   run of columns, in which it stands anywhere. */
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
  if (c->lengths == NEIGHBOURS_IN_SPACE) {
    (void)InSpace(c, i, col);
    return;
  }
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

/* ---- the matrix ------------------------------------------------------------------------------ */

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
  if (c.levels)
    return CreateRecursive(ctx, (int)fmax(3, c.levels - log2(shrink)), (int)c.draws, c.scrambled, r);
  c.N = (int64_t)fmax(8, (double)c.N / shrink);
  if (c.lengths == NEIGHBOURS_IN_SPACE) c.N = (int64_t)pow(floor(cbrt((double)c.N)), 3);
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
