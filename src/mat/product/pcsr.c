/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Form pcsr: every rank multiplies the same number of nonzeros, after pCSR (Chen and others 2020). A has the
  plain CSR of its own rows. Where the rows of ranks have equal nonzeros as they are, it has another form.

  Else the nonzeros are cut into equal ranges. A rank multiplies what it keeps of its rows, whose values stay
  in A's array, and what it takes of other ranks' rows, whose values are copied. Results for those rows travel
  to their owners, who add them in the order of ranks.
*/
#include "mat/object/mat_type.h"
#include "pcsr.h"

/* ---- values ---------------------------------------------------------------------------------- */

static int64_t Numbers(PoiseMat A) /* in an entry */
{
  return poiseCsrSide(&A->csr) * poiseCsrSide(&A->csr);
}

/* The values that are kept are those of A, wherever these are at present. */
static PoiseErr PointAtValues(PoiseMat A)
{
  const Parts *t = A->parts;
  double *val;
  TRY(poiseBufferRead(&A->csr.val, DEVICE, &val));
  poiseBufferPoint(&t->kept->csr.val, val ? val + t->first * Numbers(A) : NULL);
  return POISE_OK;
}

/* Only what other ranks take goes to the host. */
static PoiseErr CollectGiven(PoiseMat A)
{
  const Parts *t = A->parts;
  Device *dev = A->ctx->device;
  const double *val;
  double *out = t->out;
  TRY(poiseBufferRead(&A->csr.val, DEVICE, &val));
  for (int q = 0; q < PoiseSize(A->ctx); q++) {
    if (!t->give[q]) continue;
    TRY(poiseDeviceCopy(dev, out, val + t->place[q] * Numbers(A), (size_t)t->give[q], COPY_TO_HOST));
    out += t->give[q] / (int64_t)sizeof *out;
  }
  return poiseDeviceSync(dev);
}

static PoiseErr TakeValues(PoiseMat A)
{
  Parts *t = A->parts;
  Comm *comm = A->ctx->comm;
  double *in = NULL;
  const double *there;
  PoiseErr e = PointAtValues(A);
  if (!e) e = CollectGiven(A);
  if (!e) e = poiseBufferWrite(&t->taken->csr.val, HOST, &in);
  TRY(PoiseAgree(A->ctx, e));
  TRY(comm->ops->alltoallv(comm, t->out, t->give, in, t->take));
  TRY(PoiseAgree(A->ctx, poiseBufferRead(&t->taken->csr.val, DEVICE, &there)));
  t->kept->version.values++, t->taken->version.values++;
  t->made.values = A->version.values;
  return POISE_OK;
}

/* ---- what A asks for ------------------------------------------------------------------------- */

enum { CURRENT, VALUES, PATTERN, UNUSABLE };

static int64_t Stale(PoiseMat A)
{
  const Parts *t = A->parts;
  if (poiseMatCheckUsable(A)) return UNUSABLE;
  if (!t || poiseMatChanged(&t->made, A) & PARTS_DEPEND || t->block_size != A->block_size) return PATTERN;
  return t->split && poiseMatChanged(&t->made, A) & CHANGED_VALUES ? VALUES : CURRENT;
}

static PoiseErr Make(PoiseMat A)
{
  poisePartsDestroy(A);
  PoiseErr e = poisePartsBuild(A);
  if (!e && A->parts->split) {
    A->parts->kept->product.silent = A->parts->taken->product.silent = true; /* A's is logged */
    e = TakeValues(A);
  }
  if (!e && A->parts->split) e = PoiseAgree(A->ctx, poisePartsReady(A));
  if (e) poisePartsDestroy(A);
  A->product.made = (Version){0}; /* which has another form */
  return e;
}

PoiseErr poisePartsFollow(PoiseMat A)
{
  if (PoiseSize(A->ctx) == 1) return POISE_OK;
  if (!A->asked.parted) poisePartsDestroy(A);
  if (!A->asked.parted) return POISE_OK;
  int64_t stale = Stale(A);
  TRY(poiseCommMaxInt(A->ctx->comm, &stale, 1));
  if (stale == PATTERN) return Make(A);
  return stale == VALUES ? TakeValues(A) : POISE_OK; /* of UNUSABLE the caller speaks */
}

/* ---- the form -------------------------------------------------------------------------------- */

static PoiseErr Launch(Product *p, ProductPart part, const ProductArgs *a)
{
  return a->columns ? poiseProductLaunchColumns(p, part, a) : p->form->launch(p, part, a);
}

/* Both parts have the same ghosts, and are launched together. */
static PoiseErr Launch_PCSR(Product *p, ProductPart part, const ProductArgs *a)
{
  Parts *t = p->A->parts;
  Halo *owners = poiseHaloOf(t->owners, a->columns);
  ProductArgs more = *a;
  if (part != REST) TRY(poiseHaloGhostWrite(owners, &t->results)); /* the rest adds to what is there */
  more.y = t->results;
  TRY(Launch(&t->kept->product, part, a));
  return Launch(&t->taken->product, part, &more);
}

static PoiseErr Ready_PCSR(Product *p)
{
  const Parts *t = p->A->parts;
  TRY(PointAtValues(p->A));
  TRY(poiseProductReady(&t->kept->product));
  return poiseProductReady(&t->taken->product);
}

const ProductForm poiseForm_pcsr = {
    .name = "pcsr", .ready = Ready_PCSR, .launch = Launch_PCSR, .launch_columns = Launch_PCSR};

PoiseErr poisePartsReady(PoiseMat A)
{
  Parts *t = A->parts;
  PoiseErr e = PointAtValues(A);
  PoiseErr kept = poiseMatReady(t->kept), taken = poiseMatReady(t->taken); /* collective */
  if (!e) e = kept ? kept : taken;
  return e ? e : poiseHaloReady(t->owners);
}

