/* SPDX-License-Identifier: BSD-3-Clause */
/*
  What the program says of a PC in code and no getter tells. PETSc's creators of the types that Poise has too
  are registered anew: they create as before, then a function is put in front of such setters. It notes the
  value, in a container that is composed with the PC. The setter itself has the name "poise:<its name>".

  Options come through the same setters, so a note has what counts and not who has said it.
*/
#include "plugin.h"

static const char key[] = "poise_note";

static const char *const types[] = {PCNONE, PCJACOBI,  PCPBJACOBI, PCILU,      PCICC,
                                    PCSOR,  PCBJACOBI, PCLU,       PCCHOLESKY, PCGAMG};
enum { TYPES = sizeof types / sizeof *types };
static PetscErrorCode (*creators[TYPES])(PC); /* PETSc's */

PetscErrorCode NoteOf(PC pc, Note **note)
{
  return FindWith((PetscObject)pc, key, note);
}

/* ---- setters --------------------------------------------------------------------------------- */

/* The note, and PETSc's own function behind that in front of it. */
static PetscErrorCode Open(PC pc, const char *name, Note **note, void *function)
{
  PetscFunctionBegin;
  PetscCall(NoteOf(pc, note));
  PetscCall(Behind((PetscObject)pc, name, function));
  PetscFunctionReturn(0);
}

static PetscErrorCode SetOrdering(PC pc, MatOrderingType ordering)
{
  Note *note;
  PetscErrorCode (*set)(PC, MatOrderingType);
  PetscFunctionBegin;
  PetscCall(Open(pc, "PCFactorSetMatOrderingType_C", &note, &set));
  PetscCall(set(pc, ordering));
  note->ordered = strcmp(ordering, MATORDERINGNATURAL) ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(0);
}

static PetscErrorCode SetDropTolerance(PC pc, PetscReal dt, PetscReal column, PetscInt count)
{
  Note *note;
  PetscErrorCode (*set)(PC, PetscReal, PetscReal, PetscInt);
  PetscFunctionBegin;
  PetscCall(Open(pc, "PCFactorSetDropTolerance_C", &note, &set));
  PetscCall(set(pc, dt, column, count));
  note->drops = PETSC_TRUE;
  PetscFunctionReturn(0);
}

static PetscErrorCode SetReorder(PC pc, PetscReal tolerance)
{
  Note *note;
  PetscErrorCode (*set)(PC, PetscReal);
  PetscFunctionBegin;
  PetscCall(Open(pc, "PCFactorReorderForNonzeroDiagonal_C", &note, &set));
  PetscCall(set(pc, tolerance));
  note->ordered = PETSC_TRUE;
  PetscFunctionReturn(0);
}

static PetscErrorCode SetColumnPivot(PC pc, PetscReal tolerance)
{
  Note *note;
  PetscErrorCode (*set)(PC, PetscReal);
  PetscFunctionBegin;
  PetscCall(Open(pc, "PCFactorSetColumnPivot_C", &note, &set));
  PetscCall(set(pc, tolerance));
  note->pivots = PETSC_TRUE;
  PetscFunctionReturn(0);
}

static PetscErrorCode SetPivotInBlocks(PC pc, PetscBool on)
{
  Note *note;
  PetscErrorCode (*set)(PC, PetscBool);
  PetscFunctionBegin;
  PetscCall(Open(pc, "PCFactorSetPivotInBlocks_C", &note, &set));
  PetscCall(set(pc, on));
  note->unpivoted = on ? PETSC_FALSE : PETSC_TRUE;
  PetscFunctionReturn(0);
}

/* PETSc's solvers in the blocks are made by set-up. */
static PetscErrorCode GetSubKSP(PC pc, PetscInt *n, PetscInt *first, KSP **ksp)
{
  Note *note;
  PetscErrorCode (*get)(PC, PetscInt *, PetscInt *, KSP **);
  PetscFunctionBegin;
  PetscCall(Open(pc, "PCBJacobiGetSubKSP_C", &note, &get));
  PetscCall(TakeBackPC(pc));
  PetscCall(get(pc, n, first, ksp));
  PetscFunctionReturn(0);
}

