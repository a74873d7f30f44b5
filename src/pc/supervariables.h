/* SPDX-License-Identifier: BSD-3-Clause */
/* Inverse diagonal blocks of the sizes that the pattern suggests, for bjacobi. */
#ifndef POISE_SUPERVARIABLES_H
#define POISE_SUPERVARIABLES_H

#include "pc.h"

typedef struct Supervariables {
  Version seen; /* P, when they were found */
  int most;     /* maximum rows of a block, as asked for */
  int64_t n, count, largest, entries;
  int64_t equal; /* rows of each block, where the last one may have fewer; 0: sizes differ */
  Buffer start, at, inverse, bad;
} Supervariables;

PoiseErr poiseSupervariablesSetup(PoisePC pc, Supervariables *s, int most); /* local; most <= 32 */
PoiseErr poiseSupervariablesApply(PoisePC pc, Supervariables *s, PoiseVec r, PoiseVec z, const double *skip,
                                  const Fuse *fuse);
PoiseErr poiseSupervariablesShow(Supervariables *s, const double **d, int64_t *b); /* as PCType.blocks */
PoiseErr poiseSupervariablesView(PoisePC pc, const Supervariables *s);             /* collective */
void poiseSupervariablesBytes(const Supervariables *s, PoiseBytes *sum);
void poiseSupervariablesPredict(PoisePC pc, int most, PoisePrediction *p);
void poiseSupervariablesDestroy(Supervariables *s);

#endif
