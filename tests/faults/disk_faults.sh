#!/usr/bin/env bash
# usage: disk_faults.sh LAB FOLDER TRIES [SEED]: run a lab TRIES times on a disk with too little or just enough space: from 4 kB
# to slightly more than needed, drawn by SEED. Every fifth run has two real ranks, the others are modelled. A run must end, either
# with status 0 and all new files, or with status 1, all files of the previous run, and a line that names the file and the error.
# It must leave no process. Works in FOLDER/disk_faults. Prints one line of counts.
#
# Exit status: 0 all runs ended like this; 1 some did not (printed); 77 small disks cannot be mounted here.
set -uo pipefail

lab=$(realpath "$1")
folder=$(realpath -m "$2")/disk_faults
tries=$3
RANDOM=${4:-1}
name=$(basename "$lab")
disk=$folder/disk results=$folder/disk/results # in the command line of every process of a run, which is found by it
hangs=0 half_files=0 orphans=0 wrong_exits=0

# Mount the disk in a new mount namespace, which ends with this script.
mkdir -p "$disk"
if [[ ! ${LOCKSTEP_OWN_MOUNTS-} ]]; then
    said=$(unshare -rm mount -t tmpfs -o size=4k none "$disk" 2>&1) ||
        { echo "no small disk can be mounted here, so none is filled: ${said##*$'\n'}"; exit 77; }
    LOCKSTEP_OWN_MOUNTS=1 exec unshare -rm "$0" "$@"
fi

tell() # TEXT: print a failure of this try
{
    printf 'try %d, %s, %d kB free: %s\n' "$try" "$kind" "$room" "$1" >&2
}

# Options of each kind of run, and folders of its tables.
# shellcheck disable=SC2034 # run() uses them by name
toy=(--backend mpi --ranks 2 --batch-size 8 --input-dim 64 --hidden-dim 64 --num-classes 10 --cases skew_ws4)
# shellcheck disable=SC2034
modelled=(--platform blog --quick --cases skew_ws4)
declare -A place=([toy]=$name [modelled]=platforms/blog/$name)

run() # KIND 1|2: start the first run, or the second, which writes more; output goes to files out and err
{
    local -n options=$1
    timeout -k 5 $((120 * ${LOCKSTEP_PATIENCE:-1})) "$lab" "${options[@]}" --steps $((4 * $2)) --rounds "$2" --out "$results" </dev/null >"$folder/out" 2>"$folder/err"
}

keep_sample() # KIND: keep the results of a first and a second run on a disk with enough space
{
    local which
    rm -rf "$results"
    for which in 1 2; do # the second run uses the machine card of the first
        run "$1" "$which"
        status=$?
        ((status != 77)) || { tail -n 1 "$folder/err"; exit 77; }
        ((status == 0)) || { cat "$folder/err"; exit 1; }
        rm -rf "$folder/$1-$which"
        cp -a "$results" "$folder/$1-$which"
    done
    rm -rf "$results"
}

is_whole() # FILE: true if it is a whole file of the second run. Modelled runs differ only in dates; of others only check the end
{
    local sample=$folder/$kind-2/${1#"$results/"}
    if [[ $kind == modelled ]]; then
        cmp -s <(grep -v '^# when' "$1") <(grep -v '^# when' "$sample")
    elif [[ $1 == *.json ]]; then
        [[ $(tail -c 4 "$1") == $'}\n}' ]]
    else
        awk -F, '!/^#/ && !fields { fields = NF } { ended = NF == fields } END { exit !ended }' "$1" && [[ $(tail -c 1 "$1") == '' ]]
    fi
}

count() # STATUS: count failures after a run
{
    local file files=0 old=0 new=0 is_old is_new said process tables=$results/${place[$kind]}
    ((status != 124 && status != 137)) || { ((++hangs)); tell "did not end"; }
    while read -r -d '' file; do
        is_old=false is_new=false
        ! cmp -s "$file" "$folder/$kind-1/${file#"$results/"}" || is_old=true
        ! is_whole "$file" || is_new=true
        [[ $kind == modelled ]] || ! $is_old || cmp -s "$folder/$kind-"[12]"/${file#"$results/"}" || is_new=false
        if [[ $file == *.tmp ]] || ! { $is_old || $is_new; }; then
            ((++half_files))
            tell "half a file: $file"
        elif [[ $file == "$tables"/* ]]; then # some files are equal in both runs
            ((++files))
            [[ $kind != toy || $file != */card.csv ]] || continue # only measured again if the machine has drifted
            $is_new || ((++old))
            $is_old || ((++new))
        fi
    done < <(find "$results" -type f -print0)
    ((files == $(find "$folder/$kind-1/${place[$kind]}" -type f | wc -l))) || { ((++half_files)); tell "files are missing"; }
    ((old == 0 || new == 0)) || { ((++half_files)); tell "$new new files beside $old old ones"; }
    said=$(grep "^$name: " "$folder/err" | grep -v ': round [0-9]')
    case $status in
    0) ((old == 0 && new > 0)) && [[ ! $said ]] ;;
    1) ((new == 0 && old > 0)) && [[ $said == *"cannot write $results/"*": No space left on device"* && $said != *$'\n'* ]] ;;
    *) false ;;
    esac || { ((++wrong_exits)); tell "status $status, $new new files, said: $said"; }
    for process in /proc/[0-9]*; do
        ! grep -qsaF -- "$results" "$process/cmdline" || { ((++orphans)); tell "left a process: ${process#/proc/}"; }
    done
}

kilobytes() # FOLDER: print the space of its files on such a disk, in blocks of 4 kB
{
    find "$1" -type f -printf '%s\n' | awk '{ kb += 4 * int(($1 + 4095) / 4096) } END { print kb }'
}

mount -t tmpfs none "$disk" || exit 1
for kind in modelled toy; do keep_sample "$kind"; done
umount "$disk"
for ((try = 1; try <= tries; try++)); do
    kind=modelled
    ((try % 5)) || kind=toy
    before=$(kilobytes "$folder/$kind-1")
    room=$((4 + 4 * ((RANDOM * 32768 + RANDOM) % ($(kilobytes "$folder/$kind-2") / 4 + 8))))
    mount -t tmpfs -o size=$((before + room))k none "$disk" || exit 1
    cp -a "$folder/$kind-1" "$results"
    run "$kind" 2
    status=$?
    count
    umount "$disk" || umount -l "$disk"
done
printf 'tried %d, hangs %d, half_files %d, orphans %d, wrong_exits %d\n' "$tries" "$hangs" "$half_files" "$orphans" "$wrong_exits"
((hangs + half_files + orphans + wrong_exits == 0))
