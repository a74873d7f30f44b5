/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Incomplete factors by two thresholds (Saad 1994, "ILUT: a dual threshold incomplete LU factorization"): row
  i of A is eliminated by the rows before it; what is small is dropped, and of the rest the largest entries
  are kept. With s_i = drop_tol |a_i|, in the 2-norm, and p_i = fill / 2 times the entries of row i:
    l_ik is dropped if |l_ik| |u_k| < s_i, u_ij if |u_ij| < s_i;
    then row i keeps its p_i largest l_ik, by |l_ik| |u_k|, and its p_i largest u_ij. Of equals the first
    stay.
  So a multiplier is judged by what it changes. Sizes are those of the matrix whose rows, and then columns,
  are scaled to norms of 1: |u_ij| stands for c_j |u_ij|, in norms too, and 1 / c_j is the norm of column j of
  the matrix with the rows a_i / |a_i|. So it hardly matters in which units rows and columns are.

  Pivoting (ILUTP: Saad 2003, 10.4.4): columns change places, so that the largest u_ij is the pivot, if
  `pivoting` times it is larger than the diagonal entry. Then M = L U Q^T.

  Symmetric (ict): M = U^T D^-1 U with D = diag(U). Of A the upper triangle is read; row i is what rows k < i
  with u_ki leave of it; u_ij is dropped, and the p_i largest are kept, as above, with c_j = |a_jj|^(-1/2),
  and |a_i| being that of the upper triangle. L is the transpose of D^-1 U.

  With rule's `relative` a pivot is judged beside the sum of the other u_ij of its row, by the same sizes.

  A step costs the entries of the rows that it needs, and a heap for their order.
*/
#include "mat/csr/csr_view.h"
#include "mat/object/mat.h"
#include "pivot.h"
#include "thresholds.h"

typedef struct Item {
  int32_t at; /* column, or place in the order of elimination */
  double value, size;
} Item;

typedef struct Items {
  int64_t n;
  Item *e;
} Items;

typedef struct Elimination {
  PoisePC pc;
  const Incomplete *f;
  const FactorArgs *rule;
  CsrView A;          /* on the host */
  int64_t n, entries; /* entries: of P's own block */
  /* of columns: their values in the row at work, the last row that had them, their places; and the reverse */
  double *weight, *w, *row; /* weight: c_j; row: its numbers as A has them, weighted */
  int32_t *mark, *place, *column;
  int32_t *heap;      /* places before i that are still to be eliminated */
  int64_t waiting;    /* in the heap */
  Items lower, upper; /* of the row at work */
  bool broken;        /* it has a number that is not finite */
  Item *ranked;
  double *inverse, *norm; /* of rows: their pivots' inverses; |u_k| */
  int64_t *next;          /* symmetric: the next entry of row k, and the next row with that column */
  int32_t *chain, *head;
  /* factors: entries [ptr_i, diag_i) of L by places, diag_i, and (diag_i, ptr_i+1) of U by columns */
  int64_t *ptr, *diag, room;
  int32_t *col;
  double *val;
} Elimination;

/* ---- memory ---------------------------------------------------------------------------------- */

static void End(Elimination *x)
{
  void *all[] = {&x->weight,  &x->w,       &x->row,    &x->mark,    &x->place, &x->column, &x->heap,
                 &x->lower.e, &x->upper.e, &x->ranked, &x->inverse, &x->norm,  &x->next,   &x->chain,
                 &x->head,    &x->ptr,     &x->diag,   &x->col,     &x->val};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) poiseFree(x->pc->ctx, all[k]);
}

