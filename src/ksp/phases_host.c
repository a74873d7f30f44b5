/* SPDX-License-Identifier: BSD-3-Clause */
/* The host driver of phases: sums, prologue, elements in blocks with one partial of each dot per block. */
#include "pc/blocks_host.h"
#include "vec/columns_host.h"
#include "vec/link_host.h"
#include "phases.h"

typedef struct WideBlock { /* a phase of wide vectors, behind its prologues */
  const PhaseArgs *a;
  HostTile c[POISE_MAX_COEFS];         /* coefficients of the numbers of a tile */
  int go[POISE_MAX_COLUMNS], all, any; /* are its rows done in this column? in all, in any */
} WideBlock;

typedef struct Phase {
  const char *name;
  int (*begin)(const double *in, double *out, const PhaseArgs *a, double *c);
  void (*block)(const double *c, const PhaseArgs *a, int64_t begin, int64_t end,
                int64_t at); /* NULL: no rows */
  void (*wide)(const WideBlock *w, int64_t at);
  int kind;
} Phase;

enum { SUM, MAX };
enum { PLAIN, DECIDES, EPILOGUE, EXCHANGES = 4 };

typedef Dots (*Element)(const double *c, const PhaseArgs *a, int64_t i);

POISE_INLINE double Join(double s, double t, int combine)
{
  return combine == MAX ? poiseLarger(s, t) : s + t;
}

/* Run the elements [begin, end), which are block `at`. `element`, ndot and combine are constants where
   this is inlined. */
POISE_INLINE void RunBlock(Element element, int ndot, int combine, const double *coefs, const PhaseArgs *args,
                           int64_t begin, int64_t end, int64_t at)
{
  const PhaseArgs local = *args, *a = &local; /* a local copy, so that stores to vectors cannot change it */
  double c[POISE_MAX_COEFS];
  memcpy(c, coefs, sizeof c);
  double s[POISE_PHASE_DOTS][HOST_LANES] = {{0}};
  int64_t i = begin;
  for (; i + HOST_LANES <= end; i += HOST_LANES) {
    HOST_SIMD
    for (int l = 0; l < HOST_LANES; l++) {
      Dots t = element(c, a, i + l);
      for (int k = 0; k < ndot; k++) s[k][l] = Join(s[k][l], t.d[k], combine);
    }
  }
  for (int l = 0; i + l < end; l++) {
    Dots t = element(c, a, i + l);
    for (int k = 0; k < ndot; k++) s[k][l] = Join(s[k][l], t.d[k], combine);
  }
  for (int k = 0; k < ndot; k++) {
    double total = poiseHostAddLanes(s[k]);
    if (combine == MAX) {
      total = 0;
      for (int l = 0; l < HOST_LANES; l++) total = poiseLarger(total, s[k][l]);
    }
    if (a->partial[k]) a->partial[k][at] = total;
  }
}

enum { NUMBERS = 2 * HOST_LANES * POISE_MAX_COLUMNS }; /* at most, with one copy of the arguments */

typedef struct Piece { /* of a row block: the arguments, with operands from one row on */
  PhaseArgs a;
  double alike[POISE_MAX_VECS][NUMBERS + HOST_LANES]; /* entries of ordinary vectors, once a column */
  double written[POISE_MAX_VECS][NUMBERS];            /* where columns that have ended must stay */
} Piece;

/* Each entry k times, or up to HOST_LANES times more, which the next one overwrites. */
POISE_INLINE void Repeat(const double *entries, int64_t rows, int64_t k, double *to)
{
  for (int64_t i = 0; i < rows; i++)
    for (int64_t c = 0; c < k; c += HOST_LANES) {
      HOST_SIMD
      for (int l = 0; l < HOST_LANES; l++) to[i * k + c + l] = entries[i];
    }
}

/* From row `first` on. */
POISE_INLINE void TakePiece(Piece *r, const WideBlock *w, int64_t first, int64_t rows)
{
  const PhaseArgs *a = w->a;
  int64_t k = a->systems.n;
  r->a = *a;
  for (int v = 0; v < POISE_MAX_VECS; v++) {
    bool alike = a->systems.alike >> v & 1;
    if (a->in[v]) r->a.in[v] = alike ? r->alike[v] : a->in[v] + first * k;
    if (a->out[v]) r->a.out[v] = a->out[v] + first * k;
    if (a->in[v] && alike) Repeat(a->in[v] + first, rows, k, r->alike[v]);
    if (!a->out[v] || w->all) continue;
    memcpy(r->written[v], r->a.out[v], (size_t)(rows * k) * sizeof(double));
    r->a.out[v] = r->written[v];
  }
}

