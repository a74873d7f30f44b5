/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The kernel contract: what a device provides. Plain C without objects, valid as CUDA C++ too.

  A kernel takes one argument struct of sizes, plain device arrays and slots, which a queue may copy. Inputs
  are const; b = 0 overwrites whatever y held (NaN too); n = 0 is legal; no allocation, no synchronisation.
  Every kernel is launched by poiseLaunch (device.c), which names a missing one. Its argument struct, and the
  code that host and GPU share, stand next to who launches it: <stem>_kernels.h.

  Dots leave one partial per row block in a fixed place. A row block has POISE_BLOCK rows unless the arguments
  say otherwise. Partials are added in a fixed order: docs/design/reductions.md.
*/
#ifndef POISE_KERNELS_H
#define POISE_KERNELS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "link_args.h"

#if defined(__CUDACC__)
#define POISE_INLINE static __host__ __device__ __forceinline__
#else
#define POISE_INLINE static inline __attribute__((always_inline))
#endif

enum {
  POISE_BLOCK = 1024, /* rows per partial sum */
  POISE_MAX_DOTS = 4, /* of one Fuse */
  POISE_PHASE_DOTS = 5,
  POISE_MAX_VECS = 8, /* of one phase */
  POISE_MAX_COEFS = 4,
  POISE_MAX_SUMS = 8,    /* pending sums one phase may take in */
  POISE_MAX_BATCH = 32,  /* vectors of one mdot or maxpy */
  POISE_SLOTS = 32,      /* scalars of a solver */
  POISE_MAX_COLUMNS = 32 /* of a wide vector */
};

#define POISE_NBLOCKS(n) (((n) + POISE_BLOCK - 1) / POISE_BLOCK)

