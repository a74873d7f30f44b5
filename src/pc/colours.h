/* SPDX-License-Identifier: BSD-3-Clause */
/*
  A colouring of the block that a rank owns: rows with an entry in common, in either direction, have different
  colours. So those of one colour can be relaxed at once. Rows of blocks are coloured as they are.
*/
#ifndef POISE_COLOURS_H
#define POISE_COLOURS_H

#include "triangles.h"

typedef struct Colours {
  int count, unit;   /* unit: rows of a group; a colour has whole groups of places */
  int64_t n, *start; /* [count + 1]: places of a colour's rows; start[count]: of all */
  Buffer colour;     /* uint8 [n] */
  Buffer place, row; /* int32: of each row; 1 + that at each place, 0: none */
} Colours;

/* The same on all devices and for any number of threads. P's diagonal is there (POISE_ERR_NUMERIC);
   POISE_ERR_UNSUPPORTED: more than COLOUR_MOST colours. Waits for the device. Local. */
PoiseErr poiseColoursFind(PoisePC pc, int unit, Colours *c);
void poiseColoursBytes(const Colours *c, PoiseBytes *sum);
void poiseColoursDestroy(PoiseContext ctx, Colours *c);

#endif
