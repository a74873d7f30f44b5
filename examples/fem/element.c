/* SPDX-License-Identifier: BSD-3-Clause */
#include "cells.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

int FemOrder(FemCell cell)
{
  return cell == FEM_TRI6 || cell == FEM_TET10 ? 2 : 1;
}

static int IsSimplex(FemCell cell)
{
  return cell != FEM_QUAD4 && cell != FEM_HEX8;
}

void FemEdge(int edge, int *a, int *b)
{
  static const int ends[6][2] = {{0, 1}, {1, 2}, {2, 0}, {0, 3}, {1, 3}, {2, 3}};
  *a = ends[edge][0];
  *b = ends[edge][1];
}

/* ---- shape functions ------------------------------------------------------------------------- */

/* Barycentric coordinates L_0 = 1 - s_1 - ... and L_k = s_k. P1: N_k = L_k. P2: L_k (2 L_k - 1), and 4 L_a
   L_b of an edge ab. */
static void Simplex(int dim, int order, const double s[3], double *N, double dN[][3])
{
  static const int edges[4] = {0, 1, 3, 6};
  double L[4] = {1, 0, 0, 0}, dL[4][3] = {{0}};
  for (int d = 0; d < dim; d++) {
    L[0] -= s[d];
    L[d + 1] = s[d];
    dL[0][d] = -1;
    dL[d + 1][d] = 1;
  }
  for (int k = 0; k <= dim; k++) {
    N[k] = order == 1 ? L[k] : L[k] * (2 * L[k] - 1);
    for (int d = 0; d < dim; d++) dN[k][d] = order == 1 ? dL[k][d] : (4 * L[k] - 1) * dL[k][d];
  }
  for (int e = 0; order == 2 && e < edges[dim]; e++) {
    int a, b, k = dim + 1 + e;
    FemEdge(e, &a, &b);
    N[k] = 4 * L[a] * L[b];
    for (int d = 0; d < dim; d++) dN[k][d] = 4 * (L[a] * dL[b][d] + dL[a][d] * L[b]);
  }
}

static const int upper[8][3] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}, /* corners of a cube */
                                {0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}};

/* Q1 on [0, 1]^dim: products of s_d or 1 - s_d. */
static void Cube(int dim, const double s[3], double *N, double dN[][3])
{
  for (int k = 0; k < 1 << dim; k++) {
    N[k] = 1;
    for (int d = 0; d < dim; d++) N[k] *= upper[k][d] ? s[d] : 1 - s[d];
    for (int d = 0; d < dim; d++) {
      dN[k][d] = upper[k][d] ? 1 : -1;
      for (int c = 0; c < dim; c++) {
        if (c != d) dN[k][d] *= upper[k][c] ? s[c] : 1 - s[c];
      }
    }
  }
}

/* ---- integration points ---------------------------------------------------------------------- */

typedef struct Rule {
  int points;
  double s[FEM_MAX_POINTS][3], w[FEM_MAX_POINTS]; /* weights add up to the volume of the reference cell */
} Rule;

/* Gauss: degree 3 with 2 points in each direction, degree 5 with 3. */
static void CubeRule(int dim, int degree, Rule *rule)
{
  const double two = 0.5 / sqrt(3.0), three = 0.5 * sqrt(0.6);
  const double s2[] = {0.5 - two, 0.5 + two}, w2[] = {0.5, 0.5};
  const double s3[] = {0.5 - three, 0.5, 0.5 + three}, w3[] = {5.0 / 18, 8.0 / 18, 5.0 / 18};
  const int n = degree <= 3 ? 2 : 3;
  const double *s = n == 2 ? s2 : s3, *w = n == 2 ? w2 : w3;
  rule->points = n * (dim > 1 ? n : 1) * (dim > 2 ? n : 1);
  for (int q = 0; q < rule->points; q++) {
    rule->w[q] = 1;
    for (int d = 0, rest = q; d < dim; d++, rest /= n) {
      rule->s[q][d] = s[rest % n];
      rule->w[q] *= w[rest % n];
    }
  }
}

/* Degree 5 in a cube with 14 points, of 27 (Hammer and Stroud, 1958): the middles of its sides and its
   corners, moved inwards. */
