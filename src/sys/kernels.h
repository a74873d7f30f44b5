/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The kernel contract: what a device provides. Plain C without objects, valid as CUDA C++ too.

  A kernel takes one argument struct of sizes, plain device arrays and slots, which a queue may copy. Inputs are const;
  b = 0 overwrites whatever y held (NaN too); n = 0 is legal; no allocation, no synchronisation.
  Every kernel is launched by poiseLaunch (device.c), which names a missing one.

  Dots leave one partial per block in a fixed place (blocks of POISE_BLOCK rows, whoever computes them, or of the rows that the
  arguments say) and are combined in block order: the same bits in every run, on any number of threads.
*/
#ifndef POISE_KERNELS_H
#define POISE_KERNELS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__CUDACC__)
#define POISE_INLINE static __host__ __device__ __forceinline__
#else
#define POISE_INLINE static inline __attribute__((always_inline))
#endif

enum {
  POISE_BLOCK = 1024, /* rows per partial sum */
  POISE_MAX_DOTS = 4, /* of one phase or Fuse */
  POISE_MAX_VECS = 8, /* of one phase */
  POISE_MAX_COEFS = 4,
  POISE_MAX_SUMS = 8,   /* pending sums one phase may take in */
  POISE_MAX_BATCH = 32, /* vectors of one mdot or maxpy */
  POISE_SLOTS = 32      /* scalars of a solver */
};

#define POISE_NBLOCKS(n) (((n) + POISE_BLOCK - 1) / POISE_BLOCK)

typedef struct {      /* a scalar known when the kernel is launched, or one that an earlier kernel leaves in a slot */
  const double *slot; /* not NULL: read on the device */
  double value;
} ScalarRef;

/* The larger, NaN if either is. */
POISE_INLINE double poiseLarger(double a, double b)
{
  return a > b || a != a ? a : b;
}

POISE_INLINE int poiseFinite(double v)
{
  return v - v == 0;
}

POISE_INLINE double poiseScalar(ScalarRef s)
{
  return s.slot ? *s.slot : s.value;
}

/* Dots of the rows y just finished: (u_k, y), or (y, D y) when u_k is NULL (D = 1 when d_k is NULL too). */
typedef struct {
  int ndot;
  const double *u[POISE_MAX_DOTS], *d[POISE_MAX_DOTS];
  double *partial
      [POISE_MAX_DOTS]; /* block b of the kernel's rows (POISE_BLOCK unless it says otherwise) writes partial[k][b] */
} Fuse;

typedef struct { /* dst = sum of count partials, in order */
  const double *partial;
  int64_t count;
  double *dst;
} Sum;

/* ---- phases: one pass over vectors, with a scalar prologue -------------------------------------------------------- */

enum {
#define PHASE(name, ndot, combine, kind) PHASE_##name,
#include "phases.def"
#undef PHASE
  PHASE_COUNT
};

/* Slots that every solver has; a method's own start at SLOT_FIRST_OWN. Those written by a phase that other blocks of the same
   phase read are kept twice and alternate with the parity of the iteration (SLOT_ITS + parity). */
enum {
  SLOT_DONE, /* nonzero once the reason is known: later phases change nothing */
  SLOT_SEEN, /* DONE as of the previous phase: what a deciding phase tests, so that all its blocks agree */
  SLOT_REASON,
  SLOT_ITS, /* iterations finished; two, by parity */
  SLOT_ITS_ODD,
  SLOT_ITS_FINAL, /* at the time of DONE */
  SLOT_NORM,      /* the latest residual norm */
  SLOT_NORM0,     /* what rtol and dtol are relative to */
  SLOT_RTOL,      /* the tolerances and the most iterations: set by the host, so that a replay takes new ones */
  SLOT_ATOL,
  SLOT_DTOL,
  SLOT_MAXITS,
  SLOT_BASE,          /* iterations finished when the method was started, be it after a refuted claim */
  SLOT_TRUE_RESIDUAL, /* (r, r) of r = b - A x, where it is monitored or a claim is checked */
  SLOT_CHECK_RZ,      /* (r, z) and (z, z) of that r and z = M^-1 r, and (b, b); before that see ksp_norm0 */
  SLOT_CHECK_ZZ,
  SLOT_CHECK_BB,
  SLOT_RESULT, /* 0 if x, as it is delivered, is finite, else NaN */
  SLOT_FIRST_OWN
};

typedef struct {   /* how convergence is decided, beside the tolerances in their slots */
  double *history; /* ring of 2^k norms; never NULL */
  int64_t mask;    /* 2^k - 1 */
  int test;        /* 0: the host decides (only NaN, breakdown and maxits end the loop here) */
  int none;        /* 1: no norm, run maxits iterations */
} Convergence;

/* What a phase marked ENDS may end with, for the rows of r that it has just written: z = D r by dense blocks of b rows, column-major one
   after the other (the last may have fewer), and the dots (r, z) and (z, z), whose partials go to rz and zz (NULL: not wanted). */
typedef struct {
  int64_t b; /* at most 32; 0: no such end */
  const double *d, *r;
  double *z, *rz, *zz;
} BlockEnd;

typedef struct {
  int id;     /* PHASE_... */
  int parity; /* of the iteration; 0 outside solvers */
  int nsum;   /* sums to take before the prologue, results published for later phases */
  int flags;  /* meaning is the phase's own, e.g. the norm */
  int64_t n;  /* rows; 0 for scalar work only */
  const double *in[POISE_MAX_VECS];
  double *out[POISE_MAX_VECS]; /* those that are read too stand among in; element i reads and writes entry i only */
  int seldom;                  /* how many of out are touched once in a while only: not counted as traffic */
  ScalarRef c[POISE_MAX_COEFS];
  double *slots; /* POISE_SLOTS of them; NULL outside solvers */
  double *array; /* a solver's small array (GMRES: H, ...); NULL: it has none, or coefficients alone are wanted */
  int64_t k;     /* a small integer for the prologue (GMRES: the column) */
  Sum sum[POISE_MAX_SUMS];
  double *partial[POISE_MAX_DOTS];
  BlockEnd end;
  Convergence conv;
} PhaseArgs;

