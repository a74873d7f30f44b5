/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Speed on CPUs, each figure beside a limit measured in the same run, in turns with it: products and CG beside the bandwidth of
  reading and of the triad, taking new values of triplets beside that of copying, and everything beside PETSc where this was
  built with it (POISE_PETSC). One line per case:

    cpu -case mult|cg|assemble|coo -problem 5|7|27|elasticity -bytes 1e9 [-repeats 9 -iterations 20 -host_threads 2]

  5 and 7: difference Laplacians on a square and a cube; 27 and elasticity (81 entries per row): trilinear hexahedra on a cube,
  1 and 3 unknowns per node, with some mass so that nothing is singular. Elements and rows go to ranks by planes of nodes.
*/
#define _DEFAULT_SOURCE /* madvise */
#include <math.h>
#include <poise.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cpu_theirs.h"

#ifdef POISE_PETSC
static const Theirs *const theirs = &theirs_petsc;
#else
static const Theirs *const theirs = NULL;
#endif

enum { MULT, CG, ASSEMBLE, COO };
enum { FIVE, SEVEN, TWENTY_SEVEN, ELASTICITY };
enum { MAX_REPEATS = 99, CORNERS = 8, MAX_DOFS = 24 };

typedef struct Options {
  int kind, problem;
  double bytes;
  PoiseInt repeats, iterations;
  int shuffle;
} Options;

static const PoiseOption table[] = {
    {"case", POISE_OPTION_CHOICE, offsetof(Options, kind), "mult", 0, 0, "mult|cg|assemble|coo", "what to measure"},
    {"problem", POISE_OPTION_CHOICE, offsetof(Options, problem), "7", 0, 0, "5|7|27|elasticity", "the matrix"},
    {"bytes", POISE_OPTION_REAL, offsetof(Options, bytes), "1e9", 1e3, 1e12, NULL, "size of the matrix, at least"},
    {"repeats", POISE_OPTION_INT, offsetof(Options, repeats), "9", 1, MAX_REPEATS, NULL, "measurements of each time"},
    {"iterations", POISE_OPTION_INT, offsetof(Options, iterations), "20", 1, 1e6, NULL, "iterations of a solve"},
    {"shuffle", POISE_OPTION_BOOL, offsetof(Options, shuffle), "no", 0, 0, NULL, "coo: triplets in random order"},
    {0},
};

typedef struct Run {
  PoiseContext ctx;
  Options o;
  char name[64];
  double start; /* of what is being measured */
} Run;

/* ---- times ---------------------------------------------------------------------------------------------------------- */

typedef struct Times {
  int n;
  double t[MAX_REPEATS];
} Times;

static int CompareDoubles(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double Median(Times *t)
{
  qsort(t->t, (size_t)t->n, sizeof *t->t, CompareDoubles);
  return t->n ? t->t[t->n / 2] : NAN;
}

static double Least(Times *t)
{
  (void)Median(t);
  return t->n ? t->t[0] : NAN;
}

static PoiseErr Begin(Run *run)
{
  POISE_TRY(PoiseBarrier(run->ctx));
  run->start = PoiseTime();
  return POISE_OK;
}

/* The slowest rank's time. */
static PoiseErr End(Run *run, Times *t)
{
  double time = PoiseTime() - run->start;
  POISE_TRY(PoiseMax(run->ctx, 1, &time));
  t->t[t->n++] = time;
  return POISE_OK;
}

/* ---- bandwidth ------------------------------------------------------------------------------------------------------ */

enum { READ, COPY, TRIAD, KINDS, LANES = 32 };

typedef struct Bandwidth {
  int64_t n;
  double *a, *b, *c, sink;
  Times t[KINDS];
} Bandwidth;

static const double bytes_moved[] = {8, 16, 24};

/* Three arrays of one vector's share each, well beyond any cache; written first by the threads that use them. */
static PoiseErr CreateBandwidth(Bandwidth *w)
{
  w->n = (int64_t)1 << 25;
  w->a = malloc((size_t)w->n * sizeof(double));
  w->b = malloc((size_t)w->n * sizeof(double));
  w->c = malloc((size_t)w->n * sizeof(double));
  if (!w->a || !w->b || !w->c) POISE_FAIL(POISE_ERR_MEMORY, "three arrays of %lld numbers", (long long)w->n);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < w->n; i++) w->a[i] = 1, w->b[i] = 2, w->c[i] = 3;
  return POISE_OK;
}