static void CubeRule5(Rule *rule)
{
  const double side = 0.5 * sqrt(19.0 / 30), corner = 0.5 * sqrt(19.0 / 33);
  rule->points = 14;
  for (int q = 0; q < 14; q++) {
    rule->w[q] = (q < 6 ? 320.0 : 121.0) / (8 * 361);
    for (int d = 0; d < 3; d++) {
      const int sign = q < 6 ? (d == q / 2) * (q % 2 ? 1 : -1) : (q - 6) >> d & 1 ? 1 : -1;
      rule->s[q][d] = 0.5 + sign * (q < 6 ? side : corner);
    }
  }
}

/* All points whose barycentric coordinates are a but for the last one, and what that leaves; each of weight
   w. */
static void Orbit(int dim, double a, double w, Rule *rule)
{
  for (int k = 0; k <= dim; k++) {
    for (int d = 0; d < dim; d++) rule->s[rule->points][d] = k == d + 1 ? 1 - dim * a : a;
    rule->w[rule->points++] = w;
  }
}

/* Points whose barycentric coordinates in a tetrahedron are a, a, b, b with 2 a + 2 b = 1. */
static void EdgeOrbit(double a, double w, Rule *rule)
{
  for (int e = 0; e < 6; e++) {
    int from, to;
    FemEdge(e, &from, &to);
    for (int d = 0; d < 3; d++) rule->s[rule->points][d] = d + 1 == from || d + 1 == to ? 0.5 - a : a;
    rule->w[rule->points++] = w;
  }
}

/* Degree 2: 3 points in a triangle, 4 in a tetrahedron. Degree 5: Radon's 7, Walkington's 14. */
static void SimplexRule(int dim, int degree, Rule *rule)
{
  const double root = sqrt(15.0);
  rule->points = 0;
  if (degree <= 2) {
    Orbit(dim, dim == 2 ? 1.0 / 6 : (5 - sqrt(5.0)) / 20, dim == 2 ? 1.0 / 6 : 1.0 / 24, rule);
  } else if (dim == 2) {
    Orbit(2, (6 - root) / 21, (155 - root) / 2400, rule);
    Orbit(2, (6 + root) / 21, (155 + root) / 2400, rule);
    rule->s[6][0] = rule->s[6][1] = 1.0 / 3;
    rule->w[rule->points++] = 9.0 / 80;
  } else {
    Orbit(3, 0.31088591926330060980, 0.11268792571801585080 / 6, rule);
    Orbit(3, 0.092735250310891226402, 0.073493043116361949544 / 6, rule);
    EdgeOrbit(0.045503704125649649492, 0.042546020777081466438 / 6, rule);
  }
}

/* The last point also fills up the last pack. */
static void FillPacks(FemReference *r)
{
  r->packs = (r->points + FEM_LANES - 1) / FEM_LANES;
  for (int k = 0; k < r->packs * FEM_LANES; k++) {
    const int q = k < r->points ? k : r->points - 1;
    for (int a = 0; a < r->nodes; a++) {
      r->pack[k / FEM_LANES][0][a][k % FEM_LANES] = r->N[q][a];
      for (int d = 0; d < r->dim; d++) r->pack[k / FEM_LANES][1 + d][a][k % FEM_LANES] = r->dN[q][a][d];
    }
  }
}

static void AtPoints(int simplex, int dim, int order, const Rule *rule, FemReference *r)
{
  static const int edges[4] = {0, 1, 3, 6};
  r->dim = dim;
  r->points = rule->points;
  r->nodes = simplex ? dim + 1 + (order == 2 ? edges[dim] : 0) : 1 << dim;
  for (int q = 0; q < rule->points; q++) {
    r->w[q] = rule->w[q];
    if (simplex)
      Simplex(dim, order, rule->s[q], r->N[q], r->dN[q]);
    else
      Cube(dim, rule->s[q], r->N[q], r->dN[q]);
  }
  FillPacks(r);
}

static void Reference(int simplex, int dim, int order, int degree, FemReference *r)
{
  Rule rule;
  if (simplex && dim > 1)
    SimplexRule(dim, degree, &rule);
  else if (dim == 3 && degree == 5)
    CubeRule5(&rule);
  else
    CubeRule(dim, degree, &rule);
  AtPoints(simplex, dim, order, &rule, r);
}

void FemReferenceCell(FemCell cell, int fine, FemReference *reference)
{
  int order = FemOrder(cell);
  Reference(IsSimplex(cell), FemCellInfoOf(cell)->dim, order, fine || order == 2 ? 5 : 2, reference);
}

