/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Incomplete factors of the rank's own block: set-up with shifts, application, and the host kernels. Without
  fill the factors' entries have the places of P's. Fill (fill.c) makes a wider pattern, and P's values are
  spread over it, with zeros; all else is the same. New values need no allocation. Columns are the factors'
  own, so that they outlive P's pattern.

  Shifts are PETSc's: nonzero adds shift_amount to the whole diagonal, twice as much at each further try;
  positive_definite looks, by bisection in at most 5 steps, for a small part of the shift that would make the
  block diagonally dominant (as PETSc's ilu does; its icc stops at the first shift that works, a larger one:
  bench/results/collection/petsc_table.md); inblocks adds shift_amount to each zero pivot.

  With positive_definite, icc of a matrix with a negative diagonal factors -A and changes the sign: M = -U^T D
  U.

  By colours the order of the rows is that of their colours (colour_factor.c).
*/
#include "mat/csr/find.h"
#include "mat/order/arrange.h"
#include "mat/object/bytes.h"
#include "colour_factor.h"
#include "factor.h"
#include "fill.h"
#include "thresholds.h"
#include "factor_library.h"
#include "factor_sweeps.h"
#include "isai.h"
#include "jacobi_sweeps.h"
#include "triangles.h"
#include "pc_device.h"
#include "triangle_entries_kernels.h"
#include "triangles_host.h"

enum { NONE, NONZERO, POSITIVE_DEFINITE, INBLOCKS }; /* in the order of FACTOR_SHIFT_TYPE */
enum { BISECTIONS = 5, LACK = 0, RESULTS = 2, MANY_PRODUCTS = 100 };

typedef struct Search { /* for a shift */
  double shift, top, low, high, fraction;
  int tries, most; /* most: bisections */
} Search;

/* ---- set-up ---------------------------------------------------------------------------------- */

/* A symmetric matrix that is stored so does not need its lower triangle. Name an entry that is stored without
   its mirror. */
static PoiseErr NameUnmirrored(PoisePC pc, Incomplete *f)
{
  Triangles t;
  TRY(poiseTriangularView(pc, &f->triangular, HOST, &t));
  for (int64_t i = 0; i < t.n; i++)
    for (int64_t k = poiseOffset(&t, t.begin, i); k < poiseOffset(&t, t.end, i); k++) {
      int64_t j = t.col[k], end = poiseOffset(&t, t.end, j), b = poiseTriangularSide(&f->triangular),
              at = poiseSeek(t.col, poiseOffset(&t, t.begin, j), end, (int32_t)i);
      if (at < end && t.col[at] == i) continue;
      long long row = poiseMatRowName(pc->P, i * b) / b, col = poiseMatRowName(pc->P, j * b) / b;
      FAIL(POISE_ERR_UNSUPPORTED,
           "%s (%lld, %lld) is stored and (%lld, %lld) is not: icc needs a symmetric pattern, ilu does not",
           t.b ? "block" : "entry", row, col, col, row);
    }
  return POISE_OK;
}

/* Has each entry (i, j) an entry (j, i)? icc needs it, an ilu by sweeps is faster. */
static PoiseErr CheckSymmetric(PoisePC pc, Incomplete *f, bool symmetric)
{
  if (f->checked != f->triangular.built) TRY(poiseTriangularIsSymmetric(pc, &f->triangular, &f->mirrored));
  f->checked = f->triangular.built;
  return symmetric && !f->mirrored ? NameUnmirrored(pc, f) : POISE_OK;
}

static void Release(Incomplete *f)
{
  poiseBufferDestroy(&f->lu);
  poiseBufferDestroy(&f->d);
  poiseBufferDestroy(&f->result);
  poiseBufferDestroy(&f->a);
  poiseBufferDestroy(&f->places);
  PoiseVecDestroy(&f->moved);
  poiseBufferDestroy(&f->other);
  poiseBufferDestroy(&f->inverse);
  for (int k = 0; k < 2; k++) poiseBufferDestroy(&f->work[k]);
}

/* A buffer of numbers on the device, as a captured loop allocates nothing. */
static PoiseErr Make(Device *dev, size_t numbers, const char *what, Buffer *b)
{
  double *there;
  if (b->dev) return POISE_OK;
  TRY(poiseBufferCreate(dev, numbers * sizeof(double), what, b));
  return poiseBufferWrite(b, DEVICE, &there);
}

static bool ByColours(const Incomplete *f)
{
  return f->by_colours;
}

/* Places of the factors' entries: with those of other ranks' columns, where they are P's. */
static int64_t Entries(PoisePC pc, const Incomplete *f)
{
  return f->levels ? f->triangular.nz : pc->P->csr.nz;
}

static PoiseErr AllocateWork(PoisePC pc, Incomplete *f)
{
  size_t rows = (size_t)pc->P->rows->n;
  for (int k = 0; poiseFactorProducts(f) && k < 2; k++)
    TRY(Make(pc->ctx->device, rows, "vector of Jacobi sweeps", &f->work[k]));
  if (f->triangles == TRIANGLES_ISAI)
    TRY(Make(pc->ctx->device, f->lu.bytes / sizeof(double), "approximate inverses", &f->inverse));
  return POISE_OK;
}

