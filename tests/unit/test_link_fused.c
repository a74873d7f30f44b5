/* SPDX-License-Identifier: BSD-3-Clause */
/* Phases that exchange with other ranks by themselves: compared with kernels that do it, bit by bit. */
#include "harness.h"
#include "ksp/cg_phases.h"
#include "ksp/methods.h"
#include "problem.h"
#include "sample.h"

static bool Opens(PoiseContext ctx)
{
  poiseLinkClose(ctx);
  if (PoiseSize(ctx) > 1 && SampleIsAway(ctx) && poiseLinkOpen(ctx, LINK_PEER) == POISE_OK)
    poiseLinkSetPatience(ctx, 10);
  PoiseErrorClear();
  return ctx->link != NULL;
}

/* On one rank, on the host, and where ranks share a GPU, there is nothing to compare. */
static bool Fuses(PoiseContext ctx)
{
  return Opens(ctx) && poiseLinkFuses(ctx);
}

#define NEEDS_FUSED(ctx) \
  if (!Fuses(ctx)) TEST_SKIP("for ranks that are linked by peer access, with a device each")

/* ---- solves ---------------------------------------------------------------------------------- */

/* Kernels of a turn that was captured, and its iterations. */
static double Captured_Kernels(PoiseKSP ksp, int *turn)
{
  const LogCounts *counts = ksp->loop.counts;
  *turn = ksp->loop.captured.turn;
  return counts ? counts[*turn].launches - counts[0].launches : 0;
}

/* A turn of cg: the product in two parts with the halo's two kernels between, and a sum before each of two
   phases; or the product, and two phases. One of prcg has one phase, and at the end of a cycle a sum and a
   kernel that judges. */
static void CheckKernels(Problem *p, bool predicts, bool fused)
{
  int turn, cycle = predicts ? poiseKSPLateCycle(p->ksp, 16) : 1;
  double kernels = Captured_Kernels(p->ksp, &turn), each = fused ? 1 : 4;
  each += (predicts ? 1 : 2) * (fused ? 1 : 2);
  CHECK(kernels == each * turn + (predicts ? 2 * turn / cycle : 0));
}

/* All forms of a solve have the same bits, and iterations as many. */
static void SolveForms(PoiseContext ctx, Problem *p, bool predicts)
{
  uint64_t bits = 0;
  PoiseInt its = 0;
  Device *dev = ctx->device;
  double bandwidth = dev->model.bandwidth;
  for (int form = 0; form < 5; form++) { /* the last two are the first again */
    bool fused = form % 3 != 2, hides = form == 1;
    if (hides) dev->model.bandwidth = 1; /* all takes long */
    poiseLinkSetFused(ctx, fused);
    CHECK_OK(PoiseKSPSolve(p->ksp, p->b, p->x));
    CheckKernels(p, predicts, fused && !hides);
    if (form == 0) bits = SampleDigest(p->x), its = PoiseKSPIterations(p->ksp);
    CHECK(SampleDigest(p->x) == bits);
    CHECK_INT(PoiseKSPIterations(p->ksp), its);
    dev->model.bandwidth = bandwidth;
  }
  CHECK_OK(poiseLinkCheck(ctx));
}

/* Few rows; row blocks of which some have nothing to send; ranks without rows; blocks of numbers. */
static void TestSolves(PoiseContext ctx)
{
  static const int side[][2] = {{24, 17}, {5, 1}, {97, 90}, {31, 90}};
  static const char *const methods[] = {"cg", "prcg"};
  NEEDS_FUSED(ctx);
  for (int m = 0; m < 2; m++)
    for (int s = 0; s < 4; s++)
      for (int norm = POISE_KSP_NORM_PRECONDITIONED; norm <= POISE_KSP_NORM_UNPRECONDITIONED; norm++) {
        Problem p;
        if (!ProblemOpenGrid(ctx, side[s][0], side[s][1], s == 3 ? 3 : 1, methods[m], "jacobi", &p)) return;
        if (s == 3) CHECK_OK(PoiseMatSetType(p.A, "bcsr"));
        CHECK_OK(PoiseKSPSetNormType(p.ksp, (PoiseNormType)norm));
        CHECK_OK(PoiseKSPSetTolerances(p.ksp, 1e-8, -1, -1, 90));
        if (s != 1 || PoiseSize(ctx) <= 5) SolveForms(ctx, &p, m == 1);
        ProblemClose(&p);
      }
}

/* ---- one phase ------------------------------------------------------------------------------- */

enum { NX = 61, NY = 250 };

typedef struct Sending { /* a phase that copies r to p, and sends p */
  PoiseMat A;
  PoiseVec r, p, other, y;
  Buffer slots;
  HaloSends sends;
} Sending;

static bool Open(PoiseContext ctx, Sending *s)
{
  *s = (Sending){.A = NULL};
  return CHECK_OK(ScaledLaplacian(ctx, NX, NY, 1, &s->A)) &&
         CHECK_OK(PoiseMatCreateVecs(s->A, &s->r, &s->y)) && CHECK_OK(PoiseVecDuplicate(s->r, &s->p)) &&
         CHECK_OK(PoiseVecDuplicate(s->r, &s->other)) && CHECK_OK(PoiseAgree(ctx, poiseMatReady(s->A))) &&
         CHECK_OK(poiseHaloSendsCreate(s->A->csr.halo, s->A->rows->n, &s->sends)) &&
         CHECK_OK(poiseBufferCreate(ctx->device, 2 * POISE_SLOTS * sizeof(double), "slots", &s->slots));
}

