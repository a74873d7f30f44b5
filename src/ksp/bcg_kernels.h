/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The k x k matrices of block conjugate gradients (bcg.c): one text for the host and for a thread block of a
  GPU, whose `lanes` threads share the loops. A matrix has k rows of k numbers.
*/
#ifndef POISE_BCG_KERNELS_H
#define POISE_BCG_KERNELS_H

#include "bcg_phases.h"

/* Matrices that stay from kernel to kernel, one behind the other. -xi and D: of the step. T and zeta^T: of
   the latest factorization. C: the residuals are Q C. */
enum { BCG_MINUS_XI, BCG_D, BCG_T, BCG_ZETA_T, BCG_C, BCG_MATRICES };

enum { BCG_KEEP = 8 /* of flags, beside the norm: the first of two factorizations at the start */ };

typedef struct BcgArgs {
  int k, flags;
  const double *sums; /* G, and K behind it where the norm is of that */
  double *matrices;
  double *slots; /* of all columns */
  const double *skip;
  Systems systems;
} BcgArgs;

typedef struct BcgScratch {
  double m[POISE_MAX_COLUMNS][2 * POISE_MAX_COLUMNS];
  double scale[POISE_MAX_COLUMNS], factor[POISE_MAX_COLUMNS];
  int state[POISE_MAX_COLUMNS]; /* LEFT: no pivot (yet); PIVOT; ABSENT: a column of 0, or as good as that */
} BcgScratch;

enum { BCG_LEFT, BCG_PIVOT, BCG_ABSENT };

#ifdef __CUDA_ARCH__
#define BCG_SYNC() __syncthreads()
#else
#define BCG_SYNC()
#endif

/* Directions that are dependent to 3e-7 in one factorization are not told apart, as dots round to 1e-16. */
#define BCG_DEPENDENT 1e-13
/* The squared norm, of residuals of norm 1 before the step, below which one is rounding. */
#define BCG_NOTHING 1e-26

/* The largest pivot left; -1: none. */
POISE_INLINE int poiseBcgPivot(const BcgScratch *s, int k)
{
  int best = -1;
  for (int j = 0; j < k; j++)
    if (s->state[j] == BCG_LEFT && (best < 0 || s->m[j][j] > s->m[best][best])) best = j;
  return best;
}

/*
  Cholesky's factorization of the symmetric G with pivots, G = U^T U, and U^-1. m becomes [U | U^-T] of G
  scaled to a unit diagonal, but for the square root of each pivot. Rows without a pivot then hold what of
  that row does not depend on the others. Columns with G_jj <= nothing are left out. Returns whether the
  diagonal is that of a G which is positive semidefinite, and not 0.
*/
POISE_INLINE int poiseBcgFactor(BcgScratch *s, int k, const double *G, double nothing, int lane, int lanes)
{
  int good = 1, rank = 0;
  for (int j = 0; j < k; j++) good = good && poiseFinite(G[j * k + j]) && G[j * k + j] >= -nothing;
  for (int j = lane; j < k; j += lanes) {
    int absent = !(G[j * k + j] > nothing);
    s->state[j] = absent ? BCG_ABSENT : BCG_LEFT;
    s->scale[j] = absent ? 0 : 1 / sqrt(G[j * k + j]);
  }
  BCG_SYNC();
  for (int e = lane; e < k * k; e += lanes) {
    int i = e / k, j = e % k;
    s->m[i][j] =
        s->state[i] == BCG_ABSENT || s->state[j] == BCG_ABSENT ? 0 : G[e] * s->scale[i] * s->scale[j];
    s->m[i][k + j] = i == j;
  }
  BCG_SYNC();
  for (int p = poiseBcgPivot(s, k); p >= 0 && s->m[p][p] > BCG_DEPENDENT; p = poiseBcgPivot(s, k)) {
    BCG_SYNC(); /* all have seen the pivot */
    for (int i = lane; i < k; i += lanes) {
      s->factor[i] = s->state[i] == BCG_LEFT && i != p ? s->m[i][p] / s->m[p][p] : 0;
      if (i == p) s->state[i] = BCG_PIVOT;
    }
    BCG_SYNC();
    for (int e = lane; e < 2 * k * k; e += lanes) {
      int i = e / (2 * k), j = e % (2 * k);
      if (s->factor[i] != 0) s->m[i][j] -= s->factor[i] * s->m[p][j];
    }
    BCG_SYNC();
    rank++;
  }
  return good && rank > 0;
}

/* Entry (i, p) of T = U^-1 of G itself, and entry (p, j) of U; 0 where p is no pivot. */
POISE_INLINE double poiseBcgT(const BcgScratch *s, int k, int i, int p)
{
  return s->state[p] == BCG_PIVOT ? s->m[p][k + i] * s->scale[i] / sqrt(s->m[p][p]) : 0;
}