static PoiseErr Allocate(PoisePC pc, Incomplete *f, bool symmetric)
{
  Device *dev = pc->ctx->device;
  size_t b = (size_t)poiseTriangularSide(&f->triangular), rows = (size_t)pc->P->rows->n;
  size_t numbers = ByColours(f) ? b * rows : (size_t)Entries(pc, f) * b * b;
  if (f->built != f->triangular.built) {
    Release(f);
    if (f->levels) TRY(poiseBufferCreate(dev, numbers * sizeof(double), "values with fill", &f->a));
    TRY(poiseBufferCreate(dev, numbers * sizeof(double), "incomplete factors", &f->lu));
    TRY(poiseBufferCreate(dev, b * rows * sizeof(double), "inverse pivots", &f->d));
    TRY(poiseBufferCreate(dev, RESULTS * sizeof(double), "refused pivot", &f->result));
    f->built = f->triangular.built;
  }
  if (f->setup_sweeps && !symmetric) TRY(Make(dev, numbers, "factors of a sweep", &f->other));
  return AllocateWork(pc, f);
}

/* P's values on the pattern of the factors, on the device. */
static PoiseErr Values(PoisePC pc, Incomplete *f, const double **a)
{
  return poiseBufferRead(f->levels ? &f->a : &pc->P->csr.val, DEVICE, a);
}

static PoiseErr Spread(PoisePC pc, Incomplete *f)
{
  FactorSpreadArgs a = {.n = f->triangular.n};
  if (!f->levels) return POISE_OK;
  TRY(poiseCsrView(&pc->P->csr, &a.A));
  TRY(poiseTriangularView(pc, &f->triangular, DEVICE, &a.t));
  TRY(poiseBufferUpdate(&f->a, DEVICE, &a.out));
  return LAUNCH(pc->ctx->device, factor_spread, &a);
}

static int Sign(const Incomplete *f)
{
  return f->negative ? -1 : 1;
}

/* The pattern follows from the values, so all that was made for another one is dropped. */
static PoiseErr TryThresholds(PoisePC pc, Incomplete *f, const FactorArgs *rule, const double **result)
{
  poiseFactorLibraryDrop(pc);
  Release(f);
  TRY(poiseThresholds(pc, f, rule));
  f->built = f->triangular.built;
  *result = f->refused;
  return AllocateWork(pc, f);
}

static PoiseErr Eliminate(PoisePC pc, Incomplete *f, FactorArgs *a)
{
  a->pivots = ByColours(f);
  if (a->pivots) return poiseColourFactor(pc, a, &f->colours);
  TRY(poiseTriangularWork(&f->triangular, &a->work));
  if (f->setup_sweeps) return poiseFactorSweeps(pc, a);
  TRY(poiseTriangularLevels(&f->triangular, 0, &a->levels));
  return LAUNCH(pc->ctx->device, factor, a);
}

/* Factor with this shift; result[REFUSED_...] says how it went. */
static PoiseErr Try(PoisePC pc, Incomplete *f, bool symmetric, double shift, const double **result)
{
  FactorArgs a = {.symmetric = symmetric,
                  .sign = f->shift_type != POSITIVE_DEFINITE ? 0 : Sign(f),
                  .relative = f->shift_type == POSITIVE_DEFINITE || f->shift_type == NONZERO || f->fill > 0,
                  .shift = Sign(f) * shift,
                  .zero = f->zero_pivot,
                  .replace = f->shift_type == INBLOCKS ? f->shift_amount : 0};
  if (f->fill > 0) return TryThresholds(pc, f, &a, result);
  TRY(poiseTriangularView(pc, &f->triangular, DEVICE, &a.t));
  TRY(Values(pc, f, &a.a));
  TRY(poiseBufferWrite(&f->lu, DEVICE, &a.lu));
  TRY(poiseBufferWrite(&f->d, DEVICE, &a.d));
  TRY(poiseBufferWrite(&f->result, DEVICE, &a.refused));
  TRY(Eliminate(pc, f, &a));
  TRY(LAUNCH(pc->ctx->device, factor_refused, &a));
  return poiseBufferRead(&f->result, HOST, result);
}

/* How much a row's diagonal falls short of dominance, at most, or zero_pivot. */
static PoiseErr FindLack(PoisePC pc, Incomplete *f, double *lack)
{
  DominanceArgs a = {.floor = f->zero_pivot, .sign = Sign(f)};
  const double *result;
  if (f->fill > 0) return poiseThresholdsLack(pc, a.floor, a.sign, lack);
  TRY(poiseTriangularView(pc, &f->triangular, DEVICE, &a.t));
  TRY(Values(pc, f, &a.a));
  TRY(poiseBufferWrite(&f->result, DEVICE, &a.lack));
  TRY(LAUNCH(pc->ctx->device, dominance, &a));
  TRY(poiseBufferRead(&f->result, HOST, &result));
  *lack = result[LACK];
  return POISE_OK;
}

/* The shift that makes the block diagonally dominant, and a tenth more. What is dominant but for rounding,
   such as a graph's Laplacian, gets all of it: a search would cost several factorisations for nothing. */
static PoiseErr FindTop(PoisePC pc, Incomplete *f, Search *s)
{
  double lack;
  TRY(FindLack(pc, f, &lack));
  s->top = 1.1 * lack;
  if (lack <= f->zero_pivot) s->most = 0;
  return POISE_OK;
}

