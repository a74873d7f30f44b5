/* SPDX-License-Identifier: BSD-3-Clause */
/*
  A solver takes the settings of another one, of another context: those that options and the program have
  given it, with its preconditioner's and those of the solvers inside. The other one is only read. Where
  nothing has changed, what is set up stays.
*/
#include "divided.h"
#include "inside.h"
#include "methods.h"
#include "setup.h"

static bool SameText(const char *a, const char *b)
{
  return !strcmp(a ? a : "", b ? b : "");
}

PoiseErr poiseKSPTakePC(PoisePC from, PoisePC to)
{
  const PCType *asked = poisePCAsked(from);
  if (!SameText(from->prefix, to->prefix)) TRY(PoisePCSetOptionsPrefix(to, from->prefix));
  if (from->configured != to->configured) TRY(PoisePCSetFromOptions(to)); /* for the solvers inside */
  to->configured = from->configured;
  if (asked != poisePCAsked(to)) TRY(PoisePCSetType(to, asked->name));
  if (from->type != to->type) return POISE_OK; /* each chooses for itself */
  if (from->type->inherit) return from->type->inherit(from, to);
  if (from->type->options && poiseOptionsCopy(from->type->options, from->data, to->data)) {
    to->seen = (Version){0};
    to->generation++;
  }
  return POISE_OK;
}

static void TakeData(PoiseKSP from, PoiseKSP to)
{
  const KSPType *type = from->type;
  bool differs = type->options && poiseOptionsCopy(type->options, from->data, to->data);
  if (type->inherit) type->inherit(from->data, to->data);
  if (differs) poiseKSPRelease(to); /* as the method's own options may change its sizes */
}

PoiseErr poiseKSPTakeMethod(PoiseKSP from, PoiseKSP to)
{
  bool prints = !poiseContextHome(to->ctx)->comm->rank;
  if (!SameText(from->prefix, to->prefix)) TRY(PoiseKSPSetOptionsPrefix(to, from->prefix));
  if (from->type != to->type) TRY(PoiseKSPSetType(to, from->type->name));
  TakeData(from, to);
  if (from->options.reuse != to->options.reuse) TRY(PoiseKSPSetReusePreconditioner(to, from->options.reuse));
  if (from->options.precision != to->options.precision) poiseKSPRelease(to);
  to->options = from->options;
  to->order = from->order;
  if (!prints) to->options.lines = NULL;
  return POISE_OK;
}

PoiseErr poiseKSPTakeSettings(PoiseKSP from, PoiseKSP to)
{
  TRY(poiseKSPTakeMethod(from, to));
  return poiseKSPTakePC(from->pc, to->pc);
}

void poiseKSPTakeResult(PoiseKSP ksp, PoiseKSP inner)
{
  KSPHistory old = ksp->history;
  ksp->result = inner->result;
  ksp->history = inner->history;
  inner->history = old;
}

PoiseErr poiseKSPTakeInside(PoiseKSP from, PoiseKSP to)
{
  if (from->user.nmonitors || from->user.test)
    FAIL(POISE_ERR_UNSUPPORTED,
         "a solver inside the preconditioner has a monitor or a convergence test of the "
         "application's, and the solve is divided (-gpus, -solve_ranks)");
  return poiseKSPTakeSettings(from, to);
}
