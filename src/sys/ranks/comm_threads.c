/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Ranks that are threads of one process. A rank publishes where its data are, and the others copy from there.

  All waits are for counters that only grow. A waiter spins briefly if there is a core for every rank among
  those that the process may run on, then yields to other threads, then sleeps. A rank that leaves with an
  error ends all waits that it would never satisfy.

  Ranks that are in different calls get an error, and neither wrong results nor a hang. At a barrier each rank
  shows the call that it is in. A rank that waits for a neighbour sees that the neighbour waits at a barrier.
*/
#define _GNU_SOURCE /* sched_getaffinity */
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "sys/sys.h"

enum {
  INLINE_BYTES = POISE_COMM_WIDTH * sizeof(double),
  SPINS = 2000,
  YIELDS = 50, /* how often a waiter yields before it sleeps, from which waking is slow */
  LANES = 8    /* exchanges that may run at once */
};

typedef atomic_int_fast64_t Counter;

typedef struct Slot { /* what a rank shows the others */
  _Alignas(64) unsigned char small[2][INLINE_BYTES];
  const void *data;
  const int64_t *bytes;
  CommMeeting meeting[2];      /* the collective that the rank is in; two halves, as of `small` */
  _Alignas(64) Counter target; /* of the barrier where the rank is, or was */
  _Alignas(64) Counter begun;  /* exchanges begun. All ranks begin the same ones in the same order, so the
                                 number identifies one */
  Counter copied[LANES];       /* copied[k]: the latest exchange e with e modulo LANES = k of which this
                                  rank has copied its part */
} Slot;

struct Team {
  PoiseContext ctx; /* context of the thread that started the ranks */
  int size, spins;
  _Alignas(64) Counter arrivals; /* total arrivals at barriers */
  _Alignas(64) Counter sleepers;
  Counter watchers;   /* sleepers that wait for one rank, which may be waiting at a barrier */
  Counter stopped;    /* ranks that left, or that will not wait again as one has left */
  atomic_int aborted; /* 1 + the rank that left first */
  pthread_mutex_t lock;
  pthread_cond_t wake;
  bool lock_made, wake_made;
  Slot *slot;
  Comm **comm;
  atomic_int inside; /* ranks that a team split off still has; it ends with the last of them */
};

typedef struct Seat { /* a rank's private part: Comm.data */
  Team *team;
  int parity; /* half of the slot that the next small call uses */
  bool stopped;
} Seat;

typedef struct Plan {  /* Exchange.priv */
  const Exchange *ex;  /* read by others during set-up only */
  const double **from; /* for each of nrecv senders, where the data for this rank are */
  int64_t number;      /* number of the running exchange */
  int64_t messages;
} Plan;

/* ---- waiting --------------------------------------------------------------------------------- */

static void Wake(Team *team)
{
  if (!atomic_load(&team->sleepers)) return;
  pthread_mutex_lock(&team->lock);
  pthread_cond_broadcast(&team->wake);
  pthread_mutex_unlock(&team->lock);
}

enum { NOBODY = -1 };

typedef struct Wait {
  Counter *counter;
  int64_t target;
  int rank; /* the rank that moves the counter; NOBODY: all do */
  bool even_aborted;
} Wait;

/* Does `rank` wait at a barrier that this rank will not reach? */
static bool IsAtBarrier(Team *team, int rank)
{
  int64_t target = rank == NOBODY ? 0 : atomic_load(&team->slot[rank].target);
  return atomic_load(&team->arrivals) < target;
}

static bool IsOver(Team *team, const Wait *w)
{
  if (IsAtBarrier(team, w->rank))
    return true; /* checked before the counter, which it may have moved
                                                  before it went there */
  return atomic_load(w->counter) >= w->target || (!w->even_aborted && atomic_load(&team->aborted));
}

static void Await(Team *team, const Wait *w)
{
  for (int i = 0; i < team->spins; i++)
    if (IsOver(team, w)) return;
  for (int i = 0; i < YIELDS; i++) {
    if (IsOver(team, w)) return;
    sched_yield();
  }
  pthread_mutex_lock(&team->lock);
  atomic_fetch_add(&team->sleepers, 1); /* before the test below, so that a rank that moves the counter
                                           later sees a sleeper */
  atomic_fetch_add(&team->watchers, w->rank != NOBODY);
  while (!IsOver(team, w)) pthread_cond_wait(&team->wake, &team->lock);
  atomic_fetch_sub(&team->watchers, w->rank != NOBODY);
  atomic_fetch_sub(&team->sleepers, 1);
  pthread_mutex_unlock(&team->lock);
}

