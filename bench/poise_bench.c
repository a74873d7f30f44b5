/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Speed on one device, beside others and beside the bandwidth of its memory, all in one process and in turns:

    poise_bench -device cuda -out h200.csv              everything; on a CPU rather: -device host -bytes 2e8
    poise_bench -device cuda -only "mult cg.7"          rows that begin so
    poise_bench -matrix A.mtx -only "mult cg"           the same on a matrix from a file
    poise_bench -device cuda -sustained 2000            long runs of solvers beside their products and copies
    poise_bench -only blocks                            matrices of full blocks: of 1 to 32 unknowns per node,
    of uneven rows, ...
    poise_bench -matrix A.mtx -only "blocks.5 blocks.7" a matrix from a file, cut into such blocks
    bench/plot.py h200.csv                              pictures

  The others are loops in C on a CPU and cuSPARSE with cuBLAS on a GPU. Text goes to the standard output as it
  comes, the same numbers to a CSV file at the end; the exit status is 1 when a row failed, or its result was
  wrong.

  Times are the median and the least of the repeats. memory: data beyond any cache, calls back to back; cold:
  caches emptied before each call; warm: smaller data, calls back to back; replayed: products with the same
  from a graph on a GPU, as solvers run them, where none waits for the host, which takes some microseconds to
  enqueue it. A solve's time per iteration is that of two solves of different numbers of iterations, so that
  set-up, start and end cancel. All solves start from 0 and check no tolerance; ours look at the norm that is
  named in each iteration, the others' compute one. Bytes are those that must be moved if matrix and vectors
  are moved once for each pass of the fused methods of the library (docs/solvers.md), of one of two formats:
  CSR, the same for all who do not keep blocks, and blocks: 8 per number, zeros too, 4 per block and per row
  of blocks. Each line says which.

  A long run (-sustained) is solves of some hundred iterations one behind the other, less as many short ones.
  Bare products, replayed, and copies of as many bytes take turns with it. A line of the file tells when each
  turn began and ended, in seconds since 1970, so that clocks and power can be looked up (bench/record.sh).
*/
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <poise.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/library.h"
#include "common/contest.h"

#define TRY POISE_TRY

enum { MAX_MATRICES = 16, LARGE = 0, SMALL = 1, MAX_BLOCK = 32 };
enum { VECTORS, PRODUCT, SOLVE, PRECONDITION, PATTERN, VALUES, REFRESH }; /* kinds of operations */

typedef struct Options {
  char only[POISE_OPTION_LENGTH], types[POISE_OPTION_LENGTH], matrix[POISE_OPTION_LENGTH],
      out[POISE_OPTION_LENGTH];
  double bytes, small_bytes, cache;
  PoiseInt numbers;
  int peers;
  Rules rules;
} Options;

static const PoiseOption table[] = {
    {"only", POISE_OPTION_STRING, offsetof(Options, only), "", 0, 0, NULL,
     "rows whose names begin with one of these words"},
    {"types", POISE_OPTION_STRING, offsetof(Options, types), "", 0, 0, NULL,
     "matrix types, separated by commas; none: auto, or csr and bcsr where nodes have several unknowns"},
    {"matrix", POISE_OPTION_STRING, offsetof(Options, matrix), "", 0, 0, NULL,
     "a file, instead of the problems made here"},
    {"out", POISE_OPTION_STRING, offsetof(Options, out), "", 0, 0, NULL,
     "CSV file, which appears whole or not at all"},
    {"bytes", POISE_OPTION_REAL, offsetof(Options, bytes), "0", 0, 2.5e10, NULL,
     "size of large matrices; 0: each its own"},
    {"small_bytes", POISE_OPTION_REAL, offsetof(Options, small_bytes), "0", 0, 2.5e10, NULL,
     "size of small ones"},
    {"repeats", POISE_OPTION_INT, offsetof(Options, rules.repeats), "9", 1, MAX_REPEATS, NULL,
     "measurements of each time"},
    {"sample", POISE_OPTION_REAL, offsetof(Options, rules.sample), "0.005", 0, 10, NULL,
     "seconds that calls are repeated for, at least"},
    {"seconds", POISE_OPTION_REAL, offsetof(Options, rules.seconds), "20", 0, 1e9, NULL,
     "of a row, after which 3 repeats are enough"},
    {"iterations", POISE_OPTION_INT, offsetof(Options, rules.iterations), "48", 1, 1000000, NULL,
     "of the shorter solve, for gmres rounded up to whole cycles; the longer has three times as many"},
    {"sustained", POISE_OPTION_INT, offsetof(Options, rules.sustained), "0", 0, 100000000, NULL,
     "iterations of long runs, which alone are measured then; 0: none"},
    {"numbers", POISE_OPTION_INT, offsetof(Options, numbers), "33554432", 1024, 1000000000, NULL,
     "length of the arrays that bandwidth is measured with"},
    {"peers", POISE_OPTION_BOOL, offsetof(Options, peers), "yes", 0, 0, NULL, "the others take part"},
    {"cache", POISE_OPTION_REAL, offsetof(Options, cache), "0", 0, 1e12, NULL,
     "bytes of the largest cache; 0: as the machine says"},
    {0},
};

/* ---- what is measured ------------------------------------------------------------------------ */

/* Of the library: a type of solver or preconditioner, an option of it, and the solver's preconditioner. */
typedef struct Variant {
  const char *name, *type, *key, *value, *pc;
  bool brief; /* not in long runs */
} Variant;

