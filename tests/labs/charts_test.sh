#!/usr/bin/env bash
# usage: charts_test.sh LAB FOLDER: check that the charts of a lab are drawn whole, without messages and overlapping texts, at
# extremes: one rank, so many ranks that lanes are shared, zeros, steps of seconds, no intervals, one case, blank cells. Runs
# on modelled machines; works in FOLDER/charts.
set -uo pipefail

# shellcheck source=tests/support/frame.sh
source "$(dirname "$0")/../support/frame.sh"
# shellcheck source=tests/labs/draw.sh
source "$(dirname "$0")/draw.sh"

try() # NAME PLATFORM OPTION...: run the lab with these options and draw its charts
{
    "$lab" --platform "$2" --out "$1" --rounds 1 "${@:3}" >said 2>&1 </dev/null || { complain "$1: $(tail -1 said)"; return; }
    draw "$1/platforms/$2/$name" "$name" "${formats[$1]-svg}"
}

# The script of the charts names cases that the lab has.
script=$source/plots/$name.gp
timeline_cases=$(sed -nE 's/^timeline_cases = "(.*)"$/\1/p' "$script")
[[ -n $timeline_cases ]] || complain "$script sets no timeline_cases"
known=" $("$lab" --help | sed -nE '1,/^usage/s/^  ([a-z0-9_]+) .*/\1/p' | tr '\n' ' ')"
for case in $timeline_cases $(grep -oE '\bcase("\])? (eq|==) "[a-z0-9_]+"' "$script" | sed 's/.* "\(.*\)"/\1/'); do
    [[ $known == *" $case "* ]] || complain "$script names the case $case, which the lab does not have"
done

declare -A formats=([published]='svg png')
# shellcheck source=tests/labs/facts.sh
source "$source/tests/labs/facts.sh"
try one-rank blog "${few_steps[@]}" --ranks 1
try published blog --rounds 2 "${several[@]}"
try twelve-ranks blog "${toy[@]}" "${few_steps[@]}" --ranks 12
try short blog "${few_steps[@]}" "${shortest[@]}" --quick
try long blog "${few_steps[@]}" "${longest[@]}"
try one-case blog "${few_steps[@]}" --cases "$asked"
try many-ranks gpu_cluster_400g "${toy[@]}" "${few_steps[@]}" --ranks 24 "${drawn[@]/#/--cases=}"
awk -F, '!/^#/ && $4 + 0 > $3 + 0 { shared = 1 } END { exit !shared }' "many-ranks/platforms/gpu_cluster_400g/$name/lanes.csv" ||
    complain "many ranks share no lane"
grep -q '>ranks [0-9]' "many-ranks/platforms/gpu_cluster_400g/$name/timeline.svg" || complain "a shared lane has no name"

