/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the option reference, docs/options.md, from the library's tables: options > options.md */
#include "sys/sys.h"

int main(void)
{
  PoiseContext ctx;
  PoiseInit init = {.serial = 1};
  PoiseErr e = PoiseInitialize(NULL, NULL, &init, &ctx);
  if (!e) e = poiseOptionsMarkdown(ctx, stdout);
  if (!e) e = PoiseFinalize(&ctx);
  if (e) fputs(PoiseErrorText(), stderr);
  return e ? 1 : 0;
}
