#!/usr/bin/env bash
# usage: draw.sh NAME FOLDER [SETTINGS]: draws what plots/NAME.gp draws of the tables in FOLDER, into a folder inside it; only
# when every chart is whole they take their places, all of them. Without that, the charts that were there stay. SETTINGS are
# more words for gnuplot, as told_best='baseline skew_ws4'. One at a time for a FOLDER.
#
# Exit status: 0 drawn; 1 not, and why; 77 no gnuplot here, or no tables.
set -uo pipefail

name=$1 folder=$2 settings=${3-}
drawn=$folder/.charts.tmp # of a run that was killed, too
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

# gnuplot ends well on a full disk too.
is_whole() # FILE: does it end as such a file does?
{
    case $1 in
    *.svg) [[ $(tail -c 16 "$1") == *'</svg>' ]] ;; # a blank line may follow
    *.png) [[ $(tail -c 8 "$1" | head -c 4) == IEND ]] ;;
    */charts.csv) (($(wc -l <"$1") == 1 + $(find "$drawn" -name '*.svg' | wc -l))) ;; # a row per chart
    esac 2>/dev/null
}

command -v gnuplot >/dev/null || { echo "No gnuplot here, so no charts."; exit 77; }
rm -rf "$drawn"
said=$(mkdir "$drawn" 2>&1) || give_up "${said#mkdir: }"
gnuplot -e "results=$(quoted "$folder")" -e "charts=$(quoted "$drawn"); $settings" "$(dirname "$0")/$name.gp" || {
    status=$?
    ((status != 77)) || exit 77
    give_up "gnuplot ended with status $status"
}
[[ -e $drawn/charts.csv ]] || give_up "gnuplot drew nothing"
for chart in "$drawn"/*; do
    is_whole "$chart" || give_up "$folder/${chart##*/} is not whole; is the disk full?"
done
said=$(mv -f "$drawn"/* "$folder/" 2>&1) || give_up "${said#mv: }"
