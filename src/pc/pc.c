/* SPDX-License-Identifier: BSD-3-Clause */
/* The preconditioner interface. */
#include "mat/order/arrange.h"
#include "mat/object/bytes.h"
#include "vec/vec_kernels.h"
#include "pc.h"

#define PC_TYPE(name) extern const PCType poisePCType_##name;
#include "types.def"
#undef PC_TYPE

static const PCType *const types[] = {
#define PC_TYPE(name) &poisePCType_##name,
#include "types.def"
#undef PC_TYPE
};
enum { NTYPES = sizeof types / sizeof *types };

typedef struct PCOptions {
  char type[POISE_OPTION_LENGTH];
} PCOptions;

#define PC_TYPE(name) " " #name
static const char type_help[] = "preconditioner:"
#include "types.def"
    ;
#undef PC_TYPE

static const PoiseOption options[] = {
    {"pc_type", POISE_OPTION_STRING, offsetof(PCOptions, type), "none", 0, 0, NULL, type_help},
    {0},
};

PoiseErr poiseRegister_pc(PoiseContext ctx)
{
  TRY(poiseOptionsRegister(ctx, "PC", options));
  for (int i = 0; i < NTYPES; i++)
    if (types[i]->options) TRY(poiseOptionsRegister(ctx, types[i]->name, types[i]->options));
  return POISE_OK;
}

static void ReleaseMoved(PoisePC pc)
{
  PoiseVecDestroy(&pc->column[0]);
  PoiseVecDestroy(&pc->column[1]);
  PoiseVecDestroy(&pc->moved[0]);
  PoiseVecDestroy(&pc->moved[1]);
}

/* Collective. After a failure all ranks have the old type. */
static PoiseErr SetType(PoisePC pc, const PCType *type)
{
  void *data = NULL;
  if (pc->type == type) return POISE_OK;
  PoiseErr e = PoiseAgree(pc->ctx, poiseAlloc(pc->ctx, type->size, type->name, &data));
  if (e) {
    poiseFree(pc->ctx, &data);
    return e;
  }
  if (pc->type && pc->type->destroy) pc->type->destroy(pc);
  poiseFree(pc->ctx, &pc->data);
  ReleaseMoved(pc);
  PoiseMatDestroy(&pc->kept);
  pc->type = type;
  pc->data = data;
  pc->seen = (Version){0};
  pc->built = false;
  pc->generation++;
  return type->options ? PoiseOptionsDefaults(type->options, pc->data) : POISE_OK;
}

static PoiseErr Create(PoiseContext ctx, PoisePC *pc)
{
  return poiseObjectCreate(ctx, sizeof **pc, KIND_PC, "preconditioner", pc);
}

PoiseErr PoisePCCreate(PoiseContext ctx, PoisePC *pc)
{
  CALLED(OBJECT(ctx), GIVEN(pc));
  *pc = NULL;
  PoiseErr e = PoiseAgree(ctx, Create(ctx, pc));
  if (!e) e = SetType(*pc, types[0]);
  if (e) poisePCDestroy(pc);
  return e;
}

void poisePCDestroy(PoisePC *pc)
{
  if (!*pc) return;
  PoiseContext ctx = (*pc)->ctx;
  if ((*pc)->type && (*pc)->type->destroy) (*pc)->type->destroy(*pc);
  poiseFree(ctx, &(*pc)->data);
  ReleaseMoved(*pc);
  poiseFree(ctx, &(*pc)->prefix);
  PoiseMatDestroy(&(*pc)->P);
  PoiseMatDestroy(&(*pc)->kept);
  poiseObjectFree(ctx, pc);
}

PoiseErr PoisePCDestroy(PoisePC *pc)
{
  DESTROYS(pc);
  if ((*pc)->owner)
    FAIL(POISE_ERR_STATE, "PoisePCDestroy of a preconditioner that a solver lends (PoiseKSPGetPC): "
                          "PoiseKSPDestroy of that solver destroys it");
  poisePCDestroy(pc);
  return POISE_OK;
}

