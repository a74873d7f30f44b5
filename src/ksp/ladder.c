/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The ladder of method auto: methods and preconditioners, what must hold of A, and why; the cheapest first.
  Its numbers are of methods, not of machines.
*/
#include <float.h>

#include "ladder.h"

static bool IsShell(const Facts *f)
{
  return !f->stored;
}

static bool IsSymmetricShell(const Facts *f)
{
  return !f->stored && f->symmetric;
}

static bool HasDiagonal(const Facts *f)
{
  return f->stored && f->zero == 0;
}

static bool IsOther(const Facts *f)
{
  return HasDiagonal(f) && !poiseMayBeDefinite(f);
}

/* On a GPU incomplete factors take long, as their rows wait for others. */
static bool IsDefiniteOnHost(const Facts *f)
{
  return poiseMayBeDefinite(f) && !f->gpu;
}

static bool IsSmallDefiniteOnGpu(const Facts *f)
{
  return poiseMayBeDefinite(f) && f->gpu && !poiseMayBeLargeDefinite(f);
}

/* With levels behind, to look whether A is well scaled is enough. */
static bool IsScaled(const Facts *f)
{
  return poiseMayBeDefinite(f) && !IsSmallDefiniteOnGpu(f);
}

static bool IsOtherOnHost(const Facts *f)
{
  return IsOther(f) && !f->gpu;
}

static bool IsLargeOther(const Facts *f)
{
  return IsOther(f) && !f->symmetric && f->rows > 20000;
}

static bool IsLargeOtherOnGpu(const Facts *f)
{
  return IsLargeOther(f) && f->gpu;
}

static bool IsSmallOtherOnGpu(const Facts *f)
{
  return IsOther(f) && f->gpu && !IsLargeOther(f);
}

static bool IsSymmetric(const Facts *f)
{
  return f->stored && f->symmetric;
}

static bool IsAny(const Facts *f)
{
  return f->stored;
}

static bool IsAlike(const Facts *f)
{
  return f->symmetric;
}

static bool IsUnlike(const Facts *f)
{
  return !f->symmetric;
}

static bool IsSymmetricHollow(const Facts *f)
{
  return IsSymmetric(f) && f->zero > 0;
}

/* ---- what they cost, in products ------------------------------------------------------------- */

/* Of thresholds: about five times the entries of A, each found and moved as those of factors are. */
static const double thresholds = 1000;

/* The set-up of levels, and some twenty cycles: as 200 iterations of cg with jacobi. Where A is not symmetric
   these are W cycles with three sweeps, two an iteration. On a GPU small levels take what their kernels do,
   of which a W cycle has many more than a V cycle. */
static double CostOfLevels(const Facts *f)
{
  if (f->symmetric) return f->gpu ? 600 : 400;
  return f->gpu ? 3000 : 1000;
}

static double CostOfShortCycles(const Facts *f)
{
  return 1.5 * CostOfLevels(&(Facts){.symmetric = true, .gpu = f->gpu});
}

static double CostOfSparse(const Facts *f)
{
  return f->direct;
}

double poiseCostOfFactors(const Facts *f, const DeviceModel *model, int ranks, double entries, double flops)
{
  /* In entries of a product by a core of the host, which takes a nanosecond for each. An entry of factors is
     looked for, moved and stored without SIMD. An iteration begins and ends, and so do factors. */
  const double entry = 100, begin = 1e4, start = 4e5, core = 1e10;
  double speed = (poiseModelIsGpu(model) ? fmax(1, model->bandwidth / core) : 1) * ranks;
  return (start + entry * entries + flops) / (begin + f->entries / speed);
}

/* Is what factors cost within these bounds, as far as it is foreseen? */
static bool IsDirectIn(const Facts *f, double low, double high)
{
  return f->stored && (f->direct == 0 || (f->direct > low && f->direct <= high));
}

/* Factors that are not much larger than A cost less than preconditioners and their iterations. Are they
   likely so, or is there no diagonal to begin with? 150: as 50 iterations of cg with icc. */
static bool IsFactoredAtOnce(const Facts *f)
{
  return (f->envelope <= 2 * f->entries || f->zero > 0) && IsDirectIn(f, 0, 150);
}

/* Thresholds do not always solve: they come before what costs much more. */
static bool IsFactoredSoon(const Facts *f)
{
  return IsDirectIn(f, 0, 4 * thresholds);
}

static bool IsFactoredLate(const Facts *f)
{
  return IsDirectIn(f, 4 * thresholds, DBL_MAX);
}

/* Is an entry of the diagonal 0, or small beside its row? */
static bool IsPoor(const Facts *f)
{
  return f->stored && f->zero + f->small > 0 && !f->singular;
}

/* A rung without a promise has an eighth of what factors cost; a matching must take no more. */
static bool IsMatched(const Facts *f)
{
  return IsPoor(f) && IsDirectIn(f, 8 * f->match, INFINITY);
}

static bool IsMatchedOnHost(const Facts *f)
{
  return IsMatched(f) && !f->gpu;
}

static bool IsMatchedOnGpu(const Facts *f)
{
  return IsMatched(f) && f->gpu;
}

/* ---- the ladder ------------------------------------------------------------------------------ */

