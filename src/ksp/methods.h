/* SPDX-License-Identifier: BSD-3-Clause */
/*
  What the file of a method needs. A method enqueues phases, products and preconditioner applications. It
  takes no decision on the host. The functions that it calls return nothing. A failure is kept in
  ksp->solve.failed, and the work goes on. The failure travels to all ranks with the next global sum, so that
  nobody waits for a rank that gave up.

  Methods read of the solver their data, what set-up chose, work, v, M and loop.parity. Behind the loop they
  also read the result.
*/
#ifndef POISE_KSP_METHODS_H
#define POISE_KSP_METHODS_H

#include "vec/gram_kernels.h"
#include "ksp.h"
#include "spectrum.h"

enum {
  MAX_CYCLE = 256, /* most iterations of a cycle that is captured as one graph */
  NO_SLOT = -1
};

#define NORM(n) (1u << POISE_KSP_NORM_##n) /* of KSPType's left and right */

enum { MAT_TRANSPOSED = 1, PC_TRANSPOSED = 2 }; /* of KSPType.transposes */

/* What a method for least squares tests: |b - A x| and |A^T (b - A x)| beside it, or the latter alone. */
typedef enum LeastSquares { NO_SQUARES, TESTS_RESIDUAL, TESTS_NORMAL } LeastSquares;

struct KSPType {
  const char *name, *alias;   /* alias may be NULL */
  size_t size;                /* of ksp->data */
  const PoiseOption *options; /* of ksp->data */
  PoiseErr (*read)(PoiseKSP); /* read the options in a call that may override others; NULL: into data */
  void (*inherit)(const void *from, void *to); /* copy settings in data that are not in `options`; may be
                                                  NULL */
  /* Several systems at once are one by one what they are alone: its phases, products and M are all there is
     to an iteration. Or they have one space, and so many numbers that k of them share (poiseKSPShared). */
  bool columns;
  int64_t (*shared)(int k); /* NULL: they share nothing */
  bool flexible;            /* M may vary between applications */
  bool symmetric;           /* it needs A = A^T */
  /* For least squares: x minimises |b - A x|, A may have any shape, and M approximates A^T A. The last `rows`
     work vectors have A's rows, the others, as x, A's columns. */
  LeastSquares squares;
  int rows;
  double (*size_of_a)(PoiseKSP); /* of these: |A M^-1/2|, the norm of Frobenius in the space so far */
  unsigned transposes;           /* MAT_TRANSPOSED: it multiplies with A^T; PC_TRANSPOSED: it applies M^-T */
  bool (*relaxes)(PoiseKSP);     /* does it apply M by poiseKSPRelax alone, if M can do that? NULL: never */
  double linear[2]; /* per side: with an rtol below, it needs M (u + v) = M u + M v to the digits of fp64 */
  unsigned left, right;       /* norms offered per side, 1 << PoiseNormType; 0: the side is not supported */
  int (*vectors)(PoiseKSP);   /* work vectors, the first being x */
  int (*singles)(PoiseKSP);   /* work vectors in fp32 beside them; NULL: none */
  int64_t (*array)(PoiseKSP); /* number of doubles of its small device array; may be NULL */
  /* For -ksp_precision mixed (mixed.c), bit k for work vector k. Those that stay in fp64: x, and what
     `finish` makes it of. NULL: it has no form in fp32. Its phases with rows are marked F32, and nothing else
     works on vectors but products and M. */
  unsigned (*wide)(PoiseKSP);
  unsigned begins,
      keeps;     /* those that start makes for iterate; of them those that stay where b - A x takes the
                             place of the recurrence's r */
  bool replaces; /* it has no such form, but takes products in fp32 (KSPMixed.products), as it starts
                               again from b - A x by itself */
  PoiseErr (*setup)(PoiseKSP); /* set-up that needs the operator and the preconditioner, which are ready;
                                  agrees; may be NULL */
  /* Which method's cycle, iterate and restart are used, as set-up chose; NULL: its own. */
  const KSPType *(*form)(PoiseKSP);
  int (*cycle)(PoiseKSP); /* iterations after which the enqueued work repeats; NULL: 1 */
  /* from the x in work[0]; without a guess from 0, and x is set so */
  void (*start)(PoiseKSP, PoiseVec b);
  bool once; /* that is the whole solve */
  /* Of an iteration whose steps depend on no result: step k is p = c0 p + c1 M^-1 (b - A x), x += p, where c0
     = 0 at first. false: it cannot go on. NULL: it has others. After its set-up. */
  bool (*step)(PoiseKSP, int k, double c[2]);
  bool sends;                       /* its phases say which vector is multiplied next (SENDS) */
  void (*iterate)(PoiseKSP, int j); /* iteration j of a cycle */
  void (*restart)(PoiseKSP);        /* at the end of a cycle; may be NULL */
  void (*finish)(PoiseKSP);         /* make x; NULL: the iteration keeps x */
  bool foreseen;                    /* after a claim it needs no result, and may be enqueued ahead */
  PoiseVec (*solution)(PoiseKSP);   /* make the iterate in a work vector, with the scalars in
                                       ksp->result.slots; NULL likewise */
  int factor; /* slot of the factor between the tested norm and the natural one; 0: the tested norm is the
                 one in use */
  /* The work vector that holds b - A x, from which the norm in ksp->result.slots was computed. 0: it was
     computed so, but no vector holds it. -1, or NULL: it was not. Asked for before the end where
     x is foreseen. */
  int (*residual)(PoiseKSP);
  /* The work vector that holds r of a recurrence when a claim is made, with the preconditioned norm |M^-1 r|
     as computed by an application of M, from the left. 0: there is none. */
  int recurrence;
  /* Has the method ended where a restart from x may gain? Then *norm is the norm at its start. NULL:
     never. */
  bool (*stalls)(PoiseKSP, double *norm);
  void (*explain)(PoiseKSP); /* describe a solve that has ended, by poiseKSPSay; may be NULL */
  /* The whole solve, by solvers of its own: nothing else of the method is used but norms, setup and view, and
     it tells its result. NULL: it has none. */
  PoiseErr (*solve)(PoiseKSP, PoiseVec b, PoiseVec x);
  void (*bytes)(PoiseKSP, PoiseBytes *sum); /* sum += those of solvers of its own; NULL: it has none */
  /* What it has made of K in its latest cycle, in arrays that the caller frees; local. NULL: it makes nothing
     of the kind. What it need keep for that is kept if poiseKSPKeepsSpectrum. */
  PoiseErr (*projected)(PoiseKSP, Projected *);
  PoiseErr (*view)(PoiseKSP); /* may be NULL */
  void (*destroy)(PoiseKSP);  /* frees the contents of ksp->data; may be NULL */
};

