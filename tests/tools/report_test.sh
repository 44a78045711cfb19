#!/usr/bin/env bash
# usage: report_test.sh REPORT SOURCE FOLDER: check that the report's pages are whole and show the numbers of the tables. Writes
# small results below FOLDER/report, with names that must be escaped in a page.
# shellcheck disable=SC1111 # curly quotes are those of the pages
set -uo pipefail

# shellcheck source=tests/support/frame.sh
source "$(dirname "$0")/../support/frame.sh"

report=$1
source=$2
folder=$3/report
results="$folder/it's here"

run() # STATUS ARGUMENT...: run the report and check its exit status; set `said` to its output
{
    exits "$1" "$report" "${@:2}"
}

has() # PAGE TEXT...: check that the page holds these texts
{
    local page=$1 text
    shift
    for text in "$@"; do
        grep -qF -- "$text" "$results/$page.html" || complain "$page.html lacks: $text"
    done
}

lacks() # PAGE TEXT: check that the page does not hold the text
{
    ! grep -qF -- "$2" "$results/$1.html" || complain "$1.html should not hold: $2"
}

# Write a chart like gnuplot's: with a title, a background, ids that other charts use too, black, grey and a colour.
chart() # FILE TEXT
{
    cat >"$1" <<END
<?xml version="1.0" encoding="utf-8"  standalone="no"?>
<svg
 width="960" height="300"
 viewBox="0 0 960 300"
 xmlns="http://www.w3.org/2000/svg"
 xmlns:xlink="http://www.w3.org/1999/xlink"
>
<title>Gnuplot</title>
<desc>Produced by GNUPLOT 5.4</desc>
<g id="gnuplot_canvas">
<rect x="0" y="0" width="960" height="300" fill="#ffffff"/>
<defs><path id='gpPt1' stroke='currentColor' d='M-1,0 h2'/></defs>
<pattern id='gpPat1'><path style='stroke:rgb(213,94,0)'/></pattern>
<g color="black" stroke="rgb( 102, 102, 102)" fill="rgb(1,1,1)"><use xlink:href='#gpPt1'/><path style='fill:url(#gpPat1)'/>
	<text>$2 &amp; more</text></g>
</g>
</svg>
END
}

place() # FOLDER PLATFORM STEP: write a lab's tables there; STEP is the time of the second case
{
    mkdir -p "$1"
    cat >"$1/summary.csv" <<END
# lockstep: 0.1.0
# command: 01_straggler --ranks 4 --seconds 9
# settings: 01_straggler --ranks 4
# machine: A <fast> "machine" & more
# ranks: 4
# backend: mpi (Open MPI)
# oversubscribed: 1
# asked: skew_ws4
# card: machine card   A <fast> machine, 2 cores
# card:   one rank steps alone in           24.0 ms
case,backend,platform,ranks,rounds,slowest_step_ms,predicted_step_ms,data_ms,local_ms,host_ms,wait_ms,transfer_ms,blamed_rank,blamed_wait_ms,vs_baseline,vs_baseline_low,vs_baseline_high,wrong,label
baseline,mpi,$2,4,6,30,31,1,19,0,0,10,,,1,,,0,baseline
skew_ws4,mpi,$2,4,6,$3,71,11,20,0,30,9,2,84,2.33,2.2,2.5,0,one rank sleeps
unclear,mpi,$2,4,6,31,31,1,19,0,1,10,,,1.03,0.9,1.2,0,
"<b>odd</b>",mpi,$2,4,6,77.77,31,1,19,0,1,10,,,1.03,0.9,1.2,1,
END
    printf '# settings: 01_straggler --ranks 4\na,b\n1.25,of this run\n' >"$1/sweep.csv"
    printf '# settings: 01_straggler --ranks 8\na,b\n1.25,of another run\n' >"$1/exposed.csv"
    printf '# explanation of skew_ws4: ranks 0, 1 and 3 wait 30 ms for rank 2\ncase,step\n' >"$1/lanes.csv"
    touch "$1"/{ranks,rounds,spans}.csv "$1/trace.json"
    chart "$1/timeline.svg" "timeline of $3"
    chart "$1/breakdown.svg" "breakdown of $3"
    chart "$1/old.svg" "chart of an earlier run"
    printf 'chart,title,axis,cases\ntimeline,"Title of the ""timeline""","axis (ms)",baseline skew_ws4\nbreakdown,Title of the breakdown,axis (ms),\n' >"$1/charts.csv"
}

