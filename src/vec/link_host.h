/* SPDX-License-Identifier: BSD-3-Clause */
/* Exchanges that phases on the host make by themselves (link_host.c). */
#ifndef POISE_LINK_HOST_H
#define POISE_LINK_HOST_H

#include "sys/device/device.h"
#include "sys/link/link_kernels.h"

/* link_sum, with its results in dst of the host. Fails, with NaN, when a rank does not come. */
PoiseErr poiseHostSumRanks(Device *dev, const LinkSumArgs *a, double *dst);
/* What a phase does after its rows. */
PoiseErr poiseHostExchange(Device *dev, const LinkSend *a);

#endif
