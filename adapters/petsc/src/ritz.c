/* SPDX-License-Identifier: BSD-3-Clause */
/*
  KSPComputeRitz by Poise's gmres: (harmonic) Ritz pairs from its Hessenberg matrix and basis. Eigenvectors
  are LAPACK's, as in PETSc, so that their lengths and signs are the same. Harmonic pairs are those of H + h^2
  f e_n', where f = H^-T e_n and h is below the square H (Morgan 1995).
*/
#include "solver.h"

#include <petscblaslapack.h> /* needs the headers before it */

typedef struct Pairs {
  PetscBLASInt n;
  PetscScalar *h;           /* n columns of n + 1 */
  PetscScalar *real, *imag; /* of the values */
  PetscScalar *y;           /* n columns of n: of a conjugate pair real and imaginary parts */
  PetscReal *size;
  PetscInt *by_size;
} Pairs;

/* Add h^2 f to the last column. */
static PetscErrorCode MakeHarmonic(Pairs *p)
{
  PetscBLASInt n = p->n, one = 1, info, *pivots;
  PetscScalar *t, *f;
  const PetscScalar below = p->h[n * (n + 1) - 1];
  PetscFunctionBegin;
  PetscCall(PetscCalloc3(n * n, &t, n, &f, n, &pivots));
  for (PetscBLASInt j = 0; j < n; j++)
    for (PetscBLASInt i = 0; i < n; i++) t[j + i * n] = p->h[i + j * (n + 1)];
  f[n - 1] = below * below;
  PetscCallBLAS("LAPACKgesv", LAPACKgesv_(&n, &one, t, &n, pivots, f, &n, &info));
  PetscCheck(!info, PETSC_COMM_SELF, PETSC_ERR_LIB, "the Hessenberg matrix is singular: no harmonic pairs");
  for (PetscBLASInt i = 0; i < n; i++) p->h[i + (n - 1) * (n + 1)] += f[i];
  PetscCall(PetscFree3(t, f, pivots));
  PetscFunctionReturn(0);
}

static PetscErrorCode Solve(Pairs *p)
{
  PetscBLASInt n = p->n, ld = p->n + 1, one = 1, length = 10 * p->n, info;
  PetscScalar *work, unused;
  PetscFunctionBegin;
  PetscCall(PetscMalloc1(length, &work));
  PetscCallBLAS("LAPACKgeev", LAPACKgeev_("N", "V", &n, p->h, &ld, p->real, p->imag, &unused, &one, p->y, &n,
                                          work, &length, &info));
  PetscCheck(!info, PETSC_COMM_SELF, PETSC_ERR_LIB, "LAPACK's geev says %d", (int)info);
  PetscCall(PetscFree(work));
  for (PetscBLASInt i = 0; i < n; i++) {
    p->size[i] = PetscSqrtReal(p->real[i] * p->real[i] + p->imag[i] * p->imag[i]);
    p->by_size[i] = i;
  }
  PetscCall(PetscSortRealWithPermutation(n, p->size, p->by_size));
  PetscFunctionReturn(0);
}

/* How many of the smallest or largest are no more than `most`, without half a conjugate pair? */
static PetscInt Count(const Pairs *p, PetscBool small, PetscInt most)
{
  PetscInt n = 0;
  while (n < most) {
    const PetscInt at = p->by_size[small ? n : p->n - n - 1], step = p->imag[at] != 0 ? 2 : 1;
    if (n + step > most) break;
    n += step;
  }
  return n;
}

static PetscErrorCode Vectors(KSP ksp, const Pairs *p, PetscInt first, PetscInt count, Vec S[],
                              PetscReal *real, PetscReal *imag)
{
  const Data *d = DataOf(ksp);
  PetscFunctionBegin;
  for (PetscInt k = 0; k < count; k++) {
    const PetscInt at = p->by_size[first + k];
    Lent s;
    real[k] = p->real[at];
    imag[k] = p->imag[at];
    PetscCall(LendVec(d->ctx, S[k], PETSC_TRUE, &s));
    POISE_CALL(PoiseKSPGMRESCombine(d->now->ksp, p->n, p->y + at * p->n, s.poise));
    PetscCall(EndLend(&s));
  }
  PetscFunctionReturn(0);
}

PetscErrorCode ComputeRitz(KSP ksp, PetscBool ritz, PetscBool small, PetscInt *count, Vec S[],
                           PetscReal *real, PetscReal *imag)
{
  const Data *d = DataOf(ksp);
  Pairs p;
  PoiseInt n = 0;
  double nothing;
  PetscFunctionBegin;
  POISE_CALL(PoiseKSPGMRESHessenberg(d->now->ksp, 0, &nothing, &n));
  PetscInt most = PetscMin(*count, (PetscInt)n);
  *count = 0;
  if (!n) PetscFunctionReturn(0);
  p.n = (PetscBLASInt)n;
  PetscCall(PetscMalloc6(n * (n + 1), &p.h, n, &p.real, n, &p.imag, n * n, &p.y, n, &p.size, n, &p.by_size));
  POISE_CALL(PoiseKSPGMRESHessenberg(d->now->ksp, n * (n + 1), p.h, &n));
  if (!ritz) PetscCall(MakeHarmonic(&p));
  PetscCall(Solve(&p));
  most = Count(&p, small, most);
  PetscCall(Vectors(ksp, &p, small ? 0 : p.n - most, most, S, real, imag));
  *count = most;
  PetscCall(PetscFree6(p.h, p.real, p.imag, p.y, p.size, p.by_size));
  PetscFunctionReturn(0);
}