static PoiseErr NoPivot(PoisePC pc, const Incomplete *f, const Search *s, double row, double pivot)
{
  char block[100] = "";
  int64_t b = poiseTriangularSide(&f->triangular), first = (int64_t)row / b * b;
  long long global = poiseMatRowName(pc->P, (int64_t)row), begin = poiseMatRowName(pc->P, first);
  if (b > 1)
    snprintf(block, sizeof block, " (block row %lld: rows %lld to %lld)", begin / (long long)b, begin,
             begin + (long long)b - 1);
  if (pivot - pivot != 0)
    FAIL(POISE_ERR_NUMERIC,
         "%s: the pivot of row %lld%s is %g: an entry of that row or of one that it depends on is not finite",
         pc->type->name, global, block, pivot);
  if (s->tries)
    FAIL(POISE_ERR_NUMERIC,
         "%s: the pivot of row %lld%s is %g after %d shifts of the diagonal, the last by %g", pc->type->name,
         global, block, pivot, s->tries, s->shift);
  FAIL(POISE_ERR_NUMERIC,
       "%s: the pivot of row %lld%s is %g, a zero pivot (up to %g counts as zero: %s): try "
       "%s nonzero or positive_definite, or another preconditioner",
       pc->type->name, global, block, pivot, f->zero_pivot,
       poiseOptionsName(pc->ctx, pc->prefix, "pc_factor_zeropivot"),
       poiseOptionsName(pc->ctx, pc->prefix, "pc_factor_shift_type"));
}

/* After a refused pivot: the next shift to try. *more is false if there is none. */
static PoiseErr NextShift(PoisePC pc, Incomplete *f, Search *s, bool *more)
{
  *more = f->shift_type == NONZERO || (f->shift_type == POSITIVE_DEFINITE && s->tries <= s->most);
  if (f->shift_type == NONZERO) {
    s->shift = s->tries ? 2 * s->shift : f->shift_amount;
    *more = s->shift > 0 && s->shift - s->shift == 0;
  } else if (*more) {
    if (!s->tries) TRY(FindTop(pc, f, s));
    if (s->tries < s->most) s->low = s->fraction;
    s->fraction = s->tries < s->most ? (s->low + s->high) / 2 : s->high;
    s->shift = s->fraction * s->top;
  }
  s->tries += *more;
  return POISE_OK;
}

/* After a success: a smaller shift to try, if there is one. */
static bool SmallerShift(const Incomplete *f, Search *s)
{
  if (f->shift_type != POSITIVE_DEFINITE || s->fraction == 0 || s->tries >= s->most) return false;
  s->high = s->fraction;
  s->fraction = (s->low + s->high) / 2;
  s->shift = s->fraction * s->top;
  s->tries++;
  return true;
}

/* Check that P is finite. No shift can repair an entry that is not, and the pivot refused for it may be
   finite itself. */
static PoiseErr CheckFinite(PoisePC pc)
{
  int64_t row;
  TRY(poiseMatFindNan(pc->P, &row));
  if (row < pc->P->rows->n)
    FAIL(POISE_ERR_NUMERIC, "%s: row %lld has an entry that is not finite", pc->type->name,
         (long long)poiseMatRowName(pc->P, row));
  return POISE_OK;
}

/* Factor with shifts. `result` is that of a first attempt without a shift. */
static PoiseErr Factorise(PoisePC pc, Incomplete *f, bool symmetric, const double *result)
{
  Search s = {.high = 1, .most = BISECTIONS};
  for (;;) {
    double row = result[REFUSED_ROW], pivot = result[REFUSED_PIVOT];
    if (row < 0) {
      f->shift = s.shift;
      f->tries = s.tries;
      if (!SmallerShift(f, &s)) return POISE_OK;
    } else {
      bool more = pivot - pivot == 0;
      if (more && !s.tries) TRY(CheckFinite(pc));
      if (more) TRY(NextShift(pc, f, &s, &more));
      if (!more) return NoPivot(pc, f, &s, row, pivot);
    }
    TRY(Try(pc, f, symmetric, s.shift, &result));
  }
}

static PoiseErr ReadSigns(PoiseVec d, double *largest)
{
  const double *p;
  TRY(PoiseVecGetRead(d, &p));
  *largest = -INFINITY;
  for (PoiseInt i = 0; i < PoiseVecLocalSize(d); i++) *largest = poiseLarger(p[i], *largest);
  return PoiseVecRestore(d, &p);
}

/* Collective. */
static PoiseErr HasNegativeDiagonal(PoisePC pc, bool *has)
{
  PoiseVec d;
  double largest = 0;
  TRY(poiseVecCreateLayout(pc->P->rows, &d));
  PoiseErr e = PoiseMatGetDiagonal(pc->P, d);
  if (!e) e = PoiseAgree(pc->ctx, ReadSigns(d, &largest));
  if (!e) e = PoiseMax(pc->ctx, 1, &largest);
  *has = !e && largest < 0;
  PoiseVecDestroy(&d);
  return e;
}

/* Decide whether to factor -A. All ranks' first attempts are examined before their diagonals are.
   Collective. */
static PoiseErr FindSign(PoisePC pc, Incomplete *f, const double *result)
{
  bool refused = result && result[REFUSED_ROW] >= 0 && result[REFUSED_PIVOT] < 0,
       empty = result && !pc->P->rows->n;
  double some[2] = {refused, !refused && !empty};
  TRY(PoiseMax(pc->ctx, 2, some));
  return some[0] > 0 && some[1] == 0 ? HasNegativeDiagonal(pc, &f->negative) : POISE_OK;
}

/* In how many directions rows wait for each other. */
static int Directions(const Incomplete *f)
{
  if (ByColours(f)) return 0;
  return !poiseFactorProducts(f) ? 2 : !f->setup_sweeps;
}

/* Does the host spread out rows when it factors? Rows of blocks need no room for that. */
static bool Spreads(const Device *dev, const Incomplete *f, bool symmetric)
{
  return dev->ops->is_host && !symmetric && !f->setup_sweeps && !ByColours(f);
}

