/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Sparse matrices A of M x N, distributed by contiguous ranges of rows. On each rank: m local rows; x of y = A
  x has n local entries of N. The assembled matrix is one plain CSR per rank whatever its type. All functions
  are collective unless said otherwise.
*/
#ifndef POISE_MAT_H
#define POISE_MAT_H

#include "vec.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct PoiseMat_s *PoiseMat;

/* The user's CSR arrays of m local rows: row i holds entries [ptr[i], ptr[i+1]) - base of col and val.
   Columns are global and need not be sorted for products; a column twice in a row is POISE_ERR_ARG naming the
   row. Give ptr and col each in one width, the other NULL. */
typedef struct PoiseCSR {
  const int32_t *ptr32, *col32;
  const int64_t *ptr64, *col64;
  const double *val;
  int base; /* 0 or 1 */
} PoiseCSR;

/*
  A from CSR arrays (host memory). m, n: local sizes or POISE_DECIDE (then PoiseSplit's); M, N: global or
  POISE_DECIDE. POISE_ADOPT/BORROW use the arrays in place: always the values; offsets and columns when they
  are 0-based, columns int32, sorted in each row, and either adopted (on several ranks their columns then
  become numbers of the library's own) or on one rank. Otherwise offsets and columns are converted once into
  arrays of the library's own (PoiseMatView says so). After a failure the arrays are the caller's and as they
  were. Rows whose columns are not sorted are sorted once, columns and values, in arrays of the library's own:
  POISE_BORROW of such arrays is POISE_ERR_ARG naming the first row.
*/
POISE_API PoiseErr PoiseMatCreateCSR(PoiseContext ctx, PoiseInt m, PoiseInt n, PoiseInt M, PoiseInt N,
                                     const PoiseCSR *csr, PoiseOwn own, PoiseMat *A);
/*
  The same from arrays in the device's memory (the csr itself is on the host), of rows whose columns are
  sorted. On one rank 0-based arrays with int32 columns that are adopted (freed with cudaFree) or borrowed are
  used in place; else the values are, and offsets and columns are converted. On one rank 0-based arrays with
  int32 columns are checked where they are; others travel to the host once, to be checked and converted. A
  borrowed array of values is current when a call that changes them returns; entries that are added or set one
  by one or as blocks change on the host, and are there after PoiseMatAssemble. A pointer to something else is
  POISE_ERR_ARG naming it. On the host device: PoiseMatCreateCSR.
*/
POISE_API PoiseErr PoiseMatCreateDeviceCSR(PoiseContext ctx, PoiseInt m, PoiseInt n, PoiseInt M, PoiseInt N,
                                           const PoiseCSR *csr, PoiseOwn own, PoiseMat *A);
/* The user's BCSR arrays: m / b rows of blocks; row i holds blocks [ptr[i], ptr[i+1]) - base of col, and val
   has b * b numbers of each, column-major, or row by row with row_major = 1. Columns are global and count
   blocks; widths, sorting and duplicates as above. */
typedef struct PoiseBCSR {
  const int32_t *ptr32, *col32;
  const int64_t *ptr64, *col64;
  const double *val;
  int base; /* 0 or 1 */
  int row_major;
} PoiseBCSR;

/*
  A of type bcsr from blocks of b x b numbers, b from 1 to 32, the same on all ranks. m, n, M, N count
  numbers, of whole blocks each, or are POISE_DECIDE. Ownership as of PoiseMatCreateCSR; row-major blocks can
  only be copied (POISE_ERR_ARG). Blocks are never taken apart: 8 + 4 / b^2 bytes per number, where CSR has
  12. All of a matrix's functions take them; rows that are lent or copied out have all numbers of their
  blocks, zeros too. So do all preconditioners.
*/
POISE_API PoiseErr PoiseMatCreateBCSR(PoiseContext ctx, int b, PoiseInt m, PoiseInt n, PoiseInt M, PoiseInt N,
                                      const PoiseBCSR *bcsr, PoiseOwn own, PoiseMat *A);
