/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Predicted bytes of objects, asked of a matrix without entries, compared with the bytes that they report
  after a solve. These must be equal where the prediction is exact, else within its bounds. (test_offload.c
  checks reported against allocated bytes.)
*/
#include "ksp/ksp.h"
#include "mat/object/mat.h"
#include "sample.h"

enum { B = 2, NODES = 32 * 20 };

/* ---- matrices of nodes with B unknowns ------------------------------------------------------- */

typedef enum {
  GRID,
  ARROW,
  RAGGED,
  STRIP,
  FEW,
  NPATTERNS
} Pattern; /* STRIP: a small grid; FEW: a node for two ranks each */

static PoiseInt Nodes(Pattern pattern)
{
  return pattern == FEW ? 2 : pattern == STRIP ? NODES / 5 : NODES;
}

/* The k-th node that row i of nodes refers to; -1: there is none, -2: there are no more. */
static PoiseInt Neighbour(Pattern pattern, PoiseInt i, PoiseInt k)
{
  static const int step[] = {0, -1, 1, -32, 32};
  PoiseInt n = Nodes(pattern), j = -1;
  if (k == 0) return i;
  if (pattern == GRID || pattern == STRIP) {
    if (k > 4) return -2;
    j = i + step[k];
    return j < 0 || j >= n ? -1 : j;
  }
  if (pattern == ARROW) return i == 0 || i == n / 3 ? (k < n ? (i + k) % n : -2) : k == 1 ? 0 : -2;
  if (pattern == FEW) return k == 1 ? 1 - i : -2;
  return k > i % 13 * (i % 3) ? -2 : (i + k * (k + i % 7)) % n;
}

/* Its blocks are full, and the diagonal outweighs the rest. */
static PoiseErr Fill(PoiseMat A, Pattern pattern)
{
  PoiseInt begin, m;
  PoiseErr e = POISE_OK;
  PoiseSplit(PoiseMatContext(A), Nodes(pattern), &begin, &m);
  for (PoiseInt i = begin; !e && i < begin + m; i++)
    for (PoiseInt k = 0, j; !e && (j = Neighbour(pattern, i, k)) != -2; k++) {
      double v[B * B], far = 1 + fabs((double)(i - j));
      for (int q = 0; q < B * B; q++) v[q] = k ? -0.1 / (far * far) : q % (B + 1) ? -0.1 : 4;
      PoiseInt rows[] = {i * B, i * B + 1}, cols[] = {j * B, j * B + 1};
      if (j >= 0) e = PoiseMatSetBlock(A, B, rows, B, cols, v);
    }
  PoiseErr all = PoiseMatAssemble(A);
  return e ? e : all;
}

/* Of `type` with those options, and as yet without entries. */
static PoiseErr Create(PoiseContext ctx, Pattern pattern, const char *type, const char *options, PoiseMat *A)
{
  PoiseInt begin, m, N = Nodes(pattern) * B;
  char all[256];
  snprintf(all, sizeof all, "-p_mat_type %s %s", type, options);
  TRY(PoiseOptionsSetString(ctx, all));
  PoiseSplit(ctx, N / B, &begin, &m);
  TRY(PoiseMatCreate(ctx, m * B, m * B, N, N, A));
  TRY(PoiseMatSetBlockSize(*A, B));
  TRY(PoiseMatSetOptionsPrefix(*A, "p_"));
  return PoiseMatSetFromOptions(*A);
}

static PoiseMatCounts CountsOf(PoiseMat A, int transpose)
{
  const Csr *c = &A->csr;
  return (PoiseMatCounts){.nonzeros = poiseCsrScalars(c),
                          .ghosts = c->nghost * poiseCsrSide(c),
                          .sends = c->halo ? c->halo->nsend : 0,
                          .transpose = transpose};
}

/* ---- judgement ------------------------------------------------------------------------------- */

static _Thread_local const char *where; /* a name for messages: of the case */

/* factor: that `most` may be of what is held, on both sides together; 1: exact, though not more than some
   bytes are known so. */
