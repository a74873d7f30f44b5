/* SPDX-License-Identifier: BSD-3-Clause */
#include "contest.h"

#include <math.h>

#define TRY POISE_TRY

/* Operations as a graph. Whoever cannot be recorded takes no part, and says why. */
static void Record(Contender *c)
{
  const Lane *l = c->lane;
  if (!l->recorder) return;
  PoiseErr e = l->recorder->begin(l->stream);
  if (!e) {
    PoiseErr called = c->call(c->arg, c->op, RECORDED);
    e = l->recorder->end(l->stream, &c->graph);
    if (called) e = called;
  }
  if (!e) return;
  printf("%s %s is not replayed: %s\n", c->who, c->how, PoiseErrorMessage());
  PoiseErrorClear();
  if (c->graph) l->recorder->forget(c->graph);
  c->graph = NULL;
}

static PoiseErr Work(Contender *c, int64_t count)
{
  if (!c->graph) return c->call(c->arg, c->op, count);
  for (int64_t k = 0; k < count; k += RECORDED) TRY(c->lane->recorder->replay(c->lane->stream, c->graph));
  return POISE_OK;
}

/* Time of `count` operations, or of emptying the caches so often. */
static PoiseErr Sample(Contender *c, int64_t count, bool flush, bool work, Times *t)
{
  const Lane *lane = c->lane;
  double outside = 0, start;
  TRY(lane->wait(lane->arg));
  start = PoiseTime();
  if (!flush) TRY(Work(c, count));
  for (int64_t k = 0; k < count && flush; k++) {
    double before = PoiseTime();
    TRY(lane->flush(lane->arg));
    if (lane->synchronous) outside += PoiseTime() - before;
    if (work) TRY(c->call(c->arg, c->op, 1));
  }
  TRY(lane->wait(lane->arg));
  t->t[t->n++] = PoiseTime() - start - outside;
  return POISE_OK;
}

/* Whole cycles of GMRES: its iterations cost more and more. */
static int64_t Iterations(const Rules *rules, int op)
{
  int64_t unit = op == OP_GMRES ? RESTART : 1;
  return (rules->iterations + unit - 1) / unit * unit;
}

PoiseErr Calibrate(const Rules *rules, Contender *c, int mode)
{
  Times t = {0};
  if (mode == BY_ITERATIONS) {
    c->units = 2 * Iterations(rules, c->op);
    return c->call(c->arg, c->op, c->units / 2);
  }
  int64_t unit = c->graph ? RECORDED : 1;
  TRY(Sample(c, unit, false, true, &t));
  if (t.t[0] < 0.1) TRY(Sample(c, unit, false, true, &t));
  double count = ceil(rules->sample / (t.t[t.n - 1] + 1e-9));
  double most = mode == COLD && c->lane->synchronous ? 3 : 1000; /* emptying the caches of a CPU takes long */
  c->units = unit * (int64_t)fmax(1, fmin(count, most / (double)unit));
  return POISE_OK;
}

PoiseErr Turn(Contender *c, int mode)
{
  if (mode == BY_ITERATIONS) {
    TRY(Sample(c, c->units / 2, false, true, &c->base));
    return Sample(c, c->units / 2 * 3, false, true, &c->full);
  }
  if (mode == COLD && !c->lane->synchronous) TRY(Sample(c, c->units, true, false, &c->base));
  return Sample(c, c->units, mode == COLD, true, &c->full);
}

double Seconds(Contender *c, double (*of)(Times *))
{
  return (of(&c->full) - (c->base.n ? of(&c->base) : 0)) / (double)c->units;
}

double GBs(double bytes, double seconds)
{
  return 1e-9 * bytes / seconds;
}

static PoiseErr Turns(const Rules *rules, List *limits, List *list, int mode)
{
  for (int k = READ; k <= COPY; k++) limits->c[k].full.n = 0;
  double start = PoiseTime();
  for (PoiseInt r = 0; r < rules->repeats && (r < FEWEST || PoiseTime() - start < rules->seconds); r++) {
    for (int k = READ; k <= COPY; k++) TRY(Turn(&limits->c[k], BACK_TO_BACK));
    for (int k = 0; k < list->n; k++) {
      Contender *c = &list->c[(k + r) % list->n]; /* nobody always comes first */
      if (c->graph || mode != REPLAYED) TRY(Turn(c, mode));
    }
  }
  return POISE_OK;
}

PoiseErr Race(const Rules *rules, List *limits, List *list, int mode)
{
  PoiseErr e = POISE_OK;
  for (int k = 0; k < list->n && !e; k++) {
    Contender *c = &list->c[k];
    c->base.n = c->full.n = 0;
    if (mode == REPLAYED) Record(c);
    if (c->graph || mode != REPLAYED) e = Calibrate(rules, c, mode);
  }
  if (!e) e = Turns(rules, limits, list, mode);
  for (int k = 0; k < list->n; k++) {
    Contender *c = &list->c[k];
    if (c->graph) c->lane->recorder->forget(c->graph);
    c->graph = NULL;
  }
  return e;
}
