/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The size of sparse factors. Pivots from the diagonal fill at most what Cholesky factors of A + A^T do, and
  row exchanges at most what those of A^T A do (George and Ng 1985, "An implementation of Gaussian elimination
  with partial pivoting for sparse systems").

  Neither product is formed. A row of A makes its columns a clique of A^T A. A star, from the first of them
  to all others, fills the same, as elimination of the first makes the clique. So both have no more edges
  than A has entries.

  The elimination tree is found with compressed paths (Liu 1990, "The role of elimination trees in sparse
  factorization"). The entries of columns are counted at the leaves of subtrees (Gilbert, Ng and Peyton 1994,
  "An efficient algorithm to compute row and column counts for sparse Cholesky factorization"). Each is a pass
  over the edges, with a few steps for each.
*/
#include "elimination.h"

enum { NONE = -1 };

typedef struct Tree { /* nodes come in their order of elimination, from 0 */
  int64_t n;
  int *place;   /* of a column of A */
  int *anchor;  /* of a row of A: the node that all nodes of its columns have an edge to; NONE: no columns */
  int *parent;  /* NONE: of a root */
  int64_t *ptr; /* the edges, from or to each node */
  int *other;
} Tree;

/* ---- edges ----------------------------------------------------------------------------------- */

/* The anchor of a row is its first node if rows are exchanged, else that of its diagonal. */
static void Anchor(const Pattern *A, bool exchanged, Tree *t)
{
  for (int64_t i = 0; i < A->n; i++) t->anchor[i] = exchanged ? NONE : t->place[i];
  for (int64_t j = 0; exchanged && j < A->n; j++)
    for (int k = A->ptr[j]; k < A->ptr[j + 1]; k++) {
      int *anchor = &t->anchor[A->row[k]];
      if (*anchor == NONE || t->place[j] < *anchor) *anchor = t->place[j];
    }
}

/* The nodes of an entry, which may be one. */
static inline void Edge(const Tree *t, int row, int64_t column, int *low, int *high)
{
  int a = t->anchor[row], b = t->place[column];
  *low = a < b ? a : b;
  *high = a < b ? b : a;
}

/* List the edges of each node to later ones, or to earlier ones. */
static void ListEdges(const Pattern *A, bool later, Tree *t)
{
  int low, high;
  int64_t *at = t->ptr + 1; /* ends as the offsets */
  memset(t->ptr, 0, (size_t)(t->n + 2) * sizeof *t->ptr);
  for (int64_t j = 0; j < A->n; j++)
    for (int k = A->ptr[j]; k < A->ptr[j + 1]; k++) {
      Edge(t, A->row[k], j, &low, &high);
      if (low < high) at[(later ? low : high) + 1]++;
    }
  for (int64_t i = 0; i < t->n; i++) at[i + 1] += at[i];
  for (int64_t j = 0; j < A->n; j++)
    for (int k = A->ptr[j]; k < A->ptr[j + 1]; k++) {
      Edge(t, A->row[k], j, &low, &high);
      if (low < high) t->other[at[later ? low : high]++] = later ? high : low;
    }
}

/* ---- the tree -------------------------------------------------------------------------------- */

/* Parents, from edges to earlier nodes. jump: n numbers of work: an ancestor, NONE: a root */
static void FindParents(Tree *t, int *jump)
{
  for (int i = 0; i < t->n; i++) {
    t->parent[i] = jump[i] = NONE;
    for (int64_t k = t->ptr[i]; k < t->ptr[i + 1]; k++)
      for (int v = t->other[k], next; v != NONE && v != i; v = next) {
        next = jump[v];
        jump[v] = i;
        if (next == NONE) t->parent[v] = i;
      }
  }
}

/* number[v]: the place of v where children come before their parents, and subtrees are contiguous. child and
   sibling: work */
static void Postorder(const Tree *t, int *number, int *child, int *sibling)
{
  int count = 0, root = NONE;
  for (int64_t v = 0; v < t->n; v++) child[v] = NONE;
  for (int v = (int)t->n - 1; v >= 0; v--) {
    int *first = t->parent[v] == NONE ? &root : &child[t->parent[v]];
    sibling[v] = *first;
    *first = v;
  }
  for (int v = root; v != NONE;) {
    while (child[v] != NONE) v = child[v]; /* down to a leaf, whose path is then cut off */
    for (number[v] = count++; sibling[v] == NONE && t->parent[v] != NONE; number[v] = count++)
      v = t->parent[v];
    v = sibling[v];
  }
}

/* Nodes in that order, which fills the same. */
static void Renumber(Tree *t, const int *number, int *parent)
{
  for (int64_t v = 0; v < t->n; v++) {
    t->place[v] = number[t->place[v]];
    if (t->anchor[v] != NONE) t->anchor[v] = number[t->anchor[v]];
    parent[number[v]] = t->parent[v] == NONE ? NONE : number[t->parent[v]];
  }
  for (int64_t v = 0; v < t->n; v++) t->parent[v] = parent[v];
}

/* ---- counts ---------------------------------------------------------------------------------- */

static int Find(int *set, int v)
{
  int root = v;
  while (set[root] != root) root = set[root];
  while (set[v] != root) {
    int next = set[v];
    set[v] = root;
    v = next;
  }
  return root;
}

/* Add the counts of children to those of their parents; less: each child gives so many fewer than it has. */
static void Gather(const Tree *t, int less, int *count)
{
  for (int64_t v = 0; v < t->n; v++)
    if (t->parent[v] != NONE && count[v] > less) count[t->parent[v]] += count[v] - less;
}

/* count: the entries of the columns of the Cholesky factor, with the diagonal, from edges to later nodes of a
   tree in postorder. work: 4 n numbers */
static void CountColumns(const Tree *t, int *work, int *count)
{
  int n = (int)t->n, *first = work, *neighbour = work + n, *leaf = neighbour + n, *set = leaf + n;
  for (int v = 0; v < n; v++) first[v] = set[v] = v, neighbour[v] = leaf[v] = NONE;
  for (int v = 0; v < n; v++)
    if (t->parent[v] != NONE && first[v] < first[t->parent[v]]) first[t->parent[v]] = first[v];
  for (int v = 0; v < n; v++) count[v] = first[v] == v;
  for (int v = 0; v < n; v++) {
    if (t->parent[v] != NONE) count[t->parent[v]]--;
    for (int64_t k = t->ptr[v]; k < t->ptr[v + 1]; k++) {
      int u = t->other[k];
      if (first[v] > neighbour[u]) { /* v is a leaf of the subtree of row u */
        count[v]++;
        if (leaf[u] != NONE) count[Find(set, leaf[u])]--;
        leaf[u] = v;
      }
      neighbour[u] = v;
    }
    if (t->parent[v] != NONE) set[v] = t->parent[v];
  }
  for (int v = 0; v < n; v++)
    if (t->parent[v] != NONE) count[t->parent[v]] += count[v];
}

/* rows[v]: bound of the entries of column v of L: the rows that begin there, and those that its children have
   not used up */
static void CountRows(const Tree *t, int *rows)
{
  for (int64_t v = 0; v < t->n; v++) rows[v] = 0;
  for (int64_t i = 0; i < t->n; i++)
    if (t->anchor[i] != NONE) rows[t->anchor[i]]++;
  Gather(t, 1, rows);
}

/* L's column and U's row of each node have so many entries, with the diagonal. */
static void SumUp(int64_t n, const int *lower, const int *upper, Foreseen *f)
{
  *f = (Foreseen){0};
  for (int64_t v = 0; v < n; v++) {
    double l = lower[v] > 0 ? lower[v] - 1 : 0, u = upper[v] - 1;
    f->entries += l + u + 1;
    f->flops += l + 2 * l * u;
  }
}

static PoiseErr Allocate(PoiseContext ctx, const Pattern *A, Tree *t, int **work)
{
  enum { WORK = 6 };
  t->n = A->n;
  TRY(poiseAllocArray(ctx, A->n, sizeof(int), "places in an elimination tree", &t->place));
  TRY(poiseAllocArray(ctx, A->n, sizeof(int), "rows of an elimination tree", &t->anchor));
  TRY(poiseAllocArray(ctx, A->n, sizeof(int), "an elimination tree", &t->parent));
  TRY(poiseAllocArray(ctx, A->n + 2, sizeof(int64_t), "edges of an elimination tree", &t->ptr));
  TRY(poiseAllocArray(ctx, A->ptr[A->n], sizeof(int), "edges of an elimination tree", &t->other));
  return poiseAllocArray(ctx, WORK * A->n, sizeof(int), "counts of columns", work);
}

static void Count(const Pattern *A, const int *to, bool exchanged, Tree *t, int *work, Foreseen *f)
{
  int64_t n = A->n;
  int *count = work + 4 * n, *rows = work + 5 * n;
  for (int64_t j = 0; j < n; j++) t->place[j] = to[j];
  Anchor(A, exchanged, t);
  ListEdges(A, false, t);
  FindParents(t, work);
  Postorder(t, work, work + n, work + 2 * n);
  Renumber(t, work, work + n);
  ListEdges(A, true, t);
  CountColumns(t, work, count);
  if (exchanged) CountRows(t, rows);
  SumUp(n, exchanged ? rows : count, count, f);
}

PoiseErr poiseForesee(PoiseContext ctx, const Pattern *A, const int *to, bool exchanged, Foreseen *f)
{
  Tree t = {0};
  int *work = NULL;
  PoiseErr e = Allocate(ctx, A, &t, &work);
  if (!e) Count(A, to, exchanged, &t, work, f);
  poiseFree(ctx, &t.place);
  poiseFree(ctx, &t.anchor);
  poiseFree(ctx, &t.parent);
  poiseFree(ctx, &t.ptr);
  poiseFree(ctx, &t.other);
  poiseFree(ctx, &work);
  return e;
}
