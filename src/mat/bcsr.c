/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Type bcsr: dense blocks of one size, column-major, as entries of a CSR of blocks (Eberhardt & Hoemmen 2016).
  It reads 8 + 4 / b^2 bytes per scalar, where CSR reads 12. The b scalars of x that belong to a block are
  read once for all its rows. This file has the products and the host kernels.
*/
#include "bcsr_host.h"
#include "csr_rows.h"
#include "windows.h"

enum { BCSR_CHUNK = 8192 }; /* scalars of a row block on the host */

typedef struct BcsrData {
  CsrData csr;          /* first: of the transpose product */
  int asked;            /* BCSR_... */
  int64_t built, tried; /* c->built at the latest set-up, and at the latest attempt */
  int was_asked;        /* then */
  int form, rows;       /* the form chosen; block rows per group, unless balanced */
  Windows w;            /* unless the form is even groups, which are those of the CSR */
} BcsrData;

static const char *const forms[] = {"auto", "even", "balanced", "block", "column", "row"}; /* BCSR_... */

static const PoiseOption options[] = {
    {"mat_bcsr_kernel", POISE_OPTION_CHOICE, offsetof(BcsrData, asked), "auto", 0, 0, "auto|even|balanced|block|column|row",
     "SpMV of bcsr: groups of rows (even), row blocks with equally many blocks (balanced: for uneven "
     "rows), or on a GPU one of the paper's three"},
    {0},
};

int poiseBcsrRows(PoiseContext ctx, int b, const CsrStatistics *s)
{
  const DeviceOps *ops = ctx->device->ops;
  if (b == 1) return poiseCsrRows(ctx, s, false);
  return ops->bcsr_rows ? ops->bcsr_rows(ctx->device, b, BCSR_EVEN) : POISE_BLOCK / b;
}

/* ---- the form ------------------------------------------------------------------------------------------------------- */

/* Would groups of rows wait for their longest one? On a CPU this is decided by the busiest of some
   threads. A GPU processes groups faster (H200). So there many rows must be longer than the mean, or one
   row must take a tenth of the time by itself. */
static bool Uneven(PoiseMat A)
{
  const CsrStatistics *s = &A->csr.statistics;
  const Device *dev = A->ctx->device;
  const double busy = 1.1, groups = 2500;
  double mean = s->m ? (double)s->nz / (double)s->m : 0, squares = (double)s->nz * mean;
  if (!dev->ops->bcsr_rows)
    return A->csr.nblock > HOST_FEW_BLOCKS && (double)s->busiest > busy * mean * (double)poiseCsrShareOfRows(&A->csr);
  if ((double)s->longest <= 4 * mean) return false;
  return (double)s->squares - squares > squares || groups * (double)s->longest > (double)s->nz;
}

/* Rows per group in one of the paper's forms. */
static PoiseErr FormRows(Device *dev, int b, int form, int *rows)
{
  *rows = dev->ops->bcsr_rows ? dev->ops->bcsr_rows(dev, b, form) : 0;
  if (!*rows)
    FAIL(POISE_ERR_UNSUPPORTED, "device %s has no kernel '%s' for products of bcsr with blocks of %d x %d", dev->ops->name,
         forms[form], b, b);
  return POISE_OK;
}

static PoiseErr Choose(PoiseMat A, BcsrData *d)
{
  d->form = d->asked;
  if (d->form == BCSR_AUTO) d->form = Uneven(A) ? BCSR_BALANCED : BCSR_EVEN;
  d->rows = d->form == BCSR_EVEN ? A->csr.rows : POISE_BLOCK;
  return d->form > BCSR_BALANCED ? FormRows(A->ctx->device, A->csr.b, d->form, &d->rows) : POISE_OK;
}

static int64_t Chunk(const Device *dev, int64_t b, int64_t size)
{
  if (b == 1) return poiseCsriLimit(dev, size, NULL);
  return dev->ops->bcsr_chunk ? dev->ops->bcsr_chunk((int)b) : BCSR_CHUNK / (b * b);
}

static PoiseErr SetUp_BCSR(PoiseMat A)
{
  BcsrData *d = A->data;
  bool other = d->was_asked != d->asked;
  if (d->built == A->csr.built && !other) return POISE_OK;
  /* a captured loop has the old form; all ranks count alike */
  if (d->tried == A->csr.built && other) A->pattern++;
  d->tried = A->csr.built;
  poiseWindowsDestroy(&d->w);
  d->built = 0;
  d->was_asked = d->asked;
  TRY(Choose(A, d));
  if (d->form == BCSR_BALANCED) {
    int64_t chunk = Chunk(A->ctx->device, A->csr.b, A->csr.m + A->csr.nz);
    TRY(poiseWindowsCut(A, &d->w, (WindowsCut){chunk, chunk, 2 * chunk, false}));
  }
  if (d->form > BCSR_BALANCED) d->w.parts = (A->csr.m + d->rows - 1) / d->rows;
  if (A->csr.halo && d->form != BCSR_EVEN) TRY(poiseWindowsOrder(A, &d->w, d->rows));
  d->built = A->csr.built;
  return POISE_OK;
}

