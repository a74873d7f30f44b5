/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Sparse matrices A of M x N, distributed by contiguous ranges of rows. Each rank owns m local rows. The
  vector x of y = A x has N entries, n of them local. The assembled matrix is one plain CSR per rank, whatever
  its type. The exceptions are matrices that stay as the application holds them: see PoiseMatCreateCSC,
  PoiseMatCreateTriplets and PoiseMatCreateShell. All functions are collective unless said otherwise.
*/
#ifndef POISE_MAT_H
#define POISE_MAT_H

#include "vec.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct PoiseMat_s *PoiseMat;

/* The user's CSR arrays of m local rows. Row i holds the entries [ptr[i], ptr[i+1]) - base of col and val.
   Columns are global. They need not be sorted for products. A column that occurs twice in a row is
   POISE_ERR_ARG naming the row. Give each of ptr and col in one width, and NULL for the other. */
typedef struct PoiseCSR {
  const int32_t *ptr32, *col32;
  const int64_t *ptr64, *col64;
  const double *val;
  int base; /* 0 or 1 */
} PoiseCSR;

/*
  A from CSR arrays in host memory. m and n are local sizes, or POISE_DECIDE for those of PoiseSplit. M and N
  are global sizes, or POISE_DECIDE.

  POISE_COPY copies all three arrays: to a GPU alone, from where they come when the host reads entries.
  POISE_ADOPT and POISE_BORROW use the values in place, if rows are sorted. They use offsets and columns in
  place if these three conditions hold:
  - Indices are 0-based and columns are int32.
  - The columns of each row are sorted.
  - The arrays are adopted, or there is one rank.

  Otherwise offsets and columns are converted once into arrays of the library's own (PoiseMatView says so). On
  several ranks the library overwrites adopted columns by numbers of its own.

  Rows whose columns are not sorted are sorted once, columns and values, in arrays of the library's own.
  POISE_BORROW of such arrays is POISE_ERR_ARG naming the first such row. After a failure the arrays are the
  caller's, with their old content.
*/
POISE_API PoiseErr PoiseMatCreateCSR(PoiseContext ctx, PoiseInt m, PoiseInt n, PoiseInt M, PoiseInt N,
                                     const PoiseCSR *csr, PoiseOwn own, PoiseMat *A);
/*
  The same from arrays in the device's memory, with the columns of each row sorted. The struct csr itself is
  on the host. On the host device this is PoiseMatCreateCSR.

  The values are used in place with POISE_ADOPT (freed with cudaFree) and POISE_BORROW. Arrays that are
  0-based with int32 columns are checked on the device, and stay there: offsets are used in place, columns too
  on one rank. On several ranks columns are copied, as they get local numbers. All others travel to the host
  once, to be checked and converted.

  A borrowed array of values is current when a call that changes the values returns. PoiseMatAddBlock and its
  kin change entries on the host; the array has them after PoiseMatAssemble. A pointer to anything but device
  memory is POISE_ERR_ARG naming it.
*/
POISE_API PoiseErr PoiseMatCreateDeviceCSR(PoiseContext ctx, PoiseInt m, PoiseInt n, PoiseInt M, PoiseInt N,
                                           const PoiseCSR *csr, PoiseOwn own, PoiseMat *A);
/* The user's BCSR arrays of m / b rows of blocks. Row i holds the blocks [ptr[i], ptr[i+1]) - base of col.
   val has b * b scalars of each block, column-major, or row by row with row_major = 1. Columns are global
   and count blocks. Widths, sorting and duplicates are as of PoiseCSR. */
typedef struct PoiseBCSR {
  const int32_t *ptr32, *col32;
  const int64_t *ptr64, *col64;
  const double *val;
  int base; /* 0 or 1 */
  int row_major;
} PoiseBCSR;

/*
  A of type bcsr from blocks of b x b scalars, b from 1 to 32, the same on all ranks. m, n, M, N count
  scalars, whole blocks of them, or are POISE_DECIDE. Ownership is as of PoiseMatCreateCSR. Row-major blocks
  can only be copied; else POISE_ERR_ARG. Blocks are never taken apart. They cost 8 + 4 / b^2 bytes per
  scalar, where CSR has 12. All functions on matrices and all preconditioners take them. Rows that are lent or
  copied out have all scalars of their blocks, zeros too.
*/
POISE_API PoiseErr PoiseMatCreateBCSR(PoiseContext ctx, int b, PoiseInt m, PoiseInt n, PoiseInt M, PoiseInt N,
                                      const PoiseBCSR *bcsr, PoiseOwn own, PoiseMat *A);
/* The same from arrays in the device's memory, used and checked as by PoiseMatCreateDeviceCSR. On the host
   device this is PoiseMatCreateBCSR. */
POISE_API PoiseErr PoiseMatCreateDeviceBCSR(PoiseContext ctx, int b, PoiseInt m, PoiseInt n, PoiseInt M,
                                            PoiseInt N, const PoiseBCSR *bcsr, PoiseOwn own, PoiseMat *A);
/* The user's CSC arrays of n local columns. Column j holds the entries [ptr[j], ptr[j+1]) - base of row and
   val. Rows are global. A row that occurs twice in a column is POISE_ERR_ARG naming both. Give each of ptr
   and row in one width, and NULL for the other. */
typedef struct PoiseCSC {
  const int32_t *ptr32, *row32;
  const int64_t *ptr64, *row64;
  const double *val;
  int base; /* 0 or 1 */
} PoiseCSC;

