/* SPDX-License-Identifier: BSD-3-Clause */
/* Output of a solve: norms to history and monitors, and the lines that scripts written for PETSc read. */
#include <stdarg.h>

#include "mat/order/arrange.h"
#include "mat/csr/find.h"
#include "sys/base/files.h"
#include "sys/base/numbers.h"
#include "claim.h"
#include "methods.h"
#include "monitor.h"
#include "solve.h"

const char *PoiseKSPReasonString(PoiseKSPReason reason)
{
  switch (reason) {
#define REASON_WORD(name, value) \
  case POISE_##name:             \
    return #name;
    POISE_REASON_LIST(REASON_WORD)
#undef REASON_WORD
  }
  return "UNKNOWN";
}

bool poiseKSPIsReason(PoiseKSPReason reason)
{
  return strcmp(PoiseKSPReasonString(reason), "UNKNOWN") != 0;
}

const char *PoiseKSPNormString(PoiseNormType norm)
{
  static const char *const words[] = {"default", "none", "preconditioned", "unpreconditioned", "natural"};
  return norm <= POISE_KSP_NORM_NATURAL ? words[norm] : "unknown";
}

static PoiseErr Keep(PoiseKSP ksp, PoiseInt it, double norm)
{
  if (it >= ksp->history.capacity) {
    int64_t capacity = 2 * (it + 1) + 64;
    TRY(poiseRealloc(ksp->ctx, (size_t)capacity * sizeof(double), (size_t)ksp->history.size * sizeof(double),
                     "residual history", &ksp->history.norms));
    ksp->history.capacity = capacity;
  }
  ksp->history.norms[it] = norm;
  ksp->history.size = it + 1;
  return POISE_OK;
}

bool poiseKSPMonitorsTrueResidual(PoiseKSP ksp)
{
  return ksp->options.true_residual && ksp->norm != POISE_KSP_NORM_NONE;
}

static PoiseErr SetMonitor(PoiseKSP ksp, const char *words)
{
  static const char *const formats[] = {"text", "csv"};
  char path[POISE_OPTION_LENGTH];
  int on = 1, csv = 0;
  bool fresh;
  ksp->options.monitor = MONITOR_OFF;
  if (*words != ':') {
    if (!poiseOptionsYesNo(words, &on))
      FAIL(POISE_ERR_OPTION, "neither yes nor no, nor :file or :file:text|csv");
    ksp->options.monitor = on ? MONITOR_PRINT : MONITOR_OFF;
    return POISE_OK;
  }
  TRY(poiseFileSplit(words, 2, formats, path, &csv));
  TRY(poiseFileLines(ksp->ctx, path, &ksp->options.lines, &fresh));
  if (csv && fresh) fputs("iteration,norm\n", ksp->options.lines);
  ksp->options.monitor = csv ? MONITOR_CSV : MONITOR_TEXT;
  return POISE_OK;
}

PoiseErr poiseKSPReadMonitor(PoiseKSP ksp)
{
  if (!PoiseOptionsHas(ksp->ctx, ksp->prefix, "ksp_monitor", NULL)) return POISE_OK;
  return poiseOptionsRefuse(ksp->ctx, ksp->prefix, "ksp_monitor",
                            SetMonitor(ksp, ksp->options.monitor_words));
}

static PoiseErr PrintToFile(PoiseKSP ksp, PoiseInt it, double norm)
{
  bool csv = ksp->options.monitor == MONITOR_CSV;
  if (!ksp->options.lines) return POISE_OK;
  NumberLocale numbers = poiseScalarsBegin();
  if (it == 0 && ksp->prefix && !csv)
    fprintf(ksp->options.lines, "  Residual norms for %s solve.\n", ksp->prefix);
  int n = fprintf(ksp->options.lines, csv ? "%lld,%.15g\n" : "%3lld KSP Residual norm %14.12e\n",
                  (long long)it, norm);
  poiseScalarsEnd(numbers);
  if (n < 0)
    FAIL(POISE_ERR_FILE, "the file of -%s%sksp_monitor cannot be written", poiseOptionsPrefix(ksp->ctx),
         ksp->prefix ? ksp->prefix : "");
  return POISE_OK;
}

