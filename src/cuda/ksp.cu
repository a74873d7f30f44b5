/* SPDX-License-Identifier: BSD-3-Clause */
/* The GPU driver of phases: every block takes the pending sums, runs the prologue, and does POISE_BLOCK
   rows. */
#include "exchange.h"

#include "ksp/phases.h"

enum {
  /* partials that every block may sum for itself; of more, a kernel before makes SUBTOTALS */
  FEW = PHASE_FEW,
  MANY = PHASE_MANY /* threads of a block when the blocks are few, for a chain as short as can be */
};

enum { PLAIN = 0, DECIDES = 1, EPILOGUE = 2, EXCHANGES = 4 }; /* kinds of phases */

typedef int (*Begin)(const double *in, double *out, const PhaseArgs *a, double *c);
typedef Dots (*Element)(const double *c, const PhaseArgs *a, int64_t i);

struct Prologue { /* shared by the threads of a block */
  double in[POISE_SLOTS], sum[POISE_MAX_SUMS], c[POISE_MAX_COEFS];
  PhaseArgs args; /* copied, so that all of them are near when they are used */
  int go;
};

struct Messages { /* of a phase that adds sums over ranks, shared by the threads of a block */
  double own[POISE_MAX_SUMS];
  uint32_t sequence, half[LINK_FUSED_MOST][POISE_MAX_SUMS][2];
};

/* What the prologue needs, all of it on the way at once: a sum's partials, by each of the first warps, and
   the slots, by the last. ALONE: without the sums of ranks, which come in messages. */
template <int T, bool ALONE> struct Inputs {
  enum { AT_ONCE = 8 };
  const double *partial = NULL, *slots = NULL;
  int64_t count = 0;
  double v[AT_ONCE], slot;

  /* Before the wait: where they are. The slot of a sum is not read. */
  __device__ __forceinline__ Inputs(const PhaseArgs &a)
  {
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (ALONE && warp < a.nsum) partial = a.sum[warp].partial + lane, count = a.sum[warp].count - lane;
    if (warp == T / 32 - 1 && a.slots) slots = a.slots + lane;
    for (int k = 0; k < a.nsum; k++)
      if (slots == a.sum[k].dst) slots = NULL;
  }

  __device__ __forceinline__ void Load()
  {
    if (slots) slot = *slots;
#pragma unroll
    for (int r = 0; r < AT_ONCE && ALONE; r++) v[r] = 32 * r < count ? partial[32 * r] : 0;
  }

  __device__ __forceinline__ void Put(const PhaseArgs &a, Prologue &p)
  {
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    double s = 0;
    if (slots) p.in[lane] = slot;
    if (ALONE && warp < a.nsum) {
#pragma unroll
      for (int r = 0; r < AT_ONCE; r++) s += v[r];
      for (int64_t b = 32 * AT_ONCE; b < count; b += 32) s += partial[b];
      s = WarpReduce<COMBINE_SUM>(s);
      if (lane == 0) p.sum[warp] = s;
      if (lane == 0 && a.slots) p.in[a.sum[warp].dst - a.slots] = s;
    }
    __syncthreads();
  }
};

/* The sums over ranks. The block without rows, which is the first to run, sends this rank's as messages. All
   blocks read the messages of all ranks, and add them in rank order. No block takes the place of one on
   another GPU, and those of this GPU start in their order. So what all wait for is running. A thread has one
   word of a message. */
