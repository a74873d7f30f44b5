/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Code that only parts of more than 2^31 entries reach, without their memory. Functions that see only sizes
  and offsets are called with large ones. One of them is inside its file, which is compiled in here instead of
  the library's. large.c has a whole product of such a part.
*/
#include "sample.h"

#include "mat/csr/convert.h"
#include "mat/object/mat.h"
#include "sys/link/alltoall.h"
#ifdef POISE_HAVE_MPI
#include "sys/ranks/comm_mpi.c"
#endif

enum { PAST = 7 };
static const int64_t limit = INT64_C(1) << 31;

/* Offsets that are copied keep all their bits. */
static void TestOffsets(PoiseContext ctx)
{
  const int64_t ptr[] = {0, limit - 1, limit, 2 * limit, 2 * limit + PAST};
  const PoiseCSR in = {.ptr64 = ptr, .base = 0};
  const void *p;
  PoiseMat A;
  if (!CHECK_OK(PoiseMatCreate(ctx, 4, 4, POISE_DECIDE, POISE_DECIDE, &A))) return;
  A->csr.m = 4;
  A->csr.nz = ptr[4];
  if (CHECK_OK(poiseCsrConvertOffsets(A, &in)) && CHECK_OK(poiseBufferRead(&A->csr.ptr, HOST, &p))) {
    CHECK(A->csr.wide);
    for (int i = 0; i <= 4; i++) CHECK_INT(((const int64_t *)p)[i], ptr[i]);
  }
  poiseBufferDestroy(&A->csr.ptr);
  A->csr.m = A->csr.nz = 0;
  PoiseMatDestroy(&A);
}

/* Offsets are narrow up to the last one that fits, and the product is right on both sides of it. */
static void TestNarrow(PoiseContext ctx)
{
  enum { M = 6 };
  const int64_t ptr[M + 1] = {0, 1, 2, 3, 4, 5, 6}, saved = ctx->hooks.most_narrow;
  const int64_t col[M] = {0, 1, 2, 3, 4, 5};
  const double val[M] = {1, 2, 3, 4, 5, 6};
  for (int64_t most = M - 1; most <= M + 1; most++) {
    PoiseMat A;
    PoiseVec x, y;
    const double *v;
    ctx->hooks.most_narrow = most;
    if (!CHECK_OK(PoiseMatCreateCSR(ctx, M, M, M, M, &(PoiseCSR){.ptr64 = ptr, .col64 = col, .val = val},
                                    POISE_COPY, &A)))
      break;
    CHECK_INT(A->csr.wide, M > most);
    if (CHECK_OK(PoiseMatCreateVecs(A, &x, &y)) && CHECK_OK(PoiseVecSet(x, 1)) &&
        CHECK_OK(PoiseMatMult(A, x, y)) && CHECK_OK(PoiseVecGetRead(y, &v))) {
      for (int i = 0; i < M; i++) CHECK(v[i] == i + 1);
      CHECK_OK(PoiseVecRestore(y, &v));
    }
    PoiseVecDestroy(&x);
    PoiseVecDestroy(&y);
    PoiseMatDestroy(&A);
  }
  ctx->hooks.most_narrow = saved;
  if (saved >= 0) CHECK_INT(saved, INT32_MAX);
}

/* An exchange of more than 2^31 bytes. Its buffer is never touched, and takes no memory. */
static void TestExchange(PoiseContext ctx)
{
  const int64_t bytes = limit + 16 * (int64_t)sizeof(PoiseInt);
  int count = 0, *rank = NULL;
  int64_t *start = NULL;
  double *buffer = NULL;
  void *addresses = malloc((size_t)bytes);
#ifdef __SANITIZE_ADDRESS__
  free(addresses), addresses = NULL; /* what it notes of each address is memory */
#endif
  if (!addresses) TEST_SKIP("2 GiB of addresses are refused");
  free(addresses);
  if (CHECK_OK(poiseExchangeSide(ctx, &bytes, &count, &rank, &start, &buffer))) {
    CHECK_INT(count, 1);
    CHECK_INT(rank[0], 0);
    CHECK_INT(start[1], bytes / (int64_t)sizeof(PoiseInt));
  }
  poiseFree(ctx, &rank);
  poiseFree(ctx, &start);
  poiseFree(ctx, &buffer);
}

#ifdef POISE_HAVE_MPI
/* Types of messages of so many bytes: all of them, and one after the other. */
static void TestMessages(PoiseContext ctx)
{
  static const int64_t beyond[] = {-1, 0, 1, PAST};
  if (strcmp(ctx->comm->ops->name, "mpi")) TEST_SKIP("thread ranks make no MPI calls");
  for (int64_t k = 0; k < 5; k++)
    for (int b = 0; b < 4; b++) {
      MPI_Datatype type;
      MPI_Count lower, extent, size;
      int count;
      int64_t bytes = k * INT_MAX + beyond[b];
      if (bytes < 0 || !CHECK_OK(MakeType((size_t)bytes, &count, &type))) continue;
      MPI_Type_size_x(type, &size);
      MPI_Type_get_true_extent_x(type, &lower, &extent);
      CHECK_INT(size * count, bytes);
      CHECK_INT(lower, 0);
      CHECK_INT(extent * count, bytes); /* no gap, and nothing twice */
      CHECK_OK(FreeType(POISE_OK, &type));
    }
}
#endif

static const Test tests[] = {
    {"offsets", TestOffsets, TEST_SERIAL},
    {"narrow", TestNarrow, TEST_SERIAL},
    {"exchange", TestExchange, TEST_SERIAL | TEST_HOST_ONLY},
#ifdef POISE_HAVE_MPI
    {"messages", TestMessages, TEST_HOST_ONLY},
#endif
    {NULL, NULL, 0},
};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "large_sizes", tests);
}
