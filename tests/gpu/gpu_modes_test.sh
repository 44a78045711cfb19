#!/usr/bin/env bash
# usage: gpu_modes_test.sh LAB FOLDER: check that lab 01_straggler finds GPUs, chooses the placement of its ranks, and refuses
# placements that are not available. Needs no GPU: scripts that print their arguments replace the programs for GPUs. Works in
# FOLDER/gpu_modes.
set -uo pipefail

# shellcheck source=tests/support/frame.sh
source "$(dirname "$0")/../support/frame.sh"

lab=$(realpath "$1")
folder=$(realpath "$2")/gpu_modes
export LOCKSTEP_GPU_PROGRAMS="$folder/a path with spaces"

# Create the programs. The first mpirun on the path records its arguments and those of the ranks, and exits with 77.
# shellcheck disable=SC2016 # the scripts expand these variables
make_programs()
{
    local program
    rm -rf "$folder"
    mkdir -p "$folder/bin" "$LOCKSTEP_GPU_PROGRAMS"/{nccl,cuda}
    cd "$folder" || exit 1
    printf '#!/bin/sh\n%s\n' "echo \"\$@\" >>'$folder/called'" \
        "printf %s \"\$LOCKSTEP_ARGUMENTS\" | tr '\\037' ' ' >>'$folder/called'" \
        "echo \"cores \$LOCKSTEP_CORES\" >>'$folder/called'" 'exit 77' >bin/mpirun
    printf '#!/bin/sh\ncat %s\nexit $(cat %s)\n' "'$folder/gpus'" "'$folder/status'" \
        >"$LOCKSTEP_GPU_PROGRAMS/nccl/describe_gpus"
    for program in nccl/01_straggler cuda/01_straggler; do
        printf '#!/bin/sh\necho "%s $*"\n' "$program" >"$LOCKSTEP_GPU_PROGRAMS/$program"
    done
    chmod +x bin/* "$LOCKSTEP_GPU_PROGRAMS"/*/*
}

# Set the machine's number of GPUs from now on.
gpus() # COUNT
{
    local i
    for ((i = 0; i < $1; i++)); do
        echo "$i;NVIDIA Fake 9000;00000000:0$i:00.0"
    done >gpus
    echo 0 >status
    (($1 > 0)) || no_gpu "built with CUDA, no usable device (no driver)"
}

no_gpu() # REASON
{
    echo "$1" >gpus
    echo 77 >status
}

run() # STATUS ARGUMENT...: run the lab and check its exit status; set `said` to its output
{
    rm -rf called results
    # The lab may wait for another run on this machine.
    exits "$1" env "PATH=$folder/bin:$PATH" timeout $((250 * patience)) "$lab" --out results "${@:2}"
}

# Check that the lab starts ranks of this program: its own in build/bin, or that of nccl or cuda.
starts() # own|nccl|cuda RANKS ARGUMENT...
{
    local program=$1 ranks=$2 path="$LOCKSTEP_GPU_PROGRAMS/$1/01_straggler"
    shift 2
    run 77 --ranks "$ranks" "$@"
    [[ $program != own ]] || path=$lab
    grep -qxE -- "-np $ranks .* ?$path" called || complain "$*: it should have started $path"
    grep -qxF -- "--out results --ranks $ranks${*:+ $*} cores $cores" called || complain "$*: ranks were told something else"
    [[ $program == own ]] || grep -qF -- "--oversubscribe --bind-to none" called || complain "$*: ranks are bound to cores"
    [[ $program != own || $said != *GPU* ]] || complain "$*: GPUs are mentioned"
}

# Check for one line of output that holds TEXT, and no started ranks.
refuses() # STATUS TEXT ARGUMENT...
{
    local status=$1 text=$2
    shift 2
    run "$status" "$@"
    says "01_straggler: $text"
    [[ $said != *$'\n'* ]] || complain "$*: more than one line"
    [[ ! -e called ]] || complain "$*: ranks were started"
    [[ ! -e results ]] || complain "$*: a folder for results was made"
}

test_choice()
{
    gpus 4
    starts nccl 4
    says "4 GPUs here (the first: NVIDIA Fake 9000) for 4 ranks: each rank has its own GPU and communicates by NCCL. Use --device cpu"
    starts nccl 2 --backend auto --device cuda
    starts nccl 4 --backend nccl --precision bf16
    starts nccl 4 --share-gpu
    says "each rank has its own GPU"
    starts cuda 4 --backend mpi --device cuda
    says "ranks communicate by MPI, staged through the host."
    starts own 1 --backend mpi
    starts own 1 --device cpu
    starts own 1 --backend mpi --device cpu

    gpus 1
    starts nccl 1 --precision tf32
    says "1 GPU here (NVIDIA Fake 9000) for 1 rank: one rank does not communicate."
    starts cuda 4
    says "1 GPU here (NVIDIA Fake 9000) for 4 ranks: ranks communicate by MPI, staged through the host. Use --device cpu to train on cores instead."
    starts cuda 4 --device cuda --algorithm linear
    starts cuda 2 --backend mpi --device cuda --precision tf32
    starts nccl 2 --share-gpu
    says "ranks share GPUs under NCCL, which shows correctness only."
    starts nccl 2 --backend nccl --share-gpu --device cuda
    refuses 77 "--backend nccl: 4 ranks need 4 GPUs, but there is 1; --backend mpi --device cuda stages all-reduces through the host, --share-gpu shows correctness only" \
        --backend nccl
    refuses 2 "--algorithm applies to MPI, and NCCL chooses its own; leave it out" --ranks 1 --algorithm linear
    gpus 2
    refuses 77 "--backend nccl: 3 ranks need 3 GPUs, but there are 2;" --backend nccl --ranks 3
}

