/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>

#include "bcsr_kernels.h"
#include "product_plan.h"
#include "seg_kernels.h"

/* ---- rows by threads ------------------------------------------------------------------------- */

static double Mean(int64_t m, int64_t nz)
{
  return m ? (double)nz / (double)m : 0;
}

int poiseRowLanes(int64_t m, int64_t nz)
{
  const double most[] = {LANES_1, LANES_2, LANES_4, LANES_8, LANES_16};
  double mean = Mean(m, nz);
  int k = 0;
  while (k < 5 && mean > most[k]) k++;
  return k;
}

int64_t poiseRowsShare(const DeviceModel *model, int b, int64_t m)
{
  int64_t rows = POISE_BLOCK / (b ? b : 1), nblock = (m + rows - 1) / rows, threads = model->host_threads,
          share = nblock > HOST_FEW_BLOCKS ? rows * ((nblock + threads - 1) / threads) : m;
  return share < m ? share : m;
}

/* So many columns that x fits into no cache of a CPU? */
static bool ManyColumns(int64_t columns)
{
  return columns > HOST_MANY_COLUMNS;
}

/* The spread does not matter to small matrices, whose thread blocks all run at once, nor to a CPU that has x
   in cache. */
bool poiseWantsXLines(const DeviceModel *model, int b, int64_t columns, int64_t nz)
{
  return (poiseModelIsGpu(model) || ManyColumns(columns)) && !b && nz >= X_LINES_LEAST;
}

/* If x is in no cache and columns are scattered, a CPU waits for x. Rows that are summed together, whatever
   their lengths, then also load x for entries behind them. So they have fewer useful loads at once. */
bool poiseRowsVary(const CsrStatistics *s, int64_t columns)
{
  return VARY_OFTEN * s->length_changes > s->m && !(s->x_lines >= VARY_FAR && ManyColumns(columns));
}

int64_t poiseTileOf(const CsrStatistics *s, int rows)
{
  for (int k = 0; k < POISE_TILES; k++)
    if (rows == TILE_THREADS >> k) return s->tile[k];
  return 0;
}

/* ---- tiles: uniform row blocks through shared memory ----------------------------------------- */

int64_t poiseBlocksAtOnce(const DeviceModel *model)
{
  return (int64_t)model->threads / TILE_THREADS * model->multiprocessors;
}

int64_t poiseTileMost(const DeviceModel *model)
{
  int64_t most = model->block_shared - TILE_STATIC;
  return most < TILE_MOST_BYTES ? most : TILE_MOST_BYTES;
}

/* So that each thread has no more than TILE_EACH nonzeros of a row. */
static int LeastLanes(int64_t m, int64_t nz)
{
  double mean = Mean(m, nz);
  int k = 0;
  while (k < 5 && mean / (1 << k) > TILE_EACH) k++;
  return k;
}

/* Twice as many for short rows that would take a second batch of TILE_UNROLL entries, where there is room for
   so many threads. And where each had TILE_UNROLL: neighbours would find theirs in the same banks of shared
   memory. */
int poiseTileLanes(int64_t m, int64_t nz)
{
  int k = LeastLanes(m, nz);
  double each = Mean(m, nz) / (1 << k);
  bool two_batches = each > TILE_UNROLL - TILE_NEAR_UNROLL && m << (k + 1) <= TILE_ROOM,
       same_banks = fabs(each - TILE_UNROLL) <= TILE_NEAR_UNROLL;
  return k < 2 && (two_batches || same_banks) ? k + 1 : k;
}

/* Each gather of x in flight pins a line of L1. So where columns are scattered, more tiles fetch less. Where
   they are near, but not neighbours, the lines had better stay for other rows. */
int poiseTileCarveout(const DeviceModel *model, int64_t x_lines, int64_t bytes, int threads)
{
  int64_t each = bytes + CARVE_BESIDE, all = model->threads / threads * each, few = CARVE_FEWEST * each,
          percent = model->shared / 100,
          most = percent * (x_lines < CSRI_SCATTERED ? CARVE_NEAR : CARVE_SCATTERED);
  if (x_lines < CSRI_NEAR) return -1;
  if (most < few) most = few;
  return most < all && most < model->shared ? (int)(most / percent) : -1;
}

/* The longest row whose threads need no more unrolled batches of entries than those of a row of mean
   length. */
