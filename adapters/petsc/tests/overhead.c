/* SPDX-License-Identifier: BSD-3-Clause */
/*
  What does the plug-in cost beside a native call, and beside PETSc? One system is solved by KSPSolve of type
  poise, by PETSc's own method, and by PoiseKSPSolve on the same arrays. PETSc preconditions the first two by
  the same options. The native call is left out where Poise has no such preconditioner. All take turns in one
  process. Pairs of neighbours are compared by processor time, and medians are told, with the quartiles of the
  last ratio.

    overhead libpoise_petsc.so [points on a side] [turns] [changes of values: 0 or 1] [method] [pc] [matrix]
             [more options of PETSc]

  Prefixes: -a_ is of the plug-in, -b_ of PETSc. Matrices, all symmetric and positive definite:
    square   5 points of a square
    jumps    the same with a coefficient of each point between 1 and 1e3
    cube     7 points of a cube
    box      27 points of a cube
    blocks   27 points of a cube, 3 unknowns each, in blocks that are full

  Set OMP_NUM_THREADS=1, as PETSc has one thread; processor time is that of all threads.
*/
#include <petscksp.h>
#include <petsc/private/petscimpl.h>
#include <poise.h>
#include <time.h>

enum { MOST = 1000, WORDS = 64 };
enum { PLUGIN, PETSC, NATIVE, WHO };

