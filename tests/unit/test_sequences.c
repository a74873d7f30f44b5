/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Random sequences of calls. A model knows what matrices and a solver were told. The library's objects are
  told the same, one call after the other. Now and then objects made of the model alone solve the same system.
  Reasons, counts, norms, solutions and errors of used and fresh objects must be the same to the last bit. So
  must those of host and mock.

  All is drawn from the seed and the number of the step. A failure prints the calls. To repeat them, use
  --test sequences, the same --ranks, and these variables:
    POISE_TEST_SEED=n     only this sequence, whose calls are printed
    POISE_TEST_STEPS=n    as many steps
    POISE_TEST_SKIP=3,5   without these steps, which does not change what the others draw
    POISE_TEST_SECONDS=n  new seeds for so long on each configuration, to hunt
*/
#include <ctype.h>
#include <stdarg.h>

#include "ksp/ksp.h"
#include "sample.h"

#if defined(__has_feature)
#define HAS_FEATURE(x) __has_feature(x)
#else
#define HAS_FEATURE(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || HAS_FEATURE(address_sanitizer) || \
    HAS_FEATURE(thread_sanitizer)
enum { SEEDS = 12 };
#else
enum { SEEDS = 150 }; /* on one rank, and fewer on several */
#endif

enum {
  SLOTS = 3,
  STEPS = 32,
  MOST_SEEDS = 16384,
  MOST_RANKS = 8,
  HISTORY = 130,
  TEXT = 1 << 14,
  WORDS = 240
};

#define LENGTH(a) ((int)(sizeof(a) / sizeof *(a)))

/* ---- the model ------------------------------------------------------------------------------- */

typedef struct Row {
  int n, room, *col;
  double *v;
} Row;

enum { NO_SPACE, CONSTANT, VECTOR, NSPACES };

typedef struct MatModel {
  PoiseInt N;
  int unit, layout; /* local sizes are multiples of the unit */
  Row *row;
  const char *type;
  bool named, entries; /* the type was asked for; the matrix was made entry by entry */
  int b, chunk, length, kernel;
  int null, left, partition, order;
  uint64_t space; /* seed of the vector of a null space */
} MatModel;

typedef struct Inner { /* a solver inside a preconditioner */
  const char *type, *pc;
  int maxits;
  double rtol;
  bool counts; /* its iterations, and no norm: it is then the same in each application */
} Inner;

typedef struct PCModel {
  const char *type;
  int fix, shift, omega, its, lits, sweep, total, local, most, largest;
  Inner inner;
  bool given; /* the functions of a shell */
} PCModel;

typedef struct KSPModel {
  const char *type;
  double rtol, atol, dtol;
  PoiseInt maxits;
  int norm, side, guess, strict, reuse, monitors, test;
  int A, P;
  bool own;                              /* P was given to the preconditioner itself */
  int blind, accurate;                   /* claims are not checked; what is worth nothing is an error */
  int restart, refine, transform, steps; /* of methods */
  double breakdown, scale, emin, emax;   /* emax 0: not given */
} KSPModel;

typedef struct Model {
  MatModel mat[SLOTS];
  KSPModel ksp;
  PCModel pc;
  bool configured;     /* options were read */
  Inner option[2];     /* those of solvers inside, of bjacobi and of ksp */
  bool built, unknown; /* the preconditioner, from what A and P were then; or nobody knows */
  MatModel kept[2];
} Model;

typedef struct Diagonal { /* of the shell: M = |diag P| + 1 as it was when it was set up */
  PoiseVec d;
  PoiseMat P; /* of the application; not referenced */
} Diagonal;

typedef struct Guest { /* what monitors and tests have seen */
  uint64_t seen;
  PoiseVec x; /* the latest iterate that was built; NULL: none are */
  int mode;
} Guest;

typedef struct Sequence {
  PoiseContext ctx;
  uint64_t seed, draws;
  int step;
  bool aloud, failed;
  Model m;
  PoiseMat mat[SLOTS];
  PoiseKSP ksp;
  Diagonal shell;
  Guest guest;
  int solves;
  uint64_t digest[STEPS];
  size_t said;
  char calls[TEXT], text[1500]; /* text: of the failure */
} Sequence;

static const char *const mat_types[] = {"csr", "csri", "seg", "bcsr", "auto", "pcsr"};
static const char *const ksp_types[] = {"cg",        "prcg",       "bicgstab", "gmres",  "fgmres", "minres",
                                        "chebyshev", "richardson", "preonly",  "cgs",    "tfqmr",  "idr",
                                        "bicgstabl", "fcg",        "gcr",      "symmlq", "qmrcgs", "bicg",
                                        "lsqr",      "cgls",       "lgmres",   "qmr",    "bcg"};
static const char *const pc_types[] = {"none", "jacobi",  "pbjacobi", "ilu",      "icc", "ilut", "ict",
                                       "sor",  "bjacobi", "lu",       "cholesky", "ksp", "shell"};
static const char *const inner_types[] = {"preonly", "richardson", "gmres", "cg", "chebyshev"};
static const char *const inner_pcs[] = {"none", "jacobi", "ilu", "sor", "icc"};
static const char *const shifts[] = {"none", "nonzero", "positive_definite", "inblocks"};
static const char *const refinements[] = {"refine_never", "refine_ifneeded", "refine_always"};
static const char *const transforms[] = {"0,0.1,0,1.1", "0.1,1.2", "0.5,0.2,0,1.05"};
static const char *const sweeps[] = {"symmetric",       "forward",       "backward",
                                     "local_symmetric", "local_forward", "local_backward"};
static const char *const kernels[] = {"auto", "even", "balanced"};

/* A number below n. */
static int Draw(Sequence *s, int n)
{
  double v = (TestRandom(s->seed * 1009 + 7, (uint64_t)s->step * 4096 + s->draws++) + 1) / 2;
  return (int)(v * n);
}

#define PICK(s, list) (list)[Draw(s, LENGTH(list))]

static void Say(Sequence *s, const char *format, ...) POISE_PRINTF(2, 3);
static void Say(Sequence *s, const char *format, ...)
{
  va_list args;
  char text[WORDS];
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (s->aloud && PoiseRank(s->ctx) == 0) fprintf(stderr, "  step %d: %s\n", s->step, text);
  if (s->said < sizeof s->calls)
    s->said += (size_t)snprintf(s->calls + s->said, sizeof s->calls - s->said, " %d:%s;", s->step, text);
}

/* The sequence ends here, once all ranks know. */
static void Fail(Sequence *s, const char *what, const char *used, const char *fresh)
{
  const char *calls = s->said > 900 && s->said < sizeof s->calls ? s->calls + s->said - 900 : s->calls;
  snprintf(s->text, sizeof s->text,
           "POISE_TEST_SEED=%llu, step %d: %s: '%.180s', fresh '%.180s'; calls:%.900s",
           (unsigned long long)s->seed, s->step, what, used, fresh, calls);
  s->failed = true;
}

/* A call that must succeed. */
static bool Did(Sequence *s, PoiseErr e)
{
  if (!e) TestCheck(1, __FILE__, __LINE__, "");
  if (e) Fail(s, "a call failed", PoiseErrorText(), "");
  PoiseErrorClear();
  return !e;
}

/* ---- matrices of the model ------------------------------------------------------------------- */

static void RowsFree(MatModel *m)
{
  for (PoiseInt i = 0; m->row && i < m->N; i++) {
    free(m->row[i].col);
    free(m->row[i].v);
  }
  free(m->row);
  m->row = NULL;
}

static void RowsClear(MatModel *m)
{
  RowsFree(m);
  m->row = calloc((size_t)m->N, sizeof *m->row);
}

/* The entry, which joins the pattern as 0 if it is not there. */
static double *At(MatModel *m, PoiseInt i, PoiseInt j)
{
  Row *r = &m->row[i];
  int k = r->n;
  while (k > 0 && r->col[k - 1] > j) k--;
  if (k > 0 && r->col[k - 1] == j) return &r->v[k - 1];
  if (r->n == r->room) {
    r->room = 2 * r->room + 4;
    r->col = realloc(r->col, (size_t)r->room * sizeof *r->col);
    r->v = realloc(r->v, (size_t)r->room * sizeof *r->v);
  }
  for (int l = r->n++; l > k; l--) r->col[l] = r->col[l - 1], r->v[l] = r->v[l - 1];
  r->col[k] = (int)j;
  r->v[k] = 0;
  return &r->v[k];
}

static bool Has(const MatModel *m, PoiseInt i, PoiseInt j)
{
  for (int k = 0; k < m->row[i].n; k++)
    if (m->row[i].col[k] == j) return true;
  return false;
}

static void RowsCopy(const MatModel *from, MatModel *to)
{
  RowsFree(to);
  *to = *from;
  to->row = NULL;
  RowsClear(to);
  for (PoiseInt i = 0; i < from->N; i++)
    for (int k = 0; k < from->row[i].n; k++) *At(to, i, from->row[i].col[k]) = from->row[i].v[k];
}

/* Of type bcsr all numbers of a block are there. */
static void Fill(MatModel *m)
{
  if (strcmp(m->type, "bcsr")) return;
  MatModel before = {.N = 0};
  RowsCopy(m, &before);
  for (PoiseInt i = 0; i < m->N; i++)
    for (int k = 0; k < before.row[i].n; k++)
      for (int c = 0; c < m->b * m->b; c++)
        (void)At(m, i - i % m->b + c / m->b, before.row[i].col[k] - before.row[i].col[k] % m->b + c % m->b);
  RowsFree(&before);
}

enum { CHAIN, GRID, SCATTERED, ARROW, DIAGONAL, HOLE, NPATTERNS };

static bool Stored(const MatModel *m, int kind, uint64_t seed, PoiseInt i, PoiseInt j)
{
  PoiseInt a = i < j ? i : j, b = i < j ? j : i, side = (PoiseInt)sqrt((double)m->N);
  if (a == b) return kind != HOLE || i != m->N / 2;
  if (kind == CHAIN || kind == HOLE) return b - a == 1;
  if (kind == GRID) return (b - a == 1 && b % side) || b - a == side;
  if (kind == ARROW) return b == m->N - 1 || (b - a == 1 && a % 3);
  return kind == SCATTERED && TestRandom(seed, (uint64_t)(a * m->N + b)) > 1 - 8.0 / (double)(m->N + 4);
}

static void DrawPattern(Sequence *s, MatModel *m)
{
  int kind = Draw(s, NPATTERNS);
  uint64_t seed = (uint64_t)Draw(s, 1 << 20);
  RowsClear(m);
  for (PoiseInt i = 0; i < m->N; i++)
    for (PoiseInt j = 0; j < m->N; j++)
      if (Stored(m, kind, seed, i, j)) (void)At(m, i, j);
  Fill(m);
}

enum { DEFINITE, UNSYMMETRIC, INDEFINITE, NEUMANN, BADLY_SCALED, NEGATIVE, LOOSE, NVALUES };

static double OffDiagonal(int kind, uint64_t seed, PoiseInt i, PoiseInt j)
{
  PoiseInt a = i < j ? i : j, b = i < j ? j : i;
  bool mirrored = kind != UNSYMMETRIC && kind != LOOSE;
  double v = TestRandom(seed, (uint64_t)(mirrored ? a * 65536 + b : i * 65536 + j));
  if (kind == NEUMANN) return -1 - fabs(v);
  if (kind == BADLY_SCALED)
    return v * pow(10, (double)((a * 7) % 7) - 3) * pow(10, (double)((b * 7) % 7) - 3);
  return v;
}