static void DestroyBandwidth(Bandwidth *w)
{
  free(w->a);
  free(w->b);
  free(w->c);
}

static double ReadArray(const double *a, int64_t n)
{
  double total = 0;
#pragma omp parallel for schedule(static) reduction(+ : total)
  for (int64_t block = 0; block < n / 1024; block++) {
    double s[LANES] = {0};
    for (int64_t i = block * 1024; i < (block + 1) * 1024; i += LANES) {
#pragma omp simd
      for (int l = 0; l < LANES; l++) s[l] += a[i + l];
    }
    for (int l = 0; l < LANES; l++) total += s[l];
  }
  return total;
}

static PoiseErr MeasureBandwidth(Run *run, Bandwidth *w, int kind)
{
  double *restrict a = w->a, *restrict b = w->b, *restrict c = w->c;
  POISE_TRY(Begin(run));
  if (kind == READ) w->sink += ReadArray(a, w->n);
  if (kind == COPY) {
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < w->n; i++) b[i] = a[i];
  }
  if (kind == TRIAD) {
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < w->n; i++) c[i] = a[i] + 3 * b[i];
  }
  return End(run, &w->t[kind]);
}

/* GB/s of all ranks in this time */
static double Rate(Run *run, Bandwidth *w, int kind, double time)
{
  return 1e-9 * bytes_moved[kind] * (double)w->n * PoiseSize(run->ctx) / time;
}

/* ---- problems ------------------------------------------------------------------------------------------------------- */

typedef struct Mesh { /* k^dim nodes; this rank's are whole planes of the last direction, or lines */
  int dim, dofs;
  int64_t k, nodes, begin, n; /* nodes: of all ranks */
  double element[MAX_DOFS * MAX_DOFS];
} Mesh;

static double Shape(int corner, const double *at, int derivative)
{
  double value = 1;
  for (int d = 0; d < 3; d++) {
    int side = corner >> d & 1;
    value *= d == derivative ? (side ? 1 : -1) : side ? at[d] : 1 - at[d];
  }
  return value;
}

/* Stiffness of the unit cube with Gauss' 8 points, E = 1 and nu = 0.3 where there are 3 unknowns per node, and some mass. */
static void Element(Mesh *m)
{
  const double nu = 0.3, lambda = nu / ((1 + nu) * (1 - 2 * nu)), mu = 0.5 / (1 + nu);
  int f = m->dofs, size = CORNERS * f;
  memset(m->element, 0, sizeof m->element);
  for (int g = 0; g < CORNERS; g++) {
    double at[3], grad[CORNERS][3];
    for (int d = 0; d < 3; d++) at[d] = 0.5 + (g >> d & 1 ? 0.5 : -0.5) / sqrt(3);
    for (int c = 0; c < CORNERS; c++)
      for (int d = 0; d < 3; d++) grad[c][d] = Shape(c, at, d);
    for (int i = 0; i < size; i++)
      for (int j = 0; j < size; j++) {
        const double *gi = grad[i / f], *gj = grad[j / f];
        double dot = gi[0] * gj[0] + gi[1] * gj[1] + gi[2] * gj[2], same = i % f == j % f;
        double mass = 0.01 * same * Shape(i / f, at, -1) * Shape(j / f, at, -1);
        double v = f == 1 ? dot : lambda * gi[i % f] * gj[j % f] + mu * (gi[j % f] * gj[i % f] + same * dot);
        m->element[i * size + j] += 0.125 * (v + mass);
      }
  }
}

