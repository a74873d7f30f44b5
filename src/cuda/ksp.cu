/* SPDX-License-Identifier: BSD-3-Clause */
/* The GPU driver of phases: every block takes the pending sums, runs the prologue, and does POISE_BLOCK rows. */
#include "cuda.h"

#include "../vec/vec_phases.h"
#include "../ksp/cg_phases.h"
#include "../ksp/bicgstab_phases.h"
#include "../ksp/gmres_phases.h"
#include "../ksp/minres_phases.h"
#include "../ksp/prcg_phases.h"
#include "../ksp/preonly_phases.h"
#include "../ksp/stationary_phases.h"

enum {
  FEW = 512,      /* partials that every block may sum for itself; of more, a kernel before makes PIECES */
  MANY = 1024,    /* threads of a block when the blocks are few: a row each, for a chain as short as can be */
  MANY_MOST = 264 /* such blocks that fit on a GPU at once */
};

typedef int (*Begin)(const double *in, double *out, const PhaseArgs *a, double *c);
typedef Dots (*Element)(const double *c, const PhaseArgs *a, int64_t i);

struct Prologue { /* shared by the threads of a block */
  double in[POISE_SLOTS], out[POISE_SLOTS], c[POISE_MAX_COEFS], sum[POISE_MAX_SUMS], history;
  PhaseArgs args; /* of the blocks but the first: their prologues record no history */
  int go;
};

/* Everything that the prologue needs, loaded at once: the slots by the last warp, a pending sum by each of the first. */
template <int T> __device__ __forceinline__ void Load(const PhaseArgs &a, Prologue &p)
{
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (blockIdx.x) { /* the first block works on the real arguments */
    const uint64_t *from = (const uint64_t *)&a;
    for (int k = threadIdx.x; k < (int)(sizeof a / sizeof *from); k += T) ((uint64_t *)&p.args)[k] = from[k];
  }
  Ready();
  if (warp == T / 32 - 1 && a.slots) p.in[lane] = a.slots[lane];
  if (warp < a.nsum) {
    double s = 0;
    for (int64_t b = lane; b < a.sum[warp].count; b += 32) s += a.sum[warp].partial[b];
    s = WarpReduce<COMBINE_SUM>(s);
    if (lane == 0) p.sum[warp] = s;
  }
  __syncthreads();
}

/* The first warp: put the sums into the slots (the first block publishes them) and run the prologue. */
template <Begin BEGIN, bool DECIDES> __device__ __forceinline__ void Prepare(const PhaseArgs &a, Prologue &p)
{
  int lane = threadIdx.x;
  bool skip =
      a.slots && p.in[DECIDES ? SLOT_SEEN : SLOT_DONE] != 0; /* what this block has read: others may be setting it */
  if (lane == 0 && !DECIDES && a.slots && blockIdx.x == 0) a.slots[SLOT_SEEN] = p.in[SLOT_DONE];
  __syncwarp();
  if (lane < a.nsum && !skip) {
    if (a.slots) p.in[a.sum[lane].dst - a.slots] = p.sum[lane];
    if (blockIdx.x == 0) *a.sum[lane].dst = p.sum[lane];
  }
  __syncwarp();
  if (lane != 0) return;
  if (blockIdx.x) p.args.conv.history = &p.history, p.args.conv.mask = 0;
  for (int k = 0; k < POISE_MAX_COEFS; k++) p.c[k] = 0;
  p.go = !skip && BEGIN(a.slots ? p.in : NULL,
                        !a.slots     ? NULL
                        : blockIdx.x ? p.out
                                     : a.slots,
                        blockIdx.x ? &p.args : &a, p.c);
}

template <Begin BEGIN, Element ELEMENT, int NDOT, int COMBINE, bool DECIDES, int T>
static __global__ void __launch_bounds__(T) RunPhase(const __grid_constant__ PhaseArgs a)
{
  __shared__ Prologue p;
  LetFollow();
  Load<T>(a, p);
  if (threadIdx.x < 32) Prepare<BEGIN, DECIDES>(a, p);
  __syncthreads();
  if (!p.go || a.n == 0) return;
  double c[POISE_MAX_COEFS], s[NDOT > 0 ? NDOT : 1];
  for (int k = 0; k < POISE_MAX_COEFS; k++) c[k] = p.c[k];
  for (int k = 0; k < NDOT; k++) s[k] = 0;
  int64_t first = (int64_t)blockIdx.x * POISE_BLOCK + threadIdx.x;
#pragma unroll
  for (int r = 0; r < POISE_BLOCK / T; r++) {
    int64_t i = first + r * T;
    if (i >= a.n) break;
    Dots t = ELEMENT(c, &a, i);
    for (int k = 0; k < NDOT; k++) s[k] = Join<COMBINE>(s[k], t.d[k]);
  }
  if (NDOT == 0) return;
  BlockReduce<(NDOT > 0 ? NDOT : 1), COMBINE, T>(s);
  if (threadIdx.x == 0)
    for (int k = 0; k < NDOT; k++)
      if (a.partial[k]) a.partial[k][blockIdx.x] = s[k];
}

/* Sum k becomes PIECES partials: piece[k][p] = the sum of every PIECES * THREADS-th, one block each. */
static __global__ void __launch_bounds__(THREADS) SumPieces(const __grid_constant__ PhaseArgs a, double *piece)
{
  const Sum &sum = a.sum[blockIdx.y];
  double s[1] = {0};
  LetFollow();
  Ready();
  for (int64_t b = blockIdx.x * THREADS + threadIdx.x; b < sum.count; b += PIECES * THREADS) s[0] += sum.partial[b];
  BlockReduce<1, COMBINE_SUM>(s);
  if (threadIdx.x == 0) piece[blockIdx.y * PIECES + blockIdx.x] = s[0];
}

enum { SUM = COMBINE_SUM, MAX = COMBINE_MAX };
enum { PLAIN = 0, DECIDES = 1 };

typedef void (*PhaseKernel)(PhaseArgs);

static const PhaseKernel phases[][2] = {
#define PHASE(name, ndot, combine, kind)                                            \
  {RunPhase<name##_begin, name##_element, ndot, combine, kind == DECIDES, THREADS>, \
   RunPhase<name##_begin, name##_element, ndot, combine, kind == DECIDES, MANY>},
#include "../sys/phases.def"
#undef PHASE
};

extern "C" PoiseErr poiseCuda_phase(Device *dev, const void *args)
{
  PhaseArgs a = *(const PhaseArgs *)args;
  int64_t nblock = POISE_NBLOCKS(a.n), most = 0;
  bool many = a.n > THREADS && nblock <= MANY_MOST;
  for (int k = 0; k < a.nsum; k++) most = a.sum[k].count > most ? a.sum[k].count : most;
  if (most > FEW) {
    double *piece = poiseCudaPieces(dev);
    TRY(Follow(dev, SumPieces, dim3(PIECES, (unsigned)a.nsum), THREADS, 0, a, piece));
    for (int k = 0; k < a.nsum; k++) a.sum[k].partial = piece + k * PIECES, a.sum[k].count = PIECES;
  }
  return Follow(dev, phases[a.id][many], (unsigned)(nblock ? nblock : 1), many ? (unsigned)MANY : (unsigned)THREADS, 0, a);
}
