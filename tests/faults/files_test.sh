#!/usr/bin/env bash
# usage: files_test.sh LAB BUILD SOURCE FOLDER: check that results stay whole if their disk fills up or becomes read-only, or if
# their folder is removed during a run. Works in FOLDER/files, where it mounts disks of its own.
set -uo pipefail

lab=$(realpath "$1")
bin=$(realpath "$2")/bin
source=$(realpath "$3")
folder=$(realpath -m "$4")/files
disk=$folder/disk results=$folder/disk/results
failed=0
toy=(--backend mpi --ranks 2 --batch-size 8 --input-dim 64 --hidden-dim 64 --num-classes 10 --cases skew_ws4)
modelled=(--platform blog --quick --cases skew_ws4)

mkdir -p "$disk"
if [[ ! ${LOCKSTEP_OWN_MOUNTS-} ]]; then
    rm -rf "$folder"
    mkdir -p "$disk"
    "$source/tests/faults/disk_faults.sh" "$lab" "$folder" 5 || exit
    own=-rm # only root's own namespace knows other users
    ((EUID != 0)) || own=-m
    LOCKSTEP_OWN_MOUNTS=1 exec unshare "$own" "$0" "$@"
fi

complain() # TEXT: report a failed check of the current fault
{
    printf 'FAILED %s: %s\n%s\n' "$fault" "$1" "$(<"$folder/err")"
    failed=1
}

run() # STATUS LAB-OPTION...
{
    timeout -k 5 $((120 * ${LOCKSTEP_PATIENCE:-1})) "$lab" "${@:2}" --out "$results" </dev/null >"$folder/out" 2>"$folder/err"
    ends "$?" "$1"
}

ends() # STATUS WANTED
{
    (($1 == $2)) || complain "status $1, not $2"
    said=$(grep "^${lab##*/}: " "$folder/err" | grep -v ': round [0-9]')
}

says() # PATTERN: check that the lab printed one line that matches
{
    # shellcheck disable=SC2053 # a pattern
    [[ $said == *$1* && $said != *$'\n'* ]] || complain "not one line that says '$1'"
}

state() # print checksums of all files, also hidden ones; not of machine cards, which a run replaces if the machine has drifted
{
    (cd "$results" && find . -type f ! -name machine.csv -exec sha256sum {} + | sort -k 2)
}

fresh_disk() # MOUNT-OPTIONS: mount a disk with the results of an earlier run
{
    mount -t tmpfs -o "$1" none "$disk"
    cp -a "$folder/earlier" "$results"
    before=$(state)
}

is_untouched()
{
    [[ $(state) == "$before" ]] || complain "what was there is not: $(diff <(echo "$before") <(state))"
}

start() # start a run and return when its ranks train
{
    "$lab" "${toy[@]}" --seconds 2 --out "$results" </dev/null >"$folder/out" 2>"$folder/err" &
    running=$!
    while ! grep -q 'round 1 of' "$folder/err" && [[ -d /proc/$running ]]; do sleep 0.05; done
}

finish() # STATUS
{
    wait "$running"
    ends "$?" "$1"
}

fault="an earlier run"
mount -t tmpfs none "$disk"
run 0 "${toy[@]}" --rounds 1
run 0 "${modelled[@]}" # (writes to the folder of its platform)
cp -a "$results" "$folder/earlier"
umount "$disk"

fault="a folder that is removed during the run"
fresh_disk size=8m
start
rm -rf "$results"
finish 0
[[ ! $said ]] || complain "it complains"
for table in summary ranks rounds spans lanes card; do
    [[ -s $results/01_straggler/$table.csv ]] || complain "no $table.csv"
done
[[ ! $(find "$results" -name '.*.tmp') ]] || complain "half files are left"
umount "$disk"

fault="a file in the folder's place"
fresh_disk size=8m
start
rm -rf "$results/01_straggler"
echo mine >"$results/01_straggler"
before=$(state)
finish 1
says "cannot write $results/01_straggler/*.csv: Not a directory"
is_untouched
umount "$disk"

fault="a folder in a table's place"
fresh_disk size=8m
rm "$results/platforms/blog/01_straggler/trace.json"
mkdir "$results/platforms/blog/01_straggler/trace.json"
before=$(state)
run 1 "${modelled[@]}" --seed 3
says "/trace.json: Is a directory"
[[ $(state) == "$before" ]] || complain "there are new files beside old ones"
umount "$disk"

fault="a disk that is closed for writing"
fresh_disk size=8m
mount -o remount,ro "$disk"
run 2 "${modelled[@]}"
says "cannot be written: Read-only file system"
is_untouched
umount "$disk"

fault="a disk that is closed during the run" # remounting fails while a file is open for writing: mount another disk instead
fresh_disk size=8m
start
umount -l "$disk"
mount -t tmpfs -o ro none "$disk"
finish 1
says "Read-only file system"
umount "$disk"

