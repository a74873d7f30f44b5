/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives and neighbour exchanges, compared with what each rank can compute by itself, on every kind
   of communicator. */
#define _GNU_SOURCE /* sched_setaffinity */
#include <sched.h>

#include "harness.h"
#include "sys/sys.h"

static double Value(int rank, int i)
{
  return TestRandom((uint64_t)rank + 10, (uint64_t)i);
}

static unsigned char Byte(int from, int to, int64_t i)
{
  return (unsigned char)(31 * from + 17 * to + 7 * i + i / 251);
}

/* ---- sums ------------------------------------------------------------------------------------ */

static const int lengths[] = {0, 1, 2, 63, 64, 65, 128, 200};
enum { NLENGTHS = sizeof lengths / sizeof *lengths, LONGEST = 200 };

static void TestSum(PoiseContext ctx)
{
  double v[LONGEST];
  for (int l = 0; l < NLENGTHS; l++) {
    int n = lengths[l];
    for (int i = 0; i < n; i++) v[i] = Value(PoiseRank(ctx), i);
    int64_t calls = ctx->memory.calls;
    CHECK_OK(PoiseSum(ctx, n, v));
    CHECK_INT(ctx->memory.calls, calls);
    for (int i = 0; i < n; i++) {
      double sum = Value(0, i);
      for (int r = 1; r < PoiseSize(ctx); r++) sum += Value(r, i);
      CHECK(v[i] == sum); /* the same bits: same order */
    }
  }
  CHECK_ERR(PoiseSum(ctx, -1, v), POISE_ERR_ARG, "-1");
  CHECK_ERR(PoiseMax(ctx, 1, NULL), POISE_ERR_ARG, "1 values");
}

static void TestMax(PoiseContext ctx)
{
  double v[LONGEST];
  int64_t w[LONGEST];
  int size = PoiseSize(ctx), rank = PoiseRank(ctx);
  for (int l = 0; l < NLENGTHS; l++) {
    int n = lengths[l];
    for (int i = 0; i < n; i++) {
      v[i] = Value(rank, i) - 2; /* negative */
      w[i] = -(int64_t)1e15 * ((rank + i) % size + 1) + i;
    }
    CHECK_OK(PoiseMax(ctx, n, v));
    CHECK_OK(poiseCommMaxInt(ctx->comm, w, n));
    for (int i = 0; i < n; i++) {
      double most = Value(0, i) - 2;
      for (int r = 1; r < size; r++) most = fmax(most, Value(r, i) - 2);
      CHECK(v[i] == most);
      CHECK_INT(w[i], -(int64_t)1e15 + i);
    }
  }
  for (int r = 0; r < size; r++) { /* a NaN anywhere is seen everywhere */
    double x = rank == r ? NAN : 1;
    CHECK_OK(PoiseMax(ctx, 1, &x));
    CHECK(isnan(x));
  }
}

static void TestScan(PoiseContext ctx)
{
  int64_t before, total, r = PoiseRank(ctx), size = PoiseSize(ctx), large = INT64_C(1) << 40;
  CHECK_OK(poiseCommScan(ctx->comm, large + r, &before, &total));
  CHECK_INT(before, r * large + r * (r - 1) / 2);
  CHECK_INT(total, size * large + size * (size - 1) / 2);
}

/* ---- collectives ----------------------------------------------------------------------------- */

static const size_t sizes[] = {0, 1, 8, 511, 512, 513, 4096, 100003};
enum { NSIZES = sizeof sizes / sizeof *sizes, LARGEST = 100003 };

static bool Holds(const unsigned char *p, int from, int to, int64_t n)
{
  for (int64_t i = 0; i < n; i++)
    if (p[i] != Byte(from, to, i)) return false;
  return true;
}

static void Put(unsigned char *p, int from, int to, int64_t n)
{
  for (int64_t i = 0; i < n; i++) p[i] = Byte(from, to, i);
}

static void TestAllgather(PoiseContext ctx)
{
  Comm *comm = ctx->comm;
  unsigned char *in = malloc(LARGEST), *out = malloc((size_t)comm->size * LARGEST);
  for (int turn = 0; turn < 2 * NSIZES; turn++) { /* small after large, large after small, twice the same */
    size_t bytes = sizes[turn * 3 % NSIZES];
    Put(in, comm->rank, turn, (int64_t)bytes);
    memset(out, 0xee, (size_t)comm->size * LARGEST);
    CHECK_OK(comm->ops->allgather(comm, in, bytes, out));
    memset(in, 0xdd, LARGEST); /* what was sent is free to change */
    for (int r = 0; r < comm->size; r++) CHECK(Holds(out + (size_t)r * bytes, r, turn, (int64_t)bytes));
    CHECK(bytes == LARGEST || out[(size_t)comm->size * bytes] == 0xee);
  }
  free(in);
  free(out);
}

