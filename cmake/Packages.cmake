# SPDX-License-Identifier: BSD-3-Clause
# Packages of Debian and Ubuntu, by cpack: libpoise<SONAME>, libpoise-dev, poise-examples, python3-poise; and
# poise-petsc, poise-sundials where these adapters are built. The preset deb has the paths of these systems.
# What a program is linked with becomes its dependencies (dpkg-shlibdeps).
if(NOT BUILD_SHARED_LIBS)
  return() # they hold the shared library
endif()

# What each package's folder of documents must have; `cmake --install` leaves it out.
set(package_runtime libpoise${interface_version})
set(package_development libpoise-dev)
set(package_examples poise-examples)
set(package_python python3-poise)
set(package_petsc poise-petsc)
set(package_sundials poise-sundials)
set(components runtime development python)
foreach(adapter IN ITEMS petsc sundials)
  if(TARGET poise_${adapter})
    list(APPEND components ${adapter})
  endif()
endforeach()
if(TARGET poise_sundials)
  install(FILES adapters/sundials/examples/brusselator.c COMPONENT sundials EXCLUDE_FROM_ALL
          DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package_sundials}/examples)
endif()
# Python finds the library of the package by its SONAME.
install(DIRECTORY python/poise DESTINATION lib/python3/dist-packages COMPONENT python EXCLUDE_FROM_ALL
        FILES_MATCHING PATTERN "*.py" PATTERN py.typed PATTERN __pycache__ EXCLUDE)
if(POISE_EXAMPLES)
  list(APPEND components examples)
  install(DIRECTORY examples/ DESTINATION ${CMAKE_INSTALL_DATADIR}/poise/examples COMPONENT examples
          EXCLUDE_FROM_ALL)
endif()
foreach(component IN LISTS components)
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package_${component}} RENAME copyright
          COMPONENT ${component} EXCLUDE_FROM_ALL)
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${package_${component}})
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL ${components})
set(CPACK_PACKAGE_NAME poise)
set(CPACK_PACKAGE_VENDOR "The Poise developers")
set(CPACK_PACKAGE_CONTACT "The Poise developers <poise@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR})
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")

# Programs that start MPI need its daemon, also without mpirun; those that ask for one rank do not.
set(mpi)
if(POISE_MPI)
  set(mpi mpi-default-bin)
  if(MPI_C_LIBRARIES MATCHES "(openmpi|mpich)")
    string(REPLACE openmpi openmpi-bin mpi ${CMAKE_MATCH_1})
  endif()
  set(CPACK_DEBIAN_RUNTIME_PACKAGE_RECOMMENDS ${mpi})
  set(mpi ", ${mpi}")
endif()

set(same "${package_runtime} (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${same}, zlib1g-dev") # poise.pc names zlib
set(CPACK_DEBIAN_EXAMPLES_PACKAGE_SECTION math)
set(CPACK_DEBIAN_EXAMPLES_PACKAGE_DEPENDS "${same}${mpi}")
set(CPACK_DEBIAN_EXAMPLES_PACKAGE_RECOMMENDS "libpoise-dev (= ${PROJECT_VERSION}), cmake, build-essential")
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "${same}, python3 (>= 3.9), python3-numpy, python3-scipy")
set(CPACK_DEBIAN_PETSC_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_PETSC_PACKAGE_DEPENDS "${same}")
set(CPACK_DEBIAN_SUNDIALS_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_SUNDIALS_PACKAGE_DEPENDS "${same}")
set(CPACK_DEBIAN_SUNDIALS_PACKAGE_RECOMMENDS "libpoise-dev (= ${PROJECT_VERSION}), libsundials-dev")

set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "The shared library, with the objects and run-time options of PETSc.")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
    "What it takes to compile programs: headers, the CMake package and the file for pkg-config.")
set(CPACK_COMPONENT_EXAMPLES_DESCRIPTION "Sources of programs that use the library, and the same compiled.
Among them are finite-element programs that solve problems on meshes of Gmsh.")
set(CPACK_COMPONENT_PYTHON_DESCRIPTION "The Python package poise, which solves with the matrices of SciPy.")
set(CPACK_COMPONENT_PETSC_DESCRIPTION
    "The plug-in by which programs of PETSc solve with -ksp_type poise.")
set(CPACK_COMPONENT_SUNDIALS_DESCRIPTION
    "A linear solver and a matrix for the integrators of SUNDIALS, with their header.")
include(CPack)
