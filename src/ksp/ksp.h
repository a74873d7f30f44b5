/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Krylov solvers, for their methods. A method enqueues phases, products and preconditioner applications. It
  takes no decision on the host. The functions that it calls return nothing. A failure is kept in
  ksp->solve.failed, and the work goes on. The failure travels to all ranks with the next global sum, so that
  nobody waits for a rank that gave up.
*/
#ifndef POISE_KSP_IMPL_H
#define POISE_KSP_IMPL_H

#include "mat/order/arrange.h"
#include "pc/pc.h"
#include "ksp_phases.h"
#include "sys/base/progress.h"
#include "poise/ksp.h"

enum {
  MAX_MONITORS = 8,
  MAX_PENDING = POISE_MAX_SUMS,
  PARTIALS = 2 * MAX_PENDING, /* arrays of partial sums that alternate: some are summed while others are
                                 written */
  REPLAY_MOST = 8,            /* most iterations between two looks at the end, if the number is chosen */
  UNCLAIMED = POISE_SLOTS,    /* behind the slots: Convergence.unclaimed, then the ring of norms */
  RING_AT,
  MAX_CYCLE = 256, /* most iterations of a cycle that is captured as one graph */
  NO_SLOT = -1
};

#define NORM(n) (1u << POISE_KSP_NORM_##n) /* of KSPType's left and right */

typedef struct KSPType {
  const char *name, *alias;   /* alias may be NULL */
  size_t size;                /* of ksp->data */
  const PoiseOption *options; /* of ksp->data */
  PoiseErr (*read)(PoiseKSP); /* read the options in a call that may override others; NULL: into data */
  void (*inherit)(const void *from, void *to); /* copy settings in data that are not in `options`; may be
                                                  NULL */
  bool flexible;                               /* M may vary between applications */
  unsigned left, right;        /* norms offered per side, 1 << PoiseNormType; 0: the side is not supported */
  int (*vectors)(PoiseKSP);    /* work vectors, the first being x */
  int (*singles)(PoiseKSP);    /* work vectors in fp32 beside them; NULL: none */
  int64_t (*array)(PoiseKSP);  /* number of doubles of its small device array; may be NULL */
  PoiseErr (*setup)(PoiseKSP); /* set-up that needs the operator and the preconditioner, which are ready;
                                  agrees; may be NULL */
  int (*cycle)(PoiseKSP);      /* iterations after which the enqueued work repeats; NULL: 1 */
  /* from the x in work[0]; without a guess from 0, and x is set so */
  void (*start)(PoiseKSP, PoiseVec b);
  bool once;                        /* that is the whole solve */
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
  void (*explain)(PoiseKSP);  /* describe a solve that has ended, by poiseKSPSay; may be NULL */
  PoiseErr (*view)(PoiseKSP); /* may be NULL */
} KSPType;

/* the last two write to a file */
typedef enum { MONITOR_OFF, MONITOR_PRINT, MONITOR_TEXT, MONITOR_CSV } Monitored;

typedef struct KSPOptions { /* values of -ksp_..., except the method's own */
  char type[POISE_OPTION_LENGTH];
  double rtol, atol, dtol;
  PoiseInt maxits, replay; /* replay: iterations a turn; 0: no turns, negative: chosen */
  int norm, side;          /* 0: default; side 1 left, 2 right */
  int guess_nonzero, error_if_not_converged, error_if_inaccurate, reuse, verify;
  char monitor_words[POISE_OPTION_LENGTH];
  Monitored monitor;
  PoiseInt every; /* iterations between its lines */
  FILE *lines;    /* output of the monitor; NULL on ranks other than 0 */
  int true_residual, converged_reason, view, progress;
} KSPOptions;

typedef struct Moved { /* a rearranged copy, and the version of the original that it was made from */
  PoiseMat of, mat;    /* of: the original, not referenced; NULL: the copy must be made anew */
  Version seen;
  int block_size;
} Moved;

enum { MOVED_CURRENT, MOVED_VALUES, MOVED_PATTERN }; /* what of a copy is out of date; the last: all */

typedef struct Divided Divided; /* a solve by workers (divided.c) */