/* Each list ends with a NULL name. */
static const Variant one[] = {{.name = ""}, {0}},
                     by_cg[] = {{.name = "cg", .type = "cg"},
                                {"cg phases", "cg", "ksp_cg_variant", "phases", NULL, false},
                                {.name = "prcg", .type = "prcg"},
                                {0}},
                     by_bicgstab[] = {{.name = "bicgstab", .type = "bicgstab"}, {0}},
                     by_gmres[] = {{.name = "gmres once", .type = "gmres"},
                                   {"gmres twice", "gmres", "ksp_gmres_cgs_refinement_type", "refine_always",
                                    NULL, true},
                                   {0}},
                     by_jacobi[] = {{.name = "jacobi", .type = "jacobi"}, {0}},
                     by_pbjacobi[] = {{.name = "pbjacobi", .type = "pbjacobi"}, {0}},
                     by_cg_pbjacobi[] = {{.name = "cg pbjacobi", .type = "cg", .pc = "pbjacobi"}, {0}},
                     by_bjacobi[] = {{"bjacobi supervariables 8", "bjacobi", "pc_bjacobi_supervariables", "8",
                                      NULL, false},
                                     {0}},
                     by_ilu[] = {
                         {.name = "ilu", .type = "ilu"},
                         {"ilu, solves by cusparse", "ilu", "pc_factor_kernel", "cusparse", NULL, false},
                         {0}};

/* Values of -mat_bcsr_kernel that products by blocks are measured with. */
static const char *const bcsr_kernels[] = {"auto", "even", "balanced", "block", "column", "row"};

enum { KERNELS = sizeof bcsr_kernels / sizeof *bcsr_kernels };

typedef struct Operation {
  const char *name;
  int op, kind;
  /* of one: products, vectors moved beside the matrix, flops per row beside its */
  double products, vectors, flops;
  const Variant *ours;
} Operation;

static const Operation operations[] = {
    {"dot", OP_DOT, VECTORS, 0, 2, 2, one},
    {"axpy", OP_AXPY, VECTORS, 0, 3, 2, one},
    {"norm", OP_NORM, VECTORS, 0, 1, 2, one},
    {"mult", OP_MULT, PRODUCT, 1, 2, 0, one},
    {"blocks", OP_MULT, PRODUCT, 1, 2, 0, one},
    {"cg", OP_CG, SOLVE, 1, 12, 13, by_cg},
    {"cg_pbjacobi", OP_OTHER, SOLVE, 1, 11, 13, by_cg_pbjacobi},
    {"bicgstab", OP_BICGSTAB, SOLVE, 2, 20, 22, by_bicgstab},
    /* in the mean of a cycle, of which the restart has a product and 42 vectors */
    {"gmres", OP_GMRES, SOLVE, 1 + 1. / RESTART, 41 + 42. / RESTART, 66, by_gmres},
    {"pc_jacobi", OP_JACOBI, PRECONDITION, 0, 3, 1, by_jacobi},
    {"pc_pbjacobi", OP_OTHER, PRECONDITION, 0, 0, 0, by_pbjacobi},
    {"pc_bjacobi", OP_OTHER, PRECONDITION, 0, 0, 0, by_bjacobi},
    {"pc_ilu", OP_OTHER, PRECONDITION, 1, 4, 1, by_ilu},
    {"coo_pattern", OP_OTHER, PATTERN, 0, 0, 0, one},
    {"coo_values", OP_OTHER, VALUES, 0, 0, 0, one},
    {"coo_refresh", OP_OTHER, REFRESH, 1, 2, 0, one}, /* new values, and a product with them */
};

static const struct {
  const char *name;
  double bytes[2]; /* large (256^3 and 4096^2 nodes, ...), small */
} problems[] = {[FIVE] = {"5", {1.073e9, 4.16e6}},       [SEVEN] = {"7", {1.471e9, 2.8e6}},
                [TWENTY_SEVEN] = {"27", {2.597e9, 1e7}}, [ELASTICITY] = {"elasticity", {2.92e9, 1e7}},
                [RMAT] = {"rmat", {4.2e8, 1e7}},         [RMAT_SCRAMBLED] = {"rmat_scrambled", {4.2e8, 1e7}},
                [ARROW] = {"arrow", {2.24e8, 1e7}},      [TAIL] = {"tail", {4e7, 1e6}}};

enum { PLAIN = 0, VARIED = 1 };

/* By problem, so that a matrix is made once. All types of -types take part in each. */
typedef struct BenchRow {
  const char *operation;
  int problem, vary, size;
} BenchRow;

static const BenchRow rows[] = {
    {"dot", SEVEN, PLAIN, LARGE},
    {"axpy", SEVEN, PLAIN, LARGE},
    {"norm", SEVEN, PLAIN, LARGE},
    {"mult", SEVEN, PLAIN, LARGE},
    {"pc_jacobi", SEVEN, PLAIN, LARGE},
    {"pc_ilu", SEVEN, PLAIN, LARGE},
    {"mult", SEVEN, VARIED, LARGE},
    {"cg", SEVEN, VARIED, LARGE},
    {"bicgstab", SEVEN, VARIED, LARGE},
    {"gmres", SEVEN, VARIED, LARGE},
    {"mult", FIVE, PLAIN, LARGE},
    {"cg", FIVE, VARIED, LARGE},
    {"bicgstab", FIVE, VARIED, LARGE},
    {"gmres", FIVE, VARIED, LARGE},
    {"mult", TWENTY_SEVEN, PLAIN, LARGE},
    {"cg", TWENTY_SEVEN, PLAIN, LARGE},
    {"mult", ELASTICITY, PLAIN, LARGE},
    {"cg", ELASTICITY, PLAIN, LARGE},
    {"cg_pbjacobi", ELASTICITY, PLAIN, LARGE},
    {"pc_pbjacobi", ELASTICITY, PLAIN, LARGE},
    {"pc_bjacobi", ELASTICITY, PLAIN, LARGE},
    {"mult", RMAT, PLAIN, LARGE},
    {"mult", RMAT_SCRAMBLED, PLAIN, LARGE},
    {"mult", ARROW, PLAIN, LARGE},
    {"mult", TAIL, PLAIN, LARGE},
    {"dot", SEVEN, PLAIN, SMALL},
    {"axpy", SEVEN, PLAIN, SMALL},
    {"norm", SEVEN, PLAIN, SMALL},
    {"mult", SEVEN, PLAIN, SMALL},
    {"cg", SEVEN, PLAIN, SMALL},
    {"bicgstab", SEVEN, PLAIN, SMALL},
    {"gmres", SEVEN, PLAIN, SMALL},
    {"pc_ilu", SEVEN, PLAIN, SMALL},
    {"mult", FIVE, PLAIN, SMALL},
    {"cg", FIVE, PLAIN, SMALL},
    {"mult", ELASTICITY, PLAIN, SMALL},
    {"coo_pattern", ELASTICITY, PLAIN, LARGE},
    {"coo_values", ELASTICITY, PLAIN, LARGE},
    {"coo_refresh", ELASTICITY, PLAIN, LARGE},
    {"coo_pattern", TWENTY_SEVEN, PLAIN, LARGE},
    {"coo_values", TWENTY_SEVEN, PLAIN, LARGE},
};

