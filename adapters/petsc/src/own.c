/* SPDX-License-Identifier: BSD-3-Clause */
/* Where Poise has not the program's method, or a setting of it, PETSc's own method works. Its state is the
   KSP's (method.c), so nothing of it need be handed on. */
#include "solver.h"

/* Does Poise's method watch this norm, with the preconditioner on this side? */
static PetscBool Watches(const char *method, KSPNormType norm, PCSide side)
{
  static const char *const of_both_sides[] = {"gmres", "lgmres", "bicgstab", "bicgstabl",
                                              "cgs",   "tfqmr",  "idr"};
  const PetscBool left = side == PC_LEFT ? PETSC_TRUE : PETSC_FALSE, none = norm == KSP_NORM_NONE,
                  plain = norm == KSP_NORM_UNPRECONDITIONED;
  if (side == PC_SYMMETRIC) return !strcmp(method, "gmres") && (none || norm == KSP_NORM_PRECONDITIONED);
  if (!strcmp(method, "preonly")) return PETSC_TRUE;
  if (!strcmp(method, "fgmres") || !strcmp(method, "gcr") || !strcmp(method, "qmrcgs"))
    return !left && (plain || none);
  if (!strcmp(method, "cg") || !strcmp(method, "bcg") || !strcmp(method, "prcg") || !strcmp(method, "fcg"))
    return left;
  for (size_t i = 0; i < sizeof of_both_sides / sizeof *of_both_sides; i++)
    if (!strcmp(method, of_both_sides[i])) return none || (norm != KSP_NORM_NATURAL && plain != left);
  if (!strcmp(method, "minres") || !strcmp(method, "symmlq")) return left && !plain;
  if (!strcmp(method, "cgls")) return left && (plain || none);
  if (!strcmp(method, "lsqr")) return left && plain; /* PETSc's tests the other norm all the same */
  return left && norm != KSP_NORM_NATURAL;
}

/* Does Poise's method keep what eigenvalues and singular values are made of? */
PetscBool HasSpectrum(const char *method)
{
  return !strcmp(method, "cg") || !strcmp(method, "gmres") || !strcmp(method, "fgmres") ? PETSC_TRUE
                                                                                        : PETSC_FALSE;
}

/* Poise's fcg has Notay's. */
static PetscErrorCode TruncationOfFCG(KSP ksp, const char **other)
{
  KSPFCDTruncationType of_fcg = KSP_FCD_TRUNC_TYPE_NOTAY, of_pipefcg = KSP_FCD_TRUNC_TYPE_NOTAY;
  PetscFunctionBegin;
  if (IsForPetsc(ksp, KSPFCG)) PetscCall(KSPFCGGetTruncationType(ksp, &of_fcg));
  if (IsForPetsc(ksp, KSPPIPEFCG)) PetscCall(KSPPIPEFCGGetTruncationType(ksp, &of_pipefcg));
  if (of_fcg != KSP_FCD_TRUNC_TYPE_NOTAY) *other = "KSPFCGSetTruncationType";
  if (of_pipefcg != KSP_FCD_TRUNC_TYPE_NOTAY) *other = "KSPPIPEFCGSetTruncationType";
  PetscFunctionReturn(0);
}

/* What the program has said of the method that Poise's has not, or NULL. */
static PetscErrorCode Otherwise(KSP ksp, const char **other)
{
  const Data *d = DataOf(ksp);
  PetscBool classical;
  int refines;
  PetscInt restart;
  Said said;
  PetscFunctionBegin;
  PetscCall(SaidOf(ksp, &said));
  PetscCall(RestartOf(ksp, &restart));
  PetscCall(OrthogonalizationOf(ksp, &classical, &refines));
  *other = said.other;
  if (*d->other) *other = d->other;
  PetscCall(TruncationOfFCG(ksp, other));
  PetscCall(LaterSettings(ksp, d->method, other));
  if (restart > 10000) *other = "a restart of more than 10000";
  const PetscBool orthogonalizes = strstr(d->method, "gmres") ? PETSC_TRUE : PETSC_FALSE;
  if (orthogonalizes && !classical) *other = "KSPGMRESSetOrthogonalization";
  if (orthogonalizes && refines != d->refines) *other = "KSPGMRESSetCGSRefinementType after the options";
  if (said.estimates && memcmp(said.estimate, d->estimate, sizeof d->estimate))
    *other = "KSPChebyshevEstEigSet after the options";
  PetscFunctionReturn(0);
}

