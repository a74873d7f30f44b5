/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that appear whole or not at all, and files that take lines as they come. */
#define _POSIX_C_SOURCE 200809L
#define _DEFAULT_SOURCE     /* flock */
#define _XOPEN_SOURCE   700 /* realpath */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "files.h"
#include "words.h"
#include "sys/sys.h"

enum { NAMES = 1000 }; /* temporary names to try */

/* Follow one link in name. False: it is no link, or errno says why the target cannot be reached. */
static bool Follow(char name[PATH_MAX])
{
  char target[PATH_MAX];
  ssize_t n = readlink(name, target, sizeof target - 1);
  if (n < 0) return false;
  char *slash = strrchr(name, '/');
  size_t folder = *target == '/' || !slash ? 0 : (size_t)(slash - name) + 1;
  target[n] = 0;
  errno = ENAMETOOLONG;
  if (folder + (size_t)n >= PATH_MAX) return false;
  memcpy(name + folder, target, (size_t)n + 1);
  return true;
}

/* Resolve links, so that a link keeps pointing to the file that is replaced or made. */
static PoiseErr Resolve(PoiseContext ctx, const char *path, OutFile *f)
{
  enum { LINKS = 40 };
  char name[PATH_MAX];
  struct stat link;
  if (realpath(path, name)) return poiseStringCopy(ctx, name, &f->path);
  if (lstat(path, &link) || !S_ISLNK(link.st_mode)) return poiseStringCopy(ctx, path, &f->path);
  strcpy(name, path); /* lstat has found it to be short enough */
  for (int k = 0; k < LINKS; k++)
    if (!Follow(name)) {
      if (errno == EINVAL || errno == ENOENT) return poiseStringCopy(ctx, name, &f->path);
      FAIL(POISE_ERR_FILE, "cannot write '%s': %s", path, strerror(errno));
    }
  FAIL(POISE_ERR_FILE, "cannot write '%s': %s", path, strerror(ELOOP));
}

/* Length of the path that the name of a temporary file begins with: all, or only the folder if the name is
   nearly too long. */
static int Begin(const char *path)
{
  enum { MORE = 32 };
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  return (int)(strlen(name) + MORE > NAME_MAX ? (size_t)(name - path) : strlen(path));
}

