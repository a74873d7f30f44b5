/* SPDX-License-Identifier: BSD-3-Clause */
/*
  PC mg: multigrid whose levels the application gives, as PETSc's PCMG. It gives what leads from a level to
  the one beneath; operators of coarse levels are its own, or products R A P (mg_levels.c). A smoother is a
  solver of the level's operator with 2 Chebyshev steps and jacobi (options -mg_levels_..., and of level k
  -mg_levels_k_...), that of the coarsest level preonly and lu (-mg_coarse_...).
*/
#include "mat/object/mat.h"
#include "mg.h"
#include "sys/options/options.h"

static const PoiseOption options[] = {
    {"pc_mg_levels", POISE_OPTION_INT, offsetof(Mg, levels), "1", 1, MG_MOST, NULL,
     "levels, of which the application gives what leads from one to the next"},
    {"pc_mg_type", POISE_OPTION_CHOICE, offsetof(Mg, type), "multiplicative", 0, 0,
     "multiplicative|additive|full|kaskade",
     "cycles; smoothing of all levels by itself; from the coarsest level upwards by cycles, or by smoothing"},
    {"pc_mg_cycle_type", POISE_OPTION_CHOICE, offsetof(Mg, cycle), "v", 0, 0, "v|w",
     "a cycle visits the next coarser level once or twice"},
    {"pc_mg_multiplicative_cycles", POISE_OPTION_INT, offsetof(Mg, cycles), "1", 1, 1000, NULL,
     "of type multiplicative: cycles of an application"},
    {"pc_mg_galerkin", POISE_OPTION_BOOL, offsetof(Mg, galerkin), "yes", 0, 0, NULL,
     "operators of coarse levels that are not given are products R A P"},
    {0},
};

/* M is to be built anew. */
static void Changed(PoisePC pc)
{
  pc->seen = (Version){0};
  pc->built = false;
  ((Mg *)pc->data)->generation++;
}

/* ---- levels and their solvers ---------------------------------------------------------------- */

/* Collective; agrees. */
static PoiseErr MakeLevels(PoisePC pc)
{
  Mg *mg = pc->data;
  int count = (int)mg->levels;
  if (mg->count == count) return POISE_OK;
  poiseMgRelease(pc);
  PoiseErr e = PoiseAgree(pc->ctx, poiseAllocArray(pc->ctx, count, sizeof *mg->level, "levels", &mg->level));
  if (e)
    poiseFree(pc->ctx, &mg->level);
  else
    mg->count = count;
  return e;
}

static PoiseErr Prepare(PoisePC pc, int k, PoiseKSP ksp)
{
  char inner[32], prefix[POISE_OPTION_LENGTH];
  PoisePC of;
  snprintf(inner, sizeof inner, "mg_levels_%d_", k);
  TRY(poisePCInnerPrefix(pc, k ? inner : "mg_coarse_", prefix)); /* of the same length on all ranks */
  poiseKSPSetInside(ksp);
  TRY(PoiseKSPSetOptionsPrefix(ksp, prefix));
  TRY(PoiseKSPSetType(ksp, k ? "chebyshev" : "preonly"));
  TRY(PoiseKSPGetPC(ksp, &of));
  TRY(PoisePCSetType(of, k ? "jacobi" : "lu"));
  if (k == 0) return POISE_OK;
  TRY(PoiseKSPSetNormType(ksp, POISE_KSP_NORM_NONE));
  return PoiseKSPSetTolerances(ksp, -1, -1, -1, 2);
}

/* The levels, and their solvers with their options. Collective; agrees. */
static PoiseErr Make(PoisePC pc)
{
  Mg *mg = pc->data;
  TRY(MakeLevels(pc));
  bool configured = mg->configured == pc->configured;
  for (int k = 0; k < mg->count; k++) {
    PoiseKSP *ksp = &mg->level[k].ksp;
    bool fresh = !*ksp;
    if (fresh) {
      TRY(PoiseKSPCreate(pc->ctx, ksp));
      PoiseErr e = Prepare(pc, k, *ksp);
      if (e) poiseKSPDestroy(ksp);
      TRY(e);
    }
    if (fresh ? pc->configured : !configured) TRY(PoiseKSPSetFromOptions(*ksp));
  }
  mg->configured = pc->configured;
  return POISE_OK;
}

