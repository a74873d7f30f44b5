/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The body that a file of Gmsh describes: which elements are its cells and its facets, in which groups, and
  whether they are right. All ranks do this for the whole file, and find the same.

  Most follows from a list of all sides of all cells, sorted by their corners. A side that two cells have is
  inside the body. One that only one cell has is on the boundary.
*/
#include "cells.h"
#include "gmsh.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Corners of an element, ascending: the same for all that have the same corners. */
typedef struct Key {
  int32_t corner[8], group, element;
} Key;

/* A side of a cell: corners, ascending; which way round it goes through them, seen from outside. */
typedef struct Side {
  int32_t corner[4], cell; /* a number in body->cell */
  int16_t side, up;
} Side;

/* A group that an element is in. */
typedef struct Use {
  int dim, number, inside; /* inside: it is a facet between two cells */
  int32_t element;
} Use;

typedef struct Work {
  GmshFile *file;
  GmshBody *body;
  int kind, facetKind;
  int32_t facets, *facet; /* elements that are facets, sorted by their corners */
  int64_t sides;
  Side *side;
  int64_t uses;
  Use *use;
} Work;

static PoiseErr Wrong(const GmshFile *file, const GmshElement *e, PoiseErr code, const char *words)
{
  POISE_FAIL(code, "%s, line %lld: element %lld, a %s, %s", file->path, (long long)e->line,
             (long long)e->number, GmshKindOf(e->kind)->name, words);
}

static const double *At(const GmshFile *file, const GmshElement *e, int k)
{
  return file->x + 3 * (size_t)e->node[k];
}

static const GmshElement *CellOf(const Work *w, int32_t cell)
{
  return &w->file->element[w->body->cell[cell]];
}

/* ---- which elements -------------------------------------------------------------------------- */

static PoiseErr ChooseKinds(Work *w)
{
  int dim = 0;
  for (int32_t i = 0; i < w->file->elements; i++) {
    const GmshElement *e = &w->file->element[i];
    if (GmshKindOf(e->kind)->dim <= dim) continue;
    dim = GmshKindOf(e->kind)->dim;
    w->kind = e->kind;
  }
  if (dim < 2)
    POISE_FAIL(POISE_ERR_FORMAT, "%s has neither triangles nor anything larger (gmsh -2, gmsh -3)",
               w->file->path);
  for (int cell = 0; cell < FEM_CELLS; cell++) {
    w->body->kind = (FemCell)cell;
    w->body->info = FemCellInfoOf((FemCell)cell);
    if (strcmp(w->body->info->name, GmshKindOf(w->kind)->name) == 0) break;
  }
  for (w->facetKind = 0;; w->facetKind++) {
    const GmshKind *k = GmshKindOf(w->facetKind);
    if (k->dim == dim - 1 && k->nodes == w->body->info->facetNodes &&
        k->corners == w->body->info->facetCorners)
      return POISE_OK;
  }
}

static PoiseErr OtherKind(const Work *w, const GmshElement *e)
{
  char words[256];
  snprintf(
      words, sizeof words,
      "does not fit the cells, which are %s: all must be of one kind, and facets theirs. In Gmsh recombine "
      "all (Mesh.SubdivisionAlgorithm = %d leaves %s alone) or nothing",
      w->body->info->name, w->body->info->dim - 1, w->body->info->dim == 2 ? "quad4" : "hex8");
  return Wrong(w->file, e, POISE_ERR_FORMAT, words);
}

static PoiseErr ChooseElements(Work *w)
{
  GmshBody *body = w->body;
  POISE_TRY(FemAlloc(w->file->elements, sizeof *body->cell, &body->cell));
  POISE_TRY(FemAlloc(w->file->elements, sizeof *w->facet, &w->facet));
  for (int32_t i = 0; i < w->file->elements; i++) {
    const GmshElement *e = &w->file->element[i];
    const int dim = GmshKindOf(e->kind)->dim;
    if (dim < body->info->dim - 1 || (dim < body->info->dim && e->group == 0)) continue;
    if (dim < body->info->dim && e->kind == w->facetKind) {
      w->facet[w->facets++] = i;
    } else if (dim == body->info->dim && e->kind == w->kind) {
      body->cell[body->cells++] = i;
    } else {
      return OtherKind(w, e);
    }
  }
  return POISE_OK;
}

