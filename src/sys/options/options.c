/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Options: their life, and the calls that set them, ask for them and name them in messages. The parts are in
  options_*.c, and what the parts share in options_list.h.

  Ranks that are threads share the list, so it is locked. The context that made it owns it, and counts its
  memory. A thread rank's options from code are its own, as ranks reach the same statement at different times.
  MPI ranks all use the environment, files and command line of rank 0, as launchers do not promise them to
  other ranks.
*/
#include "options_list.h"
#include "options_values.h"
#include "sys/sys.h"

/* ---- life ------------------------------------------------------------------------------------ */

static PoiseErr Fill(Options *o, const PoiseInit *init, int argc, char **argv)
{
  if (init) {
    TRY(poiseStringCopy(o->owner, init->prefix, &o->prefix));
    TRY(poiseStringCopy(o->owner, init->help, &o->about));
    if (init->options) TRY(poiseOptionsAddTable(o, &(OptionTable){"Application", init->options, true}));
  }
  return o->owner->comm->rank ? POISE_OK : poiseOptionsCollect(o, argc, argv);
}

PoiseErr poiseOptionsCreate(PoiseContext ctx, const PoiseInit *init, int argc, char **argv, Options **options)
{
  PoiseErr e = poiseAlloc(ctx, sizeof **options, "options", options);
  if (!e) {
    (*options)->owner = ctx;
    pthread_mutex_init(&(*options)->lock, NULL);
  }
  e = PoiseAgree(ctx, e);
  if (!e) {
    e = Fill(*options, init, argc, argv);
    if (ctx->comm->size > 1) e = poiseOptionsShare(*options, e);
  }
  if (e) poiseOptionsDestroy(options);
  return e;
}

void poiseOptionsDestroy(Options **options)
{
  Options *o = *options;
  if (!o) return;
  PoiseContext ctx = o->owner;
  for (int i = 0; i < o->nentry; i++) poiseOptionsClear(ctx, &o->entry[i]);
  poiseFree(ctx, &o->entry);
  poiseFree(ctx, &o->order);
  poiseFree(ctx, &o->table);
  poiseFree(ctx, &o->prefix);
  poiseFree(ctx, &o->about);
  pthread_mutex_destroy(&o->lock);
  poiseFree(ctx, options);
}

void poiseOptionsLeave(PoiseContext ctx)
{
  Options *o = ctx->options;
  if (!ctx->parent) return;
  pthread_mutex_lock(&o->lock);
  poiseOptionsForgetRank(o, poiseOptionsRank(ctx));
  pthread_mutex_unlock(&o->lock);
}

PoiseErr poiseOptionsRegister(PoiseContext ctx, const char *heading, const PoiseOption *table)
{
  Options *o = ctx->options;
  pthread_mutex_lock(&o->lock);
  PoiseErr e = poiseOptionsAddTable(o, &(OptionTable){heading, table, false});
  pthread_mutex_unlock(&o->lock);
  return e;
}

/* ---- set ------------------------------------------------------------------------------------- */

PoiseErr PoiseOptionsSet(PoiseContext ctx, const char *key, const char *value)
{
  CALLED(OBJECT(ctx), GIVEN(key));
  const char *bare = key + (*key == '-');
  if (!*bare || *bare == '-' || strpbrk(bare, " \t\r\n"))
    FAIL(POISE_ERR_ARG, "'%.80s' is not the key of an option", key);
  Options *o = ctx->options;
  char where[] = "code";
  pthread_mutex_lock(&o->lock);
  PoiseErr e = poiseOptionsAdd(o, poiseOptionsRank(ctx), CODE, bare, (char *)value, where);
  pthread_mutex_unlock(&o->lock);
  TRY(e);
  return POISE_OK;
}

PoiseErr PoiseOptionsSetString(PoiseContext ctx, const char *text)
{
  CALLED(OBJECT(ctx), GIVEN(text));
  Options *o = ctx->options;
  pthread_mutex_lock(&o->lock);
  PoiseErr e = poiseOptionsReadCopy(o, poiseOptionsRank(ctx), CODE, text);
  pthread_mutex_unlock(&o->lock);
  TRY(e);
  return POISE_OK;
}