static PoiseErr Begin(Elimination *x)
{
  static const char what[] = "elimination with thresholds";
  PoiseContext ctx = x->pc->ctx;
  int64_t n = x->n;
  int32_t **ints[] = {&x->mark, &x->place, &x->column, &x->heap, &x->chain, &x->head};
  double **reals[] = {&x->weight, &x->w, &x->row, &x->inverse, &x->norm};
  Item **entries[] = {&x->lower.e, &x->upper.e, &x->ranked};
  int64_t **offsets[] = {&x->ptr, &x->diag, &x->next};
  for (int k = 0; k < 6; k++) TRY(poiseAllocArray(ctx, n, sizeof(int32_t), what, ints[k]));
  for (int k = 0; k < 5; k++) TRY(poiseAllocArray(ctx, n, sizeof(double), what, reals[k]));
  for (int k = 0; k < 3; k++) TRY(poiseAllocArray(ctx, n, sizeof(Item), what, entries[k]));
  for (int k = 0; k < 3; k++) TRY(poiseAllocArray(ctx, n + 1, sizeof(int64_t), what, offsets[k]));
  for (int64_t i = 0; i < n; i++) x->mark[i] = x->head[i] = -1, x->place[i] = x->column[i] = (int32_t)i;
  return POISE_OK;
}

/* Room for so many entries more, behind those that there are. */
static PoiseErr MakeRoom(Elimination *x, int64_t used, int64_t more)
{
  static const char what[] = "incomplete factors by thresholds";
  if (used + more <= x->room) return POISE_OK;
  x->room = used + more + used / 2 + x->n;
  TRY(poiseResize(x->pc->ctx, (size_t)x->room * sizeof *x->col, what, &x->col));
  return poiseResize(x->pc->ctx, (size_t)x->room * sizeof *x->val, what, &x->val);
}

/* ---- the row at work ------------------------------------------------------------------------- */

static void Push(Elimination *x, int32_t place)
{
  int32_t *h = x->heap;
  int64_t k = x->waiting++;
  for (; k > 0 && h[(k - 1) / 2] > place; k = (k - 1) / 2) h[k] = h[(k - 1) / 2];
  h[k] = place;
}

static int32_t Pop(Elimination *x)
{
  int32_t *h = x->heap, first = h[0], last = h[--x->waiting];
  int64_t k = 0, n = x->waiting;
  for (int64_t c = 1; c < n; c = 2 * k + 1) {
    if (c + 1 < n && h[c + 1] < h[c]) c++;
    if (h[c] >= last) break;
    h[k] = h[c], k = c;
  }
  h[k] = last;
  return first;
}

static void Enter(Elimination *x, int64_t i, int32_t c)
{
  x->mark[c] = (int32_t)i;
  x->w[c] = 0;
  if (x->place[c] < i)
    Push(x, x->place[c]);
  else
    x->upper.e[x->upper.n++].at = c;
}

/* w_c += v; c enters the row if it is not there. */
POISE_INLINE void Add(Elimination *x, int64_t i, int32_t c, double v)
{
  if (x->mark[c] != i) Enter(x, i, c);
  x->w[c] += v;
}

/* w -= m times the entries [k, end) of a row of U. */
static void Subtract(Elimination *x, int64_t i, double m, int64_t k, int64_t end)
{
  const int32_t *col = x->col;
  const double *val = x->val;
  for (; k < end; k++) Add(x, i, col[k], -m * val[k]);
}

/* The 2-norm, of numbers of any size. */
static double Norm(const double *v, int64_t n)
{
  double most = 0, sum = 0;
  for (int64_t k = 0; k < n; k++) most = poiseLarger(fabs(v[k]), most);
  if (most == 0 || !poiseFinite(most)) return most;
  for (int64_t k = 0; k < n; k++) sum += v[k] / most * (v[k] / most);
  return most * sqrt(sum);
}

