#!/usr/bin/env bash
# usage: draw.sh NAME FOLDER [SETTINGS]: runs plots/NAME.gp on the tables in FOLDER. Charts are drawn in a subfolder and moved to
# FOLDER only if all are complete; otherwise the old charts stay. SETTINGS are further gnuplot commands, such as
# timeline_cases='baseline skew_ws4'. Run only one draw.sh per FOLDER at a time.
#
# Exit status: 0 drawn; 1 error, reason printed; 77 no gnuplot, or no tables.
set -uo pipefail

name=$1 folder=$2 settings=${3-}
drawn=$folder/.charts.tmp # may exist from a run that was killed
trap 'rm -rf "$drawn"' EXIT
trap 'exit 1' INT TERM HUP

give_up() # TEXT
{
    printf 'draw.sh: the charts could not be drawn: %s\n' "$1" >&2
    exit 1
}

quoted() # TEXT: 'it''s' for gnuplot
{
    printf "'%s'" "${1//\'/\'\'}"
}

# gnuplot exits with 0 even on a full disk.
is_whole() # FILE: true if the end of the file is complete
{
    case $1 in
    *.svg) [[ $(tail -c 16 "$1") == *'</svg>' ]] ;; # a blank line may follow
    *.png) [[ $(tail -c 8 "$1" | head -c 4) == IEND ]] ;;
    */charts.csv) (($(wc -l <"$1") == 1 + $(find "$drawn" -name '*.svg' -o -name '*.png' | sed 's/[.]...$//' | sort -u | wc -l))) ;; # a row per chart
    esac 2>/dev/null
}

command -v gnuplot >/dev/null || { echo "gnuplot is not installed, so no charts."; exit 77; }
rm -rf "$drawn"
said=$(mkdir "$drawn" 2>&1) || give_up "${said#mkdir: }"
gnuplot -e "results=$(quoted "$folder")" -e "charts=$(quoted "$drawn"); $settings" "$(dirname "$0")/$name.gp" || {
    status=$?
    ((status != 77)) || exit 77
    give_up "gnuplot ended with status $status"
}
[[ -e $drawn/charts.csv ]] || give_up "gnuplot drew nothing"
for chart in "$drawn"/*; do
    is_whole "$chart" || give_up "$folder/${chart##*/} is incomplete; is the disk full?"
done
for chart in "$drawn"/*.svg; do
    [[ ! -e $chart || -e ${chart%.svg}.png ]] || rm -f "$folder/$(basename "$chart" .svg).png" # of earlier tables
done
said=$(mv -f "$drawn"/* "$folder/" 2>&1) || give_up "${said#mv: }"
