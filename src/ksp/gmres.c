/* SPDX-License-Identifier: BSD-3-Clause */
/*
  GMRES(m) (Saad & Schultz 1986), as in PETSc's KSPGMRES. It uses classical Gram-Schmidt, with a second
  orthogonalisation never, when needed, or always. From the left K = M^-1 A. From the right K = A M^-1, and
  the correction is x0 + M^-1 V y. So an M in fp32, of which M^-1 V y is not the sum of what A was multiplied
  by, is not enough: b - A x would differ from the recurrence by some 1e-7 |A| |x|. From the left the norm has
  the M of its K, and the difference is some 1e-7 of it: no more than a tenth of a tolerance of 1e-6.

  Vectors read and written in iteration j, beside the product and the preconditioner: j + 2 for the
  projections, j + 3 for the update, 2 to scale. A diagonal from the left scales the product: it is read. A
  second pass adds j + 3, as the first update computes its projections too.

  The basis may be in fp32: v_j is what remains of w / |w| after rounding. Products, projections, sums and w
  are fp64, so j + 1 of the vectors in each pass have half the bytes, and to scale takes 2.5.
  - The product is of the rounded v_j, in fp64. So K V = V H holds for the V that x is corrected with, but for
    the rounding of v_j+1 times its h. A product of w / |w| would add K times the rounding of v_j: that is
    more where the rounding, which is rough, lies in the upper part of the spectrum.
  - The residual at the end of a cycle then differs from the recurrence by some 1e-7 of the norm at its
    beginning. So a cycle ends where the recurrence has fallen to FALL: what is left is right to some
    per cent. The method is then started again from x, as after a false claim.
  - With -ksp_precision mixed A is in fp32 too, and so are x and y of the products of an iteration (mixed.c).
    Restarts compute b - A x in fp64.
  - Classical Gram-Schmidt loses orthogonality sooner, and the recurrence falls faster than the residual. A
    restart computes the residual anyway. So there this ends the solve only if the residual has not fallen.
*/
#include "gmres.h"
#include "setup.h"

enum { NEVER, IF_NEEDED, ALWAYS };
enum { FP64, FP32 };

static const double FALL = 1e-5;

_Static_assert((int)GM_END <= (int)POISE_SLOTS, "gmres has too many slots");

const PoiseOption poiseGMRESOptions[] = {
    {"ksp_lgmres_augment", POISE_OPTION_INT, offsetof(GMRES, augment), "2", 0, 9999, NULL,
     "corrections of earlier cycles in the space of lgmres, of its -ksp_gmres_restart vectors"},
    {"ksp_gmres_restart", POISE_OPTION_INT, offsetof(GMRES, restart), "30", 1, 10000, NULL,
     "iterations between restarts of gmres, fgmres and lgmres"},
    {"ksp_gmres_cgs_refinement_type", POISE_OPTION_CHOICE, offsetof(GMRES, refine), "refine_never", 0, 0,
     "refine_never|refine_ifneeded|refine_always",
     "when gmres, fgmres and lgmres orthogonalise a second time"},
    {"ksp_gmres_basis", POISE_OPTION_CHOICE, offsetof(GMRES, basis), "fp64", 0, 0, "fp64|fp32",
     "precision of the basis of gmres, fgmres and lgmres; fp32 halves its memory and traffic"},
    {"ksp_gmres_breakdown_tolerance", POISE_OPTION_REAL, offsetof(GMRES, breakdown), "0.1", 0, 1e300, NULL,
     "breakdown of gmres, fgmres and lgmres: the largest difference at a restart between the residual norm "
     "and the recurrence's, over the norm at the cycle's start"},
    {0},
};

/* Is it one of the methods of this data? */
static bool IsGMRES(PoiseKSP ksp)
{
  return ksp->type->cycle == poiseGMRESRestart;
}

