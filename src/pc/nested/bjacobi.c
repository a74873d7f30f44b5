/* SPDX-License-Identifier: BSD-3-Clause */
/*
  PC bjacobi: M = the diagonal blocks of P, each with a solver of its own (options -sub_ksp_..., -sub_pc_...),
  as PETSc's PCBJACOBI. The default is one block per rank with preonly and ilu. For a symmetric P ilu gives
  the same M = L D L^T as icc where that exists, except for rounding. -pc_bjacobi_supervariables inverts small
  dense blocks instead.

  A solver works in the context of its rank alone. Its matrix is a copy of the block (diagonal_block.c), whose
  values are gathered from P's when these change; on one rank with one block it is P itself. Vectors are
  slices on r and z. With preonly inside, nothing is copied and the solver's loop may be replayed.
*/
#include "mat/object/bytes.h"
#include "diagonal_block.h"
#include "ksp/inside.h"
#include "pc/supervariables.h"

typedef struct BJacobi {
  /* Number of blocks on all ranks; on this rank; rows of a supervariable block. 0: not given; at most one
     is given. */
  PoiseInt total, local, most;
  PoiseInt *length, lengths; /* rows of each of `lengths` blocks on this rank, as given; NULL: nearly equal */
  int64_t count;
  DiagonalBlock *block;
  PoiseKSP *ksp;  /* of each block */
  Version seen;   /* P, which was copied */
  int block_size; /* block size of the matrix whose rows were divided */
  int64_t configured;
  Supervariables small;
} BJacobi;

static const PoiseOption options[] = {
    {"pc_bjacobi_blocks", POISE_OPTION_INT, offsetof(BJacobi, total), "0", 0, 2147483647, NULL,
     "blocks on all ranks together; 0: one per rank"},
    {"pc_bjacobi_local_blocks", POISE_OPTION_INT, offsetof(BJacobi, local), "0", 0, 2147483647, NULL,
     "blocks on each rank"},
    {"pc_bjacobi_supervariables", POISE_OPTION_INT, offsetof(BJacobi, most), "0", 0, 32, NULL,
     "maximum rows of the dense blocks that are found from the pattern and inverted; 0: solvers in blocks"},
    {0},
};

/* ---- the blocks ------------------------------------------------------------------------------ */

static void ReleaseBlocks(PoisePC pc)
{
  BJacobi *j = pc->data;
  for (int64_t k = 0; k < j->count; k++) {
    poiseKSPDestroy(&j->ksp[k]);
    poiseDiagonalBlockRelease(&j->block[k]);
  }
  poiseFree(pc->ctx, &j->block);
  poiseFree(pc->ctx, &j->ksp);
  j->count = j->configured = 0;
  j->seen = (Version){0};
}

/* The number of blocks of this rank, by PETSc's rules. A block does not span ranks. */
static PoiseErr Count(PoisePC pc, PoiseInt *count)
{
  const BJacobi *j = pc->data;
  int size = PoiseSize(pc->ctx), rank = PoiseRank(pc->ctx);
  PoiseInt nodes = pc->P->rows->n / pc->P->block_size;
  *count = j->total ? j->total / size + (j->total % size > rank) : j->local ? j->local : 1;
  if (*count == 0)
    FAIL(POISE_ERR_SIZE,
         "pc_bjacobi_blocks: %lld blocks on %d ranks: a block does not span ranks, give at least %d",
         (long long)j->total, size, size);
  if (*count > 1 && *count > nodes)
    FAIL(POISE_ERR_SIZE, "pc_bjacobi: %lld blocks for the %lld rows of rank %d, whose block size is %d",
         (long long)*count, (long long)pc->P->rows->n, rank, pc->P->block_size);
  return POISE_OK;
}

/* The rows of the blocks: as given, or nearly equal numbers of whole nodes, larger blocks first. */
static PoiseErr Split(PoisePC pc, PoiseInt count)
{
  BJacobi *j = pc->data;
  const PoiseInt *length = j->lengths == count ? j->length : NULL;
  if (length && pc->P->origin.moves.to)
    FAIL(POISE_ERR_UNSUPPORTED, "pc_bjacobi: lengths of blocks are of the application's rows, which the "
                                "solver has rearranged (-mat_partition, "
                                "-mat_order): give their number alone");
  PoiseInt b = pc->P->block_size, nodes = pc->P->rows->n / b, first = 0;
  for (PoiseInt k = 0; k < count; k++) {
    PoiseInt n = length ? length[k] : (nodes / count + (nodes % count > k)) * b;
    if (n % b)
      FAIL(POISE_ERR_SIZE, "pc_bjacobi: a block of %lld rows, and a block size of %d", (long long)n, (int)b);
    j->block[k].first = first;
    j->block[k].n = n;
    first += n;
  }
  if (first != pc->P->rows->n)
    FAIL(POISE_ERR_SIZE, "pc_bjacobi: the blocks of rank %d have %lld rows in all, the rank has %lld",
         PoiseRank(pc->ctx), (long long)first, (long long)pc->P->rows->n);
  return POISE_OK;
}

