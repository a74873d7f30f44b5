/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Speed on CPUs, each figure beside a limit measured in the same run, in turns with it: products and CG beside
  the bandwidth of reading and of the triad, taking new values of triplets beside that of copying, and
  everything beside PETSc where this was built with it (POISE_PETSC). One line per case:

    cpu -case mult|cg|assemble|coo -problem 5|7|27|elasticity|blocks -bytes 1e9 [-block 3 -repeats 9
    -iterations 20 -host_threads 2]

  -mat_type says by which type (bcsr: of the blocks of elasticity). 5 and 7: difference Laplacians on a square
  and a cube; 27 and elasticity (81 entries per row): trilinear hexahedra on a cube, 1 and 3 unknowns per
  node, with some mass so that nothing is singular; blocks: -block unknowns per node, 27 dense blocks per row
  of blocks. Elements and rows go to ranks by planes of nodes.
*/
#define _DEFAULT_SOURCE /* madvise */
#include <math.h>
#include <poise.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/blocks.h"
#include "common/measure.h"
#include "cpu_peers.h"

#ifdef POISE_PETSC
static const Theirs *const theirs = &theirs_petsc;
#else
static const Theirs *const theirs = NULL;
#endif

enum { MULT, CG, ASSEMBLE, COO };
enum { BLOCKS = ELASTICITY + 1 }; /* in -problem, behind those of meshes */

typedef struct Options {
  int kind, problem;
  double bytes;
  PoiseInt repeats, iterations, block;
  int shuffle;
} Options;

static const PoiseOption table[] = {
    {"case", POISE_OPTION_CHOICE, offsetof(Options, kind), "mult", 0, 0, "mult|cg|assemble|coo",
     "what to measure"},
    {"problem", POISE_OPTION_CHOICE, offsetof(Options, problem), "7", 0, 0, "5|7|27|elasticity|blocks",
     "the matrix"},
    {"block", POISE_OPTION_INT, offsetof(Options, block), "3", 1, 32, NULL, "unknowns per node of blocks"},
    {"bytes", POISE_OPTION_REAL, offsetof(Options, bytes), "1e9", 1e3, 1e12, NULL,
     "size of the matrix, at least"},
    {"repeats", POISE_OPTION_INT, offsetof(Options, repeats), "9", 1, MAX_REPEATS, NULL,
     "measurements of each time"},
    {"iterations", POISE_OPTION_INT, offsetof(Options, iterations), "20", 1, 1e6, NULL,
     "iterations of a solve"},
    {"shuffle", POISE_OPTION_BOOL, offsetof(Options, shuffle), "no", 0, 0, NULL,
     "coo: triplets in random order"},
    {0},
};

typedef struct Run {
  PoiseContext ctx;
  Options o;
  char name[64];
  double start; /* of what is being measured */
} Run;

typedef struct Limits { /* what memory allows, measured in turns with the rest */
  Bandwidth arrays;
  Times t[BANDWIDTHS];
} Limits;

static PoiseErr MeasureBandwidth(Run *run, Limits *w, int kind)
{
  POISE_TRY(Begin(run->ctx, &run->start));
  RunBandwidth(&w->arrays, kind);
  return End(run->ctx, run->start, &w->t[kind]);
}

/* GB/s of all ranks in this time */
static double Rate(Run *run, Limits *w, int kind, double time)
{
  return 1e-9 * bandwidth_bytes[kind] * (double)w->arrays.n * PoiseSize(run->ctx) / time;
}

/* ---- products and solves --------------------------------------------------------------------- */

/* The line of a case that is bound by bandwidth: against reading (or copying), and against PETSc; medians,
   and the same of minima. */
