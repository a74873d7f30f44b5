/* SPDX-License-Identifier: BSD-3-Clause */
/*
  PETSc's solvers and preconditioners by Poise: what the files of this plug-in share.

    plugin.c    what PETSc calls when it loads the library; which builds of PETSc are refused
    versions.c  what differs between versions of PETSc
    context.c   one context of Poise for a communicator; options of PETSc's database become Poise's
    operator.c  a Mat of PETSc as a matrix of Poise
    gpu.c       arrays of PETSc's CUDA types
    bridge.c    vectors and calls that pass from one library to the other; errors and reasons
    chosen.c    which PC of PETSc becomes which of Poise
    settings.c  the settings of a PC of PETSc, as options of Poise's
    levels.c    the levels of PETSc's mg
    noted.c     what the program says of a PC in code and no getter tells
    lent.c      a PC of PETSc that is not built, as Poise's own works in its place
    listen.c    functions in front of PETSc's setters; structs that live with an object
    method.c    PETSc's own methods, and what the program has set of them in code
    ksp.c       the KSP "poise"; solver.h: what its files share
    options.c   its options
    engine.c    its solver of Poise, which follows it
    calls.c     what that calls
    split.c     preconditioning from both sides
    ritz.c      KSPComputeRitz
    lsqr.c      the numbers in the state of PETSc's lsqr
    own.c       when PETSc's own method works
    pc.c        the PC "poise"
*/
#ifndef POISE_PETSC_PLUGIN_H
#define POISE_PETSC_PLUGIN_H

#include <poise.h>

#include "versions.h"

#if defined(PETSC_USE_COMPLEX)
#error "This PETSc has complex scalars. Poise solves real systems: build with a real PETSc."
#endif
#if defined(PETSC_USE_64BIT_INDICES)
#error "This PETSc has indices of 64 bits. The plug-in uses arrays in place, so it needs 32-bit indices."
#endif
#if !defined(PETSC_USE_REAL_DOUBLE)
#error "The scalars of this PETSc are not doubles, which Poise needs."
#endif

enum { NAME = 128 };

/* ---- bridge.c -------------------------------------------------------------------------------- */

/* An error of Poise becomes one of PETSc, with Poise's words. */
#define POISE_CALL(call)                                                                              \
  do {                                                                                                \
    PoiseErr poise_e_ = (call);                                                                       \
    if (PetscUnlikely(poise_e_)) SETERRQ(PETSC_COMM_SELF, ErrorOf(poise_e_), "%s", PoiseErrorText()); \
  } while (0)

PetscErrorCode ErrorOf(PoiseErr e);
KSPConvergedReason ReasonOf(PoiseKSPReason reason);
/* for this method of Poise */
PoiseNormType NormOf(const char *method, KSPNormType norm);

/* Read the entries of a Vec as a vector of Poise, or write them, in place. End gives both back. */
typedef struct Lent {
  Vec vec;
  PoiseVec poise;
  PetscScalar *array;
  PetscBool writes;
  PetscMemType place; /* of the array */
} Lent;
PetscErrorCode LendVec(PoiseContext ctx, Vec v, PetscBool writes, Lent *lent);
PetscErrorCode EndLend(Lent *lent);

/* Call f(arg, in, out) with Vecs of PETSc that have the arrays of these vectors of Poise. *kept keeps the
   error of PETSc, as Poise's code cannot. */
typedef PetscErrorCode (*OnVecs)(void *arg, Vec in, Vec out);
PoiseErr OnPetscVecs(PoiseVec in, PoiseVec out, Vec petsc_in, Vec petsc_out, OnVecs f, void *arg,
                     PetscErrorCode *kept);

/* z = M^-1 r, and the same of all columns of dense matrices. */
PetscErrorCode ApplyPC(PoiseContext ctx, PoisePC poise, Vec r, Vec z);
PetscErrorCode ApplyColumns(PC pc, PetscErrorCode (*apply)(PC, Vec, Vec), Mat R, Mat Z);

