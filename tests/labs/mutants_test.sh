#!/usr/bin/env bash
# usage: mutants_test.sh BUILD FOLDER LAB: make the lab's formulas wrong in each of the ways of tests/labs/mutants/LAB.txt, run the lab on
# modelled machines, and judge its claims. Claims about the machine rather than the formula may fail there. Each wrong formula must turn at
# least one claim wrong that the right one does not, on one of the machines: the next is tried if those before find nothing. Each kind of
# mistake below is tried, or a comment says why the lab's formula cannot make it.
set -uo pipefail

build=$1 folder=$2 lab=$3
failed=0

complain()
{
    printf 'mutants_test: %s\n' "$*" >&2
    failed=1
}

# shellcheck source=tests/labs/mutants.sh
source "$(dirname "$(readlink -f "$0")")/mutants.sh"

# shellcheck disable=SC2317 # each_mutant calls it
must_be_found() # WHAT
{
    find_on_models "$1" || return
    printf '%-60s %s\n' "$1" "${found//$'\n'/, }"
    [[ -n $found ]] || complain "$1: no claim finds it wrong"
}

for kind in "no transfer" "sum for max" "n for n - 1" "half the sleep" "no sharing"; do
    grep -qE "^(# )?$kind" "$source/tests/labs/mutants/$lab.txt" || complain "tests/labs/mutants/$lab.txt has no line about: $kind"
done
prepare_mutants
judge_right || exit 1
! grep -E '^(predicted|term)_' <<<"${right[blog]}" || complain "the right formula: these claims about it are found wrong"
each_mutant must_be_found
exit "$failed"
