/* SPDX-License-Identifier: BSD-3-Clause */
/* P's block in the order of its colours, as two matrices at places. */
#include "amg/rows.h"
#include "colour_copy.h"
#include "colours_kernels.h"
#include "mat/csr/replace.h"
#include "mat/multiply/local_product.h"
#include "mat/object/bytes.h"
#include "mat/object/mat_type.h"
#include "mat/product/bcsr_kernels.h"

enum { PART_MOST = 24 }; /* bytes a row, of what products know of the two parts, at most */

/* Rows that a product takes together. */
static int Unit(const Device *dev, int b)
{
  if (b <= 1) return POISE_BLOCK;
  return poiseModelIsGpu(&dev->model) ? poiseBcsrGroup(b) : POISE_BLOCK / b;
}

static PoiseErr Arguments(PoisePC pc, ColourCopy *c, const ColourScales *by, int part, ColourMatrixArgs *a)
{
  Colours *of = &c->colours;
  *a = (ColourMatrixArgs){.n = of->start[of->count], .left = by->left, .right = by->right, .upper = part};
  TRY(poiseCsrView(&pc->P->csr, &a->A));
  TRY(poiseBufferRead(&of->colour, DEVICE, &a->colour));
  TRY(poiseBufferRead(&of->place, DEVICE, &a->place));
  return poiseBufferRead(&of->row, DEVICE, &a->row);
}

/* The entries' values; `to` has their places. */
static PoiseErr Fill(PoisePC pc, ColourCopy *c, const ColourScales *by, int part, Csr *to)
{
  ColourMatrixArgs a;
  TRY(Arguments(pc, c, by, part, &a));
  TRY(poiseBufferWrite(&to->val, DEVICE, &a.val));
  TRY(poiseCsrView(to, &a.to));
  return LAUNCH(pc->ctx->device, colour_entries, &a);
}

static PoiseErr MakePattern(PoisePC pc, ColourCopy *c, int part, Csr *to)
{
  Device *dev = pc->ctx->device;
  ColourMatrixArgs a;
  Buffer length = {0};
  double *val;
  PoiseErr e = Arguments(pc, c, &(ColourScales){NULL}, part, &a);
  if (!e) e = poiseAmgMake(dev, a.n, sizeof *a.length, "lengths of rows by colours", &length, &a.length);
  if (!e) e = LAUNCH(dev, colour_lengths, &a);
  if (!e) e = poiseRowOffsets(dev, a.n, a.length, to);
  poiseBufferDestroy(&length);
  a.length = NULL;
  to->b = pc->P->csr.b;
  if (!e) e = poiseAmgMake(dev, to->nz, sizeof *a.col, "columns by colours", &to->col, &a.col);
  if (!e) e = poiseCsrPattern(to, &a.to);
  if (!e) e = LAUNCH(dev, colour_pattern, &a);
  if (!e) e = poiseAmgMake(dev, poiseCsrScalars(to), sizeof *val, "values by colours", &to->val, &val);
  return e;
}

static PoiseErr CreatePart(PoisePC pc, ColourCopy *c, const ColourScales *by, int part)
{
  PoiseContext self = poiseContextSelf(pc->ctx);
  const MatType *type = pc->P->csr.b ? &poiseMatType_bcsr : &poiseMatType_csr;
  PoiseMat *B = &c->part[part];
  Csr to = {0};
  PoiseErr e = MakePattern(pc, c, part, &to);
  if (!e) e = Fill(pc, c, by, part, &to);
  if (!e) {
    PoiseInt n = c->colours.start[c->colours.count] * poiseCsrSide(&to);
    e = poiseMatCreateTyped(self, type, n, n, n, n, B);
  }
  if (!e) (*B)->blocks.ranges = true;
  if (!e && to.b) (*B)->block_size = to.b, (*B)->product.options.blocks = BCSR_EVEN;
  if (!e) e = poiseMatReplaceCsr(*B, POISE_OK, &to);
  poiseCsrDestroy(pc->ctx, &to);
  return e ? e : poiseMatReady(*B);
}

