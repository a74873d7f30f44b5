/* SPDX-License-Identifier: BSD-3-Clause */
/*
  PETSc's binary files, compared with an encoder of their definition that shares nothing with the library.
  Written files must have these bytes, read ones these entries. Errors in a file must name the byte.
*/
#define _XOPEN_SOURCE 700
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "io/load.h"
#include "io/petsc.h"
#include "mat/object/mat.h"
#include "sample.h"
#include "saved.h"

#define LENGTH(a) ((int)(sizeof(a) / sizeof *(a)))

enum { ROOM = 1 << 20 };

/* ---- the encoder ----------------------------------------------------------------------------- */

typedef struct Bytes {
  unsigned char *p;
  size_t n;
} Bytes;

static Bytes NewBytes(void)
{
  return (Bytes){calloc(1, ROOM), 0};
}

static void PutBits(Bytes *b, int bytes, uint64_t v)
{
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) b->p[b->n++] = (unsigned char)(v >> shift & 0xff);
}

static void PutReal(Bytes *b, double v)
{
  PutBits(b, 8, SampleBits(v));
}

static void PutHeader(Bytes *b, int width, int64_t M, int64_t N, int64_t nz)
{
  PutBits(b, width, 1211216);
  PutBits(b, width, (uint64_t)M);
  PutBits(b, width, (uint64_t)N);
  PutBits(b, width, (uint64_t)nz);
}

typedef struct Shape {
  PoiseInt M, N;
} Shape;

static double FromBits(uint64_t z)
{
  double v;
  memcpy(&v, &z, sizeof v);
  return v;
}

/* All there is: NaN with a payload, infinities, zeros of both signs, denormal numbers. */
static double Value(PoiseInt i, PoiseInt j)
{
  static const uint64_t special[] = {0x7ff8000000001234, 0xfff4567812345678, 0x7ff0000000000000,
                                     0xfff0000000000000, 0x0000000000000000, 0x8000000000000000,
                                     0x0000000000000001, 0x800fffffffffffff};
  uint64_t k = (uint64_t)(i * 1000 + j);
  return k % 13 < 8 ? FromBits(special[k % 13]) : TestRandom(8, k) * exp2((double)(k % 2000) - 1000);
}

/* reversed: the columns of each row descend. */
static void PutMatrix(Bytes *b, int width, Shape s, int reversed)
{
  int64_t nz = 0;
  for (PoiseInt i = 0; i < s.M; i++)
    for (PoiseInt j = 0; j < s.N; j++) nz += IsSaved(i, j);
  PutHeader(b, width, s.M, s.N, nz);
  for (PoiseInt i = 0; i < s.M; i++) {
    uint64_t n = 0;
    for (PoiseInt j = 0; j < s.N; j++) n += (uint64_t)IsSaved(i, j);
    PutBits(b, width, n);
  }
  for (int part = 0; part < 2; part++)
    for (PoiseInt i = 0; i < s.M; i++)
      for (PoiseInt l = 0; l < s.N; l++) {
        PoiseInt j = reversed ? s.N - 1 - l : l;
        if (!IsSaved(i, j)) continue;
        if (part)
          PutReal(b, Value(i, j));
        else
          PutBits(b, width, (uint64_t)j);
      }
}

static double EntryOf(PoiseInt i)
{
  return Value(i, 0);
}

static void PutVector(Bytes *b, int width, PoiseInt n)
{
  PutBits(b, width, 1211214);
  PutBits(b, width, (uint64_t)n);
  for (PoiseInt i = 0; i < n; i++) PutReal(b, EntryOf(i));
}

/* ---- what was read --------------------------------------------------------------------------- */

static PoiseErr LoadMatrix(PoiseContext ctx, const Bytes *b, PoiseMat *A)
{
  ByteSource s;
  poiseSourceMemory(b->p, b->n, "memory", &s);
  return poisePetscLoadMat(ctx, POISE_OK, &s, A);
}

static PoiseErr LoadVector(PoiseContext ctx, const Bytes *b, PoiseVec *x)
{
  ByteSource s;
  poiseSourceMemory(b->p, b->n, "memory", &s);
  return poisePetscLoadVec(ctx, POISE_OK, &s, POISE_DECIDE, POISE_DECIDE, x);
}

/* ---- files: rank 0 alone touches them, but for reading --------------------------------------- */

/* Plain or gzip. */
static int FileIs(const char *path, const Bytes *b)
{
  Bytes read = NewBytes();
  gzFile gz = gzopen(path, "rb");
  int n = gz ? gzread(gz, read.p, ROOM) : -1, same = n == (int)b->n && !memcmp(read.p, b->p, b->n);
  if (gz) gzclose_r(gz);
  free(read.p);
  return same;
}

/* ---- round trips ----------------------------------------------------------------------------- */

static const Shape shapes[] = {{0, 0}, {0, 5}, {5, 0}, {1, 1}, {3, 40}, {40, 3}, {70, 70}, {200, 30}};
static const int widths[] = {4, 8};

/* Columns up or down, any width: the same matrix. */
static void TestReadMatrix(PoiseContext ctx)
{
  Bytes b = NewBytes();
  PoiseMat A;
  for (int s = 0; s < LENGTH(shapes); s++)
    for (int w = 0; w < 2; w++)
      for (int reversed = 0; reversed < 2; reversed++) {
        b.n = 0;
        PutMatrix(&b, widths[w], shapes[s], reversed);
        if (!CHECK_OK(LoadMatrix(ctx, &b, &A))) continue;
        CheckSavedMatrix(A, shapes[s].M, shapes[s].N, Value);
        CHECK(A->csr.m == 0 || A->csr.wide == (A->csr.nz > A->ctx->hooks.most_narrow));
        CHECK_OK(PoiseMatDestroy(&A));
      }
  free(b.p);
}

