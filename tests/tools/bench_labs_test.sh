#!/usr/bin/env bash
# usage: bench_labs_test.sh BIN FOLDER stand_in|torch: test the parts `labs` and `ddp` of bench, which is in BIN with the labs, with
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
support=$(realpath "$(dirname "$0")/../support/bench_table.sh")
folder=$(realpath -m "$2")

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

readonly means="12 cases
10 cases without a sleep
2 cases of 1 rank
2 cases of 2 ranks
8 cases of 4 ranks
6 cases of 4 ranks without a sleep"

# Create a fake lab with the options of a real one. Its steps take 50 ms. The file `disturb`, if there, is part of it.
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
ms=50
[[ ! -e disturb ]] || . ./disturb
mkdir -p "\$out/$1" && printf 'case,slowest_step_ms\nbaseline,1\n%s,%s\n' "\$case" "\$ms" >"\$out/$1/summary.csv"
END
    chmod +x "bin/$1"
}

fake_torch() # NAME FIRST-LINE REST: create the script; in REST, `line` is the question, `parameters` the model's parameter count
{
    printf '#!/bin/bash\necho "$*" >arguments\necho "%s"\nkind=${MALLOC_MMAP_MAX_:+kept}\n%s\n%s\n%s\n' "$2" \
        'echo "start ${0##*/} ${kind:-theirs} ${OPENBLAS_CORETYPE-}" >>starts' \
        'while IFS= read -r line; do echo "${kind:-theirs} $line" >>order; parameters=3124200' \
        '[[ $line != 05* ]] || parameters=412960; [[ $line != 09* ]] || parameters=3151872' >"$1"
    printf '%s\ndone\n' "$3" >>"$1"
    chmod +x "$1"
}

run_to() # STATUS ARGUMENT...: run bench without the system's PyTorch, check its exit status; set `said` to its output
{
    rm -rf results order arguments starts
    exits "$1" timeout $((100 * patience)) bin/bench --part labs --out results --system none --root quiet "${@:2}"
}

run() # ARGUMENT...
{
    run_to 0 "$@"
}

rows() # print the table without its column names
{
    [[ ! -e results/bench.csv ]] || sed '/^#/d; s/"//g; s/, /; /g' results/bench.csv | tail -n +2
}

wanted_names() # NAME...: print the expected names of the rows, beside PyTorch programs that call themselves so
{
    local question name mean
    for question in $questions; do
        for name; do
            printf '%s (%s) against %s; ms\n%s (%s) against %s; tuned; ms\n' "${question#*,}" "${question%,*}" "$name" \
                "${question#*,}" "${question%,*}" "$name"
        done
    done
    while read -r mean; do
        for name; do
            printf 'geometric mean of %s against %s; ms\ngeometric mean of %s against %s; tuned; ms\n' "$mean" "$name" "$mean" "$name"
        done
    done <<<"$means"
}

test_beside()
{
    local question wanted=
    fake_torch beside "ready a fake, its BLAS, gloo" 'echo "$line,$parameters,100"'
    run --rounds 2 --torch ./beside --run 20261123-a
    says "beside a fake"
    expect "run" "20261123-a" "$(column results/bench.csv run | sort -u)"
    expect "rows" "$(wanted_names "a fake")" "$(rows | cut -d, -f1)"
    is_one_run results/bench.csv
    expect "of the cases" ",50,100,0.5,0.5,0.5,1,yes" "$(rows | head -n 24 | cut -d, -f2-8 | sed 's/^/,/' | sort -u)"
    rows | tail -n 12 | awk -F, '{ for (i = 2; i < 4; i++) { x = $i / (i == 2 ? 50 : 100) - 1; if (x * x > 1e-12) exit 1 }
        if ($7 != (NR <= 2 ? "0.5" : "")) exit 1 }' || complain "not the mean: $(rows | tail -n 12)"
    grep -qx '# torch: a fake, its BLAS' results/bench.csv || complain "the table does not name PyTorch"
    grep -q '^# torch: a fake, its BLAS, .*pages kept$' results/bench.csv || complain "the table does not name the tuned PyTorch"
    expect "its arguments" "$script" "$(<arguments)"
    for question in $questions; do
        wanted+="ours ${question%,*}"$'\n'"theirs $question"$'\n'"kept $question"$'\n'
    done
    for question in $questions; do
        wanted+="kept $question"$'\n'"theirs $question"$'\n'"ours ${question%,*}"$'\n'
    done
    expect "turns" "${wanted%$'\n'}" "$(<order)"
}

