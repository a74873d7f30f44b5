/* SPDX-License-Identifier: BSD-3-Clause */
/* Options from code, text, files and the command line; prefixes, kinds, ranges; options of objects. */
#include "api.h"

typedef struct Fields {
  int flag, word;
  PoiseInt n;
  double a;
  char text[POISE_OPTION_LENGTH];
} Fields;

static const PoiseOption table[] = {
    {"t_flag", POISE_OPTION_BOOL, offsetof(Fields, flag), "yes", 0, 0, NULL, "a flag"},
    {"t_word", POISE_OPTION_CHOICE, offsetof(Fields, word), "two", 0, 0, "one|two|three|drei=three",
     "a word"},
    {"t_n", POISE_OPTION_INT, offsetof(Fields, n), "4", -3, 9, NULL, "a number"},
    {"t_a", POISE_OPTION_REAL, offsetof(Fields, a), "0.5", 0, 1, NULL, "another"},
    {"t_text", POISE_OPTION_STRING, offsetof(Fields, text), "hello", 0, 0, NULL, "a text"},
    {0},
};

static void TestKinds(PoiseContext ctx)
{
  Fields f;
  memset(&f, 77, sizeof f);
  CHECK_OK(PoiseOptionsDefaults(table, &f));
  CHECK(f.flag == 1 && f.word == 1 && f.n == 4 && f.a == 0.5 && !strcmp(f.text, "hello"));
  f.n = -1;
  CHECK_OK(PoiseOptionsRead(ctx, NULL, table, &f)); /* none was given: none is touched */
  CHECK(f.flag == 1 && f.word == 1 && f.n == -1 && f.a == 0.5);
  CHECK_OK(PoiseOptionsSetString(ctx, "-t_flag no -t_word Drei -t_n -3 -t_a 1 # -t_n 5\n-t_text 'a b' "));
  CHECK_OK(PoiseOptionsRead(ctx, NULL, table, &f));
  CHECK(f.flag == 0 && f.word == 2 && f.n == -3 && f.a == 1 && !strcmp(f.text, "a b"));
  static const char *const yes[] = {"yes", "true", "on", "1", NULL}, *const no[] = {"no", "false", "off",
                                                                                    "0"};
  for (int k = 0; k < 5; k++) {
    f.flag = 0;
    CHECK_OK(PoiseOptionsSet(ctx, k % 2 ? "t_flag" : "-t_flag", yes[k]));
    CHECK_OK(PoiseOptionsRead(ctx, "", table, &f));
    CHECK_INT(f.flag, 1);
  }
  for (int k = 0; k < 4; k++) {
    f.flag = 1;
    CHECK_OK(PoiseOptionsSet(ctx, "t_flag", no[k]));
    CHECK_OK(PoiseOptionsRead(ctx, NULL, table, &f));
    CHECK_INT(f.flag, 0);
  }
  CHECK_OK(PoiseOptionsSetString(ctx, "-t_n 1 -p_t_n 2 -p_q_t_n 3"));
  CHECK_OK(PoiseOptionsRead(ctx, "p_", table, &f));
  CHECK_INT(f.n, 2);
  CHECK_OK(PoiseOptionsRead(ctx, "p_q_", table, &f));
  CHECK_INT(f.n, 3);
  CHECK_OK(PoiseOptionsRead(ctx, "q_", table, &f));
  CHECK_INT(f.n, 3);
}

static void TestBad(PoiseContext ctx)
{
  static const char *const bad[][3] = {{"t_flag", "maybe", "no"},
                                       {"t_word", "four", "one"},
                                       {"t_n", "10", "4"},
                                       {"t_n", "-4", "4"},
                                       {"t_n", "3.5", "4"},
                                       {"t_n", "x", "4"},
                                       {"t_a", "1.01", "0.5"},
                                       {"t_a", "-0.01", "0.5"},
                                       {"t_a", "1e", "0.5"},
                                       {"t_a", "nan", "0.5"},
                                       {"t_n", "99999999999999999999", "9"},
                                       {"t_n", "", "9"},
                                       {"t_a", "0x", "0"}};
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    Fields f = {0};
    ApiCase("%s '%s'", bad[k][0], bad[k][1]);
    CHECK_OK(PoiseOptionsSet(ctx, bad[k][0], bad[k][1]));
    CHECK_ERR(PoiseOptionsRead(ctx, NULL, table, &f), POISE_ERR_OPTION, bad[k][0]);
    CHECK_OK(PoiseOptionsSet(ctx, bad[k][0], bad[k][2]));
    CHECK_OK(PoiseOptionsRead(ctx, NULL, table, &f));
  }
  CHECK_ERR(PoiseOptionsSetString(ctx, "value -t_n 3"), POISE_ERR_OPTION, "value");
  CHECK_ERR(PoiseOptionsSetString(ctx, "-t_text 'open"), POISE_ERR_OPTION, "");
}