/* Values on the pattern as it is. */
static void DrawValues(Sequence *s, MatModel *m)
{
  int kind = Draw(s, NVALUES);
  uint64_t seed = (uint64_t)Draw(s, 1 << 20);
  for (PoiseInt i = 0; i < m->N; i++) {
    Row *r = &m->row[i];
    double sum = 0, sign = kind == NEGATIVE || (kind == INDEFINITE && i % 3 == 1) ? -1 : 1;
    for (int k = 0; k < r->n; k++) r->v[k] = r->col[k] == i ? 0 : OffDiagonal(kind, seed, i, r->col[k]);
    for (int k = 0; k < r->n; k++) sum += fabs(r->v[k]);
    double extra = kind == NEUMANN ? 0
                   : kind == LOOSE ? -0.6 * sum
                                   : 0.3 + fabs(TestRandom(seed + 1, (uint64_t)i));
    if (Has(m, i, i)) *At(m, i, i) = sign * (sum + extra);
  }
  Say(s, "values %d", kind);
}

static int Local(Sequence *s, const MatModel *m, int rank)
{
  int size = PoiseSize(s->ctx);
  PoiseInt nodes = m->N / m->unit, share = size > 1 ? nodes / (2 * (size - 1)) : 0;
  if (m->layout == EVEN) return (int)(nodes / size + (rank < nodes % size)) * m->unit;
  if (m->layout == LAST) return rank == size - 1 ? (int)m->N : 0;
  return (int)(rank == size - 1 ? nodes - share * (size - 2) : rank ? share : 0) * m->unit;
}

static int Mine(Sequence *s, const MatModel *m)
{
  return Local(s, m, PoiseRank(s->ctx));
}

static PoiseInt First(Sequence *s, const MatModel *m)
{
  PoiseInt sum = 0;
  for (int r = 0; r < PoiseRank(s->ctx); r++) sum += Local(s, m, r);
  return sum;
}

/* Does the solver work in another layout or order? */
static bool IsArranged(const MatModel *m)
{
  return m->partition || m->order;
}

/* ---- matrices made of the model -------------------------------------------------------------- */

static PoiseErr FromCSR(Sequence *s, const MatModel *m, PoiseMat *A)
{
  PoiseInt first = First(s, m), n = Mine(s, m), nz = 0;
  for (PoiseInt i = first; i < first + n; i++) nz += m->row[i].n;
  int64_t *ptr = calloc((size_t)n + 1, sizeof *ptr), *col = calloc((size_t)nz + 1, sizeof *col);
  double *val = calloc((size_t)nz + 1, sizeof *val);
  for (PoiseInt i = 0; i < n; i++) {
    const Row *r = &m->row[first + i];
    ptr[i + 1] = ptr[i] + r->n;
    for (int k = 0; k < r->n; k++) col[ptr[i] + k] = r->col[k], val[ptr[i] + k] = r->v[k];
  }
  PoiseErr e = PoiseMatCreateCSR(s->ctx, n, n, m->N, m->N,
                                 &(PoiseCSR){.ptr64 = ptr, .col64 = col, .val = val}, POISE_COPY, A);
  free(ptr);
  free(col);
  free(val);
  return e;
}

/* All entries of row i, given by the rank that `turn` says. */
static PoiseErr GiveRow(Sequence *s, PoiseMat A, const MatModel *m, PoiseInt i, int turn)
{
  if (turn % PoiseSize(s->ctx) != PoiseRank(s->ctx)) return POISE_OK;
  PoiseErr e = POISE_OK;
  for (int k = 0; !e && k < m->row[i].n; k++)
    e = PoiseMatSetEntries(A, 1, &i, &(PoiseInt){m->row[i].col[k]}, &m->row[i].v[k]);
  return e;
}

static PoiseErr FromEntries(Sequence *s, const MatModel *m, PoiseMat *A)
{
  PoiseInt n = Mine(s, m);
  POISE_TRY(PoiseMatCreate(s->ctx, n, n, m->N, m->N, A));
  for (PoiseInt i = 0; i < m->N; i++) POISE_TRY(GiveRow(s, *A, m, i, (int)i));
  return PoiseMatAssemble(*A);
}

static PoiseErr SetOption(Sequence *s, const char *prefix, const char *key, const char *value)
{
  char name[POISE_OPTION_LENGTH];
  snprintf(name, sizeof name, "-%s%s", prefix, key);
  return PoiseOptionsSet(s->ctx, name, value);
}

static PoiseErr SetNumber(Sequence *s, const char *prefix, const char *key, double value)
{
  char text[64];
  snprintf(text, sizeof text, "%.17g", value);
  return SetOption(s, prefix, key, text);
}

static PoiseErr MatOptions(Sequence *s, PoiseMat A, const MatModel *m, const char *prefix)
{
  POISE_TRY(SetNumber(s, prefix, "mat_csri_chunk", m->chunk));
  POISE_TRY(SetNumber(s, prefix, "mat_seg_length", m->length));
  POISE_TRY(SetOption(s, prefix, "mat_bcsr_kernel", kernels[m->kernel]));
  POISE_TRY(PoiseMatSetOptionsPrefix(A, prefix));
  return PoiseMatSetFromOptions(A);
}

/* Of norm 1, and a function of the row. */
static PoiseErr SpaceVector(PoiseVec *v, PoiseMat A, uint64_t seed)
{
  double norm;
  POISE_TRY(PoiseMatCreateVecs(A, v, NULL));
  SampleFill(*v, seed);
  POISE_TRY(PoiseVecNorm(*v, POISE_NORM_2, &norm));
  return PoiseVecScale(*v, 1 / norm);
}

static PoiseErr SetSpaces(PoiseMat A, const MatModel *m)
{
  PoiseVec v;
  POISE_TRY(SpaceVector(&v, A, m->space));
  PoiseErr e = PoiseMatSetNullSpace(A, m->null == CONSTANT, m->null == VECTOR, &v);
  if (!e) e = PoiseMatSetTransposeNullSpace(A, m->left == CONSTANT, m->left == VECTOR, &v);
  PoiseVecDestroy(&v);
  return e;
}

static PoiseErr MakeMat(Sequence *s, const MatModel *m, const char *prefix, PoiseMat *A)
{
  POISE_TRY(m->entries ? FromEntries(s, m, A) : FromCSR(s, m, A));
  POISE_TRY(PoiseMatSetBlockSize(*A, m->b));
  if (m->named) POISE_TRY(PoiseMatSetType(*A, m->type));
  POISE_TRY(MatOptions(s, *A, m, prefix));
  if (m->null || m->left) POISE_TRY(SetSpaces(*A, m));
  POISE_TRY(PoiseMatSetPartition(*A, (PoisePartition)m->partition));
  return PoiseMatSetOrder(*A, (PoiseOrder)m->order);
}

/* ---- the solver's options, of the model ------------------------------------------------------ */

static PoiseErr WriteInner(Sequence *s, const char *prefix, const char *inner, const Inner *in)
{
  char name[64];
  snprintf(name, sizeof name, "%s%s", prefix, inner);
  POISE_TRY(SetOption(s, name, "ksp_type", in->type));
  POISE_TRY(SetOption(s, name, "pc_type", in->pc));
  POISE_TRY(SetNumber(s, name, "ksp_max_it", in->maxits));
  POISE_TRY(SetOption(s, name, "ksp_norm_type", in->counts ? "none" : "default"));
  return SetNumber(s, name, "ksp_rtol", in->rtol);
}

static PoiseErr WritePC(Sequence *s, const char *prefix, const PCModel *pc)
{
  char sweep[64];
  bool factor = !strncmp(pc->type, "il", 2) || !strncmp(pc->type, "ic", 2);
  POISE_TRY(SetOption(s, prefix, "pc_type", pc->type));
  POISE_TRY(SetOption(s, prefix, "pc_jacobi_fixdiagonal", pc->fix ? "yes" : "no"));
  if (factor) POISE_TRY(SetOption(s, prefix, "pc_factor_shift_type", shifts[pc->shift]));
  POISE_TRY(SetNumber(s, prefix, "pc_sor_omega", pc->omega / 4.0));
  POISE_TRY(SetNumber(s, prefix, "pc_sor_its", pc->its));
  POISE_TRY(SetNumber(s, prefix, "pc_sor_lits", pc->lits));
  for (int k = 0; k < LENGTH(sweeps); k++) {
    snprintf(sweep, sizeof sweep, "pc_sor_%s", sweeps[k]);
    POISE_TRY(SetOption(s, prefix, sweep, k == pc->sweep ? "yes" : "no"));
  }
  POISE_TRY(SetNumber(s, prefix, "pc_bjacobi_blocks", pc->total));
  POISE_TRY(SetNumber(s, prefix, "pc_bjacobi_local_blocks", pc->local));
  POISE_TRY(SetNumber(s, prefix, "pc_bjacobi_supervariables", pc->most));
  POISE_TRY(SetNumber(s, prefix, "pc_lu_max_size", pc->largest));
  if (!strcmp(pc->type, "bjacobi")) POISE_TRY(WriteInner(s, prefix, "sub_", &pc->inner));
  return strcmp(pc->type, "ksp") ? POISE_OK : WriteInner(s, prefix, "ksp_", &pc->inner);
}

/* All that is so: what was said of it before does not count. */
static PoiseErr WriteKSP(Sequence *s, const char *prefix, const KSPModel *k)
{
  static const char *const norms[] = {"default", "none", "preconditioned", "unpreconditioned", "natural"};
  static const char *const sides[] = {"default", "left", "right"};
  POISE_TRY(SetOption(s, prefix, "ksp_type", k->type));
  POISE_TRY(SetNumber(s, prefix, "ksp_rtol", k->rtol));
  POISE_TRY(SetNumber(s, prefix, "ksp_atol", k->atol));
  POISE_TRY(SetNumber(s, prefix, "ksp_divtol", k->dtol));
  POISE_TRY(SetNumber(s, prefix, "ksp_max_it", (double)k->maxits));
  POISE_TRY(SetOption(s, prefix, "ksp_norm_type", norms[k->norm]));
  POISE_TRY(SetOption(s, prefix, "ksp_pc_side", sides[k->side]));
  POISE_TRY(SetOption(s, prefix, "ksp_initial_guess_nonzero", k->guess ? "yes" : "no"));
  POISE_TRY(SetOption(s, prefix, "ksp_error_if_not_converged", k->strict ? "yes" : "no"));
  POISE_TRY(SetOption(s, prefix, "ksp_reuse_preconditioner", k->reuse ? "yes" : "no"));
  POISE_TRY(SetOption(s, prefix, "ksp_verify", k->blind ? "no" : "yes"));
  POISE_TRY(SetOption(s, prefix, "ksp_error_if_inaccurate", k->accurate ? "yes" : "no"));
  POISE_TRY(SetNumber(s, prefix, "ksp_gmres_restart", k->restart));
  POISE_TRY(SetNumber(s, prefix, "ksp_gmres_breakdown_tolerance", k->breakdown));
  POISE_TRY(SetOption(s, prefix, "ksp_gmres_cgs_refinement_type", refinements[k->refine]));
  POISE_TRY(SetNumber(s, prefix, "ksp_richardson_scale", k->scale));
  POISE_TRY(SetOption(s, prefix, "ksp_chebyshev_esteig", transforms[k->transform]));
  return SetNumber(s, prefix, "ksp_chebyshev_esteig_steps", k->steps);
}

/* ---- what calls back ------------------------------------------------------------------------- */

static uint64_t Mix(uint64_t a, uint64_t b)
{
  a = (a ^ b) * UINT64_C(0xbf58476d1ce4e5b9);
  return a ^ (a >> 29);
}

static PoiseErr SumBits(PoiseVec x, uint64_t *sum)
{
  const double *p;
  PoiseInt begin, end;
  PoiseVecRange(x, &begin, &end);
  POISE_TRY(PoiseVecGetRead(x, &p));
  *sum = 0;
  for (PoiseInt i = begin; i < end; i++) *sum += Mix((uint64_t)i, SampleBits(p[i - begin]));
  return PoiseVecRestore(x, &p);
}

/* SampleDigest where allocations may fail. */
static PoiseErr Digest(PoiseVec x, uint64_t *bits)
{
  uint64_t sum = 0;
  PoiseContext ctx = PoiseVecContext(x);
  POISE_TRY(PoiseAgree(ctx, SumBits(x, &sum)));
  double half[2] = {(double)(sum & UINT32_MAX), (double)(sum >> 32)}; /* sums of these are exact */
  POISE_TRY(PoiseSum(ctx, 2, half));
  *bits = (uint64_t)half[0] + ((uint64_t)half[1] << 32);
  return POISE_OK;
}

