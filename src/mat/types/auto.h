/* SPDX-License-Identifier: BSD-3-Clause */
/* Type auto, which has another type work (auto.c). */
#ifndef POISE_MAT_AUTO_H
#define POISE_MAT_AUTO_H

#include "mat/mat.h"

PoiseErr poiseChoicePredict(
    PoiseMat A, MatPlan *plan,
    PoisePrediction *p); /* predict for type auto, whichever type it chooses: auto.c */

PoiseErr poiseChoiceCreate(PoiseMat A); /* A is of type auto from now on */
void poiseChoiceDestroy(PoiseMat A);
/* The user set the type by name: A may become bcsr, at once if it is assembled. Collective; agrees. */
PoiseErr poiseChoiceName(PoiseMat A);
PoiseErr poiseChoiceRead(PoiseMat A); /* read the options of all types that may be chosen */
void poiseChoiceInherit(PoiseMat A, PoiseMat B);
/* For type auto set by name, and A assembled. A becomes bcsr if all of it came entry by entry, and blocks of
   its block size take less time. Collective; agrees. */
PoiseErr poiseChoiceBlocks(PoiseMat A);
bool poiseChoiceIsNamed(PoiseMat A); /* type auto, and the user said so */
void poiseChoiceForget(PoiseMat A);  /* type auto will choose anew */
PoiseErr poiseChoiceView(PoiseMat A);
/* Choose the type, if A is assembled, of type auto, and its pattern or options have changed since the last
   choice. Otherwise nothing. Collective; agrees. */
PoiseErr poiseMatChoose(PoiseMat A);

#endif
