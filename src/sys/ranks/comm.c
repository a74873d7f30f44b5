/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by all communicators: sums in rank order and the agreement on errors, both made of allgather. The
   error of ranks that are in different calls. And what an application asks about ranks. */
#include <stdio.h>

#include "sys/sys.h"

PoiseErr poiseCommAlloc(PoiseContext ctx, const CommOps *ops, int rank, int size, Comm **comm)
{
  *comm = NULL;
  TRY(poiseAlloc(ctx, sizeof **comm, "communicator", comm));
  **comm = (Comm){.ops = ops, .ctx = ctx, .rank = rank, .size = size};
  PoiseErr e = poiseAllocArray(ctx, (int64_t)size * POISE_COMM_WIDTH, sizeof(double), "communicator scratch",
                               &(*comm)->scratch);
  if (e) poiseCommDestroy(comm);
  return e;
}

PoiseErr poiseCommSplit(Comm *comm, int color, PoiseContext part_ctx, Comm **part)
{
  *part = NULL;
  PoiseErr e = PoiseAgree(comm->ctx, comm->ops->split(comm, color, part_ctx, part));
  if (e) poiseCommLeave(part);
  return e;
}

void poiseCommLeave(Comm **part)
{
  if (*part && (*part)->ops->leave)
    (*part)->ops->leave(*part), *part = NULL;
  else
    poiseCommDestroy(part);
}

void poiseCommDestroy(Comm **comm)
{
  if (!*comm) return;
  PoiseContext ctx = (*comm)->ctx;
  if ((*comm)->ops->destroy) (*comm)->ops->destroy(*comm);
  poiseFree(ctx, &(*comm)->scratch);
  poiseFree(ctx, comm);
}

/* ---- are all ranks in the same call? --------------------------------------------------------- */

CommMeeting poiseCommMeeting(Comm *comm, CommPurpose purpose, size_t bytes, int root)
{
  return (CommMeeting){.purpose = purpose, .bytes = (int64_t)bytes, .root = root, .call = comm->ctx->call};
}

static void Describe(const CommMeeting *m, char *words, size_t size)
{
  static const char *const purposes[COMM_PURPOSES] = {
      "gathers",   "sums", "finds the largest of", "finds the largest of", "adds up", "agrees by", "shares",
      "exchanges", ""};
  if (m->purpose == COMM_END)
    snprintf(words, size, "has left the body of PoiseRun");
  else
    snprintf(words, size, "is in %s (which %s %lld bytes)", m->call ? m->call : "the library",
             purposes[m->purpose], (long long)m->bytes);
}

PoiseErr poiseCommSame(const CommMeeting *mine, int rank, const CommMeeting *other, int other_rank)
{
  char a[128], b[128];
  if (mine->purpose == other->purpose && mine->bytes == other->bytes && mine->root == other->root)
    return POISE_OK;
  Describe(other, a, sizeof a);
  Describe(mine, b, sizeof b);
  FAIL(POISE_ERR_COMM, "rank %d %s, rank %d %s: all ranks must make the same calls", other_rank, a, rank, b);
}

static PoiseErr Gather(Comm *comm, CommPurpose purpose, const void *in, size_t bytes, void *out)
{
  comm->purpose = purpose;
  PoiseErr e = comm->ops->allgather(comm, in, bytes, out);
  comm->purpose = COMM_GATHER;
  return e;
}

PoiseErr poiseCommEnd(Comm *comm)
{
  return comm->size > 1 ? Gather(comm, COMM_END, &(double){0}, sizeof(double), comm->scratch) : POISE_OK;
}

/* ---- sums ------------------------------------------------------------------------------------ */

static int Chunk(int n)
{
  return n < POISE_COMM_WIDTH ? n : POISE_COMM_WIDTH;
}

