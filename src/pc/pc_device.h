/* SPDX-License-Identifier: BSD-3-Clause */
/* What preconditioners ask of a device beside kernels. */
#ifndef POISE_PC_DEVICE_H
#define POISE_PC_DEVICE_H

#include "sys/sys.h"

struct FactorView;
struct DirectView;
struct DirectFacts;

typedef struct PCDevice {
  bool single_rows; /* groups of Levels are single rows, which wait for each other, and `work` is needed */
  /* As MatDevice has for products: triangular solves by libraries, for kernel factor_library. A plan that is
     there already was made for these arrays, and takes their new values; after a failure there is none. */
  const char *const *factor_libraries;
  PoiseErr (*factor_plan)(Device *, int library, const struct FactorView *f, LibraryPlan *plan);
  void (*factor_plan_free)(Device *, LibraryPlan *plan);
  /* Sparse factors by a library, for kernel direct_solve; NULL: there is none. direct_unasked: lu takes it
     unless another solver is named. */
  bool direct_unasked;
  PoiseErr (*direct_find)(Device *); /* POISE_ERR_UNSUPPORTED if it cannot be opened */
  /* Factor A. A plan that is there already was made for these arrays, and takes their new values; after a
     failure there is none. only: order A and count the entries of its factors, which another call makes. */
  PoiseErr (*direct_plan)(Device *, const struct DirectView *A, bool only, LibraryPlan *plan,
                          struct DirectFacts *facts);
  void (*direct_plan_free)(Device *, LibraryPlan *plan);
} PCDevice;

static inline const char *const *poiseFactorLibraries(const Device *dev) /* NULL: there are none */
{
  return dev->ops->pc ? dev->ops->pc->factor_libraries : NULL;
}

static inline bool poiseSingleRows(const Device *dev)
{
  return dev->ops->pc && dev->ops->pc->single_rows;
}

#endif