PoiseErr PoiseKSPGMRESSetRestart(PoiseKSP ksp, int restart)
{
  CALLED(OBJECT(ksp));
  GMRES *g = ksp->data;
  if (!IsGMRES(ksp)) return POISE_OK; /* as PETSc: no effect on other methods */
  TRY(poiseKSPCheckIdle(ksp, "PoiseKSPGMRESSetRestart"));
  if (restart < 1 || restart > 10000)
    FAIL(POISE_ERR_ARG, "a restart of %d is not between 1 and 10000", restart);
  if (g->restart != restart) poiseKSPRelease(ksp);
  g->restart = restart;
  return POISE_OK;
}

PoiseErr PoiseKSPGMRESSetBreakdownTolerance(PoiseKSP ksp, double tolerance)
{
  CALLED(OBJECT(ksp));
  if (!IsGMRES(ksp)) return POISE_OK;
  TRY(poiseKSPCheckIdle(ksp, "PoiseKSPGMRESSetBreakdownTolerance"));
  if (!(tolerance >= 0)) FAIL(POISE_ERR_ARG, "a breakdown tolerance of %g is not 0 or more", tolerance);
  ((GMRES *)ksp->data)->breakdown = tolerance;
  return POISE_OK;
}

/* ---- shared with fgmres and lgmres ----------------------------------------------------------- */

int poiseGMRESRestart(PoiseKSP ksp)
{
  return (int)((GMRES *)ksp->data)->restart;
}

int64_t poiseGMRESArray(PoiseKSP ksp)
{
  int64_t m = poiseGMRESRestart(ksp);
  return 2 * m * (m + 1) + 3 * m + (m + 1) + (m + 1) + 2;
}

static bool IsSingle(PoiseKSP ksp)
{
  return ((GMRES *)ksp->data)->basis == FP32 || ksp->options.precision;
}

int poiseGMRESVectors(PoiseKSP ksp)
{
  return GM_V + (IsSingle(ksp) ? 1 : poiseGMRESRestart(ksp) + 1);
}

int poiseGMRESSingles(PoiseKSP ksp)
{
  return IsSingle(ksp) ? poiseGMRESRestart(ksp) + 1 : 0;
}

Columns poiseGMRESBasis(PoiseKSP ksp)
{
  return IsSingle(ksp) ? (Columns){.f32 = ksp->v32} : (Columns){.f64 = ksp->v + GM_V};
}

int poiseGMRESNewest(PoiseKSP ksp, int j)
{
  return IsSingle(ksp) ? GM_V : GM_V + j;
}

int poiseGMRESNext(PoiseKSP ksp, int j)
{
  return IsSingle(ksp) ? GM_W : GM_V + j + 1;
}

/* Run a phase that makes v_j from work vector `from`: id, or id_f32 where the basis is in fp32. */
static void MakeVector(PoiseKSP ksp, int id, int id_f32, int from, int j, PhaseArgs a)
{
  a.flags = poiseGMRESRestart(ksp);
  a.in[GM_FROM] = ksp->v[from];
  a.out[GM_TO] = ksp->v[poiseGMRESNewest(ksp, j)];
  if (IsSingle(ksp)) a.out_f32 = ksp->v32[j];
  poiseKSPPhase(ksp, IsSingle(ksp) ? id_f32 : id, a, NO_SLOT, NO_SLOT);
}

/* Compute the residual in W, preconditioned if from the left, with (w, w) in GM_RR. T holds b - A x. */
static void PreconditionResidual(PoiseKSP ksp)
{
  Fuse f = {0};
  poiseKSPAddDot(ksp, &f, NULL, GM_RR);
  if (ksp->side == POISE_PC_LEFT) {
    poiseKSPPrecondition(ksp, ksp->work[GM_T], ksp->work[GM_W], &f);
  } else {
    poiseKSPCopy(ksp, ksp->work[GM_T], ksp->work[GM_W]);
    poiseKSPMaxpy(ksp, 0, NULL, 1, NULL, ksp->v[GM_W], poiseKSPSlot(ksp, SLOT_DONE), &f);
  }
}