/*
  A of type pcsc, which stays as the application holds it: by columns. A rank gives the columns that it owns,
  i.e. those of its part of x in y = A x; their rows may be any rank's. The rows are laid out as those of any
  matrix.

  The arrays are those of the CSR of A^T, and are checked, copied, adopted and borrowed as by
  PoiseMatCreateCSR, with "row" and "column" exchanged. Values are never moved. Columns whose rows do not
  ascend are sorted in arrays of the library's own; POISE_BORROW of such arrays is POISE_ERR_ARG.

  The first product makes an index of the entries by row, of 8 bytes per nonzero (12 beyond 2^31 nonzeros of
  a rank). A x reads values through it. Each rank multiplies its columns by its part of x. The results for
  rows of other ranks travel to their owners, who add them in the order of ranks.

  Matrices of types pcsc and pcoo offer PoiseMatMult and its kin, PoiseMatMultTranspose, PoiseMatGetDiagonal
  and PoiseMatNorm. PoiseMatSetValuesCSR takes values in the order of the arrays. The view and the functions
  on vectors, sizes, bytes and null spaces are as of other matrices. So all methods solve with them, without
  preconditioner or with jacobi. All else is POISE_ERR_UNSUPPORTED naming the type and what it does not offer.
  Their type cannot be changed, nor can another matrix become one of them.
*/
POISE_API PoiseErr PoiseMatCreateCSC(PoiseContext ctx, PoiseInt m, PoiseInt n, PoiseInt M, PoiseInt N,
                                     const PoiseCSC *csc, PoiseOwn own, PoiseMat *A);
/* The same from arrays in the device's memory, used and checked as by PoiseMatCreateDeviceCSR. On the host
   device this is PoiseMatCreateCSC. */
POISE_API PoiseErr PoiseMatCreateDeviceCSC(PoiseContext ctx, PoiseInt m, PoiseInt n, PoiseInt M, PoiseInt N,
                                           const PoiseCSC *csc, PoiseOwn own, PoiseMat *A);
/* The user's n triplets: val[k] at row[k], col[k], both global. Give each of row and col in one width, and
   NULL for the other. */
typedef struct PoiseTriplets {
  PoiseInt n;
  const int32_t *row32, *col32;
  const int64_t *row64, *col64;
  const double *val;
  int base; /* of the indices: 0 or 1 */
} PoiseTriplets;

/*
  A of type pcoo, which stays as the application holds it: as triplets. Each rank gives some of them, in any
  order; rows and columns may be of any rank. An entry is the sum of all triplets at its row and column, on
  all ranks; PoiseMatNonzeros counts triplets. An index out of range is POISE_ERR_ARG naming it and its place.
  PoiseMatSetPatternCOO sums triplets once, into a CSR, which all functions take.

  POISE_COPY copies the values, POISE_ADOPT and POISE_BORROW use them in place; they are never moved. Rows and
  columns are read in this call alone. Adopted ones are freed in it. After a failure the arrays are the
  caller's.

  Best are triplets that ascend by row and column, on all ranks of their own rows. Offsets and columns are
  then made, of 4 bytes per nonzero, and products are as of CSR. For others an index by row is made, of 8
  bytes per nonzero (12 beyond 2^31 of a rank). A x reads values through it. Ranks exchange the entries of x
  that they need. Their results for rows of other ranks travel to the owners, who add them in the order of
  ranks. The first product with A^T makes one more index, by column.

  What A offers is said at PoiseMatCreateCSC. PoiseMatNorm assembles a copy through the host for the call,
  unless products are as of CSR.
*/
POISE_API PoiseErr PoiseMatCreateTriplets(PoiseContext ctx, PoiseInt m, PoiseInt n, PoiseInt M, PoiseInt N,
                                          const PoiseTriplets *triplets, PoiseOwn own, PoiseMat *A);
/* The same from arrays in the device's memory; the struct itself is on the host. Values are used there. Rows
   and columns travel to the host once. Adopted arrays are freed with cudaFree. On the host device this is
   PoiseMatCreateTriplets. A pointer to anything but device memory is POISE_ERR_ARG naming it. */
POISE_API PoiseErr PoiseMatCreateDeviceTriplets(PoiseContext ctx, PoiseInt m, PoiseInt n, PoiseInt M,
                                                PoiseInt N, const PoiseTriplets *triplets, PoiseOwn own,
                                                PoiseMat *A);
/* An empty A, to be filled by PoiseMatAddBlock and its kin, or by PoiseMatSetPatternCOO. Sizes as above. */
POISE_API PoiseErr PoiseMatCreate(PoiseContext ctx, PoiseInt m, PoiseInt n, PoiseInt M, PoiseInt N,
                                  PoiseMat *A);
/*
  Add to entries, or set them. The "Block" functions take a dense nr x nc row-major block v at global rows and
  cols; a row is a block with nr = 1. The "Values" functions take n single entries. Entries may belong to rows
  of any rank, in any order, and nothing need be declared first. Negative indices are ignored. Not collective.

  Entries of this rank's rows that are in the assembled pattern change in place. All others join it at
  PoiseMatAssemble. Entries added several times are summed in a fixed order, so results repeat. If several
  ranks set an entry, one of the values remains, the same in every run.

  Mixing Set and Add without an Assemble between them is POISE_ERR_STATE. An index out of range is
  POISE_ERR_ARG naming it, and nothing of that call is taken. The failure of such a call is kept: the next
  Assemble fails with it on all ranks. So ranks need not agree on it first. The Assemble after that one
  continues, without the entries of the failed call.
*/
POISE_API PoiseErr PoiseMatAddBlock(PoiseMat A, int nr, const PoiseInt *rows, int nc, const PoiseInt *cols,
                                    const double *v);
