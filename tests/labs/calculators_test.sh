#!/usr/bin/env bash
# usage: calculators_test.sh LAB FOLDER: check what lab 10 calculates without measuring: the table of the ZeRO paper, and the smallest change
# after which a well-known model fits. Works in FOLDER/calculators.
set -uo pipefail

lab=$(realpath "$1")
folder=$(realpath -m "$2")/calculators
# shellcheck source=tests/support/frame.sh
source "$(dirname "$0")/../support/frame.sh"
work_in "$folder"

# Rajbhandari et al. (SC 2020), figure 1: 120, 31.4, 16.6 and 1.9 GB for 7.5 billion parameters on 64 GPUs.
"$lab" --zero-table --parameters 7.5e9 --ranks 64 >table 2>err || complain "--zero-table: $(<err)"
diff - table <<'END' || complain "the table of the paper"
stage,gb_per_rank,elements_sent
0,120,1.5e+10
1,31.40625,1.5e+10
2,16.640625,1.5e+10
3,1.875,2.25e+10
END
"$lab" --zero-table --parameters 1e9 --ranks 1 | awk -F, 'NR > 1 && $2 != 16 { exit 1 }' || complain "one rank holds all in every stage"

fit() # OPTION...: the line of the smallest change, if there is one
{
    "$lab" --fit "$@" >out 2>err || complain "--fit $*: $(<err)"
    sed -n '/^Smallest/{n;p}' out
}
held() # LINE: its gigabytes
{
    awk '{ print $(NF - 2) }' <<<"$1"
}

# What fits needs no change; a smaller GPU needs one more, and holds at most 95 % of its memory.
[[ $(fit 400GB --model llama2-7b --ranks 8) == "as it is "* ]] || complain "a model that fits: $(<out)"
for gb in 160 120 80 40 24; do
    line=$(fit ${gb}GB --model llama2-7b --ranks 8)
    [[ $line == *yes ]] || complain "$gb GB: $(<out)"
    awk -v held="$(held "$line")" -v most="$gb" 'BEGIN { exit !(held > 0 && held <= 0.951 * most) }' || complain "$gb GB: $line"
done
[[ $(fit 80GB --model llama3-70b --ranks 64 --batch-size 1) == *"ZeRO 3"* ]] || complain "70 billion parameters fit undivided: $(<out)"
fit 1MB --model gpt2 >/dev/null
grep -q '^Nothing fits into 1MB' out || complain "1 MB: $(<out)"
for size in 80XB GB -1 ''; do
    "$lab" --fit "$size" >out 2>err
    [[ $? == 2 && $(wc -l <err) == 1 && ! -s out ]] || complain "--fit '$size': $(cat out err)"
done

# The error of the rules is that of the newest run.
fit 80GB --out "$folder" >/dev/null
grep -q 'not known here' out || complain "an error without a run: $(<out)"
mkdir -p 10_memory
printf 'case,held_mb,predicted_held_mb\nbaseline,100,99\nzero1,50,51\n' >10_memory/summary.csv
fit 80GB --out "$folder" >/dev/null
grep -q 'run of 2 cases at most 2.00 %' out || complain "the error of a run: $(<out)"
((failed)) || echo "The calculators are right."
exit "$failed"
