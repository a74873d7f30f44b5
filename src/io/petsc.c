/* SPDX-License-Identifier: BSD-3-Clause */
/* PETSc's binary files: find objects, read integers and doubles. Nothing in a file is trusted before it is
   checked. */
#include "petsc.h"

#include "vec/vec_host.h"

enum {
  FIRST_KIND = 1211200, /* PETSc's class numbers of files lie in this range */
  LAST_KIND = 1211299,
  READ_CHUNK = 1 << 20, /* bytes */
  STACK_CHUNK = 4096    /* integers */
};

#define LARGEST (INT64_MAX / 64) /* size: as many bytes as such an object has can be counted */

/* ---- bytes ----------------------------------------------------------------------------------- */

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define SWAP32(v) (v)
#define SWAP64(v) (v)
#else
#define SWAP32(v) __builtin_bswap32(v)
#define SWAP64(v) __builtin_bswap64(v)
#endif

static int64_t GetInt(const void *p, int width)
{
  uint32_t v32;
  uint64_t v64;
  if (width == 4) {
    memcpy(&v32, p, sizeof v32);
    return (int32_t)SWAP32(v32);
  }
  memcpy(&v64, p, sizeof v64);
  return (int64_t)SWAP64(v64);
}

char *poisePetscPutInt(char *p, int width, int64_t v)
{
  uint32_t v32 = SWAP32((uint32_t)v);
  uint64_t v64 = SWAP64((uint64_t)v);
  memcpy(p, width == 4 ? (void *)&v32 : (void *)&v64, (size_t)width);
  return p + width;
}

static void SwapDoubles(char *to, const char *from, int64_t n)
{
  for (int64_t i = 0; i < n; i++) {
    uint64_t v;
    memcpy(&v, from + 8 * i, sizeof v);
    v = SWAP64(v);
    memcpy(to + 8 * i, &v, sizeof v);
  }
}

char *poisePetscPutDoubles(char *p, const double *v, int64_t n)
{
  SwapDoubles(p, (const char *)v, n);
  return p + 8 * n;
}

PoiseErr poisePetscInts(const ByteSource *s, int width, int64_t at, int64_t n, const char *what, int64_t *v)
{
  char chunk[STACK_CHUNK * 8];
  for (int64_t k = 0; k < n; k += STACK_CHUNK) {
    int64_t count = n - k < STACK_CHUNK ? n - k : STACK_CHUNK;
    TRY(poiseSourceRead(s, at + width * k, chunk, (size_t)(count * width), what));
    for (int64_t i = 0; i < count; i++) v[k + i] = GetInt(chunk + width * i, width);
  }
  return POISE_OK;
}

/* ---- arrays, in chunks that are swapped while they are in cache, by as many threads as the
   source bears --------------------------------------------------------------------------------- */

typedef struct Array {
  const ByteSource *s;
  int64_t at, n, chunk; /* chunk: items in a chunk */
  const char *what;
  int width;
  void *v;
} Array;

static PoiseErr ReadDoubles(const Array *a, int64_t k, int64_t n)
{
  char *v = (char *)a->v + 8 * k;
  TRY(poiseSourceRead(a->s, a->at + 8 * k, v, (size_t)n * 8, a->what));
  SwapDoubles(v, v, n);
  return POISE_OK;
}

static PoiseErr ReadInts32(const Array *a, int64_t k, int64_t n)
{
  int32_t *v = (int32_t *)a->v + k;
  TRY(poiseSourceRead(a->s, a->at + 4 * k, v, (size_t)n * 4, a->what));
  for (int64_t i = 0; i < n; i++) {
    int32_t t = (int32_t)SWAP32((uint32_t)v[i]);
    v[i] = t < 0 ? -1 : t;
  }
  return POISE_OK;
}

static PoiseErr NarrowInts(const Array *a, int64_t k, int64_t n)
{
  int64_t wide[STACK_CHUNK];
  int32_t *v = (int32_t *)a->v + k;
  TRY(poisePetscInts(a->s, a->width, a->at + a->width * k, n, a->what, wide));
  for (int64_t i = 0; i < n; i++) v[i] = wide[i] >= 0 && wide[i] <= INT32_MAX ? (int32_t)wide[i] : -1;
  return POISE_OK;
}

static PoiseErr ReadArray(const Array *a, PoiseErr (*read)(const Array *, int64_t k, int64_t n))
{
  int64_t chunks = (a->n + a->chunk - 1) / a->chunk;
  _Atomic int failed = 0;
  const struct {
    int threads;
  } by = {a->s->threads > 1 ? a->s->threads : 1};
  HOST_PARALLEL_FOR(&by, chunks)
  for (int64_t p = 0; p < chunks; p++) {
    int64_t k = p * a->chunk, n = a->n - k < a->chunk ? a->n - k : a->chunk;
    if (!failed && read(a, k, n)) failed = 1;
  }
  if (!failed) return POISE_OK;
  for (int64_t k = 0; k < a->n; k += a->chunk) /* repeat it, to have the error in this thread */
    TRY(read(a, k, a->n - k < a->chunk ? a->n - k : a->chunk));
  return POISE_OK;
}

