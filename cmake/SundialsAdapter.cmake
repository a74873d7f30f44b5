# SPDX-License-Identifier: BSD-3-Clause
# Is adapters/sundials built with the tree? It needs MPI, and a SUNDIALS of the version that it is for.

if(NOT POISE_SUNDIALS MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "POISE_SUNDIALS is '${POISE_SUNDIALS}'; it can be AUTO, ON or OFF")
endif()

set(found OFF)
if(POISE_SUNDIALS STREQUAL "ON")
  set(found ON)
elseif(POISE_SUNDIALS STREQUAL "AUTO" AND top_level AND POISE_MPI AND BUILD_SHARED_LIBS AND
       NOT POISE_SANITIZE AND NOT POISE_FUZZ)
  find_package(SUNDIALS 6.4 QUIET CONFIG COMPONENTS generic cvode arkode kinsol ida nvecparallel)
  if(SUNDIALS_FOUND AND SUNDIALS_VERSION VERSION_LESS 7)
    set(found ON)
  else()
    message(STATUS "No SUNDIALS 6.4 or later 6: without the solver of adapters/sundials")
    if(POISE_TESTS)
      poise_test(sundials.adapter bash -c "echo 'skipped: there is no SUNDIALS 6.4' && exit 77")
    endif()
  endif()
endif()

if(found)
  add_subdirectory(adapters/sundials)
endif()
