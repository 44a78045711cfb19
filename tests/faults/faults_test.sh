#!/usr/bin/env bash
# usage: faults_test.sh LAB FOLDER mpi|sim|nccl|foreign [LIBRARY]: kill or stop ranks, press Ctrl-C. The lab 01_straggler must
# end in time, print one line, leave no process and no shared memory behind, and keep the results of an earlier run. `foreign`:
# under an mpirun that the lab did not start, also with a library that makes a rank hang at its end (sabotage_end.c). Works in
# FOLDER/faults.
set -uo pipefail

lab=$(realpath "$1")
folder=$(realpath "$2")/faults
backend=$3
# shellcheck source=tests/faults/faults.sh
source "$(dirname "$0")/faults.sh"
results=$folder/results # in the command line or environment of every process of a run, which is found by it
summary=$results/01_straggler/summary.csv processes_of_ranks=3
if [[ $backend == sim ]]; then # all simulated ranks live in one process
    summary=$results/platforms/dedicated-cores/01_straggler/summary.csv processes_of_ranks=1
fi
# For real ranks the flight recorder reports which rank is missing, and where the others wait.
gone='rank 2 \(process [0-9]+\) is gone' first_gone='rank 0 \(process [0-9]+\) is gone' absent='rank 2 \(process [0-9]+\) is stopped'
[[ $backend != sim ]] || gone='' first_gone='' absent=''
deadline=$((7 * patience)) short_deadline=$((5 * patience)) # seconds while ranks train, and before they have joined
late="$deadline s.*$absent.*--deadline-s" died='signal 9'
# Faults strike in the first steps of the first case, so one more case is enough for a whole run.
job=(--backend "${backend/foreign/mpi}" --batch-size 8 --input-dim 64 --hidden-dim 64 --num-classes 10 --cases skew_ws4 --out "$results")
run=("$lab" --ranks 3 "${job[@]}") killed_status=1
if [[ $backend == foreign ]]; then # mpirun prints lines of its own, and its exit status is that of the killed rank
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 RES_OPTIONS='timeout:1 attempts:1' OPENBLAS_NUM_THREADS=1
    run=(mpirun --oversubscribe --bind-to none -np 3 "$lab" "${job[@]}") killed_status=137 died=''
fi
# A rank that waits for a GPU watches the other ranks and gives up in half the time.
[[ $backend != nccl ]] || late="(gives up: no progress for [0-9.]* s|$deadline s).*$absent" died='(has died|signal 9)'
failed=0

complain() # TEXT: report a failed check of the current fault
{
    printf 'FAILED %s: %s\n' "$fault" "$1"
    failed=1
}

trap end_processes EXIT

launch() # ARGUMENT...: start a long run
{
    : >"$folder/err" # drop the output of the previous run
    # Background jobs of a script ignore SIGINT by default.
    env --default-signal=INT "${run[@]}" --seconds 30 "$@" </dev/null >"$folder/out" 2>"$folder/err" &
    supervisor=$!
}