/* c_j. The sums of squares are of numbers up to 1. */
static void Weigh(Elimination *x)
{
  double *c = x->weight;
  for (int64_t i = 0; i < x->n; i++) {
    ScalarRow row = poiseNumberRow(&x->A, i);
    int64_t n = 0;
    for (int64_t k = 0; k < row.n; k++)
      if (poiseNumberColumn(&x->A, &row, k) < x->n) x->row[n++] = x->A.val[poiseNumberPlace(&row, k)];
    double norm = Norm(x->row, n);
    for (int64_t k = 0; k < row.n; k++) {
      int64_t j = poiseNumberColumn(&x->A, &row, k);
      double v = x->A.val[poiseNumberPlace(&row, k)];
      if (x->rule->symmetric && j == i) c[j] = fabs(v);
      if (!x->rule->symmetric && j < x->n && norm > 0) c[j] += v / norm * (v / norm);
    }
  }
  for (int64_t j = 0; j < x->n; j++) c[j] = c[j] > 0 ? 1 / sqrt(c[j]) : 1;
}

/* Row i of the shifted A, its columns from `first` on. *entries: of the whole row. Returns its norm. */
static double Load(Elimination *x, int64_t i, int64_t first, int64_t *entries)
{
  ScalarRow row = poiseNumberRow(&x->A, i);
  int64_t n = 0;
  x->lower.n = x->upper.n = x->waiting = *entries = 0;
  Add(x, i, x->column[i], 0); /* the pivot's place */
  if (x->rule->shift != 0) Add(x, i, (int32_t)i, x->rule->shift);
  for (int64_t k = 0; k < row.n; k++) {
    int64_t c = poiseNumberColumn(&x->A, &row, k);
    double v = x->A.val[poiseNumberPlace(&row, k)];
    if (c >= x->n) continue;
    ++*entries;
    if (c < first) continue;
    Add(x, i, (int32_t)c, v);
    x->row[n++] = v * x->weight[c];
  }
  x->entries += *entries;
  double norm = Norm(x->row, n);
  x->broken = !poiseFinite(norm);
  return norm;
}

static int Larger(const void *a, const void *b)
{
  const Item *p = a, *q = b;
  if (p->size != q->size) return p->size > q->size ? -1 : 1;
  return (p->at > q->at) - (p->at < q->at);
}

static int Before(const void *a, const void *b)
{
  const Item *p = a, *q = b;
  return (p->at > q->at) - (p->at < q->at);
}

/* Drop what is smaller than `least`, and all but the `most` largest. The rest keeps its order. */
static void Select(Elimination *x, Items *list, double least, int64_t most)
{
  int64_t n = 0;
  double sum = 0;
  for (int64_t k = 0; k < list->n; k++) {
    sum += list->e[k].size;
    if (list->e[k].size >= least && list->e[k].size > 0) list->e[n++] = list->e[k];
  }
  x->broken |= !poiseFinite(sum);
  list->n = n;
  if (n <= most) return;
  if (n) memcpy(x->ranked, list->e, (size_t)n * sizeof(Item));
  if (n) qsort(x->ranked, (size_t)n, sizeof(Item), Larger);
  const Item *last = &x->ranked[most - 1];
  list->n = 0;
  for (int64_t k = 0; k < n; k++)
    if (Larger(&list->e[k], last) <= 0) list->e[list->n++] = list->e[k];
}

static int64_t Keeps(const Incomplete *f, int64_t entries)
{
  double half = ceil(f->fill * (double)entries / 2);
  return half < INT32_MAX ? (int64_t)half : INT32_MAX;
}

int64_t poiseThresholdsMost(const Incomplete *f, int64_t n, int64_t numbers)
{
  double most = f->fill * (double)numbers + 3 * (double)n, all = (double)n * (double)n;
  return (int64_t)(most < all ? most : all);
}

static void Eliminate(Elimination *x, int64_t i, double least)
{
  while (x->waiting) {
    int32_t k = Pop(x);
    double l = x->w[x->column[k]] * x->inverse[k], size = fabs(l) * x->norm[k];
    if (size < least || l == 0) continue;
    x->lower.e[x->lower.n++] = (Item){k, l, size};
    Subtract(x, i, l, x->diag[k] + 1, x->ptr[k + 1]);
  }
}

