/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Where A is E L E, with a Laplacian L and any diagonal E, E^-1 1 is in its null space, and constants are far
  from it. Where L's diagonal is about the same everywhere, E^-1 1 is S 1, but for a factor. Set-up then takes
  the spectrum, strong connections and lengths of vectors from S A S, which E does not change.
*/
#include "mat/multiply/local_product.h"
#include "lambda.h"
#include "ranks.h"
#include "rows.h"
#include "scaling.h"
#include "scaling_kernels.h"

/* S with ghosts. The caller agrees. */
static PoiseErr Open(PoiseContext ctx, PoiseErr mine, const AmgMatrix *m, Buffer *s, AmgScalingArgs *a)
{
  PoiseErr e = mine;
  if (!e) e = poiseAmgMake(ctx->device, poiseAmgAllNodes(m), sizeof *a->s, "scales of rows", s, &a->s);
  if (!e) e = LAUNCH(ctx->device, amg_scales, a);
  e = poiseAmgFillGhosts(ctx, m, e, 1, s);
  return e ? e : poiseBufferUpdate(s, DEVICE, &a->s);
}

/* sum[0], sum[1]: of all rows here. It waits. */
static PoiseErr AddRows(Device *dev, AmgScalingArgs *a, double sum[2])
{
  enum { NORM = 3 }; /* numbers of a sum: see poiseAmgAdd */
  Buffer rows = {0}, sums = {0};
  int64_t part = a->n / 1024 + 1;
  double *p = NULL, found[2 * NORM] = {0};
  PoiseErr e = poiseAmgMake(dev, 2 * a->n, sizeof *p, "parts of rows that do not cancel", &rows, &a->one);
  a->scaled = e ? NULL : a->one + a->n;
  if (!e) e = LAUNCH(dev, amg_constants, a);
  if (!e) e = poiseAmgMake(dev, 2 * part + 2 * NORM, sizeof *p, "sums", &sums, &p);
  double *const to = e ? NULL : p + 2 * part, *const scratch[] = {p, e ? NULL : p + part};
  if (!e) e = poiseAmgAdd(dev, a->n, a->one, false, scratch, to);
  if (!e) e = poiseAmgAdd(dev, a->n, a->scaled, false, scratch, to + NORM);
  if (!e) e = poiseDeviceFetch(dev, to, sizeof found, found);
  sum[0] = found[0], sum[1] = found[NORM];
  poiseBufferDestroy(&rows);
  poiseBufferDestroy(&sums);
  return e;
}

PoiseErr poiseAmgConstants(PoiseContext ctx, const AmgMatrix *m, const double *d, AmgConstants *far)
{
  AmgScalingArgs a = {.n = m->nodes, .A = m->A, .d = d};
  Buffer s = {0};
  double sum[3] = {0};
  PoiseErr e = Open(ctx, POISE_OK, m, &s, &a);
  if (!e && a.n) e = AddRows(ctx->device, &a, sum);
  poiseBufferDestroy(&s);
  sum[2] = (double)a.n;
  TRY(poiseAgreeSum(ctx, e, sum, 3));
  *far = (AmgConstants){sum[0] / sum[2], sum[1] / sum[2]};
  return POISE_OK;
}

PoiseErr poiseAmgScale(PoiseContext ctx, PoiseErr mine, const AmgMatrix *m, const double *d, AmgScaled *to)
{
  AmgScalingArgs a = {.n = m->nodes, .A = m->A, .d = d};
  Device *dev = ctx->device;
  Buffer s = {0};
  PoiseErr e = mine;
  if (!e) e = poiseAmgMake(dev, a.n, sizeof *a.unit, "inverse diagonal with scaling", &to->inverse, &a.unit);
  if (!e) e = poiseAmgMake(dev, m->A.nz, sizeof *a.val, "entries with scaling", &to->val, &a.val);
  e = Open(ctx, e, m, &s, &a);
  if (!e) e = LAUNCH(dev, amg_scale_entries, &a);
  poiseBufferDestroy(&s);
  return e;
}

void poiseAmgScaledDestroy(AmgScaled *s)
{
  poiseBufferDestroy(&s->val);
  poiseBufferDestroy(&s->inverse);
}

PoiseErr poiseAmgScaleVector(Device *dev, const AmgMatrix *m, const double *d, Buffer *b)
{
  AmgScalingArgs a = {.n = m->nodes, .d = d};
  TRY(poiseBufferUpdate(b, DEVICE, &a.b));
  return LAUNCH(dev, amg_scale_vector, &a);
}
