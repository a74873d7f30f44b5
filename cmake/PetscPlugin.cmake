# SPDX-License-Identifier: BSD-3-Clause
# Is adapters/petsc built with the tree? It needs MPI, and a PETSc of real doubles, 32-bit indices and a
# version that it is written for.

if(NOT POISE_PETSC_PLUGIN MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "POISE_PETSC_PLUGIN is '${POISE_PETSC_PLUGIN}'; it can be AUTO, ON or OFF")
endif()

set(found OFF)
if(POISE_PETSC_PLUGIN STREQUAL "ON")
  set(found ON)
elseif(POISE_PETSC_PLUGIN STREQUAL "AUTO" AND top_level AND POISE_MPI AND BUILD_SHARED_LIBS AND
       NOT POISE_SANITIZE AND NOT POISE_FUZZ)
  find_package(PkgConfig QUIET)
  if(PKG_CONFIG_FOUND)
    pkg_check_modules(POISE_PETSC_FOUND QUIET "PETSc>=3.18" "PETSc<3.27")
    set(found ${POISE_PETSC_FOUND_FOUND})
  endif()
  if(found)
    find_file(POISE_PETSC_VARIABLES petscconf.h PATHS ${POISE_PETSC_FOUND_INCLUDE_DIRS} NO_DEFAULT_PATH)
    file(STRINGS ${POISE_PETSC_VARIABLES} others
         REGEX "^#define PETSC_USE_(COMPLEX|64BIT_INDICES|REAL_SINGLE|REAL___FLOAT128) 1")
    if(others)
      set(found OFF)
    endif()
  endif()
  if(NOT found)
    message(STATUS "No PETSc 3.18 to 3.26 of real doubles and 32-bit indices: no adapters/petsc")
    if(POISE_TESTS)
      poise_test(petsc.plugin bash -c "echo 'skipped: there is no PETSc 3.18 to 3.26' && exit 77")
    endif()
  endif()
endif()

if(found)
  add_subdirectory(adapters/petsc)
endif()
