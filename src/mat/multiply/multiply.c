/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Products of matrices. C = A B is a product of what each rank has, once it has fetched rows of B. P^T (A P)
  is two of these: A P, and each rank's P^T times its rows of A P. On several ranks the latter has rows of
  other ranks: its entries are then triplets of C, which travel to their owners and are added there.
*/
#include "fetched_rows.h"
#include "mat/csr/replace.h"
#include "mat/assembly/shared_rows.h"
#include "mat/assembly/triplets.h"
#include "mat/csr/entries.h"
#include "mat/csr/replace_values.h"
#include "mat/object/mat_type.h"
#include "multiply.h"
#include "same_pattern_kernels.h"
#include "sys/device/host_loop.h"
#include "tiles.h"

typedef struct Multiplied {
  Version made[3]; /* of the factors and of C */
  bool galerkin;
  FetchedRows rows;    /* of the right factor */
  LocalProduct first;  /* A B or A P */
  LocalProduct second; /* P^T (A P) */
  Csr product;         /* A P; a device releases its numbers once they are used */
  Transposed turned;   /* P by columns */
  Csr partial;         /* this rank's P^T (A P), on several ranks */
} Multiplied;

void poiseMultipliedDestroy(PoiseContext ctx, Multiplied **kept)
{
  Multiplied *k = *kept;
  if (!k) return;
  poiseFetchedDestroy(&k->rows);
  poiseCsrDestroy(ctx, &k->product);
  poiseCsrDestroy(ctx, &k->partial);
  poiseTransposedDestroy(&k->turned);
  poiseFree(ctx, kept);
}

Transposed *poiseMultipliedByColumns(struct Multiplied *k)
{
  return &k->turned;
}

static void AddCsr(const Csr *c, PoiseBytes *sum)
{
  poiseBufferAdd(&c->ptr, sum);
  poiseBufferAdd(&c->col, sum);
  poiseBufferAdd(&c->val, sum);
}

void poiseMultipliedBytes(const Multiplied *k, PoiseBytes *sum)
{
  if (!k) return;
  poiseFetchedBytes(&k->rows, sum);
  AddCsr(&k->product, sum);
  AddCsr(&k->partial, sum);
  poiseBufferAdd(&k->turned.ptr, sum);
  poiseBufferAdd(&k->turned.row, sum);
  poiseBufferAdd(&k->turned.from, sum);
}

/* ---- checks ---------------------------------------------------------------------------------- */

static PoiseErr CheckFactors(PoiseMat A, PoiseMat B, bool galerkin)
{
  const char *what = galerkin ? "PoiseMatPtAP" : "PoiseMatMatMult";
  TRY(poiseMatCheckHolds(A, what));
  if (!poiseMatIsTiles(B)) TRY(poiseMatCheckHolds(B, what));
  TRY(poiseMatCheckUsable(A));
  TRY(poiseMatCheckUsable(B));
  if (galerkin) TRY(poiseMatCheckSquare(A));
  if (!poiseLayoutSame(A->cols, B->rows))
    FAIL(POISE_ERR_SIZE, "A is %lld x %lld, %s is %lld x %lld (on rank %d %lld columns and %lld rows)",
         (long long)A->rows->N, (long long)A->cols->N, galerkin ? "P" : "B", (long long)B->rows->N,
         (long long)B->cols->N, PoiseRank(A->ctx), (long long)A->cols->n, (long long)B->rows->n);
  if (poiseCsrAcross(&A->csr) != poiseCsrSide(&B->csr))
    FAIL(POISE_ERR_UNSUPPORTED, "a product of matrices with blocks of %d x %d and of %d x %d",
         (int)poiseCsrSide(&A->csr), (int)poiseCsrAcross(&A->csr), (int)poiseCsrSide(&B->csr),
         (int)poiseCsrAcross(&B->csr));
  return POISE_OK;
}

