/* SPDX-License-Identifier: BSD-3-Clause */
/*
  What a cycle of amg is made of, beside products. amg_kernels.h includes this text once for each type of
  values and vectors. REAL is the type, NAME(n) is n with its suffix, OVER(n) too where n is not overloaded.
*/

/*
  A step of a smoother, in one pass. t = D^-1 r, D^-1 in blocks of b rows, column-major; n is a multiple of b.
  inverse NULL: t = r, and b is 1.
    d = c2 t + c1 was    c1 = 0: `was` is not read; d NULL: not written. They may be one array
    x = x + add + beta d fresh: without x; add NULL: without it
    to = from            to NULL: neither
  Then the dots of x. x, d and to are other arrays than r.

  A cycle in fp32 between vectors in fp64: rhs is read, times the power of 2 by which *range, its largest
  entry, becomes 1 to 2, where r is NULL, and where `from` is. Where there is a z, it is written and not x,
  divided by that power and times `out`, and the dots are those of z.

  columns > 1: vectors are wide, and *range is that of the first column, with those of the others behind it.
  D^-1 is the same for all. Number e of a vector is then of row e / columns.
*/
typedef struct NAME(AmgSmoothArgs) {
  int64_t n;
  int b, fresh, columns;
  double c1, c2, beta, out;
  const REAL *inverse, *r, *was, *add, *from;
  const double *rhs, *range, *skip;
  REAL *d, *x, *to;
  double *z;
  Fuse fuse;
} NAME(AmgSmoothArgs);

/* y = scale A x, A dense, n x n, row-major, in fp64; of wide vectors where columns > 1 */
typedef struct NAME(AmgDenseArgs) {
  int64_t n;
  int columns;
  double scale;
  const double *a, *skip;
  const REAL *x;
  REAL *y;
} NAME(AmgDenseArgs);

/* Number e of d in a step with blocks of b rows and k columns; in: the factor of rhs. It is of row i, in the
   block that begins with row `first`. */
POISE_INLINE double OVER(poiseAmgStepOf)(const NAME(AmgSmoothArgs) * a, int64_t b, int64_t k, double in,
                                         int64_t e, int64_t i, int64_t first)
{
  int64_t at = e + (first - i) * k;
  const REAL *inverse = a->inverse ? a->inverse + first * b + (i - first) : NULL;
  double t = 0;
  for (int64_t j = 0; j < b; j++)
    t += (inverse ? (double)inverse[j * b] : 1) * (a->r ? (double)a->r[at + j * k] : in * a->rhs[at + j * k]);
  return a->c1 != 0 ? a->c2 * t + a->c1 * a->was[e] : a->c2 * t;
}

POISE_INLINE double OVER(poiseAmgStep)(const NAME(AmgSmoothArgs) * a, int64_t b, int64_t k, double in,
                                       int64_t e)
{
  int64_t i = k > 1 ? e / k : e;
  return OVER(poiseAmgStepOf)(a, b, k, in, e, i, i / b * b);
}

/* Number i of x, from that of d. */
POISE_INLINE double OVER(poiseAmgMove)(const NAME(AmgSmoothArgs) * a, int64_t i, double d)
{
  double x = a->beta * d;
  if (a->add) x += a->add[i];
  return a->fresh ? x : x + a->x[i];
}

/* Number i of to. */
POISE_INLINE REAL OVER(poiseAmgCopy)(const NAME(AmgSmoothArgs) * a, double in, int64_t i)
{
  return !a->to ? 0 : a->from ? a->from[i] : (REAL)(in * a->rhs[i]);
}

/* Stores number i. Returns it as the dots take it. */
POISE_INLINE double OVER(poiseAmgStore)(const NAME(AmgSmoothArgs) * a, double in, int64_t i, REAL d, double x,
                                        REAL to)
{
  if (a->d) a->d[i] = d;
  if (a->to) a->to[i] = to;
  if (!a->z) {
    a->x[i] = (REAL)x;
    return x;
  }
  a->z[i] = x *= a->out / in;
  return x;
}
