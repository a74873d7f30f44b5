/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The elements of examples/fem: one reference cell of each kind.
  - Shape functions are 1 at their own node and 0 at others, and so exact for polynomials.
  - Integration has the degree that it claims.
  - Facets close the cell and face outwards (theorem of Gauss).
  And the names of groups, and the text of options that gives data to them.
*/
#include "../../examples/fem/assemble.h"
#include "../../examples/fem/clauses.h"
#include <stdio.h>
#include <string.h>

static int failures;

static void Expect(FemCell cell, const char *what, double is, double must)
{
  if (fabs(is - must) <= 2e-14) return;
  printf("%s: %s is %.17g, must be %.17g\n", FemCellInfoOf(cell)->name, what, is, must);
  failures++;
}

static double Power(double x, int n)
{
  double p = 1;
  while (n-- > 0) p *= x;
  return p;
}

static double Factorial(int n)
{
  return n > 1 ? n * Factorial(n - 1) : 1;
}

/* Integral of x^i y^j z^k over the reference simplex, or over [0, 1]^dim. */
static double Integral(FemCell cell, const int e[3])
{
  const int dim = FemCellInfoOf(cell)->dim;
  if (cell == FEM_QUAD4 || cell == FEM_HEX8) return 1.0 / ((e[0] + 1) * (e[1] + 1) * (e[2] + 1));
  return Factorial(e[0]) * Factorial(e[1]) * Factorial(e[2]) / Factorial(e[0] + e[1] + e[2] + dim);
}

/* One cell with all its facets, nodes at `x`, and every facet in group 1. */
static FemMesh OneCell(FemCell cell, double x[FEM_MAX_NODES][3], PoiseInt nodes[FEM_MAX_NODES],
                       PoiseInt facets[6][FEM_MAX_FACET_NODES], int *groups)
{
  const FemCellInfo *info = FemCellInfoOf(cell);
  static const double simplex[4][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  static const double cube[8][3] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0},
                                    {0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}};
  PoiseInt *flat = facets[0];
  memset(x, 0, FEM_MAX_NODES * sizeof *x);
  for (int k = 0; k < info->nodes; k++) {
    int a = k, b = k;
    if (k >= info->corners) FemEdge(k - info->corners, &a, &b);
    const double(*at)[3] = info->corners == info->dim + 1 ? simplex : cube;
    for (int c = 0; c < 3; c++) x[k][c] = 0.5 * (at[a][c] + at[b][c]);
    nodes[k] = k;
  }
  for (int f = 0; f < info->facets; f++) {
    for (int k = 0; k < info->facetNodes; k++) flat[f * info->facetNodes + k] = info->facet[f][k];
    groups[f] = 1;
  }
  return (FemMesh){.cell = cell,
                   .dim = info->dim,
                   .nodes = info->nodes,
                   .x = x[0],
                   .cells = 1,
                   .cellNodes = nodes,
                   .cellGroup = groups,
                   .facets = info->facets,
                   .facetNodes = flat,
                   .facetGroup = groups,
                   .global = nodes};
}

static void CheckIntegrals(FemCell cell, const FemMesh *mesh, int fine, int degree)
{
  FemReference r;
  FemElement element;
  FemPoint p;
  FemReferenceCell(cell, fine, &r);
  for (int i = 0; i <= degree; i++) {
    for (int j = 0; i + j <= degree; j++) {
      for (int k = 0; i + j + k <= degree && (mesh->dim == 3 || k == 0); k++) {
        const int e[3] = {i, j, k};
        double sum = 0;
        if (FemCellBegin(mesh, &r, 0, &element, &p) != POISE_OK) failures++;
        for (int q = 0; q < r.points; q++) {
          FemCellPoint(q, &p);
          sum += p.dV * Power(p.x[0], i) * Power(p.x[1], j) * Power(p.x[2], k);
        }
        Expect(cell, "an integral", sum, Integral(cell, e));
      }
    }
  }
}