static void MakeKey(Key *key, int nodes, const int32_t *node)
{
  *key = (Key){.element = 0};
  for (int k = 0; k < nodes; k++) {
    int at = k;
    for (; at > 0 && key->corner[at - 1] > node[k]; at--) key->corner[at] = key->corner[at - 1];
    key->corner[at] = node[k];
  }
}

static int CompareCorners(const void *a, const void *b)
{
  const Key *s = a, *t = b;
  for (int k = 0; k < 8; k++) {
    if (s->corner[k] != t->corner[k]) return s->corner[k] < t->corner[k] ? -1 : 1;
  }
  return 0;
}

static int CompareKeys(const void *a, const void *b)
{
  const Key *s = a, *t = b;
  const int order = CompareCorners(a, b);
  if (order != 0) return order;
  if (s->group != t->group) return s->group < t->group ? -1 : 1;
  return (s->element > t->element) - (s->element < t->element);
}

/* b has the corners of a, and must be the same in another group. */
static PoiseErr Join(GmshFile *file, int32_t a, int32_t b)
{
  GmshElement *e = &file->element[a], *f = &file->element[b];
  const GmshKind *kind = GmshKindOf(e->kind);
  Key middles[2];
  MakeKey(&middles[0], kind->nodes - kind->corners, e->node + kind->corners);
  MakeKey(&middles[1], kind->nodes - kind->corners, f->node + kind->corners);
  if (e->group == 0 || e->group == f->group || CompareCorners(&middles[0], &middles[1]) != 0) {
    char words[96];
    snprintf(words, sizeof words, "is given again, first in line %lld", (long long)(a < b ? e : f)->line);
    return Wrong(file, a < b ? f : e, POISE_ERR_FORMAT, words);
  }
  e->next = b + 1;
  f->further = 1;
  return POISE_OK;
}

static PoiseErr JoinKeys(GmshFile *file, Key *key, int32_t n)
{
  for (int32_t i = 0; i < n; i++) {
    const GmshElement *e = &file->element[key[i].element];
    const int32_t element = key[i].element;
    MakeKey(&key[i], GmshKindOf(e->kind)->corners, e->node);
    key[i].group = e->group;
    key[i].element = element;
  }
  qsort(key, (size_t)n, sizeof *key, CompareKeys);
  for (int32_t i = 1; i < n; i++) {
    if (CompareCorners(&key[i - 1], &key[i]) == 0) POISE_TRY(Join(file, key[i - 1].element, key[i].element));
  }
  return POISE_OK;
}

/* Join elements that are the same in several groups, and keep one of each in the list. sort: in the order of
   their corners, else as before. *further is how many were left out. */
static PoiseErr JoinSame(GmshFile *file, int sort, int32_t *list, int32_t *n, int32_t *further)
{
  Key *key;
  int32_t left = 0;
  POISE_TRY(FemAlloc(*n, sizeof *key, &key));
  for (int32_t i = 0; i < *n; i++) key[i].element = list[i];
  PoiseErr err = JoinKeys(file, key, *n);
  for (int32_t i = 0; i < *n && err == POISE_OK; i++) {
    const int32_t element = sort ? key[i].element : list[i];
    if (!file->element[element].further) list[left++] = element;
  }
  *further = *n - left;
  *n = left;
  free(key);
  return err;
}

/* ---- places and orientation ------------------------------------------------------------------ */

/* A mesh in the plane has one z, to rounding, which becomes 0. */
static PoiseErr Flatten(const Work *w)
{
  const GmshFile *file = w->file;
  const double z = At(file, CellOf(w, 0), 0)[2];
  double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
  for (int pass = 0; pass < 2; pass++) {
    const double most = pass == 0 ? INFINITY : 1e-9 * fmax(high[0] - low[0], high[1] - low[1]);
    for (int32_t c = 0; c < w->body->cells; c++) {
      for (int k = 0; k < w->body->info->nodes; k++) {
        const double *x = At(file, CellOf(w, c), k);
        for (int m = 0; m < 2; m++) {
          low[m] = fmin(low[m], x[m]);
          high[m] = fmax(high[m], x[m]);
        }
        if (fabs(x[2] - z) <= most) continue;
        return Wrong(file, CellOf(w, c), POISE_ERR_FORMAT,
                     "is not in one plane of equal z with others, and there are no cells in space");
      }
    }
  }
  for (int32_t i = 0; i < file->nodes; i++) file->x[3 * (size_t)i + 2] = 0;
  return POISE_OK;
}

