/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The adapter, as a program of SUNDIALS uses it. Any number of ranks.

    test_sundials [name]     all tests, or the one of this name
*/
#include <stdio.h>

#include "test.h"

static int failures, checks;
static const char *present = "", *device = "";

int Check(int holds, const char *file, int line, const char *text)
{
  checks++;
  if (!holds) {
    failures++;
    fprintf(stderr, "%s:%d: %s, device %s: %s\n", file, line, present, device, text);
  }
  return holds;
}

int CheckInt(long long a, long long b, const char *file, int line, const char *text)
{
  if (a != b) fprintf(stderr, "%lld and %lld: ", a, b);
  return Check(a == b, file, line, text);
}

int CheckWords(const char *words, const char *file, int line)
{
  const int has = strstr(PoiseErrorMessage(), words) != NULL;
  if (!has) fprintf(stderr, "the message is '%s'\n", PoiseErrorMessage());
  return Check(has, file, line, words);
}

static void Run(const Test *t)
{
  char program[] = "test_sundials", key[] = "-device", value[8];
  char *words[] = {program, key, value, NULL}, **argv = words;
  int argc = 3, ranks;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (t->serial && ranks > 1) return;
  present = t->name;
  snprintf(value, sizeof value, "%s", device);
  Case c = {.comm = t->serial ? MPI_COMM_SELF : MPI_COMM_WORLD};
  const PoiseInit init = {.serial = t->serial, .mpi_comm = t->serial ? NULL : &c.comm};
  if (!CHECK(!PoiseInitialize(&argc, &argv, &init, &c.ctx))) return;
  SUNContext_Create(&c.comm, &c.sun);
  t->run(&c);
  SUNContext_Free(&c.sun);
  if (!CHECK(!PoiseFinalize(&c.ctx))) fputs(PoiseErrorText(), stderr);
}

int main(int argc, char **argv)
{
  static const Test *const tables[] = {linear_tests, matrix_tests, integrator_tests};
  static const char *const devices[] = {"host", "mock"};
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int k = 0; k < 3; k++)
    for (const Test *t = tables[k]; t->name; t++)
      for (int d = 0; d < 2; d++) {
        device = devices[d];
        if (argc < 2 || !strcmp(argv[1], t->name)) Run(t);
      }
  MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (!rank) printf("%d checks on rank 0, %d failures on all ranks\n", checks, failures);
  MPI_Finalize();
  return failures ? 1 : 0;
}
