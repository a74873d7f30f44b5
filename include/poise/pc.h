/* SPDX-License-Identifier: BSD-3-Clause */
/* Preconditioners: z = M^-1 r, built from a matrix P. All functions are collective unless said otherwise. */
#ifndef POISE_PC_H
#define POISE_PC_H

#include "mat.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct PoisePC_s *PoisePC;

/* A preconditioner of type none. That of a solver is made by the solver: see PoiseKSPGetPC. */
POISE_API PoiseErr PoisePCCreate(PoiseContext ctx, PoisePC *pc);
/* Destroy it, and null the pointer. POISE_ERR_STATE if a solver lends it (PoiseKSPGetPC). */
POISE_API PoiseErr PoisePCDestroy(PoisePC *pc);
/*
  The preconditioner by name. Option: -pc_type.
    "none"        M = I
    "jacobi"      inverse diagonal
    "pbjacobi"    inverse diagonal blocks of the matrix's block size

  On the block that each rank owns (on several ranks: block Jacobi with one block per rank). For a matrix of
  blocks (type bcsr) these take blocks as their entries:
    "ilu", "icc"  incomplete LU and Cholesky factors, without fill or with levels of it (-pc_factor_levels).
                  icc reads the upper triangle of a symmetric pattern. If the whole diagonal of A is negative,
                  icc factors -A, and M is negative definite
    "sor"         sweeps of successive over-relaxation, by default one forward and one backward (SSOR)
    "eisenstat"   the same in both directions, by colours, for a solver that works between the two sweeps
                  (Eisenstat 1981): its products read A once, where with sor an iteration reads it twice. The
                  residual is then that of (D + L)^-1 A (D + U)^-1 y = (D + L)^-1 b; with symmetric A its norm
                  is the natural one. M is applied instead on several ranks, with a P other than A, a null
                  space, products with A^T, a norm that is asked for, monitors, tests, or eigenvalues, and
                  for methods of symmetric matrices where D is not positive; PoiseKSPView says so

  On the same block, by numbers, with set-up on one thread of the host:
    "ilut"        incomplete LU factors by thresholds (Saad 1994): what is small is dropped
                  (-pc_factor_drop_tol), and rows keep the largest entries (-pc_factor_fill); columns are
                  exchanged for larger pivots if -pc_factor_pivoting is not 0. A may lack diagonal entries
    "ict"         the same of U^T D^-1 U, for a symmetric A; else as icc

  For the whole matrix:
    "lu"          factors with partial pivoting: dense ones for small systems (-pc_lu_max_size), or sparse
                  ones by SuperLU on the first rank's host (-pc_factor_solver)
    "cholesky"    the same for a symmetric positive definite A, without row exchanges. If A is not symmetric
                  the set-up is POISE_ERR_UNSUPPORTED; if it is not definite, POISE_ERR_NUMERIC, naming a row
    "amg"         multigrid by smoothed aggregation (Vanek, Mandel, Brezina 1996), with P's near null space
                  (PoiseMatSetCoordinates, PoiseMatSetNearNullSpace), else constants, or of a P in bad scaling
                  or of hierarchic elements a vector that set-up finds. Aggregates are of a
                  rank's own rows; small levels are held and computed by every rank
                  (-pc_amg_redundant_size). M is symmetric positive definite where P is. It follows P's
                  values, and cannot be kept while these change: see -pc_amg_refresh
    "shell"       the user's own, see PoisePCSetShell
    "bjacobi"     a solver in each of any number of blocks, or small dense blocks. See ksp.h
    "ksp"         a solver on all ranks. See ksp.h
    "mg"          multigrid with the application's levels. See ksp.h
    "auto"        one of these, chosen in each set-up with new values, by what is seen of P in two products
                  and its diagonal: amg, icc, ilu, ilut, jacobi or none
*/
POISE_API PoiseErr PoisePCSetType(PoisePC pc, const char *type);
/* the name of the type, or of the one that "auto" has chosen; lent; not collective */
POISE_API const char *PoisePCType(PoisePC pc);
/* The matrix that the preconditioner is built from. A reference is taken. Setting the same matrix again,
   unchanged, has no effect; a shell always counts as changed. For a solver's preconditioner P becomes the
   solver's P, as of PoiseKSPSetOperators. POISE_ERR_STATE in the middle of a solve. */