PoiseErr poisePartsReadyColumns(PoiseMat A, int k)
{
  const Parts *t = A->parts;
  TRY(poiseMatReadyColumns(t->kept, k)); /* with the halo of both */
  TRY(poiseMatReadyColumns(t->taken, k));
  return poiseHaloReadyColumns(t->owners, k);
}

/* ---- view and bytes -------------------------------------------------------------------------- */

void poisePartsBytes(PoiseMat A, PoiseBytes *sum)
{
  const Parts *t = A->parts;
  PoiseBytes kept = {0}, taken = {0}, shared = {0};
  if (!t || !t->split) return;
  if (PoiseMatBytes(t->kept, &kept, NULL) || PoiseMatBytes(t->taken, &taken, NULL)) return;
  poiseHaloBytes(t->kept->csr.halo, &shared); /* counted by both */
  poiseHaloBytes(t->owners, sum);
  sum->host += kept.host + taken.host - shared.host + poiseAllocated(t->out) + poiseAllocated(t->give) +
               poiseAllocated(t->take) + poiseAllocated(t->place);
  sum->device += kept.device + taken.device - shared.device;
}

/* The nonzeros of each rank's part, or those of the parts with the fewest and the most. */
static PoiseErr ViewNonzeros(PoiseContext ctx, double nonzeros)
{
  enum { FEW = 8 };
  double of[FEW] = {0}, range[] = {-nonzeros, nonzeros};
  int size = PoiseSize(ctx);
  if (size > FEW) {
    TRY(PoiseMax(ctx, 2, range));
    return poisePrint(ctx, "    nonzeros of parts: %.0f to %.0f\n", -range[0], range[1]);
  }
  of[PoiseRank(ctx)] = nonzeros;
  TRY(PoiseSum(ctx, size, of));
  TRY(poisePrint(ctx, "    nonzeros of parts:"));
  for (int q = 0; q < size; q++) TRY(poisePrint(ctx, " %.0f", of[q]));
  return poisePrint(ctx, "\n");
}

/* The time of each rank's product, without what travels, is predicted: its bytes at the rate of its device's
   memory. A host's rate is not known; there all are taken to be alike. */
static PoiseErr ViewTime(PoiseMat A)
{
  double rate = A->ctx->device->model.bandwidth, seconds = poiseMatTraffic(A) / (rate > 0 ? rate : 1);
  double most = seconds, sum = seconds;
  TRY(PoiseMax(A->ctx, 1, &most));
  TRY(PoiseSum(A->ctx, 1, &sum));
  return poisePrint(A->ctx, "    time of a part, predicted from its bytes, at most %.3f times the mean\n",
                    sum > 0 ? most * PoiseSize(A->ctx) / sum : 1);
}

static PoiseErr ViewSplit(PoiseMat A)
{
  const Parts *t = A->parts;
  bool is_host = A->ctx->device->ops->is_host;
  PoiseBytes held = {0};
  char bytes[24];
  poisePartsBytes(A, &held);
  double sum[] = {(double)t->rows, (double)t->owners->nghost, (double)(poiseCsrScalars(&t->taken->csr)),
                  (double)(is_host ? held.host : held.device)};
  TRY(PoiseSum(A->ctx, 4, sum));
  if (t->machines > 1)
    TRY(poisePrint(A->ctx, "    shares of %d machines, then of their ranks\n", t->machines));
  TRY(poisePrint(A->ctx, "    %.0f rows are cut; %.0f results of %.0f nonzeros travel to owners of rows\n",
                 sum[0], sum[1], sum[2]));
  return poisePrint(A->ctx, "    parts hold %s on the %s beside A\n", poiseBytesText(sum[3], bytes),
                    is_host ? "host" : "device");
}

PoiseErr poisePartsView(PoiseMat A)
{
  const Parts *t = A->parts;
  PoiseContext ctx = A->ctx;
  if (!A->asked.parted) return POISE_OK;
  if (PoiseSize(ctx) == 1) return poisePrint(ctx, "    pcsr: one part, of type %s\n", A->asked.type->name);
  if (!t || poiseMatChanged(&t->made, A) & PARTS_DEPEND)
    return poisePrint(ctx, "    pcsr: parts are made for the first product\n");
  double nz = (double)poiseCsrScalars(t->split ? &t->kept->csr : &A->csr);
  if (t->split) nz += (double)poiseCsrScalars(&t->taken->csr);
  TRY(poisePrint(ctx, "    pcsr: %s, of type %s; nonzeros of a part at most %.3f times %s\n",
                 t->split ? "parts of rows" : "whole rows where they are", A->asked.type->name, t->over,
                 A->asked.bound ? "its share" : "the mean"));
  TRY(ViewNonzeros(ctx, nz));
  TRY(ViewTime(A));
  if (!t->split) return POISE_OK;
  TRY(ViewSplit(A));
  return poiseProductView(t->kept);
}

void poisePartsDestroy(PoiseMat A)
{
  Parts *t = A->parts;
  PoiseContext ctx = A->ctx;
  if (!t) return;
  if (t->taken && t->kept && t->taken->csr.halo == t->kept->csr.halo) t->taken->csr.halo = NULL; /* lent */
  PoiseMatDestroy(&t->taken);
  PoiseMatDestroy(&t->kept);
  poiseHaloDestroy(&t->owners);
  poiseFree(ctx, &t->give);
  poiseFree(ctx, &t->take);
  poiseFree(ctx, &t->place);
  poiseFree(ctx, &t->out);
  poiseFree(ctx, &A->parts);
}
