/* SPDX-License-Identifier: BSD-3-Clause */
/* Load and save matrices in any format. */
#include "mat/operations/operations.h"
#include "load.h"
#include "mat/object/mat.h"
#include "petsc.h"

typedef struct LoadOptions {
  int diagonal;
} LoadOptions;

static const PoiseOption options[] = {
    {"mat_load_diagonal", POISE_OPTION_BOOL, offsetof(LoadOptions, diagonal), "no", 0, 0, NULL,
     "store missing diagonal entries of a square matrix in a file as 0, for preconditioners that need "
     "them"},
    {0},
};

PoiseErr poiseRegister_io(PoiseContext ctx)
{
  TRY(poiseOptionsRegister(ctx, "PETSc files", poisePetscOptions));
  return poiseOptionsRegister(ctx, "MatLoad", options);
}

PoiseInt poiseMatLoadShare(PoiseContext ctx, int64_t unit, PoiseInt N)
{
  PoiseInt begin, n;
  if (unit == 1) return POISE_DECIDE;
  PoiseSplit(ctx, N / unit, &begin, &n);
  return n * unit;
}

static PoiseErr LoadEntries(PoiseContext ctx, const char *path, PoiseMat *A)
{
  FileKind kind;
  ByteSource s;
  TRY(poiseFileKind(ctx, path, &kind));
  if (kind == FILE_MATRIX_MARKET) return poiseMatLoadMM(ctx, path, A);
  PoiseErr e = poiseSourceOpen(ctx, path, &s);
  e = poisePetscLoadMat(ctx, e, &s, A);
  poiseSourceClose(&s);
  return e;
}

static PoiseErr LoadDiagonal(PoiseMat A)
{
  LoadOptions o = {0}; /* zeroed, as an option that is not given leaves its field */
  TRY(PoiseAgree(A->ctx, PoiseOptionsRead(A->ctx, NULL, options, &o)));
  return o.diagonal && A->rows->N == A->cols->N ? poiseMatStoreDiagonal(A) : POISE_OK;
}

static PoiseErr Load(PoiseContext ctx, const char *path, PoiseMat *A)
{
  TRY(LoadEntries(ctx, path, A));
  PoiseErr e = LoadDiagonal(*A);
  if (e) PoiseMatDestroy(A);
  return e;
}

PoiseErr PoiseMatLoad(PoiseContext ctx, const char *path, PoiseMat *A)
{
  CALLED(OBJECT(ctx), GIVEN(path), GIVEN(A));
  *A = NULL;
  poiseLogBegin(ctx, EVENT_MatLoad);
  PoiseErr e = Load(ctx, path, A);
  poiseLogEnd(ctx, EVENT_MatLoad, 0, 0);
  return e;
}

PoiseErr PoiseMatSave(PoiseMat A, const char *path)
{
  CALLED(OBJECT(A), GIVEN(path));
  poiseLogBegin(A->ctx, EVENT_MatSave);
  PoiseErr e = poisePetscNamed(path) ? poisePetscSaveMat(A, path) : poiseMatSaveMM(A, path);
  poiseLogEnd(A->ctx, EVENT_MatSave, 0, 0);
  return e;
}
