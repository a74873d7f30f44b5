/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Options: one list of keys and values with the source of each, and the tables that define the options.

  Ranks that are threads share the list, so it is locked. The context that made it owns it, and counts its
  memory. A thread rank's options from code are its own, as ranks reach the same statement at different times.
  MPI ranks all use the environment, files and command line of rank 0, as launchers do not promise them to
  other ranks.
*/
#define _POSIX_C_SOURCE 200809L
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <strings.h>

#include "sys.h"

typedef enum { CODE, ENVIRONMENT, OPTIONS_FILE, COMMAND_LINE } Source; /* the later overrides */

typedef struct Entry {
  char *key;   /* as it was given; from the command line without the context's prefix */
  char *value; /* NULL when none was given */
  char *where; /* for messages */
  Source source;
  int rank;          /* the thread rank that set it, or EVERY_RANK */
  int64_t turn;      /* counts settings: a later one overrides */
  bool used, told;   /* told: it was warned of as unknown */
  uint64_t prefixes; /* bit n: its first n letters are the prefix of an object that has asked for options */
} Entry;

typedef struct Heading {
  const char *text;
  const PoiseOption *table;
  bool application;
} Heading;

struct Options {
  PoiseContext owner;
  pthread_mutex_t lock;
  char *prefix, *about; /* of PoiseInit; may be NULL */
  Entry *entry;
  Heading *heading;
  int nentry, entries, nheading, headings; /* in use, allocated */
  int64_t turns;
};

enum { EVERY_RANK = -1, WORD_LENGTH = 64, REASON = 512, SHOWN = 80, CHUNK = 1 << 16, FILE_LIMIT = 1 << 20 };

static const char *Prefix(const Options *o)
{
  return o->prefix ? o->prefix : "";
}

static int RankOf(PoiseContext ctx)
{
  PoiseContext home = poiseContextHome(ctx);
  return home->parent ? home->comm->rank : EVERY_RANK;
}

/* ---- closest words --------------------------------------------------------------------------- */

static int Min(int a, int b)
{
  return a < b ? a : b;
}

/* Insertions, deletions, replacements and swaps of neighbours between two texts; INT32_MAX for long ones. */
static int Distance(const char *a, size_t na, const char *b, size_t nb)
{
  int row[3][WORD_LENGTH + 1];
  if (na > WORD_LENGTH || nb > WORD_LENGTH) return INT32_MAX;
  for (size_t j = 0; j <= nb; j++) row[0][j] = (int)j;
  for (size_t i = 1; i <= na; i++) {
    int *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];
    now[0] = (int)i;
    for (size_t j = 1; j <= nb; j++) {
      now[j] = Min(Min(now[j - 1], last[j]) + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        now[j] = Min(now[j], before[j - 2] + 1);
    }
  }
  return row[na % 3][nb];
}

/* Is a text of n letters with so many mistakes still likely to mean the word? */
static bool Near(int distance, size_t n)
{
  return distance < (int)n && distance <= (n < 6 ? 1 : (int)n / 3);
}

const char *poiseClosest(const char *s, int count, const char *const *words)
{
  const char *closest = NULL;
  int least = INT32_MAX;
  for (int i = 0; i < count; i++) {
    int distance = Distance(s, strlen(s), words[i], strlen(words[i]));
    if (distance >= least || !Near(distance, strlen(s))) continue;
    least = distance;
    closest = words[i];
  }
  return closest;
}

PoiseErr poiseUnknownWord(const char *what, const char *word, int count, const char *const *words)
{
  char all[512] = "", meant[SHOWN + 32] = "";
  const char *closest = poiseClosest(word, count, words);
  if (closest) snprintf(meant, sizeof meant, "did you mean '%s'? ", closest);
  for (int k = 0, n = 0; k < count && n < (int)sizeof all; k++)
    n += snprintf(all + n, sizeof all - (size_t)n, "%s%s", k ? ", " : "", words[k]);
  FAIL(POISE_ERR_OPTION, "there is no %s '%.*s'; %sthere are %s", what, SHOWN, word, meant, all);
}

/* ---- values ---------------------------------------------------------------------------------- */

typedef struct Word {        /* a word of a list of choices */
  const char *name, *target; /* target: the word that an alias stands for, else NULL */
  size_t name_length, target_length;
} Word;

static bool NextWord(const char **choices, Word *w)
{
  if (!*choices || !**choices) return false;
  size_t n = strcspn(*choices, "|");
  *w = (Word){.name = *choices, .name_length = n};
  const char *equal = memchr(*choices, '=', n);
  if (equal) {
    w->name_length = (size_t)(equal - *choices);
    w->target = equal + 1;
    w->target_length = n - w->name_length - 1;
  }
  *choices += n + ((*choices)[n] == '|');
  return true;
}

/* The index of a word that is no alias, or -1. */
static int IndexOf(const char *choices, const char *text, size_t n)
{
  Word w;
  for (int i = 0; NextWord(&choices, &w); i += !w.target)
    if (!w.target && w.name_length == n && !strncasecmp(w.name, text, n)) return i;
  return -1;
}

static int FindChoice(const char *choices, const char *text)
{
  Word w;
  size_t n = strlen(text);
  for (const char *c = choices; NextWord(&c, &w);)
    if (w.target && w.name_length == n && !strncasecmp(w.name, text, n))
      return IndexOf(choices, w.target, w.target_length);
  return IndexOf(choices, text, n);
}

