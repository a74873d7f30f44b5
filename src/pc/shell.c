/* SPDX-License-Identifier: BSD-3-Clause */
/* PC shell: z = M^-1 r by a user's function. */
#include "mat/order/arrange.h"
#include "pc.h"

typedef struct Shell {
  PoiseShellPC functions;
  void *arg;
} Shell;

static PoiseErr SetUp_Shell(PoisePC pc)
{
  const Shell *s = pc->data;
  if (!s->functions.apply)
    FAIL(POISE_ERR_STATE, "preconditioner shell has no function to apply: call PoisePCSetShell");
  PoiseMat P;
  TRY(poiseMatCheckOutside(pc->P, "preconditioner shell"));
  if (!s->functions.setup) return POISE_OK;
  TRY(poiseMatOutside(pc->P, &P));
  PoiseErrorClear();
  return poiseErrorOfUser(s->functions.setup(s->arg, P), "the shell's setup");
}

static PoiseErr Apply_Shell(PoisePC pc, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse)
{
  const Shell *s = pc->data;
  PoiseErrorClear();
  TRY(poiseErrorOfUser(s->functions.apply(s->arg, r, z), "the shell's apply"));
  return poiseVecFuse(z, skip, fuse);
}

static const char *Eager_Shell(PoisePC pc)
{
  (void)pc;
  return "the preconditioner calls back to the host";
}

const PCType poisePCType_shell = {.name = "shell",
                                  .size = sizeof(Shell),
                                  .outside = true,
                                  .eager = Eager_Shell,
                                  .setup = SetUp_Shell,
                                  .apply = Apply_Shell};

static PoiseErr CheckFunctions(const PoiseShellPC *functions)
{
  if (!functions || !functions->apply) FAIL(POISE_ERR_ARG, "a shell preconditioner needs an apply function");
  return POISE_OK;
}

PoiseErr PoisePCSetShell(PoisePC pc, const PoiseShellPC *functions, void *arg)
{
  CALLED(OBJECT(pc));
  TRY(PoiseAgree(pc->ctx, CheckFunctions(functions)));
  TRY(PoisePCSetType(pc, poisePCType_shell.name));
  *(Shell *)pc->data = (Shell){*functions, arg};
  pc->seen = (Version){0};
  pc->built = false;
  return POISE_OK;
}
