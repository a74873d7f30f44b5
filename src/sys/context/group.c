/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups of ranks that share a GPU: which ranks, from the plan to the end. See group.h. */
#include <unistd.h>

#include "group_parts.h"

/* ---- which ranks ----------------------------------------------------------------------------- */

static bool SameGpu(const LinkPlace *a, const LinkPlace *b)
{
  return a->machine == b->machine && a->gpu == b->gpu;
}

/* Whether some ranks share a GPU, and all that do have numbers in a row. If not, *why says it. */
static bool MayGather(int size, const LinkPlace *all, char *why, size_t room)
{
  bool some = false;
  for (int r = 1; r < size; r++) {
    some = some || SameGpu(&all[r], &all[r - 1]);
    for (int q = 0; q + 1 < r; q++) {
      if (!SameGpu(&all[q], &all[r]) || SameGpu(&all[r], &all[r - 1])) continue;
      snprintf(
          why, room,
          "ranks %d and %d share a GPU, but not rank %d between them (mpirun --map-by core has neighbours "
          "share)",
          q, r, r - 1);
      return false;
    }
  }
  if (!some) snprintf(why, room, "no ranks share a GPU");
  return some;
}

static PoiseErr Create(PoiseContext ctx, const LinkPlace *all)
{
  int size = PoiseSize(ctx), rank = PoiseRank(ctx);
  TRY(poiseAlloc(ctx, sizeof *ctx->group, "group of ranks", &ctx->group));
  RankGroup *g = ctx->group;
  g->ctx = ctx;
  g->processes = poiseLinkAreProcesses(ctx, all);
  TRY(poiseAllocArray(ctx, size + 1, sizeof *g->start, "groups of ranks", &g->start));
  TRY(poiseAllocArray(ctx, PARCELS, sizeof *g->parcel, "parcels", &g->parcel));
  for (int r = 0; r < size; r++) {
    if (!r || !SameGpu(&all[r], &all[r - 1])) g->start[g->groups++] = r;
    if (r == rank) g->number = g->groups - 1;
  }
  g->start[g->groups] = size;
  g->rank = rank - g->start[g->number];
  g->size = g->start[g->number + 1] - g->start[g->number];
  if (g->rank) return g->processes && !ctx->device->arena ? poiseArenaOpen(ctx->device) : POISE_OK;
  TRY(poiseAllocArray(ctx, g->size, sizeof *g->open, "areas of ranks", &g->open));
  return poiseAllocArray(ctx, g->size, sizeof *g->blocks, "blocks of ranks", &g->blocks);
}

static void Release(PoiseContext ctx)
{
  RankGroup *g = ctx->group;
  if (!g) return;
  poiseFree(ctx, &g->start);
  poiseFree(ctx, &g->parcel);
  poiseFree(ctx, &g->open);
  poiseFree(ctx, &g->blocks);
  poiseFree(ctx, &ctx->group);
}

int poiseGroupCount(const RankGroup *g)
{
  return g->groups;
}

int poiseGroupFirst(const RankGroup *g, int number)
{
  return g->start[number];
}

int poiseGroupNumber(const RankGroup *g)
{
  return g->number;
}

PoiseContext poiseGroupLeader(const RankGroup *g)
{
  return g->inner;
}

bool poiseGroupWorked(const RankGroup *g)
{
  return g->jobs > 0;
}

/* ---- life ------------------------------------------------------------------------------------ */

static size_t BoardBytes(const RankGroup *g)
{
  return sizeof(Board) + (size_t)g->size * sizeof(Card);
}