/* 12 per entry and 4 per row, for k nodes in each direction */
static double MatrixBytes(int problem, double k)
{
  switch (problem) {
  case FIVE:
    return 12 * (5 * k * k - 4 * k) + 4 * k * k;
  case SEVEN:
    return 12 * (7 * k * k * k - 6 * k * k) + 4 * k * k * k;
  case TWENTY_SEVEN:
    return 12 * pow(3 * k - 2, 3) + 4 * k * k * k;
  default:
    return 12 * 9 * pow(3 * k - 2, 3) + 12 * k * k * k;
  }
}

static void CreateMesh(Run *run, Mesh *m)
{
  *m = (Mesh){.dim = run->o.problem == FIVE ? 2 : 3, .dofs = run->o.problem == ELASTICITY ? 3 : 1, .k = 2};
  while (MatrixBytes(run->o.problem, (double)m->k) < run->o.bytes) m->k++;
  int64_t plane = m->dim == 2 ? m->k : m->k * m->k;
  PoiseSplit(run->ctx, m->k, &m->begin, &m->n);
  m->begin *= plane, m->n *= plane;
  m->nodes = plane * m->k;
  Element(m);
}

/* Entry of nodes i and i + step (its components) for unknowns a, b: the sum over the elements that have both. */
static double Coupling(const Mesh *m, const int64_t *at, const int64_t *step, int a, int b)
{
  double sum = 0;
  for (int e = 0; e < CORNERS; e++) { /* the element in which the node is corner e */
    int other = 0;
    bool inside = true;
    for (int d = 0; d < 3; d++) {
      int64_t low = at[d] - (e >> d & 1), corner = (e >> d & 1) + step[d];
      inside = inside && low >= 0 && low + 1 < m->k && corner >= 0 && corner <= 1;
      other |= (int)corner << d;
    }
    if (inside) sum += m->element[(e * m->dofs + a) * CORNERS * m->dofs + other * m->dofs + b];
  }
  return sum;
}

/* The neighbours of a node with entries, ascending, and their values for unknown a. Returns the number of entries. */
static int NodeRow(const Mesh *m, bool elements, int64_t node, int a, int32_t *col, double *val)
{
  int64_t k = m->k, at[3] = {node % k, node / k % k, m->dim == 2 ? 0 : node / k / k}, reach = m->dim == 2 ? 0 : 1;
  int n = 0;
  for (int64_t z = -reach; z <= reach; z++)
    for (int64_t y = -1; y <= 1; y++)
      for (int64_t x = -1; x <= 1; x++) {
        int64_t step[3] = {x, y, z}, distance = x * x + y * y + z * z;
        bool inside = elements || distance <= 1;
        for (int d = 0; d < m->dim; d++) inside = inside && at[d] + step[d] >= 0 && at[d] + step[d] < k;
        if (!inside) continue;
        for (int b = 0; b < m->dofs; b++, n++) {
          if (col) col[n] = (int32_t)((node + x + k * (y + k * z)) * m->dofs + b);
          if (val) val[n] = elements ? Coupling(m, at, step, a, b) : distance ? -1 : 2 * m->dim + 1e-3;
        }
      }
  return n;
}

static PoiseErr CreateRows(const Run *run, const Mesh *m, Rows *r)
{
  int f = m->dofs;
  bool elements = run->o.problem >= TWENTY_SEVEN;
  *r = (Rows){.n = m->n * f, .N = m->nodes * f, .begin = m->begin * f};
  r->ptr = malloc((size_t)(r->n + 1) * sizeof *r->ptr);
  if (!r->ptr) POISE_FAIL(POISE_ERR_MEMORY, "offsets of %lld rows", (long long)r->n);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < r->n; i++) r->ptr[i + 1] = NodeRow(m, elements, m->begin + i / f, 0, NULL, NULL);
  r->ptr[0] = 0;
  for (int64_t i = 0; i < r->n; i++) r->ptr[i + 1] += r->ptr[i];
  r->col = malloc((size_t)r->ptr[r->n] * sizeof *r->col);
  r->val = malloc((size_t)r->ptr[r->n] * sizeof *r->val);
  if (!r->col || !r->val) POISE_FAIL(POISE_ERR_MEMORY, "%d entries", r->ptr[r->n]);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < r->n; i++)
    (void)NodeRow(m, elements, m->begin + i / f, (int)(i % f), r->col + r->ptr[i], r->val + r->ptr[i]);
  return POISE_OK;
}