/* PETSc's bddc needs fewer solves inside for a KSP with one of these names. */
PetscErrorCode WantsName(KSP ksp, PetscBool *wants)
{
  static const char *const names[] = {KSPCG, KSPGROPPCG, KSPPIPECG};
  const Data *d = DataOf(ksp);
  PetscBool bddc = PETSC_FALSE;
  PetscFunctionBegin;
  *wants = PETSC_FALSE;
  if (ksp->pc) PetscCall(PetscObjectTypeCompare((PetscObject)ksp->pc, PCBDDC, &bddc));
  for (size_t i = 0; bddc && i < sizeof names / sizeof *names; i++)
    if (!strcmp(PetscMethodOf(d->asked), names[i])) *wants = PETSC_TRUE;
  PetscFunctionReturn(0);
}

/* Does a preconditioner of Poise work that has a transpose? */
static PetscBool TransposedPC(const Data *d)
{
  static const char *const types[] = {"none", "jacobi", "pbjacobi", "ilu", "icc", "lu", "cholesky"};
  for (size_t i = 0; d->chosen.own && !d->back && i < sizeof types / sizeof *types; i++)
    if (!strcmp(d->chosen.type, types[i])) return PETSC_TRUE;
  return PETSC_FALSE;
}

/* Does the solve take one cycle of gmres? PETSc keeps the last whole one for Ritz pairs. */
static PetscBool OneCycle(KSP ksp)
{
  PetscInt restart = 0, rows = ksp->pc && ksp->pc->mat ? ksp->pc->mat->rmap->N : 0;
  if (strcmp(DataOf(ksp)->method, "gmres") || RestartOf(ksp, &restart)) return PETSC_FALSE;
  return ksp->max_it <= restart || rows <= restart ? PETSC_TRUE : PETSC_FALSE;
}

/* Where the iterates or norms of Poise's method are not those of PETSc's. */
static PetscErrorCode WhyNotFor(KSP ksp, char why[NAME])
{
  const Data *d = DataOf(ksp);
  PetscBool none;
  MatNullSpace space;
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)ksp->pc, PCNONE, &none));
  const PetscBool own = d->chosen.own && !d->back ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(MatGetNullSpace(ksp->pc->mat, &space));
  if (IsSplit(ksp) && (d->chosen.by_poise || ksp->transpose_solve || !ksp->guess_zero || space))
    PetscCall(
        PetscStrncpy(why, "a guess, null space, or Poise's PC with preconditioning from both sides", NAME));
  else if (IsForPetsc(ksp, KSPPIPEFCG) && !own && !none)
    PetscCall(PetscStrncpy(why, "PETSc's preconditioner may vary, with which pipefcg is not fcg", NAME));
  else if (IsForPetsc(ksp, KSPPIPEFCG) && ksp->normtype == KSP_NORM_NATURAL)
    PetscCall(PetscStrncpy(why, "PETSc's pipefcg has the natural norm of the iteration before", NAME));
  else if (IsForPetsc(ksp, KSPSYMMLQ) && !none)
    PetscCall(PetscStrncpy(why, "PETSc's symmlq compares natural norms with a preconditioned one", NAME));
  PetscFunctionReturn(0);
}

