#!/usr/bin/env bash
# usage: symbols_test.sh SOURCE: check that the table of notebooks-md/symbols.md gives each letter one meaning, and that formulas of
# labs (comments at the head of their sources) and lessons use only these letters. A lesson's own table of symbols repeats the
# meanings. Lessons without a line "<!-- run: … -->" are not written to this table yet and are not read.
# shellcheck disable=SC2016 # backticks are those of Markdown
set -uo pipefail

cd "$1" || exit 1
export LC_ALL=C # letters beyond ASCII are pairs of bytes in every awk
table=notebooks-md/symbols.md
failed=0
complain()
{
    printf 'symbols_test: %s\n' "$*" >&2
    failed=1
}

# Print the rows of a file's tables of symbols (header "symbol" or "word"): kind, symbol, meaning, and the last cell, by tabs.
table_rows() # FILE
{
    awk '
        function trim(s) { gsub(/^[ \t`]+|[ \t`]+$/, "", s); return s }
        !/^\|/ { inside = 0; next }
        { count = split($0, cell, "|"); first = trim(cell[2]) }
        first == "symbol" || first == "word" && FILENAME ~ /symbols/ { inside = first; next }
        inside && first !~ /^-+$/ { printf "%s\t%s\t%s\t%s\n", inside, first, trim(cell[3]), cell[count - 1] }' "$1"
}

# Print a symbol without its bytes, ranks and index: T for T(M, n), B for B with a small zero.
base_of() # SYMBOL
{
    sed 's/(.*//; s/\xe2\x82[\x80-\x89]//g; s/\xe1\xb5\xa2//g' <<<"$1"
}

# --- the table itself -----------------------------------------------------------------------------------------------------

declare -A meaning=()
letters=' '
while IFS=$'\t' read -r kind symbol text code; do
    base=$(base_of "$symbol")
    [[ -z ${meaning[$base]-} ]] || complain "$table: two meanings of $base"
    meaning[$base]=$text
    if [[ $kind == symbol ]]; then
        [[ $letters != *" $base "* && ! ($base == [a-z] && $letters == *" ${base^^} "*) && ! ($base == [A-Z] && $letters == *" ${base,,} "*) ]] ||
            complain "$table: $base is there as a capital and as a small letter"
        letters+="$base "
    fi
    while read -r name; do # names of the last column exist in the code, in a machine card or as files
        name=${name%()}
        [[ -e $name || $name == card.csv ]] || grep -rqF -e "${name#\?}" labs common platforms tests/fuzz/corpus/card ||
            complain "$table: $symbol: '$name' is neither in labs/ nor in common/"
    done < <(grep -oE '`[^`]+`' <<<"$code" | tr -d '`')