/* The least Jacobian that is not 0 to rounding: coordinates are only known to their last bit. */
static double Least(int dim, int nodes, double x[][3])
{
  double most = 0, size = 0;
  for (int k = 0; k < nodes; k++) {
    for (int c = 0; c < 3; c++) {
      most = fmax(most, fabs(x[k][c]));
      size = fmax(size, fabs(x[k][c] - x[0][c]));
    }
  }
  return 4 * DBL_EPSILON * most * (dim == 2 ? size : size * size);
}

static void Places(const GmshFile *file, const GmshElement *e, int nodes, double x[][3])
{
  for (int k = 0; k < nodes; k++) memcpy(x[k], At(file, e, k), sizeof x[k]);
}

/* The cell between the corners: for the volume, whose sign says from where it is seen. */
static FemCell LinearKind(const FemCellInfo *info)
{
  FemCell cell = FEM_TRI3;
  while (FemCellInfoOf(cell)->dim != info->dim || FemCellInfoOf(cell)->nodes != info->corners) cell++;
  return cell;
}

/* Turn cells round that were seen from behind. A simplex must have a volume; GmshCheckShape sees more of
   others. CheckSides finds those that were inverted. */
static PoiseErr Orient(const Work *w)
{
  static const int turned[FEM_CELLS][FEM_MAX_NODES] = {[FEM_TRI3] = {0, 2, 1},
                                                       [FEM_TRI6] = {0, 2, 1, 5, 4, 3},
                                                       [FEM_QUAD4] = {0, 3, 2, 1},
                                                       [FEM_TET4] = {0, 2, 1, 3},
                                                       [FEM_TET10] = {0, 2, 1, 3, 6, 5, 4, 7, 9, 8},
                                                       [FEM_HEX8] = {0, 3, 2, 1, 4, 7, 6, 5}};
  const FemCellInfo *info = w->body->info;
  FemReference r;
  FemReferenceCell(LinearKind(info), 0, &r);
  for (int32_t c = 0; c < w->body->cells; c++) {
    GmshElement *e = &w->file->element[w->body->cell[c]];
    double x[FEM_MAX_NODES][3], inverse[3][3], volume = 0, all = 0;
    Places(w->file, e, r.nodes, x);
    for (int q = 0; q < r.points; q++) {
      const double part = r.w[q] * FemJacobian(r.dim, r.nodes, x[0], r.dN[q][0], inverse);
      volume += part;
      all += fabs(part);
    }
    const double least = Least(r.dim, r.nodes, x);
    if (r.nodes == r.dim + 1 && !(all > least))
      return Wrong(w->file, e, POISE_ERR_NUMERIC, "is inverted or flat");
    if (volume >= -fmax(least, 1e-9 * all)) continue;
    const GmshElement old = *e;
    for (int k = 0; k < info->nodes; k++) e->node[k] = old.node[turned[w->body->kind][k]];
  }
  return POISE_OK;
}

PoiseErr GmshCheckShape(const GmshBody *body, const GmshShapes *shapes, int32_t cell)
{
  const GmshElement *e = &body->file->element[cell];
  const FemReference *all[] = {&shapes->rule, &shapes->fine, &shapes->nodes};
  double x[FEM_MAX_NODES][3], inverse[3][3], at[3];
  if (body->info->nodes == body->info->dim + 1) return POISE_OK; /* the same everywhere: Orient has seen it */
  Places(body->file, e, body->info->nodes, x);
  const double least = Least(body->info->dim, body->info->nodes, x);
  for (int r = 0; r < 3; r++) {
    for (int q = 0; q < all[r]->points; q++) {
      if (FemJacobian(all[r]->dim, all[r]->nodes, x[0], all[r]->dN[q][0], inverse) > least) continue;
      char words[192];
      memset(at, 0, sizeof at);
      for (int k = 0; k < all[r]->nodes; k++)
        for (int c = 0; c < 3; c++) at[c] += all[r]->N[q][k] * x[k][c];
      snprintf(words, sizeof words, "is inverted or flat %s (%g, %g, %g)%s",
               r < 2 ? "inside, at" : "at its node", at[0], at[1], at[2],
               body->info->nodes > body->info->corners ? "; try Mesh.HighOrderOptimize = 2, or finer" : "");
      return Wrong(body->file, e, POISE_ERR_NUMERIC, words);
    }
  }
  return POISE_OK;
}

