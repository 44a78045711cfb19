# 04_small_work: charts of lab 04, small per-rank work
#
#     gnuplot -e "results='results/04_small_work'" plots/04_small_work.gp
#
# Draws breakdown, timeline, step_time and sample_cost, and the two published charts weak_scaling_throughput and
# strong_scaling_efficiency, into the folder of the results. blog='FILE' gives other published values.
lab = "04_small_work"
if (!exists("plots")) plots = ARG0[:strlen(ARG0) - strlen(lab.".gp")]."."

told_best = "weak_ws1 small_ws4 small_accumulate"
pathology_word = "small work"
pathology(case) = case[1:4]             # first letters of the names: weak, stro, smal, larg
breakdown_title = "Divided work shrinks; the all-reduce is added to it"
timeline_title = "Less work per rank, and the all-reduce takes as long as before"
step_time_title = "What each way of sharing the work takes per step"
load plots."/charts.gp"

# ---- sample_cost: time of all ranks together per sample, stacked ---------------------------------
# The card gives the time per sample beyond the fixed part; everything right of that line is overhead.
per_sample_ms = 0
if (there(card_of_run)) {
    quantities = column_of(card_of_run, "quantity")
    values = column_of(card_of_run, "value")
    do for [part in "fetch forward_backward"] {
        per_sample_ms = per_sample_ms + 1e3 * number(word(values, place("alone_".part."_per_sample_s", quantities)))
    }
}
compared(kind) = strstrt(published, " ".kind) > 0        # true if any published value of this kind is shown
percent(x) = sprintf("%.0f %%", 100 * x)
global_batch = column_of(summary_csv, "global_batch_size")
predicted_ms = column_of(summary_csv, "predicted_step_ms")
transfer_ms = column_of(summary_csv, "transfer_ms")
each(case) = number(of(case, global_batch)) / ranks_of(case)            # samples per rank between two updates
cost(case) = number(of(case, step_ms)) / each(case)
per_sample(x) = x / each(strcol("case"))                                # in the drawn row
# "small_accumulate: 4 × 32 × 4": ranks, batch, and micro-batches if several.
size(case) = sprintf("%s: %d × %s", case, ranks_of(case), of(case, case_batch)).\
    (each(case) > number(of(case, case_batch)) ? sprintf(" × %d", each(case) / number(of(case, case_batch))) : "")
longest = 0
do for [case in cases] {
    longest = cost(case) > longest ? cost(case) : longest
    longest = number(of(case, predicted_ms)) / each(case) > longest ? number(of(case, predicted_ms)) / each(case) : longest
}

left = 220
do for [case in cases] { if (8 * strlen(size(case)) > left) { left = 8 * strlen(size(case)) } }
right = longest < 0.1 ? 180 : 160
eval page("The fewer samples a rank has, the more each one costs", "time of all ranks per sample (ms)", 28 * (lowest - 0.25))
set yrange [lowest : 0.25]
set xrange [0 : longest * 1.02]
set ytics ()
do for [i = 1:words(cases)] {
    case = word(cases, i)
    set ytics add (size(case) row[i])
    set label sprintf(longest < 0.1 ? "%.5f ms" : "%.3f ms", cost(case)) at screen 1 - 84. / width, first row[i] right
    set label percent(number(of(case, transfer_ms)) / number(of(case, step_ms))) at screen 1 - 24. / width, first row[i] right
}
set label "ranks × batch (× micro-batches)" at graph -0.02, first 0.25 right font "sans-serif,9" textcolor rgb grey
set label "transfer" at screen 1 - 24. / width, first 0.25 right font "sans-serif,9" textcolor rgb grey
if (per_sample_ms > 0) { set arrow from per_sample_ms, graph 0 to per_sample_ms, graph 1 nohead dashtype 2 lc rgb "black" front }
do for [format in formats] {
    eval output("sample_cost", format)
    plot for [part in parts] summary_csv \
             using (0):(y(0)):(per_sample(start_ms(part))):(per_sample(start_ms(part) + ms(part))):(y(-0.34)):(y(0.34)) \
             with boxxyerror fs pattern fill(part) border lc rgb edge(part) lc rgb colour(part) dashtype is_hatched(part) ? 1 : dashes \
             title part eq "compute" ? "compute, update" : said_of(part), \
         for [k = 1:predictions] summary_csv using (per_sample(known("predicted_step_ms"))):(y(-0.45)):(0):(0.9) \
             with vectors nohead linewidth 2.5 lc rgb "black" title "predicted", \
         for [k = 1:per_sample_ms > 0] NaN with lines dashtype 2 lc rgb "black" title "no overhead"
    unset output
}

