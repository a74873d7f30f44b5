/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrix Market files: numbers, text to entries, lines to text. What matrices and vectors share. */
#ifndef POISE_MM_H
#define POISE_MM_H

#include "vec.h"

/* ---- numbers (mm_number.c) ------------------------------------------------------------------------------------------ */

/* *v = the double nearest to the decimal number at p ("-1.5e3"; Fortran's exponent letter d is understood), infinite beyond the
   range of double. Gives the character after the number, or NULL when there is none. Independent of the locale. */
const char *poiseParseReal(const char *p, double *v);
enum { POISE_REAL_LENGTH = 32 };
/* The fewest of 15, 16 or 17 digits that read back as the same bits; gives their length. Call between poiseNumbersBegin and
   poiseNumbersEnd. v is finite. */
int poiseFormatReal(double v, char text[POISE_REAL_LENGTH]);

/* ---- reading (mm_read.c) -------------------------------------------------------------------------------------------- */

typedef struct MMSource {                                             /* bytes, from wherever */
  PoiseErr (*read)(void *from, char *buffer, size_t size, size_t *n); /* *n = 0 only at the end */
  void *from;
  const char *name; /* for messages */
} MMSource;

typedef enum MMSymmetry { MM_GENERAL, MM_SYMMETRIC, MM_SKEW } MMSymmetry;

typedef struct MMGap { /* entries from this one on stand in consecutive lines */
  int64_t entry, line;
} MMGap;

typedef struct MMFile { /* what a file says, checked except for entries given twice */
  PoiseInt M, N;
  bool array;
  MMSymmetry symmetry;
  Stash entries; /* 0-based, in the file's order; of one triangle if not MM_GENERAL */
  MMGap *gap;
  int64_t ngap, gap_capacity;
} MMFile;

typedef struct MMRows { /* all entries, those of the other triangle too, by rows; within a row in the file's order */
  PoiseInt M, N;
  int64_t *ptr;
  PoiseInt *col;
  double *val;
} MMRows;

/* Nothing in the text is believed before it is checked: memory grows with what was read. Local, as all of these. */
PoiseErr poiseMMParse(PoiseContext ctx, const MMSource *source, MMFile *file);
PoiseErr poiseMMRead(PoiseContext ctx, const char *path, MMFile *file); /* plain or gzip */
void poiseMMFileDestroy(PoiseContext ctx, MMFile *file);
/* POISE_ERR_FORMAT names the lines of an entry that is given twice. */
PoiseErr poiseMMRows(PoiseContext ctx, const char *name, const MMFile *file, MMRows *rows);
void poiseMMRowsDestroy(PoiseContext ctx, MMRows *rows);

/* ---- between the ranks (mm_vec.c) ----------------------------------------------------------------------------------- */

/* Rank 0's items [start[r], start[r + 1]) of all go to `mine` of rank r, which expects n of them. Collective; agrees. */
PoiseErr poiseMMDeal(PoiseContext ctx, const void *all, const int64_t *start, size_t item, void *mine, int64_t n);

/* PoiseVecLoad and PoiseVecSave of this format. */
PoiseErr poiseVecLoadMM(PoiseContext ctx, PoiseInt n, PoiseInt N, const char *path, PoiseVec *x);
PoiseErr poiseVecSaveMM(PoiseVec x, const char *path);

/* ---- writing (mm_write.c) ------------------------------------------------------------------------------------------- */

enum { MM_LINE = 2 * 21 + POISE_REAL_LENGTH };

typedef struct MMLines { /* what this rank writes */
  int64_t n;
  PoiseErr (*next)(void *from, char text[MM_LINE], int *length); /* called n times; text needs no 0 at the end */
  void *from;
} MMLines;

/* The header, then all ranks' lines in the order of ranks, gzip when the name ends in ".gz". mine: this rank's error so far.
   Collective; agrees. */
PoiseErr poiseMMWrite(PoiseContext ctx, PoiseErr mine, const char *path, const char *header, const MMLines *lines);

#endif