/* Rows of a block of a phase, which leaves a partial for each: whole blocks of its end. */
POISE_INLINE int64_t poisePhaseRows(const PhaseArgs *a)
{
  return a->end.b ? POISE_BLOCK - POISE_BLOCK % (int)a->end.b : POISE_BLOCK;
}

POISE_INLINE int64_t poisePhaseBlocks(const PhaseArgs *a)
{
  int64_t rows = poisePhaseRows(a);
  return (a->n + rows - 1) / rows;
}

typedef struct {
  double d[POISE_MAX_DOTS];
} Dots; /* what an element adds to the dots */

/*
  A phase `name` is a pair of inline functions, found in <stem>_phases.h:
    int  name_begin(const double *in, double *out, const PhaseArgs *a, double *c)
         the prologue: reads slots in[], may set slots out[] (never one that it reads: other blocks may be reading), sets the
         element's coefficients c[POISE_MAX_COEFS]; returns 0 to skip the elements. Outside solvers in and out are not there. It
         is run more than once: blocks of rows want its coefficients and result only, and have no array.
    Dots name_element(const double *c, const PhaseArgs *a, int64_t i)
  and a line in phases.def. The end, where there is one, runs when the elements do.
  In a solver a phase is skipped once SLOT_DONE is set. One that decides convergence may set it in
  its own prologue and still run its elements (the update of x that goes with the decision): it is skipped by SLOT_SEEN
  instead, which every plain phase sets to SLOT_DONE; so a plain phase lies between two that decide.
*/

/* ---- kernels ------------------------------------------------------------------------------------------------------ */

typedef struct { /* partial sums of (x_j, y), j < k <= POISE_MAX_BATCH: partial[j * stride + block] */
  int64_t n, stride;
  int k;
  const double *x[POISE_MAX_BATCH], *y, *skip; /* *skip != 0: do nothing (skip may be NULL) */
  double *partial;
} MdotArgs;

typedef struct
{ /* y += sign * sum_j a_j x_j, j < k; then dots of y, and partial sums of (x_j, y) as by mdot (again may be NULL) */
  int64_t n, stride;
  int k;
  double sign;
  const double *x[POISE_MAX_BATCH], *a, *skip; /* a: k device scalars, or NULL: value */
  double value[POISE_MAX_BATCH];
  double *y, *again;
  Fuse fuse;
} MaxpyArgs;

typedef struct { /* y = a x + b y, then dots of y; b = 0 overwrites whatever y held */
  int64_t n;
  ScalarRef a, b;
  const double *x, *skip;
  double *y;
  Fuse fuse;
} AxpbyArgs;

typedef struct { /* nsum sums (maxima): dst[j] (+)= sum of partial[j * stride + 0 .. count) */
  int nsum, add, max;
  int64_t stride, count;
  const double *partial, *skip;
  double *dst;
} ReduceArgs;

typedef struct { /* out_i = x[idx_i]; one of idx, idx64 is NULL. size: of how many numbers each i is; 0: of one */
  int64_t n, size;
  const int32_t *idx;
  const int64_t *idx64;
  const double *x;
  double *out;
} GatherArgs;

/* Number k < n size of out. */
POISE_INLINE double poiseGathered(const GatherArgs *a, int64_t k)
{
  int64_t i = a->size > 1 ? k / a->size : k, from = a->idx ? a->idx[i] : a->idx64[i];
  return a->size > 1 ? a->x[from * a->size + k % a->size] : a->x[from];
}

typedef struct { /* y[idx_i] += in_i; the idx_i are different */
  int64_t n;
  const int32_t *idx;
  const double *in;
  double *y;
} ScatterAddArgs;

/* Local CSR: m rows, nloc owned columns, then ghosts; one of ptr32, ptr64 is NULL. b != 0: its rows, columns and entries are blocks, of
   b x b numbers, column-major. */
typedef struct {
  int64_t b, m, nloc, nz;
  const int64_t *ptr64;
  const int32_t *ptr32, *col;
  const double *val;
} CsrView;

POISE_INLINE int64_t poiseCsrOffset(const CsrView *A, int64_t i)
{
  return A->ptr32 ? A->ptr32[i] : A->ptr64[i];
}

/* Row i of numbers: n of them, of entries from the first on; row r of b in their blocks. */
typedef struct {
  int64_t first, n, b, r;
} NumberRow;

POISE_INLINE NumberRow poiseNumberRow(const CsrView *A, int64_t i)
{
  int64_t b = A->b ? A->b : 1, row = b == 1 ? i : i / b, first = poiseCsrOffset(A, row);
  NumberRow of = {first, (poiseCsrOffset(A, row + 1) - first) * b, b, i - row * b};
  return of;
}

/* Where its number k is, and in which column of numbers. */
POISE_INLINE int64_t poiseNumberPlace(const NumberRow *row, int64_t k)
{
  int64_t b = row->b;
  return b == 1 ? row->first + k : ((row->first + k / b) * b + k % b) * b + row->r;
}

POISE_INLINE int64_t poiseNumberColumn(const CsrView *A, const NumberRow *row, int64_t k)
{
  int64_t b = row->b;
  return b == 1 ? A->col[row->first + k] : A->col[row->first + k / b] * b + k % b;
}

/* n rows, or columns, in numbers. */
POISE_INLINE int64_t poiseInNumbers(const CsrView *A, int64_t n)
{
  return A->b ? n * A->b : n;
}