static PoiseErr Report(Run *run, double bytes, double flops, Times *ours, Limits *w, int limit, Times *others)
{
  double median = Median(ours), least = Least(ours), rate = 1e-9 * bytes / median,
         best = 1e-9 * bytes / least;
  double limit_rate = Rate(run, w, limit, Median(&w->t[limit])),
         limit_best = Rate(run, w, limit, Least(&w->t[limit]));
  POISE_TRY(PoisePrintf(run->ctx,
                        "%-16s bytes %.4g flops %.4g | ms %.3f (min %.3f) | GB/s %.2f (%.2f), of %s %.3f "
                        "(%.3f) | %s %.2f (%.2f) "
                        "triad %.2f (%.2f)",
                        run->name, bytes, flops, 1e3 * median, 1e3 * least, rate, best,
                        limit == READ ? "read" : "copy", rate / limit_rate, best / limit_best,
                        limit == READ ? "read" : "copy", limit_rate, limit_best,
                        Rate(run, w, TRIAD, Median(&w->t[TRIAD])), Rate(run, w, TRIAD, Least(&w->t[TRIAD]))));
  if (theirs)
    POISE_TRY(PoisePrintf(run->ctx, " | %s ms %.3f (%.3f), ours / theirs %.3f (%.3f)", theirs->version,
                          1e3 * Median(others), 1e3 * Least(others), median / Median(others),
                          least / Least(others)));
  return PoisePrintf(run->ctx, "\n");
}

typedef struct Solve {
  PoiseMat A;
  PoiseVec x, y, b;
  PoiseKSP ksp;
} Solve;

static PoiseErr CreateSolve(Run *run, const Rows *r, Solve *s)
{
  PoisePC pc;
  PoiseCSR csr = {.ptr32 = r->ptr, .col32 = r->col, .val = r->val};
  POISE_TRY(PoiseMatCreateCSR(run->ctx, r->n, r->n, r->N, r->N, &csr, POISE_COPY, &s->A));
  POISE_TRY(PoiseMatSetBlockSize(s->A, r->block));
  POISE_TRY(PoiseMatSetFromOptions(s->A));
  POISE_TRY(PoiseMatCreateVecs(s->A, &s->x, &s->y));
  POISE_TRY(PoiseVecDuplicate(s->y, &s->b));
  POISE_TRY(PoiseVecSet(s->x, 1));
  POISE_TRY(PoiseMatMult(s->A, s->x, s->b));
  POISE_TRY(PoiseKSPCreate(run->ctx, &s->ksp));
  POISE_TRY(PoiseKSPSetType(s->ksp, "cg"));
  POISE_TRY(PoiseKSPSetOperators(s->ksp, s->A, s->A));
  POISE_TRY(PoiseKSPGetPC(s->ksp, &pc));
  POISE_TRY(PoisePCSetType(pc, "jacobi"));
  POISE_TRY(PoiseKSPSetTolerances(s->ksp, 0, 1e-300, 1e300, run->o.iterations));
  return PoiseMatView(s->A);
}

static void DestroySolve(Solve *s)
{
  PoiseKSPDestroy(&s->ksp);
  PoiseVecDestroy(&s->x);
  PoiseVecDestroy(&s->y);
  PoiseVecDestroy(&s->b);
  PoiseMatDestroy(&s->A);
}

static PoiseErr OurTurn(Run *run, Solve *s)
{
  if (run->o.kind == MULT) return PoiseMatMult(s->A, s->x, s->y);
  POISE_TRY(PoiseKSPSolve(s->ksp, s->b, s->y));
  if (PoiseKSPIterations(s->ksp) != run->o.iterations)
    POISE_FAIL(POISE_ERR_INTERNAL, "%lld iterations, not %lld", (long long)PoiseKSPIterations(s->ksp),
               (long long)run->o.iterations);
  return POISE_OK;
}

static void TheirTurn(const Run *run)
{
  if (run->o.kind == MULT)
    theirs->mult();
  else
    theirs->cg((int)run->o.iterations);
}

