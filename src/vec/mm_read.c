/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Matrix Market text to entries. The text is read through one buffer whose part up to the last newline is parsed in
  place: every scan ends at a newline at the latest.
*/
#include <errno.h>
#include <stdio.h>
#include <zlib.h>

#include "mm.h"

enum {
  CAPACITY = 1 << 18, /* of the buffer; no line but a comment may be longer */
  SHOWN = 40          /* characters of a file that a message quotes */
};

typedef struct Reader {
  PoiseContext ctx;
  const MMSource *source;
  int64_t line;                   /* number of the present line */
  char *buffer, *end, *lines_end; /* [buffer, end) was read; [lines_end, end) is a part of a line */
  const char *next;               /* the present line, or what follows once that is left */
  bool at_end, dropping;          /* dropping: the rest of a line longer than the buffer */
} Reader;

#define LARGEST (INT64_MAX / 2) /* size; a few more do not overflow */

#define FAIL_HERE(r, code, format, ...) \
  FAIL(code, "%s, line %lld: " format, (r)->source->name, (long long)(r)->line, __VA_ARGS__)

/* ---- lines ---------------------------------------------------------------------------------------------------------- */

static PoiseErr Fill(Reader *r)
{
  size_t n;
  while (!r->at_end && r->end < r->buffer + CAPACITY) {
    TRY(r->source->read(r->source->from, r->end, (size_t)(r->buffer + CAPACITY - r->end), &n));
    r->end += n;
    r->at_end = n == 0;
    char *newline = r->dropping ? memchr(r->buffer, '\n', (size_t)(r->end - r->buffer)) : NULL;
    if (newline) {
      memmove(r->buffer, newline + 1, (size_t)(r->end - newline - 1));
      r->end -= newline + 1 - r->buffer;
      r->dropping = false;
    } else if (r->dropping) {
      r->end = r->buffer;
    }
  }
  return POISE_OK;
}

/* Read on behind the lines in the buffer, which are done with. */
static PoiseErr Refill(Reader *r)
{
  size_t part = (size_t)(r->end - r->lines_end);
  memmove(r->buffer, r->lines_end, part);
  r->next = r->buffer;
  r->end = r->buffer + part;
  TRY(Fill(r));
  if (r->at_end && r->end > r->buffer && r->end[-1] != '\n') *r->end++ = '\n';
  r->lines_end = r->end;
  while (!r->at_end && r->lines_end > r->buffer && r->lines_end[-1] != '\n') r->lines_end--;
  if (r->at_end || r->lines_end > r->buffer) return POISE_OK;
  if (*r->buffer != '%') /* of a comment the first part will do */
    FAIL(POISE_ERR_FORMAT, "%s, line %lld: longer than %d characters", r->source->name, (long long)r->line + 1, CAPACITY);
  r->dropping = true;
  *r->end++ = '\n';
  r->lines_end = r->end;
  return POISE_OK;
}

static bool IsBlank(char c)
{
  return c == ' ' || (c >= '\t' && c <= '\r' && c != '\n');
}

static const char *SkipBlanks(const char *p)
{
  while (IsBlank(*p)) p++;
  return p;
}

/* The first word of the next line that has one; NULL at the end. */
static PoiseErr NextLine(Reader *r, const char **word)
{
  for (;;) {
    if (r->next == r->lines_end) TRY(Refill(r));
    if (r->next == r->lines_end) break;
    r->line++;
    *word = SkipBlanks(r->next);
    if (**word != '\n') return POISE_OK;
    r->next = *word + 1;
  }
  *word = NULL;
  return POISE_OK;
}

static bool IsWordEnd(char c)
{
  return IsBlank(c) || c == '\n';
}

static int WordLength(const char *p)
{
  int n = 0;
  while (!IsWordEnd(p[n])) n++;
  return n;
}

/* The word at p, fit for a message. */
static const char *Show(const char *p, char shown[SHOWN + 4])
{
  int n = WordLength(p);
  for (int i = 0; i < n && i < SHOWN; i++) shown[i] = p[i] < ' ' || p[i] > '~' ? '?' : p[i];
  strcpy(shown + (n < SHOWN ? n : SHOWN), n > SHOWN ? "..." : "");
  return shown;
}

