/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Rows that grow. Entries come in batches of ascending columns. Entries that a row has are changed in place;
  others are inserted.

  If an insertion would move many entries for few, the new ones wait behind the row. They are sorted and
  merged with it when they are more than a small part of it. So short rows are always sorted, and long ones
  are merged seldom. The memory held is near the final one, however often an entry is added to.

  A row that is full moves to a longer block. Blocks come from chunks. A block that a row has left serves the
  next row that needs one of its length.
*/
#include "mat/csr/row_arrays.h"
#include "mat/object/mat.h"

enum { INSERTION = 32, TAIL = 16, FIRST_CHUNK = 1024, LARGEST_CHUNK = 524288 };

struct TermRow {
  double *block;     /* values, then as many columns; NULL: no entries yet */
  int64_t n, sorted, /* entries; sorted ones. The others are in order of arrival, and none has the column
                        of a sorted one */
      room;          /* of the block */
};

struct TermChunk {
  struct TermChunk *next;
  double word[];
};

/* ---- sorting --------------------------------------------------------------------------------- */

static void Insertion(Term *term, int64_t n)
{
  for (int64_t k = 1; k < n; k++) {
    Term t = term[k];
    int64_t j = k;
    for (; j > 0 && term[j - 1].col > t.col; j--) term[j] = term[j - 1];
    term[j] = t;
  }
}

/* Merge term[0 .. mid) and term[mid .. n), with the former first where columns are equal. scratch: n - mid
   terms. */
static void Merge(Term *term, int64_t mid, int64_t n, Term *scratch)
{
  int64_t i = mid - 1, j = n - mid - 1, k = n - 1;
  if (term[mid - 1].col <= term[mid].col) return;
  memcpy(scratch, term + mid, (size_t)(n - mid) * sizeof *term);
  while (j >= 0) term[k--] = i >= 0 && term[i].col > scratch[j].col ? term[i--] : scratch[j--];
}