POISE_API PoiseErr PoisePCSetOperator(PoisePC pc, PoiseMat P);
/* Prefix of the options: "-<prefix>pc_type". Copied. */
POISE_API PoiseErr PoisePCSetOptionsPrefix(PoisePC pc, const char *prefix);
/* Read the options of the preconditioner, and of the solvers inside. */
POISE_API PoiseErr PoisePCSetFromOptions(PoisePC pc);
/* Build M from P's present values; PoiseKSPSetUp calls it. It does nothing if P did not change, or if the
   solver that owns pc is to keep it (PoiseKSPSetReusePreconditioner). A zero or missing diagonal entry, a
   singular block, or a zero pivot is POISE_ERR_NUMERIC naming the row. For icc and ict a pattern that is
   not symmetric is POISE_ERR_UNSUPPORTED naming an entry. */
POISE_API PoiseErr PoisePCSetUp(PoisePC pc);
/* z = M^-1 r, with vectors of P's rows. If a solver has rearranged P (PoiseMatSetOrder,
   PoiseMatSetPartition), these are the rows of the P that was set. */
POISE_API PoiseErr PoisePCApply(PoisePC pc, PoiseVec r, PoiseVec z);

/*
  z = M^-1 r by a user's function. Makes pc one of type shell. Vectors have P's rows, and P is the one that
  was set, even if a solver works with a rearranged copy. Blocks of bjacobi then have no such rows, which is
  POISE_ERR_UNSUPPORTED, except for one block on one rank.

  setup is called when P is new or has changed, and M is to be built; it may be NULL. arg is borrowed. Each
  function is called on all ranks. It may itself call collective functions, solves too. An error on one rank
  ends the call or the solve on all ranks. The rank that fails must still take part in what is collective in
  the function.
*/
typedef struct PoiseShellPC {
  PoiseErr (*apply)(void *arg, PoiseVec r, PoiseVec z);
  PoiseErr (*setup)(void *arg, PoiseMat P);
} PoiseShellPC;
POISE_API PoiseErr PoisePCSetShell(PoisePC pc, const PoiseShellPC *functions, void *arg);
/* Bytes on this rank beside the matrix: factors, inverses, solvers inside, and a copy of the matrix that
   these work with. Not collective. */
POISE_API PoiseErr PoisePCBytes(PoisePC pc, PoiseBytes *bytes);
/*
  The same before set-up, for the type and options that it has. Its matrix must have been set, and need only
  have been created. counts are those of PoiseMatPredictBytes. Collective.

  The result is exact, except for these:
    ilu, icc, sor  the order of rows: up to 24 bytes for each row (of bcsr, each row of blocks) on each side.
                   On cuda 16 of them are certain
    ilu, icc       with levels of fill: what these add is counted in the entries that are assembled, which
                   takes as long as to find them in a set-up. With counts it is not known: see `beyond`
    ilut, ict      factors of no more than the diagonal, or of all entries that -pc_factor_fill allows
    bjacobi        on several ranks, or of several blocks: matrices of its own. Only the bytes of their values
                   are certain. The number of entries in the blocks is known if the matrix is assembled and
                   counts is NULL. Otherwise several blocks are assumed to divide the entries as they divide
                   rows: see `beyond`. Supervariables: from 8 bytes per row to that times the largest allowed
                   size, and 12 per block
    amg            what coarse levels hold, which depend on the values: see `beyond`
    mg             of more than one level: what its levels hold, see `beyond`
    ksp, bjacobi   that are kept, with an iterative solver inside: the copy of the matrix, on the host as far
                   as it is used there

  Set-up also holds up to 8 bytes per row on the host meanwhile; with levels of fill 8 bytes per row and
  thread, and the columns of the factors twice; ilut and ict 200 bytes per row, and the factors twice. The
  call makes the solvers inside (bjacobi, ksp, mg). It allocates nothing that grows with sizes, unless it must
  fetch the pattern to the host to count entries in blocks.

  Errors are those of PoiseMatPredictBytes, and all that a set-up would refuse in sizes and options. If the
  solver will first rearrange its matrices, `beyond` says so. If it has others to rearrange, the result is
  POISE_ERR_STATE until PoiseKSPSetUp.
*/
POISE_API PoiseErr PoisePCPredictBytes(PoisePC pc, const PoiseMatCounts *counts, PoisePrediction *p);
/* Of type amg, after set-up: *levels, and rows and entries of the first `room` of them, of all ranks
   together. Level 0 is the finest. POISE_ERR_STATE: another type; or there is no set-up, or it is others'
   (-gpus, -solve_ranks). */
POISE_API PoiseErr PoisePCAMGGetSizes(PoisePC pc, int room, PoiseInt *rows, PoiseInt *entries, int *levels);
/* Print type, settings and bytes, and the solvers inside. */
POISE_API PoiseErr PoisePCView(PoisePC pc);

#ifdef __cplusplus
}
#endif

#endif