void poiseGMRESStart(PoiseKSP ksp, PoiseVec b)
{
  int relative_to_b = poiseKSPNormOfB(ksp, b, ksp->work[GM_W], GM_WW);
  poiseKSPCopy(ksp, b, ksp->work[GM_B]);
  poiseKSPResidual(ksp, b, ksp->work[GM_T]);
  PreconditionResidual(ksp);
  MakeVector(ksp, PHASE_gmres_start, PHASE_gmres_start_f32, GM_W, 0,
             (PhaseArgs){.k = relative_to_b, .c = {{.value = ((GMRES *)ksp->data)->breakdown}}});
}

typedef void Subtract(PoiseKSP ksp, int k, Columns x, double sign, const double *c, double *y,
                      const double *skip, const Fuse *f);

/* w -= V h, and (w, w) into slot. */
static void Project(PoiseKSP ksp, Subtract *subtract, int j, const double *h, int skip, int slot)
{
  Fuse f = {0};
  poiseKSPAddDot(ksp, &f, NULL, slot);
  subtract(ksp, j + 1, poiseGMRESBasis(ksp), -1, h, ksp->v[poiseGMRESNext(ksp, j)], poiseKSPSlot(ksp, skip),
           &f);
}

void poiseGMRESExtend(PoiseKSP ksp, int j)
{
  GMRES *g = ksp->data;
  int m = poiseGMRESRestart(ksp);
  Columns basis = poiseGMRESBasis(ksp);
  double *w = ksp->v[poiseGMRESNext(ksp, j)];
  double *h = poiseGMRESColumn(ksp->scalars.array, m, j), *h2 = poiseGMRESSecond(ksp->scalars.array, m);
  PhaseArgs column = {.flags = m, .k = j};
  poiseKSPColumnsDot(ksp, j + 1, basis, w, h, NULL, poiseKSPSlot(ksp, SLOT_DONE)); /* h = V' w */
  Project(ksp, g->refine == NEVER ? poiseKSPColumnsAdd : poiseKSPColumnsAddDots, j, h, SLOT_DONE, GM_WW);
  if (g->refine != NEVER) { /* again: h2 = V' w, which the first update has summed; h += h2 */
    column.c[0].value = g->refine == ALWAYS;
    poiseKSPScalars(ksp, PHASE_gmres_refine, column);
    poiseKSPTakeDots(ksp, j + 1, basis, w, h2, h, poiseKSPSlot(ksp, GM_SKIP));
    Project(ksp, poiseKSPColumnsAdd, j, h2, GM_SKIP, GM_WW2);
    column.c[0].value = 1;
  }
  column.c[1].value = IsSingle(ksp) ? FALL : 0;
  /* rotate; converged? v_j+1 = w / |w| */
  MakeVector(ksp, PHASE_gmres_givens, PHASE_gmres_givens_f32, poiseGMRESNext(ksp, j), j + 1, column);
}

double *poiseGMRESCoefficients(PoiseKSP ksp, int k)
{
  int m = poiseGMRESRestart(ksp);
  PhaseArgs a = {.flags = m, .k = k};
  if (ksp->systems.n) a.c[0].slot = poiseKSPSlot(ksp, GM_COLUMNS), a.c[1].slot = poiseKSPSlot(ksp, SLOT_DONE);
  poiseKSPScalars(ksp, PHASE_gmres_solve, a);
  return poiseGMRESSolution(ksp->scalars.array, m);
}

const double *poiseGMRESEach(PoiseKSP ksp)
{
  return ksp->systems.n ? poiseGMRESTerms(ksp->scalars.array, poiseGMRESRestart(ksp)) : NULL;
}

/* Of several systems some may have ended in the cycle. Its basis is there for the last time, so they are
   corrected too, and nothing is skipped. */
void poiseGMRESEndCycle(PoiseKSP ksp, Correct *correct)
{
  bool several = ksp->systems.n > 0;
  poiseKSPSkipNothing(ksp, several);
  correct(ksp, poiseGMRESRestart(ksp), several ? NULL : poiseKSPSlot(ksp, SLOT_DONE));
  poiseKSPSkipNothing(ksp, false);
  poiseGMRESContinue(ksp);
}

