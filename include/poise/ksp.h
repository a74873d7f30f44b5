/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Krylov solvers of A x = b. All functions are collective unless said otherwise.

  Convergence is defined as in PETSc. r_k is the residual in the chosen norm. r_0 is the initial one, or the
  norm of b if a nonzero guess is given. A solve stops as converged if |r_k| <= max(rtol |r_0|, atol), and as
  diverged if |r_k| >= dtol |r_0|. Divergence and breakdown are reasons, not errors, unless
  PoiseKSPSetErrorIfNotConverged is set.
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
  X(CONVERGED_RTOL_NORMAL, 1)     \
  X(CONVERGED_ATOL_NORMAL, 9)     \
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

/* A solver of type gmres, without preconditioner. */
POISE_API PoiseErr PoiseKSPCreate(PoiseContext ctx, PoiseKSP *ksp);
/* Destroy it with its preconditioner, and null the pointer. POISE_ERR_STATE if a preconditioner lends it
   (PoisePCKSPGetKSP, PoisePCBJacobiGetSubKSP). */
POISE_API PoiseErr PoiseKSPDestroy(PoiseKSP *ksp);
/*
  The method by name:
    "cg"          A and M symmetric positive definite. For a diagonal M in one of two forms, see
                  -ksp_cg_variant
    "prcg"        "cg" in one pass over the vectors, for a diagonal M (Chen & Carson 2020). If a solve takes
                  more iterations than there are rows, it may take some per cent more of them
    "bcg"         as "cg", for several systems at once (PoiseKSPSolveBlock), which search one space: block
                  conjugate gradients (O'Leary 1980), as Dubrulle has them (2001). One system by itself is
                  solved by "cg"
    "bicgstab"    (also "bcgs") any A
    "bicgstabl"   (also "bcgsl") any A: BiCGstab(l) (Sleijpen & Fokkema 1993), l by -ksp_bcgsl_ell. Its
                  polynomials come every l iterations of two products
    "bicg"        any A whose transpose can be multiplied with: biconjugate gradients (Fletcher 1976). M needs
                  a transpose: "none", "jacobi", "pbjacobi", "ilu", "icc", "ict", "lu", and "sor" with sweeps
                  both ways
    "qmr"         A and M as for "bicg", whose steps it makes a smooth residual of: quasi-minimal residuals
                  (Freund & Nachtigal 1991), without look-ahead. From the left for the preconditioned norm,
                  from the right for the unpreconditioned one
    "cgs"         any A: conjugate gradients squared (Sonneveld 1989)
    "tfqmr"       any A: transpose-free quasi-minimal residuals (Freund 1993). Its norm is a bound of that of
                  the residual, sqrt(m + 1) tau after m half steps, two of which are an iteration
    "qmrcgs"      any A, preconditioned from the right: QMRCGSTAB (Chan et al. 1994). Its norm is that of the
                  r of "bicgstab", as in PETSc
    "idr"         any A: IDR(s), induced dimension reduction (Sonneveld & van Gijzen 2008), in its
                  biorthogonal form (2011). s: -ksp_idr_s; -ksp_idr_smoothing keeps its norm from growing
    "gmres"       any A
    "fgmres"      any A, preconditioned from the right. M may differ between applications (see below)
    "lgmres"      as "gmres", with corrections of earlier cycles in its space (Baker, Jessup & Manteuffel
                  2005). A cycle of -ksp_gmres_restart vectors has -ksp_lgmres_augment of them; it multiplies
                  with A once for each of the others
    "gcr"         as "fgmres": generalised conjugate residuals, with x and b - A x in each iteration. Cycles
                  are of -ksp_gcr_restart iterations
    "fcg"         A and M symmetric positive definite; M may differ between applications (Notay 2000).
                  Directions are made orthogonal to -ksp_fcg_mmax of those before at most
    "minres"      A symmetric, M symmetric positive definite. Its preconditioned norm is |M^-1 r_0| times the
                  decrease of the natural norm
    "symmlq"      A symmetric and not singular, M symmetric positive definite (Paige & Saunders 1975). Norms
                  as of "minres", at the x of conjugate gradients, which is the result
    "lsqr"        A of any shape, and of any rank: x minimises |b - A x| (Paige & Saunders 1982); see below
    "cgls"        the same by conjugate gradients for A^T A x = A^T b. Its norm is |A^T (b - A x)|
    "chebyshev"   A and M symmetric positive definite. Bounds of the spectrum of M^-1 A are given or estimated
    "richardson"  x += scale M^-1 (b - A x)
    "preonly"     x = M^-1 b: no norm, one iteration, CONVERGED_ITS. A nonzero guess is POISE_ERR_ARG
    "auto"        looks at A, and tries methods with preconditioners of their own until |b - A x| is at most
                  the larger one of rtol |b| and atol. A preconditioner that has been named is used, with
                  methods that suit A. Iterations are those of all that were tried, and
                  PoiseKSPReasonDetail names the one that solved

  lsqr and cgls multiply with A^T too. Their M approximates A^T A: give P = A^T A or the like, whose rows and
  columns are laid out as A's columns. Without a P the solver makes A^T A for it; for "jacobi" the squared
  norms of A's columns alone. lsqr ends as PETSc's: when |b - A x| is within the tolerances (CONVERGED_RTOL,
  CONVERGED_ATOL), or when |A^T (b - A x)|, in the norm of M^-1, is less than rtol |A| |b - A x|
  (CONVERGED_RTOL_NORMAL) or atol (CONVERGED_ATOL_NORMAL). |A| is estimated from below by the norm of
  Frobenius of what has been seen of it. A claim is checked with b - A x and its product with A^T.

  The default is gmres, as in PETSc. PETSc's words "bcgs" (bicgstab) and "none" (preonly) are understood.
  Option: -ksp_type.
*/
POISE_API PoiseErr PoiseKSPSetType(PoiseKSP ksp, const char *type);
/* the name of the method; lent; not collective */
POISE_API const char *PoiseKSPType(PoiseKSP ksp);
/* A is the operator. P is the matrix that the preconditioner is built from; NULL means A. References are
   taken. A matrix that is set again counts as changed only if it has changed. A shell always counts as
   changed, as the library cannot see what it does. If A asks for another arrangement
   (PoiseMatSetPartition, PoiseMatSetOrder), the solver and its PC work with copies of A and P, arranged
   alike. What they exchange with the application still has the application's rows, or is refused: see
   below, and PoisePCSetShell. */
