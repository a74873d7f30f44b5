/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Preconditioners of dense blocks applied as the epilogue of a vector phase, and diagonals as that of a
  product. The kernel of the former is compared with those that it replaces; for products see scaled.h. Solves
  are compared with solves that have the same preconditioner as a user's function, which has passes of its
  own. The log is compared too.
*/
#include "ksp/loop.h"
#include "ksp/stationary_phases.h"
#include "pc/blocks_kernels.h"
#include "pc/supervariables_kernels.h"
#include "problem.h"

/* ---- the kernel ------------------------------------------------------------------------------ */

enum { MOST = 32, ARRAYS = 16 };

typedef struct Rig { /* arrays on the device, and in host[] what went there */
  PoiseContext ctx;
  double *host[ARRAYS], *dev[ARRAYS];
  int64_t n[ARRAYS];
  int count;
} Rig;

static double *Take(Rig *rig, int64_t n, const double *content)
{
  int k = rig->count++;
  rig->n[k] = n;
  rig->host[k] = malloc((size_t)(n ? n : 1) * sizeof(double));
  for (int64_t i = 0; i < n; i++) rig->host[k][i] = content ? content[i] : -7;
  return rig->dev[k] = SampleLend(rig->ctx, (size_t)n * sizeof(double), rig->host[k]);
}

static double *Random(Rig *rig, int64_t n, uint64_t seed)
{
  double *p = malloc((size_t)n * sizeof *p), *taken;
  for (int64_t i = 0; i < n; i++) p[i] = TestRandom(seed, (uint64_t)i);
  taken = Take(rig, n, p);
  free(p);
  return taken;
}

/* What array p of the device holds; in host[]. */
static const double *Fetch(Rig *rig, const double *p)
{
  int k = 0;
  while (rig->dev[k] != p) k++;
  CHECK_OK(
      poiseDeviceCopy(rig->ctx->device, rig->host[k], p, (size_t)rig->n[k] * sizeof(double), COPY_TO_HOST));
  CHECK_OK(poiseDeviceSync(rig->ctx->device));
  return rig->host[k];
}

static void Release(Rig *rig)
{
  CHECK_OK(poiseDeviceSync(rig->ctx->device));
  while (rig->count > 0) {
    SampleTakeBack(rig->ctx, rig->dev[--rig->count]);
    free(rig->host[rig->count]);
  }
}

/* r = b - r and z = D r in two kernels: z of blocks that are equal but for the last. */
static void Apart(Rig *rig, const PhaseArgs *fused, double *r, double *z)
{
  PhaseArgs a = *fused;
  int64_t b = a.end.b, count = (a.n + b - 1) / b;
  a.out[ST_R] = r;
  a.partial[0] = NULL;
  a.end = (BlockEpilogue){0};
  CHECK_OK(LAUNCH(rig->ctx->device, phase, &a));
  if (a.n % b == 0) {
    BlockApplyArgs apply = {.n = a.n, .b = (int)b, .d = fused->end.d, .x = r, .y = z};
    CHECK_OK(LAUNCH(rig->ctx->device, block_apply, &apply));
    return;
  }
  ApplySupervariablesArgs apply = {.n = a.n, .nblock = count, .d = fused->end.d, .x = r, .y = z};
  int32_t *start = malloc((size_t)(count + 1) * sizeof *start);
  int64_t *at = malloc((size_t)(count + 1) * sizeof *at);
  for (int64_t k = 0; k <= count; k++) start[k] = (int32_t)(k < count ? k * b : a.n), at[k] = k * b * b;
  void *start_dev = SampleLend(rig->ctx, (size_t)(count + 1) * sizeof *start, start);
  void *at_dev = SampleLend(rig->ctx, (size_t)(count + 1) * sizeof *at, at);
  apply.start = start_dev, apply.at = at_dev;
  CHECK_OK(LAUNCH(rig->ctx->device, apply_supervariables, &apply));
  CHECK_OK(poiseDeviceSync(rig->ctx->device));
  SampleTakeBack(rig->ctx, start_dev);
  SampleTakeBack(rig->ctx, at_dev);
  free(start);
  free(at);
}