/* PETSc's diagonal is made by the first application, which Poise's has stood for. */
static PetscErrorCode GetDiagonal(PC pc, Vec diagonal, Vec root)
{
  Note *note;
  Vec x, y;
  PetscErrorCode (*get)(PC, Vec, Vec);
  PetscFunctionBegin;
  PetscCall(Open(pc, "PCJacobiGetDiagonal_C", &note, &get));
  PetscCall(TakeBackPC(pc));
  if (note->served) {
    PetscCall(MatCreateVecs(pc->pmat, &y, &x));
    PetscCall(PCApply(pc, x, y));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
  }
  PetscCall(get(pc, diagonal, root));
  PetscFunctionReturn(0);
}

static const char where[] = "poise_coordinates";

static PetscErrorCode SetCoordinates(PC pc, PetscInt dim, PetscInt nodes, PetscReal *x)
{
  Note *note;
  PetscReal *copy;
  PetscErrorCode (*set)(PC, PetscInt, PetscInt, PetscReal *);
  PetscFunctionBegin;
  PetscCall(Open(pc, "PCSetCoordinates_C", &note, &set));
  PetscCall(set(pc, dim, nodes, x));
  note->dim = x ? dim : 0;
  note->nodes = nodes;
  if (!x) PetscFunctionReturn(0);
  PetscCall(PetscMalloc1(dim * nodes + 1, &copy));
  PetscCall(PetscArraycpy(copy, x, dim * nodes));
  PetscCall(KeepWith((PetscObject)pc, where, copy, PETSC_TRUE));
  PetscFunctionReturn(0);
}

PetscErrorCode CoordinatesOf(PC pc, PetscInt *dim, PetscInt *nodes, const PetscReal **x)
{
  Note *note;
  PetscFunctionBegin;
  *x = NULL;
  PetscCall(NoteOf(pc, &note));
  if (!note || !note->dim) PetscFunctionReturn(0);
  PetscCall(FindWith((PetscObject)pc, where, x));
  *dim = note->dim;
  *nodes = note->nodes;
  PetscFunctionReturn(0);
}

static const Listener listeners[] = {
    {"PCFactorSetMatOrderingType_C", (Function)SetOrdering},
    {"PCFactorSetDropTolerance_C", (Function)SetDropTolerance},
    {"PCFactorReorderForNonzeroDiagonal_C", (Function)SetReorder},
    {"PCFactorSetColumnPivot_C", (Function)SetColumnPivot},
    {"PCFactorSetPivotInBlocks_C", (Function)SetPivotInBlocks},
    {"PCBJacobiGetSubKSP_C", (Function)GetSubKSP},
    {"PCJacobiGetDiagonal_C", (Function)GetDiagonal},
    {"PCSetCoordinates_C", (Function)SetCoordinates},
};

/* ---- creators -------------------------------------------------------------------------------- */

/* A note outlives a change of the type, and begins anew with the next one. */
static PetscErrorCode BeginNote(PC pc)
{
  Note *note;
  PetscFunctionBegin;
  PetscCall(NoteOf(pc, &note));
  if (!note) {
    PetscCall(PetscNew(&note));
    PetscCall(KeepWith((PetscObject)pc, key, note, PETSC_TRUE));
  }
  *note = (Note){.life = note->life + 1};
  PetscFunctionReturn(0);
}

/* PCSetType has named the type, and calls this in place of PETSc's creator. */
static PetscErrorCode Create(PC pc)
{
  int i = 0;
  PetscFunctionBegin;
  while (i < TYPES && strcmp(((PetscObject)pc)->type_name, types[i])) i++;
  PetscCheck(i < TYPES && creators[i], PETSC_COMM_SELF, PETSC_ERR_PLIB, "no creator of this PC");
  PetscCall(creators[i](pc));
  PetscCall(BeginNote(pc));
  PetscCall(Listen((PetscObject)pc, sizeof listeners / sizeof *listeners, listeners));
  PetscFunctionReturn(0);
}

PetscErrorCode RegisterPCs(void)
{
  PetscErrorCode (*found)(PC);
  PetscFunctionBegin;
  PetscCall(PCRegister("poise", PCCreate_Poise)); /* first, as this registers PETSc's own */
  for (int i = 0; i < TYPES; i++) {
    PetscCall(PetscFunctionListFind(PCList, types[i], &found));
    if (!found || found == Create) continue;
    creators[i] = found;
    PetscCall(PCRegister(types[i], Create));
  }
  PetscFunctionReturn(0);
}