typedef struct Arranged { /* a solve in another layout or numbering than the application's */
  PoisePartition partition;
  PoiseOrder order;
  int64_t bounds_set; /* of A->asked, then */
  Layout *rows;       /* rows of the application; NULL: nothing is arranged yet */
  Permutation moves;
  bool outlived; /* `moves` belong to an earlier pattern, which a kept preconditioner uses */
  Moved A, P;    /* the solver's operator, and the matrix of the preconditioner; P is empty if they are one */
  PoiseVec b, x;
  MatShape before, after; /* of A */
  double seconds;         /* that the latest numbering and copy of a pattern took */
} Arranged;

/* Functions of the application. */
typedef struct KSPCallbacks {
  PoiseMonitor monitor[MAX_MONITORS];
  void *monitor_arg[MAX_MONITORS];
  int nmonitors;
  PoiseConvergenceTest test; /* NULL: the phases decide */
  void *test_arg;
} KSPCallbacks;

/* The scalars of phases, on the device. */
typedef struct KSPScalars {
  Buffer slot_buffer, array_buffer;
  double *slots;      /* device pointer; behind the slots see RING_AT */
  double *first;      /* pinned: what they are set to when a method is started */
  double *array;      /* device pointer: the method's array; behind it the null space's coefficients */
  int64_t array_size; /* of the method's */
  Convergence conv;
} KSPScalars;

/* Dots on their way from kernels to slots (dots.c). */
typedef struct KSPDots {
  Buffer partial_buffer, stage_buffer;
  double *partials, *stage; /* device pointers; stage: the sums of this rank, then of all */
  double *staged, *summed;  /* the stage on the host: received and sent */
  int64_t nblock;           /* partials of a phase */
  int64_t stride;           /* partials of the kernel that leaves most */
  Sum pending[MAX_PENDING]; /* dots waiting for the next phase */
  int npending, next_partial;
} KSPDots;

/* M as phases apply it, from the beginning of a solve (operator.c). */
typedef struct PhasePC {
  bool pointwise;                /* M is a diagonal, or the identity */
  const double *diagonal;        /* device pointer; NULL: the identity. Valid if pointwise */
  BlockEpilogue blocks;          /* b and d: M^-1 as the epilogue of phases; b = 0: none */
  double *null[POISE_MAX_BATCH]; /* device pointers of the null space of A, which M removes */
} PhasePC;

typedef struct Captured { /* what a captured loop depends on; compared as bytes, so there is no padding */
  const KSPType *type;
  PoiseMat A;
  PoisePC pc;
  Version version;            /* of A, but for values and the near null space */
  int64_t generation, joined; /* of pc, of the link */
  Convergence conv;
  int norm, side;
  int turn, step; /* iterations of a turn; between two looks at whether the solve is over */
  int64_t first;  /* of a replay, before the first look */
  int64_t there;  /* does the first product find its ghosts? */
} Captured;

/* The loop over iterations (loop.c). */
typedef struct KSPLoop {
  const char *eager; /* why it is not replayed; NULL: it is */
  Graph *graph;      /* kept from solve to solve */
  Captured captured; /* what the graph depends on */
  LogCounts *counts; /* counts of the log at the capture: before each iteration, and after the last */
  int step;          /* iterations between two looks by the device; 0: not chosen yet */
  int64_t ring;      /* length of the ring of norms, a power of 2 */
  int turns;         /* of the first replay, as the solve before has left them */
  bool brief;        /* the solve before ended in its first replay, or there was none */
  /* On the host: two copies of the slots and the ring behind them. Here begins the pinned memory. It ends
     with dots.staged, dots.summed and scalars.first. */
  double *status[2];
  const double *norms; /* the ring in the latest copy */
  int parity;          /* of the iteration that is enqueued */
  int cycle_at;        /* its place in the cycle */
} KSPLoop;

/* A claim of convergence and its checks (claim.c). Norms are as the method has them, perhaps scaled. */
typedef struct Claim {
  int refuted;          /* number of refuted claims of this solve */
  bool rounding;        /* the claim stands, as its norm is that of rounding */
  bool proven;          /* or as b - A x has been compared with the r of the method */
  double claimed;       /* norm of the latest refuted claim */
  double best;          /* the least norm computed for such a claim, or after it; infinite: none */
  double best_square;   /* the least squared norm with which x was delivered; infinite: none */
  double residual, rhs; /* |b - A x| and |b| if computed, else 0 */
} Claim;

