/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The options that a process is started with: environment POISE_OPTIONS, command line, and the file that
  -options_file names. The command line is shared with the application, whose words are passed over.
*/
#include <errno.h>

#include "options_list.h"
#include "sys/sys.h"

enum { CHUNK = 1 << 16, FILE_LIMIT = 1 << 20 };

/* The option that --help, -h and --version mean if no prefix marks Poise's words; else NULL. */
static const char *QuestionOf(const Options *o, const char *word, bool has)
{
  if (*poisePrefix(o)) return NULL;
  if (!strcmp(word, "--help") || (!strcmp(word, "-h") && !has && !poiseOptionsApplicationHas(o, "h")))
    return "help";
  return strcmp(word, "--version") ? NULL : "version";
}

/* Words that are neither "-key" nor its value, and all words after "--", belong to the application. */
static PoiseErr ReadCommandLine(Options *o, int argc, char **argv)
{
  char where[] = "command line";
  for (int i = 1; i < argc && argv[i] && strcmp(argv[i], "--"); i++) {
    bool has = i + 1 < argc && argv[i + 1] && !poiseOptionsIsKey(argv[i + 1]);
    const char *question = QuestionOf(o, argv[i], has), *key = argv[i] + 1;
    if (question) {
      TRY(poiseOptionsAdd(o, EVERY_RANK, COMMAND_LINE, question, NULL, where));
      continue;
    }
    if (!poiseOptionsIsKey(argv[i]) || *key == '-') continue;
    TRY(poiseOptionsAdd(o, EVERY_RANK, COMMAND_LINE, key, has ? argv[++i] : NULL, where));
  }
  return POISE_OK;
}

/* *text = the file's content, which ends in a 0. */
static PoiseErr ReadWhole(PoiseContext ctx, const char *path, FILE *f, char **text)
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
  PoiseErr e = ReadWhole(o->owner, path, f, &text);
  fclose(f);
  if (!e)
    e = poiseOptionsReadText(o, EVERY_RANK, OPTIONS_FILE, strncmp(text, mark, 3) ? text : text + 3, path);
  poiseFree(o->owner, &text);
  return e;
}

PoiseErr poiseOptionsCollect(Options *o, int argc, char **argv)
{
  const char *environment = getenv("POISE_OPTIONS");
  if (environment) TRY(poiseOptionsReadCopy(o, EVERY_RANK, ENVIRONMENT, environment));
  TRY(ReadCommandLine(o, argc, argv));
  const OptionEntry *file = poiseOptionsFind(o, EVERY_RANK, "", "options_file");
  if (!file) return POISE_OK;
  if (!file->value || !*file->value)
    FAIL(POISE_ERR_OPTION, "-%soptions_file (%s): needs a name", poisePrefix(o), file->where);
  return ReadFile(o, file->value);
}