static const BenchRow long_rows[] = {
    {"cg", SEVEN, VARIED, LARGE},
    {"bicgstab", SEVEN, VARIED, LARGE},
    {"gmres", SEVEN, VARIED, LARGE},
    {"cg", FIVE, VARIED, LARGE},
    {"bicgstab", FIVE, VARIED, LARGE},
    {"gmres", FIVE, VARIED, LARGE},
    {"cg", ELASTICITY, VARIED, LARGE},
    {"cg_pbjacobi", ELASTICITY, VARIED, LARGE},
    {"bicgstab", ELASTICITY, VARIED, LARGE},
    {"gmres", ELASTICITY, VARIED, LARGE},
    {"cg", TWENTY_SEVEN, VARIED, LARGE},
    {"bicgstab", TWENTY_SEVEN, VARIED, LARGE},
    {"gmres", TWENTY_SEVEN, VARIED, LARGE},
};

/* What a matrix from a file is measured with. */
static const char *const on_file[] = {"mult", "cg", "bicgstab", "gmres", "pc_jacobi", "pc_ilu"};

enum {
  ROWS = sizeof rows / sizeof *rows,
  LONG_ROWS = sizeof long_rows / sizeof *long_rows,
  ON_FILE = sizeof on_file / sizeof *on_file
};

typedef struct Bench {
  PoiseContext ctx;
  Options o;
  const Peer *peer;
  void *peer_data;
  OutputFile file;
  Library library;
  List limits;
  int failed;

  Rows matrix;   /* and what it is */
  Blocks blocks; /* the same in blocks, where rows have some */
  int problem, vary, size;
  double *x; /* a vector of random numbers */

  char name[64]; /* of the row */
  const Operation *operation;
  Task task;
  Coo coo, there; /* there: copies in a GPU's memory, or NULL */
} Bench;

/* ---- what it costs --------------------------------------------------------------------------- */

static double MatrixBytes(const Bench *bench, bool blocks)
{
  const Rows *r = &bench->matrix;
  return blocks ? BlockBytes(&bench->blocks) : 12.0 * r->ptr[r->n] + 4.0 * (double)(r->n + 1);
}

/* Of one operation, by the matrix's rows or its blocks: what must be moved, and additions and
   multiplications. */
static void Cost(const Bench *bench, bool blocks, double *bytes, double *flops)
{
  const Rows *r = &bench->matrix;
  const Operation *o = bench->operation;
  double n = (double)r->n, nz = (double)r->ptr[r->n], triplets = (double)bench->coo.n, b = r->block;
  *bytes = o->products * MatrixBytes(bench, blocks) + o->vectors * 8 * n;
  *flops = o->products * 2 * nz + o->flops * n;
  if (!strcmp(o->name, "pc_pbjacobi")) *bytes = 8 * n * (b + 2), *flops = 2 * b * n;
  if (!strcmp(o->name, "cg_pbjacobi"))
    *bytes += 8 * n * b, *flops += (2 * b - 1) * n; /* its blocks; z instead of d and of one r */
  if (!strcmp(o->name, "pc_ilu")) *bytes += 4 * n;  /* two triangles: their offsets */
  if (o->kind == PATTERN) *bytes = 16 * triplets + 12 * nz + 4 * (n + 1);
  if (o->kind == REFRESH || o->kind == VALUES) *bytes += 12 * triplets + 8 * nz, *flops += triplets;
}

/* ---- the library's contenders ---------------------------------------------------------------- */

typedef struct Ours {
  Bench *bench;
  PoiseMat A; /* lent */
  PoiseVec x, y;
  PoiseKSP ksp;
  PoisePC pc;
  bool predicts; /* a cg in the form of prcg */
  double number; /* of dots and norms */
} Ours;

typedef struct Team { /* all of them for a row */
  int n, nA;
  PoiseMat A[MAX_MATRICES];
  Ours ours[MAX_CONTENDERS];
} Team;

static PoiseErr Solves(Ours *p, int64_t count)
{
  TRY(PoiseKSPSetTolerances(p->ksp, 0, 1e-300, 1e300, count));
  TRY(PoiseKSPGMRESSetBreakdownTolerance(p->ksp, 1e300)); /* it works on at the level of rounding */
  TRY(PoiseKSPSolve(p->ksp, p->x, p->y));
  if (PoiseKSPIterations(p->ksp) == count) return POISE_OK;
  POISE_FAIL(POISE_ERR_NUMERIC, "%lld iterations and not %lld: %s", (long long)PoiseKSPIterations(p->ksp),
             (long long)count, PoiseKSPReasonString(PoiseKSPConvergedReason(p->ksp)));
}

/* Triplets are given where the device is. */
static PoiseErr Pattern(const Bench *bench, PoiseMat A)
{
  const Coo *c = &bench->coo, *t = &bench->there;
  return t->n ? PoiseMatSetPatternDeviceCOO(A, t->n, t->rows, t->cols)
              : PoiseMatSetPatternCOO(A, c->n, c->rows, c->cols);
}

static PoiseErr Values(const Bench *bench, PoiseMat A)
{
  return bench->there.n ? PoiseMatSetValuesDeviceCOO(A, bench->there.v)
                        : PoiseMatSetValuesCOO(A, bench->coo.v);
}

