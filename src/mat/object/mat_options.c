/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of a matrix: which there are, and how they are read. */
#include "mat/order/arrange.h"
#include "mat/storage/blocks.h"
#include "mat_type.h"

typedef struct MatOptions {
  char type[POISE_OPTION_LENGTH], local[POISE_OPTION_LENGTH], csr_kernel[POISE_OPTION_LENGTH];
  char weights[POISE_OPTION_LENGTH];
  PoiseInt block_size;
  int partition, order;
} MatOptions;

#define MAT_TYPE(name) " " #name
static const char type_help[] = "storage format of the product:"
#include "mat/types.def"
    ;
#undef MAT_TYPE

static const PoiseOption options[] = {
    {"mat_type", POISE_OPTION_STRING, offsetof(MatOptions, type), "auto", 0, 0, NULL, type_help},
    {"mat_local_type", POISE_OPTION_STRING, offsetof(MatOptions, local), "auto", 0, 0, NULL,
     "storage format of a part of type pcsr: csr csri seg bcsr auto"},
    {"mat_block_size", POISE_OPTION_INT, offsetof(MatOptions, block_size), "1", 0, MAX_BLOCK_SIZE, NULL,
     "unknowns per node; 0 with -mat_type bcsr: the size from 2 to 8 with the fewest bytes, or csr if "
     "none takes fewer"},
    {"mat_csr_kernel", POISE_OPTION_STRING, offsetof(MatOptions, csr_kernel), "own", 0, 0, NULL,
     "SpMV kernel of csr: own, or on cuda cusparse or cusparse_alg2 (results repeat); these need int32 "
     "offsets, and on several ranks a copy of x"},
    {"mat_partition", POISE_OPTION_CHOICE, offsetof(MatOptions, partition), "rows", 0, 0,
     "rows|nonzeros|bytes|graph",
     "how a solver distributes rows over ranks: as given, by equal nonzeros or bytes, or by METIS"},
    {"mat_partition_weights", POISE_OPTION_STRING, offsetof(MatOptions, weights), "", 0, 0, NULL,
     "shares of the ranks in what -mat_partition measures, and in the nonzeros of type pcsr: 2,1,1; the "
     "default is equal shares"},
    {"mat_order", POISE_OPTION_CHOICE, offsetof(MatOptions, order), "natural", 0, 0,
     "natural|rcm|amd|match|match,rcm|match,amd",
     "order in which a solver works on the rows of a rank: as given, reverse Cuthill-McKee, or minimum "
     "degree; "
     "match puts large entries on the diagonal first"},
    {0},
};

PoiseErr poiseRegister_mat(PoiseContext ctx)
{
  TRY(poiseOptionsRegister(ctx, "Mat", options));
  return poiseProductRegister(ctx);
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

static bool Has(PoiseMat A, const char *key)
{
  return PoiseOptionsHas(A->ctx, A->asked.prefix, key, NULL) != 0;
}

/* weights = the numbers of "2,1,1"; *n: how many there are. It has room, as the text is an option's. */
static PoiseErr ParseWeights(const char *text, int *n, double *weights)
{
  char *end;
  *n = 0;
  for (const char *p = text; *text; p = end + 1) {
    weights[(*n)++] = strtod(p, &end);
    if (end == p || (*end && *end != ','))
      FAIL(POISE_ERR_ARG, "'%s' is not a list of weights, such as 2,1,1", text);
    if (!*end) return POISE_OK;
  }
  return POISE_OK;
}

static PoiseErr TakeWeights(PoiseMat A, const char *text)
{
  double weights[POISE_OPTION_LENGTH];
  int n;
  TRY(ParseWeights(text, &n, weights));
  return PoiseMatSetPartitionWeights(A, n, n ? weights : NULL);
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
  bool named = Has(A, "mat_type") && poiseMatHolds(A);
  if (Has(A, "mat_local_type"))
    TRY(poiseOptionsRefuse(A->ctx, A->asked.prefix, "mat_local_type", PoiseMatSetLocalType(A, o.local)));
  if (named) TRY(poiseOptionsRefuse(A->ctx, A->asked.prefix, "mat_type", poiseMatFindType(o.type, &type)));
  if (!o.block_size && !A->asked.find && !poiseMatLocalType(A, type)->blocked)
    FAIL(POISE_ERR_ARG, "block size 0 (to be determined) is for type bcsr, and the matrix is of type %s",
         type->name);
  TRY(PoiseMatSetBlockSize(A, (int)o.block_size)); /* that of the blocks of bcsr */
  if (named) TRY(poiseMatAskByName(A, type));
  if (Has(A, "mat_csr_kernel"))
    TRY(poiseOptionsRefuse(A->ctx, A->asked.prefix, "mat_csr_kernel", PoiseMatSetCSRKernel(A, o.csr_kernel)));
  if (poiseMatHolds(A)) TRY(poiseProductReadOptions(A));
  if (A->assembled) TRY(poiseMatSetUp(A));
  if (Has(A, "mat_partition")) TRY(PoiseMatSetPartition(A, (PoisePartition)o.partition));
  if (Has(A, "mat_partition_weights"))
    TRY(poiseOptionsRefuse(A->ctx, A->asked.prefix, "mat_partition_weights", TakeWeights(A, o.weights)));
  return PoiseMatSetOrder(A, (PoiseOrder)o.order);
}

PoiseErr poiseMatOffer(PoiseMat A)
{
  return A->asked.settled || !poiseMatHolds(A) ? POISE_OK : PoiseMatSetFromOptions(A);
}

/* Read one option of those above. */
static PoiseErr ReadAlone(PoiseContext ctx, const char *prefix, const char *key, MatOptions *o)
{
  PoiseOption table[2] = {{0}};
  for (const PoiseOption *row = options; row->key; row++)
    if (!strcmp(row->key, key)) table[0] = *row;
  return PoiseOptionsRead(ctx, prefix, table, o);
}

PoiseErr poiseMatReadBlockSize(PoiseContext ctx, PoiseInt *b)
{
  MatOptions o = {.block_size = 1};
  TRY(ReadAlone(ctx, NULL, "mat_block_size", &o));
  *b = o.block_size;
  return POISE_OK;
}

PoiseErr poiseMatReadOrder(PoiseContext ctx, const char *prefix, PoiseOrder *order)
{
  MatOptions o = {.order = (int)*order};
  TRY(ReadAlone(ctx, prefix, "mat_order", &o));
  *order = (PoiseOrder)o.order;
  return POISE_OK;
}

const char *poiseMatReorderWords(PoiseMat A, PoiseOrder order, char *text, size_t size)
{
  const char *prefix = A->asked.prefix ? A->asked.prefix : "";
  snprintf(text, size, "-%smat_partition %s -%smat_order %s", prefix,
           poiseOptionsChoice(options, "mat_partition", (int)poiseMatPartitionOf(A)), prefix,
           poiseOptionsChoice(options, "mat_order", (int)order));
  return text;
}
