/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Which preconditioner works: Poise's own, or PETSc's through a shell.

  Poise's own works where it was asked for (-poise_pc_type, -pc_type poise), and in place of some types of
  PETSc that -pc_type names. These give what PETSc's give; that is why each has a list of the options that
  Poise has too. With any other option, and if the program set the PC in code, PETSc's works.
*/
#include "plugin.h"

typedef struct Twin {
  const char *type;     /* of both */
  const char *options;  /* " key key=value ": handed over, or only known if it has this value */
  const char *defaults; /* what makes Poise's do what PETSc's does by default */
  PetscInt most_rows;   /* 0: any number */
} Twin;

#define FACTOR                                                                           \
  " pc_factor_shift_type pc_factor_shift_amount pc_factor_zeropivot pc_factor_levels=0 " \
  "pc_factor_mat_ordering_type=natural pc_factor_mat_solver_type=petsc "
#define SUB_FACTOR                                                                          \
  " sub_pc_type sub_ksp_type=preonly sub_pc_factor_shift_type sub_pc_factor_shift_amount "  \
  "sub_pc_factor_zeropivot sub_pc_factor_levels=0 sub_pc_factor_mat_ordering_type=natural " \
  "sub_pc_sor_omega sub_pc_sor_its sub_pc_sor_symmetric sub_pc_sor_forward sub_pc_sor_backward "

static const Twin twins[] = {
    {"none", " ", "", 0},
    {"jacobi", " pc_jacobi_fixdiagonal pc_jacobi_type=diagonal ", "-pc_jacobi_fixdiagonal yes\n", 0},
    {"pbjacobi", " ", "", 0},
    {"ilu", FACTOR, "-pc_factor_shift_type inblocks\n", 0},
    {"icc", FACTOR, "", 0},
    {"sor",
     " pc_sor_omega pc_sor_its pc_sor_lits pc_sor_symmetric pc_sor_forward pc_sor_backward "
     "pc_sor_local_symmetric pc_sor_local_forward pc_sor_local_backward ",
     "", 0},
    {"bjacobi", SUB_FACTOR " pc_bjacobi_blocks pc_bjacobi_local_blocks ",
     "-sub_pc_type ilu\n-sub_ksp_type preonly\n", 0},
    {"lu", " pc_factor_zeropivot pc_factor_mat_solver_type=petsc ", "", 500}, /* Poise's is dense */
};

static const Twin *TwinOf(const char *type)
{
  for (size_t i = 0; i < sizeof twins / sizeof *twins; i++)
    if (type && !strcmp(type, twins[i].type)) return &twins[i];
  return NULL;
}

/* ---- its options ----------------------------------------------------------------------------- */

typedef struct Look {
  const Twin *twin;
  const char *prefix;
  Chosen *chosen;
  PetscBool other; /* an option that Poise does not have */
} Look;

/* 2: handed over; 1: known with this value; 0: neither */
static int Knows(const Twin *twin, const char *key, const char *value)
{
  char word[3 * NAME];
  if (PetscSNPrintf(word, sizeof word, " %s ", key)) return 0;
  if (strstr(twin->options, word)) return 2;
  if (PetscSNPrintf(word, sizeof word, " %s=%s ", key, value ? value : "")) return 0;
  return strstr(twin->options, word) != NULL;
}