static void TestBcast(PoiseContext ctx)
{
  Comm *comm = ctx->comm;
  unsigned char *data = malloc(LARGEST);
  for (int root = 0; root < comm->size; root++)
    for (int s = 0; s < NSIZES; s++) {
      memset(data, 0xdd, LARGEST);
      if (comm->rank == root) Put(data, root, s, (int64_t)sizes[s]);
      CHECK_OK(comm->ops->bcast(comm, data, sizes[s], root));
      CHECK(Holds(data, root, s, (int64_t)sizes[s]));
    }
  free(data);
}

static int64_t Uneven(int from, int to, int turn)
{
  int kind = (5 * from + 3 * to + turn) % 7;
  if (turn == 0 || kind < 3) return 0;
  return kind == 3 ? 1 : kind == 4 ? 40007 : 100 * from + 10 * to + turn;
}

static void TestAlltoallv(PoiseContext ctx)
{
  Comm *comm = ctx->comm;
  int64_t *sends = calloc((size_t)comm->size, sizeof *sends),
          *recvs = calloc((size_t)comm->size, sizeof *recvs);
  for (int turn = 0; turn < 9; turn++) {
    int64_t sent = 0, received = 0;
    for (int r = 0; r < comm->size; r++) {
      sent += sends[r] = Uneven(comm->rank, r, turn);
      received += recvs[r] = Uneven(r, comm->rank, turn);
    }
    unsigned char *send = malloc((size_t)sent + 1), *recv = malloc((size_t)received + 1), *p = send;
    for (int r = 0; r < comm->size; p += sends[r++]) Put(p, comm->rank, r, sends[r]);
    CHECK_OK(comm->ops->alltoallv(comm, sent ? send : NULL, sends, received ? recv : NULL, recvs));
    memset(send, 0xdd, (size_t)sent);
    p = recv;
    for (int r = 0; r < comm->size; p += recvs[r++]) CHECK(Holds(p, r, comm->rank, recvs[r]));
    free(send);
    free(recv);
  }
  free(sends);
  free(recvs);
}

static void TestAlltoallvMismatch(PoiseContext ctx)
{
  Comm *comm = ctx->comm;
  if (!strcmp(comm->ops->name, "mpi")) TEST_SKIP("MPI does not say how much was sent before it arrives");
  int64_t *sends = calloc((size_t)comm->size, sizeof *sends),
          *recvs = calloc((size_t)comm->size, sizeof *recvs);
  char send[8] = "", recv[16];
  int last = comm->size - 1;
  if (comm->rank == last) sends[0] = 8;
  if (comm->rank == 0) recvs[last] = 9;
  PoiseErr e = comm->ops->alltoallv(comm, send, sends, recv, recvs);
  if (comm->rank == 0)
    CHECK_ERR(e, POISE_ERR_COMM, "8 bytes");
  else
    CHECK_OK(e);
  CHECK_OK(PoiseBarrier(ctx)); /* still in step */
  free(sends);
  free(recvs);
}

/* ---- exchanges ------------------------------------------------------------------------------- */

/* doubles that one rank sends another; -1: not neighbours */
typedef int64_t (*Pattern)(int from, int to, int size);

static int64_t Ring(int from, int to, int size)
{
  return to == (from + 1) % size ? 3 : -1;
}

static int64_t All(int from, int to, int size)
{
  (void)size;
  return 1 + (3 * from + to) % 5;
}

static int64_t Nobody(int from, int to, int size)
{
  (void)from, (void)to, (void)size;
  return -1;
}

static int64_t FromFirst(int from, int to, int size)
{
  (void)to, (void)size;
  return from ? -1 : 2;
}

static int64_t ToLast(int from, int to, int size)
{
  (void)from;
  return to == size - 1 ? 500 : -1;
}

static int64_t SomeEmpty(int from, int to, int size) /* neighbours with nothing to say */
{
  (void)size;
  return (from + to) % 3 == 0 ? -1 : (from + 2 * to) % 3 ? 2 : 0;
}

