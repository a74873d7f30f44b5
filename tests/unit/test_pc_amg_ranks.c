/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The preconditioner amg on several ranks. Levels are spread over the ranks down to the smallest, unless a
  test says otherwise; a matrix of the rank alone is what one rank makes.
*/
#include "mat/object/mat_type.h"
#include "pc/amg/cycle.h"
#include "pc/amg/explain.h"
#include "multigrid.h"

static const char spread[] = /* in fp64, as numbers of levels are looked at */
    "-x_pc_amg_redundant_size 0 -x_pc_amg_coarse_size 20 -x_pc_amg_precision double";

/* ---- matrices between levels ------------------------------------------------------------------ */

/* |x - y| <= tol |x|; y is lost. */
static void CheckSame(PoiseVec x, PoiseVec y, double tol)
{
  CHECK_OK(PoiseVecAXPY(y, -1, x));
  CHECK(NormOf(y) <= tol * NormOf(x));
}

/* Rv = P^T v, as in a cycle. */
static void Restrict(PoisePC pc, AmgLevel *l, PoiseVec v, PoiseVec Rv)
{
  AmgVec from = {.wide = v}, to = {.wide = Rv};
  CHECK_OK(poiseAmgRestrict(Made(pc), l, 1, &from, &to, NULL));
}

/* R = P^T and C = P^T A P, by what they make of vectors. */
static void CheckLevel(PoisePC pc, AmgLevel *l, PoiseMat C)
{
  PoiseVec u, v, Pu, APu, Rv, Cu;
  if (!CHECK_OK(PoiseMatCreateVecs(l->P, &u, &v)) || !CHECK_OK(PoiseVecDuplicate(v, &Pu)) ||
      !CHECK_OK(PoiseVecDuplicate(v, &APu)) || !CHECK_OK(PoiseVecDuplicate(u, &Rv)) ||
      !CHECK_OK(PoiseVecDuplicate(u, &Cu)))
    return;
  SampleFill(u, 1);
  SampleFill(v, 2);
  CHECK_OK(PoiseMatMult(l->P, u, Pu));
  Restrict(pc, l, v, Rv);
  CHECK_NEAR(Dot(Pu, v), Dot(u, Rv), 1e-12 * NormOf(Pu) * NormOf(v));
  CHECK_OK(PoiseMatMult(l->A, Pu, APu));
  Restrict(pc, l, APu, Rv);
  CHECK_OK(PoiseMatMult(C, u, Cu));
  CheckSame(Rv, Cu, 1e-12);
  PoiseVec *all[] = {&u, &v, &Pu, &APu, &Rv, &Cu};
  for (int k = 0; k < 6; k++) PoiseVecDestroy(all[k]);
}

/* The same on all ranks? Numbers up to 2^32 are exact. */
static bool Alike(PoiseContext ctx, uint64_t bits)
{
  int64_t v[] = {(int64_t)(bits >> 32), (int64_t)(bits & UINT32_MAX), -(int64_t)(bits >> 32),
                 -(int64_t)(bits & UINT32_MAX)};
  return CHECK_OK(poiseCommMaxInt(ctx->comm, v, 4)) && v[0] == -v[2] && v[1] == -v[3];
}

/* What the application is told, and no more of it than it asks for. */
static void CheckSizes(PoisePC pc)
{
  const Amg *amg = Made(pc);
  PoiseInt rows[AMG_LEVELS], entries[AMG_LEVELS], M, N, nz;
  int levels = 0;
  CHECK_OK(PoisePCAMGGetSizes(pc, 0, NULL, NULL, &levels));
  CHECK(levels == amg->count);
  for (int room = 1; room <= AMG_LEVELS; room += AMG_LEVELS - 1) {
    rows[1] = entries[1] = -1;
    CHECK_OK(PoisePCAMGGetSizes(pc, room, rows, entries, &levels));
    CHECK(levels == amg->count && (room > 1 || (rows[1] == -1 && entries[1] == -1)));
    for (int k = 0; k < levels && k < room; k++) {
      PoiseMatSizes(amg->level[k].A, &M, &N);
      CHECK_OK(PoiseMatNonzeros(amg->level[k].A, &nz));
      CHECK(rows[k] == M && entries[k] == nz);
    }
  }
}

/* And lambda is that of all ranks. */
static void CheckLevels(PoisePC pc)
{
  CheckSizes(pc);
  Amg *amg = pc->data;
  for (int k = 0; k < amg->count; k++) CHECK(Alike(pc->ctx, SampleBits(amg->level[k].lambda)));
  for (int k = 0; k + 1 < amg->count; k++)
    CheckLevel(pc, &amg->level[k], poiseAmgIsRedundant(amg, k + 1) ? amg->redundant.A : amg->level[k + 1].A);
}

/* Each aggregate's vector has length 1, so that constants are interpolated from the roots of their sizes; to
   the nodes of other ranks too. */
static void CheckConstants(PoisePC pc)
{
  const AmgLevel *l = &Made(pc)->level[0];
  PoiseVec coarse, fine;
  Buffer of; /* what is read stays the preconditioner's */
  const int32_t *aggregate;
  double *size;
  const double *one;
  if (!CHECK_OK(PoiseMatCreateVecs(l->P, &coarse, &fine))) return;
  if (!CHECK_OK(poiseBufferDuplicate(&l->aggregate, &of)) ||
      !CHECK_OK(poiseBufferRead(&of, HOST, &aggregate)))
    return;
  SampleConstant(coarse, 0);
  if (CHECK_OK(PoiseVecGetUpdate(coarse, &size))) {
    for (PoiseInt i = 0; i < PoiseVecLocalSize(fine); i++)
      if (CHECK(aggregate[i] >= 0)) size[aggregate[i]] += 1;
    for (PoiseInt a = 0; a < PoiseVecLocalSize(coarse); a++) size[a] = sqrt(size[a]);
    CHECK_OK(PoiseVecRestore(coarse, &size));
  }
  CHECK_OK(PoiseMatMult(l->P, coarse, fine));
  CHECK_OK(PoiseVecGetRead(fine, &one));
  for (PoiseInt i = 0; i < PoiseVecLocalSize(fine); i++) CHECK_NEAR(one[i], 1, 1e-12);
  CHECK_OK(PoiseVecRestore(fine, &one));
  poiseBufferDestroy(&of);
  PoiseVecDestroy(&coarse);
  PoiseVecDestroy(&fine);
}

static void TestLevels(PoiseContext ctx)
{
  SetOptions(ctx, spread);
  for (int layout = 0; layout < NLAYOUTS; layout++) {
    for (int dim = 2; dim <= 3; dim++) {
      PoiseMat A;
      if (!CHECK_OK(
              GridMatrix(ctx, layout, (Grid){.dim = dim, .k = dim == 2 ? 30 : 11, .neumann = true}, &A)))
        return;
      PoisePC pc = AmgOf(A, spread);
      CHECK(Made(pc)->count >= 2 && Made(pc)->bottom.skipped == 1);
      if (PoiseSize(ctx) == 1)
        CHECK_INT(Made(pc)->redundant.level, 0);
      else /* with few nodes a rank, coarsening may stall before */
        CHECK(Made(pc)->redundant.level > 0 && Made(pc)->redundant.level >= Made(pc)->count - 2);
      CheckConstants(pc);
      CheckLevels(pc);
      PoisePCDestroy(&pc);
      PoiseMatDestroy(&A);
    }
  }
}