/* The pattern of the factors, if that of P or the levels of fill are new. */
static PoiseErr FindPattern(PoisePC pc, Incomplete *f, bool symmetric)
{
  Triangular *t = &f->triangular;
  int64_t built = t->built;
  if (f->filled != f->levels || t->directions < Directions(f) || t->own == ByColours(f))
    t->seen = (Version){0};
  f->filled = -1;
  TRY(poiseTriangularSetup(pc, t, !ByColours(f), false, f->levels ? 0 : Directions(f)));
  if (!ByColours(f)) poiseByColourDestroy(pc->ctx, &f->colours);
  if (f->levels && t->built != built) {
    f->own = t->nz;
    TRY(CheckSymmetric(pc, f, symmetric));
    TRY(poiseFill(pc, t, f->levels, f->mirrored, Directions(f)));
    t->seen = pc->P->version;
    f->checked = t->built; /* the factors' pattern is as symmetric as P's */
  }
  f->filled = f->levels;
  return POISE_OK;
}

/* Thresholds find their pattern as they factor. A symmetric one is looked for in P. */
static PoiseErr PrepareThresholds(PoisePC pc, Incomplete *f, bool symmetric)
{
  f->triangular.seen = (Version){0};
  TRY(poisePCCheckStored(pc));
  TRY(poiseMatCheckSquare(pc->P));
  if (!symmetric) return POISE_OK;
  TRY(poiseTriangularSetup(pc, &f->triangular, true, false, 0));
  return CheckSymmetric(pc, f, symmetric);
}

/* The option that sweeps by colours are not for; NULL: they are for all that is asked for. */
static const char *OnlyNatural(const Incomplete *f)
{
  return f->levels                          ? "pc_factor_levels"
         : f->sweeps                        ? "pc_factor_sweeps"
         : f->setup_sweeps                  ? "pc_factor_setup_sweeps"
         : f->triangles != TRIANGLES_SOLVED ? "pc_factor_triangles"
         : strcmp(f->kernel, "own")         ? "pc_factor_kernel"
                                            : NULL;
}

static PoiseErr CheckColours(PoisePC pc, const Incomplete *f)
{
  const char *other = OnlyNatural(f);
  if (f->order != ORDER_COLOURS || !other) return POISE_OK;
  char name[POISE_OPTION_LENGTH];
  snprintf(name, sizeof name, "%s", poiseOptionsName(pc->ctx, pc->prefix, other));
  FAIL(POISE_ERR_UNSUPPORTED, "%s: %s is for the natural order of rows, and %s is colours: choose one",
       pc->type->name, name, poiseOptionsName(pc->ctx, pc->prefix, "pc_factor_order"));
}

/* Thresholds find a pattern of their own. */
static bool ChoosesColours(PoisePC pc, const Incomplete *f)
{
  bool may = f->order == ORDER_COLOURS || (!OnlyNatural(f) && !(f->fill > 0));
  return may && poiseColoursChosen(pc, f->order, &f->too_many);
}

static PoiseErr Prepare(PoisePC pc, Incomplete *f, bool symmetric)
{
  TRY(CheckColours(pc, f));
  TRY(poiseFactorLibraryFind(pc));
  TRY(poiseJacobiSweepsCheck(pc));
  TRY(poiseIsaiCheck(pc));
  if (f->fill > 0) return PrepareThresholds(pc, f, symmetric);
  TRY(FindPattern(pc, f, symmetric));
  TRY(poiseFactorLibraryCheck(pc));
  TRY(poiseFactorSweepsCheck(pc));
  TRY(poiseIsaiCheckEntries(pc));
  if (symmetric || f->setup_sweeps) TRY(CheckSymmetric(pc, f, symmetric));
  if (Spreads(pc->ctx->device, f, symmetric) && !f->triangular.b)
    TRY(poiseTriangularNeedWork(pc, &f->triangular, 1));
  TRY(Allocate(pc, f, symmetric));
  return Spread(pc, f);
}

/* If no shift makes the pivots of -A usable, as when A is not symmetric: factor A itself with shifts, on
   all ranks. Collective. */
static PoiseErr FallBack(PoisePC pc, Incomplete *f, PoiseErr mine)
{
  const double *result;
  double failed = mine == POISE_ERR_NUMERIC;
  PoiseErr e = PoiseMax(pc->ctx, 1, &failed);
  if (e || !failed) return mine ? mine : e;
  if (mine && mine != POISE_ERR_NUMERIC) return mine;
  f->negative = false;
  TRY(Try(pc, f, true, 0, &result));
  return Factorise(pc, f, true, result);
}

static PoiseErr SetUp(PoisePC pc, Incomplete *f, bool symmetric)
{
  const double *result = NULL;
  f->negative = false;
  PoiseErr e = Prepare(pc, f, symmetric);
  if (!e) e = Try(pc, f, symmetric, 0, &result);
  if (symmetric && f->shift_type == POSITIVE_DEFINITE) {
    PoiseErr found = FindSign(pc, f, result);
    if (!e) e = found;
    if (!e && f->negative) e = Try(pc, f, symmetric, 0, &result);
  }
  if (!e) e = Factorise(pc, f, symmetric, result);
  if (f->negative) e = FallBack(pc, f, e);
  if (!e) e = poiseJacobiSweepsScale(pc);
  return e ? e : poiseIsai(pc, symmetric);
}

PoiseErr poiseFactorSetup(PoisePC pc, bool symmetric)
{
  Incomplete *f = pc->data;
  double begun = PoiseTime();
  bool again = false;
  f->by_colours = ChoosesColours(pc, f);
  PoiseErr e = SetUp(pc, f, symmetric);
  if (f->by_colours) e = poiseColoursAgree(pc, f->order, e, &f->too_many, &again);
  if (!e && again) {
    f->by_colours = false;
    e = SetUp(pc, f, symmetric);
  }
  f->seconds = PoiseTime() - begun;
  return e ? e : poiseFactorLibraryPlan(pc);
}