rm -rf "$folder"
mkdir -p "$results"
run 0 --results "$results" --sources "$source" # before any run: lessons without numbers
has index "Not run yet" "Nothing was compared yet" "None yet"
has 01_straggler "the lab was not run yet" "The lesson's own picture" 'src="data:image/png;base64,iVBOR'

place "$results/01_straggler" here 70.4
place "$results/platforms/dedicated-cores/01_straggler" dedicated-cores 69.6
cat >"$results/runs.csv" <<'END'
what,status,reason
"02_rank0_host",failed,"a rank was ended by signal 9 (Killed): rank 2 <gone>"
"GPUs",skipped,"this build was made without CUDA"
END
cat >"$results/closing.csv" <<'END'
lab,case,published_ms,blog_machine_ms,dedicated_cores_ms,here_ms,oversubscribed,verdict,details
01_straggler,baseline,70.24,70.1,30,30.5,1,as predicted,"as predicted, within 4 % ± 3"
01_straggler,skew_ws4,,,30,30.5,0,wrong,"simulated: as predicted; here: WRONG: <id> off +22 % ± 5"
01_straggler,unclear,,,30,30.5,0,disturbed,disturbed: others had 31 % of the core
01_straggler,noisy,,,30,30.5,0,too noisy to tell,"too noisy: some_claim off +12 % ± 9, about 9 more rounds would tell"
01_straggler,<b>odd</b>,,,31,31.25,0,holds,holds
END
cat >"$results/claims.csv" <<'END'
lab,place,case,id,kind,verdict,quantity,came_to,relation,value,tolerance,reason,why,rounds,off,plus_minus,unit,more_rounds,rounds_to_notice
01_straggler,here,baseline,first_claim,ratio,wrong,slowest_step_ms,30,<,29,,,Because <so>.,6,3.44827586,1.25,%,,
01_straggler,here,skew_ws4,second_claim,exact,holds,wrong,0,=,0,,,Because.,,,,,,
01_straggler,here,skew_ws4,third_claim,exact,fails,wrong,7,=,0,,,Because.,,,,,,
01_straggler,here,skew_ws4,fourth_claim,ratio,as predicted,slowest_step_ms,30.123456,~,30,0.1,,Because.,1,0.4,,%,,
01_straggler,here,skew_ws4,fifth_claim,ratio,too noisy to tell,slowest_step_ms,40,~,30,0.1,about 9 more rounds would tell,Because.,6,33,20,%,9,
01_straggler,here,skew_ws4,sixth_claim,shape,disturbed,slowest_step_ms,40,<,30,,others had 31 % of the core,Because.,6,33,20,%,6,
01_straggler,here,skew_ws4,seventh_claim,ratio,not testable,slowest_step_ms,40,~,30,0.1,more ranks than cores,Because.,,,,,,
01_straggler,here,all cases,a_term,ratio,as predicted,local_ms,30,~,30,0.1,,Because.,12,0.4,1,%,,0
01_straggler,here,all cases,another_term,ratio,as predicted,wait_ms,30,~,30,0.1,,Because.,12,0.4,1,%,,101
01_straggler,here,skew_ws4,an_example,example,shown,slowest_step_ms,40,=,102,0,,Because.,,,,,,
02_rank0_host,here,skew_ws4,other_lab,exact,holds,wrong,0,=,0,,,Because.,,,,,,
END
printf 'time,lab,case,backend,platform,guess_ms,predicted_step_ms,slowest_step_ms\n2026-11-21T10:00:00,01_straggler,skew_ws4,mpi,here,55.5,71,70.4\n' \
    >"$results/guesses.csv"