typedef struct PaceMark {
  double time, best;
  PoiseInt its;
} PaceMark;

/* How fast a solve gains digits (progress.c). */
typedef struct Pace {
  Progress line;
  double best;          /* least norm so far, as it is reported; infinite: none yet */
  PaceMark since, next; /* the pace is that from `since` on; `next` will take its place */
} Pace;

/* How often ranks without sums ask each other whether one has failed (loop.c). The same on all. */
typedef struct Asked {
  int64_t step, left; /* iterations between two times; left until the next */
  double time;        /* of the latest */
} Asked;

/* The running solve (solve.c). A method may be started several times in it. */
typedef struct KSPSolve {
  bool running;
  PoiseVec b;                /* lent; after the method's start only the true residual needs it */
  double norm_b;             /* if the true residual is monitored */
  PoiseInt reported, tested; /* latest iteration given to the monitors, and to the user's test */
  PoiseInt printed;          /* latest iteration in the lines of -ksp_monitor */
  double first;              /* norm before the first iteration, as it is reported; 0: none yet */
  Pace pace;
  bool finishing;       /* what is enqueued is not skipped, though SLOT_DONE is set */
  const double *unless; /* but if this is not 0; NULL: never */
  bool ended;           /* b - A x and x were enqueued ahead, and not skipped */

  PoiseErr failed; /* this rank's first failure and its message; a user's function called later may set
                      others */
  ErrorState error;
  Asked asked;
  bool stop; /* some rank failed; all ranks see this in the same global sum */

  bool again;     /* the method continues from x: its guess is nonzero, and SLOT_NORM0 is set */
  PoiseInt base;  /* iterations before the latest start */
  double stalled; /* norm at the beginning of the latest start that stalled; infinite: none */
  Claim claim;

  double scale;  /* power of 2 by which b, the guess and atol are multiplied (scale.c) */
  bool scaling;  /* the loop has ended at once, as b must be scaled */
  int scalings;  /* number of scalings */
  double size_b; /* magnitude of b, scaled; 0: not asked for yet, or b is 0 */
  bool vanished; /* x became 0 when it was scaled back */
} KSPSolve;

/* What the host knows of the latest solve, also while it runs. */
typedef struct KSPResult {
  double slots[POISE_SLOTS]; /* as the host has last looked at them */
  PoiseKSPReason reason;
  PoiseInt its;
  double rnorm, inconsistency;
  char detail[400]; /* of the reason; "": none */
} KSPResult;

typedef struct KSPHistory { /* norms of the latest solve, if they are kept */
  bool keep;
  double *norms;
  int64_t size, capacity;
} KSPHistory;

/* Methods read their data, what set-up chose, work, v, M and loop.parity; behind the loop also the result. */
struct PoiseKSP_s {
  PoiseContext ctx;

  /* settings, by options and by the program */
  const KSPType *type;
  void *data; /* the method's */
  char *prefix;
  KSPOptions options;
  KSPCallbacks user;
  PoiseMat given_A, given_P; /* the application's matrices */
  bool configured;           /* its options have been read */
  bool inside;               /* inside a preconditioner, which passes vectors of its matrix's layout: nothing
                                is rearranged */
  bool held;    /* the preconditioner around this solver is kept, and so is that of this solver */
  bool borrows; /* borrows its preconditioner, which is set up, and is not told of its solves */

  /* what it works with, as set-up chose it (setup.c, reordered.c) */
  PoiseMat A; /* pc->P is the matrix of the preconditioner */
  PoisePC pc;
  Arranged *arranged; /* NULL: the application's matrices are used as they are */
  Divided *divided;   /* NULL: the solver works itself; else set-up makes nothing but this */
  PoiseNormType norm; /* in use, and the side */
  PoisePCSide side;

  /* what set-up allocated for the rows of A (setup.c) */
  Layout *layout; /* NULL: nothing */
  int nwork;
  PoiseVec *work;
  double **v;        /* device pointers of work */
  Buffer singles;    /* work vectors in fp32 */
  float **v32;       /* device pointers of these */
  PoiseVec residual; /* b - A x, where it is monitored */
  PoiseVec rhs;      /* b scaled, or without its part in the null space of A^T, if that is known */
  KSPScalars scalars;
  KSPDots dots;
  bool exchanges;  /* phases exchange with other ranks by themselves */
  HaloSends sends; /* of vectors that A is multiplied with */
  KSPLoop loop;

