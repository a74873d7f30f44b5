/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of the tests: temporary ones, which rank 0 alone writes and removes, and what is in them. */
#ifndef POISE_TEST_FILES_H
#define POISE_TEST_FILES_H

#include "harness.h"

enum { PATH = 512 };

/* The folder of temporary files. */
const char *TempRoot(void);

/* A name in it that no other process has. */
void TempName(char path[PATH], const char *name);

/* The same on every rank: the ranks of MPI are processes with names of their own. Collective. */
void SharedName(PoiseContext ctx, char path[PATH], const char *name);

/* Collective: the file is there, or is gone, for every rank. */
void WriteFile(PoiseContext ctx, const char *path, const void *bytes, size_t n);
void WriteText(PoiseContext ctx, const char *path, const char *text);
void RemoveFile(PoiseContext ctx, const char *path);

/* This process writes no more than that to a file, as if the disk were full; -1: as much as it wants. */
void LimitFiles(int64_t bytes);

/* What the file holds, cut to the size of text; nothing if it cannot be opened. */
const char *TextOf(const char *path, char *text, size_t size);

/* What was written to f, which stays open. */
const char *Content(FILE *f, char *text, size_t size);

/* How often the word is in the text. */
int CountWord(const char *text, const char *word);

#endif
