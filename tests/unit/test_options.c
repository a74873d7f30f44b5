/* SPDX-License-Identifier: BSD-3-Clause */
/* Options: sources, tables, texts, bad input of all kinds. */
#define _POSIX_C_SOURCE 200809L
#include <locale.h>
#include <unistd.h>

#include "files.h"
#include "sys/sys.h"

enum { TEXT = 1 << 16 };

typedef struct Fields {
  int flag, method, often;
  PoiseInt count, any;
  double level, free, positive;
  char name[POISE_OPTION_LENGTH], alone[POISE_OPTION_LENGTH];
} Fields;

#define FIELD(type, field) POISE_OPTION_##type, offsetof(Fields, field)
static const PoiseOption table[] = {
    {"t_flag", FIELD(BOOL, flag), "no", 0, 0, NULL, "a flag"},
    {"t_method", FIELD(CHOICE, method), "none", 0, 0, "none|jacobi|pbjacobi|bcgs=bicgstab|bicgstab",
     "a choice"},
    {"t_count", FIELD(INT, count), "30", 1, 1000, NULL, "a number of things"},
    {"t_any", FIELD(INT, any), NULL, 0, 0, NULL, "any integer"},
    {"t_level", FIELD(REAL, level), "0.5", 0, 1, NULL, "a level"},
    {"t_free", FIELD(REAL, free), "-1e-3", 0, 0, NULL, "any number"},
    {"t_positive", FIELD(REAL, positive), "2", 1e-300, INFINITY, NULL, "a | b"},
    {"t_name", FIELD(STRING, name), "x y", 0, 0, NULL, "a name"},
    {"t_alone", FIELD(STRING, alone), "", 0, 0, "usual", "a text that may be left out"},
    {"t_often", FIELD(CHOICE, often), "no", 0, 0, "no|warn|error|=warn", "a word that may be left out"},
    {0}};

/* A one-rank context of its own from command-line words. */
static PoiseErr OpenWith(PoiseInit init, const char *words, PoiseContext *own)
{
  init.serial = 1;
  return TestInitialize(init, words, own);
}

static PoiseErr Open(const char *words, PoiseContext *own)
{
  return OpenWith((PoiseInit){0}, words, own);
}

/* Without the report of unused options. */
static void Close(PoiseContext *own)
{
  CHECK_OK(PoiseOptionsSet(*own, "options_left", "no"));
  CHECK_OK(PoiseFinalize(own));
}

/* What a test leaves unused in the harness's context need not be reported. */
static void Quiet(PoiseContext ctx)
{
  CHECK_OK(PoiseOptionsSet(ctx, "options_left", "no"));
}

static bool Given(PoiseContext ctx, const char *key, const char *value)
{
  const char *found;
  if (!value) return !PoiseOptionsHas(ctx, NULL, key, &found) && !found;
  return PoiseOptionsHas(ctx, NULL, key, &found) && !strcmp(found, value);
}

/* A file of this text; its name is `path`. */
static void PutFile(char path[32], const char *text, size_t n)
{
  strcpy(path, "test_options_XXXXXX");
  int fd = mkstemp(path);
  if (!CHECK(fd >= 0)) return;
  CHECK(write(fd, text, n) == (ssize_t)n);
  close(fd);
}

static PoiseErr OpenFile(const char *text, size_t n, char path[32], PoiseContext *own)
{
  char words[64];
  PutFile(path, text, n);
  snprintf(words, sizeof words, "-options_file %s", path);
  PoiseErr e = Open(words, own);
  remove(path);
  return e;
}

/* ---- sources --------------------------------------------------------------------------------- */

static void TestPrecedence(PoiseContext ctx)
{
  char path[32], words[96];
  PoiseContext own;
  (void)ctx;
  PutFile(path, "-k file\n", 8);
  for (int mask = 0; mask < 16; mask++) {
    bool code = mask & 1, environment = mask & 2, file = mask & 4, line = mask & 8;
    if (environment) setenv("POISE_OPTIONS", "-k environment", 1);
    snprintf(words, sizeof words, "%s%s%s", file ? "-options_file " : "", file ? path : "",
             line ? " -k line" : "");
    if (!CHECK_OK(Open(words, &own))) break;
    unsetenv("POISE_OPTIONS");
    if (code) CHECK_OK(PoiseOptionsSet(own, "-k", "code"));
    CHECK(Given(own, "k",
                line          ? "line"
                : file        ? "file"
                : environment ? "environment"
                : code        ? "code"
                              : NULL));
    Close(&own);
  }
  remove(path);
}

static void TestFileFromEnvironment(PoiseContext ctx)
{
  char path[32], words[64];
  PoiseContext own;
  (void)ctx;
  PutFile(path, "-k file -l file", 15);
  snprintf(words, sizeof words, "-options_file %s -k environment", path);
  setenv("POISE_OPTIONS", words, 1);
  if (CHECK_OK(Open("-l line", &own))) {
    CHECK(Given(own, "k", "file"));
    CHECK(Given(own, "l", "line"));
    Close(&own);
  }
  unsetenv("POISE_OPTIONS");
  remove(path);
}

static void TestLastWins(PoiseContext ctx)
{
  PoiseContext own;
  (void)ctx;
  setenv("POISE_OPTIONS", "-e 1 -e 2 -none 1 -none", 1);
  if (!CHECK_OK(Open("-k 1 -k 2 -k 3 -l 4 -l", &own))) return;
  unsetenv("POISE_OPTIONS");
  CHECK(Given(own, "k", "3"));
  CHECK(Given(own, "l", ""));
  CHECK(Given(own, "e", "2"));
  CHECK(Given(own, "none", ""));
  CHECK_OK(PoiseOptionsSet(own, "c", "1"));
  CHECK_OK(PoiseOptionsSet(own, "-c", "2"));
  CHECK(Given(own, "c", "2"));
  CHECK(Given(own, "-c", "2"));
  Close(&own);
}

static void TestCommandLine(PoiseContext ctx)
{
  PoiseContext own;
  int count = -1;
  (void)ctx;
  if (!CHECK_OK(Open("word -a -1e-3 -b -.5 -c - -d -e word other --f 3 - -5 -g x y -- -h 1", &own))) return;
  CHECK(Given(own, "a", "-1e-3"));
  CHECK(Given(own, "b", "-.5"));
  CHECK(Given(own, "c", "-"));
  CHECK(Given(own, "d", ""));
  CHECK(Given(own, "e", "word"));
  CHECK(Given(own, "f", NULL) && Given(own, "-f", NULL)); /* with two dashes it is somebody else's */
  CHECK(Given(own, "5", NULL));
  CHECK(Given(own, "g", "x"));
  CHECK(Given(own, "h", NULL));
  CHECK_OK(PoiseOptionsUnused(own, NULL, &count));
  CHECK_INT(count, 0);
  Close(&own);
}

/* argv is neither modified nor read beyond its end. */
static void TestArguments(PoiseContext ctx)
{
  char *argv[] = {"test", "-a", "1", "-b", NULL}, *same[5], **list = argv;
  int argc = 4;
  PoiseContext own;
  (void)ctx;
  memcpy(same, argv, sizeof argv);
  if (!CHECK_OK(PoiseInitialize(&argc, &list, &(PoiseInit){.serial = 1}, &own))) return;
  CHECK(argc == 4 && list == argv && !memcmp(argv, same, sizeof argv));
  CHECK(Given(own, "a", "1") && Given(own, "b", ""));
  Close(&own);
}