template <int T> struct RankSums {
  int r, w = -1; /* rank and word; -1: none */
  const LinkMessage *from = NULL;
  LinkMessage *to = NULL;

  /* Where the messages are, before the wait if latency is all. */
  __device__ __forceinline__ RankSums(const PhaseArgs &a)
  {
    if (T == MANY) Find(a);
  }

  __device__ __forceinline__ void Find(const PhaseArgs &a)
  {
    static_assert(LINK_FUSED_MOST * 2 * POISE_MAX_SUMS <= THREADS, "a thread for each word");
    int words = 2 * a.nsum;
    if ((int)threadIdx.x >= a.ranks.size * words) return;
    r = threadIdx.x / words, w = threadIdx.x % words;
    from = a.ranks.recv[a.ranks.rank];
    to = a.ranks.recv[r];
  }

  /* Sends this thread's word, and waits for that of rank r, which goes to `half`. Returns whether it came. */
  __device__ __forceinline__ bool Exchange(const LinkRanks &l, uint32_t seq, const double *own,
                                           uint32_t *half)
  {
    uint64_t word;
    if (blockIdx.x == 0) {
      LinkMessage *message = to + poiseLinkBufferOf(seq, l.size, l.rank);
      Put(&message->word[w / 2][w % 2], poiseLinkWord(own[w / 2], w % 2, seq));
    }
    const LinkMessage *message = from + poiseLinkBufferOf(seq, l.size, r);
    bool came = PollWord(l.patience, &message->word[w / 2][w % 2], seq, r, &word);
    *half = (uint32_t)word;
    return came;
  }

  __device__ __forceinline__ void Take(const PhaseArgs &a, Prologue &p, Messages &m)
  {
    const LinkRanks &l = a.ranks;
    int k = threadIdx.x, failed = 0;
    if (!a.nsum) return;
    if (T != MANY) Find(a);
    uint64_t counted = k == 0 ? CountBlock(l) : 0;
    if (blockIdx.x == 0)
      OwnSums<T>(
          a.nsum, [&](int i) { return a.sum[i]; }, m.own);
    if (k == 0) m.sequence = NextSequence(l, counted);
    __syncthreads();
    if (w >= 0) failed = !Exchange(l, m.sequence, m.own, &m.half[r][w / 2][w % 2]);
    failed = __syncthreads_or(failed);
    if (k >= a.nsum) return;
    double s = poiseLinkValue(m.half[0][k][0], m.half[0][k][1]);
    for (int q = 1; q < l.size; q++) s += poiseLinkValue(m.half[q][k][0], m.half[q][k][1]);
    p.sum[k] = p.in[a.sum[k].dst - a.slots] = failed ? NAN : s;
  }
};

/* Behind the rows: number `at` of the blocks with rows, or the one without (-1), which waits for the entries
   of others. It ends when they have come, and with it the kernel. */
template <int T> __device__ __forceinline__ void ExchangeEntries(const LinkSend &s, int at)
{
  if (!s.push.x) return;
  if (at < 0) AwaitEntries<T>(s.wait);
  if (at < 0 || at >= s.nsending) return;
  __syncthreads();
  for (int k = s.first[at] + threadIdx.x; k < s.first[at + 1]; k += T) {
    LinkEntry e = s.entry[k];
    *e.to = s.push.x[e.row];
  }
  Finish(s.push, (unsigned)s.nsending);
}

/* Row i of the vectors that are read. Where latency is all, it is known before the wait where that is, and
   fetched at once after it. */
struct Row {
  const double *from[POISE_MAX_VECS];
  PhaseRow args;

  __device__ __forceinline__ void Fetch(const PhaseArgs &a, int64_t i)
  {
#pragma unroll
    for (int k = 0; k < POISE_MAX_VECS; k++) args.read[k] = a.in[k] ? a.in[k][i] : 0;
  }

  /* The same where the operands of these bits are in fp32. */
  template <int READ> __device__ __forceinline__ void FetchSingle(const PhaseArgs &a, int64_t i)
  {
#pragma unroll
    for (int k = 0; k < POISE_MAX_VECS; k++)
      if (READ >> k & 1)
        args.read[k] = a.in[k] ? ((const float *)a.in[k])[i] : 0;
      else
        args.read[k] = a.in[k] ? a.in[k][i] : 0;
  }

  __device__ __forceinline__ void Find(const PhaseArgs &a, int64_t i, int64_t end)
  {
#pragma unroll
    for (int k = 0; k < POISE_MAX_VECS; k++) {
      from[k] = a.in[k] && i < end ? a.in[k] + i : NULL;
      asm volatile("" : "+l"(from[k]));
    }
  }

  __device__ __forceinline__ void Fetch()
  {
#pragma unroll
    for (int k = 0; k < POISE_MAX_VECS; k++) args.read[k] = from[k] ? *from[k] : 0;
  }
};

/* Nothing else is done? Judged by what this block has read, as others may be setting it. */
template <bool DECIDING> __device__ __forceinline__ bool Skip(const PhaseArgs &a, const Prologue &p)
{
  return a.slots ? p.in[DECIDING ? SLOT_SEEN : SLOT_DONE] != 0 : a.skip && *a.skip != 0;
}

