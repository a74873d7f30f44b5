/* SPDX-License-Identifier: BSD-3-Clause */
/* Preconditioners as their types and the solvers see them. */
#ifndef POISE_PC_IMPL_H
#define POISE_PC_IMPL_H

#include "../mat/mat.h"
#include "poise/pc.h"

typedef struct PCType {
  const char *name;
  size_t size;                /* of pc->data */
  const PoiseOption *options; /* of pc->data */
  bool eager;                 /* calls back to the host: a solver's loop cannot be replayed */
  PoiseErr (*setup)(PoisePC); /* from pc->P's present values; local failures are agreed upon by pc.c */
  /* z = M^-1 r and dots of z; enqueued. */
  PoiseErr (*apply)(PoisePC, PoiseVec r, PoiseVec z, const double *skip, const Fuse *);
  /* M^-1 as a diagonal, on the device (NULL: the identity), for solvers that apply it inside their vector phases; NULL here
     when M is none. */
  PoiseErr (*pointwise)(PoisePC, const double **d);
  PoiseErr (*view)(PoisePC);
  void (*destroy)(PoisePC); /* of pc->data's contents */
} PCType;

struct PoisePC_s {
  PoiseContext ctx;
  const PCType *type;
  void *data;
  PoiseMat P;
  int64_t state, pattern; /* of P when M was built; 0: not built */
  bool built;             /* there is an M of P's layout, be it an old one */
  int64_t generation;     /* counts rebuilds that move arrays */
  int64_t builds;         /* counts all */
  char *prefix;
};

PoiseErr poisePCApplyFuse(PoisePC pc, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse);

/* ---- blocks.c: inverse diagonal blocks, shared by jacobi (b = 1) and pbjacobi ----------------------------------------- */

typedef struct Blocks {
  int b;
  int64_t n; /* rows */
  Buffer inverse, bad;
} Blocks;

/* Invert P's diagonal blocks. fix: a zero 1 x 1 block counts as 1. */
PoiseErr poiseBlocksSetup(PoisePC pc, Blocks *blocks, int b, bool fix);
PoiseErr poiseBlocksApply(PoisePC pc, Blocks *blocks, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse);
void poiseBlocksDestroy(Blocks *blocks);

#endif
