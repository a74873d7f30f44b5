/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Sparse factors by SuperLU: J. W. Demmel, S. C. Eisenstat, J. R. Gilbert, X. S. Li, J. W. H. Liu, A
  supernodal approach to sparse partial pivoting, SIAM J. Matrix Anal. Appl. 20, 1999.

  Several orders of the columns are made, and that with the fewest flops is taken. COLAMD's suits any row
  exchanges. If nearly all pivots can be taken from the diagonal, orders of A + A^T mostly fill less: minimum
  degree, and nested dissection. An order is made where the factors by those before take much longer.
*/
#include <limits.h>
#include <slu_ddefs.h>

#include "mat/order/graph.h"
#include "lu.h"

struct SparseFactors {
  int n;
  int *ptr, *row; /* A by columns, scaled */
  double *val;
  int *to_row, *to_column, *tree; /* its permutations and elimination tree */
  double *row_scale, *column_scale;
  char scaled[4]; /* N, R, C or B: which scales are in use */
  bool ordered;   /* to_column is an order for the pattern, and for such a diagonal */
  bool refined;   /* all orders that are worth it have been weighed */
  bool diagonal;  /* see HasPivots */
  bool symmetric; /* to rounding, without zeros on its diagonal */
  bool definite;  /* all pivots must be from the diagonal, and positive */
  LUOrder order;
  Foreseen foreseen;
  superlu_options_t options;
  SuperMatrix L, U;
  bool factored;
  GlobalLU_t glu;
};

bool poiseSuperLUIsThere(void)
{
  return true;
}

static void ReleaseFactors(SparseFactors *f)
{
  if (!f->factored) return;
  Destroy_SuperNode_Matrix(&f->L);
  Destroy_CompCol_Matrix(&f->U);
  f->factored = false;
}

int64_t poiseSuperLUBytes(const SparseFactors *f)
{
  if (!f) return 0;
  const void *all[] = {f->ptr,       f->row,  f->val,       f->to_row,
                       f->to_column, f->tree, f->row_scale, f->column_scale};
  int64_t sum = 0;
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) sum += poiseAllocated(all[k]);
  return sum;
}

void poiseSuperLUDestroy(PoiseContext ctx, SparseFactors **factors)
{
  SparseFactors *f = *factors;
  if (!f) return;
  ReleaseFactors(f);
  void *all[] = {&f->ptr,       &f->row,  &f->val,       &f->to_row,
                 &f->to_column, &f->tree, &f->row_scale, &f->column_scale};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) poiseFree(ctx, all[k]);
  poiseFree(ctx, factors);
}

static PoiseErr Refused(int info)
{
  FAIL(POISE_ERR_INTERNAL, "SuperLU refuses argument %d", -info);
}

static PoiseErr Allocate(PoiseContext ctx, int64_t n, SparseFactors **factors)
{
  SparseFactors *f;
  TRY(poiseAllocArray(ctx, 1, sizeof *f, "sparse factors", factors));
  f = *factors;
  f->n = (int)n;
  TRY(poiseAllocArray(ctx, n, sizeof(int), "rows' order", &f->to_row));
  TRY(poiseAllocArray(ctx, n, sizeof(int), "columns' order", &f->to_column));
  TRY(poiseAllocArray(ctx, n, sizeof(int), "elimination tree", &f->tree));
  TRY(poiseAllocArray(ctx, n, sizeof(double), "scales of rows", &f->row_scale));
  return poiseAllocArray(ctx, n, sizeof(double), "scales of columns", &f->column_scale);
}

static bool HasPattern(const SparseFactors *f, int64_t n, const int *ptr, const int *row)
{
  return f && f->n == n && f->ordered && !memcmp(f->ptr, ptr, (size_t)(n + 1) * sizeof *ptr) &&
         !memcmp(f->row, row, (size_t)ptr[n] * sizeof *row);
}

