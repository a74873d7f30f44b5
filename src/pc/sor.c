/* SPDX-License-Identifier: BSD-3-Clause */
/*
  PC sor: sweeps of successive over-relaxation on P x = r from x = 0, forward, backward or both,
    x_i = (1 - omega) x_i + omega / p_ii (r_i - sum of p_ij x_j, j != i),
  on the block that a rank owns. For a matrix of blocks, x_i are the unknowns of a block, and 1 / p_ii is the
  inverse of a block. On several ranks, its > 1 means `its` corrections by the residual of the whole matrix,
  with lits sweeps each. On one rank that equals its * lits sweeps.

  By colours the order of the rows is that of their colours (by_colour.c).

  Relaxation takes the same sweeps from a guess z in place of x = 0. That is of one rank alone. On several
  ranks it is what `its` does: a residual with new values of other ranks, and sweeps from 0 for a correction.
*/
#include "mat/object/bytes.h"
#include "vec/vec_kernels.h"
#include "blocks.h"
#include "by_colour.h"
#include "triangles.h"

typedef struct SOR {
  double omega;
  PoiseInt its, lits;
  int symmetric, forward, backward, order;
  bool by_colours;  /* in use */
  Version too_many; /* P, when its colours were too many to be chosen */
  Blocks diagonal;
  Triangular triangular; /* of the natural order, or */
  ByColour colours;
  PoiseVec residual, correction; /* needed for its > 1 on several ranks */
} SOR;

static const PoiseOption options[] = {
    {"pc_sor_order", POISE_OPTION_CHOICE, offsetof(SOR, order), "auto", 0, 0, POISE_COLOUR_WORDS,
     "of the rows of a sweep; colours: those without a common entry at once; auto: so of many rows on a GPU, "
     "else natural"},
    {"pc_sor_omega", POISE_OPTION_REAL, offsetof(SOR, omega), "1", 0, 2, NULL,
     "relaxation factor, between 0 and 2"},
    {"pc_sor_its", POISE_OPTION_INT, offsetof(SOR, its), "1", 1, 1e9, NULL,
     "outer sweeps, each with new values of other ranks"},
    {"pc_sor_lits", POISE_OPTION_INT, offsetof(SOR, lits), "1", 1, 1e9, NULL,
     "sweeps on a rank's own block in each outer sweep"},
    {"pc_sor_symmetric", POISE_OPTION_BOOL, offsetof(SOR, symmetric), "no", 0, 0, NULL,
     "sweep forward and backward (the default)"},
    {"pc_sor_forward", POISE_OPTION_BOOL, offsetof(SOR, forward), "no", 0, 0, NULL, "sweep forward only"},
    {"pc_sor_backward", POISE_OPTION_BOOL, offsetof(SOR, backward), "no", 0, 0, NULL, "sweep backward only"},
    {"pc_sor_local_symmetric", POISE_OPTION_BOOL, offsetof(SOR, symmetric), "no", 0, 0, NULL,
     "the same as pc_sor_symmetric"},
    {"pc_sor_local_forward", POISE_OPTION_BOOL, offsetof(SOR, forward), "no", 0, 0, NULL,
     "the same as pc_sor_forward"},
    {"pc_sor_local_backward", POISE_OPTION_BOOL, offsetof(SOR, backward), "no", 0, 0, NULL,
     "the same as pc_sor_backward"},
    {0},
};

/* ---- set-up ---------------------------------------------------------------------------------- */

static bool Corrects(PoisePC pc)
{
  return ((SOR *)pc->data)->its > 1 && PoiseSize(pc->ctx) > 1;
}

static PoiseErr CheckOptions(const SOR *s)
{
  if (!(s->omega > 0 && s->omega < 2))
    FAIL(POISE_ERR_OPTION, "pc_sor_omega is %g, not between 0 and 2", s->omega);
  if (s->symmetric + s->forward + s->backward > 1)
    FAIL(POISE_ERR_OPTION, "pc_sor: give one of symmetric, forward and backward");
  return POISE_OK;
}

