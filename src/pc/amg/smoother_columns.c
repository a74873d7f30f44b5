/* SPDX-License-Identifier: BSD-3-Clause */
/* The host's kernels of a cycle of several columns, in fp64 and fp32. A column has the bits of its own
   cycle. */
#include "vec/columns_host.h"
#include "amg_kernels.h"

enum { DENSE_ROWS = 32 }; /* of the dense product of the last level, by one thread */

#define REAL        double
#define NAME(n)     n
#define FINISHED(a) (a)->x
#include "smoother_columns_host.h"
#undef REAL
#undef NAME
#undef FINISHED

#define REAL        float
#define NAME(n)     n##_f32
#define FINISHED(a) (a)->z /* a cycle ends in fp64 */
#include "smoother_columns_host.h"
#undef REAL
#undef NAME
#undef FINISHED
