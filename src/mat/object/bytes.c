/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes that a matrix holds, and a prediction of bytes that it will hold. */
#include "bytes.h"
#include "mat/assembly/triplets.h"
#include "mat/multiply/multiply.h"
#include "mat/product/pcsr.h"
#include "mat_type.h"

static void VecBytes(PoiseVec x, PoiseBytes *sum)
{
  if (x) poiseBufferAdd(&x->data, sum);
}

PoiseErr PoiseMatBytes(PoiseMat A, PoiseBytes *bytes, int64_t *plain)
{
  CALLED(OBJECT(A), GIVEN(bytes));
  const Csr *c = &A->csr;
  const NullSpace *spaces[] = {&A->null, &A->left, &A->near};
  *bytes = (PoiseBytes){0};
  if (plain) *plain = A->assembled ? 8 * poiseCsrScalars(c) + 4 * c->nz + (c->m + 1) * (c->wide ? 8 : 4) : 0;
  poiseBufferAdd(&c->ptr, bytes);
  poiseBufferAdd(&c->col, bytes);
  poiseBufferAdd(&c->val, bytes);
  poiseBufferAdd(&A->blocks.order, bytes);
  poiseBufferAdd(&A->blocks.index16.code, bytes);
  poiseBufferAdd(&A->blocks.index16.base, bytes);
  poiseHaloBytes(c->halo, bytes);
  bytes->host += poiseAllocated(c->ghost) + poiseAllocated(A->fills);
  poiseTripletsBytes(A->assembly.triplets, bytes);
  poiseMultipliedBytes(A->multiplied, bytes);
  poiseProductAddBytes(&A->product, bytes);
  poiseProductAddBytes(&A->transposed, bytes);
  poiseProductAddBytes(&A->several, bytes);
  for (int s = 0; s < 3; s++)
    for (int k = 0; k < spaces[s]->n; k++) VecBytes(spaces[s]->v[k], bytes);
  poisePartsBytes(A, bytes);
  if (A->type->bytes) A->type->bytes(A, bytes);
  return POISE_OK;
}

/* ---- what one will hold ---------------------------------------------------------------------- */

static PoiseErr CheckCounts(PoiseMat A, const PoiseMatCounts *n, int64_t b)
{
  int64_t rows = A->rows->n, most = INT64_MAX >> 16;
  if (n->nonzeros < 0 || n->ghosts < 0 || n->sends < 0)
    FAIL(POISE_ERR_ARG, "a matrix of %lld nonzeros, %lld ghosts and %lld sends", (long long)n->nonzeros,
         (long long)n->ghosts, (long long)n->sends);
  if (PoiseSize(A->ctx) == 1 && (n->ghosts || n->sends))
    FAIL(POISE_ERR_ARG, "%lld ghosts and %lld sends on one rank, which has none", (long long)n->ghosts,
         (long long)n->sends);
  if (n->ghosts > n->nonzeros)
    FAIL(POISE_ERR_ARG, "%lld ghosts, which are columns of %lld nonzeros", (long long)n->ghosts,
         (long long)n->nonzeros);
  if (n->nonzeros % (b * b) || n->ghosts % b || n->sends % b)
    FAIL(POISE_ERR_ARG, "%lld nonzeros, %lld ghosts and %lld sends are not of whole blocks of %d x %d",
         (long long)n->nonzeros, (long long)n->ghosts, (long long)n->sends, (int)b, (int)b);
  if (n->nonzeros > most || rows > most || n->ghosts > most || n->sends > most)
    FAIL(POISE_ERR_MEMORY, "no machine holds %lld nonzeros in %lld rows", (long long)n->nonzeros,
         (long long)rows);
  return POISE_OK;
}

/* Bounds on the number of thread blocks of a product of the CSR. */
static void PlanBlocks(PoiseContext ctx, MatPlan *plan)
{
  const ProductRequest request = poiseStoredRequest(plan->b);
  ProductBounds bounds;
  poiseProductBounds(&ctx->device->model, &request, plan->m, plan->nz, &bounds);
  for (int k = 0; k < 2; k++) plan->nblock[k] = (plan->m + bounds.rows[1 - k] - 1) / bounds.rows[1 - k];
}

static PoiseErr PlanCounts(PoiseMat A, const PoiseMatCounts *n, MatPlan *plan)
{
  int64_t b = A->asked.type->blocked ? A->block_size : 1;
  if (A->asked.find) FAIL(POISE_ERR_STATE, "the block size is to be found when there are entries");
  TRY(CheckCounts(A, n, b));
  *plan = (MatPlan){
      .counts = n, .transpose = n->transpose != 0, .nz = n->nonzeros / (b * b), .nghost = n->ghosts / b};
  plan->b = A->asked.type->blocked ? (int)b : 0;
  plan->m = A->rows->n / b, plan->nloc = A->cols->n / b, plan->columns = A->cols->N / b;
  plan->nsend = n->sends;
  plan->wide = plan->nz > poiseContextHome(A->ctx)->hooks.most_narrow;
  PlanBlocks(A->ctx, plan);
  return POISE_OK;
}

