/* SPDX-License-Identifier: BSD-3-Clause */
/* Type auto, which has another type work (auto.c). */
#ifndef POISE_MAT_AUTO_H
#define POISE_MAT_AUTO_H

#include "mat.h"

PoiseErr poiseChoicePredict(PoiseMat A, MatPlan *plan,
                            PoisePrediction *p); /* as a type's, whichever auto chooses: auto.c */

PoiseErr poiseChoiceCreate(PoiseMat A); /* A is of type auto from now on */
void poiseChoiceDestroy(PoiseMat A);
/* The user said so: A may become bcsr, at once if it is assembled. Collective; agrees. */
PoiseErr poiseChoiceName(PoiseMat A);
PoiseErr poiseChoiceRead(PoiseMat A); /* the options, of all types that may be chosen */
void poiseChoiceInherit(PoiseMat A, PoiseMat B);
/* Type auto, by name, and assembled: A becomes bcsr if all of it came entry by entry, and blocks of its block size take less time.
   Collective; agrees. */
PoiseErr poiseChoiceBlocks(PoiseMat A);
bool poiseChoiceIsNamed(PoiseMat A); /* type auto, and the user said so */
void poiseChoiceForget(PoiseMat A);  /* type auto will choose anew */
PoiseErr poiseChoiceView(PoiseMat A);
/* Which type works, where A is assembled, of type auto, and its pattern or the options are not those it was chosen for; else nothing.
   Collective; agrees. */
PoiseErr poiseMatChoose(PoiseMat A);

#endif
