/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The reader of meshes in examples/fem. A mesh is checked by its volume, its areas, and Gauss: the integral of
  x . n over the whole boundary is dim times the volume. This fails if a facet is missing, given twice, or
  turned inwards.

  More than 200 kinds of bad meshes must be errors that tell line and cause: as texts (wrong), as damage to
  meshes of each kind of cells (damaged), as cells that are wrong together. 1000 mutations of good ones, drawn
  from seeds, must be errors or good meshes (spoilt, mutants).
*/
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fem/assemble.h"
#include "fem/element.h"
#include "fem/gmsh.h"
#include "files.h"

/* ---- judges ---------------------------------------------------------------------------------- */

static void One(const FemPoint *p, void *arg, double *sums)
{
  (void)arg;
  sums[0] += p->dV;
}

/* Area, integral of x . n, and of n, over the facets of this group, or of all (0). */
static void Boundary(const FemMesh *mesh, int group, double sums[5])
{
  FemReference reference;
  FemPoint p;
  memset(sums, 0, 5 * sizeof *sums);
  FemReferenceFacet(mesh->cell, &reference);
  for (PoiseInt f = 0; f < mesh->facets; f++) {
    if (group != 0 && !FemFacetIn(mesh, f, group)) continue;
    FemFacetBegin(mesh, &reference, f, &p);
    for (int q = 0; q < reference.points; q++) {
      FemFacetPoint(&reference, q, &p);
      sums[0] += p.dV;
      for (int d = 0; d < 3; d++) {
        sums[1] += p.dV * p.x[d] * p.normal[d];
        sums[2 + d] += p.dV * p.normal[d];
      }
    }
  }
  CHECK_OK(PoiseSum(mesh->ctx, 5, sums));
}

/* Numbers are what mesh.h says, and a node that several ranks have is in the same place on all of them. */
static void CheckNumbers(const FemMesh *mesh)
{
  double sums[2] = {(double)mesh->owned, (double)mesh->cells};
  PoiseVec place;
  CHECK_OK(PoiseSum(mesh->ctx, 2, sums));
  CHECK_INT(sums[0], mesh->allNodes);
  CHECK_INT(sums[1], mesh->allCells);
  for (PoiseInt i = 0; i < mesh->owned; i++) CHECK_INT(mesh->global[i], mesh->begin + i);
  int *used = calloc((size_t)mesh->nodes + 1, sizeof *used);
  double *x = calloc((size_t)mesh->nodes + 1, sizeof *x);
  const int n = FemCellInfoOf(mesh->cell)->nodes;
  for (PoiseInt k = 0; k < n * mesh->cells; k++) used[mesh->cellNodes[k]] = 1;
  for (PoiseInt i = 0; i < mesh->nodes; i++) CHECK(used[i]);
  CHECK_OK(PoiseVecCreate(mesh->ctx, mesh->owned, mesh->allNodes, &place));
  for (int d = 0; d < 3; d++) {
    double *v;
    CHECK_OK(PoiseVecGetWrite(place, &v));
    for (PoiseInt i = 0; i < mesh->owned; i++) v[i] = mesh->x[3 * i + d];
    CHECK_OK(PoiseVecRestore(place, &v));
    CHECK_OK(PoiseVecGetValues(place, mesh->nodes, mesh->global, x));
    for (PoiseInt i = 0; i < mesh->nodes; i++) CHECK(x[i] == mesh->x[3 * i + d]);
  }
  CHECK_OK(PoiseVecDestroy(&place));
  free(used);
  free(x);
}

/* ---- meshes ---------------------------------------------------------------------------------- */

/* What gmsh made of bracket.geo, in both versions. */
static void TestBracket(PoiseContext ctx)
{
  static const char *const names[] = {"bracket.msh", "bracket2.msh"};
  static const double pi = 3.14159265358979323846;
  const double exact = 0.02 * (0.1 * 0.02 + 0.08 * 0.02 + 0.01 * 0.01 * (1 - pi / 4) - pi * 0.005 * 0.005);
  const char *source = getenv("POISE_SOURCE_DIR");
  double volume[2] = {0, 0}, sums[5];
  for (int version = 0; version < 2; version++) {
    char path[512];
    FemMesh mesh;
    int group;
    snprintf(path, sizeof path, "%s/examples/data/%s", source != NULL ? source : ".", names[version]);
    if (!CHECK_OK(FemMeshGmsh(ctx, path, &mesh))) return;
    CHECK(mesh.cell == FEM_TET4 && mesh.dim == 3 && mesh.groups == 5);
    CheckNumbers(&mesh);
    CHECK_OK(FemIntegrate(&mesh, One, NULL, 1, &volume[version]));
    CHECK_NEAR(volume[version], exact, 0.01 * exact);             /* arcs are polygons in the mesh */
    CHECK_OK(FemMeshGroup(&mesh, mesh.dim - 1, "fixed", &group)); /* y = 0.1 */
    Boundary(&mesh, group, sums);
    CHECK_NEAR(sums[0], 0.02 * 0.02, 1e-15);
    CHECK_NEAR(sums[3], 0.02 * 0.02, 1e-15);
    CHECK_NEAR(sums[1], 0.02 * 0.02 * 0.1, 1e-15);
    CHECK_OK(FemMeshGroup(&mesh, mesh.dim - 1, "load", &group)); /* x = 0.1 */
    Boundary(&mesh, group, sums);
    CHECK_NEAR(sums[2], 0.02 * 0.02, 1e-15);
    CHECK_OK(FemMeshGroup(&mesh, mesh.dim - 1, "4", &group)); /* the hole: its normals cancel */
    Boundary(&mesh, group, sums);
    CHECK_NEAR(sums[0], 2 * pi * 0.005 * 0.02, 0.05 * 2 * pi * 0.005 * 0.02);
    for (int d = 0; d < 3; d++) CHECK_NEAR(sums[2 + d], 0, 1e-15);
    CHECK_ERR(FemMeshGroup(&mesh, mesh.dim - 1, "wall", &group), POISE_ERR_ARG,
              "fixed (2), load (3), hole (4), walls (5)");
    Boundary(&mesh, 0, sums);
    CHECK_NEAR(sums[1], 3 * volume[version], 1e-13 * exact);
    FemMeshFree(&mesh);
  }
  CHECK_NEAR(volume[0], volume[1], 1e-15 * exact);
}

/* Gmsh's number of a kind of cells, and of its facets; its order of the nodes of a tet10. */
static const int types[FEM_CELLS][2] = {[FEM_TRI3] = {2, 1}, [FEM_TRI6] = {9, 8},   [FEM_QUAD4] = {3, 1},
                                        [FEM_TET4] = {4, 2}, [FEM_TET10] = {11, 9}, [FEM_HEX8] = {5, 3}};

/* Nodes have numbers with gaps, and descend. */
static PoiseInt TagOf(const FemMesh *mesh, PoiseInt node)
{
  return 10 * (mesh->nodes - node) + 7;
}

static void PutNodes(FILE *f, const FemMesh *mesh, const PoiseInt *node, int n, int tet10)
{
  for (int k = 0; k < n; k++) {
    const int other = tet10 && k == 8 ? 9 : tet10 && k == 9 ? 8 : k;
    fprintf(f, " %" PRId64, TagOf(mesh, node[other]));
  }
  fprintf(f, "\n");
}

