#!/usr/bin/env bash
# usage: digests_test.sh BIN PLATFORMS FOLDER [write]: check that tables without measurements are byte-identical to those of other
# systems: all tables of every lab on every modelled machine, without their comment lines, which hold version and command. Compares
# with digests.txt in this folder; `write` creates it again. Works in FOLDER/digests.
set -uo pipefail

# shellcheck source=tests/support/frame.sh
source "$(dirname "$0")/../support/frame.sh"

here=$(dirname "$(realpath "$0")")
bin=$(realpath "$1")
platforms=$(realpath "$2")
folder=$(realpath -m "$3")/digests

digest() # FILE NAME
{
    printf '%s  %s\n' "$(grep -v '^#' "$1" | sha256sum | cut -d ' ' -f 1)" "$2"
}

modelled() # LAB PLATFORM-FILE
{
    local lab=$1 platform=$2 name table
    name=$(basename "$platform" .xml)
    "$bin/$lab" --platform "$platform" --steps 6 --rounds 2 --out results </dev/null >out 2>err
    case $? in
    0) ;;
    77) return ;; # the machine takes fewer ranks than the lab has
    *) complain "$lab on $name" "$(<err)" ;;
    esac
    for table in "results/platforms/$name/$lab"/*.csv; do
        digest "$table" "$name/$lab/$(basename "$table")"
    done
}

all()
{
    local lab platform
    for platform in "$platforms"/*.xml "$here/../sim/round_numbers.xml"; do
        for lab in "$bin"/[0-9][0-9]_*; do
            modelled "$(basename "$lab")" "$platform"
        done
    done
}

work_in "$folder"
all >found
if [[ ${4-} == write ]]; then
    cp found "$here/digests.txt"
elif ! diff "$here/digests.txt" found >differences; then
    complain "tables differ from those of other systems (< there, > here)" "$(grep '^[<>]' differences | sed -E 's, [0-9a-f]{64} , ,' | sort -u)"
fi
((failed)) || echo "$(wc -l <found) tables are those of every system."
exit "$failed"
