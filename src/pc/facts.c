/* SPDX-License-Identifier: BSD-3-Clause */
/*
  What auto sees of a matrix, be it a method or a preconditioner. Symmetry is told by products, so any type
  and any number of ranks will do: of random u and v, (u, B v) and (v, B u) are the same to rounding if B is
  symmetric, and else almost never. B is S A S with S = |diag(A)|^-1/2, so that large entries hide no others.
  Rounding of a sum is far below sqrt(eps); what differs by less is as good as symmetric for a method that
  expects it.
*/
#include <float.h>

#include "facts.h"
#include "mat/csr/entries.h"
#include "vec/vec.h"

/* s: the diagonal of S. */
static PoiseErr LookAtDiagonal(PoiseMat A, PoiseVec s, Facts *f)
{
  double count[3];
  TRY(PoiseMatGetDiagonal(A, s));
  TRY(poiseVecDiagonalScale(s, count));
  f->positive = count[0], f->negative = count[1], f->zero = count[2];
  return POISE_OK;
}

/* Entries of a row come in the order of their columns. */
static PoiseErr CountPlaces(PoiseMat A, double *places)
{
  const Csr *c = &A->csr;
  HostCsr h;
  TRY(poiseMatPattern(A, &h));
  for (int64_t i = 0; i < c->m; i++) {
    int64_t k = poiseCsrPtr(c, h.ptr, i), end = poiseCsrPtr(c, h.ptr, i + 1);
    PoiseInt first = c->row + i, last = first;
    if (k < end) {
      PoiseInt low = poiseCsrGlobal(A, h.col[k]), high = poiseCsrGlobal(A, h.col[end - 1]);
      first = low < first ? low : first;
      last = high > last ? high : last;
    }
    *places += (double)(last - first + 1) * (double)poiseCsrEntry(c);
  }
  return POISE_OK;
}

/* Collective; agrees. */
static PoiseErr LookAtEnvelope(PoiseMat A, Facts *f)
{
  double places = 0;
  f->envelope = INFINITY;
  if (!f->stored || !A->ctx->device->ops->is_host) return POISE_OK;
  PoiseErr e = CountPlaces(A, &places);
  TRY(poiseAgreeSum(A->ctx, e, &places, 1));
  f->envelope = places;
  return POISE_OK;
}

/* y = S A S u, by t. Collective; agrees. */
static PoiseErr Multiply(PoiseMat A, PoiseVec s, PoiseVec u, PoiseVec t, PoiseVec y)
{
  TRY(PoiseAgree(A->ctx, PoiseVecPointwiseMult(t, s, u)));
  TRY(PoiseMatMult(A, t, y));
  return PoiseAgree(A->ctx, PoiseVecPointwiseMult(y, s, y));
}

static PoiseErr Draw(PoiseVec u, PoiseVec v)
{
  TRY(PoiseVecSetRandom(u, 1));
  return PoiseVecSetRandom(v, 2);
}

/* Is |(u, B v) - (v, B u)| small beside |u| |B v| + |v| |B u|? w: five vectors, s first. */
static PoiseErr LookAtSymmetry(PoiseMat A, PoiseVec *w, Facts *f)
{
  const double enough = sqrt(DBL_EPSILON) / 100;
  PoiseVec s = w[0], u = w[1], v = w[2], t = w[3], y = w[4];
  double ubv, vbu, uu, vv, yy, size;
  TRY(PoiseAgree(A->ctx, Draw(u, v)));
  TRY(PoiseVecDot(u, u, &uu));
  TRY(PoiseVecDot(v, v, &vv));
  TRY(Multiply(A, s, v, t, y));
  TRY(PoiseVecDot(u, y, &ubv));
  TRY(PoiseVecDot(y, y, &yy));
  size = sqrt(uu) * sqrt(yy);
  TRY(Multiply(A, s, u, t, y));
  TRY(PoiseVecDot(v, y, &vbu));
  TRY(PoiseVecDot(y, y, &yy));
  size += sqrt(vv) * sqrt(yy);
  if (!poiseFinite(size))
    FAIL(POISE_ERR_NUMERIC, "A x is not finite for a random x: A has entries that are not, or that overflow");
  f->symmetric = fabs(ubv - vbu) <= enough * size;
  return POISE_OK;
}

