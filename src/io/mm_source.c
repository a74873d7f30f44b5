/* SPDX-License-Identifier: BSD-3-Clause */
/* Source of the text of a Matrix Market file: whole lines for every rank, round by round. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "mm.h"

enum {
  LEAST = 1 << 16, /* fewest bytes of text that a rank gets in a round */
  MOST = 1 << 21,
  ALL = 1 << 25,     /* most bytes of text of all ranks in a round */
  WORKERS = 64,      /* so many parse faster than one inflates */
  STEP = 1 << 12,    /* bytes read at once to find the end of a line */
  INFLATE = 1 << 17, /* zlib's buffer */
  READ = 1 << 20,    /* bytes read from a stream at once, fewer than MM_BLANK */
};

/* ---- one file -------------------------------------------------------------------------------- */

typedef struct MMFile {
  const char *path;
  int fd;
  gzFile gz; /* on rank 0; reads from a copy of fd, also if the text is plain */
} MMFile;

typedef struct Identity { /* decides whether two ranks see the same file */
  int64_t plain, size, inode, seconds, nanoseconds;
} Identity;

static PoiseErr OpenFile(const char *path, MMFile *file, Identity *id)
{
  struct stat info;
  unsigned char magic[2] = {0};
  file->path = path;
  file->fd = open(path, O_RDONLY | O_CLOEXEC);
  if (file->fd < 0 || fstat(file->fd, &info))
    FAIL(POISE_ERR_FILE, "cannot open '%s': %s", path, strerror(errno));
  *id = (Identity){.size = S_ISREG(info.st_mode) ? info.st_size : 0,
                   .inode = (int64_t)info.st_ino,
                   .seconds = info.st_mtim.tv_sec,
                   .nanoseconds = info.st_mtim.tv_nsec};
  id->plain =
      id->size && pread(file->fd, magic, sizeof magic, 0) > 0 && (magic[0] != 0x1f || magic[1] != 0x8b);
  return POISE_OK;
}

static PoiseErr OpenStream(MMFile *file)
{
  int fd = dup(file->fd);
  file->gz = fd < 0 ? NULL : gzdopen(fd, "rb");
  if (file->gz) return gzbuffer(file->gz, INFLATE), POISE_OK; /* only for speed */
  if (fd >= 0) close(fd);
  FAIL(POISE_ERR_FILE, "cannot open '%s': no file descriptor or memory left", file->path);
}

static PoiseErr ReadFile(void *from, char *buffer, size_t size, size_t *n)
{
  MMFile *file = from;
  int error = Z_OK;
  errno = 0;
  int got = gzread(file->gz, buffer, (unsigned)size);
  const char *words = gzerror(file->gz, &error);
  *n = got > 0 ? (size_t)got : 0;
  if (error == Z_ERRNO) FAIL(POISE_ERR_FILE, "cannot read '%s': %s", file->path, strerror(errno));
  if (error == Z_MEM_ERROR) FAIL(POISE_ERR_MEMORY, "no memory to decompress '%s'", file->path);
  if (error == Z_BUF_ERROR) FAIL(POISE_ERR_FORMAT, "%s: the compressed file is truncated", file->path);
  if (got < 0 || error < 0)
    FAIL(POISE_ERR_FORMAT, "%s: the compressed file is damaged (%s)", file->path, words);
  return POISE_OK;
}

static PoiseErr RewindFile(void *from)
{
  MMFile *file = from;
  if (gzrewind(file->gz)) FAIL(POISE_ERR_FILE, "cannot go back to the beginning of '%s'", file->path);
  return POISE_OK;
}

static void CloseFile(PoiseContext ctx, MMFile **file)
{
  if (!*file) return;
  if ((*file)->gz) (void)gzclose_r((*file)->gz);
  if ((*file)->fd >= 0) close((*file)->fd);
  poiseFree(ctx, file);
}

/* ---- the stream of one rank ------------------------------------------------------------------ */

static bool IsBlank(char c)
{
  return c == ' ' || (c >= '\t' && c <= '\r');
}

static int64_t CountLines(const char *p, size_t n)
{
  int64_t lines = 0;
  for (size_t i = 0; i < n; i++) lines += p[i] == '\n';
  return lines;
}

/* Count the blanks in n more bytes that were read. A device, or a small compressed file, can give blanks
   and ends of lines without end. So a run of more than MM_BLANK is refused. No single read holds so many. */
