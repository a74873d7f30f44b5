/* SPDX-License-Identifier: BSD-3-Clause */
/* The order of rows by colours, for references, and matrices of blocks. */
#ifndef POISE_TEST_COLOUR_ORDER_H
#define POISE_TEST_COLOUR_ORDER_H

#include "harness.h"
#include "mat/product/product_model.h"
#include "pc/colours.h"
#include "shapes.h"

typedef struct Order { /* on the host */
  Colours of;
  const uint8_t *colour;
  const int32_t *place, *row;
} Order;

static inline bool OpenOrder(PoisePC pc, int unit, Order *o)
{
  *o = (Order){.colour = NULL};
  if (!CHECK_OK(poiseColoursFind(pc, unit, &o->of))) return false;
  return CHECK_OK(poiseBufferRead(&o->of.colour, HOST, &o->colour)) &&
         CHECK_OK(poiseBufferRead(&o->of.place, HOST, &o->place)) &&
         CHECK_OK(poiseBufferRead(&o->of.row, HOST, &o->row));
}

/* The rows of blocks of b of this rank, in order. */
static inline int *Sequence(const Order *o)
{
  int *rows = malloc((size_t)(o->of.n + 1) * sizeof *rows), n = 0;
  for (int64_t p = 0; p < o->of.start[o->of.count]; p++)
    if (o->row[p]) rows[n++] = o->row[p] - 1;
  return rows;
}

/* Whole blocks of b on each rank, n of them. */
static inline PoiseMat BlockyShape(PoiseContext ctx, int kind, int b, int n, double diagonal, Shape *s)
{
  PoiseInt m = b * n;
  PoiseMat A;
  *s = (Shape){.kind = kind, .n = m * PoiseSize(ctx), .seed = 1, .diagonal = diagonal, .weak = -1};
  s->begin = m * PoiseRank(ctx), s->end = s->begin + m;
  A = Matrix(ctx, s);
  CHECK_OK(PoiseMatSetBlockSize(A, b));
  CHECK_OK(PoiseMatSetType(A, "bcsr"));
  return A;
}

/* ---- what is chosen where nothing is asked for ----------------------------------------------- */

/* The mock device says that it is a GPU; false: this one says what it is. */
static inline bool PretendGpu(PoiseContext ctx, DeviceModel *was)
{
  DeviceModel *m = &ctx->device->model;
  *was = *m;
  if (poiseModelIsGpu(m) || ctx->device->ops->is_host) return false;
  m->multiprocessors = 4, m->threads = 2048, m->warp = 32;
  return true;
}

/* A grid with n rows on each rank; clique: the first 300 of these know each other. */
static inline PoiseMat WithClique(PoiseContext ctx, PoiseInt n, bool clique)
{
  enum { CLIQUE = 300 };
  PoiseMat A;
  PoiseInt begin = n * PoiseRank(ctx), row[CLIQUE];
  if (!CHECK_OK(PoiseMatCreate(ctx, n, n, n * PoiseSize(ctx), n * PoiseSize(ctx), &A))) return NULL;
  for (PoiseInt i = begin; i < begin + n; i++)
    for (int k = -1; k <= 1; k++) {
      PoiseInt j = i + k;
      double v = k ? -1 : 900;
      if (j >= begin && j < begin + n && !CHECK_OK(PoiseMatAddBlock(A, 1, &i, 1, &j, &v))) return A;
    }
  double *ones = malloc(CLIQUE * CLIQUE * sizeof *ones);
  for (int k = 0; k < CLIQUE; k++) row[k] = begin + k;
  for (int k = 0; k < CLIQUE * CLIQUE; k++) ones[k] = 1;
  if (clique) CHECK_OK(PoiseMatAddBlock(A, CLIQUE, row, CLIQUE, row, ones));
  free(ones);
  CHECK_OK(PoiseMatAssemble(A));
  return A;
}

static inline bool IsByColours(PoisePC pc)
{
  static const char words[] = "rows by colours: ";
  char text[4000];
  double found = 0;
  TEST_PRINTED(pc->ctx, text, sizeof text, PoisePCView(pc));
  if (PoiseRank(pc->ctx) == 0) found = strstr(text, words) != NULL;
  CHECK_OK(PoiseMax(pc->ctx, 1, &found));
  return found > 0;
}

/* Colours are for many rows on a GPU, unless they are too many, or another order is named. */
static inline void CheckChoice(PoiseContext ctx, const char *type, const char *natural)
{
  DeviceModel was;
  (void)PretendGpu(ctx, &was);
  bool gpu = poiseModelIsGpu(&ctx->device->model);
  for (int k = 0; k < 4; k++) {
    PoiseInt n = k == 1 ? 1000 : COLOUR_ROWS;
    PoiseMat A = WithClique(ctx, n, k == 2);
    PoisePC pc = Make(ctx, type, A, k == 3 ? natural : NULL), other = Make(ctx, type, A, natural);
    for (int again = 0; again < 2; again++) {
      CHECK_OK(PoisePCSetUp(pc));
      CHECK_INT(IsByColours(pc), gpu && k == 0);
      if (k) CHECK(Apply(pc) == Apply(other));
      CHECK_OK(PoiseMatShift(A, 1));
    }
    PoisePCDestroy(&pc);
    PoisePCDestroy(&other);
    PoiseMatDestroy(&A);
  }
  ctx->device->model = was;
}

#endif
