/* SPDX-License-Identifier: BSD-3-Clause */
/* Inverse diagonal blocks, shared by none, jacobi, sor (b = 1) and pbjacobi. */
#ifndef POISE_BLOCKS_H
#define POISE_BLOCKS_H

#include "pc.h"

typedef struct Blocks {
  int b;
  int64_t n; /* rows */
  Buffer inverse, bad;
} Blocks;

/* Invert P's diagonal blocks. fix: treat a zero 1 x 1 block as 1. */
PoiseErr poiseBlocksSetup(PoisePC pc, Blocks *blocks, int b, bool fix);
PoiseErr poiseBlocksShow(Blocks *blocks, const double **d, int64_t *b); /* as PCType.blocks */
PoiseErr poiseBlocksApply(PoisePC pc, Blocks *blocks, PoiseVec r, PoiseVec z, const double *skip,
                          const Fuse *fuse);
void poiseBlocksBytes(const Blocks *blocks, PoiseBytes *sum);
void poiseBlocksPredict(PoisePC pc, int b, PoisePrediction *p);
void poiseBlocksDestroy(Blocks *blocks);

#endif