/* A rank whose rows have not changed keeps its vector while others make theirs: local. */
static PoiseErr CreateVector(PoisePC pc, PoiseVec *v)
{
  if (*v && !poiseLayoutSame((*v)->layout, pc->P->rows)) PoiseVecDestroy(v);
  return *v ? POISE_OK : poiseVecCreateLocal(pc->P->rows, v);
}

/* What corrections need, on the device, as a captured loop allocates nothing. */
static PoiseErr PrepareCorrections(PoisePC pc)
{
  SOR *s = pc->data;
  double *there;
  if (!Corrects(pc)) return POISE_OK;
  PoiseErr e = CreateVector(pc, &s->residual);
  if (!e) e = CreateVector(pc, &s->correction);
  if (!e) e = poiseVecWrite(s->residual, &there);
  if (!e) e = poiseVecWrite(s->correction, &there);
  TRY(PoiseAgree(pc->ctx, e));
  return PoiseAgree(pc->ctx, poiseMatReady(pc->P));
}

/* Sweeps of an application behind each other on the block that a rank owns. */
static int64_t SweepsAtOnce(PoisePC pc)
{
  const SOR *s = pc->data;
  return Corrects(pc) ? s->lits : s->its * s->lits;
}

static PoiseErr SetUpColours(PoisePC pc)
{
  SOR *s = pc->data;
  const double *d;
  poiseTriangularDestroy(&s->triangular);
  TRY(poisePCCheckStored(pc));
  TRY(poiseMatCheckSquare(pc->P));
  TRY(poiseBufferRead(&s->diagonal.inverse, DEVICE, &d));
  return poiseByColourSetup(pc, d, SweepsAtOnce(pc) > 1 || pc->relaxes, &s->colours);
}

static PoiseErr SetUp_SOR(PoisePC pc)
{
  SOR *s = pc->data;
  const double *val;
  TRY(CheckOptions(s)); /* all ranks have the same */
  TRY(PoiseAgree(pc->ctx, poiseBlocksSetup(pc, &s->diagonal, (int)poiseCsrSide(&pc->P->csr), false)));
  TRY(PrepareCorrections(pc));
  s->by_colours = poiseColoursChosen(pc, s->order, &s->too_many);
  if (s->by_colours) {
    bool again;
    TRY(poiseColoursAgree(pc, s->order, SetUpColours(pc), &s->too_many, &again));
    s->by_colours = !again;
    if (!again) return POISE_OK;
  }
  poiseByColourDestroy(pc->ctx, &s->colours);
  TRY(poiseTriangularSetup(pc, &s->triangular, false, true, 2));
  return poiseBufferRead(&pc->P->csr.val, DEVICE, &val); /* copied now, as a captured loop needs them */
}

/* ---- application ----------------------------------------------------------------------------- */

/* Sweep in one direction. fresh: y has no values yet. A backward sweep after a fresh forward one gets the
   sum over the lower triangle from that one: r_i - sum = p_ii y_i / omega. */
static PoiseErr Half(PoisePC pc, SweepArgs a, int backward, bool fresh, bool first)
{
  SOR *s = pc->data;
  a.backward = backward;
  a.parts = fresh ? backward ? SWEEP_UPPER : SWEEP_LOWER : SWEEP_LOWER | SWEEP_UPPER;
  a.keep = fresh && first ? 0 : 1 - s->omega;
  if (fresh && !first) {
    a.keep = 2 - s->omega;
    a.x = NULL;
  }
  return poiseTriangularSweep(pc, &s->triangular, &a);
}

static PoiseErr SweepColours(PoisePC pc, PoiseVec x, PoiseVec y, int64_t count, bool guess,
                             const double *skip, const Fuse *fuse)
{
  SOR *s = pc->data;
  const ColourSweeps sweeps = {
      .omega = s->omega, .count = count, .forward = s->forward, .backward = s->backward, .guess = guess};
  const double *d;
  TRY(poiseBufferRead(&s->diagonal.inverse, DEVICE, &d));
  return poiseByColourApply(pc, &s->colours, d, &sweeps, x, y, skip, fuse);
}

