/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Inverse diagonal blocks of different sizes, found in the pattern. Consecutive rows with entries in the same
  columns are a supervariable, e.g. the unknowns of a node. Neighbouring supervariables are joined up to the
  largest allowed block. The method is that of Chow and Scott, "On the use of iterative methods and blocking
  for solving sparse triangular systems in incomplete factorization preconditioning" (2016). Ginkgo uses it
  too (Anzt, Dongarra, Flegar, Quintana-Orti 2019).
*/
#include "mat/order/arrange.h"
#include "mat/csr/entries.h"
#include "blocks_host.h"
#include "supervariables.h"
#include "supervariables_kernels.h"

void poiseSupervariablesBytes(const Supervariables *s, PoiseBytes *sum)
{
  poiseBufferAdd(&s->start, sum);
  poiseBufferAdd(&s->at, sum);
  poiseBufferAdd(&s->inverse, sum);
  poiseBufferAdd(&s->bad, sum);
}

/* Bounds: from blocks of `most` rows to one block per row, and the scalars of these. Sizes of neighbours
   may not fit together, so blocks may be more than half empty. */
void poiseSupervariablesPredict(PoisePC pc, int most, PoisePrediction *p)
{
  const Device *dev = pc->ctx->device;
  int64_t n = pc->P->rows->n, fewest = (n + most - 1) / most;
  poisePredictBetween(dev, 12 * (fewest + 1), 12 * (n + 1), ON_BOTH, p);
  poisePredictBetween(dev, 8 * n, 8 * n * most, ON_DEVICE, p);
  poisePredict(dev, sizeof(double), ON_BOTH, p);
}

void poiseSupervariablesDestroy(Supervariables *s)
{
  poiseBufferDestroy(&s->start);
  poiseBufferDestroy(&s->at);
  poiseBufferDestroy(&s->inverse);
  poiseBufferDestroy(&s->bad);
  *s = (Supervariables){0};
}

/* ---- the blocks ------------------------------------------------------------------------------ */

/* Do scalar rows i and j have the same pattern? */
static bool SamePattern(const Csr *c, const HostCsr *h, int64_t i, int64_t j)
{
  i /= poiseCsrSide(c), j /= poiseCsrSide(c);
  int64_t a = poiseCsrPtr(c, h->ptr, i), b = poiseCsrPtr(c, h->ptr, j), n = poiseCsrPtr(c, h->ptr, i + 1) - a;
  return poiseCsrPtr(c, h->ptr, j + 1) - b == n &&
         (!n || !memcmp(h->col + a, h->col + b, (size_t)n * sizeof *h->col));
}

/* The end of the supervariable that starts at row i, of at most `most` rows. */
static int64_t EndOfSupervariable(const Csr *c, const HostCsr *h, int64_t i, int64_t most)
{
  int64_t end = i + 1, m = c->m * poiseCsrSide(c);
  while (end < m && end - i < most && SamePattern(c, h, i, end)) end++;
  return end;
}

/* start[0 .. count]; returns count. */
static int64_t FindBlocks(const Csr *c, const HostCsr *h, int64_t most, int32_t *start)
{
  int64_t count = 0, m = c->m * poiseCsrSide(c);
  start[0] = 0;
  for (int64_t i = 0, end; i < m; i = end) {
    end = EndOfSupervariable(c, h, i, most);
    bool joins = count && end - start[count - 1] <= most;
    start[joins ? count : ++count] = (int32_t)end;
  }
  return count;
}

