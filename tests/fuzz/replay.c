/* SPDX-License-Identifier: BSD-3-Clause */
/* Run a fuzz target on files and on all files of folders: replay_<target> <path>... */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <sys/stat.h>

#include "fuzz.h"

enum { PATH = 4096 };

static int64_t replayed;

static void ReplayFile(const char *path, size_t size)
{
  uint8_t *data = malloc(size + (size == 0)); /* of its exact size, so that reading on is found */
  FILE *f = fopen(path, "rb");
  DEMAND(data && f);
  DEMAND(fread(data, 1, size, f) == size);
  fclose(f);
  printf("%s\n", path);
  fflush(stdout); /* the last line names the input that broke a promise */
  FuzzOne(data, size);
  free(data);
  replayed++;
}

static void Replay(const char *path);

static void ReplayFolder(const char *path)
{
  char inside[PATH];
  DIR *folder = opendir(path);
  DEMAND(folder);
  for (struct dirent *entry; (entry = readdir(folder));) {
    if (entry->d_name[0] == '.') continue;
    DEMAND(snprintf(inside, sizeof inside, "%s/%s", path, entry->d_name) < PATH);
    Replay(inside);
  }
  closedir(folder);
}

static void Replay(const char *path)
{
  struct stat about;
  DEMAND(!stat(path, &about));
  if (S_ISDIR(about.st_mode))
    ReplayFolder(path);
  else
    ReplayFile(path, (size_t)about.st_size);
}

int main(int argc, char **argv)
{
  for (int i = 1; i < argc; i++) Replay(argv[i]);
  printf("%lld inputs\n", (long long)replayed);
  return replayed ? 0 : 1;
}
