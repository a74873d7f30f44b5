/* SPDX-License-Identifier: BSD-3-Clause */
/* Eigenvalues and singular values of the small matrices that methods make of K (spectrum.c). */
#ifndef POISE_KSP_SPECTRUM_H
#define POISE_KSP_SPECTRUM_H

#include "ksp.h"

/* What a method has made of K in its latest cycle. */
typedef struct Projected {
  int n;              /* columns; 0: none */
  double *diagonal;   /* of a symmetric tridiagonal matrix, with n - 1 entries beside the diagonal; */
  double *beside;     /* or NULL, and */
  double *hessenberg; /* n + 1 rows, n columns of n + 1 */
} Projected;

/* It, for a question of the application, in arrays that Drop frees; local. what: the function it calls. */
PoiseErr poiseKSPAskProjected(PoiseKSP ksp, const char *what, Projected *p);
void poiseKSPDropProjected(PoiseKSP ksp, Projected *p);
/* Are eigenvalues or singular values asked for? */
bool poiseKSPKeepsSpectrum(PoiseKSP ksp);
/* Print those that options ask for, after a solve. Collective; agrees. */
PoiseErr poiseKSPPrintSpectrum(PoiseKSP ksp);

/* Eigenvalues w of the n x n Hessenberg matrix h, stored by columns of length n, which is overwritten. */
void poiseHessenbergEigenvalues(double _Complex *h, int n, double _Complex *w);
/* Those of the symmetric tridiagonal matrix with diagonal d and e beside it, ascending. */
void poiseTridiagonalEigenvalues(const double *d, const double *e, int n, double *w);
/* s = the singular values of the m x n matrix a, m >= n, stored by columns, which is overwritten. */
void poiseSingularValues(double *a, int m, int n, double *s);

#endif