POISE_API PoiseErr PoiseMatSetBlock(PoiseMat A, int nr, const PoiseInt *rows, int nc, const PoiseInt *cols,
                                    const double *v);
POISE_API PoiseErr PoiseMatAddEntries(PoiseMat A, PoiseInt n, const PoiseInt *rows, const PoiseInt *cols,
                                      const double *v);
POISE_API PoiseErr PoiseMatSetEntries(PoiseMat A, PoiseInt n, const PoiseInt *rows, const PoiseInt *cols,
                                      const double *v);
/* Number the rows and columns of this rank for the functions below. Local number i of 0 .. nr - 1 stands
   for global row rows[i], and j of 0 .. nc - 1 for column cols[j]. Both may be of any rank; negative ones
   are ignored. Arrays are copied. */
POISE_API PoiseErr PoiseMatSetLocalToGlobal(PoiseMat A, PoiseInt nr, const PoiseInt *rows, PoiseInt nc,
                                            const PoiseInt *cols);
/* The same with rows and columns numbered by the map. Not collective. */
POISE_API PoiseErr PoiseMatAddBlockLocal(PoiseMat A, int nr, const PoiseInt *rows, int nc,
                                         const PoiseInt *cols, const double *v);
POISE_API PoiseErr PoiseMatSetBlockLocal(PoiseMat A, int nr, const PoiseInt *rows, int nc,
                                         const PoiseInt *cols, const double *v);
/* Exchange what was added or set, and make it part of A. A can be used only after this call. A call that
   ran out of memory may be repeated, and loses nothing. If one rank added and another set, the result is
   POISE_ERR_STATE, and the pending entries are dropped. */
POISE_API PoiseErr PoiseMatAssemble(PoiseMat A);
/* Set all values to 0; the pattern stays. Entries that were added or set and are not yet assembled are
   dropped. */
POISE_API PoiseErr PoiseMatZeroEntries(PoiseMat A);
/* Replace all values of this rank's rows; the pattern stays. val has them row by row with ascending columns,
   as the user's CSR arrays do if their rows are sorted. Of types pcsc and pcoo it has them as their arrays
   do: column by column with ascending rows, or triplet by triplet. It is copied. Or val is the array that A
   borrowed, on the host or on the device, after the user has written to it. Only this call shows A the new
   values. */
POISE_API PoiseErr PoiseMatSetValuesCSR(PoiseMat A, const double *val);
/* The same of type bcsr: all scalars of its blocks, block row by block row, with ascending block columns.
   row_major says how val stores a block; with row_major = 1 val cannot be the borrowed array. Each of
   these two functions is POISE_ERR_ARG for a matrix of the other kind. */
POISE_API PoiseErr PoiseMatSetValuesBCSR(PoiseMat A, int row_major, const double *val);

/*
  Triplets: give the pattern once, then values as often as wanted. The n entries are at global rows and cols,
  of any rank, in any order, and may repeat. An entry with a negative index is ignored. A's pattern becomes
  exactly these entries, with zeros; A's old content is dropped. The arrays are not needed after the call.
  This call makes a plan, and takes longer than PoiseMatSetValuesCOO, which only follows it.
*/
POISE_API PoiseErr PoiseMatSetPatternCOO(PoiseMat A, PoiseInt n, const PoiseInt *rows, const PoiseInt *cols);
/* SetValuesCOO sets each entry to the sum of those of the n values v[k] that belong to it. AddValuesCOO
   adds that sum to the entry. The order is fixed: this rank's values first, then those of other ranks in
   rank order. Both take one pass without a search. Values of other ranks' rows travel. POISE_ERR_STATE if
   the pattern has changed since the plan was made. PoiseMatAssemble is not needed. */
POISE_API PoiseErr PoiseMatSetValuesCOO(PoiseMat A, const double *v);
POISE_API PoiseErr PoiseMatAddValuesCOO(PoiseMat A, const double *v);
/*
  The same with all arrays in the device's memory: for the pattern, for values, or for both. On the host
  device these are the functions above.

  On one rank nothing travels. Set-up takes 24 bytes of device memory per triplet (32 beyond 2^32 triplets)
  beside the arrays, which may be released after the call. On several ranks the indices travel through the
  host, and so do values of other ranks' rows. Values are read in the order of PoiseStream; the call may
  return before they are read.

  A pointer to anything but device memory is POISE_ERR_ARG naming it. An index that is too large is
  POISE_ERR_ARG naming it and its place.
*/
POISE_API PoiseErr PoiseMatSetPatternDeviceCOO(PoiseMat A, PoiseInt n, const PoiseInt *rows,
                                               const PoiseInt *cols);
POISE_API PoiseErr PoiseMatSetValuesDeviceCOO(PoiseMat A, const double *v);
POISE_API PoiseErr PoiseMatAddValuesDeviceCOO(PoiseMat A, const double *v);
/*
  The same by dense blocks: n blocks of b x b scalars at global rows and columns that count blocks. b is A's
  block size: call PoiseMatSetBlockSize first. Arrays are on the host, or in the device's memory.
  PoiseMatSetValuesCOO and its kin then take n * b * b values: the blocks in the order given here, each
  column-major.

  A matrix of type bcsr keeps the place of each block once, not of each scalar. In a matrix of another type a
  block stands for its b * b entries. A bcsr matrix also takes single entries (PoiseMatSetPatternCOO). They go
  to their places in blocks; the other scalars of these blocks are zeros. In these two cases, indices on the
  device travel once through the host. Type and block size must not change between pattern and values.
*/
POISE_API PoiseErr PoiseMatSetBlockPatternCOO(PoiseMat A, PoiseInt n, const PoiseInt *rows,
                                              const PoiseInt *cols);
