/* SPDX-License-Identifier: BSD-3-Clause */
/* Small systems that are hard for solvers: each is a line of a table, and plain dense arrays on every
   rank. */
#ifndef POISE_TEST_SYSTEMS_H
#define POISE_TEST_SYSTEMS_H

#include "sample.h"

enum { MOST = 60 }; /* rows */

/* ---- matrices: entry (i, j) of n rows -------------------------------------------------------- */

typedef double EntryAt(int n, int i, int j);

static inline double Laplace(int n, int i, int j)
{
  (void)n;
  return i == j ? 2 : abs(i - j) == 1 ? -1 : 0;
}

static inline double Negative(int n, int i, int j)
{
  return -Laplace(n, i, j);
}

/* Eigenvalues from 4 to 8: no method has trouble. */
static inline double Easy(int n, int i, int j)
{
  return i == j ? 6 : Laplace(n, i, j);
}

static inline double EasyNegative(int n, int i, int j)
{
  return -Easy(n, i, j);
}

/* Constants are its null space. */
static inline double Neumann(int n, int i, int j)
{
  return i == j && (i == 0 || i == n - 1) ? 1 : Laplace(n, i, j);
}

static inline double Zero(int n, int i, int j)
{
  (void)n, (void)i, (void)j;
  return 0;
}

static inline double Identity(int n, int i, int j)
{
  (void)n;
  return i == j;
}

static inline double Nilpotent(int n, int i, int j)
{
  (void)n;
  return j == i + 1;
}

/* Cyclic: gmres finds nothing before step n, bicgstab breaks down at once. */
static inline double Shift(int n, int i, int j)
{
  return j == (i + 1) % n;
}

static inline double Skew(int n, int i, int j)
{
  (void)n;
  return j == i + 1 ? 1 : j == i - 1 ? -1 : 0;
}

/* diag(1, -1, 1, -1, ...) */
static inline double Signs(int n, int i, int j)
{
  (void)n;
  return i != j ? 0 : i % 2 ? -1 : 1;
}

/* diag(2, -1, 2, -1, ...): (p, A p) changes its sign in cg's second step */
static inline double TwoMinusOne(int n, int i, int j)
{
  (void)n;
  return i != j ? 0 : i % 2 ? -1 : 2;
}

/* diag(1, 2, ..., n) but for the last, which is negative */
static inline double LateMinus(int n, int i, int j)
{
  return i != j ? 0 : i == n - 1 ? -1 : i + 1;
}

/* [C B'; B D], two thirds and one third of the rows; C of diagonal 2 */
static inline double SaddleOf(int n, int i, int j, double d)
{
  int k = n - n / 3, low = i < j ? i : j, high = i < j ? j : i;
  if (i == j) return i < k ? 2 : d;
  if (high < k) return high - low == 1 ? -0.25 : 0;
  return low >= k ? 0 : (low - 2 * (high - k)) % 5 == 0 ? 1 : (low + high) % 7 == 0 ? -0.5 : 0;
}

static inline double SaddleTwo(int n, int i, int j)
{
  return SaddleOf(n, i, j, -2);
}

static inline double SaddleZero(int n, int i, int j)
{
  return SaddleOf(n, i, j, 0);
}

static inline double Symmetric(int n, int i, int j)
{
  int low = i < j ? i : j, high = i < j ? j : i;
  (void)n;
  return TestRandom(17, (uint64_t)(100 * low + high));
}

static inline double Random(int n, int i, int j)
{
  (void)n;
  return TestRandom(18, (uint64_t)(100 * i + j)) + (i == j ? 1.5 : 0);
}

static inline double Dominant(int n, int i, int j)
{
  return i == j ? n : Random(n, i, j);
}

static inline double Convection(int n, int i, int j)
{
  return Laplace(n, i, j) + (j == i + 1 ? 0.9 : j == i - 1 ? -0.9 : 0);
}