const PCType *poisePCAsked(PoisePC pc)
{
  return pc->chooser ? pc->chooser : pc->type;
}

/* Of its type. */
static PoiseErr ReadOptions(PoisePC pc)
{
  if (!pc->type->options) return POISE_OK;
  TRY(pc->type->read ? pc->type->read(pc)
                     : PoiseOptionsRead(pc->ctx, pc->prefix, pc->type->options, pc->data));
  pc->seen = (Version){0};
  pc->generation++;
  return POISE_OK;
}

static const PCType *Named(const char *name)
{
  for (int i = 0; i < NTYPES; i++)
    if (!strcmp(name, types[i]->name)) return types[i];
  return NULL;
}

static PoiseErr UnknownType(const char *name)
{
  const char *names[NTYPES];
  for (int i = 0; i < NTYPES; i++) names[i] = types[i]->name;
  return poiseUnknownWord("preconditioner", name, NTYPES, names);
}

PoiseErr PoisePCSetType(PoisePC pc, const char *type)
{
  CALLED(OBJECT(pc), GIVEN(type));
  const PCType *t = Named(type);
  if (!t) return UnknownType(type);
  pc->named = true;
  if (t == poisePCAsked(pc)) return POISE_OK;
  pc->chooser = NULL;
  return SetType(pc, t);
}

PoiseErr poisePCBecome(PoisePC pc, const char *name, const char *why)
{
  pc->chooser = poisePCAsked(pc);
  pc->why = why;
  TRY(SetType(pc, Named(name)));
  return ReadOptions(pc);
}

const char *PoisePCType(PoisePC pc)
{
  CALLED_OR("", OBJECT(pc));
  return pc->type->name;
}

PoiseErr poisePCUse(PoisePC pc, PoiseMat P)
{
  PoiseMat keep;
  int64_t differs = pc->built && !poiseLayoutSame(pc->P->rows, P->rows);
  if (P == pc->P && poiseMatHolds(P))
    return POISE_OK; /* the state of P says whether it has changed; that of a shell cannot */
  /* if it differs on any rank, as building is collective */
  if (pc->built) TRY(poiseCommMaxInt(pc->ctx->comm, &differs, 1));
  TRY(poiseMatShare(P, &keep));
  pc->built = pc->built && !differs;
  PoiseMatDestroy(&pc->P);
  pc->P = keep;
  pc->seen = (Version){0};
  return POISE_OK;
}

PoiseErr PoisePCSetOperator(PoisePC pc, PoiseMat P)
{
  CALLED(OBJECT(pc), OBJECT(P));
  return pc->owner ? pc->owner->set(pc->solver, P) : poisePCUse(pc, P);
}

PoiseErr PoisePCSetOptionsPrefix(PoisePC pc, const char *prefix)
{
  CALLED(OBJECT(pc));
  char *copy = NULL;
  PoiseErr e = PoiseAgree(pc->ctx, poiseStringCopy(pc->ctx, prefix, &copy));
  poiseFree(pc->ctx, e ? &copy : &pc->prefix);
  if (!e) pc->prefix = copy;
  return e;
}

PoiseErr PoisePCSetFromOptions(PoisePC pc)
{
  CALLED(OBJECT(pc));
  PCOptions o = {{0}};
  TRY(PoiseOptionsRead(pc->ctx, pc->prefix, options, &o));
  if (PoiseOptionsHas(pc->ctx, pc->prefix, "pc_type", NULL))
    TRY(poiseOptionsRefuse(pc->ctx, pc->prefix, "pc_type", PoisePCSetType(pc, o.type)));
  pc->configured++;
  return ReadOptions(pc);
}

PoiseErr poisePCCheckStored(PoisePC pc)
{
  if (!poiseMatHolds(pc->P))
    FAIL(POISE_ERR_UNSUPPORTED,
         "preconditioner %s needs the entries of the matrix, and a matrix of type %s %s", pc->type->name,
         pc->P->type->name, pc->P->type->eager ? "has none" : "does not offer its rows");
  return POISE_OK;
}