POISE_API PoiseErr PoiseMatSetBlockPatternDeviceCOO(PoiseMat A, PoiseInt n, const PoiseInt *rows,
                                                    const PoiseInt *cols);

/* A user's functions: mult is y = A x, mult_transpose is y = A^T x, diagonal is d = diag(A). The last two
   may be NULL. arg is borrowed. Each function is called on every rank, with vectors of A's layout. It may
   call collective functions, products of other shells among them. If it fails on one rank by itself, it
   must agree on that (PoiseAgree) before it returns; else the other ranks wait. */
typedef struct PoiseShell {
  PoiseErr (*mult)(void *arg, PoiseVec x, PoiseVec y);
  PoiseErr (*mult_transpose)(void *arg, PoiseVec x, PoiseVec y);
  PoiseErr (*diagonal)(void *arg, PoiseVec d);
} PoiseShell;
POISE_API PoiseErr PoiseMatCreateShell(PoiseContext ctx, PoiseInt m, PoiseInt n, PoiseInt M, PoiseInt N,
                                       const PoiseShell *functions, void *arg, PoiseMat *A);

/* Drop a reference, and null the pointer. */
POISE_API PoiseErr PoiseMatDestroy(PoiseMat *A);

/*
  Set the type by name. Collective. Options: -mat_type, and those of the types, which auto reads too and
  copies inherit.

  These types keep the same CSR, and say only how its SpMV (sparse matrix-vector product) may be computed. To
  set another one voids nothing but that, not even a preconditioner:
    csr   Rows are divided evenly.
    csri  Rows and entries are divided evenly, and long rows are split. For rows of very different lengths.
    seg   Rows are divided into segments of one length, after segSpMV.
    auto  (default) Of these three what is predicted to be fastest for A's pattern. See below.

  This type stores the entries differently:
    bcsr  Dense blocks of A's block size (PoiseMatSetBlockSize), with zeros for missing scalars. See below,
          and PoiseMatCreateBCSR.

  This type is for several ranks:
    pcsr  Every rank multiplies the same number of nonzeros, whatever the rows. See below, and
          PoiseMatSetLocalType.

  These two are the types of matrices that stay as the application holds them. They cannot be set:
    pcsc  By columns: see PoiseMatCreateCSC.
    pcoo  As triplets: see PoiseMatCreateTriplets.

  PETSc's names are understood, also with seq or mpi before them: aij, aijcusparse and aijkokkos are auto,
  baij is bcsr.

  auto makes the same choice for any number of threads. Each rank chooses for its own rows and its device,
  when the pattern or an option is new, at the latest in the first product. seg is chosen only where rows are
  dense and of one length. If -mat_csr_kernel names a library, auto chooses csr. PoiseMatView says what was
  chosen, and why.

  If the caller sets auto by name, it may also change a matrix with a block size above 1 to bcsr. It does so
  for entries given as blocks of triplets. For entries of PoiseMatAddBlock and its kin, or of a file, it
  compares bytes. Those of bcsr, times 1.1, must be fewer than those of CSR. A matrix from CSR arrays or
  single triplets stays CSR. A bcsr matrix stays bcsr.

  pcsr cuts the nonzeros of all ranks into ranges of equal size, one for each rank. A row in which a boundary
  falls goes whole to one side if it has at most one per cent of a share; else it is cut. A rank multiplies
  what it keeps of its own rows, where their values are. Entries of other ranks' rows are copied to it, and
  their results travel to the owners of the rows, who add them in the order of ranks. New values of A move
  these values alone. Where no rank exceeds its share by more than one per cent, nothing is copied.

  A solver first arranges A by nonzeros, unless PoiseMatSetPartition was called. Then only rows that are cut
  travel. All but A x works as of the type of the parts, and with A's own rows: A^T x, the diagonal,
  preconditioners. On one rank pcsr is that type.

  bcsr converts A into arrays of the library's own, and releases the CSR, at once or in the first
  PoiseMatAssemble. Another type converts it back. Entries in blocks of the pattern change in place. For new
  blocks, Assemble makes a CSR of all entries, and blocks of that. A conversion drops the plan of triplets, so
  set the type before the pattern.
*/
POISE_API PoiseErr PoiseMatSetType(PoiseMat A, const char *type);
/* the name of the type; lent; not collective */
POISE_API const char *PoiseMatType(PoiseMat A);
/* The type of a part of type pcsr: csr, csri, seg, bcsr or auto (default). It counts while A is of type pcsr.
   Collective. Option: -mat_local_type. */
POISE_API PoiseErr PoiseMatSetLocalType(PoiseMat A, const char *type);
/*
  The SpMV kernel of an A of type csr or auto: "own" for the device's own kernels, or the name of a library
  that the device has. On cuda these are "cusparse", and "cusparse_alg2", whose results have the same bits in
  every run. A^T x always uses the own kernels. The setting has no effect while A is of another type. Option:
  -mat_csr_kernel.

  A library's product takes memory of its own, and one more vector. Inside a solver it takes one more pass
  over y, and on several ranks a copy of x. POISE_ERR_UNSUPPORTED if the device has no library of this name.
  At first use the error also means that cuSPARSE is not installed, or that A has 64-bit offsets, which it
  does not take.
*/
POISE_API PoiseErr PoiseMatSetCSRKernel(PoiseMat A, const char *name);
/* the name of that kernel; lent; not collective */
POISE_API const char *PoiseMatCSRKernel(PoiseMat A);
/* Prefix of A's options: "-<prefix>mat_type". Copied. */
POISE_API PoiseErr PoiseMatSetOptionsPrefix(PoiseMat A, const char *prefix);
/* Take -mat_type, -mat_block_size, -mat_partition, ... A solver that takes its options does the same for
   its matrices, except for matrices whose type the program has set. */