static inline double Hilbert(int n, int i, int j)
{
  (void)n;
  return 1.0 / (i + j + 1);
}

/* As reaction rates are: rows over 20 decades, some entries far above their diagonal. */
static inline double Graded(int n, int i, int j)
{
  double size = pow(10, 10 - 20.0 * i / n);
  if (i == j) return size;
  return abs(i - j) <= 2 || (i + 3 * j) % 7 == 0
             ? size * TestRandom(19, (uint64_t)(100 * i + j)) * ((i + j) % 4 ? 0.3 : 30)
             : 0;
}

static inline double Grcar(int n, int i, int j)
{
  (void)n;
  return j == i - 1 ? -1 : j >= i && j <= i + 3;
}

static inline double RankOne(int n, int i, int j)
{
  (void)n;
  return (i + 1) * (j % 3 + 1);
}

/* diag(1, 0, 1, 0, ...) */
static inline double Half(int n, int i, int j)
{
  (void)n;
  return i == j && i % 2 == 0;
}

static inline double NearlyHalf(int n, int i, int j)
{
  (void)n;
  return i != j ? 0 : i % 2 ? 1e-17 : 1;
}

static inline double Swap(int n, int i, int j)
{
  (void)n;
  return j == (i ^ 1);
}

/* Ones on the diagonal, a large entry beside each: far from normal. */
static inline double Lopsided(int n, int i, int j)
{
  (void)n;
  return i == j ? 1 : j == i + 1 ? 1000 : 0;
}

static inline double WithNaN(int n, int i, int j)
{
  return i == n / 2 && j == i ? NAN : Easy(n, i, j);
}

static inline double WithInf(int n, int i, int j)
{
  return i == n / 2 && j == i ? INFINITY : Easy(n, i, j);
}

/* ---- systems --------------------------------------------------------------------------------- */

/* IMAGE: A times ones */
typedef enum { ONES, FIRST, LAST_ONE, IMAGE, RANDOM, NOTHING, NAN_B, INF_B } RightSide;
/* EXACT: ones, for IMAGE */
typedef enum { NO_GUESS, EXACT, NEAR, FAR, HUGE_X, NAN_X } Guess;
typedef enum {
  PLAIN,
  ROWS,
  BOTH_SIDES
} Scaling; /* by 1e100 and 1e-100 in turns; BOTH_SIDES: a symmetric matrix stays such */
typedef enum { UNTOLD, OF_A, OF_BOTH } Nulls; /* constants are attached as null space of A; of A^T too */

enum {
  SPD = 1,
  NEGATIVE = 2, /* definite */
  EASY = 4,     /* within 60 iterations, rounding without influence on counts */
  INTEGER = 8   /* small whole numbers: sums of their products are exact */
};

typedef struct Line {
  const char *name;
  int n;
  EntryAt *entry;
  RightSide b;
  double scale_a, scale_b, atol;
  unsigned flags;
  Guess guess;
  Scaling scaling;
  Nulls nulls;
} Line;

