/* SPDX-License-Identifier: BSD-3-Clause */
/* The peer on CPUs: each operation is the loop that one writes first, with threads where OpenMP is. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "peer_algorithms.h"

typedef struct Plain {
  Bandwidth bandwidth;
  const Rows *rows;
  double *d, *flush;
  int64_t flushed; /* numbers */
  Lane lane;
  Textbook t;
} Plain;

static PoiseErr Mult(Textbook *t, const double *restrict x, double *restrict y)
{
  const Rows *A = ((Plain *)t->own)->rows;
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < A->n; i++) {
    double sum = 0;
    for (int32_t k = A->ptr[i]; k < A->ptr[i + 1]; k++) sum += A->val[k] * x[A->col[k]];
    y[i] = sum;
  }
  return POISE_OK;
}

static PoiseErr Jacobi(Textbook *t, const double *restrict x, double *restrict y)
{
  const double *d = ((Plain *)t->own)->d;
#pragma omp parallel for simd schedule(static)
  for (int64_t i = 0; i < t->n; i++) y[i] = d[i] * x[i];
  return POISE_OK;
}

static PoiseErr Dot(Textbook *t, const double *x, const double *y, double *s)
{
  double sum = 0;
#pragma omp parallel for simd schedule(static) reduction(+ : sum)
  for (int64_t i = 0; i < t->n; i++) sum += x[i] * y[i];
  *s = sum;
  return POISE_OK;
}

static PoiseErr Norm(Textbook *t, const double *x, double *s)
{
  POISE_TRY(Dot(t, x, x, s));
  *s = sqrt(*s);
  return POISE_OK;
}

static PoiseErr Axpy(Textbook *t, const double *s, const double *restrict x, double *restrict y)
{
  double a = *s;
#pragma omp parallel for simd schedule(static)
  for (int64_t i = 0; i < t->n; i++) y[i] += a * x[i];
  return POISE_OK;
}

static PoiseErr Scale(Textbook *t, const double *s, double *x)
{
  double a = *s;
#pragma omp parallel for simd schedule(static)
  for (int64_t i = 0; i < t->n; i++) x[i] *= a;
  return POISE_OK;
}

static PoiseErr Copy(Textbook *t, const double *restrict x, double *restrict y)
{
#pragma omp parallel for simd schedule(static)
  for (int64_t i = 0; i < t->n; i++) y[i] = x[i];
  return POISE_OK;
}

static PoiseErr Zero(Textbook *t, double *x)
{
#pragma omp parallel for simd schedule(static)
  for (int64_t i = 0; i < t->n; i++) x[i] = 0;
  return POISE_OK;
}

static PoiseErr Project(Textbook *t, int k, const double *w, double *h)
{
  for (int j = 0; j < k; j++) POISE_TRY(Dot(t, t->basis + j * t->n, w, h + j));
  return POISE_OK;
}

static PoiseErr Combine(Textbook *t, int k, const double *sign, const double *h, double *w)
{
  for (int j = 0; j < k; j++) {
    double s = *sign * h[j];
    POISE_TRY(Axpy(t, &s, t->basis + j * t->n, w));
  }
  return POISE_OK;
}

static PoiseErr Ratio(Textbook *t, const double *a, const double *b, const double *c, const double *d,
                      double *s, double *minus)
{
  (void)t;
  *s = c ? *a / *b * (*c / *d) : *a / *b;
  if (minus) *minus = -*s;
  return POISE_OK;
}

static PoiseErr Rsqrt(Textbook *t, const double *a, double *s)
{
  (void)t;
  *s = 1 / sqrt(*a);
  return POISE_OK;
}

static PoiseErr Move(Textbook *t, const double *from, int64_t count, double *to)
{
  (void)t;
  memcpy(to, from, (size_t)count * sizeof *to);
  return POISE_OK;
}

static const Textbook functions = {
    .passes = 2,
    .mult = Mult,
    .jacobi = Jacobi,
    .dot = Dot,
    .norm = Norm,
    .axpy = Axpy,
    .scale = Scale,
    .copy = Copy,
    .zero = Zero,
    .project = Project,
    .combine = Combine,
    .ratio = Ratio,
    .rsqrt = Rsqrt,
    .fetch = Move,
    .store = Move,
};

/* ---- the peer -------------------------------------------------------------------------------- */

static PoiseErr Wait(void *arg)
{
  (void)arg;
  return POISE_OK;
}

static PoiseErr Flush(void *arg)
{
  Plain *p = arg;
#pragma omp parallel for simd schedule(static)
  for (int64_t i = 0; i < p->flushed; i++) p->flush[i] += 1;
  return POISE_OK;
}

static double Cache(void)
{
  long bytes = -1;
#ifdef _SC_LEVEL3_CACHE_SIZE
  bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
  return bytes > 0 ? (double)bytes : 32e6;
}

static PoiseErr Open(PoiseInt numbers, double *cache, void **peer)
{
  Plain *p = *peer = calloc(1, sizeof *p);
  if (!p) POISE_FAIL(POISE_ERR_MEMORY, "the textbook's loops");
  p->lane = (Lane){.arg = p, .synchronous = true, .wait = Wait, .flush = Flush};
  if (*cache <= 0) *cache = Cache();
  p->flushed = (int64_t)(CACHES * *cache) / (int64_t)sizeof(double);
  p->flush = calloc((size_t)p->flushed + 1, sizeof *p->flush);
  if (!p->flush) POISE_FAIL(POISE_ERR_MEMORY, "%lld numbers to flush caches with", (long long)p->flushed);
  return CreateBandwidth(numbers, &p->bandwidth);
}

