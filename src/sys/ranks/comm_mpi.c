/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Ranks that are MPI processes. MPI is initialised here if the application has not done so, and then finalised
  at process exit. This is the only state of the process that Poise keeps.
*/
#include <limits.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>

#include "sys/sys.h"

enum { TAG_ALLTOALLV = 1, TAG_EXCHANGE = 2, CALL_LENGTH = 64 };

/* The collective that a rank is in, as a message of its own. */
typedef struct Card {
  CommMeeting meeting;
  char call[CALL_LENGTH];
} Card;

typedef struct World {  /* Comm.data */
  MPI_Comm comm;        /* a duplicate, which returns errors */
  MPI_Request *request; /* 2 * size requests of an alltoallv */
  Card *card;           /* of all ranks */
} World;

typedef struct Plan { /* Exchange.priv: persistent requests, receives first */
  int nrecv, count;
  int64_t bytes; /* sent */
  MPI_Request *request;
} Plan;

static atomic_int communicators; /* number of communicators of all live contexts */

static PoiseErr Check(int code, const char *call)
{
  char text[MPI_MAX_ERROR_STRING] = "";
  int length;
  if (code == MPI_SUCCESS) return POISE_OK;
  if (MPI_Error_string(code, text, &length)) text[0] = 0;
  FAIL(POISE_ERR_COMM, "%s: %s", call, text);
}

#define MPI(name, ...) Check(MPI_##name(__VA_ARGS__), "MPI_" #name)

/* MPI calls after MPI_Finalize end the program. */
static bool HasEnded(void)
{
  int finalized = 0;
  MPI_Finalized(&finalized);
  return finalized;
}

static PoiseErr CheckRuns(void)
{
  if (HasEnded())
    FAIL(POISE_ERR_STATE, "MPI has been finalised: the ranks of this context can no longer communicate");
  return POISE_OK;
}

/* ---- counts beyond int ----------------------------------------------------------------------- */

/* Describe `bytes` bytes as *count items of *type. The caller passes the type to FreeType. */
static PoiseErr MakeType(size_t bytes, int *count, MPI_Datatype *type)
{
  size_t most = INT_MAX, whole = bytes / most;
  MPI_Datatype part[2] = {MPI_DATATYPE_NULL, MPI_BYTE};
  *type = MPI_BYTE;
  *count = (int)bytes;
  if (!whole) return POISE_OK;
  *type = MPI_DATATYPE_NULL;
  *count = 1;
  TRY(MPI(Type_vector, (int)whole, INT_MAX, INT_MAX, MPI_BYTE, &part[0]));
  PoiseErr e = MPI(Type_create_struct, 2, ((int[]){1, (int)(bytes - whole * most)}),
                   ((MPI_Aint[]){0, (MPI_Aint)(whole * most)}), part, type);
  if (!e) e = MPI(Type_commit, type);
  PoiseErr freed = MPI(Type_free, &part[0]);
  return e ? e : freed;
}

static PoiseErr FreeType(PoiseErr e, MPI_Datatype *type)
{
  if (*type == MPI_BYTE || *type == MPI_DATATYPE_NULL) return e;
  PoiseErr freed = MPI(Type_free, type);
  return e ? e : freed;
}

/* ---- collectives ----------------------------------------------------------------------------- */

static void Count(Comm *comm, int64_t messages, int64_t bytes)
{
  comm->messages += messages;
  comm->message_bytes += bytes;
}

/* Allocates nothing, as no rank may fail before it has met the others. */
static PoiseErr ExchangeCards(Comm *comm, const Card *mine)
{
  World *world = comm->data;
  Card *all = world->card;
  TRY(MPI(Allgather, mine, (int)sizeof *mine, MPI_BYTE, all, (int)sizeof *mine, MPI_BYTE, world->comm));
  for (int r = 0; r < comm->size; r++) {
    all[r].meeting.call = all[r].call; /* a pointer of another process is not valid here */
    TRY(poiseCommSame(&mine->meeting, comm->rank, &all[r].meeting, r));
  }
  return POISE_OK;
}

