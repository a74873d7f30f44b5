/* SPDX-License-Identifier: BSD-3-Clause */
/* -ksp_precision mixed: a recurrence in fp32 around x and residuals in fp64 (mixed.c). */
#ifndef POISE_KSP_MIXED_H
#define POISE_KSP_MIXED_H

#include "mat/product/product.h"
#include "poise/ksp.h"

typedef struct KSPMixed {
  /* as set-up found and made it */
  bool usable;
  char why[160]; /* why it is not, or why the latest solve went on in fp64; "": neither */
  Product A;     /* A times `scale`, a power of 2, in fp32 */
  double scale;
  Version seen;          /* A's, of those values */
  Buffer d;              /* M in fp32, a diagonal or blocks; unused: it is the identity, or applied in fp64 */
  const double *in_fp32; /* its device pointer, though of fp32 */
  int n;                 /* work vectors */
  Buffer *v;             /* these in fp32; x has none */

  /* of the running solve, or the latest */
  bool products;  /* of a method that iterates in fp64: they are in fp32 where this is set and it is active */
  bool active;    /* the method iterates in fp32 */
  bool on;        /* ksp->v and M are those in fp32; */
  double **other; /* those that ksp->v does not show, */
  const double *other_d; /* and M.diagonal */
  double fall;           /* the part of its first norm to which a recurrence may fall */
  double began, fell;    /* norms: of b - A x at the latest start; of the recurrence at its end */
  double claimed;        /* of b - A x at the latest claim that was not within the tolerance */
  bool keeps;            /* a replacement leaves the method its directions */
  bool ended_low;        /* the latest end was by `fall` */
  PoiseInt left_at;      /* iterations after which it went on in fp64; -1: it did not */
  int64_t replaced;      /* times that the residual was replaced */
} KSPMixed;

/* May it work so? And the product that it then needs, before sizes are taken from it. Collective; agrees. */
PoiseErr poiseKSPMixedChoose(PoiseKSP ksp, PoiseNormType norm);
/* Values and vectors in fp32, where it may. Collective; agrees. */
PoiseErr poiseKSPMixedSetUp(PoiseKSP ksp);
void poiseKSPMixedRelease(PoiseKSP ksp);
void poiseKSPMixedBytes(PoiseKSP ksp, PoiseBytes *sum);
PoiseErr poiseKSPMixedView(PoiseKSP ksp);

/* A solve begins; and M in fp32. Local. */
void poiseKSPMixedReset(PoiseKSP ksp);
PoiseErr poiseKSPMixedPrepare(PoiseKSP ksp);
/* The method has been started, in fp64: go on in fp32, if that has gained so far. Agrees. */
PoiseErr poiseKSPMixedStart(PoiseKSP ksp);
/* Show methods their vectors in fp32, or in fp64. Returns what they saw. */
bool poiseKSPMixedShow(PoiseKSP ksp, bool single);
/* The loop has ended: must the method be started again, to replace the residual, to reach the tolerance, or
   in fp64? */
bool poiseKSPMixedGoesOn(PoiseKSP ksp);
void poiseKSPMixedSay(PoiseKSP ksp); /* what there is to say of a solve that has ended, by poiseKSPSay */

/* As poiseKSPProduct and poiseKSPPrecondition have it, on vectors in fp32. */
void poiseKSPMixedProduct(PoiseKSP ksp, PoiseVec x, PoiseVec y, ProductArgs *a);
/* The former with x and y in fp64 in a method that iterates so. Returns false where it is not to be done. */
bool poiseKSPMixedMultiplies(PoiseKSP ksp, PoiseVec x, PoiseVec y, ProductArgs *a);
void poiseKSPMixedPrecondition(PoiseKSP ksp, PoiseVec r, PoiseVec z, const double *skip, const Fuse *f);

#endif
