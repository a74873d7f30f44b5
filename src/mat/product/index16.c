/* SPDX-License-Identifier: BSD-3-Clause */
/*
  16-bit columns beside the CSR, which stays as it is. In a band matrix, or one of a grid, the columns of a
  block of rows lie in a few bands. 4 bits say which column band, 12 bits the place in it. The bands of a
  block are found from the least column upwards. Each begins at the first column that the earlier ones do not
  cover. That is the fewest possible. The coding is exact. A block that needs more bands is read in 32 bits.
*/
#include "index16.h"
#include "mat/object/mat.h"

void poiseIndex16Release(PoiseMat A)
{
  Index16 *d = &A->blocks.index16;
  poiseBufferDestroy(&d->code);
  poiseBufferDestroy(&d->base);
  d->kept = false;
}

/* Make bands and codes on the device, and count the nonzeros that fit. Each pass reads 4 bytes per
   nonzero. There is one pass per band, one more, and one for the codes; all but one read from a cache. */
static PoiseErr Make(PoiseMat A, Buffer *count)
{
  Csr *c = &A->csr;
  const MatBlocks *b = &A->blocks;
  Index16 *d = &A->blocks.index16;
  Device *dev = A->ctx->device;
  CsrIndex16Args a = {.rows = b->rows, .nblock = b->n};
  TRY(poiseBufferCreate(dev, (size_t)c->nz * sizeof(uint16_t), "columns of 16 bits", &d->code));
  TRY(poiseBufferCreate(dev, (size_t)b->n * POISE_BANDS * sizeof(int32_t), "bands of columns", &d->base));
  TRY(poiseBufferCreate(dev, sizeof *a.fits, "columns that fit", count));
  TRY(poiseCsrPattern(c, &a.A));
  TRY(poiseBufferWrite(&d->code, DEVICE, &a.code));
  TRY(poiseBufferWrite(&d->base, DEVICE, &a.base));
  TRY(poiseBufferUpdate(count, DEVICE, &a.fits));
  TRY(LAUNCH(dev, csr_index16, &a));
  return poiseDeviceFetch(dev, a.fits, sizeof d->fits, &d->fits);
}

PoiseErr poiseIndex16Make(PoiseMat A)
{
  Index16 *d = &A->blocks.index16;
  Buffer count = {0};
  if (d->kept || !A->csr.nz) return POISE_OK;
  PoiseErr e = Make(A, &count);
  poiseBufferDestroy(&count);
  d->kept = !e && d->fits > 0 && d->fits >= A->csr.nz - d->fits;
  if (!d->kept) poiseIndex16Release(A);
  return e;
}

PoiseErr poiseIndex16View(PoiseMat A, Index16View *v)
{
  Index16 *d = &A->blocks.index16;
  if (!d->kept) return POISE_OK;
  v->all = d->fits == A->csr.nz;
  TRY(poiseBufferRead(&d->code, DEVICE, &v->code));
  return poiseBufferRead(&d->base, DEVICE, &v->base);
}

PoiseErr poiseIndex16Print(PoiseMat A)
{
  const MatBlocks *b = &A->blocks;
  double nz = (double)A->csr.nz, fits = (double)b->index16.fits,
         sums[] = {nz, fits, b->index16.kept ? fits : 0};
  TRY(PoiseSum(A->ctx, 3, sums));
  double percent = 100 / fmax(1, sums[0]);
  TRY(poisePrint(A->ctx, "    columns of 16 bits beside the CSR: %.4g %% of them\n", sums[2] * percent));
  if (sums[2] == sums[0]) return POISE_OK;
  return poisePrint(A->ctx,
                    "      %.4g %% are in blocks of %d rows whose columns lie in %d bands of %d%s%s\n",
                    sums[1] * percent, b->rows, POISE_BANDS, POISE_BAND,
                    PoiseSize(A->ctx) > 1 ? ", none of them another rank's" : "",
                    sums[2] < sums[1] ? "; a rank with less than half keeps none" : "");
}

/* Only the pattern decides whether half of the nonzeros fit. */
void poiseIndex16Predict(const Device *dev, const MatPlan *plan, PoisePrediction *p)
{
  int64_t bases = plan->nblock[1] * POISE_BANDS * (int64_t)sizeof(int32_t);
  if (plan->nz) poisePredictBetween(dev, 0, plan->nz * (int64_t)sizeof(uint16_t) + bases, ON_DEVICE, p);
}

/* ---- host kernel ----------------------------------------------------------------------------- */

/* Find the bands of the columns of entries [begin, end). Returns their number, or POISE_BANDS + 1. */
static int BandsOf(const CsrView *A, int64_t begin, int64_t end, int32_t *base)
{
  int64_t from = 0;
  for (int n = 0; n <= POISE_BANDS; n++) {
    int32_t least = INT32_MAX;
    for (int64_t k = begin; k < end; k++)
      if (A->col[k] >= from && A->col[k] < least) least = A->col[k];
    if (least == INT32_MAX) return n;
    if (n == POISE_BANDS || least >= A->nloc) break;
    base[n] = least;
    from = poiseIndex16End(A, least);
  }
  return POISE_BANDS + 1;
}

PoiseErr poiseHost_csr_index16(Device *dev, const void *args)
{
  const CsrIndex16Args *a = args;
  (void)dev;
  HOST_PARALLEL_FOR(dev, a->nblock)
  for (int64_t b = 0; b < a->nblock; b++) {
    int64_t last = (b + 1) * a->rows < a->A.m ? (b + 1) * a->rows : a->A.m,
            begin = poiseCsrOffset(&a->A, b * a->rows), end = poiseCsrOffset(&a->A, last);
    int32_t *base = a->base + b * POISE_BANDS;
    memset(base, 0, POISE_BANDS * sizeof *base);
    int n = BandsOf(&a->A, begin, end, base);
    if (n > POISE_BANDS) {
      base[0] = -1;
      continue;
    }
    for (int64_t k = begin; k < end; k++) a->code[k] = poiseIndex16Code(base, n, a->A.col[k]);
    HOST_CRITICAL
    *a->fits += end - begin;
  }
  return POISE_OK;
}