/* The same from arrays in the device's memory, used and checked as by PoiseMatCreateDeviceCSR. On the host
   device: PoiseMatCreateBCSR. */
POISE_API PoiseErr PoiseMatCreateDeviceBCSR(PoiseContext ctx, int b, PoiseInt m, PoiseInt n, PoiseInt M,
                                            PoiseInt N, const PoiseBCSR *bcsr, PoiseOwn own, PoiseMat *A);
/* An empty A to be filled by PoiseMatAddBlock and its kin, or PoiseMatSetPatternCOO. Sizes as above. */
POISE_API PoiseErr PoiseMatCreate(PoiseContext ctx, PoiseInt m, PoiseInt n, PoiseInt M, PoiseInt N,
                                  PoiseMat *A);
/*
  Add to entries, or set them: a dense nr x nc row-major block v at global rows and cols (a row is a block
  with nr = 1), or n single entries. Rows of any rank, in any order, nothing need be said before; negative
  indices are ignored. Entries in the assembled pattern change in place; others of this rank's rows and those
  of other ranks' rows join it at PoiseMatAssemble. Entries added several times are summed in a fixed order,
  so that results repeat; of values that several ranks set, one remains, the same in every run. Not
  collective. Mixing Set and Add before an Assemble is POISE_ERR_STATE; an index out of range is POISE_ERR_ARG
  naming it, and nothing of that call is taken. What such a call returns is kept: the next Assemble fails with
  it on all ranks, so that ranks need not agree before they meet there; the one after it goes on without what
  that call was to give.
*/
POISE_API PoiseErr PoiseMatAddBlock(PoiseMat A, int nr, const PoiseInt *rows, int nc, const PoiseInt *cols,
                                    const double *v);
POISE_API PoiseErr PoiseMatSetBlock(PoiseMat A, int nr, const PoiseInt *rows, int nc, const PoiseInt *cols,
                                    const double *v);
POISE_API PoiseErr PoiseMatAddEntries(PoiseMat A, PoiseInt n, const PoiseInt *rows, const PoiseInt *cols,
                                      const double *v);
POISE_API PoiseErr PoiseMatSetEntries(PoiseMat A, PoiseInt n, const PoiseInt *rows, const PoiseInt *cols,
                                      const double *v);
/* This rank's own numbers 0 .. nr - 1 stand for these global rows, 0 .. nc - 1 for these columns (of any
   rank; negative: ignored). Copied. */
POISE_API PoiseErr PoiseMatSetLocalToGlobal(PoiseMat A, PoiseInt nr, const PoiseInt *rows, PoiseInt nc,
                                            const PoiseInt *cols);
/* The same with rows and columns numbered by the map. Not collective. */
POISE_API PoiseErr PoiseMatAddBlockLocal(PoiseMat A, int nr, const PoiseInt *rows, int nc,
                                         const PoiseInt *cols, const double *v);
POISE_API PoiseErr PoiseMatSetBlockLocal(PoiseMat A, int nr, const PoiseInt *rows, int nc,
                                         const PoiseInt *cols, const double *v);
/* Exchange what was added or set, and make it part of A. Must be called before A is used. One that ran out of
   memory may be repeated and loses nothing. POISE_ERR_STATE when one rank added and another set, whose
   pending entries are dropped. */
POISE_API PoiseErr PoiseMatAssemble(PoiseMat A);
/* Set all values to 0; the pattern stays. What was added or set and not yet assembled is dropped. */
POISE_API PoiseErr PoiseMatZeroEntries(PoiseMat A);
/* All values of this rank's rows anew, on the pattern that A has: row by row, columns ascending, as in the
   user's CSR arrays if their rows are sorted. Copied; or val is the array that A borrowed, on the host or on
   the device, which has been written to: A does not see that before. */
POISE_API PoiseErr PoiseMatSetValuesCSR(PoiseMat A, const double *val);
/* The same of type bcsr: all numbers of its blocks, block row by block row, block columns ascending;
   row_major: of those in val, which are then no borrowed array. Each of the two is POISE_ERR_ARG for a matrix
   of the other kind. */