static PoiseErr Watch(MMStream *s, const char *p, size_t n)
{
  size_t front = 0, back = n;
  while (front < n && IsBlank(p[front])) front++;
  while (back > front && IsBlank(p[back - 1])) back--;
  if (s->blank + (int64_t)front > MM_BLANK)
    FAIL(POISE_ERR_FORMAT, "%s, line %lld: more than %d blanks and ends of lines in a row begin here",
         s->source->name, (long long)s->blank_line, MM_BLANK);
  if (back > front) {
    s->blank = 0;
    s->lines += CountLines(p, back);
    s->blank_line = s->lines + 1;
    p += back;
    n -= back;
  }
  s->blank += (int64_t)n;
  s->lines += CountLines(p, n);
  return POISE_OK;
}

/* Read until at least `need` bytes are in the buffer, or to the end of the text. */
static PoiseErr Fill(MMStream *s, size_t need)
{
  size_t n;
  if (s->at_end || s->end - s->begin >= need) return POISE_OK;
  if (s->begin) memmove(s->buffer, s->buffer + s->begin, s->end - s->begin);
  s->end -= s->begin;
  s->begin = 0;
  while (!s->at_end && s->end < s->capacity) {
    size_t room = s->capacity - s->end;
    TRY(s->source->read(s->source->from, s->buffer + s->end, room < READ ? room : READ, &n));
    TRY(Watch(s, s->buffer + s->end, n));
    s->end += n;
    s->at_end = n == 0;
  }
  return POISE_OK;
}

static void Take(MMStream *s, size_t n)
{
  s->begin += n;
  s->taken += (int64_t)n;
}

static bool IsComment(const char *line, size_t length)
{
  size_t i = 0;
  while (i < length && IsBlank(line[i])) i++;
  return i < length && line[i] == '%';
}

/* The next line of the header, cut to its first MM_LONGEST characters, with a newline. The rest of a
   longer line is not read, as it may have no end. Such a line is refused, unless it is a comment behind
   the first line. */
static PoiseErr NextLine(void *from, const char **line)
{
  MMStream *s = from;
  const bool first = s->taken == 0;
  size_t length = 0;
  *line = NULL;
  for (bool done = false; !done;) {
    TRY(Fill(s, 1));
    if (s->begin == s->end) break;
    const char *text = s->buffer + s->begin, *end = memchr(text, '\n', s->end - s->begin);
    size_t n = end ? (size_t)(end - text) : s->end - s->begin, room = MM_LONGEST + 1 - length;
    memcpy(s->line + length, text, n < room ? n : room);
    length += n < room ? n : room;
    Take(s, n + (end != NULL));
    done = end || (length > MM_LONGEST && (first || !IsComment(s->line, length)));
    *line = s->line;
  }
  s->line[length] = '\n';
  return POISE_OK;
}

/* Bytes to read before cutting. If they hold no end of a line behind the block, the last line is too long. */
static size_t Enough(int64_t block)
{
  return (size_t)block + MM_LONGEST + 1;
}

/* Bytes of whole lines at the beginning of the buffer: about a block; at the end all that is left. */
static size_t Cut(const MMStream *s, int64_t block)
{
  const char *text = s->buffer + s->begin;
  size_t left = s->end - s->begin, want = (size_t)block, n = left < Enough(block) ? left : Enough(block);
  const char *newline = n < want ? NULL : memchr(text + want - 1, '\n', n - want + 1);
  if (newline) return (size_t)(newline - text) + 1;
  if (n < left || s->at_end) return n;
  while (n && text[n - 1] != '\n') n--;
  return n || left <= MM_LONGEST ? n : left;
}

/* End the text with a newline, for which there is memory. */
static void Finish(char *text, size_t n, MMChunk *chunk)
{
  if (n && text[n - 1] != '\n') text[n++] = '\n';
  *chunk = (MMChunk){.text = text, .end = text + n};
}

static PoiseErr NextOfStream(MMReader *r, MMChunk *text, bool *more)
{
  MMStream *s = r->stream;
  TRY(Fill(s, Enough(r->block)));
  size_t n = Cut(s, r->block);
  Finish(s->buffer + s->begin, n, text);
  Take(s, n);
  *more = s->begin < s->end || !s->at_end;
  return POISE_OK;
}

/* ---- rank 0 deals ---------------------------------------------------------------------------- */

static int Workers(const MMReader *r)
{
  int others = PoiseSize(r->ctx) - 1;
  return others < WORKERS ? others : WORKERS;
}

/* Decide how many bytes each rank gets, and whether there is more. */
static void ShareOut(MMReader *r)
{
  MMStream *s = r->stream;
  int size = PoiseSize(r->ctx);
  memset(r->bytes, 0, (size_t)(size + 1) * sizeof *r->bytes);
  if (r->failed) return;
  for (int w = 1; w <= Workers(r); w++) {
    r->bytes[w] = (int64_t)Cut(s, r->block);
    s->begin += (size_t)r->bytes[w];
  }
  r->bytes[size] = s->begin < s->end || !s->at_end;
}

