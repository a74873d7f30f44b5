/* SPDX-License-Identifier: BSD-3-Clause */
/*
  PETSc's binary files, from memory and from a file, which must agree. What was loaded, saved with integers of either width and
  loaded again has the same bits.
*/
#include "fuzz.h"

#include "vec/petsc.h"

static const char *const bits[] = {"auto", "32", "64"};

static PoiseErr LoadMatrix(const uint8_t *data, size_t size, PoiseMat *A)
{
  ByteSource s;
  poiseSourceMemory(data, size, "input", &s);
  return poisePetscLoadMat(FuzzContext(), POISE_OK, &s, A);
}

static PoiseErr LoadVector(const uint8_t *data, size_t size, PoiseVec *x)
{
  ByteSource s;
  poiseSourceMemory(data, size, "input", &s);
  return poisePetscLoadVec(FuzzContext(), POISE_OK, &s, POISE_DECIDE, POISE_DECIDE, x);
}

int FuzzOne(const uint8_t *data, size_t size)
{
  const char *path = FuzzFile("input"), *copy = FuzzFile(size % 2 ? "copy.petsc" : "copy.petsc.gz");
  PoiseContext ctx = FuzzContext();
  PoiseMat A, B;
  PoiseVec x, y;
  bool plain = poisePetscBegins(data, size);
  DEMAND(!PoiseOptionsSet(ctx, "petsc_index_bits", bits[size % 3]));
  FuzzBegin();
  PoiseErr matrix = LoadMatrix(data, size, &A), vector = LoadVector(data, size, &x);
  DEMAND(plain || (matrix && vector));
  if (!matrix) FuzzMatrixStays(&A, copy);
  if (!vector) FuzzVectorStays(&x, copy);
  if (plain || (size > 1 && data[0] == 0x1f && data[1] == 0x8b)) {
    FuzzWrite(path, data, size);
    PoiseErr e = PoiseMatLoad(ctx, path, &B);
    DEMAND(!plain || e == matrix);
    if (!e) FuzzMatrixStays(&B, copy);
    e = PoiseVecLoad(ctx, POISE_DECIDE, POISE_DECIDE, path, &y);
    DEMAND(!plain || e == vector);
    if (!e) FuzzVectorStays(&y, copy);
  }
  FuzzNothingLeft();
  return 0;
}
