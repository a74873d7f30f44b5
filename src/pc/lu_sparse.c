/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Sparse factors (lu.h), on the host. On several ranks the first one has the whole matrix, and factors and
  solves. Others wait for it.
*/
#include <limits.h>

#include "mat/csr/entries.h"
#include "mat/order/arrange.h"
#include "lu.h"

typedef struct Rows { /* as scalars */
  int64_t n, nz;
  int64_t *length, *column; /* global */
  double *value;
} Rows;

typedef struct Result { /* of the first rank, for all */
  Singular singular;
  SparseFacts facts;
} Result;

static SparseLU *Of(PoisePC pc)
{
  return &((LU *)pc->data)->sparse;
}

static bool IsFirst(PoisePC pc)
{
  return PoiseRank(pc->ctx) == 0;
}

static void Release(PoisePC pc)
{
  SparseLU *lu = Of(pc);
  poiseSuperLUDestroy(pc->ctx, &lu->factors);
  poiseFree(pc->ctx, &lu->sent);
  poiseFree(pc->ctx, &lu->received);
  poiseFree(pc->ctx, &lu->x);
  poiseLayoutDestroy(&lu->layout);
}

/* ---- between the first rank and all ---------------------------------------------------------- */

/* all, on the first rank, becomes what the ranks have, of 8 bytes a number; n of them are here. */
static PoiseErr ToFirst(PoisePC pc, const void *own, int64_t n, void *all)
{
  SparseLU *lu = Of(pc);
  Comm *comm = pc->ctx->comm;
  int64_t bytes = 8 * n;
  TRY(comm->ops->allgather(comm, &bytes, sizeof bytes, lu->received));
  memset(lu->sent, 0, (size_t)comm->size * sizeof *lu->sent);
  lu->sent[0] = bytes;
  if (!IsFirst(pc)) memset(lu->received, 0, (size_t)comm->size * sizeof *lu->received);
  return comm->ops->alltoallv(comm, own, lu->sent, all, lu->received);
}

/* own becomes this rank's rows of x, which the first rank has. */
static PoiseErr FromFirst(PoisePC pc, const double *x, double *own)
{
  SparseLU *lu = Of(pc);
  Comm *comm = pc->ctx->comm;
  const PoiseInt *start = lu->layout->start;
  for (int r = 0; r < comm->size; r++) {
    lu->sent[r] = IsFirst(pc) ? 8 * (start[r + 1] - start[r]) : 0;
    lu->received[r] = r ? 0 : 8 * lu->layout->n;
  }
  return comm->ops->alltoallv(comm, x, lu->sent, own, lu->received);
}

/* ---- the matrix on the first rank ------------------------------------------------------------ */

static void ReleaseRows(PoiseContext ctx, Rows *r)
{
  poiseFree(ctx, &r->length);
  poiseFree(ctx, &r->column);
  poiseFree(ctx, &r->value);
}

static PoiseErr AllocateRows(PoiseContext ctx, int64_t n, int64_t nz, Rows *r)
{
  r->n = n, r->nz = nz;
  TRY(poiseAllocArray(ctx, n, sizeof *r->length, "lengths of rows", &r->length));
  TRY(poiseAllocArray(ctx, nz, sizeof *r->column, "columns of rows", &r->column));
  return poiseAllocArray(ctx, nz, sizeof *r->value, "values of rows", &r->value);
}

static PoiseErr ListRows(PoisePC pc, Rows *own)
{
  PoiseMat P = pc->P;
  ScalarWalk w;
  TRY(poiseWalkBegin(P, &w));
  TRY(AllocateRows(pc->ctx, P->rows->n, poiseCsrScalars(&P->csr), own));
  for (int64_t k = 0; k < own->nz; k++) {
    own->value[k] = poiseWalkOn(&w, &own->column[k]);
    own->length[w.i]++;
    if (!poiseFinite(own->value[k]))
      FAIL(POISE_ERR_NUMERIC, "%s: entry (%lld, %lld) is %g", pc->type->name, poiseMatRowName(P, w.i),
           (long long)own->column[k], own->value[k]);
  }
  return POISE_OK;
}

