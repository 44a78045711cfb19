#!/usr/bin/env bash
# Test that the mistakes of lab 09 (--break) are diagnosed by one line that names rank, group, collective, sizes and cause: drawn by seed, on
# real ranks, under a foreign launcher, and on a modelled machine.
# usage: breaks_test.sh LAB SCRATCH_DIR SEED TIMES [PLATFORM]
set -uo pipefail

# shellcheck source=tests/support/frame.sh
source "$(dirname "$0")/../support/frame.sh"

lab=$(realpath "$1") seed=$3 times=$4 platform=${5:-}
# Four layers in three buckets: the last two layers (5.54 kB), then one layer each (4.22 kB). The groups sum 6.91 and 7.08 kB.
toy=(--batch-size 4 --input-dim 32 --hidden-dim 32 --num-classes 10 --num-layers 4 --bucket-kb 2)
mistakes=(left_out order size early_exit crossed_groups)

ranks_but() # N [ODD]: print "ranks 0 and 2", all ranks below N but ODD
{
    local list=() rank text
    for ((rank = 0; rank < $1; rank++)); do [[ $rank == "${2:-}" ]] || list+=("$rank"); done
    text=${list[0]}
    for ((rank = 1; rank < ${#list[@]}; rank++)); do
        ((rank == ${#list[@]} - 1)) && text+=" and ${list[rank]}" || text+=", ${list[rank]}"
    done
    ((${#list[@]} == 1)) && echo "rank $text" || echo "ranks $text"
}

expected() # MISTAKE RANKS RANK STEP: print the line
{
    local others all wait=wait
    others=$(ranks_but "$2" "$3")
    all=$(ranks_but "$2")
    [[ $others == ranks* ]] || wait=waits
    case $1 in
        left_out) echo "rank $3 left out bucket 2 in step $4: all-reduce $((3 * $4 + 1)) in group 0 of $all is bucket 2 of 4.22 kB on $others, but bucket 3 of 4.22 kB on rank $3; cause: a gradient that was not computed on rank $3 (an unused parameter), and no zeros in its place; cure: zeros for unused gradients (find_unused_parameters)" ;;
        order) echo "rank $3 calls in another order in step $4: all-reduce $((3 * $4 + 1)) in group 0 of $all is bucket 2 of 4.22 kB on $others, but bucket 3 of 4.22 kB on rank $3, which calls that one later; cause: calls started as they became ready, in another order on rank $3; cure: one order for all ranks, such as that of the first step (static_graph)" ;;
        size) echo "rank $3 sums another size in step $4: all-reduce $((3 * $4)) in group 0 of $all is bucket 1 of 5.54 kB on $others, but bucket 1 of 40 B on rank $3; cause: other buckets or shapes on rank $3, unlike in step $(($4 - 1)) (bucket 1 of 5.54 kB); cure: buckets and shapes of one rank for all (rank 0 broadcasts them)" ;;
        early_exit) echo "rank $3 ended after step $(($4 - 1)): $others $wait in all-reduce $((3 * $4)) in group 0 of $all (bucket 1 of 5.54 kB in step $4); cause: fewer batches on rank $3 (an uneven epoch); cure: join (a rank without data goes on in the sums of the others), or equally many batches" ;;
        crossed_groups) echo "groups 1 and 2 are crossed: rank $3 waits in all-reduce $4 in group 2 of $all (7.08 kB in step $4), $others $wait in all-reduce $4 in group 1 of $all (6.91 kB in step $4); cause: rank $3 calls group 2 before group 1, unlike in step $(($4 - 1)); cure: one order of groups for all ranks" ;;
    esac
}

expect() # NAME MISTAKE RANKS RANK STEP COMMAND...: run, and check status, the line, and that it is the only one of the lab
{
    local name=$1 line status=0
    line="09_ddp_inside: $(expected "${@:2:4}"); results of earlier runs are untouched"
    "${@:6}" --break "$2" --break-rank "$4" --break-step "$5" "${toy[@]}" </dev/null >out 2>err || status=$?
    printf '%-40s %s\n' "$name: $2, rank $4 of $3, step $5" "$(cat out)"
    ((status == 1)) || complain "$name" "status $status, not 1"
    grep -qaxF "$line" err || complain "$name" "no line '$line', but: $(<err)"
    (($(grep -av "another run measures" err | grep -ac '^09_ddp_inside: ') == 1)) || complain "$name" "more than one line of the lab: $(<err)"
}

refused() # NAME WORD ARGUMENT...: check for status 2 and one line with the word
{
    local name=$1 word=$2 status=0
    "$lab" "${@:3}" </dev/null >out 2>err || status=$?
    ((status == 2)) || complain "$name" "status $status, not 2"
    (($(wc -l <err) == 1)) && [[ $(<err) == *"$word"* ]] || complain "$name" "not one line with '$word': $(<err)"
    [[ ! -e results ]] || complain "$name" "made a folder for results"
}

work_in "$2"

refused "an unknown mistake" "'left_in'" --break left_in
refused "a rank too high" "--break-rank 4" --ranks 4 --break size --break-rank 4
refused "one rank" "--ranks 1" --ranks 1 --break size --break-rank 0
refused "one bucket has no order" "--bucket-kb 4096" --ranks 2 --break order --bucket-kb 4096 --input-dim 8 --hidden-dim 8
refused "watching for nothing" "--watch-only" --ranks 2 --watch-only
refused "a cure of nothing" "--cure" --ranks 2 --cure
refused "a quiz" "--blind" --ranks 2 --break size --blind
refused "dedicated cores" "--backend sim" --ranks 2 --break size --backend sim

"$lab" --ranks 2 --break size --dry-run </dev/null >out 2>err || complain "a dry run" "status $?: $(<err)"
grep -q '^  cases     none: ' out && ! grep -q '^  results' out || complain "a dry run" "tells of cases or results: $(<out)"

RANDOM=$seed
for ((i = 0; i < times; i++)); do
    for mistake in "${mistakes[@]}"; do
        ranks=$((2 + RANDOM % 3)) step=$((1 + RANDOM % 6))
        rank=$((RANDOM % ranks))
        expect "seed $seed" "$mistake" "$ranks" "$rank" "$step" "$lab" --ranks "$ranks"
    done
done

# Without comparing, sums of different sizes stop the job, and the supervisor sees why. With two ranks both have begun the sum by then; with
# three, one may be late, and is not named then.
expect "watched only" size 2 1 2 "$lab" --ranks 2 --watch-only
# Under another launcher the ranks' watchdogs print the line.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
expect "a foreign launcher" left_out 3 1 2 mpirun --oversubscribe --bind-to none -np 3 "$lab"

if [[ $platform ]]; then # SimGrid ends a job in which all ranks wait
    for mistake in "${mistakes[@]}"; do
        expect "simulated" "$mistake" 3 2 4 "$lab" --ranks 3 --platform "$platform"
        "$lab" --ranks 3 --platform "$platform" --break "$mistake" --cure "${toy[@]}" </dev/null >out 2>err ||
            complain "cured: $mistake" "status $?: $(<err)"
        grep -q "^cures of $mistake; price" out || complain "cured: $mistake" "no prices: $(<out)"
    done
fi
[[ ! -e results ]] || complain "jobs that break" "made a folder for results"
exit $failed
