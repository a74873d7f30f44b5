/* SPDX-License-Identifier: BSD-3-Clause */
/* A Krylov solver: what it is made of. Methods include methods.h. What the other files do for each other is
   in headers beside them. */
#ifndef POISE_KSP_IMPL_H
#define POISE_KSP_IMPL_H

#include "ksp_phases.h"
#include "mixed.h"
#include "running.h"

enum {
  MAX_MONITORS = 8,
  MAX_PENDING = POISE_MAX_SUMS,
  PARTIALS = 2 * MAX_PENDING, /* arrays of partial sums that alternate: some are summed while others are
                                 written */
  UNCLAIMED = POISE_SLOTS,    /* behind the slots: Convergence.unclaimed, then the ring of norms */
  RING_AT
};

/* the last two write to a file */
typedef enum { MONITOR_OFF, MONITOR_PRINT, MONITOR_TEXT, MONITOR_CSV } Monitored;

typedef struct KSPOptions { /* values of -ksp_..., except the method's own */
  char type[POISE_OPTION_LENGTH];
  double rtol, atol, dtol;
  PoiseInt maxits, replay; /* replay: iterations a turn; 0: no turns, negative: chosen */
  int norm, side;          /* 0: default; side 1 left, 2 right */
  int precision;           /* 1: mixed */
  int guess_nonzero, error_if_not_converged, error_if_inaccurate, reuse, verify;
  char monitor_words[POISE_OPTION_LENGTH];
  Monitored monitor;
  PoiseInt every; /* iterations between its lines */
  FILE *lines;    /* output of the monitor; NULL on ranks other than 0 */
  int true_residual, converged_reason, view, progress;
  int eigenvalues, singular_values; /* by the program; the next by options */
  int view_eigenvalues, view_singular_values;
} KSPOptions;

/* Functions of the application. */
typedef struct KSPCallbacks {
  PoiseMonitor monitor[MAX_MONITORS];
  void *monitor_arg[MAX_MONITORS];
  int nmonitors;
  PoiseConvergenceTest test; /* NULL: the phases decide */
  void *test_arg;
} KSPCallbacks;

/* Who solves by this solver may end its solves: asked behind iterations, on all ranks, whatever
   failed on some. */
typedef struct KSPWatch {
  bool (*ends)(PoiseKSP ksp, void *arg); /* NULL: nobody watches. May be collective */
  void *arg;
} KSPWatch;

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

typedef struct Transposes { /* of methods that apply them (adjoint.c) */
  PoisePC pc;               /* the M of P^T, which is M^T; NULL: M is its own */
  PoiseMat P;               /* P^T */
  Version seen;             /* P's version, and the builds of M, of which this is made */
  int64_t builds;
} Transposes;

typedef struct TransposedSolver { /* a solver of A^T x = b (transposed.c) */
  PoiseKSP ksp;                   /* NULL: no such solve was asked for */
  PoiseMat A, P;                  /* A^T; P^T, where P is another matrix */
  Version seen_A, seen_P;         /* versions that they were made of */
} TransposedSolver;

typedef struct Normal { /* A^T A, of which M is made for least squares if no P was given (normal.c) */
  PoiseMat N;           /* or its diagonal; NULL: there is none */
  Version seen;         /* A's version that it was made of */
  bool diagonal;
} Normal;

enum { SWEEP_VECTORS = 5 }; /* work vectors of sweeps: stationary_phases.h */

typedef struct Sweeps { /* what a loop that is captured around them depends on (sweeps.c) */
  bool sweeps;
  const KSPType *type;
  PoiseMat A;
  Version version; /* its, but for numbers */
  int64_t steps;
  double c[2][2];
  const double *v[SWEEP_VECTORS];
} Sweeps;

typedef struct KSPHistory { /* norms of the latest solve, if they are kept */
  bool keep;
  double *norms;
  int64_t size, capacity;
} KSPHistory;

typedef struct Arranged Arranged; /* a solve in another layout or numbering (reordered.h) */
typedef struct Between Between;   /* a solve between the sweeps of the preconditioner (between.c) */
typedef struct Block Block;       /* solves of several systems (block.c) */
typedef struct Divided Divided;   /* a solve by workers, or by leaders of groups (divided.c) */

struct PoiseKSP_s {
  PoiseContext ctx;

  /* settings, by options and by the program */
  const KSPType *type;
  void *data; /* the method's */
  char *prefix;
  KSPOptions options;
  KSPCallbacks user;
  PoiseMat given_A, given_P; /* the application's matrices */
  PoiseOrder order;          /* in which they are worked on; natural: as A asks */
  bool configured;           /* its options have been read */
  bool inside;               /* inside a preconditioner, which passes vectors of its matrix's layout: nothing
                                is rearranged */
  bool held;  /* the preconditioner around this solver is kept, and so is that of this solver */
  bool exact; /* the preconditioner around this solver must be linear, see poisePCExact */
  KSPWatch watch;
  bool borrows; /* borrows its preconditioner, which is set up, and is not told of its solves */

  /* what it works with, as set-up chose it (setup.c, reordered.c) */
  PoiseMat A; /* pc->P is the matrix of the preconditioner */
  PoisePC pc;
  Transposes transposes;
  TransposedSolver transposed;
  Normal normal;
  Arranged *arranged; /* NULL: the application's matrices are used as they are */
  Between *between;   /* NULL: M is applied */
  char alone[200];    /* why ranks that share a GPU do not solve as one, though they would; "": they do */
  Block *block;       /* NULL: none was asked for; of one that is part of such a solve, that */
  Divided *divided;   /* NULL: the solver works itself; else set-up makes nothing but this */
  PoiseNormType norm; /* in use, and the side */
  PoisePCSide side;

  /* what set-up allocated for the rows of A (setup.c) */
  Layout *layout; /* x's, A's columns; NULL: nothing */
  Layout *rows;   /* A's */
  int nwork;
  PoiseVec *work;
  double **v;        /* device pointers of work */
  Buffer singles;    /* work vectors in fp32 */
  float **v32;       /* device pointers of these */
  KSPMixed mixed;    /* what it has in fp32, and how that goes */
  PoiseVec residual; /* b - A x, where it is monitored */
  PoiseVec rhs;      /* b scaled, or without its part in the null space of A^T, if that is known */
  KSPScalars scalars;
  KSPDots dots;
  Systems systems; /* several at once: work vectors are wide, and scalars those of all columns (block.c) */
  bool exchanges;  /* phases exchange with other ranks by themselves */
  HaloSends sends; /* of vectors that A is multiplied with */
  KSPLoop loop;
  struct { /* in place of a loop, inside a preconditioner */
    Sweeps now;
    int64_t generation; /* counts changes */
  } sweeps;

  /* solves */
  PhasePC M;
  KSPSolve solve;
  KSPResult result;
  KSPHistory history;
};

#endif
