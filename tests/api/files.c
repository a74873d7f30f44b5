/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrix Market and PETSc binary files, plain and by gzip: written and read back, files as others write
   them, and bad files. */
#include "api.h"

#include <stdio.h>
#include <zlib.h>

static void Remove(PoiseContext ctx, const char *path)
{
  CHECK_OK(PoiseBarrier(ctx));
  if (!PoiseRank(ctx)) CHECK(remove(path) == 0);
  CHECK_OK(PoiseBarrier(ctx));
}

/* The number that the next file gets: files that stay open raise it. */
static int NextDescriptor(PoiseContext ctx)
{
  CHECK_OK(PoiseBarrier(ctx));
  FILE *f = PoiseRank(ctx) ? NULL : fopen("/dev/null", "r");
  int n = f ? fileno(f) : -1;
  if (f) fclose(f);
  CHECK_OK(PoiseBarrier(ctx));
  return n;
}

static void TestRoundTrips(PoiseContext ctx)
{
  static const char *const names[] = {"a.mtx", "a.mtx.gz", "a.petsc", "a.bin.gz"};
  static const int shapes[] = {0, 1, 2, 3, 4, 5, 6, 10, 12};
  for (int s = 0; s < 9; s++)
    for (int k = 0; k < 4; k++) {
      int b;
      char path[256];
      Dense D = Shape(shapes[s], &b);
      ApiCase("shape %d, %s", shapes[s], names[k]);
      for (int i = 0; i < D.m * D.n; i++) D.a[i] *= i % 3 ? 1e-300 : 1 / 3.0; /* 17 digits, or all bits */
      PoiseMat A = MatOf(ctx, &D, 1, s % LAYOUTS), B = NULL;
      ApiPath(ctx, names[k], path);
      CHECK_OK(PoiseOptionsSet(ctx, "petsc_index_bits", s % 3 == 0 ? "auto" : s % 3 == 1 ? "32" : "64"));
      CHECK_OK(PoiseMatSave(A, path));
      CHECK_OK(PoiseMatLoad(ctx, path, &B));
      MatIs(B, &D, 0);
      CHECK_OK(PoiseMatDestroy(&A));
      CHECK_OK(PoiseMatDestroy(&B));
      double v[200];
      for (int i = 0; i < D.m; i++) v[i] = 1e100 * Random(220, (uint64_t)i) / 3;
      PoiseVec x = VecOf(ctx, Share(ctx, D.m, 1, s % LAYOUTS), D.m, v), y = NULL;
      CHECK_OK(PoiseVecSave(x, path));
      CHECK_OK(PoiseVecLoad(ctx, POISE_DECIDE, POISE_DECIDE, path, &y));
      CHECK_INT(PoiseVecSize(y), D.m);
      VecIs(y, v, 0);
      CHECK_OK(PoiseVecDestroy(&y));
      CHECK_OK(PoiseVecLoad(ctx, PoiseVecLocalSize(x), D.m, path, &y));
      VecIs(y, v, 0);
      CHECK_OK(PoiseVecDestroy(&y));
      CHECK_ERR(PoiseVecLoad(ctx, POISE_DECIDE, D.m + 1, path, &y), POISE_ERR_SIZE, "");
      CHECK(y == NULL);
      CHECK_OK(PoiseVecDestroy(&x));
      Remove(ctx, path);
      DenseFree(&D);
    }
}

/* Of one file the text and the entries that it means; the matrix is 3 x 3, row by row, NAN: not stored. */
typedef struct Text {
  const char *name, *text;
  double a[9];
} Text;