PoiseErr poisePetscDoubles(const ByteSource *s, int64_t at, int64_t n, const char *what, double *v)
{
  return ReadArray(&(Array){s, at, n, READ_CHUNK / 8, what, 8, v}, ReadDoubles);
}

PoiseErr poisePetscInts32(const ByteSource *s, int width, int64_t at, int64_t n, const char *what, int32_t *v)
{
  if (width == 4) return ReadArray(&(Array){s, at, n, READ_CHUNK / 4, what, 4, v}, ReadInts32);
  return ReadArray(&(Array){s, at, n, STACK_CHUNK, what, width, v}, NarrowInts);
}

/* ---- objects --------------------------------------------------------------------------------- */

static bool IsKind(int64_t kind)
{
  return kind == PETSC_VEC || kind == PETSC_MAT || kind == PETSC_IS;
}

static const char *KindName(int kind)
{
  return kind == PETSC_MAT ? "matrix" : kind == PETSC_VEC ? "vector" : "index set";
}

/* Bytes of the class number at the start of an object; 0: no object starts here. */
static int KindWidth(const unsigned char *p, size_t n)
{
  return n >= 4 && IsKind(GetInt(p, 4)) ? 4 : n >= 8 && IsKind(GetInt(p, 8)) ? 8 : 0;
}

bool poisePetscBegins(const unsigned char *bytes, size_t n)
{
  return KindWidth(bytes, n) > 0;
}

static PoiseErr FailKind(const ByteSource *s, int64_t at, const unsigned char *p, size_t n)
{
  char shown[3 * 8 + 1] = "";
  for (size_t i = 0; i < n; i++) sprintf(shown + 3 * i, "%02x ", p[i]);
  if (n) shown[3 * n - 1] = 0;
  for (int width = 4; (size_t)width <= n; width += 4)
    if (IsKind((int64_t)__builtin_bswap64((uint64_t)GetInt(p, width)) >> (width == 4 ? 32 : 0)))
      FAIL(POISE_ERR_UNSUPPORTED,
           "%s, byte %lld: a PETSc object with its bytes in little-endian order; big endian can be read",
           s->name, (long long)at);
  FAIL(POISE_ERR_FORMAT,
       "%s, byte %lld: '%s' begins no vector (class %d), matrix (%d) or index set (%d) of PETSc's real "
       "double numbers",
       s->name, (long long)at, shown, PETSC_VEC, PETSC_MAT, PETSC_IS);
}

/* Bytes behind the header, if a number has `number` bytes. */
static int64_t DataBytes(const PetscItem *item, int number)
{
  int64_t w = item->width;
  if (item->kind == PETSC_IS) return w * item->M;
  if (item->kind == PETSC_VEC) return number * item->M;
  if (item->nz < 0) return number * item->M * item->N;
  return w * item->M + (w + number) * item->nz;
}

/* Does the file end here, or another object begin? */
static bool IsEnd(const ByteSource *s, int64_t at)
{
  unsigned char p[8];
  size_t n = 0;
  if (at >= s->size) return at == s->size;
  if (poiseSourceTry(s, at, p, sizeof p, &n)) n = 0; /* a later read reports the error */
  for (int width = 4; (size_t)width <= n; width += 4)
    if (GetInt(p, width) >= FIRST_KIND && GetInt(p, width) <= LAST_KIND) return true;
  return false;
}

static void Describe(const PetscItem *item, char words[160])
{
  long long M = item->M, N = item->N, nz = item->nz;
  if (item->kind != PETSC_MAT)
    snprintf(words, 160, "%s of %lld entries", KindName(item->kind), M);
  else if (nz < 0)
    snprintf(words, 160, "dense matrix of %lld x %lld", M, N);
  else
    snprintf(words, 160, "matrix of %lld x %lld with %lld entries", M, N, nz);
}

static PoiseErr CheckLength(const ByteSource *s, PetscItem *item)
{
  char words[160];
  item->end = item->data + DataBytes(item, 8);
  Describe(item, words);
  if (!s->compressed && !item->open && item->kind != PETSC_IS && !IsEnd(s, item->end)) {
    bool complex = IsEnd(s, item->data + DataBytes(item, 16)),
         single = IsEnd(s, item->data + DataBytes(item, 4));
    if (item->end <= s->size && (complex || single))
      FAIL(POISE_ERR_UNSUPPORTED,
           "%s, byte %lld: a %s consists of %s numbers by its length; real doubles can be read", s->name,
           (long long)item->at, words, complex ? "complex" : "single precision");
  }
  if (item->end > s->size)
    FAIL(POISE_ERR_FORMAT,
         "%s, byte %lld: a %s, with %d-bit integers, ends at byte %lld, the file %s at byte %lld", s->name,
         (long long)item->at, words, 8 * item->width, (long long)item->end,
         s->compressed ? "before or" : "ends", (long long)s->size);
  return POISE_OK;
}