/* ---- application ----------------------------------------------------------------------------- */

static PoiseErr SolveColours(PoisePC pc, Incomplete *f, PoiseVec r, PoiseVec z, const double *skip,
                             const Fuse *fuse)
{
  const ColourSweeps once = {.omega = 1, .count = 1};
  const double *d;
  TRY(poiseBufferRead(&f->d, DEVICE, &d));
  return poiseByColourApply(pc, &f->colours, d, &once, r, z, skip, fuse);
}

static PoiseErr Solve(PoisePC pc, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse)
{
  Incomplete *f = pc->data;
  if (ByColours(f)) return SolveColours(pc, f, r, z, skip, fuse);
  if (f->library) return poiseFactorLibraryApply(pc, r, z, skip, fuse);
  if (poiseFactorProducts(f)) return poiseJacobiSweepsApply(pc, r, z, skip, fuse);
  SweepArgs lower = {.parts = SWEEP_LOWER, .scale = 1, .columns = poiseVecColumns(r), .skip = skip};
  TRY(poiseBufferRead(&f->lu, DEVICE, &lower.val));
  TRY(poiseVecRead(r, &lower.x));
  TRY(skip ? poiseVecUpdate(z, &lower.y) : poiseVecWrite(z, &lower.y)); /* skipped, z keeps its content */
  SweepArgs upper = lower;
  upper.parts = SWEEP_UPPER;
  upper.backward = 1;
  upper.x = upper.y;
  if (fuse) upper.fuse = *fuse;
  TRY(poiseBufferRead(&f->d, DEVICE, &upper.d));
  TRY(poiseTriangularSweep(pc, &f->triangular, &lower));
  return poiseTriangularSweep(pc, &f->triangular, &upper);
}

PoiseErr poiseFactorApply(PoisePC pc, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse)
{
  Incomplete *f = pc->data;
  FactorPermuteArgs a = {.n = pc->P->rows->n, .skip = skip};
  if (!f->moved) return Solve(pc, r, z, skip, fuse);
  TRY(Solve(pc, r, f->moved, skip, NULL));
  TRY(poiseBufferRead(&f->places, DEVICE, &a.place));
  TRY(poiseVecRead(f->moved, &a.x));
  TRY(skip ? poiseVecUpdate(z, &a.y) : poiseVecWrite(z, &a.y));
  TRY(LAUNCH(pc->ctx->device, factor_permute, &a));
  return poiseVecFuse(z, skip, fuse);
}

bool poiseFactorTakesColumns(PoisePC pc)
{
  const Incomplete *f = pc->data;
  return !f->library && !poiseFactorProducts(f) && !f->moved && !ByColours(f);
}

PoiseErr poiseFactorReadyColumns(PoisePC pc, int columns)
{
  Incomplete *f = pc->data;
  return poiseFactorTakesColumns(pc) ? poiseTriangularReadyColumns(pc, &f->triangular, columns) : POISE_OK;
}

/* Bytes of the factors beside D, read once. */
static double Matrix(const Incomplete *f)
{
  return ByColours(f) ? poiseColourCopyTraffic(&f->colours.copy) : poiseTriangularTraffic(&f->triangular);
}

void poiseFactorCost(PoisePC pc, double *flops, double *bytes)
{
  const Incomplete *f = pc->data;
  double n = (double)f->triangular.n, b = poiseTriangularSide(&f->triangular);
  double products = (double)poiseFactorProducts(f), sweeps = products > 0 ? products : 1;
  *flops = sweeps * (2 * b * b * ((double)f->triangular.nz - n) - b * n) + 2 * b * b * n;
  /* exact: z is written, read and written; a sweep with a triangle reads two vectors and writes one */
  *bytes = sweeps * Matrix(f) + (8 * b * b + 32 * b) * n;
  if (ByColours(f)) *bytes += (32 * b + 8) * n; /* r to places, and z from them */
  if (f->moved) *bytes += 20 * n;
  if (products > 0) *bytes += (48 * sweeps - 32 - (f->triangular.b ? 0 : 8)) * b * n;
}

double poiseFactorOnce(PoisePC pc)
{
  const Incomplete *f = pc->data;
  double b = poiseTriangularSide(&f->triangular);
  return Matrix(f) + 8 * b * b * (double)f->triangular.n;
}

/* How long a product with P takes on a GPU at the speed of its memory; 0: not known, as on CPUs. */
static double ProductSeconds(PoisePC pc)
{
  const Csr *c = &pc->P->csr;
  double b = (double)poiseCsrSide(c), bandwidth = pc->ctx->device->model.bandwidth;
  double bytes = (8 * b * b + 4) * (double)c->nz + 20 * b * (double)c->m;
  return bandwidth > 0 ? bytes / bandwidth : 0;
}

static const double NOTICED = 0.1; /* seconds: nobody waits for less, however many products it takes */

static PoiseErr PrintSeconds(PoisePC pc, const Incomplete *f)
{
  double seconds = ProductSeconds(pc), most[] = {f->seconds, seconds > 0 ? f->seconds / seconds : 0};
  TRY(PoiseMax(pc->ctx, 2, most));
  if (!f->built) return POISE_OK;
  TRY(poisePrint(pc->ctx, "  set-up: %.3g ms\n", 1e3 * most[0]));
  if (most[1] <= MANY_PRODUCTS || most[0] < NOTICED) return POISE_OK;
  return poisePrint(pc->ctx,
                    "  WARNING: set-up takes %.3g s, as long as %.0f products: try %s, or amg or jacobi\n",
                    most[0], most[1], poiseOptionsName(pc->ctx, pc->prefix, "pc_factor_setup_sweeps"));
}