/* Read ahead for the next round, which also reports a failure. */
static void ReadOn(MMReader *r)
{
  if (!r->failed) r->failed = Fill(r->stream, Enough(Workers(r) * r->block));
}

static PoiseErr Deal(MMReader *r, MMChunk *text, bool *more)
{
  Comm *comm = r->ctx->comm;
  MMStream *s = r->stream; /* on rank 0 */
  int64_t *receive = r->bytes + comm->size + 1;
  const char *from = NULL;
  if (s) {
    ReadOn(r);
    from = s->buffer + s->begin;
    ShareOut(r);
  }
  TRY(comm->ops->bcast(comm, r->bytes, (size_t)(comm->size + 1) * sizeof *r->bytes, 0));
  *more = r->bytes[comm->size];
  receive[0] = r->bytes[comm->rank];
  if (!s) memset(r->bytes, 0, (size_t)comm->size * sizeof *r->bytes);
  TRY(comm->ops->alltoallv(comm, from, r->bytes, r->text, receive));
  Finish(r->text, (size_t)receive[0], text);
  if (!s || r->failed) return r->failed;
  s->taken += s->buffer + s->begin - from;
  if (*more) ReadOn(r);
  return POISE_OK;
}

/* ---- all read -------------------------------------------------------------------------------- */

static PoiseErr ReadAt(const MMReader *r, int64_t at, char *p, size_t bytes)
{
  while (bytes) {
    ssize_t n = pread(r->file->fd, p, bytes, (off_t)at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0)
      FAIL(POISE_ERR_FILE, "rank %d cannot read '%s': %s", PoiseRank(r->ctx), r->source.name,
           n ? strerror(errno) : "the file has become shorter");
    p += n, at += n, bytes -= (size_t)n;
  }
  return POISE_OK;
}

/* Give the lines that begin in [low, high). They begin behind the first newline at low - 1 or later, and
   end with the first newline at high - 1 or later. */
static PoiseErr NextOfFile(MMReader *r, MMChunk *text, bool *more)
{
  int64_t ranks = PoiseSize(r->ctx), number = r->round++ * ranks + PoiseRank(r->ctx);
  int64_t low = r->first + number * r->block - 1,
          high = low + 1 + r->block < r->size ? low + 1 + r->block : r->size;
  size_t n = high > low ? (size_t)(high - low) : 0;
  *more = r->first + r->round * ranks * r->block < r->size;
  Finish(r->text, 0, text);
  if (low + 1 >= r->size) return POISE_OK;
  TRY(ReadAt(r, low, r->text, n));
  char *begin = memchr(r->text, '\n', n - 1); /* for the first, that of the sizes */
  if (!begin) return POISE_OK;
  begin++;
  for (int64_t most = high + MM_LONGEST + STEP; r->text[n - 1] != '\n' && high < r->size && high < most;) {
    size_t step = r->size - high < STEP ? (size_t)(r->size - high) : STEP;
    TRY(ReadAt(r, high, r->text + n, step));
    const char *newline = memchr(r->text + n, '\n', step);
    n += newline ? (size_t)(newline - (r->text + n)) + 1 : step;
    high += (int64_t)step;
  }
  Finish(begin, n - (size_t)(begin - r->text), text);
  return POISE_OK;
}

PoiseErr poiseMMNext(MMReader *r, MMChunk *text, bool *more)
{
  *more = false;
  *text = (MMChunk){0};
  if (!r->dealt) return NextOfFile(r, text, more);
  return PoiseSize(r->ctx) == 1 ? NextOfStream(r, text, more) : Deal(r, text, more);
}

int64_t poiseMMRoom(const MMReader *r)
{
  return r->block + MM_LONGEST + 2 * STEP;
}

void poiseMMProgress(const MMReader *r, int64_t *done, int64_t *total)
{
  *done = *total = 0;
  if (!r->stream) return;
  *total = r->size;
  *done = !r->dealt ? r->first + r->round * PoiseSize(r->ctx) * r->block
          : r->size ? (int64_t)gzoffset(r->file->gz) /* place among the compressed bytes */
                    : r->stream->taken;
}

/* ---- once more ------------------------------------------------------------------------------- */

static PoiseErr ReadHeader(MMReader *r)
{
  MMPlace at = {.name = r->source.name};
  TRY(poiseMMHeader(NextLine, r->stream, &at, &r->header));
  r->body = at.line;
  r->first = r->stream->taken;
  return POISE_OK;
}

