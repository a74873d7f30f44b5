/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The triangles of the square block that a rank owns, as places inside P's CSR; the levels, whose rows are
  independent; and sweeps over them. Entries of a row ascend by global column, so those of the block are
  contiguous.
*/
#include "mat/order/arrange.h"
#include "mat/object/bytes.h"
#include "triangles.h"
#include "pc_device.h"
#include "triangle_entries_kernels.h"
#include "triangles_host.h"
#include "vec/columns_host.h"

void poiseTriangularBytes(const Triangular *t, PoiseBytes *sum)
{
  const Buffer *rows[] = {&t->begin, &t->diag, &t->end, &t->col, &t->work};
  for (int k = 0; k < 5; k++) poiseBufferAdd(rows[k], sum);
  for (int k = 0; k < 2; k++) {
    poiseBufferAdd(&t->start[k], sum);
    poiseBufferAdd(&t->first[k], sum);
    poiseBufferAdd(&t->last[k], sum);
  }
}

enum {
  LONGEST = 128
}; /* rows of a group: few enough that the lines of a plane grid give several groups, for levels along
      diagonals */

/* The pattern decides how many groups there are, and how many levels; there are at most as many levels as
   groups. Only if each row is a group is the number known. */
PoiseErr poiseTriangularPredict(PoisePC pc, bool own, int directions, const MatPlan *plan, PoisePrediction *p)
{
  const Device *dev = pc->ctx->device;
  bool single = poiseSingleRows(dev);
  int64_t m = plan->m, wide = plan->wide ? 8 : 4, word = sizeof(int32_t);
  int64_t fewest = single ? m : (m + LONGEST - 1) / LONGEST, levels = m ? 1 : 0;
  int64_t rows = m * wide + (own ? plan->nz * word : 0) + (own || plan->nghost ? (m + 1) * wide : 0) +
                 (plan->nghost ? m * wide : 0);
  TRY(poisePCCheckStored(pc));
  TRY(poiseMatCheckSquare(pc->P));
  poisePredict(dev, rows, directions ? ON_BOTH : ON_DEVICE, p);
  if (!directions) poisePredictRead(dev, 0, rows, p); /* a matrix that is on the host leaves its pattern */
  poisePredictBetween(dev, directions * word * (directions ? levels + 1 + 2 * fewest : 0),
                      directions * word * (m + 1 + 2 * m), ON_BOTH, p);
  if (single && directions) poisePredict(dev, 8 * (m * poisePlanSide(plan) + 1), ON_DEVICE, p);
  return POISE_OK;
}

void poiseTriangularDestroy(Triangular *t)
{
  poiseBufferDestroy(&t->begin);
  poiseBufferDestroy(&t->diag);
  poiseBufferDestroy(&t->end);
  poiseBufferDestroy(&t->col);
  poiseBufferDestroy(&t->work);
  for (int k = 0; k < 2; k++) {
    poiseBufferDestroy(&t->start[k]);
    poiseBufferDestroy(&t->first[k]);
    poiseBufferDestroy(&t->last[k]);
  }
  *t = (Triangular){.built = t->built};
}

/* ---- where the triangles are ----------------------------------------------------------------- */

static PoiseErr Allocate(PoisePC pc, Triangular *t, bool own)
{
  const Csr *c = &pc->P->csr;
  Device *dev = pc->ctx->device;
  size_t offset = c->wide ? sizeof(int64_t) : sizeof(int32_t), bytes = (size_t)c->m * offset;
  t->own = own;
  t->wide = c->wide;
  t->b = c->b > 1 ? c->b : 0;
  t->n = c->m;
  TRY(poiseBufferCreate(dev, bytes, "offsets of the diagonal", &t->diag));
  if (own) TRY(poiseBufferDuplicate(&c->col, &t->col));
  if (own && !c->nghost) return poiseBufferDuplicate(&c->ptr, &t->begin);
  if (!c->nghost) return POISE_OK;
  TRY(poiseBufferCreate(dev, bytes + offset, "offsets of the owned block", &t->begin));
  return poiseBufferCreate(dev, bytes, "ends of the owned block", &t->end);
}

