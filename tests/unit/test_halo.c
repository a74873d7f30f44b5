/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Halos of vectors with columns, each way that there is: the ghosts, and what owners add, compared with what
  each entry is by its global row and column. Numbers are exact in fp32.
*/
#include "harness.h"
#include "sample.h"
#include "vec/vec.h"

enum { MOST = 32, LIST = 64 };

static const int columns[] = {8, 3, 17, 1, 32, 7, 2, 8, 1}; /* with more room than needed, and less */

/* There is none on one rank, on the host, and on GPUs that cannot be linked so. */
static bool Linked(PoiseContext ctx, LinkWish wish)
{
  poiseLinkClose(ctx);
  if (PoiseSize(ctx) > 1 && SampleIsAway(ctx) && poiseLinkOpen(ctx, wish) == POISE_OK)
    poiseLinkSetPatience(ctx, 10);
  PoiseErrorClear();
  return ctx->link != NULL;
}

/* By the hosts, and by each kind of link. */
static void EachWay(PoiseContext ctx, void (*test)(PoiseContext))
{
  poiseLinkClose(ctx);
  test(ctx);
  if (Linked(ctx, LINK_PEER)) test(ctx);
  if (Linked(ctx, LINK_LIBRARY)) test(ctx);
}

/* Of more than two ranks the second has no rows. */
static PoiseInt Rows(PoiseContext ctx)
{
  return PoiseSize(ctx) > 2 && PoiseRank(ctx) == 1 ? 0 : 3 + PoiseRank(ctx);
}

/* Does rank r of these rows want row i of another one? Few: the last row before its own, so that no two ranks
   want the same. */
static bool Wants(const Layout *rows, bool few, int r, PoiseInt i)
{
  PoiseInt begin = rows->start[r], end = rows->start[r + 1];
  if (i >= begin && i < end) return false;
  return few ? i == begin - 1 && end > begin : (i + r) % 3 != 0;
}

typedef struct Rig {
  PoiseVec rows;
  Halo *halo;
  PoiseInt ghost[LIST];
  int64_t nghost;
  bool few, single;
  Buffer x, y, ghosts; /* of n, n and nghost entries, in either type, with the most columns */
} Rig;

/* Both sides now, as nothing is allocated while a link is used. */
static PoiseErr Allocate(Device *dev, size_t bytes, Buffer *b)
{
  void *p;
  TRY(poiseBufferCreate(dev, bytes, "numbers", b));
  TRY(poiseBufferWrite(b, HOST, &p));
  if (bytes) memset(p, 0, bytes);
  return poiseBufferUpdate(b, DEVICE, &p);
}

static bool Open(PoiseContext ctx, bool few, bool single, Rig *r)
{
  *r = (Rig){.few = few, .single = single};
  if (!CHECK_OK(PoiseVecCreate(ctx, Rows(ctx), POISE_DECIDE, &r->rows))) return false;
  const Layout *l = r->rows->layout;
  for (PoiseInt i = 0; i < l->N; i++)
    if (Wants(l, few, PoiseRank(ctx), i) && CHECK(r->nghost < LIST)) r->ghost[r->nghost++] = i;
  size_t n = MOST * sizeof(double);
  CHECK_OK(Allocate(ctx->device, (size_t)l->n * n, &r->x));
  CHECK_OK(Allocate(ctx->device, (size_t)l->n * n, &r->y));
  CHECK_OK(Allocate(ctx->device, (size_t)r->nghost * n, &r->ghosts));
  if (!CHECK_OK(poiseHaloCreate(l, r->nghost, r->ghost, &r->halo))) return false;
  return CHECK_OK(PoiseAgree(ctx, poiseHaloReady(r->halo)));
}

static void Close(Rig *r)
{
  poiseHaloDestroy(&r->halo);
  poiseBufferDestroy(&r->x);
  poiseBufferDestroy(&r->y);
  poiseBufferDestroy(&r->ghosts);
  CHECK_OK(PoiseVecDestroy(&r->rows));
}

static void Put(bool single, void *p, int64_t i, double v)
{
  if (single)
    ((float *)p)[i] = (float)v;
  else
    ((double *)p)[i] = v;
}

/* What entry (i, j) is on rank r, in one of the turns. */
static double Number(int r, PoiseInt i, int j, int turn)
{
  return (double)(1 + j + MOST * (i + 100 * (r + 10 * turn)));
}

