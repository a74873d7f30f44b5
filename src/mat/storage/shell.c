/* SPDX-License-Identifier: BSD-3-Clause */
/* Type shell: products by the user's functions. */
#include "mat/object/mat.h"

typedef struct Shell {
  PoiseShell functions;
  void *arg;
} Shell;

static PoiseErr Mult_Shell(PoiseMat A, PoiseVec x, PoiseVec y)
{
  const Shell *s = A->data;
  PoiseErrorClear();
  return poiseErrorOfUser(s->functions.mult(s->arg, x, y), "the shell's mult");
}

static PoiseErr MultTranspose_Shell(PoiseMat A, PoiseVec x, PoiseVec y)
{
  const Shell *s = A->data;
  if (!s->functions.mult_transpose)
    FAIL(POISE_ERR_UNSUPPORTED, "the shell matrix was given no mult_transpose");
  PoiseErrorClear();
  return poiseErrorOfUser(s->functions.mult_transpose(s->arg, x, y), "the shell's mult_transpose");
}

/* The diagonal through a vector, which the user's function fills. d may be an array of a preconditioner. */
static PoiseErr Diagonal_Shell(PoiseMat A, int b, double *d)
{
  const Shell *s = A->data;
  const double *p;
  PoiseVec v;
  if (!s->functions.diagonal) FAIL(POISE_ERR_UNSUPPORTED, "the shell matrix was given no diagonal");
  if (b != 1) FAIL(POISE_ERR_UNSUPPORTED, "a shell matrix gives its diagonal, not diagonal blocks of %d", b);
  TRY(poiseVecCreateLayout(A->rows, &v));
  PoiseErrorClear();
  PoiseErr e = poiseErrorOfUser(s->functions.diagonal(s->arg, v), "the shell's diagonal");
  if (!e) e = poiseVecRead(v, &p);
  if (!e) e = poiseDeviceCopy(A->ctx->device, d, p, (size_t)A->rows->n * sizeof(double), COPY_ON_DEVICE);
  if (!e) e = poiseDeviceSync(A->ctx->device);
  PoiseVecDestroy(&v);
  return e;
}

const MatType poiseMatType_shell = {
    .name = "shell",
    .maker = "PoiseMatCreateShell",
    .eager = true,
    .size = sizeof(Shell),
    .mult = Mult_Shell,
    .mult_transpose = MultTranspose_Shell,
    .diagonal = Diagonal_Shell,
};

static PoiseErr CheckFunctions(const PoiseShell *functions)
{
  if (!functions || !functions->mult) FAIL(POISE_ERR_ARG, "a shell matrix needs a mult function");
  return POISE_OK;
}

PoiseErr PoiseMatCreateShell(PoiseContext ctx, PoiseInt m, PoiseInt n, PoiseInt M, PoiseInt N,
                             const PoiseShell *functions, void *arg, PoiseMat *A)
{
  CALLED(OBJECT(ctx), GIVEN(A));
  *A = NULL;
  TRY(PoiseAgree(ctx, CheckFunctions(functions)));
  TRY(poiseMatCreateTyped(ctx, &poiseMatType_shell, m, n, M, N, A));
  *(Shell *)(*A)->data = (Shell){*functions, arg};
  return POISE_OK;
}
