/* SPDX-License-Identifier: BSD-3-Clause */
/*
  PC lu: M = P, by factors with partial pivoting: dense ones (lu_dense.c), or sparse ones of SuperLU
  (lu_sparse.c) or of the device's library (lu_device.c). PC cholesky is the same for a P that is symmetric
  positive definite: no rows are exchanged, and the pivots tell whether P is definite.

  By itself it takes dense factors where these are small, as a dense solve is fast and never leaves the
  device. A dense factorisation of n rows takes 2/3 n^3 flops, and a sparse one often n^1.5 to n^2. Then it
  takes the device's library where there is one, and SuperLU where that fails, as it exchanges rows at will.
*/
#include "mat/csr/entries.h"
#include "mat/order/arrange.h"
#include "mat/order/match.h"
#include "pc_device.h"
#include "lu.h"

enum { SMALL = 512 }; /* 2 MB, and 0.1 Gflop */

static const PoiseOption options[] = {
    {"pc_factor_solver", POISE_OPTION_CHOICE, offsetof(LU, solver), "auto", 0, 0, "auto|dense|superlu|cudss",
     "what factors: dense factors on the device, or sparse ones, by SuperLU on the host or by cuDSS on a "
     "GPU"},
    {"pc_lu_max_size", POISE_OPTION_INT, offsetof(LU, max_size), "4096", 1, 1e6, NULL,
     "maximum number of rows of dense factors, which are on every rank"},
    {"pc_factor_zeropivot", POISE_OPTION_REAL, offsetof(LU, zero_pivot), "2.220446049250313e-14", 0, 1e300,
     NULL, "pivots of dense factors up to this count as zero"},
    {0},
};

static bool IsAuto(PoisePC pc)
{
  return ((const LU *)pc->data)->solver == LU_AUTO;
}

/* May the device's library be taken unasked, as far as this rank knows? What is not there is no error. */
static PoiseErr LookForLibrary(PoisePC pc, bool *lacks)
{
  const PCDevice *ops = pc->ctx->device->ops->pc;
  *lacks = true;
  if (!ops || !ops->direct_unasked) return POISE_OK;
  PoiseErr e = poiseLUFindLibrary(pc);
  if (e != POISE_ERR_UNSUPPORTED) *lacks = e;
  if (e == POISE_ERR_UNSUPPORTED) PoiseErrorClear();
  return e == POISE_ERR_UNSUPPORTED ? POISE_OK : e;
}

static bool IsSmall(PoisePC pc)
{
  const LU *lu = pc->data;
  PoiseInt most = pc->ctx->device->ops->is_host && SMALL < lu->max_size ? SMALL : lu->max_size;
  return pc->P->rows->N <= most;
}

/* The same, where an error can wait. */
static bool HasLibrary(PoisePC pc)
{
  bool lacks = true;
  if (!IsSmall(pc) && LookForLibrary(pc, &lacks)) PoiseErrorClear();
  return !lacks;
}

/* library: one may be taken unasked. The same on all ranks where that is. */
static const PCType *Choose(PoisePC pc, bool library)
{
  const LU *lu = pc->data;
  if (lu->solver != LU_AUTO)
    return lu->solver == LU_DENSE   ? &poiseLU_dense
           : lu->solver == LU_CUDSS ? &poiseLU_device
                                    : &poiseLU_sparse;
  if (IsSmall(pc)) return &poiseLU_dense;
  return library ? &poiseLU_device : poiseSuperLUIsThere() ? &poiseLU_sparse : &poiseLU_dense;
}

static void Become(PoisePC pc, const PCType *how)
{
  LU *lu = pc->data;
  if (lu->how && lu->how != how) lu->how->destroy(pc), pc->generation++;
  lu->how = how;
}

/* ---- what can be factored -------------------------------------------------------------------- */

static PoiseErr CheckSquare(PoisePC pc)
{
  TRY(poisePCCheckStored(pc));
  return poiseMatCheckSquare(pc->P);
}

/* Is a number of this rank's diagonal 0 or not stored? */
static PoiseErr IsHollow(PoiseMat P, int64_t *hollow)
{
  ScalarWalk w;
  PoiseInt column;
  int64_t found = 0;
  TRY(poiseWalkBegin(P, &w));
  for (int64_t k = poiseCsrScalars(&P->csr); k > 0; k--) {
    double v = poiseWalkOn(&w, &column);
    found += column == P->rows->begin + w.i && v != 0;
  }
  *hollow = found < P->rows->n;
  return POISE_OK;
}

/* A full diagonal is a choice of pivots. SuperLU and BLAS write to the terminal where there is none at all.
   Collective; agrees. */
static PoiseErr CheckStructure(PoisePC pc)
{
  int64_t hollow = 0;
  TRY(PoiseAgree(pc->ctx, IsHollow(pc->P, &hollow)));
  TRY(poiseCommMaxInt(pc->ctx->comm, &hollow, 1));
  return hollow ? poiseMatCheckStructure(pc->P) : POISE_OK;
}

