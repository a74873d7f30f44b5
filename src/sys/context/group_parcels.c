/* SPDX-License-Identifier: BSD-3-Clause */
/* Parcels of a group: where its leader finds them. See group_parts.h. */
#include "group_parts.h"

enum { UNIT = 256 }; /* bytes between parcels of an area */

PoiseErr poiseGroupSend(RankGroup *g, Parcel parcel)
{
  if (g->n == PARCELS) FAIL(POISE_ERR_INTERNAL, "more than %d parcels for the leader of a group", PARCELS);
  g->parcel[g->n++] = (CardParcel){.parcel = parcel};
  return POISE_OK;
}

void poiseGroupClear(RankGroup *g)
{
  g->n = 0;
}

const Parcel *poiseGroupParcel(const RankGroup *g, int member, int k)
{
  return &g->board->card[member].parcel[k].parcel;
}

static const LinkProcesses *Windows(const RankGroup *g)
{
  return g->ctx->device->ops->link->processes;
}

static void CloseArea(RankGroup *g, Side side, Area *a)
{
  const DeviceOps *ops = g->ctx->device->ops;
  if (!a->p) return;
  if (side == DEVICE) {
    Windows(g)->close(g->inner->device, a->room, a->p);
  } else {
    if (ops->unpin) ops->unpin(g->inner->device, a->p);
    poiseSharedFileClose(a->room, a->p);
  }
  *a = (Area){.made = a->made};
}

static void FreeArea(RankGroup *g, Side side)
{
  Area *a = &g->own[side];
  if (!a->p) return;
  if (side == DEVICE)
    Windows(g)->free(g->ctx->device, a->room, a->p);
  else
    poiseSharedFileFree(a->room, a->p);
  *a = (Area){.made = a->made};
}

/* The areas that this rank's parcels need. */
static void Place(RankGroup *g, size_t need[ON_SIDES])
{
  need[HOST] = need[DEVICE] = 0;
  for (int k = 0; k < g->n; k++) {
    CardParcel *c = &g->parcel[k];
    if (c->parcel.side == DEVICE) c->place = poiseArenaFind(g->ctx->device, c->parcel.p);
    if (c->place.block) continue;
    c->at = need[c->parcel.side];
    need[c->parcel.side] += (c->parcel.bytes + UNIT - 1) / UNIT * UNIT;
  }
}

static PoiseErr Enlarge(RankGroup *g, Side side, size_t need)
{
  Area *a = &g->own[side];
  Card *card = &g->board->card[g->rank];
  const size_t unit = side == DEVICE ? Windows(g)->unit : UNIT;
  size_t room = (need + unit - 1) / unit * unit;
  FreeArea(g, side); /* the leader has closed it, or closes it before it opens the next */
  if (side == DEVICE)
    TRY(Windows(g)->alloc(g->ctx->device, room, "parcels for the leader of a group", &card->handle, &a->p));
  else
    TRY(poiseSharedFileCreate(room, "parcels for the leader of a group", card->name, &a->p));
  a->room = room;
  a->made++;
  return POISE_OK;
}

/* On the leader: open what is new. */
static PoiseErr OpenAreas(RankGroup *g)
{
  Device *dev = g->inner->device;
  for (int r = 1; r < g->size; r++) {
    const Card *card = &g->board->card[r];
    for (int s = 0; s < ON_SIDES; s++) {
      Area *a = &g->open[r][s];
      if (a->made == card->made[s]) continue;
      CloseArea(g, s, a);
      a->made = card->made[s];
      if (s == DEVICE)
        TRY(Windows(g)->open(dev, &card->handle, card->room[s], &a->p));
      else
        TRY(poiseSharedFileOpen(card->name, card->room[s], &a->p));
      a->room = card->room[s];
      if (s == HOST && dev->ops->pin) dev->ops->pin(dev, a->p, a->room);
    }
  }
  return POISE_OK;
}

/* Does any rank need larger areas? The leader closes those that will go. All decide alike, by the cards. */
static bool Grow(RankGroup *g)
{
  bool grows = false;
  for (int r = 1; r < g->size; r++) {
    const Card *card = &g->board->card[r];
    size_t need[ON_SIDES] = {0};
    for (int k = 0; k < card->n; k++) {
      const CardParcel *c = &card->parcel[k];
      size_t end = c->place.block ? 0 : c->at + c->parcel.bytes;
      if (end > need[c->parcel.side]) need[c->parcel.side] = end;
    }
    for (int s = 0; s < ON_SIDES; s++) {
      if (need[s] <= card->room[s]) continue;
      grows = true;
      if (!g->rank) CloseArea(g, s, &g->open[r][s]);
    }
  }
  return grows;
}

