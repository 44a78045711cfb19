# faults.sh: functions for tests of faults. The script that sources this file sets `lab`, `backend`, `supervisor` (the process it
# started) and `results`. The folder $results must be in the command line or environment of each process of a run, since
# processes() finds them by it.
# shellcheck shell=bash disable=SC2154,SC2034

patience=${LOCKSTEP_PATIENCE:-1} # factor on all time limits

now_ms()
{
    echo $((${EPOCHREALTIME/[.,]/} / 1000))
}

children() # PID
{
    cat /proc/"$1"/task/*/children 2>/dev/null
}

processes() # print the ids of all processes of this run: those that mention the folder of results
{
    # (A pattern in grep's own command line would match grep itself.)
    grep -lsaFf <(printf '%s\n' "$results") /proc/[0-9]*/cmdline /proc/[0-9]*/environ | cut -d / -f 3 | sort -u
}

end_processes()
{
    local process
    for process in $(processes); do
        kill -KILL "$process" 2>/dev/null
    done
}

whole_files() # print names and checksums of all visible results
{
    # (Without the machine card: a run replaces it if the machine has drifted.)
    (cd "$results" && find . -type f ! -name '.*.tmp' ! -name machine.csv -exec sha256sum {} + | sort -k 2)
}

half_files() # print temporary files
{
    find "$results" -name '.*.tmp'
}

shared_memory() # print the supervisor's folder of shared memory
{
    find {/dev/shm,/tmp}/"lockstep-$supervisor".* 2>/dev/null
}

find_ranks() # set `launcher` and `ranks`
{
    launcher=$supervisor
    [[ $backend == foreign ]] || launcher=$(children "$supervisor")
    launcher=${launcher% }
    read -r -a ranks <<<"$(children "$launcher")"
}

ranks_live() # true if any rank of find_ranks still runs
{
    local rank
    for rank in "${ranks[@]}"; do
        grep -qs '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$rank/status" && return
    done
    return 1
}

# Open MPI's mpirun may hang without reaping a rank that ends while it joins or leaves the others. End such an mpirun if it was
# not started by the lab, after its ranks have ended or after SECONDS.
end_launcher() # SECONDS: set `status`
{
    local until=$(($(now_ms) + 1000 * $1))
    while [[ -d /proc/$supervisor ]] && { [[ $backend != foreign ]] || ranks_live; } && (($(now_ms) < until)); do sleep 0.05; done
    for _ in {1..40}; do [[ ! -d /proc/$supervisor ]] || sleep 0.05; done
    kill -KILL "$supervisor" 2>/dev/null
    wait "$supervisor" 2>/dev/null
    status=$?
    for _ in {1..40}; do ! ranks_live || sleep 0.05; done # the launcher may end shortly before its ranks
}
