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

double poiseIterationSeconds(const DeviceModel *model, double bytes, int ranks, bool linked)
{
  if (!poiseModelIsGpu(model) || model->bandwidth <= 0) return 0;
  if (ranks == 1) return OnOne(model, bytes);
  double part = OnOne(model, bytes / ranks), split = (1 + RANKS_SPLIT) * part;
  return linked ? fmin(split + RANKS_LINK + (ranks - 2) * RANKS_MORE,
                       (1 + RANKS_PHASES_SPLIT) * part + RANKS_PHASES)
                : split + RANKS_HOST;
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