POISE_API PoiseErr PoiseMatSetValuesBCSR(PoiseMat A, int row_major, const double *val);

/*
  Triplets: the pattern once, then values as often as wanted. n entries at global rows and cols, of any rank
  and in any order, each as often as wanted; one with a negative index is ignored. A's pattern becomes exactly
  these entries, with zeros; what A held is dropped. The arrays are not needed afterwards. Takes longer than
  SetValuesCOO, which only follows the plan made here.
*/
POISE_API PoiseErr PoiseMatSetPatternCOO(PoiseMat A, PoiseInt n, const PoiseInt *rows, const PoiseInt *cols);
/* An entry becomes the sum of the n values v[k] that belong to it, in a fixed order (this rank's first, then
   those of other ranks in their order); or that sum is added to it. One pass, and no search; values for other
   ranks' rows travel. POISE_ERR_STATE when the pattern has changed since. No PoiseMatAssemble is needed. */
POISE_API PoiseErr PoiseMatSetValuesCOO(PoiseMat A, const double *v);
POISE_API PoiseErr PoiseMatAddValuesCOO(PoiseMat A, const double *v);
/*
  The same with all arrays in the device's memory, which may be given so for the pattern, for values, or both.
  On one rank nothing travels; setting up takes 24 bytes of device memory per triplet (32 beyond 2^32) beside
  the arrays, which may be released afterwards. On several ranks indices, and those values that go to other
  ranks, travel through the host. Values are read in the order of PoiseStream; the call may return before. A
  pointer to something else is POISE_ERR_ARG naming it, as is, with its place, an index that is too large. On
  the host device: the functions above.
*/
POISE_API PoiseErr PoiseMatSetPatternDeviceCOO(PoiseMat A, PoiseInt n, const PoiseInt *rows,
                                               const PoiseInt *cols);
POISE_API PoiseErr PoiseMatSetValuesDeviceCOO(PoiseMat A, const double *v);
POISE_API PoiseErr PoiseMatAddValuesDeviceCOO(PoiseMat A, const double *v);
/*
  The same by dense blocks: n blocks of b x b numbers, b being A's block size (PoiseMatSetBlockSize, before),
  at global rows and columns that count blocks. Arrays on the host, or in the device's memory. The functions
  above then take n * b * b values: block after block in the order given here, each column-major. In a matrix
  of type bcsr a block's place is kept once and not for each number; of another type a block stands for its b
  * b entries. To a bcsr matrix single entries may be given too (PoiseMatSetPatternCOO): they go to their
  places in blocks, the other numbers of which are zeros. In these two cases indices that are on the device
  travel once through the host. Type or block size are not changed between pattern and values.
*/
POISE_API PoiseErr PoiseMatSetBlockPatternCOO(PoiseMat A, PoiseInt n, const PoiseInt *rows,
                                              const PoiseInt *cols);
POISE_API PoiseErr PoiseMatSetBlockPatternDeviceCOO(PoiseMat A, PoiseInt n, const PoiseInt *rows,
                                                    const PoiseInt *cols);

/* y = A x, or A^T x, by a user's function. arg is borrowed. Each is called on every rank with vectors of A's
   layout; it may itself call collective functions, products of other shells among them; a failure of its own
   it must then agree upon (PoiseAgree) before it leaves the others alone with them. mult_transpose and
   diagonal may be NULL. */
typedef struct PoiseShell {
  PoiseErr (*mult)(void *arg, PoiseVec x, PoiseVec y);
  PoiseErr (*mult_transpose)(void *arg, PoiseVec x, PoiseVec y);
  PoiseErr (*diagonal)(void *arg, PoiseVec d);
} PoiseShell;
POISE_API PoiseErr PoiseMatCreateShell(PoiseContext ctx, PoiseInt m, PoiseInt n, PoiseInt M, PoiseInt N,
                                       const PoiseShell *functions, void *arg, PoiseMat *A);
POISE_API PoiseErr PoiseMatDestroy(PoiseMat *A);

