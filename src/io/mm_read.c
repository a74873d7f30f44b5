/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Send Matrix Market entries to the ranks that own their rows, in rounds. In each round every rank parses some
  lines, on all its threads. Then all ranks learn how many lines and entries there were, and the entries
  travel. Rounds go through the file from beginning to end. So the number of every line is known, and the
  first error of the file is found first, whichever rank parses it.
*/
#include "mm.h"
#include "sys/base/progress.h"
#include "vec/vec_host.h"

enum { MUCH = 1 << 14 }; /* bytes of text that justify waking threads */

typedef struct Record { /* an entry on its way */
  PoiseInt key;
  double value;
} Record;

typedef struct Tally { /* counts of one round's lines on one rank */
  int64_t lines, entries, failed;
} Tally;

typedef struct Reading {
  PoiseContext ctx;
  MMReader *in;
  const Layout *layout;
  bool zeros;
  MMRows *out;
  int threads;
  MMChunk *chunk; /* of each thread */
  Entry *entry;
  Tally *tally;            /* of all ranks */
  Tally before;            /* counts of earlier rounds */
  int64_t *send, *receive; /* records per rank, later bytes */
  int64_t *next;
  Record *record; /* records to send, then those received */
  int64_t capacity;
  Progress progress;
} Reading;

/* ---- parsing --------------------------------------------------------------------------------- */

/* Divide the lines over threads. Each thread's entries start where they would if all lines were the
   shortest possible. */
static void Split(Reading *r, const MMChunk *text)
{
  int shortest = poiseMMShortest(&r->in->header);
  const char *begin = text->text;
  for (int t = 0; t < r->threads; t++) {
    const char *end = text->text + (text->end - text->text) / r->threads * (t + 1);
    if (t == r->threads - 1) end = text->end;
    if (end < begin) end = begin;
    if (end > begin) end = (const char *)memchr(end - 1, '\n', (size_t)(text->end - end + 1)) + 1;
    r->chunk[t] = (MMChunk){.text = begin, .end = end, .entry = r->entry + (begin - text->text) / shortest};
    begin = end;
  }
}

/* Errors are reported later, by Explain: the line numbers are not yet known. */
static void ParseChunks(Reading *r, const MMChunk *text, Tally *mine)
{
  int failed = 0;
  bool much = r->threads > 1 && text->end - text->text > MUCH;
  HOST_PARALLEL_ITEMS(r->threads, much)
  for (int t = 0; t < r->threads; t++)
    if (poiseMMEntries(&r->in->header, (MMPlace){.name = r->in->source.name}, &r->chunk[t])) {
      PoiseErrorClear();
      r->chunk[t].lines = -1;
    }
  for (int t = 0; t < r->threads && !failed; t++) {
    failed = r->chunk[t].lines < 0;
    mine->entries += r->chunk[t].n;
    mine->lines += r->chunk[t].lines;
  }
  mine->failed = failed;
}

/* Report the first error in this rank's lines. before: the number of earlier lines and entries. */
static PoiseErr Explain(Reading *r, Tally before)
{
  const MMHeader *h = &r->in->header;
  MMPlace at = {r->in->source.name, r->in->body + before.lines};
  for (int t = 0; t < r->threads; t++) {
    MMChunk *chunk = &r->chunk[t];
    int64_t left = h->stored - before.entries;
    PoiseErr e = poiseMMEntries(h, at, chunk);
    if (chunk->n > left || (e && chunk->n == left))
      FAIL(POISE_ERR_FORMAT, "%s, line %lld: more than the %lld entries announced in line %lld", at.name,
           (long long)(at.line + poiseMMLineOf(chunk, left)), (long long)h->stored, (long long)h->line);
    TRY(e);
    at.line += chunk->lines;
    before.entries += chunk->n;
  }
  return POISE_OK;
}

/* Count the lines and entries of all ranks, and those before this rank's. Report the first error. mine:
   this rank's, as far as it is known. */
static PoiseErr Count(Reading *r, PoiseErr e, Tally mine, Tally *before)
{
  PoiseContext ctx = r->ctx;
  bool good = true;
  mine.failed = mine.failed || e;
  TRY(ctx->comm->ops->allgather(ctx->comm, &mine, sizeof mine, r->tally));
  *before = r->before;
  for (int q = 0; q < PoiseSize(ctx) && good; q++) {
    if (q == PoiseRank(ctx)) *before = r->before;
    good = !r->tally[q].failed && r->before.entries + r->tally[q].entries <= r->in->header.stored;
    if (!good && q == PoiseRank(ctx) && !e) e = Explain(r, *before);
    r->before.lines += r->tally[q].lines;
    r->before.entries += r->tally[q].entries;
  }
  return good ? POISE_OK : PoiseAgree(ctx, e);
}

