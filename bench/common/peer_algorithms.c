/* SPDX-License-Identifier: BSD-3-Clause */
#include "peer_algorithms.h"

#include <math.h>

#define TRY POISE_TRY

enum { REPEATED = 8 }; /* iterations of CG and BiCGSTAB that are one piece */

Contender *Enter(List *list, const char *who, const char *how, const Lane *lane, void *arg, int op,
                 PoiseErr (*call)(void *, int, int64_t), PoiseErr (*result)(void *, int, double *))
{
  Contender *c = &list->c[list->n++];
  *c = (Contender){.lane = lane, .arg = arg, .op = op, .call = call, .result = result};
  snprintf(c->who, sizeof c->who, "%s", who);
  snprintf(c->how, sizeof c->how, "%s", how);
  return c;
}

void InverseDiagonal(const Rows *rows, double *d)
{
  for (int64_t i = 0; i < rows->n; i++) {
    d[i] = 1;
    for (int32_t k = rows->ptr[i]; k < rows->ptr[i + 1]; k++)
      if (rows->col[k] == rows->begin + i && rows->val[k] != 0) d[i] = 1 / rows->val[k];
  }
}

/* ---- conjugate gradients (Hestenes & Stiefel 1952) ------------------------------------------- */

static PoiseErr StartCG(Textbook *t)
{
  double **v = t->v;
  TRY(t->zero(t, v[X]));
  TRY(t->copy(t, v[B], v[R]));
  TRY(t->jacobi(t, v[R], v[Z]));
  TRY(t->copy(t, v[Z], v[P]));
  return t->dot(t, v[R], v[Z], t->scalar + RZ);
}

static PoiseErr StepCG(Textbook *t, int j)
{
  double **v = t->v, *s = t->scalar, *rz = s + RZ + j % 2, *next = s + RZ + (j + 1) % 2;
  TRY(t->mult(t, v[P], v[Q]));        /* q = A p */
  TRY(t->dot(t, v[P], v[Q], s + PQ)); /* alpha = (r, z) / (p, q) */
  TRY(t->ratio(t, rz, s + PQ, NULL, NULL, s + ALPHA, s + MINUS_ALPHA));
  TRY(t->axpy(t, s + ALPHA, v[P], v[X]));       /* x += alpha p */
  TRY(t->axpy(t, s + MINUS_ALPHA, v[Q], v[R])); /* r -= alpha q */
  TRY(t->jacobi(t, v[R], v[Z]));                /* z = D^-1 r */
  TRY(t->dot(t, v[Z], v[Z], s + NN));           /* the norm that would be checked */
  TRY(t->dot(t, v[R], v[Z], next));             /* beta = (r, z) new / old */
  TRY(t->ratio(t, next, rz, NULL, NULL, s + BETA, NULL));
  TRY(t->scale(t, s + BETA, v[P])); /* p = z + beta p */
  return t->axpy(t, s + ONE, v[Z], v[P]);
}

/* ---- BiCGSTAB (van der Vorst 1992), preconditioned from the left ----------------------------- */

static PoiseErr StartBiCGSTAB(Textbook *t)
{
  double **v = t->v;
  TRY(t->zero(t, v[X]));
  TRY(t->jacobi(t, v[B], v[R])); /* r = D^-1 b */
  TRY(t->copy(t, v[R], v[Z]));   /* r^ = r */
  TRY(t->copy(t, v[R], v[P]));
  return t->dot(t, v[Z], v[R], t->scalar + RZ);
}