/*
  Type by name; of these the matrix stays the same CSR, and only its products change:
    csr   rows are shared out
    csri  rows and entries are shared out, and long rows cut: for rows of very different lengths
    seg   rows in segments of one length, after segSpMV
    auto  (default) that of these which is predicted to be fastest for A's pattern on its device, the same on
    all ranks and for any number
          of threads; chosen when the pattern or an option is new, at the latest by the first product. With
          -mat_auto_measure each is timed instead (up to some 80 products; seg is chosen so alone), and
          another than the predicted one is taken if it is 2 % faster. The context remembers the winners of
          the latest 256 patterns; -mat_auto_file keeps them from run to run, on rank 0, one line for each
          pattern, device and set of options, of all programs that write to it: POISE_ERR_FORMAT names a line
          that is none. A winner in the file is taken also where nothing is measured. What works decides the
          last bits of results, so these repeat as measurements do. The view says what was chosen, and why. A
          library that -mat_csr_kernel names has csr chosen, unless types are timed. Said by name, auto may do
          more: a matrix with a block size above 1 becomes bcsr where its entries came by blocks of triplets,
          or by PoiseMatAddBlock and its kin or from a file and blocks take fewer bytes, each counted as 1.1;
          one of CSR arrays or of single triplets stays CSR, and one of blocks bcsr.
  And, as one that holds its entries otherwise:
    bcsr  dense blocks of A's block size (PoiseMatSetBlockSize), the missing numbers of each as zeros: A is
    converted into arrays of the
          library's own, and the CSR released, at once or in the first PoiseMatAssemble; another type does it
          the other way round. Entries of blocks that are there change in place; for others Assemble makes a
          CSR of all, and blocks of that. A conversion drops the plan of triplets: give the type before them.
          See PoiseMatCreateBCSR
  PETSc's names are understood, also with seq or mpi before them: aij, aijcusparse and aijkokkos are auto,
  baij is bcsr. Collective. Options: -mat_type, and those of the types, which auto reads too and copies
  inherit.
*/
POISE_API PoiseErr PoiseMatSetType(PoiseMat A, const char *type);
POISE_API const char *PoiseMatType(PoiseMat A); /* lent; not collective */
/*
  What multiplies by an A of type csr: "own", the device's own kernels, or by name a library that the device
  has: on cuda "cusparse", and "cusparse_alg2", whose results have the same bits in every run (A^T x stays
  with the own ones). A library's product takes memory of its own, one vector more, inside a solver one pass
  over y more, and on several ranks a copy of x. POISE_ERR_UNSUPPORTED: the device has none of this name; or,
  when it is first used, cuSPARSE is not installed, or A has 64-bit offsets, which it does not take. While A
  is of another type this has no effect. Options: -mat_csr_kernel.
*/
POISE_API PoiseErr PoiseMatSetCSRKernel(PoiseMat A, const char *name);
POISE_API const char *PoiseMatCSRKernel(PoiseMat A); /* lent; not collective */
/* Prefix of A's options: "-<prefix>mat_type". Copied. */
POISE_API PoiseErr PoiseMatSetOptionsPrefix(PoiseMat A, const char *prefix);
/* Take -mat_type, -mat_block_size, -mat_partition, ... A solver that takes its options does this for its
   matrices, but not for those whose type the program has set. */
POISE_API PoiseErr PoiseMatSetFromOptions(PoiseMat A);
/* Unknowns per node: local sizes must be multiples of it (1 to 32). 0: to be found when A becomes bcsr, as
   PoiseMatFindBlockSize does; where no blocks take fewer bytes than CSR, the size is 1 and A stays of the
   type that it had, or csr. Blocks that are there keep their size. */
POISE_API PoiseErr PoiseMatSetBlockSize(PoiseMat A, int b);
POISE_API int PoiseMatBlockSize(PoiseMat A); /* not collective */

