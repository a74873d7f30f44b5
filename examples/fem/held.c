/* SPDX-License-Identifier: BSD-3-Clause */
#include "held.h"
#include "element.h"
#include <stdlib.h>
#include <string.h>

const char *FemHeldType(PoiseContext ctx)
{
  static const char *const types[] = {"pcsc", "pcoo"};
  const char *asked = NULL;
  if (!PoiseOptionsHas(ctx, NULL, "mat_type", &asked) || asked == NULL) return NULL;
  for (int k = 0; k < 2; k++)
    if (strcmp(asked, types[k]) == 0) return types[k];
  return NULL;
}

/* This rank's rows: row i has the entries [ptr[i], ptr[i + 1]). */
typedef struct Entries {
  PoiseInt m, *ptr, *row, *col;
  double *val;
} Entries;

static void Free(Entries *e)
{
  free(e->ptr);
  free(e->row);
  free(e->col);
  free(e->val);
  *e = (Entries){0};
}

static PoiseErr Count(PoiseMat A, PoiseInt begin, Entries *e)
{
  POISE_TRY(FemAlloc(e->m + 1, sizeof *e->ptr, &e->ptr));
  for (PoiseInt i = 0; i < e->m; i++) {
    PoiseInt n;
    POISE_TRY(PoiseMatGetRow(A, begin + i, &n, NULL, NULL));
    e->ptr[i + 1] = e->ptr[i] + n;
  }
  return POISE_OK;
}

static PoiseErr Copy(PoiseMat A, PoiseInt begin, Entries *e)
{
  POISE_TRY(Count(A, begin, e));
  POISE_TRY(FemAlloc(e->ptr[e->m], sizeof *e->row, &e->row));
  POISE_TRY(FemAlloc(e->ptr[e->m], sizeof *e->col, &e->col));
  POISE_TRY(FemAlloc(e->ptr[e->m], sizeof *e->val, &e->val));
  for (PoiseInt i = 0; i < e->m; i++) {
    PoiseInt n;
    const PoiseInt *cols;
    const double *v;
    POISE_TRY(PoiseMatGetRow(A, begin + i, &n, &cols, &v));
    for (PoiseInt k = 0; k < n; k++) {
      const PoiseInt at = e->ptr[i] + k;
      e->row[at] = begin + i, e->col[at] = cols[k], e->val[at] = v[k];
    }
  }
  return POISE_OK;
}

static PoiseErr CopyRows(PoiseContext ctx, PoiseMat A, Entries *e)
{
  PoiseVec of_rows = NULL;
  PoiseInt begin, end;
  POISE_TRY(PoiseMatCreateVecs(A, NULL, &of_rows));
  PoiseVecRange(of_rows, &begin, &end);
  PoiseVecDestroy(&of_rows);
  e->m = end - begin;
  return PoiseAgree(ctx, Copy(A, begin, e));
}

/* The rows of A^T are the columns of A. */
static PoiseErr CopyColumns(PoiseContext ctx, PoiseMat A, Entries *e)
{
  PoiseMat T = NULL;
  POISE_TRY(PoiseMatTranspose(A, &T));
  PoiseErr err = CopyRows(ctx, T, e);
  PoiseMatDestroy(&T);
  return err;
}

/* The library takes the arrays that it keeps, or else none. */
static PoiseErr Hold(PoiseContext ctx, PoiseMat A, int columns, Entries *e, PoiseMat *H)
{
  PoiseInt m, n, M, N;
  PoiseMatLocalSizes(A, &m, &n);
  PoiseMatSizes(A, &M, &N);
  POISE_TRY(columns ? CopyColumns(ctx, A, e) : CopyRows(ctx, A, e));
  const PoiseCSC csc = {.ptr64 = e->ptr, .row64 = e->col, .val = e->val};
  const PoiseTriplets triplets = {.n = e->ptr[e->m], .row64 = e->row, .col64 = e->col, .val = e->val};
  POISE_TRY(columns ? PoiseMatCreateCSC(ctx, m, n, M, N, &csc, POISE_ADOPT, H)
                    : PoiseMatCreateTriplets(ctx, m, n, M, N, &triplets, POISE_ADOPT, H));
  *e = (Entries){.ptr = columns ? NULL : e->ptr, .row = columns ? e->row : NULL};
  return POISE_OK;
}

PoiseErr FemMatTakeOptions(PoiseContext ctx, PoiseMat *A)
{
  const char *type = FemHeldType(ctx);
  PoiseMat H = NULL;
  Entries e = {0};
  if (type == NULL || strcmp(PoiseMatType(*A), type) == 0) return PoiseMatSetFromOptions(*A);
  PoiseErr err = Hold(ctx, *A, strcmp(type, "pcsc") == 0, &e, &H);
  Free(&e);
  POISE_TRY(err);
  POISE_TRY(PoiseMatDestroy(A));
  *A = H;
  return PoiseMatSetFromOptions(*A);
}
