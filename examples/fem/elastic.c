/* SPDX-License-Identifier: BSD-3-Clause */
#include "elastic.h"
#include <stdlib.h>

PoiseErr FemElasticCreate(const FemMesh *mesh, FemSolid kind, FemElastic *elastic)
{
  *elastic = (FemElastic){.mesh = mesh, .kind = kind, .regions = 1};
  POISE_TRY(FemAlloc(mesh->cells, sizeof *elastic->region, &elastic->region));
  return FemAlloc(3 * mesh->cells, sizeof *elastic->law, &elastic->law);
}

void FemElasticFree(FemElastic *elastic)
{
  free(elastic->law);
  free(elastic->dilation);
  free(elastic->region);
  *elastic = (FemElastic){0};
}

void FemElasticLaw(FemElastic *elastic, PoiseInt cell, double young, double nu)
{
  const FemCell type = elastic->mesh->cell;
  double *law = elastic->law + 3 * cell, lambda = young * nu / ((1 + nu) * (1 - 2 * nu)),
         mu = young / (2 * (1 + nu));
  const int locks = nu >= FEM_LOCKING && (type == FEM_HEX8 || type == FEM_QUAD4);
  law[0] = elastic->kind == FEM_PLANE_STRESS ? 2 * mu * lambda / (lambda + 2 * mu) : lambda;
  law[1] = mu;
  law[2] = 0;
  if (!locks || elastic->kind == FEM_PLANE_STRESS) return;
  law[0] = -2 * mu / 3;
  law[2] = lambda + 2 * mu / 3;
}

/* eps_zz of a unit of the radial displacement of node a, which widens the ring through the point. */
static double Hoop(FemSolid kind, const FemPoint *p, int a)
{
  return kind == FEM_AXISYMMETRIC ? p->N[a] / p->x[0] : 0;
}

/* theta of a unit of each unknown of node a */
static void Dilation(FemSolid kind, const FemPoint *p, const FemVector *grad, int a, double theta[3])
{
  for (int i = 0; i < 3; i++) theta[i] = grad[a][i];
  theta[0] += Hoop(kind, p, a);
}

/* ---- means over cells ------------------------------------------------------------------------ */

typedef struct Means {
  FemElastic *elastic;
  double *volume; /* [cells] */
} Means;

static void AddMean(const FemPoint *p, void *arg, double *sums)
{
  const Means *of = arg;
  const FemSolid kind = of->elastic->kind;
  const double dV = p->dV;
  const FemVector *grad = FemGrad(p);
  double *mean = of->elastic->dilation + p->element * p->nodes * p->dim;
  (void)sums;
  for (int a = 0; a < p->nodes; a++) {
    double theta[3];
    Dilation(kind, p, grad, a, theta);
    for (int i = 0; i < p->dim; i++) mean[a * p->dim + i] += dV * theta[i];
  }
  of->volume[p->element] += dV;
}

PoiseErr FemElasticPrepare(FemElastic *elastic)
{
  const FemMesh *mesh = elastic->mesh;
  const int n = FemCellInfoOf(mesh->cell)->nodes * mesh->dim;
  double needed = 0;
  Means means = {elastic, NULL};
#pragma omp parallel for reduction(max : needed)
  for (PoiseInt e = 0; e < mesh->cells; e++) needed = fmax(needed, elastic->law[3 * e + 2] != 0);
  POISE_TRY(PoiseMax(mesh->ctx, 1, &needed));
  if (needed == 0) return POISE_OK;
  PoiseErr err = FemAlloc(mesh->cells * n, sizeof *elastic->dilation, &elastic->dilation);
  if (err == POISE_OK) err = FemAlloc(mesh->cells, sizeof *means.volume, &means.volume);
  err = PoiseAgree(mesh->ctx, err);
  if (err == POISE_OK) err = FemIntegrateAsMatrix(mesh, AddMean, &means, 0, NULL);
  const PoiseInt found = err == POISE_OK ? mesh->cells : 0;
#pragma omp parallel for
  for (PoiseInt e = 0; e < found; e++)
    for (int k = 0; k < n; k++) elastic->dilation[e * n + k] /= means.volume[e];
  free(means.volume);
  return err;
}