/* The diagonal is that of the application's matrix. */
static PoiseErr IsApplications(const Diagonal *shell)
{
  PoiseVec d;
  POISE_TRY(PoiseMatCreateVecs(shell->P, NULL, &d));
  PoiseErr e = PoiseMatGetDiagonal(shell->P, d);
  uint64_t bits, mine;
  if (!e) e = Digest(d, &bits);
  if (!e) e = Digest(shell->d, &mine);
  PoiseVecDestroy(&d);
  POISE_TRY(e);
  if (bits != mine) POISE_FAIL(POISE_ERR_USER, "a shell is set up for another matrix than P");
  return POISE_OK;
}

static PoiseErr SetUp_Shell(void *arg, PoiseMat P)
{
  Diagonal *shell = arg;
  PoiseVecDestroy(&shell->d);
  POISE_TRY(PoiseMatCreateVecs(P, NULL, &shell->d));
  POISE_TRY(PoiseMatGetDiagonal(P, shell->d));
  return IsApplications(shell);
}

static PoiseErr Apply_Shell(void *arg, PoiseVec r, PoiseVec z)
{
  Diagonal *shell = arg;
  const double *d, *in;
  double *out;
  POISE_TRY(PoiseVecGetRead(shell->d, &d));
  POISE_TRY(PoiseVecGetRead(r, &in));
  POISE_TRY(PoiseVecGetWrite(z, &out));
  for (PoiseInt i = 0; i < PoiseVecLocalSize(z); i++) out[i] = in[i] / (1 + fabs(d[i]));
  POISE_TRY(PoiseVecRestore(shell->d, &d));
  POISE_TRY(PoiseVecRestore(r, &in));
  return PoiseVecRestore(z, &out);
}

/* Its own solver is busy. */
static PoiseErr Monitor(PoiseKSP ksp, PoiseInt iteration, double norm, void *arg)
{
  Guest *g = arg;
  g->seen = Mix(g->seen + (uint64_t)iteration, SampleBits(norm));
  if (PoiseKSPSetUp(ksp) != POISE_ERR_STATE)
    POISE_FAIL(POISE_ERR_USER, "a solver is set up in the middle of a solve");
  PoiseErrorClear();
  return POISE_OK;
}

enum { NO_TEST, COUNTS, BUILDS, NTESTS };

static PoiseErr StopsAtFive(PoiseKSP ksp, PoiseInt iteration, double norm, PoiseKSPReason *reason, void *arg)
{
  Guest *g = arg;
  g->seen = Mix(g->seen + (uint64_t)iteration, SampleBits(norm));
  if (iteration == 5) *reason = POISE_CONVERGED_USER;
  if (!g->x) return POISE_OK;
  uint64_t bits;
  POISE_TRY(PoiseKSPBuildSolution(ksp, g->x));
  POISE_TRY(Digest(g->x, &bits));
  g->seen = Mix(g->seen, bits);
  return POISE_OK;
}

/* ---- solves ---------------------------------------------------------------------------------- */

typedef struct Outcome {
  PoiseErr e;
  char words[WORDS], detail[WORDS];
  PoiseKSPReason reason;
  PoiseInt its, count;
  int norm;
  double last, inconsistency, apart, history[HISTORY]; /* apart: the iterate as built and the solution */
  uint64_t x, seen;
} Outcome;

enum { ANY_B, REACHED, ZERO, ONES, NOT_FINITE, TINY, HUGE_B, NRIGHT };

typedef struct Right {
  int kind;
  uint64_t seed;
} Right;

static PoiseErr MakeVectors(PoiseMat A, Right right, int guess, PoiseVec *b, PoiseVec *x)
{
  double *p;
  *b = *x = NULL;
  POISE_TRY(PoiseMatCreateVecs(A, x, b));
  SampleFill(*b, right.seed);
  if (right.kind == REACHED) {
    SampleFill(*x, right.seed);
    POISE_TRY(PoiseMatMult(A, *x, *b));
  }
  if (right.kind == ZERO || right.kind == ONES) POISE_TRY(PoiseVecSet(*b, right.kind == ONES));
  if (right.kind == TINY || right.kind == HUGE_B)
    POISE_TRY(PoiseVecScale(*b, right.kind == TINY ? 1e-170 : 1e200));
  if (right.kind == NOT_FINITE) {
    POISE_TRY(PoiseVecGetUpdate(*b, &p));
    if (PoiseVecLocalSize(*b)) p[0] = NAN;
    POISE_TRY(PoiseVecRestore(*b, &p));
  }
  if (guess)
    SampleFill(*x, right.seed + 1);
  else
    SampleConstant(*x, NAN); /* of which nobody may take anything */
  return POISE_OK;
}

static void TakeWords(char *text)
{
  char *from;
  snprintf(text, WORDS, "%s", PoiseErrorMessage());
  while ((from = strstr(text, "-f_"))) from[1] = 'u'; /* the prefixes are all that may differ */
  PoiseErrorClear();
}

/* The iterate that stopped the solve, and what the solve made of it. */
static PoiseErr Distance(PoiseVec built, PoiseVec x, double *relative)
{
  double norm;
  POISE_TRY(PoiseVecNorm(built, POISE_NORM_INF, &norm));
  POISE_TRY(PoiseVecAXPY(built, -1, x));
  POISE_TRY(PoiseVecNorm(built, POISE_NORM_INF, relative));
  *relative /= poiseLarger(norm, 1); /* the size of guesses */
  return POISE_OK;
}

static PoiseErr RunSolve(PoiseKSP ksp, PoiseVec b, PoiseVec x, Guest *guest, Outcome *o)
{
  const double *norms;
  memset(o, 0, sizeof *o);
  guest->seen = 0;
  if (guest->mode == BUILDS) POISE_TRY(PoiseVecDuplicate(x, &guest->x));
  o->e = PoiseKSPSolve(ksp, b, x);
  TakeWords(o->words);
  o->reason = PoiseKSPConvergedReason(ksp);
  bool stopped = guest->x && !o->e && o->reason == POISE_CONVERGED_USER;
  if (stopped) POISE_TRY(Distance(guest->x, x, &o->apart));
  PoiseVecDestroy(&guest->x);
  o->seen = guest->seen;
  if (o->reason == POISE_DIVERGED_ERROR) return POISE_OK;
  o->its = PoiseKSPIterations(ksp);
  o->norm = (int)PoiseKSPNormUsed(ksp);
  o->last = PoiseKSPResidualNorm(ksp);
  o->inconsistency = PoiseKSPInconsistency(ksp);
  snprintf(o->detail, sizeof o->detail, "%s", PoiseKSPReasonDetail(ksp));
  CHECK(!strstr(o->detail, "-ksp_") && !strstr(o->detail, "-pc_"));  /* without a prefix */
  for (char *at = o->detail; (at = strstr(at, "-u_"));) at[1] = 'f'; /* that of the fresh one */
  POISE_TRY(PoiseKSPHistory(ksp, &o->count, &norms));
  for (PoiseInt k = 0; k < o->count && k < HISTORY; k++) o->history[k] = norms[k];
  o->x = SampleDigest(x);
  return POISE_OK;
}

static PoiseErr ConfigurePC(Sequence *s, PoiseKSP ksp, Diagonal *shell)
{
  PoisePC pc;
  POISE_TRY(PoiseKSPSetOptionsPrefix(ksp, "f_"));
  POISE_TRY(WritePC(s, "f_", &s->m.pc));
  POISE_TRY(PoiseKSPGetPC(ksp, &pc));
  POISE_TRY(PoisePCSetFromOptions(pc));
  if (!s->m.pc.given) return POISE_OK;
  return PoisePCSetShell(pc, &(PoiseShellPC){.apply = Apply_Shell, .setup = SetUp_Shell}, shell);
}

static PoiseErr ConfigureSolver(Sequence *s, PoiseKSP ksp, Guest *guest)
{
  const KSPModel *k = &s->m.ksp;
  POISE_TRY(WriteKSP(s, "f_", k));
  POISE_TRY(PoiseKSPSetFromOptions(ksp));
  if (k->emax != 0) POISE_TRY(PoiseKSPChebyshevSetEigenvalues(ksp, k->emax, k->emin));
  for (int i = 0; i < k->monitors; i++) POISE_TRY(PoiseKSPAddMonitor(ksp, Monitor, guest));
  if (k->test) POISE_TRY(PoiseKSPSetConvergenceTest(ksp, StopsAtFive, guest));
  guest->mode = k->test;
  return PoiseKSPKeepHistory(ksp, 1);
}

typedef struct Fresh {
  PoiseMat A, P, kept[2];
  PoiseKSP ksp;
  Diagonal shell;
  Guest guest;
} Fresh;

/* A preconditioner that is kept is made of the matrices that it was made of, and numbered as they were. */
static PoiseErr MakeKept(Sequence *s, Fresh *f)
{
  POISE_TRY(MakeMat(s, &s->m.kept[0], "fk_", &f->kept[0]));
  POISE_TRY(MakeMat(s, &s->m.kept[1], "fl_", &f->kept[1]));
  f->shell.P = f->kept[1];
  POISE_TRY(PoiseKSPSetType(f->ksp, "preonly"));
  POISE_TRY(PoiseKSPSetOperators(f->ksp, f->kept[0], f->kept[1]));
  return PoiseKSPSetUp(f->ksp);
}

static PoiseErr MakeFresh(Sequence *s, Fresh *f)
{
  const KSPModel *k = &s->m.ksp;
  *f = (Fresh){.A = NULL};
  POISE_TRY(MakeMat(s, &s->m.mat[k->A], "fa_", &f->A));
  if (k->P != k->A) POISE_TRY(MakeMat(s, &s->m.mat[k->P], "fp_", &f->P));
  f->shell.P = f->P ? f->P : f->A;
  POISE_TRY(PoiseKSPCreate(s->ctx, &f->ksp));
  POISE_TRY(ConfigurePC(s, f->ksp, &f->shell));
  if (k->reuse && s->m.built) POISE_TRY(MakeKept(s, f));
  POISE_TRY(ConfigureSolver(s, f->ksp, &f->guest));
  return PoiseKSPSetOperators(f->ksp, f->A, f->P);
}

static void DestroyFresh(Fresh *f)
{
  PoiseKSPDestroy(&f->ksp);
  PoiseMatDestroy(&f->A);
  PoiseMatDestroy(&f->P);
  PoiseMatDestroy(&f->kept[0]);
  PoiseMatDestroy(&f->kept[1]);
  PoiseVecDestroy(&f->shell.d);
}

/* ---- comparisons ----------------------------------------------------------------------------- */

static bool SameText(Sequence *s, const char *what, const char *used, const char *fresh)
{
  bool same = !strcmp(used, fresh);
  if (!same) Fail(s, what, used, fresh);
  return same;
}

static bool SameNumber(Sequence *s, const char *what, double used, double fresh)
{
  char a[40], b[40];
  if (SampleBits(used) == SampleBits(fresh) || (isnan(used) && isnan(fresh))) return true;
  snprintf(a, sizeof a, "%.17g", used);
  snprintf(b, sizeof b, "%.17g", fresh);
  Fail(s, what, a, b);
  return false;
}

static bool SameBits(Sequence *s, const char *what, uint64_t used, uint64_t fresh)
{
  if (used != fresh) Fail(s, what, "some bits", "others");
  return used == fresh;
}

static bool SameHistory(Sequence *s, const Outcome *u, const Outcome *f)
{
  char what[40];
  for (int k = 0; k < u->count && k < HISTORY; k++) {
    snprintf(what, sizeof what, "norm of iteration %d", k);
    if (!SameNumber(s, what, u->history[k], f->history[k])) return false;
  }
  return true;
}

