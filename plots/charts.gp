# charts: the three charts of every lab whose cases have comparable steps: each rank's time by phase (breakdown), one step on all
# ranks (timeline), and the step of each case (step_time); and that of verdicts, if there are any (shares.gp). The
# script of a lab sets these variables, then loads this file:
#
#     lab               "01_straggler"
#     timeline_cases    the cases of the timeline: baseline, fault, fix; the first two are those of the breakdown
#     pathology(case)   the group of a case; step_time leaves a gap between groups
#     breakdown_title, timeline_title, step_time_title
#     shows_more        0 if a longer step is no loss, because it trains on more samples; default 1
#     timeline_note     what else the caption of the timeline says
#     beside_name       the lane of collectives that run beside the step; default "in flight"
#
# The baseline is the first case of the results. Cases may use only some of the ranks. A case appears by its label; its name, which
# the option --cases takes, stands beside it in small print.
#
# results and blog: see the lab's script. Each chart is drawn as SVG and PNG into the folder of the results.

if (!exists("results")) results = "results/".lab
if (!exists("blog")) blog = plots."/../expected/blog.csv"
if (!exists("shows_more")) shows_more = 1
if (!exists("timeline_note")) timeline_note = ""
if (!exists("beside_name")) beside_name = "in flight"
load plots."/style.gp"

cases = column_of(summary_csv, "case")
# of(case, list): the entry of a case in a column of summary.csv, as a word.
of(case, list) = word(list, place(case, cases))
case_ranks = column_of(summary_csv, "ranks")
case_batch = column_of(summary_csv, "batch_size")
global_batch = column_of(summary_csv, "global_batch_size")
ranks = int(largest(case_ranks))         # ranks started
ranks_of(case) = has(case, cases) ? int(of(case, case_ranks)) : 0

# Labels: "fault" or "fault + fix". Tables of an earlier version have none.
labels = column_of(summary_csv, "label")
label(case) = words(labels) && has(case, cases) ? spaced(of(case, labels)) : case    # a case that was not run has none
plus_in(text) = strstrt(text, " + ")
root(case) = plus_in(label(case)) ? label(case)[:plus_in(label(case)) - 1] : label(case)
fix(case) = plus_in(label(case)) ? label(case)[plus_in(label(case)) + 1:] : ""

# ---- The published values ------------------------------------------------------------------
# A published value is shown only if ranks and batch size equal those of the case. It comes from another machine, so charts show its
# ratio to the published baseline and never its milliseconds.
alike(which, case, ranks, batch) = which eq lab && has(case, cases) && of(case, case_ranks) eq ranks && of(case, case_batch) eq batch
is_alike(unused) = alike(strcol("lab"), strcol("case"), strcol("ranks"), strcol("batch_size"))     # for the drawn row
published = ""                  # cases with a published value
published_at(case, name) = NaN  # this value, if known
if (there(blog)) {
    blog_lab = column_of(blog, "lab"); blog_case = column_of(blog, "case")
    blog_ranks = column_of(blog, "ranks"); blog_batch = column_of(blog, "batch_size")
    do for [i = 1:words(blog_lab)] {
        if (alike(word(blog_lab, i), word(blog_case, i), word(blog_ranks, i), word(blog_batch, i))) { published = published." ".word(blog_case, i) }
    }
    blog_row(case) = sum [i = 1:words(blog_lab)] (word(blog_case, i) eq case && alike(word(blog_lab, i), case, word(blog_ranks, i), word(blog_batch, i)) ? i : 0)
    published_at(case, list) = blog_row(case) ? number(word(list, blog_row(case))) : NaN
}
if (words(published) == 0) { blog = summary_csv }  # gnuplot opens a file even if it is plotted zero times
# Ratio of a published value to that of the baseline; `list` is the column of the table.
published_ratio(case, list) = published_at(case, list) / published_at(word(cases, 1), list)

