/* SPDX-License-Identifier: BSD-3-Clause */
/* The matrix interface: creation, types, products; checks and logs, then dispatch. */
#include "vec/vec_kernels.h"
#include "mat/order/arrange.h"
#include "mat/types/auto.h"
#include "mat/types/blocks.h"
#include "mat/assembly/triplets.h"
#include "mat/csr/adopt.h"
#include "mat/types/csr_product.h"
#include "mat/csr/entries.h"
#include "mat.h"

static const MatType *const types[] = {
#define MAT_TYPE(name) &poiseMatType_##name,
#include "types.def"
#undef MAT_TYPE
};
enum { NTYPES = sizeof types / sizeof *types };

typedef struct MatOptions {
  char type[POISE_OPTION_LENGTH], csr_kernel[POISE_OPTION_LENGTH];
  PoiseInt block_size;
  int partition, order;
} MatOptions;

#define MAT_TYPE(name) " " #name
static const char type_help[] = "storage format of the product:"
#include "types.def"
    ;
#undef MAT_TYPE

static const PoiseOption options[] = {
    {"mat_type", POISE_OPTION_STRING, offsetof(MatOptions, type), "auto", 0, 0, NULL, type_help},
    {"mat_block_size", POISE_OPTION_INT, offsetof(MatOptions, block_size), "1", 0, MAX_BLOCK_SIZE, NULL,
     "unknowns per node; 0 with -mat_type bcsr: the size from 2 to 8 with the fewest bytes, or csr if "
     "none takes fewer"},
    {"mat_csr_kernel", POISE_OPTION_STRING, offsetof(MatOptions, csr_kernel), "own", 0, 0, NULL,
     "SpMV kernel of csr: own, or on cuda cusparse or cusparse_alg2 (results repeat); these need int32 "
     "offsets, and on several ranks a copy of x"},
    {"mat_partition", POISE_OPTION_CHOICE, offsetof(MatOptions, partition), "rows", 0, 0,
     "rows|nonzeros|bytes|graph",
     "how a solver distributes rows over ranks: as given, by equal nonzeros or bytes, or by METIS"},
    {"mat_order", POISE_OPTION_CHOICE, offsetof(MatOptions, order), "natural", 0, 0, "natural|rcm",
     "order in which a solver works on the rows of a rank: as given, or reverse Cuthill-McKee"},
    {0},
};

PoiseErr poiseRegister_mat(PoiseContext ctx)
{
  TRY(poiseOptionsRegister(ctx, "Mat", options));
  for (int i = 0; i < NTYPES; i++)
    if (types[i]->options) TRY(poiseOptionsRegister(ctx, types[i]->name, types[i]->options));
  return POISE_OK;
}

/* ---- creation and destruction ---------------------------------------------------------------- */

void poiseMatUse(PoiseMat A, const MatType *type, void *data)
{
  if (A->type && A->type->destroy) A->type->destroy(A);
  poiseFree(A->ctx, &A->data);
  A->data = data;
  A->type = type;
  A->pattern++; /* loops captured with the old type's pointers are invalid */
}

PoiseErr poiseMatTypeData(PoiseContext ctx, const MatType *type, void **data)
{
  TRY(poiseAlloc(ctx, type->size, type->name, data));
  PoiseErr e = type->options ? PoiseOptionsDefaults(type->options, *data) : POISE_OK;
  if (e) poiseFree(ctx, data);
  return e;
}

/* Set the type of a new matrix, which has none yet. Local. */
static PoiseErr FirstType(PoiseMat A, const MatType *type)
{
  void *data;
  bool automatic = type == &poiseMatType_auto;
  A->blocked = type->blocked;
  /* used until the first choice, or until A is assembled */
  if (automatic || type->blocked) type = &poiseMatType_csr;
  TRY(poiseMatTypeData(A->ctx, type, &data));
  poiseMatUse(A, type, data);
  if (A->blocked) TRY(poiseMatKeepWaiting(A));
  return automatic ? poiseChoiceCreate(A) : POISE_OK;
}

void *poiseMatAskedData(PoiseMat A)
{
  return A->blocked && !A->type->blocked ? A->waiting : A->data;
}

PoiseErr poiseMatKeepWaiting(PoiseMat A)
{
  if (!A->waiting) TRY(poiseMatTypeData(A->ctx, &poiseMatType_bcsr, &A->waiting));
  if (A->type->blocked) A->type->inherit(A->data, A->waiting);
  return POISE_OK;
}

