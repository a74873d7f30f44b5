/* SPDX-License-Identifier: BSD-3-Clause */
/* The PC "poise": a preconditioner of Poise in a method of PETSc. Its type is that of -poise_pc_type, else
   ilu. */
#include <math.h>

#include "plugin.h"

typedef struct Data {
  PoiseContext ctx;
  PoisePC poise;
  Operator P;
  Chosen chosen;
  Taken *taken; /* the options; NULL before PCSetFromOptions */
} Data;

static PetscErrorCode SetFromOptions(PC pc, OptionItems PetscOptionsObject)
{
  Data *d = pc->data;
  const char *prefix;
  (void)PetscOptionsObject;
  PetscFunctionBegin;
  PetscCall(ContextOf(PetscObjectComm((PetscObject)pc), &d->ctx));
  PetscCall(ChoosePC(pc, &d->chosen));
  PetscCall(PCGetOptionsPrefix(pc, &prefix));
  PetscCall(TakeOptions(d->ctx, prefix, d->chosen.options, &d->taken));
  POISE_CALL(PoisePCDestroy(&d->poise));
  PetscFunctionReturn(0);
}

static PetscErrorCode Make(PC pc)
{
  Data *d = pc->data;
  PetscFunctionBegin;
  PetscCall(ContextOf(PetscObjectComm((PetscObject)pc), &d->ctx));
  POISE_CALL(PoisePCCreate(d->ctx, &d->poise));
  POISE_CALL(PoisePCSetOptionsPrefix(d->poise, PrefixOf(d->taken)));
  POISE_CALL(PoisePCSetType(d->poise, d->taken ? d->chosen.type : "ilu"));
  if (d->taken) POISE_CALL(PoisePCSetFromOptions(d->poise));
  PetscFunctionReturn(0);
}

static PetscErrorCode Apply(PC pc, Vec r, Vec z);

static PetscErrorCode SetUp(PC pc)
{
  Data *d = pc->data;
  PetscBool fresh, made = d->poise ? PETSC_FALSE : PETSC_TRUE;
  PetscInt failed = 0;
  PetscFunctionBegin;
  if (made) PetscCall(Make(pc));
  PetscCall(FollowMat(d->ctx, pc->pmat, PETSC_FALSE, PETSC_FALSE, &d->P, &fresh));
  if (made || fresh) POISE_CALL(PoisePCSetOperator(d->poise, d->P.A));
  const PoiseErr e = PoisePCSetUp(d->poise);
  pc->ops->applytranspose = IsSymmetricPC(PoisePCType(d->poise)) ? Apply : NULL;
  if (e == POISE_OK) {
    if (made && d->taken) PetscCall(NoteUsed(d->taken));
    PetscFunctionReturn(0);
  }
  failed = e == POISE_ERR_NUMERIC;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPIU_INT, MPI_MAX, PetscObjectComm((PetscObject)pc)));
  if (!failed) POISE_CALL(e);
  PetscCheck(!pc->erroriffailure, PetscObjectComm((PetscObject)pc), PETSC_ERR_MAT_LU_ZRPVT, "%s",
             PoiseErrorText());
  PetscCall(PetscInfo(pc, "%s", PoiseErrorText()));
  PetscCall(PCSetFailedReason(pc, PC_FACTOR_NUMERIC_ZEROPIVOT));
  PetscFunctionReturn(0);
}

static PetscErrorCode Apply(PC pc, Vec r, Vec z)
{
  const Data *d = pc->data;
  PetscFunctionBegin;
  if (pc->failedreason)
    PetscCall(VecSet(z, INFINITY));
  else
    PetscCall(ApplyPC(d->ctx, d->poise, r, z));
  PetscFunctionReturn(0);
}

static PetscErrorCode MatApply(PC pc, Mat R, Mat Z)
{
  PetscFunctionBegin;
  PetscCall(ApplyColumns(pc, Apply, R, Z));
  PetscFunctionReturn(0);
}

static PetscErrorCode WriteView(void *arg)
{
  PetscFunctionBegin;
  POISE_CALL(PoisePCView(arg));
  PetscFunctionReturn(0);
}

static PetscErrorCode View(PC pc, PetscViewer viewer)
{
  Data *d = pc->data;
  PetscBool ascii;
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii || !d->poise) PetscFunctionReturn(0);
  if (d->P.mat) PetscCall(PetscViewerASCIIPrintf(viewer, "  matrix: %s\n", OperatorWords(&d->P)));
  PetscCall(PrintView(d->ctx, WriteView, d->poise, viewer));
  PetscFunctionReturn(0);
}

static PetscErrorCode Reset(PC pc)
{
  Data *d = pc->data;
  PetscFunctionBegin;
  POISE_CALL(PoisePCDestroy(&d->poise));
  PetscCall(DropOperator(&d->P));
  PetscFunctionReturn(0);
}

static PetscErrorCode Destroy(PC pc)
{
  PetscFunctionBegin;
  PetscCall(Reset(pc));
  PetscCall(DropOptions(&((Data *)pc->data)->taken));
  PetscCall(PetscFree(pc->data));
  PetscFunctionReturn(0);
}

PetscErrorCode PCCreate_Poise(PC pc)
{
  Data *d;
  PetscFunctionBegin;
  PetscCall(PetscNew(&d));
  pc->data = d;
  pc->ops->setup = SetUp;
  pc->ops->apply = Apply;
  pc->ops->matapply = MatApply;
  pc->ops->setfromoptions = SetFromOptions;
  pc->ops->view = View;
  pc->ops->reset = Reset;
  pc->ops->destroy = Destroy;
  PetscFunctionReturn(0);
}
