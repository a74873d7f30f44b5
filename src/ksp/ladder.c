/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The ladder of method auto: methods and preconditioners, what must hold of A, and why; the cheapest first.
  Its numbers are of methods, not of machines.
*/
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

static bool IsOtherOnHost(const Facts *f)
{
  return IsOther(f) && !f->gpu;
}

static bool IsOtherOnGpu(const Facts *f)
{
  return IsOther(f) && f->gpu;
}

static bool IsLargeOther(const Facts *f)
{
  return IsOther(f) && !f->symmetric && f->rows > 20000;
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

/* The set-up of levels, and some twenty cycles: as 300 iterations of cg with jacobi. */
static double CostOfLevels(const Facts *f)
{
  (void)f;
  return 600;
}

static double CostOfSparse(const Facts *f)
{
  return f->direct;
}

double poiseCostOfFactors(const Facts *f, const DeviceModel *model, int ranks, double entries, double flops)
{
  /* In entries of a product by a core of the host, which takes a nanosecond for each. An entry of factors is
     looked for, moved and stored without SIMD, and an iteration begins and ends. */
  const double entry = 200, begin = 1e4, core = 1e10;
  double speed = (poiseModelIsGpu(model) ? fmax(1, model->bandwidth / core) : 1) * ranks;
  return (entry * entries + flops) / (begin + f->entries / speed);
}

/* Thresholds do not always solve, but what costs much more comes after them. */
static bool IsFactoredSoon(const Facts *f)
{
  return f->stored && f->direct > 0 && f->direct <= 2 * thresholds;
}

static bool IsFactoredLate(const Facts *f)
{
  return f->stored && f->direct > 2 * thresholds && f->direct < INFINITY;
}

/* ---- the ladder ------------------------------------------------------------------------------ */

const Rung poiseLadder[RUNGS] = {
    {IsSymmetricShell, "minres", "none", {{NULL}}, 2, NULL, "symmetric, and offers its products alone"},
    {IsShell, "gmres", "none", {{NULL}}, 3, NULL, "offers its products alone"},
    {poiseMayBeDefinite, "cg", "jacobi", {{NULL}}, 2, NULL, "perhaps definite: cheap iterations"},
    {poiseMayBeLargeDefinite,
     "cg",
     "amg",
     {{NULL}},
     8,
     CostOfLevels,
     "and large: its iterations do not grow"},
    {poiseMayBeDefinite, "cg", "icc", {{NULL}}, 4, NULL, "perhaps definite: a diagonal of one sign"},
    {IsOtherOnGpu, "bicgstab", "jacobi", {{"ksp_pc_side", "right"}}, 4, NULL, "a diagonal without zeros"},
    {IsOtherOnHost, "bicgstab", "ilu", {{"ksp_pc_side", "right"}}, 8, NULL, "a diagonal without zeros"},
    {IsLargeOther,
     "bicgstab",
     "amg",
     {{"ksp_pc_side", "right"}},
     16,
     CostOfLevels,
     "and large: iterations do not grow"},
    {IsOther, "gmres", "ilu", {{"ksp_pc_side", "right"}}, 5, NULL, "its norm does not grow"},
    {IsSymmetricHollow, "minres", "none", {{NULL}}, 2, NULL, "symmetric, with zeros on the diagonal"},
    {IsFactoredSoon,
     "gmres",
     "lu",
     {{"ksp_pc_side", "right"}, {"pc_factor_solver", "superlu"}},
     10,
     CostOfSparse,
     "factors solve what is not singular"},
    {IsAny,
     "gmres",
     "ilut",
     {{"ksp_pc_side", "right"}, {"pc_factor_drop_tol", "1e-4"}, {"pc_factor_pivoting", "0.1"}},
     10,
     NULL,
     "keeps what is large, and exchanges columns"},
    {IsFactoredLate,
     "gmres",
     "lu",
     {{"ksp_pc_side", "right"}, {"pc_factor_solver", "superlu"}},
     10,
     CostOfSparse,
     "factors solve what is not singular, at last"},
    {poiseMayBeDefinite, "cg", "jacobi", {{NULL}}, 2, NULL, "with more iterations"},
    {IsSymmetric, "minres", "jacobi", {{NULL}}, 2, NULL, "symmetric: its norm never grows"},
    {HasDiagonal, "bicgstab", "jacobi", {{"ksp_pc_side", "right"}}, 4, NULL, "needs no factors"},
    /* methods for a preconditioner that is named */
    {poiseMayBeDefinite, "cg", NULL, {{NULL}}, 2, NULL, "perhaps definite: a diagonal of one sign"},
    {IsAlike, "minres", NULL, {{NULL}}, 2, NULL, "symmetric: its norm never grows"},
    {IsUnlike, "bicgstab", NULL, {{"ksp_pc_side", "right"}}, 4, NULL, "not symmetric: cheap iterations"},
    {IsUnlike, "fgmres", NULL, {{NULL}}, 3, NULL, "its norm does not grow"},
};
