/* SPDX-License-Identifier: BSD-3-Clause */
/* What a solve says (monitor.c, progress.c). */
#ifndef POISE_KSP_MONITOR_H
#define POISE_KSP_MONITOR_H

#include "ksp.h"

/* Give the norms up to iteration `last` to history and monitors. */
void poiseKSPReport(PoiseKSP ksp, PoiseInt last);
PoiseErr poiseKSPReadMonitor(PoiseKSP ksp); /* the latest -ksp_monitor that was read */
/* Behind a solve that has not failed: the line of the last iteration, if -ksp_monitor_every has left it out.
   Agrees. */
PoiseErr poiseKSPReportLast(PoiseKSP ksp);
/* Must the true residual be computed in every iteration? */
bool poiseKSPMonitorsTrueResidual(PoiseKSP ksp);
/* The line of -ksp_progress (progress.c): behind every look at the slots. */
void poiseKSPProgressBegin(PoiseKSP ksp);
void poiseKSPProgress(PoiseKSP ksp);
/* The norm at which the solve ends; 0: nobody knows. */
double poiseKSPTarget(PoiseKSP ksp);
/* Is it one of those in poise/ksp.h? */
bool poiseKSPIsReason(PoiseKSPReason reason);
PoiseErr poiseKSPPrintReason(PoiseKSP ksp);
/* Set ksp->result.detail: the description of a solve that has ended, for b as the user gave it. Collective;
   agrees. */
PoiseErr poiseKSPExplain(PoiseKSP ksp, PoiseVec b);

#endif