static void DestroyRows(Rows *r)
{
  free(r->ptr);
  free(r->col);
  free(r->val);
}

/* ---- products and solves -------------------------------------------------------------------------------------------- */

/* The line of a case that is bound by bandwidth: against reading (or copying), and against PETSc; medians, and the same of minima. */
static PoiseErr Report(Run *run, double bytes, double flops, Times *ours, Bandwidth *w, int limit, Times *others)
{
  double median = Median(ours), least = Least(ours), rate = 1e-9 * bytes / median, best = 1e-9 * bytes / least;
  double limit_rate = Rate(run, w, limit, Median(&w->t[limit])), limit_best = Rate(run, w, limit, Least(&w->t[limit]));
  POISE_TRY(
      PoisePrintf(run->ctx,
                  "%-16s bytes %.4g flops %.4g | ms %.3f (min %.3f) | GB/s %.2f (%.2f), of %s %.3f (%.3f) | %s %.2f (%.2f) "
                  "triad %.2f (%.2f)",
                  run->name, bytes, flops, 1e3 * median, 1e3 * least, rate, best, limit == READ ? "read" : "copy",
                  rate / limit_rate, best / limit_best, limit == READ ? "read" : "copy", limit_rate, limit_best,
                  Rate(run, w, TRIAD, Median(&w->t[TRIAD])), Rate(run, w, TRIAD, Least(&w->t[TRIAD]))));
  if (theirs)
    POISE_TRY(PoisePrintf(run->ctx, " | %s ms %.3f (%.3f), ours / theirs %.3f (%.3f)", theirs->version,
                          1e3 * Median(others), 1e3 * Least(others), median / Median(others), least / Least(others)));
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

static PoiseErr Turns(Run *run, Solve *s, const Rows *r, Bandwidth *w)
{
  Times ours = {0}, others = {0};
  double per = run->o.kind == CG ? (double)run->o.iterations : 1;
  PoiseInt nz;
  POISE_TRY(PoiseMatNonzeros(s->A, &nz));
  POISE_TRY(OurTurn(run, s)); /* allocates what is made on first need */
  if (theirs) TheirTurn(run);
  for (PoiseInt k = 0; k < run->o.repeats; k++) {
    POISE_TRY(MeasureBandwidth(run, w, READ));
    POISE_TRY(MeasureBandwidth(run, w, TRIAD));
    POISE_TRY(Begin(run));
    POISE_TRY(OurTurn(run, s));
    POISE_TRY(End(run, &ours));
    if (!theirs) continue;
    POISE_TRY(Begin(run));
    TheirTurn(run);
    POISE_TRY(End(run, &others));
  }
  for (int k = 0; k < ours.n; k++) ours.t[k] /= per;
  for (int k = 0; k < others.n; k++) others.t[k] /= per;
  double n = (double)r->N, bytes = 12.0 * (double)nz + 4 * (n + 1) + 16 * n, flops = 2.0 * (double)nz;
  if (run->o.kind == CG) bytes += 80 * n, flops += 13 * n; /* q r d r, r d p x x p: 10 vectors beside the product's p, q */
  return Report(run, bytes, flops, &ours, w, READ, &others);
}

static PoiseErr Product(Run *run, const Mesh *m)
{
  Rows r = {0};
  Solve s = {0};
  Bandwidth w = {0};
  PoiseErr e = CreateRows(run, m, &r);
  if (!e) e = CreateSolve(run, &r, &s);
  if (!e && theirs) theirs->create(&r);
  if (!e) e = CreateBandwidth(&w);
  if (!e) e = Turns(run, &s, &r, &w);
  DestroyBandwidth(&w);
  DestroySolve(&s);
  DestroyRows(&r);
  return e;
}

/* ---- assembly ------------------------------------------------------------------------------------------------------- */

/* The rows of an element, by its lowest node. */
static void ElementRows(const Mesh *m, int64_t node, PoiseInt *rows)
{
  for (int c = 0; c < CORNERS; c++)
    for (int a = 0; a < m->dofs; a++)
      rows[c * m->dofs + a] = (node + (c & 1) + m->k * ((c >> 1 & 1) + m->k * (c >> 2))) * m->dofs + a;
}

/* Is there an element whose lowest node this is? */
static bool HasElement(const Mesh *m, int64_t node)
{
  return node % m->k + 1 < m->k && node / m->k % m->k + 1 < m->k && node / m->k / m->k + 1 < m->k;
}

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
  int32_t *inside = calloc((size_t)n, sizeof *inside), *outside = calloc((size_t)n, sizeof *outside), col[27 * 3];
  if (!inside || !outside) POISE_FAIL(POISE_ERR_MEMORY, "counts of %lld rows", (long long)n);
  for (int64_t i = 0; i < n; i++) {
    int count = NodeRow(m, true, m->begin + i / m->dofs, 0, col, NULL);
    for (int k = 0; k < count; k++) {
      if (col[k] >= begin && col[k] < begin + n)
        inside[i]++;
      else
        outside[i]++;
    }
  }
  POISE_TRY(Begin(run));
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
  POISE_TRY(Begin(run));
  POISE_TRY(PoiseMatCreate(run->ctx, n, n, N, N, A));
  POISE_TRY(AddElements(m, *A));
  POISE_TRY(PoiseMatAssemble(*A));
  POISE_TRY(End(run, first));
  *held = Resident() - before;
  POISE_TRY(PoiseSum(run->ctx, 1, held));
  POISE_TRY(Begin(run));
  POISE_TRY(PoiseMatZeroEntries(*A));
  POISE_TRY(AddElements(m, *A));
  POISE_TRY(PoiseMatAssemble(*A));
  return End(run, again);
}

