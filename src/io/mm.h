/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrix Market files, for matrices and vectors: numbers, text to entries, lines to text. */
#ifndef POISE_MM_H
#define POISE_MM_H

#include "vec/vec.h"

/* ---- numbers (mm_number.c) ------------------------------------------------------------------- */

/* *v = the double nearest to the decimal number at p ("-1.5e3"). Fortran's exponent letter d is
   understood. *v is infinite beyond the range of double. Returns the character after the number, or NULL
   if there is none. Independent of the locale. */
const char *poiseParseReal(const char *p, double *v);
enum { POISE_REAL_LENGTH = 32 };
/* Write v with the fewest of 15, 16 or 17 digits that read back as the same bits. Returns the length. v is
   finite. Call between poiseScalarsBegin and poiseScalarsEnd. */
int poiseFormatReal(double v, char text[POISE_REAL_LENGTH]);

/* ---- text (mm_text.c): local ----------------------------------------------------------------- */

typedef enum MMField { MM_REAL, MM_INTEGER, MM_PATTERN } MMField;
typedef enum MMSymmetry { MM_GENERAL, MM_SYMMETRIC, MM_SKEW } MMSymmetry;

typedef struct MMHeader {
  PoiseInt M, N;
  int64_t stored, line; /* number of entries by the size line, and the number of that line */
  bool array;
  MMField field;
  MMSymmetry symmetry;
} MMHeader;

enum {
  MM_LONGEST = 1 << 16, /* most characters of a line that is no comment */
  MM_BLANK = 1 << 24    /* most blanks and ends of lines in a row, if the text is read as a stream */
};

typedef struct MMPlace { /* for messages: a file, and a line of it */
  const char *name;
  int64_t line;
} MMPlace;

/* Parse the header. next gives lines, each with a newline, cut to MM_LONGEST + 1 characters; *line = NULL
   at the end. `at` is the place of the latest line. */
PoiseErr poiseMMHeader(PoiseErr (*next)(void *from, const char **line), void *from, MMPlace *at, MMHeader *h);

typedef struct MMChunk { /* whole lines behind the header; the last character is a newline */
  const char *text, *end;
  int64_t n, lines; /* entries found, lines they were in */
  Entry *entry;     /* 0-based, in the file's order. One triangle unless MM_GENERAL. Of an array only the
                       values are set */
} MMChunk;

/* The fewest characters that a line with an entry has. It bounds the memory for entries. */
int poiseMMShortest(const MMHeader *h);
/* Parse the entries of a chunk. at: the line before the chunk. On an error the entries before it are kept. */
PoiseErr poiseMMEntries(const MMHeader *h, MMPlace at, MMChunk *p);
int64_t poiseMMLineOf(const MMChunk *p, int64_t k); /* which line of the chunk, from 1, entry k stands in */
/* Set rows and columns of n entries of an array. The first of them is entry `first` of the file. */
void poiseMMPlaceArray(const MMHeader *h, int64_t first, Entry *entry, int64_t n);

/* ---- where the text comes from (mm_source.c) ------------------------------------------------- */

typedef struct MMSource {                                             /* a source of bytes */
  PoiseErr (*read)(void *from, char *buffer, size_t size, size_t *n); /* *n = 0 only at the end */
  void *from;
  const char *name;               /* for messages */
  PoiseErr (*rewind)(void *from); /* go back to the first byte; NULL: impossible */
} MMSource;

typedef struct MMStream { /* on one rank */
  const MMSource *source;
  char *buffer;
  size_t capacity, begin, end; /* bytes of the buffer; [begin, end) was read and not yet taken */
  bool at_end;
  int64_t taken; /* bytes before `begin` */
  int64_t lines; /* ends of lines read so far; blanks at the end of the text so far, and the line in which
                    they begin */
  int64_t blank, blank_line;
  char line[MM_LONGEST + 2];
} MMStream;

/*
  Text for all ranks, in rounds. In each round every rank gets some whole lines, in rank order. All ranks read
  a plain file if they see the same one. Rank 0 alone reads a compressed file, a pipe, or a file that only it
  sees. It deals out the text, and reads on while the others parse.
*/
typedef struct MMReader {
  PoiseContext ctx;
  MMHeader header;
  int64_t block;       /* bytes of text that a rank gets in a round, or a line more */
  int64_t body;        /* lines before the entries */
  struct MMFile *file; /* NULL: the source is the caller's */
  MMSource source;
  MMStream *stream;           /* on rank 0 */
  PoiseErr failed;            /* failure of rank 0 while reading ahead */
  bool dealt;                 /* rank 0 deals out the text; else all ranks read */
  int64_t round, first, size; /* the entries' bytes in a file that all read */
  char *text;
  int64_t *bytes; /* bytes dealt to each rank, and whether there is more */
} MMReader;

/* Open a file and read its header. block: see above; 0: automatic. Close r also after a failure.
   Collective; agrees. */
PoiseErr poiseMMOpen(PoiseContext ctx, const char *path, int64_t block, MMReader *r);
/* The same of rank 0's source. */
PoiseErr poiseMMOpenSource(PoiseContext ctx, const MMSource *source, int64_t block, MMReader *r);
void poiseMMClose(MMReader *r);
/* The most bytes of text that poiseMMNext may give. */
int64_t poiseMMRoom(const MMReader *r);
/* This rank's lines of the next round; *more: there is another round. Collective, but the error is this
   rank's own. */
PoiseErr poiseMMNext(MMReader *r, MMChunk *text, bool *more);
/* Rank 0 rewinds to the first entry, to read all lines again; *can says whether it can. Local. */
PoiseErr poiseMMAgain(MMReader *r, bool *can);
PoiseErr poiseMMNextAgain(MMReader *r, MMChunk *text);
/* For a progress line on rank 0: bytes of the file read so far, and bytes of the file (0: unknown). */
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
  Read all entries of this rank's rows. Zeros of an array are included only if `zeros` is true. Collective;
  agrees.

  Memory: 16 bytes for each of this rank's entries, an eighth more of address space, and text and entries of
  one round. Nothing in the text is trusted before it is checked: memory grows with what was read. Errors name
  the first line of the file that is wrong. One rank has that error; the others return POISE_ERR_REMOTE.
*/
PoiseErr poiseMMRows(MMReader *r, const Layout *layout, bool zeros, MMRows *rows);
void poiseMMRowsDestroy(PoiseContext ctx, MMRows *rows);
/* Sort both arrays by ascending key, in place (mm_sort.c). */
void poiseMMSort(PoiseInt *key, double *val, int64_t n, int threads);

/* PoiseVecLoad and PoiseVecSave for this format. */
PoiseErr poiseVecLoadMM(PoiseContext ctx, PoiseInt n, PoiseInt N, const char *path, PoiseVec *x);
PoiseErr poiseVecSaveMM(PoiseVec x, const char *path);

/* ---- writing (mm_write.c) -------------------------------------------------------------------- */

enum { MM_LINE = 2 * 21 + POISE_REAL_LENGTH };

typedef struct MMLines { /* what this rank writes */
  int64_t n;
  /* called n times; text need not end with a 0 */
  PoiseErr (*next)(void *from, char text[MM_LINE], int *length);
  void *from;
} MMLines;

/* Write the header, then the lines of all ranks in rank order; by gzip if the name ends in ".gz". mine:
   this rank's error so far. Collective; agrees. */
PoiseErr poiseMMWrite(PoiseContext ctx, PoiseErr mine, const char *path, const char *header,
                      const MMLines *lines);

#endif
