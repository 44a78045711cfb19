# cuda: GPU support as LOCKSTEP_CUDA requests. Sets LOCKSTEP_GPU_KITS to the available kits ("toolkit", "stand_in") and defines
#
#     add_gpu_program(TARGET NAME SOURCE BACKEND FOLDER)   build/FOLDER/NAME from sources and a backend
#
# Architectures: machine code for the GPUs of this machine, from Ampere on; without one, PTX for Ampere, which the driver compiles for
# any later GPU when a program starts.

set(LOCKSTEP_GPU_KITS "")
include(CheckLanguage)

# --- the toolkit -------------------------------------------------------------------------------------------------------

set(LOCKSTEP_CUDA_HOME /usr/local/cuda CACHE PATH "Where the CUDA Toolkit and NCCL lie, if they are not found otherwise")

# check_language() caches a negative result forever; clear the result first.
macro(look_again_for LANGUAGE)
  if(NOT CMAKE_${LANGUAGE}_COMPILER)
    unset(CMAKE_${LANGUAGE}_COMPILER CACHE)
  endif()
  check_language(${LANGUAGE})
endmacro()

function(find_gpu_architectures ARCHITECTURES)
  set(FOUND "")
  execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader OUTPUT_VARIABLE SAID ERROR_QUIET)
  string(REGEX MATCHALL "[0-9]+\\.[0-9]" CAPABILITIES "${SAID}")
  list(REMOVE_DUPLICATES CAPABILITIES)
  foreach(CAPABILITY ${CAPABILITIES})
    string(REPLACE "." "" CAPABILITY ${CAPABILITY})
    if(CAPABILITY GREATER_EQUAL 80)
      list(APPEND FOUND ${CAPABILITY}-real)
    endif()
  endforeach()
  if(NOT FOUND)
    set(FOUND 80-virtual)
  endif()
  set(${ARCHITECTURES} ${FOUND} PARENT_SCOPE)
endfunction()

function(find_toolkit LACKS)
  if(NOT CMAKE_CUDA_COMPILER)
    find_program(NVCC nvcc HINTS $ENV{CUDA_PATH} ${LOCKSTEP_CUDA_HOME} PATH_SUFFIXES bin)
    if(NVCC)
      set(CMAKE_CUDA_COMPILER ${NVCC})
    endif()
  endif()
  look_again_for(CXX)
  look_again_for(CUDA)
  set(${LACKS} "" PARENT_SCOPE)
  if(NOT CMAKE_CXX_COMPILER)
    set(${LACKS} "a C++ compiler, which nvcc needs (g++)" PARENT_SCOPE)
  elseif(NOT CMAKE_CUDA_COMPILER OR NOT EXISTS ${CMAKE_CUDA_COMPILER})
    set(${LACKS} "nvcc of NVIDIA's CUDA Toolkit (set CUDACXX, or PATH)" PARENT_SCOPE)
  else()
    set(CMAKE_CUDA_COMPILER ${CMAKE_CUDA_COMPILER} PARENT_SCOPE)
    find_path(NCCL_INCLUDE_DIR nccl.h HINTS $ENV{NCCL_ROOT} ${LOCKSTEP_CUDA_HOME} PATH_SUFFIXES include)
    find_library(NCCL_LIBRARY NAMES nccl libnccl.so.2 HINTS $ENV{NCCL_ROOT} ${LOCKSTEP_CUDA_HOME}
                 PATH_SUFFIXES lib lib64)
    if(NOT NCCL_INCLUDE_DIR OR NOT NCCL_LIBRARY)
      set(${LACKS} "NCCL (nccl.h and libnccl.so.2; set NCCL_ROOT)" PARENT_SCOPE)
    endif()
  endif()
endfunction()

if(LOCKSTEP_SANITIZER AND NOT LOCKSTEP_CUDA STREQUAL "ON")
  message(STATUS "Sanitizers do not reach a GPU, so no CUDA in this build")
elseif(NOT LOCKSTEP_CUDA STREQUAL "OFF")
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    find_gpu_architectures(CMAKE_CUDA_ARCHITECTURES)
  endif()
  find_toolkit(LACKS)
  if(LACKS STREQUAL "")
    enable_language(CXX)
    enable_language(CUDA)
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
  add_library(kernels_toolkit STATIC common/device/device_cuda_arrays.cu common/device/device_cuda_rows.cu
              common/device/device_cuda_sequences.cu common/device/device_cuda_attention.cu)
  set_target_properties(kernels_toolkit PROPERTIES CUDA_STANDARD 17 POSITION_INDEPENDENT_CODE ON)
  target_include_directories(kernels_toolkit PRIVATE common)
  target_compile_options(kernels_toolkit PRIVATE -Xcompiler=-Wall,-Wextra,-Wshadow)
  if(LOCKSTEP_WERROR)
    target_compile_options(kernels_toolkit PRIVATE -Werror=all-warnings)
  endif()
  target_link_libraries(kernels_toolkit PRIVATE CUDA::cudart)
  target_include_directories(kit_toolkit SYSTEM INTERFACE ${CUDAToolkit_INCLUDE_DIRS} ${NCCL_INCLUDE_DIR})
  target_link_libraries(kit_toolkit INTERFACE kernels_toolkit CUDA::cublas CUDA::cudart ${NCCL_LIBRARY})
endif()

# --- the stand-in ------------------------------------------------------------------------------------------------------

if(LOCKSTEP_TESTS)
  look_again_for(CXX)
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