/* u_h = u for polynomials of the elements' degree: value and gradient at all points. */
static void CheckShapes(FemCell cell, const FemMesh *mesh)
{
  const int quadratic = FemOrder(cell) == 2;
  FemReference r;
  FemElement element;
  FemPoint p;
  FemReferenceCell(cell, 1, &r);
  if (FemCellBegin(mesh, &r, 0, &element, &p) != POISE_OK) failures++;
  for (int q = 0; q < r.points; q++) {
    FemCellPoint(q, &p);
    const FemVector *grad = FemGrad(&p);
    double u = 0, g[3] = {0}, one = 0;
    for (int a = 0; a < p.nodes; a++) {
      const double *x = p.corner[a];
      double at =
          1 + 2 * x[0] - x[1] + 3 * x[2] + (quadratic ? x[0] * x[1] - x[1] * x[1] + 2 * x[0] * x[2] : 0);
      u += at * p.N[a];
      one += p.N[a];
      for (int c = 0; c < 3; c++) g[c] += at * grad[a][c];
    }
    const double *x = p.x, z = mesh->dim == 3;
    Expect(cell, "the sum of shape functions", one, 1);
    Expect(cell, "u", u,
           1 + 2 * x[0] - x[1] + 3 * x[2] + (quadratic ? x[0] * x[1] - x[1] * x[1] + 2 * x[0] * x[2] : 0));
    Expect(cell, "du/dx", g[0], 2 + (quadratic ? x[1] + 2 * x[2] : 0));
    Expect(cell, "du/dy", g[1], -1 + (quadratic ? x[0] - 2 * x[1] : 0));
    Expect(cell, "du/dz", g[2], z * (3 + (quadratic ? 2 * x[0] : 0)));
  }
}

/* The integral of F . n over the facets is that of div F: F = (x, 2 y, 3 z) and, on quadratic elements, (x y,
   y^2, x z). */
static void CheckFacets(FemCell cell, const FemMesh *mesh)
{
  FemReference r;
  FemPoint p;
  double linear = 0, square = 0, volume = Integral(cell, (int[3]){0, 0, 0});
  FemReferenceFacet(cell, &r);
  for (PoiseInt f = 0; f < mesh->facets; f++) {
    FemFacetBegin(mesh, &r, f, &p);
    for (int q = 0; q < r.points; q++) {
      FemFacetPoint(&r, q, &p);
      const double *x = p.x, *n = p.normal;
      linear += p.dV * (x[0] * n[0] + 2 * x[1] * n[1] + 3 * x[2] * n[2]);
      square += p.dV * (x[0] * x[1] * n[0] + x[1] * x[1] * n[1] + x[0] * x[2] * n[2]);
    }
  }
  Expect(cell, "the flow through the facets", linear, (mesh->dim == 3 ? 6 : 3) * volume);
  Expect(cell, "the quadratic flow through the facets", square,
         3 * Integral(cell, (int[3]){0, 1, 0}) + (mesh->dim == 3 ? Integral(cell, (int[3]){1, 0, 0}) : 0));
}

/* Points at the nodes: shape function k is 1 at point k, where x is that of node k, and 0 at others. */
static void CheckNodes(FemCell cell, const FemMesh *mesh)
{
  FemReference r;
  FemElement element;
  FemPoint p;
  FemReferenceNodes(cell, &r);
  Expect(cell, "the number of nodes", r.points, FemCellInfoOf(cell)->nodes);
  if (FemCellBegin(mesh, &r, 0, &element, &p) != POISE_OK) failures++;
  for (int q = 0; q < r.points; q++) {
    FemCellPoint(q, &p);
    Expect(cell, "the weight of a node", p.dV, 0);
    for (int k = 0; k < r.nodes; k++) Expect(cell, "a shape function at a node", p.N[k], k == q);
    for (int c = 0; c < 3; c++) Expect(cell, "a coordinate of a node", p.x[c], mesh->x[3 * q + c]);
  }
}

