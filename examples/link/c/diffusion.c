/* SPDX-License-Identifier: BSD-3-Clause */
/*
  A parallel simulation code that has its own MPI, its own communicator and its own arrays, and calls Poise
  for one thing: the linear system. -div(k grad u) = 1 on the unit square, u = 0 around it, by finite volumes
  on n x n cells; k is 1, and 1000 in a square inclusion. Each rank owns some lines of cells, and their rows
  of the matrix as CSR with global columns.

    mpirun -n 2 ./diffusion -poise_ksp_monitor

  The code asks the library for options that begin with "-poise_" only, so that other words remain its own.
*/
#include <math.h>
#include <mpi.h>
#include <poise.h>
#include <stdlib.h>

enum { n = 60 };

typedef struct Part {
  MPI_Comm comm;
  int begin, lines; /* lines [begin, begin + lines) of n cells */
  int32_t *ptr, *col;
  double *val, *b, *u;
} Part;

static double Conductivity(int i, int j)
{
  return 3 * i > n && 3 * i < 2 * n && 3 * j > n && 3 * j < 2 * n ? 1000 : 1;
}

/* Of the face between cell (i, j) and its neighbour: the harmonic mean, or that of half a cell at the
   boundary. */
static double FaceConductivity(int i, int j, int ineighbour, int jneighbour)
{
  const double k = Conductivity(i, j);
  if (ineighbour < 0 || ineighbour == n || jneighbour < 0 || jneighbour == n) return 2 * k;
  const double kneighbour = Conductivity(ineighbour, jneighbour);
  return 2 * k * kneighbour / (k + kneighbour);
}

static void Assemble(Part *part)
{
  static const int step[5][2] = {{-1, 0}, {0, -1}, {0, 0}, {0, 1}, {1, 0}}; /* columns ascending */
  int32_t nz = 0;
  for (int row = 0; row < part->lines * n; row++) {
    const int i = part->begin + row / n, j = row % n;
    int32_t diagonal = nz;
    double sum = 0;
    part->ptr[row] = nz;
    for (int s = 0; s < 5; s++) {
      const int ineighbour = i + step[s][0], jneighbour = j + step[s][1];
      if (s == 2) {
        diagonal = nz;
        part->col[nz++] = i * n + j;
        continue;
      }
      const double k = FaceConductivity(i, j, ineighbour, jneighbour);
      sum += k;
      if (ineighbour < 0 || ineighbour == n || jneighbour < 0 || jneighbour == n) continue;
      part->col[nz] = ineighbour * n + jneighbour;
      part->val[nz++] = -k;
    }
    part->val[diagonal] = sum;
    part->b[row] = 1.0 / n / n;
    part->u[row] = 0;
  }
  part->ptr[part->lines * n] = nz;
}

/* All that the code says to Poise. Its arrays are lent: the values and both vectors are used where they
   are. */
static PoiseErr Solve(PoiseContext ctx, Part *part)
{
  const PoiseCSR csr = {.ptr32 = part->ptr, .col32 = part->col, .val = part->val};
  const PoiseInt rows = (PoiseInt)part->lines * n, all = (PoiseInt)n * n;
  PoiseMat A = NULL;
  PoiseVec b = NULL, u = NULL;
  PoiseKSP ksp = NULL;
  PoisePC pc;
  PoiseErr err = PoiseMatCreateCSR(ctx, rows, rows, all, all, &csr, POISE_BORROW, &A);
  if (!err) err = PoiseVecCreateArray(ctx, rows, all, part->b, POISE_BORROW, &b);
  if (!err) err = PoiseVecCreateArray(ctx, rows, all, part->u, POISE_BORROW, &u);
  if (!err) err = PoiseKSPCreate(ctx, &ksp);
  if (!err) err = PoiseKSPSetType(ksp, "cg");
  if (!err) err = PoiseKSPGetPC(ksp, &pc);
  if (!err) err = PoisePCSetType(pc, "bjacobi");
  if (!err) err = PoiseKSPSetOperators(ksp, A, NULL);
  if (!err) err = PoiseKSPSetTolerances(ksp, 1e-10, -1, -1, -1);
  if (!err) err = PoiseKSPSetErrorIfNotConverged(ksp, 1);
  if (!err) err = PoiseKSPSetFromOptions(ksp);
  if (!err) err = PoiseKSPSolve(ksp, b, u);
  if (!err)
    err = PoisePrintf(ctx, "C: %d iterations on %d ranks, ", (int)PoiseKSPIterations(ksp), PoiseSize(ctx));
  PoiseKSPDestroy(&ksp); /* what was not created is NULL, which they pass over */
  PoiseVecDestroy(&u);
  PoiseVecDestroy(&b);
  PoiseMatDestroy(&A);
  return err;
}

