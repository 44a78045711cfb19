# 03_comm_bound: charts of lab 03, steps bound by communication
#
#     gnuplot -e "results='results/03_comm_bound'" plots/03_comm_bound.gp
#
# Draws into the folder of the results: breakdown, timeline and step_time, as every lab; pathology_slowest_step and
# pathology_throughput, which compare labs 01 to 03 as far as the neighbouring folders have their results; sweep and exposed,
# if this run measured them. blog='FILE' gives other published values.
lab = "03_comm_bound"
if (!exists("plots")) plots = ARG0[:strlen(ARG0) - strlen(lab.".gp")]."."

timeline_cases = "baseline comm_kept_ws4 comm_buckets"
pathology(case) = case eq "baseline" ? "none" : case[1:4] eq "comm" ? "comm" : "own"
beside_name = "buckets"
breakdown_title = "All ranks are equally slow, none of them late"
timeline_title = "Buckets start while backward runs; the rest is exposed"
step_time_title = "What one more message costs, and what each fix saves"
timeline_note = "buckets: all-reduces in flight"
if (!exists("blog")) blog = plots."/../expected/blog.csv"
published_csv = blog                    # charts.gp replaces `blog` if it has no value for these cases
load plots."/charts.gp"

# ---- pathology_slowest_step, pathology_throughput: labs 01 to 03 ---------------------------------
labs = "03_comm_bound 01_straggler 03_comm_bound 02_rank0_host"
sick = "baseline skew_ws4 comm_ws4 barrier_ws4"

# Return a cell of the row with this lab and case and with this world size.
found(csv, lab, case, name) = system('test -r '.in_shell(csv).' && awk -F, ''/^#/ { next } \
    !seen { seen = 1; for (i = 1; i <= NF; i++) at[$i] = i; next } \
    $at["lab"] == "'.lab.'" && $at["case"] == "'.case.'" && $at["ranks"] == '.ranks.' { print "'.name.'" in at ? $at["'.name.'"] : ""; exit }'' <'.in_shell(csv))

