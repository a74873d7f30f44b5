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

enum { PLAIN = 0, DECIDES = 1, ENDS = 2 }; /* kinds of phases */

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
template <Begin BEGIN, bool DECIDING> __device__ __forceinline__ void Prepare(const PhaseArgs &a, Prologue &p)
{
  int lane = threadIdx.x;
  bool skip =
      a.slots && p.in[DECIDING ? SLOT_SEEN : SLOT_DONE] != 0; /* what this block has read: others may be setting it */
  if (lane == 0 && !DECIDING && a.slots && blockIdx.x == 0) a.slots[SLOT_SEEN] = p.in[SLOT_DONE];
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

/* The end of a phase: rows [begin, end), whose r this block has written; (r, z) and (z, z) to s[0] and s[1]. */
template <int T> __device__ __forceinline__ void ApplyBlocks(const BlockEnd &e, int64_t begin, int64_t end, double *s)
{
  const double *d = e.d + begin * e.b, *r = e.r + begin;
  int b = (int)e.b, rows = (int)(end - begin);
#pragma unroll
  for (int k = 0; k < POISE_BLOCK / T; k++) {
    int i = threadIdx.x + k * T;
    if (i >= rows) break;
    int first = i / b * b, side = first + b < rows ? b : rows - first;
    double z = 0;
    for (int j = 0; j < side; j++) z += d[first * b + j * side + i - first] * r[first + j];
    e.z[begin + i] = z;
    s[0] += r[i] * z;
    s[1] += z * z;
  }
}

template <Begin BEGIN, Element ELEMENT, int NDOT, int COMBINE, int KIND, int T>
static __global__ void __launch_bounds__(T) RunPhase(const __grid_constant__ PhaseArgs a)
{
  __shared__ Prologue p;
  LetFollow();
  Load<T>(a, p);
  if (threadIdx.x < 32) Prepare<BEGIN, (KIND & DECIDES) != 0>(a, p);
  __syncthreads();
  if (!p.go || a.n == 0) return;
  constexpr bool ends = (KIND & ENDS) != 0;
  constexpr int N = NDOT + 2 * ends;
  double c[POISE_MAX_COEFS], s[N > 0 ? N : 1];
  for (int k = 0; k < POISE_MAX_COEFS; k++) c[k] = p.c[k];
  for (int k = 0; k < N; k++) s[k] = 0;
  int64_t rows = ends ? poisePhaseRows(&a) : POISE_BLOCK, begin = blockIdx.x * rows;
  int64_t end = ends && begin + rows < a.n ? begin + rows : a.n;
#pragma unroll
  for (int r = 0; r < POISE_BLOCK / T; r++) {
    int64_t i = begin + threadIdx.x + r * T;
    if (i >= end) break;
    Dots t = ELEMENT(c, &a, i);
    for (int k = 0; k < NDOT; k++) s[k] = Join<COMBINE>(s[k], t.d[k]);
  }
  if (ends) {
    __syncthreads();
    ApplyBlocks<T>(a.end, begin, end, s + NDOT);
  }
  if (NDOT == 0 && !(ends && (a.end.rz || a.end.zz))) return;
  BlockReduce<(N > 0 ? N : 1), COMBINE, T>(s);
  if (threadIdx.x != 0) return;
  for (int k = 0; k < NDOT; k++)
    if (a.partial[k]) a.partial[k][blockIdx.x] = s[k];
  if (ends && a.end.rz) a.end.rz[blockIdx.x] = s[N - 2];
  if (ends && a.end.zz) a.end.zz[blockIdx.x] = s[N - 1];
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

typedef void (*PhaseKernel)(PhaseArgs);

/* The kernel with the end, of phases that may have one. */
template <Begin BEGIN, Element ELEMENT, int NDOT, int COMBINE, int KIND, int T> constexpr PhaseKernel Ending()
{
  if constexpr ((KIND & ENDS) != 0)
    return RunPhase<BEGIN, ELEMENT, NDOT, COMBINE, KIND, T>;
  else
    return nullptr;
}

static const PhaseKernel phases[][4] = {
#define PHASE(name, ndot, combine, kind)                                           \
  {RunPhase<name##_begin, name##_element, ndot, combine, (kind) & ~ENDS, THREADS>, \
   RunPhase<name##_begin, name##_element, ndot, combine, (kind) & ~ENDS, MANY>,    \
   Ending<name##_begin, name##_element, ndot, combine, kind, THREADS>(),           \
   Ending<name##_begin, name##_element, ndot, combine, kind, MANY>()},
#include "../sys/phases.def"
#undef PHASE
};

extern "C" PoiseErr poiseCuda_phase(Device *dev, const void *args)
{
  PhaseArgs a = *(const PhaseArgs *)args;
  int64_t nblock = poisePhaseBlocks(&a), most = 0;
  bool many = a.n > THREADS && nblock <= MANY_MOST;
  for (int k = 0; k < a.nsum; k++) most = a.sum[k].count > most ? a.sum[k].count : most;
  if (most > FEW) {
    double *piece = poiseCudaPieces(dev);
    TRY(Follow(dev, SumPieces, dim3(PIECES, (unsigned)a.nsum), THREADS, 0, a, piece));
    for (int k = 0; k < a.nsum; k++) a.sum[k].partial = piece + k * PIECES, a.sum[k].count = PIECES;
  }
  return Follow(dev, phases[a.id][many + 2 * (a.end.b != 0)], (unsigned)(nblock ? nblock : 1),
                many ? (unsigned)MANY : (unsigned)THREADS, 0, a);
}
