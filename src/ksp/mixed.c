/* SPDX-License-Identifier: BSD-3-Clause */
/*
  -ksp_precision mixed. The method iterates on vectors, A and M in fp32. x and its update are fp64, as are
  all scalars, sums and dots. Where the recurrence has fallen to a part of its first norm, the loop ends. Then
  b - A x is computed in fp64 and takes the place of the recurrence's r, and the method goes on. This is
  residual replacement (van der Vorst & Ye, Residual replacement strategies for Krylov subspace iterative
  methods, SIAM J. Sci. Comput. 22, 2000), known as reliable updates where precisions are mixed (Clark et al.,
  Comput. Phys. Commun. 181, 2010). The directions of cg stay, so the space that it has built is not lost.
  bicgstab starts afresh: on hard problems it took fewer iterations so than with its directions.

  By how much may it fall? A in fp32 is another matrix, by some 6e-8 of each entry, and q = A p is rounded. So
  b - A x moves away from r: by a part of the first norm that hardly changes from one replacement to the next,
  some 1e-7 times the condition of A at most. A replacement shows it, as the norm that is computed then
  differs from the recurrence's. The next recurrence may fall to MARGIN times that part, so that r is right to
  a per cent. Where it was wrong by more than NEAR, its directions are dropped: they cost iterations.

  The start is that of fp64, whose vectors are then rounded. So are claims: what is tested in the end is
  b - A x. Where vectors do not fit into fp32, the method fails, or a replacement has gained nothing, it goes
  on in fp64 from its x; from 0, if it has diverged.

  Vectors in fp64 stay allocated, as replacements and an end in fp64 need them. In between M, where it is no
  diagonal and no dense blocks, is applied in two of them.
*/
#include <float.h>
#include <math.h>

#include "mat/object/mat.h"
#include "dots.h"
#include "loop.h"
#include "methods.h"
#include "mixed.h"
#include "operator.h"
#include "solve.h"
#include "vec/vec_kernels.h"

enum { IN_R = 1, IN_Z }; /* work vectors in fp64 in which M is applied */

static const double DEEPEST = 1e-5, SHALLOWEST = 0.1; /* parts of a recurrence's first norm */
/* The first such part, and what it is afterwards: by whether directions stay. To start afresh costs more. */
static const double FIRST[] = {1e-3, 0.1}, MARGIN[] = {10, 100}, NEAR = 0.1;
static const double ABOVE = 10; /* times the tolerance */

static Device *Dev(PoiseKSP ksp)
{
  return ksp->ctx->device;
}

/* ---- set-up ---------------------------------------------------------------------------------- */

static void Refuse(PoiseKSP ksp, const char *why)
{
  snprintf(ksp->mixed.why, sizeof ksp->mixed.why, "%s", why);
  ksp->mixed.usable = false;
}

/* Why not, as all ranks know; NULL: it may. */
static const char *WhyNot(PoiseKSP ksp, PoiseNormType norm)
{
  if (!ksp->type->wide && !ksp->type->replaces) return "the method has no form in fp32";
  if (norm == POISE_KSP_NORM_NONE) return "without a norm nothing says when to replace the residual";
  return poiseKSPKeepsSpectrum(ksp) ? "eigenvalues or singular values are asked for" : NULL;
}

/* The product, if A has one in fp32. Local. */
static PoiseErr MakeProduct(PoiseKSP ksp, const char **lacks)
{
  KSPMixed *m = &ksp->mixed;
  TRY(poiseMatLacksSingle(ksp->A, lacks));
  if (*lacks) return POISE_OK;
  if (poiseMatChanged(&m->A.made, ksp->A) & (CHANGED_PATTERN | CHANGED_PRODUCT)) {
    poiseProductDestroy(&m->A);
    poiseProductInitSingle(ksp->A, &m->A);
    m->seen = (Version){0};
  }
  return poiseProductReady(&m->A);
}

