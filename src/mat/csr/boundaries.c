/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Boundaries of shares in the nonzeros of a matrix. On two levels: those between machines first, then those of
  the ranks of each. So rows that are short for a machine are not cut between machines, where results of their
  pieces would travel far. Ranks of one machine that are not neighbours count as several machines.
*/
#include "boundaries.h"
#include "entries.h"
#include "sys/device/place.h"

int64_t poiseRowOfEntry(const Csr *c, const void *ptr, int64_t k)
{
  int64_t row = 0, above = c->m;
  while (row + 1 < above) {
    int64_t half = (row + above) / 2;
    *(poiseCsrPtr(c, ptr, half) <= k ? &row : &above) = half;
  }
  return row;
}

int64_t poiseBoundaryMove(PoiseMat A, const void *ptr, const Shares *s, Entries e, int q, double share)
{
  const Csr *c = &A->csr;
  int64_t at = poiseShareBegin(s, q, e.total), unit = c->b ? 1 : A->block_size;
  if (at <= e.first || at >= e.first + c->nz) return 0;
  int64_t row = poiseRowOfEntry(c, ptr, at - e.first) / unit * unit;
  int64_t begin = e.first + poiseCsrPtr(c, ptr, row), end = e.first + poiseCsrPtr(c, ptr, row + unit);
  if (begin == at || PERCENT * (double)(end - begin) > share) return 0;
  return 1 + (poiseShareAt(s, begin, end - begin, e.total) < q ? end : begin);
}

/* ---- machines -------------------------------------------------------------------------------- */

typedef struct Machines {
  uint64_t *of;   /* the machine of each rank */
  int64_t *moved; /* as of poiseBoundaryMove, for each boundary */
} Machines;

static bool Begins(const Machines *m, int size, int q) /* does a machine begin with rank q? */
{
  return !q || q == size || m->of[q] != m->of[q - 1];
}

static double Begin(const Shares *s, int q)
{
  return s->bound ? s->bound[q] : (double)q / s->parts;
}

static PoiseErr Gather(PoiseContext ctx, Machines *m)
{
  Comm *comm = ctx->comm;
  uint64_t (*machine)(int rank) = poiseContextHome(ctx)->hooks.machine;
  uint64_t mine = machine ? machine(comm->rank) : poiseMachine();
  PoiseErr e = poiseAllocArray(ctx, comm->size, sizeof *m->of, "machines of ranks", &m->of);
  if (!e) e = poiseAllocArray(ctx, comm->size + 1, sizeof *m->moved, "boundaries of machines", &m->moved);
  TRY(PoiseAgree(ctx, e));
  return comm->ops->allgather(comm, &mine, sizeof mine, m->of);
}

static double LeastOfMachine(const Machines *m, const Shares *s, int64_t total)
{
  double least = (double)total;
  for (int q = 1, first = 0; q <= s->parts; q++) {
    if (!Begins(m, s->parts, q)) continue;
    least = fmin(least, (Begin(s, q) - Begin(s, first)) * (double)total);
    first = q;
  }
  return least;
}

static PoiseErr MoveBoundaries(PoiseMat A, const Shares *s, Entries *e, Machines *m)
{
  HostCsr h;
  TRY(poiseCommScan(A->ctx->comm, A->csr.nz, &e->first, &e->total));
  TRY(PoiseAgree(A->ctx, poiseMatPattern(A, &h)));
  double least = LeastOfMachine(m, s, e->total);
  for (int q = 1; q < s->parts; q++)
    if (Begins(m, s->parts, q)) m->moved[q] = poiseBoundaryMove(A, h.ptr, s, *e, q, least);
  return poiseCommMaxInt(A->ctx->comm, m->moved, s->parts + 1);
}

/* Between boundaries of machines the others keep their proportions. */
static void Spread(const Machines *m, const Shares *s, int64_t total, double *bound)
{
  for (int q = 0; q <= s->parts; q++)
    bound[q] = m->moved[q] ? (double)(m->moved[q] - 1) / (double)total : Begin(s, q);
  for (int first = 0, last; first < s->parts; first = last) {
    for (last = first + 1; !Begins(m, s->parts, last);) last++;
    double scale = (bound[last] - bound[first]) / (Begin(s, last) - Begin(s, first));
    for (int q = first + 1; q < last; q++) bound[q] = bound[first] + scale * (Begin(s, q) - Begin(s, first));
  }
}

static PoiseErr ByMachine(PoiseMat A, Machines *m, Shares *s, double **bound, int *machines)
{
  Entries e;
  TRY(Gather(A->ctx, m));
  *machines = 0;
  for (int q = 0; q < s->parts; q++) *machines += Begins(m, s->parts, q);
  if (*machines == 1) return POISE_OK;
  TRY(MoveBoundaries(A, s, &e, m));
  PoiseErr mine = poiseAllocArray(A->ctx, s->parts + 1, sizeof **bound, "shares of ranks", bound);
  TRY(PoiseAgree(A->ctx, mine));
  Spread(m, s, e.total, *bound);
  s->bound = *bound;
  return POISE_OK;
}

PoiseErr poiseSharesByMachine(PoiseMat A, Shares *s, double **bound, int *machines)
{
  Machines m = {0};
  *s = poiseSharesOf(A);
  *bound = NULL;
  PoiseErr e = ByMachine(A, &m, s, bound, machines);
  poiseFree(A->ctx, &m.of);
  poiseFree(A->ctx, &m.moved);
  return e;
}
