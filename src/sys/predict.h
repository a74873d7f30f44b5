/* SPDX-License-Identifier: BSD-3-Clause */
/* Predictions of bytes. Each call adds to p what will be held. */
#ifndef POISE_PREDICT_H
#define POISE_PREDICT_H

#include "device.h"

typedef enum { ON_DEVICE, ON_BOTH } Used; /* the same on a host device */

/* Add a buffer of `least` to `most` bytes, which is used on these sides. */
void poisePredictBetween(const Device *dev, int64_t least, int64_t most, Used sides, PoisePrediction *p);
void poisePredict(const Device *dev, int64_t bytes, Used sides, PoisePrediction *p);
void poisePredictHost(int64_t bytes, PoisePrediction *p); /* by a block that is no buffer */
void poisePredictSum(const PoisePrediction *part, PoisePrediction *p);
void poisePredictEither(const PoisePrediction *one, PoisePrediction *p); /* p = bounds of either `one` or p */

#endif
