/* SPDX-License-Identifier: BSD-3-Clause */
/*
  PC eisenstat: symmetric relaxation, M = (D + L) D^-1 (D + U) with D / omega for D, in the order of colours.
  Applied it is what sor is, but for a factor. A solver, however, can work between its two sweeps (S. C.
  Eisenstat, Efficient implementation of a class of preconditioned conjugate gradient methods, SIAM J. Sci.
  Stat. Comput. 2, 1981): the system
    (D + L)^-1 A (D + U)^-1 y = (D + L)^-1 b,    x = (D + U)^-1 y
  needs no M, and a product with its matrix takes no more than one with A (eisenstat_operator.c). So an
  iteration reads A once, where with sor it reads A twice.

  Here D is divided among both sides, left D right = I, so that it is I and symmetry stays. Vectors are at
  places of colours. On several ranks A is more than the block that sweeps are of, and M is applied.
*/
#include "colours_kernels.h"
#include "eisenstat.h"
#include "mat/multiply/local_product.h"
#include "mat/object/bytes.h"
#include "vec/vec_kernels.h"

static const PoiseOption options[] = {
    {"pc_eisenstat_omega", POISE_OPTION_REAL, offsetof(Eisenstat, omega), "1", 0, 2, NULL,
     "relaxation factor, between 0 and 2"},
    {0},
};

/* ---- set-up ---------------------------------------------------------------------------------- */

/* So many numbers, 0 at first. */
static PoiseErr Room(PoisePC pc, int64_t n, const char *what, Buffer *b, double **there)
{
  size_t bytes = (size_t)n * sizeof **there;
  if (!b->dev || b->bytes != bytes) {
    poiseBufferDestroy(b);
    pc->generation++;
    TRY(poiseBufferCreate(pc->ctx->device, bytes, what, b));
    poiseBufferZero(b);
  }
  return poiseBufferUpdate(b, DEVICE, there);
}

/* D on both sides. A singular block is named. Collective. */
static PoiseErr Divide(PoisePC pc, Eisenstat *s)
{
  static const char what[] = "divided diagonal";
  int b = (int)poiseCsrSide(&pc->P->csr);
  int64_t numbers = pc->P->rows->n * b;
  const int32_t *others;
  ColourDivideArgs a = {.n = pc->P->rows->n / b, .b = b, .factor = 1 / s->omega};
  PoiseErr e = poiseBlocksSetup(pc, &s->inverse, b, false);
  if (!e) e = Room(pc, numbers, what, &s->left, &a.left);
  if (!e) e = Room(pc, numbers, what, &s->right, &a.right);
  if (!e) e = poiseBufferUpdate(&s->inverse.inverse, DEVICE, &a.inverse);
  TRY(poiseMatDiagonalBlocks(pc->P, e, b, a.left)); /* other ranks take part in it */
  if (!s->others.dev) TRY(poiseBufferCreate(pc->ctx->device, sizeof *a.others, what, &s->others));
  poiseBufferZero(&s->others);
  TRY(poiseBufferUpdate(&s->others, DEVICE, &a.others));
  TRY(LAUNCH(pc->ctx->device, colour_divide, &a));
  TRY(poiseBufferRead(&s->others, HOST, &others));
  s->definite = !*others;
  return POISE_OK;
}

static PoiseErr Copy(PoisePC pc, Eisenstat *s)
{
  ColourScales by;
  double *t;
  bool anew;
  TRY(poisePCCheckStored(pc));
  TRY(poiseMatCheckSquare(pc->P));
  TRY(Divide(pc, s));
  TRY(poiseBufferRead(&s->left, DEVICE, &by.left));
  TRY(poiseBufferRead(&s->right, DEVICE, &by.right));
  TRY(poiseColourCopySetup(pc, &by, &s->copy, &anew));
  if (anew || s->made != s->omega) PoiseMatDestroy(&s->between); /* captured loops have its omega */
  s->made = s->omega;
  TRY(Room(pc, poiseColourCopyNumbers(&s->copy), "sweeps by colours", &s->t, &t));
  if (PoiseSize(pc->ctx) > 1) return POISE_OK;
  TRY(Room(pc, poiseColourCopyNumbers(&s->copy), "residual between sweeps", &s->w, &t));
  return poiseEisenstatOperator(pc, s);
}