typedef struct PoiseBlockFill { /* A stored by blocks of b x b, over all ranks; b = 1: as CSR */
  int b;
  PoiseInt blocks; /* -1: b does not divide the local sizes of some rank, and the rest is 0 */
  double fill;     /* numbers in these blocks per nonzero of A */
  double bytes;    /* of offsets, columns and values */
} PoiseBlockFill;
enum { POISE_BLOCK_FILLS = 8 };
/* table[b - 1] for b = 1 to 8, and *b = the one of the fewest bytes, the smaller of two. A is as it was, of a
   type with plain CSR; its zeros count as entries. Runs on the host, some 10 ns per nonzero for each size. */
POISE_API PoiseErr PoiseMatFindBlockSize(PoiseMat A, PoiseBlockFill table[POISE_BLOCK_FILLS], int *b);

/*
  Which rank works on which rows, and in what order, while a PoiseKSP solves with a square A. The application
  sees nothing of it: A and its vectors keep layout and numbering, the solver works on a rearranged copy and
  moves b and x once each. The copy takes A's memory again, and 4 bytes per nonzero (24 more for one that
  changes its rank) and 40 per row, so that A's later values are taken over in one pass; a new pattern is
  arranged anew. Zeros may lose their sign. Nothing is copied where A is so already. The rows of a node (block
  size) stay together; of bcsr a block takes these bytes, and not each of its numbers. Partition,
  -mat_partition:
    ROWS      as the application laid them out (default)
    NONZEROS  contiguous cuts of the rows, each rank within one node's nonzeros of an equal share of them
    BYTES     the same with the bytes that a product moves, 12 per nonzero and 20 per row; of bcsr 8 per
    number and 4 per block
    GRAPH     parts of the pattern's graph, about equal in bytes, with few entries between them, by METIS;
    rank 0 makes them and holds
              16 bytes per nonzero of all meanwhile (and what METIS takes). POISE_ERR_UNSUPPORTED in a library
              without METIS
  Order of the rows on a rank, -mat_order:
    NATURAL   as they were (default)
    RCM       reverse Cuthill-McKee on the block of columns that the rank owns
*/
typedef enum PoisePartition {
  POISE_PARTITION_ROWS,
  POISE_PARTITION_NONZEROS,
  POISE_PARTITION_BYTES,
  POISE_PARTITION_GRAPH
} PoisePartition;
typedef enum PoiseOrder { POISE_ORDER_NATURAL, POISE_ORDER_RCM } PoiseOrder;
POISE_API PoiseErr PoiseMatSetPartition(PoiseMat A, PoisePartition partition);
POISE_API PoiseErr PoiseMatSetOrder(PoiseMat A, PoiseOrder order);
/* B = P A P^T, arranged as A asks, for products and files: a matrix of its own, of A's type, block size and
   null space, which does not follow A's later changes. P (may be NULL) is a permutation matrix: P x moves x
   into B's layout, P^T x back into A's, and the one column of its row i (PoiseMatGetRow) is the number that
   B's row i has in A. */
POISE_API PoiseErr PoiseMatRearrange(PoiseMat A, PoiseMat *B, PoiseMat *P);

POISE_API PoiseErr PoiseMatMult(PoiseMat A, PoiseVec x, PoiseVec y); /* y = A x */
/* y = a A x + b y */
POISE_API PoiseErr PoiseMatMultAdd(PoiseMat A, double a, PoiseVec x, double b, PoiseVec y);
POISE_API PoiseErr PoiseMatMultTranspose(PoiseMat A, PoiseVec x, PoiseVec y); /* y = A^T x */
/* y = A x and *dot = (u, y) in one pass over A where the type can. */
POISE_API PoiseErr PoiseMatMultDot(PoiseMat A, PoiseVec x, PoiseVec y, PoiseVec u, double *dot);
/* r = b - A x */
POISE_API PoiseErr PoiseMatResidual(PoiseMat A, PoiseVec b, PoiseVec x, PoiseVec r);
/* d_i = A_ii, 0 where the entry is not stored. A square with equal row and column layout. */
POISE_API PoiseErr PoiseMatGetDiagonal(PoiseMat A, PoiseVec d);

