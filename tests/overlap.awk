# usage: awk -f overlap.awk CHART.svg: tells pairs of texts that lie on each other, and texts that leave the page, in a chart
# drawn by gnuplot. Ends with 1 when there are some, or no text at all. Run it under LC_ALL=C: letters are counted by hand.
#
# How wide a letter is, the file does not say; these are a little less than the mean of DejaVu Sans, so that what is told is
# so with any font.
BEGIN { letter = 0.52; bold_letter = 0.58 }

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
    letters = text
    gsub(/[\200-\277]/, "", letters) # but the first byte of each
    if (letters == "") next
    wide = length(letters) * size * (is_bold ? bold_letter : letter)
    left = anchor == "end" ? -wide : anchor == "middle" ? -wide / 2 : 0
    key = text "@" place
    if (key in seen) next # a box behind it is drawn as the text itself
    seen[key] = 1
    n++
    said[n] = text
    if (is_turned) { # from below upwards
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
            if (x1[i] < x2[j] - 1 && x1[j] < x2[i] - 1 && y1[i] < y2[j] - 1 && y1[j] < y2[i] - 1) {
                printf "%s: \"%s\" lies on \"%s\"\n", FILENAME, said[i], said[j]
                bad = 1
            }
    }
    exit bad
}