/* Report a missing diagonal entry. Factors, which can be shifted, have entries of their own. */
static PoiseErr FailMissing(PoisePC pc, const Triangular *t, int64_t i)
{
  char row[100], shift[POISE_OPTION_LENGTH + 80] = "";
  int b = poiseTriangularSide(t);
  long long first = poiseMatRowName(pc->P, i * b);
  snprintf(row, sizeof row, b > 1 ? "block row %lld (row %lld)" : "row %lld", first / b, first);
  if (t->own)
    snprintf(shift, sizeof shift, ", with %s nonzero or positive_definite if that is no pivot",
             poiseOptionsName(pc->ctx, pc->prefix, "pc_factor_shift_type"));
  const char *load = poiseOptionsName(pc->ctx, NULL, "mat_load_diagonal");
  FAIL(POISE_ERR_NUMERIC,
       "%s has no diagonal %s, which preconditioner %s needs: store it, if need be as 0 "
       "(in a matrix from a file: %s)%s",
       row, b > 1 ? "block" : "entry", pc->type->name, load, shift);
}

/* Entries of the block, where rows have others beside. */
static PoiseErr CountBlock(Triangular *t)
{
  Triangles v = {.wide = t->wide};
  TRY(poiseBufferRead(&t->begin, HOST, &v.begin));
  TRY(poiseBufferRead(&t->end, HOST, &v.end));
  t->nz = 0;
  for (int64_t i = 0; i < t->n; i++) t->nz += poiseOffset(&v, v.end, i) - poiseOffset(&v, v.begin, i);
  return POISE_OK;
}

static PoiseErr NameMissing(PoisePC pc, const Triangular *t)
{
  Csr *c = &pc->P->csr;
  const void *ptr;
  const int32_t *col;
  int64_t i = 0;
  TRY(poiseBufferRead(&c->ptr, HOST, &ptr));
  TRY(poiseBufferRead(&c->col, HOST, &col));
  for (; i < c->m; i++) {
    int64_t k = poiseCsrPtr(c, ptr, i), last = poiseCsrPtr(c, ptr, i + 1);
    while (k < last && col[k] != i) k++;
    if (k == last) break;
  }
  return FailMissing(pc, t, i);
}

/* Was it raised? e: an error before. The flag is destroyed. */
static PoiseErr TakeFlag(PoiseErr e, Buffer *flag, bool *raised)
{
  const int32_t *there;
  if (!e) e = poiseBufferRead(flag, HOST, &there);
  *raised = !e && *there != 0;
  poiseBufferDestroy(flag);
  return e;
}

static PoiseErr Offsets(PoisePC pc, Triangular *t, Buffer *flag)
{
  TriangleOffsetsArgs a = {.n = t->n};
  TRY(poiseFlagCreate(pc->ctx->device, flag, &a.missing));
  TRY(poiseCsrView(&pc->P->csr, &a.A));
  TRY(poiseBufferWrite(&t->diag, DEVICE, &a.diag));
  if (t->end.dev) {
    TRY(poiseBufferWrite(&t->begin, DEVICE, &a.begin));
    TRY(poiseBufferWrite(&t->end, DEVICE, &a.end));
  }
  return LAUNCH(pc->ctx->device, triangle_offsets, &a);
}

static PoiseErr FindOffsets(PoisePC pc, Triangular *t)
{
  Buffer flag = {0};
  bool missing;
  TRY(TakeFlag(Offsets(pc, t, &flag), &flag, &missing));
  if (missing) return NameMissing(pc, t);
  t->nz = pc->P->csr.nz;
  return t->end.dev ? CountBlock(t) : POISE_OK;
}

static PoiseErr Check(PoisePC pc, Triangular *t, Buffer *flag)
{
  TriangleCheckArgs a = {.n = t->n};
  TRY(poiseFlagCreate(pc->ctx->device, flag, &a.missing));
  TRY(poiseTriangularView(pc, t, DEVICE, &a.t));
  return LAUNCH(pc->ctx->device, triangle_check, &a);
}

PoiseErr poiseTriangularIsSymmetric(PoisePC pc, Triangular *t, bool *symmetric)
{
  Buffer flag = {0};
  bool missing;
  PoiseErr e = TakeFlag(Check(pc, t, &flag), &flag, &missing);
  *symmetric = !missing;
  return e;
}

PoiseErr poiseTriangularView(PoisePC pc, Triangular *t, Side side, Triangles *view)
{
  Csr *c = &pc->P->csr;
  *view = (Triangles){.n = t->n, .nz = t->nz, .wide = t->wide, .b = t->b};
  TRY(poiseBufferRead(t->own ? &t->col : &c->col, side, &view->col));
  TRY(poiseBufferRead(&t->diag, side, &view->diag));
  TRY(poiseBufferRead(t->begin.dev ? &t->begin : &c->ptr, side, &view->begin));
  if (t->end.dev) return poiseBufferRead(&t->end, side, &view->end);
  view->end = (const char *)view->begin +
              (t->wide ? sizeof(int64_t) : sizeof(int32_t)); /* a row ends where the next begins */
  return POISE_OK;
}

