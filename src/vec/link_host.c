/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Kernels of transports on the host, which the mock device runs: memory of the others is reached by a
  pointer. Each also checks what a GPU cannot, by sequence numbers: that nothing is overwritten which has not
  been read.
*/
#include <sched.h>
#include <stdatomic.h>

#include "link_host.h"
#include "vec.h"
#include "vec_kernels.h"

typedef _Atomic uint64_t Sequence;

static uint64_t Load(const uint64_t *sequence)
{
  return atomic_load_explicit((const Sequence *)sequence, memory_order_acquire);
}

static void Store(uint64_t *sequence, uint64_t value)
{
  atomic_store_explicit((Sequence *)sequence, value, memory_order_release);
}

static PoiseErr OutOfStep(int rank, uint64_t seq, uint64_t awaited)
{
  FAIL(POISE_ERR_INTERNAL, "rank %d is at exchange %llu of a transport, which awaits number %llu", rank,
       (unsigned long long)seq, (unsigned long long)awaited);
}

/* Fails when the wait for that rank, since that time, is over. */
static PoiseErr KeepWaiting(const LinkPatience *p, double since, int rank)
{
  if (Load(p->late) || PoiseTime() - since > p->seconds) {
    if (!Load(p->late)) Store(p->late, (uint64_t)rank + 1);
    FAIL(POISE_ERR_COMM, "waited %g s for rank %d, which did not come", p->seconds, rank);
  }
  sched_yield();
  return POISE_OK;
}

/* Wait until another rank has set the sequence number. Fails when it does not come. */
static PoiseErr Poll(const LinkPatience *p, const uint64_t *seq, uint64_t value, int rank)
{
  double since = PoiseTime();
  while (Load(seq) < value) TRY(KeepWaiting(p, since, rank));
  return Load(seq) > value ? OutOfStep(rank, Load(seq), value) : POISE_OK;
}

static uint32_t SequenceOf(uint64_t word)
{
  return (uint32_t)(word >> 32);
}

/* Wait for a word with that sequence number; before, it has that of the sum before the latest. */
static PoiseErr PollWord(const LinkPatience *p, const uint64_t *at, uint32_t seq, int rank, uint64_t *word)
{
  double since = PoiseTime();
  while (SequenceOf(*word = Load(at)) != seq) {
    if (SequenceOf(*word) == seq + 2) return OutOfStep(rank, SequenceOf(*word), seq);
    TRY(KeepWaiting(p, since, rank));
  }
  return POISE_OK;
}

/* SumPartials are added in the order of the kernel reduce. */
static double SumPartials(Device *dev, const LinkSumArgs *a, int k)
{
  double s = 0;
  ReduceArgs r = {.nsum = 1, .count = a->count, .dst = &s};
  if (a->listed)
    r.count = a->sum[k].count, r.partial = a->sum[k].partial;
  else if (a->count)
    r.partial = a->partial + k * a->stride;
  (void)poiseHost_reduce(dev, &r);
  return s;
}

static PoiseErr Send(LinkMessage *message, const double *v, int n, uint32_t seq)
{
  uint32_t before = SequenceOf(Load(&message->word[0][0]));
  if (before != seq - 2 && (before || seq > 2))
    FAIL(POISE_ERR_INTERNAL, "a receive buffer of a transport holds sum %lu when sum %lu is written",
         (unsigned long)before, (unsigned long)seq);
  for (int w = 0; w < poiseLinkMessageWords(n); w++)
    Store(&message->word[w / 2][w % 2], poiseLinkWord(v[w / 2], w % 2, seq));
  return POISE_OK;
}

/* v[k] = the number k < n that rank r has sent */
static PoiseErr Receive(const LinkRanks *l, uint32_t seq, int r, int n, double *v)
{
  const LinkMessage *message = &l->recv[l->rank][poiseLinkBufferOf(seq, l->size, r)];
  uint64_t word[POISE_MAX_BATCH][2];
  for (int w = 0; w < poiseLinkMessageWords(n); w++)
    TRY(PollWord(&l->patience, &message->word[w / 2][w % 2], seq, r, &word[w / 2][w % 2]));
  for (int k = 0; k < n; k++) v[k] = poiseLinkValue(word[k][0], word[k][1]);
  return POISE_OK;
}

