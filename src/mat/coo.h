/* SPDX-License-Identifier: BSD-3-Clause */
/* Triplets: how they become values (triplets.c), on a device too (coo.c, coo_pattern.c). */
#ifndef POISE_MAT_COO_H
#define POISE_MAT_COO_H

#include "mat.h"

void poiseTripletsDestroy(PoiseContext ctx, struct Triplets **triplets); /* triplets.c */
void poiseTripletsBytes(const struct Triplets *t, PoiseBytes *sum);      /* sum += what it holds; NULL: nothing */

typedef struct TripletMap {
  int numbers;                  /* of an entry and of a value: b x b where these are blocks, else 1 */
  int64_t n, ngiven, nreceived; /* entries, values given, values from other ranks, which have the places behind */
  bool wide;                    /* start and from are int64, else uint32 */
  Buffer start, from;           /* entry e is the sum of the values at places from[start[e] .. start[e + 1]) */
  Buffer given, received;       /* the device's copies of values that come from the host; made on first need */
  Buffer send, packed; /* int32: places of values for other ranks, and these, where values are given on the device */
} TripletMap;

/* entry[k]: where value k of n, given and then received, goes, or -1. Local. */
PoiseErr poiseTripletMapCreate(PoiseContext ctx, int64_t n, const int64_t *entry, TripletMap *t);
/* A's pattern from triplets on one rank (coo_pattern.c), given on that side: sorted on the device, where pattern and map then are. */
PoiseErr poiseTripletMapPattern(PoiseMat A, Side where, const PoiseInt *rows, const PoiseInt *cols, TripletMap *t);
/* Do places of n values need 8 bytes? */
static inline bool poisePlacesAreWide(PoiseContext ctx, int64_t n)
{
  return n > 2 * poiseContextHome(ctx)->most_narrow + 1;
}
void poiseTripletMapDestroy(TripletMap *t);
/* packed (host) = v[place] for n places of numbers. */
PoiseErr poiseTripletMapPack(PoiseContext ctx, TripletMap *t, const double *v, int64_t n, const int64_t *place,
                             double *packed);
/* val = or += the sums. v: given, on that side; received: on the host. They may change afterwards. */
PoiseErr poiseTripletMapSum(PoiseMat A, TripletMap *t, Side where, const double *v, const double *received, bool add);
/* PoiseMatSetValuesCOO, AddValuesCOO with v on one side of A's device. Collective; agrees. */
PoiseErr poiseMatTakeCOO(PoiseMat A, Side where, const double *v, bool add);

/* Add to number k, of either width; what it was. */
POISE_INLINE int64_t poiseAdvance(bool wide, void *array, int64_t k, int64_t by)
{
  int64_t *a64 = array;
  uint32_t *a32 = array;
  int64_t old = wide ? a64[k] : a32[k];
  if (wide)
    a64[k] = old + by;
  else
    a32[k] = (uint32_t)(old + by);
  return old;
}

#endif
