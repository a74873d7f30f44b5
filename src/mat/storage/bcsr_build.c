/* SPDX-License-Identifier: BSD-3-Clause */
/* Build matrices of blocks from users' arrays, and convert them from and to CSR. */
#include "mat/product/bcsr_kernels.h"
#include "blocks.h"
#include "from_blocks_kernels.h"
#include "mat/csr/replace.h"
#include "mat/csr/adopt.h"
#include "mat/csr/entries.h"
#include "mat/csr/ghosts.h"
#include "mat/object/mat_type.h"
#include "sys/device/host_loop.h"

/* ---- from arrays ----------------------------------------------------------------------------- */

static PoiseErr CheckSize(PoiseInt size, int b, const char *what)
{
  if (size != POISE_DECIDE && size % b)
    FAIL(POISE_ERR_SIZE, "block size %d does not divide the %lld %s", b, (long long)size, what);
  return POISE_OK;
}

static PoiseErr Check(int b, PoiseInt m, PoiseInt n, PoiseInt M, PoiseInt N, const PoiseBCSR *in,
                      PoiseOwn own)
{
  if (b < 1 || b > MAX_BLOCK_SIZE)
    FAIL(POISE_ERR_ARG, "block size %d is not between 1 and %d", b, MAX_BLOCK_SIZE);
  TRY(CheckSize(m, b, "local rows"));
  TRY(CheckSize(n, b, "local columns"));
  TRY(CheckSize(M, b, "rows"));
  TRY(CheckSize(N, b, "columns"));
  if (!in) FAIL(POISE_ERR_ARG, "the BCSR arrays are NULL");
  if (in->row_major && b > 1 && own != POISE_COPY)
    FAIL(POISE_ERR_ARG, "blocks are kept column-major, so row-major ones cannot be %s",
         own == POISE_ADOPT ? "adopted" : "borrowed");
  return POISE_OK;
}

/* Choose a local size of whole blocks, if it is left to the library. */
static void Split(PoiseContext ctx, int b, PoiseInt *n, PoiseInt N)
{
  PoiseInt begin;
  if (*n != POISE_DECIDE || N == POISE_DECIDE) return;
  PoiseSplit(ctx, N / b, &begin, n);
  *n *= b;
}

/* Transpose every block, in an array of the library's own, on the side where the blocks are. */
static PoiseErr TurnInto(PoiseMat A, Buffer *turned)
{
  Csr *c = &A->csr;
  Device *dev = A->ctx->device;
  BcsrTransposeBlocksArgs t = {.n = c->nz, .b = c->b};
  TRY(poiseBufferCreate(dev, c->val.bytes, "values", turned));
  TRY(poiseBufferRead(&c->val, DEVICE, &t.x));
  TRY(poiseBufferWrite(turned, DEVICE, &t.out));
  return LAUNCH(dev, bcsr_transpose_blocks, &t);
}

static PoiseErr TransposeEachBlock(PoiseMat A)
{
  Buffer turned = {0};
  PoiseErr e = TurnInto(A, &turned);
  poiseBufferDestroy(e ? &turned : &A->csr.val);
  if (!e) A->csr.val = turned;
  return e;
}

static PoiseErr Fill(PoiseMat A, int b, const PoiseBCSR *in, PoiseOwn own, bool device)
{
  const PoiseCSR csr = {.ptr32 = in->ptr32,
                        .ptr64 = in->ptr64,
                        .col32 = in->col32,
                        .col64 = in->col64,
                        .val = in->val,
                        .base = in->base};
  A->block_size = A->csr.b = b;
  poiseMatUse(A, &poiseMatType_bcsr, b);
  TRY(device ? poiseCsrBuildDevice(A, &csr, own) : poiseCsrBuild(A, &csr, own));
  A->assembled = true;
  return PoiseAgree(A->ctx, in->row_major && b > 1 ? TransposeEachBlock(A) : POISE_OK);
}

static PoiseErr Create(PoiseContext ctx, int b, PoiseInt m, PoiseInt n, PoiseInt M, PoiseInt N,
                       const PoiseBCSR *bcsr, PoiseOwn own, bool device, PoiseMat *A)
{
  *A = NULL;
  TRY(poiseMatAgreeBlockSize(ctx, Check(b, m, n, M, N, bcsr, own), b));
  Split(ctx, b, &m, M);
  Split(ctx, b, &n, N);
  TRY(poiseMatCreateTyped(ctx, &poiseMatType_bcsr, m, n, M, N, A));
  (*A)->asked.settled = true;
  poiseLogBegin(ctx, EVENT_MatAssemble);
  PoiseErr e = Fill(*A, b, bcsr, own, device);
  poiseLogEnd(ctx, EVENT_MatAssemble, 0, 0);
  if (e) PoiseMatDestroy(A);
  return e;
}