static PoiseErr CreateSolver(PoisePC pc, PoiseKSP *ksp)
{
  char prefix[POISE_OPTION_LENGTH];
  TRY(poisePCInnerPrefix(pc, "sub_", prefix));
  TRY(PoiseKSPCreate(poiseContextSelf(pc->ctx), ksp));
  poiseKSPSetInside(*ksp);
  TRY(PoiseKSPSetType(*ksp, "preonly"));
  TRY(PoisePCSetType((*ksp)->pc, "ilu"));
  return PoiseKSPSetOptionsPrefix(*ksp, prefix);
}

static PoiseErr CreateSolvers(PoisePC pc, PoiseInt count)
{
  BJacobi *j = pc->data;
  ReleaseBlocks(pc);
  pc->generation++;
  TRY(poiseAllocArray(pc->ctx, count, sizeof *j->block, "blocks", &j->block));
  TRY(poiseAllocArray(pc->ctx, count, sizeof *j->ksp, "solvers of blocks", &j->ksp));
  j->count = count;
  for (PoiseInt k = 0; k < count; k++) TRY(CreateSolver(pc, &j->ksp[k]));
  return POISE_OK;
}

/* Do the blocks have other rows than they should? */
static bool OtherRows(PoisePC pc)
{
  const BJacobi *j = pc->data;
  const DiagonalBlock *last = &j->block[j->count - 1];
  return last->first + last->n != pc->P->rows->n || j->block_size != pc->P->block_size;
}

/* Make the blocks and their solvers for P's rows and the settings. Solvers are kept while their number
   stays. Local. */
static PoiseErr MakeBlocks(PoisePC pc)
{
  BJacobi *j = pc->data;
  PoiseInt count;
  TRY(poiseMatCheckSquare(pc->P));
  TRY(Count(pc, &count));
  if (j->count == count && !OtherRows(pc)) return POISE_OK;
  PoiseErr e = j->count == count ? POISE_OK : CreateSolvers(pc, count);
  if (!e) e = Split(pc, count);
  if (e) ReleaseBlocks(pc);
  j->block_size = pc->P->block_size;
  j->seen = (Version){0}; /* their matrices are of other blocks */
  pc->seen = (Version){0};
  pc->built = false;
  return e;
}

/* ---- their matrices -------------------------------------------------------------------------- */

/* One rank, one block: the solver has P itself, and r and z themselves. */
static bool IsWhole(PoisePC pc)
{
  const BJacobi *j = pc->data;
  return j->count == 1 && PoiseSize(pc->ctx) == 1;
}

static PoiseErr MakeMatrices(PoisePC pc)
{
  BJacobi *j = pc->data;
  bool same = !(poiseMatChanged(&j->seen, pc->P) & CHANGED_PATTERN);
  if (IsWhole(pc)) return PoiseKSPSetOperators(j->ksp[0], pc->P, NULL);
  TRY(poisePCCheckStored(pc));
  j->seen = (Version){0}; /* until all have succeeded */
  for (int64_t k = 0; k < j->count; k++) {
    if (!same) TRY(poiseDiagonalBlockCreate(pc, &j->block[k]));
    if (!same) TRY(PoiseKSPSetOperators(j->ksp[k], j->block[k].A, NULL));
    TRY(poiseDiagonalBlockCopyValues(pc, &j->block[k]));
  }
  pc->generation += !same;
  j->seen = pc->P->version;
  return POISE_OK;
}

/* ---- set-up ---------------------------------------------------------------------------------- */

static PoiseErr SetUp_BJacobi(PoisePC pc)
{
  BJacobi *j = pc->data;
  if (!j->most) {
    poiseSupervariablesDestroy(&j->small);
    TRY(MakeBlocks(pc));
    return MakeMatrices(pc);
  }
  ReleaseBlocks(pc);
  return poiseSupervariablesSetup(pc, &j->small, (int)j->most);
}