# PyTorch's times of a case depend on its ranks and its sleep: 40 ms for 1 rank, 80 for 2, 160 for 4, 320 with a sleep.
test_means()
{
    fake_torch uneven "ready uneven, no BLAS" 'at=160
        case $line in *ws1) at=40 ;; *ws2) at=80 ;; *skew_ws4 | *barrier*) at=320 ;; esac
        echo "$line,$parameters,$at"'
    run --rounds 3 --torch ./uneven
    # Exponents of 2 above 40 ms: (2 x 0 + 2 x 1 + 6 x 2 + 2 x 3) / 12 = 20/12; (2 + 12) / 10; 0; 1; (12 + 6) / 8; 2.
    expect "means" "126.99 105.56 40.00 80.00 190.27 160.00" \
        "$(rows | grep '^geometric.*uneven; ms' | awk -F, '{ printf "%s%.2f", gap, $3; gap = " " }')"
}

# Without --rounds every pair has twelve starts, each of new processes.
test_twelve()
{
    OPENBLAS_CORETYPE=Haswell run --torch ./beside
    expect "starts" 12 "$(column results/bench.csv starts | sort -u)"
    expect "starts of PyTorch" "12 start beside kept "$'\n'"12 start beside theirs " "$(sort starts | uniq -c | sed 's/^ *//')"
    expect "starts of labs" "$(for question in $questions; do echo "ours ${question%,*}"; done | sort | uniq -c | awk '{ print 12 * $1, $3 }')" \
        "$(grep '^ours' order | sort | uniq -c | awk '{ print $1, $3 }')"
}

# The share that others take of a start decides whether it is repeated; its time does not.
test_guard()
{
    local times
    guarded() # STARTS LINES: run with `disturb`; check the column of one case, of the others, of the means, and the case's runs
    {
        quiet_machine noisy
        rm -f count
        printf '%s\n' 'if [[ $case == comm_ws4 ]]; then echo >>count; count=$(wc -l <count)' "$2" 'fi' >disturb
        run --rounds 3 --torch ./beside --root noisy
        rm disturb
        expect "runs of the case" "$1" "$(grep -c "^ours 03_comm_bound" order)"
        expect "runs of another case" 3 "$(grep -c "^ours 02_rank0_host" order)"
        times=$(rows | grep "^comm_ws4.*fake; ms" | cut -d, -f2)
    }
    disturbed() # WHAT: print the column `disturbed` of these rows
    {
        paste -d '|' <(column results/bench.csv what) <(column results/bench.csv disturbed) | grep "^[^|]*$1" | sed 's/.*|//' | sort -u | tr '\n' ' '
    }
    local tell="source '$support'; machine noisy"
    # Always: twice repeated, and still disturbed.
    guarded 9 "$tell \$((100000 * count)) 0 0"
    expect "disturbed" "3 ; 0 ; 3 ; 0 " "$(disturbed comm_ws4); $(disturbed weak_ws); $(disturbed '8 cases'); $(disturbed 'mean of 2 cases')"
    says "(3 of 3 disturbed)"
    # Once: the repeated start counts, whose time is another one.
    guarded 4 "((count != 2)) || { $tell 100000 0 0; ms=900; }"
    expect "disturbed once" "0 50" "$(disturbed comm_ws4)$times"
    # A slow start without a disturbance stays.
    guarded 3 "ms=900"
    expect "slow" "0 900" "$(disturbed comm_ws4)$times"
    # Others computed all the time, but only on CPUs that were free; then the ranks waited for them.
    guarded 3 "$tell 0 \$((100000 * count)) 0"
    expect "load elsewhere" "0 " "$(disturbed comm_ws4)"
    guarded 9 "$tell 0 \$((100000 * count)) \$((100000 * count))"
    expect "load here" "3 " "$(disturbed comm_ws4)"
    # Ranks that wait for each other take nothing from each other's program.
    guarded 3 "$tell 0 0 \$((100000 * count))"
    expect "its own load" "0 " "$(disturbed comm_ws4)"
    # CPU seconds that PyTorch reports are not those of others.
    fake_torch busy "ready a fake, its BLAS" 'echo "$line,$parameters,100,1e9"'
    mv beside kept && mv busy beside
    guarded 3 "$tell 0 \$((100000 * count)) \$((100000 * count))"
    expect "the load of PyTorch" "0 " "$(disturbed comm_ws4)"
    mv kept beside
}

