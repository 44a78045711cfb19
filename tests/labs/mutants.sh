# mutants.sh: make a lab's formulas wrong in each of the ways of mutants/LAB.txt, and say which claims tell them on modelled machines.
# Source this file with $build, $folder (made anew) and $lab set, and with a function complain(). A caller may set other defaults.
# shellcheck shell=bash disable=SC2154 # scripts that source this file set the variables above
source=$(dirname "$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")")
# shellcheck source=tests/labs/facts.sh
name=$lab && source "$source/tests/labs/facts.sh"
formula="$source/labs/${lab}_formula.c"
backends=(model)   # which the lab's wrong formulas are made for
optimised=-O0      # option of the compiler; -O0: a modelled machine computes nothing
# One machine has round numbers and no noise; the second is that of the posts, whose ranks share memory bandwidth when they train the MLP.
# The third is that of round numbers with all ranks on one host: they share memory bandwidth, whatever they train.
machines=("$source/tests/sim/round_numbers.xml" blog "$folder/shared_bus.xml")
declare -A right # by machine: what judge_on() says of the right formula

link_of() # BACKEND: the file with its command
{
    printf '%s\n' "$build/CMakeFiles/${lab}_$1.dir/link.txt"
}

# Write a machine of twelve cores with a memory bus for two and a half ranks. Four ranks take 1.6 times as long as one.
write_shared_bus()
{
    sed 's/radical="0-3"/radical="0-0" core="12"/; s/loopback_bw="[^"]*"/loopback_bw="196348000Bps"/
        s/loopback_lat="0s"/loopback_lat="1ms"/; s|<prop id="device"|<prop id="ranks" value="12"/><prop id="memory_bus" value="memory"/>&|
        s|<cluster|<zone id="all" routing="Full">&|
        s|</cluster>|&<zone id="bus" routing="None"><host id="memory" speed="2.5Gf"><prop id="ranks" value="0"/></host></zone></zone>|' \
        "$source/tests/sim/round_numbers.xml" >"$folder/shared_bus.xml"
}

# Make the folder: a copy of the lab, which finds its modules beside itself. Exit with 77 if this build does not say how they are linked.
prepare_mutants()
{
    local backend
    rm -rf "$folder"
    mkdir -p "$folder/bin" "$folder/lib"
    cp "$build/bin/$lab" "$folder/bin/"
    ln -s "$build"/lib/* "$folder/lib/"
    for backend in "${backends[@]}"; do
        [[ -e $(link_of "$backend") ]] || { echo "not tested: the generator of this build writes no link.txt"; exit 77; }
        rm "$folder/lib/$backend"
        mkdir "$folder/lib/$backend"
        ln -s "$build/lib/$backend"/* "$folder/lib/$backend/"
        rm "$folder/lib/$backend/$lab.so"
    done
    write_shared_bus
}

compile() # SOURCE FILE, and the file of this project whose compiler options it takes
{
    local command
    command=$(grep -F '"command"' "$build/compile_commands.json" | grep -F -- "-c $2\"" | head -n 1 |
        sed 's/.*"command": "//; s/",*$//; s/\\\\\\"/\\"/g')
    # shellcheck disable=SC2086 # no option at all if $optimised is empty
    (cd "$build" && eval "${command%% -o *}" $optimised -Wno-error -I "$source/labs" -o "$folder/$(basename "$2").o" -c "$1")
}

# Link the lab's modules: with this object in place of the formula, or, if it is of the harness, before its library.
link_lab() # SOURCE FILE
{
    local backend made its
    made="$folder/$(basename "$1").o"
    for backend in "${backends[@]}"; do
        its=$(grep -oE "CMakeFiles/formula_[^ ]*/${lab}_formula\.c\.o" "$(link_of "$backend")")
        (cd "$build" && eval "$(sed "s|$its|$([[ $1 == "$formula" ]] || echo "$its ")$made|; s|-o lib/$backend/|-o $folder/lib/$backend/|" \
            "$(link_of "$backend")")") || return 1
    done
}

judge_on() # WHAT MACHINE: print the claims about time, and about formulas, that are found wrong on this modelled machine, sorted
{
    local machine said
    rm -rf "$folder/modelled"
    "$folder/bin/$lab" --platform "$2" --rounds 3 "${judged_steps[@]}" --out "$folder/modelled" >"$folder/log" 2>&1 </dev/null ||
        { complain "$1: the lab failed: $(tail -n 1 "$folder/log")"; return 1; }
    machine=$(basename "$2" .xml)
    said=$("$build/bin/claims" --results "$folder/modelled" --expected "$source/expected" --platform "$machine" --only "$lab" 2>&1)
    grep -q '^Of [0-9]* claims about time' <<<"$said" || { complain "$1: not judged: $(tail -n 2 <<<"$said")"; return 1; }
    sed -nE "s/^(ratio|shape|formula), ([a-z_0-9 ]+), ([a-z_0-9]+) \\($machine\\): .*/\\3 of \\2 on $machine/p" <<<"$said" | sort -u
}

judge_right() # set `right`
{
    local machine
    compile "$formula" "$formula" && link_lab "$formula" || return 1
    for machine in "${machines[@]}"; do
        right[$machine]=$(judge_on "the right formula" "$machine") || return 1
    done
}

# Set `found` to the claims, one a line, that tell the linked formula from the right one on the first machine where any does.
find_on_models() # WHAT
{
    local machine wrong
    for machine in "${machines[@]}"; do
        wrong=$(judge_on "$1" "$machine") || return 1
        found=$(comm -13 <(printf '%s\n' "${right[$machine]}") <(printf '%s\n' "$wrong") | sed '/^$/d')
        [[ -z $found ]] || return 0
    done
}

# Make each wrong formula, link it, and call the function with what is wrong. Complain if there are none, or if one cannot be made.
each_mutant() # FUNCTION
{
    local what file script mutants=0
    while IFS='|' read -r -u 3 what file script; do
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
        link_lab "$file" || { complain "$what: not linked"; continue; }
        "$1" "$what"
        mutants=$((mutants + 1))
    done 3<"$source/tests/labs/mutants/$lab.txt"
    ((mutants > 0)) || complain "no wrong formula was tried"
}
