#!/usr/bin/env bash
# Test LOCKSTEP_CUDA: a build with OFF needs nothing of CUDA; a build with ON names what is missing.
# usage: cuda_build_test.sh SOURCE_DIR SCRATCH_DIR LAB_BINARY; LAB_BINARY is from the current build.
set -euo pipefail
source=$1 scratch=$2 lab=$3
rm -rf "$scratch"
mkdir -p "$scratch"
without=(cmake -S "$source" -DLOCKSTEP_TESTS=OFF -DCMAKE_BUILD_TYPE=Debug -DCUDAToolkit_NVCC_EXECUTABLE=/nowhere/nvcc)

die()
{
    echo "cuda_build_test: $*" >&2
    exit 1
}

loads_cuda() # PROGRAM
{
    ldd "$1" | grep -qiE 'cuda|cublas|nccl'
}

# The lab's program for cores loads no CUDA libraries, even if GPU programs were built, too.
! loads_cuda "$lab" || die "$lab loads CUDA"

"${without[@]}" -B "$scratch/off" -DLOCKSTEP_CUDA=OFF >"$scratch/off.log" 2>&1 || { cat "$scratch/off.log"; die "OFF does not configure"; }
! grep -qE '^(GXX|NCCL_LIBRARY)' "$scratch/off/CMakeCache.txt" || die "OFF looks for CUDA"
# A build without the toolkit has compiled the same files; so does the test new_lab, with OFF.
off=$lab
if [ -e "$(dirname "$lab")/../lib/nccl" ]; then
    cmake --build "$scratch/off" --target 05_token_skew --parallel 2 >"$scratch/off.log" 2>&1 || { tail "$scratch/off.log"; die "OFF does not build"; }
    off=$scratch/off/bin/05_token_skew
fi
! loads_cuda "$off" || die "OFF loads CUDA"
status=0
"$off" --device cuda --out "$scratch/results" >"$scratch/out" 2>&1 || status=$?
[ "$status" -eq 77 ] || die "OFF, asked for GPUs: exit status $status"
grep -q 'this build was made without CUDA' "$scratch/out" || { cat "$scratch/out"; die "OFF, asked for GPUs, does not say why not"; }

if ! command -v g++ >/dev/null && ! command -v c++ >/dev/null; then
    echo "cuda_build_test: OFF holds; without a C++ compiler that is what AUTO and ON miss first"
    exit 77
fi
"${without[@]}" -B "$scratch/auto" -DLOCKSTEP_CUDA=AUTO >"$scratch/auto.log" 2>&1 || { cat "$scratch/auto.log"; die "AUTO without nvcc does not configure"; }
grep -q 'No GPUs in this build, for lack of nvcc' "$scratch/auto.log" || { cat "$scratch/auto.log"; die "AUTO does not say what is missing"; }
status=0
"${without[@]}" -B "$scratch/on" -DLOCKSTEP_CUDA=ON >"$scratch/on.log" 2>&1 || status=$?
[ "$status" -ne 0 ] || die "ON without nvcc configures"
tr '\n' ' ' <"$scratch/on.log" | tr -s ' ' | grep -q 'LOCKSTEP_CUDA=ON lacks nvcc' || { cat "$scratch/on.log"; die "ON does not say what is missing"; }
echo "cuda_build_test: OFF, AUTO and ON hold"
