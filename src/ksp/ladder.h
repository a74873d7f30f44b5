/* SPDX-License-Identifier: BSD-3-Clause */
/* The rungs of method auto. */
#ifndef POISE_KSP_LADDER_H
#define POISE_KSP_LADDER_H

#include "pc/facts.h"

typedef struct Rung {
  bool (*fits)(const Facts *);
  const char *method, *pc; /* no pc: that which the application has named */
  Word words[WORDS];       /* options besides */
  bool brief;              /* there is a surer one: it is given few iterations */
  const char *why;
} Rung;

enum { RUNGS = 17 };
extern const Rung poiseLadder[RUNGS];

#endif