static PoiseErr Refresh(Ours *p)
{
  TRY(Values(p->bench, p->A));
  return PoiseMatMult(p->A, p->x, p->y);
}

static PoiseErr Once(Ours *p)
{
  Bench *bench = p->bench;
  switch (bench->operation->kind) {
  case PRODUCT:
    return PoiseMatMult(p->A, p->x, p->y);
  case PRECONDITION:
    return PoisePCApply(p->pc, p->x, p->y);
  case PATTERN:
    return Pattern(bench, p->A);
  case VALUES:
    return Values(bench, p->A);
  case REFRESH:
    return Refresh(p);
  default:
    break;
  }
  switch (bench->operation->op) {
  case OP_DOT:
    return PoiseVecDot(p->x, p->y, &p->number);
  case OP_AXPY:
    return PoiseVecAXPY(p->y, 1, p->x);
  default:
    return PoiseVecNorm(p->x, POISE_NORM_2, &p->number);
  }
}

static PoiseErr Call(void *arg, int op, int64_t count)
{
  Ours *p = arg;
  (void)op;
  if (p->bench->operation->kind == SOLVE) return Solves(p, count);
  for (int64_t k = 0; k < count; k++) TRY(Once(p));
  return POISE_OK;
}

/* Bare products, beside a solver's. */
static PoiseErr CallProducts(void *arg, int op, int64_t count)
{
  Ours *p = arg;
  (void)op;
  for (int64_t k = 0; k < count; k++) TRY(PoiseMatMult(p->A, p->x, p->y));
  return POISE_OK;
}

static PoiseErr Result(void *arg, int op, double *y)
{
  Ours *p = arg;
  const double *from;
  if (op == OP_DOT || op == OP_NORM) {
    *y = p->number;
    return POISE_OK;
  }
  TRY(PoiseVecGetRead(p->y, &from));
  memcpy(y, from, (size_t)PoiseVecLocalSize(p->y) * sizeof *y);
  return PoiseVecRestore(p->y, &from);
}

/* Which form a cg has is told by its view. */
static PoiseErr FindForm(Ours *p)
{
  char *text;
  PoiseErr e = ViewText(p->bench->ctx, ViewKSP, p->ksp, &text);
  p->predicts = !e && strstr(text, "predict and recompute");
  free(text);
  return e;
}

static PoiseErr CreateVectors(Bench *bench, PoiseMat A, Ours *p)
{
  double *array;
  *p = (Ours){.bench = bench, .A = A};
  TRY(PoiseVecCreate(bench->ctx, bench->matrix.n, POISE_DECIDE, &p->x));
  TRY(PoiseVecDuplicate(p->x, &p->y));
  for (int k = 0; k < 2; k++) {
    TRY(PoiseVecGetWrite(k ? p->y : p->x, &array));
    memcpy(array, bench->x, (size_t)bench->matrix.n * sizeof *array);
    TRY(PoiseVecRestore(k ? p->y : p->x, &array));
  }
  return POISE_OK;
}

static PoiseErr CreateOurs(Bench *bench, PoiseMat A, const Variant *v, Ours *p)
{
  char key[128];
  const char *prefix = v->key ? "variant_" : NULL;
  TRY(CreateVectors(bench, A, p));
  if (v->key) {
    snprintf(key, sizeof key, "-%s%s", prefix, v->key);
    TRY(PoiseOptionsSet(bench->ctx, key, v->value));
  }
  if (bench->operation->kind == SOLVE) {
    TRY(PoiseKSPCreate(bench->ctx, &p->ksp));
    TRY(PoiseKSPSetOptionsPrefix(p->ksp, prefix));
    TRY(PoiseKSPSetType(p->ksp, v->type));
    TRY(PoiseKSPGetPC(p->ksp, &p->pc));
    TRY(PoisePCSetType(p->pc, v->pc ? v->pc : "jacobi"));
    TRY(PoiseKSPSetOperators(p->ksp, A, NULL));
    TRY(PoiseKSPSetFromOptions(p->ksp));
    TRY(PoiseKSPSetUp(p->ksp));
    p->predicts = !strcmp(v->type, "prcg");
    return strcmp(v->type, "cg") ? POISE_OK : FindForm(p);
  }
  if (bench->operation->kind != PRECONDITION) return POISE_OK;
  TRY(PoisePCCreate(bench->ctx, &p->pc));
  TRY(PoisePCSetOptionsPrefix(p->pc, prefix));
  TRY(PoisePCSetType(p->pc, v->type));
  TRY(PoisePCSetOperator(p->pc, A));
  TRY(PoisePCSetFromOptions(p->pc));
  return PoisePCSetUp(p->pc);
}

static void DestroyTeam(Team *team)
{
  for (int k = 0; k < team->n; k++) {
    Ours *p = &team->ours[k];
    PoiseVecDestroy(&p->x);
    PoiseVecDestroy(&p->y);
    if (!p->ksp) PoisePCDestroy(&p->pc);
    PoiseKSPDestroy(&p->ksp);
  }
  for (int k = 0; k < team->nA; k++) PoiseMatDestroy(&team->A[k]);
  *team = (Team){0};
}

/* The text that a view prints, on lines of the screen and as remarks in the file. */
static PoiseErr Remark(Bench *bench, PoiseErr (*view)(void *object), void *object)
{
  char *text;
  PoiseErr e = ViewText(bench->ctx, view, object, &text);
  char *rest = text;
  if (!text) return e;
  for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
    printf("  %s\n", line);
    if (bench->file.stream) fprintf(bench->file.stream, "# %s %s\n", bench->name, line);
  }
  free(text);
  return e;
}

static bool AreBlocks(const Bench *bench)
{
  return !strcmp(bench->operation->name, "blocks");
}

