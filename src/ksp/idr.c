/* SPDX-License-Identifier: BSD-3-Clause */
/*
  IDR(s), induced dimension reduction (Sonneveld & van Gijzen 2008), in its biorthogonal form (van Gijzen &
  Sonneveld 2011), for general A. From the left K = M^-1 A, with the preconditioned norm. From the right K = A
  M^-1, with the unpreconditioned norm. There u_k is what A was multiplied by, and x is made of these. So b -
  A x is r to rounding, also where M works in fp32.

  A cycle is s + 1 iterations of a product each: s that make r orthogonal to one more of p_0 ... p_s-1, and
  one that goes on to the next, smaller space. The p are random and the same for any number of ranks. Dots
  with all of them are made at once, and g_k is made biorthogonal by the triangle M, not one dot after the
  other.

  With residual smoothing there are a second x and r, with the least norm between those before and the
  iteration's. That norm does not grow, and is the one that is watched.

  Vectors read and written in iteration k of a cycle, beside the matrix and the preconditioner: r, g_k, v (v);
  s - k + 1 more (g of M c = f); v, u_k, u_k (u); s - k + 1; u_k, g_k (product); s + 1 (P'g); twice k + 2 if k
  > 0 (biorthogonal); r, r, g_k, x, x, u_k (update). In iteration 0 also s + 1 (P'r), in the last one r, t
  (product); r, r, t, x, x, hat (reduce). Smoothing adds 8.
*/
#include "methods.h"
#include "idr_phases.h"

enum { X, R, V, T, G }; /* from G on s vectors g, then s of u and of p, then xs and rs if they are wanted */

_Static_assert((int)IDR_END <= (int)POISE_SLOTS, "idr has too many slots");

typedef struct IDR {
  PoiseInt s;
  int smooths;
} IDR;

static const PoiseOption options[] = {
    {"ksp_idr_s", POISE_OPTION_INT, offsetof(IDR, s), "4", 1, 64, NULL,
     "vectors of the shadow space of idr: more of them, fewer iterations"},
    {"ksp_idr_smoothing", POISE_OPTION_BOOL, offsetof(IDR, smooths), "no", 0, 0, NULL,
     "let the residual norm of idr not grow, for two vectors more"},
    {0},
};

static int S(PoiseKSP ksp)
{
  return (int)((IDR *)ksp->data)->s;
}

static int U(PoiseKSP ksp)
{
  return G + S(ksp);
}

static int P(PoiseKSP ksp)
{
  return G + 2 * S(ksp);
}

static int XS(PoiseKSP ksp)
{
  return G + 3 * S(ksp);
}

static bool Smooths(PoiseKSP ksp)
{
  return ((IDR *)ksp->data)->smooths;
}

static int Vectors_IDR(PoiseKSP ksp)
{
  return XS(ksp) + (Smooths(ksp) ? 2 : 0);
}

static int64_t Array_IDR(PoiseKSP ksp)
{
  int64_t s = S(ksp);
  return s * s + (s + 1) * s + 3 * s;
}

static int Cycle_IDR(PoiseKSP ksp)
{
  return S(ksp) + 1;
}

static void Start_IDR(PoiseKSP ksp, PoiseVec b)
{
  int relative_to_b = poiseKSPStartResidual(ksp, b, R, T, IDR_RR);
  poiseKSPScalars(ksp, PHASE_idr_start, (PhaseArgs){.flags = S(ksp), .k = relative_to_b});
  for (int k = 0; k < S(ksp); k++) {
    poiseKSPZero(ksp, ksp->work[G + k]);
    poiseKSPZero(ksp, ksp->work[U(ksp) + k]);
    poiseKSPRandom(ksp, ksp->work[P(ksp) + k], (uint64_t)k);
  }
  if (!Smooths(ksp)) return;
  poiseKSPCopy(ksp, ksp->work[X], ksp->work[XS(ksp)]);
  poiseKSPCopy(ksp, ksp->work[R], ksp->work[XS(ksp) + 1]);
}

/* u_k = omega M^-1 (r - G c) + U c, and g_k = A u_k; from the left M^-1 is applied to that. */
static void Extend(PoiseKSP ksp, int k)
{
  double **v = ksp->v, **g = v + G, **u = v + U(ksp);
  const double *skip = poiseKSPSlot(ksp, SLOT_DONE);
  int rest = S(ksp) - k - 1;
  double *c = poiseIDRSolution(ksp->scalars.array, S(ksp)) + k + 1;
  bool hat = ksp->side == POISE_PC_RIGHT && !poiseKSPIsIdentity(ksp);
  PoiseVec to = ksp->work[G + k], from = ksp->work[U(ksp) + k];
  poiseKSPScalars(ksp, PHASE_idr_solve, (PhaseArgs){.flags = S(ksp), .k = k}); /* M c = f */
  poiseKSPPhase(ksp, PHASE_idr_v, (PhaseArgs){READS(IDR_R, v[R]), READS(IDR_G, g[k]), WRITES(IDR_V, v[V])},
                NO_SLOT, NO_SLOT);
  if (rest) poiseKSPMaxpy(ksp, rest, g + k + 1, -1, c, v[V], skip, NULL);
  if (hat) poiseKSPPrecondition(ksp, ksp->work[V], ksp->work[T], NULL);
  poiseKSPPhase(ksp, PHASE_idr_u, (PhaseArgs){READS(IDR_V, v[hat ? T : V]), UPDATES(IDR_U, u[k])}, NO_SLOT,
                NO_SLOT);
  if (rest) poiseKSPMaxpy(ksp, rest, u + k + 1, 1, c, u[k], skip, NULL);
  if (hat)
    poiseKSPMult(ksp, from, to, NULL);
  else
    poiseKSPOperator(ksp, from, ksp->work[T], to, NULL);
}