static int64_t Bound(int64_t m, int64_t nz)
{
  int64_t batch = (int64_t)TILE_UNROLL << poiseTileLanes(m, nz), mean = m ? (nz + m - 1) / m : 0;
  return (mean + batch - 1) / batch * batch;
}

int64_t poiseRowsBound(const DeviceModel *model, int64_t m, int64_t nz)
{
  return poiseModelIsGpu(model) ? Bound(m, nz) : 0;
}

/* Are the rows uniform? A warp waits for its longest row. So few rows may have more unrolled batches than the
   mean row. The rows that wait for these are at most TILE_WAITING of all rows, times the batches of the mean
   row. Where that has several batches, the variance of the lengths must also be small. */
static bool Uniform(const DeviceModel *model, const CsrStatistics *s)
{
  int k = poiseTileLanes(s->m, s->nz), others = (model->warp >> k) - 1; /* rows of a warp */
  int64_t bound = Bound(s->m, s->nz), batches = bound / (TILE_UNROLL << k);
  double mean = Mean(s->m, s->nz), deviates = (double)s->squares - (double)s->nz * mean;
  bool waits = s->longest > bound && (s->bound != bound || (double)(s->rows_above * others) >
                                                               TILE_WAITING * (double)(s->m * batches));
  return !waits && (bound <= TILE_UNROLL << k || deviates <= TILE_DEVIATION * (double)s->nz * mean) &&
         mean <= TILE_MOST_MEAN;
}

/*
  Row blocks rather than tiles? A tile asks for x all at the same time, and has more threads that wait for it.
  So not where columns are neighbours, nor where all tiles have a place at once, nor where rows are hardly
  longer than their offsets. Tiles of a large matrix come out of step.
*/
static bool RatherRowBlocks(const CsrStatistics *s, bool at_once)
{
  double nz = (double)s->nz, mean = Mean(s->m, s->nz);
  bool deviate = (double)s->squares - nz * mean >= CSRI_DEVIATE * CSRI_DEVIATE * nz * mean;
  if (s->x_lines < CSRI_NEAR || (s->cut == 0 && (at_once || mean < CSRI_SHORTEST))) return false;
  return s->cut || deviate ||
         ((s->nz < CSRI_LARGE || s->x_lines >= CSRI_APART) &&
          (mean >= CSRI_SHORT || s->x_lines < CSRI_SCATTERED));
}

/* Columns are neighbours, or those are that a warp gathers at once: L1 is asked for few lines by each. */
static bool AreNeighbours(const CsrStatistics *s)
{
  return s->x_lines < CSRI_NEAR ||
         (s->x_lines < CSRI_NEARLY && s->gather_lines > 0 && s->gather_lines < CSRI_GATHERED);
}

/* Where columns are neighbours, tiles wait for the matrix alone. Many of them hide that one has more entries
   than another. */
static bool Streams(const DeviceModel *model, const CsrStatistics *s, int rows)
{
  return AreNeighbours(s) && s->nz >= X_LINES_LEAST && s->m >= TILE_WAVES * poiseBlocksAtOnce(model) * rows;
}

/*
  Rows of a tile, or POISE_BLOCK. Tiles are chosen if
  - their entries fit into shared memory,
  - no tile has far more entries than the mean, and
  - the longest row takes no longer than a part of what the rest takes.
  Tiles have half as many threads in two cases. Many tiles: fewer threads wait for the slowest row. Few tiles:
  more of them occupy more multiprocessors.
  Tiles that all fit in one wave also suit irregular rows, unless one row is far longer. best: tiles only
  where row blocks are not faster.
*/
static int TileRows(const DeviceModel *model, const CsrStatistics *s, bool best)
{
  if (!model->bulk || !s->m) return POISE_BLOCK;
  int k = poiseTileLanes(s->m, s->nz), rows = TILE_THREADS >> k, batch = TILE_UNROLL << k;
  int64_t each = (int64_t)model->multiprocessors * rows; /* a tile for each multiprocessor */
  double mean = Mean(s->m, s->nz), most = TILE_FIRST_BATCHES + (12 * (double)s->nz + 20 * (double)s->m) /
                                                                   TILE_BYTES_OF_BATCH; /* batches */
  int64_t far = TILE_SMALL_BATCHES * (best ? TILE_UNROLL << LeastLanes(s->m, s->nz) : batch);
  bool small = s->m <= TILE_SMALL * each && s->longest <= far && mean <= TILE_MOST_MEAN && !s->cut;
  bool at_once = s->m <= poiseBlocksAtOnce(model) * rows, few = 2 * s->m <= 3 * each;
  bool chosen =
      !best || small || Streams(model, s, rows) || (Uniform(model, s) && !RatherRowBlocks(s, at_once));
  if (few || !at_once) k++, rows /= 2;
  double fullest = TILE_FULLEST * mean * rows + TILE_FULLEST_MORE;
  bool serves = small || ((double)s->tile[k] <= fullest && (double)s->longest <= most * batch);
  bool fits =
      poiseTileRoom(s->tile[k], 8) * 12 <= poiseTileMost(model); /* with columns of 4 bytes, and of 2 */
  return serves && fits && chosen ? rows : POISE_BLOCK;
}