void poiseGMRESContinue(PoiseKSP ksp)
{
  poiseKSPCopy(ksp, ksp->work[GM_B], ksp->work[GM_T]);
  poiseKSPSubtractProduct(ksp, ksp->work[GM_X], ksp->work[GM_T], NULL); /* t = b - A x */
  PreconditionResidual(ksp);
  MakeVector(ksp, PHASE_gmres_restart, PHASE_gmres_restart_f32, GM_W, 0,
             (PhaseArgs){.c[0].value = IsSingle(ksp)});
}

/* No work vector. At a restart b - A x has been computed. But its vector is reused for iterates that are
   asked for, and by the next cycle of a replayed loop. */
int poiseGMRESResidual(PoiseKSP ksp)
{
  bool restarted =
      (ksp->result.its - ksp->solve.base) % poiseGMRESRestart(ksp) == 0 && poiseGMRESColumns(ksp) == 0;
  return restarted ? 0 : -1;
}

/* Has it ended so (GM_DROPPED, GM_FALLEN)? */
static bool Ended(PoiseKSP ksp, int so)
{
  return ksp->result.reason == POISE_DIVERGED_BREAKDOWN && (int)ksp->result.slots[GM_ENDED] == so;
}

/* A cycle that has fallen far must be continued. Without a norm nobody asks what it has gained, and it goes
   on to the last iteration. The part of a cycle before a dropped column may have gained. */
bool poiseGMRESStalls(PoiseKSP ksp, double *norm)
{
  *norm = ksp->norm == POISE_KSP_NORM_NONE ? 0 : ksp->result.slots[GM_FIRST];
  if (Ended(ksp, GM_FALLEN)) return true;
  return Ended(ksp, GM_DROPPED) && ksp->norm != POISE_KSP_NORM_NONE &&
         ksp->result.slots[SLOT_NORM] <= *norm / 2;
}

void poiseGMRESExplain(PoiseKSP ksp)
{
  const GMRES *g = ksp->data;
  if (Ended(ksp, GM_DROPPED)) poiseKSPSay(ksp, "the Krylov space is exhausted: K is singular, or nearly so");
  if (Ended(ksp, GM_FALLEN))
    poiseKSPSay(
        ksp,
        "the residual does not fall as the recurrence of a cycle with its basis in fp32: %s fp64 may help",
        poiseOptionsName(ksp->ctx, ksp->prefix, "ksp_gmres_basis"));
  double recurrence = ksp->result.slots[GM_RECURRENCE] / ksp->solve.scale,
         computed = ksp->result.slots[GM_COMPUTED] / ksp->solve.scale;
  if (ksp->norm == POISE_KSP_NORM_NONE || (IsSingle(ksp) && ksp->result.reason > 0) ||
      fabs(computed - recurrence) <= g->breakdown * ksp->result.slots[GM_FIRST] / ksp->solve.scale)
    return;
  char hint[POISE_OPTION_LENGTH + 80] = "";
  if (g->refine == NEVER)
    snprintf(hint, sizeof hint, ": %s refine_ifneeded may help",
             poiseOptionsName(ksp->ctx, ksp->prefix, "ksp_gmres_cgs_refinement_type"));
  poiseKSPSay(ksp,
              "at a restart the residual norm is %.3g, "
              "by the recurrence it would be %.3g%s",
              computed, recurrence, hint);
}

/* H: its columns as orthogonalised, and the subdiagonal that rotations removed. Behind a restart it is that
   of the whole cycle before. */
PoiseErr poiseGMRESProjected(PoiseKSP ksp, Projected *p)
{
  double *array;
  int m = poiseGMRESRestart(ksp), n = poiseGMRESColumns(ksp);
  PoiseInt its = ksp->result.its - ksp->solve.base;
  if (n == 0 && its > 0 && its % m == 0) n = m;
  TRY(poiseBufferUpdate(&ksp->scalars.array_buffer, HOST, &array));
  TRY(poiseAllocArray(ksp->ctx, (int64_t)n * (n + 1), sizeof(double), "Hessenberg matrix", &p->hessenberg));
  p->n = n;
  for (int j = 0; j < n; j++) {
    double *h = p->hessenberg + j * (n + 1);
    for (int i = 0; i <= j; i++) h[i] = poiseGMRESColumn(array, m, j)[i];
    h[j + 1] = poiseGMRESSin(array, m)[j] * poiseGMRESRotated(array, m, j)[j];
  }
  return POISE_OK;
}