/* Nothing but blanks may follow p in its line, which is left. */
static PoiseErr EndLine(Reader *r, const char *p)
{
  char shown[SHOWN + 4];
  p = SkipBlanks(p);
  if (*p != '\n') FAIL_HERE(r, POISE_ERR_FORMAT, "unexpected '%s' at the end of the line", Show(p, shown));
  r->next = p + 1;
  return POISE_OK;
}

/* ---- numbers -------------------------------------------------------------------------------------------------------- */

/* A whole number in [low, high] that ends its word; *v = -1 if there is none. Gives the character after it. */
static const char *ScanInt(const char *p, PoiseInt low, PoiseInt high, PoiseInt *v)
{
  const uint64_t limit = (UINT64_MAX - 9) / 10; /* one more digit fits */
  uint64_t n = 0;
  *v = -1;
  if (*p == '+') p++;
  const char *first = p;
  for (; *p >= '0' && *p <= '9'; p++) n = n > limit ? UINT64_MAX : n * 10 + (uint64_t)(*p - '0');
  if (p > first && IsWordEnd(*p) && n >= (uint64_t)low && n <= (uint64_t)high) *v = (PoiseInt)n;
  return p;
}

/* Say what is wrong with the whole number at p. */
static PoiseErr BadInt(const Reader *r, const char *p, PoiseInt low, PoiseInt high, const char *what)
{
  char shown[SHOWN + 4];
  int n = WordLength(p), i = *p == '-' || *p == '+';
  bool digits = n > i;
  for (; i < n; i++) digits = digits && p[i] >= '0' && p[i] <= '9';
  if (!n) FAIL_HERE(r, POISE_ERR_FORMAT, "the %s is missing", what);
  if (!digits) FAIL_HERE(r, POISE_ERR_FORMAT, "%s '%s' is not a whole number", what, Show(p, shown));
  FAIL_HERE(r, POISE_ERR_FORMAT, "%s %s is outside %lld to %lld", what, Show(p, shown), (long long)low, (long long)high);
}

static PoiseErr ParseInt(const Reader *r, const char **p, PoiseInt low, PoiseInt high, const char *what, PoiseInt *v)
{
  const char *word = SkipBlanks(*p);
  *p = ScanInt(word, low, high, v);
  return *v < 0 ? BadInt(r, word, low, high, what) : POISE_OK;
}

static PoiseErr BadReal(const Reader *r, const char *p, bool number)
{
  char shown[SHOWN + 4];
  const char *unsigned_p = p + (*p == '-' || *p == '+');
  char letter = (char)(*unsigned_p | 0x20); /* of nan, inf and infinity */
  if (IsWordEnd(*p)) FAIL_HERE(r, POISE_ERR_FORMAT, "%s", "the value is missing");
  if (number || letter == 'n' || letter == 'i')
    FAIL_HERE(r, POISE_ERR_FORMAT, "value '%s' is not a finite number", Show(p, shown));
  FAIL_HERE(r, POISE_ERR_FORMAT, "value '%s' is not a number", Show(p, shown));
}

static PoiseErr ParseValue(const Reader *r, const char **p, bool whole, double *v)
{
  char shown[SHOWN + 4];
  const char *word = SkipBlanks(*p), *end = poiseParseReal(word, v);
  bool number = end && IsWordEnd(*end);
  if (!number || !isfinite(*v)) return BadReal(r, word, number);
  if (whole && *v != rint(*v))
    FAIL_HERE(r, POISE_ERR_FORMAT, "value %s of an integer file is not whole", Show(word, shown));
  *p = end;
  return POISE_OK;
}

/* ---- header --------------------------------------------------------------------------------------------------------- */

typedef enum Field { REAL, INTEGER, PATTERN } Field;

typedef struct Header {
  Field field;
  int64_t stored, line; /* entries announced, and where */
} Header;