static void TestPrefix(PoiseContext ctx)
{
  PoiseContext own;
  Fields fields;
  FILE *f = tmpfile();
  char text[TEXT];
  (void)ctx;
  setenv("POISE_OPTIONS", "-ours_e 1 -f 2", 1);
  PoiseErr e = OpenWith((PoiseInit){.prefix = "ours_"},
                        "-a 1 -ours_b 2 -ours_in_t_count 0 -ours_ 3 -ours_zzz 3", &own);
  unsetenv("POISE_OPTIONS");
  if (!CHECK_OK(e)) return;
  CHECK(Given(own, "a", NULL));
  CHECK(Given(own, "b", "2"));
  CHECK(Given(own, "ours_b", NULL));
  CHECK(Given(own, "e", "1"));
  CHECK(Given(own, "f", "2")); /* the environment variable is Poise's alone */
  CHECK_OK(PoiseOptionsDefaults(table, &fields));
  CHECK_ERR(PoiseOptionsRead(own, "in_", table, &fields), POISE_ERR_OPTION,
            "-ours_in_t_count 0 (command line)");
  CHECK_OK(PoiseOptionsUnused(own, f, NULL));
  CHECK(strstr(Content(f, text, TEXT), "-ours_zzz 3 (command line)") != NULL);
  fclose(f);
  Close(&own);
}

/* A context's prefix that an option's own name begins with: "ours_" and ours_gain, or t_count with "t_". */
static void TestPrefixOfName(PoiseContext ctx)
{
  static const PoiseOption own_table[] = {
      {"t_count", FIELD(INT, count), "30", 1, 1000, NULL, "a number of things"},
      {"count", FIELD(INT, any), "7", 0, 0, NULL, "another"},
      {"t_name", FIELD(STRING, name), "x", 0, 0, NULL, "a name"},
      {0}};
  PoiseContext own;
  Fields fields;
  FILE *f = tmpfile();
  char text[TEXT];
  int unused = -1;
  (void)ctx;
  setenv("POISE_OPTIONS", "-t_count 3 -t_name who -t_t_name me -t_nam 5", 1);
  PoiseErr e =
      OpenWith((PoiseInit){.prefix = "t_", .options = own_table}, "-t_in_t_count 8 -in_t_count 9", &own);
  unsetenv("POISE_OPTIONS");
  if (!CHECK_OK(e)) return;
  CHECK_OK(PoiseOptionsDefaults(own_table, &fields));
  CHECK_OK(PoiseOptionsRead(own, NULL, own_table, &fields));
  CHECK_INT(fields.count, 3);        /* the name as it is */
  CHECK_INT(fields.any, 3);          /* count behind the prefix */
  CHECK(!strcmp(fields.name, "me")); /* of the two, the later one */
  CHECK_OK(PoiseOptionsRead(own, "in_", own_table, &fields));
  CHECK_INT(fields.count, 8);                       /* on the command line the prefix must be there */
  CHECK_OK(PoiseOptionsSet(own, "t_name", "code")); /* below the environment */
  CHECK(Given(own, "t_name", "me"));
  CHECK_OK(PoiseOptionsSetString(own, "-code 1 -t_code 2 -code 3"));
  CHECK(Given(own, "code", "3")); /* the later one of two that say the same */
  CHECK_OK(PoiseOptionsUnused(own, f, &unused));
  Content(f, text, TEXT);
  CHECK_INT(unused, 1);
  CHECK(strstr(text, "unused option -t_nam 5 (POISE_OPTIONS): ") != NULL);
  fclose(f);
  Close(&own);
}

static void TestNestedPrefix(PoiseContext ctx)
{
  Fields fields;
  Quiet(ctx);
  CHECK_OK(PoiseOptionsSetString(ctx, "-t_count 1 -fine_t_count 2 -fine_sub_t_count 3 -sub_t_count 4"));
  static const char *const prefix[] = {NULL, "", "fine_", "fine_sub_", "sub_", "coarse_", "fine"};
  static const PoiseInt want[] = {1, 1, 2, 3, 4, 30, 30};
  for (int i = 0; i < 7; i++) {
    CHECK_OK(PoiseOptionsDefaults(table, &fields));
    CHECK_OK(PoiseOptionsRead(ctx, prefix[i], table, &fields));
    CHECK_INT(fields.count, want[i]);
  }
}

/* What thread ranks set is their own, and ends with them; an unchanged value stays where it is, as it may be
   lent. */
static void TestRanks(PoiseContext ctx)
{
  char value[16];
  const char *first, *again;
  Quiet(ctx);
  snprintf(value, sizeof value, "%d", PoiseRank(ctx));
  for (int i = 0; i < 50; i++) {
    CHECK(i || Given(ctx, "rank", NULL));
    CHECK_OK(PoiseOptionsSet(ctx, "rank", i % 2 ? value : "even"));
    CHECK(Given(ctx, "rank", i % 2 ? value : "even"));
  }
  CHECK_OK(PoiseOptionsSet(ctx, "lent", "value"));
  CHECK(PoiseOptionsHas(ctx, NULL, "lent", &first));
  CHECK_OK(PoiseOptionsSet(ctx, "lent", "value"));
  CHECK(PoiseOptionsHas(ctx, NULL, "lent", &again));
  CHECK(first == again);
}

static PoiseErr SetInside(PoiseContext ctx, void *arg)
{
  (void)arg;
  CHECK(Given(ctx, "outside", "1"));
  CHECK(Given(ctx, "inside", NULL)); /* not what the run before has set */
  CHECK_OK(PoiseOptionsSet(ctx, "inside", "1"));
  CHECK_OK(PoiseOptionsSet(ctx, "outside", "2"));
  CHECK(Given(ctx, "outside", "2"));
  CHECK_OK(PoiseOptionsSet(ctx, "given", "2"));
  CHECK(Given(ctx, "given", "line"));
  return POISE_OK;
}

static void TestRuns(PoiseContext ctx)
{
  PoiseContext own;
  (void)ctx;
  if (!CHECK_OK(Open("-ranks 3 -given line", &own))) return;
  CHECK_OK(PoiseOptionsSet(own, "outside", "1"));
  CHECK_OK(PoiseRun(own, SetInside, NULL));
  CHECK_OK(PoiseRun(own, SetInside, NULL));
  CHECK(Given(own, "inside", NULL) && Given(own, "outside", "1"));
  Close(&own);
}