static bool Judge(const PoisePrediction *p, PoiseBytes held, double factor)
{
  const int64_t some = 4096;
  int64_t most = p->most.host + p->most.device, all = held.host + held.device;
  bool within = CHECK(p->least.host <= held.host && held.host <= p->most.host) &&
                CHECK(p->least.device <= held.device && held.device <= p->most.device);
  bool near = factor > 1 ? CHECK((double)most <= factor * (double)all + (double)some)
                         : CHECK_INT(most, p->least.host + p->least.device) && CHECK_INT(all, most);
  if (!within || !near)
    printf("%s: host %lld in %lld .. %lld, device %lld in %lld .. %lld, factor %g\n", where,
           (long long)held.host, (long long)p->least.host, (long long)p->most.host, (long long)held.device,
           (long long)p->least.device, (long long)p->most.device, factor);
  return within && near;
}

static bool IsCuda(PoiseContext ctx)
{
  return !strcmp(ctx->device->ops->name, "cuda");
}

/* Scratch of the context that grows with the longest vector is there before anything is counted. */
static bool Reserve(PoiseContext ctx)
{
  return CHECK_OK(poiseReduceReserve(ctx, POISE_MAX_BATCH * POISE_NBLOCKS(NODES * B)));
}

/* ---- matrices -------------------------------------------------------------------------------- */

typedef struct Case {
  const char *type, *options;
  double grid, other; /* factors: of rows that are nearly even, and of others */
  const char *device; /* the only one, or NULL */
} Case;

static const Case cases[] = {
    {"csr", "", 1, 1, NULL},
    {"csr", "-p_mat_index16", 1.3, 2, NULL},
    {"csr", "-p_mat_csr_kernel mock", 1, 1, "mock"}, /* its plan is subtracted */
    {"csr", "-p_mat_csr_kernel cusparse", 1.1, 1.1, "cuda"},
    {"csri", "", 1, 1, NULL},
    {"csri", "-p_mat_csri_chunk 32", 1.6, 1.6, NULL},
    {"csri", "-p_mat_csri_chunk 32 -p_mat_combine atomic", 1, 1, NULL}, /* small: rows are cut */
    {"csri", "-p_mat_csri_hubs 16", 1.1, 1.1, NULL},
    {"seg", "", 1.1, 1.1, NULL},
    {"seg", "-p_mat_seg_length 4", 1.1, 1.1, NULL},
    {"seg", "-p_mat_seg_padded", 2, 4, NULL},
    {"bcsr", "", 1.1, 1.1, NULL},
    {"bcsr", "-p_mat_bcsr_kernel even", 1, 1, NULL},
    {"bcsr", "-p_mat_bcsr_kernel balanced", 1, 1, NULL},
    {"bcsr", "-p_mat_bcsr_kernel column", 1, 1, "cuda"},
    {"auto", "", 3, 3, NULL}, /* which makes these matrices blocks */
};
enum { NCASES = sizeof cases / sizeof *cases };

static bool Runs(PoiseContext ctx, const Case *c)
{
  bool wide = ctx->hooks.most_narrow < 0; /* int64 offsets, by which no library multiplies */
  return !c->device ||
         (!strcmp(c->device, ctx->device->ops->name) && !(wide && strstr(c->options, "cusparse")));
}

/* For matrices: the host may read blocks, which the device alone has, or not. */
static double Factor(PoiseContext ctx, const Case *c, double factor)
{
  return SampleIsAway(ctx) && !strcmp(c->type, "bcsr") ? 2 * factor : factor;
}

/* Options keep no memory of those before. */
static void Forget(PoiseContext ctx)
{
  CHECK_OK(PoiseOptionsSetString(
      ctx,
      "-p_mat_index16 0 -p_mat_csr_kernel own -p_mat_csri_chunk 0 -p_mat_csri_hubs -1 -p_mat_combine ordered "
      "-p_mat_seg_length 0 -p_mat_seg_padded 0 -p_mat_bcsr_kernel auto"));
}

