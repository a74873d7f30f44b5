/* SPDX-License-Identifier: BSD-3-Clause */
/* Sparse factors by SuperLU (lu.h), on the host of the first rank. */
#include "lu.h"

typedef struct Result { /* of the first rank, for all */
  Singular singular;
  SparseFacts facts;
} Result;

static SparseLU *Of(PoisePC pc)
{
  return &((LU *)pc->data)->sparse;
}

static void Release(PoisePC pc)
{
  SparseLU *lu = Of(pc);
  poiseSuperLUDestroy(pc->ctx, &lu->factors);
  poiseFree(pc->ctx, &lu->x);
  poiseFirstDestroy(pc, &lu->first);
}

/* ---- set-up ---------------------------------------------------------------------------------- */

/* The rows by columns. */
static PoiseErr MakeColumns(PoiseContext ctx, const WholeRows *r, int **ptr, int **row, double **val)
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
static PoiseErr FactorRows(PoisePC pc, WholeRows *all, bool only, Result *result)
{
  SparseLU *lu = Of(pc);
  int *ptr = NULL, *row = NULL;
  double *val = NULL;
  PoiseErr e = MakeColumns(pc->ctx, all, &ptr, &row, &val);
  poiseWholeRowsDestroy(pc->ctx, all);
  if (!e)
    return poiseSuperLUFactor(pc->ctx, lu->first.layout->N, &ptr, &row, &val,
                              (FactorHow){poiseLUIsDefinite(pc), only}, &lu->factors, &result->singular,
                              &result->facts);
  poiseFree(pc->ctx, &ptr);
  poiseFree(pc->ctx, &row);
  poiseFree(pc->ctx, &val);
  return e;
}

static PoiseErr Allocate(PoisePC pc)
{
  SparseLU *lu = Of(pc);
  pc->generation++;
  TRY(poiseFirstCreate(pc, &lu->first));
  return poiseOnFirst(pc) ? poiseAllocArray(pc->ctx, lu->first.layout->N, sizeof *lu->x,
                                            "solution of sparse factors", &lu->x)
                          : POISE_OK;
}

/* Collective; agrees. */
static PoiseErr Factor(PoisePC pc, bool only)
{
  WholeRows all = {0};
  Result result = {0};
  Comm *comm = pc->ctx->comm;
  TRY(poiseFirstPrepare(pc, &Of(pc)->first, Allocate, Release));
  PoiseErr e = poiseFirstRows(pc, &Of(pc)->first, &all);
  if (!e) e = PoiseAgree(pc->ctx, poiseOnFirst(pc) ? FactorRows(pc, &all, only, &result) : POISE_OK);
  poiseWholeRowsDestroy(pc->ctx, &all);
  TRY(e);
  TRY(comm->ops->bcast(comm, &result, sizeof result, 0));
  Of(pc)->facts = result.facts;
  return poiseLURefuse(pc, &result.singular);
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

/* Room for so many columns. Local. */
static PoiseErr ReadyColumns_Sparse(PoisePC pc, int columns)
{
  SparseLU *lu = Of(pc);
  size_t bytes = (size_t)(2 * columns * lu->first.layout->N) * sizeof *lu->x;
  if (columns == 1 || !poiseOnFirst(pc) || poiseAllocated(lu->x) >= (int64_t)bytes) return POISE_OK;
  return poiseResize(pc->ctx, bytes, "solutions of sparse factors", &lu->x);
}

/* SuperLU's X is by columns. It stands behind the one by rows. */
static PoiseErr SolveColumns(SparseLU *lu, int k)
{
  int64_t n = lu->first.layout->N;
  double *x = lu->x + k * n;
  for (int64_t i = 0; i < n; i++)
    for (int c = 0; c < k; c++) x[c * n + i] = lu->x[i * k + c];
  TRY(poiseSuperLUSolve(lu->factors, k, x));
  for (int64_t i = 0; i < n; i++)
    for (int c = 0; c < k; c++) lu->x[i * k + c] = x[c * n + i];
  return POISE_OK;
}

static PoiseErr Solve(PoisePC pc, int columns)
{
  SparseLU *lu = Of(pc);
  if (!poiseOnFirst(pc) || !lu->first.layout->N) return POISE_OK;
  return columns > 1 ? SolveColumns(lu, columns) : poiseSuperLUSolve(lu->factors, 1, lu->x);
}

/* Of any number of columns. The exchanges take place whatever fails. */
static PoiseErr Apply_Sparse(PoisePC pc, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse)
{
  SparseLU *lu = Of(pc);
  const double *from = NULL;
  double *to = NULL;
  int columns = poiseVecColumns(r);
  PoiseErr e = poiseBufferRead(&r->data, HOST, &from);
  if (!e) e = poiseBufferWrite(&z->data, HOST, &to);
  TRY(PoiseAgree(pc->ctx, e));
  e = poiseFirstTake(pc, &lu->first, columns, from, lu->x);
  if (!e) e = Solve(pc, columns);
  TRY(PoiseAgree(pc->ctx, e));
  TRY(poiseFirstGive(pc, &lu->first, columns, lu->x, to));
  return poiseVecFuse(z, skip, fuse);
}

static void Cost_Sparse(PoisePC pc, double *flops, double *bytes)
{
  const SparseLU *lu = Of(pc);
  *flops = poiseOnFirst(pc) ? 2 * lu->facts.entries : 0;
  *bytes = poiseOnFirst(pc) ? lu->facts.bytes : 0;
}

static PoiseErr View_Sparse(PoisePC pc)
{
  static const char *const orders[] = {"that of A", "COLAMD", "minimum degree of A + A^T",
                                       "nested dissection of A + A^T"};
  const SparseLU *lu = Of(pc);
  char bytes[24];
  if (!lu->first.layout || lu->facts.entries == 0) return POISE_OK;
  poiseBytesText(lu->facts.bytes, bytes);
  double condition = poiseOnFirst(pc) ? poiseSuperLUCondition(lu->factors) : 0;
  return poisePrint(pc->ctx,
                    "  sparse factors of %lld rows by SuperLU, %.3g entries (%.3g foreseen), %s on the first "
                    "rank; order: %s; condition (1-norm, scaled) about %.1e\n",
                    (long long)lu->first.layout->N, lu->facts.entries, lu->facts.foreseen.entries, bytes,
                    orders[lu->facts.order], condition);
}

/* A's columns, the factors, and orders and scales of rows and columns. */
static void Bytes_Sparse(PoisePC pc, PoiseBytes *sum)
{
  const SparseLU *lu = Of(pc);
  sum->host += poiseAllocated(lu->x);
  if (poiseOnFirst(pc)) sum->host += (int64_t)lu->facts.bytes + poiseSuperLUBytes(lu->factors);
}

static PoiseErr Predict_Sparse(PoisePC pc, const MatPlan *plan, PoisePrediction *p)
{
  (void)plan;
  if (poiseOnFirst(pc)) p->least.host += 8 * pc->P->rows->N, p->most.host += 8 * pc->P->rows->N;
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
    .apply_columns = Apply_Sparse,
    .ready_columns = ReadyColumns_Sparse,
    .cost = Cost_Sparse,
    .view = View_Sparse,
    .bytes = Bytes_Sparse,
    .predict = Predict_Sparse,
    .destroy = Destroy_Sparse,
};
