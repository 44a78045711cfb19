# Lab 01, the straggler, in three charts: where each rank's time goes (breakdown), one step as the
# ranks lived it (timeline), and what each case costs (step_time).
#
#   gnuplot -e "results='results/01_straggler'" plots/01_straggler.gp
#
# draws each as SVG and PNG into the folder of the results. blog='FILE' names other published values.

if (!exists("results")) results = "results/01_straggler"
if (!exists("plots")) plots = system('dirname "'.ARG0.'"')
if (!exists("blog")) blog = plots."/../expected/blog.csv"
load plots."/style.gp"

lab = "01_straggler"
cases = column_of(summary_csv, "case")
name(case) = case eq "skew_ws4" ? "straggler (skew_ws4)" : case eq "skew_prefetch" ? "fix (skew_prefetch)" : case

# ---- Rank by rank: a block for each shown case, downwards: a line for its name, a lane per rank --
story = ""                      # the cases that tell it best; where they are missing, others
do for [case in "baseline skew_ws4 skew_prefetch ".cases] {
    if (has(case, cases) && !has(case, story) && words(story) < 3) { story = story." ".case }
}
ranks = 1
do for [rank in column_of(ranks_csv, "rank")] { ranks = larger(ranks, rank + 1) }

lane(case, rank) = has(case, shown) ? (place(case, shown) - 1) * (ranks + 1.4) + rank : NaN
y(offset) = lane(strcol("case"), column("rank")) + offset       # of the CSV's row that is drawn
lines(shown) = words(shown) * (ranks + 1.4) + 0.2
blocks = "set yrange [lines(shown) - 1.6 : -1.6]; set ytics ();".\
    "set for [case in shown] for [r = 0:ranks - 1] ytics add (sprintf('rank %d', r) lane(case, r))"

# breakdown: the mean step, stacked. Waiting comes last, whenever it happened, to show its length.
shown = word(story, 1)." ".word(story, 2)
parts = "data compute host transfer wait"
part_ms(i) = column(word(parts, i) eq "compute" ? "local_ms" : word(parts, i)."_ms")
end_ms(i) = sum [j = 1:i] part_ms(j)
begin_ms(i) = part_ms(i) > 0 ? end_ms(i - 1) : NaN              # NaN: nothing to draw
middle_ms(i) = part_ms(i) > longest / 15 ? end_ms(i) - part_ms(i) / 2 : NaN     # wide enough for a number

longest = 0
do for [ms in column_of(ranks_csv, "step_ms")] { longest = larger(longest, number(ms)) }
set xrange [0 : longest > 0 ? longest * 1.12 : 1]

eval page("One slow rank makes everyone wait", "mean step of each rank (ms)", 26 * lines(shown))
eval blocks
do for [case in shown] { set label bold(name(case)) at graph 0, first lane(case, -1) }
do for [format in formats] {
    eval output("breakdown", format)
    plot for [i = 1:words(parts)] part = word(parts, i) ranks_csv \
             using (begin_ms(i)):(y(0)):(begin_ms(i)):(end_ms(i)):(y(-0.38)):(y(0.38)) \
             with boxxyerror fs pattern fill(part) border lc rgb edge(part) lc rgb colour(part) \
             title part eq "compute" ? "compute, update" : part, \
         for [i = 1:words(parts) - 1] ranks_csv using (middle_ms(i)):(y(0)):(digits(part_ms(i))) \
             with labels font "sans-serif,9" textcolor rgb ink(word(parts, i)) notitle, \
         ranks_csv using (middle_ms(5)):(y(0)):(digits(part_ms(5))) \
             with labels boxed font "sans-serif,9" notitle, \
         ranks_csv using (end_ms(5)):(y(0)):(in_ms(column("step_ms"))) \
             with labels left offset 0.5, 0 notitle
    unset output
}

# timeline: one step of each case, on one scale. What travels beside the work is a strip below its lane.
shown = story
rows = column_of(lanes_csv, "case")
kinds = column_of(lanes_csv, "kind")
ends = column_of(lanes_csv, "end_ms")

eval page("Nobody leaves the collective before the last rank has arrived", "time since the step began (ms)", 28 * lines(shown))
eval blocks
longest = 0
seen = ""                       # the phases that happened: only these go into the legend
do for [case in shown] {
    last = 0
    do for [i = 1:words(rows)] {
        if (word(rows, i) eq case) {
            last = larger(last, number(word(ends, i)))
            if (!has(phase(word(kinds, i)), seen)) { seen = seen." ".phase(word(kinds, i)) }
        }
    }
    set label bold(name(case)).", ".in_ms(last) at graph 0, first lane(case, -1)
    longest = larger(longest, last)
}
set xrange [0 : longest > 0 ? longest * 1.02 : 1]

