/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Matrices in another layout and numbering. A permutation is a matrix with a 1 in each row, so that its SpMV
  moves vectors. The entries of the rearranged matrix are triplets, so that one pass copies new values of the
  original.

  An order with a matching numbers columns by the rows that they are matched with, and multiplies them by
  powers of 2. So x is moved by other matrices than b, whose entries are these powers. Rows are not scaled:
  |b - A x| is what the application knows. A preconditioner that divides by the diagonal scales them.
*/
#include "arrange.h"
#include "mat/csr/columns.h"
#include "mat/assembly/triplets.h"
#include "mat/object/mat.h"
#include "mat/csr/entries.h"
#include "graph.h"
#include "renumber.h"
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
  if ((int)order < 0 || order > POISE_ORDER_MATCH_AMD)
    FAIL(POISE_ERR_ARG, "there is no order %d", (int)order);
  if (order == POISE_ORDER_AMD || order == POISE_ORDER_MATCH_AMD) TRY(poiseAmdCheck());
  A->asked.order = order;
  return POISE_OK;
}

bool poiseMatReorders(PoiseMat A, PoiseOrder order)
{
  return poiseMatMovesRows(A) || order != POISE_ORDER_NATURAL;
}

bool poiseOrderMatches(PoiseOrder order)
{
  return order >= POISE_ORDER_MATCH;
}

/* Columns are exchanged one by one. What is known of the null space of A tells nothing of A^T then. */
static PoiseErr CheckMatch(PoiseMat A, PoiseMat asked, PoiseOrder order)
{
  char words[POISE_OPTION_LENGTH];
  if (A->csr.b || A->asked.type->blocked || asked->block_size > 1)
    FAIL(POISE_ERR_UNSUPPORTED,
         "%s exchanges columns one by one, and the matrix has blocks (type %s, block size %d)",
         poiseMatReorderWords(asked, order, words, sizeof words), A->asked.type->name, asked->block_size);
  if (A->null.n || A->left.n)
    FAIL(POISE_ERR_UNSUPPORTED, "%s does not work with a null space (PoiseMatSetNullSpace)",
         poiseMatReorderWords(asked, order, words, sizeof words));
  return POISE_OK;
}

PoiseErr poiseMatCheckReorder(PoiseMat A, PoiseMat asked, PoiseOrder order)
{
  char words[POISE_OPTION_LENGTH];
  if (!poiseMatHolds(A))
    FAIL(POISE_ERR_UNSUPPORTED, "a matrix of type %s cannot be rearranged (%s)", A->type->name,
         poiseMatReorderWords(asked, order, words, sizeof words));
  TRY(poiseMatCheckUsable(A));
  if (A->csr.b && asked->block_size % A->csr.b)
    FAIL(POISE_ERR_UNSUPPORTED,
         "a matrix of blocks of %d x %d cannot be rearranged (%s) as one of block size %d", A->csr.b,
         A->csr.b, poiseMatReorderWords(asked, order, words, sizeof words), asked->block_size);
  if (poiseOrderMatches(order)) TRY(CheckMatch(A, asked, order));
  return poiseMatCheckSquare(A);
}

/* ---- permutations ---------------------------------------------------------------------------- */

void poisePermutationDestroy(Permutation *p)
{
  PoiseMatDestroy(&p->from);
  PoiseMatDestroy(&p->to);
  PoiseMatDestroy(&p->out);
  PoiseMatDestroy(&p->into);
}

static PoiseErr ShareIfAny(PoiseMat A, PoiseMat *B)
{
  return A ? poiseMatShare(A, B) : POISE_OK;
}

PoiseErr poisePermutationShare(const Permutation *p, Permutation *q)
{
  TRY(ShareIfAny(p->from, &q->from));
  TRY(ShareIfAny(p->to, &q->to));
  TRY(ShareIfAny(p->out, &q->out));
  return ShareIfAny(p->into, &q->into);
}

static PoiseErr Counted(PoiseContext ctx, int64_t n, int64_t **ptr)
{
  TRY(poiseAllocArray(ctx, n + 1, sizeof(int64_t), "permutation", ptr));
  for (int64_t i = 0; i < n; i++) (*ptr)[i + 1] = i + 1;
  return POISE_OK;
}

