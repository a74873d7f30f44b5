/* SPDX-License-Identifier: BSD-3-Clause */
/* The rungs of method auto. */
#ifndef POISE_KSP_LADDER_H
#define POISE_KSP_LADDER_H

#include "pc/facts.h"

typedef struct Rung {
  bool (*fits)(const Facts *);
  const char *method, *pc;       /* no pc: that which the application has named */
  Word words[WORDS];             /* options besides */
  double work;                   /* of an iteration, in products */
  double (*cost)(const Facts *); /* of a whole solve, in products, if it is known; else NULL */
  const char *why;
  double most; /* products that it may take; 0: as many as what is surer */
} Rung;

enum { RUNGS = 30 };
extern const Rung poiseLadder[RUNGS];

/* What factors of so many entries and flops cost beside a product with A, on `ranks` ranks of a device. */
double poiseCostOfFactors(const Facts *f, const DeviceModel *model, int ranks, double entries, double flops);

#endif
