#!/usr/bin/env bash
# usage: usage_test.sh LAB FOLDER: check that lab 01_straggler refuses bad usage quickly, in one line, before ranks start.
# Works in FOLDER/usage.
set -uo pipefail

# shellcheck source=tests/support/frame.sh
source "$(dirname "$0")/../support/frame.sh"

lab=$(realpath "$1")
folder=$(realpath "$2")/usage

run() # SECONDS ARGUMENT...: run the lab; set `status` and `elapsed_ms`, write output to files out and err
{
    local limit=$1 began=${EPOCHREALTIME/[.,]/}
    shift
    # The first mpirun and smpirun on the path are the fake ones below, which only record that they were called.
    PATH=$folder/bin:$PATH timeout $((limit * patience)) "$lab" "$@" </dev/null >out 2>err
    status=$?
    elapsed_ms=$(((${EPOCHREALTIME/[.,]/} - began) / 1000))
}

refused() # NAME WORD CURE ARGUMENT...: check for exit status 2 and one line that holds the wrong WORD and the CURE
{
    local name=$1 word=$2 cure=$3 said
    shift 3
    run 5 "$@"
    said=$(<err)
    printf '%-40s %4d ms  %s\n' "$name" "$elapsed_ms" "$said"
    ((status == 2)) || complain "$name" "status $status, not 2"
    (($(wc -l <err) == 1)) || complain "$name" "$(wc -l <err) lines on standard error, not 1"
    [[ $said == "01_straggler: "* ]] || complain "$name" "the message does not begin with the lab"
    [[ $said == *"$word"* ]] || complain "$name" "does not name '$word'"
    [[ $said == *"$cure"* ]] || complain "$name" "shows no cure: '$cure'"
    [[ ! -s out ]] || complain "$name" "speaks on standard output: $(head -3 out)"
    [[ ! -e called ]] || complain "$name" "started ranks"
    [[ ! -e results ]] || complain "$name" "made a folder for results"
    rm -rf called results
}

work_in "$folder"
mkdir bin
# shellcheck disable=SC2016 # the scripts' variables, not ours
printf '#!/bin/sh\necho "$@" >"%s/called"\nprintf %%s "$LOCKSTEP_ARGUMENTS" | tr "\\037" " " >>"%s/called"\n' "$folder" \
    "$folder" >bin/mpirun
chmod +x bin/mpirun
cp bin/mpirun bin/smpirun
echo "a regular file" >file
export LOCKSTEP_LOCK=$PWD/own.lock # other tests hold the machine's

