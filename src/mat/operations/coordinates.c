/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Where the nodes of a matrix are, which makes the rigid motions of a body its near null space. Rotations are
  about the principal axes through the centre: so all motions are orthogonal, and no vector is made twice.
  The host adds in one order, so that the bits are those of any device and number of threads.
*/
#include "mat/object/mat.h"

typedef struct Nodes {
  PoiseMat A;
  int dim;
  int64_t n, all;
  const double *x;   /* [n][dim], on the host */
  int unknowns;      /* of a node; 0: no rank has a node */
  double middle[3];  /* of the box around all nodes, */
  double size;       /* half of its longest edge: places are taken relative to these two */
  double centre[3];  /* mean of such places */
  double axis[3][3]; /* rows are the principal axes */
  double moment[3];  /* of inertia about each axis */
} Nodes;

/* ---- what is given --------------------------------------------------------------------------- */

/* On this rank. *unknowns: of a node, 0 if it has none. */
static PoiseErr CheckSizes(const Nodes *s, int64_t *unknowns)
{
  const int64_t rows = s->A->rows->n, cols = s->A->cols->n;
  if (s->dim < 1 || s->dim > 3) FAIL(POISE_ERR_ARG, "dim = %d: places have 1, 2 or 3 coordinates", s->dim);
  if (s->n < 0) FAIL(POISE_ERR_ARG, "n = %lld nodes", (long long)s->n);
  if (s->n > 0 && !s->x) FAIL(POISE_ERR_ARG, "x of %lld nodes is NULL", (long long)s->n);
  if (s->A->rows->N != s->A->cols->N || rows != cols)
    FAIL(POISE_ERR_SIZE, "nodes are of a square matrix; A is %lld x %lld, on rank %d %lld x %lld",
         (long long)s->A->rows->N, (long long)s->A->cols->N, PoiseRank(s->A->ctx), (long long)rows,
         (long long)cols);
  *unknowns = s->n ? cols / s->n : 0;
  if (cols == s->n || (cols % s->dim == 0 && cols / s->dim == s->n)) return POISE_OK;
  FAIL(POISE_ERR_SIZE,
       "rank %d has %lld nodes and %lld unknowns: a node of %d coordinates has 1 unknown or %d, "
       "its displacement",
       PoiseRank(s->A->ctx), (long long)s->n, (long long)cols, s->dim, s->dim);
}

/* All ranks must mean the same. */
static PoiseErr CheckAgreed(Nodes *s, PoiseErr mine, int64_t unknowns)
{
  int64_t most[4] = {s->dim, -(int64_t)s->dim, unknowns, unknowns ? -unknowns : -4};
  TRY(PoiseAgree(s->A->ctx, mine));
  TRY(poiseCommMaxInt(s->A->ctx->comm, most, 4));
  if (most[0] != -most[1])
    FAIL(POISE_ERR_ARG, "dim differs from rank to rank, from %lld to %lld", (long long)-most[1],
         (long long)most[0]);
  if (most[2] && most[2] != -most[3])
    FAIL(POISE_ERR_SIZE, "nodes have %lld unknowns on one rank, %lld on another", (long long)-most[3],
         (long long)most[2]);
  s->unknowns = (int)most[2];
  s->all = s->unknowns ? s->A->cols->N / s->unknowns : 0;
  return POISE_OK;
}

static PoiseErr CheckFinite(const Nodes *s)
{
  for (int64_t i = 0; i < s->n * s->dim; i++)
    if (!isfinite(s->x[i]))
      FAIL(POISE_ERR_ARG, "coordinate %lld of node %lld of rank %d is %g", (long long)(i % s->dim),
           (long long)(i / s->dim), PoiseRank(s->A->ctx), s->x[i]);
  return POISE_OK;
}

/* ---- centre and axes ------------------------------------------------------------------------- */

static void Place(const Nodes *s, int64_t i, double p[3])
{
  for (int c = 0; c < 3; c++)
    p[c] = c < s->dim ? (s->x[i * s->dim + c] - s->middle[c]) / s->size - s->centre[c] : 0;
}

