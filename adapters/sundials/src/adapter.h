/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Poise inside SUNDIALS: what the files of this adapter share.

    vectors.c  an N_Vector as a vector of Poise
    sparse.c   a SUNSparseMatrix as a matrix of Poise
    matrix.c   SUNMatrix_Poise
    solver.c   SUNLinearSolver_Poise
*/
#ifndef POISE_SUNDIALS_ADAPTER_H
#define POISE_SUNDIALS_ADAPTER_H

#include "poise_sundials.h"

#if !defined(SUNDIALS_DOUBLE_PRECISION)
#error "The numbers of this SUNDIALS are not doubles, which Poise needs."
#endif
#if SUNDIALS_VERSION_MAJOR != 6
#error "The adapter is written for SUNDIALS 6."
#endif

/* ---- vectors.c ------------------------------------------------------------------------------- */

/* POISE_OK if v is of a kind that fits the context, with its ranks. Not collective. */
PoiseErr CheckKind(PoiseContext ctx, N_Vector v);
/* The array of v as a vector of Poise with A's layout; n, N: local and global sizes. Collective. */
PoiseErr LendVector(PoiseContext ctx, N_Vector v, PoiseInt n, PoiseInt N, PoiseVec *lent);

/* ---- sparse.c -------------------------------------------------------------------------------- */

/* What Poise reads of a SUNSparseMatrix. Offsets and columns are copies in 32 bits, which Poise uses in
   place. So they are also what the pattern is compared with. */
typedef struct Sparse {
  PoiseMat A;
  PoiseInt n, nonzeros;
  int32_t *ptr, *col;
  int32_t *order;       /* NULL if rows are sorted. Else value k of Poise is order[k] of SUNDIALS */
  double *sorted;       /* these values; NULL if rows are sorted */
  const realtype *data; /* where SUNDIALS has the values */
} Sparse;
/* Make s follow M. *fresh: s->A is another matrix than before, and *old is what it was, to be dropped when
   nobody uses it any more. After a failure s is unchanged. */
PoiseErr FollowSparse(PoiseContext ctx, SUNMatrix M, Sparse *s, Sparse *old, int *fresh);
void DropSparse(Sparse *s);
/* "SUNSparseMatrix", "dense", ... */
const char *MatrixWords(SUNMatrix A);

#endif
