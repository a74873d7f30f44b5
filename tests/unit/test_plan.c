/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The choice of a product's form, without a GPU: what a plan must be on any device, for drawn statistics of
  rows. Its file is compiled in here, so that the parts of it are seen too.
*/
#include <limits.h>

#include "ksp/ksp.h"
#include "mat/product/ranks_plan.h"
#include "problem.h"
#include "sample.h"

#include "mat/product/product_plan.c"

enum { KB = 1024 };

static const DeviceModel host = {.host_threads = HOST_SHARES};
/* An H200; a GPU of the smallest kind with bulk copies; one that is larger than there are; one without bulk
   copies. */
static const DeviceModel gpus[] = {{.host_threads = HOST_SHARES,
                                    .multiprocessors = 132,
                                    .warp = 32,
                                    .threads = 2048,
                                    .shared = 228 * KB,
                                    .block_shared = 227 * KB,
                                    .l2 = 50 * KB * KB,
                                    .bandwidth = 4.9e12,
                                    .bulk = true},
                                   {.host_threads = HOST_SHARES,
                                    .multiprocessors = 20,
                                    .warp = 32,
                                    .threads = 1024,
                                    .shared = 64 * KB,
                                    .block_shared = 48 * KB,
                                    .bandwidth = 3e11,
                                    .bulk = true},
                                   {.host_threads = HOST_SHARES,
                                    .multiprocessors = 160,
                                    .warp = 32,
                                    .threads = 2048,
                                    .shared = 256 * KB,
                                    .block_shared = 255 * KB,
                                    .l2 = 128 * KB * KB,
                                    .bandwidth = 8e12,
                                    .bulk = true},
                                   {.host_threads = HOST_SHARES,
                                    .multiprocessors = 108,
                                    .warp = 32,
                                    .threads = 2048,
                                    .shared = 164 * KB,
                                    .block_shared = 163 * KB}};
enum { H200, SMALL_GPU, LARGE_GPU, OLD_GPU, GPUS };

/* ---- statistics of rows ---------------------------------------------------------------------- */

/* A number from `from` to `to`, all orders of magnitude alike. */
static int64_t Somewhere(uint64_t k, double from, double to)
{
  return (int64_t)(from * pow(to / from, (TestRandom(99, k) + 1) / 2));
}

static double Share(uint64_t k)
{
  return (TestRandom(77, k) + 1) / 2;
}

/* Rows of a mean length, with a deviation in shares of it. */
static CsrStatistics OfRows(int64_t m, double mean, double deviation, int64_t x_lines)
{
  double nz = mean * (double)m;
  return (CsrStatistics){.m = m,
                         .nz = (int64_t)nz,
                         .squares = (int64_t)(nz * mean * (1 + deviation * deviation)),
                         .x_lines = x_lines};
}

/* The same, all of it: no row is longer than `longest` means, and no tile has more than `full` means. */
static CsrStatistics Complete(const DeviceModel *model, CsrStatistics s, double longest, double full)
{
  double mean = Mean(s.m, s.nz);
  s.longest = (int64_t)ceil(longest * mean);
  if (s.longest > s.nz) s.longest = s.nz;
  s.bound = poiseRowsBound(model, s.m, s.nz);
  s.rows_above = s.longest > s.bound ? 1 : 0;
  s.max_share_nnz = (int64_t)(mean * full * (double)poiseRowsShare(model, 0, s.m));
  for (int k = 0; k < POISE_TILES; k++) s.tile[k] = (int64_t)ceil(mean * full * (TILE_THREADS >> k));
  return s;
}

static CsrStatistics Draw(const DeviceModel *model, uint64_t k)
{
  double mean = (double)Somewhere(8 * k + 1, 30, 1e5) / 100,
         deviation = k % 3 ? (double)Somewhere(8 * k + 2, 1, 1e3) / 100 : 0;
  CsrStatistics s = OfRows(Somewhere(8 * k, 1, 1e9), mean, deviation, Somewhere(8 * k + 3, 1, 101));
  return Complete(model, s, k % 2 ? 1 : (double)Somewhere(8 * k + 4, 1, 1e4),
                  k % 5 ? 1 : 1 + 9 * Share(8 * k + 5));
}

/* Where rows of `limit` entries or more are left out: a part of the nonzeros is in those. */
static CsrStatistics DrawCut(const CsrStatistics *all, int64_t limit, uint64_t k)
{
  CsrStatistics s = *all;
  if (s.longest < limit) return s;
  s.cut = s.longest + (int64_t)(Share(8 * k + 6) * (double)(s.nz - s.longest));
  s.fragments = (s.cut + 2 * limit - 1) / (2 * limit);
  s.longest = limit - 1 < s.nz - s.cut ? limit - 1 : s.nz - s.cut;
  for (int t = 0; t < POISE_TILES; t++)
    s.tile[t] = (int64_t)((double)s.tile[t] * (double)(s.nz - s.cut) / (double)s.nz);
  return s;
}

/* ---- the table of constants ------------------------------------------------------------------ */

static void TestConstants(PoiseContext ctx)
{
  static const struct {
    const char *name, *unit, *fitted, *measured;
    double value;
  } all[] = {
#define INT(name, value, unit, fitted, measured)  {#name, unit, fitted, measured, value},
#define REAL(name, value, unit, fitted, measured) {#name, unit, fitted, measured, value},
#include "mat/product/product_model.def"
#undef INT
#undef REAL
  };
  int n = (int)(sizeof all / sizeof *all);
  for (int k = 0; k < n; k++) {
    CHECK(all[k].value > 0 && *all[k].unit && *all[k].fitted && *all[k].measured);
    for (int j = 0; j < k; j++) CHECK(strcmp(all[j].name, all[k].name));
  }
  CHECK(LANES_1 < LANES_2 && LANES_2 < LANES_4 && LANES_4 < LANES_8 && LANES_8 < LANES_16);
  CHECK(CSRI_LEAST <= CSRI_SMALL && CSRI_SMALL <= CSRI_USUAL && CSRI_USUAL <= CSRI_MOST);
  CHECK(CSRI_STRETCH * CSRI_USUAL <= CSRI_MOST);
  CHECK(CARVE_SCATTERED <= CARVE_NEAR && CARVE_NEAR <= 100 && CSRI_NEAR < CSRI_SCATTERED);
  (void)ctx;
}

/* ---- tiles ----------------------------------------------------------------------------------- */

