/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Form transposed: products through an index of the entries, whose values stay in their order. For A^T x the
  index has them by column; matrices of triplets have one by row (pcoo.c).
*/
#include "transposed.h"
#include "mat/object/mat.h"

/* A view of the columns as rows, without values. */
static PoiseErr ColumnsView(const IndexedProduct *p, CsrView *T)
{
  Transposed *t = p->index;
  *T = (CsrView){.b = p->b, .m = p->n, .nloc = p->m, .nz = p->nz};
  TRY(poiseBufferRead(&t->ptr, DEVICE, t->wide ? (void *)&T->ptr64 : (void *)&T->ptr32));
  return poiseBufferRead(&t->row, DEVICE, &T->col);
}

/* Divide columns as csri divides rows, if there is work for several threads. A GPU sums columns of a usual
   length as fast without blocks. It needs them only for the fragments of long columns. */
PoiseErr poiseIndexedCut(Device *dev, const IndexedProduct *p)
{
  RowBlocks *w = p->blocks;
  CsrView T;
  TRY(ColumnsView(p, &T));
  int64_t chunk = poiseColumnsChunk(&dev->model, T.b, T.m, T.nz);
  if (!chunk) return POISE_OK;
  TRY(poiseRowBlocksCutRows(dev, &T, w,
                            (RowBlocksCut){chunk, chunk, poiseColumnsFragment(chunk, T.nz), false}));
  if (poiseModelIsGpu(&dev->model) && !w->nfragment) poiseRowBlocksDestroy(w);
  return POISE_OK;
}

PoiseErr poiseIndexedArguments(const IndexedProduct *p, Buffer *val, CsrMultTransposeArgs *a)
{
  Transposed *t = p->index;
  CsrMultArgs *m = &a->c.m;
  TRY(ColumnsView(p, &m->A));
  TRY(poiseBufferRead(&t->from, DEVICE, t->wide ? (void *)&a->perm64 : (void *)&a->perm32));
  TRY(poiseBufferRead(val, DEVICE, &m->A.val));
  m->rows = p->b ? POISE_BLOCK / p->b : POISE_BLOCK;
  m->nblock = p->blocks->n ? p->blocks->n : (m->A.m + m->rows - 1) / m->rows;
  if (p->blocks->n) TRY(poiseRowBlocksArguments(p->blocks, &a->c));
  a->c.nfragment = p->blocks->nfragment;
  a->owned = p->owned;
  return POISE_OK;
}

PoiseErr poiseIndexedWide(const IndexedProduct *p, int k, CsrMultTransposeArgs *a)
{
  if (k <= 1) return POISE_OK;
  a->wide = k;
  return p->blocks->nfragment ? poiseRowBlocksWideSums(p->blocks, &a->c.sum) : POISE_OK;
}

static IndexedProduct ByColumn(Product *p)
{
  const Csr *c = &p->A->csr;
  return (IndexedProduct){.b = c->b,
                          .n = c->nloc + c->nghost,
                          .owned = c->nloc,
                          .m = c->m,
                          .nz = c->nz,
                          .index = &p->index,
                          .blocks = &p->w};
}

/* ---- the form -------------------------------------------------------------------------------- */

/* All arguments but vectors. */
static PoiseErr Arguments(Product *p, CsrMultTransposeArgs *a)
{
  const IndexedProduct i = ByColumn(p);
  return poiseIndexedArguments(&i, &p->A->csr.val, a);
}

static PoiseErr Make_Transposed(Product *p)
{
  const IndexedProduct i = ByColumn(p);
  TRY(poiseTransposedCreate(p->A, &p->index));
  return poiseIndexedCut(p->A->ctx->device, &i);
}

/* All that launches read is on the device then, so that they allocate nothing. */
static PoiseErr Ready_Transposed(Product *p)
{
  return Arguments(p, &(CsrMultTransposeArgs){0});
}

/* y = A^T x, with what other ranks' columns get in the halo's ghosts. Reads 16 bytes per nonzero: value, its
   place, and row. */