/* Is C, of the caller, laid out as the product, and no factor? */
static PoiseErr CheckResult(PoiseMat A, PoiseMat B, bool galerkin, PoiseMat C)
{
  const Layout *rows = galerkin ? B->cols : A->rows;
  int across = (int)poiseCsrAcross(&B->csr), side = galerkin ? across : (int)poiseCsrSide(&A->csr);
  if (!poiseMatIsTiles(C)) TRY(poiseMatCheckHolds(C, "products of matrices"));
  TRY(poiseMatCheckUsable(C));
  if (C == A || C == B) FAIL(POISE_ERR_ARG, "C is a factor of the product that it is to become");
  if (!poiseLayoutSame(C->rows, rows) || !poiseLayoutSame(C->cols, B->cols))
    FAIL(POISE_ERR_ARG, "C is %lld x %lld (%lld x %lld on rank %d), the product %lld x %lld (%lld x %lld)",
         (long long)C->rows->N, (long long)C->cols->N, (long long)C->rows->n, (long long)C->cols->n,
         PoiseRank(A->ctx), (long long)rows->N, (long long)B->cols->N, (long long)rows->n,
         (long long)B->cols->n);
  if (poiseCsrSide(&C->csr) != side || poiseCsrAcross(&C->csr) != across)
    FAIL(POISE_ERR_ARG, "C has blocks of %d x %d, the product of %d x %d", (int)poiseCsrSide(&C->csr),
         (int)poiseCsrAcross(&C->csr), side, across);
  return POISE_OK;
}

/* ---- patterns -------------------------------------------------------------------------------- */

/* Columns of all have the same numbers. */
static LocalProduct ProductOf(LocalFactor left, LocalFactor right, int64_t m, int64_t columns)
{
  const Csr *l = left.csr, *r = right.csr;
  return (LocalProduct){.A = left,
                        .B = right,
                        .p = (int)(left.turned ? poiseCsrAcross(l) : poiseCsrSide(l)),
                        .q = (int)poiseCsrSide(r),
                        .s = (int)poiseCsrAcross(r),
                        .m = m,
                        .columns = columns,
                        .nloc = columns};
}

/* The blocks of a product: rows of `side` scalars, columns as those of b. */
static void SetBlocks(PoiseMat A, const Csr *b, int64_t side, Csr *c)
{
  int64_t across = poiseCsrAcross(b);
  if (!A->csr.b && !b->b) return;
  c->b = (int)side;
  c->across = across == side ? 0 : (int)across;
}

/* The columns of the right factor's rows: its own or, with those fetched, more. */
static int64_t Columns(const Multiplied *k, const Csr *b)
{
  return k->rows.ctx ? k->rows.nloc + k->rows.nghost : b->nloc + b->nghost;
}

/* What a matrix needs beside offsets, columns and values. */
static PoiseErr Dress(PoiseMat A, const Multiplied *k, Csr *c)
{
  if (!k->rows.ctx) return POISE_OK;
  c->nghost = k->rows.nghost;
  TRY(poiseAllocArray(A->ctx, c->nghost, sizeof *c->ghost, "ghost columns", &c->ghost));
  if (c->nghost) memcpy(c->ghost, k->rows.ghost, (size_t)c->nghost * sizeof *c->ghost);
  return POISE_OK;
}

/* The pattern of A B in c, as a matrix has it. */
static PoiseErr PatternAB(PoiseMat A, PoiseMat B, Multiplied *k, Csr *c)
{
  LocalFactor left = {.csr = &A->csr};
  k->first = ProductOf(left, poiseFetchedFactor(&k->rows, &B->csr), A->csr.m, Columns(k, &B->csr));
  k->first.numbers = !k->rows.ctx;
  if (k->rows.ctx) k->first.nloc = k->rows.nloc, k->first.below = k->rows.below;
  SetBlocks(A, &B->csr, poiseCsrSide(&A->csr), c);
  TRY(poiseLocalPattern(A->ctx->device, &k->first, c));
  return Dress(A, k, c);
}

/* The pattern of this rank's P^T (A P) in c, with the rows of all of P's columns here; on one rank those of
   C. Columns are in the order of their global numbers, those of A P too. */
