/* SPDX-License-Identifier: BSD-3-Clause */
/* Preconditioners, for their types and the solvers. */
#ifndef POISE_PC_IMPL_H
#define POISE_PC_IMPL_H

#include "mat/mat.h"
#include "poise/pc.h"
#include "triangles_kernels.h"

typedef struct Varying {            /* why an M varies between applications */
  const char *pc, *method, *prefix; /* the preconditioner, and the solver in it that stops when it has
                                       converged; NULL: no prefix */
} Varying;

/* What solvers inside read in each application, beside what was built: nothing, blocks of P copied when M
   was built, or P's present values. */
typedef enum Reads { READS_NOTHING, READS_COPIES, READS_P } Reads;

typedef struct PCType {
  const char *name;
  size_t size;                /* of pc->data */
  const PoiseOption *options; /* of pc->data */
  PoiseErr (*read)(PoisePC);  /* read the options in a call that may override others; NULL: into data */
  /* Take the settings of another one of this type, which is only read, for a solver that is divided. NULL:
     they are the fields of `options`. Collective; agrees. */
  PoiseErr (*inherit)(PoisePC from, PoisePC to);
  bool live;    /* M is P with its present values, so an old M cannot be kept */
  bool near;    /* M, or what is inside, may depend on the near null space */
  bool outside; /* r and z go to the application, with its rows. Otherwise they have P's rows */
  /* Why a solver's loop cannot be replayed, e.g. as it calls back to the host. NULL, or no function: it
     can. */
  const char *(*eager)(PoisePC);
  /* Does M vary between applications, and why? NULL: it does not. Local, after a set-up. */
  bool (*varies)(PoisePC, Varying *why);
  PoiseErr (*setup)(PoisePC); /* build M from pc->P's present values; pc.c agrees on local failures */
  /* Make and configure the solvers inside. NULL: READS_NOTHING. pc.c agrees on local failures. */
  PoiseErr (*reads)(PoisePC, Reads *);
  /* Set up the solvers inside, after each setup and before each solve, as users may have changed them.
     keep: their preconditioners are kept too, see poisePCKeep. NULL: there are none. pc.c agrees on local
     failures. */
  PoiseErr (*ready)(PoisePC, bool keep);
  /* Enqueue z = M^-1 r and dots of z. */
  PoiseErr (*apply)(PoisePC, PoiseVec r, PoiseVec z, const double *skip, const Fuse *);
  /* M^-1 as a diagonal on the device (NULL: the identity), for solvers that apply it inside their vector
     phases. No function if M is never a diagonal. */
  PoiseErr (*pointwise)(PoisePC, const double **d);
  /* M^-1 as dense diagonal blocks on the device, in the form of BlockEpilogue, for solvers whose phases apply
     it as an epilogue. *b = 0: M has blocks of other sizes, or none. No function if M never has such
     blocks. */
  PoiseErr (*blocks)(PoisePC, const double **d, int64_t *b);
  /* Flops and bytes of one application, beside those that nested events count. NULL: one flop and 24 bytes
     per row. */
  void (*cost)(PoisePC, double *flops, double *bytes);
  /* Kernels of an application that wait for each other, on the device. NULL: few. */
  int64_t (*kernels)(PoisePC);
  /* A solve with this M has taken so many iterations, at least one, and reduced the norm by so many digits,
     more than 0. On all ranks alike. NULL: that does not matter. */
  void (*solved)(PoisePC, int64_t iterations, double digits);
  PoiseErr (*view)(PoisePC);
  void (*bytes)(PoisePC, PoiseBytes *sum); /* sum += bytes of pc->data; NULL: nothing that grows with sizes */
  /* p += bytes that it will hold, for pc->P as planned; NULL as of bytes. May make the solvers inside, but
     nothing that grows with sizes. pc.c agrees on local failures. */
  PoiseErr (*predict)(PoisePC, const MatPlan *plan, PoisePrediction *p);
  void (*destroy)(PoisePC); /* frees the contents of pc->data */
} PCType;

/* The solver that owns a preconditioner. It is asked when the application uses the preconditioner, as it
   may have rearranged P. All functions but plan and
   elsewhere are collective, and agree. */