/* ---- levels ---------------------------------------------------------------------------------- */

typedef struct Plan { /* working data while levels are found */
  Triangles t;
  bool guess;
  int longest;    /* most rows of a group */
  int32_t *group; /* groups + 1 first rows, ascending */
  int32_t *level; /* of rows */
  int64_t groups;
} Plan;

static int32_t Larger(int32_t a, int32_t b)
{
  return a > b ? a : b;
}

/* Does row i read row i - 1, or the reverse? Such rows are sequential anyway. */
static bool Chained(const Triangles *t, int64_t i)
{
  int64_t diag = poiseOffset(t, t->diag, i), above = poiseOffset(t, t->diag, i - 1);
  if (diag > poiseOffset(t, t->begin, i) && t->col[diag - 1] == i - 1) return true;
  return above + 1 < poiseOffset(t, t->end, i - 1) && t->col[above + 1] == i;
}

static void FindGroups(Plan *p)
{
  p->groups = 0;
  for (int64_t i = 0; i < p->t.n; i++)
    if (i == 0 || i - p->group[p->groups - 1] == p->longest || !Chained(&p->t, i))
      p->group[p->groups++] = (int32_t)i;
  p->group[p->groups] = (int32_t)p->t.n;
}

/* The first level after those of the rows outside [begin, end) that row i reads. */
static int32_t Behind(const Plan *p, int64_t i, bool backward, int64_t begin, int64_t end)
{
  const Triangles *t = &p->t;
  int64_t diag = poiseOffset(t, t->diag, i), last = backward ? poiseOffset(t, t->end, i) : diag;
  int32_t level = p->level[i];
  for (int64_t k = backward ? diag + 1 : poiseOffset(t, t->begin, i); k < last; k++)
    if (t->col[k] < begin || t->col[k] >= end) level = Larger(level, p->level[t->col[k]] + 1);
  return level;
}

/* Make rows of other groups wait for row i if it reads their old values. */
static void Hold(Plan *p, int64_t i, bool backward, int64_t begin, int64_t end)
{
  const Triangles *t = &p->t;
  int64_t diag = poiseOffset(t, t->diag, i), last = backward ? diag : poiseOffset(t, t->end, i);
  for (int64_t k = backward ? poiseOffset(t, t->begin, i) : diag + 1; k < last; k++)
    if (t->col[k] < begin || t->col[k] >= end)
      p->level[t->col[k]] = Larger(p->level[t->col[k]], p->level[i] + 1);
}

/* Give all rows of a group the same level. Returns the number of levels. */
static int32_t FindLevels(Plan *p, bool backward)
{
  int32_t count = 0;
  for (int64_t i = 0; i < p->t.n; i++) p->level[i] = 0;
  for (int64_t q = 0; q < p->groups; q++) {
    int64_t g = backward ? p->groups - 1 - q : q, begin = p->group[g], end = p->group[g + 1];
    int32_t level = 0;
    for (int64_t i = begin; i < end; i++) level = Larger(level, Behind(p, i, backward, begin, end));
    for (int64_t i = begin; i < end; i++) p->level[i] = level;
    for (int64_t i = begin; p->guess && i < end; i++) Hold(p, i, backward, begin, end);
    count = Larger(count, level + 1);
  }
  return count;
}

/* Groups by level: a counting sort. */
static PoiseErr SortGroups(PoisePC pc, Triangular *t, const Plan *p, int which, int32_t count)
{
  Device *dev = pc->ctx->device;
  int32_t *start, *first, *last;
  TRY(poiseBufferCreate(dev, ((size_t)count + 1) * sizeof(int32_t), "levels", &t->start[which]));
  TRY(poiseBufferCreate(dev, (size_t)p->groups * sizeof(int32_t), "first rows of groups", &t->first[which]));
  TRY(poiseBufferCreate(dev, (size_t)p->groups * sizeof(int32_t), "ends of groups", &t->last[which]));
  TRY(poiseBufferWrite(&t->start[which], HOST, &start));
  TRY(poiseBufferWrite(&t->first[which], HOST, &first));
  TRY(poiseBufferWrite(&t->last[which], HOST, &last));
  memset(start, 0, ((size_t)count + 1) * sizeof(int32_t));
  for (int64_t g = 0; g < p->groups; g++) start[p->level[p->group[g]] + 1]++;
  for (int32_t l = 0; l < count; l++) start[l + 1] += start[l];
  for (int64_t g = 0; g < p->groups; g++) {
    int32_t at = start[p->level[p->group[g]]]++;
    first[at] = p->group[g];
    last[at] = p->group[g + 1];
  }
  for (int32_t l = count; l > 0; l--) start[l] = start[l - 1]; /* each cursor is at the end of its level */
  start[0] = 0;
  t->count[which] = count;
  t->groups = p->groups;
  return POISE_OK;
}