static PoiseErr PatternPtAP(PoiseMat A, PoiseMat P, PoiseMat left, Multiplied *k, Csr *c)
{
  Device *dev = A->ctx->device;
  LocalFactor of = {.csr = &A->csr}, product = {.csr = &k->product},
              turned = {.csr = &left->csr, .turned = &k->turned};
  int64_t columns = Columns(k, &P->csr);
  SetBlocks(A, &P->csr, poiseCsrSide(&A->csr), &k->product);
  SetBlocks(A, &P->csr, poiseCsrAcross(&P->csr), c);
  k->first = ProductOf(of, poiseFetchedFactor(&k->rows, &P->csr), A->csr.m, columns);
  k->first.any_order = true; /* C's entries are the same sums */
  k->first.numbers = !k->rows.ctx;
  TRY(poiseTransposedCreate(P, &k->turned)); /* it sorts, while there is room */
  TRY(poiseLocalPattern(dev, &k->first, &k->product));
  k->second = ProductOf(turned, product, P->csr.nloc + P->csr.nghost, columns);
  k->second.numbers = k->first.made;
  TRY(poiseLocalPattern(dev, &k->second, c));
  if (k->second.made) poiseBufferForget(&k->product.val);
  return POISE_OK;
}

/* The entries of this rank's part as triplets of C. Beside it a rank holds 16 bytes for each. */
static PoiseErr ListPart(PoiseMat P, Multiplied *k, PoiseMat C)
{
  Csr *part = &k->partial;
  GlobalEntries g = {0};
  PoiseErr e = PoiseAgree(C->ctx, poiseFetchedEntries(&k->rows, &P->csr, part, &g));
  if (!e && part->b) e = PoiseMatSetBlockPatternDeviceCOO(C, part->nz, g.rows, g.cols);
  if (!e && !part->b) e = PoiseMatSetPatternDeviceCOO(C, part->nz, g.rows, g.cols);
  poiseGlobalEntriesDestroy(&g);
  return e;
}

/* The same, with no lists: rows of C, and of other ranks, as they are. */
static PoiseErr SharePart(PoiseMat P, Multiplied *k, PoiseMat C)
{
  SharedRows s = {.nghost = {P->csr.nghost, k->rows.nghost}};
  poiseFetchedColumns(&k->rows, &P->csr, &s.rows, &s.columns);
  PoiseErr e = poiseCsrPattern(&k->partial, &s.C);
  return poiseMatSetSharedRows(C, e, &s);
}

/* C's pattern, of the entries of all ranks. mine: this rank's error so far. */
static PoiseErr SpreadPattern(PoiseMat A, PoiseMat P, PoiseMat left, PoiseErr mine, Multiplied *k, PoiseMat C)
{
  Csr *part = &k->partial;
  TRY(PoiseAgree(A->ctx, mine ? mine : PatternPtAP(A, P, left, k, part)));
  if (part->b) TRY(PoiseMatSetBlockSize(C, part->b));
  if (part->b) TRY(PoiseMatSetType(C, "bcsr"));
  return poiseSharedRowsStay(C) ? SharePart(P, k, C) : ListPart(P, k, C);
}

/* C has this CSR, of scalars, blocks, or tiles. */
static PoiseErr Take(PoiseMat C, PoiseErr mine, Csr *c)
{
  if (poiseMatIsTiles(C)) return poiseTilesTake(C, mine, c->b, (int)poiseCsrAcross(c), NULL, c);
  if (c->b) C->block_size = c->b;
  return poiseMatReplaceCsr(C, mine, c);
}

