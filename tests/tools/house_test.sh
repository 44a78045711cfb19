#!/usr/bin/env bash
# Check rules for the sources that compilers do not check. usage: house_test.sh SOURCE [BUILD]
set -euo pipefail
cd "$1"
failed=0
complain() {
    printf 'house rule broken: %s\n%s\n' "$1" "$2"
    failed=1
}

# One clock: all files use world.h. Exceptions: the supervisor (launch.c, orphans.c) is outside any world, die.c may have none,
# file_lock.c waits for the lock of another program, and the benchmark compares world.h's clock with the system's.
found=$(grep -nE 'clock_gettime|gettimeofday|nanosleep|usleep|MPI_Wtime|[^_a-z]sleep\(' common/*/*.[ch] labs/*.[ch] tools/*/*.c tools/bench/ranks/*.c |
    grep -vE '^(common/(world/world_[a-z_]+|launch/(launch|orphans)|base/die|base/file_lock)|tools/bench/ranks/ranks_clocks)\.c:' || true)
[ -z "$found" ] || complain "no clock or sleep outside world.h" "$found"

# A stream into a text may find no memory; memory_stream() then ends the program.
found=$(grep -nE 'open_memstream\(' common/*/*.c labs/*.c tools/*/*.c tools/bench/ranks/*.c | grep -v '^common/base/memory\.c:' || true)
[ -z "$found" ] || complain "streams into texts are opened by memory_stream()" "$found"

# Backends are selected by linking: only files named after a backend use its API.
found=$(grep -nE '#include <(mpi|nccl|cuda[a-z_]*|smpi/.*)\.h>|#ifdef|#if defined' common/*/*.[ch] labs/*.[ch] |
    grep -vE '^common/[a-z]+/(mpi_staging\.h|multiversion\.h|[a-z0-9_]+_(mpi|cpu|sim|model|cuda|nccl)\.[ch]|[a-z0-9_]+\.h:[0-9]+:#ifndef)' || true)
[ -z "$found" ] || complain "backends are linked, not #ifdef'd" "$found"

# A lab NAME consists of labs/NAME.c, a header labs/NAME.h and parts labs/NAME_*.c, among them the formula. The header includes the
# frame and the parts of a step; the other files include only the header.
labs=()
while read -r lab; do
    labs+=("$lab")
    for file in "labs/$lab.c" "labs/$lab.h" "labs/${lab}_formula.c"; do
        [ -f "$file" ] || complain "a lab has a source, a header and a formula" "$file is missing"
    done
    found=$(grep -nHE '#include "' "labs/$lab.c" "labs/$lab"_*.c | grep -vF "#include \"$lab.h\"" || true)
    [ -z "$found" ] || complain "files of a lab include its own header, nothing else of ours" "$found"
done < <(sed -n 's/^add_lab(\(.*\))$/\1/p' CMakeLists.txt)
[ "${#labs[@]}" -gt 0 ] || complain "one add_lab line per lab" "CMakeLists.txt has none"
found=$(grep -nE '#include "' labs/*.h | grep -vE '"frame/(lab|train)\.h"' || true)
[ -z "$found" ] || complain "the header of a lab includes lab.h and train.h, nothing else of ours" "$found"
for file in labs/*; do
    owned=no
    for lab in "${labs[@]}"; do
        case "$file" in "labs/$lab".[ch] | "labs/$lab"_*.c) owned=yes ;; esac
    done
    [ "$owned" = yes ] || complain "one add_lab line per lab" "$file belongs to none"
done

# The folders of common/ and of tools/ are layers: rooms.txt lists them, bottom to top. A file includes files of its own folder and of
# folders before it in the list, so there are no loops.
check_rooms() # FOLDER [BELOW]: files of FOLDER may include all files of the folder BELOW
{
    local folder=$1 below=${2-} room file included
    local -A place=()
    while read -r room _; do
        [[ $room != [a-z]* ]] || place[$room]=${#place[@]}
    done <"$folder/rooms.txt"
    for room in "$folder"/*/; do
        room=$(basename "$room")
        [ -n "${place[$room]-}" ] || complain "every room stands in $folder/rooms.txt" "$room"
        [ -f "$folder/$room/README.md" ] || complain "every room says what it is for" "$folder/$room/README.md is missing"
    done
    while IFS=: read -r file included; do
        [ -z "$below" ] || [ ! -f "$below/$included" ] || continue
        room=${file#"$folder/"}
        room=${room%%/*}
        if [[ ${place[${included%%/*}]-99} -gt ${place[$room]-0} ]]; then
            complain "a room includes itself and rooms below" "$file includes $included"
        fi
    done < <(grep -roE --include='*.[ch]*' '^#include "[^"]+/[^"]+"' "$folder" | sed -E 's/#include "(.*)"$/\1/' | sort -u)
}
check_rooms common
check_rooms tools common
found=$(grep -rnE '^#include "[^/"]+"' common || true)
[ -z "$found" ] || complain "files of common/ name the room of what they include" "$found"

# The README of a room lists its headers.
for room in common/*/; do
    found=$(basename -s .h -a "$room"*.h | grep -v '_private$' |
        grep -vxE -f <(grep -oE '[a-z0-9_]+\*?' "${room}README.md" | sed 's/\*/.*/') || true)
    [ -z "$found" ] || complain "the README of a room names each of its headers, or all that begin alike as NAME*" "$room: $found"
done

# Files shared by all backends are compiled once, so they must not call functions that SMPI replaces in simulated ranks
# (smpi_helpers.h). Exceptions: processes that are no ranks (the supervisor, programs that only print), and calls that concern
# the whole process.
if [ $# -gt 1 ] && command -v nm >/dev/null; then
    found=$(nm -A "$2"/common/CMakeFiles/part_each.dir/*/*.o |
        grep -oE '[a-z]+/[a-z_0-9]+\.c\.o: +U (exit|sleep|usleep|nanosleep|gettimeofday|clock_gettime|getopt|getopt_long|getpid)$' |
        sed -E 's/\.c\.o: +U / /' | grep -vxE 'base/(die|file_lock) nanosleep|base/files getpid|frame/blind getpid|frame/lab_open exit|frame/supervise(_guess|_pair)? exit|launch/flight_recorder getpid|launch/(job_command|scratch) getpid|launch/launch (clock_gettime|getpid|nanosleep)|launch/orphans (getpid|nanosleep)|options/options exit' || true)
    [ -z "$found" ] || complain "what simulated ranks have their own of is called in files that know the world" "$found"
fi

# Programs that only read files start without MPI: under Debian 13 its libraries take 0.15 s to load. A build with a sanitizer links it to all.
if [ $# -gt 1 ] && command -v readelf >/dev/null && ! readelf -d "$2/bin/report" | grep -qE 'NEEDED.*lib[at]san'; then
    for tool in blame claims lesson_numbers make_shards report scale; do
        found=$(readelf -d "$2/bin/$tool" | grep -E 'NEEDED.*libmpi' || true)
        [ -z "$found" ] || complain "a tool that reads files needs no MPI" "$tool: $found"
    done
fi

# Each lab has four files with the same stem.
for stem in "${labs[@]}"; do
    for file in "labs/$stem.c" "plots/$stem.gp" "notebooks-md/$stem.md" "expected/$stem.csv"; do
        [ -f "$file" ] || complain "one stem finds four files" "$file is missing"
    done
done

# Each column of the tables that all labs write is documented.
for column in $(grep -ohE 'csv_[a-z]+\(csv, "[a-z0-9_]+"' common/report/run_report.c common/report/lanes.c | sed 's/.*"\(.*\)"/\1/' | sort -u); do
    grep -q "\`$column\`" notebooks-md/{tables,your_own_job}.md || complain "notebooks-md/tables.md explains every column" "$column"
done

# Texts about the sources name files that exist; NN and name stand for a lab's.
while IFS=: read -r text path; do
    [ -e "$path" ] || compgen -G "$path" >/dev/null || complain "a file that a text names exists" "$text: $path"
done < <(grep -oE '`(common|tools|tests|labs|cmake|plots)/[A-Za-z0-9_./*-]+`' CONTRIBUTING.md docs/*.md | tr -d '`' | grep -vE 'NN|NAME|_name\.')

# A lab has one question: its first line, which run_all.sh --list shows, equals that of its lab spec, which --help shows.
for lab in "${labs[@]}"; do
    asked=$(sed -n 's/^ *\.question = "\(.*\)",$/\1/p' "labs/$lab.c")
    first=$(head -1 "labs/$lab.c")
    [ "${first,,}" = "/* $lab: ${asked,,}" ] ||
        complain "a lab asks one question" "labs/$lab.c: its first line asks another than '$asked'"
done

# A picture has an alternative text, is a chart of its lab, and has a caption after its paragraph.
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
