/* SPDX-License-Identifier: BSD-3-Clause */
/*
  A test is written once, and called on every rank of every configuration. Configurations are devices {host,
  mock} x thread ranks {1, 2, 4, 7}, or the MPI ranks of mpiexec. Each call gets a context of its own, and
  must leave no objects and no memory in it. Suites are named "<suite>.<device>.t<ranks>" (threads) or
  "<suite>.<device>.np<ranks>" (MPI). In half of them row offsets are int64, as in parts of more than 2^31
  nonzeros. That half has every device and every number of ranks.

    static void TestDot(PoiseContext ctx) { ... if (!CHECK_OK(PoiseVecCreate(ctx, ...))) return; ... }
    static const Test tests[] = {{"dot", TestDot, 0}, {NULL, NULL, 0}};
    int main(int argc, char **argv) { return TestMain(argc, argv, "vec", tests); }

  Command line: --devices host,mock --ranks 1,4 --test name. Each narrows what runs.
*/
#ifndef POISE_TEST_HARNESS_H
#define POISE_TEST_HARNESS_H

#include "poise.h"

typedef void (*TestFn)(PoiseContext ctx);

enum {
  TEST_SERIAL = 1,    /* only on one rank */
  TEST_HOST_ONLY = 2, /* only on device host */
  /* Not under the sanitizer of threads, where it takes a quarter of a minute or more: it is about numbers,
     and others of its suite make ranks meet in the same code. */
  TEST_LONG = 4
};

typedef struct {
  const char *name;
  TestFn run;
  unsigned flags;
} Test;

/* Run the suite; tests ends with a NULL name. The value is main's. */
int TestMain(int argc, char **argv, const char *suite, const Test *tests);

/*
  Checks are expressions: 1 when they hold; else the failure is recorded (any thread may) and the value is 0,
  so that a test that cannot go on returns: if (!CHECK_OK(...)) return;

  CHECK_OK, CHECK_ERR  call returns POISE_OK; or fails with this code and with these words in its message
                       ("" for any).
  CHECK_NEAR           |a - b| <= tol; fails on NaN.
  CHECK_INT            integers a == b.
*/
#define CHECK(cond)                  TestCheck(!!(cond), __FILE__, __LINE__, #cond)
#define CHECK_OK(call)               TestCheckOk((call), __FILE__, __LINE__, #call)
#define CHECK_ERR(call, code, words) TestCheckErr((call), code, words, __FILE__, __LINE__, #call)
#define CHECK_NEAR(a, b, tol)        TestCheckNear(a, b, tol, __FILE__, __LINE__, #a " ~ " #b)

#define CHECK_INT(a, b) TestCheckInt((int64_t)(a), (int64_t)(b), __FILE__, __LINE__, #a " == " #b)

/* Leave the test body, saying why; all ranks must. */
#define TEST_SKIP(reason) \
  do {                    \
    TestSkip(reason);     \
    return;               \
  } while (0)

/*
  Call body(ctx, arg) with the 1st, 2nd, ... allocation made to fail, until it runs through: on each of one or
  two ranks, on that in the middle of more. Each time the failing rank must return POISE_ERR_MEMORY and the
  others POISE_ERR_REMOTE, all of them leaving as many objects and blocks as before. body is collective,
  agrees on errors, destroys what it made, and may be called again.
*/
void TestAllocationFailures(PoiseContext ctx, PoiseErr (*body)(PoiseContext ctx, void *arg), void *arg);

/* Memory that ranks shared is kept until they meet again, and none uses it: here. Collective. */
void TestFreeIdle(PoiseContext ctx);

/* Options hold from here on, for all ranks that are threads too. Collective. */
void SetOptions(PoiseContext ctx, const char *options);

/* A context of its own from the words of a command line, which are separated by single spaces. */
PoiseErr TestInitialize(PoiseInit init, const char *words, PoiseContext *own);

/*
  Capture the output of rank 0 between these two calls in a file of its own (NULL: there is none, and a check
  has failed). It is then copied to text, cut to its size. Other ranks get an empty text.
*/
FILE *TestPrintBegin(PoiseContext ctx);
void TestPrintEnd(PoiseContext ctx, FILE *file, char *text, size_t size);

/* What rank 0 prints during the call, which must succeed. */
#define TEST_PRINTED(ctx, text, size, call)  \
  do {                                       \
    FILE *printed_ = TestPrintBegin(ctx);    \
    CHECK_OK(call);                          \
    TestPrintEnd(ctx, printed_, text, size); \
  } while (0)

/* The i-th number of a stream, in [-1, 1): the same on every rank and machine. */
double TestRandom(uint64_t seed, uint64_t i);

int TestCheck(int holds, const char *file, int line, const char *text);
int TestCheckOk(PoiseErr e, const char *file, int line, const char *text);
int TestCheckErr(PoiseErr e, PoiseErr code, const char *words, const char *file, int line, const char *text);
int TestCheckNear(double a, double b, double tol, const char *file, int line, const char *text);
int TestCheckInt(int64_t a, int64_t b, const char *file, int line, const char *text);
void TestSkip(const char *reason);

#endif
