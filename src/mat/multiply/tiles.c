/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrices of rectangular tiles. */
#include "mat/csr/complete.h"
#include "tiles.h"

static PoiseErr Mult_Tiles(PoiseMat A, PoiseVec x, PoiseVec y)
{
  (void)x, (void)y;
  FAIL(POISE_ERR_UNSUPPORTED, "products of tiles of %d x %d with vectors", A->csr.b, A->csr.across);
}

const MatType poiseMatType_tiles = {
    .name = "tiles",
    .mult = Mult_Tiles,
    .mult_transpose = Mult_Tiles,
};

PoiseErr poiseTilesCreate(PoiseContext ctx, PoiseInt m, PoiseInt n, PoiseInt M, PoiseInt N, PoiseMat *T)
{
  return poiseMatCreateTyped(ctx, &poiseMatType_tiles, m, n, M, N, T);
}

PoiseErr poiseTilesTake(PoiseMat T, PoiseErr mine, int r, int c, RowArrays *rows, Csr *made)
{
  Csr old = T->csr;
  PoiseErr e = PoiseAgree(T->ctx, mine);
  if (made) made->b = r, made->across = c;
  T->csr = (Csr){.b = r, .across = c};
  if (!e && rows) e = poiseCsrTake(T, rows);
  if (!e && made) {
    e = poiseCsrAccept(T, made);
    *made = (Csr){0};
  }
  if (rows) poiseRowArraysDestroy(T->ctx, rows);
  if (made) poiseCsrDestroy(T->ctx, made);
  if (e)
    T->csr = old;
  else
    poiseCsrDestroy(T->ctx, &old);
  if (!e) T->assembled = true;
  return e;
}
