/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of a KSP "poise": of PETSc's method, of Poise, and -poise_strict. */
#include "solver.h"

/* Options of PETSc's methods that have no setter, and that Poise's have not. */
static const char *const of_methods[][2] = {
    {"gmres", "-ksp_gmres_haptol"},
    {"gmres", "-ksp_gmres_krylov_monitor"},
    {"richardson", "-ksp_richardson_self_scale"},
    {"minres", "-ksp_minres_radius"},
    {"minres", "-ksp_minres_old"},
    {"chebyshev", "-ksp_chebyshev_esteig_noisy"},
    {"chebyshev", "-esteig_ksp_type"},
    {"chebyshev", "-esteig_ksp_max_it"},
    {"chebyshev", "-esteig_pc_type"},
};

static PetscErrorCode LookForOthers(KSP ksp, const char *prefix)
{
  Data *d = DataOf(ksp);
  PetscBool given;
  PetscFunctionBegin;
  *d->other = 0;
  for (size_t i = 0; i < sizeof of_methods / sizeof *of_methods; i++) {
    if (strcmp(d->method, of_methods[i][0])) continue;
    PetscCall(PetscOptionsHasName(NULL, prefix, of_methods[i][1], &given));
    if (given) PetscCall(PetscStrncpy(d->other, of_methods[i][1], NAME));
  }
  PetscFunctionReturn(0);
}

/* As options of Poise: what its methods have no function for. */
static PetscErrorCode AddOfMethods(KSP ksp, const char *prefix, char *text, size_t room)
{
  static const char *const refinements[] = {"never", "ifneeded", "always"};
  Data *d = DataOf(ksp);
  const PetscReal *by = d->estimate;
  char line[3 * NAME];
  PetscInt steps;
  PetscBool given, classical;
  Said said;
  PetscFunctionBegin;
  PetscCall(SaidOf(ksp, &said));
  PetscCall(OrthogonalizationOf(ksp, &classical, &d->refines));
  if (d->refines) {
    PetscCall(PetscSNPrintf(line, sizeof line, "-ksp_gmres_cgs_refinement_type refine_%s\n",
                            refinements[d->refines]));
    PetscCall(PetscStrlcat(text, line, room));
  }
  memcpy(d->estimate, said.estimate, sizeof d->estimate);
  if (said.estimates) {
    PetscCall(PetscSNPrintf(line, sizeof line, "-ksp_chebyshev_esteig %.17g,%.17g,%.17g,%.17g\n", by[0],
                            by[1], by[2], by[3]));
    PetscCall(PetscStrlcat(text, line, room));
  }
  PetscCall(PetscOptionsGetInt(NULL, prefix, "-ksp_chebyshev_esteig_steps", &steps, &given));
  if (given && !strcmp(d->method, "chebyshev")) {
    PetscCall(PetscSNPrintf(line, sizeof line, "-ksp_chebyshev_esteig_steps %d\n", (int)steps));
    PetscCall(PetscStrlcat(text, line, room));
  }
  PetscFunctionReturn(0);
}

PetscErrorCode SetMethod(KSP ksp, const char *asked)
{
  Data *d = DataOf(ksp);
  const char *method = MethodOf(asked);
  PetscBool has;
  PetscFunctionBegin;
  if (strcmp(PetscMethodOf(asked), PetscMethodOf(d->asked))) {
    PetscCall(HasMethod(PetscMethodOf(asked), &has));
    PetscCheck(
        has, PetscObjectComm((PetscObject)ksp), PETSC_ERR_ARG_UNKNOWN_TYPE,
        "neither Poise nor PETSc has a method %s. Poise has cg bcg prcg bicgstab bicgstabl bicg cgs "
        "tfqmr qmrcgs idr cgls lsqr fcg gcr gmres fgmres lgmres minres symmlq chebyshev richardson preonly",
        asked);
    if (d->petsc_works && d->petsc.reset) PetscCall(d->petsc.reset(ksp));
    d->petsc_works = PETSC_FALSE;
    ksp->setupstage = KSP_SETUP_NEW;
    *ksp->ops = d->petsc;
    PetscTryTypeMethod(ksp, destroy);
    PetscCall(PetscMemzero(ksp->ops, sizeof *ksp->ops));
    ksp->ops->buildsolution = KSPBuildSolutionDefault;
    ksp->ops->buildresidual = KSPBuildResidualDefault;
    PetscCall(PetscMemzero(ksp->normsupporttable, sizeof ksp->normsupporttable));
    PetscCall(ForgetMethod(ksp));
    PetscCall(MakeMethod(ksp, PetscMethodOf(asked)));
    d->petsc = *ksp->ops;
    d->petsc_newmatrix = ksp->setupnewmatrix;
  }
  PetscCall(PetscStrncpy(d->asked, asked, NAME));
  PetscCall(PetscStrncpy(d->method, method ? method : "", NAME));
  PetscCall(SetFunctions(ksp));
  PetscFunctionReturn(0);
}

