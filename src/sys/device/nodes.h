/* SPDX-License-Identifier: BSD-3-Clause */
/* NUMA nodes, and ranks that are threads on them (nodes.c). */
#ifndef POISE_NODES_H
#define POISE_NODES_H

#include <stdint.h>

/* The calling thread, rank `rank` of `ranks`, runs on its share of the nodes that it may run on, in their
   order. root: the system's folder of nodes; NULL: /sys/devices/system/node. Where that does not say, or
   there is one node, or shares would be unequal, nothing changes. */
void poiseNodesBind(const char *root, int rank, int ranks);
/* The nodes that the calling thread may run on, a bit for each. *count: nodes of the machine; 0: unknown. */
uint64_t poiseNodesHere(const char *root, int *count);

#endif
