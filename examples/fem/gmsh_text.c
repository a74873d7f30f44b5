/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The text of a mesh file, the same on all ranks. Files that are not read here, binary ones and those of other
  versions, are saved as text by the program gmsh. Rank 0 runs it and sends the text to others. The program
  gets open files, not their names. So a name cannot be taken for an option, gmsh runs no script that lies
  beside the file (<name>.opt), and no temporary file is left behind.
*/
#define _POSIX_C_SOURCE 200809L
#include "gmsh.h"
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* ---- files that are read here ---------------------------------------------------------------- */

enum { BLANK = 1 << 24 }; /* most blanks and ends of lines in a row that are accepted */

/* Refuse endless blanks, which a device may give. Bytes from `from` on are new; *full is behind the last
   that is not blank. */
static PoiseErr CheckText(const char *path, const char *text, size_t from, size_t size, size_t *full)
{
  size_t end = size, line = 1;
  const char *zero = memchr(text + from, 0, size - from);
  if (zero != NULL)
    POISE_FAIL(POISE_ERR_FORMAT, "%s is not a text: byte %zu is 0", path, (size_t)(zero - text) + 1);
  while (end > from && strchr(" \t\n\v\f\r", text[end - 1]) != NULL) end--;
  if (end > from) *full = end;
  if (size - *full <= BLANK) return POISE_OK;
  for (size_t i = 0; i < *full; i++) line += text[i] == '\n';
  POISE_FAIL(POISE_ERR_FORMAT, "%s, line %zu: more than %d blanks and ends of lines in a row begin here",
             path, line, BLANK);
}

static PoiseErr ReadAll(FILE *stream, const char *path, GmshText *t)
{
  size_t room = 0, got = 1, full = 0;
  for (t->size = 0; got > 0; t->size += got) {
    if (t->size + 1 >= room) { /* one for a 0 behind it */
      char *larger = realloc(t->text, 2 * room + 65536);
      if (larger == NULL) POISE_FAIL(POISE_ERR_MEMORY, "%s: no memory for %zu bytes", path, 2 * room + 65536);
      t->text = larger;
      room = 2 * room + 65536;
    }
    got = fread(t->text + t->size, 1, room - 1 - t->size, stream);
    POISE_TRY(CheckText(path, t->text, t->size, t->size + got, &full));
  }
  if (ferror(stream)) POISE_FAIL(POISE_ERR_FILE, "%s: %s", path, strerror(errno));
  t->text[t->size] = '\0';
  return POISE_OK;
}

static PoiseErr ReadFile(const char *path, GmshText *t)
{
  FILE *stream = fopen(path, "rb");
  if (stream == NULL) POISE_FAIL(POISE_ERR_FILE, "%s: %s", path, strerror(errno));
  PoiseErr err = ReadAll(stream, path, t);
  fclose(stream);
  return err;
}

static PoiseErr CheckSame(PoiseContext ctx, const GmshText *t)
{
  uint64_t hash = 14695981039346656037u; /* FNV-1a */
  for (size_t i = 0; i < t->size; i++) hash = (hash ^ (unsigned char)t->text[i]) * 1099511628211u;
  const double h = (double)(hash >> 11), n = (double)t->size; /* 53 bits: exact */
  double most[4] = {h, -h, n, -n};
  POISE_TRY(PoiseMax(ctx, 4, most));
  if (most[0] == -most[1] && most[2] == -most[3]) return POISE_OK;
  POISE_FAIL(POISE_ERR_FILE, "%s is not the same file on all ranks", t->name);
}

/* ---- files that the program gmsh saves as text ----------------------------------------------- */

/* POISE_ERR_FORMAT and why, if the file is a mesh of Gmsh that is not read here. All else is POISE_OK. A file
   that is not a regular one, a pipe say, could not be read again. */
static PoiseErr CheckForeign(const char *path)
{
  char head[128];
  struct stat about;
  GmshFile file = {0};
  FILE *stream = stat(path, &about) == 0 && S_ISREG(about.st_mode) ? fopen(path, "rb") : NULL;
  if (stream == NULL) return POISE_OK;
  const size_t n = fread(head, 1, sizeof head - 1, stream);
  fclose(stream);
  head[n] = '\0';
  PoiseErr err = GmshParse(path, head, n, &file);
  const int foreign = file.foreign;
  GmshFree(&file);
  if (foreign && head[0] == '$') return err; /* of others gmsh would think that they are scripts */
  PoiseErrorClear();
  return POISE_OK;
}

/* What gmsh reads, what it writes, what it says. */
typedef struct Files {
  FILE *in, *out, *words;
} Files;

/* Start gmsh. Returns an errno. */
static int Start(const Files *f, pid_t *child)
{
  char in[32], out[32];
  char *const command[] = {"gmsh", in, "-save_all", "-save", "-format", "msh41", "-v", "1",
                           /* whatever its own options say */
                           "-setnumber", "Mesh.Binary", "0", "-setnumber", "Mesh.SaveParametric", "0", "-o",
                           out, NULL};
  posix_spawn_file_actions_t actions;
  snprintf(in, sizeof in, "/dev/fd/%d", fileno(f->in));
  snprintf(out, sizeof out, "/dev/fd/%d", fileno(f->out));
  int failed = posix_spawn_file_actions_init(&actions);
  if (failed != 0) return failed;
  posix_spawn_file_actions_adddup2(&actions, fileno(f->words), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(f->words), STDERR_FILENO);
  failed = posix_spawnp(child, command[0], &actions, NULL, command, environ);
  posix_spawn_file_actions_destroy(&actions);
  return failed;
}