/*
  Prescribed unknowns: the rows (of any rank, given by any rank, negative: ignored) become zero but for the
  diagonal, which becomes `diagonal`; ZeroRowsColumns zeroes the columns too, of a square matrix, so that
  symmetry stays. With x and b (both or neither) b_i = diagonal x_i in these rows, and with columns the known
  terms A_ij x_j of the other rows leave b: A x = b then gives these unknowns the values they have in x. The
  pattern stays: a row without a diagonal entry is POISE_ERR_ARG unless the diagonal is 0.
*/
POISE_API PoiseErr PoiseMatZeroRows(PoiseMat A, PoiseInt n, const PoiseInt *rows, double diagonal, PoiseVec x,
                                    PoiseVec b);
POISE_API PoiseErr PoiseMatZeroRowsColumns(PoiseMat A, PoiseInt n, const PoiseInt *rows, double diagonal,
                                           PoiseVec x, PoiseVec b);

POISE_API PoiseErr PoiseMatScale(PoiseMat A, double a); /* A = a A */
/* A = diag(l) A diag(r); l, r: of y's and x's layout in y = A x, or NULL for ones. */
POISE_API PoiseErr PoiseMatDiagonalScale(PoiseMat A, PoiseVec l, PoiseVec r);
/* A_ii += a, A_ii += d_i, A_ii = d_i of a square matrix; an entry that is not stored joins the pattern. */
POISE_API PoiseErr PoiseMatShift(PoiseMat A, double a);
POISE_API PoiseErr PoiseMatAddDiagonal(PoiseMat A, PoiseVec d);
POISE_API PoiseErr PoiseMatSetDiagonal(PoiseMat A, PoiseVec d);
/* Y += a X; a = 0 adds nothing, of NaN either. Entries of X that Y lacks join its pattern, which else stays.
   X may be Y. Of matrices with the same pattern on all ranks, which is found out, the values are added where
   they are, on the device; others are added on the host. Of two whose blocks differ in size, or of which one
   has none, a copy of X becomes as Y. */
POISE_API PoiseErr PoiseMatAXPY(PoiseMat Y, double a, PoiseMat X);
/* POISE_NORM_1 (largest sum of a column), POISE_NORM_INF (of a row) or POISE_NORM_FROBENIUS. */
POISE_API PoiseErr PoiseMatNorm(PoiseMat A, PoiseNorm type, double *norm);

/* One of this rank's rows, by its global number: n entries, global columns ascending; lent until the next
   call on A. cols, v may be NULL. Not collective. */
POISE_API PoiseErr PoiseMatGetRow(PoiseMat A, PoiseInt row, PoiseInt *n, const PoiseInt **cols,
                                  const double **v);
/* B = A, or with values = 0 zeros in A's pattern; of A's type and block size. Arrays that are on the device
   are copied there. */
POISE_API PoiseErr PoiseMatDuplicate(PoiseMat A, int values, PoiseMat *B);
/* T = A^T, of A's type and block size. On the device where one rank works; on several ranks through the
   host. */
POISE_API PoiseErr PoiseMatTranspose(PoiseMat A, PoiseMat *T);
/* *is: |A^T_ij - B_ij| <= tol for all entries (those not stored are 0); B = A. Makes a transpose to look
   at. */
POISE_API PoiseErr PoiseMatIsTranspose(PoiseMat A, PoiseMat B, double tol, int *is);
POISE_API PoiseErr PoiseMatIsSymmetric(PoiseMat A, double tol, int *is);

/*
  A v = 0 for these n orthonormal vectors (checked to 1e-8, copied; as x in y = A x) and, with constant != 0,
  for the constant one, to which they must be orthogonal; at most 32 in all, 0 takes back what was given.
  Solvers keep their iterates out of the null space (see PoiseKSPInconsistency). Nothing is multiplied to see
  whether A v = 0.
*/
POISE_API PoiseErr PoiseMatSetNullSpace(PoiseMat A, int constant, int n, const PoiseVec *v);
/* The same of A^T (vectors as y in y = A x): A x = b has solutions only if b has no part in it. A solve
   leaves that part of b out, and so finds a solution of the least-squares problem; b itself is not
   changed. */