/* ---- to the owners --------------------------------------------------------------------------- */

/* The entries that one entry of the file stands for: itself, its mirror image, or none for a zero of an
   array. */
static inline int Expand(const Reading *r, const Entry *t, Entry both[2])
{
  MMSymmetry symmetry = r->in->header.symmetry;
  if (!r->zeros && t->value == 0) return 0;
  both[0] = *t;
  if (symmetry == MM_GENERAL || t->row == t->col) return 1;
  both[1] = (Entry){t->col, t->row, symmetry == MM_SKEW ? -t->value : t->value};
  return 2;
}

static PoiseErr Reserve(PoiseContext ctx, MMRows *rows, int64_t more)
{
  int64_t capacity = rows->n + more;
  if (capacity <= rows->capacity) return POISE_OK;
  if (capacity < rows->capacity + rows->capacity / 8) capacity = rows->capacity + rows->capacity / 8;
  capacity += 1024;
  TRY(poiseResize(ctx, (size_t)capacity * sizeof *rows->key, "rows and columns of a file", &rows->key));
  TRY(poiseResize(ctx, (size_t)capacity * sizeof *rows->val, "values of a file", &rows->val));
  rows->capacity = capacity;
  return POISE_OK;
}

/* One rank: no entry travels. */
static PoiseErr Keep(Reading *r, const MMChunk *chunk)
{
  MMRows *out = r->out;
  Entry both[2];
  TRY(Reserve(r->ctx, out, 2 * chunk->n));
  for (int64_t k = 0; k < chunk->n; k++)
    for (int i = 0, n = Expand(r, &chunk->entry[k], both); i < n; i++) {
      out->key[out->n] = both[i].row << out->bits | both[i].col;
      out->val[out->n++] = both[i].value;
    }
  return POISE_OK;
}

static bool Owns(const Layout *layout, int rank, PoiseInt row)
{
  return row >= layout->start[rank] && row < layout->start[rank + 1];
}

static void CountRecords(Reading *r, const MMChunk *chunk)
{
  int owner = PoiseRank(r->ctx);
  Entry both[2];
  for (int64_t k = 0; k < chunk->n; k++)
    for (int i = 0, n = Expand(r, &chunk->entry[k], both); i < n; i++) {
      if (!Owns(r->layout, owner, both[i].row)) owner = poiseLayoutOwner(r->layout, both[i].row);
      r->send[owner]++;
    }
}

static void PackRecords(Reading *r, const MMChunk *chunk)
{
  int owner = PoiseRank(r->ctx);
  Entry both[2];
  for (int64_t k = 0; k < chunk->n; k++)
    for (int i = 0, n = Expand(r, &chunk->entry[k], both); i < n; i++) {
      if (!Owns(r->layout, owner, both[i].row)) owner = poiseLayoutOwner(r->layout, both[i].row);
      PoiseInt row = both[i].row - r->layout->start[owner];
      r->record[r->next[owner]++] = (Record){row << r->out->bits | both[i].col, both[i].value};
    }
}

static PoiseErr MakeRoom(Reading *r, int64_t sent, int64_t received)
{
  TRY(Reserve(r->ctx, r->out, received));
  if (sent + received <= r->capacity) return POISE_OK;
  TRY(poiseResize(r->ctx, (size_t)(sent + received) * sizeof(Record), "entries of a file", &r->record));
  r->capacity = sent + received;
  return POISE_OK;
}

/* Allocate for the records to send, and learn how many will come. */
static PoiseErr Announce(Reading *r, int64_t *sent, int64_t *received)
{
  Comm *comm = r->ctx->comm;
  const int64_t *sizes = r->next;
  memset(r->send, 0, (size_t)comm->size * sizeof *r->send);
  for (int t = 0; t < r->threads; t++) CountRecords(r, &r->chunk[t]);
  for (int q = 0; q < comm->size; q++) r->next[q] = sizeof *r->send;
  TRY(comm->ops->alltoallv(comm, r->send, sizes, r->receive, sizes));
  for (int q = 0; q < comm->size; q++) *sent += r->send[q], *received += r->receive[q];
  return PoiseAgree(r->ctx, MakeRoom(r, *sent, *received));
}