static PoiseErr Work(PoiseMat A, int transpose)
{
  PoiseVec x, y;
  TRY(PoiseMatCreateVecs(A, &x, &y));
  PoiseErr e = PoiseVecSetRandom(x, 1);
  if (!e) e = PoiseMatMult(A, x, y);
  if (!e && transpose) e = PoiseMatMultTranspose(A, y, x);
  if (!e) e = PoiseAgree(A->ctx, poiseMatReady(A)); /* as a solver does */
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
  return e;
}

static void CheckMatrix(PoiseContext ctx, const Case *c, Pattern pattern, int transpose)
{
  static const char *const names[] = {"grid", "arrow", "ragged", "strip", "few"};
  PoiseMat A, empty;
  PoisePrediction before, after;
  PoiseBytes held;
  char name[200];
  /* on cuda several ranks order row blocks, whose number is not known */
  double factor = pattern == ARROW || pattern == RAGGED ? c->other : c->grid;
  if (factor == 1 && IsCuda(ctx)) factor = 1.1;
  snprintf(name, sizeof name, "%s %s %s%s", c->type, c->options, names[pattern],
           transpose ? ", transpose" : "");
  Forget(ctx);
  if (!CHECK_OK(Create(ctx, pattern, c->type, c->options, &A)) || !CHECK_OK(Fill(A, pattern)) ||
      !CHECK_OK(Create(ctx, pattern, c->type, c->options, &empty)))
    return;
  PoiseMatCounts counts = CountsOf(A, transpose);
  int64_t bytes = ctx->memory.bytes + ctx->device->bytes;
  CHECK_OK(PoiseMatPredictBytes(empty, &counts, &before));
  CHECK_INT(ctx->memory.bytes + ctx->device->bytes, bytes); /* nothing is allocated */
  CHECK_OK(Work(A, transpose));
  CHECK_OK(PoiseMatBytes(A, &held, NULL));
  if (A->product.options.library) held.device -= A->product.library.plan.bytes;
  where = name;
  factor = Factor(ctx, c, factor);
  Judge(&before, held, factor);
  CHECK((before.beyond != NULL) == (!strcmp(c->type, "auto") || A->product.options.library));
  CHECK_OK(PoiseMatPredictBytes(A, NULL, &after));
  Judge(&after, held, factor);
  CHECK_OK(PoiseMatDestroy(&A));
  CHECK_OK(PoiseMatDestroy(&empty));
}

static void TestMatrices(PoiseContext ctx)
{
  if (!Reserve(ctx)) return;
  for (int k = 0; k < NCASES; k++)
    for (int pattern = 0; Runs(ctx, &cases[k]) && pattern < NPATTERNS; pattern++)
      for (int transpose = 0; transpose < 2; transpose++)
        CheckMatrix(ctx, &cases[k], (Pattern)pattern, transpose);
}

/* M x N with `row` entries, or N, in each row. */
static void CheckShape(PoiseContext ctx, const Case *c, PoiseInt M, PoiseInt N, PoiseInt row)
{
  PoiseMat A;
  PoiseInt m = POISE_DECIDE, begin;
  PoisePrediction p, known;
  PoiseBytes held;
  char all[256];
  snprintf(all, sizeof all, "-p_mat_type %s %s", c->type, c->options);
  Forget(ctx);
  if (!CHECK_OK(PoiseOptionsSetString(ctx, all)) || !CHECK_OK(PoiseMatCreate(ctx, m, m, M, N, &A)) ||
      !CHECK_OK(PoiseMatSetOptionsPrefix(A, "p_")) || !CHECK_OK(PoiseMatSetFromOptions(A)))
    return;
  PoiseSplit(ctx, M, &begin, &m);
  for (PoiseInt i = begin; i < begin + m; i++)
    for (PoiseInt k = 0; k < row && k < N; k++)
      CHECK_OK(PoiseMatSetBlock(A, 1, &i, 1, (PoiseInt[]){(i + k * (1 + i % 3)) % N}, (double[]){1}));
  CHECK_OK(PoiseMatAssemble(A));
  CHECK_OK(Work(A, 1));
  PoiseMatCounts counts = CountsOf(A, 1);
  CHECK_OK(PoiseMatBytes(A, &held, NULL));
  if (A->product.options.library) held.device -= A->product.library.plan.bytes;
  CHECK_OK(PoiseMatPredictBytes(A, &counts, &p));
  CHECK_OK(PoiseMatPredictBytes(A, NULL, &known));
  where = c->options;
  double factor = c->other > 1 || IsCuda(ctx) ? c->other + 1
                  : M > 10000                 ? 1.001
                                              : 1; /* of long columns the fragments are not known */
  factor = Factor(ctx, c, factor);
  Judge(&known, held, factor);
  Judge(&p, held, factor);
  CHECK_OK(PoiseMatDestroy(&A));
}