/* Values of the upper entries; the pivot among them, which is taken out, in the place of the diagonal. */
static double TakePivot(Elimination *x, int64_t i)
{
  Items *u = &x->upper;
  int64_t best = 0; /* the diagonal entry is always there, but not always the first */
  for (int64_t k = 0; k < u->n; k++) {
    u->e[k].value = x->w[u->e[k].at];
    u->e[k].size = fabs(u->e[k].value) * x->weight[u->e[k].at];
    if (u->e[k].at == x->column[i]) best = k;
  }
  double diagonal = u->e[best].size;
  for (int64_t k = 0; k < u->n && x->f->pivoting > 0; k++) {
    double size = u->e[k].size, top = u->e[best].size;
    bool first = size == top && x->place[u->e[k].at] < x->place[u->e[best].at];
    if (x->f->pivoting * size > diagonal && (size > top || first)) best = k;
  }
  int32_t chosen = u->e[best].at, other = x->column[i], place = x->place[chosen];
  double pivot = u->e[best].value;
  x->column[place] = other, x->place[other] = place;
  x->column[i] = chosen, x->place[chosen] = (int32_t)i;
  u->e[best] = u->e[--u->n];
  return pivot;
}

static PoiseErr Store(Elimination *x, int64_t i, double pivot)
{
  int64_t at = x->ptr[i];
  double rest = 0;
  TRY(MakeRoom(x, at, x->lower.n + x->upper.n + 1));
  for (int64_t k = 0; k < x->lower.n; k++, at++)
    x->col[at] = x->lower.e[k].at, x->val[at] = x->lower.e[k].value;
  x->diag[i] = at++;
  for (int64_t k = 0; k < x->upper.n; k++, at++) {
    x->col[at] = x->upper.e[k].at, x->val[at] = x->upper.e[k].value;
    rest += x->upper.e[k].size;
  }
  if (x->broken) pivot = NAN;
  x->inverse[i] = poiseInvertPivot(x->rule, pivot, rest / x->weight[x->column[i]]);
  if (x->rule->replace != 0 && x->inverse[i] != 0) pivot = 1 / x->inverse[i];
  x->col[x->diag[i]] = (int32_t)i, x->val[x->diag[i]] = pivot;
  x->row[0] = pivot * x->weight[x->column[i]];
  for (int64_t k = x->diag[i] + 1; k < at; k++) x->row[k - x->diag[i]] = x->val[k] * x->weight[x->col[k]];
  x->norm[i] = Norm(x->row, at - x->diag[i]);
  x->ptr[i + 1] = at;
  return POISE_OK;
}

static PoiseErr Row(Elimination *x, int64_t i)
{
  int64_t entries;
  double least = x->f->drop_tol * Load(x, i, 0, &entries);
  Eliminate(x, i, least);
  double pivot = TakePivot(x, i);
  Select(x, &x->lower, least, Keeps(x->f, entries));
  Select(x, &x->upper, least, Keeps(x->f, entries));
  return Store(x, i, pivot);
}

/* ---- symmetric ------------------------------------------------------------------------------- */

/* Put row k in the chain of the column of its entry next_k. */
static void Chain(Elimination *x, int32_t k)
{
  if (x->next[k] == x->ptr[k + 1]) return;
  int32_t c = x->col[x->next[k]];
  x->chain[k] = x->head[c];
  x->head[c] = k;
}

static PoiseErr SymmetricRow(Elimination *x, int64_t i)
{
  int64_t entries;
  double least = x->f->drop_tol * Load(x, i, i, &entries);
  for (int32_t k = x->head[i], after; k >= 0; k = after) {
    double l = x->val[x->next[k]] * x->inverse[k];
    after = x->chain[k];
    Subtract(x, i, l, x->next[k], x->ptr[k + 1]);
    x->next[k]++;
    Chain(x, k);
  }
  double pivot = TakePivot(x, i);
  Select(x, &x->upper, least, Keeps(x->f, entries));
  if (x->upper.n) qsort(x->upper.e, (size_t)x->upper.n, sizeof(Item), Before);
  TRY(Store(x, i, pivot));
  x->next[i] = x->diag[i] + 1;
  Chain(x, (int32_t)i);
  return POISE_OK;
}