PoiseErr poiseMatChangeType(PoiseMat A, const MatType *type)
{
  void *data = NULL;
  bool automatic = type == &poiseMatType_auto;
  if (poiseMatAsked(A) == type) return POISE_OK;
  if ((type->stored || type->blocked) != poiseMatHolds(A))
    FAIL(POISE_ERR_UNSUPPORTED, "a matrix of type %s cannot become %s", PoiseMatType(A), type->name);
  if (automatic && A->type->blocked) return POISE_OK; /* no other type has blocks */
  A->share = 0;
  if (type->blocked) return poiseMatToBlocks(A);
  PoiseErr e = PoiseAgree(A->ctx, automatic ? poiseChoiceCreate(A) : poiseMatTypeData(A->ctx, type, &data));
  if (!e && A->type->blocked) e = poiseMatFromBlocks(A);
  if (automatic ? e : !e) poiseChoiceDestroy(A);
  if (e) {
    poiseFree(A->ctx, &data);
    return e;
  }
  if (!automatic) poiseMatUse(A, type, data);
  poiseFree(A->ctx, &A->waiting);
  A->blocked = false;
  return POISE_OK;
}

PoiseErr poiseMatSetUp(PoiseMat A)
{
  TRY(poiseMatChoose(A));
  return PoiseAgree(A->ctx, A->type->setup ? A->type->setup(A) : POISE_OK);
}

const MatType *poiseMatAsked(PoiseMat A)
{
  return A->blocked ? &poiseMatType_bcsr : A->choice ? &poiseMatType_auto : A->type;
}

static PoiseErr Allocate(PoiseContext ctx, const MatType *type, PoiseMat *A)
{
  TRY(poiseObjectCreate(ctx, sizeof **A, KIND_MAT, "matrix", A));
  (*A)->refs = 1;
  (*A)->block_size = 1;
  (*A)->pattern = (*A)->state = 1;
  return FirstType(*A, type);
}

PoiseErr poiseMatCreateTyped(PoiseContext ctx, const MatType *type, PoiseInt m, PoiseInt n, PoiseInt M,
                             PoiseInt N, PoiseMat *A)
{
  *A = NULL;
  PoiseErr e = PoiseAgree(ctx, Allocate(ctx, type, A));
  if (!e) e = poiseLayoutCreate(ctx, m, M, "rows of the matrix", &(*A)->rows);
  if (!e) e = poiseLayoutCreate(ctx, n, N, "columns of the matrix", &(*A)->cols);
  if (e) PoiseMatDestroy(A);
  return e;
}

PoiseErr PoiseMatCreate(PoiseContext ctx, PoiseInt m, PoiseInt n, PoiseInt M, PoiseInt N, PoiseMat *A)
{
  CALLED(OBJECT(ctx), GIVEN(A));
  TRY(poiseMatCreateTyped(ctx, &poiseMatType_auto, m, n, M, N, A));
  (*A)->entries = true;
  return POISE_OK;
}

static PoiseErr CreateCSR(PoiseContext ctx, PoiseInt m, PoiseInt n, PoiseInt M, PoiseInt N,
                          const PoiseCSR *csr, PoiseOwn own, bool device, PoiseMat *A)
{
  TRY(poiseMatCreateTyped(ctx, &poiseMatType_auto, m, n, M, N, A));
  poiseLogBegin(ctx, EVENT_MatAssemble);
  PoiseErr e = device ? poiseCsrBuildDevice(*A, csr, own) : poiseCsrBuild(*A, csr, own);
  poiseLogEnd(ctx, EVENT_MatAssemble, 0, 0);
  if (e)
    PoiseMatDestroy(A);
  else
    (*A)->assembled = true;
  return e;
}

PoiseErr PoiseMatCreateCSR(PoiseContext ctx, PoiseInt m, PoiseInt n, PoiseInt M, PoiseInt N,
                           const PoiseCSR *csr, PoiseOwn own, PoiseMat *A)
{
  CALLED(OBJECT(ctx), WORD(own, POISE_BORROW + 1), GIVEN(A));
  return CreateCSR(ctx, m, n, M, N, csr, own, false, A);
}

PoiseErr PoiseMatCreateDeviceCSR(PoiseContext ctx, PoiseInt m, PoiseInt n, PoiseInt M, PoiseInt N,
                                 const PoiseCSR *csr, PoiseOwn own, PoiseMat *A)
{
  CALLED(OBJECT(ctx), WORD(own, POISE_BORROW + 1), GIVEN(A));
  return CreateCSR(ctx, m, n, M, N, csr, own, true, A);
}

PoiseErr PoiseMatDestroy(PoiseMat *A)
{
  DESTROYS(A);
  PoiseMat mat = *A;
  *A = NULL;
  if (!mat || --mat->refs) return POISE_OK;
  PoiseContext ctx = mat->ctx;
  if (mat->type && mat->type->destroy) mat->type->destroy(mat);
  poiseFree(ctx, &mat->data);
  poiseFree(ctx, &mat->waiting);
  poiseChoiceDestroy(mat);
  poiseCsrDestroy(ctx, &mat->csr);
  poiseStashDestroy(ctx, &mat->stash);
  poiseRowsDestroy(ctx, &mat->added);
  poiseTripletsDestroy(ctx, &mat->triplets);
  poiseNullSpaceDestroy(&mat->null);
  poiseNullSpaceDestroy(&mat->left);
  poiseNullSpaceDestroy(&mat->near);
  poiseFree(ctx, &mat->row_cols);
  poiseFree(ctx, &mat->row_vals);
  poiseFree(ctx, &mat->fills);
  poiseMapDestroy(ctx, &mat->row_map);
  poiseMapDestroy(ctx, &mat->col_map);
  PoiseVecDestroy(&mat->work);
  poisePermutationDestroy(&mat->moves);
  poiseLayoutDestroy(&mat->rows);
  poiseLayoutDestroy(&mat->cols);
  poiseFree(ctx, &mat->prefix);
  poiseObjectFree(ctx, &mat);
  return POISE_OK;
}