void poiseTermsSort(Term *term, int64_t n, Term *scratch)
{
  if (n <= INSERTION) {
    Insertion(term, n);
    return;
  }
  poiseTermsSort(term, n / 2, scratch);
  poiseTermsSort(term + n / 2, n - n / 2, scratch);
  Merge(term, n / 2, n, scratch);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static int64_t Room(int level) /* 4, 8, 16, 32, then 48, 64, 96, ... entries */
{
  return level < 3 ? 4 << level : (int64_t)(3 - level % 2) << ((level - 3) / 2 + 4);
}

static int Level(int64_t n) /* level of the shortest block for n entries */
{
  int level = 0;
  while (Room(level) < n) level++;
  return level;
}

static PoiseErr AddChunk(PoiseContext ctx, TermRows *r, int64_t least)
{
  struct TermChunk *chunk = NULL;
  int64_t n = r->held < FIRST_CHUNK ? FIRST_CHUNK : r->held < LARGEST_CHUNK ? r->held : LARGEST_CHUNK;
  if (n < least) n = least;
  TRY(poiseRealloc(ctx, sizeof *chunk + (size_t)n * sizeof(double), 0, "added entries",
                   &chunk)); /* not zeroed */
  chunk->next = r->chunks;
  r->chunks = chunk;
  r->fresh = chunk->word;
  r->left = n;
  r->held += n;
  return POISE_OK;
}

/* Take the shortest block for n entries; *room = its length in entries. */
static PoiseErr TakeBlock(PoiseContext ctx, TermRows *r, int64_t n, int64_t *room, double **block)
{
  int level = Level(n);
  *room = Room(level);
  *block = r->spare[level];
  if (*block) {
    memcpy(&r->spare[level], *block, sizeof r->spare[level]);
    return POISE_OK;
  }
  int64_t words = r->wide ? 2 * *room : *room * 3 / 2;
  if (r->left < words) TRY(AddChunk(ctx, r, words));
  *block = r->fresh;
  r->fresh += words;
  r->left -= words;
  return POISE_OK;
}

static void LeaveBlock(TermRows *r, int64_t room, double *block)
{
  int level = Level(room);
  memcpy(block, &r->spare[level], sizeof r->spare[level]);
  r->spare[level] = block;
}

/* ---- columns of 4 or 8 bytes: `wide` is a constant where these are inlined ------------------- */

POISE_INLINE void Put(bool wide, double *val, void *col, int64_t k, PoiseInt c, double v)
{
  val[k] = v;
  if (wide)
    ((PoiseInt *)col)[k] = c;
  else
    ((int32_t *)col)[k] = (int32_t)c;
}

POISE_INLINE void *Columns(const struct TermRow *row)
{
  return row->block + row->room;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void Join(double *a, double value, int mode)
{
  *a = mode == ADDING ? *a + value : value;
}

typedef struct Fresh { /* entries that a row lacks, columns ascending, and the places in the row before
                          which they are inserted */
  int n;
  PoiseInt col[COLUMN_BATCH];
  double val[COLUMN_BATCH];
  int64_t at[COLUMN_BATCH];
} Fresh;

/* Sort the waiting entries, combine equal columns, and merge them with the sorted entries. */
POISE_INLINE PoiseErr Combine(bool wide, PoiseContext ctx, struct TermRow *row, int mode)
{
  Term few[INSERTION], *t = few;
  double *val = row->block;
  void *col = Columns(row);
  int64_t n = row->n - row->sorted, i = row->sorted - 1, j = 0;
  if (n > INSERTION) TRY(poiseAllocArray(ctx, 2 * n, sizeof(Term), "a row to sort", &t));
  for (int64_t k = 0; k < n; k++)
    t[k] = (Term){poiseColumn(wide, col, row->sorted + k), {val[row->sorted + k]}};
  poiseTermsSort(t, n, t + n);
  for (int64_t k = 1; k < n; k++) {
    if (t[k].col != t[j].col)
      t[++j] = t[k];
    else
      Join(&t[j].value, t[k].value, mode);
  }
  row->n = row->sorted += j + 1;
  for (int64_t k = row->n - 1; j >= 0; k--) {
    if (i >= 0 && poiseColumn(wide, col, i) > t[j].col)
      Put(wide, val, col, k, poiseColumn(wide, col, i), val[i]), i--;
    else
      Put(wide, val, col, k, t[j].col, t[j].value), j--;
  }
  if (t != few) poiseFree(ctx, &t);
  return POISE_OK;
}

/* Insert entries into a sorted row, from the last on; in a longer block if it is full. */
POISE_INLINE PoiseErr Spread(bool wide, PoiseContext ctx, TermRows *r, struct TermRow *row, const Fresh *f)
{
  struct TermRow to = {row->block, row->n + f->n, row->n + f->n, row->room};
  int64_t end = row->n;
  if (to.n > row->room) TRY(TakeBlock(ctx, r, to.n, &to.room, &to.block));
  const double *val = row->block;
  const void *col = row->block ? Columns(row) : NULL;
  void *to_col = Columns(&to);
  for (int j = f->n - 1; j >= 0; j--) {
    for (; end > f->at[j]; end--)
      Put(wide, to.block, to_col, end + j, poiseColumn(wide, col, end - 1), val[end - 1]);
    Put(wide, to.block, to_col, end + j, f->col[j], f->val[j]);
  }
  if (row->block && row->block != to.block) {
    memcpy(to.block, val, (size_t)end * sizeof *val);
    memcpy(to_col, col, (size_t)end * (wide ? sizeof(PoiseInt) : sizeof(int32_t)));
    LeaveBlock(r, row->room, row->block);
  }
  *row = to;
  return POISE_OK;
}

POISE_INLINE PoiseErr Add(bool wide, PoiseMat A, int mode, struct TermRow *row, const ColumnBatch *p,
                          const double *v)
{
  Fresh f;
  f.n = 0;
  const void *col = row->block ? Columns(row) : NULL;
  int64_t k = 0;
  for (int j = 0; j < p->n; j++) {
    PoiseInt c = p->col[j];
    double value = v[p->place[j]];
    k = poiseSeekColumn(wide ? poiseWide : poiseNarrow, col, k, row->sorted, c);
    if (k < row->sorted && poiseColumn(wide, col, k) == c)
      Join(&row->block[k], value, mode);
    else if (f.n && f.col[f.n - 1] == c)
      Join(&f.val[f.n - 1], value, mode);
    else
      f.col[f.n] = c, f.val[f.n] = value, f.at[f.n++] = k;
  }
  if (!f.n) return POISE_OK;
  int64_t sorted = row->sorted;
  bool wait = sorted < row->n || (f.at[0] < row->n && TAIL * f.n <= row->n);
  for (int j = 0; wait && j < f.n; j++) f.at[j] = row->n;
  TRY(Spread(wide, A->ctx, &A->assembly.added, row, &f));
  if (!wait) return POISE_OK;
  row->sorted = sorted;
  return TAIL * (row->n - sorted) > row->n ? Combine(wide, A->ctx, row, mode) : POISE_OK;
}

PoiseErr poiseRowsAdd(PoiseMat A, int mode, int64_t i, const ColumnBatch *p, const double *v)
{
  TermRows *r = &A->assembly.added;
  if (!r->row) {
    TRY(poiseAllocArray(A->ctx, A->rows->n, sizeof *r->row, "added rows", &r->row));
    r->wide = poiseMatWideColumns(A);
  }
  return r->wide ? Add(true, A, mode, &r->row[i], p, v) : Add(false, A, mode, &r->row[i], p, v);
}

void poiseRowsFetch(PoiseMat A, int64_t i)
{
  enum { LINE = 64, MOST = 10 * LINE };
  const struct TermRow *row = &A->assembly.added.row[i];
  if (!row->block) return;
  const char *col = Columns(row), *val = (const char *)row->block;
  for (int64_t k = 0; k < 2 * LINE; k += LINE) __builtin_prefetch(col + k);
  for (int64_t k = 0; k < MOST && k < 8 * row->n; k += LINE) __builtin_prefetch(val + k);
}

PoiseErr poiseRowsSort(PoiseMat A, int mode)
{
  const TermRows *r = &A->assembly.added;
  for (int64_t i = 0; r->row && i < A->rows->n; i++) {
    struct TermRow *row = &r->row[i];
    if (row->sorted < row->n)
      TRY(r->wide ? Combine(true, A->ctx, row, mode) : Combine(false, A->ctx, row, mode));
  }
  return POISE_OK;
}

AddedRow poiseRowsGet(const TermRows *r, int64_t i)
{
  if (!r->row || !r->row[i].n) return (AddedRow){0};
  const struct TermRow *row = &r->row[i];
  return (AddedRow){row->n, Columns(row), row->block};
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