#define KSP_TYPE(name) extern const KSPType poiseKSPType_##name;
#include "types.def"
#undef KSP_TYPE
extern const KSPType poiseKSPType_auto;

/* ---- products and M (operator.c) ------------------------------------------------------------- */

/* y = D (a A x + b y), D = diag(scale), NULL: 1; with the dots that were added to f (may be NULL). */
void poiseKSPProduct(PoiseKSP ksp, double a, PoiseVec x, double b, PoiseVec y, const double *scale,
                     const Fuse *f);
/* y = A x */
static inline void poiseKSPMult(PoiseKSP ksp, PoiseVec x, PoiseVec y, const Fuse *f)
{
  poiseKSPProduct(ksp, 1, x, 0, y, NULL, f);
}
/* y -= A x */
static inline void poiseKSPSubtractProduct(PoiseKSP ksp, PoiseVec x, PoiseVec y, const Fuse *f)
{
  poiseKSPProduct(ksp, -1, x, 1, y, NULL, f);
}
/* The same without D, where factors may be on the device. */
void poiseKSPProductScaled(PoiseKSP ksp, ScalarRef a, PoiseVec x, ScalarRef b, PoiseVec y, const Fuse *f);
/* Is M the identity? */
static inline bool poiseKSPIsIdentity(PoiseKSP ksp)
{
  return ksp->M.pointwise && !ksp->M.diagonal;
}
/* z = M^-1 r */
void poiseKSPPrecondition(PoiseKSP ksp, PoiseVec r, PoiseVec z, const Fuse *f);
/* x += M^-1 (b - A x), where ksp->pc->relaxes */
void poiseKSPRelax(PoiseKSP ksp, PoiseVec b, PoiseVec x);
/* y = M^-1 A x or A M^-1 x by ksp->side; t: scratch. From the left a diagonal M scales the product. */
void poiseKSPOperator(PoiseKSP ksp, PoiseVec x, PoiseVec t, PoiseVec y, const Fuse *f);
/* The same, unless the slot is not 0. It must not be 0 once the solve is done. */
void poiseKSPOperatorUnless(PoiseKSP ksp, PoiseVec x, PoiseVec t, PoiseVec y, int slot);
void poiseKSPUnwind(PoiseKSP ksp, PoiseVec u, PoiseVec t);      /* the solution += M^-1 u; t: scratch */
PoiseVec poiseKSPUnwound(PoiseKSP ksp, PoiseVec u, PoiseVec t); /* t = the solution + M^-1 u */
void poiseKSPCopy(PoiseKSP ksp, PoiseVec x, PoiseVec y);        /* y = x */
void poiseKSPZero(PoiseKSP ksp, PoiseVec x);
void poiseKSPRandom(PoiseKSP ksp, PoiseVec x, uint64_t seed); /* as PoiseVecSetRandom */