PoiseErr poiseMatShare(PoiseMat A, PoiseMat *B)
{
  A->refs++;
  *B = A;
  return POISE_OK;
}

/* ---- type and options ------------------------------------------------------------------------ */

void poiseMatInherit(PoiseMat A, PoiseMat B)
{
  B->typed = A->typed;
  B->configured = A->configured;
  const MatType *asked = poiseMatAsked(A);
  if (asked != poiseMatAsked(B)) return;
  if (A->choice)
    poiseChoiceInherit(A, B);
  else if (asked->inherit)
    asked->inherit(poiseMatAskedData(A), poiseMatAskedData(B));
}

/* Translate PETSc's names. They also name a device, and one rank or several, which types here do not. */
static const char *OwnName(const char *name)
{
  static const char *const theirs[] = {"aij", "aijcusparse", "aijkokkos", "baij"};
  const char *bare = name + (!strncmp(name, "seq", 3) || !strncmp(name, "mpi", 3) ? 3 : 0);
  for (int i = 0; i < 4; i++)
    if (!strcmp(bare, theirs[i])) return i < 3 ? "auto" : "bcsr";
  return name;
}

static PoiseErr FindType(const char *name, const MatType **type)
{
  const char *names[NTYPES], *own = OwnName(name);
  for (int i = 0; i < NTYPES; i++) {
    names[i] = types[i]->name;
    *type = types[i];
    if (!strcmp(own, names[i])) return POISE_OK;
  }
  return poiseUnknownWord("matrix type", name, NTYPES, names);
}

/* By the user. */
static PoiseErr AskFor(PoiseMat A, const MatType *type)
{
  TRY(poiseMatChangeType(A, type));
  return type == &poiseMatType_auto && A->choice ? poiseChoiceName(A) : POISE_OK;
}

PoiseErr PoiseMatSetType(PoiseMat A, const char *type)
{
  CALLED(OBJECT(A), GIVEN(type));
  const MatType *found;
  TRY(FindType(type, &found));
  TRY(AskFor(A, found));
  A->typed = true;
  return A->assembled ? poiseMatSetUp(A) : POISE_OK;
}

const char *PoiseMatType(PoiseMat A)
{
  CALLED_OR("", OBJECT(A));
  return poiseMatAsked(A)->name;
}

PoiseErr PoiseMatSetOptionsPrefix(PoiseMat A, const char *prefix)
{
  CALLED(OBJECT(A));
  char *copy;
  PoiseErr e = PoiseAgree(A->ctx, poiseStringCopy(A->ctx, prefix, &copy));
  poiseFree(A->ctx, e ? &copy : &A->prefix);
  if (!e) A->prefix = copy;
  return e;
}

PoiseErr PoiseMatSetFromOptions(PoiseMat A)
{
  CALLED(OBJECT(A));
  MatOptions o = {
      .block_size = A->find ? 0 : A->block_size, .partition = (int)A->partition, .order = (int)A->order};
  const MatType *type = poiseMatAsked(A);
  A->configured = true;
  TRY(PoiseOptionsRead(A->ctx, A->prefix, options, &o));
  bool named = PoiseOptionsHas(A->ctx, A->prefix, "mat_type", NULL) && poiseMatHolds(A);
  if (named) TRY(poiseOptionsRefuse(A->ctx, A->prefix, "mat_type", FindType(o.type, &type)));
  if (!o.block_size && !A->find && !type->blocked)
    FAIL(POISE_ERR_ARG, "block size 0 (to be determined) is for type bcsr, and the matrix is of type %s",
         type->name);
  TRY(PoiseMatSetBlockSize(A, (int)o.block_size)); /* that of the blocks of bcsr */
  if (named) TRY(AskFor(A, type));
  if (PoiseOptionsHas(A->ctx, A->prefix, "mat_csr_kernel", NULL))
    TRY(poiseOptionsRefuse(A->ctx, A->prefix, "mat_csr_kernel", PoiseMatSetCSRKernel(A, o.csr_kernel)));
  if (A->choice)
    TRY(poiseChoiceRead(A));
  else if (poiseMatAsked(A)->options)
    TRY(PoiseOptionsRead(A->ctx, A->prefix, poiseMatAsked(A)->options, poiseMatAskedData(A)));
  if (A->assembled) TRY(poiseMatSetUp(A));
  TRY(PoiseMatSetPartition(A, (PoisePartition)o.partition));
  return PoiseMatSetOrder(A, (PoiseOrder)o.order);
}