static void TestWriteMatrix(PoiseContext ctx)
{
  static const char *const names[] = {"round.petsc", "round.bin", "round.petsc.gz", "round.bin.gz"};
  static const char *const bits[] = {"auto", "32", "64"};
  Bytes b = NewBytes();
  char path[PATH];
  PoiseMat A, B;
  for (int s = 0; s < LENGTH(shapes); s++)
    for (int k = 0; k < LENGTH(names); k++) {
      int width = k % 3 == 2 ? 8 : 4;
      b.n = 0;
      PutMatrix(&b, width, shapes[s], 0);
      SharedName(ctx, path, names[k]);
      CHECK_OK(PoiseOptionsSet(ctx, "petsc_index_bits", bits[k % 3]));
      if (!CHECK_OK(LoadMatrix(ctx, &b, &A))) continue;
      CHECK_OK(PoiseMatSave(A, path));
      if (PoiseRank(ctx) == 0) CHECK(FileIs(path, &b));
      if (CHECK_OK(PoiseMatLoad(ctx, path, &B))) CheckSavedMatrix(B, shapes[s].M, shapes[s].N, Value);
      CHECK_OK(PoiseMatDestroy(&A));
      CHECK_OK(PoiseMatDestroy(&B));
      RemoveFile(ctx, path);
    }
  free(b.p);
}

/* ---- -mat_load_diagonal ---------------------------------------------------------------------- */

enum { LACKING = 40 };

static bool Lacks(PoiseInt i)
{
  return i % 3 == 0;
}

/* Neighbours are joined by 1; each third row has no diagonal entry. N columns. */
static PoiseMat LackingMatrix(PoiseContext ctx, PoiseInt N)
{
  PoiseInt begin, m;
  PoiseMat A;
  PoiseSplit(ctx, LACKING, &begin, &m);
  if (!CHECK_OK(PoiseMatCreate(ctx, m, POISE_DECIDE, LACKING, N, &A))) return NULL;
  for (PoiseInt i = begin; i < begin + m; i++)
    for (PoiseInt j = i - 1; j <= i + 1; j++) {
      double v = i == j ? 4 : 1;
      if (j >= 0 && j < N && (i != j || !Lacks(i))) CHECK_OK(PoiseMatAddBlock(A, 1, &i, 1, &j, &v));
    }
  CHECK_OK(PoiseMatAssemble(A));
  return A;
}

/* A and a matrix from its file, which must be the same but for what is stored. */
static void CheckLoaded(PoiseMat A, PoiseMat B, PoiseInt more)
{
  PoiseInt nz[2];
  double norm;
  CHECK_OK(PoiseMatNonzeros(A, &nz[0]));
  CHECK_OK(PoiseMatNonzeros(B, &nz[1]));
  CHECK_INT(nz[1] - nz[0], more);
  CHECK_OK(PoiseMatAXPY(B, -1, A));
  CHECK_OK(PoiseMatNorm(B, POISE_NORM_FROBENIUS, &norm));
  CHECK(norm == 0);
}

static void CheckFactors(PoiseContext ctx, PoiseMat B, const char *type, bool lacks)
{
  PoiseKSP ksp;
  PoisePC pc;
  PoiseVec x, b;
  double norm[2];
  if (!CHECK_OK(PoiseKSPCreate(ctx, &ksp)) || !CHECK_OK(PoiseMatCreateVecs(B, &x, &b))) return;
  CHECK_OK(PoiseVecSetRandom(b, 3));
  CHECK_OK(PoiseKSPSetOperators(ksp, B, NULL));
  CHECK_OK(PoiseKSPSetType(ksp, "gmres"));
  CHECK_OK(PoiseKSPSetPCSide(ksp, POISE_PC_RIGHT)); /* its norm is the one that is checked */
  CHECK_OK(PoiseKSPGetPC(ksp, &pc));
  CHECK_OK(PoisePCSetType(pc, type));
  CHECK_OK(PoiseOptionsSet(ctx, "pc_factor_shift_type", "nonzero"));
  CHECK_OK(PoiseOptionsSet(ctx, "pc_factor_shift_amount", "0.5"));
  CHECK_OK(PoiseKSPSetFromOptions(ksp));
  PoiseErr e = PoiseKSPSolve(ksp, b, x);
  if (lacks) { /* the first row of every rank of two rows or more, or one of the next two */
    bool mine = false;
    PoiseInt begin, end;
    PoiseVecRange(b, &begin, &end);
    for (PoiseInt i = begin; i < end; i++) mine = mine || Lacks(i);
    CHECK(strstr(PoiseErrorMessage(), "has no diagonal entry") &&
          strstr(PoiseErrorMessage(), "-mat_load_diagonal") &&
          strstr(PoiseErrorMessage(), "-pc_factor_shift_type"));
    CHECK_ERR(e, mine ? POISE_ERR_NUMERIC : POISE_ERR_REMOTE, "row ");
  } else if (CHECK_OK(e)) {
    CHECK(PoiseKSPConvergedReason(ksp) > 0);
    CHECK_OK(PoiseKSPTrueResidual(ksp, b, x, &norm[0]));
    CHECK_OK(PoiseVecNorm(b, POISE_NORM_2, &norm[1]));
    CHECK(norm[0] <= 1e-3 * norm[1]);
  }
  PoiseKSPDestroy(&ksp);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&b);
}