static PoiseErr Send(Reading *r)
{
  Comm *comm = r->ctx->comm;
  MMRows *out = r->out;
  int64_t sent = 0, received = 0;
  TRY(Announce(r, &sent, &received));
  r->next[0] = 0;
  for (int q = 1; q < comm->size; q++) r->next[q] = r->next[q - 1] + r->send[q - 1];
  for (int t = 0; t < r->threads; t++) PackRecords(r, &r->chunk[t]);
  for (int q = 0; q < comm->size; q++)
    r->send[q] *= (int64_t)sizeof(Record), r->receive[q] *= (int64_t)sizeof(Record);
  Record *in = r->record ? r->record + sent : NULL;
  TRY(PoiseAgree(r->ctx, comm->ops->alltoallv(comm, r->record, r->send, in, r->receive)));
  for (int64_t k = 0; k < received; k++, out->n++)
    out->key[out->n] = in[k].key, out->val[out->n] = in[k].value;
  return POISE_OK;
}

/* ---- entries given twice --------------------------------------------------------------------- */

/* The lines of the two entries. Rank 0 reads the text again to find them; 0 if it cannot. */
static PoiseErr FindLines(Reading *r, PoiseInt i, PoiseInt j, int64_t line[2], Entry *given)
{
  MMReader *in = r->in;
  MMChunk text;
  Entry both[2];
  int64_t lines = in->body;
  bool can;
  int found = 0;
  line[0] = line[1] = 0;
  TRY(poiseMMAgain(in, &can));
  while (can && found < 2) {
    TRY(poiseMMNextAgain(in, &text));
    if (text.text == text.end) break;
    text.entry = r->entry;
    TRY(poiseMMEntries(&in->header, (MMPlace){in->source.name, lines}, &text));
    for (int64_t k = 0; k < text.n && found < 2; k++)
      for (int b = 0, n = Expand(r, &text.entry[k], both); b < n; b++)
        if (both[b].row == i && both[b].col == j) {
          if (!found) *given = text.entry[k];
          line[found++] = lines + poiseMMLineOf(&text, k);
        }
    lines += text.lines;
  }
  return POISE_OK;
}

static PoiseErr FailTwice(Reading *r, PoiseInt i, PoiseInt j)
{
  int64_t line[2];
  Entry given = {.row = i, .col = j};
  TRY(FindLines(r, i, j, line, &given));
  if (line[1])
    FAIL(POISE_ERR_FORMAT, "%s, line %lld: entry (%lld, %lld) is given again, first in line %lld",
         r->in->source.name, (long long)line[1], (long long)given.row + 1, (long long)given.col + 1,
         (long long)line[0]);
  FAIL(POISE_ERR_FORMAT, "%s: entry (%lld, %lld) is given twice", r->in->source.name, (long long)i + 1,
       (long long)j + 1);
}

