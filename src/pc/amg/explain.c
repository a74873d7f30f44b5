/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Why a solve with amg may have failed, and a way out: the first reason of those that set-up has seen. Whether
  A is symmetric nobody has asked before; after a failure two products tell, y = A x and z = A^T x of a random
  x.
*/
#include "explain.h"
#include "sys/options/options.h"

const char *poiseAmgWhyEnded(AmgEnd ended)
{
  static const char *const words[] = {
      [END_NONE] = "",
      [END_LEVELS] = "no more are allowed",
      [END_DOMINATED] = "rows are dominated by their diagonals",
      [END_MASS] = "the smoother removes constants, as with mass matrices",
      [END_APART] = "no node has a strong neighbour",
      [END_STALLS] = "coarsening stalls",
  };
  return words[ended];
}

typedef struct Seen { /* of A */
  bool symmetric;
  double energy; /* x A x, whose sign is that of the trace */
} Seen;

static PoiseErr Compare(PoiseMat A, PoiseVec x, PoiseVec y, PoiseVec z, Seen *of)
{
  const double rounding = 1e-10;
  double norm, differs;
  TRY(PoiseVecSetRandom(x, 1));
  TRY(PoiseMatMult(A, x, y));
  TRY(PoiseMatMultTranspose(A, x, z));
  TRY(PoiseVecDot(x, y, &of->energy));
  TRY(PoiseVecAXPY(z, -1, y));
  TRY(PoiseVecNorm(y, POISE_NORM_2, &norm));
  TRY(PoiseVecNorm(z, POISE_NORM_2, &differs));
  of->symmetric = differs <= rounding * norm;
  return POISE_OK;
}

static PoiseErr Look(PoiseMat A, Seen *of)
{
  PoiseVec x = NULL, y = NULL, z = NULL;
  PoiseErr e = PoiseMatCreateVecs(A, &x, &y);
  if (!e) e = PoiseVecDuplicate(y, &z);
  if (!e) e = Compare(A, x, y, z, of);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
  PoiseVecDestroy(&z);
  return e;
}

/* The last level is refused by the dense inverse, or has the other sign. A is symmetric. */
static bool IsIndefinite(const Amg *amg, const Seen *of)
{
  return amg->dense && !amg->bottom.sparse && (amg->bottom.lu || amg->bottom.sign * of->energy < 0);
}

/* Rows of nodes, whose near null space is constants. Of elasticity that lacks the rotations. */
static bool LacksMotions(PoisePC pc)
{
  return pc->P->block_size > 1 && pc->P->near.n == 0;
}

bool poiseAmgIsSlow(PoisePC pc)
{
  const Amg *amg = pc->data;
  const double many = 6,
               least = 30; /* iterations a digit; in all, as the first digits of a solve are no sign */
  const AmgPace *p = &amg->latest;
  bool takes = amg->count > 1 && amg->level[0].node == 1 && pc->P->near.n <= 1 && !amg->way.odd;
  return takes && amg->options.type == AMG_SMOOTHED && amg->options.interpolation_degree == 1 &&
         (double)p->iterations >= least && (double)p->iterations > many * p->digits;
}

static void Explain(PoisePC pc, const Seen *of, char *text, size_t size)
{
  const Amg *amg = pc->data;
  const double large = 3;
  const bool more = amg->ended == END_LEVELS;
  const char *type = poiseOptionsName(pc->ctx, pc->prefix, "pc_type");
  if (!of->symmetric && amg->way.smoother == AMG_CHEBYSHEV)
    snprintf(text, size, "A is not symmetric: try %s jacobi, or %s ilu with gmres",
             poiseOptionsName(pc->ctx, pc->prefix, "pc_amg_smoother"), type);
  else if (!of->symmetric)
    snprintf(text, size, "A is not symmetric: try %s ilu with gmres", type);
  else if (IsIndefinite(amg, of))
    snprintf(text, size, "A is not definite, which amg is for: try minres with %s jacobi, or %s lu", type,
             type);
  else if (LacksMotions(pc))
    snprintf(
        text, size,
        "amg has constants alone as near null space: PoiseMatSetCoordinates makes the motions of elasticity");
  else if (amg->ended == END_APART || amg->ended == END_MASS)
    snprintf(text, size, "amg is its smoother alone, as %s: try %s icc", poiseAmgWhyEnded(amg->ended), type);
  else if (!amg->dense && (amg->ended == END_STALLS || amg->ended == END_LEVELS))
    snprintf(text, size, "the last level of amg is smoothed, with %lld rows, as %s: try a %s %s",
             (long long)amg->level[amg->count - 1].A->rows->N, poiseAmgWhyEnded(amg->ended),
             more ? "larger" : "smaller",
             poiseOptionsName(pc->ctx, pc->prefix, more ? "pc_amg_levels" : "pc_amg_threshold"));
  else if (poiseFinite(amg->level[0].sums) && amg->level[0].sums > large)
    snprintf(text, size,
             "rows have large entries of the diagonal's sign, so that A is perhaps of neither diffusion nor "
             "elasticity: try %s icc",
             type);
  else if (poiseAmgIsSlow(pc))
    snprintf(text, size,
             "perhaps diffusion has directions between those of the grid, or A is of fourth order: try %s 2",
             poiseOptionsName(pc->ctx, pc->prefix, "pc_amg_interpolation_degree"));
}

PoiseErr poiseAmgExplain(PoisePC pc, char *text, size_t size)
{
  Seen of;
  TRY(Look(pc->P, &of));
  Explain(pc, &of, text, size);
  return POISE_OK;
}
