/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrix Market files. What is read must be what was written, and errors in a file must name file and
   line. */
#define _XOPEN_SOURCE 700
#include <dirent.h>
#include <locale.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "io/load.h"
#include "io/mm.h"
#include "sys/base/progress.h"
#include "terminal.h"
#include "mat/object/mat.h"
#include "sample.h"
#include "saved.h"

#define LENGTH(a) ((int)(sizeof(a) / sizeof *(a)))
#define REAL      "%%MatrixMarket matrix coordinate real general\n"
#define SYMMETRIC "%%MatrixMarket matrix coordinate real symmetric\n"
#define SKEW      "%%MatrixMarket matrix coordinate real skew-symmetric\n"
#define ARRAY     "%%MatrixMarket matrix array real general\n"

/* ---- numbers --------------------------------------------------------------------------------- */

static uint64_t RandomBits(uint64_t i)
{
  uint64_t high = (uint64_t)((TestRandom(1, i) + 1) * 0x1p31),
           low = (uint64_t)((TestRandom(2, i) + 1) * 0x1p31);
  return high << 32 | low;
}

/* As strtod in the C locale, where tests run. */
static int ReadsAsStrtod(const char *text)
{
  double v;
  const char *end = poiseParseReal(text, &v);
  return end && !*end && SampleBits(v) == SampleBits(strtod(text, NULL));
}

static void TestReal(PoiseContext ctx)
{
  static const char *const texts[] = {"0",
                                      "-0",
                                      "0.0",
                                      "-0.0e5",
                                      "5.",
                                      "+.5",
                                      "1e22",
                                      "1e23",
                                      "9007199254740993",
                                      "18446744073709551615",
                                      "18446744073709551616",
                                      "9007199254740992.99999999999999999999",
                                      "1.7976931348623157e308",
                                      "1.7976931348623159e308",
                                      "2e308",
                                      "4.9e-324",
                                      "2.4703282292062327e-324",
                                      "2.4703282292062328e-324",
                                      "1e-400",
                                      "1e99999999999999999999",
                                      "1e-99999999999999999999",
                                      "0e99999999999",
                                      "00000000000000000000000000001",
                                      "9007199254740993.00000000000000000000000000000000000000000000001"};
  static const char *const wrong[] = {"", "-", ".", "e5", "1e", "1e+", "-.e1", "+-1"};
  char text[1200];
  double v;
  (void)ctx;
  for (int i = 0; i < LENGTH(texts); i++)
    if (!CHECK(ReadsAsStrtod(texts[i]))) printf("%s\n", texts[i]);
  for (int i = 0; i < LENGTH(wrong); i++) CHECK(!poiseParseReal(wrong[i], &v));
  CHECK(poiseParseReal("-1.5D-3", &v) && v == -1.5e-3);
  for (uint64_t i = 0; i < 60000; i++) {
    uint64_t bits = RandomBits(i);
    memcpy(&v, &bits, sizeof v);
    if (!isfinite(v)) continue;
    snprintf(text, sizeof text, "%.*e", (int)(i % 25), v);
    CHECK(ReadsAsStrtod(text));
    snprintf(text, sizeof text, "%llue%d", (unsigned long long)(bits >> i % 64), (int)(i % 140) - 70);
    CHECK(ReadsAsStrtod(text));
    snprintf(text, sizeof text, "%llu.%llue%d", (unsigned long long)bits,
             (unsigned long long)RandomBits(i + 1), (int)(i % 90) - 60);
    CHECK(ReadsAsStrtod(text));
    snprintf(text, sizeof text, "%.*f", (int)(i % 40), TestRandom(3, i) * pow(10, (double)(i % 30) - 15));
    CHECK(ReadsAsStrtod(text));
  }
  for (int n = 700; n < 900; n += 13) { /* halfway between two doubles but for the last digit */
    int length = snprintf(text, sizeof text, "9007199254740993.");
    memset(text + length, '0', (size_t)n);
    strcpy(text + length + n, "");
    CHECK(ReadsAsStrtod(text));
    strcpy(text + length + n, "1");
    CHECK(ReadsAsStrtod(text));
  }
}

static void TestFormat(PoiseContext ctx)
{
  static const struct {
    double v;
    const char *text;
  } known[] = {{0, "0"}, {-0.0, "-0"}, {1, "1"}, {-4, "-4"}, {0.1, "0.1"}, {1e300, "1e+300"}};
  char text[POISE_REAL_LENGTH];
  double v, back;
  (void)ctx;
  for (int i = 0; i < LENGTH(known); i++) {
    CHECK_INT(poiseFormatReal(known[i].v, text), strlen(known[i].text));
    CHECK(!strcmp(text, known[i].text));
  }
  for (uint64_t i = 0; i < 20000; i++) {
    uint64_t bits = RandomBits(i);
    memcpy(&v, &bits, sizeof v);
    if (!isfinite(v)) continue;
    poiseFormatReal(v, text);
    CHECK(poiseParseReal(text, &back) && SampleBits(v) == SampleBits(back) &&
          SampleBits(v) == SampleBits(strtod(text, NULL)));
  }
}

/* ---- sorting --------------------------------------------------------------------------------- */

static int CompareInts(const void *a, const void *b)
{
  PoiseInt x = *(const PoiseInt *)a, y = *(const PoiseInt *)b;
  return (x > y) - (x < y);
}

/* Keys of some bits, few of them different or all; the values tell where each was. */
static void TestSort(PoiseContext ctx)
{
  enum { MOST = 100000 };
  static const int sizes[] = {0, 1, 2, 31, 33, 1000, 40000, MOST}, bits[] = {1, 5, 20, 63};
  PoiseInt *key = malloc(MOST * sizeof *key), *sorted = malloc(MOST * sizeof *key),
           *first = malloc(MOST * sizeof *key);
  double *val = malloc(MOST * sizeof *val);
  (void)ctx;
  for (int s = 0; s < LENGTH(sizes); s++)
    for (int b = 0; b < LENGTH(bits); b++)
      for (int threads = 1; threads < 4; threads += 2) {
        int n = sizes[s], good = 1;
        for (int k = 0; k < n; k++) {
          first[k] = (PoiseInt)(RandomBits((uint64_t)k) >> (64 - bits[b]));
          if (b == 2 && k > n / 2) first[k] = k; /* half sorted */
          key[k] = sorted[k] = first[k], val[k] = k;
        }
        qsort(sorted, (size_t)n, sizeof *sorted, CompareInts);
        poiseMMSort(key, val, n, threads);
        for (int k = 0; k < n; k++) good = good && key[k] == sorted[k] && first[(int)val[k]] == key[k];
        for (int k = 0; k < n; k++) first[(int)val[k]] = -1; /* each once */
        for (int k = 0; k < n; k++) good = good && first[k] == -1;
        CHECK(good);
      }
  free(key), free(sorted), free(first), free(val);
}

/* ---- sources --------------------------------------------------------------------------------- */

/* A call that all ranks make fails with these words; one rank has the code at least, the others learn it. */
static void CheckFails(PoiseContext ctx, PoiseErr e, PoiseErr code, const char *words)
{
  double mine = e == code;
  CHECK_ERR(e, mine > 0 ? code : POISE_ERR_REMOTE, words);
  CHECK_OK(PoiseMax(ctx, 1, &mine));
  CHECK(mine > 0);
}

typedef struct Chunks {
  const char *text;
  size_t n, at, step;
} Chunks;

static PoiseErr ReadChunk(void *from, char *buffer, size_t size, size_t *n)
{
  Chunks *p = from;
  *n = p->n - p->at;
  if (*n > p->step) *n = p->step;
  if (*n > size) *n = size;
  memcpy(buffer, p->text + p->at, *n);
  p->at += *n;
  return POISE_OK;
}

static PoiseErr ParseText(PoiseContext ctx, const char *text, size_t step, int64_t block, PoiseMat *A)
{
  Chunks p = {text, strlen(text), 0, step};
  return poiseMatLoadMMSource(ctx, &(MMSource){ReadChunk, &p, "text", NULL}, block, A);
}

/* However the bytes come, and wherever the buffer and the ranks' blocks end: 900 kB of lines, then the same
   entries. */
