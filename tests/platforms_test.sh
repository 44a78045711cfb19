#!/usr/bin/env bash
# usage: platforms_test.sh PLATFORMS FOLDER LAB01 LAB05: can every machine of PLATFORMS be simulated, with both models? Does
# each say what it is and where its numbers come from, and do machines of the same processors agree on what work costs?
# Works in FOLDER.
set -uo pipefail

platforms=$(realpath "$1")
folder=$(realpath -m "$2")
labs=("$(realpath "$3")" "$(realpath "$4")")
cases=(skew_ws4 variable_sample_ws4)
failed=0

complain() # TEXT...
{
    printf 'FAILED %s\n' "$@"
    failed=1
}

is_whole() # SUMMARY: two cases, timed, of which nothing was computed that could be wrong
{
    awk -F, '/^#/ { next } !seen { for (i = 1; i <= NF; i++) at[$i] = i; seen = 1; next }
        $at["device"] == "model" && $at["step_ms"] > 0 && $at["wrong"] == "" { whole++ }
        END { exit whole != 2 || NR < 4 }' "$1"
}

costs() # FILE: the lines that say what work costs
{
    grep -E '<prop id="[a-z_]+_s"' "$1"
}

rm -rf "$folder"
mkdir -p "$folder"
cd "$folder" || exit 1
for file in "$platforms"/*.xml; do
    name=$(basename "$file" .xml)
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

((failed)) || echo "Every machine can be simulated."
exit "$failed"
