#!/usr/bin/env bash
# usage: new_lab_test.sh SOURCE BUILD FOLDER: check that tools/new_lab writes a lab which is built without warnings, runs on every backend
# of cores, obeys the house rules and passes the tests that all labs pass, in a copy of the sources and of the objects of BUILD. Works in
# FOLDER/new_lab.
set -uo pipefail

# shellcheck source=tests/support/frame.sh
source "$(dirname "$0")/../support/frame.sh"

source=$(realpath "$1")
objects=$(realpath "$2")
folder=$(realpath -m "$3")/new_lab
name=98_trial
rm -rf "$folder"
mkdir -p "$folder"
(cd "$source" && tar -c --exclude='./build*' --exclude=./results --exclude=./.git .) | tar -x -C "$folder"
cd "$folder" || exit 1

exits 2 tools/new_lab
says "usage: tools/new_lab"
exits 2 tools/new_lab trial "What does it cost?"
says "'trial' is not two digits"
exits 2 tools/new_lab "$name" "what does it cost"
says "is not a question"
exits 2 tools/new_lab 01_other "What does it cost?"
says "lab 01 exists: labs/01_straggler.c"
exits 0 tools/new_lab "$name" "What does one late rank cost?"
says "labs/$name.c" "add_lab($name)" "--target ${name}_all" "build/bin/$name --platform blog"
exits 2 tools/new_lab "$name" "What does one late rank cost?"
exits 0 tests/tools/house_test.sh .
exits 0 tests/tools/symbols_test.sh .
exits 0 ./run_all.sh --list
says "$name           what does one late rank cost?"

# NAME_all has all that the tests of a lab start, those on stand-ins for GPUs, too: the copy of the build has objects, but no programs.
mkdir build
(cd "$objects" && find . -name '*.[oad]' -not -path './tests/scratch*' -print0 | tar -c --null -T - CMakeCache.txt) | tar -x -C build
sed -i "s|$objects|@BUILD@|g; s|$source|@SOURCE@|g; s|@BUILD@|$folder/build|g; s|@SOURCE@|$folder|g" build/CMakeCache.txt
exits 0 cmake -S . -B build -DLOCKSTEP_CUDA=OFF
find build -name '*.[oa]' -exec touch {} + # compiled in another folder, but from the same sources
exits 0 cmake --build build --parallel 2 --target "${name}_all"
[[ $said != *warning:* ]] || complain "warnings"
((failed)) && exit 1
exits 0 env LOCKSTEP_LOCK="$folder/lock" ctest --test-dir build -R "$name"
says "100% tests passed"
((failed)) || echo "A lab made by tools/new_lab works."
exit "$failed"