static void PlanTiles(const DeviceModel *model, const CsrStatistics *s, int rows, ProductPlan *plan)
{
  int k = poiseTileLanes(s->m, s->nz), threads = rows << k < TILE_THREADS ? TILE_THREADS / 2 : TILE_THREADS;
  plan->form = FORM_TILES, plan->rows = rows, plan->lanes = 1 << k;
  plan->tile = poiseTileOf(s, rows);
  plan->carveout = poiseTileCarveout(model, s->x_lines, poiseTileRoom(plan->tile, 4) * 12, threads);
}

/* As many rows as there would be, if all had the length that an entry's row has in the mean. */
static CsrStatistics Ranges(const CsrStatistics *s)
{
  CsrStatistics alike = *s;
  double nz = (double)s->nz;
  if (s->squares) alike.m = (int64_t)ceil(nz * nz / (double)s->squares);
  return alike;
}

static void PlanCsr(const DeviceModel *model, const ProductRequest *request, const CsrStatistics *all,
                    ProductPlan *plan)
{
  const CsrStatistics alike = request->ranges ? Ranges(all) : *all, *s = &alike;
  int rows = TileRows(model, s, false);
  plan->form = FORM_ROWS, plan->rows = POISE_BLOCK;
  plan->lanes = poiseModelIsGpu(model) ? 1 << poiseRowLanes(s->m, s->nz) : 1;
  if (rows < POISE_BLOCK) PlanTiles(model, s, rows, plan);
}

/* ---- csri: row blocks, and fragments of split rows ------------------------------------------- */

int64_t poiseWarpsAtOnce(const DeviceModel *model)
{
  return (int64_t)CSRI_WARPS * model->multiprocessors;
}

/* Row blocks of so many rows and entries could have a warp each, and all keep memory busy. Where there are
   hubs, whose warps are few and begin each row block alone, they are longer. */
static int64_t GpuLimit(int64_t size, bool hubs)
{
  int64_t limit = CSRI_LEAST;
  while (limit < CSRI_LONG && size / limit > CSRI_ENOUGH) limit *= 2;
  while (hubs && limit < 4 * CSRI_LONG && size / limit > 2 * CSRI_ENOUGH) limit *= 2;
  return limit;
}

static int64_t Limit(const DeviceModel *model, const ProductRequest *request, int64_t size, bool hubs)
{
  if (request->chunk) return request->chunk;
  return poiseModelIsGpu(model) ? GpuLimit(size, hubs) : HOST_LONG;
}

int64_t poiseSplitLimit(const DeviceModel *model, const ProductRequest *request, int64_t size)
{
  return Limit(model, request, size, false);
}

/* Whole waves of so many warps that `warps` of them, of a usual size, take. In a last wave that is not full
   memory is idle. */
static double Waves(double warps, double places)
{
  double waves = round(warps / places);
  return waves < 1 ? 1 : waves;
}

/* Rows and entries of a row block of a GPU. Large ones wait less often for their first entries; where columns
   are scattered all wait for these, and small ones share them out better. If many rows are split, waves are
   as they come: row blocks are as long as leaves some of them. */