/* Every MPI rank has rank 0's, whatever its own launcher gave it. */
static void TestShared(PoiseContext ctx)
{
  bool mpi = !strcmp(ctx->comm->ops->name, "mpi");
  char value[16], *argv[] = {"test", "-mine", value, "-empty"}, **list = argv;
  int argc = 4;
  PoiseContext own;
  if (!mpi) TEST_SKIP("not MPI ranks");
  snprintf(value, sizeof value, "%d", PoiseRank(ctx));
  if (!CHECK_OK(PoiseInitialize(&argc, &list, NULL, &own))) return;
  CHECK(Given(own, "mine", "0"));
  CHECK(Given(own, "empty", ""));
  Close(&own);
  strcpy(value, PoiseRank(ctx) ? "1" : "'");
  argv[1] = "-options_file"; /* which does not exist */
  CHECK_ERR(PoiseInitialize(&argc, &list, NULL, &own), PoiseRank(ctx) ? POISE_ERR_REMOTE : POISE_ERR_FILE,
            "options file '''");
  CHECK(!own);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void TestDefaults(PoiseContext ctx)
{
  Fields fields, same;
  (void)ctx;
  memset(&fields, 255, sizeof fields);
  CHECK_OK(PoiseOptionsDefaults(table, &fields));
  CHECK(fields.flag == 0 && fields.method == 0 && fields.count == 30 && fields.any == 0);
  CHECK(fields.level == 0.5 && fields.free == -1e-3 && fields.positive == 2 && !strcmp(fields.name, "x y"));
  same = fields;
  CHECK_OK(PoiseOptionsRead(ctx, "nothing_", table, &fields));
  CHECK(!memcmp(&same, &fields, sizeof fields));
  const PoiseOption wrong[] = {{"wrong", FIELD(INT, count), "0", 1, 2, NULL, ""}, {0}};
  CHECK_ERR(PoiseOptionsDefaults(wrong, &fields), POISE_ERR_INTERNAL, "wrong");
}

static void TestGood(PoiseContext ctx)
{
  static const struct {
    const char *text;
    double value; /* of the one field that is not its default */
  } cases[] = {
      {"-t_flag", 1},
      {"-t_flag yes", 1},
      {"-t_flag TRUE", 1},
      {"-t_flag on", 1},
      {"-t_flag 1", 1},
      {"-t_flag No", 0},
      {"-t_flag false", 0},
      {"-t_flag off", 0},
      {"-t_flag 0", 0},
      {"-t_method none", 0},
      {"-t_method jacobi", 1},
      {"-t_method pbjacobi", 2},
      {"-t_method bicgstab", 3},
      {"-t_method bcgs", 3},
      {"-t_method Jacobi", 1},
      {"-t_method BCGS", 3},
      {"-t_count 1", 1},
      {"-t_count 1000", 1000},
      {"-t_count +7", 7},
      {"-t_any -9007199254740991", -9007199254740991.0},
      {"-t_any 9007199254740991", 9007199254740991.0},
      {"-t_level 0", 0},
      {"-t_level 1", 1},
      {"-t_level 1e-400", 0},
      {"-t_level .25", .25},
      {"-t_free -1", -1},
      {"-t_free -.5e+2", -50},
      {"-t_free inf", INFINITY},
      {"-t_free '-inf'", -INFINITY},
      {"-t_free 0x1p-3", 0.125},
      {"-t_positive 1e308", 1e308},
      {"-t_positive inf", INFINITY},
  };
  Quiet(ctx);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    Fields fields, expected;
    const char *text = cases[i].text;
    double v = cases[i].value;
    CHECK_OK(PoiseOptionsDefaults(table, &fields));
    expected = fields;
    CHECK_OK(PoiseOptionsSetString(ctx,
                                   "-t_flag no -t_method none -t_count 30 -t_any 0 -t_level .5 -t_free -1e-3 "
                                   "-t_positive 2"));
    CHECK_OK(PoiseOptionsSetString(ctx, text));
    CHECK_OK(PoiseOptionsRead(ctx, NULL, table, &fields));
    if (!strncmp(text, "-t_flag", 7)) expected.flag = (int)v;
    if (!strncmp(text, "-t_method", 9)) expected.method = (int)v;
    if (!strncmp(text, "-t_count", 8)) expected.count = (PoiseInt)v;
    if (!strncmp(text, "-t_any", 6)) expected.any = (PoiseInt)v;
    if (!strncmp(text, "-t_level", 8)) expected.level = v;
    if (!strncmp(text, "-t_free", 7)) expected.free = v;
    if (!strncmp(text, "-t_positive", 11)) expected.positive = v;
    CHECK(fields.flag == expected.flag && fields.method == expected.method && fields.count == expected.count);
    CHECK(fields.any == expected.any && fields.level == expected.level && fields.free == expected.free);
    CHECK(fields.positive == expected.positive);
  }
}

static void TestExtremes(PoiseContext ctx)
{
  Fields fields;
  Quiet(ctx);
  CHECK_OK(PoiseOptionsSet(ctx, "t_any", "-9223372036854775808"));
  CHECK_OK(PoiseOptionsRead(ctx, NULL, table, &fields));
  CHECK(fields.any == INT64_MIN);
  CHECK_OK(PoiseOptionsSet(ctx, "t_any", "9223372036854775807"));
  CHECK_OK(PoiseOptionsRead(ctx, NULL, table, &fields));
  CHECK(fields.any == INT64_MAX);
}

static void TestBad(PoiseContext ctx)
{
  static const char *const cases[][3] = {
      /* key, value, words */
      {"t_flag", "maybe", "yes or no"},
      {"t_flag", "", "yes or no"},
      {"t_flag", "2", "yes or no"},
      {"t_method", "jacoby", "did you mean 'jacobi'?"},
      {"t_method", "bcg", "did you mean 'bcgs'?"},
      {"t_method", "zzz", "none|jacobi|pbjacobi|"},
      {"t_method", "bcgs=bicgstab", "not one of"},
      {"t_method", "none|jacobi", "not one of"},
      {"t_method", "", "not one of"},
      {"t_method", NULL, "needs a value"},
      {"t_count", "0", "1 .. 1000"},
      {"t_count", "1001", "1 .. 1000"},
      {"t_count", "-5", "1 .. 1000"},
      {"t_count", "5.5", "not an integer"},
      {"t_count", "1e2", "not an integer"},
      {"t_count", "ten", "not an integer"},
      {"t_count", "10 ", "not an integer"},
      {"t_count", " 10", "not an integer"},
      {"t_count", "", "not an integer"},
      {"t_count", NULL, "needs a value"},
      {"t_any", "9223372036854775808", "64 bits"},
      {"t_any", "-9223372036854775809", "64 bits"},
      {"t_any", "99999999999999999999999999", "64 bits"},
      {"t_level", "1.0000001", "0 .. 1"},
      {"t_level", "-1e-9", "0 .. 1"},
      {"t_level", "nan", "not a number"},
      {"t_level", "inf", "0 .. 1"},
      {"t_level", "0,5", "not a number"},
      {"t_level", "0.5x", "not a number"},
      {"t_level", "", "not a number"},
      {"t_level", "\t1", "not a number"},
      {"t_level", NULL, "needs a value"},
      {"t_free", "NAN", "not a number"},
      {"t_free", "-nan", "not a number"},
      {"t_free", "1e999", "too large"},
      {"t_free", "-1e999", "too large"},
      {"t_free", "1d5", "not a number"},
      {"t_positive", "0", ">= 1e-300"},
      {"t_name", NULL, "needs a value"},
  };
  static const char *const good[][2] = {{"t_flag", "no"},    {"t_method", "none"}, {"t_count", "30"},
                                        {"t_any", "0"},      {"t_level", ".5"},    {"t_free", "1"},
                                        {"t_positive", "1"}, {"t_name", "x"}};
  char words[64];
  Quiet(ctx);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    Fields fields, same;
    for (size_t j = 0; j < 8; j++) CHECK_OK(PoiseOptionsSet(ctx, good[j][0], good[j][1]));
    CHECK_OK(PoiseOptionsDefaults(table, &fields));
    CHECK_OK(PoiseOptionsRead(ctx, NULL, table, &fields));
    same = fields;
    CHECK_OK(PoiseOptionsSet(ctx, cases[i][0], cases[i][1]));
    CHECK_ERR(PoiseOptionsRead(ctx, NULL, table, &fields), POISE_ERR_OPTION, cases[i][2]);
    snprintf(words, sizeof words, "-%s%s%s (code): ", cases[i][0], cases[i][1] ? " " : "",
             cases[i][1] ? cases[i][1] : "");
    CHECK_ERR(PoiseOptionsRead(ctx, NULL, table, &fields), POISE_ERR_OPTION, words);
    CHECK(!memcmp(&same, &fields, sizeof fields)); /* the bad value left no trace */
  }
}

/* The source is named. */
static void TestBadSource(PoiseContext ctx)
{
  static const char *const sources[] = {"(POISE_OPTIONS)", ":2)", "(command line)"};
  char path[32], words[96];
  Fields fields;
  (void)ctx;
  PutFile(path, "# comment\n-t_count 0", 20);
  for (int i = 0; i < 3; i++) {
    PoiseContext own;
    if (i == 0) setenv("POISE_OPTIONS", "-t_count 0", 1);
    snprintf(words, sizeof words, "%s%s",
             i == 1   ? "-options_file "
             : i == 2 ? "-t_count 0"
                      : "",
             i == 1 ? path : "");
    if (!CHECK_OK(Open(words, &own))) return;
    unsetenv("POISE_OPTIONS");
    snprintf(words, sizeof words, "-t_count 0 (%s%s", i == 1 ? path : "",
             i == 1 ? sources[1] : sources[i] + 1);
    CHECK_ERR(PoiseOptionsRead(own, NULL, table, &fields), POISE_ERR_OPTION, words);
    Close(&own);
  }
  remove(path);
}

static void TestStrings(PoiseContext ctx)
{
  char text[2 * POISE_OPTION_LENGTH];
  Fields fields;
  Quiet(ctx);
  for (size_t n = 0; n < sizeof text; n += n == 1 ? 253 : 1) { /* 0, 1, 254, 255, ... */
    memset(text, 'a', n);
    text[n] = 0;
    CHECK_OK(PoiseOptionsSet(ctx, "t_name", text));
    if (n < POISE_OPTION_LENGTH) {
      CHECK_OK(PoiseOptionsRead(ctx, NULL, table, &fields));
      CHECK(!strcmp(fields.name, text));
    } else {
      CHECK_ERR(PoiseOptionsRead(ctx, NULL, table, &fields), POISE_ERR_OPTION, "at most 255");
      n += 50;
    }
  }
}

