/* SPDX-License-Identifier: BSD-3-Clause */
/* Incomplete factors, for ilu, icc, ilut and ict; pc->data is an Incomplete. */
#ifndef POISE_FACTOR_H
#define POISE_FACTOR_H

#include "by_colour.h"

typedef struct Incomplete {
  int shift_type; /* index in FACTOR_SHIFT_TYPE's words */
  double shift_amount, zero_pivot;
  char kernel[POISE_OPTION_LENGTH]; /* name of the kernel that solves with the factors */
  PoiseInt sweeps, setup_sweeps;    /* Jacobi sweeps of a solve with each triangle; sweeps of a factorisation;
                                       0: exact */
  int triangles;                    /* TRIANGLES_... */
  int order;                        /* of rows: ORDER_... */
  bool by_colours;                  /* in use, of the latest set-up */
  Version too_many;                 /* P, when its colours were too many to be chosen */
  double drop_tol, fill, pivoting;  /* thresholds (thresholds.c); fill = 0: there are none, but levels */
  PoiseInt levels, filled;          /* of fill: wanted; those of `triangular` (-1: none) */
  Triangular triangular;
  int64_t own;       /* entries of P's block */
  double refused[2]; /* by thresholds: as FactorArgs.refused */
  Buffer places;     /* of columns, if they were exchanged: z_c = moved_places[c] */
  PoiseVec moved;
  int64_t built, checked; /* triangular.built when memory was allocated; and when `mirrored` was found */
  bool mirrored;          /* the pattern is symmetric */
  ByColour colours;       /* the factors, in that order; then lu has the pivots */
  Buffer lu, d, result;
  Buffer a;       /* P's values with zeros for fill, if there is any */
  Buffer other;   /* values of the sweep before, of an ilu by sweeps */
  Buffer work[2]; /* vectors, for Jacobi sweeps */
  Buffer inverse; /* for each entry of the triangles, of approximate inverses (isai.c) */
  bool negative;  /* M is minus the factorisation of -A (icc) */
  double shift;   /* that was needed */
  int tries;      /* shifts tried */
  double seconds; /* of the latest set-up */
  int library;    /* 0: the device's own sweeps solve; k: its factor_libraries[k - 1] does */
  LibraryPlan plan;
  int64_t planned; /* triangular.built when the plan was made; 0: no plan */
} Incomplete;

enum { TRIANGLES_SOLVED, TRIANGLES_ISAI }; /* in the order of FACTOR_TRIANGLES */

/* Products with each triangle in an application; 0: it is solved level after level. */
static inline PoiseInt poiseFactorProducts(const Incomplete *f)
{
  return f->triangles == TRIANGLES_ISAI ? 1 : f->sweeps;
}

/* Rows of the option tables of ilu and icc, which differ only in the default shift. */
#define FACTOR_SHIFT_TYPE(shift)                                                                            \
  {                                                                                                         \
    "pc_factor_shift_type", POISE_OPTION_CHOICE, offsetof(Incomplete, shift_type), shift, 0, 0,             \
        "none|nonzero|positive_definite|inblocks", "what to do about pivots that are zero, or not positive" \
  }
#define FACTOR_SHIFT_AMOUNT                                                                     \
  {                                                                                             \
    "pc_factor_shift_amount", POISE_OPTION_REAL, offsetof(Incomplete, shift_amount),            \
        "2.220446049250313e-14", 0, 1e300, NULL,                                                \
        "first shift of the diagonal (nonzero), or the amount added to a zero pivot (inblocks)" \
  }
#define FACTOR_ZERO_PIVOT                                                                                   \
  {                                                                                                         \
    "pc_factor_zeropivot", POISE_OPTION_REAL, offsetof(Incomplete, zero_pivot), "2.220446049250313e-14", 0, \
        1e300, NULL,                                                                                        \
        "pivots up to this count as zero (nonzero, positive_definite, ilut, ict: times the sum of the row)" \
  }
