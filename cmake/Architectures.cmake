# SPDX-License-Identifier: BSD-3-Clause
# Set CMAKE_CUDA_ARCHITECTURES unless it is given: to those of the GPUs of this machine. Without a GPU it gets
# machine code for sm_80 and sm_90, with PTX for later ones. The choice stays in the cache only of Poise's
# own builds: a parent project has a choice of its own.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
                  OUTPUT_VARIABLE capabilities RESULT_VARIABLE failed ERROR_QUIET)
  set(architectures "")
  if(failed EQUAL 0)
    string(REGEX MATCHALL "[0-9]+\\.[0-9]" architectures "${capabilities}")
    string(REPLACE "." "" architectures "${architectures}")
    list(REMOVE_DUPLICATES architectures)
  endif()
  if(NOT architectures)
    set(architectures 80 90)
  endif()
  set(CMAKE_CUDA_ARCHITECTURES "${architectures}")
  if(top_level)
    set(CMAKE_CUDA_ARCHITECTURES "${architectures}" CACHE STRING "GPU architectures")
  endif()
endif()