static PoiseErr Turns(Run *run, Solve *s, const Rows *r, Limits *w)
{
  Times ours = {0}, others = {0};
  double per = run->o.kind == CG ? (double)run->o.iterations : 1;
  PoiseInt nz;
  PoiseBytes held;
  int64_t plain;
  POISE_TRY(PoiseMatNonzeros(s->A, &nz));
  POISE_TRY(PoiseMatBytes(s->A, &held, &plain));
  double matrix = (double)plain;
  POISE_TRY(PoiseSum(run->ctx, 1, &matrix));
  POISE_TRY(OurTurn(run, s)); /* allocates what is made on first need */
  if (theirs) TheirTurn(run);
  for (PoiseInt k = 0; k < run->o.repeats; k++) {
    POISE_TRY(MeasureBandwidth(run, w, READ));
    POISE_TRY(MeasureBandwidth(run, w, TRIAD));
    POISE_TRY(Begin(run->ctx, &run->start));
    POISE_TRY(OurTurn(run, s));
    POISE_TRY(End(run->ctx, run->start, &ours));
    if (!theirs) continue;
    POISE_TRY(Begin(run->ctx, &run->start));
    TheirTurn(run);
    POISE_TRY(End(run->ctx, run->start, &others));
  }
  for (int k = 0; k < ours.n; k++) ours.t[k] /= per;
  for (int k = 0; k < others.n; k++) others.t[k] /= per;
  double n = (double)r->N, bytes = matrix + 16 * n, flops = 2.0 * (double)nz;
  /* q r d r, r d p x x p: 10 vectors beside the product's p, q */
  if (run->o.kind == CG) bytes += 80 * n, flops += 13 * n;
  return Report(run, bytes, flops, &ours, w, READ, &others);
}

static PoiseErr Product(Run *run, const Mesh *m)
{
  Rows r = {0};
  Solve s = {0};
  Limits w = {0};
  PoiseErr e = run->o.problem == BLOCKS ? CreateBlocks(run->ctx, (int)run->o.block, run->o.bytes, &r)
                                        : CreateMeshRows(m, &r);
  if (!e) e = CreateSolve(run, &r, &s);
  if (!e && theirs) theirs->create(&r);
  if (!e) e = CreateBandwidth((int64_t)1 << 25, &w.arrays);
  if (!e) e = Turns(run, &s, &r, &w);
  DestroyBandwidth(&w.arrays);
  DestroySolve(&s);
  DestroyRows(&r);
  return e;
}

/* ---- assembly -------------------------------------------------------------------------------- */

static PoiseErr AddElements(const Mesh *m, PoiseMat A)
{
  PoiseInt rows[MAX_DOFS];
  int size = CORNERS * m->dofs;
  for (int64_t node = m->begin; node < m->begin + m->n; node++) {
    if (!HasElement(m, node)) continue;
    ElementRows(m, node, rows);
    if (A)
      POISE_TRY(PoiseMatAddBlock(A, size, rows, size, rows, m->element));
    else
      theirs->add(size, rows, m->element);
  }
  return POISE_OK;
}

/* Entries of each row in and outside the diagonal block are known before the time begins. */
static PoiseErr TheirReserve(Run *run, const Mesh *m)
{
  int64_t n = m->n * m->dofs, begin = m->begin * m->dofs;
  int32_t *inside = calloc((size_t)n, sizeof *inside), *outside = calloc((size_t)n, sizeof *outside),
          col[27 * 3];
  if (!inside || !outside) POISE_FAIL(POISE_ERR_MEMORY, "counts of %lld rows", (long long)n);
  for (int64_t i = 0; i < n; i++) {
    int count = NodeRow(m, m->begin + i / m->dofs, 0, col, NULL);
    for (int k = 0; k < count; k++) {
      if (col[k] >= begin && col[k] < begin + n)
        inside[i]++;
      else
        outside[i]++;
    }
  }
  POISE_TRY(Begin(run->ctx, &run->start));
  theirs->reserve(n, m->nodes * m->dofs, inside, outside);
  free(inside);
  free(outside);
  return POISE_OK;
}

static double Resident(void)
{
  double pages = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  if (!f) return 0;
  if (fscanf(f, "%*s %lf", &pages) != 1) pages = 0;
  fclose(f);
  return pages * (double)sysconf(_SC_PAGESIZE);
}

