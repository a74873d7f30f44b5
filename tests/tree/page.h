/* SPDX-License-Identifier: BSD-3-Clause */
/* What the code fragments of the documentation use: see page.awk. Each fragment has its own system,
   tridiag(-1, 2, -1) x = 1. */
#ifndef POISE_TEST_PAGE_H
#define POISE_TEST_PAGE_H

#include <inttypes.h>
#include <poise.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__) /* a fragment shows one thing, and does not use all that it is given */
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif

enum { N = 60 };

typedef PoiseErr (*PageFragment)(PoiseContext ctx, void *arg);

typedef struct Page {
  PoiseMat A, B, C;
  PoiseVec x, b, v;
  PoiseKSP ksp, other;
  PoisePC pc;
} Page;

/* Names of the fragments: A, x, b, ksp and pc are ready, and P is A; B, C, v and other are NULL, and released
   if they are made; this rank's rows are [begin, end). */
#define PAGE_OPEN                                 \
  Page page = {0};                                \
  POISE_TRY(PageOpen(ctx, &page));                \
  PoiseMat A = page.A, P = A, B = NULL, C = NULL; \
  PoiseVec x = page.x, b = page.b, v = NULL;      \
  PoiseKSP ksp = page.ksp, other = NULL;          \
  PoisePC pc = page.pc;                           \
  PoiseInt begin, end;                            \
  PoiseVecRange(x, &begin, &end);                 \
  (void)A, (void)P, (void)B, (void)C, (void)x, (void)b, (void)v, (void)ksp, (void)other, (void)pc, (void)end;

#define PAGE_CLOSE                                                                           \
  page = (Page){.A = A, .B = B, .C = C, .x = x, .b = b, .v = v, .ksp = ksp, .other = other}; \
  return PageClose(&page);

static PoiseErr PageOpen(PoiseContext ctx, Page *p)
{
  POISE_TRY(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, N, N, &p->A));
  POISE_TRY(PoiseMatCreateVecs(p->A, &p->x, &p->b));
  PoiseInt begin, end;
  PoiseVecRange(p->x, &begin, &end);
  for (PoiseInt i = begin; i < end; i++)
    POISE_TRY(PoiseMatAddBlock(p->A, 1, &i, 3, (PoiseInt[]){i - 1, i, i + 1 < N ? i + 1 : -1},
                               (double[]){-1, 2, -1}));
  POISE_TRY(PoiseMatAssemble(p->A));
  POISE_TRY(PoiseVecSet(p->b, 1));
  POISE_TRY(PoiseKSPCreate(ctx, &p->ksp));
  POISE_TRY(PoiseKSPSetOperators(p->ksp, p->A, NULL));
  return PoiseKSPGetPC(p->ksp, &p->pc);
}

static PoiseErr PageClose(Page *p)
{
  POISE_TRY(PoiseKSPDestroy(&p->other));
  POISE_TRY(PoiseKSPDestroy(&p->ksp));
  POISE_TRY(PoiseVecDestroy(&p->v));
  POISE_TRY(PoiseVecDestroy(&p->b));
  POISE_TRY(PoiseVecDestroy(&p->x));
  POISE_TRY(PoiseMatDestroy(&p->C));
  POISE_TRY(PoiseMatDestroy(&p->B));
  return PoiseMatDestroy(&p->A);
}

static PoiseErr PageFragments(PoiseContext ctx, void *arg)
{
  for (const PageFragment *f = arg; *f; f++) {
    POISE_TRY(PoisePrintf(ctx, "fragment %d\n", (int)(f - (const PageFragment *)arg) + 1));
    POISE_TRY((*f)(ctx, NULL));
  }
  return POISE_OK;
}

static int PageRun(int argc, char **argv, const PageFragment *fragments)
{
  PoiseContext ctx;
  PoiseErr e = PoiseInitialize(&argc, &argv, NULL, &ctx);
  if (!e) e = PoiseRun(ctx, PageFragments, (void *)fragments);
  if (e) fputs(PoiseErrorText(), stderr);
  PoiseErr f = PoiseFinalize(&ctx);
  if (f) fputs(PoiseErrorText(), stderr);
  return e || f;
}

#endif
