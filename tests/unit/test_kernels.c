/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The kernels of the contract, called on plain arrays and compared with plain loops. Every run is repeated
  with other numbers of threads and on the mock device. The bits must be the same.
*/
#include "harness.h"
#include "ksp/bicgstab_phases.h"
#include "mat/product/csr_kernels.h"
#include "mat/csr/csr_values_kernels.h"
#include "mat/csr/keys_kernels.h"
#include "mat/product/transposed_kernels.h"
#include "pc/blocks_kernels.h"
#include "sys/sys.h"
#include "vec/vec_kernels.h"

/* ---- arrays and runs ------------------------------------------------------------------------- */

enum { MAX_ARRAYS = 64 };

typedef struct Rig {
  Device *host, *mock;
  void *array[MAX_ARRAYS]; /* of the running case */
  int narray;
} Rig;

/* Ranks share these out. The last but one is enough blocks for threads, the last one has several strips. */
static const int64_t sizes[] = {0, 1, 7, 9, 1023, 1024, 1025, 9 * 1024 + 17, 35 * 1024 + 17};
enum { NSIZES = sizeof sizes / sizeof *sizes, LARGE = 9 * 1024 + 17 };

static Rig Open(PoiseContext ctx)
{
  Rig rig = {0};
  CHECK_OK(poiseDeviceCreate(ctx, "host", &rig.host));
  CHECK_OK(poiseDeviceCreate(ctx, "mock", &rig.mock));
  return rig;
}

static void Release(Rig *rig)
{
  while (rig->narray) free(rig->array[--rig->narray]);
}

static void Close(Rig *rig)
{
  Release(rig);
  poiseDeviceDestroy(&rig->host);
  poiseDeviceDestroy(&rig->mock);
}

/* Exactly n items, so that a sanitizer sees the next one; NULL for none, as the library has it. */
static void *Take(Rig *rig, int64_t n, size_t size)
{
  if (!n || !CHECK(rig->narray < MAX_ARRAYS)) return NULL;
  return rig->array[rig->narray++] = calloc((size_t)n, size);
}

static double *Constant(Rig *rig, int64_t n, double v)
{
  double *p = Take(rig, n, sizeof *p);
  for (int64_t i = 0; i < n; i++) p[i] = v;
  return p;
}

static double *Random(Rig *rig, int64_t n, uint64_t seed)
{
  double *p = Take(rig, n, sizeof *p);
  for (int64_t i = 0; i < n; i++) p[i] = TestRandom(seed, (uint64_t)i);
  return p;
}

static double *Copy(Rig *rig, const double *x, int64_t n)
{
  double *p = Take(rig, n, sizeof *p);
  if (n) memcpy(p, x, (size_t)n * sizeof *p);
  return p;
}

typedef struct Out { /* what a kernel writes */
  double *p;
  int64_t n;
} Out;
enum { MAX_OUT = 6 };

static void Move(const Out *out, double *const *kept, bool save)
{
  for (int k = 0; k < MAX_OUT && out[k].p; k++)
    memcpy(save ? kept[k] : out[k].p, save ? out[k].p : kept[k], (size_t)out[k].n * sizeof(double));
}

static bool SameBits(const Out *out, double *const *kept)
{
  for (int k = 0; k < MAX_OUT && out[k].p; k++)
    if (memcmp(kept[k], out[k].p, (size_t)out[k].n * sizeof(double))) return false;
  return true;
}

/* Run on 1, 2, 3 threads and on the mock, from the same outputs (up to the first NULL). */
static void Run(Rig *rig, int kernel, const void *args, size_t bytes, const Out out[MAX_OUT])
{
  double *before[MAX_OUT], *first[MAX_OUT];
  int mark = rig->narray;
  for (int k = 0; k < MAX_OUT && out[k].p; k++) {
    before[k] = Copy(rig, out[k].p, out[k].n);
    first[k] = Constant(rig, out[k].n, 0);
  }
  for (int threads = 1; threads <= 3; threads++) {
    if (threads > 1) Move(out, before, false);
    rig->host->threads = threads;
    rig->host->few = 0;
    CHECK_OK(poiseLaunch(rig->host, kernel, args, bytes));
    if (threads == 1) Move(out, first, true);
    CHECK(SameBits(out, first));
  }
  Move(out, before, false);
  CHECK_OK(poiseLaunch(rig->mock, kernel, args, bytes));
  CHECK(SameBits(out, before)); /* late */
  CHECK_OK(poiseDeviceSync(rig->mock));
  CHECK(SameBits(out, first));
  while (rig->narray > mark) free(rig->array[--rig->narray]);
}

