# 08_token_loader: charts of lab 08
#
#     gnuplot -e "results='results/08_token_loader'" plots/08_token_loader.gp
#
# Draws breakdown, timeline and step_time into the folder of the results, as every lab; and ladder, latency, resident and crossover, if
# this run measured them.
lab = "08_token_loader"
if (!exists("plots")) plots = ARG0[:strlen(ARG0) - strlen(lab.".gp")]."."

timeline_cases = "views elements slow_disk slow_disk_prefetched"
pathology(case) = strstrt(case, "slow_disk") ? "slow disk" : case eq "views" ? "none" : "copy"
breakdown_title = "A step does not notice how tokens are copied, only slow storage"
timeline_title = "Slow storage delays a step, unless a helper waits for it"
step_time_title = "What a step costs, by the way tokens come"
load plots."/charts.gp"

# ---- Each way alone: tokens per second, the time of a batch, resident memory ------------------------------------------
ways = "elements blocks mapped preallocated advised prefetched windowed buffered views"
shade(way) = word("#666666 #A6A6A6 #0072B2 #0072B2 #56B4E9 #CC79A7 #009E73 #E69F00 #D55E00", place(way, ways))
pale = "#D0D0D0"     # cold pages: black marks of predictions show on it, and on the grey of bars
ladder_csv = results."/ladder.csv"
# The cell of a way in a state of its pages, int32; of views, whatever their width.
cell_of(way, pages, name) = system('awk -F, -v way='.way.' -v pages='.pages.' -v name='.name.' ''/^#/ { next } \
    !seen { seen = 1; for (i = 1; i <= NF; i++) at[$i] = i; next } \
    $at["way"] == way && $at["pages"] == pages && ($at["width"] == 4 || way == "views") && !done { done = 1; print $at[name] == "" ? "-" : $at[name] }'' <'.in_shell(ladder_csv))
rate_of(way, pages) = number(cell_of(way, pages, "tokens_per_s")) / 1e6
guess_of(way, pages) = number(cell_of(way, pages, "batch_tokens")) / number(cell_of(way, pages, "predicted_ms")) / 1e3
if (of_this_run(ladder_csv)) {
    copied = "elements blocks mapped preallocated advised prefetched windowed buffered"     # views copy nothing
    limit = rate_of("copy_limit", "warm")
    highest = limit
    array warm[words(copied) + 1]       # from the second entry on: gnuplot takes the first for a header
    array cold[words(copied) + 1]
    warm[1] = 0; cold[1] = 0
    do for [i = 1:words(copied)] {
        warm[i + 1] = rate_of(word(copied, i), "warm"); cold[i + 1] = rate_of(word(copied, i), "cold")
        highest = warm[i + 1] > highest ? warm[i + 1] : highest
    }
    left = 120
    right = 60
    eval page("How fast each way to load tokens is, alone", "million tokens per second of one rank, while all ranks load; batches of ".cell_of("copy_limit", "warm", "batch_tokens")." tokens to int32", 330)
    set border 3
    set xrange [0 : 1.12 * highest]
    set yrange [words(copied) + 0.6 : 0.4]
    set xtics tick_of(1.1 * highest, 6)
    set ytics ()
    do for [i = 1:words(copied)] { set ytics add (word(copied, i) i) }
    set arrow from first limit, graph 0 to first limit, graph 1 nohead linewidth 1.5 lc rgb guide
    set label "the same bytes by plain copies" at first limit, graph 1.03 right font "sans-serif,9"
    eval key_clear
    eval key_entry("box", solid_look(bar), "warm: pages that the process has mapped before")
    eval key_entry("box", solid_look(pale), "cold: cached pages, new to the process")
    eval key_entry("standing", mark_look, "predicted")
    do for [i = 1:words(copied)] {
        do for [state in "warm cold"] {
            x = guess_of(word(copied, i), state)
            y = i + (state eq "warm" ? -0.19 : 0.19)
            if (x == x) { set arrow from first x, first y - 0.17 to first x, first y + 0.17 nohead front linewidth 2.5 lc rgb "black" }
        }
    }
    do for [format in formats] {
        eval output("ladder", format)
        plot warm using (warm[$1]):($1 - 1.19):(0):(warm[$1]):($1 - 1.36):($1 - 1.02) with boxxyerror fillstyle solid noborder lc rgb bar notitle, \
             cold using (cold[$1]):($1 - 0.81):(0):(cold[$1]):($1 - 0.98):($1 - 0.64) with boxxyerror fillstyle solid noborder lc rgb pale notitle
        unset output
    }
    unset arrow
    unset label
}

latency_csv = results."/latency.csv"
if (of_this_run(latency_csv)) {
    shown = "elements buffered windowed mapped prefetched views"
    is_of(way) = strcol("way") eq way && strcol("pages") eq "cold"
    left = 90
    right = 110
    body = 330
    eval page("Most batches take the time of a copy, a few also map pages", "share of the batches (%)", body)
    set border 3
    set logscale y
    set xrange [0 : 100]
    set yrange [0.02 : 1000]
    set xtics 10
    set ytics (0.01, 0.1, 1, 10, 100, 1000)
    set format y "%g"
    set grid y lt 1 lc rgb rule
    set ylabel "a batch takes at most (µs, log scale)"
    ends = 0
    do for [way in shown] {
        last = system('awk -F, -v way='.way.' ''$1 == way && $2 == "cold" && $3 < 0.995 && $3 > 0.985 { print $4 * 1e3 }'' <'.in_shell(latency_csv))
        if (number(last) > 0) { dummy = ends_add(way, body * (log10(number(last)) - log10(0.02)) / (3 - log10(0.02)), "7 ".shade(way)) }
    }
    eval ends_labels(width - right + 8)
    do for [format in formats] {
        eval output("latency", format)
        plot for [way in shown] latency_csv using (is_of(way) ? 100 * column("share") : NaN):(1e3 * column("batch_ms")) with lines linewidth 2 lc rgb shade(way) notitle
        unset output
    }
    unset label
    unset logscale
}

