/* SPDX-License-Identifier: BSD-3-Clause */
/* Row blocks, and fragments of split rows, on the device: construction, order, SpMV. */
#include "mat/object/bytes.h"
#include "interior.h"
#include "mat/csr/keys_kernels.h"
#include "row_blocks.h"

/* LINE: entries whose values and columns fill lines of a GPU's caches. Elsewhere the sum of a row does not
   depend on its start. */
enum { BUFFERS = 7, LINE = 32 };

PoiseErr poiseRowBlocksBegin(Device *dev, int64_t m, RowBlocks *w, RowBlock **row_block, int64_t **fragments)
{
  if (m > INT32_MAX)
    FAIL(POISE_ERR_UNSUPPORTED, "%lld rows of a rank, more than 2^31: use type csr", (long long)m);
  if (w->n > INT32_MAX)
    FAIL(POISE_ERR_UNSUPPORTED, "%lld row blocks, more than 2^31: make them larger", (long long)w->n);
  TRY(poiseBufferCreate(dev, (size_t)(w->n + 1) * sizeof(RowBlock), "row blocks", &w->row_block));
  TRY(poiseBufferCreate(dev, (size_t)(w->n + 1) * sizeof(int64_t), "fragments of row blocks", &w->first));
  TRY(poiseBufferWrite(&w->row_block, DEVICE, row_block));
  return poiseBufferWrite(&w->first, DEVICE, fragments);
}

/* Whole doubles, which a device can fill with zeros. */
static int64_t ArrivedBytes(int64_t n)
{
  return (n + n % 2) * (int64_t)sizeof(int32_t);
}

PoiseErr poiseRowBlocksEnd(Device *dev, RowBlocks *w, const CsrView *A)
{
  bool lines = poiseModelIsGpu(&dev->model) && A->b <= 1;
  CsriFragmentsArgs own = {.A = *A, .unit = lines ? LINE : 1, .nrow_block = w->n};
  int64_t *first;
  TRY(poiseBufferUpdate(&w->first, DEVICE, &first));
  TRY(LAUNCH(dev, scan, &(ScanArgs){.n = w->n, .count = first}));
  TRY(poiseDeviceFetch(dev, first + w->n, sizeof w->nfragment, &w->nfragment));
  TRY(poiseBufferCreate(dev, (size_t)w->nfragment * sizeof(RowFragment), "fragments", &w->part));
  TRY(poiseBufferCreate(dev, (size_t)(w->nfragment * (A->b ? A->b : 1)) * sizeof(double), "sums of fragments",
                        &w->sum));
  TRY(poiseBufferCreate(dev, (size_t)ArrivedBytes(w->n + 1), "fragments that arrived", &w->arrived));
  TRY(poiseBufferRead(&w->row_block, DEVICE, &own.row_block));
  TRY(poiseBufferRead(&w->first, DEVICE, &own.first));
  TRY(poiseBufferWrite(&w->part, DEVICE, &own.part));
  w->parts = w->n;
  return LAUNCH(dev, csri_fragments, &own);
}

PoiseErr poiseRowBlocksCutRows(Device *dev, const CsrView *A, RowBlocks *w, RowBlocksCut cut)
{
  CsriCutArgs a = {
      .A = *A, .exact = cut.exact, .chunk = cut.chunk, .limit = cut.limit, .fragment = cut.fragment};
  w->limit = cut.limit;
  a.nrow_block = w->n = poiseRowBlocksOf(A->m, A->nz, cut.chunk);
  TRY(poiseRowBlocksBegin(dev, A->m, w, &a.row_block, &a.fragments));
  TRY(LAUNCH(dev, csri_cut, &a));
  return poiseRowBlocksEnd(dev, w, A);
}

PoiseErr poiseRowBlocksCut(PoiseMat A, RowBlocks *w, RowBlocksCut cut)
{
  CsrView view;
  TRY(poiseCsrPattern(&A->csr, &view));
  return poiseRowBlocksCutRows(A->ctx->device, &view, w, cut);
}

/* Fragments always wait for the ghosts. */
PoiseErr poiseRowBlocksOrder(PoiseMat A, RowBlocks *w, int rows)
{
  Buffer *row_block = rows == POISE_BLOCK ? &w->row_block : NULL;
  return poiseCsrOrder(A, w->parts, rows, row_block, &w->order, &w->interior);
}

PoiseErr poiseRowBlocksArguments(RowBlocks *w, CsriMultArgs *a)
{
  const int32_t *order;
  a->limit = w->limit, a->parts = w->parts;
  if (w->order.dev) TRY(poiseBufferRead(&w->order, DEVICE, &order));
  TRY(poiseBufferRead(&w->row_block, DEVICE, &a->row_block));
  TRY(poiseBufferRead(&w->first, DEVICE, &a->first));
  TRY(poiseBufferRead(&w->part, DEVICE, &a->part));
  TRY(poiseBufferUpdate(&w->sum, DEVICE, &a->sum));
  TRY(poiseBufferUpdate(&w->arrived, DEVICE, &a->arrived));
  a->next = a->arrived + w->n;
  return POISE_OK;
}

PoiseErr poiseRowBlocksWideSums(RowBlocks *w, double **sum)
{
  return poiseBufferUpdate(&w->wide, DEVICE, sum);
}