/* By A, D and lambda of l, v = P u after one step more than in w = P u. */
static void CheckStep(const AmgLevel *l, PoiseVec w, PoiseVec v)
{
  PoiseVec d, z;
  if (!CHECK_OK(PoiseVecDuplicate(w, &d)) || !CHECK_OK(PoiseVecDuplicate(w, &z))) return;
  CHECK_OK(PoiseMatMult(l->A, w, z));
  CHECK_OK(PoiseMatGetDiagonal(l->A, d));
  CHECK_OK(PoiseVecPointwiseDivide(z, z, d));
  CHECK_OK(PoiseVecAXPY(w, -4 / (3 * l->lambda), z));
  CheckSame(w, v, 1e-12);
  PoiseVecDestroy(&d);
  PoiseVecDestroy(&z);
}

/* A level whose P has k steps beside one whose P has k + 1, where no connection is weak. */
static void CheckSteps(const AmgLevel *l, const AmgLevel *next, int k)
{
  PoiseVec u, w, v;
  CHECK(!l->weak && l->steps == k && next->steps == k + 1);
  if (!CHECK_OK(PoiseMatCreateVecs(l->P, &u, &w)) || !CHECK_OK(PoiseVecDuplicate(w, &v))) return;
  SampleFill(u, 4);
  CHECK_OK(PoiseMatMult(l->P, u, w));
  CHECK_OK(PoiseMatMult(next->P, u, v));
  CheckStep(l, w, v);
  PoiseVec *all[] = {&u, &v, &w};
  for (int j = 0; j < 3; j++) PoiseVecDestroy(all[j]);
}

static const char *const of_degree[] = {"-x_pc_amg_interpolation_degree 1",
                                        "-x_pc_amg_interpolation_degree 2",
                                        "-x_pc_amg_interpolation_degree 3"};

static void CheckDegrees(PoiseMat A, int most)
{
  PoisePC pc[3];
  for (int k = 0; k < most; k++) {
    pc[k] = AmgOf(A, of_degree[k]);
    CheckLevels(pc[k]);
    if (k) CheckSteps(&Made(pc[k - 1])->level[0], &Made(pc[k])->level[0], k - 1);
  }
  for (int k = 0; k < most; k++) PoisePCDestroy(&pc[k]);
  PoiseMatDestroy(&A);
}

/* Each step is one of Jacobi; and where connections are weak, constants stay what they are. */
static void TestDegrees(PoiseContext ctx)
{
  SetOptions(ctx, spread);
  for (int layout = 0; layout < NLAYOUTS; layout++)
    for (int dim = 1; dim <= 2; dim++) {
      PoiseMat A;
      if (!CHECK_OK(GridMatrix(ctx, layout, (Grid){.dim = dim, .k = dim == 1 ? 900 : 30}, &A))) return;
      CheckDegrees(A, dim == 1 ? 3 : 2);
    }
  PoiseMat A = TurnedOf(ctx, (Turned){.k = 36, .degrees = 30, .across = 1e-3, .neumann = true});
  PoisePC pc = AmgOf(A, of_degree[2]);
  CHECK(Made(pc)->level[0].weak && Made(pc)->level[0].steps == 2);
  CheckConstants(pc);
  CheckLevels(pc);
  CheckSpd(pc);
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
  SetOptions(ctx, of_degree[0]);
}

/* Strong connections alone make P's pattern, on the borders of ranks too, and none of its entries is 0. */
static void TestWeak(PoiseContext ctx)
{
  SetOptions(ctx, spread);
  for (int layout = 0; layout < NLAYOUTS; layout++) {
    PoiseMat A;
    const double *val;
    if (!CHECK_OK(GridMatrix(ctx, layout, (Grid){.dim = 2, .k = 30, .vary = 40, .neumann = true}, &A)))
      return;
    PoisePC pc = AmgOf(A, spread);
    const AmgLevel *l = &Made(pc)->level[0];
    Buffer values; /* what is read stays the preconditioner's */
    CHECK(l->weak);
    CheckConstants(pc);
    CheckLevels(pc);
    if (!CHECK_OK(poiseBufferDuplicate(&l->P->csr.val, &values)) ||
        !CHECK_OK(poiseBufferRead(&values, HOST, &val)))
      return;
    for (int64_t k = 0; k < l->P->csr.nz; k++) CHECK(val[k] != 0);
    poiseBufferDestroy(&values);
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&A);
  }
}

/* The Laplacian of a graph with hubs and weights of many sizes, of 4 parts. Each node has three edges, mostly
   to the first nodes of its part, and a weak one to any node. */
static PoiseMat HubsOf(PoiseContext ctx, PoiseInt n)
{
  PoiseMat A;
  const PoiseInt part = n / 4;
  if (!CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, n, n, &A))) return NULL;
  for (PoiseInt i = A->rows->begin, end = i + A->rows->n; i < end; i++)
    for (int e = 0; e < 4; e++) {
      double r = 0.5 + 0.5 * TestRandom(3, (uint64_t)(i * 16 + e));
      double a = e == 3 ? 1e-4 : exp(7 * TestRandom(5, (uint64_t)(i * 16 + e))), tile[] = {a, -a, -a, a};
      PoiseInt to = e == 3 ? (PoiseInt)((double)n * r) : i - i % part + (PoiseInt)((double)part * r * r * r);
      PoiseInt ends[] = {i, to};
      if (to != i) CHECK_OK(PoiseMatAddBlock(A, 2, ends, 2, ends, tile));
    }
  CHECK_OK(PoiseMatAssemble(A));
  return A;
}

/* Rows of A that are more than three times as long as the mean; of these P's have a single entry. */
static int64_t CountHubs(const AmgLevel *l)
{
  int64_t hubs = 0;
  for (PoiseInt i = l->A->rows->begin, end = i + l->A->rows->n; i < end; i++) {
    PoiseInt n = 0;
    const PoiseInt *cols;
    CHECK_OK(PoiseMatGetRow(l->A, i, &n, &cols, NULL));
    if (n <= l->hub) continue;
    CHECK_OK(PoiseMatGetRow(l->P, i, &n, &cols, NULL));
    CHECK_INT(n, 1);
    hubs++;
  }
  return hubs;
}

/* Hubs are not smoothed: else coarse levels have twice the entries. Near null spaces are interpolated all the
   same. */
