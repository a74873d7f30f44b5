# SPDX-License-Identifier: BSD-3-Clause
# What the library of the Python package has: CUDA, MPI and OpenMP, each ON, OFF or AUTO.

find_program(POISE_PYTHON_MPICC NAMES mpicc)
find_program(POISE_PYTHON_NVCC NAMES nvcc HINTS $ENV{CUDACXX} $ENV{CUDA_HOME}/bin /usr/local/cuda/bin)

# poise_python_option(<name> <what AUTO is here>): what the library's own option becomes
function(poise_python_option name found)
  set(value ${POISE_PYTHON_${name}})
  if(value STREQUAL "AUTO")
    set(value OFF)
    if(found)
      set(value ON)
    endif()
  endif()
  set(POISE_${name} ${value} CACHE BOOL "" FORCE)
endfunction()

# poise_python_cuda(): AUTO is where there are nvcc and a GPU that programs can use. nvidia-smi may be
# installed without one.
function(poise_python_cuda)
  execute_process(COMMAND nvidia-smi -L OUTPUT_VARIABLE gpus ERROR_QUIET)
  set(found OFF)
  if(gpus MATCHES "GPU [0-9]")
    set(found ON)
  endif()
  set(POISE_PYTHON_GPU ${found} PARENT_SCOPE)
  if(NOT POISE_PYTHON_NVCC)
    set(found OFF)
  endif()
  poise_python_option(CUDA ${found})
endfunction()

# poise_python_words(<variable>): what is built, and how long that takes
function(poise_python_words result)
  set(has "")
  foreach(part IN ITEMS CUDA MPI OpenMP)
    string(TOUPPER ${part} option)
    if(POISE_${option})
      list(APPEND has "with ${part}")
    else()
      list(APPEND has "without ${part}")
    endif()
  endforeach()
  string(REPLACE ";" ", " has "${has}")
  set(why "")
  if(NOT POISE_CUDA AND POISE_PYTHON_CUDA STREQUAL "AUTO" AND POISE_PYTHON_GPU)
    set(why " There is a GPU, but no nvcc.")
  elseif(NOT POISE_CUDA AND POISE_PYTHON_CUDA STREQUAL "AUTO" AND POISE_PYTHON_NVCC)
    set(why " There is no GPU; -C cmake.define.POISE_PYTHON_CUDA=ON builds for GPUs all the same.")
  endif()
  set(work 1) # minutes of one core
  if(POISE_CUDA)
    set(work 11)
  endif()
  cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
  math(EXPR minutes "(${work} + ${cores} - 1) / ${cores}")
  set(${result} "Poise is compiled ${has}: about ${minutes} min on ${cores} cores.${why}" PARENT_SCOPE)
endfunction()

# pip shows nothing of a build. So the words go to the terminal too, if there is one.
function(poise_python_say words)
  message(STATUS "${words}")
  execute_process(COMMAND sh -c "printf '\\n%s\\n' \"$1\" > /dev/tty" sh "${words}" ERROR_QUIET)
endfunction()
