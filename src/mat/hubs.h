/* SPDX-License-Identifier: BSD-3-Clause */
/* Hubs: high-degree columns, as of graphs whose degrees follow a power law. The SpMV of a GPU keeps their
   x in shared memory if x is too large for L1. */
#ifndef POISE_HUBS_H
#define POISE_HUBS_H

#include "mat.h"

typedef struct Hubs { /* zero-initialise it */
  int bits;           /* log2 of the number of slots, each of which may have a hub; 0: no hubs */
  double entries;     /* of hubs */
  Buffer column;
} Hubs;

/* Find hubs. asked: number of slots, rounded down to a power of 2; 0: none. With -1 the number suits the
   device and the number of nonzeros. Hubs are then used only if x is large and they have enough entries.
   Reads all columns once. */
PoiseErr poiseHubsFind(PoiseMat A, PoiseInt asked, Hubs *h);
PoiseErr poiseHubsArguments(Hubs *h, CsriMultArgs *a);
void poiseHubsBytes(const Hubs *h, PoiseBytes *sum);
/* *p += bytes that the hubs of a CSR may hold. Returns whether there may be hubs. */
bool poiseHubsPredict(const Device *dev, const MatPlan *plan, PoiseInt asked, PoisePrediction *p);
void poiseHubsDestroy(Hubs *h);

#endif
