# SPDX-License-Identifier: BSD-3-Clause
# Write poise.pc. It finds everything from where it stands, so that an installation can be moved.

file(RELATIVE_PATH pc_include ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_FULL_INCLUDEDIR})

set(libraries -lm ${CMAKE_THREAD_LIBS_INIT})
if(POISE_MPI)
  list(APPEND libraries ${MPI_C_LINK_FLAGS} ${MPI_C_LIBRARIES})
endif()
if(POISE_OPENMP)
  list(APPEND libraries ${OpenMP_C_FLAGS})
endif()
if(POISE_CUDA)
  list(APPEND libraries -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -lrt -ldl -lstdc++)
endif()
foreach(name METIS SUPERLU AMD)
  if(Poise_${name})
    list(APPEND libraries ${${name}_LIBRARY})
  endif()
endforeach()
list(JOIN libraries " " libraries)

# A program linked with a shared libpoise names only that; with a static one, also all that it needs.
if(BUILD_SHARED_LIBS)
  set(pc_requires "Requires.private: zlib")
  set(pc_libs "Libs: -L\${libdir} -lpoise\nLibs.private: ${libraries}")
else()
  set(pc_requires "Requires: zlib")
  set(pc_libs "Libs: -L\${libdir} -lpoise ${libraries}")
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/poise.pc.in ${PROJECT_BINARY_DIR}/poise.pc @ONLY)
