/* SPDX-License-Identifier: BSD-3-Clause */
/*
  A library by which mock devices exchange, in the place of NCCL. Ranks share a board, with a slot from each
  rank to each other one: what is long goes through it piece by piece. A piece tells in which call its sender
  is. So it is found when ranks do not make the same calls in the same order, which hangs GPUs or gives wrong
  numbers. What an exchange is to bring is NaN until `arrive`.
*/
#include <sched.h>
#include <stdatomic.h>

#include "link_device.h"
#include "sys/sys.h"

extern const LinkProcesses poiseMockProcesses; /* device_mock_shared.c */

enum { PIECE = 64 }; /* numbers */

typedef struct Slot {
  atomic_int full;
  int64_t call, length; /* the number of the sender's call; numbers that it sends in all */
  int64_t n;            /* of this piece */
  double v[PIECE];
} Slot;

typedef struct Board { /* what an invitation says */
  LinkHandle handle;
  size_t bytes;
} Board;

struct LinkMockArgs {
  struct Library *library;
  int64_t number;
  int64_t n;          /* of a gather; 0: an exchange, */
  const Exchange *ex; /* with these neighbours */
  const double *send;
  double *recv;
};

typedef struct Library {
  int rank, size;
  bool failed;    /* it takes part no more */
  int64_t number; /* of the board, for graphs that are older */
  int64_t calls;  /* so far, of this board */
  double seconds; /* that a call waits */
  Board board;
  Slot *slot;            /* [from][to], on the board; NULL: this rank has not joined */
  int64_t *sent, *came;  /* [size]: of the present call */
  LinkMockArgs arriving; /* the exchange that was enqueued, and waits for `arrive` */
} Library;

static Slot *SlotOf(const Library *l, int from, int to)
{
  return &l->slot[(int64_t)from * l->size + to];
}

/* ---- pieces ---------------------------------------------------------------------------------- */

/* The next piece of n numbers, if there is room for it. Returns whether all have been sent. */
static bool Send(Library *l, int to, const double *v, int64_t n)
{
  Slot *slot = SlotOf(l, l->rank, to);
  int64_t left = n - l->sent[to];
  if (!left) return true;
  if (atomic_load_explicit(&slot->full, memory_order_acquire)) return false;
  slot->call = l->calls;
  slot->length = n;
  slot->n = left < PIECE ? left : PIECE;
  memcpy(slot->v, v + l->sent[to], (size_t)slot->n * sizeof *v);
  l->sent[to] += slot->n;
  atomic_store_explicit(&slot->full, 1, memory_order_release);
  return l->sent[to] == n;
}

/* The next piece, if it is there. *all: whether all n numbers have come. */
static PoiseErr Receive(Library *l, int from, double *v, int64_t n, bool *all)
{
  Slot *slot = SlotOf(l, from, l->rank);
  *all = l->came[from] == n;
  if (*all || !atomic_load_explicit(&slot->full, memory_order_acquire)) return POISE_OK;
  if (slot->call != l->calls || slot->length != n)
    FAIL(POISE_ERR_INTERNAL,
         "rank %d sends %lld numbers in call %lld of a library, rank %d awaits %lld in call %lld", from,
         (long long)slot->length, (long long)slot->call, l->rank, (long long)n, (long long)l->calls);
  memcpy(v + l->came[from], slot->v, (size_t)slot->n * sizeof *v);
  l->came[from] += slot->n;
  atomic_store_explicit(&slot->full, 0, memory_order_release);
  *all = l->came[from] == n;
  return POISE_OK;
}

/* One piece to and from each rank that is not done. */
static PoiseErr Advance(Library *l, const LinkMockArgs *a, bool *done)
{
  bool all;
  *done = true;
  for (int r = 0; r < l->size && a->n; r++) *done &= Send(l, r, a->send, a->n);
  for (int r = 0; r < l->size && a->n; r++) {
    TRY(Receive(l, r, a->recv + r * a->n, a->n, &all));
    *done &= all;
  }
  for (int k = 0; !a->n && k < a->ex->nsend; k++) {
    const int64_t *start = a->ex->send_start + k;
    *done &= Send(l, a->ex->send_rank[k], a->send + start[0], start[1] - start[0]);
  }
  for (int k = 0; !a->n && k < a->ex->nrecv; k++) {
    const int64_t *start = a->ex->recv_start + k;
    TRY(Receive(l, a->ex->recv_rank[k], a->recv + start[0], start[1] - start[0], &all));
    *done &= all;
  }
  return POISE_OK;
}