static PoiseErr PrintKind(PoisePC pc, const Incomplete *f)
{
  const char *of = f->negative ? " of -A" : "";
  if (f->fill == 0) return poisePrint(pc->ctx, "  fill of level %d%s", (int)f->levels, of);
  TRY(poisePrint(pc->ctx, "  fill%s by thresholds: from %g of a row on, at most %g times its entries", of,
                 f->drop_tol, f->fill));
  return f->pivoting > 0 ? poisePrint(pc->ctx, ", pivoting %g", f->pivoting) : POISE_OK;
}

static PoiseErr PrintFill(PoisePC pc, const Incomplete *f)
{
  bool filled = f->built && (f->levels || f->fill > 0);
  double sums[] = {filled ? (double)f->triangular.nz : 0, (double)f->own};
  TRY(PoiseSum(pc->ctx, 2, sums));
  if (sums[0] <= 0) return POISE_OK;
  return poisePrint(pc->ctx, "  the factors have %.3g entries, %.3g times those of the matrix\n", sums[0],
                    sums[0] / sums[1]);
}

PoiseErr poiseFactorView(PoisePC pc)
{
  static const char *const names[] = {"none", "nonzero", "positive_definite", "inblocks"};
  const Incomplete *f = pc->data;
  double most[] = {f->shift, f->tries};
  TRY(PoiseMax(pc->ctx, 2, most));
  TRY(PrintKind(pc, f));
  if (f->triangular.b) TRY(poisePrint(pc->ctx, " of blocks of %d x %d", f->triangular.b, f->triangular.b));
  TRY(poisePrint(pc->ctx, ", shift %s", names[f->shift_type]));
  if (most[1] > 0) TRY(poisePrint(pc->ctx, " (the diagonal by %g in %g tries, at most)", most[0], most[1]));
  if (f->setup_sweeps)
    TRY(poisePrint(pc->ctx, "\n  factors by %d sweeps over all entries at once", (int)f->setup_sweeps));
  if (f->triangles == TRIANGLES_ISAI)
    TRY(poisePrint(pc->ctx, "\n  products with approximate inverses of the triangles (ISAI)\n"));
  else if (f->sweeps)
    TRY(poisePrint(pc->ctx, "\n  solves by %d Jacobi sweeps with each triangle\n", (int)f->sweeps));
  else
    TRY(poisePrint(pc->ctx, "\n  solves by kernel %s of device %s\n", poiseFactorLibraryName(pc),
                   pc->ctx->device->ops->name));
  TRY(PrintFill(pc, f));
  TRY(PrintSeconds(pc, f));
  return ByColours(f) ? poiseColourCopyPrint(pc, &f->colours.copy) : poiseTriangularPrint(pc, &f->triangular);
}

void poiseFactorBytes(PoisePC pc, PoiseBytes *sum)
{
  const Incomplete *f = pc->data;
  poiseTriangularBytes(&f->triangular, sum);
  poiseByColourBytes(&f->colours, sum);
  poiseBufferAdd(&f->lu, sum);
  poiseBufferAdd(&f->d, sum);
  poiseBufferAdd(&f->result, sum);
  poiseBufferAdd(&f->a, sum);
  poiseBufferAdd(&f->places, sum);
  if (f->moved) poiseBufferAdd(&f->moved->data, sum);
  poiseBufferAdd(&f->other, sum);
  poiseBufferAdd(&f->inverse, sum);
  for (int k = 0; k < 2; k++) poiseBufferAdd(&f->work[k], sum);
  sum->device += f->plan.bytes;
}

/* Factors of numbers, of so many entries. */
static PoiseErr PredictEntries(PoisePC pc, const Incomplete *f, int64_t entries, PoisePrediction *p)
{
  const Device *dev = pc->ctx->device;
  int64_t n = pc->P->rows->n;
  MatPlan plan = {.m = n, .nloc = n, .nz = entries, .wide = entries > INT32_MAX};
  TRY(poiseTriangularPredict(pc, true, Directions(f), &plan, p));
  poisePredict(dev, 8 * (entries + n), ON_BOTH, p);
  if (poiseFactorProducts(f)) poisePredict(dev, 16 * n, ON_DEVICE, p);
  if (f->triangles == TRIANGLES_ISAI) poisePredict(dev, 8 * entries, ON_DEVICE, p);
  if (f->pivoting > 0) poisePredict(dev, 4 * n, ON_BOTH, p);
  if (f->pivoting > 0) poisePredict(dev, 8 * n, ON_DEVICE, p);
  return POISE_OK;
}

/* Rows keep nothing beside their diagonal, or all that they may. */
static PoiseErr PredictThresholds(PoisePC pc, const Incomplete *f, const MatPlan *plan, PoisePrediction *p)
{
  PoisePrediction least = {.beyond = NULL}, most = least;
  int64_t n = pc->P->rows->n;
  TRY(PredictEntries(pc, f, n, &least));
  TRY(PredictEntries(pc, f, poiseThresholdsMost(f, n, poisePlanScalars(plan)), &most));
  poisePredictEither(&least, &most);
  poisePredictSum(&most, p);
  return POISE_OK;
}

