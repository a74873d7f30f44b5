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

enum { ORDER_AUTO, ORDER_NATURAL, ORDER_COLOURS }; /* of rows; in the order of POISE_COLOUR_WORDS */
#define POISE_COLOUR_WORDS "auto|natural|colours"
/* Are rows taken by colours, as was asked for, or by choice? refused: P when it had too many of them. Alike
   on all ranks. */
bool poiseColoursChosen(PoisePC pc, int asked, const Version *refused);
/* Behind a set-up by colours that has given `mine`: if they were chosen, and are too many on any rank, that
   is no error. Then *again, and it is to be done in the natural order. Collective; agrees. */
PoiseErr poiseColoursAgree(PoisePC pc, int asked, PoiseErr mine, Version *refused, bool *again);
void poiseColoursBytes(const Colours *c, PoiseBytes *sum);
void poiseColoursDestroy(PoiseContext ctx, Colours *c);

#endif