static PoiseErr BuildLevels(PoisePC pc, Triangular *t, bool guess, int directions)
{
  bool single = poiseSingleRows(pc->ctx->device); /* these keep old values to the end: nothing to hold back */
  Plan p = {.guess = guess && !single, .longest = single ? 1 : LONGEST};
  t->directions = directions;
  if (!directions) return POISE_OK;
  TRY(poiseTriangularView(pc, t, HOST, &p.t));
  TRY(poiseAllocArray(pc->ctx, p.t.n + 1, sizeof(int32_t), "groups of rows", &p.group));
  PoiseErr e = poiseAllocArray(pc->ctx, p.t.n, sizeof(int32_t), "levels of rows", &p.level);
  if (!e) FindGroups(&p);
  for (int backward = 0; !e && backward < directions; backward++)
    e = SortGroups(pc, t, &p, backward, FindLevels(&p, backward));
  poiseFree(pc->ctx, &p.group);
  poiseFree(pc->ctx, &p.level);
  return e;
}

/* Levels and working memory, once the triangles are there. All is copied now, as a captured loop needs it. */
static PoiseErr Finish(PoisePC pc, Triangular *t, bool guess, int directions)
{
  Triangles view;
  Levels levels;
  TRY(BuildLevels(pc, t, guess, directions));
  TRY(poiseTriangularView(pc, t, DEVICE, &view));
  for (int k = 0; k < directions; k++) TRY(poiseTriangularLevels(t, k, &levels));
  if (directions && poiseSingleRows(pc->ctx->device)) TRY(poiseTriangularNeedWork(pc, t, 1));
  t->built++;
  return POISE_OK;
}

PoiseErr poiseTriangularSetup(PoisePC pc, Triangular *t, bool own, bool guess, int directions)
{
  if (!(poiseMatChanged(&t->seen, pc->P) & CHANGED_PATTERN) && t->directions >= directions) return POISE_OK;
  TRY(poisePCCheckStored(pc));
  TRY(poiseMatCheckSquare(pc->P));
  poiseTriangularDestroy(t);
  pc->generation++;
  TRY(Allocate(pc, t, own));
  TRY(FindOffsets(pc, t));
  TRY(Finish(pc, t, guess, directions));
  t->seen = pc->P->version;
  return POISE_OK;
}

/* Write begin, diag and col of so many rows. */
static PoiseErr Adopt(PoisePC pc, Triangular *t, const int64_t *ptr, Buffer *col)
{
  Device *dev = pc->ctx->device;
  size_t offset = t->wide ? sizeof(int64_t) : sizeof(int32_t), bytes = (size_t)t->n * offset;
  const int32_t *column;
  void *begin, *diag;
  t->col = *col;
  *col = (Buffer){0};
  TRY(poiseBufferCreate(dev, bytes + offset, "offsets of factors", &t->begin));
  TRY(poiseBufferCreate(dev, bytes, "offsets of the diagonal", &t->diag));
  TRY(poiseBufferRead(&t->col, HOST, &column));
  TRY(poiseBufferWrite(&t->begin, HOST, &begin));
  TRY(poiseBufferWrite(&t->diag, HOST, &diag));
  for (int64_t i = 0; i <= t->n; i++) poiseSetOffset(t->wide, begin, i, ptr[i]);
  for (int64_t i = 0; i < t->n; i++)
    poiseSetOffset(t->wide, diag, i, poiseSeek(column, ptr[i], ptr[i + 1], (int32_t)i));
  return POISE_OK;
}

