/* SPDX-License-Identifier: BSD-3-Clause */
/*
  While Poise's own preconditioner works in place of one of PETSc, the latter need not be built. So its
  functions are replaced: set-up does nothing, and application and view are Poise's. They are given back when
  the solver is reset or has another PC, or when another solver takes the PC. PETSc then builds its own when
  it is next used.

  The program may use the PC beside the solver. Where Poise's has not been set up for what the PC has to do,
  the functions are given back at once, and PETSc's answers.
*/
#include "plugin.h"

/* The struct finds its way to the functions in a container, as pc->data is PETSc's. */
static const char key[] = "poise_lent";

static PetscErrorCode Find(PC pc, LentPC **lent)
{
  return FindWith((PetscObject)pc, key, lent);
}

/* ---- giving back ----------------------------------------------------------------------------- */

/* PETSc's own answers this time. */
static PetscErrorCode GiveBackNow(PC pc)
{
  LentPC *lent;
  PetscFunctionBegin;
  PetscCall(Find(pc, &lent));
  PetscCheck(lent, PETSC_COMM_SELF, PETSC_ERR_PLIB, "this PC is not lent to Poise");
  PetscCall(GiveBackPC(lent));
  PetscCall(PCSetUp(pc));
  PetscFunctionReturn(0);
}

PetscErrorCode TakeBackPC(PC pc)
{
  Note *note;
  LentPC *lent;
  PetscFunctionBegin;
  PetscCall(NoteOf(pc, &note));
  PetscCall(Find(pc, &lent));
  if (lent) PetscCall(GiveBackPC(lent));
  if (note && note->served) {
    note->inside = PETSC_TRUE;
    PetscCall(PCSetUp(pc)); /* the program has set it up */
  }
  PetscFunctionReturn(0);
}

/* ---- the functions --------------------------------------------------------------------------- */

static PetscErrorCode Serves(PC pc, const LentPC *lent, PetscBool *serves)
{
  PetscObjectState state;
  PetscFunctionBegin;
  *serves = PETSC_FALSE;
  if (!lent->solver || !*lent->solver || !pc->pmat) PetscFunctionReturn(0);
  PetscCall(PetscObjectStateGet((PetscObject)pc->pmat, &state));
  *serves = ((PetscObject)pc->pmat)->id == lent->pmat && (state == lent->state || pc->reusepreconditioner)
                ? PETSC_TRUE
                : PETSC_FALSE;
  PetscFunctionReturn(0);
}

static PetscErrorCode ApplyPoise(const LentPC *lent, Vec r, Vec z)
{
  PoisePC poise;
  PetscFunctionBegin;
  POISE_CALL(PoiseKSPGetPC(*lent->solver, &poise));
  PetscCall(ApplyPC(lent->ctx, poise, r, z));
  PetscFunctionReturn(0);
}

