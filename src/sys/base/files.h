/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that appear whole, files that take lines as they come, and locks. */
#ifndef POISE_FILES_H
#define POISE_FILES_H

#include <stdbool.h>

#include "error.h"

typedef struct OutFile { /* zero-initialise it */
  FILE *stream;          /* to write to */
  char *path, *temp;     /* temp is NULL if path is a device or a pipe, which is written directly */
} OutFile;

/* A file that appears under its path whole or not at all, as it is written under another name next to it.
   POISE_ERR_FILE names the path and the system's reason. f is empty after a failure, also of Commit. Not
   collective. */
PoiseErr poiseFileBegin(PoiseContext ctx, const char *path, OutFile *f);
/* the old file stays if the new one could not be written completely */
PoiseErr poiseFileCommit(PoiseContext ctx, OutFile *f);
void poiseFileAbort(PoiseContext ctx, OutFile *f); /* nothing has happened; an empty f is legal */
/* Check by trying whether the file could be written. Devices and pipes are not tried, as their readers
   would see an end. Not collective. */
PoiseErr poiseFileCheck(PoiseContext ctx, const char *path);
/* A file that takes lines as they come. It is closed with the context; the same path gives the same file.
   *fresh: it was made by this call. *stream is NULL on ranks other than 0. Not collective. */
PoiseErr poiseFileLines(PoiseContext ctx, const char *path, FILE **stream, bool *fresh);
void poiseFileLinesClose(PoiseContext ctx);
/* Split an option ":path:format" into its parts; *format: the number of the word among `count` ones. Without
   a word it is that of the path's ending (".csv"), or 0. POISE_ERR_OPTION tells what was expected. */
PoiseErr poiseFileSplit(const char *value, int count, const char *const *words,
                        char path[POISE_OPTION_LENGTH], int *format);
/* Lock a file that is read and rewritten. Waits at most two seconds for other programs, as far as the file
   system can. Not collective. */
int poiseFileLock(PoiseContext ctx, const char *path);
void poiseFileUnlock(int lock);

#endif