/* The kernel of bcsr: "" for that of the options. */
static PoiseErr CreateMat(Bench *bench, const char *type, const char *kernel, PoiseMat *A)
{
  const Rows *r = &bench->matrix;
  const Blocks *k = &bench->blocks;
  PoiseCSR csr = {.ptr32 = r->ptr, .col32 = r->col, .val = r->val};
  PoiseBCSR bcsr = {.ptr32 = k->ptr, .col32 = k->col, .val = k->val};
  if (k->b && !strcmp(type, "bcsr")) {
    TRY(PoiseMatCreateBCSR(bench->ctx, k->b, r->n, r->n, r->N, r->N, &bcsr, POISE_BORROW, A));
    if (!*kernel) return PoiseMatSetFromOptions(*A);
    TRY(PoiseOptionsSet(bench->ctx, "-variant_mat_bcsr_kernel", kernel));
    TRY(PoiseMatSetOptionsPrefix(*A, "variant_"));
    return PoiseMatSetFromOptions(*A);
  }
  if (!bench->coo.n) {
    TRY(PoiseMatCreateCSR(bench->ctx, r->n, r->n, r->N, r->N, &csr,
                          AreBlocks(bench) ? POISE_BORROW : POISE_COPY, A));
  } else {
    TRY(PoiseMatCreate(bench->ctx, r->n, r->n, r->N, r->N, A));
    TRY(Pattern(bench, *A));
    TRY(Values(bench, *A));
  }
  TRY(PoiseMatSetBlockSize(*A, r->block));
  TRY(PoiseMatSetType(*A, type));
  return PoiseMatSetFromOptions(*A);
}

static bool AreKept(const Bench *bench, PoiseMat A)
{
  return bench->blocks.b && !strcmp(PoiseMatType(A), "bcsr");
}

/* The bare products by a matrix that solvers work with. */
static PoiseErr EnterProducts(Bench *bench, PoiseMat A, const char *type, Team *team, List *list)
{
  char how[48];
  Ours *p = &team->ours[team->n++];
  TRY(CreateVectors(bench, A, p));
  TRY(Remark(bench, ViewMat, A));
  TRY(PoiseMatMult(A, p->x, p->y)); /* nothing is loaded while it is recorded */
  snprintf(how, sizeof how, "%s product", type);
  Contender *c = Enter(list, "poise", how, &bench->library.lane, p, OP_MULT, CallProducts, NULL);
  c->blocks = AreKept(bench, A);
  c->bytes = MatrixBytes(bench, c->blocks) + 16 * (double)bench->matrix.n;
  return POISE_OK;
}

/* One type of matrix, with one kernel: all variants of the operation. */
static PoiseErr EnterType(Bench *bench, const char *type, const char *word, Team *team, List *list)
{
  PoiseMat A = NULL;
  bool matrix = bench->operation->kind != VECTORS;
  if (matrix) {
    if (team->nA == MAX_MATRICES)
      POISE_FAIL(POISE_ERR_OPTION, "more than %d types and kernels", MAX_MATRICES);
    PoiseMat *place = &team->A[team->nA++];
    TRY(CreateMat(bench, type, word, place));
    if (bench->operation->kind == PRODUCT) TRY(Remark(bench, ViewMat, *place));
    A = *place;
  }
  if (bench->task.sustained) TRY(EnterProducts(bench, A, type, team, list));
  const Ours *first = &team->ours[team->n];
  for (const Variant *v = bench->operation->ours; v->name; v++) {
    char how[128];
    if (v->brief && bench->task.sustained) continue;
    const char *kernel = A && strcmp(PoiseMatCSRKernel(A), "own") ? PoiseMatCSRKernel(A) : word;
    double start = PoiseTime();
    Ours *p = &team->ours[team->n++];
    TRY(CreateOurs(bench, A, v, p));
    double setup = PoiseTime() - start, bytes, flops;
    if (bench->task.sustained && p != first && p->predicts == first->predicts) continue; /* as cg chose */
    if (bench->operation->kind == PRECONDITION) TRY(Remark(bench, ViewPC, p->pc));
    /* not all kernels take all sizes */
    if (bench->operation->kind == PRODUCT) TRY(PoiseMatMult(A, p->x, p->y));
    bool chose = bench->task.sustained && !v->key && !strcmp(v->type, "cg");
    snprintf(how, sizeof how, "%s%s%s%s%s%s%s%s", matrix ? type : bench->operation->name, *kernel ? " " : "",
             kernel, *v->name ? " " : "", v->name,
             !chose        ? ""
             : p->predicts ? " as prcg"
                           : " as phases",
             p->ksp ? ", " : "", p->ksp ? PoiseKSPNormString(PoiseKSPNormUsed(p->ksp)) : "");
    bool looked_at = p->ksp || (bench->operation->op != OP_OTHER && bench->operation->op != OP_AXPY);
    Contender *c = Enter(list, "poise", how, &bench->library.lane, p, bench->operation->op, Call,
                         looked_at ? Result : NULL);
    c->setup = setup;
    c->blocks = A && AreKept(bench, A);
    c->solves = p->ksp != NULL;
    if (!p->ksp) continue;
    Cost(bench, c->blocks, &bytes, &flops);
    c->bytes = bytes - (p->predicts ? 8 * (double)bench->matrix.n : 0); /* one vector fewer */
  }
  return POISE_OK;
}

/* What is not supported says so and is left out. */
static PoiseErr TryType(Bench *bench, const char *type, const char *kernel, Team *team, List *list)
{
  PoiseErr e = EnterType(bench, type, kernel, team, list);
  if (e != POISE_ERR_UNSUPPORTED) return e;
  printf("%-22s poise %s%s%s: not supported: %s\n", bench->name, type, *kernel ? " " : "", kernel,
         PoiseErrorMessage());
  PoiseErrorClear();
  return POISE_OK;
}