static void TestHas(PoiseContext ctx)
{
  const char *value = NULL;
  int before, after;
  CHECK_INT(PoiseOptionsHas(ctx, NULL, "h_key", &value), 0);
  CHECK_OK(PoiseOptionsUnused(ctx, NULL, &before));
  CHECK_OK(PoiseOptionsSet(ctx, "h_key", "5"));
  CHECK_OK(PoiseOptionsSet(ctx, "x_h_key", NULL));
  CHECK_OK(PoiseOptionsUnused(ctx, NULL, &after));
  CHECK_INT(after, before + 2);
  CHECK_INT(PoiseOptionsHas(ctx, NULL, "h_key", &value), 1);
  CHECK(!strcmp(value, "5"));
  CHECK_OK(PoiseOptionsUnused(ctx, NULL, &after));
  CHECK_INT(after, before + 1);
  CHECK_INT(PoiseOptionsHas(ctx, "x_", "h_key", &value), 1);
  CHECK(!strcmp(value, ""));
  CHECK_OK(PoiseOptionsUnused(ctx, NULL, &after));
  CHECK_INT(after, before);
}

/* An option that is removed is as if it had never been set, and the others stay. */
static void TestClear(PoiseContext ctx)
{
  const char *value = NULL;
  int before, after;
  CHECK_OK(PoiseOptionsUnused(ctx, NULL, &before));
  CHECK_OK(PoiseOptionsSet(ctx, "r_key", "1"));
  CHECK_OK(PoiseOptionsSet(ctx, "r_key_2", "2"));
  CHECK_OK(PoiseOptionsSet(ctx, "r_ke", "3"));
  CHECK_INT(PoiseOptionsUsed(ctx, "r_key"), 0);
  CHECK_INT(PoiseOptionsUsed(ctx, "r_key"), 0); /* which marks nothing */
  CHECK_OK(PoiseOptionsUnused(ctx, NULL, &after));
  CHECK_INT(after, before + 3);
  CHECK_INT(PoiseOptionsHas(ctx, "r_", "key", NULL), 1);
  CHECK_INT(PoiseOptionsUsed(ctx, "-r_key"), 1);
  CHECK_INT(PoiseOptionsUsed(ctx, "r_key_2"), 0);
  CHECK_INT(PoiseOptionsUsed(ctx, "r_none"), 0);
  CHECK_OK(PoiseOptionsClear(ctx, "-r_key"));
  CHECK_OK(PoiseOptionsClear(ctx, "r_key")); /* which is none by then */
  CHECK_INT(PoiseOptionsUsed(ctx, "r_key"), 0);
  CHECK_INT(PoiseOptionsHas(ctx, NULL, "r_key", NULL), 0);
  CHECK_INT(PoiseOptionsHas(ctx, NULL, "r_key_2", &value), 1);
  CHECK(!strcmp(value, "2"));
  CHECK_OK(PoiseOptionsSet(ctx, "r_key", "4"));
  CHECK_INT(PoiseOptionsUsed(ctx, "r_key"), 0);
  CHECK_OK(PoiseOptionsClear(ctx, "r_key"));
  CHECK_OK(PoiseOptionsClear(ctx, "r_ke"));
  CHECK_OK(PoiseOptionsClear(ctx, "r_key_2"));
  CHECK_OK(PoiseOptionsUnused(ctx, NULL, &after));
  CHECK_INT(after, before);
}