/* Keys whose row says what they mean without a value. */
static void TestAlone(PoiseContext ctx)
{
  Fields fields;
  Quiet(ctx);
  CHECK_OK(PoiseOptionsDefaults(table, &fields));
  CHECK(!*fields.alone && fields.often == 0);
  CHECK_OK(PoiseOptionsSetString(ctx, "-t_flag -t_alone -t_often"));
  CHECK_OK(PoiseOptionsRead(ctx, NULL, table, &fields));
  CHECK(fields.flag == 1 && !strcmp(fields.alone, "usual") && fields.often == 1);
  CHECK_OK(PoiseOptionsSetString(ctx, "-t_alone '' -t_often error"));
  CHECK_OK(PoiseOptionsRead(ctx, NULL, table, &fields));
  CHECK(!*fields.alone && fields.often == 2);
}

/* No key of a type, nor any other text of the library's that needs one, takes its default in silence. */
static void TestNeedsValue(PoiseContext ctx)
{
  static const char *const cases[][3] = {{"ksp_type", "there is no method ''", ""},
                                         {"pc_type", "there is no preconditioner ''", ""},
                                         {"mat_type", "there is no matrix type ''", ""},
                                         {"mat_csr_kernel", "", ""},
                                         {"ksp_chebyshev_eigenvalues", "are not two numbers", "chebyshev"},
                                         {"ksp_norm_type", "not one of", ""},
                                         {"pc_factor_kernel", NULL, ""}};
  char words[128], key[64];
  Quiet(ctx);
  for (int i = 0; i < 7; i++)
    for (int empty = 0; empty < 2; empty++) {
      PoiseMat A = NULL;
      PoiseKSP ksp = NULL;
      PoisePC pc;
      snprintf(key, sizeof key, "c%d%d_%s", i, empty, cases[i][0]);
      snprintf(words, sizeof words, "-%s (code): needs a value", key);
      CHECK_OK(PoiseOptionsSet(ctx, key, empty ? "" : NULL));
      snprintf(key, sizeof key, "c%d%d_", i, empty);
      CHECK_OK(PoiseMatCreate(ctx, 1, 1, POISE_DECIDE, POISE_DECIDE, &A));
      CHECK_OK(PoiseMatSetOptionsPrefix(A, key));
      CHECK_OK(PoiseKSPCreate(ctx, &ksp));
      CHECK_OK(PoiseKSPSetOptionsPrefix(ksp, key));
      CHECK_OK(PoiseKSPGetPC(ksp, &pc));
      CHECK_OK(PoisePCSetType(pc, "ilu"));
      if (*cases[i][2]) CHECK_OK(PoiseKSPSetType(ksp, cases[i][2]));
      PoiseErr e = PoiseMatSetFromOptions(A);
      if (!e) e = PoiseKSPSetFromOptions(ksp);
      const char *expected = empty ? cases[i][1] : words;
      if (expected) CHECK(e == POISE_ERR_OPTION || (empty && e == POISE_ERR_UNSUPPORTED));
      if (expected) CHECK(strstr(PoiseErrorMessage(), expected) != NULL);
      PoiseKSPDestroy(&ksp);
      PoiseMatDestroy(&A);
    }
}

static void TestChoices(PoiseContext ctx)
{
  static const char *const words[] = {"none", "jacobi", "pbjacobi", "bicgstab"};
  (void)ctx;
  for (int i = 0; i < 4; i++) CHECK(!strcmp(poiseOptionsChoice(table, "t_method", i), words[i]));
  const char *a = poiseOptionsChoice(table, "t_method", 1), *b = poiseOptionsChoice(table, "t_method", 2);
  CHECK(strcmp(a, b)); /* both stay for one message */
  CHECK(!strcmp(poiseOptionsChoice(table, "t_method", 4), "unknown"));
  CHECK(!strcmp(poiseOptionsChoice(table, "t_method", -1), "unknown"));
  CHECK(!strcmp(poiseOptionsChoice(table, "t_count", 0), "unknown"));
  CHECK(!strcmp(poiseOptionsChoice(table, "absent", 0), "unknown"));
}

static void TestArgumentErrors(PoiseContext ctx)
{
  static const char *const bad[] = {"", "-", "--", "--key", "a b", "-a\tb", "a\n"};
  Fields fields;
  Quiet(ctx);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    CHECK_ERR(PoiseOptionsSet(ctx, bad[i], "1"), POISE_ERR_ARG, "not the key");
  CHECK_ERR(PoiseOptionsSet(ctx, NULL, "1"), POISE_ERR_ARG, "key");
  CHECK_ERR(PoiseOptionsSet(NULL, "k", "1"), POISE_ERR_ARG, "ctx is NULL");
  CHECK_ERR(PoiseOptionsSetString(ctx, NULL), POISE_ERR_ARG, "text");
  CHECK_ERR(PoiseOptionsRead(ctx, NULL, NULL, &fields), POISE_ERR_ARG, "table");
  CHECK_ERR(PoiseOptionsRead(ctx, NULL, table, NULL), POISE_ERR_ARG, "fields is NULL");
  CHECK_ERR(PoiseOptionsUnused(NULL, NULL, NULL), POISE_ERR_ARG, "ctx is NULL");
  CHECK(!PoiseOptionsHas(ctx, NULL, NULL, NULL));
}

/* ---- texts and files ------------------------------------------------------------------------- */

static void TestText(PoiseContext ctx)
{
  Quiet(ctx);
  CHECK_OK(PoiseOptionsSetString(
      ctx, "  -a 1\t-b\n\n# -x 1\n-c 'two words' # -y 1\r\n-d \"it's\" -e it\"' \"s -f ''\r\n"
           "-g a#b\n-h -1 -i '-j'\n-k\n-l 'say \"x\"'\v-m - -n -.5"));
  CHECK(Given(ctx, "a", "1") && Given(ctx, "b", ""));
  CHECK(Given(ctx, "x", NULL) && Given(ctx, "y", NULL));
  CHECK(Given(ctx, "c", "two words"));
  CHECK(Given(ctx, "d", "it's"));
  CHECK(Given(ctx, "e", "it' s"));
  CHECK(Given(ctx, "f", ""));
  CHECK(Given(ctx, "g", "a#b"));
  CHECK(Given(ctx, "h", "-1"));
  CHECK(Given(ctx, "i", "-j") && Given(ctx, "j", NULL));
  CHECK(Given(ctx, "k", ""));
  CHECK(Given(ctx, "l", "say \"x\""));
  CHECK(Given(ctx, "m", "-"));
  CHECK(Given(ctx, "n", "-.5"));
  CHECK_OK(PoiseOptionsSetString(ctx, ""));
  CHECK_OK(PoiseOptionsSetString(ctx, "\n#only a comment"));
}

static void TestBadText(PoiseContext ctx)
{
  static const char *const cases[][2] = {
      {"word", "'word'"},        {"-a 1 2", "'2'"},       {"-a\n1", "'1'"},   {"-a 'open", "quote '"},
      {"-a \"open", "quote \""}, {"-a 'x\n'", "quote '"}, {"--a 1", "'--a'"}, {"-a 1 --b", "'--b'"},
      {"'-a' 1", "'-a'"},        {"-1", "'-1'"},          {"-", "'-'"},       {"=", "'='"},
  };
  Quiet(ctx);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    CHECK_ERR(PoiseOptionsSetString(ctx, cases[i][0]), POISE_ERR_OPTION, cases[i][1]);
    CHECK_ERR(PoiseOptionsSetString(ctx, cases[i][0]), POISE_ERR_OPTION, "code: ");
  }
}

static void TestBadEnvironment(PoiseContext ctx)
{
  PoiseContext own = ctx;
  setenv("POISE_OPTIONS", "-a 1 oops", 1);
  CHECK_ERR(Open("", &own), POISE_ERR_OPTION, "POISE_OPTIONS: 'oops'");
  CHECK(!own);
  unsetenv("POISE_OPTIONS");
}

