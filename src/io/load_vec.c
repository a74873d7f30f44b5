/* SPDX-License-Identifier: BSD-3-Clause */
/* Recognise the format of a file. Load and save vectors in any format. */
#define _POSIX_C_SOURCE 200809L
#include <sys/stat.h>

#include "load.h"
#include "mm.h"
#include "petsc.h"

enum { SHOWN = 16 }; /* first bytes of a file that a message shows */

/* Text? An empty file, or one with only blanks here, counts as text: the Matrix Market reader reports it. */
static bool IsText(const unsigned char *p, size_t n)
{
  size_t i = 0;
  while (i < n && (p[i] == ' ' || (p[i] >= '\t' && p[i] <= '\r'))) i++;
  return i == n || *p == '%';
}

static PoiseErr Recognise(const ByteSource *s, FileKind *kind)
{
  unsigned char p[SHOWN];
  char text[SHOWN + 1] = "", bytes[3 * SHOWN + 1] = "";
  size_t n;
  TRY(poiseSourceTry(s, 0, p, SHOWN, &n));
  *kind = poisePetscBegins(p, n) ? FILE_PETSC : FILE_MATRIX_MARKET;
  if (*kind == FILE_PETSC || IsText(p, n)) return POISE_OK;
  for (size_t i = 0; i < n; i++) {
    text[i] = p[i] < ' ' || p[i] > '~' ? '?' : (char)p[i];
    sprintf(bytes + 3 * i, " %02x", p[i]);
  }
  FAIL(POISE_ERR_FORMAT,
       "%s is not a Matrix Market file: line 1 does not begin with %%%%MatrixMarket; nor a PETSc binary file "
       "of big-endian "
       "real double numbers: it begins with '%s' (%s)",
       s->name, text, bytes + 1);
}

static PoiseErr OpenRecognise(PoiseContext ctx, const char *path, FileKind *kind)
{
  ByteSource s;
  struct stat info;
  *kind = FILE_MATRIX_MARKET; /* the only format that can be read from a pipe, which gives its bytes only
                                 once */
  if (!stat(path, &info) && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) return POISE_OK;
  TRY(poiseSourceOpen(ctx, path, &s));
  PoiseErr e = Recognise(&s, kind);
  poiseSourceClose(&s);
  return e;
}

PoiseErr poiseFileKind(PoiseContext ctx, const char *path, FileKind *kind)
{
  TRY(PoiseAgree(ctx, PoiseRank(ctx) == 0 ? OpenRecognise(ctx, path, kind) : POISE_OK));
  return PoiseAgree(ctx, ctx->comm->ops->bcast(ctx->comm, kind, sizeof *kind, 0));
}

PoiseErr PoiseVecLoad(PoiseContext ctx, PoiseInt n, PoiseInt N, const char *path, PoiseVec *x)
{
  CALLED(OBJECT(ctx), GIVEN(path), GIVEN(x));
  FileKind kind;
  ByteSource s;
  *x = NULL;
  TRY(poiseFileKind(ctx, path, &kind));
  if (kind == FILE_MATRIX_MARKET) return poiseVecLoadMM(ctx, n, N, path, x);
  PoiseErr e = poiseSourceOpen(ctx, path, &s);
  e = poisePetscLoadVec(ctx, e, &s, n, N, x);
  poiseSourceClose(&s);
  return e;
}

PoiseErr PoiseVecSave(PoiseVec x, const char *path)
{
  CALLED(OBJECT(x), GIVEN(path));
  TRY(PoiseAgree(x->ctx, poiseVecCheckOrdinary(x, "a file")));
  return poisePetscNamed(path) ? poisePetscSaveVec(x, path) : poiseVecSaveMM(x, path);
}
