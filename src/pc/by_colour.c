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
#include "amg/rows.h"
#include "mat/csr/replace.h"
#include "mat/multiply/local_product.h"
#include "mat/object/bytes.h"
#include "mat/object/mat_type.h"
#include "mat/product/bcsr_kernels.h"
#include "vec/vec_host.h"
#include "vec/vec_kernels.h"

enum { LOWER, UPPER };

enum { PART_MOST = 24 }; /* bytes a row, of what products know of the two parts, at most */

static int64_t Numbers(const ByColour *c)
{
  return c->colours.start[c->colours.count] * poiseCsrSide(&c->part[LOWER]->csr);
}

/* ---- the copy -------------------------------------------------------------------------------- */

/* Rows that a product takes together. */
static int Unit(const Device *dev, int b)
{
  if (b <= 1) return POISE_BLOCK;
  return poiseModelIsGpu(&dev->model) ? poiseBcsrGroup(b) : POISE_BLOCK / b;
}

static PoiseErr Arguments(PoisePC pc, ByColour *c, const double *d, int part, ColourMatrixArgs *a)
{
  Colours *of = &c->colours;
  *a = (ColourMatrixArgs){.n = of->start[of->count], .d = d, .upper = part};
  TRY(poiseCsrView(&pc->P->csr, &a->A));
  TRY(poiseBufferRead(&of->colour, DEVICE, &a->colour));
  TRY(poiseBufferRead(&of->place, DEVICE, &a->place));
  return poiseBufferRead(&of->row, DEVICE, &a->row);
}

/* The entries' places and values; `to` has the offsets. */
static PoiseErr Fill(PoisePC pc, ByColour *c, const double *d, int part, Csr *to)
{
  ColourMatrixArgs a;
  TRY(Arguments(pc, c, d, part, &a));
  TRY(poiseBufferWrite(&to->col, DEVICE, &a.col));
  TRY(poiseBufferWrite(&to->val, DEVICE, &a.val));
  TRY(poiseCsrPattern(to, &a.to));
  return LAUNCH(pc->ctx->device, colour_entries, &a);
}

static PoiseErr MakePattern(PoisePC pc, ByColour *c, int part, Csr *to)
{
  Device *dev = pc->ctx->device;
  ColourMatrixArgs a;
  Buffer length = {0};
  int32_t *col;
  double *val;
  PoiseErr e = Arguments(pc, c, NULL, part, &a);
  if (!e) e = poiseAmgMake(dev, a.n, sizeof *a.length, "lengths of rows by colours", &length, &a.length);
  if (!e) e = LAUNCH(dev, colour_lengths, &a);
  if (!e) e = poiseRowOffsets(dev, a.n, a.length, to);
  poiseBufferDestroy(&length);
  to->b = pc->P->csr.b;
  if (!e) e = poiseAmgMake(dev, to->nz, sizeof *col, "columns by colours", &to->col, &col);
  if (!e) e = poiseAmgMake(dev, poiseCsrScalars(to), sizeof *val, "values by colours", &to->val, &val);
  return e;
}

static PoiseErr CreatePart(PoisePC pc, ByColour *c, const double *d, int part)
{
  PoiseContext self = poiseContextSelf(pc->ctx);
  const MatType *type = pc->P->csr.b ? &poiseMatType_bcsr : &poiseMatType_csr;
  PoiseMat *B = &c->part[part];
  Csr to = {0};
  PoiseErr e = MakePattern(pc, c, part, &to);
  if (!e) e = Fill(pc, c, d, part, &to);
  if (!e) {
    PoiseInt n = c->colours.start[c->colours.count] * poiseCsrSide(&to);
    e = poiseMatCreateTyped(self, type, n, n, n, n, B);
  }
  if (!e && to.b) (*B)->block_size = to.b, (*B)->product.options.blocks = BCSR_EVEN;
  if (!e) e = poiseMatReplaceCsr(*B, POISE_OK, &to);
  poiseCsrDestroy(pc->ctx, &to);
  return e ? e : poiseMatReady(*B);
}

static PoiseErr MakeVector(PoisePC pc, ByColour *c, Buffer *v, const char *what)
{
  double *there;
  if (!v->dev) TRY(poiseBufferCreate(pc->ctx->device, (size_t)Numbers(c) * sizeof *there, what, v));
  return poiseBufferWrite(v, DEVICE, &there);
}

static PoiseErr Create(PoisePC pc, const double *d, ByColour *c)
{
  int unit = Unit(pc->ctx->device, pc->P->csr.b);
  pc->generation++;
  TRY(poiseColoursFind(pc, unit, &c->colours));
  TRY(CreatePart(pc, c, d, LOWER));
  return CreatePart(pc, c, d, UPPER);
}