#define FACTOR_KERNEL                                                                                       \
  {                                                                                                         \
    "pc_factor_kernel", POISE_OPTION_STRING, offsetof(Incomplete, kernel), "own", 0, 0, NULL,               \
        "what solves with the factors: own kernels, or on cuda cusparse, which takes no blocks, no 64-bit " \
        "offsets and no columns of other ranks; the loop of a solver is then not replayed"                  \
  }

#define FACTOR_LEVELS                                                                                   \
  {                                                                                                     \
    "pc_factor_levels", POISE_OPTION_INT, offsetof(Incomplete, levels), "0", 0, 1000, NULL,             \
        "levels of fill: the factors have an entry (i, j) where a path of at most so many rows before " \
        "both leads from i to j in the graph of the matrix"                                             \
  }
#define FACTOR_SWEEPS                                                                                     \
  {                                                                                                       \
    "pc_factor_sweeps", POISE_OPTION_INT, offsetof(Incomplete, sweeps), "0", 0, 1000, NULL,               \
        "Jacobi sweeps that solve with each triangle, each a product; 0: exact solves, level after level" \
  }
#define FACTOR_TRIANGLES                                                                                 \
  {                                                                                                      \
    "pc_factor_triangles", POISE_OPTION_CHOICE, offsetof(Incomplete, triangles), "solved", 0, 0,         \
        "solved|isai",                                                                                   \
        "what is done with each triangle: it is solved, or multiplied by an approximate inverse of its " \
        "pattern, which takes no blocks"                                                                 \
  }
#define FACTOR_ORDER                                                                                       \
  {                                                                                                        \
    "pc_factor_order", POISE_OPTION_CHOICE, offsetof(Incomplete, order), "auto", 0, 0, POISE_COLOUR_WORDS, \
        "of rows as they are eliminated; colours: those without a common entry at once, without fill; "    \
        "auto: so of many rows on a GPU, where nothing else is asked for, else natural"                    \
  }
#define FACTOR_SETUP_SWEEPS                                                                             \
  {                                                                                                     \
    "pc_factor_setup_sweeps", POISE_OPTION_INT, offsetof(Incomplete, setup_sweeps), "0", 0, 1000, NULL, \
        "sweeps over all entries at once that approximate the factors; 0: exact factors, row after row" \
  }

#define FACTOR_DROP_TOL                                                                                \
  {                                                                                                    \
    "pc_factor_drop_tol", POISE_OPTION_REAL, offsetof(Incomplete, drop_tol), "1e-3", 0, 1, NULL,       \
        "entries of a row of the factors that are smaller, beside the norm of the row of the matrix, " \
        "are dropped"                                                                                  \
  }
#define FACTOR_FILL                                                                                      \
  {                                                                                                      \
    "pc_factor_fill", POISE_OPTION_REAL, offsetof(Incomplete, fill), "10", 0.01, 1e6, NULL,              \
        "the most entries of a row of the factors, as a multiple of those of the matrix's: each factor " \
        "has half of them at most, beside the diagonal"                                                  \
  }

#define FACTOR_OPTIONS(shift_type)                                                                    \
  FACTOR_ORDER, FACTOR_LEVELS, FACTOR_SHIFT_TYPE(shift_type), FACTOR_SHIFT_AMOUNT, FACTOR_ZERO_PIVOT, \
      FACTOR_KERNEL, FACTOR_SWEEPS, FACTOR_TRIANGLES, FACTOR_SETUP_SWEEPS

PoiseErr poiseFactorSetup(PoisePC pc, bool symmetric);
PoiseErr poiseFactorApply(PoisePC pc, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse);
bool poiseFactorTakesColumns(PoisePC pc); /* can that have wide vectors? */
PoiseErr poiseFactorReadyColumns(PoisePC pc, int columns);
void poiseFactorCost(PoisePC pc, double *flops, double *bytes);
double poiseFactorOnce(PoisePC pc); /* of exact solves */
PoiseErr poiseFactorView(PoisePC pc);
void poiseFactorBytes(PoisePC pc, PoiseBytes *sum);
const char *poiseFactorEager(PoisePC pc);
PoiseErr poiseFactorPredict(PoisePC pc, bool symmetric, const MatPlan *matrix, PoisePrediction *p);
void poiseFactorDestroy(PoisePC pc);

#endif