PoiseErr poiseKSPMixedChoose(PoiseKSP ksp, PoiseNormType norm)
{
  KSPMixed *m = &ksp->mixed;
  const char *why, *lacks = NULL;
  m->usable = false, m->why[0] = 0;
  if (!ksp->options.precision) return POISE_OK;
  why = WhyNot(ksp, norm);
  if (!why) TRY(PoiseAgree(ksp->ctx, MakeProduct(ksp, &lacks)));
  int64_t any = lacks != NULL;
  TRY(poiseCommMaxInt(ksp->ctx->comm, &any, 1));
  if (any && !lacks) lacks = "rows of another rank are too uneven for products in fp32";
  m->usable = !why && !any;
  if (!m->usable) Refuse(ksp, why ? why : lacks);
  return POISE_OK;
}

/* The power of 2 that brings the largest value of A to 1 to 2. Collective; agrees. */
static PoiseErr FindScale(PoiseKSP ksp, double *largest)
{
  int exponent = 0;
  Csr *c = &ksp->A->csr;
  TRY(poiseLargest(ksp->ctx, &c->val, poiseCsrScalars(c), largest));
  if (*largest > 0 && poiseFinite(*largest)) (void)frexp(*largest, &exponent);
  double scale = ldexp(1, 1 - exponent);
  if (ksp->mixed.scale != scale) poiseKSPForget(ksp); /* a captured product divides by it */
  ksp->mixed.scale = scale;
  return POISE_OK;
}

static PoiseErr MakeValues(PoiseKSP ksp)
{
  KSPMixed *m = &ksp->mixed;
  Csr *c = &ksp->A->csr;
  unsigned changed = poiseMatChanged(&m->seen, ksp->A);
  double largest;
  char why[80];
  if (!(changed & (CHANGED_PATTERN | CHANGED_VALUES))) return POISE_OK;
  TRY(FindScale(ksp, &largest));
  if (!(largest > 0) || !poiseFinite(largest) || !poiseFinite(m->scale)) {
    snprintf(why, sizeof why, "the largest value of the matrix is %g", largest);
    Refuse(ksp, why);
    return POISE_OK;
  }
  if (changed & CHANGED_PATTERN) poiseBufferDestroy(&m->A.val), poiseKSPForget(ksp);
  TRY(PoiseAgree(ksp->ctx, poiseMakeSingle(ksp->ctx, &c->val, poiseCsrScalars(c), m->scale, "values in fp32",
                                           &m->A.val)));
  m->seen = ksp->A->version;
  return POISE_OK;
}

enum { OF_X = 1, OF_Y, OF_PRODUCT }; /* vectors of products alone */

/* One more than vectors in fp32. */
static int Vectors(PoiseKSP ksp)
{
  return ksp->type->wide ? ksp->mixed.n : OF_PRODUCT;
}

/* Behind the end a product may read what was never written, which must be finite. */
static PoiseErr MakeVectors(PoiseKSP ksp)
{
  KSPMixed *m = &ksp->mixed;
  size_t bytes = (size_t)ksp->layout->n * sizeof(float);
  float *there;
  m->n = ksp->nwork;
  if (!m->v) TRY(poiseAllocArray(ksp->ctx, m->n, sizeof *m->v, "work vectors in fp32", &m->v));
  if (!m->other) TRY(poiseAllocArray(ksp->ctx, m->n, sizeof *m->other, "work vectors in fp32", &m->other));
  for (int k = 1; k < Vectors(ksp); k++) {
    if (m->v[k].dev) continue;
    TRY(poiseBufferCreate(Dev(ksp), bytes, "work vector in fp32", &m->v[k]));
    poiseBufferZero(&m->v[k]);
    TRY(poiseBufferUpdate(&m->v[k], DEVICE, &there));
  }
  return POISE_OK;
}

PoiseErr poiseKSPMixedSetUp(PoiseKSP ksp)
{
  if (ksp->mixed.usable) TRY(MakeValues(ksp));
  return ksp->mixed.usable ? PoiseAgree(ksp->ctx, MakeVectors(ksp)) : POISE_OK;
}