/* A mesh of one rank as a file; clockwise: cells (of the plane) the wrong way round. */
static void Write2(FILE *f, const FemMesh *mesh)
{
  const FemCellInfo *info = FemCellInfoOf(mesh->cell);
  fprintf(f, "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Comments\nany\n$EndComments\n$Nodes\n%" PRId64 "\n",
          mesh->nodes);
  for (PoiseInt i = 0; i < mesh->nodes; i++) {
    fprintf(f, "%" PRId64 " %.17g %.17g %.17g\n", TagOf(mesh, i), mesh->x[3 * i], mesh->x[3 * i + 1],
            mesh->x[3 * i + 2]);
  }
  fprintf(f, "$EndNodes\n$Elements\n%" PRId64 "\n", mesh->cells + mesh->facets);
  for (PoiseInt e = 0; e < mesh->facets; e++) {
    fprintf(f, "%" PRId64 " %d 2 %d 1", e + 1, types[mesh->cell][1], mesh->facetGroup[e]);
    PutNodes(f, mesh, mesh->facetNodes + e * info->facetNodes, info->facetNodes, 0);
  }
  for (PoiseInt e = 0; e < mesh->cells; e++) {
    fprintf(f, "%" PRId64 " %d 2 %d 1", mesh->facets + e + 1, types[mesh->cell][0], -mesh->cellGroup[e]);
    PutNodes(f, mesh, mesh->cellNodes + e * info->nodes, info->nodes, mesh->cell == FEM_TET10);
  }
  fprintf(f, "$EndElements\n");
}

static void Write4(FILE *f, const FemMesh *mesh)
{
  const FemCellInfo *info = FemCellInfoOf(mesh->cell);
  const int dim = mesh->dim, sides = 2 * dim;
  fprintf(f, "$MeshFormat\r\n4.1 0 8\r\n$EndMeshFormat\r\n$Entities\r\n"); /* as Windows has it, too */
  fprintf(f, dim == 2 ? "0 %d 1 0\n" : "0 0 %d 1\n", sides);
  for (int side = 1; side <= sides; side++) fprintf(f, "%d 0 0 0 1 1 1 1 %d 2 1 -2\n", 100 + side, side);
  fprintf(f, "50 0 0 0 1 1 1 1 1 0\n$EndEntities\n$Nodes\n2 %" PRId64 " 1 9\n", mesh->nodes);
  for (int block = 0; block < 2; block++) { /* the first one with parameters */
    const PoiseInt begin = block * (mesh->nodes / 2), end = block == 0 ? mesh->nodes / 2 : mesh->nodes;
    fprintf(f, "%d 50 %d %" PRId64 "\n", dim, 1 - block, end - begin);
    for (PoiseInt i = begin; i < end; i++) fprintf(f, "%" PRId64 "\n", TagOf(mesh, i));
    for (PoiseInt i = begin; i < end; i++) {
      fprintf(f, "%.17g %.17g %.17g%s\n", mesh->x[3 * i], mesh->x[3 * i + 1], mesh->x[3 * i + 2],
              block == 1 ? ""
              : dim == 2 ? " 0.5 0.5"
                         : " 0 0 0.25");
    }
  }
  fprintf(f, "$EndNodes\n$Elements\n%" PRId64 " %" PRId64 " 1 9\n", mesh->facets + 1,
          mesh->cells + mesh->facets);
  for (PoiseInt e = 0; e < mesh->facets; e++) {
    fprintf(f, "%d %d %d 1\n%" PRId64, dim - 1, 100 + mesh->facetGroup[e], types[mesh->cell][1], e + 1);
    PutNodes(f, mesh, mesh->facetNodes + e * info->facetNodes, info->facetNodes, 0);
  }
  fprintf(f, "%d 50 %d %" PRId64 "\n", dim, types[mesh->cell][0], mesh->cells);
  for (PoiseInt e = 0; e < mesh->cells; e++) {
    fprintf(f, "%" PRId64, mesh->facets + e + 1);
    PutNodes(f, mesh, mesh->cellNodes + e * info->nodes, info->nodes, mesh->cell == FEM_TET10);
  }
  fprintf(f, "$EndElements\n");
}

static void Skew(double x[3], void *arg)
{
  (void)arg;
  x[0] += 0.3 * x[1];
}

/* Seen from behind: cells are clockwise, and volumes negative. */
static void Mirror(FemMesh *mesh)
{
  for (PoiseInt i = 0; i < mesh->nodes; i++) mesh->x[3 * i] = -mesh->x[3 * i];
}

static void WriteBox(const char *path, FemCell cell, int version, PoiseInt n, void (*change)(FemMesh *))
{
  const FemBox box = {.cell = cell, .n = {n, 2, 2}, .length = {3, 1, 0.5}, .map = Skew};
  PoiseContext one;
  FemMesh mesh;
  if (!CHECK_OK(PoiseInitialize(NULL, NULL, &(PoiseInit){.serial = 1}, &one))) return;
  if (CHECK_OK(FemMeshBox(one, &box, &mesh))) {
    FILE *f = fopen(path, "w");
    if (change != NULL) change(&mesh);
    if (CHECK(f != NULL)) {
      if (version == 2) Write2(f, &mesh);
      if (version == 4) Write4(f, &mesh);
      fclose(f);
    }
    FemMeshFree(&mesh);
  }
  CHECK_OK(PoiseFinalize(&one));
}

/* A body that is neither at the origin nor along the axes: in 2D in a plane z = 500. */
static void Move(FemMesh *mesh)
{
  static const double turn[2][3][3] = {{{0.6, -0.8, 0}, {0.8, 0.6, 0}, {0, 0, 1}},
                                       {{0.36, 0.48, -0.8}, {-0.8, 0.6, 0}, {0.48, 0.64, 0.6}}};
  for (PoiseInt i = 0; i < mesh->nodes; i++) {
    double x[3];
    memcpy(x, mesh->x + 3 * i, sizeof x);
    for (int c = 0; c < 3; c++) {
      const double *row = turn[mesh->dim - 2][c];
      mesh->x[3 * i + c] = 1000 - 250 * c + row[0] * x[0] + row[1] * x[1] + row[2] * x[2];
    }
  }
}

static void Noise(FemMesh *mesh)
{
  for (PoiseInt i = 0; i < mesh->nodes && mesh->dim == 2; i++) mesh->x[3 * i + 2] = i % 2 ? 1e-17 : -2e-17;
}