static void CheckPartials(Rig *rig, const PhaseArgs *a, const double *partial, const double *x,
                          const double *y)
{
  int64_t rows = poisePhaseRows(a), nblock = poisePhaseBlocks(a);
  double *got = malloc((size_t)nblock * sizeof *got);
  memcpy(got, Fetch(rig, partial), (size_t)nblock * sizeof *got);
  for (int64_t k = 0; k < nblock; k++) {
    long double sum = 0, scale = 0;
    for (int64_t i = k * rows; i < (k + 1) * rows && i < a->n; i++)
      sum += (long double)x[i] * y[i], scale += fabs(x[i] * y[i]);
    CHECK_NEAR(got[k], (double)sum, 1e-14 * (double)scale);
  }
  free(got);
}

static PhaseArgs Residual(Rig *rig, int64_t n, int b)
{
  PhaseArgs a = {.id = PHASE_stationary_residual,
                 .n = n,
                 READS(ST_B, Random(rig, n, 1)),
                 WRITES(ST_R, Random(rig, n, 2))};
  a.end = (BlockEpilogue){.b = b, .d = Random(rig, n * b, 3), .r = a.out[ST_R], .z = Take(rig, n, NULL)};
  return a;
}

static bool SameBits(Rig *rig, const double *p, const double *q, int64_t n)
{
  const double *x = Fetch(rig, p), *y = Fetch(rig, q);
  return !memcmp(x, y, (size_t)n * sizeof *x);
}

/* The bits of two kernels, and one partial per block of rows of each dot that is wanted. */
static void CaseKernel(PoiseContext ctx, int64_t n, int b, int dots)
{
  Rig rig = {.ctx = ctx};
  double slots[POISE_SLOTS] = {0};
  PhaseArgs a = Residual(&rig, n, b);
  int64_t nblock = poisePhaseBlocks(&a);
  double *r = Random(&rig, n, 2), *z = Take(&rig, n, NULL), *before = Random(&rig, n, 2);
  if (dots & 1) a.partial[0] = Take(&rig, nblock, NULL);
  if (dots & 2) a.end.rz = Take(&rig, nblock, NULL);
  if (dots & 4) a.end.zz = Take(&rig, nblock, NULL);
  CHECK(poisePhaseRows(&a) % b == 0 && poisePhaseRows(&a) > POISE_BLOCK - MOST &&
        (nblock - 1) * poisePhaseRows(&a) < n);
  slots[SLOT_DONE] = 1; /* the solve is over */
  a.slots = Take(&rig, POISE_SLOTS, slots);
  CHECK_OK(LAUNCH(ctx->device, phase, &a));
  CHECK(SameBits(&rig, a.out[ST_R], before, n) && SameBits(&rig, a.end.z, z, n));
  if (a.end.rz) CHECK(Fetch(&rig, a.end.rz)[0] == -7);
  a.slots = NULL;
  CHECK_OK(LAUNCH(ctx->device, phase, &a));
  Apart(&rig, &a, r, z);
  CHECK(SameBits(&rig, a.out[ST_R], r, n) && SameBits(&rig, a.end.z, z, n));
  const double *x = Fetch(&rig, r), *y = Fetch(&rig, z);
  if (dots & 1) CheckPartials(&rig, &a, a.partial[0], x, x);
  if (dots & 2) CheckPartials(&rig, &a, a.end.rz, x, y);
  if (dots & 4) CheckPartials(&rig, &a, a.end.zz, y, y);
  Release(&rig);
}

/* One block; less, as much and more than the rows of one block of threads; the last block smaller. */
static void TestKernel(PoiseContext ctx)
{
  for (int b = 1 + PoiseRank(ctx); b <= MOST; b += PoiseSize(ctx)) {
    int64_t rows = POISE_BLOCK / b * b,
            sizes[] = {b, rows - b, rows, rows + b, 2 * rows + 5 * b, 3 * rows - b / 2, b - b / 2};
    for (int k = 0; k < 7; k++)
      if (sizes[k]) CaseKernel(ctx, sizes[k], b, (b + k) % 8);
  }
  CaseKernel(ctx, 300 * (int64_t)POISE_BLOCK + 3, 3, 7); /* more blocks than a GPU gives a thread per row */
}