const char *poisePCEager(PoisePC pc)
{
  const char *own = pc->type->eager ? pc->type->eager(pc) : NULL;
  return own || !pc->eager ? own : "the preconditioner of another rank works through the host";
}

bool poisePCVaries(PoisePC pc, Varying *why)
{
  return pc->type->varies && pc->type->varies(pc, why);
}

PoiseErr poisePCInnerPrefix(PoisePC pc, const char *inner, char prefix[POISE_OPTION_LENGTH])
{
  int n = snprintf(prefix, POISE_OPTION_LENGTH, "%s%s", pc->prefix ? pc->prefix : "", inner);
  if (n >= POISE_OPTION_LENGTH) FAIL(POISE_ERR_ARG, "an option prefix of %d characters is too long", n);
  return POISE_OK;
}

void poisePCInside(PoisePC pc, int64_t generation, int64_t builds)
{
  pc->inside.moved |= generation != pc->inside.generation;
  pc->inside.built |= builds != pc->inside.builds;
  pc->inside.generation = generation, pc->inside.builds = builds;
}

/* ---- set-up ---------------------------------------------------------------------------------- */

PoiseMat poisePCSource(PoisePC pc)
{
  return pc->kept ? pc->kept : pc->P;
}

static PoiseErr Reading(PoisePC pc, Reads *reads)
{
  *reads = READS_NOTHING;
  return pc->type->reads ? pc->type->reads(pc, reads) : POISE_OK;
}

/* A shell's products are always the user's, so no copy is possible. */
static PoiseErr CopyOperator(PoisePC pc)
{
  PoiseMat P = pc->P, copy;
  if (!poiseMatHolds(P)) return POISE_OK;
  TRY(PoiseMatDuplicate(P, 1, &copy));
  copy->origin.row = P->origin.row;
  PoiseErr e = poisePermutationShare(&P->origin.moves, &copy->origin.moves);
  if (!e && P->null.n) e = PoiseMatSetNullSpace(copy, 0, P->null.n, P->null.v);
  if (!e && P->left.n) e = PoiseMatSetTransposeNullSpace(copy, 0, P->left.n, P->left.v);
  if (e)
    PoiseMatDestroy(&copy);
  else
    pc->kept = copy;
  return e;
}

/* Give an M that must outlive P's values a copy of them to read. If they have changed already, M is no
   longer what was built, on any number of ranks: it is built once more. */
static PoiseErr Hold(PoisePC pc, bool current)
{
  Reads reads;
  if (!pc->type->reads || pc->holds) return POISE_OK;
  TRY(PoiseAgree(pc->ctx, Reading(pc, &reads)));
  int64_t worst[] = {(int64_t)reads, !current};
  TRY(poiseCommMaxInt(pc->ctx->comm, worst, 2));
  if (worst[0] == READS_NOTHING) return POISE_OK;
  pc->built = pc->built && !worst[1];
  if (worst[1]) return POISE_OK;
  if (worst[0] == READS_P) TRY(CopyOperator(pc));
  pc->holds = true;
  return POISE_OK;
}

static bool IsCurrent(PoisePC pc)
{
  unsigned depends = CHANGED_PATTERN | CHANGED_VALUES | (pc->type->near ? CHANGED_NEAR : 0u);
  return !(poiseMatChanged(&pc->seen, pc->P) & depends);
}

PoiseErr poisePCKeep(PoisePC pc, bool reuse, bool held)
{
  pc->reuse = reuse;
  pc->held = held;
  return reuse && pc->built ? Hold(pc, IsCurrent(pc)) : POISE_OK;
}

/* What has changed inside on one rank alone is a change on all, and what is eager there is so on all, as they
   capture loops together. */
