#!/usr/bin/env bash
# usage: blind_test.sh LAB FOLDER: test the quiz (--blind) of a lab on the blog's machine with several seeds. The case must be
# hidden until the answer, every answer must be judged and kept, and the printed command must give the same results. Works in
# FOLDER/blind.
set -uo pipefail

# shellcheck source=tests/support/frame.sh
source "$(dirname "$0")/../support/frame.sh"

lab=$(realpath "$1")
name=$(basename "$lab")
folder=$(realpath -m "$2")/blind
# shellcheck source=tests/labs/facts.sh
source "$(dirname "$0")/facts.sh"
several+=("${candidates[@]}")
tables=platforms/blog/blind/$name # folder of a quiz within the results

play() # RESULTS OPTION...: run a quiz with answers from standard input; output goes to files out and err
{
    "$lab" --blind --platform blog "${several[@]}" --out "$1" "${@:2}" >out 2>err || complain "$*: status $?: $(<err)"
}

kept() # RESULTS COLUMN: print this column of the last quiz
{
    awk -F, -v column="$2" "$by_column"'{ value = $at[column] } END { print value }' "$1/blind.csv"
}

answered() # NAME CASE RANK JUDGEMENT: check the answer that was kept in folder NAME
{
    local was
    was="$(kept "$1" answered_case) $(kept "$1" answered_rank) $(kept "$1" right)"
    [[ $was == "$2 $3 $4" ]] || complain "$1: kept '$was' instead of '$2 $3 $4'"
}

refused() # WORD CURE OPTION...: check for exit status 2 and one line that holds the wrong WORD and the CURE
{
    "$lab" --out refused "${@:3}" </dev/null >out 2>err
    local status=$?
    ((status == 2)) || complain "${*:3}: status $status, not 2"
    [[ $(wc -l <err) == 1 && $(<err) == *"$1"*"$2"* ]] || complain "${*:3}: not '$1 … $2': $(<err)"
    [[ ! -e refused && ! -s out ]] || complain "${*:3}: does something before it refuses"
}