PoiseErr poiseTriangularReplace(PoisePC pc, Triangular *t, int b, int64_t n, const int64_t *ptr, Buffer *col,
                                int directions)
{
  poiseTriangularDestroy(t);
  pc->generation++;
  *t = (Triangular){.built = t->built, .own = true, .wide = ptr[n] > INT32_MAX, .b = b, .n = n, .nz = ptr[n]};
  TRY(Adopt(pc, t, ptr, col));
  return Finish(pc, t, false, directions);
}

PoiseErr poiseTriangularLevels(Triangular *t, int backward, Levels *levels)
{
  *levels = (Levels){.count = t->count[backward], .groups = t->groups};
  TRY(poiseBufferRead(&t->start[backward], DEVICE, &levels->start));
  TRY(poiseBufferRead(&t->first[backward], DEVICE, &levels->first));
  return poiseBufferRead(&t->last[backward], DEVICE, &levels->last);
}

PoiseErr poiseTriangularNeedWork(PoisePC pc, Triangular *t, int columns)
{
  size_t bytes = ((size_t)t->n * (size_t)(poiseTriangularSide(t) * columns) + 1) * sizeof(double);
  double *work;
  Buffer more;
  if (t->work.dev && t->work.bytes >= bytes) return poiseTriangularWork(t, &work);
  TRY(poiseBufferCreate(pc->ctx->device, bytes, "new values of a sweep", &more));
  PoiseErr e = poiseBufferWrite(&more, DEVICE, &work);
  poiseBufferDestroy(e ? &more : &t->work); /* after a failure sweeps have what they had */
  if (e) return e;
  t->work = more;
  pc->generation++; /* captured loops have the one before */
  return POISE_OK;
}

PoiseErr poiseTriangularReadyColumns(PoisePC pc, Triangular *t, int columns)
{
  return poiseSingleRows(pc->ctx->device) ? poiseTriangularNeedWork(pc, t, columns) : POISE_OK;
}

PoiseErr poiseTriangularWork(Triangular *t, double **work)
{
  return t->work.dev ? poiseBufferWrite(&t->work, DEVICE, work) : POISE_OK;
}

PoiseErr poiseTriangularPrint(PoisePC pc, const Triangular *t)
{
  int64_t most[] = {t->count[0], t->count[1], t->groups};
  TRY(poiseCommMaxInt(pc->ctx->comm, most, 3));
  if (PoiseSize(pc->ctx) > 1) TRY(poisePrint(pc->ctx, "  one block per rank (block Jacobi)\n"));
  if (!most[0] || t->directions < 2) return POISE_OK; /* not set up, no rows, or no sweeps */
  return poisePrint(
      pc->ctx,
      "  sweeps: at most %lld groups of rows%s in %lld levels forward, %lld backward, on a rank; "
      "groups of a level at once\n",
      (long long)most[2], t->b ? " of blocks" : "", (long long)most[0], (long long)most[1]);
}

double poiseTriangularTraffic(const Triangular *t)
{
  double b = poiseTriangularSide(t);
  return (8 * b * b + 4) * (double)(t->nz - t->n) +
         4 * (t->wide ? 8 : 4) * (double)t->n; /* two offsets per row and triangle */
}

/* ---- sweeps ---------------------------------------------------------------------------------- */

PoiseErr poiseTriangularSweep(PoisePC pc, Triangular *t, SweepArgs *a)
{
  TRY(poiseTriangularView(pc, t, DEVICE, &a->t));
  TRY(poiseTriangularWork(t, &a->work));
  TRY(poiseTriangularLevels(t, a->backward, &a->levels));
  return a->columns > 1 ? LAUNCH(pc->ctx->device, sweep_columns, a) : LAUNCH(pc->ctx->device, sweep, a);
}

/* sum - val_k y_j over the entries k, k + step, ..., which end before `end` */
POISE_INLINE double Subtract(const SweepArgs *a, int64_t k, int64_t end, int64_t step, double sum)
{
  const int32_t *col = a->t.col;
  const double *val = a->val, *y = a->y;
  for (; k != end; k += step) sum -= val[k] * y[col[k]];
  return sum;
}

/* Sweep the rows [begin, end). Those of the triangle that a sweep has passed come last, the row before this
   one at the very end: the others need not wait for it. Its value is at hand, so that nothing waits for its
   way through memory. Constants where this is inlined: wide; backward; plain: scale = 1 and keep = 0. */
