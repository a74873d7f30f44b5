/* SPDX-License-Identifier: BSD-3-Clause */
/* Preconditioners, for their types and the solvers. */
#ifndef POISE_PC_IMPL_H
#define POISE_PC_IMPL_H

#include "mat/object/mat.h"
#include "poise/pc.h"

typedef struct Varying {            /* why an M varies between applications */
  const char *pc, *method, *prefix; /* the preconditioner, and the solver in it that stops when it has
                                       converged; NULL: no prefix */
} Varying;

/* What solvers inside read in each application, beside what was built: nothing, blocks of P copied when M
   was built, or P's present values. */
typedef enum Reads { READS_NOTHING, READS_COPIES, READS_P } Reads;

/* Which other M is the transpose of M? PC_OF_TRANSPOSE: the M of P^T. */
typedef enum PCTranspose { PC_HAS_NO_TRANSPOSE, PC_SYMMETRIC, PC_OF_TRANSPOSE } PCTranspose;

typedef struct PCType {
  const char *name;
  size_t size;                /* of pc->data */
  const PoiseOption *options; /* of pc->data */
  PoiseErr (*read)(PoisePC);  /* read the options in a call that may override others; NULL: into data */
  /* Take the settings of another one of this type, which is only read, for a solver that is divided. NULL:
     they are the fields of `options`. Collective; agrees. */
  PoiseErr (*inherit)(PoisePC from, PoisePC to);
  bool live;   /* M is P with its present values, so an old M cannot be kept */
  bool near;   /* M, or what is inside, may depend on the near null space */
  bool rounds; /* M may work in less than fp64, unless pc->exact */
  PCTranspose transpose;
  bool (*directed)(PoisePC); /* has it no such transpose, as its settings are? NULL: it has */
  bool outside;              /* r and z go to the application, with its rows. Otherwise they have P's rows */
  /* Why a solver's loop cannot be replayed, e.g. as it calls back to the host. NULL, or no function: it
     can. */
  const char *(*eager)(PoisePC);
  /* Does M vary between applications, and why? NULL: it does not. Local, after a set-up. */
  bool (*varies)(PoisePC, Varying *why);
  /* Become another type, the one that suits P (poisePCBecome). NULL: it is one. Collective; agrees. */
  PoiseErr (*choose)(PoisePC);
  PoiseErr (*setup)(PoisePC); /* build M from pc->P's present values; pc.c agrees on local failures */
  /* Entries and flops of the factors of a direct preconditioner, before they are made, or, if pc->built,
     those foreseen for these. What that takes, as an order, is kept for set-up. NULL: it has none.
     Collective; agrees. */
  PoiseErr (*foresee)(PoisePC, double *entries, double *flops);
  /* Make and configure the solvers inside. NULL: READS_NOTHING. pc.c agrees on local failures. */
  PoiseErr (*reads)(PoisePC, Reads *);
  /* Set up the solvers inside, after each setup and before each solve, as users may have changed them.
     keep: their preconditioners are kept too, see poisePCKeep. NULL: there are none. pc.c agrees on local
     failures. */
  PoiseErr (*ready)(PoisePC, bool keep);
  /* Enqueue z = M^-1 r and dots of z. */
  PoiseErr (*apply)(PoisePC, PoiseVec r, PoiseVec z, const double *skip, const Fuse *);
  /* The same for wide vectors, whose number of columns `ready_columns` was told. NULL: pc.c does it column by
     column. */
  PoiseErr (*apply_columns)(PoisePC, PoiseVec r, PoiseVec z, const double *skip, const Fuse *);
  /* z += M^-1 (r - P z), to rounding, for less than the two. Of ranks that are alone; NULL: there is no such
     way. Where pc->relaxes, as it may need room. */
  PoiseErr (*relax)(PoisePC, PoiseVec r, PoiseVec z, const double *skip);
  /* M = K S with K^-1 P S^-1 a matrix by which products take less than by P and M: it, or NULL, also where it
     is not symmetric though P is, and that is asked for; `to` =
     K^-1 b, or S x, whose further rows keep their content; x = S^-1 from, which is overwritten. Once pc is
     set up. Local. */
  PoiseMat (*between)(PoisePC, bool symmetric);
  PoiseErr (*into)(PoisePC, PoiseVec b, PoiseVec to);
  PoiseErr (*guess)(PoisePC, PoiseVec x, PoiseVec to);
  PoiseErr (*out_of)(PoisePC, PoiseVec from, PoiseVec x);
  bool (*takes_columns)(PoisePC); /* can it, once it is set up? NULL: it can, if there is such a function */
  /* Bring what that needs for so many columns to the device. Collective; the caller agrees. May be NULL. */
  PoiseErr (*ready_columns)(PoisePC, int columns);
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
  /* Those of the bytes that apply_columns reads once for all columns. NULL: none are known. */
  double (*once)(PoisePC);
  /* Kernels of an application that wait for each other, on the device. NULL: few. */
  int64_t (*kernels)(PoisePC);
  /* A solve with this M has taken so many iterations, at least one, and reduced the norm by so many digits,
     more than 0. On all ranks alike. NULL: that does not matter. */
  void (*solved)(PoisePC, int64_t iterations, double digits);
  /* A solve with this M has failed, though all numbers were finite. text: what set-up saw that may be why,
     and a way out, on all ranks alike; else unchanged. NULL: that is never known. Collective; the caller
     agrees. */
  PoiseErr (*explain)(PoisePC, char *text, size_t size);
  PoiseErr (*view)(PoisePC);
  void (*bytes)(PoisePC, PoiseBytes *sum); /* sum += bytes of pc->data; NULL: nothing that grows with sizes */
  /* p += bytes that it will hold, for pc->P as planned; NULL as of bytes. May make the solvers inside, but
     nothing that grows with sizes. pc.c agrees on local failures. */
  PoiseErr (*predict)(PoisePC, const MatPlan *plan, PoisePrediction *p);
  void (*destroy)(PoisePC); /* frees the contents of pc->data */
} PCType;