/* A NaN in D, or in r, spoils the rows of its block and one partial of each dot. */
static void TestNaN(PoiseContext ctx)
{
  enum { B = 3, N = 3069, AT = 1500 };
  for (int in_d = 0; in_d < 2; in_d++) {
    Rig rig = {.ctx = ctx};
    PhaseArgs a = Residual(&rig, N, B);
    double poison = NAN, *where = in_d ? (double *)a.end.d + (AT / B * B + 1) * B : (double *)a.in[ST_B] + AT;
    a.end.rz = Take(&rig, 3, NULL), a.end.zz = Take(&rig, 3, NULL);
    CHECK_OK(poiseDeviceCopy(ctx->device, where, &poison, sizeof poison, COPY_TO_DEVICE));
    CHECK_OK(LAUNCH(ctx->device, phase, &a));
    const double *z = Fetch(&rig, a.end.z);
    for (int i = 0; i < N; i++) CHECK((isnan(z[i]) != 0) == (in_d ? i == AT / B * B : i / B == AT / B));
    for (int k = 0; k < 3; k++)
      CHECK((isnan(Fetch(&rig, a.end.rz)[k]) != 0) == (k == 1) &&
            (isnan(Fetch(&rig, a.end.zz)[k]) != 0) == (k == 1));
    Release(&rig);
  }
}

static void TestUnmarked(PoiseContext ctx)
{
  double x = 5, z = 6;
  PhaseArgs a = {.id = PHASE_vec_set, .n = 1, .out = {&x}, .end = {.b = 1, .d = &x, .r = &x, .z = &z}};
  CHECK_ERR(LAUNCH(ctx->device, phase, &a), POISE_ERR_INTERNAL, "phase vec_set does not end with blocks");
  CHECK(x == 5 && z == 6);
  a = (PhaseArgs){.id = PHASE_ksp_norm0, .n = 1};
  CHECK_ERR(LAUNCH(ctx->device, phase, &a), POISE_ERR_INTERNAL, "phase ksp_norm0 has no rows");
}

/* ---- solves ---------------------------------------------------------------------------------- */

/* Nodes in a row, dense blocks of b rows; uneven: those of the second half are of 3 and 2 rows in turns.
   Symmetric, positive definite. */
typedef struct Nodes {
  PoiseInt count;
  int b, uneven;
} Nodes;

static PoiseInt StartOf(const Nodes *s, PoiseInt k)
{
  PoiseInt half = s->count / 2, behind = k > half ? k - half : 0;
  return k * s->b - (s->uneven ? behind / 2 : 0);
}

static double EntryOf(PoiseInt i, PoiseInt j, int b)
{
  PoiseInt low = i < j ? i : j, high = i < j ? j : i;
  double scale = (1 + 0.7 * TestRandom(8, (uint64_t)i)) * (1 + 0.7 * TestRandom(8, (uint64_t)j));
  return scale * (i == j ? 2 * b + 0.5 : TestRandom(9, (uint64_t)(high * 4096 + low)));
}

static PoiseErr NodesMatrix(PoiseContext ctx, const Nodes *s, PoiseMat *A)
{
  PoiseInt first, m, N = StartOf(s, s->count), rows[MOST], cols[3 * MOST];
  double v[3 * MOST * MOST];
  PoiseSplit(ctx, s->count, &first, &m);
  PoiseInt local = StartOf(s, first + m) - StartOf(s, first);
  TRY(PoiseMatCreate(ctx, local, local, N, N, A));
  PoiseErr e = POISE_OK;
  for (PoiseInt k = first; !e && k < first + m; k++) {
    PoiseInt from = StartOf(s, k > 0 ? k - 1 : 0), to = StartOf(s, k + 2 < s->count ? k + 2 : s->count);
    int nr = (int)(StartOf(s, k + 1) - StartOf(s, k)), nc = (int)(to - from);
    for (int i = 0; i < nr; i++) rows[i] = StartOf(s, k) + i;
    for (int j = 0; j < nc; j++) cols[j] = from + j;
    for (int i = 0; i < nr; i++)
      for (int j = 0; j < nc; j++) v[i * nc + j] = EntryOf(rows[i], cols[j], s->b);
    e = PoiseMatAddBlock(*A, nr, rows, nc, cols, v);
  }
  if (!e) e = PoiseMatAssemble(*A);
  return e || s->uneven ? e : PoiseMatSetBlockSize(*A, s->b);
}