static PoiseErr TheirAssembly(Run *run, const Mesh *m, Times *first, Times *again)
{
  POISE_TRY(TheirReserve(run, m));
  POISE_TRY(AddElements(m, NULL));
  theirs->assemble();
  POISE_TRY(End(run, first));
  POISE_TRY(Begin(run));
  theirs->zero();
  POISE_TRY(AddElements(m, NULL));
  theirs->assemble();
  POISE_TRY(End(run, again));
  theirs->destroy();
  return POISE_OK;
}

static PoiseErr ReportAssembly(Run *run, const char *what, double blocks, double added, Times *ours, Times *others)
{
  double t = Median(ours), least = Least(ours);
  POISE_TRY(PoisePrintf(run->ctx,
                        "%-16s %s: %.4g blocks, bytes added %.4g flops %.4g | ms %.1f (min %.1f) | entries/s %.3g (%.3g)",
                        run->name, what, blocks, 8 * added, added, 1e3 * t, 1e3 * least, added / t, added / least));
  if (theirs)
    POISE_TRY(PoisePrintf(run->ctx, " | %s, preallocated, ms %.1f (%.1f), ours / theirs %.3f (%.3f)", theirs->version,
                          1e3 * Median(others), 1e3 * Least(others), t / Median(others), least / Least(others)));
  return PoisePrintf(run->ctx, "\n");
}

/* The host of a virtual machine takes pages back that lie free for seconds, and the next to need them waits for it. So both sides
   begin when enough pages have just been in use. */
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

/* ---- triplets ------------------------------------------------------------------------------------------------------- */

typedef struct Coo {
  int64_t n;
  PoiseInt *rows, *cols;
  double *v;
} Coo;

