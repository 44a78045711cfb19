#!/usr/bin/env bash
# usage: bound_by_test.sh BIN FOLDER: hold what summary.csv says bounds a step against each lab's injected faults, on modelled
# machines (bound_by.csv in this folder). Works in FOLDER/bound_by.
set -uo pipefail

here=$(dirname "$(realpath "$0")")
bin=$(realpath "$1")
# shellcheck source=tests/support/frame.sh
source "$here/../support/frame.sh"
work_in "$(realpath -m "$2")/bound_by"

simulate() # MACHINE LAB
{
    local job=() platform=$1
    if [[ $1 == round_numbers ]]; then
        platform=$here/round_numbers.xml
        read -ra job < <(sed -n 's/^# job: //p' "$here/$2.csv")
    fi
    "$bin/$2" --platform "$platform" "${job[@]}" --rounds 8 --out . </dev/null >"$1 $2.out" 2>err || complain "$2 on $1" "$(<err)"
}

# Print bound_by, late_by and the cause of at least half of what a case takes beyond the first, and check that shares sum to 1.
causes() # SUMMARY CASE
{
    awk -F, -v wanted="$2" '
        function or_none(text) { return text == "" ? "-" : text }
        /^#/ { next }
        !seen { seen = 1; for (i = 1; i <= NF; i++) at[$i] = i; terms = split("data compute host wait transfer", term, " "); next }
        { step = sum = 0; most = 1
          for (i = 1; i <= terms; i++) step += $at[i == 2 ? "local_ms" : term[i] "_ms"]
          for (i = 1; i <= terms; i++) {
              ms[i] = step * $at[term[i] "_share"]; sum += $at[term[i] "_share"]
              if (!based) base[i] = ms[i]
              if (ms[i] - base[i] > ms[most] - base[most]) most = i
          }
          if (!based) { based = 1; base_step = step }
          if (!(sum > 1 - 2e-6 && sum < 1 + 2e-6)) print "shares of " $at["case"] " sum to " sum
          beyond = step > 1.01 * base_step && ms[most] - base[most] >= (step - base_step) / 2 ? term[most] : "-"
          if ($at["case"] == wanted) print or_none($at["bound_by"]), or_none($at["late_by"]), beyond }' "$1"
}

run=
while IFS=, read -r machine lab case bound late beyond why; do
    [[ $machine != '#'* && $machine != machine ]] || continue
    if [[ $run != "$machine $lab" ]]; then
        run="$machine $lab"
        simulate "$machine" "$lab"
    fi
    got=$(causes "platforms/$machine/$lab/summary.csv" "$case")
    [[ $got == "$bound $late $beyond" ]] || complain "$run, $case" "'$got', not '$bound $late $beyond': $why"
done <"$here/bound_by.csv"

# The sentences on the terminal.
grep -qxE 'A step of skew_ws4 is wait 56 % ± 0, compute 2[78] % ± 0, transfer 17 % ± 0: bound by wait.' "round_numbers 01_straggler.out" ||
    complain "the sentence" "$(grep 'A step of' "round_numbers 01_straggler.out")"
grep -qx "Of the 40.0 ms that it takes beyond the baseline, 40.0 are wait for rank 0's data." "round_numbers 01_straggler.out" ||
    complain "the second sentence" "$(grep 'beyond the' "round_numbers 01_straggler.out")"
! grep -q 'beyond the baseline' "round_numbers 04_small_work.out" || complain "a shorter step has nothing beyond the baseline"

((failed)) || echo "What bounds a step is the fault that was put in."
exit "$failed"