static void TestLoadDiagonal(PoiseContext ctx)
{
  static const char *const names[] = {"diagonal.petsc", "diagonal.mtx", "diagonal.bin.gz"};
  static const char *const types[] = {"ilu", "icc", "ilu"};
  char path[PATH];
  for (int k = 0; k < 3; k++)
    for (int square = 0; square < 2; square++) {
      PoiseMat A = LackingMatrix(ctx, LACKING + !square), B;
      if (!A) return;
      SharedName(ctx, path, names[k]);
      CHECK_OK(PoiseMatSave(A, path));
      for (int stores = 1; stores >= 0; stores--) { /* later tests find it off */
        CHECK_OK(PoiseOptionsSet(ctx, "mat_load_diagonal", stores ? "yes" : "no"));
        if (!CHECK_OK(PoiseMatLoad(ctx, path, &B))) continue;
        if (square) CheckFactors(ctx, B, types[k], !stores);
        CheckLoaded(A, B, stores && square ? (LACKING + 2) / 3 : 0);
        CHECK_OK(PoiseMatDestroy(&B));
      }
      CHECK_OK(PoiseMatDestroy(&A));
      RemoveFile(ctx, path);
    }
}

static void TestVector(PoiseContext ctx)
{
  static const PoiseInt sizes[] = {0, 1, 6, 5000};
  static const char *const names[] = {"vector.petsc", "vector.bin.gz"}, *const bits[] = {"64", "auto"};
  Bytes b = NewBytes();
  char path[PATH];
  PoiseVec x;
  for (int s = 0; s < LENGTH(sizes); s++)
    for (int k = 0; k < 2; k++) {
      PoiseInt N = sizes[s];
      b.n = 0;
      PutVector(&b, k ? 4 : 8, N);
      SharedName(ctx, path, names[k]);
      CHECK_OK(PoiseOptionsSet(ctx, "petsc_index_bits", bits[k]));
      if (!CHECK_OK(LoadVector(ctx, &b, &x))) continue;
      CheckSavedVector(x, POISE_DECIDE, N, EntryOf);
      CHECK_OK(PoiseVecSave(x, path));
      if (PoiseRank(ctx) == 0) CHECK(FileIs(path, &b));
      CHECK_OK(PoiseVecDestroy(&x));
      CheckSavedVectorFile(ctx, path, N, EntryOf);
    }
  free(b.p);
}

static PoiseInt ColumnOfRow(PoiseInt i)
{
  return 299999 - i;
}

static double ValueOfRow(PoiseInt i)
{
  return (double)i;
}

/* Several chunks from each rank. */
static void TestLarge(PoiseContext ctx)
{
  char path[PATH];
  SharedName(ctx, path, "large.petsc");
  CheckLargeFile(ctx, path, 300000, 300000, ColumnOfRow, ValueOfRow);
}

/* A product with what was read, whose columns were renumbered in place. */
static void TestProduct(PoiseContext ctx)
{
  enum { N = 50 };
  Bytes b = NewBytes();
  PoiseMat A;
  PoiseVec x, y;
  const double *v;
  PoiseInt begin, end;
  PutHeader(&b, 4, N, N, 3 * N);
  for (int i = 0; i < N; i++) PutBits(&b, 4, 3);
  for (int i = 0; i < N; i++)
    for (int k = 0; k < 3; k++) PutBits(&b, 4, (uint64_t)((i * 7 + k * 16) % N));
  for (int i = 0; i < 3 * N; i++) PutReal(&b, i);
  if (CHECK_OK(LoadMatrix(ctx, &b, &A)) && CHECK_OK(PoiseMatCreateVecs(A, &x, &y))) {
    SampleFill(x, 3);
    CHECK_OK(PoiseMatMult(A, x, y));
    PoiseVecRange(y, &begin, &end);
    CHECK_OK(PoiseVecGetRead(y, &v));
    for (PoiseInt i = begin; i < end; i++) {
      double sum = 0;
      for (int k = 0; k < 3; k++)
        sum += (double)(3 * i + k) * TestRandom(3, (uint64_t)((i * 7 + k * 16) % N));
      CHECK_NEAR(v[i - begin], sum, 1e-12 * 3 * N);
    }
    CHECK_OK(PoiseVecRestore(y, &v));
    CHECK_OK(PoiseVecDestroy(&x));
    CHECK_OK(PoiseVecDestroy(&y));
  }
  CHECK_OK(PoiseMatDestroy(&A));
  free(b.p);
}

static void PutDense(Bytes *b, int width, Shape s)
{
  PutHeader(b, width, s.M, s.N, -1);
  for (PoiseInt i = 0; i < s.M; i++)
    for (PoiseInt j = 0; j < s.N; j++)
      PutReal(b, IsSaved(i, j) ? (double)(i * 100 + j + 1) : j % 2 ? 0.0 : -0.0);
}

static void TestDense(PoiseContext ctx)
{
  Bytes b = NewBytes();
  PoiseMat A;
  for (int s = 0; s < LENGTH(shapes); s++)
    for (int w = 0; w < 2; w++) {
      PoiseInt begin, m;
      int64_t *ptr, *col, k = 0;
      double *val;
      b.n = 0;
      PutDense(&b, widths[w], shapes[s]);
      PutVector(&b, widths[w], 1); /* what follows is found */
      PoiseVec x;
      if (CHECK_OK(LoadVector(ctx, &b, &x))) CheckSavedVector(x, POISE_DECIDE, 1, EntryOf);
      CHECK_OK(PoiseVecDestroy(&x));
      if (!CHECK_OK(LoadMatrix(ctx, &b, &A)) || !CHECK_OK(PoiseMatCopyCSR(A, &ptr, &col, &val))) continue;
      PoiseSplit(ctx, shapes[s].M, &begin, &m);
      for (PoiseInt i = 0; i < m; i++) {
        CHECK_INT(ptr[i], k);
        for (PoiseInt j = 0; j < shapes[s].N; j++)
          if (IsSaved(begin + i, j)) {
            CHECK(k < ptr[m] && col[k] == j && val[k] == (double)((begin + i) * 100 + j + 1));
            k++;
          }
      }
      CHECK_INT(ptr[m], k);
      free(ptr), free(col), free(val);
      CHECK_OK(PoiseMatDestroy(&A));
    }
  b.n = 0;
  PutHeader(&b, 8, INT64_C(1) << 40, INT64_C(1) << 40, -1);
  CHECK_ERR_OF(LoadMatrix(ctx, &b, &A), PoiseRank(ctx) == 0, POISE_ERR_FORMAT, "is too large");
  free(b.p);
}

