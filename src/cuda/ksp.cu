/* SPDX-License-Identifier: BSD-3-Clause */
/* The GPU driver of phases: every block takes the pending sums, runs the prologue, and does POISE_BLOCK rows. */
#include "cuda.h"

#include "../vec/vec_phases.h"
#include "../ksp/cg_phases.h"
#include "../ksp/bicgstab_phases.h"
#include "../ksp/gmres_phases.h"
#include "../ksp/minres_phases.h"
#include "../ksp/preonly_phases.h"
#include "../ksp/stationary_phases.h"

enum { FEW = 512 }; /* partials that every block may sum for itself; of more, a kernel before makes PIECES */

typedef int (*Begin)(const double *in, double *out, const PhaseArgs *a, double *c);
typedef Dots (*Element)(const double *c, const PhaseArgs *a, int64_t i);

struct Prologue { /* shared by the threads of a block */
  double in[POISE_SLOTS], out[POISE_SLOTS], c[POISE_MAX_COEFS], history;
  PhaseArgs args; /* of the blocks but the first: their prologues record no history */
  int skip, go;
};

/* in[] = the slots with the pending sums put in; block 0 publishes them. */
__device__ __forceinline__ void TakeSums(const PhaseArgs &a, Prologue &p)
{
  if (threadIdx.x < POISE_SLOTS && a.slots) p.in[threadIdx.x] = a.slots[threadIdx.x];
  __syncthreads();
  for (int k = 0; k < a.nsum; k++) {
    double s[1] = {0};
    for (int64_t b = threadIdx.x; b < a.sum[k].count; b += THREADS) s[0] += a.sum[k].partial[b];
    BlockReduce<1, COMBINE_SUM>(s);
    if (threadIdx.x != 0) continue;
    if (a.slots) p.in[a.sum[k].dst - a.slots] = s[0];
    if (blockIdx.x == 0) *a.sum[k].dst = s[0];
  }
}

template <Begin BEGIN, Element ELEMENT, int NDOT, int COMBINE, bool DECIDES>
static __global__ void __launch_bounds__(THREADS) RunPhase(const __grid_constant__ PhaseArgs a)
{
  __shared__ Prologue p;
  if (threadIdx.x == 0) {
    double done = a.slots ? a.slots[SLOT_DONE] : 0;
    p.skip = a.slots && (DECIDES ? a.slots[SLOT_SEEN] : done) != 0; /* one read for the block: others may be setting it */
    if (!DECIDES && a.slots && blockIdx.x == 0) a.slots[SLOT_SEEN] = done;
  }
  if (blockIdx.x) { /* the first block works on the real arguments */
    const uint64_t *from = (const uint64_t *)&a;
    for (int k = threadIdx.x; k < (int)(sizeof a / sizeof *from); k += THREADS) ((uint64_t *)&p.args)[k] = from[k];
  }
  __syncthreads();
  if (p.skip) return;
  TakeSums(a, p);
  if (threadIdx.x == 0) {
    if (blockIdx.x) p.args.conv.history = &p.history, p.args.conv.mask = 0;
    for (int k = 0; k < POISE_MAX_COEFS; k++) p.c[k] = 0;
    p.go = BEGIN(a.slots ? p.in : NULL, !a.slots ? NULL : blockIdx.x ? p.out : a.slots, blockIdx.x ? &p.args : &a, p.c);
  }
  __syncthreads();
  if (!p.go || a.n == 0) return;
  double c[POISE_MAX_COEFS], s[NDOT > 0 ? NDOT : 1];
  for (int k = 0; k < POISE_MAX_COEFS; k++) c[k] = p.c[k];
  for (int k = 0; k < NDOT; k++) s[k] = 0;
  int64_t first = (int64_t)blockIdx.x * POISE_BLOCK + threadIdx.x;
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    int64_t i = first + r * THREADS;
    if (i >= a.n) break;
    Dots t = ELEMENT(c, &a, i);
    for (int k = 0; k < NDOT; k++) s[k] = Join<COMBINE>(s[k], t.d[k]);
  }
  if (NDOT == 0) return;
  BlockReduce<(NDOT > 0 ? NDOT : 1), COMBINE>(s);
  if (threadIdx.x == 0)
    for (int k = 0; k < NDOT; k++)
      if (a.partial[k]) a.partial[k][blockIdx.x] = s[k];
}

/* Sum k becomes PIECES partials: piece[k][p] = the sum of every PIECES * THREADS-th, one block each. */
static __global__ void __launch_bounds__(THREADS) SumPieces(const __grid_constant__ PhaseArgs a, double *piece)
{
  const Sum &sum = a.sum[blockIdx.y];
  double s[1] = {0};
  for (int64_t b = blockIdx.x * THREADS + threadIdx.x; b < sum.count; b += PIECES * THREADS) s[0] += sum.partial[b];
  BlockReduce<1, COMBINE_SUM>(s);
  if (threadIdx.x == 0) piece[blockIdx.y * PIECES + blockIdx.x] = s[0];
}

enum { SUM = COMBINE_SUM, MAX = COMBINE_MAX };
enum { PLAIN = 0, DECIDES = 1 };

typedef void (*PhaseKernel)(PhaseArgs);

static const PhaseKernel phases[] = {
#define PHASE(name, ndot, combine, kind) RunPhase<name##_begin, name##_element, ndot, combine, kind == DECIDES>,
#include "../sys/phases.def"
#undef PHASE
};

extern "C" PoiseErr poiseCuda_phase(Device *dev, const void *args)
{
  PhaseArgs a = *(const PhaseArgs *)args;
  cudaStream_t stream = poiseCudaStream(dev);
  int64_t nblock = POISE_NBLOCKS(a.n), most = 0;
  for (int k = 0; k < a.nsum; k++) most = a.sum[k].count > most ? a.sum[k].count : most;
  if (most > FEW) {
    double *piece = poiseCudaPieces(dev);
    SumPieces<<<dim3(PIECES, (unsigned)a.nsum), THREADS, 0, stream>>>(a, piece);
    for (int k = 0; k < a.nsum; k++) a.sum[k].partial = piece + k * PIECES, a.sum[k].count = PIECES;
  }
  phases[a.id]<<<(unsigned)(nblock ? nblock : 1), THREADS, 0, stream>>>(a);
  return POISE_OK;
}