static void TestHubs(PoiseContext ctx)
{
  SetOptions(ctx, spread);
  PoiseMat A = HubsOf(ctx, 6000);
  if (!A) return;
  PoisePC pc = AmgOf(A, spread);
  const Amg *amg = Made(pc);
  /* its four parts lie on a rank each; else most neighbours are elsewhere, and aggregates are small */
  const bool together = 4 % PoiseSize(ctx) == 0;
  double sums[] = {0, 0, (double)CountHubs(&amg->level[0])};
  for (int k = 0; k < amg->count; k++)
    if (!amg->redundant.A || k < amg->redundant.level || PoiseRank(ctx) == 0)
      sums[k > 0] += (double)amg->level[k].A->csr.nz;
  CHECK_OK(poiseCommSum(ctx->comm, sums, 3));
  CHECK(amg->level[0].weak && amg->level[0].smoothed);
  CHECK(sums[2] > 0 && (!together || sums[1] < 3 * sums[0]));
  CheckConstants(pc);
  CheckLevels(pc);
  PoisePCDestroy(&pc);
  int its = Iterations(A, "cg", "amg");
  CHECK(its > 0 && (!together || its <= 40));
  PoiseMatDestroy(&A);
}

/* ---- what a cycle is ------------------------------------------------------------------------- */

static void TestSymmetric(PoiseContext ctx)
{
  static const char *const ways[] = {"-x_pc_amg_degree 3",
                                     "-x_pc_amg_smoother jacobi -x_pc_amg_degree 2",
                                     "-x_pc_amg_smoother isai",
                                     "-x_pc_amg_smoother sor",
                                     "-x_pc_amg_smoother sor -x_pc_amg_degree 2",
                                     "-x_pc_amg_smoother sor -x_pc_amg_redundant_size 120",
                                     "-x_pc_amg_cycle w",
                                     "-x_pc_amg_type unsmoothed",
                                     spread,
                                     "-x_pc_amg_redundant_size 120 -x_pc_amg_cycle w",
                                     "-x_pc_amg_redundant_size 5000"};
  static const char reset[] = "-x_pc_amg_degree 1 -x_pc_amg_smoother chebyshev -x_pc_amg_cycle v "
                              "-x_pc_amg_type smoothed -x_pc_amg_redundant_size 0 -x_pc_amg_coarse_size 20";
  for (int k = 0; k < (int)(sizeof ways / sizeof *ways); k++) {
    PoiseMat A;
    SetOptions(ctx, reset);
    if (!CHECK_OK(GridMatrix(ctx, k % NLAYOUTS, (Grid){.dim = 2, .k = 33, .vary = 0.9}, &A))) return;
    PoisePC pc = AmgOf(A, ways[k]);
    CheckSpd(pc);
    CheckFusedApply(pc, true);
    if (!strstr(ways[k], "unsmoothed")) CHECK(Contraction(pc, 16) < 0.85);
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&A);
  }
  SetOptions(ctx, reset);
}

/* ---- as many iterations as on one rank ------------------------------------------------------- */

typedef struct Pair { /* the same matrix on all ranks, and on this rank alone */
  PoiseMat A, alone;
} Pair;

static void CheckGrowth(Pair p)
{
  if (!p.A || !p.alone) return;
  int one = Iterations(p.alone, "cg", "amg"), all = Iterations(p.A, "cg", "amg");
  CHECK(all > 0 && all <= 1.15 * one);
  PoiseMatDestroy(&p.A);
  PoiseMatDestroy(&p.alone);
}

static void TestGrowth(PoiseContext ctx)
{
  const Grid g[] = {{.dim = 3, .k = 14, .vary = 0.9}, {.dim = 2, .k = 48, .vary = 0.5}};
  const Beam b[] = {{.dim = 2, .length = 40, .width = 12, .type = "csr"},
                    {.dim = 3, .length = 24, .width = 5, .type = "bcsr"},
                    {.dim = 2, .length = 24, .width = 40, .type = "bcsr", .aspect = 10},
                    {.dim = 2, .length = 40, .width = 24, .type = "csr", .aspect = 10}};
  PoiseContext self = poiseContextSelf(ctx);
  if (PoiseSize(ctx) == 1 || PoiseSize(ctx) > 4) TEST_SKIP("counts are promised up to 4 ranks");
  SetOptions(ctx, spread);
  for (int k = 0; k < 2; k++) CheckGrowth((Pair){GridOf(ctx, g[k]), GridOf(self, g[k])});
  for (int k = 0; k < 4; k++) {
    Pair p;
    if (!CHECK_OK(Springs(ctx, b[k], &p.A)) || !CHECK_OK(Springs(self, b[k], &p.alone))) return;
    AttachMotions(p.A, b[k]);
    AttachMotions(p.alone, b[k]);
    CheckGrowth(p);
  }
  const Turned t = {.k = 100, .degrees = 45, .across = 1e-3};
  SetOptions(ctx, of_degree[1]);
  CheckGrowth((Pair){TurnedOf(ctx, t), TurnedOf(self, t)});
  SetOptions(ctx, "-x_pc_amg_aggregate_min 3");
  CheckGrowth((Pair){TurnedOf(ctx, t), TurnedOf(self, t)});
  SetOptions(ctx, "-x_pc_amg_interpolation_degree 1 -x_pc_amg_aggregate_min 0");
}

/* ---- levels that every rank holds ------------------------------------------------------------ */

/* All levels are those of one rank, and so are the bits of a cycle. */
static void TestRedundant(PoiseContext ctx)
{
  const Grid g = {.dim = 2, .k = 40, .vary = 0.9, .identity = true};
  SetOptions(ctx, "-x_pc_amg_redundant_size 5000 -x_pc_amg_coarse_size 20 -x_pc_amg_precision double");
  for (int layout = 0; layout < NLAYOUTS; layout++) {
    PoiseMat A, alone = GridOf(poiseContextSelf(ctx), g);
    if (!CHECK_OK(GridMatrix(ctx, layout, g, &A))) return;
    PoisePC pc = AmgOf(A, "-x_pc_amg_cycle w"), one = AmgOf(alone, "-x_pc_amg_cycle w");
    CHECK(Digest(pc) == Digest(one) && Apply(pc) == Apply(one));
    PoisePCDestroy(&one);
    PoisePCDestroy(&pc);
    SetOptions(ctx, "-x_pc_amg_cycle v");
    CHECK_INT(Iterations(A, "cg", "amg"), Iterations(alone, "cg", "amg"));
    PoiseMatDestroy(&A);
    PoiseMatDestroy(&alone);
  }
  SetOptions(ctx, "-x_pc_amg_precision single");
}