/* A matrix that takes new numbers to A's, with these entries; m of the new ones are this rank's. */
static PoiseErr MakeFrom(PoiseMat A, PoiseInt m, const PoiseInt *number, const double *val, PoiseMat *from)
{
  PoiseContext ctx = A->ctx;
  int64_t *ptr = NULL;
  PoiseErr e = PoiseAgree(ctx, Counted(ctx, A->rows->n, &ptr));
  PoiseCSR csr = {.ptr64 = ptr, .col64 = number ? number : ptr, .val = val}; /* not NULL without entries */
  if (!e) e = PoiseMatCreateCSR(ctx, A->rows->n, m, A->rows->N, A->rows->N, &csr, POISE_COPY, from);
  if (!e) e = PoiseMatSetType(*from, "csr"); /* csr, as rows have one entry */
  poiseFree(ctx, &ptr);
  return e;
}

/* The same with ones, and its inverse. */
static PoiseErr Permute(PoiseMat A, PoiseInt m, const PoiseInt *number, PoiseMat *from, PoiseMat *to)
{
  double *ones = NULL;
  PoiseErr e = PoiseAgree(A->ctx, poiseAllocArray(A->ctx, A->rows->n, sizeof *ones, "permutation", &ones));
  for (int64_t i = 0; !e && i < A->rows->n; i++) ones[i] = 1;
  if (!e) e = MakeFrom(A, m, number, ones, from);
  if (!e) e = PoiseMatTranspose(*from, to);
  poiseFree(A->ctx, &ones);
  return e;
}

/* With scales, and its inverse. */
static PoiseErr PermuteScaled(PoiseMat A, const NewNumbers *n, PoiseMat *out, PoiseMat *into)
{
  double *inverse = NULL;
  PoiseMat scaled = NULL;
  TRY(MakeFrom(A, n->m, n->col, n->scale, out));
  PoiseErr e = PoiseAgree(A->ctx, poiseAllocArray(A->ctx, A->rows->n, sizeof *inverse, "scales", &inverse));
  for (int64_t i = 0; !e && i < A->rows->n; i++) inverse[i] = 1 / n->scale[i];
  if (!e) e = MakeFrom(A, n->m, n->col, inverse, &scaled);
  if (!e) e = PoiseMatTranspose(scaled, into);
  PoiseMatDestroy(&scaled);
  poiseFree(A->ctx, &inverse);
  return e;
}

/* Columns get their rows' numbers. */
static PoiseErr PermuteAlike(PoiseMat A, const NewNumbers *n, Permutation *p)
{
  PoiseErr e = Permute(A, n->m, n->row, &p->from, &p->to);
  if (!e) e = poiseMatShare(p->from, &p->out);
  return e ? e : poiseMatShare(p->to, &p->into);
}

static PoiseErr PermuteApart(PoiseMat A, const NewNumbers *n, Permutation *p)
{
  PoiseErr e = Permute(A, n->m, n->row, &p->from, &p->to);
  return e ? e : PermuteScaled(A, n, &p->out, &p->into);
}

PoiseErr poisePermutationOf(PoiseMat A, const NewNumbers *n, Permutation *p)
{
  PoiseErr e = n->apart ? PermuteApart(A, n, p) : PermuteAlike(A, n, p);
  if (e) poisePermutationDestroy(p);
  return e;
}

static PoiseErr IsSo(PoiseMat A, const NewNumbers *n, bool *so)
{
  int64_t moved = n->m != A->rows->n;
  for (int64_t i = 0; i < A->rows->n && !moved; i++) {
    PoiseInt own = A->rows->begin + i;
    moved = n->row[i] != own || n->col[i] != own || n->scale[i] != 1;
  }
  TRY(poiseCommMaxInt(A->ctx->comm, &moved, 1));
  *so = !moved;
  return POISE_OK;
}

