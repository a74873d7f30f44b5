/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Rows that grow entry by entry. An entry is appended to its row's block; a full block is sorted and its equal columns are
  combined in the order in which they came, and only if that leaves little room the row moves to a block of twice the length.
  So nothing is searched for, and what is held is near to what remains, however often an entry is added to. Blocks come from
  chunks; a block that a row has left serves the next row that needs one of its length.
*/
#include "mat.h"

enum { SMALLEST = 4, INSERTION = 32, FIRST_CHUNK = 256, LARGEST_CHUNK = 65536 };

struct TermRow { /* block of SMALLEST << level terms; NULL: none yet */
  Term *term;
  int64_t n;
  int level;
};

struct TermChunk {
  struct TermChunk *next;
  Term term[];
};

/* ---- sorting -------------------------------------------------------------------------------------------------------- */

static void Insertion(Term *term, int64_t n)
{
  for (int64_t k = 1; k < n; k++) {
    Term t = term[k];
    int64_t j = k;
    for (; j > 0 && term[j - 1].col > t.col; j--) term[j] = term[j - 1];
    term[j] = t;
  }
}

/* Merge term[0 .. mid) and term[mid .. n), the first ones before the second where columns are equal. */
static void Merge(Term *term, int64_t mid, int64_t n, Term *scratch)
{
  int64_t i = 0, j = mid, k = 0;
  if (term[mid - 1].col <= term[mid].col) return;
  memcpy(scratch, term, (size_t)mid * sizeof *term);
  while (i < mid) term[k++] = j < n && term[j].col < scratch[i].col ? term[j++] : scratch[i++];
}

static void MergeSort(Term *term, int64_t n, Term *scratch)
{
  if (n <= INSERTION) {
    Insertion(term, n);
    return;
  }
  MergeSort(term, n / 2, scratch);
  MergeSort(term + n / 2, n - n / 2, scratch);
  Merge(term, n / 2, n, scratch);
}

PoiseErr poiseTermsSort(PoiseContext ctx, Term *term, int64_t n)
{
  Term *scratch = NULL;
  if (n > INSERTION) TRY(poiseAllocArray(ctx, n / 2, sizeof(Term), "a row to sort", &scratch));
  MergeSort(term, n, scratch);
  poiseFree(ctx, &scratch);
  return POISE_OK;
}

/* ---- blocks --------------------------------------------------------------------------------------------------------- */

static PoiseErr AddChunk(PoiseContext ctx, TermRows *r, int64_t least)
{
  struct TermChunk *chunk;
  int64_t n = r->chunk_size ? 2 * r->chunk_size : FIRST_CHUNK;
  if (n > LARGEST_CHUNK) n = LARGEST_CHUNK;
  r->chunk_size = n;
  if (n < least) n = least;
  TRY(poiseAlloc(ctx, sizeof *chunk + (size_t)n * sizeof(Term), "added entries", &chunk));
  chunk->next = r->chunks;
  r->chunks = chunk;
  r->fresh = chunk->term;
  r->left = n;
  return POISE_OK;
}

static PoiseErr TakeBlock(PoiseContext ctx, TermRows *r, int level, Term **block)
{
  int64_t size = (int64_t)SMALLEST << level;
  *block = r->spare[level];
  if (*block) {
    r->spare[level] = (*block)->next;
    return POISE_OK;
  }
  if (r->left < size) TRY(AddChunk(ctx, r, size));
  *block = r->fresh;
  r->fresh += size;
  r->left -= size;
  return POISE_OK;
}

/* ---- rows ----------------------------------------------------------------------------------------------------------- */

static PoiseErr Combine(PoiseContext ctx, struct TermRow *row, int mode)
{
  Term *t = row->term;
  int64_t out = 0;
  TRY(poiseTermsSort(ctx, t, row->n));
  for (int64_t k = 1; k < row->n; k++) {
    if (t[k].col != t[out].col)
      t[++out] = t[k];
    else
      t[out].value = mode == ADDING ? t[out].value + t[k].value : t[k].value;
  }
  if (row->n) row->n = out + 1;
  return POISE_OK;
}

static PoiseErr MakeRoom(PoiseContext ctx, TermRows *r, struct TermRow *row, int mode)
{
  int64_t size = (int64_t)SMALLEST << row->level;
  Term *block;
  if (!row->term) return TakeBlock(ctx, r, 0, &row->term);
  TRY(Combine(ctx, row, mode));
  if (8 * row->n <= 7 * size) return POISE_OK;
  TRY(TakeBlock(ctx, r, row->level + 1, &block));
  memcpy(block, row->term, (size_t)row->n * sizeof *block);
  row->term->next = r->spare[row->level];
  r->spare[row->level++] = row->term;
  row->term = block;
  return POISE_OK;
}

PoiseErr poiseRowsAdd(PoiseContext ctx, TermRows *r, int64_t m, int mode, int64_t i, PoiseInt col, double value)
{
  if (!r->row) TRY(poiseAllocArray(ctx, m, sizeof *r->row, "added rows", &r->row));
  struct TermRow *row = &r->row[i];
  if (!row->term || row->n == (int64_t)SMALLEST << row->level) TRY(MakeRoom(ctx, r, row, mode));
  row->term[row->n].col = col;
  row->term[row->n++].value = value;
  return POISE_OK;
}

PoiseErr poiseRowsSort(PoiseContext ctx, TermRows *r, int64_t m, int mode)
{
  for (int64_t i = 0; r->row && i < m; i++) TRY(Combine(ctx, &r->row[i], mode));
  return POISE_OK;
}

int64_t poiseRowsGet(const TermRows *r, int64_t i, const Term **terms)
{
  *terms = r->row ? r->row[i].term : NULL;
  return r->row ? r->row[i].n : 0;
}

void poiseRowsDestroy(PoiseContext ctx, TermRows *r)
{
  for (struct TermChunk *chunk = r->chunks; chunk;) {
    struct TermChunk *next = chunk->next;
    poiseFree(ctx, &chunk);
    chunk = next;
  }
  poiseFree(ctx, &r->row);
  *r = (TermRows){0};
}
