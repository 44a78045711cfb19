#!/usr/bin/env bash
# usage: transformer_test.sh LAB FOLDER SIMULATED: nothing in a lab or in the frame depends on the trained model. LAB was
# built with the transformer in place of its MLP. Every case must train on two real ranks without failed checks; if SIMULATED is not
# empty, every formula must also hold on the machine of round numbers, within what a case of random stalls may deviate. Works in
# FOLDER.
set -uo pipefail

# shellcheck source=tests/support/frame.sh
source "$(dirname "$0")/../support/frame.sh"
tests=$(realpath "$(dirname "$0")/..")
lab=$(realpath "$1")
name=$(basename "$lab")
# shellcheck source=tests/labs/facts.sh
source "$tests/labs/facts.sh"
own=("${toy[@]:8}") # options of the lab; the ones before are the size of its MLP
tiny=(--batch-size 4 --hidden-dim 8 --num-heads 2 --num-blocks 2 --vocab-size 40 --fixed-seq-len 6)

check() # SUMMARY CASES CONDITION: complain unless the table has CASES cases, and awk's condition holds for each
{
    said=$(awk -F, -v wanted="$2" "$by_column"'
        { cases++; wrong = $at["wrong"]; loss = $at["loss"]; ratio = $at["slowest_step_ms"] / $at["predicted_step_ms"] }
        !('"$3"') { print; bad = 1 }
        END { if (cases != wanted) { print cases + 0 " cases"; bad = 1 } exit bad }' "$1") || complain "$1: not $3"
}

work_in "$2"
exits 0 "$lab" "${tiny[@]}" "${own[@]}" --backend mpi --device cpu --ranks 2 --quick --out real
check "real/$name/summary.csv" "$cases" 'wrong "" == "0" && loss > 0 && loss < 5'
if [[ -n ${3-} ]]; then
    exits 0 "$lab" "${own[@]}" --platform "$tests/sim/round_numbers.xml" --out modelled
    check "modelled/platforms/round_numbers/$name/summary.csv" "$cases" 'ratio < 1.03 && ratio > 0.97'
fi

((failed)) || echo "$name trains a transformer as it trains its MLP."
exit "$failed"