void FemReferenceNodes(FemCell cell, FemReference *reference)
{
  const FemCellInfo *info = FemCellInfoOf(cell);
  Rule rule = {.points = info->nodes};
  for (int k = 0; k < info->nodes; k++) {
    int a = k, b = k; /* a corner; else the middle between two */
    if (k >= info->corners) FemEdge(k - info->corners, &a, &b);
    for (int d = 0; d < info->dim; d++) {
      rule.s[k][d] =
          IsSimplex(cell) ? 0.5 * ((a == d + 1) + (b == d + 1)) : 0.5 * (upper[a][d] + upper[b][d]);
    }
  }
  AtPoints(IsSimplex(cell), info->dim, FemOrder(cell), &rule, reference);
}

void FemReferenceFacet(FemCell cell, FemReference *reference)
{
  int order = FemOrder(cell);
  Reference(IsSimplex(cell), FemCellInfoOf(cell)->dim - 1, order, order == 2 ? 5 : 2, reference);
}

/* ---- cells and facets in space --------------------------------------------------------------- */

double FemRing(double radius)
{
  return 2 * 3.14159265358979323846 * radius;
}

static void Begin(const FemMesh *mesh, int nodes, const PoiseInt *node, PoiseInt e, FemPoint *p)
{
  p->dim = mesh->dim;
  p->nodes = nodes;
  p->revolved = mesh->revolved;
  p->element = e;
  p->node = node;
  p->of = NULL;
  for (int k = 0; k < nodes; k++) {
    memcpy(p->corner[k], mesh->x + 3 * node[k], 3 * sizeof(double));
    p->corner[k][3] = 0;
  }
}

void FemFacetBegin(const FemMesh *mesh, const FemReference *reference, PoiseInt e, FemPoint *p)
{
  Begin(mesh, reference->nodes, mesh->facetNodes + e * reference->nodes, e, p);
}

/* x at a point of a facet. */
static void Place(const FemReference *r, int q, FemPoint *p)
{
  double x[3] = {0};
  p->N = r->N[q];
  for (int k = 0; k < r->nodes; k++) {
    for (int c = 0; c < 3; c++) x[c] += r->N[q][k] * p->corner[k][c];
  }
  memcpy(p->x, x, sizeof x);
}

/* Some points of a pack: a vector of GNU C that has a register. */
#ifdef __AVX__
enum { SOME = 4 };
#else
enum { SOME = 2 };
#endif
typedef double Some __attribute__((vector_size(SOME * sizeof(double)), aligned(8), may_alias));

/* Sums over the nodes at the points of a pack. Columns are known to the compiler, and sums in registers. */
FEM_INLINE void Sums(int nodes, int columns, const double N[][FEM_LANES], double node[][4],
                     double to[][FEM_LANES])
{
  Some sum[4][FEM_LANES / SOME] = {{{0}}};
  for (int k = 0; k < nodes; k++)
    for (int c = 0; c < columns; c++)
      for (int l = 0; l < FEM_LANES / SOME; l++) sum[c][l] += ((const Some *)N[k])[l] * node[k][c];
  for (int c = 0; c < columns; c++)
    for (int l = 0; l < FEM_LANES / SOME; l++) ((Some *)to[c])[l] = sum[c][l];
}

/* FemCofactors of some points, from l on. */
FEM_INLINE void Invert(FemPack *p, int l)
{
  Some J[3][3], inverse[3][3];
  for (int d = 0; d < 3; d++)
    for (int c = 0; c < 3; c++) J[d][c] = *(const Some *)&p->d[d][c][l];
  for (int d = 0; d < 3; d++) FEM_CROSS(J[(d + 1) % 3], J[(d + 2) % 3], inverse[d]);
  for (int d = 0; d < 3; d++)
    for (int c = 0; c < 3; c++) *(Some *)&p->inverse[d][c][l] = inverse[d][c];
  *(Some *)&p->det[l] = J[0][0] * inverse[0][0] + J[0][1] * inverse[0][1] + J[0][2] * inverse[0][2];
}

FEM_INLINE int Packs(const FemReference *r, int columns, double node[][4], FemPack *pack)
{
  int good = 1;
  for (int b = 0; b < r->packs; b++) {
    FemPack *p = &pack[b];
    Sums(r->nodes, columns, r->pack[b][0], node, p->x);
    for (int d = 0; d < r->dim; d++) Sums(r->nodes, columns, r->pack[b][1 + d], node, p->d[d]);
    if (r->dim == 2) memset(p->d[2], 0, sizeof p->d[2]);
    for (int l = 0; l < FEM_LANES && r->dim == 2; l++) p->d[2][2][l] = 1;
    for (int l = 0; l < FEM_LANES; l += SOME) Invert(p, l);
    for (int l = 0; l < FEM_LANES; l++) good &= p->det[l] > 0;
  }
  return good;
}

