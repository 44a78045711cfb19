#!/usr/bin/env bash
# usage: tests/fuzz/run.sh SECONDS [TARGET...]: builds the targets with clang, ASan and UBSan, and lets libFuzzer make up
# inputs for each for so long. Prints `TARGET, EXECUTIONS, CRASHES` for each, then the sum; exits 1 if there was a crash, whose input it names, and
# 77 where there is no clang. Leaks are found by the targets themselves (fuzz.c). LOCKSTEP_FUZZ_BUILD names the folder of the build, build/fuzz if not.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
seconds=${1:?usage: tests/fuzz/run.sh SECONDS [TARGET...]}
shift
targets=("${@:-}")
[[ -n ${targets[0]} ]] || targets=(csv spans claims card)
build=${LOCKSTEP_FUZZ_BUILD:-build/fuzz}
mkdir -p "$build"

command -v clang >/dev/null || { echo "cannot fuzz: clang is not installed (Debian, Ubuntu: apt-get install clang)"; exit 77; }
{
    cmake -S . -B "$build" -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=Debug -DLOCKSTEP_FUZZ=ON -DLOCKSTEP_CUDA=OFF -DLOCKSTEP_WERROR=OFF &&
        cmake --build "$build" --parallel "$(nproc)" --target "${targets[@]/#/fuzz_}"
} >"$build.log" 2>&1 || { echo "cannot fuzz: the targets do not build; $build.log says why"; exit 1; }

failed=0 all=0
export ASAN_OPTIONS=detect_leaks=0 # what die() leaves behind is none
for target in "${targets[@]}"; do
    found=$build/found/$target # what it makes up stays, so that the next run goes on from there
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