static PoiseErr CreateCoo(const Mesh *m, bool shuffle, Coo *c)
{
  PoiseInt rows[MAX_DOFS];
  int size = CORNERS * m->dofs;
  uint64_t seed = 1;
  for (int64_t node = m->begin; node < m->begin + m->n; node++) c->n += HasElement(m, node) * size * size;
  c->rows = malloc((size_t)c->n * sizeof *c->rows);
  c->cols = malloc((size_t)c->n * sizeof *c->cols);
  c->v = malloc((size_t)c->n * sizeof *c->v);
  if (!c->rows || !c->cols || !c->v) POISE_FAIL(POISE_ERR_MEMORY, "%lld triplets", (long long)c->n);
  for (int64_t node = m->begin, k = 0; node < m->begin + m->n; node++) {
    if (!HasElement(m, node)) continue;
    ElementRows(m, node, rows);
    for (int i = 0; i < size; i++)
      for (int j = 0; j < size; j++, k++) c->rows[k] = rows[i], c->cols[k] = rows[j];
  }
  for (int64_t k = c->n - 1; shuffle && k > 0; k--) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    int64_t other = (int64_t)((seed >> 20) % (uint64_t)(k + 1));
    PoiseInt i = c->rows[k], j = c->cols[k];
    c->rows[k] = c->rows[other], c->cols[k] = c->cols[other];
    c->rows[other] = i, c->cols[other] = j;
  }
#pragma omp parallel for schedule(static)
  for (int64_t k = 0; k < c->n; k++) c->v[k] = (double)(k % 17);
  return POISE_OK;
}

static PoiseErr CooTurns(Run *run, PoiseMat A, const Coo *c, Bandwidth *w)
{
  Times ours = {0}, others = {0};
  double count = (double)c->n;
  PoiseInt nz;
  POISE_TRY(PoiseMatNonzeros(A, &nz));
  POISE_TRY(PoiseSum(run->ctx, 1, &count));
  for (PoiseInt k = 0; k < run->o.repeats; k++) {
    POISE_TRY(MeasureBandwidth(run, w, COPY));
    POISE_TRY(MeasureBandwidth(run, w, TRIAD));
    POISE_TRY(Begin(run));
    POISE_TRY(PoiseMatSetValuesCOO(A, c->v));
    POISE_TRY(End(run, &ours));
    if (!theirs) continue;
    POISE_TRY(Begin(run));
    theirs->coo_values(c->v);
    POISE_TRY(End(run, &others));
  }
  return Report(run, 12 * count + 8 * (double)nz, count, &ours, w, COPY, &others);
}

static PoiseErr Triplets(Run *run, const Mesh *m)
{
  Coo c = {0};
  PoiseMat A = NULL;
  Bandwidth w = {0};
  PoiseInt n = m->n * m->dofs, N = m->nodes * m->dofs;
  PoiseErr e = CreateCoo(m, run->o.shuffle, &c);
  if (!e) e = PoiseMatCreate(run->ctx, n, n, N, N, &A);
  if (!e) e = PoiseMatSetPatternCOO(A, c.n, c.rows, c.cols);
  if (!e && theirs) theirs->coo_pattern(n, N, c.n, c.rows, c.cols);
  if (!e) e = CreateBandwidth(&w);
  if (!e) e = CooTurns(run, A, &c, &w);
  DestroyBandwidth(&w);
  PoiseMatDestroy(&A);
  free(c.rows);
  free(c.cols);
  free(c.v);
  return e;
}

/* ---- main ----------------------------------------------------------------------------------------------------------- */

static PoiseErr Body(PoiseContext ctx, void *arg)
{
  static const char *const cases[] = {"mult", "cg", "assemble", "coo"}, *const problems[] = {"5", "7", "27", "elasticity"};
  Run run = {.ctx = ctx, .o = *(const Options *)arg};
  Mesh m;
  bool elements = run.o.problem >= TWENTY_SEVEN;
  if (run.o.kind >= ASSEMBLE && !elements)
    POISE_FAIL(POISE_ERR_OPTION, "problem %s has no elements: -problem 27 or elasticity", problems[run.o.problem]);
  snprintf(run.name, sizeof run.name, "%s.%s%s", cases[run.o.kind], problems[run.o.problem],
           run.o.shuffle ? ".shuffled" : "");
  CreateMesh(&run, &m);
  PoiseErr e = run.o.kind <= CG ? Product(&run, &m) : run.o.kind == ASSEMBLE ? Assembly(&run, &m) : Triplets(&run, &m);
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