static const Line lines[] = {
    {"one", 1, Identity, ONES, 5, 1, 1e-50, SPD | EASY | INTEGER, 0, 0, 0},
    {"easy", 24, Easy, ONES, 1, 1, 1e-50, SPD | EASY, 0, 0, 0},
    {"easy, random b", 20, Easy, RANDOM, 1, 1, 0, SPD | EASY, 0, 0, 0},
    {"easy, near guess", 12, Easy, IMAGE, 1, 1, 1e-50, SPD | EASY, NEAR, 0, 0},
    {"easy, exact guess", 12, Easy, IMAGE, 1, 1, 1e-50, SPD, EXACT, 0, 0},
    {"easy, exact guess, atol 0", 12, Easy, IMAGE, 1, 1, 0, SPD, EXACT, 0, 0},
    {"easy, far guess", 12, Easy, IMAGE, 1, 1, 1e-50, SPD, FAR, 0, 0},
    {"easy, huge guess", 12, Easy, IMAGE, 1, 1, 1e-50, SPD, HUGE_X, 0, 0},
    {"easy, NaN guess", 12, Easy, IMAGE, 1, 1, 1e-50, SPD, NAN_X, 0, 0},
    {"easy, b = 0", 12, Easy, NOTHING, 1, 1, 1e-50, SPD, 0, 0, 0},
    {"easy, b = 0, atol 0", 12, Easy, NOTHING, 1, 1, 0, SPD, 0, 0, 0},
    {"easy, b = 0, near guess", 12, Easy, NOTHING, 1, 1, 1e-50, SPD, NEAR, 0, 0},
    {"easy, b = 0, far guess", 12, Easy, NOTHING, 1, 1, 1e-50, SPD, FAR, 0, 0},
    {"easy, atol 1e-3", 12, Easy, RANDOM, 1, 1, 1e-3, SPD | EASY, 0, 0, 0},
    {"easy, atol 1e-320", 12, Easy, RANDOM, 1, 1, 1e-320, SPD | EASY, 0, 0, 0},
    {"easy, atol 1e300", 12, Easy, RANDOM, 1, 1, 1e300, SPD | EASY, 0, 0, 0},
    {"easy, NaN in b", 12, Easy, NAN_B, 1, 1, 1e-50, 0, 0, 0, 0},
    {"easy, Inf in b", 12, Easy, INF_B, 1, 1, 1e-50, 0, 0, 0, 0},
    {"NaN in A", 12, WithNaN, ONES, 1, 1, 1e-50, 0, 0, 0, 0},
    {"Inf in A", 12, WithInf, ONES, 1, 1, 1e-50, 0, 0, 0, 0},
    {"negative", 16, EasyNegative, ONES, 1, 1, 1e-50, NEGATIVE | EASY, 0, 0, 0},
    {"negative Laplace", 10, Negative, RANDOM, 1, 1, 1e-50, NEGATIVE | EASY, 0, 0, 0},
    {"Laplace", 32, Laplace, RANDOM, 1, 1, 1e-50, SPD, 0, 0, 0},
    {"Neumann, b in the range", 16, Neumann, IMAGE, 1, 1, 1e-50, INTEGER, 0, 0, 0},
    {"Neumann, b in the null space", 16, Neumann, ONES, 1, 1, 1e-50, INTEGER, 0, 0, 0},
    {"Neumann, inconsistent", 16, Neumann, RANDOM, 1, 1, 1e-50, 0, 0, 0, 0},
    {"Neumann of A, inconsistent", 16, Neumann, RANDOM, 1, 1, 1e-50, 0, 0, 0, OF_A},
    {"Neumann of A, b in the null space", 16, Neumann, ONES, 1, 1, 1e-50, 0, 0, 0, OF_A},
    {"Neumann of A, one of b", 16, Neumann, FIRST, 1, 1, 0, 0, 0, 0, OF_A},
    {"Neumann of both, inconsistent", 16, Neumann, RANDOM, 1, 1, 1e-50, 0, 0, 0, OF_BOTH},
    {"Neumann of both, near guess", 16, Neumann, RANDOM, 1, 1, 1e-50, 0, NEAR, 0, OF_BOTH},
    {"Neumann of both, b in the null space", 16, Neumann, ONES, 1, 1, 1e-50, 0, 0, 0, OF_BOTH},
    {"Neumann of both, the same, atol 0", 16, Neumann, ONES, 1, 1, 0, 0, 0, 0, OF_BOTH},
    {"Neumann of both, large", 40, Neumann, RANDOM, 1e6, 1e-3, 1e-50, 0, 0, 0, OF_BOTH},
    {"zero", 6, Zero, ONES, 1, 1, 1e-50, INTEGER, 0, 0, 0},
    {"zero, b = 0", 6, Zero, NOTHING, 1, 1, 1e-50, INTEGER, 0, 0, 0},
    {"zero, guess", 6, Zero, ONES, 1, 1, 1e-50, INTEGER, NEAR, 0, 0},
    {"nilpotent", 6, Nilpotent, ONES, 1, 1, 1e-50, INTEGER, 0, 0, 0},
    {"nilpotent, first", 6, Nilpotent, FIRST, 1, 1, 1e-50, INTEGER, 0, 0, 0},
    {"nilpotent, last", 6, Nilpotent, LAST_ONE, 1, 1, 1e-50, INTEGER, 0, 0, 0},
    {"shift", 8, Shift, FIRST, 1, 1, 1e-50, INTEGER, 0, 0, 0},
    {"shift, odd", 7, Shift, FIRST, 1, 1, 1e-50, INTEGER, 0, 0, 0},
    {"shift, long", 40, Shift, FIRST, 1, 1, 1e-50, INTEGER, 0, 0, 0},
    {"skew", 6, Skew, ONES, 1, 1, 1e-50, INTEGER, 0, 0, 0},
    {"skew, first", 4, Skew, FIRST, 1, 1, 1e-50, INTEGER, 0, 0, 0},
    {"skew, singular", 7, Skew, RANDOM, 1, 1, 1e-50, 0, 0, 0, 0},
    {"signs", 2, Signs, ONES, 1, 1, 1e-50, INTEGER | EASY, 0, 0, 0},
    {"signs, atol 0", 2, Signs, ONES, 1, 1, 0, INTEGER | EASY, 0, 0, 0},
    {"signs, 8", 8, Signs, ONES, 1, 1, 1e-50, INTEGER | EASY, 0, 0, 0},
    {"signs, random b", 8, Signs, RANDOM, 1, 1, 1e-50, EASY, 0, 0, 0},
    {"two, minus one", 2, TwoMinusOne, ONES, 1, 1, 1e-50, INTEGER | EASY, 0, 0, 0},
    {"two, minus one, 6", 6, TwoMinusOne, ONES, 1, 1, 1e-50, INTEGER | EASY, 0, 0, 0},
    {"late minus", 8, LateMinus, ONES, 1, 1, 1e-50, EASY, 0, 0, 0},
    {"saddle +-2", 12, SaddleTwo, ONES, 1, 1, 1e-50, EASY, 0, 0, 0},
    {"saddle +-2, random b", 18, SaddleTwo, RANDOM, 1, 1, 1e-50, EASY, 0, 0, 0},
    {"saddle 0", 12, SaddleZero, RANDOM, 1, 1, 1e-50, 0, 0, 0, 0},
    {"symmetric", 14, Symmetric, RANDOM, 1, 1, 1e-50, 0, 0, 0, 0},
    {"random", 14, Random, RANDOM, 1, 1, 1e-50, 0, 0, 0, 0},
    {"dominant", 14, Dominant, RANDOM, 1, 1, 1e-50, 0, 0, 0, 0},
    {"convection", 30, Convection, ONES, 1, 1, 1e-50, 0, 0, 0, 0},
    {"Hilbert", 12, Hilbert, ONES, 1, 1, 1e-50, 0, 0, 0, 0},
    {"Hilbert, b in the range", 12, Hilbert, IMAGE, 1, 1, 1e-50, 0, 0, 0, 0},
    {"Hilbert, random b", 12, Hilbert, RANDOM, 1, 1, 1e-50, 0, 0, 0, 0},
    {"graded", 20, Graded, ONES, 1, 1, 1e-50, 0, 0, 0, 0},
    {"graded, b in the range", 20, Graded, IMAGE, 1, 1, 1e-50, 0, 0, 0, 0},
    {"Grcar", 40, Grcar, ONES, 1, 1, 1e-50, 0, 0, 0, 0},
    {"rank one", 8, RankOne, IMAGE, 1, 1, 1e-50, INTEGER, 0, 0, 0},
    {"rank one, inconsistent", 8, RankOne, RANDOM, 1, 1, 1e-50, 0, 0, 0, 0},
    {"half", 8, Half, IMAGE, 1, 1, 1e-50, INTEGER, 0, 0, 0},
    {"half, inconsistent", 8, Half, ONES, 1, 1, 1e-50, INTEGER, 0, 0, 0},
    {"nearly half", 8, NearlyHalf, ONES, 1, 1, 1e-50, 0, 0, 0, 0},
    {"swap", 6, Swap, FIRST, 1, 1, 1e-50, INTEGER, 0, 0, 0},
    {"swap, random b", 6, Swap, RANDOM, 1, 1, 1e-50, 0, 0, 0, 0},
    {"lopsided", 16, Lopsided, ONES, 1, 1, 1e-50, 0, 0, 0, 0},
    {"60 entries of 1e-170", 60, Easy, ONES, 1, 1e-170, 0, SPD, 0, 0, 0},
    {"60 entries of 1e-170, A = I", 60, Identity, ONES, 1, 1e-170, 0, SPD, 0, 0, 0},
    {"60 entries of 1e-170, atol 1e-175", 60, Easy, RANDOM, 1, 1e-170, 1e-175, SPD, 0, 0, 0},
    {"60 entries of 1e-170, guess", 60, Easy, IMAGE, 1, 1e-170, 0, SPD, NEAR, 0, 0},
    {"signs of 1e-170", 8, Signs, ONES, 1, 1e-170, 0, 0, 0, 0, 0},
    {"b of 1e200", 20, Easy, RANDOM, 1, 1e200, 1e-50, SPD, 0, 0, 0},
    {"b of 1e-200", 20, Easy, RANDOM, 1, 1e-200, 0, SPD, 0, 0, 0},
    {"b of 1e-200, atol 1e-50", 20, Easy, RANDOM, 1, 1e-200, 1e-50, SPD, 0, 0, 0},
    {"b of 1e-310", 20, Easy, RANDOM, 1, 1e-310, 0, SPD, 0, 0, 0},
    {"b of 1e307", 20, Easy, RANDOM, 1, 1e307, 1e-50, SPD, 0, 0, 0},
    {"A of 1e200", 20, Easy, RANDOM, 1e200, 1, 0, SPD, 0, 0, 0},
    {"A of 1e-200", 20, Easy, RANDOM, 1e-200, 1, 1e-50, SPD, 0, 0, 0},
    {"A of 1e150", 20, Easy, RANDOM, 1e150, 1, 0, SPD, 0, 0, 0},
    {"A of 1e-150", 20, Easy, RANDOM, 1e-150, 1, 0, SPD, 0, 0, 0},
    {"both of 1e200", 20, Easy, RANDOM, 1e200, 1e200, 1e-50, SPD, 0, 0, 0},
    {"both of 1e-200", 20, Easy, RANDOM, 1e-200, 1e-200, 0, SPD, 0, 0, 0},
    {"A of 1e-200, b of 1e200", 20, Easy, RANDOM, 1e-200, 1e200, 1e-50, SPD, 0, 0, 0},
    {"A of 1e200, b of 1e-200", 20, Easy, RANDOM, 1e200, 1e-200, 0, SPD, 0, 0, 0},
    {"rows of 1e+-100", 12, Dominant, ONES, 1, 1, 0, 0, 0, ROWS, 0},
    {"rows of 1e+-100, b in the range", 12, Dominant, IMAGE, 1, 1, 0, 0, 0, ROWS, 0},
    {"rows and columns of 1e+-100", 12, Easy, ONES, 1, 1, 0, SPD, 0, BOTH_SIDES, 0},
    {"rows and columns of 1e+-100, b in the range", 12, Easy, IMAGE, 1, 1, 0, SPD, 0, BOTH_SIDES, 0},
    {"rows of 1e+-100, random", 13, Random, RANDOM, 1, 1, 0, 0, 0, ROWS, 0},
};