/* ---- products ------------------------------------------------------------------------------------------------------- */

static PoiseErr Arguments(PoiseMat A, BcsrMultArgs *a)
{
  BcsrData *d = A->data;
  TRY(SetUp_BCSR(A));
  a->form = d->form, a->c.m.rows = d->rows;
  return d->form == BCSR_BALANCED ? poiseWindowsArguments(&d->w, &a->c) : POISE_OK;
}

static PoiseErr Ready_BCSR(PoiseMat A)
{
  BcsrMultArgs a = {0};
  return Arguments(A, &a);
}

/* Blocks of 1 x 1 are a CSR, so they use its products, which are made for it. */
static PoiseErr Part_BCSR(PoiseMat A, PoiseVec x, PoiseVec y, CsrMultArgs *m, ProductPart part)
{
  BcsrMultArgs *a = (BcsrMultArgs *)m; /* begins with it */
  BcsrData *d = A->data;
  bool numbers = A->csr.b == 1;
  if (part != REST) TRY(Arguments(A, a));
  if (part != REST) TRY(poiseCsrArguments(A, x, y, m));
  if (d->form == BCSR_EVEN) {
    TRY(poiseCsrBlocks(A, part, m));
    return poiseLaunch(A->ctx->device, numbers ? KERNEL_csr_mult : KERNEL_bcsr_mult, m, numbers ? sizeof *m : sizeof *a);
  }
  numbers = numbers && d->form == BCSR_BALANCED;
  return poiseWindowsMult(A, &d->w, part, numbers ? KERNEL_csri_mult : KERNEL_bcsr_mult, &a->c,
                          numbers ? sizeof a->c : sizeof *a);
}

/* Traffic: 8 bytes per scalar, 4 per block and per offset, x and y once. Interior groups run while the
   ghosts travel. */
static PoiseErr Mult_BCSR(PoiseMat A, ScalarRef alpha, PoiseVec x, ScalarRef beta, PoiseVec y, const double *skip,
                          const Fuse *fuse)
{
  BcsrMultArgs a = {.c.m = {.a = alpha, .b = beta, .skip = skip}};
  if (fuse) a.c.m.fuse = *fuse;
  return poiseCsrProduct(A, x, y, &a.c.m, Part_BCSR);
}

static void Inherit_BCSR(const void *from, void *to)
{
  ((BcsrData *)to)->asked = ((const BcsrData *)from)->asked;
}

static int64_t Partials_BCSR(PoiseMat A)
{
  const BcsrData *d = A->data; /* from the latest set-up, see Ready_BCSR */
  return d->form == BCSR_EVEN ? A->csr.nblock : poiseWindowsPartials(&d->w);
}

static PoiseErr View_BCSR(PoiseMat A)
{
  const BcsrData *d = A->data;
  if (!A->assembled || !d->built) return POISE_OK;
  if (A->share > 0) TRY(PoisePrintf(A->ctx, "    auto: bcsr, as blocks take %.2f of the bytes of csr\n", A->share));
  if (d->form == BCSR_EVEN) return PoisePrintf(A->ctx, "    bcsr: groups of %d rows of blocks\n", d->rows);
  if (d->form > BCSR_BALANCED) return PoisePrintf(A->ctx, "    bcsr: kernel %s\n", forms[d->form]);
  return PoisePrintf(A->ctx, "    bcsr: windows of %lld rows and blocks, longer rows in pieces (of rank 0: %lld, %lld)\n",
                     (long long)d->w.limit, (long long)d->w.n, (long long)d->w.npiece);
}

static void Bytes_BCSR(PoiseMat A, PoiseBytes *sum)
{
  poiseCsrDataBytes(A, sum);
  poiseWindowsBytes(&((const BcsrData *)A->data)->w, sum);
}

/* Could Uneven be true? Not for few blocks on a CPU. */
static bool MayBeUneven(const Device *dev, const MatPlan *plan)
{
  return dev->ops->bcsr_rows || plan->nblock[1] > HOST_FEW_BLOCKS;
}

static PoiseErr PredictGroups(PoiseMat A, int form, MatPlan *plan, PoisePrediction *p)
{
  int rows;
  TRY(FormRows(A->ctx->device, plan->b, form, &rows));
  int64_t parts = (plan->m + rows - 1) / rows;
  if (PoiseSize(A->ctx) > 1) poisePredict(A->ctx->device, 4 * parts, ON_BOTH, p);
  plan->partials[0] = plan->partials[1] = parts;
  return POISE_OK;
}