POISE_INLINE void SweepRange(const SweepArgs *a, int64_t begin, int64_t end, int wide, int backward,
                             int plain)
{
  const Triangles t = {
      .wide = wide, .begin = a->t.begin, .diag = a->t.diag, .end = a->t.end, .col = a->t.col};
  const int passed = backward ? SWEEP_UPPER : SWEEP_LOWER, ahead = passed ^ SWEEP_LOWER ^ SWEEP_UPPER;
  const int64_t step = backward ? -1 : 1;
  const double *val = a->val, *d = a->d, *x = a->x;
  double *y = a->y, value = 0;
  for (int64_t i = backward ? end - 1 : begin, last = -1; begin <= i && i < end; last = i, i += step) {
    int64_t diag = poiseOffset(&t, t.diag, i), low = poiseOffset(&t, t.begin, i),
            high = poiseOffset(&t, t.end, i);
    int64_t first = backward ? high - 1 : low;
    double sum = x ? x[i] : 0;
    if (a->parts & ahead) sum = Subtract(a, backward ? low : diag + 1, backward ? diag : high, 1, sum);
    if (a->parts & passed && first != diag) {
      int64_t near = diag - step;
      sum = Subtract(a, first, near, step, sum);
      sum -= val[near] * (t.col[near] == last ? value : y[t.col[near]]);
    }
    if (plain)
      value = d ? d[i] * sum : sum;
    else
      value = (d ? a->scale * d[i] : a->scale) * sum;
    if (!plain && a->keep != 0) value = a->keep * y[i] + value;
    y[i] = value;
  }
}

POISE_INLINE void SweepWide(const SweepArgs *a, int64_t begin, int64_t end, int wide)
{
  int plain = a->scale == 1 && a->keep == 0;
  if (a->backward && plain)
    SweepRange(a, begin, end, wide, 1, 1);
  else if (a->backward)
    SweepRange(a, begin, end, wide, 1, 0);
  else if (plain)
    SweepRange(a, begin, end, wide, 0, 1);
  else
    SweepRange(a, begin, end, wide, 0, 0);
}

static void SweepRows(const void *args, int64_t begin, int64_t end)
{
  const SweepArgs *a = args;
  if (a->t.wide)
    SweepWide(a, begin, end, 1);
  else
    SweepWide(a, begin, end, 0);
}

/* The dots of scalars [begin, end), which are block `at`. */
static void FuseBlock(const SweepArgs *a, int64_t begin, int64_t end, int64_t at)
{
  if (a->columns > 1)
    poiseHostFuseColumns(&a->fuse, a->y, begin, end, at);
  else
    poiseHostFuse(&a->fuse, a->y, begin, end, at);
}

/* Sweep the rows in their order, b scalars each. The dots of a block of scalars are taken while it is in
   cache. */
static void SweepInOrder(const SweepArgs *a, HostRows *rows, int64_t b)
{
  int64_t n = a->t.n * b, nblock = POISE_NBLOCKS(n), at = a->backward ? a->t.n : 0; /* the next row */
  for (int64_t q = 0; q < nblock; q++) {
    int64_t block = a->backward ? nblock - 1 - q : q;
    int64_t begin = block * POISE_BLOCK, end = begin + POISE_BLOCK < n ? begin + POISE_BLOCK : n;
    int64_t next = a->backward ? begin / b : (end + b - 1) / b;
    rows(a, a->backward ? next : at, a->backward ? at : next);
    FuseBlock(a, begin, end, block);
    at = next;
  }
}

void poiseHostSweep(Device *dev, const SweepArgs *a, HostRows *rows)
{
  int64_t b = a->t.b ? a->t.b : 1, n = a->t.n * b, nblock = POISE_NBLOCKS(n);
  double wider = a->columns > 1 ? a->columns - 1 : 0,
         bytes = poiseHostSweepBytes(&a->t) + 16 * wider * (double)n;
  if (a->skip && *a->skip != 0) return;
  if (!poiseHostWide(dev, &a->levels, a->t.n, bytes)) {
    SweepInOrder(a, rows, b);
    return;
  }
  for (int64_t l = 0; l < a->levels.count; l++) poiseHostLevel(dev, &a->levels, l, bytes, rows, a);
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t k = 0; k < nblock; k++) {
    int64_t begin = k * POISE_BLOCK, end = begin + POISE_BLOCK < n ? begin + POISE_BLOCK : n;
    FuseBlock(a, begin, end, k);
  }
}

PoiseErr poiseHost_sweep(Device *dev, const void *args)
{
  const SweepArgs *a = args;
  poiseHostSweep(dev, a, a->t.b ? poiseHostSweepBlocks(a->t.b) : SweepRows);
  return POISE_OK;
}