static PoiseErr MakeBoard(RankGroup *g, char name[POISE_SHARED_NAME])
{
  pthread_mutexattr_t lock;
  pthread_condattr_t changed;
  int shared = g->processes ? PTHREAD_PROCESS_SHARED : PTHREAD_PROCESS_PRIVATE;
  void *p = NULL;
  if (g->processes)
    TRY(poiseSharedFileCreate(BoardBytes(g), "the board of a group", name, &p));
  else
    p = calloc(1, BoardBytes(g));
  if (!p) FAIL(POISE_ERR_MEMORY, "no memory for the board of %d ranks that share a GPU", g->size);
  g->board = p;
  pthread_mutexattr_init(&lock);
  pthread_condattr_init(&changed);
  bool failed = pthread_mutexattr_setpshared(&lock, shared) ||
                pthread_condattr_setpshared(&changed, shared) || pthread_mutex_init(&g->board->lock, &lock) ||
                pthread_cond_init(&g->board->changed, &changed);
  pthread_mutexattr_destroy(&lock);
  pthread_condattr_destroy(&changed);
  if (failed) FAIL(POISE_ERR_MEMORY, "no lock for %d ranks that share a GPU", g->size);
  atomic_store(&g->board->users, 1);
  return POISE_OK;
}

typedef struct BoardPlace {
  Board *p;
  char name[POISE_SHARED_NAME];
} BoardPlace;

/* The board of this group is its leader's. */
static PoiseErr OpenBoard(RankGroup *g)
{
  PoiseContext ctx = g->ctx;
  BoardPlace mine, *all = NULL;
  memset(&mine, 0, sizeof mine);
  PoiseErr e = poiseAllocArray(ctx, PoiseSize(ctx), sizeof *all, "boards of groups", &all);
  if (!e && !g->rank) e = MakeBoard(g, mine.name);
  mine.p = g->board;
  e = poiseAgreeGather(ctx, e, &mine, sizeof mine, all);
  const BoardPlace *leader = e ? NULL : &all[g->start[g->number]];
  void *p = leader ? leader->p : NULL;
  if (!e && g->rank && g->processes) e = poiseSharedFileOpen(leader->name, BoardBytes(g), &p);
  if (!e && !g->processes && g->rank) atomic_fetch_add(&((Board *)p)->users, 1);
  if (!e) g->board = p;
  if (!e) g->board->card[g->rank].process = (int64_t)getpid();
  poiseFree(ctx, &all);
  return PoiseAgree(ctx, e);
}

static void CloseBoard(RankGroup *g)
{
  Board *b = g->board;
  g->board = NULL;
  if (!b) return;
  if (g->processes) {
    if (g->rank)
      poiseSharedFileClose(BoardBytes(g), b);
    else
      poiseSharedFileFree(BoardBytes(g), b);
  } else if (atomic_fetch_sub(&b->users, 1) == 1) {
    pthread_cond_destroy(&b->changed);
    pthread_mutex_destroy(&b->lock);
    free(b);
  }
}

static PoiseErr CreateInner(RankGroup *g)
{
  PoiseContext ctx = g->ctx;
  if (g->rank) return POISE_OK;
  TRY(poiseAlloc(ctx, sizeof *g->inner, "context of a leader", &g->inner));
  *g->inner = (struct PoiseContext_s){
      .options = ctx->options, .out = ctx->out, .hooks = ctx->hooks, .parent = ctx, .options_checked = true};
  return poiseObjectAdd(g->inner, KIND_CONTEXT);
}

/* The leaders' contexts. Collective over all ranks. */
static PoiseErr OpenInner(RankGroup *g)
{
  PoiseContext ctx = g->ctx;
  TRY(PoiseAgree(ctx, CreateInner(g)));
  Comm *part = NULL;
  PoiseErr e = poiseCommSplit(ctx->comm, g->rank ? -1 : 0, g->inner, &part);
  if (g->inner) g->inner->comm = part;
  if (!e && g->inner) e = poiseRankFill(g->inner);
  return PoiseAgree(ctx, e);
}

static void CloseInner(RankGroup *g)
{
  PoiseContext inner = g->inner;
  if (!inner) return;
  if (inner->comm) {
    poiseOptionsLeave(inner);
    poiseRankEmpty(inner);
    poiseCommLeave(&inner->comm);
  }
  poiseObjectRemove(inner);
  poiseFree(g->ctx, &g->inner);
}

typedef struct Probe { /* of every rank */
  Buffer there;
  int64_t here;
} Probe;

