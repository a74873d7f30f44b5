/* SPDX-License-Identifier: BSD-3-Clause */
/*
  HPCG's matrices and multigrid by Poise: products of csr, and PC mg with injection, whose smoother is a
  symmetric sweep of sor by colours. POISE_OPTIONS and the option prefix of no object stand for all settings.
*/
#include <cstdio>
#include <cstdlib>
#include "ComputeMG.hpp"
#include "ComputeResidual.hpp"
#include "ComputeSPMV.hpp"
#include "ComputeSYMGS.hpp"
#include "ComputeSYMGS_ref.hpp"
#include "OptimizeProblem.hpp"
#include "state.hpp"

/* For the library to free. */
template <typename T> static T *Take(std::size_t n)
{
  T *p = static_cast<T *>(std::malloc(n * sizeof(T)));
  if (p) return p;
  std::fprintf(stderr, "out of memory: %zu bytes of a matrix\n", n * sizeof(T));
  std::abort();
}

/* Int: of columns, wide enough for all rows. */
template <typename Int> static void Fill(const Box &box, int64_t n, int64_t *ptr, Int *col, double *val)
{
#pragma omp parallel for
  for (int64_t i = 0; i < n; i++) MakeRow(box, i, ptr, col, val);
}

static void MakeRows(const Box &box, int64_t n, bool wide, Rows *rows)
{
  int64_t entries = Start(box, 0, 0, box.points[2]);
  rows->ptr = Take<int64_t>(n + 1);
  rows->val = Take<double>(entries);
  if (wide)
    Fill(box, n, rows->ptr, rows->wide = Take<int64_t>(entries), rows->val);
  else
    Fill(box, n, rows->ptr, rows->col = Take<int32_t>(entries), rows->val);
}

/* The rows where Poise works. */
static void Create(const SparseMatrix &A, PoiseMat *B)
{
  PoiseInt n = A.localNumberOfRows, N = A.totalNumberOfRows;
  Box box = BoxOf(*A.geom);
  Rows rows = {};
  bool wide = N > INT32_MAX;
  void *stream = PoiseStream(state.ctx);
#ifdef POISE_HAVE_CUDA
  const char *failed = stream ? MakeRowsOnGpu(stream, box, n, wide, &rows) : NULL;
  if (failed) {
    std::fprintf(stderr, "a matrix of %lld rows on the GPU: %s\n", (long long)n, failed);
    std::abort();
  }
#endif
  if (!rows.ptr) MakeRows(box, n, wide, &rows);
  PoiseCSR csr = {NULL, rows.col, rows.ptr, rows.wide, rows.val, 0};
  Check((stream ? PoiseMatCreateDeviceCSR : PoiseMatCreateCSR)(state.ctx, n, n, N, N, &csr, POISE_ADOPT, B));
  Check(PoiseMatSetFromOptions(*B));
}

static const char *const settings[][2] = {
    {"mg_levels_ksp_type", "richardson"},  {"mg_levels_ksp_max_it", "1"},     {"mg_levels_pc_type", "sor"},
    {"mg_levels_pc_sor_order", "colours"}, {"mg_coarse_ksp_type", "preonly"}, {"mg_coarse_pc_type", "sor"},
    {"mg_coarse_pc_sor_order", "colours"}};

static void CreateMultigrid(const SparseMatrix &A)
{
  int levels = (int)state.level.size();
  const SparseMatrix *fine = &A;
  for (const auto &s : settings)
    if (!PoiseOptionsHas(state.ctx, NULL, s[0], NULL)) Check(PoiseOptionsSet(state.ctx, s[0], s[1]));
  Check(PoisePCCreate(state.ctx, &state.mg));
  Check(PoisePCSetType(state.mg, "mg"));
  Check(PoisePCSetOperator(state.mg, state.level[0]));
  Check(PoisePCMGSetLevels(state.mg, levels));
  for (int l = levels - 1; l > 0; l--, fine = fine->Ac) {
    local_int_t n = fine->Ac->localNumberOfRows;
    std::vector<PoiseInt> rows(fine->mgData->f2cOperator, fine->mgData->f2cOperator + n);
    Check(PoisePCMGSetInjection(state.mg, l, n, rows.data()));
    Check(PoisePCMGSetOperator(state.mg, l - 1, state.level[levels - l]));
  }
  Check(PoisePCSetFromOptions(state.mg));
  Check(PoisePCSetUp(state.mg));
}

int OptimizeProblem(SparseMatrix &A, CGData &, Vector &, Vector &, Vector &)
{
  for (SparseMatrix *l = &A; l; l = l->Ac) {
    state.level.push_back(NULL);
    Create(*l, &state.level.back());
  }
  CreateMultigrid(A);
  const char *view;
  if (PoiseOptionsHas(state.ctx, NULL, "hpcg_view", &view)) {
    Check(PoiseView(state.ctx));
    Check(PoiseMatView(state.level[0]));
    Check(PoisePCView(state.mg));
  }
  return 0;
}

double OptimizeProblemMemoryUse(const SparseMatrix &)
{
  double sum = 0;
  PoiseBytes held;
  for (PoiseMat A : state.level)
    if (!PoiseMatBytes(A, &held, NULL)) sum += (double)(held.host + held.device);
  if (!PoisePCBytes(state.mg, &held)) sum += (double)(held.host + held.device);
  return sum;
}

void ReplaceDiagonal(SparseMatrix &A)
{
  PoiseVec d;
  double *p;
  if (state.level.empty()) return;
  Check(PoiseMatCreateVecs(state.level[0], &d, NULL));
  Check(PoiseVecGetWrite(d, &p));
  for (local_int_t i = 0; i < A.localNumberOfRows; i++) p[i] = *A.matrixDiagonal[i];
  Check(PoiseVecRestore(d, &p));
  Check(PoiseMatSetDiagonal(state.level[0], d));
  PoiseVecDestroy(&d);
}

void ForgetMatrix()
{
  if (state.level.empty()) return;
  PoisePCDestroy(&state.mg);
  PoisePCDestroy(&state.sor);
  for (PoiseMat &A : state.level) PoiseMatDestroy(&A);
  state.level.clear();
}

int ComputeSPMV(const SparseMatrix &A, Vector &x, Vector &y)
{
  A.isSpmvOptimized = true;
  Check(PoiseMatMult(state.level[0], Given(x), Given(y)));
  return 0;
}

int ComputeMG(const SparseMatrix &A, const Vector &r, Vector &x)
{
  A.isMgOptimized = true;
  Check(PoisePCApply(state.mg, Given(r), Given(x)));
  return 0;
}

/* HPCG's own multigrid alone calls it. */
int ComputeSYMGS(const SparseMatrix &A, const Vector &r, Vector &x)
{
  return ComputeSYMGS_ref(A, r, x);
}

/* HPCG's is on the host. */
int ComputeResidual(const local_int_t, const Vector &v, const Vector &w, double &residual)
{
  PoiseVec d;
  Check(PoiseVecDuplicate(Given(v), &d));
  Check(PoiseVecWAXPY(d, -1, Given(w), Given(v)));
  Check(PoiseVecNorm(d, POISE_NORM_INF, &residual));
  PoiseVecDestroy(&d);
  return 0;
}