PoiseErr poiseRowBlocksReadyColumns(Device *dev, RowBlocks *w, int b)
{
  size_t numbers = (size_t)(w->nfragment * (b ? b : 1) * POISE_MAX_COLUMNS);
  double *sum;
  if (!w->wide.dev) TRY(poiseBufferCreate(dev, numbers * sizeof *sum, "sums of wide fragments", &w->wide));
  return poiseRowBlocksWideSums(w, &sum);
}

PoiseErr poiseBlocksPart(Buffer *order, const Interior *interior, int64_t n, ProductPart part, CsrMultArgs *a)
{
  const int32_t *all;
  bool listed = part == REST || (part == INTERIOR && interior->first < 0);
  int64_t from = part == REST ? interior->n : 0, to = part == INTERIOR ? interior->n : n;
  a->nblock = to - from;
  if (part == INTERIOR && !listed) a->first = interior->first;
  if (!listed || !order->dev) return POISE_OK; /* a form without an order has no blocks here */
  TRY(poiseBufferRead(order, DEVICE, &all));
  a->order = all ? all + from : NULL;
  return POISE_OK;
}

PoiseErr poiseRowBlocksPart(RowBlocks *w, ProductPart part, CsriMultArgs *a)
{
  TRY(poiseBlocksPart(&w->order, &w->interior, w->parts, part, &a->m));
  a->nfragment = part == INTERIOR ? 0 : w->nfragment;
  return POISE_OK;
}

void poiseRowBlocksBytes(const RowBlocks *w, PoiseBytes *sum)
{
  const Buffer *const all[BUFFERS] = {&w->row_block, &w->first, &w->part, &w->sum,
                                      &w->arrived,   &w->order, &w->wide};
  for (int k = 0; k < BUFFERS; k++) poiseBufferAdd(all[k], sum);
}

static void PredictEach(const Device *dev, const int64_t n[2], int64_t more, size_t bytes, Used sides,
                        PoisePrediction *p)
{
  poisePredictBetween(dev, (n[0] + more) * (int64_t)bytes, (n[1] + more) * (int64_t)bytes, sides, p);
}

/* Blocks of rows are ordered where the columns are (mat/csr/interior.c): on a device that alone has them? */
static bool OrderedThere(PoiseMat A, const MatPlan *plan)
{
  const Buffer *col = &A->csr.col;
  return plan->b > 0 || (A->assembled && col->dev && !poiseBufferIsCurrent(col, HOST));
}

void poiseRowBlocksPredict(PoiseMat A, const RowBlocksPlan *w, MatPlan *plan, PoisePrediction *p)
{
  const Device *dev = A->ctx->device;
  const int64_t fragments[] = {0, w->fragments};
  int64_t parts[] = {w->n[0], w->n[1]}, size = (int64_t)sizeof(RowBlock);
  if (w->blocks[1]) poisePlanEither(w->blocks, parts);
  PredictEach(dev, w->n, 1, sizeof(RowBlock) + sizeof(int64_t), ON_DEVICE, p);
  poisePredictBetween(dev, ArrivedBytes(w->n[0] + 1), ArrivedBytes(w->n[1] + 1), ON_DEVICE, p);
  PredictEach(dev, fragments, 0, sizeof(RowFragment) + (size_t)poisePlanSide(plan) * sizeof(double),
              ON_DEVICE, p);
  if (w->ordered) PredictEach(dev, parts, 0, sizeof(int32_t), ON_BOTH, p);
  if (w->ordered && !dev->ops->is_host) { /* row blocks, not tiles */
    p->least.host += w->blocks[1] || OrderedThere(A, plan) ? 0 : (w->n[0] + 1) * size;
    p->most.host += (w->n[1] + 1) * size;
  }
  plan->partials[0] = parts[0], plan->partials[1] = parts[1] + w->fragments;
}

/* A row of L >= limit entries is split into at most L / (2 limit) fragments, rounded up, which is at most L
   / limit. If there are fewer columns than limit, no row is split. The other rows may be uniform, and then
   go in tiles. */
void poiseRowBlocksPredictCut(PoiseMat A, const int64_t chunk[2], int64_t limit, bool exact, MatPlan *plan,
                              PoisePrediction *p)
{
  enum { FEWEST = 4 }; /* rows of a block */
  RowBlocksPlan w = {.ordered = PoiseSize(A->ctx) > 1};
  for (int k = 0; k < 2; k++) w.n[k] = poiseRowBlocksOf(plan->m, plan->nz, chunk[1 - k]);
  if (!exact && plan->columns >= limit) w.fragments = plan->nz / limit;
  if (!exact && !plan->b && poiseModelIsGpu(&A->ctx->device->model)) {
    w.blocks[0] = w.fragments ? POISE_NBLOCKS(plan->m) : plan->nblock[0];
    w.blocks[1] = w.fragments ? (plan->m + FEWEST - 1) / FEWEST : plan->nblock[1];
  }
  poiseRowBlocksPredict(A, &w, plan, p);
}

void poiseRowBlocksDestroy(RowBlocks *w)
{
  Buffer *const all[BUFFERS] = {&w->row_block, &w->first, &w->part, &w->sum,
                                &w->arrived,   &w->order, &w->wide};
  for (int k = 0; k < BUFFERS; k++) poiseBufferDestroy(all[k]);
  *w = (RowBlocks){0};
}