static int64_t RowBlockSize(const DeviceModel *model, const CsrStatistics *s)
{
  int64_t limit = GpuLimit(s->m + s->nz, false), least = limit - limit / 4,
          each = s->x_lines >= CSRI_SCATTERED ? CSRI_SMALL : CSRI_USUAL;
  bool many = CSRI_MANY_SPLIT * s->cut >= s->nz && s->cut;
  double places = CSRI_FILLED * CSRI_WARPS * model->multiprocessors, size = (double)(s->m + s->nz),
         fragments = (double)s->fragments, most = CSRI_STRETCH * (double)each,
         blocks = Waves(size / (double)each + fragments, places) * places - fragments,
         row_block = blocks * most > size ? ceil(size / blocks) : most;
  if (many) return (int64_t)fmax(fmin(size / (CSRI_SPLIT_WAVES * places), CSRI_MOST), (double)limit);
  return (int64_t)fmax(row_block, (double)(least < CSRI_LEAST ? CSRI_LEAST : least));
}

/* Entries of a fragment beside tiles: more than twice the limit where there are so many long rows that a wave
   of those were not enough. That the fragments of a row are at least one is not looked at. */
static int64_t FragmentBesideTiles(const DeviceModel *model, const CsrStatistics *s, int64_t limit)
{
  double cut = (double)s->cut,
         places = CSRI_FRAGMENTS_FILLED * CSRI_TILE_THREADS / model->warp * model->multiprocessors;
  int64_t fragment = (int64_t)ceil(cut / (Waves(cut / CSRI_FRAGMENT, places) * places));
  return fragment < 2 * limit ? 2 * limit : fragment;
}

/* What fits into shared memory beside what else the block needs there. */
int poiseMostHubBits(const DeviceModel *model)
{
  int bits = HUB_MOST_BITS;
  while (bits && HUB_BESIDE + ((int64_t)HUB_BYTES << bits) > model->block_shared) bits--;
  return bits;
}

/* Log2 of the hubs that are to be looked for. If that is left to the device: if x is large, and fetching
   theirs on every multiprocessor is cheap beside the nonzeros. */
static int HubBits(const DeviceModel *model, const ProductRequest *request, int64_t nz)
{
  int bits = 0, most = poiseMostHubBits(model);
  if (!request->columns || !nz) return 0;
  if (request->hubs < 0)
    return request->columns > HUB_COLUMNS && nz >= (int64_t)HUB_LITTLE * model->multiprocessors << most ? most
                                                                                                        : 0;
  while (bits < most && request->hubs >> (bits + 1)) bits++;
  return bits;
}

bool poiseHubsPay(int64_t columns, int64_t nz, int bits, double entries)
{
  return HUB_WORTH * entries >= (double)nz &&
         entries * (double)columns >= HUB_TIMES * (double)nz * (double)(1 << bits);
}

/* What is asked for, else what suits the device. Where the rows that are not split are uniform, they go by
   tiles. */
static void PlanCsri(const DeviceModel *model, const ProductRequest *request, const CsrStatistics *cut,
                     ProductPlan *plan)
{
  bool gpu = poiseModelIsGpu(model), own = !request->chunk;
  CsrStatistics uncut = *cut;
  int64_t limit = Limit(model, request, cut->m + cut->nz, false);
  uncut.nz -= cut->cut;
  plan->form = request->exact ? FORM_SHARED : FORM_ROW_BLOCKS, plan->rows = POISE_BLOCK,
  plan->lanes = gpu ? model->warp : 1;
  plan->uncut = uncut.nz;
  int rows = request->exact ? POISE_BLOCK : TileRows(model, &uncut, true);
  bool tiles = rows < POISE_BLOCK;
  if (tiles) PlanTiles(model, &uncut, rows, plan);
  if (!tiles) plan->hub_bits = request->hub_bits < 0 ? HubBits(model, request, cut->nz) : request->hub_bits;
  bool hubs = request->hub_bits > 0 && !tiles;
  if (own && hubs) limit = Limit(model, request, cut->m + cut->nz, true);
  plan->row_block = own && gpu && !tiles && !hubs ? RowBlockSize(model, cut) : limit;
  plan->limit = limit < plan->row_block ? plan->row_block : limit;
  plan->fragment = own && gpu && tiles ? FragmentBesideTiles(model, cut, plan->limit) : 2 * plan->limit;
}

/* ---- seg ------------------------------------------------------------------------------------- */

bool poiseSegmentsInBulk(const DeviceModel *model, int64_t segments, int64_t m)
{
  return model->bulk && SEG_SINGLE_ROWS * segments <= SEG_SINGLE_OVER * m;
}

