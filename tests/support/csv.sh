# csv.sh: read tables of labs. Source this file; frame.sh does.
# shellcheck shell=bash disable=SC2034,SC2016 # scripts that source this file use `by_column`, which is a part of awk's programs
#
#     awk -F, "$by_column"'{ … $at["case"] … }' TABLE   columns by name; comments and the line of names are left out
#     cell TABLE CASE COLUMN                            print this value of the rows of a case
readonly by_column='/^#/ { next } !seen { seen = 1; for (i = 1; i <= NF; i++) at[$i] = i; next } '

cell()
{
    awk -F, -v name="$2" -v column="$3" "$by_column"'$at["case"] == name { print $at[column] }' "$1"
}
