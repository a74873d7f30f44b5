/* SPDX-License-Identifier: BSD-3-Clause */
/* The host's kernels of set-up that do an item after the other (matrix_kernels.h), and what set-up asks a
   device for. */
#include "rows.h"
#include "aggregate_kernels.h"
#include "bottom_kernels.h"
#include "diagonal_kernels.h"
#include "interpolation_kernels.h"
#include "lambda_kernels.h"
#include "opposite_kernels.h"
#include "ranks_kernels.h"
#include "redundant_kernels.h"
#include "scaling_kernels.h"
#include "steps_kernels.h"
#include "strength_kernels.h"
#include "sweeps_kernels.h"
#include "tentative_kernels.h"
#include "pc/colour_factor_kernels.h"
#include "pc/colours_kernels.h"

#define KERNEL(name, Args)
#define ITEM_KERNEL(name, Args) HOST_ITEMS(name, Args, name##_item(a, i))
#include "sys/device/kernels.def"
#undef KERNEL

PoiseErr poiseAmgMake(Device *dev, int64_t n, size_t size, const char *what, Buffer *b, void *p)
{
  if (n > (int64_t)(PTRDIFF_MAX / size)) FAIL(POISE_ERR_MEMORY, "%lld %s", (long long)n, what);
  TRY(poiseBufferCreate(dev, (size_t)n * size, what, b));
  return poiseBufferWrite(b, DEVICE, p);
}
