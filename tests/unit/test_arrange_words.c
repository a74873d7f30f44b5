/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Words of calls, a solve behind each letter, to a solver whose matrices are rearranged. Another solver, whose
  matrices stay as they are, is told the same. Its solutions must be the same but for rounding. A few steps of
  richardson with jacobi depend on each value of A and of the matrix that M was made of, and on no order.

  One sequence of calls has every word of a length in it (de Bruijn's). Shorter words also begin with new
  solvers. POISE_TEST_WORDS=n sets the length; 6 takes some minutes on all configurations.
*/
#include <stdlib.h>

#include "problem.h"

enum { N = 12, PATTERNS = 3, LENGTH = 4, NEW_LENGTH = 3, MOST_LENGTH = 8 };

/* Operators (A, P = A), (A, P = B), (B, P = A); other values, another pattern; keep M, or no longer. */
static const char letters[] = "ABCvnr";
enum { LETTERS = sizeof letters - 1 };

typedef struct Told { /* a solver, its matrices and vectors */
  PoiseMat mat[2];    /* A and B */
  PoiseKSP ksp;
  PoiseVec b, x;
  bool reuses;
} Told;

typedef struct Words {
  PoiseContext ctx;
  Told moved, plain;
  int changed;         /* 0: v and n change A; 1: B */
  int values, pattern; /* of that one, which count its changes */
  bool failed;         /* once is enough */
  int length;          /* of the words of one sequence */
  int word[MOST_LENGTH + 1];
  char latest[2 * MOST_LENGTH + 1];
} Words;

/* ---- matrices -------------------------------------------------------------------------------- */

static bool Stored(int mat, int pattern, PoiseInt i, PoiseInt j)
{
  return i == j || TestRandom((uint64_t)(10 * mat + pattern), (uint64_t)(i * N + j)) > 0.5;
}

static double Value(int mat, int values, PoiseInt i, PoiseInt j)
{
  double v = TestRandom((uint64_t)(1000 + 100 * mat + values), (uint64_t)(i * N + j));
  return i == j ? 9 + 4 * mat + 3 * v : v;
}

/* The entries of this rank's rows. */
static PoiseInt List(PoiseContext ctx, int mat, int pattern, int values, PoiseInt *rows, PoiseInt *cols,
                     double *v)
{
  PoiseInt begin, n, count = 0;
  PoiseSplit(ctx, N, &begin, &n);
  for (PoiseInt i = begin; i < begin + n; i++)
    for (PoiseInt j = 0; j < N; j++) {
      if (!Stored(mat, pattern, i, j)) continue;
      rows[count] = i, cols[count] = j;
      v[count++] = Value(mat, values, i, j);
    }
  return count;
}

static void Fill(PoiseMat A, int mat, int pattern, int values, bool other_pattern)
{
  PoiseInt rows[N * N], cols[N * N];
  double v[N * N];
  PoiseInt count = List(PoiseMatContext(A), mat, pattern, values, rows, cols, v);
  if (other_pattern) CHECK_OK(PoiseMatSetPatternCOO(A, count, rows, cols));
  CHECK_OK(PoiseMatSetValuesCOO(A, v));
}

static bool MakeTold(PoiseContext ctx, bool moved, Told *s)
{
  PoisePC pc;
  *s = (Told){.reuses = false};
  for (int k = 0; k < 2; k++) {
    if (!CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, N, N, &s->mat[k]))) return false;
    Fill(s->mat[k], k, 0, 0, true);
    if (moved) CHECK_OK(PoiseMatSetPartition(s->mat[k], POISE_PARTITION_NONZEROS));
    if (moved) CHECK_OK(PoiseMatSetOrder(s->mat[k], POISE_ORDER_RCM));
  }
  return CHECK_OK(PoiseMatCreateVecs(s->mat[0], &s->x, &s->b)) && CHECK_OK(PoiseVecSetRandom(s->b, 3)) &&
         CHECK_OK(PoiseKSPCreate(ctx, &s->ksp)) && CHECK_OK(PoiseKSPSetType(s->ksp, "richardson")) &&
         CHECK_OK(PoiseKSPSetNormType(s->ksp, POISE_KSP_NORM_NONE)) &&
         CHECK_OK(PoiseKSPSetTolerances(s->ksp, -1, -1, -1, 3)) && CHECK_OK(PoiseKSPGetPC(s->ksp, &pc)) &&
         CHECK_OK(PoisePCSetType(pc, "jacobi")) && CHECK_OK(PoiseKSPSetOperators(s->ksp, s->mat[0], NULL));
}