static PoiseErr Configure(PoisePC pc)
{
  BJacobi *j = pc->data;
  if (j->configured == pc->configured) return POISE_OK;
  for (int64_t k = 0; k < j->count; k++) TRY(PoiseKSPSetFromOptions(j->ksp[k]));
  j->configured = pc->configured;
  return POISE_OK;
}

/* What the solvers read. A solver with a copy of its block reads only that. */
static PoiseErr Reads_BJacobi(PoisePC pc, Reads *reads)
{
  BJacobi *j = pc->data;
  Reads one;
  TRY(Configure(pc));
  for (int64_t k = 0; k < j->count; k++) {
    TRY(poiseKSPReads(j->ksp[k], &one));
    if (one != READS_NOTHING) *reads = IsWhole(pc) ? one : READS_COPIES;
  }
  return POISE_OK;
}

static PoiseErr Ready_BJacobi(PoisePC pc, bool keep)
{
  BJacobi *j = pc->data;
  int64_t generation = 0, builds = 0;
  TRY(Configure(pc));
  for (int64_t k = 0; k < j->count; k++) {
    TRY(poiseKSPCheckInside(j->ksp[k], pc->P));
    TRY(poiseKSPReady(j->ksp[k], IsWhole(pc) ? poisePCSource(pc) : j->block[k].A, keep, pc->exact));
    generation += poiseKSPGeneration(j->ksp[k]), builds += j->ksp[k]->pc->builds;
  }
  poisePCInside(pc, generation, builds);
  return POISE_OK;
}

static const char *Eager_BJacobi(PoisePC pc)
{
  BJacobi *j = pc->data;
  const char *why = NULL;
  for (int64_t k = 0; k < j->count && !why; k++) why = poiseKSPAppliesEagerly(j->ksp[k]);
  return why;
}

static bool Varies_BJacobi(PoisePC pc, Varying *why)
{
  const BJacobi *j = pc->data;
  bool varies = false;
  for (int64_t k = 0; k < j->count && !varies; k++) varies = poiseKSPVaries(j->ksp[k], "bjacobi", why);
  return varies;
}

/* ---- application ----------------------------------------------------------------------------- */

static PoiseErr ApplyBlocks(PoisePC pc, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse)
{
  BJacobi *j = pc->data;
  int64_t columns = poiseVecColumns(r);
  const double *in, *written;
  double *out;
  TRY(poiseVecRead(r, &in));
  TRY(skip ? poiseVecUpdate(z, &out) : poiseVecWrite(z, &out)); /* skipped, z keeps its content */
  for (int64_t k = 0; k < j->count; k++) {
    DiagonalBlock *b = &j->block[k];
    PoiseVec part = columns > 1 ? b->wide_r : b->r, of_z = columns > 1 ? b->wide_z : b->z;
    poiseVecPoint(part, in + b->first * columns);
    poiseVecPoint(of_z, out + b->first * columns);
    TRY(poiseKSPApply(j->ksp[k], part, of_z, skip, j->count == 1 ? fuse : NULL));
    TRY(poiseVecRead(of_z, &written)); /* copies z from the host, if it was written there */
  }
  return j->count == 1 ? POISE_OK : poiseVecFuse(z, skip, fuse);
}

static PoiseErr Apply_BJacobi(PoisePC pc, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse)
{
  BJacobi *j = pc->data;
  if (j->small.most) return poiseSupervariablesApply(pc, &j->small, r, z, skip, fuse);
  return IsWhole(pc) ? poiseKSPApply(j->ksp[0], r, z, skip, fuse) : ApplyBlocks(pc, r, z, skip, fuse);
}

/* Solvers that only apply their preconditioner. That may go column by column, but calls back to nobody. */
static bool TakesColumns(PoisePC pc)
{
  const BJacobi *j = pc->data;
  bool takes = !j->small.most;
  for (int64_t k = 0; k < j->count && takes; k++) {
    PoisePC inner = j->ksp[k]->pc;
    takes = poiseKSPOnlyApplies(j->ksp[k]) && (!poisePCEager(inner) || poisePCTakesColumns(inner));
  }
  return takes;
}

static PoiseErr ReadyColumns_BJacobi(PoisePC pc, int columns)
{
  BJacobi *j = pc->data;
  PoiseErr e = POISE_OK;
  if (!TakesColumns(pc) || columns == 1) return POISE_OK;
  for (int64_t k = 0; k < j->count; k++) {
    if (!e && !IsWhole(pc)) e = poiseDiagonalBlockReadyColumns(&j->block[k], columns);
    if (!e) e = poisePCReadyColumns(j->ksp[k]->pc, columns);
  }
  return e;
}