static void TestFile(PoiseContext ctx)
{
  static const char text[] = "\xEF\xBB\xBF# written by an editor\r\n\r\n-a 1\r\n-b 'x y' -c\r\n-d end";
  char path[32];
  PoiseContext own;
  (void)ctx;
  if (CHECK_OK(OpenFile(text, sizeof text - 1, path, &own))) {
    CHECK(Given(own, "a", "1") && Given(own, "b", "x y") && Given(own, "c", "") && Given(own, "d", "end"));
    Close(&own);
  }
  if (CHECK_OK(OpenFile("", 0, path, &own))) Close(&own);
  if (CHECK_OK(OpenFile("\n", 1, path, &own))) Close(&own);
  /* longer than what is read at once */
  size_t n = 200000;
  char *lines = malloc(n);
  memset(lines, '\n', n);
  memcpy(lines + n - 8, "-last 17", 8);
  if (CHECK_OK(OpenFile(lines, n, path, &own))) {
    CHECK(Given(own, "last", "17"));
    Close(&own);
  }
  memcpy(lines + 99999, "oops", 4);
  CHECK_ERR(OpenFile(lines, n, path, &own), POISE_ERR_OPTION, ":100000: 'oops'");
  free(lines);
}

static void TestBadFile(PoiseContext ctx)
{
  static const struct {
    const char *text;
    size_t n;
    PoiseErr code;
    const char *words;
  } cases[] = {
      {"-a 1\n\nword", 10, POISE_ERR_OPTION, ":3: 'word'"},
      {"-a 1\n-b 'x\n", 11, POISE_ERR_OPTION, ":2: a quote '"},
      {"-a 1\n--b 2\n", 11, POISE_ERR_OPTION, ":2: '--b'"},
      {"-a 1\n-options_file x\n", 21, POISE_ERR_OPTION, ":2: an options file"},
      {"-a 1\0-b", 7, POISE_ERR_FORMAT, "byte 5"},
      {"\177ELF\2\1\1\0", 8, POISE_ERR_FORMAT, "not a text"},
  };
  PoiseContext own;
  char path[32];
  (void)ctx;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    CHECK_ERR(OpenFile(cases[i].text, cases[i].n, path, &own), cases[i].code, cases[i].words);
    CHECK_ERR(OpenFile(cases[i].text, cases[i].n, path, &own), cases[i].code, path);
    CHECK(!own);
  }
  CHECK_ERR(Open("-options_file no/such/file", &own), POISE_ERR_FILE,
            "'no/such/file' cannot be opened: No such file");
  CHECK_ERR(Open("-options_file .", &own), POISE_ERR_FILE, "'.' cannot be read: Is a directory");
  CHECK_ERR(Open("-options_file", &own), POISE_ERR_OPTION, "needs a name");
  if (!access("/dev/zero", R_OK))
    CHECK_ERR(Open("-options_file /dev/zero", &own), POISE_ERR_FORMAT, "more than");
}

/* ---- reports --------------------------------------------------------------------------------- */

static void TestClosest(PoiseContext ctx)
{
  static const char *const words[] = {"ksp_type", "ksp_rtol", "pc_type", "mat_type", "cg", "gmres"};
  static const char *const cases[][2] = {{"ksp_tpye", "ksp_type"},
                                         {"ksp_typ", "ksp_type"},
                                         {"kspp_rtol", "ksp_rtol"},
                                         {"gmrs", "gmres"},
                                         {"gmers", "gmres"},
                                         {"gmrxx", NULL},
                                         {"cgg", "cg"},
                                         {"KSP_type", NULL},
                                         {"", NULL},
                                         {"x", NULL},
                                         {"zzzzzzzz", NULL},
                                         {"ksp_type", "ksp_type"},
                                         {"qq", NULL}};
  char longer[300];
  (void)ctx;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *closest = poiseClosest(cases[i][0], 6, words);
    CHECK(cases[i][1] ? closest && !strcmp(closest, cases[i][1]) : !closest);
  }
  memset(longer, 'k', sizeof longer - 1);
  longer[sizeof longer - 1] = 0;
  CHECK(!poiseClosest(longer, 6, words));
  CHECK(!poiseClosest("cg", 0, NULL));
}

static void TestUnused(PoiseContext ctx)
{
  static const PoiseOption application[] = {{"app_size", POISE_OPTION_INT, 0, "1", 0, 0, NULL, "size"}, {0}};
  static const char *const lines[] = {
      "option -t_metohd jacobi (command line): did you mean -t_method?\n",
      "option -fine_t_cuont 3 (command line): did you mean -fine_t_count?\n",
      "option -fine_t_count 3 (command line): it exists, but nothing asked for it\n",
      "option -zzzzz (command line): there is no such option\n",
  };
  PoiseContext own;
  Fields fields;
  char text[TEXT];
  int count = -1;
  FILE *f = tmpfile();
  (void)ctx;
  if (!CHECK_OK(OpenWith(
          (PoiseInit){.options = application},
          "-t_metohd jacobi -fine_t_cuont 3 -fine_t_count 3 -zzzzz -app_size 3 -t_level 1 -asked", &own)))
    return;
  CHECK_OK(poiseOptionsRegister(own, "Test", table));
  CHECK_OK(poiseOptionsRegister(own, "Test", table)); /* again: nothing new */
  CHECK_OK(PoiseOptionsRead(own, NULL, table, &fields));
  CHECK(PoiseOptionsHas(own, NULL, "asked", NULL));
  CHECK_OK(PoiseOptionsUnused(own, f, &count));
  CHECK_INT(count, 4);
  Content(f, text, TEXT);
  for (int i = 0; i < 4; i++) CHECK(strstr(text, lines[i]) != NULL);
  CHECK(!strstr(text, "app_size 3") && !strstr(text, "t_level") && !strstr(text, "asked\n"));
  fclose(f);
  CHECK_OK(PoiseOptionsRead(own, "fine_", table, &fields));
  CHECK_OK(PoiseOptionsUnused(own, NULL, &count));
  CHECK_INT(count, 3);
  CHECK_OK(PoiseOptionsSet(own, "again", "1"));
  CHECK(Given(own, "again", "1"));
  CHECK_OK(PoiseOptionsSet(own, "again", "2")); /* somebody does ask for it */
  CHECK_OK(PoiseOptionsUnused(own, NULL, &count));
  CHECK_INT(count, 3);
  Close(&own);
}

/* From here on standard error goes to f; what it was is to be given back. */
static int Divert(FILE *f)
{
  fflush(stderr);
  int saved = dup(STDERR_FILENO);
  dup2(fileno(f), STDERR_FILENO);
  return saved;
}

static void Restore(int saved)
{
  fflush(stderr);
  dup2(saved, STDERR_FILENO);
  close(saved);
}

/* Solve x = 1 with a solver of this prefix; *error keeps the message. */
static PoiseErr SolveOne(PoiseContext ctx, const char *prefix, char error[512])
{
  int32_t ptr[] = {0, 1}, col[] = {0};
  double one[] = {1};
  PoiseCSR csr = {.ptr32 = ptr, .col32 = col, .val = one};
  PoiseMat A = NULL;
  PoiseVec b = NULL, x = NULL;
  PoiseKSP ksp = NULL;
  PoiseErr e = PoiseMatCreateCSR(ctx, 1, 1, 1, 1, &csr, POISE_BORROW, &A);
  if (!e) e = PoiseMatCreateVecs(A, &x, &b);
  if (!e) e = PoiseVecSet(b, 1);
  if (!e) e = PoiseKSPCreate(ctx, &ksp);
  if (!e) e = PoiseKSPSetOptionsPrefix(ksp, prefix);
  if (!e) e = PoiseKSPSetOperators(ksp, A, NULL);
  if (!e) e = PoiseKSPSetFromOptions(ksp);
  if (!e) e = PoiseKSPSolve(ksp, b, x);
  snprintf(error, 512, "%s", e ? PoiseErrorMessage() : "");
  PoiseKSPDestroy(&ksp);
  PoiseVecDestroy(&b);
  PoiseVecDestroy(&x);
  PoiseMatDestroy(&A);
  return e;
}