static const Text texts[] = {
    {"general",
     "%%MatrixMarket matrix coordinate real general\n% a remark\n3 3 3\n1 1 1.5\n3 2 -2e0\n2 3 .25\n",
     {1.5, NAN, NAN, NAN, NAN, .25, NAN, -2, NAN}},
    {"case",
     "%%matrixmarket MATRIX Coordinate Real GENERAL\r\n3 3 2\r\n 1  1\t+1E+1 \r\n\r\n3 3 1e-1\r\n",
     {10, NAN, NAN, NAN, NAN, NAN, NAN, NAN, .1}},
    {"symmetric",
     "%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n1 1 1\n2 1 2\n3 2 3\n",
     {1, 2, NAN, 2, NAN, 3, NAN, 3, NAN}},
    {"skew",
     "%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 2\n2 1 2\n3 1 -3\n",
     {NAN, -2, 3, 2, NAN, NAN, -3, NAN, NAN}},
    {"integer",
     "%%MatrixMarket matrix coordinate integer general\n3 3 2\n1 3 7\n3 1 -7\n",
     {NAN, NAN, 7, NAN, NAN, NAN, -7, NAN, NAN}},
    {"pattern",
     "%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 3\n2 2\n",
     {NAN, NAN, 1, NAN, 1, NAN, NAN, NAN, NAN}},
    {"zero",
     "%%MatrixMarket matrix coordinate real general\n3 3 1\n2 2 0\n",
     {NAN, NAN, NAN, NAN, 0, NAN, NAN, NAN, NAN}},
    {"array",
     "%%MatrixMarket matrix array real general\n3 3\n1\n2\n0\n4\n5\n6\n0\n8\n9",
     {1, 4, NAN, 2, 5, 8, NAN, 6, 9}},
    {"lower",
     "%%MatrixMarket matrix array real symmetric\n3 3\n1\n2\n3\n4\n5\n6\n",
     {1, 2, 3, 2, 4, 5, 3, 5, 6}},
    {"digits",
     "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 0.1000000000000000055511151231257827\n2 2 "
     "1.7976931348623157e308\n3 3 4.9406564584124654e-324\n",
     {0.1, NAN, NAN, NAN, 1.7976931348623157e308, NAN, NAN, NAN, 4.9406564584124654e-324}},
};

static void WriteGz(PoiseContext ctx, const char *path, const char *text)
{
  if (!PoiseRank(ctx)) {
    gzFile f = gzopen(path, "wb");
    if (CHECK(f != NULL)) {
      CHECK(gzwrite(f, text, (unsigned)strlen(text)) == (int)strlen(text));
      gzclose(f);
    }
  }
  CHECK_OK(PoiseBarrier(ctx));
}

static void TestMatrixMarket(PoiseContext ctx)
{
  char path[256];
  int next = NextDescriptor(ctx);
  int some = strcmp(ApiDevice(ctx), "host") ? 2 : 0; /* of memory that devices of processes share */
  for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
    for (int gz = 0; gz < 2; gz++) {
      PoiseMat A = NULL;
      Dense D = DenseNew(3, 3);
      ApiCase("%s, gz %d", texts[k].name, gz);
      for (int i = 0; i < 9; i++)
        if (!isnan(texts[k].a[i])) DenseSet(&D, i / 3, i % 3, texts[k].a[i]);
      ApiPath(ctx, "text", path);
      if (gz)
        WriteGz(ctx, path, texts[k].text);
      else
        ApiWrite(ctx, path, texts[k].text, strlen(texts[k].text));
      CHECK_OK(PoiseMatLoad(ctx, path, &A));
      if (A) MatIs(A, &D, 0);
      CHECK_OK(PoiseMatDestroy(&A));
      Remove(ctx, path);
      DenseFree(&D);
    }
  CHECK(NextDescriptor(ctx) <= next + some);
  static const char vector[] = "%%MatrixMarket matrix coordinate real general\n4 1 2\n4 1 2.5\n2 1 -1\n";
  PoiseVec x = NULL;
  ApiWrite(ctx, path, vector, sizeof vector - 1);
  CHECK_OK(PoiseVecLoad(ctx, POISE_DECIDE, POISE_DECIDE, path, &x));
  VecIs(x, (double[]){0, -1, 0, 2.5}, 0);
  CHECK_OK(PoiseVecDestroy(&x));
  Remove(ctx, path);
}

typedef struct Bad {
  const char *text, *words; /* which name the line or the thing */
} Bad;