POISE_API PoiseErr PoiseMatSetFromOptions(PoiseMat A);
/* Unknowns per node, 1 to 32. Local sizes must be multiples of it. With b = 0 the size is determined when
   A becomes bcsr, as PoiseMatFindBlockSize does. If no block size takes fewer bytes than CSR, the size is
   1, and A keeps the type that it had, or becomes csr. Existing blocks keep their size. */
POISE_API PoiseErr PoiseMatSetBlockSize(PoiseMat A, int b);
/* the block size; not collective */
POISE_API int PoiseMatBlockSize(PoiseMat A);

typedef struct PoiseBlockFill { /* A stored in blocks of b x b, over all ranks; b = 1 is CSR */
  int b;
  PoiseInt blocks; /* -1: b does not divide the local sizes of some rank; fill and bytes are then 0 */
  double fill;     /* scalars in these blocks per nonzero of A */
  double bytes;    /* of offsets, columns and values */
} PoiseBlockFill;
enum { POISE_BLOCK_FILLS = 8 };
/* Fill table[b - 1] for b = 1 to 8, and set *b to the size with the fewest bytes; of two equal ones to the
   smaller. A must be of a type with plain CSR, and is not changed. Its stored zeros count as entries. Runs
   on the host, and takes some 10 ns per nonzero for each size. */
POISE_API PoiseErr PoiseMatFindBlockSize(PoiseMat A, PoiseBlockFill table[POISE_BLOCK_FILLS], int *b);

/*
  Which rank works on which rows, and in what order, while a PoiseKSP solves with a square A. The application
  does not see this: A and its vectors keep layout and numbering. The solver works on a rearranged copy, and
  moves b and x once each.

  The copy takes as much memory as A. A map of 4 bytes per nonzero and 40 per row lets later values of A be
  copied in one pass. A nonzero that changes its rank takes 24 bytes more. In type bcsr these bytes are per
  block, not per scalar. A new pattern is arranged anew. Zeros may lose their sign. If A has the wanted
  arrangement already, nothing is copied. The rows of a node (block size) stay together.

  Partition, -mat_partition:
    ROWS      the application's layout (default)
    NONZEROS  contiguous ranges of rows. Each rank's share of the nonzeros is equal to within those of one
              node
    BYTES     the same for the bytes that a product moves: 12 per nonzero and 20 per row; in bcsr 8 per
              scalar, 4 per block
    GRAPH     parts of the pattern's graph by METIS: about equal in bytes, with few entries between them. Rank
              0 makes them. It holds 16 bytes per nonzero of the whole matrix meanwhile, and the memory of
              METIS. POISE_ERR_UNSUPPORTED in a library without METIS

  Order of the rows on a rank, -mat_order:
    NATURAL   the application's order (default)
    RCM       reverse Cuthill-McKee on the block of columns that the rank owns
    AMD       approximate minimum degree on that block, for factors with little fill (SuiteSparse's AMD).
              POISE_ERR_UNSUPPORTED in a library without it
    MATCH     columns change places, so that the product of the diagonal entries is as large as can be (Duff
              and Koster 2001). Then they are multiplied by the powers of 2 next to the scales that belong to
              it: a diagonal entry is, to a factor of 2, the largest of its row. Rows are not scaled, so that
              b - A x and its norms stay those of A. For zeros and small entries on the diagonal; the copy is
              not symmetric. A rank exchanges the columns that it owns, and its diagonal entries are the
              largest among these. Where that leaves a row without a column, rank 0 matches all of A, and
              holds 12 bytes per nonzero of it meanwhile. New values are matched anew, unless the
              preconditioner is kept. POISE_ERR_NUMERIC if A is structurally singular: the message names rows.
              POISE_ERR_UNSUPPORTED for block sizes above 1, and with a null space
    MATCH_RCM, MATCH_AMD
              MATCH, and then rows and columns alike by RCM or AMD. The words are match,rcm and match,amd
*/
typedef enum PoisePartition {
  POISE_PARTITION_ROWS,
  POISE_PARTITION_NONZEROS,
  POISE_PARTITION_BYTES,
  POISE_PARTITION_GRAPH
} PoisePartition;
typedef enum PoiseOrder {
  POISE_ORDER_NATURAL,
  POISE_ORDER_RCM,
  POISE_ORDER_AMD,
  POISE_ORDER_MATCH,
  POISE_ORDER_MATCH_RCM,
  POISE_ORDER_MATCH_AMD
} PoiseOrder;
POISE_API PoiseErr PoiseMatSetPartition(PoiseMat A, PoisePartition partition);
POISE_API PoiseErr PoiseMatSetOrder(PoiseMat A, PoiseOrder order);
/* Shares of the ranks in what the partition measures, and in the nonzeros of type pcsr: weights[q] for rank
   q, positive. n: number of ranks. With partition ROWS rows are then counted, and move. NULL: equal shares
   (default). Copied. Collective. Option: -mat_partition_weights 2,1,1. */
