#!/usr/bin/env bash
# usage: claims_test.sh CLAIMS FOLDER: check the verdicts of tools/claims. Writes small tables to FOLDER.
set -uo pipefail

# shellcheck source=tests/support/frame.sh
source "$(dirname "$0")/../support/frame.sh"

claims=$1
folder=$2/claims
results=$folder/results

check() # NAME STATUS TEXT ARGUMENT...: check that `claims` exits with STATUS and prints TEXT (blank: anything)
{
    local name=$1 status=$2 text=$3 said got
    shift 3
    said=$("$claims" --results "$results" --expected "$folder/expected" "$@" 2>&1)
    got=$?
    if ((got != status)) || [[ $'\n'$said$'\n' != *"$text"* ]]; then
        complain "$name" "status $got, not $status; wanted \"$text\""
    fi
}

lines() # NAME COUNT TEXT: check that COUNT lines printed by `claims` hold TEXT
{
    local said count
    said=$("$claims" --results "$results" --expected "$folder/expected" 2>&1)
    count=$(grep -cF -e "$3" <<<"$said")
    ((count == $2)) || complain "$1" "$count lines, not $2, hold \"$3\""
}

row() # NAME ROW: check that the table holds this row, ignoring the number of blanks
{
    local said
    said=$("$claims" --results "$results" --expected "$folder/expected" 2>&1 | tr -s ' ')
    [[ $'\n'$said$'\n' == *$'\n'"$2"$'\n'* ]] || complain "$1" "no row \"$2\""
}

expect() # CLAIM...: write the file of claims, one row each
{
    {
        printf '# a comment\nid,case,needs,quantity,relation,value,tolerance,kind,why\n'
        printf '%s\n' "$@"
    } >"$folder/expected/07_test.csv"
}

repeat_rounds() # FOLDER: write rounds.csv, six rounds as in summary.csv
{
    awk -F , -v OFS=, '/^#/ { print; next }
        !columns { columns = NF; print $0, "launch,round,local_drift,taken_share,is_disturbed"; next }
        { for (round = 0; round < 6; round++) print $0, 0, round, 1, 0, 0 }' "$1/summary.csv" >"$1/rounds.csv"
}

one() # NAME VERDICT MIDDLE: check one exact claim about case `slow`; MIDDLE is quantity,relation,value,tolerance
{
    expect "it,slow,any,$3,exact,because"
    case $2 in
    holds) check "$1" 0 "1 exact check holds, 0 fail." ;;
    fails) check "$1" 1 "0 exact checks hold, 1 fail." ;;
    bad) check "$1" 2 "07_test.csv:3: " ;;
    esac
}

rm -rf "$folder"
mkdir -p "$folder/expected" "$folder/results/07_test"
printf '%s\n' lab,case,ranks,batch_size,slowest_step_ms 08_other,base,4,8,99 07_test,base,4,8,70.5 \
    07_test,slow,2,8,33.25 >"$folder/expected/blog.csv"
cat >"$folder/results/07_test/summary.csv" <<'END'
# command: 07_test --sleep-ms 2.5 --ranks 4
# seed: 7
case,ranks,batch_size,slowest_step_ms,predicted_step_ms,wait_ms,odd_ms,numerics,oversubscribed,wrong,vs_baseline_low,vs_baseline_high
base,4,8,20,21,,nan,same,0,0,1,1
slow,4,8,60,80,3,n/a,changed,0,0,2.5,3.5
shared,4,8,60,80,3,0,same,1,0,,
END
repeat_rounds "$results/07_test"

# Expressions.
one "a column"            holds "slowest_step_ms,=,60,"
one "another case"        holds "slowest_step_ms-base.slowest_step_ms,=,40,"
one "precedence"          holds "2+3*4-6/2,=,11,"
one "from the left"       holds "10-3-2,=,5,"
one "parentheses, signs"  holds "-(2+3) * -( 4 ),=,20,"
one "decimals"            holds "0.5*1e2,=,50,"
one "blanks around"       holds " slowest_step_ms - base.ranks ,=, 56 ,"

# Relations and their tolerances.
one "= exact"             fails "slowest_step_ms,=,60.001,"
one "= within"            holds "slowest_step_ms,=,60.5,0.5"
one "= beyond"            fails "slowest_step_ms,=,60.6,0.5"
one "~ within"            holds "slowest_step_ms,~,50,0.2"
one "~ beyond"            fails "slowest_step_ms,~,49.9,0.2"
one "~ of a negative"     holds "-60,~,-50,0.2"
one "< of equals"         fails "60,<,60,"
one "<= of equals"        holds "60,<=,60,"
one "> of equals"         fails "60,>,60,"
one ">= of equals"        holds "60,>=,60,"
one "same text"           holds "numerics,same,changed,"
one "other text"          fails "numerics,same,same,"
one "text of a case"      holds "base.numerics,same,same,"

# Milliseconds above the baseline: 40 here.
one "extra within"        holds "slowest_step_ms-base.slowest_step_ms,extra,35,0.2"
one "extra beyond"        fails "slowest_step_ms-base.slowest_step_ms,extra,31,0.2"
one "extra needs one"     bad   "slowest_step_ms,extra,29,"

# Settings of the run.
one "a setting"           holds "setting.sleep_ms,=,2.5,"
one "the last setting"    holds "setting.ranks + 1,=,5,"
one "no such setting"     bad   "setting.seed,=,7,"

# Values that are no numbers satisfy no relation.
one "nan <"               fails "base.odd_ms,<,1,"
one "nan >="              fails "base.odd_ms,>=,1,"
one "a word"              fails "odd_ms,=,0,1e9"
one "a division by zero"  fails "0/0,<=,1,"
one "blank, must hold"    fails "base.wait_ms,=,0,"