static bool ParseChoice(const PoiseOption *row, const char *text, int *value, char reason[REASON])
{
  Word w, closest = {0};
  int least = INT32_MAX;
  *value = FindChoice(row->choices, text);
  if (*value >= 0) return true;
  for (const char *c = row->choices; NextWord(&c, &w);) {
    int distance = Distance(text, strlen(text), w.name, w.name_length);
    if (distance >= least || !Near(distance, strlen(text))) continue;
    least = distance;
    closest = w;
  }
  int n = snprintf(reason, REASON, "not one of %.300s", row->choices ? row->choices : "no words");
  if (closest.name)
    snprintf(reason + n, (size_t)(REASON - n), "; did you mean '%.*s'?", (int)closest.name_length,
             closest.name);
  return false;
}

static bool ParseBool(const char *text, int *value, char reason[REASON])
{
  static const char *const words[] = {"no", "yes", "false", "true", "off", "on", "0", "1"};
  for (int i = 0; i < 8; i++) {
    if (strcasecmp(text, words[i])) continue;
    *value = i % 2;
    return true;
  }
  snprintf(reason, REASON, "not yes or no");
  return false;
}

bool poiseOptionsYesNo(const char *text, int *value)
{
  char reason[REASON];
  return ParseBool(text, value, reason);
}

/* "3 .. 7", ">= 3", "<= 7", or "" when any value is legal. */
static const char *RangeText(const PoiseOption *row, char text[WORD_LENGTH])
{
  const double huge = row->type == POISE_OPTION_INT ? 9e18 : 1e300;
  if ((row->min == 0 && row->max == 0) || (row->min <= -huge && row->max >= huge)) return "";
  if (row->max >= huge)
    snprintf(text, WORD_LENGTH, ">= %.12g", row->min);
  else if (row->min <= -huge)
    snprintf(text, WORD_LENGTH, "<= %.12g", row->max);
  else
    snprintf(text, WORD_LENGTH, "%.12g .. %.12g", row->min, row->max);
  return text;
}

static bool InRange(const PoiseOption *row, double value, char reason[REASON])
{
  char range[WORD_LENGTH];
  if ((row->min == 0 && row->max == 0) || (value >= row->min && value <= row->max)) return true;
  snprintf(reason, REASON, "out of range, which is %s", RangeText(row, range));
  return false;
}

static bool ParseInt(const PoiseOption *row, const char *text, PoiseInt *value, char reason[REASON])
{
  char *end;
  errno = 0;
  long long v = strtoll(text, &end, 10);
  if (end == text || *end || errno || isspace((unsigned char)*text)) {
    snprintf(reason, REASON, errno ? "does not fit into 64 bits" : "not an integer");
    return false;
  }
  *value = v;
  return InRange(row, (double)v, reason);
}

static bool ParseReal(const PoiseOption *row, const char *text, double *value, char reason[REASON])
{
  char *end;
  errno = 0;
  double v = strtod(text, &end);
  if (end == text || *end || isnan(v) || isspace((unsigned char)*text)) {
    snprintf(reason, REASON, "not a number");
    return false;
  }
  if (isinf(v) && errno) {
    snprintf(reason, REASON, "too large for a number of double precision");
    return false;
  }
  *value = v;
  return InRange(row, v, reason);
}

static bool ParseString(const char *text, char value[POISE_OPTION_LENGTH], char reason[REASON])
{
  size_t n = strlen(text);
  if (n >= POISE_OPTION_LENGTH) {
    snprintf(reason, REASON, "%zu characters, of which at most %d fit", n, POISE_OPTION_LENGTH - 1);
    return false;
  }
  memcpy(value, text, n + 1);
  return true;
}

static size_t FieldSize(PoiseOptionType type)
{
  static const size_t size[] = {[POISE_OPTION_BOOL] = sizeof(int),
                                [POISE_OPTION_INT] = sizeof(PoiseInt),
                                [POISE_OPTION_REAL] = sizeof(double),
                                [POISE_OPTION_STRING] = POISE_OPTION_LENGTH,
                                [POISE_OPTION_CHOICE] = sizeof(int)};
  return size[type];
}

static bool ParseTyped(const PoiseOption *row, const char *text, void *value, char reason[REASON])
{
  switch (row->type) {
  case POISE_OPTION_BOOL:
    return ParseBool(text, value, reason);
  case POISE_OPTION_INT:
    return ParseInt(row, text, value, reason);
  case POISE_OPTION_REAL:
    return ParseReal(row, text, value, reason);
  case POISE_OPTION_STRING:
    return ParseString(text, value, reason);
  case POISE_OPTION_CHOICE:
    return ParseChoice(row, text, value, reason);
  }
  return false;
}

/* The value of a key that stands alone; NULL: it needs a value. */
static const char *Alone(const PoiseOption *row)
{
  if (row->type == POISE_OPTION_BOOL) return "yes";
  if (row->type == POISE_OPTION_STRING) return row->choices;
  return row->type == POISE_OPTION_CHOICE && FindChoice(row->choices, "") >= 0 ? "" : NULL;
}

/* Set the row's field from text (NULL: the key stood alone). If the text is malformed, leave the field and
   give the reason. */
static bool Parse(const PoiseOption *row, const char *text, void *fields, char reason[REASON])
{
  _Alignas(8) char value[POISE_OPTION_LENGTH];
  if (!text) text = Alone(row);
  if (!text) {
    snprintf(reason, REASON, "needs a value");
    return false;
  }
  NumberLocale numbers = poiseScalarsBegin();
  bool good = ParseTyped(row, text, value, reason);
  poiseScalarsEnd(numbers);
  if (good)
    memcpy((char *)fields + row->offset, value,
           row->type == POISE_OPTION_STRING ? strlen(text) + 1 : FieldSize(row->type));
  return good;
}

