/* SPDX-License-Identifier: BSD-3-Clause */
#include "rigid.h"
#include "cells.h"
#include <stdio.h>

/* Numbers of the motions of each kind of body, the rigid ones first. 0 1 2: translations along x, y, z;
   3 4 5: rotations about them. */
static const struct {
  int rigid, count, motion[FEM_MAX_RIGID];
} motions[] = {[FEM_SPACE] = {6, 6, {0, 1, 2, 3, 4, 5}},
               [FEM_PLANE_STRAIN] = {3, 3, {0, 1, 5}},
               [FEM_PLANE_STRESS] = {3, 3, {0, 1, 5}},
               [FEM_AXISYMMETRIC] = {1, 3, {1, 0, 5}}};

/* Displacement at a place relative to the centre. */
static void Motion(int k, const double x[3], double u[3])
{
  const int i = k % 3, j = (i + 1) % 3, l = (i + 2) % 3;
  u[0] = u[1] = u[2] = 0;
  if (k < 3) {
    u[i] = 1;
  } else {
    u[j] = -x[l];
    u[l] = x[j];
  }
}

static PoiseErr FindCentre(const FemMesh *mesh, FemRigid *rigid)
{
  double sums[3] = {0}, size = 0, far = 0;
  for (PoiseInt i = 0; i < 3 * mesh->owned; i++) sums[i % 3] += mesh->x[i];
  POISE_TRY(PoiseSum(mesh->ctx, 3, sums));
  for (int c = 0; c < 3; c++) rigid->centre[c] = sums[c] / (double)mesh->allNodes;
#pragma omp parallel for reduction(max : size, far)
  for (PoiseInt i = 0; i < mesh->owned; i++) {
    const double *x = mesh->x + 3 * i, *m = rigid->centre;
    const double from[3] = {x[0] - m[0], x[1] - m[1], x[2] - m[2]};
    size = fmax(size, FemDot(from, from));
    far = fmax(far, FemDot(x, x));
  }
  rigid->size = sqrt(size);
  rigid->far = sqrt(far);
  POISE_TRY(PoiseMax(mesh->ctx, 1, &rigid->size));
  return PoiseMax(mesh->ctx, 1, &rigid->far);
}

/* Displacement of this rank's node i in motion k of the body. */
static void Move(const FemSystem *system, const FemRigid *rigid, int k, PoiseInt i, double u[3])
{
  double x[3];
  for (int c = 0; c < 3; c++) x[c] = (system->mesh->x[3 * i + c] - rigid->centre[c]) / rigid->size;
  Motion(motions[rigid->kind].motion[k], x, u);
}

static PoiseErr Fill(const FemSystem *system, const FemRigid *rigid, int k, PoiseVec v)
{
  const int dim = system->components;
  double *values;
  POISE_TRY(PoiseVecGetWrite(v, &values));
#pragma omp parallel for
  for (PoiseInt i = 0; i < system->mesh->owned; i++) {
    double u[3];
    Move(system, rigid, k, i, u);
    for (int c = 0; c < dim; c++) values[dim * i + c] = u[c];
  }
  return PoiseVecRestore(v, &values);
}

PoiseErr FemRigidCreate(const FemSystem *system, FemSolid kind, FemRigid *rigid)
{
  *rigid = (FemRigid){.kind = kind, .count = motions[kind].rigid, .near = motions[kind].count};
  POISE_TRY(FindCentre(system->mesh, rigid));
  for (int k = 0; k < rigid->near; k++) {
    double norm;
    POISE_TRY(PoiseVecDuplicate(system->x, &rigid->v[k]));
    POISE_TRY(Fill(system, rigid, k, rigid->v[k]));
    for (int m = 0; m < 2 * k; m++) { /* Gram-Schmidt, twice */
      double dot;
      POISE_TRY(PoiseVecDot(rigid->v[m % k], rigid->v[k], &dot));
      POISE_TRY(PoiseVecAXPY(rigid->v[k], -dot, rigid->v[m % k]));
    }
    POISE_TRY(PoiseVecNorm(rigid->v[k], POISE_NORM_2, &norm));
    POISE_TRY(PoiseVecScale(rigid->v[k], 1 / norm));
  }
  return POISE_OK;
}

void FemRigidFree(FemRigid *rigid)
{
  for (int k = 0; k < FEM_MAX_RIGID; k++) PoiseVecDestroy(&rigid->v[k]);
}

static PoiseErr Largest(const FemSystem *system, const FemRigid *rigid, PoiseVec work, double *most)
{
  double norm;
  POISE_TRY(PoiseMatNorm(system->A, POISE_NORM_INF, &norm));
  for (int k = 0; k < rigid->count; k++) {
    double Av;
    POISE_TRY(PoiseMatMult(system->A, rigid->v[k], work));
    POISE_TRY(PoiseVecNorm(work, POISE_NORM_2, &Av));
    if (!(Av / norm <= *most)) *most = Av / norm;
  }
  return POISE_OK;
}

PoiseErr FemRigidCheck(const FemSystem *system, const FemRigid *rigid)
{
  PoiseVec work = NULL;
  double most = 0;
  PoiseErr err = PoiseVecDuplicate(system->x, &work);
  if (err == POISE_OK) err = Largest(system, rigid, work, &most);
  PoiseVecDestroy(&work);
  POISE_TRY(err);
  POISE_TRY(PoisePrintf(system->mesh->ctx, "rigid motions  %.1e  largest |A v| / |A|\n", most));
  /* far / (2 size) is 1 for a box at the origin */
  if (most < 1e-13 * fmax(1, rigid->far / (2 * rigid->size))) return POISE_OK;
  POISE_FAIL(POISE_ERR_NUMERIC, "a rigid motion is not in the kernel of the matrix: |A v| is %.1e |A|", most);
}