typedef struct Method {
  const char *name;
  PoisePCSide side;
  PoiseNormType norm;
} Method;

static const Method methods[] = {
    {"cg", POISE_PC_LEFT, POISE_KSP_NORM_PRECONDITIONED},
    {"cg", POISE_PC_LEFT, POISE_KSP_NORM_UNPRECONDITIONED},
    {"cg", POISE_PC_LEFT, POISE_KSP_NORM_NATURAL},
    {"minres", POISE_PC_LEFT, POISE_KSP_NORM_NATURAL},
    {"minres", POISE_PC_LEFT, POISE_KSP_NORM_PRECONDITIONED},
    {"richardson", POISE_PC_LEFT, POISE_KSP_NORM_PRECONDITIONED},
    {"richardson", POISE_PC_LEFT, POISE_KSP_NORM_UNPRECONDITIONED},
    {"chebyshev", POISE_PC_LEFT, POISE_KSP_NORM_PRECONDITIONED},
    {"bicgstab", POISE_PC_RIGHT, POISE_KSP_NORM_UNPRECONDITIONED},
    {"bicgstab", POISE_PC_LEFT, POISE_KSP_NORM_PRECONDITIONED},
    {"gmres", POISE_PC_RIGHT, POISE_KSP_NORM_UNPRECONDITIONED},
    {"gmres", POISE_PC_LEFT, POISE_KSP_NORM_PRECONDITIONED},
};
/* The first ones apply M to what a phase has written. Those behind scale the product from the left, if M is a
   diagonal. */
enum { NMETHODS = sizeof methods / sizeof *methods, FUSING = 9 };

static PoiseErr ApplyInner(void *pc, PoiseVec r, PoiseVec z)
{
  return PoisePCApply(pc, r, z);
}

/* most: rows of bjacobi's blocks. */
static bool SetPC(PoisePC pc, const char *type, int most)
{
  char text[8];
  snprintf(text, sizeof text, "%d", most);
  if (!CHECK_OK(PoisePCSetOptionsPrefix(pc, "e_")) || !CHECK_OK(PoisePCSetType(pc, type))) return false;
  if (strcmp(type, "bjacobi")) return true;
  return CHECK_OK(PoiseOptionsSet(pc->ctx, "e_pc_bjacobi_supervariables", text)) &&
         CHECK_OK(PoisePCSetFromOptions(pc));
}

static bool Open(PoiseContext ctx, const Nodes *nodes, const char *pc, int most, Problem *s)
{
  PoisePC p;
  *s = (Problem){.A = NULL};
  return CHECK_OK(NodesMatrix(ctx, nodes, &s->A)) && CHECK_OK(PoiseMatCreateVecs(s->A, &s->x, &s->b)) &&
         CHECK_OK(PoiseVecSetRandom(s->b, 3)) && CHECK_OK(PoiseKSPCreate(ctx, &s->ksp)) &&
         CHECK_OK(PoiseKSPSetOperators(s->ksp, s->A, NULL)) && CHECK_OK(PoiseKSPKeepHistory(s->ksp, 1)) &&
         CHECK_OK(PoiseKSPGetPC(s->ksp, &p)) && SetPC(p, pc, most) &&
         CHECK_OK(PoisePCCreate(ctx, &s->inner)) && CHECK_OK(PoisePCSetOperator(s->inner, s->A)) &&
         SetPC(s->inner, pc, most);
}

static bool Choose(PoiseKSP ksp, const Method *m)
{
  return CHECK_OK(PoiseKSPSetType(ksp, m->name)) && CHECK_OK(PoiseKSPSetPCSide(ksp, m->side)) &&
         CHECK_OK(PoiseKSPSetNormType(ksp, m->norm)) &&
         CHECK_OK(PoiseKSPChebyshevSetEigenvalues(ksp, 1.9, 0.1));
}

