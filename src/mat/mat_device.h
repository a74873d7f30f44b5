/* SPDX-License-Identifier: BSD-3-Clause */
/* What matrices ask of a device beside kernels. */
#ifndef POISE_MAT_DEVICE_H
#define POISE_MAT_DEVICE_H

#include "sys/sys.h"

struct CsrView;

typedef struct MatDevice {
  /* Products by libraries, beside the device's own: names, ending with NULL; NULL where there are none. A
     plan for kernel csr_library is of A with so many columns, whose arrays stay where they are while its
     values may change. Making one may wait. */
  const char *const *csr_libraries;
  PoiseErr (*csr_plan)(Device *, int library, const struct CsrView *A, int64_t columns, LibraryPlan *plan);
  void (*csr_plan_free)(Device *, LibraryPlan *plan);
  size_t (*sort_scratch)(Device *, const SortKeysArgs *); /* bytes that sort_keys needs; NULL: 0 */
} MatDevice;

static inline const char *const *poiseCsrLibraries(const Device *dev) /* NULL: there are none */
{
  return dev->ops->mat ? dev->ops->mat->csr_libraries : NULL;
}

#endif
