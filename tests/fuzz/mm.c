/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Matrix Market files. However the bytes arrive, they mean the same; what was accepted makes rows of consistent sizes; and a matrix
  or vector that was loaded, saved and loaded again has the same bits.
*/
#include "fuzz.h"

#include "vec/mm.h"

enum { ROWS = 1 << 14 }; /* a file may announce more rows than there is memory for: those are only parsed */

typedef struct Bytes {
  const uint8_t *at;
  size_t left, piece; /* piece: most that one read gives */
} Bytes;

static PoiseErr Read(void *from, char *buffer, size_t size, size_t *n)
{
  Bytes *b = from;
  *n = b->left < b->piece ? b->left : b->piece;
  if (*n > size) *n = size;
  if (*n) memcpy(buffer, b->at, *n);
  b->at += *n;
  b->left -= *n;
  return POISE_OK;
}

static PoiseErr Parse(const uint8_t *data, size_t size, size_t piece, MMFile *f)
{
  Bytes bytes = {data, size, piece};
  return poiseMMParse(FuzzContext(), &(MMSource){Read, &bytes, "input"}, f);
}

static void CheckFile(const MMFile *f)
{
  DEMAND(f->M >= 0 && f->N >= 0);
  DEMAND(f->symmetry == MM_GENERAL || f->M == f->N);
  for (int64_t k = 0; k < f->entries.n; k++) {
    const Entry *t = &f->entries.entry[k];
    DEMAND(t->row >= 0 && t->row < f->M && t->col >= 0 && t->col < f->N && isfinite(t->value));
    DEMAND(f->symmetry == MM_GENERAL || t->row > t->col ||
           (t->row == t->col && (f->symmetry == MM_SYMMETRIC || t->value == 0)));
  }
}

static void CheckRows(const MMFile *f)
{
  MMRows rows;
  if (poiseMMRows(FuzzContext(), "input", f, &rows)) return;
  int64_t nz = f->entries.n;
  for (int64_t k = 0; k < f->entries.n; k++)
    nz += f->symmetry != MM_GENERAL && f->entries.entry[k].row != f->entries.entry[k].col;
  DEMAND(rows.M == f->M && rows.N == f->N);
  DEMAND(rows.ptr[0] == 0 && rows.ptr[rows.M] == nz);
  for (PoiseInt i = 0; i < rows.M; i++) DEMAND(rows.ptr[i] <= rows.ptr[i + 1]);
  for (int64_t k = 0; k < nz; k++) DEMAND(rows.col[k] >= 0 && rows.col[k] < rows.N);
  poiseMMRowsDestroy(FuzzContext(), &rows);
}

/* Whether the bytes are a file that can be accepted, of a size that may be loaded. */
static bool Acceptable(const uint8_t *data, size_t size)
{
  MMFile f, g;
  PoiseErr e = Parse(data, size, size + 1, &f);
  DEMAND(Parse(data, size, 1 + size % 7, &g) == e);
  if (e) return false;
  CheckFile(&f);
  DEMAND(f.M == g.M && f.N == g.N && f.array == g.array && f.symmetry == g.symmetry && f.entries.n == g.entries.n);
  for (int64_t k = 0; k < f.entries.n; k++) DEMAND(!memcmp(&f.entries.entry[k], &g.entries.entry[k], sizeof(Entry)));
  bool small = f.M <= ROWS;
  if (small) CheckRows(&f);
  poiseMMFileDestroy(FuzzContext(), &f);
  poiseMMFileDestroy(FuzzContext(), &g);
  return small;
}

/* The same of a compressed file. */
static bool AcceptableFile(const char *path)
{
  MMFile f;
  if (poiseMMRead(FuzzContext(), path, &f)) return false;
  bool small = f.M <= ROWS;
  poiseMMFileDestroy(FuzzContext(), &f);
  return small;
}

int FuzzOne(const uint8_t *data, size_t size)
{
  const char *path = FuzzFile("input"), *copy = FuzzFile(size % 2 ? "copy.mtx" : "copy.mtx.gz");
  bool gzip = size > 1 && data[0] == 0x1f && data[1] == 0x8b;
  FuzzBegin();
  if (gzip || Acceptable(data, size)) {
    FuzzWrite(path, data, size);
    if (!gzip || AcceptableFile(path)) {
      PoiseMat A;
      PoiseVec x;
      if (!PoiseMatLoad(FuzzContext(), path, &A)) FuzzMatrixStays(&A, copy);
      if (!PoiseVecLoad(FuzzContext(), POISE_DECIDE, POISE_DECIDE, path, &x)) FuzzVectorStays(&x, copy);
    }
  }
  FuzzNothingLeft();
  return 0;
}
