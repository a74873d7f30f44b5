/* SPDX-License-Identifier: BSD-3-Clause */
/* As which type a matrix is asked to be stored and multiplied (mat_type.c). */
#ifndef POISE_MAT_TYPE_H
#define POISE_MAT_TYPE_H

#include "mat.h"

/* A is asked to be of this type; its entries are blocks of b x b, or b = 0: scalars, which work as csr where
   blocks were asked for. */
void poiseMatUse(PoiseMat A, const MatType *asked, int b);

/* Ask for another type, to be set up later. After a failure the old type stays on all ranks. Collective;
   agrees. */
PoiseErr poiseMatChangeType(PoiseMat A, const MatType *type);
/* No blocks are worth their bytes: what was asked for becomes what works. If A does not wait to be blocks,
   nothing. */
void poiseMatDropBlocks(PoiseMat A);
PoiseErr poiseMatFindType(const char *name, const MatType **type);
PoiseErr poiseMatAskByName(PoiseMat A, const MatType *type); /* poiseMatChangeType, as the user said so */
/* The type that counts where A is asked to be of this one: of pcsr that of its parts. */
const MatType *poiseMatLocalType(PoiseMat A, const MatType *type);
/* Copy to B that A is of type pcsr, and the shares of ranks. Collective; agrees. */
PoiseErr poiseMatInheritParts(PoiseMat A, PoiseMat B);
void poiseMatInherit(PoiseMat A, PoiseMat B); /* copy to B how A is to be multiplied */
/* Choose how A is multiplied, and make what that needs. Collective; agrees. */
PoiseErr poiseMatSetUp(PoiseMat A);
/* For type auto set by name, and A assembled. A becomes bcsr if all of it came entry by entry, and blocks of
   its block size take less time. Collective; agrees. */
PoiseErr poiseMatChooseBlocks(PoiseMat A);

static inline bool poiseMatIsAuto(PoiseMat A)
{
  return A->asked.type == &poiseMatType_auto;
}

/* And the program or its options said so: it may become blocks. */
static inline bool poiseMatIsAutoByName(PoiseMat A)
{
  return poiseMatIsAuto(A) && A->asked.named;
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
