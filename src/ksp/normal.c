/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The matrix that M is made of for least squares, min |b - A x|: A^T A, if the application has given no P. For
  jacobi it is the diagonal alone, the squared norms of A's columns. A column of zeros counts as 1, as nothing
  is known of its unknown, which stays as it is; so does one that is not finite, which the method finds.
*/
#include "methods.h"
#include "normal.h"
#include "poise/mat_multiply.h"

bool poiseKSPMakesNormal(PoiseKSP ksp)
{
  bool given = ksp->given_P && ksp->given_P != ksp->given_A;
  const char *pc = ksp->pc->type->name; /* these need no matrix */
  return ksp->type->squares && !given && strcmp(pc, "none") != 0 && strcmp(pc, "shell") != 0;
}

void poiseKSPDropNormal(PoiseKSP ksp)
{
  PoiseMatDestroy(&ksp->normal.N);
  ksp->normal.seen = (Version){0};
}

void poiseKSPAddNormalBytes(PoiseKSP ksp, PoiseBytes *sum)
{
  PoiseBytes held = {0};
  if (!ksp->normal.N) return;
  (void)PoiseMatBytes(ksp->normal.N, &held, NULL);
  sum->host += held.host, sum->device += held.device;
}

static PoiseErr CheckHolds(PoiseKSP ksp)
{
  if (!poiseMatHolds(ksp->A))
    FAIL(POISE_ERR_UNSUPPORTED,
         "method %s would make A^T A for preconditioner %s, and a matrix of type %s does not offer its rows: "
         "give P, or preconditioner none",
         ksp->type->name, ksp->pc->type->name, ksp->A->type->name);
  return POISE_OK;
}

/* d = the sums of the squares of A's columns. */
static PoiseErr SquaresOfColumns(PoiseMat A, PoiseVec d, PoiseVec ones)
{
  PoiseMat squares;
  double *val;
  TRY(PoiseMatDuplicate(A, 1, &squares));
  PoiseErr e = poiseBufferUpdate(&squares->csr.val, HOST, &val);
  for (int64_t k = 0; !e && k < poiseCsrScalars(&squares->csr); k++) val[k] *= val[k];
  if (!e) e = PoiseVecSet(ones, 1);
  e = PoiseAgree(A->ctx, e);
  if (!e) e = PoiseMatMultTranspose(squares, ones, d);
  PoiseMatDestroy(&squares);
  return e;
}

static PoiseErr DiagonalMatrix(PoiseVec d, PoiseMat *D)
{
  const Layout *l = d->layout;
  PoiseErr e = PoiseMatCreate(d->ctx, l->n, l->n, l->N, l->N, D);
  const double *v = NULL;
  TRY(e);
  e = PoiseVecGetRead(d, &v);
  for (PoiseInt i = 0; !e && i < l->n; i++) {
    PoiseInt row = l->begin + i;
    double one = v[i] > 0 && poiseFinite(v[i]) ? v[i] : 1;
    e = PoiseMatSetBlock(*D, 1, &row, 1, &row, &one);
  }
  if (v) PoiseVecRestore(d, &v);
  e = PoiseAgree(d->ctx, e);
  if (!e) e = PoiseMatAssemble(*D);
  if (e) PoiseMatDestroy(D);
  return e;
}

static PoiseErr Diagonal(PoiseMat A, PoiseMat *N)
{
  PoiseVec d, ones;
  TRY(PoiseMatCreateVecs(A, &d, &ones));
  PoiseErr e = SquaresOfColumns(A, d, ones);
  if (!e) e = DiagonalMatrix(d, N);
  PoiseVecDestroy(&d);
  PoiseVecDestroy(&ones);
  return e;
}

static PoiseErr Whole(PoiseMat A, PoiseMat *N)
{
  PoiseMat T;
  TRY(PoiseMatTranspose(A, &T));
  *N = NULL;
  PoiseErr e = PoiseMatMatMult(T, A, N);
  PoiseMatDestroy(&T);
  return e;
}

/* No longer for least squares, or P was given: the matrices are the application's again. */
static PoiseErr Leave(PoiseKSP ksp)
{
  bool uses = ksp->normal.N && ksp->pc->P == ksp->normal.N;
  poiseKSPDropNormal(ksp);
  return uses ? poisePCUse(ksp->pc, ksp->given_P) : POISE_OK;
}

static PoiseErr Make(PoiseKSP ksp, bool diagonal)
{
  Normal *n = &ksp->normal;
  PoiseMat old = n->N; /* M may be made of it until now */
  n->N = NULL;
  PoiseErr e = diagonal ? Diagonal(ksp->A, &n->N) : Whole(ksp->A, &n->N);
  PoiseMatDestroy(&old);
  n->seen = e ? (Version){0} : ksp->A->version;
  n->diagonal = diagonal;
  return e;
}

PoiseErr poiseKSPFollowNormal(PoiseKSP ksp)
{
  Normal *n = &ksp->normal;
  bool diagonal = ksp->pc->type->pointwise;
  if (!poiseKSPMakesNormal(ksp)) return Leave(ksp);
  TRY(PoiseAgree(ksp->ctx, CheckHolds(ksp)));
  unsigned changed = poiseMatChanged(&n->seen, ksp->A) & (CHANGED_PATTERN | CHANGED_VALUES);
  bool kept = n->N && ksp->options.reuse && ksp->pc->built;
  if (!n->N || n->diagonal != diagonal || (changed && !kept)) TRY(Make(ksp, diagonal));
  return ksp->pc->P == n->N ? POISE_OK : poisePCUse(ksp->pc, n->N);
}