/* What view writes, on a viewer of PETSc. */
PetscErrorCode PrintView(PoiseContext ctx, PetscErrorCode (*view)(void *arg), void *arg, PetscViewer viewer);

/* ---- gpu.c ----------------------------------------------------------------------------------- */

/* The GPU on which PETSc computes in this process; -1: on none yet. */
PetscErrorCode GpuOfPetsc(PetscInt *id);
/* Wait for PETSc's kernels: their results are in its arrays. */
PetscErrorCode WaitForPetsc(void);
/* Has the matrix its entries on the GPU, in the order of its rows on the host? */
PetscBool IsOnGpu(Mat mat);
/* Arrays of a sequential one there, as long as it does not change. */
PetscErrorCode ArraysOnGpu(Mat mat, const int32_t **offsets, const int32_t **columns, const double **values);
/* n arrays there, of so many entries, behind each other in a Vec, which is made if there is none. */
PetscErrorCode JoinOnGpu(int n, const PetscInt entries[], const double *const values[], Vec *joined);
/* Have both vectors their entries there? Then call f with these arrays as theirs. */
PetscErrorCode BothOnGpu(Vec in, Vec out, PetscBool *both);
PetscErrorCode CallOnGpu(const double *from, double *to, Vec in, Vec out, OnVecs f, void *arg);

/* ---- context.c ------------------------------------------------------------------------------- */

/* At load, on all ranks: note which communicators live until PetscFinalize. */
PetscErrorCode KnowProcess(void);
/* The context of this communicator. It lives as long as an object of PETSc that has the communicator. */
PetscErrorCode ContextOf(MPI_Comm comm, PoiseContext *ctx);

/* Options that Poise has been given for a solver, behind a prefix of their own. */
typedef struct Taken Taken;
/* Give Poise the options of PETSc's database that begin with "-<prefix>poise_", in place of those in *taken.
   `first` are lines "-key value" that these override; it may be NULL. */
PetscErrorCode TakeOptions(PoiseContext ctx, const char *prefix, const char *first, Taken **taken);
/* Other lines in place of the first ones. What is new in them overrides the database, which is not read. */
PetscErrorCode RenewOptions(Taken *taken, const char *lines);
/* The prefix with which objects of Poise read them. */
const char *PrefixOf(const Taken *taken);
/* After a set-up: mark the options that Poise has asked for as used, in PETSc's database. Others stay in the
   list that PETSc prints at its end. */
PetscErrorCode NoteUsed(const Taken *taken);
PetscErrorCode DropOptions(Taken **taken);
/* Call f with key, without its '-', and value or NULL of every option in PETSc's database that begins with
   this prefix; the key is what follows it. */
typedef PetscErrorCode (*OnOption)(void *arg, const char *key, const char *value);
PetscErrorCode EachOption(const char *prefix, OnOption f, void *arg);

/* ---- operator.c ------------------------------------------------------------------------------ */

typedef enum Form { FORM_NONE, FORM_CSR, FORM_BCSR, FORM_SHELL } Form;

/* A Mat of PETSc, and the matrix of Poise that follows it. */
typedef struct Operator {
  Mat mat; /* a reference, so that no other can have its address */
  PoiseMat A;
  Form form;
  PetscBool in_place, sorted, gpu; /* gpu: from PETSc's arrays there */
  PetscObjectState states[3];      /* of mat and its parts */
  uint64_t pattern;                /* a sum over offsets and columns */
  const PetscScalar *values;       /* where PETSc's arrays were */
  const PetscInt *columns;
  int32_t *ptr, *col, *left; /* of the merged copy; left: how many columns of other ranks come first */
  double *val;
  PetscObjectId null, near_null; /* which null spaces are set */
  Vec x, y;                      /* what MatMult is called with */
  Vec joined;                    /* the values of both parts, on the GPU */
  PetscBool transposed;
  PetscErrorCode failed; /* of PETSc, in MatMult */
} Operator;

/* Make o follow mat: nothing if the object state is the same; new values in place, if the pattern is. *fresh:
   o->A is another matrix than before. shell: through MatMult, whatever the type; transposed: A^T. */