/* Collective; agrees. */
static PoiseErr Prepare(PoisePC pc)
{
  const LU *lu = pc->data;
  bool lacks = true;
  PoiseErr e = CheckSquare(pc);
  if (!e && lu->solver == LU_CUDSS) e = poiseLUFindLibrary(pc);
  if (!e && IsAuto(pc) && !IsSmall(pc)) e = LookForLibrary(pc, &lacks);
  TRY(PoiseAgree(pc->ctx, e));
  int64_t some = lacks;
  TRY(poiseCommMaxInt(pc->ctx->comm, &some, 1));
  Become(pc, Choose(pc, !some));
  return lu->how == &poiseLU_dense || poiseLUIsDefinite(pc) ? POISE_OK : CheckStructure(pc);
}

PoiseErr poiseLURowName(PoisePC pc, int64_t i, int64_t *name)
{
  int64_t own = i - pc->P->rows->begin;
  *name = own >= 0 && own < pc->P->rows->n ? poiseMatRowName(pc->P, own) : -1;
  return poiseCommMaxInt(pc->ctx->comm, name, 1);
}

PoiseErr poiseLURefuse(PoisePC pc, const Singular *s)
{
  int64_t name;
  if (!s->what) return POISE_OK;
  TRY(poiseLURowName(pc, s->index, &name));
  if (s->what == UNSYMMETRIC) FAIL(POISE_ERR_UNSUPPORTED, "cholesky: the matrix is not symmetric: use lu");
  if (s->what == INDEFINITE)
    FAIL(POISE_ERR_NUMERIC,
         "cholesky: the pivot of row %lld is %g of its diagonal entry: the matrix is not positive definite",
         (long long)name, s->pivot);
  if (s->what == SINGULAR_ROW)
    FAIL(POISE_ERR_NUMERIC, "%s: row %lld is 0: the matrix is singular", pc->type->name, (long long)name);
  FAIL(POISE_ERR_NUMERIC, "%s: no pivot is left for column %lld: the matrix is singular", pc->type->name,
       (long long)name);
}

/* ---- the functions of what factors ----------------------------------------------------------- */

/* Has the device's library failed, that nobody has named? Then SuperLU is next. */
static bool GivesWay(PoisePC pc)
{
  const LU *lu = pc->data;
  bool gives = IsAuto(pc) && lu->how == &poiseLU_device && poiseSuperLUIsThere();
  if (gives) PoiseErrorClear(), Become(pc, &poiseLU_sparse);
  return gives;
}

static PoiseErr SetUp_LU(PoisePC pc)
{
  const LU *lu = pc->data;
  TRY(Prepare(pc));
  PoiseErr e = lu->how->setup(pc);
  return e && GivesWay(pc) ? lu->how->setup(pc) : e;
}

static PoiseErr Foresee_LU(PoisePC pc, double *entries, double *flops)
{
  const LU *lu = pc->data;
  TRY(Prepare(pc));
  PoiseErr e = lu->how->foresee(pc, entries, flops);
  return e && GivesWay(pc) ? lu->how->foresee(pc, entries, flops) : e;
}

static PoiseErr Apply_LU(PoisePC pc, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse)
{
  return ((LU *)pc->data)->how->apply(pc, r, z, skip, fuse);
}

static bool TakesColumns_LU(PoisePC pc)
{
  return ((const LU *)pc->data)->how->apply_columns;
}

static PoiseErr ReadyColumns_LU(PoisePC pc, int columns)
{
  const PCType *how = ((const LU *)pc->data)->how;
  return how->ready_columns ? how->ready_columns(pc, columns) : POISE_OK;
}

static void Cost_LU(PoisePC pc, double *flops, double *bytes)
{
  ((LU *)pc->data)->how->cost(pc, flops, bytes);
}

static PoiseErr View_LU(PoisePC pc)
{
  const LU *lu = pc->data;
  return lu->how ? lu->how->view(pc) : POISE_OK;
}

static void Bytes_LU(PoisePC pc, PoiseBytes *sum)
{
  const LU *lu = pc->data;
  if (lu->how) lu->how->bytes(pc, sum);
}

static PoiseErr Predict_LU(PoisePC pc, const MatPlan *plan, PoisePrediction *p)
{
  TRY(CheckSquare(pc));
  return Choose(pc, HasLibrary(pc))->predict(pc, plan, p);
}

static void Destroy_LU(PoisePC pc)
{
  LU *lu = pc->data;
  if (lu->how) lu->how->destroy(pc);
}

static const char *Eager_LU(PoisePC pc)
{
  const LU *lu = pc->data;
  return (lu->how ? lu->how : Choose(pc, HasLibrary(pc)))->eager(pc);
}

#define TABLE(word, is)                                                                                   \
  {                                                                                                       \
    .name = word, .transpose = is, .size = sizeof(LU), .options = options, .eager = Eager_LU,             \
    .setup = SetUp_LU, .foresee = Foresee_LU, .apply = Apply_LU, .apply_columns = Apply_LU,               \
    .takes_columns = TakesColumns_LU, .ready_columns = ReadyColumns_LU, .cost = Cost_LU, .view = View_LU, \
    .bytes = Bytes_LU, .predict = Predict_LU, .destroy = Destroy_LU                                       \
  }

const PCType poisePCType_lu = TABLE("lu", PC_OF_TRANSPOSE);
const PCType poisePCType_cholesky = TABLE("cholesky", PC_SYMMETRIC);

bool poiseLUIsDefinite(PoisePC pc)
{
  return pc->type == &poisePCType_cholesky;
}