/* Before a collective. */
static PoiseErr Meet(Comm *comm, CommPurpose purpose, size_t bytes, int root)
{
  Card mine = {.meeting = poiseCommMeeting(comm, purpose, bytes, root)};
  TRY(CheckRuns());
  poiseLinkRun(comm->ctx);
  if (!comm->checks) return POISE_OK;
  snprintf(mine.call, sizeof mine.call, "%s", mine.meeting.call ? mine.meeting.call : "the library");
  return ExchangeCards(comm, &mine);
}

static PoiseErr Allgather(Comm *comm, const void *in, size_t bytes, void *out)
{
  World *world = comm->data;
  MPI_Datatype type;
  int count;
  TRY(Meet(comm, comm->purpose, bytes, 0));
  PoiseErr e = MakeType(bytes, &count, &type);
  if (!e) e = MPI(Allgather, in, count, type, out, count, type, world->comm);
  Count(comm, 1, (int64_t)bytes);
  return FreeType(e, &type);
}

static PoiseErr Bcast(Comm *comm, void *data, size_t bytes, int root)
{
  World *world = comm->data;
  MPI_Datatype type;
  int count;
  TRY(Meet(comm, COMM_SHARE, bytes, root));
  PoiseErr e = MakeType(bytes, &count, &type);
  if (!e) e = MPI(Bcast, data, count, type, root, world->comm);
  if (comm->rank == root) Count(comm, 1, (int64_t)bytes);
  return FreeType(e, &type);
}

static PoiseErr StartMessage(World *world, bool sends, void *data, size_t bytes, int rank,
                             MPI_Request *request)
{
  MPI_Datatype type;
  int count;
  PoiseErr e = MakeType(bytes, &count, &type);
  if (!e)
    e = sends ? MPI(Isend, data, count, type, rank, TAG_ALLTOALLV, world->comm, request)
              : MPI(Irecv, data, count, type, rank, TAG_ALLTOALLV, world->comm, request);
  return FreeType(e, &type);
}

/* Messages between pairs, as counts and offsets of MPI_Alltoallv are limited to int. */
static PoiseErr Alltoallv(Comm *comm, const void *send, const int64_t *send_bytes, void *recv,
                          const int64_t *recv_bytes)
{
  World *world = comm->data;
  PoiseErr e = POISE_OK;
  int posted = 0;
  char *to = recv;
  const char *from = send;
  TRY(Meet(comm, COMM_TRADE, 0, 0));
  for (int r = 0; r < comm->size && !e; r++) {
    if (!recv_bytes[r]) continue; /* a pointer to nothing may be NULL */
    e = StartMessage(world, false, to, (size_t)recv_bytes[r], r, &world->request[posted++]);
    to += recv_bytes[r];
  }
  for (int r = 0; r < comm->size && !e; r++) {
    if (!send_bytes[r]) continue;
    e = StartMessage(world, true, (void *)from, (size_t)send_bytes[r], r, &world->request[posted++]);
    from += send_bytes[r];
    if (r != comm->rank) Count(comm, 1, send_bytes[r]);
  }
  if (e) posted--; /* the failed call left no request */
  PoiseErr waited = MPI(Waitall, posted, world->request, MPI_STATUSES_IGNORE);
  return e ? e : waited;
}

/* ---- neighbour exchange ---------------------------------------------------------------------- */

static void ExchangeFree(Comm *comm, Exchange *ex)
{
  Plan *plan = ex->priv;
  if (!plan) return;
  for (int k = 0; k < plan->count && !HasEnded(); k++) MPI_Request_free(&plan->request[k]);
  poiseFree(comm->ctx, &plan->request);
  poiseFree(comm->ctx, &ex->priv);
}