static PoiseErr SetUp_Eisenstat(PoisePC pc)
{
  Eisenstat *s = pc->data;
  if (!(s->omega > 0 && s->omega < 2)) /* all ranks have the same */
    FAIL(POISE_ERR_OPTION, "pc_eisenstat_omega is %g, not between 0 and 2", s->omega);
  return PoiseAgree(pc->ctx, Copy(pc, s));
}

/* ---- sweeps ---------------------------------------------------------------------------------- */

/* to, at places, = (I + L)^-1 left b */
static PoiseErr Down(PoisePC pc, PoiseVec b, double *to, const double *skip)
{
  Eisenstat *s = pc->data;
  Colours *of = &s->copy.colours;
  ColourMoveArgs move = {
      .n = b->layout->n, .b = poiseCsrSide(&pc->P->csr), .factor = 1, .skip = skip, .y = to};
  ProductArgs half = {.a.value = -1, .b.value = 1, .x = to, .y = to, .skip = skip};
  TRY(poiseBufferRead(&of->place, DEVICE, &move.place));
  TRY(poiseBufferRead(&s->left, DEVICE, &move.d));
  TRY(poiseVecRead(b, &move.x));
  TRY(LAUNCH(pc->ctx->device, colour_to_places, &move));
  for (int c = 1; c < of->count; c++)
    TRY(poiseProductMultRows(&s->copy.part[COLOUR_LOWER]->product, of->start[c], of->start[c + 1], &half));
  return POISE_OK;
}

/* x = right (I + U)^-1 from, which is overwritten */
static PoiseErr Up(PoisePC pc, double *from, PoiseVec x, const double *skip)
{
  Eisenstat *s = pc->data;
  Colours *of = &s->copy.colours;
  ColourMoveArgs move = {
      .n = x->layout->n, .b = poiseCsrSide(&pc->P->csr), .factor = 1, .skip = skip, .x = from};
  ProductArgs half = {.a.value = -1, .b.value = 1, .x = from, .y = from, .skip = skip};
  for (int c = of->count - 2; c >= 0; c--)
    TRY(poiseProductMultRows(&s->copy.part[COLOUR_UPPER]->product, of->start[c], of->start[c + 1], &half));
  TRY(poiseBufferRead(&of->place, DEVICE, &move.place));
  TRY(poiseBufferRead(&s->right, DEVICE, &move.d));
  TRY(skip ? poiseVecUpdate(x, &move.y) : poiseVecWrite(x, &move.y)); /* skipped, x keeps its content */
  return LAUNCH(pc->ctx->device, colour_rows_times, &move);
}

static PoiseErr Apply_Eisenstat(PoisePC pc, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse)
{
  double *t;
  TRY(poiseBufferUpdate(&((Eisenstat *)pc->data)->t, DEVICE, &t));
  TRY(Down(pc, r, t, skip));
  TRY(Up(pc, t, z, skip));
  return poiseVecFuse(z, skip, fuse);
}

/* ---- the system between them ----------------------------------------------------------------- */

/* It is symmetric where A is, if D is divided by its Cholesky factor. */
static PoiseMat Between_Eisenstat(PoisePC pc, bool symmetric)
{
  const Eisenstat *s = pc->data;
  return symmetric && !s->definite ? NULL : s->between;
}

static PoiseErr Into_Eisenstat(PoisePC pc, PoiseVec b, PoiseVec to)
{
  double *there;
  TRY(poiseVecUpdate(to, &there)); /* places without a row keep their 0 */
  return Down(pc, b, there, NULL);
}