run 0 --results "$results" --sources "$source"
[[ $said == *"$results/index.html"* ]] || complain "it does not say where the page is"

# Numbers and reasons are in the right places, and text that looks like a tag is escaped.
has index "02_rank0_host</strong>: a rank was ended by signal 9 (Killed): rank 2 &lt;gone&gt;" "this build was made without CUDA" \
    '<td class="n">30.50 *</td>' "they share time" '<td class="n">55.5</td>' "one rank steps alone in           24.0 ms" \
    "A &lt;fast&gt; &quot;machine&quot; &amp; more" "<p><strong>Asked:</strong> One rank is late. What does it cost the others, and what helps?</p>" \
    "<p><strong>Found</strong> (dedicated cores, simulated): with “one rank sleeps” a step takes 69.6 ms instead of 30.0 (predicted: 71.0); of every 100 core-seconds, 30 waited for rank 2.</p>"
has 01_straggler "&lt;b&gt;odd&lt;/b&gt;" "2.33 [2.20, 2.50]" "not resolved ± 20 %" \
    "Of 6 claims about time, 3 came out as predicted, 1 wrong, 2 are undecided (1 too noisy, 1 disturbed); 1 exact check holds, 1 fail. 1 claim is not tested" "too small, 1 of 2 terms would" \
    "must be &lt; 29; off +3.45 % ± 1.2 in 6 rounds" "must be ~ 30 within 0.1; off +0.4 % in 1 round<" "Because &lt;so&gt;." 'href="platforms/dedicated-cores/01_straggler/trace.json"'
lacks 01_straggler "<b>odd"
lacks 01_straggler "other_lab"
lacks 01_straggler "this run:"
lacks 02_rank0_host "Claims that fail"

# The front page begins with all verdicts. A verdict is a mark and words; only failures are red.
[[ $(grep -A 1 '</h1>' "$results/index.html" | tail -n 1) == '<p class="verdicts">Of 6 claims about time, 3 came out as predicted, '* ]] ||
    complain "the front page does not begin with the verdicts"
has index "1 wrong, 2 are undecided (1 too noisy, 1 disturbed); 2 exact checks hold, 1 fail. 1 claim is not tested: of cases left out, or for another machine. Had a formula's term been a fifth too large or too small, 1 of 2 terms would have come out wrong.</p>" \
    '<td class="long right"><span aria-hidden="true">✓</span> as predicted, within 4 % ± 3</td>' \
    '<td class="long wrong"><span aria-hidden="true">✗</span> simulated: as predicted; here: WRONG: &lt;id&gt; off +22 % ± 5</td>' \
    '<td class="long open"><span aria-hidden="true">≈</span> disturbed: others had 31 % of the core</td>' \
    '<td class="long open"><span aria-hidden="true">?</span> too noisy: some_claim' "shows consistency, not more"
has 01_straggler '<td class="long wrong"><span aria-hidden="true">✗</span> fails</td>' '<td class="long right"><span aria-hidden="true">✓</span> holds</td>' \
    '<td class="long open"><span aria-hidden="true">–</span> not testable</td>' '<td class="long">shown</td>'
(($(grep -o 'fifth_claim' "$results/index.html" | wc -l) == 0)) || complain "the front page lists a claim that is only undecided"
lacks 01_straggler "77.77"                     # no times of a case with failed checks
lacks index "77.77"
has index "2 checks of sums, losses and replicas failed" "Those that fail or are wrong"
lacks 01_straggler "chart of an earlier run"   # the file exists, but charts.csv does not name it
lacks 01_straggler "Its numbers are in"