# Claims about the published settings, which are those in the lab's first row of blog.csv that has any.
cp "$folder/expected/blog.csv" "$folder/blog_before.csv"
with_settings() # SETTINGS
{
    awk -v settings="$1" 'NR == 1 { print $0 ",settings"; next } { print $0 "," (/^07_test,base/ ? settings : "") }' \
        "$folder/blog_before.csv" >"$folder/expected/blog.csv"
}
published() # NAME STATUS TEXT VALUE
{
    expect "it,slow,published,slowest_step_ms,=,$4,,exact,because"
    check "$1" "$2" "$3"
}
published "no published settings" 0 "0 exact checks hold, 0 fail. 1 claim is not tested: of cases left out, or for another machine." 61
with_settings "sleep_ms=2.5 ranks=4"
published "published settings, holds" 0 "1 exact check holds, 0 fail." 60
published "published settings, fails" 1 "0 exact checks hold, 1 fail." 61
with_settings "sleep_ms=2.5 ranks=5"
published "other settings" 0 "0 exact checks hold, 0 fail. 1 claim is not tested: of cases left out, or for another machine." 61
with_settings "seed=3"
published "a setting that the run does not tell" 0 "0 exact checks hold, 0 fail. 1 claim is not tested: of cases left out, or for another machine." 61
with_settings "ranks"
published "a setting without a value" 0 "0 exact checks hold, 0 fail. 1 claim is not tested: of cases left out, or for another machine." 61
cp "$folder/blog_before.csv" "$folder/expected/blog.csv"

# Malformed files.
one "no column"           bad "slowest_ms,=,60,"
one "no column of a case" bad "base.slowest_ms,=,60,"
one "left over"           bad "slowest_step_ms 3,=,60,"
one "a half expression"   bad "slowest_step_ms-,=,60,"
one "an open parenthesis" bad "(slowest_step_ms,=,60,"
one "an odd sign"         bad "slowest_step_ms%2,=,60,"
one "an empty value"      bad "slowest_step_ms,=,,"
one "a wrong relation"    bad "slowest_step_ms,==,60,"
one "~ without tolerance" bad "slowest_step_ms,~,60,"
one "< with tolerance"    bad "slowest_step_ms,<,60,1"
one "tolerance: a word"   bad "slowest_step_ms,=,60,wide"
one "tolerance: negative" bad "slowest_step_ms,=,60,-1"
one "same: no column"     bad "nothing,same,same,"
one "too many fields"     bad "slowest_step_ms,=,60,,0"
expect "it,slow,some,1,=,1,,exact,w"
check "a wrong need" 2 "unknown needs 'some'"
expect "it,slow,any,1,=,1,,true,w"
check "a wrong kind" 2 "unknown kind 'true'"
expect "it,slow,any,1,=,1,,exact,w" "# between" "it,base,any,1,=,1,,exact,w"
check "an id used twice" 2 "07_test.csv:5: a second claim 'it'"
expect "it,unheard_of,any,1,=,no_such,,exact,w"
check "malformed though not run" 2 "no column no_such"
printf 'id,case\nit,slow\n' >"$folder/expected/07_test.csv"
check "columns missing" 2 "no column 'needs'"

# Claims that cannot be tested here are no failures.
expect "it,shared,cores>=ranks,slowest_step_ms,<,1,,ratio,w"
check "more ranks than cores" 0 $'60.00*  more ranks than cores\n'
sed -i 's/^slow,4,/slow,1,/' "$results/07_test/summary.csv"
expect "it,slow,ranks>1,1,=,2,,exact,w"
check "a lone rank" 0 "0 exact checks hold, 0 fail. 1 claim is not tested: of cases left out, or for another machine."
expect "it,base,ranks>1,1,=,2,,exact,w"
check "several ranks" 1 "0 exact checks hold, 1 fail."
sed -i 's/^slow,1,/slow,4,/' "$results/07_test/summary.csv"
expect "it,base,cpu,1,=,2,,exact,w"
check "ranks on cores" 1 "0 exact checks hold, 1 fail."
cp "$results/07_test/summary.csv" "$folder/of_cores.csv"
sed -i '/^case,/s/$/,device/; /^[a-z]*,[0-9]/s/$/,cuda/' "$results/07_test/summary.csv"
check "ranks on GPUs" 0 "0 exact checks hold, 0 fail. 1 claim is not tested: of cases left out, or for another machine."
mv "$folder/of_cores.csv" "$results/07_test/summary.csv"
expect "it,base,sim,1,=,2,,sim,w"
check "no simulator" 0 "0 exact checks hold, 0 fail. 1 claim is not tested: of cases left out, or for another machine."
expect "it,base,gpu,1,=,2,,exact,w"
check "no GPU" 0 "0 exact checks hold, 0 fail. 1 claim is not tested: of cases left out, or for another machine."
expect "it,other,any,1,=,2,,exact,w"
check "case not run" 0 "0 exact checks hold, 0 fail. 1 claim is not tested: of cases left out, or for another machine."
expect "it,slow,any,other.wrong,=,2,,exact,w"
check "case beside it not run" 0 "0 exact checks hold, 0 fail. 1 claim is not tested: of cases left out, or for another machine."
expect "it,base,any,wait_ms,<,2,,ratio,w"
check "blank, about time" 0 $'20.00   blank: wait_ms\n'

# Failures that count, and the printed texts.
expect "it,base,any,1,~,2,0.1,ratio,w" "at,base,any,1,>,2,,shape,w"
check "claims about time are wrong" 0 "Of 2 claims about time, 0 came out as predicted, 2 wrong, 0 are undecided; 0 exact"
check "  … and are named" 0 "WRONG: it, at"
check "  … and are no gate" 0 "0 exact checks hold, 0 fail." --gate
expect "it,base,any,1,=,2,,formula,one sentence"
check "a formula fails" 1 "one sentence"
check "  … at the gate" 1 "0 exact checks hold, 1 fail" --gate
expect "it,base,any,1,=,2,,sim,w"
check "a simulated number fails" 1 "FAILS: it"
expect "it,base,any,slowest_step_ms,=,70.5,,example,w"
row "another world size is no pair" "slow - 60.00 no claim"
check "an example never fails" 0 "0 exact checks hold, 0 fail."
check "  … but is shown" 0 "example, base, it (here): slowest_step_ms is 20, published 70.5"
mv "$results/07_test/summary.csv" "$folder/right.csv"
sed 's/^slow,4,8,60,80,3,n.a,changed,0,0/slow,4,8,,80,3,n\/a,changed,0,1/' "$folder/right.csv" >"$results/07_test/summary.csv"
expect "it,*,any,wrong,=,0,,exact,w"
check "every case" 1 "2 exact checks hold, 1 fail."
expect "it,slow,any,slowest_step_ms,<,100,,exact,w" "at,slow,any,predicted_step_ms,=,80,,exact,w"
check "a wrong case shows nothing" 0 "0 exact checks hold, 0 fail. 2 claims are not tested: of cases left out, or for another machine."
row "… and says why" "slow - - it failed its checks"
mv "$folder/right.csv" "$results/07_test/summary.csv"
expect "it,base,any,slowest_step_ms,~,predicted_step_ms,0.2,ratio,w" "at,base,any,wrong,=,0,,exact,w"
row "the published step" "base 70.50 20.00 as predicted, within 5 %"