PoiseErr PoiseOptionsClear(PoiseContext ctx, const char *key)
{
  CALLED(OBJECT(ctx), GIVEN(key));
  Options *o = ctx->options;
  pthread_mutex_lock(&o->lock);
  poiseOptionsForget(o, poiseOptionsRank(ctx), key + (*key == '-'));
  pthread_mutex_unlock(&o->lock);
  return POISE_OK;
}

/* ---- read ------------------------------------------------------------------------------------ */

static PoiseErr ReadTable(Options *o, int rank, const char *prefix, const PoiseOption *table, void *fields)
{
  char reason[OPTION_REASON];
  for (const PoiseOption *row = table; row->key; row++) {
    const OptionEntry *e = poiseOptionsFind(o, rank, prefix, row->key);
    TRY(poiseOptionCheckType(row));
    if (!e || poiseOptionParse(row, e->value, fields, reason)) continue;
    FAIL(POISE_ERR_OPTION, "-%s%s%s%.80s (%s): %s", poisePrefix(o), poiseOptionsKey(o, e),
         e->value ? " " : "", e->value ? e->value : "", e->where, reason);
  }
  return POISE_OK;
}

PoiseErr PoiseOptionsRead(PoiseContext ctx, const char *prefix, const PoiseOption *table, void *fields)
{
  CALLED(OBJECT(ctx), GIVEN(table), GIVEN(fields));
  Options *o = ctx->options;
  pthread_mutex_lock(&o->lock);
  PoiseErr e = ReadTable(o, poiseOptionsRank(ctx), prefix ? prefix : "", table, fields);
  pthread_mutex_unlock(&o->lock);
  TRY(e);
  return POISE_OK;
}

int PoiseOptionsHas(PoiseContext ctx, const char *prefix, const char *key, const char **value)
{
  CALLED_OR(0, OBJECT(ctx), GIVEN(key));
  if (value) *value = NULL;
  if (!ctx || !key) return 0;
  Options *o = ctx->options;
  pthread_mutex_lock(&o->lock);
  const OptionEntry *e =
      poiseOptionsFind(o, poiseOptionsRank(ctx), prefix ? prefix : "", key + (*key == '-'));
  bool found = e != NULL;
  if (e && value) *value = e->value ? e->value : "";
  pthread_mutex_unlock(&o->lock);
  return found;
}

int PoiseOptionsUsed(PoiseContext ctx, const char *key)
{
  CALLED_OR(0, OBJECT(ctx), GIVEN(key));
  if (!ctx || !key) return 0;
  Options *o = ctx->options;
  pthread_mutex_lock(&o->lock);
  bool used = poiseOptionsWasUsed(o, poiseOptionsRank(ctx), key + (*key == '-'));
  pthread_mutex_unlock(&o->lock);
  return used;
}

/* ---- messages -------------------------------------------------------------------------------- */

const char *poiseOptionsPrefix(PoiseContext ctx)
{
  return poisePrefix(ctx->options);
}

const char *poiseOptionsName(PoiseContext ctx, const char *prefix, const char *key)
{
  static _Thread_local char names[4][POISE_OPTION_LENGTH];
  static _Thread_local int latest;
  latest = (latest + 1) % 4;
  snprintf(names[latest], POISE_OPTION_LENGTH, "-%s%s%s", poiseOptionsPrefix(ctx), prefix ? prefix : "", key);
  return names[latest];
}

PoiseErr poiseOptionsRefuse(PoiseContext ctx, const char *prefix, const char *key, PoiseErr e)
{
  Options *o = ctx->options;
  if (e != POISE_ERR_OPTION && e != POISE_ERR_UNSUPPORTED) return e;
  pthread_mutex_lock(&o->lock);
  const OptionEntry *of = poiseOptionsFind(o, poiseOptionsRank(ctx), prefix ? prefix : "", key);
  if (of && of->value)
    (void)PoiseErrorSet(e, __func__, __FILE__, __LINE__, "-%s%s %.80s (%s): %s", poisePrefix(o),
                        poiseOptionsKey(o, of), of->value, of->where, PoiseErrorMessage());
  pthread_mutex_unlock(&o->lock);
  return e;
}