/* Wait for its end. If it failed, its first words are the error. */
static PoiseErr Wait(const char *path, pid_t child, const Files *f)
{
  char said[400];
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) POISE_FAIL(POISE_ERR_FILE, "%s: gmsh is lost: %s", path, strerror(errno));
  }
  fseek(f->out, 0, SEEK_END);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && ftell(f->out) > 0) return POISE_OK;
  rewind(f->words);
  size_t n = fread(said, 1, sizeof said - 1, f->words);
  while (n > 0 && said[n - 1] == '\n') n--;
  said[n] = '\0';
  for (char *end = said; (end = strchr(end, '\n')) != NULL;) *end = ';';
  POISE_FAIL(POISE_ERR_FORMAT, "%s: gmsh, called to save it as text, has failed%s%s", path,
             n > 0 ? ": " : " without a word", said);
}

/* why: the error of CheckForeign, which says what to do where there is no gmsh. */
static PoiseErr Convert(const char *path, PoiseErr why, const Files *f, GmshText *t)
{
  pid_t child;
  if (f->in == NULL || f->out == NULL || f->words == NULL)
    POISE_FAIL(POISE_ERR_FILE, "%s: no files for gmsh: %s", path, strerror(errno));
  const int failed = Start(f, &child);
  if (failed == ENOENT) return why;
  PoiseErrorClear();
  if (failed != 0) POISE_FAIL(POISE_ERR_FILE, "%s: gmsh cannot be started: %s", path, strerror(failed));
  POISE_TRY(Wait(path, child, f));
  rewind(f->out);
  return ReadAll(f->out, t->name, t);
}

static PoiseErr SaveAsText(const char *path, PoiseErr why, GmshText *t)
{
  const Files f = {fopen(path, "rb"), tmpfile(), tmpfile()};
  PoiseErr err = Convert(path, why, &f, t);
  if (f.in != NULL) fclose(f.in);
  if (f.out != NULL) fclose(f.out);
  if (f.words != NULL) fclose(f.words);
  return err;
}

/* Send the text of rank 0 to all: six bytes in each number, to which other ranks add 0. */
static PoiseErr Send(PoiseContext ctx, GmshText *t)
{
  enum { BYTES = 6, PIECE = 1 << 16 };
  const int first = PoiseRank(ctx) == 0;
  double size = (double)t->size, *piece = NULL; /* 0 on other ranks */
  POISE_TRY(PoiseSum(ctx, 1, &size));
  t->size = (size_t)size;
  PoiseErr err = FemAlloc(PIECE, sizeof *piece, &piece);
  if (err == POISE_OK && !first) err = FemAlloc((PoiseInt)t->size, 1, &t->text);
  err = PoiseAgree(ctx, err);
  for (size_t begin = 0; begin < t->size && err == POISE_OK; begin += (size_t)BYTES * PIECE) {
    unsigned char *byte = (unsigned char *)t->text + begin;
    const size_t left = t->size - begin, n = left < (size_t)BYTES * PIECE ? left : (size_t)BYTES * PIECE;
    memset(piece, 0, PIECE * sizeof *piece);
    for (size_t k = n; k-- > 0 && first;) piece[k / BYTES] = 256 * piece[k / BYTES] + byte[k];
    err = PoiseSum(ctx, PIECE, piece);
    for (size_t k = 0; k < n && !first; k++) {
      const uint64_t bits = (uint64_t)piece[k / BYTES];
      byte[k] = (unsigned char)(bits >> 8 * (k % BYTES));
    }
  }
  free(piece);
  return err;
}

/* ---- either ---------------------------------------------------------------------------------- */

static PoiseErr Read(PoiseContext ctx, const char *path, GmshText *t)
{
  const PoiseErr why = PoiseRank(ctx) == 0 ? CheckForeign(path) : POISE_OK;
  double foreign = why != POISE_OK;
  snprintf(t->name, sizeof t->name, "%s", path);
  POISE_TRY(PoiseSum(ctx, 1, &foreign));
  if (foreign == 0) {
    POISE_TRY(PoiseAgree(ctx, ReadFile(path, t)));
    return CheckSame(ctx, t);
  }
  snprintf(t->name, sizeof t->name, "%s, saved as text by gmsh", path);
  POISE_TRY(PoiseAgree(ctx, PoiseRank(ctx) == 0 ? SaveAsText(path, why, t) : POISE_OK));
  return Send(ctx, t);
}

PoiseErr GmshReadText(PoiseContext ctx, const char *path, GmshText *text)
{
  *text = (GmshText){0};
  PoiseErr err = Read(ctx, path, text);
  if (err != POISE_OK) free(text->text);
  return err;
}
