/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Binary files exchanged with PETSc itself, in one program that links both libraries. Each reads what the
  other writes, and the products with it must be equal. tests/programs/petsc_files.sh builds and runs it.
    petsc_files <folder>
*/
#include <math.h>
#include <petscmat.h>
#include <poise.h>
#include <stdlib.h>

#define P(call) PetscCallAbort(PETSC_COMM_WORLD, call)
#define Q(call)                        \
  do {                                 \
    if ((call) != POISE_OK) {          \
      fputs(PoiseErrorText(), stderr); \
      MPI_Abort(PETSC_COMM_WORLD, 1);  \
    }                                  \
  } while (0)

enum { M = 1200, N = 840, BLOCK = 4 }; /* blocks divide evenly over the ranks: layouts agree */

static double Random(int i)
{
  uint32_t z = (uint32_t)i * 2654435769u;
  z = (z ^ z >> 15) * 2246822519u;
  return (double)(z ^ z >> 13) / 0x1p31 - 1;
}

static int Stored(int i, int j)
{
  return i % 7 != 2 && Random(i * N + j) > 0.98;
}

static PoiseMat Make(PoiseContext ctx)
{
  PoiseInt begin, m;
  PoiseMat A;
  Q(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, M, N, &A));
  PoiseSplit(ctx, M, &begin, &m);
  for (PoiseInt i = begin; i < begin + m; i++)
    for (PoiseInt j = 0; j < N; j++)
      if (Stored((int)i, (int)j)) Q(PoiseMatAddEntries(A, 1, &i, &j, &(double){Random((int)(i + j))}));
  Q(PoiseMatAssemble(A));
  return A;
}

static void Fill(PoiseVec x)
{
  PoiseInt begin, end;
  double *v;
  PoiseVecRange(x, &begin, &end);
  Q(PoiseVecGetWrite(x, &v));
  for (PoiseInt i = begin; i < end; i++) v[i - begin] = Random((int)i);
  Q(PoiseVecRestore(x, &v));
}

/* The largest difference of entries, whose layouts agree. */
static double Difference(PoiseVec x, Vec y)
{
  const double *p;
  const PetscScalar *q;
  PetscInt n;
  double difference = 0;
  P(VecGetLocalSize(y, &n));
  if (n != PoiseVecLocalSize(x)) return INFINITY;
  Q(PoiseVecGetRead(x, &p));
  P(VecGetArrayRead(y, &q));
  for (PetscInt i = 0; i < n; i++) difference = fmax(difference, fabs(p[i] - q[i]));
  P(VecRestoreArrayRead(y, &q));
  Q(PoiseVecRestore(x, &p));
  Q(PoiseMax(PoiseVecContext(x), 1, &difference));
  return difference;
}

static int failed;

/* Products of both libraries' matrices with both libraries' vectors. */
static void Compare(const char *what, PoiseMat A, PoiseVec x, Mat B, Vec z)
{
  PoiseVec y;
  Vec w;
  Q(PoiseMatCreateVecs(A, NULL, &y));
  P(MatCreateVecs(B, NULL, &w));
  Q(PoiseMatMult(A, x, y));
  P(MatMult(B, z, w));
  double in = Difference(x, z), out = Difference(y, w);
  P(PetscPrintf(PETSC_COMM_WORLD, "%-41s |x - x'| %.1e  |Ax - A'x'| %.1e  %s\n", what, in, out,
                in == 0 && out < 1e-13 ? "equal" : "DIFFERENT"));
  failed |= !(in == 0 && out < 1e-13);
  Q(PoiseVecDestroy(&y));
  P(VecDestroy(&w));
}

/* One file behind the other. */
static void Append(const char *to, const char *from)
{
  char bytes[4096];
  size_t n;
  FILE *in = fopen(from, "rb"), *out = fopen(to, "ab");
  while (in && out && (n = fread(bytes, 1, sizeof bytes, in)) > 0) fwrite(bytes, 1, n, out);
  if (in) fclose(in);
  if (out) fclose(out);
}

/* A matrix of blocks, which then has its block size there too. */
static void ToBlocks(PoiseMat A, int b)
{
  Q(PoiseMatSetBlockSize(A, b));
  Q(PoiseMatSetType(A, "bcsr"));
}

