/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Krylov solvers of A x = b. All functions are collective unless said otherwise.

  Convergence (PETSc's meaning): with r_k the residual in the chosen norm and r_0 the initial one (the norm of
  b when a nonzero guess is given), stop when |r_k| <= max(rtol |r_0|, atol), or as diverged when |r_k| >=
  dtol |r_0|. Divergence and breakdown are reasons, not errors, unless PoiseKSPSetErrorIfNotConverged asks for
  that.
*/
#ifndef POISE_KSP_H
#define POISE_KSP_H

#include "pc.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct PoiseKSP_s *PoiseKSP;

/* Reasons and their words: X(name, value). Values and words follow PETSc. */
#define POISE_REASON_LIST(X)      \
  X(ITERATING, 0)                 \
  X(CONVERGED_RTOL, 2)            \
  X(CONVERGED_ATOL, 3)            \
  X(CONVERGED_ITS, 4)             \
  X(CONVERGED_HAPPY_BREAKDOWN, 5) \
  X(CONVERGED_USER, 6)            \
  X(DIVERGED_NULL, -2)            \
  X(DIVERGED_ITS, -3)             \
  X(DIVERGED_DTOL, -4)            \
  X(DIVERGED_BREAKDOWN, -5)       \
  X(DIVERGED_INDEFINITE_PC, -8)   \
  X(DIVERGED_NANORINF, -9)        \
  X(DIVERGED_INDEFINITE_MAT, -10) \
  X(DIVERGED_USER, -12)           \
  X(DIVERGED_ERROR, -13)

typedef enum PoiseKSPReason {
#define POISE_REASON_VALUE(name, value) POISE_##name = value,
  POISE_REASON_LIST(POISE_REASON_VALUE)
#undef POISE_REASON_VALUE
} PoiseKSPReason;

typedef enum PoiseNormType {
  POISE_KSP_NORM_DEFAULT,          /* the method's own */
  POISE_KSP_NORM_NONE,             /* no norm: maxits iterations, reason CONVERGED_ITS */
  POISE_KSP_NORM_PRECONDITIONED,   /* |M^-1 (b - A x)| */
  POISE_KSP_NORM_UNPRECONDITIONED, /* |b - A x| */
  POISE_KSP_NORM_NATURAL           /* sqrt(r, M^-1 r), r = b - A x */
} PoiseNormType;

typedef enum PoisePCSide { POISE_PC_LEFT, POISE_PC_RIGHT } PoisePCSide;

POISE_API PoiseErr PoiseKSPCreate(PoiseContext ctx, PoiseKSP *ksp);
POISE_API PoiseErr PoiseKSPDestroy(PoiseKSP *ksp);
/*
  "cg"          A and M symmetric positive definite
  "prcg"        the same in one pass over the vectors, for a diagonal M (Chen & Carson 2020): faster where
  vectors or
                latency count; on hard problems it may take some per cent more iterations
  "bicgstab"    (also "bcgs") any A
  "gmres"       any A
  "fgmres"      the same from the right; M may change from one application to the next (see below)
  "minres"      A symmetric, M symmetric positive definite; its preconditioned norm is |M^-1 r_0| times the
  decrease of
                the natural norm
  "chebyshev"   A and M symmetric positive definite; bounds of the spectrum of M^-1 A are given or estimated
  "richardson"  x += scale M^-1 (b - A x)
  "preonly"     x = M^-1 b: no norm, one iteration, CONVERGED_ITS; a nonzero guess is POISE_ERR_ARG
  Default: gmres, as in PETSc, whose words "bcgs" (bicgstab) and "none" (preonly) are understood. -ksp_type
*/
POISE_API PoiseErr PoiseKSPSetType(PoiseKSP ksp, const char *type);
POISE_API const char *PoiseKSPType(PoiseKSP ksp); /* lent; not collective */
/* A: the operator; P: the matrix the preconditioner is built from (NULL: A). References are taken. Matrices
   that are set again count as changed only if they have; but shells always, as nobody sees what has become of
   them. Where A asks for another arrangement (PoiseMatSetPartition, PoiseMatSetOrder), the solver and its PC
   work with copies of both, arranged alike. What they take from the application, and hand to it, has its rows
   all the same, or is refused: see below, and PoisePCSetShell. */
