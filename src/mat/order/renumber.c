/* SPDX-License-Identifier: BSD-3-Clause */
/*
  New numbers of rows and columns, in up to three stages: rows go to ranks; columns are matched with rows;
  rows and columns alike get the order of a graph. Each stage looks at the matrix as the one before has left
  it.
*/
#include <float.h>

#include "arrange.h"
#include "mat/csr/entries.h"
#include "graph.h"
#include "match.h"
#include "renumber.h"

void poiseNumbersDestroy(PoiseContext ctx, NewNumbers *n)
{
  poiseFree(ctx, &n->row);
  poiseFree(ctx, &n->col);
  poiseFree(ctx, &n->scale);
}

/* The numbers that A has. */
static PoiseErr Create(PoiseMat A, NewNumbers *n)
{
  *n = (NewNumbers){.m = A->rows->n};
  TRY(poiseAllocArray(A->ctx, n->m, sizeof(PoiseInt), "numbers of rows", &n->row));
  TRY(poiseAllocArray(A->ctx, n->m, sizeof(PoiseInt), "numbers of columns", &n->col));
  TRY(poiseAllocArray(A->ctx, n->m, sizeof(double), "scales of columns", &n->scale));
  for (int64_t i = 0; i < n->m; i++) n->row[i] = n->col[i] = A->rows->begin + i, n->scale[i] = 1;
  return POISE_OK;
}

/* ---- ranks ----------------------------------------------------------------------------------- */

/* Number rows by their rank, and rows of one rank in the order of their old numbers. to: the rank of each
   node. */
static PoiseErr NumberByRank(PoiseMat A, const int32_t *to, int64_t *counts, NewNumbers *n)
{
  Comm *comm = A->ctx->comm;
  int64_t *all = counts + comm->size, rows = A->rows->n, start = 0;
  int b = A->block_size;
  for (int64_t i = 0; i < rows; i++) counts[to[i / b]]++;
  TRY(comm->ops->allgather(comm, counts, (size_t)comm->size * sizeof *counts, all));
  for (int q = 0; q < comm->size; q++) {
    int64_t total = 0;
    for (int r = 0; r < comm->size; r++) {
      if (r == comm->rank) counts[q] = start + total; /* from here on the next number */
      total += all[(int64_t)r * comm->size + q];
    }
    if (q == comm->rank) n->m = total;
    start += total;
  }
  for (int64_t i = 0; i < rows; i++) n->row[i] = n->col[i] = counts[to[i / b]]++;
  return POISE_OK;
}

static PoiseErr NumberByPartition(PoiseMat A, NewNumbers *n)
{
  PoiseContext ctx = A->ctx;
  int64_t size = PoiseSize(ctx), *counts = NULL;
  int32_t *to = NULL;
  if (poiseMatPartitionOf(A) != A->asked.partition) { /* it is that of pcsr, which moves no row for little */
    double over;
    TRY(poiseSharesOver(A, A->csr.nz, &over));
    if (over <= 1 + 1.0 / PERCENT) return POISE_OK;
  }
  PoiseErr e = poiseAllocArray(ctx, A->rows->n / A->block_size, sizeof(int32_t), "ranks of rows", &to);
  if (!e) e = poiseAllocArray(ctx, size + size * size, sizeof(int64_t), "counts of rows", &counts);
  e = PoiseAgree(ctx, e);
  if (!e) e = poiseMatPartition(A, poiseMatPartitionOf(A), to);
  if (!e) e = NumberByRank(A, to, counts, n);
  poiseFree(ctx, &to);
  poiseFree(ctx, &counts);
  return e;
}

/* ---- matching -------------------------------------------------------------------------------- */

/* The exponent of A's largest entry; 0, if it is below 1. */
static PoiseErr Largest(PoiseMat A, double *exponent)
{
  HostCsr h;
  *exponent = 0;
  TRY(poiseMatRead(A, &h));
  for (int64_t k = 0; k < A->csr.nz; k++)
    if (h.val[k] != 0) *exponent = fmax(*exponent, ilogb(h.val[k]));
  return POISE_OK;
}

/* Powers of 2 next to scales, of which a common factor is free: no column becomes smaller, as preconditioners
   refuse pivots by their size. No entry overflows, and no square of an x of usual size underflows. scale:
   their logarithms on entry. */
static PoiseErr PowersOf2(PoiseMat A, double *scale)
{
  const double most = 256;
  double largest[2] = {0, -INFINITY}; /* of A; of scales down */
  TRY(PoiseAgree(A->ctx, Largest(A, &largest[0])));
  for (int64_t j = 0; j < A->rows->n; j++) largest[1] = fmax(largest[1], -scale[j]);
  TRY(PoiseMax(A->ctx, 2, largest));
  double up = fmin(most, fmax(0, DBL_MAX_EXP - 2 - largest[0]));
  for (int64_t j = 0; j < A->rows->n; j++) scale[j] = ldexp(1, (int)fmin(rint(scale[j] + largest[1]), up));
  return POISE_OK;
}

static PoiseErr NumberByMatch(PoiseMat A, NewNumbers *n)
{
  TRY(poiseMatMatch(A, n->col, n->scale));
  return PowersOf2(A, n->scale);
}

/* ---- orders ---------------------------------------------------------------------------------- */