/* The sizes of the factors. Entries of levels are counted, if there are any to begin with. */
static PoiseErr PlanFill(PoisePC pc, const Incomplete *f, MatPlan *plan)
{
  Triangular t = {.built = 0};
  int64_t generation = pc->generation;
  bool mirrored;
  if (!f->levels) return POISE_OK;
  if (plan->nghost) plan->nz = plan->m; /* what is known of the owned columns */
  plan->nghost = 0;
  if (plan->counts) return POISE_OK;
  PoiseErr e = poiseTriangularSetup(pc, &t, true, false, 0);
  if (!e) e = poiseTriangularIsSymmetric(pc, &t, &mirrored);
  if (!e) e = poiseFillCount(pc, &t, f->levels, mirrored, &plan->nz);
  poiseTriangularDestroy(&t);
  pc->generation = generation; /* M itself is as it was */
  plan->wide = plan->nz > INT32_MAX;
  return e;
}

static PoiseErr PredictColours(PoisePC pc, const MatPlan *plan, PoisePrediction *p)
{
  const Device *dev = pc->ctx->device;
  int64_t b = poisePlanSide(plan), rows = pc->P->rows->n;
  TRY(poiseTriangularPredict(pc, false, 0, plan, p));
  poiseByColourPredict(pc, false, plan, p);
  poisePredict(dev, 16 * b * rows, ON_DEVICE, p);
  poisePredict(dev, RESULTS * sizeof(double), ON_BOTH, p);
  return POISE_OK;
}

static PoiseErr PredictNatural(PoisePC pc, bool symmetric, const MatPlan *matrix, PoisePrediction *p)
{
  const Device *dev = pc->ctx->device;
  Incomplete natural = *(const Incomplete *)pc->data, *f = &natural;
  MatPlan factors = *matrix, *plan = &factors;
  natural.by_colours = false;
  TRY(PlanFill(pc, f, plan));
  if (f->fill > 0) return PredictThresholds(pc, f, plan, p);
  TRY(poiseTriangularPredict(pc, true, Directions(f), plan, p));
  poisePredict(dev, 8 * (poisePlanScalars(plan) + poisePlanSide(plan) * pc->P->rows->n), ON_DEVICE, p);
  poisePredict(dev, RESULTS * sizeof(double), ON_BOTH, p);
  if (Spreads(dev, f, symmetric) && poisePlanSide(plan) == 1)
    poisePredict(dev, 8 * (plan->m + 1), ON_DEVICE, p);
  if (f->setup_sweeps && !symmetric) poisePredict(dev, 8 * poisePlanScalars(plan), ON_DEVICE, p);
  if (poiseFactorProducts(f)) poisePredict(dev, 16 * pc->P->rows->n, ON_DEVICE, p);
  if (f->triangles == TRIANGLES_ISAI) poisePredict(dev, 8 * poisePlanScalars(plan), ON_DEVICE, p);
  if (f->levels) poisePredict(dev, 8 * poisePlanScalars(plan), ON_DEVICE, p);
  if (f->levels && plan->counts) p->beyond = "entries of levels of fill, which depend on the pattern";
  if (!strcmp(f->kernel, "own")) return POISE_OK;
  if (!poiseSingleRows(dev)) poisePredict(dev, 8 * (plan->m + 1), ON_DEVICE, p);
  p->beyond = "what the library asks for";
  return POISE_OK;
}

/* Colours that are chosen may be too many. */
PoiseErr poiseFactorPredict(PoisePC pc, bool symmetric, const MatPlan *matrix, PoisePrediction *p)
{
  const Incomplete *f = pc->data;
  PoisePrediction natural = *p;
  bool colours = ChoosesColours(pc, f);
  if (colours) TRY(PredictColours(pc, matrix, p));
  if (colours && f->order == ORDER_COLOURS) return POISE_OK;
  TRY(PredictNatural(pc, symmetric, matrix, &natural));
  if (colours)
    poisePredictEither(&natural, p);
  else
    *p = natural;
  return POISE_OK;
}

void poiseFactorDestroy(PoisePC pc)
{
  Incomplete *f = pc->data;
  poiseFactorLibraryDrop(pc);
  poiseTriangularDestroy(&f->triangular);
  poiseByColourDestroy(pc->ctx, &f->colours);
  Release(f);
}

/* ---- host kernels ---------------------------------------------------------------------------- */

/* Row i -= m times the upper triangle of row c, at the entries [k, end) of row i. */
static void SubtractRow(const FactorArgs *a, double m, int64_t c, int64_t k, int64_t end)
{
  const int32_t *col = a->t.col;
  int64_t u = poiseOffset(&a->t, a->t.diag, c) + 1, last = poiseOffset(&a->t, a->t.end, c);
  while (k < end && u < last) {
    if (col[k] == col[u])
      a->lu[k++] -= m * a->lu[u++];
    else if (col[k] < col[u])
      k = poiseSeek(col, k + 1, end, col[u]);
    else
      u = poiseSeek(col, u + 1, last, col[k]);
  }
}

static double SumOfSizes(const double *v, int64_t k, int64_t end, double sum)
{
  for (; k < end; k++) sum += fabs(v[k]);
  return sum;
}

/* Copy the entries of row i to their mirrors, in L of the later rows. */
static void Mirror(const FactorArgs *a, int64_t i, int64_t k, int64_t end)
{
  const Triangles *t = &a->t;
  for (; k < end; k++) {
    int64_t j = t->col[k];
    a->lu[poiseSeek(t->col, poiseOffset(t, t->begin, j), poiseOffset(t, t->diag, j), (int32_t)i)] = a->lu[k];
  }
}

