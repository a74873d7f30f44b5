/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Numbers at the columns that this rank's rows refer to, [owned | ghosts], on the host; of blocks at each of
  their columns (columns.c).
*/
#ifndef POISE_MAT_COLUMNS_H
#define POISE_MAT_COLUMNS_H

#include "mat/object/mat.h"

PoiseErr poiseColumnsCreate(PoiseMat A, double **column);
/* Copy values from owned columns to the ghosts of all ranks; or add those of ghosts to their owners. mine:
   this rank's error so far (column is then not touched). Collective; the caller agrees. */
PoiseErr poiseColumnsSpread(PoiseMat A, PoiseErr mine, double *column);
PoiseErr poiseColumnsCollect(PoiseMat A, PoiseErr mine, double *column);

#endif
