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

# Titles may have quotes of both kinds.
cp -r "$source/plots" "$source/expected" .
cp -r "$results" quotes
rm -f quotes/*.svg quotes/*.png
sed -i "s/^step_time_title = .*/step_time_title = \"One rank's stall is \\\\\"everyone's\\\\\"\"/" "plots/$name.gp"
exits 0 plots/draw.sh "$name" quotes "formats = 'svg'"
[[ -z $said ]] || complain "titles with quotes"
grep -qE 'One rank.{1,6}s stall is .{1,6}everyone.{1,6}s' quotes/step_time.svg || complain "a title with quotes is not drawn"
grep -qF "step_time,\"One rank's stall is \"\"everyone's\"\"\"," quotes/charts.csv || complain "a title with quotes breaks charts.csv"
said=

# A PNG can follow later, with the same list of charts. Only the one of earlier tables goes when the SVG is drawn again.
listed=$(<"$results/charts.csv")
exits 0 "$source/plots/draw.sh" "$name" "$results" "formats = 'png'"
[[ -s $results/timeline.svg && -s $results/timeline.png && $(<"$results/charts.csv") == "$listed" ]] || complain "a PNG after the SVG"
exits 0 "$source/plots/draw.sh" "$name" "$results" "formats = 'svg'"
[[ -s $results/timeline.svg && ! -e $results/timeline.png ]] || complain "a PNG of earlier tables is still there"
said=

# Case names are not patterns: the sentence about base-line is not used for base.line.
cp -r "$results" alike
rm -f alike/*.svg alike/*.png
first=$(awk -F, '/^#/ { next } seen++ { print $2; exit }' alike/summary.csv)
sed -i "s/\b$first\b/base.line/" alike/{summary,ranks,rounds,lanes}.csv
sed -i '1i # explanation of base-line: of another case' alike/lanes.csv
draw alike blame svg
! grep -q "of another case" alike/timeline.svg || complain "the explanation of one case stands over another"
grep -q "base.line" alike/timeline.svg || complain "the case is not drawn"

# overlap.awk notices overlapping texts.
sed 's/>rank 1</>rank 0</; s/translate([0-9.]*,[0-9.]*)/translate(400,300)/' "$results"/timeline.svg >planted.svg
! overlaps planted.svg >/dev/null || complain "texts on each other are not noticed"

((failed)) || echo "Charts do not depend on the names of folders and cases."
exit "$failed"