strips = has("1", column_of(lanes_csv, "lane"))
from(part) = phase(strcol("kind")) eq part && column("end_ms") > column("start_ms") ? column("start_ms") : NaN
top(track) = y(track == 1 ? 0.2 : -0.38)
bottom(track) = y(track == 1 || !strips ? 0.38 : 0.16)
arrival(when) = strcol("arrived_last") eq "1" && strcol("kind") eq "transfer" ? column(when) : NaN
do for [format in formats] {
    eval output("timeline", format)
    plot for [part in phases] for [k = 1:has(part, seen)] lanes_csv \
             using (from(part)):(y(0)):(column("start_ms")):(column("end_ms")):(top(column("lane"))):(bottom(column("lane"))) \
             with boxxyerror fs pattern fill(part) border lc rgb edge(part) lc rgb colour(part) title part, \
         lanes_csv using (arrival("start_ms")):(lane(strcol("case"), -0.5)):(0):(ranks) \
             with vectors nohead dashtype 3 lc rgb "black" notitle, \
         lanes_csv using (arrival("start_ms")):(y(-0.42)) \
             with points pointtype 11 pointsize 1.1 lc rgb "black" title "arrived last"
    unset output
}

# ---- step_time: a row per case, with a gap between pathologies ----------------------------------
step_ms = column_of(summary_csv, "slowest_step_ms")
ratio = column_of(summary_csv, "vs_baseline")
baseline_ms = number(word(step_ms, place("baseline", cases)))
published = there(blog) ? 1 : 0

pathology(case) = case[1:4]             # base, skew, busy, roam, slow: how their names begin
array row[words(cases)]
do for [i = 1:words(cases)] {
    row[i] = 1
    if (i > 1) { row[i] = row[i - 1] + (pathology(word(cases, i)) eq pathology(word(cases, i - 1)) ? 1 : 1.5) }
}
y(offset) = has(strcol("case"), cases) ? row[place(strcol("case"), cases)] + offset : NaN
only(name, here) = here ? column(name) : NaN

left = 150
right = 150
eval page("What each straggler costs, and what each fix wins back", "step time of the slowest rank (ms)", 28 * (row[words(cases)] + 0.5))
set yrange [row[words(cases)] + 0.75 : 0.25]
set xrange [0:*]
set ytics ()
do for [i = 1:words(cases)] {
    set ytics add (word(cases, i) row[i])
    # The numbers stand in a column of their own: at a bar's end they would collide with the marks.
    set label in_ms(number(word(step_ms, i))) at graph 1.11, first row[i] right
    if (number(word(ratio, i)) > 0) { set label sprintf("× %.2f", number(word(ratio, i))) at graph 1.2, first row[i] right }
}
if (baseline_ms > 0) {
    set label "vs baseline" at graph 1.2, first 0.25 right font "sans-serif,9" textcolor rgb grey
    set arrow from baseline_ms, graph 0 to baseline_ms, graph 1 nohead dashtype 2 lc rgb grey
}
do for [format in formats] {
    eval output("step_time", format)
    plot summary_csv using (0):(y(0)):(0):(column("slowest_step_ms")):(y(-0.32)):(y(0.32)) \
             with boxxyerror fs solid border lc rgb "#808080" lc rgb simulated ? "#EEEEEE" : "#D0D0D0" \
             dashtype simulated ? 2 : 1 title simulated ? "simulated" : "measured", \
         rounds_csv using (column("slowest_step_ms")):(y(0.16)) \
             with points pointtype 7 pointsize 0.4 lc rgb "#444444" title "each round", \
         summary_csv using (only("slowest_step_ms", column("vs_baseline_low") > 0)):(y(-0.12)):(baseline_ms * column("vs_baseline_low")):(baseline_ms * column("vs_baseline_high")) \
             with xerrorbars pointtype 0 lc rgb "black" title "interval", \
         summary_csv using (column("predicted_step_ms")):(y(-0.45)):(0):(0.9) \
             with vectors nohead linewidth 2.5 lc rgb "black" title "predicted", \
         for [i = 1:published] blog using (only("slowest_step_ms", strcol("lab") eq lab)):(y(0)) \
             with points pointtype 12 pointsize 1.5 linewidth 1.5 lc rgb "black" title "the blog's value"
    unset output
}