PetscErrorCode FollowMat(PoiseContext ctx, Mat mat, PetscBool shell, PetscBool transposed, Operator *o,
                         PetscBool *fresh);
PetscErrorCode DropOperator(Operator *o);
/* Can Poise's own preconditioners be built from a Mat of this type? */
PetscErrorCode HasEntries(Mat mat, PetscBool *has);
/* "in place", "through MatMult", ... */
const char *OperatorWords(const Operator *o);

/* ---- chosen.c -------------------------------------------------------------------------------- */

/* What preconditions. */
typedef struct Chosen {
  PetscBool own;       /* Poise's; else PETSc's, through a shell */
  PetscBool by_poise;  /* asked for by -poise_pc_type or -pc_type poise: there is no way back */
  PetscBool native;    /* amg or mg in place of PETSc's gamg or mg: -poise_pc_gamg, -poise_pc_mg native */
  PetscBool levels;    /* mg */
  char type[NAME];     /* of Poise */
  char options[2048];  /* lines for Poise: the settings of PETSc's PC */
  const char *because; /* why it is PETSc's */
  PetscObjectId pc;    /* the PC that -pc_type has named, */
  int life;            /* since it has got that type */
  int read;            /* have the solvers in its blocks been read, and with a matrix? */
  char inside[1024];   /* their lines */
  const char *because_inside;
} Chosen;
PetscErrorCode ChoosePC(PC pc, Chosen *c);
/* Look at the PC again, at each solve. The program may have set another one, another type, or what Poise has
   not: then it is PETSc's. *changed: c->options are others. */
PetscErrorCode FollowChoice(PC pc, Chosen *c, PetscBool *changed);
/* May the PC of this type of Poise stand for that of PETSc, with this many rows? */
PetscBool TwinFits(const char *type, PetscInt rows);
/* Is M of this type of Poise symmetric for every matrix, so that it serves the transposed system too? */
PetscBool IsSymmetricPC(const char *type);

/* ---- settings.c ------------------------------------------------------------------------------ */

/* Lines "-<inside>pc_... value" with the settings of the PC. *because: why Poise's cannot have them, or
   NULL. */
PetscErrorCode ReadSettings(PC pc, const char *inside, char *lines, size_t room, const char **because);
/* The same of the solvers in the blocks of a PC of type bjacobi, "-sub_...". */
PetscErrorCode ReadInside(PC pc, char *lines, size_t room, const char **because);

/* ---- levels.c -------------------------------------------------------------------------------- */

/* The settings of a PC of type mg. */
PetscErrorCode ReadLevels(PC pc, char *lines, size_t room);
/* At a solve: *because, why Poise's cannot have its levels, else as it was. A DM makes them here. */
PetscErrorCode WhyNotLevels(PC pc, const char **because);
enum { LEVEL_P, LEVEL_R, LEVEL_A, LEVEL_MATS }; /* from the level beneath, to it, and its operator */
typedef struct Levels {
  PetscInt count;
  Operator (*mats)[LEVEL_MATS]; /* of each level */
} Levels;
/* Give Poise's mg the levels of PETSc's, and what has changed of them since. */
PetscErrorCode FollowLevels(PC pc, PoiseContext ctx, PoisePC poise, Levels *levels);
PetscErrorCode DropLevels(Levels *levels);

/* ---- noted.c --------------------------------------------------------------------------------- */

/* Of a PC, since it has got its type. */
typedef struct Note {
  int life;                    /* how many types it has got before, and this one */
  PetscBool ordered, drops;    /* another order than the natural one; a drop tolerance */
  PetscBool pivots, unpivoted; /* among columns; none inside dense blocks */
  PetscBool served;            /* it has been lent to Poise */
  PetscBool inside;            /* the program needs PETSc's own from here on */
  PetscInt dim, nodes;         /* of PCSetCoordinates; 0: nothing */
} Note;
/* NULL if the PC is of a type that Poise has not. */
PetscErrorCode NoteOf(PC pc, Note **note);
/* The coordinates that the program has given to the PC, node by node; NULL if it has not. */
PetscErrorCode CoordinatesOf(PC pc, PetscInt *dim, PetscInt *nodes, const PetscReal **x);
/* At load: register the PC "poise", and put functions before PETSc's creators of PCs, which make notes. */
PetscErrorCode RegisterPCs(void);