/* a scalar known when the kernel is launched, or one that an earlier kernel leaves in a slot */
typedef struct {
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

/* A number that looks random, of two: the same on all machines (SplitMix64: G. L. Steele, D. Lea and
   C. H. Flood, Fast splittable pseudorandom number generators, OOPSLA 2014). */
POISE_INLINE uint64_t poiseMix(uint64_t a, uint64_t b)
{
  uint64_t z = a * UINT64_C(0x9e3779b97f4a7c15) + b;
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

/* Several threads may raise a flag at once. On a GPU they look first: reads are served by L1, while writes of
   many threads to one place would queue up in L2. */
POISE_INLINE void poiseRaise(int32_t *flag)
{
#if defined(__CUDA_ARCH__)
  if (!*flag) *(volatile int32_t *)flag = 1;
#else
  __atomic_store_n(flag, 1, __ATOMIC_RELAXED);
#endif
}

POISE_INLINE double poiseScalar(ScalarRef s)
{
  return s.slot ? *s.slot : s.value;
}

/* Wide vectors, those of several systems at once: entry i of column j is at [i * n + j]. Of each column there
   are scalars, a small array and partial sums, all the same way: those of column j are (1 + j) * scalars,
   j * arrays and j * partials behind the pointers in the arguments. What stands at a pointer to scalars
   itself is of all columns. Coefficients and dots of many vectors are in arrays. */
typedef struct Systems {
  int n;          /* columns; 0: one system, with ordinary vectors and pointers */
  int rows;       /* of phases: rows of a block; 0: POISE_BLOCK */
  int enough;     /* of phases: with so many systems that go on, or fewer, SLOT_DONE of all columns is set */
  unsigned alike; /* of phases: bit k: in[k] is an ordinary vector, the same for all columns */
  int64_t scalars, arrays, partials;
  double *work; /* of phases: POISE_SYSTEMS_WORK doubles */
} Systems;

enum { POISE_SYSTEMS_WORK = POISE_MAX_COLUMNS * (POISE_MAX_COEFS + 1) + 1 };

/* From a pointer to a scalar to that of column j. */
POISE_INLINE int64_t poiseScalarsOf(const Systems *s, int j)
{
  return s->n ? (1 + j) * s->scalars : 0;
}

/* The same in an array. */
POISE_INLINE int64_t poiseArrayOf(const Systems *s, int j)
{
  return j * s->arrays;
}

/* Dots of the rows y just finished: (u_k, y), or (y, D y) when u_k is NULL (D = 1 when d_k is NULL too). */
typedef struct {
  int ndot;
  int single; /* u and d are in fp32, where y is */
  const double *u[POISE_MAX_DOTS], *d[POISE_MAX_DOTS];
  /* block b of the kernel's rows (POISE_BLOCK unless it says otherwise) writes partial[k][b] */
  double *partial[POISE_MAX_DOTS];
  Systems systems; /* u_k and y are wide; D is not */
} Fuse;

typedef struct { /* dst = sum of count partials, in order */
  const double *partial;
  int64_t count;
  double *dst;
  int64_t column; /* from the partials of a system to those of the next */
} Sum;

/* ---- phases: one pass over vectors, with a scalar prologue ----------------------------------- */

enum {
#define PHASE(name, ndot, combine, kind) PHASE_##name,
#define SCALARS(name)                    PHASE_##name,
#include "phases.def"
#undef PHASE
#undef SCALARS
  PHASE_COUNT
};

/* Slots that every solver has; a method's own start at SLOT_FIRST_OWN. Those written by a phase that other
   blocks of the same phase read are kept twice and alternate with the parity of the iteration (SLOT_ITS +
   parity). */
enum {
  SLOT_DONE, /* nonzero once the reason is known: later phases change nothing */
  SLOT_SEEN, /* DONE as of the previous phase: what a deciding phase tests, so that all its blocks agree. In
                those of all columns: is none left that goes on? */
  SLOT_REASON,
  SLOT_ITS, /* iterations finished; two, by parity */
  SLOT_ITS_ODD,
  SLOT_ITS_FINAL, /* at the time of DONE */
  SLOT_NORM,      /* the latest residual norm */
  SLOT_NORM0,     /* what rtol and dtol are relative to */
  /* the tolerances and the most iterations: set by the host, so that a replay takes new ones */
  SLOT_RTOL,
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

typedef struct {     /* how convergence is decided, besides the tolerances in their slots */
  double *history;   /* ring of 2^k norms; never NULL */
  double *unclaimed; /* 1; 0 once an iteration has claimed convergence: work that follows a claim alone can be
                        enqueued ahead, to be skipped */
  int64_t mask;      /* 2^k - 1 */
  int64_t range;     /* of the first norm: RANGE_... (ksp/ksp_phases.h) */
  int test;          /* 0: the host decides (only NaN, breakdown and maxits end the loop here) */
  int none;          /* 1: no norm, run maxits iterations */
} Convergence;

/* The epilogue of a phase marked EPILOGUE, for the rows of r that it has just written: z = D r, and the dots
   (r, z) and (z, z). D is dense blocks of b rows, column-major, one after the other; the last may have fewer
   rows. Partials of the dots go to rz and zz (NULL: not wanted). */
typedef struct {
  int64_t b; /* at most 32; 0: no such end */
  const double *d, *r;
  double *z, *rz, *zz;
} BlockEpilogue;

typedef struct PhaseArgs {
  int id;     /* PHASE_... */
  int parity; /* of the iteration; 0 outside solvers */
  int nsum;   /* sums to take before the prologue, results published for later phases */
  int flags;  /* meaning is the phase's own, e.g. the norm */
  int64_t n;  /* rows; 0 for scalar work only */
  const double *in[POISE_MAX_VECS];
  /* those that are read too stand among in; element i reads and writes entry i only */
  double *out[POISE_MAX_VECS];
  float *out_f32; /* one more that is written, in fp32; NULL: none */
  int seldom;     /* how many of out are touched once in a while only: not counted as traffic */
  int single;     /* of one marked F32: its vectors are in fp32, but for those that the mark names */
  ScalarRef c[POISE_MAX_COEFS];
  double *slots;      /* POISE_SLOTS of them; NULL outside solvers */
  const double *skip; /* without slots; *skip != 0: do nothing (may be NULL) */
  /* a solver's small array (GMRES: H, ...); NULL: it has none, or coefficients alone are wanted */
  double *array;
  int64_t k; /* a small integer for the prologue (GMRES: the column) */
  Sum sum[POISE_MAX_SUMS];
  double *partial[POISE_PHASE_DOTS];
  BlockEpilogue end;
  Convergence conv;
  /* of one marked EXCHANGES, in a solver */
  Systems systems;
  LinkRanks ranks; /* size > 0: the sums are this rank's alone. The phase adds those of all ranks */
  LinkSend send;
} PhaseArgs;

/* Rows of a block of a phase, which leaves a partial for each: whole blocks of its end. */
POISE_INLINE int64_t poisePhaseRows(const PhaseArgs *a)
{
  if (a->systems.rows) return a->systems.rows;
  return a->end.b ? POISE_BLOCK - POISE_BLOCK % (int)a->end.b : POISE_BLOCK;
}

POISE_INLINE int64_t poisePhaseBlocks(const PhaseArgs *a)
{
  int64_t rows = poisePhaseRows(a);
  return (a->n + rows - 1) / rows;
}

typedef struct {
  double d[POISE_PHASE_DOTS];
} Dots; /* what an element adds to the dots */

/*
  A phase is a prologue on scalars and what is done for each row; phase.h says how both are written.
  phases.def lists them. The end, where there is one, runs when the rows do. In a solver a phase is skipped
  once SLOT_DONE is set. One that decides convergence may set it in its own prologue and still run its
  elements (the update of x that goes with the decision): it is skipped by SLOT_SEEN instead, which every
  plain phase sets to SLOT_DONE; so a plain phase lies between two that decide.
*/

/* ---- kernels --------------------------------------------------------------------------------- */

/*
  Precision: kernels.def lists a kernel once for each type of values and vectors, with a suffix on both names:
  mdot_f32 and MdotArgs_f32 besides mdot and MdotArgs. Struct and kernel are one text, included once for each
  type; the compiler checks every launch, as the struct belongs to the name. Coefficients, dots and sums are
  fp64. POISE_TYPED names functions of such a struct, which C++ tells apart by it.
*/
#ifdef __cplusplus
#define POISE_TYPED(name, suffix) name
#else
#define POISE_TYPED(name, suffix) name##suffix
#endif

enum {
#define KERNEL(name, Args) KERNEL_##name,
#include "kernels.def"
#undef KERNEL
  KERNEL_COUNT
};

#endif
