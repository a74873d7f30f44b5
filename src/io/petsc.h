/* SPDX-License-Identifier: BSD-3-Clause */
/*
  PETSc's binary files: objects one after the other. Each is a header of integers and its data, all big
  endian:
    vector     1211214  N           then N doubles
    matrix     1211216  M  N  nz    then M lengths of rows, nz columns (0-based, by rows), nz doubles
               the same, nz = -1    then M x N doubles by rows (dense)
    index set  1211218  n           then n indices

  Integers, the class number too, have 4 bytes, or 8 if PETSc was built with 64-bit indices. A matrix with
  4-byte integers and more than 2^31 - 2 entries has nz = 2^31 - 1. The lengths of its rows then give the
  number of entries.

  A caller that has the bytes in memory, such as a fuzzer, makes a source with poiseSourceMemory. It passes it
  to poisePetscLoadVec or poisePetscLoadMat (../mat/mat.h).
*/
#ifndef POISE_PETSC_H
#define POISE_PETSC_H

#include "source.h"
#include "vec/vec.h"

enum { PETSC_VEC = 1211214, PETSC_MAT = 1211216, PETSC_IS = 1211218 };

typedef struct PetscItem { /* an object of a file */
  int kind, width;         /* a class number above; bytes of an integer */
  PoiseInt M, N, nz;       /* N = 1 if the object has no columns; nz = -1: dense */
  bool open;               /* nz did not fit into 4 bytes: the file says INT32_MAX */
  int64_t at, data, end;   /* offsets of the header, of the data behind it, and of what follows the data
                              (unknown if open) */
} PetscItem;

extern const PoiseOption poisePetscOptions[]; /* without a prefix */
/* Do these first bytes of a file begin an object? */
bool poisePetscBegins(const unsigned char *bytes, size_t n);
/* Find the first object of this kind. The file is long enough for it; else POISE_ERR_FORMAT. Local, as are
   the reads. */
PoiseErr poisePetscFind(const ByteSource *s, int kind, PetscItem *item);
/* Give an open matrix its number of entries: set nz and end. The file must be long enough. */
PoiseErr poisePetscClose(const ByteSource *s, PetscItem *item, int64_t nz);

/* Read n integers or doubles at a byte offset. 32: integers outside 0 .. INT32_MAX become -1. */
PoiseErr poisePetscInts(const ByteSource *s, int width, int64_t at, int64_t n, const char *what, int64_t *v);
PoiseErr poisePetscInts32(const ByteSource *s, int width, int64_t at, int64_t n, const char *what,
                          int32_t *v);
PoiseErr poisePetscDoubles(const ByteSource *s, int64_t at, int64_t n, const char *what, double *v);

/* Write to the bytes of a file; returns the place behind. */
char *poisePetscPutInt(char *p, int width, int64_t v);
char *poisePetscPutDoubles(char *p, const double *v, int64_t n);

/* Does this name mean PETSc's format ("x.petsc", "x.bin", also with ".gz")? */
bool poisePetscNamed(const char *path);
/* Bytes of the integers in a file to be written, by option -petsc_index_bits. */
PoiseErr poisePetscWidth(PoiseContext ctx, PoiseInt M, PoiseInt N, int64_t nz, int *width);

/* Load from a source of this rank; all ranks' sources have the same bytes. mine: this rank's error in
   opening it. Collective; agrees. */
PoiseErr poisePetscLoadVec(PoiseContext ctx, PoiseErr mine, const ByteSource *s, PoiseInt n, PoiseInt N,
                           PoiseVec *x);
PoiseErr poisePetscSaveVec(PoiseVec x, const char *path);
/* *item = the first object of this kind, as rank 0 finds it. All ranks must see files of the same length.
   Collective; agrees. */
PoiseErr poisePetscShare(PoiseContext ctx, PoiseErr mine, const ByteSource *s, int kind, PetscItem *item);

#endif