POISE_API PoiseErr PoiseMatSetPartitionWeights(PoiseMat A, int n, const double *weights);
/* B = P A P^T, arranged as A asks, for products and files. B is a matrix of its own, with A's type, block
   size and null space. It does not follow later changes of A. P, which may be NULL, is a permutation
   matrix. P x moves x into B's layout, P^T x moves it back into A's. The one column of row i of P
   (PoiseMatGetRow) is the row of A that is row i of B. POISE_ERR_UNSUPPORTED with order MATCH, which has
   no such P. */
POISE_API PoiseErr PoiseMatRearrange(PoiseMat A, PoiseMat *B, PoiseMat *P);

POISE_API PoiseErr PoiseMatMult(PoiseMat A, PoiseVec x, PoiseVec y); /* y = A x */
/* y = a A x + b y */
POISE_API PoiseErr PoiseMatMultAdd(PoiseMat A, double a, PoiseVec x, double b, PoiseVec y);
POISE_API PoiseErr PoiseMatMultTranspose(PoiseMat A, PoiseVec x, PoiseVec y); /* y = A^T x */
/* Y = A X, Y = A^T X for vectors with several columns (PoiseVecCreateBlock): A is read once for all of them,
   or once a column where its type has no such product. */
POISE_API PoiseErr PoiseMatMultBlock(PoiseMat A, PoiseVec X, PoiseVec Y);
POISE_API PoiseErr PoiseMatMultTransposeBlock(PoiseMat A, PoiseVec X, PoiseVec Y);
/* y = A x and *dot = (u, y), in one pass over A if the type can. */
POISE_API PoiseErr PoiseMatMultDot(PoiseMat A, PoiseVec x, PoiseVec y, PoiseVec u, double *dot);
/* r = b - A x */
POISE_API PoiseErr PoiseMatResidual(PoiseMat A, PoiseVec b, PoiseVec x, PoiseVec r);
/* d_i = A_ii, or 0 if the entry is not stored. A must be square, with equal layouts of rows and columns. */
POISE_API PoiseErr PoiseMatGetDiagonal(PoiseMat A, PoiseVec d);

/*
  Prescribed unknowns. The given rows become zero except for the diagonal, which becomes `diagonal`. Any rank
  may give rows of any rank; negative ones are ignored. ZeroRowsColumns also zeroes the columns of a square
  matrix, so that symmetry stays.

  x and b are both given or both NULL. With them, b_i = diagonal x_i in these rows. With columns, b also loses
  the known terms A_ij x_j in the other rows. The solution of A x = b then has the values of x in these
  unknowns. The pattern stays, so a row without a diagonal entry is POISE_ERR_ARG unless the diagonal is 0.
*/
POISE_API PoiseErr PoiseMatZeroRows(PoiseMat A, PoiseInt n, const PoiseInt *rows, double diagonal, PoiseVec x,
                                    PoiseVec b);
POISE_API PoiseErr PoiseMatZeroRowsColumns(PoiseMat A, PoiseInt n, const PoiseInt *rows, double diagonal,
                                           PoiseVec x, PoiseVec b);

POISE_API PoiseErr PoiseMatScale(PoiseMat A, double a); /* A = a A */
/* A = diag(l) A diag(r). l has the layout of y in y = A x, r that of x. NULL stands for ones. */
POISE_API PoiseErr PoiseMatDiagonalScale(PoiseMat A, PoiseVec l, PoiseVec r);
/* A_ii += a, A_ii += d_i, and A_ii = d_i of a square matrix. An entry that is not stored joins the
   pattern. */
POISE_API PoiseErr PoiseMatShift(PoiseMat A, double a);
POISE_API PoiseErr PoiseMatAddDiagonal(PoiseMat A, PoiseVec d);
POISE_API PoiseErr PoiseMatSetDiagonal(PoiseMat A, PoiseVec d);
/* Y += a X. X may be Y. a = 0 adds nothing, even if X has NaN. Entries of X that Y lacks join its pattern;
   else the pattern stays. The call compares the patterns. If they are equal on all ranks, values are added
   in place, on the device; else on the host. If the block sizes differ, or one of the two has no blocks, a
   copy of X is first converted to the form of Y. */
POISE_API PoiseErr PoiseMatAXPY(PoiseMat Y, double a, PoiseMat X);
/* POISE_NORM_1 (largest sum of a column), POISE_NORM_INF (of a row) or POISE_NORM_FROBENIUS. */
POISE_API PoiseErr PoiseMatNorm(PoiseMat A, PoiseNorm type, double *norm);

/* One of this rank's rows, by its global number: *n entries, with global columns ascending. cols and v may
   be NULL. The arrays are lent until the next call on A. Not collective. */
POISE_API PoiseErr PoiseMatGetRow(PoiseMat A, PoiseInt row, PoiseInt *n, const PoiseInt **cols,
                                  const double **v);
/* B = A, or zeros in A's pattern if values = 0. B has A's type and block size. Arrays on the device are
   copied there. */
POISE_API PoiseErr PoiseMatDuplicate(PoiseMat A, int values, PoiseMat *B);
/* T = A^T, with A's type and block size. It is made on the device if there is one rank, else through the
   host. */
POISE_API PoiseErr PoiseMatTranspose(PoiseMat A, PoiseMat *T);
/* *is = 1 if |A^T_ij - B_ij| <= tol for all entries, where entries not stored are 0. IsSymmetric compares
   with B = A. Both make a transpose to compare with. */
POISE_API PoiseErr PoiseMatIsTranspose(PoiseMat A, PoiseMat B, double tol, int *is);
POISE_API PoiseErr PoiseMatIsSymmetric(PoiseMat A, double tol, int *is);