POISE_API PoiseErr PoiseKSPSetOperators(PoiseKSP ksp, PoiseMat A, PoiseMat P);
/* the preconditioner of the solver; lent */
POISE_API PoiseErr PoiseKSPGetPC(PoiseKSP ksp, PoisePC *pc);
/* Set the relative, absolute and divergence tolerance, and the maximum of iterations. A negative argument
   leaves the present value. */
POISE_API PoiseErr PoiseKSPSetTolerances(PoiseKSP ksp, double rtol, double atol, double dtol,
                                         PoiseInt maxits);
/* The norm in which the solve is judged. A method that does not have it says so at set-up. Option:
   -ksp_norm_type. */
POISE_API PoiseErr PoiseKSPSetNormType(PoiseKSP ksp, PoiseNormType norm);
/* M^-1 A x = M^-1 b, or A M^-1 (M x) = b. A method that does not have the side says so at set-up. Option:
   -ksp_pc_side. */
POISE_API PoiseErr PoiseKSPSetPCSide(PoiseKSP ksp, PoisePCSide side);
/*
  Nonzero: the next solves keep what PoiseKSPComputeEigenvalues and PoiseKSPComputeExtremeSingularValues need,
  both of them for either wish. Default 0. Methods cg, gmres and fgmres can; cg then takes no form that
  predicts. Options: -ksp_view_eigenvalues and -ksp_view_singularvalues, which print after a solve.
*/
POISE_API PoiseErr PoiseKSPSetComputeEigenvalues(PoiseKSP ksp, int on);
POISE_API PoiseErr PoiseKSPSetComputeSingularValues(PoiseKSP ksp, int on);
/*
  Ritz values: the eigenvalues of the matrix that the latest solve has made of K, M^-1 A from the left or A
  M^-1 from the right. That is the matrix of Lanczos of cg (its first 10000 iterations), or the Hessenberg
  matrix of gmres' latest cycle. *count is how many there are; the first n of them go to the arrays real and
  imaginary, ascending by their real parts. After a claim that was refuted they are those of the iterations
  behind it. A monitor or convergence test gets those of the iterations so far, where it could call
  PoiseKSPBuildSolution. Not collective. POISE_ERR_UNSUPPORTED: the method makes none; POISE_ERR_STATE: they
  were not asked for.
*/
POISE_API PoiseErr PoiseKSPComputeEigenvalues(PoiseKSP ksp, PoiseInt n, double *real, double *imaginary,
                                              PoiseInt *count);