static PoiseErr Predict_BCSR(PoiseMat A, const void *data, MatPlan *plan, PoisePrediction *p)
{
  const Device *dev = A->ctx->device;
  int form = ((const BcsrData *)data)->asked;
  poiseCsrDataPredict(A, plan, p);
  if (form == BCSR_AUTO && !MayBeUneven(dev, plan)) form = BCSR_EVEN;
  if (form == BCSR_EVEN) return POISE_OK; /* whose groups are those of the CSR */
  if (form > BCSR_BALANCED) return PredictGroups(A, form, plan, p);
  PoisePrediction even = *p;
  const int64_t groups[] = {plan->nblock[0], plan->nblock[1]};
  const int64_t chunk = Chunk(dev, plan->b, plan->m + plan->nz);
  poiseWindowsPredictCut(A, (const int64_t[]){chunk, chunk}, chunk, false, plan, p);
  if (form == BCSR_BALANCED) return POISE_OK;
  poisePredictEither(&even, p);
  poisePlanEither(groups, plan->partials);
  return POISE_OK;
}

static void Destroy_BCSR(PoiseMat A)
{
  poiseCsrDataDestroy(A);
  poiseWindowsDestroy(&((BcsrData *)A->data)->w);
}

const MatType poiseMatType_bcsr = {
    .name = "bcsr",
    .blocked = true,
    .fuse = true,
    .size = sizeof(BcsrData),
    .options = options,
    .inherit = Inherit_BCSR,
    .setup = SetUp_BCSR,
    .ready = Ready_BCSR,
    .partials = Partials_BCSR,
    .mult = Mult_BCSR,
    .mult_transpose = poiseCsrMultTranspose,
    .diagonal = poiseCsrDiagonal,
    .view = View_BCSR,
    .bytes = Bytes_BCSR,
    .predict = Predict_BCSR,
    .destroy = Destroy_BCSR,
};

/* ---- host kernels --------------------------------------------------------------------------------------------------- */

POISE_INLINE const double *Factors(const CsrMultArgs *m, int64_t col, int64_t b)
{
  return col < m->A.nloc ? m->x + col * b : m->ghost + (col - m->A.nloc) * b;
}

enum { AHEAD = 256 }; /* distance of prefetching, in scalars */

/* sum[r] += the product of the blocks [k, last) in row r. */
POISE_INLINE void AddBlocks(int b, const CsrMultArgs *m, int64_t k, int64_t last, double *sum)
{
  double term[MAX_BLOCK_SIZE] = {0}; /* holds all terms of a small block */
  for (; k < last; k++) poiseAddBlock(b, m->A.val + k * b * b, AHEAD, Factors(m, m->A.col[k], b), term);
  for (int r = 0; r < b; r++) sum[r] = poiseBlockSum(b, term, r);
}

POISE_INLINE void BlockRows(int b, const CsrMultArgs *args, double alpha, double beta, int64_t begin, int64_t end)
{
  const CsrMultArgs local = *args, *m = &local; /* a local copy, so that stores to y cannot change it */
  double *restrict y = m->y;
  int64_t k = poiseCsrOffset(&m->A, begin);
  for (int64_t i = begin; i < end; i++) {
    int64_t last = poiseCsrOffset(&m->A, i + 1);
    double sum[MAX_BLOCK_SIZE];
    AddBlocks(b, m, k, last, sum);
    for (int r = 0; r < b; r++) y[i * b + r] = poiseHostUpdate(alpha, sum[r], beta, y[i * b + r]);
    k = last;
  }
}

typedef struct {
  void (*rows)(const CsrMultArgs *m, double alpha, double beta, int64_t begin, int64_t end);
  void (*piece)(const CsrMultArgs *m, int64_t k, int64_t last, double *sum);
} OfSize;
#define OF_SIZE(b)                                                                                 \
  static void Rows##b(const CsrMultArgs *m, double alpha, double beta, int64_t begin, int64_t end) \
  {                                                                                                \
    BlockRows(b, m, alpha, beta, begin, end);                                                      \
  }                                                                                                \
  static void Piece##b(const CsrMultArgs *m, int64_t k, int64_t last, double *sum)                 \
  {                                                                                                \
    AddBlocks(b, m, k, last, sum);                                                                 \
  }
POISE_BLOCK_SIZES(OF_SIZE)
#define BOTH(b) {Rows##b, Piece##b},
static const OfSize of_size[MAX_BLOCK_SIZE + 1] = {{0}, POISE_BLOCK_SIZES(BOTH)};