static void TestChunks(PoiseContext ctx)
{
  enum { ENTRIES = 30000, ROOM = 40 * ENTRIES };
  static const size_t steps[] = {1, 7, 4096, ROOM};
  static const int64_t blocks[] = {0, 30000, 70000, ROOM};
  char *text = malloc(ROOM);
  int n = snprintf(text, ROOM, "%s%d 2 %d\n", REAL, ENTRIES, ENTRIES);
  for (int k = 0; k < ENTRIES; k++)
    n +=
        snprintf(text + n, (size_t)(ROOM - n), "%d %d %.17g\n", k + 1, k % 2 + 1, TestRandom(5, (uint64_t)k));
  for (int s = 0; s < LENGTH(steps); s++) {
    PoiseMat A;
    PoiseInt begin, m;
    int64_t *ptr, *col;
    double *val;
    text[n - 1] = s % 2 ? '\n' : 0; /* the last newline may be missing */
    if (!CHECK_OK(ParseText(ctx, text, steps[s], blocks[s], &A))) continue;
    PoiseSplit(ctx, ENTRIES, &begin, &m);
    if (CHECK_OK(PoiseMatCopyCSR(A, &ptr, &col, &val))) {
      for (PoiseInt i = 0; i < m; i++)
        CHECK(ptr[i] == i && col[i] == (begin + i) % 2 &&
              SampleBits(val[i]) == SampleBits(TestRandom(5, (uint64_t)(begin + i))));
      CHECK_INT(ptr[m], m);
      free(ptr), free(col), free(val);
    }
    CHECK_OK(PoiseMatDestroy(&A));
  }
  free(text);
}

/* A comment may have any length, no other line more than 2^16 characters. */
static void TestLongLines(PoiseContext ctx)
{
  enum { LONG = 1 << 19 };
  char *text = malloc(3 * LONG), path[PATH];
  SharedName(ctx, path, "long.mtx");
  for (int file = 0; file < 2; file++)
    for (size_t step = 1000; step < 2 * LONG; step += LONG) {
      PoiseMat A;
      double norm;
      int n = sprintf(text, "%s%%", REAL);
#define LOAD()                                                                           \
  (WriteText(ctx, path, text), file ? poiseMatLoadMMBlocks(ctx, path, (int64_t)step, &A) \
                                    : ParseText(ctx, text, step, (int64_t)step, &A))
      memset(text + n, 'x', LONG);
      strcpy(text + n + LONG, "\n2 2 1\n2 1 5\n");
      if (CHECK_OK(LOAD()) && CHECK_OK(PoiseMatNorm(A, POISE_NORM_FROBENIUS, &norm))) CHECK(norm == 5);
      CHECK_OK(PoiseMatDestroy(&A));
      n = sprintf(text, "%s2 2 1\n2 1 ", REAL);
      memset(text + n, '7', LONG);
      strcpy(text + n + LONG, "\n1 1 1\n1 1 1\n");
      CheckFails(ctx, LOAD(), POISE_ERR_FORMAT, ", line 3: longer than");
      memset(text + n, ' ', LONG);
      CheckFails(ctx, LOAD(), POISE_ERR_FORMAT, ", line 3: longer than");
      n = sprintf(text, "%s2 2 1\n2 1 ", REAL);
      memset(text + n, ' ', MM_LONGEST);
      strcpy(text + n + MM_LONGEST - 5, "5\n"); /* just not too long */
      if (CHECK_OK(LOAD()) && CHECK_OK(PoiseMatNorm(A, POISE_NORM_FROBENIUS, &norm))) CHECK(norm == 5);
      CHECK_OK(PoiseMatDestroy(&A));
      strcpy(text + n + MM_LONGEST - 4, "5\n");
      CheckFails(ctx, LOAD(), POISE_ERR_FORMAT, ", line 3: longer than");
      memset(text, 'x', LONG);
      text[LONG] = 0;
      CheckFails(ctx, LOAD(), POISE_ERR_FORMAT, ", line 1: longer than");
      n = sprintf(text, "%s2 2 0", REAL);
      memset(text + n, ' ', LONG);
      strcpy(text + n + LONG, "1\n");
      CheckFails(ctx, LOAD(), POISE_ERR_FORMAT, ", line 2: longer than");
#undef LOAD
    }
  RemoveFile(ctx, path);
  free(text);
}

/* Text, many times the same character, and text. */
typedef struct Filled {
  const char *head;
  char fill;
  size_t times;
  const char *tail;
  const char *words; /* of the error; NULL: none */
} Filled;

typedef struct FilledSource {
  const Filled *is;
  size_t at;
} FilledSource;

static size_t LengthOf(const Filled *f)
{
  return strlen(f->head) + f->times + strlen(f->tail);
}

static PoiseErr ReadFilled(void *from, char *buffer, size_t size, size_t *n)
{
  FilledSource *s = from;
  const Filled *f = s->is;
  const size_t head = strlen(f->head), tail = head + f->times, end = LengthOf(f);
  const size_t stop = s->at < head ? head : s->at < tail ? tail : end;
  *n = stop - s->at < size ? stop - s->at : size;
  if (s->at < head)
    memcpy(buffer, f->head + s->at, *n);
  else if (s->at < tail)
    memset(buffer, f->fill, *n);
  else
    memcpy(buffer, f->tail + (s->at - tail), *n);
  s->at += *n;
  return POISE_OK;
}

/* Blank text, and a line, without end: refused long before all is read. What is allowed is exact. */
static void TestEndless(PoiseContext ctx)
{
  enum { END = 1 << 26 };
  static const Filled texts[] = {
      {"", '\n', END, "", "line 1: more than 16777216 blanks"},
      {REAL, '\n', END, "", "line 1: more than 16777216 blanks"},
      {REAL "2 2 1\n", '\n', END, "", "line 2: more than"},
      {REAL "2 2 1\n2 1 5\n \n", '\n', END, "", "line 3: more than"},
      {REAL "2 2 2\n2 1 5\n", ' ', END, "", "line 4: longer than"},
      {REAL "2 2 2\n2 1 5\n", 0, END, "", "line 4: longer than"},
      {REAL, 0, END, "", "line 2: longer than"},
      {"", 0, END, "", "line 1: longer than"},
      {"", '%', END, "", "line 1: longer than"},
      {REAL "2 2 1\n2 1 5\n", '\n', MM_BLANK, "", "line 3: more than"},
      {REAL "2 2 1\n2 1 5\n", '\n', MM_BLANK - 1, "", NULL},
      {REAL "2 2 2\n1 1 3\n", '\n', MM_BLANK - 1, "2 1 4\n", NULL},
      {REAL "2 2 2\n1 1 3\n", '\n', MM_BLANK - 1, "2 1 4\n\n\n", NULL},
      {REAL "2 2 1\n", '\n', MM_BLANK - 1, "2 1 5\n", NULL},
  };
  for (const Filled *f = texts; f < texts + LENGTH(texts); f++) {
    PoiseMat A;
    double norm;
    FilledSource s = {f, 0};
    PoiseErr e = poiseMatLoadMMSource(ctx, &(MMSource){ReadFilled, &s, "text", NULL}, 70000, &A);
    if (f->words)
      CheckFails(ctx, e, POISE_ERR_FORMAT, f->words);
    else if (CHECK_OK(e) && CHECK_OK(PoiseMatNorm(A, POISE_NORM_FROBENIUS, &norm)))
      CHECK(norm == 5);
    if (f->times == END) CHECK(s.at < END / 2);
    if (!e) CHECK_OK(PoiseMatDestroy(&A));
  }
}

/* The same of files: a device, and a small compressed file. */
static void TestEndlessFiles(PoiseContext ctx)
{
  enum { PART = 1 << 20 };
  char path[PATH];
  PoiseMat A;
  PoiseVec x;
  SharedName(ctx, path, "blank.mtx.gz");
  CheckFails(ctx, PoiseMatLoad(ctx, "/dev/zero", &A), POISE_ERR_FORMAT, "/dev/zero, line 1: longer than");
  CheckFails(ctx, PoiseVecLoad(ctx, POISE_DECIDE, 9, "/dev/zero", &x), POISE_ERR_FORMAT, "/dev/zero, line 1");
  if (PoiseRank(ctx) == 0) {
    char *part = malloc(PART);
    gzFile gz = gzopen(path, "wb1");
    if (CHECK(part && gz)) {
      CHECK(gzputs(gz, REAL "2 2 1\n") > 0);
      memset(part, '\n', PART);
      for (int k = 0; k < 64; k++) CHECK(gzwrite(gz, part, PART) == PART);
      CHECK(gzclose(gz) == Z_OK);
    }
    free(part);
  }
  CHECK_OK(PoiseBarrier(ctx));
  CheckFails(ctx, PoiseMatLoad(ctx, path, &A), POISE_ERR_FORMAT, "blank.mtx.gz, line 2: more than");
  RemoveFile(ctx, path);
}