/* What every rank holds is the same to the last bit, though it comes from levels that are spread. */
static void TestAlike(PoiseContext ctx)
{
  SetOptions(ctx, "-x_pc_amg_redundant_size 500 -x_pc_amg_coarse_size 20");
  PoiseMat A = GridOf(ctx, (Grid){.dim = 2, .k = 60, .vary = 0.9});
  PoisePC pc = AmgOf(A, "-x_pc_amg_redundant_size 500");
  const Amg *amg = Made(pc);
  if (PoiseSize(ctx) > 1) CHECK(amg->redundant.level >= 1 && amg->count >= amg->redundant.level + 2);
  for (int k = amg->redundant.level; k < amg->count; k++) {
    const AmgLevel *l = &amg->level[k];
    PoiseMat of[] = {l->A, l->P, l->R};
    uint64_t sum = AddBits(SampleBits(l->lambda), &l->inverse);
    for (int m = 0; m < 3; m++)
      if (of[m]) sum = AddBits(sum, &of[m]->csr.val);
    CHECK(Alike(ctx, sum));
  }
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

/* GPUs repeat what takes less than its exchanges: a coarse level of more rows than others would. */
static void TestRepeated(PoiseContext ctx)
{
  static const char *const sizes[] = {"-x_pc_amg_redundant_size -1", "-x_pc_amg_redundant_size 50000"};
  if (!poiseModelIsGpu(&ctx->device->model) || PoiseSize(ctx) == 1) TEST_SKIP("for several GPUs");
  PoiseMat A = GridOf(ctx, (Grid){.dim = 2, .k = 720, .vary = 0.5});
  for (int k = 0; k < 2; k++) {
    PoisePC pc = AmgOf(A, sizes[k]);
    const AmgRedundant *r = &Made(pc)->redundant;
    CHECK(r->A && r->level >= 1 && (r->A->rows->N > 50000) == (k == 0));
    CheckSpd(pc);
    PoisePCDestroy(&pc);
  }
  PoiseMatDestroy(&A);
}

/* A rank for each row or so: there is nothing to aggregate, and every rank takes the level to try alone. */
static void TestScattered(PoiseContext ctx)
{
  SetOptions(ctx, spread);
  PoiseMat A = GridOf(ctx, (Grid){.dim = 1, .k = 2 * PoiseSize(ctx) + 1});
  SetOptions(ctx, "-x_pc_amg_coarse_size 1");
  PoisePC pc = AmgOf(A, "-x_pc_amg_coarse_size 1");
  CheckSpd(pc);
  CHECK(Made(pc)->dense);
  PoisePCDestroy(&pc);
  CHECK(Iterations(A, "cg", "amg") <= 2 * PoiseSize(ctx) + 1);
  PoiseMatDestroy(&A);
  for (int n = 0; n <= 3; n++) { /* ranks without rows */
    A = GridOf(ctx, (Grid){.dim = 1, .k = n});
    pc = AmgOf(A, NULL);
    if (n) CheckSpd(pc);
    CHECK_OK(PoisePCSetUp(pc));
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&A);
  }
  A = GridOf(ctx, (Grid){.dim = 2, .k = 70}); /* too large to be taken */
  pc = AmgOf(A, "-x_pc_amg_levels 1");
  CHECK(!Made(pc)->dense && Made(pc)->redundant.A == NULL);
  CheckSpd(pc);
  PoisePCDestroy(&pc);
  SetOptions(ctx, "-x_pc_amg_levels 24");
  PoiseMatDestroy(&A);
}

/* The mass matrix of linear triangles between k x k points, of this sign. No node has a strong neighbour. */
static PoiseMat MassOf(PoiseContext ctx, PoiseInt k, double sign)
{
  PoiseMat A;
  PoiseInt n = k * k;
  if (!CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, n, n, &A))) return NULL;
  for (PoiseInt i = A->rows->begin, end = i + A->rows->n; i < end; i++)
    for (int at = 0; at < 9; at++) {
      PoiseInt p = i % k + at % 3 - 1, q = i / k + at / 3 - 1, j = q * k + p;
      double a = sign * (at == 4 ? 6 : 1);
      if (at == 2 || at == 6) continue;
      if (p >= 0 && p < k && q >= 0 && q < k) CHECK_OK(PoiseMatAddBlock(A, 1, &i, 1, &j, &a));
    }
  CHECK_OK(PoiseMatAssemble(A));
  return A;
}

/* The spectrum of D^-1 A is from 1/2 to 2: the smoother is enough. Only a small matrix is inverted. */
static void TestMass(PoiseContext ctx)
{
  const struct {
    const char *options;
    PoiseInt k;
    double sign;
  } of[] = {{spread, 45, 1}, {spread, 45, -1}, {"-x_pc_amg_redundant_size 50000", 45, 1}, {spread, 25, 1}};
  for (int m = 0; m < 4; m++) {
    SetOptions(ctx, of[m].options);
    PoiseMat A = MassOf(ctx, of[m].k, of[m].sign);
    if (!A) return;
    PoisePC pc = AmgOf(A, of[m].options);
    const Amg *amg = Made(pc);
    bool small = of[m].k * of[m].k <= 1000;
    CHECK(amg->count == 1 && amg->ended == END_APART && amg->dense == small);
    CHECK(small || !amg->bottom.dense.dev);
    if (of[m].sign > 0) CheckSpd(pc);
    PoisePCDestroy(&pc);
    int its = Iterations(A, of[m].sign > 0 ? "cg" : "gmres", "amg");
    CHECK(its > 0 && its <= 10);
    PoiseMatDestroy(&A);
  }
}

/* Of quadratic elements on a line of k points, an odd number, with the cells' ends at the even ones: 30 times
   the integral of i j, and 3 times that of i' j'. */
static double Quadratic(PoiseInt k, PoiseInt i, PoiseInt j, bool stiff)
{
  static const double mass[] = {8, 2, -1}, slopes[] = {14, -8, 1};
  PoiseInt d = i < j ? j - i : i - j;
  if (d == 0 && i % 2) return 16;
  double v = stiff ? slopes[d] : mass[d];
  return d == 0 && (i == 0 || i == k - 1) ? v / 2 : v;
}

/* mass times the mass matrix of biquadratic elements on k x k points, and stiff times that of stiffness. */
static void SetQuadratic(PoiseMat A, PoiseInt k, double mass, double stiff)
{
  for (PoiseInt i = A->rows->begin, end = i + A->rows->n; i < end; i++)
    for (int at = 0; at < 25; at++) {
      PoiseInt x = i % k, y = i / k, p = x + at % 5 - 2, q = y + at / 5 - 2, j = q * k + p;
      if (p < 0 || p >= k || q < 0 || q >= k) continue;
      if ((x % 2 && (p < x - 1 || p > x + 1)) || (y % 2 && (q < y - 1 || q > y + 1))) continue;
      if ((p != x && (p - x) % 2 == 0 && x % 2) || (q != y && (q - y) % 2 == 0 && y % 2)) continue;
      double mx = Quadratic(k, x, p, false), my = Quadratic(k, y, q, false);
      double sx = Quadratic(k, x, p, true), sy = Quadratic(k, y, q, true);
      double a = mass * mx * my + stiff * (sx * my + mx * sy);
      CHECK_OK(PoiseMatSetEntries(A, 1, &i, &j, &a));
    }
  CHECK_OK(PoiseMatAssemble(A));
}

/* There are strong connections, but the smoother is enough. For a later time step, with the same pattern and
   more stiffness, it is not. */