PoiseErr poisePetscClose(const ByteSource *s, PetscItem *item, int64_t nz)
{
  if (nz > LARGEST)
    FAIL(POISE_ERR_FORMAT, "%s, byte %lld: the lengths of the rows add up to %lld", s->name,
         (long long)item->data, (long long)nz);
  item->nz = nz;
  return CheckLength(s, item);
}

static PoiseErr CheckSize(const ByteSource *s, const PetscItem *item, const char *what, PoiseInt v,
                          PoiseInt least, int place)
{
  if (v >= least && v <= LARGEST) return POISE_OK;
  FAIL(POISE_ERR_FORMAT, "%s, byte %lld: the %s has %lld %s", s->name,
       (long long)item->at + place * item->width, KindName(item->kind), (long long)v, what);
}

static PoiseErr ReadHeader(const ByteSource *s, PetscItem *item)
{
  int64_t v[4] = {0};
  bool matrix = item->kind == PETSC_MAT;
  int n = matrix ? 4 : 2;
  TRY(poisePetscInts(s, item->width, item->at, n, matrix ? "sizes of a matrix" : "size of a vector", v));
  item->M = v[1], item->N = matrix ? v[2] : 1, item->nz = v[3];
  item->open = matrix && item->width == 4 && item->nz == INT32_MAX;
  item->data = item->at + n * item->width;
  TRY(CheckSize(s, item, matrix ? "rows" : "entries", item->M, 0, 1));
  TRY(CheckSize(s, item, "columns", item->N, 0, 2));
  TRY(CheckSize(s, item, "nonzeros (only dense, -1, has a meaning)", item->nz, -1, 3));
  if (item->nz < 0 && item->N && item->M > LARGEST / item->N)
    FAIL(POISE_ERR_FORMAT, "%s, byte %lld: a dense matrix of %lld x %lld is too large", s->name,
         (long long)item->at, (long long)item->M, (long long)item->N);
  return CheckLength(s, item);
}

/* Where an open matrix ends. */
static PoiseErr SumLengths(const ByteSource *s, PetscItem *item)
{
  int32_t length[STACK_CHUNK];
  int64_t nz = 0;
  for (PoiseInt i = 0; i < item->M; i += STACK_CHUNK) {
    int64_t n = item->M - i < STACK_CHUNK ? item->M - i : STACK_CHUNK;
    TRY(poisePetscInts32(s, item->width, item->data + i * item->width, n, "lengths of rows", length));
    for (int64_t k = 0; k < n; k++) nz += length[k] > 0 ? length[k] : 0;
  }
  return poisePetscClose(s, item, nz);
}

PoiseErr poisePetscFind(const ByteSource *s, int kind, PetscItem *item)
{
  unsigned char p[8];
  char words[160] = "nothing";
  size_t n;
  for (*item = (PetscItem){0};; item->at = item->end) {
    TRY(poiseSourceTry(s, item->at, p, sizeof p, &n));
    if (!n && item->at)
      FAIL(POISE_ERR_FORMAT, "%s holds no %s; the last that it holds is a %s", s->name, KindName(kind),
           words);
    item->width = KindWidth(p, n);
    if (!item->width) return FailKind(s, item->at, p, n);
    item->kind = (int)GetInt(p, item->width);
    TRY(ReadHeader(s, item));
    if (item->kind == kind) return POISE_OK;
    if (item->open) TRY(SumLengths(s, item));
    Describe(item, words);
  }
}

/* ---- what is to be written ------------------------------------------------------------------- */

bool poisePetscNamed(const char *path)
{
  static const char *const endings[] = {".petsc", ".bin", ".petsc.gz", ".bin.gz"};
  size_t length = strlen(path);
  for (int i = 0; i < 4; i++) {
    size_t n = strlen(endings[i]);
    if (length > n && !strcmp(path + length - n, endings[i])) return true;
  }
  return false;
}

enum { AUTO, BITS_32, BITS_64 };

typedef struct PetscOptions {
  int bits;
} PetscOptions;

const PoiseOption poisePetscOptions[] = {
    {"petsc_index_bits", POISE_OPTION_CHOICE, offsetof(PetscOptions, bits), "auto", 0, 0, "auto|32|64",
     "bits of the integers in PETSc binary files that are written; auto: 64 if 32 do not suffice"},
    {0},
};

PoiseErr poisePetscWidth(PoiseContext ctx, PoiseInt M, PoiseInt N, int64_t nz, int *width)
{
  PetscOptions o;
  TRY(PoiseOptionsDefaults(poisePetscOptions, &o));
  TRY(PoiseOptionsRead(ctx, NULL, poisePetscOptions, &o));
  bool large = M > INT32_MAX || N > INT32_MAX;
  if (o.bits == BITS_32 && large)
    FAIL(POISE_ERR_OPTION, "-petsc_index_bits 32: sizes of %lld x %lld need 64", (long long)M, (long long)N);
  *width = o.bits == BITS_64 || large || (o.bits == AUTO && nz >= INT32_MAX) ? 8 : 4;
  return POISE_OK;
}
