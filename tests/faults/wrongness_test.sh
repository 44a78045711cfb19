#!/usr/bin/env bash
# Test that every check can fail. Sabotaged labs (sabotage_lab.c) must end with status 1, count failed checks in `wrong`, name
# check, case, round and rank in one line, and show no times. The same labs without sabotage must pass.
# usage: wrongness_test.sh FOLDER_OF_SABOTAGED_LABS SCRATCH_DIR mpi|nccl
set -euo pipefail
# shellcheck source=tests/support/csv.sh
source "$(dirname "$0")/../support/csv.sh"
labs=$1 scratch=$2 backend=$3
toy=(--batch-size 8 --input-dim 64 --hidden-dim 64 --num-classes 10 --steps 6 --skip-first-steps 2 --backend "$backend")
export SABOTAGE_FLOATS=$((64 * 64 + 64 + 64 * 64 + 64 + 64 * 10 + 10))
folder=$scratch/out
rm -rf "$scratch"
mkdir -p "$scratch"

die() {
    echo "wrongness_test: $*" >&2
    sed 's/^/  | /' "$scratch/stdout" "$scratch/stderr" >&2
    exit 1
}

# Print column $2 of the row of case $1, from table $3 (default: summary).
value() {
    cell "$folder/$lab/${3:-summary}.csv" "$1" "$2"
}

patience=() # --deadline-s, if any: all runs but the last end by themselves. The labs' own deadlines are for usual machines.
[ "${LOCKSTEP_PATIENCE:-1}" -eq 1 ] || patience=(--deadline-s $((120 * LOCKSTEP_PATIENCE)))

run() { # LAB CASE RANKS ROUNDS VARIABLE=VALUE...: run the lab with this sabotage
    lab=$1 case=$2 ranks=$3 rounds=$4
    shift 4
    local own=()
    [ "$lab" != 03_comm_bound ] || own=(--comm-mb 1 --bucket-mb 1)
    status=0
    env "$@" "$labs/$lab" "${toy[@]}" "${own[@]}" "${patience[@]}" --ranks "$ranks" --rounds "$rounds" --cases "$case" \
        --out "$folder" >"$scratch/stdout" 2>"$scratch/stderr" || status=$?
}

right() { # LAB CASE RANKS ROUNDS: run the lab without sabotage and check that it passes
    run "$@" SABOTAGE=nothing
    [ "$status" -eq 0 ] || die "$*: exit status $status of an honest run"
    [ "$(value "$2" wrong)" = 0 ] || die "$*: wrong is '$(value "$2" wrong)' in an honest run"
    [ -n "$(value "$2" slowest_step_ms)" ] || die "$*: an honest run has no step time"
}

wrong() { # PATTERN LAB CASE RANKS ROUNDS VARIABLE=VALUE...: check that the lab fails with a line that matches
    local words=$1
    shift
    run "$@"
    shift 4
    [ "$status" -eq 1 ] || die "$*: exit status $status"
    [ "$(value "$case" wrong)" -gt 0 ] || die "$*: wrong is '$(value "$case" wrong)'"
    grep -qE "failed checks.*; the first: $words" "$scratch/stderr" || die "$*: no line says '$words'"
    grep -qE "^$case +WRONG: [0-9]+ failed checks?, so no speed is shown: " "$scratch/stdout" ||
        die "$*: no mark on $case"
    for column in slowest_step_ms median_step_ms p95_step_ms samples_per_s data_ms local_ms wait_ms transfer_ms exposed_ms \
        blog_compute_ms blamed_wait_ms what_if_ms vs_baseline efficiency loss; do
        [ -z "$(value "$case" $column)" ] || die "$*: $column is $(value "$case" $column)"
    done
    [ -z "$(value "$case" step_ms ranks | tr -d '\n')" ] || die "$*: ranks.csv has times"
    [ -z "$(value "$case" slowest_step_ms rounds | tr -d '\n')" ] || die "$*: rounds.csv has times"
    grep -q "^case," "$folder/$lab/lanes.csv" || die "$*: lanes.csv has no line of names"
    ! grep -q "^$case," "$folder/$lab/lanes.csv" || die "$*: lanes.csv has times"
    [ "$case" != baseline ] || ! grep -qE "core-seconds|against the formula|A typical step" "$scratch/stdout" ||
        die "$*: a speed is told"
}

one=(01_straggler baseline) # a single case, so that any printed time belongs to it
trial='baseline, before anything was measured,'

# Lose an all-reduce of the machine card. Its numbers are not kept for later runs.
wrong "baseline, on the machine card, rank [01], step 2, all-reduce 1: element" "${one[@]}" 2 1 \
    SABOTAGE=lost SABOTAGE_FLOATS=1024 SABOTAGE_CALL=0
[ ! -e "$folder/machine.csv" ] || die "a wrong machine card is kept"

# First all runs on two ranks, then those on three: runs with equal numbers of ranks share a machine card.
right "${one[@]}" 2 3
# An operation of the step does nothing, on one rank or on all.
wrong "$trial rank 0: .*gradients disagree with finite differences" "${one[@]}" 2 1 SABOTAGE=no-product
wrong "$trial rank 1: [0-9]+ of 8970 gradients are not numbers" "${one[@]}" 2 1 \
    SABOTAGE=no-gradient SABOTAGE_RANK=1
