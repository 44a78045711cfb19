#!/usr/bin/env bash
# usage: charts_test.sh LAB FOLDER: check that the charts of a lab are drawn whole, without messages and overlapping texts, at
# extremes: one rank, so many ranks that lanes are shared, zeros, steps of seconds, no intervals, one case, blank cells. Runs
# on modelled machines; works in FOLDER/charts.
set -uo pipefail

# shellcheck source=tests/support/frame.sh
source "$(dirname "$0")/../support/frame.sh"

lab=$(realpath "$1")
name=$(basename "$lab")
source=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(realpath -m "$2")/charts
export LC_ALL=C.UTF-8
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder" || exit 1

draw() # RESULTS [SCRIPT]: draw and check all charts of these results
{
    local said chart drawn=0
    said=$("$source/plots/draw.sh" "${2:-$name}" "$1" 2>&1) || complain "$1: status $?"
    [[ -z $said ]] || complain "$1: gnuplot says: $said"
    for chart in "$1"/*.svg; do
        [[ -s ${chart%.svg}.png ]] || complain "$chart has no PNG"
        said=$(LC_ALL=C awk -f "$source/tests/labs/overlap.awk" "$chart") || complain "$said"
        ((++drawn))
    done
    ((drawn >= 3)) || complain "$1: $drawn charts"
}

try() # NAME PLATFORM OPTION...: run the lab with these options and draw its charts
{
    "$lab" --platform "$2" --out "$1" --rounds 2 "${@:3}" >said 2>&1 </dev/null || { complain "$1: $(tail -1 said)"; return; }
    draw "$1/platforms/$2/$name"
}

few=(--steps 6)
case $name in
01_straggler) one=skew_ws4 story=(skew_ws4 skew_prefetch) short=(--sleep-ms 0) long=(--sleep-ms 5000) ;;
02_rank0_host) one=barrier_ws4 story=(barrier_ws4 sleep_helper) short=(--barrier-sleep-ms 0) long=(--barrier-sleep-ms 5000) ;;
03_comm_bound) one=comm_ws4 story=(comm_ws4 comm_buckets) short=(--comm-mb 1) long=(--comm-mb 256) ;;
04_small_work) one=small_ws4 story=(weak_ws1 weak_ws2 small_ws4) short=(--batch-size 4) long=(--batch-size 4096) ;;
05_token_skew) one=variable_sample_ws4 story=(variable_sample_ws4 global_bucket) short=(--batch-size 1) long=(--batch-size 64) few=() ;;
06_ring_allreduce) one=by_gather story=(by_gather by_ring) short=(--sweep-mb 1) long=(--sweep-mb 64) ;;
*) complain "says nothing of $name" ;;
esac
try one-rank blog "${few[@]}" --ranks 1
try published blog
try twelve-ranks blog "${few[@]}" --ranks 12
try short blog "${few[@]}" "${short[@]}" --quick
try long blog "${few[@]}" "${long[@]}"
try one-case blog "${few[@]}" --cases "$one"
try many-ranks gpu_cluster_400g "${few[@]}" --ranks 24 $(printf -- '--cases %s ' "${story[@]}")
awk -F, '!/^#/ && $4 + 0 > $3 + 0 { shared = 1 } END { exit !shared }' "many-ranks/platforms/gpu_cluster_400g/$name/lanes.csv" ||
    complain "many ranks share no lane"
grep -q '>ranks [0-9]' "many-ranks/platforms/gpu_cluster_400g/$name/timeline.svg" || complain "a shared lane has no name"

# A case with failed checks has no numbers. If arrivals are hidden, wait and transfer are blank.
cp -r "published/platforms/blog/$name" blanks
for table in summary ranks rounds; do
    awk -F, -v OFS=, -v one="$one" '/^#/ { print; next }
        !seen { seen = 1; for (i = 1; i <= NF; i++) name[i] = $i; print; next }
        { wrong = $1 == one || $2 == one
          for (i = 1; i <= NF; i++)
              if (wrong && name[i] ~ /_ms$|_per_s$|vs_|eff|blamed/ || name[i] ~ /^(wait|transfer)_ms$/) $i = ""
          print }' "published/platforms/blog/$name/$table.csv" >"blanks/$table.csv"
done
sed -E '/^# told/d; s/,(wait|transfer),/,exposed,/' "published/platforms/blog/$name/lanes.csv" >blanks/lanes.csv
rm -f blanks/*.svg blanks/*.png
draw blanks
grep -q 'wait or transfer' blanks/timeline.svg || complain "what is exposed has no place in the legend"

# The name of the folder does not matter.
odd="it's \$(touch x) \`touch y\` \"here\""
cp -r "published/platforms/blog/$name" "$odd"
rm -f "$odd"/*.svg "$odd"/*.png
draw "$odd"
[[ ! -e x && ! -e y ]] || complain "the name of the folder is executed"
for chart in "published/platforms/blog/$name"/{timeline,step_time,breakdown}.svg; do
    cmp -s "$chart" "$odd/${chart##*/}" || complain "$chart is another one in a folder with an odd name"
done

# Case names are not patterns: the sentence about base-line is not used for base.line.
cp -r "published/platforms/blog/$name" alike
rm -f alike/*.svg alike/*.png
first=$(awk -F, '/^#/ { next } seen++ { print $2; exit }' alike/summary.csv)
sed -i "s/\b$first\b/base.line/" alike/{summary,ranks,rounds,lanes}.csv
sed -i '1i # told of base-line: of another case' alike/lanes.csv
draw alike blame
! grep -q "of another case" alike/timeline.svg || complain "what is told of one case stands over another"
grep -q "base.line" alike/timeline.svg || complain "the case is not drawn"

# overlap.awk notices overlapping texts.
sed 's/>rank 1</>rank 0</; s/translate([0-9.]*,[0-9.]*)/translate(400,300)/' published/platforms/blog/"$name"/timeline.svg >planted.svg
! LC_ALL=C awk -f "$source/tests/labs/overlap.awk" planted.svg >said || complain "texts on each other are not noticed"

((failed)) || echo "The charts of $name are whole, and no text lies on another."
exit "$failed"