int FemPacks(const FemReference *r, int columns, double node[FEM_MAX_NODES][4], FemPack pack[FEM_MAX_PACKS])
{
  return columns == 3 ? Packs(r, 3, node, pack) : Packs(r, 4, node, pack);
}

static PoiseErr Flat(const FemMesh *mesh, const FemPoint *p, double jacobian)
{
  char nodes[FEM_MAX_NODES * 22] = "";
  for (int k = 0; k < p->nodes; k++) {
    size_t used = strlen(nodes);
    snprintf(nodes + used, sizeof nodes - used, " %" PRId64, mesh->global[p->node[k]]);
  }
  POISE_FAIL(POISE_ERR_NUMERIC,
             "cell %" PRId64 " (%s, nodes%s) near (%g, %g, %g) is inverted or flat: its Jacobian is %g",
             mesh->firstCell + p->element, FemCellInfoOf(mesh->cell)->name, nodes, p->x[0], p->x[1], p->x[2],
             jacobian);
}

static double Jacobian(const FemPoint *p)
{
  return p->of->pack[p->q / FEM_LANES].det[p->q % FEM_LANES];
}

PoiseErr FemCellBegin(const FemMesh *mesh, const FemReference *r, PoiseInt e, FemElement *of, FemPoint *p)
{
  Begin(mesh, r->nodes, mesh->cellNodes + e * r->nodes, e, p);
  p->of = of;
  of->reference = r;
  if (FemPacks(r, 3, p->corner, of->pack)) return POISE_OK;
  for (int q = 0; q < r->points; q++) {
    FemCellPoint(q, p);
    if (!(Jacobian(p) > 0)) break;
  }
  return Flat(mesh, p, Jacobian(p));
}

void FemCellPoint(int q, FemPoint *p)
{
  const FemReference *r = p->of->reference;
  const FemPack *pack = &p->of->pack[q / FEM_LANES];
  const int l = q % FEM_LANES;
  p->q = q;
  p->N = r->N[q];
  p->dV = r->w[q] * pack->det[l];
  for (int c = 0; c < 3; c++) p->x[c] = pack->x[c][l];
  if (p->revolved) p->dV *= FemRing(p->x[0]);
}

const FemVector *FemGrad(const FemPoint *p)
{
  FemElement *of = p->of;
  const FemPack *pack = &of->pack[p->q / FEM_LANES];
  const double *dN = of->reference->dN[p->q][0];
  const int l = p->q % FEM_LANES;
  double inverse[3][3];
  for (int d = 0; d < 3; d++)
    for (int c = 0; c < 3; c++) inverse[d][c] = pack->inverse[d][c][l];
  /* the compiler unrolls loops over a known dimension */
  if (p->dim == 3)
    FemGradientsBy(3, p->nodes, pack->det[l], inverse, dN, of->grad[0]);
  else
    FemGradientsBy(2, p->nodes, pack->det[l], inverse, dN, of->grad[0]);
  return (const FemVector *)of->grad;
}

PoiseErr FemInverted(const FemMesh *mesh, const FemReference *r, PoiseInt e)
{
  FemElement element;
  FemPoint p;
  POISE_TRY(FemCellBegin(mesh, r, e, &element, &p));
  POISE_FAIL(POISE_ERR_NUMERIC, "cell %" PRId64 " is flat to rounding", mesh->firstCell + e);
}

void FemFacetPoint(const FemReference *r, int q, FemPoint *p)
{
  double J[2][3] = {{0}}; /* J[d][c] = d x_c / d s_d */
  Place(r, q, p);
  for (int k = 0; k < r->nodes; k++) {
    for (int d = 0; d < r->dim; d++) {
      for (int c = 0; c < p->dim; c++) J[d][c] += r->dN[q][k][d] * p->corner[k][c];
    }
  }
  if (p->dim == 2) J[1][2] = 1; /* t x z is t turned clockwise */
  FEM_CROSS(J[0], J[1], p->normal);
  double area = sqrt(p->normal[0] * p->normal[0] + p->normal[1] * p->normal[1] + p->normal[2] * p->normal[2]);
  for (int c = 0; c < 3; c++) p->normal[c] /= area;
  p->dV = r->w[q] * area;
  if (p->revolved) p->dV *= FemRing(p->x[0]);
}