PoiseErr poiseMatOffer(PoiseMat A)
{
  return A->typed || A->configured || !poiseMatHolds(A) ? POISE_OK : PoiseMatSetFromOptions(A);
}

PoiseErr poiseMatAgreeBlockSize(PoiseContext ctx, PoiseErr mine, int b)
{
  int64_t most[2] = {b, -b};
  TRY(PoiseAgree(ctx, mine));
  TRY(poiseCommMaxInt(ctx->comm, most, 2));
  if (most[0] == -most[1]) return POISE_OK;
  FAIL(POISE_ERR_ARG, "block sizes differ from rank to rank, from %lld to %lld", (long long)-most[1],
       (long long)most[0]);
}

PoiseErr PoiseMatSetBlockSize(PoiseMat A, int b)
{
  CALLED(OBJECT(A));
  PoiseErr e = POISE_OK;
  if (b < 0 || b > MAX_BLOCK_SIZE)
    e = PoiseErrorSet(POISE_ERR_ARG, __func__, __FILE__, __LINE__,
                      "block size %d is not between 1 and %d, nor 0 (to be determined)", b, MAX_BLOCK_SIZE);
  else if (!b)
    e = POISE_OK;
  else if (A->rows->n % b || A->cols->n % b)
    e = PoiseErrorSet(POISE_ERR_SIZE, __func__, __FILE__, __LINE__,
                      "block size %d does not divide the %lld x %lld local rows and columns of rank %d", b,
                      (long long)A->rows->n, (long long)A->cols->n, PoiseRank(A->ctx));
  else if (A->blocked && A->assembled && b != A->block_size)
    e = PoiseErrorSet(POISE_ERR_STATE, __func__, __FILE__, __LINE__,
                      "the matrix has blocks of %d x %d: make it csr before its block size becomes %d",
                      A->block_size, A->block_size, b);
  TRY(poiseMatAgreeBlockSize(A->ctx, e, b));
  A->find = !b && !A->type->blocked;
  if (!b) return POISE_OK;
  if (b != A->block_size) A->state++; /* all that was built from the old blocks is invalid */
  if (b != A->block_size) poiseFree(A->ctx, &A->fills);
  A->block_size = b;
  return POISE_OK;
}

int PoiseMatBlockSize(PoiseMat A)
{
  CALLED_OR(0, OBJECT(A));
  return A->block_size;
}

/* A multiple of the block sizes that may be found, small ones first, as far as each rank gets SOME of it. */
static int64_t UnitToFind(PoiseContext ctx, PoiseInt M, PoiseInt N)
{
  enum { SOME = 16 };
  int64_t unit = 1;
  for (int b = 2; b <= POISE_BLOCK_FILLS; b++) {
    int64_t more = unit;
    while (more % b) more += unit;
    if (M % more == 0 && N % more == 0 && M / more >= SOME * (int64_t)PoiseSize(ctx)) unit = more;
  }
  return unit;
}

PoiseErr poiseMatLoadBlockSize(PoiseContext ctx, PoiseInt M, PoiseInt N, int64_t *b, int64_t *unit)
{
  PoiseOption table[2] = {{0}};
  MatOptions o = {.block_size = 1};
  for (const PoiseOption *row = options; row->key; row++)
    if (!strcmp(row->key, "mat_block_size")) table[0] = *row;
  TRY(PoiseOptionsRead(ctx, NULL, table, &o));
  *b = o.block_size > 1 && M % o.block_size == 0 && N % o.block_size == 0 ? o.block_size : 1;
  *unit = o.block_size ? *b : UnitToFind(ctx, M, N);
  return POISE_OK;
}

const char *poiseMatReorderWords(PoiseMat A, char *text, size_t size)
{
  const char *prefix = A->prefix ? A->prefix : "";
  snprintf(text, size, "-%smat_partition %s -%smat_order %s", prefix,
           poiseOptionsChoice(options, "mat_partition", (int)A->partition), prefix,
           poiseOptionsChoice(options, "mat_order", (int)A->order));
  return text;
}

/* ---- checks ---------------------------------------------------------------------------------- */

PoiseErr poiseMatCheckUsable(PoiseMat A)
{
  bool waits = A->blocked && !A->type->blocked; /* to be blocks */
  if (poiseMatHolds(A) && (!A->assembled || A->changed || waits))
    FAIL(POISE_ERR_STATE, "the matrix has %s: call PoiseMatAssemble",
         A->assembled && !waits ? "entries added since it was assembled" : "not been assembled");
  return POISE_OK;
}

