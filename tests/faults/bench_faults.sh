#!/usr/bin/env bash
# How hard is it to break? usage: bench_faults.sh BUILD FOLDER [NAME=COUNT]...
#
# Run labs, inject faults many times at random moments, and count failures. Writes a row per kind of fault to
# FOLDER/bench_faults.csv. Exit status 1 if any count of failures is not 0.
#     kill=200      kill a random rank (kill -9) at a random moment; every fourth run under an mpirun that the lab did not start
#     stop=50       stop a random rank (SIGSTOP) for good, in the same way
#     disk=50       fill the disk after a random number of bytes
#     words=100000  command lines of random words
#     readers=60    seconds of fuzzing for each reader of files
#     slurm=1       test a Slurm of one node
#     soak=1800     seconds of a run of two ranks whose memory is watched
set -uo pipefail

declare -A count=([kill]=200 [stop]=50 [disk]=50 [words]=100000 [readers]=60 [slurm]=1 [soak]=1800)
readonly order=(kill stop disk words readers slurm soak) seed=2025
readonly deadline=6 grace=10 # seconds: --deadline-s of the runs, and the extra time until all processes have ended

(($# >= 2)) || { sed -n '2s/^# //p' "$0"; exit 2; }
build=$(realpath "$1")
mkdir -p "$2" || exit 2
folder=$(realpath "$2")
shift 2
if (($# > 0)); then # run only the named ones
    for name in "${order[@]}"; do count[$name]=0; done
fi
for word in "$@"; do
    [[ $word =~ ^([a-z]+)=([0-9]{1,9})$ && -n ${count[${BASH_REMATCH[1]}]-} ]] ||
        { printf "bench_faults.sh: '%s' is not one of %s, each with =COUNT\n" "$word" "${order[*]}" >&2; exit 2; }
    count[${BASH_REMATCH[1]}]=$((10#${BASH_REMATCH[2]}))
done

tests=$(realpath "$(dirname "$0")")
lab=$build/bin/01_straggler
work=$folder/bench_faults
results=$work/results
table=$folder/bench_faults.csv
backend=mpi supervisor=none
bad=0
RANDOM=$seed
# shellcheck source=tests/faults/faults.sh disable=SC1091
source "$tests/faults.sh"
trap end_processes EXIT
trap 'exit 130' INT TERM

row() # WHAT TRIED FAILED WORST_S WORDS
{
    printf '"%s",%s,%s,%s,"%s"\n' "$1" "$2" "$3" "$4" "${5//\"/\"\"}" >>"$table"
    printf '%-44s %7s tried, %s failed%s%s\n' "$1" "$2" "${3:-?}" "${4:+, the longest took $4 s}" "${5:+: $5}"
    [[ $3 == 0 || $3 == '' ]] || bad=1
}

# --- ranks that die or stop ------------------------------------------------------------------------------------------

job=(--batch-size 8 --input-dim 64 --hidden-dim 64 --num-classes 10 --cases skew_ws4 --sleep-ms 5 --rounds 8 --deadline-s "$deadline"
    --backend mpi --out "$results")

shape() # print file names, line counts and ends of the results; equal for all whole sets, except the line count of a machine card
{
    (cd "$results" && find . -type f ! -name .lock | sort &&
        for file in 01_straggler/{summary,ranks,rounds,spans}.csv; do grep -c '^[^#]' "$file"; done &&
        for file in 01_straggler/*.csv; do tail -c 1 "$file" | od -An -c; done && tail -c 3 01_straggler/trace.json)
}

begin() # ours|foreign
{
    if [[ $1 == foreign ]]; then
        backend=foreign
        OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 RES_OPTIONS='timeout:1 attempts:1' OPENBLAS_NUM_THREADS=1 \
            mpirun --oversubscribe --bind-to none -np 3 "$lab" "${job[@]}" </dev/null >"$work/out" 2>&1 &
    else
        backend=mpi
        "$lab" --ranks 3 "${job[@]}" </dev/null >"$work/out" 2>&1 &
    fi
    supervisor=$!
}

# Send SIGNAL to a random rank of a run at a random moment. Sets `fate` (words for failures, or "missed") and `took`, ms from the
# signal to the end of the run.
strike() # SIGNAL ours|foreign
{
    local moment=$((RANDOM % span_ms)) began victim status left i
    fate='' took=0 ranks=()
    begin "$2"
    sleep "$((moment / 1000)).$(printf '%03d' $((moment % 1000)))"
    while [[ -d /proc/$supervisor ]] && { find_ranks; ((${#ranks[@]} == 0)); }; do sleep 0.01; done
    ((${#ranks[@]} > 0)) || { fate=missed; return; }
    victim=${ranks[RANDOM % ${#ranks[@]}]}
    kill "-$1" "$victim" 2>/dev/null || { fate=missed; while [[ -d /proc/$supervisor ]]; do sleep 0.02; done; return; }
    began=$(now_ms)
    while [[ -d /proc/$supervisor ]] && (($(now_ms) - began < (deadline + grace) * 1000)); do sleep 0.02; done
    took=$(($(now_ms) - began))
    left=''
    if [[ -d /proc/$supervisor ]]; then
        left=$(ps -o pid,stat,wchan:20,args --ppid "$supervisor" --pid "$supervisor")
        if [[ $2 == foreign && ! $(ps -o stat= --ppid "$supervisor" | grep -v Z) ]]; then
            stuck=$((stuck + 1)) # a bug of Open MPI 4.1.4 if a rank dies while it joins; no rank is left
            kill -KILL "$supervisor"
        else
            fate+='hangs '
        fi
    fi
    if [[ $fate == '' && $1 == STOP && $took -gt $(((deadline + 4) * 1000)) ]]; then fate+='late '; fi
    if [[ $fate == '' ]]; then
        wait "$supervisor"
        status=$?
        [[ $status == 1 || ($2 == foreign && $status != 0) ]] || fate+="status-$status "
    fi
    if [[ $2 == foreign ]]; then # this mpirun may end shortly before its ranks
        for ((i = 0; i < 15; i++)); do [[ $(processes) ]] && sleep 0.2; done
    fi
    if [[ $(processes) ]]; then
        fate+='orphans '
        end_processes
    fi
    [[ $2 == foreign || ! $(shared_memory) ]] || fate+='shared-memory '
    [[ $(shape) == "$whole" ]] || fate+='half-files '
    grep -aqE 'gone|stopped|signal|deadline|ended|exited|aborted' "$work/out" || fate+='silent '
    [[ -z $fate ]] || { echo "$2: $fate" && cat "$work/out" && echo "$left"; } >"$work/$1-$((tried + 1)).txt"
}

strikes() # SIGNAL HOW_MANY WORDS
{
    local tried=0 failed=0 worst=0 stuck=0 were_stuck why=() whose fate took
    while ((tried < $2)); do
        whose=ours were_stuck=$stuck
        ((tried % 4 < 3)) || whose=foreign
        strike "$1" "$whose"
        [[ $fate != missed ]] || continue
        ((stuck > were_stuck)) || worst=$((took > worst ? took : worst))
        tried=$((tried + 1))
        [[ -z $fate ]] || { failed=$((failed + 1)); why+=("$tried: $fate"); }
    done
    ((stuck == 0)) || why+=("(an mpirun that the lab did not start stayed $stuck times after all ranks ended)")
    row "$3" "$tried" "$failed" "$(awk "BEGIN { printf \"%.1f\", $worst / 1000 }")" "${why[*]}"
}

measure_faults()
{
    local began whole span_ms
    ((count[kill] + count[stop] > 0)) || return 0
    "$lab" --ranks 3 "${job[@]}" </dev/null >"$work/out" 2>&1 || { cat "$work/out" >&2; exit 1; }
    began=$(now_ms)
    "$lab" --ranks 3 "${job[@]}" </dev/null >"$work/out" 2>&1
    span_ms=$(($(now_ms) - began))
    whole=$(shape)
    ((count[kill] == 0)) || strikes KILL "${count[kill]}" "kill -9 of a random rank"
    ((count[stop] == 0)) || strikes STOP "${count[stop]}" "SIGSTOP of a random rank, --deadline-s $deadline"
}

# --- faults that other programs test ---------------------------------------------------------------------------------

# Run such a program. Its last line holds the counts, or with exit status 77 the reason why it cannot run here.
ask() # WHAT TRIED COMMAND...
{
    local what=$1 tried=$2 log=$work/log status
    shift 2
    "$@" </dev/null >"$log" 2>&1
    status=$?
    case $status in
    0) row "$what" "$tried" 0 '' "$(tail -n 1 "$log")" ;;
    77) row "$what" 0 '' '' "not here: $(tail -n 1 "$log")" ;;
    *)
        cp "$log" "$work/${what// /-}.txt"
        row "$what" "$tried" 1 '' "status $status: $(tail -n 1 "$log")"
        ;;
    esac
}

# --- memory ----------------------------------------------------------------------------------------------------------

resident_kb() # PID: print resident anonymous memory in kB, without shared memory
{
    awk '/^RssAnon:/ { print $2 }' "/proc/$1/status" 2>/dev/null
}

# Train two ranks for SECONDS and compare their memory late in the run with memory early in the run, after all buffers have been
# touched.
soak() # SECONDS
{
    local log=$work/soak.csv rank kb growth
    # shellcheck disable=SC2034 # faults.sh uses it
    backend=mpi
    "$lab" --ranks 2 --backend mpi --seconds "$1" --cases skew_ws4 --out "$results" </dev/null >"$work/out" 2>&1 &
    supervisor=$!
    echo "seconds,rank,anonymous_kb" >"$log"
    while [[ -d /proc/$supervisor ]]; do
        find_ranks
        for rank in "${!ranks[@]}"; do
            kb=$(resident_kb "${ranks[rank]}")
            [[ -z $kb ]] || echo "$SECONDS,$rank,$kb" >>"$log"
        done
        sleep 5
    done
    wait "$supervisor" || { row "soak" "$1" 1 '' "status $?: $(tail -n 1 "$work/out")"; return; }
    # Growth per rank: median of the last fifth of the samples minus median of the second fifth.
    growth=$(awk -F, 'NR > 1 { n[$2]++; kb[$2, n[$2]] = $3 } function median(r, from, to,   i, j, t, m, v) {
            m = 0; for (i = from; i <= to; i++) v[++m] = kb[r, i]
            for (i = 2; i <= m; i++) for (j = i; j > 1 && v[j - 1] > v[j]; j--) { t = v[j]; v[j] = v[j - 1]; v[j - 1] = t }
            return v[int((m + 1) / 2)] }
        END { for (r in n) { f = int(n[r] / 5); g = median(r, n[r] - f, n[r] - 1) - median(r, f + 1, 2 * f)
            if (f < 1) g = "?"; printf "%srank %s %+d kB of %d", s, r, g, kb[r, f + 1]; s = ", "; if (g > 1024 || f < 1) bad = 1 }
            exit bad }' "$log")
    row "soak: seconds of a run of two ranks" "$1" "$?" '' "$growth"
}

rm -rf "$work"
mkdir -p "$results"
printf 'what,tried,failed,longest_s,words\n' >"$table"
measure_faults
((count[disk] == 0)) || ask "runs on a disk that fills up" "${count[disk]}" "$tests/disk_faults.sh" "$lab" "$work/disk" "${count[disk]}"
programs=()
for program in "$build"/bin/*; do programs+=(--program "$program"); done
((count[words] == 0)) || ask "command lines of random words" "${count[words]}" "$build/tests/fuzz_flags" "${programs[@]}" \
    --count "${count[words]}" --scratch "$work/words"
((count[readers] == 0)) || ask "readers of files, seconds each" "${count[readers]}" "$tests/../fuzz/run.sh" "${count[readers]}"
((count[slurm] == 0)) || ask "a Slurm of one node" 1 "$tests/slurm_test.sh" "$lab" "$work/slurm"
((count[soak] == 0)) || soak "${count[soak]}"
exit "$bad"
