/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The all-to-all from device to device, for arrays outside of loops. No device polls: hosts wait for their
  devices, and then for each other. docs/design/alltoall.md draws it.

  Each rank has a staging window in memory that the others reach, with a part for what goes to each of them. A
  rank fills its parts and waits for its device, all ranks agree, and each fetches what is for it. The window
  has two halves, which are used in turn. A rank agrees again when its device has done all that it had to do.
  So what is filled after that was fetched before it. What is longer than a part goes in rounds.
*/
#include "link_parts.h"
#include "sys/sys.h"

enum { PART_LEAST = 512, PART_MOST = 512 << 10, WORD = 8 }; /* words of a part; bytes of a word */

bool poiseLinkHasAlltoall(PoiseContext ctx)
{
  return ctx->link && !ctx->link->library;
}

/* The longest of n messages. */
static int64_t Longest(int n, const int64_t *start)
{
  int64_t most = 0;
  for (int k = 0; k < n; k++)
    if (start[k + 1] - start[k] > most) most = start[k + 1] - start[k];
  return most;
}

/* The part for rank `other` of rank `owner`'s window. */
static char *PartFor(const Link *l, int owner, int other)
{
  int64_t part = (int64_t)l->half * PoiseSize(l->ctx) + other;
  return (char *)l->window.all[owner] + part * l->part * WORD;
}

/* How many words of message k go in the round that begins at word `first`. */
static int64_t WordsOfRound(const Link *l, const int64_t *start, int k, int64_t first)
{
  int64_t left = start[k + 1] - start[k] - first;
  return left < l->part ? left : l->part;
}

static PoiseErr Fill(const Link *l, const Exchange *ex, int64_t first, const char *from)
{
  for (int k = 0; k < ex->nsend; k++) {
    int64_t n = WordsOfRound(l, ex->send_start, k, first);
    if (n > 0)
      TRY(poiseDeviceCopy(l->ctx->device, PartFor(l, PoiseRank(l->ctx), ex->send_rank[k]),
                          from + (ex->send_start[k] + first) * WORD, (size_t)n * WORD, COPY_ON_DEVICE));
  }
  return POISE_OK;
}

static PoiseErr Fetch(const Link *l, const Exchange *ex, int64_t first, char *to)
{
  for (int k = 0; k < ex->nrecv; k++) {
    int64_t n = WordsOfRound(l, ex->recv_start, k, first);
    if (n > 0)
      TRY(poiseDeviceCopy(l->ctx->device, to + (ex->recv_start[k] + first) * WORD,
                          PartFor(l, ex->recv_rank[k], PoiseRank(l->ctx)), (size_t)n * WORD, COPY_ON_DEVICE));
  }
  return POISE_OK;
}

/* After a failure the device does nothing more for it. */
static PoiseErr WaitIfFailed(const Link *l, PoiseErr e)
{
  if (e) (void)poiseDeviceSync(l->ctx->device);
  return e;
}

/* Also where that has failed, the device does nothing more for it. */
static PoiseErr WaitForDevice(const Link *l, PoiseErr e)
{
  PoiseErr waited = poiseDeviceSync(l->ctx->device);
  return e ? e : waited;
}

/* Parts for messages of `words`, and somewhat longer ones. mine: this rank's error so far. Collective;
   agrees. */
static PoiseErr EnlargeWindow(Link *l, PoiseErr mine, int64_t words)
{
  int64_t part = PART_LEAST;
  while (part < 2 * words && part < PART_MOST) part *= 2;
  if (l->part) poiseLinkUnshare(l, &l->window);
  l->part = 0;
  TRY(poiseLinkShare(l, mine, (size_t)(2 * PoiseSize(l->ctx) * part) * WORD, "staging window", &l->window));
  l->part = part;
  return POISE_OK;
}

PoiseErr poiseLinkAlltoall(Link *l, PoiseErr mine, const Exchange *ex, const void *from, void *to)
{
  double longest = 1; /* of all ranks */
  for (int64_t first = 0; (double)first < longest;) {
    PoiseErr e = mine;
    longest = e ? 0 : (double)Longest(ex->nsend, ex->send_start); /* it may not be open */
    if (!e) e = Fill(l, ex, first, from);
    TRY(poiseAgreeMax(l->ctx, WaitForDevice(l, e), &longest));
    if (l->part < PART_MOST && (double)l->part < longest) {
      TRY(EnlargeWindow(l, POISE_OK, (int64_t)longest));
      continue;
    }
    mine = WaitIfFailed(l, Fetch(l, ex, first, to));
    l->half = !l->half;
    first += l->part;
  }
  return mine;
}

/* The first bytes of message k of a round, from byte `first` on. */
static size_t Piece(const int64_t *start, int k, size_t width, size_t first, size_t room)
{
  size_t bytes = (size_t)(start[k + 1] - start[k]) * width, left = bytes > first ? bytes - first : 0;
  return left < room ? left : room;
}

/* Here a half of the window is one part, for all others. */
PoiseErr poiseLinkAllgather(Link *l, PoiseErr mine, const int64_t *start, size_t width, char *data)
{
  int size = PoiseSize(l->ctx), rank = PoiseRank(l->ctx);
  Device *dev = l->ctx->device;
  size_t longest = (size_t)Longest(size, start) * width, unit = (size_t)size * WORD;
  int64_t words = (int64_t)((longest + unit - 1) / unit);
  PoiseErr e = mine;
  if (l->part < words && l->part < PART_MOST) TRY(EnlargeWindow(l, e, words));
  for (size_t first = 0, room = (size_t)l->part * unit; first < longest; first += room) {
    size_t n = Piece(start, rank, width, first, room);
    if (!e && n)
      e = poiseDeviceCopy(dev, PartFor(l, rank, 0), data + (size_t)start[rank] * width + first, n,
                          COPY_ON_DEVICE);
    TRY(PoiseAgree(l->ctx, WaitForDevice(l, e)));
    for (int r = 0; r < size && !e; r++) {
      n = r == rank ? 0 : Piece(start, r, width, first, room);
      if (n)
        e = poiseDeviceCopy(dev, data + (size_t)start[r] * width + first, PartFor(l, r, 0), n,
                            COPY_ON_DEVICE);
    }
    e = WaitIfFailed(l, e);
    l->half = !l->half;
  }
  return e;
}

void poiseLinkFreeWindow(Link *l)
{
  if (l->part) poiseLinkUnshare(l, &l->window);
  l->part = 0;
}