POISE_API PoiseErr PoiseMatSetTransposeNullSpace(PoiseMat A, int constant, int n, const PoiseVec *v);
/* Vectors that A makes small, given and copied in the same way (and orthonormal), for preconditioners such as
   multigrid, whose coarse spaces must hold them: of elasticity the six rigid motions. None of Poise's own
   uses them yet. Kept with A, in its view, and in what -mat_partition and -mat_order make of A. */
POISE_API PoiseErr PoiseMatSetNearNullSpace(PoiseMat A, int constant, int n, const PoiseVec *v);
/* *v: the *n vectors, the constant one last; lent until the space is replaced. Not collective. */
POISE_API PoiseErr PoiseMatGetNearNullSpace(PoiseMat A, int *n, const PoiseVec **v);

/* not collective; each may be NULL */
POISE_API void PoiseMatSizes(PoiseMat A, PoiseInt *M, PoiseInt *N);
POISE_API void PoiseMatLocalSizes(PoiseMat A, PoiseInt *m, PoiseInt *n); /* not collective */
POISE_API PoiseErr PoiseMatNonzeros(PoiseMat A, PoiseInt *nz);           /* global stored entries */
/* Vectors that fit y = A x; either may be NULL. */
POISE_API PoiseErr PoiseMatCreateVecs(PoiseMat A, PoiseVec *x, PoiseVec *y);
/* This rank's rows as 0-based CSR with global columns, sorted, freshly allocated with malloc; free() each
   (ptr64, col64, val). Not collective. */
POISE_API PoiseErr PoiseMatCopyCSR(PoiseMat A, int64_t **ptr, int64_t **col, double **val);
POISE_API PoiseContext PoiseMatContext(PoiseMat A);
/* What this rank's part holds now: the CSR, on the device too once it has been used there, ghosts and their
   exchange, the plan of triplets, what the type adds. plain (may be NULL): that of plain CSR, once. Not
   collective. */
POISE_API PoiseErr PoiseMatBytes(PoiseMat A, PoiseBytes *bytes, int64_t *plain);

typedef struct PoiseMatCounts { /* of this rank's rows */
  PoiseInt nonzeros;            /* numbers that are stored; of bcsr all those of its blocks, zeros too */
  /* columns of other ranks that they refer to; of bcsr whole blocks of them. On one rank 0 */
  PoiseInt ghosts;
  /* this rank's columns that others refer to, once for each of these ranks; likewise */
  PoiseInt sends;
  int transpose; /* nonzero: products with A^T are wanted */
} PoiseMatCounts;

/*
  What this rank's part of A will hold once a solver has worked with it, as its type, block size and options
  now are: of an A that was only created (PoiseMatCreate, which takes some thousand bytes), with entries as
  counted; or with counts = NULL of one that is assembled (and with the transpose's part if there was a
  product with A^T). Exact, but where a pattern decides:
    csri           up to 24 bytes (of bcsr, uneven: 16 and 8 for each row of a block) per -mat_csri_chunk
    entries, for fragments of long rows;
                   on cuda, where those are not said, how many row blocks there are, of 28 bytes for some
                   hundred rows and entries
    seg            row blocks, up to twice as many as the fewest, of 28 bytes for some hundred (cuda) or
    thousand entries, and fragments as above;
                   -mat_seg_padded: from 12 bytes per nonzero to 12 for each place of a last segment in every
                   row more
    bcsr           with -mat_bcsr_kernel auto: row blocks or none. In forms that are asked for only the
    fragments
    auto           from the least to the most of the types that it may choose. Where that may be blocks,
    nothing is sure: `beyond`
    -mat_index16   nothing, or 2 bytes per nonzero and 64 per block of rows of a product: it is kept where at
    least half fits
    A^T            up to 24 bytes per some thousand entries, for fragments of long columns, beside their
    places; on cuda with row blocks, or none
    cuSPARSE       its buffer, of which only it knows: `beyond`
    cuda           the number of those blocks (4 to 1024 rows), each of 4 bytes on several ranks
  So with arrays of the library's own that come from the host, as CSR or by entries. Of triplets on a device,
  or arrays there, there need be none on the host; offsets of 8 bytes that are adopted or borrowed stay such.
  Not in it: plans of triplets (on a device 4 bytes per entry and 4 per triplet, 8 more if values come from
  the host), vectors of null spaces, copies for -mat_partition and -mat_order. Meanwhile more is held: by
  PoiseMatAssemble on the host, of entries and blocks, some 18 to 25 bytes per nonzero; by a change to bcsr or
  back the old matrix; by the first product with A^T on a device 16 bytes per nonzero; by -mat_auto_measure
  what all types hold, and two vectors. POISE_ERR_STATE: A is not assembled and counts is NULL, or the block
  size is to be found (-mat_block_size 0). POISE_ERR_ARG: counts that cannot be; POISE_ERR_MEMORY: that no
  machine holds. Allocates nothing. Not collective.
*/
POISE_API PoiseErr PoiseMatPredictBytes(PoiseMat A, const PoiseMatCounts *counts, PoisePrediction *p);
/* Print type, sizes, row statistics, device, bytes held and beyond plain CSR. */
POISE_API PoiseErr PoiseMatView(PoiseMat A);