static PetscErrorCode Apply(PC pc, Vec r, Vec z)
{
  LentPC *lent;
  PetscBool serves;
  PetscFunctionBegin;
  PetscCall(Find(pc, &lent));
  PetscCall(Serves(pc, lent, &serves));
  if (serves) {
    PetscCall(ApplyPoise(lent, r, z));
  } else {
    PetscCall(GiveBackNow(pc));
    PetscUseTypeMethod(pc, apply, r, z);
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode MatApply(PC pc, Mat R, Mat Z)
{
  LentPC *lent;
  PetscBool serves;
  PetscFunctionBegin;
  PetscCall(Find(pc, &lent));
  PetscCall(Serves(pc, lent, &serves));
  if (serves) {
    PetscCall(ApplyColumns(pc, Apply, R, Z));
  } else {
    PetscCall(GiveBackNow(pc));
    PetscCall(PCMatApply(pc, R, Z));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode ApplyTranspose(PC pc, Vec r, Vec z)
{
  LentPC *lent;
  PetscBool serves;
  PoisePC poise;
  PetscFunctionBegin;
  PetscCall(Find(pc, &lent));
  PetscCall(Serves(pc, lent, &serves));
  if (serves) {
    POISE_CALL(PoiseKSPGetPC(*lent->solver, &poise));
    serves = IsSymmetricPC(PoisePCType(poise));
  }
  if (serves) {
    PetscCall(ApplyPoise(lent, r, z));
  } else {
    PetscCall(TakeBackPC(pc));
    PetscUseTypeMethod(pc, applytranspose, r, z);
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode ApplySymmetricLeft(PC pc, Vec r, Vec z)
{
  PetscFunctionBegin;
  PetscCall(TakeBackPC(pc));
  PetscUseTypeMethod(pc, applysymmetricleft, r, z);
  PetscFunctionReturn(0);
}

static PetscErrorCode ApplySymmetricRight(PC pc, Vec r, Vec z)
{
  PetscFunctionBegin;
  PetscCall(TakeBackPC(pc));
  PetscUseTypeMethod(pc, applysymmetricright, r, z);
  PetscFunctionReturn(0);
}

static PetscErrorCode ApplyRichardson(PC pc, Vec b, Vec x, Vec w, PetscReal rtol, PetscReal abstol,
                                      PetscReal dtol, PetscInt its, PetscBool zero, PetscInt *done,
                                      PCRichardsonConvergedReason *reason)
{
  PetscFunctionBegin;
  PetscCall(TakeBackPC(pc));
  PetscUseTypeMethod(pc, applyrichardson, b, x, w, rtol, abstol, dtol, its, zero, done, reason);
  PetscFunctionReturn(0);
}

static PetscErrorCode GetFactoredMatrix(PC pc, Mat *F)
{
  PetscFunctionBegin;
  PetscCall(TakeBackPC(pc));
  PetscUseTypeMethod(pc, getfactoredmatrix, F);
  PetscFunctionReturn(0);
}

static PetscErrorCode View(PC pc, PetscViewer viewer)
{
  PetscBool ascii;
  (void)pc;
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (ascii) PetscCall(PetscViewerASCIIPrintf(viewer, "  not built: Poise's own works in its place\n"));
  PetscFunctionReturn(0);
}

static void Replace(PC pc, const struct _PCOps *petsc)
{
  *pc->ops = (struct _PCOps){.apply = Apply,
                             .matapply = MatApply,
                             .applytranspose = ApplyTranspose,
                             .applysymmetricleft = ApplySymmetricLeft,
                             .applysymmetricright = ApplySymmetricRight,
                             .view = View,
                             .setfromoptions = petsc->setfromoptions,
                             .reset = petsc->reset,
                             .destroy = petsc->destroy};
  if (petsc->applyrichardson) pc->ops->applyrichardson = ApplyRichardson;
  if (petsc->getfactoredmatrix) pc->ops->getfactoredmatrix = GetFactoredMatrix;
}

/* ---- lending --------------------------------------------------------------------------------- */

PetscErrorCode TakePC(PC pc, PoiseContext ctx, LentPC *lent)
{
  LentPC *other;
  Note *note;
  PetscBool levels;
  PetscFunctionBegin;
  if (lent->pc == pc && pc->ops->apply == Apply) PetscFunctionReturn(0);
  PetscCall(Find(pc, &other));
  if (other) PetscCall(GiveBackPC(other)); /* a solver that has the same PC */
  PetscCall(GiveBackPC(lent));
  PetscCall(PetscObjectReference((PetscObject)pc));
  PetscCall(KeepWith((PetscObject)pc, key, lent, PETSC_FALSE));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCMG, &levels)); /* which the program has given */
  if (pc->setupcalled && pc->ops->reset && !levels) PetscCall(pc->ops->reset(pc)); /* what PETSc has built */
  PetscCall(NoteOf(pc, &note));
  if (note) note->served = PETSC_TRUE;
  lent->pc = pc;
  lent->ctx = ctx;
  lent->solver = NULL;
  lent->ops = *pc->ops;
  Replace(pc, &lent->ops);
  PetscFunctionReturn(0);
}

PetscErrorCode LendPoise(LentPC *lent, const PoiseKSP *solver, PetscBool failed)
{
  PC pc = lent->pc;
  PetscFunctionBegin;
  lent->solver = failed ? NULL : solver;
  lent->pmat = ((PetscObject)pc->pmat)->id;
  PetscCall(PetscObjectStateGet((PetscObject)pc->pmat, &lent->state));
  PetscCall(PCSetFailedReason(pc, failed ? PC_FACTOR_NUMERIC_ZEROPIVOT : PC_NOERROR));
  PetscFunctionReturn(0);
}

PetscErrorCode GiveBackPC(LentPC *lent)
{
  PC pc = lent->pc;
  PetscFunctionBegin;
  if (!pc) PetscFunctionReturn(0);
  if (pc->ops->apply == Apply) { /* else it has got another type since */
    *pc->ops = lent->ops;
    pc->setupcalled = 0;
    PetscCall(PCSetFailedReason(pc, PC_NOERROR));
  }
  PetscCall(PetscObjectCompose((PetscObject)pc, key, NULL));
  PetscCall(PCDestroy(&pc));
  *lent = (LentPC){.pc = NULL};
  PetscFunctionReturn(0);
}