static void CheckTiles(const DeviceModel *model, const ProductPlan *p)
{
  int64_t each = poiseTileRoom(p->tile, 4) * 12 + CARVE_BESIDE;
  CHECK(model->bulk && p->form == FORM_TILES);
  CHECK(p->rows >= 4 && p->rows <= TILE_THREADS && (p->rows & (p->rows - 1)) == 0);
  CHECK(p->lanes >= 1 && p->lanes <= model->warp && p->rows * p->lanes <= TILE_THREADS);
  CHECK(poiseTileRoom(p->tile, 8) * 12 <= poiseTileMost(model));
  CHECK(p->carveout >= -1 && p->carveout <= 100);
  /* what is left of the memory is enough for some blocks, in whole percents */
  if (p->carveout >= 0) CHECK((p->carveout + 1) * model->shared >= 100 * (int64_t)CARVE_FEWEST * each);
}

static void CheckNoTiles(const ProductPlan *p)
{
  CHECK_INT(p->rows, POISE_BLOCK);
  CHECK_INT(p->carveout, -1);
  CHECK(p->form != FORM_TILES);
}

/* Row blocks fit into a device's memory, and what is predicted of them before there are entries holds. */
static void TestRowsOfBlocks(PoiseContext ctx)
{
  const ProductRequest request = {.type = PRODUCT_CSR};
  int tiles[GPUS] = {0};
  for (int g = 0; g < GPUS; g++)
    for (uint64_t k = 0; k < 5000; k++) {
      CsrStatistics s = Draw(&gpus[g], k);
      ProductPlan p;
      ProductBounds bounds;
      poiseProductPlan(&gpus[g], &request, &s, NULL, &p);
      if (p.form == FORM_TILES)
        CheckTiles(&gpus[g], &p);
      else
        CheckNoTiles(&p);
      if (p.form == FORM_TILES) CHECK_INT(p.tile, poiseTileOf(&s, p.rows));
      poiseProductBounds(&gpus[g], &request, s.m, s.nz, &bounds);
      CHECK(bounds.rows[0] <= p.rows && p.rows <= bounds.rows[1]);
      tiles[g] += p.form == FORM_TILES;
    }
  for (int g = 0; g < GPUS; g++) CHECK(gpus[g].bulk ? tiles[g] > 500 && tiles[g] < 4500 : !tiles[g]);
  (void)ctx;
}

/* Properties decide, where those of an H200 were once written down. */
static void TestDeviceSizes(PoiseContext ctx)
{
  CHECK_INT(poiseBlocksAtOnce(&gpus[H200]), 8 * 132);
  CHECK_INT(poiseBlocksAtOnce(&gpus[SMALL_GPU]), 4 * 20);
  CHECK_INT(poiseBlocksAtOnce(&gpus[LARGE_GPU]), 8 * 160);
  CHECK_INT(poiseTileMost(&gpus[H200]), 64 * KB);
  CHECK_INT(poiseTileMost(&gpus[SMALL_GPU]), 44 * KB);
  CHECK_INT(poiseMostHubBits(&gpus[H200]), 13);
  CHECK_INT(poiseMostHubBits(&gpus[SMALL_GPU]), 11);
  CHECK_INT(poiseMostHubBits(&host), 0);
  for (int g = 0; g < GPUS;
       g++) { /* a share of the memory: 4 blocks of 20 KB fit into 40 percent, or what they need */
    int carve = poiseTileCarveout(&gpus[g], 99, 20 * KB, 128);
    CHECK(carve == -1 || carve >= CARVE_SCATTERED);
    CHECK_INT(poiseTileCarveout(&gpus[g], 0, 20 * KB, 128), -1);
  }
  CHECK_INT(poiseTileCarveout(&gpus[H200], 99, 20 * KB, 128), CARVE_SCATTERED);
  CHECK_INT(poiseTileCarveout(&gpus[SMALL_GPU], 99, 20 * KB, 128), -1); /* which has no room for 4 */
  /* Even rows of 7, no neighbours in x: tiles where all have a place at once, here on the larger devices. */
  for (int g = 0; g < OLD_GPU; g++) {
    CsrStatistics s = Complete(&gpus[g], OfRows(200000, 7, 0.3, 12), 2, 1);
    const ProductRequest request = {.type = PRODUCT_CSRI, .hub_bits = HUBS_UNKNOWN};
    ProductPlan p;
    poiseProductPlan(&gpus[g], &request, &s, &s, &p);
    CHECK_INT(p.form, g == SMALL_GPU ? FORM_ROW_BLOCKS : FORM_TILES);
  }
  (void)ctx;
}

static void TestLanes(PoiseContext ctx)
{
  int64_t m = 1000000;
  for (int64_t nz = 0, rows = 0, tiles = 0; nz < 300 * m; nz += m / 3) {
    int k = poiseRowLanes(m, nz), t = LeastLanes(m, nz), more = poiseTileLanes(m, nz);
    CHECK(k >= rows && k <= 5 && t >= tiles && t <= 5); /* never fewer for longer rows */
    CHECK(t == 5 || (double)nz / (double)m <= TILE_EACH << t);
    CHECK(more == t || (more == t + 1 && t < 2));
    rows = k, tiles = t;
  }
  CHECK_INT(poiseRowLanes(0, 0), 0);
  (void)ctx;
}

/* ---- row blocks of csri ---------------------------------------------------------------------- */

/* Row blocks hold no fewer than they must and no more than they may, and if there is a choice are a little
   fewer than whole waves of places, or where many rows are split some waves. */
