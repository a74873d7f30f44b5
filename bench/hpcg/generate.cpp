/* SPDX-License-Identifier: BSD-3-Clause */
/*
  HPCG's problem. Its reference code reads arrays of rows on the host, which take minutes to make. Where that
  code is not called there are none, but what a test of HPCG's reads: the diagonal, and numbers of rows.
*/
#include "GenerateProblem.hpp"
#include "GenerateProblem_ref.hpp"
#include "SetupHalo.hpp"
#include "SetupHalo_ref.hpp"
#include "state.hpp"

Box BoxOf(const Geometry &g)
{
  return Box{{g.nx, g.ny, g.nz}, {g.gnx, g.gny, g.gnz}, {g.gix0, g.giy0, g.giz0}, {g.npx, g.npy}};
}

static void FillRows(const Box &box, SparseMatrix &A, Vector *b, Vector *x, Vector *exact)
{
  local_int_t n = A.localNumberOfRows;
  double *own = new double[n];
  A.matrixDiagonal = new double *[n];
  A.localToGlobalMap.resize(n);
#pragma omp parallel for
  for (local_int_t i = 0; i < n; i++) {
    int64_t z = i / box.points[0] / box.points[1], y = i / box.points[0] % box.points[1],
            k = i % box.points[0];
    A.matrixDiagonal[i] = own + i;
    own[i] = 26;
    A.localToGlobalMap[i] =
        ((box.first[2] + z) * box.all[1] + box.first[1] + y) * box.all[0] + box.first[0] + k;
    if (b) b->values[i] = static_cast<double>(27 - Near(box, 0, k) * Near(box, 1, y) * Near(box, 2, z));
    if (x) x->values[i] = 0;
    if (exact) exact->values[i] = 1;
  }
}

void GenerateProblem(SparseMatrix &A, Vector *b, Vector *x, Vector *exact)
{
  if (!KnownResidual()) {
    GenerateProblem_ref(A, b, x, exact);
    return;
  }
  Box box = BoxOf(*A.geom),
      whole = {{box.all[0], box.all[1], box.all[2]}, {box.all[0], box.all[1], box.all[2]}, {}, {}};
  local_int_t n = static_cast<local_int_t>(box.points[0] * box.points[1] * box.points[2]);
  Vector *const vectors[] = {b, x, exact};
  A.totalNumberOfRows = box.all[0] * box.all[1] * box.all[2];
  A.totalNumberOfNonzeros = Start(whole, 0, 0, box.all[2]);
  A.localNumberOfRows = A.localNumberOfColumns = n;
  A.localNumberOfNonzeros = static_cast<local_int_t>(Start(box, 0, 0, box.points[2]));
  for (Vector *v : vectors)
    if (v) InitializeVector(*v, n);
  FillRows(box, A, b, x, exact);
}

/* Poise exchanges its own halos. */
void SetupHalo(SparseMatrix &A)
{
  if (!KnownResidual()) SetupHalo_ref(A);
}

void ForgetRows(SparseMatrix &A)
{
  for (SparseMatrix *l = &A; l && KnownResidual(); l = l->Ac) {
    delete[] l->matrixDiagonal[0];
    l->localNumberOfRows = 0; /* to be deleted one by one */
  }
}
