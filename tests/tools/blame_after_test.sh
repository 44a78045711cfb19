#!/usr/bin/env bash
# usage: blame_after_test.sh BIN FOLDER SOURCES: check what `blame --after` says of a fix: on steps worked out by hand, on the recordings of
# notebooks-md/find_and_fix.md, on bad input, and on labs with and without their fault, on a modelled machine whose ranks share nothing. There
# the what-if must promise exactly what removing the fault gains.
set -uo pipefail
# shellcheck source=tests/support/frame.sh
source "$(dirname "$0")/../support/frame.sh"
# shellcheck source=tests/support/blame.sh
source "$(dirname "$0")/../support/blame.sh"
bin=$(realpath "$1")
blame=$bin/blame
folder=$(realpath -m "$2")
sources=$(realpath "$3")

work_without_gnuplot

# Print steps of some ranks: rank 0 has LATE ms of data, then all have 10 forward, 20 backward, 5 of transfer, 5 update. A step takes
# LATE + 40 ms.
steps() # LATE [RANKS [CASE]]
{
    awk -v late="$1" -v ranks="${2:-2}" -v of="${3:-job}" 'BEGIN {
        print "case,rank,step,kind,start_ms,end_ms"
        for (rank = 0; rank < ranks; rank++)
            for (step = 0; step < 32; step++) {
                begin = step * (late + 40); own = rank == 0 ? late : 0; met = begin + late + 30
                head = of "," rank "," step ","
                print head "data," begin "," begin + own
                print head "forward," begin + own "," begin + own + 10
                print head "backward," begin + own + 10 "," met + 5
                print head "all_reduce," begin + own + 30 "," met + 5
                print head "update," met + 5 "," met + 10
            }
    }'
}

steps 30 >before.csv
steps 0 >after.csv
steps 12 >half.csv
answers "fixed" 10 "a step takes 40.0 ms, 30.0 ms less (95 % interval 30.0 to 30.0). The what-if promised 30.0 ms (rank 0: data), 30.0 ms (rank 0: all phases)." \
    before.csv --after after.csv
grep -qF "no rank stands out as the cause." out || complain "fixed" "no word of the later recording"
grep -q '<h2>After the fix</h2>' results/page.html || complain "fixed" "not on the page"
answers "half fixed" 10 "a step takes 52.0 ms, 18.0 ms less" before.csv --after half.csv
grep -qF "12 waited for rank 0, late in its data" out || complain "half fixed" "does not say that rank 0 is still late"
answers "not fixed" 10 "a step takes 70.0 ms, 0.0 ms less" before.csv --after before.csv
answers "worse" 0 "a step takes 70.0 ms, 30.0 ms more (95 % interval 30.0 to 30.0). The what-if promised nothing." after.csv --after before.csv
answers "JSON" 10 '"after": {"source": "after.csv", "step_ms": 40, "gain_ms": 30, "gain_low_ms": 30, "gain_high_ms": 30, "promises": [{"rank": 0, "host": null, "phase": "data", "gain_ms": 30}' \
    before.csv --after after.csv --json
answers "JSON, no other recording" 10 '"after": null' before.csv --json
steps 0 3 >three.csv
answers "other ranks" 2 "three.csv has 3 ranks, and before.csv 2: not the same job; record it again with as many ranks" before.csv --after three.csv
{ steps 0 2 fast; steps 0 2 other | tail -n +2; } >cases.csv
answers "other cases" 2 "cases.csv has no case 'job', but 2 others; choose one that both recordings have by --case" before.csv --after cases.csv
answers "no file" 2 "missing.csv" before.csv --after missing.csv

# The page shows what blame prints.
page=$sources/notebooks-md/find_and_fix.md recorded=$sources/notebooks-md/runs/torch
cp "$recorded"/find_and_fix_before.csv before.csv
cp "$recorded"/find_and_fix_after.csv after.csv
tell before.csv --after after.csv
((status == 10)) || complain "the page" "status $status"$'\n'"$(cat err)"
sed 's/\([.)]\) \(The what-if\|Of every\)/\1\n\2/g' out >lines # the page breaks a long line after its sentences
while IFS= read -r line; do
    grep -qxF -- "$line" lines || complain "the page" "blame does not print: $line"
done < <(awk '/^```text/ { on = 1; next } /^```/ { on = 0 } on && NF' "$page")

# Labs with and without their fault. A row of smaller shares is left out: without the fault they are dealt out anew.
gain() # LAB OPTION...: compare promise and gain of each case; the options remove the fault
{
    local lab=$1 case compared=0
    shift
    "$bin/$lab" --platform gpu_node --quick --out with </dev/null >lab.txt 2>&1 || complain "$lab" "$(tail -n 3 lab.txt)"
    "$bin/$lab" --platform gpu_node --quick --out without "$@" </dev/null >lab.txt 2>&1 || complain "$lab" "$(tail -n 3 lab.txt)"
    while read -r case; do
        grep "^#\|,$case,\|,case," "with/platforms/gpu_node/$lab/spans.csv" >one.csv
        grep "^#\|,$case,\|,case," "without/platforms/gpu_node/$lab/spans.csv" >other.csv
        tell one.csv --after other.csv --json
        ((status == 10)) || continue # no rank stands out: a roaming one, two late ones
        awk -v RS= 'match($0, /"gain_ms": [-0-9.e]*, "gain_low/) { gain = substr($0, RSTART + 11) + 0 }
            match($0, /"promises": .*/) { rest = substr($0, RSTART); match(rest, /"phase": null, "gain_ms": [-0-9.e]*/); promise = substr(rest, RSTART + 26) + 0 }
            END { off = promise - gain; bad = off > 0.002 * gain + 0.001 || off < -0.002 * gain - 0.001
                if (bad || !gain) { print "promised " promise " ms, gained " gain; exit 1 } }' out >said || complain "$lab $case" "$(<said)"
        compared=$((compared + 1))
    done < <(awk -F, '/^#/ || $1 == "lab" || /_share,/ { next } { print $2 }' "with/platforms/gpu_node/$lab/summary.csv")
    ((compared >= 8)) || complain "$lab" "only $compared cases compared"
}
if [[ -e $bin/../lib ]] && "$bin/01_straggler" --platform gpu_node --dry-run --out dry >said 2>&1; then
    gain 01_straggler --sleep-ms 0 --slow-factor 1
    gain 02_rank0_host --barrier-sleep-ms 0
fi
exit $failed