static void TestWaves(PoiseContext ctx)
{
  for (uint64_t k = 0; k < 20000; k++) {
    const DeviceModel *model = &gpus[k / 2 % GPUS];
    CsrStatistics s = {.m = Somewhere(4 * k, 1, 1e9), .nz = Somewhere(4 * k + 1, 1, 3e10)};
    bool scattered = k & 1;
    double places = CSRI_FILLED * CSRI_WARPS * model->multiprocessors, size = (double)(s.m + s.nz),
           others = CSRI_FRAGMENTS_FILLED * CSRI_TILE_THREADS / 32 * model->multiprocessors;
    int64_t limit = GpuLimit(s.m + s.nz, false), hubs = GpuLimit(s.m + s.nz, true);
    CHECK(limit >= 128 && limit <= 512 && hubs >= limit && hubs <= 2048);
    CHECK(limit == 128 || size / (double)limit > 4096); /* enough of them */
    if (k & 4)
      s.cut = Somewhere(4 * k + 2, 1, (double)s.nz),
      s.fragments = Somewhere(4 * k + 3, 1, 1 + (double)s.cut / (double)limit);
    s.x_lines = scattered ? CSRI_SCATTERED : CSRI_SCATTERED - 1;
    int64_t row_block = RowBlockSize(model, &s), fragment = FragmentBesideTiles(model, &s, limit);
    CHECK(row_block >= limit - limit / 4 && row_block >= 128 && row_block <= CSRI_MOST);
    bool many = s.cut && CSRI_MANY_SPLIT * s.cut >= s.nz;
    CHECK(!many || row_block == limit || size >= CSRI_SPLIT_WAVES * places * (double)row_block);
    CHECK(!many || row_block >= CSRI_MOST - 1 || size < CSRI_SPLIT_WAVES * places * (double)(row_block + 1));
    CHECK(fragment >= 2 * limit);
    /* neither the least nor the most, and so few waves that one row more or less in a row block is no wave */
    if (!many && row_block > 512 && row_block < 1.5 * (scattered ? CSRI_SMALL : CSRI_USUAL) &&
        size < 200.0 * (double)row_block * places) {
      double waves = ceil(size / (double)row_block) / places, all = waves + (double)s.fragments / places;
      CHECK(all <= round(all) + 1 / places && all >= round(all) - waves / 512 - 1e-9);
    }
    double fragments = (double)s.cut / (double)fragment / others;
    if (fragment > 2 * limit)
      CHECK(fragments <= ceil(fragments) && fragments > 0.66 * ceil(fragments) - 1e-9);
  }
  (void)ctx;
}

/* What was measured: bench/results/h200/even_rows.txt. */
static void TestRather(PoiseContext ctx)
{
  static const struct {
    double m, mean, deviation;
    int x_lines;
    bool row_blocks;
  } cases[] = {{1e6, 7, .03, 4, false},   {1e6, 5, .4, 7, false}, {2e6, 4, .5, 13, true},
               {1e7, 4, .5, 13, true},    {8e6, 5, .4, 13, true}, {2e6, 2.5, 1, 14, false},
               {2e6, 2.8, .65, 13, true}, {1e6, 10, 0, 12, true}, {1e7, 10, 0, 12, false},
               {4e6, 20, 0, 12, false},   {5e5, 20, 0, 12, true}, {1e6, 100, 0, 35, true},
               {2e6, 5, 0, 99, false},    {1e6, 10, 0, 99, true}, {5e4, 300, 0, 88, true}};
  const ProductRequest request = {.type = PRODUCT_CSRI, .hub_bits = HUBS_UNKNOWN};
  for (int k = 0; k < (int)(sizeof cases / sizeof *cases); k++) {
    CsrStatistics s = OfRows((int64_t)cases[k].m, cases[k].mean, cases[k].deviation, cases[k].x_lines);
    ProductPlan p;
    CHECK(RatherRowBlocks(&s, false) == cases[k].row_blocks);
    s = Complete(&gpus[H200], s, 1, 1);
    poiseProductPlan(&gpus[H200], &request, &s, &s, &p);
    CHECK_INT(p.form, cases[k].row_blocks ? FORM_ROW_BLOCKS : FORM_TILES);
  }
  for (uint64_t k = 0; k < 5000; k++) {
    CsrStatistics s = OfRows(Somewhere(4 * k, 1, 1e9), (double)Somewhere(4 * k + 1, 1, 1e5) / 100,
                             (double)Somewhere(4 * k + 2, 1, 1e4) / 1000, Somewhere(4 * k + 3, 1, 100));
    bool near = s.x_lines < CSRI_NEAR;
    CHECK(!RatherRowBlocks(&s, true));
    CHECK(!near || !RatherRowBlocks(&s, false));
    s.cut = 1;
    CHECK(RatherRowBlocks(&s, k % 2) == !near);
  }
  CHECK(!RatherRowBlocks(&(CsrStatistics){0}, false));
  (void)ctx;
}

/* Uneven rows of a large matrix go by tiles where columns are neighbours and no tile has far more than
   another: bench/results/h100/bands.txt. */
static void TestStreams(PoiseContext ctx)
{
  static const struct {
    double m, fullest;
    int x_lines, gathers; /* the latter decide where the former are few */
    bool tiles;
  } cases[] = {{2e6, 1.4, 1, 27, true},  {2e6, 1.4, 1, 86, true},   {2e5, 1.4, 1, 27, false},
               {2e6, 3, 1, 27, false},   {2e6, 1.4, 9, 27, true},   {2e6, 1.4, 9, 86, false},
               {2e5, 1.4, 9, 27, false}, {2e6, 1.4, 12, 27, false}, {2e6, 1.4, 9, 0, false}};
  for (int k = 0; k < (int)(sizeof cases / sizeof *cases); k++) {
    CsrStatistics s =
        Complete(&gpus[H200], OfRows((int64_t)cases[k].m, 21, .56, cases[k].x_lines), 2, cases[k].fullest);
    ProductRequest request = {.type = PRODUCT_CSRI, .hub_bits = HUBS_UNKNOWN};
    ProductPlan csri, csr;
    s.rows_above = s.m / 4, s.gather_lines = cases[k].gathers;
    poiseProductPlan(&gpus[H200], &request, &s, &s, &csri);
    CHECK_INT(csri.form, cases[k].tiles ? FORM_TILES : FORM_ROW_BLOCKS);
    request.type = PRODUCT_CSR;
    poiseProductPlan(&gpus[H200], &request, &s, NULL, &csr);
    CHECK(cases[k].tiles == (csr.times < csri.times));
    CHECK(csr.index16 == (csr.form == FORM_TILES && s.nz >= INDEX16_LEAST));
  }
  (void)ctx;
}

/* One plan of csri, with what is found of hubs, is whole and within what is predicted of it. */
static void CheckCsri(const DeviceModel *model, ProductRequest r, const CsrStatistics *s, uint64_t k,
                      ProductPlan *p)
{
  bool gpu = poiseModelIsGpu(model);
  int64_t limit = poiseSplitLimit(model, &r, s->m + s->nz);
  CsrStatistics cut = r.exact ? *s : DrawCut(s, limit, k);
  ProductBounds bounds;
  poiseProductBounds(model, &r, s->m, s->nz, &bounds);
  poiseProductPlan(model, &r, s, &cut, p);
  CHECK(p->hub_bits <= bounds.hub_bits && bounds.hub_bits <= poiseMostHubBits(model));
  if (p->hub_bits) CHECK(HUB_BESIDE + (HUB_BYTES << p->hub_bits) <= model->block_shared);
  r.hub_bits = k % 2 ? p->hub_bits : 0;
  poiseProductPlan(model, &r, s, &cut, p);
  CHECK_INT(p->hub_bits, p->form == FORM_TILES ? 0 : r.hub_bits);
  CHECK(p->row_block >= bounds.row_block[0] && p->row_block <= bounds.row_block[1]);
  CHECK(p->limit >= bounds.limit && p->limit >= p->row_block);
  CHECK(p->limit >= limit && p->fragment >= 2 * p->limit);
  CHECK(p->row_block + p->limit <= UINT16_MAX); /* rows and entries of a row block are counted in 16 bits */
  if (r.chunk) CHECK(p->row_block == r.chunk && p->limit == r.chunk && p->fragment == 2 * r.chunk);
  if (!gpu && !r.chunk) CHECK(p->row_block == HOST_LONG && p->limit == HOST_LONG);
  CHECK(r.exact == (p->form == FORM_SHARED));
  if (p->form == FORM_TILES)
    CheckTiles(model, p);
  else
    CheckNoTiles(p);
}

