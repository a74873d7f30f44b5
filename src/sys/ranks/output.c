/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdarg.h>
#include <stdio.h>

#include "output.h"
#include "sys/sys.h"

void PoiseSetOutput(PoiseContext ctx, FILE *out)
{
  CALLED_OR(, OBJECT(ctx));
  ctx->out = out ? out : stdout;
}

/* Is it written? */
static bool Write(PoiseContext home, const char *format, va_list args)
{
  return home->comm->rank || vfprintf(home->out, format, args) >= 0;
}

static PoiseErr CheckWritten(bool written)
{
  if (!written) FAIL(POISE_ERR_FILE, "the context's output cannot be written");
  return POISE_OK;
}

PoiseErr PoisePrintf(PoiseContext ctx, const char *format, ...)
{
  CALLED(OBJECT(ctx), GIVEN(format));
  va_list args;
  va_start(args, format);
  bool written = Write(poiseContextHome(ctx), format, args);
  va_end(args);
  return CheckWritten(written);
}

PoiseErr poisePrint(PoiseContext ctx, const char *format, ...)
{
  PoiseContext home = poiseContextHome(ctx);
  va_list args;
  va_start(args, format);
  if (!Write(home, format, args)) home->unwritten = true;
  va_end(args);
  return POISE_OK;
}

PoiseErr poisePrinted(PoiseContext ctx, PoiseErr mine)
{
  PoiseContext home = poiseContextHome(ctx);
  bool written = !home->unwritten;
  home->unwritten = false;
  return PoiseAgree(ctx, mine ? mine : CheckWritten(written));
}

PoiseErr poiseBytesPrint(PoiseContext ctx, const PoiseBytes *held)
{
  double sum[] = {(double)held->host, (double)held->device};
  char host[24], device[24];
  TRY(PoiseSum(ctx, 2, sum));
  poiseBytesText(sum[0], host), poiseBytesText(sum[1], device);
  if (ctx->device->ops->is_host) return poisePrint(ctx, "  memory: %s\n", host);
  return poisePrint(ctx, "  memory: %s on the host, %s on the device\n", host, device);
}