POISE_INLINE double poiseBcgU(const BcgScratch *s, int p, int j)
{
  return s->state[p] == BCG_PIVOT && s->scale[j] > 0 ? s->m[p][j] / s->scale[j] / sqrt(s->m[p][p]) : 0;
}

POISE_INLINE double *poiseBcgSlots(const BcgArgs *a, int column)
{
  return a->slots + poiseScalarsOf(&a->systems, column);
}

/* What the phases are told of the block. */
POISE_INLINE void poiseBcgTell(const BcgArgs *a, int good, int lane, int lanes)
{
  for (int j = lane; j < a->k; j += lanes)
    if (!good) poiseBcgSlots(a, j)[BCG_BROKEN] = 1;
}

/* bcg_step: G = S^T A S; xi = G^-1, D = xi C. */
POISE_INLINE void poiseBcgStep(const BcgArgs *a, BcgScratch *s, int lane, int lanes)
{
  int k = a->k, size = k * k;
  const double *C = a->matrices + BCG_C * size;
  double *xi = a->matrices + BCG_MINUS_XI * size, *D = a->matrices + BCG_D * size;
  int good = poiseBcgFactor(s, k, a->sums, 0, lane, lanes);
  poiseBcgTell(a, good, lane, lanes);
  for (int e = lane; e < size; e += lanes) {
    double sum = 0;
    for (int p = 0; p < k && good; p++) sum += poiseBcgT(s, k, e / k, p) * poiseBcgT(s, k, e % k, p);
    xi[e] = -sum;
  }
  BCG_SYNC();
  for (int e = lane; e < size; e += lanes) {
    double sum = 0;
    int i = e / k, j = e % k;
    for (int l = 0; l < k; l++) sum -= xi[i * k + l] * C[l * k + j];
    D[e] = sum;
  }
  for (int j = lane; j < k; j += lanes) {
    double *slots = poiseBcgSlots(a, j);
    slots[BCG_STAYS] = slots[SLOT_DONE] != 0 || !good;
  }
}

/* The squares of the norms of residuals (new Q) C, from C^T K C. */
POISE_INLINE void poiseBcgNorms(const BcgArgs *a, BcgScratch *s, const double *K, int lane, int lanes)
{
  int k = a->k, size = k * k;
  const double *C = a->matrices + BCG_C * size;
  for (int e = lane; e < size; e += lanes) {
    double sum = 0;
    for (int l = 0; l < k; l++) sum += K[e / k * k + l] * C[l * k + e % k];
    s->m[e / k][e % k] = sum;
  }
  BCG_SYNC();
  for (int j = lane; j < k; j += lanes) {
    double sum = 0;
    for (int i = 0; i < k; i++) sum += C[i * k + j] * s->m[i][j];
    poiseBcgSlots(a, j)[BCG_SQUARE] = sum;
  }
  BCG_SYNC();
}

/* bcg_factor: G = Q'^T M^-1 Q'; T, so that Q = Q' T is orthonormal, zeta = T^-1, C = zeta C. With BCG_KEEP,
   C = zeta, and what almost depends on other columns is kept beside them without that part, so that the next
   factorization sees it in full. */
POISE_INLINE void poiseBcgOrthonormalize(const BcgArgs *a, BcgScratch *s, int lane, int lanes)
{
  int k = a->k, size = k * k, keep = a->flags & BCG_KEEP;
  double *T = a->matrices + BCG_T * size, *zeta = a->matrices + BCG_ZETA_T * size,
         *C = a->matrices + BCG_C * size;
  int good = poiseBcgFactor(s, k, a->sums, keep ? 0 : BCG_NOTHING, lane, lanes);
  poiseBcgTell(a, good, lane, lanes);
  for (int e = lane; e < size; e += lanes) {
    int i = e / k, p = e % k, kept = keep && s->state[p] == BCG_LEFT;
    T[e] = !good ? 0 : kept ? s->m[p][k + i] * s->scale[i] : poiseBcgT(s, k, i, p);
    zeta[e] = !good ? 0 : kept ? (i == p ? 1 / s->scale[p] : 0) : poiseBcgU(s, p, i);
  }
  BCG_SYNC();
  for (int e = lane; e < size; e += lanes) {
    double sum = 0;
    for (int l = 0; l < k && !keep; l++) sum += zeta[l * k + e / k] * C[l * k + e % k];
    s->m[e / k][k + e % k] = keep ? zeta[e % k * k + e / k] : sum;
  }
  BCG_SYNC();
  for (int e = lane; e < size; e += lanes) C[e] = s->m[e / k][k + e % k];
}

POISE_INLINE void poiseBcgAfter(const BcgArgs *a, BcgScratch *s, int lane, int lanes)
{
  int norm = a->flags & CG_NORM;
  const double *K = norm == NORM_NATURAL || norm == NORM_NONE ? a->sums : a->sums + a->k * a->k;
  if (norm) poiseBcgNorms(a, s, K, lane, lanes);
  poiseBcgOrthonormalize(a, s, lane, lanes);
}

#endif