#define HEAD "%%MatrixMarket matrix coordinate real general\n"
static const Bad bad[] = {
    {"", ""},
    {"hello\n", ""},
    {"%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n", "complex"},
    {"%%MatrixMarket matrix coordinate real hermitian\n1 1 1\n1 1 1\n", "hermitian"},
    {HEAD, ""},
    {HEAD "3 3\n", "line 2"},
    {HEAD "3 3 2\n1 1 1\n", "1"},
    {HEAD "3 3 1\n1 1 1\n2 2 2\n", "line 4"},
    {HEAD "3 3 1\n4 1 1\n", "line 3"},
    {HEAD "3 3 1\n0 1 1\n", "line 3"},
    {HEAD "3 3 1\n1 4 1\n", "line 3"},
    {HEAD "3 3 1\n1 1 abc\n", "line 3"},
    {HEAD "3 3 1\n1 1\n", "line 3"},
    {HEAD "3 3 1\n1 1 1 1\n", "line 3"},
    {HEAD "3 3 2\n1 1 1\n1 1 2\n", "line 4"},
    {HEAD "-3 3 0\n", "line 2"},
    {HEAD "3 3 1.5\n", "line 2"},
    {"%%MatrixMarket matrix coordinate real symmetric\n3 2 1\n1 1 1\n", ""},
    {"%%MatrixMarket matrix coordinate real symmetric\n3 3 1\n1 2 1\n", "line 3"},
    {"%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 1\n1 1 1\n", "line 3"},
    {"%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n", ""},
    {"%%MatrixMarket matrix array real general\n1 2\n1\n2\n3\n", ""},
    {"\x1f\x8b\x08 not gzip", ""},
    {"\0\x12{P\0\0\0\x03", ""},
};

static void TestBad(PoiseContext ctx)
{
  char path[256];
  int next = NextDescriptor(ctx);
  ApiPath(ctx, "bad", path);
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    PoiseMat A = NULL;
    ApiCase("bad %d: %.60s", (int)k, bad[k].text);
    ApiWrite(ctx, path, bad[k].text, k + 1 == sizeof bad / sizeof *bad ? 8 : strlen(bad[k].text));
    PoiseErr e = PoiseMatLoad(ctx, path, &A);
    CHECK(strstr(PoiseErrorMessage(), "bad"));     /* the file's name */
    if (e == POISE_ERR_FILE) e = POISE_ERR_FORMAT; /* of a broken gzip */
    CHECK_ERR(e, k == 2 || k == 3 ? POISE_ERR_UNSUPPORTED : POISE_ERR_FORMAT, bad[k].words);
    CHECK(A == NULL);
    Remove(ctx, path);
  }
  CHECK_INT(NextDescriptor(ctx), next);
  PoiseMat A = NULL;
  PoiseVec x = NULL;
  CHECK_ERR(PoiseMatLoad(ctx, "no/such/file.mtx", &A), POISE_ERR_FILE, "no/such/file.mtx");
  CHECK_ERR(PoiseVecLoad(ctx, POISE_DECIDE, POISE_DECIDE, "no/such/file.bin", &x), POISE_ERR_FILE,
            "no/such/file.bin");
  Dense D = System(SPD, 8);
  D.a[0] = INFINITY;
  A = MatOf(ctx, &D, 1, 0);
  CHECK_ERR(PoiseMatSave(A, "no/such/folder.mtx"), POISE_ERR_FILE, "no/such/folder.mtx");
  CHECK_ERR(PoiseMatSave(A, ApiPath(ctx, "inf.mtx", path)), POISE_ERR_NUMERIC, "");
  FILE *f = fopen(path, "r");
  CHECK(f == NULL); /* whole or not at all */
  if (f) fclose(f);
  CHECK_OK(PoiseMatDestroy(&A));
  DenseFree(&D);
}

/* ---- PETSc ----------------------------------------------------------------------------------- */

static size_t Put(unsigned char *to, size_t at, int bytes, long long v)
{
  for (int k = 0; k < bytes; k++)
    to[at + (size_t)k] = (unsigned char)((unsigned long long)v >> 8 * (bytes - 1 - k));
  return at + (size_t)bytes;
}

