/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Matrices in another layout and numbering. A permutation is a matrix with a 1 in each row, so that its SpMV
  moves vectors. The entries of the rearranged matrix are triplets, so that one pass copies new values of the
  original.
*/
#include "arrange.h"
#include "mat/csr/columns.h"
#include "mat/assembly/triplets.h"
#include "mat/object/mat.h"
#include "mat/csr/entries.h"
#include "graph.h"
#include "mat/object/mat_type.h"
#include "sys/device/host_loop.h"

PoiseErr PoiseMatSetPartition(PoiseMat A, PoisePartition partition)
{
  CALLED(OBJECT(A));
  if ((int)partition < 0 || partition > POISE_PARTITION_GRAPH)
    FAIL(POISE_ERR_ARG, "there is no partition %d", (int)partition);
  if (partition == POISE_PARTITION_GRAPH) TRY(poiseMetisCheck());
  A->asked.partition = partition;
  A->asked.partition_given = true;
  return POISE_OK;
}

PoisePartition poiseMatPartitionOf(PoiseMat A)
{
  bool parts = A->asked.parted && !A->asked.partition_given && PoiseSize(A->ctx) > 1;
  return parts ? POISE_PARTITION_NONZEROS : A->asked.partition;
}

bool poiseMatMovesRows(PoiseMat A)
{
  return poiseMatPartitionOf(A) != POISE_PARTITION_ROWS || A->asked.bound;
}

PoiseErr PoiseMatSetOrder(PoiseMat A, PoiseOrder order)
{
  CALLED(OBJECT(A));
  if ((int)order < 0 || order > POISE_ORDER_RCM) FAIL(POISE_ERR_ARG, "there is no order %d", (int)order);
  A->asked.order = order;
  return POISE_OK;
}

bool poiseMatReorders(PoiseMat A)
{
  return poiseMatMovesRows(A) || A->asked.order != POISE_ORDER_NATURAL;
}

PoiseErr poiseMatCheckReorder(PoiseMat A, PoiseMat asked)
{
  char words[POISE_OPTION_LENGTH];
  if (!poiseMatHolds(A))
    FAIL(POISE_ERR_UNSUPPORTED, "a matrix of type %s cannot be rearranged (%s)", A->type->name,
         poiseMatReorderWords(asked, words, sizeof words));
  TRY(poiseMatCheckUsable(A));
  if (A->csr.b && asked->block_size % A->csr.b)
    FAIL(POISE_ERR_UNSUPPORTED,
         "a matrix of blocks of %d x %d cannot be rearranged (%s) as one of block size %d", A->csr.b,
         A->csr.b, poiseMatReorderWords(asked, words, sizeof words), asked->block_size);
  return poiseMatCheckSquare(A);
}

/* ---- permutations ---------------------------------------------------------------------------- */

void poisePermutationDestroy(Permutation *p)
{
  PoiseMatDestroy(&p->from);
  PoiseMatDestroy(&p->to);
}

static PoiseErr Ones(int64_t n, PoiseContext ctx, int64_t **ptr, double **val)
{
  TRY(poiseAllocArray(ctx, n + 1, sizeof(int64_t), "permutation", ptr));
  TRY(poiseAllocArray(ctx, n, sizeof(double), "permutation", val));
  for (int64_t i = 0; i < n; i++) (*ptr)[i + 1] = i + 1, (*val)[i] = 1;
  return POISE_OK;
}

/* Make a permutation from the new numbers of this rank's rows; m of the new rows are this rank's. */
static PoiseErr Permute(PoiseMat A, PoiseInt m, const PoiseInt *number, Permutation *p)
{
  PoiseContext ctx = A->ctx;
  int64_t *ptr = NULL;
  double *val = NULL;
  PoiseErr e = PoiseAgree(ctx, Ones(A->rows->n, ctx, &ptr, &val));
  PoiseCSR csr = {.ptr64 = ptr, .col64 = number ? number : ptr, .val = val}; /* not NULL without entries */
  if (!e) e = PoiseMatCreateCSR(ctx, A->rows->n, m, A->rows->N, A->rows->N, &csr, POISE_COPY, &p->from);
  if (!e) e = PoiseMatSetType(p->from, "csr"); /* csr, as rows have one entry */
  if (!e) e = PoiseMatTranspose(p->from, &p->to);
  poiseFree(ctx, &ptr);
  poiseFree(ctx, &val);
  if (e) poisePermutationDestroy(p);
  return e;
}

/* ---- new numbers ----------------------------------------------------------------------------- */

