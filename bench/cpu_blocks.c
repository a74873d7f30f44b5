/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Products by blocks on CPUs: Poise's bcsr and csr, PETSc's BAIJ and AIJ (POISE_PETSC), Eigen (where it is
  installed), in turns with each other and with reading an array. A line for each:

    cpu_blocks -matrix cube|elasticity|raefsky4|...|A.mtx [-block 3 -bytes 9e8 -repeats 15]
    OMP_NUM_THREADS says how many threads

  cube: 27 neighbours per node and -block unknowns; then those of common/blocks.h; then files, cut into
  -block. -bytes is the size of CSR.

  Medians, and the least, of turns in which other processes of the machine left it alone. A turn waits until
  they do, and one in which they took more than 5 % of the processors is not counted, unless -patience seconds
  have passed. The line says how many there were, and how much others took of those that count at most.
*/
#define _DEFAULT_SOURCE
#include <math.h>
#include <poise.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "common/measure.h"
#include "cpu_blocks.h"

#define TRY POISE_TRY

static const Other *const others[] = {
#ifdef POISE_PETSC
    &other_baij, &other_aij,
#endif
#ifdef POISE_EIGEN
    &other_eigen,
#endif
    NULL};

enum { CSR, BCSR, OURS, MAX_CONTENDERS = OURS + sizeof others / sizeof *others };

typedef struct Options {
  char matrix[POISE_OPTION_LENGTH];
  PoiseInt block, repeats;
  double bytes, sample, patience;
} Options;

static const PoiseOption table[] = {
    {"matrix", POISE_OPTION_STRING, offsetof(Options, matrix), "cube", 0, 0, NULL,
     "cube, elasticity, a name, or a file"},
    {"block", POISE_OPTION_INT, offsetof(Options, block), "3", 1, 32, NULL,
     "rows of a block of cube, and of files"},
    {"bytes", POISE_OPTION_REAL, offsetof(Options, bytes), "9e8", 1e3, 1e12, NULL,
     "size of the CSR, at most or about"},
    {"repeats", POISE_OPTION_INT, offsetof(Options, repeats), "15", 1, MAX_REPEATS, NULL, "turns that count"},
    {"sample", POISE_OPTION_REAL, offsetof(Options, sample), "0.04", 0, 10, NULL,
     "seconds of a turn of each, at least"},
    {"patience", POISE_OPTION_REAL, offsetof(Options, patience), "60", 0, 1e9, NULL,
     "seconds to wait for quiet turns"},
    {0},
};

typedef struct Contender {
  const Other *other; /* NULL: ours, A, y */
  const char *name;
  bool blocks;
  PoiseMat A;
  PoiseVec y;
  int64_t calls; /* of a turn */
  Times t;
  double error;
} Contender;

typedef struct Run {
  PoiseContext ctx;
  Options o;
  Rows rows;
  Blocks blocks;
  double *x; /* this rank's part */
  PoiseVec v;
  Bandwidth arrays;
  Times read;
  int n;
  Contender c[MAX_CONTENDERS];
  int dropped;
  double taken; /* the largest share that others had of a turn that counts */
} Run;

/* ---- the matrix, in all forms ---------------------------------------------------------------- */

static double NumberOf(int64_t j)
{
  return RandomAt(j, -7) - 0.5;
}

static PoiseErr CreateMatrix(Run *run)
{
  const char *name = run->o.matrix;
  Rows *r = &run->rows;
  Mesh m;
  if (!strcmp(name, "cube")) return CreateBlocks(run->ctx, (int)run->o.block, run->o.bytes, r);
  for (const BlockMatrix *k = block_matrices; k->name; k++)
    if (!strcmp(name, k->name)) return CreateBlockMatrix(run->ctx, k, run->o.bytes, r);
  if (!strcmp(name, "elasticity")) {
    CreateMesh(run->ctx, ELASTICITY, false, run->o.bytes, &m);
    return CreateMeshRows(&m, r);
  }
  TRY(LoadRows(run->ctx, name, r));
  return PadRows(r, (int)run->o.block);
}

