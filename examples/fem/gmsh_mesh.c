/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Make a distributed mesh from a file of Gmsh. Every rank has the whole file, and finds the same order of all
  cells. It takes its part of these. A node belongs to the first rank that has a cell at it. Nodes are
  numbered in the order in which the cells first use them. So owners and numbers agree without communication.
*/
#include "element.h"
#include "gmsh.h"
#include "partition.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Place {
  double rank, along;
  int32_t cell;
} Place;

typedef struct Deal {
  const GmshBody *body;
  const GmshFile *file; /* the body's */
  const FemCellInfo *info;
  FemMesh *mesh;
  int32_t cells;
  int32_t *cell;  /* the body's, in the order in which they are dealt */
  int32_t *local; /* [nodes of the file] this rank's number; -1: none */
} Deal;

static const double *Corner(const Deal *d, int32_t cell, int k)
{
  return d->file->x + 3 * (size_t)d->file->element[cell].node[k];
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

/* Cell or facet `of`, an element of the file, is in the group *first, and in further ones. */
static void TakeGroups(const Deal *d, int32_t element, PoiseInt of, int *first, FemMember *member,
                       PoiseInt *members)
{
  const GmshElement *e = &d->file->element[element];
  *first = e->group;
  while (e->next != 0) {
    e = &d->file->element[e->next - 1];
    member[(*members)++] = (FemMember){of, e->group};
  }
}

/* Take this rank's cells. `mine` of an element of the file is 1 + its number here, or 0. */
static PoiseErr TakeCells(Deal *d, int32_t *mine)
{
  FemMesh *mesh = d->mesh;
  POISE_TRY(FemAlloc(mesh->cells * d->info->nodes, sizeof *mesh->cellNodes, &mesh->cellNodes));
  POISE_TRY(FemAlloc(mesh->cells, sizeof *mesh->cellGroup, &mesh->cellGroup));
  POISE_TRY(FemAlloc(d->body->furtherCells, sizeof *mesh->cellMember, &mesh->cellMember));
  for (PoiseInt c = 0; c < mesh->cells; c++) {
    const int32_t cell = d->cell[mesh->firstCell + c];
    const GmshElement *e = &d->file->element[cell];
    for (int k = 0; k < d->info->nodes; k++) mesh->cellNodes[c * d->info->nodes + k] = d->local[e->node[k]];
    TakeGroups(d, cell, c, &mesh->cellGroup[c], mesh->cellMember, &mesh->cellMembers);
    mine[cell] = (int32_t)c + 1;
  }
  return POISE_OK;
}

/* Check the shapes of this rank's cells, while an error can still name the line. */
static PoiseErr CheckShapes(const Deal *d)
{
  const FemMesh *mesh = d->mesh;
  GmshShapes shapes;
  FemReferenceCell(mesh->cell, 0, &shapes.rule);
  FemReferenceCell(mesh->cell, 1, &shapes.fine);
  FemReferenceNodes(mesh->cell, &shapes.nodes);
  for (PoiseInt c = 0; c < mesh->cells; c++)
    POISE_TRY(GmshCheckShape(d->body, &shapes, d->cell[mesh->firstCell + c]));
  return POISE_OK;
}

/* Facets of the boundary that are sides of this rank's cells. */
static PoiseErr TakeFacets(Deal *d, const int32_t *mine)
{
  FemMesh *mesh = d->mesh;
  const int n = d->info->facetNodes;
  POISE_TRY(FemAlloc((PoiseInt)d->body->facets * n, sizeof *mesh->facetNodes, &mesh->facetNodes));
  POISE_TRY(FemAlloc(d->body->facets, sizeof *mesh->facetGroup, &mesh->facetGroup));
  POISE_TRY(FemAlloc(d->body->furtherFacets, sizeof *mesh->facetMember, &mesh->facetMember));
  for (int32_t f = 0; f < d->body->facets; f++) {
    const GmshFacet *facet = &d->body->facet[f];
    if (mine[facet->cell] == 0) continue;
    const PoiseInt *nodes = mesh->cellNodes + (PoiseInt)(mine[facet->cell] - 1) * d->info->nodes;
    for (int k = 0; k < n; k++)
      mesh->facetNodes[mesh->facets * n + k] = nodes[d->info->facet[facet->side][k]];
    TakeGroups(d, facet->element, mesh->facets, &mesh->facetGroup[mesh->facets], mesh->facetMember,
               &mesh->facetMembers);
    mesh->facets++;
  }
  return POISE_OK;
}

static PoiseErr TakePart(Deal *d)
{
  int32_t *mine;
  POISE_TRY(NumberNodes(d));
  POISE_TRY(FemAlloc(d->file->elements, sizeof *mine, &mine));
  PoiseErr err = TakeCells(d, mine);
  if (err == POISE_OK) err = CheckShapes(d);
  if (err == POISE_OK) err = TakeFacets(d, mine);
  free(mine);
  return err;
}

/* Collective. The mesh takes the groups from the body. */
static PoiseErr Distribute(GmshBody *body, FemMesh *mesh)
{
  Deal d = {.body = body,
            .file = body->file,
            .info = body->info,
            .mesh = mesh,
            .cells = body->cells,
            .cell = body->cell};
  mesh->cell = body->kind;
  mesh->dim = body->info->dim;
  mesh->allCells = body->cells;
  mesh->groups = body->groups;
  mesh->inside = body->inside;
  mesh->group = body->group;
  body->group = NULL;
  memcpy(mesh->hinge, body->hinge, sizeof mesh->hinge);
  PoiseErr err = DealCells(&d);
  if (err == POISE_OK) err = TakePart(&d);
  free(d.local);
  return err;
}

static PoiseErr FromText(const GmshText *text, FemMesh *mesh)
{
  GmshFile file;
  GmshBody body = {0};
  PoiseErr err = GmshParse(text->name, text->text, text->size, &file);
  if (err == POISE_OK) err = GmshCheck(&file, &body);
  err = PoiseAgree(mesh->ctx, err);
  if (err == POISE_OK) err = Distribute(&body, mesh);
  GmshBodyFree(&body);
  GmshFree(&file);
  return err;
}

PoiseErr FemMeshGmsh(PoiseContext ctx, const char *path, FemMesh *mesh)
{
  GmshText text;
  *mesh = (FemMesh){.ctx = ctx};
  POISE_TRY(GmshReadText(ctx, path, &text));
  PoiseErr err = PoiseAgree(ctx, FromText(&text, mesh));
  free(text.text);
  if (err != POISE_OK) FemMeshFree(mesh);
  return err;
}