static PoiseErr Allocate(PoisePC pc, Supervariables *s, const int32_t *start)
{
  Device *dev = pc->ctx->device;
  int32_t *first;
  int64_t *at;
  TRY(poiseBufferCreate(dev, (size_t)(s->count + 1) * sizeof *first, "first rows of blocks", &s->start));
  TRY(poiseBufferCreate(dev, (size_t)(s->count + 1) * sizeof *at, "places of blocks", &s->at));
  TRY(poiseBufferCreate(dev, sizeof(double), "first singular block", &s->bad));
  TRY(poiseBufferWrite(&s->start, HOST, &first));
  TRY(poiseBufferWrite(&s->at, HOST, &at));
  memcpy(first, start, (size_t)(s->count + 1) * sizeof *first);
  at[0] = 0;
  for (int64_t k = 0; k < s->count; k++) {
    int64_t b = start[k + 1] - start[k];
    at[k + 1] = at[k] + b * b;
    s->largest = b > s->largest ? b : s->largest;
  }
  s->entries = at[s->count];
  s->equal = s->largest;
  for (int64_t k = 0; k < s->count; k++)
    if (start[k] != k * s->largest) s->equal = 0;
  return poiseBufferCreate(dev, (size_t)s->entries * sizeof(double), "inverse diagonal blocks", &s->inverse);
}

static PoiseErr Find(PoisePC pc, Supervariables *s, int most)
{
  Csr *c = &pc->P->csr;
  HostCsr h;
  int64_t n = pc->P->rows->n;
  int32_t *start;
  if (!(poiseMatChanged(&s->seen, pc->P) & CHANGED_PATTERN) && s->most == most) return POISE_OK;
  poiseSupervariablesDestroy(s);
  pc->generation++;
  TRY(poiseMatPattern(pc->P, &h));
  TRY(poiseAllocArray(pc->ctx, n + 1, sizeof *start, "first rows of blocks", &start));
  s->count = FindBlocks(c, &h, most, start);
  PoiseErr e = Allocate(pc, s, start);
  poiseFree(pc->ctx, &start);
  if (e) return e;
  s->n = n;
  s->most = most;
  s->seen = pc->P->version;
  return POISE_OK;
}

/* ---- set-up and application ------------------------------------------------------------------ */

static PoiseErr Invert(PoisePC pc, Supervariables *s, double *bad)
{
  InvertSupervariablesArgs a = {.nblock = s->count};
  const double *result;
  TRY(poiseCsrView(&pc->P->csr, &a.A));
  TRY(poiseBufferRead(&s->start, DEVICE, &a.start));
  TRY(poiseBufferRead(&s->at, DEVICE, &a.at));
  TRY(poiseBufferWrite(&s->inverse, DEVICE, &a.d));
  TRY(poiseBufferWrite(&s->bad, DEVICE, &a.bad));
  TRY(LAUNCH(pc->ctx->device, invert_supervariables, &a));
  TRY(poiseBufferRead(&s->bad, HOST, &result));
  *bad = *result;
  return POISE_OK;
}

/* The names of the rows [first, end) in the application's numbering, where they need not be neighbours. */
static const char *Names(PoisePC pc, int64_t first, int64_t end, char *text, size_t size)
{
  size_t at = 0;
  if (!pc->P->origin.moves.to)
    snprintf(text, size, "%lld to %lld", poiseMatRowName(pc->P, first), poiseMatRowName(pc->P, end - 1));
  for (int64_t i = first; pc->P->origin.moves.to && i < end && at < size; i++)
    at += (size_t)snprintf(text + at, size - at, "%s%lld", i == first ? "" : ", ", poiseMatRowName(pc->P, i));
  return text;
}

PoiseErr poiseSupervariablesSetup(PoisePC pc, Supervariables *s, int most)
{
  const int32_t *start;
  double bad = -1;
  char names[320];
  TRY(poisePCCheckStored(pc));
  TRY(poiseMatCheckSquare(pc->P));
  TRY(Find(pc, s, most));
  TRY(Invert(pc, s, &bad));
  if (bad < 0) return POISE_OK;
  TRY(poiseBufferRead(&s->start, HOST, &start));
  int64_t k = (int64_t)bad;
  FAIL(POISE_ERR_NUMERIC, "the diagonal block of rows %s is singular or not finite",
       Names(pc, start[k], start[k + 1], names, sizeof names));
}

