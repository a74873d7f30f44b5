/* SPDX-License-Identifier: BSD-3-Clause */
/*
  PETSc's own methods beside Poise's. A KSP of type "poise" keeps the method of PETSc whose place Poise's
  takes, with all that the program has set in code: its setters and getters work on it. It solves where Poise
  has no such method or setting.

  KSPSetType destroys the state of a method before the next one is created. So PETSc's creators are registered
  anew. They create as before, but what they have created is parked when a KSP gets another type. The creator
  of "poise" takes it over, and so does that of the parked type; every other one destroys it first. What has a
  setter and no getter is noted by a function in front of the setter.
*/
#include "plugin.h"

/* ---- words ----------------------------------------------------------------------------------- */

/* Words for methods whose iterates are those of one of Poise. pipefgmres and pipegcr are none, which need not
   give what fgmres does, nor is bcgsl, which looks at the end of a cycle only. PETSc has no idr: its bcgs
   stands in where Poise's idr cannot work; and its cg for bcg. */
static const struct {
  const char *word, *poise, *petsc;
} words[] = {
    {"cg", "cg", "cg"},
    {"groppcg", "cg", "groppcg"},
    {"pipecg", "cg", "pipecg"},
    {"pipecgrr", "cg", "pipecgrr"},
    {"pipecg2", "cg", "pipecg2"},
    {"pipeprcg", "cg", "pipeprcg"},
    {"prcg", "prcg", "pipeprcg"},
    {"bcg", "bcg", "cg"},
    {"bcgs", "bicgstab", "bcgs"},
    {"bicgstab", "bicgstab", "bcgs"},
    {"ibcgs", "bicgstab", "ibcgs"},
    {"pipebcgs", "bicgstab", "pipebcgs"},
    {"fbcgs", "bicgstab", "fbcgs"},
    {"fbcgsr", "bicgstab", "fbcgsr"},
    {"bicgstabl", "bicgstabl", "bcgsl"},
    {"bicg", "bicg", "bicg"},
    {"cgls", "cgls", "cgls"},
    {"cgs", "cgs", "cgs"},
    {"tfqmr", "tfqmr", "tfqmr"},
    {"qmrcgs", "qmrcgs", "qmrcgs"},
    {"idr", "idr", "bcgs"},
    {"fcg", "fcg", "fcg"},
    {"pipefcg", "fcg", "pipefcg"},
    {"gmres", "gmres", "gmres"},
    {"pgmres", "gmres", "pgmres"},
    {"fgmres", "fgmres", "fgmres"},
    {"lgmres", "lgmres", "lgmres"},
    {"gcr", "gcr", "gcr"},
    {"minres", "minres", "minres"},
    {"symmlq", "symmlq", "symmlq"},
    {"lsqr", "lsqr", "lsqr"},
    {"chebyshev", "chebyshev", "chebyshev"},
    {"richardson", "richardson", "richardson"},
    {"preonly", "preonly", "preonly"},
    {"none", "preonly", "preonly"},
};

const char *MethodOf(const char *word)
{
  for (size_t i = 0; word && i < sizeof words / sizeof *words; i++)
    if (!strcmp(word, words[i].word)) return words[i].poise;
  return NULL;
}

const char *PetscMethodOf(const char *word)
{
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (!strcmp(word, words[i].word)) return words[i].petsc;
  return word;
}

/* ---- the method in a KSP --------------------------------------------------------------------- */

static const char key[] = "poise_method";

typedef struct Kept { /* a function that is composed with the KSP */
  char name[NAME];
  Function function;
} Kept;

enum { MOST_KEPT = 32 };

typedef struct Method { /* of PETSc, in a KSP */
  const char *type;
  PetscErrorCode (*destroy)(KSP);
  Said said;
  PetscBool parked; /* then the rest counts */
  struct _KSPOps ops;
  void *data;
  PetscInt norms[KSP_NORM_MAX][PC_SIDE_MAX];
  PetscBool setupnewmatrix, curvature;
  int n;
  Kept kept[MOST_KEPT];
} Method;

static PetscErrorCode Find(KSP ksp, Method **m)
{
  return FindWith((PetscObject)ksp, key, m);
}

