/* SPDX-License-Identifier: BSD-3-Clause */
/* Who owns which rows: contiguous ranges in rank order. */
#include "vec.h"

static PoiseErr Check(PoiseContext ctx, PoiseInt n, PoiseInt N, const char *what)
{
  if (n == POISE_DECIDE && N == POISE_DECIDE)
    FAIL(POISE_ERR_ARG, "%s: give a local or a global size, both are POISE_DECIDE", what);
  if (n != POISE_DECIDE && (n < 0 || n > INT32_MAX - POISE_BLOCK))
    FAIL(POISE_ERR_ARG, "%s: local size %lld is not between 0 and %d", what, (long long)n,
         INT32_MAX - POISE_BLOCK);
  if (N != POISE_DECIDE && N < 0) FAIL(POISE_ERR_ARG, "%s: global size %lld is negative", what, (long long)N);
  if (n == POISE_DECIDE && N / PoiseSize(ctx) >= INT32_MAX - POISE_BLOCK)
    FAIL(POISE_ERR_ARG, "%s: global size %lld is too large for %d ranks of at most %d rows", what,
         (long long)N, PoiseSize(ctx), INT32_MAX - POISE_BLOCK);
  return POISE_OK;
}

static PoiseErr Create(PoiseContext ctx, PoiseInt n, PoiseInt N, const char *what, Layout **layout)
{
  *layout = NULL;
  TRY(Check(ctx, n, N, what));
  TRY(poiseAlloc(ctx, sizeof **layout, "layout", layout));
  (*layout)->ctx = ctx;
  (*layout)->refs = (*layout)->columns = 1;
  TRY(poiseAllocArray(ctx, PoiseSize(ctx) + 1, sizeof(PoiseInt), "layout", &(*layout)->start));
  (*layout)->n = n;
  if (n == POISE_DECIDE) PoiseSplit(ctx, N, &(*layout)->begin, &(*layout)->n);
  return POISE_OK;
}

static PoiseErr CheckSum(const Layout *l, PoiseInt N, const char *what)
{
  if (N != POISE_DECIDE && N != l->N)
    FAIL(POISE_ERR_SIZE, "%s: local sizes add up to %lld, the global size is %lld", what, (long long)l->N,
         (long long)N);
  return POISE_OK;
}

typedef struct Sizes { /* as a rank gives them, but for its own, if that is to be decided */
  PoiseInt n, N;
} Sizes;

/* Ranks agree on what is wrong only where it is, which all see. */
static PoiseErr Add(Layout *l, const Sizes *all, PoiseInt N, const char *what)
{
  PoiseContext ctx = l->ctx;
  bool wrong = false;
  for (int r = 0; r < PoiseSize(ctx); r++) l->start[r + 1] = l->start[r] + all[r].n;
  l->begin = l->start[PoiseRank(ctx)];
  l->N = l->start[PoiseSize(ctx)];
  for (int r = 0; r < PoiseSize(ctx); r++) wrong |= all[r].N != POISE_DECIDE && all[r].N != l->N;
  return wrong ? PoiseAgree(ctx, CheckSum(l, N, what)) : POISE_OK;
}

PoiseErr poiseLayoutCreate(PoiseContext ctx, PoiseInt n, PoiseInt N, const char *what, Layout **layout)
{
  Sizes mine = {.N = N}, *all = NULL;
  PoiseErr e = Create(ctx, n, N, what, layout);
  if (!e) e = poiseAllocArray(ctx, PoiseSize(ctx), sizeof *all, "layout", &all);
  if (!e) mine.n = (*layout)->n;
  e = poiseAgreeGather(ctx, e, &mine, sizeof mine, all);
  if (!e) e = Add(*layout, all, N, what);
  poiseFree(ctx, &all);
  if (e) poiseLayoutDestroy(layout);
  return e;
}

PoiseErr poiseLayoutColumns(const Layout *layout, int k, Layout **wide)
{
  PoiseContext ctx = layout->ctx;
  size_t bytes = (size_t)(PoiseSize(ctx) + 1) * sizeof(PoiseInt);
  *wide = NULL;
  TRY(poiseAlloc(ctx, sizeof **wide, "layout", wide));
  **wide = (Layout){.ctx = ctx, .refs = 1, .N = layout->N, .begin = layout->begin, .n = layout->n};
  (*wide)->columns = k;
  PoiseErr e = poiseAlloc(ctx, bytes, "layout", &(*wide)->start);
  if (e)
    poiseLayoutDestroy(wide);
  else
    memcpy((*wide)->start, layout->start, bytes);
  return e;
}

Layout *poiseLayoutShare(Layout *layout)
{
  layout->refs++;
  return layout;
}

void poiseLayoutDestroy(Layout **layout)
{
  Layout *l = *layout;
  *layout = NULL;
  if (!l || --l->refs) return;
  PoiseContext ctx = l->ctx;
  poiseFree(ctx, &l->start);
  poiseFree(ctx, &l);
}

int poiseLayoutOwner(const Layout *l, PoiseInt row)
{
  int low = 0, high = l->ctx->comm->size; /* start[low] <= row < start[high] */
  while (high - low > 1) {
    int mid = low + (high - low) / 2;
    if (l->start[mid] <= row)
      low = mid;
    else
      high = mid;
  }
  return low;
}

bool poiseLayoutSame(const Layout *a, const Layout *b)
{
  return a == b || (a->ctx == b->ctx && a->N == b->N && a->begin == b->begin && a->n == b->n &&
                    a->columns == b->columns);
}
