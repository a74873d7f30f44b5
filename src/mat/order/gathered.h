/* SPDX-License-Identifier: BSD-3-Clause */
/* Items of all ranks on rank 0, for what one rank must do with all of a matrix (gathered.c). */
#ifndef POISE_GATHERED_H
#define POISE_GATHERED_H

#include "sys/sys.h"

/* all = the count[r] items of every rank r, in the order of ranks; or back: mine = this rank's items of all.
   count is the same on all ranks; `all` is used on rank 0 alone. Collective; agrees. */
PoiseErr poiseGatherItems(PoiseContext ctx, const void *mine, const int64_t *count, size_t item, void *all);
PoiseErr poiseScatterItems(PoiseContext ctx, const void *all, const int64_t *count, size_t item, void *mine);

#endif