static const Pattern patterns[] = {Ring, All, Nobody, FromFirst, ToLast, SomeEmpty};
enum { NPATTERNS = sizeof patterns / sizeof *patterns };

static void AddNeighbour(int64_t n, int r, int *count, int *rank, int64_t *start)
{
  if (n < 0) return;
  rank[*count] = r;
  start[*count + 1] = start[*count] + n;
  ++*count;
}

static Exchange MakeExchange(Comm *comm, Pattern pattern)
{
  size_t size = (size_t)comm->size;
  Exchange ex = {.send_rank = calloc(size, sizeof(int)),
                 .recv_rank = calloc(size, sizeof(int)),
                 .send_start = calloc(size + 1, sizeof(int64_t)),
                 .recv_start = calloc(size + 1, sizeof(int64_t))};
  for (int r = 0; r < comm->size; r++) {
    if (r == comm->rank) continue;
    AddNeighbour(pattern(comm->rank, r, comm->size), r, &ex.nsend, ex.send_rank, ex.send_start);
    AddNeighbour(pattern(r, comm->rank, comm->size), r, &ex.nrecv, ex.recv_rank, ex.recv_start);
  }
  ex.send = calloc((size_t)ex.send_start[ex.nsend] + 1, sizeof(double));
  ex.recv = calloc((size_t)ex.recv_start[ex.nrecv] + 1, sizeof(double));
  return ex;
}

static void FreeExchange(Exchange *ex)
{
  free(ex->send_rank);
  free(ex->recv_rank);
  free(ex->send_start);
  free(ex->recv_start);
  free(ex->send);
  free(ex->recv);
}

static double Item(int from, int to, int turn, int64_t i)
{
  return TestRandom((uint64_t)(1000 * turn + 10 * from + to), (uint64_t)i);
}

static void FillSend(Comm *comm, Exchange *ex, int turn)
{
  for (int k = 0; k < ex->nsend; k++)
    for (int64_t i = ex->send_start[k]; i < ex->send_start[k + 1]; i++)
      ex->send[i] = Item(comm->rank, ex->send_rank[k], turn, i - ex->send_start[k]);
}

static void CheckReceived(Comm *comm, const Exchange *ex, int turn)
{
  bool same = true;
  for (int k = 0; k < ex->nrecv; k++)
    for (int64_t i = ex->recv_start[k]; i < ex->recv_start[k + 1]; i++)
      same = same && ex->recv[i] == Item(ex->recv_rank[k], comm->rank, turn, i - ex->recv_start[k]);
  CHECK(same);
}

static void ExchangeAndCheck(Comm *comm, Exchange *ex, int turn)
{
  FillSend(comm, ex, turn);
  memset(ex->recv, 0xff, (size_t)ex->recv_start[ex->nrecv] * sizeof(double));
  CHECK_OK(comm->ops->exchange_begin(comm, ex));
  CHECK_OK(comm->ops->exchange_end(comm, ex));
  CheckReceived(comm, ex, turn);
}

static void TestExchange(PoiseContext ctx)
{
  Comm *comm = ctx->comm;
  for (int p = 0; p < NPATTERNS; p++) {
    Exchange ex = MakeExchange(comm, patterns[p]);
    if (CHECK_OK(comm->ops->exchange_setup(comm, &ex))) {
      int64_t calls = ctx->memory.calls;
      for (int turn = 0; turn < 30; turn++) {
        ExchangeAndCheck(comm, &ex, turn);
        double until = PoiseTime() + (turn % 7 == comm->rank ? 2e-4 : 0); /* ranks drift apart */
        while (PoiseTime() < until) continue;
      }
      CHECK_INT(ctx->memory.calls, calls);
      comm->ops->exchange_free(comm, &ex);
      CHECK(!ex.priv);
    }
    FreeExchange(&ex);
  }
}

/* Two exchanges under way at once, a sum between begin and end, ends in another order than begins. */
static void TestExchangesOverlap(PoiseContext ctx)
{
  Comm *comm = ctx->comm;
  Exchange a = MakeExchange(comm, All), b = MakeExchange(comm, Ring);
  bool ready = CHECK_OK(comm->ops->exchange_setup(comm, &a)) && CHECK_OK(comm->ops->exchange_setup(comm, &b));
  for (int turn = 0; turn < 20 && ready; turn++) {
    double one = 1;
    FillSend(comm, &a, turn);
    FillSend(comm, &b, turn + 100);
    CHECK_OK(comm->ops->exchange_begin(comm, &a));
    CHECK_OK(comm->ops->exchange_begin(comm, &b));
    CHECK_OK(PoiseSum(ctx, 1, &one));
    CHECK(one == comm->size);
    CHECK_OK(comm->ops->exchange_end(comm, turn % 2 ? &a : &b));
    CHECK_OK(comm->ops->exchange_end(comm, turn % 2 ? &b : &a));
    CheckReceived(comm, &a, turn);
    CheckReceived(comm, &b, turn + 100);
  }
  comm->ops->exchange_free(comm, &a);
  comm->ops->exchange_free(comm, &b);
  FreeExchange(&a);
  FreeExchange(&b);
}

