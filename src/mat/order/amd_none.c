/* SPDX-License-Identifier: BSD-3-Clause */
/* Stand-in for AMD in a library built without it. */
#include "graph.h"

bool poiseAmdIsThere(void)
{
  return false;
}

PoiseErr poiseAmdCheck(void)
{
  FAIL(POISE_ERR_UNSUPPORTED,
       "-mat_order amd: this library was built without AMD; install it (Debian, Ubuntu: apt install "
       "libsuitesparse-dev) and build Poise again with -D POISE_AMD=ON");
}

PoiseErr poiseAmd(PoiseContext ctx, Adjacency *pattern, int32_t *order)
{
  (void)ctx, (void)pattern, (void)order;
  return poiseAmdCheck();
}