static void TestShapes(PoiseContext ctx)
{
  static const PoiseInt shape[][3] = {{0, 0, 1},
                                      {9, 0, 1},
                                      {0, 9, 1},
                                      {9, 9, 0},
                                      {1, 900, 900},
                                      /* columns in fragments */
                                      {900, 1, 1},
                                      {90, 60, 7},
                                      {60, 90, 40},
                                      {90000, 3, 1}};
  if (!Reserve(ctx)) return;
  for (int k = 0; k < NCASES; k++)
    for (size_t s = 0; Runs(ctx, &cases[k]) && s < sizeof shape / sizeof *shape; s++)
      CheckShape(ctx, &cases[k], shape[s][0], shape[s][1], shape[s][2]);
}

/* ---- preconditioners and solvers ------------------------------------------------------------- */

typedef struct PCCase {
  const char *options;
  double factor;    /* before there are entries, */
  double assembled; /* and of those that are there */
  bool multiplies;  /* inside */
  bool dense;       /* not for many rows */
} PCCase;

/* On several ranks, or blocks, of one the entries inside are not known, nor levels. */
static const PCCase pcs[] = {
    {"-s_pc_type none", 1, 1, false, false},
    {"-s_pc_type jacobi", 1, 1, false, false},
    {"-s_pc_type pbjacobi", 1, 1, false, false},
    {"-s_pc_type ilu", 2, 2, false, false},
    {"-s_pc_type icc", 2, 2, false, false},
    {"-s_pc_type ilu -s_pc_factor_sweeps 2", 2, 2, false, false},
    {"-s_pc_type ilu -s_pc_factor_sweeps 2 -s_pc_factor_setup_sweeps 3", 2, 2, false, false},
    {"-s_pc_type icc -s_pc_factor_setup_sweeps 3", 2, 2, false, false},
    {"-s_pc_type sor", 3, 3, false, false},
    {"-s_pc_type sor -s_pc_sor_its 2", 3, 3, false, false},
    {"-s_pc_type sor -s_pc_sor_order colours", 300, 300, false, false},
    {"-s_pc_type ilu -s_pc_factor_order colours", 300, 300, false, false},
    {"-s_pc_type lu", 1, 1, false, true},
    {"-s_pc_type bjacobi", 2, 2, false, false},
    {"-s_pc_type bjacobi -s_sub_pc_type jacobi", 2, 2, false, false},
    {"-s_pc_type bjacobi -s_pc_bjacobi_local_blocks 3", 2, 2, false, false},
    {"-s_pc_type bjacobi -s_sub_ksp_type gmres -s_sub_ksp_max_it 2 -s_sub_pc_type none", 2, 2, false, false},
    {"-s_pc_type bjacobi -s_pc_bjacobi_local_blocks 1 -s_sub_pc_type lu", 1.5, 1.5, false, true},
    {"-s_pc_type bjacobi -s_pc_bjacobi_supervariables 8", 9, 9, false, false},
    {"-s_pc_type ksp -s_ksp_ksp_type richardson -s_ksp_ksp_max_it 2 -s_ksp_pc_type jacobi", 1, 1, true,
     false},
    {"-s_pc_type ksp -s_ksp_ksp_max_it 2 -s_ksp_pc_type ilu", 2, 2, false, false},
    {"-s_pc_type ksp -s_ksp_ksp_max_it 2 -s_ksp_pc_type ilu -s_ksp_reuse_preconditioner", 2, 2, true,
     false}, /* a copy of P, too */
    {"-s_pc_type ksp -s_ksp_ksp_type preonly -s_ksp_pc_type jacobi -s_ksp_reuse_preconditioner", 1, 1, false,
     false},
    {"-s_pc_type bjacobi -s_sub_ksp_type gmres -s_sub_ksp_max_it 2 -s_sub_pc_type none "
     "-s_ksp_reuse_preconditioner",
     2, 2, false, false},
};
enum { NPCS = sizeof pcs / sizeof *pcs };