static void FactorRow(const FactorArgs *a, int64_t i)
{
  const Triangles *t = &a->t;
  int64_t begin = poiseOffset(t, t->begin, i), diag = poiseOffset(t, t->diag, i),
          end = poiseOffset(t, t->end, i);
  int64_t own = a->symmetric ? diag : begin; /* the entries left of it were mirrored from the rows above */
  memcpy(a->lu + own, a->a + own, (size_t)(end - own) * sizeof(double));
  a->lu[diag] += a->shift;
  for (int64_t k = begin; k < diag; k++) {
    a->lu[k] *= a->d[t->col[k]];
    if (a->lu[k] != 0) SubtractRow(a, a->lu[k], t->col[k], a->symmetric ? diag : k + 1, end);
  }
  a->d[i] =
      poiseInvertPivot(a, a->lu[diag], SumOfSizes(a->lu, diag + 1, end, SumOfSizes(a->lu, own, diag, 0)));
  poiseKeepPivot(a, diag, a->d[i]);
  if (a->symmetric) Mirror(a, i, diag + 1, end);
}

static void FactorRows(const void *args, int64_t begin, int64_t end)
{
  for (int64_t i = begin; i < end; i++) FactorRow(args, i);
}

/* The row that is spread out by columns -= m times the entries [u, last). If these are many more than those
   of [k, end), the rest of the row, its columns are looked for among them. What comes to columns that the row
   has not is never read. */
static void SubtractSpread(const FactorArgs *a, double m, int64_t u, int64_t last, int64_t k, int64_t end)
{
  enum { LONGER = 16 };
  const int32_t *col = a->t.col;
  double *row = a->work;
  bool spreads = last - u <= LONGER * (end - k);
  for (; spreads && u < last; u++) row[col[u]] -= m * a->lu[u];
  for (; u < last && k < end; k++) {
    u = poiseSeek(col, u, last, col[k]);
    if (u < last && col[u] == col[k]) row[col[k]] -= m * a->lu[u];
  }
}

/* FactorRow with the row spread out in a->work, so that each entry is found at once. */
static void FactorSpread(const FactorArgs *a, int64_t i)
{
  const Triangles *t = &a->t;
  const int32_t *col = t->col;
  double *lu = a->lu, *row = a->work;
  int64_t begin = poiseOffset(t, t->begin, i), diag = poiseOffset(t, t->diag, i),
          end = poiseOffset(t, t->end, i);
  for (int64_t k = begin; k < end; k++) row[col[k]] = a->a[k];
  row[i] += a->shift;
  for (int64_t k = begin; k < diag; k++) {
    int64_t c = col[k];
    lu[k] = row[c] * a->d[c];
    if (lu[k] != 0)
      SubtractSpread(a, lu[k], poiseOffset(t, t->diag, c) + 1, poiseOffset(t, t->end, c), k + 1, end);
  }
  for (int64_t k = diag; k < end; k++) lu[k] = row[col[k]];
  a->d[i] = poiseInvertPivot(a, lu[diag], SumOfSizes(lu, diag + 1, end, SumOfSizes(lu, begin, diag, 0)));
  poiseKeepPivot(a, diag, a->d[i]);
}

static void FactorSpreadRows(const void *args, int64_t begin, int64_t end)
{
  for (int64_t i = begin; i < end; i++) FactorSpread(args, i);
}

/* Rows in their order, which may share the place where one is spread out. */
static HostRows *InOrder(const FactorArgs *a)
{
  if (a->t.b) return poiseHostFactorBlocks(a->t.b);
  return a->work && !a->symmetric ? FactorSpreadRows : FactorRows;
}

/* Each entry of L reads the row of its column. */
static double FactorBytes(const FactorArgs *a)
{
  double length = (double)a->t.nz / (double)(a->t.n ? a->t.n : 1);
  return (1 + length / 2) * poiseHostSweepBytes(&a->t);
}

/* Long rows are work enough for threads even if their access is scattered. */
static bool Wide(const Device *dev, const FactorArgs *a, double bytes)
{
  bool much = bytes > (double)(a->levels.count * dev->few);
  return dev->threads > 1 && a->levels.groups >= 10 * a->levels.count && much &&
         (a->t.nz >= 8 * a->t.n || poiseHostWide(dev, &a->levels, a->t.n, bytes));
}

/* Rows behind a refused pivot are also processed, whatever their values become. */
PoiseErr poiseHost_factor(Device *dev, const void *args)
{
  const FactorArgs *a = args;
  HostRows *rows = a->t.b ? poiseHostFactorBlocks(a->t.b) : FactorRows;
  double bytes = FactorBytes(a);
  bool wide = Wide(dev, a, bytes);
  for (int64_t l = 0; wide && l < a->levels.count; l++) {
    TRY(poiseLookInKernel(dev));
    poiseHostLevel(dev, &a->levels, l, bytes, rows, a);
  }
  for (int64_t i = 0; !wide && i < a->t.n; i += POISE_BLOCK) {
    TRY(poiseLookInKernel(dev));
    InOrder(a)(a, i, i + POISE_BLOCK < a->t.n ? i + POISE_BLOCK : a->t.n);
  }
  return POISE_OK;
}

PoiseErr poiseHost_factor_refused(Device *dev, const void *args)
{
  const FactorArgs *a = args;
  int64_t first = 0;
  (void)dev;
  while (first < a->t.n && !poiseRefused(a, first)) first++;
  poiseNameRefused(a, first);
  return POISE_OK;
}

PoiseErr poiseHost_dominance(Device *dev, const void *args)
{
  const DominanceArgs *a = args;
  const Triangles *t = &a->t;
  (void)dev;
  *a->lack = a->floor;
  for (int64_t i = 0; i < t->n * (t->b ? t->b : 1); i++) *a->lack = poiseLarger(*a->lack, poiseLack(a, i));
  return POISE_OK;
}
