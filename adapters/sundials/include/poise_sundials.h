/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Poise as a linear solver of SUNDIALS 6: for CVODE(S), ARKODE, KINSOL and IDA(S), with

    SUNSparseMatrix, CSR    in a context of one rank. Vectors are serial, OpenMP or Pthreads
    SUNMatrix_Poise         on any number of ranks. Vectors are parallel (MPI), or as above on one rank

  Functions that make an object return NULL after a failure, and PoiseErrorText() says why. So it does after a
  set-up or a solve that failed by an error of Poise. Destroy matrices and solvers before PoiseFinalize.
*/
#ifndef POISE_SUNDIALS_H
#define POISE_SUNDIALS_H

#include <poise.h>
#include <sundials/sundials_linearsolver.h>
#include <sundials/sundials_matrix.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
  A SUNMatrix over a square, assembled matrix of Poise. It takes A over: SUNMatDestroy destroys A. After a
  failure A is the caller's. Collective over A's context, as are clone, zero, copy, scaleadd, scaleaddi and
  matvec. In copy and scaleadd, entries that the target lacks join its pattern.

  A Jacobian function fills the A of SUNMatrix_Poise_Mat by any functions of mat.h, and ends with
  PoiseMatAssemble if these need it. SUNDIALS does not zero the matrix before: begin with SUNMatZero or
  SUNMatCopy, or set all entries.
*/
POISE_API SUNMatrix SUNMatrix_Poise(PoiseMat A, SUNContext sunctx);
/* Its matrix, lent. NULL for a SUNMatrix of another kind. */
POISE_API PoiseMat SUNMatrix_Poise_Mat(SUNMatrix A);

/*
  A solver of type SUNLINEARSOLVER_MATRIX_ITERATIVE for matrices like A and vectors like y. Collective over
  ctx, which must have the ranks of y's communicator, in its order. The method is gmres with ilu, if neither
  SUNLinearSolver_Poise_KSP nor an option (-ksp_type, -pc_type) says otherwise.

  SUNLinSolInitialize    reads the options, the first time
  SUNLinSolSetup         builds the preconditioner. Values of a SUNSparseMatrix are used where they are, if
                         the columns of each row ascend; else a sorted copy. Its pattern is compared with that
                         of the latest set-up. If it or the place of the values has changed, the matrix is
                         taken anew
  SUNLinSolSolve         ends as solved if |S1 (b - A x)|_2 <= tol for the scaling s1 (default: ones). This
                         norm is computed from x. As long as it is larger, the solver goes on with
                         A d = b - A x and x + d. s2 has no influence. -ksp_rtol and -ksp_atol are not used
  SUNLinSolNumIters      iterations of the latest solve
  SUNLinSolResNorm       |S1 (b - A x)|_2 at its end
  SUNLinSolResid         b - A x at its end
  SUNLinSolLastFlag      what the latest call returned:

    SUNLS_SUCCESS            solved
    SUNLS_RES_REDUCED        not solved, but the norm is smaller than at the start
    SUNLS_CONV_FAIL          not solved. These two and the next two are recoverable: a smaller time step or a
                             new Jacobian may help
    SUNLS_PACKAGE_FAIL_REC   a NaN or an infinite value in A, b, x or the scaling
    SUNLS_LUFACT_FAIL        the preconditioner cannot be built from these values (a zero pivot)
    SUNLS_ILL_INPUT          a matrix, a vector or an option that the solver cannot use
    SUNLS_MEM_FAIL           out of memory
    SUNLS_PACKAGE_FAIL_UNREC all other errors

  All ranks return the same flag.
*/
POISE_API SUNLinearSolver SUNLinearSolver_Poise(PoiseContext ctx, N_Vector y, SUNMatrix A, SUNContext sunctx);
/* Its solver, lent: set the method, the preconditioner, a prefix of options, monitors. Operators and
   tolerances are set by each set-up and solve. NULL for a solver of another kind. */
POISE_API PoiseKSP SUNLinearSolver_Poise_KSP(SUNLinearSolver S);

#ifdef __cplusplus
}
#endif

#endif