static void Stop(Team *team, int rank)
{
  Seat *seat = team->comm[rank]->data;
  if (seat->stopped) return;
  seat->stopped = true;
  atomic_fetch_add(&team->stopped, 1);
  Wake(team);
}

void poiseTeamAbort(Team *team, int rank)
{
  int none = 0;
  atomic_compare_exchange_strong(&team->aborted, &none, rank + 1);
  Stop(team, rank);
  Wake(team);
}

/* Wait for a counter. After an abort no rank unwinds before all have stopped, as unwinding frees memory
   that others may be copying from. rank: as of Wait. If that rank waits at a barrier meanwhile, it is in
   another call than this rank, which is in an exchange. */
static PoiseErr WaitFor(Comm *comm, Counter *counter, int64_t target, int rank)
{
  Seat *seat = comm->data;
  Team *team = seat->team;
  poiseLinkRun(comm->ctx);
  if (!seat->stopped) {
    Await(team, &(Wait){counter, target, rank, false});
    /* the target was reached, so success, even if a rank has left since */
    if (atomic_load(counter) >= target) return POISE_OK;
    if (!atomic_load(&team->aborted)) {
      const char *call = comm->ctx->call;
      FAIL(POISE_ERR_COMM,
           "rank %d waits in %s for rank %d, which is in another call: all ranks must make the same calls",
           comm->rank, call ? call : "the library", rank);
    }
    Stop(team, comm->rank);
    Await(team, &(Wait){&team->stopped, team->size, NOBODY, true});
  }
  FAIL(POISE_ERR_REMOTE, "rank %d left with an error", atomic_load(&team->aborted) - 1);
}

static PoiseErr Barrier(Comm *comm)
{
  Team *team = ((Seat *)comm->data)->team;
  int64_t ticket = atomic_fetch_add(&team->arrivals, 1);
  int64_t target = (ticket / team->size + 1) * team->size;
  atomic_store(&team->slot[comm->rank].target, target);
  if (ticket + 1 == target || atomic_load(&team->watchers)) Wake(team);
  return WaitFor(comm, &team->arrivals, target, NOBODY);
}

/* ---- collectives ----------------------------------------------------------------------------- */

static void Copy(void *to, const void *from, size_t bytes)
{
  if (bytes) memmove(to, from, bytes);
}

static void Count(Comm *comm, size_t bytes)
{
  comm->messages++;
  comm->message_bytes += (int64_t)bytes;
}

/* The barrier of a collective. All ranks must be in the same one; a rank that is not gets the error like
   the others. */
static PoiseErr Meet(Comm *comm, CommMeeting mine)
{
  Seat *seat = comm->data;
  Slot *slot = seat->team->slot;
  int parity = seat->parity;
  slot[comm->rank].meeting[parity] = mine;
  TRY(Barrier(comm));
  for (int r = 0; r < comm->size; r++) {
    PoiseErr e = poiseCommSame(&mine, comm->rank, &slot[r].meeting[parity], r);
    if (e) seat->parity = !parity; /* others may still be reading this half */
    TRY(e);
  }
  return POISE_OK;
}

/* Publish `bytes` bytes (NULL: nothing), and wait until all ranks have. Small data are copied into the
   other half of the slot than last time. It is overwritten two calls later. By then all ranks have passed
   the barrier in between, and so have read it. */
static PoiseErr Show(Comm *comm, const void *data, size_t bytes, CommPurpose purpose, int root)
{
  Seat *seat = comm->data;
  Slot *mine = &seat->team->slot[comm->rank];
  if (bytes > INLINE_BYTES)
    mine->data = data;
  else if (data)
    Copy(mine->small[seat->parity], data, bytes);
  return Meet(comm, poiseCommMeeting(comm, purpose, bytes, root));
}

static const void *Published(Comm *comm, int rank, size_t bytes)
{
  Seat *seat = comm->data;
  const Slot *slot = &seat->team->slot[rank];
  return bytes > INLINE_BYTES ? slot->data : slot->small[seat->parity];
}

