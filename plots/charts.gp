# charts: the three charts of every lab whose cases have comparable steps: each rank's time by phase (breakdown), one step on all
# ranks (timeline), and the step of each case (step_time). The script of a lab sets these variables, then loads this file:
#
#     lab               "01_straggler"
#     told_best         the three cases to show first: baseline, pathology, fix
#     pathology_word    label of the pathology
#     pathology(case)   the group of a case; step_time leaves a gap between groups
#     breakdown_title, timeline_title, step_time_title
#
# The baseline is the first case of the results. Cases may use only some of the ranks.
#
# results and blog: see the lab's script. Each chart is drawn as SVG and PNG into the folder of the results.

if (!exists("results")) results = "results/".lab
if (!exists("blog")) blog = plots."/../expected/blog.csv"
load plots."/style.gp"

cases = column_of(summary_csv, "case")
# of(case, list): the entry of a case in a column of summary.csv, as a word.
of(case, list) = word(list, place(case, cases))
case_ranks = column_of(summary_csv, "ranks")
case_batch = column_of(summary_csv, "batch_size")
ranks = int(largest(case_ranks))         # ranks started
ranks_of(case) = has(case, cases) ? int(of(case, case_ranks)) : 0
name(case) = case eq word(told_best, 2) ? pathology_word." (".case.")" : case eq word(told_best, 3) ? "fix (".case.")" : case

# ---- The published values ------------------------------------------------------------------
# A published value is shown only if ranks and batch size equal those of the case.
alike(which, case, ranks, batch) = which eq lab && has(case, cases) && of(case, case_ranks) eq ranks && of(case, case_batch) eq batch
is_alike(unused) = alike(strcol("lab"), strcol("case"), strcol("ranks"), strcol("batch_size"))     # for the drawn row
published = ""                  # cases with a published value
if (there(blog)) {
    blog_lab = column_of(blog, "lab"); blog_case = column_of(blog, "case")
    blog_ranks = column_of(blog, "ranks"); blog_batch = column_of(blog, "batch_size")
    do for [i = 1:words(blog_lab)] {
        if (alike(word(blog_lab, i), word(blog_case, i), word(blog_ranks, i), word(blog_batch, i))) { published = published." ".word(blog_case, i) }
    }
}
if (words(published) == 0) { blog = summary_csv }  # gnuplot opens a file even if it is plotted zero times
# Published values of single ranks.
blog_ranks_csv = plots."/../expected/blog_ranks.csv"
is_rank_published(unused) = strcol("lab") eq lab && has(strcol("case"), shown) && has(strcol("case"), published)

# ---- Lanes: a block per shown case, downwards: lines for its name, then a lane per rank ---------
story = ""                      # up to three cases: told_best first, then others
do for [case in told_best." ".cases] {
    if (has(case, cases) && !has(case, story) && words(story) < 3) { story = story." ".case }
}
# Among many ranks, those that look alike share a lane, as in lanes.csv; the lane shows the first of them. A case without lanes
# there (its ranks made different calls) has one per rank.
array drawn[words(cases)]       # first rank of each lane
array drawn_to[words(cases)]    # last rank of each lane
folded = system('awk -F, ''/^#/ { next } !seen { seen = 1; for (i = 1; i <= NF; i++) at[$i] = i; next } \
    { key = $at["case"] " " $at["rank"] " " ("to_rank" in at ? $at["to_rank"] : $at["rank"]) } \
    !done[key]++ { printf "%s ", key }'' <'.in_shell(lanes_csv))