PetscErrorCode SaidOf(KSP ksp, Said *said)
{
  Method *m;
  PetscFunctionBegin;
  PetscCall(Find(ksp, &m));
  *said = m ? m->said : (Said){.other = NULL};
  PetscFunctionReturn(0);
}

/* ---- parking --------------------------------------------------------------------------------- */

/* Take the functions of the method, "KSP..._C", from the KSP. */
static PetscErrorCode TakeFunctions(KSP ksp, Method *m)
{
  const char **names;
  int n;
  PetscFunctionBegin;
  m->n = 0;
  PetscCall(PetscFunctionListGet(((PetscObject)ksp)->qlist, &names, &n));
  for (int i = 0; i < n; i++) {
    const size_t length = names[i] ? strlen(names[i]) : 0;
    if (length < 5 || length >= NAME || strncmp(names[i], "KSP", 3) || strcmp(names[i] + length - 2, "_C"))
      continue;
    PetscCheck(m->n < MOST_KEPT, PETSC_COMM_SELF, PETSC_ERR_PLIB, "a method has over %d functions",
               MOST_KEPT);
    Kept *kept = &m->kept[m->n++];
    PetscCall(PetscStrncpy(kept->name, names[i], NAME));
    PetscCall(PetscObjectQueryFunction((PetscObject)ksp, names[i], &kept->function));
  }
  PetscCall(PetscFree(names));
  for (int i = 0; i < m->n; i++)
    PetscCall(PetscObjectComposeFunction((PetscObject)ksp, m->kept[i].name, NULL));
  PetscFunctionReturn(0);
}

/* In place of the method's destroy. */
static PetscErrorCode Park(KSP ksp)
{
  Method *m;
  PetscFunctionBegin;
  PetscCall(Find(ksp, &m));
  if (((PetscObject)ksp)->refct <= 0) { /* KSPDestroy */
    PetscCall(m->destroy(ksp));
    PetscFunctionReturn(0);
  }
  if (ksp->setupstage != KSP_SETUP_NEW && ksp->ops->reset) PetscCall(ksp->ops->reset(ksp));
  m->parked = PETSC_TRUE;
  m->ops = *ksp->ops;
  m->data = ksp->data;
  m->setupnewmatrix = ksp->setupnewmatrix;
  m->curvature = EndsAtCurvature(ksp);
  memcpy(m->norms, ksp->normsupporttable, sizeof m->norms);
  PetscCall(TakeFunctions(ksp, m));
  ksp->data = NULL;
  PetscFunctionReturn(0);
}

/* The data and functions of the parked method, in the KSP again. */
static PetscErrorCode Unpark(KSP ksp, Method *m)
{
  PetscFunctionBegin;
  for (int i = 0; i < m->n; i++)
    PetscCall(PetscObjectComposeFunction((PetscObject)ksp, m->kept[i].name, m->kept[i].function));
  ksp->data = m->data;
  m->parked = PETSC_FALSE;
  PetscFunctionReturn(0);
}

PetscErrorCode TakeMethod(KSP ksp, PetscBool *taken)
{
  Method *m;
  PetscFunctionBegin;
  PetscCall(Find(ksp, &m));
  *taken = m && m->parked ? PETSC_TRUE : PETSC_FALSE;
  if (!*taken) PetscFunctionReturn(0);
  PetscCall(Unpark(ksp, m));
  *ksp->ops = m->ops;
  ksp->setupnewmatrix = m->setupnewmatrix;
  SetEndsAtCurvature(ksp, m->curvature);
  memcpy(ksp->normsupporttable, m->norms, sizeof m->norms);
  PetscFunctionReturn(0);
}

/* ---- what the program says and no getter tells ----------------------------------------------- */

/* The notes, and PETSc's own setter behind the function in front of it. */
static PetscErrorCode Open(KSP ksp, const char *name, Said **said, void *setter)
{
  Method *m;
  PetscFunctionBegin;
  *said = NULL;
  PetscCall(Find(ksp, &m));
  *said = &m->said;
  PetscCall(Behind((PetscObject)ksp, name, setter));
  PetscFunctionReturn(0);
}

static PetscErrorCode SetScale(KSP ksp, PetscReal scale)
{
  Said *said;
  PetscErrorCode (*set)(KSP, PetscReal);
  PetscFunctionBegin;
  PetscCall(Open(ksp, "KSPRichardsonSetScale_C", &said, &set));
  PetscCall(set(ksp, scale));
  said->scale = scale;
  PetscFunctionReturn(0);
}