typedef struct History {
  PoiseInt count;
  double norm[200];
} History;

static void Solve(Problem *s, History *h)
{
  const double *norms;
  CHECK_OK(PoiseKSPSetTolerances(s->ksp, 1e-9, -1, -1, 199));
  CHECK_OK(PoiseVecSet(s->x, 0));
  CHECK_OK(PoiseKSPSolve(s->ksp, s->b, s->x));
  CHECK(PoiseKSPConvergedReason(s->ksp) > 0);
  if (CHECK_OK(PoiseKSPHistory(s->ksp, &h->count, &norms)) && CHECK(h->count <= 200))
    memcpy(h->norm, norms, (size_t)h->count * sizeof *norms);
}

/* Iterations of the same numbers but for rounding; replayed, eager, with forbidden copies the same bits. */
static void CaseSolves(Problem *s, const Method *m)
{
  History own, again, users;
  PoiseContext ctx = s->ksp->ctx;
  PoiseKSP ksp = s->ksp;
  PoisePC pc = ksp->pc;
  if (!Choose(ksp, m)) return;
  Solve(s, &own);
  uint64_t bits = SampleDigest(s->x);
  ksp->options.replay = !ksp->options.replay;
  Solve(s, &again);
  ksp->options.replay = !ksp->options.replay;
  CHECK(own.count == again.count && !memcmp(own.norm, again.norm, (size_t)own.count * sizeof *own.norm));
  CHECK(SampleDigest(s->x) == bits);
  if (PoiseSize(ctx) == 1) {
    ctx->device->forbid_copies = true;
    Solve(s, &again);
    ctx->device->forbid_copies = false;
    CHECK(SampleDigest(s->x) == bits);
  }
  ksp->pc = s->inner; /* another object, that the function calls */
  s->inner = pc;
  pc->owner = NULL;
  CHECK_OK(PoisePCSetShell(ksp->pc, &(PoiseShellPC){.apply = ApplyInner}, pc));
  Solve(s, &users);
  CHECK(own.count > 3);
  CHECK_INT(own.count, users.count);
  for (int k = 0; k < own.count && k < users.count; k++)
    CHECK_NEAR(own.norm[k], users.norm[k], 1e-7 * users.norm[k] + 1e-12 * users.norm[0]);
}

/* Work of an iteration, as the log has it. */
typedef struct Work {
  double launches, applications, bytes, product; /* bytes: of vectors; product: of MatMult */
} Work;

static LogCounts CountsOf(Problem *s, PoiseInt its)
{
  CHECK_OK(PoiseKSPSetTolerances(s->ksp, -1, -1, -1, its));
  CHECK_OK(PoiseKSPSolve(s->ksp, s->b, s->x)); /* sets up */
  LogCounts counts = ProblemCounts(s);
  CHECK_INT(PoiseKSPIterations(s->ksp), its);
  return counts;
}

static Work WorkOf(Problem *s, const Method *m)
{
  Method without = *m;
  without.norm = POISE_KSP_NORM_NONE;
  if (!Choose(s->ksp, &without)) return (Work){0};
  s->ksp->options.replay = 0;
  LogCounts few = CountsOf(s, 3), many = CountsOf(s, 4);
  return (Work){many.launches - few.launches,
                many.event[EVENT_PCApply].calls - few.event[EVENT_PCApply].calls,
                many.event[EVENT_KSPVectors].bytes - few.event[EVENT_KSPVectors].bytes,
                many.event[EVENT_MatMult].bytes - few.event[EVENT_MatMult].bytes};
}

static Work WorkWith(PoiseContext ctx, const Nodes *nodes, const char *pc, int most, const Method *m)
{
  Problem s;
  Work w = {0};
  if (Open(ctx, nodes, pc, most, &s)) w = WorkOf(&s, m);
  ProblemClose(&s);
  return w;
}

