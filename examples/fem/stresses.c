/* SPDX-License-Identifier: BSD-3-Clause */
#include "stresses.h"
#include <stdlib.h>

enum { WITH_WEIGHT = FEM_STRESS + 1 };

typedef struct Finding {
  const FemElastic *elastic;
  const double *u;
  double *cell, *mises, *volume;
  int region;      /* of which averages are made; -1: of all */
  double *average; /* [nodes][WITH_WEIGHT] stress, and the sum of weights, 0 where no cell of the region is */
} Finding;

static void Flat(double sigma[3][3], double flat[FEM_STRESS])
{
  for (int i = 0; i < 3; i++) {
    flat[i] = sigma[i][i];
    flat[3 + i] = sigma[i == 2 ? 0 : i][i == 0 ? 1 : 2];
  }
}

static double MisesOf(const double s[FEM_STRESS])
{
  double sigma[3][3] = {{s[0], s[3], s[5]}, {s[3], s[1], s[4]}, {s[5], s[4], s[2]}};
  return FemMises(sigma);
}

static void AddToCell(const FemPoint *p, void *arg, double *sums)
{
  const Finding *of = arg;
  const double dV = p->dV;
  double sigma[3][3], flat[FEM_STRESS];
  sums[0] += dV * FemElasticStress(of->elastic, p, of->u, sigma);
  Flat(sigma, flat);
  for (int i = 0; i < FEM_STRESS; i++) of->cell[FEM_STRESS * p->element + i] += dV * flat[i];
  of->mises[p->element] += dV * FemMises(sigma);
  of->volume[p->element] += dV;
}

/* Does the mean stress (sigma_xx + sigma_yy + sigma_zz) / 3 swing inside the cell? */
static int Swings(const FemElastic *elastic, PoiseInt cell)
{
  const double *law = elastic->law + 3 * cell, ratio = 2 * FEM_LOCKING / (1 - 2 * FEM_LOCKING);
  return FemOrder(elastic->mesh->cell) == 2 && elastic->kind != FEM_PLANE_STRESS && law[0] >= ratio * law[1];
}

/* The stress of a point for nodes. Returns its volume. */
static double PointStress(const Finding *of, const FemPoint *p, double flat[FEM_STRESS])
{
  double sigma[3][3];
  FemElasticStress(of->elastic, p, of->u, sigma);
  Flat(sigma, flat);
  if (Swings(of->elastic, p->element)) {
    const double *mean = of->cell + FEM_STRESS * p->element;
    const double change = (mean[0] + mean[1] + mean[2] - flat[0] - flat[1] - flat[2]) / 3;
    for (int i = 0; i < 3; i++) flat[i] += change;
  }
  return p->dV;
}

/* F of each node: the sum of weights times stress, and the sum of weights */
static void AddToNodes(const FemPoint *p, void *arg, double *K, double *F)
{
  const Finding *of = arg;
  double flat[WITH_WEIGHT];
  (void)K;
  if (of->region >= 0 && of->elastic->region[p->element] != of->region) return;
  const double dV = PointStress(of, p, flat);
  flat[FEM_STRESS] = 1;
  for (int a = 0; a < p->nodes; a++) {
    for (int i = 0; i < WITH_WEIGHT; i++) F[WITH_WEIGHT * a + i] += dV * p->N[a] * p->N[a] * flat[i];
  }
}

/* sums: |interpolated - in cells|^2, |in cells|^2 */
static void AddJumps(const FemPoint *p, void *arg, double *sums)
{
  const Finding *of = arg;
  double flat[FEM_STRESS];
  if (of->region >= 0 && of->elastic->region[p->element] != of->region) return;
  const double weight = PointStress(of, p, flat) / of->elastic->law[3 * p->element + 1];
  for (int i = 0; i < FEM_STRESS; i++) {
    const double times = i < 3 ? weight : 2 * weight; /* xy is yx */
    double jump = -flat[i];
    for (int a = 0; a < p->nodes; a++) jump += p->N[a] * of->average[WITH_WEIGHT * p->node[a] + i];
    sums[0] += times * jump * jump;
    sums[1] += times * flat[i] * flat[i];
  }
}