static PoiseErr OurAssembly(Run *run, const Mesh *m, PoiseMat *A, Times *first, Times *again, double *held)
{
  double before = Resident();
  PoiseInt n = m->n * m->dofs, N = m->nodes * m->dofs;
  POISE_TRY(Begin(run->ctx, &run->start));
  POISE_TRY(PoiseMatCreate(run->ctx, n, n, N, N, A));
  POISE_TRY(AddElements(m, *A));
  POISE_TRY(PoiseMatAssemble(*A));
  POISE_TRY(End(run->ctx, run->start, first));
  *held = Resident() - before;
  POISE_TRY(PoiseSum(run->ctx, 1, held));
  POISE_TRY(Begin(run->ctx, &run->start));
  POISE_TRY(PoiseMatZeroEntries(*A));
  POISE_TRY(AddElements(m, *A));
  POISE_TRY(PoiseMatAssemble(*A));
  return End(run->ctx, run->start, again);
}

static PoiseErr TheirAssembly(Run *run, const Mesh *m, Times *first, Times *again)
{
  POISE_TRY(TheirReserve(run, m));
  POISE_TRY(AddElements(m, NULL));
  theirs->assemble();
  POISE_TRY(End(run->ctx, run->start, first));
  POISE_TRY(Begin(run->ctx, &run->start));
  theirs->zero();
  POISE_TRY(AddElements(m, NULL));
  theirs->assemble();
  POISE_TRY(End(run->ctx, run->start, again));
  theirs->destroy();
  return POISE_OK;
}

static PoiseErr ReportAssembly(Run *run, const char *what, double blocks, double added, Times *ours,
                               Times *others)
{
  double t = Median(ours), least = Least(ours);
  POISE_TRY(PoisePrintf(
      run->ctx,
      "%-16s %s: %.4g blocks, bytes added %.4g flops %.4g | ms %.1f (min %.1f) | entries/s %.3g (%.3g)",
      run->name, what, blocks, 8 * added, added, 1e3 * t, 1e3 * least, added / t, added / least));
  if (theirs)
    POISE_TRY(PoisePrintf(run->ctx, " | %s, preallocated, ms %.1f (%.1f), ours / theirs %.3f (%.3f)",
                          theirs->version, 1e3 * Median(others), 1e3 * Least(others), t / Median(others),
                          least / Least(others)));
  return PoisePrintf(run->ctx, "\n");
}

/* The host of a virtual machine takes pages back that lie free for seconds, and the next to need them waits
   for it. So both sides begin when enough pages have just been in use. */
static PoiseErr UsePages(const Run *run)
{
  enum { PAGE = 4096, LARGE_PAGE = 512 * PAGE };
  size_t bytes = ((size_t)(3 * run->o.bytes / PoiseSize(run->ctx)) / LARGE_PAGE + 1) * LARGE_PAGE;
  char *p = aligned_alloc(LARGE_PAGE, bytes);
  if (!p) POISE_FAIL(POISE_ERR_MEMORY, "%zu bytes", bytes);
  (void)madvise(p, bytes, MADV_HUGEPAGE);
  for (size_t k = 0; k < bytes; k += PAGE) ((volatile char *)p)[k] = 0;
  free(p);
  return POISE_OK;
}

static PoiseErr Assembly(Run *run, const Mesh *m)
{
  Times first = {0}, again = {0}, their_first = {0}, their_again = {0};
  double held = 0, size = CORNERS * m->dofs, blocks = pow((double)m->k - 1, 3);
  for (PoiseInt k = 0; k < run->o.repeats; k++) {
    PoiseMat A = NULL;
    double grew;
    POISE_TRY(UsePages(run));
    PoiseErr e = OurAssembly(run, m, &A, &first, &again, &grew);
    if (!k) held = grew; /* later ones find memory that was returned */
    if (!e && k + 1 == run->o.repeats) e = PoiseMatView(A);
    PoiseMatDestroy(&A);
    POISE_TRY(e);
    if (!theirs) continue;
    POISE_TRY(UsePages(run));
    POISE_TRY(TheirAssembly(run, m, &their_first, &their_again));
  }
  POISE_TRY(PoisePrintf(run->ctx, "%-14s resident memory grew by %.0f bytes\n", run->name, held));
  POISE_TRY(ReportAssembly(run, "first", blocks, blocks * size * size, &first, &their_first));
  return ReportAssembly(run, "again", blocks, blocks * size * size, &again, &their_again);
}

/* ---- triplets -------------------------------------------------------------------------------- */

