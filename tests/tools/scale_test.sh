#!/usr/bin/env bash
# usage: scale_test.sh SCALE FOLDER: check that tools/scale compares simulated results with the formula and notices differences.
# Writes small tables to FOLDER/scale.
set -uo pipefail

# shellcheck source=tests/support/frame.sh
source "$(dirname "$0")/../support/frame.sh"

scale=$(realpath "$1")
folder=$(realpath -m "$2")/scale
results=$folder/results

check() # NAME STATUS TEXT ARGUMENT...: check that `scale` exits with STATUS and prints TEXT
{
    local name=$1 status=$2 text=$3 said got
    shift 3
    said=$("$scale" --results "$results" "$@" 2>&1)
    got=$?
    if ((got != status)) || [[ $said != *"$text"* ]]; then
        complain "$name" "status $got, not $status; wanted \"$text\""
    fi
}

summary() # PLATFORM RANKS LAB COMMAND ROW...: write a lab's table; a ROW is case, steps, step, prediction
{
    local where="$results/$1/ranks-$2/platforms/$1/$3" ranks=$2 row
    mkdir -p "$where"
    {
        printf '# command: %s --ranks %s\n' "$4" "$2"
        echo "case,ranks,batch_size,global_batch_size,steps,slowest_step_ms,samples_per_s,predicted_step_ms"
        for row in "${@:5}"; do
            awk -F, -v n="$ranks" '{ print $1 "," n ",8," 8 * n "," $2 "," $3 "," 8 * n / $3 * 1000 "," $4 }' <<<"$row"
        done
    } >"$where/summary.csv"
}

# Results: one rank takes 2 ms, four take 2.5, so the efficiency is 2 / 2.5. A stall of 8 ms with p = 1/2 hits 8 of 16 steps of
# one rank and 15 of 16 steps of four ranks, as in the formula: 1 - 1/2, 1 - 1/2^4.
job="01_straggler --sleep-ms 8 --chance 0.5"
fresh()
{
    rm -rf "$results"
    summary flat 1 04_small_work 04_small_work weak_ws4,3,2,2
    summary flat 4 04_small_work 04_small_work weak_ws4,3,2.5,2.5
    summary flat 1 01_straggler "$job" baseline,16,10,10 skew_ws4,16,18,18 chance,16,14,14
    summary flat 4 01_straggler "$job" baseline,16,10,10 skew_ws4,16,18,18 chance,16,17.5,17.5
}

row() # NAME PATTERN VALUES: check the values of the row of scale.csv that begins with PATTERN, to a relative error of 1e-5
{
    grep -v '^#' "$results/scale.csv" | awk -F, -v wanted="$3" -v pattern="$2" '
        NR == 1 { split("step_ms efficiency extra_ms low_ms high_ms", names, " "); for (i = 1; i <= NF; i++) at[$i] = i; next }
        index($0, pattern) == 1 {
            rows++
            count = split(wanted, value, " ")
            for (i = 1; i <= count; i++) {
                got = $at[names[i]]
                if (value[i] == "-" ? got != "" : got == "" || (got - value[i]) ^ 2 > 1e-10 * value[i] ^ 2) {
                    print names[i] " is " got ", not " value[i]
                    bad = 1
                }
            }
        }
        END { if (rows != 1) print rows + 0 " rows"; exit bad || rows != 1 }' >"$folder/said" || complain "$1" "$(<"$folder/said")"
}

