/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Methods as textbooks have them, one call per operation, over whatever does these calls: loops in C, or
  cuBLAS and cuSPARSE with their scalars on the host or on the GPU. The text is the same, so are the numbers.
  No convergence is looked at but by TextbookSolve.
*/
#ifndef BENCH_PEER_ALGORITHMS_H
#define BENCH_PEER_ALGORITHMS_H

#include "peer.h"

enum {
  ZERO,
  ONE,
  MINUS_ONE,
  RZ,
  RZ_ODD,
  PQ,
  ALPHA,
  MINUS_ALPHA,
  BETA,
  OMEGA,
  MINUS_OMEGA,
  NN,
  WORK,
  LENGTHS,
  SCALARS = LENGTHS + RESTART
};
enum { X, B, R, Z, P, Q, T, U, VECTORS };

/* The small dense array of GMRES: coefficients of two passes, and those of the correction. */
enum { SMALL_COLUMN = RESTART + 1, SMALL_PASS = RESTART * SMALL_COLUMN, SMALL = 2 * SMALL_PASS + RESTART };

/*
  All arrays live where the functions work: vectors v and basis (RESTART + 1 columns), small, and scalar, of
  which the first three hold their values already. Functions enqueue; those that write scalars have done it
  when another one is called.
*/
typedef struct Textbook Textbook;
struct Textbook {
  int64_t n;
  int passes; /* of Gram-Schmidt */
  double *v[VECTORS], *basis, *small, *scalar;
  void *own;                                                                 /* the peer's */
  PoiseErr (*mult)(Textbook *, const double *x, double *y);                  /* y = A x */
  PoiseErr (*jacobi)(Textbook *, const double *x, double *y);                /* y = D^-1 x */
  PoiseErr (*dot)(Textbook *, const double *x, const double *y, double *s);  /* s = (x, y) */
  PoiseErr (*norm)(Textbook *, const double *x, double *s);                  /* s = |x| */
  PoiseErr (*axpy)(Textbook *, const double *s, const double *x, double *y); /* y += s x */
  PoiseErr (*scale)(Textbook *, const double *s, double *x);                 /* x *= s */
  PoiseErr (*copy)(Textbook *, const double *x, double *y);                  /* y = x */
  PoiseErr (*zero)(Textbook *, double *x);                                   /* x = 0 */
  /* h_j = (v_j, w), j < k */
  PoiseErr (*project)(Textbook *, int k, const double *w, double *h);
  /* w += sign sum_j h_j v_j */
  PoiseErr (*combine)(Textbook *, int k, const double *sign, const double *h, double *w);
  /* s = (a / b) (c / d), minus = -s; c with d and minus may be NULL */
  PoiseErr (*ratio)(Textbook *, const double *a, const double *b, const double *c, const double *d, double *s,
                    double *minus);
  PoiseErr (*rsqrt)(Textbook *, const double *a, double *s);                    /* s = 1 / sqrt(a) */
  PoiseErr (*fetch)(Textbook *, const double *from, int64_t count, double *to); /* to the host, waited for */
  /* from the host, waited for */
  PoiseErr (*store)(Textbook *, const double *from, int64_t count, double *to);
  /* a whole cycle at once; NULL: no */
  PoiseErr (*replay)(Textbook *, int op);
};

/* A new last contender. JACOBI and MULT take v[P] to v[Q], operations on vectors have the same two, solves
   take v[B] to v[X]. */
Contender *EnterTextbook(List *list, const char *who, const char *how, const Lane *lane, Textbook *t, int op);
/* A solve as Peer has it. *done: iterations. */
PoiseErr TextbookSolve(Textbook *t, int op, double rtol, int64_t most, int64_t *done);
/* The iterations after which the calls of a solve repeat, and those calls. */
int TextbookCycle(int op);
PoiseErr TextbookSteps(Textbook *t, int op, int steps);
/* 1 / a_ii, 1 where that is no number. */
void InverseDiagonal(const Rows *rows, double *d);

#endif