/* ---- results --------------------------------------------------------------------------------- */

/* Items of U by places, ascending. */
static void Renumber(Elimination *x, int64_t i)
{
  int64_t n = 0;
  for (int64_t k = x->diag[i] + 1; k < x->ptr[i + 1]; k++)
    x->ranked[n++] = (Item){.at = x->place[x->col[k]], .value = x->val[k]};
  if (n) qsort(x->ranked, (size_t)n, sizeof(Item), Before);
  for (int64_t k = 0, at = x->diag[i] + 1; k < n; k++, at++)
    x->col[at] = x->ranked[k].at, x->val[at] = x->ranked[k].value;
}

static void Copy(const Elimination *x, int32_t *col, double *val)
{
  if (x->ptr[x->n]) memcpy(col, x->col, (size_t)x->ptr[x->n] * sizeof *col);
  if (x->ptr[x->n]) memcpy(val, x->val, (size_t)x->ptr[x->n] * sizeof *val);
}

/* Rows of U and their mirrors. x->diag becomes the offsets of the rows, of which there are n + 1. */
static void Mirror(Elimination *x, int32_t *col, double *val)
{
  int64_t *at = x->next; /* where the next entry of row i goes */
  for (int64_t i = 0; i < x->n; i++) at[i] = x->diag[i];
  for (int64_t i = 0; i < x->n; i++)
    for (int64_t k = x->ptr[i]; k < x->ptr[i + 1]; k++) {
      int32_t c = x->col[k];
      col[at[i]] = c, val[at[i]++] = x->val[k];
      if (c > i) col[at[c]] = (int32_t)i, val[at[c]++] = x->val[k] * x->inverse[i];
    }
}

/* Offsets of the rows with mirrors, in x->diag. */
static void CountMirrors(Elimination *x)
{
  int64_t *start = x->diag;
  memset(start, 0, (size_t)(x->n + 1) * sizeof *start);
  for (int64_t i = 0; i < x->n; i++) {
    start[i + 1] += x->ptr[i + 1] - x->ptr[i];
    for (int64_t k = x->ptr[i] + 1; k < x->ptr[i + 1]; k++) start[x->col[k] + 1]++;
  }
  for (int64_t i = 0; i < x->n; i++) start[i + 1] += start[i];
}

static PoiseErr Fill(Elimination *x, Incomplete *f, const int64_t *ptr, Buffer *columns)
{
  Device *dev = x->pc->ctx->device;
  int32_t *col;
  double *val, *d;
  TRY(poiseBufferCreate(dev, (size_t)ptr[x->n] * sizeof *col, "columns of factors", columns));
  TRY(poiseBufferCreate(dev, (size_t)ptr[x->n] * sizeof *val, "incomplete factors", &f->lu));
  TRY(poiseBufferCreate(dev, (size_t)x->n * sizeof *d, "inverse pivots", &f->d));
  TRY(poiseBufferWrite(columns, HOST, &col));
  TRY(poiseBufferWrite(&f->lu, HOST, &val));
  TRY(poiseBufferWrite(&f->d, HOST, &d));
  if (x->n) memcpy(d, x->inverse, (size_t)x->n * sizeof *d);
  if (x->rule->symmetric)
    Mirror(x, col, val);
  else
    Copy(x, col, val);
  return POISE_OK;
}

