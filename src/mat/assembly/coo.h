/* SPDX-License-Identifier: BSD-3-Clause */
/* Triplets on a device: how they become values (coo.c), and a pattern (coo_pattern.c). */
#ifndef POISE_MAT_COO_H
#define POISE_MAT_COO_H

#include "mat/csr/keys.h"
#include "mat/object/mat.h"

typedef struct TripletMap {
  int numbers; /* of an entry and of a value: b x b where these are blocks, else 1 */
  /* entries; values given; values from other ranks, whose places come behind those given */
  int64_t n, ngiven, nreceived;
  bool wide; /* start and from are int64, else uint32 */
  /* entry e is the sum of the values at places from[start[e] .. start[e + 1]) */
  Buffer start, from;
  Buffer given, received; /* values given on the host; from other ranks; both made on first need */
  /* places of values for other ranks: as wide as from, where the device has found them, else int32, of
     scalars; and those values */
  Buffer send, packed;
  double *picked; /* these of values given on the host, before they come to the device; made on first need */
} TripletMap;

/* entry[k]: the entry of value k of n (given, then received), or -1. Local. */
PoiseErr poiseTripletMapCreate(PoiseContext ctx, int64_t n, const int64_t *entry, TripletMap *t);
/* Their number, and how rows and columns of A stand in a key. */
PoiseErr poiseTripletKeysOpen(PoiseMat A, int64_t n, bool wide, Keys *keys);
/* Keys of the n triplets of a rank, which are on side `where` (coo_pattern.c). It waits, as the indices may
   change after the call. Local. */
PoiseErr poiseTripletKeys(PoiseMat A, Side where, int64_t n, const PoiseInt *rows, const PoiseInt *cols,
                          bool wide, Keys *keys);

/* Set keys of other ranks' rows apart from this rank's (coo_ranks.c): *n of them, sorted, in *foreign, and
   their places in *send. Local. */
PoiseErr poiseTripletKeysPart(PoiseMat A, Keys *keys, Buffer *send, int64_t *n, Buffer *foreign);
/* Keys of n triplets received, whose places are first, first + 1, ..., take the place of those set apart.
   Local. */
PoiseErr poiseTripletKeysJoin(PoiseMat A, Keys *keys, int64_t n, Buffer *received, int64_t first);

/* A's pattern from keys (coo_pattern.c). The device sorts them, and has pattern and map afterwards. mine: an
   earlier failure of this rank. Collective; agrees. */
PoiseErr poiseTripletMapPattern(PoiseMat A, PoiseErr mine, Keys *keys, TripletMap *t);
/* Do places of n values need 8 bytes? */
static inline bool poisePlacesAreWide(PoiseContext ctx, int64_t n)
{
  return n > 2 * poiseContextHome(ctx)->hooks.most_narrow + 1;
}
void poiseTripletMapDestroy(PoiseContext ctx, TripletMap *t);
/* *packed (device) = v[place] for n places of scalars, v on that side. place = NULL: t->send has those of
   values. */
PoiseErr poiseTripletMapPack(PoiseContext ctx, TripletMap *t, Side where, const double *v, int64_t n,
                             const int64_t *place, double **packed);
/* *received: where on the device values from other ranks are to be. */
PoiseErr poiseTripletMapReceive(PoiseContext ctx, TripletMap *t, double **received);
/* val = or += the sums. v: values given, on that side; they may change after the call. */
PoiseErr poiseTripletMapSum(PoiseMat A, TripletMap *t, Side where, const double *v, bool add);

#endif