/*
  For Ritz vectors of gmres and fgmres: K V = (V, v) H for the n columns of the latest cycle, V and the one
  vector v being orthonormal. With H y = theta y in the first n rows, theta and V y are a Ritz pair. H has n +
  1 rows and is stored by columns; the first `room` of its n (n + 1) numbers go to h. Not collective. Errors
  as of PoiseKSPComputeEigenvalues. With a basis in fp32 POISE_ERR_UNSUPPORTED.
*/
POISE_API PoiseErr PoiseKSPGMRESHessenberg(PoiseKSP ksp, PoiseInt room, double *h, PoiseInt *n);
/* x = V y after a solve, for the first n vectors and numbers. POISE_ERR_UNSUPPORTED too where the solver has
   rearranged its matrix; POISE_ERR_STATE behind a restart, as there is no such basis. */
POISE_API PoiseErr PoiseKSPGMRESCombine(PoiseKSP ksp, PoiseInt n, const double *y, PoiseVec x);
/* The largest and the least singular value of the matrix of PoiseKSPComputeEigenvalues; of cg, as in PETSc,
   eigenvalues. -1 without an iteration. Not collective. */
POISE_API PoiseErr PoiseKSPComputeExtremeSingularValues(PoiseKSP ksp, double *largest, double *least);
/* Nonzero: x holds a guess on entry of PoiseKSPSolve. Default 0: the guess is zero. */
POISE_API PoiseErr PoiseKSPSetInitialGuessNonzero(PoiseKSP ksp, int nonzero);
/* Nonzero: a solve that did not converge returns POISE_ERR_NOT_CONVERGED. */
POISE_API PoiseErr PoiseKSPSetErrorIfNotConverged(PoiseKSP ksp, int on);
/*
  Nonzero (default): check a convergence that the method claims before it is reported, with b - A x. The check
  costs one product, one application of M from the left, and two passes over vectors. A norm above ten times
  the tolerance refutes the claim, and the method continues from x.

  A claim stands where no x could do better, which PoiseKSPReasonDetail says. The norm is then no more than
  that of rounding, which M^-1 enlarges where A is nearly singular. And |b - A x| is within ten times the
  relative tolerance of |b|, or it is rounding too, and at most 0.01 |b|. The size of rounding is that of
  eps (b + A x) with random signs. It costs three products and applications of M, once a claim would be
  refuted.

  The solve stops if the method claims falsely again, and has not halved the norm. The reason is then
  DIVERGED_BREAKDOWN, x is the better of the two iterates, and PoiseKSPReasonDetail has both norms. The reason
  is DIVERGED_INDEFINITE_PC if the norm comes from a product (r, z) that is only rounding.

  These are not checked:
  - norm none, and a user's convergence test;
  - a norm, other than that of (r, z), that the method has just computed from b - A x;
  - by default, solvers inside preconditioners (-sub_ksp_verify).

  Option: -ksp_verify. Event in -log_view: KSPVerify.
*/
POISE_API PoiseErr PoiseKSPSetVerify(PoiseKSP ksp, int on);
/* Nonzero: some solves that end as CONVERGED_RTOL in the preconditioned or natural norm return
   POISE_ERR_NOT_CONVERGED. They are those with |b - A x| above 0.01 |b| and above ten times the relative
   tolerance. Without this setting PoiseKSPReasonDetail only warns of them. Needs the check above
   (PoiseKSPSetVerify). Option: -ksp_error_if_inaccurate. */
POISE_API PoiseErr PoiseKSPSetErrorIfInaccurate(PoiseKSP ksp, int on);
/* Nonzero: who waits at a terminal sees where a solve is. After 2 seconds the first rank shows a line on
   standard error, if that is a terminal: iteration, residual, digits gained per second, and when the
   tolerance or the iteration limit will be reached at this pace. The line is rewritten, and erased in the
   end. Not while -ksp_monitor prints, nor of solvers inside preconditioners. Costs no copy and no wait. Not
   collective. Option: -ksp_progress. */
