/* SPDX-License-Identifier: BSD-3-Clause */
/* What options there are: -help, and the reference page in Markdown. */
#include <errno.h>

#include "options_list.h"
#include "options_values.h"
#include "sys/sys.h"

static const char *TypeName(PoiseOptionType type)
{
  static const char *const names[] = {[POISE_OPTION_BOOL] = "yes|no",
                                      [POISE_OPTION_INT] = "integer",
                                      [POISE_OPTION_REAL] = "real",
                                      [POISE_OPTION_STRING] = "text",
                                      [POISE_OPTION_CHOICE] = "word"};
  return names[type];
}

PoiseErr poiseOptionsWritten(FILE *out, const char *what)
{
  if (fflush(out) || ferror(out)) FAIL(POISE_ERR_FILE, "%s cannot be written: %s", what, strerror(errno));
  return POISE_OK;
}

/* Which values are legal; "": any. */
static const char *Values(const PoiseOption *row, char text[OPTION_WORD])
{
  if (row->type == POISE_OPTION_STRING) return row->choices ? "may stand alone" : "";
  return row->choices ? row->choices : poiseOptionRange(row, text);
}

static bool NewHeading(const Options *o, int i)
{
  return i == 0 || strcmp(o->table[i].heading, o->table[i - 1].heading);
}

/* ---- -help ----------------------------------------------------------------------------------- */

static void HelpRow(const PoiseOption *row, const char *prefix, FILE *out)
{
  char range[OPTION_WORD];
  const char *values = Values(row, range);
  int width = fprintf(out, "  -%s%s <%s>", prefix, row->key, TypeName(row->type));
  fprintf(out, "%*s%s (%s%s", width < 36 ? 36 - width : 1, "", row->help ? row->help : "",
          row->initial && *row->initial ? "default " : "no default", row->initial ? row->initial : "");
  fprintf(out, "%s%s)\n", *values ? "; " : "", values);
}

static PoiseErr WriteHelp(const Options *o, FILE *out)
{
  if (o->about) fprintf(out, "%s\n\n", o->about);
  fprintf(
      out,
      "Options, from the weakest source to the strongest: the program's code, environment POISE_OPTIONS,\n"
      "-%soptions_file <file>, command line.\n",
      poisePrefix(o));
  for (int i = 0; i < o->ntable; i++) {
    if (NewHeading(o, i)) fprintf(out, "\n%s\n", o->table[i].heading);
    for (const PoiseOption *row = o->table[i].rows; row->key; row++) HelpRow(row, poisePrefix(o), out);
  }
  return poiseOptionsWritten(out, "the help");
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

/* ---- the reference --------------------------------------------------------------------------- */

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
  char range[OPTION_WORD];
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
  for (int i = 0; i < o->ntable; i++) {
    if (NewHeading(o, i))
      fprintf(out,
              "\n## %s\n\n| Option | Type | Default | Values | Meaning |\n| --- | --- | --- | --- | --- |\n",
              o->table[i].heading);
    for (const PoiseOption *row = o->table[i].rows; row->key; row++) MarkdownRow(row, out);
  }
  return poiseOptionsWritten(out, "the option reference");
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
