/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrix Market files: numbers, text to entries, lines to text. What matrices and vectors share. */
#ifndef POISE_MM_H
#define POISE_MM_H

#include "vec.h"

/* ---- numbers (mm_number.c) ------------------------------------------------------------------- */

/* *v = the double nearest to the decimal number at p ("-1.5e3"; Fortran's exponent letter d is understood),
   infinite beyond the range of double. Gives the character after the number, or NULL when there is none.
   Independent of the locale. */
const char *poiseParseReal(const char *p, double *v);
enum { POISE_REAL_LENGTH = 32 };
/* The fewest of 15, 16 or 17 digits that read back as the same bits; gives their length. Call between
   poiseScalarsBegin and poiseScalarsEnd. v is finite. */
int poiseFormatReal(double v, char text[POISE_REAL_LENGTH]);

/* ---- text (mm_text.c): local ----------------------------------------------------------------- */

typedef enum MMField { MM_REAL, MM_INTEGER, MM_PATTERN } MMField;
typedef enum MMSymmetry { MM_GENERAL, MM_SYMMETRIC, MM_SKEW } MMSymmetry;

typedef struct MMHeader {
  PoiseInt M, N;
  int64_t stored, line; /* entries announced, and in which line */
  bool array;
  MMField field;
  MMSymmetry symmetry;
} MMHeader;

enum {
  MM_LONGEST = 1 << 16, /* characters of a line, if it is no comment */
  MM_BLANK = 1 << 24    /* blanks and ends of lines in a row, in what is read as a stream */
};

typedef struct MMPlace { /* for messages: a file, and a line of it */
  const char *name;
  int64_t line;
} MMPlace;

/* next gives lines, each with a newline, cut to MM_LONGEST + 1 characters; *line = NULL at the end. `at` is
   the place of the latest one. */
PoiseErr poiseMMHeader(PoiseErr (*next)(void *from, const char **line), void *from, MMPlace *at, MMHeader *h);

typedef struct MMChunk { /* whole lines behind the header; the last character is a newline */
  const char *text, *end;
  int64_t n, lines; /* entries found, lines they were in */
  /* 0-based, in the file's order, of one triangle if not MM_GENERAL; of an array the values only */
  Entry *entry;
} MMChunk;

/* The fewest characters of a line with an entry, which bounds the room for entries. */
int poiseMMShortest(const MMHeader *h);
/* at: the line before the chunk. Of text that is wrong the entries before it are kept. */
PoiseErr poiseMMEntries(const MMHeader *h, MMPlace at, MMChunk *p);
int64_t poiseMMLineOf(const MMChunk *p, int64_t k); /* which line of the chunk, from 1, entry k stands in */
/* Rows and columns of n entries of an array, of which the first is number `first` in the file. */
void poiseMMPlaceArray(const MMHeader *h, int64_t first, Entry *entry, int64_t n);

/* ---- where the text comes from (mm_source.c) ------------------------------------------------- */

typedef struct MMSource {                                             /* bytes, from wherever */
  PoiseErr (*read)(void *from, char *buffer, size_t size, size_t *n); /* *n = 0 only at the end */
  void *from;
  const char *name;               /* for messages */
  PoiseErr (*rewind)(void *from); /* to the first byte; NULL: cannot */
} MMSource;

typedef struct MMStream { /* on one rank */
  const MMSource *source;
  char *buffer;
  size_t capacity, begin, end; /* of the buffer; [begin, end) was read and not yet taken */
  bool at_end;
  int64_t taken; /* bytes before `begin` */
  int64_t lines; /* ends of lines that were read; blanks at the end of that, and the line they begin in */
  int64_t blank, blank_line;
  char line[MM_LONGEST + 2];
} MMStream;

