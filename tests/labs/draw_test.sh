#!/usr/bin/env bash
# usage: draw_test.sh LAB FOLDER: check what all charts share, with those of one lab on a modelled machine: odd names of folders
# and cases, and the check for overlapping texts. Works in FOLDER/charts.
set -uo pipefail

# shellcheck source=tests/support/frame.sh
source "$(dirname "$0")/../support/frame.sh"
# shellcheck source=tests/labs/draw.sh
source "$(dirname "$0")/draw.sh"

exits 0 "$lab" --platform blog --out published --rounds 2 --steps 6
said=
results=published/platforms/blog/$name
draw "$results" "$name" svg

# The name of the folder does not matter.
odd="it's \$(touch x) \`touch y\` \"here\""
cp -r "$results" "$odd"
rm -f "$odd"/*.svg "$odd"/*.png
draw "$odd" "$name" svg
[[ ! -e x && ! -e y ]] || complain "the name of the folder is executed"
for chart in "$results"/{timeline,step_time,breakdown}.svg; do
    cmp -s "$chart" "$odd/${chart##*/}" || complain "$chart is another one in a folder with an odd name"
done

# Case names are not patterns: the sentence about base-line is not used for base.line.
cp -r "$results" alike
rm -f alike/*.svg alike/*.png
first=$(awk -F, '/^#/ { next } seen++ { print $2; exit }' alike/summary.csv)
sed -i "s/\b$first\b/base.line/" alike/{summary,ranks,rounds,lanes}.csv
sed -i '1i # told of base-line: of another case' alike/lanes.csv
draw alike blame svg
! grep -q "of another case" alike/timeline.svg || complain "what is told of one case stands over another"
grep -q "base.line" alike/timeline.svg || complain "the case is not drawn"

# overlap.awk notices overlapping texts.
sed 's/>rank 1</>rank 0</; s/translate([0-9.]*,[0-9.]*)/translate(400,300)/' "$results"/timeline.svg >planted.svg
! overlaps planted.svg >/dev/null || complain "texts on each other are not noticed"

((failed)) || echo "Charts do not depend on the names of folders and cases."
exit "$failed"
