/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Which GPU a rank takes. -device_id names one. Otherwise the candidates are those near the cores that the
  rank may run on. They are dealt out among the ranks of a machine with the same candidates. The system says
  which GPUs are near (PCI devices' local_cpulist). If it does not, or if ranks are not bound to cores, all
  GPUs are candidates. Where a machine has more ranks than such GPUs, each serves ranks with numbers in a row,
  which can gather there (context/group.h).
*/
#define _GNU_SOURCE /* sched_getaffinity */
#include <ctype.h>
#include <sched.h>
#include <unistd.h>

#include "place.h"
#include "sys/sys.h"

enum { MOST = 64 }; /* GPUs of a machine */

bool poiseNextCores(const char **list, long *first, long *last)
{
  char *end;
  if (!isdigit((unsigned char)**list)) return false;
  *first = strtol(*list, &end, 10);
  *last = *end == '-' ? strtol(end + 1, &end, 10) : *first;
  *list = *end == ',' ? end + 1 : end;
  return true;
}

bool poiseMayRunOn(const char *list)
{
#ifdef CPU_SETSIZE
  cpu_set_t mine;
  long first, last;
  if (sched_getaffinity(0, sizeof mine, &mine)) return true;
  while (poiseNextCores(&list, &first, &last))
    for (long core = first; core <= last && core < CPU_SETSIZE; core++)
      if (CPU_ISSET((size_t)core, &mine)) return true;
  return false;
#else
  (void)list;
  return true;
#endif
}

/* bus: "0000:17:00.0" */
static bool IsNear(const char *bus)
{
  char path[96], list[4096];
  snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/local_cpulist", bus);
  for (char *c = path; *c; c++) *c = (char)tolower((unsigned char)*c);
  FILE *f = fopen(path, "r");
  if (!f) return true;
  bool known = fgets(list, sizeof list, f) && isdigit((unsigned char)*list);
  fclose(f);
  return !known || poiseMayRunOn(list);
}

static uint64_t Near(const DeviceOps *ops, int count)
{
  char bus[POISE_BUS];
  uint64_t near = 0;
  for (int k = 0; k < count; k++)
    if (!ops->bus || ops->bus(k, bus) || IsNear(bus)) near |= UINT64_C(1) << k;
  return near;
}

uint64_t poiseHashBytes(uint64_t h, const void *bytes, size_t n)
{
  for (size_t k = 0; k < n; k += sizeof h) {
    uint64_t word = 0;
    memcpy(&word, (const char *)bytes + k, n - k < sizeof word ? n - k : sizeof word);
    h = poiseMix(h, word);
  }
  return h;
}

uint64_t poiseHashWords(const char *words)
{
  return poiseHashBytes(0, words, strlen(words));
}

uint64_t poiseMachine(void)
{
  char name[256] = "";
  (void)gethostname(name, sizeof name - 1);
  return poiseHashWords(name);
}

/* Number k, from 0, of the GPUs in `set`. */
static int IdOf(uint64_t set, int k)
{
  while (k-- > 0) set &= set - 1;
  return __builtin_ctzll(set);
}

static uint64_t Candidates(const GpuPlace *place, uint64_t every)
{
  return place->near ? place->near : every;
}

int poisePickGpu(int rank, const GpuPlace *all, int size, int count)
{
  uint64_t every = count < MOST ? (UINT64_C(1) << count) - 1 : UINT64_MAX, some = 0;
  int64_t before = 0, total = 0, alike = 0;
  for (int r = 0; r < size; r++) {
    if (all[r].machine != all[rank].machine) continue;
    some |= Candidates(&all[r], every);
    before += r < rank, total++;
    alike += r < rank && all[r].near == all[rank].near;
  }
  int64_t gpus = __builtin_popcountll(some);
  if (total > gpus) return IdOf(some, (int)(before * gpus / total)); /* neighbours share one */
  some = Candidates(&all[rank], every);
  return IdOf(some, (int)(alike % __builtin_popcountll(some)));
}

/* *count = number of GPUs; an error if there is none. */
static PoiseErr Count(PoiseContext ctx, const DeviceOps *ops, int id, int *count)
{
  TRY(ops->count(count));
  if (*count > MOST) *count = MOST;
  if (id >= *count)
    FAIL(POISE_ERR_OPTION, "%s %d: there %s %d of device %s here, numbered from 0",
         poiseOptionsName(ctx, NULL, "device_id"), id, *count == 1 ? "is" : "are", *count, ops->name);
  return POISE_OK;
}

PoiseErr poiseDevicePlace(PoiseContext ctx, const DeviceOps *ops, int *id)
{
  Comm *comm = ctx->comm;
  GpuPlace *all = NULL;
  int count = 1;
  if (!ops->count) {
    *id = 0;
    return POISE_OK;
  }
  PoiseErr e = Count(ctx, ops, *id, &count);
  if (!e) e = poiseAllocArray(ctx, comm->size, sizeof *all, "places of ranks", &all);
  e = PoiseAgree(ctx, e);
  if (!e && *id < 0) {
    GpuPlace mine = {poiseMachine(), Near(ops, count)};
    e = PoiseAgree(ctx, comm->ops->allgather(comm, &mine, sizeof mine, all));
    if (!e) *id = poisePickGpu(comm->rank, all, comm->size, count);
  }
  poiseFree(ctx, &all);
  return e;
}
