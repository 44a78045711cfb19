# simgrid: looks for SimGrid. Sets LOCKSTEP_SIMULATED to the backends that SMPI runs ("sim model", or empty), and defines the
# libraries `simgrid` and `smpi`. A file linked to `smpi` is compiled as smpicc would do.
set(LOCKSTEP_SIMULATED "")
find_program(SMPIRUN smpirun)
find_path(SMPI_INCLUDE_DIR smpi/smpi_helpers.h)
find_library(SIMGRID_LIBRARY simgrid)
if(SMPI_INCLUDE_DIR AND SIMGRID_LIBRARY) # functions for side processes and clocks, which other versions may lack
  include(CheckSourceCompiles)
  set(CMAKE_REQUIRED_INCLUDES ${SMPI_INCLUDE_DIR} ${SMPI_INCLUDE_DIR}/smpi)
  set(CMAKE_REQUIRED_LIBRARIES ${SIMGRID_LIBRARY})
  check_source_compiles(C "
    #include <smpi/smpi.h>
    #include <simgrid/actor.h>
    #include <simgrid/engine.h>
    #include <simgrid/exec.h>
    #include <simgrid/host.h>
    #include <simgrid/semaphore.h>
    #include <xbt/config.h>
    int main(void)
    {
        smpi_bench_end();
        sg_sem_acquire(sg_sem_init(0));
        smpi_bench_begin();
        smpi_execute_flops_benched(simgrid_get_clock());
        sg_exec_set_bound(sg_actor_exec_init(1), 1);
        smpi_shared_free(smpi_shared_malloc(1, __FILE__, __LINE__));
        return sg_cfg_get_boolean(sg_host_get_name(sg_host_self()));
    }" SIMGRID_FITS)
  include(CheckSymbolExists) # functions that differ between versions (common/world/property_sim.c)
  check_symbol_exists(sg_host_get_property_names simgrid/host.h SIMGRID_LISTS_NAMES)
  check_symbol_exists(sg_zone_get_childs simgrid/zone.h SIMGRID_LISTS_ZONES)
  unset(CMAKE_REQUIRED_INCLUDES)
  unset(CMAKE_REQUIRED_LIBRARIES)
endif()
if(LOCKSTEP_SANITIZER STREQUAL thread)
  message(STATUS "Simulated ranks take turns, and so share nothing that ThreadSanitizer could watch: none in this build")
elseif(SMPIRUN AND SIMGRID_FITS)
  set(LOCKSTEP_SIMULATED sim model)
  add_library(simgrid INTERFACE)
  target_include_directories(simgrid SYSTEM INTERFACE ${SMPI_INCLUDE_DIR} ${SMPI_INCLUDE_DIR}/smpi)
  target_compile_definitions(simgrid INTERFACE $<$<BOOL:${SIMGRID_LISTS_NAMES}>:SIMGRID_LISTS_NAMES>
                             $<$<BOOL:${SIMGRID_LISTS_ZONES}>:SIMGRID_LISTS_ZONES>)
  target_link_libraries(simgrid INTERFACE ${SIMGRID_LIBRARY})
  add_library(smpi INTERFACE)
  target_compile_definitions(smpi INTERFACE SMPI_NO_OVERRIDE_MALLOC)
  target_compile_options(smpi INTERFACE -include smpi/smpi_helpers.h)
  target_link_libraries(smpi INTERFACE simgrid)
else()
  message(STATUS "No SimGrid that fits (libsimgrid-dev), so no simulated ranks: --backend sim will say so")
endif()