static size_t PutReal(unsigned char *to, size_t at, double v)
{
  long long bits;
  memcpy(&bits, &v, sizeof bits);
  return Put(to, at, 8, bits);
}

/* Big-endian: class, rows, columns, nonzeros, lengths of rows, columns, values; then a vector. */
static void TestPetsc(PoiseContext ctx)
{
  char path[256];
  ApiPath(ctx, "by_hand.bin", path);
  for (int w = 4; w <= 8; w += 4)
    for (int dense = 0; dense < 2; dense++) {
      unsigned char bytes[600];
      size_t n = 0;
      Dense D = DenseNew(3, 4);
      ApiCase("integers of %d bytes, dense %d", w, dense);
      DenseSet(&D, 0, 1, 1.25), DenseSet(&D, 0, 3, -2), DenseSet(&D, 2, 0, 3e-200);
      const long long head[] = {1211216, 3, 4, dense ? -1 : 3}, rest[] = {2, 0, 1, 1, 3, 0};
      for (int k = 0; k < 4; k++) n = Put(bytes, n, w, head[k]);
      for (int k = 0; k < 6 && !dense; k++) n = Put(bytes, n, w, rest[k]);
      if (dense)
        for (int k = 0; k < 12; k++) n = PutReal(bytes, n, D.a[k]);
      else
        n = PutReal(bytes, PutReal(bytes, PutReal(bytes, n, 1.25), -2), 3e-200);
      size_t matrix = n;
      n = Put(bytes, n, w, 1211214);
      n = Put(bytes, n, w, 2);
      n = PutReal(bytes, PutReal(bytes, n, 7), -8);
      PoiseMat A = NULL;
      PoiseVec x = NULL;
      ApiWrite(ctx, path, bytes, n);
      CHECK_OK(PoiseMatLoad(ctx, path, &A));
      if (A) MatIs(A, &D, 0);
      CHECK_OK(PoiseMatDestroy(&A));
      CHECK_OK(PoiseVecLoad(ctx, POISE_DECIDE, 2, path, &x));
      if (x) VecIs(x, (double[]){7, -8}, 0);
      CHECK_OK(PoiseVecDestroy(&x));
      for (size_t cut = 1; cut < matrix; cut += 7) { /* a part of it is none */
        ApiWrite(ctx, path, bytes, cut);
        CHECK_ERR(PoiseMatLoad(ctx, path, &A), POISE_ERR_FORMAT, cut > (size_t)(w * 7) ? "3 x 4" : "by_hand");
      }
      for (int k = 4; k < 10 && !dense; k++) { /* numbers that cannot be */
        Put(bytes, (size_t)(k * w), w, k < 7 ? -3 : 4);
        ApiWrite(ctx, path, bytes, n);
        CHECK_ERR(PoiseMatLoad(ctx, path, &A), POISE_ERR_FORMAT, "by_hand");
        Put(bytes, (size_t)(k * w), w, rest[k - 4]);
      }
      Remove(ctx, path);
      DenseFree(&D);
    }
}

/* What Poise writes is what PETSc reads. */
static void TestBytes(PoiseContext ctx)
{
  char path[256];
  Dense D = DenseNew(2, 3);
  DenseSet(&D, 0, 1, 1.5), DenseSet(&D, 1, 2, -0.25);
  for (int w = 4; w <= 8; w += 4) {
    unsigned char want[200], got[200];
    size_t n = 0;
    const long long words[] = {1211216, 2, 3, 2, 1, 1, 1, 2};
    for (int k = 0; k < 8; k++) n = Put(want, n, w, words[k]);
    n = PutReal(want, PutReal(want, n, 1.5), -0.25);
    PoiseMat A = MatOf(ctx, &D, 1, 0);
    CHECK_OK(PoiseOptionsSet(ctx, "petsc_index_bits", w == 4 ? "auto" : "64"));
    CHECK_OK(PoiseMatSave(A, ApiPath(ctx, "out.bin", path)));
    if (!PoiseRank(ctx)) {
      FILE *f = fopen(path, "rb");
      CHECK(f && fread(got, 1, sizeof got, f) == n && !memcmp(got, want, n));
      if (f) fclose(f);
    }
    Remove(ctx, path);
    CHECK_OK(PoiseMatSave(A, ApiPath(ctx, "out.mtx", path)));
    if (!PoiseRank(ctx)) {
      FILE *f = fopen(path, "rb");
      char line[400] = "";
      CHECK(f && fread(line, 1, sizeof line - 1, f) > 0 && strstr(line, "coordinate real general"));
      CHECK(strstr(line, "1 2 1.5\n") && strstr(line, "2 3 -0.25\n") && strstr(line, "2 3 2\n"));
      if (f) fclose(f);
    }
    Remove(ctx, path);
    CHECK_OK(PoiseMatDestroy(&A));
  }

  DenseFree(&D);
}

