/* SPDX-License-Identifier: BSD-3-Clause */
/* The order of rows by colours, for references, and matrices of blocks. */
#ifndef POISE_TEST_COLOUR_ORDER_H
#define POISE_TEST_COLOUR_ORDER_H

#include "harness.h"
#include "pc/colours.h"
#include "shapes.h"

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

/* Whole blocks of b on each rank, n of them. */
static inline PoiseMat BlockyShape(PoiseContext ctx, int kind, int b, int n, double diagonal, Shape *s)
{
  PoiseInt m = b * n;
  PoiseMat A;
  *s = (Shape){.kind = kind, .n = m * PoiseSize(ctx), .seed = 1, .diagonal = diagonal, .weak = -1};
  s->begin = m * PoiseRank(ctx), s->end = s->begin + m;
  A = Matrix(ctx, s);
  CHECK_OK(PoiseMatSetBlockSize(A, b));
  CHECK_OK(PoiseMatSetType(A, "bcsr"));
  return A;
}

#endif
