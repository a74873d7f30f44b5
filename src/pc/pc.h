/* SPDX-License-Identifier: BSD-3-Clause */
/* Preconditioners as their types and the solvers see them. */
#ifndef POISE_PC_IMPL_H
#define POISE_PC_IMPL_H

#include "../mat/mat.h"
#include "poise/pc.h"
#include "triangles_kernels.h"

typedef struct Varying { /* what makes an M another one in each application */
  const char *pc, *method,
      *prefix; /* the preconditioner, the solver in it that stops when it has converged; NULL: no prefix */
} Varying;

/* What solvers inside read in each application, beside what was built: nothing, blocks of P that were copied
   when M was built, or P's own values. */
typedef enum Reads { READS_NOTHING, READS_COPIES, READS_P } Reads;

typedef struct PCType {
  const char *name;
  size_t size;                /* of pc->data */
  const PoiseOption *options; /* of pc->data */
  PoiseErr (*read)(PoisePC);  /* reads them, as a call that may override others; NULL: into data */
  bool live;                  /* M is P as it is now: an old M cannot be kept */
  bool outside;               /* r and z go to the application, with its rows; others have P's */
  /* Why a solver's loop cannot be replayed, as when it calls back to the host; NULL, or no function: it can. */
  const char *(*eager)(PoisePC);
  /* Does M change from one application to the next, and why? Local, after a set-up. NULL: it does not. */
  bool (*varies)(PoisePC, Varying *why);
  PoiseErr (*setup)(PoisePC); /* from pc->P's present values; local failures are agreed upon by pc.c */
  /* The solvers inside, made and configured; local failures are agreed upon by pc.c. NULL: READS_NOTHING. */
  PoiseErr (*reads)(PoisePC, Reads *);
  /* The solvers inside, set up after each setup and before each solve, as users may have changed them; keep: theirs are kept too,
     see poisePCKeep. Local failures are agreed upon by pc.c. NULL: none. */
  PoiseErr (*ready)(PoisePC, bool keep);
  /* z = M^-1 r and dots of z; enqueued. */
  PoiseErr (*apply)(PoisePC, PoiseVec r, PoiseVec z, const double *skip, const Fuse *);
  /* M^-1 as a diagonal, on the device (NULL: the identity), for solvers that apply it inside their vector phases; NULL here
     when M is none. */
  PoiseErr (*pointwise)(PoisePC, const double **d);
  /* M^-1 as dense blocks on the diagonal, on the device, as BlockEnd has them, for solvers whose phases end with it; *b = 0: M has
     blocks of other sizes, or none. NULL here when M is never so. */
  PoiseErr (*blocks)(PoisePC, const double **d, int64_t *b);
  /* Of one application, beside what nested events count; NULL: one flop and 24 bytes per row. */
  void (*cost)(PoisePC, double *flops, double *bytes);
  PoiseErr (*view)(PoisePC);
  void (*bytes)(PoisePC, PoiseBytes *sum); /* sum += what pc->data holds; NULL: nothing that grows */
  /* p += what it will hold, pc->P being as planned; NULL as of bytes. May make the solvers inside, without what grows; local failures are
     agreed upon by pc.c. */
  PoiseErr (*predict)(PoisePC, const MatPlan *plan, PoisePrediction *p);
  void (*destroy)(PoisePC); /* of pc->data's contents */
} PCType;

/* The solver that a preconditioner is a part of, asked when the application turns to the latter: it may have
   rearranged P. All collective, and agree, but plan. */
typedef struct PCOwner {
  PoiseErr (*set)(void *solver, PoiseMat P); /* P is the application's new matrix for it */
  PoiseErr (*follow)(void *solver);          /* make pc->P what the solver is to work with */
  /* May memory be predicted from pc->P? *beyond: what that leaves out, else as it was. */
  PoiseErr (*plan)(void *solver, const char **beyond);
} PCOwner;

struct PoisePC_s {
  PoiseContext ctx;
  const PCOwner *owner; /* NULL: it stands alone */
  void *solver;
  const PCType *type;
  void *data;
  PoiseMat P;
  int64_t state, pattern; /* of P when M was built; 0: not built */
  int64_t given;          /* counts the matrices that were P */
  bool built;             /* there is an M of P's layout, be it an old one */
  bool reuse, held;       /* an M that is built stays: so its user wishes; or what it is inside of */
  bool holds;             /* P's values may change: what solvers inside read of them is safe */
  PoiseMat kept;          /* a copy of P as it was when M was built, for solvers inside; NULL: they read P */
  int64_t generation;     /* counts rebuilds that move arrays or change what is enqueued */
  int64_t builds;         /* counts all */
  int64_t inside;         /* the generations of the preconditioners inside */
  int64_t configured;     /* counts calls of SetFromOptions */
  PoiseVec moved[2];      /* r and z of the other side's rows, where P is rearranged; made when needed */
  char *prefix;
};