/* Larger than a part that is read at once; with entries in any order, and one given twice far away. */
static void TestLong(PoiseContext ctx)
{
  enum { N = 3000, EACH = 12 };
  char path[256], *text = malloc(N * EACH * 48 + 200);
  size_t n = 0;
  PoiseMat A = NULL;
  double *u = calloc(2 * N, sizeof *u), *v = u + N;
  for (int twice = 0; twice < 2; twice++) {
    n = (size_t)sprintf(text, "%%%%MatrixMarket matrix coordinate real general\n%d %d %d\n", N, N,
                        N * EACH + twice);
    for (int i = 0; i < N; i++) u[i] = Random(230, (uint64_t)i), v[i] = 0;
    for (int k = 0; k < N * EACH; k++) {
      int i = k * 7 % N, j = (k / N * 211 + k * 13) % N;
      double a = Random(231, (uint64_t)k);
      v[i] += a * u[j];
      n += (size_t)sprintf(text + n, "%d %d %.*g\n", i + 1, j + 1, k % 3 ? 17 : 25, a);
    }
    if (twice) n += (size_t)sprintf(text + n, "1 1 5\n");
    ApiWrite(ctx, ApiPath(ctx, "long.mtx", path), text, n);
    ApiCase("twice %d", twice);
    if (twice) {
      CHECK_ERR(PoiseMatLoad(ctx, path, &A), POISE_ERR_FORMAT, "36003");
    } else if (CHECK_OK(PoiseMatLoad(ctx, path, &A))) {
      PoiseVec x, y;
      CHECK_OK(PoiseMatCreateVecs(A, &x, &y));
      VecFill(x, u);
      CHECK_OK(PoiseMatMult(A, x, y));
      VecIs(y, v, 1e-12);
      CHECK_OK(PoiseVecDestroy(&x));
      CHECK_OK(PoiseVecDestroy(&y));
    }
    CHECK_OK(PoiseMatDestroy(&A));
    Remove(ctx, path);
  }
  free(u);
  free(text);
}

/* Vectors of more than one chunk. */
static void TestVectors(PoiseContext ctx)
{
  static const char *const names[] = {"large.bin", "large.mtx", "large.petsc.gz"};
  static const PoiseInt sizes[] = {700001, 30001, 140001};
  for (int k = 0; k < 3; k++) {
    char path[256];
    PoiseVec x = NULL, y = NULL;
    double norm = 1;
    ApiCase("%s", names[k]);
    CHECK_OK(PoiseVecCreate(ctx, POISE_DECIDE, sizes[k], &x));
    CHECK_OK(PoiseVecSetRandom(x, 5));
    CHECK_OK(PoiseVecSave(x, ApiPath(ctx, names[k], path)));
    CHECK_OK(PoiseVecLoad(ctx, POISE_DECIDE, POISE_DECIDE, path, &y));
    CHECK_OK(PoiseVecAXPY(y, -1, x));
    CHECK_OK(PoiseVecNorm(y, POISE_NORM_INF, &norm));
    CHECK_NEAR(norm, 0, 0);
    CHECK_OK(PoiseVecDestroy(&x));
    CHECK_OK(PoiseVecDestroy(&y));
    Remove(ctx, path);
  }
}

