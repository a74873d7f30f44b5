/* SPDX-License-Identifier: BSD-3-Clause */
/* Vectors of HPCG that have a PoiseVec beside their array, and its routines on them. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include "ComputeDotProduct.hpp"
#include "ComputeWAXPBY.hpp"
#include "hpcg.hpp"
#include "state.hpp"

State state;

struct Twin {
  PoiseVec x;
  bool behind; /* the host works on HPCG's array */
};

void Check(PoiseErr e)
{
  if (!e) return;
  std::fprintf(stderr, "%s\n", PoiseErrorMessage());
  HPCG_fout << PoiseErrorMessage() << std::endl;
  std::abort();
}

static Twin *TwinOf(const Vector &v)
{
  return static_cast<Twin *>(v.optimizationData);
}

static void Take(const Vector &v, Twin *twin)
{
  double *p;
  Check(PoiseVecGetWrite(twin->x, &p));
  std::memcpy(p, v.values, sizeof *p * (std::size_t)PoiseVecLocalSize(twin->x));
  Check(PoiseVecRestore(twin->x, &p));
  twin->behind = false;
}

PoiseVec Given(const Vector &v)
{
  Twin *twin = TwinOf(v);
  if (!twin) {
    twin = new Twin{NULL, true};
    Check(PoiseMatCreateVecs(state.level[0], NULL, &twin->x));
    const_cast<Vector &>(v).optimizationData = twin;
    state.vectors++;
  }
  if (twin->behind) Take(v, twin);
  return twin->x;
}

void TakeToHost(const Vector &v)
{
  Twin *twin = TwinOf(v);
  const double *p;
  if (!twin || twin->behind) return;
  Check(PoiseVecGetRead(twin->x, &p));
  std::memcpy(v.values, p, sizeof *p * (std::size_t)PoiseVecLocalSize(twin->x));
  Check(PoiseVecRestore(twin->x, &p));
  twin->behind = true;
}

bool CopyOnDevice(const Vector &v, Vector &w)
{
  if (!TwinOf(v) || !TwinOf(w)) return false;
  Check(PoiseVecCopy(Given(v), Given(w)));
  return true;
}

bool ZeroOnDevice(Vector &v)
{
  if (!TwinOf(v)) return false;
  Check(PoiseVecSet(Given(v), 0));
  return true;
}

/* The last one ends the library, which comes before MPI ends. */
void Forget(Vector &v)
{
  Twin *twin = TwinOf(v);
  if (!twin) return;
  PoiseVec x = Given(v);
  PoiseVecDestroy(&x);
  delete twin;
  v.optimizationData = NULL;
  if (--state.vectors == 0 && state.level.empty()) Check(PoiseFinalize(&state.ctx));
}

int ComputeDotProduct(const local_int_t, const Vector &x, const Vector &y, double &result, double &,
                      bool &optimised)
{
  optimised = true;
  Check(PoiseVecDot(Given(x), Given(y), &result));
  return 0;
}

/* w = alpha x + beta y; w may be x or y. */
int ComputeWAXPBY(const local_int_t, const double alpha, const Vector &x, const double beta, const Vector &y,
                  Vector &w, bool &optimised)
{
  PoiseVec X = Given(x), Y = Given(y), W = Given(w);
  optimised = true;
  if (W == Y)
    Check(PoiseVecAXPBY(W, alpha, beta, X));
  else if (W == X)
    Check(PoiseVecAXPBY(W, beta, alpha, Y));
  else if (alpha == 1 && beta != 0)
    Check(PoiseVecWAXPY(W, beta, Y, X));
  else {
    Check(PoiseVecCopy(X, W));
    if (alpha != 1 || beta != 0) Check(PoiseVecAXPBY(W, beta, alpha, Y));
  }
  return 0;
}