static PoiseErr CreateSolver(PoiseContext ctx, PoiseMat A, const char *method, const char *options,
                             PoiseKSP *ksp)
{
  TRY(PoiseOptionsSetString(ctx,
                            "-s_sub_ksp_type preonly -s_sub_pc_type ilu -s_pc_bjacobi_local_blocks 0 "
                            "-s_pc_sor_its 1 -s_pc_sor_order natural "
                            "-s_pc_bjacobi_supervariables 0 -s_ksp_ksp_type gmres -s_ksp_pc_type none "
                            "-s_ksp_reuse_preconditioner no -s_ksp_gmres_basis fp64 -s_pc_factor_sweeps 0 "
                            "-s_pc_factor_setup_sweeps 0 -s_pc_factor_order natural"));
  TRY(PoiseOptionsSetString(ctx, options));
  TRY(PoiseOptionsSet(ctx, "s_ksp_type", method));
  TRY(PoiseKSPCreate(ctx, ksp));
  TRY(PoiseKSPSetTolerances(*ksp, -1, -1, 1e300, 2));
  TRY(PoiseKSPSetOptionsPrefix(*ksp, "s_"));
  TRY(PoiseKSPSetFromOptions(*ksp));
  return PoiseKSPSetOperators(*ksp, A, NULL);
}

static PoiseErr Solve(PoiseKSP ksp)
{
  PoiseVec b, x;
  TRY(PoiseMatCreateVecs(ksp->A, &x, &b));
  PoiseErr e = PoiseVecSetRandom(b, 2);
  if (!e) e = PoiseKSPSolve(ksp, b, x);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&b);
  return e;
}

/* Asked of a matrix without entries; of the assembled one, before and after the preconditioner was built. */
static void CheckSolver(PoiseContext ctx, const Case *c, const PCCase *p, const char *method, Pattern pattern)
{
  PoiseMat A, empty;
  PoiseKSP ksp, other;
  PoisePC pc;
  PoisePrediction asked, solver, known[2];
  PoiseBytes held;
  char name[300];
  bool cuts = c->grid > 1 || IsCuda(ctx); /* partials are not known */
  double few =
      IsCuda(ctx)
          ? 8
          : 1.7; /* rows, of which partials are much: a GPU has row blocks of some hundred entries, or none */
  double inside = p->multiplies && cuts ? few : 1, open = !strcmp(c->type, "auto") ? 5 : 1;
  if (strstr(p->options, "bjacobi")) inside = fmax(inside, c->other); /* which has matrices */
  snprintf(name, sizeof name, "%s %s, %s, %s", c->type, c->options, p->options, method);
  where = name;
  Forget(ctx);
  if (!CHECK_OK(Create(ctx, pattern, c->type, c->options, &A)) || !CHECK_OK(Fill(A, pattern)) ||
      !CHECK_OK(Create(ctx, pattern, c->type, c->options, &empty)) ||
      !CHECK_OK(CreateSolver(ctx, empty, method, p->options, &other)) ||
      !CHECK_OK(CreateSolver(ctx, A, method, p->options, &ksp)))
    return;
  PoiseMatCounts counts = CountsOf(A, 0);
  CHECK_OK(PoiseKSPPredictBytes(other, &counts, &solver));
  CHECK_OK(PoiseKSPGetPC(other, &pc));
  CHECK_OK(PoisePCPredictBytes(pc, &counts, &asked));
  CHECK_OK(PoiseKSPGetPC(ksp, &pc));
  CHECK_OK(PoisePCPredictBytes(pc, NULL, &known[0]));
  if (CHECK_OK(Solve(ksp))) {
    CHECK_OK(PoisePCBytes(pc, &held));
    if (pc->kept && pc->kept->product.options.library) held.device -= pc->kept->product.library.plan.bytes;
    CHECK_OK(PoisePCPredictBytes(pc, NULL, &known[1]));
    int64_t builds = pc->builds;
    CHECK_OK(Solve(ksp));
    CHECK_INT(pc->builds, builds); /* the question has changed nothing */
    Judge(&asked, held, fmax(fmax(p->factor, inside), open));
    for (int k = 0; k < 2; k++) Judge(&known[k], held, fmax(p->assembled, inside));
    CHECK_OK(PoiseKSPBytes(ksp, &held));
    Judge(&solver, held, fmax(cuts ? few : 1, open));
  }
  CHECK_OK(PoiseKSPDestroy(&ksp));
  CHECK_OK(PoiseKSPDestroy(&other));
  CHECK_OK(PoiseMatDestroy(&A));
  CHECK_OK(PoiseMatDestroy(&empty));
}

