/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Whether claims of convergence are true: one matrix, every method with every preconditioner, side and norm;
  after each solve the norm that was tested is computed again from x, apart from the library: A as plain
  CSR, sums in long double, M by PoisePCApply.

    honest -A matrix.mtx.gz [-b rhs.mtx.gz] [-only gmres] [-work 1e8] [-max_it 2000]
    bench/honest.py                           all of a folder, a table, and a comparison of two builds

  b = A times ones where no file gives it, x0 = 0; -pc_jacobi_fixdiagonal, and shifts in factors where
  pivots are zero. A line of comma-separated values for each solve: matrix, rows, nonzeros, method, pc,
  side, norm, reason, iterations, claimed (the library's last norm), limit (what it had to fall below: the
  larger of rtol times the first norm, computed again too, and atol), computed, true (|b - A x| / |b|),
  detail (what the library says).
*/
#include <inttypes.h>
#include <math.h>
#include <poise.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define TRY POISE_TRY

typedef struct Options {
  char A[POISE_OPTION_LENGTH], b[POISE_OPTION_LENGTH], only[POISE_OPTION_LENGTH];
  double rtol, work;
  PoiseInt most;
} Options;

static const PoiseOption table[] = {
    {"A", POISE_OPTION_STRING, offsetof(Options, A), "", 0, 0, NULL, "file of A"},
    {"b", POISE_OPTION_STRING, offsetof(Options, b), "", 0, 0, NULL, "file of b; default: b = A times ones"},
    {"only", POISE_OPTION_STRING, offsetof(Options, only), "", 0, 0, NULL, "one method"},
    {"rtol", POISE_OPTION_REAL, offsetof(Options, rtol), "1e-8", 0, 1, NULL, "relative tolerance"},
    {"max_it", POISE_OPTION_INT, offsetof(Options, most), "2000", 1, 1e9, NULL, "most iterations"},
    {"work", POISE_OPTION_REAL, offsetof(Options, work), "1e8", 1, 1e15, NULL,
     "iterations are at most this over 2 nonzeros + 30 rows, but 100"},
    {0},
};

typedef struct Way {
  const char *name, *type, *prefix;
  const char *pcs; /* those that it takes; NULL: all */
  PoisePCSide side;
  PoiseNormType norm;
} Way;

#define PRE   POISE_PC_LEFT, POISE_KSP_NORM_PRECONDITIONED
#define UNPRE POISE_PC_LEFT, POISE_KSP_NORM_UNPRECONDITIONED
#define NAT   POISE_PC_LEFT, POISE_KSP_NORM_NATURAL
#define RIGHT POISE_PC_RIGHT, POISE_KSP_NORM_UNPRECONDITIONED

static const Way ways[] = {
    {"cg", "cg", "", NULL, PRE},
    {"cg", "cg", "", NULL, UNPRE},
    {"cg", "cg", "", NULL, NAT},
    {"prcg", "prcg", "", "none jacobi", PRE},
    {"prcg", "prcg", "", "none jacobi", UNPRE},
    {"prcg", "prcg", "", "none jacobi", NAT},
    {"minres", "minres", "", NULL, PRE},
    {"minres", "minres", "", NULL, NAT},
    {"symmlq", "symmlq", "", NULL, PRE},
    {"symmlq", "symmlq", "", NULL, NAT},
    {"gmres", "gmres", "", NULL, PRE},
    {"gmres", "gmres", "", NULL, RIGHT},
    {"gmres-refined", "gmres", "refined_", NULL, PRE},
    {"gmres-refined", "gmres", "refined_", NULL, RIGHT},
    {"fgmres", "fgmres", "", NULL, RIGHT},
    {"bicgstab", "bicgstab", "", NULL, PRE},
    {"bicgstab", "bicgstab", "", NULL, RIGHT},
    {"cgs", "cgs", "", NULL, PRE},
    {"cgs", "cgs", "", NULL, RIGHT},
    {"tfqmr", "tfqmr", "", NULL, PRE},
    {"tfqmr", "tfqmr", "", NULL, RIGHT},
    {"bicgstabl", "bicgstabl", "", NULL, PRE},
    {"bicgstabl", "bicgstabl", "", NULL, RIGHT},
    {"qmrcgs", "qmrcgs", "", NULL, RIGHT},
    {"bicg", "bicg", "", NULL, PRE},
    {"qmr", "qmr", "", NULL, PRE},
    {"qmr", "qmr", "", NULL, RIGHT},
    {"lgmres", "lgmres", "", NULL, PRE},
    {"lgmres", "lgmres", "", NULL, RIGHT},
    {"idr", "idr", "", NULL, PRE},
    {"idr", "idr", "", NULL, RIGHT},
    {"chebyshev", "chebyshev", "", NULL, PRE},
    {"chebyshev", "chebyshev", "", NULL, UNPRE},
    {"richardson", "richardson", "", NULL, PRE},
    {"richardson", "richardson", "", NULL, UNPRE},
};

