/* SPDX-License-Identifier: BSD-3-Clause */
/*
  What the cases of test_petsc share: a problem with two solvers, by a method of PETSc and of type poise, that
  are made by the same calls, and how they are compared.
*/
#ifndef POISE_PETSC_TEST_H
#define POISE_PETSC_TEST_H

#include <petsc/private/petscimpl.h>
#include <petscksp.h>

/* names of PETSc 3.26 */
#if PETSC_VERSION_LT(3, 26, 0)
#define KSPOrthogonalizationSet                  KSPGMRESSetOrthogonalization
#define KSPOrthogonalizationClassicalGramSchmidt KSPGMRESClassicalGramSchmidtOrthogonalization
#define KSPOrthogonalizationModifiedGramSchmidt  KSPGMRESModifiedGramSchmidtOrthogonalization
#define KSPOrthogonalizationSetCGSRefinementType KSPGMRESSetCGSRefinementType
#define KSP_ORTHOGONALIZATION_CGS_REFINE_ALWAYS  KSP_GMRES_CGS_REFINE_ALWAYS
#endif

typedef struct Problem {
  Mat A, P;
  Vec b, x, y; /* x: the solution by PETSc, y: that by poise */
  KSP petsc, poise;
} Problem;

typedef struct Case {
  const char *name;
  PetscErrorCode (*run)(void);
} Case;

extern int failures, checks;
extern PetscMPIInt ranks;
extern PetscBool gpu;    /* matrices of type aij are made of type aijcusparse, with their vectors */
extern PetscBool shared; /* ranks share a device, where they solve as one */

#define CHECK(condition)                                                            \
  do {                                                                              \
    checks++;                                                                       \
    if (!(condition)) {                                                             \
      failures++;                                                                   \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, __func__, #condition); \
    }                                                                               \
  } while (0)

enum { N = 60 };

/* tridiag(-1 - skew, diagonal, -1 + skew) of N rows, and with far != 0 entries far from the diagonal. */
PetscErrorCode MakeMat(const char *type, PetscReal diagonal, PetscReal skew, PetscReal far, Mat *A);
PetscErrorCode MakeMatOn(MPI_Comm comm, const char *type, PetscReal diagonal, PetscReal skew, PetscReal far,
                         Mat *A);
/* Two solvers with a prefix each, "a_" by PETSc and "b_" of type poise. More options are set by the case. No
   pc: its type is none, set in code. */
PetscErrorCode Begin(Mat A, Mat P, const char *method, const char *pc, Problem *p);
/* The same, with what the program does to each solver before KSPSetFromOptions; it may be NULL. No method:
   that which `prepare` sets. */
typedef PetscErrorCode (*Prepare)(KSP ksp);
PetscErrorCode BeginWith(Mat A, const char *method, const char *pc, Prepare prepare, Problem *p);
PetscErrorCode End(Problem *p);
/* Solve by both, and leave x - y in x. Norms of all iterations, reasons and solutions must agree. With larger
   blocks there must be no more iterations. */
PetscErrorCode Both(Problem *p, PetscBool transposed);
/* Are blocks of this PC those of ranks by PETSc, and larger where ranks solve as one? */
PetscBool HasLargerBlocks(const char *pc);
/* Are these words in the view? */
PetscErrorCode Says(KSP ksp, const char *words, PetscBool *says);

/* The PC of the solver by PETSc (0), or of that of type poise (1). */
PC PCOf(const Problem *p, int k);
/* Set the options "-a_<key>" and "-b_<key>", or clear them. */
PetscErrorCode SetBoth(const char *key, const char *value, PetscBool clear);
/* Do both PETSc's and Poise's PCs of this type take one rank only? */
PetscBool IsOfOneRank(const char *pc);

#define SAYS(ksp, words)                 \
  do {                                   \
    PetscBool says_;                     \
    PetscCall(Says(ksp, words, &says_)); \
    CHECK(says_);                        \
  } while (0)

/* The cases, by file; each list ends with a NULL. */
extern const Case of_matrices[], of_settings[], of_pcs[], of_levels[], of_lent[], of_options[], of_methods[],
    of_many[], of_gpus[];

#endif