# The chart of dedicated cores replaces the lesson's picture; the chart of the other place comes below it.
has 01_straggler "timeline of 69.6 &amp; more" "timeline of 70.4 &amp; more" "This run, dedicated cores, simulated"
first=$(grep -n "timeline of 69.6" "$results/01_straggler.html" | head -n 1 | cut -d : -f 1)
second=$(grep -n "timeline of 70.4" "$results/01_straggler.html" | head -n 1 | cut -d : -f 1)
((first < second)) || complain "the place to learn from does not come first"
(($(grep -c "timeline of 69.6" "$results/01_straggler.html") == 1)) || complain "a chart is there twice"
has 01_straggler "A typical step, dedicated cores, simulated: baseline 30.0 ms; one rank sleeps (skew_ws4): ranks 0, 1 and 3 wait 30 ms for rank 2." \
    "<td>one rank sleeps</td>"
has 01_straggler 'aria-label="Title of the &quot;timeline&quot;. Shown: axis (ms).' "one rank sleeps (skew_ws4) 69.6 ms, of which waiting 30.0 ms in the mean, for rank 2" \
    'stroke="var(--soft)"' 'color="var(--ink)"' 'fill="#010101"'
lacks 01_straggler ">Gnuplot<"

# Every page is whole and needs no other files.
for page in "$results"/*.html; do
    name=$(basename "$page")
    ids=$(grep -oE ' id="[^"]*"' "$page" | sort)
    [[ $(uniq -d <<<"$ids") == "" ]] || complain "$name: one name twice: $(uniq -d <<<"$ids" | head -n 3)"
    (($(grep -c '<h1' "$page") == 1)) || complain "$name: not one heading"
    (($(stat -c %s "$page") < 2000000)) || complain "$name: larger than 2 MB"
    ! grep -qE '<script|<link [^>]*href="[^d]|@import|url\(["'\'']?http|src="[^d]' "$page" || complain "$name fetches something"
    ! grep -oE '<img [^>]*>' "$page" | grep -qvE 'alt="[^"]+"' || complain "$name: a picture without words"
    ! grep -oE '<svg [^>]*>' "$page" | grep -qvE 'role="img" aria-label="[^"]+"' || complain "$name: a chart without words"
    while IFS='#' read -r file anchor; do
        [[ $file != http* ]] || continue
        target=${file:+$results/$file}
        target=${target:-$page}
        [[ -e $target ]] || complain "$name leads to $file, which is not there"
        [[ -z $anchor ]] || grep -qF "id=\"$anchor\"" "$target" || complain "$name leads to $file#$anchor, which is not there"
    done < <(grep -oE '<a [^>]*href="[^"]*"' "$page" | sed 's/.*href="//; s/"$//')
    # shellcheck disable=SC2013 # names have no blanks
    for name_in_chart in $(grep -oE '(href="#|url\(#)c[0-9]+-[A-Za-z0-9_]+' "$page" | sed 's/.*#//' | sort -u); do
        grep -qF "id=\"$name_in_chart\"" "$page" || complain "$name: a chart refers to $name_in_chart, which is not there"
    done
done

# The front page takes question, answer and picture from one run: that of the first place with the picture.
touch -d '1 hour ago' "$results/platforms/dedicated-cores/01_straggler/charts.csv"
touch "$results/01_straggler/charts.csv"
run 0 --results "$results" --sources "$source"
has index "(here, measured): with “one rank sleeps” a step takes 70.4 ms" "timeline of 70.4"
lacks index "timeline of 69.6"
touch -d '1 hour ago' "$results/01_straggler/charts.csv"
run 0 --results "$results" --sources "$source"
has index "(dedicated cores, simulated): with “one rank sleeps” a step takes 69.6 ms"
touch "$results"/{,platforms/dedicated-cores/}01_straggler/charts.csv

# Without a blamed rank the part of the step with most of the difference is named; a fall has its sign. The fix with
# the shortest step is named; labels show which cases are fixes of a fault.
summary=$results/platforms/dedicated-cores/01_straggler/summary.csv
cp "$summary" "$folder/summary.csv"
sed -i '/^skew_ws4/s/,2,84,/,,,/' "$summary"
touch "$results/platforms/dedicated-cores/01_straggler/charts.csv"
run 0 --results "$results" --sources "$source"
has index "(predicted: 71.0); most of the difference is waiting, +30.0 ms.</p>"
lacks index "Helps most"
sed -i '/^baseline/s/,10,,,/,90,,,/' "$summary"
touch "$results/platforms/dedicated-cores/01_straggler/charts.csv"
run 0 --results "$results" --sources "$source"
has index "most of the difference is transfer, −81.0 ms.</p>"
sed '/^#/!{ s/one rank sleeps/one rank <sleeps>/; s/^unclear,.*/&one rank <sleeps> + a <fix>/; s/^"<b>.*/&one rank <sleeps> + a wrong fix/; s/,77\.77,/,22.22,/ }' \
    "$folder/summary.csv" >"$summary"
