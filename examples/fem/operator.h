/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrices of whole meshes by a known formula, which a device can compute. */
#ifndef FEM_OPERATOR_H
#define FEM_OPERATOR_H

#include "mesh.h"

/* One unknown per node: K_ab = mass (N_a, N_b) + stiffness (grad N_a, grad N_b) + (N_a + tau s_a, s_b), s_a =
   stream . grad N_a. Three (elasticity): K_(a i)(b j) = lambda (d_i N_a, d_j N_b) + mu (d_j N_a, d_i N_b) +
   delta_ij mu (grad N_a, grad N_b). */
typedef struct FemOperator {
  double mass, stiffness;
  double stream[3];   /* of length 1, or 0 */
  int upwind;         /* tau is that of SUPG (cells.h), else 0 */
  const double *lame; /* [cells][2] lambda, mu; NULL of one unknown per node */
  int source;         /* the program's form has an F besides */
} FemOperator;

/*
  A from the cells: one triplet for each number of their matrices, or blocks != 0 for each of their blocks of
  components x components; patterned != 0: new values on the pattern that an earlier call gave A. On the
  device cuda all of it is computed there, by a build that has CUDA. Collective. POISE_ERR_NUMERIC names a
  cell that is inverted or flat.
*/
PoiseErr FemAssembleOperator(const FemMesh *mesh, int components, const FemOperator *op, int blocks,
                             int patterned, PoiseMat A);

#endif