/* Is the word at p, in any case, this one? */
static bool WordIs(const char *p, const char *word)
{
  int n = WordLength(p);
  for (int i = 0; i < n; i++) {
    char c = p[i] >= 'A' && p[i] <= 'Z' ? (char)(p[i] + 32) : p[i];
    if (!word[i] || c != word[i]) return false;
  }
  return !word[n];
}

typedef struct Choice {
  const char *what, *read; /* what can be read, for messages */
  int supported;           /* the words from here on are known, but cannot be read */
  const char *words[5];
} Choice;

/* *chosen = the place among the words of the next word of the line. */
static PoiseErr ParseChoice(const Reader *r, const char **p, const Choice *c, int *chosen)
{
  char shown[SHOWN + 4];
  const char *word = SkipBlanks(*p);
  int i = 0;
  while (c->words[i] && !WordIs(word, c->words[i])) i++;
  if (*word == '\n') FAIL_HERE(r, POISE_ERR_FORMAT, "the %s is missing (%s)", c->what, c->read);
  if (!c->words[i])
    FAIL_HERE(r, POISE_ERR_FORMAT, "unknown %s '%s' (can be read: %s)", c->what, Show(word, shown), c->read);
  if (i >= c->supported)
    FAIL_HERE(r, POISE_ERR_UNSUPPORTED, "%s '%s' is not supported (can be read: %s)", c->what, c->words[i], c->read);
  *chosen = i;
  *p = word + WordLength(word);
  return POISE_OK;
}

static PoiseErr ParseBanner(Reader *r, MMFile *f, Header *h)
{
  static const Choice objects = {"object", "matrix", 1, {"matrix", "vector"}},
                      formats = {"format", "coordinate, array", 2, {"coordinate", "array"}},
                      fields = {"kind of values", "real, integer, pattern", 3, {"real", "integer", "pattern", "complex"}},
                      symmetries = {"symmetry",
                                    "general, symmetric, skew-symmetric",
                                    3,
                                    {"general", "symmetric", "skew-symmetric", "hermitian"}};
  const char *p;
  int object, format, field, symmetry;
  TRY(NextLine(r, &p));
  if (!p) FAIL(POISE_ERR_FORMAT, "%s: the file is empty", r->source->name);
  if (r->line > 1 || !WordIs(p, "%%matrixmarket"))
    FAIL(POISE_ERR_FORMAT, "%s is not a Matrix Market file: line 1 does not begin with %%%%MatrixMarket", r->source->name);
  p += WordLength(p);
  TRY(ParseChoice(r, &p, &objects, &object));
  TRY(ParseChoice(r, &p, &formats, &format));
  TRY(ParseChoice(r, &p, &fields, &field));
  TRY(ParseChoice(r, &p, &symmetries, &symmetry));
  f->array = format == 1;
  f->symmetry = (MMSymmetry)symmetry;
  h->field = (Field)field;
  if (h->field == PATTERN && (f->array || f->symmetry == MM_SKEW))
    FAIL_HERE(r, POISE_ERR_FORMAT, "%s has values: its kind cannot be pattern",
              f->array ? "an array" : "a skew-symmetric matrix");
  return EndLine(r, p);
}

/* Entries of an array. */
static PoiseErr CountArray(const Reader *r, const MMFile *f, int64_t *stored)
{
  if (f->N && f->M > INT64_MAX / f->N)
    FAIL_HERE(r, POISE_ERR_FORMAT, "an array of %lld x %lld entries is too large", (long long)f->M, (long long)f->N);
  *stored = f->M * f->N;
  if (f->symmetry != MM_GENERAL) *stored = (*stored - f->N) / 2 + (f->symmetry == MM_SYMMETRIC ? f->N : 0);
  return POISE_OK;
}

