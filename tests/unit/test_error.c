/* SPDX-License-Identifier: BSD-3-Clause */
/* Codes, messages and traces. */
#include "files.h"
#include "sys/sys.h"

static PoiseErr Deep(int levels)
{
  if (levels == 0) FAIL(POISE_ERR_SIZE, "A is %d x %d, x has %d entries", 50, 50, 51);
  TRY(Deep(levels - 1));
  return POISE_OK;
}

static PoiseErr Bare(PoiseErr code)
{
  TRY(code); /* of a callback that sets no message */
  return POISE_OK;
}

static void TestCodes(PoiseContext ctx)
{
#define CODE(code, text) {code, text},
  static const struct {
    PoiseErr code;
    const char *text;
  } list[] = {POISE_ERROR_LIST(CODE)};
#undef CODE
  (void)ctx;
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    CHECK_INT(list[i].code, i);
    CHECK(!strcmp(PoiseErrorString(list[i].code), list[i].text));
    for (size_t j = 0; j < i; j++) CHECK(strcmp(list[i].text, list[j].text));
  }
  CHECK(strstr(PoiseErrorString((PoiseErr)1000), "unknown") != NULL);
  CHECK(strstr(PoiseErrorString((PoiseErr)-1), "unknown") != NULL);
}

static void TestTrace(PoiseContext ctx)
{
  (void)ctx;
  PoiseErrorClear();
  CHECK(!*PoiseErrorText() && !*PoiseErrorMessage());
  CHECK(Deep(3) == POISE_ERR_SIZE);
  CHECK(!strcmp(PoiseErrorMessage(), "A is 50 x 50, x has 51 entries"));
  const char *text = PoiseErrorText(), *first = "poise: sizes do not match: A is 50 x 50, x has 51 entries\n";
  CHECK(!strncmp(text, first, strlen(first)));
  CHECK_INT(CountWord(text, "\n  at Deep ("), 4);
  CHECK_INT(CountWord(text, "\n"), 5);
  CHECK(strstr(text, "test_error.c:") != NULL);
  CHECK(!strstr(text, "(/"));
  CHECK(text[strlen(text) - 1] == '\n');
  CHECK(Deep(0) == POISE_ERR_SIZE); /* an older trace is dropped */
  CHECK_INT(CountWord(PoiseErrorText(), "\n"), 2);
  PoiseErrorClear();
  CHECK(!*PoiseErrorText() && !*PoiseErrorMessage());
}

static void TestPaths(PoiseContext ctx)
{
  (void)ctx;
  PoiseErrorSet(POISE_ERR_ARG, "F", "/home/me/src/poise/src/mat/types/csr.c", 7, "m");
  PoiseErrorTrace(POISE_ERR_ARG, "G", "src/ksp/cg.c", 8);
  PoiseErrorTrace(POISE_ERR_ARG, "H", "/opt/application/main.c", 9);
  CHECK(!strcmp(PoiseErrorText(),
                "poise: invalid argument: m\n  at F (src/mat/types/csr.c:7)\n  at G (src/ksp/cg.c:8)\n"
                "  at H (main.c:9)\n"));
  PoiseErrorClear();
}

static void TestDeep(PoiseContext ctx)
{
  int frames, dropped = -1;
  char words[64];
  (void)ctx;
  CHECK(Deep(1000) == POISE_ERR_SIZE);
  for (int repeat = 0; repeat < 2; repeat++) {
    const char *more = strstr(PoiseErrorText(), "... and ");
    frames = CountWord(PoiseErrorText(), "\n  at ");
    if (CHECK(more)) CHECK_INT(sscanf(more, "... and %d more", &dropped), 1);
    CHECK(frames >= 16);
    CHECK_INT(frames + dropped, 1001);
  }
  snprintf(words, sizeof words, "... and %d more\n", dropped + 1);
  PoiseErrorTrace(POISE_ERR_SIZE, "one", "more.c", 1);
  CHECK(strstr(PoiseErrorText(), words) != NULL);
  PoiseErrorClear();
}

