#!/usr/bin/env bash
# The house rules that a compiler does not know. usage: house_test.sh SOURCE_DIR
set -euo pipefail
cd "$1"
failed=0
complain() {
    printf 'house rule broken: %s\n%s\n' "$1" "$2"
    failed=1
}

# One clock: everybody asks world.h. The supervisor (launch.c) lives outside any world, and die.c may have none. files.c waits for
# the lock of another program. And the benchmark sets that clock beside the bare one.
found=$(grep -nE 'clock_gettime|gettimeofday|nanosleep|usleep|MPI_Wtime|[^_a-z]sleep\(' common/*.[ch] labs/*.c tools/*.c tools/*/*.c |
    grep -vE '^(common/(world_[a-z]+|launch|die|files)|tools/bench/harness)\.c:' || true)
[ -z "$found" ] || complain "no clock or sleep outside world.h" "$found"

# A backend is a linked file: only the files named after it know its API.
found=$(grep -nE '#include <(mpi|nccl|cuda[a-z_]*|smpi/.*)\.h>|#ifdef|#if defined' common/*.[ch] labs/*.c |
    grep -vE '^common/([a-z]+_calls\.c|message\.h|wide\.h|[a-z]+_(mpi|cpu|sim|model|cuda|nccl)\.[ch]|[a-z_]+\.h:[0-9]+:#ifndef)' || true)
[ -z "$found" ] || complain "backends are linked, not #ifdef'd" "$found"

# A lab includes the frame and what a step is made of.
found=$(grep -nE '#include "' labs/*.c | grep -vE '"(lab|train)\.h"' || true)
[ -z "$found" ] || complain "a lab includes lab.h and train.h, nothing else of ours" "$found"

# Includes point backwards in the order in which a run passes through common/.
order=(die hot group memory footprint number faults hash bf16 wide random files csv spelling options algorithm precision needs run cores interference job kernel board watchdog world world_mpi hosts clocks world_sim
    work text device device_cpu device_cuda spans collective engine message peers companion_sim property_sim helper losses weights mlp transformer adamw stall loader trainer buckets tokens
    gpus mode
    token_table text_loader text_trainer stats timeline meetings waiting summary gather link passing sweep subject card card_file sweep_table train patience machine calibrate trial predict report picture lanes trace table learner guess story
    blind cases schedule crews account platform preview dedicated
    scratch launcher launcher_output command rank_watch launch evidence riddle supervise lab)
position() {
    local i
    for i in "${!order[@]}"; do
        [ "${order[$i]}" != "$1" ] || { echo "$i"; return; }
    done
    echo -1
}
for file in common/*.h; do
    stem=$(basename "$file" .h)
    here=$(position "$stem")
    [ "$here" -ge 0 ] || complain "every header has its place in the order" "$file"
    while read -r included; do
        there=$(position "$included")
        if [ "$there" -lt 0 ] || [ "$there" -ge "$here" ]; then
            complain "includes point backwards" "$file includes $included.h"
        fi
    done < <(sed -nE 's/^#include "([a-z_]+)\.h"$/\1/p' "$file")
done

# One stem finds four files.
for lab in labs/*.c; do
    stem=$(basename "$lab" .c)
    for file in "plots/$stem.gp" "notebooks-md/$stem.md" "expected/$stem.csv"; do
        [ -f "$file" ] || complain "one stem finds four files" "$file is missing"
    done
    grep -q "add_lab($stem)" CMakeLists.txt || complain "one add_lab line per lab" "$stem"
done

# Pictures and files that the texts point to exist.
while IFS=: read -r text target; do
    case "$target" in http | https) continue ;; esac
    [ -e "$(dirname "$text")/$target" ] || complain "links point to something" "$text -> $target"
done < <(grep -oHE '\]\([^)#:]+' README.md notebooks-md/*.md | sed 's/](//')

# Each column of the tables that all labs write is explained.
for column in $(grep -ohE 'csv_[a-z]+\(csv, "[a-z0-9_]+"' common/report.c common/lanes.c | sed 's/.*"\(.*\)"/\1/' | sort -u); do
    grep -q "\`$column\`" notebooks-md/{tables,your_own_job}.md || complain "notebooks-md/tables.md explains every column" "$column"
done

# A lab asks one question: its first line's, which run_all.sh --list shows, is its story's, which --help shows.
for lab in labs/*.c; do
    asked=$(sed -n 's/^ *\.question = "\(.*\)",$/\1/p' "$lab")
    first=$(head -1 "$lab")
    [ "${first,,}" = "/* $(basename "$lab" .c): ${asked,,}" ] ||
        complain "a lab asks one question" "$lab: its first line asks another than '$asked'"
done

# A picture has words for those who do not see it, is a chart of its lab, and has a caption behind its paragraph.
found=$(grep -nE '!\[ *\]' README.md notebooks-md/*.md || true)
[ -z "$found" ] || complain "a picture has a text" "$found"
for lesson in notebooks-md/[0-9][0-9]_*.md; do
    stem=$(basename "$lesson" .md)
    found=$(grep -nE '^!\[' "$lesson" | grep -vE "\(img/${stem}_[a-z_]+\.png\)\$" || true)
    [ -z "$found" ] || complain "a lesson's picture is img/${stem}_CHART.png, which the report swaps for the run's" "$found"
done
found=$(awk 'FNR == 1 { pictures = 0 } /^!\[/ { pictures = 1; next } pictures && /^$/ { next }
    pictures && !/^\*/ { print FILENAME ":" FNR ": " $0 } { pictures = 0 }' README.md notebooks-md/*.md)
[ -z "$found" ] || complain "a caption stands behind a picture, *emphasised*" "$found"
for picture in notebooks-md/img/*; do
    grep -qrF "$(basename "$picture")" README.md notebooks-md/*.md || complain "a picture is shown" "$picture"
done

exit "$failed"
