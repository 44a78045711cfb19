# draw.sh: draw charts and check them, for tests with the arguments LAB FOLDER. Source this file after support/frame.sh. The test then
# runs in FOLDER/charts, which is empty.
# shellcheck shell=bash disable=SC2154,SC2034 # frame.sh sets `said`; tests use the variables set here
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
lab=$(realpath "$1")
name=$(basename "$lab")
folder=$(realpath -m "$2")/charts
export LC_ALL=C.UTF-8
work_in "$folder"

# Texts of one chart that lie on another, or nothing.
overlaps() # SVG
{
    LC_ALL=C awk -f "$source/tests/labs/overlap.awk" "$1"
}

draw() # RESULTS SCRIPT FORMATS: draw the charts of these results in these formats ("svg png") and check them
{
    local said chart format drawn=0
    said=$("$source/plots/draw.sh" "$2" "$1" "formats = '$3'" 2>&1) || complain "$1: status $?"
    [[ -z $said ]] || complain "$1: gnuplot says: $said"
    for chart in "$1"/*.svg; do
        for format in $3; do
            [[ -s ${chart%.svg}.$format ]] || complain "$chart has no $format"
        done
        said=$(overlaps "$chart") || complain "$said"
        ((++drawn))
    done
    ((drawn >= 3)) || complain "$1: $drawn charts"
}