void poiseKSPMixedRelease(PoiseKSP ksp)
{
  KSPMixed *m = &ksp->mixed;
  poiseProductDestroy(&m->A);
  poiseBufferDestroy(&m->d);
  for (int k = 0; m->v && k < m->n; k++) poiseBufferDestroy(&m->v[k]);
  poiseFree(ksp->ctx, &m->v);
  poiseFree(ksp->ctx, &m->other);
  *m = (KSPMixed){0};
}

void poiseKSPMixedBytes(PoiseKSP ksp, PoiseBytes *sum)
{
  const KSPMixed *m = &ksp->mixed;
  poiseBufferAdd(&m->A.val, sum);
  poiseProductAddBytes(&m->A, sum);
  poiseBufferAdd(&m->d, sum);
  for (int k = 0; m->v && k < m->n; k++) poiseBufferAdd(&m->v[k], sum);
}

PoiseErr poiseKSPMixedView(PoiseKSP ksp)
{
  const KSPMixed *m = &ksp->mixed;
  if (!ksp->options.precision) return POISE_OK;
  if (!m->usable) return poisePrint(ksp->ctx, "  precision: fp64, though mixed was asked for: %s\n", m->why);
  if (!ksp->type->wide) TRY(poisePrint(ksp->ctx, "  precision: mixed, products in fp32\n"));
  if (ksp->type->wide)
    TRY(poisePrint(ksp->ctx, "  precision: mixed, the recurrence in fp32; residuals replaced in fp64: %lld\n",
                   (long long)m->replaced));
  return *m->why ? poisePrint(ksp->ctx, "    then fp64: %s\n", m->why) : POISE_OK;
}

/* ---- vectors, and M -------------------------------------------------------------------------- */

/* M's diagonal, or its dense blocks, and the number of their entries. The last block may be smaller. */
static const double *Dense(PoiseKSP ksp, int64_t *entries)
{
  const PhasePC *M = &ksp->M;
  int64_t n = ksp->layout->n, b = M->blocks.b, rest = b ? n % b : 0;
  *entries = (n - rest) * b + rest * rest;
  return b ? M->blocks.d : NULL;
}

static PoiseErr NarrowM(PoiseKSP ksp)
{
  KSPMixed *m = &ksp->mixed;
  NarrowArgs a = {.a.value = 1};
  a.x = Dense(ksp, &a.n);
  size_t bytes = (size_t)a.n * sizeof(float);
  m->in_fp32 = NULL;
  if (m->d.dev && (!a.x || m->d.bytes != bytes)) poiseBufferDestroy(&m->d), poiseKSPForget(ksp);
  if (!a.x) return POISE_OK;
  if (!m->d.dev) TRY(poiseBufferCreate(Dev(ksp), bytes, "preconditioner in fp32", &m->d));
  TRY(poiseBufferWrite(&m->d, DEVICE, &a.y));
  m->in_fp32 = (const double *)(const void *)a.y;
  return LAUNCH(Dev(ksp), narrow, &a);
}

void poiseKSPMixedReset(PoiseKSP ksp)
{
  KSPMixed *m = &ksp->mixed;
  m->on = m->products = m->ended_low = false, m->active = m->usable;
  m->left_at = -1, m->replaced = 0;
  m->fall = ksp->type->wide ? FIRST[ksp->type->keeps != 0] : 0;
  m->claimed = INFINITY;
  if (m->active) m->why[0] = 0;
}

PoiseErr poiseKSPMixedPrepare(PoiseKSP ksp)
{
  KSPMixed *m = &ksp->mixed;
  if (!m->active) return POISE_OK;
  for (int k = 1; k < Vectors(ksp); k++) TRY(poiseBufferUpdate(&m->v[k], DEVICE, &m->other[k]));
  return ksp->type->wide ? NarrowM(ksp) : POISE_OK;
}

