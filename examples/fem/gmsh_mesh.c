/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Make a distributed mesh from a file of Gmsh. Every rank has the whole file, and finds the same order of all
  cells. It takes its part of these. A node belongs to the first rank that has a cell at it. Nodes are
  numbered in the order in which the cells first use them. So owners and numbers agree without communication.
*/
#include "element.h"
#include "gmsh.h"
#include "partition.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the text, the same on all ranks --------------------------------------------------------- */

enum { BLANK = 1 << 24 }; /* most blanks and ends of lines in a row that are accepted */

/* Refuse endless blanks, which a device may give. Bytes from `from` on are new; *full is behind the last
   that is not blank. */
static PoiseErr CheckText(const char *path, const char *text, size_t from, size_t size, size_t *full)
{
  size_t end = size, line = 1;
  const char *zero = memchr(text + from, 0, size - from);
  if (zero != NULL)
    POISE_FAIL(POISE_ERR_FORMAT, "%s is not a text: byte %zu is 0", path, (size_t)(zero - text) + 1);
  while (end > from && strchr(" \t\n\v\f\r", text[end - 1]) != NULL) end--;
  if (end > from) *full = end;
  if (size - *full <= BLANK) return POISE_OK;
  for (size_t i = 0; i < *full; i++) line += text[i] == '\n';
  POISE_FAIL(POISE_ERR_FORMAT, "%s, line %zu: more than %d blanks and ends of lines in a row begin here",
             path, line, BLANK);
}

static PoiseErr ReadAll(FILE *stream, const char *path, char **text, size_t *size)
{
  size_t room = 0, got = 1, full = 0;
  for (*size = 0; got > 0; *size += got) {
    if (*size + 1 >= room) { /* one for a 0 behind it */
      char *larger = realloc(*text, 2 * room + 65536);
      if (larger == NULL) POISE_FAIL(POISE_ERR_MEMORY, "%s: no memory for %zu bytes", path, 2 * room + 65536);
      *text = larger;
      room = 2 * room + 65536;
    }
    got = fread(*text + *size, 1, room - 1 - *size, stream);
    POISE_TRY(CheckText(path, *text, *size, *size + got, &full));
  }
  if (ferror(stream)) POISE_FAIL(POISE_ERR_FILE, "%s: %s", path, strerror(errno));
  (*text)[*size] = '\0';
  return POISE_OK;
}

static PoiseErr ReadText(const char *path, char **text, size_t *size)
{
  FILE *stream = fopen(path, "rb");
  if (stream == NULL) POISE_FAIL(POISE_ERR_FILE, "%s: %s", path, strerror(errno));
  PoiseErr err = ReadAll(stream, path, text, size);
  fclose(stream);
  return err;
}

static PoiseErr CheckSame(PoiseContext ctx, const char *path, const char *text, size_t size)
{
  uint64_t hash = 14695981039346656037u; /* FNV-1a */
  for (size_t i = 0; i < size; i++) hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;
  const double h = (double)(hash >> 11), n = (double)size; /* 53 bits: exact */
  double most[4] = {h, -h, n, -n};
  POISE_TRY(PoiseMax(ctx, 4, most));
  if (most[0] == -most[1] && most[2] == -most[3]) return POISE_OK;
  POISE_FAIL(POISE_ERR_FILE, "%s is not the same file on all ranks", path);
}

/* ---- cells, and facets on the boundary ------------------------------------------------------- */

/* Corners of an element, ascending: the same for all that have the same corners. */
typedef struct Key {
  int32_t corner[8], element;
} Key;

typedef struct Place {
  double rank, along;
  int32_t cell;
} Place;

/* A facet of a group is side `side` of the element `cell`, the last one of so many cells. */
typedef struct Facet {
  int32_t cell;
  int side, cells;
} Facet;

typedef struct Group {
  FemGroup is;
  const GmshElement *inside; /* a facet between two cells; NULL: none */
  int boundary;              /* facets on the boundary? */
} Group;