static PoiseErr Ready(PoisePC pc, bool keep)
{
  if (!pc->type->ready) return POISE_OK;
  TRY(PoiseAgree(pc->ctx, pc->type->ready(pc, keep)));
  int64_t any[] = {pc->inside.moved, pc->inside.built, pc->type->eager && pc->type->eager(pc)};
  TRY(poiseCommMaxInt(pc->ctx->comm, any, 3));
  pc->inside.moved = pc->inside.built = false;
  pc->generation += any[0];
  pc->builds += any[1];
  pc->eager = any[2];
  return POISE_OK;
}

/* ---- rows that are not the application's ----------------------------------------------------- */

static PoiseErr CreateMoved(PoisePC pc, Layout *rows)
{
  if (pc->moved[0] && poiseLayoutSame(pc->moved[0]->layout, rows)) return POISE_OK;
  ReleaseMoved(pc);
  TRY(poiseVecCreateLocal(rows, &pc->moved[0]));
  return poiseVecCreateLocal(rows, &pc->moved[1]);
}

/* Make r and z with the rows of the other side (the application's or the solver's). Collective; agrees. */
static PoiseErr MakeMoved(PoisePC pc)
{
  if (!pc->P->origin.moves.from) return POISE_OK;
  PoiseErr e = CreateMoved(pc, pc->type->outside ? poiseMatRowsOutside(pc->P) : pc->P->rows);
  if (e) ReleaseMoved(pc);
  return PoiseAgree(pc->ctx, e);
}

/* Apply M. outside: r and z have the application's rows. If a function of the application fails on one
   rank, that rank still takes part in all moves, which are collective. */
static PoiseErr Apply(PoisePC pc, bool outside, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse)
{
  const Permutation *m = &pc->P->origin.moves;
  if (!m->from || outside == pc->type->outside) return pc->type->apply(pc, r, z, skip, fuse);
  TRY(poiseVecMove(outside ? m->to : m->from, r, pc->moved[0])); /* r is as b, and z as x */
  PoiseErr e = pc->type->apply(pc, pc->moved[0], pc->moved[1], NULL, NULL);
  PoiseErr back = poiseVecMove(outside ? m->out : m->into, pc->moved[1], z);
  if (!e) e = back;
  return e ? e : poiseVecFuse(z, skip, fuse);
}

/* ---- wide vectors ---------------------------------------------------------------------------- */

bool poisePCTakesColumns(PoisePC pc)
{
  if (pc->type->pointwise) return true;
  return pc->type->apply_columns && (!pc->type->takes_columns || pc->type->takes_columns(pc));
}

PoiseErr poisePCReadyColumns(PoisePC pc, int columns)
{
  Layout *rows = pc->P->rows;
  if (pc->type->ready_columns) TRY(pc->type->ready_columns(pc, columns));
  if (poisePCTakesColumns(pc) || (pc->column[1] && poiseLayoutSame(pc->column[1]->layout, rows)))
    return POISE_OK;
  PoiseVecDestroy(&pc->column[0]);
  PoiseVecDestroy(&pc->column[1]);
  double *p;
  for (int k = 0; k < 2; k++) {
    TRY(poiseVecCreateLocal(rows, &pc->column[k]));
    TRY(poiseVecWrite(pc->column[k], &p));
  }
  return POISE_OK;
}

/* One column after the other. */
static PoiseErr ApplyByColumns(PoisePC pc, PoiseVec r, PoiseVec z, const Fuse *fuse)
{
  PoiseVec one = pc->column[0], of_z = pc->column[1];
  PoiseErr e = POISE_OK;
  for (int j = 0; j < poiseVecColumns(r); j++) {
    if (!e) e = poiseVecTakeColumn(r, j, one);
    PoiseErr applied = Apply(pc, false, one, of_z, NULL, NULL); /* may be collective */
    if (!e) e = applied;
    if (!e) e = poiseVecPutColumn(of_z, j, z);
  }
  return e ? e : poiseVecFuse(z, NULL, fuse);
}