/* Take A over, as new values of the pattern, or anew. */
static PoiseErr Take(PoiseContext ctx, int64_t n, int **ptr, int **row, double **val, SparseFactors **factors)
{
  bool same = HasPattern(*factors, n, *ptr, *row);
  if (!same) poiseSuperLUDestroy(ctx, factors);
  PoiseErr e = same ? POISE_OK : Allocate(ctx, n, factors);
  SparseFactors *f = *factors;
  if (!f) {
    poiseFree(ctx, ptr), poiseFree(ctx, row), poiseFree(ctx, val);
    return e;
  }
  poiseFree(ctx, &f->ptr), poiseFree(ctx, &f->row), poiseFree(ctx, &f->val);
  f->ptr = *ptr, f->row = *row, f->val = *val;
  *ptr = *row = NULL, *val = NULL;
  if (e) return e;
  ReleaseFactors(f);
  return POISE_OK;
}

/* ---- scales ---------------------------------------------------------------------------------- */

/* S A S, whose diagonal is 1 or -1. It stays symmetric. If it is definite no entry is larger, so that pivots
   come from the diagonal. */
static void ScaleDiagonal(SparseFactors *f)
{
  double *s = f->row_scale;
  for (int j = 0; j < f->n; j++)
    for (int k = f->ptr[j]; k < f->ptr[j + 1]; k++)
      if (f->row[k] == j) s[j] = f->column_scale[j] = 1 / sqrt(fabs(f->val[k]));
  for (int j = 0; j < f->n; j++)
    for (int k = f->ptr[j]; k < f->ptr[j + 1]; k++) f->val[k] *= s[f->row[k]] * s[j];
  *f->scaled = 'B';
}

/* R A C, where the sizes of rows or columns differ much. *singular: a row or column is 0. */
static PoiseErr Scale(PoiseContext ctx, SparseFactors *f, SuperMatrix *A, Singular *singular)
{
  double rows, columns, largest;
  int info;
  HostMatrix entries = {f->n, f->ptr, f->row, f->val};
  TRY(poiseLUIsSymmetric(ctx, &entries, &f->symmetric));
  if (f->definite) *singular = poiseLUCheckDefinite(&entries, f->symmetric);
  if (singular->what) return POISE_OK;
  dgsequ(A, f->row_scale, f->column_scale, &rows, &columns, &largest, &info);
  if (info < 0) return Refused(info);
  if (info > 0) *singular = (Singular){info <= f->n ? SINGULAR_ROW : SINGULAR_COLUMN, (info - 1) % f->n, 0};
  if (info == 0 && f->symmetric) ScaleDiagonal(f);
  if (info == 0 && !f->symmetric) dlaqgs(A, f->row_scale, f->column_scale, rows, columns, largest, f->scaled);
  return POISE_OK;
}

/* ---- order ----------------------------------------------------------------------------------- */

static const double threshold = 0.01; /* of the largest entry in its column: a diagonal one is a pivot */

/* Are pivots taken from the diagonal, but for one in ten? If more rows are exchanged, an order of A + A^T may
   fill far more than was foreseen. A is scaled. */
static bool HasPivots(const SparseFactors *f)
{
  int64_t small = 0;
  for (int j = 0; j < f->n; j++) {
    double diagonal = 0, largest = 0;
    for (int k = f->ptr[j]; k < f->ptr[j + 1]; k++) {
      double size = fabs(f->val[k]);
      if (f->row[k] == j) diagonal = size;
      if (size > largest) largest = size;
    }
    small += !(diagonal > 0 && diagonal >= threshold * largest);
  }
  return 10 * small <= f->n;
}

/* What a flop of an order costs. Where rows are exchanged at will, factors have about the entries of those
   without exchanges, but never more than their bound. Flops may be twice those. */
static double Price(const SparseFactors *f, LUOrder order)
{
  return order == LU_BY_COLUMNS && !f->definite ? 2 : 1;
}

/* Take an order if it makes fewer flops than that before. */
static PoiseErr Weigh(PoiseContext ctx, SparseFactors *f, LUOrder order, const int *to)
{
  Pattern A = {f->n, f->ptr, f->row};
  Foreseen with, bound;
  TRY(poiseForesee(ctx, &A, to, false, &with));
  if (order == LU_BY_COLUMNS && !f->definite) {
    TRY(poiseForesee(ctx, &A, to, true, &bound));
    if (bound.flops < with.flops) with = bound;
  }
  if (f->ordered && Price(f, f->order) * f->foreseen.flops <= Price(f, order) * with.flops) return POISE_OK;
  memcpy(f->to_column, to, (size_t)f->n * sizeof *to);
  f->ordered = true, f->order = order, f->foreseen = with;
  return POISE_OK;
}

