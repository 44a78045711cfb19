# facts.sh: what tests have to know of a lab. Source this file with $name set to the lab's name; tests/labs/$name.sh sets what differs
# from the defaults below. Patterns are extended regular expressions of case names.
# shellcheck shell=bash disable=SC2034,SC2154 # scripts that source this file set `name` and read the rest
none='^$'

# Cases.
cases=            # number of cases
baseline=baseline # the first case
asked=            # the case that the user guesses
other=            # another one
on_one_rank=$none on_half_the_ranks=$none # patterns; other cases run on all ranks
micro_batches=$none # pattern: several micro-batches, which together have four times --batch-size
uneven=$none        # pattern: batch sizes that differ from the flag
reordered=$none     # pattern: adds in another order than the baseline
changed=$none       # pattern: trains otherwise than the baseline
rounded=$none       # pattern: rounds more coarsely
cycles=()           # pattern:K, steps of a cycle, of which whole ones are measured; of the first pattern that fits, else 1
inseparable=$none   # pattern: wait and transfer may be unknown
reference=$none     # pattern: the reference of the efficiency
one_loss=           # two cases with the same loss

# Runs.
quick_window=2                                                       # steps of a quick round; 1 of simulated ranks
toy=(--batch-size 8 --input-dim 48 --hidden-dim 40 --num-classes 10) # a small model
smallest=()                                                          # the least of everything, and cases that need it
largest=(--hidden-dim 4096 --num-classes 65536)                      # a model that fits nowhere
refused=()                                                           # an invalid flag
table=() # if ranks communicate, a table of this lab only: file, a rising column, a positive column
own_tables() { :; } # FOLDER: check tables that only this lab on real ranks has; fail with a message

# Charts.
drawn=()                 # cases, for charts of many ranks
charted=()               # texts that charts of all cases must hold: "timeline padding"
charted_measured=()      # the same, of charts of the tables in measured/LAB
shortest=() longest=()   # short and long steps
few_steps=(--steps 6)
judged_steps=(--steps 6)  # enough for claims to tell a wrong formula
several=()               # options for several ranks, if the lab has one by default

# Quiz.
candidates=() # options that name cases, if the lab hides another one without
verdict=      # " verdict.csv", if a quiz writes it

# Facts on the machine of round numbers (tests/sim):
what_if_ms= # the what-if step of the case `asked`, by hand: the baseline's step, plus what all ranks do besides

# shellcheck source=/dev/null
source "$(dirname "${BASH_SOURCE[0]}")/$name.sh"