/* Wait until all ranks have read what this rank published, which may then be overwritten. */
static PoiseErr Hide(Comm *comm, size_t bytes)
{
  Seat *seat = comm->data;
  if (bytes > INLINE_BYTES) return Barrier(comm);
  seat->parity = !seat->parity;
  return POISE_OK;
}

static PoiseErr Allgather(Comm *comm, const void *in, size_t bytes, void *out)
{
  TRY(Show(comm, in, bytes, comm->purpose, 0));
  for (int r = 0; r < comm->size; r++)
    Copy((char *)out + (size_t)r * bytes, Published(comm, r, bytes), bytes);
  Count(comm, bytes);
  return Hide(comm, bytes);
}

static PoiseErr Bcast(Comm *comm, void *data, size_t bytes, int root)
{
  bool sends = comm->rank == root;
  TRY(Show(comm, sends ? data : NULL, bytes, COMM_SHARE, root));
  if (sends)
    Count(comm, bytes);
  else
    Copy(data, Published(comm, root, bytes), bytes);
  return Hide(comm, bytes);
}

static int64_t Before(const int64_t *bytes, int rank)
{
  int64_t sum = 0;
  for (int r = 0; r < rank; r++) sum += bytes[r];
  return sum;
}

static PoiseErr Collect(Comm *comm, char *recv, const int64_t *recv_bytes)
{
  const Slot *slot = ((Seat *)comm->data)->team->slot;
  for (int r = 0; r < comm->size; r++) {
    int64_t sent = slot[r].bytes[comm->rank];
    if (sent != recv_bytes[r])
      FAIL(POISE_ERR_COMM, "rank %d sends %lld bytes to rank %d, which expects %lld", r, (long long)sent,
           comm->rank, (long long)recv_bytes[r]);
    if (!sent) continue; /* a pointer to nothing may be NULL */
    memcpy(recv, (const char *)slot[r].data + Before(slot[r].bytes, comm->rank), (size_t)sent);
    recv += sent;
  }
  return POISE_OK;
}

static PoiseErr Alltoallv(Comm *comm, const void *send, const int64_t *send_bytes, void *recv,
                          const int64_t *recv_bytes)
{
  Slot *mine = &((Seat *)comm->data)->team->slot[comm->rank];
  mine->data = send;
  mine->bytes = send_bytes;
  for (int r = 0; r < comm->size; r++)
    if (send_bytes[r] && r != comm->rank) Count(comm, (size_t)send_bytes[r]);
  TRY(Meet(comm, poiseCommMeeting(comm, COMM_TRADE, 0, 0)));
  PoiseErr e = Collect(comm, recv, recv_bytes);
  PoiseErr hidden = Barrier(comm);
  return e ? e : hidden;
}

/* ---- neighbour exchange ---------------------------------------------------------------------- */

static void ExchangeFree(Comm *comm, Exchange *ex)
{
  Plan *plan = ex->priv;
  if (!plan) return;
  poiseFree(comm->ctx, &plan->from);
  poiseFree(comm->ctx, &ex->priv);
}

static PoiseErr CreatePlan(Comm *comm, Exchange *ex, Plan ***plans)
{
  Plan *plan;
  TRY(poiseAllocArray(comm->ctx, comm->size, sizeof **plans, "exchange set-up", plans));
  TRY(poiseAlloc(comm->ctx, sizeof *plan, "exchange", &ex->priv));
  plan = ex->priv;
  plan->ex = ex;
  return poiseAllocArray(comm->ctx, ex->nrecv, sizeof *plan->from, "exchange segments", &plan->from);
}

/* The number of doubles for `rank` on one side (ranks and offsets) of an exchange. */
static int64_t Segment(int count, const int *ranks, const int64_t *start, int rank, int64_t *offset)
{
  for (int k = 0; k < count; k++) {
    *offset = start[k];
    if (ranks[k] == rank) return start[k + 1] - start[k];
  }
  return 0;
}

static PoiseErr Matching(int from, int64_t sent, int to, int64_t expected)
{
  if (sent == expected) return POISE_OK;
  FAIL(POISE_ERR_COMM, "rank %d sends %lld doubles to rank %d, which expects %lld", from, (long long)sent, to,
       (long long)expected);
}

/* Find this rank's segments in its senders' buffers, and check that its receivers expect what it has for
   them. */