/* y = A^T x; z = M^-T r. Where work is skipped, y is computed from the same x once more, z is not. Of methods
   with KSPType.transposes (adjoint.c). */
void poiseKSPMultTransposed(PoiseKSP ksp, PoiseVec x, PoiseVec y);
void poiseKSPPreconditionTransposed(PoiseKSP ksp, PoiseVec r, PoiseVec z);

/* ---- the start (operator.c) ------------------------------------------------------------------ */

/* Does x hold a guess, perhaps left by a refuted claim? */
static inline bool poiseKSPHasGuess(PoiseKSP ksp)
{
  return ksp->options.guess_nonzero || ksp->solve.again;
}
/* A work vector with A's rows, which is not needed between solves. */
static inline int poiseKSPRowsVector(PoiseKSP ksp)
{
  return ksp->type->squares ? ksp->nwork - ksp->type->rows : 1;
}
/* r = b - A x0. Without a guess x = 0 and r = b. */
void poiseKSPResidual(PoiseKSP ksp, PoiseVec b, PoiseVec r);
/* SLOT_NORM0 = |b| in the norm in use; nothing if the guess is zero. t: scratch. Returns whether rtol is
   relative to it. */
int poiseKSPNormOfB(PoiseKSP ksp, PoiseVec b, PoiseVec t, int slot);
/* Work vector r = the first residual, M^-1 (b - A x0) from the left, with (r, r) in the slot. t: scratch, a
   work vector too. Returns whether rtol is relative to the norm of b. */
int poiseKSPStartResidual(PoiseKSP ksp, PoiseVec b, int r, int t, int slot);
typedef struct {
  int r, z;   /* work vectors */
  int rz, zz; /* slots of the dots (r, z) and (z, z), or NO_SLOT */
} Application;
/* The first residual r, as above, and the dots of z = M^-1 r. The dot (r, r) goes to slot rr (NO_SLOT: not
   wanted). A diagonal M does not store z. */
void poiseKSPFirstResidual(PoiseKSP ksp, PoiseVec b, Application m, int rr);

/* ---- phases and dots (dots.c) ---------------------------------------------------------------- */

/* on: skip nothing of what is enqueued, whoever has ended. */
static inline void poiseKSPSkipNothing(PoiseKSP ksp, bool on)
{
  ksp->solve.finishing = on;
}
/* slots[k] on the device */
static inline double *poiseKSPSlot(PoiseKSP ksp, int k)
{
  return ksp->scalars.slots + k;
}
/* Add the dot (u, result) to f, or (result, result) if u is NULL. It is in slots[slot] from the next phase
   on. */