static PetscErrorCode SetSelfScale(KSP ksp, PetscBool on)
{
  Said *said;
  PetscErrorCode (*set)(KSP, PetscBool);
  PetscFunctionBegin;
  PetscCall(Open(ksp, "KSPRichardsonSetSelfScale_C", &said, &set));
  PetscCall(set(ksp, on));
  if (on) said->other = "KSPRichardsonSetSelfScale";
  PetscFunctionReturn(0);
}

static PetscErrorCode SetEigenvalues(KSP ksp, PetscReal emax, PetscReal emin)
{
  Said *said;
  PetscErrorCode (*set)(KSP, PetscReal, PetscReal);
  PetscFunctionBegin;
  PetscCall(Open(ksp, "KSPChebyshevSetEigenvalues_C", &said, &set));
  PetscCall(set(ksp, emax, emin));
  said->emax = emax;
  said->emin = emin;
  PetscFunctionReturn(0);
}

/* All 0: bounds are not estimated. PETSc calls it so when they are given. */
static PetscErrorCode SetEstimate(KSP ksp, PetscReal a, PetscReal b, PetscReal c, PetscReal d)
{
  Said *said;
  PetscErrorCode (*set)(KSP, PetscReal, PetscReal, PetscReal, PetscReal);
  PetscFunctionBegin;
  PetscCall(Open(ksp, "KSPChebyshevEstEigSet_C", &said, &set));
  PetscCall(set(ksp, a, b, c, d));
  const PetscReal given[] = {a, b, c, d}, defaults[] = {0, 0.1, 0, 1.1};
  for (int i = 0; i < 4; i++) said->estimate[i] = given[i] == PETSC_DECIDE ? defaults[i] : given[i];
  said->estimates = a != 0 || b != 0 || c != 0 || d != 0 ? PETSC_TRUE : PETSC_FALSE;
  if (said->estimates) said->emax = said->emin = 0;
  PetscFunctionReturn(0);
}

static PetscErrorCode SetNoisy(KSP ksp, PetscBool on)
{
  Said *said;
  PetscErrorCode (*set)(KSP, PetscBool);
  PetscFunctionBegin;
  PetscCall(Open(ksp, "KSPChebyshevEstEigSetUseNoisy_C", &said, &set));
  PetscCall(set(ksp, on));
  if (!on) said->other = "KSPChebyshevEstEigSetUseNoisy";
  PetscFunctionReturn(0);
}

static PetscErrorCode GetEstimator(KSP ksp, KSP *estimator)
{
  Said *said;
  PetscErrorCode (*get)(KSP, KSP *);
  PetscFunctionBegin;
  PetscCall(Open(ksp, "KSPChebyshevEstEigGetKSP_C", &said, &get));
  PetscCall(get(ksp, estimator));
  said->other = "KSPChebyshevEstEigGetKSP";
  PetscFunctionReturn(0);
}

/* A number that Poise's methods have not. */
static PetscErrorCode SetOther(KSP ksp, const char *composed, const char *setter, PetscReal value)
{
  Said *said;
  PetscErrorCode (*set)(KSP, PetscReal);
  PetscFunctionBegin;
  PetscCall(Open(ksp, composed, &said, &set));
  PetscCall(set(ksp, value));
  said->other = setter;
  PetscFunctionReturn(0);
}

static PetscErrorCode SetHapTol(KSP ksp, PetscReal tolerance)
{
  return SetOther(ksp, "KSPGMRESSetHapTol_C", "KSPGMRESSetHapTol", tolerance);
}

static PetscErrorCode SetRadius(KSP ksp, PetscReal radius)
{
  return SetOther(ksp, "KSPCGSetRadius_C", "KSPCGSetRadius", radius);
}

static PetscErrorCode SetTarget(KSP ksp, PetscReal target)
{
  return SetOther(ksp, "KSPCGSetObjectiveTarget_C", "KSPCGSetObjectiveTarget", target);
}

static PetscErrorCode SetRadiusMINRES(KSP ksp, PetscReal radius)
{
  return SetOther(ksp, "KSPMINRESSetRadius_C", "KSPMINRESSetRadius", radius);
}

