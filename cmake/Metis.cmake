# SPDX-License-Identifier: BSD-3-Clause
# METIS 5, for -mat_partition graph. Poise_METIS says whether the library has it; the installation tells it as
# well.

set(Poise_METIS OFF)
if(POISE_METIS)
  include(CheckCSourceCompiles)
  find_path(METIS_INCLUDE_DIR metis.h)
  find_library(METIS_LIBRARY metis)
  mark_as_advanced(METIS_INCLUDE_DIR METIS_LIBRARY)
  if(METIS_INCLUDE_DIR AND METIS_LIBRARY)
    set(CMAKE_REQUIRED_INCLUDES ${METIS_INCLUDE_DIR})
    set(CMAKE_REQUIRED_LIBRARIES ${METIS_LIBRARY} m)
    check_c_source_compiles("#include <metis.h>
      #if METIS_VER_MAJOR != 5
      #error METIS 5 is needed
      #endif
      int main(void) { idx_t options[METIS_NOPTIONS]; return METIS_SetDefaultOptions(options) != METIS_OK; }"
      POISE_METIS_WORKS)
    unset(CMAKE_REQUIRED_INCLUDES)
    unset(CMAKE_REQUIRED_LIBRARIES)
    if(POISE_METIS_WORKS)
      set(Poise_METIS ON)
    endif()
  endif()
  if(Poise_METIS)
    message(STATUS "METIS: ${METIS_LIBRARY}")
    list(APPEND requirements ${METIS_LIBRARY})
    list(APPEND definitions POISE_HAVE_METIS)
  elseif(POISE_METIS STREQUAL "AUTO")
    message(STATUS "METIS: not found; -mat_partition graph will be an error")
  else()
    message(FATAL_ERROR "No METIS 5 was found. Install it (Debian, Ubuntu: apt install libmetis-dev), "
                        "or build without it: -D POISE_METIS=OFF")
  endif()
endif()