static void Leave(void *peer)
{
  Plain *p = peer;
  for (int k = 0; k < VECTORS; k++) free(p->t.v[k]);
  free(p->t.basis);
  free(p->t.small);
  free(p->t.scalar);
  free(p->d);
  p->t = (Textbook){0};
  p->d = NULL;
}

static void Close(void *peer)
{
  Plain *p = peer;
  if (!p) return;
  Leave(p);
  DestroyBandwidth(&p->bandwidth);
  free(p->flush);
  free(p);
}

/* The first line of a file that has this key, behind the colon. */
static void Look(const char *path, const char *key, char *value, size_t size)
{
  char line[512];
  FILE *f = fopen(path, "r");
  snprintf(value, size, "unknown");
  while (f && fgets(line, sizeof line, f)) {
    char *colon = strchr(line, ':');
    if (!colon || strncmp(line, key, strlen(key))) continue;
    colon[strcspn(colon, "\n")] = 0;
    snprintf(value, size, "%s", colon + 1 + strspn(colon + 1, " \t"));
    break;
  }
  if (f) fclose(f);
}

void DescribeHost(char *text, size_t size)
{
  char model[160];
  Look("/proc/cpuinfo", "model name", model, sizeof model);
  snprintf(text, size, "cpu: %s, %ld processors, last cache %.3g MB\n", model, sysconf(_SC_NPROCESSORS_ONLN),
           1e-6 * Cache());
}

static void Machine(void *peer, char *text, size_t size)
{
  (void)peer;
  DescribeHost(text, size);
}

static PoiseErr CallBandwidth(void *arg, int kind, int64_t count)
{
  Plain *p = arg;
  for (int64_t k = 0; k < count; k++) RunBandwidth(&p->bandwidth, kind);
  return POISE_OK;
}

static PoiseErr Limits(void *peer, List *list)
{
  static const char *const names[] = {"read", "copy", "triad"};
  Plain *p = peer;
  for (int kind = READ; kind < BANDWIDTHS; kind++)
    Enter(list, "memory", names[kind], &p->lane, p, kind, CallBandwidth, NULL)->bytes =
        bandwidth_bytes[kind] * (double)p->bandwidth.n;
  return POISE_OK;
}

/* Written first by the threads that will work on it. */
static PoiseErr Vector(Textbook *t, int64_t n, double **v)
{
  *v = LargePages((size_t)(n > 0 ? n : 1) * sizeof **v);
  if (!*v) POISE_FAIL(POISE_ERR_MEMORY, "a vector of %lld entries", (long long)n);
  int64_t own = t->n;
  t->n = n;
  PoiseErr e = Zero(t, *v);
  t->n = own;
  return e;
}

static PoiseErr Fill(Plain *p, const Task *task)
{
  Textbook *t = &p->t;
  bool solve = task->op == OP_CG || task->op == OP_BICGSTAB || task->op == OP_GMRES;
  for (int k = solve ? 0 : P; k < (solve ? VECTORS : Q + 1); k++) POISE_TRY(Vector(t, t->n, &t->v[k]));
  if (task->op == OP_GMRES) POISE_TRY(Vector(t, (RESTART + 1) * t->n, &t->basis));
  POISE_TRY(Vector(t, SMALL, &t->small));
  POISE_TRY(Vector(t, SCALARS, &t->scalar));
  t->scalar[ONE] = 1, t->scalar[MINUS_ONE] = -1;
  POISE_TRY(Move(t, task->x, t->n, t->v[solve ? B : P]));
  if (!solve) POISE_TRY(Move(t, task->x, t->n, t->v[Q]));
  if (!task->rows) return POISE_OK;
  POISE_TRY(Vector(t, t->n, &p->d));
  InverseDiagonal(task->rows, p->d);
  return POISE_OK;
}

static void Prepare(Plain *p, const Task *task)
{
  p->t = functions;
  p->t.n = task->n;
  p->t.own = p;
  p->rows = task->rows;
}

static PoiseErr EnterTask(void *peer, const Task *task, List *list)
{
  Plain *p = peer;
  if (task->op == OP_OTHER) return POISE_OK;
  Prepare(p, task);
  POISE_TRY(Fill(p, task));
  EnterTextbook(list, "C loops", task->op == OP_GMRES ? "twice" : "textbook", &p->lane, &p->t, task->op);
  return POISE_OK;
}

static PoiseErr Solve(void *peer, const Task *task, double rtol, int64_t most, Solved *s)
{
  Plain *p = peer;
  double start = PoiseTime();
  Prepare(p, task);
  PoiseErr e = Fill(p, task);
  if (!e) e = TextbookSolve(&p->t, task->op, rtol, most, &s->iterations);
  s->first = PoiseTime() - start;
  start = PoiseTime();
  if (!e) e = TextbookSolve(&p->t, task->op, rtol, most, &s->iterations);
  s->second = PoiseTime() - start;
  if (!e) e = Move(&p->t, p->t.v[X], task->n, s->x);
  Leave(p);
  return e;
}

const Peer peer_plain = {
    .name = "C loops",
    .open = Open,
    .close = Close,
    .machine = Machine,
    .limits = Limits,
    .enter = EnterTask,
    .leave = Leave,
    .solve = Solve,
};