static void TestRowBlocks(PoiseContext ctx)
{
  int forms[FORM_PAPER + 1] = {0};
  for (int g = -1; g < GPUS; g++)
    for (uint64_t k = 0; k < 5000; k++) {
      const DeviceModel *model = g < 0 ? &host : &gpus[g];
      CsrStatistics s = Draw(model, k);
      ProductRequest r = {
          .type = PRODUCT_CSRI, .columns = s.m, .hub_bits = HUBS_UNKNOWN, .exact = k % 7 == 6};
      ProductPlan p;
      r.hubs = k % 4 ? -1 : (int64_t)(k % 9000), r.chunk = k % 6 ? 0 : 1 + (int64_t)(k % 8192);
      CheckCsri(model, r, &s, k, &p);
      forms[p.form]++;
    }
  CHECK(forms[FORM_TILES] > 1000 && forms[FORM_ROW_BLOCKS] > 1000);
  CHECK_INT(forms[FORM_TILES] + forms[FORM_ROW_BLOCKS] + forms[FORM_SHARED], 5000 * (GPUS + 1));
  (void)ctx;
}

/* Hubs are for large x, and to fetch them must be little beside the nonzeros of each multiprocessor. */
static void TestHubs(PoiseContext ctx)
{
  for (int g = 0; g < GPUS; g++) {
    int most = poiseMostHubBits(&gpus[g]);
    int64_t least = (int64_t)HUB_LITTLE * gpus[g].multiprocessors << most;
    ProductRequest r = {.columns = HUB_COLUMNS + 1, .hubs = -1};
    CHECK_INT(HubBits(&gpus[g], &r, least), most);
    CHECK_INT(HubBits(&gpus[g], &r, least - 1), 0);
    r.columns--;
    CHECK_INT(HubBits(&gpus[g], &r, least), 0);
    for (int bits = 0; bits < 16;
         bits++) { /* asked for: down to a power of two, and to what there is room for */
      r.hubs = (2 << bits) - 1;
      CHECK_INT(HubBits(&gpus[g], &r, 1), bits < most ? bits : most);
    }
    r.hubs = 0;
    CHECK_INT(HubBits(&gpus[g], &r, least), 0);
  }
  CHECK(poiseHubsPay(100000, 800000, 4, 100000) && !poiseHubsPay(100000, 800000, 4, 99999));
  CHECK(!poiseHubsPay(1000, 80000, 8, 80000)); /* as many as other columns */
  (void)ctx;
}

/* ---- seg, bcsr, transposed products ---------------------------------------------------------- */

static void TestSegments(PoiseContext ctx)
{
  for (int g = -1; g < GPUS; g++)
    for (uint64_t k = 0; k < 2000; k++) {
      const DeviceModel *model = g < 0 ? &host : &gpus[g];
      CsrStatistics s = Draw(model, k);
      ProductRequest r = {.type = PRODUCT_SEG, .segment = k % 4 ? 0 : 1 << (k / 4 % 9)};
      ProductPlan p;
      poiseProductPlan(model, &r, &s, NULL, &p);
      CHECK(p.segment >= 1 && p.segment <= SEG_MOST && (p.segment & (p.segment - 1)) == 0);
      CHECK(r.segment ? p.segment == r.segment : p.segment == SEG_MOST || p.segment * s.m >= s.nz);
      if (!r.segment && p.segment > 1) CHECK(p.segment / 2 * s.m < s.nz); /* the smallest */
      CHECK(p.row_block >= 1 && p.fragment == SEG_FRAGMENT && p.times == 0);
      CHECK(g < 0 ? p.lanes == 1 : p.row_block * p.lanes == SEG_THREADS);
      CHECK(p.limit <= p.tile + 1); /* a row that is not split fits into a row block */
      r.single = true;
      int64_t tile = p.tile;
      poiseProductPlan(model, &r, &s, NULL, &p);
      CHECK(p.tile == tile || (g >= 0 && p.tile == poiseTileOf(&s, (int)p.row_block)));
    }
  (void)ctx;
}

static void TestBlocks(PoiseContext ctx)
{
  static const int paper[] = {BCSR_BLOCK, BCSR_COLUMN, BCSR_ROW};
  for (int g = -1; g < GPUS; g++)
    for (int b = 1; b <= 32; b++) {
      const DeviceModel *model = g < 0 ? &host : &gpus[g];
      CsrStatistics even = Complete(model, OfRows(100000, 27, 0, 0), 1, 1), skewed = even;
      ProductRequest r = {.type = PRODUCT_BCSR, .b = b};
      ProductPlan p;
      ProductBounds bounds;
      even.max_share_nnz = 27 * poiseRowsShare(model, b, even.m),
      skewed.max_share_nnz = 2 * even.max_share_nnz;
      skewed.longest = 10000, skewed.squares = 3 * even.squares;
      poiseProductPlan(model, &r, &even, NULL, &p);
      CHECK_INT(p.form, FORM_GROUPS);
      CHECK(p.rows >= 1 && (g < 0 ? p.rows == POISE_BLOCK / b
                                  : b == 1 || p.rows * b * 4 <= BCSR_GROUP_THREADS || p.rows == 1));
      CHECK_INT(p.tile, p.rows < 4 ? p.rows * even.longest : poiseTileOf(&even, p.rows));
      CHECK(p.row_block >= 2 && p.limit == p.row_block && p.fragment == 2 * p.limit);
      poiseProductBounds(model, &r, even.m, even.nz, &bounds);
      CHECK(bounds.groups && bounds.balanced && bounds.rows[0] <= p.rows && p.rows <= bounds.rows[1]);
      CHECK(bounds.row_block[0] == p.row_block && bounds.row_block[1] == p.row_block);
      poiseProductPlan(model, &r, &skewed, NULL, &p);
      CHECK_INT(p.form, FORM_BALANCED);
      CHECK_INT(p.rows, POISE_BLOCK);
      for (int k = 0; k < 3; k++) { /* which only a GPU has, the first up to 5 x 5 */
        r.form = paper[k];
        poiseProductPlan(model, &r, &even, NULL, &p);
        CHECK_INT(p.form, FORM_PAPER);
        CHECK_INT(p.rows, g >= 0 && (k || b <= 5) ? 4 : 0);
        poiseProductBounds(model, &r, even.m, even.nz, &bounds);
        CHECK(!bounds.groups && !bounds.balanced && bounds.rows[0] == p.rows && bounds.rows[1] == p.rows);
      }
    }
  (void)ctx;
}