do for [i = 1:words(cases)] { drawn[i] = ""; drawn_to[i] = "" }
do for [k = 1:words(folded):3] {
    i = place(word(folded, k), cases)
    if (i > 0) { drawn[i] = drawn[i]." ".word(folded, k + 1); drawn_to[i] = drawn_to[i]." ".word(folded, k + 2) }
}
do for [i = 1:words(cases)] {
    if (words(drawn[i]) == 0) {
        do for [r = 0:ranks_of(word(cases, i)) - 1] { drawn[i] = drawn[i].sprintf(" %d", r); drawn_to[i] = drawn[i] }
    }
}
lanes_of(case) = words(drawn[place(case, cases)])
lane_name(case, n) = word(drawn[place(case, cases)], n) eq word(drawn_to[place(case, cases)], n) ? \
    "rank ".word(drawn[place(case, cases)], n) : "ranks ".word(drawn[place(case, cases)], n)."–".word(drawn_to[place(case, cases)], n)

left_of_lanes = 90
do for [i = 1:words(cases)] { if (drawn[i] ne drawn_to[i]) { left_of_lanes = 130 } }
shared = left_of_lanes > 90 ? " · a lane of several equal ranks shows the first of them" : ""

head = 1                        # lines above the lanes of a case
above_lanes(n) = sum [i = 1:n] (lanes_of(word(shown, i)) + 0.4 + head)      # lines above case n + 1
first_lane(case) = has(case, shown) ? above_lanes(place(case, shown) - 1) : NaN
is_drawn(case, rank) = has(case, shown) && has(sprintf("%d", rank), drawn[place(case, cases)])
lane(case, rank) = is_drawn(case, rank) ? first_lane(case) + place(sprintf("%d", rank), drawn[place(case, cases)]) - 1 : NaN
y(offset) = lane(strcol("case"), column("rank")) + offset       # for the drawn row of the CSV file
lines(shown) = above_lanes(words(shown)) + 0.2
blocks = "set yrange [lines(shown) - 0.6 - head : -0.6 - head]; set ytics ();".\
    "set for [case in shown] for [n = 1:lanes_of(case)] ytics add (lane_name(case, n) first_lane(case) + n - 1)"

# breakdown: the mean step, stacked. Waiting comes last, whenever it occurred, to show its length.
shown = word(story, 1)." ".word(story, 2)
column_name(part) = part eq "compute" ? "local_ms" : part."_ms"
parts = ""                      # phases that took any time; the legend omits the others
do for [part in "data compute host transfer wait"] {
    if (part eq "compute" || largest(column_of(ranks_csv, column_name(part))) > 0) { parts = parts." ".part }
}
# Draw exposed time if it cannot be split into wait and transfer.
if (has("-", column_of(ranks_csv, "wait_ms")) && largest(column_of(ranks_csv, "exposed_ms")) > 0) { parts = parts." exposed" }
longest = 0
rows = column_of(ranks_csv, "case")
ends = column_of(ranks_csv, "step_ms")
do for [i = 1:words(rows)] {
    if (has(word(rows, i), shown) && number(word(ends, i)) > longest) { longest = number(word(ends, i)) }
}
ranks_published = 0             # 1 if the shown cases have published ranks
if (there(blog_ranks_csv)) {
    rows = column_of(blog_ranks_csv, "case"); ends = column_of(blog_ranks_csv, "step_ms"); labs = column_of(blog_ranks_csv, "lab")
    do for [i = 1:words(rows)] {
        if (word(labs, i) eq lab && has(word(rows, i), shown) && has(word(rows, i), published)) {
            ranks_published = 1
            if (number(word(ends, i)) > longest) { longest = number(word(ends, i)) }
        }
    }
}
ms(part) = blank(column_name(part)) || (part eq "exposed" && !blank("wait_ms")) ? 0 : column(column_name(part))
before_ms(n) = sum [i = 1:n - 1] ms(word(parts, i))
start_ms(part) = ms(part) > 0 ? before_ms(place(part, parts)) : NaN            # NaN: nothing to draw
middle_ms(part) = ms(part) > longest / 15 ? start_ms(part) + ms(part) / 2 : NaN     # room for a number