static const struct {
  Nodes nodes;
  const char *pc;
  int most;
} systems[] = {{{700, 3, 0}, "pbjacobi", 0}, {{341, 3, 0}, "pbjacobi", 0}, {{9, 32, 0}, "pbjacobi", 0},
               {{75, 27, 0}, "pbjacobi", 0}, {{500, 1, 0}, "pbjacobi", 0}, {{410, 5, 0}, "bjacobi", 5},
               {{1103, 1, 0}, "bjacobi", 7}, {{331, 4, 0}, "bjacobi", 15}, {{60, 27, 0}, "bjacobi", 31},
               {{1200, 1, 0}, "jacobi", 0},  {{400, 3, 1}, "bjacobi", 3}};
enum { NSYSTEMS = sizeof systems / sizeof *systems, MIXED = NSYSTEMS - 1 };

static void TestSolves(PoiseContext ctx)
{
  for (int k = 0; k < NSYSTEMS; k++)
    for (int m = k % 2; m < NMETHODS; m += k == 0 || k == MIXED ? 1 : 2) {
      Problem s;
      if (Open(ctx, &systems[k].nodes, systems[k].pc, systems[k].most, &s)) CaseSolves(&s, &methods[m]);
      ProblemClose(&s);
    }
}

/* Rows of a block of M. */
static double BlockOf(int system)
{
  int b = systems[system].nodes.b, most = systems[system].most;
  return most ? most / b * b : b;
}

/* From the left, of what a product gives: a diagonal takes no launch, and its bytes are those of the
   product. */
static void CheckProductsWork(PoiseContext ctx, int k, const Method *m)
{
  const Nodes *nodes = &systems[k].nodes;
  Work w = WorkWith(ctx, nodes, systems[k].pc, systems[k].most, m);
  bool scales = m->side == POISE_PC_LEFT && BlockOf(k) == 1;
  int products = strcmp(m->name, "bicgstab") ? 1 : 2;
  CHECK_NEAR(w.applications, scales ? 0 : products, 0);
  if (!scales || PoiseSize(ctx) > 1) return;
  Work none = WorkWith(ctx, nodes, "none", 0, m);
  CHECK_NEAR(w.launches, none.launches, 0);
  CHECK_NEAR(w.bytes, none.bytes, 0);
  CHECK_NEAR(w.product - none.product, 8 * products * (double)StartOf(nodes, nodes->count), 0);
}

/* The launches of the same iteration with a preconditioner that needs none. */
static void TestWork(PoiseContext ctx)
{
  for (int k = 0; k < MIXED; k++)
    for (int m = 0; m < NMETHODS; m++) {
      const Nodes *nodes = &systems[k].nodes;
      bool right = methods[m].side == POISE_PC_RIGHT, fuses = m < FUSING;
      bool pointwise = !strcmp(systems[k].pc, "jacobi");
      if (!fuses) {
        CheckProductsWork(ctx, k, &methods[m]);
        continue;
      }
      Work w = WorkWith(ctx, nodes, systems[k].pc, systems[k].most, &methods[m]);
      CHECK_NEAR(w.applications, 0, 0);
      if (PoiseSize(ctx) > 1) continue;
      Work least = WorkWith(ctx, nodes, right ? "none" : "jacobi", 0, &methods[m]);
      CHECK_NEAR(w.launches, least.launches, 0);
      double n = (double)StartOf(nodes, nodes->count), b = BlockOf(k);
      if (!strcmp(methods[m].name, "cg") && !pointwise)
        CHECK_NEAR(w.bytes, 8 * n * (9 + b), 0); /* 2 of r and z each, q, 2 of x and p each */
      if (right) CHECK_NEAR(w.bytes - least.bytes, 2 * 8 * n * (1 + b), 0);
    }
}

/* Ranks whose blocks differ in size apply them by a kernel, others in the phase. */
static void TestUneven(PoiseContext ctx)
{
  PoiseInt first, m, count = systems[MIXED].nodes.count;
  PoiseSplit(ctx, count, &first, &m);
  Work w = WorkWith(ctx, &systems[MIXED].nodes, "bjacobi", 3, &methods[0]);
  CHECK_NEAR(w.applications, first + m > count / 2 + 2, 0);
}

