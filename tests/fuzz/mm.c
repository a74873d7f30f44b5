/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Matrix Market files. The result must not depend on how the bytes arrive, nor on the number of rounds in
  which they are read. Rows of accepted input are sorted and in range. A matrix or vector that was loaded,
  saved and loaded again has the same bits.
*/
#include "fuzz.h"
#include "io/load.h"

#include "io/mm.h"

enum { ROWS = 1 << 14 }; /* a file may announce more rows than there is memory for a matrix with */

typedef struct Bytes {
  const uint8_t *first;
  size_t at, size, chunk; /* chunk: most that one read gives */
} Bytes;

static PoiseErr Read(void *from, char *buffer, size_t size, size_t *n)
{
  Bytes *b = from;
  *n = b->size - b->at < b->chunk ? b->size - b->at : b->chunk;
  if (*n > size) *n = size;
  if (*n) memcpy(buffer, b->first + b->at, *n);
  b->at += *n;
  return POISE_OK;
}

static PoiseErr Rewind(void *from)
{
  ((Bytes *)from)->at = 0;
  return POISE_OK;
}

typedef struct Meaning {
  MMHeader header;
  MMRows rows;
} Meaning;

static PoiseErr ReadRows(MMReader *r, Meaning *m)
{
  Layout *layout;
  m->header = r->header;
  POISE_TRY(poiseLayoutCreate(r->ctx, POISE_DECIDE, r->header.M, "input", &layout));
  PoiseErr e = poiseMMRows(r, layout, true, &m->rows);
  poiseLayoutDestroy(&layout);
  return e;
}

static PoiseErr Parse(const uint8_t *data, size_t size, size_t chunk, int64_t block, Meaning *m)
{
  MMReader r;
  Bytes bytes = {data, 0, size, chunk};
  MMSource source = {.read = Read, .from = &bytes, .name = "input", .rewind = chunk > size ? Rewind : NULL};
  *m = (Meaning){0};
  PoiseErr e = poiseMMOpenSource(FuzzContext(), &source, block, &r);
  if (!e) e = ReadRows(&r, m);
  poiseMMClose(&r);
  return e;
}

static void Check(const Meaning *m)
{
  const MMHeader *h = &m->header;
  DEMAND(h->M >= 0 && h->N >= 0 && (h->symmetry == MM_GENERAL || h->M == h->N));
  DEMAND(m->rows.n >= h->stored && m->rows.n <= 2 * h->stored);
  for (int64_t k = 0; k < m->rows.n; k++) {
    PoiseInt row = m->rows.key[k] >> m->rows.bits, col = m->rows.key[k] & (((PoiseInt)1 << m->rows.bits) - 1);
    DEMAND(row >= 0 && row < h->M && col >= 0 && col < h->N && isfinite(m->rows.val[k]));
    DEMAND(!k || m->rows.key[k] > m->rows.key[k - 1]);
  }
}

/* Whether the bytes are a file that can be accepted, of a size that may be loaded. */
static bool Acceptable(const uint8_t *data, size_t size)
{
  Meaning a, b;
  PoiseErr e = Parse(data, size, size + 1, 0, &a);
  DEMAND(Parse(data, size, 1 + size % 7, 1 + (int64_t)(size % 97), &b) == e);
  if (e) return false;
  Check(&a);
  DEMAND(a.header.M == b.header.M && a.header.N == b.header.N && a.rows.n == b.rows.n &&
         a.rows.bits == b.rows.bits);
  for (int64_t k = 0; k < a.rows.n; k++)
    DEMAND(a.rows.key[k] == b.rows.key[k] && !memcmp(&a.rows.val[k], &b.rows.val[k], sizeof(double)));
  poiseMMRowsDestroy(FuzzContext(), &a.rows);
  poiseMMRowsDestroy(FuzzContext(), &b.rows);
  return a.header.M <= ROWS;
}

/* The same of a compressed file. */
static bool AcceptableFile(const char *path)
{
  MMReader r;
  PoiseErr e = poiseMMOpen(FuzzContext(), path, 0, &r);
  bool small = !e && r.header.M <= ROWS;
  poiseMMClose(&r);
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