PoiseErr poiseLookAt(PoiseMat A, Facts *f)
{
  enum { VECTORS = 5 };
  PoiseVec w[VECTORS] = {NULL};
  PoiseInt entries = 0;
  PoiseErr e = POISE_OK;
  *f = (Facts){.rows = (double)A->rows->N, .stored = poiseMatHolds(A)};
  f->gpu = poiseModelIsGpu(&A->ctx->device->model);
  if (f->stored) e = PoiseMatNonzeros(A, &entries);
  f->entries = (double)entries;
  for (int k = 0; !e && k < VECTORS; k++) e = PoiseMatCreateVecs(A, &w[k], NULL);
  if (!e) e = f->stored ? LookAtDiagonal(A, w[0], f) : PoiseAgree(A->ctx, PoiseVecSet(w[0], 1));
  if (!e) e = LookAtEnvelope(A, f);
  if (!e) e = LookAtSymmetry(A, w, f);
  for (int k = 0; k < VECTORS; k++) PoiseVecDestroy(&w[k]);
  return e;
}

/* ---- small entries ---------------------------------------------------------------------------- */

static PoiseErr CountSmall(PoiseMat A, double *count)
{
  const double far = 1e-3;
  HostCsr h;
  TRY(poiseMatRead(A, &h));
  for (int64_t i = 0; i < A->csr.m; i++) {
    double diagonal = 0, largest = 0;
    for (int64_t k = poiseCsrPtr(&A->csr, h.ptr, i); k < poiseCsrPtr(&A->csr, h.ptr, i + 1); k++) {
      double size = fabs(h.val[k]);
      if (h.col[k] == i + A->csr.row - A->csr.column) diagonal = size;
      largest = fmax(largest, size);
    }
    *count += diagonal > 0 && diagonal < far * largest;
  }
  return POISE_OK;
}

/* Blocks do not change places one by one, and what may be definite needs no exchange. */
PoiseErr poiseLookAtSmall(PoiseMat A, Facts *f)
{
  f->small = 0;
  if (A->csr.b || poiseMayBeDefinite(f)) return POISE_OK;
  PoiseErr e = CountSmall(A, &f->small);
  return poiseAgreeSum(A->ctx, e, &f->small, 1);
}

/* ---- options of a choice --------------------------------------------------------------------- */

static PoiseErr Key(const char *prefix, const char *word, char key[POISE_OPTION_LENGTH])
{
  int n = snprintf(key, POISE_OPTION_LENGTH, "%s%s", prefix ? prefix : "", word);
  if (n >= POISE_OPTION_LENGTH) FAIL(POISE_ERR_ARG, "option -%s%s is too long", prefix, word);
  return POISE_OK;
}

PoiseErr poiseWordsSet(PoiseContext ctx, const char *prefix, const Word words[WORDS], bool mine[WORDS])
{
  char key[POISE_OPTION_LENGTH];
  for (int k = 0; k < WORDS; k++) mine[k] = words[k].key && !PoiseOptionsHas(ctx, prefix, words[k].key, NULL);
  for (int k = 0; k < WORDS; k++) {
    if (!mine[k]) continue;
    TRY(Key(prefix, words[k].key, key));
    TRY(PoiseOptionsSet(ctx, key, words[k].value));
  }
  return POISE_OK;
}

PoiseErr poiseWordsClear(PoiseContext ctx, const char *prefix, const Word words[WORDS],
                         const bool mine[WORDS])
{
  char key[POISE_OPTION_LENGTH];
  for (int k = 0; k < WORDS; k++) {
    if (!mine[k]) continue;
    TRY(Key(prefix, words[k].key, key));
    TRY(PoiseOptionsClear(ctx, key));
  }
  return POISE_OK;
}