static PoiseErr OpenTemporary(PoiseContext ctx, OutFile *f, int *fd)
{
  size_t bytes = strlen(f->path) + 32;
  TRY(poiseAlloc(ctx, bytes, "name of a temporary file", &f->temp));
  for (int i = 0; i < NAMES; i++) {
    snprintf(f->temp, bytes, "%.*s.%ld.%d.tmp", Begin(f->path), f->path, (long)getpid(), i);
    *fd = open(f->temp, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (*fd >= 0) return POISE_OK;
    if (errno != EEXIST) break;
  }
  int error = errno;
  poiseFree(ctx, &f->temp); /* drop the name, so that the file is not removed */
  FAIL(POISE_ERR_FILE, "cannot create a file beside '%s': %s", f->path, strerror(error));
}

static PoiseErr Open(PoiseContext ctx, const char *path, OutFile *f)
{
  struct stat old;
  int fd = -1;
  if (!path || !*path) FAIL(POISE_ERR_FILE, "cannot write '': %s", strerror(ENOENT));
  TRY(Resolve(ctx, path, f));
  bool exists = !stat(f->path, &old);
  if (!exists && errno == ENAMETOOLONG) FAIL(POISE_ERR_FILE, "cannot write '%s': %s", path, strerror(errno));
  if (exists && S_ISDIR(old.st_mode)) FAIL(POISE_ERR_FILE, "cannot write '%s': %s", path, strerror(EISDIR));
  if (exists && !S_ISREG(old.st_mode)) {
    fd = open(f->path, O_WRONLY);
  } else {
    if (exists && access(f->path, W_OK)) FAIL(POISE_ERR_FILE, "cannot write '%s': %s", path, strerror(errno));
    TRY(OpenTemporary(ctx, f, &fd));
    if (exists) (void)fchmod(fd, old.st_mode & 0777); /* as good as the file system allows */
  }
  f->stream = fd < 0 ? NULL : fdopen(fd, "w");
  if (f->stream) return POISE_OK;
  int error = errno;
  if (fd >= 0) close(fd);
  FAIL(POISE_ERR_FILE, "cannot write '%s': %s", path, strerror(error));
}

PoiseErr poiseFileBegin(PoiseContext ctx, const char *path, OutFile *f)
{
  *f = (OutFile){0};
  PoiseErr e = Open(ctx, path, f);
  if (e) poiseFileAbort(ctx, f);
  return e;
}

/* Write everything to the disk; else errno says why not. */
static int Close(OutFile *f)
{
  errno = 0;
  int error = fflush(f->stream) || ferror(f->stream) ? (errno ? errno : EIO) : 0;
  if (!error && f->temp && fsync(fileno(f->stream))) error = errno;
  if (fclose(f->stream) && !error) error = errno;
  f->stream = NULL;
  return error;
}

PoiseErr poiseFileCommit(PoiseContext ctx, OutFile *f)
{
  PoiseErr e = POISE_OK;
  int error = Close(f);
  if (!error && f->temp && rename(f->temp, f->path)) error = errno;
  if (error)
    e = PoiseErrorSet(POISE_ERR_FILE, __func__, __FILE__, __LINE__, "cannot write '%s': %s", f->path,
                      strerror(error));
  else
    poiseFree(ctx, &f->temp); /* drop the name, as there is nothing to remove */
  poiseFileAbort(ctx, f);
  return e;
}

/* Lock the folder. A file that is replaced cannot be locked, and a lock file beside it would be left
   behind. */
int poiseFileLock(PoiseContext ctx, const char *path)
{
  enum { TRIES = 200 };
  const struct timespec pause = {.tv_nsec = 10000000};
  OutFile f = {0};
  int fd = -1;
  if (!Resolve(ctx, path, &f)) {
    char *slash = strrchr(f.path, '/');
    if (slash) slash[slash == f.path] = 0;
    fd = open(slash ? f.path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  }
  poiseFree(ctx, &f.path);
  for (int k = 0; fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK && k < TRIES; k++)
    nanosleep(&pause, NULL);
  return fd;
}

void poiseFileUnlock(int lock)
{
  if (lock >= 0) close(lock);
}

void poiseFileAbort(PoiseContext ctx, OutFile *f)
{
  if (f->stream) fclose(f->stream);
  if (f->temp) unlink(f->temp);
  poiseFree(ctx, &f->temp);
  poiseFree(ctx, &f->path);
  f->stream = NULL;
}

PoiseErr poiseFileCheck(PoiseContext ctx, const char *path)
{
  OutFile f;
  struct stat s;
  if (!stat(path, &s) && !S_ISREG(s.st_mode) && !S_ISDIR(s.st_mode)) return POISE_OK;
  TRY(poiseFileBegin(ctx, path, &f));
  poiseFileAbort(ctx, &f);
  return POISE_OK;
}

/* ---- where an option sends output ------------------------------------------------------------ */

static int FindWord(const char *word, int count, const char *const *words)
{
  int k = 0;
  while (k < count && strcmp(word, words[k])) k++;
  return k;
}

PoiseErr poiseFileSplit(const char *value, int count, const char *const *words,
                        char path[POISE_OPTION_LENGTH], int *format)
{
  char all[80] = "";
  size_t n = 0;
  for (int k = 0; k < count && n < sizeof all; k++)
    n += (size_t)snprintf(all + n, sizeof all - n, "%s%s", k ? "|" : "", words[k]);
  path[0] = 0;
  *format = 0;
  if (*value != ':' || strlen(value) > POISE_OPTION_LENGTH)
    FAIL(POISE_ERR_OPTION, "expected :file or :file:%s", all);
  strcpy(path, value + 1);
  char *word = strrchr(path, ':'), *ending = strrchr(path, '.');
  if (word) *word++ = 0;
  int k = FindWord(word ? word : ending ? ending + 1 : "", count, words);
  if (k < count) *format = k;
  if (k < count || !word) return POISE_OK;
  const char *closest = poiseClosest(word, count, words);
  FAIL(POISE_ERR_OPTION, "'%.80s' is not a format (%s)%s%s%s", word, all, closest ? "; did you mean '" : "",
       closest ? closest : "", closest ? "'?" : "");
}

/* ---- lines as they come ---------------------------------------------------------------------- */

typedef struct Lines {
  struct Lines *next;
  char *path;
  FILE *stream;
} Lines;

static void FreeLines(PoiseContext ctx, Lines *l)
{
  if (l->stream) fclose(l->stream);
  poiseFree(ctx, &l->path);
  poiseFree(ctx, &l);
}

static PoiseErr OpenLines(PoiseContext ctx, const char *path, Lines **made)
{
  Lines *l;
  TRY(poiseAlloc(ctx, sizeof *l, "file of lines", &l));
  PoiseErr e = poiseStringCopy(ctx, path, &l->path);
  if (!e) l->stream = fopen(path, "w");
  if (!e && !l->stream)
    e = PoiseErrorSet(POISE_ERR_FILE, __func__, __FILE__, __LINE__, "cannot write '%s': %s", path,
                      strerror(errno));
  if (e) {
    FreeLines(ctx, l);
    return e;
  }
  setvbuf(l->stream, NULL, _IOLBF, BUFSIZ); /* so that it can be watched, and survives the program */
  l->next = ctx->lines;
  *made = ctx->lines = l;
  return POISE_OK;
}

PoiseErr poiseFileLines(PoiseContext ctx, const char *path, FILE **stream, bool *fresh)
{
  PoiseContext home = poiseContextHome(ctx);
  Lines *l = home->lines;
  *stream = NULL;
  *fresh = false;
  if (home->comm->rank) return POISE_OK;
  while (l && strcmp(l->path, path)) l = l->next;
  *fresh = !l;
  if (!l) TRY(OpenLines(home, path, &l));
  *stream = l->stream;
  return POISE_OK;
}

void poiseFileLinesClose(PoiseContext ctx)
{
  while (ctx->lines) {
    Lines *l = ctx->lines;
    ctx->lines = l->next;
    FreeLines(ctx, l);
  }
}
