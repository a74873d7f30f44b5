/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Values of options: from text to the typed field that a table's row describes, with the range or the words
  that are legal there. A malformed value gives a reason, from which the caller makes the error.
*/
#define _POSIX_C_SOURCE 200809L
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "options.h"
#include "options_values.h"
#include "sys/base/numbers.h"
#include "sys/base/words.h"

/* ---- choices --------------------------------------------------------------------------------- */

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

static bool ParseChoice(const PoiseOption *row, const char *text, int *value, char reason[OPTION_REASON])
{
  Word w, closest = {0};
  int least = INT32_MAX;
  *value = FindChoice(row->choices, text);
  if (*value >= 0) return true;
  for (const char *c = row->choices; NextWord(&c, &w);) {
    int distance = poiseDistance(text, strlen(text), w.name, w.name_length);
    if (distance >= least || !poiseNear(distance, strlen(text))) continue;
    least = distance;
    closest = w;
  }
  int n = snprintf(reason, OPTION_REASON, "not one of %.300s", row->choices ? row->choices : "no words");
  if (closest.name)
    snprintf(reason + n, (size_t)(OPTION_REASON - n), "; did you mean '%.*s'?", (int)closest.name_length,
             closest.name);
  return false;
}

const char *poiseOptionsChoice(const PoiseOption *table, const char *key, int value)
{
  static _Thread_local char texts[4][OPTION_WORD]; /* one message may use up to 4 */
  static _Thread_local int latest;
  const PoiseOption *row = table;
  while (row->key && strcmp(row->key, key)) row++;
  Word w;
  const char *choices = row->key ? row->choices : NULL;
  for (int i = 0; NextWord(&choices, &w); i += !w.target) {
    if (w.target || i != value) continue;
    latest = (latest + 1) % 4;
    snprintf(texts[latest], OPTION_WORD, "%.*s", (int)w.name_length, w.name);
    return texts[latest];
  }
  return "unknown";
}

/* ---- other types ----------------------------------------------------------------------------- */

static bool ParseBool(const char *text, int *value, char reason[OPTION_REASON])
{
  static const char *const words[] = {"no", "yes", "false", "true", "off", "on", "0", "1"};
  for (int i = 0; i < 8; i++) {
    if (strcasecmp(text, words[i])) continue;
    *value = i % 2;
    return true;
  }
  snprintf(reason, OPTION_REASON, "not yes or no");
  return false;
}

bool poiseOptionsYesNo(const char *text, int *value)
{
  char reason[OPTION_REASON];
  return ParseBool(text, value, reason);
}

const char *poiseOptionRange(const PoiseOption *row, char text[OPTION_WORD])
{
  const double huge = row->type == POISE_OPTION_INT ? 9e18 : 1e300;
  if ((row->min == 0 && row->max == 0) || (row->min <= -huge && row->max >= huge)) return "";
  if (row->max >= huge)
    snprintf(text, OPTION_WORD, ">= %.12g", row->min);
  else if (row->min <= -huge)
    snprintf(text, OPTION_WORD, "<= %.12g", row->max);
  else
    snprintf(text, OPTION_WORD, "%.12g .. %.12g", row->min, row->max);
  return text;
}

static bool InRange(const PoiseOption *row, double value, char reason[OPTION_REASON])
{
  char range[OPTION_WORD];
  if ((row->min == 0 && row->max == 0) || (value >= row->min && value <= row->max)) return true;
  snprintf(reason, OPTION_REASON, "out of range, which is %s", poiseOptionRange(row, range));
  return false;
}

static bool ParseInt(const PoiseOption *row, const char *text, PoiseInt *value, char reason[OPTION_REASON])
{
  char *end;
  errno = 0;
  long long v = strtoll(text, &end, 10);
  if (end == text || *end || errno || isspace((unsigned char)*text)) {
    snprintf(reason, OPTION_REASON, errno ? "does not fit into 64 bits" : "not an integer");
    return false;
  }
  *value = v;
  return InRange(row, (double)v, reason);
}

static bool ParseReal(const PoiseOption *row, const char *text, double *value, char reason[OPTION_REASON])
{
  char *end;
  errno = 0;
  double v = strtod(text, &end);
  if (end == text || *end || isnan(v) || isspace((unsigned char)*text)) {
    snprintf(reason, OPTION_REASON, "not a number");
    return false;
  }
  if (isinf(v) && errno) {
    snprintf(reason, OPTION_REASON, "too large for a number of double precision");
    return false;
  }
  *value = v;
  return InRange(row, v, reason);
}

static bool ParseString(const char *text, char value[POISE_OPTION_LENGTH], char reason[OPTION_REASON])
{
  size_t n = strlen(text);
  if (n >= POISE_OPTION_LENGTH) {
    snprintf(reason, OPTION_REASON, "%zu characters, of which at most %d fit", n, POISE_OPTION_LENGTH - 1);
    return false;
  }
  memcpy(value, text, n + 1);
  return true;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static size_t FieldSize(PoiseOptionType type)
{
  static const size_t size[] = {[POISE_OPTION_BOOL] = sizeof(int),
                                [POISE_OPTION_INT] = sizeof(PoiseInt),
                                [POISE_OPTION_REAL] = sizeof(double),
                                [POISE_OPTION_STRING] = POISE_OPTION_LENGTH,
                                [POISE_OPTION_CHOICE] = sizeof(int)};
  return size[type];
}

static bool ParseTyped(const PoiseOption *row, const char *text, void *value, char reason[OPTION_REASON])
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
static const char *ValueIfAlone(const PoiseOption *row)
{
  if (row->type == POISE_OPTION_BOOL) return "yes";
  if (row->type == POISE_OPTION_STRING) return row->choices;
  return row->type == POISE_OPTION_CHOICE && FindChoice(row->choices, "") >= 0 ? "" : NULL;
}

bool poiseOptionParse(const PoiseOption *row, const char *text, void *fields, char reason[OPTION_REASON])
{
  _Alignas(8) char value[POISE_OPTION_LENGTH];
  if (!text) text = ValueIfAlone(row);
  if (!text) {
    snprintf(reason, OPTION_REASON, "needs a value");
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

PoiseErr poiseOptionCheckType(const PoiseOption *row)
{
  if ((unsigned)row->type > POISE_OPTION_CHOICE)
    FAIL(POISE_ERR_ARG, "option -%s has type %d, which is none of PoiseOptionType", row->key, (int)row->type);
  return POISE_OK;
}

PoiseErr PoiseOptionsDefaults(const PoiseOption *table, void *fields)
{
  char reason[OPTION_REASON];
  if (!table || !fields) FAIL(POISE_ERR_ARG, "PoiseOptionsDefaults: %s is NULL", table ? "fields" : "table");
  for (const PoiseOption *row = table; row->key; row++) {
    TRY(poiseOptionCheckType(row));
    if (!row->initial)
      memset((char *)fields + row->offset, 0, FieldSize(row->type));
    else if (!poiseOptionParse(row, row->initial, fields, reason))
      FAIL(POISE_ERR_INTERNAL, "default '%.80s' of option -%s: %s", row->initial, row->key, reason);
  }
  return POISE_OK;
}

bool poiseOptionsCopy(const PoiseOption *table, const void *from, void *to)
{
  bool differs = false;
  for (const PoiseOption *row = table; row->key; row++) {
    const char *f = (const char *)from + row->offset;
    char *t = (char *)to + row->offset;
    size_t bytes = FieldSize(row->type);
    differs = differs || memcmp(f, t, bytes);
    memcpy(t, f, bytes);
  }
  return differs;
}