done < <(table_rows "$table")
((${#meaning[@]} > 10)) || complain "$table: no table of symbols was found"
for base in n B k W S T; do
    [[ $letters == *" $base "* ]] || complain "$table lacks $base"
done

# --- letters in use -----------------------------------------------------------------------------------------------------------

# Print FILE:LINE and each letter that stands alone in a text and is not in the table. Not read: code, comments of HTML, addresses, units
# after a number, and the words a, I and C. `a` counts where it stands beside an operator.
strange_letters() # NAME: the text is standard input
{
    sed -E 's/\xce\xb1/ @alpha /g; s/\xce\xb2/ @beta /g; s/\xce\xa8/ @psi /g; s/\xce\xa3/ /g; s/\xc3\x97/ * /g; s/\xe2\x88\x92/ - /g; s/\xe2\x81\xbf/ n /g
            s/\xc2\xb5/micro/g; s/\xce[\x91-\xbf]|\xcf[\x80-\x89]/ @other /g; s/\xe2\x80\x99/'"'"'/g; s/\xe2\x80\xb2/ @prime /g
            s/[\x80-\xff]+/ /g
            s/i\.e\.|e\.g\.|I\/O|A\/A//g; s/([0-9]) ?s([^A-Za-z]|$)/\1 \2/g; s#/s([^A-Za-z]|$)#\1#g; s/'"'"'[a-z]+//g' |
        awk -v name="$1" -v letters="$letters" '
            BEGIN { gsub(/\316\261/, "@alpha", letters); gsub(/\316\262/, "@beta", letters); gsub(/\316\250/, "@psi", letters) }
            /(^|[^A-Za-z0-9_])a *[*+\/=^(] *[A-Za-z0-9(@]/ && !/ a \(/ || /[*+=\/] *a([^A-Za-z0-9_]|$)/ { print name ":" FNR ": a" }
            /[0-9]x([^A-Za-z0-9]|$)/ { print name ":" FNR ": x (write the sign of multiplication)" }
            {
                count = split($0, word, /[^A-Za-z0-9_@]+/)
                for (i = 1; i <= count; i++)
                    if ((word[i] ~ /^[A-Za-z]$/ || word[i] ~ /^@(alpha|beta|psi|other|prime)$/) && word[i] !~ /^[aIC]$/ && index(letters, " " word[i] " ") == 0)
                        print name ":" FNR ": " word[i]
            }' | sort -u
}

# The text of a Markdown file, line by line, with blanks for what is not read.
prose() # FILE
{
    awk '/^```/ { code = !code; print ""; next } code || /^    / || /^!\[/ { print ""; next } { print }' "$1" |
        awk '{ # comments of HTML may take several lines
            rest = $0; kept = ""
            while (rest != "") {
                if (inside) { at = index(rest, "-->"); if (!at) break; rest = substr(rest, at + 3); inside = 0 }
                else { at = index(rest, "<!--"); if (!at) { kept = kept rest; break } kept = kept substr(rest, 1, at - 1); rest = substr(rest, at + 4); inside = 1 }
            }
            print kept }' |
        sed -E 's/\*+//g; s/\| s \|/|/g; s/`[^`]*`/ /g; s/\]\([^)]*\)/ /g; s/<[^>]*>/ /g; s#https?://[^ )]*##g'
}

# The comment at the head of a source.
head_comment() # FILE
{
    awk '{ print } /\*\// { exit }' "$1" | sed -E 's/[A-Za-z0-9_./*-]+\.(md|csv|c|h)//g; s/--[a-z-]+ [A-Z]//g'
}

for file in labs/[0-9][0-9]_*.c tools/lab_template/lab_formula.c; do
    found=$(head_comment "$file" | strange_letters "$file")
    [[ -z $found ]] || complain "letters that $table does not have: $(paste -sd ';' <<<"$found")"
done

# Titles, axes and labels of charts, as far as they are written out, without gnuplot's formats (%g).
for file in plots/*.gp; do
    found=$(grep -oE '(title|label|page\() *=? *"[^"]*"(, *"[^"]*")?' "$file" | sed -E 's/%[-+0-9.]*[a-z]//g' | strange_letters "$file")
    [[ -z $found ]] || complain "letters that $table does not have: $(paste -sd ';' <<<"$found")"
done

lessons=0
for file in notebooks-md/*.md; do
    [[ $file != "$table" ]] || continue
    case $file in *README.md | *workshop.md) ;; *) grep -q '^<!-- run:' "$file" || continue ;; esac
    lessons=$((lessons + 1))
    found=$(prose "$file" | strange_letters "$file")
    [[ -z $found ]] || complain "letters that $table does not have: $(paste -sd ';' <<<"$found")"
    while IFS=$'\t' read -r _ symbol text _; do
        base=$(base_of "$symbol")
        if [[ -z ${meaning[$base]-} ]]; then
            complain "$file: $symbol stands in its table of symbols, not in $table"
        elif [[ $base == "${symbol%%(*}" && ${text,,} != "${meaning[$base],,}"* ]]; then # with an index: of one rank
            complain "$file: $symbol is '$text' there, and '${meaning[$base]}' in $table"
        fi
    done < <(table_rows "$file")
done

((failed)) || echo "One meaning for each symbol, in the formulas of all labs and in $lessons pages."
exit "$failed"
