/* SPDX-License-Identifier: BSD-3-Clause */
/* Vectors in PETSc's binary files: every rank reads its own part. */
#include "petsc.h"
#include "sections.h"

/* ---- reading --------------------------------------------------------------------------------- */

static PoiseErr CheckSame(PoiseContext ctx, const ByteSource *s, const int64_t *size)
{
  if (s->size == *size) return POISE_OK;
  FAIL(POISE_ERR_FILE, "rank %d sees a file '%s' of %lld bytes, rank 0 one of %lld", PoiseRank(ctx), s->name,
       (long long)s->size, (long long)*size);
}

PoiseErr poisePetscShare(PoiseContext ctx, PoiseErr mine, const ByteSource *s, int kind, PetscItem *item)
{
  struct {
    PetscItem item;
    int64_t size;
  } found = {.size = s->size};
  if (!mine && PoiseRank(ctx) == 0) mine = poisePetscFind(s, kind, &found.item);
  TRY(PoiseAgree(ctx, mine));
  TRY(ctx->comm->ops->bcast(ctx->comm, &found, sizeof found, 0));
  *item = found.item;
  return PoiseAgree(ctx, CheckSame(ctx, s, &found.size));
}

static PoiseErr ReadPart(const ByteSource *s, const PetscItem *item, PoiseVec x)
{
  double *v;
  TRY(poiseBufferWrite(&x->data, HOST, &v));
  return poisePetscDoubles(s, item->data + 8 * x->layout->begin, x->layout->n, "entries of the vector", v);
}

PoiseErr poisePetscLoadVec(PoiseContext ctx, PoiseErr mine, const ByteSource *s, PoiseInt n, PoiseInt N,
                           PoiseVec *x)
{
  PetscItem item;
  PoiseErr e = POISE_OK;
  *x = NULL;
  TRY(poisePetscShare(ctx, mine, s, PETSC_VEC, &item));
  if (N != POISE_DECIDE && N != item.M)
    e = PoiseErrorSet(POISE_ERR_SIZE, __func__, __FILE__, __LINE__,
                      "%s holds %lld entries, %lld are expected", s->name, (long long)item.M, (long long)N);
  TRY(PoiseAgree(ctx, e));
  TRY(PoiseVecCreate(ctx, n, item.M, x));
  e = PoiseAgree(ctx, ReadPart(s, &item, *x));
  if (e) PoiseVecDestroy(x);
  return e;
}

/* ---- writing --------------------------------------------------------------------------------- */

typedef struct Cursor {
  const double *entry;
  int64_t left;
} Cursor;

static PoiseErr NextEntries(void *from, char *chunk, int64_t *bytes, bool *more)
{
  Cursor *c = from;
  int64_t n = c->left < POISE_CHUNK / 8 ? c->left : POISE_CHUNK / 8;
  *bytes = poisePetscPutDoubles(chunk, c->entry, n) - chunk;
  if (n) c->entry += n; /* NULL when there are none at all */
  c->left -= n;
  *more = c->left > 0;
  return POISE_OK;
}

PoiseErr poisePetscSaveVec(PoiseVec x, const char *path)
{
  char header[16];
  int width = 4;
  Cursor cursor = {.left = x->layout->n};
  PoiseErr e = PoiseVecGetRead(x, &cursor.entry);
  if (!e) e = poisePetscWidth(x->ctx, x->layout->N, 1, 0, &width);
  poisePetscPutInt(poisePetscPutInt(header, width, PETSC_VEC), width, x->layout->N);
  return poiseFileSections(x->ctx, e, path, header, 2 * (size_t)width, 1, &(Section){NextEntries, &cursor});
}