POISE_API PoiseErr PoiseKSPSetProgress(PoiseKSP ksp, int on);
/* Settings of one method. They have no effect on other methods, as in PETSc. */

/* For gmres, fgmres and lgmres: vectors of a cycle. Default 30. Option: -ksp_gmres_restart. */
POISE_API PoiseErr PoiseKSPGMRESSetRestart(PoiseKSP ksp, int restart);
/* For gmres and fgmres with a norm. At a restart, |b - A x| and the recurrence's norm may differ by at
   most `tolerance` times the norm at the start of the cycle. A larger difference is DIVERGED_BREAKDOWN,
   and PoiseKSPReasonDetail has both norms. Default 0.1. Option: -ksp_gmres_breakdown_tolerance. */
POISE_API PoiseErr PoiseKSPGMRESSetBreakdownTolerance(PoiseKSP ksp, double tolerance);
/* For lgmres: how many vectors of a cycle are corrections of earlier ones, of which as many latest are kept.
   All vectors of a cycle but one are the most. 0 makes it gmres. Default 2. Option: -ksp_lgmres_augment. */
POISE_API PoiseErr PoiseKSPLGMRESSetAugDim(PoiseKSP ksp, int augment);
/* For gcr: iterations of a cycle. Default 30. Option: -ksp_gcr_restart. */
POISE_API PoiseErr PoiseKSPGCRSetRestart(PoiseKSP ksp, int restart);
/* For fcg: the most directions that a new one is made orthogonal to. Default 30. Option: -ksp_fcg_mmax. */
POISE_API PoiseErr PoiseKSPFCGSetMmax(PoiseKSP ksp, int most);
/* For lsqr: nonzero, the next solves also estimate the variances of x, in one more vector. Default 0. */
POISE_API PoiseErr PoiseKSPLSQRSetComputeVariances(PoiseKSP ksp, int on);
/* v = the estimates of the latest solve: the diagonal of (A^T A)^-1, as far as the Krylov space has it (Paige
   & Saunders 1982). With M they are of the same matrix. They are too small, and grow with the iterations.
   Times |b - A x|^2 / (rows - columns) they are the squared standard errors of x. v has A's columns.
   POISE_ERR_UNSUPPORTED: another method; POISE_ERR_STATE: they were not asked for before the solve. */
POISE_API PoiseErr PoiseKSPLSQRVariances(PoiseKSP ksp, PoiseVec v);
/*
  What lsqr tests for least squares: *normal = |A^T (b - A x)|, and *size = |A|. Both are those that the
  iteration has: the former in the norm of M^-1, the latter of A M^-1/2, in the norm of Frobenius, in the
  space so far. After a solve, or in a monitor or convergence test that could call PoiseKSPBuildSolution. Not
  collective. Errors as of PoiseKSPLSQRVariances.
*/
POISE_API PoiseErr PoiseKSPLSQRNorms(PoiseKSP ksp, double *normal, double *size);
/* For richardson: the scale of its correction. Default 1. Option: -ksp_richardson_scale. */
POISE_API PoiseErr PoiseKSPRichardsonSetScale(PoiseKSP ksp, double scale);
/* Bounds of the eigenvalues of M^-1 A, emin < emax, both of one sign. They are then not estimated. */
POISE_API PoiseErr PoiseKSPChebyshevSetEigenvalues(PoiseKSP ksp, double emax, double emin);
/*
  Nonzero: the preconditioner, once built, stays as it is when its matrix changes or another one is set. It
  stays until this is switched off or the type of the PC changes. PoisePCApply between solves uses the same
  preconditioner. Type sor, which is the matrix itself, follows the matrix. Option: -ksp_reuse_preconditioner.

  An iterative solver inside the preconditioner reads the matrix (ksp; bjacobi with one block on one rank). So
  it works with a copy while this is on. The copy is taken when the preconditioner is built, or at once if it
  is built already; this may be POISE_ERR_MEMORY. If the values have changed before that, such a
  preconditioner is built once more, on any number of ranks.
*/
POISE_API PoiseErr PoiseKSPSetReusePreconditioner(PoiseKSP ksp, int on);
/* Prefix of the options: "-<prefix>ksp_type". Copied. The PC takes the same prefix. */
POISE_API PoiseErr PoiseKSPSetOptionsPrefix(PoiseKSP ksp, const char *prefix);
/*
  Read the options of the solver, of its PC, and of the solvers inside that. The later call wins: options
  override what was set before, and later setters override them.

  The call also reads the options of A and P behind their own prefixes (PoiseMatSetFromOptions). A and P may
  be set before or after this call. A matrix is left out if its options have been read already, or if the
  program has set its type.
*/
POISE_API PoiseErr PoiseKSPSetFromOptions(PoiseKSP ksp);

