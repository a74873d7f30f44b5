/* SPDX-License-Identifier: BSD-3-Clause */
/* Type auto, which has another type work (auto.c). */
#ifndef POISE_MAT_AUTO_H
#define POISE_MAT_AUTO_H

#include "mat/mat.h"

PoiseErr poiseChoiceCreate(PoiseContext ctx, void **choice); /* data of type auto, for A->asked.data */
void poiseChoiceDestroy(PoiseContext ctx, void **choice);

/* For a matrix of type auto. Predict, whichever type it chooses. */
PoiseErr poiseChoicePredict(PoiseMat A, MatPlan *plan, PoisePrediction *p);
/* The user set the type by name: A may become bcsr, at once if it is assembled. Collective; agrees. */
PoiseErr poiseChoiceName(PoiseMat A);
PoiseErr poiseChoiceRead(PoiseMat A); /* read the options of all types that may be chosen */
/* For type auto set by name, and A assembled. A becomes bcsr if all of it came entry by entry, and blocks of
   its block size take less time. Collective; agrees. */
PoiseErr poiseChoiceBlocks(PoiseMat A);
/* Data of bcsr, with the options that A would have as blocks; NULL: the defaults. */
const void *poiseChoiceBlockOptions(PoiseMat A);
PoiseErr poiseChoiceView(PoiseMat A);

/* For any matrix. */
bool poiseChoiceIsNamed(PoiseMat A); /* type auto, and the user said so */
void poiseChoiceForget(PoiseMat A);  /* type auto will choose anew */
/* Choose the type, if A is assembled, of type auto, and its pattern or options have changed since the last
   choice. Otherwise nothing. Collective; agrees. */
PoiseErr poiseMatChoose(PoiseMat A);

#endif
