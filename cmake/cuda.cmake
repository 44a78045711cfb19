# cuda: GPU support as LOCKSTEP_CUDA requests. Sets LOCKSTEP_GPU_KITS to the available kits ("toolkit", "stand_in") and defines
#
#     add_gpu_program(TARGET NAME SOURCE BACKEND FOLDER)   build/FOLDER/NAME from sources and a backend
#
# Architectures: machine code for the GPUs of this machine, from Ampere on; without one, PTX for Ampere, which the driver compiles for
# any later GPU when a program starts.

set(LOCKSTEP_GPU_KITS "")

# --- the toolkit -------------------------------------------------------------------------------------------------------

set(LOCKSTEP_CUDA_HOME /usr/local/cuda CACHE PATH "Where the CUDA Toolkit and NCCL lie, if they are not found otherwise")

# Code for these GPUs, as options of nvcc.
function(find_gpu_architectures OPTIONS)
  set(FOUND "")
  execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader OUTPUT_VARIABLE SAID ERROR_QUIET)
  string(REGEX MATCHALL "[0-9]+\\.[0-9]" CAPABILITIES "${SAID}")
  list(REMOVE_DUPLICATES CAPABILITIES)
  foreach(CAPABILITY ${CAPABILITIES})
    string(REPLACE "." "" CAPABILITY ${CAPABILITY})
    if(CAPABILITY GREATER_EQUAL 80)
      string(APPEND FOUND " --generate-code=arch=compute_${CAPABILITY},code=sm_${CAPABILITY}")
    endif()
  endforeach()
  if(NOT FOUND)
    set(FOUND --generate-code=arch=compute_80,code=compute_80)
  endif()
  set(${OPTIONS} ${FOUND} PARENT_SCOPE)
endfunction()

function(find_toolkit LACKS)
  find_program(GXX g++)
  # The variable is FindCUDAToolkit's, which then looks for the libraries beside this nvcc.
  find_program(CUDAToolkit_NVCC_EXECUTABLE NAMES $ENV{CUDACXX} nvcc HINTS $ENV{CUDA_PATH} ${LOCKSTEP_CUDA_HOME}
               PATH_SUFFIXES bin)
  find_path(NCCL_INCLUDE_DIR nccl.h HINTS $ENV{NCCL_ROOT} ${LOCKSTEP_CUDA_HOME} PATH_SUFFIXES include)
  find_library(NCCL_LIBRARY NAMES nccl libnccl.so.2 HINTS $ENV{NCCL_ROOT} ${LOCKSTEP_CUDA_HOME} PATH_SUFFIXES lib lib64)
  set(${LACKS} "" PARENT_SCOPE)
  if(NOT GXX)
    set(${LACKS} "a C++ compiler, which nvcc needs (g++)" PARENT_SCOPE)
  elseif(NOT EXISTS "${CUDAToolkit_NVCC_EXECUTABLE}")
    set(${LACKS} "nvcc of NVIDIA's CUDA Toolkit (set CUDACXX, or PATH)" PARENT_SCOPE)
  elseif(NOT NCCL_INCLUDE_DIR OR NOT NCCL_LIBRARY)
    set(${LACKS} "NCCL (nccl.h and libnccl.so.2; set NCCL_ROOT)" PARENT_SCOPE)
  endif()
endfunction()

if(LOCKSTEP_SANITIZER AND NOT LOCKSTEP_CUDA STREQUAL "ON")
  message(STATUS "Sanitizers do not reach a GPU, so no CUDA in this build")
elseif(NOT LOCKSTEP_CUDA STREQUAL "OFF")
  find_toolkit(LACKS)
  if(LACKS STREQUAL "")
    find_package(CUDAToolkit REQUIRED)
    list(APPEND LOCKSTEP_GPU_KITS toolkit)
    message(STATUS "GPUs: CUDA ${CUDAToolkit_VERSION}, ${NCCL_LIBRARY}")
  elseif(LOCKSTEP_CUDA STREQUAL "ON")
    message(FATAL_ERROR "LOCKSTEP_CUDA=ON lacks ${LACKS}; install it, or configure with LOCKSTEP_CUDA=OFF")
  else()
    message(STATUS "No GPUs in this build, for lack of ${LACKS}")
  endif()
