/* SPDX-License-Identifier: BSD-3-Clause */
/* Parse Matrix Market text into header and entries. Lines are parsed in place: every scan ends at a
   newline at the latest. */
#include <stdio.h>

#include "mm.h"

enum { SHOWN = 40 }; /* characters of a file that a message quotes */

#define LARGEST (INT64_MAX / 2) /* size; a few more do not overflow */

#define FAIL_AT(at, code, format, ...) \
  FAIL(code, "%s, line %lld: " format, (at)->name, (long long)(at)->line, __VA_ARGS__)

/* ---- words ----------------------------------------------------------------------------------- */

static bool IsBlank(char c)
{
  return c == ' ' || (c >= '\t' && c <= '\r' && c != '\n');
}

static const char *SkipBlanks(const char *p)
{
  while (IsBlank(*p)) p++;
  return p;
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

/* Check that only blanks follow *p in its line, and go to the newline. */
static PoiseErr EndLine(const MMPlace *at, const char **p)
{
  char shown[SHOWN + 4];
  *p = SkipBlanks(*p);
  if (**p == '\n') return POISE_OK;
  FAIL_AT(at, POISE_ERR_FORMAT, "unexpected '%s' at the end of the line", Show(*p, shown));
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* A whole number in [low, high] that ends its word; *v = -1 if there is none. Returns the character after
   it. */
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

/* Report what is wrong with the whole number at p. */
static PoiseErr BadInt(const MMPlace *at, const char *p, PoiseInt low, PoiseInt high, const char *what)
{
  char shown[SHOWN + 4];
  int n = WordLength(p), i = *p == '-' || *p == '+';
  bool digits = n > i;
  for (; i < n; i++) digits = digits && p[i] >= '0' && p[i] <= '9';
  if (!n) FAIL_AT(at, POISE_ERR_FORMAT, "the %s is missing", what);
  if (!digits) FAIL_AT(at, POISE_ERR_FORMAT, "%s '%s' is not a whole number", what, Show(p, shown));
  FAIL_AT(at, POISE_ERR_FORMAT, "%s %s is outside %lld to %lld", what, Show(p, shown), (long long)low,
          (long long)high);
}

static PoiseErr ParseInt(const MMPlace *at, const char **p, PoiseInt low, PoiseInt high, const char *what,
                         PoiseInt *v)
{
  const char *word = SkipBlanks(*p);
  *p = ScanInt(word, low, high, v);
  return *v < 0 ? BadInt(at, word, low, high, what) : POISE_OK;
}

static PoiseErr BadReal(const MMPlace *at, const char *p, bool number)
{
  char shown[SHOWN + 4];
  const char *unsigned_p = p + (*p == '-' || *p == '+');
  char letter = (char)(*unsigned_p | 0x20); /* first letter of nan, inf and infinity */
  if (IsWordEnd(*p)) FAIL_AT(at, POISE_ERR_FORMAT, "%s", "the value is missing");
  if (number || letter == 'n' || letter == 'i')
    FAIL_AT(at, POISE_ERR_FORMAT, "value '%s' is not a finite number", Show(p, shown));
  FAIL_AT(at, POISE_ERR_FORMAT, "value '%s' is not a number", Show(p, shown));
}

static PoiseErr ParseValue(const MMPlace *at, const char **p, bool whole, double *v)
{
  char shown[SHOWN + 4];
  const char *word = SkipBlanks(*p), *end = poiseParseReal(word, v);
  bool number = end && IsWordEnd(*end);
  if (!number || !isfinite(*v)) return BadReal(at, word, number);
  if (whole && *v != rint(*v))
    FAIL_AT(at, POISE_ERR_FORMAT, "value %s of an integer file is not whole", Show(word, shown));
  *p = end;
  return POISE_OK;
}

/* ---- header ---------------------------------------------------------------------------------- */

typedef struct Lines {
  PoiseErr (*next)(void *from, const char **line);
  void *from;
  MMPlace *at;
} Lines;

/* The first word of the next line that has one; NULL at the end. A comment behind the first line may be
   cut. */
static PoiseErr NextLine(const Lines *l, const char **word)
{
  const char *line;
  do {
    TRY(l->next(l->from, &line));
    *word = line;
    if (!line) return POISE_OK;
    l->at->line++;
    *word = SkipBlanks(line);
    if ((**word != '%' || l->at->line == 1) && !memchr(line, '\n', MM_LONGEST + 1))
      FAIL_AT(l->at, POISE_ERR_FORMAT, "longer than %d characters", MM_LONGEST);
  } while (**word == '\n');
  return POISE_OK;
}

/* Is the word at p this one, ignoring case? */
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
  int supported;           /* words from this index on are known, but not supported */
  const char *words[5];
} Choice;

/* *chosen = the index of the line's next word among the choices. */
static PoiseErr ParseChoice(const MMPlace *at, const char **p, const Choice *c, int *chosen)
{
  char shown[SHOWN + 4];
  const char *word = SkipBlanks(*p);
  int i = 0;
  while (c->words[i] && !WordIs(word, c->words[i])) i++;
  if (*word == '\n') FAIL_AT(at, POISE_ERR_FORMAT, "the %s is missing (%s)", c->what, c->read);
  if (!c->words[i])
    FAIL_AT(at, POISE_ERR_FORMAT, "unknown %s '%s' (can be read: %s)", c->what, Show(word, shown), c->read);
  if (i >= c->supported)
    FAIL_AT(at, POISE_ERR_UNSUPPORTED, "%s '%s' is not supported (can be read: %s)", c->what, c->words[i],
            c->read);
  *chosen = i;
  *p = word + WordLength(word);
  return POISE_OK;
}

static PoiseErr ParseBanner(const Lines *l, MMHeader *h)
{
  static const Choice objects = {"object", "matrix", 1, {"matrix", "vector"}},
                      formats = {"format", "coordinate, array", 2, {"coordinate", "array"}},
                      fields = {"kind of values",
                                "real, integer, pattern",
                                3,
                                {"real", "integer", "pattern", "complex"}},
                      symmetries = {"symmetry",
                                    "general, symmetric, skew-symmetric",
                                    3,
                                    {"general", "symmetric", "skew-symmetric", "hermitian"}};
  const MMPlace *at = l->at;
  const char *p;
  int object, format, field, symmetry;
  TRY(NextLine(l, &p));
  if (!p) FAIL(POISE_ERR_FORMAT, "%s: the file is empty", at->name);
  if (at->line > 1 || !WordIs(p, "%%matrixmarket"))
    FAIL(POISE_ERR_FORMAT, "%s is not a Matrix Market file: line 1 does not begin with %%%%MatrixMarket",
         at->name);
  p += WordLength(p);
  TRY(ParseChoice(at, &p, &objects, &object));
  TRY(ParseChoice(at, &p, &formats, &format));
  TRY(ParseChoice(at, &p, &fields, &field));
  TRY(ParseChoice(at, &p, &symmetries, &symmetry));
  h->array = format == 1;
  h->symmetry = (MMSymmetry)symmetry;
  h->field = (MMField)field;
  if (h->field == MM_PATTERN && (h->array || h->symmetry == MM_SKEW))
    FAIL_AT(at, POISE_ERR_FORMAT, "%s has values: its kind cannot be pattern",
            h->array ? "an array" : "a skew-symmetric matrix");
  return EndLine(at, &p);
}

/* Entries of an array. */
static PoiseErr CountArray(const MMPlace *at, MMHeader *h)
{
  if (h->N && h->M > INT64_MAX / h->N)
    FAIL_AT(at, POISE_ERR_FORMAT, "an array of %lld x %lld entries is too large", (long long)h->M,
            (long long)h->N);
  h->stored = h->M * h->N;
  if (h->symmetry != MM_GENERAL)
    h->stored = (h->stored - h->N) / 2 + (h->symmetry == MM_SYMMETRIC ? h->N : 0);
  return POISE_OK;
}

static PoiseErr ParseSizes(const Lines *l, MMHeader *h)
{
  const MMPlace *at = l->at;
  const char *p;
  do {
    TRY(NextLine(l, &p));
    if (!p)
      FAIL(POISE_ERR_FORMAT, "%s: the file ends after line %lld, before the sizes", at->name,
           (long long)at->line);
  } while (*p == '%');
  TRY(ParseInt(at, &p, 0, LARGEST, "number of rows", &h->M));
  TRY(ParseInt(at, &p, 0, LARGEST, "number of columns", &h->N));
  if (h->symmetry != MM_GENERAL && h->M != h->N)
    FAIL_AT(at, POISE_ERR_FORMAT, "a symmetric or skew-symmetric matrix cannot be %lld x %lld",
            (long long)h->M, (long long)h->N);
  if (h->array)
    TRY(CountArray(at, h));
  else
    TRY(ParseInt(at, &p, 0, LARGEST, "number of entries", &h->stored));
  h->line = at->line;
  return EndLine(at, &p);
}

PoiseErr poiseMMHeader(PoiseErr (*next)(void *from, const char **line), void *from, MMPlace *at, MMHeader *h)
{
  Lines lines = {next, from, at};
  *h = (MMHeader){0};
  TRY(ParseBanner(&lines, h));
  return ParseSizes(&lines, h);
}

/* ---- entries --------------------------------------------------------------------------------- */

int poiseMMShortest(const MMHeader *h)
{
  return h->array ? 2 : 4; /* "1\n", "1 1\n" */
}

/* Check that an entry is in the lower triangle, if the other triangle follows from it. */
static PoiseErr CheckTriangle(const MMPlace *at, const MMHeader *h, const Entry *t)
{
  bool skew = h->symmetry == MM_SKEW;
  if (t->row > t->col || (t->row == t->col && (!skew || t->value == 0))) return POISE_OK;
  if (t->row == t->col)
    FAIL_AT(at, POISE_ERR_FORMAT, "diagonal entry (%lld, %lld) = %g of a skew-symmetric matrix is not zero",
            (long long)t->row + 1, (long long)t->col + 1, t->value);
  FAIL_AT(at, POISE_ERR_FORMAT, "entry (%lld, %lld) lies above the diagonal, which a %s file does not store",
          (long long)t->row + 1, (long long)t->col + 1, skew ? "skew-symmetric" : "symmetric");
}

/* Parse the line at *p, which is not blank, up to its newline. */
static PoiseErr ParseEntry(const MMHeader *h, const MMPlace *at, const char **p, Entry *t)
{
  *t = (Entry){.value = 1};
  if (!h->array) {
    TRY(ParseInt(at, p, 1, h->M, "row", &t->row));
    TRY(ParseInt(at, p, 1, h->N, "column", &t->col));
    t->row--, t->col--;
  }
  if (h->field != MM_PATTERN) TRY(ParseValue(at, p, h->field == MM_INTEGER, &t->value));
  if (h->symmetry != MM_GENERAL && !h->array) TRY(CheckTriangle(at, h, t));
  return EndLine(at, p);
}

PoiseErr poiseMMEntries(const MMHeader *h, MMPlace at, MMChunk *p)
{
  int64_t before = at.line;
  p->n = p->lines = 0;
  for (const char *line = p->text, *c; line < p->end; line = c + 1) {
    PoiseErr e = POISE_OK;
    Entry t;
    at.line++;
    c = SkipBlanks(line);
    bool blank = *c == '\n';
    if (!blank) e = ParseEntry(h, &at, &c, &t);
    if (e) c = memchr(c, '\n', (size_t)(p->end - c));
    if (c - line > MM_LONGEST) FAIL_AT(&at, POISE_ERR_FORMAT, "longer than %d characters", MM_LONGEST);
    if (e) return e;
    if (!blank) p->entry[p->n++] = t;
  }
  p->lines = at.line - before;
  return POISE_OK;
}

int64_t poiseMMLineOf(const MMChunk *p, int64_t k)
{
  int64_t n = 0;
  for (const char *line = p->text; line < p->end;
       line = (const char *)memchr(line, '\n', (size_t)(p->end - line)) + 1) {
    n++;
    if (*SkipBlanks(line) != '\n' && k-- == 0) break;
  }
  return n;
}

/* ---- places in an array ---------------------------------------------------------------------- */

static PoiseInt TopOf(const MMHeader *h, PoiseInt j)
{
  return h->symmetry == MM_GENERAL ? 0 : h->symmetry == MM_SYMMETRIC ? j : j + 1;
}

/* Number of entries in the columns before j. No product exceeds the number of entries of the whole array. */
static int64_t Before(const MMHeader *h, PoiseInt j)
{
  if (h->symmetry == MM_GENERAL) return j * h->M;
  int64_t twice = 2 * (h->M - TopOf(h, 0)) - j + 1; /* twice the entries of the mean column before j */
  return j % 2 ? twice / 2 * j : j / 2 * twice;
}

void poiseMMPlaceArray(const MMHeader *h, int64_t first, Entry *entry, int64_t n)
{
  PoiseInt low = 0, high = h->N; /* Before(low) <= first < Before(high) */
  if (!n) return;
  while (high - low > 1) {
    PoiseInt mid = low + (high - low) / 2;
    if (Before(h, mid) <= first)
      low = mid;
    else
      high = mid;
  }
  PoiseInt j = low, i = TopOf(h, j) + first - Before(h, j);
  for (int64_t k = 0; k < n; k++, i++) {
    while (i == h->M) j++, i = TopOf(h, j);
    entry[k].row = i;
    entry[k].col = j;
  }
}
