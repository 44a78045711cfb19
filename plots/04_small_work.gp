# 04_small_work: charts of lab 04, small per-rank work
#
#     gnuplot -e "results='results/04_small_work'" plots/04_small_work.gp
#
# Draws breakdown, timeline, step_time and step_over_batch, and the two published charts weak_scaling_throughput and
# strong_scaling_efficiency, into the folder of the results. blog='FILE' gives other published values.
lab = "04_small_work"
if (!exists("plots")) plots = ARG0[:strlen(ARG0) - strlen(lab.".gp")]."."

timeline_cases = "weak_ws1 small_ws4 small_accumulate"
pathology(case) = case[1:4]             # first letters of the names: weak, stro, smal, larg
shows_more = 0                          # steps of more samples are longer and no worse
breakdown_title = "Divided work shrinks; the all-reduce is added to it"
timeline_title = "Less work per rank, and the all-reduce takes as long as before"
step_time_title = "What each way of sharing the work takes per step"
load plots."/charts.gp"

# ---- step_over_batch: n ranks with B samples each, against one rank that trains on all n B ------------------
# Both steps are straight lines over B. Where they cross, adding the ranks begins to pay.
predicted_ms = column_of(summary_csv, "predicted_step_ms")
each(case) = number(of(case, global_batch)) / ranks_of(case)            # samples per rank between two updates
ranks_by_samples(case) = sprintf("%d × %.0f", ranks_of(case), each(case))
shared(case) = number(of(case, global_batch)) / ranks                   # the same samples, divided among all ranks
many = ""; single = ""                   # cases of the two lines
do for [case in "small_ws4 weak_ws4 larger_batch"] { if (has(case, cases) && ranks > 1) { many = many." ".case } }
do for [case in "weak_ws1 strong_ws1"] { if (has(case, cases) && ranks > 1) { single = single." ".case } }
# Only cases that have times.
timed(cases_of) = (kept = "", sum [i = 1:words(cases_of)] (number(of(word(cases_of, i), step_ms)) > 0 && number(of(word(cases_of, i), predicted_ms)) > 0 ? (kept = kept." ".word(cases_of, i), 0) : 0), kept)
many = timed(many); single = timed(single)
# A line through the first two cases: its slope, its value at 0, and where two lines cross; NaN if they do not.
x_of(case) = has(case, single) ? shared(case) : each(case)
ms_of(list, case) = number(of(case, list))
slope(list, line) = (ms_of(list, word(line, 2)) - ms_of(list, word(line, 1))) / (x_of(word(line, 2)) - x_of(word(line, 1)))
origin(list, line) = ms_of(list, word(line, 1)) - slope(list, line) * x_of(word(line, 1))
crossing(list) = (origin(list, many) - origin(list, single)) / (slope(list, single) - slope(list, many))
above_0(x) = x > 0 ? x : NaN
has_lines = words(many) > 1 && words(single) > 1
if (has_lines) { has_lines = x_of(word(many, 1)) != x_of(word(many, 2)) && x_of(word(single, 1)) != x_of(word(single, 2)) }
if (has_lines && predictions) {
    foreseen = above_0(crossing(predicted_ms))
    seen_at = above_0(crossing(step_ms))
    largest_b = 0; smallest_b = 1e9
    most_ms = 0; least_ms = 1e9
    do for [case in many.single] {
        largest_b = x_of(case) > largest_b ? x_of(case) : largest_b
        smallest_b = x_of(case) < smallest_b ? x_of(case) : smallest_b
        do for [list in "predicted_ms step_ms"] {
            ms = ms_of(value(list), case)
            most_ms = ms > most_ms ? ms : most_ms
            least_ms = ms < least_ms ? ms : least_ms
        }
    }
    lowest_b = foreseen < smallest_b ? foreseen : smallest_b
    lowest_b = seen_at < lowest_b ? seen_at : lowest_b
    highest_b = foreseen > largest_b ? foreseen : largest_b
    highest_b = seen_at > highest_b ? seen_at : highest_b
    first_b = lowest_b / 4
    last_b = 2.5 * highest_b
    line(list, cases_of, b) = origin(list, cases_of) + slope(list, cases_of) * b
    left = 90
    right = 245
    body = 330
    eval page("Below the crossover, one rank alone is faster than all", "samples per rank, B (log scale)", body)
    set border 3
    set logscale xy
    set xrange [first_b : last_b]
    bottom_ms = 0.7 * (line(predicted_ms, single, first_b) > 0 && line(predicted_ms, single, first_b) < least_ms ? line(predicted_ms, single, first_b) : least_ms)
    top_ms = 1.4 * (line(predicted_ms, single, last_b) > most_ms ? line(predicted_ms, single, last_b) : most_ms)
    top_ms = line(predicted_ms, many, last_b) > top_ms ? 1.4 * line(predicted_ms, many, last_b) : top_ms
    set yrange [bottom_ms : top_ms]
    set xtics ()
    do for [k = floor(log10(first_b) / log10(2)) : ceil(log10(last_b) / log10(2))] { if (2 ** k >= 1 && 2 ** k >= first_b && 2 ** k <= last_b) { set xtics add (sprintf("%d", int(2 ** k)) 2 ** k) } }
    set ytics autofreq
    set ytics ()
    do for [k = floor(log10(bottom_ms)) : ceil(log10(top_ms))] { do for [m in "1 2 5"] { if (10.0 ** k * m >= bottom_ms && 10.0 ** k * m <= top_ms) { set ytics add (sprintf("%g", 10.0 ** k * m) 10.0 ** k * m) } } }
    set grid y lt 1 lc rgb rule
    set ylabel "step time (ms, log scale)"
    height_in(ms) = body * (log10(ms) - log10(bottom_ms)) / (log10(top_ms) - log10(bottom_ms))
    ends = 0
    dummy = ends_add(sprintf("one rank, %d × B samples", ranks), height_in(line(predicted_ms, single, last_b)), "5 ".more)
    dummy = ends_add(sprintf("%d ranks, B samples each", ranks), height_in(line(predicted_ms, many, last_b)), "7 ".colour("compute"))
    eval ends_labels(width - right + 8)
    said_b(b) = sprintf(b < 10 ? "B = %.1f" : "B = %.0f", b)
    eval crossover(foreseen, said_b(foreseen), seen_at, said_b(seen_at), first_b, last_b, 0.07)
    if (foreseen != foreseen && seen_at != seen_at) { set label "no crossover" at graph 0.02, graph 0.07 left font "sans-serif,9" }
    # Names of the cases: above the upper line, below the lower one.
    do for [case in many.single] {
        is_upper = has(case, many) == (line(predicted_ms, many, x_of(case)) > line(predicted_ms, single, x_of(case)))
        eval "set label ".in_eval(label(case).": ".ranks_by_samples(case)).sprintf(" at first %g, first %g offset %g, %g ", x_of(case), ms_of(step_ms, case), is_upper ? -0.7 : 0.7, is_upper ? 0.8 : -0.8).\
            (is_upper ? "right" : "left")." noenhanced front font 'sans-serif,9' boxed"
    }
    b_of(cases_of) = has(strcol("case"), cases_of) ? x_of(strcol("case")) : NaN
    do for [format in formats] {
        eval output("step_over_batch", format)
        plot line(predicted_ms, many, x) with lines linewidth 1.5 lc rgb colour("compute") notitle, \
             line(predicted_ms, single, x) with lines linewidth 1.5 lc rgb more notitle, \
             summary_csv using (b_of(many)):(column("slowest_step_ms")) with points pointtype 7 pointsize 1.1 lc rgb colour("compute") notitle, \
             summary_csv using (b_of(single)):(column("slowest_step_ms")) with points pointtype 5 pointsize 1.1 lc rgb more notitle, \
             NaN with points pointtype 7 pointsize 1.1 lc rgb colour("compute") title observed, \
             NaN with lines linewidth 1.5 lc rgb colour("compute") title "predicted"
        unset output
    }
    unset logscale
    unset ylabel
    set border 1
}