/* The order of A itself, if its entries are so close to the diagonal that another one could not have half
   the entries. */
static PoiseErr Stay(PoiseContext ctx, SparseFactors *f, int *to)
{
  int64_t envelope = 0;
  for (int j = 0; j < f->n; j++) {
    int first = f->ptr[j] < f->ptr[j + 1] && f->row[f->ptr[j]] < j ? f->row[f->ptr[j]] : j;
    int last = f->ptr[j] < f->ptr[j + 1] && f->row[f->ptr[j + 1] - 1] > j ? f->row[f->ptr[j + 1] - 1] : j;
    envelope += last - first + 1;
    to[j] = j;
  }
  return envelope <= 2 * (int64_t)f->ptr[f->n] ? Weigh(ctx, f, LU_AS_IT_IS, to) : POISE_OK;
}

static PoiseErr PatternOf(PoiseContext ctx, const SparseFactors *f, Adjacency *pattern)
{
  int64_t nz = f->ptr[f->n];
  pattern->n = f->n;
  TRY(poiseAllocArray(ctx, f->n + 1, sizeof *pattern->start, "graph", &pattern->start));
  TRY(poiseAllocArray(ctx, nz, sizeof *pattern->adj, "graph", &pattern->adj));
  for (int64_t j = 0; j <= f->n; j++) pattern->start[j] = f->ptr[j];
  for (int64_t k = 0; k < nz; k++) pattern->adj[k] = f->row[k];
  return POISE_OK;
}

/* Minimum degree of A + A^T: by AMD, which takes half the time, or else SuperLU's own. */
static PoiseErr ByDegree(PoiseContext ctx, const SparseFactors *f, SuperMatrix *A, int *to)
{
  Adjacency pattern = {0};
  int32_t *order = NULL;
  if (!poiseAmdIsThere()) {
    get_perm_c(MMD_AT_PLUS_A, A, to);
    return POISE_OK;
  }
  PoiseErr e = PatternOf(ctx, f, &pattern);
  if (!e) e = poiseAllocArray(ctx, f->n, sizeof *order, "an order", &order);
  if (!e) e = poiseAmd(ctx, &pattern, order);
  for (int k = 0; !e && k < f->n; k++) to[order[k]] = k;
  poiseFree(ctx, &order);
  poiseGraphDestroy(ctx, &pattern);
  return e;
}

/* The nested dissection of A + A^T. */
static PoiseErr Dissect(PoiseContext ctx, const SparseFactors *f, int *to)
{
  Adjacency pattern = {0}, graph = {0};
  PoiseErr e = PatternOf(ctx, f, &pattern);
  if (!e) e = poiseGraphSymmetric(ctx, &pattern, &graph);
  if (!e) e = poiseMetisOrder(ctx, &graph, to);
  poiseGraphDestroy(ctx, &pattern);
  poiseGraphDestroy(ctx, &graph);
  return e;
}

/* Do the factors take much longer than an order with so many steps an entry of A? */
static bool IsWorth(const SparseFactors *f, double steps)
{
  return f->foreseen.flops > 2 * steps * f->ptr[f->n];
}

/* An order for such pivots, which takes less time than any factors: those of A + A^T suit pivots from the
   diagonal. */
static PoiseErr MakeOrder(PoiseContext ctx, SparseFactors *f, SuperMatrix *A, int *to)
{
  if (f->diagonal) TRY(Stay(ctx, f, to));
  if (f->ordered) return POISE_OK;
  if (f->diagonal)
    TRY(ByDegree(ctx, f, A, to));
  else
    get_perm_c(COLAMD, A, to);
  return Weigh(ctx, f, f->diagonal ? LU_BY_DEGREE : LU_BY_COLUMNS, to);
}

/* Others, where factors take longer than they do: COLAMD 500 steps an entry, a dissection 1000. That of
   columns may be better for all but a symmetric A. */
