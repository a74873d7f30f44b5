/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Sweeps of relaxation by colours. With L and U the entries of earlier and later colours of D^-1 P, and
  s = omega D^-1 r, half a sweep forward is, one colour c after the other,
    y_c = g_c - omega L_c y,    g = (1 - omega) y + s - omega U y of the y before,
  and a half backward the same with U in place of L, from the last colour to the first. From y = 0 is g = s.
  Behind a half omega L y = g - y is known. So one in the other direction has
    g = (2 - omega) y + s - g,
  and needs no product but its own: a sweep in both directions reads the matrix once (V. Conrad, Y. Wallach,
  Alternating methods for sets of linear equations, Numer. Math. 32, 1979).

  A colour is a product of rows [start_c, start_c + 1) of the copy, in place: its rows read other colours
  alone.
*/
#include "by_colour.h"
#include "colours_kernels.h"
#include "mat/multiply/local_product.h"
#include "mat/object/bytes.h"
#include "vec/vec_host.h"
#include "vec/vec_kernels.h"

static void ReleaseVectors(ByColour *c)
{
  poiseBufferDestroy(&c->y);
  poiseBufferDestroy(&c->rhs);
  poiseBufferDestroy(&c->g);
}

static PoiseErr MakeVector(PoisePC pc, ByColour *c, Buffer *v, const char *what)
{
  double *there;
  if (v->dev) return POISE_OK;
  TRY(poiseBufferCreate(pc->ctx->device, (size_t)poiseColourCopyNumbers(&c->copy) * sizeof *there, what, v));
  poiseBufferZero(v); /* places without a row stay so */
  return poiseBufferUpdate(v, DEVICE, &there);
}

PoiseErr poiseByColourSetup(PoisePC pc, const double *d, bool more, ByColour *c)
{
  bool anew;
  PoiseErr e = poiseColourCopySetup(pc, &(ColourScales){.left = d}, &c->copy, &anew);
  if (e || anew) ReleaseVectors(c);
  if (!e) e = MakeVector(pc, c, &c->y, "sweeps by colours");
  if (!e && more) e = MakeVector(pc, c, &c->rhs, "right-hand side by colours");
  if (!e && more) e = MakeVector(pc, c, &c->g, "half a sweep by colours");
  if (e) poiseByColourDestroy(pc->ctx, c);
  return e;
}

/* ---- sweeps ---------------------------------------------------------------------------------- */

typedef struct Vectors { /* at places */
  double *y, *s, *g;     /* NULL but y: for one sweep from 0, where y = s at first */
} Vectors;

PoiseErr poiseColourHalf(const Colours *of, Product *part, bool backward, double omega, double keep, void *y,
                         const double *skip)
{
  ProductArgs args = {.a.value = -omega, .b.value = keep, .x = y, .y = y, .skip = skip};
  for (int q = keep == 1; q < of->count; q++) { /* nothing is before the first colour, or behind the last */
    int k = backward ? of->count - 1 - q : q;
    TRY(poiseProductMultRows(part, of->start[k], of->start[k + 1], &args));
  }
  return POISE_OK;
}

static Product *Part(ByColour *c, bool upper)
{
  return &c->copy.part[upper ? COLOUR_UPPER : COLOUR_LOWER]->product;
}

/* y = g of a half in this direction, of which nothing is known. */
static PoiseErr Begin(Device *dev, ByColour *c, double omega, bool backward, const Vectors *v,
                      const double *skip)
{
  const Colours *of = &c->copy.colours;
  ColourTurnArgs a = {.n = poiseColourCopyNumbers(&c->copy),
                      .keep = 1 - omega,
                      .y = v->y,
                      .s = v->s,
                      .g = v->g,
                      .skip = skip};
  ProductArgs other = {.a.value = -omega, .b.value = 1, .x = v->y, .y = v->g, .skip = skip};
  AxpbyArgs copy = {.n = a.n, .a.value = 1, .x = v->g, .y = v->y, .skip = skip};
  TRY(LAUNCH(dev, colour_turn, &a));
  TRY(poiseProductMultRows(Part(c, !backward), 0, of->start[of->count], &other));
  return LAUNCH(dev, axpby, &copy);
}

/* y = g of a half behind one in the other direction. second: that has begun from 0, so that its g was s. */
static PoiseErr Turn(Device *dev, ByColour *c, double omega, bool second, const Vectors *v,
                     const double *skip)
{
  ColourTurnArgs a = {.n = poiseColourCopyNumbers(&c->copy),
                      .keep = 2 - omega,
                      .y = v->y,
                      .s = second ? NULL : v->s,
                      .before = second ? NULL : v->g,
                      .g = v->g,
                      .to = v->y,
                      .skip = skip};
  return LAUNCH(dev, colour_turn, &a);
}

