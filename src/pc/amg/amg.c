/* SPDX-License-Identifier: BSD-3-Clause */
/* PC amg: options and interface. */
#include "sys/options/options.h"
#include "amg.h"
#include "cycle.h"
#include "explain.h"
#include "hierarchy.h"
#include "vectors.h"
#include "view.h"

static const PoiseOption options[] = {
    {"pc_amg_type", POISE_OPTION_CHOICE, offsetof(Amg, options.type), "smoothed", 0, 0, "smoothed|unsmoothed",
     "smoothed aggregation, or plain aggregation, whose set-up is cheaper"},
    {"pc_amg_threshold", POISE_OPTION_REAL, offsetof(Amg, options.threshold), "0.4", 0, 1, NULL,
     "connections are strong from this share of a node's largest on (of blocks, by their traces)"},
    {"pc_amg_aggregate_min", POISE_OPTION_INT, offsetof(Amg, options.aggregate_min), "0", 0, 1e9, NULL,
     "free neighbours of the root of an aggregate in the second pass; 0: leftovers join others"},
    {"pc_amg_interpolation_degree", POISE_OPTION_INT, offsetof(Amg, options.interpolation_degree), "1", 1,
     AMG_DEGREES, NULL,
     "steps of Jacobi that smooth the interpolation; 2: for anisotropy not along the grid, and fourth order"},
    {"pc_amg_smoother", POISE_OPTION_CHOICE, offsetof(Amg, options.smoother), "auto", 0, 0,
     "auto|chebyshev|jacobi|isai|sor",
     "chebyshev iterations of the fourth kind; l1-jacobi; chebyshev's with approximate inverses of the "
     "triangles of icc, or ilu, for the diagonal's, which takes no blocks; sor: sweeps of Gauss-Seidel by "
     "colours, forward before the correction and backward behind it; auto: l1-jacobi where A is not "
     "symmetric, else chebyshev"},
    {"pc_amg_degree", POISE_OPTION_INT, offsetof(Amg, options.degree), "0", 0, AMG_DEGREES, NULL,
     "degree of the smoother, before and after the correction; 0: 1, and 3 where A is not symmetric"},
    {"pc_amg_cycle", POISE_OPTION_CHOICE, offsetof(Amg, options.cycle), "auto", 0, 0, "auto|v|w",
     "the cycle; auto: w where A is not symmetric, else v"},
    {"pc_amg_coarse_size", POISE_OPTION_INT, offsetof(Amg, options.coarse_size), "0", 0, 1e6, NULL,
     "rows of a level that is solved: by a dense inverse, from 4097 on by sparse factors as of lu; 0: 600, "
     "and of coarse levels of a small matrix fewer"},
    {"pc_amg_levels", POISE_OPTION_INT, offsetof(Amg, options.levels), "24", 1, AMG_LEVELS, NULL,
     "maximum number of levels"},
    {"pc_amg_redundant_size", POISE_OPTION_INT, offsetof(Amg, options.redundant_size), "-1", -1, 1e9, NULL,
     "on several ranks: rows of a level that every rank holds and computes, with all beneath it; -1: 50000, "
     "and on GPUs a coarse level that one of them computes as fast as all"},
    {"pc_amg_precision", POISE_OPTION_CHOICE, offsetof(Amg, options.precision), "single", 0, 0,
     "single|double",
     "numbers and vectors of the cycle: fp32, where the method and the values allow that, or fp64"},
    {"pc_amg_refresh", POISE_OPTION_CHOICE, offsetof(Amg, options.refresh), "values", 0, 0,
     "values|interpolation|all",
     "what stays for new values of the same pattern: aggregates and patterns (values), interpolation too "
     "(interpolation), or nothing (all)"},
    {0},
};

static PoiseErr Check(PoisePC pc)
{
  int b = pc->P->csr.b;
  TRY(poisePCCheckStored(pc));
  TRY(poiseMatCheckSquare(pc->P));
  if (!b || ((const Amg *)pc->data)->options.smoother != AMG_ISAI) return POISE_OK;
  FAIL(POISE_ERR_UNSUPPORTED,
       "%s isai takes numbers, and the matrix has blocks of %d x %d: use -mat_type csr",
       poiseOptionsName(pc->ctx, pc->prefix, "pc_amg_smoother"), b, b);
}