PoiseErr poiseByColourSetup(PoisePC pc, const double *d, int64_t count, ByColour *c)
{
  unsigned changed = poiseMatChanged(&c->seen, pc->P);
  PoiseErr e = POISE_OK;
  if (changed & CHANGED_PATTERN) {
    poiseByColourDestroy(pc->ctx, c);
    e = Create(pc, d, c);
  } else {
    for (int part = LOWER; part <= UPPER && !e; part++) {
      e = Fill(pc, c, d, part, &c->part[part]->csr);
      c->part[part]->version.values++;
      if (!e) e = poiseMatReady(c->part[part]);
    }
  }
  if (!e) e = MakeVector(pc, c, &c->y, "sweeps by colours");
  if (!e && count > 1) e = MakeVector(pc, c, &c->rhs, "right-hand side by colours");
  if (!e && count > 1) e = MakeVector(pc, c, &c->rest, "residual by colours");
  if (e)
    poiseByColourDestroy(pc->ctx, c);
  else
    c->seen = pc->P->version;
  return e;
}

/* ---- sweeps ---------------------------------------------------------------------------------- */

/* y = a part x + b y, of the places [begin, end). */
static PoiseErr Multiply(ByColour *c, int part, int64_t begin, int64_t end, double a, const double *x,
                         double b, double *y, const double *skip)
{
  ProductArgs args = {.a.value = a, .b.value = b, .x = x, .y = y, .skip = skip};
  return poiseProductMultRows(&c->part[part]->product, begin, end, &args);
}

/* The first colour has none before it, and the last one none behind it. */
static PoiseErr Sweep(ByColour *c, const ColourSweeps *s, double *y, const double *skip)
{
  const int64_t *start = c->colours.start;
  double keep = s->backward ? 1 : 2 - s->omega;
  for (int k = 1; k < c->colours.count && !s->backward; k++)
    TRY(Multiply(c, LOWER, start[k], start[k + 1], -s->omega, y, 1, y, skip));
  for (int k = c->colours.count - (keep == 1 ? 2 : 1); k >= 0 && !s->forward; k--)
    TRY(Multiply(c, UPPER, start[k], start[k + 1], -s->omega, y, keep, y, skip));
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
  int64_t n = Numbers(c), places = c->colours.start[c->colours.count];
  const double *rhs;
  double *rest;
  TRY(poiseBufferRead(&c->rhs, DEVICE, &rhs));
  TRY(poiseBufferUpdate(&c->rest, DEVICE, &rest));
  TRY(Add(dev, n, s->omega, rhs, 0, rest, skip));
  TRY(Add(dev, n, -s->omega, y, 1, rest, skip));
  TRY(Multiply(c, LOWER, 0, places, -s->omega, y, 1, rest, skip));
  TRY(Multiply(c, UPPER, 0, places, -s->omega, y, 1, rest, skip));
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
  ColourMoveArgs in = {.n = Numbers(c), .b = poiseCsrSide(&pc->P->csr), .d = d, .skip = skip},
                 out = {.n = z->layout->n, .b = in.b, .skip = skip};
  double *y;
  TRY(poiseVecRead(r, &in.x));
  TRY(poiseBufferUpdate(&c->y, DEVICE, &y));
  TRY(poiseBufferRead(&c->colours.row, DEVICE, &in.row));
  TRY(poiseBufferRead(&c->colours.place, DEVICE, &out.place));
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

double poiseByColourTraffic(const ByColour *c)
{
  return poiseProductTraffic(&c->part[LOWER]->product) + poiseProductTraffic(&c->part[UPPER]->product);
}

void poiseByColourBytes(const ByColour *c, PoiseBytes *sum)
{
  PoiseBytes held;
  poiseColoursBytes(&c->colours, sum);
  for (int part = LOWER; part <= UPPER; part++)
    if (c->part[part] && !PoiseMatBytes(c->part[part], &held, NULL))
      sum->host += held.host, sum->device += held.device;
  poiseBufferAdd(&c->y, sum);
  poiseBufferAdd(&c->rhs, sum);
  poiseBufferAdd(&c->rest, sum);
}

/* The pattern decides how many colours there are, and how many entries of P are the block's own. */
void poiseByColourPredict(PoisePC pc, int64_t count, const MatPlan *plan, PoisePrediction *p)
{
  const Device *dev = pc->ctx->device;
  int64_t b = poisePlanSide(plan), wide = plan->wide ? 8 : 4, entry = 4 + 8 * b * b, m = plan->m;
  int64_t most = m + (int64_t)Unit(dev, plan->b) * COLOUR_MOST, vectors = count > 1 ? 3 : 1;
  int64_t place = 4 + 8 * b * vectors; /* bytes, beside the two parts */
  poisePredictBetween(dev, 5 * m + (place + 2 * 4) * m,
                      5 * m + (place + 2 * wide + PART_MOST) * most + entry * plan->nz, ON_DEVICE, p);
  poisePredictHost(8 * (COLOUR_MOST + 1), p);
}

PoiseErr poiseByColourPrint(PoisePC pc, const ByColour *c)
{
  int64_t count = c->colours.count;
  TRY(poiseCommMaxInt(pc->ctx->comm, &count, 1));
  return poisePrint(pc->ctx, "  rows by colours: %lld\n", (long long)count);
}

void poiseByColourDestroy(PoiseContext ctx, ByColour *c)
{
  poiseColoursDestroy(ctx, &c->colours);
  for (int part = LOWER; part <= UPPER; part++) PoiseMatDestroy(&c->part[part]);
  poiseBufferDestroy(&c->y);
  poiseBufferDestroy(&c->rhs);
  poiseBufferDestroy(&c->rest);
  *c = (ByColour){0};
}
