# bench_table.sh: checks of the benchmark's tables. Source after frame.sh.
# shellcheck shell=bash
#
#     expect WHAT WANTED GOT
#                        complain if two texts differ
#     column FILE NAME   print a column, a line per row
#     quiet_machine FOLDER, machine FOLDER STOLEN BUSY QUEUED
#                        create or change the counters that bench --root FOLDER reads
#     is_one_run FILE    check that all rows have the run id, date and commit of the head lines, and that these are well-formed
expect()
{
    [[ $2 == "$3" ]] || complain "$1:"$'\n'"$3"$'\n'"where it should be"$'\n'"$2"
}

column()
{
    awk -v wanted="$2" 'function next_field(  field) { # fields in quotes may hold commas
            if (match($0, /^"([^"]|"")*"/)) field = substr($0, 2, RLENGTH - 2); else { match($0, /^[^,]*/); field = substr($0, 1, RLENGTH) }
            $0 = substr($0, RSTART + RLENGTH + 1); return field }
        /^#/ { next }
        { for (i = 1; length($0) > 0 || i <= fields; i++) { value = next_field()
              if (!named) { fields = i; if (value == wanted) at = i } else if (i == at) print value } named = 1 }' "$1"
}

is_one_run()
{
    local name head
    for name in run:run when:date commit:commit; do
        head=$(sed -n "s/^# ${name%:*}: //p" "$1")
        [[ $(column "$1" "${name#*:}" | sort -u) == "$head" && -n $head ]] ||
            complain "rows of $1 have another ${name#*:} than its head, '$head'" "$(column "$1" "${name#*:}" | sort | uniq -c)"
    done
    [[ $(sed -n 's/^# run: //p' "$1") =~ ^[-A-Za-z0-9]+$ ]] || complain "a run id that is none"
    [[ $(sed -n 's/^# when: //p' "$1") =~ ^[0-9]{4}-[0-9]{2}-[0-9]{2}\ [0-9]{2}:[0-9]{2}$ ]] || complain "a date that is none"
    [[ $(sed -n 's/^# commit: //p' "$1") =~ ^(unknown|[0-9a-f]{12,40}(-dirty)?)$ ]] || complain "a commit that is none"
}

# Create FOLDER/proc of a machine on which others do nothing: for bench --root.
quiet_machine() # FOLDER
{
    mkdir -p "$1/proc/pressure"
    machine "$1" 0 0 0
}

machine() # FOLDER STOLEN BUSY QUEUED: clock ticks of each CPU, and seconds
{
    awk -v steal="$2" -v busy="$3" 'BEGIN { for (i = -1; i < 1024; i++) print "cpu" (i < 0 ? " " : i), busy, 0, 0, 5, 5, 0, 0, steal, 0, 0 }' >"$1/stat.new"
    mv "$1/stat.new" "$1/proc/stat" # at once: bench may be reading
    printf 'some avg10=0.00 avg60=0.00 avg300=0.00 total=%d\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n' "$(($4 * 1000000))" >"$1/proc/pressure/cpu"
}