static PoiseErr Blocks_BJacobi(PoisePC pc, const double **d, int64_t *b)
{
  return poiseSupervariablesShow(&((BJacobi *)pc->data)->small, d, b);
}

static void Cost_BJacobi(PoisePC pc, double *flops, double *bytes)
{
  const Supervariables *s = &((BJacobi *)pc->data)->small;
  *flops = 2 * (double)s->entries; /* nested events count the work of solvers */
  *bytes = 8 * (double)s->entries + 16 * (double)s->n;
}

/* ---- the interface --------------------------------------------------------------------------- */

static PoiseErr View_BJacobi(PoisePC pc)
{
  const BJacobi *j = pc->data;
  double total = (double)j->count;
  int64_t small = j->small.most; /* 0 on a rank where set-up has failed */
  TRY(poiseCommMaxInt(pc->ctx->comm, &small, 1));
  if (small) return poiseSupervariablesView(pc, &j->small);
  TRY(PoiseSum(pc->ctx, 1, &total));
  if (total == 0) return POISE_OK;
  TRY(poisePrint(pc->ctx, "  %.0f blocks; the solver of the first:\n", total));
  return PoiseAgree(pc->ctx, j->count ? PoiseKSPView(j->ksp[0]) : POISE_OK); /* other ranks print nothing */
}

static void Bytes_BJacobi(PoisePC pc, PoiseBytes *sum)
{
  const BJacobi *j = pc->data;
  poiseSupervariablesBytes(&j->small, sum);
  for (int64_t k = 0; k < j->count; k++) {
    const DiagonalBlock *b = &j->block[k];
    poiseBufferAdd(&b->from, sum);
    poiseKSPAddBytes(j->ksp[k], b->A, sum);
  }
}

/* Numbers of a block's matrix, least and most, where P has those of the plan: as they are, or shares by rows
   without the ghosts' columns. */
static PoiseErr CountNumbers(PoisePC pc, const DiagonalBlock *b, const MatPlan *plan, PoiseInt numbers[2])
{
  int64_t size = poisePlanSide(plan) * poisePlanSide(plan), m = b->n / poisePlanSide(plan);
  if (plan->counts) {
    double share = plan->m ? (double)m / (double)plan->m : 0;
    numbers[0] = 0;
    numbers[1] = size * (m == plan->m ? plan->nz - plan->nghost
                                      : (int64_t)ceil(share * (double)(plan->nz - plan->nghost)));
    return POISE_OK;
  }
  TRY(poiseDiagonalBlockCount(pc, b, &numbers[0]));
  numbers[0] *= size;
  numbers[1] = numbers[0];
  return POISE_OK;
}

/* Predict a solver with its own matrix. Perhaps no product uses that matrix, so only the values are
   certain. */
static PoiseErr PredictBlock(PoisePC pc, int64_t k, const MatPlan *plan, PoisePrediction *p)
{
  BJacobi *j = pc->data;
  PoisePrediction all[2] = {{.beyond = NULL}, {.beyond = NULL}};
  int64_t size = poisePlanSide(plan) * poisePlanSide(plan);
  PoiseInt numbers[2];
  TRY(CountNumbers(pc, &j->block[k], plan, numbers));
  for (int most = 0; most < 2; most++) {
    const PoiseMatCounts counts = {.nonzeros = numbers[most]};
    PoisePrediction matrix;
    TRY(PoiseMatPredictBytes(j->ksp[k]->A, &counts, &matrix));
    matrix.least = (PoiseBytes){0};
    poisePredictBetween(pc->ctx->device, 8 * numbers[most], 0, ON_DEVICE, &matrix);
    poisePredictSum(&matrix, &all[most]);
    poisePredict(pc->ctx->device, numbers[most] / size * (int64_t)sizeof(int32_t), ON_BOTH, &all[most]);
    TRY(poiseKSPPredictInside(j->ksp[k], &counts, &all[most]));
  }
  all[0].most = all[1].most;
  poisePredictSum(&all[0], p);
  return POISE_OK;
}