typedef struct PCOwner {
  PoiseErr (*set)(void *solver, PoiseMat P); /* the application sets a new matrix P for it */
  PoiseErr (*follow)(void *solver);          /* make pc->P the matrix that the solver will work with */
  /* Is M not in pc but with the solver's workers? These then set up and apply. */
  bool (*elsewhere)(void *solver);
  PoiseErr (*setup)(void *solver);
  PoiseErr (*apply)(void *solver, PoiseVec r, PoiseVec z);
  /* May memory be predicted from pc->P? *beyond: what that leaves out; else unchanged. */
  PoiseErr (*plan)(void *solver, const char **beyond);
} PCOwner;

struct PoisePC_s {
  PoiseContext ctx;
  const PCOwner *owner; /* NULL: it stands alone */
  void *solver;
  const PCType *type;
  void *data;
  PoiseMat P;
  Version seen;       /* P's when M was built; all 0: it is to be built */
  bool built;         /* there is an M of P's layout, perhaps an old one */
  bool reuse, held;   /* keep an M once built: by its user's wish; by that of the preconditioner around
                             it */
  bool holds;         /* P's values may change, as solvers inside do not read them, or read a copy */
  PoiseMat kept;      /* a copy of P with its values when M was built, for solvers inside; NULL: they
                             read P */
  int64_t generation; /* counts the rebuilds that move arrays or change what is enqueued */
  int64_t builds;     /* counts all */
  struct {            /* sums over the preconditioners inside */
    int64_t generation, builds;
    bool moved, built; /* one of them has changed on this rank, which pc.c agrees on */
  } inside;
  bool eager;         /* some rank's is, when it was last made ready */
  int64_t configured; /* counts calls of SetFromOptions */
  PoiseVec moved[2];  /* r and z with the rows of the other side, if P is rearranged; made when needed */
  char *prefix;
};

void poisePCDestroy(PoisePC *pc); /* PoisePCDestroy, by its owner too */
/* Set whether an M that is built is kept, as its user wishes, or as the preconditioner around pc does.
   While P has the values that M was built from, solvers inside that read P get a copy. Collective; agrees. */
PoiseErr poisePCKeep(PoisePC pc, bool reuse, bool held);
PoiseErr poisePCPrepare(PoisePC pc);         /* PoisePCSetUp, as its owner does */
PoiseMat poisePCSource(PoisePC pc);          /* the matrix that the solvers inside work with */
PoiseErr poisePCUse(PoisePC pc, PoiseMat P); /* PoisePCSetOperator, called by the owner */
/* For ready: the sums of the generations and builds of the preconditioners inside. When one changes on any
   rank, pc's does on all. */
void poisePCInside(PoisePC pc, int64_t generation, int64_t builds);
const char *poisePCEager(PoisePC pc); /* as PCType's; once it is ready, alike on all ranks */
bool poisePCVaries(PoisePC pc, Varying *why);
/* The prefix of the options of the solvers inside. */
PoiseErr poisePCInnerPrefix(PoisePC pc, const char *inner, char prefix[POISE_OPTION_LENGTH]);
PoiseErr poisePCApplyFuse(PoisePC pc, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse);

/* p += the result of PoisePCPredictBytes. Collective; agrees. */
PoiseErr poisePCPredict(PoisePC pc, const PoiseMatCounts *counts, PoisePrediction *p);
PoiseErr poisePCCheckStored(PoisePC pc); /* fails if P has no entries, as a shell */

/* ---- blocks.c: inverse diagonal blocks, shared by jacobi (b = 1) and pbjacobi ---------------- */

typedef struct Blocks {
  int b;
  int64_t n; /* rows */
  Buffer inverse, bad;
} Blocks;

/* Invert P's diagonal blocks. fix: treat a zero 1 x 1 block as 1. */
PoiseErr poiseBlocksSetup(PoisePC pc, Blocks *blocks, int b, bool fix);
PoiseErr poiseBlocksShow(Blocks *blocks, const double **d, int64_t *b); /* as PCType.blocks */
PoiseErr poiseBlocksApply(PoisePC pc, Blocks *blocks, PoiseVec r, PoiseVec z, const double *skip,
                          const Fuse *fuse);
void poiseBlocksBytes(const Blocks *blocks, PoiseBytes *sum);
void poiseBlocksPredict(PoisePC pc, int b, PoisePrediction *p);
void poiseBlocksDestroy(Blocks *blocks);

/* ---- supervariables.c: inverse diagonal blocks of the sizes that the pattern suggests, for
   bjacobi -------------------------------------------------------------------------------------- */

