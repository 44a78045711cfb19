#!/usr/bin/env bash
# usage: bench_labs_test.sh BIN FOLDER stand_in|torch: test the part `labs` of bench, which is in BIN with the labs, with
# stand-ins for PyTorch and labs; or test tools/bench/torch_labs.py with PyTorch (exit status 77 without PyTorch). Works in
# FOLDER. Does not test speed.
# shellcheck disable=SC2016 # the stand-ins expand these variables
set -uo pipefail

# shellcheck source=tests/support/frame.sh
source "$(dirname "$0")/../support/frame.sh"
# shellcheck source=tests/support/bench_table.sh
source "$(dirname "$0")/../support/bench_table.sh"

bin=$(realpath "$1")
script=$(realpath "$(dirname "$0")/../../tools/bench/torch_labs.py")
folder=$(realpath -m "$2")

expect() # WHAT WANTED GOT
{
    [[ $2 == "$3" ]] || complain "$1:"$'\n'"$3"$'\n'"where it should be"$'\n'"$2"
}

# --- stand-ins: a copy of bench in a folder with fake labs -----------------------------------------------------------------

readonly labs=(01_straggler 02_rank0_host 03_comm_bound 04_small_work 05_token_skew)
readonly questions="01_straggler,skew_ws4
02_rank0_host,barrier_ws4
03_comm_bound,comm_ws4
04_small_work,weak_ws4
04_small_work,weak_ws1
04_small_work,weak_ws2
04_small_work,strong_ws1
04_small_work,strong_ws2
05_token_skew,fixed_sample_ws4
05_token_skew,variable_sample_ws4
05_token_skew,variable_bucket_ws4
05_token_skew,variable_token_ws4"

