#!/usr/bin/env bash
# usage: texts_test.sh BIN SOURCE FOLDER: check the texts that are not lessons. The README and the guide to a new lab keep to their
# lengths; links lead to files and headings; labs accept the commands that the texts show (--dry-run, which starts nothing), and
# run_all.sh knows the options. Works in FOLDER/texts.
# shellcheck disable=SC2016 # backticks are those of Markdown
set -uo pipefail

# shellcheck source=tests/support/frame.sh
source "$(dirname "$0")/../support/frame.sh"

bin=$(realpath "$1")
folder=$(realpath -m "$3")/texts
cd "$2" || exit 1
rm -rf "$folder"
mkdir -p "$folder"
shopt -s nullglob
texts=(README.md CONTRIBUTING.md docs/*.md notebooks-md/*.md)

most() # WORDS FILE
{
    local words
    words=$(wc -w <"$2")
    ((words <= $1)) || complain "$2 has at most $1 words" "$words"
}
most 500 README.md
most 800 docs/adding_a_lab.md
((($(grep -c '^| ' <(sed -n '/^## The words/,$p' notebooks-md/README.md)) - 1) <= 40)) || complain "the glossary has at most 40 words"

# --- links ---------------------------------------------------------------------------------------------------------------

# Print GitHub's names of a file's headings; the second of equal ones is name-1.
headings() # FILE
{
    awk '/^```/ { code = !code } !code && /^#+ / { sub(/^#+ /, ""); print }' "$1" |
        LC_ALL=C.UTF-8 sed -E 's/\[([^]]*)\]\([^)]*\)/\1/g; s/.*/\L&/; s/[^[:alnum:] _-]//g; s/ /-/g' |
        awk '{ print $0 (seen[$0]++ ? "-" seen[$0] - 1 : "") }'
}

for text in "${texts[@]}"; do
    while read -r target; do
        case $target in http://* | https://*) continue ;; esac
        file=${target%%#*}
        file=${file:+$(dirname "$text")/$file}
        file=${file:-$text}
        if [[ ! -e $file ]]; then
            complain "$text" "its link leads to $target, which does not exist"
        elif [[ $target == *'#'* ]]; then
            grep -qxF -- "${target#*#}" <(headings "$file") || complain "$text" "its link leads to $target, and $file has no such heading"
        fi
    done < <(sed 's/`[^`]*`//g' "$text" | grep -oE '\]\([^) ]+' | sed 's/](//')
done

# Each page of docs/ is in its list, and each page for readers is reached from the reading order.
for page in docs/*.md; do
    [[ $page == docs/README.md ]] || grep -qF "($(basename "$page"))" docs/README.md || complain "docs/README.md lists every page" "$page"
done
for page in notebooks-md/*.md; do
    [[ $page == */README.md ]] || grep -qF "($(basename "$page"))" notebooks-md/README.md ||
        complain "notebooks-md/README.md leads to every page" "$page"
done
for lab in labs/[0-9][0-9]_*.h; do
    lab=$(basename "$lab" .h)
    grep -qF "notebooks-md/$lab.md" README.md || complain "README.md lists every lab" "$lab"
done

# --- commands --------------------------------------------------------------------------------------------------------------

# Print the commands that begin a line of a code block, without comments, and those within a line. Those with … are no commands.
commands() # FILE
{
    {
        grep -oE '^    (build/bin|\./run_all\.sh)[^#]*' "$1" | sed 's/ && .*//; s/ *$//; s/^ *//'
        grep -oE '`(build/bin/|\./run_all\.sh )[^`]*`' "$1" | tr -d '`'
    } | grep -vE '…|NN_|NAME|FILE|DIR' | sort -u
}

run_all_help=$(./run_all.sh --help)
for text in "${texts[@]}"; do
    while read -r program options; do
        read -ra words <<<"$options"
        case $program in
        ./run_all.sh)
            for word in "${words[@]}"; do
                [[ $word != --* ]] || grep -qE -- "^ +${word%%=*}( |$)" <<<"$run_all_help" || complain "$text" "run_all.sh has no $word"
            done
            ;;
        build/bin/[0-9][0-9]_*)
            [[ " $options " != *" --help "* ]] || continue
            # A trial lab is not there. GPUs and SimGrid may be missing (77).
            if [[ ! -e labs/${program##*/}.c ]]; then
                [[ ${program##*/} == 11_slow_disk ]] || complain "$text" "there is no $program"
                continue
            fi
            read -ra words <<<"${options/--blind/}" # which hides what --dry-run would show
            said=$("$bin/${program##*/}" "${words[@]}" --dry-run --out "$folder/out" 2>&1 </dev/null)
            status=$?
            if [[ $said == *"starts nothing that --dry-run could leave out"* ]]; then # it computes something, at once
                said=$("$bin/${program##*/}" "${words[@]}" 2>&1 </dev/null)
                status=$?
            fi
            ((status == 0 || status == 77)) || complain "$text" "$program $options: status $status"
            said=
            ;;
        build/bin/*)
            [[ -e $bin/${program##*/} || -n $(find tools -name "${program##*/}.c") ]] || complain "$text" "there is no $program"
            ;;
        esac
    done < <(commands "$text")
done

((failed)) || echo "${#texts[@]} texts: lengths, links and commands are right."
exit "$failed"