/* Copy a parcel into its area, or back. */
static PoiseErr CopyParcel(RankGroup *g, const CardParcel *c, bool back)
{
  Device *dev = g->ctx->device;
  char *there = (char *)g->own[c->parcel.side].p + c->at;
  void *to = back ? c->parcel.p : there, *from = back ? there : c->parcel.p;
  if (!c->parcel.bytes || c->parcel.returns != back || c->place.block) return POISE_OK;
  if (c->parcel.side == DEVICE) return poiseDeviceCopy(dev, to, from, c->parcel.bytes, COPY_ON_DEVICE);
  memcpy(to, from, c->parcel.bytes);
  return POISE_OK;
}

PoiseErr poiseGroupCopyParcels(RankGroup *g, bool back)
{
  bool there = false;
  if (!g->processes || !g->rank) return POISE_OK; /* used in place */
  for (int k = 0; k < g->n; k++) {
    TRY(CopyParcel(g, &g->parcel[k], back));
    there = there || (g->parcel[k].parcel.side == DEVICE && !g->parcel[k].place.block);
  }
  return there ? poiseDeviceSync(g->ctx->device) : POISE_OK;
}

/* Write the card, and enlarge areas as that says. */
PoiseErr poiseGroupShowParcels(RankGroup *g, PoiseErr mine)
{
  Card *card = &g->board->card[g->rank];
  bool apart = g->processes && g->rank;
  size_t need[ON_SIDES];
  card->code = POISE_OK;
  poiseGroupShow(g, mine);
  Place(g, need);
  memcpy(card->parcel, g->parcel, (size_t)g->n * sizeof *g->parcel);
  card->n = card->code ? 0 : g->n;
  TRY(poiseGroupMeet(g));
  if (!g->processes || !Grow(g)) return POISE_OK;
  TRY(poiseGroupMeet(g)); /* the leader has closed what goes */
  for (int s = 0; s < ON_SIDES; s++) {
    if (apart && need[s] > card->room[s] && card->n) poiseGroupShow(g, Enlarge(g, s, need[s]));
    card->room[s] = g->own[s].room, card->made[s] = g->own[s].made;
  }
  TRY(poiseGroupMeet(g));
  if (!g->rank) poiseGroupShow(g, OpenAreas(g));
  return POISE_OK;
}

/* On the leader: a block of that rank's arena. */
static PoiseErr ReachBlock(RankGroup *g, int r, const ArenaPlace *place, char **p)
{
  OpenBlock *b = g->blocks[r];
  while (b && b->number != place->block) b = b->next;
  if (!b) {
    TRY(poiseAlloc(g->ctx, sizeof *b, "block of another rank", &b));
    *b = (OpenBlock){.number = place->block, .bytes = place->bytes};
    PoiseErr e = Windows(g)->open(g->inner->device, &place->handle, place->bytes, &b->p);
    if (e) poiseFree(g->ctx, &b);
    TRY(e);
    b->next = g->blocks[r];
    g->blocks[r] = b;
  }
  *p = b->p;
  return POISE_OK;
}

static PoiseErr FindParcel(RankGroup *g, int r, CardParcel *c)
{
  char *base = g->open[r][c->parcel.side].p;
  c->parcel.p = NULL;
  if (!c->parcel.bytes) return POISE_OK;
  if (c->place.block) TRY(ReachBlock(g, r, &c->place, &base));
  c->parcel.p = base + (c->place.block ? c->place.at : c->at);
  return POISE_OK;
}

/* On the leader: where parcels of other processes are. */
PoiseErr poiseGroupFindParcels(RankGroup *g)
{
  for (int r = 1; g->processes && r < g->size; r++) {
    Card *card = &g->board->card[r];
    for (int k = 0; k < card->n; k++) TRY(FindParcel(g, r, &card->parcel[k]));
  }
  return POISE_OK;
}

static void CloseBlocks(RankGroup *g)
{
  for (int r = 0; g->blocks && r < g->size; r++)
    while (g->blocks[r]) {
      OpenBlock *b = g->blocks[r];
      g->blocks[r] = b->next;
      Windows(g)->close(g->inner->device, b->bytes, b->p);
      poiseFree(g->ctx, &b);
    }
}

void poiseGroupCloseAreas(RankGroup *g)
{
  if (!g->inner) return;
  for (int r = 1; g->processes && r < g->size; r++)
    for (int s = 0; s < ON_SIDES; s++) CloseArea(g, s, &g->open[r][s]);
  CloseBlocks(g);
}

void poiseGroupFreeAreas(RankGroup *g)
{
  for (int s = 0; s < ON_SIDES; s++) FreeArea(g, s);
}
