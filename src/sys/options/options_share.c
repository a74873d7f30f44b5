/* SPDX-License-Identifier: BSD-3-Clause */
/* All ranks use the options of rank 0: packed into one text, broadcast, and unpacked. */
#include "options_list.h"
#include "sys/sys.h"

static void PackText(char **to, const char *text)
{
  size_t bytes = strlen(text) + 1;
  memcpy(*to, text, bytes);
  *to += bytes;
}

static const char *UnpackText(char **from)
{
  const char *text = *from;
  *from += strlen(text) + 1;
  return text;
}

/* Pack each entry as source, has-value, key, value, where. */
static PoiseErr Pack(Options *o, char **pack, int64_t *bytes)
{
  *bytes = 0;
  for (int i = 0; i < o->nentry; i++) {
    const OptionEntry *e = &o->entry[i];
    *bytes += 5 + (int64_t)(strlen(e->key) + (e->value ? strlen(e->value) : 0) + strlen(e->where));
  }
  TRY(poiseAlloc(o->owner, (size_t)*bytes, "options of rank 0", pack));
  char *to = *pack;
  for (int i = 0; i < o->nentry; i++) {
    const OptionEntry *e = &o->entry[i];
    *to++ = (char)e->source;
    *to++ = e->value != NULL;
    PackText(&to, e->key);
    PackText(&to, e->value ? e->value : "");
    PackText(&to, e->where);
  }
  return POISE_OK;
}

static PoiseErr Unpack(Options *o, char *pack, int64_t bytes)
{
  for (char *from = pack; from < pack + bytes;) {
    OptionEntry e = {.source = (OptionSource)*from++, .rank = EVERY_RANK};
    bool has = *from++;
    e.key = (char *)UnpackText(&from);
    e.value = (char *)UnpackText(&from);
    e.where = (char *)UnpackText(&from);
    if (!has) e.value = NULL;
    TRY(poiseOptionsInsert(o, &e));
  }
  return POISE_OK;
}

static PoiseErr Share(Options *o, PoiseErr collected, char **pack)
{
  PoiseContext ctx = o->owner;
  Comm *comm = ctx->comm;
  int64_t bytes = 0;
  if (!comm->rank && !collected) collected = Pack(o, pack, &bytes);
  TRY(PoiseAgree(ctx, collected));
  TRY(comm->ops->bcast(comm, &bytes, sizeof bytes, 0));
  TRY(PoiseAgree(ctx, comm->rank ? poiseAlloc(ctx, (size_t)bytes, "options of rank 0", pack) : POISE_OK));
  if (bytes) TRY(comm->ops->bcast(comm, *pack, (size_t)bytes, 0));
  return comm->rank ? Unpack(o, *pack, bytes) : POISE_OK;
}

PoiseErr poiseOptionsShare(Options *o, PoiseErr collected)
{
  char *pack = NULL;
  PoiseErr e = Share(o, collected, &pack);
  poiseFree(o->owner, &pack);
  return e;
}
