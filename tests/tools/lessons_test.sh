#!/usr/bin/env bash
# usage: lessons_test.sh LESSON_NUMBERS SOURCE FOLDER: check that tools/lessons names each number of a text that is not its run's, and
# puts the run's numbers in. Writes a small project below FOLDER. Then check the lessons of SOURCE.
set -uo pipefail

# shellcheck source=tests/support/frame.sh
source "$(dirname "$0")/../support/frame.sh"

program=$1
source=$2
project=$3/lessons
lesson=notebooks-md/01_late.md

summary() # FOLDER STEP DATE: write the tables of a run in which the late rank's step takes STEP ms
{
    mkdir -p "$project/notebooks-md/runs/$1"
    cat >"$project/notebooks-md/runs/$1/summary.csv" <<TABLE
# command: 01_late --sleep-ms 40 --batch-size 128
# when: 2026-11-23 09:00
# machine: Some CPU
# cores: 2
# ranks: 2
lab,case,rounds,slowest_step_ms,predicted_step_ms,transfer_ms,numerics
01_late,baseline,9,1026.25,1025,8.5,
01_late,late,9,$2,1065,8.6,same
TABLE
}

make_project()
{
    rm -rf "$project"
    mkdir -p "$project/expected"
    summary 01_late 1066.654
    summary platforms/blog/01_late 1054
    summary platforms/twice/01_late 1054
    sed -i '2s|^|# simulated: platform own, two copies of a core, each with a bus: an upper bound\n|' \
        "$project/notebooks-md/runs/platforms/twice/01_late/summary.csv"
    printf 'bytes,ring_ms\n1024,0.25\n2048,0.5\n' >"$project/notebooks-md/runs/01_late/sweep.csv"
    cat >"$project/notebooks-md/runs/01_late/lanes.csv" <<TABLE
# told of late: rank 1 waits 40.0 ms for rank 0
case,step,rank,to_rank,lane,kind,start_ms,end_ms,arrived_last
late,3,0,0,0,data,0,40,0
late,3,0,0,0,transfer,40,50,1
late,3,1,1,0,wait,0,40,0
late,3,1,1,0,transfer,40,50,0
TABLE
    printf 'lab,case,slowest_step_ms\n02_other,late,7\n01_late,late,102.539\n01_late,baseline,70.241\n' >"$project/expected/blog.csv"
    printf 'id,case,tolerance\nits_cost,late,0.1\n' >"$project/expected/01_late.csv"
    mkdir -p "$project/notebooks-md/runs/torch"
    printf 'case,rank,wait_ms\nslow_loader,0,0.5\nslow_loader,1,43.21\n' >"$project/notebooks-md/runs/torch/ddp_faults.csv"
    printf '# Project\n\nNo marker, so any number: 123.4.\n' >"$project/README.md"
}

text() # write standard input as the lesson
{
    cat >"$project/$lesson"
}

