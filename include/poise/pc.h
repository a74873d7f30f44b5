/* SPDX-License-Identifier: BSD-3-Clause */
/* Preconditioners: z = M^-1 r, built from a matrix P. All functions are collective unless said otherwise. */
#ifndef POISE_PC_H
#define POISE_PC_H

#include "mat.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct PoisePC_s *PoisePC;

POISE_API PoiseErr PoisePCCreate(PoiseContext ctx, PoisePC *pc);
POISE_API PoiseErr PoisePCDestroy(PoisePC *pc);
/*
  "none", "jacobi" (inverse diagonal), "pbjacobi" (inverse diagonal blocks of the matrix's block size); and, each on the block
  that a rank owns (on several ranks this is block Jacobi with one block per rank):
  "ilu", "icc"  incomplete LU and Cholesky factors without fill (level 0); icc reads the upper triangle of a symmetric pattern
  "sor"         sweeps of successive over-relaxation, by default one forward and one backward (SSOR)
                of a matrix of blocks (type bcsr) these three take blocks where they take entries of others
and, for the whole matrix,
  "lu"          dense factors with partial pivoting, for small systems (-pc_lu_max_size)
  "shell"       the user's own, see PoisePCSetShell
  "bjacobi"     a solver in each of any number of blocks; or small dense blocks. See ksp.h
  "ksp"         a solver on all ranks, see ksp.h
  -pc_type
*/
POISE_API PoiseErr PoisePCSetType(PoisePC pc, const char *type);
POISE_API const char *PoisePCType(PoisePC pc); /* lent; not collective */
/* The matrix the preconditioner is built from. A reference is taken. */
POISE_API PoiseErr PoisePCSetOperator(PoisePC pc, PoiseMat P);
/* Prefix of the options: "-<prefix>pc_type". Copied. */
POISE_API PoiseErr PoisePCSetOptionsPrefix(PoisePC pc, const char *prefix);
POISE_API PoiseErr PoisePCSetFromOptions(PoisePC pc);
/* Build M from P's present values; called by PoiseKSPSetUp. Does nothing when P did not change. A zero or missing diagonal
   entry, a singular block, or a zero pivot, is POISE_ERR_NUMERIC naming the row. */
POISE_API PoiseErr PoisePCSetUp(PoisePC pc);
POISE_API PoiseErr PoisePCApply(PoisePC pc, PoiseVec r, PoiseVec z); /* z = M^-1 r */

/*
  z = M^-1 r by a user's function, with vectors of P's rows; setup, which may be NULL, is called when P is new or has changed
  and M is to be built. arg is borrowed. Each is called on all ranks, and may itself call collective functions, solves too; an
  error on one rank ends the call or the solve on all, but must not keep that rank from what is collective in the function.
  Makes pc one of type shell.
*/
typedef struct PoiseShellPC {
  PoiseErr (*apply)(void *arg, PoiseVec r, PoiseVec z);
  PoiseErr (*setup)(void *arg, PoiseMat P);
} PoiseShellPC;
POISE_API PoiseErr PoisePCSetShell(PoisePC pc, const PoiseShellPC *functions, void *arg);
/* What it holds on this rank beside its matrix: factors, inverses, solvers inside. Not collective. */
POISE_API PoiseErr PoisePCBytes(PoisePC pc, PoiseBytes *bytes);
/*
  The same before it is set up, as its type and options now are, with entries of P, which has been set and need only have been created, as of
  PoiseMatPredictBytes. Exact, but for
    ilu, icc, sor  the order of rows: 4 bytes per level, 8 per group of rows, both ways, of 128 rows to one; on cuda a group is a row
    bjacobi        on several ranks, or with more than one block, how many entries are in the blocks: exact where P is assembled (counts = NULL);
                   with supervariables, their sizes
  While it is set up more is held, on the host: by ilu, icc and sor 8 bytes per row, by bjacobi in blocks 8 per row, with supervariables 4; by
  all others nothing. Makes the solvers inside (bjacobi, ksp), but nothing that grows with sizes. Errors as of PoiseMatPredictBytes, and
  what would be wrong with size and type in a set-up. Collective.
*/
POISE_API PoiseErr PoisePCPredictBytes(PoisePC pc, const PoiseMatCounts *counts, PoisePrediction *p);
POISE_API PoiseErr PoisePCView(PoisePC pc);

#ifdef __cplusplus
}
#endif

#endif