static PetscErrorCode LookAtOption(void *arg, const char *key, const char *value)
{
  Look *l = arg;
  char line[3 * NAME], name[2 * NAME];
  PetscBool used;
  PetscFunctionBegin;
  const PetscBool sub = !strncmp(key, "sub_", 4) ? PETSC_TRUE : PETSC_FALSE;
  if (strncmp(key, "pc_", 3) && !sub) PetscFunctionReturn(0);
  if (sub && strcmp(l->twin->type, "bjacobi")) PetscFunctionReturn(0);
  if (!strcmp(key, "pc_type") || !strncmp(key, "pc_view", 7)) PetscFunctionReturn(0);
  const int knows = Knows(l->twin, key, value);
  if (!knows) l->other = PETSC_TRUE;
  if (!strcmp(key, "sub_pc_type") &&
      (!value || !TwinOf(value) || TwinOf(value)->most_rows || !strcmp(value, "bjacobi")))
    l->other = PETSC_TRUE;
  if (knows == 2) {
    PetscCall(PetscSNPrintf(line, sizeof line, "-%s %s\n", key, value ? value : "yes"));
    PetscCall(PetscStrlcat(l->chosen->options, line, sizeof l->chosen->options));
  }
  if (knows && sub) { /* PETSc's PC would have read it when built */
    PetscCall(PetscSNPrintf(name, sizeof name, "-%s%s", l->prefix, key));
    PetscCall(PetscOptionsHasName(NULL, NULL, name, &used));
  }
  PetscFunctionReturn(0);
}

/* PETSc's default shift of the factors in blocks. */
static PetscErrorCode AddShiftOfBlocks(Chosen *c)
{
  PetscFunctionBegin;
  const char *type = strstr(c->options, "-sub_pc_type ");
  for (const char *next = type; next; next = strstr(type + 1, "-sub_pc_type ")) type = next;
  if (type && !strncmp(type, "-sub_pc_type ilu\n", 17) && !strstr(c->options, "-sub_pc_factor_shift_type"))
    PetscCall(PetscStrlcat(c->options, "-sub_pc_factor_shift_type inblocks\n", sizeof c->options));
  PetscFunctionReturn(0);
}

/* ---- the choice ------------------------------------------------------------------------------ */

static PetscErrorCode ChooseTwin(PC pc, const char *prefix, Chosen *c)
{
  const char *type = ((PetscObject)pc)->type_name;
  Look look = {.twin = TwinOf(type), .prefix = prefix ? prefix : "", .chosen = c};
  PetscFunctionBegin;
  c->because = "Poise has none of this type";
  if (!look.twin) PetscFunctionReturn(0);
  PetscCall(PetscStrncpy(c->options, look.twin->defaults, sizeof c->options));
  PetscCall(EachOption(prefix, LookAtOption, &look));
  PetscCall(AddShiftOfBlocks(c));
  PetscCall(PetscStrncpy(c->type, type, NAME));
  c->own = look.other ? PETSC_FALSE : PETSC_TRUE;
  c->because = look.other ? "it has an option that Poise's has not" : NULL;
  PetscFunctionReturn(0);
}

PetscErrorCode ChoosePC(PC pc, Chosen *c)
{
  const char *prefix;
  char word[NAME];
  PetscBool given, named;
  PetscFunctionBegin;
  *c = (Chosen){.because = "-pc_type does not name it"};
  PetscCall(PCGetOptionsPrefix(pc, &prefix));
  PetscCall(PetscOptionsGetString(NULL, prefix, "-poise_pc_type", word, NAME, &given));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, "poise", &named));
  if (given || named) {
    PetscCall(PetscStrncpy(c->type, given ? word : "ilu", NAME));
    c->own = c->by_poise = PETSC_TRUE;
    c->because = NULL;
    PetscFunctionReturn(0);
  }
  PetscCall(PetscOptionsGetString(NULL, prefix, "-pc_type", word, NAME, &given));
  if (given && ((PetscObject)pc)->type_name && !strcmp(word, ((PetscObject)pc)->type_name))
    PetscCall(ChooseTwin(pc, prefix, c));
  PetscFunctionReturn(0);
}

/* May Poise's own PC of this many rows stand for PETSc's? */
PetscBool TwinFits(const char *type, PetscInt rows)
{
  const Twin *twin = TwinOf(type);
  return !twin || !twin->most_rows || rows <= twin->most_rows ? PETSC_TRUE : PETSC_FALSE;
}
