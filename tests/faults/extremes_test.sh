#!/usr/bin/env bash
# usage: extremes_test.sh BIN FOLDER [real]: run every lab with the smallest and oddest valid settings. Numbers must be finite and
# sums right; other settings must be refused with the reason. Uses the blog's machine, or with `real` two real ranks. Works in
# FOLDER/extremes.
set -uo pipefail

# shellcheck source=tests/support/frame.sh
source "$(dirname "$0")/../support/frame.sh"

bin=$(realpath "$1")
source=$(cd "$(dirname "$0")/../.." && pwd)
where=${3:-simulated}
folder=$(realpath -m "$2")/extremes
tried=0
work_in "$folder"

judge() # NAME FOLDER: check that each row of the table is finite, without failed checks
{
    local summary="$2/summary.csv" odd
    [[ -s $summary ]] || { complain "$1: no $summary"; return; }
    # Only look below the comment lines, since the command there may contain anything.
    odd=$(grep -v '^#' "$summary" | grep -iE '(^|,)[-+]?(nan|inf)[^,]*(,|$)')
    [[ -z $odd ]] || complain "$1: $odd"
    odd=$(grep -v '^#' "$summary" | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["wrong"] > 0 || !($at["slowest_step_ms"] > 0) { print "case " $at["case"] ": step " $at["slowest_step_ms"] ", wrong " $at["wrong"] }')
    [[ -z $odd ]] || complain "$1: $odd"
}

works() # LAB OPTION...: run the lab with these options and judge its results
{
    local lab=$1 said out=${results:-results} status
    shift
    ((++tried))
    rm -rf "$out"
    if [[ $where == real ]]; then
        "$bin/$lab" --backend mpi --ranks 2 --rounds 1 --out "$out" "$@" >said 2>complaints </dev/null
    else
        "$bin/$lab" --platform blog --rounds 1 --out "$out" "$@" >said 2>complaints </dev/null
        out+=/platforms/blog
    fi
    status=$?
    said=$(tail -1 complaints)
    ((status == 0)) || { complain "$lab $*: status $status: $said"; return; }
    judge "$lab $*" "$out/$lab"
}

refused() # WORD LAB OPTION...: check for exit status 2, and one line that names the word
{
    local word=$1 lab=$2
    shift 2
    ((++tried))
    "$bin/$lab" --dry-run "$@" >said 2>complaints </dev/null
    local status=$?
    ((status == 2)) || complain "$lab $*: status $status, not 2"
    [[ $(wc -l <complaints) -eq 1 && $(<complaints) == *"$word"* ]] || complain "$lab $*: does not name $word: $(<complaints)"
}

mapfile -t labs < <(cd "$source/expected" && printf '%s\n' [0-9][0-9]_*.csv | sed 's/\.csv$//')
one=(--steps 1 --skip-first-steps 0)
tiny=(--batch-size 1 --hidden-dim 1 --num-classes 2)

facts_of() # LAB
{
    name=$1
    # shellcheck source=tests/labs/facts.sh
    source "$source/tests/labs/facts.sh"
}

if [[ $where == real ]]; then
    for lab in "${labs[@]}"; do
        facts_of "$lab"
        works "$lab" "${tiny[@]}" "${one[@]}" "${smallest[@]}"
    done
    ((failed)) || echo "$tried settings tried with real ranks: right."
    exit "$failed"
fi

for lab in "${labs[@]}"; do
    facts_of "$lab"
    works "$lab" "${tiny[@]}" "${few_steps[@]}" "${smallest[@]}"
    works "$lab" "${one[@]}" --ranks 1 --seconds 0
    works "$lab" "${one[@]}" --cases "$asked"
    refused "--skip-first-steps 3" "$lab" --steps 3 --skip-first-steps 3 # only warm-up
    refused "--skip-first-steps 2" "$lab" --steps 1
    refused "GB of memory" "$lab" --backend mpi --ranks 1024 "${largest[@]}"
done
works 01_straggler --cases chance --chance 0 --steps 3
works 01_straggler --cases chance --chance 1 --steps 3
works 01_straggler --cases skew_every_k --sync-every 1000 --steps 3
works 02_rank0_host --cases sleep_every_n --barrier-every 100 --seldom 1 --steps 12 # more steps to the first barrier than in the run
works 05_token_skew --cases packed --num-heads 48 --steps 3
works 05_token_skew --cases packed --outlier-prob 1 --steps 3
works 03_comm_bound --cases comm_buckets --comm-mb 128 --bucket-mb 1 --steps 3 # the most buckets
refused "--bucket-mb 1" 03_comm_bound --comm-mb 129 --bucket-mb 1
refused "--comm-mb 0" 03_comm_bound --comm-mb 0
refused "--vocab-size 1" 05_token_skew --vocab-size 1
refused "--batch-size 1" 04_small_work --batch-size 1
refused "--min-seq-len 9" 05_token_skew --min-seq-len 9 --max-seq-len 8

# Sixty-four ranks, on any number of cores.
((++tried))
"$bin/01_straggler" --platform gpu_cluster_400g --ranks 64 --rounds 1 --cases skew_ws4 "${one[@]}" >said 2>&1 </dev/null ||
    complain "64 ranks: $(tail -1 said)"
judge "64 ranks" results/platforms/gpu_cluster_400g/01_straggler

# Folders with unusual names, and charts of the smallest run.
for name in "a b" "it's \"quoted\"" "größe ☃" "100%s"; do
    results=$name/results works 01_straggler --cases skew_ws4 --cases skew_prefetch "${one[@]}"
    printed=$(gnuplot -e "results='${name//\'/\'\'}/results/platforms/blog/01_straggler'" "$source/plots/01_straggler.gp" 2>&1) ||
        complain "$name: gnuplot: $printed"
done

((failed)) || echo "$tried settings tried: all work, or are refused with the reason."
exit "$failed"