/*
  Text for all ranks, in rounds: in each, every rank gets some whole lines, in the order of ranks. A plain
  file is read by all ranks if they see the same one. What is compressed, a pipe, or seen by rank 0 alone,
  rank 0 reads and deals out, and while others parse it reads on.
*/
typedef struct MMReader {
  PoiseContext ctx;
  MMHeader header;
  int64_t block;       /* bytes of text that a rank gets in a round, or a line more */
  int64_t body;        /* lines before the entries */
  struct MMFile *file; /* NULL: the source is the caller's */
  MMSource source;
  MMStream *stream;           /* on rank 0 */
  PoiseErr failed;            /* of rank 0, reading on */
  bool dealt;                 /* else all ranks read */
  int64_t round, first, size; /* the entries' bytes in a file that all read */
  char *text;
  int64_t *bytes; /* dealt to each rank; and whether there is more */
} MMReader;

/* Open a file, read its header; block: see above, 0 as suits. Collective; agrees. Close r also after a
   failure. */
PoiseErr poiseMMOpen(PoiseContext ctx, const char *path, int64_t block, MMReader *r);
/* The same of rank 0's source. */
PoiseErr poiseMMOpenSource(PoiseContext ctx, const MMSource *source, int64_t block, MMReader *r);
void poiseMMClose(MMReader *r);
/* The bytes of text that poiseMMNext may give. */
int64_t poiseMMRoom(const MMReader *r);
/* This rank's lines of the next round; *more: there is another round. Collective, but what is returned is
   this rank's. */
PoiseErr poiseMMNext(MMReader *r, MMChunk *text, bool *more);
/* Rank 0 goes over the whole text once more, if it can: lines from the first entry on. Local. */
PoiseErr poiseMMAgain(MMReader *r, bool *can);
PoiseErr poiseMMNextAgain(MMReader *r, MMChunk *text);
/* For a progress line, on rank 0: bytes of the file read so far, and of it all (0: unknown). */
void poiseMMProgress(const MMReader *r, int64_t *done, int64_t *total);

/* ---- reading (mm_read.c) --------------------------------------------------------------------- */

/* the entries of a rank's rows, those of the other triangle too, sorted by rows and columns */
typedef struct MMRows {
  int64_t n, capacity;
  int bits;      /* key = local row << bits | column */
  PoiseInt *key; /* so no two are equal */
  double *val;
} MMRows;

/*
  All entries, but of an array's zeros only if they are wanted. Holds 16 bytes for each of this rank's
  entries, an eighth more of address space, and text and entries of a round. Nothing in the text is believed
  before it is checked: memory grows with what was read. Collective; agrees. Errors name the first line of the
  file that is wrong; one rank has it, the others POISE_ERR_REMOTE.
*/
PoiseErr poiseMMRows(MMReader *r, const Layout *layout, bool zeros, MMRows *rows);
void poiseMMRowsDestroy(PoiseContext ctx, MMRows *rows);
/* Both ascending by key, in place (mm_sort.c). */
void poiseMMSort(PoiseInt *key, double *val, int64_t n, int threads);

/* PoiseVecLoad and PoiseVecSave of this format. */
PoiseErr poiseVecLoadMM(PoiseContext ctx, PoiseInt n, PoiseInt N, const char *path, PoiseVec *x);
PoiseErr poiseVecSaveMM(PoiseVec x, const char *path);

/* ---- writing (mm_write.c) -------------------------------------------------------------------- */

enum { MM_LINE = 2 * 21 + POISE_REAL_LENGTH };

typedef struct MMLines { /* what this rank writes */
  int64_t n;
  /* called n times; text needs no 0 at the end */
  PoiseErr (*next)(void *from, char text[MM_LINE], int *length);
  void *from;
} MMLines;

/* The header, then all ranks' lines in the order of ranks, gzip when the name ends in ".gz". mine: this
   rank's error so far. Collective; agrees. */
PoiseErr poiseMMWrite(PoiseContext ctx, PoiseErr mine, const char *path, const char *header,
                      const MMLines *lines);

#endif