/* A diagonal, in one pass, for all systems alike. */
static PoiseErr ApplyDiagonal(PoisePC pc, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse)
{
  AxpbyArgs a = {.n = r->layout->n, .a.value = 1, .skip = skip, .systems.n = poiseVecColumns(r)};
  if (fuse) a.fuse = *fuse;
  TRY(pc->type->pointwise(pc, &a.scale));
  TRY(poiseVecRead(r, &a.x));
  TRY(skip ? poiseVecUpdate(z, &a.y) : poiseVecWrite(z, &a.y));
  return LAUNCH(pc->ctx->device, axpby_columns, &a);
}

static PoiseErr ApplyColumns(PoisePC pc, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse)
{
  double k = poiseVecColumns(r), flops = (double)r->layout->n, bytes = 24 * flops, once = 0;
  if (pc->type->cost) pc->type->cost(pc, &flops, &bytes);
  if (pc->type->once && poisePCTakesColumns(pc)) once = pc->type->once(pc);
  poiseLogBegin(pc->ctx, EVENT_PCApply);
  PoiseErr e = pc->type->pointwise       ? ApplyDiagonal(pc, r, z, skip, fuse)
               : poisePCTakesColumns(pc) ? pc->type->apply_columns(pc, r, z, skip, fuse)
                                         : ApplyByColumns(pc, r, z, fuse);
  poiseLogEnd(pc->ctx, EVENT_PCApply, k * flops, k * bytes - (k - 1) * once);
  return e;
}

/* ---- set-up and application ------------------------------------------------------------------ */

static PoiseErr Build(PoisePC pc)
{
  if (pc->type->outside) TRY(MakeMoved(pc));
  int64_t builds = pc->builds + 1; /* those inside are part of it */
  PoiseMatDestroy(&pc->kept);
  pc->holds = false;
  PoiseErr e = PoiseAgree(pc->ctx, pc->type->setup ? pc->type->setup(pc) : POISE_OK);
  if (!e && pc->reuse) e = Hold(pc, true);
  if (!e) e = Ready(pc, false);
  if (!e && pc->reuse) e = Hold(pc, true); /* the solvers further inside exist only after this */
  pc->seen = e ? (Version){0} : pc->P->version;
  pc->built = !e && !pc->type->live;
  pc->builds = builds;
  return e;
}

void poisePCExact(PoisePC pc, bool exact)
{
  if (pc->exact != exact && pc->type->rounds) pc->seen = (Version){0};
  pc->exact = exact;
}

void poisePCRelaxes(PoisePC pc, bool relaxes)
{
  relaxes = relaxes && pc->type->relax && PoiseSize(pc->ctx) == 1;
  if (pc->relaxes != relaxes) pc->seen = (Version){0}, pc->generation++;
  pc->relaxes = relaxes;
}

/* A captured loop has the products with P, and its null spaces, of solvers inside. */
static void SeeProduct(PoisePC pc)
{
  const Version *now = &pc->P->version;
  pc->generation += pc->seen.product != now->product || pc->seen.spaces != now->spaces;
  pc->seen.product = now->product, pc->seen.spaces = now->spaces;
}

PoiseErr poisePCPrepare(PoisePC pc)
{
  if (!pc->P)
    FAIL(POISE_ERR_STATE,
         "the preconditioner has no matrix: call PoisePCSetOperator or PoiseKSPSetOperators");
  if (pc->kept && !pc->reuse)
    pc->seen = (Version){0}, pc->built = false; /* solvers inside must work with P again */
  TRY(poisePCKeep(pc, pc->reuse, pc->held));    /* they may have changed */
  bool keep = (pc->reuse || pc->held) && pc->built;
  if (!keep) TRY(PoiseAgree(pc->ctx, poiseMatCheckUsable(pc->P)));
  if (keep || IsCurrent(pc)) {
    SeeProduct(pc);
    return Ready(pc, keep);
  }
  poiseLogBegin(pc->ctx, EVENT_PCSetUp);
  PoiseErr e = poisePCAsked(pc)->choose ? poisePCAsked(pc)->choose(pc) : POISE_OK;
  if (!e) e = Build(pc);
  poiseLogEnd(pc->ctx, EVENT_PCSetUp, 0, 0);
  return e;
}

