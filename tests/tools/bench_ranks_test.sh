#!/usr/bin/env bash
# usage: bench_ranks_test.sh BENCH FOLDER: check that the benchmark's parts with ranks measure everything they should, in few
# turns. Works in FOLDER/bench_ranks. Does not test speed.
set -uo pipefail

# shellcheck source=tests/support/frame.sh
source "$(dirname "$0")/../support/frame.sh"
# shellcheck source=tests/support/bench_table.sh
source "$(dirname "$0")/../support/bench_table.sh"

bench=$(realpath "$1")
folder=$(realpath -m "$2")/bench_ranks

run() # STATUS ARGUMENT...: run the benchmark and check its exit status; set `said` to its output
{
    starts=2 disturbed=0 # that each row should have
    rm -rf results
    exits "$1" timeout $((300 * patience)) "$bench" --out results --root quiet --toy --rounds 2 "${@:2}"
}

rows() # ROW...: check names and limits of all rows; measured columns must not be blank
{
    local got wanted
    got=$(awk '/^#/ || !named { if (!/^#/) named = 1; print; next }
        { name = $0; sub(/^"/, "", name); sub(/".*/, "", name); sub(/^.*",/, "", $0); split($0, value, ",")
          for (i = 1; i <= 5; i++) if (value[i] !~ /^[-0-9.e+]+$/) name = name ", with the blank " i
          print name (value[6] == "" && value[7] == "" ? "" : " <= " value[6]) }' results/bench.csv | grep -v '^#')
    wanted=$(printf '%s\n' "what,ours,reference,ratio,low,high,goal,holds,run,date,commit,starts,disturbed,beside,least" "$@")
    [[ $got == "$wanted" ]] || complain "rows:"$'\n'"$got"$'\n'"where there should be"$'\n'"$wanted"
    is_one_run results/bench.csv
    [[ $(column results/bench.csv starts | sort -u) == "$starts" ]] ||
        complain "not $starts starts in each row" "$(column results/bench.csv starts | sort | uniq -c)"
    [[ $(column results/bench.csv disturbed | sort -u) == "$disturbed" ]] ||
        complain "not $disturbed disturbed starts in each row" "$(column results/bench.csv disturbed | sort | uniq -c)"
}

test_steps() # in a single start: first the fastest products are looked for
{
    local step wanted=() blank=", with the blank 4, with the blank 5"
    run 0 --part steps --rounds 1
    starts=1
    [[ $said != *"needs OpenBLAS"* ]] || return
    for step in "MLP step, batch 128|1.1" "MLP step, batch 512|1.05" "transformer step, 8x128|2" "transformer step, 8x256|2" \
        "transformer step, 8 packed of 128 to 256|2"; do
        wanted+=("${step%|*}, against its floor, ms$blank <= ${step#*|}"
            "  its products, against kernel and layout best for each, ms$blank"
            "  the step against a floor of its products in their order, ms$blank")
    done
    rows "${wanted[@]}"
}

test_harness()
{
    run 0 --part harness
    rows "a stamp against clock_gettime, ns" "a phase that begins, against clock_gettime, ns" \
        "the harness in a step, of the MLP's at batch 128, us <= 0.001" \
        "the harness in a step, of the transformer's at 8 x 128, us <= 0.001" \
        "the ledger in a step, of the transformer's at 8 x 128, us <= 0.001"
}

test_sums()
{
    run 0 --part sums
    ((cores == 2)) || return # with other numbers of cores there is a block of rows per world size
    rows "sum of 4 B among 2 ranks against MPI_Allreduce, us <= 1.03" \
        "what the harness adds to a sum, against MPI's own for 4 B, ns" \
        "  stamps around one of 4 B among 2 ranks against MPI_Allreduce, us" \
        "sum of 4 KiB among 2 ranks against MPI_Allreduce, us <= 1.03" \
        "  stamps around one of 4 KiB among 2 ranks against MPI_Allreduce, us" \
        "sum of 64 KiB among 2 ranks against MPI_Allreduce, us <= 1.03" \
        "sum of 1 MiB among 2 ranks against MPI_Allreduce, us <= 1.01" \
        "sum of 12.5 MB among 2 ranks against MPI_Allreduce, us <= 1.01" \
        "sum of 128 MiB among 2 ranks against MPI_Allreduce, us <= 1.01"
}

test_waiting()
{
    local ranks wanted=()
    run 0 --part waiting
    for ranks in $cores $((2 * cores)); do
        ((ranks > 1)) || continue
        wanted+=("a step while $((ranks - 1)) of $ranks ranks wait in an all-reduce, or sleep, ms <= 1.05"
            "a step while $((ranks - 1)) of $ranks ranks wait in a barrier, or sleep, ms <= 1.05"
            "a step while $((ranks - 1)) of $ranks ranks wait parked, or sleep, ms <= 1.05")
    done
    rows "${wanted[@]}"
}

test_start()
{
    run 0 --part start
    rows "a lab of 4 steps, $((cores < 2 ? 1 : 2)) ranks, card kept, against MPI that starts and ends, s"
}

# While the host steals all the time, each start of a job is made three times, and its rows say so.
test_disturbed()
{
    local stolen=0 thief
    quiet_machine stolen
    while sleep 0.02; do machine stolen $((stolen += 1000)) 0 0; done &
    thief=$!
    run 0 --part start --root stolen
    kill "$thief"
    wait "$thief" 2>/dev/null
    disturbed=2
    rows "a lab of 4 steps, $((cores < 2 ? 1 : 2)) ranks, card kept, against MPI that starts and ends, s"
    says "(2 of 2 disturbed)"
}

test_simulated() # with a single round there is no interval
{
    run 0 --part simulated --rounds 1
    starts=1
    [[ $said != *"none here"* ]] || return
    local blank=", with the blank 4, with the blank 5"
    rows "a step of one of 24 simulated ranks, against SMPI alone, us$blank" \
        "a lab of 4 such steps, against SMPI alone, s$blank" "memory of one of 24 simulated ranks, MB$blank"
}

# Hidden faults on a machine without noise are found, and their shares. Of four seeds each leads with another cause.
test_triage()
{
    said=$(timeout $((300 * patience)) "$bench" --out results --part triage --rounds 4 --first 5 2>&1 </dev/null) ||
        complain "triage: another status than 0"
    [[ $said != *"none: "* ]] || return
    says "4 of 4 right, 0 wrong, 0 undetermined; 16 of 16 shares within 10 points" "4 calls of the lab in "
    [[ $(sed '/^#/d' results/triage.csv | head -1) == "machine,seed,data_drawn,data_found,launches_drawn,launches_found,memory_drawn,memory_found,compute_drawn,compute_found,cause,bound_by,right,seconds" ]] ||
        complain "triage.csv has other columns"
    [[ $(sed '/^#/d' results/triage.csv | cut -d, -f1,2,13 | sed 1d | tr '\n' ' ') == "modelled,5,1 modelled,6,1 modelled,7,1 modelled,8,1 " ]] ||
        complain "triage.csv has other rows" "$(<results/triage.csv)"
    [[ $(sed '/^#/d' results/triage.csv | cut -d, -f11 | sed 1d | sort | tr '\n' ' ') == "compute data launches memory " ]] ||
        complain "a cause leads twice" "$(<results/triage.csv)"
}

# Ranks that fail give no results.
test_failure()
{
    mkdir -p broken/bin broken/lib
    cp "$bench" broken/bin
    cp /bin/false broken/lib/bench_ranks
    said=$(timeout $((100 * patience)) broken/bin/bench --out results --part sums 2>&1 </dev/null)
    (($? == 1)) || complain "ranks that fail: another status than 1"
    [[ $said == *"bench: sums ended with status 1"* ]] || complain "ranks that fail are not named"
}

work_in "$folder"
"$bench" --part start --rounds 1 --out results &>/dev/null
quiet_machine quiet
cores=$(sed -n 's/^# cores: //p' results/bench.csv)
test_steps
test_harness
test_sums
test_waiting
test_start
test_disturbed
test_simulated
test_triage
test_failure
exit "$failed"