/* Each rank numbers its own rows. */
static PoiseErr NumberHere(PoiseMat A, PoiseErr (*order)(PoiseContext, Adjacency *, int32_t *), NewNumbers *n)
{
  PoiseContext ctx = A->ctx;
  int b = A->block_size;
  Adjacency g = {0};
  int32_t *node = NULL;
  PoiseErr e = poiseAllocArray(ctx, A->rows->n / b, sizeof(int32_t), "order", &node);
  if (!e) e = poiseGraphOfRows(A, true, &g);
  if (!e) e = order(ctx, &g, node);
  for (int64_t k = 0; !e && k < A->rows->n / b; k++)
    for (int64_t j = 0, first = node[k] * (int64_t)b; j < b; j++)
      n->row[first + j] = n->col[first + j] = A->rows->begin + k * b + j;
  poiseGraphDestroy(ctx, &g);
  poiseFree(ctx, &node);
  return e;
}

static PoiseErr NumberByRCM(PoiseMat A, NewNumbers *n)
{
  return PoiseAgree(A->ctx, NumberHere(A, poiseReverseCuthillMcKee, n));
}

static PoiseErr NumberByAMD(PoiseMat A, NewNumbers *n)
{
  return PoiseAgree(A->ctx, NumberHere(A, poiseAmd, n));
}

/* ---- one stage after another ----------------------------------------------------------------- */

/* got = entries of a vector of B with these values, at any rows. mine: this rank's error so far. */
static PoiseErr Fetch(PoiseMat B, PoiseErr mine, const double *own, int64_t n, const PoiseInt *rows,
                      double *got)
{
  PoiseVec v;
  double *p = NULL;
  TRY(PoiseMatCreateVecs(B, &v, NULL));
  PoiseErr e = mine ? mine : PoiseVecGetWrite(v, &p);
  for (int64_t i = 0; !e && i < B->rows->n; i++) p[i] = own[i];
  if (!e) e = PoiseVecRestore(v, &p);
  e = PoiseAgree(B->ctx, e);
  if (!e) e = PoiseVecGetValues(v, n, rows, got);
  PoiseVecDestroy(&v);
  return e;
}

/* number[i] = what B's row or column number[i] becomes: exact, as it is below 2^53. */
static PoiseErr Renumber(PoiseMat B, const PoiseInt *own, int64_t n, PoiseInt *number)
{
  double *v = NULL, *got = NULL;
  PoiseErr e = poiseAllocArray(B->ctx, B->rows->n, sizeof *v, "numbers of rows", &v);
  if (!e) e = poiseAllocArray(B->ctx, n, sizeof *got, "numbers of rows", &got);
  for (int64_t i = 0; !e && i < B->rows->n; i++) v[i] = (double)own[i];
  e = Fetch(B, e, v, n, number, got);
  for (int64_t i = 0; !e && i < n; i++) number[i] = (PoiseInt)got[i];
  poiseFree(B->ctx, &v);
  poiseFree(B->ctx, &got);
  return e;
}

static PoiseErr Rescale(PoiseMat B, const double *own, int64_t n, const PoiseInt *number, double *scale)
{
  double *got = NULL;
  PoiseErr e = poiseAllocArray(B->ctx, n, sizeof *got, "scales of columns", &got);
  e = Fetch(B, e, own, n, number, got);
  for (int64_t i = 0; !e && i < n; i++) scale[i] *= got[i];
  poiseFree(B->ctx, &got);
  return e;
}

typedef PoiseErr (*Stage)(PoiseMat, NewNumbers *);

/* B is A with the numbers n, and gets those of this stage, which n then leads to. */
static PoiseErr Follow(PoiseMat A, PoiseMat B, Stage stage, NewNumbers *n)
{
  NewNumbers next = {0};
  int64_t rows = A->rows->n;
  PoiseErr e = PoiseAgree(A->ctx, Create(B, &next));
  if (!e) e = stage(B, &next);
  if (!e) e = Rescale(B, next.scale, rows, n->col, n->scale);
  if (!e) e = Renumber(B, next.col, rows, n->col);
  if (!e) e = Renumber(B, next.row, rows, n->row);
  poiseNumbersDestroy(A->ctx, &next);
  return e;
}

static PoiseErr Continue(PoiseMat A, Stage stage, NewNumbers *n)
{
  Permutation p = {0};
  PoiseMat B = NULL;
  PoiseErr e = poisePermutationOf(A, n, &p);
  if (!e) e = poiseMatMove(A, &p, &B);
  if (!e) e = poiseMatShare(p.to, &B->origin.moves.to); /* for the names of rows */
  if (!e) e = Follow(A, B, stage, n);
  PoiseMatDestroy(&B);
  poisePermutationDestroy(&p);
  return e;
}

PoiseErr poiseNumber(PoiseMat A, PoiseOrder order, NewNumbers *n)
{
  bool rcm = order == POISE_ORDER_RCM || order == POISE_ORDER_MATCH_RCM;
  bool amd = order == POISE_ORDER_AMD || order == POISE_ORDER_MATCH_AMD;
  const Stage stages[] = {poiseMatMovesRows(A) ? NumberByPartition : NULL,
                          poiseOrderMatches(order) ? NumberByMatch : NULL,
                          rcm   ? NumberByRCM
                          : amd ? NumberByAMD
                                : NULL};
  bool first = true;
  TRY(PoiseAgree(A->ctx, Create(A, n)));
  n->apart = poiseOrderMatches(order);
  for (size_t k = 0; k < sizeof stages / sizeof *stages; k++) {
    if (!stages[k]) continue;
    TRY(first ? stages[k](A, n) : Continue(A, stages[k], n));
    first = false;
  }
  return POISE_OK;
}
