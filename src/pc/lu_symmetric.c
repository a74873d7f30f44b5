/* SPDX-License-Identifier: BSD-3-Clause */
/* Is A symmetric, and may it be positive definite (lu.h)? */
#include "lu.h"

/* Each row is compared with its column, whose entries come in the order of the rows. */
PoiseErr poiseLUIsSymmetric(PoiseContext ctx, const HostMatrix *A, bool *symmetric)
{
  int *next, n = (int)A->n;
  bool same = true;
  TRY(poiseAllocArray(ctx, n, sizeof *next, "places in rows", &next));
  for (int i = 0; i < n; i++) next[i] = A->ptr[i];
  for (int i = 0; i < n && same; i++) {
    bool diagonal = false;
    for (int k = A->ptr[i]; k < A->ptr[i + 1] && same; k++) {
      int j = A->index[k], mirror = next[j]++;
      diagonal |= i == j && A->val[k] != 0;
      same = mirror < A->ptr[j + 1] && A->index[mirror] == i &&
             fabs(A->val[k] - A->val[mirror]) <= LU_ROUNDING * fabs(A->val[k]);
    }
    same = same && diagonal;
  }
  *symmetric = same;
  poiseFree(ctx, &next);
  return POISE_OK;
}

Singular poiseLUCheckDefinite(const HostMatrix *A, bool symmetric)
{
  for (int64_t i = 0; i < A->n; i++) {
    double diagonal = 0;
    for (int k = A->ptr[i]; k < A->ptr[i + 1]; k++)
      if (A->index[k] == i) diagonal = A->val[k];
    if (!(diagonal > 0)) return (Singular){INDEFINITE, i, diagonal < 0 ? -1 : 0};
  }
  return (Singular){symmetric ? 0 : UNSYMMETRIC, 0, 0};
}
