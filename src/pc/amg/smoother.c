/* SPDX-License-Identifier: BSD-3-Clause */
/* The host's kernels of a cycle, in fp64 and fp32. */
#include "vec/vec_host.h"
#include "amg_kernels.h"

enum { DENSE_ROWS = 32 }; /* of the dense product of the last level, by one thread */

#define REAL    double
#define NAME(n) n
#include "smoother_host.h"
#undef REAL
#undef NAME

#define REAL    float
#define NAME(n) n##_f32
#include "smoother_host.h"
#undef REAL
#undef NAME