static void TestSteps(PoiseContext ctx)
{
  const PoiseInt k = 41, n = k * k;
  static const char *const ways[] = {"values", "interpolation"};
  for (int w = 0; w < 2; w++) {
    PoiseMat A;
    char options[100];
    SetOptions(ctx, spread);
    snprintf(options, sizeof options, "-x_pc_amg_refresh %s", ways[w]);
    if (!CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, n, n, &A))) return;
    SetQuadratic(A, k, 1, 0);
    PoisePC pc = AmgOf(A, options);
    const Amg *amg = Made(pc);
    CHECK(amg->count == 1 && amg->ended == END_MASS && !amg->dense);
    CheckSpd(pc);
    int its = Iterations(A, "cg", "amg");
    CHECK(its > 0 && its <= 12);
    SetQuadratic(A, k, 1, 1e-3);
    CHECK_OK(PoisePCSetUp(pc));
    CHECK(amg->count == 1 && amg->ended == END_MASS && amg->refreshed == (w == 0));
    SetQuadratic(A, k, 1e-3, 1);
    CHECK_OK(PoisePCSetUp(pc));
    CHECK(amg->count > 1 && amg->ended == END_NONE && !amg->refreshed);
    PoisePCDestroy(&pc);
    its = Iterations(A, "cg", "amg");
    CHECK(its > 0 && its <= 30);
    PoiseMatDestroy(&A);
  }
  SetOptions(ctx, "-x_pc_amg_refresh values");
}

/* ---- rows that are special ------------------------------------------------------------------- */

static void TestIdentity(PoiseContext ctx)
{
  SetOptions(ctx, spread);
  PoiseMat A = GridOf(ctx, (Grid){.dim = 2, .k = 40, .vary = 0.5, .identity = true});
  PoisePC pc = AmgOf(A, spread);
  Buffer of;
  const int32_t *aggregate;
  if (!CHECK_OK(poiseBufferDuplicate(&Made(pc)->level[0].aggregate, &of)) ||
      !CHECK_OK(poiseBufferRead(&of, HOST, &aggregate)))
    return;
  for (PoiseInt i = A->rows->begin; i < 80 && i < A->rows->begin + A->rows->n; i++)
    CHECK_INT(aggregate[i - A->rows->begin], -1);
  poiseBufferDestroy(&of);
  CheckSpd(pc);
  PoisePCDestroy(&pc);
  CHECK(Iterations(A, "cg", "amg") <= 25);
  PoiseMatDestroy(&A);
}

/* A chain of which each rank begins with a row that has a diagonal alone. A rank's last row refers to the
   next rank's such row, which is in no aggregate. So no rank interpolates from another, nor lists an
   aggregate. */
