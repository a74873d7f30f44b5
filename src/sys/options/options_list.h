/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The list of options: keys and values with the source of each, and the tables that define keys. For the
  files options*.c, which hold its lock.
*/
#ifndef POISE_OPTIONS_LIST_H
#define POISE_OPTIONS_LIST_H

#include <pthread.h>

#include "options.h"

typedef enum { CODE, ENVIRONMENT, OPTIONS_FILE, COMMAND_LINE } OptionSource; /* the later overrides */

enum { EVERY_RANK = -1 };

typedef struct OptionEntry {
  char *key;   /* as it was given; from the command line without the context's prefix */
  char *value; /* NULL when none was given */
  char *where; /* for messages */
  OptionSource source;
  int rank;          /* the thread rank that set it, or EVERY_RANK */
  int64_t turn;      /* counts settings: a later one overrides */
  bool used, told;   /* told: it was warned of as unknown */
  uint64_t prefixes; /* bit n: its first n letters are the prefix of an object that has asked for options */
} OptionEntry;

typedef struct OptionTable {
  const char *heading; /* of the help */
  const PoiseOption *rows;
  bool application;
} OptionTable;

struct Options {
  PoiseContext owner;
  pthread_mutex_t lock;
  char *prefix, *about; /* of PoiseInit; may be NULL */
  OptionEntry *entry;
  int *order; /* entries by their keys, so that a key is found by bisection */
  OptionTable *table;
  int nentry, entries, orders, ntable, tables; /* in use, allocated */
  int64_t turns;
};

/* ---- the list (options_list.c) --------------------------------------------------------------- */

static inline const char *poisePrefix(const Options *o)
{
  return o->prefix ? o->prefix : "";
}

/* The thread rank whose options this context sets and sees, or EVERY_RANK. */
int poiseOptionsRank(PoiseContext ctx);
bool poiseOptionsVisible(const OptionEntry *e, int rank);
/* The key without the context's prefix, if it was given with it, for messages. */
const char *poiseOptionsKey(const Options *o, const OptionEntry *e);
/* The entry that holds for a rank: that of the highest source, and its own before everybody's. Marked as
   used. NULL: not given. */
const OptionEntry *poiseOptionsFind(Options *o, int rank, const char *prefix, const char *key);
/* Has any visible entry of this key been asked for? It marks none. */
bool poiseOptionsWasUsed(const Options *o, int rank, const char *key);
/* Add or replace an entry, of which it keeps a copy, unless a higher source has set it. An unchanged value
   keeps its address, which may be lent. */
PoiseErr poiseOptionsInsert(Options *o, const OptionEntry *given);
/* Add one pair. On the command line, which is shared with others, the key must have the context's prefix. */
PoiseErr poiseOptionsAdd(Options *o, int rank, OptionSource source, const char *key, char *value,
                         char *where);
/* Remove the entry of this key that code has set for this rank, if there is one. */
void poiseOptionsForget(Options *o, int rank, const char *key);
/* Remove all entries of this rank. */
void poiseOptionsForgetRank(Options *o, int rank);
/* Release what the entry holds. */
void poiseOptionsClear(PoiseContext owner, OptionEntry *e);
PoiseErr poiseOptionsAddTable(Options *o, const OptionTable *table);

/* ---- where options come from ----------------------------------------------------------------- */

/* Is the word a key? "-1e3" and "-" are values (options_text.c). */
bool poiseOptionsIsKey(const char *s);
/* Add the pairs of a text, of which words are cut out in place. `name` of its file, or NULL. */
PoiseErr poiseOptionsReadText(Options *o, int rank, OptionSource source, char *text, const char *name);
PoiseErr poiseOptionsReadCopy(Options *o, int rank, OptionSource source, const char *text);
/* Add the options of environment, command line and file (options_sources.c). */
PoiseErr poiseOptionsCollect(Options *o, int argc, char **argv);
/* Give all ranks the entries of rank 0, whose Collect returned `collected`. Collective; agrees
   (options_share.c). */
PoiseErr poiseOptionsShare(Options *o, PoiseErr collected);

/* ---- reports --------------------------------------------------------------------------------- */

/* POISE_ERR_FILE, naming `what`, if the stream could not be written (options_help.c). */
PoiseErr poiseOptionsWritten(FILE *out, const char *what);

#endif