static PoiseErr ParseSizes(Reader *r, MMFile *f, Header *h)
{
  const char *p;
  do {
    TRY(NextLine(r, &p));
    if (!p)
      FAIL(POISE_ERR_FORMAT, "%s: the file ends after line %lld, before the sizes", r->source->name, (long long)r->line);
    if (*p == '%') r->next = (const char *)memchr(p, '\n', (size_t)(r->lines_end - p)) + 1;
  } while (*p == '%');
  TRY(ParseInt(r, &p, 0, LARGEST, "number of rows", &f->M));
  TRY(ParseInt(r, &p, 0, LARGEST, "number of columns", &f->N));
  if (f->symmetry != MM_GENERAL && f->M != f->N)
    FAIL_HERE(r, POISE_ERR_FORMAT, "a symmetric or skew-symmetric matrix cannot be %lld x %lld", (long long)f->M,
              (long long)f->N);
  if (f->array)
    TRY(CountArray(r, f, &h->stored));
  else
    TRY(ParseInt(r, &p, 0, LARGEST, "number of entries", &h->stored));
  h->line = r->line;
  return EndLine(r, p);
}

/* ---- entries -------------------------------------------------------------------------------------------------------- */

/* Lines follow each other almost always; where they do not, remember. */
static PoiseErr NoteLine(PoiseContext ctx, MMFile *f, int64_t entry, int64_t line)
{
  if (f->ngap && f->gap[f->ngap - 1].line + entry - f->gap[f->ngap - 1].entry == line) return POISE_OK;
  if (f->ngap == f->gap_capacity) {
    int64_t capacity = 2 * f->gap_capacity + 16;
    TRY(poiseRealloc(ctx, (size_t)capacity * sizeof(MMGap), (size_t)f->ngap * sizeof(MMGap), "lines of a file", &f->gap));
    f->gap_capacity = capacity;
  }
  f->gap[f->ngap++] = (MMGap){entry, line};
  return POISE_OK;
}

static int64_t LineOf(const MMFile *f, int64_t entry)
{
  int64_t g = f->ngap - 1;
  while (f->gap[g].entry > entry) g--;
  return f->gap[g].line + entry - f->gap[g].entry;
}

/* Only the lower triangle is stored when the other follows from it. */
static PoiseErr CheckTriangle(const Reader *r, const MMFile *f, const Entry *t)
{
  bool skew = f->symmetry == MM_SKEW;
  if (t->row > t->col || (t->row == t->col && (!skew || t->value == 0))) return POISE_OK;
  if (t->row == t->col)
    FAIL_HERE(r, POISE_ERR_FORMAT, "diagonal entry (%lld, %lld) = %g of a skew-symmetric matrix is not zero",
              (long long)t->row + 1, (long long)t->col + 1, t->value);
  FAIL_HERE(r, POISE_ERR_FORMAT, "entry (%lld, %lld) lies above the diagonal, which a %s file does not store",
            (long long)t->row + 1, (long long)t->col + 1, skew ? "skew-symmetric" : "symmetric");
}

static PoiseErr StartEntry(Reader *r, const Header *h, int64_t entry, const char **p)
{
  TRY(NextLine(r, p));
  if (*p) return POISE_OK;
  FAIL(POISE_ERR_FORMAT, "%s: the file ends at line %lld after %lld of the %lld entries announced in line %lld",
       r->source->name, (long long)r->line, (long long)entry, (long long)h->stored, (long long)h->line);
}

static PoiseErr ParseCoordinates(Reader *r, const Header *h, MMFile *f)
{
  const char *p;
  for (int64_t k = 0; k < h->stored; k++) {
    Entry t = {.value = 1};
    TRY(StartEntry(r, h, k, &p));
    TRY(ParseInt(r, &p, 1, f->M, "row", &t.row));
    TRY(ParseInt(r, &p, 1, f->N, "column", &t.col));
    if (h->field != PATTERN) TRY(ParseValue(r, &p, h->field == INTEGER, &t.value));
    t.row--, t.col--;
    if (f->symmetry != MM_GENERAL) TRY(CheckTriangle(r, f, &t));
    TRY(EndLine(r, p));
    TRY(NoteLine(r->ctx, f, k, r->line));
    TRY(poiseStashAdd(r->ctx, &f->entries, t.row, t.col, t.value));
  }
  return POISE_OK;
}

