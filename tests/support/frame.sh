# frame.sh: helpers for tests that are scripts. Source this file; end the script with `exit $failed`.
# shellcheck shell=bash disable=SC2034 # scripts that source this file read `failed`
#
#     complain WHAT [DETAIL]...   report a failed check, set `failed` and continue. Also prints `said`, the output of the last
#                                 program, if set
#     exits STATUS COMMAND...     run the command, store its output in `said`, complain about any other exit status
#     alone STATUS PROGRAM...     run it with a PATH without launchers (folder none), so that no ranks start; its output goes to
#                                 files out and err; complain about any other exit status
#     says TEXT...                complain about each text that `said` does not contain
#     work_in FOLDER              delete the folder, make it anew and go there
#     $patience                   factor on time limits of an idle machine (LOCKSTEP_PATIENCE), used by CMake for timeouts of
#                                 tests and by scripts for limits of their own
# shellcheck source=tests/support/csv.sh
source "$(dirname "${BASH_SOURCE[0]}")/csv.sh"
failed=0
patience=${LOCKSTEP_PATIENCE:-1}

complain()
{
    printf 'FAILED %s\n' "$1${2+: $2}"
    (($# < 3)) || printf '%s\n' "${@:3}"
    [[ -z ${said-} ]] || printf 'it said: %s\n' "$said"
    failed=1
}

exits()
{
    local wanted=$1 got
    said=$("${@:2}" 2>&1 </dev/null)
    got=$?
    ((got == wanted)) || complain "${*:2}: status $got, not $wanted"
}

alone()
{
    local wanted=$1 got
    mkdir -p none
    PATH=$PWD/none "${@:2}" </dev/null >out 2>err
    got=$?
    ((got == wanted)) || complain "${*:3}: status $got, not $wanted: $(<err)"
}

says()
{
    local text
    for text in "$@"; do
        [[ $said == *"$text"* ]] || complain "it should have said: $text"
    done
}

work_in()
{
    rm -rf "$1"
    mkdir -p "$1"
    cd "$1" || exit 1
}