static bool SameOutcome(Sequence *s, const Outcome *u, const Outcome *f)
{
  return SameText(s, "errors", PoiseErrorString(u->e), PoiseErrorString(f->e)) &&
         SameText(s, "words of the error", u->words, f->words) &&
         SameText(s, "reasons", PoiseKSPReasonString(u->reason), PoiseKSPReasonString(f->reason)) &&
         SameNumber(s, "norms used", u->norm, f->norm) &&
         SameNumber(s, "iterations", (double)u->its, (double)f->its) &&
         SameNumber(s, "lengths of the history", (double)u->count, (double)f->count) &&
         SameHistory(s, u, f) && SameNumber(s, "last norms", u->last, f->last) &&
         SameText(s, "details", u->detail, f->detail) &&
         SameNumber(s, "inconsistency", u->inconsistency, f->inconsistency) &&
         SameBits(s, "solutions", u->x, f->x) && SameBits(s, "what monitors and tests saw", u->seen, f->seen);
}

/* All ranks go on, or none: then the first that saw why says so. */
static void AgreeToGoOn(Sequence *s)
{
  double mine = s->failed ? PoiseSize(s->ctx) - PoiseRank(s->ctx) : 0, first = mine;
  CHECK_OK(PoiseMax(s->ctx, 1, &first));
  if (s->failed && mine == first && s->text[0]) TestCheck(0, __FILE__, __LINE__, s->text);
  s->text[0] = 0;
  s->failed = first > 0;
}

/* ---- claims ---------------------------------------------------------------------------------- */

static PoiseErr NullVector(PoiseMat A, int kind, uint64_t seed, PoiseVec *v)
{
  POISE_TRY(SpaceVector(v, A, seed));
  return kind == CONSTANT ? PoiseVecSet(*v, 1 / sqrt((double)PoiseVecSize(*v))) : POISE_OK;
}

/* b without what lies in the null space of A^T, if that is known; or z without A's. */
static PoiseErr Remove(PoiseMat A, int kind, uint64_t seed, PoiseVec b)
{
  PoiseVec v;
  double dot;
  if (!kind) return POISE_OK;
  PoiseErr e = NullVector(A, kind, seed, &v);
  if (!e) e = PoiseVecDot(v, b, &dot);
  if (!e) e = PoiseVecAXPY(b, -dot, v);
  PoiseVecDestroy(&v);
  return e;
}

/* Is the null space of A what it is said to be? The part of x that is left out changes b - A x otherwise. */
static PoiseErr IsNullSpace(PoiseMat A, const MatModel *m, bool *is)
{
  PoiseVec v, y;
  double norm = 0;
  *is = true;
  if (!m->null) return POISE_OK;
  PoiseErr e = NullVector(A, m->null, m->space, &v);
  if (!e) e = PoiseVecDuplicate(v, &y);
  if (!e) e = PoiseMatMult(A, v, y);
  if (!e) e = PoiseVecNorm(y, POISE_NORM_2, &norm);
  PoiseVecDestroy(&v);
  PoiseVecDestroy(&y);
  *is = norm < 1e-13;
  return e;
}

/* The norm of r in which the solve was tested. */
static PoiseErr NormOf(const MatModel *m, const Fresh *f, int norm, PoiseVec r, double *value)
{
  PoisePC pc;
  PoiseVec z;
  if (norm == POISE_KSP_NORM_UNPRECONDITIONED) return PoiseVecNorm(r, POISE_NORM_2, value);
  POISE_TRY(PoiseKSPGetPC(f->ksp, &pc));
  POISE_TRY(PoiseVecDuplicate(r, &z));
  PoiseErr e = PoisePCApply(pc, r, z);
  if (!e) e = Remove(f->A, m->null, m->space, z);
  if (!e && norm == POISE_KSP_NORM_PRECONDITIONED) e = PoiseVecNorm(z, POISE_NORM_2, value);
  if (!e && norm == POISE_KSP_NORM_NATURAL) {
    e = PoiseVecDot(r, z, value);
    *value = sqrt(fabs(*value));
  }
  PoiseVecDestroy(&z);
  return e;
}

static bool IsFixed(const PCModel *pc)
{
  return strcmp(pc->type, "ksp") &&
         (strcmp(pc->type, "bjacobi") || pc->most || !strcmp(pc->inner.type, "preonly"));
}

/* Nobody knows it better than b - A x. */
static PoiseErr CheckClaim(Sequence *s, const Fresh *f, const Outcome *o, PoiseVec b, PoiseVec x)
{
  const KSPModel *k = &s->m.ksp;
  const MatModel *m = &s->m.mat[k->A];
  double norm = 0, norm0 = 0;
  bool is;
  char text[80];
  bool claims = o->reason == POISE_CONVERGED_RTOL || o->reason == POISE_CONVERGED_ATOL;
  /* the natural norm times a factor */
  bool times =
      (!strcmp(k->type, "minres") || !strcmp(k->type, "symmlq")) && o->norm == POISE_KSP_NORM_PRECONDITIONED;
  int type = times ? POISE_KSP_NORM_NATURAL : o->norm;
  bool rounding = strstr(o->detail, "true to rounding"); /* which M may enlarge; |b - A x| itself is small */
  if (rounding) type = POISE_KSP_NORM_UNPRECONDITIONED;
  if (times && o->reason == POISE_CONVERGED_ATOL) return POISE_OK;
  if (!strcmp(k->type, "cgls")) return POISE_OK; /* its norm is |A^T (b - A x)| */
  if (o->its == 0 && !k->guess) claims = false;  /* 0 times a number that is not finite */
  if (!claims || k->test || k->blind || !IsFixed(&s->m.pc)) return POISE_OK;
  POISE_TRY(IsNullSpace(f->A, m, &is));
  if (!is) return POISE_OK;
  POISE_TRY(Remove(f->A, m->left, m->space, b));
  POISE_TRY(NormOf(m, f, type, b, &norm0));
  POISE_TRY(PoiseMatResidual(f->A, b, x, b));
  POISE_TRY(NormOf(m, f, type, b, &norm));
  if (type == POISE_KSP_NORM_NATURAL && !(o->last < 1e100)) return POISE_OK; /* dots overflow here */
  if (norm0 == 0 && times) return POISE_OK;
  if (norm0 == 0) norm0 = o->history[0];
  double tolerance = poiseLarger(k->atol, poiseLarger(k->rtol, 1e-14) * norm0); /* and rounding */
  if (rounding) tolerance = poiseLarger(k->rtol, 1e-3) * norm0;
  snprintf(text, sizeof text, "%g where %g was claimed", norm, o->last);
  if (!(norm <= 10 * tolerance)) Fail(s, "a claim is false", text, PoiseKSPReasonString(o->reason));
  return POISE_OK;
}

/* ---- the solve of both ----------------------------------------------------------------------- */

/* What the used solver's preconditioner is built from now. */
static void SetUpEnded(Sequence *s, bool well)
{
  KSPModel *k = &s->m.ksp;
  s->m.unknown = !well;
  if (!well) {
    k->reuse = 0; /* what is kept after a failure nobody says */
    Did(s, PoiseKSPSetReusePreconditioner(s->ksp, 0));
    return;
  }
  if (k->reuse && s->m.built) return;
  RowsCopy(&s->m.mat[k->A], &s->m.kept[0]);
  RowsCopy(&s->m.mat[k->P], &s->m.kept[1]);
  s->m.built = strcmp(s->m.pc.type, "sor"); /* which is the matrix itself */
}

static PoiseErr SolveFresh(Sequence *s, Right right, Outcome *o)
{
  Fresh f;
  PoiseVec b = NULL, x = NULL;
  PoiseErr e = MakeFresh(s, &f);
  if (!e) e = MakeVectors(f.A, right, s->m.ksp.guess, &b, &x);
  if (!e) e = RunSolve(f.ksp, b, x, &f.guest, o);
  if (!e) e = CheckClaim(s, &f, o, b, x);
  PoiseVecDestroy(&b);
  PoiseVecDestroy(&x);
  DestroyFresh(&f);
  return e;
}

static void Keep(Sequence *s, const Outcome *o)
{
  uint64_t sum = Mix(o->x, (uint64_t)(o->reason + 100));
  sum = Mix(Mix(sum, (uint64_t)o->its), SampleBits(o->last));
  s->digest[s->step] = Mix(Mix(sum, o->seen), (uint64_t)o->e) | 1;
  s->solves++;
}

static void SolveBoth(Sequence *s)
{
  int kind = Draw(s, 2 * NRIGHT); /* half of them of the first kind */
  Right right = {kind < NRIGHT ? kind : ANY_B, (uint64_t)Draw(s, 1 << 20)};
  Outcome used, fresh;
  PoiseVec b, x;
  Say(s, "solve %d", right.kind);
  bool made = Did(s, MakeVectors(s->mat[s->m.ksp.A], right, s->m.ksp.guess, &b, &x));
  made = made && Did(s, RunSolve(s->ksp, b, x, &s->guest, &used)) && Did(s, SolveFresh(s, right, &fresh));
  PoiseVecDestroy(&b);
  PoiseVecDestroy(&x);
  if (!made || !SameOutcome(s, &used, &fresh)) return;
  if (used.apart > 1e-8) Fail(s, "the iterate that was built is not the solution", "", "");
  if (s->aloud && PoiseRank(s->ctx) == 0)
    fprintf(stderr, "    %s after %lld: %g %s%s\n", PoiseKSPReasonString(used.reason), (long long)used.its,
            used.last, used.detail, used.words);
  SetUpEnded(s, used.reason != POISE_DIVERGED_ERROR);
  Keep(s, &used);
}

/* ---- calls that a solver takes --------------------------------------------------------------- */

static bool SameLocal(Sequence *s, const MatModel *a, const MatModel *b)
{
  bool same = a->N == b->N;
  for (int r = 0; same && r < PoiseSize(s->ctx); r++) same = Local(s, a, r) == Local(s, b, r);
  return same;
}

/* New numbers to work with, of which a preconditioner that is kept knows nothing. */
static bool Renumbers(Sequence *s, const Model *next)
{
  const MatModel *a = &s->m.mat[s->m.ksp.A], *b = &next->mat[next->ksp.A];
  bool same = a->partition == b->partition && a->order == b->order && SameLocal(s, a, b);
  return !same && (IsArranged(a) || IsArranged(b));
}

/* The model as it is after the call that is then to be made; unless that drops what is to be kept. */
static bool Take(Sequence *s, const Model *next)
{
  bool renumbers = Renumbers(s, next);
  if (next->ksp.reuse && renumbers) return false;
  s->m = *next;
  s->m.unknown = s->m.unknown || renumbers;
  return true;
}

/* Their M is that of A^T A, so one that is kept depends on the method when it was built. */
static bool OfSquares(const KSPModel *k)
{
  return !strcmp(k->type, "lsqr") || !strcmp(k->type, "cgls");
}

static void OwnDefaults(KSPModel *k)
{
  k->restart = 30;
  k->refine = k->transform = 0;
  k->steps = 10;
  k->scale = 1;
  k->breakdown = 0.1;
  k->emin = k->emax = 0;
}

static void TellType(Sequence *s)
{
  Model next = s->m;
  next.ksp.type = PICK(s, ksp_types);
  if (next.ksp.reuse && (OfSquares(&next.ksp) || OfSquares(&s->m.ksp))) return;
  if (strcmp(next.ksp.type, s->m.ksp.type)) OwnDefaults(&next.ksp);
  if (!Take(s, &next)) return;
  Say(s, "ksp %s", next.ksp.type);
  Did(s, PoiseKSPSetType(s->ksp, next.ksp.type));
}

static void TellTolerances(Sequence *s)
{
  static const double rtols[] = {1e-2, 1e-5, 1e-9, 0}, atols[] = {1e-50, 1e-3, 0}, dtols[] = {1e4, 10, 1e100};
  static const int most[] = {0, 1, 7, 30, 60, 100};
  KSPModel *k = &s->m.ksp;
  k->rtol = PICK(s, rtols), k->atol = PICK(s, atols), k->dtol = PICK(s, dtols), k->maxits = PICK(s, most);
  Say(s, "tolerances %g %g %g %lld", k->rtol, k->atol, k->dtol, (long long)k->maxits);
  Did(s, PoiseKSPSetTolerances(s->ksp, k->rtol, k->atol, k->dtol, k->maxits));
}