refused "unknown flag" "'--rnaks'" "did you mean --ranks" --rnaks 4
refused "unknown flag, nothing near" "'--frobnicate'" "--help" --frobnicate
refused "no ranks" "--ranks 0" "from 1 to" --ranks 0
refused "a negative sleep" "--sleep-ms -1" "from 0 to" --sleep-ms -1
refused "a chance above one" "--chance 1.5" "from 0 to" --chance 1.5
refused "a negative chance" "--chance -0.1" "from 0 to" --chance -0.1
refused "a slow rank that does not exist" "--slow-rank 9" "0 to 3" --ranks 4 --slow-rank 9
refused "a slow rank one too high" "--slow-rank 4" "0 to 3" --ranks 4 --slow-rank=4
refused "trailing letters" "'4x'" "from 1 to" --ranks 4x
refused "a flag without its value" "--ranks" "needs a value" --ranks
refused "a flag instead of a value" "'--quick'" "from 1 to" --ranks --quick
refused "an empty value" "--sleep-ms" "needs a value" --sleep-ms=
refused "a stray word" "'5'" "--help" --ranks 4 5
refused "a switch with a value" "--quick" "takes no value" --quick=yes
refused "an unknown backend" "'gpu'" "auto mpi" --backend gpu
refused "results below a regular file" "file/results" "name a folder" --out file/results
refused "results into a regular file" "--out file" "name a folder" --out file
refused "nothing left to measure" "--skip-first-steps 12" "fewer" --steps 12 --skip-first-steps 12
refused "less than nothing left" "--skip-first-steps 13" "fewer" --steps 12 --skip-first-steps 13
refused "cases of the lesson and others" "skew_ws4" "leave out --lesson-cases" --lesson-cases --cases skew_ws4
refused "a kept card and a new one" "--keep-card" "leave one out" --keep-card --card-only
refused "a guess without a case" "'nonsense'" "CASE=MS" --guess nonsense
refused "a guess without a number" "'skew_ws4=abc'" "CASE=MS" --guess skew_ws4=abc
refused "a guess below zero" "'skew_ws4=-3'" "CASE=MS" --guess skew_ws4=-3
refused "a guess of no case" "'nosuch=50'" "--help lists" --guess nosuch=50
refused "an unknown case" "'nosuch'" "--help lists" --cases nosuch
refused "an unknown case among others" "'nosuch'" "--help lists" --cases busy --cases nosuch
refused "a good word after a bad one" "--ranks 0" "from 1 to" --ranks 0 --steps 12
refused "a simulated machine for real ranks" "--platform file" "leave out --backend mpi" --platform file --backend mpi
refused "a memory bus for real ranks" "--membus 2" "leave out --backend mpi" --membus 2 --backend mpi
refused "two simulated machines" "--membus 2" "leave one out" --membus 2 --platform file
refused "a GPU for simulated ranks" "--platform file" "leave out --device cuda" --platform file --device cuda
refused "NCCL for simulated ranks" "--membus 2" "leave out --backend nccl" --membus 2 --backend nccl
refused "NCCL on cores" "--backend nccl" "leave out --device cpu" --backend nccl --device cpu
refused "shared GPUs without NCCL" "--share-gpu" "leave out --backend mpi" --backend mpi --share-gpu
refused "a precision of cores" "--precision tf32" "leave it out" --backend mpi --precision tf32
refused "a precision of simulated ranks" "--precision bf16" "leave out" --backend sim --precision bf16
refused "an unknown precision" "'fp16'" "fp32 tf32 bf16" --precision fp16
refused "an unknown device" "'gpu'" "auto cpu cuda" --device gpu
refused "a huge word" "xxxx" "--help" "--$(head -c 100000 /dev/zero | tr '\0' x)"

run 5 --help
((status == 0)) || complain "--help" "status $status, not 0"
[[ ! -s err ]] || complain "--help" "complains: $(<err)"
[[ ! -e called ]] || complain "--help" "started mpirun"
for flag in ranks batch-size steps skip-first-steps input-dim hidden-dim num-classes seed seconds rounds quick cases \
    guess blind backend device precision share-gpu platform membus out deadline-s lesson-cases without-tables keep-card card-only slow-rank sleep-ms slow-factor sync-every chance help; do
    grep -qE -- "^ +--$flag( |$)" out || complain "--help" "does not name --$flag"
done
for name in baseline skew_ws4 skew_prefetch skew_share skew_every_k busy busy_prefetch busy_share busy_every_k roaming \
    roaming_prefetch roaming_every_k chance slow_core slow_core_prefetch slow_core_share slow_core_every_k; do
    grep -qE "^ +$name " out || complain "--help" "does not name the case $name"
done
for default in "--ranks .*\[4\]" "--batch-size .*\[128\]" "--steps .*\[12\]" "--skip-first-steps .*\[2\]" \
    "--sleep-ms .*\[40\]" "--slow-rank .*\[0\]"; do # published defaults
    grep -qE -- "$default" out || complain "--help" "does not show the default $default"
done

# Valid usage starts the fake mpirun.
run 60 --quick --seed 7 --backend mpi
[[ $(cat called 2>/dev/null) == *"$lab"*"--quick --seed 7"* ]] || complain "good usage" "did not start mpirun: $(<err)"

# Only one run at a time measures under a lock. The lab waits for its holder, then continues.
flock own.lock sh -c ': >held; sleep 1' &
until [[ -e held ]]; do sleep 0.05; done
rm called
run 60 --quick --seed 8 --backend mpi
wait
[[ $(<err) == *"it holds $PWD/own.lock"* ]] || complain "the lock" "does not name the program that holds it: $(<err)"
[[ $(cat called 2>/dev/null) == *"--quick --seed 8"* ]] || complain "the lock" "did not start mpirun after it: $(<err)"

((failed)) || echo "All bad usage was refused."
exit "$failed"
