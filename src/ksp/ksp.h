/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Krylov solvers as their methods see them.

  A method enqueues phases, products and preconditioner applications; it takes no decision on the host. The functions it calls
  return nothing: a failure is kept in ksp->failed, the work goes on, and the failure travels to all ranks with the next global
  sum, so that nobody waits for a rank that gave up.
*/
#ifndef POISE_KSP_IMPL_H
#define POISE_KSP_IMPL_H

#include "../mat/arrange.h"
#include "../pc/pc.h"
#include "ksp_phases.h"
#include "poise/ksp.h"

enum {
  MAX_MONITORS = 8,
  MAX_PENDING = POISE_MAX_SUMS,
  PARTIALS = 2 * MAX_PENDING, /* arrays of partial sums in turn: those being summed and those being written differ */
  MAX_CYCLE = 256,            /* iterations of a cycle that are captured as one graph */
  NO_SLOT = -1
};

typedef struct KSPType {
  const char *name, *alias;    /* alias may be NULL */
  size_t size;                 /* of ksp->data */
  const PoiseOption *options;  /* of ksp->data */
  PoiseErr (*read)(PoiseKSP);  /* reads them, as a call that may override others; NULL: into data */
  bool flexible;               /* M may change from one application to the next */
  unsigned left, right;        /* norms it offers per side, 1 << PoiseNormType; 0: the side is not supported */
  int (*vectors)(PoiseKSP);    /* work vectors, the first being x */
  int64_t (*array)(PoiseKSP);  /* doubles of its small device array; may be NULL */
  PoiseErr (*setup)(PoiseKSP); /* what needs the operator and the preconditioner, which are ready; agrees; may be NULL */
  int (*cycle)(PoiseKSP);      /* iterations before the enqueued work repeats; may be NULL: 1 */
  void (*start)(PoiseKSP, PoiseVec b);
  void (*iterate)(PoiseKSP, int j); /* iteration j of a cycle */
  void (*restart)(PoiseKSP);        /* at the end of a cycle; may be NULL */
  void (*finish)(PoiseKSP);         /* x; may be NULL when the iteration keeps x */
  PoiseVec (*solution)(PoiseKSP); /* the iterate, made in a work vector; ksp->final holds the slots; may be NULL likewise */
  int factor; /* slot: the norm that is tested is the natural one times this; 0: it is the norm in use */
  /* The work vector that holds b - A x, from which the norm in ksp->final was computed; 0: it was, but none holds
     it any more; -1, or NULL: it was not. */
  int (*residual)(PoiseKSP);
  /* Has it ended where a start from x may get on? Then *norm is what it began with. NULL: never. */
  bool (*stalls)(PoiseKSP, double *norm);
  void (*explain)(PoiseKSP);  /* poiseKSPSay what there is to say of a solve that has ended; may be NULL */
  PoiseErr (*view)(PoiseKSP); /* may be NULL */
} KSPType;

typedef enum { MONITOR_OFF, MONITOR_PRINT, MONITOR_TEXT, MONITOR_CSV } Monitored; /* the last two: into a file */

typedef struct KSPOptions { /* what -ksp_... sets, apart from the method's own */
  char type[POISE_OPTION_LENGTH];
  double rtol, atol, dtol;
  PoiseInt maxits, replay;
  int norm, side; /* 0: default; side 1 left, 2 right */
  int guess_nonzero, error_if_not_converged, error_if_inaccurate, reuse, verify;
  char monitor_words[POISE_OPTION_LENGTH];
  Monitored monitor;
  int true_residual, converged_reason, view;
} KSPOptions;

typedef struct Moved { /* a rearranged copy, and what of the original it was made from */
  PoiseMat of, mat;    /* of: not referenced; NULL: to be made anew */
  int64_t built, pattern, state;
  int block_size;
} Moved;

typedef struct Arranged { /* a solve in another layout or numbering than the application's */
  PoisePartition partition;
  PoiseOrder order;
  Layout *rows; /* the application's; NULL: nothing is arranged yet */
  Permutation moves;
  bool outlived; /* moves are those of an earlier pattern, which a preconditioner that is kept knows */
  Moved A, P;    /* the solver's operator and what the preconditioner is built from; P is empty when they are one */
  PoiseVec b, x;
  MatShape before, after; /* of A */
} Arranged;

