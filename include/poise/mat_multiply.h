/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Products of sparse matrices. Factors have arrays of their own: scalars, or blocks of one size (type bcsr).
  Each product is collective. It is made where the matrices are. On several ranks, rows and entries that
  others need travel through the host: their pattern once, their numbers each time.

  *C = NULL makes C: of type bcsr from factors of type bcsr, else as PoiseMatCreateCSR makes it. Its rows are
  laid out as A's rows (P's columns), its columns as B's (P's). Its pattern is that of the factors' patterns.
  Entries that cancel are stored. The caller destroys C.

  Otherwise *C, which is none of the factors, is a matrix whose pattern is that of the product. It takes
  numbers only, and keeps its arrays. If *C was made by the same call, and no pattern has changed since,
  nothing is compared. Otherwise the product is made anew, compared, and its numbers are copied. Another
  pattern is POISE_ERR_ARG naming the first row of a rank that differs; C is then as it was.

  The products of an entry of C are added in the order of the entries of A's row (of P's column), beginning
  with 0, without fused multiply-adds. So C has the same bits on every device, for any number of threads. A B
  has them for any number of ranks too. In P^T A P each rank adds its own rows of P. Partial sums of an entry
  are then added, the owner's first, the others in the order of ranks.

  Errors:
    POISE_ERR_SIZE         the inner sizes or layouts differ, with both
    POISE_ERR_UNSUPPORTED  a factor is of type shell, pcsc or pcoo, or blocks of the factors differ, with
                           both; a rank's part of C has more columns than fit in 32 bits, or
                           a row may have more than 2^30
    POISE_ERR_ARG          *C is a factor, is laid out otherwise, or has another pattern
    POISE_ERR_STATE        a factor is not assembled
*/
#ifndef POISE_MAT_MULTIPLY_H
#define POISE_MAT_MULTIPLY_H

#include "mat.h"

#ifdef __cplusplus
extern "C" {
#endif

/* C = A B. The rows of B must be laid out as the columns of A. */
POISE_API PoiseErr PoiseMatMatMult(PoiseMat A, PoiseMat B, PoiseMat *C);
/* C = P^T (A P), the Galerkin product. A is square, and P's rows are laid out as A's. C keeps the pattern of
   A P, on the host its numbers too, and P by columns (4 bytes per entry of P twice); PoiseMatBytes counts
   them. */
POISE_API PoiseErr PoiseMatPtAP(PoiseMat A, PoiseMat P, PoiseMat *C);

#ifdef __cplusplus
}
#endif

#endif
