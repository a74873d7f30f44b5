/* SPDX-License-Identifier: BSD-3-Clause */
/* Hubs: high-degree columns, as of graphs whose degrees follow a power law. The SpMV of a GPU keeps their
   x in shared memory if x is too large for L1. */
#ifndef POISE_HUBS_H
#define POISE_HUBS_H

#include "mat/object/mat.h"

/* Find the hubs of 2^bits slots (0: none), as a ProductPlan says. if_pays: keep them only if they have enough
   entries. Reads all columns once. */
PoiseErr poiseHubsFind(PoiseMat A, int bits, bool if_pays, Hubs *h);
PoiseErr poiseHubsArguments(Hubs *h, CsriMultArgs *a);
/* *p += bytes that so many hubs may hold. */
void poiseHubsPredict(const Device *dev, int bits, PoisePrediction *p);
void poiseHubsDestroy(Hubs *h);

#endif
