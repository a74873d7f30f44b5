/* SPDX-License-Identifier: BSD-3-Clause */
/* Poise: load-balanced SpMV and Krylov solvers for simulation codes. This header includes the whole
   interface. */
#ifndef POISE_H
#define POISE_H

#include "poise/sys.h"
#include "poise/vec.h"
#include "poise/mat.h"
#include "poise/mat_multiply.h"
#include "poise/pc.h"
#include "poise/ksp.h"

#endif