typedef struct System {
  const Line *line;
  int n;
  double a[MOST][MOST], b[MOST], x0[MOST]; /* x0: also where it is no guess, zeros */
} System;

static inline double ScaleOf(const Line *l, int i, int j)
{
  double s = l->scaling == PLAIN ? 1 : i % 2 ? 1e-100 : 1e100;
  if (l->scaling == BOTH_SIDES) s *= j % 2 ? 1e-100 : 1e100;
  return l->scale_a * s;
}

static inline double RightHand(const System *s, int i)
{
  long double sum = 0;
  switch (s->line->b) {
  case FIRST:
    return i == 0;
  case LAST_ONE:
    return i == s->n - 1;
  case RANDOM:
    return TestRandom(23, (uint64_t)i);
  case NOTHING:
    return 0;
  case NAN_B:
    return i == s->n / 3 ? NAN : 1;
  case INF_B:
    return i == s->n / 3 ? INFINITY : 1;
  case IMAGE:
    for (int j = 0; j < s->n; j++) sum += s->a[i][j];
    return (double)sum;
  case ONES:
    break;
  }
  return 1;
}

static inline double GuessAt(const System *s, int i)
{
  switch (s->line->guess) {
  case EXACT:
    return s->line->scale_b;
  case NEAR:
    return s->line->scale_b * (1 + 0.5 * TestRandom(29, (uint64_t)i));
  case FAR:
    return 1e12 * TestRandom(29, (uint64_t)i);
  case HUGE_X:
    return 1e160 * TestRandom(29, (uint64_t)i);
  case NAN_X:
    return i == s->n / 2 ? NAN : 1;
  case NO_GUESS:
    break;
  }
  return 0;
}

