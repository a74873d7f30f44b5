/* SPDX-License-Identifier: BSD-3-Clause */
/* An application that initialises and finalises MPI itself, and gives Poise communicators of its own. */
#include <mpi.h>

#include "harness.h"
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

/* Poise neither finalises an application's MPI nor works after it has ended. */
static int AfterTests(void)
{
  PoiseContext ctx;
  int finalized;
  MPI_Finalized(&finalized);
  if (finalized) return 1;
  MPI_Finalize();
  if (PoiseInitialize(NULL, NULL, NULL, &ctx) != POISE_ERR_STATE) return 1;
  if (PoiseInitialize(NULL, NULL, &(PoiseInit){.serial = 1}, &ctx)) return 1;
  return PoiseFinalize(&ctx) != POISE_OK;
}

static const Test tests[] = {
    {"own_communicator", TestOwnCommunicator, TEST_HOST_ONLY},
    {"serial", TestSerial, TEST_HOST_ONLY},
    {NULL, NULL, 0},
};

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  int failed = TestMain(argc, argv, "mpi", tests);
  return AfterTests() || failed;
}