static void ExpectTrue(const char *what, int is)
{
  if (is) return;
  printf("groups: %s\n", what);
  failures++;
}

/* ---- names of groups ------------------------------------------------------------------------- */

/* Group 2 has the number of a group as its name; 6 and 7 have those of groups without names. 9 is inside. */
static FemGroup numbered[] = {{1, 1, "foot"}, {1, 2, "1"}, {1, 3, "3"}, {1, 5, "5"},   {1, 6, "5"},
                              {1, 7, "8"},    {1, 8, "8"}, {2, 1, "1"}, {1, 9, "seam"}};
static const FemMesh odd = {.dim = 2, .groups = 8, .inside = 1, .group = numbered};

static void Named(int dim, const char *name, int must, const char *words)
{
  int number = 0;
  const PoiseErr err = FemMeshGroup(&odd, dim, name, &number);
  if (must != 0 ? err == POISE_OK && number == must
                : err == POISE_ERR_ARG && strstr(PoiseErrorMessage(), words) != NULL)
    return;
  printf("group '%s': error %d, '%s', number %d, must be %d\n", name, err, PoiseErrorMessage(), number, must);
  failures++;
}

static void CheckNames(void)
{
  Named(1, "foot", 1, "");
  Named(1, "2", 2, "");
  Named(1, "3", 3, ""); /* both the name and the number of this one */
  Named(1, "7", 7, "");
  Named(1, "1", 0, "'1' is ambiguous: the name of group 2 and the number of group 'foot'; \"1\" in quotes");
  Named(1, "\"1\"", 2, "");
  Named(1, "5", 0, "'5' is ambiguous: the name of group 6 and the number of group '5'");
  Named(1, "\"5\"", 6, "");
  Named(1, "8", 0, "'8' is ambiguous: the name of group 7 and the number of group '8'");
  Named(1, "\"8\"", 7, "");
  Named(2, "1", 1, ""); /* of the other dimension there is one */
  Named(1, "\"2\"", 0, "no group '\"2\"'");
  Named(1, "\"", 0, "no group '\"'");
  Named(1, "", 0, "no group ''; it has: foot (1), 1 (2), 3 (3), 5 (5), 5 (6), 8 (7), 8 (8)");
  ExpectTrue("a group inside is among those of the boundary", strstr(PoiseErrorMessage(), "seam") == NULL);
  Named(1, "seam", 0, "group 'seam' lies inside the body");
  Named(1, "9", 0, "group '9' lies inside the body");
  Named(2, "seam", 0, "the body has no group 'seam'; it has: 1 (1)");
}

/* ---- data of groups -------------------------------------------------------------------------- */

static FemGroup named[] = {{2, 1, "steel"}, {2, 2, "a rubber"}, {2, 7, "foam"}, {1, 3, "top"}};
static const FemMesh grouped = {.dim = 2, .groups = 4, .group = named};
static const FemKey keys[] = {{"E", 0, 0, 1e12}, {"nu", 0, 0, 0.5}, {"force", 1, -1e9, 1e9}, {0}};

/* This text is refused with these words. */
static void Refused(const char *text, PoiseErr code, const char *words)
{
  FemClauses c = {0};
  const PoiseErr err = FemReadClauses(&grouped, 2, "material", text, keys, 1, &c);
  if (err != code || strstr(PoiseErrorMessage(), words) == NULL) {
    printf("'%s': error %d, '%s', must be %d, '%s'\n", text, err, PoiseErrorMessage(), code, words);
    failures++;
  }
  FemClausesFree(&c);
}