static PetscErrorCode SetBreakdown(KSP ksp, PetscReal tolerance)
{
  Said *said;
  PetscErrorCode (*set)(KSP, PetscReal);
  PetscFunctionBegin;
  PetscCall(Open(ksp, "KSPGMRESSetBreakdownTolerance_C", &said, &set));
  PetscCall(set(ksp, tolerance));
  said->breakdown = tolerance;
  PetscFunctionReturn(0);
}

static PetscErrorCode SetAugment(KSP ksp, PetscInt augment)
{
  Said *said;
  PetscErrorCode (*set)(KSP, PetscInt);
  PetscFunctionBegin;
  PetscCall(Open(ksp, "KSPLGMRESSetAugDim_C", &said, &set));
  PetscCall(set(ksp, augment));
  said->augment = augment;
  said->augments = PETSC_TRUE;
  PetscFunctionReturn(0);
}

static PetscErrorCode SetModifyFGMRES(KSP ksp, ModifyFGMRES *f, void *arg, DestroyContext *destroy)
{
  Said *said;
  PetscErrorCode (*set)(KSP, ModifyFGMRES *, void *, DestroyContext *);
  PetscFunctionBegin;
  PetscCall(Open(ksp, "KSPFGMRESSetModifyPC_C", &said, &set));
  PetscCall(set(ksp, f, arg, destroy));
  if (f != KSPFlexibleModifyPCNoChange) said->other = "KSPFGMRESSetModifyPC";
  PetscFunctionReturn(0);
}

/* since 3.24 for all flexible methods */
static PetscErrorCode SetModifyFlexible(KSP ksp, ModifyFGMRES *f, void *arg, DestroyContext *destroy)
{
  Said *said;
  PetscErrorCode (*set)(KSP, ModifyFGMRES *, void *, DestroyContext *);
  PetscFunctionBegin;
  PetscCall(Open(ksp, "KSPFlexibleSetModifyPC_C", &said, &set));
  PetscCall(set(ksp, f, arg, destroy));
  if (f != KSPFlexibleModifyPCNoChange) said->other = "KSPFlexibleSetModifyPC";
  PetscFunctionReturn(0);
}

static PetscErrorCode SetModifyGCR(KSP ksp, ModifyGCR *f, void *arg, DestroyContext *destroy)
{
  Said *said;
  PetscErrorCode (*set)(KSP, ModifyGCR *, void *, DestroyContext *);
  PetscFunctionBegin;
  PetscCall(Open(ksp, "KSPGCRSetModifyPC_C", &said, &set));
  PetscCall(set(ksp, f, arg, destroy));
  said->other = "KSPGCRSetModifyPC";
  PetscFunctionReturn(0);
}

/* PETSc's exchanges the function that solves. */
static PetscErrorCode UseSingleReduction(KSP ksp, PetscBool on)
{
  Said *said;
  PetscErrorCode (*set)(KSP, PetscBool);
  PetscErrorCode (*const solve)(KSP) = ksp->ops->solve;
  PetscFunctionBegin;
  PetscCall(Open(ksp, "KSPCGUseSingleReduction_C", &said, &set));
  PetscCall(set(ksp, on));
  PetscCall(KeepSolve(ksp, solve));
  PetscFunctionReturn(0);
}

static const Listener setters[] = {
    {"KSPRichardsonSetScale_C", (Function)SetScale},
    {"KSPRichardsonSetSelfScale_C", (Function)SetSelfScale},
    {"KSPChebyshevSetEigenvalues_C", (Function)SetEigenvalues},
    {"KSPChebyshevEstEigSet_C", (Function)SetEstimate},
    {"KSPChebyshevEstEigSetUseNoisy_C", (Function)SetNoisy},
    {"KSPChebyshevEstEigGetKSP_C", (Function)GetEstimator},
    {"KSPGMRESSetHapTol_C", (Function)SetHapTol},
    {"KSPGMRESSetBreakdownTolerance_C", (Function)SetBreakdown},
    {"KSPLGMRESSetAugDim_C", (Function)SetAugment},
    {"KSPFGMRESSetModifyPC_C", (Function)SetModifyFGMRES},
    {"KSPGCRSetModifyPC_C", (Function)SetModifyGCR},
    {"KSPFlexibleSetModifyPC_C", (Function)SetModifyFlexible},
    {"KSPCGSetRadius_C", (Function)SetRadius},
    {"KSPCGSetObjectiveTarget_C", (Function)SetTarget},
    {"KSPMINRESSetRadius_C", (Function)SetRadiusMINRES},
    {"KSPCGUseSingleReduction_C", (Function)UseSingleReduction},
};