/* A claim of convergence, as checked; norms as the method has them, which may be scaled. */
typedef struct Claim {
  int refuted;          /* how many of this solve */
  double claimed;       /* norm of the latest that was refuted */
  double best;          /* the least norm computed for such a claim, or after it; infinite: none */
  double best_square;   /* the least square that x was delivered with; infinite: none */
  double residual, rhs; /* |b - A x| and |b|, where they have been computed, else 0 */
} Claim;

typedef struct Captured { /* what a captured loop depends on */
  const KSPType *type;
  PoiseMat A;
  PoisePC pc;
  int64_t pattern, generation;
  Convergence conv;
  int norm, side, cycle;
} Captured;

struct PoiseKSP_s {
  PoiseContext ctx;
  const KSPType *type;
  void *data; /* the method's */
  char *prefix;
  KSPOptions options;
  PoiseMat given_A, given_P; /* the application's matrices */
  Arranged *arranged;        /* NULL: they are worked with as they are */
  PoiseMat A;                /* what is worked with, as is pc->P */
  PoisePC pc;
  int64_t operators; /* counts the matrices set as A */
  FILE *lines;       /* the monitor's; NULL on ranks but 0 */
  PoiseMonitor monitor[MAX_MONITORS];
  void *monitor_arg[MAX_MONITORS];
  int nmonitors;
  PoiseConvergenceTest test;
  void *test_arg;
  const char *eager; /* why the loop is not replayed; NULL: it is */
  bool configured;   /* its options have been read */
  bool inside;       /* of a preconditioner, which hands over vectors of its matrix's layout: nothing is rearranged */
  bool held;         /* by a preconditioner that this solver is inside of and that is kept: so is this one's */
  bool borrows;      /* its preconditioner, which is set up */

  /* set up for these sizes */
  Layout *layout;
  PoiseNormType norm; /* in use, and the side */
  PoisePCSide side;
  int nwork;
  PoiseVec *work;
  double **v;        /* device pointers of work */
  PoiseVec residual; /* b - A x, where it is monitored */
  PoiseVec rhs;      /* b without its part in the null space of A^T, where that is known */
  Buffer slot_buffer, array_buffer, partial_buffer, stage_buffer;
  double *slots, *array, *partials, *stage; /* device pointers; behind the slots the ring of norms */
  int64_t array_size;                       /* behind the method's array: the null space's coefficients */
  int64_t nblock;                           /* partials of a phase */
  int64_t stride;                           /* room for those of whatever leaves most */
  /* host-visible: two copies of the slots and the ring of norms behind them, what sums over ranks receive and send */
  double *pinned, *status[2], *staged, *summed;
  const double *norms; /* the ring in the latest copy */
  Convergence conv;
  Graph *graph;
  Captured captured;
  LogCounts *counts; /* of the log when it was captured, before each of its iterations and after the last */
  int64_t ring;      /* length of the ring of norms, a power of 2 */

  /* of the running solve */
  bool running;
  PoiseVec b; /* lent; only the true residual needs it once the method has started */
  double norm_b;
  int parity;          /* of the iteration */
  int cycle_at;        /* iteration of the cycle */
  const double *point; /* device pointer: pointwise preconditioner (NULL: identity), valid if pointwise */
  bool pointwise;
  BlockEnd blocks;               /* b and d: M^-1 as phases may end with it; b = 0: they may not */
  double *null[POISE_MAX_BATCH]; /* device pointers: the null space of A */
  Sum pending[MAX_PENDING];      /* dots waiting for the next phase */
  int npending, next_partial;
  bool finishing;  /* the method's finish is running: SLOT_DONE, which is set, skips nothing */
  PoiseErr failed; /* this rank's first failure, and its words: a user's function called later may set others */
  ErrorState error;
  bool stop;     /* some rank failed: seen by all in the same global sum */
  bool again;    /* the method goes on from x: its guess is not zero, and SLOT_NORM0 is set */
  PoiseInt base; /* iterations before that */
  double scale;  /* a power of 2 that b, the guess and atol are multiplied by */
  bool vanished; /* x did, when it was scaled back */
  bool scaling;  /* the loop has ended at once, because b is to be scaled */
  int scalings;  /* of this solve so far */
  Claim claim;
  double stalled; /* the norm that the latest start began with which stalled; infinite: none */