/* On a GPU, where setting up takes time, a third of all pairs. On several ranks a third, too: 2, 3 and 7 have
   another one each. */
static bool InTurn(PoiseContext ctx, int k)
{
  int size = PoiseSize(ctx);
  return IsCuda(ctx) ? k % 3 == 0 : size == 1 || (k + size) % 3 == 0;
}

/* Factors by sweeps take no blocks, of which these types make, or may make, the matrix. */
static bool Fits(const Case *c, const PCCase *p)
{
  return !strstr(p->options, "setup_sweeps") ||
         (strcmp(c->type, "bcsr") != 0 && strcmp(c->type, "auto") != 0);
}

static void TestPreconditioners(PoiseContext ctx)
{
  if (!Reserve(ctx)) return;
  for (int k = 0; k < NCASES; k++)
    for (int p = 0; Runs(ctx, &cases[k]) && p < NPCS; p++)
      if (InTurn(ctx, k + p) && Fits(&cases[k], &pcs[p]))
        CheckSolver(ctx, &cases[k], &pcs[p], "richardson", pcs[p].dense ? STRIP : GRID);
}

#define KSP_TYPE(name) #name,
static const char *const methods[] = {
#include "ksp/types.def"
};
#undef KSP_TYPE

/* jacobi, but for least squares: the A^T A of their M is beyond what is predicted, and they say so. */
static const PCCase *PCOf(const char *method)
{
  return &pcs[strcmp(method, "lsqr") && strcmp(method, "cgls")];
}

static void TestSolvers(PoiseContext ctx)
{
  if (!Reserve(ctx)) return;
  for (int k = 0; k < NCASES; k++)
    for (size_t m = 0; Runs(ctx, &cases[k]) && m < sizeof methods / sizeof *methods; m++)
      if (InTurn(ctx, k + (int)m))
        CheckSolver(ctx, &cases[k], PCOf(methods[m]), methods[m], m % 2 ? ARROW : GRID);
  const PCCase single = {"-s_pc_type jacobi -s_ksp_gmres_basis fp32", 1, 1, false, false};
  CheckSolver(ctx, &cases[0], &single, "gmres", GRID);
  CheckSolver(ctx, &cases[0], &single, "fgmres", ARROW);
}

/* ---- a matrix without entries of its own ----------------------------------------------------- */

