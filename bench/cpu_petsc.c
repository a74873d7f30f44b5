/* SPDX-License-Identifier: BSD-3-Clause */
/* PETSc's side of cpu.c. */
#include <petscksp.h>
#include <stdio.h>
#include <stdlib.h>

#include "cpu_peers.h"

#define CHECK(call)                                                            \
  do {                                                                         \
    if ((call) != 0) {                                                         \
      fprintf(stderr, "%s:%d: PETSc failed: %s\n", __FILE__, __LINE__, #call); \
      MPI_Abort(MPI_COMM_WORLD, 1);                                            \
    }                                                                          \
  } while (0)

static struct {
  Mat A;
  Vec x, y, b;
  KSP ksp;
} p;

static void Start(void)
{
  CHECK(PetscInitializeNoArguments());
}

static void Stop(void)
{
  CHECK(PetscFinalize());
}

static void Destroy(void)
{
  CHECK(KSPDestroy(&p.ksp));
  CHECK(VecDestroy(&p.x));
  CHECK(VecDestroy(&p.y));
  CHECK(VecDestroy(&p.b));
  CHECK(MatDestroy(&p.A));
}

static void Empty(int64_t n, int64_t N)
{
  CHECK(MatCreate(PETSC_COMM_WORLD, &p.A));
  CHECK(MatSetSizes(p.A, (PetscInt)n, (PetscInt)n, (PetscInt)N, (PetscInt)N));
  CHECK(MatSetType(p.A, MATAIJ));
}

static void Create(const Rows *r)
{
  PC pc;
  Empty(r->n, r->N);
  CHECK(MatSeqAIJSetPreallocationCSR(p.A, r->ptr, r->col, r->val));
  CHECK(MatMPIAIJSetPreallocationCSR(p.A, r->ptr, r->col, r->val));
  CHECK(MatCreateVecs(p.A, &p.x, &p.y));
  CHECK(VecDuplicate(p.y, &p.b));
  CHECK(VecSet(p.x, 1));
  CHECK(MatMult(p.A, p.x, p.b));
  CHECK(KSPCreate(PETSC_COMM_WORLD, &p.ksp));
  CHECK(KSPSetType(p.ksp, KSPCG));
  CHECK(KSPSetOperators(p.ksp, p.A, p.A));
  CHECK(KSPGetPC(p.ksp, &pc));
  CHECK(PCSetType(pc, PCJACOBI));
  CHECK(KSPSetUp(p.ksp));
}

static void Mult(void)
{
  CHECK(MatMult(p.A, p.x, p.y));
}

static void CG(int iterations)
{
  PetscInt its;
  CHECK(KSPSetTolerances(p.ksp, 1e-300, 1e-300, 1e300, iterations));
  CHECK(KSPSolve(p.ksp, p.b, p.y));
  CHECK(KSPGetIterationNumber(p.ksp, &its));
  if (its != iterations) fprintf(stderr, "PETSc made %d iterations, not %d\n", (int)its, iterations);
}

static void Reserve(int64_t n, int64_t N, const int32_t *inside, const int32_t *outside)
{
  Empty(n, N);
  CHECK(MatSeqAIJSetPreallocation(p.A, 0, inside));
  CHECK(MatMPIAIJSetPreallocation(p.A, 0, inside, 0, outside));
}

static void Add(int k, const int64_t *rows, const double *v)
{
  PetscInt index[32];
  for (int i = 0; i < k; i++) index[i] = (PetscInt)rows[i];
  CHECK(MatSetValues(p.A, k, index, k, index, v, ADD_VALUES));
}

static void Assemble(void)
{
  CHECK(MatAssemblyBegin(p.A, MAT_FINAL_ASSEMBLY));
  CHECK(MatAssemblyEnd(p.A, MAT_FINAL_ASSEMBLY));
}

static void Zero(void)
{
  CHECK(MatZeroEntries(p.A));
}

static void PatternCOO(int64_t n, int64_t N, int64_t count, const int64_t *rows, const int64_t *cols)
{
  PetscInt *i = malloc((size_t)count * sizeof *i), *j = malloc((size_t)count * sizeof *j);
  if (!i || !j) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int64_t k = 0; k < count; k++) i[k] = (PetscInt)rows[k], j[k] = (PetscInt)cols[k];
  Empty(n, N);
  CHECK(MatSetPreallocationCOO(p.A, count, i, j));
  free(i);
  free(j);
}

static void ValuesCOO(const double *v)
{
  CHECK(MatSetValuesCOO(p.A, v, INSERT_VALUES));
}

#define TEXT(x)  TEXT_(x)
#define TEXT_(x) #x

const Theirs theirs_petsc = {
    .version =
        "PETSc " TEXT(PETSC_VERSION_MAJOR) "." TEXT(PETSC_VERSION_MINOR) "." TEXT(PETSC_VERSION_SUBMINOR),
    .start = Start,
    .stop = Stop,
    .create = Create,
    .mult = Mult,
    .cg = CG,
    .reserve = Reserve,
    .add = Add,
    .assemble = Assemble,
    .zero = Zero,
    .coo_pattern = PatternCOO,
    .coo_values = ValuesCOO,
    .destroy = Destroy,
};