PoiseErr poiseMatCheckSquare(PoiseMat A)
{
  if (!poiseLayoutSame(A->rows, A->cols))
    FAIL(
        POISE_ERR_SIZE,
        "the matrix is %lld x %lld (%lld x %lld on rank %d), not square with rows and columns laid out alike",
        (long long)A->rows->N, (long long)A->cols->N, (long long)A->rows->n, (long long)A->cols->n,
        PoiseRank(A->ctx));
  return POISE_OK;
}

static PoiseErr CheckLayout(PoiseMat A, const Layout *needed, const char *name, PoiseVec v)
{
  if (poiseLayoutSame(needed, v->layout)) return POISE_OK;
  FAIL(POISE_ERR_SIZE, "A is %lld x %lld (%lld x %lld on rank %d), %s has %lld entries (%lld)",
       (long long)A->rows->N, (long long)A->cols->N, (long long)A->rows->n, (long long)A->cols->n,
       PoiseRank(A->ctx), name, (long long)v->layout->N, (long long)v->layout->n);
}

/* out = op(A) in, where op(A) has rows `rows` and columns `cols`. */
static PoiseErr CheckProduct(PoiseMat A, const Layout *rows, const Layout *cols, PoiseVec in, PoiseVec out)
{
  TRY(poiseMatCheckUsable(A));
  if (in == out) FAIL(POISE_ERR_ARG, "x and y of a product are the same vector");
  TRY(CheckLayout(A, cols, "x", in));
  TRY(CheckLayout(A, rows, "y", out));
  return POISE_OK;
}

/* Does the product of the type take factors, skip and Fuse? */
static bool Fuses(PoiseMat A)
{
  return A->type->fuse && !(A->type->composes && A->type->composes(A));
}

int64_t poiseMatPartials(PoiseMat A)
{
  if (!Fuses(A)) return POISE_NBLOCKS(A->rows->n);
  return A->type->partials ? A->type->partials(A) : A->csr.nblock;
}

/* ---- products -------------------------------------------------------------------------------- */

double poiseMatTraffic(PoiseMat A)
{
  const Csr *c = &A->csr;
  if (!poiseMatHolds(A)) return 0;
  return 8.0 * (double)poiseCsrScalars(c) + 4.0 * (double)c->nz + (c->wide ? 8.0 : 4.0) * (double)(c->m + 1) +
         8.0 * (double)((c->m + c->nloc + c->nghost) * poiseCsrSide(c));
}

/* What a launch needs is there, and y is to be written; a product that is skipped leaves it as it is. */
static PoiseErr OpenProduct(PoiseMat A, PoiseVec y, ProductArgs *p)
{
  bool overwrites = !p->b.slot && p->b.value == 0 && !p->skip;
  if (A->type->ready) TRY(A->type->ready(A));
  return overwrites ? poiseVecWrite(y, &p->y) : poiseVecUpdate(y, &p->y);
}

/* On several ranks the rows that need no ghosts are multiplied while these travel. The exchange takes place
   whatever fails on this rank, as the neighbours wait for it. */
static PoiseErr LaunchProduct(PoiseMat A, PoiseVec x, PoiseVec y, ProductArgs *p)
{
  Halo *halo = A->csr.halo;
  PoiseErr exchanged = POISE_OK, e = poiseVecRead(x, &p->x);
  if (halo) TRY(poiseHaloBegin(halo, e, p->x));
  if (!e) e = OpenProduct(A, y, p);
  if (!e) e = A->type->launch(A, halo ? INTERIOR : WHOLE, p);
  if (halo) exchanged = poiseHaloEnd(halo, &p->ghost);
  TRY(e);
  TRY(exchanged);
  return halo ? A->type->launch(A, REST, p) : POISE_OK;
}

PoiseErr poiseMatMultPlain(PoiseMat A, PoiseVec x, PoiseVec y)
{
  ProductArgs p = {.a = {NULL, 1}};
  return A->type->mult ? A->type->mult(A, x, y) : LaunchProduct(A, x, y, &p);
}

/* A product of a type without Fuse: t = A x, then y = a t + b y and the dots in one pass. If skipped, t is
   computed in vain. */
static PoiseErr Compose(PoiseMat A, ScalarRef a, PoiseVec x, ScalarRef b, PoiseVec y, const double *skip,
                        const Fuse *fuse)
{
  bool overwrites = !b.slot && b.value == 0;
  AxpbyArgs p = {.n = A->rows->n, .a = a, .b = b, .skip = skip};
  /* eager loops enqueue nothing to be skipped */
  if ((!skip || A->type->eager) && overwrites && !a.slot && a.value == 1) {
    TRY(poiseMatMultPlain(A, x, y));
    return poiseVecFuse(y, skip, fuse);
  }
  TRY(poiseMatMultPlain(A, x, A->work));
  TRY(poiseVecRead(A->work, &p.x));
  TRY(overwrites && !skip ? poiseVecWrite(y, &p.y) : poiseVecUpdate(y, &p.y));
  if (fuse) p.fuse = *fuse;
  return LAUNCH(A->ctx->device, axpby, &p);
}

