/* SPDX-License-Identifier: BSD-3-Clause */
/*
  What tiles for the reuse of x could gain (the future work of Eberhardt and Hoemmen 2016): a matrix of blocks
  whose columns are scattered over an x that does not stay in cache, cut by columns into tiles whose part of x
  does.

    tiles -device cuda [-block 3 -x 1.1e8 -blocks 12 -tiles 4]

  Each block row has -blocks blocks, one in each equal part of the columns, anywhere in it. Three products of
  as many blocks take turns:

    whole  y = A x
    tiles  y = A_1 x, then y = A_k x + y for the other tiles, whose blocks are those of A
    near   the columns within 1000 of the row: all that a renumbering could reach

  A line tells medians in microseconds, and beside them what bytes predict from the time of `near`: with
  -sector bytes read for each sector of x that is touched, of which a share stays in -cache bytes.
*/
#include <math.h>
#include <poise.h>
#include <stdlib.h>

#include "common/measure.h"

#define TRY POISE_TRY

enum { MAX_TILES = 16, NEAR = 2000, LARGEST = 32, WHOLE = 0, TILED, CLOSE, PRODUCTS };

typedef struct Options {
  double x, cache, seconds;
  PoiseInt block, blocks, tiles, repeats, sector;
} Options;

static const PoiseOption table[] = {
    {"block", POISE_OPTION_INT, offsetof(Options, block), "3", 1, LARGEST, NULL, "rows of a block"},
    {"x", POISE_OPTION_REAL, offsetof(Options, x), "1.1e8", 1e4, 1e10, NULL, "bytes of x"},
    {"blocks", POISE_OPTION_INT, offsetof(Options, blocks), "12", 1, 1000, NULL, "of a block row"},
    {"tiles", POISE_OPTION_INT, offsetof(Options, tiles), "4", 1, MAX_TILES, NULL, "that divide -blocks"},
    {"repeats", POISE_OPTION_INT, offsetof(Options, repeats), "9", 1, MAX_REPEATS, NULL, "turns"},
    {"seconds", POISE_OPTION_REAL, offsetof(Options, seconds), "0.02", 0, 10, NULL,
     "of a product in a turn, at least"},
    {"sector", POISE_OPTION_INT, offsetof(Options, sector), "64", 8, 4096, NULL,
     "bytes that memory gives at once"},
    {"cache", POISE_OPTION_REAL, offsetof(Options, cache), "5e7", 0, 1e12, NULL, "bytes that may hold x"},
    {0},
};

typedef struct Arrays { /* of the host, borrowed by a matrix */
  int32_t *ptr, *col;
  double *val;
} Arrays;

typedef struct Run {
  PoiseContext ctx;
  Options o;
  int64_t N; /* block rows */
  Arrays part[MAX_TILES + 2];
  PoiseMat whole, near, tile[MAX_TILES];
  PoiseVec x, y, z;
  Times t[PRODUCTS];
} Run;

static uint64_t Mixed(uint64_t i, uint64_t l)
{
  uint64_t h = i * 0x9e3779b97f4a7c15u + l * 0xc2b2ae3d27d4eb4fu;
  h = (h ^ h >> 31) * 0xbf58476d1ce4e5b9u;
  return h ^ h >> 29;
}

/* Blocks [first, end) of each block row: of `width` columns from the start of its window on, one in each of
   o.blocks equal parts. */
static PoiseErr Create(Run *run, PoiseInt first, PoiseInt end, int64_t width, Arrays *a, PoiseMat *A)
{
  int64_t n = end - first, b = run->o.block, size = b * b, N = run->N, k = run->o.blocks;
  a->ptr = malloc((size_t)(N + 1) * sizeof *a->ptr);
  a->col = malloc((size_t)(N * n) * sizeof *a->col);
  a->val = LargePages((size_t)(N * n * size) * sizeof *a->val);
  if (!a->ptr || !a->col || !a->val)
    POISE_FAIL(POISE_ERR_MEMORY, "%lld blocks of %lld x %lld", (long long)(N * n), (long long)b,
               (long long)b);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i <= N; i++) a->ptr[i] = (int32_t)(i * n);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < N; i++) {
    int64_t start = i - width / 2;
    if (start > N - width) start = N - width;
    if (start < 0) start = 0;
    for (int64_t l = first, at = i * n; l < end; l++, at++) {
      int64_t from = l * width / k, room = (l + 1) * width / k - from;
      a->col[at] = (int32_t)(start + from + (int64_t)(Mixed((uint64_t)i, (uint64_t)l) % (uint64_t)room));
      for (int64_t s = 0; s < size; s++)
        a->val[at * size + s] = (double)(Mixed((uint64_t)i, (uint64_t)(l * size + s)) >> 40) * 0x1p-24 - 0.5;
    }
  }
  const PoiseBCSR bcsr = {.ptr32 = a->ptr, .col32 = a->col, .val = a->val};
  return PoiseMatCreateBCSR(run->ctx, (int)b, N * b, N * b, N * b, N * b, &bcsr, POISE_BORROW, A);
}

static PoiseErr CreateAll(Run *run)
{
  PoiseInt k = run->o.blocks, tiles = run->o.tiles;
  run->N = (int64_t)(run->o.x / 8 / (double)run->o.block);
  if (k % tiles) POISE_FAIL(POISE_ERR_OPTION, "%d blocks of a row in %d tiles", (int)k, (int)tiles);
  if (run->N < 2 * NEAR || run->N * k > INT32_MAX)
    POISE_FAIL(POISE_ERR_OPTION, "%lld block rows of %d blocks", (long long)run->N, (int)k);
  TRY(Create(run, 0, k, run->N, &run->part[MAX_TILES], &run->whole));
  TRY(Create(run, 0, k, NEAR, &run->part[MAX_TILES + 1], &run->near));
  for (PoiseInt p = 0; p < tiles; p++)
    TRY(Create(run, p * k / tiles, (p + 1) * k / tiles, run->N, &run->part[p], &run->tile[p]));
  TRY(PoiseMatCreateVecs(run->whole, &run->x, &run->y));
  TRY(PoiseVecDuplicate(run->y, &run->z));
  return PoiseVecSetRandom(run->x, 1);
}

