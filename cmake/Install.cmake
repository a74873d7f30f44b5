# SPDX-License-Identifier: BSD-3-Clause
# Rules of installation. Components: runtime is what programs need to run, development what it takes to
# compile them.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

target_include_directories(poise INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
install(TARGETS poise EXPORT PoiseTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT development
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
        FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp" PATTERN "*.f90")
include(cmake/ManPages.cmake)

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Poise)
install(EXPORT PoiseTargets NAMESPACE Poise:: DESTINATION ${config_dir} COMPONENT development)
configure_package_config_file(cmake/PoiseConfig.cmake.in PoiseConfig.cmake INSTALL_DESTINATION ${config_dir}
                              PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(PoiseConfigVersion.cmake COMPATIBILITY ${compatibility})
install(FILES ${PROJECT_BINARY_DIR}/PoiseConfig.cmake ${PROJECT_BINARY_DIR}/PoiseConfigVersion.cmake
        DESTINATION ${config_dir} COMPONENT development)

include(cmake/PkgConfig.cmake)
install(FILES ${PROJECT_BINARY_DIR}/poise.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
        COMPONENT development)

if(top_level)
  add_custom_target(uninstall COMMAND ${CMAKE_COMMAND} -D MANIFEST=${PROJECT_BINARY_DIR}/install_manifest.txt
                                      -P ${PROJECT_SOURCE_DIR}/cmake/Uninstall.cmake
                    COMMENT "Removing what was installed last from this build" VERBATIM)
endif()