PoiseErr poiseHostSumRanks(Device *dev, const LinkSumArgs *a, double *dst)
{
  const LinkRanks *l = &a->ranks;
  uint32_t seq = poiseLinkSequence(*l->sequence);
  double v[POISE_MAX_BATCH] = {0}, theirs[POISE_MAX_BATCH];
  PoiseErr e = POISE_OK;
  for (int k = 0; k < a->n; k++) v[k] = SumPartials(dev, a, k);
  for (int r = 0; r < l->size && !Load(l->patience.late); r++) {
    PoiseErr sent = Send(l->recv[r] + poiseLinkBufferOf(seq, l->size, l->rank), v, a->n, seq);
    if (!e) e = sent;
  }
  for (int r = 0; r < l->size && !e; r++) {
    e = Receive(l, seq, r, a->n, theirs);
    for (int k = 0; k < a->n && !e; k++) v[k] = r ? v[k] + theirs[k] : theirs[k]; /* also -0 */
  }
  for (int k = 0; k < a->n; k++) dst[k] = e ? NAN : v[k];
  *l->sequence += 1 + poiseLinkAdvance(1);
  return e;
}

PoiseErr poiseHost_link_sum(Device *dev, const void *args)
{
  const LinkSumArgs *a = args;
  return poiseHostSumRanks(dev, a, a->dst);
}

PoiseErr poiseHost_link_own(Device *dev, const void *args)
{
  const LinkSumArgs *a = args;
  for (int k = 0; k < a->n; k++) a->dst[k] = SumPartials(dev, a, k);
  return POISE_OK;
}

PoiseErr poiseHost_link_add(Device *dev, const void *args)
{
  const LinkAddArgs *a = args;
  (void)dev;
  for (int k = 0; k < a->n; k++) {
    double s = a->all[k]; /* also -0 */
    for (int r = 1; r < a->size; r++) s += a->all[r * a->n + k];
    a->dst[k] = s;
  }
  return POISE_OK;
}

static void ReleaseSequences(const LinkPushArgs *a)
{
  *a->sent += 1;
  for (int t = 0; t < a->ntarget && !Load(a->late); t++) Store(a->target[t].sequence, *a->sent);
}

/* Entry i goes to a rank. */
static void Push(const LinkPushArgs *a, const LinkTarget *to, int64_t i)
{
  int64_t size = a->size > 1 ? a->size : 1, from = (a->index ? a->index[i] : i) * size;
  int64_t at = (i + to->shift) * size;
  for (int64_t c = 0; c < size; c++)
    if (a->x_f32)
      ((float *)(void *)to->in)[at + c] = a->x_f32[from + c];
    else
      to->in[at + c] = a->x[from + c];
}

PoiseErr poiseHost_link_push(Device *dev, const void *args)
{
  const LinkPushArgs *a = args;
  (void)dev;
  for (int t = 0; t < a->ntarget && !Load(a->late); t++) {
    const LinkTarget *to = &a->target[t];
    int64_t end = t + 1 < a->ntarget && to[1].start < a->n ? to[1].start : a->n;
    for (int64_t i = to->start; i < end; i++) Push(a, to, i);
  }
  ReleaseSequences(a);
  return POISE_OK;
}

PoiseErr poiseHost_link_wait(Device *dev, const void *args)
{
  const LinkWaitArgs *a = args;
  PoiseErr e = POISE_OK;
  (void)dev;
  for (int k = 0; k < a->nfrom; k++) {
    PoiseErr came = Poll(&a->patience, &a->came[k], *a->sequence + 1, a->from[k]);
    if (came) poiseLinkSetNan(a, k);
    if (!e) e = came;
  }
  *a->sequence += 1;
  return e;
}

PoiseErr poiseHostExchange(Device *dev, const LinkSend *a)
{
  if (!a->push.x) return POISE_OK;
  for (int64_t k = 0; k < a->push.n && !Load(a->push.late); k++) *a->entry[k].to = a->push.x[a->entry[k].row];
  if (a->nsending) ReleaseSequences(&a->push);
  return poiseHost_link_wait(dev, &a->wait);
}
