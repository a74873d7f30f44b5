/* SPDX-License-Identifier: BSD-3-Clause */
/* The all-to-all for arrays outside of loops: of set-up, and of new values (alltoall.c). */
#ifndef POISE_ALLTOALL_H
#define POISE_ALLTOALL_H

#include "sys/ranks/comm.h"

/* Make one side of an exchange of doubles: ranks, offsets and buffer, from bytes per rank. *count is 0 on
   entry. buffer = NULL: none. */
PoiseErr poiseExchangeSide(PoiseContext ctx, const int64_t *bytes, int *count, int **rank, int64_t **start,
                           double **buffer);
void poiseExchangeDestroy(PoiseContext ctx, Exchange *ex, bool buffers);

/* An exchange for poiseAlltoall, from the bytes that each rank is sent, and sends; multiples of 8. It has
   buffers on the host where it needs them. mine: this rank's error so far. Collective. Through hosts it
   agrees. Between devices nobody waits, and an error is known to its rank alone. So it is handed to the next
   poiseAlltoall, which all ranks take part in, opened or not. */
PoiseErr poiseAlltoallOpen(PoiseContext ctx, PoiseErr mine, const int64_t *sent, const int64_t *got,
                           Exchange *ex);
/* All-to-all: bring words of 8 bytes to other ranks' devices. from, to: on this rank's, in the order of
   ranks. What was enqueued before is done after it; what comes may still be on its way there. Collective.
   Between devices that reach each other, a rank's error is everybody's. A device that fails after that is
   known to its rank alone, and through hosts every error. So the caller agrees. */
PoiseErr poiseAlltoall(PoiseContext ctx, PoiseErr mine, Exchange *ex, const void *from, void *to);

#endif