work_in "$folder"
mapfile -t cases < <("$lab" --help | sed -nE '1,/^usage/s/^  ([a-z0-9_]+) .*/\1/p')
((${#cases[@]} > 2)) || complain "--help names too few cases: ${cases[*]}"
any=$(IFS='|' && echo "${cases[*]:1}") # as a pattern of grep

# Output before the question does not reveal the case. The truth is printed after the answers. A run with the case's name gives
# the same rows.
seen=() ranks=()
for seed in 1 2 3; do
    coproc game { exec "$lab" --blind --platform blog "${several[@]}" --seed "$seed" --out "by_seed $seed" 2>err; }
    # shellcheck disable=SC2154 # coproc sets it
    pid=$game_PID
    exec {to}>&"${game[1]}" {from}<&"${game[0]}"
    before=
    while IFS= read -r line <&"$from" && [[ $line != "Which case is it?" ]]; do
        before+=$line$'\n'
    done
    [[ $before == *"rank 3"*" hidden: which case is this?"*"rank 0"*"ms a step"*"rank 3"* ]] || complain "$seed: no lanes, no table"
    given_away=$({ cat err; echo "$before"; } | grep -wE "$any") && complain "$seed: given away: $given_away"
    given_away=$(grep -rwE "$any" "by_seed $seed") && complain "$seed: given away in tables: ${given_away:0:300}"
    printf 'nonsense\n1\nn\n' >&"$to"
    cat <&"$from" >rest
    wait "$pid" || complain "$seed: status $?"
    exec {to}>&- {from}<&-
    truth=$(kept "by_seed $seed" case)
    seen+=("$truth") ranks+=("$(kept "by_seed $seed" rank)")
    grep -qx "It was $truth:" rest || complain "$seed: the true case is not named"
    [[ $(grep -c "'nonsense' is not one of them" rest) == 1 ]] || complain "$seed: nonsense was not asked again"
    [[ " ${cases[*]:1} " == *" $truth "* ]] || complain "$seed: '$truth' is no case but the baseline"
    [[ $(kept "by_seed $seed" answered_case) == "${cases[1]}" && $(kept "by_seed $seed" answered_rank) == none ]] ||
        complain "$seed: the answer was not kept"
    for table in summary ranks rounds spans lanes; do
        grep -q ",\?hidden," "by_seed $seed/$tables/$table.csv" || complain "$seed: $table.csv has no hidden case"
    done
    files=$(cd "by_seed $seed/$tables" && echo *)
    [[ $files == "card.csv lanes.csv memory.csv ranks.csv rounds.csv spans.csv summary.csv trace.json$verdict" ]] || complain "$seed: tables: $files"
    [[ ! -e "by_seed $seed/platforms/blog/$name" ]] || complain "$seed: looks like the results of a real run"
done
(($(printf '%s\n' "${seen[@]}" | sort -u | wc -l) > 1)) || complain "every seed draws ${seen[0]}"
awk -F, "$by_column"'
    ($at["case"] == "hidden") != ($at["predicted_step_ms"] == "") { exit 1 }' "by_seed 1/$tables/summary.csv" ||
    complain "the hidden case's formula, and no other, is to be blank"
grep -A1 'By name:$' rest | sed 1d | bash >out 2>err || complain "the command by name: $(<err)"
sed -n "/^hidden,/s//$truth,/p" "by_seed 3/$tables/ranks.csv" | cmp - <(grep "^$truth," "by_seed 3/platforms/blog/$name/ranks.csv") ||
    complain "by name, $truth has other rows"

# The same seed gives the same quiz. The true answer is right with blanks around it, too. Without an answer the truth is still
# printed.
printf ' %s \n%s\n' "$truth" "${ranks[2]}" | play again --seed 3
answered again "$truth" "${ranks[2]}" right
[[ $(grep -c "You said so: right" out) == 2 ]] || complain "two right answers are not called right"
cmp <(sed '/^# command/d; /^# settings/d; /^# when/d' "by_seed 3/$tables/ranks.csv") <(sed '/^# command/d; /^# settings/d; /^# when/d' "again/$tables/ranks.csv") ||
    complain "the same seed does something else"
few=(--quick --cases "${cases[1]}" --cases "${cases[2]}" --seed 3) # a short quiz
play again "${few[@]}" </dev/null
answered again "" "" ""
[[ $(wc -l <again/blind.csv) == 3 ]] || complain "a quiz is not a row: $(<again/blind.csv)"
grep -qx "It was $(kept again case):" out || complain "an empty answer does not show the true case"

# An empty file of answers gets column names. A file that cannot be written does not end the quiz.
mkdir -p empty full/blind.csv
: >empty/blind.csv
play empty "${few[@]}" </dev/null
[[ $(wc -l <empty/blind.csv) == 2 && $(kept empty seed) == 3 ]] || complain "an empty file of answers: $(<empty/blind.csv)"
play full "${few[@]}" </dev/null
grep -q "cannot save your answer in full/blind.csv" err || complain "no word of an answer that is not kept: $(<err)"

case $name in
01_straggler) # the other one of two cases is half right if it has the same pathology, otherwise wrong
    for pair in "skew_ws4 skew_prefetch half" "skew_ws4 slow_core wrong"; do
        read -r one two judged <<<"$pair"
        play "$judged" --cases "$one" --cases "$two" --quick --slow-rank 2 --ranks 3 </dev/null
        truth=$(kept "$judged" case) other=$one
        [[ $truth != "$one" ]] || other=$two
        printf '%s\n9\n0\n' "$other" | play "$judged" --cases "$one" --cases "$two" --quick --slow-rank 2 --ranks 3 \
            --seed "$(kept "$judged" seed)"
        answered "$judged" "$other" 0 "$judged"
        [[ $(kept "$judged" case) == "$truth" && $(kept "$judged" rank) == 2 ]] || complain "the rank that was typed is not it"
        grep -q "^You said $other: $judged" out || complain "$judged is not printed"
        grep -q "'9' is not a rank; enter 0 to 2" out || complain "a rank that does not exist was not asked again"
        grep -q "rank 2. You said rank 0: wrong" out || complain "the wrong rank is not called wrong"
    done
    [[ $(kept half seed) != "$(kept wrong seed)" ]] || complain "two quizzes without a seed are the same"
    (($(printf '%s\n' "${ranks[@]}" | sort -u | wc -l) > 1)) || complain "every seed draws rank ${ranks[0]}"
    refused "no case" "name two" --blind --cases baseline
    refused "a single case" "name two" --blind --cases busy
    refused "--guess busy=3" "leave one out" --blind --guess busy=3
    refused "--card-only" "leave one out" --blind --card-only
    OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 refused "--blind" "without mpirun" --blind
    play alone --ranks 1 --seed 1 </dev/null # no rank waits, so the quiz asks for none
    ! grep -q "Which rank" out || complain "a rank alone is asked for"
    ;;
02_rank0_host) # two ranks are late, so none is the cause
    play two --cases barrier_two_late --cases two_late_no_barrier --quick </dev/null
    [[ $(kept two rank) == none ]] || complain "one of two late ranks is kept as the cause"
    grep -qx "No single rank is the cause." out || complain "one of two late ranks is the cause"
    ;;
07_triage) # a mixture instead of a case, unless cases are named; on a machine without jitter shares are what was drawn
    machine=$(realpath "$(dirname "$0")/../sim/round_numbers.xml")
    mixed() # RESULTS OPTION...: a quiz about a mixture, with answers from standard input
    {
        "$lab" --blind --platform "$machine" --out "$1" "${@:2}" >out 2>err || complain "${*:2}: status $?: $(<err)"
    }
    drawn() # SUSPECT [COLUMN]: print what was drawn, or another column
    {
        awk -v suspect="$1" -v column="${2:-2}" '$1 == suspect { print $column }' <(sed -n '/^It was, in/,/^Bound by/p' out)
    }
    causes=()
    for seed in 5 8; do # of four seeds, 5 to 8, each leads with another cause
        mixed mix --seed "$seed" </dev/null
        biggest=- most=0
        for suspect in data launches memory compute; do
            percent=$(drawn "$suspect") found=$(drawn "$suspect" 4)
            ((percent - found < 6 && found - percent < 6)) || complain "mixture $seed: $suspect drawn $percent, found $found"
            ((percent <= most)) || biggest=$suspect most=$percent
        done
        grep -q "^Bound by, says the program: $biggest\." out || complain "mixture $seed: not bound by $biggest"
        causes+=("$biggest")
    done
    (($(printf '%s\n' "${causes[@]}" | sort -u | wc -l) > 1)) || complain "mixtures are alike: ${causes[*]}"
    answers=$(for suspect in data launches memory compute; do drawn "$suspect"; done)
    truth=$(kept mix case)
    by_name=$(grep -A1 'By name:$' out | sed 1d)
    mixed right --seed 8 <<<"$answers"
    [[ $(kept right right) == right && $(kept right answered_case) == "$truth" && $(<out) == *"each share within 10 points: right"* ]] ||
        complain "the true shares are not right: $(tail -1 right/blind.csv)"
    printf 'much\n101\n100\n0\n0\n0\n' | mixed wrong --seed 8 --mix-data 20 --mix-memory 50 --mix-launches 0 --mix-compute 0
    [[ $(kept wrong right) == wrong && $(kept wrong case) == "data 20 memory 50" ]] || complain "typed shares: $(tail -1 wrong/blind.csv)"
    [[ $(grep -o 'is no number from 0 to 100' out | wc -l) == 2 ]] || complain "'much' and 101 were not asked again"
    printf '20\n0\n80\n0\n' | mixed half --seed 8 --mix-data 20 --mix-memory 50 --mix-launches 0 --mix-compute 0
    [[ $(kept half right) == half ]] || complain "the largest alone is not half right: $(tail -1 half/blind.csv)"
    bash <<<"$by_name --verdict" >out 2>err || complain "the mixture by name: $(<err)"
    cmp <(sed -n 's/^hidden,//p' "mix/platforms/round_numbers/blind/$name/verdict.csv" | cut -d, -f1-4,6-) \
        <(sed -n 's/^mixture,//p' "mix/platforms/round_numbers/$name/verdict.csv" | cut -d, -f1-4,6-) || complain "by name, the mixture has other shares"
    ;;
10_memory) # an owner of memory instead of a rank
    truths=
    for seed in 1 2 3 4; do
        printf 'leak\nbrain\nActivations\n' | play owner --cases leak --cases recompute_attention --quick --seed "$seed"
        truths+="$(kept owner case) $(kept owner rank) "
        [[ $(kept owner answered_rank) == activations ]] || complain "seed $seed: the owner was not kept"
        grep -q "'brain' is none of the owners above" out || complain "seed $seed: an owner that does not exist was not asked again"
        awk -v leaks="$([[ $(kept owner case) == leak ]] && echo 1)" '$1 == "activations" { exit leaks ? !($3 > $2) : !($3 < $2) }' out ||
            complain "seed $seed: not what was held: $(grep '^ *activations' out)"
    done
    [[ $truths == *"leak activations "* && $truths == *"recompute_attention none "* && $truths != *"leak none"* ]] || complain "owners: $truths"
    ;;
05_token_skew) refused "--blind" "leave out --blind" --blind --print-batches ;;
esac

((failed)) || echo "The quiz hides its case until the end."
exit "$failed"
