/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Matrices from triplets (row, column, value). Sorting them once gives the pattern and a list: for each entry in turn, the places
  of its values among those given, then those received. Taking new values is one pass over that list, on the host, where they
  are given: it reads 12 bytes per triplet and writes 8 per entry. (The list takes 4 bytes per triplet, 8 beyond 2^31 of them.)
*/
#include "../vec/vec_host.h"
#include "mat.h"

typedef struct Triplets {
  int64_t ngiven; /* how many values the user gives */
  int64_t built;  /* of the CSR that this was made for */
  bool wide;      /* from holds int64, else int32 */
  void *from;     /* place of a value, complemented where an entry begins */
  int64_t *begin; /* in from: of every block of POISE_BLOCK entries */
  int64_t *send;  /* places of the values for other ranks, in the order of the ranks */
  Exchange ex;
} Triplets;

void poiseTripletsDestroy(PoiseContext ctx, Triplets **triplets)
{
  Triplets *t = *triplets;
  if (!t) return;
  poiseExchangeDestroy(ctx, &t->ex, true);
  poiseFree(ctx, &t->from);
  poiseFree(ctx, &t->begin);
  poiseFree(ctx, &t->send);
  poiseFree(ctx, triplets);
}

/* ---- the pattern ---------------------------------------------------------------------------------------------------- */

typedef struct Plan {
  Indices rows, cols;
  Stash stash;                                 /* triplets of other ranks' rows; then those received */
  int64_t *bytes, *received, *gathered, *next; /* values per rank, in bytes; of all ranks; cursors */
  Term *term;                                  /* by row: column and place of the value */
  RowArrays arrays;
} Plan;

static void FreePlan(PoiseContext ctx, Plan *p)
{
  poiseStashDestroy(ctx, &p->stash);
  poiseFree(ctx, &p->bytes);
  poiseFree(ctx, &p->received);
  poiseFree(ctx, &p->gathered);
  poiseFree(ctx, &p->next);
  poiseFree(ctx, &p->term);
}

/* The owner of triplet k, or -1 if it is to be ignored. */
static int Owner(PoiseMat A, const Plan *p, int64_t k)
{
  const Layout *l = A->rows;
  PoiseInt row = p->rows.index[k];
  if (row < 0 || p->cols.index[k] < 0) return -1;
  if (row >= l->begin && row < l->begin + l->n) return PoiseRank(A->ctx);
  return poiseLayoutOwner(l, row);
}

/* What goes to other ranks. */
static PoiseErr Sort(PoiseMat A, Triplets *t, Plan *p)
{
  PoiseContext ctx = A->ctx;
  int size = PoiseSize(ctx), rank = PoiseRank(ctx);
  int64_t total = 0;
  TRY(poiseMatCheckStored(A));
  TRY(poiseIndicesCheck(&p->rows, A->rows->N, "row", "matrix"));
  TRY(poiseIndicesCheck(&p->cols, A->cols->N, "column", "matrix"));
  TRY(poiseAllocArray(ctx, size, sizeof(int64_t), "counts", &p->bytes));
  TRY(poiseAllocArray(ctx, size, sizeof(int64_t), "counts", &p->received));
  TRY(poiseAllocArray(ctx, size, sizeof(int64_t), "counts", &p->next));
  TRY(poiseAllocArray(ctx, (int64_t)size * size, sizeof(int64_t), "counts", &p->gathered));
  if (size == 1) return POISE_OK;
  for (int64_t k = 0; k < p->rows.n; k++) {
    int r = Owner(A, p, k);
    if (r < 0 || r == rank) continue;
    p->bytes[r] += (int64_t)sizeof(double);
    TRY(poiseStashAdd(ctx, &p->stash, p->rows.index[k], p->cols.index[k], 0));
  }
  for (int r = 0; r < size; r++) p->next[r] = total, total += p->bytes[r] / (int64_t)sizeof(double);
  TRY(poiseAllocArray(ctx, total, sizeof(int64_t), "values to send", &t->send));
  for (int64_t k = 0; k < p->rows.n; k++) {
    int r = Owner(A, p, k);
    if (r >= 0 && r != rank) t->send[p->next[r]++] = k;
  }
  return POISE_OK;
}

static PoiseErr Sides(PoiseContext ctx, Triplets *t, const Plan *p)
{
  Exchange *ex = &t->ex;
  TRY(poiseExchangeSide(ctx, p->bytes, &ex->nsend, &ex->send_rank, &ex->send_start, &ex->send));
  return poiseExchangeSide(ctx, p->received, &ex->nrecv, &ex->recv_rank, &ex->recv_start, &ex->recv);
}