# ---- weak_scaling_throughput: the published chart, from this machine's results -------------------
knows(kind) = strstrt(published, " ".kind) > 0        # true if any published value of this kind is shown
percent(x) = sprintf("%.0f %%", 100 * x)
# "4 ranks × 128": ranks and batch.
size(case) = sprintf("%d rank%s × %s", ranks_of(case), ranks_of(case) == 1 ? "" : "s", of(case, case_batch))
pace = column_of(summary_csv, "samples_per_s")
weak(case) = case[1:5] eq "weak_"
is_weak(unused) = is_alike(0) && weak(strcol("case")) ? column("ranks") : NaN   # in the drawn row of the blog
ticked(x) = sprintf("%.0f %%%%", 100 * x)       # the label of a tick is a format
blog_efficiency = knows("weak") ? column_of(blog, "efficiency") : ""
blog_pace = knows("weak") ? column_of(blog, "samples_per_s") : ""
blog_said(case) = knows("weak") && has(case, published) ? "\npublished: ".ticked(published_at(case, blog_efficiency)) : ""
pace_alone = has("weak_ws1", cases) ? number(of("weak_ws1", pace)) : NaN
published_pace(case) = pace_alone * published_at(case, blog_pace) / published_at("weak_ws1", blog_pace)   # relative to one rank
most = largest(case_ranks)              # largest world size
if (pace_alone == pace_alone) {
    left = 90
    right = 24
    below = below + 32          # efficiencies stand below the axis, clear of points and lines
    eval page("Each rank has its own batch: more ranks, less throughput of each", \
        "ranks, with efficiency", 300)
    set xlabel offset 0, -2
    set ylabel "samples per second (thousands)"
    beyond = 0.075 * most
    tick = 0.03 * (most - 1 + 2 * beyond)       # width of the prediction mark
    set xrange [1 - beyond : most + beyond]
    set yrange [0 : most * pace_alone * 1.08e-3]
    set xtics ()
    set ytics auto
    set grid noxtics ytics
    set arrow from 1, pace_alone / 1e3 to most, most * pace_alone / 1e3 nohead dashtype 2 lc rgb guide
    set label "ideal" at 0.5 * (1 + most), 0.5 * (1 + most) * pace_alone / 1e3 right offset -0.5, 0.6 textcolor rgb grey font "sans-serif,9"
    seen = ""
    do for [case in cases] {
        if (weak(case) && !has(of(case, case_ranks), seen)) {
            seen = seen." ".of(case, case_ranks)
            set xtics add (of(case, case_ranks)."\n".ticked(number(of(case, pace)) / pace_alone / ranks_of(case)).blog_said(case) ranks_of(case))
        }
    }
    do for [format in formats] {
        eval output("weak_scaling_throughput", format)
        plot summary_csv using (weak(strcol("case")) ? column("ranks") : NaN):(column("samples_per_s") / 1e3) smooth unique \
                 with linespoints pointtype 7 linewidth 1.5 lc rgb more title observed, \
             for [k = 1:predictions] summary_csv \
                 using (weak(strcol("case")) ? column("ranks") - tick / 2 : NaN) \
                      :(column("global_batch_size") / column("predicted_step_ms")):(tick):(0) \
                 with vectors nohead linewidth 2.5 lc rgb "black" title "predicted", \
             for [k = 1:knows("weak")] blog using (is_weak(0)):(published_pace(strcol("case")) / 1e3) \
                 with points pointtype 12 pointsize 1.3 linewidth 1.5 lc rgb "black" title "published, relative to one rank"
        unset output
    }
    below = below - 32
    set xlabel offset 0, 0
}