static PoiseErr Launch_Transposed(Product *p, ProductPart part, const ProductArgs *a)
{
  Csr *c = &p->A->csr;
  Device *dev = p->A->ctx->device;
  const IndexedProduct i = ByColumn(p);
  CsrMultTransposeArgs m = {.c.m.x = a->x, .c.m.y = a->y};
  (void)part; /* never divided */
  TRY(Arguments(p, &m));
  TRY(poiseIndexedWide(&i, a->columns, &m));
  if (c->halo) TRY(poiseHaloGhostWrite(poiseHaloOf(c->halo, a->columns), &m.ghost));
  return c->b ? LAUNCH(dev, bcsr_mult_transpose, &m) : LAUNCH(dev, csr_mult_transpose, &m);
}

const ProductForm poiseForm_transposed = {
    .name = "transposed",
    .fuses = true, /* never asked to */
    .make = Make_Transposed,
    .ready = Ready_Transposed,
    .launch = Launch_Transposed,
    .launch_columns = Launch_Transposed,
};

PoiseErr poiseTransposedReady(PoiseMat A)
{
  return poiseProductReady(&A->transposed);
}

/* Predict the transpose. A device makes it itself, and keeps blocks of columns only if one is long. */
void poiseTransposedPredict(PoiseMat A, const MatPlan *plan, PoisePrediction *p)
{
  const Device *dev = A->ctx->device;
  int64_t width = plan->nz > poiseContextHome(A->ctx)->hooks.most_narrow ? 8 : 4,
          m = plan->nloc + plan->nghost;
  int64_t chunk = plan->transpose ? poiseColumnsChunk(&dev->model, plan->b, m, plan->nz) : 0;
  bool gpu = poiseModelIsGpu(&dev->model);
  if (plan->transpose) poisePredict(dev, (m + 1) * width + plan->nz * (width + 4), ON_DEVICE, p);
  if (!chunk || (gpu && plan->m < chunk)) return;
  int64_t n = poiseRowBlocksOf(m, plan->nz, chunk);
  RowBlocksPlan w = {.n = {n, n}, .fragments = plan->m < chunk ? 0 : plan->nz / chunk};
  PoisePrediction row_blocks = {.beyond = NULL};
  MatPlan columns = *plan;
  poiseRowBlocksPredict(A, &w, &columns, &row_blocks);
  if (gpu) row_blocks.least = (PoiseBytes){0};
  poisePredictSum(&row_blocks, p);
}

/* ---- host kernels ---------------------------------------------------------------------------- */

enum { STRIP = 8 }; /* columns of a wide vector at once, whose sums are in registers */

/* The part of A^T x of entries [k, last) of a column. With x = NULL: the sum of their absolute values. */
POISE_INLINE double ColumnSum(const CsrMultTransposeArgs *a, const double *x, bool wide, int64_t k,
                              int64_t last)
{
  const CsrView *A = &a->c.m.A;
  double s = 0;
  for (; k < last; k++) {
    double v = A->val[wide ? a->perm64[k] : a->perm32[k]];
    s += x ? v * x[A->col[k]] : fabs(v);
  }
  return s;
}

POISE_INLINE void Columns(const CsrMultTransposeArgs *args, const double *x, bool wide, int64_t begin,
                          int64_t end)
{
  /* a local copy, so that stores to y cannot change it */
  const CsrMultTransposeArgs local = *args, *a = &local;
  const CsrView *A = &a->c.m.A;
  for (int64_t j = begin; j < end; j++)
    *(j < a->owned ? a->c.m.y + j : a->ghost + (j - a->owned)) =
        ColumnSum(a, x, wide, wide ? A->ptr64[j] : A->ptr32[j], wide ? A->ptr64[j + 1] : A->ptr32[j + 1]);
}