static const PoiseOption near_ours[] = {{"ksp_typo", POISE_OPTION_INT, 0, "1", 0, 0, NULL, "near -ksp_type"},
                                        {0}};

/* Keys that are refused before the first solve, those that are warned of then, and those that are told at the
   end. */
static void TestUnknown(PoiseContext ctx)
{
  static const struct {
    const char *words, *prefix;            /* the solver's */
    const char *refused, *warning, *atend; /* NULL: not so */
  } cases[] = {
      {"-ksp_tpye cg", NULL, "-ksp_tpye cg (command line): there is no such option; did you mean -ksp_type?",
       NULL, NULL},
      {"-ksp_tpye cg", "fine_", "did you mean -ksp_type?", NULL, NULL},
      {"-fine_ksp_tpye cg", "fine_", "did you mean -fine_ksp_type?", NULL, NULL},
      {"-fine_ksp_tpye cg", NULL, NULL, "unknown option -fine_ksp_tpye cg",
       NULL}, /* perhaps of an object to come */
      {"-a_long_pc_tpye ilu", "a_long_", "did you mean -a_long_pc_type?", NULL, NULL},
      {"-a_long_pc_tpye ilu", "a_", NULL, "did you mean -a_long_pc_type?", NULL},
      {"-mat_tipe csr", NULL, "did you mean -mat_type?", NULL, NULL},
      {"-device_foo_is_no_near_key 3", NULL, NULL,
       "-device_foo_is_no_near_key 3 (command line): there is no such", NULL},
      {"-size 3", NULL, NULL, "unknown option -size 3", NULL},
      {"-fine_ksp_rtol 0.1", NULL, NULL, NULL, "unused option -fine_ksp_rtol 0.1"},
      {"-ksp_gmres_restart 9 -ksp_type cg", NULL, NULL, NULL,
       "-ksp_gmres_restart 9 (command line): it exists"},
      {"-ksp_typo 3", NULL, NULL, NULL, NULL}, /* the application's */
      {"-ksp_rtol 0.1", NULL, NULL, NULL, NULL},
  };
  PoiseContext own;
  char text[TEXT], error[512];
  (void)ctx;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    FILE *f = tmpfile();
    const PoiseInit init = {.options = strstr(cases[i].words, "typo") ? near_ours : NULL};
    if (!CHECK_OK(OpenWith(init, cases[i].words, &own))) return;
    int saved = Divert(f);
    PoiseErr e = SolveOne(own, cases[i].prefix, error), again = SolveOne(own, cases[i].prefix, error);
    Restore(saved);
    Content(f, text, TEXT);
    CHECK(e == again && e == (cases[i].refused ? POISE_ERR_OPTION : POISE_OK));
    CHECK(strstr(error, cases[i].refused ? cases[i].refused : "") != NULL);
    CHECK_INT(CountWord(text, "poise: "), cases[i].warning != NULL); /* once */
    CHECK(strstr(text, cases[i].warning ? cases[i].warning : "") != NULL);
    size_t before = strlen(text);
    fseek(f, 0, SEEK_END);
    saved = Divert(f);
    CHECK_OK(PoiseFinalize(&own));
    Restore(saved);
    Content(f, text, TEXT);
    CHECK_INT(CountWord(text + before, "poise: "), cases[i].atend != NULL); /* not what was refused */
    CHECK(strstr(text + before, cases[i].atend ? cases[i].atend : "") != NULL);
    fclose(f);
  }
}

/* A program that lists its options is refused at once, and in one line, if a word of its user's resembles a
   known option. */
static void TestListed(PoiseContext ctx)
{
  static const PoiseOption listed[] = {{"support", POISE_OPTION_STRING, 0, "", 0, 0, NULL, "held groups"},
                                       {0}};
  static const char *const refused[][2] = {{"-suport bolts", "-support"},
                                           {"-kps_rtol 1", "-ksp_rtol"},
                                           {"-foo 1 -ksp_tpye cg", "-ksp_type"},
                                           {"-hepl", "-help"}};
  static const char *const taken[] = {"-support bolts", "-foo 1", "-fine_ksp_tpye cg", "-fine_ksp_rtol 1",
                                      "-suport bolts -help"};
  char words[64], text[TEXT];
  (void)ctx;
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    PoiseContext own = NULL;
    snprintf(words, sizeof words, "did you mean %s?", refused[i][1]);
    CHECK_ERR(OpenWith((PoiseInit){.options = listed}, refused[i][0], &own), POISE_ERR_OPTION, words);
    CHECK(!own);
  }
  for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
    PoiseContext own;
    FILE *f = tmpfile();
    fflush(stdout);
    int out = dup(STDOUT_FILENO), saved = Divert(f);
    dup2(fileno(f), STDOUT_FILENO);
    PoiseErr e = OpenWith((PoiseInit){.options = listed}, taken[i], &own);
    if (!e) e = PoiseFinalize(&own);
    fflush(stdout);
    dup2(out, STDOUT_FILENO);
    close(out);
    Restore(saved);
    CHECK_OK(e);
    CHECK_INT(CountWord(Content(f, text, TEXT), "poise: "), i > 0 && i < 4);
    fclose(f);
  }
  for (int left = 0; left < 2; left++) { /* at once, whatever error may come before the first solve */
    PoiseContext own;
    FILE *f = tmpfile();
    int saved = Divert(f);
    PoiseErr e = OpenWith((PoiseInit){.options = listed}, left ? "-foo 1 -options_left no" : "-foo 1", &own);
    Restore(saved);
    if (CHECK_OK(e)) Close(&own);
    CHECK_INT(CountWord(Content(f, text, TEXT), "unknown option -foo 1 (command line): there is no"), !left);
    fclose(f);
  }
}

/* What is asked for before the solve is the application's, whatever it looks like; PoiseOptionsSet may mend
   an error. */
static void TestUnknownAsked(PoiseContext ctx)
{
  PoiseContext own;
  char error[512], text[TEXT];
  FILE *f = tmpfile();
  (void)ctx;
  if (!CHECK_OK(OpenWith((PoiseInit){.prefix = "ours_"}, "-ksp_tpye 1 -ours_ksp_tpye cg", &own))) return;
  CHECK(SolveOne(own, NULL, error) == POISE_ERR_OPTION);
  CHECK(strstr(error,
               "-ours_ksp_tpye cg (command line): there is no such option; did you mean -ours_ksp_type?") !=
        NULL);
  CHECK(PoiseOptionsHas(own, NULL, "ksp_tpye", NULL));
  int saved = Divert(f);
  CHECK_OK(SolveOne(own, NULL, error));
  CHECK_OK(PoiseFinalize(&own));
  Restore(saved);
  CHECK(!*Content(f, text, TEXT));
  fclose(f);
}

/* -options_left in all its words. */
static void TestLeft(PoiseContext ctx)
{
  static const struct {
    const char *words;
    PoiseErr code;
    bool told;
  } cases[] = {{"-zzz", POISE_OK, true},
               {"-zzz -options_left", POISE_OK, true},
               {"-zzz -options_left yes", POISE_OK, true},
               {"-zzz -options_left no", POISE_OK, false},
               {"-zzz -options_left false", POISE_OK, false},
               {"-zzz -options_left error", POISE_ERR_OPTION, true},
               {"-options_left error -device host", POISE_OK, false}};
  char text[TEXT], error[512];
  (void)ctx;
  for (int i = 0; i < 14; i++) {
    PoiseContext own;
    FILE *f = tmpfile(), *out = tmpfile();
    if (!CHECK_OK(Open(cases[i / 2].words, &own))) return;
    PoiseSetOutput(own, out);
    int saved = Divert(f);
    if (i % 2) CHECK_OK(SolveOne(own, NULL, error)); /* warned of before, or only at the end */
    PoiseErr e = PoiseFinalize(&own);
    Restore(saved);
    if (e) CHECK(strstr(PoiseErrorMessage(), "1 option was not used (-options_left error)") != NULL);
    CHECK(e == cases[i / 2].code && !own);
    CHECK_INT(CountWord(Content(f, text, TEXT), "-zzz"), cases[i / 2].told);
    CHECK(!*Content(out, text, TEXT));
    fclose(out);
    fclose(f);
  }
}

