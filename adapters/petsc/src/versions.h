/* SPDX-License-Identifier: BSD-3-Clause */
/* What differs between PETSc 3.18 and 3.26. The other files ask for no version. */
#ifndef POISE_PETSC_VERSIONS_H
#define POISE_PETSC_VERSIONS_H

#include <petsc/private/kspimpl.h>
#include <petsc/private/matimpl.h>
#include <petsc/private/pcimpl.h>

#if PETSC_VERSION_LT(3, 18, 0) || PETSC_VERSION_GE(3, 27, 0)
#error "The plug-in reads private headers of PETSc and is written for PETSc 3.18 to 3.26."
#endif

#if PETSC_VERSION_LT(3, 23, 0)
typedef PetscOptionItems *OptionItems;
typedef PetscErrorCode DestroyContext(void *);
#else
typedef PetscOptionItems OptionItems;
typedef PetscCtxDestroyFn DestroyContext;
#endif

/* What a program calls before each preconditioning by a flexible method. */
#if PETSC_VERSION_LT(3, 24, 0)
typedef PetscErrorCode ModifyFGMRES(KSP, PetscInt, PetscInt, PetscReal, void *);
typedef PetscErrorCode ModifyGCR(KSP, PetscInt, PetscReal, void *);
#else
typedef KSPFlexibleModifyPCFn ModifyFGMRES, ModifyGCR;
#endif

#if PETSC_VERSION_LT(3, 25, 0)
#define KSPFlexibleModifyPCNoChange KSPFGMRESModifyPCNoChange
#endif

/* KSPSetUp calls a method for new values of the matrix on all ranks or none. Since 3.26 it does so on those
   whose object state is new. */
enum { TOGETHER = PETSC_VERSION_LT(3, 26, 0) };

/* The memory in the container is freed with it. */
PetscErrorCode FreeWith(PetscContainer box);

/* In the KSP's function for options: call f when its PC has read its own. Before 3.25 it has done so; since
   then it does so next. */
PetscErrorCode AfterPCOptions(KSP ksp, PetscErrorCode (*f)(KSP));

/* How gmres makes its basis orthogonal: by classical Gram-Schmidt? Which refinement, of never, ifneeded,
   always? */
PetscErrorCode OrthogonalizationOf(KSP ksp, PetscBool *classical, int *refinement);

/* What a method means by the name of a norm: minres has called the natural one so since 3.19. */
KSPNormType NormMeant(const char *method, KSPNormType norm);

/* Is the system scaled by its diagonal, or that scaling viewed? */
PetscBool IsScaled(KSP ksp);

/* The test of convergence says nothing before this iteration. */
PetscErrorCode LeastIterations(KSP ksp, PetscInt *its);

/* Another method without KSPSetType, in the KSP's function for options: what creators take for granted. */
PetscErrorCode ForgetMethod(KSP ksp);

/* Does a direction of negative curvature end the solve as converged? KSPSetType sets it back. */
PetscBool EndsAtCurvature(KSP ksp);
void SetEndsAtCurvature(KSP ksp, PetscBool ends);

/* A setting, made by code or option, of this method of Poise, that PETSc has since 3.19 and Poise has not.
   Else *other stays. */
PetscErrorCode LaterSettings(KSP ksp, const char *method, const char **other);

#endif
