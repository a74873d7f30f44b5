/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrices and vectors that are saved and loaded, in any file format: bits must come back as they went. */
#ifndef POISE_TEST_SAVED_H
#define POISE_TEST_SAVED_H

#include <stdbool.h>

#include "files.h"

typedef double MatrixEntry(PoiseInt i, PoiseInt j);
typedef double VectorEntry(PoiseInt i);

/* A pattern with an empty row, a full one, and scattered entries. */
bool IsSaved(PoiseInt i, PoiseInt j);

/* A is M x N, rows dealt out evenly, and has the entries of that pattern with these values. */
void CheckSavedMatrix(PoiseMat A, PoiseInt M, PoiseInt N, MatrixEntry *value);

/* x has N entries, n of them on this rank (POISE_DECIDE: any number). */
void CheckSavedVector(PoiseVec x, PoiseInt n, PoiseInt N, VectorEntry *value);

/* The file holds that vector, in whatever layout it is asked for; then it is removed. */
void CheckSavedVectorFile(PoiseContext ctx, const char *path, PoiseInt N, VectorEntry *value);

/* A matrix with one entry in each row is saved and loaded; the file is removed. */
void CheckLargeFile(PoiseContext ctx, const char *path, PoiseInt M, PoiseInt N,
                    PoiseInt (*column)(PoiseInt i), VectorEntry *value);

/* Each file is loaded, and saved over itself. */
PoiseErr LoadAndSave(PoiseContext ctx, const char *matrix, const char *vector);

#endif