static void Destroy(Run *run)
{
  PoiseMatDestroy(&run->whole);
  PoiseMatDestroy(&run->near);
  for (int p = 0; p < MAX_TILES; p++) PoiseMatDestroy(&run->tile[p]);
  PoiseVecDestroy(&run->x);
  PoiseVecDestroy(&run->y);
  PoiseVecDestroy(&run->z);
  for (int p = 0; p < MAX_TILES + 2; p++)
    free(run->part[p].ptr), free(run->part[p].col), free(run->part[p].val);
}

static PoiseErr Product(Run *run, int which, PoiseVec y)
{
  if (which != TILED) return PoiseMatMult(which == WHOLE ? run->whole : run->near, run->x, y);
  for (PoiseInt p = 0; p < run->o.tiles; p++) TRY(PoiseMatMultAdd(run->tile[p], 1, run->x, p > 0, y));
  return POISE_OK;
}

/* The tiles' result is that of the whole. */
static PoiseErr Check(Run *run)
{
  double difference, norm;
  TRY(Product(run, WHOLE, run->y));
  TRY(Product(run, TILED, run->z));
  TRY(PoiseVecNorm(run->y, POISE_NORM_2, &norm));
  TRY(PoiseVecAXPY(run->z, -1, run->y));
  TRY(PoiseVecNorm(run->z, POISE_NORM_2, &difference));
  if (!(difference <= 1e-13 * norm))
    POISE_FAIL(POISE_ERR_NUMERIC, "tiles are wrong by %g", difference / norm);
  return POISE_OK;
}

static PoiseErr Turn(Run *run, int which, int64_t calls)
{
  double start;
  TRY(PoiseWait(run->ctx));
  TRY(Begin(run->ctx, &start));
  for (int64_t k = 0; k < calls; k++) TRY(Product(run, which, run->y));
  TRY(PoiseWait(run->ctx));
  TRY(End(run->ctx, start, &run->t[which]));
  run->t[which].t[run->t[which].n - 1] /= (double)calls;
  return POISE_OK;
}

static PoiseErr Measure(Run *run)
{
  int64_t calls[PRODUCTS];
  for (int which = 0; which < PRODUCTS; which++) {
    TRY(Turn(run, which, 1));
    TRY(Turn(run, which, 1));
    calls[which] = 1 + (int64_t)(run->o.seconds / Least(&run->t[which]));
    run->t[which].n = 0;
  }
  for (PoiseInt k = 0; k < run->o.repeats; k++)
    for (int which = 0; which < PRODUCTS; which++) TRY(Turn(run, which, calls[which]));
  return POISE_OK;
}

/* Bytes read for the x of a block: whole sectors. Where it begins is a multiple of step. */
static double Touched(const Options *o)
{
  int64_t size = 8 * o->block, step = size, rest = o->sector;
  while (rest) {
    int64_t next = step % rest;
    step = rest, rest = next;
  }
  return (double)(o->sector + size - step);
}

static PoiseErr Report(Run *run)
{
  const Options *o = &run->o;
  double b = (double)o->block, blocks = (double)(run->N * o->blocks), matrix = blocks * (8 * b * b + 4),
         vectors = 16 * b * (double)run->N, again = (double)(o->tiles - 1) * (double)run->N * (16 * b + 4),
         missed = fmax(0, 1 - o->cache / o->x), near = Median(&run->t[CLOSE]);
  double rate = (matrix + vectors) / near, whole = (matrix + vectors + missed * blocks * Touched(o)) / rate,
         tiles = (matrix + vectors + again) / rate;
  return PoisePrintf(
      run->ctx,
      "tiles b %d, x %.0f MB, %.0f block rows of %d, us: whole %.1f (bytes say %.1f), %d tiles "
      "%.1f (%.1f), near %.1f | whole / tiles %.3f (%.3f) | near: GB/s %.0f\n",
      (int)o->block, 8e-6 * b * (double)run->N, (double)run->N, (int)o->blocks, 1e6 * Median(&run->t[WHOLE]),
      1e6 * whole, (int)o->tiles, 1e6 * Median(&run->t[TILED]), 1e6 * tiles, 1e6 * near,
      Median(&run->t[WHOLE]) / Median(&run->t[TILED]), whole / tiles, 1e-9 * rate);
}

int main(int argc, char **argv)
{
  const PoiseInit init = {.help = "What tiles for the reuse of x could gain.", .options = table};
  Run run = {0};
  PoiseErr e = PoiseInitialize(&argc, &argv, &init, &run.ctx);
  if (!e) e = PoiseOptionsDefaults(table, &run.o);
  if (!e) e = PoiseOptionsRead(run.ctx, NULL, table, &run.o);
  if (!e) e = CreateAll(&run);
  if (!e) e = Check(&run);
  if (!e) e = Measure(&run);
  if (!e) e = Report(&run);
  if (e) fputs(PoiseErrorText(), stderr);
  Destroy(&run);
  if (run.ctx && PoiseFinalize(&run.ctx)) fputs(PoiseErrorText(), stderr);
  return e != POISE_OK;
}