/* Give a solver without a matrix of its block's rows one without entries, until its set-up. */
static PoiseErr Promise(PoisePC pc, int64_t k)
{
  BJacobi *j = pc->data;
  const DiagonalBlock *b = &j->block[k];
  PoiseMat A = NULL;
  if (j->ksp[k]->A && j->ksp[k]->A->rows->n == b->n) return POISE_OK;
  PoiseErr e = poiseDiagonalBlockCreateEmpty(pc, b, &A);
  if (!e) e = PoiseKSPSetOperators(j->ksp[k], A, NULL);
  PoiseMatDestroy(&A);
  return e;
}

static PoiseErr Predict_BJacobi(PoisePC pc, const MatPlan *plan, PoisePrediction *p)
{
  BJacobi *j = pc->data;
  TRY(poisePCCheckStored(pc));
  TRY(poiseMatCheckSquare(pc->P));
  if (j->most) {
    poiseSupervariablesPredict(pc, (int)j->most, p);
    return POISE_OK;
  }
  TRY(MakeBlocks(pc));
  TRY(Configure(pc));
  if (IsWhole(pc) && j->ksp[0]->A != poisePCSource(pc))
    TRY(PoiseKSPSetOperators(j->ksp[0], poisePCSource(pc), NULL));
  if (IsWhole(pc)) return poiseKSPPredictInside(j->ksp[0], plan->counts, p);
  for (int64_t k = 0; k < j->count; k++) {
    TRY(Promise(pc, k));
    TRY(PredictBlock(pc, k, plan, p));
  }
  if (plan->counts && j->count > 1)
    p->beyond = "entries that are not shared out over its blocks as their rows are";
  return POISE_OK;
}

static void Destroy_BJacobi(PoisePC pc)
{
  BJacobi *j = pc->data;
  ReleaseBlocks(pc);
  poiseSupervariablesDestroy(&j->small);
  poiseFree(pc->ctx, &j->length);
}

static PoiseErr Read_BJacobi(PoisePC pc);
static PoiseErr Inherit_BJacobi(PoisePC from, PoisePC to);

const PCType poisePCType_bjacobi = {
    .name = "bjacobi",
    .size = sizeof(BJacobi),
    .near = true,
    .options = options,
    .read = Read_BJacobi,
    .inherit = Inherit_BJacobi,
    .eager = Eager_BJacobi,
    .varies = Varies_BJacobi,
    .setup = SetUp_BJacobi,
    .reads = Reads_BJacobi,
    .ready = Ready_BJacobi,
    .apply = Apply_BJacobi,
    .apply_columns = Apply_BJacobi,
    .takes_columns = TakesColumns,
    .ready_columns = ReadyColumns_BJacobi,
    .blocks = Blocks_BJacobi,
    .cost = Cost_BJacobi,
    .view = View_BJacobi,
    .bytes = Bytes_BJacobi,
    .predict = Predict_BJacobi,
    .destroy = Destroy_BJacobi,
};

static PoiseErr CheckType(PoisePC pc)
{
  if (pc->type != &poisePCType_bjacobi)
    FAIL(POISE_ERR_STATE, "the preconditioner is of type %s, not bjacobi", pc->type->name);
  return POISE_OK;
}

/* Set a number of blocks in total, or on this rank; else the rows of supervariable blocks; or none of
   these. What is so already ends no M. */
static PoiseErr SetBlocks(PoisePC pc, PoiseInt total, PoiseInt local, const PoiseInt *lengths, PoiseInt most)
{
  BJacobi *j = pc->data;
  PoiseInt *copy = NULL;
  bool same = !lengths && !j->lengths && total == j->total && local == j->local && most == j->most;
  if (same) return POISE_OK;
  if (lengths) TRY(poiseAllocArray(pc->ctx, local, sizeof *copy, "lengths of blocks", &copy));
  for (PoiseInt k = 0; lengths && k < local; k++) copy[k] = lengths[k];
  poiseFree(pc->ctx, &j->length);
  j->length = copy;
  j->lengths = copy ? local : 0;
  j->total = total;
  j->local = local;
  j->most = most;
  ReleaseBlocks(pc);
  pc->seen = (Version){0};
  pc->built = false;
  return POISE_OK;
}

/* Options override earlier settings. A number replaces all of them. 0 for the total also drops the number
   per rank; any other 0 drops only its own setting. */