/* The part of A^T X of entries [k, last) of a column, for n of the columns of X, which begin at x. */
POISE_INLINE void StripSum(const CsrMultTransposeArgs *a, const double *x, int n, int64_t k, int64_t last,
                           double *out)
{
  const CsrView *A = &a->c.m.A;
  int64_t wide = a->wide;
  double s[STRIP] = {0};
  for (; k < last; k++) {
    double v = A->val[poisePermuted(a, k)];
    const double *row = x + A->col[k] * wide;
    for (int c = 0; c < n; c++) s[c] += v * row[c];
  }
  for (int c = 0; c < n; c++) out[c] = s[c];
}

static void WideSum(const CsrMultTransposeArgs *a, int64_t k, int64_t last, double *out)
{
  int c = 0, columns = (int)a->wide;
  for (; c + STRIP <= columns; c += STRIP) StripSum(a, a->c.m.x + c, STRIP, k, last, out + c);
  if (c < columns) StripSum(a, a->c.m.x + c, columns - c, k, last, out + c);
}

static void WideColumns(const CsrMultTransposeArgs *a, int64_t begin, int64_t end)
{
  for (int64_t j = begin; j < end; j++)
    WideSum(a, poiseCsrOffset(&a->c.m.A, j), poiseCsrOffset(&a->c.m.A, j + 1), poiseOfWideColumn(a, j));
}

static double FragmentOfColumn(const CsrMultTransposeArgs *a, const RowFragment *p)
{
  return ColumnSum(a, a->c.m.x, a->perm64 != NULL, p->first, p->first + p->nz);
}

static void WideFragment(const CsrMultTransposeArgs *a, int64_t p)
{
  const RowFragment *z = &a->c.part[p];
  WideSum(a, z->first, z->first + z->nz, a->c.sum + p * a->wide);
}

/* The sums of fragments, in their order. */
static void JoinWide(const CsrMultTransposeArgs *a)
{
  for (int64_t p = 0; p < a->c.nfragment;) {
    int64_t end = a->c.first[a->c.part[p].row_block + 1];
    double *y = poiseOfWideColumn(a, poiseCsriRow(&a->c, &a->c.part[p]));
    for (int64_t c = 0; c < a->wide; c++) y[c] = 0;
    for (; p < end; p++)
      for (int64_t c = 0; c < a->wide; c++) y[c] += a->c.sum[p * a->wide + c];
  }
}

static void ColumnBlock(const CsrMultTransposeArgs *a, int64_t b)
{
  const CsrMultArgs *m = &a->c.m;
  int64_t begin = b * m->rows, end = begin + m->rows < m->A.m ? begin + m->rows : m->A.m;
  if (a->c.row_block) begin = a->c.row_block[b].begin, end = begin + a->c.row_block[b].rows;
  if (a->wide > 1)
    WideColumns(a, begin, end);
  else if (!m->x)
    Columns(a, NULL, m->A.ptr64 != NULL, begin, end);
  else if (m->A.ptr64)
    Columns(a, m->x, true, begin, end);
  else
    Columns(a, m->x, false, begin, end);
}

PoiseErr poiseHost_csr_mult_transpose(Device *dev, const void *args)
{
  const CsrMultTransposeArgs *a = args;
  (void)dev;
  HOST_BLOCKS(dev, a->c.m.nblock, 1, b, ColumnBlock(a, b));
  if (a->wide > 1) {
    HOST_BLOCKS(dev, a->c.nfragment, 1, p, WideFragment(a, p));
    JoinWide(a);
    return POISE_OK;
  }
  HOST_BLOCKS(dev, a->c.nfragment, 1, p, a->c.sum[p] = FragmentOfColumn(a, &a->c.part[p]));
  for (int64_t p = 0; p < a->c.nfragment;) { /* in their order */
    int64_t end = a->c.first[a->c.part[p].row_block + 1];
    double s = 0, *y = poiseOfColumn(a, poiseCsriRow(&a->c, &a->c.part[p]));
    for (; p < end; p++) s += a->c.sum[p];
    *y = s;
  }
  return POISE_OK;
}