/* Make p_0 ... p_k-1 orthogonal to g_k, and then p_k to r. */
static void Step(PoiseKSP ksp, int k)
{
  double **v = ksp->v, **g = v + G, **u = v + U(ksp), *array = ksp->scalars.array;
  const double *skip = poiseKSPSlot(ksp, SLOT_DONE), *before = poiseIDRBefore(array, S(ksp));
  poiseKSPMdot(ksp, S(ksp), v + P(ksp), g[k], poiseIDRNewest(array, S(ksp)), NULL, skip);
  poiseKSPScalars(ksp, PHASE_idr_biorthogonal, (PhaseArgs){.flags = S(ksp), .k = k});
  if (k) poiseKSPMaxpy(ksp, k, g, -1, before, g[k], skip, NULL);
  if (k) poiseKSPMaxpy(ksp, k, u, -1, before, u[k], skip, NULL);
  poiseKSPPhase(
      ksp, PHASE_idr_update, /* r -= beta g; x += beta u */
      (PhaseArgs){READS(IDR_G, g[k]), READS(IDR_U, u[k]), UPDATES(IDR_R, v[R]), UPDATES(IDR_X, v[X])}, IDR_RR,
      NO_SLOT);
}

/* t = K r; r -= omega t. */
static void Reduce(PoiseKSP ksp)
{
  double **v = ksp->v;
  bool hat = ksp->side == POISE_PC_RIGHT && !poiseKSPIsIdentity(ksp);
  Fuse f = {0};
  poiseKSPAddDot(ksp, &f, v[R], IDR_TR);
  poiseKSPAddDot(ksp, &f, NULL, IDR_TT);
  poiseKSPOperator(ksp, ksp->work[R], ksp->work[T], ksp->work[V], &f);
  poiseKSPPhase(ksp, PHASE_idr_reduce,
                (PhaseArgs){READS(IDR_V, v[V]), READS(IDR_HAT, hat ? v[T] : NULL), UPDATES(IDR_R, v[R]),
                            UPDATES(IDR_X, v[X])},
                IDR_RR, NO_SLOT);
}

static void Smooth(PoiseKSP ksp)
{
  double **v = ksp->v, *xs = v[XS(ksp)], *rs = v[XS(ksp) + 1];
  poiseKSPPhase(ksp, PHASE_idr_distance, (PhaseArgs){READS(IDR_R, v[R]), READS(IDR_RS, rs)}, IDR_RSD, IDR_DD);
  poiseKSPPhase(ksp, PHASE_idr_smooth,
                (PhaseArgs){READS(IDR_R, v[R]), READS(IDR_X, v[X]), UPDATES(IDR_RS, rs), UPDATES(IDR_XS, xs)},
                IDR_SS, NO_SLOT);
}

static void Iterate_IDR(PoiseKSP ksp, int j)
{
  int s = S(ksp);
  if (j == 0) /* f = P'r */
    poiseKSPMdot(ksp, s, ksp->v + P(ksp), ksp->v[R], poiseIDRProjections(ksp->scalars.array, s, 0), NULL,
                 poiseKSPSlot(ksp, SLOT_DONE));
  if (j < s) Extend(ksp, j);
  if (j < s) Step(ksp, j);
  if (j == s) Reduce(ksp);
  if (Smooths(ksp)) Smooth(ksp);
  poiseKSPScalars(ksp, PHASE_idr_decide, (PhaseArgs){.k = Smooths(ksp) ? IDR_SS : IDR_RR});
}

static void Finish_IDR(PoiseKSP ksp)
{
  if (!Smooths(ksp)) return;
  /* by a phase, which is skipped where it is enqueued ahead of a claim that is not made */
  const double *xs = ksp->v[XS(ksp)];
  poiseKSPPhase(ksp, PHASE_vec_axpby,
                (PhaseArgs){READS(VEC_X, xs), READS(VEC_Y, xs), WRITES(VEC_W, ksp->v[X]), .c[0].value = 1},
                NO_SLOT, NO_SLOT);
}

static PoiseVec Solution_IDR(PoiseKSP ksp)
{
  return ksp->work[Smooths(ksp) ? XS(ksp) : X];
}

static bool Stalls_IDR(PoiseKSP ksp, double *norm)
{
  return poiseKSPBrokeDown(ksp, IDR_FIRST, norm);
}

static PoiseErr View_IDR(PoiseKSP ksp)
{
  return poisePrint(ksp->ctx, "  shadow space of %d vectors%s\n", S(ksp),
                    Smooths(ksp) ? ", residual smoothing" : "");
}

const KSPType poiseKSPType_idr = {
    .name = "idr",
    .size = sizeof(IDR),
    .options = options,
    .linear = {1, 0},
    .left = NORM(PRECONDITIONED) | NORM(NONE),
    .right = NORM(UNPRECONDITIONED) | NORM(NONE),
    .vectors = Vectors_IDR,
    .array = Array_IDR,
    .cycle = Cycle_IDR,
    .start = Start_IDR,
    .iterate = Iterate_IDR,
    .finish = Finish_IDR,
    .foreseen = true,
    .solution = Solution_IDR,
    .stalls = Stalls_IDR,
    .view = View_IDR,
};