static PoiseErr CreateX(Run *run)
{
  const Rows *r = &run->rows;
  double *array;
  run->x = malloc((size_t)(r->n + 1) * sizeof *run->x);
  if (!run->x) POISE_FAIL(POISE_ERR_MEMORY, "a vector of %lld numbers", (long long)r->n);
  for (int64_t i = 0; i < r->n; i++) run->x[i] = NumberOf(r->begin + i);
  TRY(PoiseVecCreate(run->ctx, r->n, r->N, &run->v));
  TRY(PoiseVecGetWrite(run->v, &array));
  memcpy(array, run->x, (size_t)r->n * sizeof *array);
  return PoiseVecRestore(run->v, &array);
}

static PoiseErr EnterOurs(Run *run, int kind)
{
  const Rows *r = &run->rows;
  const Blocks *k = &run->blocks;
  const PoiseCSR csr = {.ptr32 = r->ptr, .col32 = r->col, .val = r->val};
  const PoiseBCSR bcsr = {.ptr32 = k->ptr, .col32 = k->col, .val = k->val};
  Contender *c = &run->c[run->n++];
  c->name = kind == BCSR ? "poise bcsr" : "poise csr";
  c->blocks = kind == BCSR;
  TRY(c->blocks ? PoiseMatCreateBCSR(run->ctx, k->b, r->n, r->n, r->N, r->N, &bcsr, POISE_BORROW, &c->A)
                : PoiseMatCreateCSR(run->ctx, r->n, r->n, r->N, r->N, &csr, POISE_BORROW, &c->A));
  if (!c->blocks) TRY(PoiseMatSetType(c->A, "csr"));
  return PoiseVecDuplicate(run->v, &c->y);
}

static PoiseErr Did(const Contender *c, bool well)
{
  if (!well) POISE_FAIL(POISE_ERR_INTERNAL, "%s failed", c->other->name);
  return POISE_OK;
}

static int Threads(void)
{
#ifdef _OPENMP
  return omp_get_max_threads();
#else
  return 1;
#endif
}

static PoiseErr EnterOther(Run *run, const Other *o)
{
  if (PoiseSize(run->ctx) > 1 ? !o->ranks : !o->threads && Threads() > 1) return POISE_OK;
  Contender *c = &run->c[run->n++];
  *c = (Contender){.other = o, .name = o->name, .blocks = o->blocks};
  return Did(c, o->create(&run->rows, &run->blocks, run->x));
}

static PoiseErr Create(Run *run)
{
  TRY(CreateMatrix(run));
  TRY(CutRows(&run->rows, &run->blocks));
  TRY(CreateX(run));
  TRY(EnterOurs(run, CSR));
  TRY(EnterOurs(run, BCSR));
  for (const Other *const *o = others; *o; o++) TRY(EnterOther(run, *o));
  return CreateBandwidth((int64_t)1 << 25, &run->arrays);
}

static void Destroy(Run *run)
{
  for (int k = 0; k < run->n; k++) {
    if (run->c[k].other) run->c[k].other->destroy();
    PoiseMatDestroy(&run->c[k].A);
    PoiseVecDestroy(&run->c[k].y);
  }
  PoiseVecDestroy(&run->v);
  DestroyBandwidth(&run->arrays);
  DestroyBlocks(&run->blocks);
  DestroyRows(&run->rows);
  free(run->x);
}

/* ---- what is right --------------------------------------------------------------------------- */

static PoiseErr Mult(Run *run, Contender *c)
{
  return c->other ? Did(c, c->other->mult()) : PoiseMatMult(c->A, run->v, c->y);
}

static PoiseErr Fetch(Contender *c, int64_t n, double *y)
{
  const double *array;
  if (c->other) return Did(c, c->other->result(y));
  TRY(PoiseVecGetRead(c->y, &array));
  memcpy(y, array, (size_t)n * sizeof *y);
  return PoiseVecRestore(c->y, &array);
}

