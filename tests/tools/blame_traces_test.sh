#!/usr/bin/env bash
# usage: blame_traces_test.sh BLAME FOLDER: test tools/blame with traces in torch.profiler's format whose waits are known by construction
# (make_traces.py), with shifted clocks, missing and cut files, and hostile JSON. Exit status 77 without Python.
set -uo pipefail

# shellcheck source=tests/support/frame.sh
source "$(dirname "$0")/../support/frame.sh"
# shellcheck source=tests/support/blame.sh
source "$(dirname "$0")/../support/blame.sh"

blame=$(realpath "$1")
make_traces=$(realpath "$(dirname "$0")/make_traces.py")
command -v python3 >/dev/null || { echo "no python3, which writes the traces"; exit 77; }
folder=$(realpath -m "$2")
work_without_gnuplot

job() # NAME FORM [OPTION]...: write the traces of a job
{
    local name=$1
    shift
    mkdir -p "$name"
    rm -f "$name"/*
    python3 "$make_traces" "$1" "$name" "${@:2}" || complain "$name" "no traces"
}

refused() # TEXT ARGUMENT...: check that blame refuses its input with one line
{
    answers 2 "$@"
    [[ $(wc -l <<<"$said") == 1 ]] || complain "more than one line"
}

rank() # RANK COLUMN MS: check this value of ranks.csv, to a microsecond
{
    local got
    got=$(awk -F, -v rank="$1" -v column="$2" "$by_column"'
        $at["rank"] == rank { print $at[column] }' results/ranks.csv)
    awk -v got="$got" -v wanted="$3" 'BEGIN { exit !(got != "" && (got - wanted) ^ 2 < 1e-6) }' ||
        complain "rank $1" "$2 is '$got', not $3"
}

# A slow loader of 30 ms. Rank 1 hands bucket 0 over after 40 ms and bucket 1 after 46, the others after 10 and 16. They stand still from
# 16 on: 24 ms until bucket 0 is complete, then 2 of transfer, 4 of waiting for bucket 1, and 2 of transfer. Rank 1 works during
# bucket 0's transfer.
by_hand() # the step begins 1 ms earlier on the GPU's lane, where launches take 0.01 ms
{
    says "waited for rank 1." "Next: rank 1 is late in its data" "a step took 51.0 ms"
    for other in 0 2; do
        rank $other wait_ms 28
        rank $other transfer_ms 4
        rank $other caused_wait_ms 0
    done
    rank 1 wait_ms 0
    rank 1 transfer_ms 2
    rank 1 caused_wait_ms 56
    rank 1 step_ms 51
}
job gloo gloo --slow 1:data:30
answers 10 "6 steps measured, from step 2 on" gloo
by_hand
rank 1 data_ms 31
rank 0 data_ms 1
answers 10 "waited for rank 1." gloo/rank2.json.gz gloo/rank0.json.gz gloo/rank1.json.gz
by_hand
gzip -d gloo/rank0.json.gz
answers 10 "waited for rank 1." gloo # plain beside compressed
by_hand

job nccl nccl --slow 1:data:30
answers 10 "waited for rank 1." nccl
by_hand

# The phase is named, and no rank of a healthy job is named.
for form in gloo nccl; do
    for phase in forward backward update; do
        job slow $form --slow 2:$phase:25
        if [[ $phase == update ]]; then # the next step begins together, so no rank waits
            answers 0 "no rank stands out" slow
        else
            answers 10 "Next: rank 2 is late in its $phase" slow
        fi
    done
    job healthy $form
    answers 0 "no rank stands out" healthy
done

# Clocks: NCCL's waits are the same whatever the clocks say. Gloo's traces of one host have one clock, unless a shift is impossible;
# the estimate then has an error, and the verdict stays.
job shifted nccl --slow 1:data:30 --shift 1:1234.567 --shift 2:-40 --host 1:other
answers 10 "waited for rank 1." shifted
by_hand
for shift in 0:40 1:40 2:40 1:-40 2:-40 0:3600000; do
    job shifted gloo --slow 1:data:30 --shift $shift
    answers 10 "waited for rank 1." shifted
    says "Clocks may differ by 17 ms" "Next: rank 1 is late in its data"
    job shifted gloo --shift $shift
    answers 0 "no rank stands out" shifted
done
job hosts gloo --slow 1:data:30 --host 1:other --shift 1:5
answers 10 "waited for rank 1." hosts
says "Clocks may differ by 17 ms"
answers 10 "waited for rank 1." hosts --clock-error-ms 1
says "Clocks may differ by 1 ms"

# Groups: the pair of a late rank waits in its own group, the others wait for both.
job pairs nccl --ranks 4 --pairs --slow 3:data:20
answers 10 "waited for rank 3." pairs
rank 2 wait_ms 20 # in the pair
rank 0 wait_ms 18 # for the pair
rank 3 caused_wait_ms 20
job old nccl --slow 1:data:30 --old # kernels name no group, and the trace no host
answers 10 "waited for rank 1." old
by_hand
for rank in 0 1 2; do # nor does the trace say its rank: its name does
    gzip -dc old/rank$rank.json.gz | sed 's/"distributedInfo"/"other"/' >"old/dump_$rank.json"
done
answers 10 "waited for rank 1." old/dump_*.json
by_hand
mv old/dump_2.json old/node_2.1700.pt.trace.json # a process
refused "node_2.1700.pt.trace.json: no rank in" old/dump_0.json old/dump_1.json old/node_2.1700.pt.trace.json

# Pipelines: stages wait for messages by design, and stage 0 is last at the sum behind backward, so arrivals show no cause. A stage that
# is slow by 6 in each of 4 micro-batches lengthens a step by 24.
for form in '' --old; do # messages name ranks of the job, or of the group
    job pipeline nccl --pipeline --ranks 4 $form
    answers 0 "no rank stands out" pipeline
    says "Rank 0 comes last, but because it waits itself" "as stages of a pipeline do" "a step took 122.0 ms"
    rank 0 wait_ms 52
    rank 0 transfer_ms 6
    job pipeline nccl --pipeline --ranks 4 --slow 1:forward:6 $form
    answers 10 "But one rank stands out when the steps are replayed" pipeline
    says "waited for rank 1, late in its forward" "rank 1: forward                            122.0 ms   24.0 ms  16 %" "Next: rank 1 is late in its forward"
    exits 10 env PATH="$PWD/bin" "$blame" pipeline --json --out results
    says '"blamed": {"rank": 1, "host": null, "phase": "forward", "wait_ms": 72'
done
answers 0 "1 of 4 ranks have no trace here" pipeline/rank0.json.gz pipeline/rank1.json.gz pipeline/rank2.json.gz --partial

# Missing ranks: waits are lower bounds. A rank is named if it explains the end of its collectives.
refused "rank 0 has no trace here" gloo/rank1.json.gz gloo/rank2.json.gz
answers 10 "1 of 3 ranks have no trace here, so waits are lower bounds" gloo/rank1.json.gz gloo/rank2.json.gz --partial
says "waited for rank 1." "rank 2 waits"
rank 2 wait_ms 28
job missing gloo --slow 1:data:30 --slow 2:data:10
answers 0 "so a rank without" missing/rank0.json.gz missing/rank2.json.gz --partial
says "no rank stands out"
answers 0 "give the traces of the other ranks too" gloo/rank1.json.gz --partial

# Different lengths, steps that do not match, and files that are cut.
job lengths gloo --slow 1:data:30 --length 2:4
answers 10 "steps 2 to 5 are used, which all have" lengths
says "waited for rank 1." "4 steps measured"
job sizes nccl --size 1:2048
answers 1 "the ranks' calls do not match, so no rank is named: step 2: call 2 of rank 0 is all_reduce of 4096 bytes, of rank 1" sizes
head -c 1000 gloo/rank1.json.gz >cut.json.gz
refused "is cut short" gloo/rank0.json gloo/rank2.json.gz cut.json.gz
answers 0 "its rank counts as missing" gloo/rank0.json gloo/rank2.json.gz cut.json.gz --partial
says "1 of 3 ranks have no trace here"
[[ $said != *"waited for rank"* ]] || complain "a rank is named without its trace"
head -c 5000 gloo/rank0.json >cut.json
refused "is cut short after 5000 bytes" cut.json
refused "as is gloo/rank0.json; give each rank's trace once" gloo/rank0.json gloo/rank0.json
job four gloo --ranks 4
refused "of a job of 4 ranks, but" gloo/rank0.json gloo/rank1.json.gz four/rank2.json.gz

# Steps by another annotation.
sed 's/ProfilerStep#/train_/' gloo/rank0.json >named.json
refused "no ProfilerStep" named.json --partial
answers 0 "6 steps measured" named.json --partial --step-name train_
refused "no range is called 'epoch'" named.json --partial --step-name epoch

# Hostile files: one line each, with the place and the cure.
event='{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1.5, "dur": 2'
hostile() # TEXT: the file hostile.json is refused with this text
{
    refused "$1" hostile.json --partial
    says "hostile.json: "
}
{ printf '{"traceEvents": '; printf '[%.0s' {1..100000}; } >hostile.json
hostile "nested more than 64 deep"
{ printf '{"traceEvents": [{"name": "'; head -c 3000000 /dev/zero | tr '\0' a; printf '"}]}'; } >hostile.json
hostile "a value of more than 1048576 bytes"
{ printf '{"a":'; head -c 3000000 /dev/zero | tr '\0' ' '; printf '1}'; } >hostile.json
hostile "a value of more than 1048576 bytes"
echo "{\"traceEvents\": [$event, \"ts\": 3}]}" >hostile.json
hostile 'the key "ts" appears twice'
echo '{"traceEvents": [], "traceEvents": []}' >hostile.json
hostile 'the key "traceEvents" appears twice'
for number in NaN Infinity -; do
    echo "{\"traceEvents\": [${event/1.5/$number}}]}" >hostile.json
    hostile "not JSON"
done
for number in 1e300 99999999999999999999 '"soon"'; do
    echo "{\"traceEvents\": [${event/1.5/$number}}]}" >hostile.json
    hostile "not a time in microseconds"
done
echo "{\"traceEvents\": [${event/\"dur\": 2/\"dur\": -2}}]}" >hostile.json
hostile "dur is -2, not a time"
echo '{"a": 1}' >hostile.json
hostile 'has no "traceEvents"'
echo "{\"traceEvents\": [$event}]} more" >hostile.json
hostile "trailing garbage"
: >hostile.json
refused "hostile.json" hostile.json
printf '\037\213garbage' >hostile.json
refused "hostile.json" hostile.json --partial
refused "not a trace of torch.profiler" gloo/rank0.json results/ranks.csv
mkdir empty
refused "has no *.json" empty
refused "cannot be read: No such file" gloo/rank0.json none.json --partial

((failed)) || echo "blame says of traces what was worked out by hand, and refuses the rest."
exit "$failed"