/* Triplets travel once, as values will travel: by rank, those of one rank in their order. */
static PoiseErr Route(PoiseMat A, Triplets *t, Plan *p)
{
  PoiseContext ctx = A->ctx;
  Comm *comm = ctx->comm;
  int size = PoiseSize(ctx);
  if (size == 1) return POISE_OK;
  TRY(poiseStashExchange(ctx, &p->stash, A->rows));
  TRY(comm->ops->allgather(comm, p->bytes, (size_t)size * sizeof(int64_t), p->gathered));
  for (int r = 0; r < size; r++) p->received[r] = p->gathered[(int64_t)r * size + comm->rank];
  TRY(PoiseAgree(ctx, Sides(ctx, t, p)));
  return comm->ops->exchange_setup(comm, &t->ex);
}

/* Terms by row: the given ones, then the received ones. */
static PoiseErr Gather(PoiseMat A, Plan *p, int64_t **start)
{
  PoiseContext ctx = A->ctx;
  int64_t m = A->rows->n, first = A->rows->begin, *at;
  int rank = PoiseRank(ctx);
  TRY(poiseAllocArray(ctx, m + 2, sizeof(int64_t), "row offsets", start));
  at = *start + 1; /* counts, one place on: then at[i] is row i's cursor, and in the end where row i + 1 begins */
  for (int64_t k = 0; k < p->rows.n; k++)
    if (Owner(A, p, k) == rank) at[p->rows.index[k] - first + 1]++;
  for (int64_t k = 0; k < p->stash.n; k++) at[p->stash.entry[k].row - first + 1]++;
  for (int64_t i = 1; i <= m; i++) at[i] += at[i - 1];
  TRY(poiseAllocArray(ctx, at[m], sizeof(Term), "triplets", &p->term));
  for (int64_t k = 0; k < p->rows.n; k++)
    if (Owner(A, p, k) == rank) p->term[at[p->rows.index[k] - first]++] = (Term){.col = p->cols.index[k], .from = k};
  for (int64_t k = 0; k < p->stash.n; k++)
    p->term[at[p->stash.entry[k].row - first]++] = (Term){.col = p->stash.entry[k].col, .from = p->rows.n + k};
  return POISE_OK;
}

static void PutFrom(Triplets *t, int64_t k, int64_t from)
{
  if (t->wide)
    ((int64_t *)t->from)[k] = from;
  else
    ((int32_t *)t->from)[k] = (int32_t)from;
}

/* The sorted terms as rows and as a list. */
static PoiseErr Number(PoiseMat A, Triplets *t, Plan *p, const int64_t *start)
{
  PoiseContext ctx = A->ctx;
  int64_t m = A->rows->n, nz = 0, out = 0, total = start[m];
  for (int64_t i = 0; i < m; i++) {
    TRY(poiseTermsSort(ctx, p->term + start[i], start[i + 1] - start[i]));
    for (int64_t k = start[i]; k < start[i + 1]; k++) nz += k == start[i] || p->term[k].col != p->term[k - 1].col;
  }
  t->wide = p->rows.n + p->stash.n > ctx->most_narrow;
  TRY(poiseAllocArray(ctx, total, t->wide ? 8 : 4, "places of values", &t->from));
  TRY(poiseAllocArray(ctx, POISE_NBLOCKS(nz) + 1, sizeof(int64_t), "places of values", &t->begin));
  TRY(poiseRowArraysCreate(A, nz, &p->arrays));
  for (int64_t i = 0; i < m; i++) {
    for (int64_t k = start[i]; k < start[i + 1]; k++) {
      bool begins = k == start[i] || p->term[k].col != p->term[k - 1].col;
      PutFrom(t, k, begins ? ~p->term[k].from : p->term[k].from);
      if (!begins) continue;
      if (out % POISE_BLOCK == 0) t->begin[out / POISE_BLOCK] = k;
      p->arrays.col[out++] = p->term[k].col;
    }
    p->arrays.ptr[i + 1] = out;
  }
  t->begin[POISE_NBLOCKS(nz)] = total;
  return POISE_OK;
}

static PoiseErr Build(PoiseMat A, Triplets *t, Plan *p)
{
  int64_t *start = NULL;
  TRY(PoiseAgree(A->ctx, Sort(A, t, p)));
  TRY(Route(A, t, p));
  PoiseErr e = Gather(A, p, &start);
  if (!e) e = Number(A, t, p, start);
  poiseFree(A->ctx, &start);
  poiseFree(A->ctx, &p->term);
  return poiseMatReplace(A, e, &p->arrays);
}

