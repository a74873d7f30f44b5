/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Type bcsr: dense blocks of one size, column-major, as entries of a CSR of blocks (Eberhardt & Hoemmen 2016): 8 + 4 / b^2 bytes per number
  where CSR reads 12, and the b numbers of x that belong to a block are read once for all its rows. Products, and the host's kernels.
*/
#include "../vec/vec_host.h"
#include "mat.h"

int poiseBcsrRows(PoiseContext ctx, int b, const CsrStatistics *s)
{
  const DeviceOps *ops = ctx->device->ops;
  return ops->bcsr_rows && s->m ? ops->bcsr_rows(ctx->device, b, s) : POISE_BLOCK / b;
}

/* ---- products ------------------------------------------------------------------------------------------------------- */

static PoiseErr Part_BCSR(PoiseMat A, PoiseVec x, PoiseVec y, CsrMultArgs *m, ProductPart part)
{
  if (part != REST) TRY(poiseCsrArguments(A, x, y, m));
  TRY(poiseCsrBlocks(A, part, m));
  return poiseLaunch(A->ctx->device, KERNEL_bcsr_mult, m, sizeof *m);
}

/* Reads 8 bytes per number, 4 per block and per offset, x and y once. Interior groups run while the ghosts travel. */
static PoiseErr Mult_BCSR(PoiseMat A, ScalarRef alpha, PoiseVec x, ScalarRef beta, PoiseVec y, const double *skip,
                          const Fuse *fuse)
{
  CsrMultArgs m = {.a = alpha, .b = beta, .skip = skip};
  if (fuse) m.fuse = *fuse;
  return poiseCsrProduct(A, x, y, &m, Part_BCSR);
}

const MatType poiseMatType_bcsr = {
    .name = "bcsr",
    .blocked = true,
    .fuse = true,
    .size = sizeof(CsrData),
    .mult = Mult_BCSR,
    .mult_transpose = poiseCsrMultTranspose,
    .diagonal = poiseCsrDiagonal,
    .bytes = poiseCsrDataBytes,
    .destroy = poiseCsrDataDestroy,
};

/* ---- host kernels --------------------------------------------------------------------------------------------------- */

enum { STRIP = 8, FEW = 4, SMALL = 4 }; /* rows of a block in registers at once, and columns; blocks whose terms all are */

POISE_INLINE const double *Factors(const CsrMultArgs *m, int64_t col, int64_t b)
{
  return col < m->A.nloc ? m->x + col * b : m->ghost + (col - m->A.nloc) * b;
}

/* sum += of n rows of `columns` columns of a block, from v on, times x. */
POISE_INLINE void AddStrip(int b, int n, int columns, const double *v, const double *x, double *sum)
{
  double s[STRIP];
  for (int r = 0; r < n; r++) s[r] = sum[r];
  for (int c = 0; c < columns; c++)
    for (int r = 0; r < n; r++) s[r] += v[c * b + r] * x[c];
  for (int r = 0; r < n; r++) sum[r] = s[r];
}

/* Memory wants the numbers in their order, so columns of a large block are taken a few at a time. */
POISE_INLINE void AddColumns(int b, int columns, const double *v, const double *x, double *sum)
{
  for (int first = 0; first + STRIP <= b; first += STRIP) AddStrip(b, STRIP, columns, v + first, x, sum + first);
  AddStrip(b, b % STRIP, columns, v + b / STRIP * STRIP, x, sum + b / STRIP * STRIP);
}

POISE_INLINE void Ahead(const double *v, int numbers)
{
  enum { BYTES = 2048, LINE = 64 };
  for (int at = 0; at < 8 * numbers; at += LINE) __builtin_prefetch((const void *)((uintptr_t)v + BYTES + (uintptr_t)at));
}

/* sum += of the block v times x; b is a constant where this is inlined. Terms of small blocks are kept apart, sum[c b + r], so that no
   addition waits for the one before it. */
POISE_INLINE void AddBlock(int b, const double *v, const double *x, double *sum)
{
  if (b <= STRIP) Ahead(v, b * b);
  if (b <= SMALL) {
    for (int c = 0; c < b; c++)
      for (int r = 0; r < b; r++) sum[c * b + r] += v[c * b + r] * x[c];
  } else if (b <= STRIP) {
    AddStrip(b, b, b, v, x, sum);
  } else {
    for (int c = 0; c + FEW <= b; c += FEW) {
      Ahead(v + c * b, FEW * b);
      AddColumns(b, FEW, v + c * b, x + c, sum);
    }
    AddColumns(b, b % FEW, v + b / FEW * FEW * b, x + b / FEW * FEW, sum);
  }
}