/* A null space is removed from z before its dots are summed: behind a kernel of M's own. */
static void CaseNullSpace(PoiseContext ctx, int system, const Method *m, int applications)
{
  Problem s;
  if (!Open(ctx, &systems[system].nodes, systems[system].pc, systems[system].most, &s)) return;
  CHECK_NEAR(WorkOf(&s, m).applications, 0, 0);
  CHECK_OK(PoiseMatSetNullSpace(s.A, 1, 0, NULL));
  CHECK_NEAR(WorkOf(&s, m).applications, applications, 0);
  CHECK_OK(PoiseMatSetNullSpace(s.A, 0, 0, NULL));
  CHECK_NEAR(WorkOf(&s, m).applications, 0, 0);
  ProblemClose(&s);
}

static void TestNullSpace(PoiseContext ctx)
{
  CaseNullSpace(ctx, 0, &methods[0], 1);
  CaseNullSpace(ctx, MIXED - 1, &methods[FUSING], 2);
}

/* New values, another block size and another type between solves whose loops were captured; with blocks of 1,
   bicgstab from the left has them in its products. */
static void TestChanges(PoiseContext ctx)
{
  static const Nodes nodes = {240, 6, 0};
  static const int sizes[] = {6, 3, 2, 1, 6, 6, 3, 2, 1, 6, 1, 1, 3, 1, 1, 6};
  enum { CHANGES = sizeof sizes / sizeof *sizes };
  Problem s;
  if (!Open(ctx, &nodes, "pbjacobi", 0, &s)) return;
  for (int k = 0; k < CHANGES; k++) {
    PoisePC pc = s.ksp->pc;
    CHECK_OK(PoiseMatSetBlockSize(s.A, sizes[k]));
    CHECK_OK(PoiseMatScale(s.A, 1.5));
    const char *type = k == 7 ? "bjacobi" : "pbjacobi";
    if (!SetPC(pc, type, 4) || !SetPC(s.inner, type, 4)) break;
    History own, fresh;
    if (!Choose(s.ksp, &methods[k < 10 ? k % 2 * 8 : FUSING])) break;
    Solve(&s, &own);
    uint64_t bits = SampleDigest(s.x);
    s.ksp->pc = s.inner, s.inner = pc,
    pc->owner = NULL; /* what was set up and captured before counts for nothing */
    poiseKSPForget(s.ksp);
    Solve(&s, &fresh);
    CHECK(own.count == fresh.count && SampleDigest(s.x) == bits);
  }
  ProblemClose(&s);
}

/* The iterate of BiCGSTAB from the right, between iterations that have M^-1 p ready. */
static PoiseErr LookAtIterate(PoiseKSP ksp, PoiseInt iteration, double norm, PoiseKSPReason *reason, void *x)
{
  double residual;
  TRY(PoiseKSPBuildSolution(ksp, x));
  TRY(PoiseKSPTrueResidual(ksp, ksp->solve.b, x, &residual));
  CHECK_NEAR(residual, norm, 1e-9 * norm + 1e-11);
  if (iteration == 9) *reason = POISE_CONVERGED_USER;
  return POISE_OK;
}

static void TestIterates(PoiseContext ctx)
{
  Problem s;
  PoiseVec x;
  if (!Open(ctx, &systems[0].nodes, "pbjacobi", 0, &s) || !Choose(s.ksp, &methods[8])) return;
  CHECK_OK(PoiseVecDuplicate(s.x, &x));
  CHECK_OK(PoiseKSPSetConvergenceTest(s.ksp, LookAtIterate, x));
  CHECK_OK(PoiseKSPSetTolerances(s.ksp, 1e-9, -1, -1, 40));
  CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
  CHECK_INT(PoiseKSPIterations(s.ksp), 9);
  CHECK_OK(PoiseVecDestroy(&x));
  ProblemClose(&s);
}

static const Test tests[] = {{"kernel", TestKernel, 0},
                             {"nan", TestNaN, 0},
                             {"unmarked", TestUnmarked, TEST_HOST_ONLY},
                             {"solves", TestSolves, 0},
                             {"work", TestWork, 0},
                             {"uneven", TestUneven, 0},
                             {"null_space", TestNullSpace, 0},
                             {"changes", TestChanges, 0},
                             {"iterates", TestIterates, 0},
                             {NULL, NULL, 0}};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "pc_epilogue", tests);
}
