#!/usr/bin/env bash
# usage: platforms_test.sh PLATFORMS FOLDER LAB01 LAB05: check that every machine of PLATFORMS can be simulated with both models
# and describes itself, that machines with the same processors have the same costs, and that messages of the clusters take the
# right links. Works in FOLDER.
set -uo pipefail

# shellcheck source=tests/support/frame.sh
source "$(dirname "$0")/../support/frame.sh"

platforms=$(realpath "$1")
folder=$(realpath -m "$2")
labs=("$(realpath "$3")" "$(realpath "$4")")
cases=(skew_ws4 variable_sample_ws4)

is_whole() # SUMMARY: true if it has two cases with times, and `wrong` is blank, since nothing was computed
{
    awk -F, "$by_column"'
        $at["device"] == "model" && $at["slowest_step_ms"] > 0 && $at["wrong"] == "" { whole++ }
        END { exit whole != 2 || NR < 4 }' "$1"
}

costs() # FILE: print the lines with costs of work
{
    grep -E '<prop id="[a-z_]+_s"' "$1"
}

work_in "$folder"
one_rank=(blog_gpu) # machines of labs with one rank; the labs here have more
for file in "$platforms"/*.xml; do
    name=$(basename "$file" .xml)
    if [[ " ${one_rank[*]} " == *" $name "* ]]; then
        exits 77 "${labs[0]}" --platform "$name" --out results
        says "--ranks 4, but platform $name takes 1"
        said=
        exits 0 "${labs[0]}" --platform "$name" --ranks 1 --quick --cases "${cases[0]}" --out results
        said=
        continue
    fi
    for i in 0 1; do
        lab=${labs[i]##*/}
        began=$SECONDS
        "${labs[i]}" --platform "$name" --quick --cases "${cases[i]}" --out results </dev/null >out 2>&1 ||
            complain "$name, $lab: status $?" "$(<out)"
        is_whole "results/platforms/$name/$lab/summary.csv" || complain "$name, $lab: summary.csv"
        printf '%-18s %-14s %d s\n' "$name" "$lab" $((SECONDS - began))
    done
    grep -q "^Simulated, platform $name: [a-z0-9]" out || complain "$name does not say what it is"
    sed -n '3{ /^<!-- [A-Z0-9]/p; q; }' "$file" | grep -q . || complain "$name: no comment at the top"
done
for others in "gpu_node gpu_cluster_400g gpu_cluster_100g" "two_hosts slow_node infinite_network"; do
    read -r first others <<<"$others"
    [[ $(costs "$platforms/$first.xml") == *mlp_backward* ]] || complain "$first: no costs"
    for other in $others; do
        cmp <(costs "$platforms/$first.xml") <(costs "$platforms/$other.xml") || complain "work costs more on $other"
    done
done

# Recursive doubling of x bytes on two nodes: three exchanges within a node, and one between nodes by all eight GPUs at once.
between() # NAME BYTES-PER-SECOND: check the times, with this bandwidth per GPU between nodes
{
    "${labs[0]}" --platform "$1" --ranks 16 --input-dim 64 --hidden-dim 64 --num-classes 64 --batch-size 4 --card-mb 16 \
        --algorithm recursive-doubling --card-only --out ways </dev/null >out 2>&1 || complain "$1: status $?" "$(<out)"
    awk -F, -v each="$2" '$1 == "allreduce_s" && $2 == 16 {
            seconds = 3 * (1.9e-6 + $3 / 380e9) + 4e-6 + $3 / each
            points++
            if ($4 < 0.995 * seconds || $4 > 1.005 * seconds) { print $3 " bytes: " $4 " s, not " seconds; off = 1 }
        }
        END { exit off || points < 8 }' "ways/platforms/$1/machine.csv" || complain "$1: the ways of messages"
}
between gpu_cluster_400g 50e9
between gpu_cluster_100g 1.5625e9 # an eighth of 12.5e9

((failed)) || echo "Every machine can be simulated."
exit "$failed"
