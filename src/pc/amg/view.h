/* SPDX-License-Identifier: BSD-3-Clause */
/* What a hierarchy holds and costs. */
#ifndef POISE_AMG_VIEW_H
#define POISE_AMG_VIEW_H

#include "pc/pc.h"

extern const PCType poisePCType_amg;

PoiseErr poiseAmgView(PoisePC pc);
void poiseAmgBytes(PoisePC pc, PoiseBytes *sum);
/* As PCType's, of a cycle without its products; and its kernels. */
void poiseAmgCost(PoisePC pc, double *flops, double *bytes);
int64_t poiseAmgKernels(PoisePC pc);

#endif
