# blame.sh: helpers for tests of tools/blame. Source frame.sh first; set $blame (the program) and $folder (scratch).
# shellcheck shell=bash disable=SC2154 # the script that sources this file sets blame and folder
#
#     work_without_gnuplot             make $folder anew and go there; blame finds all programs but gnuplot
#     tell ARGUMENT...                 run blame; set `status`, write output to files out and err
#     answers NAME STATUS TEXT ARGUMENT... check that blame exits with STATUS and prints TEXT

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
    ! grep -q 'Sanitizer\|runtime error' err || complain "$1" "$(<err)"
}

answers()
{
    local name=$1 wanted=$2 text=$3
    shift 3
    tell "$@"
    if ((status != wanted)) || ! grep -qF -- "$text" out err; then
        complain "$name" "status $status, not $wanted; wanted \"$text\" in:"$'\n'"$(cat out err)"
    fi
}