static void Close(Sending *s)
{
  poiseHaloSendsDestroy(&s->sends);
  poiseBufferDestroy(&s->slots);
  CHECK_OK(PoiseVecDestroy(&s->r));
  CHECK_OK(PoiseVecDestroy(&s->p));
  CHECK_OK(PoiseVecDestroy(&s->other));
  CHECK_OK(PoiseVecDestroy(&s->y));
  CHECK_OK(PoiseMatDestroy(&s->A));
}

static void RunSending(Sending *s, bool skipped)
{
  PhaseArgs a = {.id = PHASE_cg_start, .n = s->A->rows->n};
  double *slots;
  CHECK_OK(poiseBufferWrite(&s->slots, HOST, &slots));
  memset(slots, 0, 2 * POISE_SLOTS * sizeof *slots);
  slots[SLOT_SEEN] = skipped;
  CHECK_OK(poiseBufferUpdate(&s->slots, DEVICE, &a.slots));
  CHECK_OK(poiseVecRead(s->r, &a.in[CG_Z]));
  CHECK_OK(poiseVecUpdate(s->p, &a.out[CG_P]));
  a.conv = (Convergence){.history = a.slots + POISE_SLOTS, .unclaimed = a.slots + POISE_SLOTS + 1};
  CHECK_OK(poiseHaloSendInside(s->A->csr.halo, &s->sends, a.out[CG_P], &a.send));
  CHECK_OK(LAUNCH(s->A->ctx->device, phase, &a));
}

/* The bits of A x through the hosts, or by the link with as many kernels. */
static uint64_t Multiply(Sending *s, PoiseVec x, bool link, int64_t kernels)
{
  Device *dev = s->A->ctx->device;
  bool was = poiseLinkIsUsed(s->A->ctx);
  if (was != link) poiseLinkUse(s->A->ctx, link);
  int64_t before = dev->launches;
  CHECK_OK(poiseMatMultPlain(s->A, x, s->y));
  if (link) CHECK_INT(dev->launches - before, kernels);
  CHECK_OK(poiseDeviceSync(dev));
  if (was != link) poiseLinkUse(s->A->ctx, was);
  CHECK_OK(PoiseBarrier(s->A->ctx));
  return SampleDigest(s->y);
}

/* A product finds the ghosts that a phase has brought, once, for the vector that it sent, in this use of the
   link. A phase that is skipped sends what the vector has. */
static void TestSent(PoiseContext ctx)
{
  enum { ANEW = 5 }; /* the halo's kernels, two parts of the product, and a sum of nothing before the halo */
  Sending s;
  NEEDS_FUSED(ctx);
  if (!Open(ctx, &s)) return;
  const Halo *h = s.A->csr.halo;
  for (int round = 0; round < 4; round++) {
    SampleFill(s.r, (uint64_t)round + 1);
    SampleFill(s.other, (uint64_t)round + 50);
    uint64_t of_r = Multiply(&s, s.r, false, 0), of_other = Multiply(&s, s.other, false, 0);
    if (round == 2) SampleFill(s.p, 80);
    uint64_t of_p = round == 2 ? Multiply(&s, s.p, false, 0) : of_r;
    poiseLinkUse(ctx, true);
    RunSending(&s, round == 2);
    CHECK(poiseHaloWasSent(h));
    if (round == 1) CHECK(Multiply(&s, s.other, true, ANEW) == of_other);
    CHECK(poiseHaloWasSent(h) == (round != 1));
    if (round == 3) poiseLinkEndSession(ctx);
    CHECK(Multiply(&s, s.p, true, round == 1 || round == 3 ? ANEW : 1) == of_p);
    CHECK(!poiseHaloWasSent(h));
    CHECK(Multiply(&s, s.p, true, ANEW) == of_p);
    poiseLinkUse(ctx, false);
    CHECK_OK(PoiseBarrier(ctx));
  }
  CHECK_OK(poiseLinkCheck(ctx));
  Close(&s);
}

/* The table of what blocks send: each entry once, to where its receiver has it, from its block's rows. */
static void TestTable(PoiseContext ctx)
{
  Sending s;
  const LinkEntry *entry;
  const int32_t *index;
  NEEDS_FUSED(ctx);
  if (!Open(ctx, &s)) return;
  Halo *h = s.A->csr.halo;
  int64_t n = s.A->rows->n, nblock = POISE_NBLOCKS(n), sum = 0;
  CHECK_OK(poiseBufferRead(&h->index, HOST, &index));
  CHECK_OK(poiseBufferRead(&s.sends.table, HOST, &entry));
  const int32_t *order = (const int32_t *)(const void *)(entry + h->nsend), *first = order + nblock;
  for (int64_t i = 0; i < h->nsend; i++) sum += index[i];
  for (int64_t k = 0; k < nblock; k++)
    for (int64_t j = 0; j < k; j++) CHECK(order[j] != order[k]);
  for (int64_t k = 0; k < s.sends.send.nsending; k++) {
    CHECK(first[k] < first[k + 1]);
    for (int64_t i = first[k]; i < first[k + 1]; i++) {
      CHECK(entry[i].row / POISE_BLOCK == order[k]);
      sum -= entry[i].row;
    }
  }
  CHECK_INT(first[s.sends.send.nsending], h->nsend);
  CHECK_INT(sum, 0);
  CHECK(PoiseSize(ctx) > 7 || s.sends.send.nsending < nblock);
  Close(&s);
}

int main(int argc, char **argv)
{
  static const Test tests[] = {
      {"solves", TestSolves, 0}, {"sent", TestSent, 0}, {"table", TestTable, 0}, {NULL, NULL, 0}};
  return TestMain(argc, argv, "link_fused", tests);
}