static PoiseErr Override(PoisePC pc, const BJacobi *given)
{
  const BJacobi *j = pc->data;
  bool all = given->total > 0 || given->local > 0 || given->most > 0;
  PoiseInt total = given->total >= 0 ? given->total : all ? 0 : j->total;
  PoiseInt local = given->local >= 0 ? given->local : all || !given->total ? 0 : j->local;
  PoiseInt most = given->most >= 0 ? given->most : all ? 0 : j->most;
  bool same = total == j->total && local == j->local && most == j->most && !(given->local > 0 && j->lengths);
  return same ? POISE_OK : SetBlocks(pc, total, local, NULL, most);
}

static PoiseErr Read_BJacobi(PoisePC pc)
{
  BJacobi given = {.total = -1, .local = -1, .most = -1};
  TRY(PoiseOptionsRead(pc->ctx, pc->prefix, options, &given));
  if (given.total > 0 && given.local > 0)
    FAIL(POISE_ERR_OPTION,
         "pc_bjacobi: give a number of blocks in total (%lld) or on each rank (%lld), not both",
         (long long)given.total, (long long)given.local);
  if (given.most > 0 && (given.total > 0 || given.local > 0))
    FAIL(POISE_ERR_OPTION, "pc_bjacobi_supervariables finds the blocks: give no number of blocks with it");
  return Override(pc, &given);
}

PoiseErr PoisePCBJacobiSetTotalBlocks(PoisePC pc, PoiseInt blocks)
{
  CALLED(OBJECT(pc));
  TRY(CheckType(pc));
  if (blocks < 0) FAIL(POISE_ERR_ARG, "%lld blocks", (long long)blocks);
  return SetBlocks(pc, blocks, 0, NULL, 0);
}

static PoiseErr CheckLengths(PoiseInt blocks, const PoiseInt *lengths)
{
  if (blocks < 1) FAIL(POISE_ERR_ARG, "%lld blocks on a rank", (long long)blocks);
  for (PoiseInt k = 0; lengths && k < blocks; k++)
    if (lengths[k] < 0) FAIL(POISE_ERR_ARG, "block %lld has %lld rows", (long long)k, (long long)lengths[k]);
  return POISE_OK;
}

PoiseErr PoisePCBJacobiSetLocalBlocks(PoisePC pc, PoiseInt blocks, const PoiseInt *lengths)
{
  CALLED(OBJECT(pc));
  TRY(CheckType(pc));
  PoiseErr e = CheckLengths(blocks, lengths);
  return PoiseAgree(pc->ctx, e ? e : SetBlocks(pc, 0, blocks, lengths, 0));
}

PoiseErr PoisePCBJacobiGetSubKSP(PoisePC pc, PoiseInt *count, PoiseInt *first, PoiseKSP **ksp)
{
  CALLED(OBJECT(pc));
  BJacobi *j = pc->data;
  PoiseInt all, before;
  TRY(CheckType(pc));
  if (!pc->P)
    FAIL(POISE_ERR_STATE,
         "the preconditioner has no matrix yet, and the number of blocks depends on its rows");
  PoiseErr e = j->most ? PoiseErrorSet(POISE_ERR_STATE, __func__, __FILE__, __LINE__,
                                       "supervariable blocks are inverted, there are no solvers in them")
                       : MakeBlocks(pc);
  if (!e) e = Configure(pc);
  TRY(PoiseAgree(pc->ctx, e));
  TRY(poiseCommScan(pc->ctx->comm, j->count, &before, &all));
  if (count) *count = j->count;
  if (first) *first = before;
  if (ksp) *ksp = j->ksp;
  return POISE_OK;
}

/* A solver that the application has taken from its one block speaks for those of all blocks. */
static PoiseErr Inherit_BJacobi(PoisePC from, PoisePC to)
{
  const BJacobi *f = from->data, *t = to->data;
  PoiseKSP *ksp;
  PoiseInt count;
  if (f->lengths || f->count > 1)
    FAIL(POISE_ERR_UNSUPPORTED,
         "pc_bjacobi: %s are of the application's one rank, and the solve is divided "
         "(-gpus, -solve_ranks): give the number of blocks and options alone",
         f->lengths ? "lengths of blocks" : "solvers in several blocks");
  if (f->total != t->total || f->local != t->local || f->most != t->most)
    TRY(SetBlocks(to, f->total, f->local, NULL, f->most));
  if (!f->count || f->most) return POISE_OK;
  TRY(PoisePCBJacobiGetSubKSP(to, &count, NULL, &ksp));
  PoiseErr e = POISE_OK;
  for (PoiseInt k = 0; k < count && !e; k++) e = poiseKSPTakeInside(f->ksp[0], ksp[k]);
  return PoiseAgree(to->ctx, e);
}
