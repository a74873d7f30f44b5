/* SPDX-License-Identifier: BSD-3-Clause */
#include "mesh.h"
#include "element.h"
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const FemCellInfo infos[FEM_CELLS] = {
    [FEM_TRI3] = {"tri3", 2, 3, 3, 2, 2, 3, {{0, 1}, {1, 2}, {2, 0}}},
    [FEM_TRI6] = {"tri6", 2, 6, 3, 3, 2, 3, {{0, 1, 3}, {1, 2, 4}, {2, 0, 5}}},
    [FEM_QUAD4] = {"quad4", 2, 4, 4, 2, 2, 4, {{0, 1}, {1, 2}, {2, 3}, {3, 0}}},
    [FEM_TET4] = {"tet4", 3, 4, 4, 3, 3, 4, {{0, 2, 1}, {0, 1, 3}, {1, 2, 3}, {0, 3, 2}}},
    [FEM_TET10] = {"tet10",
                   3,
                   10,
                   4,
                   6,
                   3,
                   4,
                   {{0, 2, 1, 6, 5, 4}, {0, 1, 3, 4, 8, 7}, {1, 2, 3, 5, 9, 8}, {0, 3, 2, 7, 9, 6}}},
    [FEM_HEX8] = {"hex8",
                  3,
                  8,
                  8,
                  4,
                  4,
                  6,
                  {{0, 3, 2, 1}, {4, 5, 6, 7}, {0, 1, 5, 4}, {1, 2, 6, 5}, {2, 3, 7, 6}, {3, 0, 4, 7}}},
};

const FemCellInfo *FemCellInfoOf(FemCell cell)
{
  return &infos[cell];
}

PoiseErr FemAlloc(PoiseInt count, size_t size, void *array)
{
  void *memory = calloc((size_t)count + 1, size); /* one more: calloc(0) may give NULL */
  memcpy(array, &memory, sizeof memory);
  if (memory == NULL) POISE_FAIL(POISE_ERR_MEMORY, "no memory for %" PRId64 " times %zu bytes", count, size);
  return POISE_OK;
}