/* ---- sides ----------------------------------------------------------------------------------- */

static int CompareSides(const void *a, const void *b)
{
  const Side *s = a, *t = b;
  for (int k = 0; k < 4; k++) {
    if (s->corner[k] != t->corner[k]) return s->corner[k] < t->corner[k] ? -1 : 1;
  }
  if (s->cell != t->cell) return s->cell < t->cell ? -1 : 1;
  return s->side - t->side;
}

static int SameCorners(const Side *s, const Side *t)
{
  return memcmp(s->corner, t->corner, sizeof s->corner) == 0;
}

static Side MakeSide(const Work *w, int32_t cell, int side)
{
  const int32_t *node = CellOf(w, cell)->node;
  const int *which = w->body->info->facet[side], n = w->body->info->facetCorners;
  int32_t corner[4] = {0};
  Key key;
  int least = 0;
  for (int k = 0; k < n; k++) {
    corner[k] = node[which[k]];
    if (corner[k] < corner[least]) least = k;
  }
  MakeKey(&key, n, corner);
  const int up = n == 2 ? least : corner[(least + 1) % n] < corner[(least + n - 1) % n];
  Side s = {.cell = cell, .side = (int16_t)side, .up = (int16_t)up};
  memcpy(s.corner, key.corner, sizeof s.corner);
  return s;
}

/* Make the sorted list. Sides are put where those with their least corner are, and sorted there. */
static void SortSides(Work *w, int64_t *begin)
{
  const int each = w->body->info->facets;
  for (int64_t k = 0; k < w->sides; k++)
    begin[MakeSide(w, (int32_t)(k / each), (int)(k % each)).corner[0] + 2]++;
  for (int32_t i = 2; i <= w->file->nodes; i++) begin[i] += begin[i - 1];
  for (int64_t k = 0; k < w->sides; k++) {
    const Side s = MakeSide(w, (int32_t)(k / each), (int)(k % each));
    w->side[begin[s.corner[0] + 1]++] = s;
  }
  for (int32_t i = 0; i < w->file->nodes; i++)
    qsort(w->side + begin[i], (size_t)(begin[i + 1] - begin[i]), sizeof *w->side, CompareSides);
}

static PoiseErr MakeSides(Work *w)
{
  int64_t *begin;
  w->sides = (int64_t)w->body->cells * w->body->info->facets;
  POISE_TRY(FemAlloc(w->sides, sizeof *w->side, &w->side));
  POISE_TRY(FemAlloc((PoiseInt)w->file->nodes + 2, sizeof *begin, &begin));
  SortSides(w, begin);
  free(begin);
  return POISE_OK;
}

/* How many cells have the side k, which is the first of those with its corners. */
static int CellsOf(const Work *w, int64_t k)
{
  int n = 1;
  while (n < 3 && k + n < w->sides && SameCorners(&w->side[k], &w->side[k + n])) n++;
  return n;
}

/* At most two cells share a side, and see it from opposite directions. Otherwise one lies on the other. */
static PoiseErr CheckSides(const Work *w)
{
  for (int64_t k = 0, n; k < w->sides; k += n) {
    const Side *s = &w->side[k];
    n = CellsOf(w, k);
    if (n > 2) {
      return Wrong(w->file, CellOf(w, s[2].cell), POISE_ERR_FORMAT,
                   w->body->info->dim == 2 ? "has an edge that two other cells have"
                                           : "has a facet that two other cells have");
    }
    if (n == 1 || s[0].up != s[1].up) continue;
    char words[96];
    snprintf(words, sizeof words, "overlaps that of line %lld: one of them is inverted",
             (long long)CellOf(w, s[0].cell)->line);
    return Wrong(w->file, CellOf(w, s[1].cell), POISE_ERR_NUMERIC, words);
  }
  return POISE_OK;
}

/* ---- one body -------------------------------------------------------------------------------- */

/* The one that represents the set of this one; shortens the path there. */
static int32_t Root(int32_t *parent, int32_t i)
{
  while (parent[i] != i) i = parent[i] = parent[parent[i]];
  return i;
}

/* Find cells that share a node but are of different parts, each joined by sides. first[nodes], which is 0,
   gets 1 + the first cell at each node. */