PoiseErr poiseMMAgain(MMReader *r, bool *can)
{
  MMStream *s = r->stream;
  *can = r->source.rewind != NULL;
  if (!*can) return POISE_OK;
  TRY(r->source.rewind(r->source.from));
  s->begin = s->end = 0;
  s->taken = s->lines = s->blank = 0;
  s->blank_line = 1;
  s->at_end = false;
  return ReadHeader(r);
}

PoiseErr poiseMMNextAgain(MMReader *r, MMChunk *text)
{
  bool more;
  return NextOfStream(r, text, &more);
}

/* ---- life ------------------------------------------------------------------------------------ */

static int64_t Clamp(int64_t v, int64_t least, int64_t most)
{
  return v < least ? least : v > most ? most : v;
}

/* Rank 0's stream, and the header. */
static PoiseErr Begin(MMReader *r)
{
  int64_t blocks = !r->dealt                ? 0
                   : PoiseSize(r->ctx) == 1 ? 1
                                            : Workers(r),
          capacity = blocks * r->block + 2 * MM_LONGEST;
  if (r->file) {
    /* a pipe has no size */
    r->source = (MMSource){ReadFile, r->file, r->file->path, r->size ? RewindFile : NULL};
    TRY(OpenStream(r->file));
  }
  TRY(poiseAlloc(r->ctx, sizeof *r->stream, "stream of a file", &r->stream));
  r->stream->source = &r->source;
  r->stream->blank_line = 1;
  r->stream->capacity = (size_t)capacity;
  TRY(poiseRealloc(r->ctx, (size_t)capacity + 1, 0, "buffer of a file", &r->stream->buffer));
  return ReadHeader(r);
}

static PoiseErr Start(MMReader *r)
{
  PoiseContext ctx = r->ctx;
  int64_t sizes[2];
  if (!r->block)
    r->block =
        Clamp(r->size ? r->size / PoiseSize(ctx) + 1 : MOST, LEAST, Clamp(ALL / PoiseSize(ctx), LEAST, MOST));
  TRY(PoiseAgree(ctx, PoiseRank(ctx) == 0 ? Begin(r) : POISE_OK));
  TRY(ctx->comm->ops->bcast(ctx->comm, &r->header, sizeof r->header, 0));
  sizes[0] = r->body, sizes[1] = r->first;
  TRY(ctx->comm->ops->bcast(ctx->comm, sizes, sizeof sizes, 0));
  r->body = sizes[0], r->first = sizes[1];
  PoiseErr e = poiseRealloc(ctx, (size_t)poiseMMRoom(r), 0, "text of a file", &r->text);
  if (!e) e = poiseAllocArray(ctx, 2 * (int64_t)PoiseSize(ctx) + 1, sizeof *r->bytes, "counts", &r->bytes);
  return PoiseAgree(ctx, e);
}

PoiseErr poiseMMOpenSource(PoiseContext ctx, const MMSource *source, int64_t block, MMReader *r)
{
  *r = (MMReader){.ctx = ctx, .source = *source, .block = block, .dealt = true};
  return Start(r);
}

/* Does this rank see the file that rank 0 sees? If it cannot open its file, that is no error. */
static bool SeesSame(const char *path, MMFile *file, const Identity *id)
{
  Identity mine;
  ErrorState before;
  poiseErrorSave(&before);
  bool same = !OpenFile(path, file, &mine) && !memcmp(&mine, id, sizeof mine);
  poiseErrorRestore(&before);
  return same;
}

PoiseErr poiseMMOpen(PoiseContext ctx, const char *path, int64_t block, MMReader *r)
{
  Identity id = {0};
  int64_t apart = 0;
  *r = (MMReader){.ctx = ctx, .source.name = path, .block = block};
  TRY(PoiseAgree(ctx, poiseAlloc(ctx, sizeof *r->file, "file", &r->file)));
  r->file->fd = -1;
  TRY(PoiseAgree(ctx, PoiseRank(ctx) == 0 ? OpenFile(path, r->file, &id) : POISE_OK));
  TRY(ctx->comm->ops->bcast(ctx->comm, &id, sizeof id, 0));
  if (id.plain && PoiseRank(ctx)) apart = !SeesSame(path, r->file, &id);
  TRY(poiseCommMaxInt(ctx->comm, &apart, 1));
  r->dealt = !id.plain || apart;
  r->size = id.size;
  return Start(r);
}

void poiseMMClose(MMReader *r)
{
  PoiseContext ctx = r->ctx;
  if (!ctx) return;
  CloseFile(ctx, &r->file);
  if (r->stream) poiseFree(ctx, &r->stream->buffer);
  poiseFree(ctx, &r->stream);
  poiseFree(ctx, &r->text);
  poiseFree(ctx, &r->bytes);
  *r = (MMReader){0};
}