static PoiseErr EnterOurs(Bench *bench, Team *team, List *list)
{
  char types[POISE_OPTION_LENGTH], *rest = types;
  snprintf(types, sizeof types, "%s",
           *bench->o.types   ? bench->o.types
           : bench->blocks.b ? "csr,bcsr"
                             : "auto");
  for (char *type = strtok_r(types, ",", &rest); type; type = strtok_r(NULL, ",", &rest)) {
    bool kernels = bench->operation->kind == PRODUCT && bench->blocks.b && !strcmp(type, "bcsr");
    for (int k = 0; k < (kernels ? KERNELS : 1); k++)
      TRY(TryType(bench, type, kernels ? bcsr_kernels[k] : "", team, list));
    if (bench->operation->kind == VECTORS) break; /* has no types */
  }
  return POISE_OK;
}

/* ---- rows: what is right, and what is told --------------------------------------------------- */

/* Whose bytes are counted. */
static const char *FormatOf(const Bench *bench, const Contender *c)
{
  return c->blocks ? "blocks" : bench->operation && bench->operation->kind != VECTORS ? "csr" : "vectors";
}

/* Numbers that are stored, zeros too. */
static double Stored(const Bench *bench, bool blocks)
{
  const Blocks *k = &bench->blocks;
  if (blocks) return (double)k->ptr[k->n] * k->b * k->b;
  return bench->matrix.ptr ? bench->matrix.ptr[bench->matrix.n] : 0;
}

static void Print(Bench *bench, const char *name, Contender *c, const char *mode, double bytes, double flops,
                  double error)
{
  double median = Seconds(c, Median), least = Seconds(c, Least), limit[2], best[2];
  char how[64];
  PlainField(c->how, how, sizeof how);
  for (int k = READ; k <= COPY; k++) {
    limit[k] = GBs(bench->limits.c[k].bytes, Seconds(&bench->limits.c[k], Median));
    best[k] = GBs(bench->limits.c[k].bytes, Seconds(&bench->limits.c[k], Least));
  }
  printf("%-22s %-9s %-34s %-8s us %10.2f (min %.2f)", name, c->who, c->how, mode, 1e6 * median, 1e6 * least);
  if (bytes > 0)
    printf(" | %s bytes %.4g GB/s %.4g (%.4g), of copy %.3f (%.3f), of read %.3f (%.3f)", FormatOf(bench, c),
           bytes, GBs(bytes, median), GBs(bytes, least), GBs(bytes, median) / limit[COPY],
           GBs(bytes, least) / best[COPY], GBs(bytes, median) / limit[READ], GBs(bytes, least) / best[READ]);
  if (!isnan(error))
    printf(" | %s %.2e", bench->operation && bench->operation->kind == SOLVE ? "residual" : "error", error);
  printf("\n");
  fflush(stdout);
  if (!bench->file.stream) return;
  fprintf(bench->file.stream,
          "%s,%s,%s,%s,%lld,%.0f,%d,%lld,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.3g,%.3g,%s\n", name, c->who,
          how, mode, (long long)bench->matrix.n, Stored(bench, c->blocks), c->full.n, (long long)c->units,
          1e6 * median, 1e6 * least, bytes, flops, bytes > 0 ? GBs(bytes, median) : 0, limit[COPY],
          limit[READ], c->setup, error, FormatOf(bench, c));
}

/* When it was measured. */
static void PrintSpans(const Bench *bench, const Contender *c)
{
  char how[64];
  PlainField(c->how, how, sizeof how);
  for (int k = 0; k < c->full.n && bench->file.stream; k++)
    fprintf(bench->file.stream, "# turn: %s,%s,%s,%d,%.3f,%.3f\n", bench->name, c->who, how, k,
            c->span[k].begin, c->span[k].end);
}

/* The run of copies that took turns with a long row. */
static void ReportCopy(Bench *bench)
{
  Contender *c = &bench->limits.c[COPY];
  Print(bench, bench->name, c, "sustained", c->bytes, 0, NAN);
  PrintSpans(bench, c);
}

static PoiseErr Report(Bench *bench, List *list, const char *mode)
{
  double bytes, flops, error[MAX_CONTENDERS], early[MAX_CONTENDERS], least = INFINITY;
  for (int k = 0; k < list->n; k++) {
    TRY(Check(&bench->task, &list->c[k], &error[k], &early[k]));
    if (early[k] < least) least = early[k];
  }
  for (int k = 0; k < list->n; k++) {
    const Contender *c = &list->c[k];
    if (!c->full.n) continue;
    Cost(bench, c->blocks, &bytes, &flops);
    if (c->bytes > 0) bytes = c->bytes;
    Print(bench, bench->name, &list->c[k], mode, bytes, flops, error[k]);
    if (bench->task.sustained) PrintSpans(bench, c);
    if (!c->result || !Wrong(&bench->task, early[k], least)) continue;
    printf("%-22s %s %s is WRONG: %g, the best %g\n", bench->name, c->who, c->how, early[k], least);
    if (bench->file.stream) fprintf(bench->file.stream, "# wrong: %s %s %s\n", bench->name, c->who, c->how);
    bench->failed++;
  }
  return POISE_OK;
}

static PoiseErr Contest(Bench *bench, List *list)
{
  double bytes, flops;
  const Operation *o = bench->operation;
  Cost(bench, bench->blocks.b > 0, &bytes, &flops);
  if (bench->task.sustained) {
    Rules rules = bench->o.rules;
    rules.copied = bytes;
    TRY(Race(&rules, &bench->limits, list, SUSTAINED));
    TRY(Report(bench, list, "sustained"));
    ReportCopy(bench);
    return POISE_OK;
  }
  if (o->kind == SOLVE) {
    TRY(Race(&bench->o.rules, &bench->limits, list, BY_ITERATIONS));
    return Report(bench, list, "step");
  }
  bool fits = bytes < CACHES * bench->o.cache;
  if (fits && o->kind != PATTERN && o->kind != VECTORS) {
    TRY(Race(&bench->o.rules, &bench->limits, list, COLD));
    TRY(Report(bench, list, "cold"));
  }
  TRY(Race(&bench->o.rules, &bench->limits, list, BACK_TO_BACK));
  TRY(Report(bench, list, fits ? "warm" : "memory"));
  if (!fits || o->kind != PRODUCT || !bench->library.lane.recorder) return POISE_OK;
  TRY(Race(&bench->o.rules, &bench->limits, list, REPLAYED));
  return Report(bench, list, "replayed");
}

