/* SPDX-License-Identifier: BSD-3-Clause */
/* Type csr: plain CSR, rows shared out over threads or blocks; and the host's kernels for it. */
#include "csr_rows.h"

/* ---- products ------------------------------------------------------------------------------------------------------- */

static PoiseErr Launch(PoiseMat A, CsrMultArgs *m, int64_t first, int64_t last)
{
  const int32_t *order;
  if (A->csr.halo) {
    TRY(poiseBufferRead(&A->csr.order, DEVICE, &order));
    m->order = order ? order + first : NULL;
  }
  m->nblock = last - first;
  m->rows = A->csr.rows;
  m->tile = A->csr.tile;
  m->vary = A->csr.vary;
  return poiseLaunch(A->ctx->device, KERNEL_csr_mult, m, sizeof *m);
}

static PoiseErr Arguments(PoiseMat A, PoiseVec x, PoiseVec y, CsrMultArgs *m)
{
  TRY(poiseCsrView(&A->csr, &m->A));
  if (!m->x) TRY(poiseVecRead(x, &m->x));
  if (!m->b.slot && m->b.value == 0 && !m->skip) return poiseVecWrite(y, &m->y); /* skipped, y keeps its content */
  return poiseVecUpdate(y, &m->y);
}

/* Reads 12 bytes per nonzero, 4 per row offset, x and y once. Interior blocks run while the ghosts travel. */
static PoiseErr Mult_CSR(PoiseMat A, ScalarRef a, PoiseVec x, ScalarRef b, PoiseVec y, const double *skip, const Fuse *fuse)
{
  Csr *c = &A->csr;
  CsrMultArgs m = {.a = a, .b = b, .skip = skip};
  if (fuse) m.fuse = *fuse;
  if (!c->halo) {
    TRY(Arguments(A, x, y, &m));
    return Launch(A, &m, 0, c->nblock);
  }
  PoiseErr e = poiseVecRead(x, &m.x); /* a failure below must not keep the neighbours waiting */
  TRY(poiseHaloBegin(c->halo, e, m.x));
  if (!e) e = Arguments(A, x, y, &m);
  if (!e) e = Launch(A, &m, 0, c->ninterior);
  PoiseErr ex = poiseHaloEnd(c->halo, &m.ghost);
  TRY(e);
  TRY(ex);
  return Launch(A, &m, c->ninterior, c->nblock);
}

static PoiseErr BuildTranspose(PoiseMat A)
{
  CsrData *t = A->data;
  Csr *c = &A->csr;
  Device *dev = A->ctx->device;
  int64_t ncol = c->nloc + c->nghost, *tptr, *perm;
  int32_t *row;
  const void *ptr;
  const int32_t *col;
  if (t->pattern == A->pattern) return POISE_OK;
  poiseBufferDestroy(&t->ptr);
  poiseBufferDestroy(&t->perm);
  poiseBufferDestroy(&t->row);
  TRY(poiseBufferCreate(dev, (size_t)(ncol + 2) * sizeof(int64_t), "transpose offsets", &t->ptr));
  TRY(poiseBufferCreate(dev, (size_t)c->nz * sizeof(int64_t), "transpose entries", &t->perm));
  TRY(poiseBufferCreate(dev, (size_t)c->nz * sizeof(int32_t), "transpose rows", &t->row));
  TRY(poiseBufferUpdate(&t->ptr, HOST, &tptr));
  TRY(poiseBufferWrite(&t->perm, HOST, &perm));
  TRY(poiseBufferWrite(&t->row, HOST, &row));
  TRY(poiseBufferRead(&c->ptr, HOST, &ptr));
  TRY(poiseBufferRead(&c->col, HOST, &col));
  for (int64_t k = 0; k < c->nz; k++) tptr[col[k] + 2]++; /* counts, two places on: then tptr[j + 1] is column j's cursor */
  for (int64_t j = 2; j <= ncol + 1; j++) tptr[j] += tptr[j - 1];
  for (int64_t i = 0; i < c->m; i++)
    for (int64_t k = poiseCsrPtr(c, ptr, i); k < poiseCsrPtr(c, ptr, i + 1); k++) {
      int64_t at = tptr[col[k] + 1]++;
      perm[at] = k;
      row[at] = (int32_t)i;
    }
  t->pattern = A->pattern;
  return POISE_OK;
}