/* Whether an M that is built stays from now on, as its user wishes or as what pc is inside of does. While P
   still has the values that M was built from, solvers inside that read it get a copy. Collective; agrees. */
PoiseErr poisePCKeep(PoisePC pc, bool reuse, bool held);
PoiseErr poisePCPrepare(PoisePC pc); /* PoisePCSetUp, as its owner does */
PoiseMat poisePCSource(PoisePC pc);  /* the matrix that solvers inside work with */
/* For ready: the sum of the generations of what is inside; when it changes, so does pc's. */
PoiseErr poisePCUse(PoisePC pc, PoiseMat P); /* PoisePCSetOperator, as its owner does */
void poisePCInside(PoisePC pc, int64_t inside);
const char *poisePCEager(PoisePC pc); /* as PCType's */
bool poisePCVaries(PoisePC pc, Varying *why);
/* The prefix of the options of what is inside. */
PoiseErr poisePCInnerPrefix(PoisePC pc, const char *inner, char prefix[POISE_OPTION_LENGTH]);
PoiseErr poisePCApplyFuse(PoisePC pc, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse);

/* PoisePCPredictBytes, but p += it. Collective; agrees. */
PoiseErr poisePCPredict(PoisePC pc, const PoiseMatCounts *counts, PoisePrediction *p);
PoiseErr poisePCCheckStored(PoisePC pc); /* has P entries, as a shell has not? */

/* ---- blocks.c: inverse diagonal blocks, shared by jacobi (b = 1) and pbjacobi ----------------------------------------- */

typedef struct Blocks {
  int b;
  int64_t n; /* rows */
  Buffer inverse, bad;
} Blocks;

/* Invert P's diagonal blocks. fix: a zero 1 x 1 block counts as 1. */
PoiseErr poiseBlocksSetup(PoisePC pc, Blocks *blocks, int b, bool fix);
PoiseErr poiseBlocksShow(Blocks *blocks, const double **d, int64_t *b); /* as PCType.blocks */
PoiseErr poiseBlocksApply(PoisePC pc, Blocks *blocks, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse);
void poiseBlocksBytes(const Blocks *blocks, PoiseBytes *sum);
void poiseBlocksPredict(PoisePC pc, int b, PoisePrediction *p);
void poiseBlocksDestroy(Blocks *blocks);

/* ---- supervariables.c: inverse diagonal blocks of the sizes that the pattern suggests, for bjacobi --------------------- */

typedef struct Supervariables {
  int64_t given, pattern; /* of the matrix it was found for; 0: none */
  int most;               /* rows of a block that were allowed */
  int64_t n, count, largest, entries;
  int64_t equal; /* rows of each block but the last, which has as many or fewer; 0: they differ */
  Buffer start, at, inverse, bad;
} Supervariables;

PoiseErr poiseSupervariablesSetup(PoisePC pc, Supervariables *s, int most); /* local; most <= 32 */
PoiseErr poiseSupervariablesApply(PoisePC pc, Supervariables *s, PoiseVec r, PoiseVec z, const double *skip,
                                  const Fuse *fuse);
PoiseErr poiseSupervariablesShow(Supervariables *s, const double **d, int64_t *b); /* as PCType.blocks */
PoiseErr poiseSupervariablesView(PoisePC pc, const Supervariables *s);             /* collective */
void poiseSupervariablesBytes(const Supervariables *s, PoiseBytes *sum);
void poiseSupervariablesPredict(PoisePC pc, int most, PoisePrediction *p);
void poiseSupervariablesDestroy(Supervariables *s);

/* ---- triangles.c: sweeps over the triangles of the block that a rank owns, for ilu, icc and sor ------------------------ */

typedef struct Triangular {
  int64_t given, pattern; /* of the matrix it was built for; 0: not built */
  int64_t built;          /* counts how often */
  bool own,
      wide; /* own: begin, end and col are copies, which outlive P's pattern; else P's, but begin and end of rows with ghosts.
               end is empty where rows end as the next begin, and begin has one more then */
  int b;    /* as in Triangles */
  int64_t n;
  Buffer begin, diag, end, col;
  Buffer start[2], first[2], last[2]; /* levels of forward and backward sweeps */
  Buffer work;                        /* where the device or a library asks for it */
  int64_t count[2], groups, nz;       /* nz: entries of the block */
} Triangular;

/* Find the triangles and the levels, when the pattern is new; local. own: see above. guess: sweeps will start from a guess, so
   that a row must not be changed before those that read its old value. POISE_ERR_NUMERIC names a row without a diagonal entry. */