static PoiseErr Create(PoisePC pc, const ColourScales *by, ColourCopy *c)
{
  int unit = Unit(pc->ctx->device, pc->P->csr.b);
  pc->generation++;
  TRY(poiseColoursFind(pc, unit, &c->colours));
  TRY(CreatePart(pc, c, by, COLOUR_LOWER));
  return CreatePart(pc, c, by, COLOUR_UPPER);
}

static PoiseErr Refill(PoisePC pc, const ColourScales *by, ColourCopy *c)
{
  for (int part = COLOUR_LOWER; part <= COLOUR_UPPER; part++) {
    TRY(Fill(pc, c, by, part, &c->part[part]->csr));
    c->part[part]->version.values++;
    TRY(poiseMatReady(c->part[part]));
  }
  return POISE_OK;
}

PoiseErr poiseColourCopySetup(PoisePC pc, const ColourScales *by, ColourCopy *c, bool *anew)
{
  *anew = poiseMatChanged(&c->seen, pc->P) & CHANGED_PATTERN;
  if (*anew) poiseColourCopyDestroy(pc->ctx, c);
  PoiseErr e = *anew ? Create(pc, by, c) : Refill(pc, by, c);
  if (e)
    poiseColourCopyDestroy(pc->ctx, c);
  else
    c->seen = pc->P->version;
  return e;
}

int64_t poiseColourCopyNumbers(const ColourCopy *c)
{
  return c->colours.start[c->colours.count] * poiseCsrSide(&c->part[COLOUR_LOWER]->csr);
}

/* ---- memory ---------------------------------------------------------------------------------- */

double poiseColourCopyTraffic(const ColourCopy *c)
{
  return poiseProductTraffic(&c->part[COLOUR_LOWER]->product) +
         poiseProductTraffic(&c->part[COLOUR_UPPER]->product);
}

void poiseColourCopyBytes(const ColourCopy *c, PoiseBytes *sum)
{
  PoiseBytes held;
  poiseColoursBytes(&c->colours, sum);
  for (int part = COLOUR_LOWER; part <= COLOUR_UPPER; part++)
    if (c->part[part] && !PoiseMatBytes(c->part[part], &held, NULL))
      sum->host += held.host, sum->device += held.device;
}

/* The pattern decides how many colours there are, and how many entries of P are the block's own. */
void poiseColourCopyPredict(PoisePC pc, int64_t vectors, const MatPlan *plan, PoisePrediction *p)
{
  const Device *dev = pc->ctx->device;
  int64_t b = poisePlanSide(plan), wide = plan->wide ? 8 : 4, entry = 4 + 8 * b * b, m = plan->m;
  int64_t most = m + (int64_t)Unit(dev, plan->b) * COLOUR_MOST;
  int64_t place = 4 + 8 * b * vectors; /* bytes, beside the two parts */
  poisePredictBetween(dev, 5 * m + (place + 2 * 4) * m,
                      5 * m + (place + 2 * wide + PART_MOST) * most + entry * plan->nz, ON_DEVICE, p);
  poisePredictHost(8 * (COLOUR_MOST + 1), p);
}

PoiseErr poiseColourCopyPrint(PoisePC pc, const ColourCopy *c)
{
  int64_t count = c->colours.count;
  TRY(poiseCommMaxInt(pc->ctx->comm, &count, 1));
  return poisePrint(pc->ctx, "  rows by colours: %lld\n", (long long)count);
}

void poiseColourCopyDestroy(PoiseContext ctx, ColourCopy *c)
{
  poiseColoursDestroy(ctx, &c->colours);
  for (int part = COLOUR_LOWER; part <= COLOUR_UPPER; part++) PoiseMatDestroy(&c->part[part]);
  *c = (ColourCopy){0};
}
