# SPDX-License-Identifier: BSD-3-Clause
# How the tests of tests/ and examples/ are run.

# Open MPI needs to be told that containers run as root and have fewer cores than ranks. Ranks that wait must
# give way to those that work. Address sanitizer: whole stacks, to know the leaks that are Open MPI's.
set(POISE_TEST_ENVIRONMENT
    OMP_NUM_THREADS=2
    OMP_WAIT_POLICY=passive # nor may threads that wait keep other ranks from working
    POISE_SOURCE_DIR=${PROJECT_SOURCE_DIR}
    OMPI_ALLOW_RUN_AS_ROOT=1
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    OMPI_MCA_rmaps_base_oversubscribe=1
    OMPI_MCA_hwloc_base_binding_policy=none
    OMPI_MCA_mpi_yield_when_idle=1
    OMPI_MCA_btl_vader_single_copy_mechanism=none
    ASAN_OPTIONS=allocator_may_return_null=1:fast_unwind_on_malloc=0
    LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/support/lsan.supp:print_suppressions=0
    UBSAN_OPTIONS=print_stacktrace=1
    TSAN_OPTIONS=halt_on_error=1:allocator_may_return_null=1)
set(POISE_TEST_TIMEOUT 300)
if(POISE_SANITIZE)
  set(POISE_TEST_TIMEOUT 900)
endif()

# Do programs run on one rank? Under the thread sanitizer, without OpenMP, they would have one thread, and no
# races.
set(POISE_TEST_ALONE ON)
if(POISE_SANITIZE STREQUAL "thread" AND NOT POISE_OPENMP)
  set(POISE_TEST_ALONE OFF)
endif()

# The longest of each build. They begin first: one that begins last keeps one core busy and the others idle.
set(POISE_TEST_LONG extending packages answers inside record api.threads sequences.threads sequences.workers
                    example.fem example.fem_problems example.fem_output example.fem_parts
                    example.fem_gmsh)
foreach(suite IN ITEMS arrange arrange_words assembly auto bcsr_conversions claim claim_all ksp link long_rows
                       loop match matmul pc_amg pc_amg_near pc_amg_ranks pc_amg_single pc_amg_singular
                       pc_blocks pc_nested products team types)
  list(APPEND POISE_TEST_LONG ${suite}.threads)
endforeach()

# A test that runs a program of the build; 77 is a skip.
function(poise_test name)
  add_test(NAME ${name} COMMAND ${ARGN})
  set_tests_properties(${name} PROPERTIES ENVIRONMENT "${POISE_TEST_ENVIRONMENT}"
                                          TIMEOUT ${POISE_TEST_TIMEOUT} SKIP_RETURN_CODE 77)
  if(name IN_LIST POISE_TEST_LONG)
    set_property(TEST ${name} PROPERTY COST 1)
  endif()
endfunction()

# The same on ranks that are processes.
function(poise_test_mpi name ranks)
  poise_test(${name} ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks} ${MPIEXEC_PREFLAGS} ${ARGN})
  # Ranks that wait spin: other tests beside them cost more than they gain.
  set_property(TEST ${name} PROPERTY PROCESSORS ${ranks})
endfunction()