static void TellNorm(Sequence *s)
{
  s->m.ksp.norm = Draw(s, 3) ? POISE_KSP_NORM_DEFAULT : Draw(s, 5);
  Say(s, "norm %s", PoiseKSPNormString((PoiseNormType)s->m.ksp.norm));
  Did(s, PoiseKSPSetNormType(s->ksp, (PoiseNormType)s->m.ksp.norm));
}

static void TellSide(Sequence *s)
{
  s->m.ksp.side = 1 + !Draw(s, 3);
  Say(s, "side %d", s->m.ksp.side);
  Did(s, PoiseKSPSetPCSide(s->ksp, s->m.ksp.side == 1 ? POISE_PC_LEFT : POISE_PC_RIGHT));
}

static void TellGuess(Sequence *s)
{
  s->m.ksp.guess = Draw(s, 2);
  Say(s, "guess %d", s->m.ksp.guess);
  Did(s, PoiseKSPSetInitialGuessNonzero(s->ksp, s->m.ksp.guess));
}

static void TellStrict(Sequence *s)
{
  s->m.ksp.strict = !Draw(s, 3);
  Say(s, "strict %d", s->m.ksp.strict);
  Did(s, PoiseKSPSetErrorIfNotConverged(s->ksp, s->m.ksp.strict));
}

static void TellChecks(Sequence *s)
{
  s->m.ksp.blind = !Draw(s, 4);
  s->m.ksp.accurate = !Draw(s, 4);
  Say(s, "blind %d accurate %d", s->m.ksp.blind, s->m.ksp.accurate);
  Did(s, PoiseKSPSetVerify(s->ksp, !s->m.ksp.blind));
  Did(s, PoiseKSPSetErrorIfInaccurate(s->ksp, s->m.ksp.accurate));
}

static bool Is(const char *type, const char *a)
{
  return !strcmp(type, a);
}

static bool HasRestart(const char *type)
{
  return Is(type, "gmres") || Is(type, "fgmres") || Is(type, "lgmres");
}

static void TellRestart(Sequence *s)
{
  static const int lengths[] = {1, 2, 5, 30, 40};
  int restart = PICK(s, lengths);
  if (HasRestart(s->m.ksp.type)) s->m.ksp.restart = restart;
  Say(s, "restart %d", restart);
  Did(s, PoiseKSPGMRESSetRestart(s->ksp, restart));
}

static void TellBreakdown(Sequence *s)
{
  static const double tolerances[] = {0.1, 1e-3, 10};
  double tolerance = PICK(s, tolerances);
  if (HasRestart(s->m.ksp.type)) s->m.ksp.breakdown = tolerance;
  Say(s, "breakdown tolerance %g", tolerance);
  Did(s, PoiseKSPGMRESSetBreakdownTolerance(s->ksp, tolerance));
}

static void TellScale(Sequence *s)
{
  static const double scales[] = {1, 0.5, 0.9, 1.5};
  double scale = PICK(s, scales);
  if (Is(s->m.ksp.type, "richardson")) s->m.ksp.scale = scale;
  Say(s, "richardson scale %g", scale);
  Did(s, PoiseKSPRichardsonSetScale(s->ksp, scale));
}

static void TellEigenvalues(Sequence *s)
{
  double emax = 1 + Draw(s, 8), emin = emax / (1 << (1 + Draw(s, 6)));
  if (Is(s->m.ksp.type, "chebyshev")) s->m.ksp.emax = emax, s->m.ksp.emin = emin;
  Say(s, "eigenvalues %g %g", emax, emin);
  Did(s, PoiseKSPChebyshevSetEigenvalues(s->ksp, emax, emin));
}

static void SetUp(Sequence *s)
{
  Say(s, "set up");
  PoiseErr e = PoiseKSPSetUp(s->ksp);
  PoiseErrorClear();
  SetUpEnded(s, !e);
}

/* What it has inside reads the matrix. */
static bool ReadsMatrix(const PCModel *pc)
{
  bool inverts = !strcmp(pc->inner.type, "preonly") && strcmp(pc->inner.pc, "sor");
  return Is(pc->type, "ksp") || (Is(pc->type, "bjacobi") && !pc->most && !inverts);
}

static void TellReuse(Sequence *s)
{
  if (ReadsMatrix(&s->m.pc)) SetUp(s); /* what reads values that have changed already would be built anew */
  Model next = s->m;
  next.ksp.reuse = Draw(s, 3) > 0 && !OfSquares(&next.ksp);
  if ((next.ksp.reuse && s->m.unknown) || !Take(s, &next)) return;
  Say(s, "reuse %d", next.ksp.reuse);
  Did(s, PoiseKSPSetReusePreconditioner(s->ksp, next.ksp.reuse));
}

/* P is another matrix. */
static void OtherP(Sequence *s)
{
  if (s->m.built && !SameLocal(s, &s->m.kept[1], &s->m.mat[s->m.ksp.P])) s->m.built = false;
  s->shell.P = s->mat[s->m.ksp.P];
}

static bool SetOperators(Sequence *s)
{
  const KSPModel *k = &s->m.ksp;
  OtherP(s);
  return Did(s, PoiseKSPSetOperators(s->ksp, s->mat[k->A], k->P == k->A ? NULL : s->mat[k->P]));
}

static void Operators(Sequence *s)
{
  Model next = s->m;
  next.ksp.A = Draw(s, SLOTS);
  next.ksp.P = Draw(s, 2) ? next.ksp.A : Draw(s, 4) && next.ksp.A < 2 ? !next.ksp.A : Draw(s, SLOTS);
  if (!Take(s, &next)) return;
  Say(s, "operators %d %d", next.ksp.A, next.ksp.P);
  SetOperators(s);
}

static void SameOperators(Sequence *s)
{
  Say(s, "same operators");
  SetOperators(s);
}

static void OwnP(Sequence *s)
{
  Model next = s->m;
  PoisePC pc;
  next.ksp.P = next.ksp.A < 2 ? Draw(s, 2) : next.ksp.A;
  if (!Take(s, &next)) return;
  Say(s, "pc operator %d", next.ksp.P);
  OtherP(s);
  Did(s, PoiseKSPGetPC(s->ksp, &pc));
  Did(s, PoisePCSetOperator(pc, s->mat[next.ksp.P]));
}

static void AddMonitor(Sequence *s)
{
  bool full = s->m.ksp.monitors == MAX_MONITORS;
  Say(s, "monitor");
  if (full)
    CHECK_ERR(PoiseKSPAddMonitor(s->ksp, Monitor, &s->guest), POISE_ERR_ARG, "monitors already");
  else if (Did(s, PoiseKSPAddMonitor(s->ksp, Monitor, &s->guest)))
    s->m.ksp.monitors++;
}

static void TellTest(Sequence *s)
{
  Model next = s->m;
  next.ksp.test = Draw(s, 2) ? Draw(s, NTESTS) : NO_TEST;
  if (!Take(s, &next)) return;
  Say(s, "test %d", next.ksp.test);
  s->guest.mode = next.ksp.test;
  Did(s, PoiseKSPSetConvergenceTest(s->ksp, next.ksp.test ? StopsAtFive : NULL, &s->guest));
}

static PoiseErr ReadOptions(Sequence *s)
{
  const char *type = s->m.pc.type;
  POISE_TRY(WriteKSP(s, "u_", &s->m.ksp));
  POISE_TRY(WritePC(s, "u_", &s->m.pc));
  s->m.configured = true;
  for (int k = 0; k < 2; k++)
    if (Is(type, k ? "ksp" : "bjacobi")) s->m.option[k] = s->m.pc.inner;
  return PoiseKSPSetFromOptions(s->ksp);
}

typedef struct Loop { /* how it runs and what it prints, which nothing depends on */
  int replay, monitor, residual, reason, view;
} Loop;

static PoiseErr WriteLoop(Sequence *s, Loop l)
{
  POISE_TRY(SetNumber(s, "u_", "ksp_replay", l.replay));
  POISE_TRY(SetNumber(s, "u_", "ksp_monitor", l.monitor));
  POISE_TRY(SetNumber(s, "u_", "ksp_monitor_true_residual", l.residual));
  POISE_TRY(SetNumber(s, "u_", "ksp_converged_reason", l.reason));
  return SetNumber(s, "u_", "ksp_view", l.view);
}

static void KSPOption(Sequence *s)
{
  static const int replays[] = {0, 1, 8, 50};
  KSPModel *k = &s->m.ksp;
  Loop l = {PICK(s, replays), !Draw(s, 4), !Draw(s, 4), !Draw(s, 4), !Draw(s, 6)};
  if (HasRestart(k->type)) k->refine = Draw(s, LENGTH(refinements));
  if (Is(k->type, "chebyshev")) k->transform = Draw(s, LENGTH(transforms)), k->steps = 1 + Draw(s, 20);
  Say(s, "options refine %d transform %d steps %d replay %d print %d%d%d%d", k->refine, k->transform,
      k->steps, l.replay, l.monitor, l.residual, l.reason, l.view);
  Did(s, WriteLoop(s, l));
  Did(s, ReadOptions(s));
}

static bool IsKept(const Sequence *s)
{
  return s->m.ksp.reuse && s->m.built;
}

static const Inner inside[] = {{"preonly", "ilu", 10000, 1e-5, false},
                               {"gmres", "none", 10000, 1e-5, false}}; /* bjacobi, ksp */

static void PCDefaults(Model *m, const char *type)
{
  int k = Is(type, "ksp");
  m->pc = (PCModel){.type = type, .omega = 4, .its = 1, .lits = 1, .largest = 4096};
  m->pc.shift = Is(type, "icc") || Is(type, "ict") ? 2 : 0;
  m->pc.inner = m->configured ? m->option[k] : inside[k];
  m->built = m->unknown = false;
}

static void TellPCType(Sequence *s)
{
  Model next = s->m;
  const char *type = PICK(s, pc_types);
  PoisePC pc;
  if (!Is(type, s->m.pc.type)) PCDefaults(&next, type);
  if (!Take(s, &next)) return;
  Say(s, "pc %s", type);
  Did(s, PoiseKSPGetPC(s->ksp, &pc));
  Did(s, PoisePCSetType(pc, type));
}

/* Its functions are given. */
static void Shell(Sequence *s)
{
  Model next = s->m;
  PoisePC pc;
  PCDefaults(&next, "shell");
  next.pc.given = true;
  if (!Take(s, &next)) return;
  Say(s, "shell");
  Did(s, PoiseKSPGetPC(s->ksp, &pc));
  Did(s, PoisePCSetShell(pc, &(PoiseShellPC){.apply = Apply_Shell, .setup = SetUp_Shell}, &s->shell));
}

static Inner DrawInner(Sequence *s)
{
  static const int most[] = {1, 2, 5, 20};
  static const double rtols[] = {1e-1, 1e-5, 1e-12};
  return (Inner){PICK(s, inner_types), PICK(s, inner_pcs), PICK(s, most), PICK(s, rtols), Draw(s, 3) > 0};
}

