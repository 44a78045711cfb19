#!/usr/bin/env bash
# usage: mutants_beside.sh BUILD FOLDER LAB [SECONDS [SEED [WHAT]]]: is a wrong formula ever green where a program comes and goes?
#
# Measures the lab on simulated dedicated cores, once with the right formula and once with each of tests/labs/mutants/LAB.txt, for SECONDS
# (default 15) each, as a full run does. Meanwhile a program takes a core for 2 to 8 s and leaves it for 2 to 8 s, by SEED (default 1). The
# first run measures the machine card; the others keep it. A wrong formula is judged by the claims that tell it on a modelled machine
# (tests/labs/mutants_test.sh). Prints for each their verdicts here, and one for the formula:
#     wrong       a claim is wrong
#     too noisy   none is, and at least one is too noisy to tell, or disturbed
#     green       all came out as predicted
#     unjudged    none is judged here: all are about cases left out, or need a machine without noise; the formula is not measured
#     alike       none is wrong, and the formula predicts here what the right one does, as where ranks share no memory
# The last line counts those that are green among the first three. WHAT: try only the wrong formulas whose description contains it.
# Not a test: a lab takes two to seven minutes, and noise may change a verdict. FOLDER is made anew. Exit status: 0, or 1 if something could
# not be measured.
set -uo pipefail

(($# >= 3 && $# <= 6)) || { sed -n '2s/^# //p' "$0" >&2; exit 2; }
build=$(realpath "$1") folder=$(realpath -m "$2") lab=$3 seconds=${4-15} seed=${5-1} only=${6-}
failed=0
unset LOCKSTEP_BRIEF_CARD # of tests, which need no card that holds

complain()
{
    printf 'mutants_beside: %s\n' "$*" >&2
    failed=1
}

# shellcheck source=tests/labs/mutants.sh
source "$(dirname "$(readlink -f "$0")")/../labs/mutants.sh"
backends=(model sim) optimised=
results=$folder/results
declare -A count=([wrong]=0 ["too noisy"]=0 [green]=0 [unjudged]=0 [alike]=0)

# The program: busy and idle by turns, until this script ends.
come_and_go()
{
    exec python3 -c 'if True:
        import os, random, sys, time
        draw, parent = random.Random(int(sys.argv[1])), os.getppid()
        while os.getppid() == parent:
            until = time.monotonic() + draw.uniform(2, 8)
            while time.monotonic() < until:
                pass
            time.sleep(draw.uniform(2, 8))' "$seed"
}

measure() # WHAT OPTION...: with the linked formula
{
    "$folder/bin/$lab" --backend sim --seconds "$seconds" --lesson-cases --without-tables "${@:2}" --out "$results" >"$folder/log" 2>&1 \
        </dev/null || { complain "$1: the lab failed: $(tail -n 1 "$folder/log")"; return 1; }
    "$build/bin/claims" --results "$results" --expected "$source/expected" --tables >"$folder/log" 2>&1
    (($? < 2)) || { complain "$1: not judged: $(tail -n 1 "$folder/log")"; return 1; }
}

verdicts() # print a line CLAIM of CASE: VERDICT for each claim about time or a formula that is judged here
{
    awk -F, '$5 ~ /^(ratio|shape|formula)$/ && $6 != "not testable" {
        sub(/^holds$/, "as predicted", $6); sub(/^fails$/, "wrong", $6); print $4 " of " $3 ": " $6 }' "$results/claims.csv"
}

# shellcheck disable=SC2317 # judge_here calls it
that_tell() # of the verdicts of standard input, print those on claims in `found`
{
    awk 'NR == FNR { sub(/ on [^ ]*$/, ""); tells[$0]; next } { claim = $0; sub(/: .*/, "", claim) } claim in tells' \
        <(printf '%s\n' "$found") -
}

predictions() # print what the formula says of each case, by the card alone
{
    awk -F, '/^#/ { next } !at { for (i = 1; i <= NF; i++) if ($i == "predicted_step_ms") at = i } { print $2, $at }' \
        "$results/platforms/dedicated-cores/$lab/summary.csv"
}

# shellcheck disable=SC2317 # each_mutant calls it
judge_here() # WHAT
{
    local here="" verdict=unjudged
    [[ $1 == *"$only"* ]] || return
    find_on_models "$1" || return
    [[ -n $found ]] || complain "$1: no claim tells it on a modelled machine"
    if [[ -n $(that_tell <<<"$right_verdicts") ]]; then
        measure "$1" --keep-card || return
        here=$(verdicts | that_tell)
        case $here in
        *": wrong"*) verdict=wrong ;;
        *": "[td]*) verdict="too noisy" ;;
        ?*) verdict=green ;;
        esac
        [[ $verdict == wrong || $(predictions) != "$right_predictions" ]] || verdict=alike
    fi
    count[$verdict]=$((count[$verdict] + 1))
    printf '%-10s %s; %s\n' "$verdict" "$1" "${here//$'\n'/, }"
}

prepare_mutants
judge_right || exit 1
come_and_go &
program=$!
trap 'kill "$program" 2>/dev/null' EXIT
measure "the right formula" || exit 1
right_predictions=$(predictions) right_verdicts=$(verdicts)
printf 'the right formula: %s claims judged, of which %s wrong and %s too noisy or disturbed\n' "$(wc -l <<<"$right_verdicts")" \
    "$(grep -c ': wrong$' <<<"$right_verdicts")" "$(grep -cE ': (too noisy|disturbed)' <<<"$right_verdicts")"
grep ': wrong$' <<<"$right_verdicts"
each_mutant judge_here
printf '%d unjudged, %d alike\n' "${count[unjudged]}" "${count[alike]}"
printf '%d of %d wrong formulas green\n' "${count[green]}" $((count[wrong] + count["too noisy"] + count[green]))
exit "$failed"