static PoiseErr Row(Bench *bench)
{
  Team team = {0};
  List list = {0};
  bool matrix = bench->operation->kind != VECTORS;
  bench->task = (Task){.op = bench->operation->op,
                       .formats = AreBlocks(bench) ? BLOCK_FORMATS : ALL_FORMATS,
                       .n = bench->matrix.n,
                       .rows = matrix ? &bench->matrix : NULL,
                       .blocks = matrix && bench->blocks.b ? &bench->blocks : NULL,
                       .x = bench->x,
                       .sustained = bench->o.rules.sustained > 0};
  PoiseErr e = EnterOurs(bench, &team, &list);
  if (!e && bench->o.peers) e = bench->peer->enter(bench->peer_data, &bench->task, &list);
  if (!e && list.n) e = Contest(bench, &list);
  DestroyTeam(&team);
  bench->peer->leave(bench->peer_data);
  return e;
}

/* ---- problems -------------------------------------------------------------------------------- */

static PoiseErr LendCoo(Bench *bench)
{
  const Coo *c = &bench->coo;
  Coo *t = &bench->there;
  size_t bytes = (size_t)c->n * sizeof(double);
  if (!bench->peer->lend) return POISE_OK;
  TRY(bench->peer->lend(c->rows, bytes, (void **)&t->rows));
  TRY(bench->peer->lend(c->cols, bytes, (void **)&t->cols));
  TRY(bench->peer->lend(c->v, bytes, (void **)&t->v));
  t->n = c->n;
  return POISE_OK;
}

static void TakeBackCoo(Bench *bench)
{
  Coo *t = &bench->there;
  if (t->rows) bench->peer->take_back(t->rows);
  if (t->cols) bench->peer->take_back(t->cols);
  if (t->v) bench->peer->take_back(t->v);
  *t = (Coo){0};
}

static void Forget(Bench *bench)
{
  TakeBackCoo(bench);
  DestroyRows(&bench->matrix);
  DestroyBlocks(&bench->blocks);
  DestroyCoo(&bench->coo);
  free(bench->x);
  bench->x = NULL;
}

static PoiseErr RandomNumbers(Bench *bench)
{
  PoiseVec v = NULL;
  const double *from;
  int64_t n = bench->matrix.n;
  bench->x = malloc((size_t)(n + 1) * sizeof *bench->x);
  if (!bench->x) POISE_FAIL(POISE_ERR_MEMORY, "a vector of %lld entries", (long long)n);
  PoiseErr e = PoiseVecCreate(bench->ctx, n, POISE_DECIDE, &v);
  if (!e) e = PoiseVecSetRandom(v, 1);
  if (!e) e = PoiseVecGetRead(v, &from);
  if (!e) {
    memcpy(bench->x, from, (size_t)n * sizeof *from);
    e = PoiseVecRestore(v, &from);
  }
  PoiseVecDestroy(&v);
  return e;
}

static bool NeedsCoo(const Operation *o)
{
  return o->kind == PATTERN || o->kind == VALUES || o->kind == REFRESH;
}

/* The matrix of a row, unless it is there from the row before. Triplets are the entries of its elements. */
static PoiseErr Prepare(Bench *bench, int problem, int vary, int size)
{
  double bytes = size == SMALL ? bench->o.small_bytes : bench->o.bytes;
  bool coo = NeedsCoo(bench->operation);
  if (bench->x && bench->problem == problem && bench->vary == vary && bench->size == size &&
      coo == (bench->coo.n > 0))
    return POISE_OK;
  Forget(bench);
  bench->problem = problem, bench->vary = vary, bench->size = size;
  if (bytes <= 0) bytes = coo ? 5.3e8 : problems[problem].bytes[size]; /* of 27: 102.5 million triplets */
  TRY(CreateRows(bench->ctx, problem, vary, bytes, &bench->matrix));
  if (bench->matrix.block > 1 && !coo) TRY(CutRows(&bench->matrix, &bench->blocks));
  if (coo) {
    Mesh m;
    CreateMesh(bench->ctx, problem, vary, bytes, &m);
    TRY(CreateCoo(&m, false, &bench->coo));
    TRY(LendCoo(bench));
  }
  return RandomNumbers(bench);
}

static const Operation *FindOperation(const char *name)
{
  const Operation *o = operations;
  while (strcmp(o->name, name)) o++;
  return o;
}

/* A row that fails is reported, and the others go on. */
static void Note(Bench *bench, PoiseErr e)
{
  if (!e) return;
  printf("%-22s FAILED: %s: %s\n", bench->name, PoiseErrorString(e), PoiseErrorMessage());
  fputs(PoiseErrorText(), stderr);
  if (bench->file.stream) fprintf(bench->file.stream, "# failed: %s: %s\n", bench->name, PoiseErrorMessage());
  PoiseErrorClear();
  bench->failed++;
}

static int MadeRows(Bench *bench)
{
  int measured = 0;
  bool sustained = bench->o.rules.sustained > 0;
  for (int k = 0; k < (sustained ? LONG_ROWS : ROWS); k++) {
    const BenchRow *row = sustained ? &long_rows[k] : &rows[k];
    bench->operation = FindOperation(row->operation);
    snprintf(bench->name, sizeof bench->name, "%s.%s%s%s", row->operation, problems[row->problem].name,
             row->vary ? ".varied" : "", row->size == SMALL ? ".small" : "");
    if (!Asked(bench->o.only, bench->name)) continue;
    PoiseErr e = Prepare(bench, row->problem, row->vary, row->size);
    if (!e) e = Row(bench);
    Note(bench, e);
    measured++;
  }
  return measured;
}

/* ---- matrices of blocks ---------------------------------------------------------------------- */