/* always: also if A has the wanted arrangement already. */
static PoiseErr CreatePermutation(PoiseMat A, PoiseOrder order, bool always, Permutation *p)
{
  NewNumbers n = {0};
  bool so = false;
  *p = (Permutation){0};
  TRY(PoiseAgree(A->ctx, poiseMatCheckReorder(A, A, order)));
  PoiseErr e = poiseNumber(A, order, &n);
  if (!e && !always) e = IsSo(A, &n, &so);
  if (!e && !so) e = poisePermutationOf(A, &n, p);
  poiseNumbersDestroy(A->ctx, &n);
  return e;
}

PoiseErr poisePermutationCreate(PoiseMat A, PoiseOrder order, Permutation *p)
{
  poiseLogBegin(A->ctx, EVENT_MatRearrange);
  PoiseErr e = CreatePermutation(A, order, false, p);
  poiseLogEnd(A->ctx, EVENT_MatRearrange, 0, 0);
  return e;
}

/* ---- rearranged matrices --------------------------------------------------------------------- */

typedef struct Places { /* where A's entries (or blocks) go */
  PoiseInt *rows, *cols;
  double *row, *column; /* new numbers of A's rows, and of its local columns */
} Places;

static PoiseErr OwnNumbers(PoiseMat from, double *number)
{
  HostCsr h;
  TRY(poiseMatRead(from, &h));
  for (int64_t i = 0; i < from->rows->n; i++) number[i] = (double)poiseCsrGlobal(from, h.col[i]);
  return POISE_OK;
}