/* ---- creators -------------------------------------------------------------------------------- */

static PetscErrorCode Create(KSP ksp, const char *type, PetscErrorCode (*create)(KSP))
{
  Method *m;
  PetscBool taken = PETSC_FALSE;
  PetscFunctionBegin;
  PetscCall(Find(ksp, &m));
  if (!m) {
    PetscCall(PetscNew(&m));
    PetscCall(KeepWith((PetscObject)ksp, key, m, PETSC_TRUE));
  }
  if (m->parked && !strcmp(m->type, type)) PetscCall(TakeMethod(ksp, &taken));
  if (taken) PetscFunctionReturn(0);
  if (m->parked) {
    PetscCall(Unpark(ksp, m));
    PetscCall(m->destroy(ksp));
    ksp->data = NULL;
  }
  m->type = type;
  m->said = (Said){.other = NULL};
  PetscCall(create(ksp));
  PetscCall(Listen((PetscObject)ksp, sizeof setters / sizeof *setters, setters));
  m->destroy = ksp->ops->destroy;
  ksp->ops->destroy = Park;
  PetscFunctionReturn(0);
}

/* clang-format off */
#define METHODS(X)                                                                                      \
  X(cg) X(groppcg) X(pipecg) X(pipecgrr) X(pipelcg) X(pipeprcg) X(pipecg2) X(cgne) X(nash) X(stcg)      \
  X(gltr) X(richardson) X(chebyshev) X(gmres) X(tcqmr) X(fcg) X(pipefcg) X(bcgs) X(ibcgs) X(qmrcgs)     \
  X(fbcgs) X(pipebcgs) X(fbcgsr) X(bcgsl) X(cgs) X(tfqmr) X(cr) X(pipecr) X(lsqr) X(preonly) X(none)    \
  X(qcg) X(bicg) X(fgmres) X(pipefgmres) X(minres) X(symmlq) X(lgmres) X(lcd) X(gcr) X(pipegcr)         \
  X(pgmres) X(dgmres) X(tsirm) X(cgls) X(fetidp) X(hpddm) X(idr) X(eksm) X(python)
/* clang-format on */

#define CREATOR(name)                          \
  static PetscErrorCode (*petsc_##name)(KSP);  \
  static PetscErrorCode Create_##name(KSP ksp) \
  {                                            \
    return Create(ksp, #name, petsc_##name);   \
  }
METHODS(CREATOR)

/* Register ours in place of PETSc's creator, if PETSc has the method. */
static PetscErrorCode Register(const char *name, PetscErrorCode (*ours)(KSP), PetscErrorCode (**petsc)(KSP))
{
  PetscErrorCode (*found)(KSP);
  PetscFunctionBegin;
  PetscCall(PetscFunctionListFind(KSPList, name, &found));
  if (!found || found == ours) PetscFunctionReturn(0);
  *petsc = found;
  PetscCall(KSPRegister(name, ours));
  PetscFunctionReturn(0);
}

#define REGISTER(name) PetscCall(Register(#name, Create_##name, &petsc_##name));

PetscErrorCode RegisterMethods(void)
{
  PetscFunctionBegin;
  METHODS(REGISTER)
  PetscFunctionReturn(0);
}

PetscErrorCode HasMethod(const char *name, PetscBool *has)
{
  PetscErrorCode (*create)(KSP);
  PetscFunctionBegin;
  PetscCall(PetscFunctionListFind(KSPList, name, &create));
  *has = create && create != KSPCreate_Poise ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(0);
}

PetscErrorCode MakeMethod(KSP ksp, const char *name)
{
  PetscErrorCode (*create)(KSP);
  PetscFunctionBegin;
  PetscCall(PetscFunctionListFind(KSPList, name, &create));
  PetscCall(create(ksp));
  PetscFunctionReturn(0);
}