static PoiseErr FindCells(Finding *of, FemStresses *s)
{
  const FemMesh *mesh = of->elastic->mesh;
  PoiseErr err = FemAlloc(mesh->cells, sizeof *of->volume, &of->volume);
  if (err == POISE_OK) err = FemAlloc(FEM_STRESS * mesh->cells, sizeof *s->cell, &s->cell);
  if (err == POISE_OK) err = FemAlloc(mesh->cells, sizeof *s->cellMises, &s->cellMises);
  POISE_TRY(PoiseAgree(mesh->ctx, err));
  of->cell = s->cell;
  of->mises = s->cellMises;
  POISE_TRY(FemIntegrateAsMatrix(mesh, AddToCell, of, 1, &s->power));
  for (PoiseInt e = 0; e < mesh->cells; e++) {
    for (int i = 0; i < FEM_STRESS; i++) s->cell[FEM_STRESS * e + i] /= of->volume[e];
    s->cellMises[e] /= of->volume[e];
  }
  return POISE_OK;
}

/* Averages at nodes. sums: work */
static PoiseErr Average(Finding *of, int region, PoiseVec sums)
{
  const FemMesh *mesh = of->elastic->mesh;
  of->region = region;
  free(of->average);
  of->average = NULL;
  POISE_TRY(PoiseVecSet(sums, 0));
  POISE_TRY(FemAssembleVector(mesh, WITH_WEIGHT, AddToNodes, of, sums));
  POISE_TRY(FemGather(mesh, WITH_WEIGHT, sums, &of->average));
  for (PoiseInt k = 0; k < mesh->nodes; k++) {
    double *average = of->average + WITH_WEIGHT * k;
    for (int i = 0; i < FEM_STRESS && average[FEM_STRESS] > 0; i++) average[i] /= average[FEM_STRESS];
  }
  return POISE_OK;
}

static PoiseErr FindNodes(Finding *of, PoiseVec sums, FemStresses *s)
{
  const FemMesh *mesh = of->elastic->mesh;
  PoiseErr err = FemAlloc(FEM_STRESS * mesh->nodes, sizeof *s->node, &s->node);
  if (err == POISE_OK) err = FemAlloc(mesh->nodes, sizeof *s->nodeMises, &s->nodeMises);
  POISE_TRY(PoiseAgree(mesh->ctx, err));
  POISE_TRY(Average(of, -1, sums));
  for (PoiseInt k = 0; k < mesh->nodes; k++) {
    for (int i = 0; i < FEM_STRESS; i++) s->node[FEM_STRESS * k + i] = of->average[WITH_WEIGHT * k + i];
    s->nodeMises[k] = MisesOf(s->node + FEM_STRESS * k);
  }
  return POISE_OK;
}

static PoiseErr FindJumps(Finding *of, PoiseVec sums, FemStresses *s)
{
  const FemMesh *mesh = of->elastic->mesh;
  const int regions = of->elastic->regions;
  double squares[2] = {0};
  for (int r = 0; r < regions; r++) {
    double more[2];
    if (regions > 1) POISE_TRY(Average(of, r, sums)); /* else those of all cells */
    POISE_TRY(FemIntegrateAsMatrix(mesh, AddJumps, of, 2, more));
    for (int i = 0; i < 2; i++) squares[i] += more[i];
  }
  s->jumps = squares[1] > 0 ? sqrt(squares[0] / squares[1]) : 0;
  return POISE_OK;
}

PoiseErr FemStressesCreate(const FemElastic *elastic, const double *u, FemStresses *s)
{
  const FemMesh *mesh = elastic->mesh;
  Finding of = {.elastic = elastic, .u = u};
  PoiseVec sums = NULL;
  *s = (FemStresses){0};
  PoiseErr err = FindCells(&of, s);
  if (err == POISE_OK)
    err = PoiseVecCreate(mesh->ctx, WITH_WEIGHT * mesh->owned, WITH_WEIGHT * mesh->allNodes, &sums);
  if (err == POISE_OK) err = FindNodes(&of, sums, s);
  if (err == POISE_OK) err = FindJumps(&of, sums, s);
  free(of.average);
  free(of.volume);
  PoiseVecDestroy(&sums);
  return err;
}

void FemStressesFree(FemStresses *s)
{
  free(s->cell);
  free(s->cellMises);
  free(s->node);
  free(s->nodeMises);
  *s = (FemStresses){0};
}
