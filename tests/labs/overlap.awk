# usage: awk -f overlap.awk CHART.svg: print pairs of texts that touch each other, and texts that leave the page, in a chart
# drawn by gnuplot. Exit status 1 if there are any, or no text at all. Run under LC_ALL=C: the script counts letters itself.
#
# The file does not contain letter widths. The widths below are approximately those of DejaVu Sans, in units of its size.
function width_of(text,    wide) {
    gsub(/[\200-\277]/, "", text) # keep the first byte of each letter
    wide = 0.63 * gsub(/[0-9]/, "", text) + 0.3 * gsub(/[ .,:;|ijl()]/, "", text) + 0.9 * gsub(/[mwMW\303]/, "", text) # \303: of ×
    return wide + 0.57 * length(text)
}

function attribute(name,    from) {
    from = index($0, name "=\"") + length(name) + 2
    return substr($0, from, index(substr($0, from), "\"") - 1)
}

/<svg/ { split("", box) }
/viewBox=/ { split(attribute("viewBox"), page, " ") }
/<g transform="translate\(/ {
    place = attribute("transform")
    split(substr(place, 11), at, "[,)]")
    is_turned = place ~ /rotate/
    size = attribute("font-size") + 0
    anchor = attribute("text-anchor")
}
/<text>/ {
    text = $0
    is_bold = text ~ /font-weight="bold"/
    gsub(/<[^>]*>/, "", text)
    gsub(/&[a-z]+;/, "x", text)
    gsub(/^[ \t]+|[ \t]+$/, "", text)
    if (text == "") next
    wide = width_of(text) * size * (is_bold ? 1.1 : 1)
    left = anchor == "end" ? -wide : anchor == "middle" ? -wide / 2 : 0
    key = text "@" place
    if (key in seen) next # the box behind a text repeats the text
    seen[key] = 1
    n++
    said[n] = text
    if (is_turned) { # reads upwards
        x1[n] = at[1] - 0.7 * size; x2[n] = at[1] + 0.15 * size
        y1[n] = at[2] - left - wide; y2[n] = at[2] - left
    } else {
        x1[n] = at[1] + left; x2[n] = x1[n] + wide
        y1[n] = at[2] - 0.7 * size; y2[n] = at[2] + 0.15 * size
    }
}

END {
    if (n == 0) { print FILENAME ": no text"; exit 1 }
    for (i = 1; i <= n; i++) {
        if (x1[i] < 0 || y1[i] < 0 || x2[i] > page[3] || y2[i] > page[4]) {
            printf "%s: \"%s\" leaves the page\n", FILENAME, said[i]
            bad = 1
        }
        for (j = 1; j < i; j++)
            if (x1[i] < x2[j] + 3 && x1[j] < x2[i] + 3 && y1[i] < y2[j] - 1 && y1[j] < y2[i] - 1) {
                printf "%s: \"%s\" touches \"%s\"\n", FILENAME, said[i], said[j]
                bad = 1
            }
    }
    exit bad
}