/* Solvers that the application may have read theirs now, as a later call of it overrides them. */
static PoiseErr Read_MG(PoisePC pc)
{
  Mg *mg = pc->data;
  PoiseInt before = mg->levels;
  TRY(PoiseOptionsRead(pc->ctx, pc->prefix, options, mg));
  if (before != mg->levels) Changed(pc);
  return mg->count ? Make(pc) : POISE_OK;
}

/* ---- set-up ---------------------------------------------------------------------------------- */

static PoiseErr Check(PoisePC pc)
{
  if (pc->P->origin.moves.to && ((Mg *)pc->data)->count > 1)
    FAIL(POISE_ERR_UNSUPPORTED, "mg: its levels have the application's rows, which the solver has rearranged "
                                "(-mat_partition, -mat_order)");
  return poiseMatCheckSquare(pc->P);
}

static PoiseErr SetUp_MG(PoisePC pc)
{
  TRY(Make(pc));
  TRY(PoiseAgree(pc->ctx, Check(pc)));
  return poiseMgMakeOperators(pc);
}

/* A cycle multiplies with P itself. */
static PoiseErr Reads_MG(PoisePC pc, Reads *reads)
{
  const Mg *mg = pc->data;
  TRY(Make(pc));
  *reads = READS_P;
  return mg->count > 1 || mg->cycles > 1 ? POISE_OK : poiseKSPReads(mg->level[0].ksp, reads);
}

static PoiseErr Ready_MG(PoisePC pc, bool keep)
{
  Mg *mg = pc->data;
  int64_t generation = 0, builds = 0;
  TRY(Make(pc));
  if (!keep) TRY(poiseMgMakeOperators(pc));
  TRY(poiseMgUse(poiseMgFinest(mg), poisePCSource(pc)));
  for (int k = 0; k < mg->count; k++) {
    MgLevel *l = &mg->level[k];
    TRY(poiseKSPCheckInside(l->ksp, l->A));
    TRY(poiseKSPReady(l->ksp, l->A, keep, pc->exact));
    generation += poiseKSPGeneration(l->ksp), builds += l->ksp->pc->builds;
  }
  TRY(poiseMgReady(pc));
  poisePCInside(pc, generation + mg->generation, builds);
  return POISE_OK;
}

static const char *Eager_MG(PoisePC pc)
{
  const Mg *mg = pc->data;
  const char *why = NULL;
  for (int k = 0; k < mg->count && !why; k++) {
    const MgLevel *l = &mg->level[k];
    PoiseMat const mats[] = {l->A, l->P, l->R};
    for (int j = 0; j < 3 && mg->count > 1; j++)
      if (mats[j] && mats[j]->type->eager) why = "a matrix of a level calls back to the host";
    if (l->ksp && !why) why = poiseKSPAppliesEagerly(l->ksp);
  }
  return why;
}

static bool Varies_MG(PoisePC pc, Varying *why)
{
  const Mg *mg = pc->data;
  bool varies = false;
  for (int k = 0; k < mg->count && !varies; k++) varies = poiseKSPVaries(mg->level[k].ksp, "mg", why);
  return varies;
}

static void Cost_MG(PoisePC pc, double *flops, double *bytes)
{
  (void)pc;
  *flops = *bytes = 0; /* nested events count */
}

/* ---- the interface --------------------------------------------------------------------------- */

static PoiseErr View_MG(PoisePC pc)
{
  const Mg *mg = pc->data;
  TRY(poisePrint(pc->ctx, "  %s, cycle %s, %d levels\n", poiseOptionsChoice(options, "pc_mg_type", mg->type),
                 poiseOptionsChoice(options, "pc_mg_cycle_type", mg->cycle), (int)mg->levels));
  for (int k = 0; k < mg->count; k++) {
    const MgLevel *l = &mg->level[k];
    if (!l->ksp || !l->A) continue;
    TRY(poisePrint(pc->ctx, "  level %d, %lld rows%s; its solver:\n", k, (long long)l->A->rows->N,
                   l->made ? ", product R A P" : ""));
    TRY(PoiseKSPView(l->ksp));
  }
  return POISE_OK;
}