static void PoiseToPetsc(PoiseContext ctx, const char *folder, const char *type, int blocks)
{
  char A_file[512], x_file[512];
  PoiseMat A = Make(ctx);
  PoiseVec x;
  PetscViewer viewer;
  PetscInt b;
  Mat B;
  Vec z;
  if (blocks) ToBlocks(A, BLOCK);
  snprintf(A_file, sizeof A_file, "%s/A.petsc", folder);
  snprintf(x_file, sizeof x_file, "%s/x.petsc", folder);
  Q(PoiseMatCreateVecs(A, &x, NULL));
  Fill(x);
  Q(PoiseMatSave(A, A_file));
  Q(PoiseVecSave(x, x_file));
  if (PoiseRank(ctx) == 0) Append(A_file, x_file);
  Q(PoiseBarrier(ctx));
  P(PetscViewerBinaryOpen(PETSC_COMM_WORLD, A_file, FILE_MODE_READ, &viewer));
  P(MatCreate(PETSC_COMM_WORLD, &B));
  P(MatSetType(B, type));
  P(MatLoad(B, viewer));
  P(MatCreateVecs(B, &z, NULL));
  P(VecLoad(z, viewer)); /* behind the matrix */
  P(PetscViewerDestroy(&viewer));
  P(MatGetBlockSize(B, &b));
  failed |= b != (blocks ? BLOCK : 1);
  snprintf(x_file, sizeof x_file, "Poise%s to PETSc, %s, block size %d", blocks ? ", bcsr," : "", type,
           (int)b);
  Compare(x_file, A, x, B, z);
  Q(PoiseVecDestroy(&x));
  Q(PoiseMatDestroy(&A));
  P(VecDestroy(&z));
  P(MatDestroy(&B));
}

static Mat MakePetsc(const char *type)
{
  Mat A, B;
  PetscInt begin, end;
  P(MatCreate(PETSC_COMM_WORLD, &A));
  P(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, M, N));
  P(MatSetType(A, MATAIJ));
  P(MatSetBlockSize(A, BLOCK));
  P(MatSetUp(A));
  P(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  P(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin; i < end; i++)
    for (PetscInt j = 0; j < N; j++)
      if (Stored((int)i, (int)j)) P(MatSetValue(A, i, j, Random((int)(i + j)), INSERT_VALUES));
  P(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  P(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  P(MatConvert(A, type, MAT_INITIAL_MATRIX, &B));
  P(MatDestroy(&A));
  return B;
}

static void PetscToPoise(PoiseContext ctx, const char *folder, const char *type, int native, int blocks)
{
  char file[512];
  PoiseMat A;
  PoiseVec x;
  PetscViewer viewer;
  PetscInt begin, end, n;
  Mat B = MakePetsc(type);
  Vec z;
  snprintf(file, sizeof file, "%s/B.petsc", folder);
  P(MatCreateVecs(B, &z, NULL));
  P(VecGetOwnershipRange(z, &begin, &end));
  for (PetscInt i = begin; i < end; i++) P(VecSetValue(z, i, Random((int)i), INSERT_VALUES));
  P(VecAssemblyBegin(z));
  P(VecAssemblyEnd(z));
  P(PetscViewerBinaryOpen(PETSC_COMM_WORLD, file, FILE_MODE_WRITE, &viewer));
  if (native) P(PetscViewerPushFormat(viewer, PETSC_VIEWER_NATIVE));
  P(MatView(B, viewer));
  P(VecView(z, viewer));
  P(PetscViewerDestroy(&viewer));
  Q(PoiseMatLoad(ctx, file, &A));
  P(VecGetLocalSize(z, &n));
  Q(PoiseVecLoad(ctx, n, POISE_DECIDE, file, &x)); /* behind the matrix */
  if (blocks) ToBlocks(A, PoiseMatBlockSize(A));
  failed |= blocks && PoiseMatBlockSize(A) != BLOCK;
  snprintf(file, sizeof file, "PETSc to Poise%s, %s%s", blocks ? ", bcsr" : "", type,
           native ? ", native" : "");
  Compare(file, A, x, B, z);
  Q(PoiseVecDestroy(&x));
  Q(PoiseMatDestroy(&A));
  P(VecDestroy(&z));
  P(MatDestroy(&B));
}

int main(int argc, char **argv)
{
  PoiseContext ctx;
  P(PetscInitialize(&argc, &argv, NULL, NULL));
  Q(PoiseInitialize(NULL, NULL, &(PoiseInit){.prefix = "poise_"}, &ctx));
  const char *folder = argc > 1 ? argv[1] : ".";
  PoiseToPetsc(ctx, folder, MATAIJ, 0);
  PoiseToPetsc(ctx, folder, MATDENSE, 0);
  PoiseToPetsc(ctx, folder, MATAIJ, 1);
  PoiseToPetsc(ctx, folder, MATBAIJ, 1);
  PetscToPoise(ctx, folder, MATAIJ, 0, 0);
  PetscToPoise(ctx, folder, MATBAIJ, 0, 0);
  PetscToPoise(ctx, folder, MATBAIJ, 0, 1);
  PetscToPoise(ctx, folder, MATDENSE, 0, 0);
  PetscToPoise(ctx, folder, MATDENSE, 1, 0);
  Q(PoiseFinalize(&ctx));
  P(PetscFinalize());
  return failed;
}
