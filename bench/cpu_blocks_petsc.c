/* SPDX-License-Identifier: BSD-3-Clause */
/* PETSc's formats AIJ and BAIJ, for cpu_blocks.c. */
#include <petscmat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu_blocks.h"

#define CHECK(call)                                                            \
  do {                                                                         \
    if ((call) != 0) {                                                         \
      fprintf(stderr, "%s:%d: PETSc failed: %s\n", __FILE__, __LINE__, #call); \
      return false;                                                            \
    }                                                                          \
  } while (0)

typedef struct Product {
  Mat A;
  Vec x, y;
} Product;

static Product aij, baij;

bool StartPetsc(void)
{
  CHECK(PetscInitializeNoArguments());
  return true;
}

void StopPetsc(void)
{
  (void)PetscFinalize();
}

static bool Empty(Product *p, const Rows *r, MatType type)
{
  CHECK(MatCreate(PETSC_COMM_WORLD, &p->A));
  CHECK(MatSetSizes(p->A, (PetscInt)r->n, (PetscInt)r->n, (PetscInt)r->N, (PetscInt)r->N));
  CHECK(MatSetType(p->A, type));
  CHECK(MatSetBlockSize(p->A, r->block));
  return true;
}

static bool Vectors(Product *p, const Rows *r, const double *x)
{
  PetscScalar *array;
  CHECK(MatCreateVecs(p->A, &p->x, &p->y));
  CHECK(VecGetArray(p->x, &array));
  memcpy(array, x, (size_t)r->n * sizeof *x);
  CHECK(VecRestoreArray(p->x, &array));
  return true;
}

static bool CreateAij(const Rows *r, const Blocks *k, const double *x)
{
  (void)k;
  if (!Empty(&aij, r, MATAIJ)) return false;
  CHECK(MatSeqAIJSetPreallocationCSR(aij.A, r->ptr, r->col, r->val));
  CHECK(MatMPIAIJSetPreallocationCSR(aij.A, r->ptr, r->col, r->val));
  return Vectors(&aij, r, x);
}

/* It takes blocks row by row, and keeps them column-major. */
static bool CreateBaij(const Rows *r, const Blocks *k, const double *x)
{
  int64_t b = k->b, blocks = k->ptr[k->n];
  double *v = malloc((size_t)(blocks * b * b + 1) * sizeof *v);
  if (!v || !Empty(&baij, r, MATBAIJ)) return false;
  for (int64_t l = 0; l < blocks; l++)
    for (int64_t i = 0; i < b; i++)
      for (int64_t j = 0; j < b; j++) v[(l * b + i) * b + j] = k->val[(l * b + j) * b + i];
  CHECK(MatSeqBAIJSetPreallocationCSR(baij.A, k->b, k->ptr, k->col, v));
  CHECK(MatMPIBAIJSetPreallocationCSR(baij.A, k->b, k->ptr, k->col, v));
  free(v);
  return Vectors(&baij, r, x);
}

static bool Mult(Product *p)
{
  CHECK(MatMult(p->A, p->x, p->y));
  return true;
}

static bool Result(Product *p, double *y)
{
  PetscInt n;
  const PetscScalar *array;
  CHECK(VecGetLocalSize(p->y, &n));
  CHECK(VecGetArrayRead(p->y, &array));
  memcpy(y, array, (size_t)n * sizeof *y);
  CHECK(VecRestoreArrayRead(p->y, &array));
  return true;
}

static void Destroy(Product *p)
{
  (void)MatDestroy(&p->A);
  (void)VecDestroy(&p->x);
  (void)VecDestroy(&p->y);
}

static bool MultAij(void)
{
  return Mult(&aij);
}

static bool MultBaij(void)
{
  return Mult(&baij);
}

static bool ResultAij(double *y)
{
  return Result(&aij, y);
}

static bool ResultBaij(double *y)
{
  return Result(&baij, y);
}

static void DestroyAij(void)
{
  Destroy(&aij);
}

static void DestroyBaij(void)
{
  Destroy(&baij);
}

#define TEXT(x)  TEXT_(x)
#define TEXT_(x) #x
#define VERSION \
  "PETSc " TEXT(PETSC_VERSION_MAJOR) "." TEXT(PETSC_VERSION_MINOR) "." TEXT(PETSC_VERSION_SUBMINOR)

const Other other_aij = {.name = VERSION " aij",
                         .ranks = true,
                         .create = CreateAij,
                         .mult = MultAij,
                         .result = ResultAij,
                         .destroy = DestroyAij};
const Other other_baij = {.name = VERSION " baij",
                          .blocks = true,
                          .ranks = true,
                          .create = CreateBaij,
                          .mult = MultBaij,
                          .result = ResultBaij,
                          .destroy = DestroyBaij};