/* y = the result of `count` sweeps on P's block, from the guess y or from 0. */
static PoiseErr Sweeps(PoisePC pc, PoiseVec x, PoiseVec y, int64_t count, bool guess, const double *skip,
                       const Fuse *fuse)
{
  SOR *s = pc->data;
  if (s->by_colours) return SweepColours(pc, x, y, count, guess, skip, fuse);
  SweepArgs a = {.scale = s->omega, .columns = poiseVecColumns(x), .skip = skip};
  TRY(poiseBufferRead(&pc->P->csr.val, DEVICE, &a.val));
  TRY(poiseBufferRead(&s->diagonal.inverse, DEVICE, &a.d));
  TRY(poiseVecRead(x, &a.x));
  /* skipped, y keeps its content */
  TRY(skip || guess ? poiseVecUpdate(y, &a.y) : poiseVecWrite(y, &a.y));
  for (int64_t k = 0; k < count; k++) {
    bool fresh = k == 0 && !guess;
    if (fuse && k == count - 1 && s->forward) a.fuse = *fuse;
    if (!s->backward) TRY(Half(pc, a, 0, fresh, true));
    if (fuse && k == count - 1) a.fuse = *fuse;
    if (!s->forward) TRY(Half(pc, a, 1, fresh, s->backward));
  }
  return POISE_OK;
}

static PoiseErr AddCorrection(PoisePC pc, PoiseVec z, const double *skip, const Fuse *fuse)
{
  SOR *s = pc->data;
  MaxpyArgs a = {.n = z->layout->n, .k = 1, .sign = 1, .value = {1}, .skip = skip};
  if (fuse) a.fuse = *fuse;
  TRY(Sweeps(pc, s->residual, s->correction, s->lits, false, skip, NULL));
  TRY(poiseVecRead(s->correction, &a.x[0]));
  TRY(poiseVecUpdate(z, &a.y));
  return LAUNCH(pc->ctx->device, maxpy, &a);
}

static PoiseErr Apply_SOR(PoisePC pc, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse)
{
  SOR *s = pc->data;
  const ScalarRef minus = {NULL, -1}, one = {NULL, 1};
  if (!Corrects(pc)) return Sweeps(pc, r, z, s->its * s->lits, false, skip, fuse);
  PoiseErr e = Sweeps(pc, r, z, s->lits, false, skip, NULL);
  for (PoiseInt k = 1; k < s->its; k++) { /* products take place whatever fails, as other ranks wait for
                                             this rank's part */
    if (!e) e = poiseBlocksApply(pc, NULL, r, s->residual, skip, NULL);
    PoiseErr ex = poiseMatMultFuse(pc->P, minus, z, one, s->residual, skip, NULL, NULL);
    if (!e) e = ex;
    if (!e) e = AddCorrection(pc, z, skip, k == s->its - 1 ? fuse : NULL);
  }
  return e;
}

static PoiseErr Relax_SOR(PoisePC pc, PoiseVec r, PoiseVec z, const double *skip)
{
  const SOR *s = pc->data;
  return Sweeps(pc, r, z, s->its * s->lits, true, skip, NULL);
}

/* Corrections need vectors and products of their own. */
static bool TakesColumns(PoisePC pc)
{
  return !Corrects(pc) && !((SOR *)pc->data)->by_colours;
}

static PoiseErr ReadyColumns_SOR(PoisePC pc, int columns)
{
  SOR *s = pc->data;
  return !TakesColumns(pc) ? POISE_OK : poiseTriangularReadyColumns(pc, &s->triangular, columns);
}

/* How often both triangles are read: the first sweep needs one, the first in both directions each once. By
   colours further ones in both directions do too. */
static double SweepsOf(const SOR *s)
{
  double all = (double)(s->its * s->lits);
  if (s->forward || s->backward) return all - 0.5;
  return s->by_colours ? all : 2 * all - 1;
}

