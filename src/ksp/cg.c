/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Preconditioned conjugate gradients (Hestenes & Stiefel 1952), as in PETSc's KSPCG, for symmetric positive
  definite A and M.

  Vectors read and written per iteration, beside the matrix, with a pointwise preconditioner d: q, r, d, r
  (update); r, d, p, x, x, p (direction); p, q (product): 12. Another preconditioner adds z and its own
  traffic. Dense blocks are an epilogue of the update.

  With a diagonal M there is another form, in two kernels (prcg.c). The plan of products says where it is
  faster, and takes as many iterations.
*/
#include "cg.h"
#include "mat/product/product_plan.h"

enum { AUTO, PHASES, PREDICT }; /* -ksp_cg_variant */

typedef struct CG {
  int variant; /* as asked for */
  /* In the form of prcg.c? It depends on options, M and A: when these change, loops are captured anew. */
  bool predicts;
  const char *why; /* that form, or this one */
} CG;

static const PoiseOption options[] = {
    {"ksp_cg_variant", POISE_OPTION_CHOICE, offsetof(CG, variant), "auto", 0, 0, "auto|phases|predict",
     "form of cg with a diagonal preconditioner: three kernels an iteration, or two by predict and "
     "recompute; auto: as is faster for device and size"},
    {0},
};

/* Is the form of prcg.c the faster one? It is for loops that are replayed, and on each rank. */
static PoiseErr Pays(PoiseKSP ksp, bool *pays, const char **why)
{
  PoiseContext ctx = ksp->ctx;
  const DeviceModel *model = &ctx->device->model;
  int64_t no = poiseSolverLoop(model, (double)ksp->A->rows->n, poiseMatTraffic(ksp->A)) != LOOP_PREDICTS;
  *pays = false;
  *why = "ranks exchange through the host";
  if (PoiseSize(ctx) > 1 && !ctx->link) return POISE_OK;
  *why = "by the plan for this device and size";
  if (PoiseSize(ctx) > 1) TRY(poiseCommMaxInt(ctx->comm, &no, 1));
  *pays = !no;
  return POISE_OK;
}

static PoiseErr SetUp_CG(PoiseKSP ksp)
{
  CG *g = ksp->data;
  const char *keeps = poiseKSPKeepsSpectrum(ksp) ? "eigenvalues or singular values are asked for" : NULL,
             *cannot = keeps ? keeps : poiseCGCannotPredict(ksp);
  if (cannot && g->variant == PREDICT)
    FAIL(POISE_ERR_UNSUPPORTED, "%s predict: %s (%s)",
         poiseOptionsName(ksp->ctx, ksp->prefix, "ksp_cg_variant"), cannot, ksp->pc->type->name);
  g->why = cannot ? cannot : "-ksp_cg_variant";
  g->predicts = g->variant == PREDICT;
  return !cannot && g->variant == AUTO ? Pays(ksp, &g->predicts, &g->why) : POISE_OK;
}

static PoiseErr View_CG(PoiseKSP ksp)
{
  const CG *g = ksp->data;
  if (!g->why) return POISE_OK; /* not set up */
  return poisePrint(ksp->ctx, "  variant: %s (%s)\n",
                    g->predicts ? "predict and recompute scalars, fewer passes over vectors"
                                : "three phases, passes over vectors",
                    g->why);
}

static const KSPType *Form_CG(PoiseKSP ksp)
{
  return ((const CG *)ksp->data)->predicts ? &poiseKSPType_prcg : &poiseKSPType_cg;
}

int poiseCGVectors(PoiseKSP ksp)
{
  (void)ksp;
  return 5;
}

unsigned poiseCGWide(PoiseKSP ksp)
{
  (void)ksp;
  return 1 << X;
}

int poiseCGFlags(PoiseKSP ksp)
{
  return (int)ksp->norm | (ksp->A->null.n ? CG_PROJECTED : 0);
}

/* alpha = rz / pq; r -= alpha q; rz' = (r, z) and |z| or |r|, with z = M r. z is stored unless M is a
   diagonal. */
static void Update(PoiseKSP ksp, int rz)
{
  double **v = ksp->v;
  bool by_r = ksp->norm != POISE_KSP_NORM_PRECONDITIONED;
  int zz = by_r ? NO_SLOT : CG_NN, rr = by_r ? CG_NN : NO_SLOT;
  PhaseArgs a = {READS(CG_Q, v[Q]), READS(CG_D, ksp->M.diagonal), UPDATES(CG_R, v[R]),
                 .flags = NORM_UNPRECONDITIONED};
  if (ksp->M.pointwise) {
    a.flags = (int)ksp->norm;
    poiseKSPPhase(ksp, PHASE_cg_update, a, rz, CG_NN);
  } else {
    poiseKSPPhasePrecondition(ksp, PHASE_cg_update, a, NO_SLOT, rr, (Application){R, Z, rz, zz});
  }
}