/*
  Declare that A v = 0 for n orthonormal vectors, of the layout of x in y = A x. They are checked to 1e-8 and
  copied. With constant != 0 the constant vector is one more, to which they must be orthogonal. At most 32 in
  all; 0 removes the null space. Solvers keep their iterates out of it (see PoiseKSPInconsistency). The
  library does not check that A v = 0.
*/
POISE_API PoiseErr PoiseMatSetNullSpace(PoiseMat A, int constant, int n, const PoiseVec *v);
/* The same of A^T, with vectors of the layout of y in y = A x. A x = b has solutions only if b has no part
   in this space. A solve leaves that part of b out, and so solves the least-squares problem. b itself is
   not changed. */
POISE_API PoiseErr PoiseMatSetTransposeNullSpace(PoiseMat A, int constant, int n, const PoiseVec *v);
/* Vectors that A makes small, given and copied in the same way; of elasticity the six rigid motions. They
   need not be orthonormal, but finite and not 0; one that depends on others does no harm. They are for
   multigrid (preconditioner amg), whose coarse spaces must hold them. The first ones, as many as a block has
   rows, should be translations: what is strong on coarse levels is judged by them. They are kept with A,
   shown in its view, and rearranged with A by -mat_partition and -mat_order. */
POISE_API PoiseErr PoiseMatSetNearNullSpace(PoiseMat A, int constant, int n, const PoiseVec *v);
/* *v = the *n vectors, the constant one last. Lent until the space is replaced. Not collective. */
POISE_API PoiseErr PoiseMatGetNearNullSpace(PoiseMat A, int *n, const PoiseVec **v);
/*
  Say where this rank's n nodes are, in the order of A's rows: x has n x dim coordinates, those of a node
  together, dim = 1, 2 or 3. They are read, not kept. A must be square, and need not be assembled.

  If a node has dim unknowns, the components of its displacement, the near null space becomes the rigid
  motions: 3 in the plane, 6 in space. They are dim translations, and the rotations about the principal axes
  through the mean of all nodes. A rotation that moves no node is left out, as of nodes on a line. A's block
  size becomes dim if it was 1. If a node has 1 unknown, A has no near null space afterwards: of a scalar
  problem it is the constants, which amg takes by itself.

  A body of revolution is given by its section: dim = 2, places (radius, height), the two displacements in the
  section as unknowns. Of the motions of the plane only the shift along the axis is rigid there, but amg needs
  all three, as the others strain thin rings by little.

  Errors name the rank: POISE_ERR_SIZE if there are other numbers of unknowns, POISE_ERR_ARG for another dim,
  and for the first coordinate that is not finite. A then keeps what it had.
*/
POISE_API PoiseErr PoiseMatSetCoordinates(PoiseMat A, int dim, PoiseInt n, const double *x);
/* The same from an array in the device's memory. On the host device it is the function above. */
POISE_API PoiseErr PoiseMatSetDeviceCoordinates(PoiseMat A, int dim, PoiseInt n, const double *x);

/* global rows and columns; not collective; each may be NULL */
POISE_API void PoiseMatSizes(PoiseMat A, PoiseInt *M, PoiseInt *N);
/* this rank's rows, and its entries of x in y = A x; not collective; each may be NULL */
POISE_API void PoiseMatLocalSizes(PoiseMat A, PoiseInt *m, PoiseInt *n);
POISE_API PoiseErr PoiseMatNonzeros(PoiseMat A, PoiseInt *nz); /* global stored entries */
/* Vectors that fit y = A x; either may be NULL. */
POISE_API PoiseErr PoiseMatCreateVecs(PoiseMat A, PoiseVec *x, PoiseVec *y);
/* This rank's rows as 0-based CSR with global columns, sorted. The caller frees ptr, col and val with
   free(). The offsets and columns have 64 bits. Not collective. */
POISE_API PoiseErr PoiseMatCopyCSR(PoiseMat A, int64_t **ptr, int64_t **col, double **val);
/* the context that A was made in; not collective */
POISE_API PoiseContext PoiseMatContext(PoiseMat A);
/* Bytes that this rank's part holds: the CSR, ghosts and their exchange, the plan of triplets, and what the
   type adds. The CSR counts on the device too once it has been used there. *plain is that of plain CSR alone;
   it may be NULL. Not collective. */
POISE_API PoiseErr PoiseMatBytes(PoiseMat A, PoiseBytes *bytes, int64_t *plain);

typedef struct PoiseMatCounts { /* of this rank's rows; of type pcsc exchange row and column */
  PoiseInt nonzeros;            /* scalars that are stored; of bcsr all those of its blocks, zeros too */
  PoiseInt ghosts;              /* columns of other ranks in these rows; of bcsr whole blocks of them. 0 on
                                   one rank */
  PoiseInt sends;               /* this rank's columns in rows of others, counted once for each of these
                                   ranks; of bcsr whole blocks */
  int transpose;                /* nonzero: products with A^T are wanted */
} PoiseMatCounts;