/* Of a text without a known size, rank 0 tells at each round how much of it has been given out: all, at the
   end. */
static void TestGivenOut(PoiseContext ctx)
{
  enum { ROWS = 300 };
  static const char first[] = "%%MatrixMarket matrix coordinate real general\n300 300 300\n";
  char text[ROWS * 16 + sizeof first];
  size_t n = sizeof first - 1;
  int64_t given = (int64_t)n, done, total, rounds = 0;
  MMReader r = {0};
  memcpy(text, first, sizeof first);
  for (int i = 1; i <= ROWS; i++) n += (size_t)sprintf(text + n, "%d %d 1\n", i, i);
  Chunks p = {text, n, 0, 100};
  PoiseErr e = poiseMMOpenSource(ctx, &(MMSource){ReadChunk, &p, "text", NULL}, 200, &r);
  for (bool more = CHECK_OK(e); more; rounds++) {
    MMChunk chunk;
    if (!CHECK_OK(poiseMMNext(&r, &chunk, &more))) break;
    double bytes = (double)(chunk.end - chunk.text);
    if (!CHECK_OK(PoiseSum(ctx, 1, &bytes))) break;
    given += (int64_t)bytes;
    poiseMMProgress(&r, &done, &total);
    CHECK_INT(total, 0);
    CHECK_INT(done, PoiseRank(ctx) ? 0 : given);
  }
  CHECK_INT(given, n);
  CHECK(rounds > 1);
  poiseMMClose(&r);
}

/* ---- what can be read ------------------------------------------------------------------------ */

/* Plain or compressed, with blocks of this size. */
static PoiseErr LoadBlocks(PoiseContext ctx, const char *text, size_t n, int gzip, int64_t block, PoiseMat *A)
{
  char path[PATH];
  SharedName(ctx, path, "text.mtx");
  if (gzip && PoiseRank(ctx) == 0) {
    gzFile gz = gzopen(path, "wb1");
    CHECK(gzwrite(gz, text, (unsigned)n) == (int)n);
    gzclose(gz);
  }
  if (gzip)
    CHECK_OK(PoiseBarrier(ctx));
  else
    WriteFile(ctx, path, text, n);
  PoiseErr e = poiseMatLoadMMBlocks(ctx, path, block, A);
  RemoveFile(ctx, path);
  return e;
}

static PoiseErr LoadText(PoiseContext ctx, const char *text, size_t n, PoiseMat *A)
{
  return LoadBlocks(ctx, text, n, 0, 0, A);
}

/* Stored entries have the value of the dense row-major reference, and there are nz of them. */
static void CheckDense(PoiseMat A, int M, int N, const double *dense, int nz)
{
  PoiseInt rows, cols, stored, begin, m;
  int64_t *ptr, *col;
  double *val;
  PoiseMatSizes(A, &rows, &cols);
  if (!CHECK_INT(rows, M) || !CHECK_INT(cols, N)) return;
  CHECK_OK(PoiseMatNonzeros(A, &stored));
  CHECK_INT(stored, nz);
  PoiseSplit(PoiseMatContext(A), M, &begin, &m);
  if (!CHECK_OK(PoiseMatCopyCSR(A, &ptr, &col, &val))) return;
  for (PoiseInt i = 0; i < m; i++)
    for (int64_t k = ptr[i]; k < ptr[i + 1]; k++)
      CHECK(SampleBits(val[k]) == SampleBits(dense[(begin + i) * N + col[k]]));
  for (PoiseInt i = 0; i < m; i++)
    for (PoiseInt j = 0; j < N; j++) {
      int found = dense[(begin + i) * N + j] == 0; /* may be stored or not */
      for (int64_t k = ptr[i]; k < ptr[i + 1]; k++) found = found || col[k] == j;
      CHECK(found);
    }
  free(ptr), free(col), free(val);
}

typedef struct Good {
  int M, N, nz;
  double dense[9];
  const char *text;
} Good;

static const Good good[] = {
    {2, 3, 3, {0, 1.5, 0, -2, 0, 3}, REAL "2 3 3\n1 2 1.5\n2 3 3\n2 1 -2\n"},
    {2,
     3,
     3,
     {0, 1.5, 0, -2, 0, 3},
     "%%MatrixMarket MATRIX Coordinate REAL General  \r\n% c\r\n\r\n2 3 3\r\n1 2 1.5\r\n2 3 3\r\n2 1 -2\r\n"},
    {2,
     3,
     3,
     {0, 1.5, 0, -2, 0, 3},
     REAL "%\n%%\n \t\n  2\t3 3 \n\n +1 2 +1.5\n\t2 3 0.3d1\n\n2 001 -2.0E0\t\n\n \n"},
    {2, 2, 2, {0, 0, 7, 0}, REAL "2 2 2\n1 1 0\n2 1 7"}, /* a given zero is an entry */
    {2, 2, 2, {-3, 0, 0, 20}, "%%MatrixMarket matrix coordinate integer general\n2 2 2\n1 1 -3\n2 2 20\n"},
    {2, 2, 2, {1, 0, 1, 0}, "%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 1\n2 1\n"},
    {3,
     3,
     4,
     {0, 1, 1, 1, 0, 0, 1, 0, 0},
     "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 1\n"},
    {3, 3, 5, {4, 2, 0, 2, 0, 5, 0, 5, 0}, SYMMETRIC "3 3 3\n3 2 5\n1 1 4\n2 1 2\n"},
    {3, 3, 4, {0, -2, 0, 2, 0, -5, 0, 5, 0}, SKEW "3 3 2\n3 2 5\n2 1 2\n"},
    {2, 2, 3, {0, -2, 2, 0}, SKEW "2 2 2\n2 2 0\n2 1 2\n"},
    {2, 3, 5, {1, 3, 5, 2, 0, 6}, ARRAY "2 3\n1\n2\n3\n0\n5\n6\n"}, /* an array's zeros are not stored */
    {3, 1, 2, {1, 0, 3}, ARRAY "3 1\n1\n0\n3\n"},
    {3,
     3,
     9,
     {1, 2, 3, 2, 4, 5, 3, 5, 6},
     "%%MatrixMarket matrix array integer symmetric\n3 3\n1\n2\n3\n4\n5\n6\n"},
    {3,
     3,
     6,
     {0, -1, -2, 1, 0, -3, 2, 3, 0},
     "%%MatrixMarket matrix array real skew-symmetric\n3 3\n1\n2\n3\n"},
    {0, 0, 0, {0}, REAL "0 0 0\n"},
    {0, 3, 0, {0}, ARRAY "0 3"},
    {3, 2, 0, {0}, REAL "3 2 0"},
    {1, 1, 0, {0}, "%%MatrixMarket matrix array real skew-symmetric\n1 1\n"},
};

static void TestGood(PoiseContext ctx)
{
  for (int i = 0; i < LENGTH(good); i++)
    for (int b = 0; b < 4; b++) {
      PoiseMat A;
      if (!CHECK_OK(LoadBlocks(ctx, good[i].text, strlen(good[i].text), b % 2, b / 2 * (3 + i % 13), &A)))
        continue;
      CheckDense(A, good[i].M, good[i].N, good[i].dense, good[i].nz);
      CHECK_OK(PoiseMatDestroy(&A));
    }
}

/* ---- what cannot be read --------------------------------------------------------------------- */

typedef struct Bad {
  const char *text;
  PoiseErr code;
  const char *words;
} Bad;