static void TestKinds(PoiseContext ctx)
{
  static void (*const changes[])(FemMesh *) = {NULL, Mirror, Noise, Move};
  char path[PATH];
  SharedName(ctx, path, "mesh.msh");
  for (int trial = 0; trial < 8 * FEM_CELLS; trial++) {
    const FemCell cell = (FemCell)(trial / 8);
    const int version = trial % 2 ? 4 : 2, dim = FemCellInfoOf(cell)->dim;
    const double exact = dim == 2 ? 3 : 1.5;
    void (*change)(FemMesh *) = changes[trial / 2 % 4];
    const double size = change == Move ? 1000 : 1;
    double volume, sums[5];
    FemMesh mesh;
    if (PoiseRank(ctx) == 0) WriteBox(path, cell, version, 5, change);
    CHECK_OK(PoiseBarrier(ctx));
    if (CHECK_OK(FemMeshGmsh(ctx, path, &mesh))) {
      CHECK(mesh.cell == cell && mesh.dim == dim && mesh.groups == 2 * dim + 1 && mesh.inside == 0);
      CheckNumbers(&mesh);
      for (PoiseInt i = 0; i < mesh.nodes && dim == 2; i++) CHECK(mesh.x[3 * i + 2] == 0);
      CHECK(mesh.hinge[0] == '\0');
      CHECK_OK(FemIntegrate(&mesh, One, NULL, 1, &volume));
      CHECK_NEAR(volume, exact, 1e-13 * size);
      Boundary(&mesh, 0, sums);
      CHECK_NEAR(sums[1], dim * exact, 1e-12 * size);
      for (int d = 0; d < 3; d++) CHECK_NEAR(sums[2 + d], 0, 1e-13 * size);
      Boundary(&mesh, 4, sums); /* y = 1 in 2D and 3D */
      CHECK_NEAR(sqrt(sums[2] * sums[2] + sums[3] * sums[3] + sums[4] * sums[4]), exact, 1e-13 * size);
      if (change != Move) CHECK_NEAR(sums[3], exact, 1e-13);
      FemMeshFree(&mesh);
    }
    RemoveFile(ctx, path);
  }
}

/* ---- bodies that are wrong ------------------------------------------------------------------- */

/* The last cell, where its first corner does not show it: the corner opposite, or the middle of an edge, lies
   on another. */
static void Fold(FemMesh *mesh)
{
  const FemCellInfo *info = FemCellInfoOf(mesh->cell);
  const PoiseInt *node = mesh->cellNodes + (mesh->cells - 1) * info->nodes;
  const int brick = info->corners == info->nodes, moved = !brick ? info->nodes - 1 : mesh->dim == 3 ? 6 : 2;
  memcpy(mesh->x + 3 * node[moved], mesh->x + 3 * node[mesh->cell == FEM_TRI6], 3 * sizeof *mesh->x);
}

static PoiseInt *Last(FemMesh *mesh)
{
  return mesh->cellNodes + (mesh->cells - 1) * FemCellInfoOf(mesh->cell)->nodes;
}

/* The last cell has no height; what lies above it may be inverted. */
static void Flatten(FemMesh *mesh)
{
  for (int k = 0; k < FemCellInfoOf(mesh->cell)->nodes; k++) mesh->x[3 * Last(mesh)[k] + 1] = 0.1;
}

/* A node inside goes through other cells, which are inverted then. */
static void Push(FemMesh *mesh)
{
  const FemCellInfo *info = FemCellInfoOf(mesh->cell);
  for (PoiseInt c = 0; c < mesh->cells; c++) {
    for (int k = 0; k < info->corners; k++) {
      double *x = mesh->x + 3 * mesh->cellNodes[c * info->nodes + k];
      if (fabs(x[1] - 0.5) > 0.1 || (mesh->dim == 3 && fabs(x[2] - 0.25) > 0.1)) continue;
      if (x[0] < 0.5 || x[0] > 1.5) continue;
      x[0] += 1;
      return;
    }
  }
}

/* A quad has a reflex corner, a little: no point of integration sees it. */
static void Reflex(FemMesh *mesh)
{
  if (mesh->cell != FEM_QUAD4) {
    Fold(mesh);
    return;
  }
  double *x = mesh->x + 3 * Last(mesh)[2]; /* the corner of the box, to where it is nearer to corner 0 */
  const double *a = mesh->x + 3 * Last(mesh)[0], *b = mesh->x + 3 * Last(mesh)[1],
               *d = mesh->x + 3 * Last(mesh)[3];
  for (int c = 0; c < 2; c++) x[c] = 0.02 * a[c] + 0.49 * b[c] + 0.49 * d[c];
}

/* The middles of two edges change places. */
static void Cross(FemMesh *mesh)
{
  const FemCellInfo *info = FemCellInfoOf(mesh->cell);
  if (info->nodes == info->corners) {
    Fold(mesh);
    return;
  }
  PoiseInt *node = Last(mesh), first = node[info->corners];
  node[info->corners] = node[info->corners + 1];
  node[info->corners + 1] = first;
}

static void Twice(FemMesh *mesh)
{
  Last(mesh)[1] = Last(mesh)[0];
}

static void Absent(FemMesh *mesh)
{
  Last(mesh)[1] = -3;
}

static void Again(FemMesh *mesh)
{
  const int n = FemCellInfoOf(mesh->cell)->nodes;
  memcpy(Last(mesh), mesh->cellNodes, (size_t)n * sizeof *mesh->cellNodes);
}

/* A facet with a corner at the other end. */
static void Stray(FemMesh *mesh)
{
  const PoiseInt *node = Last(mesh);
  mesh->facetNodes[0] = node[mesh->dim == 2 ? 2 : FemCellInfoOf(mesh->cell)->corners == 4 ? 3 : 6];
}

/* A facet of the boundary goes inside, its group with it in part. */
static void Inside(FemMesh *mesh)
{
  const FemCellInfo *info = FemCellInfoOf(mesh->cell);
  for (int side = 0; side < info->facets; side++) {
    for (PoiseInt c = 1; c < mesh->cells; c++) {
      int common = 0;
      for (int k = 0; k < info->facetCorners; k++) {
        for (int l = 0; l < info->corners; l++)
          common += mesh->cellNodes[info->facet[side][k]] == mesh->cellNodes[c * info->nodes + l];
      }
      if (common < info->facetCorners) continue;
      for (int k = 0; k < info->facetNodes; k++) mesh->facetNodes[k] = mesh->cellNodes[info->facet[side][k]];
      return;
    }
  }
}

static void NotANumber(FemMesh *mesh)
{
  mesh->x[4] = NAN;
}

static void Infinite(FemMesh *mesh)
{
  mesh->x[3] = INFINITY;
}

/* In 2D a node above the plane; in 3D all of the body in a plane. */
static void Plane(FemMesh *mesh)
{
  if (mesh->dim == 2) mesh->x[5] = 1e-6;
  for (PoiseInt i = 0; i < mesh->nodes && mesh->dim == 3; i++) mesh->x[3 * i + 2] = 7;
}

/* On a line, to rounding. */
static void Line(FemMesh *mesh)
{
  for (PoiseInt i = 0; i < mesh->nodes; i++) {
    for (int c = 1; c < mesh->dim; c++) mesh->x[3 * i + c] = 0.1 * c * mesh->x[3 * i] + 1. / 3;
  }
}

/* Every change to every kind of cells in both versions is an error with this cause and the line, on whatever
   rank the cell is. */