static PoiseErr NumbersOf(PoiseMat A, const Permutation *move, Places *p)
{
  TRY(poiseAllocArray(A->ctx, A->rows->n, sizeof(double), "numbers of rows", &p->row));
  TRY(poiseColumnsCreate(A, &p->column));
  TRY(OwnNumbers(move->from, p->row));
  return OwnNumbers(move->out, p->column);
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
        p->rows[k] = (PoiseInt)p->row[i * b] / b, p->cols[k] = (PoiseInt)p->column[h.col[k] * b] / b;
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

static PoiseErr PutPattern(PoiseMat A, PoiseErr mine, Places *p, PoiseMat B)
{
  if (!mine) mine = Place(A, p);
  TRY(PoiseAgree(A->ctx, mine));
  return A->csr.b ? PoiseMatSetBlockPatternCOO(B, A->csr.nz, p->rows, p->cols)
                  : PoiseMatSetPatternCOO(B, A->csr.nz, p->rows, p->cols);
}

static PoiseErr MovePattern(PoiseMat A, const Permutation *move, PoiseMat B)
{
  Places p = {0};
  bool stay = false;
  TRY(RowsStay(move->from, &stay));
  PoiseErr e = NumbersOf(A, move, &p);
  e = poiseColumnsSpread(A, e, p.column);
  if (stay && poiseTripletsPermutable(A, B))
    e = poiseTripletsPermute(A, e, p.row, p.column, B);
  else
    e = PutPattern(A, e, &p, B);
  poiseFree(A->ctx, &p.row);
  poiseFree(A->ctx, &p.column);
  poiseFree(A->ctx, &p.rows);
  poiseFree(A->ctx, &p.cols);
  return e;
}

static PoiseErr CopyValues(PoiseMat A, PoiseMat B)
{
  const double *val;
  PoiseErr e = poiseMatCheckUsable(A);
  if (!e) e = poiseBufferRead(&A->csr.val, DEVICE, &val);
  TRY(PoiseAgree(A->ctx, e));
  return poiseMatTakeCOO(B, POISE_OK, DEVICE, val, false);
}

/* The columns of B are multiplied by what x is: `into` has the inverses. */
static PoiseErr Scale(PoiseMat into, PoiseMat B)
{
  PoiseVec ones = NULL, scale = NULL;
  PoiseErr e = PoiseMatCreateVecs(into, &ones, &scale);
  if (!e) e = PoiseAgree(B->ctx, PoiseVecSet(ones, 1));
  if (!e) e = poiseVecMove(into, ones, scale);
  if (!e) e = PoiseAgree(B->ctx, PoiseVecReciprocal(scale));
  if (!e) e = PoiseMatDiagonalScale(B, NULL, scale);
  PoiseVecDestroy(&ones);
  PoiseVecDestroy(&scale);
  return e;
}

static PoiseErr MoveValues(PoiseMat A, const Permutation *p, PoiseMat B)
{
  TRY(CopyValues(A, B));
  return p->into != p->to ? Scale(p->into, B) : POISE_OK;
}

PoiseErr poiseMatMoveValues(PoiseMat A, const Permutation *p, PoiseMat B)
{
  poiseLogBegin(A->ctx, EVENT_MatRearrange);
  PoiseErr e = MoveValues(A, p, B);
  poiseLogEnd(A->ctx, EVENT_MatRearrange, 0, 0);
  return e;
}

typedef PoiseErr (*SetSpace)(PoiseMat, int constant, int n, const PoiseVec *);

static PoiseErr MoveSpace(const NullSpace *space, PoiseMat into, PoiseMat B, SetSpace set)
{
  PoiseVec moved[POISE_MAX_BATCH] = {NULL};
  PoiseErr e = POISE_OK;
  for (int k = 0; !e && k < space->n; k++) {
    e = PoiseMatCreateVecs(B, &moved[k], NULL);
    if (!e) e = poiseVecMove(into, space->v[k], moved[k]);
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
  if (changed & CHANGED_NEAR) TRY(MoveSpace(&A->near, p->into, B, PoiseMatSetNearNullSpace));
  if (spaces) TRY(MoveSpace(&A->null, p->into, B, PoiseMatSetNullSpace));
  return spaces ? MoveSpace(&A->left, p->to, B, PoiseMatSetTransposeNullSpace) : POISE_OK;
}

PoiseErr poiseMatMove(PoiseMat A, const Permutation *p, PoiseMat *B)
{
  const Layout *l = p->from->cols;
  TRY(poiseMatCreateTyped(A->ctx, A->asked.type, l->n, l->n, l->N, l->N, B));
  (*B)->block_size = A->block_size;
  poiseMatInherit(A, *B);
  TRY(MovePattern(A, p, *B));
  TRY(MoveValues(A, p, *B));
  return poiseMatMoveRest(A, p, ~0u, *B);
}

PoiseErr poiseMatReordered(PoiseMat A, const Permutation *p, PoiseMat *B)
{
  *B = NULL;
  poiseLogBegin(A->ctx, EVENT_MatRearrange);
  PoiseErr e = poiseMatMove(A, p, B);
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
  if (poiseOrderMatches(A->asked.order))
    FAIL(POISE_ERR_UNSUPPORTED,
         "PoiseMatRearrange gives P A P^T, and an order with a matching exchanges columns alone and scales "
         "them: only solvers work with it");
  poiseLogBegin(A->ctx, EVENT_MatRearrange);
  PoiseErr e = CreatePermutation(A, A->asked.order, true, &p);
  if (!e) e = poiseMatMove(A, &p, B);
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

static PoiseErr Matched(const Permutation *p, double *exchanged, double most[2])
{
  HostCsr rows, columns;
  TRY(poiseMatRead(p->from, &rows));
  TRY(poiseMatRead(p->out, &columns));
  for (int64_t i = 0; i < p->from->rows->n; i++) {
    *exchanged += poiseCsrGlobal(p->from, rows.col[i]) != poiseCsrGlobal(p->out, columns.col[i]);
    most[0] = fmax(most[0], ilogb(columns.val[i]));
    most[1] = fmax(most[1], -ilogb(columns.val[i]));
  }
  return POISE_OK;
}

PoiseErr poisePermutationShape(const Permutation *p, MatchShape *shape)
{
  PoiseContext ctx = p->from->ctx;
  double most[2] = {0, 0};
  *shape = (MatchShape){0};
  TRY(PoiseAgree(ctx, Matched(p, &shape->exchanged, most)));
  TRY(PoiseSum(ctx, 1, &shape->exchanged));
  TRY(PoiseMax(ctx, 2, most));
  shape->most = most[0], shape->least = -most[1];
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
