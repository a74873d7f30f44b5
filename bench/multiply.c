/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Products of sparse matrices, beside cuSPARSE on a GPU in the same run:

    multiply -device cuda -problem 7 -bytes 1.5e9

  A is a problem of a mesh; P interpolates from boxes of 3 nodes a side, P = (I - 2/3 D^-1 A) T, T 1 for each
  node of a box; R is P^T. A row: the product, who, multiply-adds, entries of C; medians of the time of a
  product that is made anew, and of new numbers in the same pattern, in milliseconds; both as 1e9
  multiply-adds a second; the maximum norm of C. By cuSPARSE the former is cusparseSpGEMM, the latter
  cusparseSpGEMMreuse_compute. The exit status is 1 where norms or entries differ.
*/
#include <inttypes.h>
#include <math.h>
#include <poise.h>
#include <stdlib.h>
#include <string.h>

#include "common/library.h"
#include "multiply.h"

#define TRY POISE_TRY

typedef struct Options {
  int problem;
  double bytes;
  PoiseInt rounds;
} Options;

static const PoiseOption table[] = {
    {"problem", POISE_OPTION_CHOICE, offsetof(Options, problem), "7", 0, 0, "5|7|27", "which matrix"},
    {"bytes", POISE_OPTION_REAL, offsetof(Options, bytes), "3e6", 1, 2.5e10, NULL, "bytes of A"},
    {"rounds", POISE_OPTION_INT, offsetof(Options, rounds), "5", 1, MAX_REPEATS, NULL, "of each product"},
    {0},
};

typedef struct Bench {
  PoiseContext ctx;
  const Options *o;
  Library library; /* waits */
  bool cuda, differ;
} Bench;

typedef struct Outcome {
  int64_t nz;
  double norm;
} Outcome;

/* ---- factors --------------------------------------------------------------------------------- */

static PoiseErr CreateFactor(int64_t m, int64_t n, int64_t most, Factor *f, int32_t **ptr, int32_t **col,
                             double **val)
{
  *ptr = calloc((size_t)m + 2, sizeof **ptr);
  *col = malloc((size_t)most * sizeof **col + 1);
  *val = malloc((size_t)most * sizeof **val + 1);
  *f = (Factor){m, n, 0, *ptr, *col, *val};
  if (*ptr && *col && *val) return POISE_OK;
  POISE_FAIL(POISE_ERR_MEMORY, "no memory for %" PRId64 " entries", most);
}

static void DestroyFactor(Factor *f)
{
  free((void *)f->ptr);
  free((void *)f->col);
  free((void *)f->val);
  *f = (Factor){0};
}

/* The box of a node. */
static int32_t Box(const Mesh *m, int64_t node)
{
  int64_t box = 0, boxes = (m->k + 2) / 3, weight = 1;
  for (int d = 0; d < m->dim; d++, node /= m->k, weight *= boxes) box += node % m->k / 3 * weight;
  return (int32_t)box;
}

/* Row i of P: of A's entries, by ascending boxes. */
static int32_t RowOfP(const Mesh *m, const Rows *a, int64_t i, int32_t *col, double *val)
{
  int32_t n = 0;
  double diagonal = 1;
  for (int32_t k = a->ptr[i]; k < a->ptr[i + 1]; k++)
    if (a->col[k] == i) diagonal = a->val[k];
  for (int32_t k = a->ptr[i]; k < a->ptr[i + 1]; k++) {
    int32_t box = Box(m, a->col[k]), at = n;
    double v = (a->col[k] == i) - 2.0 / 3.0 * a->val[k] / diagonal;
    while (at > 0 && col[at - 1] > box) at--;
    if (at > 0 && col[at - 1] == box) {
      val[at - 1] += v;
      continue;
    }
    for (int32_t e = n++; e > at; e--) col[e] = col[e - 1], val[e] = val[e - 1];
    col[at] = box, val[at] = v;
  }
  return n;
}

static PoiseErr CreateP(const Mesh *m, const Rows *a, Factor *P)
{
  int64_t boxes = 1;
  int32_t *ptr, *col;
  double *val;
  for (int d = 0; d < m->dim; d++) boxes *= (m->k + 2) / 3;
  TRY(CreateFactor(a->n, boxes, a->ptr[a->n], P, &ptr, &col, &val));
  for (int64_t i = 0; i < a->n; i++) ptr[i + 1] = ptr[i] + RowOfP(m, a, i, col + ptr[i], val + ptr[i]);
  P->nz = ptr[a->n];
  return POISE_OK;
}

