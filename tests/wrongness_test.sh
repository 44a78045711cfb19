#!/usr/bin/env bash
# Every check fires: labs that go wrong to order (sabotage_lab.c) end with status 1, count it in `wrong`, say in one line which
# check, case, round and rank, and show no speed; the same labs left alone are right.
# usage: wrongness_test.sh FOLDER_OF_SABOTAGED_LABS SCRATCH_DIR mpi|nccl
set -euo pipefail
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

# Column $2 of the row of case $1.
cell() {
    awk -F, -v case="$1" -v name="$2" '/^#/ { next } !n { n = split($0, head); for (i = 1; i <= n; i++) at[head[i]] = i; next }
        $at["case"] == case { print $at[name] }' "$folder/$lab/${3:-summary}.csv"
}

run() { # NAME CASES RANKS ROUNDS ORDERS...: runs the lab under these orders
    lab=$1 cases=$2 ranks=$3 rounds=$4
    shift 4
    local own=()
    [ "$lab" != 03_comm_bound ] || own=(--comm-mb 1 --bucket-mb 1)
    status=0
    env "$@" "$labs/$lab" "${toy[@]}" "${own[@]}" --ranks "$ranks" --rounds "$rounds" --cases "${cases%,*}" \
        --cases "${cases#*,}" --out "$folder" \
        >"$scratch/stdout" 2>"$scratch/stderr" || status=$?
}

right() { # NAME CASES RANKS ROUNDS
    run "$@" SABOTAGE=
    [ "$status" -eq 0 ] || die "$*: exit status $status of an honest run"
    local case
    for case in ${2//,/ }; do
        [ "$(cell "$case" wrong)" = 0 ] || die "$*: wrong is '$(cell "$case" wrong)' in an honest run"
        [ -n "$(cell "$case" slowest_step_ms)" ] || die "$*: an honest run has no step time"
    done
}

wrong() { # CASE WORDS NAME CASES RANKS ROUNDS ORDERS...
    local case=$1 words=$2
    shift 2
    run "$@"
    shift 4
    [ "$status" -eq 1 ] || die "$*: exit status $status"
    [ "$(cell "$case" wrong)" -gt 0 ] || die "$*: wrong is '$(cell "$case" wrong)'"
    grep -qE "failed checks.*; the first: $words" "$scratch/stderr" || die "$*: no line says '$words'"
    grep -qE "^$case +WRONG: [0-9]+ failed checks?, so no speed is shown: " "$scratch/stdout" || die "$*: no mark on $case"
    for column in slowest_step_ms median_step_ms p95_step_ms samples_per_s data_ms local_ms wait_ms transfer_ms exposed_ms \
        blog_compute_ms blamed_wait_ms what_if_ms vs_baseline efficiency; do
        [ -z "$(cell "$case" $column)" ] || die "$*: $column is $(cell "$case" $column)"
    done
    [ -z "$(cell "$case" step_ms ranks | tr -d '\n')" ] || die "$*: ranks.csv has times"
    [ -z "$(cell "$case" slowest_step_ms rounds | tr -d '\n')" ] || die "$*: rounds.csv has times"
    ! grep -q "^$case," "$folder/$lab/lanes.csv" || die "$*: lanes.csv has times"
    [ "$cases" != baseline ] || ! grep -qE "core-seconds|against the formula|A typical step" "$scratch/stdout" || die "$*: a speed is told"
}

one=(01_straggler baseline) # one case, as the baseline is the only one there are no others' speeds
for ranks in 2 3; do
    right "${one[@]}" $ranks 3
    right 03_comm_bound baseline,one_bucket $ranks 2
done

trial='before anything was measured, '
# What a step is made of does nothing on one rank, or on all.
wrong baseline "baseline, ${trial}rank 0: .*gradients disagree with finite differences" "${one[@]}" 2 1 SABOTAGE=no-product
wrong baseline "baseline, ${trial}rank 1: .*gradients disagree with finite differences" "${one[@]}" 3 1 SABOTAGE=no-backward SABOTAGE_RANK=1
wrong baseline "baseline, ${trial}rank 1: .*gradients are no numbers" "${one[@]}" 2 1 SABOTAGE=no-gradient SABOTAGE_RANK=1
wrong baseline "baseline, ${trial}rank 0: the update takes" "${one[@]}" 2 1 SABOTAGE=no-update

# A sum goes wrong once, in a measured step of the first round, or of the second.
for call in 4 9; do
    round=$((call / 6 + 1))
    wrong baseline "baseline, round ($round|[23]): the same 6 steps end with other parameters" "${one[@]}" 2 3 \
        SABOTAGE=flip-gradient SABOTAGE_RANK=1 SABOTAGE_CALL=$call
    wrong baseline "baseline, round $round, rank 1: its parameters differ" "${one[@]}" 2 2 \
        SABOTAGE=flip-sum SABOTAGE_RANK=1 SABOTAGE_CALL=$call
done
wrong baseline "baseline, round 1, rank [12]: its parameters differ" "${one[@]}" 3 1 SABOTAGE=lost SABOTAGE_CALL=4
wrong baseline "baseline, round 1, rank 1: its parameters differ" "${one[@]}" 3 1 SABOTAGE=lost SABOTAGE_RANK=1 SABOTAGE_CALL=4
wrong baseline "baseline, round 1, rank [01], step 6, all-reduce 5: element" "${one[@]}" 2 1 SABOTAGE=lost SABOTAGE_CALL=5
wrong baseline "baseline, round 1, rank [01], step 2, all-reduce 1: element" "${one[@]}" 2 1 SABOTAGE=lost SABOTAGE_CALL=1
wrong one_bucket "one_bucket, round [12], rank 1" 03_comm_bound one_bucket 2 2 SABOTAGE=early SABOTAGE_RANK=1 SABOTAGE_CALL=4

# Numbers that are none, in the sum or in the loss of one step; and a replica that drifts.
wrong baseline "baseline, round 1, rank [01], step 6, all-reduce 5: element|baseline, round 1, rank 0: the loss" "${one[@]}" 2 1 \
    SABOTAGE=nan-gradient SABOTAGE_RANK=0 SABOTAGE_CALL=4
wrong baseline "baseline, round 1, rank 1: the loss of a step is no number" "${one[@]}" 2 1 SABOTAGE=nan-loss SABOTAGE_RANK=1 SABOTAGE_CALL=4
wrong baseline "baseline, round 1, rank 1: its parameters differ" "${one[@]}" 2 1 SABOTAGE=drift SABOTAGE_RANK=1 SABOTAGE_CALL=4

# Of a wrong baseline there is no ratio, and of the other case its own speed.
wrong baseline "baseline, round 1, rank 1: its parameters" 01_straggler baseline,busy 2 1 SABOTAGE=drift SABOTAGE_RANK=1 SABOTAGE_CALL=4