touch "$results/platforms/dedicated-cores/01_straggler/charts.csv"
run 0 --results "$results" --sources "$source"
has index "with “one rank &lt;sleeps&gt;” a step takes 69.6 ms" \
    "<p><strong>Helps most:</strong> a &lt;fix&gt;, with which a step takes 31.0 ms.</p>"
sed -i '/^unclear/s/,31,31,/,131,31,/' "$summary" # a fix that does not help
touch "$results/platforms/dedicated-cores/01_straggler/charts.csv"
run 0 --results "$results" --sources "$source"
lacks index "Helps most"
cp "$folder/summary.csv" "$summary"
touch "$results/platforms/dedicated-cores/01_straggler/charts.csv"

# Charts older than the tables belong to an earlier run and are not shown.
touch -d '1 hour ago' "$results/01_straggler/charts.csv"
run 0 --results "$results" --sources "$source"
lacks 01_straggler "timeline of 70.4"
touch "$results/01_straggler/charts.csv"

# A case without a label has its name on the front page, escaped.
sed -i 's/,one rank sleeps$/,/; s/skew_ws4/<i>told<\/i>/' "$results/platforms/dedicated-cores/01_straggler/summary.csv"
touch "$results/platforms/dedicated-cores/01_straggler/charts.csv"
run 0 --results "$results" --sources "$source"
has index "<code>&lt;i&gt;told&lt;/i&gt;</code> a step takes 69.6 ms"
lacks index "<i>told"
cp "$folder/summary.csv" "$results/platforms/dedicated-cores/01_straggler/summary.csv"
touch "$results/platforms/dedicated-cores/01_straggler/charts.csv"

# An incomplete chart is not shown.
cp "$results/01_straggler/breakdown.svg" "$folder/whole.svg"
head -c 600 "$folder/whole.svg" >"$results/01_straggler/breakdown.svg"
run 0 --results "$results" --sources "$source"
lacks 01_straggler "breakdown of 70.4"