PoiseErr poiseMatMultFuse(PoiseMat A, ScalarRef a, PoiseVec x, ScalarRef b, PoiseVec y, const double *skip,
                          const Fuse *fuse)
{
  ProductArgs p = {.a = a, .b = b, .skip = skip, .fuse = fuse};
  poiseLogBegin(A->ctx, EVENT_MatMult);
  PoiseErr e = Fuses(A) ? LaunchProduct(A, x, y, &p) : Compose(A, a, x, b, y, skip, fuse);
  poiseLogEnd(A->ctx, EVENT_MatMult, 2.0 * (double)poiseCsrScalars(&A->csr), poiseMatTraffic(A));
  return e;
}

PoiseErr poiseMatReady(PoiseMat A)
{
  CsrView v;
  double *work;
  const int32_t *order;
  TRY(poiseMatChoose(A));
  TRY(poiseMatCheckUsable(A));
  if (!Fuses(A) && !A->work) TRY(poiseVecCreateLayout(A->rows, &A->work));
  if (!poiseMatHolds(A)) return POISE_OK;
  TRY(poiseCsrView(&A->csr, &v));
  if (A->type->ready) TRY(A->type->ready(A));
  if (!Fuses(A)) TRY(poiseVecWrite(A->work, &work));
  return A->csr.halo ? poiseBufferRead(&A->csr.order, DEVICE, &order) : POISE_OK;
}

PoiseErr poiseMatGhosts(PoiseMat A, PoiseErr mine, const double *x, const double **ghost)
{
  if (!A->csr.halo) return mine;
  TRY(poiseHaloBegin(A->csr.halo, mine, x));
  return poiseHaloEnd(A->csr.halo, ghost);
}

/* Only take part in the exchange: the neighbours of a rank that cannot multiply need it. */
static PoiseErr ExchangeOnly(PoiseMat A, PoiseErr mine)
{
  const double *ghost;
  (void)poiseMatGhosts(A, mine, NULL, &ghost);
  return mine;
}

/* y = a A x + b y, then the dots of y. mine: this rank's error so far. Whatever fails, this rank takes
   part in the communication, and the caller agrees afterwards. */
static PoiseErr Product(PoiseMat A, PoiseErr mine, double a, PoiseVec x, double b, PoiseVec y,
                        const Fuse *fuse)
{
  /* a user's function may be collective, so all call it or none does */
  if (!Fuses(A) && (!poiseMatHolds(A) || !A->work)) {
    TRY(PoiseAgree(A->ctx, mine));
    if (!A->work) TRY(poiseVecCreateLayout(A->rows, &A->work));
  }
  if (mine) return ExchangeOnly(A, mine);
  TRY(poiseMatMultFuse(A, (ScalarRef){NULL, a}, x, (ScalarRef){NULL, b}, y, NULL, fuse));
  return poiseBufferSyncBorrowed(&y->data);
}

PoiseErr PoiseMatMultAdd(PoiseMat A, double a, PoiseVec x, double b, PoiseVec y)
{
  CALLED(OBJECT(A), OBJECT(x), OBJECT(y));
  TRY(poiseMatChoose(A));
  PoiseErr e = CheckProduct(A, A->rows, A->cols, x, y);
  return PoiseAgree(A->ctx, Product(A, e, a, x, b, y, NULL));
}

PoiseErr PoiseMatMult(PoiseMat A, PoiseVec x, PoiseVec y)
{
  CALLED(OBJECT(A), OBJECT(x), OBJECT(y));
  return PoiseMatMultAdd(A, 1, x, 0, y);
}

PoiseErr PoiseMatResidual(PoiseMat A, PoiseVec b, PoiseVec x, PoiseVec r)
{
  CALLED(OBJECT(A), OBJECT(b), OBJECT(x), OBJECT(r));
  TRY(poiseMatChoose(A));
  PoiseErr e = CheckProduct(A, A->rows, A->cols, x, r);
  if (!e) e = poiseVecCheckSame(b, "b", r, "r");
  if (!e) e = PoiseVecCopy(b, r);
  return PoiseAgree(A->ctx, Product(A, e, -1, x, 1, r, NULL));
}

PoiseErr PoiseMatMultDot(PoiseMat A, PoiseVec x, PoiseVec y, PoiseVec u, double *dot)
{
  CALLED(OBJECT(A), OBJECT(x), OBJECT(y), OBJECT(u), GIVEN(dot));
  Fuse f = {.ndot = 1};
  if (!poiseMatHolds(A)) { /* as a user's function may itself use the context's scratch */
    TRY(PoiseMatMult(A, x, y));
    return PoiseVecDot(u, y, dot);
  }
  TRY(poiseMatChoose(A));
  PoiseErr e = CheckProduct(A, A->rows, A->cols, x, y);
  if (!e) e = poiseVecCheckSame(u, "u", y, "y");
  if (!e && u != y) e = poiseVecRead(u, &f.u[0]);  /* NULL: (y, y) */
  if (!e && A->type->ready) e = A->type->ready(A); /* decides how many partials there are */
  if (!e) e = poiseReduceReserve(A->ctx, poiseMatPartials(A));
  if (!e) e = poiseBufferWrite(&A->ctx->reduce_partial, DEVICE, &f.partial[0]);
  e = Product(A, e, 1, x, 0, y, &f);
  return poiseReduceFinish(A->ctx, e, 1, poiseMatPartials(A), false, dot);
}

