/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Kernels of a link on the host, which the mock device runs: its ranks are threads, so memory of the others is
  reached by a pointer. Each also checks what a GPU cannot: that nothing is overwritten which has not been
  read.
*/
#include <sched.h>
#include <stdatomic.h>

#include "vec.h"
#include "vec_kernels.h"

typedef _Atomic uint64_t Epoch;

static uint64_t Load(const uint64_t *epoch)
{
  return atomic_load_explicit((const Epoch *)epoch, memory_order_acquire);
}

static void Store(uint64_t *epoch, uint64_t value)
{
  atomic_store_explicit((Epoch *)epoch, value, memory_order_release);
}

/* Wait until another rank has set the epoch. Fails when that is in vain. */
static PoiseErr Poll(const LinkPatience *p, const uint64_t *epoch, uint64_t value, int rank)
{
  double since = PoiseTime();
  while (Load(epoch) < value) {
    if (Load(p->late) || PoiseTime() - since > p->seconds) {
      if (!Load(p->late)) Store(p->late, (uint64_t)rank + 1);
      FAIL(POISE_ERR_COMM, "waited %g s for rank %d in vain", p->seconds, rank);
    }
    sched_yield();
  }
  if (Load(epoch) > value)
    FAIL(POISE_ERR_INTERNAL, "rank %d is at exchange %llu of a link, which awaits number %llu", rank,
         (unsigned long long)Load(epoch), (unsigned long long)value);
  return POISE_OK;
}

/* Partials are added in the order of the kernel reduce. */
static double Partials(Device *dev, const LinkSumArgs *a, int k)
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

static PoiseErr Send(LinkMail *mail, const double *v, int n, uint64_t epoch)
{
  uint64_t before = Load(&mail->epoch);
  if (before != (epoch > 2 ? epoch - 2 : 0))
    FAIL(POISE_ERR_INTERNAL, "a mailbox of a link holds sum %llu when sum %llu is written",
         (unsigned long long)before, (unsigned long long)epoch);
  memcpy(mail->v, v, (size_t)n * sizeof *v);
  Store(&mail->epoch, epoch);
  return POISE_OK;
}

PoiseErr poiseHost_link_sum(Device *dev, const void *args)
{
  const LinkSumArgs *a = args;
  uint64_t epoch = *a->epoch + 1;
  double v[POISE_MAX_BATCH];
  PoiseErr e = POISE_OK;
  for (int k = 0; k < a->n; k++) v[k] = Partials(dev, a, k);
  for (int r = 0; r < a->size && !Load(a->patience.late); r++) {
    PoiseErr sent = Send(a->mail[r] + poiseLinkMail(epoch, a->size, a->rank), v, a->n, epoch);
    if (!e) e = sent;
  }
  for (int r = 0; r < a->size && !e; r++)
    e = Poll(&a->patience, &a->mail[a->rank][poiseLinkMail(epoch, a->size, r)].epoch, epoch, r);
  for (int k = 0; k < a->n; k++) {
    double s = e ? NAN : a->mail[a->rank][poiseLinkMail(epoch, a->size, 0)].v[k]; /* also -0 */
    for (int r = 1; r < a->size && !e; r++) s += a->mail[a->rank][poiseLinkMail(epoch, a->size, r)].v[k];
    a->dst[k] = s;
  }
  *a->epoch = epoch;
  return e;
}

PoiseErr poiseHost_link_own(Device *dev, const void *args)
{
  const LinkSumArgs *a = args;
  for (int k = 0; k < a->n; k++) a->dst[k] = Partials(dev, a, k);
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

PoiseErr poiseHost_link_push(Device *dev, const void *args)
{
  const LinkPushArgs *a = args;
  (void)dev;
  for (int t = 0; t < a->ntarget && !Load(a->late); t++) {
    const LinkTarget *to = &a->target[t];
    int64_t end = t + 1 < a->ntarget && to[1].start < a->n ? to[1].start : a->n;
    for (int64_t i = to->start; i < end; i++) to->in[i - to->start] = a->x[a->index ? a->index[i] : i];
    Store(to->epoch, *a->epoch + 1);
  }
  return POISE_OK;
}

PoiseErr poiseHost_link_wait(Device *dev, const void *args)
{
  const LinkWaitArgs *a = args;
  PoiseErr e = POISE_OK;
  (void)dev;
  for (int k = 0; k < a->nfrom; k++) {
    PoiseErr came = Poll(&a->patience, &a->came[k], *a->epoch + 1, a->from[k]);
    for (int64_t i = a->start[k]; came && i < a->start[k + 1]; i++) a->in[i] = NAN;
    if (!e) e = came;
  }
  *a->epoch += 1;
  return e;
}