/* Persistent requests for one side of the exchange; empty segments need none. */
static PoiseErr Prepare(Comm *comm, Plan *plan, bool sends, int n, const int *rank, const int64_t *start,
                        double *data)
{
  MPI_Comm world = ((World *)comm->data)->comm;
  for (int k = 0; k < n; k++) {
    MPI_Datatype type;
    int count;
    size_t bytes = (size_t)(start[k + 1] - start[k]) * sizeof(double);
    MPI_Request *request = &plan->request[plan->count];
    if (!bytes) continue;
    PoiseErr e = MakeType(bytes, &count, &type);
    if (!e)
      e = sends ? MPI(Send_init, data + start[k], count, type, rank[k], TAG_EXCHANGE, world, request)
                : MPI(Recv_init, data + start[k], count, type, rank[k], TAG_EXCHANGE, world, request);
    TRY(FreeType(e, &type));
    plan->count++;
  }
  return POISE_OK;
}

static PoiseErr CreatePlan(Comm *comm, Exchange *ex)
{
  TRY(CheckRuns());
  TRY(poiseAlloc(comm->ctx, sizeof(Plan), "exchange", &ex->priv));
  Plan *plan = ex->priv;
  TRY(poiseAllocArray(comm->ctx, ex->nrecv + ex->nsend, sizeof(MPI_Request), "exchange requests",
                      &plan->request));
  TRY(Prepare(comm, plan, false, ex->nrecv, ex->recv_rank, ex->recv_start, ex->recv));
  plan->nrecv = plan->count;
  plan->bytes = ex->send_start[ex->nsend] * (int64_t)sizeof(double);
  return Prepare(comm, plan, true, ex->nsend, ex->send_rank, ex->send_start, ex->send);
}

static PoiseErr ExchangeSetup(Comm *comm, Exchange *ex)
{
  ex->priv = NULL;
  PoiseErr e = PoiseAgree(comm->ctx, CreatePlan(comm, ex));
  if (e) ExchangeFree(comm, ex);
  return e;
}

static PoiseErr ExchangeBegin(Comm *comm, Exchange *ex)
{
  Plan *plan = ex->priv;
  TRY(CheckRuns());
  Count(comm, plan->count - plan->nrecv, plan->bytes);
  return plan->count ? MPI(Startall, plan->count, plan->request) : POISE_OK;
}

static PoiseErr ExchangeEnd(Comm *comm, Exchange *ex)
{
  Plan *plan = ex->priv;
  TRY(CheckRuns());
  poiseLinkRun(comm->ctx);
  return plan->count ? MPI(Waitall, plan->count, plan->request, MPI_STATUSES_IGNORE) : POISE_OK;
}

/* ---- life ------------------------------------------------------------------------------------ */

static PoiseErr Split(Comm *comm, int color, PoiseContext part_ctx, Comm **part);

static void Destroy(Comm *comm)
{
  World *world = comm->data;
  if (!world) return;
  if (!HasEnded() && world->comm != MPI_COMM_NULL) MPI_Comm_free(&world->comm);
  poiseFree(comm->ctx, &world->request);
  poiseFree(comm->ctx, &world->card);
  poiseFree(comm->ctx, &comm->data);
  communicators--;
}

static void EndProgram(int size)
{
  int all = 0;
  if (HasEnded() || MPI_Comm_size(MPI_COMM_WORLD, &all) || all != size) return;
  MPI_Finalize();
}

static const CommOps ops = {
    .name = "mpi",
    .allgather = Allgather,
    .bcast = Bcast,
    .alltoallv = Alltoallv,
    .exchange_setup = ExchangeSetup,
    .exchange_free = ExchangeFree,
    .exchange_begin = ExchangeBegin,
    .exchange_end = ExchangeEnd,
    .split = Split,
    .has_ended = HasEnded,
    .end_program = EndProgram,
    .destroy = Destroy,
};

/* Finalise MPI, unless a context lives. The process is then exiting with an error, and MPI_Finalize would
   wait for the other ranks. */
static void FinalizeAtExit(void)
{
  if (!HasEnded() && !communicators) MPI_Finalize();
}