/* Number rows by their rank, and rows of one rank in the order of their old numbers. to: the rank of each
   node; *m: rows for this rank. */
static PoiseErr NumberByRank(PoiseMat A, const int32_t *to, int64_t *counts, PoiseInt *number, PoiseInt *m)
{
  Comm *comm = A->ctx->comm;
  int64_t *all = counts + comm->size, n = A->rows->n, start = 0;
  int b = A->block_size;
  for (int64_t i = 0; i < n; i++) counts[to[i / b]]++;
  TRY(comm->ops->allgather(comm, counts, (size_t)comm->size * sizeof *counts, all));
  for (int q = 0; q < comm->size; q++) {
    int64_t total = 0;
    for (int r = 0; r < comm->size; r++) {
      if (r == comm->rank) counts[q] = start + total; /* from here on the next number */
      total += all[(int64_t)r * comm->size + q];
    }
    if (q == comm->rank) *m = total;
    start += total;
  }
  for (int64_t i = 0; i < n; i++) number[i] = counts[to[i / b]]++;
  return POISE_OK;
}

static PoiseErr NumberByPartition(PoiseMat A, PoiseInt *number, PoiseInt *m)
{
  PoiseContext ctx = A->ctx;
  int64_t size = PoiseSize(ctx), *counts = NULL;
  int32_t *to = NULL;
  *m = A->rows->n;
  for (int64_t i = 0; i < A->rows->n; i++) number[i] = A->rows->begin + i;
  if (!poiseMatMovesRows(A)) return POISE_OK;
  if (poiseMatPartitionOf(A) != A->asked.partition) { /* it is that of pcsr, which moves no row for little */
    double over;
    TRY(poiseSharesOver(A, A->csr.nz, &over));
    if (over <= 1 + 1.0 / PERCENT) return POISE_OK;
  }
  PoiseErr e = poiseAllocArray(ctx, A->rows->n / A->block_size, sizeof(int32_t), "ranks of rows", &to);
  if (!e) e = poiseAllocArray(ctx, size + size * size, sizeof(int64_t), "counts of rows", &counts);
  e = PoiseAgree(ctx, e);
  if (!e) e = poiseMatPartition(A, poiseMatPartitionOf(A), to);
  if (!e) e = NumberByRank(A, to, counts, number, m);
  poiseFree(ctx, &to);
  poiseFree(ctx, &counts);
  return e;
}

/* number = numbers of A's rows in a better order; each rank numbers its own rows. Local. */
static PoiseErr Reorder(PoiseMat A, PoiseInt *number)
{
  PoiseContext ctx = A->ctx;
  int b = A->block_size;
  Adjacency g = {0};
  int32_t *order = NULL;
  PoiseErr e = poiseAllocArray(ctx, A->rows->n / b, sizeof(int32_t), "order", &order);
  if (!e) e = poiseGraphOfRows(A, true, &g);
  if (!e) e = poiseReverseCuthillMcKee(ctx, &g, order);
  for (int64_t k = 0; !e && k < A->rows->n / b; k++)
    for (int64_t j = 0, first = order[k] * (int64_t)b; j < b; j++)
      number[first + j] = A->rows->begin + k * b + j;
  poiseGraphDestroy(ctx, &g);
  poiseFree(ctx, &order);
  return e;
}

/* The same, as a vector. */
static PoiseErr ReorderVec(PoiseMat A, PoiseVec numbers)
{
  PoiseContext ctx = A->ctx;
  PoiseInt *number = NULL;
  double *v = NULL;
  PoiseErr e = PoiseVecGetWrite(numbers, &v);
  if (!e) e = poiseAllocArray(ctx, A->rows->n, sizeof *number, "numbers of rows", &number);
  if (!e) e = Reorder(A, number);
  for (int64_t i = 0; !e && i < A->rows->n; i++) v[i] = (double)number[i];
  poiseFree(ctx, &number);
  return e;
}

/* Fetch the final numbers of A's rows. B is A after partitioning, and has the final numbers of its own
   rows. number holds the rows of B that A's rows have become. */
static PoiseErr TakeOrder(PoiseMat A, PoiseMat B, PoiseInt *number)
{
  PoiseContext ctx = A->ctx;
  PoiseVec numbers;
  double *v = NULL;
  TRY(PoiseMatCreateVecs(B, &numbers, NULL));
  PoiseErr e = ReorderVec(B, numbers);
  if (!e) e = poiseAllocArray(ctx, A->rows->n, sizeof(double), "numbers of rows", &v);
  e = PoiseAgree(ctx, e);
  if (!e) e = PoiseVecGetValues(numbers, A->rows->n, number, v);
  for (int64_t i = 0; !e && i < A->rows->n; i++) number[i] = (PoiseInt)v[i]; /* exact: below 2^53 */
  poiseFree(ctx, &v);
  PoiseVecDestroy(&numbers);
  return e;
}

