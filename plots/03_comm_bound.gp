# 03_comm_bound: charts of lab 03, steps bound by communication
#
#     gnuplot -e "results='results/03_comm_bound'" plots/03_comm_bound.gp
#
# Draws into the folder of the results: breakdown, timeline and step_time, as every lab; pathology_slowest_step and
# pathology_throughput, which compare labs 01 to 03 as far as the neighbouring folders have their results; sweep and exposed,
# if this run measured them. blog='FILE' gives other published values.
lab = "03_comm_bound"
if (!exists("plots")) plots = ARG0[:strlen(ARG0) - strlen(lab.".gp")]."."

told_best = "baseline comm_ws4 comm_buckets"
pathology_word = "extra all-reduce"
pathology(case) = case eq "baseline" ? "none" : case[1:4] eq "comm" ? "comm" : "own"
breakdown_title = "All ranks are equally slow, none of them late"
timeline_title = "The message determines the step; buckets start early"
step_time_title = "What one more message costs, and what each fix saves"
if (!exists("blog")) blog = plots."/../expected/blog.csv"
published_csv = blog                    # charts.gp replaces `blog` if it has no value for these cases
load plots."/charts.gp"

# ---- pathology_slowest_step, pathology_throughput: labs 01 to 03 ---------------------------------
labs = "03_comm_bound 01_straggler 03_comm_bound 02_rank0_host"
sick = "baseline skew_ws4 comm_ws4 barrier_ws4"
array said[4] = ["baseline", "straggler", "extra all-reduce", "rank 0 + barrier"]

# Return a cell of the row with this lab and case and with this world size.
found(csv, lab, case, name) = system('test -r '.in_shell(csv).' && awk -F, ''/^#/ { next } \
    !seen { seen = 1; for (i = 1; i <= NF; i++) at[$i] = i; next } \
    $at["lab"] == "'.lab.'" && $at["case"] == "'.case.'" && $at["ranks"] == '.ranks.' { print $at["'.name.'"]; exit }'' <'.in_shell(csv))

do for [chart in "pathology_slowest_step pathology_throughput"] {
    quantity = chart eq "pathology_throughput" ? "samples_per_s" : "slowest_step_ms"
    unit = chart eq "pathology_throughput" ? 1e3 : 1     # GPUs reach millions
    set print $pathologies
    print "row,here,blog"
    drawn = 0
    known_blog = 0
    unset label; unset arrow; set ytics ()
    array told_of[4]
    array found_of[4]
    do for [i = 1:4] {
        here = found(results."/../".word(labs, i)."/summary.csv", word(labs, i), word(sick, i), quantity)
        there = found(published_csv, word(labs, i), word(sick, i), quantity)
        if (here ne "") {
            drawn = drawn + 1
            told_of[drawn] = said[i]
            found_of[drawn] = number(here) / unit
            if (there ne "") { known_blog = 1 }
            print sprintf("%d,%g,%s", drawn, number(here) / unit, there eq "" ? "" : sprintf("%g", number(there) / unit))
        }
    }
    unset print
    if (drawn > 0) {            # in a renamed folder no lab is found, not even this one
        left = 150
        right = 90
        eval page(chart eq "pathology_throughput" ? "What is left of the throughput" : "What each pathology makes of the step time", \
                  chart eq "pathology_throughput" ? "global throughput (thousand samples/s)" : "step time of the slowest rank (ms)", 34 * (drawn + 0.2))
        set yrange [drawn + 0.6 : 0.4]
        set xrange [0:*]
        set ytics ()
        do for [i = 1:drawn] {
            set ytics add (told_of[i] i)
            set label digits(found_of[i]) at screen 1 - 24. / width, first i right      # at the bar's end it would hide the diamond
        }
        do for [format in formats] {
            eval output(chart, format)
            plot $pathologies using (0):(column("row")):(0):(column("here")):(column("row") - 0.32):(column("row") + 0.32) \
                     with boxxyerror fs solid border lc rgb "#808080" lc rgb simulated ? "#EEEEEE" : "#D0D0D0" \
                     dashtype simulated ? 2 : 1 title simulated ? "simulated" : "measured", \
                 for [k = 1:known_blog] $pathologies using (!known_blog ? 0 : blank("blog") ? NaN : column("blog")):(column("row")) \
                     with points pointtype 12 pointsize 1.3 linewidth 1.5 lc rgb "black" title "the blog"
            unset output
        }
    }
}

# ---- sweep: time of an all-reduce by its size ----------------------------------------------------
sweep_csv = results."/sweep.csv"
has_card = there(card_of_run)
if (!has_card) { card_of_run = sweep_csv }     # gnuplot opens a file even if it is plotted zero times
# Message sizes of the lab itself, from the case that keeps its message. The card does not measure them; it predicts them.
own_sizes = system('awk -F, ''/^#/ { next } !seen { seen = 1; for (i = 1; i <= NF; i++) at[$i] = i; next } \
    $at["case"] == "comm_kept_ws4" && $at["kind"] == "all_reduce" && !done[$at["bytes"]]++ { printf "%s ", $at["bytes"] }'' <'.in_shell(results."/spans.csv"))
