/* SPDX-License-Identifier: BSD-3-Clause */
/* An application that initialises and finalises MPI itself, and passes its own communicators to Poise. */
#include <mpi.h>

#include "harness.h"
#include "problem.h"
#include "sys/sys.h"

static void TestOwnCommunicator(PoiseContext ctx)
{
  MPI_Comm half;
  PoiseContext own;
  int size, rank;
  double one = 1;
  if (!strcmp(ctx->comm->ops->name, "threads")) TEST_SKIP("thread ranks make no MPI calls");
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half); /* the even and the odd ones, in opposite order */
  MPI_Comm_size(half, &size);
  MPI_Comm_rank(half, &rank);
  if (CHECK_OK(PoiseInitialize(NULL, NULL, &(PoiseInit){.mpi_comm = &half}, &own))) {
    MPI_Comm_free(&half); /* it was duplicated */
    CHECK_INT(PoiseSize(own), size);
    CHECK_INT(PoiseRank(own), rank);
    CHECK_OK(PoiseSum(own, 1, &one));
    CHECK(one == size);
    CHECK_OK(PoiseFinalize(&own));
  }
  CHECK_OK(PoiseBarrier(ctx));
}

static void TestSerial(PoiseContext ctx)
{
  PoiseContext own;
  if (PoiseRank(ctx) == 0) { /* alone: not collective */
    if (!CHECK_OK(PoiseInitialize(NULL, NULL, &(PoiseInit){.serial = 1}, &own))) return;
    CHECK_INT(PoiseSize(own), 1);
    CHECK_OK(PoiseFinalize(&own));
  }
  CHECK_OK(PoiseBarrier(ctx));
}

/* Who is no rank of the communicator has none to give. */
static void TestNoRank(PoiseContext ctx)
{
  MPI_Comm first;
  PoiseContext own;
  int rank;
  if (!strcmp(ctx->comm->ops->name, "threads")) TEST_SKIP("thread ranks make no MPI calls");
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_split(MPI_COMM_WORLD, rank ? MPI_UNDEFINED : 0, 0, &first);
  PoiseErr e = PoiseInitialize(NULL, NULL, &(PoiseInit){.mpi_comm = &first}, &own);
  if (rank) {
    CHECK_ERR(e, POISE_ERR_ARG, "PoiseInit.mpi_comm is MPI_COMM_NULL");
    CHECK(own == NULL);
  } else if (CHECK_OK(e)) {
    CHECK_INT(PoiseSize(own), 1);
    CHECK_OK(PoiseFinalize(&own));
    MPI_Comm_free(&first);
  }
  first = MPI_COMM_NULL; /* nobody is */
  CHECK_ERR(PoiseInitialize(NULL, NULL, &(PoiseInit){.mpi_comm = &first}, &own), POISE_ERR_ARG,
            "MPI_COMM_NULL");
  CHECK_OK(PoiseBarrier(ctx));
}

/* The bits of a solution. */
static uint64_t SolveIn(PoiseContext ctx, Problem *p)
{
  CHECK_OK(PoiseVecSet(p->x, 0));
  CHECK_OK(PoiseKSPSolve(p->ksp, p->b, p->x));
  CHECK(PoiseKSPConvergedReason(p->ksp) > 0);
  CHECK_OK(PoiseBarrier(ctx));
  return SampleDigest(p->x);
}

/* Two contexts of each process have links to the same devices. One ends, the other goes on as before. */
static void TestTwoContexts(PoiseContext ctx)
{
  char words[64];
  PoiseContext own[2];
  Problem p[2];
  MPI_Comm world = MPI_COMM_WORLD;
  if (!strcmp(ctx->comm->ops->name, "threads")) TEST_SKIP("thread ranks make no MPI calls");
  snprintf(words, sizeof words, "-device %s", ctx->device->ops->name);
  for (int k = 0; k < 2; k++)
    if (!CHECK_OK(TestInitialize((PoiseInit){.mpi_comm = &world}, words, &own[k])) ||
        !ProblemOpenGrid(own[k], 40, 30, 1, "cg", "jacobi", &p[k]))
      return;
  uint64_t first = SolveIn(own[0], &p[0]);
  CHECK(SolveIn(own[1], &p[1]) == first);
  ProblemClose(&p[0]);
  CHECK_OK(PoiseFinalize(&own[0]));
  CHECK(SolveIn(own[1], &p[1]) == first);
  ProblemClose(&p[1]);
  CHECK_OK(PoiseFinalize(&own[1]));
}

/* What an application has when it ends MPI too early. A product has plans of messages. */
typedef struct Early {
  PoiseContext ctx;
  PoiseMat A;
  PoiseVec x, y;
  Exchange ring; /* to the next rank, from the one before */
  int next, before;
  int64_t start[2];
  double out, in;
} Early;

static PoiseErr OpenRing(Early *s)
{
  Comm *comm = s->ctx->comm;
  s->next = (comm->rank + 1) % comm->size;
  s->before = (comm->rank + comm->size - 1) % comm->size;
  s->start[0] = 0;
  s->start[1] = 1;
  s->ring = (Exchange){1, 1, &s->next, &s->before, s->start, s->start, &s->out, &s->in, NULL};
  return comm->size == 1 ? POISE_OK : comm->ops->exchange_setup(comm, &s->ring);
}

