# 06_ring_allreduce: charts of lab 06, all-reduces by hand
#
#     gnuplot -e "results='results/06_ring_allreduce'" plots/06_ring_allreduce.gp
#
# Draws into the folder of the results: breakdown, timeline and step_time, as every lab; and sweep, if this run measured it.
lab = "06_ring_allreduce"
if (!exists("plots")) plots = ARG0[:strlen(ARG0) - strlen(lab.".gp")]."."

timeline_cases = "baseline by_gather by_ring"
pathology(case) = case eq "baseline" ? "none" : "by hand"
breakdown_title = "No rank is late, and still one all-reduce costs more than another"
timeline_title = "Through rank 0, all bytes pass one link"
step_time_title = "What adding up the gradients costs, by algorithm"
load plots."/charts.gp"

# ---- sweep: time of each algorithm by message size -----------------------------------------------
sweep_csv = results."/sweep.csv"
crossover_csv = results."/crossover.csv"
if (of_this_run(sweep_csv) && of_this_run(crossover_csv)) {
    sizes = column_of(sweep_csv, "bytes")
    # One way may hide another: the library may use one of the others, and small messages through rank 0 cost as much as in a ring. So
    # later ways are drawn on top, with marks and lines that leave the earlier ones visible.
    ways = "gather doubling ring library"
    shape(way) = word("9 5 7 2", place(way, ways))
    thickness(way) = way eq "gather" ? 4 : 1.2
    tint(way) = way eq "gather" ? "#F7D08A" : shade(way)
    shade(way) = word("#E69F00 #0072B2 #009E73 #000000", place(way, ways))
    predicted_at = number(word(column_of(crossover_csv, "predicted_bytes"), 1))
    found_at = number(word(column_of(crossover_csv, "found_bytes"), 1))
    least = 1e99; highest = 0
    do for [way in ways] {
        do for [time in column_of(sweep_csv, way."_ms").column_of(sweep_csv, way."_predicted_ms")] {
            least = number(time) > 0 && number(time) < least ? number(time) : least
            highest = number(time) > highest ? number(time) : highest
        }
    }
    least = least < 1e99 ? least / 2 : 0.001
    highest = highest > 0 ? 3 * highest : 1
    last_of(way) = word(column_of(sweep_csv, way."_ms"), words(sizes))
    body = 330
    left = 90
    right = 130
    eval page("Doubling saves latencies, the ring saves bytes", "size of the message (log scale)", body)
    set border 3
    set logscale xy
    set xrange [2 : largest(sizes) * 2]
    set yrange [least : highest]
    set grid y lt 1 lc rgb rule
    set xtics ()
    do for [i = 1:words(sizes):2] { set xtics add (size_word(number(word(sizes, i))) number(word(sizes, i))) }
    set format y "%g"
    set ytics (1e-4, 0.001, 0.01, 0.1, 1, 10, 100, 1000)
    set ylabel "time (ms, log scale)"
    ends = 0
    do for [way in ways] {
        if (number(last_of(way)) > 0) { dummy = ends_add(way, body * log10(number(last_of(way)) / least) / log10(highest / least), shape(way)." ".shade(way)) }
    }
    eval ends_labels(width - right + 8)
    eval crossover(predicted_at, size_word(predicted_at), found_at, size_word(found_at), 2, largest(sizes) * 2, 0.95)
    if (predicted_at != predicted_at && found_at != found_at) { set label "doubling and ring have no crossover" at graph 0.02, graph 0.95 left font "sans-serif,9" }
    do for [format in formats] {
        eval output("sweep", format)
        plot for [way in ways] sweep_csv using "bytes":(column(way."_predicted_ms")) with lines linewidth thickness(way) \
                 dashtype way eq "library" ? 2 : 1 lc rgb tint(way) notitle, \
             for [way in ways] sweep_csv using "bytes":(column(way."_ms")) with points pointtype int(shape(way)) \
                 pointsize (way eq "library" ? 1.1 : 1) lc rgb shade(way) notitle, \
             NaN with points pointtype 7 pointsize 0.9 lc rgb more title observed, \
             NaN with lines linewidth 1.2 lc rgb more title "predicted"
        unset output
    }
}