/* Check sorted entries: the first entry over all ranks that occurs twice is an error. */
static PoiseErr CheckTwice(Reading *r)
{
  PoiseContext ctx = r->ctx;
  const MMRows *out = r->out;
  PoiseInt twice[2] = {-1, -1};
  int64_t k = 1;
  int first = 0;
  while (k < out->n && out->key[k] != out->key[k - 1]) k++;
  if (k < out->n) {
    twice[0] = r->layout->begin + (out->key[k] >> out->bits);
    twice[1] = out->key[k] & (((PoiseInt)1 << out->bits) - 1);
  }
  TRY(ctx->comm->ops->allgather(ctx->comm, &twice[0], sizeof *twice, r->receive));
  while (first < PoiseSize(ctx) && r->receive[first] < 0) first++;
  if (first == PoiseSize(ctx)) return POISE_OK;
  TRY(ctx->comm->ops->bcast(ctx->comm, twice, sizeof twice, first));
  return PoiseAgree(ctx, PoiseRank(ctx) == 0 ? FailTwice(r, twice[0], twice[1]) : POISE_OK);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static PoiseErr Round(Reading *r, bool *more)
{
  const MMHeader *h = &r->in->header;
  MMChunk text;
  Tally mine = {0}, before = {0};
  PoiseErr e = poiseMMNext(r->in, &text, more);
  if (!e) e = poiseLook(r->ctx);
  if (e) text = (MMChunk){0};
  Split(r, &text);
  ParseChunks(r, &text, &mine);
  int64_t entries = r->before.entries;
  TRY(Count(r, e, mine, &before));
  if (r->before.entries == entries) return POISE_OK; /* none of any rank */
  for (int t = 0; t < r->threads && h->array; t++) {
    poiseMMPlaceArray(h, before.entries, r->chunk[t].entry, r->chunk[t].n);
    before.entries += r->chunk[t].n;
  }
  if (PoiseSize(r->ctx) > 1) return Send(r);
  for (int t = 0; t < r->threads; t++) TRY(Keep(r, &r->chunk[t]));
  return POISE_OK;
}

static PoiseErr ReadAll(Reading *r)
{
  const MMHeader *h = &r->in->header;
  for (bool more = true; more;) {
    int64_t done, total;
    TRY(Round(r, &more));
    poiseMMProgress(r->in, &done, &total);
    poiseProgressStep(&r->progress, done, total);
  }
  PoiseErr e = POISE_OK;
  if (PoiseRank(r->ctx) == 0 && r->before.entries < h->stored)
    e = PoiseErrorSet(POISE_ERR_FORMAT, __func__, __FILE__, __LINE__,
                      "%s: the file ends at line %lld after %lld of the %lld entries announced in line %lld",
                      r->in->source.name, (long long)(r->in->body + r->before.lines),
                      (long long)r->before.entries, (long long)h->stored, (long long)h->line);
  return PoiseAgree(r->ctx, e);
}

static int BitsFor(PoiseInt n)
{
  int bits = 0;
  while (bits < 62 && (PoiseInt)1 << bits < n) bits++;
  return bits;
}

static PoiseErr Prepare(Reading *r)
{
  PoiseContext ctx = r->ctx;
  const MMHeader *h = &r->in->header;
  PoiseInt most = 0;
  int size = PoiseSize(ctx);
  for (int q = 0; q < size; q++)
    if (r->layout->start[q + 1] - r->layout->start[q] > most)
      most = r->layout->start[q + 1] - r->layout->start[q];
  r->out->bits = BitsFor(h->N);
  if (BitsFor(most) + r->out->bits > 63)
    FAIL(POISE_ERR_UNSUPPORTED, "%s: %lld rows on a rank and %lld columns are too many", r->in->source.name,
         (long long)most, (long long)h->N);
  TRY(poiseAllocArray(ctx, r->threads, sizeof *r->chunk, "chunks of a file", &r->chunk));
  TRY(poiseAllocArray(ctx, size, sizeof *r->tally, "counts", &r->tally));
  TRY(poiseAllocArray(ctx, size, sizeof *r->send, "counts", &r->send));
  TRY(poiseAllocArray(ctx, size, sizeof *r->receive, "counts", &r->receive));
  TRY(poiseAllocArray(ctx, size, sizeof *r->next, "counts", &r->next));
  int64_t entries = poiseMMRoom(r->in) / poiseMMShortest(h) + 1;
  return poiseRealloc(ctx, (size_t)entries * sizeof(Entry), 0, "entries of a file", &r->entry);
}

static void Release(Reading *r)
{
  poiseFree(r->ctx, &r->chunk);
  poiseFree(r->ctx, &r->entry);
  poiseFree(r->ctx, &r->tally);
  poiseFree(r->ctx, &r->send);
  poiseFree(r->ctx, &r->receive);
  poiseFree(r->ctx, &r->next);
  poiseFree(r->ctx, &r->record);
}

static PoiseErr Trim(PoiseContext ctx, MMRows *rows)
{
  if (rows->n == rows->capacity) return POISE_OK;
  rows->capacity = rows->n;
  TRY(poiseResize(ctx, (size_t)rows->n * sizeof *rows->key, "rows and columns of a file", &rows->key));
  return poiseResize(ctx, (size_t)rows->n * sizeof *rows->val, "values of a file", &rows->val);
}

PoiseErr poiseMMRows(MMReader *in, const Layout *layout, bool zeros, MMRows *rows)
{
  PoiseContext ctx = in->ctx;
  Reading r = {.ctx = ctx, .in = in, .layout = layout, .zeros = zeros || !in->header.array, .out = rows};
  r.threads = ctx->device->threads;
  *rows = (MMRows){0};
  poiseProgressBegin(ctx, in->source.name, ctx->load_progress, 0.5, &r.progress);
  PoiseErr e = PoiseAgree(ctx, Prepare(&r));
  if (!e) e = ReadAll(&r);
  poiseProgressEnd(&r.progress);
  if (!e) {
    poiseMMSort(rows->key, rows->val, rows->n, r.threads);
    e = CheckTwice(&r);
  }
  if (!e) e = PoiseAgree(ctx, Trim(ctx, rows));
  Release(&r);
  if (e) poiseMMRowsDestroy(ctx, rows);
  return e;
}

void poiseMMRowsDestroy(PoiseContext ctx, MMRows *rows)
{
  poiseFree(ctx, &rows->key);
  poiseFree(ctx, &rows->val);
  *rows = (MMRows){0};
}
