/* SPDX-License-Identifier: BSD-3-Clause */
/* A plan in the words of a view. */
#include <stdio.h>

#include "product_plan.h"

/* The fragments of split rows, where there may be some, and the hubs. */
static void MoreWords(const ProductPlan *p, char *text, size_t size)
{
  int n = 0;
  if (p->limit)
    n = snprintf(text, size, ", rows of %lld entries or more in fragments of up to %lld", (long long)p->limit,
                 (long long)p->fragment);
  if (p->hub_bits)
    snprintf(text + n, size - (size_t)n, ", the %d entries of x in most use kept near", 1 << p->hub_bits);
}

void poisePlanWords(const DeviceModel *model, const ProductPlan *p, char *text, size_t size)
{
  char more[128] = "", each[32] = "a thread for each";
  long long row_block = (long long)p->row_block, segment = (long long)p->segment;
  MoreWords(p, more, sizeof more);
  if (p->lanes > 1) snprintf(each, sizeof each, "%d threads for each", p->lanes);
  switch (p->form) {
  case FORM_ROWS:
    if (poiseModelIsGpu(model))
      snprintf(text, size, "rows, %s", each);
    else
      snprintf(text, size, "blocks of %d rows", p->rows);
    break;
  case FORM_TILES:
    snprintf(text, size, "tiles of %d rows, %s%s", p->rows, each, more);
    break;
  case FORM_ROW_BLOCKS:
    snprintf(text, size, "row blocks of %lld rows and entries%s", row_block, more);
    break;
  case FORM_SHARED:
    snprintf(text, size, "row blocks of %lld rows and entries, which add to rows that they share", row_block);
    break;
  case FORM_SEGMENTS:
    snprintf(text, size, "row blocks of %lld segments of %lld entries%s", row_block, segment, more);
    break;
  case FORM_BALANCED:
    snprintf(text, size, "row blocks of %lld rows and blocks%s", row_block, more);
    break;
  case FORM_GROUPS:
  case FORM_PAPER:
    snprintf(text, size, "groups of %d rows of blocks", p->rows);
    break;
  }
}