/* R = P^T */
static PoiseErr Transpose(const Factor *P, Factor *R)
{
  int32_t *ptr, *col;
  double *val;
  TRY(CreateFactor(P->n, P->m, P->nz, R, &ptr, &col, &val));
  for (int64_t k = 0; k < P->nz; k++) ptr[P->col[k] + 2]++;
  for (int64_t j = 2; j <= P->n; j++) ptr[j] += ptr[j - 1];
  for (int64_t i = 0; i < P->m; i++)
    for (int32_t k = P->ptr[i]; k < P->ptr[i + 1]; k++) {
      int32_t to = ptr[P->col[k] + 1]++;
      col[to] = (int32_t)i, val[to] = P->val[k];
    }
  R->nz = P->nz;
  return POISE_OK;
}

static double MultiplyAdds(const Factor *A, const Factor *B)
{
  double sum = 0;
  for (int64_t k = 0; k < A->nz; k++) sum += B->ptr[A->col[k] + 1] - B->ptr[A->col[k]];
  return sum;
}

/* ---- products -------------------------------------------------------------------------------- */

static PoiseErr Print(Bench *b, const char *what, const char *who, double adds, const Outcome *of,
                      Times *whole, Times *numbers)
{
  double first = Median(whole), again = Median(numbers);
  return PoisePrintf(b->ctx, "%-8s %-9s %12.0f %11" PRId64 " %9.3f %9.3f %8.1f %8.1f %.15e\n", what, who,
                     adds, of->nz, 1e3 * first, 1e3 * again, 1e-9 * adds / first, 1e-9 * adds / again,
                     of->norm);
}

static PoiseErr Wait(Bench *b)
{
  return b->library.lane.wait(b->library.lane.arg);
}

static PoiseErr Create(Bench *b, const Factor *f, PoiseMat *A)
{
  PoiseCSR csr = {.ptr32 = f->ptr, .col32 = f->col, .val = f->val};
  return PoiseMatCreateCSR(b->ctx, f->m, f->n, f->m, f->n, &csr, POISE_COPY, A);
}

static PoiseErr Measure(Bench *b, PoiseMat A, PoiseMat B, PoiseMat *C, Times *whole, Times *numbers)
{
  for (PoiseInt r = 0; r <= b->o->rounds; r++) { /* the first one warms up */
    PoiseMatDestroy(C);
    TRY(Wait(b));
    double start = PoiseTime();
    TRY(PoiseMatMatMult(A, B, C));
    TRY(Wait(b));
    double end = PoiseTime();
    TRY(PoiseMatMatMult(A, B, C));
    TRY(Wait(b));
    if (!r) continue;
    whole->t[whole->n++] = (end - start);
    numbers->t[numbers->n++] = (PoiseTime() - end);
  }
  return POISE_OK;
}

static PoiseErr ByLibrary(Bench *b, const Factor *left, const Factor *right, Outcome *of, Times *whole,
                          Times *numbers)
{
  PoiseMat A = NULL, B = NULL, C = NULL;
  PoiseErr e = Create(b, left, &A);
  if (!e) e = Create(b, right, &B);
  if (!e) e = Measure(b, A, B, &C, whole, numbers);
  if (!e) e = PoiseMatNonzeros(C, &of->nz);
  if (!e) e = PoiseMatNorm(C, POISE_NORM_INF, &of->norm);
  PoiseMatDestroy(&C);
  PoiseMatDestroy(&B);
  PoiseMatDestroy(&A);
  return e;
}

#ifdef POISE_HAVE_CUDA
static PoiseErr Went(const char *what, const char *wrong)
{
  if (!wrong) return POISE_OK;
  POISE_FAIL(POISE_ERR_DEVICE, "cuSPARSE, %s: %s", what, wrong);
}