/* Allocate work vectors and build the preconditioner. PoiseKSPSolve does it when needed. */
POISE_API PoiseErr PoiseKSPSetUp(PoiseKSP ksp);
/* x = A^-1 b. b and x must be different vectors. Only the first solve allocates. */
POISE_API PoiseErr PoiseKSPSolve(PoiseKSP ksp, PoiseVec b, PoiseVec x);
/*
  x = A^-T b. b has A's columns, x A's rows. A method that needs a symmetric A solves as PoiseKSPSolve does.
  For others the solver makes one more of its settings, of the transposes of A and P. It keeps that one, and
  makes the transposes anew when A or P has changed. What describes the latest solve describes this one.
  Monitors and tests get that other solver. PoiseKSPBytes counts it with its matrix and preconditioner.
  POISE_ERR_UNSUPPORTED: preconditioners shell, mg, bjacobi and ksp; lsqr and cgls with a P.
*/
POISE_API PoiseErr PoiseKSPSolveTranspose(PoiseKSP ksp, PoiseVec b, PoiseVec x);

/*
  A X = B for vectors of several columns (PoiseVecCreateBlock). Methods whose iterations allow it solve all
  systems at once, and read A and the preconditioner once for all. Each system has its own norms and its own
  end; what has ended is left out when half have, but by gmres, fgmres and bcg, which keep all to the end.
  With "bcg" all systems search one space, which takes fewer iterations. Other methods solve one after the
  other, as do solvers with monitors or tests of the application's, with rearranged or divided matrices, and
  with null spaces. On the host the solution of a system has the bits of its own solve, but for bcg, products
  that are composed of columns, pbjacobi, and SuperLU, whose BLAS may round otherwise; on a GPU dots are added
  in another order. The functions below describe all together: the least reason, the most iterations, the
  largest norm; those of a system have its number, from 0. -ksp_monitor prints the largest norm. B and X are
  different vectors of A's sizes with as many columns. Collective.
*/
POISE_API PoiseErr PoiseKSPSolveBlock(PoiseKSP ksp, PoiseVec B, PoiseVec X);
/* Of system j of the latest such solve: as the functions without Column. Not collective. */
POISE_API PoiseKSPReason PoiseKSPColumnReason(PoiseKSP ksp, int j);
POISE_API PoiseInt PoiseKSPColumnIterations(PoiseKSP ksp, int j);
POISE_API double PoiseKSPColumnResidualNorm(PoiseKSP ksp, int j);
POISE_API PoiseErr PoiseKSPColumnHistory(PoiseKSP ksp, int j, PoiseInt *count, const double **norms);

/* These functions describe the latest solve. Not collective. */

/* why it ended: positive when converged, negative when not, 0 before the first one */
POISE_API PoiseKSPReason PoiseKSPConvergedReason(PoiseKSP ksp);
/* the word of a reason, as "CONVERGED_RTOL" */
POISE_API const char *PoiseKSPReasonString(PoiseKSPReason reason);
/* What is known beyond the reason, or "". After DIVERGED_NANORINF it names the first row of A, P or b at
   fault: "row 17 of A has an entry that is not finite". Or it says that the entries of A and b are finite. It
   also has what PoiseKSPInconsistency says, and after other failures why amg may not suit A, and what to try
   (that takes two products). -ksp_converged_reason, -ksp_view and the error of a solve that
   did not converge print it too. Lent until the next solve. Not collective. */