  /* solves */
  PhasePC M;
  KSPSolve solve;
  KSPResult result;
  KSPHistory history;
};

/* slots[k] on the device */
static inline double *poiseKSPSlot(PoiseKSP ksp, int k)
{
  return ksp->scalars.slots + k;
}

/* ---- what methods call (operator.c, dots.c, solve.c) ----------------------------------------- */

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
/* Is M the identity? */
static inline bool poiseKSPIsIdentity(PoiseKSP ksp)
{
  return ksp->M.pointwise && !ksp->M.diagonal;
}
/* z = M^-1 r */
void poiseKSPPrecondition(PoiseKSP ksp, PoiseVec r, PoiseVec z, const Fuse *f);
/* y = M^-1 A x or A M^-1 x by ksp->side; t: scratch. From the left a diagonal M scales the product. */
void poiseKSPOperator(PoiseKSP ksp, PoiseVec x, PoiseVec t, PoiseVec y, const Fuse *f);
/* r = b - A x0. Without a guess x = 0 and r = b. */
void poiseKSPResidual(PoiseKSP ksp, PoiseVec b, PoiseVec r);
/* SLOT_NORM0 = |b| in the norm in use; nothing if the guess is zero. t: scratch. Returns whether rtol is
   relative to it. */
int poiseKSPNormOfB(PoiseKSP ksp, PoiseVec b, PoiseVec t, int slot);
/* Does x hold a guess, perhaps left by a refuted claim? */
static inline bool poiseKSPHasGuess(PoiseKSP ksp)
{
  return ksp->options.guess_nonzero || ksp->solve.again;
}
/* Add the dot (u, result) to f, or (result, result) if u is NULL. It is in slots[slot] from the next phase
   on. */
void poiseKSPAddDot(PoiseKSP ksp, Fuse *f, const double *u, int slot);
/* Run phase `id` on all rows (rows = 0: scalars only). Its dots go to slots dot0, dot1 (NO_SLOT: not
   wanted). */
void poiseKSPPhase(PoiseKSP ksp, int id, PhaseArgs a, int dot0, int dot1);
typedef struct {
  int r, z;   /* work vectors */
  int rz, zz; /* slots of the dots (r, z) and (z, z), or NO_SLOT */
} Application;
/* The first residual r, as above, and the dots of z = M^-1 r. The dot (r, r) goes to slot rr (NO_SLOT: not
   wanted). A diagonal M does not store z. */
void poiseKSPFirstResidual(PoiseKSP ksp, PoiseVec b, Application m, int rr);
/* Its pass over the rows: r = b and x = 0, or r is b (NULL); the dots of z with a diagonal M. */
void poiseKSPFirstPhase(PoiseKSP ksp, const double *b, double *r, int rz, int zz, int rr);
/* poiseKSPPhase, then z = M^-1 r of the r that the phase (marked EPILOGUE) has just written. If M is dense
   blocks, this is an epilogue in the same pass; else it comes behind the phase. */
void poiseKSPPhasePrecondition(PoiseKSP ksp, int id, PhaseArgs a, int dot0, int dot1, Application m);
/* Work vector r, which holds A x, becomes b - A x. Its dots and b's go to their slots. So do those of work
   vector z = M^-1 r, if z is not NO_SLOT. If asked for, the solution goes to x. */
