/* SPDX-License-Identifier: BSD-3-Clause */
/* How long stages of set-up take. */
#ifndef POISE_AMG_STAGES_H
#define POISE_AMG_STAGES_H

#include "amg.h"

enum { AMG_MARKS = 12 * AMG_LEVELS }; /* a level has 9 at most, and may be made twice */

typedef struct AmgStages {
  Buffer times;
  int64_t *when; /* on the device: nanoseconds of its clock, at the begin and at the end of each stage */
  int count, stage[AMG_MARKS];
} AmgStages;

/* What is enqueued between two ends counts for the latter; Read waits. Local. */
PoiseErr poiseAmgStagesBegin(Device *dev, AmgStages *s);
PoiseErr poiseAmgStageEnds(Device *dev, AmgStages *s, int stage);
PoiseErr poiseAmgStagesRead(Device *dev, AmgStages *s, double seconds[STAGES]);

#endif