/* ---- what supports leave free ---------------------------------------------------------------- */

/*
  A motion is free if it does not move any held row. So the free ones are the null space of G = C^T C, where
  row r of C has the displacements of that row. Eigenvectors of G by Jacobi's rotations: vectors are columns
  of V.
*/
static void Eigenvectors(int n, double G[6][6], double V[6][6])
{
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) V[i][j] = i == j;
  for (int turn = 0; turn < 50 * n * n; turn++) {
    int p = 0, q = 1;
    for (int i = 0; i < n; i++) {
      for (int j = i + 1; j < n; j++) {
        if (fabs(G[i][j]) > fabs(G[p][q])) p = i, q = j;
      }
    }
    if (n == 1 || G[p][q] == 0) return;
    const double angle = 0.5 * atan2(2 * G[p][q], G[q][q] - G[p][p]), c = cos(angle), s = sin(angle);
    for (int k = 0; k < n; k++) {
      const double a = G[k][p], b = G[k][q], v = V[k][p], w = V[k][q];
      G[k][p] = c * a - s * b;
      G[k][q] = s * a + c * b;
      V[k][p] = c * v - s * w;
      V[k][q] = s * v + c * w;
    }
    for (int k = 0; k < n; k++) {
      const double a = G[p][k], b = G[q][k];
      G[p][k] = c * a - s * b;
      G[q][k] = s * a + c * b;
    }
    G[p][q] = G[q][p] = 0;
  }
}

/* The first of the eigenvectors of eigenvalue 0, to rounding; -1 if there is none; *free: their number. */
static int FindFree(int n, double G[6][6], double most, double V[6][6], int *free)
{
  int first = -1;
  *free = 0;
  Eigenvectors(n, G, V);
  for (int k = n - 1; k >= 0; k--) {
    if (G[k][k] > 1e-12 * most) continue;
    first = k;
    ++*free;
  }
  return first;
}

static double Clean(double x)
{
  return fabs(x) < 1e-9 ? 0 : x;
}

/* Say what the motion t + w x (x - centre) / size is. */
static PoiseErr Name(const FemRigid *rigid, int free, const double t[3], const double w[3])
{
  const double turn = w[0] * w[0] + w[1] * w[1] + w[2] * w[2], *c = rigid->centre, h = rigid->size;
  char text[256];
  if (turn < 1e-18) {
    snprintf(text, sizeof text, "a shift along (%g, %g, %g)", Clean(t[0]), Clean(t[1]), Clean(t[2]));
  } else {
    const double length = sqrt(turn),
                 p[3] = {w[1] * t[2] - w[2] * t[1], w[2] * t[0] - w[0] * t[2], w[0] * t[1] - w[1] * t[0]};
    double at[3];
    for (int i = 0; i < 3; i++) at[i] = h * Clean((c[i] + h * p[i] / turn) / h);
    snprintf(text, sizeof text, "a rotation about the axis along (%g, %g, %g) through (%g, %g, %g)",
             Clean(w[0] / length), Clean(w[1] / length), Clean(w[2] / length), at[0], at[1], at[2]);
  }
  if (free == 1) POISE_FAIL(POISE_ERR_ARG, "nothing stops a rigid motion of the body: %s is free", text);
  POISE_FAIL(POISE_ERR_ARG, "nothing stops %d rigid motions of the body, one is %s", free, text);
}

/* G, from the held rows that this rank owns. */
static PoiseErr AddHeld(const FemSystem *system, const FemRigid *rigid, PoiseVec held, double G[6][6])
{
  const int dim = system->components;
  const double *hold;
  POISE_TRY(PoiseVecGetRead(held, &hold));
  for (PoiseInt i = 0; i < system->mesh->owned; i++) {
    for (int c = 0; c < dim; c++) {
      double u[FEM_MAX_RIGID][3];
      if (hold[dim * i + c] == 0) continue;
      for (int k = 0; k < rigid->count; k++) Move(system, rigid, k, i, u[k]);
      for (int k = 0; k < rigid->count; k++)
        for (int m = 0; m < rigid->count; m++) G[k][m] += u[k][c] * u[m][c];
    }
  }
  return PoiseVecRestore(held, &hold);
}

PoiseErr FemRigidHeld(const FemSystem *system, const FemRigid *rigid, PoiseVec held)
{
  const int n = rigid->count, *motion = motions[rigid->kind].motion;
  double G[6][6] = {{0}}, shifts[6][6] = {{0}}, V[6][6], W[6][6], t[3] = {0}, w[3] = {0}, most = 0;
  int translations = 0, all, some;
  POISE_TRY(AddHeld(system, rigid, held, G));
  POISE_TRY(PoiseSum(system->mesh->ctx, 36, G[0]));
  for (int k = 0; k < n; k++) {
    most = fmax(most, G[k][k]);
    translations += motion[k] < 3;
    for (int m = 0; m < n; m++) shifts[k][m] = G[k][m];
  }
  const int any = FindFree(n, G, most, V, &all);
  if (any < 0) return POISE_OK;
  const int shift = FindFree(translations, shifts, most, W, &some); /* easier to imagine */
  for (int k = 0; k < (shift < 0 ? n : translations); k++)
    (motion[k] < 3 ? t : w)[motion[k] % 3] = shift < 0 ? V[k][any] : W[k][shift];
  return Name(rigid, all, t, w);
}