static void TestColumns(PoiseContext ctx)
{
  for (int g = -1; g < GPUS; g++)
    for (int b = 0; b <= 32; b += 4)
      for (uint64_t k = 0; k < 500; k++) {
        const DeviceModel *model = g < 0 ? &host : &gpus[g];
        int64_t m = Somewhere(2 * k, 1, 1e9), nz = Somewhere(2 * k + 1, 1, 3e10),
                chunk = poiseColumnsChunk(model, b, m, nz);
        if (!chunk) continue;
        CHECK(chunk >= 2 && chunk <= HOST_LONG && (m + nz) / chunk > HOST_FEW_BLOCKS);
        CHECK(poiseColumnsFragment(chunk, nz) >= 2 * chunk);
        CHECK(chunk == HOST_LONG || chunk >= 4 * nz / m); /* columns of a usual length are not cut */
      }
  (void)ctx;
}

/* ---- statistics that are asked for ----------------------------------------------------------- */

static void TestShares(PoiseContext ctx)
{
  for (uint64_t k = 0; k < 3000; k++) {
    int b = (int)(k % 33);
    int64_t m = Somewhere(k, 1, 1e9), rows = POISE_BLOCK / (b ? b : 1), share = poiseRowsShare(&host, b, m);
    CHECK(share >= 1 && share <= m);
    CHECK((m + share - 1) / share <= HOST_SHARES);
    CHECK(share == m || share % rows == 0);
    if (share == m) CHECK(m <= rows * HOST_SHARES);
  }
  CHECK_INT(poiseRowsShare(&host, 0, 0), 0);
  CHECK(poiseWantsXLines(&gpus[H200], 0, 10, X_LINES_LEAST) &&
        !poiseWantsXLines(&gpus[H200], 0, 10, X_LINES_LEAST - 1));
  CHECK(!poiseWantsXLines(&host, 0, HOST_MANY_COLUMNS, X_LINES_LEAST)); /* x is at hand */
  CHECK(poiseWantsXLines(&host, 0, HOST_MANY_COLUMNS + 1, X_LINES_LEAST));
  CHECK(!poiseWantsXLines(&gpus[H200], 2, 10, X_LINES_LEAST));
  CsrStatistics s = {.m = 800, .length_changes = 101, .x_lines = VARY_FAR};
  CHECK(poiseRowsVary(&s, HOST_MANY_COLUMNS) && !poiseRowsVary(&s, HOST_MANY_COLUMNS + 1));
  s.length_changes = 100;
  CHECK(!poiseRowsVary(&s, 1));
  CHECK_INT(poiseRowsBound(&host, 10, 100), 0);
  for (uint64_t k = 0; k < 3000; k++) { /* no row of mean length is above */
    int64_t m = Somewhere(2 * k, 1, 1e9), nz = Somewhere(2 * k + 1, 1, 3e10);
    CHECK(poiseRowsBound(&gpus[H200], m, nz) * m >= nz);
  }
  (void)ctx;
}

/* ---- predicted times ------------------------------------------------------------------------- */

static double TimesOf(const DeviceModel *model, ProductType type, const CsrStatistics *s)
{
  const ProductRequest r = {.type = type, .hub_bits = HUBS_UNKNOWN};
  CsrStatistics cut = DrawCut(s, poiseSplitLimit(model, &r, s->m + s->nz), 1);
  ProductPlan p;
  poiseProductPlan(model, &r, s, &cut, &p);
  return p.times;
}

static void TestTimes(PoiseContext ctx)
{
  for (int g = -1; g < GPUS; g++)
    for (uint64_t k = 0; k < 1000; k++) {
      const DeviceModel *model = g < 0 ? &host : &gpus[g];
      CsrStatistics s = Draw(model, k), longer = s, uneven = s;
      double csr = TimesOf(model, PRODUCT_CSR, &s), csri = TimesOf(model, PRODUCT_CSRI, &s),
             seg = TimesOf(model, PRODUCT_SEG, &s);
      CHECK(csr > 0.99 && csri > 0.99 && seg >= AUTO_DENSE);
      longer.longest = s.longest * 10, longer.max_share_nnz *= 2, uneven.squares *= 2;
      CHECK(TimesOf(model, PRODUCT_CSR, &longer) >= csr);
      if (csr > 1) CHECK(TimesOf(model, PRODUCT_CSR, &uneven) >= csr); /* or tiles, which take 1 */
    }
  (void)ctx;
}

/* csri's statistics without the rows that it splits, as all but csr are predicted by. */
static CsrStatistics CutOf(const DeviceModel *model, const CsrStatistics *s, uint64_t k)
{
  const ProductRequest r = {.type = PRODUCT_CSRI};
  return DrawCut(s, poiseSplitLimit(model, &r, s->m + s->nz), k);
}

static ProductType AnyOf(const DeviceModel *model, const CsrStatistics *s, const CsrStatistics *cut)
{
  const ProductRequest r = {.hub_bits = HUBS_UNKNOWN};
  ProductPlan p;
  poiseProductPlan(model, &r, s, cut, &p);
  return p.type;
}

/* Of a plan that may choose: the type. It is the plan of that type, and no other's takes less. */
static ProductType CheckAny(const DeviceModel *model, ProductRequest r, const CsrStatistics *s,
                            const CsrStatistics *cut)
{
  ProductPlan any, one;
  r.type = PRODUCT_ANY;
  poiseProductPlan(model, &r, s, cut, &any);
  for (r.type = PRODUCT_CSR; r.type <= PRODUCT_SEG; r.type++) {
    poiseProductPlan(model, &r, s, cut, &one);
    CHECK(any.times <= one.times);
    if (r.type < any.type) CHECK(any.times < one.times || s->m > INT32_MAX);
    if (r.type != any.type) continue;
    CHECK(any.form == one.form && any.rows == one.rows && any.lanes == one.lanes && any.tile == one.tile);
    CHECK(any.uncut == one.uncut && any.carveout == one.carveout && any.row_block == one.row_block);
    CHECK(any.limit == one.limit && any.fragment == one.fragment && any.hub_bits == one.hub_bits);
    CHECK(any.segment == one.segment && any.index16 == one.index16);
    CHECK(any.times == one.times && any.seconds == one.seconds);
  }
  return any.type;
}