PoiseErr PoiseMatSetPatternCOO(PoiseMat A, PoiseInt n, const PoiseInt *rows, const PoiseInt *cols)
{
  PoiseContext ctx = A->ctx;
  Triplets *t = NULL;
  Plan p = {.rows = {n, rows, NULL}, .cols = {n, cols, NULL}};
  poiseLogBegin(ctx, EVENT_MatAssemble);
  PoiseErr e = PoiseAgree(ctx, poiseAlloc(ctx, sizeof *t, "triplets", &t));
  if (!e) e = Build(A, t, &p);
  FreePlan(ctx, &p);
  if (!e) {
    poiseMatDropPending(A);
    poiseTripletsDestroy(ctx, &A->triplets);
    t->ngiven = n;
    t->built = A->csr.built;
    A->triplets = t;
    t = NULL;
  }
  poiseTripletsDestroy(ctx, &t);
  poiseLogEnd(ctx, EVENT_MatAssemble, 0, 0);
  return e;
}

/* ---- values --------------------------------------------------------------------------------------------------------- */

static PoiseErr Check(PoiseMat A, const double *v)
{
  const Triplets *t = A->triplets;
  TRY(poiseMatCheckStored(A));
  if (!t) FAIL(POISE_ERR_STATE, "the matrix has no triplets: call PoiseMatSetPatternCOO");
  TRY(poiseMatCheckUsable(A));
  if (t->built != A->csr.built) FAIL(POISE_ERR_STATE, "the pattern has changed since PoiseMatSetPatternCOO");
  if (!v && t->ngiven) FAIL(POISE_ERR_ARG, "the values of %lld triplets are NULL", (long long)t->ngiven);
  return POISE_OK;
}

static PoiseErr Travel(PoiseContext ctx, Triplets *t, const double *v)
{
  Comm *comm = ctx->comm;
  Exchange *ex = &t->ex;
  if (comm->size == 1) return POISE_OK;
  for (int64_t k = 0; k < ex->send_start[ex->nsend]; k++) ex->send[k] = v[t->send[k]];
  TRY(comm->ops->exchange_begin(comm, ex));
  return comm->ops->exchange_end(comm, ex);
}

/* Inlined for each constant wide, add and far (some values were received), which keeps the tests out of the loop. */
POISE_INLINE void SumBlock(const Triplets *t, int64_t block, const double *v, bool wide, bool add, bool far, double *val)
{
  const int64_t last = t->begin[block + 1], ngiven = t->ngiven;
  const double *received = t->ex.recv;
  const int64_t *from64 = t->from;
  const int32_t *from32 = t->from;
  double *out = val + block * POISE_BLOCK - 1, sum = 0;
  for (int64_t k = t->begin[block]; k < last; k++) {
    int64_t from = wide ? from64[k] : from32[k];
    if (from < 0) {
      out++;
      sum = add ? *out : 0;
      from = ~from;
    }
    sum += far && from >= ngiven ? received[from - ngiven] : v[from];
    *out = sum;
  }
}

static void SumValues(PoiseContext ctx, const Triplets *t, int64_t nz, const double *v, bool add, double *val)
{
  Device *dev = ctx->device;
  int64_t nblock = POISE_NBLOCKS(nz);
  bool plain = !t->wide && !t->ex.nrecv;
  (void)dev;
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t b = 0; b < nblock; b++) {
    if (plain && !add)
      SumBlock(t, b, v, false, false, false, val);
    else
      SumBlock(t, b, v, t->wide, add, true, val);
  }
}

static PoiseErr Take(PoiseMat A, const double *v, bool add)
{
  double *val;
  TRY(PoiseAgree(A->ctx, Check(A, v)));
  TRY(PoiseAgree(A->ctx, Travel(A->ctx, A->triplets, v)));
  TRY(PoiseAgree(A->ctx, add ? poiseBufferUpdate(&A->csr.val, HOST, &val) : poiseBufferWrite(&A->csr.val, HOST, &val)));
  SumValues(A->ctx, A->triplets, A->csr.nz, v, add, val);
  A->state++;
  return POISE_OK;
}

static PoiseErr TakeLogged(PoiseMat A, const double *v, bool add)
{
  poiseLogBegin(A->ctx, EVENT_MatAssemble);
  PoiseErr e = Take(A, v, add);
  poiseLogEnd(A->ctx, EVENT_MatAssemble, 0, A->triplets ? 12.0 * (double)A->triplets->ngiven + 8.0 * (double)A->csr.nz : 0);
  return e;
}

PoiseErr PoiseMatSetValuesCOO(PoiseMat A, const double *v)
{
  return TakeLogged(A, v, false);
}

PoiseErr PoiseMatAddValuesCOO(PoiseMat A, const double *v)
{
  return TakeLogged(A, v, true);
}