static const Bad bad[] = {
    {"", POISE_ERR_FORMAT, "text.mtx: the file is empty"},
    {"\n \n", POISE_ERR_FORMAT, "text.mtx: the file is empty"},
    {"1 1 1\n1 1 1\n", POISE_ERR_FORMAT, "text.mtx is not a Matrix Market file: line 1"},
    {"\n" REAL "1 1 1\n1 1 1\n", POISE_ERR_FORMAT, "is not a Matrix Market file: line 1"},
    {"%%MatrixMarket", POISE_ERR_FORMAT, "text.mtx, line 1: the object is missing (matrix)"},
    {"%%MatrixMarket matrix array real\n", POISE_ERR_FORMAT, "the symmetry is missing"},
    {"%%MatrixMarket tensor coordinate real general\n", POISE_ERR_FORMAT, "line 1: unknown object 'tensor'"},
    {"%%MatrixMarket matrix rows real general\n", POISE_ERR_FORMAT, "unknown format 'rows'"},
    {"%%MatrixMarket matrix coordinate reals general\n", POISE_ERR_FORMAT, "unknown kind of values 'reals'"},
    {"%%MatrixMarket matrix coordinate real diagonal\n", POISE_ERR_FORMAT, "unknown symmetry 'diagonal'"},
    {"%%MatrixMarket matrix coordinate real general too\n1 1 0\n", POISE_ERR_FORMAT,
     "line 1: unexpected 'too'"},
    {"%%MatrixMarket matrix coordinate complex general\n", POISE_ERR_UNSUPPORTED,
     "line 1: kind of values 'complex'"},
    {"%%MatrixMarket matrix coordinate real hermitian\n", POISE_ERR_UNSUPPORTED,
     "symmetry 'hermitian' is not supported"},
    {"%%MatrixMarket vector coordinate real general\n", POISE_ERR_UNSUPPORTED,
     "object 'vector' is not supported"},
    {"%%MatrixMarket matrix array pattern general\n1 1\n", POISE_ERR_FORMAT, "an array has values"},
    {"%%MatrixMarket matrix coordinate pattern skew-symmetric\n1 1 0\n", POISE_ERR_FORMAT,
     "skew-symmetric matrix has values"},
    {REAL, POISE_ERR_FORMAT, "the file ends after line 1, before the sizes"},
    {REAL "% only comments\n%", POISE_ERR_FORMAT, "the file ends after line 3, before the sizes"},
    {REAL "3 3\n", POISE_ERR_FORMAT, "line 2: the number of entries is missing"},
    {REAL "3 x 3\n", POISE_ERR_FORMAT, "line 2: number of columns 'x' is not a whole number"},
    {REAL "3 3.0 3\n", POISE_ERR_FORMAT, "number of columns '3.0' is not a whole number"},
    {REAL "-3 3 3\n", POISE_ERR_FORMAT, "number of rows -3 is outside 0 to"},
    {REAL "3 3 99999999999999999999\n", POISE_ERR_FORMAT,
     "number of entries 99999999999999999999 is outside"},
    {REAL "3 3 20000000000000000000000\n", POISE_ERR_FORMAT,
     "number of entries 20000000000000000000000 is outside"},
    {REAL "3 3 0 3\n", POISE_ERR_FORMAT, "line 2: unexpected '3' at the end of the line"},
    {REAL "1000000000000000 1 0\n", POISE_ERR_ARG, "text.mtx: global size 1000000000000000 is too large"},
    {SYMMETRIC "3 4 0\n", POISE_ERR_FORMAT, "line 2: a symmetric or skew-symmetric matrix cannot be 3 x 4"},
    {ARRAY "4000000000 4000000000\n", POISE_ERR_FORMAT, "4000000000 x 4000000000 entries is too large"},
    {ARRAY "3 1 3\n1\n2\n3\n", POISE_ERR_FORMAT, "line 2: unexpected '3'"},
    {ARRAY "3 1\n1\n2\n", POISE_ERR_FORMAT, "ends at line 4 after 2 of the 3 entries announced in line 2"},
    {ARRAY "3 1\n1\n2\n3\n4\n", POISE_ERR_FORMAT, "line 6: more than the 3 entries announced in line 2"},
    {ARRAY "2 1\n1 2\n", POISE_ERR_FORMAT, "line 3: unexpected '2'"},
    {REAL "3 3 2\n1 1 1\n", POISE_ERR_FORMAT,
     "text.mtx: the file ends at line 3 after 1 of the 2 entries announced in line 2"},
    {REAL "3 3 1000000000000000000\n1 1 1\n", POISE_ERR_FORMAT, "after 1 of the 1000000000000000000 entries"},
    {REAL "3 3 1\n1 1 1\n\n2 2 2\n", POISE_ERR_FORMAT,
     "text.mtx, line 5: more than the 1 entries announced in line 2"},
    {REAL "3 3 1\n0 1 1\n", POISE_ERR_FORMAT, "text.mtx, line 3: row 0 is outside 1 to 3"},
    {REAL "3 3 1\n4 1 1\n", POISE_ERR_FORMAT, "row 4 is outside 1 to 3"},
    {REAL "3 3 1\n-1 1 1\n", POISE_ERR_FORMAT, "row -1 is outside 1 to 3"},
    {REAL "3 4 1\n1 0 1\n", POISE_ERR_FORMAT, "column 0 is outside 1 to 4"},
    {REAL "3 4 1\n1 5 1\n", POISE_ERR_FORMAT, "column 5 is outside 1 to 4"},
    {REAL "3 3 1\n18446744073709551617 1 1\n", POISE_ERR_FORMAT,
     "row 18446744073709551617 is outside 1 to 3"},
    {REAL "3 3 1\n1.5 1 1\n", POISE_ERR_FORMAT, "row '1.5' is not a whole number"},
    {REAL "3 3 1\n1\n", POISE_ERR_FORMAT, "line 3: the column is missing"},
    {REAL "3 3 1\n1 1\n", POISE_ERR_FORMAT, "line 3: the value is missing"},
    {REAL "3 3 1\n1 1 NaN\n", POISE_ERR_FORMAT, "line 3: value 'NaN' is not a finite number"},
    {REAL "3 3 1\n1 1 -inf\n", POISE_ERR_FORMAT, "value '-inf' is not a finite number"},
    {REAL "3 3 1\n1 1 Infinity\n", POISE_ERR_FORMAT, "value 'Infinity' is not a finite number"},
    {REAL "3 3 1\n1 1 1e999\n", POISE_ERR_FORMAT, "value '1e999' is not a finite number"},
    {REAL "3 3 1\n1 1 one\n", POISE_ERR_FORMAT, "value 'one' is not a number"},
    {REAL "3 3 1\n1 1 0x10\n", POISE_ERR_FORMAT, "value '0x10' is not a number"},
    {REAL "3 3 1\n1 1 1,5\n", POISE_ERR_FORMAT, "value '1,5' is not a number"},
    {REAL "3 3 1\n1 1 \x01\xff\x7f\n", POISE_ERR_FORMAT, "value '?\?\?' is not a number"},
    {REAL "3 3 1\n1 1 aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeee\n", POISE_ERR_FORMAT,
     "ccccccccccdddddddddd...' is not"},
    {REAL "3 3 1\n1 1 1 0\n", POISE_ERR_FORMAT, "line 3: unexpected '0' at the end of the line"},
    {REAL "3 3 2\n1 1 1\n% comment\n2 2 2\n", POISE_ERR_FORMAT, "line 4: row '%' is not a whole number"},
    {"%%MatrixMarket matrix coordinate pattern general\n3 3 1\n1 1 5\n", POISE_ERR_FORMAT,
     "line 3: unexpected '5'"},
    {"%%MatrixMarket matrix coordinate integer general\n3 3 1\n1 1 1.5\n", POISE_ERR_FORMAT,
     "line 3: value 1.5 of an integer file is not whole"},
    {SYMMETRIC "3 3 1\n1 2 1\n", POISE_ERR_FORMAT,
     "line 3: entry (1, 2) lies above the diagonal, which a symmetric file"},
    {SKEW "3 3 1\n1 2 1\n", POISE_ERR_FORMAT,
     "entry (1, 2) lies above the diagonal, which a skew-symmetric file"},
    {SKEW "3 3 1\n2 2 1\n", POISE_ERR_FORMAT,
     "line 3: diagonal entry (2, 2) = 1 of a skew-symmetric matrix is not zero"},
    {REAL "3 3 3\n2 1 1\n1 1 1\n2 1 1\n", POISE_ERR_FORMAT,
     "text.mtx, line 5: entry (2, 1) is given again, first in line 3"},
    {REAL "\n3 3 4\n\n1 1 1\n2 3 1\n\n\n2 1 1\n2 3 1\n", POISE_ERR_FORMAT,
     "line 10: entry (2, 3) is given again, first in line 6"},
    {SYMMETRIC "3 3 2\n3 1 1\n3 1 2\n", POISE_ERR_FORMAT,
     "line 4: entry (3, 1) is given again, first in line 3"},
};