static void TestBare(PoiseContext ctx)
{
  enum { LENGTH = 60 };
  PoiseMat A;
  SetOptions(ctx, spread);
  if (!CHECK_OK(PoiseMatCreate(ctx, LENGTH, LENGTH, POISE_DECIDE, POISE_DECIDE, &A))) return;
  for (PoiseInt i = A->rows->begin, end = i + LENGTH; i < end; i++) {
    bool bare = i % LENGTH == 0;
    const PoiseInt rows[] = {i, i, i}, cols[] = {i, i - 1, i + 1};
    const double entries[] = {2, -1, -1};
    CHECK_OK(PoiseMatSetEntries(A, bare ? 1 : i + 1 < A->rows->N ? 3 : 2, rows, cols, entries));
  }
  CHECK_OK(PoiseMatAssemble(A));
  PoisePC pc = AmgOf(A, spread);
  AmgLevel *l = &((Amg *)pc->data)->level[0];
  const int32_t *place;
  CHECK(Made(pc)->count > 1 && l->P->csr.nghost == 0);
  if (PoiseSize(ctx) > 1 && CHECK(l->places.place.dev != NULL) &&
      CHECK_OK(poiseBufferRead(&l->places.place, HOST, &place))) {
    CHECK_INT(l->places.nghost, 0);
    CHECK_INT(l->ghosts->nodes, PoiseRank(ctx) + 1 < PoiseSize(ctx));
    for (int64_t k = 0; k < l->ghosts->nodes; k++) CHECK_INT(place[LENGTH + k], -1);
  }
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

/* A NaN on one rank is named there; the others say who had it. */
static void CheckErrors(PoiseContext ctx, const char *options)
{
  SetOptions(ctx, options);
  PoiseMat A = GridOf(ctx, (Grid){.dim = 2, .k = 30});
  PoisePC pc = AmgOf(A, options);
  const double bad = NAN, zero = 0, old[] = {4, -1};
  bool mine = A->rows->begin <= 77 && 77 < A->rows->begin + A->rows->n;
  CHECK_OK(PoiseMatSetEntries(A, mine, &(PoiseInt){77}, &(PoiseInt){77}, &zero));
  CHECK_OK(PoiseMatAssemble(A));
  CHECK_ERR_OF(PoisePCSetUp(pc), mine, POISE_ERR_NUMERIC,
               "the diagonal entry of row 77 is zero, missing or not finite");
  CHECK_OK(PoiseMatSetEntries(A, mine, &(PoiseInt){77}, &(PoiseInt){77}, &old[0]));
  CHECK_OK(PoiseMatSetEntries(A, mine, &(PoiseInt){77}, &(PoiseInt){78}, &bad));
  CHECK_OK(PoiseMatAssemble(A));
  CHECK_ERR_OF(PoisePCSetUp(pc), mine, POISE_ERR_NUMERIC, "row 77 has an entry that is not finite");
  CHECK_OK(PoiseMatSetEntries(A, mine, &(PoiseInt){77}, &(PoiseInt){78}, &old[1]));
  CHECK_OK(PoiseMatAssemble(A));
  CHECK_OK(PoisePCSetUp(pc)); /* as if nothing had been */
  CheckSpd(pc);
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

static void TestErrors(PoiseContext ctx)
{
  CheckErrors(ctx, spread);
  CheckErrors(ctx, "-x_pc_amg_redundant_size 5000");
  SetOptions(ctx, spread);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Nodes of which a rank sees some columns only, the same with all of them, and in blocks. */
static void TestBlocks(PoiseContext ctx)
{
  SetOptions(ctx, spread);
  for (int layout = 0; layout < NLAYOUTS; layout++)
    for (int way = 0; way < 3; way++) { /* the last one with weak connections */
      int dim = way == 1 ? 3 : 2;
      Beam b[] = {{.type = "csr"}, {.type = "csr", .thin = true}, {.type = "bcsr"}};
      PoiseVec r, z[3];
      for (int t = 0; t < 3; t++) {
        PoiseMat A;
        b[t].dim = dim, b[t].layout = layout, b[t].length = 16, b[t].width = dim == 2 ? 9 : 4;
        b[t].aspect = way == 2 ? 10 : 0;
        if (!CHECK_OK(Springs(ctx, b[t], &A))) return;
        AttachMotions(A, b[t]);
        PoisePC pc = AmgOf(A, spread);
        CHECK_INT(Made(pc)->level[1].node, dim * (dim + 1) / 2);
        CheckSpd(pc);
        CheckLevels(pc);
        if (!CHECK_OK(PoiseMatCreateVecs(A, &z[t], &r))) return;
        SampleFill(r, 8);
        CHECK_OK(PoisePCApply(pc, r, z[t]));
        if (t > 0) CheckSame(z[0], z[t], 1e-10);
        PoiseVecDestroy(&r);
        PoisePCDestroy(&pc);
        PoiseMatDestroy(&A);
      }
      for (int t = 0; t < 3; t++) PoiseVecDestroy(&z[t]);
    }
}

/* Without supports the coarsest matrix has the rigid motions as its null space, and no more. */
static void TestFree(PoiseContext ctx)
{
  SetOptions(ctx, spread);
  for (int dim = 2; dim <= 3; dim++) {
    PoiseMat A;
    Beam b = {.dim = dim, .length = 16, .width = 4, .free = true, .type = "bcsr"};
    if (!CHECK_OK(Springs(ctx, b, &A))) return;
    AttachMotions(A, b);
    PoisePC pc = AmgOf(A, "-x_pc_amg_coarse_size 100"); /* of one aggregate nothing would be left */
    CHECK(Made(pc)->count >= 2);
    CHECK_INT(Made(pc)->bottom.skipped, dim * (dim + 1) / 2);
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&A);
  }
}

static void TestNonsymmetric(PoiseContext ctx)
{
  SetOptions(ctx, spread);
  PoiseMat A = GridOf(ctx, (Grid){.dim = 2, .k = 40, .vary = 0.3, .wind = 0.5});
  PoisePC pc = AmgOf(A, spread);
  CHECK(Made(pc)->count > 1 && Made(pc)->bottom.lu);
  PoisePCDestroy(&pc);
  CHECK(Iterations(A, "gmres", "amg") <= 32);
  PoiseMatDestroy(&A);
}

/* ---- new values ------------------------------------------------------------------------------ */

static void TestRefresh(PoiseContext ctx)
{
  static const struct {
    int size, way;
    const char *word;
  } of[] = {{0, AMG_VALUES, "values"},
            {200, AMG_VALUES, "values"},
            {0, AMG_INTERPOLATION, "interpolation"},
            {5000, AMG_INTERPOLATION, "interpolation"},
            {200, AMG_REFRESH_ALL, "all"}};
  for (int k = 0; k < 5; k++) {
    char options[120];
    snprintf(options, sizeof options,
             "-x_pc_amg_coarse_size 20 -x_pc_amg_redundant_size %d -x_pc_amg_refresh %s", of[k].size,
             of[k].word);
    PoiseMat A = GridOf(ctx, (Grid){.dim = 2, .k = 30, .vary = 0.5});
    CheckRefresh(A, options, of[k].way);
    SetOptions(ctx, of_degree[2]);
    CheckRefresh(A, options, of[k].way);
    SetOptions(ctx, of_degree[0]);
    PoiseMatDestroy(&A);
    Beam b = {.dim = 3, .length = 10, .width = 4, .type = "bcsr"};
    if (!CHECK_OK(Springs(ctx, b, &A))) return;
    AttachMotions(A, b);
    CheckRefresh(A, options, of[k].way);
    PoiseMatDestroy(&A);
  }
  SetOptions(ctx, "-x_pc_amg_refresh values");
}

/* ---- the same bits --------------------------------------------------------------------------- */

static PoiseErr KeepBits(PoiseContext ctx, void *arg)
{
  SampleRun *run = arg;
  for (int beam = 0; beam < 2; beam++) {
    PoiseMat A = NULL;
    Beam b = {.dim = 3, .length = 16, .width = 4, .type = "bcsr"};
    if (beam) POISE_TRY(Springs(ctx, b, &A));
    if (beam) AttachMotions(A, b);
    if (!beam) POISE_TRY(GridMatrix(ctx, EVEN, (Grid){.dim = 3, .k = 13, .vary = 0.9}, &A));
    PoisePC pc = Make(ctx, "amg", A, spread);
    SampleKeep(ctx, run, Digest(pc));
    PoisePCDestroy(&pc);
    if (!beam) SampleKeep(ctx, run, Afresh(A, of_degree[2]));
    SetOptions(ctx, of_degree[0]);
    PoiseMatDestroy(&A);
  }
  return POISE_OK;
}

static void TestBits(PoiseContext ctx)
{
  (void)ctx;
  SampleSameBits(KeepBits);
}

/* A captured loop has the cycle in it, with its exchanges, and gives the same as one by one. */
static void TestLoop(PoiseContext ctx)
{
  Problem p, q;
  SetOptions(ctx, "-x_pc_amg_redundant_size 200 -x_pc_amg_coarse_size 20");
  for (Problem *s = &p;; s = &q) {
    if (!ProblemOpenGrid(ctx, 40, 30, 1, "cg", "amg", s)) return;
    CHECK_OK(PoisePCSetOptionsPrefix(s->pc, "x_"));
    CHECK_OK(PoisePCSetFromOptions(s->pc));
    if (s == &q) s->ksp->options.replay = 0;
    CHECK_OK(PoiseKSPSetUp(s->ksp));
    ctx->device->forbid_copies = SampleReplays(ctx) && s == &p;
    CHECK_OK(PoiseKSPSolve(s->ksp, s->b, s->x));
    ctx->device->forbid_copies = false;
    if (s == &q) break;
  }
  CHECK(PoiseKSPIterations(p.ksp) <= 14);
  CHECK_INT(PoiseKSPIterations(p.ksp), PoiseKSPIterations(q.ksp));
  CHECK(SampleDigest(p.x) == SampleDigest(q.x));
  ProblemClose(&p);
  ProblemClose(&q);
}

/* ---- the view -------------------------------------------------------------------------------- */

/* Levels are shown as a whole: A's rows and entries are those of all ranks. */
static void TestView(PoiseContext ctx)
{
  char text[8192];
  SetOptions(ctx, spread);
  PoiseMat A = GridOf(ctx, (Grid){.dim = 2, .k = 40});
  PoisePC pc = AmgOf(A, spread);
  CHECK_OK(PoisePCSetUp(pc));
  TEST_PRINTED(ctx, text, sizeof text, PoisePCView(pc));
  const char *first = strstr(text, "megabytes\n");
  int level, rows, entries;
  if (!PoiseRank(ctx) && CHECK(first && sscanf(first, "megabytes %d %d %d", &level, &rows, &entries) == 3))
    CHECK(level == 0 && rows == 1600 && entries == 5 * 1600 - 4 * 40);
  if (!PoiseRank(ctx)) CHECK(!strstr(text, "every rank holds") == (PoiseSize(ctx) == 1));
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

/* ---- without memory -------------------------------------------------------------------------- */

static PoiseErr SetUpAndRefresh(PoiseContext ctx, void *arg)
{
  const bool *beam = arg;
  PoiseMat A = NULL;
  PoiseErr e = *beam
                   ? Springs(ctx, (Beam){.dim = 2, .length = 4, .width = 2, .type = "csr", .thin = true}, &A)
                   : GridMatrix(ctx, EVEN, (Grid){.dim = 2, .k = 5, .vary = 9}, &A);
  return SetUpTwice(ctx, e, A);
}

static void TestFailures(PoiseContext ctx)
{
  if (poiseModelIsGpu(&ctx->device->model)) TEST_SKIP("thousands of set-ups: the mock has the same calls");
  SetOptions(ctx, "-x_pc_amg_redundant_size 12 -x_pc_amg_coarse_size 3 -x_pc_amg_threshold 0.2");
  TestAllocationFailures(ctx, SetUpAndRefresh, &(bool){false});
  SetOptions(ctx, of_degree[1]);
  TestAllocationFailures(ctx, SetUpAndRefresh, &(bool){false});
  SetOptions(ctx, of_degree[0]);
  SetOptions(ctx, "-x_pc_amg_smoother isai");
  TestAllocationFailures(ctx, SetUpAndRefresh, &(bool){false});
  SetOptions(ctx, "-x_pc_amg_smoother sor");
  TestAllocationFailures(ctx, SetUpAndRefresh, &(bool){false});
  SetOptions(ctx, "-x_pc_amg_smoother jacobi -x_pc_amg_cycle w");
  TestAllocationFailures(ctx, SetUpAndRefresh, &(bool){true});
  SetOptions(ctx, "-x_pc_amg_smoother chebyshev -x_pc_amg_cycle v -x_pc_amg_threshold 0.4");
}

/* ---- what the host sees ----------------------------------------------------------------------- */

/* On all levels a set-up, and then one by new values, bring less to the host, and back, than 4 bytes for each
   row of A. A is on the device before. */
static void CheckCopies(PoiseMat A)
{
  const Device *dev = PoiseMatContext(A)->device;
  const int64_t most = 4 * A->rows->n;
  PoiseVec x, y;
  if (!CHECK_OK(PoiseMatCreateVecs(A, &x, &y))) return;
  SampleFill(x, 1);
  PoisePC pc = AmgOf(A, spread);
  for (int again = 0; again < 2; again++) {
    if (again) ScaleBy(A, Power);
    CHECK_OK(PoiseMatMult(A, x, y));
    int64_t fetched = dev->copied[COPY_TO_HOST], sent = dev->copied[COPY_TO_DEVICE];
    CHECK(Made(pc)->count > 2);
    CHECK(dev->copied[COPY_TO_HOST] - fetched <= most);
    CHECK(dev->copied[COPY_TO_DEVICE] - sent <= most);
  }
  CheckSpd(pc);
  PoisePCDestroy(&pc);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
}

/* Long and thin, so that a rank has few ghosts. */
static void TestStays(PoiseContext ctx)
{
  enum { LONG = 10000 };
  const Beam b[] = {{.type = "csr"}, {.type = "csr", .thin = true}, {.type = "bcsr"}};
  if (!SampleIsAway(ctx)) TEST_SKIP("nothing is copied");
  SetOptions(ctx, spread);
  PoiseMat A = GridOf(ctx, (Grid){.dim = 1, .k = 4 * LONG});
  CheckCopies(A);
  PoiseMatDestroy(&A);
  for (int k = 0; k < 3; k++) {
    Beam beam = b[k];
    beam.dim = 2, beam.length = 2, beam.width = LONG;
    if (!CHECK_OK(Springs(ctx, beam, &A))) return;
    AttachMotions(A, beam); /* three, so that P is not in blocks of 2 */
    CheckCopies(A);
    PoiseMatDestroy(&A);
  }
}

/* ---- why a solve fails ----------------------------------------------------------------------- */

/* A solve that ends after so few iterations says these words, and with NULL none of a way out. */
static void CheckExplains(PoiseMat A, const char *method, const char *words)
{
  Problem p;
  if (!ProblemOpen(A, &p)) return;
  CHECK_OK(PoiseKSPSetType(p.ksp, method));
  CHECK_OK(PoiseKSPGetPC(p.ksp, &p.pc));
  CHECK_OK(PoisePCSetType(p.pc, "amg"));
  CHECK_OK(PoisePCSetOptionsPrefix(p.pc, "x_"));
  CHECK_OK(PoisePCSetFromOptions(p.pc));
  CHECK_OK(PoiseKSPSetTolerances(p.ksp, 1e-12, -1, -1, 2));
  CHECK_OK(PoiseVecSetRandom(p.b, 3));
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  CHECK(PoiseKSPConvergedReason(p.ksp) < 0);
  CHECK(words ? strstr(PoiseKSPReasonDetail(p.ksp), words) != NULL
              : !strstr(PoiseKSPReasonDetail(p.ksp), "try"));
  p.A = NULL;
  ProblemClose(&p);
  PoiseMatDestroy(&A);
}

static void TestExplains(PoiseContext ctx)
{
  PoiseMat A;
  SetOptions(ctx, spread);
  CheckExplains(GridOf(ctx, (Grid){.dim = 2, .k = 40}), "cg", NULL);
  CheckExplains(GridOf(ctx, (Grid){.dim = 2, .k = 40, .wind = 0.5}), "gmres",
                "A is not symmetric: try -x_pc_type ilu with gmres");
  CheckExplains(MassOf(ctx, 45, 1), "cg", "no node has a strong neighbour: try -x_pc_type icc");
  A = GridOf(ctx, (Grid){.dim = 2, .k = 40});
  CHECK_OK(PoiseMatShift(A, -0.1));
  CheckExplains(A, "gmres", "A is not definite");
  if (!CHECK_OK(Springs(ctx, (Beam){.dim = 2, .length = 40, .width = 9, .type = "bcsr"}, &A))) return;
  CheckExplains(A, "cg", "PoiseMatSetCoordinates");
  SetOptions(ctx, "-x_pc_amg_levels 1");
  CheckExplains(GridOf(ctx, (Grid){.dim = 2, .k = 70}), "cg",
                "with 4900 rows, as no more are allowed: try a larger -x_pc_amg_levels");
  SetOptions(ctx, "-x_pc_amg_levels 24 -x_pc_amg_smoother chebyshev");
  CheckExplains(GridOf(ctx, (Grid){.dim = 2, .k = 40, .wind = 0.5}), "gmres",
                "A is not symmetric: try -x_pc_amg_smoother jacobi, or -x_pc_type ilu with gmres");
  SetOptions(ctx, "-x_pc_amg_smoother auto");
}

/* Has the view these words, after a solve of so many iterations for 8 digits? The first rank has it all. */
static bool Says(PoisePC pc, int64_t iterations, const char *words, bool expected)
{
  char text[8192] = "";
  CHECK_OK(PoisePCSetUp(pc));
  pc->type->solved(pc, iterations, 8);
  TEST_PRINTED(pc->ctx, text, sizeof text, PoisePCView(pc));
  return PoiseRank(pc->ctx) > 0 || !strstr(text, words) == !expected;
}

/* The degree of interpolation is shown, and named where it could help, after a slow solve. */
static void TestSlow(PoiseContext ctx)
{
  static const char higher[] = "try -x_pc_amg_interpolation_degree 2";
  char text[200] = "";
  SetOptions(ctx, spread);
  PoiseMat A = TurnedOf(ctx, (Turned){.k = 40, .degrees = 45, .across = 1e-3});
  PoisePC pc = AmgOf(A, spread);
  CHECK(Says(pc, 40, higher, false));
  CHECK_OK(poiseAmgExplain(pc, text, sizeof text));
  CHECK(!*text);
  CHECK(Says(pc, 56, higher, true));
  CHECK_OK(poiseAmgExplain(pc, text, sizeof text));
  CHECK(strstr(text, higher));
  PoisePCDestroy(&pc);
  pc = AmgOf(A, of_degree[1]);
  CHECK(Says(pc, 56, "interpolation is of degree 2\n", true));
  CHECK(Says(pc, 56, higher, false));
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
  A = GridOf(ctx, (Grid){.dim = 2, .k = 40, .wind = 3});
  pc = AmgOf(A, of_degree[1]);
  CHECK(Says(pc, 56, "interpolation is of degree 1, as A is not symmetric", true));
  CHECK(Made(pc)->level[0].steps == 0);
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
  SetOptions(ctx, of_degree[0]);
}

/* A ring with a wind, whose rows add up to 0: before its last level is factored it is known as singular. */
static void TestWindy(PoiseContext ctx)
{
  const PoiseInt n = 3000;
  PoiseMat A;
  SetOptions(ctx, spread);
  if (!CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, n, n, &A))) return;
  for (PoiseInt i = A->rows->begin, end = i + A->rows->n; i < end; i++) {
    const PoiseInt rows[] = {i, i, i}, cols[] = {i, (i + n - 1) % n, (i + 1) % n};
    const double entries[] = {1, -0.6, -0.4};
    CHECK_OK(PoiseMatSetEntries(A, 3, rows, cols, entries));
  }
  CHECK_OK(PoiseMatAssemble(A));
  PoisePC pc = AmgOf(A, spread);
  const Amg *amg = Made(pc);
  CHECK(amg->count > 1 && !amg->dense && strstr(amg->fallback, "singular"));
  CHECK(!amg->bottom.pivot.dev); /* it was not tried */
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

typedef struct Stokes { /* on k x k cells: velocities across inner faces, and pressures */
  PoiseInt k;
  bool whole; /* else the block of velocities, and the identity for pressures */
} Stokes;

/* The place of cell or face (i, j), or -1: of velocities along direction 0 or 1, and of pressures, 2, but for
   the last one, which is 0. */
static PoiseInt PlaceOf(const Stokes *s, int what, PoiseInt i, PoiseInt j)
{
  PoiseInt k = s->k, w = what == 0 ? k - 1 : k, h = what == 1 ? k - 1 : k, faces = k * (k - 1);
  PoiseInt at = j * w + i;
  if (i < 0 || i >= w || j < 0 || j >= h || (what == 2 && at == k * k - 1)) return -1;
  return what * faces + at;
}

static PoiseErr AddFace(const Stokes *s, PoiseMat A, int what, PoiseInt i, PoiseInt j)
{
  PoiseInt row = PlaceOf(s, what, i, j);
  PoiseErr e = PoiseMatAddBlock(A, 1, &row, 1, &row, &(double){4});
  for (int side = -1; side <= 1 && !e; side += 2) {
    PoiseInt beside[] = {PlaceOf(s, what, i + side, j), PlaceOf(s, what, i, j + side)};
    PoiseInt p = PlaceOf(s, 2, i + (what == 0 && side > 0), j + (what == 1 && side > 0));
    for (int d = 0; d < 2 && !e; d++)
      if (beside[d] >= 0) e = PoiseMatAddBlock(A, 1, &row, 1, &beside[d], &(double){-1});
    if (!s->whole || p < 0 || e) continue;
    e = PoiseMatAddBlock(A, 1, &row, 1, &p, &(double){side});
    if (!e) e = PoiseMatAddBlock(A, 1, &p, 1, &row, &(double){side});
  }
  return e;
}

static PoiseMat StokesOf(PoiseContext ctx, Stokes s)
{
  PoiseMat A;
  PoiseInt k = s.k, n = 2 * k * (k - 1) + k * k - 1;
  PoiseErr e = POISE_OK;
  if (!CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, n, n, &A))) return NULL;
  for (PoiseInt i = 0; i < k * k && !e && PoiseRank(ctx) == 0; i++) {
    PoiseInt p = PlaceOf(&s, 2, i % k, i / k);
    if (p >= 0 && !s.whole) e = PoiseMatAddBlock(A, 1, &p, 1, &p, &(double){1});
    for (int what = 0; what < 2 && !e; what++)
      if (PlaceOf(&s, what, i % k, i / k) >= 0) e = AddFace(&s, A, what, i % k, i / k);
  }
  CHECK_OK(e);
  CHECK_OK(PoiseMatAssemble(A));
  return A;
}

