/* SPDX-License-Identifier: BSD-3-Clause */
/* The text of all phases in phases.def: what a device's driver of phases compiles. */
#ifndef POISE_KSP_ALL_PHASES_H
#define POISE_KSP_ALL_PHASES_H

#include "vec/vec_phases.h"

#define KSP_TYPE(name)
#define KSP_PHASES
#include "types.def"
#undef KSP_TYPE
#undef KSP_PHASES

#endif