/* Collective; agrees. */
static PoiseErr GatherRows(PoisePC pc, Rows *all)
{
  PoiseContext ctx = pc->ctx;
  Rows own = {0};
  PoiseErr e = ListRows(pc, &own);
  double sums[] = {(double)own.n, (double)own.nz};
  e = poiseAgreeSum(ctx, e, sums, 2);
  if (!e && sums[0] + sums[1] > INT_MAX)
    e = PoiseErrorSet(POISE_ERR_UNSUPPORTED, __func__, __FILE__, __LINE__,
                      "SuperLU takes fewer than 2^31 numbers, not %.0f in %.0f rows", sums[1], sums[0]);
  if (!e)
    e = PoiseAgree(ctx, IsFirst(pc) ? AllocateRows(ctx, (int64_t)sums[0], (int64_t)sums[1], all) : POISE_OK);
  if (!e) e = ToFirst(pc, own.length, own.n, all->length);
  if (!e) e = ToFirst(pc, own.column, own.nz, all->column);
  if (!e) e = ToFirst(pc, own.value, own.nz, all->value);
  ReleaseRows(ctx, &own);
  return e;
}

/* The rows by columns. */
static PoiseErr MakeColumns(PoiseContext ctx, const Rows *r, int **ptr, int **row, double **val)
{
  TRY(poiseAllocArray(ctx, r->n + 2, sizeof **ptr, "offsets of columns", ptr));
  TRY(poiseAllocArray(ctx, r->nz, sizeof **row, "rows of columns", row));
  TRY(poiseAllocArray(ctx, r->nz, sizeof **val, "values of columns", val));
  int *next = *ptr + 1; /* ends as the offsets */
  for (int64_t k = 0; k < r->nz; k++) next[r->column[k] + 1]++;
  for (int64_t j = 0; j < r->n; j++) next[j + 1] += next[j];
  for (int64_t i = 0, k = 0; i < r->n; i++)
    for (int64_t end = k + r->length[i]; k < end; k++) {
      int at = next[r->column[k]]++;
      (*row)[at] = (int)i, (*val)[at] = r->value[k];
    }
  return POISE_OK;
}

/* On the first rank. only: order the columns, and foresee the factors. */
static PoiseErr FactorRows(PoisePC pc, Rows *all, bool only, Result *result)
{
  SparseLU *lu = Of(pc);
  int *ptr = NULL, *row = NULL;
  double *val = NULL;
  PoiseErr e = MakeColumns(pc->ctx, all, &ptr, &row, &val);
  ReleaseRows(pc->ctx, all);
  if (!e)
    return poiseSuperLUFactor(pc->ctx, lu->layout->N, &ptr, &row, &val,
                              (FactorHow){poiseLUIsDefinite(pc), only}, &lu->factors, &result->singular,
                              &result->facts);
  poiseFree(pc->ctx, &ptr);
  poiseFree(pc->ctx, &row);
  poiseFree(pc->ctx, &val);
  return e;
}

/* ---- set-up ---------------------------------------------------------------------------------- */

static PoiseErr Allocate(PoisePC pc)
{
  SparseLU *lu = Of(pc);
  pc->generation++;
  lu->layout = poiseLayoutShare(pc->P->rows);
  TRY(poiseAllocArray(pc->ctx, PoiseSize(pc->ctx), sizeof *lu->sent, "bytes for ranks", &lu->sent));
  TRY(poiseAllocArray(pc->ctx, PoiseSize(pc->ctx), sizeof *lu->received, "bytes of ranks", &lu->received));
  return IsFirst(pc)
             ? poiseAllocArray(pc->ctx, lu->layout->N, sizeof *lu->x, "solution of sparse factors", &lu->x)
             : POISE_OK;
}

/* Collective; agrees. */
static PoiseErr Prepare(PoisePC pc)
{
  SparseLU *lu = Of(pc);
  int64_t fresh = !lu->layout || !poiseLayoutSame(lu->layout, pc->P->rows);
  TRY(poiseCommMaxInt(pc->ctx->comm, &fresh, 1));
  if (!fresh) return POISE_OK;
  Release(pc);
  PoiseErr e = PoiseAgree(pc->ctx, Allocate(pc));
  if (e) Release(pc);
  return e;
}

/* Only the rank that owns a row or column knows its name. Collective. */
static PoiseErr Refuse(PoisePC pc, const Singular *s)
{
  int64_t i = s->index - pc->P->rows->begin,
          name = i >= 0 && i < pc->P->rows->n ? poiseMatRowName(pc->P, i) : -1;
  TRY(poiseCommMaxInt(pc->ctx->comm, &name, 1));
  if (s->what == UNSYMMETRIC) FAIL(POISE_ERR_UNSUPPORTED, "cholesky: the matrix is not symmetric: use lu");
  if (s->what == INDEFINITE)
    FAIL(POISE_ERR_NUMERIC,
         "cholesky: the pivot of row %lld is %g of its diagonal entry: the matrix is not positive definite",
         (long long)name, s->pivot);
  if (s->what == SINGULAR_ROW)
    FAIL(POISE_ERR_NUMERIC, "%s: row %lld is 0: the matrix is singular", pc->type->name, (long long)name);
  FAIL(POISE_ERR_NUMERIC, "%s: no pivot is left for column %lld: the matrix is singular", pc->type->name,
       (long long)name);
}