resident_csv = results."/resident.csv"
if (of_this_run(resident_csv)) {
    shown = "mapped windowed views"
    most_mb = largest(column_of(resident_csv, "rss_file_mb"))
    left = 90
    right = 150
    body = 280
    eval page("A mapped shard counts as memory, a window of it hardly", "read so far (MB)", body)
    set border 3
    set xrange [0 : largest(column_of(resident_csv, "read_mb"))]
    set yrange [0 : 1.1 * most_mb]
    set xtics autofreq
    set ytics tick_of(most_mb, 6)
    set grid y lt 1 lc rgb rule
    set ylabel "resident memory (MB)"
    ends = 0
    do for [way in shown." anonymous"] {
        last = system('awk -F, -v way='.(way eq "anonymous" ? "windowed" : way).' -v c='.(way eq "anonymous" ? 3 : 4).' ''$1 == way { last = $c } END { print last }'' <'.in_shell(resident_csv))
        if (number(last) > 0) { dummy = ends_add(way eq "anonymous" ? "heap of all ways" : way, body * number(last) / (1.1 * most_mb), "7 ".(way eq "anonymous" ? grey : shade(way))) }
    }
    eval ends_labels(width - right + 8)
    do for [format in formats] {
        eval output("resident", format)
        plot for [way in shown] resident_csv using (strcol("way") eq way ? column("read_mb") : NaN):(column("rss_file_mb")) with lines linewidth 2 lc rgb shade(way) notitle, \
             resident_csv using (strcol("way") eq "windowed" ? column("read_mb") : NaN):(column("rss_anon_mb")) with lines linewidth 2 lc rgb grey notitle
        unset output
    }
    unset label
}

crossover_csv = results."/crossover.csv"
if (of_this_run(crossover_csv)) {
    shown = "elements buffered windowed mapped prefetched"
    left = 90
    right = 110
    body = 330
    eval page("From which step on a way to load tokens does not show", "step without its batch (ms, log scale); a batch comes from cold pages (cached, new to the process)", body)
    set border 3
    set logscale xy
    set xrange [0.001 : 10]
    set yrange [0.03 : 3000]
    set xtics (0.001, 0.01, 0.1, 1, 10)
    set ytics (0.1, 1, 10, 100, 1000)
    set format "%g"
    set grid y lt 1 lc rgb rule
    set ylabel "a batch lengthens the step by (%, log scale)"
    set arrow from graph 0, first 1 to graph 1, first 1 nohead linewidth 1.5 lc rgb guide
    set label "↑ shows" at graph 0.995, first 1.35 right font "sans-serif,9"
    ends = 0
    do for [way in shown] {
        last = system('awk -F, -v way='.way.' ''/^#/ { next } !seen { seen = 1; for (i = 1; i <= NF; i++) at[$i] = i; next } \
            $at["way"] == way && $at["beside"] == "loop" && $at["exposed_ms"] > 0 { last = 100 * $at["exposed_ms"] / $at["step_ms"] } END { print last }'' <'.in_shell(crossover_csv))
        if (number(last) > 0) { dummy = ends_add(way, body * (log10(number(last)) - log10(0.03)) / (log10(3000) - log10(0.03)), "7 ".shade(way)) }
    }
    eval ends_labels(width - right + 8)
    eval key_clear
    eval key_entry("point", "pointtype 7 pointsize 0.9 lc rgb '".more."'", observed.", beside a loop")
    eval key_entry("lying", "nohead linewidth 1 dashtype 2 lc rgb '".more."'", "predicted")
    eval key_entry("point", "pointtype 6 pointsize 1.3 linewidth 2 lc rgb '".more."'", observed.", beside training steps")
    eval key_entry("point", "pointtype 2 pointsize 1 linewidth 1.5 lc rgb '".more."'", "predicted, likewise")
    is_of(way, beside) = strcol("way") eq way && strcol("beside") eq beside && column("exposed_ms") > 0
    share_of_step(name) = 100 * column(name) / column("step_ms")
    do for [format in formats] {
        eval output("crossover", format)
        plot for [way in shown] crossover_csv using (is_of(way, "loop") ? column("step_ms") : NaN):(share_of_step("predicted_exposed_ms")) with lines linewidth 1 dashtype 2 lc rgb shade(way) notitle, \
             for [way in shown] crossover_csv using (is_of(way, "loop") ? column("step_ms") : NaN):(share_of_step("exposed_ms")) with linespoints pointtype 7 pointsize 0.7 linewidth 2 lc rgb shade(way) notitle, \
             for [way in shown] crossover_csv using (is_of(way, "training") ? column("step_ms") : NaN):(share_of_step("exposed_ms")) with points pointtype 6 pointsize 1.3 linewidth 2 lc rgb shade(way) notitle, \
             for [way in shown] crossover_csv using (is_of(way, "training") ? column("step_ms") : NaN):(share_of_step("predicted_exposed_ms")) with points pointtype 2 pointsize 1 linewidth 1.5 lc rgb shade(way) notitle
        unset output
    }
}