bool poiseKSPMixedShow(PoiseKSP ksp, bool single)
{
  KSPMixed *m = &ksp->mixed;
  bool before = m->on;
  if (before == single || !m->active || !ksp->type->wide) return before;
  unsigned wide = ksp->type->wide(ksp);
  for (int k = 1; k < m->n; k++) {
    double *shown = ksp->v[k];
    if (wide >> k & 1) continue;
    ksp->v[k] = m->other[k], m->other[k] = shown;
  }
  if (ksp->M.pointwise) {
    const double *shown = ksp->M.diagonal;
    ksp->M.diagonal = single ? m->in_fp32 : m->other_d;
    m->other_d = shown;
  }
  m->on = single;
  return before;
}

static int IndexOf(PoiseKSP ksp, PoiseVec x)
{
  int k = 1;
  while (k + 1 < ksp->mixed.n && ksp->work[k] != x) k++;
  return k;
}

void poiseKSPMixedProduct(PoiseKSP ksp, PoiseVec x, PoiseVec y, ProductArgs *a)
{
  KSPMixed *m = &ksp->mixed;
  Operands v = {.x_f32 = &m->v[IndexOf(ksp, x)], .y_f32 = &m->v[IndexOf(ksp, y)]};
  a->a.value /= m->scale;
  poiseKSPFailed(ksp, poiseProductMult(&m->A, POISE_OK, &v, a));
}

static PoiseErr WidenTo(PoiseKSP ksp, const double *x, PoiseVec y, const double *skip)
{
  WidenArgs a = {.n = ksp->layout->n, .a.value = 1, .x = (const float *)(const void *)x, .skip = skip};
  TRY(poiseVecUpdate(y, &a.y));
  return LAUNCH(Dev(ksp), widen, &a);
}

static PoiseErr NarrowTo(PoiseKSP ksp, PoiseVec x, double *y, const double *skip, const Fuse *f)
{
  NarrowArgs a = {.n = ksp->layout->n, .a.value = 1, .y = (float *)(void *)y, .skip = skip};
  if (f) a.fuse = *f;
  TRY(poiseVecRead(x, &a.x));
  return LAUNCH(Dev(ksp), narrow, &a);
}

/* y = A x and its end, with x and y in fp64. */
static PoiseErr Multiply(PoiseKSP ksp, PoiseVec x, PoiseVec y, ProductArgs *a)
{
  KSPMixed *m = &ksp->mixed;
  ProductArgs plain = {.a.value = a->a.value / m->scale, .skip = a->skip};
  WidenArgs w = {.n = ksp->layout->n, .a.value = 1, .skip = a->skip, .scale = a->scale};
  if (a->fuse) w.fuse = *a->fuse;
  TRY(NarrowTo(ksp, x, m->other[OF_X], a->skip, NULL));
  TRY(poiseProductMult(&m->A, POISE_OK, &(Operands){.x_f32 = &m->v[OF_X], .y_f32 = &m->v[OF_Y]}, &plain));
  TRY(poiseBufferRead(&m->v[OF_Y], DEVICE, &w.x));
  TRY(poiseVecUpdate(y, &w.y));
  return LAUNCH(Dev(ksp), widen, &w);
}

bool poiseKSPMixedMultiplies(PoiseKSP ksp, PoiseVec x, PoiseVec y, ProductArgs *a)
{
  const KSPMixed *m = &ksp->mixed;
  if (!m->products || !m->active) return false;
  poiseKSPFailed(ksp, Multiply(ksp, x, y, a));
  return true;
}

void poiseKSPMixedPrecondition(PoiseKSP ksp, PoiseVec r, PoiseVec z, const double *skip, const Fuse *f)
{
  PoiseVec in = ksp->work[IN_R], out = ksp->work[IN_Z];
  poiseKSPFailed(ksp, WidenTo(ksp, ksp->v[IndexOf(ksp, r)], in, skip));
  poiseKSPFailed(ksp, poisePCApplyFuse(ksp->pc, in, out, skip, NULL));
  if (ksp->A->null.n && ksp->side == POISE_PC_LEFT) poiseKSPRemoveNullSpace(ksp, out, NULL);
  poiseKSPFailed(ksp, NarrowTo(ksp, out, ksp->v[IndexOf(ksp, z)], skip, f));
}