/* Which source wins, and what is left alone, of a context of its own. */
static void TestSources(PoiseContext ctx)
{
  char path[256];
  static const char text[] = "# remark\n-s_file file\n-s_both file -s_flag\n-s_line \"a b\"\n";
  ApiWrite(ctx, ApiPath(ctx, "options", path), text, sizeof text - 1);
  if (!PoiseRank(ctx)) {
    const char *words[] = {"program", "--other", "-options_file", path, "-s_both",
                           "line",    "stray",   "-s_neg",        "-1", "-options_left",
                           "no",      "--",      "-s_behind",     "1",  NULL};
    char **argv = (char **)words;
    int argc = 14;
    PoiseContext own = NULL;
    const char *value;
    CHECK_OK(PoiseInitialize(&argc, &argv, &(PoiseInit){.serial = 1}, &own));
    CHECK_INT(argc, 14);
    CHECK(PoiseOptionsHas(own, NULL, "s_file", &value) && !strcmp(value, "file"));
    CHECK(PoiseOptionsHas(own, NULL, "s_both", &value) && !strcmp(value, "line"));
    CHECK(PoiseOptionsHas(own, NULL, "s_neg", &value) && !strcmp(value, "-1"));
    CHECK(PoiseOptionsHas(own, NULL, "s_line", &value) && !strcmp(value, "a b"));
    CHECK(PoiseOptionsHas(own, NULL, "s_flag", &value) && !strcmp(value, ""));
    CHECK(!PoiseOptionsHas(own, NULL, "s_behind", NULL));
    CHECK(!PoiseOptionsHas(own, NULL, "other", NULL));
    CHECK_OK(PoiseOptionsSet(own, "s_both", "code")); /* others override it */
    CHECK_OK(PoiseOptionsClear(own, "s_both"));       /* and it does not remove them */
    CHECK(PoiseOptionsHas(own, NULL, "s_both", &value) && !strcmp(value, "line"));
    CHECK_OK(PoiseFinalize(&own));
    CHECK(own == NULL);
    const char *prefixed[] = {"program", "-me_s_a", "1", "-s_b", "2", NULL};
    argv = (char **)prefixed;
    argc = 5;
    CHECK_OK(PoiseInitialize(&argc, &argv, &(PoiseInit){.serial = 1, .prefix = "me_"}, &own));
    CHECK(PoiseOptionsHas(own, NULL, "s_a", &value) && !strcmp(value, "1"));
    CHECK(!PoiseOptionsHas(own, NULL, "s_b", &value));
    CHECK_OK(PoiseFinalize(&own));
    setenv("POISE_OPTIONS", "-s_env 1 -s_both env", 1);
    argv = (char **)words;
    argc = 11;
    CHECK_OK(PoiseInitialize(&argc, &argv, &(PoiseInit){.serial = 1}, &own));
    unsetenv("POISE_OPTIONS");
    CHECK(PoiseOptionsHas(own, NULL, "s_env", &value) && !strcmp(value, "1"));
    CHECK(PoiseOptionsHas(own, NULL, "s_both", &value) && !strcmp(value, "line"));
    CHECK_OK(PoiseFinalize(&own));
    const char *wrong[] = {"program", "-options_file", "no/such/options", NULL};
    argv = (char **)wrong;
    argc = 3;
    CHECK_ERR(PoiseInitialize(&argc, &argv, &(PoiseInit){.serial = 1}, &own), POISE_ERR_FILE,
              "no/such/options");
    const char *ranks[] = {"program", "-ranks", "0", NULL};
    argv = (char **)ranks;
    CHECK_ERR(PoiseInitialize(&argc, &argv, &(PoiseInit){.serial = 1}, &own), POISE_ERR_OPTION, "ranks");
    CHECK(own == NULL);
    remove(path);
  }
  CHECK_OK(PoiseBarrier(ctx));
}