const Rung poiseLadder[RUNGS] = {
    {IsSymmetricShell, "minres", "none", {{NULL}}, 2, NULL, "symmetric, and offers its products alone", 0},
    {IsShell, "gmres", "none", {{NULL}}, 3, NULL, "offers its products alone", 0},
    {IsFactoredAtOnce,
     "gmres",
     "ilut",
     {{"ksp_pc_side", "right"}, {"pc_factor_drop_tol", "1e-4"}, {"pc_factor_pivoting", "0.1"}},
     10,
     CostOfSparse,
     "drops little of factors that are about as large as A",
     0},
    {IsFactoredAtOnce,
     "gmres",
     "lu",
     {{"ksp_pc_side", "right"}, {"pc_factor_solver", "superlu"}},
     10,
     CostOfSparse,
     "factors that are about as large as A",
     0},
    {IsSmallDefiniteOnGpu, "cg", "jacobi", {{NULL}}, 2, NULL, "perhaps definite: cheap iterations", 0},
    {IsScaled, "cg", "jacobi", {{NULL}}, 2, NULL, "perhaps definite, and well scaled: no set-up", 100},
    {IsDefiniteOnHost, "cg", "icc", {{"pc_factor_shift_type", "none"}}, 3, NULL, "perhaps definite", 0},
    {poiseMayBeLargeDefinite,
     "cg",
     "amg",
     {{NULL}},
     8,
     CostOfLevels,
     "and large: its iterations do not grow",
     0},
    {IsSmallDefiniteOnGpu, "cg", "icc", {{NULL}}, 4, NULL, "perhaps definite: a diagonal of one sign", 0},
    {IsSmallOtherOnGpu, "bicgstab", "jacobi", {{"ksp_pc_side", "right"}}, 4, NULL, "cheap iterations", 0},
    {IsLargeOtherOnGpu,
     "bicgstab",
     "jacobi",
     {{"ksp_pc_side", "right"}},
     4,
     NULL,
     "a diagonal without zeros, perhaps a large one",
     100},
    {IsLargeOtherOnGpu,
     "bicgstab",
     "amg",
     {{"ksp_pc_side", "right"}, {"pc_amg_cycle", "v"}},
     10,
     CostOfShortCycles,
     "and large: few iterations, of cheap cycles",
     0},
    {IsLargeOtherOnGpu, "bicgstab", "jacobi", {{"ksp_pc_side", "right"}}, 4, NULL, "with more iterations", 0},
    {IsOtherOnHost, "bicgstab", "ilu", {{"ksp_pc_side", "right"}}, 6, NULL, "a diagonal without zeros", 0},
    {IsLargeOther,
     "bicgstab",
     "amg",
     {{"ksp_pc_side", "right"}},
     40,
     CostOfLevels,
     "and large: iterations do not grow",
     0},
    {IsSymmetricHollow, "minres", "none", {{NULL}}, 2, NULL, "symmetric, with zeros on the diagonal", 0},
    {IsFactoredSoon,
     "gmres",
     "lu",
     {{"ksp_pc_side", "right"}, {"pc_factor_solver", "superlu"}},
     10,
     CostOfSparse,
     "factors solve what is not singular",
     0},
    {poiseMayBeDefinite, "cg", "jacobi", {{NULL}}, 2, NULL, "with more iterations", 0},
    {IsMatchedOnHost,
     "bicgstab",
     "ilu",
     {{"ksp_pc_side", "right"}, {"mat_order", "match,rcm"}},
     6,
     NULL,
     "large entries come to the diagonal",
     0},
    {IsMatchedOnGpu,
     "bicgstab",
     "jacobi",
     {{"ksp_pc_side", "right"}, {"mat_order", "match"}},
     4,
     NULL,
     "large entries come to the diagonal",
     0},
    {IsOther, "gmres", "ilu", {{"ksp_pc_side", "right"}}, 4, NULL, "its norm does not grow", 0},
    {IsPoor,
     "gmres",
     "ilut",
     {{"ksp_pc_side", "right"},
      {"mat_order", "match,rcm"},
      {"pc_factor_drop_tol", "1e-4"},
      {"pc_factor_pivoting", "0.1"}},
     10,
     NULL,
     "keeps what is large, and brings it to the diagonal",
     0},
    {IsAny,
     "gmres",
     "ilut",
     {{"ksp_pc_side", "right"}, {"pc_factor_drop_tol", "1e-4"}, {"pc_factor_pivoting", "0.1"}},
     10,
     NULL,
     "keeps what is large, and exchanges columns",
     0},
    {IsFactoredLate,
     "gmres",
     "lu",
     {{"ksp_pc_side", "right"}, {"pc_factor_solver", "superlu"}},
     10,
     CostOfSparse,
     "factors solve what is not singular, at last",
     0},
    {IsSymmetric, "minres", "jacobi", {{NULL}}, 2, NULL, "symmetric: its norm never grows", 0},
    {HasDiagonal, "bicgstab", "jacobi", {{"ksp_pc_side", "right"}}, 4, NULL, "needs no factors", 0},
    /* methods for a preconditioner that is named */
    {poiseMayBeDefinite, "cg", NULL, {{NULL}}, 2, NULL, "perhaps definite: a diagonal of one sign", 0},
    {IsAlike, "minres", NULL, {{NULL}}, 2, NULL, "symmetric: its norm never grows", 0},
    {IsUnlike, "bicgstab", NULL, {{"ksp_pc_side", "right"}}, 4, NULL, "not symmetric: cheap iterations", 0},
    {IsUnlike, "fgmres", NULL, {{NULL}}, 3, NULL, "its norm does not grow", 0},
};