do for [chart in "pathology_slowest_step pathology_throughput"] {
    quantity = chart eq "pathology_throughput" ? "samples_per_s" : "slowest_step_ms"
    unit = chart eq "pathology_throughput" ? 1e3 : 1     # GPUs reach millions
    set print $pathologies
    print "row,here,blog"
    drawn_rows = 0
    known_blog = 0
    unset label; unset arrow; set ytics ()
    array label_of_row[4]
    array found_of[4]
    here_baseline = NaN; blog_baseline = NaN
    do for [i = 1:4] {
        neighbour = results."/../".word(labs, i)."/summary.csv"
        here = found(neighbour, word(labs, i), word(sick, i), quantity)
        there = found(published_csv, word(labs, i), word(sick, i), quantity)
        if (here ne "") {
            drawn_rows = drawn_rows + 1
            said = found(neighbour, word(labs, i), word(sick, i), "label")
            label_of_row[drawn_rows] = said eq "" ? word(sick, i) : said
            found_of[drawn_rows] = number(here) / unit
            if (i == 1) { here_baseline = number(here) / unit; blog_baseline = number(there) }
            ratio_there = number(there) / blog_baseline
            if (i > 1 && ratio_there == ratio_there) { known_blog = 1 }
            print sprintf("%d,%g,%s", drawn_rows, number(here) / unit, i > 1 && ratio_there == ratio_there ? sprintf("%g", here_baseline * ratio_there) : "")
        }
    }
    unset print
    if (drawn_rows > 0) {       # in a renamed folder no lab is found, not even this one
        left = 150
        right = 90
        eval page(chart eq "pathology_throughput" ? "What is left of the throughput" : "What each fault makes of the step time", \
                  chart eq "pathology_throughput" ? "global throughput (thousand samples/s)" : "step time of the slowest rank (ms)", 34 * (drawn_rows + 0.2))
        set yrange [drawn_rows + 0.6 : 0.4]
        set xrange [0:*]
        set ytics ()
        do for [i = 1:drawn_rows] {
            set ytics add (label_of_row[i] i)
            set label digits(found_of[i]) at screen 1 - 24. / width, first i right      # at the bar's end it would hide the diamond
        }
        do for [format in formats] {
            eval output(chart, format)
            plot $pathologies using (0):(column("row")):(0):(column("here")):(column("row") - 0.32):(column("row") + 0.32) \
                     with boxxyerror fs solid noborder lc rgb bar title observed, \
                 for [k = 1:known_blog] $pathologies using (!known_blog ? 0 : blank("blog") ? NaN : column("blog")):(column("row")) \
                     with points pointtype 13 pointsize 1.2 lc rgb "white" notitle, \
                 for [k = 1:known_blog] $pathologies using (!known_blog ? 0 : blank("blog") ? NaN : column("blog")):(column("row")) \
                     with points pointtype 12 pointsize 1.3 linewidth 1.5 lc rgb "black" title "published ratio to the baseline"
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
array own_name[2] = ["gradients", "extra message"]
if (of_this_run(sweep_csv)) {
    sizes = column_of(sweep_csv, "bytes")
    times = column_of(sweep_csv, "time_ms")
    fitted = column_of(sweep_csv, "card_ms")
    last = words(sizes)
    largest_shown = largest(sizes." ".own_sizes)
    # alpha: the prediction of the smallest message; beta: what a byte adds among the largest.
    alpha = number(word(fitted, 1))
    beta = last > 1 ? (number(word(fitted, last)) - number(word(fitted, last - 1))) / (number(word(sizes, last)) - number(word(sizes, last - 1))) : NaN
    has_terms = alpha > 0 && beta > 0
    least = largest(times)
    do for [time in times." ".fitted] { if (number(time) > 0 && number(time) < least) { least = number(time) } }
    highest = largest(times." ".fitted)
    low_end = least > 0 ? 10 ** floor(log10(least)) : 0.001
    highest = beta * largest_shown > highest ? beta * largest_shown : highest
    high_end = highest > 0 ? 10 ** ceil(log10(highest * 1.01)) : 1
    time_height = 270
    band_height = 170
    between = 26
    left = 90
    right = 205
    title = "Small messages cost their latency, large ones their bytes"
    eval page(title, "size of the message (log scale)", time_height + between + band_height)
    set border 3
    set grid y lt 1 lc rgb rule
    top_of(panel) = 1 - 1. * (above + (panel == 1 ? 0 : time_height + between)) / height
    bottom_of(panel) = top_of(panel) - 1. * (panel == 1 ? time_height : band_height) / height
    bus = column_of(sweep_csv, "busbw_GB_per_s"); algorithm = column_of(sweep_csv, "algbw_GB_per_s")
    has_bandwidth = word(bus, 1) ne "-"
    most_bandwidth = has_bandwidth && largest(bus) > 0 ? 1.1 * largest(bus." ".algorithm) : 1
    panel_y(panel, share) = (panel == 1 ? band_height + between + share * time_height : share * band_height)
    end_of_line(list, most) = number(word(list, words(list))) / most
    do for [format in formats] {
        eval page(title, "size of the message (log scale)", time_height + between + band_height)
        eval output("sweep", format)
        set multiplot
        set logscale xy
        set xrange [2 : largest_shown * 2]
        set yrange [low_end : high_end]
        set tmargin at screen top_of(1); set bmargin at screen bottom_of(1)
        set xtics ()
        do for [i = 1:words(sizes):2] { set xtics add ("" number(word(sizes, i))) }
        set format y "%g"
        set ytics (0.0001, 0.001, 0.01, 0.1, 1, 10, 100, 1000)
        unset xlabel
        set ylabel "time (ms, log scale)"
        do for [i = 1:words(own_sizes)] {
            at = number(word(own_sizes, i))
            set arrow from first at, graph 0 to first at, graph 1 nohead lc rgb guide
            # Upright along its line, the largest one at its right: sizes may be close to each other.
            beside_line = words(own_sizes) > 1 && at >= largest(own_sizes) ? 0.9 : -0.8
            set label (i <= 2 ? own_name[i].", " : "").size_word(at) at first at, graph 0.03 left rotate by 90 offset beside_line, 0 font "sans-serif,9"
        }
        if (has_terms) {
            set arrow from first 2, first alpha to first largest_shown * 2, first alpha nohead dashtype 2 lc rgb more
            set arrow from first (low_end > 2 * beta ? low_end / beta : 2), first (low_end > 2 * beta ? low_end : 2 * beta) to first largest_shown, first beta * largest_shown nohead dashtype 2 lc rgb more
            height_in(ms) = panel_y(1, (log10(ms) - log10(low_end)) / (log10(high_end) - log10(low_end)))
            ends = 0
            dummy = ends_add(sprintf("α = %.2g ms per message", alpha), height_in(alpha), "")
            dummy = ends_add(sprintf("β = %s per MiB", in_time(beta * 1048576)), height_in(beta * largest_shown), "")
            eval ends_labels(width - right + 8)
        }
        eval key_clear
        eval key_entry("lying", "nohead linewidth 1.5 lc rgb 'black'", "predicted, α + β × bytes in ranges of sizes")
        if (has_card) { eval key_entry("point", "pointtype 2 pointsize 0.8 lc rgb 'black'", "fitted points") }
        eval key_entry("point", "pointtype 7 pointsize 0.9 lc rgb colour('transfer')", observed)
        plot sweep_csv using "bytes":"card_ms" with lines linewidth 1.5 lc rgb "black" notitle, \
             for [k = 1:has_card] card_of_run \
                 using (has_card && strcol("quantity") eq "allreduce_s" && column("ranks") == ranks ? column("bytes") : NaN):(has_card ? 1e3 * column("value") : NaN) \
                 with points pointtype 2 pointsize 0.8 lc rgb "black" notitle, \
             sweep_csv using "bytes":"time_ms" with points pointtype 7 pointsize 0.9 lc rgb colour("transfer") notitle
        unset label; unset arrow
        set tmargin at screen top_of(2); set bmargin at screen bottom_of(2)
        do for [i = 1:words(own_sizes)] {
            set arrow from first number(word(own_sizes, i)), graph 0 to first number(word(own_sizes, i)), graph 1 nohead lc rgb guide
        }
        set xtics ()
        do for [i = 1:words(sizes):2] { set xtics add (size_word(number(word(sizes, i))) number(word(sizes, i))) }
        unset logscale y
        set ytics autofreq
        set xlabel "size of the message (log scale)"
        set ylabel "bandwidth (GB/s)"
        set yrange [0 : most_bandwidth]
        if (has_bandwidth) {
            ends = 0
            dummy = ends_add("busbw", panel_y(2, end_of_line(bus, most_bandwidth)), "7 ".colour("transfer"))
            dummy = ends_add("algbw", panel_y(2, end_of_line(algorithm, most_bandwidth)), "6 ".colour("transfer"))
            eval ends_labels(width - right + 8)
        } else { set label 99 "none: ranks share a GPU" at graph 0.5, 0.5 center }
        plot sweep_csv using "bytes":"busbw_GB_per_s" with linespoints pointtype 7 pointsize 0.8 lc rgb colour("transfer") notitle, \
             sweep_csv using "bytes":"algbw_GB_per_s" with linespoints pointtype 6 pointsize 1.2 dashtype 2 lc rgb colour("transfer") notitle, \
             has_bandwidth ? NaN : 1 with lines lc rgb "white" notitle
        unset multiplot
        unset output
    }
    unset logscale
    unset ylabel
    unset label; unset arrow
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
    set ylabel "added to forward and backward (ms)"
    set grid y lt 1 lc rgb rule
    do for [format in formats] {
        eval output("exposed", format)
        plot exposed_csv using "bucket_mb":"predicted_ms" with linespoints pointtype 2 pointsize 0.8 lc rgb "black" title "predicted", \
             exposed_csv using "bucket_mb":"exposed_ms" with points pointtype 7 pointsize 1 lc rgb colour("transfer") title observed
        unset output
    }
}
