# The three charts of every lab whose cases share a step: where each rank's time goes (breakdown), one step as the ranks
# lived it (timeline), and what each case costs (step_time). A lab's script names itself and what its charts say, then
# loads this file:
#
#     lab               "01_straggler"
#     told_best         the three cases that tell it best: what is compared with, pathology, fix
#     pathology_word    what the second one is called
#     pathology(case)   the group of a case: groups stand apart in step_time
#     breakdown_title, timeline_title, step_time_title
#
# The baseline is the first case of the results. Cases may run on some of the ranks only.
#
# results and blog are as in the lab's script. Each chart is drawn as SVG and PNG into the folder of the results.

if (!exists("results")) results = "results/".lab
if (!exists("blog")) blog = plots."/../expected/blog.csv"
load plots."/style.gp"

cases = column_of(summary_csv, "case")
# What a case was run with, a word. of(case, ...): in that list of all cases.
of(case, list) = word(list, place(case, cases))
case_ranks = column_of(summary_csv, "ranks")
case_batch = column_of(summary_csv, "batch_size")
ranks = int(largest(case_ranks))         # of the launch
ranks_of(case) = has(case, cases) ? int(of(case, case_ranks)) : 0
name(case) = case eq word(told_best, 2) ? pathology_word." (".case.")" : case eq word(told_best, 3) ? "fix (".case.")" : case

# ---- The published values ------------------------------------------------------------------
# Published values stand beside a case of as many ranks with as many samples each; of another size it is another case.
alike(which, case, ranks, batch) = which eq lab && has(case, cases) && of(case, case_ranks) eq ranks && of(case, case_batch) eq batch
is_alike(unused) = alike(strcol("lab"), strcol("case"), strcol("ranks"), strcol("batch_size"))     # the row that is drawn
published = ""                  # the cases that have one
if (there(blog)) {
    blog_lab = column_of(blog, "lab"); blog_case = column_of(blog, "case")
    blog_ranks = column_of(blog, "ranks"); blog_batch = column_of(blog, "batch_size")
    do for [i = 1:words(blog_lab)] {
        if (alike(word(blog_lab, i), word(blog_case, i), word(blog_ranks, i), word(blog_batch, i))) { published = published." ".word(blog_case, i) }
    }
}
if (words(published) == 0) { blog = summary_csv }  # a file that is plotted no times is opened all the same
# The same of single ranks.
blog_ranks_csv = plots."/../expected/blog_ranks.csv"
is_rank_published(unused) = strcol("lab") eq lab && has(strcol("case"), shown) && has(strcol("case"), published)

# ---- Rank by rank: a block for each shown case, downwards: a line for its name, a lane per rank --
story = ""                      # the cases that tell it best; where they are missing, others
do for [case in told_best." ".cases] {
    if (has(case, cases) && !has(case, story) && words(story) < 3) { story = story." ".case }
}

above_lanes(n) = sum [i = 1:n] (ranks_of(word(shown, i)) + 1.4)     # of the n cases above
lane(case, rank) = has(case, shown) ? above_lanes(place(case, shown) - 1) + rank : NaN
y(offset) = lane(strcol("case"), column("rank")) + offset       # of the CSV's row that is drawn
lines(shown) = above_lanes(words(shown)) + 0.2
blocks = "set yrange [lines(shown) - 1.6 : -1.6]; set ytics ();".\
    "set for [case in shown] for [r = 0:ranks_of(case) - 1] ytics add (sprintf('rank %d', r) lane(case, r))"

