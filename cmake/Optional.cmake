# SPDX-License-Identifier: BSD-3-Clause
# Libraries that a solver can do without. Poise_<NAME> says whether libpoise has one; the installation tells
# it as well. Where it has, src/**/<FILE>.c is compiled with its headers; else <FILE>_none.c.

include(CheckCSourceCompiles)

# poise_optional(<NAME> <what it is called> HEADER <its header> FOLDER <where that may be> LIBRARY <its name>
#                FILE <source> FOR <option> PACKAGE <of Debian>)
# <NAME>_TEST: a program that it must compile.
macro(poise_optional name called)
  cmake_parse_arguments(optional "" "HEADER;FOLDER;LIBRARY;FILE;FOR;PACKAGE" "" ${ARGN})
  set(Poise_${name} OFF)
  if(POISE_${name})
    find_path(${name}_INCLUDE_DIR ${optional_HEADER} PATH_SUFFIXES ${optional_FOLDER})
    find_library(${name}_LIBRARY ${optional_LIBRARY})
    mark_as_advanced(${name}_INCLUDE_DIR ${name}_LIBRARY)
    if(${name}_INCLUDE_DIR AND ${name}_LIBRARY)
      set(CMAKE_REQUIRED_INCLUDES ${${name}_INCLUDE_DIR})
      set(CMAKE_REQUIRED_LIBRARIES ${${name}_LIBRARY} m)
      check_c_source_compiles("#include <${optional_HEADER}>\n${${name}_TEST}" POISE_${name}_WORKS)
      unset(CMAKE_REQUIRED_INCLUDES)
      unset(CMAKE_REQUIRED_LIBRARIES)
      if(POISE_${name}_WORKS)
        set(Poise_${name} ON)
      endif()
    endif()
    if(Poise_${name})
      message(STATUS "${called}: ${${name}_LIBRARY}")
      list(APPEND requirements ${${name}_LIBRARY})
      list(APPEND definitions POISE_HAVE_${name})
    elseif(POISE_${name} STREQUAL "AUTO")
      message(STATUS "${called}: not found; ${optional_FOR} will be an error")
    else()
      message(FATAL_ERROR "No ${called} was found. Install it (Debian, Ubuntu: apt install "
                          "${optional_PACKAGE}), or build without it: -D POISE_${name}=OFF")
    endif()
  endif()
  if(Poise_${name})
    list(FILTER sources EXCLUDE REGEX "/${optional_FILE}_none\\.c$")
    file(GLOB_RECURSE optional_source src/*/${optional_FILE}.c)
    set_source_files_properties(${optional_source} PROPERTIES INCLUDE_DIRECTORIES ${${name}_INCLUDE_DIR})
  else()
    list(FILTER sources EXCLUDE REGEX "/${optional_FILE}\\.c$")
  endif()
endmacro()

set(METIS_TEST
    "#if METIS_VER_MAJOR != 5
     #error METIS 5 is needed
     #endif
     int main(void) { idx_t options[METIS_NOPTIONS]; return METIS_SetDefaultOptions(options) != METIS_OK; }")
poise_optional(METIS "METIS 5" HEADER metis.h LIBRARY metis FILE metis FOR "-mat_partition graph"
               PACKAGE libmetis-dev)

set(SUPERLU_TEST
    "int main(void)
     {
       GlobalLU_t all; /* since 5 */
       superlu_options_t options;
       set_default_options(&options);
       return sizeof all == 0 || sizeof(int_t) != sizeof(int);
     }")
poise_optional(SUPERLU "SuperLU 5" HEADER slu_ddefs.h FOLDER superlu LIBRARY superlu FILE superlu
               FOR "-pc_factor_solver superlu" PACKAGE libsuperlu-dev)

# Of the libraries that SuiteSparse has this one alone: its licence is BSD-3-Clause.
set(AMD_TEST "int main(void) { return amd_order(0, 0, 0, 0, 0, 0) == AMD_OK; }")
poise_optional(AMD "AMD" HEADER amd.h FOLDER suitesparse LIBRARY amd FILE amd FOR "-mat_order amd"
               PACKAGE libsuitesparse-dev)
