# blame.sh: helpers for tests of tools/blame. Source frame.sh first; set $blame (the program) and $folder (scratch).
# shellcheck shell=bash disable=SC2034,SC2154 # the script that sources this file sets blame and folder, and reads status
#
#     work_without_gnuplot             make $folder anew and go there; blame finds all programs but gnuplot
#     tell ARGUMENT...                 run blame; set `status`, write output to files out and err, and keep both in `said`
#     answers [NAME] STATUS TEXT ARGUMENT... check that blame exits with STATUS and prints TEXT. NAME: what is tried; no digit first

work_without_gnuplot()
{
    work_in "$folder"
    mkdir bin
    ln -s /usr/bin/* bin/
    rm -f bin/gnuplot
}

tell()
{
    PATH=$folder/bin timeout $((20 * patience)) "$blame" "$@" --out "$folder/results" </dev/null >out 2>err
    status=$?
    said=$(cat out err)
    ! grep -q 'Sanitizer\|runtime error' err || complain "$1" "$(<err)"
}

answers()
{
    local name=
    [[ $1 == [0-9]* ]] || { name=$1; shift; }
    tell "${@:3}"
    if ((status != $1)) || [[ $said != *"$2"* ]]; then
        complain "${name:-${*:3}}" "status $status, not $1; or it does not say \"$2\""
    fi
}