right() # write a lesson that agrees with its runs
{
    text <<'TEXT'
# 01 · One rank is late

<!-- run: here step_time -->
<!-- run: blog timeline rounds=3 cases=late -->

*From one run: <!-- machine -->2 ranks on 2 cores (Some CPU), 9 rounds, 2026-11-23<!-- end -->.*

## 1. In one sentence

It costs 40.4<!-- late.slowest_step_ms - baseline.slowest_step_ms --> ms of +40<!-- late.predicted_step_ms - baseline.predicted_step_ms -->,
in a step of 1,026<!-- baseline.slowest_step_ms --> ms. <!-- holds: late.transfer_ms < 1.1 * baseline.transfer_ms -->

There it takes 1054.0<!-- blog: late.slowest_step_ms --> ms, and 32.3<!-- published: late.slowest_step_ms - baseline.slowest_step_ms -->
were published, within 10<!-- claims: its_cost.tolerance * 100 --> %.

In PyTorch rank 1 waits 43.2<!-- torch rank=1: slow_loader.wait_ms --> ms.

A sum takes 0.5<!-- sweep.csv bytes=2048: ring_ms --> ms, 75<!-- 25 + 40 + 10 --> in all; −2.5<!-- 10 - 12.5 --> less.

The sleep of 40 ms is a setting, `77.7` is code, **step = 33.3 + 44 ms** a formula. 4 ranks, bf16, 25 MiB, 2026-11-21, Open MPI 4.1,
Debian 12 or 13, version 4.1.4, lab 03, in 2009, 95 % intervals.

<!-- example -->
Suppose 25 ms and 1.5 GB.

Others saw 292 to 293 ms ([issue #252](https://example.org/99)). <!-- quoted -->

<!-- table
head: fault
row: late | One rank sleeps
row: baseline
column: asked | 0 ms | setting.sleep_ms
column: costs | +1 ms | slowest_step_ms - baseline.slowest_step_ms
column: there | 0 | blog: slowest_step_ms
column: bits | text | numerics
-->
| fault | asked | costs | there | bits |
|---|---:|---:|---:|---|
| One rank sleeps | 40 ms | +40.4 ms | 1,054 | same |
| `baseline` | 40 ms | 0.0 ms | 1,026 | – |
<!-- end -->

<!-- table sweep.csv
row: bytes=1024 | 1 KiB
column: ring | 2 ms | ring_ms
-->
|  | ring |
|---|---:|
| 1 KiB | 0.25 ms |
<!-- end -->

<!-- run: twice platform=blog ranks=8 -->

On <!-- machine twice -->2 simulated ranks on two copies of a core, each with a bus (Some CPU), 9 rounds, 2026-11-23<!-- end -->.

![Lanes](img/01_late_timeline.png)
![Steps](img/01_late_step_time.png)

## 2. Symptom in your job

HTA, nsys and the flight recorder show it.

## 3. Predict
## 4. Run
## 5. What was injected
## 6. Model
## 7. Result

<!-- this run: cases -->

## 8. Why
## 9. Fix, and its price

PyTorch has a switch.

## 10. Exercises

1. Do this.

## 11. Limits

<!-- this run: claims -->
TEXT
}

run() # STATUS ARGUMENT...: run the program on the project
{
    exits "$1" "$program" --sources "$project" "${@:2}"
}

planted() # LINES OLD NEW TEXT...: put NEW in place of OLD in the right lesson; the program must say TEXT in LINES lines
{
    right
    sed -i "s~$2~$3~" "$project/$lesson"
    ! cmp -s "$project/$lesson" "$project/before" || complain "the lesson has no '$2'"
    run 1
    says "${@:4}"
    (($(grep -c . <<<"$said") == $1)) || complain "$1 lines wanted, for '$3'"
}

line_of() # TEXT: its line in the lesson
{
    grep -nF -- "$1" "$project/$lesson" | head -n 1 | cut -d : -f 1
}

test_right()
{
    right
    run 0
    [[ -z $said ]] || complain "a text that agrees should leave nothing to say"
    cp "$project/$lesson" "$project/before"
    run 0 --write
    cmp -s "$project/$lesson" "$project/before" || complain "--write changed a text that agrees"
}

test_planted()
{
    planted 1 '40.4<' '40.5<' "$lesson:$(line_of 'It costs'): the text has '40.5', the run '40.4'"
    planted 1 '1054.0<' '1053.9<' "the text has '1053.9', the run '1054.0'"
    planted 1 '32.3<' '32.4<' "the run '32.3'"
    planted 1 '10<!-- claims' '11<!-- claims' "the run '10'"
    planted 1 '0.5<' '0.6<' "the run '0.5'"
    planted 1 '75<' '76<' "the run '75'"
    planted 1 '−2.5<' '−3.5<' "the text has '−3.5', the run '−2.5'"
    planted 1 '1,026<' '1,027<' "the run '1,026'"
    planted 1 '<!-- machine -->2 ranks' '<!-- machine -->3 ranks' "$lesson:6: "
    planted 1 '+40.4 ms' '+40.3 ms' "$lesson:$(line_of '| One rank sleeps | 40'): " \
        "the run '| One rank sleeps | 40 ms | +40.4 ms | 1,054 | same |'"
    planted 1 '1.1 \* ' '1.001 * ' "does not hold: 8.6 and 8.5085"
    planted 1 'baseline.slowest_step_ms --> ms of' 'gone.slowest_step_ms --> ms of' "gone is not in "
    planted 1 ' bytes=2048: ' ': ' "2 rows of " "name a case or column=value"
    planted 1 'blog: late' 'gpu_node: late' "01_late/summary.csv is missing; ./run_all.sh --lesson-figures --only 01_late makes it"
}

test_unexplained()
{
    planted 1 'Do this.' 'Do this 33 times.' "$lesson:$(line_of '1. Do this'): 33 has no source"
    planted 1 'Do this.' 'Wait 5 ms.' "5 has no source"
    planted 1 'Do this.' 'Wait 5 to 40 ms.' "5 has no source"
    planted 1 'From one run' 'After 57 s' "57 has no source"
    planted 1 'Do this.' 'Do 12 or 13 of this.' "13 has no source"
    planted 1 'Do this.' 'Do 95 % of this.' "95 has no source"
    planted 1 'Do this.' 'It is **33.3**.' "33.3 has no source"
    planted 1 'Do this.' 'Take 12,496,800 bytes.' "12,496,800 has no source"
    planted 1 '(\[issue #252\](https://example.org/99))' '(somebody)' "marked as quoted"
    planted 2 '75<' '75 <' "75 has no source" "is no marker"
    planted 3 '<!-- example -->' '<!-- exampel -->' "is no marker" "25 has no source" "1.5 has no source"
    planted 1 'Do this.' 'Do this.\n\n<!-- example --> Wait 5 ms.' "cannot begin with a comment"
    planted 2 'late.slowest_step_ms - baseline.slowest_step_ms --> ms of' 'late.slowest_step_ms\n- baseline.slowest_step_ms --> ms of' \
        "a comment goes over a line end" "40.4 has no source"
}

# Wrong numbers, an empty table and other decimals: --write puts the run's in, and then nothing is left to say.
test_write()
{
    right
    sed -i -e 's|40.4<|7.25<|; s|1,026<|3<|; s|1054.0<|9<|; s|9 rounds|1 round|; /^| One rank/d; /^| 1 KiB/s|0.25|1|' "$project/$lesson"
    printf '\n<!-- lanes late -->\n<!-- end -->\n' >>"$project/$lesson"
    run 0 --write
    says "'7.25' is now '40.40'" "'3' is now '1,026'" "'9' is now '1,054'"
    for wanted in '40.40<!-- late' '1,054<!-- blog' '9 rounds, 2026-11-23<!--' '| One rank sleeps | 40 ms | +40.4 ms | 1,054 | same |' '| 1 KiB | 0.25 ms |' \
        '  rank 0   ░░░░' 'rank 1 waits 40.0 ms for rank 0' '◀ last'; do
        grep -qF -- "$wanted" "$project/$lesson" || complain "--write left out: $wanted" "$(<"$project/$lesson")"
    done
    ! grep -q ' $' "$project/$lesson" || complain "--write left blanks at a line end"
    sed -i 's/^<!-- lanes late -->$/<!-- lanes\nrow: late | Rank 0 sleeps\n-->/' "$project/$lesson"
    run 0 --write
    says "'  late' is now '  Rank 0 sleeps'"
    run 0
    summary 01_late 1067 # another run
    run 1
    says "the text has '40.40', the run '40.75'" "the text has '| One rank sleeps | 40 ms | +40.4"
    run 0 --write
    run 0
    make_project
}

refused() # OLD NEW TEXT: put NEW in place of OLD; the program must end with 2 and one line that holds TEXT
{
    right
    sed -i "s~$1~$2~" "$project/$lesson"
    run 2
    says "lesson_numbers: $lesson:" "$3" "docs/lessons.md"
    [[ $said != *$'\n'* ]] || complain "more than one line for '$2'"
}

test_refused()
{
    refused 'late.slowest_step_ms - base' 'late.slowest - base' "no column slowest"
    refused 'late.slowest_step_ms - base' 'late.slowest_step_ms -) base' "'late.slowest_step_ms -) base"
    refused '25 + 40 + 10' '75' "is no expression"
    refused 'blog: late' 'BLOG! late: late' "'BLOG!' is no place"
    refused 'late.transfer_ms < ' 'late.transfer_ms + ' "is no relation"
    refused '^column: asked.*' 'column: asked' "write column: HEAD"
    refused '^column: asked | 0 ms' 'column: asked | many ms' "is no format"
    refused '^<!-- this run: cases' '<!-- lanes\nlate\n-->\n<!-- end' "in lanes; write row"
    refused '^head: fault' 'title: fault' "in a table"
    refused 'run: here step_time' 'run: ranks=2' "write run: PLACE"
    right
    printf '\n<!-- lanes late -->\n' >>"$project/$lesson"
    run 2
    says "has no <!-- end -->"
    right
    run 2 --only 99_none
    says "99_none is no text"
    run 2 --plan --write
}

words() # COUNT: as many words of a sentence
{
    printf 'Word'
    printf ' word%.0s' $(seq $(($1 - 2)))
    printf ' end.'
}

test_style()
{
    printf '# Project\n\nNo marker. %s\n' "$(words 31)" >"$project/README.md"
    run 1 --style --only README
    says "README.md:3: a sentence of 31 words"
    make_project
    right
    run 0 --style
    printf '\n%s It has `code of several words`, and more.\n' "$(words 30)" >>"$project/$lesson"
    run 0 --style
    printf '\nHello. %s\n' "$(words 31)" >>"$project/$lesson"
    run 1 --style
    says "$lesson:$(($(wc -l <"$project/$lesson"))): a sentence of 31 words, 30 at most: Word word word word word word …"
    right
    printf '\nTake 40 ms, 128 samples, 40 ms, 4 ranks.\n' >>"$project/$lesson"
    run 0 --style
    printf '\nTake 40 ms, 128 samples, 40 ms, 128 samples.\n' >>"$project/$lesson"
    run 1 --style
    says "$lesson:$(($(wc -l <"$project/$lesson"))): a paragraph with 4 numbers, 3 at most"
    right
    printf '\n![More](img/01_late_more.png)\n\n---\n' >>"$project/$lesson"
    for _ in $(seq 45); do printf '%s\n\n' "$(words 20)"; done >>"$project/$lesson"
    run 1 --style
    says "$lesson:1: 3 pictures above the rule, 2 at most"
    [[ $said != *"words above"* ]] || complain "words below the rule are counted"
    sed -i 's|^---$||' "$project/$lesson"
    run 1 --style
    says " words above the rule, 900 at most"
    right
    printf '\n10<!-- 5 + 5 -->\n\n' >>"$project/README.md"
    for _ in $(seq 25); do printf '%s\n\n' "$(words 20)"; done >>"$project/README.md"
    run 1 --style --only README
    says "README.md:1: 508 words above the rule, 500 at most" "README.md:3: 123.4 has no source"
    printf '# Project\n\nRank 1 waits 43.2<!-- torch rank=1: slow_loader.wait_ms --> ms, in no lab of ours.\n' >"$project/README.md"
    run 0 --only README
    rm "$project/notebooks-md/runs/torch/ddp_faults.csv"
    run 1 --only README
    says "torch/ddp_faults.csv is missing; tools/torch/ddp_faults.py makes it"
    make_project
}

template() # OLD NEW TEXT: put NEW in place of OLD; --style must say TEXT and nothing else
{
    right
    sed -i "s~$1~$2~" "$project/$lesson"
    run 1 --style
    says "$3"
    (($(grep -c . <<<"$said") == 1)) || complain "one line wanted, for '$2'"
}

# A lesson has its sections in order, the bridge to PyTorch's tools, few cases above its rule, and the places of this run's tables.
test_template()
{
    local section
    for section in '2. Symptom in your job' '6. Model' '11. Limits'; do
        template "^## $section" '## Another' "$lesson:1: no '## $section' here above the rule"
    done
    template '^## 8. Why' '---' "no '## 8. Why' here"
    template '^## 1. In one' '---\n\n## 1. In one' "no '## 1. In one sentence' here above the rule"
    template 'HTA, nsys' 'nsys' "'## 2. Symptom in your job' says nothing of HTA"
    template 'flight recorder' 'log' "says nothing of light recorder"
    template 'PyTorch has' 'Nothing has' "'## 9. Fix, and its price' says nothing of DDP|PyTorch|torch."
    template '<!-- this run: claims -->' 'End.' "no <!-- this run: claims -->"
    right # late and baseline are two cases; further ones may stand below the rule only
    sed -i 's~^## 8. Why~<!-- lanes late baseline -->\n<!-- end -->\n&~' "$project/$lesson"
    for section in a b c d e; do # tables whose run lacks these cases
        sed -i "s~^## 8. Why~<!-- table ranks.csv\nrow: case=$section | one\ncolumn: step | 1 | step_ms\n-->\n<!-- end -->\n\n&~" "$project/$lesson"
    done
    run 1 --style
    [[ $said != *"cases in tables"* ]] || complain "seven cases are allowed"
    sed -i 's~case=e |~case=f |~; s~^## 8. Why~<!-- lanes g -->\n<!-- end -->\n&~' "$project/$lesson"
    run 1 --style
    says "$lesson:1: 8 cases in tables and lanes above the rule, 7 at most"
    make_project
}

test_plan()
{
    right
    run 0 --plan
    [[ $said == 'run 01_late here '$'\n''run 01_late blog --rounds 3 --cases late --platform blog'$'\n''run 01_late twice --platform blog --ranks 8 '$'\n'\
'picture 01_late blog timeline'$'\n''picture 01_late here step_time'$'\n'* ]] || complain "another plan"
    for table in 01_late/summary.csv platforms/blog/01_late/summary.csv platforms/twice/01_late/summary.csv 01_late/sweep.csv; do
        says "table $table"
    done
    (($(grep -c ^table <<<"$said") == 4)) || complain "four tables wanted"
    sed -i 's~^<!-- run: blog~<!-- run: verdicts shares cases=late -->\n&~' "$project/$lesson"
    run 0 --plan
    says "run 01_late verdicts --cases late --verdict"
    says "table verdicts/01_late/summary.csv"
    make_project
}

foreign_pictures() # PROJECT: print the pictures of its lessons that are not of the runs whose numbers stand in the text
{
    local file lab picture place when sum summary
    for file in "$1"/notebooks-md/[0-9][0-9]_*.md; do
        lab=$(basename "$file" .md)
        ! grep -q '^<!-- run:' "$file" || grep -oE "img/${lab}_[a-z0-9_]+\.png" "$file" | sort -u | while read -r picture; do
            place='' when='' sum=''
            IFS=, read -r _ place when sum < <(grep "^${picture#img/}," "$1/notebooks-md/runs/pictures.csv" 2>/dev/null)
            summary=$1/notebooks-md/runs/platforms/$place/$lab/summary.csv
            [[ $place != here ]] || summary=$1/notebooks-md/runs/$lab/summary.csv
            [[ $place != verdicts ]] || summary=$1/notebooks-md/runs/verdicts/$lab/summary.csv
            [[ -n $sum && $(cksum <"$1/notebooks-md/$picture") == "$sum "* ]] || echo "$picture is not as --lesson-figures drew it"
            grep -qxF "# when: $when" "$summary" 2>/dev/null || echo "$picture is of another run than the numbers"
        done
    done
}

test_pictures()
{
    local runs=$project/notebooks-md/runs picture
    right
    mkdir -p "$project/notebooks-md/img"
    {
        echo picture,place,when,checksum
        for picture in step_time,here timeline,blog; do
            echo "$picture" >"$project/notebooks-md/img/01_late_${picture%,*}.png"
            echo "01_late_${picture%,*}.png,${picture#*,},2026-11-23 09:00,$(echo "$picture" | cksum | cut -d ' ' -f 1)"
        done
    } >"$runs/pictures.csv"
    said=$(foreign_pictures "$project")
    [[ -z $said ]] || complain "pictures of the run are named"
    echo another >"$project/notebooks-md/img/01_late_step_time.png"
    sed -i 's|^# when.*|# when: 2026-11-23 10:00|' "$runs/platforms/blog/01_late/summary.csv"
    said=$(foreign_pictures "$project")
    [[ $said == $'img/01_late_step_time.png is not as --lesson-figures drew it\nimg/01_late_timeline.png is of another run than the numbers' ]] ||
        complain "pictures of other runs are not named"
    make_project
}

# The lessons themselves; texts without markers are not checked.
test_lessons()
{
    exits 0 "$program" --sources "$source" --style
    said=$(foreign_pictures "$source")
    [[ -z $said ]] || complain "pictures and numbers are of different runs"
}

make_project
test_right
test_planted
test_unexplained
test_write
test_refused
test_style
test_template
test_plan
test_pictures
test_lessons
exit "$failed"