/* What was written instead of rows of some columns. */
static void KeepPiece(const Piece *r, const WideBlock *w, int64_t first, int64_t rows)
{
  int k = w->a->systems.n;
  for (int v = 0; v < POISE_MAX_VECS; v++)
    for (int c = 0; w->a->out[v] && c < k; c++)
      for (int64_t i = 0; w->go[c] && i < rows; i++)
        w->a->out[v][(first + i) * k + c] = r->written[v][i * k + c];
}

/* Number e, which is number t of its tile. */
POISE_INLINE void Number(Element element, int ndot, int combine, const WideBlock *w, const PhaseArgs *a,
                         int64_t e, int64_t t, HostTile *s)
{
  double c[POISE_MAX_COEFS];
  for (int j = 0; j < POISE_MAX_COEFS; j++) c[j] = w->c[j][t];
  Dots of = element(c, a, e);
  for (int d = 0; d < ndot; d++) s[d][t] = Join(s[d][t], of.d[d], combine);
}

/* The rows of block `at`. A column's dots have the bits that RunBlock gives it alone. */
POISE_INLINE void RunWideBlock(Element element, int ndot, int combine, const WideBlock *w, int64_t at)
{
  const PhaseArgs *a = w->a;
  int k = a->systems.n;
  int64_t tile = HOST_LANES * k, most = NUMBERS / tile * HOST_LANES, begin = at * POISE_BLOCK,
          end = begin + POISE_BLOCK < a->n ? begin + POISE_BLOCK : a->n;
  HostTile s[POISE_PHASE_DOTS];
  Piece r;
  for (int d = 0; d < ndot; d++) memset(s[d], 0, (size_t)tile * sizeof(double));
  for (int64_t first = begin; first < end; first += most) {
    int64_t rows = end - first < most ? end - first : most, n = rows * k, e = 0;
    TakePiece(&r, w, first, rows);
    const PhaseArgs local = r.a; /* so that stores to vectors cannot change it */
    for (; e + tile <= n; e += tile)
      for (int64_t t = 0; t < tile; t += HOST_LANES) {
        HOST_SIMD
        for (int l = 0; l < HOST_LANES; l++) Number(element, ndot, combine, w, &local, e + t + l, t + l, s);
      }
    for (int64_t t = 0; e + t < n; t++) Number(element, ndot, combine, w, &local, e + t, t, s);
    if (!w->all) KeepPiece(&r, w, first, rows);
  }
  for (int d = 0; d < ndot; d++) {
    HostColumns total;
    poiseHostAddTile(s[d], k, total);
    for (int c = 0; c < k; c++) {
      for (int l = 0; l < HOST_LANES && combine == MAX; l++)
        total[c] = poiseLarger(l ? total[c] : 0, s[d][l * k + c]);
      if (a->partial[d] && w->go[c]) a->partial[d][at + c * a->systems.partials] = total[c];
    }
  }
}

