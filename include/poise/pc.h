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
  "none", "jacobi" (inverse diagonal), "pbjacobi" (inverse diagonal blocks of the matrix's block size); and,
  each on the block that a rank owns (on several ranks this is block Jacobi with one block per rank): "ilu",
  "icc"  incomplete LU and Cholesky factors without fill (level 0); icc reads the upper triangle of a
                symmetric pattern; where all of A's diagonal is negative, it factors -A, and M is negative
                definite
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
/* The matrix the preconditioner is built from. A reference is taken. One that is set again and has not
   changed is no news; a shell is. Of a solver's preconditioner it is the solver's P from then on, as of
   PoiseKSPSetOperators; in the middle of a solve POISE_ERR_STATE. */
POISE_API PoiseErr PoisePCSetOperator(PoisePC pc, PoiseMat P);
/* Prefix of the options: "-<prefix>pc_type". Copied. */
POISE_API PoiseErr PoisePCSetOptionsPrefix(PoisePC pc, const char *prefix);
POISE_API PoiseErr PoisePCSetFromOptions(PoisePC pc);
/* Build M from P's present values; called by PoiseKSPSetUp. Does nothing when P did not change, or when the
   solver that pc belongs to is to keep it (PoiseKSPSetReusePreconditioner). A zero or missing diagonal entry,
   a singular block, or a zero pivot, is POISE_ERR_NUMERIC naming the row. */
POISE_API PoiseErr PoisePCSetUp(PoisePC pc);
/* z = M^-1 r, of P's rows; where a solver has rearranged P (PoiseMatSetOrder, PoiseMatSetPartition), of those
   of the P that was set. */
POISE_API PoiseErr PoisePCApply(PoisePC pc, PoiseVec r, PoiseVec z);

/*
  z = M^-1 r by a user's function, with vectors of P's rows and with P as it was set, also where a solver
  works with a rearranged copy. In blocks of bjacobi, but one block on one rank, there are then no such
  rows: POISE_ERR_UNSUPPORTED. setup, which may be NULL, is called when P is new or has changed and M is to
  be built. arg is borrowed. Each is called on all ranks, and may itself call collective functions, solves
  too; an error on one rank ends the call or the solve on all, but must not keep that rank from what is
  collective in the function. Makes pc one of type shell.
*/
typedef struct PoiseShellPC {
  PoiseErr (*apply)(void *arg, PoiseVec r, PoiseVec z);
  PoiseErr (*setup)(void *arg, PoiseMat P);
} PoiseShellPC;
POISE_API PoiseErr PoisePCSetShell(PoisePC pc, const PoiseShellPC *functions, void *arg);
/* What it holds on this rank beside its matrix: factors, inverses, solvers inside, a copy of the matrix that
   they work with. Not collective. */
POISE_API PoiseErr PoisePCBytes(PoisePC pc, PoiseBytes *bytes);
/*
  The same before it is set up, as its type and options now are: its matrix has been set, and need only have
  been created; counts are those of PoiseMatPredictBytes. Exact, but for
    ilu, icc, sor  the order of rows, up to 24 bytes for each (of bcsr, for each row of blocks) on each side;
    on cuda 16 of them are sure
    bjacobi        on several ranks, or of several blocks, matrices of its own, of which only the values are
    sure; and how many entries are in the
                   blocks, unless the matrix is assembled and counts is NULL. Else several blocks are taken to
                   share them as they do rows: `beyond`. Of supervariables: their sizes, from 8 bytes per row
                   to 8 for each of the most rows that are allowed, and 12
    ksp, bjacobi   that are kept, with an iterative solver inside: the copy of the matrix, on the host as far
                   as it is used there
  While it is set up up to 8 bytes per row more are held on the host. Makes the solvers inside (bjacobi, ksp),
  but nothing that grows with sizes, unless it counts entries in blocks whose pattern must come to the host
  for it. Errors are those of PoiseMatPredictBytes, and what in sizes and options a set-up would refuse. Where
  the solver will first rearrange its matrices, `beyond` says so; where it has other ones to rearrange,
  POISE_ERR_STATE until PoiseKSPSetUp. Collective.
*/
POISE_API PoiseErr PoisePCPredictBytes(PoisePC pc, const PoiseMatCounts *counts, PoisePrediction *p);
POISE_API PoiseErr PoisePCView(PoisePC pc);

#ifdef __cplusplus
}
#endif

#endif