/* ---- replacements ---------------------------------------------------------------------------- */

static void LeaveSingle(PoiseKSP ksp, const char *why)
{
  KSPMixed *m = &ksp->mixed;
  snprintf(m->why, sizeof m->why, "%s", why);
  m->active = false;
  m->left_at = ksp->result.its;
}

/* slots[SLOT_FALL]. The device has done all that was enqueued. */
static PoiseErr SetFall(PoiseKSP ksp, double fall)
{
  double *first = ksp->scalars.first + SLOT_FALL;
  bool forbids = poiseDeviceForbid(Dev(ksp), false);
  *first = fall;
  PoiseErr e =
      poiseDeviceCopy(Dev(ksp), ksp->scalars.slots + SLOT_FALL, first, sizeof *first, COPY_TO_DEVICE);
  poiseDeviceForbid(Dev(ksp), forbids);
  return e;
}

/* b - A x has been computed at a start. What it differs from the recurrence by says how far the next one may
   fall. One that would end shortly above the tolerance goes on to claim convergence. */
static PoiseErr LookAtReplacement(PoiseKSP ksp)
{
  KSPMixed *m = &ksp->mixed;
  const double *slots = ksp->loop.status[0];
  TRY(poiseKSPFetchSlots(ksp));
  double norm = slots[SLOT_NORM], norm0 = slots[SLOT_NORM0],
         tolerance = fmax(slots[SLOT_RTOL] * norm0, slots[SLOT_ATOL]);
  double gap = sqrt(fabs(norm * norm - m->fell * m->fell));
  m->keeps = gap <= NEAR * norm;
  if (slots[SLOT_DONE] != 0) return POISE_OK;
  if (m->ended_low && !(norm <= m->began / 2)) {
    LeaveSingle(ksp, "to replace the residual gained nothing");
    return SetFall(ksp, 0);
  }
  m->fall = fmin(fmax(MARGIN[ksp->type->keeps != 0] * gap / m->began, DEEPEST), SHALLOWEST);
  m->began = norm;
  m->replaced++;
  return SetFall(ksp, m->fall * norm > ABOVE * tolerance ? m->fall * norm / norm0 : 0);
}

/* The vectors of the method, as its start has made them in fp64, but for those that it keeps. */
static void NarrowVectors(PoiseKSP ksp, unsigned which)
{
  for (int k = 1; k < ksp->mixed.n; k++)
    if (which >> k & 1) poiseKSPFailed(ksp, NarrowTo(ksp, ksp->work[k], ksp->mixed.other[k], NULL, NULL));
}

/* The least and the largest of the largest entries of the vectors with which a method begins, 0 apart.
   Collective; agrees. */
static PoiseErr FindRange(PoiseKSP ksp, double *least, double *most)
{
  double largest;
  *least = INFINITY, *most = 0;
  for (int k = 1; k < ksp->mixed.n; k++) {
    if (!(ksp->type->begins >> k & 1)) continue;
    TRY(PoiseVecNorm(ksp->work[k], POISE_NORM_INF, &largest));
    if (largest > 0) *least = fmin(*least, largest), *most = fmax(*most, largest);
  }
  return POISE_OK;
}

/* Where A or M is very large or small, r and M^-1 r cannot both be in the range of fp32, from the first norm
   down to the tolerance. Collective; agrees. */
