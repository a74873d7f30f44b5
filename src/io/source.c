/* SPDX-License-Identifier: BSD-3-Clause */
/* Sources of bytes that can be read at any offset: a file, a compressed file, memory. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "source.h"

enum {
  LARGEST_READ = 1 << 30, /* most bytes read at once; a system call and zlib take less than 2^31 */
  DEFLATE = 1032,         /* most bytes that deflate compresses to one */
  GZIP_BUFFER = 1 << 17
};

/* ---- memory ---------------------------------------------------------------------------------- */

static PoiseErr Read_memory(const ByteSource *s, int64_t at, void *p, size_t bytes, size_t *got)
{
  size_t left = at < s->size ? (size_t)(s->size - at) : 0;
  *got = bytes < left ? bytes : left;
  if (*got) memcpy(p, s->memory + at, *got);
  return POISE_OK;
}

void poiseSourceMemory(const void *bytes, size_t n, const char *name, ByteSource *s)
{
  *s = (ByteSource){.read = Read_memory, .name = name, .size = (int64_t)n, .memory = bytes, .fd = -1};
}

/* ---- files ----------------------------------------------------------------------------------- */

static PoiseErr Read_file(const ByteSource *s, int64_t at, void *p, size_t bytes, size_t *got)
{
  ssize_t n;
  do n = pread(s->fd, p, bytes, (off_t)at);
  while (n < 0 && errno == EINTR);
  *got = n < 0 ? 0 : (size_t)n;
  if (n < 0) FAIL(POISE_ERR_FILE, "rank %d cannot read '%s': %s", s->rank, s->name, strerror(errno));
  return POISE_OK;
}

static PoiseErr CheckGzip(const ByteSource *s)
{
  int error = Z_OK;
  const char *words = gzerror(s->gz, &error);
  if (error == Z_ERRNO)
    FAIL(POISE_ERR_FILE, "rank %d cannot read '%s': %s", s->rank, s->name, strerror(errno));
  if (error == Z_MEM_ERROR) FAIL(POISE_ERR_MEMORY, "no memory to decompress '%s'", s->name);
  if (error == Z_BUF_ERROR) FAIL(POISE_ERR_FORMAT, "%s: the compressed file is truncated", s->name);
  if (error < 0) FAIL(POISE_ERR_FORMAT, "%s: the compressed file is damaged (%s)", s->name, words);
  return POISE_OK;
}

static PoiseErr Read_gzip(const ByteSource *s, int64_t at, void *p, size_t bytes, size_t *got)
{
  *got = 0;
  errno = 0;
  int n = gzseek(s->gz, (z_off_t)at, SEEK_SET) < 0 ? -1 : gzread(s->gz, p, (unsigned)bytes);
  TRY(CheckGzip(s));
  if (n < 0) FAIL(POISE_ERR_FILE, "rank %d cannot go to byte %lld of '%s'", s->rank, (long long)at, s->name);
  *got = (size_t)n;
  return POISE_OK;
}

static PoiseErr FailOpen(const ByteSource *s, int error)
{
  if (s->rank == 0) FAIL(POISE_ERR_FILE, "cannot open '%s': %s", s->name, strerror(error));
  FAIL(POISE_ERR_FILE, "rank %d cannot open '%s', which all ranks must be able to read: %s", s->rank, s->name,
       strerror(error));
}

/* Give the descriptor to zlib. */
static PoiseErr Inflate(ByteSource *s)
{
  s->gz = gzdopen(s->fd, "rb");
  if (!s->gz) FAIL(POISE_ERR_MEMORY, "no memory to decompress '%s'", s->name);
  (void)gzbuffer(s->gz, GZIP_BUFFER); /* only for speed */
  s->fd = -1;
  s->read = Read_gzip;
  s->compressed = true;
  s->threads = 1;
  s->size = s->size < INT64_MAX / DEFLATE ? s->size * DEFLATE : INT64_MAX;
  return POISE_OK;
}

static PoiseErr Open(ByteSource *s)
{
  struct stat info;
  unsigned char magic[2];
  size_t n = 0;
  s->fd = open(s->name, O_RDONLY | O_CLOEXEC);
  if (s->fd < 0 || fstat(s->fd, &info)) return FailOpen(s, errno);
  if (S_ISDIR(info.st_mode)) return FailOpen(s, EISDIR);
  if (!S_ISREG(info.st_mode)) return FailOpen(s, ESPIPE);
  s->size = info.st_size;
  s->read = Read_file;
  TRY(Read_file(s, 0, magic, sizeof magic, &n));
  return n == sizeof magic && magic[0] == 0x1f && magic[1] == 0x8b ? Inflate(s) : POISE_OK;
}

PoiseErr poiseSourceOpen(PoiseContext ctx, const char *path, ByteSource *s)
{
  *s = (ByteSource){.name = path, .rank = PoiseRank(ctx), .threads = ctx->device->threads, .fd = -1};
  PoiseErr e = Open(s);
  if (e) poiseSourceClose(s);
  return e;
}

void poiseSourceClose(ByteSource *s)
{
  if (s->gz) (void)gzclose_r(s->gz);
  if (s->fd >= 0 && s->read != Read_memory && s->name) close(s->fd);
  *s = (ByteSource){.fd = -1};
}

/* ---- reading --------------------------------------------------------------------------------- */

PoiseErr poiseSourceTry(const ByteSource *s, int64_t at, void *p, size_t bytes, size_t *got)
{
  size_t n;
  *got = 0;
  do {
    size_t left = bytes - *got;
    TRY(s->read(s, at + (int64_t)*got, (char *)p + *got, left < LARGEST_READ ? left : LARGEST_READ, &n));
    *got += n;
  } while (n && *got < bytes);
  return POISE_OK;
}

PoiseErr poiseSourceRead(const ByteSource *s, int64_t at, void *p, size_t bytes, const char *what)
{
  size_t got;
  if (!bytes) return POISE_OK;
  TRY(poiseSourceTry(s, at, p, bytes, &got));
  if (got < bytes)
    FAIL(POISE_ERR_FORMAT, "%s: the file ends at byte %lld, inside the %s, which need bytes %lld to %lld",
         s->name, (long long)(at + (int64_t)got), what, (long long)at, (long long)(at + (int64_t)bytes));
  return POISE_OK;
}