/* Rank 0 finds what is wrong with a file; the others learn it. */
static PoiseErr Code(PoiseContext ctx, PoiseErr code)
{
  return PoiseRank(ctx) == 0 ? code : POISE_ERR_REMOTE;
}

static void TestBad(PoiseContext ctx)
{
  static const char binary[] = "\x7f"
                               "ELF\0\0\0\x01\x02\n\0\xff",
                    zero_in_entry[] = REAL "2 2 1\n1 1 \0\n";
  static const int64_t blocks[] = {0, 9};
  PoiseMat A;
  for (int i = 0; i < LENGTH(bad); i++)
    for (int b = 0; b < LENGTH(blocks); b++) {
      CheckFails(ctx, LoadBlocks(ctx, bad[i].text, strlen(bad[i].text), i % 2, blocks[b], &A), bad[i].code,
                 bad[i].words);
      CHECK(!A);
    }
  CheckFails(ctx, LoadText(ctx, binary, sizeof binary, &A), POISE_ERR_FORMAT, "is not a Matrix Market file");
  CheckFails(ctx, LoadText(ctx, zero_in_entry, sizeof zero_in_entry - 1, &A), POISE_ERR_FORMAT,
             "value '?' is not a number");
}

/* Cut anywhere, a file is refused; only the last number may lose digits unnoticed. */
static void TestTruncated(PoiseContext ctx)
{
  static const char text[] = SYMMETRIC "% comment\n3 3 2\n2 1 -1.5\n3 3 2";
  PoiseMat A;
  for (size_t n = 0; n < sizeof text - 1; n++)
    CheckFails(ctx, LoadBlocks(ctx, text, n, 0, (int64_t)(n % 4), &A), POISE_ERR_FORMAT, "text.mtx");
  CHECK_OK(LoadText(ctx, text, sizeof text - 1, &A));
  CHECK_OK(PoiseMatDestroy(&A));
}

enum { ENTRIES = 40, LINES_ROOM = 64 * ENTRIES };

/* A file of one entry in each row, with blank lines: line[k] is that of entry k. Row 0 stands in entry
   `wrong` and in the last; entry `twice` is given again in the last. */
static size_t MakeLines(char text[LINES_ROOM], int announced, int wrong, int twice, int line[ENTRIES + 1])
{
  int n = sprintf(text, "%s%% c\n\n%d 2 %d\n", REAL, ENTRIES, announced), at = 4;
  for (int k = 1; k <= ENTRIES; k++) {
    int last = k == ENTRIES, row = k == wrong || (last && wrong) ? 0 : last && twice ? twice : k;
    if (k % 7 == 3) n += sprintf(text + n, " \r\n\n"), at += 2;
    line[k] = ++at;
    n += sprintf(text + n, k % 2 ? "%d 1 %d.5\n" : "\t%d   1  %d\r\n", row, k);
  }
  return (size_t)n;
}

/* Line numbers are right however the text is cut; of two wrong lines the first is named, whoever reads it. */
static void TestLines(PoiseContext ctx)
{
  static const int64_t blocks[] = {15, 30, 150, 0};
  char text[LINES_ROOM], words[80];
  int line[ENTRIES + 1];
  PoiseMat A;
  for (int b = 0; b < 2 * LENGTH(blocks); b++)
    for (int k = 1 + b; k < ENTRIES; k += 18) {
      size_t n = MakeLines(text, ENTRIES, k, 0, line);
      snprintf(words, sizeof words, ", line %d: row 0 is outside", line[k]);
      CheckFails(ctx, LoadBlocks(ctx, text, n, b % 2, blocks[b / 2], &A), POISE_ERR_FORMAT, words);
      n = MakeLines(text, k - 1, b % 4 ? ENTRIES : k, 0, line);
      snprintf(words, sizeof words, ", line %d: more than the %d entries announced in line 4", line[k],
               k - 1);
      CheckFails(ctx, LoadBlocks(ctx, text, n, b % 2, blocks[b / 2], &A), POISE_ERR_FORMAT, words);
      n = MakeLines(text, ENTRIES, 0, k, line);
      snprintf(words, sizeof words, ", line %d: entry (%d, 1) is given again, first in line %d",
               line[ENTRIES], k, line[k]);
      CheckFails(ctx, LoadBlocks(ctx, text, n, b % 2, blocks[b / 2], &A), POISE_ERR_FORMAT, words);
      n = MakeLines(text, ENTRIES + k, 0, 0, line);
      snprintf(words, sizeof words, "ends at line %d after %d of the %d entries announced in line 4",
               line[ENTRIES], ENTRIES, ENTRIES + k);
      CheckFails(ctx, LoadBlocks(ctx, text, n, b % 2, blocks[b / 2], &A), POISE_ERR_FORMAT, words);
    }
}

/* ---- scattered entries ----------------------------------------------------------------------- */

/* about a tenth of all entries, in an order that is neither by rows nor by columns */
typedef struct Scatter {
  int M, N, step; /* step and M N have no common divisor */
  char *text;
  size_t n;
} Scatter;

static int Given(int64_t at)
{
  return TestRandom(11, (uint64_t)at) > 0.8;
}

static void MakeScatter(Scatter *s)
{
  int64_t all = (int64_t)s->M * s->N, given = 0;
  for (int64_t at = 0; at < all; at++) given += Given(at);
  s->text = malloc(200 + 48 * (size_t)given);
  s->n = (size_t)sprintf(s->text, "%s%%\r\n%d %d %lld\r\n", REAL, s->M, s->N, (long long)given);
  for (int64_t k = 0, at = 0; k < all; k++, at = (at + s->step) % all)
    if (Given(at))
      s->n += (size_t)sprintf(s->text + s->n, k % 5 ? "%lld %lld %.17g\n" : "%lld\t%lld %.17g \r\n",
                              (long long)(at / s->N) + 1, (long long)(at % s->N) + 1,
                              TestRandom(12, (uint64_t)at));
  s->n--; /* the last newline */
}

static void CheckScatter(PoiseMat A, const Scatter *s)
{
  PoiseInt begin, m;
  int64_t *ptr, *col, k = 0;
  double *val;
  int same = 1;
  PoiseSplit(PoiseMatContext(A), s->M, &begin, &m);
  if (!CHECK_OK(PoiseMatCopyCSR(A, &ptr, &col, &val))) return;
  for (PoiseInt i = 0; i < m; i++)
    for (int64_t j = 0; j < s->N; j++) {
      int64_t at = (begin + i) * s->N + j;
      if (!Given(at)) continue;
      same = same && k < ptr[i + 1] && col[k] == j &&
             SampleBits(val[k]) == SampleBits(TestRandom(12, (uint64_t)at));
      k++;
    }
  CHECK(same);
  CHECK_INT(ptr[m], k);
  free(ptr), free(col), free(val);
}

/* The same bits for any blocks, threads and ranks; more ranks than lines. */
static void TestScatter(PoiseContext ctx)
{
  static const int64_t blocks[] = {0, 10000, 40970};
  Scatter shapes[] = {
      {.M = 300, .N = 700, .step = 100003}, {.M = 700, .N = 300, .step = 1}, {.M = 2, .N = 9, .step = 5}};
  int threads = ctx->device->threads;
  for (int s = 0; s < LENGTH(shapes); s++) {
    MakeScatter(&shapes[s]);
    for (int b = 0; b < 2 * LENGTH(blocks); b++) {
      PoiseMat A;
      ctx->device->threads = 1 + b % 4;
      if (CHECK_OK(LoadBlocks(ctx, shapes[s].text, shapes[s].n, b % 2, blocks[b / 2], &A)))
        CheckScatter(A, &shapes[s]);
      CHECK_OK(PoiseMatDestroy(&A));
    }
    free(shapes[s].text);
  }
  ctx->device->threads = threads;
}

/* ---- pipes, and files that not all ranks see ------------------------------------------------- */

typedef struct Feed {
  const char *path, *text;
  size_t n;
} Feed;

static void *WriteFeed(void *arg)
{
  const Feed *feed = arg;
  FILE *f = fopen(feed->path, "w");
  if (f) fwrite(feed->text, 1, feed->n, f), fclose(f);
  return NULL;
}

