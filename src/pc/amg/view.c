/* SPDX-License-Identifier: BSD-3-Clause */
/* What the hierarchy is, holds and moves. */
#include "amg.h"

/* Vectors that the passes of the smoother read and write on a level (amg_kernels.h), and 8 b bytes of D^-1
   a row: before the correction b, x, t; then after it t, x twice, add. Each degree more: r, d twice, x twice
   before, and after. */
static double SmootherBytes(const Amg *amg, const AmgLevel *l)
{
  double n = (double)l->A->rows->n, more = (double)amg->options.degree - 1;
  return 8 * n * (2 * (more + 1) * l->side + 7 + 11 * more);
}

/* Beside products, as these are counted by events of their own. */
static double OwnBytes(const Amg *amg)
{
  double bytes = 0, n = (double)amg->bottom.n;
  for (int k = 0; k + 1 < amg->count; k++) bytes += SmootherBytes(amg, &amg->level[k]);
  return bytes + (amg->dense ? 8 * n * (n + 2) : 0);
}

void poiseAmgCost(PoisePC pc, double *flops, double *bytes)
{
  const Amg *amg = pc->data;
  *bytes = OwnBytes(amg);
  *flops = *bytes / 8; /* about one for each number that is moved */
}

double poiseAmgTraffic(const Amg *amg)
{
  double bytes = OwnBytes(amg);
  for (int k = 0; k + 1 < amg->count; k++) {
    const AmgLevel *l = &amg->level[k];
    double n = 8 * (double)l->A->rows->n; /* a product in place reads y too */
    bytes += 2 * (double)amg->options.degree * (poiseMatTraffic(l->A) + n);
    bytes += poiseMatTraffic(l->P) + poiseMatTraffic(l->R);
  }
  return bytes;
}

static void AddMatrix(PoiseMat A, PoiseBytes *sum)
{
  PoiseBytes held;
  if (!A || PoiseMatBytes(A, &held, NULL)) return;
  sum->host += held.host;
  sum->device += held.device;
}

static void AddLevel(const AmgLevel *l, bool finest, PoiseBytes *sum)
{
  const PoiseVec vectors[] = {l->b, l->x, l->d, l->r, l->t, l->r2, l->x2};
  for (int k = 0; k < 7; k++)
    if (vectors[k]) poiseBufferAdd(&vectors[k]->data, sum);
  if (!finest) AddMatrix(l->A, sum);
  AddMatrix(l->P, sum);
  AddMatrix(l->R, sum);
  poiseBufferAdd(&l->inverse, sum);
  poiseBufferAdd(&l->aggregate, sum);
  poiseBufferAdd(&l->graph.csr.ptr, sum);
  poiseBufferAdd(&l->graph.csr.col, sum);
}

void poiseAmgBytes(PoisePC pc, PoiseBytes *sum)
{
  const Amg *amg = pc->data;
  for (int k = 0; k < AMG_LEVELS; k++) AddLevel(&amg->level[k], k == 0, sum);
  poiseAmgBottomBytes(&amg->bottom, sum);
}

static PoiseErr ViewLevel(PoisePC pc, int k)
{
  const Amg *amg = pc->data;
  const AmgLevel *l = &amg->level[k];
  double n = (double)l->A->rows->n, nz = (double)poiseCsrScalars(&l->A->csr);
  PoiseBytes held = {0};
  AddLevel(l, k == 0, &held);
  if (k + 1 == amg->count) poiseAmgBottomBytes(&amg->bottom, &held);
  TRY(PoisePrintf(pc->ctx, "  %5d %11.0f %12.0f %8.1f ", k, n, nz, n > 0 ? nz / n : 0));
  if (l->aggregates && k + 1 < amg->count)
    TRY(PoisePrintf(pc->ctx, "%9.1f", (double)l->members / (double)l->aggregates));
  else
    TRY(PoisePrintf(pc->ctx, "%9s", "-"));
  return PoisePrintf(pc->ctx, " %7.3f %10.2f\n", l->lambda, (double)(held.host + held.device) / 1e6);
}