static PoiseErr PlanAsItIs(PoiseMat A, MatPlan *plan)
{
  const Csr *c = &A->csr;
  if (!A->assembled)
    FAIL(POISE_ERR_STATE, "the matrix has no entries yet: give counts of those that it will have");
  TRY(poiseMatCheckUsable(A));
  *plan = (MatPlan){.m = c->m,
                    .nloc = c->nloc,
                    .columns = c->columns,
                    .nghost = c->nghost,
                    .nz = c->nz,
                    .b = c->b,
                    .wide = c->wide};
  plan->transpose = A->transposed.form != NULL;
  plan->nsend = c->halo ? c->halo->nsend : 0;
  PlanBlocks(A->ctx, plan);
  if (A->blocks.measured == A->version.pattern) plan->nblock[0] = plan->nblock[1] = A->blocks.n;
  return POISE_OK;
}

/* Predict offsets, columns and values. What is on a device alone may be read by the host. So it is for
   blocks, which are made there; numbers are assembled on the host. */
static void PredictEntries(PoiseMat A, const MatPlan *plan, PoisePrediction *p)
{
  const Csr *c = &A->csr;
  const Buffer *all[] = {&c->ptr, &c->col, &c->val};
  int64_t bytes = (plan->m + 1) * (plan->wide ? 8 : 4) + 4 * plan->nz + 8 * poisePlanScalars(plan);
  bool there = A->assembled && plan->nz == c->nz && plan->b == c->b;
  if (!there) poisePredict(A->ctx->device, bytes, plan->b ? ON_DEVICE : ON_BOTH, p);
  if (!there && plan->b) poisePredictRead(A->ctx->device, 0, bytes, p);
  for (int k = 0; there && k < 3; k++) poisePredictBuffer(all[k], p);
}

/* The same, and ghosts with their exchange. */
static void PredictCsr(PoiseMat A, const MatPlan *plan, PoisePrediction *p)
{
  const Device *dev = A->ctx->device;
  PredictEntries(A, plan, p);
  if (PoiseSize(A->ctx) == 1) return;
  poisePredictHost(plan->nghost * (int64_t)sizeof(PoiseInt), p);
  poiseHaloPredict(dev, plan->nghost * poisePlanSide(plan), plan->nsend, p);
}

/* Predict the work vector that composes products of a type without fusion. It may also be a shell that no
   solver has asked. */
static void PredictComposing(PoiseMat A, MatPlan *plan, PoisePrediction *p)
{
  const Device *dev = A->ctx->device;
  int64_t most = 8 * A->rows->n, least = dev->ops->is_host || !A->type->eager ? most : 0;
  poisePredictBetween(dev, least, most, ON_DEVICE, p);
  plan->partials[0] = plan->partials[1] = POISE_NBLOCKS(A->rows->n);
}

PoiseErr poiseMatPredict(PoiseMat A, const PoiseMatCounts *counts, MatPlan *plan, PoisePrediction *p)
{
  const MatType *type = A->asked.type;
  if (!poiseMatHolds(A)) {
    *plan = (MatPlan){.counts = counts, .m = A->rows->n, .nloc = A->cols->n, .columns = A->cols->N};
    PredictComposing(A, plan, p);
    return type->predict ? type->predict(A, plan, p) : POISE_OK;
  }
  TRY(counts ? PlanCounts(A, counts, plan) : PlanAsItIs(A, plan));
  plan->partials[0] = plan->nblock[0], plan->partials[1] = plan->nblock[1];
  PredictCsr(A, plan, p);
  if (A->asked.parted && PoiseSize(A->ctx) > 1) p->beyond = "entries that pcsr multiplies on other ranks";
  TRY(poiseProductPredict(A, plan, p));
  plan->open = counts && poiseMatIsAutoByName(A) && A->assembly.entries && A->block_size > 1;
  return POISE_OK;
}

/* Predict for auto with a block size: it chooses blocks if they take fewer bytes. */
void poisePredictOpen(const MatPlan *plan, PoisePrediction *p)
{
  if (!plan->open) return;
  p->least = (PoiseBytes){0};
  p->beyond = "blocks, which type auto may choose";
}

PoiseErr PoiseMatPredictBytes(PoiseMat A, const PoiseMatCounts *counts, PoisePrediction *p)
{
  CALLED(OBJECT(A), GIVEN(p));
  MatPlan plan;
  *p = (PoisePrediction){.beyond = NULL};
  TRY(poiseMatPredict(A, counts, &plan, p));
  poisePredictOpen(&plan, p);
  return POISE_OK;
}
