/* SPDX-License-Identifier: BSD-3-Clause */
/* Host kernels on vectors, other than phases. Threads divide blocks of POISE_BLOCK rows; results do not
   depend on how. */
#include "vec_host.h"
#include "vec_kernels.h"

/* Blocks of rows that are gone through with four vectors at a time: so many that a vector is a long stream,
   and few enough that y stays in cache. */
typedef struct Strip {
  int64_t begin, end;
} Strip;

/* Blocks of a strip. Threads get equally many strips. */
static int64_t StripSize(const Device *dev, int64_t nblock)
{
  enum { MOST = 16 };
  int64_t threads = dev->threads > 1 ? dev->threads : 1,
          rounds = (nblock + threads * MOST - 1) / (threads * MOST);
  int64_t strips = rounds > 0 ? threads * rounds : 1;
  return nblock > strips ? (nblock + strips - 1) / strips : 1;
}

static Strip StripAt(int64_t begin, int64_t size, int64_t nblock)
{
  return (Strip){begin, begin + size < nblock ? begin + size : nblock};
}

#define REAL     double
#define FROM     double
#define TO       double
#define NAME(n)  n
#define AXPBY(n) n##axpby
#define ARGS     AxpbyArgs
#include "vec_many_host.h"
#include "vec_axpby_host.h"
#undef FROM
#undef AXPBY
#undef ARGS

#define FROM     float
#define AXPBY(n) n##widen
#define ARGS     WidenArgs
#include "vec_axpby_host.h"
#undef REAL
#undef FROM
#undef TO
#undef NAME
#undef AXPBY
#undef ARGS

#define REAL     float
#define FROM     float
#define TO       float
#define NAME(n)  n##_f32
#define AXPBY(n) n##axpby_f32
#define ARGS     AxpbyArgs_f32
#include "vec_many_host.h"
#include "vec_axpby_host.h"
#undef FROM
#undef AXPBY
#undef ARGS

#define FROM     double
#define AXPBY(n) n##narrow
#define ARGS     NarrowArgs
#include "vec_axpby_host.h"
#undef REAL
#undef FROM
#undef TO
#undef NAME
#undef AXPBY
#undef ARGS

PoiseErr poiseHost_reduce(Device *dev, const void *args)
{
  const ReduceArgs *a = args;
  (void)dev;
  if (a->skip && *a->skip != 0) return POISE_OK;
  for (int k = 0; k < a->nsum; k++) {
    const double *p = a->partial + k * a->stride;
    double s = a->add ? a->dst[k] : 0;
    for (int64_t b = 0; b < a->count; b++) s = a->max ? poiseLarger(s, p[b]) : s + p[b];
    a->dst[k] = s;
  }
  return POISE_OK;
}

#define SCATTER_ADD(suffix)                                                      \
  PoiseErr poiseHost_scatter_add##suffix(Device *dev, const void *args)          \
  {                                                                              \
    const ScatterAddArgs##suffix *a = args;                                      \
    int64_t n = a->size > 1 ? a->n * a->size : a->n, nblock = POISE_NBLOCKS(n);  \
    (void)dev;                                                                   \
    HOST_PARALLEL_FOR(dev, nblock)                                               \
    for (int64_t b = 0; b < nblock; b++)                                         \
      for (int64_t i = b * POISE_BLOCK; i < (b + 1) * POISE_BLOCK && i < n; i++) \
        POISE_TYPED(poiseScatterAdd, suffix)(a, i);                              \
    return POISE_OK;                                                             \
  }
SCATTER_ADD()
SCATTER_ADD(_f32)