PoiseErr poiseTriangularSetup(PoisePC pc, Triangular *t, bool own, bool guess);
/* The kernels' view of them on a side. */
PoiseErr poiseTriangularView(PoisePC pc, Triangular *t, Side side, Triangles *view);
PoiseErr poiseTriangularLevels(Triangular *t, int backward, Levels *levels);
PoiseErr poiseTriangularWork(Triangular *t, double **work);  /* a vector and one more double, or NULL */
PoiseErr poiseTriangularNeedWork(PoisePC pc, Triangular *t); /* not NULL from now on */
static inline int poiseTriangularSide(const Triangular *t)   /* rows of numbers of a row */
{
  return t->b ? t->b : 1;
}
/* Launch a sweep from what the caller has set in a: all but t and levels. */
PoiseErr poiseTriangularSweep(PoisePC pc, Triangular *t, SweepArgs *a);
PoiseErr poiseTriangularPrint(PoisePC pc, const Triangular *t); /* collective */
double poiseTriangularTraffic(const Triangular *t);             /* read by one sweep over both triangles, without vectors */
void poiseTriangularBytes(const Triangular *t, PoiseBytes *sum); /* sum += what it holds */
PoiseErr poiseTriangularPredict(PoisePC pc, bool own, const MatPlan *plan, PoisePrediction *p);
void poiseTriangularDestroy(Triangular *t);

/* ---- factor.c: incomplete factors without fill, for ilu and icc; pc->data is an Incomplete ---------------------------------- */

typedef struct Incomplete {
  int shift_type; /* index in FACTOR_SHIFT_TYPE's words */
  double shift_amount, zero_pivot;
  char kernel[POISE_OPTION_LENGTH]; /* what is to solve with the factors */
  Triangular triangular;
  int64_t built, checked; /* triangular.built when memory was allocated; when the pattern was found to be symmetric (icc) */
  Buffer lu, d, result;
  bool negative; /* M is that of -A, turned back (icc) */
  double shift;  /* that was needed */
  int tries;     /* shifts tried */
  int library;   /* what solves: 0: the device's own sweeps, k: its factor_libraries[k - 1] */
  LibraryPlan plan;
  int64_t planned; /* triangular.built when the plan was made; 0: there is none */
} Incomplete;

/* Rows of ilu's and icc's option tables, which differ in the default shift only. */
#define FACTOR_SHIFT_TYPE(shift)                                                                              \
  {                                                                                                           \
    "pc_factor_shift_type", POISE_OPTION_CHOICE, offsetof(Incomplete, shift_type), shift, 0, 0,               \
        "none|nonzero|positive_definite|inblocks", "what is done about pivots that are zero, or not positive" \
  }
#define FACTOR_SHIFT_AMOUNT                                                                                             \
  {                                                                                                                     \
    "pc_factor_shift_amount", POISE_OPTION_REAL, offsetof(Incomplete, shift_amount), "2.220446049250313e-14", 0, 1e300, \
        NULL, "first shift of the diagonal (nonzero), or what is added to a zero pivot (inblocks)"                      \
  }
#define FACTOR_ZERO_PIVOT                                                                                                \
  {                                                                                                                      \
    "pc_factor_zeropivot", POISE_OPTION_REAL, offsetof(Incomplete, zero_pivot), "2.220446049250313e-14", 0, 1e300, NULL, \
        "pivots up to this count as zero (nonzero, positive_definite: times the sum of the row)"                         \
  }
#define FACTOR_KERNEL                                                                                                  \
  {                                                                                                                    \
    "pc_factor_kernel", POISE_OPTION_STRING, offsetof(Incomplete, kernel), "own", 0, 0, NULL,                          \
        "what solves with the factors: own kernels, or, on cuda, cusparse, which takes numbers, int32 offsets and no " \
        "columns of other ranks; a solver's loop is not replayed then"                                                 \
  }

PoiseErr poiseFactorSetup(PoisePC pc, bool symmetric);
PoiseErr poiseFactorApply(PoisePC pc, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse);
void poiseFactorCost(PoisePC pc, double *flops, double *bytes);
PoiseErr poiseFactorView(PoisePC pc);
void poiseFactorBytes(PoisePC pc, PoiseBytes *sum);
const char *poiseFactorEager(PoisePC pc);
PoiseErr poiseFactorPredict(PoisePC pc, const MatPlan *plan, PoisePrediction *p);
void poiseFactorDestroy(PoisePC pc);

/* ---- factor_library.c: solves with them by a library of the device's ------------------------------------------------------ */

PoiseErr poiseFactorLibraryFind(PoisePC pc);  /* as options say; local. Without a library: nothing to do, below too */
PoiseErr poiseFactorLibraryCheck(PoisePC pc); /* does it take what has become of P's pattern? */
PoiseErr poiseFactorLibraryPlan(PoisePC pc);  /* for factors that are new */
PoiseErr poiseFactorLibraryApply(PoisePC pc, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse);
const char *poiseFactorLibraryName(PoisePC pc); /* "own": none */
void poiseFactorLibraryDrop(PoisePC pc);

#endif
