/* SPDX-License-Identifier: BSD-3-Clause */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "contest.h"

#include <math.h>
#include <time.h>

#define TRY POISE_TRY

/* Iterations of a solve in a long run beyond those of a short one: whole cycles of all methods, and whole
   graphs of the others'. In many more the residuals' squares vanish. */
enum { LONG = 240 };

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

static int64_t RoundedUp(PoiseInt count, int64_t unit)
{
  return (count + unit - 1) / unit * unit;
}

/* Whole cycles of GMRES: its iterations cost more and more. */
static int64_t Iterations(const Rules *rules, int op)
{
  return RoundedUp(rules->iterations, op == OP_GMRES ? RESTART : 1);
}

/* Iterations of a short solve beside long ones. */
static int64_t Short(const Contender *c)
{
  return c->op == OP_GMRES ? RESTART : 32;
}

PoiseErr Calibrate(const Rules *rules, Contender *c, int mode)
{
  Times t = {0};
  if (mode == SUSTAINED) {
    c->units = RoundedUp(rules->sustained, c->solves ? LONG : RECORDED);
    return c->solves ? c->call(c->arg, c->op, Short(c)) : Work(c, RECORDED);
  }
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

static double Now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Time of solves, one behind the other. */
static PoiseErr SampleSolves(Contender *c, int64_t solves, int64_t iterations, Times *t)
{
  TRY(c->lane->wait(c->lane->arg));
  double start = PoiseTime();
  for (int64_t k = 0; k < solves; k++) TRY(c->call(c->arg, c->op, iterations));
  TRY(c->lane->wait(c->lane->arg));
  t->t[t->n++] = PoiseTime() - start;
  return POISE_OK;
}

static PoiseErr LongTurn(Contender *c)
{
  Span *s = &c->span[c->full.n];
  int64_t solves = c->units / LONG;
  if (c->solves) TRY(SampleSolves(c, solves, Short(c), &c->base));
  s->begin = Now();
  TRY(c->solves ? SampleSolves(c, solves, Short(c) + LONG, &c->full)
                : Sample(c, c->units, false, true, &c->full));
  s->end = Now();
  return POISE_OK;
}

PoiseErr Turn(Contender *c, int mode)
{
  if (mode == SUSTAINED) return LongTurn(c);
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
  int first = mode == SUSTAINED ? COPY : READ, fewest = mode == SUSTAINED ? 1 : FEWEST;
  for (int k = first; k <= COPY; k++) limits->c[k].full.n = 0;
  double start = PoiseTime();
  for (PoiseInt r = 0; r < rules->repeats && (r < fewest || PoiseTime() - start < rules->seconds); r++) {
    for (int k = first; k <= COPY; k++) TRY(Turn(&limits->c[k], mode == SUSTAINED ? mode : BACK_TO_BACK));
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
  if (mode == SUSTAINED)
    limits->c[COPY].units = (int64_t)ceil((double)rules->sustained * rules->copied / limits->c[COPY].bytes);
  for (int k = 0; k < list->n && !e; k++) {
    Contender *c = &list->c[k];
    c->base.n = c->full.n = 0;
    if (mode == REPLAYED || (mode == SUSTAINED && !c->solves)) Record(c);
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
