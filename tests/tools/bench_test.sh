#!/usr/bin/env bash
# usage: bench_test.sh BENCH_GPU TORCH_STEP FOLDER: check that bench_gpu counts and measures correctly and works with a stand-in
# for PyTorch. Exit status 77 if BENCH_GPU finds no GPU, after all tests that need none. Works in FOLDER/bench. Does not test speed.
set -uo pipefail

# shellcheck source=tests/support/frame.sh
source "$(dirname "$0")/../support/frame.sh"
# shellcheck source=tests/support/bench_table.sh
source "$(dirname "$0")/../support/bench_table.sh"

bench=$(realpath "$1")
torch_step=$(realpath "$2")
folder=$(realpath -m "$3")/bench

run() # STATUS ARGUMENT...: run bench_gpu and check its exit status; set `said` to its output
{
    rm -rf results asked arguments
    exits "$1" timeout $((100 * patience)) "$bench" --out results "${@:2}"
}

refuses() # TEXT ARGUMENT...: check for one line that holds TEXT, and no results
{
    local text=$1
    shift
    run 2 "$@"
    says "bench_gpu: $text"
    [[ $said != *$'\n'* && ! -e results ]] || complain "$*: more than one line, or a folder was made"
}

rows() # COLUMN...: print these columns of the table, a line per row, values separated by blanks; "-" for a blank value
{
    awk -F, -v wanted="$*" "$by_column"'
        { n = split(wanted, name, " "); line = ""
          for (i = 1; i <= n; i++) line = line (i > 1 ? " " : "") ($at[name[i]] == "" ? "-" : $at[name[i]])
          print line }' results/bench_gpu.csv
}

# Counts computed by hand. MLP, per sample: 1024 1024 + 1024 1024 + 1024 1000 multiply-adds forward. Backward has the first
# product once, since the input has no gradient, and the others twice: 8,314,880 in total. With 512 samples other operations move
# 2 (12 524288 + 4096) bytes for GELU and as many for its gradient, 8 512000 + 4000 + 2048 + 8 for the cross-entropy,
# 4 512000 + 4000 for its bias, 28 3124200 for AdamW: 118,813,864. Products move 4 (2 2097152 + 3 2097152 + 3 2060288):
# 66,666,496.
# Transformer, 8 sequences of 128 tokens: 3 times 1024 18432 + 8 768 multiply-adds of products and 131072 96 of attention.
# Products move 12 (203520 + 100608 + 152064 + 152064 + 1280) bytes. Other operations move 4 bytes for each of 542720 numbers of
# the embedding, 598496 of norms, 745952 of attention, 393408 of residuals, 590016 of GELU, 99120 of the mean, 426 of the
# cross-entropy, 2890720 of AdamW.
test_counts()
{
    run 0 --count-only
    expect "counts" "what,batch,tokens,parameters,operations,flops,flops_of_products,bytes,bytes_of_products
mlp,1,,3124200,15,16629760,16629760,120887916,33324768
mlp,128,,3124200,15,2128609280,2128609280,136941224,41611264
mlp,512,,3124200,15,$((2 * 512 * 8314880)),8514437120,$((118813864 + 66666496)),66666496
transformer,1,128,412960,35,23597568,14160384,15544764,1115904
transformer,8,128,412960,35,$((2 * 3 * (1024 * 18432 + 8 * 768 + 131072 * 96))),$((2 * 3 * (1024 * 18432 + 8 * 768))),$((4 * 5860858 + 12 * 609536)),7314432
transformer,8,256,412960,35,528519168,226529280,48133096,14392320" "$said"
    [[ ! -e results ]] || complain "counting made a folder"
}

test_usage()
{
    touch file
    refuses "--width 50 cannot be divided among --num-heads 4" --width 50
    refuses "--width 68 in --num-heads 4 is more than 16 a head" --width 68
    refuses "--steps 0 is out of range" --steps 0
    refuses "--model takes one of" --model resnet
    refuses "--texts 65536 of --tokens 65536 are more than 2^24 rows" --texts 65536 --tokens 65536
    refuses "--out file/x cannot be written" --out file/x
    refuses "unknown option '--bach-size'; did you mean --batch-size?" --bach-size 1
}

# --- a stand-in for PyTorch: a script with given answers ------------------------------------------------------------------