/* Even rows are csr's; a few long ones among them csri's; long dense ones on a GPU seg's. */
static void TestAny(PoiseContext ctx)
{
  for (int g = -1; g < GPUS; g++) {
    const DeviceModel *model = g < 0 ? &host : &gpus[g];
    int chosen[PRODUCT_SEG + 1] = {0};
    for (uint64_t k = 0; k < 5000; k++) {
      CsrStatistics s = Draw(model, k), cut = CutOf(model, &s, k);
      ProductRequest r = {.columns = s.m, .hubs = -1, .hub_bits = HUBS_UNKNOWN};
      r.index16 = k & 1;
      chosen[CheckAny(model, r, &s, &cut)]++;
    }
    CHECK(!chosen[PRODUCT_ANY] && chosen[PRODUCT_CSRI] > 500 && (chosen[PRODUCT_SEG] > 50) == (g >= 0));
    CHECK((chosen[PRODUCT_CSR] > 500) == (g != OLD_GPU)); /* whose csr has no tiles */
    if (g == OLD_GPU) continue;
    CsrStatistics even = Complete(model, OfRows(1000000, 7, 0, 0), 1, 1),
                  arrow = Complete(model, OfRows(1000000, 7, 100, 0), 100000, 9),
                  dense = Complete(model, OfRows(30000, 3000, 0, 5), 1, 1), cut = dense;
    const ProductRequest r = {.hub_bits = HUBS_UNKNOWN};
    CHECK_INT(CheckAny(model, r, &even, &even), PRODUCT_CSR);
    CsrStatistics split = CutOf(model, &arrow, 1);
    CHECK_INT(CheckAny(model, r, &arrow, &split), PRODUCT_CSRI);
    cut.cut = dense.nz, cut.longest = 0;
    ProductType type = CheckAny(model, r, &dense, &cut);
    CHECK((type == PRODUCT_SEG) == (g >= 0));
    even.m = (int64_t)INT32_MAX + 1; /* rows that only csr counts */
    split.m = arrow.m = even.m;
    CHECK_INT(AnyOf(model, &arrow, &split), PRODUCT_CSR);
  }
  (void)ctx;
}

/* ---- columns of 16 bits ---------------------------------------------------------------------- */

/* They are looked for where tiles read them: in large matrices, with nothing split. Found, they are read. */
static void TestIndex16(PoiseContext ctx)
{
  static const ProductType types[] = {PRODUCT_ANY, PRODUCT_CSR, PRODUCT_CSRI, PRODUCT_SEG};
  for (int g = -1; g < GPUS; g++)
    for (int t = 0; t < 4; t++) {
      const DeviceModel *model = g < 0 ? &host : &gpus[g];
      int looks = 0;
      for (uint64_t k = 0; k < 5000; k++) {
        CsrStatistics s = Draw(model, k), cut = CutOf(model, &s, k);
        ProductRequest r = {.type = types[t], .hub_bits = HUBS_UNKNOWN, .exact = k % 7 == 6};
        ProductPlan p, found;
        poiseProductPlan(model, &r, &s, &cut, &p);
        r.index16 = true;
        poiseProductPlan(model, &r, &s, &cut, &found);
        bool wants = s.nz >= INDEX16_LEAST && t < 3 && (p.type == PRODUCT_CSR || !cut.cut);
        CHECK(p.index16 == (wants && p.form == FORM_TILES));
        CHECK(found.times <= p.times && (t == 0 || found.form == p.form));
        if (p.index16) CHECK(found.form == FORM_TILES);
        if (t == 0 && p.index16) CHECK(found.type == PRODUCT_CSR && found.times < p.times);
        looks += p.index16;
      }
      CHECK(gpus[g < 0 ? OLD_GPU : g].bulk && t < 3 ? looks > 50 : !looks);
    }
  (void)ctx;
}

/* Of one matrix bench/results/h200/choice.csv.gz has what csr, csri and seg were predicted to take, and the
   row blocks. */
static void TestRecorded(PoiseContext ctx)
{
  CsrStatistics s = Complete(&gpus[H200], OfRows(525825, 3.994, 0.02, 13), 1.002, 1); /* mc2depi */
  ProductRequest r = {.type = PRODUCT_CSRI, .columns = s.m, .hubs = -1, .hub_bits = HUBS_UNKNOWN};
  ProductPlan p;
  s.nz = 2100225;
  poiseProductPlan(&gpus[H200], &r, &s, &s, &p);
  CHECK(p.form == FORM_ROW_BLOCKS && p.row_block == 628 && p.limit == 628 && !p.hub_bits);
  CHECK_INT((s.m + s.nz + p.row_block - 1) / p.row_block, 4182);
  CHECK_NEAR(p.times, 1.15, 1e-9);
  CHECK_NEAR(TimesOf(&gpus[H200], PRODUCT_CSR, &s), 1.22, 0.005);
  CHECK_NEAR(TimesOf(&gpus[H200], PRODUCT_SEG, &s), 1.38, 1e-9);
  (void)ctx;
}

/* Where a bandwidth is known, and L2 does not hold it all. */
static void TestSeconds(PoiseContext ctx)
{
  CsrStatistics s = Complete(&gpus[H200], OfRows(1000000, 30, 0, 0), 1, 1);
  double bytes = poiseProductBytes(1e6, 3e7);
  DeviceModel model = gpus[H200];
  ProductPlan p, faster;
  poiseProductPlan(&model, &(ProductRequest){.type = PRODUCT_CSR}, &s, NULL, &p);
  CHECK_NEAR(p.seconds, p.times * bytes / (0.87 * 4.9e12), 1e-12);
  model.bandwidth *= 2;
  poiseProductPlan(&model, &(ProductRequest){.type = PRODUCT_CSR}, &s, NULL, &faster);
  CHECK_NEAR(2 * faster.seconds, p.seconds, 1e-12);
  model.l2 = (int64_t)bytes + 1;
  poiseProductPlan(&model, &(ProductRequest){.type = PRODUCT_CSR}, &s, NULL, &p);
  CHECK(p.seconds == 0);
  poiseProductPlan(&host, &(ProductRequest){.type = PRODUCT_CSR}, &s, NULL, &p);
  CHECK(p.seconds == 0 && p.times > 0);
  (void)ctx;
}