# The system's PyTorch and another one: both take part, plain and tuned, and each row names version and BLAS.
test_two()
{
    local wanted
    fake_torch system "ready PyTorch 1.13.1, OpenBLAS 0.3.21 Zen, gloo" 'echo "$line,$parameters,100"'
    fake_torch wheel "ready PyTorch 2.15.0, MKL 2024.2 (its own kernel), gloo" 'echo "$line,$parameters,80"'
    OPENBLAS_CORETYPE=Haswell run --rounds 1 --system ./system --torch ./wheel
    expect "rows of two" "$(wanted_names "PyTorch 1.13.1" "PyTorch 2.15.0")" "$(rows | cut -d, -f1)"
    expect "environments" "$(printf 'start %s\n' "system theirs " "system kept Haswell" "wheel theirs " "wheel kept " | sort)" "$(sort starts)" # they start at once
    wanted="PyTorch 1.13.1, OpenBLAS 0.3.21 Zen
PyTorch 1.13.1, OpenBLAS 0.3.21 Zen, OPENBLAS_CORETYPE=Haswell, pages kept
PyTorch 2.15.0, MKL 2024.2 (its own kernel)
PyTorch 2.15.0, MKL 2024.2 (its own kernel), pages kept"
    expect "what is beside" "$wanted" "$(column results/bench.csv beside | sort -u)"
    says "PyTorch 1.13.1, OpenBLAS 0.3.21 Zen, gloo, tuned: our kernel, pages kept"
    says "PyTorch 2.15.0, MKL 2024.2 (its own kernel), gloo, tuned: pages kept"
    expect "what the head names" "$wanted" "$(sed -n 's/^# torch: //p' results/bench.csv)"
    OPENBLAS_CORETYPE=Haswell run --rounds 1 --system ./system --torch ./system
    says "./system has the same PyTorch as ./system, which takes part once"
    expect "rows of one" "$(wanted_names "PyTorch 1.13.1")" "$(rows | cut -d, -f1)"
    run --rounds 1 --system ./system --torch ./nowhere
    says "./nowhere: "
    expect "rows of the system's alone" "$(wanted_names "PyTorch 1.13.1")" "$(rows | cut -d, -f1)"
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

# A failure costs its start; rows of other starts and labs are kept.
test_broken()
{
    fake_torch smaller "ready smaller" 'echo "$line,$((parameters - (parameters == 3124200))),100"'
    run --rounds 1 --torch ./smaller
    says "skew_ws4, start 1 of 1: smaller stopped: its model has 3124199 parameters for 01_straggler,skew_ws4, but ours 3124200"
    says "skew_ws4, start 1 of 1: smaller, tuned stopped"
    expect "rows of the others" "$(wanted_names smaller | sed -n 17,24p)" "$(rows | cut -d, -f1)"

    # Each process dies in its sixth window, so cases 6 and 12 of a start fail, and their means.
    fake_torch mortal "ready mortal" '((++count < 6)) || exit; echo "$line,$parameters,100"'
    run --rounds 2 --torch ./mortal
    expect "rows beside the mortal" "$(wanted_names mortal | grep -v '^weak_ws2\|^variable_token\|^geo' && wanted_names mortal | grep ' 1 rank ')" \
        "$(rows | cut -d, -f1)"
    expect "its deaths" 8 "$(grep -c 'start [12] of 2.* stopped: it ended without a message' <<<"$said")"

    # This one does not start again after it has died.
    fake_torch once "ready once" '((++count < 3)) || exit; echo "$line,$parameters,100"'
    sed -i '2i [[ ! -e "once${MALLOC_MMAP_MAX_-}" ]] || { echo "absent for good"; exit; }; : >"once${MALLOC_MMAP_MAX_-}"' once
    cp once twice # keep the script under another name than its marker files
    sed -i 's/"once\$/"dead$/g' twice
    run --rounds 1 --torch ./twice
    expect "rows before it died" "$(wanted_names once | head -n 4)" "$(rows | cut -d, -f1)"
    expect "why it is gone" 2 "$(grep -c 'weak_ws4, start 1 of 1.* stopped: for good' <<<"$said")"

    printf '#!/bin/bash\necho something\necho boom >&2\nexit 3\n' >bin/02_rank0_host
    run_to 1 --rounds 1 --torch ./beside
    says "barrier_ws4, start 1 of 1: our lab ended with status 3: boom"
    expect "rows of the other labs" "$(wanted_names "a fake" | sed '3,4d' | grep -v '12 cases\|8 cases')" "$(rows | cut -d, -f1)"
    fake_lab 02_rank0_host
}

# Lab 09 beside DDP with buckets of the same sizes: on two ranks, whatever the lab's usual number is. The real lab must accept the options.
test_ddp()
{
    fake_lab 09_ddp_inside
    mv bin/09_ddp_inside bin/09_ddp_inside.fake
    printf '#!/bin/bash\n[[ " $* " == *" --ranks=2 "* ]] && "%s" "$@" --dry-run >/dev/null && exec "$0.fake" "$@"\n' "$bin/09_ddp_inside" \
        >bin/09_ddp_inside
    chmod +x bin/09_ddp_inside
    rm -rf results order arguments starts
    exits 0 timeout $((100 * patience)) bin/bench --part ddp --out results --system none --root quiet --rounds 2 --torch ./beside
    expect "rows of buckets" "$(for case in one_bucket small_buckets ddp_default best_bucket; do
        printf '%s (09_ddp_inside) against a fake%s; ms\n' "$case" "" "$case" "; tuned"
    done)
geometric mean of 4 cases of buckets against a fake; ms
geometric mean of 4 cases of buckets against a fake; tuned; ms" "$(rows | cut -d, -f1)"
    expect "goals of buckets" "1,yes" "$(rows | cut -d, -f7,8 | sort -u)"
    is_one_run results/bench.csv
}