static PoiseErr LookAtRange(PoiseKSP ksp)
{
  const double room = 1e5; /* for what recurrences make of these vectors */
  const double *slots = ksp->loop.status[0];
  double least, most;
  char why[160];
  TRY(PoiseAgree(ksp->ctx, poiseKSPFetchSlots(ksp)));
  if (slots[SLOT_DONE] != 0) return POISE_OK;
  bool forbids = poiseDeviceForbid(Dev(ksp), false); /* once a solve */
  PoiseErr e = FindRange(ksp, &least, &most);
  poiseDeviceForbid(Dev(ksp), forbids);
  TRY(e);
  double falls = fmin(fmax(slots[SLOT_RTOL], slots[SLOT_ATOL] / slots[SLOT_NORM0]), 1);
  if (most * room <= (double)FLT_MAX && least * falls >= room * (double)FLT_MIN) return POISE_OK;
  snprintf(why, sizeof why, "vectors have entries of %.1e and %.1e, too far apart for fp32", least, most);
  LeaveSingle(ksp, why);
  return SetFall(ksp, 0);
}

PoiseErr poiseKSPMixedStart(PoiseKSP ksp)
{
  KSPMixed *m = &ksp->mixed;
  bool again = ksp->solve.again;
  if (!m->active || !ksp->type->wide) return POISE_OK;
  poiseKSPFailed(ksp, again ? LookAtReplacement(ksp) : LookAtRange(ksp));
  TRY(poiseKSPAgree(ksp)); /* so that all ranks go on alike */
  if (!m->active) return POISE_OK;
  NarrowVectors(ksp, ksp->type->begins & ~(again && m->keeps ? ksp->type->keeps : 0u));
  (void)poiseKSPMixedShow(ksp, true);
  return POISE_OK;
}

/* A failure of the method, and not of the application's test or for want of iterations. */
static bool Fails(PoiseKSP ksp)
{
  const KSPResult *r = &ksp->result;
  bool own = (int)r->reason == (int)r->slots[SLOT_REASON] || ksp->solve.claim.refuted;
  return r->reason < 0 && r->reason != POISE_DIVERGED_ITS && own;
}

/* Is b - A x of a claim above the tolerance? Rounding leaves it so where it does not halve any more. */
static bool Misses(PoiseKSP ksp)
{
  KSPMixed *m = &ksp->mixed;
  const double *s = ksp->result.slots;
  const Claim *c = &ksp->solve.claim;
  double norm = c->norm, before = m->claimed;
  if (ksp->result.reason < 0 || ksp->result.its == ksp->solve.base || c->rounding || c->proven) return false;
  if (norm <= fmax(s[SLOT_RTOL] * s[SLOT_NORM0], s[SLOT_ATOL])) return false;
  m->claimed = norm;
  return norm <= before / 2;
}

bool poiseKSPMixedGoesOn(PoiseKSP ksp)
{
  KSPMixed *m = &ksp->mixed;
  const double *slots = ksp->result.slots;
  if (!m->active) return false;
  m->ended_low = (int)ksp->result.reason == REASON_FALLEN;
  m->fell = slots[SLOT_NORM];
  if (ksp->solve.base == 0) m->began = slots[SLOT_NORM0];
  if (m->ended_low || Misses(ksp)) return true;
  if (!Fails(ksp)) return false;
  if (ksp->result.reason == POISE_DIVERGED_DTOL || ksp->loop.status[0][SLOT_RESULT] != 0)
    poiseKSPZero(ksp, ksp->work[0]); /* this x is no start */
  LeaveSingle(ksp, PoiseKSPReasonString(ksp->result.reason));
  ksp->solve.claim = (Claim){.best = INFINITY, .best_square = INFINITY};
  ksp->solve.stalled = INFINITY;
  return true;
}

void poiseKSPMixedSay(PoiseKSP ksp)
{
  const KSPMixed *m = &ksp->mixed;
  const char *option = poiseOptionsName(ksp->ctx, ksp->prefix, "ksp_precision");
  if (!ksp->options.precision || !*m->why) return;
  if (m->usable)
    poiseKSPSay(ksp, "%s mixed went on in fp64 after %lld iterations: %s", option, (long long)m->left_at,
                m->why);
  else
    poiseKSPSay(ksp, "%s mixed worked in fp64: %s", option, m->why);
}