/* Rows of exactly S entries fill their segments, so a mean that is a power of two is S itself. Row blocks
   whose rows have one segment each are tiles. */
static void PlanSeg(const DeviceModel *model, const ProductRequest *request, const CsrStatistics *s,
                    ProductPlan *plan)
{
  bool gpu = poiseModelIsGpu(model);
  int64_t length = 1;
  while (length < SEG_MOST && length * s->m < s->nz) length *= 2;
  if (request->segment) length = request->segment;
  int lanes = poiseSegLanes(length);
  plan->form = FORM_SEGMENTS, plan->rows = POISE_BLOCK, plan->lanes = gpu ? 1 << lanes : 1;
  plan->segment = length, plan->row_block = gpu ? SEG_THREADS >> lanes : SEG_ENTRIES / length;
  plan->limit = plan->row_block * length / 2 + 1, plan->fragment = SEG_FRAGMENT;
  plan->tile = length * (plan->row_block + plan->row_block / 2);
  int64_t tile = gpu && request->single ? poiseTileOf(s, (int)plan->row_block) : 0;
  if (tile) plan->tile = tile;
}

/* ---- bcsr ------------------------------------------------------------------------------------ */

/* Rows of blocks of a group of that form; 0: the device has no such form. */
static int GroupRows(const DeviceModel *model, int b, int form)
{
  bool gpu = poiseModelIsGpu(model);
  if (form <= BCSR_BALANCED) return gpu ? poiseBcsrGroup(b) : POISE_BLOCK / b;
  return gpu && (form != BCSR_BLOCK || b <= BCSR_PAPER_MOST) ? BCSR_PAPER_ROWS : 0;
}

/* Blocks of a row block: so many bytes, or what keeps all threads busy. */
static int64_t BlocksOfRowBlock(const DeviceModel *model, const ProductRequest *request, int64_t size)
{
  int b = request->b;
  if (b == 1) return Limit(model, &(ProductRequest){.type = PRODUCT_CSRI}, size, false);
  if (!poiseModelIsGpu(model)) return BCSR_CHUNK / (b * b);
  int64_t bytes = poiseBcsrBytes(b), chunk = (b <= 3 ? BCSR_ROW_BLOCK_SMALL : BCSR_ROW_BLOCK) / bytes,
          busy = BCSR_ROW_BLOCK_BUSY / bytes < 32 ? BCSR_ROW_BLOCK_BUSY / bytes : 32;
  if (chunk < busy) chunk = busy;
  return chunk < 2 ? 2 : chunk;
}

/* Would groups of rows wait for their longest one? On a CPU this is decided by the busiest of some threads. A
   GPU processes groups faster. So there many rows must be longer than the mean, or one row must take long by
   itself. */
static bool Uneven(const DeviceModel *model, const CsrStatistics *s, int b, int rows)
{
  double mean = Mean(s->m, s->nz), squares = (double)s->nz * mean;
  if (!poiseModelIsGpu(model))
    return (s->m + rows - 1) / rows > HOST_FEW_BLOCKS &&
           (double)s->max_share_nnz > BCSR_BUSY * mean * (double)poiseRowsShare(model, b, s->m);
  if ((double)s->longest <= BCSR_LONGEST * mean) return false;
  return (double)s->squares - squares > BCSR_DEVIATION * squares ||
         BCSR_GROUPS * (double)s->longest > (double)s->nz;
}

/* Blocks of 1 x 1 are numbers, and those products are made for them. */
static void PlanBcsr(const DeviceModel *model, const ProductRequest *request, const CsrStatistics *s,
                     ProductPlan *plan)
{
  int b = request->b, form = request->form;
  if (b == 1)
    PlanCsr(model, request, s, plan);
  else
    plan->rows = GroupRows(model, b, BCSR_EVEN), plan->tile = poiseTileOf(s, plan->rows);
  if (plan->rows < 4) plan->tile = plan->rows * s->longest;
  if (form == BCSR_AUTO) form = Uneven(model, s, b, plan->rows) ? BCSR_BALANCED : BCSR_EVEN;
  plan->form = form == BCSR_EVEN ? FORM_GROUPS : form == BCSR_BALANCED ? FORM_BALANCED : FORM_PAPER;
  if (form > BCSR_BALANCED) plan->rows = GroupRows(model, b, form);
  if (form == BCSR_BALANCED) plan->rows = POISE_BLOCK;
  plan->row_block = plan->limit = BlocksOfRowBlock(model, request, s->m + s->nz),
  plan->fragment = 2 * plan->limit;
}