typedef struct Deal {
  const GmshFile *file;
  FemMesh *mesh;
  const FemCellInfo *info;
  int kind, facetKind;
  int32_t cells, facets;
  int32_t *cell;  /* [cells] elements that are cells; then in the order in which they are dealt */
  Key *key;       /* [facets], sorted */
  Facet *facet;   /* [facets], in the order of key */
  int32_t *local; /* [nodes of the file] this rank's number; -1: none */
  int groups;
  Group *group;
} Deal;

static PoiseErr Wrong(const Deal *d, const GmshElement *e, PoiseErr code, const char *words)
{
  POISE_FAIL(code, "%s, line %lld: element %lld, a %s, %s", d->file->path, (long long)e->line,
             (long long)e->number, GmshKindOf(e->kind)->name, words);
}

static PoiseErr ChooseKinds(Deal *d)
{
  int dim = 0;
  for (int32_t i = 0; i < d->file->elements; i++) {
    const GmshElement *e = &d->file->element[i];
    if (GmshKindOf(e->kind)->dim <= dim) continue;
    dim = GmshKindOf(e->kind)->dim;
    d->kind = e->kind;
  }
  if (dim < 2)
    POISE_FAIL(POISE_ERR_FORMAT, "%s has neither triangles nor anything larger (gmsh -2, gmsh -3)",
               d->file->path);
  for (int cell = 0; cell < FEM_CELLS; cell++) {
    d->info = FemCellInfoOf((FemCell)cell);
    d->mesh->cell = (FemCell)cell;
    if (strcmp(d->info->name, GmshKindOf(d->kind)->name) == 0) break;
  }
  d->mesh->dim = dim;
  for (d->facetKind = 0;; d->facetKind++) {
    const GmshKind *k = GmshKindOf(d->facetKind);
    if (k->dim == dim - 1 && k->nodes == d->info->facetNodes && k->corners == d->info->facetCorners)
      return POISE_OK;
  }
}

static PoiseErr ChooseElements(Deal *d)
{
  POISE_TRY(FemAlloc(d->file->elements, sizeof *d->cell, &d->cell));
  POISE_TRY(FemAlloc(d->file->elements, sizeof *d->key, &d->key));
  for (int32_t i = 0; i < d->file->elements; i++) {
    const GmshElement *e = &d->file->element[i];
    const int dim = GmshKindOf(e->kind)->dim;
    if (dim < d->mesh->dim - 1 || (dim < d->mesh->dim && e->group == 0)) continue;
    if (e->group == GMSH_MANY)
      return Wrong(d, e, POISE_ERR_FORMAT, "is in more than one physical group; it can be in one");
    if (dim < d->mesh->dim && e->kind == d->facetKind) {
      d->key[d->facets++].element = i;
    } else if (dim == d->mesh->dim && e->kind == d->kind) {
      d->cell[d->cells++] = i;
    } else {
      return Wrong(d, e, POISE_ERR_FORMAT,
                   "does not fit the other elements: all cells must be of one kind, and facets theirs");
    }
  }
  d->mesh->allCells = d->cells;
  return POISE_OK;
}

