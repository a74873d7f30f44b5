/* SPDX-License-Identifier: BSD-3-Clause */
/*
  PETSc's binary files: objects one after the other, each a header of integers and what it announces, all big
  endian.
    vector  1211214  N               then N doubles
    matrix  1211216  M  N  nz        then M lengths of rows, nz columns (0-based, by rows), nz doubles
            the same with nz = -1    then M x N doubles by rows (dense)
    index set 1211218  n             then n indices
  Integers have 4 bytes, or 8 when PETSc was built with 64-bit indices, the class number too. A matrix with
  4-byte integers and more than 2^31 - 2 entries has nz = 2^31 - 1; the lengths of its rows tell how many
  there are.

  Who has the bytes elsewhere than in a file (a fuzzer) calls poisePetscLoadVec and poisePetscLoadMat
  (../mat/mat.h) with a source that poiseSourceMemory made.
*/
#ifndef POISE_PETSC_H
#define POISE_PETSC_H

#include "vec.h"

enum { PETSC_VEC = 1211214, PETSC_MAT = 1211216, PETSC_IS = 1211218 };

typedef struct PetscItem { /* an object of a file */
  int kind, width;         /* one of the above; bytes of an integer */
  PoiseInt M, N, nz;       /* N = 1 of what has no columns; nz = -1: dense */
  bool open;               /* nz was too large for its 4 bytes: the file says INT32_MAX */
  /* where the header begins, what follows it, and what follows that (not known when open) */
  int64_t at, data, end;
} PetscItem;

/* Do these first bytes of a file begin an object? */
bool poisePetscBegins(const unsigned char *bytes, size_t n);
/* The first object of this kind, which the file is long enough for; else POISE_ERR_FORMAT. Local, as are the
   reads. */
PoiseErr poisePetscFind(const ByteSource *s, int kind, PetscItem *item);
/* An open matrix has nz entries: is the file long enough? Sets nz and end. */
PoiseErr poisePetscClose(const ByteSource *s, PetscItem *item, int64_t nz);

/* n integers or doubles that stand at a byte. 32: what lies outside 0 .. INT32_MAX becomes -1. */
PoiseErr poisePetscInts(const ByteSource *s, int width, int64_t at, int64_t n, const char *what, int64_t *v);
PoiseErr poisePetscInts32(const ByteSource *s, int width, int64_t at, int64_t n, const char *what,
                          int32_t *v);
PoiseErr poisePetscDoubles(const ByteSource *s, int64_t at, int64_t n, const char *what, double *v);

/* Into a file's bytes; gives what follows them. */
char *poisePetscPutInt(char *p, int width, int64_t v);
char *poisePetscPutDoubles(char *p, const double *v, int64_t n);

/* Does a file of this name hold PETSc's format ("x.petsc", "x.bin", also with ".gz")? */
bool poisePetscNamed(const char *path);
/* Bytes of integers for a file to be written, by option -petsc_index_bits. */
PoiseErr poisePetscWidth(PoiseContext ctx, PoiseInt M, PoiseInt N, int64_t nz, int *width);

/* source: this rank's, of the same bytes on all ranks; mine: this rank's error in opening it. Collective;
   agrees. */
PoiseErr poisePetscLoadVec(PoiseContext ctx, PoiseErr mine, const ByteSource *s, PoiseInt n, PoiseInt N,
                           PoiseVec *x);
PoiseErr poisePetscSaveVec(PoiseVec x, const char *path);
/* *item = the first object of this kind, as rank 0 finds it; all ranks see files of the same length.
   Collective; agrees. */
PoiseErr poisePetscShare(PoiseContext ctx, PoiseErr mine, const ByteSource *s, int kind, PetscItem *item);

#endif
