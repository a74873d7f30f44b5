/* SPDX-License-Identifier: BSD-3-Clause */
/* How large windows and pieces of rows are on a GPU. Plain C, of sizes alone, so that tests see it without one. */
#ifndef POISE_ROUNDS_H
#define POISE_ROUNDS_H

#include <math.h>

#include "../mat/csr_statistics_kernels.h"

/* Spread of columns that are neighbours at most; the others lie around a diagonal, up to the second. */
enum { CSRI_NEAR = 8, CSRI_SCATTERED = 40 };

/* Rows and entries of a window where columns are scattered, where they are not, and at most; the least of a window, and of rows that are cut. */
enum { CSRI_SMALL = 512, CSRI_USUAL = 1152, CSRI_MOST = CSRI_USUAL / 2 * 3, CSRI_LEAST = 128 };

/* Windows of so many rows and entries could have a warp each, and all keep memory busy; where there are hubs, whose warps are few and begin
   each window alone, they are longer. */
static inline int64_t poiseRoundsLimit(int64_t size, bool hubs)
{
  enum { LONG = 512, ENOUGH = 8192 };
  int64_t limit = CSRI_LEAST;
  while (limit < LONG && size / limit > ENOUGH) limit *= 2;
  while (hubs && limit < 4 * LONG && size / limit > 2 * ENOUGH) limit *= 2;
  return limit;
}

/* Rounds of so many warps that `warps` of them, of a usual size, take: whole ones. In a last round that is not full memory is idle (H200:
   1.04 rounds take 1.13 times as long as one of larger windows). */
static inline double poiseRoundsOf(double warps, double places)
{
  double rounds = round(warps / places);
  return rounds < 1 ? 1 : rounds;
}

/* Rows and entries of a window, where so many warps have a place at once. Large windows wait less often for their first entries; where
   columns are scattered all wait for these, and small ones share them out better. If many rows are cut, windows are no longer than these,
   which would be whole: their rounds are as they come. */
static inline int64_t poiseRoundsWindow(double places, bool scattered, const CsrStatistics *s)
{
  int64_t limit = poiseRoundsLimit(s->m + s->nz, false), least = limit - limit / 4;
  bool many = 4 * s->cut >= s->nz && s->cut;
  double size = (double)(s->m + s->nz), pieces = (double)s->pieces,
         usual = (double)(many        ? limit
                          : scattered ? (int64_t)CSRI_SMALL
                                      : (int64_t)CSRI_USUAL),
         most = many ? usual : 1.5 * usual, windows = poiseRoundsOf(size / usual + pieces, places) * places - pieces,
         window = windows * most > size ? ceil(size / windows) : most;
  return (int64_t)fmax(window, (double)(least < CSRI_LEAST ? CSRI_LEAST : least));
}

/* Entries of a piece beside blocks of even rows: more than twice the limit where there are so many long rows that a round of those were not
   enough. That the pieces of a row are at least one is not looked at. */
static inline int64_t poiseRoundsPiece(double places, const CsrStatistics *s, int64_t limit)
{
  enum { USUAL = 2048 };
  double cut = (double)s->cut;
  int64_t piece = (int64_t)ceil(cut / (poiseRoundsOf(cut / USUAL, places) * places));
  return piece < 2 * limit ? 2 * limit : piece;
}

/*
  Windows rather than blocks of even rows? Blocks ask for x all at the same time, and have more threads that wait for it; so not where columns
  are neighbours, nor where all blocks have a place at once, nor where rows are hardly longer than their offsets. Those of a large matrix come
  out of step. H200, 51 matrices (bench/results/h200_even.txt), time of windows over that of blocks: lengths that deviate by a fifth or more
  0.77 to 0.99, even ones 0.74 to 1.02; what is left to blocks: even rows of large matrices 0.98 to 1.13, short ones with columns anywhere 1.00
  to 1.07.
*/
static inline bool poiseRoundsRather(const CsrStatistics *s, bool at_once)
{
  enum { LARGE = 32000000, APART = 30, SHORT = 8 };
  double nz = (double)s->nz, mean = s->m ? nz / (double)s->m : 0;
  bool deviate = (double)s->squares - nz * mean >= 0.2 * 0.2 * nz * mean;
  if (s->spread < CSRI_NEAR || (s->cut == 0 && (at_once || mean < 2.75))) return false;
  return s->cut || deviate || ((s->nz < LARGE || s->spread >= APART) && (mean >= SHORT || s->spread < CSRI_SCATTERED));
}

#endif