# Create a fake lab with the options of a real one. Its steps take 50 ms.
fake_lab() # NAME
{
    cat >"bin/$1" <<END
#!/bin/bash
echo "ours $1" >>order
case= out=
while ((\$# > 0)); do
    [[ \$1 != --cases ]] || case=\$2
    [[ \$1 != --out ]] || out=\$2
    shift
done
mkdir -p "\$out/$1" && printf 'case,slowest_step_ms\nbaseline,1\n%s,50\n' "\$case" >"\$out/$1/summary.csv"
END
    chmod +x "bin/$1"
}

fake_torch() # NAME FIRST-LINE REST: create the script; in REST, `line` is the question, `parameters` the model's parameter count
{
    printf '#!/bin/bash\necho "$*" >told\necho "%s"\nkind=${MALLOC_MMAP_MAX_:+kept}\n%s\n' "$2" \
        'while IFS= read -r line; do echo "${kind:-theirs} $line" >>order; parameters=3124200; [[ $line != 05* ]] || parameters=412960' >"$1"
    printf '%s\ndone\n' "$3" >>"$1"
    chmod +x "$1"
}

run_to() # STATUS ARGUMENT...: run bench and check its exit status; set `said` to its output
{
    rm -rf results order told
    exits "$1" timeout $((100 * patience)) bin/bench --part labs --out results "${@:2}"
}

run() # ARGUMENT...
{
    run_to 0 "$@"
}

rows() # print the table without its column names
{
    [[ ! -e results/bench.csv ]] || sed '/^#/d; s/"//g; s/, /; /g' results/bench.csv | tail -n +2
}

wanted_names() # print the expected names of the rows
{
    local question
    for question in $questions; do
        printf '%s (%s) against PyTorch DDP; ms\n' "${question#*,}" "${question%,*}"
        printf '%s (%s) against PyTorch DDP; pages kept; ms\n' "${question#*,}" "${question%,*}"
    done
    printf 'geometric mean of 12 cases against PyTorch DDP; ms\ngeometric mean of 12 cases against PyTorch DDP; pages kept; ms\n'
}

test_beside()
{
    local question wanted=
    fake_torch beside "ready a fake" 'echo "$line,$parameters,100"'
    run --rounds 2 --torch ./beside --run 20261123-a
    says "beside a fake"
    expect "run" "20261123-a" "$(column results/bench.csv run | sort -u)"
    expect "rows" "$(wanted_names)" "$(rows | cut -d, -f1)"
    is_one_run results/bench.csv
    expect "of the cases" ",50,100,0.5,0.5,0.5,1,yes" "$(rows | head -n 24 | cut -d, -f2-8 | sed 's/^/,/' | sort -u)"
    rows | tail -n 2 | awk -F, '{ for (i = 2; i < 4; i++) { x = $i / (i == 2 ? 50 : 100) - 1; if (x * x > 1e-12) exit 1 } if ($7 != 0.5) exit 1 }' ||
        complain "not the mean: $(rows | tail -n 2)"
    grep -qx '# torch: a fake' results/bench.csv || complain "the table does not name PyTorch"
    expect "what it was told" "$script" "$(<told)"
    for question in $questions; do
        wanted+="ours ${question%,*}"$'\n'"theirs $question"$'\n'"kept $question"$'\n'
        wanted+="kept $question"$'\n'"theirs $question"$'\n'"ours ${question%,*}"$'\n'
    done
    expect "turns" "${wanted%$'\n'}" "$(<order)"
}

test_without()
{
    run --torch none
    says "not measured: --torch none"
    run --torch ./nowhere
    says "not measured: no PyTorch"
    # Under QEMU's user emulation posix_spawn() does not return what exec() returned; the child just exits.
    [[ $said == *"./nowhere: it ended without a message"* && $(uname -m) != x86_64 ]] ||
        says "./nowhere: ./nowhere cannot be started: No such file"
    fake_torch absent "absent PyTorch cannot be imported (no module)" ''
    run --torch ./absent
    says "./absent: PyTorch cannot be imported (no module)"
    [[ ! -e results/bench.csv && ! -e order ]] || complain "something was measured"
}

# A failure costs its round; rows of other rounds and labs are kept.
test_broken()
{
    fake_torch smaller "ready smaller" 'echo "$line,$((parameters - (parameters == 3124200))),100"'
    run --rounds 1 --torch ./smaller
    says "skew_ws4, round 1 of 1: PyTorch stopped: its model has 3124199 parameters for 01_straggler,skew_ws4, but ours 3124200"
    says "skew_ws4, round 1 of 1, pages kept: PyTorch stopped"
    expect "rows of the others" "$(wanted_names | sed -n 17,24p)" "$(rows | cut -d, -f1)"

    # It dies in every sixth of 24 windows in two rounds, and these are all in the second round.
    fake_torch mortal "ready mortal" '((++count < 6)) || exit; echo "$line,$parameters,100"'
    run --rounds 2 --torch ./mortal
    expect "rows beside the mortal" "$(wanted_names)" "$(rows | cut -d, -f1)"
    expect "those without an interval" "comm_ws4 weak_ws2 fixed_sample_ws4 variable_token_ws4 geometric" \
        "$(rows | awk -F'[ ,]' '/,,,/ { print $1 }' | uniq | tr '\n' ' ' | sed 's/ $//')"
    expect "its deaths" 8 "$(grep -c 'round 2 of 2.*PyTorch stopped: it ended without a message' <<<"$said")"

    # This one does not start again after it has died.
    fake_torch once "ready once" '((++count < 3)) || exit; echo "$line,$parameters,100"'
    sed -i '2i [[ ! -e "once${MALLOC_MMAP_MAX_-}" ]] || { echo "absent for good"; exit; }; : >"once${MALLOC_MMAP_MAX_-}"' once
    cp once twice # keep the script under another name than its marker files
    sed -i 's/"once\$/"dead$/g' twice
    run --rounds 1 --torch ./twice
    expect "rows before it died" "$(wanted_names | head -n 4)" "$(rows | cut -d, -f1)"
    expect "why it is gone" 2 "$(grep -c 'weak_ws4, round 1 of 1.*PyTorch stopped: for good' <<<"$said")"

    printf '#!/bin/bash\necho something\necho boom >&2\nexit 3\n' >bin/02_rank0_host
    run_to 1 --rounds 1 --torch ./beside
    says "barrier_ws4, round 1 of 1: our lab ended with status 3: boom"
    expect "rows of the other labs" "$(wanted_names | sed '3,4d; 25,26d')" "$(rows | cut -d, -f1)"
    fake_lab 02_rank0_host
}

left_behind() # print folders of jobs whose process is gone; other jobs may run at the same time
{
    local folder pid
    for folder in /dev/shm/lockstep-*.* /tmp/lockstep-*.*; do
        pid=${folder##*/lockstep-}
        [[ ! -d $folder || -d /proc/${pid%%.*} ]] || echo "$folder"
    done
}

# Real labs must accept the options (--dry-run). One of them runs at toy size, and bench reads its table.
test_real()
{
    local lab before
    for lab in "${labs[@]}"; do
        mv "bin/$lab" "bin/$lab.fake"
        printf '#!/bin/bash\n"%s" "$@" --dry-run >/dev/null && exec "$0.fake" "$@"\n' "$bin/$lab" >"bin/$lab"
        chmod +x "bin/$lab"
    done
    printf '#!/bin/bash\nexec "%s" "$@" --ranks 2 --batch-size 8 --input-dim 64 --hidden-dim 64 --num-classes 10\n' \
        "$bin/01_straggler" >bin/01_straggler
    before=$(left_behind)
    run --rounds 1 --torch ./beside
    expect "rows of real labs" "$(wanted_names)" "$(rows | cut -d, -f1)"
    rows | awk -F, 'NR < 3 && !($2 > 40 && $2 < 10000) { exit 1 }' || complain "a sleep of 40 ms took: $(rows | head -n 2)"
    expect "folders left behind" "$before" "$(left_behind)"
}

# --- PyTorch itself -------------------------------------------------------------------------------------------------------

readonly python=/usr/bin/python3

ranks_of() # PID: print its child processes
{
    cat "/proc/$1/task/$1/children"
}

processor_ticks() # PID...: print the sum of user and system CPU ticks
{
    local pid
    for pid; do cut -d' ' -f14,15 "/proc/$pid/stat"; done | awk '{ n += $1 + $2 } END { print n }'
}

all_gone() # PID...: true if all end within 5 seconds
{
    local i
    for ((i = 0; i < 50; i++)); do
        kill -0 "$@" 2>/dev/null || return 0
        sleep 0.1
    done
    return 1
}

test_answers()
{
    said=$("$python" "$script" --steps 2 --skip-first-steps 1 --tell <<<"$questions"$'\nresnet' 2>told)
    expect "answers" "$(awk -F, '{ print $0 (/^05/ ? ",412960" : ",3124200") }' <<<"$questions")" \
        "$(sed -n '2,13s/,[0-9.]*$//p' <<<"$said")"
    says "ready PyTorch "
    says "absent 'resnet' is no question"
    awk -F, '/^0/ && !($4 > 0.5) { exit 1 }' <<<"$said" || complain "a time that is none"
    # Nearly untrained: losses of about ln 1000 and ln 16.
    awk -F'loss ' '/^0/ { most = /^05/ ? 4 : 8; for (i = 2; i <= NF; i++) n += $i + 0 > 1.5 && $i + 0 < most }
        END { exit n != 8 * 4 + 2 * 2 + 2 * 1 }' told || complain "losses: $(<told)"
}

# Train on the same twelve batches repeatedly: the loss must fall below that of guessing, ln 10 = 2.3.
test_learning()
{
    local loss
    loss=$("$python" "$script" --input-dim 64 --hidden-dim 64 --num-classes 10 --tell --steps 300 <<<04_small_work,weak_ws2 2>&1 |
        sed -n 's/.*loss //p')
    awk "BEGIN { exit !($loss < 2.1) }" || complain "its loss is $loss"
}

# Ranks sleep between questions, a dead rank is named, and all ranks end with their parent process.
test_processes()
{
    local pids ticks job
    coproc "$python" "$script" --steps 3 2>/dev/null
    job=$COPROC_PID # the shell unsets COPROC_PID when the process ends
    read -r -t 60 said <&"${COPROC[0]}"
    says "ready"
    echo 05_token_skew,fixed_sample_ws4 >&"${COPROC[1]}"
    read -r -t 60 said <&"${COPROC[0]}"
    read -r -a pids <<<"$(ranks_of "$job")"
    ((${#pids[@]} == 4)) || complain "${#pids[@]} ranks"
    ticks=$(processor_ticks "${pids[@]}")
    sleep 1
    (($(processor_ticks "${pids[@]}") == ticks)) || complain "its ranks do not sleep"
    kill -KILL "${pids[2]}"
    echo 05_token_skew,fixed_sample_ws4 >&"${COPROC[1]}"
    read -r -t 60 said <&"${COPROC[0]}"
    expect "a dead rank" "absent rank 2 died" "$said"
    all_gone "${pids[@]}" || complain "ranks outlived it"
    wait "$job"

    coproc "$python" "$script" --steps 1000000 2>/dev/null
    job=$COPROC_PID
    disown "$job" # otherwise bash reports that it was killed
    read -r -t 60 said <&"${COPROC[0]}"
    read -r -a pids <<<"$(ranks_of "$job")"
    echo 05_token_skew,fixed_sample_ws4 >&"${COPROC[1]}"
    sleep 0.5
    kill -KILL "$job"
    all_gone "${pids[@]}" || complain "ranks outlived whom they belong to"
}

rm -rf "$folder"
mkdir -p "$folder/bin"
cd "$folder" || exit 1
if [[ $3 == torch ]]; then
    if ! "$python" -c 'import torch.distributed as d; raise SystemExit(not d.is_available())' 2>why; then
        echo "bench_labs_test: skipped, $python has no torch.distributed: $(tail -n 1 why)"
        exit 77
    fi
    test_answers
    test_learning
    test_processes
else
    cp "$bin/bench" bin/
    for lab in "${labs[@]}"; do fake_lab "$lab"; done
    test_beside
    test_without
    test_broken
    test_real
fi
((failed)) || echo "The labs meet PyTorch as they should."
exit "$failed"
