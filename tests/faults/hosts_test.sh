#!/usr/bin/env bash
# usage: hosts_test.sh LAB_01 LAB_01_WITHOUT_CLOCKS LAB_03 FOLDER: check that labs on several hosts give the same results as on
# one. Each host consists of namespaces: its own network behind a switch, name, mounts, and a monotonic clock minutes apart from
# the others. Works in FOLDER/hosts; everything else ends with the processes of this test. Skips (77) with the reason if
# namespaces are not available.
set -uo pipefail

# shellcheck source=tests/support/frame.sh
source "$(dirname "$0")/../support/frame.sh"

straggler=$(realpath "$1") unclocked=$(realpath "$2") comm_bound=$(realpath "$3")
folder=$(realpath -m "$4")/hosts

skip() # TEXT...
{
    printf 'hosts_test: skipped, %s\n' "$*"
    exit 77
}

# --- hosts ------------------------------------------------------------------------------------------------------------

names=(lockstep-a lockstep-b lockstep-c)
ahead=(500 1500 0) # seconds by which a host's clock is ahead of this machine's; relative to the first host 1000 and -500
holders=()         # sleeping processes that keep the namespaces alive: first the switch's, then the hosts'

# shellcheck disable=SC2317 # a trap calls it
residents() # print the ids of all processes in the network namespaces of the holders
{
    local holder process network ours
    ours=$(readlink /proc/self/ns/net)
    for holder in "${holders[@]}"; do
        network=$(readlink "/proc/$holder/ns/net" 2>/dev/null)
        [[ -n $network && $network != "$ours" ]] || continue # it ended, and another process may have its id
        for process in /proc/[0-9]*; do
            [[ $(readlink "$process/ns/net" 2>/dev/null) == "$network" ]] && basename "$process"
        done
    done
}

# shellcheck disable=SC2317 # a trap calls it
tear_down()
{
    local process
    for process in $(residents); do
        kill -KILL "$process" 2>/dev/null
    done
    rm -rf "$tools"
}

hold() # UNSHARE_OPTION...: create namespaces, and add the process that keeps them to `holders`
{
    unshare --net "$@" --fork --kill-child sleep 600 2>"$tools/why" &
    local parent=$! child='' tries
    disown
    for ((tries = 0; tries < 200; tries++)); do
        read -r child _ 2>/dev/null <"/proc/$parent/task/$parent/children"
        [[ -n $child && $(cat "/proc/$child/comm" 2>/dev/null) == sleep ]] && break
        [[ -d /proc/$parent ]] || break
        sleep 0.02
    done
    [[ -n $child ]] || skip "namespaces are not permitted here: $(<"$tools/why")"
    holders+=("$child")
}

on() # HOST COMMAND...: run the command on a host; 0 is the first
{
    local holder=${holders[$1 + 1]}
    shift
    nsenter --target "$holder" --net --uts --mount --time -- env --chdir "$PWD" "$@"
}

at_switch() # COMMAND...
{
    nsenter --target "${holders[0]}" --net -- "$@"
}

make_host() # INDEX
{
    local i=$1
    hold --uts --mount --time --monotonic "${ahead[i]}"
    local holder=${holders[-1]}
    printf '%s' "$holder" >"$tools/${names[i]}"
    on "$i" hostname "${names[i]}" && on "$i" mount --bind "$tools/etc_hosts" /etc/hosts &&
        at_switch ip link add "port$i" type veth peer name eth0 netns "$holder" &&
        at_switch ip link set "port$i" master switch up &&
        on "$i" ip link set lo up &&
        on "$i" ip addr add "10.77.0.$((i + 1))/24" dev eth0 &&
        on "$i" ip link set eth0 up
}

make_hosts()
{
    printf '127.0.0.1 localhost\n' >"$tools/etc_hosts"
    printf '10.77.0.1 %s\n10.77.0.2 %s\n10.77.0.3 %s\n' "${names[@]}" >>"$tools/etc_hosts"
    hold
    { at_switch ip link add switch type bridge && at_switch ip link set switch up; } 2>"$tools/why" ||
        skip "no bridge can be made here: $(<"$tools/why")"
    local i
    for i in 0 1 2; do
        make_host "$i" 2>"$tools/why" || skip "a host of namespaces cannot be made here: $(<"$tools/why")"
    done
    # Replacement of ssh for mpirun.
    cat >"$tools/agent" <<EOF
#!/usr/bin/env bash
holder=\$(<"$tools/\$1")
shift
exec nsenter --target "\$holder" --net --uts --mount --time -- bash -c "\$*"
EOF
    chmod +x "$tools/agent"
}