#define RUN(rig, kernel, args, ...) \
  Run(rig, KERNEL_##kernel, &(args), sizeof(args), (const Out[MAX_OUT]){__VA_ARGS__})

static bool All(const double *p, int64_t n, double v)
{
  for (int64_t i = 0; i < n; i++)
    if (isnan(v) ? !isnan(p[i]) : p[i] != v) return false;
  return true;
}

static bool Close2(double a, double b, double scale)
{
  return fabs(a - b) <= 1e-13 * scale;
}

/* ---- dots ------------------------------------------------------------------------------------ */

enum { U, D, NEITHER };

/* One partial per block: (u, y), (y, D y) or (y, y). */
static void CheckPartials(int kind, const double *u, const double *y, int64_t n, const double *partial)
{
  for (int64_t b = 0; b < POISE_NBLOCKS(n); b++) {
    long double sum = 0, scale = 0;
    for (int64_t i = b * POISE_BLOCK; i < (b + 1) * POISE_BLOCK && i < n; i++) {
      long double t = kind == U ? (long double)u[i] * y[i] : (long double)y[i] * y[i];
      if (kind == D) t *= u[i];
      sum += t;
      scale += fabsl(t);
    }
    CHECK(Close2(partial[b], (double)sum, (double)scale));
  }
}

typedef struct Dotted { /* a Fuse of all three kinds, and its outputs */
  Fuse fuse;
  double *u, *d;
  double *partial[3];
  int64_t nblock;
} Dotted;

static Dotted NewDots(Rig *rig, int64_t n, int ndot)
{
  Dotted t = {
      .nblock = POISE_NBLOCKS(n), .u = Random(rig, n, 100), .d = Random(rig, n, 101), .fuse.ndot = ndot};
  for (int k = 0; k < ndot; k++) t.fuse.partial[k] = t.partial[k] = Constant(rig, t.nblock, -7);
  t.fuse.u[0] = t.u;
  t.fuse.d[1] = t.d;
  return t;
}

static void CheckDots(const Dotted *t, const double *y, int64_t n)
{
  if (t->fuse.ndot > 0) CheckPartials(U, t->u, y, n, t->partial[0]);
  if (t->fuse.ndot > 1) CheckPartials(D, t->d, y, n, t->partial[1]);
  if (t->fuse.ndot > 2) CheckPartials(NEITHER, NULL, y, n, t->partial[2]);
}

#define DOTS_OUT(t)                                           \
  {(t).partial[0], (t).nblock}, {(t).partial[1], (t).nblock}, \
  {                                                           \
    (t).partial[2], (t).nblock                                \
  }

/* A NaN in block 1 of 3 makes that block's partial NaN and leaves the others' bits. */
static void CheckNaNStays(const double *with, const double *without)
{
  CHECK(with[0] == without[0] && isnan(with[1]) && !isnan(without[1]) && with[2] == without[2]);
}

static void TestMdot(PoiseContext ctx)
{
  static const int counts[] = {1, 4, 5, POISE_MAX_BATCH};
  Rig rig = Open(ctx);
  for (int s = PoiseRank(ctx); s < NSIZES; s += PoiseSize(ctx))
    for (int c = 0; c < 4; c++) {
      int64_t n = sizes[s], nblock = POISE_NBLOCKS(n);
      MdotArgs a = {.n = n, .stride = nblock + 2, .k = counts[c], .y = Random(&rig, n, 1)};
      int64_t space = a.k * a.stride;
      double zero = 0, one = 1;
      for (int j = 0; j < a.k; j++) a.x[j] = Random(&rig, n, (uint64_t)(2 + j));
      a.partial = Constant(&rig, space, -7);
      a.skip = &one;
      RUN(&rig, mdot, a, {a.partial, space});
      CHECK(All(a.partial, space, -7));
      a.skip = c % 2 ? NULL : &zero;
      RUN(&rig, mdot, a, {a.partial, space});
      for (int j = 0; j < a.k; j++) {
        CheckPartials(U, a.x[j], a.y, n, a.partial + j * a.stride);
        CHECK(All(a.partial + j * a.stride + nblock, 2, -7)); /* between the vectors */
      }
      Release(&rig);
    }
  Close(&rig);
}

/* ---- sums of vectors ------------------------------------------------------------------------- */

static void CaseMaxpy(Rig *rig, int64_t n, int k, bool slots, int ndot)
{
  double c[POISE_MAX_BATCH], zero = 0, one = 1;
  Dotted t = NewDots(rig, n, ndot);
  MaxpyArgs a = {
      .n = n, .k = k, .sign = slots ? -1 : 1, .skip = &one, .fuse = t.fuse, .y = Random(rig, n, 1)};
  double *old = Copy(rig, a.y, n);
  for (int j = 0; j < k; j++) {
    a.x[j] = Random(rig, n, (uint64_t)(2 + j));
    c[j] = TestRandom(99, (uint64_t)j);
    a.value[j] = slots ? NAN : c[j];
  }
  if (slots) a.a = c;
  RUN(rig, maxpy, a, {a.y, n}, DOTS_OUT(t));
  CHECK(!n || !memcmp(a.y, old, (size_t)n * sizeof *old));
  for (int d = 0; d < ndot; d++) CHECK(All(t.partial[d], t.nblock, -7));
  a.skip = slots ? &zero : NULL;
  RUN(rig, maxpy, a, {a.y, n}, DOTS_OUT(t));
  for (int64_t i = 0; i < n; i++) {
    long double y = old[i], scale = fabs(old[i]);
    for (int j = 0; j < k; j++) y += (long double)a.sign * c[j] * a.x[j][i], scale += fabs(c[j] * a.x[j][i]);
    CHECK(Close2(a.y[i], (double)y, (double)scale));
  }
  CheckDots(&t, a.y, n);
  Release(rig);
}

static void TestMaxpy(PoiseContext ctx)
{
  static const int counts[] = {0, 1, 4, 7, POISE_MAX_BATCH};
  Rig rig = Open(ctx);
  for (int s = PoiseRank(ctx); s < NSIZES; s += PoiseSize(ctx))
    for (int c = 0; c < 5; c++) CaseMaxpy(&rig, sizes[s], counts[c], (s + c) % 2, c % 4);
  Close(&rig);
}

/* Random numbers in fp32, and the same in fp64. */
static float *RandomSingle(Rig *rig, int64_t n, uint64_t seed, const double **same)
{
  float *p = Take(rig, n, sizeof *p);
  double *q = Take(rig, n, sizeof *q);
  for (int64_t i = 0; i < n; i++) q[i] = p[i] = (float)TestRandom(seed, (uint64_t)i);
  *same = q;
  return p;
}

/* With x_j in fp32 the sums are those with the same x_j in fp64, bit for bit. */
static void CaseSingles(Rig *rig, int64_t n, int k, bool slots, int ndot)
{
  double c[POISE_MAX_BATCH], one = 1;
  int64_t nblock = POISE_NBLOCKS(n), stride = nblock + 2, space = k * stride;
  Dotted t = NewDots(rig, n, ndot), t32 = NewDots(rig, n, ndot);
  MdotArgs dot = {.n = n, .stride = stride, .k = k, .y = Random(rig, n, 1)};
  MdotArgs_f32 dot32 = {.n = n, .stride = stride, .k = k, .y = dot.y};
  MaxpyArgs add = {.n = n, .stride = stride, .k = k, .sign = slots ? -1 : 1, .fuse = t.fuse};
  MaxpyArgs_f32 add32 = {.n = n, .stride = stride, .k = k, .sign = slots ? -1 : 1, .fuse = t32.fuse};
  for (int j = 0; j < k; j++) {
    dot32.x[j] = add32.x[j] = RandomSingle(rig, n, (uint64_t)(2 + j), &dot.x[j]);
    add.x[j] = dot.x[j];
    c[j] = TestRandom(99, (uint64_t)j);
    add.value[j] = add32.value[j] = slots ? NAN : c[j];
  }
  if (slots) add.a = add32.a = c;
  dot.partial = Constant(rig, space, -7), dot32.partial = Constant(rig, space, -7);
  add.again = Constant(rig, space, -7), add32.again = Constant(rig, space, -7);
  add.y = Random(rig, n, 1), add32.y = Copy(rig, add.y, n);
  dot32.skip = add32.skip = &one;
  RUN(rig, mdot_f32, dot32, {dot32.partial, space});
  RUN(rig, maxpy_f32, add32, {add32.y, n}, {add32.again, space}, DOTS_OUT(t32));
  CHECK(All(dot32.partial, space, -7) && All(add32.again, space, -7));
  CHECK(!n || !memcmp(add.y, add32.y, (size_t)n * sizeof(double)));
  dot32.skip = add32.skip = NULL;
  RUN(rig, mdot_f32, dot32, {dot32.partial, space});
  RUN(rig, maxpy_f32, add32, {add32.y, n}, {add32.again, space}, DOTS_OUT(t32));
  RUN(rig, mdot, dot, {dot.partial, space});
  RUN(rig, maxpy, add, {add.y, n}, {add.again, space}, DOTS_OUT(t));
  CHECK(!n || !memcmp(add.y, add32.y, (size_t)n * sizeof(double)));
  CHECK(!space || !memcmp(dot.partial, dot32.partial, (size_t)space * sizeof(double)));
  CHECK(!space || !memcmp(add.again, add32.again, (size_t)space * sizeof(double)));
  for (int d = 0; d < ndot && n; d++)
    CHECK(!memcmp(t.partial[d], t32.partial[d], (size_t)nblock * sizeof(double)));
  Release(rig);
}

static void TestSingles(PoiseContext ctx)
{
  static const int counts[] = {0, 1, 4, 7, 13};
  Rig rig = Open(ctx);
  for (int s = PoiseRank(ctx); s < NSIZES; s += PoiseSize(ctx))
    for (int c = 0; c < 5; c++) CaseSingles(&rig, sizes[s], counts[c], (s + c) % 2, c % 4);
  Close(&rig);
}

/* Factors that are given, or in slots; b = 0 overwrites a NaN. */
static void CaseAxpby(Rig *rig, int64_t n, double alpha, double beta, bool slots, int ndot)
{
  double c[] = {alpha, beta}, flag[] = {0, 1};
  Dotted t = NewDots(rig, n, ndot);
  AxpbyArgs a = {.n = n, .a = {.value = alpha}, .b = {.value = beta}, .skip = &flag[1], .fuse = t.fuse};
  double *x = Random(rig, n, 2);
  a.x = x;
  a.y = beta == 0 ? Constant(rig, n, NAN) : Random(rig, n, 1);
  double *old = Copy(rig, a.y, n);
  if (slots) a.a = (ScalarRef){&c[0], NAN}, a.b = (ScalarRef){&c[1], NAN};
  RUN(rig, axpby, a, {a.y, n}, DOTS_OUT(t));
  CHECK(!n || !memcmp(a.y, old, (size_t)n * sizeof *old));
  for (int d = 0; d < ndot; d++) CHECK(All(t.partial[d], t.nblock, -7));
  a.skip = slots ? &flag[0] : NULL;
  RUN(rig, axpby, a, {a.y, n}, DOTS_OUT(t));
  for (int64_t i = 0; i < n; i++)
    CHECK_NEAR(a.y[i], beta == 0 ? alpha * x[i] : alpha * x[i] + beta * old[i], 1e-15);
  CheckDots(&t, a.y, n);
  Release(rig);
}

static void TestAxpby(PoiseContext ctx)
{
  static const double factors[][2] = {{1, 0}, {-1, 1}, {0.5, -0.25}, {0, 1}};
  Rig rig = Open(ctx);
  for (int s = PoiseRank(ctx); s < NSIZES; s += PoiseSize(ctx))
    for (int k = 0; k < 16; k++)
      CaseAxpby(&rig, sizes[s], factors[k % 4][0], factors[k % 4][1], k / 4 % 2, k / 4);
  Close(&rig);
}

static void TestReduce(PoiseContext ctx)
{
  enum { SUMS = 3, STRIDE = 12 };
  Rig rig = Open(ctx);
  for (int count = 0; count <= 10; count += 5)
    for (int flags = 0; flags < 8; flags++) {
      double skip = (flags & 4) != 0, *p = Random(&rig, SUMS * STRIDE, 5),
             *dst = Constant(&rig, SUMS + 1, 0.25);
      ReduceArgs a = {.nsum = SUMS,
                      .add = flags & 1,
                      .max = flags >> 1 & 1,
                      .stride = STRIDE,
                      .count = count,
                      .partial = p,
                      .dst = dst,
                      .skip = flags & 4 || count == 5 ? &skip : NULL};
      /* maxima are of what is not negative */
      for (int i = 0; a.max && i < SUMS * STRIDE; i++) p[i] = fabs(p[i]);
      for (int i = count; i < STRIDE; i++) p[i] = p[STRIDE + i] = NAN;
      RUN(&rig, reduce, a, {dst, SUMS + 1});
      for (int k = 0; k < SUMS; k++) {
        double r = a.add ? 0.25 : 0;
        /* in this order */
        for (int b = 0; b < count; b++) r = a.max ? fmax(r, p[k * STRIDE + b]) : r + p[k * STRIDE + b];
        CHECK(dst[k] == (skip != 0 ? 0.25 : r));
      }
      CHECK(dst[SUMS] == 0.25);
      Release(&rig);
    }
  double p[] = {1, NAN, 3, 2, 5, 4}, dst[2] = {0, 0};
  for (int max = 0; max < 2; max++) { /* a NaN stays, and in its own sum */
    ReduceArgs a = {.nsum = 2, .max = max, .stride = 3, .count = 3, .partial = p, .dst = dst};
    RUN(&rig, reduce, a, {dst, 2});
    CHECK(isnan(dst[0]) && dst[1] == (max ? 5 : 11));
  }
  Close(&rig);
}

static void TestGatherScatter(PoiseContext ctx)
{
  Rig rig = Open(ctx);
  for (int s = PoiseRank(ctx); s < NSIZES; s += PoiseSize(ctx)) {
    int64_t n = sizes[s], m = n / 3 + 1;
    int32_t *idx = Take(&rig, n, sizeof *idx);
    int64_t *idx64 = Take(&rig, n, sizeof *idx64);
    double *x = Random(&rig, m, 1);
    /* many more than once */
    for (int64_t i = 0; i < n; i++) idx[i] = (int32_t)(idx64[i] = (i * 7 + i / 5) % m);
    for (int wide = 0; wide < 2; wide++) {
      GatherArgs g = {.n = n,
                      .idx = wide ? NULL : idx,
                      .idx64 = wide ? idx64 : NULL,
                      .x = x,
                      .out = Constant(&rig, n, NAN)};
      RUN(&rig, gather, g, {g.out, n});
      for (int64_t i = 0; i < n; i++) CHECK(g.out[i] == x[idx[i]]);
    }
    GatherArgs g = {.n = n / 3, .size = 3, .idx = idx, .out = Constant(&rig, n, NAN)};
    g.x = Random(&rig, 3 * m, 2);
    RUN(&rig, gather, g, {g.out, n});
    for (int64_t i = 0; i < n / 3 * 3; i++) CHECK(g.out[i] == g.x[3 * idx[i / 3] + i % 3]);
    for (int64_t i = 0; i < n; i++) idx[i] = (int32_t)(2 * n - 2 * i - i % 2 - 1); /* each once, not all */
    double *in = Random(&rig, n, 2), *y = Random(&rig, 2 * n, 3), *expected = Copy(&rig, y, 2 * n);
    ScatterAddArgs a = {.n = n, .idx = idx, .in = in, .y = y};
    RUN(&rig, scatter_add, a, {y, 2 * n});
    for (int64_t i = 0; i < n; i++) expected[idx[i]] += in[i];
    CHECK(!n || !memcmp(y, expected, (size_t)(2 * n) * sizeof *y));
    ScatterAddArgs wide = {.n = n / 4, .size = 2, .idx = idx + n - n / 4, .in = in, .y = y};
    RUN(&rig, scatter_add, wide, {y, 2 * n});
    for (int64_t i = 0; i < n / 4 * 2; i++) expected[2 * wide.idx[i / 2] + i % 2] += in[i];
    CHECK(!n || !memcmp(y, expected, (size_t)(2 * n) * sizeof *y));
    float *in32 = Take(&rig, n, sizeof *in32), *y32 = Take(&rig, 2 * n, sizeof *y32);
    for (int64_t i = 0; i < n; i++) in32[i] = (float)in[i];
    ScatterAddArgs_f32 f = {.n = n, .idx = idx, .in = in32, .y = y32};
    RUN(&rig, scatter_add_f32, f, {(double *)(void *)y32, n}); /* all of it */
    for (int64_t i = 0; i < n; i++) CHECK(y32[idx[i]] == in32[i] && y32[idx[i] ^ 1] == 0);
    Release(&rig);
  }
  Close(&rig);
}

/* ---- CSR ------------------------------------------------------------------------------------- */

typedef struct Sparse {
  CsrView A;
  int64_t *ptr, nghost;
  int32_t *col;
  double *val;
} Sparse;

/* Rows of 0 to 6 entries in distinct columns, the diagonal in most. */
static int64_t RowLength(int64_t i, int64_t ncol)
{
  int64_t step = 1 + i % 3, most = ncol / step, length = (i * 5 + 2) % 7;
  return length < most ? length : most;
}

static Sparse NewSparse(Rig *rig, int64_t m, int64_t nloc, int64_t nghost, bool wide)
{
  Sparse s = {.A = {.m = m, .nloc = nloc}, .nghost = nghost, .ptr = Take(rig, m + 1, sizeof *s.ptr)};
  int64_t ncol = nloc + nghost;
  for (int64_t i = 0; i < m; i++) s.ptr[i + 1] = s.ptr[i] + RowLength(i, ncol);
  s.A.nz = s.ptr[m];
  s.col = Take(rig, s.A.nz, sizeof *s.col);
  s.val = Random(rig, s.A.nz, 50);
  for (int64_t i = 0; i < m; i++)
    for (int64_t k = s.ptr[i]; k < s.ptr[i + 1]; k++)
      s.col[k] = (int32_t)((i + (k - s.ptr[i]) * (1 + i % 3)) % ncol);
  int32_t *narrow = Take(rig, m + 1, sizeof *narrow);
  for (int64_t i = 0; i <= m; i++) narrow[i] = (int32_t)s.ptr[i];
  s.A.ptr32 = wide ? NULL : narrow;
  s.A.ptr64 = wide ? s.ptr : NULL;
  s.A.col = s.col;
  s.A.val = s.val;
  return s;
}

/* Rows of the blocks that were asked for hold alpha A [x | ghost] + beta old, the others their old
   content. */
static void CheckProduct(const Sparse *s, const CsrMultArgs *a, double alpha, double beta, const double *old,
                         const bool *done)
{
  for (int64_t i = 0; i < s->A.m; i++) {
    double sum = 0, scale = fabs(beta * old[i]);
    for (int64_t k = s->ptr[i]; k < s->ptr[i + 1]; k++) {
      int32_t c = s->col[k];
      double t = s->val[k] * (c < s->A.nloc ? a->x[c] : a->ghost[c - s->A.nloc]);
      sum += t, scale += fabs(alpha * t);
    }
    if (done[i / POISE_BLOCK])
      CHECK(Close2(a->y[i], alpha * sum + beta * old[i], scale));
    else
      CHECK(!memcmp(&a->y[i], &old[i], sizeof *old));
  }
}

static void CaseCsrMult(Rig *rig, int64_t m, int64_t nghost, bool wide, bool scalars, int ndot)
{
  int64_t nloc = m / 2 + 6, nblock = POISE_NBLOCKS(m);
  Sparse s = NewSparse(rig, m, nloc, nghost, wide);
  Dotted t = NewDots(rig, m, ndot);
  bool *done = Take(rig, nblock, sizeof *done);
  int32_t *order = Take(rig, nblock, sizeof *order);
  double alpha = 1.5, beta = -0.5, one = 1;
  CsrMultArgs a = {.A = s.A,
                   .x = Random(rig, nloc, 60),
                   .ghost = Random(rig, nghost, 61),
                   .y = Random(rig, m, 62),
                   .fuse = t.fuse};
  double *old = Copy(rig, a.y, m);
  a.a = scalars ? (ScalarRef){&alpha, NAN} : (ScalarRef){NULL, alpha};
  a.b = scalars ? (ScalarRef){&beta, NAN} : (ScalarRef){NULL, beta};
  a.nblock = nblock;
  a.skip = &one;
  RUN(rig, csr_mult, a, {a.y, m}, DOTS_OUT(t));
  CheckProduct(&s, &a, alpha, beta, old, done); /* nothing done */
  a.skip = NULL;
  a.order = order;
  a.nblock = 0;
  for (int64_t b = nblock - 1; b >= 0; b -= 2)
    order[a.nblock++] = (int32_t)b, done[b] = true; /* every other one, backwards */
  RUN(rig, csr_mult, a, {a.y, m}, DOTS_OUT(t));
  CheckProduct(&s, &a, alpha, beta, old, done);
  for (int d = 0; d < ndot; d++)
    for (int64_t b = 0; b < nblock; b++) CHECK(done[b] || t.partial[d][b] == -7);
  a.order = NULL;
  a.nblock = nblock;
  if (m) memcpy(a.y, old, (size_t)m * sizeof *old);
  for (int64_t b = 0; b < nblock; b++) done[b] = true;
  RUN(rig, csr_mult, a, {a.y, m}, DOTS_OUT(t));
  CheckProduct(&s, &a, alpha, beta, old, done);
  CheckDots(&t, a.y, m);
  beta = 0;
  a.b.value = 0;
  for (int64_t i = 0; i < m; i++) a.y[i] = NAN, old[i] = 0;
  RUN(rig, csr_mult, a, {a.y, m}, DOTS_OUT(t));
  CheckProduct(&s, &a, alpha, 0, old, done); /* what y held does not matter */
  CheckDots(&t, a.y, m);
  Release(rig);
}

static void TestCsrMult(PoiseContext ctx)
{
  Rig rig = Open(ctx);
  for (int s = PoiseRank(ctx); s < NSIZES; s += PoiseSize(ctx))
    for (int c = 0; c < 4; c++)
      CaseCsrMult(&rig, sizes[s], c % 2 ? 5 : 0, c / 2, (s + c) % 3 == 0, (s + c) % 4);
  Close(&rig);
}

enum { ALIKE, SHORT, MIXED, SOME_LONG, LENGTHS };

static int64_t LengthOf(int kind, int64_t i)
{
  double u = fabs(TestRandom(70, (uint64_t)i));
  return kind == ALIKE ? 5
                       : (int64_t)(kind == SHORT   ? 13 * u
                                   : kind == MIXED ? 70 * u
                                   : u < 0.05      ? 300
                                                   : 6 * u);
}

/* Two row blocks and some, the first without ghosts; NaN in every 11th row that has entries. */
static Sparse NewRows(Rig *rig, int kind, int64_t m, int64_t nloc, int64_t nghost)
{
  Sparse s = {.A = {.m = m, .nloc = nloc}, .nghost = nghost, .ptr = Take(rig, m + 1, sizeof *s.ptr)};
  for (int64_t i = 0; i < m; i++) s.ptr[i + 1] = s.ptr[i] + LengthOf(kind, i);
  s.A.nz = s.ptr[m];
  s.col = Take(rig, s.A.nz, sizeof *s.col);
  s.val = Random(rig, s.A.nz, 71);
  for (int64_t i = 0; i < m; i++)
    for (int64_t k = s.ptr[i]; k < s.ptr[i + 1]; k++) {
      s.col[k] = (int32_t)((7 * i + 3 * k) % (i < POISE_BLOCK ? nloc : nloc + nghost));
      if (i % 11 == 3) s.val[k] = NAN;
    }
  s.A.ptr64 = s.ptr;
  s.A.col = s.col;
  s.A.val = s.val;
  return s;
}

/* A row's bits are the same whatever rows are beside it, and nothing of theirs gets into it. */
static void TestCsrRows(PoiseContext ctx)
{
  enum { M = 2 * POISE_BLOCK + 37, NLOC = 500, NGHOST = 300 };
  Rig rig = Open(ctx);
  for (int kind = 0; kind < LENGTHS; kind++) {
    Sparse s = NewRows(&rig, kind, M, NLOC, NGHOST);
    CsrMultArgs all = {.A = s.A, .vary = 1, .nblock = 3, .a.value = -0.3, .x = Random(&rig, NLOC, 72)};
    all.ghost = Random(&rig, NGHOST, 73);
    all.y = Constant(&rig, M, 0);
    CHECK_OK(LAUNCH(rig.host, csr_mult, &all));
    for (int64_t i = 0; i < M; i++) {
      int64_t ptr[] = {s.ptr[i], s.ptr[i + 1]};
      double y = 0;
      CsrMultArgs alone = all;
      alone.A.m = 1, alone.A.ptr64 = ptr, alone.vary = 0, alone.nblock = 1, alone.y = &y;
      CHECK_OK(LAUNCH(rig.host, csr_mult, &alone));
      CHECK(isnan(y) == (i % 11 == 3 && ptr[0] < ptr[1]));
      CHECK(isnan(y) ? isnan(all.y[i]) : !memcmp(&y, &all.y[i], sizeof y));
    }
    double *before = Copy(&rig, all.y, POISE_BLOCK);
    for (int64_t k = s.ptr[POISE_BLOCK]; k < s.A.nz; k++) s.col[k] = INT32_MAX; /* not to be looked at yet */
    all.ghost = NULL, all.nblock = 1;
    CHECK_OK(LAUNCH(rig.host, csr_mult, &all));
    for (int64_t i = 0; i < POISE_BLOCK; i++) CHECK(isnan(before[i]) || before[i] == all.y[i]);
    Release(&rig);
  }
  Close(&rig);
}

/* Blocks of `rows` rows of about `bands` bands of columns, those of every third reaching ghosts: codes say
   what the columns are, or none do. */
static void CaseCsrIndex16(Rig *rig, int64_t m, int rows, int bands)
{
  enum { NLOC = 200000, WORDS = sizeof(double) / sizeof(uint16_t) };
  Sparse s = NewRows(rig, ALIKE, m, NLOC, 10);
  int64_t nblock = (m + rows - 1) / rows, expected = 0;
  double *code = Constant(rig, s.A.nz / WORDS + 1, 0), *base = Constant(rig, nblock * POISE_BANDS / 2 + 1, 0),
         *fits = Constant(rig, 1, 0);
  for (int64_t k = 0; k < s.A.nz; k++) {
    int64_t block = k / 5 / rows, band = k % bands;
    s.col[k] = (int32_t)(12000 * band + block + (band ? 1 : 0) * (k * 7 % 4000));
    if (block % 3 == 1 && k % 5 == 4) s.col[k] = NLOC + (int32_t)(k % 10);
    if (block % 3 == 2 && k % bands == bands - 1) s.col[k] = NLOC - 1; /* the last that may have a code */
  }
  CsrIndex16Args a = {
      .A = s.A, .rows = rows, .nblock = nblock, .code = (uint16_t *)code, .base = (int32_t *)base};
  a.fits = (int64_t *)fits;
  RUN(rig, csr_index16, a, {fits, 1}, {code, s.A.nz / WORDS + 1}, {base, nblock * POISE_BANDS / 2 + 1});
  for (int64_t b = 0; b < nblock; b++) {
    int64_t begin = s.ptr[b * rows], end = s.ptr[(b + 1) * rows < m ? (b + 1) * rows : m];
    const int32_t *own = a.base + b * POISE_BANDS;
    bool can = true;
    for (int64_t k = begin; k < end; k++) can = can && s.col[k] < NLOC;
    if (bands > POISE_BANDS && end - begin >= bands) can = false;
    CHECK(can == (own[0] >= 0));
    if (can) expected += end - begin;
    for (int64_t k = begin; k < end && can; k++) CHECK(poiseIndex16Column(own, a.code[k]) == s.col[k]);
  }
  CHECK_INT(*a.fits, expected);
  Release(rig);
}

static void TestCsrIndex16(PoiseContext ctx)
{
  static const int rows[] = {4, 32, 256, POISE_BLOCK};
  Rig rig = Open(ctx);
  for (int s = PoiseRank(ctx); s < NSIZES; s += PoiseSize(ctx))
    for (int r = 0; r < 4; r++) {
      CaseCsrIndex16(&rig, sizes[s], rows[r], POISE_BANDS - 1);
      CaseCsrIndex16(&rig, sizes[s], rows[r], POISE_BANDS);
      CaseCsrIndex16(&rig, sizes[s], rows[r], POISE_BANDS + 1); /* too many, but for blocks of few entries */
    }
  Close(&rig);
}

/* Its entries by column, by counting. */
typedef struct ByColumn {
  int64_t ncol, *ptr, *from;
  int32_t *ptr32, *from32, *row;
} ByColumn;

static ByColumn SortColumns(Rig *rig, const Sparse *s, int64_t ncol)
{
  int64_t nz = s->A.nz;
  ByColumn t = {
      .ncol = ncol, .ptr = Take(rig, ncol + 1, 8), .from = Take(rig, nz, 8), .row = Take(rig, nz, 4)};
  int64_t *next = Take(rig, ncol, sizeof *next);
  t.ptr32 = Take(rig, ncol + 1, 4), t.from32 = Take(rig, nz, 4);
  for (int64_t k = 0; k < nz; k++) t.ptr[s->col[k] + 1]++;
  for (int64_t j = 0; j < ncol; j++) t.ptr[j + 1] += t.ptr[j];
  memcpy(next, t.ptr, (size_t)ncol * sizeof *next);
  for (int64_t i = 0; i < s->A.m; i++)
    for (int64_t k = s->ptr[i]; k < s->ptr[i + 1]; k++) {
      int64_t to = next[s->col[k]]++;
      t.from[to] = k, t.row[to] = (int32_t)i;
    }
  for (int64_t j = 0; j <= ncol; j++) t.ptr32[j] = (int32_t)t.ptr[j];
  for (int64_t k = 0; k < nz; k++) t.from32[k] = (int32_t)t.from[k];
  return t;
}

static void TestCsrMultTranspose(PoiseContext ctx)
{
  Rig rig = Open(ctx);
  for (int z = PoiseRank(ctx); z < NSIZES; z += PoiseSize(ctx)) {
    int64_t m = sizes[z], nloc = m / 2 + 6, nghost = z % 2 ? 5 : 0, ncol = nloc + nghost;
    Sparse s = NewSparse(&rig, m, nloc, nghost, true);
    ByColumn t = SortColumns(&rig, &s, ncol);
    double *x = Random(&rig, m, 60), *expected = Constant(&rig, ncol, 0), *norm = Constant(&rig, ncol, 0);
    for (int64_t i = 0; i < m; i++)
      for (int64_t k = s.ptr[i]; k < s.ptr[i + 1]; k++) { /* rows ascend: the same order */
        expected[s.col[k]] += s.val[k] * x[i];
        norm[s.col[k]] += fabs(s.val[k]);
      }
    for (int form = 0; form < 4; form++) {
      CsrMultTransposeArgs a = {.owned = nloc};
      CsrMultArgs *T = &a.c.m;
      T->A = (CsrView){.m = ncol, .nloc = m, .nz = s.A.nz, .col = t.row, .val = s.val};
      T->rows = POISE_BLOCK, T->nblock = POISE_NBLOCKS(ncol);
      if (form % 2)
        T->A.ptr64 = t.ptr, a.perm64 = t.from;
      else
        T->A.ptr32 = t.ptr32, a.perm32 = t.from32;
      if (form < 2) T->x = x;
      T->y = Constant(&rig, nloc, NAN);
      a.ghost = Constant(&rig, nghost, NAN);
      RUN(&rig, csr_mult_transpose, a, {T->y, nloc}, {a.ghost, nghost});
      for (int64_t j = 0; j < ncol; j++)
        CHECK((j < nloc ? T->y[j] : a.ghost[j - nloc]) == (form < 2 ? expected : norm)[j]);
    }
    Release(&rig);
  }
  Close(&rig);
}

/* Keys of a matrix, sorted by column alone, are its entries by column. Outputs are compared as doubles, bit
   by bit. */
static void TestCsrKeys(PoiseContext ctx)
{
  Rig rig = Open(ctx);
  for (int z = PoiseRank(ctx); z < NSIZES; z += PoiseSize(ctx))
    for (int form = 0; form < 6;
         form++) { /* most columns: so many digits that their number is odd, or even */
      bool wide = form % 2;
      int64_t m = sizes[z], ncol = form / 2 == 0 ? 7 : form / 2 == 1 ? 300 : 70000, nz;
      int bits = 0, most = 1;
      Sparse s = NewSparse(&rig, m, ncol - 1, 1, true);
      while (m >> bits) bits++;
      while (ncol >> most) most++;
      nz = s.A.nz;
      ByColumn t = SortColumns(&rig, &s, ncol);
      void *key[2], *place[2];
      /* int32 or int64 */
      for (int k = 0; k < 2; k++) key[k] = Take(&rig, nz, 8), place[k] = Take(&rig, nz, 8);
      CsrKeysArgs a = {.A = s.A, .bits = bits, .key = key[0]};
      SortKeysArgs b = {.n = nz, .first = bits, .bits = most, .key = {key[0], key[1]}};
      if (wide)
        a.place64 = b.place64[0] = place[0], b.place64[1] = place[1];
      else
        a.place32 = b.place32[0] = place[0], b.place32[1] = place[1];
      RUN(&rig, csr_keys, a, {key[0], nz}, {place[0], nz});
      CHECK_OK(LAUNCH(rig.host, csr_keys, &a));
      CHECK_OK(LAUNCH(rig.host, sort_keys, &b));
      for (int64_t j = 0; j < ncol; j++)
        for (int64_t k = t.ptr[j]; k < t.ptr[j + 1]; k++) {
          CHECK(b.key[1][k] == ((uint64_t)j << bits | (uint64_t)t.row[k]));
          CHECK((wide ? b.place64[1][k] : b.place32[1][k]) == t.from[k]);
        }
      Release(&rig);
    }
  Close(&rig);
}

/* One offset or column differs, or none; of either width. */
static void TestCsrDiffer(PoiseContext ctx)
{
  Rig rig = Open(ctx);
  for (int z = PoiseRank(ctx); z < NSIZES; z += PoiseSize(ctx))
    for (int form = 0; form < 12; form++) {
      int what = form / 4;
      int64_t m = sizes[z], nblock = POISE_NBLOCKS(m), last = m - 1, at = -1;
      Sparse s = NewSparse(&rig, m, m + 3, 4, true);
      int32_t *ptr32 = Take(&rig, m + 1, sizeof *ptr32), *col = Take(&rig, s.A.nz, sizeof *col);
      int64_t *ptr64 = Take(&rig, m + 1, sizeof *ptr64);
      if (s.A.nz) memcpy(col, s.col, (size_t)s.A.nz * sizeof *col);
      memcpy(ptr64, s.ptr, (size_t)(m + 1) * sizeof *ptr64);
      /* the last row with an entry loses it, or gets another */
      while (last > 0 && s.ptr[last] == s.ptr[last + 1]) last--;
      if (what && s.A.nz) at = last;
      if (what == 1 && at >= 0) col[s.ptr[at + 1] - 1]++;
      if (what == 2 && at >= 0) ptr64[at + 1]--;
      for (int64_t i = 0; i <= m; i++) ptr32[i] = (int32_t)ptr64[i];
      CsrDifferArgs d = {.A = s.A, .B = s.A, .partial = Constant(&rig, nblock, NAN)};
      d.B.col = col;
      d.B.ptr64 = form % 2 ? ptr64 : NULL;
      d.B.ptr32 = form % 2 ? NULL : ptr32;
      if (form / 2 % 2) {
        CsrView A = d.A;
        d.A = d.B, d.B = A;
      }
      RUN(&rig, csr_differ, d, {d.partial, nblock});
      for (int64_t b = 0; b < nblock; b++) {
        bool differs = at >= 0 && b == at / POISE_BLOCK;
        if (what == 2 && at >= 0) differs |= at + 1 == b * POISE_BLOCK; /* where it begins */
        CHECK(d.partial[b] == differs);
      }
      Release(&rig);
    }
  Close(&rig);
}

static void TestCsrDiagonal(PoiseContext ctx)
{
  Rig rig = Open(ctx);
  for (int z = PoiseRank(ctx); z < NSIZES; z += PoiseSize(ctx))
    for (int b = 1; b <= 3; b += 2) {
      int64_t m = sizes[z] / b * b;
      Sparse s = NewSparse(&rig, m, m, 4, z % 2);
      CsrDiagonalArgs a = {.A = s.A, .b = b, .d = Constant(&rig, m * b, NAN)};
      double *expected = Constant(&rig, m * b, 0);
      for (int64_t i = 0; i < m; i++)
        for (int64_t k = s.ptr[i]; k < s.ptr[i + 1]; k++)
          if (s.col[k] / b == i / b) expected[(i / b * b + s.col[k] % b) * b + i % b] = s.val[k];
      RUN(&rig, csr_diagonal, a, {a.d, m * b});
      for (int64_t i = 0; i < m * b; i++) CHECK(a.d[i] == expected[i]);
      Release(&rig);
    }
  Close(&rig);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* |A X - I| for column-major b x b. */
static double InverseError(int b, const double *A, const double *X)
{
  double worst = 0;
  for (int i = 0; i < b; i++)
    for (int j = 0; j < b; j++) {
      double s = i == j ? -1 : 0;
      for (int k = 0; k < b; k++) s += A[k * b + i] * X[j * b + k];
      worst = poiseLarger(fabs(s), worst);
    }
  return worst;
}

static double Invert(Rig *rig, int64_t nblock, int b, int fix, double *d)
{
  double bad = NAN;
  InvertBlocksArgs a = {.nblock = nblock, .b = b, .fix = fix, .d = d, .bad = &bad};
  RUN(rig, invert_blocks, a, {&bad, 1}, {d, nblock * b * b});
  return bad;
}

static void TestInvertBlocks(PoiseContext ctx)
{
  enum { BLOCKS = 3 };
  Rig rig = Open(ctx);
  for (int b = 1 + PoiseRank(ctx); b <= 32; b += PoiseSize(ctx)) {
    int64_t size = (int64_t)b * b;
    double *A = Random(&rig, BLOCKS * size, (uint64_t)b), *X;
    for (int i = 0; b > 1 && i < b; i++) {
      /* block 1 has no pivot on its diagonal; block 2 is a shift, nothing but exchanges */
      A[size + i * b + i] = 0;
      for (int j = 0; j < b; j++) A[2 * size + j * b + i] = i == (j + 1) % b ? 2 : 0;
    }
    X = Copy(&rig, A, BLOCKS * size);
    CHECK(Invert(&rig, BLOCKS, b, b % 2, X) == -1);
    for (int k = 0; k < BLOCKS; k++) CHECK_NEAR(InverseError(b, A + k * size, X + k * size), 0, 1e-11);
    Release(&rig);
  }
  CHECK(Invert(&rig, 0, 3, 0, NULL) == -1);
  Close(&rig);
}

/* Blocks of 3, the one in the middle bad: by a NaN or an infinity in any place, or singular. */
static void TestBadBlocks(PoiseContext ctx)
{
  enum { B = 3, SIZE = B * B };
  Rig rig = Open(ctx);
  static const double poisons[] = {NAN, INFINITY, -INFINITY};
  for (int at = 0; at < SIZE; at++)
    for (int p = 0; p < 3; p++) {
      double *d = Random(&rig, 3 * SIZE, 7);
      d[SIZE + at] = poisons[p];
      CHECK(Invert(&rig, 3, B, 1, d) == 1);
      Release(&rig);
    }
  for (int kind = 0; kind < 4; kind++) {
    double *d = Random(&rig, 3 * SIZE, 8);
    for (int j = 0; j < B; j++)
      for (int i = 0; i < B; i++) {
        if (kind == 0) d[SIZE + j * B + i] = 0;
        if (kind == 1) d[SIZE + j * B + i] *= i != 2;            /* an empty row */
        if (kind == 2) d[SIZE + j * B + i] *= j != 1;            /* an empty column */
        if (kind == 3) d[SIZE + j * B + i] = (i + 1) * (1 << j); /* rank 1 */
      }
    CHECK(Invert(&rig, 3, B, 0, d) == 1);
    d[0] = NAN; /* the first bad one is named */
    CHECK(Invert(&rig, 3, B, 0, d) == 0);
    Release(&rig);
  }
  double *d = Copy(&rig, (double[]){1, 0, 1e300, 1e-300}, 4); /* regular, its inverse is not finite */
  CHECK(Invert(&rig, 1, 2, 0, d) == 0);
  double ones[][5] = {
      {0, 2, -0.0, 4, -8}, {2, 3, 0, 5, 0}, {1, 2, 1e-310, 0, 1}, {1, NAN, 0, 1, 1}, {INFINITY, 1, 1, 1, 1}};
  static const double bad[][2] = {{0, -1}, {2, -1}, {2, 2}, {1, 1}, {0, 0}}; /* without and with fix */
  for (int k = 0; k < 5; k++)
    for (int fix = 0; fix < 2; fix++) CHECK(Invert(&rig, 5, 1, fix, Copy(&rig, ones[k], 5)) == bad[k][fix]);
  d = Copy(&rig, ones[0], 5);
  Invert(&rig, 5, 1, 1, d);
  CHECK(d[0] == 1 && d[1] == 0.5 && d[2] == 1 && d[3] == 0.25 && d[4] == -0.125);
  Close(&rig);
}

static void CaseBlockApply(Rig *rig, int64_t n, int b, bool identity, int ndot)
{
  double zero = 0, one = 1;
  Dotted t = NewDots(rig, n, ndot);
  BlockApplyArgs a = {
      .n = n, .b = b, .x = Random(rig, n, 1), .y = Constant(rig, n, NAN), .skip = &one, .fuse = t.fuse};
  if (!identity) a.d = Random(rig, n * b, 2);
  RUN(rig, block_apply, a, {a.y, n}, DOTS_OUT(t));
  CHECK(All(a.y, n, NAN));
  a.skip = b % 2 ? NULL : &zero;
  RUN(rig, block_apply, a, {a.y, n}, DOTS_OUT(t));
  for (int64_t i = 0; i < n; i++) {
    double s = 0, scale = 0;
    for (int j = 0; !identity && j < b; j++) {
      double v = a.d[(i / b * b + j) * b + i % b] * a.x[i / b * b + j];
      s += v, scale += fabs(v);
    }
    CHECK(identity ? a.y[i] == a.x[i] : Close2(a.y[i], s, scale));
  }
  CheckDots(&t, a.y, n);
  Release(rig);
}

static void TestBlockApply(PoiseContext ctx)
{
  static const int blocks[] = {1, 2, 3, 5, 32};
  Rig rig = Open(ctx);
  for (int s = PoiseRank(ctx); s < NSIZES; s += PoiseSize(ctx))
    for (int k = 0; k < 5; k++) {
      CaseBlockApply(&rig, sizes[s] / blocks[k] * blocks[k], blocks[k], false, (s + k) % 4);
      if (k == 0) CaseBlockApply(&rig, sizes[s], 1, true, s % 4);
    }
  Close(&rig);
}

/* ---- phases ---------------------------------------------------------------------------------- */

/* w of an element-wise phase at x, y with coefficients a, b; and its dots, as (p, q). */
static double Element(int id, double a, double b, double x, double y)
{
  switch (id) {
  case PHASE_vec_set:
    return a;
  case PHASE_vec_axpby:
  case PHASE_vec_axpby_dot:
    return (a == 0 ? 0 : a * x) + (b == 0 ? 0 : b * y);
  case PHASE_vec_mult:
    return x * y;
  case PHASE_vec_divide:
    return x / y;
  case PHASE_vec_reciprocal:
    return 1 / x;
  default:
    return NAN; /* writes nothing */
  }
}

static void CasePhase(Rig *rig, int id, int64_t n, double alpha, double beta)
{
  bool slots = n % 2;
  PhaseArgs a = {
      .id = id, .n = n, .in = {Random(rig, n, 1), Random(rig, n, 2)}, .out = {Constant(rig, n, NAN)}};
  a.c[0] = slots ? (ScalarRef){&alpha, NAN} : (ScalarRef){NULL, alpha};
  a.c[1] = slots ? (ScalarRef){&beta, NAN} : (ScalarRef){NULL, beta};
  for (int64_t i = 0; i < n && alpha == 0; i++) ((double *)a.in[0])[i] = NAN; /* a factor 0 drops NaN */
  RUN(rig, phase, a, {a.out[0], n});
  for (int64_t i = 0; i < n; i++) {
    double w = Element(id, alpha, beta, a.in[0][i], a.in[1][i]);
    CHECK(isnan(w) ? isnan(a.out[0][i]) : a.out[0][i] == w);
  }
  Release(rig);
}

static void TestElementPhases(PoiseContext ctx)
{
  static const int ids[] = {PHASE_vec_set,    PHASE_vec_axpby,      PHASE_vec_axpby_dot, PHASE_vec_mult,
                            PHASE_vec_divide, PHASE_vec_reciprocal, PHASE_vec_dot};
  Rig rig = Open(ctx);
  for (int s = PoiseRank(ctx); s < NSIZES; s += PoiseSize(ctx)) {
    for (int k = 0; k < 7; k++) CasePhase(&rig, ids[k], sizes[s], 1.25, -3);
    CasePhase(&rig, PHASE_vec_axpby, sizes[s], 0, 2);
    CasePhase(&rig, PHASE_vec_axpby, sizes[s], 0, 0);
  }
  double *x = Random(&rig, LARGE, 1), *old = Copy(&rig, x, LARGE); /* in place */
  PhaseArgs a = {
      .id = PHASE_vec_axpby, .n = LARGE, .in = {x, x}, .out = {x}, .c = {{.value = 2}, {.value = 0.5}}};
  RUN(&rig, phase, a, {x, LARGE});
  for (int64_t i = 0; i < LARGE; i++) CHECK(x[i] == 2 * old[i] + 0.5 * old[i]);
  Close(&rig);
}

static void CheckSum(int id, const double *x, int64_t n, const double *partial)
{
  for (int64_t b = 0; b < POISE_NBLOCKS(n); b++) {
    long double sum = 0, scale = 0;
    double most = 0;
    for (int64_t i = b * POISE_BLOCK; i < (b + 1) * POISE_BLOCK && i < n; i++) {
      sum += id == PHASE_vec_sum ? x[i] : fabs(x[i]);
      scale += fabs(x[i]);
      most = fmax(most, fabs(x[i]));
    }
    CHECK(id == PHASE_vec_norm_inf ? partial[b] == most : Close2(partial[b], (double)sum, (double)scale));
  }
}

static void TestDotPhases(PoiseContext ctx)
{
  static const int sums[] = {PHASE_vec_sum, PHASE_vec_norm1, PHASE_vec_norm_inf};
  Rig rig = Open(ctx);
  for (int s = PoiseRank(ctx); s < NSIZES; s += PoiseSize(ctx)) {
    int64_t n = sizes[s], nblock = POISE_NBLOCKS(n);
    double *x = Random(&rig, n, 1), *y = Random(&rig, n, 2), *w = Constant(&rig, n, 0);
    PhaseArgs a = {.n = n, .in = {x, y}, .out = {w}, .c = {{.value = 2}, {.value = 3}}};
    for (int k = 0; k < 2; k++) a.partial[k] = Constant(&rig, nblock, -7);
    const Out out[MAX_OUT] = {{a.partial[0], nblock}, {a.partial[1], nblock}, {w, n}};
    a.id = PHASE_vec_dot;
    Run(&rig, KERNEL_phase, &a, sizeof a, out);
    CheckPartials(U, x, y, n, a.partial[0]);
    CHECK(All(a.partial[1], nblock, -7));
    a.id = PHASE_vec_dot2;
    Run(&rig, KERNEL_phase, &a, sizeof a, out);
    CheckPartials(U, x, y, n, a.partial[0]);
    CheckPartials(NEITHER, NULL, y, n, a.partial[1]);
    a.id = PHASE_vec_axpby_dot;
    Run(&rig, KERNEL_phase, &a, sizeof a, out);
    CheckPartials(NEITHER, NULL, w, n, a.partial[0]);
    for (int k = 0; k < 3; k++) {
      a.id = sums[k];
      Run(&rig, KERNEL_phase, &a, sizeof a, out);
      CheckSum(a.id, x, n, a.partial[0]);
    }
    Release(&rig);
  }
  Close(&rig);
}

/* Entry i depends on k + i only, whoever has it; in [-1, 1) and not constant. */
static void TestRandomPhase(PoiseContext ctx)
{
  enum { SHIFT = 37 };
  Rig rig = Open(ctx);
  double *w = Constant(&rig, LARGE, NAN), *v = Constant(&rig, LARGE, NAN), sum = 0, squares = 0;
  PhaseArgs a = {.id = PHASE_vec_random, .n = LARGE, .out = {w}, .k = -5000}, b = a;
  b.out[0] = v;
  b.k += SHIFT;
  RUN(&rig, phase, a, {w, LARGE});
  RUN(&rig, phase, b, {v, LARGE});
  CHECK(!memcmp(w + SHIFT, v, (LARGE - SHIFT) * sizeof *w));
  for (int i = 0; i < LARGE; i++) {
    CHECK(w[i] >= -1 && w[i] < 1);
    sum += w[i], squares += w[i] * w[i];
  }
  CHECK_NEAR(sum / LARGE, 0, 0.03);
  CHECK_NEAR(squares / LARGE, 1.0 / 3, 0.03);
  Close(&rig);
}

/* Sums are taken before the prologue; DONE skips a plain phase, SEEN (set by a plain one) a phase that
   decides. */
static void TestPhaseSlots(PoiseContext ctx)
{
  enum { ROWS = 1500, K = SLOT_FIRST_OWN };
  Rig rig = Open(ctx);
  double partial[] = {4, 5, 7}, slots[POISE_SLOTS], history[2], *r = Random(&rig, ROWS, 1),
         *p = Constant(&rig, ROWS, 0);
  PhaseArgs plain = {.id = PHASE_ksp_norm0, .k = K, .slots = slots, .nsum = 2};
  PhaseArgs decides = {.id = PHASE_bicgstab_start,
                       .n = ROWS,
                       .slots = slots,
                       READS(BI_R, r),
                       WRITES(BI_P, p),
                       WRITES(BI_RHAT, p)};
  plain.sum[0] = (Sum){partial, 3, slots + K, 0};
  plain.sum[1] = (Sum){partial, 0, slots + K + 1, 0};
  decides.conv.history = history;
  decides.conv.mask = 1;
  for (int done = 0; done < 2; done++) {
    for (int k = 0; k < POISE_SLOTS; k++) slots[k] = 0;
    slots[K + 1] = 9;
    slots[SLOT_DONE] = done;
    RUN(&rig, phase, plain, {slots, POISE_SLOTS});
    CHECK(slots[K] == (done ? 0 : 16) && slots[K + 1] == (done ? 9 : 0) &&
          slots[SLOT_NORM0] == (done ? 0 : 4));
    CHECK(slots[SLOT_SEEN] == done);
    slots[SLOT_DONE] = 1; /* decided since */
    RUN(&rig, phase, decides, {p, ROWS}, {slots, POISE_SLOTS}, {history, 2});
    CHECK(done ? All(p, ROWS, 0) : !memcmp(p, r, ROWS * sizeof *p));
    for (int i = 0; i < ROWS; i++) p[i] = 0;
  }
  Close(&rig);
}

/* ---- one partial per block ------------------------------------------------------------------- */

static void TestNaNStaysInItsBlock(PoiseContext ctx)
{
  enum { ROWS = 2 * POISE_BLOCK + 100, AT = POISE_BLOCK + 17 };
  Rig rig = Open(ctx);
  double partial[5][2][3], *x = Random(&rig, ROWS, 1), *y = Constant(&rig, ROWS, 0),
                           *z = Random(&rig, ROWS, 2), good = x[AT];
  Sparse s = NewSparse(&rig, ROWS, ROWS, 0, false);
  for (int64_t k = 0; k < s.A.nz; k++) s.col[k] = (int32_t)(k % 900); /* what row AT reads is finite */
  for (int plant = 0; plant < 2; plant++) {
    x[AT] = plant ? NAN : good;
    s.val[s.ptr[AT]] = plant ? NAN : 1;
    MdotArgs dot = {.n = ROWS, .stride = 3, .k = 1, .x = {x}, .y = x, .partial = partial[0][plant]};
    PhaseArgs sum = {.id = PHASE_vec_norm1, .n = ROWS, .in = {x}, .partial = {partial[1][plant]}};
    PhaseArgs max = {.id = PHASE_vec_norm_inf, .n = ROWS, .in = {x}, .partial = {partial[2][plant]}};
    CsrMultArgs mult = {.A = s.A, .nblock = 3, .a.value = 1, .x = z, .y = y};
    mult.fuse = (Fuse){.ndot = 1, .partial = {partial[3][plant]}};
    BlockApplyArgs apply = {
        .n = ROWS, .b = 1, .x = x, .y = y, .fuse = {.ndot = 1, .partial = {partial[4][plant]}}};
    RUN(&rig, mdot, dot, {dot.partial, 3});
    RUN(&rig, phase, sum, {sum.partial[0], 3});
    RUN(&rig, phase, max, {max.partial[0], 3});
    RUN(&rig, csr_mult, mult, {mult.fuse.partial[0], 3}, {y, ROWS});
    RUN(&rig, block_apply, apply, {apply.fuse.partial[0], 3}, {y, ROWS});
  }
  for (int k = 0; k < 5; k++) CheckNaNStays(partial[k][1], partial[k][0]);
  Close(&rig);
}

static const Test tests[] = {
    {"mdot", TestMdot, TEST_HOST_ONLY},
    {"maxpy", TestMaxpy, TEST_HOST_ONLY},
    {"singles", TestSingles, TEST_HOST_ONLY},
    {"axpby", TestAxpby, TEST_HOST_ONLY},
    {"reduce", TestReduce, TEST_HOST_ONLY},
    {"gather_scatter", TestGatherScatter, TEST_HOST_ONLY},
    {"csr_mult", TestCsrMult, TEST_HOST_ONLY},
    {"csr_rows", TestCsrRows, TEST_HOST_ONLY},
    {"csr_index16", TestCsrIndex16, TEST_HOST_ONLY},
    {"csr_mult_transpose", TestCsrMultTranspose, TEST_HOST_ONLY},
    {"csr_keys", TestCsrKeys, TEST_HOST_ONLY},
    {"csr_differ", TestCsrDiffer, TEST_HOST_ONLY},
    {"csr_diagonal", TestCsrDiagonal, TEST_HOST_ONLY},
    {"invert_blocks", TestInvertBlocks, TEST_HOST_ONLY},
    {"bad_blocks", TestBadBlocks, TEST_HOST_ONLY},
    {"block_apply", TestBlockApply, TEST_HOST_ONLY},
    {"element_phases", TestElementPhases, TEST_HOST_ONLY},
    {"dot_phases", TestDotPhases, TEST_HOST_ONLY},
    {"random_phase", TestRandomPhase, TEST_HOST_ONLY},
    {"phase_slots", TestPhaseSlots, TEST_HOST_ONLY},
    {"nan_stays_in_its_block", TestNaNStaysInItsBlock, TEST_HOST_ONLY},
    {NULL, NULL, 0},
};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "kernels", tests);
}