/* ---- the list -------------------------------------------------------------------------------- */

static bool SameText(const char *a, const char *b)
{
  return a == b || (a && b && !strcmp(a, b));
}

/* The key behind the context's prefix, or NULL. A key that is only the prefix has none. */
static const char *Behind(const Options *o, const char *key)
{
  size_t n = strlen(Prefix(o));
  return !strncmp(key, Prefix(o), n) && key[n] ? key + n : NULL;
}

static bool Matches(const char *given, const char *prefix, const char *key)
{
  size_t n = strlen(prefix);
  return given && !strncmp(given, prefix, n) && !strcmp(given + n, key);
}

/* Is this the key? The environment, files and code may leave out the context's prefix, and an option's own
   name may begin with it: both forms match. */
static bool HasKey(const Options *o, const Entry *e, const char *prefix, const char *key)
{
  return Matches(e->key, prefix, key) ||
         (e->source != COMMAND_LINE && Matches(Behind(o, e->key), prefix, key));
}

/* The key without the context's prefix, if it was given with it, for messages. */
static const char *Own(const Options *o, const Entry *e)
{
  const char *own = e->source == COMMAND_LINE ? NULL : Behind(o, e->key);
  return own ? own : e->key;
}

/* Note that this prefix is in use, to know which part of an unknown key is a prefix. */
static void NotePrefix(const Options *o, Entry *e, const char *prefix)
{
  size_t n = strlen(prefix);
  if (n < 64 && !strncmp(Own(o, e), prefix, n)) e->prefixes |= (uint64_t)1 << n;
}

static bool Visible(const Entry *e, int rank)
{
  return e->rank == EVERY_RANK || e->rank == rank;
}

static bool Overrides(const Entry *a, const Entry *b)
{
  if (a->source != b->source) return a->source > b->source;
  if (a->rank != b->rank) return a->rank != EVERY_RANK;
  return a->turn > b->turn;
}

/* The entry that holds for a rank: that of the highest source, and its own before everybody's. Marked as
   used. NULL: not given. */
static const Entry *Find(Options *o, int rank, const char *prefix, const char *key)
{
  const Entry *found = NULL;
  for (int i = 0; i < o->nentry; i++) {
    Entry *e = &o->entry[i];
    if (!Visible(e, rank)) continue;
    NotePrefix(o, e, prefix);
    if (!HasKey(o, e, prefix, key)) continue;
    e->used = true;
    if (!found || Overrides(e, found)) found = e;
  }
  return found;
}

static void Clear(PoiseContext ctx, Entry *e)
{
  poiseFree(ctx, &e->key);
  poiseFree(ctx, &e->value);
  poiseFree(ctx, &e->where);
}