static PoiseErr StepBiCGSTAB(Textbook *t, int j)
{
  double **v = t->v, *s = t->scalar, *rho = s + RZ + j % 2, *next = s + RZ + (j + 1) % 2;
  TRY(t->mult(t, v[P], v[U])); /* v = D^-1 A p */
  TRY(t->jacobi(t, v[U], v[Q]));
  TRY(t->dot(t, v[Z], v[Q], s + PQ)); /* alpha = rho / (r^, v) */
  TRY(t->ratio(t, rho, s + PQ, NULL, NULL, s + ALPHA, s + MINUS_ALPHA));
  TRY(t->axpy(t, s + MINUS_ALPHA, v[Q], v[R])); /* s = r - alpha v */
  TRY(t->mult(t, v[R], v[U]));                  /* t = D^-1 A s */
  TRY(t->jacobi(t, v[U], v[T]));
  TRY(t->dot(t, v[T], v[R], s + NN)); /* omega = (t, s) / (t, t) */
  TRY(t->dot(t, v[T], v[T], s + WORK));
  TRY(t->ratio(t, s + NN, s + WORK, NULL, NULL, s + OMEGA, s + MINUS_OMEGA));
  TRY(t->axpy(t, s + ALPHA, v[P], v[X])); /* x += alpha p + omega s */
  TRY(t->axpy(t, s + OMEGA, v[R], v[X]));
  TRY(t->axpy(t, s + MINUS_OMEGA, v[T], v[R])); /* r = s - omega t */
  TRY(t->dot(t, v[R], v[R], s + NN));           /* the norm that would be checked */
  TRY(t->dot(t, v[Z], v[R], next));             /* beta = (rho new / old) (alpha / omega) */
  TRY(t->ratio(t, next, rho, s + ALPHA, s + OMEGA, s + BETA, NULL));
  TRY(t->axpy(t, s + MINUS_OMEGA, v[Q], v[P])); /* p = r + beta (p - omega v) */
  TRY(t->scale(t, s + BETA, v[P]));
  return t->axpy(t, s + ONE, v[R], v[P]);
}

/* ---- GMRES (Saad & Schultz 1986), preconditioned from the left, classical Gram-Schmidt once
   or twice ------------------------------------------------------------------------------------- */

static double *Column(Textbook *t, int j)
{
  return t->basis + (int64_t)j * t->n;
}

/* v_0 = z / |z|, z = D^-1 (b - A x) */
static PoiseErr Residual(Textbook *t)
{
  double **v = t->v, *s = t->scalar;
  TRY(t->mult(t, v[X], v[Q]));
  TRY(t->copy(t, v[B], v[R]));
  TRY(t->axpy(t, s + MINUS_ONE, v[Q], v[R]));
  TRY(t->jacobi(t, v[R], Column(t, 0)));
  TRY(t->dot(t, Column(t, 0), Column(t, 0), s + RZ));
  TRY(t->rsqrt(t, s + RZ, s + WORK));
  return t->scale(t, s + WORK, Column(t, 0));
}

static PoiseErr StartGMRES(Textbook *t)
{
  TRY(t->zero(t, t->v[X]));
  return Residual(t);
}

static PoiseErr StepGMRES(Textbook *t, int j)
{
  double *s = t->scalar, *w = Column(t, j + 1);
  TRY(t->mult(t, Column(t, j), t->v[Q])); /* w = D^-1 A v_j */
  TRY(t->jacobi(t, t->v[Q], w));
  for (int pass = 0; pass < t->passes; pass++) {
    double *h = t->small + pass * SMALL_PASS + j * SMALL_COLUMN;
    TRY(t->project(t, j + 1, w, h));                /* h = V^T w */
    TRY(t->combine(t, j + 1, s + MINUS_ONE, h, w)); /* w -= V h */
  }
  TRY(t->dot(t, w, w, s + LENGTHS + j)); /* v_j+1 = w / |w| */
  TRY(t->rsqrt(t, s + LENGTHS + j, s + WORK));
  return t->scale(t, s + WORK, w);
}

/* Coefficients y of the least |beta e_1 - H y| by Givens' rotations; H has k columns and k + 1 rows. */
static void LeastSquares(int k, double beta, double H[RESTART][SMALL_COLUMN], double *y)
{
  double c[RESTART], s[RESTART], g[SMALL_COLUMN] = {beta};
  for (int j = 0; j < k; j++) {
    for (int i = 0; i < j; i++) {
      double a = H[j][i], b = H[j][i + 1];
      H[j][i] = c[i] * a + s[i] * b, H[j][i + 1] = c[i] * b - s[i] * a;
    }
    double length = hypot(H[j][j], H[j][j + 1]);
    c[j] = H[j][j] / length, s[j] = H[j][j + 1] / length;
    H[j][j] = length;
    g[j + 1] = -s[j] * g[j], g[j] *= c[j];
  }
  for (int i = k - 1; i >= 0; i--) {
    y[i] = g[i];
    for (int j = i + 1; j < k; j++) y[i] -= H[j][i] * y[j];
    y[i] /= H[i][i];
  }
}

