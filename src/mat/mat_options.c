/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of a matrix: which there are, and how they are read. */
#include "mat/order/arrange.h"
#include "mat/types/auto.h"
#include "mat/types/blocks.h"
#include "mat_type.h"

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
  return poiseMatRegisterTypes(ctx);
}

PoiseErr PoiseMatSetOptionsPrefix(PoiseMat A, const char *prefix)
{
  CALLED(OBJECT(A));
  char *copy;
  PoiseErr e = PoiseAgree(A->ctx, poiseStringCopy(A->ctx, prefix, &copy));
  poiseFree(A->ctx, e ? &copy : &A->asked.prefix);
  if (!e) A->asked.prefix = copy;
  return e;
}

PoiseErr PoiseMatSetFromOptions(PoiseMat A)
{
  CALLED(OBJECT(A));
  MatOptions o = {.block_size = A->asked.find ? 0 : A->block_size,
                  .partition = (int)A->asked.partition,
                  .order = (int)A->asked.order};
  const MatType *type = A->asked.type;
  A->asked.settled = true;
  TRY(PoiseOptionsRead(A->ctx, A->asked.prefix, options, &o));
  bool named = PoiseOptionsHas(A->ctx, A->asked.prefix, "mat_type", NULL) && poiseMatHolds(A);
  if (named) TRY(poiseOptionsRefuse(A->ctx, A->asked.prefix, "mat_type", poiseMatFindType(o.type, &type)));
  if (!o.block_size && !A->asked.find && !type->blocked)
    FAIL(POISE_ERR_ARG, "block size 0 (to be determined) is for type bcsr, and the matrix is of type %s",
         type->name);
  TRY(PoiseMatSetBlockSize(A, (int)o.block_size)); /* that of the blocks of bcsr */
  if (named) TRY(poiseMatAskByName(A, type));
  if (PoiseOptionsHas(A->ctx, A->asked.prefix, "mat_csr_kernel", NULL))
    TRY(poiseOptionsRefuse(A->ctx, A->asked.prefix, "mat_csr_kernel", PoiseMatSetCSRKernel(A, o.csr_kernel)));
  if (poiseMatIsAuto(A))
    TRY(poiseChoiceRead(A));
  else if (A->asked.type->options)
    TRY(PoiseOptionsRead(A->ctx, A->asked.prefix, A->asked.type->options, poiseMatAskedData(A)));
  if (A->assembled) TRY(poiseMatSetUp(A));
  TRY(PoiseMatSetPartition(A, (PoisePartition)o.partition));
  return PoiseMatSetOrder(A, (PoiseOrder)o.order);
}

PoiseErr poiseMatOffer(PoiseMat A)
{
  return A->asked.settled || !poiseMatHolds(A) ? POISE_OK : PoiseMatSetFromOptions(A);
}

PoiseErr poiseMatReadBlockSize(PoiseContext ctx, PoiseInt *b)
{
  PoiseOption table[2] = {{0}};
  MatOptions o = {.block_size = 1};
  for (const PoiseOption *row = options; row->key; row++)
    if (!strcmp(row->key, "mat_block_size")) table[0] = *row;
  TRY(PoiseOptionsRead(ctx, NULL, table, &o));
  *b = o.block_size;
  return POISE_OK;
}

const char *poiseMatReorderWords(PoiseMat A, char *text, size_t size)
{
  const char *prefix = A->asked.prefix ? A->asked.prefix : "";
  snprintf(text, size, "-%smat_partition %s -%smat_order %s", prefix,
           poiseOptionsChoice(options, "mat_partition", (int)A->asked.partition), prefix,
           poiseOptionsChoice(options, "mat_order", (int)A->asked.order));
  return text;
}
