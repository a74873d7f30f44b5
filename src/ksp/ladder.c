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

/* Factors take milliseconds. */
static bool IsSmall(const Facts *f)
{
  return f->stored && f->rows <= 2000 && f->entries <= 5e4;
}

static bool HasDiagonal(const Facts *f)
{
  return f->stored && f->zero == 0;
}

static bool IsOther(const Facts *f)
{
  return HasDiagonal(f) && !poiseMayBeDefinite(f);
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

/* SuperLU takes seconds for so many entries. */
static bool IsFactoredSoon(const Facts *f)
{
  return f->stored && f->entries <= 2.5e6 && !IsSmall(f);
}

static bool IsFactoredLate(const Facts *f)
{
  return f->stored && f->entries > 2.5e6 && f->entries <= 5e7;
}

const Rung poiseLadder[RUNGS] = {
    {IsSymmetricShell, "minres", "none", {{NULL}}, false, "symmetric, and offers its products alone"},
    {IsShell, "gmres", "none", {{NULL}}, false, "offers its products alone"},
    {IsSmall,
     "gmres",
     "lu",
     {{"ksp_pc_side", "right"}, {"pc_factor_solver", "superlu"}},
     false,
     "small: factors take milliseconds"},
    {poiseMayBeLargeDefinite,
     "cg",
     "amg",
     {{NULL}},
     true,
     "perhaps definite, and large: its iterations do not grow"},
    {poiseMayBeDefinite,
     "cg",
     "icc",
     {{NULL}},
     true,
     "perhaps definite: symmetric, with a diagonal of one sign"},
    {IsOther, "bicgstab", "ilu", {{"ksp_pc_side", "right"}}, true, "a diagonal without zeros"},
    {IsSymmetricHollow, "minres", "none", {{NULL}}, true, "symmetric, with zeros on the diagonal"},
    {IsFactoredSoon,
     "gmres",
     "lu",
     {{"ksp_pc_side", "right"}, {"pc_factor_solver", "superlu"}},
     false,
     "factors solve what is not singular"},
    {poiseMayBeDefinite, "cg", "jacobi", {{NULL}}, false, "perhaps definite: cheap iterations"},
    {IsSymmetric, "minres", "jacobi", {{NULL}}, false, "symmetric: its norm never grows"},
    {IsAny,
     "gmres",
     "ilut",
     {{"ksp_pc_side", "right"}, {"pc_factor_drop_tol", "1e-4"}, {"pc_factor_pivoting", "0.1"}},
     false,
     "keeps what is large, and exchanges columns"},
    {HasDiagonal, "bicgstab", "jacobi", {{"ksp_pc_side", "right"}}, false, "needs no factors"},
    {IsFactoredLate,
     "gmres",
     "lu",
     {{"ksp_pc_side", "right"}, {"pc_factor_solver", "superlu"}},
     false,
     "the last resort, which takes long"},
    {poiseMayBeDefinite,
     "cg",
     NULL,
     {{NULL}},
     false,
     "perhaps definite: symmetric, with a diagonal of one sign"},
    {IsAlike, "minres", NULL, {{NULL}}, false, "symmetric: its norm never grows"},
    {IsUnlike, "bicgstab", NULL, {{"ksp_pc_side", "right"}}, true, "not symmetric: cheap iterations"},
    {IsUnlike, "fgmres", NULL, {{NULL}}, false, "its norm does not grow"},
};
