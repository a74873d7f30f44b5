/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that appear whole or not at all. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"
#include "sys/base/files.h"
#include "sys/base/numbers.h"
#include "files.h"
#include "sys/sys.h"

enum { NAME = 128 };

typedef struct Folder { /* one of this rank's own */
  char path[64], file[NAME];
} Folder;

static void Make(Folder *f)
{
  strcpy(f->path, "test_file_XXXXXX");
  CHECK(mkdtemp(f->path) != NULL);
  snprintf(f->file, NAME, "%s/file", f->path);
}

static int Entries(const Folder *f)
{
  DIR *dir = opendir(f->path);
  int count = -2; /* . and .. */
  while (dir && readdir(dir)) count++;
  if (dir) closedir(dir);
  return count;
}

static void Remove(const Folder *f)
{
  remove(f->file);
  CHECK_INT(Entries(f), 0); /* nothing else was left */
  rmdir(f->path);
}

static void Put(const char *path, const char *text)
{
  FILE *f = fopen(path, "w");
  if (!CHECK(f)) return;
  fputs(text, f);
  fclose(f);
}

static bool Holds(const char *path, const char *text)
{
  char content[256];
  return !strcmp(TextOf(path, content, sizeof content), text);
}

static void TestCommit(PoiseContext ctx)
{
  Folder folder;
  OutFile f;
  int64_t live = ctx->memory.live;
  Make(&folder);
  for (int i = 0; i < 2; i++) { /* a new file, and an old one replaced */
    if (!CHECK_OK(poiseFileBegin(ctx, folder.file, &f))) return;
    fputs(i ? "second" : "first", f.stream);
    fflush(f.stream);
    CHECK(i ? Holds(folder.file, "first") : access(folder.file, F_OK) != 0); /* not yet */
    CHECK_OK(poiseFileCommit(ctx, &f));
    CHECK(Holds(folder.file, i ? "second" : "first"));
    CHECK(!f.stream && !f.path && !f.temp);
    CHECK_INT(Entries(&folder), 1);
  }
  poiseFileAbort(ctx, &f); /* legal when empty */
  CHECK_INT(ctx->memory.live, live);
  Remove(&folder);
}

static void TestAbort(PoiseContext ctx)
{
  Folder folder;
  OutFile f, g;
  Make(&folder);
  Put(folder.file, "old");
  CHECK_OK(poiseFileBegin(ctx, folder.file, &f));
  CHECK_OK(poiseFileBegin(ctx, folder.file, &g)); /* two writers do not meet */
  CHECK_INT(Entries(&folder), 3);
  fputs("f", f.stream);
  fputs("g", g.stream);
  poiseFileAbort(ctx, &f);
  CHECK(Holds(folder.file, "old"));
  CHECK_OK(poiseFileCommit(ctx, &g));
  CHECK(Holds(folder.file, "g"));
  Remove(&folder);
}

static void TestModeAndLink(PoiseContext ctx)
{
  Folder folder;
  OutFile f;
  char link[NAME];
  struct stat s;
  Make(&folder);
  Put(folder.file, "old");
  CHECK(!chmod(folder.file, 0640));
  snprintf(link, sizeof link, "%s/link", folder.path);
  CHECK(!symlink("file", link));
  CHECK_OK(poiseFileBegin(ctx, link, &f));
  fputs("new", f.stream);
  CHECK_OK(poiseFileCommit(ctx, &f));
  CHECK(!lstat(link, &s) && S_ISLNK(s.st_mode));
  CHECK(!stat(folder.file, &s) && (s.st_mode & 0777) == 0640);
  CHECK(Holds(folder.file, "new"));
  remove(link);
  Remove(&folder);
}

