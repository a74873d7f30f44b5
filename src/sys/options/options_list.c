/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The list of keys and values: which entry holds for a rank, and what a new one overrides. A key may be given
  with or without the context's prefix. Also the list of tables.
*/
#include "options_list.h"
#include "sys/sys.h"

int poiseOptionsRank(PoiseContext ctx)
{
  PoiseContext home = poiseContextHome(ctx);
  return home->parent ? home->comm->rank : EVERY_RANK;
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* The key after the context's prefix, or NULL. A key that is only the prefix has none. */
static const char *AfterPrefix(const Options *o, const char *key)
{
  size_t n = strlen(poisePrefix(o));
  return !strncmp(key, poisePrefix(o), n) && key[n] ? key + n : NULL;
}

const char *poiseOptionsKey(const Options *o, const OptionEntry *e)
{
  const char *own = e->source == COMMAND_LINE ? NULL : AfterPrefix(o, e->key);
  return own ? own : e->key;
}

/* Compare a key with three texts in a row. */
static int Compare(const char *key, const char *const parts[3])
{
  for (int i = 0; i < 3; i++) {
    size_t n = strlen(parts[i]);
    int difference = strncmp(key, parts[i], n);
    if (difference) return difference;
    key += n;
  }
  return *key != 0;
}

/* The first place in the order whose key is not before this one. */
static int PlaceOf(const Options *o, const char *const parts[3])
{
  int begin = 0, end = o->nentry;
  while (begin < end) {
    int middle = begin + (end - begin) / 2;
    if (Compare(o->entry[o->order[middle]].key, parts) < 0)
      begin = middle + 1;
    else
      end = middle;
  }
  return begin;
}

/* The entry at this place of the order, or NULL if its key is not this one. */
static OptionEntry *At(const Options *o, int place, const char *const parts[3])
{
  OptionEntry *e = place < o->nentry ? &o->entry[o->order[place]] : NULL;
  return e && !Compare(e->key, parts) ? e : NULL;
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

static void NotePrefixOfAll(Options *o, int rank, const char *before, const char *prefix)
{
  const char *const parts[] = {before, prefix, ""};
  size_t skip = strlen(before);
  for (int k = PlaceOf(o, parts); k < o->nentry; k++) {
    OptionEntry *e = &o->entry[o->order[k]];
    if (strncmp(e->key, before, skip) || strncmp(e->key + skip, prefix, strlen(prefix))) return;
    if (poiseOptionsVisible(e, rank)) NotePrefix(o, e, prefix);
  }
}

/* Find the key in one of its forms; *found is what has been found in another. */
static void FindForm(Options *o, int rank, const char *const parts[3], const OptionEntry **found)
{
  OptionEntry *e;
  for (int k = PlaceOf(o, parts); (e = At(o, k, parts)); k++) {
    if (!poiseOptionsVisible(e, rank) || (*parts[0] && e->source == COMMAND_LINE)) continue;
    e->used = true;
    if (!*found || Overrides(e, *found)) *found = e;
  }
}

/* The environment, files and code may leave out the context's prefix, and an option's own name may begin with
   it: both forms are this key. */
static const OptionEntry *FindExactly(Options *o, int rank, const char *prefix, const char *key)
{
  const char *const forms[2] = {"", poisePrefix(o)};
  const OptionEntry *found = NULL;
  for (int f = 0; f < (*forms[1] ? 2 : 1); f++) {
    if (*prefix) NotePrefixOfAll(o, rank, forms[f], prefix);
    FindForm(o, rank, (const char *const[3]){forms[f], prefix, key}, &found);
  }
  return found;
}

/* A prefix without the number of a level, mg_levels_ for mg_levels_2_, is that of all levels. Returns whether
   there was a number, of any of those in the prefix. */
static bool LeaveOutLevels(const char *prefix, char general[POISE_OPTION_LENGTH])
{
  static const char levels[] = "mg_levels_";
  size_t n = 0, word = sizeof levels - 1;
  bool left = false;
  for (const char *p = prefix; *p && n + 1 < POISE_OPTION_LENGTH; general[n++] = *p++) {
    size_t digits = n >= word && !strncmp(general + n - word, levels, word) ? strspn(p, "0123456789") : 0;
    if (!digits || p[digits] != '_') continue;
    left = true;
    p += digits + 1;
    if (!*p) break;
  }
  general[n] = 0;
  return left;
}

const OptionEntry *poiseOptionsFind(Options *o, int rank, const char *prefix, const char *key)
{
  char general[POISE_OPTION_LENGTH];
  const OptionEntry *found = FindExactly(o, rank, prefix, key);
  return found || !LeaveOutLevels(prefix, general) ? found : FindExactly(o, rank, general, key);
}

bool poiseOptionsWasUsed(const Options *o, int rank, const char *key)
{
  const char *const parts[] = {key, "", ""};
  const OptionEntry *e;
  for (int k = PlaceOf(o, parts); (e = At(o, k, parts)); k++)
    if (e->used && poiseOptionsVisible(e, rank)) return true;
  return false;
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

/* The place in the order of a rank's entry of this key. *found: there is one; else it would come there. */
static int PlaceOfEntry(const Options *o, int rank, const char *key, bool *found)
{
  const char *const parts[] = {key, "", ""};
  const OptionEntry *e;
  int place = PlaceOf(o, parts);
  while ((e = At(o, place, parts)) && e->rank != rank) place++;
  *found = e != NULL;
  return place;
}

PoiseErr poiseOptionsInsert(Options *o, const OptionEntry *given)
{
  bool found;
  int place = PlaceOfEntry(o, given->rank, given->key, &found);
  if (found) {
    OptionEntry *old = &o->entry[o->order[place]];
    if (old->source > given->source) return POISE_OK;
    if (old->source == given->source) old->turn = ++o->turns;
    if (old->source == given->source && SameText(old->value, given->value)) return POISE_OK;
    return Store(o, o->order[place], given);
  }
  TRY(Reserve(o->owner, o->nentry, &o->entries, sizeof *o->entry, &o->entry));
  TRY(Reserve(o->owner, o->nentry, &o->orders, sizeof *o->order, &o->order));
  TRY(Store(o, o->nentry, given));
  int last = o->nentry - 1;
  memmove(o->order + place + 1, o->order + place, (size_t)(last - place) * sizeof *o->order);
  o->order[place] = last;
  return POISE_OK;
}

PoiseErr poiseOptionsAdd(Options *o, int rank, OptionSource source, const char *key, char *value, char *where)
{
  OptionEntry e = {.key = (char *)key, .value = value, .where = where, .source = source, .rank = rank};
  if (source == COMMAND_LINE) e.key = (char *)AfterPrefix(o, key);
  if (!e.key) return POISE_OK;
  if (source == OPTIONS_FILE &&
      (!strcmp(key, "options_file") || SameText(AfterPrefix(o, key), "options_file")))
    FAIL(POISE_ERR_OPTION, "%s: an options file cannot name another one", where);
  return poiseOptionsInsert(o, &e);
}

/* ---- removing -------------------------------------------------------------------------------- */

/* Remove the entry at this place of the order. The last entry takes its slot. */
static void Remove(Options *o, int place)
{
  bool found;
  int at = o->order[place], last = o->nentry - 1;
  const OptionEntry *moved = &o->entry[last];
  o->order[PlaceOfEntry(o, moved->rank, moved->key, &found)] = at;
  poiseOptionsClear(o->owner, &o->entry[at]);
  o->entry[at] = *moved;
  memmove(o->order + place, o->order + place + 1, (size_t)(last - place) * sizeof *o->order);
  o->nentry = last;
}

void poiseOptionsForget(Options *o, int rank, const char *key)
{
  bool found;
  int place = PlaceOfEntry(o, rank, key, &found);
  if (found && o->entry[o->order[place]].source == CODE) Remove(o, place);
}

void poiseOptionsForgetRank(Options *o, int rank)
{
  for (int place = o->nentry - 1; place >= 0; place--)
    if (o->entry[o->order[place]].rank == rank) Remove(o, place);
}

/* ---- tables ---------------------------------------------------------------------------------- */

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