/*
  Bytes that this rank's part of A will hold once a solver has worked with it. Its type, block size and
  options are taken as they are. A need only have been created; PoiseMatCreate takes some thousand bytes.
  counts says what its entries will be. counts = NULL is for an A that is assembled; the part of the transpose
  is then included if there was a product with A^T. Allocates nothing. Not collective.

  Least and most are equal, except for what a pattern decides:
    csri           fragments of split rows: up to 24 bytes per -mat_csri_chunk entries. In bcsr with uneven
                   rows: 16, and 8 for each row of a block. On cuda without that option, also row blocks: 28
                   bytes for each some hundred rows and entries
    seg            row blocks, up to twice the fewest possible: 28 bytes for each some hundred (cuda) or
                   thousand entries. Fragments as above. -mat_seg_padded: at least 12 bytes per nonzero, at
                   most 12 more for each place of a last segment in every row
    bcsr           with -mat_bcsr_kernel auto: row blocks or none. With a form given by name: only the row
                   segments
    auto           from the least to the most of the products that it may choose. If blocks may be chosen,
                   both bounds are open: see `beyond`
    -mat_index16   nothing, or 2 bytes per nonzero and 64 per thread block of a product. It is kept if at
                   least half of the entries fit
    A^T            fragments of long columns, up to 24 bytes per some thousand entries, and their places.
                   On cuda row blocks, or none
    cuSPARSE       its buffer, of which only it knows the size: see `beyond`
    pcsc           as csri, with the part of A^T
    pcoo           the index of the diagonal, if it is asked for: see `beyond`
    cuda           the number of thread blocks of a product (4 to 1024 rows each), 4 bytes per block on
                   several ranks

  This holds for arrays of the library's own. Before there are entries: for numbers that are added on the
  host, which stay there, too, and for blocks. A device alone holds blocks, copies of the application's
  arrays, and what triplets make. The host holds these, too, when it has read them, so the bounds of its
  bytes differ. Adopted or borrowed offsets of 8 bytes stay so.

  Not included are plans of triplets, vectors of null spaces, and copies for -mat_partition and -mat_order. A
  plan on a device has 4 bytes per entry and 4 per triplet, and 8 more per triplet if values come from the
  host.

  Some calls hold more while they run:
  - PoiseMatAssemble of entries and blocks: some 18 to 25 bytes per nonzero on the host.
  - A change to bcsr or back: the old matrix.
  - The first product with A^T on a device: 16 bytes per nonzero.

  POISE_ERR_STATE: A is not assembled and counts is NULL, or the block size is not yet determined
  (-mat_block_size 0). POISE_ERR_ARG: the counts are impossible. POISE_ERR_MEMORY: no machine can hold so
  much.
*/
POISE_API PoiseErr PoiseMatPredictBytes(PoiseMat A, const PoiseMatCounts *counts, PoisePrediction *p);
/* Print type, sizes, row statistics, device, bytes held, and bytes beyond plain CSR. */
POISE_API PoiseErr PoiseMatView(PoiseMat A);

/*
  A from a file. Its content says which format it has, also when it is compressed by gzip. PoiseSplit lays out
  rows and columns. No rank holds more than its rows and some MB. Errors name the file and the line or byte.
  If the format is unknown, POISE_ERR_FORMAT shows how the file begins.

  Matrix Market: coordinate or array; real, integer or pattern; general, symmetric or skew-symmetric.
  - Stored zeros of a coordinate file are entries; those of an array are not. An entry given twice is
    POISE_ERR_FORMAT.
  - All ranks read a plain file that all of them see, in parts. Rank 0 alone reads and deals out a compressed
    file, a pipe, or a file that only it sees. So a file need only be where rank 0 runs.
  - All ranks and their threads parse. Loading takes 16 bytes per entry, the matrix 12.
  - A pipe is read once, so messages do not name the lines of an entry given twice.
  - A line may have 65536 characters, a comment any number. If only rank 0 reads, at most 2^24 blanks and ends
    of lines may stand in a row.

  PETSc binary (MatView, MatLoad): the first matrix of the file.
  - It is sparse, or dense, whose zeros are not entries. Integers have 32 or 64 bits. Values are real doubles,
    NaN too.
  - A column that occurs twice in a row is POISE_ERR_FORMAT.
  - Every rank reads its own rows, so all must be able to open the file. Of a gzip file each rank inflates as
    much as it needs.
  - PETSc writes a file x.info beside x and x.gz. If rank 0 sees it, a line "-matload_block_size n" in it sets
    the block size. n must be at most 32 and divide both sizes. Other lines are ignored.

  Options without a prefix:
  - -mat_block_size n precedes that line, for files of both formats, if n divides both sizes. Rows are laid
    out in whole blocks, and the block size is n. With n = 0 bcsr determines the size. Rows are then laid out
    in units, multiples of 2, 3, ... 8 as far as the unit divides both sizes and each rank gets 16 units. The
    matrix is CSR; PoiseMatSetFromOptions with -mat_type bcsr then converts it.
  - -mat_load_diagonal stores missing diagonal entries of a square matrix as 0. ilu, icc and sor need these
    entries. ilu and icc can work with zeros if -pc_factor_shift_type is given.
*/
POISE_API PoiseErr PoiseMatLoad(PoiseContext ctx, const char *path, PoiseMat *A);
/*
  The ending of the name decides the format. ".gz" behind it compresses by gzip. The file appears whole or not
  at all; only rank 0 opens it.
  - ".petsc" and ".bin": PETSc binary, with 32-bit integers if they suffice (option -petsc_index_bits; PETSc
    reads only integers of its own width). A block size above 1 is kept as PETSc keeps it, in the file x.info.
    It is also written if there is such a file.
  - All others: Matrix Market, coordinate real general. Up to 17 digits make reading give the same bits. A
    value that is not finite is POISE_ERR_NUMERIC.

  Of type bcsr all scalars of the blocks are written, zeros too.
*/
POISE_API PoiseErr PoiseMatSave(PoiseMat A, const char *path);

#ifdef __cplusplus
}
#endif

#endif
