/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Rows that grow. Entries come in pieces of ascending columns; those that a row has are changed in place, others are appended,
  and once they are more than a small part of the row they are merged with the sorted ones before them. So short rows are
  always sorted, long ones are merged seldom, and what is held is near to what remains, however often an entry is added to.
  A row that is full moves to a block of twice the length. Blocks come from chunks; a block that a row has left serves the next
  row that needs one of its length.
*/
#include "mat.h"

enum { SMALLEST = 4, INSERTION = 32, TAIL = 16, FIRST_CHUNK = 256, LARGEST_CHUNK = 262144 };

struct TermRow { /* block of SMALLEST << level terms; NULL: none yet */
  Term *term;
  int64_t n,
      sorted; /* the terms behind the sorted ones are in their order of coming; none has the column of a sorted one */
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

/* Merge term[0 .. mid) and term[mid .. n), the first ones before the second where columns are equal. scratch: n - mid terms. */
static void Merge(Term *term, int64_t mid, int64_t n, Term *scratch)
{
  int64_t i = mid - 1, j = n - mid - 1, k = n - 1;
  if (term[mid - 1].col <= term[mid].col) return;
  memcpy(scratch, term + mid, (size_t)(n - mid) * sizeof *term);
  while (j >= 0) term[k--] = i >= 0 && term[i].col > scratch[j].col ? term[i--] : scratch[j--];
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
  if (n > INSERTION) TRY(poiseAllocArray(ctx, n - n / 2, sizeof(Term), "a row to sort", &scratch));
  MergeSort(term, n, scratch);
  poiseFree(ctx, &scratch);
  return POISE_OK;
}

/* ---- blocks --------------------------------------------------------------------------------------------------------- */

static PoiseErr AddChunk(PoiseContext ctx, TermRows *r, int64_t least)
{
  struct TermChunk *chunk = NULL;
  int64_t n = r->chunk_size ? 2 * r->chunk_size : FIRST_CHUNK;
  if (n > LARGEST_CHUNK) n = LARGEST_CHUNK;
  r->chunk_size = n;
  if (n < least) n = least;
  TRY(poiseRealloc(ctx, sizeof *chunk + (size_t)n * sizeof(Term), 0, "added entries", &chunk)); /* not zeroed */
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

static void Join(Term *t, double value, int mode)
{
  t->value = mode == ADDING ? t->value + value : value;
}

/* Sort the terms behind the sorted ones, each column once, and merge them with those. */
static PoiseErr Combine(PoiseContext ctx, struct TermRow *row, int mode)
{
  Term few[INSERTION], *scratch = few, *t = row->term + row->sorted;
  int64_t n = row->n - row->sorted, out = 0;
  if (!n) return POISE_OK;
  if (n > INSERTION) TRY(poiseAllocArray(ctx, n, sizeof(Term), "a row to sort", &scratch));
  MergeSort(t, n, scratch);
  for (int64_t k = 1; k < n; k++) {
    if (t[k].col != t[out].col)
      t[++out] = t[k];
    else
      Join(&t[out], t[k].value, mode);
  }
  row->n = row->sorted + out + 1;
  if (row->sorted) Merge(row->term, row->sorted, row->n, scratch);
  row->sorted = row->n;
  if (scratch != few) poiseFree(ctx, &scratch);
  return POISE_OK;
}

/* Room for one more term, all of them sorted; at first for `expected` of them. */
static PoiseErr MakeRoom(PoiseContext ctx, TermRows *r, struct TermRow *row, int mode, int64_t expected)
{
  int64_t size = (int64_t)SMALLEST << row->level;
  Term *block;
  if (!row->term) {
    while ((int64_t)SMALLEST << row->level < expected) row->level++;
    return TakeBlock(ctx, r, row->level, &row->term);
  }
  TRY(Combine(ctx, row, mode));
  if (8 * row->n <= 7 * size) return POISE_OK;
  TRY(TakeBlock(ctx, r, row->level + 1, &block));
  memcpy(block, row->term, (size_t)row->n * sizeof *block);
  row->term->next = r->spare[row->level];
  r->spare[row->level++] = row->term;
  row->term = block;
  return POISE_OK;
}

POISE_INLINE PoiseInt Column(const void *term, int64_t k)
{
  return ((const Term *)term)[k].col;
}

PoiseErr poiseRowsAdd(PoiseContext ctx, TermRows *r, int64_t m, int mode, int64_t i, const Piece *p, const double *v)
{
  if (!r->row) TRY(poiseAllocArray(ctx, m, sizeof *r->row, "added rows", &r->row));
  struct TermRow *row = &r->row[i];
  int64_t k = 0;
  for (int j = 0; j < p->n;) {
    k = poiseSeekColumn(Column, row->term, k, row->sorted, p->col[j]);
    if (k < row->sorted && row->term[k].col == p->col[j]) {
      Join(&row->term[k], v[p->place[j++]], mode);
    } else if (!row->term || row->n == (int64_t)SMALLEST << row->level) {
      TRY(MakeRoom(ctx, r, row, mode, p->n));
      k = 0; /* and look again: the column may have been sorted in */
    } else {
      row->sorted += k == row->n; /* it is behind all others */
      row->term[row->n].col = p->col[j];
      row->term[row->n++].value = v[p->place[j++]];
    }
  }
  return TAIL * (row->n - row->sorted) > row->n ? Combine(ctx, row, mode) : POISE_OK;
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
