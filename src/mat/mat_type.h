/* SPDX-License-Identifier: BSD-3-Clause */
/* Which type a matrix was asked to be, which one works, and how these change (mat_type.c). */
#ifndef POISE_MAT_TYPE_H
#define POISE_MAT_TYPE_H

#include "mat/mat.h"

/* The type that works where `asked` was asked for. b: entries are blocks of b x b; 0: they are scalars.
   present: the type that works so far; NULL: none does. */
const MatType *poiseMatWorking(const MatType *asked, int b, const MatType *present);

/* A change of type, in two steps. All that may fail is made before. What follows once all ranks agree cannot
   fail. */
typedef struct TypeChange {
  const MatType *asked, *works; /* afterwards */
  void *waiting, *data;         /* their data, where these are new; else NULL */
} TypeChange;

/* Make what a change needs: A is asked to be of that type, with entries as in poiseMatWorking. Local. */
PoiseErr poiseTypeChangeCreate(PoiseMat A, const MatType *asked, int b, TypeChange *c);
void poiseTypeChangeApply(PoiseMat A, TypeChange *c);
void poiseTypeChangeDestroy(PoiseContext ctx, TypeChange *c); /* one that does not take place */

/* Use this type; data become A's. */
void poiseMatUse(PoiseMat A, const MatType *type, void *data);
/* Data of a type other than auto, with the defaults of its options. */
PoiseErr poiseMatTypeData(PoiseContext ctx, const MatType *type, void **data);
void poiseMatReleaseType(PoiseMat A); /* of a matrix that is destroyed */

/* Ask for another type, to be set up later. After a failure the old type stays on all ranks. Under type
   auto it is used until the new one is set up. Collective; agrees. */
PoiseErr poiseMatChangeType(PoiseMat A, const MatType *type);
/* No blocks are worth their bytes: what was asked for becomes what works. If A does not wait to be blocks,
   nothing. */
void poiseMatDropBlocks(PoiseMat A);
PoiseErr poiseMatFindType(const char *name, const MatType **type);
PoiseErr poiseMatAskByName(PoiseMat A, const MatType *type); /* poiseMatChangeType, as the user said so */
void *poiseMatAskedData(PoiseMat A);                         /* of the type that was asked for */
/* The type that works where A is asked to be of this one: of pcsr that of its parts. */
const MatType *poiseMatLocalType(PoiseMat A, const MatType *type);
/* Copy to B that A is of type pcsr, and the shares of ranks. Collective; agrees. */
PoiseErr poiseMatInheritParts(PoiseMat A, PoiseMat B);
void poiseMatInherit(PoiseMat A, PoiseMat B); /* copy A's options to B, if B was asked for the same type */
/* Make what the type keeps of A's pattern. Type auto chooses if pattern or options are new. Collective;
   agrees. */
PoiseErr poiseMatSetUp(PoiseMat A);
PoiseErr poiseMatRegisterTypes(PoiseContext ctx); /* their options */

static inline bool poiseMatIsAuto(PoiseMat A)
{
  return A->asked.type == &poiseMatType_auto;
}

/* Was A asked to be bcsr, and its entries are scalars yet? It may not be used then. */
static inline bool poiseMatWaits(PoiseMat A)
{
  return A->asked.type->blocked && !A->type->blocked;
}

/* The side of the blocks in which new entries of A are kept. 0: as scalars, also while the size is to be
   found. */
static inline int poiseMatAskedBlocks(PoiseMat A)
{
  return A->asked.type->blocked && !A->asked.find ? A->block_size : 0;
}

#endif