static PoiseErr Repeat(Bench *b, void *product, Times *whole, Times *numbers)
{
  const Multiplier *by = &multiply_cusparse;
  for (PoiseInt r = 0; r <= b->o->rounds; r++) {
    double start = PoiseTime();
    TRY(Went("whole", by->whole(product)));
    if (r) whole->t[whole->n++] = (PoiseTime() - start);
  }
  TRY(Went("plan", by->plan(product)));
  for (PoiseInt r = 0; r <= b->o->rounds; r++) {
    double start = PoiseTime();
    TRY(Went("numbers", by->numbers(product)));
    if (r) numbers->t[numbers->n++] = (PoiseTime() - start);
  }
  return POISE_OK;
}

static PoiseErr ByCusparse(Bench *b, const char *what, const Factor *left, const Factor *right, double adds,
                           const Outcome *ours)
{
  const Multiplier *by = &multiply_cusparse;
  Outcome of = {0};
  Times whole = {0}, numbers = {0};
  double bytes = 0;
  void *product = NULL;
  PoiseErr e = Went("start", by->open(left, right, &product));
  if (!e) e = Repeat(b, product, &whole, &numbers);
  if (!e) e = Went("result", by->result(product, &of.nz, &of.norm, &bytes));
  by->close(product);
  TRY(e);
  TRY(Print(b, what, "cusparse", adds, &of, &whole, &numbers));
  TRY(PoisePrintf(b->ctx, "# its buffers: %.3f GB\n", 1e-9 * bytes));
  if (of.nz != ours->nz || !(fabs(of.norm - ours->norm) <= 1e-12 * ours->norm)) b->differ = true;
  return POISE_OK;
}
#endif

static PoiseErr Product(Bench *b, const char *what, const Factor *left, const Factor *right)
{
  double adds = MultiplyAdds(left, right);
  Outcome of = {0};
  Times whole = {0}, numbers = {0};
  TRY(ByLibrary(b, left, right, &of, &whole, &numbers));
  TRY(Print(b, what, "poise", adds, &of, &whole, &numbers));
#ifdef POISE_HAVE_CUDA
  if (b->cuda) TRY(ByCusparse(b, what, left, right, adds, &of));
#endif
  return POISE_OK;
}

static PoiseErr Products(Bench *b, const Mesh *mesh, const Rows *rows, Factor *P, Factor *R)
{
  Factor A = {rows->n, rows->N, rows->ptr[rows->n], rows->ptr, rows->col, rows->val};
  TRY(CreateP(mesh, rows, P));
  TRY(Transpose(P, R));
  TRY(PoisePrintf(b->ctx,
                  "# A: %" PRId64 " rows, %" PRId64 " entries; P: %" PRId64 " columns, %" PRId64
                  " entries\n# product, who, multiply-adds, entries of C; ms: whole, numbers; 1e9 "
                  "multiply-adds/s: whole, numbers; norm of C\n",
                  A.m, A.nz, P->n, P->nz));
  TRY(Product(b, "A_P", &A, P));
  TRY(Product(b, "R_A", R, &A));
  return Product(b, "A_A", &A, &A);
}

static PoiseErr Run(Bench *b)
{
  Mesh mesh;
  Rows rows = {0};
  Factor P = {0}, R = {0};
  if (PoiseSize(b->ctx) > 1) POISE_FAIL(POISE_ERR_UNSUPPORTED, "one rank is measured here");
  CreateMesh(b->ctx, b->o->problem, true, b->o->bytes, &mesh);
  PoiseErr e = CreateMeshRows(&mesh, &rows);
  if (!e) e = OpenLibrary(b->ctx, 1, &b->library);
  if (!e) e = Products(b, &mesh, &rows, &P, &R);
  CloseLibrary(&b->library);
  DestroyFactor(&P);
  DestroyFactor(&R);
  DestroyRows(&rows);
  return e;
}

int main(int argc, char **argv)
{
  Options o;
  Bench b = {.o = &o};
  const PoiseInit init = {.help = "Products of sparse matrices", .options = table};
  PoiseErr e = PoiseInitialize(&argc, &argv, &init, &b.ctx);
  if (!e) e = PoiseOptionsDefaults(table, &o);
  if (!e) e = PoiseOptionsRead(b.ctx, NULL, table, &o);
  if (!e) b.cuda = !strcmp(DeviceOf(b.ctx), "cuda");
  if (!e) e = Run(&b);
  if (!e) e = PoiseFinalize(&b.ctx);
  if (e) fputs(PoiseErrorText(), stderr);
  return e || b.differ ? 1 : 0;
}
