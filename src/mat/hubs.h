/* SPDX-License-Identifier: BSD-3-Clause */
/* Hubs: columns that many entries have, as of graphs whose degrees follow a power law. A GPU's product keeps their x in shared memory,
   where all of x is too large for its first caches. */
#ifndef POISE_HUBS_H
#define POISE_HUBS_H

#include "mat.h"

typedef struct Hubs { /* zero-initialise it */
  int bits;           /* log2 of the slots, of which each may have a hub; 0: there are no hubs */
  double entries;     /* of hubs */
  Buffer column;
} Hubs;

/* Of 2^bits slots (0: none), as a ProductPlan says; if_pays: they are kept only if they have so many entries
   that it pays. Reads the columns of all entries once. */
PoiseErr poiseHubsFind(PoiseMat A, int bits, bool if_pays, Hubs *h);
PoiseErr poiseHubsArguments(Hubs *h, CsriMultArgs *a);
void poiseHubsBytes(const Hubs *h, PoiseBytes *sum);
void poiseHubsPredict(const Device *dev, int bits, PoisePrediction *p); /* *p += what so many may hold */
void poiseHubsDestroy(Hubs *h);

#endif