#define PHASE(name, ndot, combine, kind)                                                                \
  static void name##_wide(const WideBlock *w, int64_t at)                                               \
  {                                                                                                     \
    RunWideBlock(name##_element, ndot, combine, w, at);                                                 \
  }                                                                                                     \
  static void name##_block(const double *c, const PhaseArgs *a, int64_t begin, int64_t end, int64_t at) \
  {                                                                                                     \
    RunBlock(name##_element, ndot, combine, c, a, begin, end, at);                                      \
  }
#define SCALARS(name)
#include "sys/device/phases.def"
#undef PHASE
#undef SCALARS

static const Phase phases[] = {
#define PHASE(name, ndot, combine, kind) {#name, name##_begin, name##_block, name##_wide, kind},
#define SCALARS(name)                    {#name, name##_begin, NULL, NULL, PLAIN},
#include "sys/device/phases.def"
#undef PHASE
#undef SCALARS
};

/* Is operand k of those from bit `at` on in fp32, where the phase works in it? */
static bool IsSingle(const Phase *p, int at, int k)
{
  return p->kind >> at >> k & 1;
}

/* Check that a prologue is repeatable, if the device checks (mock). On a GPU every thread block runs the
   prologue, perhaps after another block has published its results. Blocks with rows run it without the
   array. So a prologue must give the same coefficients once its results are in place, and without the
   array. */
static PoiseErr CheckRepeatable(const PhaseArgs *a, const double *c, int go)
{
  double in[POISE_SLOTS], out[POISE_SLOTS], again[POISE_MAX_COEFS] = {0};
  memcpy(in, a->slots, sizeof in);
  memcpy(out, a->slots, sizeof out);
  bool same = phases[a->id].begin(in, out, a, again) == go && !memcmp(c, again, sizeof again);
  if (!same || memcmp(out, a->slots, sizeof out))
    FAIL(POISE_ERR_INTERNAL, "the prologue of phase %s reads a slot that it writes", phases[a->id].name);
  if (!a->n || !go) return POISE_OK;
  PhaseArgs rows = *a;
  double history, alone[POISE_MAX_COEFS] = {0};
  rows.array = NULL, rows.conv.history = rows.conv.unclaimed = &history, rows.conv.mask = 0;
  if (!phases[a->id].begin(in, out, &rows, alone) || memcmp(c, alone, sizeof alone))
    FAIL(POISE_ERR_INTERNAL, "the prologue of phase %s takes coefficients from its array",
         phases[a->id].name);
  return POISE_OK;
}

/* ---- vectors in fp32 ------------------------------------------------------------------------- */

static void Widen(const void *from, int64_t begin, int64_t n, double *to)
{
  const float *x = (const float *)from + begin;
  for (int64_t i = 0; i < n; i++) to[i] = x[i];
}

static void Narrow(const double *from, int64_t begin, int64_t n, void *to)
{
  float *y = (float *)to + begin;
  for (int64_t i = 0; i < n; i++) y[i] = (float)from[i];
}

/* Rows [begin, end), block `at`, whose vectors in fp32 are copied to fp64 and back in cache. What an element
   does not assign is copied too, so that it stays. */
static void RunSingle(const PhaseArgs *a, const double *c, int64_t begin, int64_t end, int64_t at)
{
  double read[POISE_MAX_VECS][POISE_BLOCK], written[POISE_MAX_VECS][POISE_BLOCK];
  const Phase *p = &phases[a->id];
  int64_t n = end - begin;
  PhaseArgs wide = *a;
  for (int k = 0; k < POISE_MAX_VECS; k++) {
    bool reads = a->in[k] != NULL, writes = a->out[k] != NULL;
    if (reads) wide.in[k] = IsSingle(p, PHASE_READ_AT, k) ? read[k] : a->in[k] + begin;
    if (writes) wide.out[k] = IsSingle(p, PHASE_WRITTEN_AT, k) ? written[k] : a->out[k] + begin;
    if (reads && wide.in[k] == read[k]) Widen(a->in[k], begin, n, read[k]);
    if (writes && wide.out[k] == written[k]) Widen(a->out[k], begin, n, written[k]);
  }
  p->block(c, &wide, 0, n, at);
  for (int k = 0; k < POISE_MAX_VECS; k++)
    if (a->out[k] && wide.out[k] == written[k]) Narrow(written[k], begin, n, a->out[k]);
}

/* The same of an end: D, r and z are in fp32. */
static void EndSingle(const BlockEpilogue *e, int64_t n, int64_t begin, int64_t end, int64_t at)
{
  const float *d = (const float *)e->d, *r = (const float *)e->r;
  float *z = (float *)e->z;
  for (int64_t i = begin; i < end; i++) {
    int64_t first = i - i % e->b, side = first + e->b < n ? e->b : n - first;
    double s = 0;
    for (int64_t j = 0; j < side; j++) s += (double)d[first * e->b + j * side + i - first] * r[first + j];
    z[i] = (float)s;
  }
  if (e->rz) e->rz[at] = poiseHostDotBoth_f32(r, z, begin, end);
  if (e->zz) e->zz[at] = poiseHostDotBoth_f32(z, z, begin, end);
}

/* ---- the driver ------------------------------------------------------------------------------ */

/* The end of block `at` of rows. */
static void RunEnd(const BlockEpilogue *e, int64_t n, int64_t begin, int64_t end, int64_t at)
{
  poiseHostBlocks(e->d, e->b, n, e->r, e->z, begin, end);
  if (e->rz) e->rz[at] = poiseHostDot(e->r, e->z, begin, end);
  if (e->zz) e->zz[at] = poiseHostDot(e->z, e->z, begin, end);
}

/* v[k] = sum k: of this rank, or over the ranks. */
static PoiseErr TakeSums(Device *dev, const PhaseArgs *a, double *v)
{
  LinkSumArgs all = {.n = a->nsum, .listed = 1, .ranks = a->ranks};
  memcpy(all.sum, a->sum, sizeof all.sum);
  if (a->ranks.size) return poiseHostSumRanks(dev, &all, v);
  for (int k = 0; k < a->nsum; k++) {
    v[k] = 0;
    for (int64_t b = 0; b < a->sum[k].count; b++) v[k] += a->sum[k].partial[b];
  }
  return POISE_OK;
}

/* Is the phase skipped? A plain one also hands DONE on. */
static bool Skips(const PhaseArgs *a, int decides)
{
  if (!a->slots) return a->skip && *a->skip != 0;
  bool skip = a->slots[decides ? SLOT_SEEN : SLOT_DONE] != 0;
  if (!decides) a->slots[SLOT_SEEN] = a->slots[SLOT_DONE];
  return skip;
}

/* The prologue, with these sums. *go: are there rows to do? */
static PoiseErr Begin(const Device *dev, const PhaseArgs *a, const double *sum, double *c, int *go)
{
  const Phase *p = &phases[a->id];
  double in[POISE_SLOTS];
  for (int k = 0; k < a->nsum; k++) *a->sum[k].dst = sum[k];
  if (a->slots) memcpy(in, a->slots, sizeof in);
  *go = p->begin(a->slots ? in : NULL, a->slots, a, c);
  return a->slots && dev->ops->poison ? CheckRepeatable(a, c, *go) : POISE_OK;
}

static PoiseErr CheckArgs(const PhaseArgs *a)
{
  const Phase *p = &phases[a->id];
  bool exchanges = a->ranks.size || a->send.push.x;
  if (a->end.b && !(p->kind & EPILOGUE))
    FAIL(POISE_ERR_INTERNAL, "phase %s does not end with blocks", p->name);
  if (a->n && !p->block) FAIL(POISE_ERR_INTERNAL, "phase %s has no rows", p->name);
  if (a->single && a->n && (!(p->kind & PHASE_F32) || exchanges))
    FAIL(POISE_ERR_INTERNAL, "phase %s has no form in fp32", p->name);
  if (exchanges && (!(p->kind & EXCHANGES) || !a->slots || a->end.b || (a->nsum && !a->ranks.size)))
    FAIL(POISE_ERR_INTERNAL, "phase %s does not exchange with other ranks", p->name);
  return POISE_OK;
}

/* The rows of block `at`. */
static void RunRows(const PhaseArgs *a, const double *c, int64_t at)
{
  int64_t rows = poisePhaseRows(a), begin = at * rows, end = begin + rows < a->n ? begin + rows : a->n;
  if (a->single)
    RunSingle(a, c, begin, end, at);
  else
    phases[a->id].block(c, a, begin, end, at);
  if (a->end.b) (a->single ? EndSingle : RunEnd)(&a->end, a->n, begin, end, at);
}

static PoiseErr Rows(Device *dev, const PhaseArgs *a)
{
  const Phase *p = &phases[a->id];
  double c[POISE_MAX_COEFS] = {0}, sum[POISE_MAX_SUMS];
  int64_t nblock = poisePhaseBlocks(a);
  int go = 0;
  bool skip = Skips(a, p->kind & DECIDES);
  if (skip && !a->ranks.size) return POISE_OK;
  PoiseErr e = TakeSums(dev, a, sum);
  if (skip) return e;
  PoiseErr begun = Begin(dev, a, sum, c, &go);
  if (!e) e = begun;
  if (!go) return e;
  HOST_BLOCKS(dev, nblock, 1, b, RunRows(a, c, b));
  return e;
}

PoiseErr poiseHost_phase(Device *dev, const void *args)
{
  const PhaseArgs *a = args;
  TRY(CheckArgs(a));
  PoiseErr e = Rows(dev, a), exchanged = poiseHostExchange(dev, &a->send);
  return e ? e : exchanged;
}

/* ---- wide vectors ---------------------------------------------------------------------------- */

/* The arguments of column c, but for its vectors. */
static PhaseArgs OfColumn(const PhaseArgs *a, int c)
{
  PhaseArgs one = *a;
  poisePhaseOfColumn(&one, c);
  return one;
}

static PoiseErr BeginColumn(Device *dev, const PhaseArgs *a, int c, WideBlock *w)
{
  PhaseArgs one = OfColumn(a, c);
  double sum[POISE_MAX_SUMS], of[POISE_MAX_COEFS] = {0};
  PoiseErr e = POISE_OK;
  w->go[c] = 0;
  if (!Skips(&one, phases[a->id].kind & DECIDES)) {
    e = TakeSums(dev, &one, sum);
    if (!e) e = Begin(dev, &one, sum, of, &w->go[c]);
  }
  for (int j = 0; j < POISE_MAX_COEFS; j++)
    for (int l = 0; l < HOST_LANES; l++) w->c[j][l * a->systems.n + c] = of[j];
  return e;
}

PoiseErr poiseHost_phase_columns(Device *dev, const void *args)
{
  const PhaseArgs *a = args;
  const Phase *p = &phases[a->id];
  WideBlock w = {.a = a, .all = 1};
  int64_t nblock = POISE_NBLOCKS(a->n);
  TRY(CheckArgs(a));
  if (a->end.b || a->ranks.size || a->send.push.x || a->out_f32)
    FAIL(POISE_ERR_INTERNAL, "phase %s of wide vectors is plain", p->name);
  for (int c = 0; c < a->systems.n; c++) {
    TRY(BeginColumn(dev, a, c, &w));
    w.all &= w.go[c], w.any |= w.go[c];
  }
  if (a->slots) poiseJoinSystems(a);
  if (!w.any || !a->n) return POISE_OK;
  HOST_BLOCKS(dev, nblock, 1, b, p->wide(&w, b));
  return POISE_OK;
}
