/* SPDX-License-Identifier: BSD-3-Clause */
/* Incomplete sparse approximate inverses of the triangles of incomplete factors. */
#ifndef POISE_ISAI_H
#define POISE_ISAI_H

#include "pc.h"

PoiseErr poiseIsaiCheck(PoisePC pc);        /* do the options agree? */
PoiseErr poiseIsaiCheckEntries(PoisePC pc); /* are they for P's present pattern? */
/* Of new factors, which poiseJacobiSweepsScale has scaled, if they are asked for. */
PoiseErr poiseIsai(PoisePC pc, bool symmetric);

#endif