# ---- strong_scaling_efficiency: the published chart, from this machine's results -----------------
efficiency = column_of(summary_csv, "efficiency")
shown = ""
do for [case in "strong_ws1 strong_ws2 strong_ws4"] { if (has(case, cases)) { shown = shown." ".case } }
if (has("strong_ws1", cases)) {
    strong(offset) = has(strcol("case"), shown) ? place(strcol("case"), shown) + offset : NaN
    left = 130
    right = 80
    eval page("One batch divided among more ranks: efficiency falls", "efficiency (%) of ranks × samples per rank", 150)
    unset ylabel
    set xrange [0 : 104]
    set xtics auto
    set yrange [words(shown) + 0.6 : 0.4]
    set ytics ()
    set grid xtics noytics
    do for [i = 1:words(shown)] {
        case = word(shown, i)
        set ytics add (size(case) i)
        set label sprintf("%.1f %%", 100 * number(of(case, efficiency))) at graph 1.08, first i right
    }
    ideal(unused) = number(of("strong_ws1", predicted_ms)) / ranks_of(strcol("case"))
    eval key_clear
    eval key_entry("box", solid_look(bar), observed)
    if (predictions) { eval key_entry("standing", mark_look, "predicted") }
    if (knows("strong")) { eval key_entry("point", "pointtype 12 pointsize 1.3 linewidth 1.5 lc rgb 'black'", "published") }
    do for [format in formats] {
        eval output("strong_scaling_efficiency", format)
        plot summary_csv using (0):(strong(0)):(0):(100 * column("efficiency")):(strong(-0.3)):(strong(0.3)) \
                 with boxxyerror fs solid noborder lc rgb bar notitle, \
             for [k = 1:predictions] summary_csv \
                 using (100 * ideal(0) / column("predicted_step_ms")):(strong(-0.42)):(0):(0.84) \
                 with vectors nohead linewidth 2.5 lc rgb "black" notitle, \
             for [k = 1:knows("strong")] blog using (is_alike(0) ? 100 * column("efficiency") : NaN):(strong(0)) \
                 with points pointtype 13 pointsize 1.2 lc rgb "white" notitle, \
             for [k = 1:knows("strong")] blog using (is_alike(0) ? 100 * column("efficiency") : NaN):(strong(0)) \
                 with points pointtype 12 pointsize 1.3 linewidth 1.5 lc rgb "black" notitle
        unset output
    }
}