# breakdown: the mean step, stacked. Waiting comes last, whenever it happened, to show its length.
shown = word(story, 1)." ".word(story, 2)
column_name(part) = part eq "compute" ? "local_ms" : part."_ms"
parts = ""                      # those that took any time: the others have no place in the legend
do for [part in "data compute host transfer wait"] {
    if (part eq "compute" || largest(column_of(ranks_csv, column_name(part))) > 0) { parts = parts." ".part }
}
longest = 0
rows = column_of(ranks_csv, "case")
ends = column_of(ranks_csv, "step_ms")
do for [i = 1:words(rows)] {
    if (has(word(rows, i), shown) && number(word(ends, i)) > longest) { longest = number(word(ends, i)) }
}
ranks_published = 0             # whether the shown cases have published ranks
if (there(blog_ranks_csv)) {
    rows = column_of(blog_ranks_csv, "case"); ends = column_of(blog_ranks_csv, "step_ms"); labs = column_of(blog_ranks_csv, "lab")
    do for [i = 1:words(rows)] {
        if (word(labs, i) eq lab && has(word(rows, i), shown) && has(word(rows, i), published)) {
            ranks_published = 1
            if (number(word(ends, i)) > longest) { longest = number(word(ends, i)) }
        }
    }
}
ms(part) = blank(column_name(part)) ? 0 : column(column_name(part))
before_ms(n) = sum [i = 1:n - 1] ms(word(parts, i))
start_ms(part) = ms(part) > 0 ? before_ms(place(part, parts)) : NaN            # NaN: nothing to draw
middle_ms(part) = ms(part) > longest / 15 ? start_ms(part) + ms(part) / 2 : NaN     # room for a number

right = 110
eval page(breakdown_title, "mean step of each rank (ms)", 26 * lines(shown))
eval blocks
set xrange [0 : longest > 0 ? longest * 1.04 : 1]
rows = column_of(ranks_csv, "case"); ends = column_of(ranks_csv, "step_ms"); ranks_of_rows = column_of(ranks_csv, "rank")
do for [i = 1:words(rows)] {    # in a column of their own: at a bar's end they would collide with the marks
    if (has(word(rows, i), shown)) {
        set label in_ms(number(word(ends, i))) at screen 1 - 24. / width, first lane(word(rows, i), int(word(ranks_of_rows, i))) right
    }
}
do for [case in shown] { set label bold(name(case)) at graph 0, first lane(case, -1) }
do for [format in formats] {
    eval output("breakdown", format)
    plot for [part in parts] ranks_csv \
             using (0):(y(0)):(start_ms(part)):(start_ms(part) + ms(part)):(y(-0.38)):(y(0.38)) \
             with boxxyerror fs pattern fill(part) border lc rgb edge(part) lc rgb colour(part) \
             title part eq "compute" ? "compute, update" : part, \
         for [part in parts] for [k = 1:part ne "wait"] ranks_csv using (middle_ms(part)):(y(0)):(digits(ms(part))) \
             with labels font "sans-serif,9" textcolor rgb ink(part) notitle, \
         for [k = 1:has("wait", parts)] ranks_csv using (middle_ms("wait")):(y(0)):(digits(ms("wait"))) \
             with labels boxed font "sans-serif,9" notitle, \
         for [k = 1:ranks_published] blog_ranks_csv using (is_rank_published(0) ? column("step_ms") : NaN):(y(0)) \
             with points pointtype 13 pointsize 1.6 lc rgb "white" notitle, \
         for [k = 1:ranks_published] blog_ranks_csv using (is_rank_published(0) ? column("step_ms") : NaN):(y(0)) \
             with points pointtype 12 pointsize 1.3 linewidth 1.5 lc rgb "black" title "the blog, step", \
         for [k = 1:ranks_published] blog_ranks_csv using (is_rank_published(0) ? column("data_ms") : NaN):(y(0)) \
             with points pointtype 13 pointsize 1.1 lc rgb "white" notitle, \
         for [k = 1:ranks_published] blog_ranks_csv using (is_rank_published(0) ? column("data_ms") : NaN):(y(0)) \
             with points pointtype 12 pointsize 0.8 linewidth 1.2 lc rgb "black" title "its data"
    unset output
}

# timeline: one step of each case, on one scale. What travels beside the work is a strip below its lane.
shown = story
rows = column_of(lanes_csv, "case")
kinds = column_of(lanes_csv, "kind")
ends = column_of(lanes_csv, "end_ms")