static void TestExchangeMismatch(PoiseContext ctx)
{
  Comm *comm = ctx->comm;
  if (strcmp(comm->ops->name, "threads")) TEST_SKIP("only thread ranks see each other's plans");
  /* the rank that has a segment of which the other end does not know */
  for (int finder = 0; finder < 2; finder++) {
    Exchange ex = MakeExchange(comm, Ring);
    if (comm->rank == 0 && finder == 1) ex.nsend = 0;
    if (comm->rank == 1 && finder == 0) ex.nrecv = 0;
    PoiseErr e = comm->ops->exchange_setup(comm, &ex);
    CHECK_ERR(e, comm->rank == finder ? POISE_ERR_COMM : POISE_ERR_REMOTE, "to rank 1");
    CHECK(!ex.priv);
    FreeExchange(&ex);
  }
}

/* ---- agreement ------------------------------------------------------------------------------- */

/* The ranks of `failing` (bits) fail; the lowest of them is the one that the others hear of. */
static void AgreeOn(PoiseContext ctx, unsigned failing)
{
  int rank = PoiseRank(ctx), first = 0;
  char words[64];
  PoiseErr mine = POISE_OK;
  while (failing && !(failing >> first & 1)) first++;
  if (failing >> rank & 1)
    mine = PoiseErrorSet(POISE_ERR_NUMERIC, __func__, __FILE__, __LINE__, "row %d is bad", 100 + rank);
  int64_t calls = ctx->memory.calls;
  PoiseErr e = PoiseAgree(ctx, mine);
  CHECK_INT(ctx->memory.calls, calls);
  if (!failing) {
    CHECK_OK(e);
  } else if (mine) {
    snprintf(words, sizeof words, "row %d is bad", 100 + rank);
    CHECK_ERR(e, POISE_ERR_NUMERIC, words);
  } else {
    snprintf(words, sizeof words, "rank %d: %s: row %d is bad", first, PoiseErrorString(POISE_ERR_NUMERIC),
             100 + first);
    CHECK_ERR(e, POISE_ERR_REMOTE, words);
  }
}

static void TestAgree(PoiseContext ctx)
{
  unsigned all = (1u << PoiseSize(ctx)) - 1;
  for (int again = 0; again < 3; again++) AgreeOn(ctx, 0);
  for (int r = 0; r < PoiseSize(ctx); r++) AgreeOn(ctx, 1u << r);
  AgreeOn(ctx, all);
  AgreeOn(ctx, all & 0x55);
  AgreeOn(ctx, all & 0xaa);
  AgreeOn(ctx, 0);
}

/* What is gathered, added, or the largest, comes with the agreement; a rank that fails brings nothing. */
static void TestAgreeWith(PoiseContext ctx)
{
  static const size_t lengths_of[] = {0, 1, 16, 503, 504, 505, 4096};
  int size = PoiseSize(ctx), rank = PoiseRank(ctx);
  unsigned char in[4096], *out = malloc((size_t)size * sizeof in + 1);
  for (size_t k = 0; k < sizeof lengths_of / sizeof *lengths_of; k++) {
    size_t bytes = lengths_of[k];
    Put(in, rank, (int)k, (int64_t)bytes);
    memset(out, 0xee, (size_t)size * bytes + 1);
    CHECK_OK(poiseAgreeGather(ctx, POISE_OK, in, bytes, out));
    for (int r = 0; r < size; r++) CHECK(Holds(out + (size_t)r * bytes, r, (int)k, (int64_t)bytes));
    CHECK(out[(size_t)size * bytes] == 0xee);
    PoiseErr mine = rank == size - 1 ? POISE_ERR_MEMORY : POISE_OK, others = POISE_ERR_REMOTE;
    PoiseErr e = poiseAgreeGather(ctx, mine, mine ? NULL : in, bytes, mine ? NULL : out);
    CHECK_INT(e, mine ? mine : others);
    PoiseErrorClear();
  }
  free(out);
  double v[] = {Value(rank, 0), Value(rank, 1)}, w[] = {v[0], v[1]}, most = v[0], largest = v[0];
  CHECK_OK(poiseAgreeSum(ctx, POISE_OK, v, 2));
  CHECK_OK(poiseCommSum(ctx->comm, w, 2));
  CHECK(v[0] == w[0] && v[1] == w[1]);
  CHECK_OK(poiseAgreeMax(ctx, POISE_OK, &most));
  CHECK_OK(poiseCommMax(ctx->comm, &largest, 1));
  CHECK(most == largest);
  most = rank == size - 1 ? NAN : 1;
  CHECK_OK(poiseAgreeMax(ctx, POISE_OK, &most));
  CHECK(isnan(most));
  CHECK_INT(poiseAgreeMax(ctx, rank ? POISE_OK : POISE_ERR_NUMERIC, &most),
            rank ? POISE_ERR_REMOTE : POISE_ERR_NUMERIC);
  PoiseErrorClear();
}