POISE_INLINE void BlockRows(int b, const CsrMultArgs *args, double alpha, double beta, int64_t begin, int64_t end)
{
  const CsrMultArgs local = *args, *m = &local; /* so that stores to y cannot change it */
  double *restrict y = m->y;
  int64_t k = poiseCsrOffset(&m->A, begin);
  for (int64_t i = begin; i < end; i++) {
    double sum[MAX_BLOCK_SIZE] = {0}; /* or all terms of a small block */
    for (int64_t last = poiseCsrOffset(&m->A, i + 1); k < last; k++) {
      const double *v = m->A.val + k * b * b;
      AddBlock(b, v, Factors(m, m->A.col[k], b), sum);
    }
    for (int r = 0; r < b; r++) {
      double s = sum[r], *to = y + i * b + r;
      for (int c = 1; b <= SMALL && c < b; c++) s += sum[c * b + r];
      *to = beta == 0 ? alpha * s : alpha * s + beta * *to;
    }
  }
}

/* Each size compiled by itself: 1 to MAX_BLOCK_SIZE. */
#define TO_8(X)  X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8)
#define TO_16(X) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16)
#define TO_24(X) X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24)
#define TO_32(X) X(25) X(26) X(27) X(28) X(29) X(30) X(31) X(32)
#define SIZES(X) TO_8(X) TO_16(X) TO_24(X) TO_32(X)

typedef void Rows(const CsrMultArgs *m, double alpha, double beta, int64_t begin, int64_t end);
#define ROWS(b)                                                                                    \
  static void Rows##b(const CsrMultArgs *m, double alpha, double beta, int64_t begin, int64_t end) \
  {                                                                                                \
    BlockRows(b, m, alpha, beta, begin, end);                                                      \
  }
SIZES(ROWS)
#define NAME(b) Rows##b,
static Rows *const rows_of[MAX_BLOCK_SIZE + 1] = {NULL, SIZES(NAME)};

PoiseErr poiseHost_bcsr_mult(Device *dev, const void *args)
{
  const CsrMultArgs *m = args;
  double alpha = poiseScalar(m->a), beta = poiseScalar(m->b);
  int64_t b = m->A.b;
  (void)dev;
  if (m->skip && *m->skip != 0) return POISE_OK;
  HOST_PARALLEL_FOR(dev, m->nblock)
  for (int64_t k = 0; k < m->nblock; k++) {
    int64_t group = m->order ? m->order[k] : k, begin = group * m->rows;
    int64_t end = begin + m->rows < m->A.m ? begin + m->rows : m->A.m;
    rows_of[b](m, alpha, beta, begin, end);
    poiseHostFuse(&m->fuse, m->y, begin * b, end * b, group);
  }
  return POISE_OK;
}

/* Of column j of blocks: its part of A^T x, or with x = NULL the sums of its |numbers|. */
static void Column(const CsrMultTransposeArgs *m, int64_t j, double *out)
{
  int64_t b = m->b;
  double sum[MAX_BLOCK_SIZE] = {0};
  int64_t k = m->tptr64 ? m->tptr64[j] : m->tptr32[j], last = m->tptr64 ? m->tptr64[j + 1] : m->tptr32[j + 1];
  for (; k < last; k++) {
    const double *v = m->val + (m->perm64 ? m->perm64[k] : m->perm32[k]) * b * b;
    for (int64_t c = 0; c < b; c++)
      for (int64_t r = 0; r < b; r++) sum[c] += m->x ? v[c * b + r] * m->x[m->row[k] * b + r] : fabs(v[c * b + r]);
  }
  memcpy(out, sum, (size_t)b * sizeof *sum);
}

PoiseErr poiseHost_bcsr_mult_transpose(Device *dev, const void *args)
{
  const CsrMultTransposeArgs *m = args;
  int64_t b = m->b, group = POISE_BLOCK / b, ngroup = (m->ncol + group - 1) / group;
  (void)dev;
  HOST_PARALLEL_FOR(dev, ngroup)
  for (int64_t g = 0; g < ngroup; g++)
    for (int64_t j = g * group; j < (g + 1) * group && j < m->ncol; j++)
      Column(m, j, j < m->nloc ? m->y + j * b : m->ghost + (j - m->nloc) * b);
  return POISE_OK;
}

PoiseErr poiseHost_bcsr_turn(Device *dev, const void *args)
{
  const BcsrTurnArgs *a = args;
  int64_t b = a->b, nblock = POISE_NBLOCKS(a->n);
  (void)dev;
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t g = 0; g < nblock; g++)
    for (int64_t k = g * POISE_BLOCK; k < (g + 1) * POISE_BLOCK && k < a->n; k++) {
      const double *x = a->x + (a->from32 ? a->from32[k] : a->from64 ? a->from64[k] : k) * b * b;
      double *out = a->out + k * b * b;
      for (int64_t c = 0; c < b; c++)
        for (int64_t r = 0; r < b; r++) out[c * b + r] = x[r * b + c];
    }
  return POISE_OK;
}
