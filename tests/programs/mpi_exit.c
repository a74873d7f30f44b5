/* SPDX-License-Identifier: BSD-3-Clause */
/*
  How a process ends in which Poise has initialised MPI:
    mpi_exit leaves      The last rank calls exit(3) while its context lives and the others wait for it.
    mpi_exit finalizes   The application calls MPI_Finalize itself, after PoiseFinalize.
*/
#include <mpi.h>
#include <poise.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
  PoiseContext ctx;
  double one = 1;
  int leaves = argc == 2 && !strcmp(argv[1], "leaves");
  int nothing = 0;
  if (PoiseInitialize(&nothing, NULL, NULL, &ctx)) return 4;
  if (leaves && PoiseRank(ctx) == PoiseSize(ctx) - 1) exit(3);
  if (PoiseSum(ctx, 1, &one) || one != PoiseSize(ctx) || PoiseFinalize(&ctx)) return 5;
  return leaves ? 6 : MPI_Finalize();
}