static double Once_SOR(PoisePC pc)
{
  const SOR *s = pc->data;
  double b = (double)poiseCsrSide(&pc->P->csr), n = (double)pc->P->csr.m;
  double matrix =
      s->by_colours ? poiseColourCopyTraffic(&s->colours.copy) : poiseTriangularTraffic(&s->triangular);
  return SweepsOf(s) * (matrix + 8 * b * b * n);
}

static void Cost_SOR(PoisePC pc, double *flops, double *bytes)
{
  const SOR *s = pc->data;
  double b = (double)poiseCsrSide(&pc->P->csr), n = (double)pc->P->csr.m;
  *flops = 2 * SweepsOf(s) * (double)poiseCsrScalars(&pc->P->csr);
  *bytes = Once_SOR(pc) + 32 * b * n * SweepsOf(s);
  if (s->by_colours) *bytes += (32 * b + 8) * n; /* r to its places, and z from there */
}

static PoiseErr View_SOR(PoisePC pc)
{
  const SOR *s = pc->data;
  TRY(poisePrint(pc->ctx, "  %s sweeps, omega %g; %lld with new ghosts, in each %lld on the rank\n",
                 s->forward    ? "forward"
                 : s->backward ? "backward"
                               : "symmetric",
                 s->omega, (long long)s->its, (long long)s->lits));
  int b = (int)poiseCsrSide(&pc->P->csr);
  if (b > 1) TRY(poisePrint(pc->ctx, "  the unknowns of a block at once, blocks of %d x %d\n", b, b));
  return s->by_colours ? poiseColourCopyPrint(pc, &s->colours.copy)
                       : poiseTriangularPrint(pc, &s->triangular);
}

static void Bytes_SOR(PoisePC pc, PoiseBytes *sum)
{
  const SOR *s = pc->data;
  poiseBlocksBytes(&s->diagonal, sum);
  poiseTriangularBytes(&s->triangular, sum);
  poiseByColourBytes(&s->colours, sum);
  if (s->residual) poiseBufferAdd(&s->residual->data, sum);
  if (s->correction) poiseBufferAdd(&s->correction->data, sum);
}

/* Colours that are chosen may be too many. */
static PoiseErr Predict_SOR(PoisePC pc, const MatPlan *plan, PoisePrediction *p)
{
  const SOR *s = pc->data;
  poiseBlocksPredict(pc, (int)poisePlanSide(plan), p);
  if (Corrects(pc)) poisePredict(pc->ctx->device, 16 * pc->P->rows->n, ON_DEVICE, p);
  PoisePrediction natural = *p;
  bool colours = poiseColoursChosen(pc, s->order, &s->too_many);
  if (colours) poiseByColourPredict(pc, SweepsAtOnce(pc) > 1, plan, p);
  if (colours && s->order == ORDER_COLOURS) return POISE_OK;
  TRY(poiseTriangularPredict(pc, false, 2, plan, &natural));
  if (colours)
    poisePredictEither(&natural, p);
  else
    *p = natural;
  return POISE_OK;
}

/* Sweeps in one direction are, on P^T, not the transpose of those on P. */
static bool IsDirected(PoisePC pc)
{
  const SOR *s = pc->data;
  return s->forward || s->backward;
}

static void Destroy_SOR(PoisePC pc)
{
  SOR *s = pc->data;
  poiseBlocksDestroy(&s->diagonal);
  poiseTriangularDestroy(&s->triangular);
  poiseByColourDestroy(pc->ctx, &s->colours);
  PoiseVecDestroy(&s->residual);
  PoiseVecDestroy(&s->correction);
}

const PCType poisePCType_sor = {
    .name = "sor",
    .transpose = PC_OF_TRANSPOSE,
    .directed = IsDirected,
    .size = sizeof(SOR),
    .options = options,
    .live = true,
    .setup = SetUp_SOR,
    .apply = Apply_SOR,
    .apply_columns = Apply_SOR,
    .relax = Relax_SOR,
    .takes_columns = TakesColumns,
    .ready_columns = ReadyColumns_SOR,
    .cost = Cost_SOR,
    .once = Once_SOR,
    .view = View_SOR,
    .bytes = Bytes_SOR,
    .predict = Predict_SOR,
    .destroy = Destroy_SOR,
};
