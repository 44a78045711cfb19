# sanitize: build types for finding errors while tests run, besides Release and Debug:
#
#     Sanitize   AddressSanitizer with LeakSanitizer, and UndefinedBehaviorSanitizer
#     Thread     ThreadSanitizer; tests in which threads share data have the label `threads`
#
# Sets LOCKSTEP_SANITIZER (address, thread or empty) and defines
#
#     sanitize_tests()   set the sanitizers' options for all tests of this directory; the last line of its CMakeLists.txt
#
# A finding ends its process with status 66, which the project does not use, and writes a file into build/findings/. Every test
# requires the fixture `findings`, which fails if a file is there at the end. So findings count even in processes whose status is
# not checked, such as a killed rank or one of many. (UndefinedBehaviorSanitizer of GCC 12 writes to standard error only; its
# findings are detected by the status.)

set(LOCKSTEP_SANITIZER "")
if(CMAKE_BUILD_TYPE STREQUAL Sanitize)
  set(LOCKSTEP_SANITIZER address)
elseif(CMAKE_BUILD_TYPE STREQUAL Thread)
  set(LOCKSTEP_SANITIZER thread)
endif()

# `undefined` does not include float-cast-overflow: a number too large for its integer, which here comes from user input.
set(CMAKE_C_FLAGS_SANITIZE "-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined,float-cast-overflow \
-fno-sanitize-recover=all")
set(CMAKE_C_FLAGS_THREAD "-O1 -g -fno-omit-frame-pointer -fsanitize=thread")
foreach(TYPE SANITIZE THREAD)
  set(CMAKE_CXX_FLAGS_${TYPE} "${CMAKE_C_FLAGS_${TYPE}}") # for the GPU stand-in
endforeach()

set(SANITIZE_FOLDER ${CMAKE_CURRENT_SOURCE_DIR}/tests/sanitize)
set(SANITIZE_FINDINGS ${CMAKE_BINARY_DIR}/findings)
set(SANITIZE_LAUNCHERS ${CMAKE_BINARY_DIR}/sanitize)

# Factor for the timeouts of tests. Sanitizers make programs several times slower; so does emulation, for which
# tests/systems/run sets the environment variable.
set(LOCKSTEP_PATIENCE 1)
if(LOCKSTEP_SANITIZER)
  set(LOCKSTEP_PATIENCE 4)
endif()
if(DEFINED ENV{LOCKSTEP_PATIENCE})
  math(EXPR LOCKSTEP_PATIENCE "${LOCKSTEP_PATIENCE} * $ENV{LOCKSTEP_PATIENCE}")
endif()

function(sanitize_tests)
  if(NOT LOCKSTEP_SANITIZER)
    return()
  endif()
  get_property(TESTS DIRECTORY PROPERTY TESTS)
  set(FOUND exitcode=66:log_path=${SANITIZE_FINDINGS}/found)
  set_property(TEST ${TESTS} APPEND PROPERTY ENVIRONMENT
               "ASAN_OPTIONS=${FOUND}:strict_string_checks=1"
               "UBSAN_OPTIONS=${FOUND}:print_stacktrace=1"
               "LSAN_OPTIONS=suppressions=${SANITIZE_FOLDER}/lsan.supp:print_suppressions=0"
               "TSAN_OPTIONS=${FOUND}:ignore_noninstrumented_modules=1") # ThreadSanitizer cannot see Open MPI's locks
  # use mpirun and smpirun of tests/sanitize
  set_property(TEST ${TESTS} APPEND PROPERTY ENVIRONMENT_MODIFICATION "PATH=path_list_prepend:${SANITIZE_LAUNCHERS}")
  set_property(TEST ${TESTS} APPEND PROPERTY FIXTURES_REQUIRED findings)
endfunction()