static PoiseErr Connect(Comm *comm, Exchange *ex, Plan **plans)
{
  Plan *plan = ex->priv;
  int64_t offset = 0;
  for (int k = 0; k < ex->nrecv; k++) {
    const Exchange *their = plans[ex->recv_rank[k]]->ex;
    int64_t sent = Segment(their->nsend, their->send_rank, their->send_start, comm->rank, &offset);
    TRY(Matching(ex->recv_rank[k], sent, comm->rank, ex->recv_start[k + 1] - ex->recv_start[k]));
    if (sent) plan->from[k] = their->send + offset;
  }
  for (int k = 0; k < ex->nsend; k++) {
    const Exchange *their = plans[ex->send_rank[k]]->ex;
    int64_t expected = Segment(their->nrecv, their->recv_rank, their->recv_start, comm->rank, &offset);
    int64_t sends = ex->send_start[k + 1] - ex->send_start[k];
    TRY(Matching(comm->rank, sends, ex->send_rank[k], expected));
    plan->messages += sends > 0;
  }
  return POISE_OK;
}

static PoiseErr Setup(Comm *comm, Exchange *ex, Plan ***plans)
{
  PoiseErr e = CreatePlan(comm, ex, plans);
  TRY(poiseAgreeGather(comm->ctx, e, &ex->priv, sizeof ex->priv, *plans));
  return PoiseAgree(comm->ctx, Connect(comm, ex, *plans));
}

static PoiseErr ExchangeSetup(Comm *comm, Exchange *ex)
{
  Plan **plans = NULL;
  ex->priv = NULL;
  PoiseErr e = Setup(comm, ex, &plans);
  poiseFree(comm->ctx, &plans);
  if (e) ExchangeFree(comm, ex);
  return e;
}

static PoiseErr ExchangeBegin(Comm *comm, Exchange *ex)
{
  Plan *plan = ex->priv;
  Team *team = ((Seat *)comm->data)->team;
  plan->number = atomic_fetch_add(&team->slot[comm->rank].begun, 1) + 1;
  Wake(team);
  comm->messages += plan->messages;
  comm->message_bytes += ex->send_start[ex->nsend] * (int64_t)sizeof(double);
  return POISE_OK;
}

/* Wait for the neighbours only: until senders to this rank have begun, and receivers from it have copied.
   The counters are the team's, so waiting for a rank that left touches nothing that it has freed. */
static PoiseErr ExchangeEnd(Comm *comm, Exchange *ex)
{
  Plan *plan = ex->priv;
  Team *team = ((Seat *)comm->data)->team;
  int lane = (int)(plan->number % LANES);
  for (int k = 0; k < ex->nrecv; k++) {
    size_t n = (size_t)(ex->recv_start[k + 1] - ex->recv_start[k]);
    if (!n) continue;
    TRY(WaitFor(comm, &team->slot[ex->recv_rank[k]].begun, plan->number, ex->recv_rank[k]));
    memcpy(ex->recv + ex->recv_start[k], plan->from[k], n * sizeof(double));
  }
  atomic_store(&team->slot[comm->rank].copied[lane], plan->number);
  Wake(team);
  for (int k = 0; k < ex->nsend; k++)
    if (ex->send_start[k + 1] > ex->send_start[k])
      TRY(WaitFor(comm, &team->slot[ex->send_rank[k]].copied[lane], plan->number, ex->send_rank[k]));
  return POISE_OK;
}

/* ---- life ------------------------------------------------------------------------------------ */

static void Destroy(Comm *comm)
{
  poiseFree(comm->ctx, &comm->data);
}

static PoiseErr Split(Comm *comm, int color, PoiseContext part_ctx, Comm **part);
static void Leave(Comm *part);

static const CommOps ops = {
    .name = "threads",
    .allgather = Allgather,
    .bcast = Bcast,
    .alltoallv = Alltoallv,
    .exchange_setup = ExchangeSetup,
    .exchange_free = ExchangeFree,
    .exchange_begin = ExchangeBegin,
    .exchange_end = ExchangeEnd,
    .split = Split,
    .leave = Leave,
    .destroy = Destroy,
};

bool poiseCoreForEach(int ranks)
{
#ifdef CPU_SETSIZE
  cpu_set_t mine; /* a launcher may have bound this thread, and so the ranks that it starts */
  if (!sched_getaffinity(0, sizeof mine, &mine)) return CPU_COUNT(&mine) >= ranks;
#endif
  return sysconf(_SC_NPROCESSORS_ONLN) >= ranks;
}

