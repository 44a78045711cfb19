#!/usr/bin/env bash
# usage: best_bucket_test.sh LAB PLATFORMS FOLDER: check on every modelled machine that the predicted size of buckets is within a factor of two of the
# sizes whose steps are the shortest, and its step within 3 % of the shortest (best.csv of lab 09); that each cure of a mistake costs what is
# predicted, and not more where the mistake's cause is there (cures.csv). Works in FOLDER/best_bucket.
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
        { rows++; if (!($at["cap_factor"] <= 2 && $at["over_shortest"] <= 0.03 && $at["step_at_pair_ms"] <= 1.01 * $at["step_at_predicted_ms"])) bad = 1 }
        END { exit bad || rows != 1 }' "$best" || complain "$(basename "$platform")" "$(grep -v '^#' "$best")"
    # Jitter moves a step that begins later; the tolerance is a small part of the step.
    awk -F, '
        /^#/ { next }
        !seen { for (i = 1; i <= NF; i++) at[$i] = i; seen = 1; next }
        { rows++; off = $at["price_ms"] - $at["predicted_price_ms"]; small = 0.0003 * $at["step_ms"]
          if (off * off > small * small) bad = 1
          if ($at["caused_price_ms"] != "" && !($at["caused_price_ms"] <= 1.05 * $at["predicted_caused_ms"] + small)) bad = 1
          if ($at["cure"] == "find_unused" && !($at["predicted_price_ms"] > 0)) bad = 1 }
        END { exit bad || rows != 9 }' "${best%best.csv}cures.csv" ||
        complain "cures on $(basename "$platform")" "$(grep -v '^#' "${best%best.csv}cures.csv")"
done
wide=results/wide/platforms/gpu_node/09_ddp_inside/best.csv
"$lab" --platform "$platforms/gpu_node.xml" --hidden-dim 2048 --rounds 2 --out results/wide </dev/null >out 2>err || complain "wide layers" "$(<err)"
awk -F, '/^#/ { next } !seen { for (i = 1; i <= NF; i++) at[$i] = i; seen = 1; next }
    { exit !($at["pair_first_bytes"] < $at["pair_cap_bytes"] && $at["step_at_pair_ms"] < 0.98 * $at["step_at_predicted_ms"] &&
             $at["step_at_pair_ms"] < 1.02 * $at["predicted_pair_ms"]) }' "$wide" || complain "a pair that is no better" "$(grep -v '^#' "$wide")"
((machines >= 7)) || complain "only $machines machines"
((failed)) || echo "The predicted buckets are best on $machines machines."
exit "$failed"