enum {
  FIND_DECREASING, /* row offset k + 1 is below offset k */
  FIND_UNSORTED,   /* the columns of row k do not ascend, or are not all in [base, base + limit) */
  FIND_BEYOND,     /* col64[k] is not below limit */
  FIND_NAN_IN_ROW, /* a number of row k of numbers is not finite */
  FIND_NAN         /* val[k] is not finite */
};

typedef struct
{ /* *first = the least k < n of which `what` is true, or n. Of each array one width is given, or none. b: as in CsrView. */
  int what, base;
  int64_t n, limit, b;
  const int64_t *ptr64, *col64;
  const int32_t *ptr32, *col32;
  const double *val;
  int64_t *first;
} FindArgs;

POISE_INLINE int poiseFindsUnsorted(const FindArgs *a, int64_t k, int64_t end)
{
  for (int64_t last = a->base - 1; k < end; k++) {
    int64_t col = a->col32 ? a->col32[k] : a->col64[k];
    if (col <= last || col >= a->base + a->limit) return 1;
    last = col;
  }
  return 0;
}

POISE_INLINE int poiseFindsNan(const FindArgs *a, int64_t i)
{
  CsrView A = {a->b, 0, 0, 0, a->ptr64, a->ptr32, NULL, a->val};
  NumberRow row = poiseNumberRow(&A, i);
  for (int64_t k = 0; k < row.n; k++)
    if (!poiseFinite(a->val[poiseNumberPlace(&row, k)])) return 1;
  return 0;
}

POISE_INLINE int poiseFinds(const FindArgs *a, int64_t k)
{
  if (a->what == FIND_BEYOND) return a->col64[k] >= a->limit;
  if (a->what == FIND_NAN) return !poiseFinite(a->val[k]);
  if (a->what == FIND_NAN_IN_ROW) return poiseFindsNan(a, k);
  int64_t begin = a->ptr32 ? a->ptr32[k] : a->ptr64[k], end = a->ptr32 ? a->ptr32[k + 1] : a->ptr64[k + 1];
  return a->what == FIND_DECREASING ? end < begin : poiseFindsUnsorted(a, begin - a->base, end - a->base);
}

enum { POISE_TILES = 7 };

typedef struct { /* what a product is chosen by */
  int64_t m, nz;
  int64_t tile[POISE_TILES]; /* most nonzeros in 256 >> k consecutive rows that start at a multiple of that number */
  int64_t changes;           /* rows of another length than the one before */
  int64_t cut; /* nonzeros of rows of `limit` entries or more, which count in tiles, longest, above and squares as if they
                                were empty; */
  int64_t pieces;         /* of up to 2 limit entries that these have */
  int64_t empty, longest; /* rows without entries; entries of the longest row */
  int64_t bound, above;   /* rows of more than `bound` entries */
  int64_t squares;        /* sum of the squares of the rows' lengths (below 2^63: nz times longest is more) */
  int64_t busiest;        /* most nonzeros in `share` consecutive rows that start at a multiple of that number */
  int64_t spread;         /* lines of POISE_LINE numbers of x for 100 neighbouring entries; 0: not asked for */
} CsrStatistics;

/* All of *out, which was 0, but m, nz, bound and spread; of A only the offsets are looked at. limit, share, bound 0: none. */
typedef struct {
  CsrView A;
  int64_t limit, share, bound;
  CsrStatistics *out;
} CsrStatisticsArgs;

/* The upper bits are good (Fibonacci hashing: 2^32 over the golden ratio). */
POISE_INLINE uint32_t poiseHash32(int32_t v)
{
  return (uint32_t)v * 2654435769u;
}

/* *lines += the lines of POISE_LINE numbers of x that the entries of each of POISE_SAMPLES samples have columns in. There are POISE_SAMPLE
   entries or more, of which a sample is that many neighbours; of A only the columns are looked at. */
enum { POISE_LINE = 16, POISE_SAMPLE = 1024, POISE_SAMPLES = 256 };
typedef struct {
  CsrView A;
  int64_t *lines;
} CsrSpreadArgs;

/* The first entry of sample s. */
POISE_INLINE int64_t poiseSampleStart(const CsrView *A, int64_t s)
{
  return (A->nz - POISE_SAMPLE) / (POISE_SAMPLES - 1) * s;
}

/* Columns of 16 bits beside those of A: a block of rows has up to POISE_WINDOWS windows of POISE_WINDOW columns, and a code says in which
   of them a column is, and where. A window without ghosts is enough for a band, and one for each plane of a grid. */
enum { POISE_WINDOWS = 16, POISE_WINDOW = 65536 / POISE_WINDOWS };

typedef struct { /* NULL: there are none. code: of each entry; all: the columns of all blocks fit */
  const uint16_t *code;
  const int32_t *window; /* those of block b begin, ascending, at window[b * POISE_WINDOWS]; -1: its columns do not fit */
  int64_t all;
} Index16View;

POISE_INLINE int32_t poiseIndex16Column(const int32_t *window, uint16_t code)
{
  return window[code / POISE_WINDOW] + code % POISE_WINDOW;
}

/* Of a column in one of these n windows. */
POISE_INLINE uint16_t poiseIndex16Code(const int32_t *window, int n, int32_t col)
{
  while (n > 1 && window[n - 1] > col) n--;
  return (uint16_t)((n - 1) * POISE_WINDOW + (col - window[n - 1]));
}

/* Where the columns end that a window covers which begins at `least`; ghosts are covered by none. */
POISE_INLINE int64_t poiseIndex16End(const CsrView *A, int32_t least)
{
  int64_t end = (int64_t)least + POISE_WINDOW;
  return end < A->nloc ? end : A->nloc;
}

/* Codes and windows of nblock blocks of `rows` rows; *fits, which was 0: nonzeros of the blocks whose columns fit. */
typedef struct {
  CsrView A;
  int rows;
  int64_t nblock;
  uint16_t *code;
  int32_t *window;
  int64_t *fits;
} CsrIndex16Args;

