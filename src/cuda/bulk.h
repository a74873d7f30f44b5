/* SPDX-License-Identifier: BSD-3-Clause */
/* Bulk copies of contiguous global memory into shared memory (compute capability 9.0), completing on a
   barrier. */
#ifndef POISE_BULK_H
#define POISE_BULK_H

#include <stdint.h>

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900

__device__ __forceinline__ uint32_t SharedAddress(const void *p)
{
  return (uint32_t)__cvta_generic_to_shared(p);
}

/* One thread prepares the barrier, and says before each round of copies how many bytes they are; the block
   synchronises before it waits for the first. */
__device__ __forceinline__ void BulkInit(uint64_t *barrier)
{
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(SharedAddress(barrier)) : "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ __forceinline__ void BulkExpect(uint64_t *barrier, uint32_t bytes)
{
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(SharedAddress(barrier)),
               "r"(bytes)
               : "memory");
}

/* Addresses and size are multiples of 16. */
__device__ __forceinline__ void BulkCopy(void *shared, const void *global, uint32_t bytes, uint64_t *barrier)
{
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          SharedAddress(shared)),
      "l"(global), "r"(bytes), "r"(SharedAddress(barrier))
      : "memory");
}

/* For the end of a round, parity: its number % 2. */
__device__ __forceinline__ void BulkWait(uint64_t *barrier, uint32_t parity)
{
  uint32_t done = 0;
  while (!done)
    asm volatile(
        "{\n .reg .pred p;\n mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n selp.u32 %0, 1, 0, p;\n}"
        : "=r"(done)
        : "r"(SharedAddress(barrier)), "r"(parity)
        : "memory");
}

#else /* never run: the host chooses kernels by the device's capability */

__device__ __forceinline__ void BulkInit(uint64_t *)
{
}
__device__ __forceinline__ void BulkExpect(uint64_t *, uint32_t)
{
}
__device__ __forceinline__ void BulkCopy(void *, const void *, uint32_t, uint64_t *)
{
}
__device__ __forceinline__ void BulkWait(uint64_t *, uint32_t)
{
}

#endif
#endif