/* A saddle point is refused, and the way out that is named works: amg of a definite P, at any size. */
static void TestSaddle(PoiseContext ctx)
{
  for (PoiseInt k = 16; k <= 32; k *= 2) {
    Problem p;
    SetOptions(ctx, spread);
    PoiseMat A = StokesOf(ctx, (Stokes){k, true}), P = StokesOf(ctx, (Stokes){k, false});
    if (!A || !P || !ProblemOpen(A, &p)) return;
    PoisePC pc = AmgOf(A, spread);
    CHECK(PoisePCSetUp(pc) && strstr(PoiseErrorMessage(), "docs/solvers.md#saddle-points"));
    PoisePCDestroy(&pc);
    CHECK_OK(PoiseKSPSetOperators(p.ksp, A, P));
    CHECK_OK(PoiseKSPSetType(p.ksp, "minres"));
    CHECK_OK(PoiseKSPGetPC(p.ksp, &p.pc));
    CHECK_OK(PoisePCSetType(p.pc, "amg"));
    CHECK_OK(PoiseKSPSetTolerances(p.ksp, 1e-8, -1, -1, 200));
    CHECK_OK(PoiseVecSetRandom(p.b, 3));
    CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
    CHECK(PoiseKSPConvergedReason(p.ksp) > 0 && PoiseKSPIterations(p.ksp) <= 90);
    PoiseMatDestroy(&P);
    ProblemClose(&p);
  }
}