endif()

if(NOT toolkit IN_LIST LOCKSTEP_GPU_KITS) # remove programs of an earlier build
  file(REMOVE_RECURSE ${CMAKE_BINARY_DIR}/lib/nccl ${CMAKE_BINARY_DIR}/lib/cuda)
endif()

add_library(kit_toolkit INTERFACE)
if(toolkit IN_LIST LOCKSTEP_GPU_KITS)
  # Compile by custom commands: enable_language(CUDA) tests the compiler for longer than two of these files take. The file of
  # options is written only if they change, for example for other GPUs.
  find_gpu_architectures(ARCHITECTURES)
  set(WERROR $<$<BOOL:${LOCKSTEP_WERROR}>:-Werror=all-warnings>)
  set(OPTIONS ${CMAKE_BINARY_DIR}/nvcc.options)
  file(GENERATE OUTPUT ${OPTIONS} CONTENT
       "${ARCHITECTURES} -std=c++17 -O3 -Xcompiler=-fPIC,-Wall,-Wextra,-Wshadow ${WERROR}\n")
  set(KERNELS "")
  foreach(PART arrays rows sequences attention pointwise chain)
    set(SOURCE ${CMAKE_SOURCE_DIR}/common/device/device_cuda_${PART}.cu)
    set(OBJECT ${CMAKE_BINARY_DIR}/common/device_cuda_${PART}.o)
    add_custom_command(OUTPUT ${OBJECT} DEPENDS ${SOURCE} ${OPTIONS} DEPFILE ${OBJECT}.d COMMENT "Building CUDA object ${OBJECT}"
                       COMMAND ${CUDAToolkit_NVCC_EXECUTABLE} --options-file ${OPTIONS} -I${CMAKE_SOURCE_DIR}/common
                               -MD -MF ${OBJECT}.d -c ${SOURCE} -o ${OBJECT})
    list(APPEND KERNELS ${OBJECT})
  endforeach()
  add_library(kernels_toolkit STATIC ${KERNELS})
  set_target_properties(kernels_toolkit PROPERTIES LINKER_LANGUAGE C)
  target_include_directories(kit_toolkit SYSTEM INTERFACE ${CUDAToolkit_INCLUDE_DIRS} ${NCCL_INCLUDE_DIR})
  target_link_libraries(kit_toolkit INTERFACE kernels_toolkit CUDA::cublas CUDA::cudart ${NCCL_LIBRARY} stdc++)
endif()

# --- the stand-in ------------------------------------------------------------------------------------------------------

if(LOCKSTEP_TESTS)
  include(CheckLanguage)
  if(NOT CMAKE_CXX_COMPILER) # check_language() caches a negative result forever
    unset(CMAKE_CXX_COMPILER CACHE)
  endif()
  check_language(CXX)
  if(CMAKE_CXX_COMPILER)
    enable_language(CXX)
    list(APPEND LOCKSTEP_GPU_KITS stand_in)
  else()
    message(STATUS "No C++ compiler (g++), so the GPU code is not tested on the CPU")
  endif()
endif()

add_library(kit_stand_in INTERFACE)
if(stand_in IN_LIST LOCKSTEP_GPU_KITS)
  add_subdirectory(tests/gpu/stand_in) # defines the library cuda_stand_in
  target_link_libraries(kit_stand_in INTERFACE cuda_stand_in)
endif()

# --- programs -----------------------------------------------------------------------------------------------------------

set(GPU_FOLDER_toolkit lib)
set(GPU_FOLDER_stand_in tests/stand_in)

function(add_gpu_program TARGET NAME SOURCE BACKEND FOLDER)
  add_executable(${TARGET} ${SOURCE})
  target_link_libraries(${TARGET} PRIVATE ${BACKEND})
  set_target_properties(${TARGET} PROPERTIES OUTPUT_NAME ${NAME} RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${FOLDER})
endfunction()