/* A link to a file that is not there yet, in steps or at once, makes it there; one to nowhere is refused. */
static void TestDanglingLink(PoiseContext ctx)
{
  Folder folder;
  OutFile f;
  char link[NAME], far[NAME], absolute[1200], here[1024];
  struct stat s;
  Make(&folder);
  snprintf(link, sizeof link, "%s/link", folder.path);
  snprintf(far, sizeof far, "%s/far", folder.path);
  if (!CHECK(getcwd(here, sizeof here) != NULL)) return;
  snprintf(absolute, sizeof absolute, "%s/%s", here, folder.file);
  for (int k = 0; k < 2; k++) {
    CHECK(!symlink(k ? absolute : "./file", link));
    CHECK(!symlink("link", far));
    CHECK_OK(poiseFileBegin(ctx, far, &f));
    fputs("new", f.stream);
    CHECK_OK(poiseFileCommit(ctx, &f));
    CHECK(Holds(folder.file, "new"));
    CHECK(!lstat(link, &s) && S_ISLNK(s.st_mode) && !lstat(far, &s) && S_ISLNK(s.st_mode));
    CHECK(!remove(folder.file) && !remove(link) && !remove(far));
  }
  CHECK(!symlink("far", link) && !symlink("link", far));
  CHECK_ERR(poiseFileBegin(ctx, far, &f), POISE_ERR_FILE, strerror(ELOOP));
  CHECK(!f.path && !f.temp && Entries(&folder) == 2);
  remove(link), remove(far);
  CHECK(!symlink("no/file", link));
  CHECK_ERR(poiseFileBegin(ctx, link, &f), POISE_ERR_FILE, strerror(ENOENT));
  remove(link);
  Remove(&folder);
}

/* As long as the system allows, and longer. */
static void TestLongName(PoiseContext ctx)
{
  enum { MOST = 255 };
  static const int lengths[] = {200, 230, 250, MOST};
  Folder folder;
  OutFile f;
  char name[MOST + 2], path[sizeof folder.path + sizeof name];
  Make(&folder);
  memset(name, 'x', sizeof name);
  for (int k = 0; k < 4; k++) {
    snprintf(path, sizeof path, "%s/%.*s", folder.path, lengths[k], name);
    for (int again = 0; again < 2; again++) {
      CHECK_OK(poiseFileBegin(ctx, path, &f));
      fputs(again ? "new" : "old", f.stream);
      CHECK_OK(poiseFileCommit(ctx, &f));
      CHECK(Holds(path, again ? "new" : "old"));
    }
    remove(path);
  }
  snprintf(path, sizeof path, "%s/%.*s", folder.path, MOST + 1, name);
  CHECK_ERR(poiseFileBegin(ctx, path, &f), POISE_ERR_FILE, strerror(ENAMETOOLONG));
  CHECK(!f.path && !f.temp);
  Remove(&folder);
}

static void TestCannotOpen(PoiseContext ctx)
{
  Folder folder;
  OutFile f;
  char path[NAME];
  int64_t live = ctx->memory.live;
  Make(&folder);
  snprintf(path, sizeof path, "%s/no/file", folder.path);
  CHECK_ERR(poiseFileBegin(ctx, path, &f), POISE_ERR_FILE, path);
  CHECK_ERR(poiseFileBegin(ctx, path, &f), POISE_ERR_FILE, strerror(ENOENT));
  CHECK(!f.stream && !f.path && !f.temp);
  CHECK_ERR(poiseFileBegin(ctx, folder.path, &f), POISE_ERR_FILE, strerror(EISDIR));
  CHECK_ERR(poiseFileBegin(ctx, "", &f), POISE_ERR_FILE, strerror(ENOENT));
  CHECK_INT(ctx->memory.live, live);
  Remove(&folder);
}

