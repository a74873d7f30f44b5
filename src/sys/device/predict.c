/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums of bytes that will be held. */
#include "sys/sys.h"

void poisePredictBetween(const Device *dev, int64_t least, int64_t most, Used sides, PoisePrediction *p)
{
  bool is_host = dev->ops->is_host;
  if (!is_host) p->least.device += least, p->most.device += most;
  if (is_host || sides == ON_BOTH) p->least.host += least, p->most.host += most;
}

void poisePredict(const Device *dev, int64_t bytes, Used sides, PoisePrediction *p)
{
  poisePredictBetween(dev, bytes, bytes, sides, p);
}

void poisePredictBuffer(const Buffer *b, PoisePrediction *p)
{
  poisePredict(b->dev, (int64_t)b->bytes, ON_DEVICE, p);
  poisePredictRead(b->dev, poiseBufferBytes(b, HOST), (int64_t)b->bytes, p);
}

void poisePredictRead(const Device *dev, int64_t least, int64_t most, PoisePrediction *p)
{
  if (!dev->ops->is_host) p->least.host += least, p->most.host += most;
}

void poisePredictHost(int64_t bytes, PoisePrediction *p)
{
  p->least.host += bytes, p->most.host += bytes;
}

void poisePredictSum(const PoisePrediction *part, PoisePrediction *p)
{
  p->least.host += part->least.host, p->least.device += part->least.device;
  p->most.host += part->most.host, p->most.device += part->most.device;
  if (!p->beyond) p->beyond = part->beyond;
}

static int64_t Smaller(int64_t a, int64_t b)
{
  return a < b ? a : b;
}

static int64_t Larger(int64_t a, int64_t b)
{
  return a > b ? a : b;
}

void poisePredictEither(const PoisePrediction *one, PoisePrediction *p)
{
  p->least =
      (PoiseBytes){Smaller(p->least.host, one->least.host), Smaller(p->least.device, one->least.device)};
  p->most = (PoiseBytes){Larger(p->most.host, one->most.host), Larger(p->most.device, one->most.device)};
  if (!p->beyond) p->beyond = one->beyond;
}