test_none()
{
    local why="built with CUDA, no usable device (no driver)"
    gpus 0
    starts own 1
    refuses 77 "--backend nccl: $why" --backend nccl
    refuses 77 "--share-gpu: $why" --share-gpu
    refuses 77 "--device cuda: $why" --device cuda
    refuses 77 "--device cuda: $why" --device cuda --backend mpi --precision tf32
    refuses 2 "--precision tf32 applies to GPUs only; leave it out: $why" --precision tf32
    no_gpu "describe_gpus: error while loading shared libraries: libnccl.so.2: cannot open shared object file"
    refuses 77 "--device cuda: describe_gpus: error while loading shared libraries: libnccl.so.2" --device cuda
    : >gpus
    refuses 77 "--device cuda: describe_gpus of this build ended without a message" --device cuda
    starts own 1
    gpus 1
    echo 139 >status # describe_gpus printed a GPU, then crashed
    starts own 1

    LOCKSTEP_GPU_PROGRAMS=$folder/nowhere
    starts own 1
    refuses 77 "--backend nccl: this build was made without CUDA (install NVIDIA's CUDA Toolkit and NCCL" --backend nccl
    refuses 2 "--precision bf16 applies to GPUs only; leave it out: this build was made without" --precision bf16
    LOCKSTEP_GPU_PROGRAMS="$folder/a path with spaces"
    gpus 1
    mv "$LOCKSTEP_GPU_PROGRAMS/cuda/01_straggler" elsewhere
    run 77 --ranks 4
    says "$LOCKSTEP_GPU_PROGRAMS/cuda/01_straggler cannot be started: No such file or directory; build again"
    mv elsewhere "$LOCKSTEP_GPU_PROGRAMS/cuda/01_straggler"
}

test_contradictions()
{
    gpus 4
    local asked simulated
    for asked in "--device cuda" "--share-gpu" "--precision tf32"; do
        for simulated in "--backend sim" "--platform two_hosts" "--membus 2"; do
            # shellcheck disable=SC2086 # both are several words
            refuses 2 "${simulated/sim/sim simulates}" $asked $simulated
            says "; leave out $asked"
        done
    done
    refuses 2 "--platform two_hosts is a simulated machine; leave out --backend nccl" --platform two_hosts --backend nccl
    refuses 2 "--membus 2 applies to simulated cores; leave out --backend nccl" --membus 2 --backend nccl
    refuses 2 "--backend nccl applies to GPUs; leave out --device cpu" --backend nccl --device cpu
    refuses 2 "--share-gpu applies to GPUs; leave out --device cpu" --share-gpu --device cpu
    refuses 2 "--share-gpu applies to NCCL; leave out --backend mpi" --share-gpu --backend mpi --device cuda
    refuses 2 "--precision tf32 applies to GPUs only; leave it out, or add --device cuda" --precision tf32 \
        --backend mpi
    refuses 2 "--precision bf16 applies to GPUs only; leave it out, or leave out --device cpu" --precision bf16 \
        --device cpu
}

# Check that a rank under the user's launcher becomes the program for GPUs (exec) and keeps its arguments.
becomes() # PROGRAM RANKS ARGUMENT...
{
    local program=$1
    export OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=$2
    shift 2
    run 0 "$@"
    unset OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE
    [[ $said == "$program/01_straggler --out results${*:+ $*}" ]] || complain "$*: it should have become $program's"
}

test_other_launchers()
{
    gpus 2
    becomes nccl 2 --backend nccl --seed 7
    becomes nccl 2 --device cuda
    becomes nccl 4 --share-gpu
    becomes cuda 4 --device cuda --precision bf16
    becomes cuda 2 --device cuda --backend mpi
    export OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=4
    refuses 77 "--backend nccl: 4 ranks need 4 GPUs, but there are 2;" --backend nccl
    refuses 2 "--backend nccl applies to GPUs; leave out --device cpu" --backend nccl --device cpu
    refuses 2 "--precision tf32 applies to GPUs only; under mpirun or srun add --device cuda" --precision tf32
    gpus 0
    refuses 77 "--backend nccl: built with CUDA, no usable device (no driver)" --backend nccl
    OMPI_COMM_WORLD_RANK=1
    run 77 --backend nccl
    [[ -z $said ]] || complain "a second rank speaks too"

    # If the program for cores is in the place of the other one, exec must not loop.
    gpus 4
    OMPI_COMM_WORLD_RANK=0
    cp "$LOCKSTEP_GPU_PROGRAMS/nccl/01_straggler" kept
    cp "$lab" "$LOCKSTEP_GPU_PROGRAMS/nccl/01_straggler"
    refuses 77 "$LOCKSTEP_GPU_PROGRAMS/nccl/01_straggler is the program for cores; build again" --backend nccl
    ln -sf "$lab" "$LOCKSTEP_GPU_PROGRAMS/nccl/01_straggler"
    refuses 77 "$LOCKSTEP_GPU_PROGRAMS/nccl/01_straggler is the program for cores; build again" --backend nccl
    rm "$LOCKSTEP_GPU_PROGRAMS/nccl/01_straggler"
    refuses 77 "$LOCKSTEP_GPU_PROGRAMS/nccl/01_straggler cannot be started" --backend nccl
    cp kept "$LOCKSTEP_GPU_PROGRAMS/nccl/01_straggler"
    unset OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE
}

make_programs
gpus 0
run 77 --ranks 1
cores=$(sed -n 's/.*cores //p' called)
test_choice
test_none
test_contradictions
test_other_launchers
((failed)) || echo "What ranks train on was chosen as it should be."
exit "$failed"
