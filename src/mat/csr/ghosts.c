/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The columns of other ranks that a rank's rows refer to (ghosts), as a set of bits. Pages of it exist only
  where there is a bit. So it takes a fraction of the memory of the entries, however often and in whatever
  order they refer to a column. One walk through the pages numbers the columns. A column's number is the count
  of bits before it.
*/
#include "ghosts.h"
#include "mat/object/mat.h"

enum { PAGE_WORDS = 32, PAGE = 64 * PAGE_WORDS }; /* columns of a page */

typedef struct GhostPage {
  uint64_t bits[PAGE_WORDS];
  int32_t before[PAGE_WORDS]; /* number of ghosts below the word's first column */
} GhostPage;

PoiseErr poiseGhostsCreate(PoiseContext ctx, PoiseInt N, Ghosts *g)
{
  *g = (Ghosts){.ctx = ctx, .N = N};
  return poiseAllocArray(ctx, N / PAGE + 1, sizeof *g->page, "pages of ghost columns", &g->page);
}

void poiseGhostsDestroy(Ghosts *g)
{
  if (!g->ctx) return;
  poiseFree(g->ctx, &g->page);
  poiseFree(g->ctx, &g->pages);
  *g = (Ghosts){0};
}

static PoiseErr AddPage(Ghosts *g, PoiseInt col)
{
  if (g->npage == g->capacity) {
    int64_t more = 2 * g->capacity + 16;
    TRY(poiseRealloc(g->ctx, (size_t)more * sizeof *g->pages, (size_t)g->npage * sizeof *g->pages,
                     "ghost columns", &g->pages));
    g->capacity = more;
  }
  memset(&g->pages[g->npage++], 0, sizeof *g->pages);
  g->page[col / PAGE] = (int32_t)g->npage;
  return POISE_OK;
}

PoiseErr poiseGhostsAdd(Ghosts *g, PoiseInt col)
{
  if (!g->page[col / PAGE]) TRY(AddPage(g, col));
  g->pages[g->page[col / PAGE] - 1].bits[col % PAGE / 64] |= UINT64_C(1) << col % 64;
  return POISE_OK;
}

static int64_t Count(const Ghosts *g)
{
  int64_t n = 0;
  for (int64_t p = 0; p < g->npage; p++)
    for (int w = 0; w < PAGE_WORDS; w++) n += __builtin_popcountll(g->pages[p].bits[w]);
  return n;
}

PoiseErr poiseTooManyGhosts(PoiseContext ctx, int64_t n)
{
  FAIL(POISE_ERR_UNSUPPORTED,
       "rank %d refers to %lld columns of other ranks, more than fit in 32 bits with its own", PoiseRank(ctx),
       (long long)n);
}

PoiseErr poiseGhostsNumber(Ghosts *g, int64_t limit, int64_t *n, PoiseInt **col)
{
  int64_t k = 0;
  *col = NULL;
  *n = Count(g);
  if (*n > limit) return poiseTooManyGhosts(g->ctx, *n);
  TRY(poiseAllocArray(g->ctx, *n, sizeof **col, "ghost columns", col));
  for (PoiseInt p = 0; p <= g->N / PAGE; p++) {
    if (!g->page[p]) continue;
    GhostPage *page = &g->pages[g->page[p] - 1];
    for (int w = 0; w < PAGE_WORDS; w++) {
      page->before[w] = (int32_t)k;
      for (uint64_t left = page->bits[w]; left; left &= left - 1)
        (*col)[k++] = p * PAGE + w * 64 + __builtin_ctzll(left);
    }
  }
  return POISE_OK;
}

int32_t poiseGhostsFind(const Ghosts *g, PoiseInt col)
{
  const GhostPage *page = &g->pages[g->page[col / PAGE] - 1];
  int64_t w = col % PAGE / 64;
  return page->before[w] + __builtin_popcountll(page->bits[w] & ((UINT64_C(1) << col % 64) - 1));
}
