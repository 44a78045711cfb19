# frame.sh: what tests that are scripts share; they source it.
# shellcheck shell=bash disable=SC2034 # they end with `failed`
#
#     complain WHAT [DETAIL]...   a check failed; the script goes on, and ends with `failed`. `said`, where it is set, is what the
#                                 program at hand wrote, and is shown with it
#     exits STATUS COMMAND...     `said` is what it wrote; any other status is a complaint
#     says TEXT...                … that one of these is not in it
#     $patience                   times as long as on an idle machine everything may take (LOCKSTEP_PATIENCE): CMake's, for time-outs,
#                                 and for limits within a script
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

says()
{
    local text
    for text in "$@"; do
        [[ $said == *"$text"* ]] || complain "it should have said: $text"
    done
}
