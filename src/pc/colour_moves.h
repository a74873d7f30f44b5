/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Vectors at places. colours_kernels.h includes this text once for each type of values and vectors. REAL is
  the type, NAME(n) is n with its suffix, ITEM(n) the kernel's item, OVER(n) is NAME(n) where n is not
  overloaded. skip: as elsewhere
*/

/*
  Of b numbers a row, d in blocks of b, column-major (NULL: 1).
    colour_to_places  y = factor d x, from rows to places, and `to` the same (NULL: without); or y += that
    colour_to_rows    y = x, from places to rows, and in fp64 the dots of y
    colour_rows_times y = d x, from places to rows
*/
typedef struct NAME(ColourMoveArgs) {
  int64_t n, b; /* numbers of all rows; places without a row keep theirs */
  const int32_t *place;
  double factor;
  int adds;
  const REAL *d, *x;
  const double *skip;
  REAL *y, *to;
  Fuse fuse;
} NAME(ColourMoveArgs);

POISE_INLINE void ITEM(colour_to_places)(const NAME(ColourMoveArgs) * a, int64_t e)
{
  int64_t b = a->b, i = b == 1 ? e : e / b, r = b == 1 ? 0 : e % b;
  double s = a->d ? 0 : a->x[e];
  if (a->skip && *a->skip != 0) return;
  for (int64_t q = 0; a->d && q < b; q++) s += (double)a->d[(i * b + q) * b + r] * (double)a->x[i * b + q];
  s *= a->factor;
  int64_t at = a->place[i] * b + r;
  a->y[at] = (REAL)(a->adds ? a->y[at] + s : s);
  if (a->to) a->to[at] = (REAL)s;
}

POISE_INLINE REAL OVER(poiseColourAtPlace)(const NAME(ColourMoveArgs) * a, int64_t e)
{
  int64_t b = a->b;
  return b == 1 ? a->x[a->place[e]] : a->x[a->place[e / b] * b + e % b];
}

POISE_INLINE void ITEM(colour_rows_times)(const NAME(ColourMoveArgs) * a, int64_t e)
{
  int64_t b = a->b, i = b == 1 ? e : e / b, r = b == 1 ? 0 : e % b;
  double s = 0;
  if (a->skip && *a->skip != 0) return;
  for (int64_t q = 0; q < b; q++) s += (double)a->d[(i * b + q) * b + r] * (double)a->x[a->place[i] * b + q];
  a->y[e] = (REAL)s;
}

/* Between halves of sweeps: g = keep y + s - before, and `to` the same. Without s, before or `to` where these
   are NULL, and without y for keep = 0. `before` may be g, and `to` y. Traffic: each once */
typedef struct NAME(ColourTurnArgs) {
  int64_t n;
  double keep;
  const REAL *y, *s, *before;
  const double *skip;
  REAL *g, *to;
} NAME(ColourTurnArgs);

POISE_INLINE void ITEM(colour_turn)(const NAME(ColourTurnArgs) * a, int64_t e)
{
  if (a->skip && *a->skip != 0) return;
  double g = a->s ? a->s[e] : 0;
  if (a->before) g -= a->before[e];
  if (a->keep != 0) g += a->keep * a->y[e];
  a->g[e] = (REAL)g;
  if (a->to) a->to[e] = (REAL)g;
}