static void TestHelp(PoiseContext ctx)
{
  PoiseContext own;
  char text[TEXT], words[64];
  FILE *f = tmpfile();
  (void)ctx;
  if (!CHECK_OK(
          OpenWith((PoiseInit){.prefix = "ours_", .help = "Solves a puzzle.", .options = table}, "", &own)))
    return;
  PoiseSetOutput(own, f);
  CHECK_OK(PoiseOptionsHelp(own));
  Content(f, text, TEXT);
  CHECK(!strncmp(text, "Solves a puzzle.\n", 17));
  for (const PoiseOption *row = table; row->key; row++) {
    snprintf(words, sizeof words, "  -ours_%s <", row->key);
    CHECK_INT(CountWord(text, words), 1);
    CHECK(strstr(text, row->help) != NULL);
  }
  CHECK(strstr(text, "(default 30; 1 .. 1000)") && strstr(text, "(default 2; >= 1e-300)"));
  CHECK(strstr(text, "(default none; none|jacobi|pbjacobi|bcgs=bicgstab|bicgstab)") != NULL);
  CHECK_INT(CountWord(text, "\nApplication\n"), 1);
  CHECK_INT(CountWord(text, "  -ours_options_file <"), 1);
  rewind(f);
  CHECK(!ftruncate(fileno(f), 0));
  CHECK_OK(poiseOptionsMarkdown(own, f));
  Content(f, text, TEXT);
  CHECK_INT(CountWord(text, "\n## Application\n"), 1);
  CHECK(strstr(text, "| `-t_count` | integer | 30 | 1 .. 1000 | a number of things |\n") != NULL);
  CHECK(strstr(text, "none\\|jacobi\\|pbjacobi") && strstr(text, "| a \\| b |\n"));
  Close(&own);
  fclose(f);
}

/* What PoiseInitialize prints already goes to the application's stream. */
static void TestOutputFromTheStart(PoiseContext ctx)
{
  PoiseContext own;
  char text[TEXT];
  FILE *f = tmpfile();
  (void)ctx;
  if (CHECK_OK(OpenWith((PoiseInit){.out = f}, "-poise_view", &own))) {
    CHECK(strstr(Content(f, text, TEXT), "device: ") != NULL);
    Close(&own);
  }
  fclose(f);
}

static void TestHelpFails(PoiseContext ctx)
{
  PoiseContext own;
  FILE *full = fopen("/dev/full", "w");
  (void)ctx;
  if (!full) TEST_SKIP("there is no /dev/full");
  if (CHECK_OK(Open("-zzz", &own))) {
    PoiseSetOutput(own, full);
    CHECK_ERR(PoiseOptionsHelp(own), POISE_ERR_FILE, "help");
    CHECK_ERR(PoiseOptionsUnused(own, full, NULL), POISE_ERR_FILE, "unused");
    Close(&own);
  }
  fclose(full);
}

/* ---- hostile input --------------------------------------------------------------------------- */

static char Letter(uint64_t seed, uint64_t i)
{
  static const char letters[] = "-- \t\n\r'\"#ktz_019.e=|\\\x80\xff%s";
  return letters[(size_t)((TestRandom(seed, i) + 1) / 2 * (double)(sizeof letters - 1))];
}

/* Any bytes give success or an error of the options with words; and everything can still be read and
   reported. */
static void TestFuzzText(PoiseContext ctx)
{
  char text[65];
  Fields fields;
  FILE *f = tmpfile();
  uint64_t base = (uint64_t)PoiseRank(ctx) * 100000;
  int good = 0, bad = 0, count;
  Quiet(ctx);
  for (uint64_t seed = base; seed < base + 2000; seed++) {
    size_t n = (size_t)(seed % 64);
    for (size_t i = 0; i < n; i++) text[i] = Letter(seed, i);
    text[n] = 0;
    PoiseErrorClear();
    PoiseErr e = PoiseOptionsSetString(ctx, text);
    CHECK(e == POISE_OK || (e == POISE_ERR_OPTION && *PoiseErrorMessage()));
    good += !e;
    bad += e != 0;
  }
  CHECK(good > 50 && bad > 50);
  CHECK_OK(PoiseOptionsUnused(ctx, f, &count));
  CHECK(count > 10);
  CHECK_OK(PoiseOptionsDefaults(table, &fields));
  for (uint64_t seed = base; seed < base + 2000; seed++) {
    size_t n = (size_t)(seed % 12);
    for (size_t i = 0; i < n; i++) text[i] = Letter(seed, i);
    text[n] = 0;
    for (const PoiseOption *row = table; row->key; row++) CHECK_OK(PoiseOptionsSet(ctx, row->key, text));
    PoiseErr e = PoiseOptionsRead(ctx, NULL, table, &fields);
    CHECK(e == POISE_ERR_OPTION && *PoiseErrorMessage()); /* none of these is legal for all */
    CHECK(fields.flag >= 0 && fields.flag <= 1 && fields.method >= 0 && fields.method <= 3);
    CHECK(fields.count >= 1 && fields.count <= 1000 && fields.level >= 0 && fields.level <= 1);
  }
  PoiseErrorClear();
  fclose(f);
}

static void TestFuzzFile(PoiseContext ctx)
{
  char text[256], path[32];
  PoiseContext own;
  (void)ctx;
  for (uint64_t seed = 0; seed < 150; seed++) {
    size_t n = (size_t)(seed * 7 % sizeof text);
    for (size_t i = 0; i < n; i++) text[i] = seed % 3 ? Letter(seed, i) : (char)(128 * TestRandom(seed, i));
    PoiseErr e = OpenFile(text, n, path, &own);
    CHECK(e == POISE_OK || e == POISE_ERR_OPTION || e == POISE_ERR_FORMAT);
    CHECK(!e == (own != NULL));
    if (own) Close(&own);
  }
  PoiseErrorClear();
}

static void TestFuzzCommandLine(PoiseContext ctx)
{
  char words[8][12], *argv[10] = {"test"}, **list = argv;
  int argc = 9, bad = 0;
  PoiseContext own;
  (void)ctx;
  for (uint64_t seed = 0; seed < 300; seed++) {
    for (int w = 0; w < 8; w++) {
      size_t n = (size_t)((seed + (uint64_t)w) % 11);
      for (size_t i = 0; i < n; i++) words[w][i] = Letter(seed, (uint64_t)w * 100 + i);
      words[w][n] = 0;
      argv[w + 1] = words[w];
    }
    PoiseErr e = PoiseInitialize(&argc, &list, &(PoiseInit){.serial = 1}, &own);
    bad += e != POISE_OK;
    if (!e) Close(&own);
  }
  CHECK_INT(bad, 0); /* what is not ours is no error */
}

/* What is quoted comes back as it was. */
static void TestRoundTrip(PoiseContext ctx)
{
  char value[41], text[100];
  Quiet(ctx);
  for (uint64_t seed = 0; seed < 500; seed++) {
    size_t n = (size_t)(seed % 40);
    for (size_t i = 0; i < n; i++) {
      value[i] = Letter(seed, i);
      if (value[i] == '\n' || value[i] == '\'') value[i] = 'n';
    }
    value[n] = 0;
    snprintf(text, sizeof text, "-before 1 -round_%d '%s' # \n-after", (int)(seed % 7), value);
    if (!CHECK_OK(PoiseOptionsSetString(ctx, text))) return;
    snprintf(text, sizeof text, "round_%d", (int)(seed % 7));
    CHECK(Given(ctx, text, value));
  }
}