/* Matrices of more rows than are read at once. */
static void TestRows(PoiseContext ctx)
{
  enum { N = 40001 };
  static const char *const names[] = {"rows.bin", "rows.bin.gz", "rows.mtx.gz"};
  PoiseMat A = NULL, B = NULL;
  PoiseInt begin, m, nz[2];
  PoiseSplit(ctx, N, &begin, &m);
  CHECK_OK(PoiseMatCreate(ctx, m, m, N, N, &A));
  for (PoiseInt i = begin; i < begin + m; i++) {
    PoiseInt cols[3] = {i, i % 7 ? (i * 31 + 5) % N : -1, N - 1 - i};
    double v[3] = {1 + (double)i, 1.0 / (double)(i + 2), -3};
    CHECK_OK(PoiseMatAddBlock(A, 1, &i, 3, cols, v));
  }
  CHECK_OK(PoiseMatAssemble(A));
  CHECK_OK(PoiseMatNonzeros(A, &nz[0]));
  for (int k = 0; k < 3; k++) {
    char path[256];
    double norm = 1;
    ApiCase("%s", names[k]);
    CHECK_OK(PoiseMatSave(A, ApiPath(ctx, names[k], path)));
    CHECK_OK(PoiseMatLoad(ctx, path, &B));
    CHECK_OK(PoiseMatNonzeros(B, &nz[1]));
    CHECK_INT(nz[0], nz[1]);
    CHECK_OK(PoiseMatAXPY(B, -1, A));
    CHECK_OK(PoiseMatNorm(B, POISE_NORM_INF, &norm));
    CHECK_NEAR(norm, 0, 0);
    CHECK_OK(PoiseMatNonzeros(B, &nz[1]));
    CHECK_INT(nz[0], nz[1]); /* all of its entries were there */
    CHECK_OK(PoiseMatDestroy(&B));
    Remove(ctx, path);
  }
  CHECK_OK(PoiseMatDestroy(&A));
}

static void TestDiagonal(PoiseContext ctx)
{
  static const char text[] = HEAD "3 3 2\n1 2 4\n3 3 5\n";
  char path[256];
  PoiseMat A = NULL;
  Dense D = DenseNew(3, 3);
  DenseSet(&D, 0, 1, 4);
  for (int i = 0; i < 3; i++) DenseSet(&D, i, i, i == 2 ? 5 : 0);
  ApiWrite(ctx, ApiPath(ctx, "diagonal.mtx", path), text, sizeof text - 1);
  CHECK_OK(PoiseOptionsSet(ctx, "mat_load_diagonal", "yes"));
  CHECK_OK(PoiseMatLoad(ctx, path, &A));
  if (A) MatIs(A, &D, 0);
  CHECK_OK(PoiseMatDestroy(&A));
  Remove(ctx, path);
  CHECK_OK(PoiseOptionsSet(ctx, "mat_load_diagonal", "no"));
  CHECK_OK(PoiseOptionsSet(ctx, "mat_block_size", "3"));
  Dense E = System(SPD, 24);
  PoiseMat B = MatOf(ctx, &E, 1, 0);
  CHECK_OK(PoiseMatSave(B, ApiPath(ctx, "blocks.mtx", path)));
  CHECK_OK(PoiseMatLoad(ctx, path, &A));
  CHECK_INT(PoiseMatBlockSize(A), 3);
  MatIs(A, &E, 0);
  CHECK_OK(PoiseOptionsSet(ctx, "mat_block_size", "1"));
  CHECK_OK(PoiseMatDestroy(&A));
  CHECK_OK(PoiseMatDestroy(&B));
  Remove(ctx, path);
  DenseFree(&D);
  DenseFree(&E);
}

const Test file_tests[] = {{"round_trips", TestRoundTrips},
                           {"matrix_market", TestMatrixMarket},
                           {"bad", TestBad},
                           {"petsc", TestPetsc},
                           {"bytes", TestBytes},
                           {"long", TestLong},
                           {"vectors", TestVectors},
                           {"rows", TestRows},
                           {"diagonal", TestDiagonal},
                           {NULL, NULL}};