/* A second agreement about the same failure still names its origin. */
static void TestAgreeTwice(PoiseContext ctx)
{
  int last = PoiseSize(ctx) - 1;
  PoiseErr e = POISE_OK;
  if (PoiseRank(ctx) == last)
    e = PoiseErrorSet(POISE_ERR_FILE, __func__, __FILE__, __LINE__, "no such matrix");
  e = PoiseAgree(ctx, PoiseAgree(ctx, e));
  CHECK_ERR(e, PoiseRank(ctx) == last ? POISE_ERR_FILE : POISE_ERR_REMOTE, "no such matrix");
}

/* ---- creation -------------------------------------------------------------------------------- */

static PoiseErr SetUpAndFree(PoiseContext ctx, void *arg)
{
  Exchange *ex = arg;
  TRY(ctx->comm->ops->exchange_setup(ctx->comm, ex));
  ctx->comm->ops->exchange_free(ctx->comm, ex);
  return POISE_OK;
}

static void TestExchangeMemory(PoiseContext ctx)
{
  Exchange ex = MakeExchange(ctx->comm, All);
  TestAllocationFailures(ctx, SetUpAndFree, &ex);
  FreeExchange(&ex);
}

static PoiseErr MakeTeam(PoiseContext ctx, void *arg)
{
  Team *team;
  (void)arg;
  PoiseErr e = poiseTeamCreate(ctx, 5, &team);
  poiseTeamDestroy(&team);
  return e;
}

/* Ranks of a thread that is bound to one core have that one, however many the machine has. */
static void TestCores(PoiseContext ctx)
{
  (void)ctx;
  CHECK(poiseCoreForEach(1));
#ifdef CPU_SETSIZE
  cpu_set_t before, one;
  if (!CHECK(!sched_getaffinity(0, sizeof before, &before))) return;
  int cores = CPU_COUNT(&before);
  CHECK(poiseCoreForEach(cores) && !poiseCoreForEach(cores + 1));
  CPU_ZERO(&one);
  CPU_SET((size_t)sched_getcpu(), &one);
  if (!CHECK(!sched_setaffinity(0, sizeof one, &one))) return;
  CHECK(poiseCoreForEach(1) && !poiseCoreForEach(2));
  CHECK(!sched_setaffinity(0, sizeof before, &before));
#endif
}

static PoiseErr MakeSelf(PoiseContext ctx, void *arg)
{
  Comm *comm;
  (void)arg;
  PoiseErr e = poiseCommCreateSelf(ctx, &comm);
  poiseCommDestroy(&comm);
  return e;
}

static void TestMemory(PoiseContext ctx)
{
  TestAllocationFailures(ctx, MakeTeam, NULL);
  TestAllocationFailures(ctx, MakeSelf, NULL);
}

#ifdef POISE_HAVE_MPI
static PoiseErr MakeMPI(PoiseContext ctx, void *arg)
{
  Comm *comm;
  (void)arg;
  PoiseErr e = poiseCommCreateMPI(ctx, NULL, &comm);
  poiseCommDestroy(&comm);
  return e;
}
#else
static PoiseErr MakeMPI(PoiseContext ctx, void *arg)
{
  (void)arg;
  FAIL(POISE_ERR_UNSUPPORTED, "rank %d has no MPI", PoiseRank(ctx));
}
#endif