static PoiseErr MakeOthers(PoiseContext ctx, SparseFactors *f, SuperMatrix *A, int *to)
{
  if (!f->diagonal) return POISE_OK;
  if (!f->symmetric && IsWorth(f, 500)) {
    get_perm_c(COLAMD, A, to);
    TRY(Weigh(ctx, f, LU_BY_COLUMNS, to));
  }
  if (!IsWorth(f, 1000) || !poiseMetisIsThere()) return POISE_OK;
  TRY(Dissect(ctx, f, to));
  return Weigh(ctx, f, LU_BY_DISSECTION, to);
}

static PoiseErr Try(PoiseContext ctx, SparseFactors *f, SuperMatrix *A,
                    PoiseErr (*make)(PoiseContext, SparseFactors *, SuperMatrix *, int *))
{
  int *to;
  TRY(poiseAllocArray(ctx, f->n, sizeof *to, "an order of columns", &to));
  PoiseErr e = make(ctx, f, A, to);
  if (e) f->ordered = f->refined = false;
  poiseFree(ctx, &to);
  return e;
}

/* Order the columns, unless there is an order for the pattern. only: the factors are not made now. */
static PoiseErr Order(PoiseContext ctx, SparseFactors *f, SuperMatrix *A, bool only)
{
  bool diagonal = f->definite || HasPivots(f);
  if (!f->ordered || f->diagonal != diagonal) {
    f->ordered = f->refined = false, f->diagonal = diagonal;
    TRY(Try(ctx, f, A, MakeOrder));
  }
  if (only || f->refined) return POISE_OK;
  TRY(Try(ctx, f, A, MakeOthers));
  f->refined = true;
  set_default_options(&f->options);
  f->options.PrintStat = NO;
  if (f->order == LU_BY_COLUMNS && !f->definite) return POISE_OK;
  f->options.SymmetricMode = YES;
  f->options.DiagPivotThresh = f->definite ? 0 : threshold;
  return POISE_OK;
}

/* Values and places of rows take up to 12 bytes an entry. */
static PoiseErr CheckMemory(PoiseContext ctx, const SparseFactors *f)
{
  double bytes = 12 * f->foreseen.entries;
  int64_t left, total;
  char words[2][24];
  poiseHostMemory(&left, &total);
  if (ctx->device->ops->is_host && ctx->device->limit) left = ctx->device->limit - ctx->device->bytes;
  if (f->foreseen.entries > INT_MAX)
    FAIL(POISE_ERR_UNSUPPORTED, "the factors of %d rows have about %.3g entries, and SuperLU fewer than 2^31",
         f->n, f->foreseen.entries);
  if (bytes <= (double)left) return POISE_OK;
  poiseBytesText(bytes, words[0]);
  poiseBytesText((double)left, words[1]);
  FAIL(POISE_ERR_MEMORY, "the factors of %d rows have about %.3g entries, which take %s, and %s are free",
       f->n, f->foreseen.entries, words[0], words[1]);
}

/* ---- factors --------------------------------------------------------------------------------- */

static PoiseErr Eliminate(SparseFactors *f, SuperMatrix *A, SuperLUStat_t *statistics, Singular *singular)
{
  SuperMatrix ordered;
  int info, panel = sp_ienv(1), relaxed = sp_ienv(2);
  sp_preorder(&f->options, A, f->to_column, f->tree, &ordered);
  f->options.Fact = SamePattern; /* from now on: the tree is known */
  dgstrf(&f->options, &ordered, relaxed, panel, f->tree, NULL, 0, f->to_column, f->to_row, &f->L, &f->U,
         &f->glu, statistics, &info);
  Destroy_CompCol_Permuted(&ordered);
  if (info < 0) return Refused(info);
  if (info > f->n) FAIL(POISE_ERR_MEMORY, "SuperLU had %lld bytes for its factors", (long long)info - f->n);
  f->factored = true;
  for (int j = 0; info > 0 && j < f->n; j++)
    if (f->to_column[j] == info - 1) *singular = (Singular){SINGULAR_COLUMN, j, 0};
  return POISE_OK;
}