/* More columns than 32 bits count; each rank owns fewer. */
static void TestWideColumns(PoiseContext ctx)
{
  static const int64_t N = 3000000000, cols[] = {2999999999, 5, 2147483648, 0};
  Bytes b = NewBytes();
  PoiseMat A;
  int64_t *ptr, *col;
  double *val;
  PoiseInt begin, m;
  PutHeader(&b, 8, 2, N, 4);
  PutBits(&b, 8, 3), PutBits(&b, 8, 1);
  for (int k = 0; k < 4; k++) PutBits(&b, 8, (uint64_t)cols[k]);
  for (int k = 0; k < 4; k++) PutReal(&b, k);
  PoiseErr e = LoadMatrix(ctx, &b, &A);
  free(b.p);
  if (PoiseSize(ctx) == 1) {
    CHECK_ERR(e, POISE_ERR_ARG, "global size 3000000000 is too large");
    return;
  }
  if (!CHECK_OK(e) || !CHECK_OK(PoiseMatCopyCSR(A, &ptr, &col, &val))) return;
  PoiseSplit(ctx, 2, &begin, &m);
  if (m && begin == 0)
    CHECK(ptr[1] == 3 && col[0] == 5 && col[1] == 2147483648 && col[2] == 2999999999 && val[0] == 1 &&
          val[2] == 0);
  if (m && begin == 1) CHECK(ptr[1] == 1 && col[0] == 0 && val[0] == 3);
  free(ptr), free(col), free(val);
  CHECK_OK(PoiseMatDestroy(&A));
}

/* ---- several objects ------------------------------------------------------------------------- */

static void TestSeveral(PoiseContext ctx)
{
  static const char *const orders[] = {"Av", "vA", "IIAv", "AAv", "AvvIA", "vIA"};
  static const Shape shape = {30, 20}, other = {7, 3};
  char path[PATH];
  PoiseMat A;
  PoiseVec x;
  Bytes b = NewBytes();
  SharedName(ctx, path, "several.petsc");
  for (int o = 0; o < LENGTH(orders); o++)
    for (int w = 0; w < 2; w++) {
      int matrices = 0, vectors = 0;
      b.n = 0;
      for (const char *c = orders[o]; *c; c++) {
        if (*c == 'A') PutMatrix(&b, widths[w], matrices++ ? other : shape, 0);
        if (*c == 'v') PutVector(&b, widths[w], vectors++ ? 2 : 11);
        if (*c == 'I') {
          PutBits(&b, widths[w], 1211218);
          PutBits(&b, widths[w], 3);
          for (int i = 0; i < 3; i++) PutBits(&b, widths[w], (uint64_t)i);
        }
      }
      WriteFile(ctx, path, b.p, b.n);
      if (CHECK_OK(PoiseMatLoad(ctx, path, &A))) CheckSavedMatrix(A, shape.M, shape.N, Value);
      CHECK_OK(PoiseMatDestroy(&A));
      if (CHECK_OK(PoiseVecLoad(ctx, POISE_DECIDE, 11, path, &x)))
        CheckSavedVector(x, POISE_DECIDE, 11, EntryOf);
      CHECK_OK(PoiseVecDestroy(&x));
      RemoveFile(ctx, path);
    }
  b.n = 0;
  PutMatrix(&b, 4, other, 0);
  CHECK_ERR_OF(LoadVector(ctx, &b, &x), PoiseRank(ctx) == 0, POISE_ERR_FORMAT,
               "holds no vector; the last that it holds is a matrix of 7 x 3");
  b.n = 0;
  PutVector(&b, 8, 9);
  CHECK_ERR_OF(LoadMatrix(ctx, &b, &A), PoiseRank(ctx) == 0, POISE_ERR_FORMAT,
               "holds no matrix; the last that it holds is a vector of 9 entries");
  CHECK(!A && !x);
  free(b.p);
}

/* A file with a matrix of more than 2^31 entries, which says so by its rows' lengths only, and a vector of
   one entry. */
typedef struct Virtual {
  int64_t nz;
  unsigned char begin[16 + 3 * 4], end[16];
} Virtual;

static PoiseErr ReadVirtual(const ByteSource *s, int64_t at, void *p, size_t bytes, size_t *got)
{
  const Virtual *v = (const void *)s->memory;
  int64_t vector = 28 + 12 * v->nz;
  unsigned char *out = p;
  for (*got = 0; *got < bytes && at < s->size; ++*got, at++)
    out[*got] = at < 28 ? v->begin[at] : at >= vector ? v->end[at - vector] : 0;
  return POISE_OK;
}

static void TestOpen(PoiseContext ctx)
{
  static const uint32_t lengths[] = {2000000000, 5, 2100000000};
  Virtual v = {.nz = 4100000005};
  PoiseVec x;
  Bytes b = {v.begin, 0};
  PutHeader(&b, 4, 3, 2147483647, 2147483647);
  for (int i = 0; i < 3; i++) PutBits(&b, 4, lengths[i]);
  b = (Bytes){v.end, 0};
  PutVector(&b, 4, 1);
  ByteSource s = {
      .read = ReadVirtual, .name = "virtual", .size = 28 + 12 * v.nz + 16, .memory = (const void *)&v};
  if (CHECK_OK(poisePetscLoadVec(ctx, POISE_OK, &s, POISE_DECIDE, POISE_DECIDE, &x)))
    CheckSavedVector(x, POISE_DECIDE, 1, EntryOf);
  CHECK_OK(PoiseVecDestroy(&x));
  s.size = 28 + 12 * v.nz - 1;
  CHECK_ERR_OF(poisePetscLoadVec(ctx, POISE_OK, &s, POISE_DECIDE, POISE_DECIDE, &x), PoiseRank(ctx) == 0,
               POISE_ERR_FORMAT, "with 4100000005 entries, with 32-bit integers, ends at byte 49200000088");
  CHECK(!x);
}

