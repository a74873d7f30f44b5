/* SPDX-License-Identifier: BSD-3-Clause */
#include "ranks_plan.h"

#include "product_model.h"
#include <math.h>

static double OnOne(const DeviceModel *model, double bytes)
{
  double hits = bytes > (double)model->l2 ? (double)model->l2 / bytes : 1;
  double cached = hits * hits; /* of a long stream almost nothing */
  double rate = RANKS_REACHED * model->bandwidth;
  return RANKS_START + (1 - cached) * (RANKS_ENDS + bytes / rate) + cached * bytes / (RANKS_CACHE * rate);
}

/* Where exchanges are kernels of their own, or of hosts. */
static double Split(const DeviceModel *model, double bytes, int ranks, bool linked)
{
  double exchange = linked ? RANKS_LINK + (ranks - 2) * RANKS_MORE : RANKS_HOST;
  return (1 + RANKS_SPLIT) * OnOne(model, bytes / ranks) + exchange;
}

double poiseIterationSeconds(const DeviceModel *model, double bytes, int ranks, bool linked)
{
  if (!poiseModelIsGpu(model) || model->bandwidth <= 0) return 0;
  if (ranks == 1) return OnOne(model, bytes);
  double split = Split(model, bytes, ranks, linked),
         phases = (1 + RANKS_PHASES_SPLIT) * OnOne(model, bytes / ranks) + RANKS_PHASES;
  return linked ? fmin(split, phases) : split;
}

bool poiseRanksRepeat(const DeviceModel *model, double bytes, int ranks, bool linked)
{
  if (!poiseModelIsGpu(model) || model->bandwidth <= 0) return false;
  return OnOne(model, bytes) <= Split(model, bytes, ranks, linked);
}

int poiseRanksThatPay(const DeviceModel *model, double bytes, int ranks, bool linked)
{
  int best = ranks;
  double least = poiseIterationSeconds(model, bytes, ranks, linked);
  for (int k = 1; k < ranks; k++) {
    double seconds = poiseIterationSeconds(model, bytes, k, linked);
    if (seconds < least) best = k, least = seconds;
  }
  return best;
}

bool poiseProductHidesExchange(const DeviceModel *model, double bytes)
{
  return bytes > RANKS_FUSED * MEMORY_REACHED * model->bandwidth && model->bandwidth > 0;
}
