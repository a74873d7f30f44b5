/* SPDX-License-Identifier: BSD-3-Clause */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>

#include "sys/base/files.h"
#include "sys/device/place.h"
#include "winners.h"

/* ---- what they are known by ------------------------------------------------------------------ */

PoiseErr poiseWinnersHash(PoiseMat A, uint64_t *h)
{
  Device *dev = A->ctx->device;
  Csr *c = &A->csr;
  const int64_t sizes[] = {c->m, c->nloc, c->nghost, c->nz, c->wide, A->asked.library, dev->threads};
  char name[128] = "";
  const uint64_t *found;
  Buffer there = {0};
  CsrHashArgs a;
  TRY(poiseCsrPattern(c, &a.A));
  PoiseErr e = poiseBufferCreate(dev, sizeof *found, "hash of a pattern", &there);
  if (!e) e = poiseBufferUpdate(&there, DEVICE, &a.hash);
  if (!e) e = LAUNCH(dev, csr_hash, &a);
  if (!e) e = poiseBufferRead(&there, HOST, &found);
  if (!e) *h = *found;
  poiseBufferDestroy(&there);
  if (dev->ops->describe) dev->ops->describe(dev->id, name, sizeof name);
  *h = poiseHashBytes(*h, sizes, sizeof sizes);
  *h = poiseHashBytes(*h, dev->ops->name, strlen(dev->ops->name));
  *h = poiseHashBytes(*h, name, strlen(name));
  return e;
}

PoiseErr poiseWinnersKey(PoiseContext ctx, PoiseErr mine, uint64_t h, uint64_t *key)
{
  TRY(PoiseAgree(ctx, mine));
  h = poiseMix(h, (uint64_t)PoiseRank(ctx));
  double halves[] = {(double)(h >> 32), (double)(h & UINT32_MAX)}; /* their sums are exact */
  TRY(PoiseSum(ctx, 2, halves));
  *key = poiseMix(poiseMix((uint64_t)halves[0], (uint64_t)halves[1]), (uint64_t)PoiseSize(ctx));
  return POISE_OK;
}

/* ---- in the context -------------------------------------------------------------------------- */

PoiseErr poiseWinnersCreate(PoiseContext ctx)
{
  return poiseAlloc(ctx, sizeof *ctx->winners, "winners", &ctx->winners);
}

void poiseWinnersRemember(PoiseContext ctx, uint64_t key, int winner)
{
  Winners *w = poiseContextHome(ctx)->winners;
  int64_t at = 0;
  while (at < POISE_WINNERS && at < w->count && w->of[at].key != key) at++;
  if (at == POISE_WINNERS || at == w->count) at = w->count++ % POISE_WINNERS;
  w->of[at].key = key;
  w->of[at].winner = winner;
}

PoiseErr poiseWinnersRecall(PoiseContext ctx, uint64_t key, int *winner)
{
  const Winners *w = poiseContextHome(ctx)->winners;
  int64_t unknown = 1;
  *winner = -1;
  for (int64_t k = 0; k < POISE_WINNERS && k < w->count; k++)
    if (w->of[k].key == key) *winner = w->of[k].winner, unknown = 0;
  TRY(poiseCommMaxInt(ctx->comm, &unknown, 1));
  if (unknown) *winner = -1;
  return ctx->comm->ops->bcast(ctx->comm, winner, sizeof *winner, 0);
}

/* ---- in a file ------------------------------------------------------------------------------- */

static const char header[] = "poise auto 1\n";

/* Parse line n: the header (*winner = -1), or "0123456789abcdef csri\n". The line is cut up. */
static PoiseErr ReadLine(const char *path, const char *const *names, int64_t n, char *line, uint64_t *key,
                         int *winner)
{
  char *end = line;
  size_t length = strlen(line);
  if (n == 1 && strcmp(line, header))
    FAIL(POISE_ERR_FORMAT, "%s, line 1: not a file of winners of type auto, which begins with '%.*s'", path,
         (int)sizeof header - 2, header);
  *winner = -1;
  if (n == 1) return POISE_OK;
  while (isxdigit((unsigned char)*end)) end++;
  if (end == line + 16 && *end == ' ' && line[length - 1] == '\n') {
    line[length - 1] = 0;
    *key = strtoull(line, NULL, 16);
    for (int k = 0; names[k]; k++)
      if (!strcmp(end + 1, names[k])) *winner = k;
  }
  if (*winner < 0)
    FAIL(POISE_ERR_FORMAT, "%s, line %lld: '%.*s' is not 16 hexadecimal digits and a type to be chosen", path,
         (long long)n, (int)strcspn(line, "\n"), line);
  return POISE_OK;
}

/* The file's winner for the key, or -1. A file that does not exist has none. Lines with other keys go to
   out (may be NULL). */
static PoiseErr ReadFile(const char *path, const char *const *names, uint64_t key, FILE *out, int *winner)
{
  char line[64];
  uint64_t found = 0;
  int k = -1;
  PoiseErr e = POISE_OK;
  FILE *f = fopen(path, "r");
  *winner = -1;
  if (!f && errno == ENOENT) return POISE_OK;
  if (!f) FAIL(POISE_ERR_FILE, "cannot open '%s', a file of winners of type auto: %s", path, strerror(errno));
  for (int64_t n = 1; !e && fgets(line, sizeof line, f); n++) {
    e = ReadLine(path, names, n, line, &found, &k);
    if (e || k < 0) continue;
    if (found == key)
      *winner = k;
    else if (out)
      fprintf(out, "%016" PRIx64 " %s\n", found, names[k]);
  }
  bool failed = ferror(f);
  fclose(f);
  if (!e && failed) FAIL(POISE_ERR_FILE, "cannot read '%s', a file of winners of type auto", path);
  return e;
}

static PoiseErr Rewrite(PoiseContext ctx, const char *path, const char *const *names, uint64_t key,
                        int winner)
{
  OutFile f = {0};
  int old = -1;
  TRY(poiseFileBegin(ctx, path, &f));
  fputs(header, f.stream);
  PoiseErr e = ReadFile(path, names, key, f.stream, &old);
  if (e) {
    poiseFileAbort(ctx, &f);
    return e;
  }
  fprintf(f.stream, "%016" PRIx64 " %s\n", key, names[winner]);
  return poiseFileCommit(ctx, &f);
}

/* Add a winner to the file, which other programs may be changing. */
static PoiseErr WriteFile(PoiseContext ctx, const char *path, const char *const *names, uint64_t key,
                          int winner)
{
  int lock = poiseFileLock(ctx, path);
  PoiseErr e = Rewrite(ctx, path, names, key, winner);
  poiseFileUnlock(lock);
  return e;
}

/* Blocks inside ranks have contexts of their own, in which each is rank 0: they do not write. */
PoiseErr poiseWinnersWrite(PoiseContext ctx, const char *path, const char *const *names, uint64_t key,
                           int winner)
{
  bool writes = !PoiseRank(poiseContextHome(ctx));
  return PoiseAgree(ctx, writes ? WriteFile(ctx, path, names, key, winner) : POISE_OK);
}

PoiseErr poiseWinnersRead(PoiseContext ctx, const char *path, const char *const *names, uint64_t key,
                          int *winner)
{
  TRY(PoiseAgree(ctx, PoiseRank(ctx) ? POISE_OK : ReadFile(path, names, key, NULL, winner)));
  return ctx->comm->ops->bcast(ctx->comm, winner, sizeof *winner, 0);
}
