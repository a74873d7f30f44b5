/* SPDX-License-Identifier: BSD-3-Clause */
#include "plugin.h"

#if PETSC_VERSION_LT(3, 23, 0)
PetscErrorCode FreeWith(PetscContainer box)
{
  return PetscContainerSetUserDestroy(box, PetscContainerUserDestroyDefault);
}
#else
PetscErrorCode FreeWith(PetscContainer box)
{
  return PetscContainerSetCtxDestroy(box, PetscCtxDestroyDefault);
}
#endif

#if PETSC_VERSION_LT(3, 25, 0)
PetscErrorCode AfterPCOptions(KSP ksp, PetscErrorCode (*f)(KSP))
{
  return f(ksp);
}
#else
static const char waiting[] = "poise_waiting";

typedef struct Waiting { /* with the PC */
  KSP ksp;
  PetscErrorCode (*call)(KSP);
} Waiting;

static PetscErrorCode CallWaiting(PetscObject pc, OptionItems items, void *arg)
{
  Waiting *w = arg;
  KSP ksp = w->ksp;
  (void)items;
  PetscFunctionBegin;
  w->ksp = NULL;
  if (ksp && (PetscObject)ksp->pc == pc) PetscCall(w->call(ksp));
  PetscFunctionReturn(0);
}

PetscErrorCode AfterPCOptions(KSP ksp, PetscErrorCode (*f)(KSP))
{
  PetscObject pc = (PetscObject)ksp->pc;
  Waiting *w;
  PetscFunctionBegin;
  if (ksp->skippcsetfromoptions) {
    PetscCall(f(ksp));
    PetscFunctionReturn(0);
  }
  PetscCall(FindWith(pc, waiting, &w));
  if (!w) {
    PetscCall(PetscNew(&w));
    PetscCall(KeepWith(pc, waiting, w, PETSC_TRUE));
    PetscCall(PetscObjectAddOptionsHandler(pc, CallWaiting, NULL, w));
  }
  *w = (Waiting){.ksp = ksp, .call = f};
  PetscFunctionReturn(0);
}
#endif

#if PETSC_VERSION_LT(3, 26, 0)
PetscErrorCode OrthogonalizationOf(KSP ksp, PetscBool *classical, int *refinement)
{
  PetscErrorCode (*orthogonalize)(KSP, PetscInt) = NULL;
  KSPGMRESCGSRefinementType refines = KSP_GMRES_CGS_REFINE_NEVER;
  PetscFunctionBegin;
  PetscTryMethod(ksp, "KSPGMRESGetOrthogonalization_C", (KSP, PetscErrorCode(**)(KSP, PetscInt)),
                 (ksp, &orthogonalize));
  PetscTryMethod(ksp, "KSPGMRESGetCGSRefinementType_C", (KSP, KSPGMRESCGSRefinementType *), (ksp, &refines));
  *classical = !orthogonalize || orthogonalize == KSPGMRESClassicalGramSchmidtOrthogonalization ? PETSC_TRUE
                                                                                                : PETSC_FALSE;
  *refinement = (int)refines;
  PetscFunctionReturn(0);
}

PetscBool IsScaled(KSP ksp)
{
  return ksp->dscale || ksp->viewDScale ? PETSC_TRUE : PETSC_FALSE;
}
#else
PetscErrorCode OrthogonalizationOf(KSP ksp, PetscBool *classical, int *refinement)
{
  KSPOrthogonalizationFn *orthogonalize;
  KSPOrthogonalizationCGSRefinementType refines;
  PetscFunctionBegin;
  PetscCall(KSPOrthogonalizationGet(ksp, &orthogonalize));
  PetscCall(KSPOrthogonalizationGetCGSRefinementType(ksp, &refines));
  *classical = orthogonalize == KSPOrthogonalizationClassicalGramSchmidt ? PETSC_TRUE : PETSC_FALSE;
  *refinement = (int)refines;
  PetscFunctionReturn(0);
}

PetscBool IsScaled(KSP ksp)
{
  (void)ksp;
  return PETSC_FALSE;
}
#endif

#if PETSC_VERSION_LT(3, 19, 0)
PetscBool EndsAtCurvature(KSP ksp)
{
  (void)ksp;
  return PETSC_FALSE;
}

void SetEndsAtCurvature(KSP ksp, PetscBool ends)
{
  (void)ksp;
  (void)ends;
}

static PetscErrorCode ReadCurvature(KSP ksp)
{
  (void)ksp;
  return 0;
}

KSPNormType NormMeant(const char *method, KSPNormType norm)
{
  (void)method;
  return norm;
}

PetscErrorCode LaterSettings(KSP ksp, const char *method, const char **other)
{
  (void)ksp;
  (void)method;
  (void)other;
  return 0;
}
#else
PetscBool EndsAtCurvature(KSP ksp)
{
  return ksp->converged_neg_curve;
}

void SetEndsAtCurvature(KSP ksp, PetscBool ends)
{
  ksp->converged_neg_curve = ends;
}

/* KSPSetType has set it back before its option was read. */
static PetscErrorCode ReadCurvature(KSP ksp)
{
  PetscBool ends = PETSC_FALSE;
  const char *prefix;
  PetscFunctionBegin;
  PetscCall(KSPGetOptionsPrefix(ksp, &prefix));
  PetscCall(PetscOptionsGetBool(NULL, prefix, "-ksp_converged_neg_curve", &ends, NULL));
  SetEndsAtCurvature(ksp, ends);
  PetscFunctionReturn(0);
}

KSPNormType NormMeant(const char *method, KSPNormType norm)
{
  return norm == KSP_NORM_PRECONDITIONED && !strcmp(method, "minres") ? KSP_NORM_NATURAL : norm;
}

PetscErrorCode LaterSettings(KSP ksp, const char *method, const char **other)
{
  KSPChebyshevKind kind = KSP_CHEBYSHEV_FIRST;
  PetscBool qlp = PETSC_FALSE;
  PetscFunctionBegin;
  PetscTryMethod(ksp, "KSPChebyshevGetKind_C", (KSP, KSPChebyshevKind *), (ksp, &kind));
  PetscTryMethod(ksp, "KSPMINRESGetUseQLP_C", (KSP, PetscBool *), (ksp, &qlp));
  if (kind != KSP_CHEBYSHEV_FIRST) *other = "KSPChebyshevSetKind";
  if (qlp) *other = "KSPMINRESSetUseQLP";
  if (EndsAtCurvature(ksp) && (strstr(method, "cg") || !strcmp(method, "minres")))
    *other = "KSPSetConvergedNegativeCurvature";
  PetscFunctionReturn(0);
}
#endif

#if PETSC_VERSION_LT(3, 20, 0)
PetscErrorCode LeastIterations(KSP ksp, PetscInt *its)
{
  (void)ksp;
  *its = 0;
  return 0;
}

PetscErrorCode ForgetMethod(KSP ksp)
{
  ksp->setupnewmatrix = PETSC_FALSE;
  return ReadCurvature(ksp);
}
#else
PetscErrorCode LeastIterations(KSP ksp, PetscInt *its)
{
  return KSPGetMinimumIterations(ksp, its);
}

PetscErrorCode ForgetMethod(KSP ksp)
{
  ksp->setupnewmatrix = PETSC_FALSE;
  ksp->guess_not_read = PETSC_FALSE;
  return ReadCurvature(ksp);
}
#endif