left = left_of_lanes
right = 110
caption = caption.shared
eval page(breakdown_title, "mean step of each rank (ms)", 26 * lines(shown))
eval blocks
set xrange [0 : longest > 0 ? longest * 1.04 : 1]
rows = column_of(ranks_csv, "case"); ends = column_of(ranks_csv, "step_ms"); ranks_of_rows = column_of(ranks_csv, "rank")
do for [i = 1:words(rows)] {    # in a separate column: at the end of a bar they would overlap the marks
    if (is_drawn(word(rows, i), int(word(ranks_of_rows, i)))) {
        set label in_ms(number(word(ends, i))) at screen 1 - 24. / width, first lane(word(rows, i), int(word(ranks_of_rows, i))) right
    }
}
do for [case in shown] { set label bold(name(case)) at graph 0, first first_lane(case) - 1 }
do for [format in formats] {
    eval output("breakdown", format)
    plot for [part in parts] ranks_csv \
             using (0):(y(0)):(start_ms(part)):(start_ms(part) + ms(part)):(y(-0.38)):(y(0.38)) \
             with boxxyerror fs pattern fill(part) border lc rgb edge(part) lc rgb colour(part) dashtype is_hatched(part) ? 1 : dashes \
             title part eq "compute" ? "compute, update" : said_of(part), \
         for [part in parts] for [k = 1:!is_hatched(part)] ranks_csv using (middle_ms(part)):(y(0)):(ms_digits(ms(part))) \
             with labels font "sans-serif,9" textcolor rgb ink(part) notitle, \
         for [part in parts] for [k = 1:is_hatched(part)] ranks_csv using (middle_ms(part)):(y(0)):(ms_digits(ms(part))) \
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

# timeline: one step of each case, on one scale. Hidden transfer is a strip below its lane. A sentence above the lanes names the
# ranks that waited and the rank they waited for. Each segment with enough room has a label, so that the legend is not needed.
shown = story
told_of(case) = head_of(lanes_csv, "told of ".case)
of_shown(what) = system('awk -F, -v shown='.in_shell(shown." ").' ''/^#/ { next } !seen { seen = 1; for (i = 1; i <= NF; i++) at[$i] = i; next } \
    index(shown, " " $at["case"] " ") { end = $at["end_ms"] + 0; if (end > most[$at["case"]]) most[$at["case"]] = end; \
    if (!done[$at["kind"]]++) kinds = kinds " " $at["kind"] } \
    END { count = split(shown, cases, " "); for (i = 1; i <= count; i++) ends = ends " " most[cases[i]] + 0; \
    print '.what.' }'' <'.in_shell(lanes_csv))

right = 24
ends = of_shown("ends")         # end of the step of each shown case, in ms
longest = largest(ends)
seen = ""                       # phases that occurred: only these go into the legend
do for [kind in of_shown("kinds")] { if (!has(phase(kind), seen)) { seen = seen." ".phase(kind) } }
do for [case in shown] { if (told_of(case) ne "") { head = 1.75 } }
eval page(timeline_title, "time since the step began (ms)", 28 * lines(shown))
eval blocks
do for [case in shown] {
    last = number(word(ends, place(case, shown)))
    set label bold(name(case)).(last > 0 ? ", ".in_ms(last) : "") at graph 0, first first_lane(case) - head
    set label told_of(case) at graph 0, first first_lane(case) - 0.95 noenhanced font "sans-serif,9"
}
set xrange [0 : longest > 0 ? longest * 1.02 : 1]

strips = has("1", column_of(lanes_csv, "lane"))
from(part) = phase(strcol("kind")) eq part && column("end_ms") > column("start_ms") ? column("start_ms") : NaN
top(track) = y(track == 1 ? 0.2 : -0.38)
bottom(track) = y(track == 1 || !strips ? 0.38 : 0.16)
arrival(when) = strcol("arrived_last") eq "1" && strcol("kind") eq "transfer" ? column(when) : NaN
# Label "wait 39.8" if the segment is wide enough: a letter takes 7 pixels.
stretch_ms(unused) = column("end_ms") - column("start_ms")
stretch_text(unused) = said_of(strcol("kind"))." ".ms_digits(stretch_ms(0))
has_room(unused) = stretch_ms(0) / (1.02 * longest) * (width - left - right) > 7 * strlen(stretch_text(0)) + 8
middle(part) = strcol("lane") eq "0" && phase(strcol("kind")) eq part && has_room(0) ? column("start_ms") + stretch_ms(0) / 2 : NaN
do for [format in formats] {
    eval output("timeline", format)
    plot for [part in phases] for [k = 1:has(part, seen)] lanes_csv \
             using (from(part)):(y(0)):(column("start_ms")):(column("end_ms")):(top(column("lane"))):(bottom(column("lane"))) \
             with boxxyerror fs pattern fill(part) border lc rgb edge(part) lc rgb colour(part) dashtype is_hatched(part) ? 1 : dashes title said_of(part), \
         lanes_csv using (arrival("start_ms")):(first_lane(strcol("case")) - 0.5):(0):(lanes_of(strcol("case"))) \
             with vectors nohead dashtype 3 lc rgb "black" notitle, \
         for [part in phases] for [k = 1:has(part, seen) && !is_hatched(part)] lanes_csv \
             using (middle(part)):((top(0) + bottom(0)) / 2):(stretch_text(0)) \
             with labels font "sans-serif,9" textcolor rgb ink(part) notitle, \
         for [part in phases] for [k = 1:has(part, seen) && is_hatched(part)] lanes_csv \
             using (middle(part)):((top(0) + bottom(0)) / 2):(stretch_text(0)) \
             with labels boxed font "sans-serif,9" notitle, \
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

# "× 1.78"; if the interval contains 1, "±12 %": the largest change that it allows.
low = column_of(summary_csv, "vs_baseline_low"); high = column_of(summary_csv, "vs_baseline_high")
is_open(i) = i > 1 && number(word(low, i)) <= 1 && number(word(high, i)) >= 1
beyond(low, high) = 1 - low > high - 1 ? 1 - low : high - 1
ratio_said(i) = is_open(i) ? sprintf("±%.0f %%", 100 * beyond(number(word(low, i)), number(word(high, i)))) : \
    sprintf(number(word(ratio, i)) < 99.995 ? "× %.2f" : "× %.0f", number(word(ratio, i)))
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
shown = ""                              # all cases
caption = caption[1:strlen(caption) - strlen(shared)]
eval page(step_time_title, "step time of the slowest rank (ms)", 28 * (lowest - 0.25))
set yrange [lowest : 0.25]
set xrange [0:*]
set ytics ()
do for [i = 1:words(cases)] {
    set ytics add (word(cases, i) row[i])
    # Numbers in a separate column: at the end of a bar they would overlap the marks.
    set label in_ms(number(word(step_ms, i))) at screen 1 - 84. / width, first row[i] right
    if (number(word(ratio, i)) > 0) { set label ratio_said(i) at screen 1 - 24. / width, first row[i] right }
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
             with xerrorbars pointtype 0 lc rgb "black" title "ratio, 95 %", \
         for [k = 1:predictions] summary_csv using (known("predicted_step_ms")):(y(-0.45)):(0):(0.9) \
             with vectors nohead linewidth 2.5 lc rgb "black" title "predicted", \
         for [k = 1:words(published) > 0] blog using (is_alike(0) ? column("slowest_step_ms") : NaN):(y(0)) \
             with points pointtype 13 pointsize 1.2 lc rgb "white" notitle, \
         for [k = 1:words(published) > 0] blog using (is_alike(0) ? column("slowest_step_ms") : NaN):(y(0)) \
             with points pointtype 12 pointsize 1.3 linewidth 1.5 lc rgb "black" title "the blog"
    unset output
}
