# 06_ring_allreduce: charts of lab 06, all-reduces by hand
#
#     gnuplot -e "results='results/06_ring_allreduce'" plots/06_ring_allreduce.gp
#
# Draws into the folder of the results: breakdown, timeline and step_time, as every lab; and sweep, if this run measured it.
lab = "06_ring_allreduce"
if (!exists("plots")) plots = ARG0[:strlen(ARG0) - strlen(lab.".gp")]."."

told_best = "baseline by_gather by_ring"
pathology_word = "gather at rank 0"
pathology(case) = case eq "baseline" ? "none" : "by hand"
breakdown_title = "No rank is late, and still one way costs more than another"
timeline_title = "Through rank 0, all bytes pass one link"
step_time_title = "What adding up the gradients costs, by algorithm"
load plots."/charts.gp"

# ---- sweep: time of each algorithm by message size -----------------------------------------------
sweep_csv = results."/sweep.csv"
crossover_csv = results."/crossover.csv"
if (of_this_run(sweep_csv) && of_this_run(crossover_csv)) {
    sizes = column_of(sweep_csv, "bytes")
    ways = "gather doubling ring library"       # the library is drawn on top: it may use one of the others
    shape(way) = word("9 5 7 6", place(way, ways))
    shade(way) = word("#E69F00 #0072B2 #009E73 black", place(way, ways))
    predicted_at = number(word(column_of(crossover_csv, "predicted_bytes"), 1))
    found_at = number(word(column_of(crossover_csv, "found_bytes"), 1))
    left = 90
    right = 40
    eval page("Doubling saves latencies, the ring saves bytes", "size of the message", 330)
    set border 3
    set logscale xy
    set xrange [2 : largest(sizes) * 2]
    set yrange [*:*]
    set grid y lt 1 lc rgb "#E4E4E4"
    set xtics ()
    do for [i = 1:words(sizes):2] { set xtics add (size_word(number(word(sizes, i))) number(word(sizes, i))) }
    set format y "%g"
    set ytics (1e-4, 0.001, 0.01, 0.1, 1, 10, 100, 1000)
    set ylabel "time (ms)"
    set key maxrows 2 at screen 8. / width, 62. / height
    if (predicted_at == predicted_at) { set arrow 10 from predicted_at, graph 0 to predicted_at, graph 1 nohead dashtype 3 lc rgb "black" }
    if (found_at == found_at) { set arrow 11 from found_at, graph 0 to found_at, graph 1 nohead lc rgb grey }
    do for [format in formats] {
        eval output("sweep", format)
        plot for [way in ways] sweep_csv using "bytes":(column(way."_predicted_ms")) with lines linewidth 1.2 \
                 dashtype way eq "library" ? 2 : 1 lc rgb shade(way) notitle, \
             for [way in ways] sweep_csv using "bytes":(column(way."_ms")) with points pointtype int(shape(way)) \
                 pointsize (way eq "library" ? 1.3 : 0.9) lc rgb shade(way) title way, \
             NaN with lines linewidth 1.2 lc rgb "black" title "predicted", \
             NaN with lines linewidth 1.2 dashtype 2 lc rgb "black" title "library, predicted", \
             NaN with lines dashtype 3 lc rgb "black" title "crossover, predicted", \
             NaN with lines lc rgb grey title "crossover, found"
        unset output
    }
}