/* to = (I + U) right^-1 x */
static PoiseErr Guess_Eisenstat(PoisePC pc, PoiseVec x, PoiseVec to)
{
  Eisenstat *s = pc->data;
  Colours *of = &s->copy.colours;
  ColourMoveArgs move = {.n = x->layout->n, .b = poiseCsrSide(&pc->P->csr), .factor = 1};
  double *t;
  TRY(poiseBufferUpdate(&s->t, DEVICE, &t));
  TRY(poiseBufferRead(&of->place, DEVICE, &move.place));
  TRY(poiseBufferRead(&s->inverse.inverse, DEVICE, &move.d));
  TRY(poiseVecRead(x, &move.x));
  TRY(poiseVecUpdate(to, &move.y)); /* places without a row keep their 0 */
  move.to = t;
  TRY(LAUNCH(pc->ctx->device, colour_to_places, &move));
  ProductArgs add = {.a.value = 1, .b.value = 1, .x = t, .y = move.y};
  return poiseProductMultRows(&s->copy.part[COLOUR_UPPER]->product, 0, of->start[of->count], &add);
}

static PoiseErr OutOf_Eisenstat(PoisePC pc, PoiseVec from, PoiseVec x)
{
  double *there;
  TRY(poiseVecUpdate(from, &there));
  return Up(pc, there, x, NULL);
}

/* ---- what it takes --------------------------------------------------------------------------- */

static double Once_Eisenstat(PoisePC pc)
{
  double b = (double)poiseCsrSide(&pc->P->csr), n = (double)pc->P->csr.m;
  return poiseColourCopyTraffic(&((const Eisenstat *)pc->data)->copy) + 16 * b * b * n;
}

static void Cost_Eisenstat(PoisePC pc, double *flops, double *bytes)
{
  double b = (double)poiseCsrSide(&pc->P->csr), n = (double)pc->P->csr.m;
  *flops = 2 * (double)poiseCsrScalars(&pc->P->csr);
  *bytes = Once_Eisenstat(pc) + (48 * b + 8) * n;
}

static PoiseErr View_Eisenstat(PoisePC pc)
{
  const Eisenstat *s = pc->data;
  TRY(poisePrint(pc->ctx, "  symmetric sweeps, omega %g\n", s->omega));
  return poiseColourCopyPrint(pc, &s->copy);
}

static void Bytes_Eisenstat(PoisePC pc, PoiseBytes *sum)
{
  const Eisenstat *s = pc->data;
  poiseColourCopyBytes(&s->copy, sum);
  poiseBlocksBytes(&s->inverse, sum);
  poiseBufferAdd(&s->left, sum);
  poiseBufferAdd(&s->right, sum);
  poiseBufferAdd(&s->others, sum);
  poiseBufferAdd(&s->t, sum);
  poiseBufferAdd(&s->w, sum);
}

static PoiseErr Predict_Eisenstat(PoisePC pc, const MatPlan *plan, PoisePrediction *p)
{
  poiseBlocksPredict(pc, (int)poisePlanSide(plan), p);
  poisePredict(pc->ctx->device, sizeof(int32_t), ON_BOTH, p);
  poisePredict(pc->ctx->device, 16 * poisePlanSide(plan) * pc->P->rows->n, ON_DEVICE, p);
  poiseColourCopyPredict(pc, PoiseSize(pc->ctx) > 1 ? 1 : 2, plan, p);
  return POISE_OK;
}

static void Destroy_Eisenstat(PoisePC pc)
{
  Eisenstat *s = pc->data;
  PoiseMatDestroy(&s->between);
  poiseColourCopyDestroy(pc->ctx, &s->copy);
  poiseBlocksDestroy(&s->inverse);
  poiseBufferDestroy(&s->left);
  poiseBufferDestroy(&s->right);
  poiseBufferDestroy(&s->others);
  poiseBufferDestroy(&s->t);
  poiseBufferDestroy(&s->w);
}

const PCType poisePCType_eisenstat = {
    .name = "eisenstat",
    .transpose = PC_OF_TRANSPOSE,
    .size = sizeof(Eisenstat),
    .options = options,
    .live = true,
    .setup = SetUp_Eisenstat,
    .apply = Apply_Eisenstat,
    .between = Between_Eisenstat,
    .into = Into_Eisenstat,
    .guess = Guess_Eisenstat,
    .out_of = OutOf_Eisenstat,
    .cost = Cost_Eisenstat,
    .once = Once_Eisenstat,
    .view = View_Eisenstat,
    .bytes = Bytes_Eisenstat,
    .predict = Predict_Eisenstat,
    .destroy = Destroy_Eisenstat,
};
