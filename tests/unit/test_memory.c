/* SPDX-License-Identifier: BSD-3-Clause */
/* Allocation, and what other tests rely on: counting and failing. */
#include "harness.h"
#include "sys/sys.h"

static bool Zero(const unsigned char *p, size_t n)
{
  while (n && !p[n - 1]) n--;
  return n == 0;
}

static void TestAlloc(PoiseContext ctx)
{
  static const size_t sizes[] = {1,      63, 64, 65, 4097, 1000000, (4 << 20) - 1, 4 << 20, (4 << 20) + 1,
                                 9000001};
  int64_t live = ctx->memory.live, calls = ctx->memory.calls;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    unsigned char *p;
    if (!CHECK_OK(poiseAlloc(ctx, sizes[i], "block", &p))) return;
    CHECK((uintptr_t)p % 64 == 0);
    CHECK(Zero(p, sizes[i]));
    memset(p, 255, sizes[i]); /* the next one is zeroed all the same */
    CHECK_INT(ctx->memory.live, live + 1);
    CHECK_INT(ctx->memory.calls, ++calls);
    poiseFree(ctx, &p);
    CHECK(!p);
    CHECK_INT(ctx->memory.live, live);
    poiseFree(ctx, &p);
    CHECK_INT(ctx->memory.live, live);
  }
  double *nothing = &(double){0};
  CHECK_OK(poiseAlloc(ctx, 0, "nothing", &nothing));
  CHECK(!nothing);
  CHECK_INT(ctx->memory.calls, calls);
}

static void TestTooMuch(PoiseContext ctx)
{
  static const int64_t counts[] = {-1, INT64_MIN, INT64_MAX, INT64_MAX / 8 + 1, (INT64_C(1) << 61) + 1};
  int64_t live = ctx->memory.live;
  double *p = &(double){0};
  CHECK_ERR(poiseAlloc(ctx, SIZE_MAX, "too much", &p), POISE_ERR_MEMORY,
            "too much: 18446744073709551615 bytes");
  CHECK(!p);
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    p = &(double){0};
    CHECK_ERR(poiseAllocArray(ctx, counts[i], sizeof *p, "too many", &p), POISE_ERR_MEMORY, "too many");
    CHECK(!p);
  }
  CHECK_INT(ctx->memory.live, live);
}

static void TestGrow(PoiseContext ctx)
{
  int64_t live = ctx->memory.live, n = 3, wrong = 0;
  int *p = NULL;
  CHECK_OK(poiseRealloc(ctx, 3 * sizeof *p, 0, "list", &p));
  for (int i = 0; i < 3; i++) p[i] = i;
  for (; n < 3000000; n = n * 2 + 1) { /* from small blocks to those that are mapped */
    if (!CHECK_OK(poiseRealloc(ctx, (size_t)(2 * n + 1) * sizeof *p, (size_t)n * sizeof *p, "list", &p)))
      return;
    for (int64_t i = n; i < 2 * n + 1; i++) p[i] = (int)i;
    CHECK_INT(ctx->memory.live, live + 1);
  }
  for (int64_t i = 0; i < n; i++) wrong += p[i] != i;
  CHECK_INT(wrong, 0);
  int *old = p;
  poiseAllocFailAt(ctx, 1);
  CHECK_ERR(poiseRealloc(ctx, (size_t)n * 2 * sizeof *p, (size_t)n * sizeof *p, "list", &p), POISE_ERR_MEMORY,
            "list");
  CHECK(p == old && p[n - 1] == (int)n - 1); /* still there */
  poiseFree(ctx, &p);
  CHECK_INT(ctx->memory.live, live);
}

static void TestFailAt(PoiseContext ctx)
{
  int64_t live = ctx->memory.live;
  void *p[5];
  char *s;
  poiseAllocFailAt(ctx, 3);
  for (int i = 0; i < 5; i++) {
    PoiseErr e = poiseAlloc(ctx, 8, "one of five", &p[i]);
    if (i == 2)
      CHECK_ERR(e, POISE_ERR_MEMORY, "one of five");
    else
      CHECK_OK(e);
    CHECK(!p[i] == (i == 2));
  }
  CHECK_INT(ctx->memory.live, live + 4);
  for (int i = 0; i < 5; i++) poiseFree(ctx, &p[i]);
  poiseAllocFailAt(ctx, 1);
  CHECK_ERR(poiseStringCopy(ctx, "words", &s), POISE_ERR_MEMORY, "");
  CHECK(!s);
  poiseAllocFailAt(ctx, 1);
  CHECK_ERR(poiseAllocCount(ctx, 8, "a device's"), POISE_ERR_MEMORY, "a device's");
  CHECK_OK(poiseAllocCount(ctx, 8, "a device's"));
  poiseFreeCount(ctx);
  CHECK_OK(poiseStringCopy(ctx, "words", &s));
  CHECK(s && !strcmp(s, "words"));
  poiseFree(ctx, &s);
  CHECK_OK(poiseStringCopy(ctx, NULL, &s));
  CHECK(!s);
  CHECK_INT(ctx->memory.live, live);
}

static const Test tests[] = {{"alloc", TestAlloc, TEST_HOST_ONLY},
                             {"too_much", TestTooMuch, TEST_HOST_ONLY},
                             {"grow", TestGrow, TEST_HOST_ONLY},
                             {"fail_at", TestFailAt, TEST_HOST_ONLY},
                             {NULL, NULL, 0}};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "memory", tests);
}