static void TestMemory_MPI(PoiseContext ctx)
{
  if (strcmp(ctx->comm->ops->name, "mpi")) TEST_SKIP("not started by mpiexec");
  TestAllocationFailures(ctx, MakeMPI, NULL);
}

static void TestCounts(PoiseContext ctx)
{
  Comm *comm = ctx->comm;
  Exchange ex = MakeExchange(comm, Ring);
  if (CHECK_OK(comm->ops->exchange_setup(comm, &ex))) {
    int64_t messages = comm->messages, bytes = comm->message_bytes;
    for (int turn = 0; turn < 4; turn++) ExchangeAndCheck(comm, &ex, turn);
    CHECK_INT(comm->messages - messages, comm->size > 1 ? 4 : 0);
    CHECK_INT(comm->message_bytes - bytes, comm->size > 1 ? 4 * 3 * 8 : 0);
    comm->ops->exchange_free(comm, &ex);
  }
  FreeExchange(&ex);
}

/* ---- a rank that leaves ---------------------------------------------------------------------- */

enum { READER, WRITER, LEAVER, NUMBERS = 1000 };

/* The reader copies late; until then the writer, whom the leaver's error has reached, must not touch what it
   sent. */
static PoiseErr LeaveAndOverwrite(PoiseContext ctx, void *arg)
{
  Comm *comm = ctx->comm;
  bool writes = comm->rank == WRITER, reads = comm->rank == READER, *good = arg;
  int other[1] = {writes ? READER : WRITER};
  int64_t start[2] = {0, NUMBERS}, none[1] = {0};
  double data[NUMBERS];
  Exchange ex = {
      .nsend = writes, .nrecv = reads, .send_rank = other, .recv_rank = other, .send = data, .recv = data};
  ex.send_start = writes ? start : none;
  ex.recv_start = reads ? start : none;
  for (int i = 0; i < NUMBERS; i++) data[i] = writes ? i + 1 : 0;
  POISE_TRY(comm->ops->exchange_setup(comm, &ex));
  if (comm->rank == LEAVER) {
    comm->ops->exchange_free(comm, &ex);
    POISE_FAIL(POISE_ERR_USER, "I leave");
  }
  PoiseErr e = comm->ops->exchange_begin(comm, &ex);
  double until = PoiseTime() + (reads ? 0.1 : 0);
  while (PoiseTime() < until) continue;
  if (!e) e = comm->ops->exchange_end(comm, &ex);
  for (int i = 0; reads && i < NUMBERS; i++) *good = *good && data[i] == i + 1;
  if (writes) memset(data, 0xff, sizeof data);
  comm->ops->exchange_free(comm, &ex);
  return e ? e : PoiseBarrier(ctx);
}

static void TestLeaves(PoiseContext ctx)
{
  PoiseContext own;
  bool good = true;
  char *argv[] = {"test", "-device", "host", "-ranks", "3"}, **list = argv;
  int argc = 5;
  if (!CHECK_OK(PoiseBarrier(ctx))) return;
  if (!CHECK_OK(PoiseInitialize(&argc, &list, &(PoiseInit){.serial = 1}, &own))) return;
  CHECK_ERR(PoiseRun(own, LeaveAndOverwrite, &good), POISE_ERR_USER, "I leave");
  CHECK(good);
  CHECK_OK(PoiseFinalize(&own));
}

static const Test tests[] = {
    {"sum", TestSum, 0},
    {"max", TestMax, 0},
    {"scan", TestScan, 0},
    {"allgather", TestAllgather, 0},
    {"bcast", TestBcast, 0},
    {"alltoallv", TestAlltoallv, 0},
    {"alltoallv_mismatch", TestAlltoallvMismatch, 0},
    {"exchange", TestExchange, 0},
    {"exchanges_overlap", TestExchangesOverlap, 0},
    {"exchange_mismatch", TestExchangeMismatch, 0},
    {"agree", TestAgree, 0},
    {"agree_with", TestAgreeWith, 0},
    {"agree_twice", TestAgreeTwice, 0},
    {"exchange_memory", TestExchangeMemory, 0},
    {"memory", TestMemory, TEST_SERIAL},
    {"cores", TestCores, TEST_SERIAL | TEST_HOST_ONLY},
    {"memory_mpi", TestMemory_MPI, 0},
    {"counts", TestCounts, 0},
    {"leaves", TestLeaves, TEST_SERIAL | TEST_HOST_ONLY},
    {NULL, NULL, 0},
};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "comm", tests);
}