static PoiseErr OpenEarly(Early *s)
{
  const PoiseInt n = 8;
  POISE_TRY(PoiseInitialize(NULL, NULL, NULL, &s->ctx));
  POISE_TRY(PoiseMatCreate(s->ctx, POISE_DECIDE, POISE_DECIDE, n, n, &s->A));
  for (PoiseInt i = 0; i < n && PoiseRank(s->ctx) == 0; i++)
    POISE_TRY(PoiseMatAddBlock(s->A, 1, &i, 2, (PoiseInt[]){i, (i + 3) % n}, (double[]){2, 1}));
  POISE_TRY(PoiseMatAssemble(s->A));
  POISE_TRY(PoiseMatCreateVecs(s->A, &s->x, &s->y));
  POISE_TRY(PoiseVecSet(s->x, 1));
  POISE_TRY(OpenRing(s));
  return PoiseMatMult(s->A, s->x, s->y);
}

/* The collectives of communicators: their callers begin with an allgather, which hides the others. */
static bool RefuseCollectives(PoiseContext ctx)
{
  Comm *comm = ctx->comm;
  int64_t none[3] = {0};
  double v[3] = {0};
  char byte = 0;
  Exchange empty = {.nrecv = 0, .send_start = none, .recv_start = none};
  const PoiseErr codes[] = {
      comm->ops->allgather(comm, &byte, 1, v),
      comm->ops->bcast(comm, &byte, 1, 0),
      comm->ops->alltoallv(comm, v, none, v, none),
      comm->ops->exchange_setup(comm, &empty),
      PoiseBarrier(ctx),
      PoiseAgree(ctx, POISE_OK),
      PoiseSum(ctx, 3, v),
      PoiseMax(ctx, 3, v),
  };
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
    if (codes[i] != POISE_ERR_STATE) return fprintf(stderr, "collective %zu gave %d\n", i, codes[i]), false;
  return true;
}

/* Of an exchange that was set up before. */
static bool RefuseExchange(Comm *comm, Exchange *ring)
{
  const bool refused = comm->ops->exchange_begin(comm, ring) == POISE_ERR_STATE &&
                       comm->ops->exchange_end(comm, ring) == POISE_ERR_STATE;
  comm->ops->exchange_free(comm, ring);
  return refused;
}

/* What users call, with objects from before. */
static bool RefuseCalls(Early *s)
{
  PoiseVec x = NULL;
  PoiseMat B = NULL;
  PoiseKSP ksp = NULL;
  PoiseInt row = 0;
  double v;
  const PoiseErr codes[] = {
      PoiseVecNorm(s->y, POISE_NORM_2, &v),
      PoiseVecDot(s->x, s->y, &v),
      PoiseVecGetValues(s->x, 1, &row, &v),
      PoiseVecAssemble(s->x),
      PoiseVecCreate(s->ctx, POISE_DECIDE, 8, &x),
      PoiseMatMult(s->A, s->x, s->y),
      PoiseMatMultTranspose(s->A, s->x, s->y),
      PoiseMatAssemble(s->A),
      PoiseMatNorm(s->A, POISE_NORM_1, &v),
      PoiseMatDuplicate(s->A, 1, &B),
      PoiseMatTranspose(s->A, &B),
      PoiseView(s->ctx),
      PoiseLogView(s->ctx, stderr, POISE_LOG_TEXT),
  };
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
    if (codes[i] != POISE_ERR_STATE) return fprintf(stderr, "call %zu gave %d\n", i, codes[i]), false;
  if (PoiseKSPCreate(s->ctx, &ksp)) return true;
  const bool refused = PoiseKSPSetOperators(ksp, s->A, NULL) || PoiseKSPSolve(ksp, s->x, s->y);
  return !PoiseKSPDestroy(&ksp) && refused && !x && !B;
}

static int EndEarly(Early *s)
{
  bool alone = PoiseSize(s->ctx) == 1;
  double norm;
  PoiseErr e = PoiseVecNorm(s->y, POISE_NORM_1, &norm);
  if (alone ? e || norm != 24
            : e != POISE_ERR_STATE || !strstr(PoiseErrorMessage(), "MPI has been finalised"))
    return 1;
  PoiseErrorClear();
  if (!alone && (!RefuseCollectives(s->ctx) || !RefuseExchange(s->ctx->comm, &s->ring) || !RefuseCalls(s)))
    return 1;
  if (PoiseFinalize(&s->ctx) != POISE_ERR_STATE || !s->ctx || !strstr(PoiseErrorMessage(), "objects"))
    return 1;
  if (PoiseVecDestroy(&s->x) || PoiseVecDestroy(&s->y) || PoiseMatDestroy(&s->A)) return 1;
  if (PoiseFinalize(&s->ctx) != POISE_ERR_STATE || s->ctx) return 1;
  return !strstr(PoiseErrorMessage(), "MPI was finalised before PoiseFinalize");
}

/* Poise neither finalises an application's MPI nor works after it has ended. */
static int AfterTests(void)
{
  PoiseContext ctx;
  Early early;
  int finalized;
  MPI_Finalized(&finalized);
  if (finalized || OpenEarly(&early)) return 1;
  MPI_Finalize();
  if (EndEarly(&early)) return 1;
  PoiseErrorClear();
  if (PoiseInitialize(NULL, NULL, NULL, &ctx) != POISE_ERR_STATE) return 1;
  if (PoiseInitialize(NULL, NULL, &(PoiseInit){.serial = 1}, &ctx)) return 1;
  return PoiseFinalize(&ctx) != POISE_OK;
}

static const Test tests[] = {
    {"own_communicator", TestOwnCommunicator, TEST_HOST_ONLY},
    {"serial", TestSerial, TEST_HOST_ONLY},
    {"no_rank", TestNoRank, TEST_HOST_ONLY},
    {"two_contexts", TestTwoContexts, 0},
    {NULL, NULL, 0},
};

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  int failed = TestMain(argc, argv, "mpi", tests);
  return AfterTests() || failed;
}
