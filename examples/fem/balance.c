/* SPDX-License-Identifier: BSD-3-Clause */
#include "balance.h"
#include <stdlib.h>

typedef struct Forces {
  const FemElastic *elastic;
  const double *u;
} Forces;

static void Internal(const FemPoint *p, void *arg, double *K, double *F)
{
  const Forces *of = arg;
  double sigma[3][3];
  (void)K;
  FemElasticStress(of->elastic, p, of->u, sigma);
  FemElasticForces(of->elastic, p, sigma, F);
}

/* Sums over this rank's rows. sums: reactions by support, then the load; then the size of all forces, and the
   work. */
static PoiseErr AddRows(const FemPart *part, PoiseVec internal, PoiseVec x, PoiseVec load, PoiseVec by,
                        double *sums)
{
  const FemMesh *mesh = part->mesh;
  const int dim = mesh->dim, last = 3 * part->supports;
  const double *f, *u, *b, *number;
  POISE_TRY(PoiseVecGetRead(internal, &f));
  POISE_TRY(PoiseVecGetRead(x, &u));
  POISE_TRY(PoiseVecGetRead(load, &b));
  POISE_TRY(PoiseVecGetRead(by, &number));
  for (PoiseInt r = 0; r < dim * mesh->owned; r++) {
    const int support = (int)number[r] - 1, c = (int)(r % dim);
    const double reaction = number[r] == 0 ? 0 : f[r] - b[r];
    if (support >= 0) sums[3 * support + c] += reaction;
    sums[last + c] += b[r];
    sums[last + 3] += fabs(reaction) + fabs(b[r]);
    sums[last + 4] += (reaction + b[r]) * u[r];
  }
  POISE_TRY(PoiseVecRestore(internal, &f));
  POISE_TRY(PoiseVecRestore(x, &u));
  POISE_TRY(PoiseVecRestore(load, &b));
  return PoiseVecRestore(by, &number);
}

static PoiseErr Find(const FemPart *part, const FemElastic *elastic, const double *u, PoiseVec x,
                     PoiseVec load, PoiseVec by, PoiseVec internal, double *sums)
{
  const int count = 3 * part->supports + 5;
  Forces of = {elastic, u};
  POISE_TRY(PoiseVecSet(internal, 0));
  POISE_TRY(FemAssembleVector(part->mesh, part->mesh->dim, Internal, &of, internal));
  POISE_TRY(AddRows(part, internal, x, load, by, sums));
  return PoiseSum(part->mesh->ctx, count, sums);
}

PoiseErr FemBalanceCreate(const FemPart *part, const FemElastic *elastic, const double *u, PoiseVec x,
                          PoiseVec load, PoiseVec by, FemBalance *balance)
{
  const int last = 3 * part->supports;
  PoiseVec internal = NULL;
  double *sums = NULL, off = 0;
  *balance = (FemBalance){.reaction = NULL};
  PoiseErr err = FemAlloc(last + 5, sizeof *sums, &sums);
  if (err == POISE_OK) err = FemAlloc(part->supports, sizeof *balance->reaction, &balance->reaction);
  err = PoiseAgree(part->mesh->ctx, err);
  if (err == POISE_OK) err = PoiseVecDuplicate(x, &internal);
  if (err == POISE_OK) err = Find(part, elastic, u, x, load, by, internal, sums);
  for (int c = 0; c < 3 && err == POISE_OK; c++) {
    double sum = balance->load[c] = sums[last + c];
    for (int s = 0; s < part->supports; s++) sum += balance->reaction[s][c] = sums[3 * s + c];
    /* Radial forces of a ring pull in all directions: they have no sum. */
    if (c > 0 || part->kind != FEM_AXISYMMETRIC) off = fmax(off, fabs(sum));
  }
  if (err == POISE_OK) {
    balance->forces = sums[last + 3];
    balance->off = off == 0 ? 0 : off / balance->forces;
    balance->work = sums[last + 4];
  }
  PoiseVecDestroy(&internal);
  free(sums);
  return err;
}

void FemBalanceFree(FemBalance *balance)
{
  free(balance->reaction);
  *balance = (FemBalance){.reaction = NULL};
}

/* Free rows of the residual sum up to the force that is missing, and their work to the energy that is. */
static PoiseErr Explained(const FemSystem *system, PoiseVec r, double *forces, double *work)
{
  double A, x[2], residual[2];
  POISE_TRY(PoiseMatResidual(system->A, system->b, system->x, r));
  POISE_TRY(PoiseMatNorm(system->A, POISE_NORM_INF, &A));
  POISE_TRY(PoiseVecNorm(r, POISE_NORM_1, &residual[0]));
  POISE_TRY(PoiseVecNorm(r, POISE_NORM_2, &residual[1]));
  POISE_TRY(PoiseVecNorm(system->x, POISE_NORM_1, &x[0]));
  POISE_TRY(PoiseVecNorm(system->x, POISE_NORM_2, &x[1]));
  *forces = residual[0] + 1e-13 * A * x[0];
  *work = residual[1] * x[1] + 1e-13 * A * x[1] * x[1];
  return POISE_OK;
}

PoiseErr FemBalanceExplained(const FemSystem *system, double *forces, double *work)
{
  PoiseVec r = NULL;
  PoiseErr err = PoiseVecDuplicate(system->b, &r);
  if (err == POISE_OK) err = Explained(system, r, forces, work);
  PoiseVecDestroy(&r);
  return err;
}
