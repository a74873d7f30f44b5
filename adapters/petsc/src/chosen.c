/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Which preconditioner works: Poise's own, or PETSc's through a shell.

  Poise's own works where it was asked for (-poise_pc_type, -pc_type poise, -poise_pc_gamg native,
  -poise_pc_mg native), and in place of some types of PETSc that -pc_type names. These give what PETSc's give,
  with the settings that the PC has. If Poise lacks one of them, and if the program sets another PC or type in
  code, PETSc's works.
*/
#include "plugin.h"

/* A PC that gets its type again is another one. */
static PetscErrorCode LifeOf(PC pc, int *life)
{
  Note *note;
  PetscFunctionBegin;
  *life = 0;
  PetscCall(NoteOf(pc, &note));
  if (note) *life = note->life;
  PetscFunctionReturn(0);
}

enum { UNREAD, WITHOUT, WITH_MATRIX };

/* What the PC has now, in *c. Its inside is read once, as PETSc does, and again when there is a matrix. */
static PetscErrorCode Read(PC pc, Chosen *c)
{
  PetscBool blocks;
  const int with = pc->pmat && pc->pmat->assembled ? WITH_MATRIX : WITHOUT;
  PetscFunctionBegin;
  if (c->levels) PetscCall(ReadLevels(pc, c->options, sizeof c->options));
  if (c->native) PetscFunctionReturn(0); /* all else with Poise's own settings */
  PetscCall(ReadSettings(pc, "", c->options, sizeof c->options, &c->because));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCBJACOBI, &blocks));
  if (!blocks || c->because) PetscFunctionReturn(0);
  if (c->read < with) PetscCall(ReadInside(pc, c->inside, sizeof c->inside, &c->because_inside));
  c->read = PetscMax(c->read, with);
  c->because = c->because_inside;
  PetscCall(PetscStrlcat(c->options, c->inside, sizeof c->options));
  PetscFunctionReturn(0);
}

/* -poise_pc_gamg, -poise_pc_mg: levels or smoothers are not PETSc's, so that these have to be asked for. */
static PetscErrorCode ReadNative(PC pc, const char *prefix, PetscBool *native)
{
  static const char *const types[] = {PCGAMG, PCMG}, *const words[] = {"petsc", "native"};
  char word[NAME], option[NAME];
  PetscBool is, given = PETSC_FALSE, found;
  PetscInt at = 0;
  PetscFunctionBegin;
  *native = PETSC_FALSE;
  for (int k = 0; k < 2 && !given; k++) {
    PetscCall(PetscObjectTypeCompare((PetscObject)pc, types[k], &is));
    PetscCall(PetscSNPrintf(option, NAME, "-poise_pc_%s", types[k]));
    if (is) PetscCall(PetscOptionsGetString(NULL, prefix, option, word, NAME, &given));
  }
  if (!given) PetscFunctionReturn(0);
  PetscCall(PetscEListFind(2, words, word, &at, &found));
  PetscCheck(found, PetscObjectComm((PetscObject)pc), PETSC_ERR_USER_INPUT, "-%s%s %s: it is native or petsc",
             prefix ? prefix : "", option + 1, word);
  *native = at ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(0);
}

/* Where a default of Poise ends a solve that goes on with PETSc's PC of that name. Options override these. */
static const char as_petsc[] = "-pc_jacobi_fixdiagonal yes\n-sub_pc_jacobi_fixdiagonal yes\n";

PetscErrorCode ChoosePC(PC pc, Chosen *c)
{
  const char *prefix;
  char word[NAME] = "";
  PetscBool given, named;
  PetscFunctionBegin;
  *c = (Chosen){.because = "-pc_type does not name it"};
  PetscCall(PCGetOptionsPrefix(pc, &prefix));
  PetscCall(PetscOptionsGetString(NULL, prefix, "-poise_pc_type", word, NAME, &given));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, "poise", &named));
  if (given || named) {
    PetscCall(PetscStrncpy(c->type, given ? word : "ilu", NAME));
    PetscCall(PetscStrncpy(c->options, as_petsc, sizeof c->options));
    c->own = c->by_poise = PETSC_TRUE;
    c->because = NULL;
    PetscFunctionReturn(0);
  }
  PetscCall(PetscOptionsGetString(NULL, prefix, "-pc_type", word, NAME, &given));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, word, &named));
  PetscCall(ReadNative(pc, prefix, &c->native));
  if (!c->native && (!given || !named)) PetscFunctionReturn(0);
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCMG, &named));
  c->levels = c->native && named ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(PetscStrncpy(c->type, c->levels ? "mg" : c->native ? "amg" : word, NAME));
  c->because = NULL;
  c->pc = ((PetscObject)pc)->id;
  PetscCall(LifeOf(pc, &c->life));
  PetscCall(Read(pc, c));
  c->own = c->because ? PETSC_FALSE : PETSC_TRUE;
  PetscFunctionReturn(0);
}

PetscErrorCode FollowChoice(PC pc, Chosen *c, PetscBool *changed)
{
  int life = 0;
  PetscMPIInt ranks, back;
  PetscFunctionBegin;
  *changed = PETSC_FALSE;
  if (!c->own || c->by_poise) PetscFunctionReturn(0);
  Chosen now = *c;
  PetscCall(LifeOf(pc, &life));
  if (((PetscObject)pc)->id != c->pc || life != c->life)
    now.because = "the program has set it in code";
  else
    PetscCall(Read(pc, &now));
  if (!now.because && now.levels) PetscCall(WhyNotLevels(pc, &now.because));
  back = now.because != NULL; /* a rank alone may ask for the inside */
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)pc), &ranks));
  if (ranks > 1)
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &back, 1, MPI_INT, MPI_MAX, PetscObjectComm((PetscObject)pc)));
  *changed = !back && strcmp(now.options, c->options) ? PETSC_TRUE : PETSC_FALSE;
  *c = now;
  if (back && !c->because) c->because = "the program has changed it on another rank";
  c->own = back ? PETSC_FALSE : PETSC_TRUE;
  PetscFunctionReturn(0);
}

PetscBool TwinFits(const char *type, PetscInt rows)
{
  const PetscBool dense = !strcmp(type, PCLU) || !strcmp(type, PCCHOLESKY) ? PETSC_TRUE : PETSC_FALSE;
  return !dense || rows <= 500 ? PETSC_TRUE : PETSC_FALSE;
}

PetscBool IsSymmetricPC(const char *type)
{
  static const char *const types[] = {"none", "jacobi", "icc", "cholesky"};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (!strcmp(type, types[i])) return PETSC_TRUE;
  return PETSC_FALSE;
}
