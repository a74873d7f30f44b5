# SPDX-License-Identifier: BSD-3-Clause
# cmake -D MANIFEST=<install_manifest.txt> -P Uninstall.cmake: remove the files that are listed, and folders
# named after Poise that are left empty. DESTDIR stands before the names, as it did in the installation.

if(NOT EXISTS "${MANIFEST}")
  message(FATAL_ERROR "There is no ${MANIFEST}: nothing was installed from this build")
endif()
file(STRINGS "${MANIFEST}" files)
foreach(file IN LISTS files)
  set(file "$ENV{DESTDIR}${file}")
  if(EXISTS "${file}" OR IS_SYMLINK "${file}")
    message(STATUS "Removing: ${file}")
    file(REMOVE "${file}")
  else()
    message(STATUS "Not there: ${file}")
  endif()
  set(failed 0)
  while(failed EQUAL 0)
    get_filename_component(file "${file}" DIRECTORY)
    if(NOT file MATCHES "/[Pp]oise(/|$)")
      break()
    endif()
    execute_process(COMMAND rmdir "${file}" RESULT_VARIABLE failed ERROR_QUIET) # refuses what is not empty
  endwhile()
endforeach()
