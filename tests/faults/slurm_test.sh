#!/usr/bin/env bash
# usage: slurm_test.sh LAB_01 FOLDER: check that srun starts the ranks of a lab. Starts a Slurm of one node on this machine, with
# its own ports, keys and files, and stops it at the end. Works in FOLDER/slurm. Skips (77) with the reason if Slurm is not
# installed or cannot run; installs nothing.
set -uo pipefail

# shellcheck source=tests/support/frame.sh
source "$(dirname "$0")/../support/frame.sh"

lab=$(realpath "$1")
folder=$(realpath -m "$2")/slurm
daemons=()

skip() # TEXT...
{
    printf 'slurm_test: skipped, %s\n' "$*"
    exit 77
}

# shellcheck disable=SC2317 # a trap calls it
tear_down()
{
    local daemon tries
    scancel --quiet --user root 2>/dev/null
    for daemon in "${daemons[@]}"; do
        kill -TERM "$daemon" 2>/dev/null
    done
    for ((tries = 0; tries < 50; tries++)); do
        kill -0 "${daemons[@]}" 2>/dev/null || break
        sleep 0.1
    done
    for daemon in "${daemons[@]}"; do
        kill -KILL "$daemon" 2>/dev/null
    done
    wait
    rm -rf "$place"
}

serve() # COMMAND...: run in the background until the end of this test
{
    "$@" >>"$folder/daemons.log" 2>&1 &
    daemons+=($!)
}

write_configuration()
{
    local name port=$((20000 + $$ % 20000))
    name=$(hostname -s)
    cat >"$SLURM_CONF" <<EOF
ClusterName=lockstep
SlurmctldHost=$name(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$place/munge.sock
SlurmctldPort=$port
SlurmdPort=$((port + 1))
StateSaveLocation=$place/state
SlurmdSpoolDir=$place/spool
SlurmctldPidFile=$place/slurmctld.pid
SlurmdPidFile=$place/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
NodeName=$name NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=10 State=UP
EOF
}

((EUID == 0)) || skip "not root, whose daemons Slurm's are"
[[ ! ${LSAN_OPTIONS-} ]] || skip "a sanitizer takes the leaks of Open MPI's modules for ours where srun starts the ranks"
for program in munged slurmctld slurmd srun; do
    PATH=$PATH:/usr/sbin command -v $program >/dev/null ||
        skip "there is no $program (Debian, Ubuntu: apt-get install slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge)"
done
PATH=$PATH:/usr/sbin
place=$(mktemp -d /tmp/lockstep-slurm.XXXXXX) # paths of sockets must be short
export SLURM_CONF=$place/slurm.conf
trap tear_down EXIT
trap 'exit 1' INT TERM HUP
rm -rf "$folder"
mkdir -p "$folder" "$place/state" "$place/spool"
cd "$folder" || exit 1
chmod 755 "$place"
write_configuration
(umask 077 && head -c 1024 /dev/urandom >"$place/munge.key")
serve munged --foreground --force --key-file="$place/munge.key" --socket="$place/munge.sock" --pid-file="$place/munge.pid" \
    --seed-file="$place/munge.seed" --log-file="$place/munge.log"
for ((tries = 0; tries < 50; tries++)); do
    [[ -S $place/munge.sock ]] && break
    sleep 0.1
done
serve slurmctld -D -c
serve slurmd -D
for ((tries = 0; tries < 100; tries++)); do
    [[ $(timeout 5 sinfo --noheader --format=%T 2>/dev/null) == idle ]] && break
    sleep 0.2
done
((tries < 100)) || skip "Slurm does not start here: $(tail -n 2 daemons.log | tr '\n' ' ')"
srun --mpi=list 2>&1 | grep -qw pmix || skip "this srun has no --mpi=pmix (Debian, Ubuntu: slurm-wlm-basic-plugins)"

export OPENBLAS_NUM_THREADS=1
toy=(--batch-size 8 --input-dim 64 --hidden-dim 64 --num-classes 10 --quick --cases skew_ws4 --sleep-ms 20)

tasks() # SRUN_OPTION... -- LAB_OPTION...: run two tasks; set `status`, write output to files out and err
{
    local options=()
    while [[ $1 != -- ]]; do
        options+=("$1")
        shift
    done
    shift
    timeout 120 srun --quiet --overcommit -n 2 "${options[@]}" "$lab" "${toy[@]}" "$@" </dev/null >out 2>err
    status=$?
}

# Check for exit status 2 and one line of the lab; srun adds lines of its own.
refused() # NAME TEXT
{
    printf '%-24s status %d: %s\n' "$1" "$status" "$(grep -v '^srun: ' err)"
    ((status == 2)) || complain "$1" "status $status, not 2"
    (($(grep -vc '^srun: ' err) == 1)) || complain "$1" "not one line"
    grep -qF -- "01_straggler: $2" err || complain "$1" "does not say '$2'"
    [[ ! -e refused ]] || complain "$1" "made a folder for results"
}

tasks --mpi=pmix -- --slow-rank 1 --rounds 6 --out results # of two ranks, one stands out in six rounds
((status == 0)) || complain "two ranks" "status $status: $(tail -n 3 err)"
awk -F, "$by_column"'
    {
        rows++
        print $at["case"] ": " $at["ranks"] " ranks, a step of " $at["slowest_step_ms"] " ms, blamed: " $at["blamed_rank"]
        if ($at["ranks"] != 2 || $at["wrong"] "" != "0" || $at["slowest_step_ms"] > 5000) bad = 1
        if ($at["case"] == "skew_ws4" && ($at["blamed_rank"] "" != "1" || $at["slowest_step_ms"] < 20)) bad = 1
    }
    END { exit bad || rows != 2 }' results/01_straggler/summary.csv || complain "two ranks" "other rows than expected"

tasks --mpi=none -- --out refused
refused "tasks by themselves" "srun started 2 tasks that do not see each other; use srun --mpi=pmix"
tasks --mpi=pmix -- --ranks 3 --out refused
refused "--ranks that contradicts" "--ranks 3, but the launcher started 2; leave out --ranks or start as many"

((failed)) || echo "slurm_test: all right, with $(srun --version)"
exit $failed
