#!/usr/bin/env bash
# usage: tests/fuzz/run.sh SECONDS [TARGET...]: build the targets with clang, ASan and UBSan, and run libFuzzer on each for SECONDS.
# Prints `TARGET, EXECUTIONS, CRASHES` for each, then the sum. Exit status 1 after a crash, whose input is named; 77 without clang.
# The targets detect leaks themselves (fuzz.c). LOCKSTEP_FUZZ_BUILD is the folder of the build (default build/fuzz).
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
seconds=${1:?usage: tests/fuzz/run.sh SECONDS [TARGET...]}
shift
targets=("${@:-}")
[[ -n ${targets[0]} ]] || targets=(csv spans trace claims card)
build=${LOCKSTEP_FUZZ_BUILD:-build/fuzz}
mkdir -p "$build"

command -v clang >/dev/null || { echo "cannot fuzz: clang is not installed (Debian, Ubuntu: apt-get install clang)"; exit 77; }
{
    cmake -S . -B "$build" -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=Debug -DLOCKSTEP_FUZZ=ON -DLOCKSTEP_CUDA=OFF -DLOCKSTEP_WERROR=OFF &&
        cmake --build "$build" --parallel "$(nproc)" --target "${targets[@]/#/fuzz_}"
} >"$build.log" 2>&1 || { echo "cannot fuzz: the targets do not build; $build.log says why"; exit 1; }

failed=0 all=0
export ASAN_OPTIONS=detect_leaks=0 # memory left behind by die() is no leak
for target in "${targets[@]}"; do
    found=$build/found/$target # inputs are kept, and the next run starts from them
    mkdir -p "$found"
    "$build/tests/fuzz_$target" -max_total_time="$seconds" -timeout=5 -rss_limit_mb=4096 -max_len=4096 -print_final_stats=1 \
        -artifact_prefix="$found/" "$found" "tests/fuzz/corpus/$target" >"$found.log" 2>&1
    status=$?
    executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$found.log" | tail -1)
    printf '%s, %s, %d\n' "$target" "${executions:-0}" $((status != 0))
    all=$((all + ${executions:-0}))
    ((status == 0)) || { failed=1; grep -E 'ERROR|runtime error|died of|asked for|given back|Test unit' "$found.log"; }
done
printf '%d targets, %d executions, %s\n' ${#targets[@]} "$all" "$( ((failed)) && echo crashes || echo "no crash")"
exit "$failed"
