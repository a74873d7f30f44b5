/* SPDX-License-Identifier: BSD-3-Clause */
/* Entries as triplets for the device. Holds 16 bytes per entry, and 8 per ghost, until they are destroyed. */
#include "global_entries.h"
#include "sys/sys.h"

PoiseErr poiseGhostsToDevice(Device *dev, int64_t nghost, Buffer *list, GlobalColumns *c)
{
  TRY(poiseBufferWrap(dev, (size_t)nghost * sizeof *c->ghost, "ghost columns", (void *)(uintptr_t)c->ghost,
                      POISE_BORROW, list));
  return poiseBufferRead(list, DEVICE, &c->ghost);
}

PoiseErr poiseGlobalEntries(Device *dev, Csr *C, GlobalColumns rows, int64_t nghost_rows,
                            GlobalColumns columns, int64_t nghost_columns, GlobalEntries *g)
{
  GlobalEntriesArgs a = {.rows = rows, .columns = columns, .n = C->m};
  size_t bytes = (size_t)C->nz * sizeof *a.row;
  TRY(poiseCsrPattern(C, &a.C));
  TRY(poiseGhostsToDevice(dev, nghost_rows, &g->ghost[0], &a.rows));
  TRY(poiseGhostsToDevice(dev, nghost_columns, &g->ghost[1], &a.columns));
  TRY(poiseBufferCreate(dev, bytes, "rows of entries", &g->row));
  TRY(poiseBufferCreate(dev, bytes, "columns of entries", &g->col));
  TRY(poiseBufferWrite(&g->row, DEVICE, &g->rows));
  TRY(poiseBufferWrite(&g->col, DEVICE, &g->cols));
  a.row = g->rows, a.col = g->cols;
  return LAUNCH(dev, global_entries, &a);
}

void poiseGlobalEntriesDestroy(GlobalEntries *g)
{
  Buffer *all[] = {&g->row, &g->col, &g->ghost[0], &g->ghost[1]};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) poiseBufferDestroy(all[k]);
}

HOST_ITEMS(global_entries, GlobalEntriesArgs, global_entries_row(a, i, 0, 1))