# A page that would become too large links to its charts, in any folder.
large() # FILE KILOBYTES
{
    printf '<svg viewBox="0 0 9 9"><text>'
    head -c "$2"000 /dev/zero | tr '\0' 'x'
    printf '</text></svg>\n'
} >"$1"
mkdir -p "$results/scale" "$results/platforms/blog"
large "$results/01_straggler/breakdown.svg" 1400
large "$results/platforms/blog/blog_machine.svg" 700
large "$results/scale/scale_efficiency.svg" 700
run 0 --results "$results" --sources "$source"
has 01_straggler 'the chart is in <a href="01_straggler/breakdown.svg">'
has simulated_machines 'the chart is in <a href="scale/scale_efficiency.svg">'
for page in "$results"/*.html; do
    (($(stat -c %s "$page") < 2000000)) || complain "$(basename "$page"): larger than 2 MB"
done
cp "$folder/whole.svg" "$results/01_straggler/breakdown.svg"
rm -r "$results/scale" "$results/platforms/blog"

# Results of tools/blame are shown as "your own job".
place "$results/blame" "" 55.5
run 0 --results "$results" --sources "$source"
has your_own_job "<h3>your own job</h3>" "timeline of 55.5" 'href="blame/spans.csv"'

# Special lessons: links, equal headings, pictures within text, a lesson that sorts before the labs.
mkdir -p "$folder/sources/notebooks-md/img" "$folder/sources/plots"
cp "$source/plots/style.css" "$folder/sources/plots/"
cp "$source/notebooks-md/img/01_straggler_timeline.png" "$folder/sources/notebooks-md/img/"
printf '# A lab\n\n## Part\n\nSee [there](./00-intro.md#part-1), [here](#part), [the source](../labs/x.c).\n\n<!-- this run: exposed -->\n\n<!-- this run: sweep -->\n' \
    >"$folder/sources/notebooks-md/01_straggler.md"
printf '# Before\n\n## Part\n\n## Part\n\nText ![small](img/01_straggler_timeline.png) and ![badge](https://example.org/badge.svg) more\n\n![of elsewhere](https://example.org/x.png)\n' \
    >"$folder/sources/notebooks-md/00-intro.md"
run 0 --results "$results" --sources "$folder/sources"
has 01_straggler '<a href="00-intro.html#part-1">there</a>' '<a href="#part">here</a>' 'the source.' "table of exposed comes here; it wrote none" \
    "of this run"
lacks 01_straggler "of another run"
has 00-intro 'id="part-1"' 'alt="small" />' 'src="data:image/png' "and badge more" "of elsewhere"
lacks 00-intro "example.org"
has index '<a href="01_straggler.html">A lab</a></h3>'

# Markers of docs/lessons.md are comments: they change nothing that is shown, nor what is a caption or a table of this run.
cat >"$folder/sources/notebooks-md/01_straggler.md" <<'END'
# A lab

<!-- run: here timeline -->
<!-- run: blog -->

![Steps](img/01_straggler_timeline.png)

*Taken: <!-- machine -->2 ranks, 2026-11-23<!-- end -->.*

It costs **40.4<!-- skew_ws4.slowest_step_ms - baseline.slowest_step_ms -->** ms.

<!-- table
row: skew_ws4
column: asked | 0 | setting.sleep_ms
-->
| | asked |
|---|---:|
| `skew_ws4` | 40 |
<!-- end -->

<!-- this run: cases -->
END
run 0 --results "$results" --sources "$folder/sources"
has 01_straggler "of the lesson's own run: Taken: 2 ranks, 2026-11-23.</p>" '<td><code>skew_ws4</code></td>' '<td align="right">40</td>' \
    '<strong>40.4<!-- skew_ws4.slowest_step_ms - baseline.slowest_step_ms --></strong> ms.'
lacks 01_straggler "&lt;!--"
lacks 01_straggler "<!-- this run"
run 0 --results "$results" --sources "$source"
lacks index "without one suspect after the other"

# A run with the changes of --verdict is one more place, after the others; its own chart is the page's.
place "$results/verdicts/01_straggler" here 70.5
chart "$results/verdicts/01_straggler/shares.svg" "shares of each suspect"
echo 'shares,Title of the shares,axis (ms),baseline' >>"$results/verdicts/01_straggler/charts.csv"
sed -i 's~^<!-- this run: cases -->~![Shares](img/01_straggler_shares.png)\n\n&~' "$folder/sources/notebooks-md/01_straggler.md"
run 0 --results "$results" --sources "$folder/sources"
has index "here, without one suspect after the other"
has 01_straggler "shares of each suspect" 'href="verdicts/01_straggler'
run 0 --results "$results" --sources "$source"

# Files that cannot be read are named.
run 2 --results "$folder/none" --sources "$source"
[[ $said == *"--results '$folder/none' cannot be read"* ]] || complain "no results: $said"
run 2 --results "$results" --sources "$folder"
[[ $said == *"style.css cannot be read"* ]] || complain "no sources: $said"
printf 'case,platform\nbaseline\n' >"$results/01_straggler/summary.csv"
run 2 --results "$results" --sources "$source"
[[ $said == *"01_straggler/summary.csv:2: 1 fields, but the header has 2"* ]] || complain "a broken table: $said"

((failed)) || echo "The report says what the tables say."
exit "$failed"