static void CheckClauses(void)
{
  FemClauses c = {0};
  ExpectTrue("no text",
             FemReadClauses(&grouped, 2, "material", " ", keys, 1, &c) == POISE_OK && c.count == 0);
  ExpectTrue("text", FemReadClauses(&grouped, 2, "material",
                                    " steel , a rubber:E=2e9 ,nu = 0.3;7 : force = 1.5   -2 ", keys, 1,
                                    &c) == POISE_OK);
  const FemClause *steel = FemClauseOf(&c, 1), *foam = FemClauseOf(&c, 7);
  ExpectTrue("groups", c.count == 2 && steel == &c.clause[0] && FemClauseOf(&c, 2) == steel &&
                           foam == &c.clause[1] && FemClauseOf(&c, 3) == NULL);
  ExpectTrue("keys", c.count == 2 && steel->given[0] && steel->given[1] && !steel->given[2] &&
                         !foam->given[0] && foam->given[2]);
  ExpectTrue("numbers", c.count == 2 && steel->value[0][0] == 2e9 && steel->value[1][0] == 0.3 &&
                            foam->value[2][0] == 1.5 && foam->value[2][1] == -2 && foam->value[2][2] == 0);
  FemClausesFree(&c);
  ExpectTrue("names alone", FemReadClauses(&grouped, 1, "fixed", "top", keys, 1, &c) == POISE_OK &&
                                c.count == 1 && c.clause[0].group[0] == 3);
  FemClausesFree(&c);
  Refused("wood: E = 1", POISE_ERR_ARG, "no group 'wood'");
  Refused("steel,: E = 1", POISE_ERR_OPTION, "a name of a group is missing");
  Refused("steel;", POISE_ERR_OPTION, "a name of a group is missing");
  Refused("steel: G = 1", POISE_ERR_OPTION, "no 'G' in 'steel: G = 1'; there is: E, nu, force");
  Refused("steel:", POISE_ERR_OPTION, "there is no ''");
  Refused("steel: E = 1, E = 1", POISE_ERR_OPTION, "E is twice");
  Refused("steel: E = 1x", POISE_ERR_OPTION, "'1x' of E in 'steel: E = 1x' is no number");
  Refused("steel: E = nan", POISE_ERR_OPTION, "is no number");
  Refused("steel: E", POISE_ERR_OPTION, "has 0 numbers, must have 1");
  Refused("steel: force = 1", POISE_ERR_OPTION, "has 1 numbers, must have 2");
  Refused("steel: force = 1 2 3", POISE_ERR_OPTION, "has 3 numbers, must have 2");
  Refused("steel: nu = 0.6", POISE_ERR_OPTION, "nu = 0.6 in 'steel: nu = 0.6' is not between 0 and 0.5");
  Refused("steel: E = 1; foam, steel: E = 2", POISE_ERR_OPTION, "group 1 is twice");
  Refused("foam, foam: E = 2", POISE_ERR_OPTION, "group 7 is twice");
}

int main(void)
{
  CheckClauses();
  CheckNames();
  for (int kind = 0; kind < FEM_CELLS; kind++) {
    const FemCell cell = (FemCell)kind;
    double x[FEM_MAX_NODES][3];
    PoiseInt nodes[FEM_MAX_NODES], facets[6][FEM_MAX_FACET_NODES];
    int groups[6] = {1, 1, 1, 1, 1, 1};
    FemMesh mesh = OneCell(cell, x, nodes, facets, groups);
    CheckIntegrals(cell, &mesh, 0, FemOrder(cell) == 2 ? 5 : 2);
    CheckIntegrals(cell, &mesh, 1, 5);
    CheckShapes(cell, &mesh);
    CheckFacets(cell, &mesh);
    CheckNodes(cell, &mesh);
    nodes[0] = 1; /* two corners change places: the cell is inside out */
    nodes[1] = 0;
    FemReference r;
    FemElement element;
    FemPoint p;
    FemReferenceCell(cell, 0, &r);
    if (FemCellBegin(&mesh, &r, 0, &element, &p) != POISE_ERR_NUMERIC ||
        strstr(PoiseErrorMessage(), "cell 0 (") == NULL) {
      printf("%s: a cell that is inside out is not refused\n", FemCellInfoOf(cell)->name);
      failures++;
    }
  }
  if (failures > 0) printf("%d checks failed\n", failures);
  return failures > 0;
}