static void TestLongKey(PoiseContext ctx)
{
  size_t n = 100000;
  char *text = malloc(n + 1);
  FILE *f = tmpfile();
  int count;
  Quiet(ctx);
  memset(text, 'k', n);
  text[0] = '-';
  text[n] = 0;
  CHECK_OK(PoiseOptionsSet(ctx, text, text));
  CHECK(Given(ctx, text, text));
  text[1] = 'l';
  CHECK_OK(PoiseOptionsSetString(ctx, text));
  CHECK_OK(PoiseOptionsUnused(ctx, f, &count));
  CHECK(count >= 1);
  CHECK_OK(PoiseOptionsSet(ctx, "t_count", text));
  Fields fields;
  CHECK_ERR(PoiseOptionsRead(ctx, NULL, table, &fields), POISE_ERR_OPTION, "(code): not an integer");
  fclose(f);
  free(text);
}

/* Keys come and go in any order, and some begin as others do. An array holds what is set. */
static void TestClear(PoiseContext ctx)
{
  enum { KEYS = 60 };
  char key[16], value[16];
  int set[KEYS] = {0};
  Quiet(ctx);
  for (int turn = 0, k = 7 * PoiseRank(ctx); turn < 2000; turn++, k = (37 * k + turn) % KEYS) {
    snprintf(key, sizeof key, "%.*s%d", 1 + k % 4, "kkkk", k / 4);
    snprintf(value, sizeof value, "%d", turn + 1);
    set[k] = turn % 3 ? turn + 1 : 0;
    CHECK_OK(set[k] ? PoiseOptionsSet(ctx, key, value) : PoiseOptionsClear(ctx, key));
    int check = (turn * 11) % KEYS;
    snprintf(key, sizeof key, "%.*s%d", 1 + check % 4, "kkkk", check / 4);
    snprintf(value, sizeof value, "%d", set[check]);
    CHECK(Given(ctx, key, set[check] ? value : NULL));
    CHECK_INT(PoiseOptionsUsed(ctx, key), set[check] != 0);
  }
}

/* What is removed leaves nothing behind. */
static void TestClearMemory(PoiseContext ctx)
{
  PoiseContext own;
  char key[32];
  int64_t live = 0;
  (void)ctx;
  if (!CHECK_OK(Open("", &own))) return;
  for (int i = 0; i < 1000; i++) {
    snprintf(key, sizeof key, "solver_%d_t_count", i);
    CHECK_OK(PoiseOptionsSet(own, key, "3"));
    CHECK_OK(PoiseOptionsClear(own, key));
    if (i == 10) live = own->memory.live;
    CHECK(i <= 10 || own->memory.live == live);
  }
  Close(&own);
}

/* ---- memory and locale ----------------------------------------------------------------------- */

static PoiseErr SetAndRead(PoiseContext ctx, void *arg)
{
  int *calls = arg;
  char key[32], value[32];
  Fields fields;
  snprintf(value, sizeof value, "%d", ++*calls); /* another one each time */
  for (int i = 0; i < 20; i++) {
    snprintf(key, sizeof key, "k%d", i);
    TRY(PoiseOptionsSet(ctx, key, value));
  }
  TRY(PoiseOptionsSetString(ctx, "-t_count 3 -t_name 'x y'"));
  return PoiseOptionsRead(ctx, NULL, table, &fields);
}

static void TestMemory(PoiseContext ctx)
{
  PoiseContext own;
  int calls = 0;
  (void)ctx;
  if (!CHECK_OK(Open("", &own))) return;
  TestAllocationFailures(own, SetAndRead, &calls);
  CHECK(calls > 50);
  Close(&own);
}

static void TestCreateMemory(PoiseContext ctx)
{
  char path[32];
  char *argv[] = {"test", "-ours_options_file", path, "-ours_k", "1"};
  PoiseInit init = {.serial = 1, .prefix = "ours_", .help = "help", .options = table};
  bool fired = true;
  int n = 0;
  (void)ctx;
  PutFile(path, "-a 1 -b 2\n-c 3", 14);
  setenv("POISE_OPTIONS", "-ours_e 1 -f", 1);
  while (fired && ++n < 1000) {
    PoiseContext own = calloc(1, sizeof *own);
    own->memory.fail_at = n;
    PoiseErr e = poiseContextFill(own, 5, argv, &init);
    fired = !own->memory.fail_at;
    own->memory.fail_at = 0;
    if (fired) {
      CHECK_ERR(e, POISE_ERR_MEMORY, "");
      CHECK_INT(own->memory.live, 0);
      free(own);
    } else if (CHECK_OK(e)) {
      CHECK(Given(own, "a", "1") && Given(own, "c", "3") && Given(own, "e", "1") && Given(own, "f", ""));
      Close(&own);
    }
  }
  CHECK(n > 20 && n < 1000);
  unsetenv("POISE_OPTIONS");
  remove(path);
}

static void TestLocale(PoiseContext ctx)
{
  static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fr_FR"};
  const char *found = NULL;
  Fields fields;
  Quiet(ctx);
  for (int i = 0; i < 4 && !found; i++) found = setlocale(LC_NUMERIC, names[i]);
  CHECK_OK(PoiseOptionsSet(ctx, "t_level", "0.25"));
  CHECK_OK(PoiseOptionsRead(ctx, NULL, table, &fields));
  CHECK(fields.level == 0.25);
  setlocale(LC_NUMERIC, "C");
  if (!found) TEST_SKIP("no locale with a decimal comma is installed");
}

enum { ONE = TEST_SERIAL | TEST_HOST_ONLY }; /* files and environment are of the process */

static const Test tests[] = {{"precedence", TestPrecedence, ONE},
                             {"file_from_environment", TestFileFromEnvironment, ONE},
                             {"last_wins", TestLastWins, ONE},
                             {"command_line", TestCommandLine, ONE},
                             {"arguments", TestArguments, ONE},
                             {"prefix", TestPrefix, ONE},
                             {"prefix_of_name", TestPrefixOfName, ONE},
                             {"nested_prefix", TestNestedPrefix, TEST_HOST_ONLY},
                             {"ranks", TestRanks, TEST_HOST_ONLY},
                             {"runs", TestRuns, ONE},
                             {"shared", TestShared, TEST_HOST_ONLY},
                             {"defaults", TestDefaults, TEST_HOST_ONLY},
                             {"good", TestGood, TEST_HOST_ONLY},
                             {"extremes", TestExtremes, TEST_HOST_ONLY},
                             {"bad", TestBad, TEST_HOST_ONLY},
                             {"bad_source", TestBadSource, ONE},
                             {"strings", TestStrings, TEST_HOST_ONLY},
                             {"alone", TestAlone, TEST_HOST_ONLY},
                             {"needs_value", TestNeedsValue, TEST_HOST_ONLY},
                             {"choices", TestChoices, TEST_HOST_ONLY},
                             {"argument_errors", TestArgumentErrors, TEST_HOST_ONLY},
                             {"text", TestText, TEST_HOST_ONLY},
                             {"bad_text", TestBadText, TEST_HOST_ONLY},
                             {"bad_environment", TestBadEnvironment, ONE},
                             {"file", TestFile, ONE},
                             {"bad_file", TestBadFile, ONE},
                             {"closest", TestClosest, TEST_HOST_ONLY},
                             {"unused", TestUnused, ONE},
                             {"unknown", TestUnknown, ONE},
                             {"listed", TestListed, ONE},
                             {"unknown_asked", TestUnknownAsked, ONE},
                             {"left", TestLeft, ONE},
                             {"help", TestHelp, ONE},
                             {"help_fails", TestHelpFails, ONE},
                             {"output", TestOutputFromTheStart, ONE},
                             {"fuzz_text", TestFuzzText, TEST_HOST_ONLY},
                             {"fuzz_file", TestFuzzFile, ONE},
                             {"fuzz_command_line", TestFuzzCommandLine, ONE},
                             {"round_trip", TestRoundTrip, TEST_HOST_ONLY},
                             {"long_key", TestLongKey, TEST_HOST_ONLY},
                             {"clear", TestClear, TEST_HOST_ONLY},
                             {"clear_memory", TestClearMemory, ONE},
                             {"memory", TestMemory, ONE},
                             {"create_memory", TestCreateMemory, ONE},
                             {"locale", TestLocale, ONE},
                             {NULL, NULL, 0}};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "options", tests);
}