static void MakeKey(Key *key, int32_t element, int corners, const int32_t *node, const int *which)
{
  *key = (Key){.element = element};
  for (int k = 0; k < corners; k++) {
    int at = k;
    const int32_t corner = node[which != NULL ? which[k] : k];
    for (; at > 0 && key->corner[at - 1] > corner; at--) key->corner[at] = key->corner[at - 1];
    key->corner[at] = corner;
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
  return order != 0 ? order : (s->element > t->element) - (s->element < t->element);
}

/* Sort the keys. No two may have the same corners, which elements of two physical groups have in version
   2. */
static PoiseErr SortKeys(const Deal *d, Key *key, int32_t n)
{
  for (int32_t i = 0; i < n; i++) {
    const GmshElement *e = &d->file->element[key[i].element];
    MakeKey(&key[i], key[i].element, GmshKindOf(e->kind)->corners, e->node, NULL);
  }
  qsort(key, (size_t)n, sizeof *key, CompareKeys);
  for (int32_t i = 1; i < n; i++) {
    if (CompareCorners(&key[i - 1], &key[i]) != 0) continue;
    char words[96];
    snprintf(words, sizeof words, "is given again, first in line %lld (in two physical groups?)",
             (long long)d->file->element[key[i - 1].element].line);
    return Wrong(d, &d->file->element[key[i].element], POISE_ERR_FORMAT, words);
  }
  return POISE_OK;
}

static PoiseErr CheckCells(const Deal *d)
{
  Key *key;
  POISE_TRY(FemAlloc(d->cells, sizeof *key, &key));
  for (int32_t c = 0; c < d->cells; c++) key[c].element = d->cell[c];
  PoiseErr err = SortKeys(d, key, d->cells);
  free(key);
  return err;
}

static const double *Corner(const Deal *d, int32_t cell, int k)
{
  return d->file->x + 3 * (size_t)d->file->element[cell].node[k];
}

static void Swap(int32_t *a, int32_t *b)
{
  const int32_t c = *a;
  *a = *b;
  *b = c;
}

/* Check the volume spanned by the edges of corner 0, which is enough for a tetrahedron or a triangle.
   Cells in the plane are turned round if the surface was seen from behind. (CheckEdges finds those that
   were inverted.) */
static PoiseErr Orient(const Deal *d, int32_t cell)
{
  GmshElement *e = &d->file->element[cell];
  const int corners = d->info->corners, second = d->mesh->dim == 2 ? corners - 1 : corners == 8 ? 3 : 2;
  const double *x = Corner(d, cell, 0), *a = Corner(d, cell, 1), *b = Corner(d, cell, second);
  double n[3];
  for (int k = 0; k < 3; k++) {
    const int l = (k + 1) % 3, m = (k + 2) % 3;
    n[k] = (a[l] - x[l]) * (b[m] - x[m]) - (a[m] - x[m]) * (b[l] - x[l]);
  }
  double volume = n[2];
  if (d->mesh->dim == 3) {
    const double *c = Corner(d, cell, corners == 8 ? 4 : 3);
    volume = n[0] * (c[0] - x[0]) + n[1] * (c[1] - x[1]) + n[2] * (c[2] - x[2]);
  } else if (volume < 0) {
    Swap(&e->node[1], &e->node[corners - 1]);
    if (d->info->nodes == 6) Swap(&e->node[3], &e->node[5]);
    volume = -volume;
  }
  if (volume > 0) return POISE_OK;
  return Wrong(d, e, POISE_ERR_NUMERIC, "is inverted or flat");
}

/* Cells in the plane: at most two share an edge, and they pass along it in opposite directions. Otherwise
   one lies on the other. */
static PoiseErr CompareEdges(const Deal *d, Key *key, size_t n)
{
  qsort(key, n, sizeof *key, CompareKeys);
  for (size_t i = 1; i < n; i++) {
    if (CompareCorners(&key[i - 1], &key[i]) != 0) continue;
    const GmshElement *e = &d->file->element[d->cell[key[i].element / 2]];
    if (i > 1 && CompareCorners(&key[i - 2], &key[i]) == 0) {
      return Wrong(d, e, POISE_ERR_FORMAT, "has an edge that two other cells have");
    }
    if (key[i - 1].element % 2 != key[i].element % 2) continue;
    char words[96];
    snprintf(words, sizeof words, "overlaps that of line %lld: one of them is inverted",
             (long long)d->file->element[d->cell[key[i - 1].element / 2]].line);
    return Wrong(d, e, POISE_ERR_NUMERIC, words);
  }
  return POISE_OK;
}

static PoiseErr CheckEdges(const Deal *d)
{
  const int edges = d->info->facets;
  Key *key;
  if (d->cells > INT32_MAX / 2) POISE_FAIL(POISE_ERR_FORMAT, "%s has too many cells", d->file->path);
  POISE_TRY(FemAlloc((PoiseInt)d->cells * edges, sizeof *key, &key));
  for (int32_t c = 0; c < d->cells; c++) {
    const int32_t *node = d->file->element[d->cell[c]].node;
    for (int side = 0; side < edges; side++) {
      const int *corner = d->info->facet[side], down = node[corner[0]] > node[corner[1]];
      MakeKey(&key[(size_t)c * (size_t)edges + (size_t)side], 2 * c + down, 2, node, corner);
    }
  }
  PoiseErr err = CompareEdges(d, key, (size_t)d->cells * (size_t)edges);
  free(key);
  return err;
}

/* The node that represents the body of this one; shortens the path there. */
static int32_t Root(int32_t *parent, int32_t node)
{
  while (parent[node] != node) node = parent[node] = parent[parent[node]];
  return node;
}

/* Check that all cells are connected by their nodes. One of two bodies might be held by nothing, which
   makes the matrix singular. */
static PoiseErr CheckOneBody(const Deal *d)
{
  const GmshElement *first = &d->file->element[d->cell[0]];
  PoiseErr err = POISE_OK;
  int32_t *parent;
  POISE_TRY(FemAlloc(d->file->nodes, sizeof *parent, &parent));
  for (int32_t i = 0; i < d->file->nodes; i++) parent[i] = i;
  for (int32_t c = 0; c < d->cells; c++) {
    const int32_t *node = d->file->element[d->cell[c]].node;
    for (int k = 1; k < d->info->corners; k++) parent[Root(parent, node[k])] = Root(parent, node[0]);
  }
  for (int32_t c = 1; c < d->cells && err == POISE_OK; c++) {
    const GmshElement *e = &d->file->element[d->cell[c]];
    if (Root(parent, e->node[0]) == Root(parent, first->node[0])) continue;
    char words[160];
    snprintf(
        words, sizeof words,
        "is of another body than that of line %lld: they share no nodes (Coherence, in Gmsh, joins them)",
        (long long)first->line);
    err = Wrong(d, e, POISE_ERR_FORMAT, words);
  }
  free(parent);
  return err;
}

static PoiseErr CheckPlane(const Deal *d)
{
  for (int32_t c = 0; c < d->cells; c++) {
    for (int k = 0; k < d->info->nodes; k++) {
      if (Corner(d, d->cell[c], k)[2] == 0) continue;
      return Wrong(d, &d->file->element[d->cell[c]], POISE_ERR_FORMAT,
                   "is not in the plane z = 0, and there are no cells in space");
    }
  }
  return POISE_OK;
}

/* ---- groups ---------------------------------------------------------------------------------- */

static PoiseErr FindGroup(Deal *d, int dim, int number, Group **group)
{
  for (int g = 0; g < d->groups; g++) {
    *group = &d->group[g];
    if (d->group[g].is.dim == dim && d->group[g].is.number == number) return POISE_OK;
  }
  Group *more = realloc(d->group, (size_t)(d->groups + 1) * sizeof *more);
  if (more == NULL) POISE_FAIL(POISE_ERR_MEMORY, "no memory for %d groups", d->groups + 1);
  d->group = more;
  *group = &more[d->groups++];
  **group = (Group){.is = {.dim = dim, .number = number}};
  snprintf((*group)->is.name, sizeof(*group)->is.name, "%d", number);
  if (number == 0) strcpy((*group)->is.name, "rest");
  for (int g = 0; g < d->file->names; g++) {
    if (d->file->name[g].dim == dim && d->file->name[g].number == number) (*group)->is = d->file->name[g];
  }
  return POISE_OK;
}

/* Which cells the facets belong to. */
static PoiseErr MatchFacets(Deal *d)
{
  POISE_TRY(FemAlloc(d->facets, sizeof *d->facet, &d->facet));
  for (int32_t c = 0; c < d->cells; c++) {
    for (int side = 0; side < d->info->facets; side++) {
      Key key;
      MakeKey(&key, 0, d->info->facetCorners, d->file->element[d->cell[c]].node, d->info->facet[side]);
      const Key *found = bsearch(&key, d->key, (size_t)d->facets, sizeof key, CompareCorners);
      if (found == NULL) continue;
      Facet *facet = &d->facet[found - d->key];
      *facet = (Facet){d->cell[c], side, facet->cells + 1};
    }
  }
  return POISE_OK;
}

static PoiseErr CheckFacets(Deal *d)
{
  for (int32_t f = 0; f < d->facets; f++) {
    const GmshElement *e = &d->file->element[d->key[f].element];
    Group *group;
    if (d->facet[f].cells == 0) return Wrong(d, e, POISE_ERR_FORMAT, "belongs to no cell");
    if (d->facet[f].cells > 2) return Wrong(d, e, POISE_ERR_FORMAT, "belongs to more than two cells");
    POISE_TRY(FindGroup(d, d->mesh->dim - 1, e->group, &group));
    if (d->facet[f].cells == 1) group->boundary = 1;
    if (d->facet[f].cells == 2) group->inside = e;
  }
  for (int g = 0; g < d->groups; g++) {
    if (d->group[g].boundary && d->group[g].inside != NULL) {
      return Wrong(d, d->group[g].inside, POISE_ERR_FORMAT,
                   "lies between two cells, others of its physical group on the boundary");
    }
  }
  return POISE_OK;
}

static int CompareGroups(const void *a, const void *b)
{
  const FemGroup *s = a, *t = b;
  if (s->dim != t->dim) return s->dim < t->dim ? -1 : 1;
  return (s->number > t->number) - (s->number < t->number);
}

static PoiseErr MakeGroups(Deal *d)
{
  Group *group;
  for (int32_t c = 0; c < d->cells; c++) {
    POISE_TRY(FindGroup(d, d->mesh->dim, d->file->element[d->cell[c]].group, &group));
  }
  POISE_TRY(FemAlloc(d->groups, sizeof *d->mesh->group, &d->mesh->group));
  for (int g = 0; g < d->groups; g++) {
    if (d->group[g].inside == NULL) d->mesh->group[d->mesh->groups++] = d->group[g].is;
  }
  qsort(d->mesh->group, (size_t)d->mesh->groups, sizeof *d->mesh->group, CompareGroups);
  return POISE_OK;
}

/* ---- parts ----------------------------------------------------------------------------------- */

static int ComparePlaces(const void *a, const void *b)
{
  const Place *s = a, *t = b;
  if (s->rank != t->rank) return s->rank < t->rank ? -1 : 1;
  if (s->along != t->along) return s->along < t->along ? -1 : 1;
  return (s->cell > t->cell) - (s->cell < t->cell);
}

/* Sort cells by rank, or divide them evenly if rank is NULL. Those of a rank are sorted by their centres
   along the longest side. */
static PoiseErr SortCells(Deal *d, const double *rank)
{
  double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
  int side = 0;
  Place *place;
  for (int32_t c = 0; c < d->cells; c++) {
    for (int k = 0; k < d->info->corners; k++) {
      for (int m = 0; m < 3; m++) {
        low[m] = fmin(low[m], Corner(d, d->cell[c], k)[m]);
        high[m] = fmax(high[m], Corner(d, d->cell[c], k)[m]);
      }
    }
  }
  for (int m = 1; m < 3; m++) {
    if (high[m] - low[m] > high[side] - low[side]) side = m;
  }
  POISE_TRY(FemAlloc(d->cells, sizeof *place, &place));
  for (int32_t c = 0; c < d->cells; c++) {
    place[c].cell = d->cell[c];
    if (rank != NULL) place[c].rank = rank[c];
    for (int k = 0; k < d->info->corners; k++)
      place[c].along += Corner(d, d->cell[c], k)[side] / d->info->corners;
  }
  qsort(place, (size_t)d->cells, sizeof *place, ComparePlaces);
  for (int32_t c = 0; c < d->cells; c++) d->cell[c] = place[c].cell;
  free(place);
  return POISE_OK;
}

/* This rank's share of the sorted cells. */
static void TakeShare(Deal *d, const double *rank)
{
  const PoiseInt me = PoiseRank(d->mesh->ctx), ranks = PoiseSize(d->mesh->ctx);
  d->mesh->firstCell = d->cells * me / ranks;
  d->mesh->cells = d->cells * (me + 1) / ranks - d->mesh->firstCell;
  if (rank == NULL) return;
  d->mesh->firstCell = d->mesh->cells = 0;
  for (int32_t c = 0; c < d->cells; c++) {
    d->mesh->firstCell += rank[c] < (double)me;
    d->mesh->cells += rank[c] == (double)me;
  }
}

/* Nodes of the corners of cells, as METIS wants them. */
static PoiseErr Corners(const Deal *d, int32_t **corner)
{
  const int n = d->info->corners;
  POISE_TRY(FemAlloc((PoiseInt)d->cells * n, sizeof **corner, corner));
  for (int32_t c = 0; c < d->cells; c++)
    memcpy(*corner + (size_t)c * (size_t)n, d->file->element[d->cell[c]].node, (size_t)n * sizeof **corner);
  return POISE_OK;
}

/* Collective. */
static PoiseErr DealCells(Deal *d)
{
  PoiseContext ctx = d->mesh->ctx;
  int32_t *corner = NULL;
  double *rank = NULL;
  int found = 0;
  PoiseErr err = FemAlloc(d->cells, sizeof *rank, &rank);
  if (err == POISE_OK && PoiseRank(ctx) == 0) err = Corners(d, &corner);
  err = PoiseAgree(ctx, err);
  if (err == POISE_OK) {
    err = FemPartition(ctx, d->cells, d->info->corners, d->info->facetCorners, d->file->nodes, corner, rank,
                       &found);
  }
  if (err == POISE_OK) err = SortCells(d, found ? rank : NULL);
  if (err == POISE_OK) TakeShare(d, found ? rank : NULL);
  free(rank);
  free(corner);
  return err;
}

static PoiseErr NumberNodes(Deal *d)
{
  FemMesh *mesh = d->mesh;
  const PoiseInt end = mesh->firstCell + mesh->cells;
  PoiseInt *global, number = 0; /* of the next node, counted from 1 here */
  POISE_TRY(FemAlloc(d->file->nodes, sizeof *d->local, &d->local));
  POISE_TRY(FemAlloc(d->file->nodes, sizeof *global, &global));
  for (PoiseInt c = 0; c <= d->cells; c++) {
    if (c == mesh->firstCell) mesh->begin = number;
    if (c == end) mesh->owned = number - mesh->begin;
    for (int k = 0; c < d->cells && k < d->info->nodes; k++) {
      const int32_t node = d->file->element[d->cell[c]].node[k];
      if (global[node] == 0) global[node] = ++number;
    }
  }
  mesh->allNodes = number;
  mesh->nodes = mesh->owned;
  for (int32_t i = 0; i < d->file->nodes; i++) {
    const PoiseInt local = --global[i] - mesh->begin;
    d->local[i] = local >= 0 && local < mesh->owned ? (int32_t)local : -1;
  }
  for (PoiseInt c = mesh->firstCell; c < end; c++) {
    for (int k = 0; k < d->info->nodes; k++) {
      int32_t *local = &d->local[d->file->element[d->cell[c]].node[k]];
      if (*local < 0) *local = (int32_t)mesh->nodes++;
    }
  }
  PoiseErr err = FemAlloc(mesh->nodes, sizeof *mesh->global, &mesh->global);
  if (err == POISE_OK) err = FemAlloc(3 * mesh->nodes, sizeof *mesh->x, &mesh->x);
  for (int32_t i = 0; i < d->file->nodes && err == POISE_OK; i++) {
    if (d->local[i] < 0) continue;
    mesh->global[d->local[i]] = global[i];
    memcpy(mesh->x + 3 * (size_t)d->local[i], d->file->x + 3 * (size_t)i, 3 * sizeof *mesh->x);
  }
  free(global);
  return err;
}

/* Take this rank's cells. `mine` of an element of the file is 1 + its number here, or 0. */
static PoiseErr TakeCells(Deal *d, int32_t *mine)
{
  FemMesh *mesh = d->mesh;
  POISE_TRY(FemAlloc(mesh->cells * d->info->nodes, sizeof *mesh->cellNodes, &mesh->cellNodes));
  POISE_TRY(FemAlloc(mesh->cells, sizeof *mesh->cellGroup, &mesh->cellGroup));
  for (PoiseInt c = 0; c < mesh->cells; c++) {
    const int32_t cell = d->cell[mesh->firstCell + c];
    const GmshElement *e = &d->file->element[cell];
    for (int k = 0; k < d->info->nodes; k++) mesh->cellNodes[c * d->info->nodes + k] = d->local[e->node[k]];
    mesh->cellGroup[c] = e->group;
    mine[cell] = (int32_t)c + 1;
  }
  return POISE_OK;
}

/* Check the Jacobians at the points of assembly, while an error can still name the line. */
static PoiseErr CheckJacobians(const Deal *d)
{
  const FemMesh *mesh = d->mesh;
  FemReference reference;
  FemPoint p;
  if (d->info->nodes == mesh->dim + 1) return POISE_OK; /* the same everywhere: Orient has seen it */
  FemReferenceCell(mesh->cell, 0, &reference);
  for (PoiseInt c = 0; c < mesh->cells; c++) {
    FemCellBegin(mesh, &reference, c, &p);
    for (int q = 0; q < reference.points; q++) {
      if (FemCellPoint(mesh, &reference, q, &p) == POISE_OK) continue;
      PoiseErrorClear();
      return Wrong(d, &d->file->element[d->cell[mesh->firstCell + c]], POISE_ERR_NUMERIC,
                   "is inverted or flat inside");
    }
  }
  return POISE_OK;
}

/* Facets of the boundary that are sides of this rank's cells. */
static PoiseErr TakeFacets(Deal *d, const int32_t *mine)
{
  FemMesh *mesh = d->mesh;
  const int n = d->info->facetNodes;
  POISE_TRY(FemAlloc((PoiseInt)d->facets * n, sizeof *mesh->facetNodes, &mesh->facetNodes));
  POISE_TRY(FemAlloc(d->facets, sizeof *mesh->facetGroup, &mesh->facetGroup));
  for (int32_t f = 0; f < d->facets; f++) {
    const Facet *facet = &d->facet[f];
    if (facet->cells != 1 || mine[facet->cell] == 0) continue;
    const PoiseInt *nodes = mesh->cellNodes + (PoiseInt)(mine[facet->cell] - 1) * d->info->nodes;
    for (int k = 0; k < n; k++)
      mesh->facetNodes[mesh->facets * n + k] = nodes[d->info->facet[facet->side][k]];
    mesh->facetGroup[mesh->facets++] = d->file->element[d->key[f].element].group;
  }
  return POISE_OK;
}

static PoiseErr TakePart(Deal *d)
{
  int32_t *mine;
  POISE_TRY(NumberNodes(d));
  POISE_TRY(FemAlloc(d->file->elements, sizeof *mine, &mine));
  PoiseErr err = TakeCells(d, mine);
  if (err == POISE_OK) err = CheckJacobians(d);
  if (err == POISE_OK) err = TakeFacets(d, mine);
  free(mine);
  return err;
}

static PoiseErr CheckMesh(Deal *d)
{
  POISE_TRY(ChooseKinds(d));
  POISE_TRY(ChooseElements(d));
  POISE_TRY(CheckCells(d));
  if (d->mesh->dim == 2) POISE_TRY(CheckPlane(d));
  for (int32_t c = 0; c < d->cells; c++) POISE_TRY(Orient(d, d->cell[c]));
  if (d->mesh->dim == 2) POISE_TRY(CheckEdges(d));
  POISE_TRY(CheckOneBody(d));
  POISE_TRY(SortKeys(d, d->key, d->facets));
  POISE_TRY(MatchFacets(d));
  POISE_TRY(CheckFacets(d));
  return MakeGroups(d);
}

static PoiseErr FromText(const char *path, const char *text, size_t size, FemMesh *mesh)
{
  GmshFile file = {0};
  Deal d = {.file = &file, .mesh = mesh};
  PoiseErr err = GmshParse(path, text, size, &file);
  if (err == POISE_OK) err = CheckMesh(&d);
  err = PoiseAgree(mesh->ctx, err);
  if (err == POISE_OK) err = DealCells(&d);
  if (err == POISE_OK) err = TakePart(&d);
  free(d.cell);
  free(d.key);
  free(d.facet);
  free(d.local);
  free(d.group);
  GmshFree(&file);
  return err;
}

PoiseErr FemMeshGmsh(PoiseContext ctx, const char *path, FemMesh *mesh)
{
  char *text = NULL;
  size_t size = 0;
  *mesh = (FemMesh){.ctx = ctx};
  PoiseErr err = PoiseAgree(ctx, ReadText(path, &text, &size));
  if (err == POISE_OK) err = CheckSame(ctx, path, text, size);
  if (err == POISE_OK) err = PoiseAgree(ctx, FromText(path, text, size, mesh));
  free(text);
  if (err != POISE_OK) FemMeshFree(mesh);
  return err;
}