/* Objects take theirs, with their prefix; the later of code and options counts. */
static void TestObjects(PoiseContext ctx)
{
  Dense D = System(SPD, 24);
  PoiseMat A = MatOf(ctx, &D, 1, 0);
  PoiseKSP ksp = NULL;
  PoisePC pc;
  PoiseVec b, x;
  CHECK_OK(PoiseMatCreateVecs(A, &x, &b));
  CHECK_OK(PoiseVecSet(b, 1));
  CHECK_OK(PoiseOptionsSetString(
      ctx, "-a_mat_type seg -k_ksp_type cg -k_pc_type jacobi -k_ksp_max_it 2 -k_ksp_norm_type natural "
           "-k_ksp_rtol 0 -k_ksp_atol 0 -mat_type bcsr -ksp_type minres"));
  CHECK_OK(PoiseMatSetOptionsPrefix(A, "a_"));
  CHECK_OK(PoiseMatSetFromOptions(A));
  CHECK(!strcmp(PoiseMatType(A), "seg"));
  CHECK_OK(PoiseMatSetOptionsPrefix(A, NULL));
  CHECK_OK(PoiseMatSetFromOptions(A));
  CHECK(!strcmp(PoiseMatType(A), "bcsr"));
  CHECK_OK(PoiseKSPCreate(ctx, &ksp));
  CHECK_OK(PoiseKSPSetOptionsPrefix(ksp, "k_"));
  CHECK_OK(PoiseKSPSetOperators(ksp, A, NULL));
  CHECK_OK(PoiseKSPSetType(ksp, "richardson"));
  CHECK_OK(PoiseKSPSetFromOptions(ksp));
  CHECK(!strcmp(PoiseKSPType(ksp), "cg"));
  CHECK_OK(PoiseKSPGetPC(ksp, &pc));
  CHECK(!strcmp(PoisePCType(pc), "jacobi"));
  CHECK_OK(PoiseKSPSolve(ksp, b, x));
  CHECK_INT(PoiseKSPIterations(ksp), 2);
  CHECK_INT(PoiseKSPNormUsed(ksp), POISE_KSP_NORM_NATURAL);
  CHECK_OK(PoiseKSPSetTolerances(ksp, -1, -1, -1, 3));
  CHECK_OK(PoiseKSPSolve(ksp, b, x));
  CHECK_INT(PoiseKSPIterations(ksp), 3);
  static const char *const bad[][2] = {{"k_ksp_type", "nope"},      {"k_pc_type", "nope"},
                                       {"k_ksp_rtol", "2"},         {"k_ksp_max_it", "-1"},
                                       {"k_ksp_norm_type", "loud"}, {"k_ksp_pc_side", "up"}};
  static const char *const good[] = {"gmres", "none", "1e-5", "10", "default", "left"};
  for (int k = 0; k < 6; k++) {
    ApiCase("%s %s", bad[k][0], bad[k][1]);
    CHECK_OK(PoiseOptionsSet(ctx, bad[k][0], bad[k][1]));
    PoiseErr e = PoiseKSPSetFromOptions(ksp);
    CHECK(e == POISE_ERR_OPTION || e == POISE_ERR_ARG || e == POISE_ERR_REMOTE);
    CHECK(strstr(PoiseErrorMessage(), bad[k][1]) != NULL);
    PoiseErrorClear();
    CHECK_OK(PoiseOptionsSet(ctx, bad[k][0], good[k]));
    CHECK_OK(PoiseKSPSetFromOptions(ksp));
  }
  CHECK_OK(PoiseOptionsSetString(
      ctx, "-k_ksp_gmres_restart 2 -k_ksp_richardson_scale 0.25 -k_ksp_chebyshev_eigenvalues 0.1,9"));
  CHECK_OK(PoiseKSPSetFromOptions(ksp));
  CHECK_OK(PoiseKSPDestroy(&ksp));
  CHECK_OK(PoiseVecDestroy(&b));
  CHECK_OK(PoiseVecDestroy(&x));
  CHECK_OK(PoiseMatDestroy(&A));
  DenseFree(&D);
}

/* Help lists the library's and names their defaults; a key that nobody asked for is told with its
   neighbour. */
static void TestTold(PoiseContext ctx)
{
  static _Thread_local char text[200000];
  FILE *out = ApiPrintBegin(ctx);
  CHECK_OK(PoiseOptionsHelp(ctx));
  ApiPrintEnd(ctx, out, text, sizeof text);
  if (!PoiseRank(ctx)) {
    static const char *const words[] = {"-ksp_type", "-ksp_rtol",          "-pc_type",     "-mat_type",
                                        "-device",   "-ksp_gmres_restart", "-pc_sor_omega"};
    for (int k = 0; k < 7; k++) CHECK(strstr(text, words[k]) != NULL);
  }
  CHECK_OK(PoiseOptionsSet(ctx, "ksp_gmres_restrat", "7"));
  out = tmpfile();
  int count;
  CHECK_OK(PoiseOptionsUnused(ctx, out, &count));
  CHECK(count >= 1);
  if (out && !PoiseRank(ctx)) {
    rewind(out);
    text[fread(text, 1, sizeof text - 1, out)] = 0;
    CHECK(strstr(text, "ksp_gmres_restrat") && strstr(text, "ksp_gmres_restart"));
  }
  if (out) fclose(out);
}

const Test option_tests[] = {
    {"kinds", TestKinds},     {"bad", TestBad},         {"has", TestHas},   {"clear", TestClear},
    {"sources", TestSources}, {"objects", TestObjects}, {"told", TestTold}, {NULL, NULL}};