PoiseErr poiseCommSum(Comm *comm, double *v, int n)
{
  for (int chunk; n > 0 && comm->size > 1; v += chunk, n -= chunk) {
    chunk = Chunk(n);
    TRY(Gather(comm, COMM_SUM, v, (size_t)chunk * sizeof *v, comm->scratch));
    for (int i = 0; i < chunk; i++) {
      v[i] = comm->scratch[i];
      for (int r = 1; r < comm->size; r++) v[i] += comm->scratch[r * chunk + i];
    }
  }
  return POISE_OK;
}

/* A NaN stays: nothing is larger than it. */
static void TakeLarger(double *v, double w)
{
  if (w > *v || w != w) *v = w;
}

PoiseErr poiseCommMax(Comm *comm, double *v, int n)
{
  for (int chunk; n > 0 && comm->size > 1; v += chunk, n -= chunk) {
    chunk = Chunk(n);
    TRY(Gather(comm, COMM_MAX, v, (size_t)chunk * sizeof *v, comm->scratch));
    for (int i = 0; i < chunk; i++) {
      v[i] = comm->scratch[i];
      for (int r = 1; r < comm->size; r++) TakeLarger(&v[i], comm->scratch[r * chunk + i]);
    }
  }
  return POISE_OK;
}

PoiseErr poiseCommMaxInt(Comm *comm, int64_t *v, int n)
{
  for (int chunk; n > 0 && comm->size > 1; v += chunk, n -= chunk) {
    const int64_t *all = (const void *)comm->scratch;
    chunk = Chunk(n);
    TRY(Gather(comm, COMM_MAX_INT, v, (size_t)chunk * sizeof *v, comm->scratch));
    for (int i = 0; i < chunk; i++)
      for (int r = 0; r < comm->size; r++)
        if (all[r * chunk + i] > v[i]) v[i] = all[r * chunk + i];
  }
  return POISE_OK;
}

PoiseErr poiseCommScan(Comm *comm, int64_t v, int64_t *before, int64_t *total)
{
  const int64_t *all = (const void *)comm->scratch;
  *before = *total = 0;
  TRY(Gather(comm, COMM_SCAN, &v, sizeof v, comm->scratch));
  for (int r = 0; r < comm->size; r++) {
    if (r == comm->rank) *before = *total;
    *total += all[r];
  }
  return POISE_OK;
}

/* ---- agreement ------------------------------------------------------------------------------- */

/* Words of a rank's record: the code, and so many bytes. */
static int WordsOfRecord(size_t bytes)
{
  return 1 + (int)((bytes + sizeof(double) - 1) / sizeof(double));
}

/* The first rank with an error of its own; else the first with any; else -1. */
static int FirstFailing(const int64_t *code, int apart, int size)
{
  int first = -1;
  for (int r = size - 1; r >= 0; r--) {
    int64_t c = code[r * apart];
    if (c && (c != POISE_ERR_REMOTE || first < 0 || code[first * apart] == POISE_ERR_REMOTE)) first = r;
  }
  return first;
}

/* So many bytes of `in`, which fit, go with the code, unless that is an error. The records of all ranks stay
   in the scratch memory. */
static PoiseErr Agree(PoiseContext ctx, PoiseErr mine, const void *in, size_t bytes)
{
  Comm *comm = ctx->comm;
  char words[512];
  int64_t record[POISE_COMM_WIDTH] = {mine};
  int apart = WordsOfRecord(bytes);
  if (bytes && !mine) memcpy(record + 1, in, bytes);
  TRY(Gather(comm, COMM_AGREE, record, (size_t)apart * sizeof *record, comm->scratch));
  int first = FirstFailing((const void *)comm->scratch, apart, comm->size);
  if (first < 0) return POISE_OK;
  snprintf(words, sizeof words, "%s: %s", PoiseErrorString(mine), PoiseErrorMessage());
  TRY(comm->ops->bcast(comm, words, sizeof words, first));
  if (mine) return mine;
  FAIL(POISE_ERR_REMOTE, "rank %d: %s", first, words);
}