static PoiseErr Permute(Elimination *x, Incomplete *f)
{
  int32_t *place;
  const int32_t *there;
  double *moved; /* made now, as a captured loop allocates nothing */
  TRY(poiseBufferCreate(x->pc->ctx->device, (size_t)x->n * sizeof *place, "places of columns", &f->places));
  TRY(poiseBufferWrite(&f->places, HOST, &place));
  if (x->n) memcpy(place, x->place, (size_t)x->n * sizeof *place);
  TRY(poiseBufferRead(&f->places, DEVICE, &there));
  TRY(poiseVecCreateLocal(x->pc->P->rows, &f->moved));
  return poiseVecWrite(f->moved, &moved);
}

static PoiseErr Deliver(Elimination *x, Incomplete *f)
{
  Buffer columns = {0};
  const double *there;
  const int64_t *ptr = x->rule->symmetric ? x->diag : x->ptr;
  for (int64_t i = 0; i < x->n && !x->rule->symmetric; i++) Renumber(x, i);
  if (x->rule->symmetric) CountMirrors(x);
  PoiseErr e = Fill(x, f, ptr, &columns);
  if (!e)
    e = poiseTriangularReplace(x->pc, &f->triangular, 0, x->n, ptr, &columns, poiseFactorProducts(f) ? 1 : 2);
  poiseBufferDestroy(&columns);
  if (!e && f->pivoting > 0) e = Permute(x, f);
  if (!e) e = poiseBufferRead(&f->lu, DEVICE, &there);
  return e ? e : poiseBufferRead(&f->d, DEVICE, &there);
}

static PoiseErr HostView(PoisePC pc, CsrView *A)
{
  Csr *c = &pc->P->csr;
  const void *ptr;
  *A = (CsrView){.b = c->b, .m = c->m, .nloc = c->nloc, .nz = c->nz};
  TRY(poiseBufferRead(&c->ptr, HOST, &ptr));
  if (c->wide)
    A->ptr64 = ptr;
  else
    A->ptr32 = ptr;
  TRY(poiseBufferRead(&c->col, HOST, &A->col));
  return poiseBufferRead(&c->val, HOST, &A->val);
}

/* Rows up to the first whose pivot is refused. */
static PoiseErr Rows(Elimination *x, Incomplete *f)
{
  f->refused[REFUSED_ROW] = -1;
  for (int64_t i = 0; i < x->n; i++) {
    if (i % POISE_BLOCK == 0) TRY(poiseLook(x->pc->ctx));
    TRY(x->rule->symmetric ? SymmetricRow(x, i) : Row(x, i));
    if (x->inverse[i] != 0) continue;
    f->refused[REFUSED_ROW] = (double)i;
    f->refused[REFUSED_PIVOT] = x->val[x->diag[i]];
    return POISE_OK;
  }
  return POISE_OK;
}

PoiseErr poiseThresholds(PoisePC pc, Incomplete *f, const FactorArgs *rule)
{
  Elimination x = {.pc = pc, .f = f, .rule = rule, .n = pc->P->rows->n};
  TRY(HostView(pc, &x.A));
  PoiseErr e = Begin(&x);
  if (!e) Weigh(&x);
  if (!e) e = Rows(&x, f);
  f->own = x.entries;
  if (!e && f->refused[REFUSED_ROW] < 0) e = Deliver(&x, f);
  End(&x);
  return e;
}

PoiseErr poiseThresholdsLack(PoisePC pc, double floor, double sign, double *lack)
{
  CsrView A;
  TRY(HostView(pc, &A));
  *lack = floor;
  for (int64_t i = 0; i < pc->P->rows->n; i++) {
    ScalarRow row = poiseNumberRow(&A, i);
    double sum = 0;
    for (int64_t k = 0; k < row.n; k++) {
      int64_t c = poiseNumberColumn(&A, &row, k);
      double v = A.val[poiseNumberPlace(&row, k)];
      if (c < pc->P->rows->n) sum += c == i ? -sign * v : fabs(v);
    }
    *lack = poiseLarger(*lack, sum);
  }
  return POISE_OK;
}