/* Names so long that the text is full before the number of frames is. */
static void TestLong(PoiseContext ctx)
{
  char name[3000], message[5000];
  (void)ctx;
  memset(name, 'n', sizeof name);
  memset(message, 'm', sizeof message);
  name[sizeof name - 1] = message[sizeof message - 1] = 0;
  PoiseErrorSet(POISE_ERR_ARG, name, "f.c", 1, "%s", message);
  size_t length = strlen(PoiseErrorMessage());
  CHECK(length >= 500 && length < sizeof message);
  CHECK(!strcmp(PoiseErrorMessage() + length - 3, "..."));
  for (int i = 0; i < 100; i++) PoiseErrorTrace(POISE_ERR_ARG, name, "f.c", i);
  CHECK(strstr(PoiseErrorText(), " more\n") != NULL);
  PoiseErrorClear();
}

static void TestCallback(PoiseContext ctx)
{
  (void)ctx;
  CHECK(Deep(0) == POISE_ERR_SIZE);
  CHECK(Bare(POISE_ERR_USER) == POISE_ERR_USER);
  CHECK(!*PoiseErrorMessage()); /* the older error's words are not its own */
  CHECK(!strncmp(PoiseErrorText(), "poise: user callback failed\n  at Bare (", 39));
  PoiseErrorClear();
}

/* A user reads the message. The trace is for those who ask, and of errors inside the library. */
static void TestHidden(PoiseContext ctx)
{
  (void)ctx;
  for (int shown = 0; shown < 2; shown++) {
    poiseErrorShowTrace(shown);
    CHECK(Deep(3) == POISE_ERR_SIZE);
    CHECK_INT(CountWord(PoiseErrorText(), "\n"), shown ? 5 : 1);
    CHECK(!strncmp(PoiseErrorText(), "poise: sizes do not match: A is 50 x 50, x has 51 entries\n", 58));
    PoiseErrorSet(POISE_ERR_INTERNAL, "F", "f.c", 1, "a bug");
    CHECK(!strcmp(PoiseErrorText(), "poise: internal check failed: a bug\n  at F (f.c:1)\n"));
    PoiseErrorClear();
    CHECK(!*PoiseErrorText());
  }
}

/* An error told again with the older one's words, as another rank's is. */
static void TestOwnWords(PoiseContext ctx)
{
  (void)ctx;
  PoiseErrorSet(POISE_ERR_ARG, "F", "f.c", 1, "words of %s", "old");
  PoiseErrorSet(POISE_ERR_REMOTE, "G", "g.c", 2, "rank 3: %s", PoiseErrorMessage());
  CHECK(!strcmp(PoiseErrorMessage(), "rank 3: words of old"));
  PoiseErrorClear();
}

static void TestRemote(PoiseContext ctx)
{
  int last = PoiseSize(ctx) - 1;
  PoiseErr e = PoiseRank(ctx) == last ? Deep(2) : POISE_OK;
  CHECK_ERR(PoiseAgree(ctx, e), e ? POISE_ERR_SIZE : POISE_ERR_REMOTE, "A is 50 x 50, x has 51 entries");
}

/* Each thread has its own error. */
static void *Fails(void *arg)
{
  CHECK(!*PoiseErrorText());
  CHECK(Deep(*(int *)arg) == POISE_ERR_SIZE);
  CHECK_INT(CountWord(PoiseErrorText(), "\n  at "), *(int *)arg + 1);
  return NULL;
}

static void TestThreads(PoiseContext ctx)
{
  pthread_t thread[4];
  int levels[4] = {1, 2, 3, 4};
  (void)ctx;
  CHECK(Bare(POISE_ERR_USER) == POISE_ERR_USER);
  for (int i = 0; i < 4; i++) CHECK(!pthread_create(&thread[i], NULL, Fails, &levels[i]));
  for (int i = 0; i < 4; i++) pthread_join(thread[i], NULL);
  CHECK_INT(CountWord(PoiseErrorText(), "\n  at "), 1);
  PoiseErrorClear();
}

static const Test tests[] = {{"codes", TestCodes, TEST_SERIAL | TEST_HOST_ONLY},
                             {"trace", TestTrace, TEST_HOST_ONLY},
                             {"paths", TestPaths, TEST_HOST_ONLY},
                             {"deep", TestDeep, TEST_HOST_ONLY},
                             {"long", TestLong, TEST_HOST_ONLY},
                             {"callback", TestCallback, TEST_HOST_ONLY},
                             {"hidden", TestHidden, TEST_SERIAL | TEST_HOST_ONLY},
                             {"own_words", TestOwnWords, TEST_HOST_ONLY},
                             {"remote", TestRemote, TEST_HOST_ONLY},
                             {"threads", TestThreads, TEST_SERIAL | TEST_HOST_ONLY},
                             {NULL, NULL, 0}};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "error", tests);
}
