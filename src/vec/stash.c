/* SPDX-License-Identifier: BSD-3-Clause */
/* Entries added for rows of any rank, sent to their owners when the object is assembled. */
#include "vec.h"

PoiseErr poiseStashAdd(PoiseContext ctx, Stash *s, PoiseInt row, PoiseInt col, double value)
{
  if (s->n == s->capacity) {
    int64_t capacity = s->capacity + s->capacity / 2 + 1024;
    TRY(poiseRealloc(ctx, (size_t)capacity * sizeof(Entry), (size_t)s->n * sizeof(Entry), "added entries",
                     &s->entry));
    s->capacity = capacity;
  }
  s->entry[s->n++] = (Entry){row, col, value};
  return POISE_OK;
}

void poiseStashDestroy(PoiseContext ctx, Stash *s)
{
  poiseFree(ctx, &s->entry);
  *s = (Stash){0};
}

typedef struct StashParcel {          /* what this rank sends: entries of others' rows, sorted by owner,
                                         keeping their order */
  Entry *out, *in;                    /* in: this rank's entries, then the received ones */
  int64_t *send, *receive, *gathered; /* bytes per rank; gathered: `send` of all ranks */
  int64_t own, total;                 /* entries that stay here; their number with the received ones */
} StashParcel;

static PoiseErr Pack(PoiseContext ctx, const Stash *s, const Layout *rows, StashParcel *p)
{
  int size = PoiseSize(ctx), rank = PoiseRank(ctx);
  int64_t *next;
  TRY(poiseAllocArray(ctx, size, sizeof(int64_t), "counts", &p->send));
  TRY(poiseAllocArray(ctx, size, sizeof(int64_t), "counts", &p->receive));
  TRY(poiseAllocArray(ctx, (int64_t)size * size, sizeof(int64_t), "counts", &p->gathered));
  next = p->receive; /* used as cursors first */
  for (int64_t i = 0; i < s->n; i++) p->send[poiseLayoutOwner(rows, s->entry[i].row)]++;
  p->own = p->send[rank];
  p->send[rank] = 0;
  TRY(poiseAllocArray(ctx, s->n - p->own, sizeof(Entry), "entries to send", &p->out));
  for (int r = 1; r < size; r++) next[r] = next[r - 1] + p->send[r - 1];
  for (int64_t i = 0; i < s->n; i++) {
    int r = poiseLayoutOwner(rows, s->entry[i].row);
    if (r != rank) p->out[next[r]++] = s->entry[i];
  }
  for (int r = 0; r < size; r++) p->send[r] *= (int64_t)sizeof(Entry);
  return POISE_OK;
}

static void TakeOwn(const Stash *s, const Layout *rows, Entry *in)
{
  for (int64_t i = 0; i < s->n; i++) {
    PoiseInt k = s->entry[i].row - rows->begin;
    if (k >= 0 && k < rows->n) *in++ = s->entry[i];
  }
}

PoiseErr poiseStashExchange(PoiseContext ctx, Stash *s, const Layout *rows)
{
  StashParcel p = {0};
  Comm *comm = ctx->comm;
  int size = PoiseSize(ctx), rank = PoiseRank(ctx);
  if (size == 1) return POISE_OK; /* all rows are this rank's */
  PoiseErr e = PoiseAgree(ctx, Pack(ctx, s, rows, &p));
  if (!e) e = comm->ops->allgather(comm, p.send, (size_t)size * sizeof(int64_t), p.gathered);
  p.total = p.own;
  for (int r = 0; !e && r < size; r++) {
    p.receive[r] = p.gathered[(int64_t)r * size + rank];
    p.total += p.receive[r] / (int64_t)sizeof(Entry);
  }
  if (!e) e = PoiseAgree(ctx, poiseAllocArray(ctx, p.total, sizeof(Entry), "received entries", &p.in));
  if (!e) e = comm->ops->alltoallv(comm, p.out, p.send, p.in ? p.in + p.own : NULL, p.receive);
  if (!e) {
    TakeOwn(s, rows, p.in);
    poiseStashDestroy(ctx, s);
    *s = (Stash){p.in, p.total, p.total};
    p.in = NULL;
  }
  poiseFree(ctx, &p.out);
  poiseFree(ctx, &p.in);
  poiseFree(ctx, &p.send);
  poiseFree(ctx, &p.receive);
  poiseFree(ctx, &p.gathered);
  return PoiseAgree(ctx, e);
}