/* Finish split rows: add the sums of their segments in order. */
static void Join(const CsriMultArgs *a, double alpha, double beta)
{
  int64_t b = a->m.A.b;
  for (int64_t p = 0; p < a->npiece;) {
    int64_t row = poiseCsriRow(a, &a->part[p]), end = a->first[a->part[p].window + 1];
    double s[MAX_BLOCK_SIZE] = {0}, *y = a->m.y + row * b;
    for (; p < end; p++) {
      for (int64_t r = 0; r < b; r++) s[r] += a->sum[p * b + r];
      /* 0 for all but the last segment */
      for (int f = 0; f < a->m.fuse.ndot; f++) a->m.fuse.partial[f][a->parts + p] = 0;
    }
    for (int64_t r = 0; r < b; r++) y[r] = poiseHostUpdate(alpha, s[r], beta, y[r]);
    poiseHostFuse(&a->m.fuse, a->m.y, row * b, (row + 1) * b, a->parts + p - 1);
  }
}

PoiseErr poiseHost_bcsr_mult(Device *dev, const void *args)
{
  const BcsrMultArgs *balanced = args;
  const CsriMultArgs *a = &balanced->c;
  const CsrMultArgs *m = &a->m;
  double alpha = poiseScalar(m->a), beta = poiseScalar(m->b);
  int64_t b = m->A.b;
  const OfSize *size = &of_size[b];
  (void)dev;
  if (m->skip && *m->skip != 0) return POISE_OK;
  HOST_PARALLEL_FOR(dev, m->nblock)
  for (int64_t k = 0; k < m->nblock; k++) {
    int64_t group = m->order ? m->order[k] : k, begin = group * m->rows;
    int64_t end = begin + m->rows < m->A.m ? begin + m->rows : m->A.m;
    if (balanced->form == BCSR_BALANCED) begin = a->window[group].begin, end = begin + a->window[group].rows;
    size->rows(m, alpha, beta, begin, end);
    poiseHostFuse(&m->fuse, m->y, begin * b, end * b, group);
  }
  if (balanced->form != BCSR_BALANCED) return POISE_OK;
  HOST_PARALLEL_FOR(dev, a->npiece)
  for (int64_t p = 0; p < a->npiece; p++)
    size->piece(m, a->part[p].first, a->part[p].first + a->part[p].nz, a->sum + p * b);
  Join(a, alpha, beta);
  return POISE_OK;
}

/* The part of A^T x of entries [k, last) of a block column. With x = NULL: the sums of their absolute
   values. */
static void ColumnSum(const CsrMultTransposeArgs *a, int64_t k, int64_t last, double *out)
{
  const CsrMultArgs *m = &a->c.m;
  int64_t b = m->A.b;
  double sum[MAX_BLOCK_SIZE] = {0};
  for (; k < last; k++) {
    const double *v = m->A.val + poisePermuted(a, k) * b * b;
    for (int64_t c = 0; c < b; c++)
      for (int64_t r = 0; r < b; r++) sum[c] += m->x ? v[c * b + r] * m->x[m->A.col[k] * b + r] : fabs(v[c * b + r]);
  }
  memcpy(out, sum, (size_t)b * sizeof *sum);
}

PoiseErr poiseHost_bcsr_mult_transpose(Device *dev, const void *args)
{
  const CsrMultTransposeArgs *a = args;
  const CsrMultArgs *m = &a->c.m;
  int64_t b = m->A.b;
  (void)dev;
  HOST_PARALLEL_FOR(dev, m->nblock)
  for (int64_t g = 0; g < m->nblock; g++) {
    int64_t begin = g * m->rows, end = begin + m->rows < m->A.m ? begin + m->rows : m->A.m;
    if (a->c.window) begin = a->c.window[g].begin, end = begin + a->c.window[g].rows;
    for (int64_t j = begin; j < end; j++)
      ColumnSum(a, poiseCsrOffset(&m->A, j), poiseCsrOffset(&m->A, j + 1), poiseOfColumn(a, j * b));
  }
  HOST_PARALLEL_FOR(dev, a->c.npiece)
  for (int64_t p = 0; p < a->c.npiece; p++) {
    const CsriPiece *z = &a->c.part[p];
    ColumnSum(a, z->first, z->first + z->nz, a->c.sum + p * b);
  }
  for (int64_t p = 0; p < a->c.npiece;) { /* in their order */
    int64_t end = a->c.first[a->c.part[p].window + 1];
    double *y = poiseOfColumn(a, poiseCsriRow(&a->c, &a->c.part[p]) * b);
    memset(y, 0, (size_t)b * sizeof *y);
    for (; p < end; p++)
      for (int64_t c = 0; c < b; c++) y[c] += a->c.sum[p * b + c];
  }
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
      int64_t from = a->from32 ? a->from32[k] : a->from64 ? a->from64[k] : k;
      poiseTurnBlock(b, a->x + from * b * b, a->out + k * b * b);
    }
  return POISE_OK;
}