/* Has the first block no rows, so that nobody waits for it when it works on scalars? */
__host__ __device__ __forceinline__ bool IsApart(const PhaseArgs &a)
{
  return a.slots || a.n == 0;
}

/* That block publishes the sums and sets the slots. */
template <Begin BEGIN, bool DECIDING>
__device__ __forceinline__ void SetScalars(const PhaseArgs &a, Prologue &p)
{
  if (threadIdx.x == 0 && !DECIDING && a.slots) a.slots[SLOT_SEEN] = p.in[SLOT_DONE];
  if (Skip<DECIDING>(a, p)) return;
  if (threadIdx.x < a.nsum) *a.sum[threadIdx.x].dst = p.sum[threadIdx.x];
  __syncwarp();
  if (threadIdx.x == 0) BEGIN(a.slots ? p.in : NULL, a.slots, &a, p.c);
}

/* The prologue in the other blocks. What it writes is dropped there, so that the compiler leaves out what is
   not needed. */
template <Begin BEGIN>
__device__ __forceinline__ int Prepare(const PhaseArgs &a, const Prologue &p, double *c)
{
  double dropped[POISE_SLOTS], history;
  PhaseArgs b = a;
  b.conv.history = b.conv.unclaimed = &history, b.conv.mask = 0, b.array = NULL;
  return BEGIN(p.in, dropped, &b, c);
}

/* The end of a phase: rows [begin, end), whose r this block has written; (r, z) and (z, z) to s[0] and
   s[1]. */
template <int T, typename Real>
__device__ __forceinline__ void ApplyBlocks(const BlockEpilogue &e, int64_t begin, int64_t end, double *s)
{
  const Real *d = (const Real *)e.d + begin * e.b, *r = (const Real *)e.r + begin;
  int b = (int)e.b, rows = (int)(end - begin);
#pragma unroll
  for (int k = 0; k < POISE_BLOCK / T; k++) {
    int i = threadIdx.x + k * T;
    if (i >= rows) break;
    int first = i / b * b, side = first + b < rows ? b : rows - first;
    double z = 0;
    for (int j = 0; j < side; j++) z += (double)d[first * b + j * side + i - first] * r[first + j];
    ((Real *)e.z)[begin + i] = (Real)z;
    s[0] += r[i] * z;
    s[1] += z * z;
  }
}

/* ---- the stages of a phase, in a block ------------------------------------------------------- */

/* Before the wait: the arguments to shared memory. */
template <int T> __device__ __forceinline__ void CopyArgs(const PhaseArgs &a, Prologue &p)
{
  for (int k = threadIdx.x; k < (int)(sizeof a / 8); k += T)
    ((uint64_t *)&p.args)[k] = ((const uint64_t *)&a)[k];
}

/* Before the wait: where this thread's rows are. WRITTEN: bits of operands that are in fp32. */
template <int T, int WRITTEN>
__device__ __forceinline__ void FindRows(const PhaseArgs &a, int64_t begin, int64_t end,
                                         Row (&row)[POISE_BLOCK / T])
{
#pragma unroll
  for (int r = 0; r < POISE_BLOCK / T; r++) {
    (PhaseArgs &)row[r].args = a;
    row[r].args.written = WRITTEN;
    if (T == MANY) row[r].Find(a, begin + threadIdx.x + r * T, end);
  }
}

/* Behind the wait: what was found. */
template <int T> __device__ __forceinline__ void FetchRows(Row (&row)[POISE_BLOCK / T])
{
#pragma unroll
  for (int r = 0; r < POISE_BLOCK / T; r++)
    if (T == MANY) row[r].Fetch(); /* latency is all there */
}

/* All rows at once, where some operands are in fp32: half the bytes are on the way of each. */
template <int T, int READ>
__device__ __forceinline__ void FetchSingles(const PhaseArgs &a, int64_t begin, int64_t end,
                                             Row (&row)[POISE_BLOCK / T])
{
#pragma unroll
  for (int r = 0; r < POISE_BLOCK / T; r++) {
    int64_t i = begin + threadIdx.x + r * T;
    row[r].template FetchSingle<READ>(a, i < end ? i : begin);
  }
}