static void PCOption(Sequence *s)
{
  Model next = s->m;
  PCModel *pc = &next.pc;
  if (IsKept(s)) return;
  if (Is(pc->type, "jacobi")) pc->fix = Draw(s, 2);
  if (Is(pc->type, "ilu") || Is(pc->type, "icc") || Is(pc->type, "ilut") || Is(pc->type, "ict"))
    pc->shift = Draw(s, LENGTH(shifts));
  if (Is(pc->type, "sor"))
    pc->omega = 1 + Draw(s, 7), pc->its = 1 + Draw(s, 2), pc->lits = 1 + Draw(s, 2),
    pc->sweep = Draw(s, LENGTH(sweeps));
  if (Is(pc->type, "bjacobi")) {
    int which = Draw(s, 5); /* two at once are refused */
    pc->most = which == 0 ? 1 + Draw(s, 6) : 0;
    pc->total = which == 1 ? Draw(s, 9) : 0;
    pc->local = which == 2 ? Draw(s, 4) : 0;
  }
  if (Is(pc->type, "lu") || Is(pc->type, "cholesky")) pc->largest = Draw(s, 2) ? 4096 : 40;
  if (Is(pc->type, "bjacobi") || Is(pc->type, "ksp")) pc->inner = DrawInner(s);
  if (!Take(s, &next)) return;
  s->m.unknown = true;
  Say(s, "pc options fix %d shift %d sor %d %d %d %d blocks %d %d %d lu %d inner %s %s %d %g %d", pc->fix,
      pc->shift, pc->omega, pc->its, pc->lits, pc->sweep, pc->total, pc->local, pc->most, pc->largest,
      pc->inner.type, pc->inner.pc, pc->inner.maxits, pc->inner.rtol, pc->inner.counts);
  Did(s, ReadOptions(s));
}

static void TellBlocks(Sequence *s)
{
  PoisePC pc;
  PCModel *m = &s->m.pc;
  int total = Draw(s, 2), blocks = total ? Draw(s, 10) : 1 + Draw(s, 3);
  Did(s, PoiseKSPGetPC(s->ksp, &pc));
  if (!Is(m->type, "bjacobi")) {
    CHECK_ERR(PoisePCBJacobiSetTotalBlocks(pc, blocks), POISE_ERR_STATE, "not bjacobi");
    return;
  }
  bool same = m->total == (total ? blocks : 0) && m->local == (total ? 0 : blocks) && m->most == 0;
  if (!same) s->m.built = s->m.unknown = false;
  m->total = total ? blocks : 0;
  m->local = total ? 0 : blocks;
  m->most = 0;
  Say(s, "blocks %d %d", m->total, m->local);
  Did(s, total ? PoisePCBJacobiSetTotalBlocks(pc, blocks) : PoisePCBJacobiSetLocalBlocks(pc, blocks, NULL));
}

static PoiseErr TellInner(Sequence *s, PoiseKSP ksp, const Inner *in)
{
  PoisePC pc;
  (void)s;
  POISE_TRY(PoiseKSPSetType(ksp, in->type));
  POISE_TRY(PoiseKSPSetNormType(ksp, in->counts ? POISE_KSP_NORM_NONE : POISE_KSP_NORM_DEFAULT));
  POISE_TRY(PoiseKSPSetTolerances(ksp, in->rtol, -1, -1, in->maxits));
  POISE_TRY(PoiseKSPGetPC(ksp, &pc));
  return PoisePCSetType(pc, in->pc);
}

/* From code; said as options too, as solvers that are dropped forget. */
static void TellSolversInside(Sequence *s)
{
  Model next = s->m;
  PoisePC pc;
  PoiseKSP *of, one;
  PoiseInt count = 1;
  bool blocks = Is(next.pc.type, "bjacobi");
  next.pc.inner = DrawInner(s);
  if (!(blocks || Is(next.pc.type, "ksp")) || next.pc.most || !next.configured || IsKept(s)) return;
  if (!Take(s, &next)) return;
  s->m.unknown = true;
  Say(s, "inside %s %s %d %g %d", next.pc.inner.type, next.pc.inner.pc, next.pc.inner.maxits,
      next.pc.inner.rtol, next.pc.inner.counts);
  Did(s, PoiseKSPGetPC(s->ksp, &pc));
  PoiseErr e = blocks ? PoisePCBJacobiGetSubKSP(pc, &count, NULL, &of) : PoisePCKSPGetKSP(pc, &one);
  if (e == POISE_ERR_STATE) Fail(s, "there are no solvers inside", PoiseErrorMessage(), "");
  PoiseErrorClear(); /* blocks that cannot be are refused by the solve too */
  s->m.option[!blocks] = next.pc.inner;
  Did(s, WriteInner(s, "u_", blocks ? "sub_" : "ksp_", &next.pc.inner));
  for (PoiseInt k = 0; !e && k < count; k++) Did(s, TellInner(s, blocks ? of[k] : one, &next.pc.inner));
  if (e) Did(s, ReadOptions(s));
}

static void Look(Sequence *s)
{
  PoiseBytes bytes;
  PoisePrediction p;
  PoisePC pc;
  Say(s, "look");
  Did(s, PoiseKSPGetPC(s->ksp, &pc));
  Did(s, PoiseKSPView(s->ksp));
  Did(s, PoiseKSPBytes(s->ksp, &bytes));
  Did(s, PoiseMatBytes(s->mat[s->m.ksp.A], &bytes, NULL));
  Did(s, PoiseMatView(s->mat[s->m.ksp.A]));
  (void)PoiseKSPPredictBytes(s->ksp, NULL, &p);
  if (!IsKept(s)) (void)PoisePCPredictBytes(pc, NULL, &p);
  PoiseErrorClear();
}

/* z of a vector, by the used and by the fresh preconditioner. */
static PoiseErr ApplyTo(PoiseKSP ksp, PoiseMat A, uint64_t seed, Outcome *o)
{
  PoisePC pc;
  PoiseVec r, z;
  memset(o, 0, sizeof *o);
  POISE_TRY(PoiseKSPGetPC(ksp, &pc));
  POISE_TRY(PoiseMatCreateVecs(A, &z, &r));
  SampleFill(r, seed);
  o->e = PoisePCApply(pc, r, z);
  TakeWords(o->words);
  if (!o->e) o->x = SampleDigest(z);
  PoiseVecDestroy(&r);
  PoiseVecDestroy(&z);
  return POISE_OK;
}

static PoiseErr ApplyFresh(Sequence *s, uint64_t seed, Outcome *o)
{
  Fresh f;
  PoiseErr e = MakeFresh(s, &f);
  if (!e) e = ApplyTo(f.ksp, f.A, seed, o);
  DestroyFresh(&f);
  return e;
}

static void Apply(Sequence *s)
{
  uint64_t seed = (uint64_t)Draw(s, 1000);
  Outcome used, fresh;
  if (!SameLocal(s, &s->m.mat[s->m.ksp.A], &s->m.mat[s->m.ksp.P])) return;
  Say(s, "pc apply");
  if (!Did(s, ApplyTo(s->ksp, s->mat[s->m.ksp.A], seed, &used)) || !Did(s, ApplyFresh(s, seed, &fresh)))
    return;
  if (SameOutcome(s, &used, &fresh)) SetUpEnded(s, !used.e);
}

/* Refused, and all is as before. */
static void Wrong(Sequence *s)
{
  PoisePC pc;
  Say(s, "wrong calls");
  Did(s, PoiseKSPGetPC(s->ksp, &pc));
  CHECK_ERR(PoiseKSPSetType(s->ksp, "cg2"), POISE_ERR_OPTION, "cg2");
  CHECK_ERR(PoisePCSetType(pc, "ilupt"), POISE_ERR_OPTION, "ilupt");
  CHECK_ERR(PoiseMatSetType(s->mat[0], "ell"), POISE_ERR_OPTION, "ell");
  CHECK_ERR(PoiseKSPSetTolerances(s->ksp, 2, 1, 1, 1), POISE_ERR_ARG, "tolerance");
  CHECK_ERR(PoiseKSPSetNormType(s->ksp, (PoiseNormType)7), POISE_ERR_ARG, "norm");
  CHECK(PoiseMatSetBlockSize(s->mat[0], 33) == POISE_ERR_ARG);
  PoiseErrorClear();
}

/* Vectors of another matrix. */
static void WrongVectors(Sequence *s)
{
  int other = s->m.ksp.A == 2 ? 0 : 2;
  PoiseVec b, x;
  if (SameLocal(s, &s->m.mat[other], &s->m.mat[s->m.ksp.A])) return;
  Say(s, "wrong vectors");
  if (!Did(s, PoiseMatCreateVecs(s->mat[other], &x, &b))) return;
  CHECK(PoiseKSPSolve(s->ksp, b, x) != POISE_OK);
  PoiseErrorClear();
  PoiseVecDestroy(&b);
  PoiseVecDestroy(&x);
  SetUpEnded(s, false);
}

/* In the middle of a solve, on the last rank. */
static void OutOfMemory(Sequence *s)
{
  int n = 1 + Draw(s, 30);
  PoiseVec b, x;
  s->guest.x = NULL;
  Say(s, "allocation %d fails", n);
  if (!Did(s, MakeVectors(s->mat[s->m.ksp.A], (Right){ANY_B, 1}, s->m.ksp.guess, &b, &x))) return;
  if (PoiseRank(s->ctx) == PoiseSize(s->ctx) - 1) poiseAllocFailAt(s->ctx, n);
  (void)PoiseKSPSolve(s->ksp, b, x);
  poiseAllocFailAt(s->ctx, 0);
  PoiseErrorClear();
  PoiseVecDestroy(&b);
  PoiseVecDestroy(&x);
  SetUpEnded(s, false); /* or well, as the device has it */
}

/* ---- calls that a matrix takes --------------------------------------------------------------- */

static int Which(Sequence *s)
{
  int k = Draw(s, SLOTS + 2);
  return k < SLOTS ? k : s->m.ksp.A;
}

static PoiseErr GiveCSR(Sequence *s, PoiseMat A, const MatModel *m)
{
  double *v;
  PoiseInt first = First(s, m), n = Mine(s, m), nz = 0;
  for (PoiseInt i = first; i < first + n; i++) nz += m->row[i].n;
  v = calloc((size_t)nz + 1, sizeof *v);
  nz = 0;
  for (PoiseInt i = first; i < first + n; i++)
    for (int k = 0; k < m->row[i].n; k++) v[nz++] = m->row[i].v[k];
  PoiseErr e = PoiseMatSetValuesCSR(A, v);
  free(v);
  return e;
}

/* The blocks row by row, each column-major or row by row. */
static PoiseErr GiveBCSR(Sequence *s, PoiseMat A, const MatModel *m, int row_major)
{
  double *v;
  PoiseInt first = First(s, m), n = Mine(s, m), nz = 0;
  int b = m->b;
  for (PoiseInt i = first; i < first + n; i++) nz += m->row[i].n;
  v = calloc((size_t)nz + 1, sizeof *v);
  nz = 0;
  for (PoiseInt i = first; i < first + n; i += b)
    for (int k = 0; k < m->row[i].n; k += b)
      for (int c = 0; c < b * b; c++)
        v[nz++] = row_major ? m->row[i + c / b].v[k + c % b] : m->row[i + c % b].v[k + c / b];
  PoiseErr e = PoiseMatSetValuesBCSR(A, row_major, v);
  free(v);
  return e;
}

static void Values(Sequence *s)
{
  int k = Which(s), row_major = Draw(s, 2);
  MatModel *m = &s->m.mat[k];
  DrawValues(s, m);
  Say(s, "mat %d all values", k);
  Did(s, Is(m->type, "bcsr") ? GiveBCSR(s, s->mat[k], m, row_major) : GiveCSR(s, s->mat[k], m));
}

static void ZeroAndAdd(Sequence *s)
{
  int k = Which(s);
  DrawValues(s, &s->m.mat[k]);
  Say(s, "mat %d zeroed and set", k);
  Did(s, PoiseMatZeroEntries(s->mat[k]));
  for (PoiseInt i = 0; i < s->m.mat[k].N; i++) Did(s, GiveRow(s, s->mat[k], &s->m.mat[k], i, (int)i / 3));
  Did(s, PoiseMatAssemble(s->mat[k]));
}