static PoiseErr CallPoise(int *argc, char ***argv, Part *part)
{
  PoiseContext ctx;
  PoiseErr err = PoiseInitialize(argc, argv, &(PoiseInit){.mpi_comm = &part->comm, .prefix = "poise_"}, &ctx);
  if (err) return err;
  err = Solve(ctx, part);
  PoiseErr end = PoiseFinalize(&ctx);
  return err ? err : end;
}

/* |b - A u| / |b| by the code's own means, with the neighbours' lines fetched by its own MPI. */
static double Residual(const Part *part)
{
  const int rows = part->lines * n;
  int rank, size;
  double sums[2] = {0, 0};
  double *u = calloc((size_t)rows + 2 * n, sizeof *u); /* a line before, and one behind */
  if (!u) MPI_Abort(part->comm, 1);
  MPI_Comm_rank(part->comm, &rank);
  MPI_Comm_size(part->comm, &size);
  const int before = rank > 0 ? rank - 1 : MPI_PROC_NULL, behind = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
  for (int row = 0; row < rows; row++) u[n + row] = part->u[row];
  MPI_Sendrecv(u + n, n, MPI_DOUBLE, before, 0, u + n + rows, n, MPI_DOUBLE, behind, 0, part->comm,
               MPI_STATUS_IGNORE);
  MPI_Sendrecv(u + rows, n, MPI_DOUBLE, behind, 1, u, n, MPI_DOUBLE, before, 1, part->comm,
               MPI_STATUS_IGNORE);
  for (int row = 0; row < rows; row++) {
    double r = part->b[row];
    for (int32_t k = part->ptr[row]; k < part->ptr[row + 1]; k++) {
      r -= part->val[k] * u[part->col[k] - part->begin * n + n];
    }
    sums[0] += r * r;
    sums[1] += part->b[row] * part->b[row];
  }
  free(u);
  MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE, MPI_SUM, part->comm);
  return sqrt(sums[0] / sums[1]);
}

int main(int argc, char **argv)
{
  Part part;
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &part.comm); /* it could be a part of the world, too */
  MPI_Comm_rank(part.comm, &rank);
  MPI_Comm_size(part.comm, &size);
  if (size > n) MPI_Abort(part.comm, 2); /* a rank without a line has no neighbours' lines to give */
  part.begin = n * rank / size;
  part.lines = n * (rank + 1) / size - part.begin;
  const size_t rows = (size_t)part.lines * n;
  part.ptr = malloc((rows + 1) * sizeof *part.ptr);
  part.col = malloc(5 * rows * sizeof *part.col);
  part.val = malloc(5 * rows * sizeof *part.val);
  part.b = malloc(rows * sizeof *part.b);
  part.u = malloc(rows * sizeof *part.u);
  if (!part.ptr || !part.col || !part.val || !part.b || !part.u) MPI_Abort(part.comm, 1);
  Assemble(&part);

  PoiseErr err = CallPoise(&argc, &argv, &part);
  if (err) fputs(PoiseErrorText(), stderr);
  const double residual = Residual(&part);
  if (rank == 0) printf("residual %.1e\n", residual);

  free(part.u);
  free(part.b);
  free(part.val);
  free(part.col);
  free(part.ptr);
  MPI_Comm_free(&part.comm);
  MPI_Finalize();
  return err || !(residual < 1e-8);
}