# All cases together: base has less than a fifteenth of its step there, and the errors of the others cancel out.
mv "$results/07_test/summary.csv" "$folder/right.csv"
cat >"$results/07_test/summary.csv" <<'END'
# command: 07_test --sleep-ms 2.5 --ranks 4
case,ranks,batch_size,slowest_step_ms,predicted_then_ms,wait_ms,predicted_wait_ms,oversubscribed,wrong
base,4,8,20,20,1.5,1,0,0
slow,4,8,80,80,20,16,0,0
odd,4,8,40,40,10,14,0,0
shared,4,8,40,40,99,20,1,0
edge,4,8,14,14,1,1,0,0
END
repeat_rounds "$results/07_test"
together() # NAME CASES TEXT
{
    expect "it,$2,cores>=ranks,wait_ms,~,predicted_wait_ms,0.1,ratio,w"
    row "$1" "all cases together - - $3"
}
together "all together" all "as predicted: it off +0.0 %"
together "all but two" "all but odd edge" "WRONG: it off +25 %"
check "  … by name" 0 "ratio, all cases, it (here): wait_ms is 20, not ~ 16 within 10 %: it off +25 %, in 6 rounds"
together "all but three" "all but odd slow edge" "too small a part of the step in every case"
together "a fourteenth counts" "all but odd slow" "as predicted: it off +0.0 %"
together "none that can be tested" "all but odd slow base edge" "more ranks than cores"
cp "$results/07_test/rounds.csv" "$folder/equal_rounds.csv"
base_waits() # NAME MEASURED PREDICTED TEXT: of a step of 20 ms; the newest launch predicts something else
{
    awk -F , -v OFS=, -v measured="$2" -v predicted="$3" '/^base,/ { $6 = measured; $7 = predicted } { print }' \
        "$folder/equal_rounds.csv" >"$results/07_test/rounds.csv"
    together "$1" "all but odd slow edge" "$4"
}
base_waits "a mean of a sixteenth does not count" 1.5 1.0 "too small a part of the step in every case"
base_waits "  … nor one of a nineteenth, mostly predicted" 0.2 1.9 "too small a part of the step in every case"
base_waits "  … or mostly measured" 1.9 0.2 "too small a part of the step in every case"
base_waits "a mean of a fourteenth counts" 1.4 1.45 "as predicted: it off -3 %"
base_waits "a tenth counts that is predicted" 0.2 2 "WRONG: it off -90 %"
base_waits "  … and one that is measured" 2 0.2 "WRONG: it off +900 %"
sed -i '/^base,/s/,20,20,/,20,40,/' "$folder/equal_rounds.csv" # the measured and the predicted step
base_waits "each share is of its own step" 1.4 2 "too small a part of the step in every case"
base_waits "  … a tenth of which counts" 1.4 4 "WRONG: it off -65 %"
awk -F , -v OFS=, '/^base,/ { $6 = $11 % 2 ? 0.1 : 3.9 } { print }' "$folder/equal_rounds.csv" >"$results/07_test/rounds.csv"
expect "it,all but odd slow edge,cores>=ranks,wait_ms,~,predicted_wait_ms,0.1,ratio,w"
check "the mean over rounds counts" 0 "too noisy: it"
sed -i '/^base,/s/,20,40,/,20,20,/' "$folder/equal_rounds.csv"
awk -F , -v OFS=, '/^edge,/ { $14 = 1 } { print }' "$folder/equal_rounds.csv" >"$results/07_test/rounds.csv"
together "without undisturbed rounds the newest launch tells" "all but odd slow base" "disturbed: others had 0 % of the core"
mv "$folder/equal_rounds.csv" "$results/07_test/rounds.csv"
expect "it,all,any,wait_ms,<,predicted_wait_ms,,ratio,w"
check "together, with another relation" 2 "07_test.csv:3: wrong relation or kind for all cases together: '<'"
expect "it,all,any,no_ms,~,predicted_wait_ms,0.1,ratio,w"
check "together, without the column" 2 "summary.csv has no column no_ms (here): in claim 'it'"
expect "it,all but edge,cores>=ranks,wait_ms,~,predicted_wait_ms,0.1,ratio,w"
awk -F , -v OFS=, '/^odd,/ && $11 < 3 { $6 = 99; $14 = 1 } { print }' "$results/07_test/rounds.csv" >"$folder/rounds.csv"
cp "$folder/rounds.csv" "$results/07_test/rounds.csv"
check "disturbed rounds of one case count without it" 0 "too noisy: it off +12 %"

# The noise of waits is not that of transfers: beside waits of any length, transfers of hardly any noise are as predicted in two rounds.
cp "$results/07_test/summary.csv" "$folder/summary.csv"
awk -F , -v OFS=, '/^#/ { print; next } /^case,/ { print $0, "transfer_ms,predicted_transfer_ms"; next } { print $0, 10, 10.1 }' \
    "$folder/summary.csv" >"$results/07_test/summary.csv"
awk -F , -v OFS=, '/^#/ { print; next } /^case,/ { print $0, "transfer_ms,predicted_transfer_ms"; next }
    $11 < 2 { $6 *= $11 == 1 ? 4 : 1; print $0, 10 + 0.01 * $11, 10.1 }' "$folder/rounds.csv" >"$results/07_test/rounds.csv"
expect "it,all,any,wait_ms,~,predicted_wait_ms,0.1,ratio,w" "sums,all,any,transfer_ms,~,predicted_transfer_ms,0.1,ratio,w"
check "noise of waits" 0 "too noisy: it off"
check "  … is not that of transfers" 0 "Of 2 claims about time, 1 came out as predicted"
mv "$folder/summary.csv" "$results/07_test/summary.csv"
mv "$folder/rounds.csv" "$results/07_test/rounds.csv"
expect "it,slow,any,1,=,1,,exact,w"
printf 'id,case,needs,quantity,relation,value,tolerance,kind,why\nit,slow,any,1,=,2,,exact,w\nat,slow,any,1,=,1,,exact,w\n' \
    >"$folder/expected/every_lab.csv"