PoiseErr PoiseMatMultTranspose(PoiseMat A, PoiseVec x, PoiseVec y)
{
  CALLED(OBJECT(A), OBJECT(x), OBJECT(y));
  PoiseErr e = CheckProduct(A, A->cols, A->rows, x, y);
  if (!e && !A->type->mult_transpose)
    e = PoiseErrorSet(POISE_ERR_UNSUPPORTED, __func__, __FILE__, __LINE__,
                      "matrix type %s has no transpose product", A->type->name);
  TRY(PoiseAgree(A->ctx, e));
  poiseLogBegin(A->ctx, EVENT_MatMultTranspose);
  e = A->type->mult_transpose(A, x, y);
  poiseLogEnd(A->ctx, EVENT_MatMultTranspose, 2.0 * (double)poiseCsrScalars(&A->csr), poiseMatTraffic(A));
  if (!e) e = poiseBufferSyncBorrowed(&y->data);
  return PoiseAgree(A->ctx, e);
}

/* ---- diagonal -------------------------------------------------------------------------------- */

static PoiseErr CheckDiagonal(PoiseMat A)
{
  TRY(poiseMatCheckUsable(A));
  TRY(poiseMatCheckSquare(A));
  if (!A->type->diagonal)
    FAIL(POISE_ERR_UNSUPPORTED, "matrix type %s cannot give its diagonal", A->type->name);
  return POISE_OK;
}

PoiseErr poiseMatDiagonalBlocks(PoiseMat A, PoiseErr mine, int b, double *d)
{
  if (!mine) mine = CheckDiagonal(A);
  TRY(PoiseAgree(A->ctx, mine)); /* a user's function may be collective */
  return A->type->diagonal(A, b, d);
}

static PoiseErr OpenDiagonal(PoiseMat A, PoiseVec d, double **p)
{
  if (d->ctx != A->ctx || !poiseLayoutSame(A->rows, d->layout))
    FAIL(POISE_ERR_SIZE, "A has %lld rows, the vector for its diagonal %lld", (long long)A->rows->N,
         (long long)d->layout->N);
  return poiseVecWrite(d, p);
}

PoiseErr PoiseMatGetDiagonal(PoiseMat A, PoiseVec d)
{
  CALLED(OBJECT(A), OBJECT(d));
  double *p = NULL;
  PoiseErr e = OpenDiagonal(A, d, &p);
  e = poiseMatDiagonalBlocks(A, e, 1, p);
  if (!e) e = poiseBufferSyncBorrowed(&d->data);
  return PoiseAgree(A->ctx, e);
}

/* ---- questions ------------------------------------------------------------------------------- */

void PoiseMatSizes(PoiseMat A, PoiseInt *M, PoiseInt *N)
{
  CALLED_OR(, OBJECT(A));
  if (M) *M = A->rows->N;
  if (N) *N = A->cols->N;
}

void PoiseMatLocalSizes(PoiseMat A, PoiseInt *m, PoiseInt *n)
{
  CALLED_OR(, OBJECT(A));
  if (m) *m = A->rows->n;
  if (n) *n = A->cols->n;
}

PoiseErr PoiseMatNonzeros(PoiseMat A, PoiseInt *nz)
{
  CALLED(OBJECT(A), GIVEN(nz));
  int64_t before;
  TRY(PoiseAgree(A->ctx, poiseMatCheckUsable(A)));
  return poiseCommScan(A->ctx->comm, poiseCsrScalars(&A->csr), &before, nz);
}

PoiseErr PoiseMatCreateVecs(PoiseMat A, PoiseVec *x, PoiseVec *y)
{
  CALLED(OBJECT(A));
  if (y) *y = NULL;
  if (x) TRY(poiseVecCreateLayout(A->cols, x));
  if (!y) return POISE_OK;
  PoiseErr e = poiseVecCreateLayout(A->rows, y);
  if (e && x) PoiseVecDestroy(x);
  return e;
}

PoiseContext PoiseMatContext(PoiseMat A)
{
  CALLED_OR(NULL, OBJECT(A));
  return A->ctx;
}