/* cg predicts where a vector is much of an iteration, for systems of many rows. */
static void TestSolverLoop(PoiseContext ctx)
{
  (void)ctx;
  for (int g = 0; g < GPUS; g++)
    for (double n = 1000; n < 1e9; n *= 10)
      for (double length = 1; length < 100; length += 3) {
        bool predicts = poiseSolverLoop(&gpus[g], n, poiseProductBytes(n, length * n)) == LOOP_PREDICTS;
        CHECK(predicts == (n >= 10000 && length < 18)); /* 8 / (12 length + 100) is 0.025 at 18.3 */
      }
  CHECK(poiseSolverLoop(&host, 1e7, poiseProductBytes(1e7, 5e7)) == LOOP_OF_PHASES);
}

/* What was measured on two and four of these GPUs (bench/results/h200/gpus_loop.txt), to 5 %. */
static void TestRanks(PoiseContext ctx)
{
  static const struct {
    double rows, on[3]; /* microseconds on 1, 2 and 4 */
  } runs[] = {{32768, {9.5, 14.1, 13.9}}, {1030301, {117.7, 87.5, 49.8}}, {4173281, {441.9, 268.8, 153.0}}};
  const DeviceModel *h200 = &gpus[H200];
  for (int k = 0; k < 3; k++) {
    double bytes = 432 * runs[k].rows; /* of a row of 27 entries in an iteration of cg */
    for (int p = 0; p < 3; p++)
      CHECK_NEAR(1e6 * poiseIterationSeconds(h200, bytes, 1 << p, true), runs[k].on[p], 0.05 * runs[k].on[p]);
    CHECK_INT(poiseRanksThatPay(h200, bytes, 2, true), runs[k].on[1] < runs[k].on[0] ? 2 : 1);
  }
  CHECK_INT(poiseRanksThatPay(h200, 432 * 1030301.0, 2, false), 1); /* so it was: 233 us beside 162 */
  CHECK_INT(poiseRanksThatPay(h200, 1e11, 8, false), 8);
  for (int linked = 0, last = 1; linked < 2; linked++, last = 1)
    for (double bytes = 1e4; bytes < 1e12; bytes *= 1.3) { /* more of them, never fewer */
      int best = poiseRanksThatPay(h200, bytes, 8, linked);
      CHECK(best >= last);
      last = best;
    }
  CHECK_NEAR(poiseIterationSeconds(&gpus[OLD_GPU], 1e9, 2, true), 0, 0); /* it does not say its bandwidth */
  CHECK_INT(poiseRanksThatPay(&gpus[OLD_GPU], 1e3, 2, true), 2);
  CHECK_INT(poiseRanksThatPay(&host, 1e3, 2, true), 2);
  for (int ranks = 2; ranks <= 8; ranks *= 2)
    for (int linked = 0; linked < 2; linked++) {
      double most = 1e3, least = 1e12; /* that are repeated; that are not */
      for (double bytes = 1e3; bytes < 1e12; bytes *= 1.3)
        if (poiseRanksRepeat(h200, bytes, ranks, linked))
          most = fmax(most, bytes);
        else
          least = fmin(least, bytes);
      CHECK(most < least && most > 40e6 && least < (linked ? 300e6 : 1500e6));
    }
  CHECK(!poiseRanksRepeat(&host, 1e3, 2, true) && !poiseRanksRepeat(&gpus[OLD_GPU], 1e3, 2, true));
  (void)ctx;
}

/* The view says that fewer GPUs would be faster, where they would be. */
static void TestAdvice(PoiseContext ctx)
{
  Problem p;
  char text[8192];
  if (!ProblemOpenGrid(ctx, 9, 8, 1, "cg", "jacobi", &p) || !CHECK_OK(PoiseKSPSetUp(p.ksp))) return;
  const DeviceModel own = ctx->device->model;
  for (int slow = 0; slow < 2; slow++) {
    ctx->device->model = gpus[H200];
    if (slow) ctx->device->model.bandwidth = 1e3, ctx->device->model.l2 = 0; /* a byte takes a millisecond */
    TEST_PRINTED(ctx, text, sizeof text, PoiseKSPView(p.ksp));
    ctx->device->model = own;
    bool advises = PoiseSize(ctx) > 1 && !slow;
    if (PoiseRank(ctx) == 0) CHECK(!strstr(text, "fewer GPUs would be faster") == !advises);
  }
  ProblemClose(&p);
}

/* A view of ranks whose plans differ: the last one has columns of 16 bits. */
static void TestView(PoiseContext ctx)
{
  const DeviceModel own = ctx->device->model;
  char text[4096];
  PoiseMat A;
  if (!CHECK_OK(ScaledLaplacian(ctx, 60, 70, 1, &A)) || !CHECK_OK(PoiseMatSetType(A, "csr"))) return;
  CHECK_OK(poiseMatMeasure(A));
  if (PoiseRank(ctx) == PoiseSize(ctx) - 1)
    A->blocks.statistics = Complete(&gpus[H200], OfRows(4000000, 5, 0, 0), 1, 1);
  ctx->device->model = gpus[H200];
  poiseProductRelease(&A->product);
  TEST_PRINTED(ctx, text, sizeof text, PoiseMatView(A));
  ctx->device->model = own;
  if (PoiseRank(ctx) == 0) CHECK(strstr(text, "columns of 16 bits"));
  CHECK_OK(PoiseMatDestroy(&A));
}

/* csri and auto with 16-bit columns, on a model with tiles: these are of csr, right, and keep them. Other
   forms give them back. */
