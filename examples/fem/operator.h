/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrices of whole meshes by a known formula, which a device can evaluate. */
#ifndef FEM_OPERATOR_H
#define FEM_OPERATOR_H

#include "mesh.h"

/*
  The formula. One unknown per node:
    K_ab = mass (N_a, N_b) + stiffness (grad N_a, grad N_b) + (N_a + tau s_a, s_b),  s_a = stream . grad N_a.
  As many as dimensions (elasticity):
    K_(a i)(b j) = lambda (d_i N_a, d_j N_b) + mu (d_j N_a, d_i N_b) + delta_ij mu (grad N_a, grad N_b)
                   + kappa (d_i N_a, 1) (d_j N_b, 1) / volume of the cell.
*/
typedef struct FemOperator {
  double mass, stiffness;
  double stream[3];  /* of length 1, or 0 */
  int upwind;        /* tau is that of SUPG (cells.h), else 0 */
  const double *law; /* [cells][3] lambda, mu, kappa; NULL for one unknown per node */
  int source;        /* the program's form also has an F */
} FemOperator;

/*
  Assemble A from the cells. Each scalar of their matrices is a triplet; with blocks != 0 each block of
  components x components is. patterned != 0: new values on the pattern that an earlier call gave A. On the
  device cuda all of it is computed there, if the build has CUDA. Collective. POISE_ERR_NUMERIC names a cell
  that is inverted or flat.
*/
PoiseErr FemAssembleOperator(const FemMesh *mesh, int components, const FemOperator *op, int blocks,
                             int patterned, PoiseMat A);

/* Does a GPU compute it? The threads of the host are free then. */
int FemOperatorOnGpu(PoiseContext ctx);

#endif
