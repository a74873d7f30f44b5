/* SPDX-License-Identifier: BSD-3-Clause */
/* What LGMRES does beside GMRES (Baker, Jessup & Manteuffel 2005; see lgmres.c). u: the correction of a
   cycle, and c = K u. Kept are u / |u| and c / |u|. */
#ifndef POISE_LGMRES_PHASES_H
#define POISE_LGMRES_PHASES_H

#include "gmres_phases.h"

enum { LG_U, LG_C, LG_V, LG_W, LG_NEWER_U = LG_V, LG_NEWER_C = LG_W }; /* operands */

/* Slots of gmres that are free where these are used. */
enum {
  LG_UU = GM_WW,       /* (u, u) */
  LG_NEXT = GM_REFINED /* GM_KEPT of the next cycle */
};

/* Has the cycle gained enough for r - r' to have digits? Its square is the difference of their squares. And
   can u be divided by its norm? */
POISE_INLINE int poiseLGMRESGained(double first, double last, double uu)
{
  return last < (1 - 0x1p-40) * first && uu > 0 && poiseFinite(uu);
}

/* lgmres_known: is the vector of this iteration there? It is if k are kept. */
PROLOGUE(lgmres_known)
{
  out[GM_SKIP] = in[GM_KEPT] >= (double)a->k;
  return 0;
}

/* lgmres_take: w = c; or if the vector is not there, u = v, of which w is the product already. */
PROLOGUE(lgmres_take)
{
  c[0] = in[GM_SKIP];
  return 1;
}

ELEMENTWISE(lgmres_take)
{
  if (c[0] != 0)
    OUT(LG_W) = READ(LG_C);
  else
    OUT(LG_U) = READ(LG_V);
  return poiseDots(0, 0, 0);
}

/* lgmres_shift: the next newer pair takes the place of an older one. */
PROLOGUE(lgmres_shift)
{
  return 1;
}

ELEMENTWISE(lgmres_shift)
{
  OUT(LG_U) = READ(LG_NEWER_U);
  OUT(LG_C) = READ(LG_NEWER_C);
  return poiseDots(0, 0, 0);
}

/* lgmres_store: u / |u| of u in V; c = 0. k: most that are kept. */
PROLOGUE(lgmres_store)
{
  double kept = in[GM_KEPT];
  out[LG_NEXT] = kept < (double)a->k ? kept + 1 : kept;
  c[0] = 1 / sqrt(in[LG_UU]);
  return 1;
}

ELEMENTWISE(lgmres_store)
{
  OUT(LG_U) = c[0] * READ(LG_V);
  OUT(LG_C) = 0;
  return poiseDots(0, 0, 0);
}

/* lgmres_keep: c = (r - r') / |u|, where c holds the residual r at the cycle's start, and W r' at its end.
   After a cycle that has gained nothing none is kept, and a plain one follows. */
PROLOGUE(lgmres_keep)
{
  out[GM_KEPT] = poiseLGMRESGained(in[GM_FIRST], in[GM_COMPUTED], in[LG_UU]) ? in[LG_NEXT] : 0;
  c[0] = 1 / sqrt(in[LG_UU]);
  return 1;
}

ELEMENTWISE(lgmres_keep)
{
  OUT(LG_C) = c[0] * (READ(LG_C) - READ(LG_W));
  return poiseDots(0, 0, 0);
}

#endif
