#!/usr/bin/env bash
# usage: mutants_test.sh BUILD FOLDER LAB: make the lab's formula wrong in each of the ways of tests/labs/mutants/LAB.txt, run the lab on
# the modelled machine of the posts, and judge its claims. Each wrong formula must be found wrong; the right one must not.
set -uo pipefail

here=$(dirname "$(readlink -f "$0")")
source=$(dirname "$(dirname "$here")")
build=$1 folder=$2 lab=$3
formula="$source/labs/${lab}_formula.c"
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
object=$(grep -oE 'CMakeFiles/formula_[^ ]*_formula\.c\.o' "$link")
compiler=$(grep -F '"command"' "$build/compile_commands.json" | grep -F " $object " | head -n 1 | sed 's/.*"command": "//; s/",*$//; s/\\\\\\"/\\"/g')

make_lab() # FORMULA: as a model
{
    (cd "$build" && eval "${compiler%% -o *}" -I "$source/labs" -o "$folder/formula.o" -c "$1" &&
        eval "$(sed "s|$object|$folder/formula.o|; s|-o lib/model/|-o $folder/lib/model/|" "$link")")
}

count_wrong() # sets wrong to the number of claims about time that are found wrong, of at least one that was judged
{
    local said
    rm -rf "$folder/results"
    "$folder/bin/$lab" --platform blog --out "$folder/results" >"$folder/log" 2>&1 </dev/null ||
        { complain "$1: the lab failed: $(tail -n 1 "$folder/log")"; return 1; }
    said=$("$build/bin/claims" --results "$folder/results" --expected "$source/expected" --platform blog --only "$lab" 2>&1)
    wrong=$(sed -n 's/^Of [0-9]* claims about time, [0-9]* came out as predicted, \([0-9]*\) wrong.*/\1/p' <<<"$said")
    [[ -n $wrong ]] || { complain "$1: not judged: $(tail -n 2 <<<"$said")"; return 1; }
}

make_lab "$formula" || exit 1
wrong=''
count_wrong "the right formula" || exit 1
((wrong == 0)) || complain "the right formula: $wrong claims are found wrong"
mutants=0
while IFS='|' read -r what script; do
    [[ -n $what && $what != '#'* ]] || continue
    what=${what%"${what##*[! ]}"}
    sed "$script" "$formula" >"$folder/${lab}_formula.c"
    if cmp -s "$formula" "$folder/${lab}_formula.c"; then
        complain "$what: the formula has no such line any more; adapt tests/labs/mutants/$lab.txt"
        continue
    fi
    make_lab "$folder/${lab}_formula.c" >"$folder/log" 2>&1 || { complain "$what: $(grep -m 1 error "$folder/log")"; continue; }
    count_wrong "$what" || continue
    printf '%-60s %3d claims found wrong\n' "$what" "$wrong"
    ((wrong > 0)) || complain "$what: no claim finds it wrong"
    mutants=$((mutants + 1))
done <"$here/mutants/$lab.txt"
((mutants > 0)) || complain "no wrong formula was tried"
exit "$failed"