static void TestFound(PoiseContext ctx)
{
  static const struct {
    const char *type, *index16;
    bool rows_alike, kept;
  } cases[] = {{"csri", "auto", true, true}, {"csri", "no", true, false},    {"auto", "auto", true, true},
               {"auto", "no", true, false},  {"csri", "auto", false, false}, {"csri", "yes", false, false},
               {"seg", "auto", true, false}, {"csr", "auto", true, true}};
  const DeviceModel own = ctx->device->model;
  bool away = SampleIsAway(ctx);
  PoiseMat A, C;
  if (!CHECK_OK(ScaledLaplacian(ctx, 60, 70, 1, &A)) || !CHECK_OK(PoiseMatDuplicate(A, 1, &C)) ||
      !CHECK_OK(PoiseMatSetType(C, "csr")) || !CHECK_OK(PoiseMatSetOptionsPrefix(A, "n_")))
    return;
  for (int k = 0; k < 8; k++) {
    CHECK_OK(PoiseOptionsSet(ctx, "n_mat_type", cases[k].type));
    CHECK_OK(PoiseOptionsSet(ctx, "n_mat_index16", cases[k].index16));
    CHECK_OK(PoiseBarrier(ctx));
    CHECK_OK(PoiseMatSetFromOptions(A));
    CHECK_OK(poiseMatMeasure(A));
    CsrStatistics *s = &A->blocks.statistics, kept = *s;
    *s = Complete(&gpus[H200], OfRows(1000000, 10, 0, 1), 1, 1);
    if (!cases[k].rows_alike) s->squares *= 9, s->rows_above = s->m / 2, s->longest += 100;
    ctx->device->model = gpus[H200];
    poiseProductRelease(&A->product);
    CHECK_OK(poiseProductSetUp(&A->product));
    ctx->device->model = own;
    *s = kept;
    bool has = A->blocks.index16.kept;
    if (PoiseSize(ctx) == 1) CHECK(has == (cases[k].kept && away)); /* on more, some columns are ghosts */
    CHECK(has || (!A->blocks.index16.code.dev && !A->blocks.index16.base.dev));
    if (has) CHECK(A->product.form == &poiseForm_csr);
    if (has) CHECK(A->product.plan.form == FORM_TILES);
    if (!cases[k].rows_alike) CHECK(A->product.form == &poiseForm_csri);
    SampleSameProducts(A, C, false, 1e-14);
  }
  PoiseMatDestroy(&A);
  PoiseMatDestroy(&C);
}

/* A plan in words. */
static void TestWords(PoiseContext ctx)
{
  CsrStatistics s = Complete(&gpus[H200], OfRows(525825, 3.994, 0.02, 13), 1.002, 1),
                even = Complete(&gpus[H200], OfRows(1000000, 5, 0, 0), 1, 1), cut = even;
  cut.cut = 60000, cut.fragments = 40;
  const struct {
    const DeviceModel *model;
    const CsrStatistics *all, *cut;
    ProductRequest request;
    const char *words;
  } cases[] = {
      {&host, &s, &s, {.type = PRODUCT_CSR}, "blocks of 1024 rows"},
      {&host,
       &s,
       &s,
       {.type = PRODUCT_CSRI},
       "row blocks of 8192 rows and entries, rows of 8192 entries or more in fragments of up to 16384"},
      {&gpus[OLD_GPU], &s, &s, {.type = PRODUCT_CSR}, "rows, a thread for each"},
      {&gpus[H200], &even, &even, {.type = PRODUCT_CSR}, "tiles of 128 rows, a thread for each"},
      {&gpus[H200],
       &even,
       &cut,
       {.type = PRODUCT_CSRI},
       "tiles of 128 rows, a thread for each, rows of 512 entries or more in fragments of up to 1024"},
      {&gpus[H200], &s, &s, {.type = PRODUCT_CSRI, .hub_bits = 13}, ", the 8192 entries of x in most use"},
      {&gpus[H200],
       &s,
       &s,
       {.type = PRODUCT_CSRI, .exact = true},
       "row blocks of 628 rows and entries, which add to rows that they share"},
      {&gpus[H200],
       &s,
       &s,
       {.type = PRODUCT_SEG},
       "row blocks of 128 segments of 4 entries, rows of 257 entries or more"},
      {&gpus[H200], &s, &s, {.type = PRODUCT_BCSR, .b = 4, .form = BCSR_EVEN}, "groups of 8 rows of blocks"},
      {&gpus[H200],
       &s,
       &s,
       {.type = PRODUCT_BCSR, .b = 4, .form = BCSR_BALANCED},
       "row blocks of 93 rows and blocks, "}};
  for (int k = 0; k < (int)(sizeof cases / sizeof *cases); k++) {
    ProductPlan p;
    char text[256] = "", few[8];
    poiseProductPlan(cases[k].model, &cases[k].request, cases[k].all, cases[k].cut, &p);
    poisePlanWords(cases[k].model, &p, text, sizeof text);
    if (!CHECK(strstr(text, cases[k].words))) printf("'%s' is not '%s'\n", text, cases[k].words);
    poisePlanWords(cases[k].model, &p, few, sizeof few); /* cut to its size */
    CHECK(!strncmp(few, text, sizeof few - 1) && !few[sizeof few - 1]);
  }
  (void)ctx;
}

static const Test tests[] = {
    {"solver_loop", TestSolverLoop, 0},
    {"ranks", TestRanks, TEST_SERIAL | TEST_HOST_ONLY},
    {"advice", TestAdvice, 0},
    {"view", TestView, 0},
    {"found", TestFound, 0},
    {"constants", TestConstants, TEST_SERIAL | TEST_HOST_ONLY},
    {"rows_of_blocks", TestRowsOfBlocks, TEST_SERIAL | TEST_HOST_ONLY},
    {"device_sizes", TestDeviceSizes, TEST_SERIAL | TEST_HOST_ONLY},
    {"lanes", TestLanes, TEST_SERIAL | TEST_HOST_ONLY},
    {"waves", TestWaves, TEST_SERIAL | TEST_HOST_ONLY},
    {"rather", TestRather, TEST_SERIAL | TEST_HOST_ONLY},
    {"streams", TestStreams, TEST_SERIAL | TEST_HOST_ONLY},
    {"row_blocks", TestRowBlocks, TEST_SERIAL | TEST_HOST_ONLY},
    {"hubs", TestHubs, TEST_SERIAL | TEST_HOST_ONLY},
    {"segments", TestSegments, TEST_SERIAL | TEST_HOST_ONLY},
    {"blocks", TestBlocks, TEST_SERIAL | TEST_HOST_ONLY},
    {"columns", TestColumns, TEST_SERIAL | TEST_HOST_ONLY},
    {"shares", TestShares, TEST_SERIAL | TEST_HOST_ONLY},
    {"times", TestTimes, TEST_SERIAL | TEST_HOST_ONLY},
    {"any", TestAny, TEST_SERIAL | TEST_HOST_ONLY},
    {"index16", TestIndex16, TEST_SERIAL | TEST_HOST_ONLY},
    {"recorded", TestRecorded, TEST_SERIAL | TEST_HOST_ONLY},
    {"seconds", TestSeconds, TEST_SERIAL | TEST_HOST_ONLY},
    {"words", TestWords, TEST_SERIAL | TEST_HOST_ONLY},
    {NULL, NULL, 0},
};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "plan", tests);
}
