/* SPDX-License-Identifier: BSD-3-Clause */
/* What fuzz targets share. */
#define _POSIX_C_SOURCE 200809L
#include "fuzz.h"

#include <sys/stat.h>
#include <unistd.h>

enum { FILES = 8, PATH = 256 };

static PoiseContext context;
static Memory memory;
static char folder[PATH], paths[FILES][2 * PATH];
static int used;

void FuzzBroken(const char *promise, const char *file, int line)
{
  fprintf(stderr, "%s:%d: %s does not hold; the latest error:\n%s\n", file, line, promise, PoiseErrorText());
  abort();
}

PoiseContext FuzzContext(void)
{
  if (context) return context;
  DEMAND(!unsetenv("POISE_OPTIONS"));
  DEMAND(!PoiseInitialize(NULL, NULL, &(PoiseInit){.serial = 1}, &context));
  FILE *nowhere = fopen("/dev/null", "w");
  DEMAND(nowhere);
  PoiseSetOutput(context, nowhere);
  memory = context->memory;
  return context;
}

void FuzzNothingLeft(void)
{
  DEMAND(context->objects == 0);
  DEMAND(context->memory.live == memory.live);
}

static void RemoveFiles(void)
{
  for (int i = 0; i < used; i++) unlink(paths[i]);
  rmdir(folder);
}

static void MakeFolder(void)
{
  const char *root = getenv("TMPDIR");
  snprintf(folder, sizeof folder, "%.200s/poise_fuzz_%ld", root && *root ? root : "/tmp", (long)getpid());
  DEMAND(!mkdir(folder, 0700));
  atexit(RemoveFiles);
}

const char *FuzzFile(const char *name)
{
  if (!*folder) MakeFolder();
  char path[2 * PATH];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  int i = 0;
  while (i < used && strcmp(paths[i], path)) i++;
  DEMAND(i < FILES);
  if (i == used) strcpy(paths[used++], path);
  return paths[i];
}

void FuzzWrite(const char *path, const void *data, size_t size)
{
  FILE *f = fopen(path, "wb");
  DEMAND(f);
  DEMAND(fwrite(data, 1, size, f) == size);
  DEMAND(!fclose(f));
}