/* Full blocks of one size, or what is in the file, cut into them. */
static PoiseErr MakeBlocks(Bench *bench, int b)
{
  const char *file = bench->o.matrix;
  double bytes = bench->o.bytes > 0 ? bench->o.bytes : 2.25e9; /* 1.5e9 of values */
  Forget(bench);
  TRY(*file ? LoadRows(bench->ctx, file, &bench->matrix)
            : CreateBlocks(bench->ctx, b, bytes, &bench->matrix));
  TRY(PadRows(&bench->matrix, b));
  TRY(CutRows(&bench->matrix, &bench->blocks));
  return RandomNumbers(bench);
}

static PoiseErr MakeBlockMatrix(Bench *bench, const BlockMatrix *m)
{
  Forget(bench);
  TRY(CreateBlockMatrix(bench->ctx, m, bench->o.bytes, &bench->matrix));
  TRY(CutRows(&bench->matrix, &bench->blocks));
  return RandomNumbers(bench);
}

/* A matrix from a file is cut only where that was asked for. */
static int BlockRows(Bench *bench)
{
  int measured = 0;
  bool file = *bench->o.matrix;
  bench->operation = FindOperation("blocks");
  for (int b = 1; b <= MAX_BLOCK; b++) {
    snprintf(bench->name, sizeof bench->name, "blocks.%d%s", b, file ? ".file" : "");
    if ((file && !*bench->o.only) || !Asked(bench->o.only, bench->name)) continue;
    PoiseErr e = MakeBlocks(bench, b);
    Note(bench, e ? e : Row(bench));
    measured++;
  }
  for (const BlockMatrix *m = block_matrices; m->name && !file; m++) {
    snprintf(bench->name, sizeof bench->name, "blocks.%s", m->name);
    if (!Asked(bench->o.only, bench->name)) continue;
    PoiseErr e = MakeBlockMatrix(bench, m);
    Note(bench, e ? e : Row(bench));
    measured++;
  }
  return measured;
}

static int FileRows(Bench *bench)
{
  int measured = 0;
  snprintf(bench->name, sizeof bench->name, "file");
  PoiseErr e = LoadRows(bench->ctx, bench->o.matrix, &bench->matrix);
  if (!e) e = RandomNumbers(bench);
  Note(bench, e);
  for (int k = 0; k < ON_FILE && !e; k++) {
    bench->operation = FindOperation(on_file[k]);
    snprintf(bench->name, sizeof bench->name, "%s.file", on_file[k]);
    if (!Asked(bench->o.only, bench->name)) continue;
    if (bench->o.rules.sustained && bench->operation->kind != SOLVE) continue;
    Note(bench, Row(bench));
    measured++;
  }
  return measured + (e != POISE_OK);
}

/* ---- main ------------------------------------------------------------------------------------ */

static PoiseErr Header(Bench *bench, int argc, char **argv)
{
  TRY(DescribeRun(bench->ctx, bench->peer, bench->peer_data, argc, argv, bench->file.stream));
  if (bench->file.stream)
    fputs("row,who,how,mode,rows,nonzeros,repeats,units,median_us,min_us,bytes,flops,gbs,copy_gbs,read_gbs,"
          "setup_s,error,"
          "format\n",
          bench->file.stream);
  return POISE_OK;
}

static PoiseErr Limits(Bench *bench)
{
  TRY(bench->peer->limits(bench->peer_data, &bench->limits));
  bool asked = Asked(bench->o.only, "limits");
  for (int k = 0; k < bench->limits.n; k++)
    TRY(Calibrate(&bench->o.rules, &bench->limits.c[k], BACK_TO_BACK));
  for (PoiseInt r = 0; r < bench->o.rules.repeats; r++)
    for (int k = 0; k < bench->limits.n; k++) TRY(Turn(&bench->limits.c[k], BACK_TO_BACK));
  for (int k = 0; k < bench->limits.n && asked; k++)
    Print(bench, "limits", &bench->limits.c[k], "", bench->limits.c[k].bytes, 0, NAN);
  return POISE_OK;
}

static PoiseErr Open(Bench *bench)
{
  bench->peer = PeerOn(DeviceOf(bench->ctx));
  if (PoiseSize(bench->ctx) > 1)
    POISE_FAIL(POISE_ERR_UNSUPPORTED, "one rank is measured here; bench/cpu measures several");
  TRY(BeginFile(bench->o.out, &bench->file));
  TRY(bench->peer->open(bench->o.numbers, &bench->o.cache, &bench->peer_data));
  return OpenLibrary(bench->ctx, bench->o.cache, &bench->library);
}

static PoiseErr Body(Bench *bench, int argc, char **argv)
{
  TRY(Open(bench));
  TRY(Header(bench, argc, argv));
  TRY(Limits(bench));
  int measured = *bench->o.matrix ? FileRows(bench) : MadeRows(bench);
  if (!bench->o.rules.sustained) measured += BlockRows(bench);
  if (!measured && !Asked(bench->o.only, "limits"))
    POISE_FAIL(POISE_ERR_OPTION, "no row begins with '%s'", bench->o.only);
  return CommitFile(&bench->file);
}

int main(int argc, char **argv)
{
  const PoiseInit init = {.help = "Speed of every operation beside others.", .options = table};
  Bench bench = {0};
  PoiseErr e = PoiseInitialize(&argc, &argv, &init, &bench.ctx);
  if (!e) e = PoiseOptionsDefaults(table, &bench.o);
  if (!e) e = PoiseOptionsRead(bench.ctx, NULL, table, &bench.o);
  if (!e) e = Body(&bench, argc, argv);
  if (e) fputs(PoiseErrorText(), stderr);
  AbortFile(&bench.file);
  Forget(&bench);
  CloseLibrary(&bench.library);
  if (bench.peer) bench.peer->close(bench.peer_data);
  if (bench.ctx && PoiseFinalize(&bench.ctx)) fputs(PoiseErrorText(), stderr);
  if (bench.failed) printf("%d rows FAILED or are WRONG\n", bench.failed);
  return e != POISE_OK || bench.failed;
}