/* The entries of n rows, or of this rank's. Returns them on the device. */
static const void *Fill(Rig *r, Buffer *to, int64_t n, const PoiseInt *row, int k, int turn)
{
  void *p;
  const void *there = NULL;
  int rank = PoiseRank(r->rows->ctx);
  if (!CHECK_OK(poiseBufferWrite(to, HOST, &p))) return NULL;
  for (int64_t i = 0; i < n; i++)
    for (int j = 0; j < k; j++)
      Put(r->single, p, i * k + j, Number(rank, row ? row[i] : r->rows->layout->begin + i, j, turn));
  CHECK_OK(poiseBufferRead(to, DEVICE, &there));
  return there;
}

static PoiseErr Begin(const Rig *r, Halo *h, PoiseErr mine, const void *x)
{
  return r->single ? poiseHaloBeginSingle(h, mine, x) : poiseHaloBegin(h, mine, x);
}

static PoiseErr End(const Rig *r, Halo *h, const void **ghost)
{
  const double *f64 = NULL;
  const float *f32 = NULL;
  PoiseErr e = r->single ? poiseHaloEndSingle(h, &f32) : poiseHaloEnd(h, &f64);
  *ghost = r->single ? (const void *)f32 : f64;
  return e;
}

static PoiseErr Fetch(const Rig *r, const void *from, int64_t n, double *to)
{
  float narrow[LIST * MOST];
  size_t width = r->single ? sizeof(float) : sizeof(double);
  TRY(poiseDeviceFetch(r->rows->ctx->device, from, (size_t)n * width, r->single ? (void *)narrow : to));
  for (int64_t i = 0; i < n && r->single; i++) to[i] = narrow[i];
  return POISE_OK;
}

/* Ghosts of k columns, in one turn after another. In the last one a rank has failed. */
static void Out(Rig *r, int k)
{
  PoiseContext ctx = r->rows->ctx;
  const Layout *l = r->rows->layout;
  double got[LIST * MOST];
  Halo *h = poiseHaloOf(r->halo, k);
  for (int turn = 0; turn < 3; turn++) {
    PoiseErr mine = turn == 2 && PoiseRank(ctx) == PoiseSize(ctx) - 1 ? POISE_ERR_USER : POISE_OK;
    const void *x = Fill(r, &r->x, l->n, NULL, k, turn), *ghost;
    CHECK_OK(Begin(r, h, mine, mine ? NULL : x));
    CHECK_INT(End(r, h, &ghost), mine);
    if (turn < 2 && CHECK_OK(Fetch(r, ghost, r->nghost * k, got)))
      for (int64_t g = 0; g < r->nghost; g++)
        for (int j = 0; j < k; j++)
          CHECK(got[g * k + j] == Number(poiseLayoutOwner(l, r->ghost[g]), r->ghost[g], j, turn));
    CHECK_OK(PoiseBarrier(ctx));
  }
}

/* What an owner has, which was 1, after the others have sent theirs. */
static double Total(const Rig *r, PoiseInt i, int j, int turn)
{
  const Layout *l = r->rows->layout;
  double sum = 1;
  for (int from = 0; from < PoiseSize(r->rows->ctx); from++)
    if (Wants(l, r->few, from, i)) sum += Number(from, i, j, turn);
  return sum;
}

static void Back(Rig *r, int k)
{
  PoiseContext ctx = r->rows->ctx;
  const Layout *l = r->rows->layout;
  double got[LIST * MOST];
  Halo *h = poiseHaloOf(r->halo, k);
  for (int turn = 0; turn < 3; turn++) {
    PoiseErr mine = turn == 2 && PoiseRank(ctx) == 0 ? POISE_ERR_USER : POISE_OK;
    const void *ghosts = Fill(r, &r->ghosts, r->nghost, r->ghost, k, turn);
    void *y;
    if (!CHECK_OK(poiseBufferWrite(&r->y, HOST, &y))) return;
    for (int64_t i = 0; i < l->n * k; i++) Put(r->single, y, i, 1);
    CHECK_OK(poiseBufferUpdate(&r->y, DEVICE, &y));
    CHECK_OK(r->single ? poiseHaloReverseBeginSingle(h, mine, ghosts)
                       : poiseHaloReverseBegin(h, mine, ghosts));
    CHECK_INT(r->single ? poiseHaloReverseEndSingle(h, y) : poiseHaloReverseEnd(h, y), mine);
    if (ctx->link && !poiseLinkIsLibrary(ctx->link)) CHECK_OK(poiseLinkSum(ctx->link, (LinkSumArgs){.n = 0}));
    if ((turn < 2 || mine) && CHECK_OK(Fetch(r, y, l->n * k, got)))
      for (int64_t i = 0; i < l->n; i++)
        for (int j = 0; j < k; j++) CHECK(got[i * k + j] == (mine ? 1 : Total(r, l->begin + i, j, turn)));
    CHECK_OK(PoiseBarrier(ctx));
  }
}