PoiseErr PoiseMatCreateBCSR(PoiseContext ctx, int b, PoiseInt m, PoiseInt n, PoiseInt M, PoiseInt N,
                            const PoiseBCSR *bcsr, PoiseOwn own, PoiseMat *A)
{
  CALLED(OBJECT(ctx), WORD(own, POISE_BORROW + 1), GIVEN(A));
  return Create(ctx, b, m, n, M, N, bcsr, own, false, A);
}

PoiseErr PoiseMatCreateDeviceBCSR(PoiseContext ctx, int b, PoiseInt m, PoiseInt n, PoiseInt M, PoiseInt N,
                                  const PoiseBCSR *bcsr, PoiseOwn own, PoiseMat *A)
{
  CALLED(OBJECT(ctx), WORD(own, POISE_BORROW + 1), GIVEN(A));
  return Create(ctx, b, m, n, M, N, bcsr, own, true, A);
}

/* ---- from CSR and back ----------------------------------------------------------------------- */

/* Columns of other ranks, of numbers. */
static PoiseErr ListGhosts(PoiseMat A, Csr *made)
{
  const Csr *c = &A->csr;
  int64_t b = c->b;
  made->nloc = c->nloc * b, made->nghost = c->nghost * b;
  if (made->nghost > INT32_MAX - made->nloc) return poiseTooManyGhosts(A->ctx, made->nghost);
  TRY(poiseAllocArray(A->ctx, made->nghost, sizeof *made->ghost, "ghost columns", &made->ghost));
  for (int64_t k = 0; k < made->nghost; k++) made->ghost[k] = c->ghost[k / b] * b + k % b;
  return POISE_OK;
}

/* A CSR of all scalars of the blocks, zeros too, where these are. */
static PoiseErr MakeScalars(PoiseMat A, Csr *made)
{
  Csr *c = &A->csr;
  Device *dev = A->ctx->device;
  FromBlocksArgs a = {.n = c->m * c->b + 1};
  made->nz = poiseCsrScalars(c);
  made->wide = made->nz > poiseContextHome(A->ctx)->hooks.most_narrow;
  size_t nz = (size_t)made->nz;
  TRY(ListGhosts(A, made));
  TRY(poiseCsrView(c, &a.A));
  TRY(poiseBufferCreate(dev, (size_t)a.n * (made->wide ? 8 : 4), "row offsets", &made->ptr));
  TRY(poiseBufferCreate(dev, nz * sizeof *a.col, "columns", &made->col));
  TRY(poiseBufferCreate(dev, nz * sizeof *a.val, "values", &made->val));
  TRY(poiseBufferWrite(&made->ptr, DEVICE, made->wide ? (void *)&a.ptr64 : (void *)&a.ptr32));
  TRY(poiseBufferWrite(&made->col, DEVICE, &a.col));
  TRY(poiseBufferWrite(&made->val, DEVICE, &a.val));
  return LAUNCH(dev, from_blocks, &a);
}

PoiseErr poiseMatToBlocks(PoiseMat A)
{
  PoiseErr e = A->asked.type->blocked ? POISE_OK : poiseMatCheckUsable(A);
  bool found = A->asked.find;
  int before = A->block_size;
  if (found) TRY(PoiseAgree(A->ctx, e));
  if (found) TRY(poiseMatTakeBlockSize(A));
  if (found && A->block_size == 1) {
    poiseMatDropBlocks(A);
    return POISE_OK;
  }
  Csr made = {.b = A->block_size};
  poiseLogBegin(A->ctx, EVENT_MatConvert);
  if (!e) e = poiseMatMakeBlocks(A, A->block_size, &made);
  e = poiseMatReplaceAs(A, e, NULL, &made);
  poiseLogEnd(A->ctx, EVENT_MatConvert, 0, 0);
  if (e && found) A->block_size = before, A->asked.find = true;
  return e;
}

PoiseErr poiseMatFromBlocks(PoiseMat A)
{
  Csr made = {0};
  poiseLogBegin(A->ctx, EVENT_MatConvert);
  PoiseErr e = poiseMatReplaceAs(A, MakeScalars(A, &made), NULL, &made);
  poiseLogEnd(A->ctx, EVENT_MatConvert, 0, 0);
  return e;
}

/* ---- host kernel ----------------------------------------------------------------------------- */

HOST_ITEMS(from_blocks, FromBlocksArgs, from_blocks_row(a, i, 0, 1))