static PoiseErr Predict_MG(PoisePC pc, const MatPlan *plan, PoisePrediction *p)
{
  Mg *mg = pc->data;
  TRY(Make(pc));
  if (mg->count > 1) {
    p->beyond = "operators, vectors and solvers of the levels of mg";
    return POISE_OK;
  }
  PoiseKSP ksp = mg->level[0].ksp;
  if (ksp->A != poisePCSource(pc)) TRY(PoiseKSPSetOperators(ksp, poisePCSource(pc), NULL));
  return poiseKSPPredictInside(ksp, plan->counts, p);
}

/* Levels have the rows of the application's ranks. */
static PoiseErr Inherit_MG(PoisePC from, PoisePC to)
{
  const Mg *f = from->data;
  Mg *t = to->data;
  if (f->levels > 1)
    FAIL(
        POISE_ERR_UNSUPPORTED,
        "mg: the levels are of the application's ranks, and others solve (-gpus, -solve_ranks, or ranks that "
        "share a GPU)");
  if (poiseOptionsCopy(options, f, t)) Changed(to);
  TRY(Make(to));
  return f->count ? poiseKSPTakeInside(f->level[0].ksp, t->level[0].ksp) : POISE_OK;
}

const PCType poisePCType_mg = {
    .name = "mg",
    .size = sizeof(Mg),
    .near = true,
    .options = options,
    .read = Read_MG,
    .inherit = Inherit_MG,
    .eager = Eager_MG,
    .varies = Varies_MG,
    .setup = SetUp_MG,
    .reads = Reads_MG,
    .ready = Ready_MG,
    .apply = poiseMgApply,
    .cost = Cost_MG,
    .kernels = poiseMgKernels,
    .view = View_MG,
    .bytes = poiseMgBytes,
    .predict = Predict_MG,
    .destroy = poiseMgRelease,
};

static PoiseErr CheckType(PoisePC pc)
{
  if (pc->type != &poisePCType_mg)
    FAIL(POISE_ERR_STATE, "the preconditioner is of type %s, not mg", pc->type->name);
  return POISE_OK;
}

PoiseErr PoisePCMGSetLevels(PoisePC pc, int levels)
{
  CALLED(OBJECT(pc));
  TRY(CheckType(pc));
  Mg *mg = pc->data;
  if (levels < 1 || levels > MG_MOST)
    FAIL(POISE_ERR_ARG, "%d levels; there may be 1 to %d", levels, (int)MG_MOST);
  if (mg->levels == levels) return POISE_OK;
  mg->levels = levels;
  Changed(pc);
  return MakeLevels(pc);
}

PoiseErr PoisePCMGGetLevels(PoisePC pc, int *levels)
{
  CALLED(OBJECT(pc), GIVEN(levels));
  TRY(CheckType(pc));
  *levels = (int)((Mg *)pc->data)->levels;
  return POISE_OK;
}

/* Set a setting, which M may depend on. */
static PoiseErr Set(PoisePC pc, int *setting, int value)
{
  if (*setting != value) Changed(pc);
  *setting = value;
  return POISE_OK;
}

PoiseErr PoisePCMGSetType(PoisePC pc, PoisePCMGType type)
{
  CALLED(OBJECT(pc), WORD(type, POISE_PC_MG_KASKADE + 1));
  TRY(CheckType(pc));
  return Set(pc, &((Mg *)pc->data)->type, (int)type);
}

PoiseErr PoisePCMGSetCycleType(PoisePC pc, PoisePCMGCycleType cycle)
{
  CALLED(OBJECT(pc), WORD(cycle, POISE_PC_MG_CYCLE_W + 1));
  TRY(CheckType(pc));
  return Set(pc, &((Mg *)pc->data)->cycle, (int)cycle);
}

PoiseErr PoisePCMGSetGalerkin(PoisePC pc, int on)
{
  CALLED(OBJECT(pc));
  TRY(CheckType(pc));
  return Set(pc, &((Mg *)pc->data)->galerkin, on != 0);
}

PoiseErr PoisePCMGMultiplicativeSetCycles(PoisePC pc, PoiseInt cycles)
{
  CALLED(OBJECT(pc));
  TRY(CheckType(pc));
  Mg *mg = pc->data;
  if (cycles < 1) FAIL(POISE_ERR_ARG, "%lld cycles", (long long)cycles);
  if (mg->cycles != cycles) Changed(pc);
  mg->cycles = cycles;
  return POISE_OK;
}

