/* SPDX-License-Identifier: BSD-3-Clause */
/* What a transport asks of a GPU: its table. The functions are in peer.cu and nccl.cu. */
#include "door.h"

extern "C" {
#include "sys/device/link_device.h"
}

static PoiseErr PlaceOf(Device *dev, LinkPlace *place)
{
  CUmoduleLoadingMode mode = CU_MODULE_LAZY_LOADING;
  place->device = dev->id;
  TRY(poiseCudaLoading(dev, &mode));
  place->eager = mode == CU_MODULE_EAGER_LOADING;
  return POISE_OK;
}

static const LinkProcesses processes = {
    .patience = 1,   /* processes do not begin at once */
    .unit = 2 << 20, /* the physical block of small allocations */
    .alloc = Through<poiseCudaExport>::Door,
    .free = Through<poiseCudaUnexport>::Door,
    .open = Through<poiseCudaOpen>::Door,
    .close = Through<poiseCudaClose>::Door,
};

static const LinkLibrary library = {
    .name = "NCCL",
    .most = 1, /* NCCL refuses more */
    .load = Through<poiseCudaNcclLoad>::Door,
    .unload = Through<poiseCudaNcclUnload>::Door,
    .describe = poiseCudaNcclDescribe,
    .invite = Through<poiseCudaNcclInvite>::Door,
    .join = Through<poiseCudaNcclJoin>::Door,
    .leave = Through<poiseCudaNcclLeave>::Door,
    .watch = Through<poiseCudaNcclWatch>::Door,
    .gather = Through<poiseCudaNcclGather>::Door,
    .exchange = Through<poiseCudaNcclExchange>::Door,
    .arrive = Through<poiseCudaNcclArrive>::Door,
};

const LinkDevice poiseCudaLink = {
    .patience = 0.1,
    .most = 4,
    .automatic = 1, /* the driver may make a rank's call wait for what polls on the same GPU */
    .load = Through<poiseCudaLoadLink>::Door,
    .place = Through<PlaceOf>::Door,
    .alloc = Through<poiseCudaSharedAlloc>::Door,
    .free = Through<poiseCudaSharedFree>::Door,
    .reach = Through<poiseCudaReach>::Door,
    .processes = &processes,
    .library = &library,
};