  /* of the latest solve */
  double final[POISE_SLOTS]; /* the slots as they were at the end */
  PoiseKSPReason reason;
  PoiseInt its, reported, tested; /* the latest given to the monitors, and to the user's test */
  double rnorm, inconsistency;
  char detail[400]; /* of the reason; "": none */
  double *history;
  int64_t history_size, history_capacity;
  bool keep_history;
};

/* slots[k] on the device */
static inline double *poiseKSPSlot(PoiseKSP ksp, int k)
{
  return ksp->slots + k;
}

/* ---- what methods call (solve.c) ------------------------------------------------------------------------------------- */

/* y = A x, dots as added to f (may be NULL). */
void poiseKSPMult(PoiseKSP ksp, PoiseVec x, PoiseVec y, const Fuse *f);
/* z = M^-1 r */
void poiseKSPPrecondition(PoiseKSP ksp, PoiseVec r, PoiseVec z, const Fuse *f);
/* y = M^-1 A x or A M^-1 x by ksp->side; t: scratch */
void poiseKSPOperator(PoiseKSP ksp, PoiseVec x, PoiseVec t, PoiseVec y, const Fuse *f);
/* r = b - A x0, or b when the guess is zero */
void poiseKSPResidual(PoiseKSP ksp, PoiseVec b, PoiseVec r);
/* SLOT_NORM0 = |b| in the norm in use; t: scratch; nothing when the guess is zero. Returns whether rtol is relative to it. */
int poiseKSPNormOfB(PoiseKSP ksp, PoiseVec b, PoiseVec t, int slot);
/* Does x hold a guess, be it what a refuted claim left? */
static inline bool poiseKSPHasGuess(PoiseKSP ksp)
{
  return ksp->options.guess_nonzero || ksp->again;
}
/* Add the dot (u, result) to f, or (result, result) when u is NULL; it is in slots[slot] from the next phase on. */
void poiseKSPAddDot(PoiseKSP ksp, Fuse *f, const double *u, int slot);
/* Run phase `id` on all rows (rows = 0: scalars only); its dots go to slots dot0, dot1 (NO_SLOT: not wanted). */
void poiseKSPPhase(PoiseKSP ksp, int id, PhaseArgs a, int dot0, int dot1);
typedef struct {
  int r, z;   /* work vectors */
  int rz, zz; /* slots of the dots (r, z) and (z, z), or NO_SLOT */
} Application;
/* poiseKSPPhase, and z = M^-1 r of the r that the phase, which is marked ENDS, has just written: in the same pass where M is dense
   blocks, else behind it. */
void poiseKSPPhasePrecondition(PoiseKSP ksp, int id, PhaseArgs a, int dot0, int dot1, Application m);
/* Work vector r, which holds A x, becomes b - A x; its dots and b's to their slots, and, if z is not
   NO_SLOT, those of work vector z = M^-1 r. */
void poiseKSPCheckPhase(PoiseKSP ksp, const double *b, int r, int z);
void poiseKSPPublish(PoiseKSP ksp); /* pending dots to their slots, without a phase that takes them in */
void poiseKSPScalars(PoiseKSP ksp, int id, PhaseArgs a);
/* dst[0..k) = (x_j, y), all ranks, k any number, and added to sum[0..k) (may be NULL); *skip != 0: not done. */
void poiseKSPMdot(PoiseKSP ksp, int k, double *const *x, const double *y, double *dst, double *sum, const double *skip);
/* y += sign sum_j c_j x_j, dots to f. c: on the device; NULL: ones. */
void poiseKSPMaxpy(PoiseKSP ksp, int k, double *const *x, double sign, const double *c, double *y, const double *skip,
                   const Fuse *f);
