/* SPDX-License-Identifier: BSD-3-Clause */
/* Sweeps over the triangles of the block that a rank owns, for ilu, icc and sor. */
#ifndef POISE_TRIANGLES_H
#define POISE_TRIANGLES_H

#include "pc.h"
#include "triangles_kernels.h"

typedef struct Triangular {
  Version seen;   /* P, when it was built */
  int64_t built;  /* counts how often */
  int directions; /* with levels: 2; 1: forward alone; 0: none */
  bool own, wide; /* own: begin, end and col are copies, which outlive P's pattern. Otherwise they
                             are P's, except begin and end of rows with ghosts. If each row ends where the
                             next begins, end is empty, and begin has one more entry */
  int b;          /* as in Triangles */
  int64_t n;
  Buffer begin, diag, end, col;
  Buffer start[2], first[2], last[2]; /* levels of the forward and backward sweep */
  Buffer work;                        /* if the device or a library needs it */
  int64_t count[2], groups, nz;       /* nz: entries of the block */
} Triangular;

/* Find the triangles, and the levels of so many directions, if the pattern is new. own: see above. guess:
   sweeps will start from a guess, so a row must not change before the rows that read its old value.
   POISE_ERR_NUMERIC names a row without a diagonal entry. Local. */
PoiseErr poiseTriangularSetup(PoisePC pc, Triangular *t, bool own, bool guess, int directions);
/* Other triangles in their place: of n rows with the offsets ptr, on the host, and columns that ascend, with
   a diagonal, which t takes from the caller. It is not for a pattern of P any more, until the caller sets
   `seen`. Local. */
PoiseErr poiseTriangularReplace(PoisePC pc, Triangular *t, int b, int64_t n, const int64_t *ptr, Buffer *col,
                                int directions);
/* The kernels' view of the triangles on one side. */
PoiseErr poiseTriangularView(PoisePC pc, Triangular *t, Side side, Triangles *view);
PoiseErr poiseTriangularLevels(Triangular *t, int backward, Levels *levels);
/* Has each entry (i, j) an entry (j, i)? */
PoiseErr poiseTriangularIsSymmetric(PoisePC pc, Triangular *t, bool *symmetric);
PoiseErr poiseTriangularWork(Triangular *t, double **work); /* a vector and one more double, or NULL */
/* work is not NULL after this, and has room for vectors with so many columns. */
PoiseErr poiseTriangularNeedWork(PoisePC pc, Triangular *t, int columns);
static inline int poiseTriangularSide(const Triangular *t) /* scalar rows of a row */
{
  return t->b ? t->b : 1;
}
/* Before sweeps with vectors of so many columns: PCType.ready_columns. Local. */
PoiseErr poiseTriangularReadyColumns(PoisePC pc, Triangular *t, int columns);
/* Launch a sweep. The caller has set all of a except t and levels. */
PoiseErr poiseTriangularSweep(PoisePC pc, Triangular *t, SweepArgs *a);
PoiseErr poiseTriangularPrint(PoisePC pc, const Triangular *t); /* collective */
/* bytes read by one sweep over both triangles, without vectors */
double poiseTriangularTraffic(const Triangular *t);
void poiseTriangularBytes(const Triangular *t, PoiseBytes *sum); /* sum += what it holds */
PoiseErr poiseTriangularPredict(PoisePC pc, bool own, int directions, const MatPlan *plan,
                                PoisePrediction *p);
void poiseTriangularDestroy(Triangular *t);

#endif