/* ---- predicted times ------------------------------------------------------------------------- */

double poiseProductBytes(double rows, double nonzeros)
{
  return 12 * nonzeros + 20 * rows + 4; /* values and columns; offsets, x and y */
}

/* Standard deviation of row lengths over their mean. */
static double Deviation(const CsrStatistics *s)
{
  double mean = Mean(s->m, s->nz);
  return s->nz ? sqrt(fmax(0, (double)s->squares / (double)s->m - mean * mean)) / mean : 0;
}

/* The busiest of the assumed threads decides. That a few row blocks cannot be divided evenly does not
   count. */
static double CsrOnHost(const DeviceModel *model, const CsrStatistics *s)
{
  double rows = (double)poiseRowsShare(model, 0, s->m);
  if (POISE_NBLOCKS(s->m) <= HOST_FEW_BLOCKS) return model->host_threads;
  return poiseProductBytes(rows, (double)s->max_share_nnz) /
         poiseProductBytes(rows, rows * Mean(s->m, s->nz));
}

/* Rows that are not uniform count as if a few lanes summed each. A warp waits for its longest row, and the
   whole product for the longest row. csr also uses tiles for such rows if that beats lanes. It is then
   faster than predicted here. */
static double CsrOnGpu(const DeviceModel *model, const ProductRequest *request, const CsrStatistics *all)
{
  CsrStatistics s = *all;
  double lanes = 1 << poiseRowLanes(s.m, s.nz), bytes = poiseProductBytes((double)s.m, (double)s.nz),
         read = bytes - (request->index16 ? (sizeof(int32_t) - sizeof(uint16_t)) * (double)s.nz : 0);
  if (!s.m || TileRows(model, &s, true) < POISE_BLOCK) return read / bytes;
  return fmax(AUTO_LANES * (1 + Deviation(all)), (double)s.longest / lanes * AUTO_WAIT / bytes);
}

/* csri, of which seg is judged by, too. */
static double CsriTimes(const DeviceModel *model, const ProductRequest *request, const CsrStatistics *all,
                        const CsrStatistics *cut)
{
  int64_t limit = poiseSplitLimit(model, request, all->m + all->nz);
  CsrStatistics uncut = *cut;
  uncut.nz -= cut->cut;
  if (poiseModelIsGpu(model))
    return TileRows(model, &uncut, true) < POISE_BLOCK ? AUTO_CSRI_TILES : AUTO_CSRI_BLOCKS;
  double row_blocks = ((double)all->m + (double)all->nz) / (double)limit; /* the last one may be a fraction */
  return row_blocks <= HOST_FEW_BLOCKS ? AUTO_HOST_CSRI * model->host_threads : AUTO_HOST_CSRI;
}

/* All rows are split and of one length, and their neighbouring columns are neighbours in x. */
static bool Dense(const CsrStatistics *all, const CsrStatistics *cut)
{
  return cut->cut == all->nz && Deviation(all) < AUTO_DENSE_DEVIATION && all->x_lines > 0 &&
         all->x_lines <= 100 / POISE_LINE + 1;
}

static double Times(const DeviceModel *model, const ProductRequest *request, const CsrStatistics *all,
                    const CsrStatistics *cut)
{
  bool gpu = poiseModelIsGpu(model);
  if (request->type == PRODUCT_CSR) return gpu ? CsrOnGpu(model, request, all) : CsrOnHost(model, all);
  if (request->type == PRODUCT_BCSR || !cut) return 0;
  if (request->type == PRODUCT_SEG)
    return gpu && Dense(all, cut) ? AUTO_DENSE : AUTO_SEG * CsriTimes(model, request, all, cut);
  return CsriTimes(model, request, all, cut);
}

static double Seconds(const DeviceModel *model, const CsrStatistics *s, double times)
{
  double bytes = poiseProductBytes((double)s->m, (double)s->nz);
  if (model->bandwidth <= 0 || bytes <= (double)model->l2) return 0;
  return times * bytes / (MEMORY_REACHED * model->bandwidth);
}

/* ---- the form of a solver -------------------------------------------------------------------- */