static PoiseErr FillTeam(Team *team)
{
  PoiseContext ctx = team->ctx;
  team->spins = poiseCoreForEach(team->size) ? SPINS : 0;
  team->lock_made = !pthread_mutex_init(&team->lock, NULL);
  team->wake_made = !pthread_cond_init(&team->wake, NULL);
  if (!team->lock_made || !team->wake_made) FAIL(POISE_ERR_MEMORY, "no lock for %d thread ranks", team->size);
  TRY(poiseAllocArray(ctx, team->size, sizeof *team->slot, "thread ranks", &team->slot));
  TRY(poiseAllocArray(ctx, team->size, sizeof *team->comm, "thread ranks", &team->comm));
  for (int r = 0; r < team->size; r++) {
    TRY(poiseCommAlloc(ctx, &ops, r, team->size, &team->comm[r]));
    TRY(poiseAlloc(ctx, sizeof(Seat), "thread rank", &team->comm[r]->data));
    ((Seat *)team->comm[r]->data)->team = team;
  }
  return POISE_OK;
}

PoiseErr poiseTeamCreate(PoiseContext ctx, int size, Team **team)
{
  *team = NULL;
  TRY(poiseAlloc(ctx, sizeof **team, "team of thread ranks", team));
  (*team)->ctx = ctx;
  (*team)->size = size;
  PoiseErr e = FillTeam(*team);
  if (e) poiseTeamDestroy(team);
  return e;
}

void poiseTeamDestroy(Team **team)
{
  Team *t = *team;
  if (!t) return;
  PoiseContext ctx = t->ctx;
  for (int r = 0; r < t->size && t->comm; r++) {
    if (t->comm[r]) t->comm[r]->ctx = ctx; /* the memory belongs to ctx */
    poiseCommDestroy(&t->comm[r]);
  }
  if (t->wake_made) pthread_cond_destroy(&t->wake);
  if (t->lock_made) pthread_mutex_destroy(&t->lock);
  poiseFree(ctx, &t->slot);
  poiseFree(ctx, &t->comm);
  poiseFree(ctx, team);
}

/* The first rank of a color makes its team, as its starter would. */
static PoiseErr MakePart(Comm *comm, const int *colors, Team **made)
{
  int color = colors[comm->rank], first = 0, size = 0;
  *made = NULL;
  if (color < 0) return POISE_OK;
  while (colors[first] != color) first++;
  for (int r = first; r < comm->size; r++) size += colors[r] == color;
  if (first != comm->rank) return POISE_OK;
  TRY(poiseTeamCreate(((Seat *)comm->data)->team->ctx, size, made));
  atomic_store(&(*made)->inside, size);
  return POISE_OK;
}

static PoiseErr SplitWith(Comm *comm, int color, PoiseContext part_ctx, int *colors, Team **teams,
                          Comm **part)
{
  Team *mine;
  int first = 0, before = 0;
  TRY(Allgather(comm, &color, sizeof color, colors));
  TRY(poiseAgreeGather(comm->ctx, MakePart(comm, colors, &mine), &mine, sizeof mine, teams));
  if (color < 0) return POISE_OK;
  while (colors[first] != color) first++;
  for (int r = first; r < comm->rank; r++) before += colors[r] == color;
  *part = poiseTeamComm(teams[first], before, part_ctx);
  return POISE_OK;
}

static void Leave(Comm *part)
{
  Team *team = ((Seat *)part->data)->team;
  if (atomic_fetch_sub(&team->inside, 1) == 1) poiseTeamDestroy(&team);
}

static PoiseErr Split(Comm *comm, int color, PoiseContext part_ctx, Comm **part)
{
  int *colors = NULL;
  Team **teams = NULL;
  PoiseErr e = poiseAllocArray(comm->ctx, comm->size, sizeof *colors, "colors of ranks", &colors);
  if (!e) e = poiseAllocArray(comm->ctx, comm->size, sizeof *teams, "teams of colors", &teams);
  e = PoiseAgree(comm->ctx, e);
  if (!e) e = SplitWith(comm, color, part_ctx, colors, teams, part);
  poiseFree(comm->ctx, &colors);
  poiseFree(comm->ctx, &teams);
  return e;
}

Comm *poiseTeamComm(Team *team, int rank, PoiseContext rank_ctx)
{
  team->comm[rank]->ctx = rank_ctx;
  return team->comm[rank];
}