/* Is M with others who solve for the owner? */
static bool IsElsewhere(PoisePC pc)
{
  return pc->owner && pc->owner->elsewhere(pc->solver);
}

PoiseErr PoisePCSetUp(PoisePC pc)
{
  CALLED(OBJECT(pc));
  if (IsElsewhere(pc)) {
    PoiseErr e = pc->owner->setup(pc->solver);
    if (!e || IsElsewhere(pc)) return e;
    PoiseErrorClear(); /* it is no longer, and needs no solver that is set up */
  }
  if (pc->owner) TRY(pc->owner->follow(pc->solver));
  return poisePCPrepare(pc);
}

static PoiseErr ApplyLogged(PoisePC pc, bool outside, PoiseVec r, PoiseVec z, const double *skip,
                            const Fuse *fuse)
{
  double flops = (double)r->layout->n, bytes = 24 * flops;
  if (pc->type->cost) pc->type->cost(pc, &flops, &bytes);
  poiseLogBegin(pc->ctx, EVENT_PCApply);
  PoiseErr e = Apply(pc, outside, r, z, skip, fuse);
  poiseLogEnd(pc->ctx, EVENT_PCApply, flops, bytes);
  return e;
}

PoiseErr poisePCApplyFuse(PoisePC pc, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse)
{
  if (poiseVecColumns(r) > 1) return ApplyColumns(pc, r, z, skip, fuse);
  return ApplyLogged(pc, false, r, z, skip, fuse);
}

PoiseErr poisePCRelax(PoisePC pc, PoiseVec r, PoiseVec z, const double *skip)
{
  double flops = 0, bytes = 0;
  pc->type->cost(pc, &flops, &bytes);
  poiseLogBegin(pc->ctx, EVENT_PCApply);
  PoiseErr e = pc->type->relax(pc, r, z, skip);
  poiseLogEnd(pc->ctx, EVENT_PCApply, flops, bytes);
  return e;
}

PoiseErr PoisePCApply(PoisePC pc, PoiseVec r, PoiseVec z)
{
  CALLED(OBJECT(pc), OBJECT(r), OBJECT(z));
  PoiseErr e = PoisePCSetUp(pc);
  if (!e && r == z)
    e = PoiseErrorSet(POISE_ERR_ARG, __func__, __FILE__, __LINE__, "r and z are the same vector");
  if (!e) e = poiseVecCheckSame(r, "r", z, "z");
  if (!e) e = poiseMatCheckOutside(pc->P, "PoisePCApply of a preconditioner");
  if (!e && !poiseLayoutSame(poiseMatRowsOutside(pc->P), r->layout))
    e = PoiseErrorSet(POISE_ERR_SIZE, __func__, __FILE__, __LINE__, "P has %lld rows, r has %lld entries",
                      (long long)pc->P->rows->N, (long long)r->layout->N);
  TRY(PoiseAgree(pc->ctx, e));
  TRY(MakeMoved(pc));
  e = IsElsewhere(pc) ? pc->owner->apply(pc->solver, r, z) : ApplyLogged(pc, true, r, z, NULL, NULL);
  if (!e) e = poiseBufferSyncBorrowed(&z->data);
  return PoiseAgree(pc->ctx, e);
}

PoiseErr PoisePCBytes(PoisePC pc, PoiseBytes *bytes)
{
  CALLED(OBJECT(pc), GIVEN(bytes));
  *bytes = (PoiseBytes){0};
  if (pc->type->bytes) pc->type->bytes(pc, bytes);
  for (int k = 0; k < 2; k++)
    if (pc->column[k]) poiseBufferAdd(&pc->column[k]->data, bytes);
  if (!pc->kept) return POISE_OK;
  PoiseBytes copy;
  TRY(PoiseMatBytes(pc->kept, &copy, NULL));
  bytes->host += copy.host;
  bytes->device += copy.device;
  return POISE_OK;
}

