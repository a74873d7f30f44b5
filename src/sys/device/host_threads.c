/* SPDX-License-Identifier: BSD-3-Clause */
/*
  How many threads of the host a rank takes, where nobody says it. On the host device the ranks on the same
  cores share these. Beside a GPU the host copies, checks and counts, in many short parallel regions. A few
  threads fill the memory's bus, and a region lasts as long as its slowest thread. So the ranks of a machine
  share few: on a virtual machine whose cores are shared, a region over all of them takes milliseconds.
*/
#define _GNU_SOURCE /* sched_getaffinity */
#include <sched.h>

#include "host_threads.h"
#include "place.h"
#include "sys/sys.h"

#ifdef _OPENMP
#include <omp.h>
#else
static int omp_get_max_threads(void)
{
  return 1;
}
#endif

enum { BESIDE_GPU = 16 }; /* threads of a machine */

typedef struct Cores { /* where a rank may run */
  uint64_t machine, cores;
} Cores;

static Cores CoresHere(void)
{
  Cores mine = {poiseMachine(), 0};
#ifdef CPU_SETSIZE
  cpu_set_t set;
  if (!sched_getaffinity(0, sizeof set, &set)) mine.cores = poiseHashBytes(0, &set, sizeof set);
#endif
  return mine;
}

/* Of `threads`, what this rank takes among those of all ranks' processes. */
static int Share(int threads, bool is_host, const Cores *all, int size, int rank)
{
  int machine = 0, cores = 0; /* ranks that have the same */
  for (int r = 0; r < size; r++) {
    machine += all[r].machine == all[rank].machine;
    cores += all[r].machine == all[rank].machine && all[r].cores == all[rank].cores;
  }
  int most = is_host ? threads / cores : BESIDE_GPU / machine;
  return most < threads ? most : threads;
}

PoiseErr poiseHostThreads(PoiseContext ctx, const DeviceOps *ops, int *threads)
{
  Cores mine = CoresHere(), *all = NULL;
  int size = ctx->comm->size, most = omp_get_max_threads();
  bool leads = ctx->parent && ctx->parent->group; /* its parent is one of its threads, and waits */
  *threads = ctx->parent ? ctx->parent->device->threads / (leads ? 1 : size) : most;
  if (!ctx->parent) {
    PoiseErr e = poiseAllocArray(ctx, size, sizeof *all, "cores of ranks", &all);
    e = poiseAgreeGather(ctx, e, &mine, sizeof mine, all);
    if (!e && !getenv("OMP_NUM_THREADS")) *threads = Share(most, ops->is_host, all, size, ctx->comm->rank);
    poiseFree(ctx, &all);
    TRY(e);
  }
  if (*threads < 1) *threads = 1;
  return POISE_OK;
}