void poiseKSPCheckPhase(PoiseKSP ksp, const double *b, int r, int z, bool delivers, double *x);
void poiseKSPPublish(PoiseKSP ksp); /* move pending dots to their slots, without a phase that takes them */
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
} Columns;
/* poiseKSPMdot and poiseKSPMaxpy of x_j of either type. */
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
void poiseKSPCopy(PoiseKSP ksp, PoiseVec x, PoiseVec y); /* y = x */
void poiseKSPZero(PoiseKSP ksp, PoiseVec x);
void poiseKSPUnwind(PoiseKSP ksp, PoiseVec u, PoiseVec t);      /* the solution += M^-1 u; t: scratch */
PoiseVec poiseKSPUnwound(PoiseKSP ksp, PoiseVec u, PoiseVec t); /* t = the solution + M^-1 u */
/* Keep a failure of this rank. */
void poiseKSPFailed(PoiseKSP ksp, PoiseErr e);
/* Add to ksp->result.detail, behind a semicolon. */
void poiseKSPSay(PoiseKSP ksp, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- solvers inside preconditioners (inside.c) ----------------------------------------------- */

void poiseKSPDestroy(PoiseKSP *ksp); /* PoiseKSPDestroy, by the preconditioner around it too */
/* Mark the solver as inside a preconditioner: nothing is rearranged, and claims are checked only if
   options ask for it. */
void poiseKSPSetInside(PoiseKSP ksp);
/* Set up what poiseKSPApply needs, for A = P = source. With preonly that is only the preconditioner. keep:
   the preconditioner around the solver is kept, and so is the solver's own. */
PoiseErr poiseKSPReady(PoiseKSP ksp, PoiseMat source, bool keep);
/* What applications read of the values of its matrix: READS_P or READS_NOTHING, or what solvers further
   inside read. Local. */
PoiseErr poiseKSPReads(PoiseKSP ksp, Reads *reads);
/* z = the solver's result for A z = r from a zero guess, then the dots of z. With preonly this applies the
   preconditioner, else it solves. No convergence is no error (but see PoiseKSPSetErrorIfNotConverged): z
   is the result so far. All ranks must call, whatever failed on some. */
PoiseErr poiseKSPApply(PoiseKSP ksp, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse);
/* sum += bytes that it holds, with its preconditioner and A (may be NULL), if A is its own. ksp may be
   NULL. */
void poiseKSPAddBytes(PoiseKSP ksp, PoiseMat A, PoiseBytes *sum);
/* Is z not a fixed linear function of r? So it is if the method stops when it has converged, or if M
   varies. *why then says so, for a solver in a preconditioner of type `pc`. Local. */
bool poiseKSPVaries(PoiseKSP ksp, const char *pc, Varying *why);
const char *poiseKSPAppliesEagerly(PoiseKSP ksp); /* why a loop around it cannot be replayed; NULL: it can */
/* p += bytes that it will hold, with its preconditioner, for the matrix that it has. Collective; agrees. */
PoiseErr poiseKSPPredictInside(PoiseKSP ksp, const PoiseMatCounts *counts, PoisePrediction *p);

/* Does it have P's numbering, i.e. that of the matrix of the preconditioner around it? Local. */
PoiseErr poiseKSPCheckInside(PoiseKSP ksp, PoiseMat P);
/* Are the rows that it works with the application's? `what` names the call. Local. */
PoiseErr poiseKSPCheckOutside(PoiseKSP ksp, const char *what);

/* ---- settings, set-up and reordering (ksp.c, setup.c, reordered.c) --------------------------- */

/* The application's matrix; a solver inside another has only what that one works with. */
PoiseMat poiseKSPGiven(PoiseKSP ksp);
/* The side and the norm that the method will work with, and what can be found wrong without work. Agrees. */
PoiseErr poiseKSPChoose(PoiseKSP ksp, PoisePCSide *side, PoiseNormType *norm);
/* p += what set-up will allocate for A with that plan. */
PoiseErr poiseKSPPredict(PoiseKSP ksp, PoiseMat A, const MatPlan *plan, PoisePrediction *p);
bool poiseKSPReorders(PoiseKSP ksp); /* its matrices are rearranged, or were and must no longer be */
/* POISE_ERR_STATE in the middle of a solve. `what` names the call, which a user's function has then made.
   Not collective. */
PoiseErr poiseKSPCheckIdle(PoiseKSP ksp, const char *what);
void poiseKSPRelease(PoiseKSP ksp); /* everything that set-up allocated */
/* Set the matrices to work with, of the same layout. Collective; agrees. */
PoiseErr poiseKSPUse(PoiseKSP ksp, PoiseMat A, PoiseMat P);
/* Update the rearranged matrices from the application's. poiseKSPRun then takes vectors of ksp->A's
   layout. Collective; agrees. */
PoiseErr poiseKSPReorder(PoiseKSP ksp);
/* poiseKSPRun with the application's vectors */
PoiseErr poiseKSPRunReordered(PoiseKSP ksp, PoiseVec b, PoiseVec x);
PoiseErr poiseKSPViewReordered(PoiseKSP ksp);
/* Called before and after the application replaces these of its matrices. The latter is collective, and
   agrees. */
void poiseKSPLetGo(PoiseKSP ksp, bool other_A, bool other_P);
PoiseErr poiseKSPReplaced(PoiseKSP ksp, bool other_A, bool other_P);
void poiseKSPDropReordered(PoiseKSP ksp);            /* the preconditioner must then be built anew, if it had
                                                 other numbers */
int64_t poiseMovedStale(const Moved *m, PoiseMat A); /* MOVED_...: of a copy of A on this rank */
PoiseErr poiseKSPCheckMatrices(PoiseKSP ksp);        /* check that it may work with them. Local */
extern const PCOwner poiseKSPOwner;                  /* of its preconditioner */

/* ---- solves by workers (divided.c, settings.c) ----------------------------------------------- */

bool poiseKSPDivides(PoiseKSP ksp); /* do workers solve? */
/* Set up, with that side and norm: the workers' parts follow the application's matrices and settings. */
PoiseErr poiseKSPDivide(PoiseKSP ksp, PoisePCSide side, PoiseNormType norm);
PoiseErr poiseKSPRunDivided(PoiseKSP ksp, PoiseVec b, PoiseVec x); /* poiseKSPRun by the workers */
/* Whether a preconditioner is kept is told at once, as A may change before the next set-up. */
PoiseErr poiseKSPKeepParts(PoiseKSP ksp);
/* z = M^-1 r by the workers, who are set up. */
PoiseErr poiseKSPApplyDivided(PoiseKSP ksp, PoiseVec r, PoiseVec z);
/* The application replaces these of its matrices. */
void poiseKSPLetGoParts(PoiseKSP ksp, bool other_A, bool other_P);
void poiseKSPUndivide(PoiseKSP ksp);
PoiseErr poiseKSPViewDivided(PoiseKSP ksp);
void poiseKSPAddParts(PoiseKSP ksp, PoiseBytes *sum); /* sum += bytes of the workers' solvers */
/* POISE_ERR_UNSUPPORTED if workers solve: the calling thread has no whole vectors of the solve, and no
   preconditioner. `what` names the call. */
PoiseErr poiseKSPCheckWhole(PoiseKSP ksp, const char *what);
/* `to` takes the settings of `from`, which may be a solver of another context, and is only read. Functions of
   the application's stay behind; for solvers inside preconditioners they are POISE_ERR_UNSUPPORTED.
   Collective over the ranks of `to`; agrees. */
PoiseErr poiseKSPTakeSettings(PoiseKSP from, PoiseKSP to);
/* The same for a worker's solver, whose monitor and test ask the calling thread (divided_settings.c). */
PoiseErr poiseKSPTakeDivided(PoiseKSP ksp, PoiseKSP inner);
PoiseErr poiseKSPTakeInside(PoiseKSP from, PoiseKSP to);

/* ---- claim.c: is what a method claims true? scale.c: norms that squares cannot hold ---------- */

/* Must the claim in the result be checked, or a result after a refuted claim be compared with it? */
bool poiseKSPChecks(PoiseKSP ksp);
/* Enqueue the dots of b - A x for the x in work[0]. They take two more work vectors. b - A x may be
   available already; if not, and if asked for, x is delivered to `to` in the same pass. Returns whether it
   was. */
bool poiseKSPMeasure(PoiseKSP ksp, bool delivers, double *to);
/* Must M be applied to b - A x too, as the comparison with the r of the method, in `slots`, does not prove
   the claim? The same on all ranks. */
bool poiseKSPDoubts(PoiseKSP ksp, const double *slots);
void poiseKSPPreconditionClaim(PoiseKSP ksp); /* enqueue that, and its dots */
/* Judge the claim from these dots, which are in `slots`. *again: the method must continue from x. Collective;
   agrees. */
PoiseErr poiseKSPJudge(PoiseKSP ksp, const double *slots, bool *again);
/* The square of the norm computed before, which x must not exceed to be delivered; infinite: no limit.
   *slot: the slot of the present one. */
double poiseKSPMost(PoiseKSP ksp, int *slot);
/* |b - A x| / |b| of a success that is worthless, else 0. */
double poiseKSPInaccuracy(PoiseKSP ksp);
/* Is it one of those in ksp.h? */
bool poiseKSPIsReason(PoiseKSPReason reason);
void poiseKSPSayClaim(PoiseKSP ksp); /* describe the outcome of claims, by poiseKSPSay */
/* Is it known before how x will be made after a success, and whether the claim will be checked? */
bool poiseKSPForesees(PoiseKSP ksp, bool *checks);
int poiseKSPRange(PoiseKSP ksp); /* the test of the first norm: RANGE_... */
/* What stands for the norm of b where its square is 0 by underflow: beside a residual of 2^900 times b no
   scaling helps. 0: there is no such b. */
double poiseKSPTinyB(PoiseKSP ksp);
/* Has it found a norm that requires scaling? ksp->solve.scaling says so. */
bool poiseKSPOutOfRange(PoiseKSP ksp, const double *slots);
/* Scale ksp->solve.b, which becomes another vector, and the guess in x, if that helps. Collective; agrees. */
PoiseErr poiseKSPRescale(PoiseKSP ksp, PoiseVec x);
/* Check that the x of a scaled solve is a solution after it is scaled back. Collective; agrees. */
PoiseErr poiseKSPScaled(PoiseKSP ksp, PoiseVec x);

/* ---- the solve (solve.c), its loop (loop.c) and output (monitor.c) --------------------------- */

/* PoiseKSPSolve for vectors of the rows that the solver works with, or of the application's. */
PoiseErr poiseKSPSolve(PoiseKSP ksp, PoiseVec b, PoiseVec x);
/* Iterate on vectors of A's rows, and deliver x. */
PoiseErr poiseKSPRun(PoiseKSP ksp, PoiseVec b, PoiseVec x);
/* Agree on the failures that were kept. */
PoiseErr poiseKSPAgree(PoiseKSP ksp);
/* What phases apply of M, and the null space. Local. */
PoiseErr poiseKSPPreparePC(PoiseKSP ksp);
/* z -= N N' z for the null space N of A, then the dots of z. */
void poiseKSPRemoveNullSpace(PoiseKSP ksp, PoiseVec z, const Fuse *f);

/* From the first norm on until the solve is over, each iteration enqueued when the one before is done. */
void poiseKSPEager(PoiseKSP ksp);
/* Capture iterations. Returns whether there are any to replay. */
bool poiseKSPCapture(PoiseKSP ksp);
/* loop.step, before that. Collective. */
PoiseErr poiseKSPChooseStep(PoiseKSP ksp);
/* The cycle of a method that tests the norm of an iteration in the next one, when work of that has been done
   in vain. At the end of a cycle it tests by a kernel more. That is every iteration where the host looks at
   each, or an iteration takes long; else `most`. */
int poiseKSPLateCycle(PoiseKSP ksp, int most);
/* Replay what was captured, until the solve is over. x: where it may be delivered. */
void poiseKSPReplay(PoiseKSP ksp, PoiseVec x);
/* Make x, and enqueue the check of the claim, if `checks`, and the delivery of x. */
void poiseKSPEnqueueEnd(PoiseKSP ksp, PoiseVec x, bool checks);
void poiseKSPForget(PoiseKSP ksp); /* drop what was captured */
/* Copy the slots to loop.status[0], and wait for them. */
PoiseErr poiseKSPFetchSlots(PoiseKSP ksp);

/* Give the norms up to iteration `last` to history and monitors. */
void poiseKSPReport(PoiseKSP ksp, PoiseInt last);
PoiseErr poiseKSPReadMonitor(PoiseKSP ksp); /* the latest -ksp_monitor that was read */
/* Behind a solve that has not failed: the line of the last iteration, if -ksp_monitor_every has left it out.
   Agrees. */
PoiseErr poiseKSPReportLast(PoiseKSP ksp);
/* The line of -ksp_progress (progress.c): behind every look at the slots. */
void poiseKSPProgressBegin(PoiseKSP ksp);
void poiseKSPProgress(PoiseKSP ksp);
PoiseErr poiseKSPPrintReason(PoiseKSP ksp);
/* Set ksp->result.detail: the description of a solve that has ended, for b as the user gave it. Collective;
   agrees. */
PoiseErr poiseKSPExplain(PoiseKSP ksp, PoiseVec b);
/* Must the true residual be computed in every iteration? */
bool poiseKSPMonitorsTrueResidual(PoiseKSP ksp);

#define KSP_TYPE(name) extern const KSPType poiseKSPType_##name;
#include "types.def"
#undef KSP_TYPE

#endif