/* *singular: the first pivot in the order of elimination that is not positive, or not from the diagonal. */
static void CheckPivots(const SparseFactors *f, Singular *singular)
{
  const SCformat *l = f->L.Store;
  const double *val = l->nzval;
  int first = f->n;
  for (int j = 0; j < f->n; j++) {
    int c = f->to_column[j], super = l->sup_to_col[l->col_to_sup[c]];
    double pivot = val[l->nzval_colptr[c] + c - super];
    if ((f->to_row[j] == c && pivot > 0) || c > first) continue;
    *singular = (Singular){INDEFINITE, j, f->to_row[j] == c ? pivot : 0};
    first = c;
  }
}

static void Describe(SparseFactors *f, SparseFacts *facts)
{
  mem_usage_t use;
  const SCformat *lower = f->L.Store;
  const NCformat *upper = f->U.Store;
  dQuerySpace(&f->L, &f->U, &use);
  facts->entries = (double)lower->nnz + (double)upper->nnz - f->n;
  facts->bytes = use.for_lu;
  facts->order = f->order;
}

static PoiseErr Factor(PoiseContext ctx, SparseFactors *f, bool only, Singular *singular, SparseFacts *facts)
{
  SuperMatrix A;
  SuperLUStat_t statistics;
  dCreate_CompCol_Matrix(&A, f->n, f->n, f->ptr[f->n], f->val, f->row, f->ptr, SLU_NC, SLU_D, SLU_GE);
  StatInit(&statistics);
  PoiseErr e = Scale(ctx, f, &A, singular);
  if (!e && !singular->what) e = Order(ctx, f, &A, only);
  facts->foreseen = f->foreseen;
  if (!e && !singular->what && !only) e = CheckMemory(ctx, f);
  if (!e && !singular->what && !only) e = Eliminate(f, &A, &statistics, singular);
  if (!e && !singular->what && !only && f->definite) CheckPivots(f, singular);
  if (!e && !singular->what && !only) Describe(f, facts);
  StatFree(&statistics);
  Destroy_SuperMatrix_Store(&A);
  return e;
}

PoiseErr poiseSuperLUFactor(PoiseContext ctx, int64_t n, int **ptr, int **row, double **val, FactorHow how,
                            SparseFactors **f, Singular *singular, SparseFacts *facts)
{
  *singular = (Singular){0};
  TRY(Take(ctx, n, ptr, row, val, f));
  (*f)->definite = how.definite;
  return n ? Factor(ctx, *f, how.only, singular, facts) : POISE_OK;
}

/* X = D X, D = diag(scale) */
static void ScaleRows(const SparseFactors *f, const double *scale, int columns, double *x)
{
  for (int c = 0; c < columns; c++, x += f->n)
    for (int i = 0; i < f->n; i++) x[i] *= scale[i];
}

PoiseErr poiseSuperLUSolve(SparseFactors *f, int columns, double *x)
{
  SuperMatrix X;
  SuperLUStat_t statistics;
  int info;
  if (*f->scaled == 'R' || *f->scaled == 'B') ScaleRows(f, f->row_scale, columns, x);
  dCreate_Dense_Matrix(&X, f->n, columns, x, f->n, SLU_DN, SLU_D, SLU_GE);
  StatInit(&statistics);
  dgstrs(NOTRANS, &f->L, &f->U, f->to_column, f->to_row, &X, &statistics, &info);
  StatFree(&statistics);
  Destroy_SuperMatrix_Store(&X);
  if (info) return Refused(info);
  if (*f->scaled == 'C' || *f->scaled == 'B') ScaleRows(f, f->column_scale, columns, x);
  return POISE_OK;
}

/* ---- condition ------------------------------------------------------------------------------- */

/* The 1-norm. */
static double Norm(const SparseFactors *f)
{
  double norm = 0;
  for (int j = 0; j < f->n; j++) {
    double sum = 0;
    for (int k = f->ptr[j]; k < f->ptr[j + 1]; k++) sum += fabs(f->val[k]);
    norm = fmax(norm, sum);
  }
  return norm;
}

double poiseSuperLUCondition(SparseFactors *f)
{
  SuperLUStat_t statistics;
  double inverse = 0;
  char norm[] = "1";
  int info;
  StatInit(&statistics);
  dgscon(norm, &f->L, &f->U, Norm(f), &inverse, &statistics, &info);
  StatFree(&statistics);
  return info == 0 && inverse > 0 ? 1 / inverse : INFINITY;
}
