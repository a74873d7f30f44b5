/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <math.h>
#include <stdlib.h>

enum { EARLY = 6, REPLAYS = 32 /* a cycle of each method and more: others replay it as a graph */ };

/* The largest |y - A x| over |A| |x| of a row. */
static double ProductError(const Rows *A, const double *x, const double *y)
{
  double worst = 0;
#pragma omp parallel for schedule(static) reduction(max : worst)
  for (int64_t i = 0; i < A->n; i++) {
    double sum = 0, size = 0;
    for (int32_t k = A->ptr[i]; k < A->ptr[i + 1]; k++) {
      double term = A->val[k] * x[A->col[k]];
      sum += term, size += fabs(term);
    }
    double error = fabs(y[i] - sum) / (size > 0 ? size : 1);
    if (error > worst || error != error) worst = error != error ? INFINITY : error;
  }
  return worst;
}

double TrueResidual(const Rows *A, const double *b, const double *x)
{
  double rr = 0, bb = 0;
#pragma omp parallel for schedule(static) reduction(+ : rr, bb)
  for (int64_t i = 0; i < A->n; i++) {
    double r = b[i];
    for (int32_t k = A->ptr[i]; k < A->ptr[i + 1]; k++) r -= A->val[k] * x[A->col[k]];
    rr += r * r, bb += b[i] * b[i];
  }
  return sqrt(rr / bb);
}

static double JacobiError(const Rows *A, const double *x, const double *y)
{
  double worst = 0;
  for (int64_t i = 0; i < A->n; i++) {
    double diagonal = 0;
    for (int32_t k = A->ptr[i]; k < A->ptr[i + 1]; k++)
      if (A->col[k] == i) diagonal = A->val[k];
    double error = fabs(diagonal * y[i] - x[i]);
    if (!(error <= worst)) worst = error != error ? INFINITY : error;
  }
  return worst;
}

static double NormError(const double *x, int64_t n, double norm)
{
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += x[i] * x[i];
  return fabs(norm / sqrt(sum) - 1);
}

static double Error(const Task *task, const double *y)
{
  switch (task->op) {
  case OP_DOT:
    return NormError(task->x, task->n, sqrt(y[0]));
  case OP_NORM:
    return NormError(task->x, task->n, y[0]);
  case OP_MULT:
    return ProductError(task->rows, task->x, y);
  case OP_JACOBI:
    return JacobiError(task->rows, task->x, y);
  default:
    return TrueResidual(task->rows, task->x, y);
  }
}

/* Contenders may share their vectors: what is looked at is computed once more. */
static PoiseErr Look(const Task *task, Contender *c, int64_t count, double *y, double *error)
{
  POISE_TRY(c->call(c->arg, c->op, count));
  POISE_TRY(c->result(c->arg, c->op, y));
  *error = Error(task, y);
  return POISE_OK;
}

PoiseErr Check(const Task *task, Contender *c, double *error, double *early)
{
  bool solve = task->op >= OP_CG;
  *error = *early = NAN;
  if (!c->result) return POISE_OK;
  double *y = malloc((size_t)(task->n + 1) * sizeof *y);
  if (!y) POISE_FAIL(POISE_ERR_MEMORY, "a result of %lld entries", (long long)task->n);
  bool brief = solve && task->sustained;
  PoiseErr e = Look(task, c, brief ? REPLAYS : solve ? c->units / 2 * 3 : 1, y, error);
  *early = *error;
  if (!e && solve && !brief) e = Look(task, c, EARLY, y, early);
  free(y);
  return e;
}

bool Wrong(const Task *task, double early, double least)
{
  return task->op < OP_CG ? !(early <= 1e-11) : !(early <= 2 * least + 1e-9);
}
