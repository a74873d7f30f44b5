/* SPDX-License-Identifier: BSD-3-Clause */
/* Interrupts: the application is asked by time, so that fast loops are not slower and long ones end soon.
   Only when it is asked depends on time, never a result. */
#include "sys/sys.h"

static PoiseErr Ask(Interrupt *i)
{
  ErrorState before;
  poiseErrorSave(&before);
  PoiseErrorClear();
  TRY(poiseErrorOfUser(i->look(i->arg), "the function of PoiseSetInterrupt"));
  poiseErrorRestore(&before);
  return POISE_OK;
}

PoiseErr poiseLook(PoiseContext ctx)
{
  PoiseContext home = poiseContextHome(ctx);
  Interrupt *i = &home->interrupt;
  if (!i->look) return POISE_OK;
  double now = home->hooks.clock();
  if (now < i->next) return POISE_OK;
  i->next = now + POISE_LOOK_SECONDS;
  TRY(Ask(i));
  return POISE_OK;
}

PoiseErr poiseLookInKernel(const Device *dev)
{
  return dev->ops->is_host ? poiseLook(dev->ctx) : POISE_OK;
}

bool poiseLooks(PoiseContext ctx)
{
  return poiseContextHome(ctx)->interrupt.look != NULL;
}

PoiseErr PoiseSetInterrupt(PoiseContext ctx, PoiseInterrupt look, void *arg)
{
  CALLED(OBJECT(ctx));
  int64_t ranks[] = {look != NULL, look == NULL}; /* that have one, and none */
  TRY(poiseCommMaxInt(ctx->comm, ranks, 2));
  if (ranks[0] && ranks[1]) FAIL(POISE_ERR_ARG, "PoiseSetInterrupt: some ranks give a function, others NULL");
  ctx->interrupt = (Interrupt){.look = look, .arg = arg};
  return POISE_OK;
}