fake() # NAME FIRST-LINE REST: create the script; in REST, `line` is the question, `parameters` the toy model's parameter count
{
    printf '#!/bin/bash\necho "$*" >arguments\necho "%s"\n%s\n' "$2" \
        'while IFS= read -r line; do echo "$line" >>asked; parameters=1172; [[ $line != tr* ]] || parameters=2104' >"$1"
    printf '%s\ndone\n' "$3" >>"$1"
    chmod +x "$1"
}

# 24 20 + 20 + 20 20 + 20 + 20 12 + 12 parameters; 64 12 + 4 12 + 12 36 + 36 + 12 12 + 12 + 12 24 + 24 + 24 12 + 12 + 12 4 + 4.
shape=(--input-dim 24 --hidden-dim 20 --num-classes 12 --vocab-size 64 --width 12 --num-heads 2 --num-topics 4)
toy=("${shape[@]}" --steps 4 --warm-up 2 --windows 3 --copy-mb 1 --product-dim 24 --batch-size 16 --texts 2 --tokens 10)

test_alone()
{
    run 0 "${toy[@]}" --torch none
    is_one_run results/bench_gpu.csv
    says "beside   nothing: --torch none"
    expect "cases" "mlp fp32 16 -
transformer fp32 1 10
transformer fp32 2 10
mlp tf32 16 -
transformer tf32 1 10
transformer tf32 2 10
mlp bf16 16 -
transformer bf16 1 10
transformer bf16 2 10" "$(rows what precision batch tokens)"
    expect "blanks" "- - - - - -" "$(rows reference_ms ratio ratio_low ratio_high goal holds | sort -u)"
    rows ours_ms ours_host_ms events_over_host copy_gb_per_s products_ms floor_ms share_of_limit |
        awk '{ for (i = 1; i <= NF; i++) if (!($i > 0)) exit 1 } ($6 / $1 - $7)^2 > 1e-6 || $6 < $5 { exit 1 }' ||
        complain "a time that is none:" "$(rows ours_ms ours_host_ms events_over_host copy_gb_per_s products_ms floor_ms share_of_limit)"
    (($(grep -c '^# kernel: ' results/bench_gpu.csv) == 3)) || complain "not a kernel for each precision"
    (($(grep -c '^# \(device\|no reference\): ' results/bench_gpu.csv) == 2)) || complain "not a device, and no reference"
    if [[ $said == *stand-in* ]]; then
        says "not how fast a GPU is"
        grep -q '^# stand-in: ' results/bench_gpu.csv || complain "the table does not say that the CPU played a GPU"
    fi
}

test_beside()
{
    local i wanted=
    fake beside "ready a fake" 'echo "$line,$parameters,1000"'
    run 0 "${toy[@]}" --precision bf16 --torch ./beside --torch-step "a file.py"
    says "beside   a fake"
    expect "its arguments" "a file.py --steps=4 --warm-up=2 --input-dim=24 --hidden-dim=20 --num-classes=12 --vocab-size=64 --width=12 --num-heads=2 --num-topics=4" "$(<arguments)"
    for i in mlp,bf16,16 transformer,bf16,1,10 transformer,bf16,2,10; do
        wanted+="$i"$'\n'"$i"$'\n'"$i"$'\n'
    done
    expect "what it was asked" "${wanted%$'\n'}" "$(<asked)"
    expect "its times" "1000.000000" "$(rows reference_ms | sort -u)"
    rows ratio ratio_low ratio_high | awk '!($2 <= $1 && $1 <= $3) { exit 1 }' || complain "a ratio outside its interval"
    expect "no goal for other sizes" "- -" "$(rows goal holds | sort -u)"
    grep -qx '# reference: a fake' results/bench_gpu.csv || complain "the table does not name the reference"

    # A single window has no interval.
    run 0 "${toy[@]}" --precision fp32 --model mlp --windows 1 --torch ./beside
    rows ours_host_ms ratio ratio_low | awk '{ x = 1000 / $1 / $2 - 1; exit !(x * x < 1e-6 && $3 == "-") }' ||
        complain "the ratio is not theirs over ours"
}

