/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of all ranks to one file, in the order of ranks: every rank makes its own text, a piece at a time, rank 0 writes it. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <unistd.h>
#include <zlib.h>

#include "mm.h"

enum { PIECE = 1 << 19 }; /* bytes of text that travel at once */

typedef struct Output { /* rank 0's */
  OutFile file;
  gzFile gz; /* writes to a copy of the file's descriptor, plain text too */
  const char *path;
} Output;

static PoiseErr Put(Output *out, const char *text, size_t n)
{
  errno = 0;
  if (n && gzwrite(out->gz, text, (unsigned)n) != (int)n)
    FAIL(POISE_ERR_FILE, "cannot write '%s': %s", out->path, strerror(errno));
  return POISE_OK;
}

static PoiseErr Open(PoiseContext ctx, Output *out, const char *header)
{
  size_t length = strlen(out->path);
  bool gzip = length > 3 && !strcmp(out->path + length - 3, ".gz");
  TRY(poiseFileBegin(ctx, out->path, &out->file));
  int fd = dup(fileno(out->file.stream));
  out->gz =
      fd < 0 ? NULL : gzdopen(fd, gzip ? "wb1" : "wbT"); /* 1: five times as fast as the default, 10% larger; T: as it is */
  if (out->gz) return Put(out, header, strlen(header));
  if (fd >= 0) close(fd);
  FAIL(POISE_ERR_FILE, "cannot write '%s': no file descriptor or memory left", out->path);
}

/* The file takes its place, or all traces of it vanish. */
static PoiseErr Close(PoiseContext ctx, Output *out, PoiseErr e)
{
  errno = 0;
  if (out->gz && gzclose_w(out->gz) != Z_OK && !e)
    e = PoiseErrorSet(POISE_ERR_FILE, __func__, __FILE__, __LINE__, "cannot write '%s': %s", out->path, strerror(errno));
  if (!e) return poiseFileCommit(ctx, &out->file);
  poiseFileAbort(ctx, &out->file);
  return e;
}

typedef struct Writer {
  PoiseContext ctx;
  const MMLines *lines;
  Output out;
  char *text;
  int64_t *send, *receive; /* bytes per rank */
} Writer;

static PoiseErr Begin(Writer *w, const char *header)
{
  PoiseContext ctx = w->ctx;
  TRY(poiseAlloc(ctx, PIECE, "text of a file", &w->text));
  TRY(poiseAllocArray(ctx, PoiseSize(ctx), sizeof(int64_t), "counts", &w->send));
  TRY(poiseAllocArray(ctx, PoiseSize(ctx), sizeof(int64_t), "counts", &w->receive));
  return PoiseRank(ctx) == 0 ? Open(ctx, &w->out, header) : POISE_OK;
}

typedef struct Piece {
  int64_t bytes, left; /* left: lines that did not fit */
} Piece;

static PoiseErr MakeLines(Writer *w, Piece *piece)
{
  int length;
  piece->bytes = 0;
  for (; piece->left && piece->bytes + MM_LINE <= PIECE; piece->left--, piece->bytes += length)
    TRY(w->lines->next(w->lines->from, w->text + piece->bytes, &length));
  return POISE_OK;
}

static PoiseErr MakePiece(Writer *w, Piece *piece)
{
  NumberLocale numbers = poiseNumbersBegin();
  PoiseErr e = MakeLines(w, piece);
  poiseNumbersEnd(numbers);
  return e;
}

/* The text of `rank` to rank 0. */
static PoiseErr Send(Writer *w, int rank, int64_t bytes)
{
  Comm *comm = w->ctx->comm;
  if (rank == 0) return POISE_OK;
  w->send[0] = comm->rank == rank ? bytes : 0;
  w->receive[rank] = comm->rank == 0 ? bytes : 0;
  PoiseErr e = comm->ops->alltoallv(comm, w->text, w->send, w->text, w->receive);
  w->send[0] = w->receive[rank] = 0;
  return e;
}

static PoiseErr WriteLines(Writer *w, int rank)
{
  PoiseContext ctx = w->ctx;
  Piece piece = {.left = w->lines->n};
  do {
    TRY(PoiseAgree(ctx, PoiseRank(ctx) == rank ? MakePiece(w, &piece) : POISE_OK));
    TRY(ctx->comm->ops->bcast(ctx->comm, &piece, sizeof piece, rank));
    PoiseErr e = Send(w, rank, piece.bytes);
    if (!e && PoiseRank(ctx) == 0) e = Put(&w->out, w->text, (size_t)piece.bytes);
    TRY(PoiseAgree(ctx, e));
  } while (piece.left);
  return POISE_OK;
}

PoiseErr poiseMMWrite(PoiseContext ctx, PoiseErr mine, const char *path, const char *header, const MMLines *lines)
{
  Writer w = {.ctx = ctx, .lines = lines, .out.path = path};
  PoiseErr e = PoiseAgree(ctx, mine ? mine : Begin(&w, header));
  for (int r = 0; !e && r < PoiseSize(ctx); r++) e = WriteLines(&w, r);
  if (PoiseRank(ctx) == 0) e = Close(ctx, &w.out, e);
  poiseFree(ctx, &w.text);
  poiseFree(ctx, &w.send);
  poiseFree(ctx, &w.receive);
  return PoiseAgree(ctx, e);
}
