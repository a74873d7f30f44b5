/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Sweeps of relaxation by colours. With L and U the entries of earlier and later colours, and
  y = omega D^-1 r, a forward sweep from 0 is, one colour c after the other,
    y_c = y_c - omega (D^-1 L)_c y
  and a backward one behind it, colours from the last to the first,
    y_c = (2 - omega) y_c - omega (D^-1 U)_c y,
  as r - L y = D y / omega. So the two read the matrix once. A further sweep adds that of the residual
  D^-1 (r - P y).

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
  poiseBufferDestroy(&c->rest);
}

static PoiseErr MakeVector(PoisePC pc, ByColour *c, Buffer *v, const char *what)
{
  double *there;
  if (!v->dev)
    TRY(poiseBufferCreate(pc->ctx->device, (size_t)poiseColourCopyNumbers(&c->copy) * sizeof *there, what,
                          v));
  return poiseBufferWrite(v, DEVICE, &there);
}

PoiseErr poiseByColourSetup(PoisePC pc, const double *d, int64_t count, ByColour *c)
{
  bool anew;
  PoiseErr e = poiseColourCopySetup(pc, d, &c->copy, &anew);
  if (e || anew) ReleaseVectors(c);
  if (!e) e = MakeVector(pc, c, &c->y, "sweeps by colours");
  if (!e && count > 1) e = MakeVector(pc, c, &c->rhs, "right-hand side by colours");
  if (!e && count > 1) e = MakeVector(pc, c, &c->rest, "residual by colours");
  if (e) poiseByColourDestroy(pc->ctx, c);
  return e;
}

/* ---- sweeps ---------------------------------------------------------------------------------- */

/* y = a part x + b y, of the places [begin, end). */
static PoiseErr Multiply(ByColour *c, int part, int64_t begin, int64_t end, double a, const double *x,
                         double b, double *y, const double *skip)
{
  ProductArgs args = {.a.value = a, .b.value = b, .x = x, .y = y, .skip = skip};
  return poiseProductMultRows(&c->copy.part[part]->product, begin, end, &args);
}

/* The first colour has none before it, and the last one none behind it. */
static PoiseErr Sweep(ByColour *c, const ColourSweeps *s, double *y, const double *skip)
{
  const int64_t *start = c->copy.colours.start;
  double keep = s->backward ? 1 : 2 - s->omega;
  for (int k = 1; k < c->copy.colours.count && !s->backward; k++)
    TRY(Multiply(c, COLOUR_LOWER, start[k], start[k + 1], -s->omega, y, 1, y, skip));
  for (int k = c->copy.colours.count - (keep == 1 ? 2 : 1); k >= 0 && !s->forward; k--)
    TRY(Multiply(c, COLOUR_UPPER, start[k], start[k + 1], -s->omega, y, keep, y, skip));
  return POISE_OK;
}

/* y = a x + b y */
static PoiseErr Add(Device *dev, int64_t n, double a, const double *x, double b, double *y,
                    const double *skip)
{
  AxpbyArgs args = {.n = n, .a.value = a, .b.value = b, .x = x, .y = y, .skip = skip};
  return LAUNCH(dev, axpby, &args);
}

/* rest = rhs - (I + D^-1 L + D^-1 U) y, and y += its sweep. */
static PoiseErr Further(Device *dev, ByColour *c, const ColourSweeps *s, double *y, const double *skip)
{
  int64_t n = poiseColourCopyNumbers(&c->copy), places = c->copy.colours.start[c->copy.colours.count];
  const double *rhs;
  double *rest;
  TRY(poiseBufferRead(&c->rhs, DEVICE, &rhs));
  TRY(poiseBufferUpdate(&c->rest, DEVICE, &rest));
  TRY(Add(dev, n, s->omega, rhs, 0, rest, skip));
  TRY(Add(dev, n, -s->omega, y, 1, rest, skip));
  TRY(Multiply(c, COLOUR_LOWER, 0, places, -s->omega, y, 1, rest, skip));
  TRY(Multiply(c, COLOUR_UPPER, 0, places, -s->omega, y, 1, rest, skip));
  TRY(Sweep(c, s, rest, skip));
  return Add(dev, n, 1, rest, 1, y, skip);
}

static PoiseErr Begin(Device *dev, ByColour *c, const ColourSweeps *s, ColourMoveArgs *a, double *y)
{
  double *rhs;
  a->factor = s->omega, a->y = y;
  if (s->count == 1) return LAUNCH(dev, colour_to_places, a);
  TRY(poiseBufferUpdate(&c->rhs, DEVICE, &rhs));
  a->factor = 1, a->y = rhs;
  TRY(LAUNCH(dev, colour_to_places, a));
  return Add(dev, a->n, s->omega, rhs, 0, y, a->skip);
}

PoiseErr poiseByColourApply(PoisePC pc, ByColour *c, const double *d, const ColourSweeps *s, PoiseVec r,
                            PoiseVec z, const double *skip, const Fuse *fuse)
{
  Device *dev = pc->ctx->device;
  ColourMoveArgs in = {.n = poiseColourCopyNumbers(&c->copy),
                       .b = poiseCsrSide(&pc->P->csr),
                       .d = d,
                       .skip = skip},
                 out = {.n = z->layout->n, .b = in.b, .skip = skip};
  double *y;
  TRY(poiseVecRead(r, &in.x));
  TRY(poiseBufferUpdate(&c->y, DEVICE, &y));
  TRY(poiseBufferRead(&c->copy.colours.row, DEVICE, &in.row));
  TRY(poiseBufferRead(&c->copy.colours.place, DEVICE, &out.place));
  TRY(Begin(dev, c, s, &in, y));
  TRY(Sweep(c, s, y, skip));
  for (int64_t k = 1; k < s->count; k++) TRY(Further(dev, c, s, y, skip));
  out.x = y;
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
  poiseBufferAdd(&c->rest, sum);
}

void poiseByColourPredict(PoisePC pc, int64_t count, const MatPlan *plan, PoisePrediction *p)
{
  poiseColourCopyPredict(pc, count > 1 ? 3 : 1, plan, p);
}

void poiseByColourDestroy(PoiseContext ctx, ByColour *c)
{
  poiseColourCopyDestroy(ctx, &c->copy);
  ReleaseVectors(c);
}