static PoiseErr InitializeMPI(void)
{
  int initialized, provided;
  if (HasEnded())
    FAIL(POISE_ERR_STATE, "MPI has been finalised: only serial contexts (PoiseInit.serial) can be created");
  TRY(MPI(Initialized, &initialized));
  if (initialized) return POISE_OK;
  TRY(MPI(Init_thread, NULL, NULL, MPI_THREAD_FUNNELED, &provided));
  if (atexit(FinalizeAtExit)) FAIL(POISE_ERR_MEMORY, "atexit refused to register MPI_Finalize");
  return POISE_OK;
}

static PoiseErr Fill(PoiseContext ctx, int rank, int size, Comm **comm)
{
  World *world;
  TRY(poiseCommAlloc(ctx, &ops, rank, size, comm));
  TRY(poiseAlloc(ctx, sizeof *world, "MPI communicator", &world));
  world->comm = MPI_COMM_NULL;
  (*comm)->data = world;
  communicators++;
  TRY(poiseAllocArray(ctx, size, sizeof(Card), "calls of all ranks", &world->card));
  return poiseAllocArray(ctx, 2 * (int64_t)size, sizeof(MPI_Request), "MPI requests", &world->request);
}

static PoiseErr Split(Comm *comm, int color, PoiseContext part_ctx, Comm **part)
{
  MPI_Comm mpi = MPI_COMM_NULL;
  int rank, size;
  TRY(CheckRuns());
  TRY(MPI(Comm_split, ((World *)comm->data)->comm, color < 0 ? MPI_UNDEFINED : color, 0, &mpi));
  if (mpi == MPI_COMM_NULL) return POISE_OK;
  PoiseErr e = MPI(Comm_set_errhandler, mpi, MPI_ERRORS_RETURN);
  if (!e) e = MPI(Comm_rank, mpi, &rank);
  if (!e) e = MPI(Comm_size, mpi, &size);
  if (!e) e = Fill(part_ctx, rank, size, part);
  if (e)
    MPI_Comm_free(&mpi);
  else
    ((World *)(*part)->data)->comm = mpi, (*part)->checks = comm->checks;
  return e;
}

/* Tell all ranks whether one has failed, for use before there is a Comm. */
static PoiseErr AgreeOver(MPI_Comm mpi, PoiseErr mine)
{
  int failed = mine, any = 0;
  PoiseErr e = MPI(Allreduce, &failed, &any, 1, MPI_INT, MPI_MAX, mpi);
  if (mine) return mine;
  TRY(e);
  if (any)
    FAIL(POISE_ERR_REMOTE, "another rank could not create its communicator: %s",
         PoiseErrorString((PoiseErr)any));
  return POISE_OK;
}

PoiseErr poiseCommCreateMPI(PoiseContext ctx, const void *mpi_comm, Comm **comm)
{
  MPI_Comm mpi, dup = MPI_COMM_NULL;
  int rank, size;
  *comm = NULL;
  TRY(InitializeMPI());
  mpi = mpi_comm ? *(const MPI_Comm *)mpi_comm : MPI_COMM_WORLD;
  if (mpi == MPI_COMM_NULL)
    FAIL(POISE_ERR_ARG,
         "PoiseInit.mpi_comm is MPI_COMM_NULL: only ranks of a communicator call PoiseInitialize with it");
  TRY(MPI(Comm_dup, mpi, &dup));
  TRY(MPI(Comm_set_errhandler, dup, MPI_ERRORS_RETURN));
  TRY(MPI(Comm_rank, dup, &rank));
  TRY(MPI(Comm_size, dup, &size));
  PoiseErr e = AgreeOver(dup, Fill(ctx, rank, size, comm));
  if (!e) {
    ((World *)(*comm)->data)->comm = dup;
    return POISE_OK;
  }
  if (*comm) poiseCommDestroy(comm);
  MPI_Comm_free(&dup);
  return e;
}
