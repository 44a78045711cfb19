#!/usr/bin/env bash
# usage: blame_test.sh BLAME FOLDER EXAMPLE LESSON: test tools/blame with small files whose results were computed by hand, with
# EXAMPLE and its known straggler, and with invalid files, whose errors must name line and reason. LESSON is the page about the
# format.
set -uo pipefail

# shellcheck source=tests/support/frame.sh
source "$(dirname "$0")/../support/frame.sh"
# shellcheck source=tests/support/blame.sh
source "$(dirname "$0")/../support/blame.sh"

blame=$(realpath "$1")
folder=$(realpath -m "$2")
example=$(realpath "$3")
lesson=$(realpath "$4")

table_has() # NAME TABLE KEYS COLUMN VALUE: check this value of the row of TABLE with all KEYS (column=value ...), to six decimals
{
    awk -F, -v keys="$3" -v column="$4" -v value="$5" "$by_column"'
        {
            for (i = 1; i <= split(keys, key, " "); i++) { split(key[i], pair, "="); if ($at[pair[1]] "" != pair[2]) next }
            rows++
            got = $at[column]
        }
        END {
            same = value == "-" ? got == "" : got != "" && (got - value) ^ 2 < 1e-11
            if (!(column in at) || rows != 1 || !same) { print rows + 0 " rows, " column " is " got ", not " value; exit 1 }
        }' "results/$2" >said || complain "$1" "$2: $(<said)"
}

work_without_gnuplot

# Print steps of three ranks, 100 ms apart. Rank 0 arrives at the all-reduce at 70, the others at 31 and 33. Line 2 has the column
# names; of four steps, row k (data, forward, backward, all_reduce, update; from 0) of rank r, step s is in line 3 + 20 r + 5 s + k.
good() # FIRST_STEP [CASE [STEPS]]
{
    awk -v from="$1" -v of="${2:-}" -v steps="${3:-4}" 'BEGIN {
        print "# machine: a test"
        print "rank,step,kind,start_ms,end_ms" (of == "" ? "" : ",case")
        split("0 41 50 75 80  0 1 11 76 79  0 2 12 75 81", at, " ")
        split("70 31 33", came, " ")
        split("data forward backward update", kind, " ")
        for (rank = 0; rank < 3; rank++)
            for (step = 0; step < steps; step++)
                for (k = 1; k <= 4; k++) {
                    start = at[5 * rank + k]; end = at[5 * rank + k + 1]
                    printf "%d,%d,%s,%d,%d%s\n", rank, from + step, kind[k], 100 * step + start, 100 * step + end, of == "" ? "" : "," of
                    if (k == 3)
                        printf "%d,%d,all_reduce,%d,%d%s\n", rank, from + step, 100 * step + came[rank + 1], 100 * step + end, of == "" ? "" : "," of
                }
    }'
}

# Check the results computed by hand. Time between steps counts as the phase before, update. What-if, median ranks: 33 to the
# all-reduce, 5 transfer, 58 to the next all-reduce, 5 at the end.
by_hand() # NAME
{
    table_has "$1" summary.csv case=job blamed_rank - # four steps in a row count once
    table_has "$1" ranks.csv "case=job rank=0" caused_wait_ms 74
    table_has "$1" summary.csv case=job what_if_ms 58
    table_has "$1" summary.csv case=job steps 4
    table_has "$1" summary.csv case=job batch_size -
    table_has "$1" summary.csv case=job vs_baseline -
    table_has "$1" ranks.csv "case=job rank=0" step_ms 95
    table_has "$1" ranks.csv "case=job rank=1" step_ms 94.75
    table_has "$1" ranks.csv "case=job rank=1" wait_ms 39
    table_has "$1" ranks.csv "case=job rank=1" transfer_ms 6
    table_has "$1" ranks.csv "case=job rank=2" local_ms 51.25
    table_has "$1" ranks.csv "case=job rank=0" last_share 1
    table_has "$1" ranks.csv "case=job rank=0" samples -
    table_has "$1" ranks.csv "case=job rank=0" loss -
}
all=(--skip-first-steps 0)

good 0 >good.csv
answers "by hand" 0 "of job 4 steps measured, from step 0 on" good.csv "${all[@]}"
by_hand "by hand"
for text in "rank 0 " "◀ last" "Of every 100 rank-seconds of job, 27 were spent waiting; too few steps to tell a cause from chance." "would take 58.0 ms" "a step took 95.0 ms" \
    "No other case to compare with" "in more rounds, or stretches of four steps, than" "gnuplot is not installed" "Tables and trace: $folder/results"; do
    grep -qF "$text" out || complain "by hand" "does not say \"$text\""