/* Predicting saves two passes over vectors, and reads the diagonal of M once more: a vector. */
SolverLoop poiseSolverLoop(const DeviceModel *model, double rows, double traffic)
{
  const double others = 10; /* vectors of an iteration in three kernels, beside those of the product */
  bool may = poiseModelIsGpu(model) && rows >= LOOP_ROWS;
  return may && 8 * rows >= LOOP_GAIN * (traffic + 8 * others * rows) ? LOOP_PREDICTS : LOOP_OF_PHASES;
}

/* ---- the plan -------------------------------------------------------------------------------- */

ProductRequest poiseStoredRequest(int b)
{
  return (ProductRequest){.type = b ? PRODUCT_BCSR : PRODUCT_CSR, .b = b, .form = BCSR_EVEN};
}

static ProductRequest WithType(const ProductRequest *request, ProductType type)
{
  ProductRequest one = *request;
  one.type = type;
  return one;
}

/* Of equally fast ones the first. The others count rows in 32 bits. */
static ProductType Fastest(const DeviceModel *model, const ProductRequest *request, const CsrStatistics *all,
                           const CsrStatistics *cut)
{
  ProductType best = PRODUCT_CSR;
  double least = HUGE_VAL;
  for (ProductType type = PRODUCT_CSR; type <= PRODUCT_SEG; type++) {
    const ProductRequest one = WithType(request, type);
    double times = Times(model, &one, all, cut);
    if (type > PRODUCT_CSR && all->m > INT32_MAX) break;
    if (times < least) best = type, least = times;
  }
  return best;
}

void poiseProductPlan(const DeviceModel *model, const ProductRequest *request, const CsrStatistics *all,
                      const CsrStatistics *cut, ProductPlan *plan)
{
  ProductType type = request->type == PRODUCT_ANY ? Fastest(model, request, all, cut) : request->type;
  const ProductRequest one = WithType(request, type);
  *plan = (ProductPlan){.type = type, .carveout = -1, .uncut = all->nz};
  plan->times = Times(model, &one, all, cut);
  plan->seconds = Seconds(model, all, plan->times);
  if (type == PRODUCT_CSR) PlanCsr(model, request, all, plan);
  if (type == PRODUCT_CSRI) PlanCsri(model, request, cut, plan);
  if (type == PRODUCT_SEG) PlanSeg(model, request, all, plan);
  if (type == PRODUCT_BCSR) PlanBcsr(model, request, all, plan);
  /* which tiles read where nothing is split */
  plan->index16 = plan->form == FORM_TILES && (type == PRODUCT_CSR || !cut->cut) && all->nz >= INDEX16_LEAST;
}

/* The fewest rows of a block are those of rows as uniform as can be. */
static int FewestRows(const DeviceModel *model, const ProductRequest *request, int64_t m, int64_t nz)
{
  CsrStatistics s = {.m = m, .nz = nz, .longest = m ? nz / m : 0};
  for (int k = 0; k < POISE_TILES; k++) {
    int64_t rows = TILE_THREADS >> k;
    s.tile[k] = s.longest * (m < rows ? m : rows);
  }
  return request->b > 1 ? GroupRows(model, request->b, BCSR_EVEN) : TileRows(model, &s, false);
}

static void BoundCsri(const DeviceModel *model, const ProductRequest *request, int64_t m, int64_t nz,
                      ProductBounds *bounds)
{
  int64_t size = m + nz, *row_block = bounds->row_block;
  bounds->limit = row_block[0] = row_block[1] = Limit(model, request, size, false);
  bounds->hub_bits = HubBits(model, request, nz);
  if (!request->chunk && poiseModelIsGpu(model)) {
    row_block[0] -= bounds->limit / 4;
    if (row_block[1] < CSRI_MOST) row_block[1] = CSRI_MOST;
  }
  int64_t longest = Limit(model, request, size, bounds->hub_bits > 0);
  if (row_block[1] < longest) row_block[1] = longest;
}