static PetscErrorCode ReadStrict(KSP ksp, const char *prefix)
{
  static const char *const words[] = {"no", "line", "error"};
  Data *d = DataOf(ksp);
  char word[NAME];
  PetscBool given, found;
  PetscInt at = STRICT_NO;
  PetscFunctionBegin;
  PetscCall(PetscOptionsGetString(NULL, prefix, "-poise_strict", word, NAME, &given));
  if (given && *word) {
    PetscCall(PetscEListFind(3, words, word, &at, &found));
    PetscCheck(found, PetscObjectComm((PetscObject)ksp), PETSC_ERR_USER_INPUT,
               "-%spoise_strict %s: it is no, line or error", prefix ? prefix : "", word);
  }
  d->strict = given && !*word ? STRICT_LINE : (Strict)at;
  PetscFunctionReturn(0);
}

PetscErrorCode TakeAllOptions(KSP ksp, PetscBool fresh)
{
  Data *d = DataOf(ksp);
  const char *prefix;
  char first[4096];
  PetscFunctionBegin;
  PetscCall(KSPGetOptionsPrefix(ksp, &prefix));
  PetscCall(PetscStrncpy(first, d->chosen.options, sizeof first));
  PetscCall(AddOfMethods(ksp, prefix, first, sizeof first));
  if (fresh)
    PetscCall(TakeOptions(d->ctx, prefix, first, &d->taken));
  else
    PetscCall(RenewOptions(d->taken, first));
  d->noted = PETSC_FALSE;
  for (int k = 0; k < 2; k++) PetscCall(DropEngine(&d->engine[k]));
  d->now = NULL;
  PetscFunctionReturn(0);
}

/* Once the PC has its type. */
static PetscErrorCode ChooseAndTake(KSP ksp)
{
  Data *d = DataOf(ksp);
  const char *prefix;
  PetscBool named;
  PetscFunctionBegin;
  PetscCall(KSPGetOptionsPrefix(ksp, &prefix));
  PetscCall(ChoosePC(ksp->pc, &d->chosen));
  PetscCall(LookForOthers(ksp, prefix));
  PetscCall(GiveBackPC(&d->lent));
  PetscCall(TakeAllOptions(ksp, PETSC_TRUE));
  d->back = PETSC_FALSE;
  ksp->setupstage = KSP_SETUP_NEW;
  /* codes ask for some of these by name, such as TAO for stcg */
  PetscCall(WantsName(ksp, &named));
  if (!*d->method || named) PetscCall(PetscObjectChangeTypeName((PetscObject)ksp, PetscMethodOf(d->asked)));
  PetscFunctionReturn(0);
}

PetscErrorCode SetFromOptions(KSP ksp, OptionItems PetscOptionsObject)
{
  Data *d = DataOf(ksp);
  const char *prefix;
  char word[NAME];
  PetscBool given;
  PetscFunctionBegin;
  PetscCall(ContextOf(PetscObjectComm((PetscObject)ksp), &d->ctx));
  PetscCall(KSPGetOptionsPrefix(ksp, &prefix));
  PetscCall(ReadStrict(ksp, prefix));
  PetscCall(PetscOptionsGetString(NULL, prefix, "-poise_ksp_type", word, NAME, &given));
  if (given) PetscCall(SetMethod(ksp, word));
  *ksp->ops = d->petsc;
  PetscTryTypeMethod(ksp, setfromoptions, PetscOptionsObject);
  d->petsc = *ksp->ops;
  PetscCall(SetFunctions(ksp));
  if (!ksp->pc) PetscCall(KSPGetPC(ksp, &ksp->pc));
  PetscCall(AfterPCOptions(ksp, ChooseAndTake));
  PetscFunctionReturn(0);
}