((EUID == 0)) || skip "only root may make network and time namespaces"
for program in ip tc unshare nsenter mpirun; do
    command -v "$program" >/dev/null || skip "there is no $program (Debian, Ubuntu: iproute2, util-linux, openmpi-bin)"
done
tools=$(mktemp -d /tmp/lockstep-hosts.XXXXXX) # mpirun does not accept an agent with blanks in its path
trap tear_down EXIT
trap 'exit 1' INT TERM HUP
work_in "$folder"
make_hosts

# --- runs -------------------------------------------------------------------------------------------------------------

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OPENBLAS_NUM_THREADS=1
toy=(--batch-size 8 --input-dim 64 --hidden-dim 64 --num-classes 10)

spread() # HOSTS RANKS_EACH PROGRAM ARGUMENT...: run the program; set `status`, write output to files out and err
{
    local hosts=$1 each=$2 i
    shift 2
    for ((i = 0; i < hosts; i++)); do
        printf '%s slots=%d\n' "${names[i]}" "$each"
    done >hostfile
    on 0 timeout --kill-after 5 120 mpirun --hostfile hostfile -np $((hosts * each)) --bind-to none \
        --mca plm_rsh_agent "$tools/agent" --mca plm_rsh_no_tree_spawn 1 --mca oob_tcp_if_include eth0 \
        --mca btl_tcp_if_include eth0 "$@" </dev/null >out 2>err
    status=$?
}

between() # NAME WHAT VALUE LOW HIGH
{
    awk -v value="$3" -v low="$4" -v high="$5" 'BEGIN { exit !(value != "" && value + 0 >= low && value + 0 <= high) }' ||
        complain "$1" "$2 is '$3', not from $4 to $5"
}

file_says() # NAME FILE EXTENDED_EXPRESSION
{
    grep -qE -- "$3" "$2" || complain "$1" "$2 does not say '$3'"
}

right() # NAME SUMMARY: check for status 0, no failed checks, and terms that add up to the step in each case
{
    ((status == 0)) || complain "$1" "status $status: $(tail -n 3 err)"
    awk -F, "$by_column"'
        {
            cases++
            gap = $at["local_ms"] + $at["host_ms"] + $at["wait_ms"] + $at["transfer_ms"] - $at["blog_compute_ms"]
            if ($at["wrong"] "" != "0" || gap > 1e-3 || gap < -1e-3) exit bad = 1
        }
        END { exit bad || !cases }' "$2" || complain "$1" "a check failed, or terms do not add up"
}

# Let a rank sleep that is not on the host of rank 0, with clocks minutes apart. All other ranks must wait for it, for the length
# of its sleep. Time stamps of all ranks must use the same time.
sleeps_far_away() # HOSTS RANKS_EACH SLEEPER
{
    local name="$1 hosts" ranks=$(($1 * $2)) results=$folder/of_$1/01_straggler slept=20
    spread "$1" "$2" "$straggler" "${toy[@]}" --steps 12 --rounds 2 --cases skew_ws4 --sleep-ms $slept --slow-rank "$3" --out "of_$1"
    right "$name" "$results/summary.csv"
    file_says "$name" "$results/summary.csv" "^# hosts: $1 \\(${names[0]}: ranks? 0[-0-9]* on [0-9]+ cores?; ${names[1]}: "
    file_says "$name" "$results/summary.csv" '^# clocks: agree within [0-9.]+ ms; shorter waits count as transfer$'
    between "$name" "the clocks' error" "$(sed -n 's/^# clocks: agree within \([0-9.]*\) ms.*/\1/p' "$results/summary.csv")" 0.0001 10
    file_says "$name" out "^Clocks agree within [0-9.]+ ms"
    file_says "$name" "$results/lanes.csv" "explanation of skew_ws4: .* for rank $3: its data took 2[0-9.]+ ms"
    [[ $(cell "$results/summary.csv" skew_ws4 blamed_rank) == "$3" ]] || complain "$name" "rank $3 is not blamed"
    between "$name" "the step" "$(cell "$results/summary.csv" skew_ws4 slowest_step_ms)" $slept 500
    # All other ranks wait nearly as long as the sleep, up to the clock error.
    between "$name" "the mean wait" "$(cell "$results/summary.csv" skew_ws4 wait_ms)" \
        "$(awk "BEGIN { print 0.8 * $slept * ($ranks - 1) / $ranks }")" 400
    awk -F, '/^#/ { next } !seen { seen = 1; next } { if (!n++) low = high = $7; low = $7 < low ? $7 : low; high = $7 > high ? $7 : high }
        END { exit !(high - low < 200000) }' "$results/spans.csv" || complain "$name" "stamps lie minutes apart"
}