static PoiseErr ParseArray(Reader *r, const Header *h, MMFile *f)
{
  const char *p;
  for (int64_t k = 0, j = 0, i = f->symmetry == MM_SKEW; k < h->stored; k++, i++) {
    double v;
    if (i == f->M) j++, i = f->symmetry == MM_GENERAL ? 0 : f->symmetry == MM_SYMMETRIC ? j : j + 1;
    TRY(StartEntry(r, h, k, &p));
    TRY(ParseValue(r, &p, h->field == INTEGER, &v));
    TRY(EndLine(r, p));
    TRY(poiseStashAdd(r->ctx, &f->entries, i, j, v));
  }
  return POISE_OK;
}

static PoiseErr ParseAll(Reader *r, MMFile *f)
{
  Header h;
  const char *p;
  TRY(ParseBanner(r, f, &h));
  TRY(ParseSizes(r, f, &h));
  TRY(f->array ? ParseArray(r, &h, f) : ParseCoordinates(r, &h, f));
  TRY(NextLine(r, &p));
  if (!p) return POISE_OK;
  FAIL_HERE(r, POISE_ERR_FORMAT, "more than the %lld entries announced in line %lld", (long long)h.stored,
            (long long)h.line);
}

PoiseErr poiseMMParse(PoiseContext ctx, const MMSource *source, MMFile *f)
{
  Reader r = {.ctx = ctx, .source = source};
  *f = (MMFile){0};
  TRY(poiseAlloc(ctx, CAPACITY + 1, "buffer of a file", &r.buffer));
  r.next = r.lines_end = r.end = r.buffer;
  PoiseErr e = ParseAll(&r, f);
  poiseFree(ctx, &r.buffer);
  if (e) poiseMMFileDestroy(ctx, f);
  return e;
}

void poiseMMFileDestroy(PoiseContext ctx, MMFile *f)
{
  poiseStashDestroy(ctx, &f->entries);
  poiseFree(ctx, &f->gap);
  *f = (MMFile){0};
}

/* ---- files ---------------------------------------------------------------------------------------------------------- */

typedef struct Input {
  gzFile gz;
  const char *path;
} Input;

static PoiseErr ReadInput(void *from, char *buffer, size_t size, size_t *n)
{
  Input *in = from;
  int error = Z_OK, got = gzread(in->gz, buffer, (unsigned)size);
  const char *words = gzerror(in->gz, &error);
  *n = got > 0 ? (size_t)got : 0;
  if (error == Z_ERRNO) FAIL(POISE_ERR_FILE, "cannot read '%s': %s", in->path, strerror(errno));
  if (error == Z_MEM_ERROR) FAIL(POISE_ERR_MEMORY, "no memory to decompress '%s'", in->path);
  if (error == Z_BUF_ERROR) FAIL(POISE_ERR_FORMAT, "%s: the compressed file is truncated", in->path);
  if (got < 0 || error < 0) FAIL(POISE_ERR_FORMAT, "%s: the compressed file is damaged (%s)", in->path, words);
  return POISE_OK;
}

PoiseErr poiseMMRead(PoiseContext ctx, const char *path, MMFile *f)
{
  Input in = {.path = path};
  *f = (MMFile){0};
  errno = 0;
  in.gz = gzopen(path, "rbe");
  if (!in.gz && !errno) FAIL(POISE_ERR_MEMORY, "no memory to open '%s'", path);
  if (!in.gz) FAIL(POISE_ERR_FILE, "cannot open '%s': %s", path, strerror(errno));
  (void)gzbuffer(in.gz, CAPACITY / 2); /* only for speed */
  PoiseErr e = poiseMMParse(ctx, &(MMSource){ReadInput, &in, path}, f);
  (void)gzclose_r(in.gz);
  return e;
}

/* ---- rows ----------------------------------------------------------------------------------------------------------- */

static bool Mirrored(const MMFile *f, const Entry *t)
{
  return f->symmetry != MM_GENERAL && t->row != t->col;
}

static void Put(MMRows *rows, PoiseInt i, PoiseInt j, double v)
{
  int64_t k = rows->ptr[i + 1]++;
  rows->col[k] = j;
  rows->val[k] = v;
}

