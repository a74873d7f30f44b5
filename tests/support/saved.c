/* SPDX-License-Identifier: BSD-3-Clause */
#include "saved.h"

#include "sample.h"

bool IsSaved(PoiseInt i, PoiseInt j)
{
  return i % 11 != 3 && (i % 17 == 5 || j == i || TestRandom(7, (uint64_t)(i * 1000 + j)) > 0.8);
}

void CheckSavedMatrix(PoiseMat A, PoiseInt M, PoiseInt N, MatrixEntry *value)
{
  PoiseInt rows, cols, begin, m, b = PoiseMatBlockSize(A);
  int64_t *ptr, *col, k = 0;
  double *val;
  PoiseMatSizes(A, &rows, &cols);
  PoiseSplit(PoiseMatContext(A), M / b, &begin, &m);
  begin *= b, m *= b;
  if (!CHECK(rows == M && cols == N) || !CHECK_OK(PoiseMatCopyCSR(A, &ptr, &col, &val))) return;
  for (PoiseInt i = 0; i < m; i++) {
    CHECK_INT(ptr[i], k);
    for (PoiseInt j = 0; j < N; j++) {
      if (!IsSaved(begin + i, j)) continue;
      CHECK(k < ptr[m] && col[k] == j && SampleBits(val[k]) == SampleBits(value(begin + i, j)));
      k++;
    }
  }
  CHECK_INT(ptr[m], k);
  free(ptr), free(col), free(val);
}

void CheckSavedVector(PoiseVec x, PoiseInt n, PoiseInt N, VectorEntry *value)
{
  PoiseInt begin, end;
  const double *v;
  PoiseVecRange(x, &begin, &end);
  CHECK_INT(PoiseVecSize(x), N);
  if (n != POISE_DECIDE) CHECK_INT(PoiseVecLocalSize(x), n);
  if (!CHECK_OK(PoiseVecGetRead(x, &v))) return;
  for (PoiseInt i = begin; i < end; i++) CHECK(SampleBits(v[i - begin]) == SampleBits(value(i)));
  CHECK_OK(PoiseVecRestore(x, &v));
}

void CheckSavedVectorFile(PoiseContext ctx, const char *path, PoiseInt N, VectorEntry *value)
{
  PoiseInt n = PoiseRank(ctx) == 0 ? N : 0;
  PoiseInt local[] = {POISE_DECIDE, POISE_DECIDE, n, n}, global[] = {POISE_DECIDE, N, POISE_DECIDE, N};
  PoiseVec x;
  for (int k = 0; k < 4; k++) {
    if (CHECK_OK(PoiseVecLoad(ctx, local[k], global[k], path, &x))) CheckSavedVector(x, local[k], N, value);
    CHECK_OK(PoiseVecDestroy(&x));
  }
  CHECK_ERR(PoiseVecLoad(ctx, POISE_DECIDE, N + 1, path, &x), POISE_ERR_SIZE, "entries, ");
  CHECK_ERR(PoiseVecLoad(ctx, n + 1, POISE_DECIDE, path, &x), POISE_ERR_SIZE, "local sizes add up to");
  CHECK(!x);
  RemoveFile(ctx, path);
}

void CheckLargeFile(PoiseContext ctx, const char *path, PoiseInt M, PoiseInt N,
                    PoiseInt (*column)(PoiseInt i), VectorEntry *value)
{
  PoiseInt begin, m;
  PoiseMat A, B;
  PoiseSplit(ctx, M, &begin, &m);
  int64_t *ptr = malloc((size_t)(m + 1) * sizeof *ptr), *col = malloc((size_t)(m + 1) * sizeof *col);
  double *val = malloc((size_t)(m + 1) * sizeof *val);
  for (PoiseInt i = 0; i <= m; i++) ptr[i] = i, col[i] = column(begin + i), val[i] = value(begin + i);
  PoiseErr e = PoiseMatCreateCSR(ctx, m, POISE_DECIDE, M, N,
                                 &(PoiseCSR){.ptr64 = ptr, .col64 = col, .val = val}, POISE_COPY, &A);
  free(ptr), free(col), free(val);
  if (!CHECK_OK(e)) return;
  CHECK_OK(PoiseMatSave(A, path));
  if (CHECK_OK(PoiseMatLoad(ctx, path, &B)) && CHECK_OK(PoiseMatCopyCSR(B, &ptr, &col, &val))) {
    for (PoiseInt i = 0; i < m; i++)
      CHECK(ptr[i] == i && col[i] == column(begin + i) && SampleBits(val[i]) == SampleBits(value(begin + i)));
    free(ptr), free(col), free(val);
  }
  CHECK_OK(PoiseMatDestroy(&A));
  CHECK_OK(PoiseMatDestroy(&B));
  RemoveFile(ctx, path);
}

PoiseErr LoadAndSave(PoiseContext ctx, const char *matrix, const char *vector)
{
  PoiseMat A;
  PoiseVec x;
  POISE_TRY(PoiseMatLoad(ctx, matrix, &A));
  PoiseErr e = PoiseMatSave(A, matrix);
  PoiseMatDestroy(&A);
  POISE_TRY(e);
  POISE_TRY(PoiseVecLoad(ctx, POISE_DECIDE, POISE_DECIDE, vector, &x));
  e = PoiseVecSave(x, vector);
  PoiseVecDestroy(&x);
  return e;
}