check "claims about every lab, of which one is replaced" 0 "2 exact checks hold, 0 fail."
rm "$folder/expected/every_lab.csv"
sed -i 's/1\.5,1,/2,0,/' "$results"/07_test/{summary,rounds}.csv
together "a term that the formula lacks" "all but odd slow edge" "WRONG: it off +2.0 ms"
mv "$folder/right.csv" "$results/07_test/summary.csv"
repeat_rounds "$results/07_test"
expect "it,base,any,slowest_step_ms,~,predicted_step_ms,0.2,ratio,w" "at,base,any,wrong,=,0,,exact,w"

# Usage.
check "the lab asked for" 0 "1 exact check holds" --only 07_test
check "another lab" 2 "holds no lab with claims" --only 08_other
check "no such folder" 2 "cannot be read" --expected "$folder/none"
check "tables of one lab" 2 "--tables writes the verdicts of all labs; leave out --only" --only 07_test --tables
check "no results" 2 "holds no lab with claims" --results "$folder/none"
check "an unknown option" 2 "--frobnicate" --frobnicate
printf 'case\nbase\n' >"$folder/results/07_test/summary.csv"
check "a foreign summary" 2 "no column 'ranks'"

# Several places, each with its own cases.
results=$folder/several
place() # FOLDER SLEEP_MS ROW...: write a lab's results there
{
    mkdir -p "$results/$1/07_test"
    {
        printf '# command: 07_test --sleep-ms %s\n' "$2"
        echo "case,backend,ranks,batch_size,oversubscribed,slowest_step_ms,predicted_step_ms,wrong"
        printf '%s\n' "${@:3}"
    } >"$results/$1/07_test/summary.csv"
    repeat_rounds "$results/$1/07_test"
}
clear() # PLACE...: remove their results
{
    local at
    for at in "$@"; do rm -r "${results:?}/$at/07_test"; done
}
simulated=platforms/dedicated-cores blog=platforms/blog
place $blog 40 base,sim,4,8,0,70,70,0
expect "it,base,any,1,=,1,,exact,w"
check "the blog's machine alone is not judged" 2 "holds no lab with claims"

place $simulated 40 slow,sim,4,8,0,60.25,60,0 base,sim,4,8,0,20,20,0 late,sim,4,8,0,30,30,0
place . 30 base,mpi,4,8,1,80,90,0 slow,mpi,4,8,0,50,61,0 extra,mpi,2,8,0,9,9,0 late,mpi,2,8,0,33,33,0
place $blog 40 base,sim,4,8,0,71,70,1 slow,sim,4,16,0,99,99,0
expect "it,base,cores>=ranks,slowest_step_ms,~,predicted_step_ms,0.2,ratio,w"
check "three places" 0 "
07_test                      blog,  blog's machine  dedicated cores      here,
step, in ms              published     (simulated)      (simulated)   measured   verdict
slow                             -               -            60.25      50.00   no claim
base                         70.50           71.00            20.00      80.00*  simulated: as predicted, within 0.0 %
late                             -               -            30.00          -   no claim
extra                            -               -                -       9.00   no claim
late, 2 x 8                      -               -                -      33.00   no claim
* more ranks than cores: they share time
dedicated cores: agreement about transfers shows consistency, not more; links and predictions both come from this machine's all-reduces

Of 1 claim about time, 1 came out as predicted, 0 wrong, 0 are undecided; 0 exact checks hold, 0 fail. 1 claim is not tested: of cases left out, or for another machine.
"
expect "it,*,any,wrong,=,0,,exact,w" "own,*,any,1,=,1,,exact,w"
check "every case of both is judged, the blog's machine not" 0 "14 exact checks hold, 0 fail."
row "the same phrase is said once" "base 70.50 71.00 20.00 80.00* holds"
expect "it,base,cores>=ranks,1,~,2,0.1,ratio,because of that"
row "only the simulated one fails" "base 70.50 71.00 20.00 80.00* simulated: WRONG: it"
check "  … by name" 0 "ratio, base, it (simulated): 1 is 1, not ~ 2 within 10 %"
expect "it,slow,any,slowest_step_ms,>=,60,,shape,w" "at,slow,any,slowest_step_ms,<,60,,shape,w"
row "each is wrong otherwise" "slow - - 60.25 50.00 simulated: WRONG: at off +0.4 %; here: WRONG: it off -17 %"
check "  … the measured one by name" 0 "shape, slow, it (here): slowest_step_ms is 50, not >= 60: it off -17 %, in 6 rounds"
expect "it,slow,any,slowest_step_ms,=,60.25,,exact,w"
check "what must hold fails here only" 1 "1 exact check holds, 1 fail."
check "  … at the gate" 1 "exact, slow, it (here): slowest_step_ms is 50, not = 60.25" --gate
expect "it,slow,any,slowest_step_ms,=,50,,exact,w"
check "what must hold fails simulated only" 1 "1 exact check holds, 1 fail."
check "  … at the gate" 1 "exact, slow, it (simulated): slowest_step_ms is 60.25, not = 50" --gate
expect "it,base,any,slowest_step_ms,=,70.5,,example,w"
lines "an example is shown once" 1 "published 70.5"
check "  … for the place that leads" 0 "example, base, it (simulated): slowest_step_ms is 20, published 70.5"

# An expression uses only columns of its own table.
expect "it,slow,any,slowest_step_ms-base.slowest_step_ms,~,40.25,0.1,ratio,w"
check "a difference within each place" 0 "(here): slowest_step_ms-base.slowest_step_ms is -30, not ~ 40.25 within 10 %"
lines "  … only" 1 "ratio, slow, it"
expect "it,base,any,setting.sleep_ms,>=,40,,ratio,w"
check "a setting of each place" 0 "ratio, base, it (here): setting.sleep_ms is 30, not >= 40"
lines "  … only" 1 "ratio, base, it"
expect "it,base,any,extra.slowest_step_ms,=,9,,exact,w"
check "a case that was run here only" 0 "1 exact check holds, 0 fail. 1 claim is not tested: of cases left out, or for another machine."
row "  … is missing in the simulation" "base 70.50 71.00 20.00 80.00* simulated: case not run: extra; here: holds"
expect "it,base,any,1,=,no_such,,exact,w"
check "malformed, and where" 2 "summary.csv has no column no_such (simulated): in claim 'it'"

