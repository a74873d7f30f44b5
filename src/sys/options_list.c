/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The list of keys and values: which entry holds for a rank, and what a new one overrides. A key may be given
  with or without the context's prefix. Also the list of tables.
*/
#include "options_list.h"

int poiseOptionsRank(PoiseContext ctx)
{
  PoiseContext home = poiseContextHome(ctx);
  return home->parent ? home->comm->rank : EVERY_RANK;
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* The key behind the context's prefix, or NULL. A key that is only the prefix has none. */
static const char *Behind(const Options *o, const char *key)
{
  size_t n = strlen(poisePrefix(o));
  return !strncmp(key, poisePrefix(o), n) && key[n] ? key + n : NULL;
}

static bool Matches(const char *given, const char *prefix, const char *key)
{
  size_t n = strlen(prefix);
  return given && !strncmp(given, prefix, n) && !strcmp(given + n, key);
}

/* Is this the key? The environment, files and code may leave out the context's prefix, and an option's own
   name may begin with it: both forms match. */
static bool HasKey(const Options *o, const OptionEntry *e, const char *prefix, const char *key)
{
  return Matches(e->key, prefix, key) ||
         (e->source != COMMAND_LINE && Matches(Behind(o, e->key), prefix, key));
}

const char *poiseOptionsKey(const Options *o, const OptionEntry *e)
{
  const char *own = e->source == COMMAND_LINE ? NULL : Behind(o, e->key);
  return own ? own : e->key;
}

/* Note that this prefix is in use, to know which part of an unknown key is a prefix. */
static void NotePrefix(const Options *o, OptionEntry *e, const char *prefix)
{
  size_t n = strlen(prefix);
  if (n < 64 && !strncmp(poiseOptionsKey(o, e), prefix, n)) e->prefixes |= (uint64_t)1 << n;
}

bool poiseOptionsVisible(const OptionEntry *e, int rank)
{
  return e->rank == EVERY_RANK || e->rank == rank;
}

/* ---- which entry holds ----------------------------------------------------------------------- */

static bool Overrides(const OptionEntry *a, const OptionEntry *b)
{
  if (a->source != b->source) return a->source > b->source;
  if (a->rank != b->rank) return a->rank != EVERY_RANK;
  return a->turn > b->turn;
}

const OptionEntry *poiseOptionsFind(Options *o, int rank, const char *prefix, const char *key)
{
  const OptionEntry *found = NULL;
  for (int i = 0; i < o->nentry; i++) {
    OptionEntry *e = &o->entry[i];
    if (!poiseOptionsVisible(e, rank)) continue;
    NotePrefix(o, e, prefix);
    if (!HasKey(o, e, prefix, key)) continue;
    e->used = true;
    if (!found || Overrides(e, found)) found = e;
  }
  return found;
}

/* ---- adding ---------------------------------------------------------------------------------- */

static bool SameText(const char *a, const char *b)
{
  return a == b || (a && b && !strcmp(a, b));
}

void poiseOptionsClear(PoiseContext owner, OptionEntry *e)
{
  poiseFree(owner, &e->key);
  poiseFree(owner, &e->value);
  poiseFree(owner, &e->where);
}

static PoiseErr Copy(PoiseContext ctx, const OptionEntry *from, OptionEntry *to)
{
  *to = (OptionEntry){.source = from->source, .rank = from->rank};
  TRY(poiseStringCopy(ctx, from->key, &to->key));
  TRY(poiseStringCopy(ctx, from->value, &to->value));
  return poiseStringCopy(ctx, from->where, &to->where);
}

static PoiseErr Reserve(PoiseContext ctx, int used, int *allocated, size_t size, void *array)
{
  if (used < *allocated) return POISE_OK;
  int more = *allocated ? 2 * *allocated : 16;
  TRY(poiseRealloc(ctx, (size_t)more * size, (size_t)used * size, "options", array));
  *allocated = more;
  return POISE_OK;
}

/* Store `given` as the entry at `at`, which may be the first free one. */
static PoiseErr Store(Options *o, int at, const OptionEntry *given)
{
  OptionEntry copy, *e = &o->entry[at];
  PoiseErr failed = Copy(o->owner, given, &copy);
  copy.turn = ++o->turns;
  if (failed) {
    poiseOptionsClear(o->owner, &copy);
    return failed;
  }
  if (at < o->nentry) {
    copy.used = e->used;
    copy.prefixes = e->prefixes;
    poiseOptionsClear(o->owner, e);
  } else {
    o->nentry++;
  }
  *e = copy;
  return POISE_OK;
}

PoiseErr poiseOptionsInsert(Options *o, const OptionEntry *given)
{
  int at = 0;
  while (at < o->nentry && (o->entry[at].rank != given->rank || strcmp(o->entry[at].key, given->key))) at++;
  if (at < o->nentry) {
    OptionEntry *old = &o->entry[at];
    if (old->source > given->source) return POISE_OK;
    if (old->source == given->source) old->turn = ++o->turns;
    if (old->source == given->source && SameText(old->value, given->value)) return POISE_OK;
  }
  TRY(Reserve(o->owner, o->nentry, &o->entries, sizeof *o->entry, &o->entry));
  return Store(o, at, given);
}

PoiseErr poiseOptionsAdd(Options *o, int rank, OptionSource source, const char *key, char *value, char *where)
{
  OptionEntry e = {.key = (char *)key, .value = value, .where = where, .source = source, .rank = rank};
  if (source == COMMAND_LINE) e.key = (char *)Behind(o, key);
  if (!e.key) return POISE_OK;
  if (source == OPTIONS_FILE && HasKey(o, &e, "", "options_file"))
    FAIL(POISE_ERR_OPTION, "%s: an options file cannot name another one", where);
  return poiseOptionsInsert(o, &e);
}

PoiseErr poiseOptionsAddTable(Options *o, const OptionTable *table)
{
  for (int i = 0; i < o->ntable; i++)
    if (o->table[i].rows == table->rows) return POISE_OK;
  TRY(Reserve(o->owner, o->ntable, &o->tables, sizeof *o->table, &o->table));
  o->table[o->ntable++] = *table;
  return POISE_OK;
}

bool poiseOptionsApplicationHas(const Options *o, const char *key)
{
  for (int i = 0; i < o->ntable; i++)
    for (const PoiseOption *row = o->table[i].rows; o->table[i].application && row->key; row++)
      if (!strcmp(row->key, key)) return true;
  return false;
}
