/* SPDX-License-Identifier: BSD-3-Clause */
/* Statistics of this rank's rows (statistics.c). All of it is local. */
#ifndef POISE_MAT_STATISTICS_H
#define POISE_MAT_STATISTICS_H

#include "mat/object/mat.h"
#include "product_plan.h"

/* A's statistics as a request cuts its rows. They are those without a limit if no row is that long. */
PoiseErr poiseCsrCutStatistics(PoiseMat A, const ProductRequest *request, CsrStatistics *s);

#endif
