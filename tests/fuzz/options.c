/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Options. An input is a command line (the first line, words separated by blanks) and an options text (the
  rest). The text is read as from code, from the environment and from a file, and must mean the same. Accepted
  options, written as an options text and read again, give the same values.
*/
#define _POSIX_C_SOURCE 200809L
#include "fuzz.h"

#include "ksp/methods.h"

/* ---- what is read ---------------------------------------------------------------------------- */

typedef struct Own { /* one of each type, beside the options of the library */
  int flag, choice;
  PoiseInt whole;
  double real;
  char text[POISE_OPTION_LENGTH];
} Own;

static const PoiseOption own_rows[] = {
    {"flag", POISE_OPTION_BOOL, offsetof(Own, flag), "no", 0, 0, NULL, ""},
    {"choice", POISE_OPTION_CHOICE, offsetof(Own, choice), "one", 0, 0, "one|two|zwei=two", ""},
    {"whole", POISE_OPTION_INT, offsetof(Own, whole), "0", 0, 0, NULL, ""},
    {"real", POISE_OPTION_REAL, offsetof(Own, real), "0", 0, 0, NULL, ""},
    {"text", POISE_OPTION_STRING, offsetof(Own, text), "", 0, 0, NULL, ""},
    {0}};
static const PoiseOption *const own = own_rows;
static const size_t own_size = sizeof(Own);

#define PC_TYPE(name) extern const PCType poisePCType_##name;
#include "pc/types.def"
#undef PC_TYPE

static const size_t product_size = sizeof(ProductOptions);
#define PRODUCT_FORM(name) {&poiseForm_##name.options, &product_size},
#define PC_TYPE(name)      {&poisePCType_##name.options, &poisePCType_##name.size},
#define KSP_TYPE(name)     {&poiseKSPType_##name.options, &poiseKSPType_##name.size},
static const struct Table {
  const PoiseOption *const *rows;
  const size_t *size; /* of the struct they are read to */
} tables[] = {
    {&own, &own_size},
#include "mat/product/forms.def"
#include "pc/types.def"
#include "ksp/types.def"
};
enum { TABLES = sizeof tables / sizeof *tables, FIELDS = 7 << 16 };

typedef struct Values {
  PoiseErr refused[TABLES + 1]; /* the last one: the list itself */
  _Alignas(64) char fields[TABLES][FIELDS];
} Values;

static void ReadValues(Values *v)
{
  for (int t = 0; t < TABLES; t++) {
    if (!*tables[t].rows) continue;
    DEMAND(*tables[t].size <= FIELDS);
    DEMAND(!PoiseOptionsDefaults(*tables[t].rows, v->fields[t]));
    v->refused[t] = PoiseOptionsRead(FuzzContext(), NULL, *tables[t].rows, v->fields[t]);
  }
}

/* What reads its options itself. */
static void ReadObjects(void)
{
  PoiseContext ctx = FuzzContext();
  PoiseMat A;
  PoiseKSP ksp;
  DEMAND(!PoiseMatCreate(ctx, 12, 12, 12, 12, &A));
  DEMAND(!PoiseKSPCreate(ctx, &ksp));
  (void)PoiseMatSetFromOptions(A);
  (void)PoiseKSPSetFromOptions(ksp);
  (void)PoiseView(ctx);
  DEMAND(!PoiseOptionsHelp(ctx));
  DEMAND(!PoiseOptionsUnused(ctx, ctx->out, NULL));
  PoiseKSPDestroy(&ksp);
  PoiseMatDestroy(&A);
}

/* ---- options texts --------------------------------------------------------------------------- */

static void WriteValue(FILE *out, const PoiseOption *row, const char *fields)
{
  const char *field = fields + row->offset;
  int word;
  PoiseInt whole;
  double real;
  memcpy(&word, field, sizeof word);
  memcpy(&whole, field, sizeof whole);
  memcpy(&real, field, sizeof real);
  switch (row->type) {
  case POISE_OPTION_BOOL:
    fprintf(out, "%d", word);
    break;
  case POISE_OPTION_INT:
    fprintf(out, "%lld", (long long)whole);
    break;
  case POISE_OPTION_REAL:
    fprintf(out, "%.17g", real);
    break;
  case POISE_OPTION_CHOICE:
    fprintf(out, "%s", poiseOptionsChoice(row, row->key, word));
    break;
  case POISE_OPTION_STRING:
    fprintf(out, "\"\""); /* so that nothing is taken for a key */
    for (const char *c = field; *c; c++) fprintf(out, *c == '"' ? "'%c'" : "\"%c\"", *c);
  }
}