fault="a full /tmp" # real ranks do not need it if there is shared memory
fresh_disk size=8m
mkdir "$folder/tmp"
mount -t tmpfs -o size=1m none "$folder/tmp"
mount -t tmpfs -o size=64m none /dev/shm
TMPDIR=$folder/tmp run 0 "${toy[@]}" --rounds 1
[[ ! $said ]] || complain "it complains"
before=$(state)
TMPDIR=$folder/tmp run 1 "${modelled[@]}"
says "1.0 MB are left in $folder/tmp, but the launcher of the ranks needs"
is_untouched

fault="a full /dev/shm" # ranks use TMPDIR instead
mount -o remount,size=1m /dev/shm
mount -o remount,size=64m "$folder/tmp"
TMPDIR=$folder/tmp run 0 "${toy[@]}" --rounds 1
[[ ! $said && ! $(ls -A "$folder/tmp") ]] || complain "it complains, or leaves something in $folder/tmp: $(ls -A "$folder/tmp")"
before=$(state)
mount -o remount,size=1m "$folder/tmp"
TMPDIR=$folder/tmp run 1 "${toy[@]}"
says "1.0 MB are left in /dev/shm, 1.0 MB are left in $folder/tmp, but the ranks' shared memory needs"
TMPDIR=$folder/none run 1 "${toy[@]}"
says "$folder/none cannot be used (No such file or directory), but the ranks' shared memory needs"
TMPDIR=$folder/none run 1 "${modelled[@]}"
says "$folder/none cannot be used (No such file or directory), but the launcher of the ranks needs"
is_untouched

fault="folders of other jobs in /dev/shm" # their process ids may belong to another container
mount -o remount,size=64m /dev/shm
mkdir /dev/shm/lockstep-1.gone00 /dev/shm/lockstep-2147483647.lives0
exec {held}</dev/shm/lockstep-2147483647.lives0
flock "$held"
mkdir /dev/shm/lockstep-3.others /dev/shm/lockstep-4.linked
touch /dev/shm/lockstep-3.others/file "$folder/precious"
left=lockstep-2147483647.lives0
if chown 65534 /dev/shm/lockstep-3.others 2>/dev/null; then
    left+=$'\n'lockstep-3.others
else # a user's own namespace knows no other user
    rm -r /dev/shm/lockstep-3.others
fi
ln -s "$folder" /dev/shm/lockstep-4.linked/link
run 0 "${toy[@]}" --rounds 1
[[ $(ls /dev/shm) == "$left" ]] || complain "left are: $(ls /dev/shm)"
[[ -e $folder/precious ]] || complain "a file behind a link is gone"
[[ $left != *others || -e /dev/shm/lockstep-3.others/file ]] || complain "another user's file is gone"
rm -rf /dev/shm/lockstep-3.others
exec {held}<&-
umount "$disk" "$folder/tmp" /dev/shm

fault="charts on a full disk"
fresh_disk size=8m
if command -v gnuplot >/dev/null; then
    "$source/plots/draw.sh" 01_straggler "$results/platforms/blog/01_straggler" 2>"$folder/err" || complain "not drawn"
    before=$(state)
    [[ $before == *charts.csv* && $before == *breakdown.svg* ]] || complain "no charts"
    for spare in 0 20 60 100; do
        mount -o "remount,size=$(($(df --output=used -k "$disk" | tail -n 1) + spare))k" "$disk"
        "$source/plots/draw.sh" 01_straggler "$results/platforms/blog/01_straggler" 2>"$folder/err"
        status=$?
        ((status == 1)) || complain "$spare kB: status $status, not 1"
        grep -q 'the charts could not be drawn: ' "$folder/err" || complain "$spare kB: it does not say so"
        is_untouched
        [[ ! -e $results/platforms/blog/01_straggler/.charts.tmp ]] || complain "half charts are left"
    done
fi

fault="pages and claims on a full disk"
mount -o "remount,size=$(($(df --output=used -k "$disk" | tail -n 1) + 8))k" "$disk"
for tool in "report --sources $source" "claims --expected $source/expected --tables"; do
    # shellcheck disable=SC2086 # words
    "$bin/"$tool --results "$results" >"$folder/out" 2>"$folder/err"
    (($? == 1)) || complain "$tool: status is not 1"
    grep -q 'cannot write .*: No space left on device' "$folder/err" || complain "$tool does not say so"
    is_untouched
done
"$bin/blame" "$folder/earlier/01_straggler/spans.csv" --out "$results/platforms/blog/01_straggler" >"$folder/out" 2>"$folder/err"
(($? == 1)) || complain "blame: status is not 1"
is_untouched
umount "$disk"

((failed)) || echo "Results are whole or as they were."
exit "$failed"