/* The solver that owns a preconditioner. It is asked when the application uses the preconditioner, as it
   may have rearranged P. All functions but plan and elsewhere are collective, and agree. */
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
  bool named;            /* the application has named a type */
  const PCType *chooser; /* which has chosen the type, in place of the one that is named; NULL: none has */
  const char *why;       /* it did */
  void *data;
  PoiseMat P;
  Version seen;       /* P's when M was built; all 0: it is to be built */
  bool built;         /* there is an M of P's layout, perhaps an old one */
  bool exact;         /* see poisePCExact */
  bool relaxes;       /* see poisePCRelaxes */
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
  PoiseVec column[2]; /* of r and z, if those are wide; made when needed */
  PoiseVec moved[2];  /* r and z with the rows of the other side, if P is rearranged; made when needed */
  char *prefix;
};

void poisePCDestroy(PoisePC *pc); /* PoisePCDestroy, by its owner too */
/* Set whether an M that is built is kept, as its user wishes, or as the preconditioner around pc does.
   While P has the values that M was built from, solvers inside that read P get a copy. Collective; agrees. */
PoiseErr poisePCKeep(PoisePC pc, bool reuse, bool held);
/* Set whether M must be linear to the digits of fp64, M (u + v) = M u + M v. If not, what it works in may be
   less. On all ranks alike, before poisePCPrepare. Local. */
void poisePCExact(PoisePC pc, bool exact);
/* Set whether it will be applied by poisePCRelax, if its type can. Before poisePCPrepare. Local. */
void poisePCRelaxes(PoisePC pc, bool relaxes);
PoiseErr poisePCPrepare(PoisePC pc);         /* PoisePCSetUp, as its owner does */
PoiseMat poisePCSource(PoisePC pc);          /* the matrix that the solvers inside work with */
PoiseErr poisePCUse(PoisePC pc, PoiseMat P); /* PoisePCSetOperator, called by the owner */
/* For ready: the sums of the generations and builds of the preconditioners inside. When one changes on any
   rank, pc's does on all. */
void poisePCInside(PoisePC pc, int64_t generation, int64_t builds);
/* For choose: become the type of this name, with the options that are set for it. */
PoiseErr poisePCBecome(PoisePC pc, const char *name, const char *why);
const PCType *poisePCAsked(PoisePC pc); /* the type that the application has asked for */
const char *poisePCEager(PoisePC pc);   /* as PCType's; once it is ready, alike on all ranks */
bool poisePCVaries(PoisePC pc, Varying *why);
/* The prefix of the options of the solvers inside. */
PoiseErr poisePCInnerPrefix(PoisePC pc, const char *inner, char prefix[POISE_OPTION_LENGTH]);
PoiseErr poisePCApplyFuse(PoisePC pc, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse);
/* z += M^-1 (r - P z), where pc->relaxes. */
PoiseErr poisePCRelax(PoisePC pc, PoiseVec r, PoiseVec z, const double *skip);
/* Are all columns of a vector taken at once, once it is ready? Else pc.c goes column by column. Local. */
bool poisePCTakesColumns(PoisePC pc);
/* Before applications to vectors with so many columns. Collective; the caller agrees. */
PoiseErr poisePCReadyColumns(PoisePC pc, int columns);

/* See PCType.foresee, for the present P; POISE_ERR_UNSUPPORTED: pc is not direct. A set-up with this P or
   pattern then goes on from there. An M of older values is given up. Collective; agrees. */
PoiseErr poisePCForesee(PoisePC pc, double *entries, double *flops);
/* p += the result of PoisePCPredictBytes. Collective; agrees. */
PoiseErr poisePCPredict(PoisePC pc, const PoiseMatCounts *counts, PoisePrediction *p);
PoiseErr poisePCCheckStored(PoisePC pc); /* fails if P has no entries, as a shell */

#endif