/* Places in a box of edges of at most 2, so that no sum overflows. */
static PoiseErr FindBox(Nodes *s)
{
  double ends[6];
  for (int c = 0; c < 6; c++) ends[c] = -INFINITY;
  for (int64_t i = 0; i < s->n; i++) {
    for (int c = 0; c < s->dim; c++) {
      ends[c] = fmax(ends[c], s->x[i * s->dim + c]);
      ends[3 + c] = fmax(ends[3 + c], -s->x[i * s->dim + c]);
    }
  }
  TRY(PoiseMax(s->A->ctx, 6, ends));
  for (int c = 0; c < s->dim; c++) {
    s->middle[c] = ends[c] / 2 - ends[3 + c] / 2;
    s->size = fmax(s->size, ends[c] / 2 + ends[3 + c] / 2);
  }
  if (s->size == 0) s->size = 1; /* all nodes are at one place */
  return POISE_OK;
}

static PoiseErr FindCentre(Nodes *s)
{
  double sum[3] = {0}, p[3];
  for (int64_t i = 0; i < s->n; i++) {
    Place(s, i, p);
    for (int c = 0; c < 3; c++) sum[c] += p[c];
  }
  TRY(PoiseSum(s->A->ctx, 3, sum));
  for (int c = 0; c < 3; c++) s->centre[c] = sum[c] / (double)s->all;
  return POISE_OK;
}

/* One of Jacobi's rotations: T_pq = 0, and the rows of V turn with it. */
static void Turn(double T[3][3], double V[3][3], int p, int q)
{
  if (T[p][q] == 0) return;
  const double angle = 0.5 * atan2(2 * T[p][q], T[q][q] - T[p][p]), c = cos(angle), s = sin(angle);
  for (int k = 0; k < 3; k++) {
    const double a = T[k][p], b = T[k][q], v = V[p][k], w = V[q][k];
    T[k][p] = c * a - s * b;
    T[k][q] = s * a + c * b;
    V[p][k] = c * v - s * w;
    V[q][k] = s * v + c * w;
  }
  for (int k = 0; k < 3; k++) {
    const double a = T[p][k], b = T[q][k];
    T[p][k] = c * a - s * b;
    T[q][k] = s * a + c * b;
  }
  T[p][q] = T[q][p] = 0;
}

/* The axes diagonalise the sum of p p^T. */
static PoiseErr FindAxes(Nodes *s)
{
  enum { SWEEPS = 12 }; /* they converge quadratically */
  double T[3][3] = {{0}}, p[3];
  for (int64_t i = 0; i < s->n; i++) {
    Place(s, i, p);
    for (int c = 0; c < 9; c++) T[c / 3][c % 3] += p[c / 3] * p[c % 3];
  }
  TRY(PoiseSum(s->A->ctx, 9, T[0]));
  for (int c = 0; c < 3; c++) s->axis[c][c] = 1;
  for (int sweep = 0; sweep < SWEEPS && s->dim == 3; sweep++) {
    Turn(T, s->axis, 0, 1);
    Turn(T, s->axis, 0, 2);
    Turn(T, s->axis, 1, 2);
  }
  return POISE_OK;
}

/* e x p */
static void Rotate(const double *e, const double p[3], double u[3])
{
  for (int c = 0; c < 3; c++) {
    const int d = (c + 1) % 3, f = (c + 2) % 3;
    u[c] = e[d] * p[f] - e[f] * p[d];
  }
}

/* By squares, as the sums of products lose that of a thin body. */
static PoiseErr FindMoments(Nodes *s)
{
  double p[3], u[3];
  for (int64_t i = 0; i < s->n; i++) {
    Place(s, i, p);
    for (int k = 0; k < 3; k++) {
      Rotate(s->axis[k], p, u);
      s->moment[k] += u[0] * u[0] + u[1] * u[1] + u[2] * u[2];
    }
  }
  return PoiseSum(s->A->ctx, 3, s->moment);
}

/* ---- the motions ----------------------------------------------------------------------------- */