/* A pipe is opened by rank 0 alone, and read once. */
static PoiseErr LoadPipe(PoiseContext ctx, const char *text, size_t n, PoiseMat *A)
{
  char path[PATH];
  pthread_t writer;
  Feed feed = {path, text, n};
  SharedName(ctx, path, "pipe.mtx");
  if (PoiseRank(ctx) == 0) CHECK(!mkfifo(path, 0600) && !pthread_create(&writer, NULL, WriteFeed, &feed));
  CHECK_OK(PoiseBarrier(ctx));
  PoiseErr e = PoiseMatLoad(ctx, path, A);
  if (PoiseRank(ctx) == 0) pthread_join(writer, NULL);
  RemoveFile(ctx, path);
  return e;
}

static void TestPipe(PoiseContext ctx)
{
  static const char wrong[] = REAL "3 3 2\n\n2 1 1\n3 y 1\n", twice[] = SYMMETRIC "3 3 2\n2 1 1\n2 1 3\n";
  Scatter s = {.M = 200, .N = 100, .step = 10007};
  PoiseMat A;
  MakeScatter(&s);
  if (CHECK_OK(LoadPipe(ctx, s.text, s.n, &A))) CheckScatter(A, &s);
  CHECK_OK(PoiseMatDestroy(&A));
  free(s.text);
  CheckFails(ctx, LoadPipe(ctx, wrong, strlen(wrong), &A), POISE_ERR_FORMAT, "pipe.mtx, line 5: column 'y'");
  CheckFails(ctx, LoadPipe(ctx, twice, strlen(twice), &A), POISE_ERR_FORMAT,
             "pipe.mtx: entry (1, 2) is given twice");
}

/* In its own folder, each rank sees another file, of the same length, or none: rank 0's is the one that is
   loaded. */
static void TestElsewhere(PoiseContext ctx)
{
  Scatter s = {.M = 200, .N = 100, .step = 10007};
  char folder[PATH], old[PATH];
  PoiseMat A;
  if (strcmp(ctx->comm->ops->name, "mpi")) TEST_SKIP("ranks that are threads share their working directory");
  MakeScatter(&s);
  TempName(folder, "folder");
  if (!CHECK(getcwd(old, sizeof old) && !mkdir(folder, 0700) && !chdir(folder))) return;
  for (int kind = 0; kind < 2; kind++) {
    if (PoiseRank(ctx) != 1 || kind) {
      FILE *f = fopen("mine.mtx", "w");
      if (PoiseRank(ctx) == 1) s.text[s.n / 2] = 'x';
      CHECK(f && fwrite(s.text, 1, s.n, f) == s.n && !fclose(f));
    }
    CHECK_OK(PoiseBarrier(ctx));
    if (CHECK_OK(poiseMatLoadMMBlocks(ctx, "mine.mtx", 5000, &A))) CheckScatter(A, &s);
    CHECK_OK(PoiseMatDestroy(&A));
  }
  CHECK(!remove("mine.mtx") && !chdir(old) && !rmdir(folder));
  free(s.text);
}

/* ---- progress -------------------------------------------------------------------------------- */

/* What rank 0 writes to its standard error, a terminal or not, when it is patient no longer. */
static void WatchProgress(PoiseContext ctx, int terminal, char seen[OUTPUT_ROOM])
{
  ErrorOutput output;
  Progress p;
  seen[0] = 0;
  if (!TakeErrorOutput(&output, terminal)) return;
  poiseProgressBegin(ctx, "some.mtx", ctx->load_progress, 0.5, &p);
  poiseProgressStep(&p, 1000000, 8000000); /* too early */
  p.begun -= 2;
  poiseProgressStep(&p, 4000000, 8000000);
  poiseProgressStep(&p, 5000000, 8000000); /* too soon again */
  poiseProgressEnd(&p);
  GiveErrorOutput(&output, seen);
}

static void TestProgress(PoiseContext ctx)
{
  char seen[OUTPUT_ROOM];
  WatchProgress(ctx, 1, seen);
  CHECK(strstr(seen, "some.mtx: 4 of 8 MB, 2 MB/s") && !strstr(seen, "1 of 8") && !strstr(seen, "5 of 8"));
  CHECK(!strcmp(seen + strlen(seen) - 5, "\r\033[K!")); /* erased */
  WatchProgress(ctx, 0, seen);
  CHECK(!strcmp(seen, "!"));
  ctx->load_progress = false;
  WatchProgress(ctx, 1, seen);
  CHECK(!strcmp(seen, "!"));
}

/* ---- files that are wrong -------------------------------------------------------------------- */

static void TestNoFile(PoiseContext ctx)
{
  char path[PATH];
  PoiseMat A;
  PoiseVec x;
  SharedName(ctx, path, "missing.mtx");
  CHECK_ERR(PoiseMatLoad(ctx, path, &A), Code(ctx, POISE_ERR_FILE), "missing.mtx': No such file");
  CHECK_ERR(PoiseVecLoad(ctx, POISE_DECIDE, POISE_DECIDE, path, &x), Code(ctx, POISE_ERR_FILE),
            "missing.mtx': No such file");
  CHECK(!A && !x);
  CHECK_ERR(PoiseMatLoad(ctx, TempRoot(), &A), Code(ctx, POISE_ERR_FILE), "Is a directory");
}

static void TestDamagedGzip(PoiseContext ctx)
{
  enum { ROOM = 1 << 16 };
  char path[PATH];
  unsigned char bytes[ROOM];
  size_t n = 0;
  PoiseMat A;
  SharedName(ctx, path, "damaged.mtx"); /* gzip is known by its content */
  if (PoiseRank(ctx) == 0) {
    gzFile gz = gzopen(path, "wb");
    gzprintf(gz, "%s3000 1 3000\n", REAL);
    for (int i = 1; i <= 3000; i++) gzprintf(gz, "%d 1 %.6f\n", i, TestRandom(6, (uint64_t)i));
    gzclose(gz);
    FILE *f = fopen(path, "rb");
    n = fread(bytes, 1, ROOM, f);
    fclose(f);
    CHECK(n > 1000 && n < ROOM);
  }
  CHECK_OK(PoiseBarrier(ctx));
  if (CHECK_OK(PoiseMatLoad(ctx, path, &A))) CHECK_OK(PoiseMatDestroy(&A));
  WriteFile(ctx, path, bytes, n / 2);
  CheckFails(ctx, PoiseMatLoad(ctx, path, &A), POISE_ERR_FORMAT,
             "damaged.mtx: the compressed file is truncated");
  WriteFile(ctx, path, bytes, n ? n - 4 : 0); /* all the text, without its length */
  CheckFails(ctx, PoiseMatLoad(ctx, path, &A), POISE_ERR_FORMAT,
             "damaged.mtx: the compressed file is truncated");
  bytes[n ? n - 6 : 0] ^= 1; /* the check sum */
  WriteFile(ctx, path, bytes, n);
  CheckFails(ctx, PoiseMatLoad(ctx, path, &A), POISE_ERR_FORMAT,
             "damaged.mtx: the compressed file is damaged");
  RemoveFile(ctx, path);
}

/* ---- round trips ----------------------------------------------------------------------------- */

typedef struct Shape {
  PoiseInt M, N;
} Shape;

static double Value(PoiseInt i, PoiseInt j)
{
  double t = TestRandom(8, (uint64_t)(i * 1000 + j));
  if ((i + j) % 7 == 0) return rint(100 * t);
  return i == j ? copysign(0, t) : t * exp2((double)((i * 37 + j * 101) % 2000) - 1000);
}

/* Rows [begin, begin + m) of the matrix above. */
static PoiseErr CreateRows(PoiseContext ctx, PoiseInt begin, PoiseInt m, Shape s, PoiseMat *A)
{
  int64_t *ptr = calloc((size_t)m + 1, sizeof *ptr), *col = malloc((size_t)(m * s.N + 1) * sizeof *col),
          nz = 0;
  double *val = malloc((size_t)(m * s.N + 1) * sizeof *val);
  for (PoiseInt i = 0; i < m; i++) {
    for (PoiseInt j = 0; j < s.N; j++)
      if (IsSaved(begin + i, j)) col[nz] = j, val[nz++] = Value(begin + i, j);
    ptr[i + 1] = nz;
  }
  PoiseErr e = PoiseMatCreateCSR(ctx, m, POISE_DECIDE, s.M, s.N,
                                 &(PoiseCSR){.ptr64 = ptr, .col64 = col, .val = val}, POISE_COPY, A);
  free(ptr), free(col), free(val);
  return e;
}

