/* SPDX-License-Identifier: BSD-3-Clause */
/*
  ilu and icc by colours: A = (I + N) D (I + V) on A's pattern, with N of earlier colours and V of later ones.
  A colour's rows do not depend on each other, so each colour is one pass.

  With w = D^-1 y, (I + N) y = r is w = D^-1 r - (D^-1 N D) w, and then z = w - V z. These are the sweeps of
  sor with omega = 1 (by_colour.c), where the parts are D^-1 N D in place of D^-1 L, and V. A row i has
    v_ik = a_ik - sum of v_il V_lk, l < k      then N_ik D_k = v_ik
  so each of its entries is divided by its own pivot alone, and both parts are made in place.
*/
#include "colour_factor.h"
#include "colour_factor_kernels.h"
#include "mat/csr/local_csr.h"

static PoiseErr Factor(PoisePC pc, const FactorArgs *rule, ColourCopy *c)
{
  const int64_t *start = c->colours.start;
  ColourFactorArgs a = {.rule = *rule};
  TRY(poiseBufferRead(&c->colours.row, DEVICE, &a.row));
  for (int part = COLOUR_LOWER; part <= COLOUR_UPPER; part++) {
    TRY(poiseCsrUpdate(&c->part[part]->csr, &a.part[part], &a.val[part]));
    c->part[part]->version.values++;
  }
  for (int k = 0; k < c->colours.count; k++) {
    a.begin = start[k], a.n = start[k + 1] - start[k];
    TRY(LAUNCH(pc->ctx->device, colour_factor, &a));
  }
  return POISE_OK;
}

PoiseErr poiseColourFactor(PoisePC pc, const FactorArgs *rule, ByColour *c)
{
  TRY(poiseByColourSetup(pc, NULL, false, c));
  TRY(Factor(pc, rule, &c->copy));
  for (int part = COLOUR_LOWER; part <= COLOUR_UPPER; part++) TRY(poiseMatReady(c->copy.part[part]));
  return POISE_OK;
}
