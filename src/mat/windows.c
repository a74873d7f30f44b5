/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows of rows and pieces of longer ones, on the device: made, ordered, and multiplied by. */
#include "windows.h"

/* LINE: numbers whose values and columns fill lines of a GPU's caches. Elsewhere a row's sum is the same wherever it begins. */
enum { BUFFERS = 6, LINE = 32 };

PoiseErr poiseWindowsBegin(Device *dev, int64_t m, Windows *w, CsrWindow **window, int64_t **pieces)
{
  if (m > INT32_MAX) FAIL(POISE_ERR_UNSUPPORTED, "%lld rows of a rank, more than 2^31: use type csr", (long long)m);
  if (w->n > INT32_MAX)
    FAIL(POISE_ERR_UNSUPPORTED, "%lld windows of rows, more than 2^31: make them larger", (long long)w->n);
  TRY(poiseBufferCreate(dev, (size_t)(w->n + 1) * sizeof(CsrWindow), "windows", &w->window));
  TRY(poiseBufferCreate(dev, (size_t)(w->n + 1) * sizeof(int64_t), "pieces of windows", &w->first));
  TRY(poiseBufferWrite(&w->window, DEVICE, window));
  return poiseBufferWrite(&w->first, DEVICE, pieces);
}

/* Whole doubles, which a device fills with zeros by itself. */
static int64_t ArrivedBytes(int64_t n)
{
  return (n + n % 2) * (int64_t)sizeof(int32_t);
}

PoiseErr poiseWindowsEnd(Device *dev, Windows *w, const CsrView *A)
{
  bool lines = poiseModelIsGpu(&dev->model) && A->b <= 1;
  CsriOwnArgs own = {.A = *A, .unit = lines ? LINE : 1, .nwindow = w->n};
  int64_t *first;
  TRY(poiseBufferUpdate(&w->first, DEVICE, &first));
  TRY(LAUNCH(dev, scan, ScanArgs, .n = w->n, .count = first));
  TRY(poiseDeviceCopy(dev, &w->npiece, first + w->n, sizeof w->npiece, COPY_TO_HOST));
  TRY(poiseDeviceSync(dev));
  TRY(poiseBufferCreate(dev, (size_t)w->npiece * sizeof(CsriPiece), "pieces", &w->part));
  TRY(poiseBufferCreate(dev, (size_t)(w->npiece * (A->b ? A->b : 1)) * sizeof(double), "sums of pieces", &w->sum));
  TRY(poiseBufferCreate(dev, (size_t)ArrivedBytes(w->n + 1), "pieces that arrived", &w->arrived));
  TRY(poiseBufferRead(&w->window, DEVICE, &own.window));
  TRY(poiseBufferRead(&w->first, DEVICE, &own.first));
  TRY(poiseBufferWrite(&w->part, DEVICE, &own.part));
  w->parts = w->n;
  return poiseLaunch(dev, KERNEL_csri_own, &own, sizeof own);
}

PoiseErr poiseWindowsCutRows(Device *dev, const CsrView *A, Windows *w, WindowsCut cut)
{
  CsriCutArgs a = {.A = *A, .exact = cut.exact, .chunk = cut.chunk, .limit = cut.limit, .piece = cut.piece};
  w->limit = cut.limit;
  a.nwindow = w->n = poiseWindowsOf(A->m, A->nz, cut.chunk);
  TRY(poiseWindowsBegin(dev, A->m, w, &a.window, &a.pieces));
  TRY(poiseLaunch(dev, KERNEL_csri_cut, &a, sizeof a));
  return poiseWindowsEnd(dev, w, A);
}

PoiseErr poiseWindowsCut(PoiseMat A, Windows *w, WindowsCut cut)
{
  CsrView view;
  TRY(poiseCsrPattern(&A->csr, &view));
  return poiseWindowsCutRows(A->ctx->device, &view, w, cut);
}

/* Pieces always wait for the ghosts. */
PoiseErr poiseWindowsOrder(PoiseMat A, Windows *w, int rows)
{
  const CsrWindow *window = NULL;
  if (rows == POISE_BLOCK) TRY(poiseBufferRead(&w->window, HOST, &window));
  return poiseCsrOrder(A, w->parts, rows, window, &w->order, &w->ninterior);
}