/* The prologue of a block with rows. Returns whether these are done, with their coefficients. */
template <Begin BEGIN, bool DECIDING>
__device__ __forceinline__ bool Decide(const PhaseArgs &a, int64_t block, Prologue &p, double *c)
{
  if (threadIdx.x == 0) p.go = !Skip<DECIDING>(a, p) && Prepare<BEGIN>(a, p, c);
  if (threadIdx.x == 32) { /* and by another warp at the same time */
    Prepare<BEGIN>(a, p, c);
    for (int k = 0; k < POISE_MAX_COEFS; k++) p.c[k] = c[k];
  }
  if (!a.slots && block == 0 && threadIdx.x < a.nsum && !Skip<DECIDING>(a, p))
    *a.sum[threadIdx.x].dst = p.sum[threadIdx.x];
  __syncthreads();
  if (!p.go) return false;
  for (int k = 0; k < POISE_MAX_COEFS; k++) c[k] = p.c[k];
  return true;
}

/* The elements, with their dots added to s. */
template <Element ELEMENT, int NDOT, int COMBINE, int T, bool FETCHED>
__device__ __forceinline__ void RunElements(const PhaseArgs &a, int64_t begin, int64_t end, const double *c,
                                            Row (&row)[POISE_BLOCK / T], double *s)
{
#pragma unroll
  for (int r = 0; r < POISE_BLOCK / T; r++) {
    int64_t i = begin + threadIdx.x + r * T;
    if (i >= end) break;
    if (!FETCHED) row[r].Fetch(a, i);
    Dots t = ELEMENT(c, &row[r].args, i);
    for (int k = 0; k < NDOT; k++) s[k] = Join<COMBINE>(s[k], t.d[k]);
  }
}

/* The block's partials: of NDOT dots of the elements, and of those of the end. */
template <int NDOT, int COMBINE, bool END, int T, int N>
__device__ __forceinline__ void StorePartials(const PhaseArgs &a, int64_t block, double (&s)[N])
{
  constexpr int DOTS = NDOT + 2 * END;
  if (NDOT == 0 && !(END && (a.end.rz || a.end.zz))) return;
  if constexpr (DOTS == 2 && T == MANY)
    BlockReducePair<COMBINE, T>(s);
  else if constexpr (DOTS > 0)
    BlockReduce<DOTS, COMBINE, T>(s);
  if (threadIdx.x != 0) return;
  for (int k = 0; k < NDOT; k++)
    if (a.partial[k]) a.partial[k][block] = s[k];
  if (END && a.end.rz) a.end.rz[block] = s[N - 2];
  if (END && a.end.zz) a.end.zz[block] = s[N - 1];
}

template <Begin BEGIN, Element ELEMENT, int NDOT, int COMBINE, int KIND, int T>
static __global__ void __launch_bounds__(T) RunPhase(const __grid_constant__ PhaseArgs a)
{
  constexpr bool DECIDING = (KIND & DECIDES) != 0, END = (KIND & EPILOGUE) != 0,
                 SINGLE = (KIND & PHASE_F32) != 0;
  constexpr int N = NDOT + 2 * END, READ_F32 = KIND >> PHASE_READ_AT & PHASE_OPERANDS,
                WRITTEN_F32 = KIND >> PHASE_WRITTEN_AT & PHASE_OPERANDS;
  __shared__ Prologue p;
  int64_t block = (int64_t)blockIdx.x - IsApart(a), rows = END ? poisePhaseRows(&a) : POISE_BLOCK;
  int64_t begin = block * rows, end = block < 0 ? begin : begin + rows < a.n ? begin + rows : a.n;
  PdlLaunchDependents();
  CopyArgs<T>(a, p);
  Inputs<T, true> inputs(a);
  Row row[POISE_BLOCK / T];
  FindRows<T, WRITTEN_F32>(a, begin, end, row);
  PdlWait();
  inputs.Load();
  FetchRows<T>(row);
  inputs.Put(a, p);
  double c[POISE_MAX_COEFS] = {0}, s[N > 0 ? N : 1] = {0};
  if (block < 0) {
    if (threadIdx.x < 32) SetScalars<BEGIN, DECIDING>(a, p);
    return;
  }
  if (!Decide<BEGIN, DECIDING>(a, block, p, c)) return;
  if (SINGLE) FetchSingles<T, READ_F32>(a, begin, end, row);
  RunElements<ELEMENT, NDOT, COMBINE, T, SINGLE || T == MANY>(a, begin, end, c, row, s);
  if (END) {
    __syncthreads();
    ApplyBlocks<T, std::conditional_t<SINGLE, float, double>>(a.end, begin, end, s + NDOT);
  }
  StorePartials<NDOT, COMBINE, END, T>(a, block, s);
}