static PoiseErr SetUp_AMG(PoisePC pc)
{
  TRY(PoiseAgree(pc->ctx, Check(pc)));
  return poiseAmgBuild(pc);
}

/* What level 0 has beside P; it is all there is where that is the last. */
static PoiseErr Predict_AMG(PoisePC pc, const MatPlan *plan, PoisePrediction *p)
{
  const AmgOptions *o = &((Amg *)pc->data)->options;
  const Device *dev = pc->ctx->device;
  const AmgWay way = poiseAmgWay(o, false);
  int64_t n = pc->P->rows->n, side = poiseAmgIsL1(&way) ? 1 : pc->P->block_size;
  TRY(Check(pc));
  if (PoiseSize(pc->ctx) > 1 && pc->P->rows->N <= poiseAmgRedundantMost(o)) {
    p->beyond = "copies of the matrix on every rank, and what amg makes of them";
    return POISE_OK;
  }
  PoisePrediction single = *p; /* the numbers of A too, in fp32; and the size of r */
  poisePredict(dev, 8 * n * side, ON_DEVICE, p);
  if (n <= poiseAmgSolved(o) && poiseAmgBottomIsSparse(n)) {
    p->beyond = "sparse factors";
    return POISE_OK;
  }
  if (n <= poiseAmgSolved(o)) {
    poisePredict(dev, 8 * n * n, ON_DEVICE, p);
    return POISE_OK;
  }
  poisePredict(dev, 4 * n * (side + (way.degree > 1 ? 4 : 3)), ON_DEVICE, &single);
  poisePredict(dev, 4 * plan->nz * (plan->b ? plan->b * plan->b : 1), ON_DEVICE, &single);
  poisePredict(dev, 8 * (AMG_RANGE_PARTIALS + POISE_NBLOCKS(n)), ON_DEVICE, &single);
  poisePredict(dev, 8 * n * (way.degree > 1 ? 3 : 2), ON_DEVICE, p);
  if (o->precision == AMG_SINGLE) poisePredictEither(&single, p); /* values may not fit */
  p->beyond = o->smoother >= AMG_ISAI
                  ? "interpolation, coarse levels and the smoother of amg, which depend on the values"
                  : "interpolation and coarse levels of amg, which depend on the values";
  return POISE_OK;
}

static void Solved_AMG(PoisePC pc, int64_t iterations, double digits)
{
  Amg *amg = pc->data;
  const AmgPace now = {iterations, digits}, best = amg->best;
  amg->latest = now;
  if (!best.iterations || (double)now.iterations * best.digits < (double)best.iterations * now.digits)
    amg->best = now;
}

static const char *Eager_AMG(PoisePC pc)
{
  const Amg *amg = pc->data;
  return amg->dense && amg->bottom.sparse ? poisePCEager(amg->bottom.sparse) : NULL;
}

/* Sweeps by colours have no form for several. */
static bool TakesColumns(PoisePC pc)
{
  return ((const Amg *)pc->data)->options.smoother != AMG_SOR;
}

static PoiseErr ReadyColumns_AMG(PoisePC pc, int columns)
{
  return TakesColumns(pc) ? poiseAmgReadyColumns(pc, columns) : POISE_OK;
}

const PCType poisePCType_amg = {
    .name = "amg",
    .size = sizeof(Amg),
    .options = options,
    .live = true,
    .near = true,
    .rounds = true,
    .eager = Eager_AMG,
    .setup = SetUp_AMG,
    .apply = poiseAmgCycle,
    .apply_columns = poiseAmgCycleColumns,
    .takes_columns = TakesColumns,
    .ready_columns = ReadyColumns_AMG,
    .cost = poiseAmgCost,
    .kernels = poiseAmgKernels,
    .solved = Solved_AMG,
    .explain = poiseAmgExplain,
    .view = poiseAmgView,
    .bytes = poiseAmgBytes,
    .predict = Predict_AMG,
    .destroy = poiseAmgDestroy,
};
