/* SPDX-License-Identifier: BSD-3-Clause */
/* Hubs: columns that many entries have, as of graphs whose degrees follow a power law. A GPU's product keeps
   their x in shared memory, where all of x is too large for its first caches. */
#ifndef POISE_HUBS_H
#define POISE_HUBS_H

#include "mat.h"

typedef struct Hubs { /* zero-initialise it */
  int bits;           /* log2 of the slots, of which each may have a hub; 0: there are no hubs */
  double entries;     /* of hubs */
  Buffer column;
} Hubs;

/* asked: slots, rounded down to a power of 2, 0: none, or -1: as many as suit the device and the number of
   nonzeros, if x is large and they have so many entries that it pays. Reads the columns of all entries
   once. */
PoiseErr poiseHubsFind(PoiseMat A, PoiseInt asked, Hubs *h);
PoiseErr poiseHubsArguments(Hubs *h, CsriMultArgs *a);
void poiseHubsBytes(const Hubs *h, PoiseBytes *sum);
/* Of a CSR: *p += what they may hold. Returns whether there may be hubs. */
bool poiseHubsPredict(const Device *dev, const MatPlan *plan, PoiseInt asked, PoisePrediction *p);
void poiseHubsDestroy(Hubs *h);

#endif
