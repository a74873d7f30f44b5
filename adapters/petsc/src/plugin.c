/* SPDX-License-Identifier: BSD-3-Clause */
/*
  What PETSc calls when it loads the plug-in (-dll_append libpoise_petsc.so). The plug-in reads private
  structs of PETSc. So the PETSc of the program must be like that of the build, which is checked here.
*/
#include "plugin.h"

static PetscErrorCode CheckVersion(void)
{
  PetscInt major, minor, subminor;
  PetscFunctionBegin;
  PetscCall(PetscGetVersionNumber(&major, &minor, &subminor, NULL));
  PetscCheck(major == PETSC_VERSION_MAJOR && minor == PETSC_VERSION_MINOR, PETSC_COMM_SELF, PETSC_ERR_SUP_SYS,
             "libpoise_petsc was built for PETSc %d.%d, this is PETSc %d.%d", PETSC_VERSION_MAJOR,
             PETSC_VERSION_MINOR, (int)major, (int)minor);
  PetscFunctionReturn(0);
}

/* The process may hold a PETSc of other scalars or indices than that of the build. */
static PetscErrorCode CheckTypes(void)
{
  PetscDataType type;
  PetscBool found;
  size_t bytes;
  PetscFunctionBegin;
  PetscCall(PetscDataTypeFromString("scalar", &type, &found));
  PetscCheck(!found || type == PETSC_DOUBLE, PETSC_COMM_SELF, PETSC_ERR_SUP_SYS,
             "libpoise_petsc solves real systems in doubles; the scalars of this PETSc are others");
  PetscCall(PetscDataTypeGetSize(PETSC_INT, &bytes));
  PetscCheck(bytes == sizeof(PetscInt), PETSC_COMM_SELF, PETSC_ERR_SUP_SYS,
             "libpoise_petsc needs indices of 32 bits; those of this PETSc have %d", (int)bytes * 8);
  PetscFunctionReturn(0);
}

PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_poise_petsc(void)
{
  PetscFunctionBegin;
  PetscCall(CheckVersion());
  PetscCall(CheckTypes());
  PetscCall(KnowProcess());
  PetscCall(KSPRegister("poise", KSPCreate_Poise)); /* first, as this registers PETSc's own */
  PetscCall(RegisterMethods());
  PetscCall(RegisterPCs());
  PetscFunctionReturn(0);
}
