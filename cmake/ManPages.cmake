# SPDX-License-Identifier: BSD-3-Clause
# Man pages of all functions, made from the headers and installed with the library, where there is a python3.
find_program(POISE_PYTHON3 NAMES python3 DOC "Python that makes the man pages of a build")
if(POISE_PYTHON3)
  file(GLOB headers CONFIGURE_DEPENDS include/poise/*.h)
  set(stamp ${PROJECT_BINARY_DIR}/man/stamp)
  add_custom_command(
    OUTPUT ${stamp}
    COMMAND ${POISE_PYTHON3} -B ${PROJECT_SOURCE_DIR}/scripts/reference.py
            --man ${PROJECT_BINARY_DIR}/man/man3
    COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
    DEPENDS ${headers} ${PROJECT_SOURCE_DIR}/scripts/reference.py ${PROJECT_SOURCE_DIR}/scripts/headers.py
    COMMENT "Man pages"
    VERBATIM)
  add_custom_target(poise_man ALL DEPENDS ${stamp})
  install(DIRECTORY ${PROJECT_BINARY_DIR}/man/man3 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT development
          OPTIONAL)
else()
  message(STATUS "No python3: without man pages. docs/reference has the same text")
endif()
