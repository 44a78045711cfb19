#!/usr/bin/env bash
# Test that the sanitizer finds planted mistakes, in single processes and in ranks, and ends the process with status 66. Without
# a mistake there must be no report, also none about Open MPI.
# usage: planted_test.sh PLANTED MPIEXEC SCRATCH MISTAKE...
set -euo pipefail
planted=$1 mpiexec=$2 scratch=$3
shift 3
rm -rf "$scratch"
mkdir -p "$scratch"
for variable in ASAN_OPTIONS UBSAN_OPTIONS TSAN_OPTIONS; do # keep these reports separate from real findings
    export "$variable=${!variable}:log_path=$scratch/found"
done
die() {
    echo "planted_test: $*" >&2
    exit 1
}
try() # STATUS MISTAKE COMMAND...
{
    local status=0 reports=("$scratch"/found.*)
    "${@:3}" "$planted" "$2" >"$scratch/stdout" 2>&1 || status=$?
    reports=("$scratch"/found.*)
    ! grep -q 'unexpected memory mapping' "${reports[0]}" 2>/dev/null ||
        die "this kernel spreads addresses wider than this ThreadSanitizer can follow; run ctest by: setarch -R ctest ..."
    [ "$status" -eq "$1" ] || die "$2, ${3:-alone}: status $status"
    [ "$1" -eq 0 ] || [ -e "${reports[0]}" ] || grep -q 'runtime error' "$scratch/stdout" || die "$2, ${3:-alone}: no report"
    [ "$1" -ne 0 ] || [ ! -e "${reports[0]}" ] || { cat "${reports[@]}"; die "$2, ${3:-alone}: a report"; }
    rm -f "$scratch"/found.*
}
for mistake in "$@"; do
    try 66 "$mistake"
    try 66 "$mistake" "$mpiexec" --oversubscribe --bind-to none -np 2
done
try 0 nothing
try 0 nothing "$mpiexec" --oversubscribe --bind-to none -np 2
echo "planted_test: $* were found"