# Claims that only apply to simulated runs.
expect "it,base,sim,slowest_step_ms,=,20,,sim,w"
check "simulated rows are tested" 0 "1 exact check holds, 0 fail. 1 claim is not tested: of cases left out, or for another machine."
row "  … measured ones are not" "base 70.50 71.00 20.00 80.00* simulated: holds; here: no claim"
expect "it,base,sim,slowest_step_ms,=,21,,sim,w"
check "a simulated row fails" 1 "0 exact checks hold, 1 fail. 1 claim is not tested: of cases left out, or for another machine."
expect "it,base,model,slowest_step_ms,=,21,,sim,w"
check "where only a modelled machine is exact enough" 0 "0 exact checks hold, 0 fail. 2 claims are not tested: of cases left out, or for another machine."
sed -i '/^case,/s/$/,device/; /^[a-z]*,sim,/s/$/,model/' "$results/$simulated/07_test/summary.csv"
check "  … it is tested" 1 "0 exact checks hold, 1 fail."
place $simulated 40 base,mpi,4,8,0,20,20,0
check "the folder makes no simulation" 0 "0 exact checks hold, 0 fail. 2 claims are not tested: of cases left out, or for another machine."

# Claims about real ranks, whose cores carry the messages: simulated ranks, GPUs and shared cores do not count.
place $simulated 40 base,sim,4,8,0,20,20,0
place . 30 base,mpi,4,8,0,80,90,0
expect "it,base,real,slowest_step_ms,=,81,,sim,w"
sed -i '/^case,/s/$/,device/; /^base,/s/$/,cpu/' "$results"/{.,$simulated}/07_test/summary.csv
check "real ranks only" 1 "0 exact checks hold, 1 fail. 1 claim is not tested: of cases left out, or for another machine."
sed -i '/^base,/s/cpu$/cuda/' "$results/07_test/summary.csv"
check "  … on cores" 0 "0 exact checks hold, 0 fail. 2 claims are not tested: of cases left out, or for another machine."
place . 30 base,mpi,4,8,1,80,90,0
sed -i '/^case,/s/$/,device/; /^base,/s/$/,cpu/' "$results/07_test/summary.csv"
check "  … of their own" 0 "0 exact checks hold, 0 fail. 2 claims are not tested"

# A row shows numbers of other places only for the same ranks and batch size.
place . 30 base,mpi,4,8,1,80,90,0
expect "it,base,any,1,=,1,,exact,w"
place $simulated 40 base,sim,3,8,0,20,20,0
row "other ranks" "base - - 20.00 - holds"
row "  … in a row of their own" "base, 4 x 8 70.50 71.00 - 80.00* holds"
place $simulated 40 base,sim,4,9,0,20,20,0
row "another batch" "base - - 20.00 - holds"
place $simulated 40 base,sim,4,8,1,20,20,0
place . 30 base,mpi,4,8,0,80,90,0
lines "the mark is of real cores" 0 "*"
place $simulated 40 base,sim,4,8,0,20,20,
expect "it,*,any,wrong,=,0,,exact,w"
check "a blank check fails, simulated too" 1 "exact, base, it (simulated): wrong is nan, not = 0; blank: wrong"

# Verdicts on claims about time: evaluated in each round, over all launches.
measure() # PLACE SERIES...: write the tables of a run. A series is "CASE LAUNCH PREDICTED MS...", a column of rounds; a round with !
{         # is disturbed, and one with xN was measured while the machine's steps took N times as long.
    local series name launch predicted ms round drift
    mkdir -p "$results/$1/07_test"
    {
        echo "# command: 07_test --sleep-ms 40"
        echo "case,backend,ranks,batch_size,oversubscribed,slowest_step_ms,data_ms,predicted_then_ms,blamed_rank,loss,wrong"
        for series in "${@:2}"; do
            read -r name launch predicted ms <<<"$series"
            ((launch > 0)) || echo "$name,mpi,4,8,0,${ms%%[!0-9.]*},0,$predicted,${blamed-0},1.5,0"
        done
    } >"$results/$1/07_test/summary.csv"
    {
        echo "case,round,slowest_step_ms,launch,data_ms,predicted_then_ms,local_drift,taken_share,is_disturbed${charged:+,charged_rank,charged_ms,charged_total_ms}"
        for series in "${@:2}"; do
            read -r name launch predicted ms <<<"$series"
            round=0
            for ms in $ms; do
                drift=1
                [[ $ms != *x* ]] || drift=${ms#*x}
                echo "$name,$((round++)),${ms%%[!0-9.]*},$launch,${ms%%[!0-9.]*},$(awk "BEGIN { print $predicted * $drift }"),$drift,$(
                    [[ $ms == *!* ]] && echo 0.31,1 || echo 0.01,0)${charged:+,$charged}"
            done
        done
    } >"$results/$1/07_test/rounds.csv"
}
steps="99 101 100 98 102 100" # the logarithms' deviation is 1.42 %, so half of the 90 % interval is 2.015 x 1.42 / sqrt(6) = 1.2 %
step() # NAME PREDICTED TOLERANCE VERDICT [REASON]: check the verdict on a step whose rounds are $steps
{
    measure . "base 0 $2 $steps"
    expect "it,base,any,slowest_step_ms,~,predicted_then_ms,$3,ratio,because"
    row "$1" "base 70.50 ${mean:-100.00} $4"
}
results=$folder/noisy
step "a right formula" 100 0.1 "as predicted, within 0.0 % ± 1.2"
step "off, but within" 95 0.1 "as predicted, within 5 % ± 1"
step "a wrong formula" 60 0.1 "WRONG: it off +67 % ± 2"
check "  … in detail" 0 "
ratio, base, it (here): slowest_step_ms is 100, not ~ 60 within 10 %: it off +67 % ± 2, in 6 rounds
    because

Of 1 claim about time, 0 came out as predicted, 1 wrong, 0 are undecided; 0 exact checks hold, 0 fail.
"
step "on the margin" 91 0.1 "too noisy: it off +10 % ± 1, more than 100 further rounds would tell"
step "a tolerance below the noise" 100 0.01 "too noisy: it off -0.0 % ± 1.2, about 2 more rounds would tell"
check "  … in the sentence" 0 "0 came out as predicted, 0 wrong, 1 is undecided (1 too noisy, 0 disturbed)"
steps="60 140 85 125 90 110"
mean=101.67 step "noise passes nothing" 100 0.1 "too noisy: it off -2 % ± 25, about 42 more rounds would tell"
mean=101.67 step "  … and condemns nothing" 75 0.1 "too noisy: it off +31 % ± 33, about 25 more rounds would tell"