if (of_this_run(sweep_csv)) {
    sizes = column_of(sweep_csv, "bytes")
    time_height = 250
    band_height = 170
    between = 26
    left = 90
    right = 40
    eval page("Small messages cost their latency, large ones their bytes", "size of the message", time_height + between + band_height)
    set border 3
    set logscale xy
    set yrange [*:*]
    set xrange [2 : largest(sizes) * 2]
    set grid y lt 1 lc rgb "#E4E4E4"
    top_of(panel) = 1 - 1. * (above + (panel == 1 ? 0 : time_height + between)) / height
    bottom_of(panel) = top_of(panel) - 1. * (panel == 1 ? time_height : band_height) / height
    do for [format in formats] {
        eval output("sweep", format)
        set multiplot
        do for [i = 1:words(own_sizes)] {
            set arrow 10 + i from first number(word(own_sizes, i)), graph 0 to first number(word(own_sizes, i)), graph 1 \
                nohead dashtype 3 lc rgb grey
        }
        set tmargin at screen top_of(1); set bmargin at screen bottom_of(1)
        set xtics ()
        do for [i = 1:words(sizes):2] { set xtics add ("" number(word(sizes, i))) }
        set format y "%g"
        set ytics (0.001, 0.01, 0.1, 1, 10, 100, 1000)
        unset xlabel
        set ylabel "time (ms)"
        set key at screen 8. / width, 66. / height left center
        plot sweep_csv using "bytes":"time_ms" with points pointtype 7 pointsize 0.8 lc rgb colour("transfer") \
                 title simulated ? "simulated" : "measured", \
             sweep_csv using "bytes":"card_ms" with lines linewidth 1.5 lc rgb "black" title "card, predicted", \
             for [k = 1:has_card] card_of_run \
                 using (has_card && strcol("quantity") eq "allreduce_s" && column("ranks") == ranks ? column("bytes") : NaN):(has_card ? 1e3 * column("value") : NaN) \
                 with points pointtype 2 pointsize 0.8 lc rgb "black" title simulated ? "card, simulated" : "card, measured", \
             NaN with lines dashtype 3 lc rgb grey title "the lab's own sizes, not used for the fit"
        unset label; unset arrow
        set tmargin at screen top_of(2); set bmargin at screen bottom_of(2)
        do for [i = 1:words(own_sizes)] {
            set arrow 10 + i from first number(word(own_sizes, i)), graph 0 to first number(word(own_sizes, i)), graph 1 \
                nohead dashtype 3 lc rgb grey
        }
        set xtics ()
        do for [i = 1:words(sizes):2] { set xtics add (size_word(number(word(sizes, i))) number(word(sizes, i))) }
        unset logscale y
        set ytics autofreq
        set xlabel "size of the message"
        set ylabel "bandwidth (GB/s)"
        set yrange [0:*]
        set key at graph 0.02, 0.92 left top
        has_bandwidth = word(column_of(sweep_csv, "busbw_GB_per_s"), 1) ne "-"
        if (!has_bandwidth) { set label 99 "none: ranks share a GPU" at graph 0.5, 0.5 center }
        plot sweep_csv using "bytes":"busbw_GB_per_s" with linespoints pointtype 7 pointsize 0.8 lc rgb colour("transfer") \
                 title "bus", \
             sweep_csv using "bytes":"algbw_GB_per_s" with linespoints pointtype 6 pointsize 0.8 dashtype 2 lc rgb colour("transfer") \
                 title "algorithm", \
             has_bandwidth ? NaN : 1 with lines lc rgb "white" notitle
        unset multiplot
        unset output
        unset label; unset arrow
        if (format eq word(formats, 1)) {
            eval page("Small messages cost their latency, large ones their bytes", "size of the message", time_height + between + band_height)
            set logscale xy
            set yrange [*:*]
        }
    }
    unset logscale
    unset ylabel
    set border 1
    set format y "% h"
}

# ---- exposed: time that the message adds, by bucket size -----------------------------------------
exposed_csv = results."/exposed.csv"
if (of_this_run(exposed_csv)) {
    sizes = column_of(exposed_csv, "bucket_mb")
    counts = column_of(exposed_csv, "buckets")
    left = 90
    right = 40
    eval page(simulated ? "Too small a bucket pays latency, too large hides nothing" : "Real ranks move their buckets with their own cores", \
              "bucket size (MiB), and number of buckets in the message", 240)
    set border 3
    set logscale x
    set xrange [0.7 : largest(sizes) * 1.4]
    set yrange [0 : *]
    set ytics autofreq
    set xtics ()
    do for [i = 1:words(sizes)] { set xtics add (word(sizes, i)." (".word(counts, i).")" number(word(sizes, i))) }
    set ylabel "added to the passes (ms)"
    set grid y lt 1 lc rgb "#E4E4E4"
    do for [format in formats] {
        eval output("exposed", format)
        plot exposed_csv using "bucket_mb":"exposed_ms" with points pointtype 7 pointsize 1 lc rgb colour("transfer") \
                 title simulated ? "simulated" : "measured", \
             exposed_csv using "bucket_mb":"predicted_ms" with linespoints pointtype 2 pointsize 0.8 lc rgb "black" title "predicted"
        unset output
    }
}