rm -rf "$folder"
mkdir -p "$folder"
fresh
check "agreement" 0 "8 comparisons of simulation and formula, 0 apart"
row "one rank" "flat,1,weak_ws4,simulated,,3," "2 1 - - -"
row "four ranks" "flat,4,weak_ws4,simulated,,3," "2.5 0.8 - - -"
row "four ranks by formula" "flat,4,weak_ws4,formula,,," "2.5 0.8 - - -"
row "one is late" "flat,4,skew_ws4,simulated,,16," "18 - 8 - -"
row "one is late, by formula" "flat,4,skew_ws4,formula,,," "18 - 8 - -"
# Wilson interval, z = 1.96, of 15 hits in 16: (0.9375 + 0.12005 +- 1.96 sqrt(0.00366211 + 0.00375156)) / 1.2401, times 8.
row "by chance" "flat,4,chance,simulated,0.5,16," "17.5 - 7.5 5.733675 7.911098"
row "by chance, by formula" "flat,4,chance,formula,0.5,," "17.5 - 7.5 - -"
row "on any machine" ",4,chance,formula,0.5,," "- - 7.5 - -"
row "where all are hit" ",16384,chance,formula,0.5,," "- - 8 - -"
row "rare, two ranks" ",2,chance,formula,0.001,," "- - 0.015992 - -" # 8 (0.002 - 0.001^2)
row "rare, many ranks" ",512,chance,formula,0.001,," "- - 3.206862 - -" # 8 (1 - exp(512 ln 0.999)) = 8 (1 - 0.599142)
check "the table has both" 0 "       4       7.500 [5.734 7.911]       7.500       0.032"
check "the table goes on" 0 "   16384                                 8.000       8.000"
check "another second probability" 0 "with 0.25" --rare 0.25
row "of it, two ranks" ",2,chance,formula,0.25,," "- - 3.5 - -"
summary slow 4 01_straggler "$job" baseline,16,20,20 chance,16,28,27.5
check "a second platform, in part" 0 "10 comparisons of simulation and formula, 0 apart"
row "without one rank alone" "slow,4,chance,simulated,0.5,16," "28 - 8 6.451093 8"

# Differences: beyond the tolerance; by a share of steps that chance does not explain; by more than all stalls.
fresh
summary flat 4 04_small_work 04_small_work weak_ws4,3,2.5,2.54
check "within the tolerance" 0 "0 apart"
check "beyond a smaller one" 1 "scale: weak_ws4 of 4 ranks on flat: 2.500 ms simulated, 2.540 by formula" --tolerance 0.01
summary flat 4 01_straggler "$job" baseline,16,10,10 skew_ws4,16,17.5,18
check "an extra that is too small" 1 "scale: skew_ws4 of 4 ranks on flat: 7.500 ms simulated, 8.000 by formula"
summary flat 4 01_straggler "$job" baseline,16,10,10 chance,16,16,17.5
check "bad luck" 0 "0 apart" # 12 of 16
summary flat 4 01_straggler "$job" baseline,16,10,10 chance,16,14,17.5
check "too few hits" 1 "scale: chance of 4 ranks on flat: " # 8 of 16
summary flat 4 01_straggler "$job" baseline,16,10,10 chance,16,20,17.5
check "more than every step hit" 1 "scale: chance of 4 ranks on flat: "
summary flat 4 01_straggler "$job" baseline,16,11,10
check "the baseline" 1 "scale: baseline of 4 ranks on flat: 11.000 ms simulated, 10.000 by formula"
[[ $("$scale" --results "$results" 2>&1 >/dev/null | wc -l) == 1 ]] || complain "the baseline" "not one line of complaint"
[[ -s $results/scale.csv ]] || complain "the baseline" "no table of what disagrees"

# Tables that cannot be read or do not belong together.
fresh
sed -i 's/,samples_per_s//; s/^\([a-z].*\),[0-9.e+]*,\([0-9.]*\)$/\1,\2/' \
    "$results/flat/ranks-4/platforms/flat/04_small_work/summary.csv"
check "a missing column" 2 "no column 'samples_per_s'"
fresh
summary flat 4 01_straggler "01_straggler --sleep-ms 8 --chance 0.25" baseline,16,10,10
check "another probability" 2 "flat, 4 ranks: --chance 0.25, but other runs have 0.5"
fresh
mv "$results/flat/ranks-4" "$results/flat/ranks-2"
check "in the wrong folder" 2 "4 ranks, but its folder says 2"
rm -rf "$results"
check "no folder" 2 "cannot be read"
mkdir -p "$results/flat/ranks-x" "$results/flat/ranks-0"
check "no runs" 2 "holds no run of 01_straggler"

((failed)) || echo "Simulated and formula stand side by side."
exit "$failed"