/* ---- what cannot be read --------------------------------------------------------------------- */

/* Some rank finds what these words say; others may find what is wrong with their part, or hear of it. */
static void CheckRefused(PoiseContext ctx, PoiseErr e, const char *words)
{
  double found = e == POISE_ERR_FORMAT && strstr(PoiseErrorMessage(), words);
  char shown[256];
  snprintf(shown, sizeof shown, "%s", PoiseErrorMessage());
  CHECK(e == POISE_ERR_REMOTE || e == POISE_ERR_FORMAT);
  CHECK_OK(PoiseSum(ctx, 1, &found));
  if (!CHECK(found >= 1)) printf("'%s' instead of '%s'\n", shown, words);
  PoiseErrorClear();
}

static void TestTruncated(PoiseContext ctx)
{
  static const Shape shape = {5, 4};
  Bytes b = NewBytes();
  PoiseMat A;
  PoiseVec x;
  for (int w = 0; w < 2; w++) {
    b.n = 0;
    PutMatrix(&b, widths[w], shape, 0);
    size_t all = b.n;
    for (b.n = 0; b.n < all; b.n++) CheckRefused(ctx, LoadMatrix(ctx, &b, &A), "memory");
    b.n = all;
    PutVector(&b, widths[w], 3);
    all = b.n;
    for (b.n = 0; b.n < all; b.n++) CheckRefused(ctx, LoadVector(ctx, &b, &x), "memory");
    b.n = 0;
    PutDense(&b, widths[w], (Shape){2, 2});
    all = b.n;
    for (b.n = 0; b.n < all; b.n++) CheckRefused(ctx, LoadMatrix(ctx, &b, &A), "memory");
  }
  free(b.p);
}

typedef struct Bad {
  int at; /* the integer that is replaced */
  int64_t v;
  const char *words; /* with 32-bit integers */
} Bad;

/* 3 x 4: lengths 2 0 3 (bytes 16 to 28), columns 1 3 | 0 2 3 (to 48), values (to 88). */
static const Bad bad[] = {
    {0, 1211215,
     "memory, byte 0: '00 12 7b 4f 00 00 00 03' begins no vector (class 1211214), matrix (1211216)"},
    {0, 0, "begins no vector"},
    {0, -1, "begins no vector"},
    {1, -1, "byte 4: the matrix has -1 rows"},
    {1, 2, "byte 16: the lengths of the rows add up to 2, but 5 entries are announced at byte 12"},
    {1, 100,
     "byte 0: a matrix of 100 x 4 with 5 entries, with 32-bit integers, ends at byte 476, the file ends at "
     "byte 88"},
    {1, 2147483647, "byte 0: a matrix of 2147483647 x 4"},
    {2, -5, "byte 8: the matrix has -5 columns"},
    {2, 1, "byte 16: row 0 has 2 entries, legal are 0 to 1"},
    {2, 3, "byte 32: row 0 has column 3, legal are 0 to 2"},
    {3, -2, "byte 12: the matrix has -2 nonzeros"},
    {3, 4, "4 entries "},
    {3, 1, "byte 16: up to row 0 there are more than the 1 entries announced at byte 12"},
    {3, 6, "ends at byte 100, the file ends at byte 88"},
    {3, 2147483647, "with 2147483647 entries"},
    {4, -1, "byte 16: row 0 has -1 entries, legal are 0 to 4"},
    {4, 5, "byte 16: row 0 has 5 entries, legal are 0 to 4"},
    {5, 1, "5 entries "},
    {6, 2147483647, "byte 24: row 2 has 2147483647 entries, legal are 0 to 4"},
    {7, 4, "byte 28: row 0 has column 4, legal are 0 to 3"},
    {8, -1, "byte 32: row 0 has column -1, legal are 0 to 3"},
    {8, -2147483647 - 1, "byte 32: row 0 has column -2147483648"},
    {11, 2, "memory: row 2, whose columns begin at byte 36, has column 2 twice"},
    {9, 3, "memory: row 2, whose columns begin at byte 36, has column 3 twice"},
};

static void PutSmall(Bytes *b, int width)
{
  static const int v[] = {2, 0, 3, 1, 3, 0, 2, 3};
  b->n = 0;
  PutHeader(b, width, 3, 4, 5);
  for (int i = 0; i < LENGTH(v); i++) PutBits(b, width, (uint64_t)v[i]);
  for (int i = 0; i < 5; i++) PutReal(b, i);
}