typedef struct { /* *hash, which was 0: of A's offsets and columns */
  CsrView A;
  uint64_t *hash;
} CsrHashArgs;

/* A number that looks random, of two. */
POISE_INLINE uint64_t poiseMix(uint64_t a, uint64_t b)
{
  uint64_t z = a * UINT64_C(0x9e3779b97f4a7c15) + b;
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

/* What offset k and entry k, 0 <= k < the number of either, add to the hash. */
POISE_INLINE uint64_t poiseCsrHashAt(const CsrView *A, int64_t k)
{
  uint64_t h = 0;
  if (k <= A->m) h += poiseMix(2 * (uint64_t)k, (uint64_t)poiseCsrOffset(A, k));
  if (k < A->nz) h += poiseMix(2 * (uint64_t)k + 1, (uint64_t)A->col[k]);
  return h;
}

/* Nonzeros of share s of the rows. */
POISE_INLINE int64_t poiseCsrShare(const CsrStatisticsArgs *a, int64_t s)
{
  int64_t first = s * a->share, end = first + a->share < a->A.m ? first + a->share : a->A.m;
  return poiseCsrOffset(&a->A, end) - poiseCsrOffset(&a->A, first);
}

/* y = a A [x | ghost] + b y on blocks order[0 .. nblock) of `rows` rows (order NULL: 0, 1, ...), dots of those rows. rows is what the
   device chose for this pattern; tile: most nonzeros of a block (0 when rows is POISE_BLOCK); vary: lengths of rows often differ from
   those before (said to the host); spread: lines of x for 100 neighbouring entries (said to GPUs). index16: of these blocks.
   In BcsrMultArgs of blocks: rows counts rows of blocks, y and the dots are of numbers. */
typedef struct {
  CsrView A;
  int rows, vary;
  int64_t nblock, tile, spread;
  const int32_t *order;
  ScalarRef a, b;
  const double *x, *ghost, *skip;
  double *y;
  Fuse fuse;
  Index16View index16;
} CsrMultArgs;

typedef struct { /* rows [begin, begin + rows), which have the entries [first, first + nz) */
  int64_t first;
  int32_t begin;
  uint16_t rows, nz;
} CsrWindow;

typedef struct { /* entries [first, first + nz) of the row behind those of a window */
  int64_t first;
  int32_t nz, window;
} CsriPiece;

/* Windows of rows with about `chunk` rows and entries, after csri (Flegar & Quintana-Orti 2017) and merge-based cuts: window w begins with
   the first row i that has i + ptr[i] >= w chunk; window[nwindow].begin = m. So a row of `limit` entries or more, which is no less than
   chunk, would be the last of its window, which leaves it out, to pieces of about as many entries, `piece` at most (and a unit);
   pieces[w]: how many (pieces[nwindow] = 0).
   exact: windows of exactly `chunk` rows that end and entries, wherever in a row that is; there are no pieces. */
typedef struct {
  CsrView A;
  int64_t exact;
  int64_t chunk, limit, piece, nwindow;
  CsrWindow *window;
  int64_t *pieces;
} CsriCutArgs;

/* The pieces of window w are part[first[w]], ..., part[first[w + 1] - 1], and begin where their row does or at multiples of `unit`. */
typedef struct {
  CsrView A;
  int64_t unit, nwindow;
  const CsrWindow *window;
  const int64_t *first;
  CsriPiece *part;
} CsriOwnArgs;

/* A column has one of 2^bits slots; the hub of a slot is the one of its columns with the most entries, of which a product keeps x at hand. */
POISE_INLINE uint32_t poiseHubSlot(int32_t column, int bits)
{
  return poiseHash32(column) >> (32 - bits);
}

/* most[s] = entries 2^32 + column of the hub of slot s, and was 0, which it stays where no column has entries. count: of each column, 0
   before. */
typedef struct {
  CsrView A;
  int64_t columns, bits;
  int32_t *count;
  int64_t *most;
} CsrHubsArgs;

/* y = a A [x | ghost] + b y for the rows of windows m.order[0 .. m.nblock) (NULL: 0, 1, ...), or where m.rows is less than POISE_BLOCK of
   blocks of so many rows that are not cut, and of pieces [0, npiece); and their dots: partial w of each window or block, and parts + p of
   each piece, 0 but of a row's last. limit: entries from which rows are cut; uncut: nonzeros of the others. sum: of each piece; arrived:
   0 for each window, before and after, and so next. hub: columns of 2^bits slots, -1: none; NULL: no hubs.
   exact: y = A [x | ghost] alone, for windows so cut. Each adds to its first row, and to the one that follows those that end in it,
   atomically; fill: y is set to 0 before. */
typedef struct {
  CsrMultArgs m;
  int exact, fill; /* without padding, which would look like pointers to the mock */
  int64_t limit, parts, npiece, uncut;
  const CsrWindow *window;
  const CsriPiece *part;
  const int64_t *first;
  double *sum;
  int32_t *arrived, *next;
  const int32_t *hub;
  int64_t bits;
} CsriMultArgs;

/* y = a A [x | ghost] + b y of blocks. EVEN: groups of c.m.rows rows of blocks, as csr_mult's blocks; BALANCED: windows and pieces, as
   csri_mult's of which all entries are blocks, and c.sum has b numbers for each piece. The others are a device's own, by groups: the three
   algorithms of Eberhardt & Hoemmen 2016. */
enum { BCSR_AUTO, BCSR_EVEN, BCSR_BALANCED, BCSR_BLOCK, BCSR_COLUMN, BCSR_ROW };
typedef struct {
  CsriMultArgs c;
  int64_t form;
} BcsrMultArgs;

POISE_INLINE bool poiseCsriLong(const CsrView *A, int64_t row, int64_t limit)
{
  return poiseCsrOffset(A, row + 1) - poiseCsrOffset(A, row) >= limit;
}

POISE_INLINE int64_t poiseCsriRow(const CsriMultArgs *a, const CsriPiece *p)
{
  return a->window[p->window].begin + a->window[p->window].rows;
}

/* The first row of window w. */
POISE_INLINE int64_t poiseCsriBegin(const CsriCutArgs *a, int64_t w)
{
  int64_t low = 0, high = a->A.m;
  if (w >= a->nwindow) return a->A.m;
  while (low < high) {
    int64_t i = low + (high - low) / 2;
    if (i + poiseCsrOffset(&a->A, i) >= w * a->chunk)
      high = i;
    else
      low = i + 1;
  }
  return low;
}

/* The row that is in progress after w chunk rows and entries; *k: the next entry. */
POISE_INLINE int64_t poiseCsriPlace(const CsriCutArgs *a, int64_t w, int64_t *k)
{
  int64_t d = w < a->nwindow ? w * a->chunk : a->A.m + a->A.nz, i = poiseCsriBegin(a, w);
  if (i + poiseCsrOffset(&a->A, i) > d) i--;
  *k = d - i;
  return i;
}

POISE_INLINE void poiseCsriCutExactly(const CsriCutArgs *a, int64_t w)
{
  int64_t first, last, begin = poiseCsriPlace(a, w, &first), end = poiseCsriPlace(a, w < a->nwindow ? w + 1 : w, &last);
  a->window[w].first = first, a->window[w].begin = (int32_t)begin;
  a->window[w].rows = (uint16_t)(end - begin), a->window[w].nz = (uint16_t)(last - first);
  a->pieces[w] = 0;
}

/* Rows [begin, end) as a window, but for the last if it has `limit` entries or more: how many pieces that is left to. */
POISE_INLINE int64_t poiseWindowCut(const CsrView *A, int64_t begin, int64_t end, int64_t limit, int64_t piece,
                                    CsrWindow *w)
{
  int64_t first = poiseCsrOffset(A, begin), last = poiseCsrOffset(A, end), pieces = 0;
  if (end > begin && poiseCsriLong(A, end - 1, limit)) {
    int64_t from = poiseCsrOffset(A, --end);
    pieces = (last - from + piece - 1) / piece, last = from;
  }
  w->first = first, w->begin = (int32_t)begin;
  w->rows = (uint16_t)(end - begin), w->nz = (uint16_t)(last - first);
  return pieces;
}

POISE_INLINE void poiseCsriCut(const CsriCutArgs *a, int64_t w)
{
  if (a->exact) {
    poiseCsriCutExactly(a, w);
    return;
  }
  int64_t begin = poiseCsriBegin(a, w), end = w < a->nwindow ? poiseCsriBegin(a, w + 1) : begin;
  a->pieces[w] = poiseWindowCut(&a->A, begin, end, a->limit, a->piece, &a->window[w]);
}

/* Where piece q of n begins, of a row with the entries [from, end): they have equal shares of its units. */
POISE_INLINE int64_t poiseCsriPieceBegin(int64_t unit, int64_t from, int64_t end, int64_t q, int64_t n)
{
  int64_t first = from / unit, units = (end + unit - 1) / unit - first,
          k = unit * (first + units / n * q + units % n * q / n);
  return k < from ? from : k > end ? end : k;
}

/* Piece p, which is one of window w. */
POISE_INLINE void poiseCsriOwn(const CsriOwnArgs *a, int64_t w, int64_t p)
{
  const CsrWindow *z = &a->window[w];
  int64_t from = z->first + z->nz, end = poiseCsrOffset(&a->A, z->begin + z->rows + 1), q = p - a->first[w],
          n = a->first[w + 1] - a->first[w], k = poiseCsriPieceBegin(a->unit, from, end, q, n);
  a->part[p].first = k, a->part[p].window = (int32_t)w;
  a->part[p].nz = (int32_t)(poiseCsriPieceBegin(a->unit, from, end, q + 1, n) - k);
}

/* ---- segments, after segSpMV (He, Tan, Tlelo-Cuautle, Wang, Tang 2015): a row has one for each `length` of its entries ---- */

enum {
  SEG_MOST = 256, /* entries of a segment, a power of two */
  SEG_ROWS = 64   /* rows that are counted together */
};

/* log2 of the threads that sum a segment: one where it has 8 entries or fewer (the paper's first form), else more (its reduction). */
POISE_INLINE int poiseSegLanes(int64_t length)
{
  int k = 0;
  while (length > 8 << k) k++;
  return k;
}

/* count[k]: segments of rows SEG_ROWS k, ..., from which they are scanned. With block = 0 those that a row's entries fill. Else as windows
   count them: an empty row has one, as its y is set too, and a row of `limit` entries or more, which pieces take, has a block of them, so
   that the row behind begins another window. Window w: the rows with w block segments or more before them, as windows of csri. */
typedef struct {
  CsrView A;
  int64_t length, block, limit, piece, nwindow;
  int64_t *count, *pieces;
  CsrWindow *window;
} SegCutArgs;

POISE_INLINE int64_t poiseSegments(const SegCutArgs *a, int64_t row)
{
  int64_t n = poiseCsrOffset(&a->A, row + 1) - poiseCsrOffset(&a->A, row), segments = (n + a->length - 1) / a->length;
  if (!a->block) return segments;
  return n >= a->limit ? a->block : segments ? segments : 1;
}

POISE_INLINE void poiseSegCount(const SegCutArgs *a, int64_t k)
{
  a->count[k] = 0;
  for (int64_t i = k * SEG_ROWS; i < (k + 1) * SEG_ROWS && i < a->A.m; i++) a->count[k] += poiseSegments(a, i);
}

/* The first row of window w. */
POISE_INLINE int64_t poiseSegBegin(const SegCutArgs *a, int64_t w)
{
  int64_t low = 0, high = (a->A.m + SEG_ROWS - 1) / SEG_ROWS, before;
  if (w >= a->nwindow) return a->A.m;
  while (high - low > 1) { /* count[low] <= w block < count[high] */
    int64_t k = low + (high - low) / 2;
    if (a->count[k] <= w * a->block)
      low = k;
    else
      high = k;
  }
  before = a->count[low], low *= SEG_ROWS;
  for (; before < w * a->block && low < a->A.m; low++) before += poiseSegments(a, low);
  return low;
}

POISE_INLINE void poiseSegCut(const SegCutArgs *a, int64_t w)
{
  int64_t begin = poiseSegBegin(a, w), end = w < a->nwindow ? poiseSegBegin(a, w + 1) : begin;
  a->pieces[w] = poiseWindowCut(&a->A, begin, end, a->limit, a->piece, &a->window[w]);
}

/* The paper's own form, in which every segment is filled up: offsets P.ptr of rows cut.A.ptr, from counts of segments with block = 0; and
   their columns and values, those that fill up being 0 times the row's last column. */
typedef struct {
  SegCutArgs cut;
  CsrView P;
  void *ptr; /* P's arrays, to be written; nsegment of them */
  int32_t *col;
  double *val;
  int64_t nsegment;
} SegPadArgs;

/* The offsets of rows SEG_ROWS k, ..., and behind the last. */
POISE_INLINE void poiseSegOffsets(const SegPadArgs *a, int64_t k)
{
  int64_t before = a->cut.count[k];
  for (int64_t i = k * SEG_ROWS; i < (k + 1) * SEG_ROWS && i <= a->cut.A.m; i++) {
    if (a->P.ptr32)
      ((int32_t *)a->ptr)[i] = (int32_t)(before * a->cut.length);
    else
      ((int64_t *)a->ptr)[i] = before * a->cut.length;
    if (i < a->cut.A.m) before += poiseSegments(&a->cut, i);
  }
}

POISE_INLINE void poiseSegFill(const SegPadArgs *a, int64_t segment)
{
  int64_t to = segment * a->cut.length, low = 0, high = a->cut.A.m;
  while (high - low > 1) { /* the row of entry `to` is in [low, high) */
    int64_t i = low + (high - low) / 2;
    if (poiseCsrOffset(&a->P, i) <= to)
      low = i;
    else
      high = i;
  }
  int64_t from = poiseCsrOffset(&a->cut.A, low) + to - poiseCsrOffset(&a->P, low), end = poiseCsrOffset(&a->cut.A, low + 1);
  for (int64_t k = 0; k < a->cut.length; k++, from++) {
    a->col[to + k] = a->cut.A.col[from < end ? from : end - 1];
    a->val[to + k] = from < end ? a->cut.A.val[from] : 0;
  }
}

/* As csri's, of windows that were cut so; segments: as windows count them. */
typedef struct {
  CsriMultArgs c;
  int64_t length, segments;
} SegMultArgs;

/* Pieces of up to twice the limit that a row of `length` entries has, or 0. */
POISE_INLINE int64_t poiseCsrPieces(const CsrStatisticsArgs *a, int64_t length)
{
  return a->limit && length >= a->limit ? (length - 1) / (2 * a->limit) + 1 : 0;
}

/* Nonzeros of the rows [i, end) that are shorter than a limit. */
POISE_INLINE int64_t poiseCsrTile(const CsrStatisticsArgs *a, int64_t i, int64_t end)
{
  int64_t n = poiseCsrOffset(&a->A, end) - poiseCsrOffset(&a->A, i);
  for (; a->limit && n >= a->limit && i < end; i++) {
    int64_t length = poiseCsrOffset(&a->A, i + 1) - poiseCsrOffset(&a->A, i);
    if (length >= a->limit) n -= length;
  }
  return n;
}

/* y = A x, x with all columns in one array, by a library of the device, as `plan` (LibraryPlan.device) was made for this A. */
typedef struct {
  CsrView A;
  const void *plan;
  const double *x;
  double *y;
} CsrLibraryArgs;

/* y = A^T x for the `owned` columns, ghost = the same for those behind, through the entries sorted by column: the rows of c.m.A are A's
   columns, its columns A's rows, ascending, and its entry k is c.m.A.val[perm[k]], A's. perm is as wide as the offsets, the other NULL.
   c.m.x NULL: y = |A|^T 1, the columns' norms. As in csri_mult there are c.m.nblock windows and c.npiece pieces, by c.window and what
   follows; or c.window is NULL, and no column is cut. Then there are c.m.nblock blocks of c.m.rows columns, for a host's threads. */
typedef struct {
  CsriMultArgs c;
  int64_t owned;
  const int64_t *perm64;
  const int32_t *perm32;
  double *ghost;
} CsrMultTransposeArgs;

POISE_INLINE int64_t poisePermuted(const CsrMultTransposeArgs *a, int64_t k)
{
  return a->perm32 ? a->perm32[k] : a->perm64[k];
}

/* Where column j of numbers goes. */
POISE_INLINE double *poiseOfColumn(const CsrMultTransposeArgs *a, int64_t j)
{
  int64_t owned = poiseInNumbers(&a->c.m.A, a->owned);
  return j < owned ? a->c.m.y + j : a->ghost + (j - owned);
}

/* partial[b] = 1 if the offsets or columns of A and B differ in block b of POISE_BLOCK rows, else 0. They have as many rows. */
typedef struct {
  CsrView A, B;
  double *partial;
} CsrDifferArgs;

/* The kernels that change values: `val` is A.val, to be written. */

typedef struct { /* val = diag(left) A diag([right | ghost]); left NULL, right and ghost NULL: ones */
  CsrView A;
  const double *left, *right, *ghost;
  double *val;
} CsrScaleArgs;

/* A_ii = v, or += v with add, v = d_i, or value where d is NULL, of a block of owned columns that begins at the diagonal.
   lacking[b]: rows of block b (of POISE_BLOCK) without such an entry, which stay as they are. */
typedef struct {
  CsrView A;
  int add;
  double value;
  const double *d;
  double *val, *lacking;
} CsrSetDiagonalArgs;

typedef struct
{ /* partial[b]: the largest sum of |entries| of a row of block b (largest != 0), or the sum of their squares */
  CsrView A;
  int largest;
  double scale[2]; /* by which entries are multiplied, one after the other, before they are squared */
  double *partial;
} CsrNormArgs;

/* Rows row[0 .. n), each once: their entries become 0, but entry at[k] of row[k] `diagonal` (at NULL: none does),
   b = diagonal x there and mark = 1 (x and b, mark: may be NULL). */
typedef struct {
  CsrView A;
  int64_t n;
  const int32_t *row;
  const int64_t *at;
  double diagonal;
  const double *x;
  double *val, *b, *mark;
} CsrZeroRowsArgs;

/* In rows i with mark_i = 0: b_i -= A_ij x_j (x and b may be NULL), then A_ij = 0, for all j with mark_j != 0, in the order of the
   entries. Marks and x of ghost columns: ghost_mark, ghost. */
typedef struct {
  CsrView A;
  const double *mark, *ghost_mark, *x, *ghost;
  double *val, *b;
} CsrZeroColumnsArgs;

/* key_k = row_k << bits | col_k and place_k = first + k; m << bits, above all others, where an index is negative. Places are int64 or
   uint32: the other is NULL, here as below. */
typedef struct {
  int64_t n, first, m;
  int bits;
  const int64_t *row, *col;
  uint64_t *key;
  int64_t *place64;
  uint32_t *place32;
} CooKeysArgs;

/* key_k = col_k << bits | row and place_k = k for every entry k of A. */
typedef struct {
  CsrView A;
  int bits;
  uint64_t *key;
  int64_t *place64;
  uint32_t *place32;
} CsrKeysArgs;

/* Keys and places by the keys without their lowest `first` bits, equal ones in their order, from [0] to [1]; what was in [0] is lost.
   bits: that keys have beyond those at most, one or more; scratch: as many bytes as sort_scratch of the device says. */
typedef struct {
  int64_t n;
  int first, bits;
  uint64_t *key[2];
  int64_t *place64[2];
  uint32_t *place32[2];
  void *scratch;
  size_t scratch_bytes;
} SortKeysArgs;

typedef struct
{ /* count[b]: keys in block b of POISE_BLOCK that are below `end` and differ from the one before; n + 1 keys' blocks */
  int64_t n;
  uint64_t end;
  const uint64_t *key;
  int64_t *count;
} CooCountArgs;

typedef struct { /* count[b] = the sum of those before, for b <= n */
  int64_t n;
  int64_t *count;
} ScanArgs;

/* Sorted keys become rows: entry e, of column col[e], is the sum of the values at places start[e] to start[e + 1] of the sorted ones
   (both NULL: not asked for), ptr: m + 1 row offsets. count: as scanned. */
typedef struct {
  int64_t n, m;
  int bits;
  const uint64_t *key;
  const int64_t *count;
  int64_t *ptr64, *start64;
  int32_t *ptr32, *col;
  uint32_t *start32;
} CooRowsArgs;

/* Does key k begin an entry? */
POISE_INLINE int poiseCooBegins(const uint64_t *key, int64_t k, uint64_t end)
{
  return key[k] < end && (k == 0 || key[k] != key[k - 1]);
}

/* What key k, 0 <= k <= n, says of the rows; e: entries before it. The first of those to be ignored ends the last row. */
POISE_INLINE void poiseCooRow(const CooRowsArgs *a, int64_t k, int64_t e)
{
  uint64_t end = (uint64_t)a->m << a->bits;
  int valid = k < a->n && a->key[k] < end;
  if (k > 0 && (valid ? a->key[k] == a->key[k - 1] : a->key[k - 1] >= end)) return;
  int64_t row = valid ? (int64_t)(a->key[k] >> a->bits) : a->m, before = k > 0 ? (int64_t)(a->key[k - 1] >> a->bits) : -1;
  if (valid) a->col[e] = (int32_t)(a->key[k] & ((UINT64_C(1) << a->bits) - 1));
  if (a->start32)
    a->start32[e] = (uint32_t)k;
  else if (a->start64)
    a->start64[e] = k;
  for (int64_t i = before + 1; i <= row; i++) {
    if (a->ptr32)
      a->ptr32[i] = (int32_t)e;
    else
      a->ptr64[i] = e;
  }
}

/* Entry e < n: val_e = the sum of the values at places from[k], start[e] <= k < start[e + 1], in that order, beginning with 0 or, with
   add, val_e. Places below ngiven are of `given`, those from there on of `received`. One of the widths is NULL. Entries and values are of
   so many numbers each, which are added one to one. */
typedef struct {
  int64_t n, ngiven;
  int add, numbers;
  const int64_t *start64, *from64;
  const uint32_t *start32, *from32;
  const double *given, *received;
  double *val;
} CooSumArgs;

/* Number j of entry e. */
POISE_INLINE double poiseCooSum(const CooSumArgs *a, int64_t e, int64_t j)
{
  double s = a->add ? a->val[e * a->numbers + j] : 0;
  int64_t k = a->start32 ? a->start32[e] : a->start64[e], end = a->start32 ? a->start32[e + 1] : a->start64[e + 1];
  for (; k < end; k++) {
    int64_t place = a->from32 ? a->from32[k] : a->from64[k];
    s += *(place < a->ngiven ? a->given + place * a->numbers + j : a->received + (place - a->ngiven) * a->numbers + j);
  }
  return s;
}

/* Block k < n of out is the transpose of block from[k] of x, or, with both widths NULL, of block k. b x b numbers each. */
typedef struct {
  int64_t n, b;
  const int64_t *from64;
  const int32_t *from32;
  const double *x;
  double *out;
} BcsrTurnArgs;

/* The b x b diagonal blocks of local rows, column-major, absent entries 0: block k at d + k b b. */
typedef struct {
  CsrView A;
  int b;
  double *d;
} CsrDiagonalArgs;

/* Invert nblock b x b blocks in place; *bad = the first block that is singular or not finite, or -1. fix: a zero 1 x 1 block
   counts as 1. */
typedef struct {
  int64_t nblock;
  int b, fix;
  double *d;
  double *bad;
} InvertBlocksArgs;

typedef struct { /* y_block = D_block x_block for n = rows, b x b column-major blocks (d = NULL: y = x), then dots of y */
  int64_t n;
  int b;
  const double *d, *x, *skip;
  double *y;
  Fuse fuse;
} BlockApplyArgs;

/* The diagonal blocks of rows start[k] .. start[k + 1), at most 32, inverted: block k < nblock, column-major, at d + at[k]. *bad =
   the first block that is singular or not finite, or -1. */
typedef struct {
  CsrView A;
  int64_t nblock;
  const int32_t *start;
  const int64_t *at;
  double *d, *bad;
} InvertSupervariablesArgs;

typedef struct { /* y_block = D_block x_block for these n = start[nblock] rows, then dots of y */
  int64_t n, nblock;
  const int32_t *start;
  const int64_t *at;
  const double *d, *x, *skip;
  double *y;
  Fuse fuse;
} ApplySupervariablesArgs;

/* P A = L U in place, A n x n, dense, row-major: rows k and pivot[k] >= k were exchanged in step k, L's diagonal is 1. refused: the
   first step whose largest pivot was at most zero or not finite, or -1; and that pivot. */
typedef struct {
  int64_t n;
  double zero, *a;
  int32_t *pivot;
  double *refused;
} LuFactorArgs;

typedef struct { /* y = rows [begin, begin + m) of A^-1 x by these factors, then dots of y; work: n numbers; x: not work */
  int64_t n, begin, m;
  const double *lu, *x, *skip;
  const int32_t *pivot;
  double *work, *y;
  Fuse fuse;
} LuSolveArgs;

/* The strict triangles of the square block of owned columns inside a rank's CSR: entries [begin_i, diag_i) and (diag_i, end_i) of
   row i, columns ascending. Offsets are int64 if wide, else int32. b != 0: rows, columns and entries are blocks, as in CsrView; then
   what a kernel below does with numbers it does with blocks of b x b, b > 1, and vectors have b numbers for each row. */
typedef struct {
  int64_t n, nz; /* nz: entries of the block */
  int wide, b;
  const void *begin, *diag, *end;
  const int32_t *col;
} Triangles;

POISE_INLINE int64_t poiseOffset(const Triangles *t, const void *offsets, int64_t i)
{
  return t->wide ? ((const int64_t *)offsets)[i] : ((const int32_t *)offsets)[i];
}

/* An order of rows that depend on each other: groups g of consecutive rows [first[g], last[g]), to be done one by one; the groups
   of one level, start[l] <= g < start[l + 1], do not depend on each other. */
typedef struct {
  int64_t count, groups; /* count: levels */
  const int32_t *start, *first, *last;
} Levels;

enum { SWEEP_LOWER = 1, SWEEP_UPPER = 2 };

/* y_i = keep y_i + scale d_i (x_i - sum of val_ij y_j over the triangles in parts), row after row, backward or forward, so that y_j
   is new for the rows passed; then dots of y. d NULL: ones; x NULL: zeros; x may be y. keep = 0 overwrites whatever y_i held. The
   dots' blocks are of POISE_BLOCK numbers. */
typedef struct {
  Triangles t;
  Levels levels; /* an order with the same result */
  int parts, backward;
  double keep, scale;
  const double *val, *d, *x, *skip;
  double *y, *work; /* work: a vector and one more double, where the device asks for single_rows */
  Fuse fuse;
} SweepArgs;

/*
  A + shift I = L U on the pattern of A, that is without fill: L, whose diagonal is 1, and U go where A's
  entries are, the inverse of U's diagonal to d. symmetric: of A only the upper triangle is read, and L =
  (D^-1 U)^T. A pivot is refused, and its d is 0, when it is not finite or |pivot| (sign pivot, if sign is
  not 0) is at most zero, or zero times the sum of the |entries| beside it if relative; replace != 0 is
  added to such pivots instead. Of blocks: L's diagonal are identities, U is without its diagonal, d the
  inverse blocks U_ii, and pivots those of their elimination, with rows exchanged for the largest pivot in a
  block if sign is 0. The rest of a pivot is then the largest of a row of the block. d of a block whose
  pivot was refused is NaN, the number of the pivot in the block, and the pivot.
*/
typedef struct {
  Triangles t;
  Levels levels;                 /* of the lower triangle */
  int symmetric, sign, relative; /* sign: of all pivots; 0: each may have its own */
  double shift, zero, replace;
  const double *a;
  double *lu, *d, *work; /* work: as for a sweep */
  double *refused;       /* the first row, of numbers, whose pivot was refused, or -1; and that pivot */
} FactorArgs;

/* What `factor` makes, not of blocks and of rows that end where the next begins: t.begin has n + 1 offsets. */
typedef struct {
  Triangles t;
  const double *lu;
} FactorView;

/* y = U^-1 L^-1 x by a library of the device, as `plan` (LibraryPlan.device) was made for these factors; work: n numbers. y: not x */
typedef struct {
  FactorView f;
  const void *plan;
  const double *x;
  double *work, *y;
} FactorLibraryArgs;

typedef struct { /* *lack = the largest of floor and sum of |a_ij|, j != i, - sign a_ii over the rows */
  Triangles t;
  double floor, sign;
  const double *a;
  double *lack;
} DominanceArgs;

enum {
#define KERNEL(name, Args) KERNEL_##name,
#include "kernels.def"
#undef KERNEL
  KERNEL_COUNT
};

#endif