static const char *const pcs[] = {"none", "jacobi", "ilu", "icc", "sor"};

typedef struct System {
  Options o;
  PoiseMat A;
  PoiseVec b, x, r, z;
  PoiseInt n, nz, most;
  int64_t *ptr, *col; /* of A */
  double *val;
} System;

/* r = b - A x, x = 0 if it is NULL; *norm = |r|. */
static PoiseErr Residual(System *s, PoiseVec x, long double *norm)
{
  const double *xs = NULL, *bs;
  double *rs;
  *norm = 0;
  if (x) TRY(PoiseVecGetRead(x, &xs));
  TRY(PoiseVecGetRead(s->b, &bs));
  TRY(PoiseVecGetWrite(s->r, &rs));
  for (PoiseInt i = 0; i < s->n; i++) {
    long double sum = bs[i];
    for (int64_t k = s->ptr[i]; xs && k < s->ptr[i + 1]; k++) sum -= (long double)s->val[k] * xs[s->col[k]];
    *norm += sum * sum;
    rs[i] = (double)sum;
  }
  *norm = sqrtl(*norm);
  TRY(PoiseVecRestore(s->r, &rs));
  TRY(PoiseVecRestore(s->b, &bs));
  return x ? PoiseVecRestore(x, &xs) : POISE_OK;
}

static PoiseErr Dot(System *s, PoiseVec u, PoiseVec v, long double *dot)
{
  const double *us, *vs;
  *dot = 0;
  TRY(PoiseVecGetRead(u, &us));
  TRY(PoiseVecGetRead(v, &vs));
  for (PoiseInt i = 0; i < s->n; i++) *dot += (long double)us[i] * vs[i];
  TRY(PoiseVecRestore(v, &vs));
  return PoiseVecRestore(u, &us);
}

typedef struct Norms {
  long double plain, natural, preconditioned;
} Norms;

static PoiseErr AllNorms(System *s, PoisePC pc, PoiseVec x, Norms *of)
{
  long double rz, zz;
  TRY(Residual(s, x, &of->plain));
  TRY(PoisePCApply(pc, s->r, s->z));
  TRY(Dot(s, s->r, s->z, &rz));
  TRY(Dot(s, s->z, s->z, &zz));
  of->natural = sqrtl(fabsl(rz));
  of->preconditioned = sqrtl(zz);
  return POISE_OK;
}

/* The one that a method tests. Of minres and symmlq it is |M^-1 r0| times the decrease of the natural one
   (src/ksp/minres.c). */
static long double Tested(const Way *way, const Norms *first, const Norms *of)
{
  if (way->norm == POISE_KSP_NORM_UNPRECONDITIONED) return of->plain;
  if (way->norm == POISE_KSP_NORM_NATURAL) return of->natural;
  if (strcmp(way->type, "minres") && strcmp(way->type, "symmlq")) return of->preconditioned;
  return first->natural > 0 ? first->preconditioned * (of->natural / first->natural) : of->preconditioned;
}

static PoiseErr Prepare(System *s, const Way *way, const char *pc, PoiseKSP *ksp)
{
  PoisePC m;
  TRY(PoiseKSPCreate(PoiseMatContext(s->A), ksp));
  TRY(PoiseKSPSetOptionsPrefix(*ksp, way->prefix));
  TRY(PoiseKSPSetFromOptions(*ksp));
  TRY(PoiseKSPSetType(*ksp, way->type));
  TRY(PoiseKSPSetFromOptions(*ksp));
  TRY(PoiseKSPSetOperators(*ksp, s->A, NULL));
  TRY(PoiseKSPGetPC(*ksp, &m));
  TRY(PoisePCSetType(m, pc));
  TRY(PoisePCSetFromOptions(m));
  TRY(PoiseKSPSetPCSide(*ksp, way->side));
  TRY(PoiseKSPSetNormType(*ksp, way->norm));
  return PoiseKSPSetTolerances(*ksp, s->o.rtol, -1, -1, s->most);
}

/* The last field of a line. */
static void PrintDetail(const char *text)
{
  for (; *text; text++) putchar(*text == ',' ? ';' : *text == '\n' ? ' ' : *text);
  putchar('\n');
}

static PoiseErr Solve(System *s, const Way *way, const char *pc, PoiseKSP *ksp)
{
  PoisePC m;
  Norms first, last;
  TRY(Prepare(s, way, pc, ksp));
  TRY(PoiseKSPSolve(*ksp, s->b, s->x));
  TRY(PoiseKSPGetPC(*ksp, &m));
  TRY(AllNorms(s, m, NULL, &first));
  TRY(AllNorms(s, m, s->x, &last));
  printf("%s,%" PRId64 ",%.3e,%.3Le,%.3Le,%.3Le,", PoiseKSPReasonString(PoiseKSPConvergedReason(*ksp)),
         PoiseKSPIterations(*ksp), PoiseKSPResidualNorm(*ksp), s->o.rtol * Tested(way, &first, &first),
         Tested(way, &first, &last), last.plain / (first.plain > 0 ? first.plain : 1));
  PrintDetail(PoiseKSPReasonDetail(*ksp));
  return POISE_OK;
}