PoiseErr poiseSupervariablesApply(PoisePC pc, Supervariables *s, PoiseVec r, PoiseVec z, const double *skip,
                                  const Fuse *fuse)
{
  ApplySupervariablesArgs a = {.n = s->n, .nblock = s->count, .skip = skip};
  if (fuse) a.fuse = *fuse;
  TRY(poiseBufferRead(&s->start, DEVICE, &a.start));
  TRY(poiseBufferRead(&s->at, DEVICE, &a.at));
  TRY(poiseBufferRead(&s->inverse, DEVICE, &a.d));
  TRY(poiseVecRead(r, &a.x));
  TRY(skip ? poiseVecUpdate(z, &a.y) : poiseVecWrite(z, &a.y)); /* skipped, z keeps its content */
  return LAUNCH(pc->ctx->device, apply_supervariables, &a);
}

PoiseErr poiseSupervariablesShow(Supervariables *s, const double **d, int64_t *b)
{
  *b = s->equal;
  return s->equal ? poiseBufferRead(&s->inverse, DEVICE, d) : POISE_OK;
}

PoiseErr poiseSupervariablesView(PoisePC pc, const Supervariables *s)
{
  double sum[] = {(double)s->count, (double)s->n, 8 * (double)s->entries}, largest = (double)s->largest;
  TRY(PoiseSum(pc->ctx, 3, sum));
  TRY(PoiseMax(pc->ctx, 1, &largest));
  char bytes[24];
  return poisePrint(pc->ctx,
                    "  %.0f blocks of supervariables (neighbours whose rows are alike), mean %.2f rows, "
                    "largest %.0f; %s\n",
                    sum[0], sum[0] > 0 ? sum[1] / sum[0] : 0, largest, poiseBytesText(sum[2], bytes));
}

/* ---- host kernels ---------------------------------------------------------------------------- */

static void CopyBlock(const CsrView *A, int64_t first, int64_t b, double *d)
{
  memset(d, 0, (size_t)(b * b) * sizeof *d);
  for (int64_t i = first; i < first + b; i++) {
    ScalarRow row = poiseNumberRow(A, i);
    for (int64_t k = 0; k < row.n; k++) {
      int64_t j = poiseNumberColumn(A, &row, k) - first;
      if (j >= 0 && j < b) d[j * b + i - first] = A->val[poiseNumberPlace(&row, k)];
    }
  }
}

PoiseErr poiseHost_invert_supervariables(Device *dev, const void *args)
{
  const InvertSupervariablesArgs *a = args;
  (void)dev;
  HOST_PARALLEL_FOR(dev, a->nblock)
  for (int64_t k = 0; k < a->nblock; k++) {
    double *d = a->d + a->at[k];
    int b = a->start[k + 1] - a->start[k];
    CopyBlock(&a->A, a->start[k], b, d);
    if (!poiseInvertBlock(d, b)) *d = NAN; /* a mark */
  }
  *a->bad = -1;
  for (int64_t k = 0; k < a->nblock && *a->bad < 0; k++)
    if (isnan(a->d[a->at[k]])) *a->bad = (double)k;
  return POISE_OK;
}

static void ApplyRows(const ApplySupervariablesArgs *a, int64_t begin, int64_t end)
{
  for (int64_t k = poiseBlockWithRow(a->start, a->nblock, begin), i = begin; i < end; k++) {
    int64_t first = a->start[k], b = a->start[k + 1] - first, last = first + b < end ? first + b : end;
    poiseHostBlockRows(a->d + a->at[k], b, a->x + first, a->y + first, i - first, last - first);
    i = last;
  }
}

PoiseErr poiseHost_apply_supervariables(Device *dev, const void *args)
{
  const ApplySupervariablesArgs *a = args;
  int64_t nblock = POISE_NBLOCKS(a->n);
  (void)dev;
  if (a->skip && *a->skip != 0) return POISE_OK;
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t k = 0; k < nblock; k++) {
    int64_t begin = k * POISE_BLOCK, end = begin + POISE_BLOCK < a->n ? begin + POISE_BLOCK : a->n;
    ApplyRows(a, begin, end);
    poiseHostFuse(&a->fuse, a->y, begin, end, k);
  }
  return POISE_OK;
}
