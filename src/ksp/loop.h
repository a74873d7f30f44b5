/* SPDX-License-Identifier: BSD-3-Clause */
/* The loop of a solve (loop.c). */
#ifndef POISE_KSP_LOOP_H
#define POISE_KSP_LOOP_H

#include "methods.h"

enum { REPLAY_MOST = 8 }; /* most iterations between two looks at the end, if the number is chosen */

/* The type that iterates. */
static inline const KSPType *poiseKSPForm(PoiseKSP ksp)
{
  return ksp->type->form ? ksp->type->form(ksp) : ksp->type;
}
/* Iterations of its cycle. */
static inline int poiseKSPCycle(PoiseKSP ksp)
{
  const KSPType *form = poiseKSPForm(ksp);
  return form->cycle ? form->cycle(ksp) : 1;
}

/* From the first norm on until the solve is over, each iteration enqueued when the one before is done. */
void poiseKSPEager(PoiseKSP ksp);
/* Capture iterations. Returns whether there are any to replay. */
bool poiseKSPCapture(PoiseKSP ksp);
/* loop.step, before that. Collective. */
PoiseErr poiseKSPChooseStep(PoiseKSP ksp);
/* Replay what was captured, until the solve is over. x: where it may be delivered. */
void poiseKSPReplay(PoiseKSP ksp, PoiseVec x);
void poiseKSPForget(PoiseKSP ksp); /* drop what was captured */
/* Copy the slots to loop.status[0], and wait for them. */
PoiseErr poiseKSPFetchSlots(PoiseKSP ksp);

#endif