static PoiseErr Move(PoiseMat A, const Permutation *p, PoiseMat *B);

static PoiseErr NumberByOrder(PoiseMat A, PoiseInt m, PoiseInt *number)
{
  Permutation p = {0};
  PoiseMat B = NULL;
  if (A->asked.order == POISE_ORDER_NATURAL) return POISE_OK;
  if (!poiseMatMovesRows(A)) return PoiseAgree(A->ctx, Reorder(A, number));
  TRY(Permute(A, m, number, &p));
  PoiseErr e = Move(A, &p, &B);
  if (!e) e = TakeOrder(A, B, number);
  PoiseMatDestroy(&B);
  poisePermutationDestroy(&p);
  return e;
}

static PoiseErr Number(PoiseMat A, PoiseInt *number, PoiseInt *m)
{
  TRY(NumberByPartition(A, number, m));
  return NumberByOrder(A, *m, number);
}

static PoiseErr IsSo(PoiseMat A, PoiseInt m, const PoiseInt *number, bool *so)
{
  int64_t moved = m != A->rows->n;
  for (int64_t i = 0; i < A->rows->n && !moved; i++) moved = number[i] != A->rows->begin + i;
  TRY(poiseCommMaxInt(A->ctx->comm, &moved, 1));
  *so = !moved;
  return POISE_OK;
}

/* always: also if A has the wanted arrangement already. */
static PoiseErr CreatePermutation(PoiseMat A, bool always, Permutation *p)
{
  PoiseInt *number = NULL, m;
  bool so = false;
  *p = (Permutation){0};
  TRY(PoiseAgree(A->ctx, poiseMatCheckReorder(A, A)));
  PoiseErr e =
      PoiseAgree(A->ctx, poiseAllocArray(A->ctx, A->rows->n, sizeof(PoiseInt), "numbers of rows", &number));
  if (!e) e = Number(A, number, &m);
  if (!e && !always) e = IsSo(A, m, number, &so);
  if (!e && !so) e = Permute(A, m, number, p);
  poiseFree(A->ctx, &number);
  return e;
}

PoiseErr poisePermutationCreate(PoiseMat A, Permutation *p)
{
  poiseLogBegin(A->ctx, EVENT_MatRearrange);
  PoiseErr e = CreatePermutation(A, false, p);
  poiseLogEnd(A->ctx, EVENT_MatRearrange, 0, 0);
  return e;
}

/* ---- rearranged matrices --------------------------------------------------------------------- */

typedef struct Places { /* where A's entries (or blocks) go */
  PoiseInt *rows, *cols;
  double *column; /* new numbers of A's local columns */
} Places;

static PoiseErr OwnNumbers(PoiseMat A, PoiseMat from, Places *p)
{
  HostCsr h;
  TRY(poiseColumnsCreate(A, &p->column));
  TRY(poiseMatRead(from, &h));
  for (int64_t i = 0; i < A->rows->n; i++) p->column[i] = (double)poiseCsrGlobal(from, h.col[i]);
  return POISE_OK;
}

static PoiseErr Place(PoiseMat A, Places *p)
{
  HostCsr h;
  const Device *dev = A->ctx->device;
  int64_t b = poiseCsrSide(&A->csr), m = A->csr.m, nblock = POISE_NBLOCKS(m);
  TRY(poiseMatReadEntries(A, &h));
  TRY(poiseAllocArray(A->ctx, A->csr.nz, sizeof(PoiseInt), "rows of entries", &p->rows));
  TRY(poiseAllocArray(A->ctx, A->csr.nz, sizeof(PoiseInt), "columns of entries", &p->cols));
  (void)dev;
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t block = 0; block < nblock; block++)
    for (int64_t i = block * POISE_BLOCK; i < (block + 1) * POISE_BLOCK && i < m; i++)
      for (int64_t k = poiseCsrPtr(&A->csr, h.ptr, i); k < poiseCsrPtr(&A->csr, h.ptr, i + 1); k++)
        p->rows[k] = (PoiseInt)p->column[i * b] / b, p->cols[k] = (PoiseInt)p->column[h.col[k] * b] / b;
  return POISE_OK;
}