static void TestBad(PoiseContext ctx)
{
  Bytes b = NewBytes();
  PoiseMat A;
  PoiseVec x;
  for (int k = 0; k < LENGTH(bad); k++)
    for (int w = 0; w < 2; w++) {
      PutSmall(&b, widths[w]);
      size_t end = b.n;
      b.n = (size_t)(bad[k].at * widths[w]);
      PutBits(&b, widths[w], (uint64_t)bad[k].v);
      b.n = end;
      CheckRefused(ctx, LoadMatrix(ctx, &b, &A), w ? "memory" : bad[k].words);
      CHECK(!A);
    }
  PutSmall(&b, 8);
  memcpy(b.p + 9 * 8, "\x7f\xff\xff\xff\xff\xff\xff\xff", 8); /* beyond 32 bits, as it stands there */
  CheckRefused(ctx, LoadMatrix(ctx, &b, &A),
               "byte 72: row 2 has column 9223372036854775807, legal are 0 to 3");
  for (int place = 1; place < 4; place++) { /* sizes whose bytes cannot be counted */
    PutSmall(&b, 8);
    memcpy(b.p + 8 * place, "\x7f\xff\xff\xff\xff\xff\xff\xff", 8);
    CheckRefused(ctx, LoadMatrix(ctx, &b, &A), "the matrix has 9223372036854775807");
  }
  b.n = 0;
  PutBits(&b, 4, 1211214), PutBits(&b, 4, (uint64_t)-7);
  CheckRefused(ctx, LoadVector(ctx, &b, &x), "byte 4: the vector has -7 entries");
  b.n = 0;
  PutVector(&b, 4, 2), PutBits(&b, 4, 77);
  CHECK_OK(LoadVector(ctx, &b, &x)); /* what stands behind the first is not looked at */
  CHECK_OK(PoiseVecDestroy(&x));
  CheckRefused(ctx, LoadMatrix(ctx, &b, &A), "byte 24: '00 00 00 4d' begins no vector");
  free(b.p);
}

/* Every byte of a small file, all its bits turned: an answer or an error, and the same on all ranks. */
static void TestFlipped(PoiseContext ctx)
{
  Bytes b = NewBytes();
  for (int w = 0; w < 2; w++) {
    PutSmall(&b, widths[w]);
    for (size_t i = 0; i < b.n; i++) {
      PoiseMat A;
      b.p[i] ^= 0xff;
      PoiseErr e = LoadMatrix(ctx, &b, &A);
      double failed[] = {e != POISE_OK};
      CHECK_OK(PoiseSum(ctx, 1, failed));
      CHECK(failed[0] == 0 || failed[0] == PoiseSize(ctx));
      CHECK(failed[0] == 0 || i < b.n - 40); /* any value is legal */
      CHECK_OK(PoiseMatDestroy(&A));
      b.p[i] ^= 0xff;
    }
  }
  PoiseErrorClear();
  free(b.p);
}

/* Numbers of other kinds are known by the length. */
static void TestOtherNumbers(PoiseContext ctx)
{
  static const char *const words[] = {
      "a matrix of 3 x 4 with 5 entries consists of single precision numbers by its length",
      "a matrix of 3 x 4 with 5 entries consists of complex numbers by its length"};
  int reads = PoiseRank(ctx) == 0;
  Bytes b = NewBytes();
  PoiseMat A;
  PoiseVec x;
  for (int complex = 0; complex < 2; complex++)
    for (int more = 0; more < 2; more++) {
      PutSmall(&b, 4);
      b.n = complex ? b.n + 40 : b.n - 20;
      if (more) PutVector(&b, 4, 3);
      if (complex || more)
        CHECK_ERR_OF(LoadMatrix(ctx, &b, &A), reads, POISE_ERR_UNSUPPORTED, words[complex]);
      else
        CHECK_ERR_OF(LoadMatrix(ctx, &b, &A), reads, POISE_ERR_FORMAT,
                     "ends at byte 88, the file ends at byte 68");
    }
  b.n = 0;
  PutVector(&b, 4, 3);
  b.n += 24;
  CHECK_ERR_OF(LoadVector(ctx, &b, &x), reads, POISE_ERR_UNSUPPORTED,
               "a vector of 3 entries consists of complex numbers");
  static const unsigned char little[] = {0x50, 0x7b, 0x12, 0, 3, 0, 0, 0},
                             wide[] = {0x4e, 0x7b, 0x12, 0, 0, 0, 0, 0};
  CHECK_ERR_OF(LoadMatrix(ctx, &(Bytes){(void *)little, 8}, &A), reads, POISE_ERR_UNSUPPORTED,
               "little-endian");
  CHECK_ERR_OF(LoadMatrix(ctx, &(Bytes){(void *)wide, 8}, &A), reads, POISE_ERR_UNSUPPORTED, "little-endian");
  free(b.p);
}

/* ---- files that cannot be read --------------------------------------------------------------- */

static void TestUnknown(PoiseContext ctx)
{
  static const char hdf5[] = "\x89HDF\r\n\x1a\n", text[] = "3,4,5.0\n";
  int reads = PoiseRank(ctx) == 0;
  char path[PATH];
  PoiseMat A;
  PoiseVec x;
  SharedName(ctx, path, "unknown");
  WriteFile(ctx, path, hdf5, sizeof hdf5 - 1);
  CHECK_ERR_OF(PoiseMatLoad(ctx, path, &A), reads, POISE_ERR_FORMAT,
               "it begins with '?HDF\?\?\?\?' (89 48 44 46 0d 0a 1a 0a)");
  WriteFile(ctx, path, text, sizeof text - 1);
  CHECK_ERR_OF(PoiseVecLoad(ctx, POISE_DECIDE, POISE_DECIDE, path, &x), reads, POISE_ERR_FORMAT,
               "unknown is not a Matrix Market file: line 1 does not begin with %%MatrixMarket; nor a PETSc "
               "binary file");
  CHECK(!A && !x);
  RemoveFile(ctx, path);
}

/* The last rank cannot read what the others can. */
static PoiseErr ReadFails(const ByteSource *s, int64_t at, void *p, size_t bytes, size_t *got)
{
  (void)at, (void)p, (void)bytes;
  *got = 0;
  return PoiseErrorSet(POISE_ERR_FILE, __func__, __FILE__, __LINE__, "rank %d cannot read '%s': test",
                       s->rank, s->name);
}