static void TestDamaged(PoiseContext ctx)
{
  static const struct Damage {
    void (*change)(FemMesh *);
    const char *words[2]; /* in 2D and 3D */
  } damages[] = {{Fold, {"inverted", "inverted"}},
                 {Flatten, {"inverted", "inverted"}},
                 {Push, {"inverted", "inverted"}},
                 {Reflex, {"inverted or flat", "inverted"}},
                 {Cross, {"inverted or flat", "inverted"}},
                 {Twice, {"is twice in the element", "is twice in the element"}},
                 {Absent, {"there is no node", "there is no node"}},
                 {Again, {"is given again, first in line", "is given again, first in line"}},
                 {Stray, {"belongs to no cell", "belongs to no cell"}},
                 {Inside, {"lies between two cells, others", "lies between two cells, others"}},
                 {NotANumber, {"nan cannot be a coordinate", "nan cannot be a coordinate"}},
                 {Infinite, {"inf cannot be a coordinate", "inf cannot be a coordinate"}},
                 {Plane, {"is not in one plane of equal z", "inverted or flat"}},
                 {Line, {"inverted or flat", "inverted or flat"}}};
  char path[PATH];
  SharedName(ctx, path, "mesh.msh");
  for (size_t trial = 0; trial < 2 * FEM_CELLS * sizeof damages / sizeof *damages; trial++) {
    const struct Damage *d = &damages[trial / 2 / FEM_CELLS];
    const FemCell cell = (FemCell)(trial / 2 % FEM_CELLS);
    const char *words = d->words[FemCellInfoOf(cell)->dim - 2];
    FemMesh mesh;
    if ((d->change == Fold || d->change == Reflex || d->change == Cross) &&
        (cell == FEM_TRI3 || cell == FEM_TET4))
      continue; /* nothing to fold */
    if (PoiseRank(ctx) == 0) WriteBox(path, cell, trial % 2 ? 4 : 2, 5, d->change);
    CHECK_OK(PoiseBarrier(ctx));
    PoiseErr err = FemMeshGmsh(ctx, path, &mesh); /* one rank may have the cell */
    const int known = err == POISE_ERR_FORMAT || err == POISE_ERR_NUMERIC || err == POISE_ERR_REMOTE;
    if (!CHECK(known && strstr(PoiseErrorMessage(), words) != NULL &&
               strstr(PoiseErrorMessage(), ", line ") != NULL))
      fprintf(stderr, "%s, damage %zu: %s\n", FemCellInfoOf(cell)->name, trial, PoiseErrorMessage());
    PoiseErrorClear();
    FemMeshFree(&mesh);
    RemoveFile(ctx, path);
  }
}

/* What assembly would find is said with the line of the file, on whatever rank the cell is. */
static void TestFolded(PoiseContext ctx)
{
  static const FemCell cells[] = {FEM_TRI6, FEM_QUAD4, FEM_TET10, FEM_HEX8};
  static const char *const words[] = {
      "element 34, a tri6, is inverted or flat inside", "element 24, a quad4, is inverted or flat inside",
      "element 216, a tet10, is inverted or flat inside", "element 68, a hex8, is inverted or flat inside"};
  char path[PATH];
  FemMesh mesh;
  SharedName(ctx, path, "mesh.msh");
  for (int trial = 0; trial < 8; trial++) {
    if (PoiseRank(ctx) == 0) WriteBox(path, cells[trial / 2], trial % 2 ? 4 : 2, 5, Fold);
    CHECK_OK(PoiseBarrier(ctx));
    PoiseErr err = FemMeshGmsh(ctx, path, &mesh); /* one rank has the cell */
    CHECK_ERR(err, err == POISE_ERR_REMOTE ? err : POISE_ERR_NUMERIC, words[trial / 2]);
    FemMeshFree(&mesh);
    RemoveFile(ctx, path);
  }
}

static void TurnOver(double x[3], void *arg)
{
  (void)arg;
  x[0] = -x[0];
}

static void Ones(const FemPoint *p, void *arg, double *K, double *F)
{
  (void)arg;
  for (int a = 0; a < p->nodes * p->nodes; a++) K[a] += 1;
  for (int a = 0; a < p->nodes; a++) F[a] += 1;
}

/* The same in a mesh that no reader has seen, in every way of assembly; the form need not ask whether there
   is a K. */
static void TestInverted(PoiseContext ctx)
{
  const FemBox box = {.cell = FEM_HEX8, .n = {3, 2, 2}, .length = {1, 1, 1}, .map = TurnOver};
  const FemOperator op = {.mass = 1};
  FemMesh mesh;
  if (!CHECK_OK(FemMeshBox(ctx, &box, &mesh))) return;
  for (int how = FEM_ELEMENTS; how <= FEM_DEVICE; how++) {
    FemSystem system;
    if (CHECK_OK(FemSystemCreate(&mesh, 1, (FemAssembly)how, &system))) {
      PoiseErr err = FemAssembleCells(&system, Ones, NULL, &op); /* a rank without cells is told by others */
      CHECK_ERR(err, err == POISE_ERR_REMOTE ? err : POISE_ERR_NUMERIC, "(hex8, nodes");
    }
    FemSystemFree(&system);
  }
  FemMeshFree(&mesh);
}

/* Cells that are right one by one, and wrong together. */
static void TestTogether(PoiseContext ctx)
{
  static const struct Body {
    const char *nodes, *elements, *words;
  } bodies[] = {
      {"6\n1 0 0 0\n2 1 0 0\n3 1 1 0\n4 1 0 0\n5 2 0 0\n6 2 1 0\n", "2\n1 2 2 7 1 1 2 3\n2 2 2 7 1 4 5 6\n",
       "line 16: element 2, a tri3, is of another body than that of line 15"},
      {"5\n1 0 0 0\n2 1 0 0\n3 1 1 0\n4 0 1 0\n5 0 2 0\n",
       "3\n1 2 2 7 1 1 2 3\n2 2 2 7 1 1 3 4\n3 2 2 7 1 1 3 5\n",
       "line 16: element 3, a tri3, has an edge that two other cells have"},
      {"6\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n5 1 1 1\n6 2 2 2\n",
       "3\n1 4 2 7 1 1 2 3 4\n2 4 2 7 1 2 3 4 5\n3 4 2 7 1 2 3 4 6\n",
       "line 17: element 3, a tet4, has a facet that two other cells have"},
      {"5\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n5 0.1 0.1 0.1\n", "2\n1 4 2 7 1 1 2 3 4\n2 4 2 7 1 2 3 4 5\n",
       "line 15: element 2, a tet4, overlaps that of line 14: one of them is inverted"},
      {"4\n1 0 0 0\n2 1 0 0\n3 0.49 0.49 0\n4 0 1 0\n", "1\n1 3 2 7 1 1 2 3 4\n",
       "line 13: element 1, a quad4, is inverted or flat at its node (0.49, 0.49, 0)"},
      {"7\n1 0 0 0\n2 2 0 0\n3 0 2 0\n4 1 0 0\n5 1 1 0\n6 0 1 0\n7 0 1.1 0\n",
       "2\n1 9 2 7 1 1 2 3 4 5 6\n2 9 2 8 1 1 2 3 4 5 7\n",
       "line 17: element 2, a tri6, is given again, first in line 16"},
      {"7\n1 0 0 0\n2 2 0 0\n3 0 2 0\n4 1 0 0\n5 1 1 0\n6 0 1 0\n7 0 1.1 0\n",
       "2\n1 9 2 7 1 1 2 3 4 5 6\n2 9 2 8 1 1 3 2 6 5 4\n", NULL}, /* the same, turned over */
  };
  char path[PATH], text[1024];
  FemMesh mesh;
  SharedName(ctx, path, "mesh.msh");
  for (size_t b = 0; b < sizeof bodies / sizeof *bodies; b++) {
    snprintf(text, sizeof text,
             "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n%s$EndNodes\n$Elements\n%s$EndElements\n",
             bodies[b].nodes, bodies[b].elements);
    WriteText(ctx, path, text);
    PoiseErr err = FemMeshGmsh(ctx, path, &mesh);
    if (bodies[b].words == NULL)
      CHECK_OK(err);
    else
      CHECK_ERR(err, err == POISE_ERR_NUMERIC || err == POISE_ERR_REMOTE ? err : POISE_ERR_FORMAT,
                bodies[b].words);
    FemMeshFree(&mesh);
    RemoveFile(ctx, path);
  }
}