/* *stay: no row leaves its rank. Collective. */
static PoiseErr RowsStay(PoiseMat from, bool *stay)
{
  int64_t moves = from->csr.nghost || !poiseLayoutSame(from->rows, from->cols);
  TRY(poiseCommMaxInt(from->ctx->comm, &moves, 1));
  *stay = !moves;
  return POISE_OK;
}

static PoiseErr MovePattern(PoiseMat A, PoiseMat from, PoiseMat B)
{
  Places p = {0};
  bool stay = false;
  TRY(RowsStay(from, &stay));
  PoiseErr e = OwnNumbers(A, from, &p);
  e = poiseColumnsSpread(A, e, p.column);
  if (stay && poiseTripletsPermutable(A, B)) {
    e = poiseTripletsPermute(A, e, p.column, B);
    poiseFree(A->ctx, &p.column);
    return e;
  }
  if (!e) e = Place(A, &p);
  e = PoiseAgree(A->ctx, e);
  poiseFree(A->ctx, &p.column);
  if (!e)
    e = A->csr.b ? PoiseMatSetBlockPatternCOO(B, A->csr.nz, p.rows, p.cols)
                 : PoiseMatSetPatternCOO(B, A->csr.nz, p.rows, p.cols);
  poiseFree(A->ctx, &p.rows);
  poiseFree(A->ctx, &p.cols);
  return e;
}

static PoiseErr MoveValues(PoiseMat A, PoiseMat B)
{
  const double *val;
  PoiseErr e = poiseMatCheckUsable(A);
  if (!e) e = poiseBufferRead(&A->csr.val, DEVICE, &val);
  TRY(PoiseAgree(A->ctx, e));
  return poiseMatTakeCOO(B, POISE_OK, DEVICE, val, false);
}

PoiseErr poiseMatMoveValues(PoiseMat A, PoiseMat B)
{
  poiseLogBegin(A->ctx, EVENT_MatRearrange);
  PoiseErr e = MoveValues(A, B);
  poiseLogEnd(A->ctx, EVENT_MatRearrange, 0, 0);
  return e;
}

typedef PoiseErr (*SetSpace)(PoiseMat, int constant, int n, const PoiseVec *);

static PoiseErr MoveSpace(const NullSpace *space, const Permutation *p, PoiseMat B, SetSpace set)
{
  PoiseVec moved[POISE_MAX_BATCH] = {NULL};
  PoiseErr e = POISE_OK;
  for (int k = 0; !e && k < space->n; k++) {
    e = PoiseMatCreateVecs(B, &moved[k], NULL);
    if (!e) e = poiseVecMove(p->to, space->v[k], moved[k]);
  }
  if (!e) e = set(B, 0, space->n, moved);
  for (int k = 0; k < space->n; k++) PoiseVecDestroy(&moved[k]);
  return e;
}

static PoiseErr MoveProduct(PoiseMat A, PoiseMat B)
{
  TRY(poiseMatChangeType(B, A->asked.type));
  poiseMatInherit(A, B);
  TRY(poiseMatInheritParts(A, B));
  return poiseMatSetUp(B);
}

PoiseErr poiseMatMoveRest(PoiseMat A, const Permutation *p, unsigned changed, PoiseMat B)
{
  bool spaces = changed & CHANGED_SPACES;
  if (changed & CHANGED_PRODUCT) TRY(MoveProduct(A, B));
  if (changed & CHANGED_NEAR) TRY(MoveSpace(&A->near, p, B, PoiseMatSetNearNullSpace));
  if (spaces) TRY(MoveSpace(&A->null, p, B, PoiseMatSetNullSpace));
  return spaces ? MoveSpace(&A->left, p, B, PoiseMatSetTransposeNullSpace) : POISE_OK;
}

static PoiseErr Move(PoiseMat A, const Permutation *p, PoiseMat *B)
{
  const Layout *l = p->from->cols;
  TRY(poiseMatCreateTyped(A->ctx, A->asked.type, l->n, l->n, l->N, l->N, B));
  (*B)->block_size = A->block_size;
  poiseMatInherit(A, *B);
  TRY(MovePattern(A, p->from, *B));
  TRY(MoveValues(A, *B));
  return poiseMatMoveRest(A, p, ~0u, *B);
}

PoiseErr poiseMatReordered(PoiseMat A, const Permutation *p, PoiseMat *B)
{
  *B = NULL;
  poiseLogBegin(A->ctx, EVENT_MatRearrange);
  PoiseErr e = Move(A, p, B);
  poiseLogEnd(A->ctx, EVENT_MatRearrange, 0, 0);
  if (e) PoiseMatDestroy(B);
  return e;
}