/* Entries in some rows, one in each, given by other ranks than theirs, in the pattern or new. */
static void Add(Sequence *s)
{
  int k = Which(s), n = 1 + Draw(s, 5), set = Draw(s, 2), start = Draw(s, 1000);
  MatModel *m = &s->m.mat[k];
  Say(s, "mat %d %s %d", k, set ? "set" : "add", n);
  for (int l = 0; l < n && l < m->N; l++) {
    PoiseInt i = (start + l) % m->N, j = Draw(s, 2) ? i : Draw(s, (int)m->N);
    double v = TestRandom(s->seed, s->draws++), *a = At(m, i, j);
    *a = set ? v : *a + v;
    if (PoiseRank(s->ctx) != l % PoiseSize(s->ctx)) continue;
    Did(s, set ? PoiseMatSetEntries(s->mat[k], 1, &i, &j, &v) : PoiseMatAddEntries(s->mat[k], 1, &i, &j, &v));
  }
  Fill(m);
  Did(s, PoiseMatAssemble(s->mat[k]));
}

/* Triplets: a new pattern with values, which are then added once more. */
static void Triplets(Sequence *s)
{
  int k = Which(s);
  MatModel *m = &s->m.mat[k];
  PoiseInt first = First(s, m), end = first + Mine(s, m), n = 0;
  DrawPattern(s, m);
  DrawValues(s, m);
  Say(s, "mat %d triplets", k);
  for (PoiseInt i = first; i < end; i++) n += m->row[i].n;
  PoiseInt *ij = calloc(2 * (size_t)n + 1, sizeof *ij);
  double *v = calloc((size_t)n + 1, sizeof *v);
  PoiseInt at = n; /* backwards */
  for (PoiseInt i = first; i < end; i++)
    for (int c = 0; c < m->row[i].n; c++)
      ij[--at] = i, ij[n + at] = m->row[i].col[c], v[at] = m->row[i].v[c] / 2;
  Did(s, PoiseMatSetPatternCOO(s->mat[k], n, ij, ij + n));
  Did(s, PoiseMatSetValuesCOO(s->mat[k], v));
  Did(s, PoiseMatAddValuesCOO(s->mat[k], v));
  free(ij);
  free(v);
}

static void ScaleMat(Sequence *s)
{
  static const double factors[] = {2, -1, 0.3, 1e3};
  int k = Which(s);
  double a = PICK(s, factors);
  MatModel *m = &s->m.mat[k];
  for (PoiseInt i = 0; i < m->N; i++)
    for (int c = 0; c < m->row[i].n; c++) m->row[i].v[c] *= a;
  Say(s, "mat %d scale %g", k, a);
  Did(s, PoiseMatScale(s->mat[k], a));
}

/* A power of 2 in each row, so that products have one value. */
static double Power(uint64_t seed, PoiseInt i)
{
  return ldexp(1, (int)(2 * TestRandom(seed, (uint64_t)i)));
}

static PoiseErr PowerVector(PoiseMat A, uint64_t seed, PoiseVec *x)
{
  double *p;
  PoiseInt begin, end;
  POISE_TRY(PoiseMatCreateVecs(A, x, NULL));
  PoiseVecRange(*x, &begin, &end);
  POISE_TRY(PoiseVecGetWrite(*x, &p));
  for (PoiseInt i = begin; i < end; i++) p[i - begin] = Power(seed, i);
  return PoiseVecRestore(*x, &p);
}

static void DiagonalScale(Sequence *s)
{
  int k = Which(s);
  uint64_t seed = (uint64_t)Draw(s, 1000);
  MatModel *m = &s->m.mat[k];
  PoiseVec d;
  for (PoiseInt i = 0; i < m->N; i++)
    for (int c = 0; c < m->row[i].n; c++) m->row[i].v[c] *= Power(seed, i) * Power(seed, m->row[i].col[c]);
  Say(s, "mat %d diagonal scale", k);
  if (Did(s, PowerVector(s->mat[k], seed, &d))) Did(s, PoiseMatDiagonalScale(s->mat[k], d, d));
  PoiseVecDestroy(&d);
}

static void Shift(Sequence *s)
{
  int k = Which(s), how = Draw(s, 3);
  uint64_t seed = (uint64_t)Draw(s, 1000);
  MatModel *m = &s->m.mat[k];
  PoiseVec d;
  for (PoiseInt i = 0; i < m->N; i++) {
    double *a = At(m, i, i);
    *a = how == 2 ? Power(seed, i) : *a + (how ? Power(seed, i) : 0.7);
  }
  Fill(m);
  Say(s, "mat %d diagonal %d", k, how);
  if (!Did(s, PowerVector(s->mat[k], seed, &d))) return;
  Did(s, how == 0   ? PoiseMatShift(s->mat[k], 0.7)
         : how == 1 ? PoiseMatAddDiagonal(s->mat[k], d)
                    : PoiseMatSetDiagonal(s->mat[k], d));
  PoiseVecDestroy(&d);
}

static void Axpy(Sequence *s)
{
  static const double factors[] = {1, -0.5, 2};
  int k = Draw(s, 2), l = Draw(s, 3) ? !k : k;
  double a = PICK(s, factors);
  MatModel x = {.N = 0}, *y = &s->m.mat[k];
  RowsCopy(&s->m.mat[l], &x);
  for (PoiseInt i = 0; i < x.N; i++)
    for (int c = 0; c < x.row[i].n; c++) *At(y, i, x.row[i].col[c]) += a * x.row[i].v[c];
  RowsFree(&x);
  Fill(y);
  Say(s, "mat %d += %g mat %d", k, a, l);
  Did(s, PoiseMatAXPY(s->mat[k], a, s->mat[l]));
}

static void ZeroRows(Sequence *s)
{
  int k = Which(s), columns = Draw(s, 2), n = 0;
  MatModel *m = &s->m.mat[k];
  PoiseInt rows[3], start = Draw(s, (int)m->N);
  while (n < 3 && n < m->N && Has(m, (start + n) % m->N, (start + n) % m->N))
    rows[n] = (start + n) % m->N, n++;
  for (PoiseInt i = 0; i < m->N; i++)
    for (int c = 0; c < m->row[i].n; c++)
      for (int l = 0; l < n; l++) {
        bool row = rows[l] == i, column = columns && rows[l] == m->row[i].col[c];
        if (row || column) m->row[i].v[c] = row && m->row[i].col[c] == i ? 2 : 0;
      }
  Say(s, "mat %d zero %d rows%s", k, n, columns ? " and columns" : "");
  if (PoiseRank(s->ctx)) n = 0;
  Did(s, columns ? PoiseMatZeroRowsColumns(s->mat[k], n, rows, 2, NULL, NULL)
                 : PoiseMatZeroRows(s->mat[k], n, rows, 2, NULL, NULL));
}

static bool IsAuto(const char *type) /* parts of pcsr are of type auto */
{
  return Is(type, "auto") || Is(type, "pcsr");
}

/* What auto makes of entries by blocks depends on how they came; blocks stay. */
static bool MayBeBlocks(const MatModel *m, const char *type, int b)
{
  return IsAuto(type) && m->entries && b > 1;
}

static void TellMatType(Sequence *s)
{
  int k = Which(s);
  MatModel *m = &s->m.mat[k];
  const char *type = PICK(s, mat_types);
  if (MayBeBlocks(m, type, m->b) || (IsAuto(type) && Is(m->type, "bcsr"))) return;
  if (!Is(type, m->type)) m->chunk = m->length = m->kernel = 0;
  m->type = type;
  m->named = true;
  Fill(m);
  Say(s, "mat %d %s", k, type);
  Did(s, PoiseMatSetType(s->mat[k], type));
}

static void MatOption(Sequence *s)
{
  static const int chunks[] = {0, 8, 64}, lengths[] = {0, 1, 4, 32};
  static const char *const prefixes[] = {"m0_", "m1_", "m2_"};
  int k = Which(s);
  MatModel *m = &s->m.mat[k];
  m->chunk = PICK(s, chunks), m->length = PICK(s, lengths), m->kernel = Draw(s, LENGTH(kernels));
  Say(s, "mat %d options %d %d %d", k, m->chunk, m->length, m->kernel);
  Did(s, MatOptions(s, s->mat[k], m, prefixes[k]));
}

static void BlockSize(Sequence *s)
{
  int k = Which(s), b = 1 + Draw(s, 4);
  MatModel *m = &s->m.mat[k];
  if (m->unit % b || Is(m->type, "bcsr") || MayBeBlocks(m, m->type, b)) return;
  m->b = b;
  Say(s, "mat %d block size %d", k, b);
  Did(s, PoiseMatSetBlockSize(s->mat[k], b));
}

static void NullSpaces(Sequence *s)
{
  int k = Which(s);
  MatModel *m = &s->m.mat[k];
  m->null = Draw(s, 2) ? Draw(s, NSPACES) : NO_SPACE;
  m->left = Draw(s, 2) ? Draw(s, NSPACES) : NO_SPACE;
  m->space = (uint64_t)Draw(s, 1000);
  Say(s, "mat %d null spaces %d %d", k, m->null, m->left);
  Did(s, SetSpaces(s->mat[k], m));
}

static void Arrange(Sequence *s)
{
  int k = Which(s);
  Model next = s->m;
  MatModel *m = &next.mat[k];
  m->order = Draw(s, 2);
  m->partition = Draw(s, 2) ? Draw(s, 3) : 0;
  if (!Take(s, &next)) return;
  Say(s, "mat %d partition %d order %d", k, m->partition, m->order);
  Did(s, PoiseMatSetPartition(s->mat[k], (PoisePartition)m->partition));
  Did(s, PoiseMatSetOrder(s->mat[k], (PoiseOrder)m->order));
}

static void DrawSizes(Sequence *s, MatModel *m)
{
  static const int nodes[] = {1, 2, 7, 16, 30, 33, 64, 101}, units[] = {1, 1, 1, 2, 3, 4};
  m->unit = PICK(s, units);
  m->N = PICK(s, nodes) * m->unit;
  m->layout = Draw(s, 2) ? EVEN : Draw(s, NLAYOUTS);
}

/* A model of a matrix that nobody has told anything. */
static void DrawMat(Sequence *s, MatModel *m)
{
  m->type = "auto";
  m->named = false;
  m->entries = Draw(s, 2);
  m->b = 1;
  m->chunk = m->length = m->kernel = m->null = m->left = m->partition = m->order = 0;
  DrawPattern(s, m);
  DrawValues(s, m);
}

/* The solver that works with matrix k is told of another one. */
static void Replace(Sequence *s, int k, PoiseMat A)
{
  PoiseMatDestroy(&s->mat[k]);
  s->mat[k] = A;
  if (s->ksp && (s->m.ksp.A == k || s->m.ksp.P == k)) SetOperators(s);
}

/* May matrix k become one that is not arranged? */
static bool MayReplace(Sequence *s, int k)
{
  if (k != s->m.ksp.A || !IsArranged(&s->m.mat[k])) return true;
  if (s->m.ksp.reuse) return false;
  s->m.unknown = true;
  return true;
}

static void NewMatrix(Sequence *s)
{
  int k = Which(s);
  PoiseMat A;
  MatModel *m = &s->m.mat[k];
  if (!MayReplace(s, k)) return;
  RowsFree(m);
  if (k == 2) DrawSizes(s, m);
  DrawMat(s, m);
  Say(s, "mat %d new of %lld", k, (long long)m->N);
  if (Did(s, MakeMat(s, m, "n_", &A))) Replace(s, k, A);
}

static void Turn(MatModel *m)
{
  MatModel before = {.N = 0};
  RowsCopy(m, &before);
  RowsClear(m);
  for (PoiseInt i = 0; i < m->N; i++)
    for (int c = 0; c < before.row[i].n; c++) *At(m, before.row[i].col[c], i) = before.row[i].v[c];
  RowsFree(&before);
}

/* The matrix becomes a copy of itself, or its transpose. */
static void Copy(Sequence *s)
{
  int k = Which(s), turn = Draw(s, 2);
  PoiseMat A;
  MatModel *m = &s->m.mat[k];
  if (!MayReplace(s, k)) return;
  if (turn) Turn(m);
  Say(s, "mat %d %s", k, turn ? "transposed" : "duplicated");
  m->null = m->left = m->partition = m->order = 0;
  m->entries = false;
  if (!Did(s, turn ? PoiseMatTranspose(s->mat[k], &A) : PoiseMatDuplicate(s->mat[k], 1, &A))) return;
  Did(s, PoiseMatSetPartition(A, POISE_PARTITION_ROWS)); /* said of all, as pcsr has another default */
  Replace(s, k, A);
}