PoiseErr poiseWindowsArguments(Windows *w, CsriMultArgs *a)
{
  const int32_t *order;
  a->limit = w->limit, a->parts = w->parts;
  if (w->order.dev) TRY(poiseBufferRead(&w->order, DEVICE, &order));
  TRY(poiseBufferRead(&w->window, DEVICE, &a->window));
  TRY(poiseBufferRead(&w->first, DEVICE, &a->first));
  TRY(poiseBufferRead(&w->part, DEVICE, &a->part));
  TRY(poiseBufferUpdate(&w->sum, DEVICE, &a->sum));
  TRY(poiseBufferUpdate(&w->arrived, DEVICE, &a->arrived));
  a->next = a->arrived + w->n;
  return POISE_OK;
}

PoiseErr poiseWindowsMult(PoiseMat A, Windows *w, ProductPart part, int kernel, CsriMultArgs *a, size_t bytes)
{
  int64_t first = part == REST ? w->ninterior : 0, last = part == INTERIOR ? w->ninterior : w->parts;
  const int32_t *order;
  if (part != WHOLE && w->order.dev) {
    TRY(poiseBufferRead(&w->order, DEVICE, &order));
    a->m.order = order ? order + first : NULL;
  }
  a->m.nblock = last - first;
  a->npiece = part == INTERIOR ? 0 : w->npiece;
  return poiseLaunch(A->ctx->device, kernel, a, bytes);
}

int64_t poiseWindowsPartials(const Windows *w)
{
  return w->parts + w->npiece;
}

void poiseWindowsBytes(const Windows *w, PoiseBytes *sum)
{
  const Buffer *const all[BUFFERS] = {&w->window, &w->first, &w->part, &w->sum, &w->arrived, &w->order};
  for (int k = 0; k < BUFFERS; k++) poiseBufferAdd(all[k], sum);
}

static void PredictEach(const Device *dev, const int64_t n[2], int64_t more, size_t bytes, Used sides, PoisePrediction *p)
{
  poisePredictBetween(dev, (n[0] + more) * (int64_t)bytes, (n[1] + more) * (int64_t)bytes, sides, p);
}

void poiseWindowsPredict(PoiseMat A, const WindowsPlan *w, MatPlan *plan, PoisePrediction *p)
{
  const Device *dev = A->ctx->device;
  const int64_t pieces[] = {0, w->pieces};
  int64_t parts[] = {w->n[0], w->n[1]}, size = (int64_t)sizeof(CsrWindow);
  if (w->blocks[1]) poisePlanEither(w->blocks, parts);
  PredictEach(dev, w->n, 1, sizeof(CsrWindow) + sizeof(int64_t), ON_DEVICE, p);
  poisePredictBetween(dev, ArrivedBytes(w->n[0] + 1), ArrivedBytes(w->n[1] + 1), ON_DEVICE, p);
  PredictEach(dev, pieces, 0, sizeof(CsriPiece) + (size_t)poisePlanSide(plan) * sizeof(double), ON_DEVICE, p);
  if (w->ordered) PredictEach(dev, parts, 0, sizeof(int32_t), ON_BOTH, p);
  if (w->ordered && !dev->ops->is_host) { /* the host looks at windows, not at blocks */
    p->least.host += w->blocks[1] ? 0 : (w->n[0] + 1) * size;
    p->most.host += (w->n[1] + 1) * size;
  }
  plan->partials[0] = parts[0], plan->partials[1] = parts[1] + w->pieces;
}

/* A row of L entries, L >= limit, is cut into L / (2 limit) pieces, rounded up, or fewer, which are no more than L / limit. Where rows
   cannot be so long, there are none. What is left of the rows is perhaps even, and goes by blocks. */
void poiseWindowsPredictCut(PoiseMat A, const int64_t chunk[2], int64_t limit, bool exact, MatPlan *plan,
                            PoisePrediction *p)
{
  enum { FEWEST = 4 }; /* rows of a block */
  WindowsPlan w = {.ordered = PoiseSize(A->ctx) > 1};
  for (int k = 0; k < 2; k++) w.n[k] = poiseWindowsOf(plan->m, plan->nz, chunk[1 - k]);
  if (!exact && plan->columns >= limit) w.pieces = plan->nz / limit;
  if (!exact && !plan->b && poiseModelIsGpu(&A->ctx->device->model)) {
    w.blocks[0] = w.pieces ? POISE_NBLOCKS(plan->m) : plan->nblock[0];
    w.blocks[1] = w.pieces ? (plan->m + FEWEST - 1) / FEWEST : plan->nblock[1];
  }
  poiseWindowsPredict(A, &w, plan, p);
}

void poiseWindowsDestroy(Windows *w)
{
  Buffer *const all[BUFFERS] = {&w->window, &w->first, &w->part, &w->sum, &w->arrived, &w->order};
  for (int k = 0; k < BUFFERS; k++) poiseBufferDestroy(all[k]);
  *w = (Windows){0};
}
