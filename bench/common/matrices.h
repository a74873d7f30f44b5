/* SPDX-License-Identifier: BSD-3-Clause */
/*
  A set of matrices with rows of many distributions of lengths, the same in every run, each made from a line
  of text (matrices.def):

    webbase-1M  rows 1000005 nonzeros 3105536 power 1.4 4700 half 1000

  a name, how many rows there are and, where it is known, exactly how many nonzeros; how long rows are; and
  which columns they have.

    constant k, uniform a b            all k; a to b
    loguniform a b                     a to b, the logarithm uniform
    geometric m                        1 and more, mean m
    normal m s a b, lognormal m s a b  mean m, deviation s, cut off at a and b
    power a m                          floor(u^(-1/a)), u uniform in (0, 1]: at most m
    sorted a m                         the same, longest first
    law r a m                          k as often as k^-r, from a to m (real numbers, rounded up or down)
    two a b p                          a; with probability p: b
    full k n                           k; n of them full
    first p q k                        mean k; a share p of the nonzeros in the first share q of the rows
    empty p k, gap p k                 k; a share p empty, anywhere, or all of them first
    blocks a b                         square blocks on the diagonal, of a to b rows (no columns need be said)

    points k r                         points, one anywhere in each of k x k x k cells: those in the cells
                                       around within r (no columns need be said)

    near w                             around the diagonal, within w if the row is not longer than that
    half w                             half near, half anywhere
    any                                anywhere
    runs r                             after one of these: columns come r and r side by side

  or one of the problems of problems.h: mesh 5|7|27|81 bytes (81: elasticity), arrow bytes, tail bytes; rmat
  levels draws and scrambled levels draws: a recursive matrix of 2^levels rows.
*/
#ifndef BENCH_MATRICES_H
#define BENCH_MATRICES_H

#include "problems.h"

enum { MATRIX_NAME = 32 };

extern const char *const matrix_lines[]; /* ends with NULL */
/* Stand-ins for the matrices of segSpMV's Table I: the rows and nonzeros that its Table II has, which for the
   seven symmetric ones of FEM and proteins are one triangle's; deviations and longest rows as usually
   reported (of triangles: about half). Ends with NULL. */
extern const char *const table1_lines[];

/* One rank. shrink: rows and nonzeros are divided by it, in most cases. A line that is not understood is
   POISE_ERR_ARG naming it. */
PoiseErr CreateFromLine(PoiseContext ctx, const char *line, double shrink, char name[MATRIX_NAME], Rows *r);

typedef struct RowStatistics {            /* of the lengths of rows */
  double mean, longest, deviation, empty; /* deviation: over the mean; empty: share of the rows */
} RowStatistics;

RowStatistics StatisticsOf(const Rows *r);

#endif