/* Blocks on a multiprocessor, as many as of RunPhase: else the compiler takes more registers. */
constexpr int Resident(int kind, int threads)
{
  return threads == MANY ? 2 : kind & (DECIDES | EPILOGUE) ? 8 : 5;
}

/* The same in a solver on several ranks: it adds its sums over them, and exchanges a vector that it writes.
   That takes place whether or not the rest is skipped. */
template <Begin BEGIN, Element ELEMENT, int NDOT, int COMBINE, int KIND, int T>
static __global__ void __launch_bounds__(T, Resident(KIND, T))
    RunPhaseOfRanks(const __grid_constant__ PhaseArgs a)
{
  constexpr bool DECIDING = (KIND & DECIDES) != 0;
  __shared__ Prologue p;
  __shared__ Messages messages;
  int64_t block = blockIdx.x && a.send.push.x ? a.send.order[blockIdx.x - 1] : (int64_t)blockIdx.x - 1;
  int64_t begin = block * POISE_BLOCK, end = block < 0                   ? begin
                                             : begin + POISE_BLOCK < a.n ? begin + POISE_BLOCK
                                                                         : a.n;
  PdlLaunchDependents();
  CopyArgs<T>(a, p);
  Inputs<T, false> inputs(a);
  RankSums<T> sums(a);
  Row row[POISE_BLOCK / T];
  FindRows<T, 0>(a, begin, end, row);
  PdlWait();
  inputs.Load();
  FetchRows<T>(row);
  sums.Take(a, p, messages);
  inputs.Put(a, p);
  double c[POISE_MAX_COEFS] = {0}, s[NDOT > 0 ? NDOT : 1] = {0};
  if (block < 0) {
    if (threadIdx.x < 32) SetScalars<BEGIN, DECIDING>(a, p);
  } else if (Decide<BEGIN, DECIDING>(a, block, p, c)) {
    RunElements<ELEMENT, NDOT, COMBINE, T, T == MANY>(a, begin, end, c, row, s);
    StorePartials<NDOT, COMBINE, false, T>(a, block, s);
  }
  ExchangeEntries<T>(a.send, (int)blockIdx.x - 1);
}

/* Sum k becomes SUBTOTALS partials: subtotal[k][p] = the sum of every SUBTOTALS * THREADS-th, one block
   each. */
static __global__ void __launch_bounds__(THREADS)
    SumSubtotals(const __grid_constant__ PhaseArgs a, double *subtotal)
{
  const Sum &sum = a.sum[blockIdx.y];
  double s[1] = {0};
  PdlLaunchDependents();
  PdlWait();
  for (int64_t b = blockIdx.x * THREADS + threadIdx.x; b < sum.count; b += SUBTOTALS * THREADS)
    s[0] += sum.partial[b];
  BlockReduce<1, COMBINE_SUM>(s);
  if (threadIdx.x == 0) subtotal[blockIdx.y * SUBTOTALS + blockIdx.x] = s[0];
}

enum { SUM = COMBINE_SUM, MAX = COMBINE_MAX };

typedef void (*PhaseKernel)(PhaseArgs);

/* The kernel with the end, of phases that may have one. */
template <Begin BEGIN, Element ELEMENT, int NDOT, int COMBINE, int KIND, int T> constexpr PhaseKernel Ending()
{
  if constexpr ((KIND & EPILOGUE) != 0)
    return RunPhase<BEGIN, ELEMENT, NDOT, COMBINE, KIND, T>;
  else
    return nullptr;
}

/* The one that exchanges, of phases that may. */
template <Begin BEGIN, Element ELEMENT, int NDOT, int COMBINE, int KIND, int T>
constexpr PhaseKernel Exchanging()
{
  if constexpr ((KIND & EXCHANGES) != 0)
    return RunPhaseOfRanks<BEGIN, ELEMENT, NDOT, COMBINE, KIND, T>;
  else
    return nullptr;
}

