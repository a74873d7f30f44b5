# SPDX-License-Identifier: BSD-3-Clause
# SuperLU 5 or later, for -pc_factor_solver superlu. Poise_SUPERLU says whether the library has it; the
# installation tells it as well.

set(Poise_SUPERLU OFF)
if(POISE_SUPERLU)
  include(CheckCSourceCompiles)
  find_path(SUPERLU_INCLUDE_DIR slu_ddefs.h PATH_SUFFIXES superlu)
  find_library(SUPERLU_LIBRARY superlu)
  mark_as_advanced(SUPERLU_INCLUDE_DIR SUPERLU_LIBRARY)
  if(SUPERLU_INCLUDE_DIR AND SUPERLU_LIBRARY)
    set(CMAKE_REQUIRED_INCLUDES ${SUPERLU_INCLUDE_DIR})
    set(CMAKE_REQUIRED_LIBRARIES ${SUPERLU_LIBRARY} m)
    check_c_source_compiles("#include <slu_ddefs.h>
      int main(void)
      {
        GlobalLU_t all; /* since 5 */
        superlu_options_t options;
        set_default_options(&options);
        return sizeof all == 0 || sizeof(int_t) != sizeof(int);
      }"
      POISE_SUPERLU_WORKS)
    unset(CMAKE_REQUIRED_INCLUDES)
    unset(CMAKE_REQUIRED_LIBRARIES)
    if(POISE_SUPERLU_WORKS)
      set(Poise_SUPERLU ON)
    endif()
  endif()
  if(Poise_SUPERLU)
    message(STATUS "SuperLU: ${SUPERLU_LIBRARY}")
    list(APPEND requirements ${SUPERLU_LIBRARY})
    list(APPEND definitions POISE_HAVE_SUPERLU)
  elseif(POISE_SUPERLU STREQUAL "AUTO")
    message(STATUS "SuperLU: not found; -pc_factor_solver superlu will be an error")
  else()
    message(FATAL_ERROR "No SuperLU 5 was found. Install it (Debian, Ubuntu: apt install libsuperlu-dev), "
                        "or build without it: -D POISE_SUPERLU=OFF")
  endif()
endif()