static int Ascending(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The value below which is this part of them. */
static double Quantile(int n, const double *values, double part)
{
  double sorted[MOST], at = part * (n - 1);
  memcpy(sorted, values, (size_t)n * sizeof *values);
  qsort(sorted, (size_t)n, sizeof *sorted, Ascending);
  const int k = (int)at;
  return k + 1 < n ? sorted[k] + (at - k) * (sorted[k + 1] - sorted[k]) : sorted[k];
}

static double Median(int n, const double *values)
{
  return Quantile(n, values, 0.5);
}

static double Seconds(void)
{
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- matrices -------------------------------------------------------------------------------- */

typedef struct Grid {
  const char *name;
  PetscInt dim, unknowns, corners, jumps; /* corners: neighbours along diagonals too */
} Grid;

static const Grid grids[] = {{"square", 2, 1, 0, 0},
                             {"jumps", 2, 1, 0, 1},
                             {"cube", 3, 1, 0, 0},
                             {"box", 3, 1, 1, 0},
                             {"blocks", 3, 3, 1, 0}};

/* The coefficient of a point: each value in [1, 1000) is as likely as another of its logarithm. */
static PetscScalar Coefficient(const Grid *g, PetscInt point)
{
  const uint32_t mixed = (uint32_t)point * 2654435761u;
  return g->jumps ? pow(10, 3.0 * (double)(mixed >> 8) / (double)(1 << 24)) : 1;
}

/* Add the coupling of two points: -c for the unknowns themselves, a tenth of it between different ones, and
   the sum of sizes to the diagonal of `row`. */
static PetscErrorCode Couple(const Grid *g, PetscInt row, PetscInt other, Mat A)
{
  const PetscInt u = g->unknowns;
  const PetscScalar p = Coefficient(g, row), q = Coefficient(g, other), c = 2 * p * q / (p + q);
  PetscFunctionBegin;
  for (PetscInt i = 0; i < u; i++) {
    for (PetscInt j = 0; j < u; j++)
      PetscCall(MatSetValue(A, row * u + i, other * u + j, i == j ? -c : 0.1 * c, ADD_VALUES));
    PetscCall(MatSetValue(A, row * u + i, row * u + i, (1 + 0.1 * (u - 1)) * c, ADD_VALUES));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode MakeRow(const Grid *g, PetscInt n, PetscInt row, Mat A)
{
  const PetscInt x = row % n, y = row / n % n, z = row / n / n, u = g->unknowns;
  PetscFunctionBegin;
  for (PetscInt k = 0; k < 27; k++) {
    const PetscInt dx = k % 3 - 1, dy = k / 3 % 3 - 1, dz = k / 9 - 1, far = abs(dx) + abs(dy) + abs(dz);
    if (!far || (dz && g->dim < 3) || (far > 1 && !g->corners)) continue;
    if (x + dx < 0 || x + dx >= n || y + dy < 0 || y + dy >= n || z + dz < 0 || (dz && z + dz >= n)) continue;
    PetscCall(Couple(g, row, row + dx + n * (dy + n * dz), A));
  }
  for (PetscInt i = 0; i < u; i++)
    for (PetscInt j = 0; j < u; j++)
      PetscCall(
          MatSetValue(A, row * u + i, row * u + j, i == j ? 0.01 * Coefficient(g, row) : 0, ADD_VALUES));
  PetscFunctionReturn(0);
}

static PetscErrorCode MakeMat(const char *name, PetscInt n, Mat *A)
{
  const Grid *g = NULL;
  PetscFunctionBegin;
  for (size_t k = 0; k < sizeof grids / sizeof *grids; k++)
    if (!strcmp(name, grids[k].name)) g = &grids[k];
  PetscCheck(g, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "there is no matrix '%s'", name);
  const PetscInt points = g->dim == 3 ? n * n * n : n * n, row = g->corners ? 27 : 2 * g->dim + 1;
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, points * g->unknowns, points * g->unknowns, row * g->unknowns,
                            NULL, A));
  for (PetscInt i = 0; i < points; i++) PetscCall(MakeRow(g, n, i, *A));
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

/* ---- those that solve ------------------------------------------------------------------------ */

static PetscErrorCode MakeKSP(Mat A, const char *prefix, KSP *ksp)
{
  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_SELF, ksp));
  PetscCall(KSPSetOptionsPrefix(*ksp, prefix));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetTolerances(*ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(0);
}

typedef struct Native {
  PoiseContext ctx;
  PoiseMat A;
  PoiseKSP ksp;
  double *b, *x, *val;
  PoiseInt n;
} Native;

/* *made: is there such a method and preconditioner? */
static PoiseErr MakeNative(const PetscInt *ptr, const PetscInt *col, const char *method, const char *type,
                           Native *s, int *made)
{
  const PoiseInit init = {.serial = 1};
  const PoiseCSR csr = {.ptr32 = ptr, .col32 = col, .val = s->val};
  PoisePC pc;
  POISE_TRY(PoiseInitialize(NULL, NULL, &init, &s->ctx));
  POISE_TRY(PoiseMatCreateCSR(s->ctx, s->n, s->n, s->n, s->n, &csr, POISE_BORROW, &s->A));
  POISE_TRY(PoiseKSPCreate(s->ctx, &s->ksp));
  POISE_TRY(PoiseKSPSetOperators(s->ksp, s->A, NULL));
  POISE_TRY(PoiseKSPGetPC(s->ksp, &pc));
  *made = !PoiseKSPSetType(s->ksp, method) && !PoisePCSetType(pc, type);
  POISE_TRY(PoiseKSPSetTolerances(s->ksp, 1e-8, -1, -1, -1));
  return POISE_OK;
}

/* As a program does that has arrays: vectors are made of them for each solve. */
static PoiseErr SolveNative(const Native *s, int changes)
{
  PoiseVec b, x;
  if (changes) POISE_TRY(PoiseMatSetValuesCSR(s->A, s->val));
  POISE_TRY(PoiseVecCreateArray(s->ctx, s->n, s->n, s->b, POISE_BORROW, &b));
  POISE_TRY(PoiseVecCreateArray(s->ctx, s->n, s->n, s->x, POISE_BORROW, &x));
  POISE_TRY(PoiseKSPSolve(s->ksp, b, x));
  POISE_TRY(PoiseVecDestroy(&b));
  return PoiseVecDestroy(&x);
}

static PoiseErr DropNative(Native *s)
{
  POISE_TRY(PoiseKSPDestroy(&s->ksp));
  POISE_TRY(PoiseMatDestroy(&s->A));
  return PoiseFinalize(&s->ctx);
}

/* ---- output ---------------------------------------------------------------------------------- */

static void PrintLine(const char *who, PetscInt its, double seconds)
{
  printf("%-22s %10d %11.2f %9.1f\n", who, (int)its, 1e3 * seconds, 1e6 * seconds / (its ? its : 1));
}

static void Print(int turns, int native, double t[][MOST], const PetscInt *its)
{
  double over[MOST], ratio[MOST];
  printf("%-22s %10s %11s %9s\n", "who", "iterations", "ms (median)", "us / its");
  PrintLine("KSPSolve, poise", its[PLUGIN], Median(turns, t[PLUGIN]));
  if (native) PrintLine("PoiseKSPSolve", its[NATIVE], Median(turns, t[NATIVE]));
  PrintLine("KSPSolve, PETSc's", its[PETSC], Median(turns, t[PETSC]));
  for (int k = 0; k < turns; k++) {
    over[k] = 100 * (t[PLUGIN][k] / t[NATIVE][k] - 1);
    ratio[k] = t[PLUGIN][k] / t[PETSC][k];
  }
  if (native) printf("plug-in over native, median of pairs: %.2f %%\n", Median(turns, over));
  printf("plug-in over PETSc, median of pairs: %.3f (quartiles %.3f to %.3f)\n", Median(turns, ratio),
         Quantile(turns, ratio, 0.25), Quantile(turns, ratio, 0.75));
}

int main(int argc, char **argv)
{
  const PetscInt n = argc > 2 ? atoi(argv[2]) : 316;
  const int turns = argc > 3 ? atoi(argv[3]) : 41, changes = argc > 4 ? atoi(argv[4]) : 0;
  char *method = argc > 5 ? argv[5] : "cg", *pc = argc > 6 ? argv[6] : "jacobi",
       *matrix = argc > 7 ? argv[7] : "square";
  if (argc < 2 || turns < 1 || turns > MOST || argc > WORDS / 2) return 2;
  char *words[WORDS] = {argv[0], "-dll_append", argv[1], "-a_ksp_type", "poise", "-a_poise_ksp_type",
                        method,  "-a_pc_type",  pc,      "-b_ksp_type", method,  "-b_pc_type",
                        pc},
       **arguments = words;
  int count = 13, native = 0;
  for (int k = 8; k < argc; k++) words[count++] = argv[k];
  static double t[WHO][MOST];
  KSP ksp[2];
  Mat A;
  Vec b, x;
  Native s = {0};
  PetscCall(PetscInitialize(&count, &arguments, NULL, NULL));
  PetscCall(MakeMat(matrix, n, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1));
  for (int k = 0; k < 2; k++) PetscCall(MakeKSP(A, k == PETSC ? "b_" : "a_", &ksp[k]));
  const PetscInt *ptr, *col;
  PetscBool done;
  PetscInt rows, its[WHO] = {0};
  PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &rows, &ptr, &col, &done));
  PetscScalar *values;
  PetscCall(MatSeqAIJGetArray(A, &values));
  s.n = rows;
  s.val = values;
  PetscCall(VecGetArray(b, &s.b));
  PetscCall(PetscMalloc1(rows, &s.x));
  PetscCheck(!MakeNative(ptr, col, method, pc, &s, &native), PETSC_COMM_SELF, PETSC_ERR_LIB, "%s",
             PoiseErrorText());
  PetscCall(MatSeqAIJRestoreArray(A, &values));
  for (int turn = -2; turn < turns; turn++) {
    const int k = turn < 0 ? 0 : turn, count = native ? WHO : NATIVE;
    for (int j = 0; j < count; j++) {
      const int who = (j + k) % count;
      if (changes) PetscCall(PetscObjectStateIncrease((PetscObject)A));
      const double begin = Seconds();
      if (who == NATIVE)
        PetscCheck(!SolveNative(&s, changes), PETSC_COMM_SELF, PETSC_ERR_LIB, "%s", PoiseErrorText());
      else
        PetscCall(KSPSolve(ksp[who], b, x));
      t[who][k] = Seconds() - begin;
    }
  }
  for (int k = 0; k < 2; k++) PetscCall(KSPGetIterationNumber(ksp[k], &its[k]));
  its[NATIVE] = (PetscInt)PoiseKSPIterations(s.ksp);
  printf("%s with %s, matrix %s: %d unknowns, %d entries, turns %d, new values in each turn: %s\n", method,
         pc, matrix, (int)rows, (int)ptr[rows], turns, changes ? "yes" : "no");
  printf("bytes: matrix %.3g, vector %.3g\n", 12.0 * ptr[rows] + 4.0 * rows, 8.0 * rows);
  Print(turns, native, t, its);
  PetscCheck(!DropNative(&s), PETSC_COMM_SELF, PETSC_ERR_LIB, "%s", PoiseErrorText());
  PetscCall(VecRestoreArray(b, &s.b));
  PetscCall(PetscFree(s.x));
  for (int k = 0; k < 2; k++) PetscCall(KSPDestroy(&ksp[k]));
  PetscCall(MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &rows, &ptr, &col, &done));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return 0;
}