PoiseErr poiseVecMove(PoiseMat P, PoiseVec x, PoiseVec y)
{
  P->product.silent = true; /* logged as moves */
  poiseLogBegin(P->ctx, EVENT_VecMove);
  PoiseErr e = poiseMatMultPlain(P, x, y);
  poiseLogEnd(P->ctx, EVENT_VecMove, 0, poiseMatTraffic(P));
  return PoiseAgree(P->ctx, e);
}

/* ---- what crosses to the application --------------------------------------------------------- */

Layout *poiseMatRowsOutside(PoiseMat A)
{
  return A->origin.moves.from ? A->origin.moves.from->rows : A->rows;
}

PoiseErr poiseMatCheckOutside(PoiseMat A, const char *what)
{
  if (A->origin.moves.to && !A->origin.moves.from)
    FAIL(POISE_ERR_UNSUPPORTED,
         "%s in a block of a matrix that a solver has rearranged (-mat_partition, -mat_order): its rows are "
         "no block of the "
         "application's",
         what);
  return POISE_OK;
}

PoiseErr poiseMatOutside(PoiseMat A, PoiseMat *original)
{
  *original = A->origin.moves.from ? A->origin.mat : A;
  if (!*original)
    FAIL(POISE_ERR_STATE,
         "the solver of a rearranged matrix has been given another one: call its PoiseKSPSetUp first");
  return POISE_OK;
}

bool poiseMatSameRows(PoiseMat A, PoiseMat P)
{
  return A->origin.moves.to == P->origin.moves.to;
}

PoiseErr PoiseMatRearrange(PoiseMat A, PoiseMat *B, PoiseMat *P)
{
  CALLED(OBJECT(A), GIVEN(B));
  Permutation p;
  *B = NULL;
  if (P) *P = NULL;
  poiseLogBegin(A->ctx, EVENT_MatRearrange);
  PoiseErr e = CreatePermutation(A, true, &p);
  if (!e) e = Move(A, &p, B);
  poiseLogEnd(A->ctx, EVENT_MatRearrange, 0, 0);
  if (e)
    PoiseMatDestroy(B);
  else
    poiseTripletsDestroy(A->ctx, &(*B)->assembly.triplets);
  if (!e && P) e = poiseMatShare(p.to, P);
  poisePermutationDestroy(&p);
  return e;
}

/* ---- what has become better ------------------------------------------------------------------ */

static PoiseErr Bandwidth(PoiseMat A, double *width)
{
  HostCsr h;
  const Device *dev = A->ctx->device;
  int64_t b = poiseCsrSide(&A->csr), m = A->csr.m, nblock = POISE_NBLOCKS(m), most = -1;
  *width = 0;
  TRY(poiseMatReadEntries(A, &h));
  (void)dev;
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t block = 0; block < nblock; block++) {
    int64_t far = -1;
    for (int64_t i = block * POISE_BLOCK; i < (block + 1) * POISE_BLOCK && i < m; i++)
      for (int64_t k = poiseCsrPtr(&A->csr, h.ptr, i); k < poiseCsrPtr(&A->csr, h.ptr, i + 1); k++) {
        int64_t off = llabs(h.col[k] - i);
        if (h.col[k] < A->csr.nloc && off > far) far = off;
      }
    HOST_CRITICAL
    most = far > most ? far : most;
  }
  if (most >= 0) *width = (double)(most * b + b - 1);
  return POISE_OK;
}

PoiseErr poiseMatShape(PoiseMat A, MatShape *shape)
{
  double numbers = (double)poiseCsrScalars(&A->csr), most[2] = {numbers, 0};
  double sum[2] = {numbers, (double)(A->csr.nghost * poiseCsrSide(&A->csr))};
  TRY(PoiseAgree(A->ctx, Bandwidth(A, &most[1])));
  TRY(PoiseSum(A->ctx, 2, sum));
  TRY(PoiseMax(A->ctx, 2, most));
  *shape = (MatShape){.nonzeros = sum[0], .most = most[0], .ghosts = sum[1], .bandwidth = most[1]};
  return POISE_OK;
}

long long poiseMatRowName(PoiseMat A, int64_t i)
{
  HostCsr h;
  PoiseMat P = A->origin.moves.to;
  PoiseInt row = A->origin.row + A->rows->begin + i;
  if (!P || row < P->rows->begin || row >= P->rows->begin + P->rows->n || poiseMatRead(P, &h))
    return (long long)row;
  return (long long)poiseCsrGlobal(P, h.col[row - P->rows->begin]);
}
