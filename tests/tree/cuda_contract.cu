/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The kernel contract as device code: every phase compiles in a kernel, and argument structs can be passed to
  one. Compiled only; a phase listed in phases.def or a kernel in kernels.def whose header is missing here is
  an error.
*/
#include <type_traits>

#include "sys/device/kernels.h"
#include "sys/link/link_kernels.h"
#include "ksp/bcg_kernels.h"
#include "ksp/bcg_phases.h"
#include "ksp/bicg_phases.h"
#include "ksp/bicgstab_phases.h"
#include "ksp/bicgstabl_phases.h"
#include "ksp/cg_phases.h"
#include "ksp/cgs_phases.h"
#include "ksp/directions_phases.h"
#include "ksp/gmres_phases.h"
#include "ksp/idr_phases.h"
#include "ksp/lgmres_phases.h"
#include "ksp/lsqr_phases.h"
#include "ksp/minres_phases.h"
#include "ksp/phases.h"
#include "ksp/prcg_phases.h"
#include "ksp/preonly_phases.h"
#include "ksp/qmr_phases.h"
#include "ksp/qmrcgs_phases.h"
#include "ksp/stationary_phases.h"
#include "ksp/sweeps_phases.h"
#include "ksp/symmlq_phases.h"
#include "ksp/tfqmr_phases.h"
#include "mat/product/bcsr_kernels.h"
#include "mat/product/csr_columns_kernels.h"
#include "mat/assembly/coo_kernels.h"
#include "mat/assembly/shared_rows_kernels.h"
#include "mat/product/csr_statistics_kernels.h"
#include "mat/csr/csr_values_kernels.h"
#include "mat/csr/find_kernels.h"
#include "mat/csr/ghosts_kernels.h"
#include "mat/product/hubs_kernels.h"
#include "mat/csr/keys_kernels.h"
#include "mat/csr/joined_kernels.h"
#include "mat/multiply/fetched_rows_kernels.h"
#include "mat/multiply/spgemm_kernels.h"
#include "mat/product/seg_kernels.h"
#include "mat/multiply/same_pattern_kernels.h"
#include "mat/storage/from_blocks_kernels.h"
#include "mat/storage/to_blocks_kernels.h"
#include "mat/product/transposed_kernels.h"
#include "pc/amg/aggregate_kernels.h"
#include "pc/amg/amg_kernels.h"
#include "pc/amg/bottom_kernels.h"
#include "pc/amg/diagonal_kernels.h"
#include "pc/amg/interpolation_kernels.h"
#include "pc/amg/lambda_kernels.h"
#include "pc/amg/opposite_kernels.h"
#include "pc/amg/ranks_kernels.h"
#include "pc/amg/redundant_kernels.h"
#include "pc/amg/scaling_kernels.h"
#include "pc/amg/steps_kernels.h"
#include "pc/amg/strength_kernels.h"
#include "pc/amg/sweeps_kernels.h"
#include "pc/amg/tentative_kernels.h"
#include "pc/blocks_kernels.h"
#include "pc/colour_factor_kernels.h"
#include "pc/colours_kernels.h"
#include "pc/factor_kernels.h"
#include "pc/jacobi_sweeps_kernels.h"
#include "pc/lu_kernels.h"
#include "pc/supervariables_kernels.h"
#include "pc/triangle_entries_kernels.h"
#include "vec/gram_kernels.h"
#include "vec/vec_kernels.h"
#include "vec/vec_phases.h"

template <int (*Begin)(const double *, double *, const PhaseArgs *, double *),
          Dots (*Element)(const double *, const PhaseArgs *, int64_t)>
__global__ void RunPhase(PhaseArgs a, const double *in)
{
  double c[POISE_MAX_COEFS] = {0};
  if (!Begin(in, a.slots, &a, c)) return;
  for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < a.n;
       i += gridDim.x * (int64_t)blockDim.x) {
    Dots t = Element(c, &a, i);
    for (int k = 0; k < POISE_MAX_DOTS; k++)
      if (a.partial[k]) atomicAdd(a.partial[k], t.d[k]);
  }
}

template <int (*Begin)(const double *, double *, const PhaseArgs *, double *)>
__global__ void RunScalars(PhaseArgs a, const double *in)
{
  double c[POISE_MAX_COEFS] = {0};
  Begin(in, a.slots, &a, c);
}

#define PHASE(name, ndot, combine, kind) \
  template __global__ void RunPhase<name##_begin, name##_element>(PhaseArgs, const double *);
#define SCALARS(name) template __global__ void RunScalars<name##_begin>(PhaseArgs, const double *);
#include "sys/device/phases.def"
#undef PHASE
#undef SCALARS

#define KERNEL(name, Args) \
  static_assert(std::is_trivially_copyable<Args>::value && sizeof(Args) <= 4096, "kernel " #name);
#define HOST_KERNEL(name, Args)
#include "sys/device/kernels.def"
#undef KERNEL
