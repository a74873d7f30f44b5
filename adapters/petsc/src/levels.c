/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The levels of PETSc's mg for Poise's (-poise_pc_mg native): interpolations, restrictions and operators, as
  the program or its DM has given them. The smoothers are Poise's.
*/
#include <petsc/private/pcmgimpl.h>

#include "plugin.h"

static PC_MG_Levels *LevelOf(PC pc, PetscInt l)
{
  return ((PC_MG *)pc->data)->levels[l];
}

/* Are operators of coarse levels R A P? */
static PetscBool IsGalerkin(PC pc)
{
  const PCMGGalerkinType type = ((PC_MG *)pc->data)->galerkin;
  return type == PC_MG_GALERKIN_BOTH || (type == PC_MG_GALERKIN_PMAT && pc->mat == pc->pmat) ? PETSC_TRUE
                                                                                             : PETSC_FALSE;
}

static PetscBool HasTransfers(PC pc)
{
  const PetscInt n = ((PC_MG *)pc->data)->nlevels;
  for (PetscInt l = 1; l < n; l++)
    if (!LevelOf(pc, l)->interpolate && !LevelOf(pc, l)->restrct) return PETSC_FALSE;
  return n > 0 ? PETSC_TRUE : PETSC_FALSE;
}

/* P from level l - 1 to l, and R the other way; NULL: P^T. PETSc takes one for both. */
static void TransfersOf(PC pc, PetscInt l, Mat *P, Mat *R)
{
  const PC_MG_Levels *level = LevelOf(pc, l);
  *P = level->interpolate ? level->interpolate : level->restrct;
  *R = level->restrct != *P ? level->restrct : NULL;
}

static PetscErrorCode WhyNotTransfers(Mat P, Mat R, const char **because)
{
  PetscInt fine, coarse, rows = 0, columns = 0;
  PetscBool entries, of_R = PETSC_TRUE;
  PetscFunctionBegin;
  PetscCall(MatGetSize(P, &fine, &coarse));
  PetscCall(HasEntries(P, &entries));
  if (R) {
    PetscCall(MatGetSize(R, &rows, &columns));
    PetscCall(HasEntries(R, &of_R));
  }
  if (!entries || !of_R)
    *because = "an interpolation or restriction is of a type that has no entries for Poise";
  else if (fine < coarse || (R && (rows != coarse || columns != fine)))
    *because = "an interpolation or restriction is given as its transpose";
  PetscFunctionReturn(0);
}

static PetscErrorCode WhyNotOperator(KSP smoother, const char **because)
{
  PetscBool set, entries;
  Mat A;
  PetscFunctionBegin;
  PetscCall(KSPGetOperatorsSet(smoother, &set, NULL));
  if (!set) {
    *because = "a level has neither an operator nor Galerkin's";
    PetscFunctionReturn(0);
  }
  PetscCall(KSPGetOperators(smoother, &A, NULL));
  PetscCall(HasEntries(A, &entries));
  if (!entries) *because = "the operator of a level is of a type that has no entries for Poise";
  PetscFunctionReturn(0);
}

/* Those of a DM are made by PETSc's set-up, and so is all else of its mg. */
PetscErrorCode WhyNotLevels(PC pc, const char **because)
{
  Mat P, R;
  PetscFunctionBegin;
  if (!HasTransfers(pc) && pc->dm && IsGalerkin(pc)) PetscCall(PCSetUp(pc));
  if (!HasTransfers(pc)) {
    *because = "its levels have no interpolations, or those of a DM without Galerkin's operators";
    PetscFunctionReturn(0);
  }
  const PetscInt n = ((PC_MG *)pc->data)->nlevels;
  for (PetscInt l = 1; l < n && !*because; l++) {
    TransfersOf(pc, l, &P, &R);
    PetscCall(WhyNotTransfers(P, R, because));
    if (!*because && !IsGalerkin(pc)) PetscCall(WhyNotOperator(LevelOf(pc, l - 1)->smoothd, because));
  }
  PetscFunctionReturn(0);
}

PetscErrorCode ReadLevels(PC pc, char *lines, size_t room)
{
  static const char *const types[] = {[PC_MG_MULTIPLICATIVE] = "multiplicative",
                                      [PC_MG_ADDITIVE] = "additive",
                                      [PC_MG_FULL] = "full",
                                      [PC_MG_KASKADE] = "kaskade"};
  const PC_MG *mg = pc->data;
  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(
      lines, room, "-pc_mg_type %s\n-pc_mg_cycle_type %s\n-pc_mg_multiplicative_cycles %" PetscInt_FMT "\n",
      types[mg->am], mg->nlevels > 1 && LevelOf(pc, 1)->cycles > 1 ? "w" : "v", mg->cyclesperpcapply));
  PetscFunctionReturn(0);
}

/* ---- as matrices of Poise -------------------------------------------------------------------- */

PetscErrorCode DropLevels(Levels *levels)
{
  PetscFunctionBegin;
  for (PetscInt l = 0; l < levels->count; l++)
    for (int k = 0; k < LEVEL_MATS; k++) PetscCall(DropOperator(&levels->mats[l][k]));
  PetscCall(PetscFree(levels->mats));
  *levels = (Levels){.count = 0};
  PetscFunctionReturn(0);
}

/* Hand on mat, which may be NULL, if it is another one than before. */
typedef PoiseErr (*SetMat)(PoisePC poise, int level, PoiseMat A);
static PetscErrorCode FollowOne(PoiseContext ctx, PoisePC poise, int level, Mat mat, SetMat set, Operator *o)
{
  PetscBool fresh = PETSC_FALSE;
  PetscFunctionBegin;
  const PetscBool had = o->A ? PETSC_TRUE : PETSC_FALSE;
  if (mat) PetscCall(FollowMat(ctx, mat, PETSC_FALSE, PETSC_FALSE, o, &fresh));
  if (fresh || (had && !mat)) POISE_CALL(set(poise, level, mat ? o->A : NULL));
  if (!mat) PetscCall(DropOperator(o));
  PetscFunctionReturn(0);
}

PetscErrorCode FollowLevels(PC pc, PoiseContext ctx, PoisePC poise, Levels *levels)
{
  const int n = (int)((PC_MG *)pc->data)->nlevels;
  Mat P, R, A;
  PetscFunctionBegin;
  if (levels->count != n) {
    PetscCall(DropLevels(levels));
    PetscCall(PetscCalloc1(n, &levels->mats));
    levels->count = n;
    POISE_CALL(PoisePCMGSetLevels(poise, n));
  }
  for (int l = 1; l < n; l++) {
    A = NULL;
    TransfersOf(pc, l, &P, &R);
    if (!IsGalerkin(pc)) PetscCall(KSPGetOperators(LevelOf(pc, l - 1)->smoothd, &A, NULL));
    PetscCall(FollowOne(ctx, poise, l, P, PoisePCMGSetInterpolation, &levels->mats[l][LEVEL_P]));
    PetscCall(FollowOne(ctx, poise, l, R, PoisePCMGSetRestriction, &levels->mats[l][LEVEL_R]));
    PetscCall(FollowOne(ctx, poise, l - 1, A, PoisePCMGSetOperator, &levels->mats[l][LEVEL_A]));
  }
  PetscFunctionReturn(0);
}