/* One line; a set-up or solve that fails is told as such. */
static void Line(System *s, const char *name, const Way *way, const char *pc)
{
  static const char *const sides[] = {"left", "right"};
  PoiseKSP ksp = NULL;
  printf("%s,%" PRId64 ",%" PRId64 ",%s,%s,%s,%s,", name, s->n, s->nz, way->name, pc, sides[way->side],
         PoiseKSPNormString(way->norm));
  if (Solve(s, way, pc, &ksp)) {
    printf("REFUSED,0,0,0,0,0,");
    PrintDetail(PoiseErrorMessage());
  }
  PoiseErrorClear();
  PoiseKSPDestroy(&ksp);
}

static PoiseErr Load(PoiseContext ctx, System *s)
{
  TRY(PoiseMatLoad(ctx, s->o.A, &s->A));
  TRY(PoiseMatSetFromOptions(s->A));
  TRY(PoiseMatCreateVecs(s->A, &s->x, &s->r));
  TRY(PoiseVecDuplicate(s->r, &s->z));
  PoiseMatLocalSizes(s->A, &s->n, NULL);
  TRY(PoiseMatNonzeros(s->A, &s->nz));
  TRY(PoiseMatCopyCSR(s->A, &s->ptr, &s->col, &s->val));
  s->most = (PoiseInt)fmin((double)s->o.most, fmax(100, s->o.work / (2 * (double)s->nz + 30 * (double)s->n)));
  if (s->o.b[0]) return PoiseVecLoad(ctx, s->n, POISE_DECIDE, s->o.b, &s->b);
  TRY(PoiseVecDuplicate(s->r, &s->b));
  TRY(PoiseVecSet(s->x, 1));
  return PoiseMatMult(s->A, s->x, s->b);
}

static void Close(System *s)
{
  free(s->val);
  free(s->col);
  free(s->ptr);
  PoiseVecDestroy(&s->z);
  PoiseVecDestroy(&s->r);
  PoiseVecDestroy(&s->x);
  PoiseVecDestroy(&s->b);
  PoiseMatDestroy(&s->A);
}

static bool Takes(const Way *way, const char *only, const char *pc)
{
  return (!*only || !strcmp(only, way->name)) && (!way->pcs || strstr(way->pcs, pc));
}

/* An option that lets preconditioners be built for more matrices. */
static PoiseErr Patience(PoiseContext ctx, const char *option, const char *value)
{
  char key[64];
  snprintf(key, sizeof key, "-pc_%s", option);
  TRY(PoiseOptionsSet(ctx, key, value));
  snprintf(key, sizeof key, "-refined_pc_%s", option);
  return PoiseOptionsSet(ctx, key, value);
}

static PoiseErr Run(PoiseContext ctx, const Options *o)
{
  System s = {.o = *o};
  const char *slash = strrchr(o->A, '/'), *file = slash ? slash + 1 : o->A;
  char name[64];
  snprintf(name, sizeof name, "%.*s", (int)strcspn(file, "."), file);
  TRY(PoiseOptionsSet(ctx, "-refined_ksp_gmres_cgs_refinement_type", "refine_ifneeded"));
  TRY(Patience(ctx, "jacobi_fixdiagonal", "yes"));
  PoiseErr e = Load(ctx, &s);
  for (size_t k = 0; !e && k < sizeof pcs / sizeof *pcs; k++) {
    e = Patience(ctx, "factor_shift_type", strcmp(pcs[k], "ilu") ? "positive_definite" : "nonzero");
    for (size_t w = 0; !e && w < sizeof ways / sizeof *ways; w++)
      if (Takes(&ways[w], s.o.only, pcs[k])) Line(&s, name, &ways[w], pcs[k]);
  }
  Close(&s);
  return e;
}

int main(int argc, char **argv)
{
  Options o;
  PoiseContext ctx;
  const PoiseInit init = {.serial = 1, .help = "Are claims of convergence true?", .options = table};
  PoiseErr e = PoiseInitialize(&argc, &argv, &init, &ctx);
  if (!e) e = PoiseOptionsDefaults(table, &o);
  if (!e) e = PoiseOptionsRead(ctx, NULL, table, &o);
  if (!e) e = Run(ctx, &o);
  if (!e) e = PoiseFinalize(&ctx);
  if (e) fputs(PoiseErrorText(), stderr);
  return e ? 1 : 0;
}
