/* SPDX-License-Identifier: BSD-3-Clause */
/* Triplets of this rank's rows, sorted, become rows of entries. Each value learns its place in its row. */
#include "mat/mat_type.h"
#include "triplet_plan.h"

/* Terms by row: the given ones, then the received ones. */
static PoiseErr Gather(PoiseMat A, TripletPattern *p, int64_t **start)
{
  PoiseContext ctx = A->ctx;
  int64_t m = A->rows->n / (p->unit * p->side), *at;
  int rank = PoiseRank(ctx);
  TRY(poiseAllocArray(ctx, m + 2, sizeof(int64_t), "row offsets", start));
  at = *start + 1; /* counts, shifted by one place: then at[i] is row i's cursor, and in the end the start
                      of row i + 1 */
  for (int64_t k = 0; k < p->n; k++)
    if (poiseTripletOwner(A, p, k) == rank) at[poiseTripletEntryRow(A, p, poiseTripletRow(p, k)) + 1]++;
  for (int64_t k = 0; k < p->stash.n; k++) at[poiseTripletEntryRow(A, p, p->stash.entry[k].row) + 1]++;
  for (int64_t i = 1; i <= m; i++) at[i] += at[i - 1];
  TRY(poiseAllocArray(ctx, at[m], sizeof(Term), "triplets", &p->term));
  for (int64_t k = 0; k < p->n; k++)
    if (poiseTripletOwner(A, p, k) == rank)
      p->term[at[poiseTripletEntryRow(A, p, poiseTripletRow(p, k))]++] =
          (Term){.col = poiseTripletColumn(p, k) / p->side, .from = k};
  for (int64_t k = 0; k < p->stash.n; k++)
    p->term[at[poiseTripletEntryRow(A, p, p->stash.entry[k].row)]++] =
        (Term){.col = p->stash.entry[k].col / p->side, .from = p->n + k};
  return POISE_OK;
}

/* Make rows from the terms, sorted by row and column. */
static PoiseErr Number(PoiseMat A, TripletPattern *p, const int64_t *start)
{
  PoiseContext ctx = A->ctx;
  int64_t m = A->rows->n / (p->unit * p->side), nz = 0, out = 0;
  for (int64_t i = 0; i < m; i++) {
    TRY(poiseTermsSort(ctx, p->term + start[i], start[i + 1] - start[i]));
    for (int64_t k = start[i]; k < start[i + 1]; k++)
      nz += k == start[i] || p->term[k].col != p->term[k - 1].col;
  }
  TRY(poiseAllocArray(ctx, p->n + p->stash.n, sizeof *p->inrow, "places in rows", &p->inrow));
  TRY(poiseRowArraysCreateBlocks(A, poiseMatAskedBlocks(A), nz, &p->arrays));
  for (int64_t i = 0; i < m; i++) {
    for (int64_t k = start[i]; k < start[i + 1]; k++) {
      if (k == start[i] || p->term[k].col != p->term[k - 1].col)
        poiseRowArraysPutColumn(&p->arrays, out++, p->term[k].col);
      p->inrow[p->term[k].from] = (uint32_t)(out - 1 - p->arrays.ptr[i]);
    }
    p->arrays.ptr[i + 1] = out;
  }
  poiseFree(ctx, &p->term);
  return POISE_OK;
}

PoiseErr poiseTripletsMakeRows(PoiseMat A, TripletPattern *p)
{
  int64_t *start = NULL;
  PoiseErr e = Gather(A, p, &start);
  if (!e) e = Number(A, p, start);
  poiseFree(A->ctx, &start);
  poiseFree(A->ctx, &p->term);
  return e;
}