static PoiseErr LaunchTranspose(PoiseMat A, PoiseVec x, double *y)
{
  CsrData *t = A->data;
  Csr *c = &A->csr;
  CsrMultTransposeArgs m = {.ncol = c->nloc + c->nghost, .nloc = c->nloc, .y = y};
  TRY(BuildTranspose(A));
  TRY(poiseBufferRead(&t->ptr, DEVICE, &m.tptr));
  TRY(poiseBufferRead(&t->perm, DEVICE, &m.perm));
  TRY(poiseBufferRead(&t->row, DEVICE, &m.row));
  TRY(poiseBufferRead(&c->val, DEVICE, &m.val));
  if (x) TRY(poiseVecRead(x, &m.x));
  if (c->halo) TRY(poiseHaloGhostWrite(c->halo, &m.ghost));
  return poiseLaunch(A->ctx->device, KERNEL_csr_mult_transpose, &m, sizeof m);
}

PoiseErr poiseCsrMultTranspose(PoiseMat A, PoiseVec x, PoiseVec y)
{
  double *out;
  PoiseErr e = poiseVecWrite(y, &out);
  if (!e) e = LaunchTranspose(A, x, out);
  return A->csr.halo ? poiseHaloReverse(A->csr.halo, e, out) : e;
}

PoiseErr poiseCsrDiagonal(PoiseMat A, int b, double *d)
{
  CsrDiagonalArgs m = {.b = b, .d = d};
  TRY(poiseCsrView(&A->csr, &m.A));
  return poiseLaunch(A->ctx->device, KERNEL_csr_diagonal, &m, sizeof m);
}

void poiseCsrDataBytes(PoiseMat A, PoiseBytes *sum)
{
  const CsrData *t = A->data;
  poiseBufferAdd(&t->ptr, sum);
  poiseBufferAdd(&t->perm, sum);
  poiseBufferAdd(&t->row, sum);
}

void poiseCsrDataDestroy(PoiseMat A)
{
  CsrData *t = A->data;
  poiseBufferDestroy(&t->ptr);
  poiseBufferDestroy(&t->perm);
  poiseBufferDestroy(&t->row);
}

const MatType poiseMatType_csr = {
    .name = "csr",
    .stored = true,
    .fuse = true,
    .size = sizeof(CsrData),
    .mult = Mult_CSR,
    .mult_transpose = poiseCsrMultTranspose,
    .diagonal = poiseCsrDiagonal,
    .bytes = poiseCsrDataBytes,
    .destroy = poiseCsrDataDestroy,
};

/* ---- host kernels --------------------------------------------------------------------------------------------------- */

PoiseErr poiseHost_csr_mult(Device *dev, const void *args)
{
  const CsrMultArgs *a = args;
  double alpha = poiseScalar(a->a), beta = poiseScalar(a->b);
  (void)dev;
  if (a->skip && *a->skip != 0) return POISE_OK;
  HOST_PARALLEL_FOR(dev, a->nblock)
  for (int64_t k = 0; k < a->nblock; k++) {
    int64_t begin = (a->order ? a->order[k] : k) * POISE_BLOCK; /* the host asks for no other number of rows */
    int64_t end = begin + POISE_BLOCK < a->A.m ? begin + POISE_BLOCK : a->A.m;
    if (a->ghost)
      poiseHostRows(a, alpha, beta, begin, end, true);
    else
      poiseHostRows(a, alpha, beta, begin, end, false);
    poiseHostFuse(&a->fuse, a->y, begin, end);
  }
  return POISE_OK;
}

PoiseErr poiseHost_csr_mult_transpose(Device *dev, const void *args)
{
  const CsrMultTransposeArgs *a = args;
  int64_t nblock = POISE_NBLOCKS(a->ncol);
  (void)dev;
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t b = 0; b < nblock; b++)
    for (int64_t j = b * POISE_BLOCK; j < (b + 1) * POISE_BLOCK && j < a->ncol; j++) {
      double s = 0;
      for (int64_t k = a->tptr[j]; k < a->tptr[j + 1]; k++)
        s += a->x ? a->val[a->perm[k]] * a->x[a->row[k]] : fabs(a->val[a->perm[k]]);
      if (j < a->nloc)
        a->y[j] = s;
      else
        a->ghost[j - a->nloc] = s;
    }
  return POISE_OK;
}

PoiseErr poiseHost_csr_diagonal(Device *dev, const void *args)
{
  const CsrDiagonalArgs *a = args;
  int64_t nblock = POISE_NBLOCKS(a->A.m);
  int b = a->b;
  (void)dev;
  if (a->A.m) memset(a->d, 0, (size_t)a->A.m * (size_t)b * sizeof(double));
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t block = 0; block < nblock; block++)
    for (int64_t i = block * POISE_BLOCK; i < (block + 1) * POISE_BLOCK && i < a->A.m; i++) {
      int64_t first = i - i % b; /* of the diagonal block */
      for (int64_t k = poiseCsrOffset(&a->A, i); k < poiseCsrOffset(&a->A, i + 1); k++) {
        int64_t j = a->A.col[k] - first;
        if (j >= 0 && j < b) a->d[first * b + j * b + i % b] = a->A.val[k];
      }
    }
  return POISE_OK;
}
