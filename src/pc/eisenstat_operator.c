/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The matrix (I + L)^-1 A (I + U)^-1 for A = I + L + U, with k = 2 - omega in place of the I of A where D is
  that of relaxation by omega (eisenstat.c). As A = (I + L) + (I + U) - k I, it is
    y = t + v,    t = (I + U)^-1 x,    v = (I + L)^-1 (x - k t),
  so a product reads each triangle once. By colours t is made from the last one to the first,
    t_c = x_c - U_c t,
  and v in its place from the first one to the last,
    v_c = x_c - k t_c - L_c v,    y_c = t_c + v_c.
*/
#include "eisenstat.h"
#include "vec/vec_kernels.h"
#include "vec/vec_phases.h"

typedef struct Operator {
  Eisenstat *of;
} Operator;

/* y = A x, and its dots. */
static PoiseErr Sweep(Eisenstat *s, const double *x, double *y, const double *skip, const Fuse *fuse)
{
  const Colours *of = &s->copy.colours;
  Product *lower = &s->copy.part[COLOUR_LOWER]->product, *upper = &s->copy.part[COLOUR_UPPER]->product;
  double *t;
  TRY(poiseBufferUpdate(&s->t, DEVICE, &t));
  ProductArgs back = {.a.value = -1, .add = x, .x = t, .y = t, .skip = skip}, forth = back;
  forth.b.value = s->omega - 2, forth.also = y, forth.fuse = fuse;
  for (int c = of->count - 1; c >= 0; c--)
    TRY(poiseProductMultRows(upper, of->start[c], of->start[c + 1], &back));
  for (int c = 0; c < of->count; c++)
    TRY(poiseProductMultRows(lower, of->start[c], of->start[c + 1], &forth));
  return POISE_OK;
}

/* A pass over vectors leaves fewer partial sums than a product: the others are 0. */
static PoiseErr ClearOthers(const Product *p, const Fuse *fuse, int64_t some)
{
  PhaseArgs a = {.id = PHASE_vec_set, .n = poiseProductPartials(p) - some};
  for (int f = 0; fuse && f < fuse->ndot && a.n > 0; f++) {
    a.out[VEC_W] = fuse->partial[f] + some;
    TRY(LAUNCH(p->A->ctx->device, phase, &a));
  }
  return POISE_OK;
}

/* Residuals, which are rare, take another pass over vectors. */
static PoiseErr Launch(Product *p, ProductPart whole, const ProductArgs *a)
{
  Eisenstat *s = ((Operator *)p->A->data)->of;
  int64_t n = p->A->rows->n;
  AxpbyArgs rest = {.n = n, .a = a->a, .b = a->b, .skip = a->skip, .scale = a->scale, .y = a->y};
  double *w;
  (void)whole;
  if (!a->a.slot && a->a.value == 1 && !a->b.slot && a->b.value == 0 && !a->scale)
    return Sweep(s, a->x, a->y, a->skip, a->fuse);
  TRY(poiseBufferUpdate(&s->w, DEVICE, &w));
  TRY(Sweep(s, a->x, w, a->skip, NULL));
  rest.x = w;
  if (a->fuse) rest.fuse = *a->fuse;
  TRY(LAUNCH(p->A->ctx->device, axpby, &rest));
  return ClearOthers(p, a->fuse, POISE_NBLOCKS(n));
}

static const ProductForm form = {.name = "sweeps", .fuses = true, .launch = Launch};

static const MatType type = {.name = "sweeps", .size = sizeof(Operator), .form = &form};

/* A product leaves as many partial sums as the lower part's would. */
static PoiseErr Make(PoisePC pc, Eisenstat *s)
{
  int64_t n = poiseColourCopyNumbers(&s->copy);
  TRY(poiseMatCreateTyped(pc->ctx, &type, n, n, n, n, &s->between));
  ((Operator *)s->between->data)->of = s;
  s->between->assembled = true;
  s->between->product.form = &form;
  return POISE_OK;
}

PoiseErr poiseEisenstatOperator(PoisePC pc, Eisenstat *s)
{
  if (!s->between) TRY(Make(pc, s));
  s->between->blocks.n = s->copy.part[COLOUR_LOWER]->blocks.n;
  s->between->version.values++;
  return POISE_OK;
}