/* ---- files that are wrong -------------------------------------------------------------------- */

/* Two triangles; one line of the boundary in a group, the one between the triangles in another. */
static const char *const small[] = {
    "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n3\n1 1 \"foot\"\n1 2 \"middle\"\n2 7 "
    "\"plate\"\n$EndPhysicalNames\n"
    "$Nodes\n4\n1 0 0 0\n2 1 0 0\n3 1 1 0\n4 0 1 0\n$EndNodes\n"
    "$Elements\n5\n1 15 2 9 1 1\n2 1 2 1 1 1 2\n3 1 2 2 1 1 3\n4 2 2 7 1 1 2 3\n5 2 2 7 1 1 3 "
    "4\n$EndElements\n",
    "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$PhysicalNames\n3\n1 1 \"foot\"\n1 2 \"middle\"\n2 7 "
    "\"plate\"\n$EndPhysicalNames\n"
    "$Entities\n1 2 1 0\n1 0 0 0 0\n1 0 0 0 1 0 0 1 1 0\n2 0 0 0 1 1 0 1 2 0\n1 0 0 0 1 1 0 1 7 "
    "0\n$EndEntities\n"
    "$Nodes\n1 4 1 4\n2 1 0 4\n1\n2\n3\n4\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n$EndNodes\n"
    "$Elements\n4 5 1 5\n0 1 15 1\n1 1\n1 1 1 1\n2 1 2\n1 2 1 1\n3 1 3\n2 1 2 2\n4 1 2 3\n5 1 3 "
    "4\n$EndElements\n"};