static PoiseErr Copy(PoiseContext ctx, const Entry *from, Entry *to)
{
  *to = (Entry){.source = from->source, .rank = from->rank};
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
static PoiseErr Store(Options *o, int at, const Entry *given)
{
  Entry copy, *e = &o->entry[at];
  PoiseErr failed = Copy(o->owner, given, &copy);
  copy.turn = ++o->turns;
  if (failed) {
    Clear(o->owner, &copy);
    return failed;
  }
  if (at < o->nentry) {
    copy.used = e->used;
    copy.prefixes = e->prefixes;
    Clear(o->owner, e);
  } else {
    o->nentry++;
  }
  *e = copy;
  return POISE_OK;
}

/* Add or replace an entry, unless a higher source has set it. An unchanged value keeps its address, which
   may be lent. */
static PoiseErr Insert(Options *o, const Entry *given)
{
  int at = 0;
  while (at < o->nentry && (o->entry[at].rank != given->rank || strcmp(o->entry[at].key, given->key))) at++;
  if (at < o->nentry) {
    Entry *old = &o->entry[at];
    if (old->source > given->source) return POISE_OK;
    if (old->source == given->source) old->turn = ++o->turns;
    if (old->source == given->source && SameText(old->value, given->value)) return POISE_OK;
  }
  TRY(Reserve(o->owner, o->nentry, &o->entries, sizeof *o->entry, &o->entry));
  return Store(o, at, given);
}

/* ---- texts and the command line -------------------------------------------------------------- */

typedef struct Text { /* text that is read word by word; words are cut out in place */
  const char *name;   /* name of the file, or NULL */
  char *at;
  int line;
  bool newline; /* the newline was overwritten by the end of the last word */
  enum { END, NEWLINE, KEY, VALUE } kind;
  char *word;
} Text;

/* -1e3 and - are values. */
static bool IsKey(const char *s)
{
  return s[0] == '-' && s[1] && s[1] != '.' && !isdigit((unsigned char)s[1]);
}

static void Where(const Text *t, Source source, char where[REASON])
{
  if (t->name)
    snprintf(where, REASON, "%s:%d", t->name, t->line);
  else
    snprintf(where, REASON, "%s", source == ENVIRONMENT ? "POISE_OPTIONS" : "code");
}

/* Cut out one word; quotes protect blanks in it. */
static PoiseErr ReadWord(Text *t, const char *where)
{
  char quote = 0, first = *t->at, *to = t->at;
  t->word = to;
  for (; *t->at && *t->at != '\n' && (quote || !isspace((unsigned char)*t->at)); t->at++) {
    if (quote ? *t->at == quote : *t->at == '"' || *t->at == '\'')
      quote = quote ? 0 : *t->at;
    else
      *to++ = *t->at;
  }
  if (quote) FAIL(POISE_ERR_OPTION, "%s: a quote %c is not closed on its line", where, quote);
  t->newline = *t->at == '\n';
  if (*t->at) t->at++;
  *to = 0;
  t->kind = first == '-' && IsKey(t->word) ? KEY : VALUE;
  return POISE_OK;
}

static PoiseErr Next(Text *t, Source source)
{
  char where[REASON];
  if (!t->newline) {
    while (*t->at != '\n' && isspace((unsigned char)*t->at)) t->at++;
    if (*t->at == '#') t->at += strcspn(t->at, "\n");
    t->kind = *t->at ? NEWLINE : END;
    if (!*t->at) return POISE_OK;
    Where(t, source, where);
    if (*t->at != '\n') return ReadWord(t, where);
    t->at++;
  }
  t->newline = false;
  t->kind = NEWLINE;
  t->line++;
  return POISE_OK;
}

/* Add one pair. On the command line, which is shared with others, the key must have the context's prefix. */
static PoiseErr AddPair(Options *o, int rank, Source source, const char *key, char *value, char *where)
{
  Entry e = {.key = (char *)key, .value = value, .where = where, .source = source, .rank = rank};
  if (source == COMMAND_LINE) e.key = (char *)Behind(o, key);
  if (!e.key) return POISE_OK;
  if (source == OPTIONS_FILE && HasKey(o, &e, "", "options_file"))
    FAIL(POISE_ERR_OPTION, "%s: an options file cannot name another one", where);
  return Insert(o, &e);
}

/* Read the value of the key just read, if there is one on its line. */
static PoiseErr ReadPair(Options *o, int rank, Source source, Text *t)
{
  char where[REASON], *key = t->word + 1, *value = NULL;
  Where(t, source, where);
  if (*key == '-') FAIL(POISE_ERR_OPTION, "%s: '-%.80s' has more than one '-'", where, key);
  TRY(Next(t, source));
  if (t->kind == VALUE) {
    value = t->word;
    TRY(Next(t, source));
  }
  return AddPair(o, rank, source, key, value, where);
}

static PoiseErr ReadText(Options *o, int rank, Source source, char *text, const char *name)
{
  char where[REASON];
  Text t = {.name = name, .at = text, .line = 1};
  TRY(Next(&t, source));
  while (t.kind != END) {
    Where(&t, source, where);
    if (t.kind == VALUE)
      FAIL(POISE_ERR_OPTION, "%s: '%.80s' is neither an option (-key) nor the value of one", where, t.word);
    if (t.kind == KEY)
      TRY(ReadPair(o, rank, source, &t));
    else
      TRY(Next(&t, source));
  }
  return POISE_OK;
}

static PoiseErr ReadTextCopy(Options *o, int rank, Source source, const char *text)
{
  char *copy;
  TRY(poiseStringCopy(o->owner, text, &copy));
  PoiseErr e = ReadText(o, rank, source, copy, NULL);
  poiseFree(o->owner, &copy);
  return e;
}

static bool ApplicationHas(const Options *o, const char *key)
{
  for (int i = 0; i < o->nheading; i++)
    for (const PoiseOption *row = o->heading[i].table; o->heading[i].application && row->key; row++)
      if (!strcmp(row->key, key)) return true;
  return false;
}

/* The option that --help, -h and --version mean if no prefix marks Poise's words; else NULL. */
static const char *Question(const Options *o, const char *word, bool has)
{
  if (*Prefix(o)) return NULL;
  if (!strcmp(word, "--help") || (!strcmp(word, "-h") && !has && !ApplicationHas(o, "h"))) return "help";
  return strcmp(word, "--version") ? NULL : "version";
}

/* Words that are neither "-key" nor its value, and all words behind "--", belong to the application. */
static PoiseErr ReadCommandLine(Options *o, int argc, char **argv)
{
  char where[] = "command line";
  for (int i = 1; i < argc && argv[i] && strcmp(argv[i], "--"); i++) {
    bool has = i + 1 < argc && argv[i + 1] && !IsKey(argv[i + 1]);
    const char *question = Question(o, argv[i], has), *key = argv[i] + 1;
    if (question) {
      TRY(AddPair(o, EVERY_RANK, COMMAND_LINE, question, NULL, where));
      continue;
    }
    if (!IsKey(argv[i]) || *key == '-') continue;
    TRY(AddPair(o, EVERY_RANK, COMMAND_LINE, key, has ? argv[++i] : NULL, where));
  }
  return POISE_OK;
}

/* *text = the file's content, which ends in a 0. */
static PoiseErr Slurp(PoiseContext ctx, const char *path, FILE *f, char **text)
{
  size_t n = 0, room = 0;
  do {
    room += CHUNK;
    TRY(poiseRealloc(ctx, room + 1, n, "options file", text));
    n += fread(*text + n, 1, room - n, f);
    if (ferror(f)) FAIL(POISE_ERR_FILE, "options file '%s' cannot be read: %s", path, strerror(errno));
    if (n > FILE_LIMIT) FAIL(POISE_ERR_FORMAT, "options file '%s' has more than %d bytes", path, FILE_LIMIT);
  } while (n == room);
  (*text)[n] = 0;
  if (strlen(*text) < n)
    FAIL(POISE_ERR_FORMAT, "options file '%s' is not a text: byte %zu is 0", path, strlen(*text) + 1);
  return POISE_OK;
}

static PoiseErr ReadFile(Options *o, const char *path)
{
  static const char mark[] = "\xEF\xBB\xBF"; /* some editors begin a text with it */
  char *text = NULL;
  FILE *f = fopen(path, "r");
  if (!f) FAIL(POISE_ERR_FILE, "options file '%s' cannot be opened: %s", path, strerror(errno));
  PoiseErr e = Slurp(o->owner, path, f, &text);
  fclose(f);
  if (!e) e = ReadText(o, EVERY_RANK, OPTIONS_FILE, strncmp(text, mark, 3) ? text : text + 3, path);
  poiseFree(o->owner, &text);
  return e;
}

/* ---- life ------------------------------------------------------------------------------------ */

static PoiseErr Collect(Options *o, int argc, char **argv)
{
  const char *environment = getenv("POISE_OPTIONS");
  if (environment) TRY(ReadTextCopy(o, EVERY_RANK, ENVIRONMENT, environment));
  TRY(ReadCommandLine(o, argc, argv));
  const Entry *file = Find(o, EVERY_RANK, "", "options_file");
  if (!file) return POISE_OK;
  if (!file->value || !*file->value)
    FAIL(POISE_ERR_OPTION, "-%soptions_file (%s): needs a name", Prefix(o), file->where);
  return ReadFile(o, file->value);
}

static void PackText(char **to, const char *text)
{
  size_t bytes = strlen(text) + 1;
  memcpy(*to, text, bytes);
  *to += bytes;
}

static const char *UnpackText(char **from)
{
  const char *text = *from;
  *from += strlen(text) + 1;
  return text;
}

/* Pack each entry as source, has-value, key, value, where. */
static PoiseErr Pack(Options *o, char **pack, int64_t *bytes)
{
  *bytes = 0;
  for (int i = 0; i < o->nentry; i++) {
    const Entry *e = &o->entry[i];
    *bytes += 5 + (int64_t)(strlen(e->key) + (e->value ? strlen(e->value) : 0) + strlen(e->where));
  }
  TRY(poiseAlloc(o->owner, (size_t)*bytes, "options of rank 0", pack));
  char *to = *pack;
  for (int i = 0; i < o->nentry; i++) {
    const Entry *e = &o->entry[i];
    *to++ = (char)e->source;
    *to++ = e->value != NULL;
    PackText(&to, e->key);
    PackText(&to, e->value ? e->value : "");
    PackText(&to, e->where);
  }
  return POISE_OK;
}

static PoiseErr Unpack(Options *o, char *pack, int64_t bytes)
{
  for (char *from = pack; from < pack + bytes;) {
    Entry e = {.source = (Source)*from++, .rank = EVERY_RANK};
    bool has = *from++;
    e.key = (char *)UnpackText(&from);
    e.value = (char *)UnpackText(&from);
    e.where = (char *)UnpackText(&from);
    if (!has) e.value = NULL;
    TRY(Insert(o, &e));
  }
  return POISE_OK;
}

static PoiseErr Share(PoiseContext ctx, Options *o, PoiseErr collected, char **pack)
{
  Comm *comm = ctx->comm;
  int64_t bytes = 0;
  if (!comm->rank && !collected) collected = Pack(o, pack, &bytes);
  TRY(PoiseAgree(ctx, collected));
  TRY(comm->ops->bcast(comm, &bytes, sizeof bytes, 0));
  TRY(PoiseAgree(ctx, comm->rank ? poiseAlloc(ctx, (size_t)bytes, "options of rank 0", pack) : POISE_OK));
  if (bytes) TRY(comm->ops->bcast(comm, *pack, (size_t)bytes, 0));
  return comm->rank ? Unpack(o, *pack, bytes) : POISE_OK;
}

static PoiseErr AddHeading(Options *o, const Heading *heading)
{
  for (int i = 0; i < o->nheading; i++)
    if (o->heading[i].table == heading->table) return POISE_OK;
  TRY(Reserve(o->owner, o->nheading, &o->headings, sizeof *o->heading, &o->heading));
  o->heading[o->nheading++] = *heading;
  return POISE_OK;
}

static PoiseErr Fill(Options *o, const PoiseInit *init, int argc, char **argv)
{
  if (init) {
    TRY(poiseStringCopy(o->owner, init->prefix, &o->prefix));
    TRY(poiseStringCopy(o->owner, init->help, &o->about));
    if (init->options) TRY(AddHeading(o, &(Heading){"Application", init->options, true}));
  }
  return o->owner->comm->rank ? POISE_OK : Collect(o, argc, argv);
}

PoiseErr poiseOptionsCreate(PoiseContext ctx, const PoiseInit *init, int argc, char **argv, Options **options)
{
  char *pack = NULL;
  PoiseErr e = poiseAlloc(ctx, sizeof **options, "options", options);
  if (!e) {
    (*options)->owner = ctx;
    pthread_mutex_init(&(*options)->lock, NULL);
  }
  e = PoiseAgree(ctx, e);
  if (!e) {
    e = Fill(*options, init, argc, argv);
    if (ctx->comm->size > 1) e = Share(ctx, *options, e, &pack);
  }
  poiseFree(ctx, &pack);
  if (e) poiseOptionsDestroy(options);
  return e;
}

void poiseOptionsDestroy(Options **options)
{
  Options *o = *options;
  if (!o) return;
  PoiseContext ctx = o->owner;
  for (int i = 0; i < o->nentry; i++) Clear(ctx, &o->entry[i]);
  poiseFree(ctx, &o->entry);
  poiseFree(ctx, &o->heading);
  poiseFree(ctx, &o->prefix);
  poiseFree(ctx, &o->about);
  pthread_mutex_destroy(&o->lock);
  poiseFree(ctx, options);
}

void poiseOptionsLeave(PoiseContext ctx)
{
  Options *o = ctx->options;
  int kept = 0;
  if (!ctx->parent) return;
  pthread_mutex_lock(&o->lock);
  for (int i = 0; i < o->nentry; i++) {
    if (o->entry[i].rank == RankOf(ctx))
      Clear(o->owner, &o->entry[i]);
    else
      o->entry[kept++] = o->entry[i];
  }
  o->nentry = kept;
  pthread_mutex_unlock(&o->lock);
}

PoiseErr poiseOptionsRegister(PoiseContext ctx, const char *heading, const PoiseOption *table)
{
  Options *o = ctx->options;
  pthread_mutex_lock(&o->lock);
  PoiseErr e = AddHeading(o, &(Heading){heading, table, false});
  pthread_mutex_unlock(&o->lock);
  return e;
}

/* ---- set and read ---------------------------------------------------------------------------- */

PoiseErr PoiseOptionsSet(PoiseContext ctx, const char *key, const char *value)
{
  CALLED(OBJECT(ctx), GIVEN(key));
  const char *bare = key + (*key == '-');
  if (!*bare || *bare == '-' || strpbrk(bare, " \t\r\n"))
    FAIL(POISE_ERR_ARG, "'%.80s' is not the key of an option", key);
  Options *o = ctx->options;
  char where[] = "code";
  pthread_mutex_lock(&o->lock);
  PoiseErr e = AddPair(o, RankOf(ctx), CODE, bare, (char *)value, where);
  pthread_mutex_unlock(&o->lock);
  TRY(e);
  return POISE_OK;
}

PoiseErr PoiseOptionsSetString(PoiseContext ctx, const char *text)
{
  CALLED(OBJECT(ctx), GIVEN(text));
  Options *o = ctx->options;
  pthread_mutex_lock(&o->lock);
  PoiseErr e = ReadTextCopy(o, RankOf(ctx), CODE, text);
  pthread_mutex_unlock(&o->lock);
  TRY(e);
  return POISE_OK;
}

static PoiseErr CheckType(const PoiseOption *row)
{
  if ((unsigned)row->type > POISE_OPTION_CHOICE)
    FAIL(POISE_ERR_ARG, "option -%s has type %d, which is none of PoiseOptionType", row->key, (int)row->type);
  return POISE_OK;
}

PoiseErr PoiseOptionsDefaults(const PoiseOption *table, void *fields)
{
  char reason[REASON];
  if (!table || !fields) FAIL(POISE_ERR_ARG, "PoiseOptionsDefaults: %s is NULL", table ? "fields" : "table");
  for (const PoiseOption *row = table; row->key; row++) {
    TRY(CheckType(row));
    if (!row->initial)
      memset((char *)fields + row->offset, 0, FieldSize(row->type));
    else if (!Parse(row, row->initial, fields, reason))
      FAIL(POISE_ERR_INTERNAL, "default '%.80s' of option -%s: %s", row->initial, row->key, reason);
  }
  return POISE_OK;
}

static PoiseErr ReadTable(Options *o, int rank, const char *prefix, const PoiseOption *table, void *fields)
{
  char reason[REASON];
  for (const PoiseOption *row = table; row->key; row++) {
    const Entry *e = Find(o, rank, prefix, row->key);
    TRY(CheckType(row));
    if (!e || Parse(row, e->value, fields, reason)) continue;
    FAIL(POISE_ERR_OPTION, "-%s%s%s%.80s (%s): %s", Prefix(o), Own(o, e), e->value ? " " : "",
         e->value ? e->value : "", e->where, reason);
  }
  return POISE_OK;
}

PoiseErr PoiseOptionsRead(PoiseContext ctx, const char *prefix, const PoiseOption *table, void *fields)
{
  CALLED(OBJECT(ctx), GIVEN(table), GIVEN(fields));
  Options *o = ctx->options;
  pthread_mutex_lock(&o->lock);
  PoiseErr e = ReadTable(o, RankOf(ctx), prefix ? prefix : "", table, fields);
  pthread_mutex_unlock(&o->lock);
  TRY(e);
  return POISE_OK;
}

bool poiseOptionsApplicationHas(PoiseContext ctx, const char *key)
{
  return ApplicationHas(ctx->options, key);
}

const char *poiseOptionsPrefix(PoiseContext ctx)
{
  return Prefix(ctx->options);
}

const char *poiseOptionsName(PoiseContext ctx, const char *prefix, const char *key)
{
  static _Thread_local char names[4][POISE_OPTION_LENGTH];
  static _Thread_local int latest;
  latest = (latest + 1) % 4;
  snprintf(names[latest], POISE_OPTION_LENGTH, "-%s%s%s", poiseOptionsPrefix(ctx), prefix ? prefix : "", key);
  return names[latest];
}

PoiseErr poiseOptionsRefuse(PoiseContext ctx, const char *prefix, const char *key, PoiseErr e)
{
  Options *o = ctx->options;
  if (e != POISE_ERR_OPTION && e != POISE_ERR_UNSUPPORTED) return e;
  pthread_mutex_lock(&o->lock);
  const Entry *of = Find(o, RankOf(ctx), prefix ? prefix : "", key);
  if (of && of->value)
    (void)PoiseErrorSet(e, __func__, __FILE__, __LINE__, "-%s%s %.80s (%s): %s", Prefix(o), Own(o, of),
                        of->value, of->where, PoiseErrorMessage());
  pthread_mutex_unlock(&o->lock);
  return e;
}

int PoiseOptionsHas(PoiseContext ctx, const char *prefix, const char *key, const char **value)
{
  CALLED_OR(0, OBJECT(ctx), GIVEN(key));
  if (value) *value = NULL;
  if (!ctx || !key) return 0;
  Options *o = ctx->options;
  pthread_mutex_lock(&o->lock);
  const Entry *e = Find(o, RankOf(ctx), prefix ? prefix : "", key + (*key == '-'));
  bool found = e != NULL;
  if (e && value) *value = e->value ? e->value : "";
  pthread_mutex_unlock(&o->lock);
  return found;
}

const char *poiseOptionsChoice(const PoiseOption *table, const char *key, int value)
{
  static _Thread_local char texts[4][WORD_LENGTH]; /* one message may use up to 4 */
  static _Thread_local int latest;
  const PoiseOption *row = table;
  while (row->key && strcmp(row->key, key)) row++;
  Word w;
  const char *choices = row->key ? row->choices : NULL;
  for (int i = 0; NextWord(&choices, &w); i += !w.target) {
    if (w.target || i != value) continue;
    latest = (latest + 1) % 4;
    snprintf(texts[latest], WORD_LENGTH, "%.*s", (int)w.name_length, w.name);
    return texts[latest];
  }
  return "unknown";
}

/* ---- what there is --------------------------------------------------------------------------- */

static const char *TypeName(PoiseOptionType type)
{
  static const char *const names[] = {[POISE_OPTION_BOOL] = "yes|no",
                                      [POISE_OPTION_INT] = "integer",
                                      [POISE_OPTION_REAL] = "real",
                                      [POISE_OPTION_STRING] = "text",
                                      [POISE_OPTION_CHOICE] = "word"};
  return names[type];
}

static PoiseErr Written(FILE *out, const char *what)
{
  if (fflush(out) || ferror(out)) FAIL(POISE_ERR_FILE, "%s cannot be written: %s", what, strerror(errno));
  return POISE_OK;
}

/* Which values are legal; "": any. */
static const char *Values(const PoiseOption *row, char text[WORD_LENGTH])
{
  if (row->type == POISE_OPTION_STRING) return row->choices ? "may stand alone" : "";
  return row->choices ? row->choices : RangeText(row, text);
}

static void HelpRow(const PoiseOption *row, const char *prefix, FILE *out)
{
  char range[WORD_LENGTH];
  const char *values = Values(row, range);
  int width = fprintf(out, "  -%s%s <%s>", prefix, row->key, TypeName(row->type));
  fprintf(out, "%*s%s (%s%s", width < 36 ? 36 - width : 1, "", row->help ? row->help : "",
          row->initial && *row->initial ? "default " : "no default", row->initial ? row->initial : "");
  fprintf(out, "%s%s)\n", *values ? "; " : "", values);
}

static bool NewHeading(const Options *o, int i)
{
  return i == 0 || strcmp(o->heading[i].text, o->heading[i - 1].text);
}

static PoiseErr WriteHelp(const Options *o, FILE *out)
{
  if (o->about) fprintf(out, "%s\n\n", o->about);
  fprintf(
      out,
      "Options, from the weakest source to the strongest: the program's code, environment POISE_OPTIONS,\n"
      "-%soptions_file <file>, command line.\n",
      Prefix(o));
  for (int i = 0; i < o->nheading; i++) {
    if (NewHeading(o, i)) fprintf(out, "\n%s\n", o->heading[i].text);
    for (const PoiseOption *row = o->heading[i].table; row->key; row++) HelpRow(row, Prefix(o), out);
  }
  return Written(out, "the help");
}

PoiseErr PoiseOptionsHelp(PoiseContext ctx)
{
  CALLED(OBJECT(ctx));
  Options *o = ctx->options;
  if (ctx->comm->rank) return POISE_OK;
  pthread_mutex_lock(&o->lock);
  PoiseErr e = WriteHelp(o, ctx->out);
  pthread_mutex_unlock(&o->lock);
  return e;
}

/* Write a cell of a table whose columns are separated by '|'. */
static void Cell(FILE *out, const char *text)
{
  fputc(' ', out);
  for (; text && *text; text++) {
    if (*text == '|') fputc('\\', out);
    fputc(*text, out);
  }
  fprintf(out, " |");
}

static void MarkdownRow(const PoiseOption *row, FILE *out)
{
  char range[WORD_LENGTH];
  fprintf(out, "| `-%s` |", row->key);
  Cell(out, TypeName(row->type));
  Cell(out, row->initial);
  Cell(out, Values(row, range));
  Cell(out, row->help);
  fprintf(out, "\n");
}

static PoiseErr WriteMarkdown(const Options *o, FILE *out)
{
  fprintf(out, "# Options\n");
  for (int i = 0; i < o->nheading; i++) {
    if (NewHeading(o, i))
      fprintf(out,
              "\n## %s\n\n| Option | Type | Default | Values | Meaning |\n| --- | --- | --- | --- | --- |\n",
              o->heading[i].text);
    for (const PoiseOption *row = o->heading[i].table; row->key; row++) MarkdownRow(row, out);
  }
  return Written(out, "the option reference");
}

PoiseErr poiseOptionsMarkdown(PoiseContext ctx, FILE *out)
{
  Options *o = ctx->options;
  if (ctx->comm->rank) return POISE_OK;
  pthread_mutex_lock(&o->lock);
  PoiseErr e = WriteMarkdown(o, out);
  pthread_mutex_unlock(&o->lock);
  return e;
}

/* ---- unknown and unused options -------------------------------------------------------------- */

typedef struct Guess {
  const char *key; /* a key of a table; NULL if none is near */
  size_t skip;     /* letters of an object's prefix before it */
  int distance;
  bool application;
} Guess;

static void Compare(const Heading *h, const char *key, size_t skip, Guess *best)
{
  const char *tail = key + skip;
  size_t n = strlen(tail);
  for (const PoiseOption *row = h->table; row->key; row++) {
    int distance = Distance(tail, n, row->key, strlen(row->key));
    if (distance < best->distance && Near(distance, n))
      *best = (Guess){.key = row->key, .skip = skip, .distance = distance, .application = h->application};
  }
}

/* The closest known key. An unknown key may begin with an object's prefix, which ends in '_'. */
static Guess Closest(const Options *o, const char *key)
{
  Guess best = {.distance = INT32_MAX};
  for (const char *tail = key; tail; tail = strchr(tail, '_') ? strchr(tail, '_') + 1 : NULL)
    for (int i = 0; i < o->nheading; i++) Compare(&o->heading[i], key, (size_t)(tail - key), &best);
  return best;
}

static void Report(const Options *o, const Entry *e, const char *what, const Guess *g, FILE *out)
{
  fprintf(out, "poise: %s option -%s%s%s%s (%s): ", what, Prefix(o), Own(o, e), e->value ? " " : "",
          e->value ? e->value : "", e->where);
  if (!g->key)
    fprintf(out, "there is no such option\n");
  else if (g->distance == 0)
    fprintf(out, "it exists, but nothing asked for it\n");
  else
    fprintf(out, "did you mean -%s%.*s%s?\n", Prefix(o), (int)g->skip, Own(o, e), g->key);
}

static bool IsUnused(const Options *o, const Entry *e, int rank, Guess *g)
{
  if (e->used || !Visible(e, rank)) return false;
  *g = Closest(o, Own(o, e));
  /* an application may read its own options in its own way */
  return !(g->application && g->distance == 0 && g->skip == 0);
}

/* again: report also those that were warned of */
static int ReportAllUnused(const Options *o, int rank, bool again, FILE *out)
{
  Guess g;
  int count = 0;
  for (int i = 0; i < o->nentry; i++) {
    const Entry *e = &o->entry[i];
    if (!IsUnused(o, e, rank, &g)) continue;
    count++;
    if (out && (again || !e->told)) Report(o, e, "unused", &g, out);
  }
  return count;
}

static bool BeginsAsOurs(const char *key)
{
  static const char *const families[] = {"ksp_", "pc_", "mat_", "vec_", "device_", "log_"};
  for (int i = 0; i < 6; i++)
    if (!strncmp(key, families[i], strlen(families[i]))) return true;
  return false;
}

/* Is an unknown key clearly meant for the library, behind a prefix in use? */
static bool IsMisspelt(const Options *o, const Entry *e, Guess *g)
{
  const char *key = Own(o, e);
  for (size_t n = 0; n < 64 && n < strlen(key); n++) {
    *g = (Guess){.distance = INT32_MAX};
    if ((n && !(e->prefixes >> n & 1)) || !BeginsAsOurs(key + n)) continue;
    for (int i = 0; i < o->nheading; i++) Compare(&o->heading[i], key, n, g);
    if (g->key) return true;
  }
  return false;
}

static PoiseErr CheckKnown(const Options *o, Entry *e, FILE *out)
{
  Guess g = Closest(o, Own(o, e)), meant;
  if (g.distance == 0) return POISE_OK;
  if (IsMisspelt(o, e, &meant))
    FAIL(POISE_ERR_OPTION, "-%s%s%s%.80s (%s): there is no such option; did you mean -%s%.*s%s?", Prefix(o),
         Own(o, e), e->value ? " " : "", e->value ? e->value : "", e->where, Prefix(o), (int)meant.skip,
         Own(o, e), meant.key);
  if (!out || e->told) return POISE_OK;
  Report(o, e, "unknown", &g, out);
  e->told = true;
  return POISE_OK;
}

static PoiseErr CheckAllKnown(Options *o, int rank, FILE *out)
{
  for (int i = 0; i < o->nentry; i++) {
    Entry *e = &o->entry[i];
    if (!e->used && Visible(e, rank)) TRY(CheckKnown(o, e, out));
  }
  return POISE_OK;
}

PoiseErr poiseOptionsCheck(PoiseContext ctx, FILE *out)
{
  Options *o = ctx->options;
  pthread_mutex_lock(&o->lock);
  PoiseErr e = CheckAllKnown(o, RankOf(ctx), poiseContextHome(ctx)->comm->rank ? NULL : out);
  pthread_mutex_unlock(&o->lock);
  return e;
}

int poiseOptionsLeft(PoiseContext ctx, FILE *out)
{
  Options *o = ctx->options;
  pthread_mutex_lock(&o->lock);
  int unused = ReportAllUnused(o, RankOf(ctx), false, ctx->comm->rank ? NULL : out);
  pthread_mutex_unlock(&o->lock);
  return unused;
}

PoiseErr PoiseOptionsUnused(PoiseContext ctx, FILE *out, int *count)
{
  CALLED(OBJECT(ctx));
  Options *o = ctx->options;
  if (ctx->comm->rank) out = NULL;
  pthread_mutex_lock(&o->lock);
  int unused = ReportAllUnused(o, RankOf(ctx), true, out);
  pthread_mutex_unlock(&o->lock);
  if (count) *count = unused;
  return out ? Written(out, "the list of unused options") : POISE_OK;
}