/* ---- lent.c ---------------------------------------------------------------------------------- */

/* A PC of PETSc whose functions are replaced until it is given back. */
typedef struct LentPC {
  PC pc;
  struct _PCOps ops; /* PETSc's */
  PoiseContext ctx;
  const PoiseKSP *solver; /* its preconditioner works; NULL, or of NULL, where it does not */
  PetscObjectId pmat;     /* what that is set up for */
  PetscObjectState state;
} LentPC;
PetscErrorCode TakePC(PC pc, PoiseContext ctx, LentPC *lent);
/* The preconditioner of *solver has been set up for the present matrix of the PC, or has failed to be. The
   pointer itself is kept, as a solver that is destroyed is NULL there. */
PetscErrorCode LendPoise(LentPC *lent, const PoiseKSP *solver, PetscBool failed);
PetscErrorCode GiveBackPC(LentPC *lent);
/* PETSc's own works in this PC from here on, as the program asks for what Poise's has not. It is set up if
   the program has had it set up. */
PetscErrorCode TakeBackPC(PC pc);

/* ---- listen.c -------------------------------------------------------------------------------- */

typedef void (*Function)(void);
typedef struct Listener { /* in front of a function that PETSc composes with an object */
  const char *name;       /* "KSPRichardsonSetScale_C" */
  Function function;
} Listener;
/* Put those in front whose names the object has. */
PetscErrorCode Listen(PetscObject object, int n, const Listener *listeners);
/* *function: PETSc's own, behind the listener of this name. */
PetscErrorCode Behind(PetscObject object, const char *name, void *function);
/* Memory that is found by a key as long as the object lives. memory of FindWith: the address of a pointer,
   which becomes NULL if there is none. frees: with the object. */
PetscErrorCode KeepWith(PetscObject object, const char *key, void *memory, PetscBool frees);
PetscErrorCode FindWith(PetscObject object, const char *key, void *memory);

/* ---- method.c -------------------------------------------------------------------------------- */

/* What the program has said of its method in code that no getter of PETSc tells. */
typedef struct Said {
  PetscReal scale, emax, emin, breakdown; /* 0: nothing */
  PetscReal estimate[4];                  /* of KSPChebyshevEstEigSet */
  PetscBool estimates, augments;
  PetscInt augment;  /* of lgmres, if augments */
  const char *other; /* a setting that Poise's method has not, or NULL */
} Said;
PetscErrorCode SaidOf(KSP ksp, Said *said);

/* At load: put functions before PETSc's creators, so that KSPs keep what Said tells. */
PetscErrorCode RegisterMethods(void);
/* In the creator of a type: take over the method that the KSP had before, with its state, if that is kept. */
PetscErrorCode TakeMethod(KSP ksp, PetscBool *taken);
/* Has PETSc this method? */
PetscErrorCode HasMethod(const char *name, PetscBool *has);
/* Make the KSP one of this method of PETSc, which has it, but for its type's name. */
PetscErrorCode MakeMethod(KSP ksp, const char *name);
/* The method of Poise for a word of PETSc or of Poise, or NULL. */
const char *MethodOf(const char *word);
/* The method of PETSc that the word means; the word itself if Poise does not know it. */
const char *PetscMethodOf(const char *word);

/* ---- pc.c, ksp.c ----------------------------------------------------------------------------- */

PetscErrorCode PCCreate_Poise(PC pc);
PetscErrorCode KSPCreate_Poise(KSP ksp);
/* A setter of PETSc's method may have exchanged ops->solve. Where Poise's works that is put back to `solve`,
   and PETSc's is kept for later. */
PetscErrorCode KeepSolve(KSP ksp, PetscErrorCode (*solve)(KSP));

#endif
