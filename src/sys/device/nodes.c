/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The two levels of MSREP (Chen and others 2020, section 4): parts go to the NUMA nodes of a host, then to
  the GPUs of each. Ranks that are threads are bound to nodes, neighbours to one node. A rank's pages lie
  where its threads, which are as bound as it is, write them first. The GPU that it takes is then a near one
  (place.c). Ranks that are processes are bound by who starts them.

  The system says which cores a node has (node<k>/cpulist), as hwloc reads it.
*/
#define _GNU_SOURCE /* sched_setaffinity */
#include <sched.h>
#include <stdio.h>

#include "nodes.h"
#include "place.h"

#ifdef CPU_SETSIZE
enum { MOST = 64 }; /* nodes */

static void Read(const char *root, int k, cpu_set_t *cores)
{
  char path[512], list[4096];
  long first, last;
  CPU_ZERO(cores);
  snprintf(path, sizeof path, "%s/node%d/cpulist", root ? root : "/sys/devices/system/node", k);
  FILE *f = fopen(path, "r");
  if (!f) return;
  const char *at = fgets(list, sizeof list, f);
  fclose(f);
  while (at && poiseNextCores(&at, &first, &last))
    for (long core = first; core <= last && core < CPU_SETSIZE; core++) CPU_SET((size_t)core, cores);
}

void poiseNodesBind(const char *root, int rank, int ranks)
{
  cpu_set_t mine, all[MOST], share;
  int n = 0;
  if (sched_getaffinity(0, sizeof mine, &mine)) return;
  for (int k = 0; k < MOST; k++) {
    Read(root, k, &all[n]);
    CPU_AND(&all[n], &all[n], &mine);
    n += CPU_COUNT(&all[n]) > 0;
  }
  if (n < 2 || (ranks % n && n % ranks)) return; /* ranks have as many threads each */
  int first = (int)((int64_t)rank * n / ranks), end = (int)((int64_t)(rank + 1) * n / ranks);
  share = all[first];
  for (int k = first + 1; k < end; k++) CPU_OR(&share, &share, &all[k]);
  (void)sched_setaffinity(0, sizeof share, &share); /* where that is not allowed, it stays as it is */
}

uint64_t poiseNodesHere(const char *root, int *count)
{
  cpu_set_t mine, node;
  uint64_t here = 0;
  *count = 0;
  if (sched_getaffinity(0, sizeof mine, &mine)) return 0;
  for (int k = 0; k < MOST; k++) {
    Read(root, k, &node);
    *count += CPU_COUNT(&node) > 0;
    CPU_AND(&node, &node, &mine);
    if (CPU_COUNT(&node)) here |= UINT64_C(1) << k;
  }
  return here;
}
#else
void poiseNodesBind(const char *root, int rank, int ranks)
{
  (void)root, (void)rank, (void)ranks;
}

uint64_t poiseNodesHere(const char *root, int *count)
{
  (void)root;
  *count = 0;
  return 0;
}
#endif
