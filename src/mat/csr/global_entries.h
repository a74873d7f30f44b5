/* SPDX-License-Identifier: BSD-3-Clause */
/* Global rows and columns of a CSR's entries, on the device. */
#ifndef POISE_GLOBAL_ENTRIES_H
#define POISE_GLOBAL_ENTRIES_H

#include "global_entries_kernels.h"
#include "local_csr.h"

typedef struct GlobalEntries {
  Buffer row, col, ghost[2]; /* of ghosts: the lists of rows and columns */
  PoiseInt *rows, *cols;     /* [nz], on the device: in row and col */
} GlobalEntries;

/* c->ghost, of nghost numbers on the host, which stay the caller's, becomes the same on the device. *list
   holds them there. Local. */
PoiseErr poiseGhostsToDevice(Device *dev, int64_t nghost, Buffer *list, GlobalColumns *c);
/* Of C's entries; rows and columns as in GlobalColumns, with the ghosts on the host. g is zero, and to be
   destroyed also after an error. Local. */
PoiseErr poiseGlobalEntries(Device *dev, Csr *C, GlobalColumns rows, int64_t nghost_rows,
                            GlobalColumns columns, int64_t nghost_columns, GlobalEntries *g);
void poiseGlobalEntriesDestroy(GlobalEntries *g);

#endif
