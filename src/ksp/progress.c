/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The line of -ksp_progress, for who waits at a terminal: where a long solve is, and when it may end.

  It knows what the host knows anyway, the norms of the ring. So it costs no copy and no wait. Norms go up and
  down; digits are those of the least norm so far. Their pace is that of the latest half of the time, or up to
  three quarters: a solve that stalls says so soon, and one that is uneven does not change its mind each time.
*/
#include "methods.h"
#include "monitor.h"

#define PATIENCE 2.0 /* seconds before there is a line */

void poiseKSPProgressBegin(PoiseKSP ksp)
{
  Pace *pace = &ksp->solve.pace;
  bool prints = ksp->options.monitor == MONITOR_PRINT || ksp->options.true_residual; /* which says as much */
  pace->best = INFINITY;
  pace->since.time = 0;
  poiseProgressBegin(ksp->ctx, ksp->type->name, ksp->options.progress && !ksp->inside && !prints, PATIENCE,
                     &pace->line);
}

static void Mark(PoiseKSP ksp, double now)
{
  Pace *pace = &ksp->solve.pace;
  double begun = pace->line.begun;
  const PaceMark here = {.time = now, .best = pace->best, .its = ksp->result.its};
  if (pace->since.time == 0) {
    pace->since = pace->next = here;
  } else if (now - begun >= 2 * (pace->next.time - begun)) {
    pace->since = pace->next;
    pace->next = here;
  }
}

double poiseKSPTarget(PoiseKSP ksp)
{
  if (ksp->user.test || ksp->norm == POISE_KSP_NORM_NONE) return 0;
  return fmax(ksp->options.rtol * ksp->result.slots[SLOT_NORM0] / ksp->solve.scale, ksp->options.atol);
}

/* "12 s" */
static const char *Words(double seconds, char text[32])
{
  static const struct {
    double seconds;
    const char *word;
  } units[] = {{86400, "days"}, {3600, "h"}, {60, "min"}, {1, "s"}};
  int k = 0;
  while (k < 3 && seconds < 2 * units[k].seconds) k++;
  snprintf(text, 32, "%.0f %s", ceil(seconds / units[k].seconds), units[k].word);
  return text;
}

/* When it ends at this pace: by the tolerance, or before that by the iteration limit. */
static void EndWords(PoiseKSP ksp, double seconds, double digits, char text[64])
{
  const Pace *pace = &ksp->solve.pace;
  double its = (double)(ksp->result.its - pace->since.its) / seconds, target = poiseKSPTarget(ksp);
  double left = target > 0 ? log10(pace->best / target) / digits : INFINITY,
         most = (double)(ksp->options.maxits - ksp->result.its) / its;
  char words[32];
  if (left > 0 && left <= most)
    snprintf(text, 64, ", %s to the tolerance", Words(left, words));
  else if (most >= 0 && poiseFinite(most))
    snprintf(text, 64, ", %s to -ksp_max_it", Words(most, words));
}

void poiseKSPProgress(PoiseKSP ksp)
{
  Pace *pace = &ksp->solve.pace;
  char residual[32] = "", gained[32] = "", end[64] = "";
  if (!pace->line.on) return;
  double now = PoiseTime();
  Mark(ksp, now);
  if (!poiseProgressIsDue(&pace->line, now)) return;
  double seconds = now - pace->since.time, digits = log10(pace->since.best / pace->best) / seconds;
  if (ksp->norm != POISE_KSP_NORM_NONE)
    snprintf(residual, sizeof residual, ", residual %.1e", ksp->result.rnorm);
  if (poiseFinite(digits)) snprintf(gained, sizeof gained, ", %.2g digits/s", digits); /* else too early */
  EndWords(ksp, seconds, digits, end);
  poiseProgressLine(&pace->line, now, "iteration %lld%s%s%s", (long long)ksp->result.its, residual, gained,
                    end);
}