POISE_API const char *PoiseKSPReasonDetail(PoiseKSP ksp);
/* its iterations */
POISE_API PoiseInt PoiseKSPIterations(PoiseKSP ksp);
/* the last norm, as PoiseKSPNormUsed says which */
POISE_API double PoiseKSPResidualNorm(PoiseKSP ksp);
/* the norm in which it was judged; never DEFAULT after a set-up */
POISE_API PoiseNormType PoiseKSPNormUsed(PoiseKSP ksp);
/* the word of a norm, as "preconditioned" */
POISE_API const char *PoiseKSPNormString(PoiseNormType norm);
/* Norms of iterations 0, 1, ... count - 1 of the latest solve, if they are kept (PoiseKSPKeepHistory).
   Lent until the next solve. */
POISE_API PoiseErr PoiseKSPKeepHistory(PoiseKSP ksp, int on);
POISE_API PoiseErr PoiseKSPHistory(PoiseKSP ksp, PoiseInt *count, const double **norms);
/* |b - A x| in the 2-norm, computed by this call. */
POISE_API PoiseErr PoiseKSPTrueResidual(PoiseKSP ksp, PoiseVec b, PoiseVec x, double *norm);

/*
  For a matrix with a null space (PoiseMatSetNullSpace). As in PETSc, the part in the null space is removed
  from the solution, and after each application of a preconditioner from the left.

  A solution exists only if b has no part in the null space of A^T. This function returns the norm of that
  part over |b|, of the latest solve; 0 without a null space. Not collective.

  If PoiseMatSetTransposeNullSpace has given that space, the solve leaves the part out. Norms and residuals
  are then those of the b that remains. b itself never changes. Otherwise the space is taken to be that of A,
  as for a symmetric A, and the part stays in b. No iteration can then reduce the unpreconditioned norm below
  that part. If it is larger than rtol, -ksp_converged_reason, -ksp_view and the error of a solve that did not
  converge say so.
*/
POISE_API double PoiseKSPInconsistency(PoiseKSP ksp);

/* Called with the norm of each iteration, in order, possibly a few iterations late. At most 8 monitors. All
   ranks add as many, also where only one prints. */
typedef PoiseErr (*PoiseMonitor)(PoiseKSP ksp, PoiseInt iteration, double norm, void *arg);
POISE_API PoiseErr PoiseKSPAddMonitor(PoiseKSP ksp, PoiseMonitor monitor, void *arg);
/* Replaces the convergence test. Set *reason to stop. The function is called in step with the iteration,
   so the loop is not replayed as a graph. */
typedef PoiseErr (*PoiseConvergenceTest)(PoiseKSP ksp, PoiseInt iteration, double norm,
                                         PoiseKSPReason *reason, void *arg);
/* Monitors and tests, like functions of shells, may be collective, call the library, and solve with other
   solvers. Their own solver is in the middle of its work. Solve, SetUp and all else that would change it
   return POISE_ERR_STATE. */
POISE_API PoiseErr PoiseKSPSetConvergenceTest(PoiseKSP ksp, PoiseConvergenceTest test, void *arg);

/* x = the present iterate. May be called in a convergence test, or in a monitor if the loop is not replayed
   as a graph (PoiseKSPView says). Elsewhere POISE_ERR_STATE. The solution vector of the solve itself is
   written only at the end. */
POISE_API PoiseErr PoiseKSPBuildSolution(PoiseKSP ksp, PoiseVec x);

/*
  Solvers inside preconditioners. A result that has not converged is used as it is. They are set up with the
  preconditioner, and again when they have been changed.

  A method that stops when it has converged makes M vary between applications. Inside a preconditioner all
  methods vary, except preonly, and richardson and chebyshev with norm none and no user's test. These vary too
  if the preconditioner inside them does. Five methods accept an M that varies: fgmres, gcr and fcg; preonly,
  which applies it once; and richardson, which computes b - A x anew each time. With another method
  PoiseKSPSetUp and PoiseKSPSolve return POISE_ERR_UNSUPPORTED, naming what varies. A shell is not looked
  into: the user answers for it.

  If the outer solver has rearranged its matrix, the solvers inside have the rows of the copy. Their Solve and
  TrueResidual, and matrices set for them, are then POISE_ERR_UNSUPPORTED. So are BuildSolution, PoisePCApply
  and shells in blocks, except for one block on one rank.

  "bjacobi": one solver per block of rows. It belongs to a context of this rank alone. Its options have the
  prefix of the PC and "sub_". The default is one block per rank, with preonly and ilu. Setting the blocks
  drops the solvers. POISE_ERR_SIZE: more than one block on a rank, and more blocks than it has rows, or nodes
  of the matrix's block size.
*/
/* Number of blocks on all ranks together, at least one per rank, evenly divided. 0: one per rank. This
   function and the next replace each other's setting, and that of -pc_bjacobi_supervariables. Of options
   that are read together, only one of these may be given. Option: -pc_bjacobi_blocks. */
