/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The reader of meshes in examples/fem. A mesh is checked by its volume, its areas, and Gauss: the integral of
  x . n over the whole boundary is dim times the volume. This fails if a facet is missing, given twice, or
  turned inwards.
*/
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    if (group != 0 && mesh->facetGroup[f] != group) continue;
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

/* The last cell, where its first corner does not show it: the corner opposite, or the middle of an edge, lies
   on another. */
static void Fold(FemMesh *mesh)
{
  const FemCellInfo *info = FemCellInfoOf(mesh->cell);
  const PoiseInt *node = mesh->cellNodes + (mesh->cells - 1) * info->nodes;
  const int brick = info->corners == info->nodes, moved = !brick ? info->nodes - 1 : mesh->dim == 3 ? 6 : 2;
  memcpy(mesh->x + 3 * node[moved], mesh->x + 3 * node[mesh->cell == FEM_TRI6], 3 * sizeof *mesh->x);
}

static void WriteBox(const char *path, FemCell cell, int version, void (*change)(FemMesh *))
{
  const FemBox box = {.cell = cell, .n = {5, 2, 2}, .length = {3, 1, 0.5}, .map = Skew};
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

static void TestKinds(PoiseContext ctx)
{
  char path[PATH];
  SharedName(ctx, path, "mesh.msh");
  for (int trial = 0; trial < 4 * FEM_CELLS; trial++) {
    const FemCell cell = (FemCell)(trial / 4);
    const int version = trial % 2 ? 4 : 2, mirror = trial / 2 % 2, dim = FemCellInfoOf(cell)->dim;
    const double exact = dim == 2 ? 3 : 1.5;
    double volume, sums[5];
    FemMesh mesh;
    if (PoiseRank(ctx) == 0) WriteBox(path, cell, version, mirror ? Mirror : NULL);
    CHECK_OK(PoiseBarrier(ctx));
    PoiseErr err = FemMeshGmsh(ctx, path, &mesh);
    if (mirror && dim == 3) {
      CHECK_ERR(err, POISE_ERR_NUMERIC, "is inverted or flat");
    } else if (CHECK_OK(err)) {
      CHECK(mesh.cell == cell && mesh.dim == dim && mesh.groups == 2 * dim + 1);
      CheckNumbers(&mesh);
      CHECK_OK(FemIntegrate(&mesh, One, NULL, 1, &volume));
      CHECK_NEAR(volume, exact, 1e-13);
      Boundary(&mesh, 0, sums);
      CHECK_NEAR(sums[1], dim * exact, 1e-12);
      for (int d = 0; d < 3; d++) CHECK_NEAR(sums[2 + d], 0, 1e-13);
      Boundary(&mesh, 4, sums); /* y = 1 in 2D and 3D */
      CHECK_NEAR(sums[3], dim == 2 ? 3 : 1.5, 1e-13);
      FemMeshFree(&mesh);
    }
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
    if (PoiseRank(ctx) == 0) WriteBox(path, cells[trial / 2], trial % 2 ? 4 : 2, Fold);
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

static void TestTwoBodies(PoiseContext ctx)
{
  static const char *const text =
      "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n"
      "$Nodes\n6\n1 0 0 0\n2 1 0 0\n3 1 1 0\n4 1 0 0\n5 2 0 0\n6 2 1 0\n$EndNodes\n"
      "$Elements\n2\n1 2 2 7 1 1 2 3\n2 2 2 7 1 4 5 6\n$EndElements\n";
  char path[PATH];
  FemMesh mesh;
  SharedName(ctx, path, "mesh.msh");
  WriteText(ctx, path, text);
  CHECK_ERR(FemMeshGmsh(ctx, path, &mesh), POISE_ERR_FORMAT,
            "line 16: element 2, a tri3, is of another body than that of line 15");
  FemMeshFree(&mesh);
  RemoveFile(ctx, path);
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
      CHECK_ERR(FemMeshGroup(&mesh, mesh.dim - 1, "middle", &group), POISE_ERR_ARG, "it has: foot (1)");
      Boundary(&mesh, 0, sums);
      CHECK_NEAR(sums[0], 1, 1e-15);
      CHECK_NEAR(sums[3], -1, 1e-15);
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
      {2, "3 1 1 0\n", "3 1 1 0.5\n", "is not in the plane z = 0"},
      {2, "4 0 1 0\n", "4 1 1 0\n", "line 23: element 5, a tri3, is inverted or flat"},
      {2, "4 0 1 0\n", "4 0.9 0.1 0\n",
       "line 23: element 5, a tri3, overlaps that of line 22: one of them is inverted"},
      {2, "$Elements\n5\n1 15 2 9 1 1\n", "$Elements\n5\n1 2 2 7 1 1 3 2\n", "is given again"},
      {2, "$Nodes\n4\n1 0 0 0\n", "$Nodes\n5\n1 0 0 0\n5 -1 2 0\n", NULL}, /* a node that no cell has */
      {2, "4 2 2 7 1 1 2 3", "4 2 2 7 1 1 2 9", "line 22: there is no node 9"},
      {2, "4 2 2 7 1 1 2 3", "4 2 2 7 1 1 2 1", "line 22: node 1 is twice in the element"},
      {2, "4 2 2 7 1 1 2 3", "4 2 2 7 1 1 2", "line 22: the line ends where the number of a node should be"},
      {2, "4 2 2 7 1 1 2 3", "4 99 2 7 1 1 2 3", "line 22: elements of type 99 are not read"},
      {2, "4 2 2 7 1 1 2 3", "4 6 2 7 1 1 2 3 4 1 2", "line 22: elements of type 6 are not read"},
      {2, "4 2 2 7 1 1 2 3", "4 2 2 7 1 1 3 4",
       "line 23: element 5, a tri3, is given again, first in line 22"},
      {2, "4 2 2 7 1 1 2 3", "4 3 2 7 1 1 2 3 4", "line 23: element 5, a tri3, does not fit"},
      {2, "4 2 2 7 1 1 2 3", "4 2 1000001 7 1 1 2 3", "1000001 cannot be the number of tags"},
      {2, "2 1 2 1 1 1 2", "2 1 2 1 1 2 4", "line 20: element 2, a line, belongs to no cell"},
      {2, "3 1 2 2 1 1 3", "3 1 2 1 1 1 3", "line 21: element 3, a line, lies between two cells"},
      {2, "3 1 2 2 1 1 3", "3 1 2 2 1 1 2", "line 21: element 3, a line, is given again, first in line 20"},
      {2, "4 2 2 7 1 1 2 3", "4 2 2 7 99999999999999999999 1 2 3",
       "line 22: 99999999999999999999 cannot be a tag"},
      {4, "1 0 0 0 1 1 0 1 7 0", "1 0 0 0 1 1 0 2 7 8 0", "is in more than one physical group"},
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
      } else if (!CHECK_ERR(err, err == POISE_ERR_NUMERIC ? err : POISE_ERR_FORMAT, cases[c].words)) {
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
    CHECK(err == POISE_OK || err == POISE_ERR_FORMAT || err == POISE_ERR_NUMERIC);
    if (err == POISE_OK) CheckNumbers(&mesh);
    FemMeshFree(&mesh);
    RemoveFile(ctx, path);
  }
}

static const Test tests[] = {
    {"bracket", TestBracket, TEST_HOST_ONLY},      {"kinds", TestKinds, TEST_HOST_ONLY},
    {"folded", TestFolded, TEST_HOST_ONLY},        {"inverted", TestInverted, TEST_HOST_ONLY},
    {"two_bodies", TestTwoBodies, TEST_HOST_ONLY}, {"small", TestSmall, TEST_HOST_ONLY},
    {"wrong", TestWrong, TEST_HOST_ONLY},          {"cut_off", TestCutOff, TEST_HOST_ONLY | TEST_SERIAL},
    {"spoilt", TestSpoilt, TEST_HOST_ONLY},        {NULL, NULL, 0}};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "gmsh", tests);
}