POISE_API PoiseErr PoiseKSPSetOperators(PoiseKSP ksp, PoiseMat A, PoiseMat P);
POISE_API PoiseErr PoiseKSPGetPC(PoiseKSP ksp, PoisePC *pc); /* lent */
/* Relative, absolute and divergence tolerance, most iterations; a negative argument leaves the present
   value. */
POISE_API PoiseErr PoiseKSPSetTolerances(PoiseKSP ksp, double rtol, double atol, double dtol,
                                         PoiseInt maxits);
POISE_API PoiseErr PoiseKSPSetNormType(PoiseKSP ksp, PoiseNormType norm);
POISE_API PoiseErr PoiseKSPSetPCSide(PoiseKSP ksp, PoisePCSide side);
/* Nonzero: x holds a guess on entry of PoiseKSPSolve; default 0: the guess is zero. */
POISE_API PoiseErr PoiseKSPSetInitialGuessNonzero(PoiseKSP ksp, int nonzero);
/* Nonzero: a solve that did not converge returns POISE_ERR_NOT_CONVERGED. */
POISE_API PoiseErr PoiseKSPSetErrorIfNotConverged(PoiseKSP ksp, int on);
/*
  Nonzero, the default: a convergence that the method claims is checked with b - A x before it is reported:
  one product, one application of M from the left, and two passes over vectors. A norm above ten times the
  tolerance refutes the claim, and the method goes on from x. If it claims again, falsely and without having
  halved the norm, the reason is DIVERGED_BREAKDOWN, x is the better one and PoiseKSPReasonDetail has both
  norms; or DIVERGED_INDEFINITE_PC where the norm is made of a (r, z) that is nothing but rounding. Not
  checked: norm none, a user's convergence test, a norm but (r, z) that a method has just computed from b -
  A x, and by default solvers inside preconditioners (-sub_ksp_verify). -ksp_verify, -log_view: KSPVerify
*/
POISE_API PoiseErr PoiseKSPSetVerify(PoiseKSP ksp, int on);
/* Nonzero: CONVERGED_RTOL in the preconditioned or natural norm with |b - A x| above 0.01 |b| (and ten
   times the relative tolerance), which otherwise PoiseKSPReasonDetail warns of, is
   POISE_ERR_NOT_CONVERGED. Needs the check above. -ksp_error_if_inaccurate */
POISE_API PoiseErr PoiseKSPSetErrorIfInaccurate(PoiseKSP ksp, int on);
/* Settings of one method, without effect on others, as in PETSc. */
POISE_API PoiseErr PoiseKSPGMRESSetRestart(PoiseKSP ksp, int restart); /* also fgmres's */
/* gmres and fgmres, with a norm: DIVERGED_BREAKDOWN where, at a restart, |b - A x| and the recurrence's
   norm differ by more than this times the norm at the start of the cycle; 0.1. PoiseKSPReasonDetail has
   both. -ksp_gmres_breakdown_tolerance */
POISE_API PoiseErr PoiseKSPGMRESSetBreakdownTolerance(PoiseKSP ksp, double tolerance);
POISE_API PoiseErr PoiseKSPRichardsonSetScale(PoiseKSP ksp, double scale);
/* Bounds of the eigenvalues of M^-1 A, of one sign, emin < emax; they are then not estimated. */
POISE_API PoiseErr PoiseKSPChebyshevSetEigenvalues(PoiseKSP ksp, double emax, double emin);
/* Nonzero: once built, the preconditioner stays as it is when its matrix changes or another one is set, until
   this is switched off or the type of the PC changes; but sor, which is the matrix itself, follows it.
   Applications between solves (PoisePCApply) find it as it is, too. An iterative solver in it (ksp; bjacobi
   with one block on one rank) reads the matrix, so while this is on it works with a copy, taken when the
   preconditioner is built or at once if it is built (POISE_ERR_MEMORY). When the values have changed before
   that, such a preconditioner, on any number of ranks, is built once more. -ksp_reuse_preconditioner */
