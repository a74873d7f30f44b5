/* SPDX-License-Identifier: BSD-3-Clause */
/* Local-to-global maps: an application's own numbering of a rank's rows, for adding and setting values. */
#include "sys/device/host_loop.h"
#include "vec.h"

static PoiseErr Set(PoiseContext ctx, PoiseInt n, const PoiseInt *global, PoiseInt N, const char *what,
                    Map *map)
{
  if (n < 0 || (n && !global))
    FAIL(POISE_ERR_ARG, "a local-to-global map of %lld %ss%s", (long long)n, what,
         n < 0 ? "" : ", which are NULL");
  for (PoiseInt k = 0; k < n; k++)
    if (global[k] >= N)
      FAIL(POISE_ERR_ARG, "the local-to-global map's %s %lld is %lld, there are %lld", what, (long long)k,
           (long long)global[k], (long long)N);
  /* n + 1, as NULL means that no map was given */
  TRY(poiseAllocArray(ctx, n + 1, sizeof *global, "local-to-global map", &map->global));
  map->n = n;
  if (n) memcpy(map->global, global, (size_t)n * sizeof *global);
  return POISE_OK;
}

PoiseErr poiseMapSet(PoiseContext ctx, PoiseInt n, const PoiseInt *global, PoiseInt N, const char *what,
                     Map *map)
{
  Map fresh = {0};
  TRY(Set(ctx, n, global, N, what, &fresh));
  poiseMapDestroy(ctx, map);
  *map = fresh;
  return POISE_OK;
}

void poiseMapDestroy(PoiseContext ctx, Map *map)
{
  poiseFree(ctx, &map->global);
  map->n = 0;
}

PoiseErr poiseIndexBeyond(PoiseInt i, int64_t place, PoiseInt N, const char *what, const char *object)
{
  FAIL(POISE_ERR_ARG, "%s %lld of a %s of %lld %ss (at place %lld, from 0, of those given)", what,
       (long long)i, object, (long long)N, what, (long long)place);
}

PoiseErr poiseValuesCheck(int64_t n, const double *v)
{
  if (n > 0 && !v) FAIL(POISE_ERR_ARG, "%lld values at NULL", (long long)n);
  return POISE_OK;
}

/* The first of the indices k .. end - 1 that is not below `limit`, or `end`. */
static PoiseInt FirstOf(const Indices *x, PoiseInt k, PoiseInt end, PoiseInt limit)
{
  while (k < end && x->index[k] < limit) k++;
  return k;
}

/* The first of all, or n. Of a few, in most calls of assembly, a parallel region even of one thread would
   take longer than all else. */
static PoiseInt FirstBeyond(Device *dev, const Indices *x, PoiseInt limit)
{
  const int64_t nblock = POISE_NBLOCKS(x->n);
  PoiseInt first = x->n;
  if (!HOST_SHARED_OUT(dev, nblock)) return FirstOf(x, 0, x->n, limit);
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t b = 0; b < nblock; b++) {
    const PoiseInt end = b + 1 < nblock ? (b + 1) * POISE_BLOCK : x->n,
                   k = FirstOf(x, b * POISE_BLOCK, end, limit);
    if (k == end) continue;
    HOST_CRITICAL
    if (k < first) first = k;
  }
  return first;
}

PoiseErr poiseIndicesCheck(Device *dev, const Indices *x, PoiseInt N, const char *what, const char *object)
{
  const Map *map = x->map;
  if (map && !map->global) FAIL(POISE_ERR_STATE, "the %s has no local-to-global map of %ss", object, what);
  if (x->n < 0) FAIL(POISE_ERR_ARG, "%lld %ss", (long long)x->n, what);
  if (x->n && !x->index) FAIL(POISE_ERR_ARG, "the indices of %lld %ss are NULL", (long long)x->n, what);
  PoiseInt k = FirstBeyond(dev, x, map ? map->n : N);
  if (k == x->n) return POISE_OK;
  if (!map) return poiseIndexBeyond(x->index[k], k, N, what, object);
  FAIL(POISE_ERR_ARG, "local %s %lld, the local-to-global map has %lld", what, (long long)x->index[k],
       (long long)map->n);
}