static PoiseErr CheckBasis(PoiseKSP ksp, const char *what)
{
  if (ksp->type->options != poiseGMRESOptions + 1)
    FAIL(POISE_ERR_UNSUPPORTED, "%s: the method is %s, and not gmres or fgmres", what, ksp->type->name);
  if (IsSingle(ksp)) FAIL(POISE_ERR_UNSUPPORTED, "%s: the basis is in fp32", what);
  return POISE_OK;
}

PoiseErr PoiseKSPGMRESHessenberg(PoiseKSP ksp, PoiseInt room, double *h, PoiseInt *n)
{
  CALLED(OBJECT(ksp), GIVEN(h), GIVEN(n));
  Projected p;
  *n = 0;
  TRY(CheckBasis(ksp, "PoiseKSPGMRESHessenberg"));
  PoiseErr e = poiseKSPAskProjected(ksp, "PoiseKSPGMRESHessenberg", &p);
  const PoiseInt size = e ? 0 : (PoiseInt)p.n * (p.n + 1);
  for (PoiseInt k = 0; k < size && k < room; k++) h[k] = p.hessenberg[k];
  if (!e) *n = p.n;
  poiseKSPDropProjected(ksp, &p);
  return e;
}

static PoiseErr CheckCombine(PoiseKSP ksp, PoiseInt n)
{
  Projected p;
  TRY(CheckBasis(ksp, "PoiseKSPGMRESCombine"));
  TRY(poiseKSPCheckIdle(ksp, "PoiseKSPGMRESCombine"));
  PoiseErr e = poiseKSPAskProjected(ksp, "PoiseKSPGMRESCombine", &p);
  poiseKSPDropProjected(ksp, &p);
  TRY(e);
  if (poiseGMRESColumns(ksp) == 0)
    FAIL(POISE_ERR_STATE, "PoiseKSPGMRESCombine: the latest solve has left no basis");
  if (ksp->A->origin.moves.out)
    FAIL(POISE_ERR_UNSUPPORTED, "PoiseKSPGMRESCombine: the solver has rearranged its matrix");
  if (n < 0 || n > poiseGMRESColumns(ksp))
    FAIL(POISE_ERR_ARG, "PoiseKSPGMRESCombine: %lld numbers for a basis of %d vectors", (long long)n,
         poiseGMRESColumns(ksp));
  return POISE_OK;
}

PoiseErr PoiseKSPGMRESCombine(PoiseKSP ksp, PoiseInt n, const double *y, PoiseVec x)
{
  CALLED(OBJECT(ksp), GIVEN(y), OBJECT(x));
  TRY(CheckCombine(ksp, n));
  TRY(PoiseVecSet(x, 0));
  for (PoiseInt k = 0; k < n; k++) TRY(PoiseVecAXPY(x, y[k], ksp->work[GM_V + k]));
  return POISE_OK;
}

PoiseErr poiseGMRESView(PoiseKSP ksp)
{
  GMRES *g = ksp->data;
  char kept[64] = "";
  if (ksp->type->options == poiseGMRESOptions)
    snprintf(kept, sizeof kept, ", %lld of them corrections of earlier cycles",
             (long long)(g->restart - poiseGMRESKrylov(ksp)));
  return poisePrint(ksp->ctx, "  restart %lld%s, basis in %s, classical Gram-Schmidt, %s\n",
                    (long long)g->restart, kept,
                    poiseOptionsChoice(poiseGMRESOptions, "ksp_gmres_basis", IsSingle(ksp) ? FP32 : FP64),
                    poiseOptionsChoice(poiseGMRESOptions, "ksp_gmres_cgs_refinement_type", g->refine));
}

/* ---- shared with lgmres ---------------------------------------------------------------------- */

