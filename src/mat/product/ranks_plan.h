/* SPDX-License-Identifier: BSD-3-Clause */
/* How many GPUs a solver of a size is worth: bench/scale.py's model of one host, in short. Plain C. */
#ifndef POISE_RANKS_PLAN_H
#define POISE_RANKS_PLAN_H

#include "sys/device/device_model.h"

/* Seconds of an iteration of cg with a diagonal M on so many GPUs, each with an equal part of the bytes that
   it moves; 0 where the bandwidth is not known. linked: they exchange by peer memory, else through the
   hosts. */
double poiseIterationSeconds(const DeviceModel *model, double bytes, int ranks, bool linked);
/* The number of them, at most `ranks`, with the fewest seconds; `ranks` where these are not known. */
int poiseRanksThatPay(const DeviceModel *model, double bytes, int ranks, bool linked);
/* Is an iteration of so many bytes, whose phases do not exchange by themselves, as fast if each GPU does all
   of it? */
bool poiseRanksRepeat(const DeviceModel *model, double bytes, int ranks, bool linked);
/* Is a product of so many bytes better launched in two parts, of which the first hides the exchange? */
bool poiseProductHidesExchange(const DeviceModel *model, double bytes);

#endif
