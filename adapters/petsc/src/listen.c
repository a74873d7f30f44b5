/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Functions in front of those that a type of PETSc composes with its objects ("KSPGMRESSetRestart_C"). PETSc's
  own has the name "poise:<its name>" meanwhile.
*/
#include "plugin.h"

PetscErrorCode Listen(PetscObject object, int n, const Listener *listeners)
{
  char own[NAME];
  Function function;
  PetscFunctionBegin;
  for (int i = 0; i < n; i++) {
    PetscCall(PetscObjectQueryFunction(object, listeners[i].name, &function));
    if (!function) continue;
    PetscCall(PetscSNPrintf(own, sizeof own, "poise:%s", listeners[i].name));
    PetscCall(PetscObjectComposeFunction(object, own, function));
    PetscCall(PetscObjectComposeFunction(object, listeners[i].name, listeners[i].function));
  }
  PetscFunctionReturn(0);
}

PetscErrorCode Behind(PetscObject object, const char *name, void *function)
{
  char own[NAME];
  Function f;
  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(own, sizeof own, "poise:%s", name));
  PetscCall(PetscObjectQueryFunction(object, own, &f));
  memcpy(function, &f, sizeof f);
  PetscFunctionReturn(0);
}

PetscErrorCode FindWith(PetscObject object, const char *key, void *memory)
{
  PetscContainer box;
  void *p = NULL;
  PetscFunctionBegin;
  PetscCall(PetscObjectQuery(object, key, (PetscObject *)&box));
  if (box) PetscCall(PetscContainerGetPointer(box, &p));
  memcpy(memory, &p, sizeof p);
  PetscFunctionReturn(0);
}

PetscErrorCode KeepWith(PetscObject object, const char *key, void *memory, PetscBool frees)
{
  PetscContainer box;
  PetscFunctionBegin;
  PetscCall(PetscContainerCreate(PetscObjectComm(object), &box));
  PetscCall(PetscContainerSetPointer(box, memory));
  if (frees) PetscCall(FreeWith(box));
  PetscCall(PetscObjectCompose(object, key, (PetscObject)box));
  PetscCall(PetscContainerDestroy(&box));
  PetscFunctionReturn(0);
}
