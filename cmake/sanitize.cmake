# Build types that look for mistakes while the tests run, beside Release and Debug:
#
#     Sanitize   AddressSanitizer with LeakSanitizer, and UndefinedBehaviorSanitizer
#     Thread     ThreadSanitizer; the tests in which threads share data carry the label `threads`
#
# Sets LOCKSTEP_SANITIZER (address, thread or nothing) and defines
#
#     sanitize_tests()   what the sanitizers are told in all tests of this directory; the last line of its CMakeLists.txt
#
# A finding ends its process with status 66, which is no status of ours, and is written into build/findings/: the fixture
# `findings`, which every test asks for, fails if anything lies there in the end. So a finding in a process whose status
# nobody looks at, a killed rank or one of many, is no less a failure. (UndefinedBehaviorSanitizer of GCC 12 writes nothing
# there, only on standard error; it is found by its status.)

set(LOCKSTEP_SANITIZER "")
if(CMAKE_BUILD_TYPE STREQUAL Sanitize)
  set(LOCKSTEP_SANITIZER address)
elseif(CMAKE_BUILD_TYPE STREQUAL Thread)
  set(LOCKSTEP_SANITIZER thread)
endif()

# A number that does not fit the integer it becomes is not in `undefined`, and here comes from what people type.
set(CMAKE_C_FLAGS_SANITIZE "-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined,float-cast-overflow \
-fno-sanitize-recover=all")
set(CMAKE_C_FLAGS_THREAD "-O1 -g -fno-omit-frame-pointer -fsanitize=thread")
foreach(TYPE SANITIZE THREAD)
  set(CMAKE_CXX_FLAGS_${TYPE} "${CMAKE_C_FLAGS_${TYPE}}") # of the stand-in for GPUs
endforeach()

set(SANITIZE_FOLDER ${CMAKE_CURRENT_SOURCE_DIR}/tests/sanitize)
set(SANITIZE_FINDINGS ${CMAKE_BINARY_DIR}/findings)
set(SANITIZE_LAUNCHERS ${CMAKE_BINARY_DIR}/sanitize)

# How many times as long as usual tests may take: a program that is watched is several times slower, and so is one that runs under
# emulation, which tests/systems/run tells in the environment.
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
               "TSAN_OPTIONS=${FOUND}:ignore_noninstrumented_modules=1") # Open MPI has locks that it cannot see
  # mpirun and smpirun as tests/sanitize has them
  set_property(TEST ${TESTS} APPEND PROPERTY ENVIRONMENT_MODIFICATION "PATH=path_list_prepend:${SANITIZE_LAUNCHERS}")
  set_property(TEST ${TESTS} APPEND PROPERTY FIXTURES_REQUIRED findings)
endfunction()