/* Rows and entries of all levels over those of A. */
static PoiseErr ViewComplexity(PoisePC pc)
{
  const Amg *amg = pc->data;
  double rows = 0, entries = 0, n = (double)pc->P->rows->n, nz = (double)poiseCsrScalars(&pc->P->csr);
  for (int k = 0; k < amg->count; k++) {
    rows += (double)amg->level[k].A->rows->n;
    entries += (double)poiseCsrScalars(&amg->level[k].A->csr);
  }
  if (n == 0 || nz == 0) return POISE_OK;
  return PoisePrintf(pc->ctx, "  operator complexity %.3f, grid complexity %.3f\n", entries / nz, rows / n);
}

/* An iteration of cg with jacobi reads and writes A, x and y of its product, and seven vectors more. */
static PoiseErr ViewTraffic(PoisePC pc)
{
  double cycle = poiseAmgTraffic(pc->data), cg = poiseMatTraffic(pc->P) + 56 * (double)pc->P->rows->n;
  return PoisePrintf(pc->ctx, "  a cycle moves %.2f megabytes, as %.2f iterations of cg with jacobi do\n",
                     cycle / 1e6, cg > 0 ? cycle / cg : 0);
}

static PoiseErr ViewBottom(PoisePC pc)
{
  const Amg *amg = pc->data;
  if (!amg->dense) return PoisePrintf(pc->ctx, "  the last level is smoothed, as %s\n", amg->fallback);
  return PoisePrintf(pc->ctx, "  the last level is solved by %s of %lld rows%s\n",
                     amg->bottom.lu ? "dense factors" : "a dense inverse", (long long)amg->bottom.n,
                     amg->bottom.skipped ? ", of which some depend on others" : "");
}

/* What set-up took of a device's memory, A among it. */
static PoiseErr ViewPeak(PoisePC pc)
{
  const Csr *c = &pc->P->csr;
  double a = (double)c->ptr.bytes + (double)c->col.bytes + (double)c->val.bytes,
         peak = (double)((const Amg *)pc->data)->peak;
  if (peak == 0 || a == 0) return POISE_OK;
  return PoisePrintf(pc->ctx, "  %.2f megabytes at the peak, %.2f times A with A\n", peak / 1e6,
                     (peak + a) / a);
}

static PoiseErr ViewSeconds(PoisePC pc)
{
  static const char *const names[STAGES] = {"strength",      "aggregates",        "tentative", "lambda",
                                            "interpolation", "Galerkin products", "last level"};
  const Amg *amg = pc->data;
  TRY(PoisePrintf(pc->ctx, "  %s, in ms:", amg->refreshed ? "new values" : "set-up"));
  for (int k = 0; k < STAGES; k++)
    TRY(PoisePrintf(pc->ctx, "%s %s %.2f", k ? "," : "", names[k], 1e3 * amg->seconds[k]));
  return PoisePrintf(pc->ctx, "\n");
}

PoiseErr poiseAmgView(PoisePC pc)
{
  const Amg *amg = pc->data;
  const AmgOptions *o = &amg->options;
  TRY(PoisePrintf(pc->ctx, "  %s aggregation, %s cycle, %s of degree %d\n",
                  o->type == AMG_SMOOTHED ? "smoothed" : "plain", o->w_cycle ? "W" : "V",
                  o->smoother == AMG_JACOBI ? "l1-jacobi" : "chebyshev", (int)o->degree));
  if (!amg->count) return POISE_OK;
  TRY(PoisePrintf(pc->ctx, "  %5s %11s %12s %8s %9s %7s %10s\n", "level", "rows", "entries", "per row",
                  "aggregate", "lambda", "megabytes"));
  for (int k = 0; k < amg->count; k++) TRY(ViewLevel(pc, k));
  TRY(ViewComplexity(pc));
  if (amg->ended) TRY(PoisePrintf(pc->ctx, "  there are no more levels, as %s\n", amg->ended));
  TRY(ViewBottom(pc));
  TRY(ViewTraffic(pc));
  if (amg->refreshed)
    TRY(PoisePrintf(pc->ctx, "  aggregates and strong connections are those of earlier values\n"));
  TRY(ViewSeconds(pc));
  return ViewPeak(pc);
}