static PoiseErr Pattern(PoiseMat A, PoiseMat B, PoiseMat left, bool galerkin, PoiseMat C)
{
  PoiseContext ctx = A->ctx;
  Csr c = {0};
  Multiplied *k = C->multiplied;
  k->galerkin = galerkin;
  PoiseErr e = PoiseSize(ctx) > 1 ? poiseFetchPattern(A, B, &k->rows) : POISE_OK;
  if (galerkin && PoiseSize(ctx) > 1) {
    TRY(SpreadPattern(A, B, left, e, k, C));
  } else {
    if (!e) e = galerkin ? PatternPtAP(A, B, left, k, &c) : PatternAB(A, B, k, &c);
    TRY(Take(C, e, &c));
  }
  k->made[0] = A->version, k->made[1] = B->version, k->made[2] = C->version;
  return POISE_OK;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static PoiseErr LocalNumbers(PoiseMat A, Multiplied *k, Csr *c)
{
  Device *dev = A->ctx->device;
  if (!k->galerkin) return poiseLocalNumbers(dev, &k->first, c);
  TRY(poiseLocalNumbers(dev, &k->first, &k->product));
  TRY(poiseLocalNumbers(dev, &k->second, c));
  poiseBufferForget(&k->product.val);
  return POISE_OK;
}

/* left: of the second product, with B's pattern; B, or another one that may be gone the next time. */
static PoiseErr Numbers(PoiseMat A, PoiseMat B, PoiseMat left, PoiseMat C)
{
  PoiseContext ctx = A->ctx;
  Multiplied *k = C->multiplied;
  if (k->galerkin) k->second.A.csr = &left->csr;
  bool spread = k->galerkin && k->rows.ctx;
  Side side = ctx->device->ops->is_host ? HOST : DEVICE;
  const double *v = NULL;
  PoiseErr e = poiseFetchNumbers(&k->rows, &B->csr);
  if (!e) e = LocalNumbers(A, k, spread ? &k->partial : &C->csr);
  if (!e && spread) e = poiseBufferRead(&k->partial.val, side, &v);
  if (!e && !spread) e = poiseBufferSyncBorrowed(&C->csr.val);
  if (spread) return poiseMatTakeCOO(C, e, side, v, false);
  TRY(PoiseAgree(ctx, e));
  C->version.values++;
  return POISE_OK;
}

/* ---- both ------------------------------------------------------------------------------------ */

static PoiseErr Create(PoiseMat A, PoiseMat B, PoiseMat left, bool galerkin, PoiseMat *C)
{
  bool tiles = !galerkin && poiseCsrSide(&A->csr) != poiseCsrAcross(&B->csr);
  PoiseErr e = poiseMatCreateLocal(tiles ? &poiseMatType_tiles : &poiseMatType_auto,
                                   galerkin ? B->cols : A->rows, B->cols, C);
  if (!e) e = poiseAlloc(A->ctx, sizeof *(*C)->multiplied, "a product", &(*C)->multiplied);
  e = PoiseAgree(A->ctx, e);
  if (!e) e = Pattern(A, B, left, galerkin, *C);
  if (!e) e = Numbers(A, B, left, *C);
  if (e) PoiseMatDestroy(C);
  return e;
}

/* Was C made of these, as they are? All ranks say the same. */
static bool IsCurrent(PoiseMat A, PoiseMat B, bool galerkin, PoiseMat C)
{
  const Multiplied *k = C->multiplied;
  return k && k->galerkin == galerkin &&
         !((poiseMatChanged(&k->made[0], A) | poiseMatChanged(&k->made[1], B) |
            poiseMatChanged(&k->made[2], C)) &
           CHANGED_PATTERN);
}

static PoiseErr SameRow(PoiseMat C, const HostCsr *c, PoiseMat D, const HostCsr *d, int64_t i)
{
  int64_t k = poiseCsrPtr(&C->csr, c->ptr, i), end = poiseCsrPtr(&C->csr, c->ptr, i + 1),
          j = poiseCsrPtr(&D->csr, d->ptr, i), last = poiseCsrPtr(&D->csr, d->ptr, i + 1);
  bool same = end - k == last - j;
  for (; same && k < end; k++, j++) same = poiseCsrGlobal(C, c->col[k]) == poiseCsrGlobal(D, d->col[j]);
  if (!same)
    FAIL(POISE_ERR_ARG,
         "C has another pattern than the product: see %s %lld, where they have %lld and %lld entries",
         C->csr.b ? "row of blocks" : "row", (long long)(C->csr.row + i),
         (long long)(end - poiseCsrPtr(&C->csr, c->ptr, i)),
         (long long)(last - poiseCsrPtr(&D->csr, d->ptr, i)));
  return POISE_OK;
}

/* *same = have they the same arrays, where these are? */
static PoiseErr SameArrays(PoiseMat C, PoiseMat D, Buffer *flag, bool *same)
{
  Csr *c = &C->csr, *d = &D->csr;
  Device *dev = C->ctx->device;
  SamePatternArgs a = {.n = c->nz > c->m + 1 ? c->nz : c->m + 1};
  int32_t differs;
  *same = c->m == d->m && c->nz == d->nz && c->nghost == d->nghost;
  for (int64_t k = 0; k < c->nghost && *same; k++) *same = c->ghost[k] == d->ghost[k];
  if (!*same) return POISE_OK;
  TRY(poiseCsrPattern(c, &a.C));
  TRY(poiseCsrPattern(d, &a.D));
  TRY(poiseFlagCreate(dev, flag, &a.differs));
  TRY(LAUNCH(dev, same_pattern, &a));
  TRY(poiseDeviceFetch(dev, a.differs, sizeof differs, &differs));
  *same = !differs;
  return POISE_OK;
}

/* A row that differs is looked for on the host. */
static PoiseErr SamePattern(PoiseMat C, PoiseMat D)
{
  HostCsr c, d;
  Buffer flag = {0};
  bool same;
  PoiseErr e = SameArrays(C, D, &flag, &same);
  poiseBufferDestroy(&flag);
  if (e || same) return e;
  TRY(poiseMatPattern(C, &c));
  TRY(poiseMatPattern(D, &d));
  for (int64_t i = 0; i < C->csr.m; i++) TRY(SameRow(C, &c, D, &d, i));
  return POISE_OK;
}

/* C takes the numbers of D, which has its pattern, and what D keeps for new ones. */
static PoiseErr Adopt(PoiseMat C, PoiseMat D)
{
  const double *v;
  TRY(poiseBufferRead(&D->csr.val, DEVICE, &v));
  TRY(poiseMatReplaceValues(C, DEVICE, v));
  poiseMultipliedDestroy(C->ctx, &C->multiplied);
  C->multiplied = D->multiplied;
  D->multiplied = NULL;
  C->multiplied->made[2] = C->version;
  if (D->assembly.triplets) {
    poiseTripletsDestroy(C->ctx, &C->assembly.triplets);
    C->assembly.triplets = D->assembly.triplets;
    D->assembly.triplets = NULL;
    C->assembly.triplets->built = C->version.pattern;
  }
  C->version.values++;
  return POISE_OK;
}

/* Numbers for a C whose pattern may not be that of the product. */
static PoiseErr Renew(PoiseMat A, PoiseMat B, PoiseMat left, bool galerkin, PoiseMat C)
{
  PoiseMat D = NULL;
  TRY(Create(A, B, left, galerkin, &D));
  PoiseErr e = PoiseAgree(A->ctx, SamePattern(C, D));
  if (!e) e = PoiseAgree(A->ctx, Adopt(C, D));
  PoiseMatDestroy(&D);
  return e;
}

static PoiseErr Multiply(PoiseMat A, PoiseMat B, PoiseMat left, bool galerkin, PoiseMat *C)
{
  PoiseErr e = CheckFactors(A, B, galerkin);
  if (!e && *C) e = CheckResult(A, B, galerkin, *C);
  TRY(PoiseAgree(A->ctx, e));
  poiseLogBegin(A->ctx, EVENT_MatMultiply);
  e = !*C                             ? Create(A, B, left, galerkin, C)
      : IsCurrent(A, B, galerkin, *C) ? Numbers(A, B, left, *C)
                                      : Renew(A, B, left, galerkin, *C);
  poiseLogEnd(A->ctx, EVENT_MatMultiply, 0, 0);
  return e;
}

PoiseErr PoiseMatMatMult(PoiseMat A, PoiseMat B, PoiseMat *C)
{
  CALLED(OBJECT(A), OBJECT(B), GIVEN(C));
  CALLED(OBJECT(A), OBJECT_OR_NO(*C));
  return Multiply(A, B, B, false, C);
}

PoiseErr PoiseMatPtAP(PoiseMat A, PoiseMat P, PoiseMat *C)
{
  CALLED(OBJECT(A), OBJECT(P), GIVEN(C));
  CALLED(OBJECT(A), OBJECT_OR_NO(*C));
  return Multiply(A, P, P, true, C);
}

PoiseErr poiseMatQtAP(PoiseMat A, PoiseMat P, PoiseMat Q, PoiseMat *C)
{
  return Multiply(A, P, Q ? Q : P, true, C);
}

/* ---- host kernel ----------------------------------------------------------------------------- */

HOST_ITEMS(same_pattern, SamePatternArgs, same_pattern_item(a, i))