# Only undisturbed rounds count. If none is left, or if a wrong verdict had many disturbed rounds, the run was disturbed.
steps="99 101 170! 100 98 102 100"
step "a disturbed round does not count" 100 0.1 "as predicted, within 0.0 % ± 1.2"
steps="99! 101! 100! 98!"
mean=99.50 step "no undisturbed round" 100 0.1 "disturbed: others had 31 % of the core"
check "  … in the sentence" 0 "0 came out as predicted, 0 wrong, 1 is undecided (0 too noisy, 1 disturbed)"
check "  … with its reason in the table" 0 "" --tables
[[ $(<"$results/claims.csv") == *",other programs or the virtual machine's host had 31 % of the core,because,"* ]] || complain "no reason"
steps="99 101 170! 100 98 102 100"
step "wrong, with few disturbed rounds" 60 0.1 "WRONG: it off +67 % ± 2"
steps="99 101 170! 190! 160! 100 98 102 100"
step "wrong, with many" 60 0.1 "disturbed: others had 31 % of the core"
step "right, with many" 100 0.1 "as predicted, within 0.0 % ± 1.2"
steps="99 101 100x1.4 98x1.4 102x1.55 100x1.55"
step "wrong, while the speed changed" 30 0.1 "disturbed: the machine's speed changed by a factor of 1.6"
steps="99 101 98 102 101 99 98 102 190x1.9"
mean=110.00 step "wrong, while one round was slow" 60 0.1 "WRONG: it off +67 % ± 2"
measure . "base 0 60 99 101 98 102" "base 1 60 190x1.9 188x1.9 192x1.9 190x1.9"
expect "it,base,any,slowest_step_ms,~,predicted_then_ms,0.1,ratio,because"
row "wrong, while the cards of two launches differed" "base 70.50 145.00 WRONG: it off +67 % ± 1"
steps="99 101 140x1.4 138x1.4 148x1.45 143x1.45"
mean=128.17 step "the speed changed, and the prediction with it" 100 0.1 "as predicted, within 0.1 % ± 1.2"
mean=128.17 step "wrong, while the speed changed a little" 70 0.1 "WRONG: it off +43 % ± 2"

steps="99 101 100 170!x2 98 102 100"
step "wrong, and a disturbed round changed its speed" 60 0.1 "WRONG: it off +67 % ± 2"

# Cases are compared within a round of a launch.
measure . "base 0 100 100 130 90" "base 1 200 200 210 190" "slow 0 140 141 169 131" "slow 1 240 239 250 231"
expect "it,slow,any,slowest_step_ms-base.slowest_step_ms,extra,predicted_then_ms-base.predicted_then_ms,0.1,ratio,w"
row "rounds of several launches" "slow - 193.50 as predicted, within 0.4 % ± 2.0"
measure . "base 0 100 100 130 90" "slow 0 140 141 169"
expect "it,slow,any,slowest_step_ms-base.slowest_step_ms,extra,40,0.1,ratio,w"
row "a round without one of the cases" "slow - 155.00 too noisy: it off +0.0 % ± 15.8, about 2 more rounds would tell"
# A case measured once per launch has one round in each; its noise is that of the lab's other claims.
measure . "base 0 100 99 101 100 98 102 100" "epoch 0 200 201"
expect "it,epoch,any,slowest_step_ms,~,predicted_then_ms,0.1,ratio,w"
row "one round, and no noise known" "epoch - 201.00 too noisy: it off +0.5 %, measured only once, about 30 more rounds would tell"
check "  … in the sentence" 0 "1 is undecided (0 too noisy, 0 disturbed, 1 measured only once, for lack of time)"
expect "it,epoch,any,slowest_step_ms,~,predicted_then_ms,0.1,ratio,w" "at,base,any,slowest_step_ms,~,predicted_then_ms,0.1,ratio,w"
row "one round, and the noise of others" "epoch - 201.00 as predicted, within 0.5 % ± 3.2"
measure . "base 0 100 99 101 100 98 102 100" "epoch 0 200 201" "base 1 100 99 101 100 98 102 100" "epoch 1 200 203"
expect "it,epoch,any,slowest_step_ms,~,predicted_then_ms,0.1,ratio,w"
row "a round in each launch" "epoch - 202.00 as predicted, within 1 % ± 3"

# Whole steps and parts of a step have noise of their own, so they are pooled apart.
steps="99 101 100 98 102 100"
measure . "base 0 100 $steps" "wild 0 100 60 140 85 125 90 110"
expect "it,base,any,slowest_step_ms,~,predicted_then_ms,0.1,ratio,w" "at,wild,any,data_ms,~,predicted_then_ms,0.1,ratio,w"
row "parts of a step" "base 70.50 100.00 as predicted, within 0.0 % ± 1.2"
expect "it,base,any,slowest_step_ms,~,predicted_then_ms,0.1,ratio,w" "at,wild,any,slowest_step_ms,~,predicted_then_ms,0.1,ratio,w"
row "  … unlike steps" "base 70.50 100.00 too noisy: it off -0.0 % ± 17.9, about 13 more rounds would tell"

# So are large parts and small ones: less than a fifteenth of the predicted step.
expect "it,base,any,data_ms,~,predicted_then_ms,0.1,ratio,w" "at,wild,any,data_ms,~,predicted_then_ms,0.1,ratio,w"
row "large parts" "base 70.50 100.00 too noisy: it off -0.0 % ± 17.9, about 13 more rounds would tell"
expect "it,base,any,data_ms,~,predicted_then_ms,0.1,ratio,w" "at,wild,any,data_ms/20,~,predicted_then_ms/20,0.1,ratio,w"
row "  … unlike small ones" "base 70.50 100.00 as predicted, within 0.0 % ± 1.2"

# The more claims are tested, at all places, the more evidence it takes to call one wrong: 12.6 % off, with a margin of 9.5 %, a
# standard error of 0.58 % and t(1 - 0.002) = 4.77 or t(1 - 0.001) = 5.89.
step "one test" 88.16 0.1 "WRONG: it off +13 % ± 1"
measure $simulated "base 0 88.16 $steps"
row "two tests" "base 70.50 100.00 100.00 too noisy: it off +13 % ± 1, about 1 more round would tell"
clear $simulated
cp "$folder/expected/07_test.csv" "$folder/expected/08_other.csv"
cp -r "$results/07_test" "$results/08_other"
check "  … one of another lab, which is not shown" 0 "Of 1 claim about time, 0 came out as predicted, 0 wrong, 1 is undecided" --only 07_test
rm -r "$folder/expected/08_other.csv" "$results/08_other"

