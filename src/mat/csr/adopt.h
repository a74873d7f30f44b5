/* SPDX-License-Identifier: BSD-3-Clause */
/* From users' arrays to a rank's CSR (adopt.c). */
#ifndef POISE_MAT_ADOPT_H
#define POISE_MAT_ADOPT_H

#include "mat/object/mat.h"

PoiseErr poiseCsrBuild(PoiseMat A, const PoiseCSR *in, PoiseOwn own);       /* collective; agrees */
PoiseErr poiseCsrBuildDevice(PoiseMat A, const PoiseCSR *in, PoiseOwn own); /* of arrays on the device */

#endif