PetscErrorCode WhyPetsc(KSP ksp, char why[NAME])
{
  const Data *d = DataOf(ksp);
  PetscBool named;
  const char *other = NULL;
  PetscFunctionBegin;
  PetscCall(Otherwise(ksp, &other));
  PetscCall(WantsName(ksp, &named));
  *why = 0;
  if (!*d->method)
    PetscCall(PetscStrncpy(why, "Poise has no such method", NAME));
  else if (ksp->calc_ritz && !OneCycle(ksp))
    PetscCall(PetscStrncpy(why, "Ritz pairs are asked for, of gmres with more than a cycle", NAME));
  else if ((ksp->calc_ritz || ksp->calc_sings) && !HasSpectrum(d->method))
    PetscCall(PetscStrncpy(why, "eigenvalues or singular values of the iteration are asked for", NAME));
  else if (!strcmp(d->method, "bicg") && !TransposedPC(d))
    PetscCall(PetscStrncpy(why, "Poise's bicg wants a preconditioner of Poise with a transpose", NAME));
  else if (ksp->numbermonitors && !strcmp(d->method, "preonly"))
    PetscCall(PetscStrncpy(why, "PETSc's preonly shows monitors the residual", NAME));
  else if (named)
    PetscCall(
        PetscSNPrintf(why, NAME, "PETSc's bddc works less for a KSP named %s", PetscMethodOf(d->asked)));
  else if (ksp->lagnorm)
    PetscCall(PetscStrncpy(why, "the norm lags", NAME));
  else if (other)
    PetscCall(PetscSNPrintf(why, NAME, "Poise's %s has not: %s", d->method, other));
  else if (!Watches(d->method, ksp->normtype, ksp->pc_side))
    PetscCall(PetscSNPrintf(why, NAME, "Poise's %s has no %s norm with side %s", d->method,
                            KSPNormTypes[ksp->normtype], PCSides[ksp->pc_side]));
  else
    PetscCall(WhyNotFor(ksp, why));
  PetscFunctionReturn(0);
}

/* Poise's preconditioner, if the program asks for it, in a method of PETSc. */
static PetscErrorCode UsePoisePC(KSP ksp)
{
  const Data *d = DataOf(ksp);
  PetscBool is;
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)ksp->pc, "poise", &is));
  if (is || !d->chosen.by_poise) PetscFunctionReturn(0);
  PetscCall(PCSetType(ksp->pc, "poise"));
  PetscCall(ksp->pc->ops->setfromoptions(ksp->pc, NULL)); /* PCSetFromOptions would read -pc_type too */
  PetscFunctionReturn(0);
}

PetscErrorCode UsePetsc(KSP ksp, const char *why)
{
  Data *d = DataOf(ksp);
  const PetscBool new = !d->petsc_works || ksp->setupstage == KSP_SETUP_NEW ? PETSC_TRUE : PETSC_FALSE,
                  other = strcmp(why, d->why) ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionBegin;
  if (other) {
    PetscCall(PetscInfo(ksp, "PETSc's own %s is used: %s\n", PetscMethodOf(d->asked), why));
    PetscCall(TellStrictly(ksp, "method", PetscMethodOf(d->asked), why));
    PetscCall(PetscStrncpy(d->why, why, NAME));
  }
  if (!d->petsc_works) {
    PetscCall(GiveBackPC(&d->lent));
    for (int k = 0; k < 2; k++) PetscCall(DropEngine(&d->engine[k]));
    d->now = NULL;
    d->petsc_works = PETSC_TRUE;
    PetscCall(SetFunctions(ksp));
  }
  PetscCall(UsePoisePC(ksp));
  if (new || d->petsc_newmatrix) PetscCall(d->petsc.setup(ksp));
  PetscFunctionReturn(0);
}

PetscErrorCode UsePoise(KSP ksp)
{
  Data *d = DataOf(ksp);
  PetscFunctionBegin;
  *d->why = 0;
  if (!d->petsc_works) PetscFunctionReturn(0);
  if (d->petsc.reset) PetscCall(d->petsc.reset(ksp));
  d->petsc_works = PETSC_FALSE;
  PetscCall(SetFunctions(ksp));
  PetscFunctionReturn(0);
}
