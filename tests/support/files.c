/* SPDX-License-Identifier: BSD-3-Clause */
#define _POSIX_C_SOURCE 200809L
#include "files.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sys/sys.h"

const char *TempRoot(void)
{
  const char *root = getenv("TMPDIR");
  return root && *root ? root : "/tmp";
}

void TempName(char path[PATH], const char *name)
{
  snprintf(path, PATH, "%s/poise_test_%ld_%s", TempRoot(), (long)getpid(), name);
}

void SharedName(PoiseContext ctx, char path[PATH], const char *name)
{
  TempName(path, name);
  CHECK_OK(ctx->comm->ops->bcast(ctx->comm, path, PATH, 0));
}

void WriteFile(PoiseContext ctx, const char *path, const void *bytes, size_t n)
{
  if (PoiseRank(ctx) == 0) {
    FILE *f = fopen(path, "wb");
    if (CHECK(f != NULL)) {
      CHECK(fwrite(bytes, 1, n, f) == n);
      fclose(f);
    }
  }
  CHECK_OK(PoiseBarrier(ctx));
}

void WriteText(PoiseContext ctx, const char *path, const char *text)
{
  WriteFile(ctx, path, text, strlen(text));
}

void RemoveFile(PoiseContext ctx, const char *path)
{
  CHECK_OK(PoiseBarrier(ctx));
  if (PoiseRank(ctx) == 0) CHECK(!remove(path));
}

void LimitFiles(int64_t bytes)
{
  struct rlimit limit;
  CHECK(!getrlimit(RLIMIT_FSIZE, &limit));
  limit.rlim_cur = bytes < 0 ? limit.rlim_max : (rlim_t)bytes;
  signal(SIGXFSZ, bytes < 0 ? SIG_DFL : SIG_IGN); /* or else the signal ends the process */
  CHECK(!setrlimit(RLIMIT_FSIZE, &limit));
}

const char *TextOf(const char *path, char *text, size_t size)
{
  FILE *f = fopen(path, "r");
  text[0] = 0;
  if (!CHECK(f != NULL)) return text;
  text[fread(text, 1, size - 1, f)] = 0;
  fclose(f);
  return text;
}

const char *Content(FILE *f, char *text, size_t size)
{
  rewind(f);
  text[fread(text, 1, size - 1, f)] = 0;
  return text;
}

int CountWord(const char *text, const char *word)
{
  int count = 0;
  for (const char *p = strstr(text, word); p; p = strstr(p + 1, word)) count++;
  return count;
}
