/* SPDX-License-Identifier: BSD-3-Clause */
/*
  PETSc's binary files, from memory and from a file, which must agree. An object that was loaded, saved with
  integers of either width, and loaded again has the same bits.
*/
#include "fuzz.h"
#include "io/load.h"

#include "io/petsc.h"

enum { ROWS = 1 << 14 };

static const char *const bits[] = {"auto", "32", "64"};

/* A matrix without columns or entries may have more rows than there is memory for. */
static bool Small(const ByteSource *s)
{
  PetscItem item;
  return poisePetscFind(s, PETSC_MAT, &item) || item.M <= ROWS;
}

static bool SmallFile(const char *path)
{
  ByteSource s;
  DEMAND(!poiseSourceOpen(FuzzContext(), path, &s));
  bool small = Small(&s);
  poiseSourceClose(&s);
  return small;
}

/* plain: matrix and vector are what came of the same bytes in memory. */
static void FromFile(const char *path, const char *copy, bool plain, PoiseErr matrix, PoiseErr vector)
{
  PoiseMat A;
  PoiseVec x;
  if (!SmallFile(path)) return;
  PoiseErr e = PoiseMatLoad(FuzzContext(), path, &A);
  DEMAND(!plain || e == matrix);
  if (!e) FuzzMatrixStays(&A, copy);
  e = PoiseVecLoad(FuzzContext(), POISE_DECIDE, POISE_DECIDE, path, &x);
  DEMAND(!plain || e == vector);
  if (!e) FuzzVectorStays(&x, copy);
}

static void FromMemory(const uint8_t *data, size_t size, const char *copy, PoiseErr *matrix, PoiseErr *vector)
{
  ByteSource s;
  PoiseMat A;
  PoiseVec x;
  poiseSourceMemory(data, size, "input", &s);
  if (!Small(&s)) return;
  *matrix = poisePetscLoadMat(FuzzContext(), POISE_OK, &s, &A);
  if (!*matrix) FuzzMatrixStays(&A, copy);
  *vector = poisePetscLoadVec(FuzzContext(), POISE_OK, &s, POISE_DECIDE, POISE_DECIDE, &x);
  if (!*vector) FuzzVectorStays(&x, copy);
}

int FuzzOne(const uint8_t *data, size_t size)
{
  const char *path = FuzzFile("input"), *copy = FuzzFile(size % 2 ? "copy.petsc" : "copy.petsc.gz");
  bool plain = poisePetscBegins(data, size);
  PoiseErr matrix = POISE_ERR_FORMAT, vector = POISE_ERR_FORMAT;
  DEMAND(!PoiseOptionsSet(FuzzContext(), "petsc_index_bits", bits[size % 3]));
  FuzzBegin();
  FromMemory(data, size, copy, &matrix, &vector);
  DEMAND(plain || (matrix && vector));
  if (plain || (size > 1 && data[0] == 0x1f && data[1] == 0x8b)) {
    FuzzWrite(path, data, size);
    FromFile(path, copy, plain, matrix, vector);
  }
  FuzzNothingLeft();
  return 0;
}