/* text with the first `from` become `to`. */
static void Replace(const char *text, const char *from, const char *to, char *out, size_t size)
{
  const char *at = strstr(text, from);
  if (!CHECK(at != NULL)) at = text;
  snprintf(out, size, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

static void TestSmall(PoiseContext ctx)
{
  for (int version = 0; version < 2; version++) {
    char path[PATH];
    FemMesh mesh;
    int group;
    double sums[5];
    SharedName(ctx, path, "mesh.msh");
    WriteText(ctx, path, small[version]);
    if (CHECK_OK(FemMeshGmsh(ctx, path, &mesh))) {
      CheckNumbers(&mesh);
      CHECK_INT(mesh.groups, 2); /* no facet of "middle" is on the boundary */
      CHECK_OK(FemMeshGroup(&mesh, mesh.dim - 1, "foot", &group));
      CHECK_ERR(FemMeshGroup(&mesh, mesh.dim - 1, "middle", &group), POISE_ERR_ARG,
                "group 'middle' lies inside the body, where each of its facets is between two cells; the "
                "boundary has: foot (1)");
      CHECK_ERR(FemMeshGroup(&mesh, mesh.dim - 1, "2", &group), POISE_ERR_ARG,
                "group '2' lies inside the body");
      CHECK_ERR(FemMeshGroup(&mesh, mesh.dim - 1, "plate", &group), POISE_ERR_ARG, "no group 'plate'");
      Boundary(&mesh, 0, sums);
      CHECK_NEAR(sums[0], 1, 1e-15);
      CHECK_NEAR(sums[3], -1, 1e-15);
      FemMeshFree(&mesh);
    }
    RemoveFile(ctx, path);
  }
}

/* The triangles and the line in several groups, in version 2 as elements that are given for each. */
static void TestSeveral(PoiseContext ctx)
{
  static const char *const changes[][2] = {
      {"$Elements\n5\n1 15 2 9 1 1\n",
       "$Elements\n8\n1 15 2 9 1 1\n6 1 2 4 1 2 1\n7 2 2 5 1 1 2 3\n8 1 2 -3 1 2 1\n"},
      {"1 0 0 0 1 0 0 1 1 0\n2 0 0 0 1 1 0 1 2 0\n1 0 0 0 1 1 0 1 7 0",
       "1 0 0 0 1 0 0 3 4 1 -3 0\n2 0 0 0 1 1 0 1 2 0\n1 0 0 0 1 1 0 2 7 5 0"}};
  for (int version = 0; version < 2; version++) {
    char path[PATH], text[2048];
    FemMesh mesh;
    double sums[5];
    SharedName(ctx, path, "mesh.msh");
    Replace(small[version], changes[version][0], changes[version][1], text, sizeof text);
    WriteText(ctx, path, text);
    if (CHECK_OK(FemMeshGmsh(ctx, path, &mesh))) {
      double in[4] = {(double)mesh.facets}; /* facets, and cells in 5, in 7 and in 6 */
      CheckNumbers(&mesh);
      CHECK_INT(mesh.groups, 5);
      CHECK_INT(mesh.inside, 1);
      for (PoiseInt c = 0; c < mesh.cells; c++) {
        in[1] += FemCellIn(&mesh, c, 5);
        in[2] += FemCellIn(&mesh, c, 7);
        in[3] += FemCellIn(&mesh, c, 6);
        CHECK_INT(mesh.cellGroup[c], FemCellIn(&mesh, c, 5) ? 5 : 7);
      }
      CHECK_OK(PoiseSum(ctx, 4, in));
      CHECK_INT(in[0], 1);
      CHECK_INT(in[1], version == 0 ? 1 : 2);
      CHECK_INT(in[2], 2);
      CHECK_INT(in[3], 0);
      for (PoiseInt f = 0; f < mesh.facets; f++) CHECK_INT(mesh.facetGroup[f], 1);
      for (int group = 0; group < 7; group++) { /* all (0): the facet counts once */
        Boundary(&mesh, group, sums);
        CHECK_NEAR(sums[0], group <= 1 || group == 3 || group == 4, 1e-15);
      }
      FemMeshFree(&mesh);
    }
    RemoveFile(ctx, path);
  }
}

/* Bodies whose parts share nodes, but no side. */
static void TestHinges(PoiseContext ctx)
{
  static const struct Body {
    const char *elements, *words; /* NULL: none */
  } bodies[] = {
      {"2\n1 2 2 1 1 1 2 3\n2 2 2 1 1 2 4 3\n", NULL},
      {"2\n1 2 2 1 1 1 2 3\n2 2 2 1 1 2 4 6\n",
       ": 2 parts of the body are joined by nodes alone, as by hinges: elements 1 and 2, lines 17 and 18"},
      {"2\n1 4 2 1 1 1 2 3 5\n2 4 2 1 1 2 4 3 5\n", NULL},
      {"2\n1 4 2 1 1 1 2 3 5\n2 4 2 1 1 4 8 3 5\n",
       ": 2 parts of the body are joined by edges or nodes alone"},
      {"3\n1 4 2 1 1 1 2 3 5\n2 4 2 1 1 4 8 7 5\n3 4 2 1 1 2 6 8 1\n",
       ": 3 parts of the body are joined by edges or nodes alone, as by hinges: elements 1 and 2, lines 17 "
       "and 18"},
  };
  char path[PATH], text[1024];
  SharedName(ctx, path, "mesh.msh");
  for (size_t b = 0; b < sizeof bodies / sizeof *bodies; b++) {
    const int plane = b < 2; /* corners of a cube; in 2D the upper ones beside the lower ones */
    FemMesh mesh;
    snprintf(text, sizeof text,
             "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n8\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 1 1 0\n"
             "5 %d 0 %d\n6 %d 0 %d\n7 %d 1 %d\n8 %d 1 %d\n$EndNodes\n$Elements\n%s$EndElements\n",
             2 * plane, !plane, 1 + 2 * plane, !plane, 2 * plane, !plane, 1 + 2 * plane, !plane,
             bodies[b].elements);
    WriteText(ctx, path, text);
    if (CHECK_OK(FemMeshGmsh(ctx, path, &mesh))) {
      if (bodies[b].words == NULL)
        CHECK(mesh.hinge[0] == '\0');
      else
        CHECK(strstr(mesh.hinge, bodies[b].words) != NULL);
      FemMeshFree(&mesh);
    }
    RemoveFile(ctx, path);
  }
}

static void TestWrong(PoiseContext ctx)
{
  static const struct Case {
    int version; /* 0: both */
    const char *from, *to, *words;
  } cases[] = {
      {0, "$MeshFormat", "%%MatrixMarket",
       "is no mesh of Gmsh, which begins with $MeshFormat: it begins with '%%MatrixMarket'"},
      {2, "2.2 0", "2.2 1", "line 2: the file is binary; save it as text"},
      {0, "$MeshFormat", "$NOD", "line 1: the version is 1, neither 2 nor 4.1"},
      {4, "4.1 0", "4 0", "line 2: version 4 is neither 2 nor 4.1"},
      {2, "2.2 0", "1.0 0", "line 2: version 1 is neither 2 nor 4.1"},
      {0, "\"middle\"", "\"foot\"", "line 7: group 1 has this name already"},
      {0, "1 2 \"middle\"", "1 1 \"middle\"", "line 7: group 1 has a name already, \"foot\""},
      {0, "\"middle\"", "middle", "line 7: 'middle' is no name in quotes"},
      {0, "\"foot\"", "\"foot", "line 6: '\"foot' is no name in quotes"},
      {2, "$Nodes\n4", "$Nodes\n1000000000", "line 11: the number of nodes is 1000000000, for which"},
      {4, "1 4 1 4", "1 1000000000 1 4", "the number of nodes is 1000000000, for which"},
      {2, "$Nodes\n4", "$Nodes\n5", "line 16: '$EndNodes' where the number of a node should be"},
      {2, "$Nodes\n4", "$Nodes\n3", "line 15: '4 0 1 0' where $EndNodes should be"},
      {2, "$Nodes\n4", "$Nodes\n-4", "line 11: -4 cannot be the number of nodes"},
      {4, "1 4 1 4", "1 5 1 4", "4 nodes, but 5 were announced"},
      {4, "2 1 0 4", "2 1 0 5", "the number of nodes is 5, but 4 are left of those announced"},
      {2, "3 1 1 0\n", "2 1 1 0\n", "line 14: node 2 is given again, first in line 13"},
      {2, "3 1 1 0\n", "3 1 1\n", "line 14: the line ends where a coordinate should be"},
      {2, "3 1 1 0\n", "3 1 1 x\n", "line 14: 'x' where a coordinate should be"},
      {2, "3 1 1 0\n", "3 1 nan 0\n", "line 14: nan cannot be a coordinate"},
      {2, "3 1 1 0\n", "3 1 1 0 0\n", "line 14: '0' is more than the line can hold"},
      {2, "3 1 1 0\n", "3 1 1 0.5\n", "line 22: element 4, a tri3, is not in one plane of equal z"},
      {2, "3 1 1 0\n", "3 1 1 1e-6\n", "line 22: element 4, a tri3, is not in one plane of equal z"},
      {2, "3 1 1 0\n", "3 1 1 1e-17\n", NULL},
      {2, "3 1 1 0\n4 0 1 0\n", "3 1 1 -1e-12\n4 0 1 1e-12\n", NULL},
      {2, "1 0 0 0\n2 1 0 0\n3 1 1 0\n4 0 1 0\n", "1 0 0 -7\n2 1 0 -7\n3 1 1 -7\n4 0 1 -7\n", NULL},
      {4, "0 0 0\n1 0 0\n1 1 0\n0 1 0\n", "0 0 1e9\n1 0 1e9\n1 1 1e9\n0 1 1e9\n", NULL},
      {2, "1 0 0 0\n2 1 0 0\n3 1 1 0\n4 0 1 0\n", "1 0 0 0\n2 1 0 1\n3 1 1 1\n4 0 1 0\n",
       "is not in one plane of equal z"},
      {2, "4 0 1 0\n", "4 1 1 0\n", "line 23: element 5, a tri3, is inverted or flat"},
      {2, "4 0 1 0\n", "4 0.9 0.1 0\n",
       "line 23: element 5, a tri3, overlaps that of line 22: one of them is inverted"},
      {2, "$Elements\n5\n1 15 2 9 1 1\n", "$Elements\n5\n1 2 2 7 1 1 3 2\n", "is given again"},
      {2, "$Nodes\n4\n1 0 0 0\n", "$Nodes\n5\n1 0 0 0\n5 -1 2 0\n", NULL}, /* a node that no cell has */
      {2, "4 2 2 7 1 1 2 3", "4 2 2 7 1 1 2 9", "line 22: there is no node 9"},
      {2, "4 2 2 7 1 1 2 3", "4 2 2 7 1 1 2 1", "line 22: node 1 is twice in the element"},
      {2, "4 2 2 7 1 1 2 3", "4 2 2 7 1 1 2", "line 22: the line ends where the number of a node should be"},
      {2, "4 2 2 7 1 1 2 3", "4 99 2 7 1 1 2 3", "line 22: elements of type 99 are not read"},
      {2, "4 2 2 7 1 1 2 3", "4 6 2 7 1 1 2 3 4 1 2",
       "line 22: elements of type 6 (prisms) are not read; tri3, tri6, quad4, tet4, tet10 and hex8 are: mesh "
       "it without layers"},
      {4, "2 1 2 2\n", "2 1 7 2\n", "elements of type 7 (pyramids) are not read"},
      {4, "2 1 2 2\n", "2 1 10 2\n", "elements of type 10 (quad9) are not read"},
      {4, "2 1 2 2\n", "2 1 12 2\n", "elements of type 12 (hex27) are not read"},
      {4, "2 1 2 2\n", "2 1 13 2\n", "elements of type 13 (prisms) are not read"},
      {4, "2 1 2 2\n", "2 1 14 2\n", "elements of type 14 (pyramids) are not read"},
      {4, "2 1 2 2\n", "2 1 16 2\n", "elements of type 16 (quad8) are not read"},
      {4, "2 1 2 2\n", "2 1 17 2\n",
       "elements of type 17 (hex20) are not read; tri3, tri6, quad4, tet4, tet10 "
       "and hex8 are: mesh it in order 1 (Mesh.ElementOrder)"},
      {4, "2 1 2 2\n", "2 1 18 2\n", "elements of type 18 (prisms) are not read"},
      {4, "2 1 2 2\n", "2 1 19 2\n", "elements of type 19 (pyramids) are not read"},
      {4, "2 1 2 2\n", "2 1 21 2\n", "elements of type 21 (order 3) are not read"},
      {4, "2 1 2 2\n", "2 1 29 2\n", "elements of type 29 (order 3) are not read"},
      {4, "2 1 2 2\n", "2 1 0 2\n", "0 cannot be the type of an element"},
      {2, "$Nodes\n4\n", "$ParametricNodes\n4\n", "line 10: nodes with parameters are not read in version 2"},
      {2, "4 2 2 7 1 1 2 3", "4 2 2 7 1 1 3 4",
       "line 23: element 5, a tri3, is given again, first in line 22"},
      {2, "4 2 2 7 1 1 2 3", "4 3 2 7 1 1 2 3 4", "line 23: element 5, a tri3, does not fit"},
      {2, "4 2 2 7 1 1 2 3", "4 2 1000001 7 1 1 2 3", "1000001 cannot be the number of tags"},
      {2, "2 1 2 1 1 1 2", "2 1 2 1 1 2 4", "line 20: element 2, a line, belongs to no cell"},
      {2, "3 1 2 2 1 1 3", "3 1 2 1 1 1 3", "line 21: element 3, a line, lies between two cells"},
      {2, "3 1 2 2 1 1 3", "3 1 2 1 1 2 1", "line 21: element 3, a line, is given again, first in line 20"},
      {2, "5 2 2 7 1 1 3 4", "5 2 2 0 1 1 2 3",
       "line 23: element 5, a tri3, is given again, first in line 22"},
      {2, "4 2 2 7 1 1 2 3", "4 2 2 0 1 1 3 4",
       "line 23: element 5, a tri3, is given again, first in line 22"},
      {2, "4 2 2 7 1 1 2 3", "4 2 2 7 99999999999999999999 1 2 3",
       "line 22: 99999999999999999999 cannot be a tag"},
      {4, "1 0 0 0 1 1 0 1 7 0", "1 0 0 0 1 1 0 2 7 -7 0", "line 15: the entity is in group 7 twice"},
      {4, "1 0 0 0 1 1 0 1 7 0", "1 0 0 0 1 1 0 33 7 0", "line 15: 33 cannot be the number of groups"},
      {4, "1 0 0 0 1 1 0 1 7 0", "1 0 0 0 1 1 0 2 7 0", "line 15: the line ends where"},
      {4, "1 0 0 0 1 1 0 1 7 0", "1 0 0 0 1 1 0 -1 0", "line 15: -1 cannot be the number of groups"},
      {4, "1 0 0 0 1 0 0 1 1 0", "1 0 0 0 1 0 0 2 1 2 0", "lies between two cells, others"},
      {4, "2 1 2 2\n", "2 5 2 2\n", "$Entities has no 5 of dimension 2"},
      {4, "2 1 2 2\n", "2 1 4 2\n", "a tet4 on an entity of dimension 2"},
      {4, "2 1 2 2\n", "2 1 2 1\n", "4 elements, but 5 were announced"},
      {4, "5 1 3 4\n", "5 1 3 8\n", "there is no node 8"},
      {4, "2 0 0 0 1 1 0 1 2 0\n", "", "where"},
      {0, "$EndNodes\n", "$EndNodes\n$Nodes\n", "a second $Nodes"},
      {0, "$Elements\n", "$Element\n", "the file ends without the $EndElement of this section"},
      {0, "$EndElements\n", "", "the file ends before $EndElements; it has been cut off"},
      {0, "$EndElements\n", "$EndElements\nmore\n", "'more' where a section should begin"},
      {0, "$MeshFormat\n", "$MeshFormat\n\n", NULL}, /* an empty line is nothing */
      {0, "$EndElements\n", "$EndElements", NULL},
      {0, "$Elements\n", "$Periodic\n1\n$EndPeriodic\n$Elements\n", NULL},
  };
  char path[PATH];
  SharedName(ctx, path, "mesh.msh");
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    for (int version = 0; version < 2; version++) {
      char text[2048];
      FemMesh mesh;
      if (cases[c].version != 0 && cases[c].version != (version ? 4 : 2)) continue;
      Replace(small[version], cases[c].from, cases[c].to, text, sizeof text);
      WriteText(ctx, path, text);
      PoiseErr err = FemMeshGmsh(ctx, path, &mesh);
      if (cases[c].words == NULL) {
        CHECK_OK(err);
      } else if (!CHECK_ERR(err, err == POISE_ERR_NUMERIC || err == POISE_ERR_REMOTE ? err : POISE_ERR_FORMAT,
                            cases[c].words)) {
        fprintf(stderr, "%s -> %s: %s\n", cases[c].from, cases[c].to, PoiseErrorMessage());
      }
      FemMeshFree(&mesh);
      RemoveFile(ctx, path);
    }
  }
  CHECK_ERR(FemMeshGmsh(ctx, "no_such_file.msh", &(FemMesh){0}), POISE_ERR_FILE, "no_such_file.msh: ");
  CHECK_ERR(FemMeshGmsh(ctx, ".", &(FemMesh){0}), POISE_ERR_FILE, ".: ");
}

/* However little is left of a file, it is an error, found without reading beyond. */
static void TestCutOff(PoiseContext ctx)
{
  (void)ctx;
  for (int version = 0; version < 2; version++) {
    for (size_t n = 0; n < strlen(small[version]) - 1; n++) {
      char *text = calloc(n + 1, 1); /* no larger, so that sanitizers see */
      GmshFile file;
      memcpy(text, small[version], n);
      CHECK_ERR(GmshParse("cut", text, n, &file), POISE_ERR_FORMAT, "cut");
      GmshFree(&file);
      free(text);
    }
  }
}

/* Bytes changed at random: an error or a mesh, which is right then. */
static void TestSpoilt(PoiseContext ctx)
{
  static const char letters[] = "0123456789-.e $\n\"";
  char path[PATH];
  SharedName(ctx, path, "mesh.msh");
  for (int trial = 0; trial < 400; trial++) {
    char text[2048];
    FemMesh mesh;
    snprintf(text, sizeof text, "%s", small[trial % 2]);
    for (int k = 0; k <= trial % 3; k++) {
      const double at = TestRandom(7, (uint64_t)(6 * trial + 2 * k)),
                   to = TestRandom(7, (uint64_t)(6 * trial + 2 * k + 1));
      text[(size_t)((at + 1) / 2 * (double)strlen(text))] =
          letters[(size_t)((to + 1) / 2 * (double)(sizeof letters - 1))];
    }
    WriteText(ctx, path, text);
    PoiseErr err = FemMeshGmsh(ctx, path, &mesh);
    CHECK(err == POISE_OK || err == POISE_ERR_FORMAT || err == POISE_ERR_NUMERIC || err == POISE_ERR_REMOTE);
    if (err == POISE_OK) CheckNumbers(&mesh);
    FemMeshFree(&mesh);
    RemoveFile(ctx, path);
  }
}

/* ---- mutations ------------------------------------------------------------------------------- */

/* Lines and words of a text are changed, by numbers drawn from a seed. */
typedef struct Mutant {
  uint64_t drawn;
  char text[1 << 16];
} Mutant;

static size_t Draw(Mutant *m, size_t n)
{
  return (size_t)((TestRandom(2030, m->drawn++) + 1) / 2 * (double)n);
}

/* A random line that ends, or a random word: where it begins, and how long it is. */
static const char *Part(Mutant *m, const char *text, const char *ends, size_t *length)
{
  const char *at = text + Draw(m, strlen(text));
  while (at > text && strchr(ends, at[-1]) == NULL) at--;
  *length = strcspn(at, ends);
  return at;
}

static void Mutate(const char *text, Mutant *m)
{
  static const char *const words[] = {"0",
                                      "-1",
                                      "1",
                                      "3",
                                      "99999999999999999999",
                                      "nan",
                                      "x",
                                      "2147483647",
                                      "",
                                      "-9223372036854775808",
                                      "1e99",
                                      "\n",
                                      "$EndElements",
                                      "\"",
                                      "0.5"};
  const int kind = (int)Draw(m, 6);
  const char *ends = kind < 3 ? "\n" : " \n";
  size_t n, k;
  const char *at = Part(m, text, ends, &n), *other = Part(m, text, ends, &k);
  if (kind == 0 || kind == 3) { /* left out, or one of these */
    other = kind == 0 ? "" : words[Draw(m, sizeof words / sizeof *words)];
    k = strlen(other);
    n += kind == 0 && at[n] == '\n';
  } else if (kind == 1) { /* another before it */
    n = 0;
    k += other[k] == '\n';
  } else if (kind == 5) { /* cut off */
    n = strlen(at);
    k = 0;
  } /* 2, 4: another in its place */
  snprintf(m->text, sizeof m->text, "%.*s%.*s%s", (int)(at - text), text, (int)k, other, at + n);
}

/* 600 mutations of good meshes: an error that tells the line, or a mesh, which is right then. */
static void TestMutants(PoiseContext ctx)
{
  static char texts[2 * FEM_CELLS][1 << 15];
  Mutant *m = calloc(1, sizeof *m);
  char path[PATH];
  int right = 0;
  SharedName(ctx, path, "mesh.msh");
  for (int k = 0; k < 2 * FEM_CELLS; k++) {
    WriteBox(path, (FemCell)(k / 2), k % 2 ? 4 : 2, 1, NULL);
    TextOf(path, texts[k], sizeof texts[k]);
    CHECK(strlen(texts[k]) < sizeof texts[k] - 1);
  }
  for (int trial = 0; trial < 600; trial++) {
    FemMesh mesh;
    Mutate(texts[trial % (2 * FEM_CELLS)], m);
    WriteText(ctx, path, m->text);
    PoiseErr err = FemMeshGmsh(ctx, path, &mesh);
    right += err == POISE_OK;
    if (err == POISE_OK) {
      CheckNumbers(&mesh);
    } else if (!CHECK(err == POISE_ERR_FORMAT || err == POISE_ERR_NUMERIC) ||
               !CHECK(strstr(PoiseErrorMessage(), ", line ") != NULL ||
                      strstr(PoiseErrorMessage(), "is no mesh of Gmsh") != NULL ||
                      strstr(PoiseErrorMessage(), "has neither triangles nor") != NULL)) {
      fprintf(stderr, "mutant %d: %s\n", trial, PoiseErrorMessage());
    }
    PoiseErrorClear();
    FemMeshFree(&mesh);
  }
  CHECK(right > 20 && right < 300); /* neither is all refused, nor nothing */
  RemoveFile(ctx, path);
  free(m);
}

/* ---- the program gmsh ------------------------------------------------------------------------ */

/* Scripts in its place, each with an answer. */
static void TestProgram(PoiseContext ctx)
{
  static const struct Answer {
    const char *script, *words; /* NULL: a mesh */
  } answers[] = {
      {"for out; do :; done; while read -r line; do echo \"$line\"; done < \"$0.txt\" > \"$out\"", NULL},
      {"echo Error: no luck; echo more >&2; exit 3",
       "gmsh, called to save it as text, has failed: Error: no luck;more"},
      {"exit 0", "has failed without a word"},
      {"for out; do :; done; echo nonsense > \"$out\"; exit 1", "has failed without a word"},
      {"kill -9 $$", "has failed without a word"},
      {"for out; do :; done; echo nonsense > \"$out\"", "saved as text by gmsh is no mesh of Gmsh"},
      {"for out; do :; done; printf 'a\\0' > \"$out\"", "saved as text by gmsh is not a text"}};
  char folder[PATH], path[PATH], script[PATH + 8], text[PATH + 16], foreign[2048];
  SharedName(ctx, folder, "bin");
  SharedName(ctx, path, "mesh.msh");
  Replace(small[0], "2.2 0", "4 0", foreign, sizeof foreign);
  WriteText(ctx, path, foreign);
  snprintf(script, sizeof script, "%s/gmsh", folder);
  snprintf(text, sizeof text, "%s.txt", script);
  if (PoiseRank(ctx) == 0) {
    CHECK_INT(mkdir(folder, 0700), 0);
    setenv("PATH", folder, 1);
  }
  WriteText(ctx, text, small[1]);
  for (size_t a = 0; a < sizeof answers / sizeof *answers; a++) {
    FemMesh mesh;
    char lines[512];
    snprintf(lines, sizeof lines, "#!/bin/sh\n%s\n", answers[a].script);
    WriteText(ctx, script, lines);
    if (PoiseRank(ctx) == 0) CHECK_INT(chmod(script, 0700), 0);
    CHECK_OK(PoiseBarrier(ctx));
    PoiseErr err = FemMeshGmsh(ctx, path, &mesh);
    if (answers[a].words != NULL) {
      CHECK_ERR(err, err == POISE_ERR_REMOTE ? err : POISE_ERR_FORMAT, answers[a].words);
    } else if (CHECK_OK(err)) {
      CheckNumbers(&mesh);
      CHECK_INT(mesh.allCells, 2);
    }
    FemMeshFree(&mesh);
    if (a == 0) { /* what gmsh would take for a script, as it does not begin so, it does not get */
      WriteText(ctx, path, "\n$MeshFormat\n4 0 8\n");
      err = FemMeshGmsh(ctx, path, &mesh);
      CHECK_ERR(err, POISE_ERR_FORMAT, "line 3: version 4 is neither 2 nor 4.1");
      WriteText(ctx, path, foreign);
    }
    RemoveFile(ctx, script);
  }
  RemoveFile(ctx, text);
  RemoveFile(ctx, path);
  if (PoiseRank(ctx) == 0) {
    setenv("PATH", "/nonexistent", 1);
    CHECK_INT(rmdir(folder), 0); /* nothing was left in it */
  }
  CHECK_OK(PoiseBarrier(ctx));
}

static const Test tests[] = {{"bracket", TestBracket, TEST_HOST_ONLY},
                             {"kinds", TestKinds, TEST_HOST_ONLY},
                             {"damaged", TestDamaged, TEST_HOST_ONLY},
                             {"folded", TestFolded, TEST_HOST_ONLY},
                             {"inverted", TestInverted, TEST_HOST_ONLY},
                             {"together", TestTogether, TEST_HOST_ONLY},
                             {"small", TestSmall, TEST_HOST_ONLY},
                             {"several", TestSeveral, TEST_HOST_ONLY},
                             {"hinges", TestHinges, TEST_HOST_ONLY},
                             {"wrong", TestWrong, TEST_HOST_ONLY},
                             {"cut_off", TestCutOff, TEST_HOST_ONLY | TEST_SERIAL},
                             {"spoilt", TestSpoilt, TEST_HOST_ONLY},
                             {"mutants", TestMutants, TEST_HOST_ONLY | TEST_SERIAL},
                             {"program", TestProgram, TEST_HOST_ONLY},
                             {NULL, NULL, 0}};

int main(int argc, char **argv)
{
  setenv("PATH", "/nonexistent", 1); /* whether gmsh is installed makes no difference */
  return TestMain(argc, argv, "gmsh", tests);
}