static void Exchanges(PoiseContext ctx)
{
  for (int kind = 0; kind < 4; kind++) {
    Rig r;
    if (!Open(ctx, kind % 2, kind / 2, &r)) return;
    if (Rows(ctx)) CHECK(r.halo->apart == (r.few || PoiseSize(ctx) < 3));
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
      if (!CHECK_OK(poiseHaloReadyColumns(r.halo, columns[c]))) break;
      poiseLinkUse(ctx, ctx->link != NULL);
      Out(&r, columns[c]);
      Back(&r, columns[c]);
      Out(&r, 1); /* the ordinary one is another */
      poiseLinkUse(ctx, false);
    }
    Close(&r);
  }
}

static void TestColumns(PoiseContext ctx)
{
  EachWay(ctx, Exchanges);
}

/* The last rank does not come: all columns of its entries are NaN, no others. */
static void TestLost(PoiseContext ctx)
{
  enum { K = 5 };
  Rig r;
  const void *ghost = NULL;
  double got[LIST * MOST];
  if (!Linked(ctx, LINK_PEER)) TEST_SKIP(poiseLinkWords(ctx));
  if (!Open(ctx, false, false, &r) || !CHECK_OK(poiseHaloReadyColumns(r.halo, K))) return;
  const void *x = Fill(&r, &r.x, r.rows->layout->n, NULL, K, 0);
  Halo *h = poiseHaloOf(r.halo, K);
  int last = PoiseSize(ctx) - 1;
  poiseLinkSetPatience(ctx, 0.2);
  poiseLinkUse(ctx, true);
  if (PoiseRank(ctx) < last) {
    CHECK_OK(Begin(&r, h, POISE_OK, x));
    CHECK_OK(End(&r, h, &ghost));
    (void)poiseDeviceSync(ctx->device);
    if (CHECK_OK(Fetch(&r, ghost, r.nghost * K, got)))
      for (int64_t g = 0; g < r.nghost * K; g++)
        CHECK(isnan(got[g]) == (poiseLayoutOwner(r.rows->layout, r.ghost[g / K]) == last));
  }
  poiseLinkUse(ctx, false);
  CHECK_OK(PoiseBarrier(ctx));
  poiseLinkSetPatience(ctx, 10);
  CHECK_OK(poiseLinkReset(ctx));
  Close(&r);
}

/* Buffers move only where there is no room, and are counted. */
static void Room(PoiseContext ctx)
{
  Rig r;
  PoiseBytes one = {0}, three = {0}, two = {0};
  if (!Open(ctx, false, false, &r)) return;
  poiseHaloBytes(r.halo, &one);
  CHECK_OK(poiseHaloReadyColumns(r.halo, 3));
  poiseHaloBytes(r.halo, &three);
  const Halo *wide = r.halo->wide;
  CHECK_OK(poiseHaloReadyColumns(r.halo, 2));
  CHECK_OK(poiseHaloReadyColumns(r.halo, 1));
  poiseHaloBytes(r.halo, &two);
  CHECK(wide == r.halo->wide && wide->room == 3);
  CHECK(two.host == three.host && two.device == three.device);
  if (r.nghost) CHECK(three.host >= one.host + 24 * r.nghost);
  CHECK_OK(poiseHaloReadyColumns(r.halo, 4));
  CHECK(r.halo->wide->room == 4);
  CHECK_OK(poiseHaloReadyColumns(NULL, 4));
  CHECK(!poiseHaloOf(NULL, 4) && poiseHaloOf(r.halo, 1) == r.halo);
  Close(&r);
}

static void TestRoom(PoiseContext ctx)
{
  EachWay(ctx, Room);
}

static PoiseErr MakeAndResize(PoiseContext ctx, void *arg)
{
  Halo *h = arg;
  PoiseErr e = poiseHaloReadyColumns(h, 5);
  if (!e) e = poiseHaloReadyColumns(h, 2);
  CHECK(!e == (h->wide != NULL));
  poiseHaloDestroy(&h->wide);
  (void)ctx;
  return e;
}

static void Failures(PoiseContext ctx)
{
  Rig r;
  if (Open(ctx, false, false, &r)) TestAllocationFailures(ctx, MakeAndResize, r.halo);
  Close(&r);
}

/* All ranks learn that one has no memory for it. */
static void TestMemory(PoiseContext ctx)
{
  EachWay(ctx, Failures);
}

static const Test tests[] = {
    {"columns", TestColumns, 0}, {"lost", TestLost, 0}, {"room", TestRoom, 0},
    {"memory", TestMemory, 0},   {NULL, NULL, 0},
};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "halo", tests);
}