/* Collective; agrees. */
static PoiseErr Factor(PoisePC pc, bool only)
{
  Rows all = {0};
  Result result = {0};
  Comm *comm = pc->ctx->comm;
  TRY(Prepare(pc));
  PoiseErr e = GatherRows(pc, &all);
  if (!e) e = PoiseAgree(pc->ctx, IsFirst(pc) ? FactorRows(pc, &all, only, &result) : POISE_OK);
  ReleaseRows(pc->ctx, &all);
  TRY(e);
  TRY(comm->ops->bcast(comm, &result, sizeof result, 0));
  Of(pc)->facts = result.facts;
  return result.singular.what ? Refuse(pc, &result.singular) : POISE_OK;
}

static PoiseErr SetUp_Sparse(PoisePC pc)
{
  return Factor(pc, false);
}

static PoiseErr Foresee_Sparse(PoisePC pc, double *entries, double *flops)
{
  if (!pc->built) TRY(Factor(pc, true));
  *entries = Of(pc)->facts.foreseen.entries;
  *flops = Of(pc)->facts.foreseen.flops;
  return POISE_OK;
}

/* ---- application ----------------------------------------------------------------------------- */

/* The exchanges take place whatever fails. */
static PoiseErr Apply_Sparse(PoisePC pc, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse)
{
  SparseLU *lu = Of(pc);
  const double *from = NULL;
  double *to = NULL;
  PoiseErr e = poiseBufferRead(&r->data, HOST, &from);
  if (!e) e = poiseBufferWrite(&z->data, HOST, &to);
  TRY(PoiseAgree(pc->ctx, e));
  e = ToFirst(pc, from, lu->layout->n, lu->x);
  if (!e && IsFirst(pc) && lu->layout->N) e = poiseSuperLUSolve(lu->factors, lu->x);
  TRY(PoiseAgree(pc->ctx, e));
  TRY(FromFirst(pc, lu->x, to));
  return poiseVecFuse(z, skip, fuse);
}

static void Cost_Sparse(PoisePC pc, double *flops, double *bytes)
{
  const SparseLU *lu = Of(pc);
  *flops = IsFirst(pc) ? 2 * lu->facts.entries : 0;
  *bytes = IsFirst(pc) ? lu->facts.bytes : 0;
}

static PoiseErr View_Sparse(PoisePC pc)
{
  static const char *const orders[] = {"that of A", "COLAMD", "minimum degree of A + A^T",
                                       "nested dissection of A + A^T"};
  const SparseLU *lu = Of(pc);
  char bytes[24];
  if (!lu->layout || lu->facts.entries == 0) return POISE_OK;
  poiseBytesText(lu->facts.bytes, bytes);
  double condition = IsFirst(pc) ? poiseSuperLUCondition(lu->factors) : 0;
  return poisePrint(pc->ctx,
                    "  sparse factors of %lld rows by SuperLU, %.3g entries (%.3g foreseen), %s on the first "
                    "rank; order: %s; condition (1-norm, scaled) about %.1e\n",
                    (long long)lu->layout->N, lu->facts.entries, lu->facts.foreseen.entries, bytes,
                    orders[lu->facts.order], condition);
}

/* A's columns, the factors, and orders and scales of rows and columns. */
static void Bytes_Sparse(PoisePC pc, PoiseBytes *sum)
{
  const SparseLU *lu = Of(pc);
  sum->host += poiseAllocated(lu->x);
  if (IsFirst(pc)) sum->host += (int64_t)lu->facts.bytes + poiseSuperLUBytes(lu->factors);
}

static PoiseErr Predict_Sparse(PoisePC pc, const MatPlan *plan, PoisePrediction *p)
{
  (void)plan;
  if (IsFirst(pc)) p->least.host += 8 * pc->P->rows->N, p->most.host += 8 * pc->P->rows->N;
  p->beyond = "what SuperLU asks for";
  return POISE_OK;
}

static void Destroy_Sparse(PoisePC pc)
{
  Release(pc);
}

static const char *Eager_Sparse(PoisePC pc)
{
  (void)pc;
  return "sparse factors work on the host";
}

const PCType poiseLU_sparse = {
    .name = "superlu",
    .eager = Eager_Sparse,
    .setup = SetUp_Sparse,
    .foresee = Foresee_Sparse,
    .apply = Apply_Sparse,
    .cost = Cost_Sparse,
    .view = View_Sparse,
    .bytes = Bytes_Sparse,
    .predict = Predict_Sparse,
    .destroy = Destroy_Sparse,
};