static PoiseErr CooTurns(Run *run, PoiseMat A, const Coo *c, Limits *w)
{
  Times ours = {0}, others = {0};
  double count = (double)c->n;
  PoiseInt nz;
  POISE_TRY(PoiseMatNonzeros(A, &nz));
  POISE_TRY(PoiseSum(run->ctx, 1, &count));
  for (PoiseInt k = 0; k < run->o.repeats; k++) {
    POISE_TRY(MeasureBandwidth(run, w, COPY));
    POISE_TRY(MeasureBandwidth(run, w, TRIAD));
    POISE_TRY(Begin(run->ctx, &run->start));
    POISE_TRY(PoiseMatSetValuesCOO(A, c->v));
    POISE_TRY(End(run->ctx, run->start, &ours));
    if (!theirs) continue;
    POISE_TRY(Begin(run->ctx, &run->start));
    theirs->coo_values(c->v);
    POISE_TRY(End(run->ctx, run->start, &others));
  }
  return Report(run, 12 * count + 8 * (double)nz, count, &ours, w, COPY, &others);
}

static PoiseErr Triplets(Run *run, const Mesh *m)
{
  Coo c = {0};
  PoiseMat A = NULL;
  Limits w = {0};
  PoiseInt n = m->n * m->dofs, N = m->nodes * m->dofs;
  PoiseErr e = CreateCoo(m, run->o.shuffle, &c);
  if (!e) e = PoiseMatCreate(run->ctx, n, n, N, N, &A);
  if (!e) e = PoiseMatSetPatternCOO(A, c.n, c.rows, c.cols);
  if (!e && theirs) theirs->coo_pattern(n, N, c.n, c.rows, c.cols);
  if (!e) e = CreateBandwidth((int64_t)1 << 25, &w.arrays);
  if (!e) e = CooTurns(run, A, &c, &w);
  DestroyBandwidth(&w.arrays);
  PoiseMatDestroy(&A);
  DestroyCoo(&c);
  return e;
}

/* ---- main ------------------------------------------------------------------------------------ */

static PoiseErr Body(PoiseContext ctx, void *arg)
{
  static const char *const cases[] = {"mult", "cg", "assemble", "coo"}, *const problems[] = {"5", "7", "27",
                                                                                             "elasticity",
                                                                                             "blocks"};
  Run run = {.ctx = ctx, .o = *(const Options *)arg};
  Mesh m;
  bool elements = run.o.problem == TWENTY_SEVEN || run.o.problem == ELASTICITY;
  if (run.o.kind >= ASSEMBLE && !elements)
    POISE_FAIL(POISE_ERR_OPTION, "problem %s has no elements: -problem 27 or elasticity",
               problems[run.o.problem]);
  snprintf(run.name, sizeof run.name, "%s.%s%s", cases[run.o.kind], problems[run.o.problem],
           run.o.shuffle ? ".shuffled" : "");
  if (run.o.problem == BLOCKS)
    snprintf(run.name, sizeof run.name, "%s.blocks.%d", cases[run.o.kind], (int)run.o.block);
  else
    CreateMesh(ctx, run.o.problem, false, run.o.bytes, &m);
  PoiseErr e = run.o.kind <= CG         ? Product(&run, &m)
               : run.o.kind == ASSEMBLE ? Assembly(&run, &m)
                                        : Triplets(&run, &m);
  if (theirs) theirs->destroy();
  return e;
}

int main(int argc, char **argv)
{
  const PoiseInit init = {.help = "Speed of products, CG, assembly and triplets on CPUs.", .options = table};
  PoiseContext ctx;
  Options o;
  if (theirs) theirs->start();
  PoiseErr e = PoiseInitialize(&argc, &argv, &init, &ctx);
  if (!e) e = PoiseOptionsDefaults(table, &o);
  if (!e) e = PoiseOptionsRead(ctx, NULL, table, &o);
  if (!e) e = PoiseView(ctx);
  if (!e) e = Body(ctx, &o);
  if (e) fputs(PoiseErrorText(), stderr);
  if (PoiseFinalize(&ctx)) fputs(PoiseErrorText(), stderr);
  if (theirs) theirs->stop();
  return e != POISE_OK;
}