/* *l = the level, one of first to last, counted from the end if that is negative. Collective; agrees. */
static PoiseErr Find(PoisePC pc, int level, int first, int beyond, MgLevel **l)
{
  Mg *mg = pc->data;
  TRY(CheckType(pc));
  int last = (int)mg->levels - 1 - beyond;
  if (last < first)
    FAIL(POISE_ERR_ARG, "level %d: with %d level there is none to be given that: call PoisePCMGSetLevels",
         level, (int)mg->levels);
  if (level < first || level > last)
    FAIL(POISE_ERR_ARG, "level %d: of %d levels it must be one of %d to %d", level, (int)mg->levels, first,
         last);
  TRY(MakeLevels(pc));
  *l = &mg->level[level];
  return POISE_OK;
}

/* *place = M, or NULL */
static PoiseErr Put(PoisePC pc, PoiseMat *place, PoiseMat M)
{
  PoiseMat keep = NULL;
  if (M) TRY(poiseMatShare(M, &keep));
  if (*place != M) Changed(pc);
  PoiseMatDestroy(place);
  *place = keep;
  return POISE_OK;
}

PoiseErr PoisePCMGSetInterpolation(PoisePC pc, int level, PoiseMat P)
{
  CALLED(OBJECT(pc), OBJECT(P));
  MgLevel *l;
  TRY(Find(pc, level, 1, 0, &l));
  if (l->injects) poiseMgReleaseTransfer(pc->ctx, l);
  return Put(pc, &l->P, P);
}

PoiseErr PoisePCMGSetRestriction(PoisePC pc, int level, PoiseMat R)
{
  CALLED(OBJECT(pc), OBJECT_OR_NO(R));
  MgLevel *l;
  TRY(Find(pc, level, 1, 0, &l));
  if (l->injects) poiseMgReleaseTransfer(pc->ctx, l);
  return Put(pc, &l->R, R);
}

PoiseErr PoisePCMGSetInjection(PoisePC pc, int level, PoiseInt n, const PoiseInt *rows)
{
  CALLED(OBJECT(pc), ARRAY_OF(n, rows));
  MgLevel *l;
  PoiseInt *copy = NULL;
  TRY(Find(pc, level, 1, 0, &l));
  PoiseErr e = poiseAllocArray(pc->ctx, n, sizeof *copy, "rows of an injection", &copy);
  for (PoiseInt i = 0; !e && i < n; i++) copy[i] = rows[i];
  e = PoiseAgree(pc->ctx, e);
  if (e) {
    poiseFree(pc->ctx, &copy);
    return e;
  }
  poiseMgReleaseTransfer(pc->ctx, l);
  l->injects = true;
  l->row = copy;
  l->injected = n;
  Changed(pc);
  return POISE_OK;
}

PoiseErr PoisePCMGSetOperator(PoisePC pc, int level, PoiseMat A)
{
  CALLED(OBJECT(pc), OBJECT_OR_NO(A));
  MgLevel *l;
  TRY(Find(pc, level, 0, 1, &l));
  return Put(pc, &l->given, A);
}

PoiseErr PoisePCMGGetSmoother(PoisePC pc, int level, PoiseKSP *ksp)
{
  CALLED(OBJECT(pc), GIVEN(ksp));
  MgLevel *l;
  TRY(Find(pc, level, 0, 0, &l));
  TRY(Make(pc));
  *ksp = l->ksp;
  return POISE_OK;
}

PoiseErr PoisePCMGGetCoarseSolve(PoisePC pc, PoiseKSP *ksp)
{
  return PoisePCMGGetSmoother(pc, 0, ksp);
}

PoiseErr PoisePCMGSetNumberSmooth(PoisePC pc, PoiseInt steps)
{
  CALLED(OBJECT(pc));
  TRY(CheckType(pc));
  if (steps < 1) FAIL(POISE_ERR_ARG, "%lld steps of a smoother", (long long)steps);
  TRY(Make(pc));
  Mg *mg = pc->data;
  for (int k = 1; k < mg->count; k++) TRY(PoiseKSPSetTolerances(mg->level[k].ksp, -1, -1, -1, steps));
  return POISE_OK;
}
