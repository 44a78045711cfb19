#!/usr/bin/env bash
# usage: best_bucket_test.sh LAB PLATFORMS FOLDER: check on every modelled machine that the predicted size of buckets is within a factor of two of the
# sizes whose steps are the shortest, and its step within 3 % of the shortest (best.csv of lab 09). Works in FOLDER/best_bucket.
set -uo pipefail

# shellcheck source=tests/support/frame.sh
source "$(dirname "$0")/../support/frame.sh"

lab=$(realpath "$1")
platforms=$(realpath "$2")
work_in "$(realpath -m "$3")/best_bucket"
machines=0
for platform in "$platforms"/*.xml; do
    "$lab" --platform "$platform" --rounds 2 --out results </dev/null >out 2>err
    case $? in
    0) ;;
    77) continue ;; # the machine takes fewer ranks than the lab has
    *) complain "$(basename "$platform")" "$(<err)"; continue ;;
    esac
    machines=$((machines + 1))
    best=results/platforms/$(basename "$platform" .xml)/09_ddp_inside/best.csv
    awk -F, "$by_column"'
        { rows++; if (!($at["cap_factor"] <= 2 && $at["over_shortest"] <= 0.03)) bad = 1 }
        END { exit bad || rows != 1 }' "$best" || complain "$(basename "$platform")" "$(grep -v '^#' "$best")"
done
((machines >= 7)) || complain "only $machines machines"
((failed)) || echo "The predicted buckets are best on $machines machines."
exit "$failed"