right = 24
eval page(timeline_title, "time since the step began (ms)", 28 * lines(shown))
eval blocks
longest = 0
seen = ""                       # the phases that happened: only these go into the legend
do for [case in shown] {
    last = 0
    do for [i = 1:words(rows)] {
        if (word(rows, i) eq case) {
            if (number(word(ends, i)) > last) { last = number(word(ends, i)) }
            if (!has(phase(word(kinds, i)), seen)) { seen = seen." ".phase(word(kinds, i)) }
        }
    }
    set label bold(name(case)).(last > 0 ? ", ".in_ms(last) : "") at graph 0, first lane(case, -1)
    if (last > longest) { longest = last }
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
         lanes_csv using (arrival("start_ms")):(lane(strcol("case"), -0.5)):(0):(ranks_of(strcol("case"))) \
             with vectors nohead dashtype 3 lc rgb "black" notitle, \
         for [k = 1:has("1", column_of(lanes_csv, "arrived_last"))] lanes_csv using (arrival("start_ms")):(y(-0.42)) \
             with points pointtype 11 pointsize 1.1 lc rgb "black" title "last rank"
    unset output
}

# ---- step_time: a row per case, with a gap between pathologies ----------------------------------
step_ms = column_of(summary_csv, "slowest_step_ms")
ratio = column_of(summary_csv, "vs_baseline")
baseline = word(cases, 1)
baseline_ms = number(word(step_ms, 1))
intervals = largest(column_of(summary_csv, "vs_baseline_low")) > 0
predictions = largest(column_of(summary_csv, "predicted_step_ms")) > 0

array row[words(cases)]
do for [i = 1:words(cases)] {
    row[i] = 1
    if (i > 1) { row[i] = row[i - 1] + (pathology(word(cases, i)) eq pathology(word(cases, i - 1)) ? 1 : 1.5) }
}
y(offset) = has(strcol("case"), cases) ? row[place(strcol("case"), cases)] + offset : NaN

left = 150
do for [case in cases] { if (8.7 * strlen(case) > left) { left = 8.7 * strlen(case) } }
right = 160
lowest = row[words(cases)] + 0.75
eval page(step_time_title, "step time of the slowest rank (ms)", 28 * (lowest - 0.25))
set yrange [lowest : 0.25]
set xrange [0:*]
set ytics ()
do for [i = 1:words(cases)] {
    set ytics add (word(cases, i) row[i])
    # The numbers stand in a column of their own: at a bar's end they would collide with the marks.
    set label in_ms(number(word(step_ms, i))) at screen 1 - 84. / width, first row[i] right
    if (number(word(ratio, i)) > 0) { set label sprintf("× %.2f", number(word(ratio, i))) at screen 1 - 24. / width, first row[i] right }
}
if (baseline_ms > 0) {
    set label "vs ".baseline at screen 1 - 24. / width, first 0.25 right noenhanced font "sans-serif,9" textcolor rgb grey
    set arrow from baseline_ms, graph 0 to baseline_ms, graph 1 nohead dashtype 2 lc rgb grey
}
do for [format in formats] {
    eval output("step_time", format)
    plot summary_csv using (0):(y(0)):(0):(column("slowest_step_ms")):(y(-0.32)):(y(0.32)) \
             with boxxyerror fs solid border lc rgb "#808080" lc rgb simulated ? "#EEEEEE" : "#D0D0D0" \
             dashtype simulated ? 2 : 1 title simulated ? "simulated" : "measured", \
         rounds_csv using (column("slowest_step_ms")):(y(0.16)) \
             with points pointtype 7 pointsize 0.4 lc rgb "#444444" title "rounds", \
         for [k = 1:intervals] summary_csv \
             using (blank("vs_baseline_low") ? -1 : column("slowest_step_ms")):(y(-0.12)) \
                  :(baseline_ms * known("vs_baseline_low")):(baseline_ms * known("vs_baseline_high")) \
             with xerrorbars pointtype 0 lc rgb "black" title "95 % interval", \
         for [k = 1:predictions] summary_csv using (known("predicted_step_ms")):(y(-0.45)):(0):(0.9) \
             with vectors nohead linewidth 2.5 lc rgb "black" title "predicted", \
         for [k = 1:words(published) > 0] blog using (is_alike(0) ? column("slowest_step_ms") : NaN):(y(0)) \
             with points pointtype 13 pointsize 1.2 lc rgb "white" notitle, \
         for [k = 1:words(published) > 0] blog using (is_alike(0) ? column("slowest_step_ms") : NaN):(y(0)) \
             with points pointtype 12 pointsize 1.3 linewidth 1.5 lc rgb "black" title "the blog"
    unset output
}