/* Counting sort: ptr[i + 1] is first where row i starts, and where it ends when all are placed. */
static PoiseErr SortByRows(PoiseContext ctx, const MMFile *f, MMRows *rows)
{
  int64_t nz = f->entries.n;
  TRY(poiseAllocArray(ctx, f->M + 2, sizeof(int64_t), "row offsets", &rows->ptr));
  for (int64_t k = 0; k < f->entries.n; k++) {
    const Entry *t = &f->entries.entry[k];
    rows->ptr[t->row + 2]++;
    if (Mirrored(f, t)) rows->ptr[t->col + 2]++, nz++;
  }
  for (PoiseInt i = 0; i < f->M; i++) rows->ptr[i + 2] += rows->ptr[i + 1];
  TRY(poiseAllocArray(ctx, nz, sizeof(PoiseInt), "columns", &rows->col));
  TRY(poiseAllocArray(ctx, nz, sizeof(double), "values", &rows->val));
  for (int64_t k = 0; k < f->entries.n; k++) {
    const Entry *t = &f->entries.entry[k];
    Put(rows, t->row, t->col, t->value);
    if (Mirrored(f, t)) Put(rows, t->col, t->row, f->symmetry == MM_SKEW ? -t->value : t->value);
  }
  return POISE_OK;
}

static PoiseErr FailTwice(const char *name, const MMFile *f, PoiseInt i, PoiseInt j)
{
  int64_t found[2], n = 0;
  for (int64_t k = 0; n < 2; k++) {
    const Entry *t = &f->entries.entry[k];
    if ((t->row == i && t->col == j) || (Mirrored(f, t) && t->row == j && t->col == i)) found[n++] = k;
  }
  const Entry *t = &f->entries.entry[found[0]];
  FAIL(POISE_ERR_FORMAT, "%s, line %lld: entry (%lld, %lld) is given again, first in line %lld", name,
       (long long)LineOf(f, found[1]), (long long)t->row + 1, (long long)t->col + 1, (long long)LineOf(f, found[0]));
}

static int CompareInts(const void *a, const void *b)
{
  PoiseInt x = *(const PoiseInt *)a, y = *(const PoiseInt *)b;
  return (x > y) - (x < y);
}

/* *twice = a column that stands twice among the n of a row, or -1. */
static PoiseErr FindTwice(PoiseContext ctx, const PoiseInt *col, int64_t n, PoiseInt *twice)
{
  PoiseInt *sorted;
  int64_t k = 1;
  *twice = -1;
  while (k < n && col[k] > col[k - 1]) k++;
  if (k >= n) return POISE_OK; /* as in most files */
  TRY(poiseAllocArray(ctx, n, sizeof *col, "columns of a row", &sorted));
  memcpy(sorted, col, (size_t)n * sizeof *col);
  qsort(sorted, (size_t)n, sizeof *col, CompareInts);
  for (k = 1; k < n && *twice < 0; k++)
    if (sorted[k] == sorted[k - 1]) *twice = sorted[k];
  poiseFree(ctx, &sorted);
  return POISE_OK;
}

static PoiseErr FillRows(PoiseContext ctx, const char *name, const MMFile *f, MMRows *rows)
{
  PoiseInt twice;
  TRY(SortByRows(ctx, f, rows));
  for (PoiseInt i = 0; f->entries.n && i < f->M; i++) {
    TRY(FindTwice(ctx, rows->col + rows->ptr[i], rows->ptr[i + 1] - rows->ptr[i], &twice));
    if (twice >= 0) return FailTwice(name, f, i, twice);
  }
  return POISE_OK;
}

PoiseErr poiseMMRows(PoiseContext ctx, const char *name, const MMFile *f, MMRows *rows)
{
  *rows = (MMRows){.M = f->M, .N = f->N};
  PoiseErr e = FillRows(ctx, name, f, rows);
  if (e) poiseMMRowsDestroy(ctx, rows);
  return e;
}

void poiseMMRowsDestroy(PoiseContext ctx, MMRows *rows)
{
  poiseFree(ctx, &rows->ptr);
  poiseFree(ctx, &rows->col);
  poiseFree(ctx, &rows->val);
  *rows = (MMRows){0};
}