void poiseKSPAddDot(PoiseKSP ksp, Fuse *f, const double *u, int slot);
/* Run phase `id` on all rows (rows = 0: scalars only). Its dots go to slots dot0, dot1 (NO_SLOT: not
   wanted). */
void poiseKSPPhase(PoiseKSP ksp, int id, PhaseArgs a, int dot0, int dot1);
/* The same on rows of A, where x has others. */
void poiseKSPRowsPhase(PoiseKSP ksp, int id, PhaseArgs a, int dot0, int dot1);
/* poiseKSPPhase, then z = M^-1 r of the r that the phase (marked EPILOGUE) has just written. If M is dense
   blocks, this is an epilogue in the same pass; else it comes behind the phase. */
void poiseKSPPhasePrecondition(PoiseKSP ksp, int id, PhaseArgs a, int dot0, int dot1, Application m);
void poiseKSPScalars(PoiseKSP ksp, int id, PhaseArgs a);
/* dst[0..k) = (x_j, y) over all ranks, any k, also added to sum[0..k) (may be NULL). Skipped if *skip !=
   0. */
void poiseKSPMdot(PoiseKSP ksp, int k, double *const *x, const double *y, double *dst, double *sum,
                  const double *skip);
/* y += sign sum_j c_j x_j, with dots to f. c is on the device; NULL: ones. */
void poiseKSPMaxpy(PoiseKSP ksp, int k, double *const *x, double sign, const double *c, double *y,
                   const double *skip, const Fuse *f);
typedef struct Columns { /* device pointers of vectors of one type; the other is NULL */
  double *const *f64;
  float *const *f32;
  /* In an array, for poiseKSPColumnsAdd with several systems: how many vectors each adds, of which `before`
     are in front of these. NULL: all. */
  const double *terms;
  int before;
} Columns;
/* These two for x_j of either type. */
void poiseKSPColumnsDot(PoiseKSP ksp, int k, Columns x, const double *y, double *dst, double *sum,
                        const double *skip);
void poiseKSPColumnsAdd(PoiseKSP ksp, int k, Columns x, double sign, const double *c, double *y,
                        const double *skip, const Fuse *f);
/* The latter, and (x_j, y) with the new y, in one pass for k <= POISE_MAX_BATCH. poiseKSPTakeDots must take
   these dots before any others are made. */
void poiseKSPColumnsAddDots(PoiseKSP ksp, int k, Columns x, double sign, const double *c, double *y,
                            const double *skip, const Fuse *f);
void poiseKSPTakeDots(PoiseKSP ksp, int k, Columns x, const double *y, double *dst, double *sum,
                      const double *skip);

/* ---- wide vectors whose columns are mixed, and k x k numbers (dots.c) ------------------------- */

/* The numbers that systems share (KSPType.shared), on the device. */
static inline double *poiseKSPShared(PoiseKSP ksp)
{
  return ksp->systems.work + POISE_SYSTEMS_WORK;
}
/* X^T Y_0 over all ranks, and X^T Y_1 behind it if Y_1 is not NULL: where they are until the next call. */
const double *poiseKSPGram(PoiseKSP ksp, const double *x, const double *y0, const double *y1);
/* As combine_columns does it; n, k, skip and systems are the solver's. */
void poiseKSPCombine(PoiseKSP ksp, CombineArgs a);

/* ---- the loop, and words about its end (loop.c, monitor.c) ----------------------------------- */

/* The cycle of a method that tests the norm of an iteration in the next one, when work of that has been done
   in vain. At the end of a cycle it tests by a kernel more. That is every iteration where the host looks at
   each, or an iteration takes long; else `most`. */
int poiseKSPLateCycle(PoiseKSP ksp, int most);
/* A method that starts with a shadow residual of its own has broken down, after some iterations: started
   again from its x, it has another one (KSPType.stalls). first: the slot of the norm at its start. */
bool poiseKSPBrokeDown(PoiseKSP ksp, int first, double *norm);
/* Add to ksp->result.detail, behind a semicolon. */
void poiseKSPSay(PoiseKSP ksp, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
