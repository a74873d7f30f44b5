/* SPDX-License-Identifier: BSD-3-Clause */
/* What factors, for lu and cholesky: what this library and its device have. */
#ifndef POISE_TEST_DIRECT_H
#define POISE_TEST_DIRECT_H

#include "pc/lu.h"
#include "pc/pc_device.h"
#include "preconditioners.h"

/* Has the device a library that factors? The mock device has one, cuda if cuDSS is installed. */
static inline bool HasLibrary(PoiseContext ctx)
{
  Device *dev = ctx->device;
  bool has = dev->ops->pc && dev->ops->pc->direct_find && !dev->ops->pc->direct_find(dev);
  PoiseErrorClear();
  return has;
}

/* Options of dense factors, then of SuperLU and of the device's library, where they are. */
typedef struct Solvers {
  int n;
  const char *solver[3];
} Solvers;

static inline Solvers SolversOf(PoiseContext ctx)
{
  Solvers s = {1, {"-x_pc_factor_solver dense"}};
  if (poiseSuperLUIsThere()) s.solver[s.n++] = "-x_pc_factor_solver superlu";
  if (HasLibrary(ctx)) s.solver[s.n++] = "-x_pc_factor_solver cudss";
  return s;
}

#endif