# ---- Lanes: a block per shown case, downwards: lines for its name, then a lane per rank ---------
timeline_shows = ""     # the cases of timeline_cases, filled up to three with others
do for [case in timeline_cases." ".cases] {
    if (has(case, cases) && !has(case, timeline_shows) && (has(case, timeline_cases) || words(timeline_shows) < 3)) { timeline_shows = timeline_shows." ".case }
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
beside = ""                     # cases whose ranks have a second lane each
stride(case) = has(case, beside) ? 1.7 : 1                              # from a rank's lane to the next one
height_of(case) = lanes_of(case) * stride(case)
above_lanes(n) = sum [i = 1:n] (height_of(word(shown, i)) + 0.4 + head)      # lines above case n + 1
first_lane(case) = has(case, shown) ? above_lanes(place(case, shown) - 1) : NaN
is_drawn(case, rank) = has(case, shown) && has(sprintf("%d", rank), drawn[place(case, cases)])
lane(case, rank) = is_drawn(case, rank) ? first_lane(case) + stride(case) * (place(sprintf("%d", rank), drawn[place(case, cases)]) - 1) : NaN
y(offset) = lane(strcol("case"), column("rank")) + offset       # for the drawn row of the CSV file
lines(shown) = above_lanes(words(shown)) + 0.2
blocks = "set yrange [lines(shown) - 0.6 - head : -0.6 - head]; set ytics ();".\
    "set for [case in shown] for [n = 1:lanes_of(case)] ytics add (lane_name(case, n) first_lane(case) + stride(case) * (n - 1))"
# The head of a block: the label in bold, text after it, and at the right the name in small print.
heading(case, text, line) = "set label ".in_eval(bold(label(case)).literal(text))." at graph 0, first ".sprintf("%g", line).";".\
    (label(case) eq case ? "" : "set label ".in_eval(case)." at screen 1 - 24. / width, first ".sprintf("%g", line)." right noenhanced font 'sans-serif,8' textcolor rgb grey;")

# breakdown: the mean step, stacked. Waiting comes last, whenever it occurred, to show its length.
shown = word(timeline_shows, 1)." ".word(timeline_shows, 2)
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
ms(part) = blank(column_name(part)) || (part eq "exposed" && !blank("wait_ms")) ? 0 : column(column_name(part))
before_ms(n) = sum [i = 1:n - 1] ms(word(parts, i))
start_ms(part) = ms(part) > 0 ? before_ms(place(part, parts)) : NaN            # NaN: nothing to draw
# Place of a number; left of the chart if it has no room. gnuplot 5.4 crashes if a file's only row has a label at NaN.
middle_ms(part) = ms(part) > longest / 15 ? start_ms(part) + ms(part) / 2 : -1

left = left_of_lanes
right = 110
caption = caption.shared
eval page(breakdown_title, "mean step of each rank (ms)", 26 * lines(shown))
eval blocks
set xrange [0 : longest > 0 ? longest * 1.04 : 1]
ranks_of_rows = column_of(ranks_csv, "rank")
do for [i = 1:words(rows)] {    # the whole step in a column of its own
    if (is_drawn(word(rows, i), int(word(ranks_of_rows, i)))) {
        set label in_ms(number(word(ends, i))) at screen 1 - 24. / width, first lane(word(rows, i), int(word(ranks_of_rows, i))) right
    }
}
do for [case in shown] { eval heading(case, "", first_lane(case) - 1) }
eval key_clear
do for [part in parts] { eval key_entry("box", phase_look(part), part eq "compute" ? "compute, update" : said_of(part)) }
do for [format in formats] {
    eval output("breakdown", format)
    plot for [part in parts] ranks_csv \
             using (0):(y(0)):(start_ms(part)):(start_ms(part) + ms(part)):(y(-0.38)):(y(0.38)) \
             with boxxyerror fs pattern fill(part) border lc rgb edge(part) lc rgb colour(part) notitle, \
         for [part in parts] for [k = 1:!is_hatched(part)] ranks_csv using (middle_ms(part)):(y(0)):(ms_digits(ms(part))) \
             with labels font "sans-serif,9" textcolor rgb ink(part) notitle, \
         for [part in parts] for [k = 1:is_hatched(part)] ranks_csv using (middle_ms(part)):(y(0)):(ms_digits(ms(part))) \
             with labels boxed font "sans-serif,9" notitle
    unset output
}

# ---- timeline: one step of each case, on one scale ---------------------------------------------------------
# Collectives that run beside the step have a lane of their own below that of their rank. A sentence above the lanes names the ranks
# that waited and the rank they waited for. Each segment with enough room says what it is, or at least how long; the legend has the
# rest. If a step has tokens, the part of a pass that is padding is hatched, and the number of tokens stands at the right.
shown = timeline_shows
either(text, otherwise) = text ne "" ? text : otherwise
explanation_of(case) = either(head_of(lanes_csv, "explanation of ".case), head_of(lanes_csv, "told of ".case))   # the key in older tables
of_shown(what) = system('awk -F, -v shown='.in_shell(shown." ").' ''/^#/ { next } !seen { seen = 1; for (i = 1; i <= NF; i++) at[$i] = i; next } \
    index(shown, " " $at["case"] " ") { rank = $at["case"] " " $at["rank"]; end = $at["end_ms"] + 0; if (end > most) most = end; \
    if (!begun[rank]++) begin[rank] = $at["start_ms"]; \
    if (end - begin[rank] > own[$at["case"]]) own[$at["case"]] = end - begin[rank]; \
    if (!done[$at["kind"]]++) kinds = kinds " " $at["kind"]; \
    if ($at["lane"] > 0 && !second[$at["case"]]++) beside = beside " " $at["case"]; \
    if ("tokens" in at && $at["tokens"] != "" && !listed[$at["case"], $at["rank"]]++) \
        tokens = tokens " " $at["case"] " " $at["rank"] " " $at["tokens"] " " $at["padded_tokens"] } \
    END { count = split(shown, cases, " "); for (i = 1; i <= count; i++) steps = steps " " own[cases[i]] + 0; \
    print '.what.' }'' <'.in_shell(lanes_csv))

beside = of_shown("beside")
tokens = of_shown("tokens")     # case, rank, tokens, tokens with padding
steps = of_shown("steps")       # the slowest rank's step in each shown case, in ms
longest = number(of_shown("most + 0"))
seen = ""                       # phases that occurred: only these go into the legend
do for [kind in of_shown("kinds")] { if (!has(phase(kind), seen)) { seen = seen." ".phase(kind) } }
do for [k = 1:words(tokens):4] { if (word(tokens, k + 2) ne word(tokens, k + 3) && !has("padding", seen)) { seen = seen." padding" } }
left = left_of_lanes
right = words(tokens) ? 190 : 24
do for [case in shown] { if (explanation_of(case) ne "") { head = 1.75 } }
timeline_caption = caption
caption = caption.(timeline_note eq "" ? "" : " · ".timeline_note)
eval page(timeline_title, "time since the step began (ms)", 28 * lines(shown))
eval blocks
# Cases that train on different numbers of samples say how many.
batches_of_shown = ""
do for [case in shown] { if (!has(of(case, global_batch), batches_of_shown)) { batches_of_shown = batches_of_shown." ".of(case, global_batch) } }
samples_of(case) = words(batches_of_shown) > 1 && words(tokens) == 0 ? " for ".of(case, global_batch)." samples on ".of(case, case_ranks)." rank".(of(case, case_ranks) eq "1" ? "" : "s") : ""
mean_ms = column_of(summary_csv, "slowest_step_ms")
mean_said(case) = number(of(case, mean_ms)) > 0 ? " (mean of all steps: ".in_ms(number(of(case, mean_ms))).")" : ""
do for [case in shown] {
    last = number(word(steps, place(case, shown)))
    eval heading(case, (last > 0 ? ", ".in_ms(last).samples_of(case).mean_said(case) : ""), first_lane(case) - head)
    set label explanation_of(case) at graph 0, first first_lane(case) - 0.95 noenhanced font "sans-serif,9"
    do for [n = 1:has(case, beside) ? lanes_of(case) : 0] { set ytics add (beside_name first_lane(case) + stride(case) * (n - 1) + 0.72) }
}
if (words(tokens)) { set label "tokens of this step" at screen 1 - 24. / width, screen 1. * (below - 22) / height right font "sans-serif,9" textcolor rgb grey }
do for [k = 1:words(tokens):4] {
    padding = int(word(tokens, k + 3)) - int(word(tokens, k + 2))
    if (is_drawn(word(tokens, k), int(word(tokens, k + 1)))) {
        set label word(tokens, k + 2).(padding > 0 ? sprintf(" + %d padding", padding) : "") \
            at screen 1 - 24. / width, first lane(word(tokens, k), int(word(tokens, k + 1))) right font "sans-serif,9"
    }
}
set xrange [0 : longest > 0 ? longest * 1.02 : 1]

track(unused) = strcol("lane") eq "1"
stretch_ms(unused) = column("end_ms") - column("start_ms")
# Share of a pass that is padding. Tokens cost about the same, useful or not.
padded(unused) = !words(tokens) || blank("tokens") || column("padded_tokens") == 0 ? 0 : 1 - column("tokens") / column("padded_tokens")
is_part(part) = stretch_ms(0) > 0 && (part eq "padding" ? padded(0) > 0 : phase(strcol("kind")) eq part)
start_of(part) = part eq "padding" ? column("end_ms") - padded(0) * stretch_ms(0) : column("start_ms")
end_of(part) = part eq "compute" ? column("end_ms") - padded(0) * stretch_ms(0) : column("end_ms")
from(part) = is_part(part) ? start_of(part) : NaN
top(part) = y(track(0) ? 0.46 : -0.38)
bottom(part) = y(track(0) ? 0.98 : 0.38)
# Where collectives run beside the step, arrivals would only mark the start of each.
arrival(when) = strcol("arrived_last") eq "1" && strcol("kind") eq "transfer" && !has(strcol("case"), beside) ? column(when) : NaN
# Say "wait 3.98" if the segment is wide enough, or else 3.98, or 4.0: a letter takes 7 pixels.
part_ms(part) = end_of(part) - start_of(part)
long_text(part) = part eq "padding" ? sprintf("padding %.0f %%", 100 * padded(0)) : track(0) ? short_text(part) : said_of(strcol("kind"))." ".ms_digits(stretch_ms(0))
short_text(part) = part eq "padding" ? sprintf("%.0f %%", 100 * padded(0)) : ms_digits(stretch_ms(0))
shortest_text(part) = part eq "padding" || stretch_ms(0) >= 9.95 ? short_text(part) : sprintf("%.1f", stretch_ms(0))
is_number(text) = strstrt(text, " ") == 0           # digits are wider than letters, but of one width
has_room(part, text) = part_ms(part) / (1.02 * longest) * (width - left - right) > (is_number(text) ? 7.7 * strlen(text) - 2 : 6.6 * strlen(text) + 6)
of_tokens(part, text) = part eq "padding" && has_room(part, text." of tokens") ? text." of tokens" : text
text_of(part) = has_room(part, long_text(part)) ? of_tokens(part, long_text(part)) : has_room(part, short_text(part)) ? short_text(part) : shortest_text(part)
middle(part) = is_part(part) && has_room(part, text_of(part)) ? (start_of(part) + end_of(part)) / 2 : -1      # -1: left of the chart
eval key_clear
do for [part in phases] { if (has(part, seen)) { eval key_entry("box", phase_look(part), part eq "padding" ? "padding, % of tokens" : said_of(part)) } }
if (has("1", column_of(lanes_csv, "arrived_last"))) { eval key_entry("point", "pointtype 11 pointsize 1.1 lc rgb 'black'", "last arrival") }
do for [format in formats] {
    eval output("timeline", format)
    plot for [part in phases] for [k = 1:has(part, seen)] lanes_csv \
             using (from(part)):(y(0)):(start_of(part)):(end_of(part)):(top(part)):(bottom(part)) \
             with boxxyerror fs pattern fill(part) border lc rgb edge(part) lc rgb colour(part) notitle, \
         lanes_csv using (arrival("start_ms")):(first_lane(strcol("case")) - 0.5):(0):(height_of(strcol("case"))) \
             with vectors nohead dashtype 3 lc rgb "black" notitle, \
         for [part in phases] for [k = 1:has(part, seen) && !is_hatched(part)] lanes_csv \
             using (middle(part)):((top(part) + bottom(part)) / 2):(text_of(part)) \
             with labels font "sans-serif,9" textcolor rgb ink(part) notitle, \
         for [part in phases] for [k = 1:has(part, seen) && is_hatched(part)] lanes_csv \
             using (middle(part)):((top(part) + bottom(part)) / 2):(text_of(part)) \
             with labels boxed font "sans-serif,9" notitle, \
         for [k = 1:has("1", column_of(lanes_csv, "arrived_last"))] lanes_csv using (arrival("start_ms")):(y(-0.42)) \
             with points pointtype 11 pointsize 1.1 lc rgb "black" notitle
    unset output
}
caption = timeline_caption
beside = ""

# ---- step_time: a row per case, with a gap between groups ----------------------------------------
# All marks share the scale in ms. The bar is the mean step, dark beyond the baseline's. What was compared in rounds, as ratios to
# the baseline of the same round, is drawn times the baseline's mean: a point per round, the 95 % interval, the published ratio. The
# ratio itself is a number at the right; it may differ from the ratio of the bars.
step_ms = column_of(summary_csv, "slowest_step_ms")
ratio = column_of(summary_csv, "vs_baseline")
foreseen_ms = column_of(summary_csv, "predicted_step_ms")
baseline = word(cases, 1)
baseline_ms = number(word(step_ms, 1))
intervals = largest(column_of(summary_csv, "vs_baseline_low")) > 0
predictions = largest(foreseen_ms) > 0
low = column_of(summary_csv, "vs_baseline_low"); high = column_of(summary_csv, "vs_baseline_high")
is_open(i) = i > 1 && number(word(low, i)) <= 1 && number(word(high, i)) >= 1      # the interval contains 1
of_baseline(x) = intervals && sprintf("%.3f", x) eq "1.000" ? "equal" : intervals && sprintf("%.2f", x) eq "1.00" ? sprintf("× %.3f", x) : sprintf(x < 99.995 ? "× %.2f" : "× %.0f", x)
ratio_said(i) = i == 1 ? "" : is_open(i) ? "not resolved" : of_baseline(number(word(ratio, i)))
more_said(i) = i == 1 || is_open(i) || ratio_said(i) eq "equal" ? "" : sprintf("%s%s ms", number(word(step_ms, i)) < baseline_ms ? "−" : "+", ms_digits(abs(number(word(step_ms, i)) - baseline_ms)))
blog_step = words(published) ? column_of(blog, "slowest_step_ms") : ""
compared = words(published) && has(baseline, published) ? published : ""            # cases with a published ratio
# The last launch (a run with --add-rounds is one more), and the largest ratio of its rounds.
of_rounds = system('awk -F, ''/^#/ { next } !seen { seen = 1; for (i = 1; i <= NF; i++) at[$i] = i; next } \
    { launch = "launch" in at ? $at["launch"] + 0 : 0; if (launch > last) { last = launch; most = 0 } \
    if (launch == last && $at["vs_baseline"] + 0 > most) most = $at["vs_baseline"] + 0 } END { print last + 0, most + 0 }'' <'.in_shell(rounds_csv))
last_launch = number(word(of_rounds, 1))
repeated = ""                           # cases other than the baseline with several rounds: of a single one the ratio is no news
rounds_of = column_of(summary_csv, "rounds")
do for [i = 2:words(cases)] { if (number(word(rounds_of, i)) > 1) { repeated = repeated." ".word(cases, i) } }
array row[words(cases)]
do for [i = 1:words(cases)] {
    row[i] = 1
    if (i > 1) { row[i] = row[i - 1] + (pathology(word(cases, i)) eq pathology(word(cases, i - 1)) ? 1 : 1.4) }
}
y(offset) = has(strcol("case"), cases) ? row[place(strcol("case"), cases)] + offset : NaN
# A fix stands below its fault, as "+ fix".
row_label(i) = i > 1 && fix(word(cases, i)) ne "" && root(word(cases, i)) eq root(word(cases, i - 1)) ? fix(word(cases, i)) : label(word(cases, i))

longest = baseline_ms * number(word(of_rounds, 2))
longest = longest > 0 ? longest : 0
do for [i = 1:words(cases)] {
    longest = number(word(step_ms, i)) > longest ? number(word(step_ms, i)) : longest
    longest = number(word(foreseen_ms, i)) > longest ? number(word(foreseen_ms, i)) : longest
    longest = baseline_ms * number(word(high, i)) > longest ? baseline_ms * number(word(high, i)) : longest
    longest = i > 1 && has(word(cases, i), compared) && baseline_ms * published_ratio(word(cases, i), blog_step) > longest ? \
        baseline_ms * published_ratio(word(cases, i), blog_step) : longest
}
longest = longest > 0 ? longest * 1.03 : 1
left = 110
do for [i = 1:words(cases)] {
    left = 7.6 * strlen(row_label(i)) + 30 > left ? 7.6 * strlen(row_label(i)) + 30 : left
    left = 6.2 * strlen(word(cases, i)) + 30 > left ? 6.2 * strlen(word(cases, i)) + 30 : left
}
ms_at = shows_more ? 226 : 144      # pixels from the right: ends of the columns
more_at = 132
right = ms_at + 78
lowest = row[words(cases)] + 0.6
shown = ""                              # all cases
caption = caption[1:strlen(caption) - strlen(shared)]
above = 76
eval page(step_time_title, "step time of the slowest rank (ms)", 34 * (lowest - 0.4))
set yrange [lowest : 0.4]
set xrange [0 : longest]
unset ytics
in_column(x, text, y, look) = "set label ".in_eval(text)." at screen 1 - ".sprintf("%.1f", x)." / width, first ".sprintf("%g", y)." right ".look.";"
do for [i = 1:words(cases)] {
    is_named = row_label(i) ne word(cases, i)
    set label row_label(i) at screen 1. * (left - 10) / width, first row[i] - (is_named ? 0.12 : 0) right noenhanced
    if (is_named) { set label word(cases, i) at screen 1. * (left - 10) / width, first row[i] + 0.28 right noenhanced font "sans-serif,8" textcolor rgb grey }
    eval in_column(ms_at, in_ms(number(word(step_ms, i))), row[i] - 0.1, "")
    if (number(word(ratio, i)) > 0) {
        eval in_column(24, ratio_said(i), row[i] - 0.1, is_open(i) ? "textcolor rgb grey" : "")
        if (shows_more) { eval in_column(more_at, more_said(i), row[i] - 0.1, "") }
    }
}
column_head(x, text) = "set label ".in_eval(text)." at screen 1 - ".sprintf("%.1f", x)." / width, screen 1 - 60. / height right font 'sans-serif,9' textcolor rgb grey;"
eval column_head(ms_at, "mean step")
dark = 0                                # 1 if a part of a bar lies beyond the baseline
compares = baseline_ms > 0 && words(cases) > 1
if (compares) {
    if (shows_more) { eval column_head(more_at, "more") }
    eval column_head(24, "ratio by rounds")
    set arrow from baseline_ms, graph 0 to baseline_ms, graph 1 nohead dashtype 2 lc rgb guide
    do for [i = 2:words(cases)] { if (shows_more && number(word(step_ms, i)) > baseline_ms) { dark = 1 } }
}
baseline_end(unused) = shows_more && baseline_ms > 0 && column("slowest_step_ms") > baseline_ms ? baseline_ms : column("slowest_step_ms")
beyond(unused) = column("slowest_step_ms") > baseline_ms && strcol("case") ne baseline ? column("slowest_step_ms") : NaN
round_ratio(unused) = blank("vs_baseline") || !has(strcol("case"), repeated) || (last_launch > 0 && column("launch") != last_launch) ? -1 : baseline_ms * column("vs_baseline")
interval(name) = strcol("case") eq baseline ? -1 : baseline_ms * known(name)
# The prediction, scaled by the machine's speed in the case's rounds; and as it was before the run, where that is another. That mark
# is taller, so that none hides the other. A light edge sets both off a dark bar.
predicted_then(unused) = blank("predicted_then_ms") ? known("predicted_step_ms") : column("predicted_then_ms")
is_drifted(then, frozen) = abs(then / frozen - 1) > 0.01       # false for NaN
frozen_at(unused) = !blank("predicted_then_ms") && !blank("predicted_step_ms") && is_drifted(column("predicted_then_ms"), column("predicted_step_ms")) ? column("predicted_step_ms") : NaN
then_ms = column_of(summary_csv, "predicted_then_ms")
drifted = 0
do for [i = 1:words(cases)] { if (is_drifted(number(word(then_ms, i)), number(word(foreseen_ms, i)))) { drifted = 1 } }
frozen_look = "nohead linewidth 1.2 dashtype 3 lc rgb 'black'"
round_look = "pointtype 7 pointsize 0.35 lc rgb more"
eval key_clear
eval key_entry("box", solid_look(bar), observed." mean")
if (dark) { eval key_entry("box", solid_look(more), "beyond the baseline") }
if (predictions) { eval key_entry("standing", mark_look, "predicted") }
if (drifted) { eval key_entry("standing", frozen_look, "predicted, unscaled") }
if (compares && words(repeated)) { eval key_entry("point", round_look, "a round: ratio × the baseline's mean") }
if (compares && intervals) { eval key_entry("lying", whisker_look, "95 % interval of the ratio") }
if (words(compared) > 1) { eval key_entry("point", "pointtype 12 pointsize 1.3 linewidth 1.5 lc rgb 'black'", "published ratio") }
do for [format in formats] {
    eval output("step_time", format)
    plot summary_csv using (0):(y(0)):(0):(baseline_end(0)):(y(-0.34)):(y(0.14)) \
             with boxxyerror fs solid noborder lc rgb bar notitle, \
         for [k = 1:dark] summary_csv using (beyond(0)):(y(0)):(baseline_ms):(beyond(0)):(y(-0.34)):(y(0.14)) \
             with boxxyerror fs solid noborder lc rgb more notitle, \
         for [k = 1:drifted] summary_csv using (frozen_at(0)):(y(-0.34)):(0):(0.48) with vectors nohead linewidth 3 lc rgb "white" notitle, \
         for [k = 1:drifted] summary_csv using (frozen_at(0)):(y(-0.62)):(0):(0.84) \
             with vectors nohead linewidth 1.2 dashtype 3 lc rgb "black" notitle, \
         for [k = 1:predictions] summary_csv using (predicted_then(0)):(y(-0.34)):(0):(0.48) with vectors nohead linewidth 4 lc rgb "white" notitle, \
         for [k = 1:predictions] summary_csv using (predicted_then(0)):(y(-0.42)):(0):(0.64) \
             with vectors nohead linewidth 2.5 lc rgb "black" notitle, \
         for [k = 1:compares] rounds_csv using (round_ratio(0)):(y(0.32)) \
             with points pointtype 7 pointsize 0.35 lc rgb more notitle, \
         for [k = 1:intervals] summary_csv \
             using (blank("vs_baseline_low") ? -1 : interval("vs_baseline")):(y(0.32)):(interval("vs_baseline_low")):(interval("vs_baseline_high")) \
             with xerrorbars pointtype 0 lc rgb more notitle, \
         for [k = 1:words(compared) > 1] blog using (is_alike(0) && strcol("case") ne baseline ? baseline_ms * published_ratio(strcol("case"), blog_step) : NaN):(y(0.32)) \
             with points pointtype 13 pointsize 1.2 lc rgb "white" notitle, \
         for [k = 1:words(compared) > 1] blog using (is_alike(0) && strcol("case") ne baseline ? baseline_ms * published_ratio(strcol("case"), blog_step) : NaN):(y(0.32)) \
             with points pointtype 12 pointsize 1.3 linewidth 1.5 lc rgb "black" notitle
    unset output
}
above = 52
set ytics nomirror scale 0 textcolor rgb "black" noenhanced
set key maxrows 1

load plots."/shares.gp"