/* A number that is none, and back. */
static void NotFinite(Sequence *s)
{
  int k = s->m.ksp.A;
  MatModel *m = &s->m.mat[k];
  PoiseInt i = Draw(s, (int)m->N), j = i;
  double v = Draw(s, 2) ? NAN : INFINITY, *a, before;
  if (!Has(m, i, i) || (s->m.ksp.reuse && !s->m.built)) return;
  a = At(m, i, i), before = *a, *a = v;
  Say(s, "mat %d row %lld %g", k, (long long)i, v);
  for (int back = 0; back < 2 && !s->failed; back++) {
    if (!PoiseRank(s->ctx)) Did(s, PoiseMatSetEntries(s->mat[k], 1, &i, &j, back ? &before : &v));
    Did(s, PoiseMatAssemble(s->mat[k]));
    if (!back) SolveBoth(s);
    *At(m, i, i) = before;
    AgreeToGoOn(s);
  }
}

/* ---- products -------------------------------------------------------------------------------- */

typedef struct Products {
  uint64_t y, turned, diagonal;
  double norm[3];
  PoiseInt nonzeros;
} Products;

static PoiseErr Multiply(PoiseMat A, uint64_t seed, PoiseVec x, PoiseVec y, Products *p)
{
  SampleFill(x, seed);
  POISE_TRY(PoiseMatMult(A, x, y));
  p->y = SampleDigest(y);
  POISE_TRY(PoiseMatMultTranspose(A, x, y));
  p->turned = SampleDigest(y);
  POISE_TRY(PoiseMatGetDiagonal(A, y));
  p->diagonal = SampleDigest(y);
  POISE_TRY(PoiseMatNorm(A, POISE_NORM_1, &p->norm[0]));
  POISE_TRY(PoiseMatNorm(A, POISE_NORM_INF, &p->norm[1]));
  POISE_TRY(PoiseMatNorm(A, POISE_NORM_FROBENIUS, &p->norm[2]));
  return PoiseMatNonzeros(A, &p->nonzeros);
}

static PoiseErr ProductsOf(PoiseMat A, uint64_t seed, Products *p)
{
  PoiseVec x, y;
  POISE_TRY(PoiseMatCreateVecs(A, &x, &y));
  PoiseErr e = Multiply(A, seed, x, y, p);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
  return e;
}

static void CompareProducts(Sequence *s)
{
  int k = Which(s);
  PoiseMat A = NULL;
  Products used, fresh;
  Say(s, "mat %d products", k);
  bool made = Did(s, ProductsOf(s->mat[k], s->seed, &used)) && Did(s, MakeMat(s, &s->m.mat[k], "fm_", &A)) &&
              Did(s, ProductsOf(A, s->seed, &fresh));
  PoiseMatDestroy(&A);
  if (!made) return;
  SameNumber(s, "nonzeros", (double)used.nonzeros, (double)fresh.nonzeros);
  SameBits(s, "products", used.y, fresh.y);
  SameBits(s, "products with the transpose", used.turned, fresh.turned);
  SameBits(s, "diagonals", used.diagonal, fresh.diagonal);
  for (int n = 0; n < 3; n++) SameNumber(s, "norms of the matrix", used.norm[n], fresh.norm[n]);
}

/* ---- sequences ------------------------------------------------------------------------------- */

/* Nothing is left of the options of the sequence before. */
static PoiseErr ResetOptions(Sequence *s)
{
  POISE_TRY(WriteLoop(s, (Loop){.replay = 8}));
  for (int k = 0; k < 2; k++) {
    s->m.option[k] = inside[k];
    POISE_TRY(WriteInner(s, "u_", k ? "ksp_" : "sub_", &inside[k]));
  }
  return POISE_OK;
}

static void DrawSolver(Sequence *s)
{
  Model *m = &s->m;
  m->ksp = (KSPModel){.type = "gmres", .rtol = 1e-5, .atol = 1e-50, .dtol = 1e4, .maxits = 100};
  OwnDefaults(&m->ksp);
  m->configured = false;
  PCDefaults(m, "none");
  m->unknown = false;
  s->guest.mode = NO_TEST;
}

static PoiseErr MakeSolver(Sequence *s)
{
  POISE_TRY(PoiseKSPCreate(s->ctx, &s->ksp));
  POISE_TRY(PoiseKSPSetOptionsPrefix(s->ksp, "u_"));
  POISE_TRY(PoiseKSPSetTolerances(s->ksp, -1, -1, -1, 100));
  POISE_TRY(PoiseKSPKeepHistory(s->ksp, 1));
  s->shell.P = s->mat[0];
  return PoiseKSPSetOperators(s->ksp, s->mat[0], NULL);
}

static void NewSolver(Sequence *s)
{
  Say(s, "new solver");
  if (!Did(s, PoiseKSPDestroy(&s->ksp))) return;
  DrawSolver(s);
  Did(s, MakeSolver(s));
}

typedef struct Call {
  void (*call)(Sequence *s);
  int weight;
} Call;

static const Call calls[] = {
    {TellType, 6},
    {TellTolerances, 3},
    {TellNorm, 2},
    {TellSide, 2},
    {TellGuess, 2},
    {TellStrict, 1},
    {TellChecks, 1},
    {TellBreakdown, 1},
    {TellRestart, 2},
    {TellScale, 1},
    {TellEigenvalues, 2},
    {TellReuse, 3},
    {Operators, 4},
    {SameOperators, 1},
    {OwnP, 2},
    {AddMonitor, 1},
    {TellTest, 2},
    {KSPOption, 3},
    {TellPCType, 6},
    {Shell, 2},
    {PCOption, 6},
    {TellBlocks, 2},
    {TellSolversInside, 2},
    {SetUp, 2},
    {Look, 1},
    {NewSolver, 1},
    {Apply, 2},
    {Wrong, 1},
    {WrongVectors, 1},
    {OutOfMemory, 1},
    {Values, 3},
    {ZeroAndAdd, 2},
    {Add, 3},
    {Triplets, 2},
    {ScaleMat, 1},
    {DiagonalScale, 1},
    {Shift, 2},
    {Axpy, 2},
    {ZeroRows, 2},
    {TellMatType, 4},
    {MatOption, 2},
    {BlockSize, 3},
    {NullSpaces, 3},
    {Arrange, 3},
    {NewMatrix, 2},
    {Copy, 2},
    {NotFinite, 1},
    {CompareProducts, 2},
};
_Static_assert(sizeof calls / sizeof *calls >= 40, "fewer kinds of calls");

static void MakeOneCall(Sequence *s)
{
  int sum = 0, k = 0;
  for (int l = 0; l < LENGTH(calls); l++) sum += calls[l].weight;
  for (int at = Draw(s, sum); at >= calls[k].weight; k++) at -= calls[k].weight;
  calls[k].call(s);
  AgreeToGoOn(s);
  if (s->failed || Draw(s, 5) > 1) return;
  SolveBoth(s);
  AgreeToGoOn(s);
}

static void Begin(Sequence *s)
{
  DrawSizes(s, &s->m.mat[0]);
  s->m.mat[1] = s->m.mat[0];
  DrawSizes(s, &s->m.mat[2]);
  for (int k = 0; k < SLOTS; k++) {
    DrawMat(s, &s->m.mat[k]);
    if (!Did(s, MakeMat(s, &s->m.mat[k], "n_", &s->mat[k]))) return;
  }
  Say(s, "of %lld and %lld", (long long)s->m.mat[0].N, (long long)s->m.mat[2].N);
  if (!Did(s, ResetOptions(s))) return;
  DrawSolver(s);
  Did(s, MakeSolver(s));
}

static void End(Sequence *s)
{
  PoiseKSPDestroy(&s->ksp);
  PoiseVecDestroy(&s->shell.d);
  for (int k = 0; k < SLOTS; k++) {
    PoiseMatDestroy(&s->mat[k]);
    RowsFree(&s->m.mat[k]);
  }
  RowsFree(&s->m.kept[0]);
  RowsFree(&s->m.kept[1]);
}

static bool Skipped(int step)
{
  const char *list = getenv("POISE_TEST_SKIP");
  while (list && *list) {
    if (isdigit((unsigned char)*list) && atoi(list) == step) return true;
    while (isdigit((unsigned char)*list)) list++;
    if (*list) list++;
  }
  return false;
}

static int Number(const char *name, int otherwise)
{
  const char *text = getenv(name);
  return text ? atoi(text) : otherwise;
}

static void RunSequence(Sequence *s)
{
  int steps = Number("POISE_TEST_STEPS", STEPS);
  Begin(s);
  AgreeToGoOn(s);
  for (s->step = 1; !s->failed && s->step < steps && s->step < STEPS; s->step++) {
    s->draws = 0;
    if (!Skipped(s->step)) MakeOneCall(s);
  }
  End(s);
}

/* Of what the sequences gave on host and mock: the same. Only rank 0 looks. */
static uint64_t seen[MOST_RANKS][MOST_SEEDS][STEPS];

static void CompareDevices(Sequence *s)
{
  int size = PoiseSize(s->ctx);
  bool mine = !s->failed && PoiseRank(s->ctx) == 0 && size < MOST_RANKS && s->seed < MOST_SEEDS;
  if (!mine || (strcmp(s->ctx->device->ops->name, "host") && strcmp(s->ctx->device->ops->name, "mock")))
    return;
  for (int k = 0; k < STEPS; k++) {
    uint64_t *other = &seen[size][s->seed][k];
    s->step = k;
    if (*other && *other != s->digest[k]) {
      Fail(s, "host and mock", "some bits", "others");
      return;
    }
    *other = s->digest[k];
  }
}

static bool RunSeed(PoiseContext ctx, uint64_t seed, FILE *out)
{
  Sequence *s = calloc(1, sizeof *s);
  s->ctx = ctx;
  s->seed = seed;
  s->aloud = getenv("POISE_TEST_SEED") != NULL;
  PoiseSetOutput(ctx, out);
  RunSequence(s);
  CompareDevices(s);
  AgreeToGoOn(s);
  bool failed = s->failed;
  free(s);
  return !failed;
}

/* Until the time is over, on rank 0's clock. */
static bool TimeLeft(PoiseContext ctx, double start, int seconds)
{
  double left = PoiseRank(ctx) == 0 && PoiseTime() - start < seconds;
  CHECK_OK(PoiseMax(ctx, 1, &left));
  return left > 0;
}

static void TestSequences(PoiseContext ctx)
{
  enum { MOST_FAILURES = 3 };
  int only = Number("POISE_TEST_SEED", -1), seconds = Number("POISE_TEST_SECONDS", 0), failures = 0;
  double start = PoiseTime();
  uint64_t first = 1000 * (uint64_t)PoiseSize(ctx), seed = first; /* host and mock have the same */
  uint64_t last = first + (uint64_t)(2 * SEEDS / (1 + PoiseSize(ctx)));
  FILE *out = fopen("/dev/null", "w");
  CHECK_OK(PoiseOptionsSet(ctx, "-options_left", "no"));
  if (only >= 0) RunSeed(ctx, (uint64_t)only, out);
  for (; only < 0 && failures < MOST_FAILURES; seed++) {
    if (seconds ? !TimeLeft(ctx, start, seconds) : seed == last) break;
    failures += !RunSeed(ctx, seed, out);
  }
  if (seconds && PoiseRank(ctx) == 0) /* how far the hunt came */
    fprintf(stderr, "%llu sequences\n", (unsigned long long)(seed - first));
  PoiseSetOutput(ctx, NULL);
  if (out) fclose(out);
}

static const Test tests[] = {{"sequences", TestSequences, 0}, {NULL, NULL, 0}};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "sequences", tests);
}