static PoiseErr Transfer(Library *l, const LinkMockArgs *a)
{
  double since = PoiseTime();
  bool done = false;
  if (a->number != l->number)
    FAIL(POISE_ERR_INTERNAL, "a graph is replayed with calls of a library that ranks have left since");
  if (l->failed) FAIL(POISE_ERR_COMM, "this rank takes no part in exchanges any more");
  l->calls++;
  memset(l->sent, 0, (size_t)l->size * sizeof *l->sent);
  memset(l->came, 0, (size_t)l->size * sizeof *l->came);
  for (;;) {
    TRY(Advance(l, a, &done));
    if (done) return POISE_OK;
    if (PoiseTime() - since > l->seconds)
      FAIL(POISE_ERR_COMM, "the device of rank %d waited %g s for those of other ranks, which did not come",
           l->rank, l->seconds);
    sched_yield();
  }
}

static void FillNan(double *v, int64_t n)
{
  for (int64_t i = 0; i < n; i++) v[i] = NAN;
}

PoiseErr poiseHost_link_mock(Device *dev, const void *args)
{
  const LinkMockArgs *a = args;
  Library *l = a->library;
  (void)dev;
  PoiseErr e = Transfer(l, a);
  if (!e) return POISE_OK;
  l->failed = true;
  if (a->number == l->number) FillNan(a->recv, a->n ? l->size * a->n : a->ex->recv_start[a->ex->nrecv]);
  return e;
}

/* ---- the library's functions ----------------------------------------------------------------- */

static PoiseErr Load(Device *dev, void **library)
{
  TRY(poiseAlloc(dev->ctx, sizeof(Library), "library of a mock", library));
  ((Library *)*library)->seconds = 10;
  return POISE_OK;
}

static void Describe(const void *library, char *text, size_t size)
{
  (void)library;
  snprintf(text, size, "a mock of NCCL");
}

/* Rank 0 makes the board. */
static PoiseErr Invite(Device *dev, void *library, LinkInvitation *invitation)
{
  Library *l = library;
  size_t size = (size_t)PoiseSize(dev->ctx);
  _Static_assert(sizeof(Board) <= sizeof invitation->bytes, "an invitation has room for the board");
  l->board.bytes = size * size * sizeof(Slot);
  TRY(poiseMockProcesses.alloc(dev, l->board.bytes, "board of a mock", &l->board.handle, (void **)&l->slot));
  memcpy(invitation->bytes, &l->board, sizeof l->board);
  return POISE_OK;
}

static PoiseErr Join(Device *dev, void *library, const LinkInvitation *invitation, int rank, int size)
{
  Library *l = library;
  l->rank = rank, l->size = size;
  l->failed = false, l->calls = 0;
  if (!l->sent) TRY(poiseAllocArray(dev->ctx, size, sizeof *l->sent, "library of a mock", &l->sent));
  if (!l->came) TRY(poiseAllocArray(dev->ctx, size, sizeof *l->came, "library of a mock", &l->came));
  memcpy(&l->board, invitation->bytes, sizeof l->board);
  if (rank == 0) return POISE_OK;
  return poiseMockProcesses.open(dev, &l->board.handle, l->board.bytes, (void **)&l->slot);
}

/* Calls that are enqueued still run, as other ranks may wait for them, or fail. */
static void Leave(Device *dev, void *library, bool at_once)
{
  Library *l = library;
  (void)at_once;
  (void)dev->ops->sync(dev);
  if (l->slot && l->rank == 0) poiseMockProcesses.free(dev, l->board.bytes, l->slot);
  if (l->slot && l->rank) poiseMockProcesses.close(dev, l->board.bytes, l->slot);
  l->slot = NULL;
  l->number++;
}

static void Unload(Device *dev, void **library)
{
  Library *l = *library;
  if (!l) return;
  poiseFree(dev->ctx, &l->sent);
  poiseFree(dev->ctx, &l->came);
  poiseFree(dev->ctx, library);
}

static void Watch(Device *dev, void *library, double seconds)
{
  (void)dev;
  if (seconds > 0) ((Library *)library)->seconds = seconds;
}

static PoiseErr Gather(Device *dev, void *library, int n, const double *mine, double *all)
{
  Library *l = library;
  return LAUNCH(dev, link_mock, &(LinkMockArgs){l, l->number, n, NULL, mine, all});
}

static PoiseErr BeginExchange(Device *dev, void *library, const Exchange *ex, const double *send,
                              double *recv)
{
  Library *l = library;
  size_t bytes = (size_t)ex->recv_start[ex->nrecv] * sizeof *recv;
  l->arriving = (LinkMockArgs){l, l->number, 0, ex, send, recv};
  return bytes ? dev->ops->poison(dev, recv, bytes) : POISE_OK;
}

static PoiseErr Arrive(Device *dev, void *library)
{
  return LAUNCH(dev, link_mock, &((Library *)library)->arriving);
}

extern const LinkLibrary poiseMockLibrary;
const LinkLibrary poiseMockLibrary = {.name = "NCCL",
                                      .most = 4096,
                                      .load = Load,
                                      .unload = Unload,
                                      .describe = Describe,
                                      .invite = Invite,
                                      .join = Join,
                                      .leave = Leave,
                                      .watch = Watch,
                                      .gather = Gather,
                                      .exchange = BeginExchange,
                                      .arrive = Arrive};
