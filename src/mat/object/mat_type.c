/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The type of a matrix. Those with entries of their own are stored as scalars (csr) or as blocks (bcsr). auto,
  csr, csri, seg and pcsr are stored alike; they ask for other products. One type was asked for, and A is
  stored as one: A->asked.type and A->type. They differ under bcsr as long as entries come as scalars.
*/
#include "mat/assembly/triplets.h"
#include "mat/product/pcsr.h"
#include "mat/storage/blocks.h"
#include "mat_type.h"

#define STORED .stored = true, .mult_transpose = poiseTransposedMult, .diagonal = poiseCsrDiagonal
const MatType poiseMatType_auto = {.name = "auto", .product = PRODUCT_ANY, STORED};
const MatType poiseMatType_csr = {.name = "csr", .product = PRODUCT_CSR, STORED};
const MatType poiseMatType_csri = {.name = "csri", .product = PRODUCT_CSRI, STORED};
const MatType poiseMatType_seg = {.name = "seg", .product = PRODUCT_SEG, STORED};
const MatType poiseMatType_pcsr = {.name = "pcsr", .product = PRODUCT_ANY, STORED}; /* parts have their own */
#define PRODUCT_FORM(name)
#define PRODUCT_WORD(word) \
  const MatType poiseMatType_##word = {.name = #word, .form = &poiseForm_##word, STORED};
#include "mat/product/forms.def"
#undef PRODUCT_FORM
#undef STORED
const MatType poiseMatType_bcsr = {.name = "bcsr",
                                   .blocked = true,
                                   .product = PRODUCT_BCSR,
                                   .mult_transpose = poiseTransposedMult,
                                   .diagonal = poiseCsrDiagonal};

static const MatType *const types[] = {
#define MAT_TYPE(name) &poiseMatType_##name,
#include "mat/types.def"
#undef MAT_TYPE
};
enum { NTYPES = sizeof types / sizeof *types };

/* ---- changes --------------------------------------------------------------------------------- */

void poiseMatUse(PoiseMat A, const MatType *asked, int b)
{
  const MatType *type = b ? &poiseMatType_bcsr : asked->blocked ? &poiseMatType_csr : asked;
  bool other = asked != A->asked.type;
  if (other || type != A->type) A->version.product++; /* loops captured with the other product are invalid */
  if (other) A->asked.share = 0;
  /* their places are those of entries stored in the other way */
  if (A->type && A->type->blocked != type->blocked) poiseTripletsDestroy(A->ctx, &A->assembly.triplets);
  A->asked.type = asked, A->type = type;
}

/* Entries by rows, columns or triplets, or functions: which a matrix has is decided when it is created. */
static PoiseErr Refuse(PoiseMat A, const MatType *type)
{
  FAIL(POISE_ERR_UNSUPPORTED, "a matrix of type %s cannot become %s: create another one by %s",
       PoiseMatType(A), type->name, type->maker ? type->maker : "PoiseMatCreateCSR or PoiseMatSetPatternCOO");
}

PoiseErr poiseMatChangeType(PoiseMat A, const MatType *type)
{
  if (A->asked.type == type) return POISE_OK;
  if (!poiseTypeHolds(type) || !poiseMatHolds(A)) return Refuse(A, type);
  if (type == &poiseMatType_auto && A->type->blocked) return POISE_OK; /* no other type has blocks */
  if (type->blocked && A->assembled) return poiseMatToBlocks(A);
  if (A->type->blocked) TRY(poiseMatFromBlocks(A));
  if (type == &poiseMatType_auto) A->asked.named = false;
  poiseMatUse(A, type, 0);
  return POISE_OK;
}

void poiseMatDropBlocks(PoiseMat A)
{
  if (poiseMatWaits(A)) poiseMatUse(A, A->type, 0);
}

PoiseErr poiseMatSetUp(PoiseMat A)
{
  return PoiseAgree(A->ctx,
                    poiseMatHolds(A) && !poiseMatWaits(A) ? poiseProductSetUp(&A->product) : POISE_OK);
}

void poiseMatInherit(PoiseMat A, PoiseMat B)
{
  B->asked.settled = A->asked.settled, B->asked.named = A->asked.named;
  poiseProductAsk(B, &A->product.options);
}

PoiseErr poiseMatChooseBlocks(PoiseMat A)
{
  const MatAssembly *m = &A->assembly;
  double share;
  int64_t waits = m->changed;
  if (!poiseMatIsAutoByName(A) || !m->entries || m->triplets || A->block_size == 1) return POISE_OK;
  TRY(poiseCommMaxInt(A->ctx->comm, &waits, 1));
  if (waits) return POISE_OK; /* the next PoiseMatAssemble of a new pattern asks again */
  TRY(poiseMatBlockShare(A, &share));
  if (AUTO_BLOCKS * share >= 1) return POISE_OK;
  TRY(poiseMatToBlocks(A));
  A->asked.share = share;
  return POISE_OK;
}