static void TestShell(PoiseContext ctx)
{
  PoiseMat A;
  PoiseKSP ksp;
  PoisePrediction p, matrix;
  PoiseBytes held;
  Forget(ctx);
  if (!Reserve(ctx) ||
      !CHECK_OK(PoiseMatCreateShell(ctx, POISE_DECIDE, POISE_DECIDE, NODES, NODES,
                                    &(PoiseShell){.mult = SampleTwice}, NULL, &A)) ||
      !CHECK_OK(CreateSolver(ctx, A, "cg", "-s_pc_type none", &ksp)))
    return;
  where = "shell";
  CHECK_OK(PoiseMatPredictBytes(A, NULL, &matrix));
  CHECK_OK(PoiseKSPPredictBytes(ksp, NULL, &p));
  CHECK_OK(Solve(ksp));
  CHECK_OK(PoiseKSPBytes(ksp, &held));
  Judge(&p, held, 1);
  CHECK_OK(PoiseMatBytes(A, &held, NULL));
  if (SampleIsAway(ctx))
    CHECK(held.device <= matrix.most.device && matrix.most.device == 8 * A->rows->n); /* perhaps none */
  else
    Judge(&matrix, held, 1);
  CHECK_OK(PoiseKSPDestroy(&ksp));
  CHECK_OK(PoiseMatDestroy(&A));
}

/* ---- what is wrong --------------------------------------------------------------------------- */

static void TestWrong(PoiseContext ctx)
{
  PoiseMat A;
  PoisePC pc;
  PoiseKSP ksp;
  PoisePrediction p;
  PoiseMatCounts none = {0}, bad = {.nonzeros = -1}, huge = {.nonzeros = INT64_MAX}, part = {.nonzeros = 6};
  Forget(ctx);
  if (!CHECK_OK(Create(ctx, GRID, "bcsr", "", &A)) || !CHECK_OK(PoisePCCreate(ctx, &pc)) ||
      !CHECK_OK(PoiseKSPCreate(ctx, &ksp)))
    return;
  CHECK_ERR(PoiseMatPredictBytes(A, NULL, &p), POISE_ERR_STATE, "no entries yet");
  CHECK_ERR(PoiseMatPredictBytes(A, &bad, &p), POISE_ERR_ARG, "-1 nonzeros");
  CHECK_ERR(PoiseMatPredictBytes(A, &part, &p), POISE_ERR_ARG, "whole blocks of 2 x 2");
  huge.nonzeros -= 3;
  CHECK_ERR(PoiseMatPredictBytes(A, &huge, &p), POISE_ERR_MEMORY, "no machine");
  if (PoiseSize(ctx) == 1)
    CHECK_ERR(PoiseMatPredictBytes(A, &(PoiseMatCounts){.nonzeros = 8, .ghosts = 2}, &p), POISE_ERR_ARG,
              "2 ghosts");
  CHECK_ERR(PoiseMatPredictBytes(A, &(PoiseMatCounts){.nonzeros = 4, .ghosts = 8}, &p), POISE_ERR_ARG,
            "8 ghosts");
  CHECK_ERR(PoisePCPredictBytes(pc, &none, &p), POISE_ERR_STATE, "no matrix");
  CHECK_ERR(PoiseKSPPredictBytes(ksp, &none, &p), POISE_ERR_STATE, "no matrix");
  CHECK_OK(PoiseKSPSetOperators(ksp, A, NULL));
  CHECK_OK(PoiseKSPPredictBytes(ksp, &none, &p));
  CHECK(!p.beyond);
  CHECK_OK(PoiseMatSetPartition(A, POISE_PARTITION_NONZEROS));
  CHECK_OK(PoiseKSPPredictBytes(ksp, &none, &p));
  CHECK(!p.beyond == (PoiseSize(ctx) == 1)); /* rows move */
  CHECK_OK(PoisePCSetOperator(pc, A));
  CHECK_ERR(PoisePCPredictBytes(pc, NULL, &p), POISE_ERR_STATE, "");
  CHECK_OK(PoisePCSetType(pc, "lu"));
  CHECK_OK(PoiseOptionsSet(ctx, "pc_lu_max_size", "100"));
  CHECK_OK(PoiseOptionsSet(ctx, "pc_factor_solver", "dense"));
  CHECK_OK(PoisePCSetFromOptions(pc));
  CHECK_ERR(PoisePCPredictBytes(pc, &none, &p), POISE_ERR_SIZE, "lu is dense");
  CHECK_OK(PoiseOptionsSet(ctx, "pc_factor_solver", "superlu"));
  CHECK_OK(PoisePCSetFromOptions(pc));
  CHECK_OK(PoisePCPredictBytes(pc, &none, &p));
  CHECK(p.beyond && strstr(p.beyond, "SuperLU"));
  CHECK_OK(PoiseMatSetBlockSize(A, 0));
  CHECK_ERR(PoiseMatPredictBytes(A, &none, &p), POISE_ERR_STATE, "to be found");
  CHECK_OK(PoiseMatDestroy(&A));
  if (!CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, 0, 0, &A))) return;
  CHECK_OK(PoiseMatSetType(A, "csr"));
  CHECK_OK(PoiseMatPredictBytes(A, &none, &p));
  CHECK_INT(SampleIsAway(ctx) ? p.most.device : p.most.host,
            ctx->hooks.most_narrow < 0 ? 8 : 4); /* an offset */
  CHECK_OK(PoiseVecPredictBytes(ctx, 5, &p));
  CHECK_INT(SampleIsAway(ctx) ? p.least.device : p.least.host, 40);
  CHECK_INT(p.most.host, 40);
  CHECK_ERR(PoiseVecPredictBytes(ctx, -1, &p), POISE_ERR_ARG, "-1 entries");
  CHECK_OK(PoiseMatDestroy(&A));
  CHECK_OK(PoisePCDestroy(&pc));
  CHECK_OK(PoiseKSPDestroy(&ksp));
}