void poiseProductBounds(const DeviceModel *model, const ProductRequest *request, int64_t m, int64_t nz,
                        ProductBounds *bounds)
{
  *bounds = (ProductBounds){.rows = {POISE_BLOCK, POISE_BLOCK}};
  bounds->rows[0] = FewestRows(model, request, m, nz);
  if (request->b > 1) bounds->rows[1] = bounds->rows[0];
  if (request->type == PRODUCT_CSRI) BoundCsri(model, request, m, nz, bounds);
  if (request->type == PRODUCT_BCSR) {
    bool uneven = poiseModelIsGpu(model) || (m + bounds->rows[0] - 1) / bounds->rows[0] > HOST_FEW_BLOCKS;
    bounds->groups = request->form <= BCSR_EVEN;
    bounds->balanced = request->form == BCSR_BALANCED || (request->form == BCSR_AUTO && uneven);
    bounds->limit = bounds->row_block[0] = bounds->row_block[1] = BlocksOfRowBlock(model, request, m + nz);
    if (request->form > BCSR_BALANCED)
      bounds->rows[0] = bounds->rows[1] = GroupRows(model, request->b, request->form);
  }
}

/* ---- transposed products --------------------------------------------------------------------- */

int64_t poiseColumnsChunk(const DeviceModel *model, int64_t b, int64_t m, int64_t nz)
{
  int64_t chunk = (poiseModelIsGpu(model) ? GpuLimit(0, false) : HOST_LONG) / (b ? b * b : 1),
          usual = m ? COLUMNS_USUAL * nz / m : 0;
  if (chunk < usual) chunk = usual;
  if (chunk < COLUMNS_LEAST) chunk = COLUMNS_LEAST;
  if (chunk > HOST_LONG) chunk = HOST_LONG;
  return (m + nz) / chunk <= HOST_FEW_BLOCKS ? 0 : chunk;
}

int64_t poiseColumnsFragment(int64_t chunk, int64_t nz)
{
  int64_t few = nz / COLUMNS_FRAGMENTS;
  return few < 2 * chunk ? 2 * chunk : few;
}

/* ---- products with wide vectors ----------------------------------------------------------------- */

/* Even rows: as many as fit, a power of two of them, which groups of lanes divide evenly. A thread block with
   uneven ones shares out its entries; rows that are longer than it are split. Blocks always go by rows. */
void poiseColumnsPlan(int b, const CsrStatistics *s, ProductPlan *plan)
{
  double mean = Mean(s->m, s->nz), deviates = (double)s->squares - (double)s->nz * mean;
  bool even = b > 1 || deviates <= WIDE_DEVIATION * WIDE_DEVIATION * (double)s->nz * mean;
  int64_t entry = b ? poiseBcsrBytes(b) : 12, rows = WIDE_ROWS, most = WIDE_MOST_BYTES / 2 / entry;
  while (rows > 1 && (double)(rows * entry) * mean > WIDE_BYTES) rows /= 2;
  int64_t chunk = even ? (int64_t)((double)rows * (mean + 1)) : WIDE_UNEVEN,
          limit = (int64_t)(WIDE_LONGEST * (mean + 1));
  if (chunk < WIDE_LEAST) chunk = WIDE_LEAST;
  if (most < WIDE_LEAST) most = WIDE_LEAST;
  if (chunk > most) chunk = most;
  if (limit > most) limit = most;
  *plan = (ProductPlan){.type = PRODUCT_CSRI, .rows = POISE_BLOCK, .row_block = chunk, .carveout = -1};
  plan->form = even ? FORM_TILES : FORM_ROW_BLOCKS;
  plan->limit = limit < chunk ? chunk : limit;
  plan->fragment = WIDE_FRAGMENT_BYTES / entry < WIDE_LEAST ? WIDE_LEAST : WIDE_FRAGMENT_BYTES / entry;
  plan->tile = chunk + (s->longest < plan->limit ? s->longest : plan->limit);
}

ColumnsShape poiseColumnsShape(const DeviceModel *model, int columns, int b, bool even, int64_t m, int64_t nz,
                               int64_t nblock)
{
  ColumnsShape s = {.lanes = (columns + 1) / 2, .splits = 1};
  double rows = nblock ? (double)m / (double)nblock : 0, mean = Mean(m, nz);
  int strips = b > WIDE_MOST_BLOCK ? (b + WIDE_STRIP - 1) / WIDE_STRIP : 1, each = b > 1 ? 1 : WIDE_EACH;
  while (even && 2 * s.splits * s.lanes <= model->warp && mean > each * s.splits &&
         4 * rows * strips * s.lanes * s.splits < 3 * WIDE_THREADS)
    s.splits *= 2;
  s.rows = model->warp / (s.lanes * s.splits);
  return s;
}
