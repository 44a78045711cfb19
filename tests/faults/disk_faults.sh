#!/usr/bin/env bash
# usage: disk_faults.sh LAB FOLDER TRIES [SEED]: runs a lab TRIES times on a disk that has room for less than it writes, or just
# so: from 4 kB to a little more than all, drawn by SEED. Every fifth run has two real ranks, the others are modelled. A run
# must end, with status 0 and all of its files, or with 1, a line that says what could not be written and why, and all files
# of the run before; it must leave no process. Works in FOLDER/disk_faults. Prints one line of counts.
#
# Exit status: 0 nothing but that was seen; 1 something else, which is told; 77 small disks cannot be made here.
set -uo pipefail

lab=$(realpath "$1")
folder=$(realpath -m "$2")/disk_faults
tries=$3
RANDOM=${4:-1}
name=$(basename "$lab")
disk=$folder/disk results=$folder/disk/results # in the words of every process of a run: that is how they are found
hangs=0 half_files=0 orphans=0 wrong_exits=0

# A disk of its own, in a mount namespace of its own, which goes with this script.
mkdir -p "$disk"
if [[ ! ${LOCKSTEP_OWN_MOUNTS-} ]]; then
    said=$(unshare -rm mount -t tmpfs -o size=4k none "$disk" 2>&1) ||
        { echo "no small disk can be mounted here, so none is filled: ${said##*$'\n'}"; exit 77; }
    LOCKSTEP_OWN_MOUNTS=1 exec unshare -rm "$0" "$@"
fi

tell() # WHAT: of this try
{
    printf 'try %d, %s, %d kB free: %s\n' "$try" "$kind" "$room" "$1" >&2
}

# Each kind of run, its options and where its tables are.
# shellcheck disable=SC2034 # run() has them by their names
toy=(--backend mpi --ranks 2 --batch-size 8 --input-dim 64 --hidden-dim 64 --num-classes 10 --cases skew_ws4)
# shellcheck disable=SC2034
modelled=(--platform blog --quick --cases skew_ws4)
declare -A place=([toy]=$name [modelled]=platforms/blog/$name)

run() # KIND 1|2: the first run or the second, which writes more; its words go into files out and err
{
    local -n options=$1
    timeout -k 5 $((120 * ${LOCKSTEP_PATIENCE:-1})) "$lab" "${options[@]}" --steps $((4 * $2)) --rounds "$2" --out "$results" </dev/null >"$folder/out" 2>"$folder/err"
}

keep_sample() # KIND: of a first and a second run, as they are on a disk with room for them
{
    local which
    rm -rf "$results"
    for which in 1 2; do # the second finds the first one's machine card
        run "$1" "$which"
        status=$?
        ((status != 77)) || { tail -n 1 "$folder/err"; exit 77; }
        ((status == 0)) || { cat "$folder/err"; exit 1; }
        rm -rf "$folder/$1-$which"
        cp -a "$results" "$folder/$1-$which"
    done
    rm -rf "$results"
}

is_whole() # FILE: of the second run; modelled ones are alike but for their dates, of others the end must be there
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

count() # STATUS: counts what is wrong after a run
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
        elif [[ $file == "$tables"/* ]]; then # some are alike in both runs
            ((++files))
            [[ $kind != toy || $file != */card.csv ]] || continue # measured anew where the machine has drifted, or not
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

kilobytes() # FOLDER: what its files take on such a disk, which deals out 4 kB at a time
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
