/* SPDX-License-Identifier: BSD-3-Clause */
/* Through<F>::Door is F with the device's context current. */
#ifndef POISE_CUDA_DOOR_H
#define POISE_CUDA_DOOR_H

#include "cuda.h"

#include <cudaTypedefs.h>

extern "C" {
/* Make the device's context current in this thread. NULL: it was; else the function that undoes it. The
   driver is asked, as cudaSetDevice would make a context on a GPU that the caller has not used yet. */
PFN_cuCtxPopCurrent_v4000 poiseCudaEnter(Device *dev);
PoiseErr poiseCudaLoading(Device *dev, CUmoduleLoadingMode *mode);
extern const struct LinkDevice poiseCudaLink; /* link_device.cu */
}

namespace
{
/* While it lives, the device's context is current in this thread, and then again what was before: another
   GPU, or nothing. */
class Current
{
  PFN_cuCtxPopCurrent_v4000 leave;

public:
  explicit Current(Device *dev) : leave(poiseCudaEnter(dev))
  {
  }
  ~Current()
  {
    CUcontext same;
    if (leave) (void)leave(&same);
  }
  Current(const Current &) = delete;
  Current &operator=(const Current &) = delete;
};

template <auto F> struct Through;
template <typename R, typename... Args, R (*F)(Device *, Args...)> struct Through<F> {
  static R Door(Device *dev, Args... args)
  {
    Current current(dev);
    return F(dev, args...);
  }
};
} // namespace

#endif