done
! grep -q $'\033' out || complain "by hand" "colours in a file"
for file in summary.csv ranks.csv rounds.csv lanes.csv trace.json; do [[ -s results/$file ]] || complain "by hand" "no $file"; done
grep -qx '# machine: a test' results/summary.csv || complain "by hand" "the file's own head is lost"

# Enough steps to blame a rank: sixteen are four stretches, and so are four steps of simulated ranks, whose steps count one by one.
good 0 job 16 >long.csv
answers "sixteen steps" 10 "Of every 100 rank-seconds of job, 25 waited for rank 0." long.csv "${all[@]}"
table_has "sixteen steps" summary.csv case=job blamed_rank 0
table_has "sixteen steps" summary.csv case=job blamed_wait_ms 74
grep -qF "Next: rank 0 is late in its data" out || complain "sixteen steps" "does not say in what rank 0 is late"
{ echo "# simulated: platform example, a machine"; cat good.csv; } >simulated.csv
answers "simulated steps" 10 "core-seconds of job, 26 waited for rank 0." simulated.csv "${all[@]}"
grep -qF "caused most of it in more steps than chance" out || complain "simulated steps" "does not count steps"

# The same spans in other forms: rows in reverse order, all columns and an unknown one, column names before each rank, other first
# steps.
{ head -n 2 good.csv; tail -n +3 good.csv | tac; } >same.csv
answers "upside down" 0 "4 steps" same.csv "${all[@]}"
by_hand "upside down"
awk -F, 'NR == 1 { next } NR == 2 { print "round,case,colour,sequence,bytes,progressed,measured,entered_ms," $0; next }
    { sum = $3 == "all_reduce"; print "3,job,red," (sum ? 7 + $2 ".0" : "") "," (sum ? 64 : "") ",0,1," $4 "," $0 }' good.csv >columns.csv
answers "all columns" 0 "from step 0 on" columns.csv
by_hand "all columns"
awk 'NR == 2 { names = $0 } NR > 2 && (NR - 3) % 20 == 0 && NR > 3 { print names } { print }' good.csv >same.csv
answers "names again" 0 "4 steps" same.csv "${all[@]}"
by_hand "names again"
{ printf '\xef\xbb\xbf'; cat good.csv; } >same.csv
answers "a byte order mark" 0 "4 steps" same.csv "${all[@]}"
by_hand "a byte order mark"
grep -qx '# machine: a test' results/summary.csv || complain "a byte order mark" "the file's own head is lost"
good 1000 >same.csv
answers "later steps" 0 "from step 1000 on" same.csv --spans same.csv "${all[@]}" 2>/dev/null
tell --spans same.csv "${all[@]}"
by_hand "--spans"

# Warm-up: two of four steps by default; the column `measured` overrides the default, the option overrides both.
answers "warm-up" 0 "of job 2 steps measured, from step 2 on" good.csv
awk -F, 'NR > 2 { print $0 "," ($2 >= 3); next } NR == 2 { print $0 ",measured"; next } 1' good.csv >measured.csv
answers "the column measured" 0 "of job 1 step measured, from step 3 on" measured.csv
answers "the option" 0 "of job 3 steps measured, from step 1 on" measured.csv --skip-first-steps 1
head -n 2 good.csv >short.csv
awk -F, 'NR > 2 && $2 < 3' good.csv >>short.csv
answers "three steps" 0 "of job 3 steps measured, from step 0 on" short.csv

# Ranks that synchronize in every second step: whole cycles, each ending with a collective.
awk -F, 'NR < 3 || $3 != "all_reduce" || $2 % 2' good.csv >cycle.csv
answers "cycles" 0 "The steps repeat in cycles of 2." cycle.csv "${all[@]}"
grep -q '^job,[13],' results/lanes.csv || complain "cycles" "the picture shows a step without a meeting"

