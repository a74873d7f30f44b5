/* SPDX-License-Identifier: BSD-3-Clause */
/* PC lu and cholesky, and what factors: dense factors of the library's own, or sparse ones of SuperLU or of
   the device's library. */
#ifndef POISE_LU_H
#define POISE_LU_H

#include "elimination.h"
#include "first_rank.h"
#include "lu_kernels.h"

enum { LU_AUTO, LU_DENSE, LU_SUPERLU, LU_CUDSS }; /* -pc_factor_solver */

typedef struct DenseLU {
  PoiseInt n;
  Layout *layout; /* the layout that the other members fit; NULL: nothing is allocated */
  Buffer factors, pivot, full, work, result;
  int room;   /* columns that there is room for in full and work */
  Halo *halo; /* the rows of all other ranks; NULL on one rank */
} DenseLU;

typedef struct SparseFactors SparseFactors;

/* Orders of columns: A's; for any row exchanges (COLAMD); for A + A^T, by degree (AMD or MMD) or dissection
   (METIS). */
typedef enum LUOrder { LU_AS_IT_IS, LU_BY_COLUMNS, LU_BY_DEGREE, LU_BY_DISSECTION } LUOrder;

typedef struct SparseFacts { /* of factors, on all ranks */
  Foreseen foreseen;         /* before they are made */
  LUOrder order;
  double entries, bytes; /* of L and U, without U's diagonal; of both */
} SparseFacts;

/* What has no pivot, by number; for cholesky: A is not symmetric, or has a pivot that is not positive. */
enum { SINGULAR_ROW = 1, SINGULAR_COLUMN, UNSYMMETRIC, INDEFINITE };

#define LU_ROUNDING 1e-10 /* entries that differ by more are not symmetric */

typedef struct Singular { /* what: 0: nothing */
  int what;
  int64_t index;
  double pivot; /* INDEFINITE: in the scaled matrix */
} Singular;

typedef struct SparseLU {
  FirstRank first;
  SparseFactors *factors; /* on the first rank */
  double *x;              /* all rows, on the first rank; of several columns twice: by rows, and by columns */
  SparseFacts facts;
} SparseLU;

typedef struct DeviceFacts { /* on all ranks */
  DirectFacts of;
  /* of r = b - A x, as the factors solve A x = b for b of 1 and -1: the largest |r_i|, and the largest
     |r_i| / (|b| + |A| |x|)_i */
  double residual, backward;
} DeviceFacts;

typedef struct DeviceLU {
  FirstRank first;
  /* on the first rank: A, by rows, with 32-bit numbers, times `scale`; of cholesky the upper triangle */
  Buffer ptr, col, val;
  double scale;
  Buffer x, y;      /* all rows, on the first rank */
  LibraryPlan plan; /* the same; device is NULL: there is none */
  DeviceFacts facts;
} DeviceLU;

typedef struct LU {
  int solver;
  PoiseInt max_size;
  double zero_pivot;
  const PCType *how; /* of what factors: the functions of PC lu. NULL: it is not chosen */
  DenseLU dense;
  SparseLU sparse;
  DeviceLU device;
} LU;

extern const PCType poiseLU_dense, poiseLU_sparse, poiseLU_device;
bool poiseLUIsDefinite(PoisePC pc); /* is it cholesky, which takes positive pivots from the diagonal alone? */
/* What row i of all is called; only the rank that owns it knows. Collective. */
PoiseErr poiseLURowName(PoisePC pc, int64_t i, int64_t *name);
PoiseErr poiseLURefuse(PoisePC pc, const Singular *s); /* the error, if s says something. Collective */
/* POISE_ERR_UNSUPPORTED if the device has no library for sparse factors. Local. */
PoiseErr poiseLUFindLibrary(PoisePC pc);

/* lu_symmetric.c: of A, n x n, by rows or columns, whose entries ascend */
typedef struct HostMatrix {
  int64_t n;
  const int *ptr, *index;
  const double *val;
} HostMatrix;
/* Is A symmetric to rounding, without zeros on its diagonal? */
PoiseErr poiseLUIsSymmetric(PoiseContext ctx, const HostMatrix *A, bool *symmetric);
/* What says that A is not symmetric positive definite, before it is factored: the first number of the
   diagonal that is not positive, else symmetric is false. what = 0: nothing. */
Singular poiseLUCheckDefinite(const HostMatrix *A, bool symmetric);

/* ---- SuperLU, on one rank -------------------------------------------------------------------- */

/* Is it in the library? */
bool poiseSuperLUIsThere(void);

/* Factor A, n x n, by columns: ptr (n + 1), row (ascending in a column), val. They are taken over, also on
   failure. *f may hold factors of another matrix, whose order is used again if the pattern is the same. An
   exactly singular A is no error, but there are no factors. how.definite: pivots are positive, and from the
   diagonal; what is not so is no error either. how.only: order the columns, which is kept, and foresee the
   factors. */
typedef struct FactorHow {
  bool definite, only;
} FactorHow;
PoiseErr poiseSuperLUFactor(PoiseContext ctx, int64_t n, int **ptr, int **row, double **val, FactorHow how,
                            SparseFactors **f, Singular *singular, SparseFacts *facts);
/* X = A^-1 X, of so many columns, which lie one after the other */
PoiseErr poiseSuperLUSolve(SparseFactors *f, int columns, double *x);
/* An estimate of the condition of the scaled A in the 1-norm, which takes some ten solves. */
double poiseSuperLUCondition(SparseFactors *f);
int64_t poiseSuperLUBytes(const SparseFactors *f); /* besides L and U; NULL: 0 */
void poiseSuperLUDestroy(PoiseContext ctx, SparseFactors **f);

#endif
