# commit: writes HEADER, which defines LOCKSTEP_COMMIT: the commit of SOURCE, with -dirty if a tracked file differs from it, or
# "unknown" outside of git. Untracked files do not count. Runs at each build (tools/CMakeLists.txt); an unchanged header keeps
# its time, so that nothing is compiled again.
#
#     cmake -D SOURCE=DIR -D HEADER=FILE -P cmake/commit.cmake
set(COMMIT "")
execute_process(COMMAND git -C ${SOURCE} rev-parse --show-toplevel OUTPUT_VARIABLE TOP RESULT_VARIABLE STATUS ERROR_QUIET
                OUTPUT_STRIP_TRAILING_WHITESPACE)
get_filename_component(HERE ${SOURCE} REALPATH)
if(STATUS EQUAL 0 AND TOP STREQUAL HERE) # otherwise the sources were unpacked within another project's repository
  execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude=* OUTPUT_VARIABLE COMMIT ERROR_QUIET
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
if(NOT COMMIT MATCHES "^[0-9a-f]+(-dirty)?$")
  set(COMMIT unknown)
endif()
file(CONFIGURE OUTPUT ${HEADER} CONTENT "#define LOCKSTEP_COMMIT \"${COMMIT}\"\n")
