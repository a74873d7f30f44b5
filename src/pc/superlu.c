/* SPDX-License-Identifier: BSD-3-Clause */
/* Sparse factors by SuperLU: J. W. Demmel, S. C. Eisenstat, J. R. Gilbert, X. S. Li, J. W. H. Liu, A
   supernodal approach to sparse partial pivoting, SIAM J. Matrix Anal. Appl. 20, 1999. */
#include <slu_ddefs.h>

#include "lu.h"

struct SparseFactors {
  int n;
  int *ptr, *row; /* A by columns, scaled */
  double *val;
  int *to_row, *to_column, *tree; /* its permutations and elimination tree */
  double *row_scale, *column_scale;
  char scaled[4]; /* N, R, C or B: which scales are in use */
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

/* Is the pattern symmetric, with a diagonal that is not 0? Then an order for A + A^T fills less, and small
   pivots are taken from the diagonal. */
static PoiseErr IsSymmetric(PoiseContext ctx, const SparseFactors *f, bool *symmetric)
{
  int *next;
  bool same = true;
  TRY(poiseAllocArray(ctx, f->n, sizeof *next, "places in rows", &next));
  for (int j = 0; j < f->n; j++) next[j] = f->ptr[j];
  for (int j = 0; j < f->n && same; j++) { /* entries of row j come in the order of columns */
    bool diagonal = false;
    for (int k = f->ptr[j]; k < f->ptr[j + 1] && same; k++) {
      int i = f->row[k];
      diagonal |= i == j && f->val[k] != 0;
      same = next[i] < f->ptr[i + 1] && f->row[next[i]] == j;
      next[i]++;
    }
    same = same && diagonal;
  }
  *symmetric = same;
  poiseFree(ctx, &next);
  return POISE_OK;
}

static PoiseErr Refused(int info)
{
  FAIL(POISE_ERR_INTERNAL, "SuperLU refuses argument %d", -info);
}

static PoiseErr Begin(PoiseContext ctx, SparseFactors *f)
{
  bool symmetric = false;
  set_default_options(&f->options);
  f->options.PrintStat = NO;
  TRY(IsSymmetric(ctx, f, &symmetric));
  if (!symmetric) return POISE_OK;
  f->options.SymmetricMode = YES;
  f->options.ColPerm = MMD_AT_PLUS_A;
  f->options.DiagPivotThresh = 0.01;
  return POISE_OK;
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
  return f && f->n == n && f->factored && !memcmp(f->ptr, ptr, (size_t)(n + 1) * sizeof *ptr) &&
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
  if (!same) return Begin(ctx, f);
  f->options.Fact = SamePattern;
  return POISE_OK;
}

/* R A C, where the sizes of rows or columns differ much. *singular: a row or column is 0. */
static PoiseErr Scale(SparseFactors *f, SuperMatrix *A, Singular *singular)
{
  double rows, columns, largest;
  int info;
  dgsequ(A, f->row_scale, f->column_scale, &rows, &columns, &largest, &info);
  if (info < 0) return Refused(info);
  if (info > 0) *singular = (Singular){info <= f->n ? SINGULAR_ROW : SINGULAR_COLUMN, (info - 1) % f->n};
  if (info == 0) dlaqgs(A, f->row_scale, f->column_scale, rows, columns, largest, f->scaled);
  return POISE_OK;
}

/* Memory of the order: *ordered is A with its columns in place. */
static void Order(SparseFactors *f, SuperMatrix *A, SuperMatrix *ordered)
{
  if (f->options.Fact == DOFACT) get_perm_c(f->options.ColPerm, A, f->to_column);
  sp_preorder(&f->options, A, f->to_column, f->tree, ordered);
}

static PoiseErr Eliminate(SparseFactors *f, SuperMatrix *A, SuperLUStat_t *statistics, Singular *singular)
{
  SuperMatrix ordered;
  int info, panel = sp_ienv(1), relaxed = sp_ienv(2);
  Order(f, A, &ordered);
  dgstrf(&f->options, &ordered, relaxed, panel, f->tree, NULL, 0, f->to_column, f->to_row, &f->L, &f->U,
         &f->glu, statistics, &info);
  Destroy_CompCol_Permuted(&ordered);
  if (info < 0) return Refused(info);
  if (info > f->n) FAIL(POISE_ERR_MEMORY, "SuperLU had %lld bytes for its factors", (long long)info - f->n);
  f->factored = true;
  for (int j = 0; info > 0 && j < f->n; j++)
    if (f->to_column[j] == info - 1) *singular = (Singular){SINGULAR_COLUMN, j};
  return POISE_OK;
}

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

static PoiseErr Describe(SparseFactors *f, SuperLUStat_t *statistics, SparseFacts *facts)
{
  mem_usage_t use;
  double inverse = 0;
  char norm[] = "1";
  int info;
  const SCformat *lower = f->L.Store;
  const NCformat *upper = f->U.Store;
  dQuerySpace(&f->L, &f->U, &use);
  dgscon(norm, &f->L, &f->U, Norm(f), &inverse, statistics, &info);
  if (info < 0) return Refused(info);
  facts->entries = (double)lower->nnz + (double)upper->nnz - f->n;
  facts->bytes = use.for_lu;
  facts->condition = inverse > 0 ? 1 / inverse : INFINITY;
  return POISE_OK;
}

static PoiseErr Factor(SparseFactors *f, Singular *singular, SparseFacts *facts)
{
  SuperMatrix A;
  SuperLUStat_t statistics;
  dCreate_CompCol_Matrix(&A, f->n, f->n, f->ptr[f->n], f->val, f->row, f->ptr, SLU_NC, SLU_D, SLU_GE);
  StatInit(&statistics);
  PoiseErr e = Scale(f, &A, singular);
  if (!e && !singular->what) e = Eliminate(f, &A, &statistics, singular);
  if (!e && !singular->what) e = Describe(f, &statistics, facts);
  StatFree(&statistics);
  Destroy_SuperMatrix_Store(&A);
  return e;
}

PoiseErr poiseSuperLUFactor(PoiseContext ctx, int64_t n, int **ptr, int **row, double **val,
                            SparseFactors **f, Singular *singular, SparseFacts *facts)
{
  *singular = (Singular){0};
  TRY(Take(ctx, n, ptr, row, val, f));
  return n ? Factor(*f, singular, facts) : POISE_OK;
}

PoiseErr poiseSuperLUSolve(SparseFactors *f, double *x)
{
  SuperMatrix X;
  SuperLUStat_t statistics;
  int info;
  bool rows = *f->scaled == 'R' || *f->scaled == 'B', columns = *f->scaled == 'C' || *f->scaled == 'B';
  for (int i = 0; rows && i < f->n; i++) x[i] *= f->row_scale[i];
  dCreate_Dense_Matrix(&X, f->n, 1, x, f->n, SLU_DN, SLU_D, SLU_GE);
  StatInit(&statistics);
  dgstrs(NOTRANS, &f->L, &f->U, f->to_column, f->to_row, &X, &statistics, &info);
  StatFree(&statistics);
  Destroy_SuperMatrix_Store(&X);
  if (info) return Refused(info);
  for (int i = 0; columns && i < f->n; i++) x[i] *= f->column_scale[i];
  return POISE_OK;
}