/* A type that says what it holds says what it will hold. */
static void TestHooks(PoiseContext ctx)
{
#define MAT_TYPE(name) &poiseMatType_##name,
  static const MatType *const mats[] = {
#include "mat/types.def"
  };
#undef MAT_TYPE
#define PC_TYPE(name) extern const PCType poisePCType_##name;
#include "pc/types.def"
#undef PC_TYPE
#define PC_TYPE(name) &poisePCType_##name,
  static const PCType *const types[] = {
#include "pc/types.def"
  };
#undef PC_TYPE
  (void)ctx;
  for (size_t k = 0; k < sizeof mats / sizeof *mats; k++) CHECK(!mats[k]->bytes == !mats[k]->predict);
  for (size_t k = 0; k < sizeof types / sizeof *types; k++) CHECK(!types[k]->bytes == !types[k]->predict);
}

static PoiseErr Ask(PoiseContext ctx, void *arg)
{
  PoiseMat A = NULL;
  PoisePC pc = NULL;
  PoisePrediction p;
  PoiseInt begin, m;
  PoiseSplit(ctx, NODES, &begin, &m);
  PoiseErr e = PoiseMatCreate(ctx, m, m, NODES, NODES, &A);
  if (!e) e = PoisePCCreate(ctx, &pc);
  if (!e) e = PoisePCSetType(pc, arg);
  if (!e) e = PoisePCSetOperator(pc, A);
  if (!e) e = PoisePCPredictBytes(pc, &(PoiseMatCounts){.nonzeros = 5 * m}, &p);
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
  return e;
}

static void TestFailures(PoiseContext ctx)
{
  TestAllocationFailures(ctx, Ask, "bjacobi");
  TestAllocationFailures(ctx, Ask, "ksp");
}

static const Test tests[] = {{"matrices", TestMatrices, 0},
                             {"shapes", TestShapes, 0},
                             {"preconditioners", TestPreconditioners, 0},
                             {"solvers", TestSolvers, 0},
                             {"wrong", TestWrong, 0},
                             {"shell", TestShell, 0},
                             {"hooks", TestHooks, TEST_SERIAL | TEST_HOST_ONLY},
                             {"failures", TestFailures, 0},
                             {NULL, NULL, 0}};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "predict", tests);
}
