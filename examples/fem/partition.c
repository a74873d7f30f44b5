/* SPDX-License-Identifier: BSD-3-Clause */
#include "partition.h"
#include "element.h"
#include <stdlib.h>

#ifdef FEM_HAVE_METIS
#include <inttypes.h>
#include <metis.h>

typedef struct Arrays {
  idx_t *start, *corner, *part, *nodePart;
} Arrays;

static PoiseErr Fill(PoiseInt cells, int corners, PoiseInt nodes, const int32_t *corner, Arrays *a)
{
  if (cells * corners >= IDX_MAX) {
    POISE_FAIL(POISE_ERR_UNSUPPORTED,
               "%" PRId64 " cells are too many for this METIS, which counts in %d bits", cells, IDXTYPEWIDTH);
  }
  POISE_TRY(FemAlloc(cells + 1, sizeof(idx_t), &a->start));
  POISE_TRY(FemAlloc(cells * corners, sizeof(idx_t), &a->corner));
  POISE_TRY(FemAlloc(cells, sizeof(idx_t), &a->part));
  POISE_TRY(FemAlloc(nodes, sizeof(idx_t), &a->nodePart));
  for (PoiseInt c = 0; c <= cells; c++) a->start[c] = (idx_t)(c * corners);
  for (PoiseInt k = 0; k < cells * corners; k++) a->corner[k] = corner[k];
  return POISE_OK;
}

static PoiseErr Divide(PoiseInt cells, int facetCorners, PoiseInt nodes, int parts, Arrays *a)
{
  idx_t ne = (idx_t)cells, nn = (idx_t)nodes, common = facetCorners, count = parts, cut,
        options[METIS_NOPTIONS];
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_NUMBERING] = 0;
  options[METIS_OPTION_SEED] = 1; /* the same parts in every run */
  int status = METIS_PartMeshDual(&ne, &nn, a->start, a->corner, NULL, NULL, &common, &count, NULL, options,
                                  &cut, a->part, a->nodePart);
  if (status != METIS_OK)
    POISE_FAIL(POISE_ERR_INTERNAL, "METIS failed with status %d on %" PRId64 " cells", status, cells);
  return POISE_OK;
}

PoiseErr FemPartition(PoiseContext ctx, PoiseInt cells, int corners, int facetCorners, PoiseInt nodes,
                      const int32_t *corner, double *rank, int *found)
{
  enum { PIECE = 1 << 20, FEWEST = 8 }; /* METIS balances badly with fewer cells per part */
  const int ranks = PoiseSize(ctx), first = PoiseRank(ctx) == 0;
  Arrays a = {NULL, NULL, NULL, NULL};
  PoiseErr err = POISE_OK;
  *found = ranks > 1 && cells >= FEWEST * ranks;
  if (!*found) return POISE_OK;
  if (first) err = Fill(cells, corners, nodes, corner, &a);
  if (first && err == POISE_OK) err = Divide(cells, facetCorners, nodes, ranks, &a);
  for (PoiseInt c = 0; c < cells; c++) rank[c] = first && err == POISE_OK ? (double)a.part[c] : 0;
  free(a.start);
  free(a.corner);
  free(a.part);
  free(a.nodePart);
  POISE_TRY(PoiseAgree(ctx, err));
  for (PoiseInt c = 0; c < cells; c += PIECE) { /* others add 0 */
    POISE_TRY(PoiseSum(ctx, (int)(cells - c < PIECE ? cells - c : PIECE), rank + c));
  }
  return POISE_OK;
}

#else

PoiseErr FemPartition(PoiseContext ctx, PoiseInt cells, int corners, int facetCorners, PoiseInt nodes,
                      const int32_t *corner, double *rank, int *found)
{
  (void)ctx, (void)cells, (void)corners, (void)facetCorners, (void)nodes, (void)corner, (void)rank;
  *found = 0;
  return POISE_OK;
}

#endif
