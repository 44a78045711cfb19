#!/usr/bin/env bash
# usage: claims_test.sh CLAIMS FOLDER: does the judge judge right? Writes small tables into FOLDER.
set -uo pipefail

claims=$1
folder=$2/claims
failed=0

check() # NAME STATUS TEXT ARGUMENT...: `claims` ends with that status and says that text (blank: anything)
{
    local name=$1 status=$2 text=$3 said got
    shift 3
    said=$("$claims" --results "$folder/results" --expected "$folder/expected" "$@" 2>&1)
    got=$?
    if ((got != status)) || [[ $said != *"$text"* ]]; then
        printf 'FAILED %s: status %d, not %d; wanted "%s" in:\n%s\n' "$name" "$got" "$status" "$text" "$said"
        failed=1
    fi
}

expect() # CLAIM...: the file of claims, one row each
{
    {
        printf '# a comment\nid,case,needs,quantity,relation,value,tolerance,kind,why\n'
        printf '%s\n' "$@"
    } >"$folder/expected/07_test.csv"
}

one() # NAME VERDICT MIDDLE: one exact claim about case `slow`; MIDDLE is quantity,relation,value,tolerance
{
    expect "it,slow,any,$3,exact,because"
    case $2 in
    holds) check "$1" 0 "1 claims hold, 0 fail, 0 not testable here" ;;
    fails) check "$1" 1 "0 claims hold, 1 fail, 0 not testable here" ;;
    bad) check "$1" 2 "07_test.csv:3: " ;;
    esac
}

rm -rf "$folder"
mkdir -p "$folder/expected" "$folder/results/07_test"
printf 'lab,case,ranks,batch_size,slowest_step_ms\n07_test,base,4,8,70.5\n07_test,slow,2,8,33.25\n' >"$folder/expected/blog.csv"
cat >"$folder/results/07_test/summary.csv" <<'END'
# command: 07_test --sleep-ms 2.5 --ranks 4
# seed: 7
case,ranks,batch_size,slowest_step_ms,predicted_step_ms,wait_ms,odd_ms,numerics,oversubscribed,wrong,vs_baseline_low,vs_baseline_high
base,4,8,20,21,,nan,same,0,0,1,1
slow,4,8,60,80,3,n/a,changed,0,1,2.5,3.5
shared,4,8,60,80,3,0,same,1,0,,
END

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

# Milliseconds over the baseline: 40 here, and 30 to 50 by the interval of the ratio.
one "extra within"        holds "slowest_step_ms-base.slowest_step_ms,extra,35,0.2"
one "extra by interval"   holds "slowest_step_ms-base.slowest_step_ms,extra,31,0.2"
one "extra beyond both"   fails "slowest_step_ms-base.slowest_step_ms,extra,29,0.2"
one "extra needs one"     bad   "slowest_step_ms,extra,29,"

# What the run was asked for.
one "a setting"           holds "setting.sleep_ms,=,2.5,"
one "the last setting"    holds "setting.ranks + 1,=,5,"
one "no such setting"     bad   "setting.seed,=,7,"

# What is no number satisfies nothing, whichever way it is asked.
one "nan <"               fails "base.odd_ms,<,1,"
one "nan >="              fails "base.odd_ms,>=,1,"
one "a word"              fails "odd_ms,=,0,1e9"
one "a division by zero"  fails "0/0,<=,1,"
one "blank, must hold"    fails "base.wait_ms,=,0,"

# Files that cannot be right.
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

# What cannot be tested here is not a failure.
expect "it,shared,cores>=ranks,slowest_step_ms,=,1,,ratio,w"
check "more ranks than cores" 0 "not testable here: more ranks than cores"
expect "it,base,sim,1,=,2,,sim,w"
check "no simulator" 0 "0 claims hold, 0 fail, 1 not testable here"
expect "it,base,gpu,1,=,2,,exact,w"
check "no GPU" 0 "0 claims hold, 0 fail, 1 not testable here"
expect "it,other,any,1,=,2,,exact,w"
check "case not run" 0 "0 claims hold, 0 fail, 1 not testable here"
expect "it,slow,any,other.wrong,=,2,,exact,w"
check "case beside it not run" 0 "0 claims hold, 0 fail, 1 not testable here"
expect "it,base,any,wait_ms,=,2,,ratio,w"
check "blank, about time" 0 "not testable here: blank here: wait_ms"

# Which failures count, and what is shown.
expect "it,base,any,1,=,2,,ratio,w" "at,base,any,1,=,2,,shape,w"
check "claims about time fail" 0 "0 claims hold, 2 fail, 0 not testable here"
check "  … and are named" 0 "fails: it, at"
check "  … and are no gate" 0 "0 claims hold, 0 fail, 0 not testable here" --gate
expect "it,base,any,1,=,2,,formula,one sentence"
check "a formula fails" 1 "one sentence"
check "  … at the gate" 1 "0 claims hold, 1 fail" --gate
expect "it,base,any,1,=,2,,sim,w"
check "a simulated number fails" 1 "fails: it"
expect "it,base,any,slowest_step_ms,=,70.5,,example,w"
check "another world size is no pair" 0 "slow                              -"
check "an example never fails" 0 "0 claims hold, 0 fail, 0 not testable here"
check "  … but is shown" 0 "slowest_step_ms is 20 here, published 70.5"
expect "it,*,any,wrong,=,0,,exact,w"
check "every case" 1 "2 claims hold, 1 fail, 0 not testable here"
expect "it,base,any,slowest_step_ms,~,predicted_step_ms,0.2,ratio,w" "at,base,any,wrong,=,0,,exact,w"
check "as predicted" 0 "as predicted"
check "the published step" 0 "70.50      20.00"

# Usage.
check "the lab asked for" 0 "2 claims hold" --only 07_test
check "another lab" 2 "holds no lab with claims" --only 08_other
check "no such folder" 2 "cannot be read" --expected "$folder/none"
check "no results" 2 "holds no lab with claims" --results "$folder/none"
check "an unknown option" 2 "--frobnicate" --frobnicate
printf 'case\nbase\n' >"$folder/results/07_test/summary.csv"
check "a foreign summary" 2 "no column 'ranks'"

((failed)) || echo "all verdicts are right"
exit "$failed"