/* p += bytes of a copy of P with the prediction `matrix`. On a device the host part is fetched when the
   host needs it. */
static PoiseErr PredictCopy(PoisePC pc, PoisePrediction matrix, PoisePrediction *p)
{
  Reads reads = READS_NOTHING;
  if (pc->reuse) TRY(Reading(pc, &reads));
  if (reads != READS_P || !poiseMatHolds(pc->P)) return POISE_OK;
  if (!pc->ctx->device->ops->is_host) matrix.least.host = 0;
  poisePredictSum(&matrix, p);
  return POISE_OK;
}

PoiseErr poisePCPredict(PoisePC pc, const PoiseMatCounts *counts, PoisePrediction *p)
{
  MatPlan plan;
  PoisePrediction matrix = {.beyond = NULL}, mine = matrix;
  if (!pc->P)
    FAIL(POISE_ERR_STATE,
         "the preconditioner has no matrix: call PoisePCSetOperator or PoiseKSPSetOperators");
  TRY(PoiseAgree(pc->ctx, poiseMatPredict(pc->P, counts, &plan, &matrix)));
  TRY(PoiseAgree(pc->ctx, pc->type->predict ? pc->type->predict(pc, &plan, &mine) : POISE_OK));
  TRY(PoiseAgree(pc->ctx, PredictCopy(pc, matrix, &mine)));
  if (pc->type->bytes && !pc->type->predict) mine.beyond = "what a preconditioner of its type keeps";
  if (pc->type->choose) mine.beyond = "the preconditioner that will be chosen";
  poisePredictOpen(&plan, &mine);
  poisePredictSum(&mine, p);
  return POISE_OK;
}

PoiseErr PoisePCPredictBytes(PoisePC pc, const PoiseMatCounts *counts, PoisePrediction *p)
{
  CALLED(OBJECT(pc), GIVEN(p));
  *p = (PoisePrediction){.beyond = NULL};
  if (pc->owner) TRY(PoiseAgree(pc->ctx, pc->owner->plan(pc->solver, &p->beyond)));
  return poisePCPredict(pc, counts, p);
}

PoiseErr poisePCForesee(PoisePC pc, double *entries, double *flops)
{
  if (pc->owner) TRY(pc->owner->follow(pc->solver));
  if (!pc->P)
    FAIL(POISE_ERR_STATE,
         "the preconditioner has no matrix: call PoisePCSetOperator or PoiseKSPSetOperators");
  if (!pc->type->foresee)
    FAIL(POISE_ERR_UNSUPPORTED, "preconditioner %s makes no factors of the whole matrix", pc->type->name);
  int64_t stale = !pc->built || poiseMatChanged(&pc->seen, pc->P);
  TRY(poiseCommMaxInt(pc->ctx->comm, &stale, 1));
  if (stale) pc->built = false, pc->seen = (Version){0}; /* an old M may go */
  return pc->type->foresee(pc, entries, flops);
}

static PoiseErr View(PoisePC pc)
{
  PoiseBytes held;
  TRY(PoisePCBytes(pc, &held));
  double any = (double)(held.host + held.device);
  TRY(PoiseMax(pc->ctx, 1, &any));
  TRY(poisePrint(pc->ctx, "PC: type %s\n", pc->type->name));
  if (pc->chooser) TRY(poisePrint(pc->ctx, "  %s chose it: %s\n", pc->chooser->name, pc->why));
  if (any > 0) TRY(poiseBytesPrint(pc->ctx, &held));
  return pc->type->view ? pc->type->view(pc) : POISE_OK;
}

PoiseErr PoisePCView(PoisePC pc)
{
  CALLED(OBJECT(pc));
  return poisePrinted(pc->ctx, View(pc));
}
