#!/usr/bin/env bash
# usage: verdict_test.sh LAB FOLDER: hold what --verdict of lab 07 says against shares worked out by hand, on the machine of round
# numbers (verdict.csv in this folder). Works in FOLDER/verdict.
set -uo pipefail

here=$(dirname "$(realpath "$0")")
lab=$(realpath "$1")
# shellcheck source=tests/support/frame.sh
source "$here/../support/frame.sh"
work_in "$(realpath -m "$2")/verdict"
job=(--platform "$here/round_numbers.xml" --input-dim 250 --hidden-dim 250 --transform-rounds 5)
table=platforms/round_numbers/07_triage/verdict.csv

# Print a case's shares in %, in the order of verdict.csv, and what bounds it; and check that shares, and predicted ones, sum to 1 and
# that they agree where the formula is exact.
verdict_of() # CASE
{
    awk -F, -v wanted="$1" "$by_column"'
        $at["case"] != wanted { next }
        { sum += $at["share"]; predicted += $at["predicted_share"] }
        $at["suspect"] != "rest" { printf "%.2f ", 100 * $at["share"]; next }
        { print $at["bound_by"] }
        END { if (!(sum > 1 - 1e-6 && sum < 1 + 1e-6 && predicted > 1 - 1e-6 && predicted < 1 + 1e-6))
                  print "shares sum to " sum ", predicted ones to " predicted }' "$table"
}

typed=
while IFS=, read -r flags case data launches memory compute communication bound why; do
    [[ $flags != '#'* && $flags != flags ]] || continue
    if [[ $typed != "$flags" ]]; then
        typed=$flags
        read -ra words <<<"$flags"
        "$lab" "${job[@]}" "${words[@]}" --verdict --out . </dev/null >out 2>err || complain "$flags" "$(<err)"
    fi
    read -ra got < <(verdict_of "$case")
    wanted=("$data" "$launches" "$memory" "$compute" "$communication")
    for i in "${!wanted[@]}"; do
        [[ -z ${wanted[i]} ]] || awk -v a="${got[i]}" -v b="${wanted[i]}" 'BEGIN { exit !(a - b < 0.15 && b - a < 0.15) }' ||
            complain "$flags, $case" "share $i is ${got[i]}, not ${wanted[i]}: $why"
    done
    [[ ${got[5]} == "$bound" ]] || complain "$flags, $case" "bound by ${got[5]}, not $bound: $why"
done <"$here/verdict.csv"

# The sentences; and what cannot be.
grep -qxE '  launch_eager: launches 40 % ± 0, communication 21 % ± 0, compute [0-9]+ % ± 0, (data [0-9]+ % ± 0, )?rest [0-9]+ %: bound by launches' out ||
    complain "the sentence" "$(grep launch_eager: out)"
"$lab" "${job[@]}" --ranks 1 --mix-data 60 --mix-launches 40 --out . >out 2>err
[[ $? == 2 && $(<err) == *"100 %"*"at most 95"* ]] || complain "more than a whole step" "$(<err)"
"${lab%/*}/01_straggler" --platform blog --verdict --out . >out 2>err
[[ $? == 2 && $(<err) == *"01_straggler has no changes"* ]] || complain "a lab without changes" "$(<err)"
"$lab" --platform blog --blind --out . </dev/null >out 2>err
[[ $? == 2 && $(<err) == *"own_dispatch_s"*"--cases"* ]] || complain "a mixture of nothing" "$(<err)"

((failed)) || echo "A step is bound by what was put in."
exit "$failed"