/* ---- a point --------------------------------------------------------------------------------- */

void FemElasticForm(const FemPoint *p, void *arg, double *K, double *F)
{
  const FemElastic *elastic = arg;
  const int dim = p->dim, n = dim * p->nodes;
  const double *law = elastic->law + 3 * p->element, dV = p->dV;
  const double lambda = law[0] * dV, mu = law[1] * dV, kappa = law[2] * dV;
  const double *mean = kappa == 0 ? NULL : elastic->dilation + p->element * n;
  const FemVector *grad = FemGrad(p);
  (void)F;
  for (int a = 0; a < p->nodes; a++) {
    double theta[3];
    Dilation(elastic->kind, p, grad, a, theta);
    for (int b = 0; b < p->nodes; b++) {
      const double *g = grad[a], *h = grad[b];
      const double dot = mu * (g[0] * h[0] + g[1] * h[1] + g[2] * h[2]);
      const double hoop = Hoop(elastic->kind, p, a) * Hoop(elastic->kind, p, b);
      double other[3];
      Dilation(elastic->kind, p, grad, b, other);
      for (int i = 0; i < dim; i++) {
        for (int j = 0; j < dim; j++) {
          double *entry = &K[(dim * a + i) * n + dim * b + j];
          *entry += lambda * theta[i] * other[j] + mu * g[j] * h[i] + (i == j ? dot : 0);
          if (mean != NULL) *entry += kappa * mean[dim * a + i] * mean[dim * b + j];
        }
      }
      K[dim * a * n + dim * b] += 2 * mu * hoop;
    }
  }
}

double FemElasticStress(const FemElastic *elastic, const FemPoint *p, const double *u, double sigma[3][3])
{
  const int dim = p->dim;
  const double *law = elastic->law + 3 * p->element;
  const FemVector *grad = FemGrad(p);
  double d[3][3] = {{0}}, mean = 0, product = 0;
  for (int a = 0; a < p->nodes; a++) {
    const double *v = u + dim * p->node[a];
    for (int i = 0; i < dim; i++) {
      for (int j = 0; j < dim; j++) d[i][j] += v[i] * grad[a][j];
      if (law[2] != 0) mean += elastic->dilation[(p->element * p->nodes + a) * dim + i] * v[i];
    }
    d[2][2] += Hoop(elastic->kind, p, a) * v[0];
  }
  const double pressure = law[0] * (d[0][0] + d[1][1] + d[2][2]) + law[2] * mean;
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j < 3; j++) {
      sigma[i][j] = law[1] * (d[i][j] + d[j][i]) + (i == j ? pressure : 0);
      if (i == 2 && elastic->kind == FEM_PLANE_STRESS) sigma[i][j] = 0;
      product += sigma[i][j] * d[i][j];
    }
  }
  return product;
}

void FemElasticForces(const FemElastic *elastic, const FemPoint *p, double sigma[3][3], double *F)
{
  const double dV = p->dV;
  const FemVector *grad = FemGrad(p);
  for (int a = 0; a < p->nodes; a++) {
    for (int i = 0; i < p->dim; i++) {
      for (int j = 0; j < p->dim; j++) F[p->dim * a + i] += dV * sigma[i][j] * grad[a][j];
    }
    F[p->dim * a] += dV * sigma[2][2] * Hoop(elastic->kind, p, a);
  }
}

double FemMises(double sigma[3][3])
{
  const double mean = (sigma[0][0] + sigma[1][1] + sigma[2][2]) / 3;
  double square = 0;
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j < 3; j++)
      square += (sigma[i][j] - (i == j ? mean : 0)) * (sigma[i][j] - (i == j ? mean : 0));
  }
  return sqrt(1.5 * square);
}
