/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Phases of wide vectors. One kernel has a thread block for each system: it takes the system's sums, runs its
  prologue, and leaves the coefficients. The last of them looks at all systems together. Another kernel does
  the rows of all columns with them.
*/
#include "wide.h"

#include "ksp/phases.h"

typedef int (*Begin)(const double *in, double *out, const PhaseArgs *a, double *c);
typedef Dots (*Element)(const double *c, const PhaseArgs *a, int64_t i);

enum {
  PLAIN = 0,
  DECIDES = 1,
  EPILOGUE = 0,
  EXCHANGES = 0
}; /* kinds of phases, as far as they differ here */
enum { SUM = COMBINE_SUM, MAX = COMBINE_MAX };

/* Of systems.work: go[column], coefficients[column][...], and how many thread blocks have arrived. */
enum { GO = 0, COEFFICIENTS = POISE_MAX_COLUMNS, ARRIVED = POISE_SYSTEMS_WORK - 1 };

/* The sums of a system, in every thread block's fixed order; and the slots of before. */
__device__ __forceinline__ void TakeSums(const PhaseArgs &a, double *in)
{
  if (threadIdx.x < POISE_SLOTS && a.slots) in[threadIdx.x] = a.slots[threadIdx.x];
  __syncthreads();
  for (int k = 0; k < a.nsum; k++) {
    double s[1] = {0};
    for (int64_t b = threadIdx.x; b < a.sum[k].count; b += THREADS) s[0] += a.sum[k].partial[b];
    BlockReduce<1, COMBINE_SUM>(s);
    if (threadIdx.x != 0) continue;
    *a.sum[k].dst = s[0];
    if (a.slots) in[a.sum[k].dst - a.slots] = s[0];
  }
  __syncthreads();
}

/* Is the phase skipped? A plain one also hands DONE on. */
__device__ __forceinline__ bool Skips(const PhaseArgs &a, bool decides)
{
  if (!a.slots) return a.skip && *a.skip != 0;
  bool skip = a.slots[decides ? SLOT_SEEN : SLOT_DONE] != 0;
  if (!decides && threadIdx.x == 0) a.slots[SLOT_SEEN] = a.slots[SLOT_DONE];
  return skip;
}

/* Is this the last thread block of the grid? Then all that the others wrote is seen. */
__device__ __forceinline__ bool ArrivesLast(double *counter)
{
  unsigned *arrived = (unsigned *)counter;
  __threadfence();
  bool last = atomicAdd(arrived, 1u) == gridDim.x - 1;
  if (last) *arrived = 0;
  __threadfence();
  return last;
}

template <Begin BEGIN, bool DECIDING>
static __global__ void __launch_bounds__(THREADS) SetScalars(const __grid_constant__ PhaseArgs a)
{
  __shared__ PhaseArgs one;
  __shared__ double in[POISE_SLOTS];
  double *work = a.systems.work;
  int column = blockIdx.x, go = 0;
  PdlLaunchDependents();
  if (threadIdx.x == 0) {
    one = a;
    poisePhaseOfColumn(&one, column);
  }
  __syncthreads();
  PdlWait();
  bool skip = Skips(one, DECIDING);
  __syncthreads();
  if (!skip) TakeSums(one, in);
  if (threadIdx.x != 0) return;
  double c[POISE_MAX_COEFS] = {0};
  if (!skip) go = BEGIN(one.slots ? in : NULL, one.slots, &one, c);
  work[GO + column] = go;
  for (int k = 0; k < POISE_MAX_COEFS; k++) work[COEFFICIENTS + column * POISE_MAX_COEFS + k] = c[k];
  if (a.slots && ArrivesLast(work + ARRIVED)) poiseJoinSystems(&a);
}

template <Element ELEMENT, int NDOT, int COMBINE>
static __global__ void __launch_bounds__(THREADS) RunRows(const __grid_constant__ PhaseArgs a)
{
  Columns c(a.systems.n);
  int64_t rows = poisePhaseRows(&a), first = blockIdx.x * rows,
          last = first + rows < a.n ? first + rows : a.n;
  double coefficient[POISE_MAX_COEFS], s[NDOT > 0 ? NDOT : 1] = {0};
  const double *work = a.systems.work;
  PhaseRow row;
  (PhaseArgs &)row = a;
  PdlLaunchDependents();
  PdlWait();
  bool go = c.column >= 0 && __ldcg(work + GO + c.column) != 0;
  for (int k = 0; k < POISE_MAX_COEFS && go; k++)
    coefficient[k] = __ldcg(work + COEFFICIENTS + c.column * POISE_MAX_COEFS + k);
  if (go)
    for (int64_t e = first * c.k + threadIdx.x; e < last * c.k; e += c.step) {
#pragma unroll
      for (int k = 0; k < POISE_MAX_VECS; k++)
        row.read[k] = !a.in[k] ? 0 : a.systems.alike >> k & 1 ? a.in[k][e / c.k] : a.in[k][e];
      Dots t = ELEMENT(coefficient, &row, e);
#pragma unroll
      for (int k = 0; k < NDOT; k++) s[k] = Join<COMBINE>(s[k], t.d[k]);
    }
  if constexpr (NDOT > 0)
    SumColumns<NDOT, COMBINE>(c, s, [&](int column, int k, double sum) {
      if (a.partial[k] && __ldcg(work + GO + column) != 0)
        a.partial[k][blockIdx.x + column * a.systems.partials] = sum;
    });
}

typedef void (*PhaseKernel)(PhaseArgs);

static const PhaseKernel scalars[] = {
#define PHASE(name, ndot, combine, kind) SetScalars<name##_begin, (kind) == DECIDES>,
#define SCALARS(name)                    SetScalars<name##_begin, false>,
#include "sys/device/phases.def"
#undef PHASE
#undef SCALARS
};

static const PhaseKernel rows[] = {
#define PHASE(name, ndot, combine, kind) RunRows<name##_element, ndot, combine>,
#define SCALARS(name)                    nullptr,
#include "sys/device/phases.def"
#undef PHASE
#undef SCALARS
};

extern "C" PoiseErr poiseCuda_phase_columns(Device *dev, const void *args)
{
  const PhaseArgs *a = (const PhaseArgs *)args;
  TRY(LaunchPdl(dev, scalars[a->id], (unsigned)a->systems.n, THREADS, 0, *a));
  unsigned blocks = (unsigned)poisePhaseBlocks(a);
  return blocks ? LaunchPdl(dev, rows[a->id], blocks, THREADS, 0, *a) : POISE_OK;
}
