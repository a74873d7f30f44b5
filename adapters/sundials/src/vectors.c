/* SPDX-License-Identifier: BSD-3-Clause */
/* An N_Vector whose entries are one array of the host, as a vector of Poise over that array. */
#include <mpi.h>

#include <nvector/nvector_parallel.h>

#include "adapter.h"

static const char *const kinds[] = {
    [SUNDIALS_NVEC_SERIAL] = "serial",
    [SUNDIALS_NVEC_PARALLEL] = "parallel",
    [SUNDIALS_NVEC_OPENMP] = "OpenMP",
    [SUNDIALS_NVEC_PTHREADS] = "Pthreads",
    [SUNDIALS_NVEC_PARHYP] = "ParHyp",
    [SUNDIALS_NVEC_PETSC] = "PETSc",
    [SUNDIALS_NVEC_CUDA] = "CUDA",
    [SUNDIALS_NVEC_HIP] = "HIP",
    [SUNDIALS_NVEC_SYCL] = "SYCL",
    [SUNDIALS_NVEC_RAJA] = "RAJA",
    [SUNDIALS_NVEC_KOKKOS] = "Kokkos",
    [SUNDIALS_NVEC_OPENMPDEV] = "OpenMPDEV",
    [SUNDIALS_NVEC_TRILINOS] = "Trilinos",
    [SUNDIALS_NVEC_MANYVECTOR] = "ManyVector",
    [SUNDIALS_NVEC_MPIMANYVECTOR] = "MPIManyVector",
    [SUNDIALS_NVEC_MPIPLUSX] = "MPIPlusX",
    [SUNDIALS_NVEC_CUSTOM] = "custom",
};

static const char *KindWords(N_Vector v)
{
  const unsigned k = v->ops->nvgetvectorid ? (unsigned)N_VGetVectorID(v) : SUNDIALS_NVEC_CUSTOM;
  return k < sizeof kinds / sizeof *kinds && kinds[k] ? kinds[k] : "unknown";
}

PoiseErr CheckKind(PoiseContext ctx, N_Vector v)
{
  if (!v || !v->ops) POISE_FAIL(POISE_ERR_ARG, "there is no N_Vector");
  const N_Vector_ID id = v->ops->nvgetvectorid ? N_VGetVectorID(v) : SUNDIALS_NVEC_CUSTOM;
  if (id == SUNDIALS_NVEC_PARALLEL) {
    int ranks = 0, rank = 0;
    MPI_Comm_size(NV_COMM_P(v), &ranks);
    MPI_Comm_rank(NV_COMM_P(v), &rank);
    if (ranks != PoiseSize(ctx) || rank != PoiseRank(ctx))
      POISE_FAIL(POISE_ERR_ARG, "this is rank %d of %d of the vector, and rank %d of %d of the context", rank,
                 ranks, PoiseRank(ctx), PoiseSize(ctx));
    return POISE_OK;
  }
  if (id != SUNDIALS_NVEC_SERIAL && id != SUNDIALS_NVEC_OPENMP && id != SUNDIALS_NVEC_PTHREADS)
    POISE_FAIL(POISE_ERR_UNSUPPORTED,
               "an N_Vector of kind %s: it can be serial, OpenMP, Pthreads or parallel (MPI)", KindWords(v));
  if (PoiseSize(ctx) > 1)
    POISE_FAIL(POISE_ERR_ARG, "an N_Vector of kind %s, and a context of %d ranks: it must be parallel (MPI)",
               KindWords(v), PoiseSize(ctx));
  return POISE_OK;
}

static PoiseErr CheckSizes(PoiseContext ctx, N_Vector v, PoiseInt n, PoiseInt N)
{
  POISE_TRY(CheckKind(ctx, v));
  const PoiseInt all = N_VGetLength(v);
  const PoiseInt here = N_VGetVectorID(v) == SUNDIALS_NVEC_PARALLEL ? NV_LOCLENGTH_P(v) : all;
  if (here != n) /* on all ranks equal, so are the sums */
    POISE_FAIL(POISE_ERR_SIZE,
               "the N_Vector has %lld entries, %lld of them on rank %d; the matrix has %lld and %lld rows",
               (long long)all, (long long)here, PoiseRank(ctx), (long long)N, (long long)n);
  return POISE_OK;
}

PoiseErr LendVector(PoiseContext ctx, N_Vector v, PoiseInt n, PoiseInt N, PoiseVec *lent)
{
  POISE_TRY(PoiseAgree(ctx, CheckSizes(ctx, v, n, N)));
  POISE_TRY(PoiseVecCreateArray(ctx, n, N, N_VGetArrayPointer(v), POISE_BORROW, lent));
  return POISE_OK;
}