static PoiseErr Print(PoiseKSP ksp, PoiseInt it, double norm)
{
  ksp->solve.printed = it;
  bool prints = ksp->options.monitor == MONITOR_PRINT;
  double t = sqrt(ksp->result.slots[SLOT_TRUE_RESIDUAL]) / ksp->solve.scale;
  if (ksp->options.monitor > MONITOR_PRINT) TRY(PrintToFile(ksp, it, norm));
  if (it == 0 && ksp->prefix && (prints || ksp->options.true_residual))
    TRY(PoisePrintf(ksp->ctx, "  Residual norms for %s solve.\n", ksp->prefix));
  if (prints) TRY(PoisePrintf(ksp->ctx, "%3lld KSP Residual norm %14.12e\n", (long long)it, norm));
  if (!ksp->options.true_residual) return POISE_OK;
  return PoisePrintf(ksp->ctx,
                     "%3lld KSP %s resid norm %14.12e true resid norm %14.12e ||r(i)||/||b|| %14.12e\n",
                     (long long)it, PoiseKSPNormString(ksp->norm), norm, t, t / ksp->solve.norm_b);
}

/* Call all monitors for this iteration. Monitors may be collective, so every rank calls them, whatever
   fails. */
static void Tell(PoiseKSP ksp, PoiseInt it, double norm)
{
  if (ksp->history.keep) poiseKSPFailed(ksp, Keep(ksp, it, norm));
  if (it % ksp->options.every == 0) poiseKSPFailed(ksp, Print(ksp, it, norm));
  for (int k = 0; k < ksp->user.nmonitors; k++) {
    PoiseErrorClear();
    poiseKSPFailed(
        ksp, poiseErrorOfUser(ksp->user.monitor[k](ksp, it, norm, ksp->user.monitor_arg[k]), "a monitor"));
  }
}

void poiseKSPReport(PoiseKSP ksp, PoiseInt last)
{
  bool several = PoiseSize(ksp->ctx) > 1;
  if (ksp->norm == POISE_KSP_NORM_NONE) return;
  while (ksp->solve.reported < last && !ksp->solve.failed) {
    PoiseInt it = ++ksp->solve.reported;
    ksp->result.rnorm = ksp->loop.norms[it & (ksp->loop.ring - 1)] / ksp->solve.scale;
    if (it == 0) ksp->solve.first = ksp->result.rnorm;
    ksp->solve.pace.best = fmin(ksp->solve.pace.best, ksp->result.rnorm);
    Tell(ksp, it, ksp->result.rnorm);
    /* an eager loop asks once an iteration (SomeRankFailed) */
    if (several && ksp->user.nmonitors && !ksp->loop.eager) poiseKSPFailed(ksp, poiseKSPAgree(ksp));
  }
}

PoiseErr poiseKSPReportLast(PoiseKSP ksp)
{
  if (ksp->solve.reported <= ksp->solve.printed) return POISE_OK;
  poiseKSPFailed(ksp, Print(ksp, ksp->solve.reported, ksp->result.rnorm));
  return poiseKSPAgree(ksp);
}

/* Set ksp->result.detail, in this format, to the first of the rows that ranks have found, if any has. mine:
   this rank's error so far. */
static PoiseErr Blame(PoiseKSP ksp, PoiseErr mine, bool found, PoiseInt name, const char *format)
{
  int64_t before = found ? INT64_MAX - name : 0; /* so that the first row is the largest number */
  TRY(PoiseAgree(ksp->ctx, mine));
  TRY(poiseCommMaxInt(ksp->ctx->comm, &before, 1));
  if (before)
    snprintf(ksp->result.detail, sizeof ksp->result.detail, format, (long long)(INT64_MAX - before));
  return POISE_OK;
}

static PoiseErr BlameMat(PoiseKSP ksp, PoiseMat A, const char *format)
{
  int64_t k = A->rows->n;
  PoiseErr e = poiseMatHolds(A) ? poiseMatFindNan(A, &k) : POISE_OK;
  bool found = !e && k < A->rows->n;
  return Blame(ksp, e, found, found ? (PoiseInt)poiseMatRowName(A, k) : 0, format);
}

