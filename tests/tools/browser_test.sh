#!/usr/bin/env bash
# usage: browser_test.sh BIN SOURCE FOLDER: check the report in a browser. All labs run on the blog's simulated machine, which
# takes little time. Debian's chromium shows their charts and pages, 390 and 1440 pixels wide, light and dark. Skips (77) without
# chromium. Works in FOLDER/browser.
set -uo pipefail

# shellcheck source=tests/support/frame.sh
source "$(dirname "$0")/../support/frame.sh"

bin=$1
source=$2
folder=$3/browser

browser=$(command -v chromium || command -v chromium-headless-shell) || {
    echo "no browser to look with: chromium is not installed (Debian: apt-get install chromium)"
    exit 77
}

rm -rf "$folder"
mkdir -p "$folder/results" "$folder/pages"
for lab in "$source"/expected/[0-9][0-9]_*.csv; do
    lab=$(basename "$lab" .csv)
    command -v smpirun >/dev/null || break # then only check the lessons
    guess=()
    [[ $lab != 01_* ]] || guess=(--guess skew_ws4=100)
    "$bin/$lab" --platform "$source/platforms/blog.xml" --out "$folder/results" "${guess[@]}" >"$folder/$lab.log" 2>&1 </dev/null ||
        complain "$lab: $(tail -n 1 "$folder/$lab.log")"
    gnuplot -e "results='$folder/results/platforms/blog/$lab'" "$source/plots/$lab.gp" >"$folder/$lab.gp.log" 2>&1 ||
        complain "charts of $lab: $(<"$folder/$lab.gp.log")"
done
if [[ -d $folder/results/platforms/blog ]]; then
    "$bin/blog_machine" --results "$folder/results" --expected "$source/expected" >"$folder/blog_machine.log" 2>&1
    gnuplot -e "results='$folder/results/platforms/blog'" "$source/plots/blog.gp" >"$folder/blog.gp.log" 2>&1 ||
        complain "chart of the blog's machine: $(<"$folder/blog.gp.log")"
    # Use the same results for dedicated cores, so that there are verdicts; the verdicts do not matter here.
    cp -r "$folder/results/platforms/blog" "$folder/results/platforms/dedicated-cores"
    "$bin/claims" --results "$folder/results" --expected "$source/expected" --tables >"$folder/claims.log" 2>&1
    [[ -s $folder/results/closing.csv ]] || complain "nothing was judged: $(tail -n 1 "$folder/claims.log")"
fi
"$bin/report" --results "$folder/results" --sources "$source" >"$folder/report.log" 2>&1 || complain "$(<"$folder/report.log")"

# The page that blame writes about a job
"$bin/blame" "$source/tests/tools/torch_spans.csv" --out "$folder/blame" >"$folder/blame.log" 2>&1
cp "$folder/blame/page.html" "$folder/results/blame.html" || complain "blame wrote no page: $(tail -n 1 "$folder/blame.log")"

# Copy each page with a script that reports problems, and make a page that shows all of them at both widths.
pages=0
{
    echo '<!DOCTYPE html><title>pages</title><pre id="found"></pre><script>'
    echo 'addEventListener("message", e => document.getElementById("found").append(JSON.stringify(e.data) + "\n"));</script>'
    for page in "$folder"/results/*.html; do
        name=$(basename "$page")
        awk 'FNR == NR { probe = probe $0 "\n"; next } { print } /<head>/ { print "<script>\n" probe "</script>" }' \
            "$source/tests/tools/browser/probe.js" "$page" >"$folder/pages/$name"
        for width in 390 1440; do
            echo "<iframe src='pages/$name' width='$width' height='800' style='border: 0'></iframe>"
            pages=$((pages + 1))
        done
    done
} >"$folder/all.html"
for scheme in 0 1; do # dark, light
    "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --user-data-dir="$folder/profile" \
        --blink-settings=preferredColorScheme=$scheme --window-size=1600,1200 --enable-logging=stderr \
        --virtual-time-budget=30000 --timeout=60000 --dump-dom "file://$folder/all.html" \
        >"$folder/found-$scheme.html" 2>"$folder/browser-$scheme.log" || complain "the browser ended with status $?"
    found=$(grep -oE '\{"page":.*\}' "$folder/found-$scheme.html" | sed 's/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g')
    (($(grep -c . <<<"$found") == pages)) ||
        complain "of $pages pages $(grep -c . <<<"$found") were looked at; see $folder/browser-$scheme.log"
    (($(grep -c '"dark":true' <<<"$found") == (scheme == 0 ? pages : 0))) || complain "dark pages are not dark, or light ones are"
    trouble=$(grep -v '"complaints":\[\]' <<<"$found")
    [[ -z $trouble ]] || complain "$trouble"
    console=$(grep CONSOLE "$folder/browser-$scheme.log")
    [[ -z $console ]] || complain "$console"
done
# The cheat sheet is printed on one page.
"$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --user-data-dir="$folder/profile" --no-pdf-header-footer \
    --print-to-pdf="$folder/cheat_sheet.pdf" "file://$folder/results/cheat_sheet.html" 2>"$folder/browser-print.log" ||
    complain "printing ended with status $?"
printed=$(grep -aoE '/Count [0-9]+' "$folder/cheat_sheet.pdf" | head -n 1)
[[ $printed == '/Count 1' ]] || complain "the cheat sheet takes more than one page of paper: ${printed:-no page}"

((failed)) || echo "$((pages / 2)) pages, at two widths, light and dark: a browser finds nothing wrong."
exit "$failed"
