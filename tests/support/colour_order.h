/* SPDX-License-Identifier: BSD-3-Clause */
/* The order of rows by colours, for references. */
#ifndef POISE_TEST_COLOUR_ORDER_H
#define POISE_TEST_COLOUR_ORDER_H

#include "harness.h"
#include "pc/colours.h"

typedef struct Order { /* on the host */
  Colours of;
  const uint8_t *colour;
  const int32_t *place, *row;
} Order;

static inline bool OpenOrder(PoisePC pc, int unit, Order *o)
{
  *o = (Order){.colour = NULL};
  if (!CHECK_OK(poiseColoursFind(pc, unit, &o->of))) return false;
  return CHECK_OK(poiseBufferRead(&o->of.colour, HOST, &o->colour)) &&
         CHECK_OK(poiseBufferRead(&o->of.place, HOST, &o->place)) &&
         CHECK_OK(poiseBufferRead(&o->of.row, HOST, &o->row));
}

/* The rows of blocks of b of this rank, in order. */
static inline int *Sequence(const Order *o)
{
  int *rows = malloc((size_t)(o->of.n + 1) * sizeof *rows), n = 0;
  for (int64_t p = 0; p < o->of.start[o->of.count]; p++)
    if (o->row[p]) rows[n++] = o->row[p] - 1;
  return rows;
}

#endif