static PoiseErr BlameVec(PoiseKSP ksp, PoiseVec b)
{
  const double *p;
  int64_t k = b->layout->n;
  PoiseErr e = poiseVecRead(b, &p);
  if (!e) e = poiseFind(ksp->ctx, (FindArgs){.what = FIND_NAN, .n = k, .val = p}, &k);
  return Blame(ksp, e, !e && k < b->layout->n, b->layout->begin + k, "entry %lld of b is not finite");
}

/* Explain a NaN, which costs one pass over A after a failure. The outer solver sees values inside a
   preconditioner. */
static PoiseErr ExplainNan(PoiseKSP ksp, PoiseVec b)
{
  PoiseMat A = ksp->given_A ? ksp->given_A : ksp->A, P = ksp->given_P ? ksp->given_P : ksp->pc->P;
  if (ksp->inside) return POISE_OK;
  TRY(BlameMat(ksp, A, "row %lld of A has an entry that is not finite"));
  if (!*ksp->result.detail && P != A) TRY(BlameMat(ksp, P, "row %lld of P has an entry that is not finite"));
  if (!*ksp->result.detail) TRY(BlameVec(ksp, b));
  if (!*ksp->result.detail)
    snprintf(ksp->result.detail, sizeof ksp->result.detail, "the entries of %sb are finite",
             poiseMatHolds(A) ? "A and " : "");
  return POISE_OK;
}

void poiseKSPSay(PoiseKSP ksp, const char *format, ...)
{
  size_t length = strlen(ksp->result.detail);
  va_list args;
  if (length)
    length += (size_t)snprintf(ksp->result.detail + length, sizeof ksp->result.detail - length, "; ");
  if (length >= sizeof ksp->result.detail) return;
  va_start(args, format);
  vsnprintf(ksp->result.detail + length, sizeof ksp->result.detail - length, format, args);
  va_end(args);
}

/* What the preconditioner knows of a failure. */
static PoiseErr ExplainPC(PoiseKSP ksp)
{
  char text[200] = "";
  const PoiseKSPReason reason = ksp->result.reason;
  if (reason > 0 || reason == POISE_DIVERGED_USER || ksp->inside || !ksp->pc->type->explain) return POISE_OK;
  TRY(PoiseAgree(ksp->ctx, ksp->pc->type->explain(ksp->pc, text, sizeof text)));
  if (*text) poiseKSPSay(ksp, "%s", text);
  return POISE_OK;
}

PoiseErr poiseKSPExplain(PoiseKSP ksp, PoiseVec b)
{
  ksp->result.detail[0] = 0;
  if (ksp->result.reason == POISE_DIVERGED_NANORINF) return ExplainNan(ksp, b);
  if (ksp->result.inconsistency > fmax(ksp->options.rtol, 1e-12)) /* not only by rounding */
    poiseKSPSay(ksp, "b is inconsistent: %.3g of its norm lies in the null space%s",
                ksp->result.inconsistency, ksp->A->left.n ? " of the transpose, and was left out" : "");
  if (ksp->result.reason == POISE_DIVERGED_INDEFINITE_PC)
    poiseKSPSay(ksp, "preconditioner %s is not definite%s", ksp->pc->type->name,
                ksp->type->squares ? " for A^T A" : "");
  if (ksp->result.reason == POISE_DIVERGED_INDEFINITE_MAT) poiseKSPSay(ksp, "A is not definite");
  if (ksp->solve.vanished) poiseKSPSay(ksp, "x is too small for a number");
  poiseKSPSayClaim(ksp);
  poiseKSPMixedSay(ksp);
  if (ksp->result.reason < 0 && ksp->type->explain) ksp->type->explain(ksp);
  return ExplainPC(ksp);
}

PoiseErr poiseKSPPrintReason(PoiseKSP ksp)
{
  const char *prefix = ksp->prefix ? ksp->prefix : "", *space = ksp->prefix ? " " : "";
  return poisePrint(ksp->ctx, "Linear %s%ssolve %s due to %s iterations %lld%s%s\n", prefix, space,
                    ksp->result.reason > 0 ? "converged" : "did not converge",
                    PoiseKSPReasonString(ksp->result.reason), (long long)ksp->result.its,
                    *ksp->result.detail ? "; " : "", ksp->result.detail);
}
