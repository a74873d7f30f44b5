/* SPDX-License-Identifier: BSD-3-Clause */
/* An order with little fill by AMD: P. R. Amestoy, T. A. Davis and I. S. Duff, Algorithm 837: AMD, an
   approximate minimum degree ordering algorithm, ACM TOMS 30, 2004. */
#include <amd.h>

#include "graph.h"

bool poiseAmdIsThere(void)
{
  return true;
}

PoiseErr poiseAmdCheck(void)
{
  return POISE_OK;
}

/* AMD itself takes the pattern of A + A^T, leaves the diagonal out, and sorts. */
static PoiseErr Order(const Adjacency *g, const int32_t *start, int32_t *order)
{
  int status = amd_order((int32_t)g->n, start, g->adj, order, NULL, NULL);
  if (status == AMD_OUT_OF_MEMORY)
    FAIL(POISE_ERR_MEMORY, "AMD, for %lld rows with %lld entries", (long long)g->n,
         (long long)g->start[g->n]);
  if (status != AMD_OK && status != AMD_OK_BUT_JUMBLED)
    FAIL(POISE_ERR_INTERNAL, "AMD failed with status %d", status);
  return POISE_OK;
}

PoiseErr poiseAmd(PoiseContext ctx, Adjacency *pattern, int32_t *order)
{
  int32_t *start;
  int64_t edges = pattern->start[pattern->n];
  if (pattern->n == 0) return POISE_OK;
  if (edges > INT32_MAX / 4)
    FAIL(POISE_ERR_UNSUPPORTED, "-mat_order amd: %lld entries, more than AMD counts in 32 bits",
         (long long)edges);
  TRY(poiseAllocArray(ctx, pattern->n + 1, sizeof *start, "graph for AMD", &start));
  for (int64_t i = 0; i <= pattern->n; i++) start[i] = (int32_t)pattern->start[i];
  PoiseErr e = Order(pattern, start, order);
  poiseFree(ctx, &start);
  poiseGraphDestroy(ctx, pattern);
  return e;
}