void poiseCGStart(PoiseKSP ksp, PoiseVec b)
{
  double **v = ksp->v;
  const double *z = ksp->M.pointwise ? NULL : v[Z], *r = z ? NULL : v[R]; /* without a vector z it is d r */
  bool by_r = ksp->norm != POISE_KSP_NORM_PRECONDITIONED;
  int zz = by_r ? NO_SLOT : CG_NN, rr = by_r ? CG_NN : NO_SLOT;
  int relative_to_b = poiseKSPNormOfB(ksp, b, ksp->work[Z], CG_ALPHA);
  poiseKSPFirstResidual(ksp, b, (Application){R, Z, CG_RZ, zz}, rr);
  poiseKSPPhase(ksp, PHASE_cg_start,
                (PhaseArgs){READS(CG_R, r), READS(CG_D, ksp->M.diagonal), READS(CG_Z, z), WRITES(CG_P, v[P]),
                            SENDS(v[P]), .flags = poiseCGFlags(ksp), .k = relative_to_b},
                NO_SLOT, NO_SLOT);
}

static int Keeps(PoiseKSP ksp)
{
  return poiseKSPKeepsSpectrum(ksp) ? CG_KEEPS : 0;
}

int64_t poiseCGArray(PoiseKSP ksp)
{
  return Keeps(ksp) ? 2 * CG_KEPT : 0;
}

static void Iterate_CG(PoiseKSP ksp, int j)
{
  double **v = ksp->v;
  const double *z = ksp->M.pointwise ? NULL : v[Z], *r = z ? NULL : v[R]; /* without a vector z it is d r */
  int even = ksp->loop.parity, odd = !even;
  Fuse pq = {0};
  (void)j;
  poiseKSPAddDot(ksp, &pq, v[P], CG_PQ + even);
  poiseKSPMult(ksp, ksp->work[P], ksp->work[Q], &pq); /* q = A p, pq = (p, q) */
  /* alpha = rz / pq; r -= alpha q; z = M r, rz' = (r, z), |z| or |r| */
  Update(ksp, CG_RZ + odd);
  poiseKSPPhase(ksp, PHASE_cg_direction, /* x += alpha p; beta = rz' / rz; p = z + beta p; converged? */
                (PhaseArgs){READS(CG_R, r), READS(CG_D, ksp->M.diagonal), READS(CG_Z, z), UPDATES(CG_X, v[X]),
                            UPDATES(CG_P, v[P]), SENDS(v[P]), .flags = poiseCGFlags(ksp) | Keeps(ksp)},
                NO_SLOT, NO_SLOT);
}

/* The matrix of Lanczos: 1 / alpha_k + beta_k-1 / alpha_k-1 on the diagonal, sqrt(beta_k) / alpha_k
   beside. */
PoiseErr poiseCGProjected(PoiseKSP ksp, Projected *p)
{
  double *array;
  PoiseInt its = ksp->result.its - ksp->solve.base;
  int n = its < CG_KEPT ? (int)its : CG_KEPT;
  if (ksp->scalars.array_size < 2 * CG_KEPT) n = 0; /* they were not asked for before the solve */
  TRY(poiseBufferUpdate(&ksp->scalars.array_buffer, HOST, &array));
  TRY(poiseAllocArray(ksp->ctx, n, sizeof(double), "matrix of Lanczos", &p->diagonal));
  TRY(poiseAllocArray(ksp->ctx, n, sizeof(double), "matrix of Lanczos", &p->beside));
  p->n = n;
  for (int k = 0; k < n; k++) {
    const double *now = array + 2 * k, *before = now - 2;
    p->diagonal[k] = 1 / now[0] + (k ? before[1] / before[0] : 0);
    p->beside[k] = sqrt(now[1]) / now[0];
  }
  return POISE_OK;
}

const KSPType poiseKSPType_cg = {
    .name = "cg",
    .symmetric = true,
    .columns = true,
    .size = sizeof(CG),
    .options = options,
    .left = NORM(PRECONDITIONED) | NORM(UNPRECONDITIONED) | NORM(NATURAL) | NORM(NONE),
    .vectors = poiseCGVectors,
    .array = poiseCGArray,
    .wide = poiseCGWide,
    .begins = CG_BEGINS,
    .keeps = CG_BEGINS & ~(1 << R),
    .setup = SetUp_CG,
    .form = Form_CG,
    .start = poiseCGStart,
    .sends = true,
    .iterate = Iterate_CG,
    .recurrence = R,
    .projected = poiseCGProjected,
    .view = View_CG,
};
