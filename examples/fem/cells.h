/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrices of cells from plain arrays: functions for each point, pair of nodes, and triplet. The same text
   is C and CUDA C++. */
#ifndef FEM_CELLS_H
#define FEM_CELLS_H

#include "element.h"
#include <math.h>

#ifdef __CUDACC__
#define FEM_INLINE static __host__ __device__ inline
#else
#define FEM_INLINE static inline
#endif

/*
  K of cells, in arrays that are all on the device that does the work. Unknown c of node g is row components *
  g + c. With blocks a triplet is a column-major block of components x components scalars at block row g.
  Otherwise each scalar is a triplet, in the order of rows and columns of K.
*/
typedef struct FemWork {
  const FemReference *reference;
  const PoiseInt *node, *global; /* [cells][nodes] as FemMesh.cellNodes; FemMesh.global */
  const double *x, *law;         /* FemMesh.x; FemOperator.law */
  double mass, stiffness;        /* FemOperator, and its stream */
  double stream[3];
  int streams, upwind; /* streams: the stream is not 0 */
  PoiseInt cells;
  int dim, nodes, points, components, blocks;
  PoiseInt *row, *col; /* [triplets] */
  double *v;           /* [triplets] or [triplets][components^2] */
  PoiseInt *inverted;  /* the first cell that is inverted or flat, or `cells` */
} FemWork;

FEM_INLINE int FemTripletsOfCell(const FemWork *w)
{
  const int n = w->nodes * (w->blocks ? 1 : w->components);
  return n * n;
}

/* Triplet k of a cell. */
FEM_INLINE void FemTriplet(const FemWork *w, PoiseInt cell, int k)
{
  const int c = w->blocks ? 1 : w->components, n = w->nodes * c, i = k / n, j = k % n;
  const PoiseInt *node = w->node + cell * w->nodes, place = cell * n * n + k;
  w->row[place] = w->global[node[i / c]] * c + i % c;
  w->col[place] = w->global[node[j / c]] * c + j % c;
}

/* Data of a cell at each point: weight times volume, the gradient of each shape function, tau of the
   stream. */
FEM_INLINE int FemPointSize(const FemWork *w)
{
  return 2 + 3 * w->nodes;
}

/* c = a x b, of numbers or of vectors of GNU C. */
#define FEM_CROSS(a, b, c)                      \
  do {                                          \
    (c)[0] = (a)[1] * (b)[2] - (a)[2] * (b)[1]; \
    (c)[1] = (a)[2] * (b)[0] - (a)[0] * (b)[2]; \
    (c)[2] = (a)[0] * (b)[1] - (a)[1] * (b)[0]; \
  } while (0)

/* det J and inverse[d] = det J d s_d / d x, where J[d] = d x / d s_d; in the plane J[2] becomes (0, 0, 1). */
FEM_INLINE double FemCofactors(int dim, double J[3][3], double inverse[3][3])
{
  if (dim == 2) J[2][2] = 1;
  for (int d = 0; d < 3; d++) FEM_CROSS(J[(d + 1) % 3], J[(d + 2) % 3], inverse[d]);
  return J[0][0] * inverse[0][0] + J[0][1] * inverse[0][1] + J[0][2] * inverse[0][2];
}

/* The Jacobian of a cell at a point, from its nodes and the derivatives of its shape functions there. Each
   node has three numbers. inverse: as above. */
FEM_INLINE double FemJacobian(int dim, int nodes, const double *corner, const double *dN,
                              double inverse[3][3])
{
  double J[3][3] = {{0}};
  for (int k = 0; k < nodes; k++) {
    for (int d = 0; d < dim; d++) {
      for (int c = 0; c < dim; c++) J[d][c] += dN[3 * k + d] * corner[3 * k + c];
    }
  }
  return FemCofactors(dim, J, inverse);
}

/* Gradients of the shape functions at a point, from what FemJacobian gives. */
FEM_INLINE void FemGradientsBy(int dim, int nodes, double det, double inverse[3][3], const double *dN,
                               double *grad)
{
  const double scale = 1 / det; /* as nine divisions take longer than all else here */
  for (int d = 0; d < dim; d++) {
    for (int c = 0; c < 3; c++) inverse[d][c] *= scale;
  }
  for (int k = 0; k < nodes; k++) {
    for (int c = 0; c < 3; c++) {
      double sum = 0;
      for (int d = 0; d < dim; d++) sum += dN[3 * k + d] * inverse[d][c];
      grad[3 * k + c] = sum;
    }
  }
}