# ---- weak_scaling_throughput: the published chart, from this machine's results -------------------
observed = simulated ? "#888888" : "#303030"
pace = column_of(summary_csv, "samples_per_s")
weak(case) = case[1:5] eq "weak_"
is_weak(unused) = is_alike(0) && weak(strcol("case")) ? column("ranks") : NaN   # in the drawn row of the blog
ticked(x) = sprintf("%.0f %%%%", 100 * x)       # the label of a tick is a format
blog_efficiency = compared("weak") ? column_of(blog, "efficiency") : ""
blog_row(case) = sum [i = 1:words(blog_lab)] (word(blog_case, i) eq case && alike(word(blog_lab, i), case, word(blog_ranks, i), word(blog_batch, i)) ? i : 0)
blog_said(case) = compared("weak") && blog_row(case) ? "\nthe blog: ".ticked(number(word(blog_efficiency, blog_row(case)))) : ""
alone = has("weak_ws1", cases) ? number(of("weak_ws1", pace)) : NaN
most = largest(case_ranks)              # largest world size
if (alone == alone) {
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
    set yrange [0 : most * alone * 1.08e-3]
    set xtics ()
    set ytics auto
    set grid noxtics ytics
    set arrow from 1, alone / 1e3 to most, most * alone / 1e3 nohead dashtype 2 lc rgb grey
    seen = ""
    do for [case in cases] {
        if (weak(case) && !has(of(case, case_ranks), seen)) {
            seen = seen." ".of(case, case_ranks)
            set xtics add (of(case, case_ranks)."\n".ticked(number(of(case, pace)) / alone / ranks_of(case)).blog_said(case) ranks_of(case))
        }
    }
    do for [format in formats] {
        eval output("weak_scaling_throughput", format)
        plot NaN with lines dashtype 2 lc rgb grey title "ideal", \
             summary_csv using (weak(strcol("case")) ? column("ranks") : NaN):(column("samples_per_s") / 1e3) smooth unique \
                 with linespoints pointtype 7 linewidth 1.5 lc rgb observed title simulated ? "simulated" : "measured", \
             for [k = 1:predictions] summary_csv \
                 using (weak(strcol("case")) ? column("ranks") - tick / 2 : NaN) \
                      :(column("global_batch_size") / column("predicted_step_ms")):(tick):(0) \
                 with vectors nohead linewidth 2.5 lc rgb "black" title "predicted", \
             for [k = 1:compared("weak")] blog using (is_weak(0)):(column("samples_per_s") / 1e3) \
                 with points pointtype 12 pointsize 1.3 linewidth 1.5 lc rgb "black" title "the blog"
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
    left = 170
    right = 80
    eval page("One batch divided among more ranks: efficiency falls", "efficiency (%)", 150)
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
    do for [format in formats] {
        eval output("strong_scaling_efficiency", format)
        plot summary_csv using (0):(strong(0)):(0):(100 * column("efficiency")):(strong(-0.3)):(strong(0.3)) \
                 with boxxyerror fs solid border lc rgb "#808080" lc rgb simulated ? "#EEEEEE" : "#D0D0D0" \
                 dashtype simulated ? 2 : 1 title simulated ? "simulated" : "measured", \
             for [k = 1:predictions] summary_csv \
                 using (100 * ideal(0) / column("predicted_step_ms")):(strong(-0.42)):(0):(0.84) \
                 with vectors nohead linewidth 2.5 lc rgb "black" title "predicted", \
             for [k = 1:compared("strong")] blog using (is_alike(0) ? 100 * column("efficiency") : NaN):(strong(0)) \
                 with points pointtype 13 pointsize 1.2 lc rgb "white" notitle, \
             for [k = 1:compared("strong")] blog using (is_alike(0) ? 100 * column("efficiency") : NaN):(strong(0)) \
                 with points pointtype 12 pointsize 1.3 linewidth 1.5 lc rgb "black" title "the blog"
        unset output
    }
}
