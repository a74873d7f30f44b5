/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The type of a matrix. One was asked for, and one works: A->asked.type and A->type. They differ under type
  auto, which chooses, and under bcsr as long as entries come as scalars. Then the data of the type that was
  asked for wait in A->asked.data. poiseMatWorking says which type works; a TypeChange changes either. The
  states are drawn in docs/design/product-choice.md.
*/
#include "mat/types/auto.h"
#include "mat/types/blocks.h"
#include "mat_type.h"

static const MatType *const types[] = {
#define MAT_TYPE(name) &poiseMatType_##name,
#include "types.def"
#undef MAT_TYPE
};
enum { NTYPES = sizeof types / sizeof *types };

PoiseErr poiseMatRegisterTypes(PoiseContext ctx)
{
  for (int i = 0; i < NTYPES; i++)
    if (types[i]->options) TRY(poiseOptionsRegister(ctx, types[i]->name, types[i]->options));
  return POISE_OK;
}

/* ---- changes --------------------------------------------------------------------------------- */

const MatType *poiseMatWorking(const MatType *asked, int b, const MatType *present)
{
  if (b) return &poiseMatType_bcsr;
  if (asked->blocked) return &poiseMatType_csr; /* takes in entries, of which blocks are made */
  if (asked == &poiseMatType_auto) return present ? present : &poiseMatType_csr; /* until it chooses */
  return asked;
}

PoiseErr poiseMatTypeData(PoiseContext ctx, const MatType *type, void **data)
{
  TRY(poiseAlloc(ctx, type->size, type->name, data));
  PoiseErr e = type->options ? PoiseOptionsDefaults(type->options, *data) : POISE_OK;
  if (e) poiseFree(ctx, data);
  return e;
}

static void FreeData(PoiseContext ctx, const MatType *type, void **data)
{
  if (type == &poiseMatType_auto)
    poiseChoiceDestroy(ctx, data);
  else
    poiseFree(ctx, data);
}

/* The options of bcsr that A knows; NULL: the defaults. */
static const void *BlockOptions(PoiseMat A)
{
  if (!A->asked.type) return NULL;
  if (poiseMatIsAuto(A)) return poiseChoiceBlockOptions(A);
  return A->asked.type->blocked ? poiseMatAskedData(A) : NULL;
}

static PoiseErr MakeData(PoiseMat A, const MatType *type, void **data)
{
  if (type == &poiseMatType_auto) return poiseChoiceCreate(A->ctx, data);
  TRY(poiseMatTypeData(A->ctx, type, data));
  if (type->blocked && BlockOptions(A)) type->inherit(BlockOptions(A), *data);
  return POISE_OK;
}

/* Are the data of bcsr that wait those of the type that will work? */
static bool TakesWaiting(PoiseMat A, const TypeChange *c)
{
  return c->works->blocked && A->asked.type && poiseMatWaits(A);
}

PoiseErr poiseTypeChangeCreate(PoiseMat A, const MatType *asked, int b, TypeChange *c)
{
  PoiseErr e = POISE_OK;
  *c = (TypeChange){.asked = asked, .works = poiseMatWorking(asked, b, A->type)};
  bool other = asked != A->asked.type, waits = asked != c->works;
  bool works_anew = c->works != A->type || (other && !waits);
  if (waits && (other || A->type == asked)) e = MakeData(A, asked, &c->waiting);
  if (!e && works_anew && !TakesWaiting(A, c)) e = MakeData(A, c->works, &c->data);
  if (e) poiseTypeChangeDestroy(A->ctx, c);
  return e;
}

void poiseTypeChangeDestroy(PoiseContext ctx, TypeChange *c)
{
  FreeData(ctx, c->asked, &c->waiting);
  poiseFree(ctx, &c->data);
}

void poiseMatUse(PoiseMat A, const MatType *type, void *data)
{
  if (A->type && A->type->destroy) A->type->destroy(A);
  poiseFree(A->ctx, &A->data);
  A->data = data;
  A->type = type;
  A->version.product++; /* loops captured with the old type's pointers are invalid */
}

void poiseTypeChangeApply(PoiseMat A, TypeChange *c)
{
  bool other = c->asked != A->asked.type;
  if (TakesWaiting(A, c)) c->data = A->asked.data, A->asked.data = NULL;
  if (other) A->asked.share = 0;
  if (other || c->waiting) {
    FreeData(A->ctx, A->asked.type, &A->asked.data);
    A->asked.data = c->waiting;
  }
  A->asked.type = c->asked;
  if (c->data) poiseMatUse(A, c->works, c->data);
  *c = (TypeChange){0};
}

void poiseMatReleaseType(PoiseMat A)
{
  if (A->type && A->type->destroy) A->type->destroy(A);
  poiseFree(A->ctx, &A->data);
  FreeData(A->ctx, A->asked.type, &A->asked.data);
}

PoiseErr poiseMatChangeType(PoiseMat A, const MatType *type)
{
  TypeChange c;
  if (A->asked.type == type) return POISE_OK;
  if (!poiseTypeHolds(type) || !poiseMatHolds(A))
    FAIL(POISE_ERR_UNSUPPORTED, "a matrix of type %s cannot become %s", PoiseMatType(A), type->name);
  if (type == &poiseMatType_auto && A->type->blocked) return POISE_OK; /* no other type has blocks */
  if (type->blocked && A->assembled) return poiseMatToBlocks(A);
  PoiseErr e = PoiseAgree(A->ctx, poiseTypeChangeCreate(A, type, 0, &c));
  if (!e && A->type->blocked) e = poiseMatFromBlocks(A);
  if (e)
    poiseTypeChangeDestroy(A->ctx, &c);
  else
    poiseTypeChangeApply(A, &c);
  return e;
}

void poiseMatDropBlocks(PoiseMat A)
{
  TypeChange c = {.asked = A->type, .works = A->type};
  if (poiseMatWaits(A)) poiseTypeChangeApply(A, &c);
}

/* ---- what a type knows ----------------------------------------------------------------------- */

PoiseErr poiseMatSetUp(PoiseMat A)
{
  TRY(poiseMatChoose(A));
  return PoiseAgree(A->ctx, A->type->setup ? A->type->setup(A) : POISE_OK);
}

void *poiseMatAskedData(PoiseMat A)
{
  return A->asked.data ? A->asked.data : A->data;
}

void poiseMatInherit(PoiseMat A, PoiseMat B)
{
  const MatType *type = A->asked.type;
  B->asked.settled = A->asked.settled;
  if (type == B->asked.type && type->inherit) type->inherit(poiseMatAskedData(A), poiseMatAskedData(B));
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

PoiseErr poiseMatAskByName(PoiseMat A, const MatType *type)
{
  bool parted = type == &poiseMatType_pcsr;
  const MatType *local = poiseMatLocalType(A, type);
  if (parted && !poiseMatHolds(A))
    FAIL(POISE_ERR_UNSUPPORTED, "a matrix of type %s cannot become %s", PoiseMatType(A), type->name);
  TRY(poiseMatChangeType(A, local));
  if (A->asked.parted != parted) A->asked.parted = parted, A->version.product++;
  return local == &poiseMatType_auto && poiseMatIsAuto(A) ? poiseChoiceName(A) : POISE_OK;
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