static void FindHinge(const Work *w, int32_t *parent, int32_t *first)
{
  const FemCellInfo *info = w->body->info;
  int32_t parts = 0;
  const GmshElement *joined[2] = {NULL, NULL};
  for (int32_t c = 0; c < w->body->cells; c++) {
    const int32_t *node = CellOf(w, c)->node;
    parts += Root(parent, c) == c;
    for (int k = 0; k < info->corners && joined[0] == NULL; k++) {
      if (first[node[k]] == 0) first[node[k]] = c + 1;
      const int32_t other = first[node[k]] - 1;
      if (Root(parent, other) == Root(parent, c)) continue;
      joined[0] = CellOf(w, other);
      joined[1] = CellOf(w, c);
    }
  }
  if (joined[0] == NULL) return;
  snprintf(
      w->body->hinge, sizeof w->body->hinge,
      "%.160s: %d parts of the body are joined by %s alone, as by hinges: elements %lld and %lld, lines %lld "
      "and %lld, are of two",
      w->file->path, (int)parts, info->dim == 2 ? "nodes" : "edges or nodes", (long long)joined[0]->number,
      (long long)joined[1]->number, (long long)joined[0]->line, (long long)joined[1]->line);
}

static PoiseErr FindParts(const Work *w)
{
  int32_t *parent, *first;
  POISE_TRY(FemAlloc(w->body->cells, sizeof *parent, &parent));
  PoiseErr err = FemAlloc(w->file->nodes, sizeof *first, &first);
  for (int32_t c = 0; c < w->body->cells; c++) parent[c] = c;
  for (int64_t k = 1; k < w->sides; k++) {
    if (!SameCorners(&w->side[k - 1], &w->side[k])) continue;
    const int32_t a = Root(parent, w->side[k - 1].cell), b = Root(parent, w->side[k].cell);
    parent[a < b ? b : a] = a < b ? a : b;
  }
  if (err == POISE_OK) FindHinge(w, parent, first);
  free(parent);
  free(first);
  return err;
}

/* Check that all cells are connected by their nodes. One of two bodies might be held by nothing, which
   makes the matrix singular. */
static PoiseErr CheckOneBody(const Work *w)
{
  const GmshElement *first = CellOf(w, 0);
  PoiseErr err = POISE_OK;
  int32_t *parent;
  POISE_TRY(FemAlloc(w->file->nodes, sizeof *parent, &parent));
  for (int32_t i = 0; i < w->file->nodes; i++) parent[i] = i;
  for (int32_t c = 0; c < w->body->cells; c++) {
    const int32_t *node = CellOf(w, c)->node;
    for (int k = 1; k < w->body->info->corners; k++) parent[Root(parent, node[k])] = Root(parent, node[0]);
  }
  for (int32_t c = 1; c < w->body->cells && err == POISE_OK; c++) {
    const GmshElement *e = CellOf(w, c);
    if (Root(parent, e->node[0]) == Root(parent, first->node[0])) continue;
    char words[160];
    snprintf(
        words, sizeof words,
        "is of another body than that of line %lld: they share no nodes (Coherence, in Gmsh, joins them)",
        (long long)first->line);
    err = Wrong(w->file, e, POISE_ERR_FORMAT, words);
  }
  free(parent);
  return err;
}

/* ---- facets and groups ----------------------------------------------------------------------- */

/* An element is in the groups that it and its next ones say. */
static void UseGroups(Work *w, int32_t element, int inside)
{
  for (int32_t i = element + 1; i != 0; i = w->file->element[i - 1].next) {
    const GmshElement *e = &w->file->element[i - 1];
    w->use[w->uses++] = (Use){GmshKindOf(e->kind)->dim, e->group, inside, i - 1};
  }
}

/* Match facets with sides: those of the boundary are kept. */
static PoiseErr MatchFacets(Work *w)
{
  GmshBody *body = w->body;
  const int corners = body->info->facetCorners;
  POISE_TRY(FemAlloc(w->facets, sizeof *body->facet, &body->facet));
  int64_t k = 0;
  for (int32_t f = 0; f < w->facets; f++) {
    const GmshElement *e = &w->file->element[w->facet[f]];
    Key key;
    Side side = {.cell = 0};
    MakeKey(&key, corners, e->node);
    memcpy(side.corner, key.corner, sizeof side.corner);
    while (k < w->sides && CompareSides(&w->side[k], &side) < 0) k++; /* facets are sorted, too */
    if (k == w->sides || !SameCorners(&w->side[k], &side))
      return Wrong(w->file, e, POISE_ERR_FORMAT, "belongs to no cell");
    const int inside = CellsOf(w, k) == 2;
    UseGroups(w, w->facet[f], inside);
    if (!inside)
      body->facet[body->facets++] = (GmshFacet){w->facet[f], body->cell[w->side[k].cell], w->side[k].side};
  }
  return POISE_OK;
}

