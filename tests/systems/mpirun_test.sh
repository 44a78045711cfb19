#!/usr/bin/env bash
# usage: mpirun_test.sh LAB FOLDER: test how lab 01_straggler handles an unknown mpirun, and messages of mpirun itself. Scripts
# stand in for mpirun. Works in FOLDER/launcher.
set -uo pipefail

# shellcheck source=tests/support/frame.sh
source "$(dirname "$0")/../support/frame.sh"

lab=$(realpath "$1")
folder=$(realpath -m "$2")/launcher
row='--------------------------------------------------------------------------'
export LOCKSTEP_LOCK=$folder/own.lock # no measurements, so the machine's lock is not needed

launcher() # VERSION: create an mpirun that runs the script on standard input instead of ranks
{
    { printf '#!/bin/sh\nif [ "$1" = --version ]; then echo "%s"; exit; fi\n' "$1" && cat; } >bin/mpirun
    chmod +x bin/mpirun
}

run() # STATUS: run the lab and check its exit status; set `said` to its standard error
{
    local status=0
    PATH=$folder/bin:$PATH timeout $((60 * patience)) "$lab" --ranks 2 --backend mpi --quick --out results </dev/null >out 2>err || status=$?
    said=$(tr '\0' '@' <err)
    ((status == $1)) || complain "status $status, not $1"
}

one_line() # check that standard error is one line
{
    (($(wc -l <err) == 1)) || complain "$(wc -l <err) lines, not 1: $(<err)"
}

work_in "$folder"
mkdir bin

# The first lab after a build chooses OpenBLAS's kernel and says so; here, before anything is checked.
launcher 'mpirun (Open MPI) 9.9.9' <<<'exit 3'
run 1

# Message of Open MPI 5.0.7 about an unknown option.
launcher 'mpirun (Open MPI) 9.9.9' <<END
printf '%s\n' '$row' 'An unrecognized option was included on the mpirun command line:' '' '  Option: --bind-to' '' \
    'Please use the "mpirun --help" command.' '$row' >&2
exit 213
END
run 1
one_line
says 'mpirun could not start the ranks (status 213)' 'An unrecognized option was included on the mpirun command line: Option: --bind-to' \
    'mpirun (Open MPI) 9.9.9' "the command was: mpirun -np 2 --map-by core --bind-to core $lab"

# Status 77, which means "cannot run here" in our own programs: Open MPI 6 ends with 77 if there are too few slots.
launcher 'mpirun (Open MPI) 9.9.9' <<END
printf '%s\nThere are not enough slots\n%s\n\0' '$row' '$row' >&2
exit 77
END
run 1
one_line
says 'could not start the ranks (status 77)' 'There are not enough slots'

# Messages of mpirun do not matter if it exits with 0, but the ranks must have ended properly.
launcher 'mpirun (Open MPI) 9.9.9' <<<'printf "[vm:12] Unable to find reachable pairing\n" >&2'
run 1
one_line
says 'mpirun ended with status 0, but the ranks did not finish'

# The mpirun of another MPI would start programs that do not see each other.
launcher 'HYDRA build details:' <<<'echo started >"$0.started"'
run 77
one_line
says "not Open MPI's" "'HYDRA build details:'" 'openmpi-bin'
[[ ! -e bin/mpirun.started ]] || complain "it was started all the same"

# Output of ranks is passed on at once. Text between two rows of dashes belongs to the launcher.
launcher 'mpirun (Open MPI) 9.9.9' <<END
printf 'one\n%s\nnot this\n%s\ntwo -- %s\n' '$row' '$row' '${row:0:39}' >&2
printf '[vm:15147] 1 more process has sent help\n[warn] Epoll\n[' >&2; sleep 0.1; printf 'vm][[62360,1],0][btl_tcp.c] half\nten [of] them\n' >&2
printf '[rank 0] a line of a learner\n[rank:0 too\n' >&2
printf 'three' >&2; sleep 0.1; printf ' and four\n' >&2
printf '%s' '$row' >&2; sleep 0.1; printf '\nnor that\n%s\n' '$row' >&2
printf '%s\nand not this, but\n01_straggler: an end without its row\nlast\n' '$row' >&2
printf 'a table\n'
exit 3
END
run 1
[[ $said == "one"$'\n'"two -- ${row:0:39}"$'\n'"ten [of] them"$'\n'"[rank 0] a line of a learner"$'\n'"[rank:0 too"$'\n'"three and four"$'\n'"01_straggler: an end without its row"$'\n'"last"$'\n'* ]] ||
    complain "what ranks wrote was not passed on as it was"
says 'more process has sent help [warn] Epoll [vm][[62360,1],0][btl_tcp.c] half' # shown at the end if no rank printed a reason
[[ $said != *$'\n'"nor that"* && $said != *$'\n'"not this"* ]] || complain "the launcher's words were passed on"
[[ $(<out) == "a table" ]] || complain "standard output: $(<out)"

# Many lines at once are passed on completely. An unclosed row of dashes at the end is handled.
launcher 'mpirun (Open MPI) 9.9.9' <<END
seq 1 20000 | sed 's/^/rank says /' >&2
seq 1 20000
printf '%s\nnever ended' '$row' >&2
exit 3
END
run 1
cmp <(seq 1 20000) out || complain "standard output is not whole"
cmp <(seq 1 20000 | sed 's/^/rank says /') <(head -n 20000 err) || complain "standard error is not whole"
said=$(tail -n +20001 err)
says 'never ended'
(($(tail -n +20001 err | wc -l) == 1)) || complain "more than one line at the end"

# A reader that closes standard output does not end the job.
launcher 'mpirun (Open MPI) 9.9.9' <<<'seq 1 20000; seq 1 20000 >&2; echo done >"$0.done"; exit 3'
PATH=$folder/bin:$PATH timeout $((60 * patience)) "$lab" --ranks 2 --backend mpi --quick --out results </dev/null 2>/dev/null | head -n 1 >/dev/null
[[ -e bin/mpirun.done ]] || complain "the job did not come to its end"

# No mpirun at all.
rm bin/mpirun
ln -s "$(command -v sh)" bin/sh
said=$(PATH=$folder/bin "$lab" --ranks 2 --backend mpi --quick --out results 2>&1 </dev/null)
(($? == 77)) || complain "without mpirun: not status 77"
says 'mpirun was not found' 'openmpi-bin'

((failed)) || echo "Launchers are asked what they are, and only the ranks are heard."
exit "$failed"
