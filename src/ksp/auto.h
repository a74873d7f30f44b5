/* SPDX-License-Identifier: BSD-3-Clause */
/* Method auto: what it sees of a matrix (auto_facts.c), and its rungs (auto.c). */
#ifndef POISE_KSP_AUTO_H
#define POISE_KSP_AUTO_H

#include "ksp.h"

typedef struct Facts { /* of A, on all ranks alike */
  double rows, entries;
  bool stored;                     /* it has entries to look at, else it is a shell */
  bool symmetric;                  /* its products are, to rounding */
  double positive, negative, zero; /* entries of the diagonal, if it is stored */
} Facts;

/* Look at A: two products, and its diagonal. Collective; agrees. */
PoiseErr poiseKSPLookAt(PoiseMat A, Facts *f);

#endif
