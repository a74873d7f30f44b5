/* SPDX-License-Identifier: BSD-3-Clause */
/*
  While Poise's own preconditioner works in place of one of PETSc, the latter need not be built. So its
  functions are replaced: set-up does nothing, and application and view are Poise's. They are given back when
  the solver is reset or has another PC. PETSc then builds its own when it is next used.
*/
#include "plugin.h"

/* The struct finds its way to the functions in a container, as pc->data is PETSc's. */
static const char key[] = "poise_lent";

static PetscErrorCode Find(PC pc, LentPC **lent)
{
  PetscContainer box;
  PetscFunctionBegin;
  PetscCall(PetscObjectQuery((PetscObject)pc, key, (PetscObject *)&box));
  PetscCheck(box, PETSC_COMM_SELF, PETSC_ERR_PLIB, "this PC is not lent to Poise");
  PetscCall(PetscContainerGetPointer(box, (void **)lent));
  PetscFunctionReturn(0);
}

static PetscErrorCode Apply(PC pc, Vec r, Vec z)
{
  LentPC *lent;
  Lent in, out;
  PetscFunctionBegin;
  PetscCall(Find(pc, &lent));
  PetscCheck(lent->poise, PetscObjectComm((PetscObject)pc), PETSC_ERR_ORDER, "the solver is not set up");
  PetscCall(LendVec(lent->ctx, r, PETSC_FALSE, &in));
  PetscCall(LendVec(lent->ctx, z, PETSC_TRUE, &out));
  POISE_CALL(PoisePCApply(lent->poise, in.poise, out.poise));
  PetscCall(EndLend(&out));
  PetscCall(EndLend(&in));
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

PetscErrorCode TakePC(PC pc, PoiseContext ctx, LentPC *lent)
{
  PetscContainer box;
  PetscFunctionBegin;
  if (lent->pc == pc && pc->ops->apply == Apply) PetscFunctionReturn(0);
  PetscCall(GiveBackPC(lent));
  PetscCall(PetscObjectReference((PetscObject)pc));
  PetscCall(PetscContainerCreate(PetscObjectComm((PetscObject)pc), &box));
  PetscCall(PetscContainerSetPointer(box, lent));
  PetscCall(PetscObjectCompose((PetscObject)pc, key, (PetscObject)box));
  PetscCall(PetscContainerDestroy(&box));
  lent->pc = pc;
  lent->ctx = ctx;
  lent->poise = NULL;
  lent->ops = *pc->ops;
  lent->setupcalled = pc->setupcalled;
  lent->matstate = pc->matstate;
  lent->matnonzerostate = pc->matnonzerostate;
  *pc->ops = (struct _PCOps){.apply = Apply,
                             .view = View,
                             .setfromoptions = lent->ops.setfromoptions,
                             .reset = lent->ops.reset,
                             .destroy = lent->ops.destroy};
  PetscFunctionReturn(0);
}

PetscErrorCode GiveBackPC(LentPC *lent)
{
  PC pc = lent->pc;
  PetscFunctionBegin;
  if (!pc) PetscFunctionReturn(0);
  if (pc->ops->apply == Apply) { /* else it has got another type since */
    *pc->ops = lent->ops;
    pc->setupcalled = lent->setupcalled;
    pc->matstate = lent->matstate;
    pc->matnonzerostate = lent->matnonzerostate;
  }
  PetscCall(PetscObjectCompose((PetscObject)pc, key, NULL));
  PetscCall(PCDestroy(&pc));
  lent->pc = NULL;
  lent->poise = NULL;
  PetscFunctionReturn(0);
}