/* x += V y, and the residual that the next cycle starts from. */
static PoiseErr EndGMRES(Textbook *t, int k)
{
  double H[RESTART][SMALL_COLUMN], small[2 * SMALL_PASS], s[SCALARS], y[RESTART],
      *coefficient = t->small + 2 * SMALL_PASS;
  TRY(t->fetch(t, t->small, 2 * SMALL_PASS, small));
  TRY(t->fetch(t, t->scalar, SCALARS, s));
  for (int j = 0; j < k; j++) {
    for (int i = 0; i <= j; i++) {
      H[j][i] = 0;
      for (int pass = 0; pass < t->passes; pass++) H[j][i] += small[pass * SMALL_PASS + j * SMALL_COLUMN + i];
    }
    H[j][j + 1] = sqrt(s[LENGTHS + j]);
  }
  LeastSquares(k, sqrt(s[RZ]), H, y);
  TRY(t->store(t, y, k, coefficient));
  TRY(t->combine(t, k, t->scalar + ONE, coefficient, t->v[X]));
  return Residual(t);
}

/* ---- all of them ----------------------------------------------------------------------------- */

typedef struct Method {
  int cycle;
  int watched, norm; /* whose norm decides, and the scalar of its square; VECTORS: the start has set that */
  PoiseErr (*start)(Textbook *t);
  PoiseErr (*step)(Textbook *t, int j);
  PoiseErr (*end)(Textbook *t, int steps); /* of a cycle; NULL: nothing to do */
} Method;

static const Method methods[] = {
    [OP_CG] = {REPEATED, Z, NN, StartCG, StepCG, NULL},
    [OP_BICGSTAB] = {REPEATED, R, NN, StartBiCGSTAB, StepBiCGSTAB, NULL},
    [OP_GMRES] = {RESTART, VECTORS, RZ, StartGMRES, StepGMRES, EndGMRES},
};

int TextbookCycle(int op)
{
  return methods[op].cycle;
}

PoiseErr TextbookSteps(Textbook *t, int op, int steps)
{
  for (int j = 0; j < steps; j++) TRY(methods[op].step(t, j));
  return POISE_OK;
}

static PoiseErr Cycle(Textbook *t, int op, int steps)
{
  const Method *m = &methods[op];
  if (t->replay && steps == m->cycle)
    TRY(t->replay(t, op));
  else
    TRY(TextbookSteps(t, op, steps));
  return m->end ? m->end(t, steps) : POISE_OK;
}

static PoiseErr Solve(Textbook *t, int op, int64_t count)
{
  int cycle = methods[op].cycle;
  TRY(methods[op].start(t));
  for (; count > 0; count -= cycle) TRY(Cycle(t, op, count < cycle ? (int)count : cycle));
  return POISE_OK;
}

PoiseErr TextbookSolve(Textbook *t, int op, double rtol, int64_t most, int64_t *done)
{
  const Method *m = &methods[op];
  double first, square, *s = t->scalar + m->norm;
  TRY(m->start(t));
  if (m->watched < VECTORS) TRY(t->dot(t, t->v[m->watched], t->v[m->watched], s));
  TRY(t->fetch(t, s, 1, &first));
  *done = 0;
  for (square = first; square > rtol * rtol * first && *done < most; *done += m->cycle) {
    TRY(Cycle(t, op, m->cycle));
    TRY(t->fetch(t, s, 1, &square));
  }
  return POISE_OK;
}

static PoiseErr Once(Textbook *t, int op)
{
  double **v = t->v;
  switch (op) {
  case OP_DOT:
    return t->dot(t, v[P], v[Q], t->scalar + PQ);
  case OP_AXPY:
    return t->axpy(t, t->scalar + ONE, v[P], v[Q]);
  case OP_NORM:
    return t->norm(t, v[P], t->scalar + NN);
  case OP_MULT:
    return t->mult(t, v[P], v[Q]);
  default:
    return t->jacobi(t, v[P], v[Q]);
  }
}

static PoiseErr Call(void *arg, int op, int64_t count)
{
  if (op == OP_CG || op == OP_BICGSTAB || op == OP_GMRES) return Solve(arg, op, count);
  for (int64_t k = 0; k < count; k++) TRY(Once(arg, op));
  return POISE_OK;
}

static PoiseErr Result(void *arg, int op, double *y)
{
  Textbook *t = arg;
  if (op == OP_DOT || op == OP_NORM) return t->fetch(t, t->scalar + (op == OP_DOT ? PQ : NN), 1, y);
  return t->fetch(t, t->v[op == OP_MULT || op == OP_JACOBI ? Q : X], t->n, y);
}

Contender *EnterTextbook(List *list, const char *who, const char *how, const Lane *lane, Textbook *t, int op)
{
  Contender *c = Enter(list, who, how, lane, t, op, Call, op == OP_AXPY ? NULL : Result);
  c->solves = op == OP_CG || op == OP_BICGSTAB || op == OP_GMRES;
  return c;
}