static void TestOneRank(PoiseContext ctx)
{
  static const Shape shape = {40, 30};
  int last = PoiseSize(ctx) - 1, fails = PoiseRank(ctx) == last;
  char words[128], path[PATH];
  Bytes b = NewBytes();
  ByteSource s;
  PoiseMat A;
  PoiseVec x;
  PutMatrix(&b, 4, shape, 0);
  PutVector(&b, 4, 30);
  TempName(path, "missing");
  PoiseErr e = POISE_OK;
  poiseSourceMemory(b.p, b.n, "memory", &s);
  if (fails) e = poiseSourceOpen(ctx, path, &s);
  snprintf(words, sizeof words, last ? "rank %d cannot open '" : "cannot open '", last);
  CHECK_ERR_OF(poisePetscLoadMat(ctx, e, &s, &A), fails, POISE_ERR_FILE, words);
  if (fails) e = poiseSourceOpen(ctx, path, &s);
  CHECK_ERR_OF(poisePetscLoadVec(ctx, e, &s, POISE_DECIDE, POISE_DECIDE, &x), fails, POISE_ERR_FILE,
               "No such file");
  poiseSourceMemory(b.p, b.n, "memory", &s);
  s.rank = PoiseRank(ctx);
  if (fails) s.read = ReadFails;
  snprintf(words, sizeof words, "rank %d cannot read 'memory': test", last);
  CHECK_ERR_OF(poisePetscLoadMat(ctx, POISE_OK, &s, &A), fails, POISE_ERR_FILE, words);
  CHECK_ERR_OF(poisePetscLoadVec(ctx, POISE_OK, &s, POISE_DECIDE, POISE_DECIDE, &x), fails, POISE_ERR_FILE,
               words);
  poiseSourceMemory(b.p, b.n - (size_t)fails, "memory", &s);
  snprintf(words, sizeof words, "rank %d sees a file 'memory' of %zu bytes, rank 0 one of %zu", last, b.n - 1,
           b.n);
  if (last) CHECK_ERR_OF(poisePetscLoadMat(ctx, POISE_OK, &s, &A), fails, POISE_ERR_FILE, words);
  CHECK(!A && !x);
  free(b.p);
}

static void TestGzip(PoiseContext ctx)
{
  static const Shape shape = {200, 30};
  int reads = PoiseRank(ctx) == 0;
  char path[PATH];
  Bytes b = NewBytes(), packed = NewBytes();
  PoiseMat A;
  SharedName(ctx, path, "packed"); /* gzip is known by its content */
  PutMatrix(&b, 4, shape, 1);
  if (reads) {
    gzFile gz = gzopen(path, "wb");
    CHECK(gzwrite(gz, b.p, (unsigned)b.n) == (int)b.n);
    gzclose_w(gz);
    FILE *f = fopen(path, "rb");
    packed.n = fread(packed.p, 1, ROOM, f);
    fclose(f);
    ByteSource s = {0};
    char byte;
    size_t got = 1;
    CHECK_OK(poiseSourceOpen(ctx, path, &s));
    CHECK_ERR(poiseSourceTry(&s, -1, &byte, 1, &got), POISE_ERR_FILE, "cannot go to byte -1");
    CHECK(got == 0);
    poiseSourceClose(&s);
  }
  CHECK_OK(PoiseBarrier(ctx));
  if (CHECK_OK(PoiseMatLoad(ctx, path, &A))) CheckSavedMatrix(A, shape.M, shape.N, Value);
  CHECK_OK(PoiseMatDestroy(&A));
  packed.n /= 2;
  WriteFile(ctx, path, packed.p, packed.n);
  CheckRefused(ctx, PoiseMatLoad(ctx, path, &A), "packed: the compressed file is truncated");
  if (reads) { /* a claim that so few bytes cannot hold */
    b.n = 0;
    PutHeader(&b, 8, INT64_C(1) << 35, 3, INT64_C(1) << 40);
    gzFile gz = gzopen(path, "wb");
    CHECK(gzwrite(gz, b.p, (unsigned)b.n) == (int)b.n);
    gzclose_w(gz);
  }
  CHECK_OK(PoiseBarrier(ctx));
  CheckRefused(ctx, PoiseMatLoad(ctx, path, &A), "the file before or at byte");
  if (reads) { /* one that they could, but do not */
    b.n = 0;
    PutHeader(&b, 8, 10, 3, 20);
    gzFile gz = gzopen(path, "wb");
    CHECK(gzwrite(gz, b.p, (unsigned)b.n) == (int)b.n);
    gzclose_w(gz);
  }
  CHECK_OK(PoiseBarrier(ctx));
  CheckRefused(ctx, PoiseMatLoad(ctx, path, &A), "inside the lengths of rows, which need bytes 32 to ");
  CHECK(!A);
  RemoveFile(ctx, path);
  free(b.p), free(packed.p);
}

/* The block size that PETSc wrote beside a file, where it can be the matrix's; rows are split between
   blocks. */
