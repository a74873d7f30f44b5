/* SPDX-License-Identifier: BSD-3-Clause */
/* What a solve tells: norms to history and monitors, and the lines that scripts written for PETSc read. */
#include "ksp.h"

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

const char *PoiseKSPNormString(PoiseNormType norm)
{
  static const char *const words[] = {"default", "none", "preconditioned", "unpreconditioned", "natural"};
  return norm <= POISE_KSP_NORM_NATURAL ? words[norm] : "unknown";
}

static PoiseErr Keep(PoiseKSP ksp, PoiseInt it, double norm)
{
  if (it >= ksp->history_capacity) {
    int64_t capacity = 2 * (it + 1) + 64;
    TRY(poiseRealloc(ksp->ctx, (size_t)capacity * sizeof(double), (size_t)ksp->history_size * sizeof(double),
                     "residual history", &ksp->history));
    ksp->history_capacity = capacity;
  }
  ksp->history[it] = norm;
  ksp->history_size = it + 1;
  return POISE_OK;
}

bool poiseKSPMonitorsTrueResidual(PoiseKSP ksp)
{
  return ksp->options.true_residual && ksp->norm != POISE_KSP_NORM_NONE;
}

static PoiseErr Print(PoiseKSP ksp, PoiseInt it, double norm)
{
  double t = sqrt(ksp->final[SLOT_TRUE_RESIDUAL]);
  if (it == 0 && ksp->prefix && (ksp->options.monitor || ksp->options.true_residual))
    TRY(PoisePrintf(ksp->ctx, "  Residual norms for %s solve.\n", ksp->prefix));
  if (ksp->options.monitor) TRY(PoisePrintf(ksp->ctx, "%3lld KSP Residual norm %14.12e\n", (long long)it, norm));
  if (!ksp->options.true_residual) return POISE_OK;
  return PoisePrintf(ksp->ctx, "%3lld KSP %s resid norm %14.12e true resid norm %14.12e ||r(i)||/||b|| %14.12e\n",
                     (long long)it, PoiseKSPNormString(ksp->norm), norm, t, t / ksp->norm_b);
}

/* Monitors may be collective: whatever fails, every rank calls all of them for this iteration. */
static void Tell(PoiseKSP ksp, PoiseInt it, double norm)
{
  if (ksp->keep_history) poiseKSPFailed(ksp, Keep(ksp, it, norm));
  poiseKSPFailed(ksp, Print(ksp, it, norm));
  for (int k = 0; k < ksp->nmonitors; k++) {
    PoiseErrorClear();
    poiseKSPFailed(ksp, poiseErrorOfUser(ksp->monitor[k](ksp, it, norm, ksp->monitor_arg[k]), "a monitor"));
  }
}

void poiseKSPReport(PoiseKSP ksp, PoiseInt last)
{
  if (ksp->norm == POISE_KSP_NORM_NONE) return;
  while (ksp->reported < last && !ksp->failed) {
    PoiseInt it = ++ksp->reported;
    ksp->rnorm = ksp->norms[it & (ksp->ring - 1)];
    Tell(ksp, it, ksp->rnorm);
  }
}

const char *poiseKSPComplaint(PoiseKSP ksp, char *text, size_t size)
{
  text[0] = 0;
  if (ksp->inconsistency > fmax(ksp->options.rtol, 1e-12)) /* and not by rounding only */
    snprintf(text, size, "; b is inconsistent: %.3g of its norm lies in the null space%s", ksp->inconsistency,
             ksp->A->left.n ? " of the transpose, and was left out" : "");
  return text;
}

PoiseErr poiseKSPPrintReason(PoiseKSP ksp)
{
  char complaint[128];
  const char *prefix = ksp->prefix ? ksp->prefix : "", *space = ksp->prefix ? " " : "";
  return PoisePrintf(ksp->ctx, "Linear %s%ssolve %s due to %s iterations %lld%s\n", prefix, space,
                     ksp->reason > 0 ? "converged" : "did not converge", PoiseKSPReasonString(ksp->reason),
                     (long long)ksp->its, poiseKSPComplaint(ksp, complaint, sizeof complaint));
}