left_behind() # print folders of the jobs whose process ids the lab below wrote down; other tests run jobs too, and kill some
{
    local pid
    while read -r pid; do
        compgen -G "/dev/shm/lockstep-$pid.*" || compgen -G "/tmp/lockstep-$pid.*"
    done <started_jobs || true
}

# Real labs must accept the options (--dry-run). One of them runs at toy size, and bench reads its table.
test_real()
{
    local lab
    for lab in "${labs[@]}"; do
        mv "bin/$lab" "bin/$lab.fake"
        printf '#!/bin/bash\n"%s" "$@" --dry-run >/dev/null && exec "$0.fake" "$@"\n' "$bin/$lab" >"bin/$lab"
        chmod +x "bin/$lab"
    done
    printf '#!/bin/bash\necho $$ >>"%s/started_jobs"\nexec "%s" "$@" --ranks 2 --batch-size 8 --input-dim 64 --hidden-dim 64 --num-classes 10\n' \
        "$PWD" "$bin/01_straggler" >bin/01_straggler
    run --rounds 1 --torch ./beside
    expect "rows of real labs" "$(wanted_names "a fake")" "$(rows | cut -d, -f1)"
    rows | awk -F, 'NR < 3 && !($2 > 40 && $2 < 10000) { exit 1 }' || complain "a sleep of 40 ms took: $(rows | head -n 2)"
    [[ -s started_jobs ]] || complain "no job was started"
    expect "folders left behind" "" "$(left_behind)"
}

# --- PyTorch itself -------------------------------------------------------------------------------------------------------

readonly python=${LOCKSTEP_TORCH_PYTHON:-/usr/bin/python3}

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
    local asked="$questions"$'\n09_ddp_inside,one_bucket\n09_ddp_inside,small_buckets\n09_ddp_inside,ddp_default\n09_ddp_inside,best_bucket'
    said=$("$python" "$script" --steps 2 --skip-first-steps 1 --tell <<<"$asked"$'\nresnet' 2>losses)
    expect "answers" "$(awk -F, '{ print $0 (/^05/ ? ",412960" : /^09/ ? ",3151872" : ",3124200") }' <<<"$asked")" \
        "$(sed -n '2,17s/,[0-9.]*,[0-9.]*$//p' <<<"$said")"
    says "ready PyTorch "
    says "absent 'resnet' is no question"
    awk -F, '/^0/ && !($4 > 0.5 && $5 > 0) { exit 1 }' <<<"$said" || complain "a time that is none, or no CPU seconds"
    [[ $said =~ ^ready\ PyTorch\ [^,]+,\ (MKL\ [0-9.]+\ \(its\ own\ kernel\)|OpenBLAS\ [0-9.]+\ [A-Za-z0-9]+|another\ BLAS),\ gloo ]] ||
        complain "it does not name its BLAS"
    # Nearly untrained: losses of about ln 1000 and ln 16.
    awk -F'loss ' '/^0/ { most = /^05/ ? 4 : 8; for (i = 2; i <= NF; i++) n += $i + 0 > 1.5 && $i + 0 < most }
        END { exit n != 8 * 4 + (2 + 4) * 2 + 2 * 1 }' losses || complain "losses: $(<losses)"
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

work_in "$folder"
mkdir bin
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
    quiet_machine quiet
    for lab in "${labs[@]}"; do fake_lab "$lab"; done
    test_beside
    test_means
    test_twelve
    test_guard
    test_two
    test_without
    test_broken
    test_ddp
    test_real
fi
((failed)) || echo "The labs meet PyTorch as they should."
exit "$failed"