/* Of length 1 over all nodes. */
static void FillRotation(const Nodes *s, int k, double *v)
{
  const double length = sqrt(s->moment[k]);
#pragma omp parallel for
  for (int64_t i = 0; i < s->n; i++) {
    double p[3], u[3];
    Place(s, i, p);
    Rotate(s->axis[k], p, u);
    for (int c = 0; c < s->dim; c++) v[i * s->dim + c] = u[c] / length;
  }
}

static void FillTranslation(const Nodes *s, int k, double *v)
{
  const double length = sqrt((double)s->all);
#pragma omp parallel for
  for (int64_t i = 0; i < s->n * s->dim; i++) v[i] = i % s->dim == k ? 1 / length : 0;
}

/* k < dim: along an axis; then about one. */
static PoiseErr Add(const Nodes *s, int k, NullSpace *motions)
{
  double *v;
  PoiseErr e = poiseVecCreateLayout(s->A->cols, &motions->v[motions->n]);
  if (!e) e = poiseBufferWrite(&motions->v[motions->n++]->data, HOST, &v);
  TRY(PoiseAgree(s->A->ctx, e));
  if (k < s->dim)
    FillTranslation(s, k, v);
  else
    FillRotation(s, k - s->dim, v);
  return POISE_OK;
}

/* A rotation that moves no node, of nodes on a line about it, is left out. */
static PoiseErr MakeMotions(Nodes *s, NullSpace *motions)
{
  const double least = 1e-10; /* root mean square of displacements, in sizes of the body */
  TRY(FindBox(s));
  TRY(FindCentre(s));
  TRY(FindAxes(s));
  TRY(FindMoments(s));
  for (int k = 0; k < s->dim; k++) TRY(Add(s, k, motions));
  for (int k = s->dim == 3 ? 0 : 2; k < 3 && s->dim > 1; k++)
    if (s->moment[k] > least * least * (double)s->all) TRY(Add(s, s->dim + k, motions));
  return POISE_OK;
}

/* ---- the call -------------------------------------------------------------------------------- */

/* Nodes on the device come to the host, to memory that the caller frees. */
static PoiseErr Read(Nodes *s, Side where, double **here)
{
  Device *dev = s->A->ctx->device;
  const size_t bytes = (size_t)(s->n * s->dim) * sizeof **here;
  if (where == HOST || dev->ops->is_host) return poiseDeviceCheckHost(dev, s->x, "x");
  TRY(poiseDeviceCheckPointer(dev, s->x, bytes, "x"));
  TRY(poiseAllocArray(s->A->ctx, s->n * s->dim, sizeof **here, "places of nodes", here));
  TRY(poiseDeviceFetch(dev, s->x, bytes, *here));
  s->x = *here;
  return POISE_OK;
}

static PoiseErr Check(Nodes *s, Side where, double **here)
{
  int64_t unknowns = 0;
  PoiseErr e = CheckSizes(s, &unknowns);
  if (!e) e = Read(s, where, here);
  TRY(CheckAgreed(s, e, unknowns));
  return PoiseAgree(s->A->ctx, CheckFinite(s));
}

/* Replace the near null space, if all goes well. Of a scalar problem it is empty. */
static PoiseErr Set(Nodes *s, Side where)
{
  PoiseMat A = s->A;
  NullSpace motions = {0};
  double *here = NULL;
  PoiseErr e = Check(s, where, &here);
  if (!e && s->unknowns > 1) e = MakeMotions(s, &motions);
  if (!e && s->unknowns > 1 && A->block_size == 1) e = PoiseMatSetBlockSize(A, s->unknowns);
  poiseFree(A->ctx, &here);
  poiseNullSpaceDestroy(e ? &motions : &A->near);
  if (e) return e;
  A->near = motions;
  A->version.near++;
  return POISE_OK;
}

PoiseErr PoiseMatSetCoordinates(PoiseMat A, int dim, PoiseInt n, const double *x)
{
  CALLED(OBJECT(A));
  return Set(&(Nodes){.A = A, .dim = dim, .n = n, .x = x}, HOST);
}

PoiseErr PoiseMatSetDeviceCoordinates(PoiseMat A, int dim, PoiseInt n, const double *x)
{
  CALLED(OBJECT(A));
  return Set(&(Nodes){.A = A, .dim = dim, .n = n, .x = x}, DEVICE);
}
