/* SPDX-License-Identifier: BSD-3-Clause */
/* Stand-in for METIS in a library built without it. */
#include "graph.h"

bool poiseMetisIsThere(void)
{
  return false;
}

PoiseErr poiseMetisCheck(void)
{
  FAIL(POISE_ERR_UNSUPPORTED,
       "-mat_partition graph: this library was built without METIS; install it (Debian, Ubuntu: apt "
       "install libmetis-dev) and build Poise again with -D POISE_METIS=ON");
}

PoiseErr poiseMetisPartition(PoiseContext ctx, const Adjacency *g, const int64_t *weight,
                             const Shares *shares, int32_t *part)
{
  (void)ctx, (void)g, (void)weight, (void)shares, (void)part;
  return poiseMetisCheck();
}

PoiseErr poiseMetisOrder(PoiseContext ctx, const Adjacency *g, int32_t *to)
{
  (void)ctx, (void)g, (void)to;
  return poiseMetisCheck();
}