# A row shows its worst verdict.
measure . "base 0 60 $steps" "late 0 100 200! 200!"
expect "it,base,any,slowest_step_ms,~,predicted_then_ms,0.1,ratio,w" "at,base,any,slowest_step_ms,<,late.slowest_step_ms,,shape,w"
row "wrong and disturbed" "base 70.50 100.00 WRONG: it off +67 % ± 2"

# One-sided claims, differences in milliseconds, and claims without time.
steps="99 101 100 98 102 100"
measure . "base 0 100 $steps" "slow 0 100 130 128 131 127 133 129" "same 0 100 101 99 102 97 103 99" "near 0 100 100 102 99 101 101 102"
expect "it,slow,any,slowest_step_ms,>,base.slowest_step_ms,,shape,w"
row "one side" "slow - 129.67 as predicted"
expect "it,slow,any,slowest_step_ms,<=,base.slowest_step_ms,,shape,w"
row "the other side" "slow - 129.67 WRONG: it off +30 % ± 1"
expect "it,same,any,slowest_step_ms,<,base.slowest_step_ms,,shape,w"
row "no difference" "same - 100.17 too noisy: it off +0.2 % ± 1.4, more than 100 further rounds would tell"
expect "it,near,any,slowest_step_ms,>,base.slowest_step_ms,,shape,w"
row "a small one" "near - 100.83 too noisy: it off +0.8 % ± 1.3, about 6 more rounds would tell"
expect "it,same,any,slowest_step_ms,~,base.slowest_step_ms,0.05,ratio,w"
row "a control" "same - 100.17 as predicted, within 0.2 % ± 1.4"
expect "it,slow,any,data_ms-base.data_ms,<,base.data_ms-slow.data_ms,,shape,w"
row "a difference of negative numbers" "slow - 129.67 WRONG: it off +59.3 ms ± 2.7"
expect "it,base,any,loss,~,1.49,0.01,shape,w"
row "no time" "base 70.50 100.00 as predicted"
expect "it,base,any,loss,~,1.4,0.01,shape,w"
row "no time, wrong" "base 70.50 100.00 WRONG: it"

# The rank to blame is one for the run.
expect "it,base,any,blamed_rank,=,0,,shape,w"
row "the rank" "base 70.50 100.00 as predicted"
expect "it,base,any,blamed_rank,=,2,,shape,w"
row "another rank" "base 70.50 100.00 WRONG: it"
blamed='' measure . "base 0 100 $steps"
row "no rank" "base 70.50 100.00 too noisy: it, no rank stands out"
# The newest launch has too few rounds, all launches together enough: four rounds for one of four ranks, three quarters of the waiting.
blamed='' charged=2,30,35 measure . "base 0 100 100 100" "base 1 100 100 100"
expect "it,base,any,blamed_rank,=,2,,shape,w"
row "by all launches" "base 70.50 100.00 as predicted"
expect "it,base,any,blamed_rank,=,1,,shape,w"
row "by all launches, another" "base 70.50 100.00 WRONG: it"
blamed='' charged=2,30,35 measure . "base 0 100 100 100" "base 1 100 100 100!"
row "three rounds are too few" "base 70.50 100.00 too noisy: it, no rank stands out"
blamed='' charged=2,30,45 measure . "base 0 100 100 100" "base 1 100 100 100"
row "two thirds are too little" "base 70.50 100.00 too noisy: it, no rank stands out"
blamed='' charged=2,1,1 measure . "base 0 100 100 100" "base 1 100 100 100"
row "a hundredth of a step is too little" "base 70.50 100.00 too noisy: it, no rank stands out"
expect "it,base,any,slowest_step_ms,=,100,,shape,w"
check "time is never equal" 2 "07_test.csv:3: wrong relation '='"
expect "it,base,any,loss,same,1.5,,ratio,w"
check "nor a text" 2 "07_test.csv:3: wrong relation 'same'"

# Modelled machines repeat themselves: the margin decides.
steps="100 100 100"
step "no noise, within" 91 0.1 "as predicted, within 10 %"
step "no noise, beyond" 90 0.1 "WRONG: it off +11 %"

measure . "base 0 100 100 100" "slow 0 150 155.00001 155.00001"
expect "it,slow,any,slowest_step_ms-base.slowest_step_ms,extra,predicted_then_ms-base.predicted_then_ms,0.1,ratio,w"
row "no noise, beyond by the rounding of the tables" "slow - 155.00 as predicted, within 10 %"
expect "it,base,any,wrong,=,0,,exact,w"
sed -i 's/,wrong$/,wrong,device/; s/,1.5,0$/,1.5,,model/' "$results/07_test/summary.csv"
check "modelled machines check nothing" 0 "0 exact checks hold, 0 fail. 1 claim is not tested: of cases left out, or for another machine."

# --undecided lists where further rounds may decide, --platform judges one machine.
clear .
steps="60 140 85 125 90 110"
measure . "base 0 100 $steps" "slow 0 100 99! 101!"
measure $simulated "base 0 100 $steps" "slow 0 100 99 101"
expect "it,base,any,slowest_step_ms,~,predicted_then_ms,0.1,ratio,w" "at,base,any,slowest_step_ms,>,80,,shape,w" \
    "in,slow,any,slowest_step_ms,<,101,,shape,w" "on,slow,any,slowest_step_ms,~,predicted_then_ms,0.1,ratio,w"
said=$("$claims" --results "$results" --expected "$folder/expected" --undecided)
[[ $said == "07_test simulated "*" 34"$'\n'"07_test here "*" 47" && $(awk '{ print NF; for (i = 4; i <= NF; i++) if ($i < $(i - 1)) print "falls" }' <<<"$said") == 5$'\n'6 ]] || complain "what is undecided: $said"
expect "it,base,any,slowest_step_ms,>,9,,shape,w"
said=$("$claims" --results "$results" --expected "$folder/expected" --undecided)
[[ -z $said ]] || complain "nothing is undecided: $said"
check "an undecided list has no tables" 2 "--undecided only lists; leave out --tables" --undecided --tables
check "one machine" 0 "
07_test                      blog,  dedicated-cores
step, in ms              published      (simulated)   verdict
base                         70.50           101.67   as predicted
slow                             -           100.00   no claim