int main(int argc, char **argv)
{
  static const Test tests[] = {{"levels", TestLevels, 0},
                               {"degrees", TestDegrees, 0},
                               {"weak", TestWeak, 0},
                               {"hubs", TestHubs, 0},
                               {"symmetric", TestSymmetric, 0},
                               {"growth", TestGrowth, TEST_HOST_ONLY | TEST_LONG},
                               {"redundant", TestRedundant, 0},
                               {"alike", TestAlike, 0},
                               {"repeated", TestRepeated, 0},
                               {"mass", TestMass, 0},
                               {"steps", TestSteps, 0},
                               {"scattered", TestScattered, 0},
                               {"identity", TestIdentity, 0},
                               {"errors", TestErrors, 0},
                               {"blocks", TestBlocks, 0},
                               {"free", TestFree, 0},
                               {"bare", TestBare, 0},
                               {"nonsymmetric", TestNonsymmetric, 0},
                               {"refresh", TestRefresh, 0},
                               {"bits", TestBits, TEST_SERIAL},
                               {"loop", TestLoop, 0},
                               {"view", TestView, 0},
                               {"stays", TestStays, TEST_LONG},
                               {"failures", TestFailures, 0},
                               {"explains", TestExplains, 0},
                               {"slow", TestSlow, 0},
                               {"windy", TestWindy, 0},
                               {"saddle", TestSaddle, 0},
                               {NULL, NULL, 0}};
  return TestMain(argc, argv, "pc_amg_ranks", tests);
}