# Two cases; in the second, rank 0 is on time. The baseline is the requested case, the case named baseline, or the first case.
good 0 late >cases.csv
awk -F, -v OFS=, 'NR > 2 { $6 = "baseline"; if ($1 == 0) { $4 -= $3 == "data" ? 0 : 38; $5 -= $3 == "update" ? 0 : 38 } print }' cases.csv >better
sed 's/,baseline$/,even/' better | cat cases.csv - >others.csv
cat better >>cases.csv
# (Rank 0 now has data to 3, forward to 12, backward to 37, all-reduce from 32 on. It would leave too early: shift the end back.)
awk -F, -v OFS=, '$1 == 0 && ($6 == "baseline" || $6 == "even") && $3 == "all_reduce" { $5 += 38 } $1 == 0 && ($6 == "baseline" || $6 == "even") && $3 == "backward" { $5 += 38 } $1 == 0 && ($6 == "baseline" || $6 == "even") && $3 == "update" { $4 += 38 } 1' cases.csv >cases && mv cases cases.csv
awk -F, -v OFS=, '$1 == 0 && $6 == "even" && $3 == "all_reduce" { $5 += 38 } $1 == 0 && $6 == "even" && $3 == "backward" { $5 += 38 } $1 == 0 && $6 == "even" && $3 == "update" { $4 += 38 } 1' others.csv >others && mv others others.csv
answers "two cases" 0 "late                      95.2  1.00" cases.csv "${all[@]}"
table_has "two cases" summary.csv case=baseline blamed_rank -
table_has "two cases" summary.csv case=late numerics -
# The baseline's what-if: 32 to the all-reduce, 42 transfer, 57 to the next all-reduce, 5 at the end: 376 in four steps.
grep -qF "the baseline took 95.0 ms and would gain 1.0 ms the same way." out || complain "two cases" "not held against the baseline"
answers "the first is the baseline" 0 "late                      95.2  1 " others.csv "${all[@]}"
answers "asked for" 0 "even                      95.2  1 " others.csv "${all[@]}" --baseline even
answers "a case asked for" 0 "even, rank by rank" others.csv "${all[@]}" --case even
answers "no such case" 2 "--case names no case of others.csv: 'odd'" others.csv --case odd
answers "no such baseline" 2 "--baseline names no case of others.csv: 'odd'" others.csv --baseline odd

# The baseline in one round, the other case in forty: comparisons of rounds without a baseline are blank.
awk 'BEGIN { print "case,round,rank,step,kind,start_ms,end_ms"; print "baseline,0,0,0,data,0,10"
    for (round = 0; round < 40; round++) print "more," round ",0,0,data,0,20" }' >rounds.csv
answers "rounds of two cases" 0 "2.00" rounds.csv
table_has "rounds of two cases" rounds.csv "case=more round=0" vs_baseline 2
for round in 1 2 39; do table_has "rounds of two cases" rounds.csv "case=more round=$round" vs_baseline -; done

# A phase that takes no time.
printf 'rank,step,kind,start_ms,end_ms\n0,0,data,0,0\n' >nothing.csv
answers "nothing takes time" 0 "job 1 step measured" nothing.csv
! grep -qi 'nan\|inf' out || complain "nothing takes time" "$(<out)"