# Check that a hostfile with one host gives the same as no hostfile.
one_host()
{
    local name='one host'
    spread 1 2 "$straggler" "${toy[@]}" --rounds 1 --cases skew_ws4 --sleep-ms 2 --out listed
    right "$name" listed/01_straggler/summary.csv
    mpirun -np 2 --oversubscribe --bind-to none "$straggler" "${toy[@]}" --rounds 1 --cases skew_ws4 --sleep-ms 2 --out plain \
        </dev/null >out 2>err
    status=$?
    right "$name, by itself" plain/01_straggler/summary.csv
    local of
    for of in listed plain; do
        grep '^#' $of/01_straggler/summary.csv | grep -v '^# card:\|^# when:\|^# memory:\|^# disturbed:' >$of.head
        cell $of/01_straggler/summary.csv skew_ws4 loss >>$of.head
    done
    diff listed.head plain.head || complain "$name" "differs from none"
    ! grep -q '^# hosts\|^# clocks' listed.head || complain "$name" "is told as several"
}

# Slow down the network: large messages must count as transfer, not as wait. The machine card measures the slow network; all
# runs of two hosts below use this card.
slow_link()
{
    local name='slow link' results=pair/03_comm_bound/summary.csv i
    for i in 0 1; do
        on $i tc qdisc add dev eth0 root tbf rate 400mbit burst 128kb latency 400ms || complain "$name" "tc failed"
    done
    spread 2 1 "$comm_bound" "${toy[@]}" --quick --rounds 1 --comm-mb 2 --sweep-mb 0 --cases comm_kept_ws4 --out pair
    for i in 0 1; do
        on $i tc qdisc del dev eth0 root
    done
    right "$name" $results
    # A ring of two ranks sends each byte once: 2 MiB at 50 MB/s take 41.9 ms, minus 128 KiB that may pass at once.
    local transfer
    transfer=$(cell $results comm_kept_ws4 transfer_ms)
    between "$name" transfer "$transfer" 39 1000
    # The 6 MiB of the card's all-reduce must take 125.8 ms. Noise can only make it longer.
    between "$name" "the card's all-reduce" "$(sed -n 's/^allreduce_s,2,6291456,//p' pair/machine.csv)" 0.12 10
    between "$name" wait "$(cell $results comm_kept_ws4 wait_ms)" 0 "$(awk "BEGIN { print $transfer / 2 }")"
}

# Only rank 0 writes results, so other hosts need no access to the folder. Invalid flags end the run on all hosts, with one line.
refusals()
{
    local name='results at rank 0 alone'
    on 1 mount -t tmpfs -o ro none "$folder/pair"
    spread 2 1 "$straggler" "${toy[@]}" --quick --rounds 1 --cases skew_ws4 --sleep-ms 2 --out pair
    right "$name" pair/01_straggler/summary.csv
    name='results that cannot be written'
    echo "a regular file" >file
    spread 2 1 "$straggler" "${toy[@]}" --out file
    ((status == 2)) || complain "$name" "status $status, not 2"
    file_says "$name" err '^01_straggler: --out file cannot be written: .*; name a folder that can$'
    name='--ranks that contradicts'
    spread 2 1 "$straggler" "${toy[@]}" --ranks 3 --out pair
    ((status == 2)) || complain "$name" "status $status, not 2"
    file_says "$name" err '^01_straggler: --ranks 3, but the launcher started 2; '
}

# Check that these checks fail if clocks are not compared.
without_clocks()
{
    spread 2 1 "$unclocked" "${toy[@]}" --quick --rounds 1 --cases skew_ws4 --sleep-ms 2 --out pair
    ((status == 1)) || complain "clocks not compared" "status $status, not 1"
    file_says "clocks not compared" err 'failed checks, see the column'
}

one_host
sleeps_far_away 2 2 2
sleeps_far_away 3 1 2
slow_link
refusals
without_clocks
((failed)) || echo "hosts_test: all right, on hosts whose clocks are ${ahead[*]} s ahead"
exit $failed