POISE_API PoiseErr PoisePCBJacobiSetTotalBlocks(PoisePC pc, PoiseInt blocks);
/* Number of blocks on this rank, and the rows of each (copied), whose sum is this rank's rows. lengths =
   NULL: nearly equal. If a solver rearranges its matrix, lengths are POISE_ERR_UNSUPPORTED at its set-up,
   as they would cut other rows. Option: -pc_bjacobi_local_blocks. */
POISE_API PoiseErr PoisePCBJacobiSetLocalBlocks(PoisePC pc, PoiseInt blocks, const PoiseInt *lengths);
/* This rank's solvers, their number, and the number on lower ranks. Each argument may be NULL. The matrix
   must be set. Lent until the blocks, the type, or the rows of the matrix change. */
POISE_API PoiseErr PoisePCBJacobiGetSubKSP(PoisePC pc, PoiseInt *count, PoiseInt *first, PoiseKSP **ksp);
/* "ksp": one solver on all ranks. Its options have the prefix of the PC and "ksp_". Default: gmres. Lent. */
POISE_API PoiseErr PoisePCKSPGetKSP(PoisePC pc, PoiseKSP *ksp);

/*
  "mg": multigrid with the application's own levels. Level 0 is the coarsest, and the finest has the matrix of
  the preconditioner. The application gives what leads from each level to the one beneath: an interpolation,
  or an injection. Rows of levels are laid out over the ranks as it likes. Matrices are shared, and may get
  new values or entries between solves; operators that are products then follow.

  Each level has a solver, its smoother, of prefix "mg_levels_<level>_". An option whose prefix leaves out the
  number and its underscore, "mg_levels_", is that of all levels but the coarsest; one with the number goes
  before it. The default is chebyshev of 2 steps without norm, with jacobi. The coarsest level has
  "mg_coarse_", and preonly with lu. Chebyshev and richardson with norm none, at most 100 steps, and no
  monitors are enqueued by themselves, so that a loop around them is replayed on GPUs; other methods but
  preonly call back to the host. With types multiplicative and additive M is symmetric if all operators and
  smoothers are, and R = P^T. A solve with vectors of several columns applies M to one after the other.

  One level alone, which is the default, is its coarse solver. More levels are POISE_ERR_UNSUPPORTED where a
  solver rearranges its matrix, and where others than the application's ranks solve (-gpus, -solve_ranks).
  Before their set-up they need not fit together; it returns POISE_ERR_SIZE for matrices that do not, and
  POISE_ERR_STATE if something is missing, naming the level. POISE_ERR_STATE: the type is not mg;
  POISE_ERR_ARG: there is no such level.
*/
typedef enum PoisePCMGType {
  POISE_PC_MG_MULTIPLICATIVE, /* a cycle, or several */
  POISE_PC_MG_ADDITIVE,       /* all levels smooth parts of the residual, and corrections add up */
  POISE_PC_MG_FULL,   /* solve on the coarsest level, go up, and make a cycle on each level; not symmetric */
  POISE_PC_MG_KASKADE /* the same with smoothing in place of cycles */
} PoisePCMGType;
typedef enum PoisePCMGCycleType { POISE_PC_MG_CYCLE_V, POISE_PC_MG_CYCLE_W } PoisePCMGCycleType;
/* The number of levels, 1 to 64. Another number drops all that was given to levels, with their solvers.
   Option: -pc_mg_levels. */