POISE_API PoiseErr PoiseKSPSetReusePreconditioner(PoiseKSP ksp, int on);
/* Prefix of the options: "-<prefix>ksp_type". Copied; the PC takes the same. */
POISE_API PoiseErr PoiseKSPSetOptionsPrefix(PoiseKSP ksp, const char *prefix);
/* Also the PC's, and those of the solvers inside it. The later call wins: options override what was set
   before, and what is set after overrides them. And, behind their own prefixes, the options of A and P
   (PoiseMatSetFromOptions), set before or after, if nobody has read them and the program has not set their
   types. */
POISE_API PoiseErr PoiseKSPSetFromOptions(PoiseKSP ksp);

/* Allocate work and build the preconditioner; PoiseKSPSolve does it when needed. */
POISE_API PoiseErr PoiseKSPSetUp(PoiseKSP ksp);
/* x = A^-1 b. b and x may not be the same vector. A solve after the first allocates nothing. */
POISE_API PoiseErr PoiseKSPSolve(PoiseKSP ksp, PoiseVec b, PoiseVec x);

/* Of the latest solve; not collective. */
POISE_API PoiseKSPReason PoiseKSPConvergedReason(PoiseKSP ksp);
POISE_API const char *PoiseKSPReasonString(PoiseKSPReason reason); /* "CONVERGED_RTOL" */
/* What is known beyond the reason, "" if nothing: "row 17 of A has an entry that is not finite" (the first
   row, of A, P or b; or that the entries of A and b are finite) after DIVERGED_NANORINF, and what
   PoiseKSPInconsistency says. -ksp_converged_reason, -ksp_view and the error of a solve that did not converge
   say it too. Lent until the next solve. Not collective. */
POISE_API const char *PoiseKSPReasonDetail(PoiseKSP ksp);
POISE_API PoiseInt PoiseKSPIterations(PoiseKSP ksp);
/* the last one, in the norm of PoiseKSPNormUsed */
POISE_API double PoiseKSPResidualNorm(PoiseKSP ksp);
POISE_API PoiseNormType PoiseKSPNormUsed(PoiseKSP ksp);       /* never DEFAULT after a set-up */
POISE_API const char *PoiseKSPNormString(PoiseNormType norm); /* "preconditioned" */
/* Norms of iterations 0, 1, ... count - 1 of the latest solve, when kept (PoiseKSPKeepHistory); lent until
   the next solve. */
POISE_API PoiseErr PoiseKSPKeepHistory(PoiseKSP ksp, int on);
POISE_API PoiseErr PoiseKSPHistory(PoiseKSP ksp, PoiseInt *count, const double **norms);
/* |b - A x| in the 2-norm, computed now. */
POISE_API PoiseErr PoiseKSPTrueResidual(PoiseKSP ksp, PoiseVec b, PoiseVec x, double *norm);

/*
  A matrix with a null space (PoiseMatSetNullSpace): as in PETSc, its part is removed after each application
  of a preconditioner from the left, and from the solution. A solution exists only if b has no part in the
  null space of A^T: this is that part's norm over |b|, of the latest solve; 0 without null space. When
  PoiseMatSetTransposeNullSpace has said what it is, the solve leaves that part out, and norms and residuals
  are those of the b that remains; b itself never changes. Else it is taken to be that of A, as for a
  symmetric A, and b is left as it is. A part larger than rtol is what no iteration can then get rid of in the
  unpreconditioned norm: -ksp_converged_reason, -ksp_view and the error of a solve that did not converge speak
  of it. Not collective.
*/
POISE_API double PoiseKSPInconsistency(PoiseKSP ksp);

/* Called with each iteration's norm, in order, possibly a few iterations late. Up to 8 monitors. */
typedef PoiseErr (*PoiseMonitor)(PoiseKSP ksp, PoiseInt iteration, double norm, void *arg);
POISE_API PoiseErr PoiseKSPAddMonitor(PoiseKSP ksp, PoiseMonitor monitor, void *arg);
/* Replaces the convergence test: set *reason to stop; called in step with the iteration (the loop is then not
   replayed). */
typedef PoiseErr (*PoiseConvergenceTest)(PoiseKSP ksp, PoiseInt iteration, double norm,
                                         PoiseKSPReason *reason, void *arg);
/* Monitors and tests, like functions of shells, may be collective, call the library and solve with other
   solvers; their own solver is in the middle of its work, which Solve, SetUp and whatever else would change
   it answer with POISE_ERR_STATE. */
