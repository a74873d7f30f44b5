/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Keys that nobody has asked for, at the end, and keys that nobody knows, before the first solve. Both are
  named with the closest known key. An unknown key that is clearly a misspelt one of the library is an error.
*/
#include "options_list.h"
#include "sys/base/words.h"
#include "sys/sys.h"

typedef struct Guess {
  const char *key; /* a key of a table; NULL if none is near */
  size_t skip;     /* letters of an object's prefix before it */
  int distance;
  bool application;
} Guess;

static void Compare(const OptionTable *t, const char *key, size_t skip, Guess *best)
{
  const char *tail = key + skip;
  size_t n = strlen(tail);
  for (const PoiseOption *row = t->rows; row->key; row++) {
    int distance = poiseDistance(tail, n, row->key, strlen(row->key));
    if (distance < best->distance && poiseNear(distance, n))
      *best = (Guess){.key = row->key, .skip = skip, .distance = distance, .application = t->application};
  }
}

/* The closest known key. An unknown key may begin with an object's prefix, which ends in '_'. */
static Guess Closest(const Options *o, const char *key)
{
  Guess best = {.distance = INT32_MAX};
  for (const char *tail = key; tail; tail = strchr(tail, '_') ? strchr(tail, '_') + 1 : NULL)
    for (int i = 0; i < o->ntable; i++) Compare(&o->table[i], key, (size_t)(tail - key), &best);
  return best;
}

static void Report(const Options *o, const OptionEntry *e, const char *what, const Guess *g, FILE *out)
{
  fprintf(out, "poise: %s option -%s%s%s%s (%s): ", what, poisePrefix(o), poiseOptionsKey(o, e),
          e->value ? " " : "", e->value ? e->value : "", e->where);
  if (!g->key)
    fprintf(out, "there is no such option\n");
  else if (g->distance == 0)
    fprintf(out, "it exists, but nothing asked for it\n");
  else
    fprintf(out, "did you mean -%s%.*s%s?\n", poisePrefix(o), (int)g->skip, poiseOptionsKey(o, e), g->key);
}

/* ---- unused options -------------------------------------------------------------------------- */

static bool IsUnused(const Options *o, const OptionEntry *e, int rank, Guess *g)
{
  if (e->used || !poiseOptionsVisible(e, rank)) return false;
  *g = Closest(o, poiseOptionsKey(o, e));
  /* an application may read its own options in its own way */
  return !(g->application && g->distance == 0 && g->skip == 0);
}

/* again: report also those that were warned of */
static int ReportAllUnused(const Options *o, int rank, bool again, FILE *out)
{
  Guess g;
  int count = 0;
  for (int i = 0; i < o->nentry; i++) {
    const OptionEntry *e = &o->entry[i];
    if (!IsUnused(o, e, rank, &g)) continue;
    count++;
    if (out && (again || !e->told)) Report(o, e, "unused", &g, out);
  }
  return count;
}

int poiseOptionsLeft(PoiseContext ctx, FILE *out)
{
  Options *o = ctx->options;
  pthread_mutex_lock(&o->lock);
  int unused = ReportAllUnused(o, poiseOptionsRank(ctx), false, ctx->comm->rank ? NULL : out);
  pthread_mutex_unlock(&o->lock);
  return unused;
}

PoiseErr PoiseOptionsUnused(PoiseContext ctx, FILE *out, int *count)
{
  CALLED(OBJECT(ctx));
  Options *o = ctx->options;
  if (ctx->comm->rank) out = NULL;
  pthread_mutex_lock(&o->lock);
  int unused = ReportAllUnused(o, poiseOptionsRank(ctx), true, out);
  pthread_mutex_unlock(&o->lock);
  if (count) *count = unused;
  return out ? poiseOptionsWritten(out, "the list of unused options") : POISE_OK;
}

/* ---- unknown options ------------------------------------------------------------------------- */

static bool BeginsAsOurs(const char *key)
{
  static const char *const families[] = {"ksp_", "pc_", "mat_", "vec_", "device_", "log_"};
  for (int i = 0; i < 6; i++)
    if (!strncmp(key, families[i], strlen(families[i]))) return true;
  return false;
}

/* Is an unknown key clearly meant for the library, after a prefix in use? */
static bool IsMisspelt(const Options *o, const OptionEntry *e, Guess *g)
{
  const char *key = poiseOptionsKey(o, e);
  for (size_t n = 0; n < 64 && n < strlen(key); n++) {
    *g = (Guess){.distance = INT32_MAX};
    if ((n && !(e->prefixes >> n & 1)) || !BeginsAsOurs(key + n)) continue;
    for (int i = 0; i < o->ntable; i++) Compare(&o->table[i], key, n, g);
    if (g->key) return true;
  }
  return false;
}

static PoiseErr Refuse(const Options *o, OptionEntry *e, const Guess *meant)
{
  e->told = true; /* by the error */
  FAIL(POISE_ERR_OPTION, "-%s%s%s%.80s (%s): there is no such option; did you mean -%s%.*s%s?",
       poisePrefix(o), poiseOptionsKey(o, e), e->value ? " " : "", e->value ? e->value : "", e->where,
       poisePrefix(o), (int)meant->skip, poiseOptionsKey(o, e), meant->key);
}

static void Warn(const Options *o, OptionEntry *e, const Guess *g, FILE *out)
{
  if (!out || e->told) return;
  Report(o, e, "unknown", g, out);
  e->told = true;
}

static PoiseErr CheckKnown(const Options *o, OptionEntry *e, FILE *out)
{
  Guess g = Closest(o, poiseOptionsKey(o, e)), meant;
  if (g.distance == 0) return POISE_OK;
  if (IsMisspelt(o, e, &meant)) return Refuse(o, e, &meant);
  Warn(o, e, &g, out);
  return POISE_OK;
}

static PoiseErr CheckAllKnown(Options *o, int rank, FILE *out)
{
  for (int i = 0; i < o->nentry; i++) {
    OptionEntry *e = &o->entry[i];
    if (!e->used && poiseOptionsVisible(e, rank)) TRY(CheckKnown(o, e, out));
  }
  return POISE_OK;
}

PoiseErr poiseOptionsCheck(PoiseContext ctx, FILE *out)
{
  Options *o = ctx->options;
  pthread_mutex_lock(&o->lock);
  PoiseErr e = CheckAllKnown(o, poiseOptionsRank(ctx), poiseContextHome(ctx)->comm->rank ? NULL : out);
  pthread_mutex_unlock(&o->lock);
  return e;
}

static PoiseErr CheckListed(Options *o, int rank, FILE *out)
{
  bool listed = false;
  for (int i = 0; i < o->ntable; i++) listed = listed || o->table[i].application;
  for (int i = 0; i < o->nentry && listed; i++) {
    OptionEntry *e = &o->entry[i];
    const Guess g = Closest(o, poiseOptionsKey(o, e));
    if (e->used || !poiseOptionsVisible(e, rank) || g.distance == 0) continue;
    if (g.key && g.skip == 0) return Refuse(o, e, &g);
    if (!g.key) Warn(o, e, &g, out); /* else it may be of an object to come */
  }
  return POISE_OK;
}

PoiseErr poiseOptionsCheckListed(PoiseContext ctx, FILE *out)
{
  Options *o = ctx->options;
  pthread_mutex_lock(&o->lock);
  PoiseErr e = CheckListed(o, poiseOptionsRank(ctx), out);
  pthread_mutex_unlock(&o->lock);
  return e;
}
