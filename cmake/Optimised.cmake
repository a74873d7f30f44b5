# SPDX-License-Identifier: BSD-3-Clause
# A parent project that names no build type compiles without -O. Poise is then compiled as for Release, unless
# the parent's flags say how to optimise. optimised_unnamed tells whether this has been done.

set(optimised_unnamed OFF)
if(NOT top_level AND NOT multi_config AND NOT CMAKE_BUILD_TYPE)
  set(languages C)
  if(POISE_CUDA)
    list(APPEND languages CUDA)
  endif()
  foreach(language IN LISTS languages)
    if(NOT CMAKE_${language}_FLAGS MATCHES "(^| )-O")
      separate_arguments(flags UNIX_COMMAND "${CMAKE_${language}_FLAGS_RELEASE}")
      add_compile_options("$<$<COMPILE_LANGUAGE:${language}>:${flags}>")
      set(optimised_unnamed ON)
    endif()
  endforeach()
endif()