wrong "$trial rank 0: the update changes" "${one[@]}" 2 1 SABOTAGE=no-update
# Flip one bit of one rank's gradient before the all-reduce, in a measured step of the first round. All ranks get the same wrong
# sum; only repeating the steps in the next round shows it.
wrong "baseline, round [12]: the same steps end with other parameters than in an earlier block" "${one[@]}" 2 3 \
    SABOTAGE=flip-gradient SABOTAGE_RANK=1 SABOTAGE_CALL=4
# Lose all-reduces. The last one of a block is checked afterwards with the data that is still in memory.
wrong "baseline, round 1, rank [01], step 6, all-reduce 5: element" "${one[@]}" 2 1 SABOTAGE=lost SABOTAGE_CALL=5
wrong "baseline, round [12], rank 1: its parameters differ" "${one[@]}" 2 2 \
    SABOTAGE=flip-sum SABOTAGE_RANK=1 SABOTAGE_CALL=9

if [ "$backend" = mpi ]; then # these checks do not depend on the backend
    wrong "baseline, round 1, rank [01], step 2, all-reduce 1: element" "${one[@]}" 2 1 SABOTAGE=lost SABOTAGE_CALL=1
    # NaN in a gradient, or in the loss of one step; a replica that drifts.
    wrong "baseline, round 1, rank 0, step 6, all-reduce 5: element [0-9]+ of 8970 is -?nan" "${one[@]}" 2 1 \
        SABOTAGE=nan-gradient SABOTAGE_RANK=0 SABOTAGE_CALL=4
    wrong "baseline, round 1, rank 1: the loss of a step is not a number" "${one[@]}" 2 1 \
        SABOTAGE=nan-loss SABOTAGE_RANK=1 SABOTAGE_CALL=4
    wrong "baseline, round 1, rank 1: its parameters differ" "${one[@]}" 2 1 \
        SABOTAGE=drift SABOTAGE_RANK=1 SABOTAGE_CALL=4
    # A wrong baseline: the other case keeps its times, but has no ratio to the baseline.
    run 01_straggler busy 2 1 SABOTAGE=drift SABOTAGE_RANK=1 SABOTAGE_CALL=4
    [ "$status" -eq 1 ] || die "a wrong baseline: exit status $status"
    if [ "$(value baseline wrong)" -lt 1 ] || [ "$(value busy wrong)" -ne 0 ]; then die "not the baseline, or not it alone"; fi
    [ -n "$(value busy slowest_step_ms)" ] || die "the other case has no speed"
    [ -z "$(value busy vs_baseline)" ] || die "the other case is held against a wrong baseline"
    # Nonblocking all-reduces.
    right 03_comm_bound one_bucket 2 2
    wrong "one_bucket, round 1, rank 1: its parameters differ" 03_comm_bound one_bucket 2 2 \
        SABOTAGE=early SABOTAGE_RANK=1 SABOTAGE_CALL=4
    right "${one[@]}" 3 2
    wrong "baseline, round 1, rank [12]: its parameters differ" "${one[@]}" 3 1 SABOTAGE=lost SABOTAGE_CALL=4
fi

wrong "$trial rank 1: .*gradients disagree with finite differences" "${one[@]}" 3 1 \
    SABOTAGE=no-backward SABOTAGE_RANK=1
wrong "baseline, round 1, rank 1: its parameters differ" "${one[@]}" 3 1 \
    SABOTAGE=lost SABOTAGE_RANK=1 SABOTAGE_CALL=4
# One rank skips an all-reduce: the error line names it and the ranks that called it.
began=$SECONDS
patience=(--deadline-s $((8 * ${LOCKSTEP_PATIENCE:-1})))
run "${one[@]}" 3 1 SABOTAGE=skip SABOTAGE_RANK=2 SABOTAGE_CALL=4
[ "$status" -eq 1 ] || die "a skipped all-reduce: exit status $status"
words='rank 2 left out a call: all-reduce 4 in group 0 of ranks 0, 1 and 2 is 35.9 kB in step 4 on ranks 0 and 1, but 35.9 kB in step 5 on rank 2; cause: '
[ "$backend" = mpi ] || words="$words|ranks? [0-9, and]*2 .*not arrived.* waits? in all-reduce" # ranks on GPUs may wait elsewhere, too
grep -qE "$words" "$scratch/stderr" || die "a skipped all-reduce: no line says so"
[ $((SECONDS - began)) -lt $((100 * ${LOCKSTEP_PATIENCE:-1})) ] || die "a skipped all-reduce: no end in time"
[ "$backend" = mpi ] || exit 0 # the stand-in for NCCL ends such ranks itself
# One rank calls another collective: the calls are named soon, without waiting for the deadline.
began=$SECONDS
run "${one[@]}" 3 1 SABOTAGE=other SABOTAGE_RANK=2 SABOTAGE_CALL=4
[ "$status" -eq 1 ] || die "another collective: exit status $status"
calls='rank 2 calls another collective in step [0-9]: collective [0-9]+ in group 0 of ranks 0, 1 and 2 is all-reduce of 35.9 kB on ranks 0 and 1, but barrier on rank 2'
grep -qE "$calls; cause: another path through the program on rank 2; cure: all ranks of a group must" "$scratch/stderr" ||
    die "another collective: no line says so"
[ $((SECONDS - began)) -lt $((60 * ${LOCKSTEP_PATIENCE:-1})) ] || die "another collective: no end in time"