/* All rows on the last rank, or dealt out evenly: the file is the same. */
static void TestMatrix(PoiseContext ctx)
{
  static const Shape shapes[] = {{0, 0}, {0, 5}, {5, 0}, {1, 1}, {3, 40}, {40, 3}, {70, 70}, {400, 30}};
  static const char *const names[] = {"round.mtx", "round.mtx.gz"};
  for (int s = 0; s < LENGTH(shapes); s++)
    for (int even = 0; even < 2; even++)
      for (int g = 0; g < LENGTH(names); g++) {
        char path[PATH];
        PoiseInt begin = 0, m = PoiseRank(ctx) == PoiseSize(ctx) - 1 ? shapes[s].M : 0;
        PoiseMat A, B;
        SharedName(ctx, path, names[g]);
        if (even) PoiseSplit(ctx, shapes[s].M, &begin, &m);
        if (!CHECK_OK(CreateRows(ctx, begin, m, shapes[s], &A))) return;
        CHECK_OK(PoiseMatSave(A, path));
        if (CHECK_OK(PoiseMatLoad(ctx, path, &B))) CheckSavedMatrix(B, shapes[s].M, shapes[s].N, Value);
        CHECK_OK(PoiseMatDestroy(&A));
        CHECK_OK(PoiseMatDestroy(&B));
        RemoveFile(ctx, path);
      }
}

static PoiseInt ColumnOfRow(PoiseInt i)
{
  return i % 10;
}

static double ValueOfRow(PoiseInt i)
{
  return TestRandom(9, (uint64_t)i);
}

/* Text of several chunks from each rank. */
static void TestLargeMatrix(PoiseContext ctx)
{
  char path[PATH];
  SharedName(ctx, path, "large.mtx");
  CheckLargeFile(ctx, path, 60000, 10, ColumnOfRow, ValueOfRow);
}

static double EntryOf(PoiseInt i)
{
  static const double special[] = {0, -0.0, 5e-324, 0x1p-1022, 1.7976931348623157e308, -1, 1e22, 0.1};
  return i < LENGTH(special) ? special[i] : TestRandom(10, (uint64_t)i) * exp2((double)(i % 2000) - 1000);
}

static PoiseErr CreateVector(PoiseContext ctx, PoiseInt n, PoiseInt N, PoiseVec *x)
{
  POISE_TRY(PoiseVecCreate(ctx, n, N, x));
  SampleSet(*x, EntryOf);
  return POISE_OK;
}

static void TestVector(PoiseContext ctx)
{
  static const PoiseInt sizes[] = {0, 1, 6, 5000};
  static const char *const names[] = {"vector.mtx", "vector.mtx.gz"};
  for (int s = 0; s < LENGTH(sizes); s++)
    for (int g = 0; g < LENGTH(names); g++) {
      PoiseInt N = sizes[s], n = g && PoiseRank(ctx) ? 0 : g ? N : POISE_DECIDE;
      char path[PATH];
      PoiseVec x;
      SharedName(ctx, path, names[g]);
      if (!CHECK_OK(CreateVector(ctx, n, N, &x))) return;
      CHECK_OK(PoiseVecSave(x, path));
      CHECK_OK(PoiseVecDestroy(&x));
      CheckSavedVectorFile(ctx, path, N, EntryOf);
    }
}

static void TestVectorKinds(PoiseContext ctx)
{
  static const char sparse[] = REAL "4 1 2\n3 1 7\n1 1 -2\n", wide[] = ARRAY "1 2\n1\n2\n";
  char path[PATH];
  PoiseVec x;
  double norm;
  SharedName(ctx, path, "kind.mtx");
  WriteText(ctx, path, sparse);
  if (CHECK_OK(PoiseVecLoad(ctx, POISE_DECIDE, 4, path, &x))) {
    CHECK_OK(PoiseVecNorm(x, POISE_NORM_1, &norm));
    CHECK(norm == 9);
    CHECK_OK(PoiseVecNorm(x, POISE_NORM_INF, &norm));
    CHECK(norm == 7);
  }
  CHECK_OK(PoiseVecDestroy(&x));
  WriteText(ctx, path, wide);
  CHECK_ERR(PoiseVecLoad(ctx, POISE_DECIDE, POISE_DECIDE, path, &x), POISE_ERR_SIZE,
            "kind.mtx holds a 1 x 2 matrix");
  RemoveFile(ctx, path);
}

/* The decimal comma of an application's locale changes neither what is read nor what is written. */
static void TestLocale(PoiseContext ctx)
{
  char path[PATH];
  PoiseVec x, y;
  if (!setlocale(LC_NUMERIC, "de_DE.UTF-8") && !setlocale(LC_NUMERIC, "fr_FR.UTF-8"))
    TEST_SKIP("neither locale de_DE.UTF-8 nor fr_FR.UTF-8 is installed");
  SharedName(ctx, path, "locale.mtx");
  if (CHECK_OK(CreateVector(ctx, POISE_DECIDE, 500, &x))) CHECK_OK(PoiseVecSave(x, path));
  if (CHECK_OK(PoiseVecLoad(ctx, POISE_DECIDE, 500, path, &y)))
    CheckSavedVector(y, POISE_DECIDE, 500, EntryOf);
  CHECK_OK(PoiseVecDestroy(&x));
  CHECK_OK(PoiseVecDestroy(&y));
  setlocale(LC_NUMERIC, "C");
  RemoveFile(ctx, path);
}

/* ---- writing fails --------------------------------------------------------------------------- */

static int FilesIn(const char *directory)
{
  int n = 0;
  DIR *dir = opendir(directory);
  for (struct dirent *d = dir ? readdir(dir) : NULL; d; d = readdir(dir)) n += d->d_name[0] != '.';
  if (dir) closedir(dir);
  return n;
}

static void TestFullDisk(PoiseContext ctx)
{
  static const Shape shape = {400, 30}, small = {40, 3};
  static const char *const names[] = {"old.mtx", "old.mtx.gz"};
  char directory[PATH], path[PATH + 16];
  PoiseInt begin, m;
  PoiseMat A, B;
  SharedName(ctx, directory, "full");
  if (PoiseRank(ctx) == 0) CHECK(!mkdir(directory, 0700));
  PoiseSplit(ctx, shape.M, &begin, &m);
  if (!CHECK_OK(CreateRows(ctx, begin, m, shape, &A))) return;
  PoiseSplit(ctx, small.M, &begin, &m);
  if (!CHECK_OK(CreateRows(ctx, begin, m, small, &B))) return;
  for (int g = 0; g < LENGTH(names); g++) {
    snprintf(path, sizeof path, "%s/%s", directory, names[g]);
    CHECK_OK(PoiseMatSave(B, path));
    CHECK_OK(PoiseMatDestroy(&B));
    CHECK_OK(PoiseBarrier(ctx));
    if (PoiseRank(ctx) == 0) LimitFiles(4096);
    CHECK_OK(PoiseBarrier(ctx));
    CHECK_ERR(PoiseMatSave(A, path), Code(ctx, POISE_ERR_FILE), "File too large");
    CHECK_OK(PoiseBarrier(ctx));
    if (PoiseRank(ctx) == 0) {
      LimitFiles(-1);
      CHECK_INT(FilesIn(directory), 1);
    }
    CHECK_OK(PoiseBarrier(ctx));
    if (CHECK_OK(PoiseMatLoad(ctx, path, &B)))
      CheckSavedMatrix(B, small.M, small.N, Value); /* the old file */
    RemoveFile(ctx, path);
  }
  CHECK_OK(PoiseMatDestroy(&A));
  CHECK_OK(PoiseMatDestroy(&B));
  RemoveFile(ctx, directory);
}