typedef struct Supervariables {
  Version seen; /* P, when they were found */
  int most;     /* maximum rows of a block, as asked for */
  int64_t n, count, largest, entries;
  int64_t equal; /* rows of each block, where the last one may have fewer; 0: sizes differ */
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

/* ---- triangles.c: sweeps over the triangles of the block that a rank owns, for ilu, icc and
   sor ------------------------------------------------------------------------------------------ */

typedef struct Triangular {
  Version seen;   /* P, when it was built */
  int64_t built;  /* counts how often */
  int directions; /* with levels: 2; 1: forward alone; 0: none */
  bool own, wide; /* own: begin, end and col are copies, which outlive P's pattern. Otherwise they
                             are P's, except begin and end of rows with ghosts. If each row ends where the
                             next begins, end is empty, and begin has one more entry */
  int b;          /* as in Triangles */
  int64_t n;
  Buffer begin, diag, end, col;
  Buffer start[2], first[2], last[2]; /* levels of the forward and backward sweep */
  Buffer work;                        /* if the device or a library needs it */
  int64_t count[2], groups, nz;       /* nz: entries of the block */
} Triangular;

/* Find the triangles, and the levels of so many directions, if the pattern is new. own: see above. guess:
   sweeps will start from a guess, so a row must not change before the rows that read its old value.
   POISE_ERR_NUMERIC names a row without a diagonal entry. Local. */
PoiseErr poiseTriangularSetup(PoisePC pc, Triangular *t, bool own, bool guess, int directions);
/* The kernels' view of the triangles on one side. */
PoiseErr poiseTriangularView(PoisePC pc, Triangular *t, Side side, Triangles *view);
PoiseErr poiseTriangularLevels(Triangular *t, int backward, Levels *levels);
/* Has each entry (i, j) an entry (j, i)? */
PoiseErr poiseTriangularIsSymmetric(PoisePC pc, Triangular *t, bool *symmetric);
PoiseErr poiseTriangularWork(Triangular *t, double **work);  /* a vector and one more double, or NULL */
PoiseErr poiseTriangularNeedWork(PoisePC pc, Triangular *t); /* work is not NULL after this */
static inline int poiseTriangularSide(const Triangular *t)   /* scalar rows of a row */
{
  return t->b ? t->b : 1;
}
/* Launch a sweep. The caller has set all of a except t and levels. */
PoiseErr poiseTriangularSweep(PoisePC pc, Triangular *t, SweepArgs *a);
PoiseErr poiseTriangularPrint(PoisePC pc, const Triangular *t); /* collective */
/* bytes read by one sweep over both triangles, without vectors */
double poiseTriangularTraffic(const Triangular *t);
void poiseTriangularBytes(const Triangular *t, PoiseBytes *sum); /* sum += what it holds */
PoiseErr poiseTriangularPredict(PoisePC pc, bool own, int directions, const MatPlan *plan,
                                PoisePrediction *p);
void poiseTriangularDestroy(Triangular *t);

/* ---- factor.c: incomplete factors without fill, for ilu and icc; pc->data is an Incomplete ---- */

typedef struct Incomplete {
  int shift_type; /* index in FACTOR_SHIFT_TYPE's words */
  double shift_amount, zero_pivot;
  char kernel[POISE_OPTION_LENGTH]; /* name of the kernel that solves with the factors */
  PoiseInt sweeps, setup_sweeps;    /* Jacobi sweeps of a solve with each triangle; sweeps of a factorisation;
                                       0: exact */
  Triangular triangular;
  int64_t built, checked; /* triangular.built when memory was allocated; and when `mirrored` was found */
  bool mirrored;          /* the pattern is symmetric */
  Buffer lu, d, result;
  Buffer other;   /* values of the sweep before, of an ilu by sweeps */
  Buffer work[2]; /* vectors, for Jacobi sweeps */
  bool negative;  /* M is minus the factorisation of -A (icc) */
  double shift;   /* that was needed */
  int tries;      /* shifts tried */
  double seconds; /* of the latest set-up */
  int library;    /* 0: the device's own sweeps solve; k: its factor_libraries[k - 1] does */
  LibraryPlan plan;
  int64_t planned; /* triangular.built when the plan was made; 0: no plan */
} Incomplete;

/* Rows of the option tables of ilu and icc, which differ only in the default shift. */
#define FACTOR_SHIFT_TYPE(shift)                                                                            \
  {                                                                                                         \
    "pc_factor_shift_type", POISE_OPTION_CHOICE, offsetof(Incomplete, shift_type), shift, 0, 0,             \
        "none|nonzero|positive_definite|inblocks", "what to do about pivots that are zero, or not positive" \
  }
#define FACTOR_SHIFT_AMOUNT                                                                     \
  {                                                                                             \
    "pc_factor_shift_amount", POISE_OPTION_REAL, offsetof(Incomplete, shift_amount),            \
        "2.220446049250313e-14", 0, 1e300, NULL,                                                \
        "first shift of the diagonal (nonzero), or the amount added to a zero pivot (inblocks)" \
  }
#define FACTOR_ZERO_PIVOT                                                                                   \
  {                                                                                                         \
    "pc_factor_zeropivot", POISE_OPTION_REAL, offsetof(Incomplete, zero_pivot), "2.220446049250313e-14", 0, \
        1e300, NULL,                                                                                        \
        "pivots up to this count as zero (nonzero, positive_definite: times the sum of the row)"            \
  }
#define FACTOR_KERNEL                                                                                       \
  {                                                                                                         \
    "pc_factor_kernel", POISE_OPTION_STRING, offsetof(Incomplete, kernel), "own", 0, 0, NULL,               \
        "what solves with the factors: own kernels, or on cuda cusparse, which takes no blocks, no 64-bit " \
        "offsets and no columns of other ranks; the loop of a solver is then not replayed"                  \
  }

#define FACTOR_SWEEPS                                                                                     \
  {                                                                                                       \
    "pc_factor_sweeps", POISE_OPTION_INT, offsetof(Incomplete, sweeps), "0", 0, 1000, NULL,               \
        "Jacobi sweeps that solve with each triangle, each a product; 0: exact solves, level after level" \
  }
#define FACTOR_SETUP_SWEEPS                                                                             \
  {                                                                                                     \
    "pc_factor_setup_sweeps", POISE_OPTION_INT, offsetof(Incomplete, setup_sweeps), "0", 0, 1000, NULL, \
        "sweeps over all entries at once that approximate the factors; 0: exact factors, row after row" \
  }

#define FACTOR_OPTIONS(shift_type)                                                                     \
  FACTOR_SHIFT_TYPE(shift_type), FACTOR_SHIFT_AMOUNT, FACTOR_ZERO_PIVOT, FACTOR_KERNEL, FACTOR_SWEEPS, \
      FACTOR_SETUP_SWEEPS

PoiseErr poiseFactorSetup(PoisePC pc, bool symmetric);
PoiseErr poiseFactorApply(PoisePC pc, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse);
void poiseFactorCost(PoisePC pc, double *flops, double *bytes);
PoiseErr poiseFactorView(PoisePC pc);
void poiseFactorBytes(PoisePC pc, PoiseBytes *sum);
const char *poiseFactorEager(PoisePC pc);
PoiseErr poiseFactorPredict(PoisePC pc, bool symmetric, const MatPlan *plan, PoisePrediction *p);
void poiseFactorDestroy(PoisePC pc);

/* ---- factor_library.c: solves with them by a library of the device's ------------------------- */

PoiseErr poiseFactorLibraryFind(PoisePC pc);  /* find the library that options name; local. Without one,
                                                 this and the functions below do nothing */
PoiseErr poiseFactorLibraryCheck(PoisePC pc); /* does the library accept P's present pattern? */
PoiseErr poiseFactorLibraryPlan(PoisePC pc);  /* makes a plan for new factors */
PoiseErr poiseFactorLibraryApply(PoisePC pc, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse);
const char *poiseFactorLibraryName(PoisePC pc); /* "own": none */
void poiseFactorLibraryDrop(PoisePC pc);

/* ---- factor_sweeps.c: factors by sweeps over all entries at once ----------------------------- */

struct FactorArgs;
PoiseErr poiseFactorSweepsCheck(PoisePC pc);                        /* are they for P's present pattern? */
PoiseErr poiseFactorSweeps(PoisePC pc, const struct FactorArgs *a); /* what kernel factor does, nearly */

/* ---- jacobi_sweeps.c: solves with the factors by Jacobi sweeps ------------------------------- */

PoiseErr poiseJacobiSweepsCheck(PoisePC pc);
PoiseErr poiseJacobiSweepsScale(PoisePC pc); /* makes new factors those of poiseJacobiSweepsApply */
PoiseErr poiseJacobiSweepsApply(PoisePC pc, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse);

#endif