static void TestInfo(PoiseContext ctx)
{
  static const Shape shapes_[] = {{70, 70}, {30, 20}};
  static const struct {
    const char *text;
    int b[2]; /* for each shape */
  } infos[] = {
      {"-matload_block_size 10\n", {10, 10}},
      {"# by hand\n-vecload_block_size 7\n-matload_block_size 2\n-other yes\n  -matload_block_size 5",
       {5, 5}},
      {"-matload_block_size 7\n", {7, 1}},
      {"-matload_block_size 35\n", {1, 1}}, /* more than there may be */
      {"-matload_block_size 3\n", {1, 1}},
      {"-matload_block_size 0\n", {1, 1}},
      {"-matload_block_size -2\n", {1, 1}},
      {"-matload_block_size 2x\n", {1, 1}},
      {"-matload_block_size 99999999999999999999\n", {1, 1}},
      {"-matload_block_size", {1, 1}},
      {"-x_matload_block_size 2\n", {1, 1}},
      {"", {1, 1}}};
  static const char *const names[] = {"blocks.petsc", "blocks.petsc.gz"};
  char path[PATH], info[PATH];
  Bytes b = NewBytes(), text = NewBytes();
  PoiseMat A;
  SharedName(ctx, info, "blocks.petsc.info");
  for (int i = 0; i < LENGTH(infos); i++)
    for (int s = 0; s < 2; s++) {
      PoiseInt m, n;
      b.n = 0;
      PutMatrix(&b, 4, shapes_[s], 0);
      text.n = (size_t)sprintf((char *)text.p, "%s", infos[i].text);
      SharedName(ctx, path, names[i % 2]); /* known by its content: need not be compressed */
      WriteFile(ctx, path, b.p, b.n);
      WriteFile(ctx, info, text.p, text.n);
      if (CHECK_OK(PoiseMatLoad(ctx, path, &A))) {
        CHECK_INT(PoiseMatBlockSize(A), infos[i].b[s]);
        PoiseMatLocalSizes(A, &m, &n);
        CHECK(m % infos[i].b[s] == 0 && n % infos[i].b[s] == 0);
        CheckSavedMatrix(A, shapes_[s].M, shapes_[s].N, Value);
        CHECK_OK(PoiseOptionsSet(ctx, "mat_block_size", "1"));
        CHECK_OK(PoiseMatSetFromOptions(A));
        CHECK_INT(PoiseMatBlockSize(A), 1);
        CHECK_OK(PoiseMatDestroy(&A));
      }
      RemoveFile(ctx, path);
      RemoveFile(ctx, info);
    }
  free(b.p), free(text.p);
}

static void TestCannotWrite(PoiseContext ctx)
{
  static const Shape shape = {40, 3};
  int writes = PoiseRank(ctx) == 0;
  char path[PATH];
  Bytes b = NewBytes();
  PoiseMat A;
  PoiseVec x;
  PutMatrix(&b, 4, shape, 0);
  SharedName(ctx, path, "no/such/directory.petsc");
  if (CHECK_OK(LoadMatrix(ctx, &b, &A)))
    CHECK_ERR_OF(PoiseMatSave(A, path), writes, POISE_ERR_FILE, "no/such/directory");
  SharedName(ctx, path, "open.petsc");
  CHECK_OK(PoiseMatAddEntries(A, 1, &(PoiseInt){3}, &(PoiseInt){2}, &(double){1}));
  CHECK_ERR(PoiseMatSave(A, path), POISE_ERR_STATE, "entries added since");
  CHECK_OK(PoiseMatDestroy(&A));
  CHECK_OK(PoiseOptionsSet(ctx, "petsc_index_bits", "32"));
  b.n = 0;
  PutHeader(&b, 8, 0, 3000000000, 0);
  if (PoiseSize(ctx) > 1 && CHECK_OK(LoadMatrix(ctx, &b, &A))) {
    CHECK_ERR(PoiseMatSave(A, path), POISE_ERR_OPTION,
              "-petsc_index_bits 32: sizes of 0 x 3000000000 need 64");
    CHECK_OK(PoiseMatDestroy(&A));
  }
  if (CHECK_OK(PoiseVecCreate(ctx, 2, POISE_DECIDE, &x))) {
    SharedName(ctx, path, "no/such/directory.bin");
    CHECK_ERR_OF(PoiseVecSave(x, path), writes, POISE_ERR_FILE, "no/such/directory");
    CHECK_OK(PoiseVecDestroy(&x));
  }
  free(b.p);
}

/* ---- memory fails ---------------------------------------------------------------------------- */

typedef struct Names {
  char A[PATH], x[PATH];
} Names;

static PoiseErr CopyFiles(PoiseContext ctx, void *arg)
{
  const Names *names = arg;
  return LoadAndSave(ctx, names->A, names->x);
}

static PoiseErr Load(PoiseContext ctx, void *arg)
{
  PoiseMat A;
  POISE_TRY(LoadMatrix(ctx, arg, &A));
  return PoiseMatDestroy(&A);
}

static void TestMemory(PoiseContext ctx)
{
  static const Shape shape = {30, 20};
  Bytes b = NewBytes();
  for (int kind = 0; kind < 3; kind++) { /* columns to be sorted, dense, in order */
    b.n = 0;
    if (kind == 1)
      PutDense(&b, 4, shape);
    else
      PutMatrix(&b, 8, shape, kind == 0);
    TestAllocationFailures(ctx, Load, &b);
  }
  Names names;
  SharedName(ctx, names.A, "memory.petsc.gz");
  SharedName(ctx, names.x, "memory_b.bin");
  b.n = 0;
  PutMatrix(&b, 4, shape, 0);
  WriteFile(ctx, names.A, b.p, b.n);
  b.n = 0;
  PutVector(&b, 4, 20);
  WriteFile(ctx, names.x, b.p, b.n);
  TestAllocationFailures(ctx, CopyFiles, &names);
  RemoveFile(ctx, names.A);
  RemoveFile(ctx, names.x);
  free(b.p);
}

static const Test tests[] = {
    {"load_diagonal", TestLoadDiagonal, 0},
    {"read_matrix", TestReadMatrix, 0},
    {"write_matrix", TestWriteMatrix, 0},
    {"vector", TestVector, 0},
    {"large", TestLarge, 0},
    {"product", TestProduct, 0},
    {"dense", TestDense, 0},
    {"wide_columns", TestWideColumns, 0},
    {"several", TestSeveral, 0},
    {"open", TestOpen, 0},
    {"truncated", TestTruncated, 0},
    {"bad", TestBad, 0},
    {"flipped", TestFlipped, 0},
    {"other_numbers", TestOtherNumbers, 0},
    {"unknown", TestUnknown, 0},
    {"one_rank", TestOneRank, 0},
    {"gzip", TestGzip, 0},
    {"info", TestInfo, 0},
    {"cannot_write", TestCannotWrite, 0},
    {"memory", TestMemory, 0},
    {NULL, NULL, 0},
};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "petscbin", tests);
}
