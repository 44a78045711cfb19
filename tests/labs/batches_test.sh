#!/usr/bin/env bash
# usage: batches_test.sh LAB FOLDER published|recomputed: check that --print-batches of lab 05_token_skew prints the published
# batches (published_batches.csv), or what CPython computes with the same recipe (recipe.py). Works in FOLDER/batches.
set -uo pipefail

# shellcheck source=tests/support/frame.sh
source "$(dirname "$0")/../support/frame.sh"

lab=$(realpath "$1")
folder=$(realpath -m "$2")/batches
part=$3
tests=$(dirname "$(realpath "$0")")

run() { alone "$1" "$lab" --print-batches "${@:2}"; } # STATUS ARGUMENT...

rows() # CASE ARGUMENT...: check that the lab prints the published rows of this case only
{
    local name=$1
    shift
    run 0 "$@"
    grep -E "^(case|$name)," "$tests/published_batches.csv" | cmp - out || complain "$* is not $name alone"
}

refused() # ARGUMENT...: check for status 2, one line on standard error, nothing on standard output
{
    run 2 "$@"
    (($(wc -l <err) == 1)) || complain "$*: $(wc -l <err) lines on standard error, not 1"
    [[ ! -s out ]] || complain "$*: speaks on standard output"
}

published()
{
    (($(grep -c _ws4 "$tests/published_batches.csv") == 4 * 12 * 4)) || complain "not four cases, 12 steps, 4 ranks"
    run 0
    cmp "$tests/published_batches.csv" out || complain "not the published batches"
    [[ ! -s err ]] || complain "speaks on standard error: $(<err)"
    [[ ! -e results ]] || complain "made a folder for results"

    rows variable_sample_ws4 --strategy sample
    rows variable_bucket_ws4 --strategy bucket
    rows variable_token_ws4 --strategy token --length-mode variable
    rows fixed_sample_ws4 --length-mode fixed
    rows fixed_sample_ws4 --length-mode fixed --strategy sample
    rows 'variable_[a-z]+_ws4' --length-mode variable

    run 0 --steps 2 # too few steps to train and measure, but enough to print
    (($(wc -l <out) == 1 + 4 * 2 * 4)) || complain "--steps 2: $(wc -l <out) lines"

    local flag value
    while read -r flag value; do
        refused "$flag" "$value"
    done <<'END'
--strategy buckets
--strategy all,token
--length-mode uniform
--max-tokens-per-batch 0
--max-tokens-per-batch 12e9
--min-seq-len 0
--min-seq-len 257
--max-seq-len 63
--max-seq-len 65537
--fixed-seq-len -1
--outlier-prob 1.5
--outlier-prob nan
--vocab-size 1
--num-classes 1
--num-heads 5
--hidden-dim 47
--ranks 0
--batch-size 0
--steps 0
--seed -1
--seed 1.5
--seed 18446744073709551616
--print-batch 1
END
    refused --max-seq-len
    refused --print-batches=1
    refused --steps 100000 --batch-size 65536
}

recomputed()
{
    local python flags status
    if ! python=$(command -v python3) || ! "$python" -c 'import random' 2>err; then
        echo "skipped: no python3 that runs, so there is nothing to compare with"
        exit 77
    fi
    while read -r -a flags; do
        run 0 "${flags[@]}"
        "$python" "$tests/recipe.py" "${flags[@]}" >wanted 2>err
        status=$?
        ((status == 0)) || complain "recipe.py: $(<err)"
        cmp wanted out || complain "not CPython's: ${flags[*]}"
        (($(wc -l <out) > 1)) || complain "printed nothing: ${flags[*]}"
    done <<'END'
--seed 7
--seed 2026
--ranks 1
--ranks 2 --seed 0
--ranks 3 --seed 1 --max-tokens-per-batch 900
--ranks 8 --seed 2147483647
--ranks 2 --seed 2147483648
--ranks 3 --seed 4294967296 --max-tokens-per-batch 700
--seed 18446744073709551615
--ranks 3 --strategy bucket --seed 18446744073709550600
--ranks 5 --steps 30 --batch-size 3 --strategy token
--length-mode fixed --fixed-seq-len 77 --ranks 3 --strategy token
--length-mode fixed --strategy bucket --seed 7
--ranks 1 --steps 1 --skip-first-steps 0 --batch-size 1 --max-tokens-per-batch 420
--min-seq-len 100 --max-seq-len 100 --seed 3
--min-seq-len 1 --max-seq-len 2000 --outlier-prob 0 --strategy token --seed 5
--outlier-prob 1 --num-classes 1000 --seed 99
--outlier-prob 0.5 --num-classes 17 --max-tokens-per-batch 100 --seed 123456789
--max-tokens-per-batch 100000 --steps 3 --batch-size 2
END
}

work_in "$folder"
case $part in
published) published ;;
recomputed) recomputed ;;
*) complain "no such part: $part" ;;
esac
((failed)) || echo "The batches are the ${part} ones."
exit "$failed"