static void TestCannotWrite(PoiseContext ctx)
{
  static const Shape shape = {40, 3};
  char path[PATH];
  PoiseInt begin, m;
  PoiseMat A;
  PoiseVec x;
  PoiseSplit(ctx, shape.M, &begin, &m);
  if (!CHECK_OK(CreateRows(ctx, begin, m, shape, &A))) return;
  SharedName(ctx, path, "no/such/directory.mtx");
  CHECK_ERR(PoiseMatSave(A, path), Code(ctx, POISE_ERR_FILE), "no/such/directory.mtx");
  CHECK_ERR(PoiseMatSave(A, TempRoot()), Code(ctx, POISE_ERR_FILE), "Is a directory");
  CHECK_ERR(PoiseMatSave(A, "/dev/full"), Code(ctx, POISE_ERR_FILE),
            "cannot write '/dev/full': No space left");
  CHECK_OK(PoiseMatDestroy(&A));
  SharedName(ctx, path, "nan.mtx");
  int last = PoiseSize(ctx) - 1; /* the failing rank is not the one that writes */
  if (!CHECK_OK(PoiseVecCreate(ctx, 2, POISE_DECIDE, &x))) return;
  CHECK_OK(PoiseVecSet(x, 1));
  CHECK_OK(PoiseVecSave(x, path));
  if (PoiseRank(ctx) == last) CHECK_OK(PoiseVecSetValues(x, 1, &(PoiseInt){2 * last + 1}, &(double){NAN}));
  CHECK_OK(PoiseVecAssemble(x));
  CHECK_ERR(PoiseVecSave(x, path), PoiseRank(ctx) == last ? POISE_ERR_NUMERIC : POISE_ERR_REMOTE,
            "is nan, which a Matrix Market");
  CHECK_OK(PoiseVecDestroy(&x));
  /* the old file */
  if (CHECK_OK(PoiseVecLoad(ctx, 2, POISE_DECIDE, path, &x))) CHECK_OK(PoiseVecDestroy(&x));
  RemoveFile(ctx, path);
}

static PoiseErr NoProduct(void *arg, PoiseVec x, PoiseVec y)
{
  (void)arg, (void)x, (void)y;
  return POISE_OK;
}

static void TestNotStored(PoiseContext ctx)
{
  char path[PATH];
  PoiseMat A;
  SharedName(ctx, path, "shell.mtx");
  if (!CHECK_OK(PoiseMatCreateShell(ctx, POISE_DECIDE, POISE_DECIDE, 4, 4, &(PoiseShell){.mult = NoProduct},
                                    NULL, &A)))
    return;
  CHECK_ERR(PoiseMatSave(A, path), POISE_ERR_UNSUPPORTED, "type shell has no entries");
  CHECK_OK(PoiseMatDestroy(&A));
  if (!CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, 4, 4, &A))) return;
  CHECK_ERR(PoiseMatSave(A, path), POISE_ERR_STATE, "not been assembled");
  CHECK_OK(PoiseMatDestroy(&A));
  if (PoiseRank(ctx) == 0) CHECK(access(path, F_OK));
}

/* ---- memory fails ---------------------------------------------------------------------------- */

typedef struct Names {
  char matrix[PATH], vector[PATH], plain[PATH];
} Names;

static PoiseErr CopyFiles(PoiseContext ctx, void *arg)
{
  const Names *names = arg;
  PoiseMat A;
  POISE_TRY(poiseMatLoadMMBlocks(ctx, names->plain, 4, &A));
  PoiseMatDestroy(&A);
  return LoadAndSave(ctx, names->matrix, names->vector);
}

static void TestMemory(PoiseContext ctx)
{
  static const char matrix[] = SYMMETRIC "5 5 6\n5 3 1\n\n1 1 2\n3 2 3\n5 1 4\n\n4 4 5\n2 2 5\n",
                    vector[] = ARRAY "3 1\n1\n2\n3\n";
  Names names;
  SharedName(ctx, names.matrix, "memory.mtx.gz");
  SharedName(ctx, names.vector, "memory_b.mtx");
  SharedName(ctx, names.plain, "memory_p.mtx");
  WriteText(ctx, names.matrix, matrix);
  WriteText(ctx, names.plain, matrix);
  WriteText(ctx, names.vector, vector);
  TestAllocationFailures(ctx, CopyFiles, &names);
  RemoveFile(ctx, names.matrix);
  RemoveFile(ctx, names.plain);
  RemoveFile(ctx, names.vector);
}

/* ---- real matrices --------------------------------------------------------------------------- */

/* The name, rows and entries that a line of the folder's README.md states. */
static int TableLine(const char *line, char name[64], PoiseInt *rows, PoiseInt *nz)
{
  long long r, k;
  if (sscanf(line, "| %63s | %*[^|]| %lld | %lld |", name, &r, &k) != 3) return 0;
  *rows = r, *nz = k;
  return 1;
}

static void CheckReal(PoiseContext ctx, const char *folder, const char *name, PoiseInt rows, PoiseInt nz)
{
  char path[2 * PATH];
  PoiseInt M, N, stored;
  PoiseMat A;
  PoiseVec b;
  snprintf(path, sizeof path, "%s/%s.mtx.gz", folder, name);
  if (!CHECK_OK(PoiseMatLoad(ctx, path, &A))) return;
  PoiseMatSizes(A, &M, &N);
  CHECK_OK(PoiseMatNonzeros(A, &stored));
  CHECK_INT(M, rows);
  CHECK_INT(N, rows);
  CHECK_INT(stored, nz);
  CHECK_OK(PoiseMatDestroy(&A));
  snprintf(path, sizeof path, "%s/%s_b.mtx.gz", folder, name);
  if (access(path, R_OK)) return;
  CHECK_OK(PoiseVecLoad(ctx, POISE_DECIDE, rows, path, &b));
  CHECK_OK(PoiseVecDestroy(&b));
}

/* The folder named by POISE_MATRICES, else the one beside the source tree. */
static void FindFolder(char folder[PATH])
{
  const char *named = getenv("POISE_MATRICES"), *source = getenv("POISE_SOURCE_DIR");
  if (named)
    snprintf(folder, PATH, "%s", named);
  else
    snprintf(folder, PATH, "%s/../shared/matrices", source ? source : ".");
}

/* Every matrix on one rank and the host, every eighth elsewhere. */
static void TestMatrices(PoiseContext ctx)
{
  char folder[PATH], path[PATH + 16], line[2048], name[64];
  PoiseInt rows, nz;
  int seen = 0;
  FindFolder(folder);
  snprintf(path, sizeof path, "%s/README.md", folder);
  FILE *readme = fopen(path, "r");
  if (!readme)
    TEST_SKIP("no README.md in the folder named by POISE_MATRICES (default: shared/matrices beside the "
              "source tree)");
  int step = PoiseSize(ctx) == 1 && !strcmp(ctx->device->ops->name, "host") ? 1 : 8;
  while (fgets(line, sizeof line, readme))
    if (TableLine(line, name, &rows, &nz) && seen++ % step == 0) CheckReal(ctx, folder, name, rows, nz);
  CHECK(seen > 0);
  fclose(readme);
}

static const Test tests[] = {
    {"real", TestReal, TEST_SERIAL | TEST_HOST_ONLY},
    {"format", TestFormat, TEST_SERIAL | TEST_HOST_ONLY},
    {"sort", TestSort, TEST_SERIAL | TEST_HOST_ONLY},
    {"chunks", TestChunks, TEST_HOST_ONLY},
    {"long_lines", TestLongLines, TEST_HOST_ONLY},
    {"endless", TestEndless, TEST_HOST_ONLY},
    {"endless_files", TestEndlessFiles, TEST_HOST_ONLY},
    {"progress", TestProgress, TEST_SERIAL | TEST_HOST_ONLY},
    {"locale", TestLocale, TEST_SERIAL | TEST_HOST_ONLY},
    {"good", TestGood, 0},
    {"bad", TestBad, 0},
    {"truncated", TestTruncated, 0},
    {"lines", TestLines, TEST_HOST_ONLY},
    {"scatter", TestScatter, 0},
    {"pipe", TestPipe, TEST_HOST_ONLY},
    {"elsewhere", TestElsewhere, TEST_HOST_ONLY},
    {"no_file", TestNoFile, 0},
    {"damaged_gzip", TestDamagedGzip, 0},
    {"given_out", TestGivenOut, 0},
    {"matrix", TestMatrix, 0},
    {"large_matrix", TestLargeMatrix, 0},
    {"vector", TestVector, 0},
    {"vector_kinds", TestVectorKinds, 0},
    {"full_disk", TestFullDisk, 0},
    {"cannot_write", TestCannotWrite, 0},
    {"not_stored", TestNotStored, 0},
    {"memory", TestMemory, 0},
    {"matrices", TestMatrices, 0},
    {NULL, NULL, 0},
};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "mm", tests);
}