/* The same, and (x_j, y) with the new y, in one pass for k <= POISE_MAX_BATCH: to be taken by poiseKSPTakeDots, before any other dots. */
void poiseKSPMaxpyDots(PoiseKSP ksp, int k, double *const *x, double sign, const double *c, double *y, const double *skip,
                       const Fuse *f);
void poiseKSPTakeDots(PoiseKSP ksp, int k, double *const *x, const double *y, double *dst, double *sum, const double *skip);
void poiseKSPCopy(PoiseKSP ksp, PoiseVec x, PoiseVec y); /* y = x */
void poiseKSPZero(PoiseKSP ksp, PoiseVec x);
void poiseKSPSubtractProduct(PoiseKSP ksp, PoiseVec x, PoiseVec y); /* y -= A x */
void poiseKSPUnwind(PoiseKSP ksp, PoiseVec u, PoiseVec t);          /* the solution += M^-1 u; t: scratch */
PoiseVec poiseKSPUnwound(PoiseKSP ksp, PoiseVec u, PoiseVec t);     /* t = the solution + M^-1 u */
/* Keep a failure of this rank. */
void poiseKSPFailed(PoiseKSP ksp, PoiseErr e);
/* Add to ksp->detail, behind a semicolon. */
void poiseKSPSay(PoiseKSP ksp, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- solvers inside preconditioners (ksp.c) -------------------------------------------------------------------------- */

/* It is inside a preconditioner from now on: nothing is rearranged, and claims are checked only if options
   ask for it. */
void poiseKSPSetInside(PoiseKSP ksp);
/* Set up what poiseKSPApply needs, for A = P = source, which is no more than the preconditioner when the
   method is preonly; keep: what it is inside of stays as it is, and so does its preconditioner. */
PoiseErr poiseKSPReady(PoiseKSP ksp, PoiseMat source, bool keep);
/* What applications read of the values of its matrix: READS_P or READS_NOTHING, or what solvers further
   inside do. Local. */
PoiseErr poiseKSPReads(PoiseKSP ksp, Reads *reads);
/* z = what the solver makes of A z = r from a zero guess, then the dots of z; with preonly an application of the preconditioner,
   else a solve. One that does not converge is no error (but see PoiseKSPSetErrorIfNotConverged): z is what it has. All
   ranks must call, whatever failed on some. */
PoiseErr poiseKSPApply(PoiseKSP ksp, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse);
/* sum += what it holds, with its preconditioner and A (may be NULL), if that is its own; ksp NULL: nothing. */
void poiseKSPAddBytes(PoiseKSP ksp, PoiseMat A, PoiseBytes *sum);
/* Is z no fixed linear function of r, as the method stops when it has converged, or its own M is none? Then
   *why says so, the solver being in a preconditioner of type `pc`. Local. */
bool poiseKSPVaries(PoiseKSP ksp, const char *pc, Varying *why);
const char *poiseKSPAppliesEagerly(PoiseKSP ksp); /* why a loop around it cannot be replayed; NULL: it can */
/* p += what it will hold, with its preconditioner, of the matrix that it has. Collective; agrees. */
PoiseErr poiseKSPPredictInside(PoiseKSP ksp, const PoiseMatCounts *counts, PoisePrediction *p);

/* Has it P's numbering, that of the matrix of the preconditioner that it is inside of? Local. */
PoiseErr poiseKSPCheckInside(PoiseKSP ksp, PoiseMat P);

/* ---- between ksp.c, arranged.c, solve.c and monitor.c ------------------------------------------------------------------ */

bool poiseKSPArranges(PoiseKSP ksp); /* its matrices are rearranged, or were and no longer are to be */
/* Work with these matrices, of the same layout, from now on. Collective; agrees. */
PoiseErr poiseKSPUse(PoiseKSP ksp, PoiseMat A, PoiseMat P);
/* Bring what is worked with up to date with the application's matrices; after which poiseKSPRun takes vectors of ksp->A's layout.
   Collective; agrees. */
PoiseErr poiseKSPArrange(PoiseKSP ksp);
PoiseErr poiseKSPRunArranged(PoiseKSP ksp, PoiseVec b, PoiseVec x); /* poiseKSPRun with the application's vectors */
PoiseErr poiseKSPViewArranged(PoiseKSP ksp);
/* Before and after the application gives others for these of its matrices. The latter: collective, agrees. */
void poiseKSPLetGo(PoiseKSP ksp, bool other_A, bool other_P);
PoiseErr poiseKSPReplaced(PoiseKSP ksp, bool other_A, bool other_P);
void poiseKSPDropArranged(
    PoiseKSP ksp); /* after which the preconditioner is to be built anew, if it was of other numbers */
PoiseErr poiseKSPCheckMatrices(PoiseKSP ksp); /* may it work with them? Local */
extern const PCOwner poiseKSPOwner;           /* of its preconditioner */

/* ---- claim.c: is what a method claims true? scale.c: norms that squares cannot hold ----------------------------------- */

/* Is the claim in ksp->reason to be checked, or what follows a refuted one to be compared with it? */
bool poiseKSPChecks(PoiseKSP ksp);
/* Enqueue the dots of b - A x of the x in work[0], which take two more work vectors; b - A x may be there. */
void poiseKSPMeasure(PoiseKSP ksp);
/* What these, now in `slots`, say of ksp->reason. Returns whether the method is to go on from x. */
bool poiseKSPJudge(PoiseKSP ksp, const double *slots);
/* The square of the norm computed before, which x must not exceed to be delivered; infinite: any may.
   And the slot of this one's. */
double poiseKSPMost(PoiseKSP ksp, int *slot);
/* Success that is worth nothing: |b - A x| / |b|, else 0. */
double poiseKSPInaccuracy(PoiseKSP ksp);
/* Is it one of those in ksp.h? */
bool poiseKSPIsReason(PoiseKSPReason reason);
void poiseKSPSayClaim(PoiseKSP ksp); /* poiseKSPSay what has become of claims */
/* Does the first norm, in the slots, call for scaling? ksp->scaling says so. */
bool poiseKSPOutOfRange(PoiseKSP ksp, const double *slots);
/* Scale ksp->b, which becomes another vector, and the guess in x, if that helps. Collective; agrees. */
PoiseErr poiseKSPRescale(PoiseKSP ksp, PoiseVec x);
/* Is the x of a scaled solve one, now that it is scaled back? Collective; agrees. */
PoiseErr poiseKSPScaled(PoiseKSP ksp, PoiseVec x);

void poiseKSPRelease(PoiseKSP ksp); /* everything that SetUp allocated */
void poiseKSPForget(PoiseKSP ksp);  /* the captured loop */
PoiseErr poiseKSPAllocate(PoiseKSP ksp);
/* Bring scalars and work vectors to the device and to their state before a solve. The caller agrees. */
PoiseErr poiseKSPPrepare(PoiseKSP ksp);
PoiseErr poiseKSPRun(PoiseKSP ksp, PoiseVec b, PoiseVec x); /* after poiseKSPPrepare */
/* POISE_ERR_STATE in the middle of a solve: `what` names the call that a user's function makes then. Not collective. */
PoiseErr poiseKSPCheckIdle(PoiseKSP ksp, const char *what);
/* Give the norms up to iteration `last` to history and monitors. */
void poiseKSPReport(PoiseKSP ksp, PoiseInt last);
PoiseErr poiseKSPReadMonitor(PoiseKSP ksp); /* the latest -ksp_monitor that was read */
PoiseErr poiseKSPPrintReason(PoiseKSP ksp);
/* ksp->detail: what there is to say of a solve that has ended, for b as the user gave it. Collective; agrees. */
PoiseErr poiseKSPExplain(PoiseKSP ksp, PoiseVec b);
/* Is the true residual to be computed in every iteration? */
bool poiseKSPMonitorsTrueResidual(PoiseKSP ksp);

#define KSP_TYPE(name) extern const KSPType poiseKSPType_##name;
#include "types.def"
#undef KSP_TYPE

#endif