POISE_API PoiseErr PoisePCMGSetLevels(PoisePC pc, int levels);
/* the number of levels; not collective */
POISE_API PoiseErr PoisePCMGGetLevels(PoisePC pc, int *levels);
/* Option: -pc_mg_type. */
POISE_API PoiseErr PoisePCMGSetType(PoisePC pc, PoisePCMGType type);
/* A cycle of type W visits the next coarser level twice, but the coarsest. Option: -pc_mg_cycle_type. */
POISE_API PoiseErr PoisePCMGSetCycleType(PoisePC pc, PoisePCMGCycleType cycle);
/* Cycles of an application, of type multiplicative. Default 1. Option: -pc_mg_multiplicative_cycles. */
POISE_API PoiseErr PoisePCMGMultiplicativeSetCycles(PoisePC pc, PoiseInt cycles);
/* Nonzero, as is the default: operators of coarse levels that are not given are products R A P of the level
   above. 0: without one the set-up is POISE_ERR_STATE. Option: -pc_mg_galerkin. */
POISE_API PoiseErr PoisePCMGSetGalerkin(PoisePC pc, int on);
/* x_level += P x_(level - 1): P has the rows of the level, and as columns those of the one beneath. Levels
   from 1 to the finest. */
POISE_API PoiseErr PoisePCMGSetInterpolation(PoisePC pc, int level, PoiseMat P);
/* b_(level - 1) = R r_level. R has the rows of the level beneath, and as columns those of the level. NULL, as
   is the default: P^T. */
POISE_API PoiseErr PoisePCMGSetRestriction(PoisePC pc, int level, PoiseMat R);
/*
  In place of both: row k of this rank's rows of the level beneath is row rows[k] of its rows of this level,
  counted from 0 on each rank. The restriction picks these rows of the residual, of which no other is then
  computed. The prolongation adds there. Copied. Set-up is POISE_ERR_ARG for a row that is none of this
  rank's, or that stands twice; POISE_ERR_SIZE once the level has other rows, until this is called again.
  PCMGSetInjection of PETSc is for states of nonlinear solvers instead.
*/
POISE_API PoiseErr PoisePCMGSetInjection(PoisePC pc, int level, PoiseInt n, const PoiseInt *rows);
/* The operator of a level that is not the finest. It may be a shell, but then gives none to the level
   beneath. NULL, as is the default: see PoisePCMGSetGalerkin. */
POISE_API PoiseErr PoisePCMGSetOperator(PoisePC pc, int level, PoiseMat A);
/* The smoother of a level, before and behind the correction; of level 0 the coarse solver. Lent until the
   number of levels or the type changes. Its matrix is set by the preconditioner. */
POISE_API PoiseErr PoisePCMGGetSmoother(PoisePC pc, int level, PoiseKSP *ksp);
/* that of level 0 */
POISE_API PoiseErr PoisePCMGGetCoarseSolve(PoisePC pc, PoiseKSP *ksp);
/* Iterations of all smoothers but the coarse solver. Option: -mg_levels_ksp_max_it. */
POISE_API PoiseErr PoisePCMGSetNumberSmooth(PoisePC pc, PoiseInt steps);

/* the context that the solver was made in; not collective */
POISE_API PoiseContext PoiseKSPContext(PoiseKSP ksp);
/* Bytes of the solver's vectors, scalars and sums on this rank, without matrices and preconditioner; of all
   workers, if these solve (-gpus, -solve_ranks); with those that PoiseKSPSolveBlock has made. 0 before
   set-up. Not collective. */
POISE_API PoiseErr PoiseKSPBytes(PoiseKSP ksp, PoiseBytes *bytes);
/* The same before set-up, for the type and options that it has, without those of PoiseKSPSolveBlock. A must
   have been set. counts are as of PoiseMatPredictBytes. The result is exact unless the SpMV of A leaves
   partial sums for row blocks and row fragments. Their number depends on A's pattern. Each takes 8 bytes, or
   16 with some methods. Set-up holds nothing else in between. Allocates nothing. Not collective. */
POISE_API PoiseErr PoiseKSPPredictBytes(PoiseKSP ksp, const PoiseMatCounts *counts, PoisePrediction *p);
/* Print method, tolerances, norm, and how the loop runs, then the PC and the matrices. Option -ksp_view
   after a solve. */
POISE_API PoiseErr PoiseKSPView(PoiseKSP ksp);

#ifdef __cplusplus
}
#endif

#endif