/* The job of a probe: does the leader see what its ranks have sent? */
static PoiseErr LookAtProbe(PoiseContext ctx, void *group)
{
  const RankGroup *g = group;
  for (int r = 0; r < g->size; r++) {
    const Parcel *here = poiseGroupParcel(g, r, 0), *there = poiseGroupParcel(g, r, 1);
    int64_t first, second;
    memcpy(&first, here->p, sizeof first);
    TRY(poiseDeviceFetch(ctx->device, there->p, sizeof second, &second));
    if (first != r || second != r)
      FAIL(POISE_ERR_UNSUPPORTED,
           "rank %d of a group does not reach memory of rank %d: it finds %lld and %lld", 0, r,
           (long long)first, (long long)second);
  }
  return POISE_OK;
}

static PoiseErr SendProbe(RankGroup *g, Probe *p)
{
  Device *dev = g->ctx->device;
  int64_t *there;
  p->here = g->rank;
  TRY(poiseBufferCreate(dev, sizeof *there, "probe of a group", &p->there));
  TRY(poiseBufferWrite(&p->there, DEVICE, &there));
  TRY(poiseDeviceCopy(dev, there, &p->here, sizeof p->here, COPY_TO_DEVICE));
  TRY(poiseDeviceSync(dev));
  TRY(poiseGroupSend(g, (Parcel){.p = &p->here, .bytes = sizeof p->here, .side = HOST}));
  return poiseGroupSend(g, (Parcel){.p = there, .bytes = sizeof *there, .side = DEVICE});
}

static PoiseErr Open(RankGroup *g)
{
  Probe probe = {.here = 0};
  TRY(OpenBoard(g));
  TRY(OpenInner(g));
  PoiseErr e = poiseGroupDoWith(g, SendProbe(g, &probe), LookAtProbe, NULL, g);
  poiseBufferDestroy(&probe.there);
  return e;
}

void poiseGroupClose(PoiseContext ctx, bool together)
{
  RankGroup *g = ctx->group;
  if (!g) return;
  poiseGroupCloseAreas(g);
  if (together && PoiseAgree(ctx, POISE_OK)) PoiseErrorClear(); /* leaders have closed what others free */
  poiseGroupFreeAreas(g);
  CloseInner(g);
  CloseBoard(g);
  Release(ctx);
}

/* ---- whether ------------------------------------------------------------------------------ */

/* Threads that share a GPU run side by side, and were asked for; processes take turns, and come by
   themselves. */
static bool Wanted(PoiseContext ctx, GatherWish wish, bool processes, char *why, size_t room)
{
  bool real = !ctx->device->ops->is_host && ctx->device->ops->automatic;
  bool on = wish == GATHER_YES || (wish == GATHER_AUTO && processes && real);
  if (!on && wish == GATHER_NO) snprintf(why, room, "as asked");
  if (!on && wish == GATHER_AUTO) snprintf(why, room, "for processes on GPUs only, unless asked for");
  return on;
}

PoiseErr poiseGroupPlan(PoiseContext ctx, GatherWish wish)
{
  LinkPlace *all = NULL;
  char *why = ctx->gathering;
  size_t room = sizeof ctx->gathering;
  why[0] = 0;
  if (PoiseSize(ctx) == 1 || !ctx->device->ops->link || (ctx->parent && ctx->parent->group)) return POISE_OK;
  TRY(poiseLinkPlaces(ctx, &all));
  bool may = Wanted(ctx, wish, poiseLinkAreProcesses(ctx, all), why, room) &&
             MayGather(PoiseSize(ctx), all, why, room);
  PoiseErr e = may ? PoiseAgree(ctx, Create(ctx, all)) : POISE_OK;
  poiseFree(ctx, &all);
  if (!e && may) e = Open(ctx->group);
  if (!e && may) snprintf(why, room, "%d ranks on %d GPUs", PoiseSize(ctx), ctx->group->groups);
  if (!e) return POISE_OK;
  int64_t fatal = wish == GATHER_YES || e == POISE_ERR_MEMORY;
  ErrorState error;
  poiseErrorSave(&error);
  snprintf(why, room, "%.*s", (int)room - 1, error.message);
  poiseGroupClose(ctx, false);
  TRY(poiseCommMaxInt(ctx->comm, &fatal, 1));
  if (!fatal) PoiseErrorClear();
  if (fatal) poiseErrorRestore(&error);
  return fatal ? e : POISE_OK;
}
