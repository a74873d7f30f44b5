/* SPDX-License-Identifier: BSD-3-Clause */
/* How long stages of set-up take. The device writes down when each ends, so the host goes on meanwhile. */
#include "rows.h"
#include "stages.h"
#include "amg_kernels.h"

PoiseErr poiseHost_amg_clock(Device *dev, const void *args)
{
  const AmgClockArgs *a = args;
  (void)dev;
  *a->now = (int64_t)(1e9 * PoiseTime());
  return POISE_OK;
}

static PoiseErr Mark(Device *dev, AmgStages *s)
{
  return LAUNCH(dev, amg_clock, &(AmgClockArgs){.now = s->when + s->count++});
}

PoiseErr poiseAmgStagesBegin(Device *dev, AmgStages *s)
{
  s->count = 0;
  TRY(poiseAmgMake(dev, AMG_MARKS, sizeof *s->when, "times of stages", &s->times, &s->when));
  return Mark(dev, s);
}

PoiseErr poiseAmgStageEnds(Device *dev, AmgStages *s, int stage)
{
  if (s->count == AMG_MARKS) return POISE_OK; /* the next ones are counted with it */
  s->stage[s->count] = stage;
  return Mark(dev, s);
}

PoiseErr poiseAmgStagesRead(Device *dev, AmgStages *s, double seconds[STAGES])
{
  int64_t when[AMG_MARKS];
  memset(seconds, 0, STAGES * sizeof *seconds);
  TRY(poiseDeviceFetch(dev, s->when, (size_t)s->count * sizeof *when, when));
  for (int k = 1; k < s->count; k++) seconds[s->stage[k]] += 1e-9 * (double)(when[k] - when[k - 1]);
  return POISE_OK;
}