# Every case has a label of its own: short, and without signs that tables or lists of words would have to escape.
results=published/platforms/blog/$name
mapfile -t names < <(awk -F, "$by_column"'{ print $at["case"] }' "$results/summary.csv")
mapfile -t labels < <(awk -F, "$by_column"'{ print $at["label"] }' "$results/summary.csv")
[[ -z $(printf '%s\n' "${labels[@]}" | sort | uniq -d) ]] || complain "two cases have one label"
steps=$(<"$results/step_time.svg") lanes=$(<"$results/timeline.svg")
for i in "${!names[@]}"; do
    label=${labels[i]}
    [[ -n $label && $label != *[,_~\"]* && ${#label} -le 36 ]] || complain "${names[i]} has the label '$label'"
    # step_time has all cases, each with its name in small print, and fixes below their fault.
    [[ $steps == *">${names[i]}<"* ]] || complain "step_time.svg does not name ${names[i]}"
    [[ $steps == *">$label<"* || $steps == *">+ ${label#* + }<"* ]] || complain "step_time.svg lacks the label $label"
    [[ " $timeline_cases " != *" ${names[i]} "* || $lanes == *"bold\" >$label<"* ]] || complain "timeline.svg lacks the label $label"
done
for text in "${charted[@]}"; do
    grep -qe "${text#* }" "$results/${text%% *}.svg" || complain "${text%% *}.svg does not say '${text#* }'"
done

# Tables that only real ranks write: those of a run with few rounds, in measured/LAB, stand for them. A chart needs its own table only. Later
# launches add rounds and write no such tables: the charts stay.
with_measured() # FOLDER PROGRAM: the charts of the run with these tables, changed by awk
{
    local table
    mkdir "$1" && cp "$results"/*.csv "$1"
    for table in "$measured"/*.csv; do
        { grep '^# settings: ' "$results/summary.csv"; awk -F, -v OFS=, "$2" "$table"; } >"$1/${table##*/}"
    done
    draw "$1" "$name" svg
}
measured=$source/tests/labs/measured/$name
# shellcheck disable=SC2016 # programs of awk
if [[ -d $measured ]]; then
    with_measured whole 1
    for text in "${charted_measured[@]}"; do
        grep -qe "${text#* }" "whole/${text%% *}.svg" || complain "with measured tables, ${text%% *}.svg does not say '${text#* }'"
    done
    with_measured one-row 'NR <= 2'
    with_measured no-row 'NR <= 1'
    with_measured zeros 'NR > 1 { for (i = 3; i <= NF; i++) $i = 0 } { print }'
    with_measured unpredicted 'NR == 1 { for (i = 1; i <= NF; i++) is_one[i] = $i ~ /predicted/ } NR > 1 { for (i in is_one) if (is_one[i]) $i = "" } { print }'
    with_measured slow-machine 'NR == 1 { for (i = 1; i <= NF; i++) is_share[i] = $i ~ /share/ }
        NR > 1 { for (i = $1 ~ /^[a-z]/ ? 3 : 2; i <= NF; i++) $i = is_share[i] ? $i : $i * 1000 } { print }'
    for table in "$measured"/*.csv; do
        table=${table##*/}
        cp -r whole "without-$table"
        rm "without-$table/$table" "without-$table"/*.svg
        draw "without-$table" "$name" svg
        [[ $(diff <(cd whole && cksum ./*.svg) <(cd "without-$table" && cksum ./*.svg) | grep -c '^[<>]') == 1 ]] ||
            complain "without $table, other charts than its own differ"
    done
fi

# The report has a colour on dark pages for every grey of a chart.
known_greys=" 1 254 $(grep -oE '\{ [0-9]+, "var' "$source/tools/report/svg.c" | tr -dc '0-9\n' | tr '\n' ' ')"
for grey in $(cat "$results"/*.svg | grep -oE 'rgb\( *([0-9]+), *\1, *\1 *\)' | tr -dc '0-9,\n' | cut -d , -f 1 | sort -u); do
    [[ $known_greys == *" $grey "* ]] || complain "a chart has the grey $grey, which tools/report/svg.c does not know"
done

# Published times are another machine's: charts hold only their ratios, so a machine ten times as slow gives the same charts.
cp -r "$results" slower
awk -F, -v OFS=, '/^#/ { print; next }
    !seen { seen = 1; for (i = 1; i <= NF; i++) if ($i == "slowest_step_ms" || $i == "samples_per_s" || $i == "useful_tokens_per_s") scale[i] = 1; print; next }
    { for (i in scale) if ($i != "") $i = $i "e1"; print }' "$source/expected/blog.csv" >slower.csv
said=$("$source/plots/draw.sh" "$name" slower "formats = 'svg'; blog = '$PWD/slower.csv'" 2>&1) || complain "slower: $said"
for chart in "$results"/*.svg; do
    cmp -s "$chart" "slower/${chart##*/}" || complain "${chart##*/} shows published milliseconds"
done
said=

# A ratio whose interval contains 1 is not resolved.
cp -r "$results" unresolved
awk -F, -v OFS=, -v one="$asked" '/^#/ { print; next } !seen { seen = 1; for (i = 1; i <= NF; i++) at[$i] = i; print; next }
    $at["case"] == one { $at["vs_baseline_low"] = 0.9; $at["vs_baseline_high"] = 1.1 } { print }' "$results/summary.csv" >unresolved/summary.csv
draw unresolved "$name" svg
[[ $(grep -c '>not resolved<' unresolved/step_time.svg) == $((1 + $(grep -c '>not resolved<' "$results/step_time.svg"))) ]] ||
    complain "an interval that contains 1 is not called 'not resolved'"

# A case with failed checks has no numbers. If arrivals are hidden, wait and transfer are blank.
cp -r "published/platforms/blog/$name" blanks
for table in summary ranks rounds; do
    awk -F, -v OFS=, -v one="$asked" '/^#/ { print; next }
        !seen { seen = 1; for (i = 1; i <= NF; i++) name[i] = $i; print; next }
        { wrong = $1 == one || $2 == one
          for (i = 1; i <= NF; i++)
              if (wrong && name[i] ~ /_ms$|_per_s$|vs_|eff|blamed/ || name[i] ~ /^(wait|transfer)_ms$/) $i = ""
          print }' "published/platforms/blog/$name/$table.csv" >"blanks/$table.csv"
done
sed -E '/^# explanation/d; s/,(wait|transfer),/,exposed,/' "published/platforms/blog/$name/lanes.csv" >blanks/lanes.csv
rm -f blanks/*.svg blanks/*.png
draw blanks "$name" svg
grep -q 'wait or transfer' blanks/timeline.svg || complain "what is exposed has no place in the legend"

((failed)) || echo "The charts of $name are whole, and no text lies on another."
exit "$failed"