# Goals at the labs' own sizes, with a reference that is far slower, far faster, or alternates.
test_goals()
{
    local short=(--precision fp32 --steps 1 --warm-up 1 --windows 2 --copy-mb 1 --product-dim 24 --model)
    fake slow "ready slow" 'echo "$line,3124200,1e7"'
    fake fast "ready fast" 'echo "$line,3124200,1e-6"'
    fake moody "ready moody" 'echo "$line,3124200,1e$((count++ % 2 * 14 - 7))"'
    fake slow_text "ready slow" 'echo "$line,412960,1e7"'
    run 0 "${short[@]}" mlp --batch-size 512 --torch ./slow
    expect "far ahead" "512 1 yes" "$(rows batch goal holds)"
    run 0 "${short[@]}" mlp --batch-size 512 --torch ./fast
    expect "far behind" "512 1 no" "$(rows batch goal holds)"
    run 0 "${short[@]}" mlp --batch-size 512 --torch ./moody
    expect "who knows" "512 1 not resolved" "$(rows batch goal holds)"
    run 0 "${short[@]}" mlp --batch-size 4 --torch ./slow
    expect "no goal for another batch" "4 - -" "$(rows batch goal holds)"
    run 0 "${short[@]}" transformer --tokens 32 --torch ./slow_text
    expect "texts" "1 - -"$'\n'"8 5 yes" "$(rows batch goal holds)"
}

# A reference that fails leaves our own columns and the exit status unchanged.
test_broken()
{
    local one=("${toy[@]}" --precision fp32 --model mlp --torch)
    run 0 "${one[@]}" ./nowhere
    says "beside   nothing: ./nowhere cannot be started: No such file"
    fake absent "absent PyTorch cannot be imported (no module)" ''
    run 0 "${one[@]}" ./absent
    says "beside   nothing: PyTorch cannot be imported (no module); columns of PyTorch stay blank"
    fake strange "hello" ''
    run 0 "${one[@]}" ./strange
    says "beside   nothing: it printed hello"
    run 0 "${one[@]}" false
    says "beside   nothing: it ended without a message"
    expect "blanks" "16 - -" "$(rows batch reference_ms ratio)"
    fake smaller "ready smaller" 'echo "$line,1171,1"'
    run 0 "${one[@]}" ./smaller
    says "PyTorch stopped: its model has 1171 parameters for mlp,fp32,16, but ours 1172"
    expect "another model" "16 - -" "$(rows batch reference_ms ratio)"
    fake deaf "ready deaf" 'echo "mlp,fp32,17,$parameters,1"'
    run 0 "${one[@]}" ./deaf
    says "PyTorch stopped: asked for mlp,fp32,16, it answered mlp,fp32,17,1172,1"
    fake blind "ready blind" 'echo "$line,$parameters,nan"'
    run 0 "${one[@]}" ./blind
    says "PyTorch stopped: asked for mlp,fp32,16, it answered"
    fake mortal "ready mortal" 'echo "$line,$parameters,1"; ((++count < 2)) || exit'
    run 0 "${one[@]}" ./mortal
    says "PyTorch stopped: it ended without a message"
    expect "what it said before" "16 1.000000" "$(rows batch reference_ms)"
    fake full "ready full" 'echo "absent out of memory"'
    run 0 "${one[@]}" ./full
    says "PyTorch stopped: out of memory"
}

# Test the real torch_step.py on the CPU if Python has PyTorch, otherwise its message.
test_torch()
{
    command -v python3 >/dev/null || return 0
    said=$(printf '%s\n' mlp,fp32,2 mlp,bf16,2 transformer,fp32,8,128 transformer,tf32,2,16 resnet,fp32,1 |
        timeout $((250 * patience)) python3 "$torch_step" --device cpu --steps 1 --warm-up 1 2>/dev/null)
    [[ $said != absent* ]] || return 0
    expect "PyTorch" "ready
mlp,fp32,2,3124200,ms
mlp,bf16,2,3124200,ms
transformer,fp32,8,128,412960,ms
transformer,tf32,2,16,412960,ms
absent 'resnet,fp32,1' is no question" "$(sed 's/^ready .*/ready/; s/,[0-9.]*$/,ms/; t; s/^absent/absent/' <<<"$said" | sed "s/'resnet,fp32,ms/'resnet,fp32,1/")"
}

work_in "$folder"
test_counts
test_usage
test_torch
said=$("$bench" "${toy[@]}" --torch none --out results 2>&1)
if (($? == 77)); then
    [[ $said == "bench_gpu: built with CUDA, no usable device ("*")" ]] || complain "no reason for having no GPU"
    ((failed)) && exit 1
    printf '%s\n' "$said"
    exit 77
fi
test_alone
test_beside
test_goals
test_broken
((failed)) || echo "bench_gpu counted and measured as it should."
exit "$failed"