static inline void SystemFill(System *s, const Line *line)
{
  *s = (System){.line = line, .n = line->n};
  for (int i = 0; i < s->n; i++)
    for (int j = 0; j < s->n; j++) {
      double v = line->entry(s->n, i, j);
      s->a[i][j] = v == 0 ? 0 : v * ScaleOf(line, i, j);
    }
  for (int i = 0; i < s->n; i++) s->b[i] = line->scale_b * RightHand(s, i), s->x0[i] = GuessAt(s, i);
}

/* Unknowns per node: two where that divides the rows. */
static inline int SystemBlock(const System *s)
{
  return s->n % 2 ? 1 : 2;
}

/* This rank's rows: of [0, n) whole nodes. */
static inline void SystemRows(PoiseContext ctx, const System *s, PoiseInt *begin, PoiseInt *n)
{
  int b = SystemBlock(s);
  PoiseSplit(ctx, s->n / b, begin, n);
  *begin *= b, *n *= b;
}

/* Entries that are not 0, and the diagonal. */
static inline PoiseErr SystemMat(PoiseContext ctx, const System *s, const char *type, PoiseMat *A)
{
  PoiseInt begin, m;
  PoiseErr e = POISE_OK;
  SystemRows(ctx, s, &begin, &m);
  POISE_TRY(PoiseMatCreate(ctx, m, m, s->n, s->n, A));
  POISE_TRY(PoiseMatSetBlockSize(*A, SystemBlock(s)));
  POISE_TRY(PoiseMatSetType(*A, type));
  for (PoiseInt i = begin; !e && i < begin + m; i++)
    for (PoiseInt j = 0; !e && j < s->n; j++)
      if (s->a[i][j] != 0 || i == j) e = PoiseMatSetBlock(*A, 1, &i, 1, &j, &s->a[i][j]);
  POISE_TRY(PoiseAgree(ctx, e));
  POISE_TRY(PoiseMatAssemble(*A));
  if (s->line->nulls != UNTOLD) POISE_TRY(PoiseMatSetNullSpace(*A, 1, 0, NULL));
  return s->line->nulls == OF_BOTH ? PoiseMatSetTransposeNullSpace(*A, 1, 0, NULL) : POISE_OK;
}

#endif