void poiseGMRESIterate(PoiseKSP ksp, int j)
{
  ksp->mixed.products = true;
  poiseKSPOperator(ksp, ksp->work[poiseGMRESNewest(ksp, j)], ksp->work[GM_T],
                   ksp->work[poiseGMRESNext(ksp, j)], NULL); /* w = K v_j */
  ksp->mixed.products = false;
  poiseGMRESExtend(ksp, j);
}

int poiseGMRESKrylov(PoiseKSP ksp)
{
  const GMRES *g = ksp->data;
  return (int)(g->augment < g->restart ? g->restart - g->augment : 1);
}

/* to += U y, k columns: those of V, and behind them what lgmres has kept; (to, to) to the slot. */
static void AddColumns(PoiseKSP ksp, int k, double *to, const double *skip, int slot)
{
  Fuse f = {0};
  double *y = poiseGMRESCoefficients(ksp, k);
  Columns basis = poiseGMRESBasis(ksp);
  int own = poiseGMRESKrylov(ksp), kept = k - own;
  basis.terms = poiseGMRESEach(ksp);
  if (kept <= 0) own = k;
  if (slot != NO_SLOT) poiseKSPAddDot(ksp, &f, NULL, slot);
  poiseKSPColumnsAdd(ksp, own, basis, 1, y, to, skip, kept > 0 ? NULL : &f);
  if (kept > 0) poiseKSPMaxpy(ksp, kept, ksp->v + poiseGMRESVectors(ksp), 1, y + own, to, skip, &f);
}

void poiseGMRESCombine(PoiseKSP ksp, int k, const double *skip, int slot)
{
  poiseKSPZero(ksp, ksp->work[GM_T]);
  AddColumns(ksp, k, ksp->v[GM_T], skip, slot);
}

/* x += U y, or M^-1 U y, for k columns. */
static void AddCorrection(PoiseKSP ksp, int k, const double *skip)
{
  if (ksp->side == POISE_PC_LEFT) {
    AddColumns(ksp, k, ksp->v[GM_X], skip, NO_SLOT);
  } else {
    poiseGMRESCombine(ksp, k, skip, NO_SLOT);
    poiseKSPUnwind(ksp, ksp->work[GM_T], ksp->work[GM_W]);
  }
}

void poiseGMRESFinish(PoiseKSP ksp)
{
  int k = poiseGMRESColumns(ksp);
  if (k > 0) AddCorrection(ksp, k, NULL);
}

PoiseVec poiseGMRESSolutionSoFar(PoiseKSP ksp)
{
  poiseGMRESCombine(ksp, poiseGMRESColumns(ksp), NULL, NO_SLOT);
  if (ksp->side == POISE_PC_RIGHT) return poiseKSPUnwound(ksp, ksp->work[GM_T], ksp->work[GM_W]);
  poiseKSPMaxpy(ksp, 1, &ksp->v[GM_X], 1, NULL, ksp->v[GM_T], NULL, NULL);
  return ksp->work[GM_T];
}

/* ---- gmres ----------------------------------------------------------------------------------- */

static void Restart_GMRES(PoiseKSP ksp)
{
  poiseGMRESEndCycle(ksp, AddCorrection);
}

const KSPType poiseKSPType_gmres = {
    .name = "gmres",
    .size = sizeof(GMRES),
    .options = poiseGMRESOptions + 1,
    .linear = {1e-6, 1},
    .columns = true,
    .left = NORM(PRECONDITIONED) | NORM(NONE),
    .right = NORM(UNPRECONDITIONED) | NORM(NONE),
    .vectors = poiseGMRESVectors,
    .singles = poiseGMRESSingles,
    .replaces = true,
    .array = poiseGMRESArray,
    .cycle = poiseGMRESRestart,
    .start = poiseGMRESStart,
    .iterate = poiseGMRESIterate,
    .restart = Restart_GMRES,
    .finish = poiseGMRESFinish,
    .solution = poiseGMRESSolutionSoFar,
    .residual = poiseGMRESResidual,
    .stalls = poiseGMRESStalls,
    .explain = poiseGMRESExplain,
    .projected = poiseGMRESProjected,
    .view = poiseGMRESView,
};