/* The own error stays as it is, also where telling the others of it fails. */
static PoiseErr AgreeWith(PoiseContext ctx, PoiseErr mine, const void *in, size_t bytes)
{
  ErrorState own;
  if (ctx->comm->size == 1) return mine;
  if (mine) poiseErrorSave(&own);
  PoiseErr e = Agree(ctx, mine, in, bytes);
  if (mine) poiseErrorRestore(&own);
  return mine ? mine : e;
}

PoiseErr PoiseAgree(PoiseContext ctx, PoiseErr mine)
{
  CALLED_OR(POISE_ERR_ARG, OBJECT(ctx));
  return AgreeWith(ctx, mine, NULL, 0);
}

PoiseErr poiseAgreeGather(PoiseContext ctx, PoiseErr mine, const void *in, size_t bytes, void *out)
{
  Comm *comm = ctx->comm;
  const size_t room = (POISE_COMM_WIDTH - 1) * sizeof(double);
  bool fits = comm->size > 1 && bytes <= room;
  TRY(fits ? AgreeWith(ctx, mine, in, bytes) : PoiseAgree(ctx, mine));
  if (!fits) return comm->ops->allgather(comm, in, bytes, out);
  for (int r = 0; r < comm->size; r++)
    memcpy((char *)out + (size_t)r * bytes, comm->scratch + r * WordsOfRecord(bytes) + 1, bytes);
  return POISE_OK;
}

PoiseErr poiseAgreeSum(PoiseContext ctx, PoiseErr mine, double *v, int n)
{
  const Comm *comm = ctx->comm;
  size_t bytes = (size_t)n * sizeof *v;
  TRY(AgreeWith(ctx, mine, v, bytes));
  for (int i = 0; i < n && comm->size > 1; i++) {
    v[i] = comm->scratch[1 + i];
    for (int r = 1; r < comm->size; r++) v[i] += comm->scratch[r * WordsOfRecord(bytes) + 1 + i];
  }
  return POISE_OK;
}

PoiseErr poiseAgreeMax(PoiseContext ctx, PoiseErr mine, double *v)
{
  const Comm *comm = ctx->comm;
  TRY(AgreeWith(ctx, mine, v, sizeof *v));
  for (int r = 0; r < comm->size && comm->size > 1; r++) {
    double w = comm->scratch[r * WordsOfRecord(sizeof *v) + 1];
    if (r == 0) *v = w;
    TakeLarger(v, w);
  }
  return POISE_OK;
}

/* ---- for applications ------------------------------------------------------------------------ */

int PoiseRank(PoiseContext ctx)
{
  CALLED_OR(0, OBJECT(ctx));
  return ctx->comm->rank;
}

int PoiseSize(PoiseContext ctx)
{
  CALLED_OR(0, OBJECT(ctx));
  return ctx->comm->size;
}

PoiseErr PoiseBarrier(PoiseContext ctx)
{
  CALLED(OBJECT(ctx));
  double nothing = 0;
  return poiseCommSum(ctx->comm, &nothing, 1);
}

PoiseErr PoiseSum(PoiseContext ctx, int n, double *v)
{
  CALLED(OBJECT(ctx));
  if (n < 0 || (n && !v)) FAIL(POISE_ERR_ARG, "PoiseSum of %d values at %p", n, (void *)v);
  return poiseCommSum(ctx->comm, v, n);
}

PoiseErr PoiseMax(PoiseContext ctx, int n, double *v)
{
  CALLED(OBJECT(ctx));
  if (n < 0 || (n && !v)) FAIL(POISE_ERR_ARG, "PoiseMax of %d values at %p", n, (void *)v);
  return poiseCommMax(ctx->comm, v, n);
}

void PoiseSplit(PoiseContext ctx, PoiseInt N, PoiseInt *begin, PoiseInt *n)
{
  CALLED_OR(, OBJECT(ctx), GIVEN(begin), GIVEN(n));
  PoiseInt size = PoiseSize(ctx), rank = PoiseRank(ctx), more = N % size;
  *n = N / size + (rank < more);
  *begin = N / size * rank + (rank < more ? rank : more);
}
