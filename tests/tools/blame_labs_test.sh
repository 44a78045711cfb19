#!/usr/bin/env bash
# usage: blame_labs_test.sh BIN FOLDER: check that tools/blame computes from a lab's spans.csv the lab's own results. Runs every
# lab on the blog's modelled machine. Spans have six decimals, so the last decimal of a mean may differ by one.
set -euo pipefail
bin=$(realpath "$1")
folder=$2
rm -rf "$folder"
mkdir -p "$folder"

die() {
    echo "blame_labs_test: $*" >&2
    exit 1
}

# Check that a table has the same rows in the lab's and in blame's folder, in any order.
compare() # TABLE KEY_COLUMNS VALUE_COLUMNS
{
    awk -F, -v keys="$2" -v columns="$3" '
        FNR == 1 { file++; header = 0 }
        /^#/ { next }
        !header { header = 1; delete at; for (i = 1; i <= NF; i++) at[$i] = i; next }
        {
            key = ""
            for (i = 1; i <= split(keys, name, " "); i++) key = key " " $at[name[i]]
            rows[file]++
            for (i = 1; i <= split(columns, name, " "); i++) {
                if (!(name[i] in at)) { print "no column " name[i]; bad = 1; continue }
                value = $at[name[i]]
                if (file == 1) { lab_has[key, name[i]] = value; continue }
                if (!((key, name[i]) in lab_has)) { print key ": not in the lab" ; bad = 1; continue }
                theirs = lab_has[key, name[i]]
                gap = value - theirs
                if ((value == "") != (theirs == "") || gap > 2.5e-6 || gap < -2.5e-6) { print key ": " name[i] " is " value ", not " theirs; bad = 1 }
                compared++
            }
        }
        END { if (rows[1] != rows[2] || !compared) { print rows[1] " rows, and " rows[2]; bad = 1 } exit bad }' \
        "$lab_folder/$1" "$folder/$lab/$1" >"$folder/said" || { head "$folder/said"; die "$lab: $1"; }
}

mkdir -p "$folder/bin"
ln -sf /usr/bin/* "$folder/bin/"
rm -f "$folder/bin/gnuplot"
for binary in "$bin"/0?_*; do
    lab=$(basename "$binary")
    lab_folder=$folder/results/platforms/blog/$lab
    "$binary" --platform blog --quick --out "$folder/results" </dev/null >"$folder/$lab.txt" 2>&1 ||
        { cat "$folder/$lab.txt"; die "$lab"; }
    baseline=$(awk -F, '/^#/ || $1 == "lab" { next } { print $2; exit }' "$lab_folder/summary.csv")
    # The order of rows in spans.csv must not matter.
    { grep '^#\|^rank,' "$lab_folder/spans.csv"; grep -v '^#\|^rank,' "$lab_folder/spans.csv" | sort -t, -k8,8n -k1,1nr; } \
        >"$folder/spans.csv"
    for spans in "$folder/spans.csv" "$lab_folder/spans.csv"; do
        PATH=$folder/bin "$bin/blame" "$spans" --baseline "$baseline" --out "$folder/$lab" >"$folder/$lab.txt" 2>&1 ||
            (($? == 10)) || { cat "$folder/$lab.txt"; die "$lab: blame"; }
        grep -qx 'gnuplot is not installed, so no charts.' "$folder/$lab.txt" || die "$lab: no word of the charts that are missing"
        compare summary.csv case "ranks steps rounds slowest_rank slowest_step_ms data_ms local_ms host_ms wait_ms transfer_ms exposed_ms blamed_rank blamed_wait_ms what_if_ms"
        compare ranks.csv "case rank" "step_ms data_ms local_ms host_ms wait_ms transfer_ms exposed_ms caused_wait_ms last_share"
    done
    grep -q '^# simulated: platform blog' "$folder/$lab/summary.csv" || die "$lab: not marked as simulated"
done
[[ ${lab:-} ]] || die "no labs in $bin"
echo "blame says of every lab's spans what the lab says"