/* The one on vectors in fp32, of phases that have it; END: with the end. */
template <Begin BEGIN, Element ELEMENT, int NDOT, int COMBINE, int KIND, int END>
constexpr PhaseKernel Single()
{
  constexpr int kind = KIND & ~(EPILOGUE | EXCHANGES);
  if constexpr ((KIND & PHASE_F32) != 0 && (KIND & END) == END)
    return RunPhase<BEGIN, ELEMENT, NDOT, COMBINE, kind | END, THREADS>;
  else
    return nullptr;
}

/* Stands for the rows of phases that have none. */
ELEMENTWISE(scalars)
{
  return poiseDots(0, 0, 0);
}

/* Each for blocks of THREADS and of MANY, but those in fp32. */
enum { ENDING = 2, EXCHANGING = 4, SINGLE = 6, SINGLE_ENDING, FORMS };

static const PhaseKernel phases[][FORMS] = {
#define PHASE(name, ndot, combine, kind)                                                          \
  {RunPhase<name##_begin, name##_element, ndot, combine, (kind)&DECIDES, THREADS>,                \
   RunPhase<name##_begin, name##_element, ndot, combine, (kind)&DECIDES, MANY>,                   \
   Ending<name##_begin, name##_element, ndot, combine, (kind) & (DECIDES | EPILOGUE), THREADS>(), \
   Ending<name##_begin, name##_element, ndot, combine, (kind) & (DECIDES | EPILOGUE), MANY>(),    \
   Exchanging<name##_begin, name##_element, ndot, combine, kind, THREADS>(),                      \
   Exchanging<name##_begin, name##_element, ndot, combine, kind, MANY>(),                         \
   Single<name##_begin, name##_element, ndot, combine, kind, PLAIN>(),                            \
   Single<name##_begin, name##_element, ndot, combine, kind, EPILOGUE>()},
#define SCALARS(name) {RunPhase<name##_begin, scalars_element, 0, SUM, PLAIN, THREADS>},
#include "sys/device/phases.def"
#undef PHASE
#undef SCALARS
};

PoiseErr poiseCudaLoadPhases(Device *dev)
{
  cudaFuncAttributes attributes;
  (void)dev;
  for (const auto &phase : phases)
    for (int form = EXCHANGING; form < SINGLE && phase[form]; form++)
      TRY(poiseCudaCheck(cudaFuncGetAttributes(&attributes, (const void *)phase[form]), "loading a kernel"));
  return POISE_OK;
}

/* Sums of many partials, made by each block, are made of fewer first. */
static PoiseErr MakeFew(Device *dev, PhaseArgs *a)
{
  int64_t most = 0;
  for (int k = 0; k < a->nsum; k++) most = a->sum[k].count > most ? a->sum[k].count : most;
  if (most <= FEW) return POISE_OK;
  double *subtotal = poiseCudaSubtotals(dev);
  TRY(LaunchPdl(dev, SumSubtotals, dim3(SUBTOTALS, (unsigned)a->nsum), THREADS, 0, *a, subtotal));
  for (int k = 0; k < a->nsum; k++) a->sum[k].partial = subtotal + k * SUBTOTALS, a->sum[k].count = SUBTOTALS;
  return POISE_OK;
}

extern "C" PoiseErr poiseCuda_phase(Device *dev, const void *args)
{
  PhaseArgs a = *(const PhaseArgs *)args;
  int64_t nblock = poisePhaseBlocks(&a);
  bool many = a.n > THREADS && nblock <= PHASE_MANY_BLOCKS * dev->model.multiprocessors && !a.single;
  bool exchanges = a.ranks.size || a.send.push.x;
  if (!exchanges) TRY(MakeFew(dev, &a));
  unsigned blocks = (unsigned)nblock + IsApart(a);
  int form = exchanges ? EXCHANGING : a.end.b ? ENDING : 0;
  if (a.single && a.n) form = a.end.b ? SINGLE_ENDING : SINGLE;
  if (!phases[a.id][form + many]) FAIL(POISE_ERR_INTERNAL, "phase %d has no form %d", a.id, form);
  return LaunchPdl(dev, phases[a.id][form + many], blocks, many ? (unsigned)MANY : (unsigned)THREADS, 0, a);
}
