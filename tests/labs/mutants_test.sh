#!/usr/bin/env bash
# usage: mutants_test.sh BUILD FOLDER LAB: make the lab's formulas wrong in each of the ways of tests/labs/mutants/LAB.txt, run the lab on
# modelled machines, and judge its claims. One machine has round numbers and no noise; the other is that of the posts, whose ranks
# share memory bandwidth. Claims about the machine rather than the formula may fail there. Each wrong formula must turn at least one
# claim wrong that the right one does not, on one of the machines: the second is tried if the first finds nothing.
set -uo pipefail

here=$(dirname "$(readlink -f "$0")")
source=$(dirname "$(dirname "$here")")
build=$1 folder=$2 lab=$3
formula="$source/labs/${lab}_formula.c"
# shellcheck source=tests/labs/facts.sh
name=$lab && source "$here/facts.sh"
link=$build/CMakeFiles/${lab}_model.dir/link.txt
[[ -e $link ]] || { echo "not tested: the generator of this build writes no link.txt"; exit 77; }
failed=0

complain()
{
    printf 'mutants_test: %s\n' "$*" >&2
    failed=1
}

# The lab finds its model beside itself.
rm -rf "$folder"
mkdir -p "$folder/bin" "$folder/lib"
cp "$build/bin/$lab" "$folder/bin/"
ln -s "$build"/lib/* "$folder/lib/"
rm "$folder/lib/model"
mkdir "$folder/lib/model"

compile() # SOURCE FILE, and the file of this project whose compiler options it takes
{
    local command
    command=$(grep -F '"command"' "$build/compile_commands.json" | grep -F -- "-c $2\"" | head -n 1 |
        sed 's/.*"command": "//; s/",*$//; s/\\\\\\"/\\"/g')
    (cd "$build" && eval "${command%% -o *}" -O0 -Wno-error -I "$source/labs" -o "$folder/$(basename "$2").o" -c "$1")
}

# Link the lab as a model: with this object in place of the formula, or, if it is of the harness, before its library.
link_lab() # SOURCE FILE
{
    local made its
    made="$folder/$(basename "$1").o"
    its=$(grep -oE "CMakeFiles/formula_[^ ]*/${lab}_formula\.c\.o" "$link")
    [[ $1 == "$formula" ]] || made="$its $made"
    (cd "$build" && eval "$(sed "s|$its|$made|; s|-o lib/model/|-o $folder/lib/model/|" "$link")")
}

judge() # WHAT MACHINE: print the claims about time, and about formulas, that are found wrong on this machine, sorted
{
    local machine said
    rm -rf "$folder/results"
    "$folder/bin/$lab" --platform "$2" --rounds 3 "${judged_steps[@]}" --out "$folder/results" >"$folder/log" 2>&1 </dev/null ||
        { complain "$1: the lab failed: $(tail -n 1 "$folder/log")"; return 1; }
    machine=$(basename "$2" .xml)
    said=$("$build/bin/claims" --results "$folder/results" --expected "$source/expected" --platform "$machine" --only "$lab" 2>&1)
    grep -q '^Of [0-9]* claims about time' <<<"$said" || { complain "$1: not judged: $(tail -n 2 <<<"$said")"; return 1; }
    sed -nE "s/^(ratio|shape|formula), ([a-z_0-9 ]+), ([a-z_0-9]+) \\($machine\\): .*/\\3 of \\2 on $machine/p" <<<"$said" | sort -u
}

machines=("$source/tests/sim/round_numbers.xml" blog)
declare -A right # by machine
compile "$formula" "$formula" && link_lab "$formula" || exit 1
for machine in "${machines[@]}"; do
    right[$machine]=$(judge "the right formula" "$machine") || exit 1
done
! grep -E '^(predicted|term)_.* on blog$' <<<"${right[blog]}" || complain "the right formula: these claims about it are found wrong"
mutants=0
while IFS='|' read -r what file script; do
    [[ -n $what && $what != '#'* ]] || continue
    what=${what%"${what##*[! ]}"}
    case ${file// /} in
    formula) file=$formula ;;
    *) file=$source/common/${file// /}.c ;;
    esac
    sed "$script" "$file" >"$folder/wrong.c"
    if cmp -s "$file" "$folder/wrong.c"; then
        complain "$what: $file has no such line any more; adapt tests/labs/mutants/$lab.txt"
        continue
    fi
    compile "$folder/wrong.c" "$file" >"$folder/log" 2>&1 || { complain "$what: $(grep -m 1 error "$folder/log")"; continue; }
    link_lab "$file" || continue
    for machine in "${machines[@]}"; do
        wrong=$(judge "$what" "$machine") || { failed=1; continue 2; }
        found=$(comm -13 <(printf '%s\n' "${right[$machine]}") <(printf '%s\n' "$wrong") | sed '/^$/d')
        [[ -z $found ]] || break
    done
    printf '%-60s %s\n' "$what" "${found//$'\n'/, }"
    [[ -n $found ]] || complain "$what: no claim finds it wrong"
    mutants=$((mutants + 1))
done <"$here/mutants/$lab.txt"
((mutants > 0)) || complain "no wrong formula was tried"
exit "$failed"