void FemMeshFree(FemMesh *mesh)
{
  free(mesh->global);
  free(mesh->x);
  free(mesh->cellNodes);
  free(mesh->cellGroup);
  free(mesh->facetNodes);
  free(mesh->facetGroup);
  free(mesh->cellMember);
  free(mesh->facetMember);
  free(mesh->group);
  *mesh = (FemMesh){0};
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* Groups of one dimension that a text may mean. An unnamed one has its number as its name. */
typedef struct Meant {
  const FemGroup *byName, *byNumber;
  char known[1024]; /* those on the boundary, or of cells */
} Meant;

static void LookUp(const FemMesh *mesh, int dim, const char *name, int quoted, Meant *m)
{
  *m = (Meant){0};
  for (int g = 0; g < mesh->groups + mesh->inside; g++) {
    const FemGroup *group = &mesh->group[g];
    const size_t used = strlen(m->known);
    char digits[16];
    if (group->dim != dim) continue;
    snprintf(digits, sizeof digits, "%d", group->number);
    if (!quoted && strcmp(name, digits) == 0) m->byNumber = group;
    if (strcmp(name, group->name) == 0 && (m->byName == NULL || strcmp(name, digits) != 0)) m->byName = group;
    if (g < mesh->groups)
      snprintf(m->known + used, sizeof m->known - used, "%s%s (%s)", used > 0 ? ", " : "", group->name,
               digits);
  }
  if (m->known[0] == '\0') strcpy(m->known, "none at all");
}

PoiseErr FemMeshGroup(const FemMesh *mesh, int dim, const char *name, int *number)
{
  const size_t n = strlen(name);
  const int quoted = n > 2 && name[0] == '"' && name[n - 1] == '"';
  char text[sizeof mesh->group->name + 1];
  Meant m;
  snprintf(text, sizeof text, "%.*s", (int)(quoted ? n - 2 : n), name + quoted);
  LookUp(mesh, dim, text, quoted, &m);
  if (m.byName != NULL && m.byNumber != NULL && m.byName != m.byNumber) {
    POISE_FAIL(
        POISE_ERR_ARG,
        "'%s' is ambiguous: the name of group %d and the number of group '%s'; \"%s\" in quotes is the "
        "name",
        name, m.byName->number, m.byNumber->name, name);
  }
  const FemGroup *group = m.byName != NULL ? m.byName : m.byNumber;
  if (group == NULL) {
    POISE_FAIL(POISE_ERR_ARG, "the %s has no group '%s'; it has: %s", dim == mesh->dim ? "body" : "boundary",
               name, m.known);
  }
  if (group - mesh->group >= mesh->groups) {
    POISE_FAIL(POISE_ERR_ARG,
               "group '%s' lies inside the body, where each of its facets is between two cells; the boundary "
               "has: %s",
               name, m.known);
  }
  *number = group->number;
  return POISE_OK;
}

static int CompareMembers(const void *a, const void *b)
{
  const FemMember *s = a, *t = b;
  if (s->of != t->of) return s->of < t->of ? -1 : 1;
  return (s->group > t->group) - (s->group < t->group);
}

static int In(const FemMember *member, PoiseInt members, PoiseInt of, int group)
{
  const FemMember key = {of, group};
  return members > 0 && bsearch(&key, member, (size_t)members, sizeof key, CompareMembers) != NULL;
}

int FemCellIn(const FemMesh *mesh, PoiseInt cell, int group)
{
  return mesh->cellGroup[cell] == group || In(mesh->cellMember, mesh->cellMembers, cell, group);
}

int FemFacetIn(const FemMesh *mesh, PoiseInt facet, int group)
{
  return mesh->facetGroup[facet] == group || In(mesh->facetMember, mesh->facetMembers, facet, group);
}

/* ---- all nodes ------------------------------------------------------------------------------- */

void FemMeshScale(FemMesh *mesh, double factor)
{
  for (PoiseInt k = 0; k < 3 * mesh->nodes; k++) mesh->x[k] *= factor;
}

PoiseErr FemMeshBounds(const FemMesh *mesh, double low[3], double high[3])
{
  double most[6];
  for (int k = 0; k < 6; k++) most[k] = -DBL_MAX;
  for (PoiseInt k = 0; k < 3 * mesh->nodes; k++) {
    most[k % 3] = fmax(most[k % 3], -mesh->x[k]);
    most[3 + k % 3] = fmax(most[3 + k % 3], mesh->x[k]);
  }
  POISE_TRY(PoiseMax(mesh->ctx, 6, most));
  for (int c = 0; c < 3; c++) {
    low[c] = -most[c];
    high[c] = most[3 + c];
  }
  return POISE_OK;
}

PoiseErr FemMeshRevolve(FemMesh *mesh)
{
  double low[3], high[3];
  if (mesh->dim != 2) POISE_FAIL(POISE_ERR_OPTION, "-plane is for meshes in the plane; this one is in space");
  POISE_TRY(FemMeshBounds(mesh, low, high));
  if (low[0] < 0)
    POISE_FAIL(
        POISE_ERR_ARG,
        "a node has x = %g: x is the radius of a body of revolution about the y axis, and never negative",
        low[0]);
  mesh->revolved = 1;
  return POISE_OK;
}

/* ---- boxes ----------------------------------------------------------------------------------- */

/*
  The bricks of a box are distributed over a grid of blocks, one per rank. Nodes lie on a lattice. It has one
  point (order 1) or two (order 2) per brick and direction, and one more at the end. A block owns the points
  of its bricks, except those on its upper sides, which the next block owns. So owners and numbers follow from
  a point's place, without communication.
*/
typedef struct Grid {
  const FemBox *box;
  int dim, order;
  PoiseInt blocks[3]; /* in each direction; 1 beyond dim */
  PoiseInt n[3];      /* bricks in each direction; 1 beyond dim */
  PoiseInt at[3];     /* this rank's block */
  PoiseInt *first;    /* [ranks + 1] first global node of each rank */
} Grid;

static PoiseInt BrickBegin(const Grid *g, int d, PoiseInt block)
{
  return g->n[d] * block / g->blocks[d];
}

/* Lattice points in direction d that a block owns. */
static PoiseInt PointBegin(const Grid *g, int d, PoiseInt block)
{
  if (d >= g->dim) return block;
  return g->order * BrickBegin(g, d, block) + (block == g->blocks[d]);
}

static PoiseInt BlockOfPoint(const Grid *g, int d, PoiseInt point)
{
  PoiseInt brick = point / g->order < g->n[d] ? point / g->order : g->n[d] - 1;
  return ((brick + 1) * g->blocks[d] - 1) / g->n[d];
}

static PoiseInt NodeNumber(const Grid *g, const PoiseInt point[3])
{
  PoiseInt rank = 0, number = 0;
  for (int d = 2; d >= 0; d--) {
    PoiseInt block = d < g->dim ? BlockOfPoint(g, d, point[d]) : 0, begin = PointBegin(g, d, block);
    rank = rank * g->blocks[d] + block;
    number = number * (PointBegin(g, d, block + 1) - begin) + point[d] - begin;
  }
  return g->first[rank] + number;
}

/* Choose as many blocks as there are ranks, or fewer if there are too few bricks, with the least surface
   between them. */
static void ChooseBlocks(Grid *g, int ranks)
{
  double best = INFINITY;
  for (PoiseInt all = ranks; best == INFINITY; all--) {
    for (PoiseInt i = 1; i <= all; i++) {
      for (PoiseInt j = 1; j <= all / i; j++) {
        PoiseInt k = all / i / j;
        if (i * j * k != all || i > g->n[0] || j > g->n[1] || k > g->n[2]) continue;
        double n[3] = {(double)g->n[0], (double)g->n[1], (double)g->n[2]};
        double cut =
            (double)(i - 1) * n[1] * n[2] + (double)(j - 1) * n[0] * n[2] + (double)(k - 1) * n[0] * n[1];
        if (cut >= best) continue;
        best = cut;
        g->blocks[0] = i;
        g->blocks[1] = j;
        g->blocks[2] = k;
      }
    }
  }
}

static PoiseErr MakeGrid(PoiseContext ctx, const FemBox *box, Grid *g)
{
  int rank = PoiseRank(ctx), ranks = PoiseSize(ctx);
  *g = (Grid){.box = box, .dim = infos[box->cell].dim, .order = FemOrder(box->cell)};
  for (int d = 0; d < 3; d++) g->n[d] = d < g->dim ? box->n[d] : 1;
  if (g->n[0] < 1 || g->n[1] < 1 || g->n[2] < 1) {
    POISE_FAIL(POISE_ERR_ARG, "a box of %" PRId64 " x %" PRId64 " x %" PRId64 " bricks has no cells", g->n[0],
               g->n[1], g->n[2]);
  }
  ChooseBlocks(g, ranks);
  POISE_TRY(FemAlloc(ranks + 1, sizeof *g->first, &g->first));
  for (PoiseInt r = 0; r < ranks; r++) {
    PoiseInt rest = r, owned = 1;
    for (int d = 0; d < 3; d++) {
      /* beyond the last block for a rank that has none */
      PoiseInt block = d < 2 ? rest % g->blocks[d] : rest;
      rest /= g->blocks[d];
      owned *= block < g->blocks[d] ? PointBegin(g, d, block + 1) - PointBegin(g, d, block) : 0;
      if (r == rank) g->at[d] = block;
    }
    g->first[r + 1] = g->first[r] + owned;
  }
  return POISE_OK;
}

/* Where brick `t` begins in direction d: widths grow by the same factor from brick to brick. */
static double BrickPosition(const FemBox *box, int d, PoiseInt t)
{
  double n = (double)box->n[d], grading = box->grading[d];
  if (grading == 0 || grading == 1 || box->n[d] == 1) return box->length[d] * (double)t / n;
  double factor = pow(grading, 1 / (n - 1));
  return t == box->n[d] ? box->length[d]
                        : box->length[d] * (pow(factor, (double)t) - 1) / (pow(factor, n) - 1);
}

static void PointPosition(const Grid *g, const PoiseInt point[3], double x[3])
{
  for (int d = 0; d < 3; d++) {
    x[d] = 0;
    if (d >= g->dim) continue;
    PoiseInt brick = point[d] / g->order;
    x[d] = BrickPosition(g->box, d, brick);
    if (brick * g->order < point[d]) x[d] = 0.5 * (x[d] + BrickPosition(g->box, d, brick + 1));
  }
  if (g->box->map != NULL) g->box->map(x, g->box->arg);
}

/* Cells of a brick: its corners by bits, x + 2 y + 4 z. Tetrahedra are Kuhn's: paths from corner 0 to corner
   7 along the axes. */
typedef struct Template {
  int cells, corner[6][8];
} Template;
static const Template
    triangles = {2, {{0, 1, 3}, {0, 3, 2}}},
    square = {1, {{0, 1, 3, 2}}},
    tetrahedra = {6, {{0, 1, 3, 7}, {0, 5, 1, 7}, {0, 2, 6, 7}, {0, 4, 5, 7}, {0, 3, 2, 7}, {0, 6, 4, 7}}},
    brick = {1, {{0, 1, 3, 2, 4, 5, 7, 6}}};

static const Template *TemplateOf(FemCell cell)
{
  if (cell == FEM_HEX8) return &brick;
  if (cell == FEM_QUAD4) return &square;
  return infos[cell].dim == 3 ? &tetrahedra : &triangles;
}

/* This rank's part of the lattice: points low .. high, inclusive; local[] says which node each is. */
typedef struct Part {
  PoiseInt brickBegin[3], brickEnd[3], low[3], high[3];
  PoiseInt *local;
} Part;

static PoiseInt PlaceInPart(const Part *part, const PoiseInt point[3])
{
  PoiseInt place = 0;
  for (int d = 2; d >= 0; d--) place = place * (part->high[d] - part->low[d] + 1) + point[d] - part->low[d];
  return place;
}

static PoiseInt Width(const Part *part, int d)
{
  return part->high[d] - part->low[d] + 1;
}

/* Points are placed by all threads. Owned ones are the first nodes, in the order of the lattice, which is
   that of their numbers. */
static void PlaceOwned(const Grid *g, Part *part, FemMesh *mesh)
{
  const PoiseInt rows = Width(part, 1) * Width(part, 2);
#pragma omp parallel for
  for (PoiseInt row = 0; row < rows; row++) {
    PoiseInt point[3] = {part->low[0], part->low[1] + row % Width(part, 1),
                         part->low[2] + row / Width(part, 1)};
    for (; point[0] <= part->high[0]; point[0]++) {
      const PoiseInt number = NodeNumber(g, point), node = number - mesh->begin;
      const int owned = node >= 0 && node < mesh->owned;
      part->local[PlaceInPart(part, point)] = owned ? node : -1;
      if (!owned) continue;
      mesh->global[node] = number;
      PointPosition(g, point, mesh->x + 3 * node);
    }
  }
}

/* Behind them those of other ranks. */
static PoiseErr MakeNodes(const Grid *g, Part *part, FemMesh *mesh)
{
  PoiseInt shared = mesh->owned;
  mesh->nodes = Width(part, 0) * Width(part, 1) * Width(part, 2);
  POISE_TRY(FemAlloc(mesh->nodes, sizeof *part->local, &part->local));
  POISE_TRY(FemAlloc(mesh->nodes, sizeof *mesh->global, &mesh->global));
  POISE_TRY(FemAlloc(3 * mesh->nodes, sizeof *mesh->x, &mesh->x));
  PlaceOwned(g, part, mesh);
  for (PoiseInt place = 0; shared < mesh->nodes; place++) {
    const PoiseInt row = place / Width(part, 0);
    const PoiseInt point[3] = {part->low[0] + place % Width(part, 0), part->low[1] + row % Width(part, 1),
                               part->low[2] + row / Width(part, 1)};
    if (part->local[place] >= 0) continue;
    part->local[place] = shared;
    mesh->global[shared] = NodeNumber(g, point);
    PointPosition(g, point, mesh->x + 3 * shared++);
  }
  return POISE_OK;
}

/* The facets of cell `cell`, of the brick at `place` and with these corners, that lie on sides of the box. */
static void AddFacets(const Grid *g, const PoiseInt place[3], const int *corner, PoiseInt cell, FemMesh *mesh)
{
  const FemCellInfo *info = &infos[mesh->cell];
  for (int f = 0; f < info->facets; f++) {
    for (int side = 0; side < 2 * g->dim; side++) {
      int d = side / 2, upper = side % 2, on = 1;
      if (place[d] != (upper ? g->n[d] - 1 : 0)) continue;
      for (int k = 0; k < info->facetCorners; k++) on = on && (corner[info->facet[f][k]] >> d & 1) == upper;
      if (!on) continue;
      for (int k = 0; k < info->facetNodes; k++) {
        mesh->facetNodes[mesh->facets * info->facetNodes + k] =
            mesh->cellNodes[cell * info->nodes + info->facet[f][k]];
      }
      mesh->facetGroup[mesh->facets++] = side + 1;
    }
  }
}

/* How far the nodes of a brick's cells are from its first corner in `local`, cell behind cell. */
static void PlacesOfNodes(const Grid *g, const Part *part, const FemMesh *mesh, PoiseInt *from)
{
  const Template *cut = TemplateOf(mesh->cell);
  const FemCellInfo *info = &infos[mesh->cell];
  for (int c = 0; c < cut->cells; c++) {
    for (int k = 0; k < info->nodes; k++) {
      const int *corner = cut->corner[c];
      PoiseInt point[3];
      int a = k, b = k; /* a corner; else the middle between two */
      if (k >= info->corners) FemEdge(k - info->corners, &a, &b);
      for (int d = 0; d < 3; d++) {
        int twice = (corner[a] >> d & 1) + (corner[b] >> d & 1);
        point[d] = part->low[d] + (d < g->dim ? g->order * twice / 2 : 0);
      }
      *from++ = PlaceInPart(part, point);
    }
  }
}

/* Bricks by all threads; then the facets, one after the other, of those that may be on sides of the box. */
static void FillCells(const Grid *g, const Part *part, FemMesh *mesh)
{
  const Template *cut = TemplateOf(mesh->cell);
  const int each = cut->cells * infos[mesh->cell].nodes; /* nodes of a brick's cells */
  PoiseInt n[3], from[6 * FEM_MAX_NODES];
  for (int d = 0; d < 3; d++) n[d] = part->brickEnd[d] - part->brickBegin[d];
  PlacesOfNodes(g, part, mesh, from);
#pragma omp parallel for
  for (PoiseInt row = 0; row < n[1] * n[2]; row++) {
    const PoiseInt start[3] = {part->low[0], part->low[1] + g->order * (row % n[1]),
                               part->low[2] + g->order * (row / n[1])};
    const PoiseInt *local = part->local + PlaceInPart(part, start);
    PoiseInt *nodes = mesh->cellNodes + row * n[0] * each;
    for (PoiseInt i = 0; i < n[0]; i++, local += g->order, nodes += each)
      for (int k = 0; k < each; k++) nodes[k] = local[from[k]];
    for (PoiseInt cell = row * n[0] * cut->cells; cell < (row + 1) * n[0] * cut->cells; cell++)
      mesh->cellGroup[cell] = 1;
  }
  for (PoiseInt row = 0; row < n[1] * n[2]; row++) {
    PoiseInt place[3] = {0, part->brickBegin[1] + row % n[1], part->brickBegin[2] + row / n[1]};
    int outside = n[0] == 1;
    for (int d = 1; d < g->dim; d++) outside |= place[d] == 0 || place[d] == g->n[d] - 1;
    for (PoiseInt i = 0; i < n[0]; i += outside ? 1 : n[0] - 1) { /* of a row inside, its ends alone */
      place[0] = part->brickBegin[0] + i;
      for (int c = 0; c < cut->cells; c++)
        AddFacets(g, place, cut->corner[c], (row * n[0] + i) * cut->cells + c, mesh);
    }
  }
}

static PoiseErr MakeCells(const Grid *g, const Part *part, FemMesh *mesh)
{
  const FemCellInfo *info = &infos[mesh->cell];
  const Template *cut = TemplateOf(mesh->cell);
  PoiseInt n[3], facets;
  for (int d = 0; d < 3; d++) n[d] = part->brickEnd[d] - part->brickBegin[d];
  mesh->cells = n[0] * n[1] * n[2] * cut->cells;
  /* if all sides were the box's */
  facets = 2 * (n[1] * n[2] + n[0] * n[2] + n[0] * n[1]) * (cut == &tetrahedra ? 2 : 1);
  POISE_TRY(FemAlloc(mesh->cells * info->nodes, sizeof *mesh->cellNodes, &mesh->cellNodes));
  POISE_TRY(FemAlloc(mesh->cells, sizeof *mesh->cellGroup, &mesh->cellGroup));
  POISE_TRY(FemAlloc(facets * info->facetNodes, sizeof *mesh->facetNodes, &mesh->facetNodes));
  POISE_TRY(FemAlloc(facets, sizeof *mesh->facetGroup, &mesh->facetGroup));
  FillCells(g, part, mesh);
  return POISE_OK;
}

static PoiseErr MakeGroups(FemMesh *mesh)
{
  static const char *const sides[2][6] = {{"left", "right", "bottom", "top"},
                                          {"left", "right", "front", "back", "bottom", "top"}};
  POISE_TRY(FemAlloc(2 * mesh->dim + 1, sizeof *mesh->group, &mesh->group));
  for (int side = 0; side < 2 * mesh->dim; side++) {
    FemGroup *group = &mesh->group[mesh->groups++];
    *group = (FemGroup){.dim = mesh->dim - 1, .number = side + 1};
    snprintf(group->name, sizeof group->name, "%s", sides[mesh->dim - 2][side]);
  }
  mesh->group[mesh->groups++] = (FemGroup){.dim = mesh->dim, .number = 1, .name = "body"};
  return POISE_OK;
}

static PoiseErr MakePart(const Grid *g, Part *part, FemMesh *mesh)
{
  int rank = PoiseRank(mesh->ctx), have = g->at[2] < g->blocks[2];
  PoiseInt bricksBefore = 0; /* of the whole box, in blocks before this one */
  mesh->begin = g->first[rank];
  mesh->owned = g->first[rank + 1] - mesh->begin;
  mesh->allNodes = g->first[PoiseSize(mesh->ctx)];
  mesh->allCells = g->n[0] * g->n[1] * g->n[2] * TemplateOf(mesh->cell)->cells;
  for (int d = 0; d < 3; d++) {
    part->brickBegin[d] = have ? BrickBegin(g, d, g->at[d]) : 0;
    part->brickEnd[d] = have ? BrickBegin(g, d, g->at[d] + 1) : 0;
    part->low[d] = d < g->dim ? g->order * part->brickBegin[d] : 0;
    part->high[d] = d < g->dim ? g->order * part->brickEnd[d] : 0;
    if (!have) part->high[d] = -1;
  }
  /* Blocks before this one: whole layers, whole rows of this layer, and those of this row. */
  PoiseInt layer = part->brickEnd[2] - part->brickBegin[2],
           row = layer * (part->brickEnd[1] - part->brickBegin[1]);
  bricksBefore = part->brickBegin[2] * g->n[1] * g->n[0] + layer * part->brickBegin[1] * g->n[0] +
                 row * part->brickBegin[0];
  mesh->firstCell = have ? bricksBefore * TemplateOf(mesh->cell)->cells : mesh->allCells;
  POISE_TRY(MakeGroups(mesh));
  POISE_TRY(MakeNodes(g, part, mesh));
  return MakeCells(g, part, mesh);
}

PoiseErr FemMeshBox(PoiseContext ctx, const FemBox *box, FemMesh *mesh)
{
  Grid grid;
  Part part = {{0}, {0}, {0}, {0}, NULL};
  *mesh = (FemMesh){.ctx = ctx, .cell = box->cell, .dim = infos[box->cell].dim};
  PoiseErr err = MakeGrid(ctx, box, &grid);
  if (err == POISE_OK) err = MakePart(&grid, &part, mesh);
  free(part.local);
  free(grid.first);
  err = PoiseAgree(ctx, err);
  if (err != POISE_OK) FemMeshFree(mesh);
  return err;
}