Of 1 claim about time, 1 came out as predicted, 0 wrong, 0 are undecided; 0 exact checks hold, 0 fail.
" --platform dedicated-cores
check "another machine" 2 "holds no lab with claims" --platform none
check "tables of one machine" 2 "leave out --platform" --tables --platform dedicated-cores

# --tables has all numbers of a verdict.
steps="99 101 100 98 102 100"
clear $simulated
measure . "base 0 60 $steps"
expect "it,base,any,slowest_step_ms,~,predicted_then_ms,0.1,ratio,because" "at,base,any,wrong,=,0,,exact,why" \
    "on,base,any,slowest_step_ms,~,104,0.05,ratio,because"
check "tables" 0 "" --tables
[[ $(<"$results/claims.csv") == "lab,place,case,id,kind,verdict,quantity,came_to,relation,value,tolerance,reason,why,rounds,off,plus_minus,unit,more_rounds,rounds_to_notice
07_test,here,base,it,ratio,wrong,slowest_step_ms,100,~,60,0.1,,because,6,66.652776,1.84484366,%,,
07_test,here,base,at,exact,holds,wrong,0,=,0,0,,why,,,,,,
07_test,here,base,on,ratio,too noisy to tell,slowest_step_ms,100,~,104,0.05,about 2 more rounds would tell,because,6,-3.8541677,1.06433288,%,2," ]] ||
    complain "claims.csv: $(<"$results/claims.csv")"
[[ $(<"$results/closing.csv") == "lab,case,published_ms,blog_machine_ms,dedicated_cores_ms,here_ms,oversubscribed,verdict,details
07_test,base,70.5,,,100,0,wrong,WRONG: it off +67 % ± 2" ]] || complain "closing.csv: $(<"$results/closing.csv")"

# Tables of another version are not judged. Rounds without a column that verdicts need are refused, unless only exact checks are read.
cp "$results/07_test/summary.csv" "$folder/this_version.csv"
printf '# lockstep: 0.0\ncase,odd\nbase,1\n' >"$results/07_test/summary.csv"
check "another version alone" 2 "holds no lab with claims"
check "  … is named" 2 "another version of Lockstep wrote $results/07_test; it is left out until it is measured again"
mkdir -p "$results/08_other"
cp "$folder/this_version.csv" "$results/08_other/summary.csv"
cp "$results/07_test/rounds.csv" "$results/08_other/"
cp "$folder/expected/07_test.csv" "$folder/expected/08_other.csv"
check "  … beside this version" 0 "1 exact check holds, 0 fail."
rm -r "$results/08_other" "$folder/expected/08_other.csv"
mv "$folder/this_version.csv" "$results/07_test/summary.csv"
printf 'case,round,slowest_step_ms,vs_baseline\nbase,0,100,1\n' >"$results/07_test/rounds.csv"
check "lacking a column" 2 "07_test/rounds.csv: no column 'launch' in the header line"
check "  … at the gate" 0 "1 exact check holds, 0 fail." --gate
rm "$results/07_test/rounds.csv"
check "no rounds" 2 "07_test/rounds.csv is missing; run build/bin/07_test again"
results=$folder/several

# With one place, the table has only its columns, and the verdict does not name it.
place $simulated 40 base,mpi,4,8,0,20,20,0
expect "it,base,any,1,~,2,0.1,ratio,w"
clear $blog
check "no blog's machine" 0 "
07_test                      blog,  dedicated cores      here,
step, in ms              published      (simulated)   measured   verdict
base                         70.50            20.00      80.00   WRONG: it
dedicated cores: agreement about transfers shows consistency, not more; links and predictions both come from this machine's all-reduces
"
clear .
check "dedicated cores alone" 0 "
07_test                      blog,  dedicated cores
step, in ms              published      (simulated)   verdict
base                         70.50            20.00   WRONG: it
dedicated cores: agreement about transfers shows consistency, not more; links and predictions both come from this machine's all-reduces

ratio, base, it (simulated): 1 is 1, not ~ 2 within 10 %
"
clear $simulated
place . 30 base,mpi,4,8,0,80,90,0
place $blog 40 base,sim,4,8,0,71,70,0
check "here, and the blog's machine" 0 "
07_test                      blog,  blog's machine      here,
step, in ms              published     (simulated)   measured   verdict
base                         70.50           71.00      80.00   WRONG: it

ratio, base, it (here): 1 is 1, not ~ 2 within 10 %
"
expect "it,base,any,slowest_step_ms,=,70.5,,example,w"
check "an example here" 0 "example, base, it (here): slowest_step_ms is 80, published 70.5"

# A term that is as predicted is listed until its rounds would notice a fifth more or less; the sentence counts those that do.
few="base 0 100 97 102 100"
measure . "$few"
expect "it,all,any,slowest_step_ms,~,predicted_then_ms,0.1,ratio,w"
check "few rounds would not notice" 0 "Had a formula's term been a fifth too large or too small, 0 of 1 terms would have come out wrong."
said=$("$claims" --results "$results" --expected "$folder/expected" --undecided)
read -r _ _ more _ <<<"$said"
{ [[ $said == "07_test here $more" ]] && ((more > 0 && more < 20)); } || complain "rounds that would notice: $said"
check "  … in the table" 0 "" --tables
[[ $(tail -1 "$results/claims.csv") == *",$more" ]] || complain "claims.csv lacks rounds_to_notice: $(tail -1 "$results/claims.csv")"
steps="97 102 100"
for ((i = 1; i <= (more + 2) / 3; i++)); do steps+=" 97 102 100"; done
measure . "base 0 100 $steps"
check "these rounds would notice" 0 "1 came out as predicted, 0 wrong, 0 are undecided; 0 exact checks hold, 0 fail. Had a formula's term been a fifth too large or too small, 1 of 1 terms"
[[ -z $("$claims" --results "$results" --expected "$folder/expected" --undecided) ]] || complain "a term that would be noticed is listed"
for predicted in 120 83.3; do
    measure . "base 0 $predicted $steps"
    check "  … and do, predicted $predicted" 0 "0 came out as predicted, 1 wrong"
done
expect "it,all,any,slowest_step_ms,~,predicted_then_ms,0.3,ratio,w"
measure . "base 0 100 $steps"
check "a wide tolerance hides a fifth" 0 "0 of 1 terms would"
[[ -z $("$claims" --results "$results" --expected "$folder/expected" --undecided) ]] || complain "no rounds help where the tolerance is wide"

((failed)) || echo "all verdicts are right"
exit "$failed"
