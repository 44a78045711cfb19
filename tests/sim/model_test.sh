#!/usr/bin/env bash
# usage: model_test.sh LAB CLAIMS FOLDER: run a lab on the machine of round numbers. Every case must give the results computed by
# hand (NN_name.csv in this folder), equal in every run. Works in FOLDER/model.
set -uo pipefail

# shellcheck source=tests/sim/simulate.sh
source "$(dirname "$0")/simulate.sh"

# Differences between labs: the first case, and the what-if step (regular expression), which is computed from the slow case alone.
# It equals the baseline's step, plus two messages if there is a barrier. If all ranks are alike, it is the slow case's own step.
case $name in
01_straggler) baseline=baseline what_if='32.0 ms .computed from skew_ws4' ;;
02_rank0_host) baseline=baseline what_if='34.0 ms .computed from barrier_ws4' ;;
03_comm_bound) baseline=baseline what_if='70.0 ms .computed from comm_ws4' ;;
05_token_skew) baseline=fixed_sample_ws4 what_if='28.5 ms .computed from variable_sample_ws4' ;; # from the median rank's batches
04_small_work) baseline=weak_ws4 what_if='22.4 ms .computed from small_ws4' ;;
06_ring_allreduce) baseline=baseline what_if='45.0 ms .computed from by_gather' ;;
*) complain "nothing was worked out for $name" ;;
esac
cp "$tests/$name.csv" expected/
simulate "with blanks"
judge "with blanks"
if [[ -x $tests/$name.sh ]]; then # checks tables that only this lab has
    "$tests/$name.sh" "with blanks/platforms/round_numbers/$name" || complain "see above"
fi
grep -q "would take $what_if alone" out || complain "the what-if step is not $what_if"
grep -q "^$baseline: +0.0 ms against the formula" out || complain "the baseline is not its formula"
grep -q '(simulated)' out || complain "the lanes are not marked as simulated"

# A second run gives the same tables, except for the lines with command and time.
simulate again
for table in summary ranks rounds spans lanes; do
    cmp <(sed '/^# command/d; /^# when/d' "with blanks/platforms/round_numbers/$name/$table.csv") \
        <(sed '/^# command/d; /^# when/d' "again/platforms/round_numbers/$name/$table.csv") || complain "$table.csv differs"
done
awk -F, '/^#/ { next } !seen { for (i = 1; i <= NF; i++) at[$i] = i; seen = 1; next }
    $at["loss"] != "" || $at["wrong"] != "" || $at["numerics"] != "" || $at["device"] != "model" { exit 1 }' \
    "again/platforms/round_numbers/$name/summary.csv" || complain "what was not computed was checked all the same"

((failed)) || echo "The modelled machine does what was worked out by hand."
exit "$failed"