/* All that was given and accepted. */
static char *WriteText(const Values *v)
{
  char *text;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  DEMAND(out);
  for (int t = 0; t < TABLES; t++)
    for (const PoiseOption *row = *tables[t].rows; row && row->key; row++) {
      if (v->refused[t] || !PoiseOptionsHas(FuzzContext(), NULL, row->key, NULL)) continue;
      fprintf(out, "-%s ", row->key);
      WriteValue(out, row, v->fields[t]);
      fprintf(out, "\n");
    }
  DEMAND(!fclose(out));
  return text;
}

/* ---- sources --------------------------------------------------------------------------------- */

enum { WORDS = 64, MORE = 2 };

typedef struct Input {
  PoiseInit init;
  int argc;
  char *argv[WORDS + MORE], *text;
} Input;

static void Split(const char *data, Input *in)
{
  size_t line = strcspn(data, "\n");
  char *words = strdup(data), *rest;
  DEMAND(words);
  in->argv[in->argc++] = words; /* to be freed */
  in->text = words + line + (words[line] == '\n');
  words[line] = 0;
  for (char *word = strtok_r(words, " ", &rest); word && in->argc < WORDS; word = strtok_r(NULL, " ", &rest))
    in->argv[in->argc++] = word;
}

typedef enum { CODE, ENVIRONMENT, OPTIONS_FILE } Source;

static PoiseErr Give(Source source, const Input *in)
{
  PoiseContext ctx = FuzzContext();
  Input more = *in;
  if (source == OPTIONS_FILE) { /* named before a "--" */
    const char *path = FuzzFile("options");
    FuzzWrite(path, in->text, strlen(in->text));
    memmove(more.argv + 3, in->argv + 1, (size_t)(in->argc - 1) * sizeof *in->argv);
    more.argv[1] = "-p_options_file";
    more.argv[2] = (char *)path;
    more.argc += 2;
  }
  if (source == ENVIRONMENT) DEMAND(!setenv("POISE_OPTIONS", in->text, 1));
  PoiseErr e = poiseOptionsCreate(ctx, &in->init, more.argc, more.argv, &ctx->options);
  DEMAND(!unsetenv("POISE_OPTIONS"));
  return e || source != CODE ? e : PoiseOptionsSetString(ctx, in->text);
}

static void Meaning(Source source, const Input *in, Values *v)
{
  PoiseContext ctx = FuzzContext();
  memset(v, 0, sizeof *v);
  v->refused[TABLES] = Give(source, in);
  if (!v->refused[TABLES]) {
    DEMAND(!poiseRegister_mat(ctx) && !poiseRegister_pc(ctx) && !poiseRegister_ksp(ctx));
    ReadValues(v);
  }
}

static void Forget(void)
{
  poiseOptionsDestroy(&FuzzContext()->options);
}

/* What was accepted, from its own text. */
static void ReadAgain(const Values *v)
{
  static Values again;
  Input in = {.argc = 1, .argv = {"again"}, .text = WriteText(v)};
  Forget();
  Meaning(CODE, &in, &again);
  DEMAND(!again.refused[TABLES]);
  for (int t = 0; t < TABLES; t++)
    if (!v->refused[t]) DEMAND(!again.refused[t] && !memcmp(v->fields[t], again.fields[t], FIELDS));
  free(in.text);
}

/* Whether an options file may be named: quotes may stand anywhere in a word. */
static bool NamesFile(const char *text)
{
  char *plain = strdup(text), *to = plain;
  DEMAND(plain);
  for (const char *c = text; *c; c++)
    if (*c != '\'' && *c != '"' && *c != '\\') *to++ = *c;
  *to = 0;
  bool named = strstr(plain, "options_file");
  free(plain);
  return named;
}

int FuzzOne(const uint8_t *data, size_t size)
{
  static Values v, other;
  PoiseContext ctx = FuzzContext();
  Options *kept = ctx->options;
  char *copy = calloc(size + 1, 1);
  Input in = {.init = {.prefix = "p_"}};
  DEMAND(copy);
  FuzzBegin();
  if (size) memcpy(copy, data, size);
  Split(copy, &in);
  bool alike = !NamesFile(copy) &&
               strncmp(in.text, "\xEF\xBB\xBF", 3); /* what only a file's text may or may not hold */
  Meaning(CODE, &in, &v);
  if (!v.refused[TABLES]) {
    ReadObjects();
    ReadAgain(&v);
  }
  Forget();
  for (Source source = ENVIRONMENT; source <= OPTIONS_FILE; source++) {
    Meaning(source, &in, &other);
    DEMAND(!alike || !memcmp(&v, &other, sizeof v));
    Forget();
  }
  free(in.argv[0]);
  free(copy);
  ctx->options = kept;
  FuzzNothingLeft();
  return 0;
}