static void FreeTold(Told *s)
{
  CHECK_OK(PoiseKSPDestroy(&s->ksp));
  CHECK_OK(PoiseVecDestroy(&s->b));
  CHECK_OK(PoiseVecDestroy(&s->x));
  for (int k = 0; k < 2; k++) CHECK_OK(PoiseMatDestroy(&s->mat[k]));
}

/* ---- letters --------------------------------------------------------------------------------- */

static void Do(const Words *w, Told *s, char letter)
{
  PoiseMat A = s->mat[0], B = s->mat[1];
  if (letter == 'A') CHECK_OK(PoiseKSPSetOperators(s->ksp, A, NULL));
  if (letter == 'B') CHECK_OK(PoiseKSPSetOperators(s->ksp, A, B));
  if (letter == 'C') CHECK_OK(PoiseKSPSetOperators(s->ksp, B, A));
  if (letter == 'v' || letter == 'n')
    Fill(s->mat[w->changed], w->changed, w->pattern % PATTERNS, w->values, letter == 'n');
  if (letter == 'r') s->reuses = !s->reuses;
  if (letter == 'r') CHECK_OK(PoiseKSPSetReusePreconditioner(s->ksp, s->reuses));
  CHECK_OK(PoiseKSPSolve(s->ksp, s->b, s->x));
}

static double Difference(const Words *w)
{
  double x[N], y[N], most = 0;
  CHECK_OK(SampleFromVec(w->moved.x, x));
  CHECK_OK(SampleFromVec(w->plain.x, y));
  for (int i = 0; i < N; i++) most = fmax(most, fabs(x[i] - y[i]));
  return most;
}

static void Letter(Words *w, int k)
{
  char letter = letters[k];
  if (w->failed) return;
  memmove(w->latest, w->latest + 1, sizeof w->latest - 2);
  w->latest[sizeof w->latest - 2] = letter;
  w->values += letter == 'v' || letter == 'n';
  w->pattern += letter == 'n';
  Do(w, &w->moved, letter);
  Do(w, &w->plain, letter);
  w->failed = !CHECK_NEAR(Difference(w), 0, 1e-12); /* x is of size 0.1, other values change its digits */
  if (w->failed && PoiseRank(w->ctx) == 0) fprintf(stderr, "the latest letters: %s\n", w->latest);
}

static bool Begin(PoiseContext ctx, int changed, Words *w)
{
  *w = (Words){.ctx = ctx, .changed = changed};
  memset(w->latest, ' ', sizeof w->latest - 1);
  return MakeTold(ctx, true, &w->moved) && MakeTold(ctx, false, &w->plain);
}

static void End(Words *w)
{
  FreeTold(&w->moved);
  FreeTold(&w->plain);
}

/* ---- words ----------------------------------------------------------------------------------- */

/* Lyndon words whose lengths divide w->length, in their order, are de Bruijn's sequence (Fredricksen, Kessler
   and Maiorana). word[1...at - 1] is made, and repeats after `period` letters. */
static void Sequence(Words *w, int at, int period)
{
  if (at > w->length) {
    for (int i = 1; w->length % period == 0 && i <= period; i++) Letter(w, w->word[i]);
    return;
  }
  w->word[at] = w->word[at - period];
  Sequence(w, at + 1, period);
  for (int k = w->word[at] + 1; k < LETTERS; k++) {
    w->word[at] = k;
    Sequence(w, at + 1, at);
  }
}

static void TestAllWords(PoiseContext ctx)
{
  const char *asked = getenv("POISE_TEST_WORDS");
  int length = asked ? atoi(asked) : LENGTH;
  for (int changed = 0; changed < 2; changed++) {
    Words w;
    if (!Begin(ctx, changed, &w)) return;
    w.length = length < 1 ? 1 : length > MOST_LENGTH ? MOST_LENGTH : length;
    Sequence(&w, 1, 1);
    for (int i = 1; i < w.length; i++) Letter(&w, 0); /* the sequence is a ring, and begins with these */
    End(&w);
  }
}

static void TestNewSolvers(PoiseContext ctx)
{
  int words = 1;
  for (int i = 0; i < NEW_LENGTH; i++) words *= LETTERS;
  for (int k = 0; k < 2 * words; k++) {
    Words w;
    if (!Begin(ctx, k / words, &w)) return;
    for (int i = 0, rest = k % words; i < NEW_LENGTH; i++, rest /= LETTERS) Letter(&w, rest % LETTERS);
    bool failed = w.failed;
    End(&w);
    if (failed) return;
  }
}

int main(int argc, char **argv)
{
  static const Test tests[] = {
      {"all_words", TestAllWords, 0}, {"new_solvers", TestNewSolvers, 0}, {NULL, NULL, 0}};
  return TestMain(argc, argv, "arrange_words", tests);
}
