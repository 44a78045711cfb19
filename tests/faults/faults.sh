# What tests of faults share: to be sourced by a script that sets `lab`, `results` (the folder of a run's results, in the words or the
# environment of each of its processes: that is how they are found), `backend` and `supervisor` (the process that was started).
# shellcheck shell=bash disable=SC2154,SC2034

patience=${LOCKSTEP_PATIENCE:-1} # times as long as usual everything may take

now_ms()
{
    echo $((${EPOCHREALTIME/[.,]/} / 1000))
}

children() # PID
{
    cat /proc/"$1"/task/*/children 2>/dev/null
}

processes() # of this run: every process that was told of the folder of results
{
    # (A word of grep's own command line would be found too.)
    grep -lsaFf <(printf '%s\n' "$results") /proc/[0-9]*/cmdline /proc/[0-9]*/environ | cut -d / -f 3 | sort -u
}

end_processes()
{
    local process
    for process in $(processes); do
        kill -KILL "$process" 2>/dev/null
    done
}

whole_files() # what a reader of the results sees, with its contents
{
    # (The machine card is a run's first result: whole, and replaced where the machine has drifted.)
    (cd "$results" && find . -type f ! -name '.*.tmp' ! -name machine.csv -exec sha256sum {} + | sort -k 2)
}

half_files()
{
    find "$results" -name '.*.tmp'
}

shared_memory() # of the run: a folder of its supervisor's
{
    find {/dev/shm,/tmp}/"lockstep-$supervisor".* 2>/dev/null
}

find_ranks() # sets launcher and ranks
{
    launcher=$supervisor
    [[ $backend == foreign ]] || launcher=$(children "$supervisor")
    launcher=${launcher% }
    read -r -a ranks <<<"$(children "$launcher")"
}

ranks_live() # any that was found still runs
{
    local rank
    for rank in "${ranks[@]}"; do
        grep -qs '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$rank/status" && return
    done
    return 1
}

# Open MPI's mpirun may stay for ever when a rank ends while it joins or leaves the others, without having reaped it. One that is
# not ours is then ended here, when its ranks have ended, or after SECONDS.
end_launcher() # SECONDS: sets status
{
    local until=$(($(now_ms) + 1000 * $1))
    while [[ -d /proc/$supervisor ]] && { [[ $backend != foreign ]] || ranks_live; } && (($(now_ms) < until)); do sleep 0.05; done
    for _ in {1..40}; do [[ ! -d /proc/$supervisor ]] || sleep 0.05; done
    kill -KILL "$supervisor" 2>/dev/null
    wait "$supervisor" 2>/dev/null
    status=$?
    for _ in {1..40}; do ! ranks_live || sleep 0.05; done # it may end a little before them
}