/*
  A from a file, which is recognised by its content, also when it is compressed by gzip. Rows and columns are
  laid out by PoiseSplit. No rank holds more than its rows and some MB. Errors name the file and the line or
  byte; POISE_ERR_FORMAT shows how a file begins that is neither of:
  - Matrix Market: coordinate real, integer, pattern; general, symmetric, skew-symmetric; array. A coordinate
    file's zeros
    are entries, an array's are not. An entry given twice is POISE_ERR_FORMAT. A plain file that all ranks see
    is read by all, in parts; what is compressed, a pipe, or seen by rank 0 alone, rank 0 reads and deals out,
    so a file need only be where rank 0 runs. All ranks and their threads parse: 16 bytes per entry while
    loading, 12 afterwards. A pipe is read once, so that of an entry given twice the lines are not known. A
    line may have 65536 characters, a comment any number. In what only rank 0 reads 2^24 blanks and ends of
    lines in a row are the most.
  - PETSc binary (MatView, MatLoad): the first matrix of the file, sparse, or dense, whose zeros are not
    entries; 32- or
    64-bit integers; real double numbers, NaN too. A column twice in a row is POISE_ERR_FORMAT. Every rank
    reads its own rows, so all must be able to open the file; of a gzip file each rank inflates as much as it
    needs. A line "-matload_block_size n" in the file that PETSc writes beside it (x.info for x and x.gz),
    seen by rank 0, sets the block size if n is at most 32 and divides both sizes. Other lines there are
    ignored.
  -mat_block_size n, without a prefix, counts before that line, in files of both kinds, if it divides both
  sizes. Rows are laid out in whole blocks, and the block size is n; with n = 0, which has it found by bcsr,
  in multiples of 2 to 8 as far as these divide both sizes and give each rank 16 or more. The matrix is of
  CSR; PoiseMatSetFromOptions with -mat_type bcsr then makes it blocks. -mat_load_diagonal, without a prefix,
  stores as 0 what a square matrix lacks of its diagonal. ilu, icc and sor need these entries; ilu and icc,
  with -pc_factor_shift_type, can do with zeros.
*/
POISE_API PoiseErr PoiseMatLoad(PoiseContext ctx, const char *path, PoiseMat *A);
/*
  The name's ending says how: ".petsc" and ".bin" give a PETSc binary file, with 32-bit integers where they do
  (option -petsc_index_bits; PETSc reads only those of its own width); all others Matrix Market, coordinate
  real general (up to 17 digits: reading gives the same bits), where a value that is not finite is
  POISE_ERR_NUMERIC. ".gz" behind either: by gzip. Of type bcsr all numbers of the blocks are written, zeros
  too. Beside a PETSc binary file a block size above 1 is kept as PETSc keeps it (x.info), or where there is
  such a file. The file appears whole or not at all; only rank 0 opens it.
*/
POISE_API PoiseErr PoiseMatSave(PoiseMat A, const char *path);

#ifdef __cplusplus
}
#endif

#endif