PoiseErr PoiseMatCopyCSR(PoiseMat A, int64_t **ptr, int64_t **col, double **val)
{
  CALLED(OBJECT(A), GIVEN(ptr), GIVEN(col), GIVEN(val));
  Csr *c = &A->csr;
  HostCsr h;
  *ptr = *col = NULL, *val = NULL;
  TRY(poiseMatReadEntries(A, &h));
  int64_t b = poiseCsrSide(c), m = A->rows->n, out = 0;
  size_t nz = (size_t)poiseCsrScalars(c);
  *ptr = malloc((size_t)(m + 1) * sizeof **ptr);
  *col = malloc(nz ? nz * sizeof **col : 1);
  *val = malloc(nz ? nz * sizeof **val : 1);
  if (!*ptr || !*col || !*val) {
    free(*ptr), free(*col), free(*val);
    *ptr = *col = NULL, *val = NULL;
    FAIL(POISE_ERR_MEMORY, "a copy of %lld rows and %zu entries", (long long)m, nz);
  }
  (*ptr)[0] = 0;
  for (int64_t i = 0; i < m; i++) {
    for (int64_t k = poiseCsrPtr(c, h.ptr, i / b); k < poiseCsrPtr(c, h.ptr, i / b + 1); k++)
      for (int64_t j = 0; j < b; j++, out++)
        (*col)[out] = poiseCsrGlobal(A, h.col[k]) * b + j, (*val)[out] = h.val[(k * b + j) * b + i % b];
    (*ptr)[i + 1] = out;
  }
  return POISE_OK;
}

/* ---- view ------------------------------------------------------------------------------------ */

PoiseErr poisePlanView(PoiseMat A, const ProductPlan *plan)
{
  char words[256] = "";
  poisePlanWords(&A->ctx->device->model, plan, words, sizeof words);
  if (plan->seconds == 0) return PoisePrintf(A->ctx, "    plan: %s\n", words);
  return PoisePrintf(A->ctx, "    plan: %s; predicted %.1f us\n", words, 1e6 * plan->seconds);
}

static PoiseErr ViewStored(PoiseMat A)
{
  Csr *c = &A->csr;
  bool is_host = A->ctx->device->ops->is_host;
  PoiseBytes held, csr = {0};
  int64_t plain;
  double sum[7] = {(double)c->nz, (double)c->statistics.squares, (double)c->nghost},
         longest = (double)c->statistics.longest;
  const char *what = c->b ? "BCSR" : "CSR";
  char entries[40] = "nonzeros";
  TRY(PoiseMatBytes(A, &held, &plain));
  poiseBufferAdd(&c->ptr, &csr);
  poiseBufferAdd(&c->col, &csr);
  poiseBufferAdd(&c->val, &csr); /* the values may not be on the device yet */
  sum[3] = (double)held.host, sum[4] = (double)held.device, sum[5] = (double)plain;
  sum[6] = (double)(is_host ? held.host - csr.host : held.device - csr.device);
  TRY(PoiseSum(A->ctx, 7, sum));
  TRY(PoiseMax(A->ctx, 1, &longest));
  double M = (double)(A->rows->N / poiseCsrSide(c)), mean = M > 0 ? sum[0] / M : 0;
  double deviation = M > 0 ? sqrt(fmax(0, sum[1] / M - mean * mean)) : 0;
  if (c->b) snprintf(entries, sizeof entries, "blocks of %d x %d", c->b, c->b);
  TRY(PoisePrintf(A->ctx, "  %.0f %s, row length mean %.2f, deviation %.2f, longest %.0f\n", sum[0], entries,
                  mean, deviation, longest));
  TRY(PoisePrintf(
      A->ctx, "  %.0f bytes on the host, %.0f on the device; plain %s is %.0f, beyond it %.0f on the %s\n",
      sum[3], sum[4], what, sum[5], sum[6], is_host ? "host" : "device"));
  TRY(PoisePrintf(A->ctx, "  %.0f ghost columns%s over all ranks\n", sum[2], c->b ? " of blocks" : ""));
  if (c->converted)
    TRY(PoisePrintf(A->ctx, "  converted into arrays of the library's own: %s\n", c->converted));
  return POISE_OK;
}

PoiseErr PoiseMatView(PoiseMat A)
{
  CALLED(OBJECT(A));
  TRY(poiseMatChoose(A));
  TRY(PoisePrintf(A->ctx, "Mat%s%s: type %s, %lld x %lld, block size %d, device %s, %d ranks\n",
                  A->prefix ? " " : "", A->prefix ? A->prefix : "", PoiseMatType(A), (long long)A->rows->N,
                  (long long)A->cols->N, A->block_size, A->ctx->device->ops->name, PoiseSize(A->ctx)));
  if (poiseMatHolds(A) && A->assembled) TRY(ViewStored(A));
  if (A->near.n) TRY(PoisePrintf(A->ctx, "  near-null space of %d vectors\n", A->near.n));
  if (A->fills) TRY(poiseMatViewFills(A));
  if (A->choice) TRY(poiseChoiceView(A));
  return A->type->view ? A->type->view(A) : POISE_OK;
}
