/* SPDX-License-Identifier: BSD-3-Clause */
/* Predictions of bytes. Each call adds to p what will be held. */
#ifndef POISE_PREDICT_H
#define POISE_PREDICT_H

#include "buffer.h"

typedef enum { ON_DEVICE, ON_BOTH } Used; /* the same on a host device */

/* Add a buffer of `least` to `most` bytes, which is used on these sides. */
void poisePredictBetween(const Device *dev, int64_t least, int64_t most, Used sides, PoisePrediction *p);
void poisePredict(const Device *dev, int64_t bytes, Used sides, PoisePrediction *p);
/* What the host holds of a device's arrays: least, and when it has read them. */
void poisePredictRead(const Device *dev, int64_t least, int64_t most, PoisePrediction *p);
/* A buffer that there is: on the device; on the host what it holds, or all once that has read it. */
void poisePredictBuffer(const Buffer *b, PoisePrediction *p);
void poisePredictHost(int64_t bytes, PoisePrediction *p); /* by a block that is no buffer */
void poisePredictSum(const PoisePrediction *part, PoisePrediction *p);
void poisePredictEither(const PoisePrediction *one, PoisePrediction *p); /* p = bounds of either `one` or p */

#endif