/* A limit on the size of files stands in for a full disk: of the process, so on one rank only. */
static void TestFull(PoiseContext ctx)
{
  Folder folder;
  OutFile f;
  char line[1024] = {0};
  memset(line, 'x', sizeof line - 1);
  Make(&folder);
  Put(folder.file, "old");
  for (int lines = 5; lines <= 100; lines += 95) { /* what fits into the stream's buffer too */
    CHECK_OK(poiseFileBegin(ctx, folder.file, &f));
    LimitFiles(lines == 5 ? 100 : 10000);
    for (int i = 0; i < lines; i++) fputs(line, f.stream);
    PoiseErr e = poiseFileCommit(ctx, &f);
    LimitFiles(-1);
    CHECK_ERR(e, POISE_ERR_FILE, folder.file);
    CHECK(Holds(folder.file, "old"));
    CHECK_INT(Entries(&folder), 1);
  }
  Remove(&folder);
}

/* What is no plain file is written directly, and stays what it is. A pipe of its own: a test that fails must
   not replace a device of the machine. */
static void TestPipe(PoiseContext ctx)
{
  Folder folder;
  OutFile f;
  struct stat s;
  char text[8] = "";
  Make(&folder);
  CHECK(!mkfifo(folder.file, 0600));
  int reader = open(folder.file, O_RDONLY | O_NONBLOCK);
  CHECK(reader >= 0);
  CHECK_OK(poiseFileBegin(ctx, folder.file, &f));
  CHECK_INT(Entries(&folder), 1);
  fputs("text", f.stream);
  CHECK_OK(poiseFileCommit(ctx, &f));
  CHECK(!stat(folder.file, &s) && S_ISFIFO(s.st_mode));
  CHECK(read(reader, text, sizeof text - 1) == 4 && !strcmp(text, "text"));
  close(reader);
  Remove(&folder);
}

static PoiseErr Write(PoiseContext ctx, void *arg)
{
  OutFile f;
  PoiseErr e = poiseFileBegin(ctx, ((const Folder *)arg)->file, &f);
  if (!e && PoiseRank(ctx) % 2)
    poiseFileAbort(ctx, &f);
  else if (!e)
    e = poiseFileCommit(ctx, &f);
  return PoiseAgree(ctx, e);
}

static void TestMemory(PoiseContext ctx)
{
  Folder folder;
  Make(&folder);
  TestAllocationFailures(ctx, Write, &folder);
  Remove(&folder);
}

/* The locale is of the process. */
static void TestNumbers(PoiseContext ctx)
{
  static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fr_FR"};
  char text[32];
  const char *found = NULL;
  (void)ctx;
  for (int i = 0; i < 4 && !found; i++) found = setlocale(LC_NUMERIC, names[i]);
  snprintf(text, sizeof text, "%.1f", 1.5);
  bool comma = !strcmp(text, "1,5");
  NumberLocale numbers = poiseScalarsBegin();
  snprintf(text, sizeof text, "%.1f", 1.5);
  CHECK(!strcmp(text, "1.5"));
  CHECK_NEAR(strtod("2.5", NULL), 2.5, 0);
  poiseScalarsEnd(numbers);
  snprintf(text, sizeof text, "%.1f", 1.5);
  CHECK(comma == !strcmp(text, "1,5"));
  setlocale(LC_NUMERIC, "C");
  if (!comma) TEST_SKIP("no locale with a decimal comma is installed");
}

static const Test tests[] = {{"commit", TestCommit, TEST_HOST_ONLY},
                             {"abort", TestAbort, TEST_HOST_ONLY},
                             {"mode_and_link", TestModeAndLink, TEST_HOST_ONLY},
                             {"cannot_open", TestCannotOpen, TEST_HOST_ONLY},
                             {"dangling_link", TestDanglingLink, TEST_HOST_ONLY},
                             {"long_name", TestLongName, TEST_HOST_ONLY},
                             {"full", TestFull, TEST_HOST_ONLY | TEST_SERIAL},
                             {"pipe", TestPipe, TEST_HOST_ONLY},
                             {"memory", TestMemory, TEST_HOST_ONLY},
                             {"numbers", TestNumbers, TEST_HOST_ONLY | TEST_SERIAL},
                             {NULL, NULL, 0}};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "file", tests);
}
