# What tests of faults share: to be sourced by a script that sets `lab`, `results` (the folder of a run's results, in the words or the
# environment of each of its processes: that is how they are found), `backend` and `supervisor` (the process that was started).
# shellcheck shell=bash disable=SC2154,SC2034

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