static PoiseErr Sweep(Device *dev, ByColour *c, const ColourSweeps *s, const Vectors *v, const double *skip)
{
  bool both = !s->forward && !s->backward;
  int64_t halves = (both ? 2 : 1) * s->count;
  for (int64_t h = 0; h < halves; h++) {
    bool backward = s->backward || (both && h % 2), turns = both && h > 0, last = !v->g && turns;
    if (turns && !last) TRY(Turn(dev, c, s->omega, h == 1 && !s->guess, v, skip));
    if (!turns && (h > 0 || s->guess)) TRY(Begin(dev, c, s->omega, backward, v, skip));
    TRY(poiseColourHalf(&c->copy.colours, Part(c, backward), backward, s->omega, last ? 2 - s->omega : 1,
                        v->y, skip));
  }
  return POISE_OK;
}

/* Vectors, s = omega D^-1 r, and y = s or the guess z. */
static PoiseErr Open(Device *dev, ByColour *c, const ColourSweeps *s, ColourMoveArgs *a, PoiseVec z,
                     Vectors *v)
{
  *v = (Vectors){.y = NULL};
  TRY(poiseBufferUpdate(&c->y, DEVICE, &v->y));
  a->factor = s->omega, a->y = v->y;
  if (s->count == 1 && !s->guess) return LAUNCH(dev, colour_to_places, a);
  TRY(poiseBufferUpdate(&c->rhs, DEVICE, &v->s));
  TRY(poiseBufferUpdate(&c->g, DEVICE, &v->g));
  a->y = v->s, a->to = s->guess ? NULL : v->y;
  TRY(LAUNCH(dev, colour_to_places, a));
  if (!s->guess) return POISE_OK;
  a->factor = 1, a->y = v->y, a->d = NULL;
  TRY(poiseVecRead(z, &a->x));
  return LAUNCH(dev, colour_to_places, a);
}

PoiseErr poiseByColourApply(PoisePC pc, ByColour *c, const double *d, const ColourSweeps *s, PoiseVec r,
                            PoiseVec z, const double *skip, const Fuse *fuse)
{
  Device *dev = pc->ctx->device;
  ColourMoveArgs in = {.n = z->layout->n, .b = poiseCsrSide(&pc->P->csr), .d = d, .skip = skip},
                 out = {.n = in.n, .b = in.b, .skip = skip};
  Vectors v;
  TRY(poiseVecRead(r, &in.x));
  TRY(poiseBufferRead(&c->copy.colours.place, DEVICE, &in.place));
  out.place = in.place;
  TRY(Open(dev, c, s, &in, z, &v));
  TRY(Sweep(dev, c, s, &v, skip));
  out.x = v.y;
  TRY(skip ? poiseVecUpdate(z, &out.y) : poiseVecWrite(z, &out.y)); /* skipped, z keeps its content */
  if (fuse) out.fuse = *fuse;
  return LAUNCH(dev, colour_to_rows, &out);
}

PoiseErr poiseHost_colour_to_rows(Device *dev, const void *args)
{
  const ColourMoveArgs *a = args;
  int64_t nblock = POISE_NBLOCKS(a->n);
  (void)dev;
  if (a->skip && *a->skip != 0) return POISE_OK;
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t b = 0; b < nblock; b++) {
    int64_t begin = b * POISE_BLOCK, end = begin + POISE_BLOCK < a->n ? begin + POISE_BLOCK : a->n;
    for (int64_t e = begin; e < end; e++) a->y[e] = poiseColourAtPlace(a, e);
    poiseHostFuse(&a->fuse, a->y, begin, end, b);
  }
  return POISE_OK;
}

/* ---- memory ---------------------------------------------------------------------------------- */

void poiseByColourBytes(const ByColour *c, PoiseBytes *sum)
{
  poiseColourCopyBytes(&c->copy, sum);
  poiseBufferAdd(&c->y, sum);
  poiseBufferAdd(&c->rhs, sum);
  poiseBufferAdd(&c->g, sum);
}

/* A solver may ask for more later. */
void poiseByColourPredict(PoisePC pc, bool more, const MatPlan *plan, PoisePrediction *p)
{
  PoisePrediction few = *p;
  poiseColourCopyPredict(pc, 3, plan, p);
  if (more) return;
  poiseColourCopyPredict(pc, 1, plan, &few);
  poisePredictEither(&few, p);
}

void poiseByColourDestroy(PoiseContext ctx, ByColour *c)
{
  poiseColourCopyDestroy(ctx, &c->copy);
  ReleaseVectors(c);
}
