/* SPDX-License-Identifier: BSD-3-Clause */
/* Poise: balanced sparse products and Krylov solvers for simulation codes. Everything a user includes. */
#ifndef POISE_H
#define POISE_H

#include "poise/sys.h"
#include "poise/vec.h"
#include "poise/mat.h"
#include "poise/pc.h"
#include "poise/ksp.h"

#endif