/* ---- types by name --------------------------------------------------------------------------- */

/* Translate PETSc's names. They also name a device, and one rank or several, which types here do not. */
static const char *OwnName(const char *name)
{
  static const char *const theirs[] = {"aij", "aijcusparse", "aijkokkos", "baij"};
  const char *bare = name + (!strncmp(name, "seq", 3) || !strncmp(name, "mpi", 3) ? 3 : 0);
  for (int i = 0; i < 4; i++)
    if (!strcmp(bare, theirs[i])) return i < 3 ? "auto" : "bcsr";
  return name;
}

PoiseErr poiseMatFindType(const char *name, const MatType **type)
{
  const char *names[NTYPES], *own = OwnName(name);
  for (int i = 0; i < NTYPES; i++) {
    names[i] = types[i]->name;
    *type = types[i];
    if (!strcmp(own, names[i])) return POISE_OK;
  }
  return poiseUnknownWord("matrix type", name, NTYPES, names);
}

const MatType *poiseMatLocalType(PoiseMat A, const MatType *type)
{
  if (type != &poiseMatType_pcsr) return type;
  return A->asked.local ? A->asked.local : &poiseMatType_auto;
}

/* The user said auto: A may become bcsr, at once if it is assembled. */
static PoiseErr NameAuto(PoiseMat A)
{
  if (A->asked.named) return POISE_OK;
  A->asked.named = true;
  PoiseErr e = A->assembled ? poiseMatChooseBlocks(A) : POISE_OK;
  if (e) A->asked.named = false; /* A is auto yet */
  return e;
}

PoiseErr poiseMatAskByName(PoiseMat A, const MatType *type)
{
  bool parted = type == &poiseMatType_pcsr;
  const MatType *local = poiseMatLocalType(A, type);
  if (parted && !poiseMatHolds(A)) return Refuse(A, type);
  TRY(poiseMatChangeType(A, local));
  if (A->asked.parted != parted) A->asked.parted = parted, A->version.product++;
  return local == &poiseMatType_auto && poiseMatIsAuto(A) ? NameAuto(A) : POISE_OK;
}

PoiseErr PoiseMatSetType(PoiseMat A, const char *type)
{
  CALLED(OBJECT(A), GIVEN(type));
  const MatType *found;
  TRY(poiseMatFindType(type, &found));
  TRY(poiseMatAskByName(A, found));
  A->asked.settled = true;
  return A->assembled ? poiseMatSetUp(A) : POISE_OK;
}

const char *PoiseMatType(PoiseMat A)
{
  CALLED_OR("", OBJECT(A));
  return A->asked.parted ? poiseMatType_pcsr.name : A->asked.type->name;
}

/* The types of parts: those that keep entries by rows. */
static PoiseErr FindLocal(const char *name, const MatType **type)
{
  static const MatType *const locals[] = {&poiseMatType_auto, &poiseMatType_csr, &poiseMatType_csri,
                                          &poiseMatType_seg, &poiseMatType_bcsr};
  enum { LOCALS = sizeof locals / sizeof *locals };
  const char *names[LOCALS];
  for (int i = 0; i < LOCALS; i++) {
    names[i] = locals[i]->name;
    *type = locals[i];
    if (!strcmp(name, names[i])) return POISE_OK;
  }
  return poiseUnknownWord("type of parts", name, LOCALS, names);
}

PoiseErr PoiseMatSetLocalType(PoiseMat A, const char *type)
{
  CALLED(OBJECT(A), GIVEN(type));
  const MatType *found, *before = A->asked.local;
  TRY(FindLocal(type, &found));
  A->asked.local = found;
  PoiseErr e = A->asked.parted ? poiseMatAskByName(A, &poiseMatType_pcsr) : POISE_OK;
  if (e) A->asked.local = before;
  TRY(e);
  return A->asked.parted && A->assembled ? poiseMatSetUp(A) : POISE_OK;
}

PoiseErr poiseMatInheritParts(PoiseMat A, PoiseMat B)
{
  double *bound = NULL;
  int64_t n = A->asked.bound ? PoiseSize(A->ctx) + 1 : 0;
  bool other = A->asked.parted != B->asked.parted || A->asked.bounds_set != B->asked.bounds_set;
  if (!other) return POISE_OK;
  PoiseErr e = n ? poiseAllocArray(A->ctx, n, sizeof *bound, "shares of ranks", &bound) : POISE_OK;
  e = PoiseAgree(A->ctx, e);
  if (e) poiseFree(A->ctx, &bound);
  TRY(e);
  if (n) memcpy(bound, A->asked.bound, (size_t)n * sizeof *bound);
  poiseFree(A->ctx, &B->asked.bound);
  B->asked.bound = bound, B->asked.bounds_set = A->asked.bounds_set;
  B->asked.parted = A->asked.parted, B->asked.local = A->asked.local;
  B->version.product++;
  return POISE_OK;
}