/* The same from the nodes. Returns the Jacobian, and sets nothing unless it is positive. */
FEM_INLINE double FemGradients(int dim, int nodes, const double *corner, const double *dN, double *grad)
{
  double inverse[3][3];
  const double det = FemJacobian(dim, nodes, corner, dN, inverse);
  if (det > 0) FemGradientsBy(dim, nodes, det, inverse, dN, grad);
  return det;
}

FEM_INLINE double FemDot(const double *a, const double *b)
{
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/*
  tau of SUPG at a point, for a stream of length 1 and diffusion eps: h / 2 (coth s - 1 / s), s = h / (2 eps).
  The terms cancel for small s. h = 2 / sum |stream . grad N_a| (Tezduyar) is the length of the cell along the
  stream.
*/
FEM_INLINE double FemStreamTime(int nodes, const double *grad, const double *stream, double eps)
{
  double sum = 0;
  for (int a = 0; a < nodes; a++) sum += fabs(FemDot(stream, grad + 3 * a));
  const double h = 2 / sum, s = 0.5 * h / eps;
  return 0.5 * h * (s < 1e-3 ? s / 3 : 1 / tanh(s) - 1 / s);
}

/* Compute the rest of point q, whose gradients are set. */
FEM_INLINE void FemFinishPoint(const FemWork *w, int q, double det, double *point)
{
  point[0] = w->reference->w[q] * det;
  point[1 + 3 * w->nodes] = w->upwind ? FemStreamTime(w->nodes, point + 1, w->stream, w->stiffness) : 0;
}

/* mass (N_a, N_b) + stiffness (grad N_a, grad N_b) + (N_a + tau s_a, s_b), s_a = stream . grad N_a, from the
   points of a cell. */
FEM_INLINE double FemScalarPair(const FemWork *w, const double *point, int a, int b)
{
  double sum = 0;
  for (int q = 0; q < w->points; q++, point += FemPointSize(w)) {
    const double *g = point + 1 + 3 * a, *h = point + 1 + 3 * b, *N = w->reference->N[q],
                 tau = point[1 + 3 * w->nodes];
    double term = w->stiffness * FemDot(g, h);
    if (w->mass != 0) term += w->mass * N[a] * N[b];
    if (w->streams) term += (N[a] + tau * FemDot(w->stream, g)) * FemDot(w->stream, h);
    sum += point[0] * term;
  }
  return sum;
}

/* v[i * row + j * col] = lambda D_ij + mu (D_ji + delta_ij trace D) + kappa M_ij, D_ij = (d_i N_a, d_j N_b),
   M_ij = (d_i N_a, 1) (d_j N_b, 1) / volume. */
FEM_INLINE void FemElasticPair(const FemWork *w, const double *point, PoiseInt cell, int a, int b, double *v,
                               int row, int col)
{
  const double lambda = w->law[3 * cell], mu = w->law[3 * cell + 1], kappa = w->law[3 * cell + 2];
  double D[3][3] = {{0}}, A[3] = {0}, B[3] = {0}, volume = 0;
  for (int q = 0; q < w->points; q++, point += FemPointSize(w)) {
    const double *g = point + 1 + 3 * a, *h = point + 1 + 3 * b;
    for (int i = 0; i < 3; i++) {
      const double s = point[0] * g[i];
      for (int j = 0; j < 3; j++) D[i][j] += s * h[j];
      A[i] += s;
      B[i] += point[0] * h[i];
    }
    volume += point[0];
  }
  const double trace = D[0][0] + D[1][1] + D[2][2];
  for (int i = 0; i < w->components; i++) {
    for (int j = 0; j < w->components; j++) {
      v[i * row + j * col] = lambda * D[i][j] + mu * (D[j][i] + (i == j ? trace : 0));
      if (kappa != 0) v[i * row + j * col] += kappa * A[i] * B[j] / volume;
    }
  }
}

/* The part of K for nodes a and b of a cell, from the data at the cell's points. */
FEM_INLINE void FemPair(const FemWork *w, const double *point, PoiseInt cell, int a, int b)
{
  const int c = w->components, n = c * w->nodes;
  double *v = w->v + cell * n * n;
  if (c == 1)
    v[a * n + b] = FemScalarPair(w, point, a, b);
  else if (w->blocks)
    FemElasticPair(w, point, cell, a, b, v + (a * w->nodes + b) * c * c, 1, c);
  else
    FemElasticPair(w, point, cell, a, b, v + a * c * n + b * c, n, 1);
}

#endif
