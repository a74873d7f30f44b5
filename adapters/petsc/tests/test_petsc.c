/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The plug-in, as a program of PETSc uses it. Each case solves twice, by a method of PETSc and with type
  poise, from the same calls. Norms of all iterations, reasons and solutions must agree. Any number of ranks.

    test_petsc libpoise_petsc.so [cuda] [shared] [name of a case]

  cuda: matrices and vectors are of PETSc's CUDA types, and Poise works on the same GPU. That needs a PETSc
  that is built with CUDA. shared: ranks share a device, where they solve as one.
*/
#include "test.h"

int failures, checks;
PetscMPIInt ranks;
PetscBool gpu, shared;

/* Take the word if it comes next. */
static PetscBool Takes(char ***words, const char *word)
{
  if (!**words || strcmp(**words, word)) return PETSC_FALSE;
  ++*words;
  return PETSC_TRUE;
}

static PetscErrorCode RunAll(const Case *cases, const char *only)
{
  PetscFunctionBegin;
  for (; cases->name; cases++) {
    if (only && strcmp(only, cases->name)) continue;
    const int before = failures;
    PetscCall(cases->run());
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-18s %s\n", cases->name, failures > before ? "FAILED" : "ok"));
  }
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  static const Case *const lists[] = {of_matrices, of_settings, of_pcs,  of_levels, of_lent,
                                      of_options,  of_methods,  of_many, of_gpus};
  char plugin[512], *words[] = {argv[0], "-dll_append", plugin, NULL}, **arguments = words;
  int n = 3;
  if (argc < 2) return 2;
  char **rest = argv + 2;
  gpu = Takes(&rest, "cuda");
  shared = Takes(&rest, "shared");
  snprintf(plugin, sizeof plugin, "%s", argv[1]);
  PetscCall(PetscInitialize(&n, &arguments, NULL, NULL));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) PetscCall(RunAll(lists[k], *rest));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%d checks on rank 0, %d failures\n", checks, failures));
  PetscCall(PetscFinalize());
  return failures != 0;
}