# Only charts of the current file are kept next to its tables, and they are mentioned only if they exist.
charts=(charts.csv {breakdown,timeline,step_time}.{svg,png})
no_charts() # NAME
{
    local chart
    grep -qxF "Tables and trace: $folder/results" out || complain "$1" "the last line promises charts"
    for chart in "${charts[@]}"; do [[ ! -e results/$chart ]] || complain "$1" "$chart is an old one"; done
}
stale() { for chart in "${charts[@]}"; do echo old >"results/$chart"; done; }
stale
answers "old charts, no gnuplot" 0 "gnuplot is not installed" good.csv "${all[@]}"
no_charts "old charts, no gnuplot"
sed '26s/76$/69/' good.csv >early.csv
stale
answers "old charts, a wrong file" 1 "WRONG" early.csv
no_charts "old charts, a wrong file"
stub_gnuplot() # COMMAND: create a gnuplot that runs COMMAND in the folder of the charts
{
    cat >bin/gnuplot <<'END'
#!/usr/bin/env bash
all="$*" charts=${all#*charts=\'}
cd "${charts%%\'*}" || exit 1
END
    echo "$1" >>bin/gnuplot
    chmod +x bin/gnuplot
}
stub_gnuplot 'echo chart,title,axis,cases >charts.csv; exit 1'
answers "a gnuplot that fails" 0 "the charts could not be drawn: gnuplot ended with status 1" good.csv "${all[@]}"
no_charts "a gnuplot that fails"
stub_gnuplot 'printf "%s\n" chart,title,axis,cases step_time >charts.csv; echo "<svg>" >step_time.svg'
answers "half a chart" 0 "step_time.svg is incomplete" good.csv "${all[@]}"
no_charts "half a chart"
stub_gnuplot 'printf "%s\n" chart,title,axis,cases step_time >charts.csv; echo "</svg>" >step_time.svg'
answers "a gnuplot" 0 "Tables, trace and charts: $folder/results" good.csv "${all[@]}"
[[ -s results/charts.csv && -s results/step_time.svg && ! -e results/.charts.tmp ]] || complain "a gnuplot" "charts: $(ls -A results)"
rm bin/gnuplot

# The real gnuplot draws one rank, whose tables have one row, even if a phase has no room for its number.
if gnuplot=$(command -v gnuplot); then
    ln -s "$gnuplot" bin/gnuplot
    for times in "0 1 11 79 80" "0 41 50 75 80"; do
        read -r -a at <<<"$times"
        {
            echo rank,step,kind,start_ms,end_ms
            for step in {0..3}; do
                for k in 0 1 2 3; do
                    kind=(data forward backward update)
                    echo "0,$step,${kind[k]},$((100 * step + at[k])),$((100 * step + at[k + 1]))"
                done
            done
        } >one.csv
        answers "charts of one rank" 0 "Tables, trace and charts: $folder/results" one.csv
        [[ ! -s err ]] || complain "charts of one rank" "gnuplot says: $(<err)"
    done
    rm bin/gnuplot
fi

# Unix time, about a century from now: the trace must have whole nanoseconds.
awk -F, -v OFS=, 'NR > 2 { $4 += 3999999990000; $5 += 3999999990000 } 1' OFMT=%.0f CONVFMT=%.0f good.csv >unix.csv
answers "Unix time" 0 "4 steps" unix.csv "${all[@]}"
! grep -q '"ts":[^,}]*-\|"ts":[0-9]\{12\}' results/trace.json || complain "Unix time" "times that are none in trace.json"

# A rank that leaves before the last rank arrives: blame prints the lines, no times, status 1, unless the clock error explains it.
answers "left early" 1 "early.csv:26: rank 1 leaves all_reduce 0 of step 0 at 69.000000 ms, before rank 0 (line 6) arrives at 70.000000" early.csv
grep -q "WRONG" out || complain "left early" "a speed is shown of it"
table_has "left early" summary.csv case=job wrong 1
# LOCKSTEP_COMPLAINTS gets the reason why a program ended, but no warnings.
LOCKSTEP_COMPLAINTS=$folder/complaints answers "a warning" 1 "rank 1 leaves" early.csv
[[ ! -s complaints ]] || complain "a warning" "is kept as a complaint: $(<complaints)"
LOCKSTEP_COMPLAINTS=$folder/complaints answers "a reason" 2 "No such file" nowhere.csv
[[ $(<complaints) == "nowhere.csv: No such file or directory; name a file that can be read" ]] || complain "a reason" "is not kept: $(<complaints)"
{ sed '2s/$/,case/; 3,$s/$/,baseline/' early.csv; good 0 late | sed 1,2d; } >wrong.csv
answers "a wrong baseline" 1 "(computed from late alone)." wrong.csv "${all[@]}"
! grep -q "the baseline took" out || complain "a wrong baseline" "a speed is shown of it"
answers "clocks differ" 0 "Clocks may differ by 1 ms" early.csv --clock-error-ms 1
[[ ! -s err ]] || complain "clocks differ" "complains of it: $(<err)"
answers "hidden arrivals" 0 "so wait and transfer are n/a" good.csv --hides-arrivals
table_has "hidden arrivals" summary.csv case=job wait_ms -
{ echo "# wait and transfer: n/a, NCCL"; cat good.csv; } >nccl.csv
answers "the file says so" 0 "so wait and transfer are n/a" nccl.csv

# A collective that overlaps with work, and one after the last phase.
sed '2s/$/,entered_ms,progressed/; 6s/$/,72,1/; 26s/$/,40,1/; 46s/$/,40,1/; 3,$ { /,.*,.*,.*,.*,.*,/ ! s/$/,,/ }' good.csv >async.csv
answers "started and entered" 0 "4 steps" async.csv "${all[@]}"
table_has "started and entered" ranks.csv "case=job rank=1" wait_ms 36.75 # 30 in the first step, then 39
{ cat good.csv; for rank in 0 1 2; do echo "$rank,3,barrier,385,390"; done; } >behind.csv
answers "behind the last phase" 0 "4 steps" behind.csv "${all[@]}"
table_has "behind the last phase" ranks.csv "case=job rank=0" step_ms 97.5

# Groups of ranks. Ranks 0 and 2 are group 7, ranks 1 and 3 group 2; each has an all-reduce. Then all ranks meet at a barrier, whose
# group is blank. Rank 2 is late by 10 in its group, rank 1 by 4; rank 3 comes last to the barrier, 2 after rank 1.
cat >groups.csv <<'END'
rank,step,kind,start_ms,end_ms,group,bytes
0,0,backward,0,60,,0
0,0,all_reduce,10,22,7,8
0,0,barrier,40,52,,0
1,0,backward,0,60,,0
1,0,all_reduce,34,36,2,16
1,0,barrier,48,52,,0
2,0,backward,0,60,,0
2,0,all_reduce,20,22,7,8
2,0,barrier,40,52,0,0
3,0,backward,0,60,,0
3,0,all_reduce,30,36,2,16
3,0,barrier,50,52,,0
END
by_group() # NAME
{
    table_has "$1" ranks.csv "case=job rank=0" wait_ms 20
    table_has "$1" ranks.csv "case=job rank=0" transfer_ms 4
    table_has "$1" ranks.csv "case=job rank=1" wait_ms 2
    table_has "$1" ranks.csv "case=job rank=1" caused_wait_ms 4
    table_has "$1" ranks.csv "case=job rank=2" wait_ms 10
    table_has "$1" ranks.csv "case=job rank=2" caused_wait_ms 10
    table_has "$1" ranks.csv "case=job rank=3" wait_ms 4
    table_has "$1" ranks.csv "case=job rank=3" caused_wait_ms 6
    table_has "$1" summary.csv case=job what_if_ms "$2"
    table_has "$1" summary.csv case=job wrong 0
}
answers "groups" 0 "4 ranks" groups.csv
# The groups' all-reduces have different sizes, so each rank is replayed. Ranks work for 36, 54, 46 and 52 (lower median 46). Rank 3 works
# for 14 x 46 / 52 after rank 1's 34 x 46 / 54 and a transfer of 2, then comes the barrier's 2, and the 8 of rank 0.
by_group "groups" 53.347578
grep -q '"group":7,"sent_bytes":8,"received_bytes":8' results/trace.json || complain "groups" "trace.json does not name group 7 and its bytes"
! grep -q '"group":0' results/trace.json || complain "groups" "trace.json names the group of all ranks"
# With equal sizes: pieces of 20, 14 (18, 12, 18, 14) and 8, transfers of 2 and 2. Shuffled rows are the same.
{ head -n 1 groups.csv; tail -n +2 groups.csv | tac; } | sed 's/,16$/,8/' >same.csv
answers "groups of one size" 0 "4 ranks" same.csv
by_group "groups of one size" 46
# Two calls in a group and one in the other, numbered per group.
sed '2s/$/\n0,0,all_reduce,2,5,7,8/; 8s/$/\n2,0,all_reduce,4,5,7,8/' groups.csv >same.csv
answers "groups with other numbers of calls" 0 "4 ranks" same.csv
table_has "groups with other numbers of calls" ranks.csv "case=job rank=0" wait_ms 22
# The file does not name the root of a broadcast or the partners of a message: wait and transfer are unknown, and an early end is no
# mistake.
sed 's/all_reduce/broadcast/; 11,12s/36/31/' groups.csv >peers.csv
answers "broadcasts" 0 "4 ranks" peers.csv
table_has "broadcasts" ranks.csv "case=job rank=0" wait_ms -
table_has "broadcasts" ranks.csv "case=job rank=0" exposed_ms 24
table_has "broadcasts" summary.csv case=job wrong 0
sed 's/all_reduce/send_receive/; s/,16$/,4/' groups.csv | sed '12s/,4$/,9/' >peers.csv
answers "messages" 0 "4 ranks" peers.csv
table_has "messages" ranks.csv "case=job rank=3" wait_ms -

# --- invalid files -----------------------------------------------------------------------------------------------

refused() # NAME REASON [ARGUMENT...]: check that bad.csv is refused in one line that begins with REASON, before writing
{
    local name=$1 reason=$2
    shift 2
    rm -rf results
    tell bad.csv "$@"
    ((status == 2)) || complain "$name" "status $status, not 2"
    (($(wc -l <err) == 1)) || complain "$name" "$(wc -l <err) lines on standard error, not 1"
    [[ $(<err) == "blame: bad.csv:$reason"* ]] || complain "$name" "\"$reason\" does not begin: $(<err)"
    [[ $(<err) == *"; "* ]] || complain "$name" "no cure: $(<err)"
    [[ ! -s out && ! -e results ]] || complain "$name" "something was told or written"
}

bad() # NAME SED REASON [ARGUMENT...]: check that the good file, changed by SED, is refused
{
    local name=$1 change=$2
    shift 2
    sed "$change" good.csv >bad.csv
    refused "$name" "$@"
}

bad "no column" '2s/kind/what/' "2: no column 'kind'"
bad "no rows" '3,$d' "2: no row below the header line"
bad "a rank below 0" '23s/^1/-1/' "23: rank is -1, not from 0 to 1023"
bad "a rank between two" '23s/^1/0.5/' "23: rank is 0.5; write the ranks' numbers"
bad "too many ranks" '23s/^1/1024/' "23: rank is 1024, not from 0 to 1023"
bad "a rank that is no number" '23s/^1/one/' "23: rank is 'one', which is not a number"
bad "a blank rank" '23s/^1//' "23: rank is blank"
bad "a step between two" '23s/^1,0/1,0.5/' "23: step is 0.5"
bad "a step below 0" '23s/^1,0/1,-3/' "23: step is -3"
bad "a far step" '23s/^1,0/1,9999999999/' "23: step is 9999999999, not from 0 to 1000000000"
bad "a kind that is none" '6s/all_reduce/sum/' "6: kind is 'sum'; write one of data, forward, backward, host, update, other, all_reduce, all_gather, reduce_scatter, broadcast, send_receive, barrier"
bad "not a number" '24s/,11$/,nan/' "24: end_ms is 'nan', which is not a number"
bad "infinite" '24s/,11$/,inf/' "24: end_ms is 'inf', which is not a number"
bad "hexadecimal" '24s/,11$/,0xb/' "24: end_ms is '0xb', which is not a number"
bad "overflow" '24s/,11$/,1e999/' "24: end_ms is '1e999', which is not a number"
bad "too large" '24s/,11$/,1e300/' "24: end_ms is 1e300, not from"
bad "a stamp of nanoseconds" '24s/,11$/,1700000000000000000/' "24: end_ms is 1700000000000000000, not from -4e+12 to 4e+12; write milliseconds"
bad "a blank stamp" '24s/,11$/,/' "24: end_ms is blank; write milliseconds"
bad "end before start" '24s/,11$/,0.5/' "24: forward ends at 0.5 ms, before its start at 1"
bad "phases over each other" '24s/,11$/,12/' "25: rank 1: backward begins at 11.000000 ms, before forward (line 24) ends at 12.000000"
bad "a rank missing" '23,42s/^1/3/' "3: round 0 of case job has no row of rank 1, but its ranks go up to 3"
bad "a step missing" '8,12d' "8: rank 0: step 2 follows step 0 (line 7)"
bad "a step missing of one rank" '38,42d' "23: rank 1 has phases of steps 0 to 2, rank 0 of 0 to 3"
bad "steps that go back" '13,17s/^0,2/0,0/' "13: rank 0: a phase of step 0 begins after one of step 1 (line 12)"
bad "another collective" '26s/all_reduce/all_gather/' "26: rank 1 makes all_gather 0 of step 0 with 0 bytes, where rank 0 (line 6) makes all_reduce 0 of step 0 with 0"
bad "a collective of another step" '26s/^1,0/1,1/' "26: rank 1 makes all_reduce 0 of step 1"
bad "a collective less" '41d' "21: rank 0 makes this all_reduce, its collective number 3 of round 0, but rank 1 makes none"
bad "a collective more" '42a 1,3,barrier,378,379' "43: rank 1 makes this barrier, its collective number 4 of round 0, but rank 0 makes none"
bad "no phases" '3,22{/all_reduce/!d}' "3: rank 0 has no phase in round 0 of case job"
bad "a collective before all phases" '2a 0,0,barrier,-5,-1' "3: rank 0 waits for barrier from -5.000000 ms on, before its first phase begins"
bad "a wait in two phases" '6s/75$/76/' "6: rank 0 waits for all_reduce until 76.000000 ms, but its backward (line 5) is over at 75.000000"
bad "two waits at once" '6a 0,0,barrier,72,74' "7: rank 0 begins to wait for barrier at 72.000000 ms, while it still waits for all_reduce (line 6) until 75.000000"
bad "nothing measured" '' "3: round 0 of case job has 4 steps, none of which is measured" --skip-first-steps 4
bad "fields" '24s/$/,1/' "24: 6 fields, but the header has 5; "
bad "a quote that never closes" '24s/forward/"forward/' "24: a quote is never closed"
bad "a line within a word" '24s/forward/"for\nward"/' "24: kind is 'for?ward'; write one of"
sed '3,$s/$/,two words/; 2s/$/,case/' good.csv >bad.csv
refused "a case of two words" "3: case is 'two words'; write one word"
awk 'NR == 2 { $0 = $0 ",case" } NR > 2 { $0 = $0 ",case" NR } 1' good.csv >bad.csv
sed -n '1,2p' bad.csv >many && for i in {0..64}; do echo "0,0,data,0,1,case$i"; done >>many && mv many bad.csv
refused "many cases" "67: more than 64 cases; split the file"
sed '2s/$/,entered_ms/; 3,$s/$/,/; 6s/$/76/' good.csv >bad.csv
refused "entered after the end" "6: entered_ms is 76, not between start_ms 70 and end_ms 75"
sed '2s/$/,bytes/; 3,$s/$/,8/; 26s/8$/4/' good.csv >bad.csv
refused "other bytes" "26: rank 1 makes all_reduce 0 of step 0 with 4 bytes, where rank 0 (line 6) makes all_reduce 0 of step 0 with 8"
sed '2s/$/,sequence/; 3,$s/$/,/; /all_reduce/s/$/5/; 26s/5$/6/' good.csv >bad.csv
refused "other numbers" "26: rank 1 makes all_reduce 6"
sed '12s/all_reduce/all_gather/' groups.csv >bad.csv
refused "another collective in a group" "12: rank 3 makes all_gather 0 in group 2 of step 0 with 16 bytes, where rank 1 (line 6) makes all_reduce 0 of step 0 with 16; all ranks in group 2"
sed '12s/all_reduce,.*/all_reduce,30,36,7,8/' groups.csv >bad.csv
sed '12a 3,0,all_reduce,37,38,7,8' bad.csv >more && mv more bad.csv
refused "a collective more in a group" "13: rank 3 makes this all_reduce, its collective number 1 in group 7 of round 0, but rank 0 makes none; all ranks in group 7"
sed '13s/,,0$/,2,0/' groups.csv >bad.csv
refused "a rank less in the group of all" "4: rank 0 makes this barrier, its collective number 0 of round 0, but rank 3 makes none"
sed '3s/,7,/,1.5,/' groups.csv >bad.csv
refused "half a group" "3: group is 1.5; write the number of the group of ranks"
sed '3s/,7,/,40000,/' groups.csv >bad.csv
refused "a far group" "3: group is 40000, not from 0 to 32767"
sed '2s/$/,measured/; 3,$s/$/,1/; 13s/1$/0/' good.csv >bad.csv
refused "a step measured in part" "14: measured is 1 here and 0 in line 13, both of step 2"
sed '2s/$/,measured/; 3,$s/$/,1/; /^[012],2,/s/1$/0/' good.csv >bad.csv
refused "a hole in what is measured" "13: step 2 is not measured, but step 0 before it is"
sed '2s/$/,measured/; 3,$s/$/,0/' good.csv >bad.csv
refused "all of it warm-up" "3: round 0 of case job has 4 steps, but measured is 1 in none; write 1 in those that count, or give --skip-first-steps 0"
answers "all of it warm-up, but for the option" 0 "of job 4 steps measured" bad.csv "${all[@]}"
sed '2s/$/,measured/; 3,$s/$/,2/' good.csv >bad.csv
refused "half measured" "3: measured is 2, not from 0 to 1; write 0 or 1"
: >bad.csv
answers "an empty file" 2 "bad.csv: no header line" bad.csv
answers "no file" 2 "nowhere.csv: No such file or directory" nowhere.csv
answers "a folder" 2 "has no *.json" .
grep -v all_reduce good.csv >none.csv
answers "no collective" 0 "Next: add a row for each collective" none.csv
answers "too few steps to tell" 0 "Next: most of the waiting is for rank 0, but chance or the baseline explain as much; record more than 2 steps." good.csv
sed '23,$d' good.csv >rank0.csv
answers "one rank of several" 0 "Next: add the spans of the other ranks" rank0.csv
answers "a file per rank" 2 "good.csv and none.csv: blame takes one file of spans; put the spans of all ranks into one" good.csv none.csv
status=0
"$blame" good.csv --out none.csv/results >out 2>err </dev/null || status=$?
((status == 2)) && [[ ! -s out && $(<err) == "blame: --out none.csv/results cannot be written: Not a directory; "* ]] ||
    complain "a folder that cannot be" "status $status: $(<err)"
answers "nothing" 2 "no file of spans; name one"
answers "a flag that is none" 2 "did you mean --skip-first-steps?" good.csv --skip-first-step 1
answers "help" 0 "usage: blame" --help

# --- the example, and mutants of a good file ---------------------------------------------------------------------

answers "the example" 10 "waited for rank 1." "$example"
grep -q "Next: rank 1 is late in its data" out || complain "the example" "does not say in what"

# The lesson documents all kinds and columns, and shows the lines that wrote the example.
for word in data forward backward host update all_reduce all_gather reduce_scatter broadcast send_receive barrier; do
    grep -q "\`$word\`" "$lesson" || complain "the lesson" "does not name the kind $word"
done
for word in rank step kind start_ms end_ms round case sequence entered_ms bytes progressed measured group host; do
    grep -q "^| \`$word\`" "$lesson" || complain "the lesson" "its table has no row of $word"
done
sed -n "/the lesson's ten lines begin/,/the lesson's ten lines end/{/lesson's ten lines/!p}" "$(dirname "$example")/torch_job.py" >writer
(($(wc -l <writer) == 10)) || complain "the lesson" "ten lines are $(wc -l <writer)"
awk '/^    class Spans/ { on = 1 } on && /^$/ { exit } on { print substr($0, 5) }' "$lesson" | cmp -s - writer ||
    complain "the lesson" "shows other lines than tests/tools/torch_job.py has between its marks"

# For any file, blame ends with status 0, 1, 2 or 10.
mkdir mutants
mutate() # FILE COUNT
{
    awk -F, -v file="${1%.csv}" -v count="$2" 'BEGIN { srand(20261121) }
        { line[NR] = $0 }
        function any(n) { return 1 + int(n * rand()) }
        function spoil(text,   f, n, at, i, out) {
            n = split(text, f, ",")
            f[any(n)] = bad[any(bads)]
            out = f[1]
            for (i = 2; i <= n; i++) out = out "," f[i]
            return out
        }
        END {
            bads = split("nan|-1|1e308||x|99999999999|0x10|\"|#|0|1|2|3.5|75|-0|1e-9|barrier|all_gather|host|1023|200.5", bad, "|")
            for (m = 1; m <= count; m++) {
                n = NR
                for (i = 1; i <= n; i++) now[i] = line[i]
                for (k = any(4); k > 0; k--) {
                    at = any(n); what = any(7)
                    if (what == 1) now[at] = ""
                    else if (what == 2) now[at] = now[at] "\n" now[at]
                    else if (what == 3) now[at] = substr(now[at], 1, any(length(now[at]) + 1) - 1)
                    else if (what == 4) { to = any(n); held = now[at]; now[at] = now[to]; now[to] = held }
                    else if (what == 5 && rand() < 0.1) n = at
                    else now[at] = spoil(now[at])
                }
                to = "mutants/" file m ".csv"
                for (i = 1; i <= n; i++) print now[i] > to
                close(to)
            }
        }' "$1"
}
mutate good.csv 120
mutate columns.csv 120
declare -A ended=([0]=0 [1]=0 [2]=0 [10]=0)
for file in mutants/*.csv; do
    tell "$file" --skip-first-steps 1
    [[ ${ended[$status]:-} ]] || { complain "$file" "status $status: $(tail -n 3 err)"; continue; }
    ((ended[$status] += 1))
    ((status != 2 || $(wc -l <err) == 1)) || complain "$file" "$(wc -l <err) lines: $(<err)"
done
echo "240 mutants: $((ended[0] + ended[10])) told, ${ended[1]} wrong, ${ended[2]} refused"
((ended[0] > 5 && ended[2] > 50)) || complain "mutants" "all alike"

((failed)) || echo "blame says what was worked out by hand, and refuses the rest."
exit "$failed"
