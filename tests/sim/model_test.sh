#!/usr/bin/env bash
# usage: model_test.sh LAB CLAIMS FOLDER: run a lab on the machine of round numbers. Every case must give the results computed by
# hand (NN_name.csv in this folder), equal in every run. Works in FOLDER/model.
set -uo pipefail

# shellcheck source=tests/sim/simulate.sh
source "$(dirname "$0")/simulate.sh"

# shellcheck source=tests/labs/facts.sh
source "$tests/../labs/facts.sh"
cp "$tests/$name.csv" expected/
simulate "with blanks"
judge "with blanks"
if [[ -x $tests/$name.sh ]]; then # checks tables that only this lab has
    "$tests/$name.sh" "with blanks/platforms/round_numbers/$name" || complain "see above"
fi
what_if="$what_if_ms ms .computed from $asked"
grep -q "would take $what_if alone" out || complain "the what-if step is not $what_if"
grep -q "^$baseline: +0.0 ms against the formula" out || complain "the baseline is not its formula"
grep -q '(simulated)' out || complain "the lanes are not marked as simulated"

# A second run gives the same tables, except for the lines with command and time.
simulate again
for table in summary ranks rounds spans lanes; do
    cmp <(sed '/^# command/d; /^# when/d' "with blanks/platforms/round_numbers/$name/$table.csv") \
        <(sed '/^# command/d; /^# when/d' "again/platforms/round_numbers/$name/$table.csv") || complain "$table.csv differs"
done
awk -F, "$by_column"'
    $at["loss"] != "" || $at["wrong"] != "" || $at["numerics"] != "" || $at["device"] != "model" { exit 1 }' \
    "again/platforms/round_numbers/$name/summary.csv" || complain "what was not computed was checked all the same"

((failed)) || echo "The modelled machine does what was worked out by hand."
exit "$failed"