# Start a long run and return when its ranks train. Sets `supervisor`, `launcher` and `ranks` to their processes.
start() # ARGUMENT...
{
    launch "$@"
    local began
    began=$(now_ms)
    while ! grep -q 'round 1 of' "$folder/err"; do # the lab may wait for another run on this machine
        if [[ ! -d /proc/$supervisor ]] || (($(now_ms) - began > 600000 * patience)); then
            complain "the run did not start: $(<"$folder/err")"
            end_processes
            return 1
        fi
        sleep 0.05
    done
    find_ranks
    if ((${#ranks[@]} != processes_of_ranks)); then
        complain "${#ranks[@]} ranks below the launcher, not $processes_of_ranks"
        end_processes
        return 1
    fi
    [[ $backend == @(sim|foreign) || $(shared_memory) == *_segment* ]] || complain "shares no memory where it is looked for"
    lines_before=$(wc -l <"$folder/err")
    struck_ms=$(now_ms)
}

# Check that after the fault the supervisor ends with STATUS within SECONDS and prints one line that matches TEXT.
ends() # STATUS SECONDS TEXT
{
    local said status elapsed
    while [[ -d /proc/$supervisor ]] && (($(now_ms) - struck_ms < $2 * 1000 * patience)); do
        sleep 0.05
    done
    elapsed=$(($(now_ms) - struck_ms))
    if [[ -d /proc/$supervisor ]]; then
        complain "no end after $2 s"
        kill -KILL "$supervisor"
    fi
    wait "$supervisor"
    status=$?
    # Drop lines of progress. Under a foreign launcher, also drop the launcher's lines.
    said=$(tail -n +$((lines_before + 1)) "$folder/err" | tr -d '\0' | grep -av ': round [0-9]')
    [[ $backend != foreign ]] || said=$(grep -a "^$(basename "$lab"): " <<<"$said")
    printf '%-24s %5d ms, status %d: %s\n' "$fault" "$elapsed" "$status" "$said"
    ((status == $1)) || complain "status $status, not $1"
    (($(grep -c . <<<"$said") == 1)) || complain "not one line"
    [[ $said =~ $3 ]] || complain "does not say '$3'"
}

nothing_is_left()
{
    local left
    left=$(processes)
    if [[ $left ]]; then
        complain "processes left behind: $(ps -o pid,stat,args -p "${left//$'\n'/,}" 2>/dev/null || echo "$left")"
        end_processes
    fi
    [[ ! $(shared_memory) ]] || complain "shared memory left behind: $(shared_memory)"
    [[ $(whole_files) == "$earlier" ]] ||
        complain "the earlier results were changed: $(diff <(echo "$earlier") <(whole_files))"
}

no_half_file_is_left()
{
    local half
    half=$(half_files)
    [[ ! $half ]] || complain "half files left behind: $half"
    find "$results" -name '.*.tmp' -delete # so that later faults are judged separately
}

rm -rf "$folder"
mkdir -p "$folder"

fault="an earlier run"
"${run[@]}" --rounds 1 </dev/null >"$folder/out" 2>"$folder/err"
status=$?
((status != 77)) || { cat "$folder/err"; exit 77; }
((status == 0)) || complain "status $status: $(<"$folder/err")"
[[ -s $summary ]] || complain "no summary.csv"
earlier=$(whole_files)
no_half_file_is_left
((failed)) && exit 1

fault="a rank is killed"
if start; then
    kill -KILL "${ranks[-1]}"
    ends "$killed_status" 10 "$died.*$gone"
    nothing_is_left
    no_half_file_is_left
fi

fault="the first rank is killed" # rank 0 writes the results
if start; then
    kill -KILL "${ranks[0]}"
    ends "$killed_status" 10 "$died.*$first_gone"
    nothing_is_left
    no_half_file_is_left
fi

fault="a rank hangs" # past the run's time: mpirun wakes the rank a second before it ends it, but the run must not write results then
if start --deadline-s $deadline --seconds $((5 * patience)); then
    kill -STOP "${ranks[-1]}"
    ends 1 22 "$late"
    nothing_is_left
    no_half_file_is_left
fi

if [[ $backend == @(mpi|foreign) ]]; then
    fault="a rank hangs before it joins"
    launch --deadline-s $short_deadline
    began=$(now_ms)
    until find_ranks && ((${#ranks[@]} == processes_of_ranks)) || (($(now_ms) - began > 600000 * patience)); do :; done
    kill -STOP "${ranks[1]}"
    lines_before=0 struck_ms=$(now_ms)
    end_launcher $((60 * patience))
    printf '%-24s %5d ms, status %d\n' "$fault" $(($(now_ms) - struck_ms)) "$status"
    [[ $status == 1 || ($backend == foreign && $status == 137) ]] || complain "status $status, not 1"
    ! ranks_live || complain "ranks are still there"
    (($(now_ms) - struck_ms < 60000 * patience)) || complain "no end in time"
    grep -q "$short_deadline s.*--deadline-s" "$folder/err" || complain "does not say so: $(<"$folder/err")"
    nothing_is_left
fi

if [[ $backend == foreign ]]; then
    fault="a rank has no listener" # its standard error is a closed pipe: it must end in the same way
    timeout -k 5 $((60 * patience)) mpirun --oversubscribe --bind-to none -np 3 bash -c 'out=$1 asleep=$2 && shift 2
        ((OMPI_COMM_WORLD_RANK != 1)) || exec sleep "$asleep"
        "$@" 2> >(exec true)
        echo $? >"$out.$OMPI_COMM_WORLD_RANK"
        exit 1' rank "$folder/status" $((3 * short_deadline)) "$lab" "${job[@]}" --deadline-s $short_deadline </dev/null >"$folder/out" 2>"$folder/err"
    [[ "$(cat "$folder"/status.[02] 2>/dev/null)" =~ ^1($'\n'1)?$ ]] || complain "status $(cat "$folder"/status.*), not 1"
    nothing_is_left
fi

if [[ ${4-} && ! ${ASAN_OPTIONS-}${TSAN_OPTIONS-} ]]; then # (a sanitizer's library must be loaded first)
    fault="a rank hangs at the end"
    began=$(now_ms)
    LD_PRELOAD=$(realpath "$4") "${run[@]}" --rounds 1 --deadline-s $short_deadline </dev/null >"$folder/out" 2>"$folder/err" &
    supervisor=$!
    until find_ranks && ((${#ranks[@]} == processes_of_ranks)) || (($(now_ms) - began > 60000 * patience)); do sleep 0.05; done
    end_launcher $((90 * patience))
    ! ranks_live || complain "ranks are still there"
    printf '%-24s %5d ms, status %d: %s\n' "$fault" $(($(now_ms) - began)) "$status" "$(grep 'no heartbeat' "$folder/err")"
    grep -q "no heartbeat for $short_deadline s.*this run's results are whole and in place" "$folder/err" || complain "does not say so: $(<"$folder/err")"
    earlier=$(whole_files)
    nothing_is_left
fi

if [[ $backend == @(nccl|foreign) ]]; then # the rest tests the frame, independent of the engine
    ((failed)) || echo "Every fault ended in time and left nothing behind."
    exit "$failed"
fi

fault="Ctrl-C"
if start; then
    kill -INT "$supervisor"
    ends 130 10 'stopped'
    nothing_is_left
    no_half_file_is_left
fi

fault="the launcher is killed"
if start; then
    kill -KILL "$launcher"
    ends 1 10 'signal 9'
    nothing_is_left
    no_half_file_is_left
fi

fault="the supervisor is killed" # no process is left to report or clean up, but the ranks must end
if start; then
    disown "$supervisor" # otherwise bash reports its death
    kill -KILL "$supervisor"
    while [[ $(processes) ]] && (($(now_ms) - struck_ms < 10000 * patience)); do
        sleep 0.05
    done
    printf '%-24s %5d ms\n' "$fault" $(($(now_ms) - struck_ms))
    killed_supervisor=$supervisor supervisor=none # the next run removes its shared memory
    nothing_is_left
fi

fault="an odd parent" # it ignores SIGCHLD, and leaves a child behind that the lab must not touch
bash -c 'sleep 100 & echo $! >"$1"; shift; exec env --ignore-signal=CHLD "$@"' odd "$folder/stranger" \
    timeout -k 5 $((120 * patience)) "${run[@]}" --rounds 1 </dev/null >"$folder/out" 2>"$folder/err" ||
    complain "status $?: $(<"$folder/err")"
bash -c 'sleep 100 & echo $! >"$1"; shift; exec "$@"' odd "$folder/stranger2" \
    "${run[@]}" --rounds 1 </dev/null >"$folder/out" 2>"$folder/err" || complain "status $?: $(<"$folder/err")"
for stranger in "$folder/stranger" "$folder/stranger2"; do
    kill "$(<"$stranger")" 2>/dev/null || complain "a process that was not ours is gone"
done

fault="a later run" # works in the same folder
"${run[@]}" --rounds 1 </dev/null >"$folder/out" 2>"$folder/err" || complain "status $?: $(<"$folder/err")"

supervisor=$killed_supervisor earlier=$(whole_files)
nothing_is_left

((failed)) || echo "Every fault ended in time and left nothing behind."
exit "$failed"
