/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The syntax of options in a text: "-key value" pairs, words between blanks, quotes, comments after '#'. A
  value stands on the line of its key.
*/
#include <ctype.h>

#include "options_list.h"
#include "sys/sys.h"

enum { PLACE = 512 }; /* bytes of "file:line", for messages */

typedef struct Text { /* text that is read word by word; words are cut out in place */
  const char *name;   /* name of the file, or NULL */
  char *at;
  int line;
  bool newline; /* the newline was overwritten by the end of the last word */
  enum { END, NEWLINE, KEY, VALUE } kind;
  char *word;
} Text;

bool poiseOptionsIsKey(const char *s)
{
  return s[0] == '-' && s[1] && s[1] != '.' && !isdigit((unsigned char)s[1]);
}

static void Where(const Text *t, OptionSource source, char where[PLACE])
{
  if (t->name)
    snprintf(where, PLACE, "%s:%d", t->name, t->line);
  else
    snprintf(where, PLACE, "%s", source == ENVIRONMENT ? "POISE_OPTIONS" : "code");
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
  t->kind = first == '-' && poiseOptionsIsKey(t->word) ? KEY : VALUE;
  return POISE_OK;
}

static PoiseErr Next(Text *t, OptionSource source)
{
  char where[PLACE];
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

/* Read the value of the key just read, if there is one on its line. */
static PoiseErr ReadPair(Options *o, int rank, OptionSource source, Text *t)
{
  char where[PLACE], *key = t->word + 1, *value = NULL;
  Where(t, source, where);
  if (*key == '-') FAIL(POISE_ERR_OPTION, "%s: '-%.80s' has more than one '-'", where, key);
  TRY(Next(t, source));
  if (t->kind == VALUE) {
    value = t->word;
    TRY(Next(t, source));
  }
  return poiseOptionsAdd(o, rank, source, key, value, where);
}

PoiseErr poiseOptionsReadText(Options *o, int rank, OptionSource source, char *text, const char *name)
{
  char where[PLACE];
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

PoiseErr poiseOptionsReadCopy(Options *o, int rank, OptionSource source, const char *text)
{
  char *copy;
  TRY(poiseStringCopy(o->owner, text, &copy));
  PoiseErr e = poiseOptionsReadText(o, rank, source, copy, NULL);
  poiseFree(o->owner, &copy);
  return e;
}