static int CompareUses(const void *a, const void *b)
{
  const Use *s = a, *t = b;
  if (s->dim != t->dim) return s->dim < t->dim ? -1 : 1;
  if (s->number != t->number) return s->number < t->number ? -1 : 1;
  if (s->inside != t->inside) return s->inside - t->inside;
  return (s->element > t->element) - (s->element < t->element);
}

static int CompareGroups(const void *a, const void *b)
{
  const FemGroup *s = a, *t = b;
  if (s->dim != t->dim) return s->dim < t->dim ? -1 : 1;
  return (s->number > t->number) - (s->number < t->number);
}

static FemGroup GroupOf(const GmshFile *file, const Use *use)
{
  FemGroup group = {.dim = use->dim, .number = use->number};
  const FemGroup *named = NULL;
  snprintf(group.name, sizeof group.name, "%d", use->number);
  if (use->number == 0) strcpy(group.name, "rest");
  if (file->names > 0) named = bsearch(&group, file->name, (size_t)file->names, sizeof group, CompareGroups);
  return named != NULL ? *named : group;
}

/* The groups that elements use, those of facets inside the body last. */
static PoiseErr MakeGroups(Work *w)
{
  GmshBody *body = w->body;
  int groups = 0;
  for (int32_t c = 0; c < body->cells; c++) UseGroups(w, body->cell[c], 0);
  qsort(w->use, (size_t)w->uses, sizeof *w->use, CompareUses);
  if (w->file->names > 0) qsort(w->file->name, (size_t)w->file->names, sizeof *w->file->name, CompareGroups);
  for (int64_t u = 0; u < w->uses; u++) {
    const Use *a = &w->use[u > 0 ? u - 1 : 0], *b = &w->use[u];
    const int same = u > 0 && a->dim == b->dim && a->number == b->number;
    if (same && a->inside != b->inside)
      return Wrong(w->file, &w->file->element[b->element], POISE_ERR_FORMAT,
                   "lies between two cells, others of its physical group on the boundary");
    groups += !same;
    if (u > 0 && !same) w->use[groups - 1] = *b; /* one of each */
  }
  POISE_TRY(FemAlloc(groups, sizeof *body->group, &body->group));
  for (int inside = 0; inside < 2; inside++) {
    for (int g = 0; g < groups; g++) {
      if (w->use[g].inside != inside) continue;
      body->group[body->groups + body->inside] = GroupOf(w->file, &w->use[g]);
      *(inside ? &body->inside : &body->groups) += 1;
    }
  }
  return POISE_OK;
}

/* ---- all ------------------------------------------------------------------------------------- */

static PoiseErr Check(Work *w)
{
  GmshBody *body = w->body;
  POISE_TRY(ChooseKinds(w));
  POISE_TRY(ChooseElements(w));
  POISE_TRY(JoinSame(w->file, 0, body->cell, &body->cells, &body->furtherCells));
  POISE_TRY(JoinSame(w->file, 1, w->facet, &w->facets, &body->furtherFacets));
  if (body->info->dim == 2) POISE_TRY(Flatten(w));
  POISE_TRY(Orient(w));
  POISE_TRY(MakeSides(w));
  POISE_TRY(CheckSides(w));
  POISE_TRY(CheckOneBody(w));
  POISE_TRY(FindParts(w));
  POISE_TRY(FemAlloc(w->file->elements, sizeof *w->use, &w->use));
  POISE_TRY(MatchFacets(w));
  return MakeGroups(w);
}

PoiseErr GmshCheck(GmshFile *file, GmshBody *body)
{
  *body = (GmshBody){.file = file};
  Work w = {.file = file, .body = body};
  PoiseErr err = Check(&w);
  free(w.facet);
  free(w.side);
  free(w.use);
  return err;
}

void GmshBodyFree(GmshBody *body)
{
  free(body->cell);
  free(body->facet);
  free(body->group);
  *body = (GmshBody){0};
}
