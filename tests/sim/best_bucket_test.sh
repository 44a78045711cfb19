#!/usr/bin/env bash
# usage: best_bucket_test.sh RESULTS LAB SCRATCH_DIR: check the tables of lab 09 of every modelled machine, which the test digests leaves
# in RESULTS: that the predicted size of buckets is within a factor of two of the sizes whose steps are the shortest, and its step within
# 3 % of the shortest (best.csv); that each cure of a mistake costs what is predicted, and not more where the mistake's cause is there
# (cures.csv). Where layers are wide, check that a smaller first bucket makes the step shorter.
set -uo pipefail

# shellcheck source=tests/support/frame.sh
source "$(dirname "$0")/../support/frame.sh"

results=$(realpath "$1")
lab=$(realpath "$2")
work_in "$3"
machines=0
for tables in "$results"/platforms/*/09_ddp_inside; do
    machines=$((machines + 1))
    machine=$(basename "$(dirname "$tables")")
    best=$tables/best.csv
    awk -F, "$by_column"'
        { rows++
          if (!($at["cap_factor"] <= 2 && $at["over_shortest"] <= 0.03)) bad = 1
          if (!($at["step_at_pair_ms"] <= 1.01 * $at["step_at_predicted_ms"])) bad = 1 }
        END { exit bad || rows != 1 }' "$best" || complain "$machine" "$(grep -v '^#' "$best")"
    # Jitter moves a step that begins later; the tolerance is a small part of the step.
    awk -F, "$by_column"'
        { rows++; off = $at["price_ms"] - $at["predicted_price_ms"]; small = 0.0003 * $at["step_ms"]
          if (off * off > small * small) bad = 1
          if ($at["caused_price_ms"] != "" && !($at["caused_price_ms"] <= 1.05 * $at["predicted_caused_ms"] + small)) bad = 1
          if ($at["cure"] == "find_unused" && !($at["predicted_price_ms"] > 0)) bad = 1 }
        END { exit bad || rows != 9 }' "$tables/cures.csv" ||
        complain "cures on $machine" "$(grep -v '^#' "$tables/cures.csv")"
done
wide=results/wide/platforms/gpu_node/09_ddp_inside/best.csv
"$lab" --platform gpu_node --hidden-dim 2048 --rounds 2 --out results/wide </dev/null >out 2>err || complain "wide layers" "$(<err)"
awk -F, "$by_column"'
    { rows++; if (!($at["pair_first_bytes"] < $at["pair_cap_bytes"] && $at["step_at_pair_ms"] < 0.98 * $at["step_at_predicted_ms"] &&
                    $at["step_at_pair_ms"] < 1.02 * $at["predicted_pair_ms"])) bad = 1 }
    END { exit bad || rows != 1 }' "$wide" || complain "a pair that is no better" "$(grep -v '^#' "$wide")"
((machines >= 8)) || complain "only $machines machines"
((failed)) || echo "The predicted buckets are best on $machines machines."
exit "$failed"
