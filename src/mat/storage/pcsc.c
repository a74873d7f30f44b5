/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Type pcsc: a matrix that the application holds by columns, after pCSC (Chen and others 2020). A part is a
  range of columns, with the part of x that they multiply. Its product is a partial result for all rows that
  it touches; partial results are added at the owners of the rows, in the order of ranks.

  The arrays are the CSR of A^T. So A x is the transposed product of that CSR, through its index by row, and
  A^T x is its plain product.
*/
#include "held.h"

typedef struct Pcsc {
  Held held;
} Pcsc;

static const Held *HeldOf(PoiseMat A)
{
  return &((const Pcsc *)A->data)->held;
}

static PoiseErr Ready_PCSC(PoiseMat A)
{
  return poiseHeldReady(HeldOf(A));
}

static PoiseErr ReadyColumns_PCSC(PoiseMat A, bool transposed, int k)
{
  return poiseHeldReadyColumns(HeldOf(A), transposed, k);
}

/* Reads 16 bytes per nonzero: value, its place, and column; values in the order of rows. */
static PoiseErr Mult_PCSC(PoiseMat A, PoiseVec x, PoiseVec y)
{
  return poiseHeldMult(HeldOf(A), false, x, y);
}

static PoiseErr MultTranspose_PCSC(PoiseMat A, PoiseVec x, PoiseVec y)
{
  return poiseHeldMult(HeldOf(A), true, x, y);
}

static PoiseErr Diagonal_PCSC(PoiseMat A, int b, double *d)
{
  return poiseHeldDiagonal(A, HeldOf(A), b, d);
}

static PoiseErr Norm_PCSC(PoiseMat A, PoiseNorm type, double *norm)
{
  return poiseHeldNorm(HeldOf(A), type, norm);
}

static PoiseErr SetValues_PCSC(PoiseMat A, Side where, const double *val)
{
  return poiseHeldSetValues(HeldOf(A), where, val);
}

static PoiseErr View_PCSC(PoiseMat A)
{
  return poiseHeldView(A, HeldOf(A));
}

static void Bytes_PCSC(PoiseMat A, PoiseBytes *sum)
{
  poiseHeldBytes(HeldOf(A), sum);
}

static PoiseErr Predict_PCSC(PoiseMat A, const MatPlan *plan, PoisePrediction *p)
{
  return poiseHeldPredict(HeldOf(A), plan->counts, p);
}

static void Destroy_PCSC(PoiseMat A)
{
  PoiseMatDestroy(&((Pcsc *)A->data)->held.csr);
}

const MatType poiseMatType_pcsc = {
    .name = "pcsc",
    .maker = "PoiseMatCreateCSC",
    .size = sizeof(Pcsc),
    .ready = Ready_PCSC,
    .ready_columns = ReadyColumns_PCSC,
    .mult = Mult_PCSC,
    .mult_transpose = MultTranspose_PCSC,
    .diagonal = Diagonal_PCSC,
    .norm = Norm_PCSC,
    .set_values = SetValues_PCSC,
    .view = View_PCSC,
    .bytes = Bytes_PCSC,
    .predict = Predict_PCSC,
    .destroy = Destroy_PCSC,
};

/* ---- creation -------------------------------------------------------------------------------- */

static PoiseErr Build(PoiseMat A, const PoiseCSC *csc, PoiseOwn own, bool device)
{
  Held *h = &((Pcsc *)A->data)->held;
  h->turned = true;
  TRY(PoiseAgree(
      A->ctx, csc ? POISE_OK
                  : PoiseErrorSet(POISE_ERR_ARG, __func__, __FILE__, __LINE__, "the CSC arrays are NULL")));
  const PoiseCSR columns = {.ptr32 = csc->ptr32,
                            .col32 = csc->row32,
                            .ptr64 = csc->ptr64,
                            .col64 = csc->row64,
                            .val = csc->val,
                            .base = csc->base};
  return poiseHeldCreate(A, &columns, own, device, h);
}

static PoiseErr Create(PoiseContext ctx, PoiseInt m, PoiseInt n, PoiseInt M, PoiseInt N, const PoiseCSC *csc,
                       PoiseOwn own, bool device, PoiseMat *A)
{
  TRY(poiseMatCreateTyped(ctx, &poiseMatType_pcsc, m, n, M, N, A));
  PoiseErr e = Build(*A, csc, own, device);
  if (e) PoiseMatDestroy(A);
  return e;
}

PoiseErr PoiseMatCreateCSC(PoiseContext ctx, PoiseInt m, PoiseInt n, PoiseInt M, PoiseInt N,
                           const PoiseCSC *csc, PoiseOwn own, PoiseMat *A)
{
  CALLED(OBJECT(ctx), WORD(own, POISE_BORROW + 1), GIVEN(A));
  return Create(ctx, m, n, M, N, csc, own, false, A);
}

PoiseErr PoiseMatCreateDeviceCSC(PoiseContext ctx, PoiseInt m, PoiseInt n, PoiseInt M, PoiseInt N,
                                 const PoiseCSC *csc, PoiseOwn own, PoiseMat *A)
{
  CALLED(OBJECT(ctx), WORD(own, POISE_BORROW + 1), GIVEN(A));
  return Create(ctx, m, n, M, N, csc, own, true, A);
}