POISE_API PoiseErr PoiseKSPSetConvergenceTest(PoiseKSP ksp, PoiseConvergenceTest test, void *arg);

/* x = the present iterate, in a convergence test or in a monitor, the latter where the loop is not replayed
   (PoiseKSPView says); else POISE_ERR_STATE. x is not the vector that is being solved for: that is written at
   the end of the solve. */
POISE_API PoiseErr PoiseKSPBuildSolution(PoiseKSP ksp, PoiseVec x);

/*
  Solvers inside preconditioners. What they do not converge to is used as far as it goes. They are set up
  with the preconditioner and again when they have been changed.

  A method that stops when it has converged makes another M of each application. Inside a preconditioner all
  do so but preonly, and richardson and chebyshev with norm none and no user's test. These do so, too, where
  the preconditioner inside them does. Such an M is for fgmres, for preonly, which applies it once, and for
  richardson, which computes b - A x anew each time. With another method PoiseKSPSetUp and PoiseKSPSolve
  return POISE_ERR_UNSUPPORTED, naming what varies. A shell is not looked into: it is the user's word.

  Where the solver outside has rearranged its matrix those inside have the rows of the copy. Their Solve and
  TrueResidual, and matrices set for them, are then POISE_ERR_UNSUPPORTED. So are, in blocks (but one block
  on one rank), BuildSolution, PoisePCApply and shells.

  "bjacobi": one solver per block of rows, which belongs to a context of this rank alone; options have the
  prefix of the PC and "sub_". Default: one block per rank, preonly and ilu. Setting the blocks drops the
  solvers. More blocks than rows (or nodes of the matrix's block size) on a rank, if more than 1, are
  POISE_ERR_SIZE.
*/
/* Blocks on all ranks together, dealt out evenly, at least one per rank; 0: one per rank. Each of the two
   takes the place of the other and of -pc_bjacobi_supervariables; of options that are read together no two
   may be given. -pc_bjacobi_blocks */
POISE_API PoiseErr PoisePCBJacobiSetTotalBlocks(PoisePC pc, PoiseInt blocks);
/* Blocks on this rank, and the rows of each (copied), which add up to this rank's; NULL: nearly equal. Where
   a solver rearranges its matrix lengths are POISE_ERR_UNSUPPORTED at its set-up: they would cut other rows.
   -pc_bjacobi_local_blocks */
POISE_API PoiseErr PoisePCBJacobiSetLocalBlocks(PoisePC pc, PoiseInt blocks, const PoiseInt *lengths);
/* This rank's solvers, lent until the blocks, the type or the rows of the matrix change; how many, and how
   many there are on lower ranks (each may be NULL). The matrix must be set. */
POISE_API PoiseErr PoisePCBJacobiGetSubKSP(PoisePC pc, PoiseInt *count, PoiseInt *first, PoiseKSP **ksp);
/* "ksp": one solver on all ranks; options have the prefix of the PC and "ksp_". Lent. Default: gmres. */
POISE_API PoiseErr PoisePCKSPGetKSP(PoisePC pc, PoiseKSP *ksp);

POISE_API PoiseContext PoiseKSPContext(PoiseKSP ksp);
/* What the solver's vectors, scalars and sums hold on this rank, without matrices and preconditioner; 0
   before it is set up. Not collective. */
POISE_API PoiseErr PoiseKSPBytes(PoiseKSP ksp, PoiseBytes *bytes);
/* The same before it is set up, as its type and options now are; A has been set, and counts are as of
   PoiseMatPredictBytes. Exact, but where the product of A leaves sums for row blocks and fragments, 8 bytes
   and for some methods 16 for each, that depend on its pattern. Nothing else is held meanwhile. Allocates
   nothing. Not collective. */
POISE_API PoiseErr PoiseKSPPredictBytes(PoiseKSP ksp, const PoiseMatCounts *counts, PoisePrediction *p);
/* Print method, tolerances, norm, how the loop runs, then the PC and the matrices. Option -ksp_view after a
   solve. */
POISE_API PoiseErr PoiseKSPView(PoiseKSP ksp);

#ifdef __cplusplus
}
#endif

#endif
