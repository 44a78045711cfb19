#!/usr/bin/env bash
# usage: no_device_test.sh LAB GPU_PROGRAMS: without a visible GPU, a build with CUDA prints one line with the reason and exits with
# status 77.
set -uo pipefail
export LOCKSTEP_GPU_PROGRAMS=$2 CUDA_VISIBLE_DEVICES='' LOCKSTEP_CUDA_DEVICES=0
said=$("$1" --backend nccl --ranks 1 2>&1)
status=$?
echo "status $status: $said"
((status == 77)) && [[ $said =~ ^[^$'\n']*"--backend nccl: built with CUDA, no usable device ("[^$'\n']+"); leave it out to train on cores"$ ]]
