/* SPDX-License-Identifier: BSD-3-Clause */
/* State of an object since its last assembly: whether entries were added or set, and the first call that
   failed. Assembling then fails on all ranks, rather than going on without the entries of that call. */
#include <stdio.h>

#include "vec.h"

PoiseErr poisePendingMode(const Pending *p, int mode, const char *assemble)
{
  if (p->mode && p->mode != mode) FAIL(POISE_ERR_STATE, "values added and set without %s between", assemble);
  return POISE_OK;
}

PoiseErr poisePendingKeep(Pending *p, PoiseErr e)
{
  if (!e || p->failed) return e;
  p->failed = e;
  snprintf(p->words, sizeof p->words, "%s", PoiseErrorMessage());
  return e;
}

static PoiseErr Kept(Pending *p)
{
  PoiseErr e = p->failed;
  p->failed = POISE_OK;
  if (e) FAIL(e, "%s", p->words);
  return POISE_OK;
}

PoiseErr poisePendingAgree(PoiseContext ctx, Pending *p, const char *assemble, int *mode)
{
  int64_t used[2] = {p->mode == ADDING, p->mode == SETTING};
  TRY(PoiseAgree(ctx, Kept(p)));
  TRY(poiseCommMaxInt(ctx->comm, used, 2));
  *mode = used[1] ? SETTING : ADDING;
  if (used[0] && used[1]) *mode = 0;
  if (!*mode)
    FAIL(POISE_ERR_STATE, "values added on one rank and set on another without %s between", assemble);
  return POISE_OK;
}