/* The largest |y - A x| over |A| |x| of a row, of all ranks. */
static PoiseErr Check(Run *run, Contender *c)
{
  const Rows *r = &run->rows;
  double worst = 0, *y = malloc((size_t)(r->n + 1) * sizeof *y);
  if (!y) POISE_FAIL(POISE_ERR_MEMORY, "a result of %lld numbers", (long long)r->n);
  PoiseErr e = Mult(run, c);
  if (!e) e = Fetch(c, r->n, y);
#pragma omp parallel for schedule(static) reduction(max : worst)
  for (int64_t i = 0; i < r->n; i++) {
    double sum = 0, size = 0;
    for (int32_t k = r->ptr[i]; k < r->ptr[i + 1]; k++) {
      double term = r->val[k] * NumberOf(r->col[k]);
      sum += term, size += fabs(term);
    }
    double error = fabs(y[i] - sum) / (size > 0 ? size : 1);
    if (!(error <= worst)) worst = error == error ? error : INFINITY;
  }
  free(y);
  c->error = worst;
  return e ? e : PoiseMax(run->ctx, 1, &c->error);
}

/* ---- turns ----------------------------------------------------------------------------------- */

/* Seconds for which the machine's processors worked, or its host took them, since it was started. */
static double Busy(void)
{
  double t[8] = {0}, sum = 0;
  FILE *f = fopen("/proc/stat", "r");
  int n =
      f ? fscanf(f, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", t, t + 1, t + 2, t + 3, t + 4, t + 5, t + 6, t + 7)
        : 0;
  if (f) fclose(f);
  for (int k = 0; k < n; k++) sum += k == 3 || k == 4 ? 0 : t[k]; /* idle, waiting */
  return sum / (double)sysconf(_SC_CLK_TCK);
}

static double Own(void)
{
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
         1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

typedef struct Clock {
  double time, busy, own;
} Clock;

static void Look(Clock *c)
{
  *c = (Clock){PoiseTime(), Busy(), Own()};
}

/* Share of the processors that others took since then: the same on all ranks. */
static PoiseErr Taken(Run *run, const Clock *from, double *share)
{
  Clock now;
  Look(&now);
  double processors = (double)sysconf(_SC_NPROCESSORS_ONLN), ranks = PoiseSize(run->ctx);
  double sums[] = {(now.busy - from->busy) / ranks - (now.own - from->own), (now.time - from->time) / ranks};
  TRY(PoiseSum(run->ctx, 2, sums));
  *share = sums[0] > 0 ? sums[0] / (processors * sums[1]) : 0;
  return POISE_OK;
}

static const double MOST_TAKEN = 0.05;

static PoiseErr WaitForQuiet(Run *run, double start, bool *patient)
{
  double share = 1, elapsed = 0;
  *patient = true;
  while (share > MOST_TAKEN && *patient) {
    const struct timespec pause = {.tv_nsec = 50000000};
    Clock clock;
    Look(&clock);
    nanosleep(&pause, NULL);
    TRY(Taken(run, &clock, &share));
    elapsed = PoiseTime() - start;
    TRY(PoiseMax(run->ctx, 1, &elapsed));
    *patient = elapsed < run->o.patience;
  }
  return POISE_OK;
}

static PoiseErr Turn(Run *run)
{
  double start;
  TRY(Begin(run->ctx, &start));
  RunBandwidth(&run->arrays, READ);
  TRY(End(run->ctx, start, &run->read));
  for (int k = 0; k < run->n; k++) {
    Contender *c = &run->c[(k + run->read.n) % run->n]; /* nobody always comes first */
    TRY(Begin(run->ctx, &start));
    for (int64_t call = 0; call < c->calls; call++) TRY(Mult(run, c));
    TRY(End(run->ctx, start, &c->t));
    c->t.t[c->t.n - 1] /= (double)c->calls;
  }
  return POISE_OK;
}

static PoiseErr Calibrate(Run *run)
{
  for (int k = 0; k < run->n; k++) run->c[k].calls = 1;
  TRY(Turn(run));
  TRY(Turn(run));
  for (int k = 0; k < run->n; k++) {
    run->c[k].calls = (int64_t)ceil(run->o.sample / Least(&run->c[k].t));
    run->c[k].t.n = 0;
  }
  run->read.n = 0;
  return POISE_OK;
}

static PoiseErr Turns(Run *run)
{
  double start = PoiseTime();
  TRY(Calibrate(run));
  while (run->read.n < run->o.repeats) {
    Clock clock;
    double share = 0;
    bool patient;
    TRY(WaitForQuiet(run, start, &patient));
    Look(&clock);
    TRY(Turn(run));
    TRY(Taken(run, &clock, &share));
    if (share <= MOST_TAKEN || !patient) {
      run->taken = fmax(run->taken, share);
      continue;
    }
    for (int k = 0; k < run->n; k++) run->c[k].t.n--;
    run->read.n--, run->dropped++;
  }
  return POISE_OK;
}

/* ---- what is told ---------------------------------------------------------------------------- */

static PoiseErr Report(Run *run)
{
  const Rows *r = &run->rows;
  double rows = 12.0 * r->ptr[r->n] + 4.0 * (double)(r->n + 1), bytes[] = {rows, BlockBytes(&run->blocks)};
  double read = 8e-9 * (double)run->arrays.n * PoiseSize(run->ctx), csr = Median(&run->c[CSR].t);
  char name[POISE_OPTION_LENGTH + 8];
  const char *file = strrchr(run->o.matrix, '/');
  bool sized = !strcmp(run->o.matrix, "cube") || file;
  TRY(PoiseSum(run->ctx, 2, bytes));
  snprintf(name, sizeof name, sized ? "%.*s.%d" : "%.*s", (int)strcspn(file ? file + 1 : run->o.matrix, "."),
           file ? file + 1 : run->o.matrix, (int)run->o.block);
  for (int k = 0; k < run->n; k++) {
    Contender *c = &run->c[k];
    double median = Median(&c->t), least = Least(&c->t),
           moved = 1e-9 * (bytes[c->blocks] + 16 * (double)r->N);
    double rate = read / Median(&run->read), best = read / Least(&run->read);
    TRY(PoisePrintf(run->ctx,
                    "%-12s %d x %d %-20s ms %8.3f (min %.3f) | %s bytes %.3e GB/s %6.2f (%.2f), of read %.3f "
                    "(%.3f) | csr / "
                    "this %.3f | error %.1e | turns %d, dropped %d, taken %.2f | read %.2f (%.2f)\n",
                    name, PoiseSize(run->ctx), Threads(), c->name, 1e3 * median, 1e3 * least,
                    c->blocks ? "block" : "csr", 1e9 * moved, moved / median, moved / least,
                    moved / median / rate, moved / least / best, csr / median, c->error, c->t.n, run->dropped,
                    run->taken, rate, best));
    if (!(c->error <= 1e-11)) POISE_FAIL(POISE_ERR_NUMERIC, "%s is wrong: %g", c->name, c->error);
  }
  return POISE_OK;
}

static PoiseErr Body(Run *run)
{
  TRY(Create(run));
  for (int k = 0; k < run->n; k++) TRY(Check(run, &run->c[k]));
  TRY(Turns(run));
  return Report(run);
}

int main(int argc, char **argv)
{
  const PoiseInit init = {.help = "Speed of products by blocks on CPUs.", .options = table};
  Run run = {0};
#ifdef POISE_PETSC
  if (!StartPetsc()) return 1;
#endif
  PoiseErr e = PoiseInitialize(&argc, &argv, &init, &run.ctx);
  if (!e) e = PoiseOptionsDefaults(table, &run.o);
  if (!e) e = PoiseOptionsRead(run.ctx, NULL, table, &run.o);
  if (!e) e = Body(&run);
  if (e) fputs(PoiseErrorText(), stderr);
  Destroy(&run);
  if (run.ctx && PoiseFinalize(&run.ctx)) fputs(PoiseErrorText(), stderr);
#ifdef POISE_PETSC
  StopPetsc();
#endif
  return e != POISE_OK;
}
