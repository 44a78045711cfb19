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
    sed -n '/^Smallest/{n;n;p}' out
}
held() # LINE: its gigabytes
{
    awk '{ print $(NF - 3) }' <<<"$1"
}

# A model that fits needs no change; a smaller GPU needs one more, and holds at most 90 % of its memory.
[[ $(fit 400GB --model llama2-7b --ranks 8) == "no change "* ]] || complain "a model that fits: $(<out)"
for gb in 160 120 80 40 24; do
    line=$(fit ${gb}GB --model llama2-7b --ranks 8)
    [[ $line == *yes ]] || complain "$gb GB: $(<out)"
    awk -v held="$(held "$line")" -v most="$gb" 'BEGIN { exit !(held > 0 && held <= 0.901 * most) }' || complain "$gb GB: $line"
done
[[ $(fit 80GB --model llama3-70b --ranks 64 --batch-size 1) == *"ZeRO 3"* ]] || complain "70 billion parameters fit undivided: $(<out)"
fit 1MB --model gpt2 >/dev/null
grep -q '^Nothing fits into 1MB less 10 %, 0.0 GB' out || complain "1 MB: $(<out)"
"$lab" --fit 80GB --model gpt2 --length 2048 >out 2>err
[[ $? == 2 && $(wc -l <err) == 1 && ! -s out ]] || complain "a text beyond GPT-2's positions: $(cat out err)"
[[ $(fit 24GB --model llama2-7b --ranks 3 --batch-size 2) == *", "[0-9]*" ranks with "[0-9]*" text"* ]] || complain "more ranks: $(<out)"
for size in 80XB GB -1 ''; do
    "$lab" --fit "$size" >out 2>err
    [[ $? == 2 && $(wc -l <err) == 1 && ! -s out ]] || complain "--fit '$size': $(cat out err)"
done

# A text of one token: what a rank of GPT-2 holds, by hand. 16 bytes a parameter; 12 blocks of 16 x 768 numbers of 2 bytes and more widths.
fit 80GB --model gpt2 --ranks 1 --batch-size 1 --length 1 --tflops 1 --memory-gb 1 >/dev/null
grep -q '^no change  *0.5  *1.5  *0.0  *2.0 ' out || complain "GPT-2: $(<out)"

# More to recompute: less memory and a longer step, in this order.
fit 80GB --model llama2-7b --ranks 8 >/dev/null
awk '/^(no change|recompute )/ { rows++; if (rows > 1 && !($(NF - 3) < gb && $(NF - 2) > s)) bad = 1; gb = $(NF - 3); s = $(NF - 2) }
    END { exit bad || rows != 4 }' out || complain "what recomputing trades: $(<out)"

# Attention alone is enough where a little memory is missing and a batch has one text; else accumulation, which costs nothing here.
[[ $(fit 140GB --model llama2-7b --ranks 1 --batch-size 1) == "recompute attention "* ]] || complain "a little less memory: $(<out)"
[[ $(fit 160GB --model llama2-7b --ranks 1) == *" micro-batches of "* ]] || complain "accumulation: $(<out)"

# The error of the calculator, and speeds, are those of the newest run.
fit 80GB --out "$folder" >/dev/null
grep -q 'not known' out || complain "an error without a run: $(<out)"
"$lab" --fit 80GB --out "$folder" --measured-speeds >out 2>err
[[ $? == 2 && $(wc -l <err) == 1 ]] || complain "speeds without a run: $(cat out err)"
mkdir -p 10_memory platforms/elsewhere/10_memory
printf 'case,calculated_mb,calculated_ms\nbaseline,99,8\nzero1,51,9\n' >10_memory/calculator.csv
printf 'case,parameters_mb,gradients_mb,moments_mb,activations_mb,communication_mb,slowest_step_ms\nzero1,10,10,10,20,0,10\nbaseline,20,20,30,30,0,10\n' >10_memory/summary.csv
printf 'quantity,ranks,bytes,value\nown_large_product_flops_per_s,1,,2e12\nown_update_bytes_per_s,1,,3e9\nallreduce_s,2,1000,1\nallreduce_s,4,1e9,0.5\n' |
    tee 10_memory/card.csv >platforms/elsewhere/10_memory/card.csv
for machine in "" "--platform elsewhere"; do
    # shellcheck disable=SC2086 # two words or none
    fit 80GB --out "$folder" --measured-speeds $machine >/dev/null
    grep -q 'large products 2 TFLOP/s on each rank, link 3 GB/s, memory 3 GB/s' out || complain "speeds of a run $machine: $(<out)"
done
fit 80GB --out "$folder" >/dev/null
grep -q '2 cases ' out && grep -q 'memory at most 2.0 %.*0.80 to 0.90 of the measured' out || complain "the error of a run: $(<out)"
((failed)) || echo "The calculators are right."
exit "$failed"
